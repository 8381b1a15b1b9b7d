/* A model at a glance: what its operators and scopes cost, measured and by the cost model, what its values
 * hold, and where its nodes would run. */
#pragma once

#include "core/exec/run/run.h"

/* One operator, or one scope. */
typedef struct
{
  const char *name; /* interned; "" of scopes: nodes without one */
  guint n_nodes;
  guint64 params; /* elements of constants that nothing before has read */
  guint64 flops, bytes;
  gint64 time_ns; /* of the nodes that a run has timed; 0: none */
  IrNodeId node;  /* the first */
  guint8 family;  /* IrOpFamily of it, or IR_N_FAMILIES: not known */
} IrSummaryRow;

/* Values of one element type. */
typedef struct
{
  IrDtype dtype;
  guint n_constants, n_computed;
  guint64 constant_bytes, computed_bytes;
  gboolean partial; /* sizes that are not known count as 1 */
} IrSummaryDtype;

typedef struct
{
  IrValueId value;
  guint64 bytes;
  gboolean constant;
} IrSummaryTensor;

/* Nodes that run in one place for one reason. */
typedef struct
{
  const char *where; /* "cpu", "ref", "control flow", "function body", "nothing" */
  const char *why;   /* (nullable) static */
  guint n_nodes;
  IrNodeId node; /* the first */
} IrSummaryPlace;

typedef struct
{
  const IrModel *model;
  guint n_nodes;
  guint64 params, param_bytes, flops, bytes;
  gboolean partial;     /* sizes that are not known count as 1 */
  gint64 time_ns;       /* of all nodes that were timed; 0: none */
  GArray *ops, *scopes; /* of IrSummaryRow, most arithmetic first */
  GArray *dtypes;       /* of IrSummaryDtype */
  GArray *tensors;      /* of IrSummaryTensor, the largest ones */
  GArray *places;       /* of IrSummaryPlace */
} IrSummary;

typedef enum
{
  IR_SUMMARY_NAME,
  IR_SUMMARY_NODES,
  IR_SUMMARY_PARAMS,
  IR_SUMMARY_FLOPS,
  IR_SUMMARY_BYTES,
  IR_SUMMARY_INTENSITY,
  IR_SUMMARY_TIME,
  IR_N_SUMMARY_KEYS
} IrSummaryKey;

IrSummary *ir_summary_new (const IrModel *model,
                           const IrTrace *trace,     /* (nullable) of a run of it */
                           const IrBackend *backend, /* (nullable): cpu */
                           guint depth,              /* parts of names of scopes; 0: all */
                           guint n_tensors);
void ir_summary_free (IrSummary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSummary, ir_summary_free)
void ir_summary_sort (GArray *rows, IrSummaryKey key);
const char *ir_summary_key_name (IrSummaryKey key); /* "flops" */
double ir_summary_amount (const IrSummaryRow *row, IrSummaryKey key);
