/* irscope optimize: runs passes, proves their steps, writes the result. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/execution.h"
#include "app/cli/output.h"
#include "app/cli/save.h"
#include "app/cli/proof.h"
#include "app/cli/what-if.h"
#include "core/op/verify.h"
#include "core/io/io.h"
#include "passes/rule/rule.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  CliModelOptions model;
  char *output;
  gboolean prove, timing, compare;
} Options;

static const CliOption optimize_options[] = {
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, output),
    "Write the optimized model; the format is that of the name", "OUT" },
  { "prove", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, prove),
    "Run what each step changed, before and after, and judge the difference; then run the result and "
    "judge every node of it by the reference kernels",
    NULL },
  { "timing", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, timing),
    "Print how often each rule was tried and what matching cost", NULL },
  { "compare", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, compare),
    "Beside the result, what it would be without any --skip: graph, costs, numbers", NULL },
  { 0 },
};

typedef struct
{
  const char *pass;
  guint steps;
  double ms;
} PassTotal;

/* One line per pass, however often the pipeline ran it. */
static GArray *
pass_totals (const IrModel *model)
{
  GArray *totals = g_array_new (FALSE, TRUE, sizeof (PassTotal));

  for (guint i = 0; i < ir_history_n_pass_runs (model); i++)
    {
      const IrPassRun *run = ir_history_pass_run (model, i);
      PassTotal *total = NULL;

      for (guint k = 0; k < totals->len && total == NULL; k++)
        if (g_array_index (totals, PassTotal, k).pass == run->pass)
          total = &g_array_index (totals, PassTotal, k);
      if (total == NULL)
        {
          g_array_set_size (totals, totals->len + 1);
          total = &g_array_index (totals, PassTotal, totals->len - 1);
          total->pass = run->pass;
        }
      total->steps += run->n_steps;
      total->ms += run->duration_ns / 1e6;
    }
  return totals;
}

typedef struct
{
  const IrModel *model;
  guint nodes_before;
  const IrPipelineResult *result;
  const IrProofSummary *proof;       /* (nullable) */
  const IrExecutionCheck *execution; /* (nullable) */
  const CliWhatIf *what_if;          /* (nullable) */
  const GArray *rules;               /* of IrRuleTotal */
  gboolean timing;
} Summary;

/* -- rules: what matching cost -- */

static IrRuleStats
sum_of_rules (const GArray *rules)
{
  IrRuleStats sum = { 0 };

  for (guint i = 0; i < rules->len; i++)
    {
      const IrRuleStats *stats = &g_array_index (rules, IrRuleTotal, i).stats;

      sum.looked += stats->looked;
      sum.tried += stats->tried;
      sum.matched += stats->matched;
      sum.applied += stats->applied;
      sum.match_ns += stats->match_ns;
      sum.apply_ns += stats->apply_ns;
    }
  return sum;
}

/* Rules tried at a node, on average over the nodes of the start and the rounds. */
static double
tried_per_node (const Summary *summary, const IrRuleStats *sum)
{
  return (double) sum->tried / MAX (summary->nodes_before * summary->result->iterations, 1);
}

static void
add_stats (cJSON *object, const IrRuleStats *stats)
{
  cJSON_AddNumberToObject (object, "looked", stats->looked);
  cJSON_AddNumberToObject (object, "tried", stats->tried);
  cJSON_AddNumberToObject (object, "matched", stats->matched);
  cJSON_AddNumberToObject (object, "applied", stats->applied);
  cJSON_AddNumberToObject (object, "match_ms", stats->match_ns / 1e6);
  cJSON_AddNumberToObject (object, "apply_ms", stats->apply_ns / 1e6);
}

static void
add_rules (cJSON *json, const Summary *summary)
{
  IrRuleStats sum = sum_of_rules (summary->rules);
  cJSON *matching = cJSON_AddObjectToObject (json, "matching");
  cJSON *rules = cJSON_AddArrayToObject (json, "rules");

  add_stats (matching, &sum);
  cJSON_AddNumberToObject (matching, "tried_per_node", tried_per_node (summary, &sum));
  for (guint i = 0; i < summary->rules->len; i++)
    {
      const IrRuleTotal *total = &g_array_index (summary->rules, IrRuleTotal, i);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "pass", total->pass);
      cJSON_AddStringToObject (object, "name", total->rule);
      add_stats (object, &total->stats);
      cJSON_AddItemToArray (rules, object);
    }
}

