/* The graph IR on one screen: a model owns graphs, values and nodes in one id space; structs never
 * move and live as long as the model; removed ones stay as tombstones, for the edit log. Everything
 * here is read-only outside core/ir/edit.c. */
#pragma once

#include "core/ir/attr.h"

typedef struct _IrModel IrModel;
typedef struct _IrGraph IrGraph;
typedef struct _IrNode IrNode;
typedef struct _IrValue IrValue;
typedef struct _IrLog IrLog;
typedef struct _IrOp IrOp; /* core/op/op.h */

typedef guint32 IrNodeId; /* 0 = none; ids are never reused */
typedef guint32 IrValueId;
typedef guint32 IrGraphId;

typedef enum
{
  IR_STATE_UNBORN, /* the cursor of the history stands before its creation */
  IR_STATE_LIVE,
  IR_STATE_REMOVED,
} IrState;

typedef enum
{
  IR_GRAPH_MAIN,
  IR_GRAPH_SUBGRAPH, /* owned by a node's graph attribute */
  IR_GRAPH_FUNCTION, /* body of a model-local function */
} IrGraphKind;

/* Key-value pairs, immutable (metadata_props). */
typedef struct
{
  guint n;
  struct
  {
    const char *key, *value;
  } pairs[];
} IrProps;

/* What a file says beside the graph, kept to be written back; immutable. */
typedef struct
{
  const char *doc;      /* (nullable) */
  const IrProps *props; /* (nullable) metadata_props */
  GBytes *unknown;      /* (nullable) fields that irscope does not know, raw wire bytes */
} IrExtra;

typedef struct
{
  const char *domain; /* "" = ai.onnx */
  gint64 version;
} IrOpset;

typedef struct
{
  guint n;
  IrOpset opsets[];
} IrOpsets;

typedef struct
{
  gint64 ir_version;
  const char *producer_name, *producer_version, *domain; /* (nullable) */
  gint64 model_version;
  IrExtra extra; /* training_info, configuration and unknown fields in .unknown */
} IrModelInfo;

/* Model-local function: identity is (domain, name, overload). Immutable. */
typedef struct
{
  const char *domain, *name, *overload;
  guint n_attr_names;
  const char *const *attr_names; /* required attributes */
  guint n_attr_defaults;
  const IrAttr *const *attr_defaults;
  const IrOpsets *opsets; /* the function's own imports */
} IrFunctionInfo;

struct _IrNode
{
  IrNodeId id;
  IrState state;
  IrGraph *graph;
  const IrOp *op; /* (nullable): row of the op table; NULL for unknown operators and functions */
  const char *op_type, *domain, *overload; /* interned; domain "" = ai.onnx */
  const char *name;                        /* interned; "" if the file gives none */
  guint n_inputs, n_outputs, n_attrs;
  IrValue **inputs;         /* NULL entries: optional input left out */
  IrValue **outputs;        /* NULL entries: optional output left out */
  const IrAttr **attrs;     /* sorted by name */
  const IrIdList *controls; /* (nullable) nodes that must run before, ids ascending */
  const char *scope;        /* interned path "a/b/c", "" = none */
  const char *device;       /* interned, "" = default */
  const IrExtra *extra;     /* (nullable) */
  guint64 rank;             /* place in the file; ties of the topological order */
  guint32 checked;          /* what the gate has found, 0 since a change: core/op/check.h */
};

typedef enum
{
  IR_VALUE_DECLARED = 1 << 0,     /* the file declares its type (value_info, input, output) */
  IR_VALUE_NAMED_BY_USER = 1 << 1, /* the name comes from a file and should survive rewrites */
  IR_VALUE_MUTABLE = 1 << 2 /* an initializer that training changes (ONNX, TrainingInfoProto): no
                             * constant; a run may be given other contents */
} IrValueFlags;

