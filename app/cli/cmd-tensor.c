/* irscope tensor: statistics, histogram and values of one tensor. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "core/io/io.h"

#include <stdio.h>
#include <string.h>

#define N_BINS    32
#define BAR_WIDTH 40

typedef struct
{
  CliModelOptions model;
  gint at, values;
  char *out;
} Options;

static const CliOption tensor_options[] = {
  { "at", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, at),
    "At this step of the pipeline (as FILE@N)", "N" },
  { "values", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, values),
    "How many values to print (default 100)", "N" },
  { "out", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, out),
    "Write it: .npy, or .pb (TensorProto, SequenceProto …)", "FILE" },
  { 0 },
};

static void
print_json (const IrValue *value,
            const IrTensor *tensor,
            const IrTensorStats *stats,
            const char *file)
{
  cJSON *json = cJSON_CreateObject ();

  cJSON_AddStringToObject (json, "name", value->name);
  cli_json_add_contents (json, tensor);
  cli_json_add_stats (json, stats);
  if (file != NULL)
    cJSON_AddStringToObject (json, "file", file);
  else
    cJSON_AddNullToObject (json, "file");
  cli_json_print (json);
}

static void
print_histogram (const IrTensorStats *stats)
{
  guint64 most = 1;
  double width = stats->n_bins > 0 ? (stats->bin_high - stats->bin_low) / stats->n_bins : 0;

  for (guint i = 0; i < stats->n_bins; i++)
    most = MAX (most, stats->bins[i]);
  for (guint i = 0; i < stats->n_bins; i++)
    {
      char bar[BAR_WIDTH + 1];
      guint length = stats->bins[i] * BAR_WIDTH / most;

      memset (bar, '#', length);
      bar[length] = '\0';
      printf ("  %12.5g %-*s %" G_GUINT64_FORMAT "\n", stats->bin_low + i * width, BAR_WIDTH, bar,
              stats->bins[i]);
    }
}

static void
print_text (const Options *options,
            const IrValue *value,
            const IrTensor *tensor,
            const IrTensorStats *stats)
{
  IrContext *context = value->graph->model->context;
  guint max_elements = options->values > 0 ? (guint) options->values : 100;

  if (ir_tensor_is_container (tensor))
    {
      cli_print_contents (value->name, context, tensor, max_elements, NULL);
      return;
    }
  g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
  g_autofree char *text = ir_tensor_to_string (tensor, max_elements);

  printf ("%s  %s\n", value->name, type);
  if (ir_dtype_kind (ir_tensor_dtype (tensor)) != IR_DTYPE_KIND_STRING)
    {
      printf ("min %.9g  max %.9g  mean %.9g  std %.9g\n", stats->min, stats->max, stats->mean,
              stats->std);
      printf ("NaN %" G_GUINT64_FORMAT "  Inf %" G_GUINT64_FORMAT "  zeros %" G_GUINT64_FORMAT
              " of %" G_GUINT64_FORMAT "\n",
              stats->n_nan, stats->n_pos_inf + stats->n_neg_inf, stats->n_zero, stats->n);
      print_histogram (stats);
    }
  printf ("%s\n", text);
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_autofree char *file = options->at > 0 ? g_strdup_printf ("%s@%d", cli->args[0], options->at)
                                          : g_strdup (cli->args[0]);
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) tensor = NULL;
  IrTensorStats stats;
  const IrValue *value;
  CliStatus status;

  if (!cli_model_open (cli, &options->model, file, FALSE, &opened, &status))
    return status;
  value = cli_find_value (opened.model, cli->args[1], &error);
  if (value == NULL)
    return cli_fail (CLI_BAD, error);
  tensor = cli_contents (cli, &options->model, opened.model, value, &error);
  if (tensor == NULL || (options->out != NULL && !ir_tensor_save (tensor, options->out, &error)))
    return cli_fail (cli_status_of (error), error);
  ir_tensor_stats (tensor, N_BINS, &stats);
  if (cli->json)
    print_json (value, tensor, &stats, options->out);
  else
    print_text (options, value, tensor, &stats);
  return CLI_OK;
}

const CliCommand cli_command_tensor = {
  .name = "tensor",
  .arguments = "FILE NAME",
  .summary = "Statistics, histogram and values of one tensor",
  .doc =
      "Constants are read from the file; other values are computed, with the inputs given or random.",
  .min_args = 2,
  .max_args = 2,
  .options = tensor_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
