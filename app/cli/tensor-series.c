#include "config.h"

#include "app/cli/tensor-series.h"

#include "app/cli/output.h"
#include "core/exec/run/iterations.h"

/* Whether iterations of loops around are those that were asked for: * is any. */
static gboolean
is_asked_for (const IrIterationName *name, const IrSeriesPoint *point)
{
  return name->frame == NULL || ((name->iteration < 0 || name->iteration == point->iteration) &&
                                 g_pattern_match_simple (name->frame, point->frame));
}

static void
add_point (cJSON *array, const IrSeriesPoint *point)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "frame", point->frame);
  cJSON_AddNumberToObject (object, "iteration", (double) point->iteration);
  cli_json_add_double (object, "min", point->min);
  cli_json_add_double (object, "max", point->max);
  cli_json_add_double (object, "mean", point->mean);
  cli_json_add_double (object, "std", point->std);
  cli_json_add_uint (object, "nan", point->n_nan);
  cli_json_add_uint (object, "inf", point->n_inf);
  cli_json_add_uint (object, "zeros", point->n_zero);
  cli_json_add_uint (object, "elements", point->n);
  cJSON_AddItemToArray (array, object);
}

static void
print_point (const IrSeriesPoint *point)
{
  g_autofree char *place = g_strdup_printf ("%s@%" G_GINT64_FORMAT, point->frame, point->iteration);

  cli_print ("%-24s %14.9g %14.9g %14.9g %14.9g %7" G_GUINT64_FORMAT " %7" G_GUINT64_FORMAT
             " %7" G_GUINT64_FORMAT "\n",
             place, point->min, point->max, point->mean, point->std, point->n_nan, point->n_inf,
             point->n_zero);
}

static void
print_series (
    Cli *cli, const IrRun *run, const IrIterationName *name, const IrValue *value, guint most)
{
  const GArray *points = ir_run_series (run, value->id);
  cJSON *json = cJSON_CreateObject (), *array;
  guint n = 0, n_lost = ir_run_n_iterations_lost (run);

  cJSON_AddStringToObject (json, "name", value->name);
  array = cJSON_AddArrayToObject (json, "series");
  for (guint i = 0; points != NULL && i < points->len; i++)
    {
      const IrSeriesPoint *point = &g_array_index (points, IrSeriesPoint, i);
      if (!is_asked_for (name, point))
        continue;
      if (cli->json)
        add_point (array, point);
      else if (n == 0)
        cli_print ("%-24s %14s %14s %14s %14s %7s %7s %7s\n", "iteration", "min", "max", "mean",
                   "std", "NaN", "Inf", "zeros");
      if (!cli->json && n < most)
        print_point (point);
      n++;
    }
  cJSON_AddNumberToObject (json, "iterations", n);
  cJSON_AddNumberToObject (json, "lost", n_lost);
  if (cli->json)
    cli_json_print_long (cli, json);
  else if (n > most)
    cli_print ("%u of %u iterations; --values N shows more, --json all\n", most, n);
  else if (n == 0)
    cli_print ("%s was computed in no such iteration\n", value->name);
  if (!cli->json)
    cJSON_Delete (json);
  if (n_lost > 0)
    cli_printerr ("irscope tensor: %u iterations did not fit into the memory for captured values\n",
                  n_lost);
}

CliStatus
cli_tensor_series (
    Cli *cli, const CliModelOptions *options, IrModel *model, const char *name, guint most)
{
  CliModelOptions own = *options;
  g_autoptr (IrModel) expanded = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_auto (IrIterationName) iteration = { 0 };
  g_autofree char *loops = NULL;
  const IrBackend *backend = cli_backend (options, &error);
  const IrValue *value = backend != NULL ? cli_find_iteration (model, backend, &expanded, name,
                                                               &iteration, &error)
                                         : NULL;

  if (value == NULL)
    return cli_fail (CLI_BAD, error);
  loops = ir_value_loops (value);
  if (loops == NULL && iteration.frame == NULL)
    {
      g_set_error (&error, CLI_ERROR, 0,
                   "--series: %s is computed once, in no loop; name a value of a loop's body",
                   name);
      return cli_fail (CLI_BAD, error);
    }
  own.captured = (IrIterations){ .kind = IR_ITERATIONS_SERIES };
  g_array_append_val (chosen, value->id);
  g_autoptr (IrRun) run = cli_run (cli, &own, expanded != NULL ? expanded : model,
                                   IR_CAPTURE_CHOSEN, chosen, NULL, &error);
  if (run == NULL || !cli_value_was_run (run, value, &error))
    return cli_fail (cli_status_of (error), error);
  print_series (cli, run, &iteration, value, most);
  return CLI_OK;
}
