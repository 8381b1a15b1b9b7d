/* irscope steps: the edit log of a pipeline run. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/proof.h"

#include <stdio.h>

typedef struct
{
  CliModelOptions model;
  gint at;
  gboolean prove;
} Options;

static const CliOption steps_options[] = {
  { "at", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, at), "Only this step, with its records",
    "N" },
  { "prove", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, prove),
    "Judge each step by running what it changed", NULL },
  { 0 },
};

static char *
anchor_name (const IrModel *model, const IrStep *step)
{
  const IrNode *node = step->anchor != 0 ? ir_model_node (model, step->anchor) : NULL;

  if (node == NULL)
    return g_strdup ("");
  return node->name[0] != '\0' ? g_strdup (node->name) : g_strdup_printf ("#%u", node->id);
}

static void
add_records (cJSON *object, const IrModel *model, const IrStep *step)
{
  g_autofree char *key = ir_step_stable_key (model, step->index);
  cJSON *array;

  cJSON_AddStringToObject (object, "key", key);
  array = cJSON_AddArrayToObject (object, "changes");

  for (guint i = 0; i < step->n_records; i++)
    {
      g_autofree char *text = ir_record_to_string (
          model, ir_history_record (model, step->first_record + i));
      cJSON_AddItemToArray (array, cJSON_CreateString (text));
    }
}

static cJSON *
step_json (const IrModel *model, const IrStep *step, gboolean with_records)
{
  g_autofree char *anchor = anchor_name (model, step);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddNumberToObject (object, "index", step->index);
  cJSON_AddStringToObject (object, "pass", ir_history_pass_of (model, step->index));
  cJSON_AddStringToObject (object, "rule", step->rule);
  cJSON_AddStringToObject (object, "class", ir_class_name (step->step_class));
  cJSON_AddStringToObject (object, "anchor", anchor);
  cJSON_AddNumberToObject (object, "records", step->n_records);
  cJSON_AddStringToObject (object, "verdict", ir_verdict_name (step->proof.verdict));
  cJSON_AddNumberToObject (object, "nodes", step->cost_after.n_nodes);
  cli_json_add_uint (object, "flops", step->cost_after.flops);
  cli_json_add_uint (object, "bytes", step->cost_after.bytes);
  if (step->reason != NULL)
    cJSON_AddStringToObject (object, "reason", step->reason);
  if (step->proof.verdict == IR_VERDICT_ROUNDING || step->proof.verdict == IR_VERDICT_BROKEN)
    {
      cli_json_add_double (object, "max_abs", step->proof.max_abs);
      cli_json_add_double (object, "max_rel", step->proof.max_rel);
      cli_json_add_uint (object, "max_ulp", step->proof.max_ulp);
    }
  if (step->proof.text != NULL)
    cJSON_AddStringToObject (object, "finding", step->proof.text);
  if (with_records)
    add_records (object, model, step);
  return object;
}

static void
print_step (const IrModel *model, const IrStep *step)
{
  g_autofree char *anchor = anchor_name (model, step);

  printf ("%5u  %-26s %-28s %-9s %5u nodes  %s\n", step->index,
          ir_history_pass_of (model, step->index), step->rule,
          ir_verdict_name (step->proof.verdict), step->cost_after.n_nodes, anchor);
}

static void
print_step_details (const IrModel *model, const IrStep *step)
{
  g_autofree char *key = ir_step_stable_key (model, step->index);

  print_step (model, step);
  printf ("       key %s\n", key);
  if (step->reason != NULL)
    printf ("       %s\n", step->reason);
  if (step->proof.text != NULL)
    printf ("       %s\n", step->proof.text);
  for (guint i = 0; i < step->n_records; i++)
    {
      g_autofree char *text = ir_record_to_string (
          model, ir_history_record (model, step->first_record + i));
      printf ("       %s\n", text);
    }
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  IrProofSummary proof;
  CliStatus status;
  guint n, first = 1, last;

  if (!cli_model_open (cli, &options->model, cli->args[0], TRUE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  n = last = ir_history_n_steps (opened.model);
  if (options->at != 0)
    first = last = options->at;
  if (options->at < 0 || (guint) options->at > n)
    {
      g_printerr ("irscope steps: --at %d: the pipeline made %u steps\n", options->at, n);
      return CLI_BAD;
    }
  if (options->prove && !cli_prove (cli, &options->model, opened.model, &proof, &error))
    return cli_fail (cli_status_of (error), error);
  cJSON *json = cJSON_CreateObject (), *array = cJSON_AddArrayToObject (json, "steps");
  for (guint i = first; i <= last; i++)
    if (cli->json)
      cJSON_AddItemToArray (
          array, step_json (opened.model, ir_history_step (opened.model, i), options->at != 0));
    else
      (options->at != 0 ? print_step_details : print_step) (opened.model,
                                                            ir_history_step (opened.model, i));
  if (cli->json)
    cli_json_print (json);
  else
    cJSON_Delete (json);
  return CLI_OK;
}

const CliCommand cli_command_steps = {
  .name = "steps",
  .arguments = "FILE",
  .summary = "The edit log: every step with rule, place, records, cost and proof",
  .doc = "",
  .min_args = 1,
  .max_args = 1,
  .options = steps_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
