/* --since of irscope run: the graph as it was before a change runs first, and then what the change affects. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/origin.h"
#include "app/cli/output.h"
#include "app/cli/run.h"
#include "core/ir/history.h"
#include "passes/proof/compare-values.h"

#include <stdlib.h>

IrRun *
cli_run_since (Cli *cli,
               const CliRun *options,
               IrModel *history,
               GHashTable *inputs,
               const IrRunOptions *settings,
               GError **error)
{
  const guint n_steps = ir_history_n_steps (history);
  g_autoptr (IrModel) now = ir_history_snapshot (history, ir_history_cursor (history));
  g_autoptr (IrModel) then = NULL;
  g_autoptr (GHashTable) given = NULL;
  IrRunOptions all = *settings;
  guint64 step;

  if (!g_ascii_string_to_unsigned (options->since, 10, 0, G_MAXUINT, &step, NULL) || step > n_steps)
    {
      g_set_error (
          error, CLI_ERROR, 0,
          "--since %s: is no step of this graph; steps 0 to %u exist (--pipeline, --pass and "
          "FILE@N make steps)",
          options->since, n_steps);
      return NULL;
    }
  then = ir_history_snapshot (history, (guint) step);
  given = ir_matching_inputs (now, inputs, then, (guint64) options->model.seed, NULL, error);
  if (given == NULL)
    return NULL;
  all.capture = IR_CAPTURE_ALL;
  all.chosen = NULL;
  all.iterations = (IrIterations){ 0 };
  return ir_model_run (then, given, &all, cli->cancellable, error);
}

void
cli_run_report_reused (const Cli *cli, const CliRun *options, const IrRun *run, cJSON *json)
{
  const guint n = ir_run_n_computing (run);
  cJSON *object;

  if (options->since == NULL)
    return;
  object = cJSON_AddObjectToObject (json, "since");
  cJSON_AddNumberToObject (object, "step", atoi (options->since));
  cJSON_AddNumberToObject (object, "ran", n - run->n_reused);
  cJSON_AddNumberToObject (object, "reused", run->n_reused);
  if (!cli->json && run->n_reused == 0)
    cli_print ("all %u nodes ran: since step %s nothing has changed, or everything\n", n,
               options->since);
  else if (!cli->json)
    cli_print (
        "%u of %u nodes ran; %u were not run again: what leads to them is as it was at step %s\n",
        n - run->n_reused, n, run->n_reused, options->since);
}
