/* One node on given contents. */
#pragma once

#include "core/exec/run/run.h"

/* Runs one node on given contents (reference kernels): constant folding and proofs use it. Outputs
 * that the node does not have are NULL. (transfer full) outputs */
gboolean ir_eval_node (const IrNode *node,
                       const IrTensor *const *inputs,
                       IrTensor **outputs,
                       const IrBackend *backend,
                       gsize output_limit,
                       GError **error);

/* The same for proofs: with threads, cancelling, random draws as a run has them, and nodes that own
 * subgraphs. */
typedef struct
{
  const IrBackend *backend;  /* NULL: reference kernels */
  IrThreads threads;
  GCancellable *cancellable; /* (nullable) */
  /* (nullable) what a value holds that the node's subgraphs use and that lies outside of them */
  const IrTensor *(*contents) (const IrValue *value, gpointer data);
  gpointer data;
  /* (nullable) In: NULL, or what was prepared for another node, if the back end shares it; out:
   * what is prepared now, for the caller to release. */
  gpointer *state;
  IrRunLimits limits; /* of values and loops */
  gint64 deadline_us; /* of g_get_monotonic_time(); 0: none */
  guint64 seed; /* of the run that random operators draw for */
  guint round;  /* how often the node has run before in it */
} IrEvalOptions;
gboolean ir_eval_node_with (const IrNode *node,
                            const IrTensor *const *inputs,
                            IrTensor **outputs,
                            const IrEvalOptions *options,
                            GError **error);
gboolean ir_eval_control (const IrNode *node,
                          const IrTensor *const *inputs,
                          IrTensor **outputs,
                          const IrEvalOptions *options,
                          GError **error);
