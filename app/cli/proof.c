#include "config.h"

#include "app/cli/proof.h"

#include "app/cli/output.h"

static void
show_proof (guint done, guint total, gpointer data)
{
  cli_progress (data, "proof", done, total);
}

/* They are those of the model as it was opened: the cursor is at step 0 meanwhile. */
static GHashTable *
first_inputs (
    Cli *cli, const CliModelOptions *options, IrModel *model, gsize memory_limit, GError **error)
{
  guint cursor = ir_history_cursor (model);

  ir_history_goto (model, 0);
  GHashTable *inputs = cli_inputs_within (cli, options, model, memory_limit, error);
  ir_history_goto (model, cursor);
  return inputs;
}

gboolean
cli_prove (Cli *cli,
           const CliModelOptions *options,
           IrModel *model,
           IrProofSummary *summary,
           GError **error)
{
  g_autoptr (IrProver) prover = NULL;
  g_autoptr (GHashTable) inputs = NULL;
  const IrBackend *backend = cli_backend (options, error);
  IrProverOptions how = { .n_threads = (guint) MAX (options->threads, 0) };
  gboolean done;

  if (backend == NULL || !cli_limits (options, &how.limits, error))
    return FALSE;
  inputs = first_inputs (cli, options, model, how.limits.memory_limit, error);
  if (inputs == NULL)
    return FALSE;
  prover = ir_prover_new_with (model, inputs, backend, &how, cli->cancellable, error);
  if (prover == NULL)
    return FALSE;
  done = ir_prover_prove_all (prover, summary, show_proof, cli, cli->cancellable, error);
  cli_progress_end (cli);
  return done;
}

static void
show_node (guint done, guint total, const IrNode *node, gpointer data)
{
  cli_progress (data, "node", done, total);
}

IrExecutionCheck *
cli_check_execution (Cli *cli, const CliModelOptions *options, IrModel *model, GError **error)
{
  IrRunOptions settings = { .backend = cli_backend (options, error),
                            .n_threads = (guint) MAX (options->threads, 0),
                            .progress = show_node,
                            .progress_data = cli };
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (GError) local = NULL;
  IrRunLimits limits;

  if (settings.backend == NULL || !cli_limits (options, &limits, error))
    return NULL;
  settings.memory_limit = limits.memory_limit;
  settings.output_limit = limits.output_limit;
  settings.iteration_limit = limits.iteration_limit;
  settings.time_limit_ms = limits.time_limit_ms;
  inputs = first_inputs (cli, options, model, limits.memory_limit, error);
  if (inputs == NULL)
    return NULL;
  IrExecutionCheck *check = ir_execution_check (model, inputs, &settings, NULL, cli->cancellable,
                                                &local);
  cli_progress_end (cli);
  if (check == NULL && !g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED))
    check = ir_execution_check_new_failed (g_steal_pointer (&local));
  if (check == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return check;
}

/* Leaves the model at its last step; those beyond N of FILE@N are cut off. */
static void
keep_steps (CliModel *opened)
{
  if (opened->step >= 0)
    {
      ir_history_goto (opened->model, opened->step);
      ir_edit_free (ir_edit_new (opened->model));
    }
}

IrTrial *
cli_trial (Cli *cli, const CliModelOptions *options, CliModel *opened, GError **error)
{
  const IrBackend *backend = cli_backend (options, error);
  IrModel *model = opened->model;
  g_autoptr (GHashTable) inputs = NULL;
  IrRunLimits limits;
  IrTrial *trial;

  if (backend == NULL || !cli_limits (options, &limits, error))
    return NULL;
  keep_steps (opened);
  inputs = first_inputs (cli, options, model, limits.memory_limit, error);
  if (inputs == NULL)
    return NULL;
  trial = ir_trial_new (model, inputs, backend, MAX (options->threads, 0), cli->cancellable);
  ir_trial_limit (trial, &limits);
  return trial;
}
