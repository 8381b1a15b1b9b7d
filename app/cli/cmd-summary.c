/* irscope summary: a model at a glance. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "core/exec/measure/roofline.h"
#include "core/exec/measure/summary.h"
#include "passes/debug/gain.h"

#include <string.h>

#define BAR_WIDTH 24

typedef struct
{
  CliModelOptions model;
  char *sort, *gain;
  gint depth, rows, tensors;
  gboolean run, roofline;
} Options;

static const CliOption summary_options[] = {
  { "run", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, run),
    "Run it once first, and say what operators and scopes took", NULL },
  { "roofline", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, roofline),
    "Measure what the machine can do at most, and say for each operator which of the two bounds it",
    NULL },
  { "gain", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, gain),
    "Say what this pipeline would gain: it runs on a copy; times are predicted", "PIPELINE" },
  { "sort", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, sort),
    "By name, nodes, params, flops (default), bytes, intensity (operations per byte) or time",
    "KEY" },
  { "depth", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, depth),
    "Parts of the names of scopes (default 1)", "N" },
  { "rows", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, rows),
    "Rows of each table as text (default 20); JSON has all", "N" },
  { "tensors", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, tensors),
    "How many of the largest tensors (default 10)", "N" },
  { 0 },
};

static gboolean
find_key (const char *name, IrSummaryKey *key, GError **error)
{
  *key = IR_SUMMARY_FLOPS;
  for (guint i = 0; name != NULL && i < IR_N_SUMMARY_KEYS; i++)
    if (strcmp (ir_summary_key_name (i), name) == 0)
      {
        *key = i;
        return TRUE;
      }
  if (name != NULL)
    g_set_error (error, CLI_ERROR, 0,
                 "--sort %s: needs name, nodes, params, flops, bytes, intensity or time", name);
  return name == NULL;
}

/* -- as JSON -- */

static cJSON *
rows_json (const GArray *rows, const IrSummary *summary, const IrRoofline *peaks)
{
  cJSON *array = cJSON_CreateArray ();

  for (guint i = 0; i < rows->len; i++)
    {
      const IrSummaryRow *row = &g_array_index (rows, IrSummaryRow, i);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "name", row->name);
      cJSON_AddNumberToObject (object, "nodes", row->n_nodes);
      cli_json_add_uint (object, "params", row->params);
      cli_json_add_uint (object, "flops", row->flops);
      cli_json_add_uint (object, "bytes", row->bytes);
      cli_json_add_double (object, "intensity", ir_summary_amount (row, IR_SUMMARY_INTENSITY));
      if (summary->time_ns > 0)
        cJSON_AddNumberToObject (object, "ms", (double) row->time_ns / 1e6);
      if (peaks->gflops > 0)
        cJSON_AddStringToObject (
            object, "bound",
            (double) row->flops * peaks->gbps >= (double) row->bytes * peaks->gflops ? "compute"
                                                                                     : "memory");
      cJSON_AddItemToArray (array, object);
    }
  return array;
}

static void
add_tables (cJSON *json, const IrSummary *summary)
{
  cJSON *list = cJSON_AddArrayToObject (json, "dtypes"), *object;

  for (guint i = 0; i < summary->dtypes->len; i++)
    {
      const IrSummaryDtype *row = &g_array_index (summary->dtypes, IrSummaryDtype, i);

      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "dtype", ir_dtype_name (row->dtype));
      cJSON_AddNumberToObject (object, "constants", row->n_constants);
      cli_json_add_uint (object, "constant_bytes", row->constant_bytes);
      cJSON_AddNumberToObject (object, "computed", row->n_computed);
      cli_json_add_uint (object, "computed_bytes", row->computed_bytes);
      cJSON_AddItemToArray (list, object);
    }
  list = cJSON_AddArrayToObject (json, "tensors");
  for (guint i = 0; i < summary->tensors->len; i++)
    {
      const IrSummaryTensor *row = &g_array_index (summary->tensors, IrSummaryTensor, i);

      cli_json_add_value (list, ir_model_value (summary->model, row->value));
      object = cJSON_GetArrayItem (list, (int) i);
      cli_json_add_uint (object, "bytes", row->bytes);
      cJSON_AddBoolToObject (object, "constant", row->constant);
    }
  list = cJSON_AddArrayToObject (json, "places");
  for (guint i = 0; i < summary->places->len; i++)
    {
      const IrSummaryPlace *row = &g_array_index (summary->places, IrSummaryPlace, i);

      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "where", row->where);
      cJSON_AddNumberToObject (object, "nodes", row->n_nodes);
      if (row->why != NULL)
        cJSON_AddStringToObject (object, "why", row->why);
      cJSON_AddItemToArray (list, object);
    }
}

