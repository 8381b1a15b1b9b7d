/* Values of single iterations that irscope run keeps. */
#include "config.h"

#include "app/cli/output.h"
#include "app/cli/run.h"
#include "core/exec/lower/lower.h"
#include "core/exec/run/iterations.h"
#include "core/exec/run/loop-table.h"

#include <string.h>

void
cli_run_pick_iteration (CliRun *options, const IrIterationName *name)
{
  const IrIterationPick pick = { name->value->id, g_strdup (name->frame), name->iteration };

  if (options->picks == NULL)
    options->picks = ir_iteration_picks_new ();
  g_array_append_val (options->picks, pick);
}

/* Of a value that --capture names in iterations only, the last round was not asked for. */
gboolean
cli_run_names_iteration_alone (const CliRun *options, IrValueId value)
{
  gboolean is_picked = FALSE;

  for (guint i = 0; options->picks != NULL && i < options->picks->len; i++)
    is_picked |= g_array_index (options->picks, IrIterationPick, i).value == value;
  for (guint i = 0; is_picked && i < options->whole->len; i++)
    is_picked = g_array_index (options->whole, IrValueId, i) != value;
  return is_picked;
}

gboolean
cli_run_parse_iterations (
    CliRun *options, IrModel *model, IrRunOptions *settings, GArray *chosen, GError **error)
{
  if (options->picks != NULL && options->iterations != NULL)
    {
      g_set_error (
          error, CLI_ERROR, 0,
          "--iterations %s: --capture %s names iterations, too; leave them out of one of both",
          options->iterations, options->capture);
      return FALSE;
    }
  if (options->picks != NULL)
    settings->iterations = (IrIterations){ .kind = IR_ITERATIONS_NAMED, .names = options->picks };
  if (options->iterations == NULL)
    return TRUE;
  if (!ir_iterations_parse (options->iterations, &settings->iterations, error))
    {
      g_prefix_error (error, "--iterations ");
      return FALSE;
    }
  if (settings->capture == IR_CAPTURE_STATS || g_strcmp0 (options->capture, "original") == 0)
    {
      g_set_error (
          error, CLI_ERROR, 0,
          "--iterations: --capture %s keeps no values of the graph that runs; name values, "
          "say all, or leave it out",
          options->capture);
      return FALSE;
    }
  if (settings->capture == IR_CAPTURE_NONE)
    {
      if (options->expanded == NULL) /* loops in functions, too */
        options->expanded = ir_exec_lower (model, settings->backend, NULL);
      g_autoptr (GArray)
          all = ir_loop_values (options->expanded != NULL ? options->expanded : model);
      g_array_append_vals (chosen, all->data, all->len);
      settings->capture = IR_CAPTURE_CHOSEN;
      options->iterations_alone = TRUE;
    }
  return TRUE;
}

static gboolean
report_kept (const CliRunReport *report, const IrKeptIteration *kept, GError **error)
{
  const IrValue *value = ir_model_value (report->run->model, kept->value);
  g_autofree char *name = g_strdup_printf ("%s@%" G_GINT64_FORMAT "/%s", kept->frame,
                                           kept->iteration, value->name);
  g_autofree char *path = NULL;

  if (!cli_run_save_value (report, name, value->id, kept->tensor, &path, error))
    return FALSE;
  if (report->cli->json)
    {
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", name);
      cli_json_add_contents (report->cli, object, kept->tensor);
      if (path != NULL)
        cJSON_AddStringToObject (object, "file", path);
      else
        cJSON_AddNullToObject (object, "file");
      cJSON_AddItemToArray (report->captured, object);
    }
  else if (report->options->out == NULL)
    cli_print_contents (report->cli, name, value->graph->model->context, kept->tensor, 10, NULL);
  return TRUE;
}

/* Behind the outputs; by value, and each in the order in which it was computed. */
gboolean
cli_run_report_iterations (const CliRunReport *report, cJSON *json, GError **error)
{
  const IrRun *run = report->run;
  const guint n = ir_run_n_iterations_kept (run), n_lost = ir_run_n_iterations_lost (run);
  guint64 bytes;
  const guint n_checkpoints = ir_run_n_checkpoints (run, &bytes);
  g_autofree char *size = cli_format_bytes (bytes);
  cJSON *object;

  if (report->options->iterations == NULL && report->options->picks == NULL)
    return TRUE;
  object = cJSON_AddObjectToObject (json, "iterations");
  cJSON_AddNumberToObject (object, "kept", n);
  cJSON_AddNumberToObject (object, "lost", n_lost);
  cJSON_AddNumberToObject (object, "checkpoints", n_checkpoints);
  cli_json_add_uint (object, "checkpoint_bytes", bytes);
  for (guint i = 0; i < n; i++)
    if (g_cancellable_set_error_if_cancelled (report->cli->cancellable, error) ||
        !report_kept (report, ir_run_iteration (run, i), error))
      return FALSE;
  if (n == 0 && g_strcmp0 (report->options->iterations, "checkpoints") != 0)
    cli_printerr ("irscope run: %s kept nothing: no value in a loop came to %s, or had room\n",
                  report->options->picks != NULL ? "--capture" : "--iterations",
                  report->options->picks != NULL ? "an iteration that it names"
                                                 : "one of these iterations");
  if (!report->cli->json && report->options->picks == NULL)
    cli_print ("%u values of iterations kept, %u checkpoints of loops, %s\n", n, n_checkpoints,
               size);
  if (n_lost > 0)
    cli_printerr ("irscope run: %u values of iterations did not fit into the memory for captured "
                  "values; ask for fewer iterations, name values by --capture, or raise "
                  "--capture-budget\n",
                  n_lost);
  return TRUE;
}
