/* irscope extract: a part of a graph as a model. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "app/cli/save.h"
#include "core/act/act.h"
#include "core/io/io.h"

typedef struct
{
  CliModelOptions model;
  char **from, **to;
  char *format, *output;
} Options;

static const CliOption extract_options[] = {
  { "from", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, from),
    "Values that the part takes; without it, inputs of the model", "VALUE,.." },
  { "to", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, to),
    "Values that it gives; without it, outputs of the model", "VALUE,.." },
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, output),
    "Where the part is written", "OUT" },
  { "format", 't', G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, format),
    "Format of OUT, if its name does not say", "FORMAT" },
  { 0 },
};

/* Names may have commas: one that a value has is not taken apart. (transfer full) */
static GStrv
split_names (const IrModel *model, char **options)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; options != NULL && options[i] != NULL; i++)
    {
      g_auto (GStrv) words = ir_graph_find_value (model->main, options[i]) != NULL
                                 ? NULL
                                 : g_strsplit (options[i], ",", -1);

      if (words == NULL)
        g_ptr_array_add (names, g_strdup (options[i]));
      for (guint k = 0; words != NULL && words[k] != NULL; k++)
        if (words[k][0] != '\0')
          g_ptr_array_add (names, g_strdup (words[k]));
    }
  g_ptr_array_add (names, NULL);
  g_ptr_array_set_free_func (names, NULL);
  return (GStrv) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

static void
add_values (cJSON *json, const char *key, const IrGraph *graph, gboolean inputs)
{
  cJSON *array = cJSON_AddArrayToObject (json, key);
  const guint n = inputs ? ir_graph_n_inputs (graph) : ir_graph_n_outputs (graph);

  for (guint i = 0; i < n; i++)
    cli_json_add_value (array, inputs ? ir_graph_input (graph, i) : ir_graph_output (graph, i));
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) part = NULL;
  g_auto (GStrv) from = NULL, to = NULL;
  CliStatus status;

  if (options->output == NULL)
    {
      cli_printerr ("irscope extract: needs -o OUT.\n");
      return CLI_BAD;
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  from = split_names (opened.model, options->from);
  to = split_names (opened.model, options->to);
  part = ir_act_extract (opened.model, (const char *const *) from, (const char *const *) to,
                         &error);
  if (part == NULL || !cli_save_model (cli, part, options->output, options->format, &error))
    return error == NULL ? cli_cancelled (cli) : cli_fail (cli_status_of (error), error);
  if (cli->json)
    {
      cJSON *json = cJSON_CreateObject ();

      cJSON_AddStringToObject (json, "file", options->output);
      cJSON_AddNumberToObject (json, "nodes", ir_model_n_counted_nodes (part));
      add_values (json, "inputs", part->main, TRUE);
      add_values (json, "outputs", part->main, FALSE);
      cli_json_print (json);
    }
  return CLI_OK;
}

const CliCommand cli_command_extract = {
  .name = "extract",
  .arguments = "FILE[@N] [--from VALUE,..] [--to VALUE,..] -o OUT",
  .takes_model = TRUE,
  .summary = "Make the nodes between chosen values a model of their own",
  .doc =
      "The part has the constants and functions that its nodes need; inputs of the model that they\n"
      "need beside those values are inputs of it, too.",
  .min_args = 1,
  .max_args = 1,
  .options = extract_options,
  .model_options = cli_pass_options,
  .options_size = sizeof (Options),
  .run = run,
};
