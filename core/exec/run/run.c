/* A run and its trace: how they begin, how long they live, and a copy of one under way. */
#include "config.h"

#include "core/exec/kernel/stats.h"
#include "core/exec/run/iterations.h"
#include "core/exec/run/plan-check.h"

/**
 * ir_run_new:
 * @prepared: the plan that it follows
 * @options: what it is asked for
 * @missing: (nullable): of #IrMissing: outputs that it will not give
 * @inputs: value id -> #IrTensor: what it is given
 *
 * Returns: (transfer full): a run of which no node has run
 */
IrRun *
ir_run_new (const IrPrepared *prepared,
            const IrRunOptions *options,
            GArray *missing,
            GHashTable *inputs)
{
  IrRun *run = g_new0 (IrRun, 1);

  g_atomic_ref_count_init (&run->ref_count);
  g_mutex_init (&run->presenting);
  run->model = ir_model_ref (prepared->model);
  run->values = g_new0 (IrTensor *, prepared->n_values + 1);
  run->n_values = prepared->n_values;
  run->capture = ir_capture_new (options, inputs);
  if (options->checks & IR_RUN_CHECK_PLAN)
    run->plan_check = ir_plan_check_new (prepared);
  if (options->iterations.kind != IR_ITERATIONS_NONE)
    run->iterations = ir_iteration_values_new (&options->iterations);
  run->stats = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  run->missing = missing != NULL ? g_array_ref (missing) : NULL;
  run->schedule = ir_schedule_ref (prepared->schedule);
  run->memplan = ir_mem_plan_ref (prepared->memplan);
  run->held = prepared->held;
  run->trace = g_new0 (IrTrace, 1);
  g_atomic_ref_count_init (&run->trace->ref_count);
  run->trace->items = g_array_new (FALSE, FALSE, sizeof (IrTraceItem));
  return run;
}

/**
 * ir_run_n_computing:
 * @run: a run
 *
 * Returns: how many nodes of the main graph compute something, or were reused: all but constants
 */
guint
ir_run_n_computing (const IrRun *run)
{
  const GArray *items = run->schedule->items;
  guint n = 0;

  for (guint i = 0; i < items->len; i++)
    n += !ir_reuse_is_constant (
        ir_model_node (run->model, g_array_index (items, IrScheduleItem, i).node));
  return n;
}

/**
 * ir_run_state_snapshot:
 * @state: a run under way
 * @n_steps: how many steps of its schedule have run
 *
 * What lies in the file of its budget is left out: it is still written to.
 *
 * Returns: (transfer full): a run with what @state has kept by now
 */
IrRun *
ir_run_state_snapshot (IrRunState *state, guint n_steps)
{
  const IrPrepared *prepared = state->prepared;
  IrRun *run = state->run,
        *copy = ir_run_new (prepared, state->options, run->missing, ir_run_inputs (run));
  const guint n_slab = n_steps > 0 ? prepared->steps[n_steps - 1].n_slab_values : 0;
  GHashTableIter iter;
  gpointer id, stats;

  for (guint i = 0; i < run->n_values; i++)
    if (run->values[i] != NULL)
      copy->values[i] = ir_tensor_ref (run->values[i]);
  for (guint i = 0; i < n_slab; i++)
    {
      IrValueId slab = g_array_index (prepared->slab_values, IrValueId, i);
      if (copy->values[slab] == NULL)
        copy->values[slab] = ir_tensor_ref (prepared->values[slab].binding.tensor);
    }
  g_hash_table_iter_init (&iter, run->stats);
  while (g_hash_table_iter_next (&iter, &id, &stats))
    g_hash_table_insert (copy->stats, id, g_memdup2 (stats, sizeof (IrTensorStats)));
  g_array_append_vals (copy->trace->items, run->trace->items->data, state->n_done);
  copy->trace->duration_ns = ir_run_elapsed_ns (state);
  copy->trace->peak_bytes = state->peak_bytes;
  copy->under_way = TRUE;
  return copy;
}

/**
 * ir_run_ref:
 * @run: a run
 *
 * Returns: (transfer full): @run
 */
IrRun *
ir_run_ref (IrRun *run)
{
  g_atomic_ref_count_inc (&run->ref_count);
  return run;
}

/**
 * ir_run_unref:
 * @run: (transfer full) (nullable): a run
 */
void
ir_run_unref (IrRun *run)
{
  if (run == NULL || !g_atomic_ref_count_dec (&run->ref_count))
    return;
  ir_capture_drop_values (run);
  g_free (run->values);
  g_hash_table_unref (run->stats);
  ir_capture_free (run->capture);
  ir_iteration_values_free (run->iterations);
  ir_plan_check_free (run->plan_check);
  g_mutex_clear (&run->presenting);
  ir_trace_unref (run->trace);
  ir_schedule_unref (run->schedule);
  ir_mem_plan_unref (run->memplan);
  g_clear_pointer (&run->missing, g_array_unref);
  g_clear_pointer (&run->claims, g_array_unref);
  g_clear_error (&run->error);
  ir_model_unref (run->model);
  g_free (run);
}

/**
 * ir_trace_ref:
 * @trace: a trace
 *
 * Returns: (transfer full): @trace
 */
IrTrace *
ir_trace_ref (IrTrace *trace)
{
  g_atomic_ref_count_inc (&trace->ref_count);
  return trace;
}

/**
 * ir_trace_unref:
 * @trace: (transfer full) (nullable): a trace
 */
void
ir_trace_unref (IrTrace *trace)
{
  if (trace == NULL || !g_atomic_ref_count_dec (&trace->ref_count))
    return;
  g_array_unref (trace->items);
  g_clear_pointer (&trace->copies, g_array_unref);
  g_free (trace);
}