struct _IrValue
{
  IrValueId id;
  IrState state;
  IrGraph *graph;
  const char *name;  /* interned; unique within its graph, graphs around and inside it */
  IrNode *producer;  /* (nullable) NULL: graph input or initializer */
  guint output_slot; /* which output of the producer */
  IrValueFlags flags;
  const IrType *type;    /* (nullable) unknown; what holds in every run */
  const IrType *claim;   /* (nullable) what is only declared, or follows from such */
  IrTensor *initializer; /* (nullable) bytes of an initializer, (owned by the context) */
  const IrExtra *extra;  /* (nullable) */
  guint n_uses, uses_capacity;
  guint64 *uses; /* ascending keys: see ir_value_use() */
};

struct _IrGraph
{
  IrGraphId id;
  IrState state;
  IrGraphKind kind;
  IrModel *model;
  IrNodeId owner;                 /* subgraphs: the node that holds it (0 while detached) */
  const char *name;               /* interned */
  const IrIdList *inputs;         /* value ids */
  const IrIdList *outputs;        /* value ids; the same value may stand there twice */
  const IrFunctionInfo *function; /* functions only */
  const IrExtra *extra;
};

struct _IrModel
{
  gatomicrefcount ref_count;
  IrContext *context; /* shared with its snapshots */
  const IrModelInfo *info;
  const IrOpsets *opsets;
  IrGraph *main;
  GPtrArray *graphs;           /* index = id; [0] is NULL */
  GPtrArray *nodes;            /* index = id; [0] is NULL */
  GPtrArray *values;           /* index = id; [0] is NULL */
  guint64 stamp;               /* changes with every edit; keys caches of derived facts */
  guint32 checks;              /* changes with what the checks of all nodes depend on */
  gboolean frozen;             /* snapshots: may be read from any thread, never edited */
  IrLog *log;                  /* (nullable) NULL in snapshots */
  GPtrArray *keep_alive;       /* mapped files and such, with GDestroyNotify, shared by snapshots */
  const char *path;            /* (nullable) file that it came from */
  struct _IrModelCache *cache; /* private: orders, name index */
};

/* -- model -- */
IrModel *ir_model_new (void); /* empty main graph, current IR version, no opsets */
IrModel *ir_model_ref (IrModel *model);
void ir_model_unref (IrModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrModel, ir_model_unref)
IrModel *ir_model_clone (IrModel *model);    /* editable copy: same ids and context, empty log */
IrModel *ir_model_snapshot (IrModel *model); /* frozen copy */
/* The same as long as they are wanted, else NULL; @stop nullable. */
IrNode *ir_model_node (const IrModel *model, IrNodeId id);    /* (nullable), any state */
IrValue *ir_model_value (const IrModel *model, IrValueId id); /* (nullable), any state */
IrGraph *ir_model_graph (const IrModel *model, IrGraphId id); /* (nullable), any state */
IrNode *ir_model_live_node (const IrModel *model, IrNodeId id);
IrValue *ir_model_live_value (const IrModel *model, IrValueId id);
gint64 ir_model_opset (const IrModel *model, const char *domain); /* 0 = not imported */
const IrGraph *ir_model_find_function (const IrModel *model,
                                       const char *domain,
                                       const char *name,
                                       const char *overload);
gboolean ir_model_has_value (const IrModel *model, const char *name); /* live, in any graph */
guint ir_model_n_nodes (const IrModel *model);         /* live, all graphs, Constants included */
guint ir_model_n_counted_nodes (const IrModel *model); /* as node counts are reported: DESIGN 8 */

/* -- graph -- */
/* Live nodes in a valid order (Kahn; ties by rank, then id; nodes on cycles come last, by rank).
 * A node that owns subgraphs waits for the values that they capture. (transfer none): valid until
 * the next edit; take ir_graph_nodes() to edit while iterating. */
