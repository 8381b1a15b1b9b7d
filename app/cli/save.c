/* Saving models, with what has to be done before. */
#include "config.h"

#include "app/cli/save.h"

#include "app/cli/output.h"
#include "passes/pipeline/save.h"

gboolean
cli_save_model (Cli *cli, IrModel *model, const char *path, const char *format, GError **error)
{
  guint n_raised;

  if (!ir_pass_save_model (model, path, format, &n_raised, cli->cancellable, error))
    return FALSE;
  if (n_raised > 0)
    cli_printerr (
        "%s: ONNX has no closures and no tokens; %u steps have raised them to control flow. ONNX text and JSON keep them.\n",
        path, n_raised);
  return TRUE;
}
