/* irscope ops: the op table. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "core/op/op.h"

#include <stdio.h>

typedef struct
{
  gboolean markdown;
} Options;

static const CliOption ops_options[] = {
  { "markdown", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, markdown), "As docs/OPS.md", NULL },
  { 0 },
};

static cJSON *
op_json (const IrOp *op)
{
  cJSON *object = cJSON_CreateObject (), *attrs;

  cJSON_AddStringToObject (object, "name", op->name);
  cJSON_AddStringToObject (object, "domain",
                           op->domain != NULL && op->domain[0] != '\0' ? op->domain : "ai.onnx");
  cJSON_AddStringToObject (object, "family", ir_op_family_name (op->family));
  cJSON_AddNumberToObject (object, "since", op->since);
  cJSON_AddNumberToObject (object, "min_inputs", op->in.min);
  cJSON_AddNumberToObject (object, "max_inputs", op->in.max);
  cJSON_AddBoolToObject (object, "runs", op->ref != NULL);
  attrs = cJSON_AddArrayToObject (object, "attributes");
  for (const IrAttrSpec *attr = op->attrs; attr != NULL && attr->name != NULL; attr++)
    cJSON_AddItemToArray (attrs, cJSON_CreateString (attr->name));
  cJSON_AddStringToObject (object, "doc", op->doc);
  return object;
}

static CliStatus
run (Cli *cli)
{
  const Options *options = cli->options;
  cJSON *json, *array;

  if (options->markdown)
    {
      g_autofree char *text = ir_ops_markdown ();
      fputs (text, stdout);
      return CLI_OK;
    }
  json = cJSON_CreateObject ();
  array = cJSON_AddArrayToObject (json, "ops");
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id (id);

      cJSON_AddItemToArray (array, op_json (op));
      if (!cli->json)
        printf ("%s%s%-24s %-14s %s\n", op->domain != NULL ? op->domain : "",
                op->domain != NULL && op->domain[0] != '\0' ? "." : "", op->name,
                ir_op_family_name (op->family), op->doc);
    }
  if (cli->json)
    cli_json_print (json);
  else
    cJSON_Delete (json);
  return CLI_OK;
}

const CliCommand cli_command_ops = {
  .name = "ops",
  .arguments = "",
  .summary = "The table of operators",
  .doc = "",
  .max_args = 0,
  .options = ops_options,
  .options_size = sizeof (Options),
  .run = run,
};
