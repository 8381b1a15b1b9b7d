/* irscope tensor: statistics, histogram and values of one tensor. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/contents.h"
#include "app/cli/model.h"
#include "app/cli/origin.h"
#include "app/cli/output.h"
#include "app/cli/tensor-facts.h"
#include "app/cli/tensor-series.h"
#include "core/exec/check/pair-table.h"
#include "core/io/io.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_BINS    32
#define BAR_WIDTH 40

typedef struct
{
  CliModelOptions model;
  gint at, values;
  char *out, *against, *find, *histogram, *format;
  IrNumberFormat number; /* that @format names */
  gboolean series;
  CliTensorPicture picture;
} Options;

static const CliOption tensor_options[] = {
  { "at", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, at),
    "At this step of the pipeline (as FILE@N)", "N" },
  { "values", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, values),
    "How many values to print (default 100)", "N" },
  { "format", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, format),
    "How they are written, and those that --find lists, each on a line with its place: exact, short (four digits), "
    "fixed (six digits behind the point), scientific, bits (as they lie in memory, in hexadecimal)",
    "KIND" },
  { "series", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, series),
    "Statistics of every iteration, of a value in the body of a loop: LOOP/NAME, or OUTER@3/INNER/NAME",
    NULL },
  { "out", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, out),
    "Write it: .npy, .csv, or .pb (TensorProto, SequenceProto …); with --against, .csv has both and their "
    "difference, an element to a line",
    "FILE" },
  { "against", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, against),
    "Compare it: with a .npy or .pb file, with the same value or another one at step N of the pipeline (@N, "
    "@N:NAME), as the reference kernels give it (ref), or with another value (NAME); exit status 1: an element "
    "differs",
    "FILE|@N|ref|NAME" },
  { "find", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, find),
    "List the elements of which this holds: 3, '>6', 'abs>=1e3', '!=0', nan, inf", "COND" },
  { "histogram", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, histogram),
    "How the range is cut: linear (default), log (powers of ten of magnitudes), symmetric (around zero)",
    "KIND" },
  { "picture", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, picture.path),
    "Draw it, or with --against the difference, as .svg or .png; lines and scatter plots as .pdf, too",
    "FILE" },
  { "as", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, picture.as),
    "With --picture: heat (a plane of two axes), tiles (all planes along a third axis: channels, heads), "
    "image (of 1, 3 or 4 channels, before or behind rows and columns), line (along one axis; with --against both), "
    "scatter (over what --against names), or auto (default: a line of vectors, else heat)",
    "KIND" },
  { "axes", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, picture.axes),
    "With --picture: an entry per axis: r (rows), c (columns), t (tiles) or an index, such as 0,t,r,c; of rows and columns "
    "a part, such as 0,3,r10:20,c",
    "AXES" },
  { "colours", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, picture.colours),
    "With --picture: diverging (around zero), one-sided, or auto (by the signs)", "KIND" },
  { 0 },
};

static const IrModel *
model_of (const CliContents *answer)
{
  return answer->run != NULL ? answer->run->model : answer->value->graph->model;
}

/* -- what it is held against -- */

/* The same command for @name elsewhere: at another step, or by other kernels. */
static IrTensor *
contents_at (Cli *cli, const char *file, const char *device, const char *name, GError **error)
{
  Options options = *(Options *) cli->options;
  g_auto (CliModel) opened = { 0 };
  g_auto (CliContents) answer = { 0 };
  CliStatus status;

  if (device != NULL)
    options.model.device = (char *) device;
  if (!cli_model_open (cli, &options.model, file, FALSE, &opened, &status))
    {
      g_set_error (error, CLI_ERROR, 0, "%s cannot be had", file);
      return NULL;
    }
  return cli_find_contents (cli, &options.model, opened.model, name, &answer, error)
             ? ir_tensor_ref (answer.tensor)
             : NULL;
}

