/* irscope diff --values: both graphs are run on the same inputs, those of the same name or else the
 * same place, and what is the same value on both sides is compared in the order of execution: the
 * first value that differs, the largest differences, and the outputs. */
#include "config.h"

#include "app/cli/diff-values.h"

#include "app/cli/diff-iterations.h"
#include "app/cli/output.h"
#include "passes/proof/compare-values.h"

#define SHOWN 8

/* -- printing -- */

static const char *
name_of (const IrModel *model, IrValueId id)
{
  return ir_model_value (model, id)->name;
}

static char *
describe (const IrComparedValues *values, const IrComparedValue *item)
{
  GString *text = g_string_new (name_of (values->b, item->b));

  if (!g_str_equal (name_of (values->a, item->a), text->str))
    g_string_append_printf (text, " (%s)", name_of (values->a, item->a));
  if (!item->comparable)
    g_string_append (text, ": the shapes or types differ");
  else if (!item->differs)
    g_string_append (text, ": the same, bit for bit");
  else
    g_string_append_printf (text, ": max abs %.3g, max rel %.3g, largest value %.3g%s",
                            item->result.max_abs, item->result.max_rel, item->result.scale,
                            item->result.non_finite_differs ? ", and not finite on one side" : "");
  return g_string_free (text, FALSE);
}

static void
print_line (const char *what, const IrComparedValues *values, const IrComparedValue *item)
{
  g_autofree char *text = describe (values, item);

  g_autofree char *verdict = ir_compared_value_verdict (item);

  cli_print ("  %-8s %s\n", what, text);
  if (verdict != NULL)
    cli_print ("  %-8s   %s\n", "", verdict);
}

static void
print_text (const IrComparedValues *values)
{
  g_autoptr (GPtrArray) worst = ir_compared_values_worst (values);
  const IrComparedValue *first = ir_compared_values_first (values, FALSE),
                        *diverging = ir_compared_values_first (values, TRUE);

  cli_print ("values: %u compared, %u differ, %u by more than rounding\n", values->items->len,
             values->n_differ, values->n_diverge);
  if (first != NULL)
    print_line ("first", values, first);
  if (diverging != NULL)
    print_line ("diverges", values, diverging);
  cli_print_first_iteration ("in loops", &values->iteration, values->b);
  for (guint i = 0; i < MIN (worst->len, SHOWN); i++)
    print_line (i == 0 ? "largest" : "", values, worst->pdata[i]);
  for (guint i = 0; i < values->items->len; i++)
    if (g_array_index (values->items, IrComparedValue, i).is_output)
      print_line ("output", values, &g_array_index (values->items, IrComparedValue, i));
}

static cJSON *
item_json (const IrComparedValues *values, const IrComparedValue *item)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "a", name_of (values->a, item->a));
  cJSON_AddStringToObject (object, "b", name_of (values->b, item->b));
  cJSON_AddBoolToObject (object, "comparable", item->comparable);
  cJSON_AddBoolToObject (object, "same", !item->differs);
  cJSON_AddBoolToObject (object, "diverges", item->diverges);
  cJSON_AddBoolToObject (object, "output", item->is_output);
  cJSON_AddStringToObject (object, "judged_by", ir_bound_kind_name (item->bound_kind));
  if (item->bound_kind == IR_BOUND_ROWS || item->bound_kind == IR_BOUND_WIDE)
    {
      cli_json_add_double (object, "alone", item->alone);
      cli_json_add_double (object, "bound", item->bound);
    }
  if (item->why != NULL)
    cJSON_AddStringToObject (object, "why", item->why);
  if (item->comparable)
    {
      cli_json_add_double (object, "max_abs", item->result.max_abs);
      cli_json_add_double (object, "max_rel", item->result.max_rel);
      cli_json_add_uint (object, "max_ulp", item->result.max_ulp);
      cJSON_AddBoolToObject (object, "non_finite_differs", item->result.non_finite_differs);
    }
  return object;
}

static void
add_json (cJSON *json, const IrComparedValues *values)
{
  cJSON *numbers = cJSON_AddObjectToObject (json, "numbers"), *items;

  cJSON_AddNumberToObject (numbers, "compared", values->items->len);
  cJSON_AddNumberToObject (numbers, "differ", values->n_differ);
  cJSON_AddNumberToObject (numbers, "diverge", values->n_diverge);
  cli_json_add_first_iteration (numbers, &values->iteration, values->a, values->b);
  items = cJSON_AddArrayToObject (numbers, "values");
  for (guint i = 0; i < values->items->len; i++)
    {
      const IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);

      if (item->is_output || item->differs)
        cJSON_AddItemToArray (items, item_json (values, item));
    }
}

/* @second: (nullable): a name of a back end */
static gboolean
find_devices (const CliModelOptions *options,
              const char *second,
              IrCompareValuesOptions *run,
              GError **error)
{
  CliModelOptions one = *options, other = *options;
  const IrBackend *first = options->device != NULL ? ir_backend_find (options->device) : NULL;

  other.device = (char *) second;
  if (second != NULL) /* these are for the one of them that is a GPU */
    {
      CliModelOptions *host = first != NULL && first->memory != NULL ? &other : &one;
      host->precision = NULL;
      host->streams = NULL;
    }
  run->run.backend = cli_backend (&one, error);
  if (run->run.backend == NULL || second == NULL)
    return run->run.backend != NULL;
  run->second = cli_backend (&other, error);
  if (run->second != run->run.backend)
    return run->second != NULL;
  g_set_error (error, CLI_ERROR, 0, "--device %s,%s: these are the same back end; use two of them",
               options->device, second);
  return FALSE;
}

gboolean
cli_diff_inputs (Cli *cli,
                 const CliModelOptions *options,
                 const IrDiff *diff,
                 GHashTable **a,
                 GHashTable **b,
                 GError **error)
{
  g_autoptr (GHashTable) bindings = NULL;
  IrRunLimits limits;

  if (!cli_limits (options, &limits, error) || (bindings = cli_bindings (options, error)) == NULL ||
      (*a = cli_inputs_within (cli, options, diff->a, limits.memory_limit, error)) == NULL)
    return FALSE;
  *b = ir_matching_inputs (diff->a, *a, diff->b, (guint64) options->seed, bindings, error);
  return *b != NULL;
}

gboolean
cli_diff_values (Cli *cli,
                 const CliModelOptions *options,
                 const char *second,
                 const IrDiff *diff,
                 const CliValueTable *table,
                 cJSON *json,
                 gboolean *equal,
                 GError **error)
{
  IrCompareValuesOptions run = { .run = { .n_threads = (guint) MAX (options->threads, 0) },
                                 .iterations = TRUE };
  g_autoptr (GHashTable) inputs_a = NULL;
  g_autoptr (GHashTable) inputs_b = NULL;
  g_autoptr (IrComparedValues) values = NULL;
  IrRunLimits limits;

  if (!find_devices (options, second, &run, error) || !cli_limits (options, &limits, error) ||
      !cli_diff_inputs (cli, options, diff, &inputs_a, &inputs_b, error))
    return FALSE;
  ir_run_options_limit (&run.run, &limits);
  values = ir_compare_values (diff, inputs_a, inputs_b, &run, cli->cancellable, error);
  if (values == NULL)
    return FALSE;
  if (table->path != NULL && !cli_value_table_write (table, values, error))
    return FALSE;
  for (guint i = 0; i < values->items->len; i++)
    {
      const IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);
      *equal &= second != NULL ? !item->diverges : !item->is_output || !item->differs;
    }
  if (json != NULL)
    add_json (json, values);
  else
    print_text (values);
  return TRUE;
}
