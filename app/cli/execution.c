#include "config.h"

#include "app/cli/execution.h"

#include "core/look/overlay.h"
#include "app/cli/output.h"

#include "app/cli/print.h"

/* Decimal, as operations are counted: 2G is 2 · 10⁹. */
static gboolean
parse_flops (const char *text, guint64 *flops)
{
  char *end = NULL;
  double number = g_ascii_strtod (text, &end);
  double unit = 1;

  if (end != text && *end != '\0')
    {
      unit = *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : *end == 'T' ? 1e12 : 0;
      end++;
    }
  if (end == text || *end != '\0' || !(number * unit >= 1 && number * unit < 1e18))
    return FALSE;
  *flops = (guint64) (number * unit);
  return TRUE;
}

gboolean
cli_check_budget (const char *text, IrCheckBudget *budget, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text != NULL ? text : "", ",", -1);
  guint n = g_strv_length (parts);

  *budget = (IrCheckBudget){ 0 };
  if (n <= 2 && (n < 1 || parse_flops (parts[0], &budget->node_flops)) &&
      (n < 2 || parse_flops (parts[1], &budget->total_flops)))
    return TRUE;
  g_set_error (
      error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
      "--check-budget %s: needs operations of one node, or with a comma also those of all, "
      "such as 2G or 2G,25G",
      text);
  return FALSE;
}

static void
add_number (cJSON *object, const char *key, double number)
{
  cli_json_add_double (object, key, number);
}

static cJSON *
node_json (const IrExecutionCheck *check, const IrNodeCheck *item)
{
  const IrNode *node = ir_model_node (check->model, item->node);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "node", node->name);
  cJSON_AddNumberToObject (object, "id", node->id);
  cJSON_AddStringToObject (object, "op", node->op_type);
  cJSON_AddStringToObject (object, "verdict", ir_checked_name (item->verdict));
  cJSON_AddStringToObject (object, "kernel", item->kernel);
  cJSON_AddNumberToObject (object, "rounds", item->rounds);
  cli_json_add_uint (object, "flops", item->flops);
  if (item->layout != NULL)
    cJSON_AddStringToObject (object, "layout", item->layout);
  if (item->judge != NULL && item->verdict != IR_CHECKED_NOT)
    cJSON_AddStringToObject (object, "judge", item->judge);
  if (item->place != NULL)
    cJSON_AddStringToObject (object, "place", item->place);
  if (item->reason != NULL)
    cJSON_AddStringToObject (object, "reason", item->reason);
  if (item->value == 0)
    return object;
  cJSON_AddStringToObject (object, "value", ir_model_value (check->model, item->value)->name);
  if (item->verdict == IR_CHECKED_OVERWRITTEN)
    return object;
  add_number (object, "max_abs", item->found.max_abs);
  add_number (object, "max_rel", item->found.max_rel);
  add_number (object, "bound", item->bound);
  cli_json_add_uint (object, "at", item->found.at);
  return object;
}

cJSON *
cli_execution_json (const IrExecutionCheck *check)
{
  const IrNodeCheck *first = ir_execution_check_first (check);
  cJSON *object = cJSON_CreateObject (), *nodes;

  cJSON_AddNumberToObject (object, "right", check->n[IR_CHECKED_RIGHT]);
  cJSON_AddNumberToObject (object, "beyond", check->n[IR_CHECKED_BEYOND]);
  cJSON_AddNumberToObject (object, "overwritten", check->n[IR_CHECKED_OVERWRITTEN]);
  cJSON_AddNumberToObject (object, "not_judged", check->n[IR_CHECKED_NOT]);
  if (first != NULL)
    {
      g_autofree char *text = ir_node_check_to_string (check, first);
      cJSON_AddStringToObject (object, "first", text);
    }
  if (check->error != NULL)
    cJSON_AddStringToObject (object, "error", check->error->message);
  nodes = cJSON_AddArrayToObject (object, "nodes");
  for (guint i = 0; i < check->nodes->len; i++)
    cJSON_AddItemToArray (nodes, node_json (check, &g_array_index (check->nodes, IrNodeCheck, i)));
  return object;
}

void
cli_execution_print (const IrExecutionCheck *check, gboolean all)
{
  g_autofree char *summary = ir_execution_check_summary (check);

  cli_print ("execution: %s\n", summary);
  for (guint i = 0; i < check->nodes->len; i++)
    {
      const IrNodeCheck *item = &g_array_index (check->nodes, IrNodeCheck, i);
      gboolean is_fault = ir_checked_is_fault (item->verdict);
      if (!is_fault && !(all && item->verdict == IR_CHECKED_NOT))
        continue;
      g_autofree char *text = ir_node_check_to_string (check, item);
      cli_print ("  %s: %s\n",
                 i + 1 == check->first ? "first fault" : ir_checked_name (item->verdict), text);
    }
  if (check->error != NULL)
    cli_print ("  the run ended before: %s\n", check->error->message);
}

gboolean
cli_execution_is_right (const IrExecutionCheck *check)
{
  return check->first == 0 && check->error == NULL;
}

GHashTable *
cli_node_errors (Cli *cli, const CliModelOptions *options, IrModel *model, GError **error)
{
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrExecutionCheck) check = NULL;
  IrRunOptions settings = { .n_threads = MAX (options->threads, 0),
                            .partial = TRUE,
                            .seed = (guint64) options->seed };

  settings.backend = cli_backend (options, error);
  inputs = settings.backend != NULL ? cli_inputs (cli, options, model, error) : NULL;
  if (inputs == NULL)
    return NULL;
  check = ir_execution_check (model, inputs, &settings, NULL, cli->cancellable, error);
  if (check != NULL && check->error != NULL)
    g_propagate_error (error, g_error_copy (check->error));
  return check != NULL && check->error == NULL ? ir_overlay_errors (check) : NULL;
}
