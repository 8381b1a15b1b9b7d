/* The edit log read back: steps, pass runs, the cursor, travel, snapshots. Generic over all passes.
 */
#pragma once

#include "core/ir/edit.h"

typedef enum
{
  IR_VERDICT_NONE, /* not proved */
  IR_VERDICT_EXACT,
  IR_VERDICT_ROUNDING,
  IR_VERDICT_BROKEN,
  IR_VERDICT_SKIPPED, /* cannot be proved here; the reason is in the proof's text */
  IR_N_VERDICTS
} IrVerdict;

/* Kinds of records: R (ID, "name", subject, payload); getters and setters in record.c. The names are
 * for people: code asks for the kind. */
#define IR_RECORDS(R)                                                                              \
  R (NODE_STATE, "node", NODE, STATE)                                                              \
  R (NODE_INPUT, "input", NODE, VALUE)                                                             \
  R (NODE_N_INPUTS, "number of inputs", NODE, NUMBER)                                              \
  R (NODE_OUTPUT, "output", NODE, VALUE)                                                           \
  R (NODE_N_OUTPUTS, "number of outputs", NODE, NUMBER)                                            \
  R (NODE_ATTR, "attribute", NODE, ATTR)                                                           \
  R (NODE_OP, "operator", NODE, OP)                                                                \
  R (NODE_NAME, "node name", NODE, STRING)                                                         \
  R (NODE_SCOPE, "scope", NODE, STRING)                                                            \
  R (NODE_DEVICE, "device", NODE, STRING)                                                          \
  R (NODE_RANK, "rank", NODE, NUMBER)                                                              \
  R (NODE_CONTROLS, "control dependencies", NODE, IDS)                                             \
  R (NODE_EXTRA, "node metadata", NODE, EXTRA)                                                     \
  R (NODE_GRAPH, "graph of node", NODE, GRAPH)                                                     \
  R (VALUE_STATE, "value", VALUE, STATE)                                                           \
  R (VALUE_TYPE, "type", VALUE, TYPE)                                                              \
  R (VALUE_CLAIM, "declared type", VALUE, TYPE)                                                    \
  R (VALUE_FLAGS, "flags", VALUE, NUMBER)                                                          \
  R (VALUE_INITIALIZER, "initializer", VALUE, TENSOR)                                              \
  R (VALUE_NAME, "value name", VALUE, STRING)                                                      \
  R (VALUE_EXTRA, "value metadata", VALUE, EXTRA)                                                  \
  R (VALUE_GRAPH, "graph of value", VALUE, GRAPH)                                                  \
  R (GRAPH_STATE, "graph", GRAPH, STATE)                                                           \
  R (GRAPH_OWNER, "owner of graph", GRAPH, NUMBER)                                                 \
  R (GRAPH_NAME, "graph name", GRAPH, STRING)                                                      \
  R (GRAPH_INPUTS, "graph inputs", GRAPH, IDS)                                                     \
  R (GRAPH_OUTPUTS, "graph outputs", GRAPH, IDS)                                                   \
  R (GRAPH_EXTRA, "graph metadata", GRAPH, EXTRA)                                                  \
  R (GRAPH_FUNCTION, "function", GRAPH, FUNCTION)                                                  \
  R (MODEL_OPSETS, "opset imports", MODEL, OPSETS)                                                 \
  R (MODEL_INFO, "model information", MODEL, INFO)

typedef enum
{
#define R(ID, NAME, SUBJECT, PAYLOAD) IR_RECORD_##ID,
  IR_RECORDS (R)
#undef R
      IR_N_RECORD_KINDS
} IrRecordKind;

/* One reversible record; 32 bytes. What before and after hold depends on the kind's row. */
typedef struct
{
  guint8 kind;     /* IrRecordKind */
  guint32 subject; /* node, value or graph id, by kind; 0 = the model */
  guint32 slot;
  union
  {
    gconstpointer pointer;
    guint64 number;
  } before, after;
} IrRecord;

typedef struct
{
  guint64 flops;  /* multiply and add count as two */
  guint64 bytes;  /* read and written by all nodes */
  guint64 params; /* elements of constants */
  guint n_nodes;  /* counted as ir_model_n_counted_nodes() */
} IrCost;

typedef struct
{
  guint32 before, after; /* value or node ids */
} IrIdPair;

