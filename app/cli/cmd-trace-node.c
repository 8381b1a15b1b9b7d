/* irscope trace-node: lineage of one node, both ways. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"

#include <stdio.h>

typedef struct
{
  CliModelOptions model;
} Options;

static char *
node_name (const IrModel *model, IrNodeId id)
{
  const IrNode *node = ir_model_node (model, id);
  return node->name[0] != '\0' ? g_strdup (node->name) : g_strdup_printf ("#%u", id);
}

static void
add_nodes (cJSON *json, const char *key, const IrModel *model, const GArray *ids)
{
  cJSON *array = cJSON_AddArrayToObject (json, key);

  for (guint i = 0; i < ids->len; i++)
    {
      g_autofree char *name = node_name (model, g_array_index (ids, IrNodeId, i));
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "name", name);
      cJSON_AddNumberToObject (object, "id", g_array_index (ids, IrNodeId, i));
      cJSON_AddStringToObject (object, "op",
                               ir_model_node (model, g_array_index (ids, IrNodeId, i))->op_type);
      cJSON_AddItemToArray (array, object);
    }
}

static void
print_json (const IrModel *model,
            const IrNode *node,
            const GArray *from,
            const GArray *to,
            const GArray *steps)
{
  g_autofree char *name = node_name (model, node->id);
  cJSON *json = cJSON_CreateObject (), *array;

  cJSON_AddStringToObject (json, "node", name);
  cJSON_AddStringToObject (json, "op", node->op_type);
  add_nodes (json, "from", model, from);
  add_nodes (json, "to", model, to);
  array = cJSON_AddArrayToObject (json, "steps");
  for (guint i = 0; i < steps->len; i++)
    {
      const IrStep *step = ir_history_step (model, g_array_index (steps, guint, i));
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddNumberToObject (object, "index", step->index);
      cJSON_AddStringToObject (object, "pass", ir_history_pass_of (model, step->index));
      cJSON_AddStringToObject (object, "rule", step->rule);
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print (json);
}

static void
print_nodes (const char *what, const IrModel *model, const GArray *ids)
{
  printf ("%s%s\n", what, ids->len == 0 ? " nothing" : "");
  for (guint i = 0; i < ids->len; i++)
    {
      g_autofree char *label = ir_node_label (
          ir_model_node (model, g_array_index (ids, IrNodeId, i)));
      printf ("  %s\n", label);
    }
}

static void
print_text (const IrModel *model,
            const IrNode *node,
            const GArray *from,
            const GArray *to,
            const GArray *steps)
{
  g_autofree char *label = ir_node_label (node);

  printf ("%s\n", label);
  print_nodes ("comes from", model, from);
  print_nodes ("lives on as", model, to);
  for (guint i = 0; i < steps->len; i++)
    {
      const IrStep *step = ir_history_step (model, g_array_index (steps, guint, i));
      printf ("  step %u: %s, %s%s%s\n", step->index, ir_history_pass_of (model, step->index),
              step->rule, step->reason != NULL ? ": " : "",
              step->reason != NULL ? step->reason : "");
    }
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) from = NULL;
  g_autoptr (GArray) to = NULL;
  g_autoptr (GArray) steps = NULL;
  CliStatus status;
  IrNode *node;

  if (!cli_model_open (cli, &options->model, cli->args[0], TRUE, &opened, &status))
    return status;
  node = cli_find_node (opened.model, cli->args[1], &error);
  if (node == NULL)
    return cli_fail (CLI_BAD, error);
  from = ir_lineage_origins (opened.model, node->id);
  to = ir_lineage_descendants (opened.model, node->id, ir_history_cursor (opened.model));
  steps = ir_lineage_steps (opened.model, node->id);
  (cli->json ? print_json : print_text) (opened.model, node, from, to, steps);
  return CLI_OK;
}

const CliCommand cli_command_trace_node = {
  .name = "trace-node",
  .arguments = "FILE NODE",
  .summary = "Where a node comes from and what became of it, through every rewrite",
  .doc = "NODE is a name of the original or of the optimized graph, or #N for an id.",
  .min_args = 2,
  .max_args = 2,
  .model_options = cli_model_options,
  .options_size = sizeof (Options),
  .run = run,
};
