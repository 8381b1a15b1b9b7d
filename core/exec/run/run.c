/* A run that has ended, and its trace: how long they live. */
#include "config.h"

#include "core/exec/run/plan-check.h"

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
  g_free (trace);
}