/* @N or @N:NAME: of @path, or of the session, at step N. */
static IrTensor *
contents_at_step (Cli *cli, const char *path, const char *against, GError **error)
{
  const char *colon = strchr (against, ':'), *name = colon != NULL ? colon + 1 : cli->args[1];
  g_autofree char *number = g_strndup (against + 1, strcspn (against + 1, ":")),
                  *at = g_strdup_printf ("%s@%s", path, number);
  const gint chosen = cli->session_step;
  IrTensor *tensor;
  gint64 step;

  if (!g_ascii_string_to_signed (number, 10, 0, G_MAXINT, &step, error))
    {
      g_prefix_error (error, "needs a step, as @3 or @3:NAME; ");
      return NULL;
    }
  if (cli->session == NULL)
    return contents_at (cli, at, NULL, name, error);
  cli->session_step = (gint) step;
  tensor = contents_at (cli, cli->args[0], NULL, name, error);
  cli->session_step = chosen;
  return tensor;
}

/* (transfer full) (nullable) */
static IrTensor *
other_contents (
    Cli *cli, const char *file, const CliModel *opened, const char *against, GError **error)
{
  Options *options = cli->options;
  g_auto (CliContents) answer = { 0 };

  if (strcmp (against, "ref") == 0)
    return contents_at (cli, file, "ref", cli->args[1], error);
  if (against[0] == '@')
    return contents_at_step (cli, opened->path, against, error);
  if (g_file_test (against, G_FILE_TEST_IS_REGULAR))
    return ir_tensor_load (against, error);
  return cli_find_contents (cli, &options->model, opened->model, against, &answer, error)
             ? ir_tensor_ref (answer.tensor)
             : NULL;
}

/* Why the two cannot be compared element by element */
static void
set_error_apart (IrContext *context,
                 const char *against,
                 const IrTensor *tensor,
                 const IrTensor *other,
                 GError **error)
{
  g_autofree char *own = ir_type_to_string (context, ir_tensor_type (tensor, context)),
                  *its = ir_type_to_string (context, ir_tensor_type (other, context));

  g_set_error (
      error, CLI_ERROR, 0,
      "--against %s: %s beside %s: it needs the same shape, and real numbers on both sides",
      against, its, own);
}

static gboolean
measure (Cli *cli,
         IrContext *context,
         const IrTensor *tensor,
         const IrTensor *other,
         IrTensorMetrics *metrics,
         GError **error)
{
  Options *options = cli->options;

  if (ir_tensors_measure (other, tensor, cli->cancellable, metrics))
    return TRUE;
  if (!g_cancellable_set_error_if_cancelled (cli->cancellable, error))
    set_error_apart (context, options->against, tensor, other, error);
  return FALSE;
}

static gboolean
draw (Cli *cli,
      const IrTensor *tensor,
      const IrTensor *other,
      const IrTensorMetrics *metrics,
      const IrTensorStats *stats,
      GError **error)
{
  Options *options = cli->options;
  IrTensorStats shown = *stats;

  if (options->picture.path == NULL)
    {
      const char *alone = options->picture.as != NULL        ? "--as"
                          : options->picture.axes != NULL    ? "--axes"
                          : options->picture.colours != NULL ? "--colours"
                                                             : NULL;
      if (alone != NULL)
        g_set_error (error, CLI_ERROR, 0, "%s: needs --picture", alone);
      return alone == NULL;
    }
  if (other != NULL)
    {
      shown.max = metrics->max_abs;
      shown.min = -metrics->max_abs;
    }
  return cli_tensor_picture (&options->picture, tensor, other, &shown, error);
}

/* -- printing -- */

static void
add_histogram (cJSON *json, const IrHistogram *histogram, const char *kind)
{
  cJSON *object = cJSON_CreateObject (), *counts;

  cJSON_AddStringToObject (object, "kind", kind);
  cli_json_add_double (object, "low", histogram->low);
  cli_json_add_double (object, "high", histogram->high);
  cli_json_add_uint (object, "zeros", histogram->n_zero);
  counts = cJSON_AddArrayToObject (object, "counts");
  for (guint i = 0; i < histogram->n_bins; i++)
    cJSON_AddItemToArray (counts, cJSON_CreateNumber ((double) histogram->bins[i]));
  cJSON_ReplaceItemInObject (json, "histogram", object);
}