/* -- what a pipeline would gain -- */

static gboolean
measure_gain (Cli *cli, const Options *options, IrModel *model, IrGain *gain, GError **error)
{
  const IrBackend *backend = cli_backend (&options->model, error);
  g_autoptr (IrPipeline) pipeline = backend != NULL ? ir_pipeline_load (options->gain, error)
                                                    : NULL;
  g_autoptr (IrModel) copy = pipeline != NULL ? ir_history_clone (model) : NULL;

  return copy != NULL && ir_gain_measure (copy, pipeline, backend, gain, cli->cancellable, error);
}

static void
add_cost (cJSON *json, const char *key, const IrCost *cost, double ms)
{
  cJSON *object = cJSON_AddObjectToObject (json, key);

  cJSON_AddNumberToObject (object, "nodes", cost->n_nodes);
  cli_json_add_uint (object, "flops", cost->flops);
  cli_json_add_uint (object, "bytes", cost->bytes);
  cli_json_add_double (object, "predicted_ms", ms);
}

static void
add_gain (cJSON *json, const char *pipeline, const IrGain *gain)
{
  cJSON *object = cJSON_AddObjectToObject (json, "gain");

  cJSON_AddStringToObject (object, "pipeline", pipeline);
  cJSON_AddNumberToObject (object, "steps", gain->n_steps);
  add_cost (object, "before", &gain->before, gain->before_ms);
  add_cost (object, "after", &gain->after, gain->after_ms);
}

static void
print_gain (const char *pipeline, const IrGain *gain)
{
  g_autofree char *text = ir_gain_text (gain, pipeline);

  cli_print ("\n%s\n", text);
}

static void
print_json (const Options *options,
            const CliModel *opened,
            const IrSummary *summary,
            const IrRoofline *peaks,
            const IrGain *gain)
{
  const IrModel *model = opened->model;
  cJSON *json = cJSON_CreateObject (), *opsets;

  cJSON_AddStringToObject (json, "file", opened->path);
  opsets = cJSON_AddObjectToObject (json, "opsets");
  for (guint i = 0; i < model->opsets->n; i++)
    cJSON_AddNumberToObject (
        opsets, model->opsets->opsets[i].domain[0] ? model->opsets->opsets[i].domain : "ai.onnx",
        (double) model->opsets->opsets[i].version);
  cJSON_AddNumberToObject (json, "nodes", summary->n_nodes);
  cli_json_add_uint (json, "params", summary->params);
  cli_json_add_uint (json, "param_bytes", summary->param_bytes);
  cli_json_add_uint (json, "flops", summary->flops);
  cli_json_add_uint (json, "bytes", summary->bytes);
  cJSON_AddBoolToObject (json, "partial", summary->partial);
  if (summary->time_ns > 0)
    cJSON_AddNumberToObject (json, "ms", (double) summary->time_ns / 1e6);
  if (peaks->gflops > 0)
    {
      cJSON *roofline = cJSON_AddObjectToObject (json, "roofline");

      cJSON_AddNumberToObject (roofline, "gflops", peaks->gflops);
      cJSON_AddNumberToObject (roofline, "gbps", peaks->gbps);
      cJSON_AddNumberToObject (roofline, "threads", peaks->n_threads);
    }
  cJSON_AddItemToObject (json, "operators", rows_json (summary->ops, summary, peaks));
  cJSON_AddItemToObject (json, "scopes", rows_json (summary->scopes, summary, peaks));
  add_tables (json, summary);
  cJSON_AddItemToObject (json, "problems", cli_json_problems (opened->problems, model));
  if (options->gain != NULL)
    add_gain (json, options->gain, gain);
  cli_json_print (json);
}

