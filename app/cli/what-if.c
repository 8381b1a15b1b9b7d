#include "config.h"

#include "app/cli/what-if.h"

#include "app/cli/output.h"
#include "core/diff/diff.h"

#include <math.h>

static const char *const sides[IR_N_RESULTS] = { "with", "without" };

void
cli_what_if_clear (CliWhatIf *what_if)
{
  g_clear_pointer (&what_if->with, ir_model_unref);
  g_clear_pointer (&what_if->numbers, ir_what_if_free);
}

static void
compare_graphs (CliWhatIf *result, IrModel *without)
{
  g_autoptr (IrModel) a = ir_history_snapshot (result->with, ir_history_n_steps (result->with)),
                      b = ir_history_snapshot (without, ir_history_n_steps (without));
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);

  result->n_same = diff->n_nodes[IR_DIFF_SAME];
  result->n_changed = diff->n_nodes[IR_DIFF_CHANGED];
  result->n_added = diff->n_nodes[IR_DIFF_ADDED];
  result->n_removed = diff->n_nodes[IR_DIFF_REMOVED];
}

gboolean
cli_what_if (Cli *cli,
             const CliModelOptions *options,
             IrModel *original,
             IrModel *without,
             CliWhatIf *result,
             GError **error)
{
  CliModelOptions everything = *options;
  const IrBackend *backend = cli_backend (options, error);
  g_autoptr (GHashTable) inputs = NULL;
  IrPipelineResult done;
  IrRunLimits limits;

  everything.skip = NULL;
  if (backend == NULL || !cli_limits (options, &limits, error))
    return FALSE;
  inputs = cli_inputs_within (cli, options, original, limits.memory_limit, error);
  if (inputs == NULL)
    return FALSE;
  result->with = ir_model_clone (original);
  if (!cli_run_pipeline (cli, &everything, result->with, &done, error))
    return FALSE;
  result->n_steps[IR_WITH] = ir_history_n_steps (result->with);
  result->n_steps[IR_WITHOUT] = ir_history_n_steps (without);
  result->numbers = ir_what_if_new (result->with, without, inputs, backend, &limits, TRUE,
                                    cli->cancellable);
  compare_graphs (result, without);
  return TRUE;
}

static void
add_side (cJSON *json, const CliWhatIf *what_if, IrResult side)
{
  const IrWhatIf *numbers = what_if->numbers;
  cJSON *object = cJSON_AddObjectToObject (json, sides[side]);

  cJSON_AddNumberToObject (object, "steps", what_if->n_steps[side]);
  for (IrScore score = 0; score < IR_N_SCORES; score++)
    cli_json_add_double (object, ir_score_name (score), numbers->scores[side][score]);
  if (!numbers->ran)
    return;
  cli_json_add_double (object, "run_ms", numbers->run[side].median_ms);
  cli_json_add_double (object, "run_min_ms", numbers->run[side].min_ms);
  cli_json_add_double (object, "run_max_ms", numbers->run[side].max_ms);
  cli_json_add_double (object, "max_abs", numbers->from_start[side].max_abs);
  cli_json_add_double (object, "max_rel", numbers->from_start[side].max_rel);
}

void
cli_what_if_add_json (cJSON *json, const CliWhatIf *what_if)
{
  cJSON *object = cJSON_AddObjectToObject (json, "what_if"), *part;

  add_side (object, what_if, IR_WITH);
  add_side (object, what_if, IR_WITHOUT);
  part = cJSON_AddObjectToObject (object, "graph");
  cJSON_AddNumberToObject (part, "same", what_if->n_same);
  cJSON_AddNumberToObject (part, "changed", what_if->n_changed);
  cJSON_AddNumberToObject (part, "added", what_if->n_added);
  cJSON_AddNumberToObject (part, "removed", what_if->n_removed);
  if (!what_if->numbers->ran)
    {
      cJSON_AddStringToObject (object, "problem", what_if->numbers->problem);
      return;
    }
  part = cJSON_AddObjectToObject (object, "between");
  cli_json_add_double (part, "max_abs", what_if->numbers->between.max_abs);
  cli_json_add_double (part, "max_rel", what_if->numbers->between.max_rel);
  if (what_if->numbers->worst != NULL)
    cJSON_AddStringToObject (part, "output", what_if->numbers->worst);
}

static void
print_row (const char *title, double with, double without, const char *format)
{
  g_autofree char *a = g_strdup_printf (format, with), *b = g_strdup_printf (format, without);
  g_autofree char *change = g_strdup_printf (format, without - with);

  cli_print ("  %-24s %14s %14s %s%s\n", title, a, b, without >= with ? "+" : "", change);
}

static void
print_score (const IrWhatIf *numbers, IrScore score)
{
  double with = numbers->scores[IR_WITH][score], without = numbers->scores[IR_WITHOUT][score];
  g_autofree char *a = ir_score_text (score, with), *b = ir_score_text (score, without);
  g_autofree char *change = ir_score_change_text (score, with, without);

  cli_print ("  %-24s %14s %14s %s\n", ir_score_title (score), a, b, change);
}

static void
print_time (const IrWhatIf *numbers)
{
  const IrRunTime *with = &numbers->run[IR_WITH], *without = &numbers->run[IR_WITHOUT];

  print_row ("Run, ms", with->median_ms, without->median_ms, "%.3f");
  cli_print ("    of %u runs each, median; with all %.3f to %.3f, with skips %.3f to %.3f\n",
             with->n, with->min_ms, with->max_ms, without->min_ms, without->max_ms);
}

void
cli_what_if_print (const CliWhatIf *what_if)
{
  const IrWhatIf *numbers = what_if->numbers;

  cli_print ("what if:                   %14s %14s change\n", "with all", "with skips");
  print_row ("Steps", what_if->n_steps[IR_WITH], what_if->n_steps[IR_WITHOUT], "%.0f");
  for (IrScore score = 0; score < IR_N_SCORES; score++)
    print_score (numbers, score);
  if (numbers->ran)
    {
      print_time (numbers);
      print_row ("From the original", numbers->from_start[IR_WITH].max_abs,
                 numbers->from_start[IR_WITHOUT].max_abs, "%.3g");
    }
  cli_print ("  graph: %u nodes alike, %u changed, %u more, %u gone\n", what_if->n_same,
             what_if->n_changed, what_if->n_added, what_if->n_removed);
  if (!numbers->ran)
    cli_print ("  not run: %s\n", numbers->problem);
  else if (numbers->worst != NULL)
    cli_print ("  between both: %g at most, in %s\n", numbers->between.max_abs, numbers->worst);
  else
    cli_print ("  between both: all outputs hold the same numbers\n");
}