static void
print_json (Cli *cli,
            const CliContents *answer,
            const IrTensorStats *stats,
            const IrHistogram *histogram,
            const char *file,
            cJSON *json)
{
  const Options *options = cli->options;
  const IrValue *value = answer->value;
  const IrTensor *tensor = answer->tensor;

  cJSON_AddStringToObject (json, "name", value->name);
  cli_json_add_contents (cli, json, tensor);
  cli_json_add_stats (json, stats);
  if (options->histogram != NULL)
    add_histogram (json, histogram, options->histogram);
  cli_tensor_places (tensor, stats, json);
  cli_json_add_origin (json, &answer->found, model_of (answer));
  if (file != NULL)
    cJSON_AddStringToObject (json, "file", file);
  else
    cJSON_AddNullToObject (json, "file");
}

static void
print_bins (const guint64 *bins, guint n_bins, double low, double high, gboolean powers)
{
  guint64 most = 1;
  double width = n_bins > 0 ? (high - low) / n_bins : 0;

  for (guint i = 0; i < n_bins; i++)
    most = MAX (most, bins[i]);
  for (guint i = 0; i < n_bins; i++)
    {
      char bar[BAR_WIDTH + 1];
      guint length = (guint) (bins[i] * BAR_WIDTH / most);
      const double at = low + i * width;

      memset (bar, '#', length);
      bar[length] = '\0';
      cli_print ("  %12.5g %-*s %" G_GUINT64_FORMAT "\n", powers ? pow (10, at) : at, BAR_WIDTH,
                 bar, bins[i]);
    }
}

static void
print_text (Cli *cli,
            const CliContents *answer,
            const IrTensorStats *stats,
            const IrHistogram *histogram)
{
  const Options *options = cli->options;
  const IrValue *value = answer->value;
  const IrTensor *tensor = answer->tensor;
  IrContext *context = value->graph->model->context;
  guint max_elements = options->values > 0 ? (guint) options->values : 100;

  if (ir_tensor_is_container (tensor))
    {
      cli_print_contents (cli, value->name, context, tensor, max_elements, NULL);
      return;
    }
  g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
  g_autofree char *text = ir_tensor_to_string (tensor, max_elements);

  cli_print ("%s  %s\n", value->name, type);
  cli_print_origin (&answer->found, model_of (answer));
  if (ir_dtype_kind (ir_tensor_dtype (tensor)) != IR_DTYPE_KIND_STRING)
    {
      g_autofree char *range = ir_tensor_stats_range_text (stats, 9, "  ");

      cli_print ("%s\n", range);
      cli_print ("NaN %" G_GUINT64_FORMAT "  Inf %" G_GUINT64_FORMAT "  zeros %" G_GUINT64_FORMAT
                 " of %" G_GUINT64_FORMAT "\n",
                 stats->n_nan, stats->n_pos_inf + stats->n_neg_inf, stats->n_zero, stats->n);
      cli_tensor_places (tensor, stats, NULL);
      if (options->histogram != NULL)
        print_bins (histogram->bins, histogram->n_bins, histogram->low, histogram->high,
                    histogram->kind == IR_HISTOGRAM_LOG);
      else
        print_bins (stats->bins, stats->n_bins, stats->bin_low, stats->bin_high, FALSE);
    }
  if (options->find != NULL)
    return;
  if (options->format == NULL)
    cli_print ("%s\n", text);
  else
    cli_tensor_list (tensor, max_elements, options->number);
}

static gboolean
write_out (const Options *options, const IrTensor *tensor, const IrTensor *other, GError **error)
{
  if (options->out == NULL)
    return TRUE;
  return other != NULL && g_str_has_suffix (options->out, ".csv")
             ? ir_tensors_save_table (other, tensor, options->out, error)
             : ir_tensor_save (tensor, options->out, error);
}

