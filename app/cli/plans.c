#include "config.h"

#include "app/cli/plans.h"

#include "app/cli/output.h"

#include <string.h>

IrModel *
cli_sized_model (const CliModelOptions *options, IrModel *model, GError **error)
{
  const IrBackend *backend = cli_backend (options, error);
  g_autoptr (IrModel) copy = backend != NULL ? ir_exec_lower (model, backend, error) : NULL;

  if (copy == NULL)
    return NULL;
  g_autoptr (IrEdit) edit = ir_edit_new_import (copy);

  if (!cli_bind_sizes (options, model, edit, error))
    return NULL;
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  g_clear_pointer (&edit, ir_edit_free);
  return g_steal_pointer (&copy);
}

guint
cli_n_workers (const CliModelOptions *options)
{
  return options->threads > 0 ? (guint) options->threads : g_get_num_processors ();
}

IrSchedule *
cli_schedule (Cli *cli,
              const CliModelOptions *options,
              IrModel *model,
              guint n_workers,
              IrModel **sized,
              GError **error)
{
  const IrBackend *backend = cli_backend (options, error);
  const IrScheduleOptions plan = { .stages = { .n_workers = n_workers,
                                               .cancellable = cli->cancellable } };

  *sized = backend != NULL ? cli_sized_model (options, model, error) : NULL;
  return *sized != NULL ? ir_schedule_new_with (*sized, backend, &plan, NULL, error) : NULL;
}

IrRun *
cli_timed_run (
    Cli *cli, const CliModelOptions *options, IrModel *model, IrParallelMode mode, GError **error)
{
  IrRunOptions settings = { .backend = cli_backend (options, error),
                            .n_threads = cli_n_workers (options),
                            .parallel = mode,
                            .seed = (guint64) options->seed };
  g_autoptr (GHashTable) inputs = settings.backend != NULL ? cli_inputs (cli, options, model, error)
                                                           : NULL;
  g_autoptr (IrExecutable) executable = inputs != NULL ? ir_executable_new (model, &settings, error)
                                                       : NULL;
  const guint n = mode == IR_PARALLEL_AUTO ? IR_PARALLEL_AUTO_RUNS + 1 : 2; /* one to warm up */
  g_autoptr (IrRun) run = NULL;

  for (guint i = 0; i < n && executable != NULL; i++)
    {
      g_clear_pointer (&run, ir_run_unref);
      run = ir_executable_run (executable, inputs, cli->cancellable, NULL, error);
      if (run == NULL)
        return NULL;
      cli_progress (cli, "run", i + 1, n);
    }
  cli_progress_end (cli);
  return g_steal_pointer (&run);
}

IrSchedule *
cli_run_schedule (Cli *cli,
                  const CliModelOptions *options,
                  IrModel *model,
                  IrParallelMode mode,
                  IrModel **sized,
                  IrScheduleDetails **details,
                  GError **error)
{
  const IrBackend *backend = cli_backend (options, error);
  IrScheduleOptions plan = ir_schedule_run_options (cli_n_workers (options), mode);

  if (backend == NULL)
    return NULL;
  if (mode == IR_PARALLEL_AUTO)
    {
      g_autoptr (IrRun) run = cli_timed_run (cli, options, model, mode, error);

      if (run == NULL)
        return NULL;
      *sized = ir_model_ref (run->model);
      if (details != NULL)
        *details = ir_schedule_details_new (run->schedule, *sized);
      return ir_schedule_ref (run->schedule);
    }
  plan.stages.cancellable = cli->cancellable;
  *sized = cli_sized_model (options, model, error);
  return *sized != NULL ? ir_schedule_new_with (*sized, backend, &plan, details, error) : NULL;
}

gboolean
cli_plan_choice (const CliPlanOptions *options, CliPlanChoice *choice, GError **error)
{
  *choice = (CliPlanChoice){ .in_memory_order = g_strcmp0 (options->order, "memory") == 0,
                             .flags = options->separate ? IR_MEM_SEPARATE : 0 };
  if (!cli_parallel (options->parallel, &choice->parallel, error))
    return FALSE;
  if (options->order != NULL && strcmp (options->order, "file") != 0 && !choice->in_memory_order)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--order %s: needs file or memory", options->order);
      return FALSE;
    }
  if (choice->parallel != IR_PARALLEL_OFF && (choice->in_memory_order || options->budget != NULL))
    {
      g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                           "--order memory and --budget are plans of nodes one at a time; leave "
                           "out --parallel, or them");
      return FALSE;
    }
  return TRUE;
}

IrSchedule *
cli_plan_schedule (Cli *cli,
                   const CliModelOptions *options,
                   const CliPlanChoice *choice,
                   IrModel *model,
                   IrModel **sized,
                   GError **error)
{
  IrSchedule *schedule = cli_run_schedule (cli, options, model, choice->parallel, sized, NULL,
                                           error);

  if (schedule != NULL && choice->in_memory_order)
    ir_schedule_order_for_memory (schedule, *sized);
  return schedule;
}