/* -- as text -- */

static void
print_rows (const char *title,
            const GArray *rows,
            const IrSummary *summary,
            const IrRoofline *peaks,
            IrSummaryKey key,
            guint most)
{
  const gboolean timed = summary->time_ns > 0;
  const guint n = MIN (rows->len, most);
  const IrSummaryKey bars = key != IR_SUMMARY_NAME ? key : IR_SUMMARY_FLOPS;
  double largest = 0;

  for (guint i = 0; i < rows->len; i++)
    largest = MAX (largest, ir_summary_amount (&g_array_index (rows, IrSummaryRow, i), bars));
  cli_print ("\n%-28s %6s %10s %10s %10s %7s%s\n", title, "nodes", "params", "FLOPs", "bytes",
             "FLOP/B", timed ? "       ms" : "");
  for (guint i = 0; i < n; i++)
    {
      const IrSummaryRow *row = &g_array_index (rows, IrSummaryRow, i);
      g_autofree char *params = cli_format_count (row->params),
                      *flops = cli_format_count (row->flops),
                      *bytes = cli_format_bytes (row->bytes);
      const guint length = largest > 0
                               ? (guint) (ir_summary_amount (row, bars) / largest * BAR_WIDTH + 0.5)
                               : 0;
      g_autofree char *bar = g_strnfill (length, '#');

      cli_print ("%-28s %6u %10s %10s %10s %7.3g", row->name[0] != '\0' ? row->name : "(no scope)",
                 row->n_nodes, params, flops, bytes, ir_summary_amount (row, IR_SUMMARY_INTENSITY));
      if (timed)
        cli_print (" %8.3f", (double) row->time_ns / 1e6);
      if (peaks->gflops > 0)
        cli_print (" %-7s", (double) row->flops * peaks->gbps >= (double) row->bytes * peaks->gflops
                                ? "compute"
                                : "memory");
      cli_print ("  %s\n", bar);
    }
  if (n < rows->len)
    cli_print ("... %u more; --rows %u shows all\n", rows->len - n, rows->len);
}

static void
print_values (const IrSummary *summary)
{
  cli_print ("\nelement types\n");
  for (guint i = 0; i < summary->dtypes->len; i++)
    {
      const IrSummaryDtype *row = &g_array_index (summary->dtypes, IrSummaryDtype, i);
      g_autofree char *constant = cli_format_bytes (row->constant_bytes),
                      *computed = cli_format_bytes (row->computed_bytes);

      cli_print ("  %-10s %5u constants %10s   %5u computed %s%10s\n", ir_dtype_name (row->dtype),
                 row->n_constants, constant, row->n_computed, row->partial ? "at least " : "",
                 computed);
    }
  cli_print ("\nlargest tensors\n");
  for (guint i = 0; i < summary->tensors->len; i++)
    {
      const IrSummaryTensor *row = &g_array_index (summary->tensors, IrSummaryTensor, i);
      const IrValue *value = ir_model_value (summary->model, row->value);
      g_autofree char *bytes = cli_format_bytes (row->bytes),
                      *type = ir_type_to_string (summary->model->context,
                                                 ir_value_shown_type (value));

      cli_print ("  %10s  %s  %s%s\n", bytes, type, value->name,
                 row->constant ? "  (constant)" : "");
    }
  cli_print ("\nwhere it would run\n");
  for (guint i = 0; i < summary->places->len; i++)
    {
      const IrSummaryPlace *row = &g_array_index (summary->places, IrSummaryPlace, i);

      cli_print ("  %6u on %s%s%s\n", row->n_nodes, row->where, row->why != NULL ? ": " : "",
                 row->why != NULL ? row->why : "");
    }
}

