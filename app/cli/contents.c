#include "config.h"

#include "app/cli/contents.h"

#include "app/cli/output.h"

#include <string.h>

void
cli_contents_clear (CliContents *contents)
{
  g_clear_pointer (&contents->tensor, ir_tensor_unref);
  g_clear_pointer (&contents->run, ir_run_unref);
  g_clear_pointer (&contents->original, ir_model_unref);
  g_clear_pointer (&contents->expanded, ir_model_unref);
  ir_found_clear (&contents->found);
  ir_iteration_name_clear (&contents->iteration);
}
/* Only what the value is computed from is kept by the run. */
static gboolean
compute (
    Cli *cli, const CliModelOptions *options, IrModel *model, CliContents *contents, GError **error)
{
  CliModelOptions own = *options;
  guint step = ir_history_cursor (model);
  IrValueId id = contents->value->id;
  g_autoptr (GArray) chosen = NULL;
  g_autoptr (IrOriginals) originals = NULL;

  if (contents->original != NULL)
    chosen = ir_originals_needs (model, step, id, error);
  else
    {
      chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
      g_array_append_val (chosen, id);
    }
  if (contents->iteration.frame != NULL)
    own.captured = (IrIterations){ IR_ITERATIONS_ONE, contents->iteration.iteration, 0,
                                   contents->iteration.frame };
  if (chosen != NULL)
    contents->run = cli_run (cli, &own, contents->expanded != NULL ? contents->expanded : model,
                             IR_CAPTURE_CHOSEN, chosen, NULL, error);
  if (contents->run == NULL)
    return FALSE;
  if (contents->original == NULL && !cli_value_was_run (contents->run, contents->value, error))
    return FALSE;
  if (contents->iteration.frame != NULL)
    contents->tensor = ir_run_find_iteration (contents->run, &contents->iteration, cli->cancellable,
                                              &contents->found, error);
  else if (contents->original == NULL)
    contents->tensor = ir_run_find (contents->run, id, cli->cancellable, &contents->found, error);
  else if ((originals = ir_originals_new (model, step, contents->run, error)) != NULL)
    contents->tensor = ir_originals_find (originals, id, cli->cancellable, &contents->found, error);
  return contents->tensor != NULL;
}

/* A value that the pipeline took away is one of the original graph. */
gboolean
cli_find_contents (Cli *cli,
                   const CliModelOptions *options,
                   IrModel *model,
                   const char *name,
                   CliContents *contents,
                   GError **error)
{
  g_autoptr (GError) local = NULL;
  const IrBackend *backend = cli_backend (options, error);

  if (backend == NULL)
    return FALSE;
  contents->value = cli_find_iteration (model, backend, &contents->expanded, name,
                                        &contents->iteration, &local);
  if (contents->value == NULL && ir_history_cursor (model) > 0)
    {
      contents->original = ir_history_snapshot (model, 0);
      contents->value = cli_find_value (contents->original, name, NULL);
    }
  if (contents->value == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (contents->value->graph->kind == IR_GRAPH_FUNCTION)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "%s lies in the body of a function, which has one for each call; give the node "
                   "that calls it as well: CALL/%s",
                   name, name);
      return FALSE;
    }
  if (contents->iteration.frame != NULL && strchr (contents->iteration.frame, '*') != NULL)
    contents->iteration.iteration = -1;
  if (contents->iteration.frame != NULL && contents->iteration.iteration < 0)
    {
      g_set_error (error, CLI_ERROR, 0,
                   "%s: an iteration is missing; LOOP@N/NAME for each loop, or --series for all",
                   name);
      return FALSE;
    }
  if (ir_value_constant (contents->value) == NULL)
    return compute (cli, options, model, contents, error);
  contents->tensor = ir_tensor_ref ((IrTensor *) ir_value_constant (contents->value));
  contents->found.how = IR_FOUND_CONSTANT;
  return TRUE;
}
