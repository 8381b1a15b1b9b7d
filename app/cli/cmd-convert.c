/* irscope convert: between formats, and up to newer opsets. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "app/cli/save.h"
#include "core/io/io.h"

typedef struct
{
  CliModelOptions model;
  char *to, *output;
  gboolean types;
} Options;

static const CliOption convert_options[] = {
  { "to", 't', G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, to),
    "Format of OUT, if its name does not say: onnx, onnxtxt, json, dot", "FORMAT" },
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, output), "The same as OUT",
    "OUT" },
  { "types", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, types),
    "Declare the types of all values that inference knows", NULL },
  { 0 },
};

static void
declare_types (IrModel *model)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = model->values->pdata[i];

      if (value->state == IR_STATE_LIVE && ir_value_shown_type (value) != NULL &&
          value->producer != NULL)
        ir_edit_set_flags (edit, value, value->flags | IR_VALUE_DECLARED);
    }
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  const char *out = options->output != NULL ? options->output : cli->args[1];
  CliStatus status;
  cJSON *json;

  if (out == NULL || (options->output != NULL && cli->args[1] != NULL))
    {
      cli_printerr ("irscope convert: needs OUT once, as second argument or by --output.\n");
      return CLI_BAD;
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  if (options->types)
    declare_types (opened.model);
  if (!cli_save_model (cli, opened.model, out, options->to, &error))
    return cli_fail (cli_status_of (error), error);
  if (cli->json)
    {
      json = cJSON_CreateObject ();
      cJSON_AddStringToObject (json, "file", out);
      cJSON_AddNumberToObject (json, "nodes", ir_model_n_counted_nodes (opened.model));
      cJSON_AddNumberToObject (json, "opset", ir_model_opset (opened.model, ""));
      cJSON_AddNumberToObject (json, "steps", ir_history_n_steps (opened.model));
      cJSON_AddItemToObject (json, "problems", cli_json_problems (opened.problems, opened.model));
      cli_json_print (json);
    }
  return CLI_OK;
}

const CliCommand cli_command_convert = {
  .name = "convert",
  .arguments = "IN[@N] [OUT]",
  .takes_model = TRUE,
  .summary = "Write a graph in another format: ONNX, ONNX text, JSON, DOT; or of a newer opset",
  .doc =
      "OUT is replaced only when all of it has been written. ONNX text has initializers of more than\n"
      "1024 elements, and ONNX of more than 2 GiB its weights, in OUT.HASH.data beside it, named by\n"
      "its contents: both are replaced as one, and older data of OUT is removed. With --opset N the\n"
      "nodes take the forms that version N of ai.onnx has; 'irscope steps IN --pass upgrade-opset\n"
      "--opset N' shows how. If one cannot, nothing is written.",
  .min_args = 1,
  .max_args = 2,
  .options = convert_options,
  .model_options = cli_model_options,
  .options_size = sizeof (Options),
  .run = run,
};
