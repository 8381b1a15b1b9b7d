/* irscope edit: acts on a graph, each one a step. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "app/cli/save.h"
#include "core/act/act.h"
#include "core/io/io.h"
#include "core/op/verify.h"

typedef struct
{
  CliModelOptions model;
  char **acts;
  char *to, *output;
  gboolean list;
} Options;

static const CliOption edit_options[] = {
  { "do", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, acts),
    "An act and its words, quoted as in a shell; as often as there are acts", "'ACT WORD..'" },
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, output),
    "Where the graph is written; without it the acts are tried", "OUT" },
  { "to", 't', G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, to),
    "Format of OUT, if its name does not say", "FORMAT" },
  { "acts", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, list), "List the acts", NULL },
  { 0 },
};

/* -- the table -- */

static CliStatus
list_acts (const Cli *cli)
{
  guint n;
  const IrAct *acts = ir_acts (&n);
  cJSON *json = cli->json ? cJSON_CreateObject () : NULL;
  cJSON *array = json != NULL ? cJSON_AddArrayToObject (json, "acts") : NULL;

  for (guint i = 0; i < n; i++)
    {
      cJSON *object;

      if (array == NULL)
        {
          cli_print ("%s %s\n    %s\n", acts[i].name, acts[i].words, acts[i].doc);
          continue;
        }
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", acts[i].name);
      cJSON_AddStringToObject (object, "title", acts[i].title);
      cJSON_AddStringToObject (object, "words", acts[i].words);
      cJSON_AddStringToObject (object, "doc", acts[i].doc);
      cJSON_AddItemToArray (array, object);
    }
  if (json != NULL)
    cli_json_print (json);
  return CLI_OK;
}

/* -- doing -- */

static cJSON *
act_json (const char *const *words, const IrModel *model, const IrActDone *done)
{
  cJSON *object = cJSON_CreateObject (), *nodes;
  const IrValue *value = ir_model_live_value (model, done->value);

  cJSON_AddStringToObject (object, "act", words[0]);
  nodes = cJSON_AddArrayToObject (object, "nodes");
  for (guint i = 0; i < done->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, g_array_index (done->nodes, IrNodeId, i));
      cJSON *item = node != NULL ? cJSON_CreateObject () : NULL;

      if (item == NULL)
        continue;
      cJSON_AddNumberToObject (item, "id", node->id);
      cJSON_AddStringToObject (item, "op", node->op_type);
      cJSON_AddStringToObject (item, "name", node->name);
      cJSON_AddItemToArray (nodes, item);
    }
  if (value != NULL)
    {
      cJSON *one = cJSON_AddArrayToObject (object, "values");

      cli_json_add_value (one, value);
    }
  return object;
}

static void
print_act (const char *text, const IrModel *model, const IrActDone *done)
{
  g_autoptr (GString) made = g_string_new (NULL);

  for (guint i = 0; i < done->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, g_array_index (done->nodes, IrNodeId, i));

      if (node != NULL)
        {
          g_autofree char *label = ir_node_label (node);

          g_string_append_printf (made, "%s%s", made->len > 0 ? ", " : "  -> ", label);
        }
    }
  cli_print ("%.100s%s\n", text, made->str);
}

/* One act as --do gives it. */
static gboolean
do_act (Cli *cli, IrEdit *edit, const char *text, GPtrArray *problems, cJSON *steps, GError **error)
{
  g_auto (GStrv) words = NULL;
  g_auto (IrActDone) done = { 0 };

  if (!g_shell_parse_argv (text, NULL, &words, error) ||
      !ir_act_do (edit, (const char *const *) words, &done, problems, error))
    {
      g_prefix_error (error, "--do '%s': ", text);
      return FALSE;
    }
  if (steps != NULL)
    cJSON_AddItemToArray (steps,
                          act_json ((const char *const *) words, ir_edit_model (edit), &done));
  else if (!cli->quiet)
    print_act (text, ir_edit_model (edit), &done);
  return TRUE;
}

static gboolean
do_acts (Cli *cli, IrModel *model, char **acts, GPtrArray *problems, cJSON *steps, GError **error)
{
  g_autoptr (IrEdit) edit = ir_edit_new (model);
  gboolean ok = TRUE;

  ir_edit_begin_pass (edit, "edit");
  for (guint i = 0; ok && acts[i] != NULL; i++)
    ok = do_act (cli, edit, acts[i], problems, steps, error);
  ir_edit_end_pass (edit);
  return ok;
}

static gboolean
open_model (Cli *cli, const Options *options, CliModel *opened, CliStatus *status)
{
  if (cli->args[0] != NULL)
    return cli_model_open (cli, &options->model, cli->args[0], FALSE, opened, status);
  opened->model = ir_act_new_model ();
  opened->problems = ir_problems_new ();
  opened->step = -1;
  return TRUE;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  cJSON *json, *steps;
  CliStatus status;

  if (options->list)
    return list_acts (cli);
  if (options->acts == NULL)
    {
      cli_printerr ("irscope edit: needs --do 'ACT WORD..'; 'irscope edit --acts' lists them.\n");
      return CLI_BAD;
    }
  if (!open_model (cli, options, &opened, &status))
    return status;
  json = cli->json ? cJSON_CreateObject () : NULL;
  steps = json != NULL ? cJSON_AddArrayToObject (json, "steps") : NULL;
  if (!do_acts (cli, opened.model, options->acts, problems, steps, &error) ||
      (options->output != NULL &&
       !cli_save_model (cli, opened.model, options->output, options->to, &error)))
    {
      cJSON_Delete (json);
      return error == NULL ? cli_cancelled (cli) : cli_fail (cli_status_of (error), error);
    }
  ir_verify_model (opened.model, problems);
  cli_print_problems (problems, IR_SEVERITY_ERROR);
  if (json != NULL)
    {
      if (options->output != NULL)
        cJSON_AddStringToObject (json, "file", options->output);
      cJSON_AddNumberToObject (json, "nodes", ir_model_n_counted_nodes (opened.model));
      cJSON_AddItemToObject (json, "problems", cli_json_problems (problems, opened.model));
      cli_json_print (json);
    }
  return CLI_OK;
}

const CliCommand cli_command_edit = {
  .name = "edit",
  .arguments = "[FILE[@N]] --do 'ACT WORD..' [-o OUT]",
  .takes_model = TRUE,
  .summary = "Edit a graph by hand: acts, each one a step",
  .doc =
      "Without FILE an empty graph is edited. A NODE is a name, #N for its id, or the name of what it\n"
      "computes; a VALUE likewise. 'irscope edit --acts' lists the acts and their words. If one\n"
      "cannot be done nothing is written. What is still open is said, and may be written:\n\n"
      "  irscope edit --do 'input x float[2,3]' --do 'add Relu x name=act' --do 'output act y' \\\n"
      "    -o relu.onnx\n"
      "  irscope edit relu.onnx --do 'insert Sigmoid x' --do 'rename act last' -o more.onnx",
  .min_args = 0,
  .max_args = 1,
  .options = edit_options,
  .model_options = cli_pass_options,
  .options_size = sizeof (Options),
  .run = run,
};
