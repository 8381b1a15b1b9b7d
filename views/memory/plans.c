#include "config.h"

#include "views/memory/plans.h"

#include "core/diff/match-values.h"
#include "core/exec/kernel/size.h"

#define ALIGN_BYTES  64   /* of values in the arena, as the runner places them */
#define BUDGET_STEPS 5000 /* of search for each of the many placements on the way to a plan */

/* -- life -- */

IrPlainPlan *
ir_plain_plan_new (void)
{
  IrPlainPlan *plain = g_new0 (IrPlainPlan, 1);

  g_atomic_ref_count_init (&plain->ref_count);
  return plain;
}

IrPlainPlan *
ir_plain_plan_ref (IrPlainPlan *plain)
{
  g_atomic_ref_count_inc (&plain->ref_count);
  return plain;
}

void
ir_plain_plan_unref (IrPlainPlan *plain)
{
  if (!g_atomic_ref_count_dec (&plain->ref_count))
    return;
  g_clear_pointer (&plain->own_plan, ir_mem_plan_unref);
  g_clear_pointer (&plain->own_schedule, ir_schedule_unref);
  g_clear_pointer (&plain->model, ir_model_unref);
  g_clear_pointer (&plain->run, ir_run_unref);
  g_clear_pointer (&plain->sizer, ir_sizer_free);
  g_free (plain);
}

IrMemoryRequest *
ir_memory_request_new (IrPlainPlan *plain)
{
  IrMemoryRequest *memory = g_new0 (IrMemoryRequest, 1);

  g_atomic_ref_count_init (&memory->ref_count);
  memory->plain = ir_plain_plan_ref (plain);
  return memory;
}

IrMemoryRequest *
ir_memory_request_ref (IrMemoryRequest *memory)
{
  g_atomic_ref_count_inc (&memory->ref_count);
  return memory;
}

void
ir_memory_request_unref (gpointer data)
{
  IrMemoryRequest *memory = data;

  if (!g_atomic_ref_count_dec (&memory->ref_count))
    return;
  g_clear_pointer (&memory->again, ir_recompute_plan_free);
  g_clear_pointer (&memory->graph, ir_recompute_graph_free);
  g_clear_pointer (&memory->changes, g_array_unref);
  g_clear_pointer (&memory->before, ir_plain_plan_unref);
  g_clear_pointer (&memory->frame, ir_frame_unref);
  ir_plain_plan_unref (memory->plain);
  g_free (memory->budget);
  g_free (memory);
}

static IrMemFlags
flags_of (const IrPlainPlan *plain)
{
  return plain->separate ? IR_MEM_SEPARATE : 0;
}

static IrMemOptions
place_options (guint64 max_steps, GCancellable *cancellable)
{
  return (IrMemOptions){ .align_bytes = ALIGN_BYTES,
                         .max_steps = max_steps,
                         .cancellable = cancellable };
}

static gboolean
make_schedule (IrPlainPlan *plain, GCancellable *cancellable, GError **error)
{
  if (plain->schedule != NULL)
    return TRUE;
  if (plain->model == NULL)
    plain->model = plain->run != NULL ? ir_model_ref (plain->run->model)
                                      : ir_sizer_make (plain->sizer, error);
  if (plain->model == NULL)
    return FALSE;
  if (plain->run != NULL && !plain->memory_order)
    {
      plain->schedule = plain->run->schedule;
      return TRUE;
    }
  plain->own_schedule = ir_schedule_new (plain->model, plain->backend, 1, error);
  if (plain->own_schedule != NULL && plain->memory_order)
    ir_schedule_order_for_memory (plain->own_schedule, plain->model);
  if (plain->own_schedule != NULL && g_cancellable_set_error_if_cancelled (cancellable, error))
    g_clear_pointer (&plain->own_schedule, ir_schedule_unref);
  plain->schedule = plain->own_schedule;
  return plain->schedule != NULL;
}

/* Goes on where it was cancelled before. */
static gboolean
make_plain (IrPlainPlan *plain, IrJob *job, GCancellable *cancellable, GError **error)
{
  const IrMemOptions place = place_options (IR_MEM_DEFAULT_STEPS, cancellable);

  if (plain->plan != NULL)
    return TRUE;
  ir_job_report (job, -1, "Placing the values…");
  if (!make_schedule (plain, cancellable, error))
    return FALSE;
  if (plain->run != NULL && !plain->memory_order && !plain->separate)
    plain->plan = plain->run->memplan;
  else
    plain->plan = plain->own_plan = ir_mem_plan_new_full (plain->model, plain->schedule,
                                                          flags_of (plain), &place);
  if (plain->plan == NULL)
    g_cancellable_set_error_if_cancelled (cancellable, error);
  else if (plain->of_device && plain->plan->there != NULL)
    plain->plan = plain->plan->there;
  return plain->plan != NULL;
}

static gboolean
make_budget (IrMemoryRequest *memory, IrJob *job, GCancellable *cancellable, GError **error)
{
  const IrMemOptions place = place_options (BUDGET_STEPS, cancellable);
  guint64 budget;

  if (memory->budget == NULL)
    return TRUE;
  if (!ir_size_parse (memory->budget, MAX (memory->plain->plan->peak_bytes, 1), &budget))
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "“%s” is no budget: it needs bytes, such as 500000 or 20M, or a part of the "
                   "peak without one, such as 50%%.",
                   memory->budget);
      return FALSE;
    }
  ir_job_report (job, -1, "Looking for what to compute again…");
  memory->graph = ir_recompute_graph_new (memory->plain->model, memory->plain->schedule,
                                          flags_of (memory->plain), &place);
  if (memory->graph != NULL)
    memory->again = ir_mem_recompute (&memory->graph->problem, budget, &place);
  if (memory->again == NULL)
    g_cancellable_set_error_if_cancelled (cancellable, error);
  return memory->again != NULL;
}

static gboolean
make_changes (IrMemoryRequest *memory, IrJob *job, GCancellable *cancellable, GError **error)
{
  g_autoptr (GHashTable) matched = NULL;

  if (memory->before == NULL)
    return TRUE;
  if (!make_plain (memory->before, job, cancellable, error))
    return FALSE;
  matched = ir_match_values (memory->frame->diff, NULL, cancellable);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  memory->changes = ir_mem_plans_compare (memory->before->plan, memory->before->model,
                                          memory->plain->plan, memory->plain->model, matched);
  return TRUE;
}

IrScene *
ir_memory_request_draw (IrJob *job,
                        gpointer data,
                        const IrChartOptions *options,
                        GCancellable *cancellable,
                        GError **error)
{
  IrMemoryRequest *memory = data;
  const IrPlainPlan *drawn = memory->draws_other ? memory->before : memory->plain;
  IrChartOptions full = *options;

  if (!memory->made && (!make_plain (memory->plain, job, cancellable, error) ||
                        !make_budget (memory, job, cancellable, error) ||
                        !make_changes (memory, job, cancellable, error)))
    return NULL;
  memory->made = TRUE;
  full.beside = drawn->schedule;
  return memory->again != NULL
             ? ir_chart_recompute (memory->graph, memory->again, memory->plain->model, options)
             : ir_chart_memory (drawn->plan, drawn->model, &full);
}
