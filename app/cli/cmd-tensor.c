/* irscope tensor: statistics, histogram and values of one tensor. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/origin.h"
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

/* The value asked for, and how its contents were had. */
typedef struct
{
  IrModel *original; /* (nullable) the graph before the pipeline, where @value is of that */
  IrModel *expanded; /* (nullable) the graph with bodies for calls, where @value is in one */
  const IrValue *value;
  IrTensor *tensor;
  IrRun *run; /* (nullable) a constant needs none */
  IrFound found;
} Answer;

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->tensor, ir_tensor_unref);
  g_clear_pointer (&answer->run, ir_run_unref);
  g_clear_pointer (&answer->original, ir_model_unref);
  g_clear_pointer (&answer->expanded, ir_model_unref);
  ir_found_clear (&answer->found);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

static const IrModel *
model_of (const Answer *answer)
{
  return answer->run != NULL ? answer->run->model : answer->value->graph->model;
}

/* Only what the value is computed from is kept by the run. */
static gboolean
compute (Cli *cli, const CliModelOptions *options, IrModel *model, Answer *answer, GError **error)
{
  guint step = ir_history_cursor (model);
  IrValueId id = answer->value->id;
  g_autoptr (GArray) chosen = NULL;
  g_autoptr (IrOriginals) originals = NULL;

  if (answer->original != NULL)
    chosen = ir_originals_needs (model, step, id, error);
  else
    {
      chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
      g_array_append_val (chosen, id);
    }
  if (chosen != NULL)
    answer->run = cli_run (cli, options, answer->expanded != NULL ? answer->expanded : model,
                           IR_CAPTURE_CHOSEN, chosen, NULL, error);
  if (answer->run == NULL)
    return FALSE;
  if (answer->original == NULL && !cli_value_was_run (answer->run, answer->value, error))
    return FALSE;
  if (answer->original == NULL)
    answer->tensor = ir_run_find (answer->run, id, cli->cancellable, &answer->found, error);
  else if ((originals = ir_originals_new (model, step, answer->run, error)) != NULL)
    answer->tensor = ir_originals_find (originals, id, cli->cancellable, &answer->found, error);
  return answer->tensor != NULL;
}

/* A value that the pipeline took away is one of the original graph. */
static gboolean
find_answer (Cli *cli,
             const CliModelOptions *options,
             IrModel *model,
             const char *name,
             Answer *answer,
             GError **error)
{
  g_autoptr (GError) local = NULL;
  const IrBackend *backend = cli_backend (options, error);

  if (backend == NULL)
    return FALSE;
  answer->value = cli_find_run_value (model, backend, &answer->expanded, name, &local);
  if (answer->value == NULL && ir_history_cursor (model) > 0)
    {
      answer->original = ir_history_snapshot (model, 0);
      answer->value = cli_find_value (answer->original, name, NULL);
    }
  if (answer->value == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (answer->value->graph->kind == IR_GRAPH_FUNCTION)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "%s lies in the body of a function, which has one for each call; give the node "
                   "that calls it as well: CALL/%s",
                   name, name);
      return FALSE;
    }
  if (ir_value_constant (answer->value) == NULL)
    return compute (cli, options, model, answer, error);
  answer->tensor = ir_tensor_ref ((IrTensor *) ir_value_constant (answer->value));
  answer->found.how = IR_FOUND_CONSTANT;
  return TRUE;
}

static void
print_json (Cli *cli, const Answer *answer, const IrTensorStats *stats, const char *file)
{
  const IrValue *value = answer->value;
  const IrTensor *tensor = answer->tensor;
  cJSON *json = cJSON_CreateObject ();

  cJSON_AddStringToObject (json, "name", value->name);
  cli_json_add_contents (cli, json, tensor);
  cli_json_add_stats (json, stats);
  cli_json_add_origin (json, &answer->found, model_of (answer));
  if (file != NULL)
    cJSON_AddStringToObject (json, "file", file);
  else
    cJSON_AddNullToObject (json, "file");
  cli_json_print_long (cli, json);
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
      cli_print ("  %12.5g %-*s %" G_GUINT64_FORMAT "\n", stats->bin_low + i * width, BAR_WIDTH,
                 bar, stats->bins[i]);
    }
}

static void
print_text (Cli *cli, const Answer *answer, const IrTensorStats *stats)
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
      cli_print ("min %.9g  max %.9g  mean %.9g  std %.9g\n", stats->min, stats->max, stats->mean,
                 stats->std);
      cli_print ("NaN %" G_GUINT64_FORMAT "  Inf %" G_GUINT64_FORMAT "  zeros %" G_GUINT64_FORMAT
                 " of %" G_GUINT64_FORMAT "\n",
                 stats->n_nan, stats->n_pos_inf + stats->n_neg_inf, stats->n_zero, stats->n);
      print_histogram (stats);
    }
  cli_print ("%s\n", text);
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_autofree char *file = options->at > 0 ? g_strdup_printf ("%s@%d", cli->args[0], options->at)
                                          : g_strdup (cli->args[0]);
  g_auto (CliModel) opened = { 0 };
  g_auto (Answer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  IrTensorStats stats;
  CliStatus status;

  if (!cli_model_open (cli, &options->model, file, FALSE, &opened, &status))
    return status;
  if (!find_answer (cli, &options->model, opened.model, cli->args[1], &answer, &error))
    return cli_fail (answer.value == NULL ? CLI_BAD : cli_status_of (error), error);
  if (options->out != NULL && !ir_tensor_save (answer.tensor, options->out, &error))
    return cli_fail (cli_status_of (error), error);
  ir_tensor_stats (answer.tensor, N_BINS, &stats);
  if (cli->json)
    print_json (cli, &answer, &stats, options->out);
  else
    print_text (cli, &answer, &stats);
  return CLI_OK;
}

const CliCommand cli_command_tensor = {
  .name = "tensor",
  .arguments = "FILE NAME",
  .summary = "Statistics, histogram and values of one tensor",
  .doc =
      "Constants are read from the file; other values are computed, with the inputs given or random.\n"
      "Of a value that a pipeline took away it says from which others, and by how many nodes of the\n"
      "original graph, it was computed. A value in the body of a function is named by the node that\n"
      "calls it: CALL/NAME.",
  .min_args = 2,
  .max_args = 2,
  .options = tensor_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