void ir_model_order (const IrModel *model); /* of all graphs, now */
IrNode *const *ir_graph_order (const IrGraph *graph, guint *n);
GPtrArray *ir_graph_nodes (const IrGraph *graph); /* (transfer container): the same, a copy */
gboolean ir_graph_is_cyclic (const IrGraph *graph);
gboolean ir_graph_has_tokens (const IrGraph *graph); /* Switch, Merge, Enter ... */
IrValue *const *ir_graph_values (const IrGraph *graph, guint *n); /* live, by id; until next edit */
IrValue *ir_graph_find_value (const IrGraph *graph, const char *name); /* this graph only */
IrValue *ir_graph_find_value_in_scope (const IrGraph *graph, const char *name); /* and outwards */
IrNode *ir_graph_find_node (const IrGraph *graph, const char *name); /* first live of that name */
IrValue *ir_graph_input (const IrGraph *graph, guint index);
IrValue *ir_graph_output (const IrGraph *graph, guint index);
guint ir_graph_n_inputs (const IrGraph *graph);
guint ir_graph_n_outputs (const IrGraph *graph);
gboolean ir_graph_has_input (const IrGraph *graph, const IrValue *value);
IrGraph *ir_graph_outer (const IrGraph *graph); /* (nullable) graph of the owner node */
gint64 ir_graph_opset (const IrGraph *graph,
                       const char *domain); /* a function's own imports first */

/* -- node -- */
const IrAttr *ir_node_attr (const IrNode *node, const char *name);
gint64 ir_node_attr_int (const IrNode *node, const char *name, gint64 fallback);
float ir_node_attr_float (const IrNode *node, const char *name, float fallback);
const char *ir_node_attr_string (const IrNode *node, const char *name, const char *fallback);
const gint64 *ir_node_attr_ints (const IrNode *node, const char *name, guint *n);
IrTensor *ir_node_attr_tensor (const IrNode *node, const char *name);
IrGraph *ir_node_attr_graph (const IrNode *node, const char *name);
gboolean ir_node_is (const IrNode *node, const char *op_type); /* of domain ai.onnx */
gboolean ir_node_is_constant (
    const IrNode *node); /* not counted: Constant, ConstantOfShape of const */
IrValue *ir_node_input (const IrNode *node, guint slot);  /* (nullable), any slot */
IrValue *ir_node_output (const IrNode *node, guint slot); /* (nullable), any slot */
gint64 ir_node_opset (const IrNode *node); /* version that the node's domain has in its graph */
GPtrArray *ir_node_subgraphs (const IrNode *node); /* (transfer container) of IrGraph */
char *ir_node_label (const IrNode *node); /* for messages: "conv1 (Conv)" or "#12 (Conv)" */
gboolean ir_node_has_control_uses (const IrNode *node);

/* -- value -- */
typedef struct
{
  IrNode *node;   /* NULL for a graph output */
  IrGraph *graph; /* graph of the node, or whose output it is */
  guint slot;     /* input slot of the node, or place in the outputs */
} IrUse;
IrUse ir_value_use (const IrValue *value, guint index); /* nodes by id and slot, then outputs */
guint ir_value_n_node_uses (const IrValue *value);
gboolean ir_value_is_graph_output (const IrValue *value);
gboolean ir_value_is_graph_input (const IrValue *value);
/* The contents if they can never change: an initializer that is neither mutable nor an overridable
 * input (for IR version < 4 always), or the output of a Constant node. (transfer none) (nullable) */
const IrTensor *ir_value_constant (const IrValue *value);
gboolean ir_value_is_default (const IrValue *value); /* an input with contents, as all of its graph */
gboolean ir_value_is_mutable (const IrValue *value); /* an initializer that training changes */
gboolean ir_value_is_captured (const IrValue *value); /* some use is in another graph */
IrNode *ir_value_only_user (
    const IrValue *value);                /* (nullable) one use, by a node of its own graph */
int ir_value_rank (const IrValue *value); /* IR_RANK_UNKNOWN if not a ranked tensor */
const IrType *ir_value_shown_type (const IrValue *value);    /* (nullable): for people, estimates */
const IrType *ir_value_declared_type (const IrValue *value); /* (nullable): for files */
IrDtype ir_value_dtype (const IrValue *value);

#define ir_node_for_each_input(node, i, value)                                                     \
  for (guint i = 0; i < (node)->n_inputs; i++)                                                     \
    for (IrValue *value = (node)->inputs[i], *once_##i = (IrValue *) (node); once_##i != NULL;     \
         once_##i = NULL)                                                                          \
      if (value != NULL)
