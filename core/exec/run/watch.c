/* Watchpoints: breakpoints that are judged on what a run has kept, in memory, in its file, or as
 * statistics alone. Nothing runs for it. */
#include "config.h"

#include "core/exec/run/control.h"

#include "core/exec/run/capture.h"

typedef struct
{
  IrRun *run;
  const GPtrArray *breaks;
  GCancellable *cancellable;
  GArray *hits;
} Judging;

static void
hit_clear (gpointer data)
{
  ir_run_finding_clear (&((IrRunHit *) data)->finding);
}

/* @tensor: (nullable): only @kept is known; @kept: (nullable): statistics */
static void
judge_value (const Judging *judging,
             const IrValue *value,
             const IrNode *node,
             const IrTensor *tensor,
             const IrTensorStats *kept)
{
  const IrRunOptions *options = ir_run_options (judging->run);
  gboolean counted = kept != NULL;
  IrTensorStats stats;

  if (tensor == NULL && kept == NULL)
    return;
  if (kept != NULL)
    stats = *kept;
  for (guint i = 0; i < judging->breaks->len; i++)
    {
      const IrRunBreak *by = judging->breaks->pdata[i];
      IrRunHit hit = { .by = by, .value = value->id, .node = node != NULL ? node->id : 0 };

      if (node != NULL ? !ir_run_break_matches (by, node) : !ir_run_break_is_of_any (by))
        continue;
      if (!counted)
        ir_tensor_stats_with (tensor, 0, ir_threads_of (options->n_threads, FALSE), &stats);
      counted = TRUE;
      if (!ir_run_break_holds (by, tensor, &stats, &hit.finding))
        continue;
      hit.stats = stats;
      g_array_append_val (judging->hits, hit);
    }
}

/* Nodes of bodies before the one that owns them, as they end. */
static void
judge_node (const Judging *judging, const IrNode *node)
{
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);

  for (guint i = 0; subgraphs != NULL && i < subgraphs->len; i++)
    {
      guint n;
      IrNode *const *nodes = ir_graph_order (subgraphs->pdata[i], &n);

      for (guint k = 0; k < n; k++)
        judge_node (judging, nodes[k]);
    }
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && !g_cancellable_is_cancelled (judging->cancellable))
      judge_value (
          judging, node->outputs[i], node, ir_run_value (judging->run, node->outputs[i]->id),
          g_hash_table_lookup (judging->run->stats, GUINT_TO_POINTER (node->outputs[i]->id)));
}

/**
 * ir_run_judge:
 * @run: a run
 * @breaks: (element-type IrRunBreak): with tests of values; what they say of memory and of reference
 *   kernels is passed over
 * @cancellable: (nullable): polled between values
 *
 * Looks at what @run has kept of values.
 *
 * Returns: (transfer full): of #IrRunHit, inputs first, then by node in the order in which they ran; of
 *   bodies the last round
 */
GArray *
ir_run_judge (IrRun *run, const GPtrArray *breaks, GCancellable *cancellable)
{
  const IrGraph *main = run->model->main;
  Judging judging = { run, breaks, cancellable, g_array_new (FALSE, FALSE, sizeof (IrRunHit)) };

  g_array_set_clear_func (judging.hits, hit_clear);
  for (guint i = 0; i < ir_graph_n_inputs (main); i++)
    {
      const IrValue *input = ir_graph_input (main, i);

      if (input != NULL && ir_value_constant (input) == NULL)
        judge_value (&judging, input, NULL,
                     g_hash_table_lookup (ir_run_inputs (run), GUINT_TO_POINTER (input->id)), NULL);
    }
  for (guint i = 0; i < run->schedule->items->len; i++)
    judge_node (
        &judging,
        ir_model_node (run->model, g_array_index (run->schedule->items, IrScheduleItem, i).node));
  return judging.hits;
}