static void
print_rules (const Summary *summary)
{
  IrRuleStats sum = sum_of_rules (summary->rules);

  cli_print ("\n  %-36s %8s %8s %8s %8s %10s %10s\n", "rule", "looked", "tried", "matched",
             "applied", "match ms", "apply ms");
  for (guint i = 0; i < summary->rules->len; i++)
    {
      const IrRuleTotal *total = &g_array_index (summary->rules, IrRuleTotal, i);
      const IrRuleStats *stats = &total->stats;

      if (stats->tried > 0)
        cli_print ("  %-36s %8u %8u %8u %8u %10.3f %10.3f\n", total->rule, stats->looked,
                   stats->tried, stats->matched, stats->applied, stats->match_ns / 1e6,
                   stats->apply_ns / 1e6);
    }
  cli_print ("  %-36s %8u %8u %8u %8u %10.3f %10.3f\n", "all", sum.looked, sum.tried, sum.matched,
             sum.applied, sum.match_ns / 1e6, sum.apply_ns / 1e6);
  cli_print ("rules tried per node and round: %.2f\n", tried_per_node (summary, &sum));
}

static void
print_json (const Summary *summary)
{
  const IrModel *model = summary->model;
  const IrPipelineResult *result = summary->result;
  const IrProofSummary *proof = summary->proof;
  g_autoptr (GArray) totals = pass_totals (model);
  cJSON *json = cJSON_CreateObject (), *passes, *verdicts;

  cJSON_AddNumberToObject (json, "nodes_before", summary->nodes_before);
  cJSON_AddNumberToObject (json, "nodes_after", ir_model_n_counted_nodes (model));
  cJSON_AddNumberToObject (json, "steps", result->n_steps);
  cJSON_AddNumberToObject (json, "iterations", result->iterations);
  cJSON_AddNumberToObject (json, "ms", result->ms);
  cJSON_AddNumberToObject (json, "cpu_ms", result->cpu_ms);
  passes = cJSON_AddArrayToObject (json, "passes");
  for (guint i = 0; i < totals->len; i++)
    {
      const PassTotal *total = &g_array_index (totals, PassTotal, i);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "name", total->pass);
      cJSON_AddNumberToObject (object, "steps", total->steps);
      cJSON_AddNumberToObject (object, "ms", total->ms);
      cJSON_AddItemToArray (passes, object);
    }
  add_rules (json, summary);
  if (proof != NULL)
    {
      verdicts = cJSON_AddObjectToObject (json, "proof");
      for (IrVerdict v = IR_VERDICT_EXACT; v < IR_N_VERDICTS; v++)
        cJSON_AddNumberToObject (verdicts, ir_verdict_name (v), proof->n[v]);
    }
  if (summary->execution != NULL)
    cJSON_AddItemToObject (json, "execution", cli_execution_json (summary->execution));
  if (summary->what_if != NULL)
    cli_what_if_add_json (json, summary->what_if);
  cli_json_print (json);
}

static void
print_text (const Summary *summary)
{
  const IrModel *model = summary->model;
  const IrPipelineResult *result = summary->result;
  const IrProofSummary *proof = summary->proof;
  g_autoptr (GArray) totals = pass_totals (model);

  cli_print ("%u -> %u nodes in %u steps, %u rounds, %.1f ms\n", summary->nodes_before,
             ir_model_n_counted_nodes (model), result->n_steps, result->iterations, result->ms);
  for (guint i = 0; i < totals->len; i++)
    {
      const PassTotal *total = &g_array_index (totals, PassTotal, i);
      cli_print ("  %-32s %5u steps %9.2f ms\n", total->pass, total->steps, total->ms);
    }
  if (summary->timing)
    print_rules (summary);
  if (proof != NULL)
    cli_print ("proof: %u exact, %u rounding, %u broken, %u skipped\n", proof->n[IR_VERDICT_EXACT],
               proof->n[IR_VERDICT_ROUNDING], proof->n[IR_VERDICT_BROKEN],
               proof->n[IR_VERDICT_SKIPPED]);
  if (summary->execution != NULL)
    cli_execution_print (summary->execution, FALSE);
  if (summary->what_if != NULL)
    cli_what_if_print (summary->what_if);
}

static void
print_broken (const IrModel *model)
{
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);
      if (step->proof.verdict == IR_VERDICT_BROKEN)
        cli_printerr ("step %u (%s, %s) is broken: max abs %.3g, max rel %.3g%s%s\n", i,
                      ir_history_pass_of (model, i), step->rule, step->proof.max_abs,
                      step->proof.max_rel, step->proof.text != NULL ? "; " : "",
                      step->proof.text != NULL ? step->proof.text : "");
    }
}