typedef struct
{
  IrVerdict verdict;
  double max_abs, max_rel; /* largest difference of the old and the new outputs of the cone */
  guint64 max_ulp;
  double bound;          /* what max error (against float64) was allowed, when judged */
  IrValueId worst_value; /* old value where the largest difference is */
  gint64 duration_ns;
  const char *text; /* (nullable) interned: reason of a skip, or a sentence on the finding */
} IrProof;

typedef struct
{
  guint index;      /* 1-based: after this step the model is at step index; 0 = as imported */
  guint pass_run;   /* index into ir_log_pass_runs */
  const char *rule; /* interned */
  IrClass step_class;
  IrNodeId anchor;
  const char *reason; /* (nullable) interned: bindings and conditions in words */
  guint occurrence;   /* nth application of this rule at this lineage key: stable key part */
  gsize first_record;
  guint n_records;
  gint64 started_ns, duration_ns; /* relative to the pass run; how long match and rewrite took */
  IrCost cost_before, cost_after;
  GArray *nodes;  /* (nullable) of IrIdPair: lineage, old -> new node */
  GArray *values; /* (nullable) of IrIdPair: new value stands for old value */
  GArray *parts;  /* (nullable) of IrIdPair: a value, and (a part of) what is derived by it */
  IrProof proof;
} IrStep;

typedef struct
{
  const char *pass, *pipeline; /* interned; pipeline nullable */
  const char *settings;        /* (nullable) interned: options of the pass that were set */
  guint iteration;             /* nth run of this pass in the pipeline run */
  guint first_step, n_steps;   /* steps [first_step, first_step + n_steps), 1-based indices */
  gint64 duration_ns;
} IrPassRun;

typedef struct
{
  const char *rule;
  IrNodeId anchor;
  guint pass_run;
  const char *reason;
} IrRefusal;

guint ir_history_n_steps (const IrModel *model);
guint ir_history_cursor (const IrModel *model);                    /* 0 .. n_steps */
const IrStep *ir_history_step (const IrModel *model, guint index); /* 1 .. n_steps */
guint ir_history_n_pass_runs (const IrModel *model);
const IrPassRun *ir_history_pass_run (const IrModel *model, guint index); /* 0-based */
guint ir_history_n_refusals (const IrModel *model);
const IrRefusal *ir_history_refusal (const IrModel *model, guint index);
void ir_history_goto (IrModel *model, guint step); /* undo or redo up to there */
gboolean ir_history_undo (IrModel *model);
gboolean ir_history_redo (IrModel *model);
/* The model at @step as a frozen snapshot; does not move the cursor (works on a private replay
 * cached near the cursor). Least recently used ones are dropped. (transfer full) */
IrModel *ir_history_snapshot (IrModel *model, guint step);
/* An editable copy with the same history, to travel in another thread. (transfer full) */
IrModel *ir_history_clone (IrModel *model);
gsize ir_history_bytes (const IrModel *model); /* log, checkpoints */
const IrRecord *ir_history_record (const IrModel *model, gsize index);
char *ir_record_to_string (const IrModel *model, const IrRecord *record); /* one line, for people */
gboolean ir_record_changes_computation (const IrRecord *record);
void ir_history_set_proof (IrModel *model, guint step, const IrProof *proof);
void ir_history_set_cost (IrModel *model, guint step, const IrCost *before, const IrCost *after);
const char *ir_verdict_name (IrVerdict verdict);
/* Which pass run a step lies in; its pass name. */
const char *ir_history_pass_of (const IrModel *model, guint step);

/* -- lineage: many-to-many, both ways -- */
GArray *ir_lineage_origins (IrModel *model, IrNodeId node); /* of IrNodeId at step 0 */
GArray *ir_lineage_descendants (IrModel *model, IrNodeId node, guint step); /* live at step */
GArray *ir_lineage_steps (IrModel *model, IrNodeId node); /* of guint: steps that touched it */
/* What a step was to a node. */
typedef enum
{
  IR_TOUCH_NOTED, /* it began there, or the node is in its lineage */
  IR_TOUCH_CHANGED,
  IR_TOUCH_BORN,
  IR_TOUCH_GONE,
  IR_N_TOUCHES
} IrTouchKind;

typedef struct
{
  guint step;
  IrTouchKind kind;
} IrTouch;

GArray *ir_lineage_touches (const IrModel *model, IrNodeId node); /* of IrTouch, ascending */
const char *ir_touch_name (IrTouchKind kind);
IrValueId ir_lineage_original_value (IrModel *model, IrValueId value); /* 0 = none: stands for */
IrValueId ir_lineage_current_value (IrModel *model, IrValueId original, guint step); /* 0 = gone */
