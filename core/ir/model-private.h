/* What the files of core/ir share about a model and nobody else may see. */
#pragma once

#include "core/ir/arena.h"
#include "core/ir/model.h"

/* Derived facts of one graph, rebuilt when the model's stamp has moved on. */
typedef struct
{
  GPtrArray *order;  /* of IrNode */
  GPtrArray *values; /* of IrValue */
  /* (nullable) interned name -> first live one by id; made when first asked for */
  GHashTable *value_by_name, *node_by_name;
  gboolean cyclic;
  gboolean tokens; /* some node is no strict one: Switch, Merge, Enter ... */
} IrGraphFacts;

/* Ids of all nodes or values that were ever in a graph lie between these. Who removes a body looks at no others. */
typedef struct
{
  guint low, high; /* 0, 0: there are none */
} IrIdSpan;

typedef struct
{
  GArray *nodes, *values;  /* of IrIdSpan, by graph id */
  guint n_nodes, n_values; /* that were looked at so far */
} IrGraphSpans;

typedef struct _IrModelCache IrModelCache;
/* Nodes of a private copy that are run in place of a call, or of a node that has a body: their ids. */
typedef struct
{
  IrNodeId first, end; /* the last but one */
  IrNodeId call;       /* removed; of another such range where bodies make calls */
} IrInlined;

struct _IrModelCache
{
  GRecMutex lock; /* frozen models are read from several threads */
  IrArena *arena; /* of structs and arrays of this model */
  guint64 facts_stamp;
  guint64 n_retyped;   /* edits since then that the facts do not depend on */
  GPtrArray *facts;    /* of IrGraphFacts, index = graph id, entries nullable */
  IrGraphSpans spans;  /* entries from its first use on */
  guint n_searched;    /* nodes that were asked whether they handle tokens */
  gboolean had_tokens; /* one of them does, or did */
  guint64 controls_stamp;
  GHashTable *control_sources; /* node ids that some live node waits for */
  GHashTable *constants;       /* IrAttr or sparse IrTensor -> dense IrTensor */
  GArray *inlined;             /* (nullable) of IrInlined, by id */
  gboolean uses_suspended;     /* records leave uses alone; ir_model_rebuild_uses() follows */
};

/* (transfer none): until something is added */
const IrGraphSpans *ir_model_spans (IrModel *model);
void ir_id_span_add (IrModel *model, GArray *spans, IrGraphId graph, guint id);

IrNode *ir_model_new_node (IrModel *model);   /* unborn, with the next id */
IrValue *ir_model_new_value (IrModel *model); /* unborn, with the next id */
IrGraph *ir_model_new_graph (IrModel *model); /* unborn, with the next id */
gpointer ir_model_alloc (IrModel *model, gsize size);
/* Arrays of a node have a power of two as capacity, so that growing rarely copies. */
gpointer ir_model_resize_array (
    IrModel *model, gpointer array, guint old_n, guint new_n, gsize element);
void ir_value_add_use (IrModel *model, IrValue *value, guint64 key);
void ir_value_remove_use (IrValue *value, guint64 key);
void ir_model_rebuild_uses (IrModel *model); /* of all values, from inputs and graph outputs */

/* Use keys sort by node id, then slot; graph outputs come last. */
#define IR_USE_GRAPH_BIT (G_GUINT64_CONSTANT (1) << 63)

static inline guint64
ir_use_key (guint32 node_id, guint32 slot)
{
  return ((guint64) node_id << 32) | slot;
}

static inline guint64
ir_use_key_output (guint32 graph_id, guint32 index)
{
  return IR_USE_GRAPH_BIT | ((guint64) graph_id << 32) | index;
}
