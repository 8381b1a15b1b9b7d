/* Outputs and captured values of a run, on the terminal, as JSON and in files. */
#include "config.h"

#include "app/cli/run.h"

#include "app/cli/origin.h"
#include "app/cli/output.h"
#include "core/io/io.h"

#include <string.h>

gboolean
cli_run_save_value (const CliRunReport *report,
                    const char *name,
                    guint id,
                    const IrTensor *tensor,
                    char **path,
                    GError **error)
{
  const CliRun *options = report->options;

  *path = NULL;
  if (options->out == NULL || tensor == NULL)
    return TRUE;
  g_autofree char *file = cli_file_of_value (name, id, tensor, report->taken);
  g_autofree char *staged = g_build_filename (ir_staging_folder (options->stage), file, NULL);
  *path = g_build_filename (options->out, file, NULL);
  return ir_tensor_save (tensor, staged, error);
}

static void
add_result (Cli *cli,
            cJSON *array,
            const IrRun *run,
            const IrValue *value,
            const IrTensor *tensor,
            const IrFound *found,
            const char *path)
{
  cJSON *object = cJSON_CreateObject ();
  const IrTensorStats *stats = run->stats != NULL
                                   ? g_hash_table_lookup (run->stats, GUINT_TO_POINTER (value->id))
                                   : NULL;

  cJSON_AddStringToObject (object, "name", value->name);
  if (tensor != NULL)
    cli_json_add_contents (cli, object, tensor);
  if (stats != NULL && value->graph->model == run->model)
    cli_json_add_stats (object, stats);
  if (found->how != IR_FOUND_NOT)
    cli_json_add_origin (object, found, run->model);
  if (path != NULL)
    cJSON_AddStringToObject (object, "file", path);
  else
    cJSON_AddNullToObject (object, "file");
  cJSON_AddItemToArray (array, object);
}

static gboolean
has_stats (const IrRun *run, const IrValue *value)
{
  return run->stats != NULL && g_hash_table_contains (run->stats, GUINT_TO_POINTER (value->id));
}

/* Whether the policy promises contents of @value, kept or not. */
static gboolean
is_promised (const CliRunReport *report, const IrValue *value)
{
  const char *capture = report->options->capture;

  return value->graph->kind != IR_GRAPH_FUNCTION && report->run->error == NULL && capture != NULL &&
         (strcmp (capture, "all") == 0 || strcmp (capture, "checkpoints") == 0);
}

/* (transfer full) (nullable): nothing is kept, and nothing was promised, or no run came through */
static IrTensor *
contents_of (const CliRunReport *report, const IrValue *value, IrFound *found)
{
  GCancellable *cancellable = report->cli->cancellable;

  if (report->originals != NULL)
    return ir_originals_find (report->originals, value->id, cancellable, found, NULL);
  if (ir_run_value (report->run, value->id) == NULL && !is_promised (report, value))
    return NULL;
  return ir_run_find (report->run, value->id, cancellable, found, NULL);
}

static void
print_stats (const IrValue *value, const IrTensorStats *stats)
{
  g_autofree char *range = ir_tensor_stats_range_text (stats, 9, "  ");

  cli_print ("%s  %s  NaN %" G_GUINT64_FORMAT "  Inf %" G_GUINT64_FORMAT
             "  zeros %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT "\n",
             value->name, range, stats->n_nan, stats->n_pos_inf + stats->n_neg_inf, stats->n_zero,
             stats->n);
}

static gboolean
report_value (const CliRunReport *report, const IrValue *value, gboolean is_output, GError **error)
{
  g_auto (IrFound) found = { 0 };
  g_autoptr (IrTensor) tensor = contents_of (report, value, &found);
  g_autofree char *path = NULL;

  if (!is_output && (report->options->iterations_alone ||
                     cli_run_names_iteration_alone (report->options, value->id)))
    return TRUE;
  /* Which outputs are missing, and why, is said of the run. */
  if (tensor == NULL && (!is_output || report->originals != NULL) &&
      !has_stats (report->run, value))
    return TRUE;
  if (!cli_run_save_value (report, value->name, value->id, tensor, &path, error))
    return FALSE;
  if (report->cli->json)
    add_result (report->cli, is_output ? report->outputs : report->captured, report->run, value,
                tensor, &found, path);
  else if (tensor != NULL &&
           (is_output || (report->options->out == NULL && !report->options->watches_alone)))
    {
      cli_print_contents (report->cli, value->name, value->graph->model->context, tensor, 10, path);
      if (found.how == IR_FOUND_COMPUTED || report->originals != NULL)
        cli_print_origin (&found, report->run->model);
    }
  else if (!is_output && has_stats (report->run, value))
    print_stats (value, g_hash_table_lookup (report->run->stats, GUINT_TO_POINTER (value->id)));
  return TRUE;
}

/* Outputs of the main graph first, in their order, then what was captured, by id. */
gboolean
cli_run_report_values (const CliRunReport *report, GError **error)
{
  const IrModel *model = report->originals != NULL ? ir_originals_model (report->originals)
                                                   : report->run->model;
  g_autoptr (GHashTable) reported = g_hash_table_new (NULL, NULL); /* one may stand there twice */

  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      const IrValue *value = ir_graph_output (model->main, i);

      if (g_hash_table_add (reported, (gpointer) value) &&
          !report_value (report, value, TRUE, error))
        return FALSE;
    }
  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = model->values->pdata[i];
      gboolean is_output = value->graph == model->main && ir_value_is_graph_output (value);

      if (g_cancellable_set_error_if_cancelled (report->cli->cancellable, error))
        return FALSE;
      if (value->state == IR_STATE_LIVE && !is_output &&
          !report_value (report, value, FALSE, error))
        return FALSE;
    }
  return TRUE;
}
