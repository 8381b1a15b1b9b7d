/* irscope bisect: the step that makes a predicate fail. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/proof.h"
#include "passes/debug/bisect.h"

#include <stdio.h>

typedef struct
{
  CliModelOptions model;
  char *fail;
  gboolean prove, no_prove;
} Options;

static const CliOption bisect_options[] = {
  { "fail", 'f', G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, fail),
    "What counts as a failure, such as 'max_abs(logits) > 1e-3'", "EXPR" },
  { "prove", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, prove),
    "Judge every step, whatever the answer", NULL },
  { "no-prove", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, no_prove),
    "Do not look for other culprits when a step is found", NULL },
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

static const char *
value_name (const IrModel *model, IrValueId id)
{
  return id != 0 ? ir_model_value (model, id)->name : NULL;
}

static void
add_step (cJSON *object, const IrModel *model, guint index)
{
  const IrStep *step = ir_history_step (model, index);
  g_autofree char *anchor = anchor_name (model, step);

  cJSON_AddNumberToObject (object, "step", index);
  cJSON_AddStringToObject (object, "pass", ir_history_pass_of (model, index));
  cJSON_AddStringToObject (object, "rule", step->rule);
  cJSON_AddStringToObject (object, "anchor", anchor);
}

static void
add_changes (cJSON *json, const IrModel *model, const IrStep *step)
{
  cJSON *array = cJSON_AddArrayToObject (json, "changes");

  for (guint i = 0; i < step->n_records; i++)
    {
      g_autofree char *text = ir_record_to_string (
          model, ir_history_record (model, step->first_record + i));
      cJSON_AddItemToArray (array, cJSON_CreateString (text));
    }
}

static void
add_divergence (cJSON *json, const IrModel *model, const IrBisection *found)
{
  cJSON *object;

  if (found->diverges == 0)
    return;
  object = cJSON_AddObjectToObject (json, "diverges");
  cJSON_AddStringToObject (object, "name", value_name (model, found->diverges));
  cJSON_AddStringToObject (object, "before", value_name (model, found->stood));
  cli_json_add_double (object, "max_abs", found->change.max_abs);
  cli_json_add_double (object, "max_rel", found->change.max_rel);
  if (found->original == 0)
    return;
  cJSON_AddStringToObject (object, "original", value_name (model, found->original));
  cli_json_add_double (object, "max_abs_from_original", found->from_original.max_abs);
  cli_json_add_double (object, "max_rel_from_original", found->from_original.max_rel);
}

static void
print_json (const IrModel *model, const IrBisection *found)
{
  cJSON *json = cJSON_CreateObject (), *array;

  cJSON_AddStringToObject (json, "answer", ir_bisect_answer_name (found->answer));
  if (found->answer == IR_BISECT_FOUND)
    add_step (json, model, found->step);
  else
    {
      cJSON_AddNullToObject (json, "step");
      cJSON_AddNullToObject (json, "pass");
      cJSON_AddNullToObject (json, "rule");
      cJSON_AddNullToObject (json, "anchor");
    }
  cJSON_AddNumberToObject (json, "checks", found->checks);
  cli_json_add_double (json, "value", found->value);
  if (found->finding != NULL)
    cJSON_AddStringToObject (json, "finding", found->finding);
  cJSON_AddNumberToObject (json, "steps", ir_history_n_steps (model));
  cJSON_AddNumberToObject (json, "last", found->last);
  if (found->problem != NULL)
    cJSON_AddStringToObject (json, "problem", found->problem);
  if (found->answer == IR_BISECT_FOUND)
    add_changes (json, model, ir_history_step (model, found->step));
  add_divergence (json, model, found);
  array = cJSON_AddArrayToObject (json, "broken");
  for (guint i = 0; i < found->broken->len; i++)
    {
      guint index = g_array_index (found->broken, guint, i);
      cJSON *object = cJSON_CreateObject ();

      add_step (object, model, index);
      cli_json_add_double (object, "max_abs", ir_history_step (model, index)->proof.max_abs);
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print (json);
}

static void
print_step (const char *what, const IrModel *model, guint index)
{
  const IrStep *step = ir_history_step (model, index);
  g_autofree char *anchor = anchor_name (model, step);

  printf ("%s %u: %s, %s at %s\n", what, index, ir_history_pass_of (model, index), step->rule,
          anchor);
}

static void
print_found (const IrModel *model, const IrBisection *found)
{
  const IrStep *step = ir_history_step (model, found->step);

  print_step ("step", model, found->step);
  if (step->reason != NULL)
    printf ("  %s\n", step->reason);
  if (found->problem != NULL)
    printf ("  the graph does not run after it: %s\n", found->problem);
  else
    printf ("  after it, %s\n", found->finding);
  for (guint i = 0; i < step->n_records; i++)
    {
      g_autofree char *text = ir_record_to_string (
          model, ir_history_record (model, step->first_record + i));
      printf ("    %s\n", text);
    }
  if (found->diverges == 0)
    return;
  printf ("  first to differ: %s, by %g\n", value_name (model, found->diverges),
          found->change.max_abs);
  if (found->original != 0)
    printf ("  from %s of the original it differs by %g\n", value_name (model, found->original),
            found->from_original.max_abs);
}

static void
print_text (const IrModel *model, const IrBisection *found)
{
  guint n = ir_history_n_steps (model);

  if (found->answer == IR_BISECT_FOUND)
    print_found (model, found);
  else if (found->answer == IR_BISECT_ORIGINAL_FAILS)
    printf ("the original graph fails already: %s\n", found->finding);
  else
    printf ("nothing fails up to step %u: there, %s\n", found->last, found->finding);
  if (found->last < n)
    printf ("  from step %u on, a value that is named stands for nothing any more\n",
            found->last + 1);
  for (guint i = 0; i < found->broken->len; i++)
    print_step ("broken: step", model, g_array_index (found->broken, guint, i));
  printf ("%u checks of %u steps\n", found->checks, n);
}

static void
show_check (guint checks, guint expected, gpointer data)
{
  cli_progress (data, "check", checks, MAX (checks, expected));
}

/* A step that changes numbers may not be the only one: the verdicts tell. A proof costs a few runs,
 * no more than the search has. */
