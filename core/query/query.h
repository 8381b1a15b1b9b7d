#pragma once

/* Questions about the nodes of a graph: words as a user types them, and which nodes reach which.
 *
 *   conv relu            each word occurs in the operator, a name, the scope or an element type
 *   "Conv"               one of these is this, exactly
 *   #12                  the node of this number
 *   op:conv name:head scope:block.3 dtype:float16
 *   shape:1,64,*,*       the shape of an output; shape:64 one dim of it
 *   attr:group attr:group=32 attr:kernel_shape=3,3
 *   cost>1M bytes>=64k   floating-point operations; bytes read and written
 *   has:nan has:inf      values that are known hold such numbers
 *   -op:conv             not
 *
 * Terms hold together; capitals do not matter. */

#include "core/ir/model.h"

#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct _IrQuery IrQuery;

#define IR_QUERY_ERROR (ir_query_error_quark ())

typedef enum
{
  IR_QUERY_ERROR_SYNTAX,
} IrQueryError;

typedef enum
{
  IR_QUERY_NAN,
  IR_QUERY_INF,
} IrQueryContent;

/* What the graph itself does not say. All zero: nothing is known. */
typedef struct
{
  /* (nullable) Whether @value is known to hold such numbers. */
  gboolean (*holds) (const IrValue *value, IrQueryContent content, gpointer data);
  gpointer data;
  const char *also; /* (nullable) more words that a term without a key may mean */
} IrQueryFacts;

GQuark ir_query_error_quark (void);
IrQuery *ir_query_new (const char *text, GError **error);
void ir_query_free (IrQuery *query);
gboolean ir_query_is_empty (const IrQuery *query);
gboolean ir_query_asks_contents (const IrQuery *query);
gboolean ir_query_matches_node (const IrQuery *query,
                                const IrNode *node,
                                const IrQueryFacts *facts);
gboolean ir_query_matches_value (const IrQuery *query,
                                 const IrValue *value,
                                 const IrQueryFacts *facts);
const char *ir_query_help (void);

/* -- which nodes reach which -- */
typedef enum
{
  IR_REACH_INPUTS,  /* towards what computes the inputs */
  IR_REACH_OUTPUTS, /* towards what reads the outputs */
} IrReach;

GHashTable *ir_reach (
    const IrModel *model, const IrNodeId *from, guint n, IrReach direction, guint steps);
GHashTable *ir_reach_between (const IrModel *model, IrNodeId from, IrNodeId to);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrQuery, ir_query_free)

G_END_DECLS
