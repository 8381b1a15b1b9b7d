/* irscope why: why a rule did not fire at a node. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "app/cli/why.h"

#include <stdio.h>
#include <string.h>

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
add_text (cJSON *object, const char *key, const char *text)
{
  if (text != NULL)
    cJSON_AddStringToObject (object, key, text);
}

static cJSON *
node_json (const IrModel *model, IrNodeId id)
{
  g_autofree char *name = node_name (model, id);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", name);
  cJSON_AddNumberToObject (object, "id", id);
  cJSON_AddStringToObject (object, "op", ir_model_node (model, id)->op_type);
  return object;
}

static void
print_json (const IrModel *model, const IrWhy *why)
{
  cJSON *json = cJSON_CreateObject (), *array;

  cJSON_AddStringToObject (json, "answer", ir_why_answer_name (why->answer));
  cJSON_AddStringToObject (json, "rule", why->rule);
  cJSON_AddStringToObject (json, "pass", why->pass);
  cJSON_AddItemToObject (json, "node", node_json (model, why->node));
  array = cJSON_AddArrayToObject (json, "steps");
  for (guint i = 0; i < why->steps->len; i++)
    cJSON_AddItemToArray (array, cJSON_CreateNumber (g_array_index (why->steps, guint, i)));
  if (why->removed_by != 0)
    cJSON_AddNumberToObject (json, "removed_by", why->removed_by);
  add_text (json, "operators", why->operators);
  add_text (json, "reason", why->reason);
  add_text (json, "found", why->found);
  add_text (json, "needed", why->needed);
  if (why->n_parts > 0)
    {
      cJSON_AddNumberToObject (json, "at_step", why->at_step);
      cJSON_AddBoolToObject (json, "matches", why->holds);
      cJSON_AddNumberToObject (json, "parts_matched", why->n_matched);
      cJSON_AddNumberToObject (json, "parts", why->n_parts);
    }
  array = cJSON_AddArrayToObject (json, "match");
  for (guint i = 0; i < why->parts->len; i++)
    {
      const IrWhyPart *part = why->parts->pdata[i];
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "needed", part->needed);
      cJSON_AddItemToObject (object, "node",
                             part->node != 0 ? node_json (model, part->node) : cJSON_CreateNull ());
      cJSON_AddItemToArray (array, object);
    }
  array = cJSON_AddArrayToObject (json, "roots");
  for (guint i = 0; i < why->roots->len; i++)
    cJSON_AddItemToArray (array, node_json (model, g_array_index (why->roots, IrNodeId, i)));
  cli_json_print (json);
}

static void
print_steps (const IrModel *model, const IrWhy *why)
{
  for (guint i = 0; i < why->steps->len; i++)
    {
      const IrStep *step = ir_history_step (model, g_array_index (why->steps, guint, i));

      cli_print ("it fired: step %u%s%s\n", step->index, step->reason != NULL ? ": " : "",
                 step->reason != NULL ? step->reason : "");
    }
}

static void
print_answer (const IrModel *model, const IrWhy *why)
{
  switch (why->answer)
    {
    case IR_WHY_FIRED:
      print_steps (model, why);
      break;
    case IR_WHY_REFUSED:
      cli_print ("it did not fire\n");
      break;
    case IR_WHY_MATCHES:
      cli_print ("it did not fire, but matches after step %u: it was left out, or not reached\n",
                 why->at_step);
      break;
    case IR_WHY_CLASS:
      cli_print ("it did not run: its class is not among those asked for; see --class\n");
      break;
    case IR_WHY_NOT_RUN:
      cli_print ("it did not run: its pass %s is not in the pipeline\n", why->pass);
      break;
    case IR_WHY_CODE:
      cli_print ("it did not fire; its pass %s is a function and tells no more than: %s\n",
                 why->pass, why->needed);
      break;
    case IR_WHY_OTHER_OPERATOR:
      cli_print ("it starts at %s, and this node is none\n", why->operators);
      break;
    case IR_N_WHY_ANSWERS:
      break;
    }
}

static void
print_match (const IrModel *model, const IrWhy *why)
{
  for (guint i = 0; i < why->parts->len; i++)
    {
      const IrWhyPart *part = why->parts->pdata[i];
      g_autofree char *label = part->node != 0 ? ir_node_label (ir_model_node (model, part->node))
                                               : g_strdup ("not reached");

      cli_print ("  %-30s %s\n", part->needed, label);
    }
}

static void
print_text (const IrModel *model, const IrWhy *why)
{
  g_autofree char *label = ir_node_label (ir_model_node (model, why->node));

  cli_print ("%s at %s\n", why->rule, label);
  print_answer (model, why);
  print_match (model, why);
  if (why->reason != NULL)
    cli_print ("  %s\n", why->reason);
  if (why->found != NULL)
    cli_print ("  found   %s\n  needed  %s\n", why->found, why->needed);
  if (why->removed_by != 0)
    {
      const IrStep *step = ir_history_step (model, why->removed_by);
      cli_print ("  looked at before step %u (%s), which took the node\n", step->index, step->rule);
    }
  for (guint i = 0; i < why->roots->len; i++)
    {
      g_autofree char *root = ir_node_label (
          ir_model_node (model, g_array_index (why->roots, IrNodeId, i)));
      cli_print ("  such a node below it: %s\n", root);
    }
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_auto (IrWhy) why = { 0 };
  g_autoptr (GError) error = NULL;
  IrClass max_class;
  CliStatus status;

  options->model.record_refusals = TRUE;
  if (!cli_class (&options->model, &max_class, &error))
    return cli_fail (CLI_BAD, error);
  if (!cli_model_open (cli, &options->model, cli->args[0], TRUE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  if (!cli_why (opened.model, cli->args[1], cli->args[2], max_class, &why, &error))
    return cli_fail (CLI_BAD, error);
  (cli->json ? print_json : print_text) (opened.model, &why);
  return CLI_OK;
}

const CliCommand cli_command_why = {
  .name = "why",
  .arguments = "FILE RULE NODE",
  .takes_model = TRUE,
  .summary = "Why a rule did not fire at a node: what fitted, and what did not",
  .doc = "NODE is a name of the original or of the optimized graph, or #N for an id. It should be\n"
         "the node that the rule's pattern ends in, such as the BatchNormalization of a fold into\n"
         "Conv; else such nodes below it are named.",
  .min_args = 3,
  .max_args = 3,
  .model_options = cli_model_options,
  .options_size = sizeof (Options),
  .run = run,
};
