/* Shape inference over a model: sets the type of every value that can be known, with symbolic dims
 * and the propagation of shape contents. */
#pragma once
#include "core/ir/edit.h"
#include "core/ir/history.h"
#include "core/ir/problem.h"
#include "core/op/call.h"

typedef enum
{
  IR_INFER_DEFAULT = 0,
  IR_INFER_STRICT = 1 << 0, /* contradictions with declared types are errors, not warnings */
  IR_INFER_FACTS = 1 << 1,  /* claims are left as they are */
} IrInferFlags;

/* Infers all nodes in order (functions by their bodies, subgraphs inside their owners). */
void ir_infer_model (IrEdit *edit, IrInferFlags flags, GPtrArray *problems); /* problems nullable */
IrProblemCode ir_infer_problem_code (const GError *error);
/* As ir_infer_model(), but writes nothing: for verifying. */
void ir_infer_check (IrModel *model, GPtrArray *problems);
/* What is known of the contents of shape-like values: IrValue -> IrShapeData. */
GHashTable *ir_infer_contents (IrModel *model);
/* What has to hold between dims for a run to come through. */
typedef struct
{
  IrDim a, b;      /* equal */
  gboolean or_one; /* or one of them is 1: they broadcast */
  IrNodeId node;   /* that needs it */
} IrDimEquation;
GArray *ir_infer_equations (IrModel *model);
char *ir_infer_dim_name (const IrValue *input, guint axis); /* of a dim without one: "x[1]" */
/* After a rewrite: infers @node alone and, while types get more specific, what uses it. */
void ir_infer_node (IrEdit *edit, IrNode *node, GPtrArray *problems);
/* Bodies of functions: what all calls agree on. */
void ir_infer_functions (IrEdit *edit);
/* Replaces symbols by numbers in all input types, then infers; @bindings: name -> gint64 *. */
gboolean ir_infer_bind (IrEdit *edit, GHashTable *bindings, GPtrArray *problems, GError **error);
void ir_infer_bind_input (IrEdit *edit, IrValue *input, guint rank, const gint64 *dims);

/* -- cost: from types; unknown dims count as 1 and set *partial -- */
guint64 ir_cost_node_flops (const IrNode *node, gboolean *partial);
guint64 ir_cost_type_bytes (const IrType *type);
guint64 ir_cost_node_bytes (const IrNode *node, gboolean *partial);
IrCost ir_cost_node (const IrNode *node); /* flops and bytes, unknown sizes counted as 1 */
void ir_cost_call (const IrCall *call, guint64 *flops, guint64 *bytes);
IrCost ir_cost_model (const IrModel *model, gboolean *partial);
