/* irscope bisect --over plan: the decision of a plan that makes a predicate fail. */
#include "config.h"

#include "app/cli/bisect-plan.h"
#include "app/cli/output.h"
#include "app/cli/proof.h"
#include "passes/debug/bisect-plan.h"

static void
show_check (guint checks, guint expected, gpointer data)
{
  cli_progress (data, "check", checks, expected);
}

/* What answers of a search over steps have as well. */
static void
add_no_step (cJSON *json)
{
  static const char *const keys[] = { "step", "pass", "rule", "anchor" };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    cJSON_AddNullToObject (json, keys[i]);
  cJSON_AddNumberToObject (json, "steps", 0);
  cJSON_AddNumberToObject (json, "last", 0);
  cJSON_AddArrayToObject (json, "broken");
}

static guint
bit_of (IrDecisions decision)
{
  return g_bit_storage (decision) - 1;
}

static void
print_json (const IrPlanBisection *found)
{
  cJSON *json = cJSON_CreateObject (), *array;

  cJSON_AddStringToObject (json, "answer", ir_bisect_answer_name (found->answer));
  cJSON_AddStringToObject (json, "over", "plan");
  add_no_step (json);
  cJSON_AddNumberToObject (json, "checks", found->checks);
  cli_json_add_double (json, "value", found->value);
  if (found->finding != NULL)
    cJSON_AddStringToObject (json, "finding", found->finding);
  if (found->problem != NULL)
    cJSON_AddStringToObject (json, "problem", found->problem);
  array = cJSON_AddArrayToObject (json, "decisions");
  for (guint bit = 0; bit < IR_N_DECISIONS; bit++)
    if (found->decisions & (1u << bit))
      cJSON_AddItemToArray (array, cJSON_CreateString (ir_decision_name (bit)));
  array = cJSON_AddArrayToObject (json, "values");
  for (guint i = 0; i < found->culprits->len; i++)
    {
      const IrPlanCulprit *culprit = &g_array_index (found->culprits, IrPlanCulprit, i);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "decision", ir_decision_name (bit_of (culprit->decision)));
      cJSON_AddStringToObject (object, "name", culprit->value);
      cJSON_AddStringToObject (object, "node", culprit->node);
      if (culprit->how != NULL)
        cJSON_AddStringToObject (object, "how", culprit->how);
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print (json);
}

static void
print_found (const IrPlanBisection *found)
{
  guint n = 0;

  for (guint bit = 0; bit < IR_N_DECISIONS; bit++)
    if (found->decisions & (1u << bit))
      {
        cli_print ("%s: %s\n", ir_decision_name (bit), ir_decision_doc (bit));
        n++;
      }
  if (found->problem != NULL)
    cli_print ("  with %s the graph does not run: %s\n", n == 1 ? "that" : "all of these",
               found->problem);
  else
    cli_print ("  with %s, %s; without %s it does not fail\n",
               n == 1 ? "that alone" : "these alone", found->finding,
               n == 1 ? "it" : "any one of them");
  for (guint i = 0; i < found->culprits->len; i++)
    {
      const IrPlanCulprit *culprit = &g_array_index (found->culprits, IrPlanCulprit, i);

      cli_print ("  %s: %s, which %s gives%s%s\n", ir_decision_name (bit_of (culprit->decision)),
                 culprit->value, culprit->node, culprit->how != NULL ? ": " : "",
                 culprit->how != NULL ? culprit->how : "");
    }
}

static void
print_text (const IrPlanBisection *found)
{
  if (found->answer == IR_BISECT_FOUND)
    print_found (found);
  else if (found->answer == IR_BISECT_ORIGINAL_FAILS)
    cli_print ("it fails without any decision of the plan: %s\n", found->finding);
  else
    cli_print ("nothing fails with all decisions of the plan: %s\n", found->finding);
  cli_print ("%u checks\n", found->checks);
}

CliStatus
cli_bisect_plan (Cli *cli,
                 const CliModelOptions *options,
                 IrParallelMode parallel,
                 CliModel *opened,
                 IrPredicate *predicate)
{
  g_auto (IrPlanBisection) found = { 0 };
  g_autoptr (IrTrial) trial = NULL;
  g_autoptr (GError) error = NULL;
  guint last = opened->step >= 0 ? (guint) opened->step : ir_history_n_steps (opened->model);

  if (!ir_predicate_runs_graph (predicate))
    {
      cli_printerr (
          "irscope bisect: --over plan compares what runs give: --fail needs max_abs, rel "
          "or has_nan\n");
      return CLI_BAD;
    }
  g_autoptr (IrModel) frozen = ir_history_snapshot (opened->model, last);
  ir_model_unref (opened->model);
  opened->model = ir_model_clone (frozen);
  opened->step = -1;
  ir_edit_free (ir_edit_new (opened->model)); /* a history without steps */
  trial = cli_trial (cli, options, opened, &error);
  gboolean done = trial != NULL &&
                  ir_bisect_plan (trial, predicate, parallel, show_check, cli, &found, &error);
  cli_progress_end (cli);
  if (!done)
    return cli_fail (cli_status_of (error), error);
  if (cli->json)
    print_json (&found);
  else
    print_text (&found);
  return found.answer == IR_BISECT_FOUND ? CLI_OK : CLI_NO;
}
