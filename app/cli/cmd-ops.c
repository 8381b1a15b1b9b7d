/* irscope ops: the op table. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/table.h"
#include "core/exec/exec.h"
#include "core/exec/gpu/program.h"
#include "core/grad/grad.h"
#include "core/op/op.h"

typedef struct
{
  CliTableOptions table;
  gboolean gradients;
} Options;

static const CliOption ops_options[] = {
  { "markdown", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, table.markdown),
    "As the generated document in docs/", NULL },
  { "gradients", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, gradients),
    "How each is derived, or why it is not", NULL },
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
  cJSON_AddBoolToObject (object, "runs", ir_ref_kernel (op) != NULL);
  attrs = cJSON_AddArrayToObject (object, "attributes");
  for (const IrAttrSpec *attr = op->attrs; attr != NULL && attr->name != NULL; attr++)
    cJSON_AddItemToArray (attrs, cJSON_CreateString (attr->name));
  cJSON_AddStringToObject (object, "gradient", ir_grad_kind (op));
  if (ir_gpu_kernel_name (op) != NULL)
    cJSON_AddStringToObject (object, "gpu_kernel", ir_gpu_kernel_name (op));
  else
    cJSON_AddNullToObject (object, "gpu_kernel");
  cJSON_AddStringToObject (object, "doc", op->doc);
  return object;
}

static void
add_json (cJSON *json)
{
  cJSON *array = cJSON_AddArrayToObject (json, "ops");

  for (guint id = 1; id < ir_op_n (); id++)
    cJSON_AddItemToArray (array, op_json (ir_op_by_id (id)));
}

static void
print (void)
{
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id (id);
      g_autofree char *name = op->domain != NULL && op->domain[0] != '\0'
                                  ? g_strdup_printf ("%s.%s", op->domain, op->name)
                                  : g_strdup (op->name);

      cli_print ("%-32s %-14s %s\n", name, ir_op_family_name (op->family), op->doc);
    }
}

static void
print_gradients (void)
{
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id (id);
      const IrGradRow *row = ir_grad_row (op);
      g_autofree char *name = op->domain != NULL && op->domain[0] != '\0'
                                  ? g_strdup_printf ("%s.%s", op->domain, op->name)
                                  : g_strdup (op->name);

      cli_print ("%-40s %-9s %s\n", name, ir_grad_kind (op),
                 row == NULL             ? ""
                 : row->opaque != NULL   ? row->opaque
                 : row->rules[0] != NULL ? row->rules[0]
                 : row->kink != NULL     ? row->kink
                                         : "");
    }
}

static CliStatus
run (Cli *cli)
{
  static const CliTable table = { ir_ops_markdown, add_json, print };
  static const CliTable gradients = { ir_grad_markdown, add_json, print_gradients };
  const Options *options = cli->options;

  return cli_print_table (cli, options->gradients ? &gradients : &table);
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
