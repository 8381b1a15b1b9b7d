/* One random whole graph, of a family of those that exporters write, made from its seed and nothing
 * else. Every node is evaluated by the reference kernels when it is added: what comes out runs, and
 * what each value holds is known. */
#pragma once

#include "core/exec/exec.h"
#include "core/ir/edit.h"

typedef struct _Gen Gen;

typedef struct
{
  const char *name, *title;
  guint weight; /* how often it comes up beside the others; 0: it came later, see choose_family() */
  void (*make) (Gen *gen);
} GraphFamily;

const GraphFamily *graph_families (guint *n);
const GraphFamily *graph_family_find (const char *name); /* NULL: there is none */

typedef struct
{
  IrModel *model;
  const GraphFamily *family;
  GPtrArray *outputs; /* of IrTensor: what node by node gives */
} Graph;

/* @family: (nullable): the seed chooses */
void graph_init (Graph *graph, guint32 seed, const GraphFamily *family);
void graph_clear (Graph *graph);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Graph, graph_clear)

/* What an input holds, by its name and @seed. @more: what to add to the sizes that symbols stand
 * for */
IrTensor *graph_input_contents (const IrValue *value, guint32 seed, gint64 more);
IrTensor *graph_words (GRand *rand, guint rank, const gint64 *dims); /* strings */
GHashTable *graph_inputs (IrModel *model, guint32 seed, gint64 more);
gboolean graph_has_symbols (const IrModel *model);