static gboolean
find_others (
    Cli *cli, IrModel *model, const IrPredicate *predicate, IrBisection *found, GError **error)
{
  const Options *options = cli->options;

  if (options->prove || options->no_prove || found->answer != IR_BISECT_FOUND ||
      found->problem != NULL || !ir_predicate_runs_graph (predicate))
    return TRUE;
  if (!cli_prove (cli, &options->model, model, NULL, error))
    return FALSE;
  ir_bisection_note_broken (found, model);
  return TRUE;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_auto (IrBisection) found = { 0 };
  g_autoptr (IrPredicate) predicate = NULL;
  g_autoptr (IrTrial) trial = NULL;
  g_autoptr (GError) error = NULL;
  CliStatus status;
  gboolean done;

  if (options->fail == NULL)
    {
      g_printerr ("irscope bisect: needs --fail EXPR, such as --fail 'max_abs(logits) > 1e-3'\n");
      return CLI_BAD;
    }
  predicate = ir_predicate_parse (options->fail, &error);
  if (predicate == NULL)
    {
      g_prefix_error (&error, "--fail: ");
      return cli_fail (CLI_BAD, error);
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], TRUE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  if (options->prove && !cli_prove (cli, &options->model, opened.model, NULL, &error))
    return cli_fail (cli_status_of (error), error);
  trial = cli_trial (cli, &options->model, &opened, &error);
  if (trial == NULL)
    return cli_fail (cli_status_of (error), error);
  done = ir_bisect (trial, predicate, show_check, cli, &found, &error);
  cli_progress_end (cli);
  if (!done || (found.answer == IR_BISECT_FOUND && ir_predicate_runs_graph (predicate) &&
                !ir_bisect_find_divergence (trial, &found, &error)))
    return cli_fail (cli_status_of (error), error);
  if (!find_others (cli, opened.model, predicate, &found, &error))
    return cli_fail (cli_status_of (error), error);
  (cli->json ? print_json : print_text) (opened.model, &found);
  return found.answer == IR_BISECT_FOUND ? CLI_OK : CLI_NO;
}

const CliCommand cli_command_bisect = {
  .name = "bisect",
  .arguments = "FILE[@N]",
  .summary = "The step that makes a predicate fail, found by halving",
  .doc =
      "EXPR compares measures of the graph after a step with numbers, joined by and, or, not and\n"
      "parentheses:\n"
      "  max_abs(X) > 1e-3    largest difference of value X from the original graph's X\n"
      "  rel(X) > 1e-2        the same, divided by the original's element\n"
      "  has_nan(X)           X holds a NaN\n"
      "  peak_memory > 1GiB   planned memory; nodes, nodes(Op), flops alike\n"
      "  cmd: ./check.sh {}   the exit status is not 0; {} is the graph's path, as ONNX\n"
      "X is a value of the original graph, #N for its id, * for all outputs. Exit status 1: the\n"
      "original fails already, or nothing fails. A graph that does not run any more fails.\n"
      "With FILE@N only the first N steps are searched. Where EXPR computes values and a step is found,\n"
      "all steps are proved, and every broken one is listed: it may not be the only culprit.",
  .min_args = 1,
  .max_args = 1,
  .options = bisect_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