static void
print_text (const Options *options,
            const CliModel *opened,
            const IrSummary *summary,
            const IrRoofline *peaks,
            IrSummaryKey key)
{
  g_autofree char *params = cli_format_count (summary->params),
                  *held = cli_format_bytes (summary->param_bytes),
                  *flops = cli_format_count (summary->flops),
                  *bytes = cli_format_bytes (summary->bytes);
  const guint rows = options->rows > 0 ? (guint) options->rows : 20;

  cli_print ("%s: %u nodes, %s parameters in %s, %s%s FLOPs and %s moved per run\n", opened->path,
             summary->n_nodes, params, held, summary->partial ? "at least " : "", flops, bytes);
  for (guint i = 0; i < opened->model->opsets->n; i++)
    cli_print ("%s%s %" G_GINT64_FORMAT, i > 0 ? ", " : "opset ",
               opened->model->opsets->opsets[i].domain[0] ? opened->model->opsets->opsets[i].domain
                                                          : "ai.onnx",
               opened->model->opsets->opsets[i].version);
  cli_print ("\n");
  if (peaks->gflops > 0)
    cli_print (
        "at most %.4g GFLOP/s and %.4g GB/s on %u threads: compute bounds what has more than "
        "%.3g FLOP per byte\n",
        peaks->gflops, peaks->gbps, peaks->n_threads, peaks->gflops / peaks->gbps);
  print_rows ("operator", summary->ops, summary, peaks, key, rows);
  print_rows ("scope", summary->scopes, summary, peaks, key, rows);
  print_values (summary);
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = NULL;
  IrRoofline peaks = { 0 };
  IrGain gain;
  IrSummaryKey key;
  CliStatus status;
  const IrBackend *backend = cli_backend (&options->model, &error);

  if (backend == NULL || !find_key (options->sort, &key, &error))
    return cli_fail (CLI_BAD, error);
  if (options->depth < 0 || options->tensors < 0 || options->rows < 0)
    {
      g_set_error_literal (&error, CLI_ERROR, 0,
                           "--depth, --rows and --tensors must not be negative");
      return cli_fail (CLI_BAD, error);
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  if (options->roofline &&
      !ir_roofline_measure (backend, (guint) options->model.threads, &peaks, &error))
    return cli_fail (cli_status_of (error), error);
  if (options->run)
    run = cli_run (cli, &options->model, opened.model, IR_CAPTURE_NONE, NULL, NULL, &error);
  if (options->run && run == NULL)
    return cli_fail (cli_status_of (error), error);
  g_autoptr (IrSummary)
      summary = ir_summary_new (opened.model, run != NULL ? run->trace : NULL, backend,
                                options->depth > 0 ? (guint) options->depth : 1,
                                options->tensors > 0 ? (guint) options->tensors : 10);
  ir_summary_sort (summary->ops, key);
  ir_summary_sort (summary->scopes, key);
  if (options->gain != NULL && !measure_gain (cli, options, opened.model, &gain, &error))
    return cli_fail (cli_status_of (error), error);
  if (cli->json)
    print_json (options, &opened, summary, &peaks, &gain);
  else
    {
      print_text (options, &opened, summary, &peaks, key);
      if (options->gain != NULL)
        print_gain (options->gain, &gain);
      cli_print_problems (opened.problems, IR_SEVERITY_WARNING);
    }
  return CLI_OK;
}

const CliCommand cli_command_summary = {
  .name = "summary",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "A model at a glance: what operators and scopes cost, element types, largest tensors",
  .doc =
      "Costs are those of the cost model; unknown sizes count as 1, --dim or --shape give them. With\n"
      "--run times are of one run; a node in the body of a function is timed with no scope of its own.",
  .min_args = 1,
  .max_args = 1,
  .options = summary_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