static CliStatus
show (Cli *cli, const char *file, const CliModel *opened, const CliContents *answer)
{
  Options *options = cli->options;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) other = NULL;
  const gboolean numbers = !ir_tensor_is_container (answer->tensor) &&
                           ir_tensor_dtype (answer->tensor) != IR_DTYPE_STRING;
  const guint most = options->values > 0 ? (guint) options->values : 100;
  IrHistogramKind kind = IR_HISTOGRAM_LINEAR;
  IrHistogram histogram = { 0 };
  IrTensorMetrics metrics;
  IrTensorStats stats;

  if (options->format != NULL && !ir_number_format_find (options->format, &options->number))
    g_set_error (&error, CLI_ERROR, 0, "--format %s: needs exact, short, fixed, scientific or bits",
                 options->format);
  if (error == NULL && options->histogram != NULL &&
      !ir_histogram_kind_find (options->histogram, &kind))
    g_set_error (&error, CLI_ERROR, 0, "--histogram %s: needs linear, log or symmetric",
                 options->histogram);
  if (!numbers && error == NULL && (options->find != NULL || options->picture.path != NULL))
    g_set_error (&error, CLI_ERROR, 0, "%s: holds no numbers to search or draw",
                 answer->value->name);
  if (error == NULL && options->against != NULL)
    other = other_contents (cli, file, opened, options->against, &error);
  if (error != NULL && options->against != NULL)
    g_prefix_error (&error, "--against %s: ", options->against);
  if (error != NULL ||
      (other != NULL &&
       !measure (cli, opened->model->context, answer->tensor, other, &metrics, &error)) ||
      !write_out (options, answer->tensor, other, &error))
    return cli_fail (cli_status_of (error), error);
  ir_tensor_stats (answer->tensor, N_BINS, &stats);
  if (numbers && options->histogram != NULL)
    ir_tensor_histogram (answer->tensor, &stats, kind, &histogram);
  cJSON *json = cli->json ? cJSON_CreateObject () : NULL;
  if (json != NULL)
    print_json (cli, answer, &stats, &histogram, options->out, json);
  else
    print_text (cli, answer, &stats, &histogram);
  if (other != NULL)
    cli_tensor_metrics (answer->tensor, &metrics, options->against, json);
  if ((options->find != NULL &&
       !cli_tensor_find (answer->tensor, options->find, most, options->number, json, &error)) ||
      !draw (cli, answer->tensor, other, &metrics, &stats, &error))
    {
      cJSON_Delete (json);
      return cli_fail (cli_status_of (error), error);
    }
  if (json != NULL)
    cli_json_print_long (cli, json);
  return other != NULL && metrics.n_different > 0 ? CLI_NO : CLI_OK;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_autofree char *with_step = NULL;
  const char *file = cli_file_at (cli, options->at, &with_step);
  g_auto (CliModel) opened = { 0 };
  g_auto (CliContents) answer = { 0 };
  g_autoptr (GError) error = NULL;
  CliStatus status;

  if (!cli_model_open (cli, &options->model, file, FALSE, &opened, &status))
    return status;
  if (!cli_spares_model ("--out", options->out, opened.path, &error) ||
      !cli_spares_model ("--picture", options->picture.path, opened.path, &error))
    return cli_fail (CLI_BAD, error);
  if (options->series &&
      (options->out != NULL || options->against != NULL || options->picture.path != NULL))
    {
      cli_printerr (
          "irscope tensor --series: it is a table of statistics; leave --out, --picture and --against out, or name "
          "one iteration\n");
      return CLI_BAD;
    }
  if (options->series)
    return cli_tensor_series (cli, &options->model, opened.model, cli->args[1],
                              options->values > 0 ? (guint) options->values : 100);
  if (!cli_find_contents (cli, &options->model, opened.model, cli->args[1], &answer, &error))
    return cli_fail (answer.value == NULL ? CLI_BAD : cli_status_of (error), error);
  return show (cli, file, &opened, &answer);
}

const CliCommand cli_command_tensor = {
  .name = "tensor",
  .arguments = "FILE NAME",
  .takes_model = TRUE,
  .summary = "Statistics, histogram and values of one tensor",
  .doc =
      "Constants are read from the file; other values are computed, with the inputs given or random.\n"
      "Of a value that a pipeline took away it says from which others, and by how many nodes of the\n"
      "original graph, it was computed. A value in the body of a function is named by the node that\n"
      "calls it: CALL/NAME. LOOP@3/NAME is what the body of LOOP computed in iteration 3; in nested\n"
      "loops, OUTER@1/INNER@3/NAME. Without it the last round is shown.",
  .min_args = 2,
  .max_args = 2,
  .options = tensor_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
