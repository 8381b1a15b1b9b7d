/* irscope bisect: the step that makes a predicate fail. */
#include "config.h"

#include "app/cli/bisect-plan.h"
#include "app/cli/commands.h"
#include "app/cli/diff-iterations.h"
#include "app/cli/output.h"
#include "app/cli/plans.h"
#include "app/cli/proof.h"
#include "core/exec/schedule/kernel-choice.h"
#include "passes/debug/bisect.h"

#include <stdio.h>
#include <string.h>

#define SHOW_US    100000 /* between two looks at how far a check is */
#define MOST_NAMED 4      /* broken steps of one rule; of more only how many */

typedef struct
{
  CliModelOptions model;
  char *fail, *over, *parallel;
  gboolean prove, no_prove;
  gboolean kernels, plan; /* no options: over is "kernels", or "plan" */
} Options;

static const CliOption bisect_options[] = {
  { "fail", 'f', G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, fail),
    "What counts as a failure, such as 'max_abs(logits) > 1e-3'", "EXPR" },
  { "over", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, over),
    "What is searched: steps (of the passes, default), kernels: which node's own kernel makes it "
    "fail, where the reference kernels do not, or plan: which decision of the plan of a run does",
    "steps,kernels,plan" },
  { "parallel", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, parallel),
    "With --over plan: whether nodes run concurrently: off (default), on or auto", "off,on,auto" },
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

static const IrNode *
node_of (const IrModel *model, const IrBisection *found)
{
  return ir_model_node (model, ir_history_step (model, found->step)->anchor);
}

static void
add_kernel (cJSON *json, const Options *options, const IrModel *model, const IrBisection *found)
{
  const IrBackend *backend = cli_backend (&options->model, NULL);
  const char *why;

  cJSON_AddStringToObject (json, "over", options->kernels ? "kernels" : "steps");
  if (!options->kernels || found->answer != IR_BISECT_FOUND)
    return;
  g_autofree char *label = ir_node_label (node_of (model, found));
  cJSON_AddStringToObject (json, "node", label);
  cJSON_AddStringToObject (json, "kernel", ir_kernel_taken (backend, node_of (model, found), &why));
}

static void
print_json (const Options *options, const IrModel *model, const IrBisection *found)
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
  add_kernel (json, options, model, found);
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
  cli_json_add_first_iteration (json, &found->iteration, model, model);
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

  cli_print ("%s %u: %s, %s%s%s\n", what, index, ir_history_pass_of (model, index), step->rule,
             anchor[0] != '\0' ? " at " : "", anchor);
}

static void
print_kernel (const Options *options, const IrModel *model, const IrBisection *found)
{
  const IrBackend *backend = cli_backend (&options->model, NULL);
  g_autofree char *label = ir_node_label (node_of (model, found));
  const char *why;

  cli_print ("%s: %s\n", label, ir_kernel_taken (backend, node_of (model, found), &why));
  if (found->problem != NULL)
    cli_print ("  with its own kernel the graph does not run: %s\n", found->problem);
  else
    cli_print ("  with its own kernel, %s; with the reference kernel it does not fail\n",
               found->finding);
  if (found->diverges != 0)
    cli_print ("  first to differ: %s, by %g\n", value_name (model, found->diverges),
               found->change.max_abs);
  cli_print_first_iteration ("in loops", &found->iteration, model);
}

/* A later step may have given the value another name. */
static char *
name_at (IrModel *model, guint step, IrValueId id)
{
  g_autoptr (IrModel) then = ir_history_snapshot (model, step);

  return g_strdup (value_name (then, id));
}

/* The first tensor that differs, and how to see it. @path: (nullable): of the model, if it is no session's */
static void
print_divergence (const char *path, IrModel *model, const IrBisection *found)
{
  g_autofree char *now = name_at (model, found->step, found->diverges),
                  *before = name_at (model, found->step - 1, found->stood);

  cli_print ("  first to differ: %s, by %g from %s before the step\n", now, found->change.max_abs,
             before);
  cli_print_first_iteration ("in loops", &found->iteration, model);
  if (found->original != 0 &&
      (found->original != found->stood || found->change.max_abs != found->from_original.max_abs))
    cli_print ("  from %s of the original it differs by %g\n", value_name (model, found->original),
               found->from_original.max_abs);
  if (path == NULL)
    return;
  g_autofree char *at = g_strdup_printf ("%s@%u", path, found->step),
                  *stood = g_strdup_printf ("@%u:%s", found->step - 1, before),
                  *file = g_shell_quote (at), *name = g_shell_quote (now),
                  *against = g_shell_quote (stood);

  cli_print ("  with the same options, irscope tensor %s %s --against %s shows it, and irscope "
             "reproduce cuts it out\n",
             file, name, against);
}