/* Why steps were skipped, each reason once. */
static void
print_skipped (const IrModel *model)
{
  g_autoptr (GHashTable) counts = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) reasons = g_ptr_array_new ();

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrProof *proof = &ir_history_step (model, i)->proof;
      gpointer reason = (gpointer) proof->text; /* interned */
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, reason));

      if (proof->verdict != IR_VERDICT_SKIPPED || reason == NULL)
        continue;
      if (n == 0)
        g_ptr_array_add (reasons, reason);
      g_hash_table_insert (counts, reason, GUINT_TO_POINTER (n + 1));
    }
  for (guint i = 0; i < reasons->len; i++)
    {
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, reasons->pdata[i]));

      cli_printerr ("%u step%s skipped: %s\n", n, n == 1 ? " is" : "s are",
                    (const char *) reasons->pdata[i]);
    }
}

static gboolean
save_model (Cli *cli, IrModel *model, GError **error)
{
  const Options *options = cli->options;

  return options->output == NULL || cli_save_model (cli, model, options->output, NULL, error);
}

/* What nobody could know of the original: a branch that the given sizes make impossible is found to
 * be so when shapes in it are folded. Other runtimes may refuse a file for what never runs. */
static void
print_found (const IrModel *model, const GPtrArray *before)
{
  g_autoptr (GPtrArray) found = ir_problems_new ();

  ir_verify_nodes (model, found);
  if (ir_problems_count (found, IR_SEVERITY_ERROR) <= ir_problems_count (before, IR_SEVERITY_ERROR))
    return;
  cli_print_problems (found, IR_SEVERITY_ERROR);
  cli_printerr ("These were not seen before the passes ran. What is there never ran, or would have "
                "failed; other runtimes may refuse the file for it.\n");
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  IrPipelineResult result = { 0 };
  IrProofSummary proof = { 0 };
  g_autoptr (GArray) rules = g_array_new (FALSE, FALSE, sizeof (IrRuleTotal));
  g_autoptr (IrModel) original = NULL;
  g_autoptr (IrExecutionCheck) execution = NULL;
  g_auto (CliWhatIf) what_if = { 0 };
  CliModelOptions plain = options->model;
  CliStatus status;
  guint nodes_before;

  plain.pipeline = plain.passes = NULL;
  plain.set = NULL; /* opened as it is; the passes run here */
  if (!cli_model_open (cli, &plain, cli->args[0], FALSE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  nodes_before = ir_model_n_counted_nodes (opened.model);
  original = options->compare ? ir_model_clone (opened.model) : NULL;
  options->model.rule_totals = rules;
  if (!cli_run_pipeline (cli, &options->model, opened.model, &result, &error) ||
      (options->prove && !cli_prove (cli, &options->model, opened.model, &proof, &error)) ||
      (options->prove &&
       (execution = cli_check_execution (cli, &options->model, opened.model, &error)) == NULL) ||
      (options->compare &&
       !cli_what_if (cli, &options->model, original, opened.model, &what_if, &error)) ||
      !save_model (cli, opened.model, &error))
    return cli_fail (cli_status_of (error), error);
  Summary summary = {
    .model = opened.model,
    .nodes_before = nodes_before,
    .result = &result,
    .proof = options->prove ? &proof : NULL,
    .execution = execution,
    .what_if = options->compare ? &what_if : NULL,
    .rules = rules,
    .timing = options->timing,
  };
  (cli->json ? print_json : print_text) (&summary);
  print_broken (opened.model);
  print_skipped (opened.model);
  print_found (opened.model, opened.problems);
  return proof.n[IR_VERDICT_BROKEN] > 0 || (execution != NULL && execution->first > 0) ? CLI_NO
                                                                                       : CLI_OK;
}

const CliCommand cli_command_optimize = {
  .name = "optimize",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "Run optimization passes, prove each rewrite, write the optimized model",
  .doc =
      "With --prove the exit status is 1 if some step is broken, or a node of the result is beyond its\n"
      "tolerance; nodes of more than 2 GFLOP, or beyond 25 GFLOP together, are judged by another kernel,\n"
      "or not. OUT carries in its metadata which\n"
      "nodes and values of FILE its nodes stand for, and by which rules: trace-node and diff read it.\n"
      "--skip takes what irscope steps --at N prints as key, a rule, or a pass, and replays the rest;\n"
      "with --compare the result stands beside the one that has everything.",
  .min_args = 1,
  .max_args = 1,
  .options = optimize_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
