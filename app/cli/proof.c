#include "config.h"

#include "app/cli/proof.h"

#include "app/cli/output.h"

static void
show_proof (guint done, guint total, gpointer data)
{
  cli_progress (data, "proof", done, total);
}

/* The inputs are those of the model as it was opened: the cursor is at step 0 meanwhile. */
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
  guint cursor = ir_history_cursor (model);
  gboolean done;

  if (backend == NULL)
    return FALSE;
  ir_history_goto (model, 0);
  inputs = cli_inputs (cli, options, model, error);
  ir_history_goto (model, cursor);
  if (inputs == NULL)
    return FALSE;
  prover = ir_prover_new_with_threads (model, inputs, backend, MAX (options->threads, 0),
                                       cli->cancellable, error);
  if (prover == NULL)
    return FALSE;
  done = ir_prover_prove_all (prover, summary, show_proof, cli, cli->cancellable, error);
  cli_progress_end (cli);
  return done;
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

  if (backend == NULL)
    return NULL;
  keep_steps (opened);
  /* The inputs are those of the graph as it was opened. */
  ir_history_goto (model, 0);
  inputs = cli_inputs (cli, options, model, error);
  ir_history_goto (model, ir_history_n_steps (model));
  if (inputs == NULL)
    return NULL;
  return ir_trial_new (model, inputs, backend, MAX (options->threads, 0), cli->cancellable);
}