static void
print_found (const char *path, IrModel *model, const IrBisection *found)
{
  const IrStep *step = ir_history_step (model, found->step);

  print_step ("step", model, found->step);
  if (step->reason != NULL)
    cli_print ("  %s\n", step->reason);
  if (found->problem != NULL)
    cli_print ("  the graph does not run after it: %s\n", found->problem);
  else
    cli_print ("  after it, %s\n", found->finding);
  for (guint i = 0; i < step->n_records; i++)
    {
      g_autofree char *text = ir_record_to_string (
          model, ir_history_record (model, step->first_record + i));
      cli_print ("    %s\n", text);
    }
  if (found->diverges != 0)
    print_divergence (path, model, found);
}

static gboolean
is_of_same_rule (const IrModel *model, guint a, guint b)
{
  return strcmp (ir_history_pass_of (model, a), ir_history_pass_of (model, b)) == 0 &&
         strcmp (ir_history_step (model, a)->rule, ir_history_step (model, b)->rule) == 0;
}

/* Many steps of one rule, one behind the other, are said in one line. */
static void
print_broken (const IrModel *model, const GArray *broken)
{
  for (guint i = 0, end; i < broken->len; i = end)
    {
      const guint first = g_array_index (broken, guint, i);

      for (end = i + 1; end < broken->len; end++)
        if (!is_of_same_rule (model, first, g_array_index (broken, guint, end)))
          break;
      if (end - i > MOST_NAMED)
        cli_print ("broken: %u steps from %u to %u: %s, %s\n", end - i, first,
                   g_array_index (broken, guint, end - 1), ir_history_pass_of (model, first),
                   ir_history_step (model, first)->rule);
      else
        for (guint k = i; k < end; k++)
          print_step ("broken: step", model, g_array_index (broken, guint, k));
    }
}

static void
print_text (const Options *options, const char *path, IrModel *model, const IrBisection *found)
{
  guint n = ir_history_n_steps (model);

  if (found->answer == IR_BISECT_FOUND && options->kernels)
    print_kernel (options, model, found);
  else if (found->answer == IR_BISECT_ORIGINAL_FAILS && options->kernels)
    cli_print ("it fails with reference kernels everywhere: %s\n", found->finding);
  else if (found->answer == IR_BISECT_NOTHING_FAILS && options->kernels)
    cli_print ("nothing fails with the kernels that the nodes have: %s\n", found->finding);
  else if (found->answer == IR_BISECT_FOUND)
    print_found (path, model, found);
  else if (found->answer == IR_BISECT_ORIGINAL_FAILS)
    cli_print ("the original graph fails already: %s\n", found->finding);
  else
    cli_print ("nothing fails up to step %u: there, %s\n", found->last, found->finding);
  if (found->last < n)
    cli_print ("  from step %u on, a value that is named stands for nothing any more\n",
               found->last + 1);
  print_broken (model, found->broken);
  cli_print ("%u checks of %u %s\n", found->checks, n, options->kernels ? "kernels" : "steps");
}

/* One search, as it goes on. */
typedef struct
{
  const Cli *cli;
  guint checks, expected;
  gint64 shown_us; /* when last */
} Progress;

static void
show_check (guint checks, guint expected, gpointer data)
{
  Progress *progress = data;

  progress->checks = checks;
  progress->expected = MAX (checks, expected);
  cli_progress (progress->cli, "check", checks, progress->expected);
}

/* A check may take long. */
static void
show_node (guint done, guint total, const IrNode *node, gpointer data)
{
  Progress *progress = data;
  const gint64 now_us = g_get_monotonic_time ();
  g_autofree char *what = NULL;

  if (now_us - progress->shown_us < SHOW_US)
    return;
  progress->shown_us = now_us;
  what = progress->expected > 0 ? g_strdup_printf ("check %u/%u, node", progress->checks + 1,
                                                   MAX (progress->expected, progress->checks + 1))
                                : g_strdup ("node");
  cli_progress (progress->cli, what, done, total);
}

/* A step that changes numbers may not be the only one: the verdicts tell. A proof costs a few runs,
 * no more than the search has. */
static gboolean
find_others (
    Cli *cli, IrModel *model, const IrPredicate *predicate, IrBisection *found, GError **error)
{
  const Options *options = cli->options;

  if (options->prove || options->no_prove || options->kernels || found->answer != IR_BISECT_FOUND ||
      found->problem != NULL || !ir_predicate_runs_graph (predicate))
    return TRUE;
  if (!cli_prove (cli, &options->model, model, NULL, error))
    return FALSE;
  ir_bisection_note_broken (found, model);
  return TRUE;
}

