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
  inputs = cli_inputs (options, model, error);
  ir_history_goto (model, cursor);
  if (inputs == NULL)
    return FALSE;
  prover = ir_prover_new (model, inputs, backend, cli->cancellable, error);
  if (prover == NULL)
    return FALSE;
  done = ir_prover_prove_all (prover, summary, show_proof, cli, cli->cancellable, error);
  cli_progress_end (cli);
  return done;
}