static gboolean
parse_over (Options *options, GError **error)
{
  options->kernels = g_strcmp0 (options->over, "kernels") == 0;
  options->plan = g_strcmp0 (options->over, "plan") == 0;
  if (options->over != NULL && !options->kernels && !options->plan &&
      strcmp (options->over, "steps") != 0)
    {
      g_set_error (error, CLI_ERROR, 0, "--over %s: needs steps, kernels or plan", options->over);
      return FALSE;
    }
  if (options->plan && options->prove)
    {
      g_set_error (error, CLI_ERROR, 0,
                   "--prove judges steps: leave it out, or --over plan, which searches none");
      return FALSE;
    }
  if (!options->plan && options->parallel != NULL)
    {
      g_set_error (error, CLI_ERROR, 0, "--parallel is of plans: it needs --over plan");
      return FALSE;
    }
  return TRUE;
}

/* The steps to search are then those by which nodes get their kernels. */
static gboolean
take_kernels (const Options *options, CliModel *opened, GError **error)
{
  const IrBackend *backend = cli_backend (&options->model, error);

  if (backend == NULL)
    return FALSE;
  ir_history_goto (opened->model,
                   opened->step >= 0 ? (guint) opened->step : ir_history_n_steps (opened->model));
  IrModel *history = ir_kernel_history (opened->model, backend);
  ir_model_unref (opened->model);
  opened->model = history;
  opened->step = -1;
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
  IrParallelMode parallel = IR_PARALLEL_OFF;
  CliStatus status;
  Progress progress = { cli, 0, 0, 0 };
  gboolean done;

  if (options->fail == NULL)
    {
      cli_printerr ("irscope bisect: needs --fail EXPR, such as --fail 'max_abs(logits) > 1e-3'\n");
      return CLI_BAD;
    }
  if (!parse_over (options, &error) || !cli_parallel (options->parallel, &parallel, &error))
    return cli_fail (CLI_BAD, error);
  predicate = ir_predicate_parse (options->fail, &error);
  if (predicate == NULL)
    {
      g_prefix_error (&error, "--fail: ");
      return cli_fail (CLI_BAD, error);
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], TRUE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  if (options->plan)
    return cli_bisect_plan (cli, &options->model, parallel, &opened, predicate);
  if (options->kernels && !take_kernels (options, &opened, &error))
    return cli_fail (cli_status_of (error), error);
  if (options->prove && !cli_prove (cli, &options->model, opened.model, NULL, &error))
    return cli_fail (cli_status_of (error), error);
  trial = cli_trial (cli, &options->model, &opened, &error);
  if (trial == NULL)
    return cli_fail (cli_status_of (error), error);
  ir_trial_tell (trial, show_node, &progress);
  if (!cli->json && ir_predicate_runs_graph (predicate))
    cli_print_default_sizes (opened.model);
  done = ir_bisect (trial, predicate, show_check, &progress, &found, &error) &&
         (found.answer != IR_BISECT_FOUND || !ir_predicate_runs_graph (predicate) ||
          ir_bisect_find_divergence (trial, &found, &error));
  cli_progress_end (cli);
  if (!done)
    return cli_fail (cli_status_of (error), error);
  if (!find_others (cli, opened.model, predicate, &found, &error))
    return cli_fail (cli_status_of (error), error);
  if (cli->json)
    print_json (options, opened.model, &found);
  else
    print_text (options, cli->session == NULL ? opened.path : NULL, opened.model, &found);
  return found.answer == IR_BISECT_FOUND ? CLI_OK : CLI_NO;
}

const CliCommand cli_command_bisect = {
  .name = "bisect",
  .arguments = "FILE[@N]",
  .takes_model = TRUE,
  .summary = "The step that makes a predicate fail, found by halving",
  .doc =
      "EXPR compares measures of the graph after a step with numbers, joined by and, or, not and\n"
      "parentheses:\n"
      "  max_abs(X) > 1e-3    largest difference of value X from the original graph's X\n"
      "  rel(X) > 1e-2        the same, divided by the original's element\n"
      "  has_nan(X)           X holds a NaN\n"
      "  peak_memory > 1GiB   planned memory; nodes, nodes(Op), flops alike\n"
      "  cmd: ./check.sh {}   the exit status is not 0; {} is the graph's path, as ONNX\n"
      "X is a value of the original graph, #N for its id, * for all outputs; loop@2/X is what it is in\n"
      "one iteration, loop/X in each. Exit status 1: the original fails already, or nothing fails. A graph\n"
      "that does not run any more fails.\n"
      "With --over kernels the graph after the passes is compared with itself on reference kernels, and\n"
      "the node is found whose own kernel makes it fail. With --over plan plain runs of it are compared\n"
      "with one by a plan without any decision (see 'irscope run --without'): which decisions make it\n"
      "fail is found, and for which values. What EXPR names is kept, which plans may go by.\n"
      "With FILE@N only the first N steps are searched. Where EXPR computes values and a step is found,\n"
      "all steps are proved, and every broken one is listed: it may not be the only culprit.",
  .min_args = 1,
  .max_args = 1,
  .options = bisect_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
