/* Every operator with odd numbers of inputs and outputs, empty names and broken initializers,
 * through what is behind every command. A crash, a warning of GLib and a case that does not end are
 * findings.
 *
 *   test-sweep [--cases N] [--case NUMBER]: N of them, spread over all; without, all; or just one
 */
#include "config.h"

#include "core/exec/exec.h"
#include "core/exec/schedule/kernel-choice.h"
#include "core/io/io.h"
#include "core/diff/diff.h"
#include "core/ir/edit.h"
#include "core/ir/history.h"
#include "core/op/verify.h"
#include "core/layout/charts.h"
#include "core/op/check.h"
#include "core/op/infer.h"
#include "core/render/render.h"
#include "passes/pipeline/pipeline.h"
#include "passes/debug/why.h"
#include "tests/fuzz/child.h"
#include "tests/fuzz/sweep-case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_S     20   /* of one case */
#define MAX_CASES   1000 /* of one child: what oneDNN and the context keep is let go with it */
#define MAX_REPORTS 20

typedef struct
{
  ChildState child;
  guint64 n_stopped, n_ran, n_steps; /* nodes that were refused, runs that came through, steps */
} State;

typedef struct
{
  State *state;
  GArray *cases;
  guint64 n, stride, first;
} Sweep;

/* What is done is written down before, so that a crash says where it was. */
static void
enter (Sweep *sweep, const SweepCase *one, const char *stage)
{
  g_autofree char *what = sweep_case_to_string (one);
  g_snprintf (sweep->state->child.message, sizeof sweep->state->child.message, "%s: %s", stage,
              what);
}

static gboolean
fail (Sweep *sweep, const SweepCase *one, const char *format, const char *detail)
{
  g_autofree char *text = g_strdup_printf (format, detail);
  enter (sweep, one, text);
  return FALSE;
}

/* -- what is known of nodes -- */

static gboolean
has_problem (const GPtrArray *problems, const IrNode *node)
{
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      if (problem->severity == IR_SEVERITY_ERROR && problem->node == node->id)
        return TRUE;
    }
  return FALSE;
}

/* What is kept of nodes is what a check finds now. */
static gboolean
kept_is_right (Sweep *sweep, const SweepCase *one, const IrModel *model)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      if (node->state == IR_STATE_LIVE && ir_node_is_valid (node) != ir_node_check (node, NULL))
        return fail (sweep, one, "what is kept of %s is out of date", node->op_type);
    }
  return TRUE;
}

static gboolean
check (Sweep *sweep, const SweepCase *one, IrModel *model)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GHashTable) contents = NULL;
  gboolean partial;

  enter (sweep, one, "check");
  ir_verify_structure (model, problems);
  ir_verify_nodes (model, problems);
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      if (node->state != IR_STATE_LIVE || ir_node_is_valid (node))
        continue;
      sweep->state->n_stopped++;
      if (!has_problem (problems, node))
        return fail (sweep, one, "%s does not fit its operator, which is no problem",
                     node->op_type);
    }
  ir_infer_check (model, problems);
  contents = ir_infer_contents (model);
  enter (sweep, one, "info");
  ir_cost_model (model, &partial);
  ir_model_n_counted_nodes (model);
  return TRUE;
}

/* -- running -- */

static gboolean
plan (Sweep *sweep, const SweepCase *one, IrModel *model, const IrBackend *backend)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrSchedule) schedule = NULL;
  g_autoptr (IrMemPlan) memplan = NULL;

  enter (sweep, one, "kernels");
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      const char *why;
      g_auto (GStrv) names = ir_kernel_choices (backend, node);
      ir_kernel_taken (backend, node, &why);
      ir_kernel_is_choice (backend, node, "none");
    }
  enter (sweep, one, "schedule");
  schedule = ir_schedule_new (model, backend, 2, &error);
  if (schedule == NULL)
    return error != NULL || fail (sweep, one, "no schedule, and no reason%s", "");
  enter (sweep, one, "memory");
  memplan = ir_mem_plan_new (model, schedule, 64);
  return TRUE;
}

static gboolean
run (Sweep *sweep, const SweepCase *one, IrModel *model, const IrBackend *backend, gboolean partial)
{
  IrRunOptions options = { .backend = backend,
                           .n_threads = 1,
                           .partial = partial,
                           .capture = IR_CAPTURE_ALL,
                           .memory_limit = 64 << 20,
                           .output_limit = 8 << 20 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrExecutable) executable = NULL;
  g_autoptr (IrRun) result = NULL, before = NULL;
  const IrValue *good = ir_graph_find_value (model->main, "good");

  enter (sweep, one, partial ? "run" : "run as a whole");
  inputs = ir_random_inputs (model, 1, NULL, &error);
  executable = inputs != NULL ? ir_executable_new (model, &options, &error) : NULL;
  if (executable != NULL)
    result = ir_executable_run (executable, inputs, NULL, &before, &error);
  sweep->state->n_ran += result != NULL;
  if (result == NULL && error == NULL)
    return fail (sweep, one, "no run, and no reason%s", "");
  if (result == NULL)
    return !partial || before != NULL || inputs == NULL ||
           fail (sweep, one, "nothing can be had: %s", error->message);
  for (guint i = 1; i < result->n_values; i++)
    ir_run_value (result, i);
  return ir_run_value (result, good->id) != NULL || fail (sweep, one, "%s is missing", good->name);
}

/* -- rewriting -- */

static gboolean
prove (Sweep *sweep, const SweepCase *one, IrModel *model)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
  const IrProverOptions how = { .n_threads = 1 };
  IrProofSummary summary;

  enter (sweep, one, "proofs");
  if (inputs == NULL)
    return TRUE;
  g_autoptr (IrProver) prover = ir_prover_new_with (model, inputs, NULL, &how, NULL, &error);
  if (prover != NULL)
    ir_prover_prove_all (prover, &summary, NULL, NULL, NULL, NULL);
  return TRUE;
}

static gboolean
optimize (Sweep *sweep, const SweepCase *one, IrModel *model, const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load (name, &error);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrPipelineOptions options = { .max_class = IR_CLASS_UNSAFE, .record_refusals = TRUE };
  IrPipelineResult result = { 0 };

  g_assert_no_error (error);
  enter (sweep, one, name);
  if (!ir_pipeline_run (model, pipeline, &options, &result, NULL, &error) && error == NULL)
    return fail (sweep, one, "no rewriting, and no reason%s", "");
  sweep->state->n_steps += result.n_steps;
  if (!kept_is_right (sweep, one, model))
    return FALSE;
  if (result.n_steps > 0 && !prove (sweep, one, model))
    return FALSE;
  enter (sweep, one, "steps");
  for (guint step = 0; step <= ir_history_n_steps (model); step++)
    {
      ir_history_goto (model, step);
      if (!kept_is_right (sweep, one, model))
        return FALSE;
    }
  ir_history_goto (model, 0);
  return kept_is_right (sweep, one, model);
}

static void
ask_why (Sweep *sweep, const SweepCase *one, IrModel *model)
{
  enter (sweep, one, "why");
  for (guint i = 1; i < model->nodes->len; i++)
    if (ir_model_live_node (model, i) != NULL)
      g_ptr_array_unref (ir_why_rules (model, i, IR_CLASS_UNSAFE));
}

/* -- showing and writing -- */

static void
render (Sweep *sweep, const SweepCase *one, IrModel *model)
{
  g_autoptr (IrModel) other = ir_model_clone (model);
  g_autoptr (IrScene) scene = NULL, both = NULL;
  g_autoptr (IrDiff) diff = NULL;
  IrRenderOptions options = { 0 };

  enter (sweep, one, "render");
  scene = ir_scene_new_for_model (model, NULL, NULL, NULL);
  if (scene != NULL)
    g_bytes_unref (ir_render_svg (scene, &options, NULL));
  g_free (options.note);
  enter (sweep, one, "diff");
  diff = ir_diff_new (model, other, FALSE);
  g_ptr_array_unref (ir_diff_groups (diff));
  both = ir_scene_new_for_diff (diff, NULL, NULL, NULL);
}

static void
convert (Sweep *sweep, const SweepCase *one, IrModel *model)
{
  g_autofree char *text = NULL, *json = NULL, *dot = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (IrModel) again = NULL, over = NULL;

  enter (sweep, one, "convert");
  text = ir_text_write (model);
  json = ir_json_write (model);
  dot = ir_dot_write (model);
  bytes = ir_onnx_write_bytes (model, NULL);
  over = ir_text_read (text, -1, problems, NULL);
  again = bytes != NULL ? ir_onnx_read_bytes (bytes, NULL, problems, NULL) : NULL;
  if (again != NULL)
    plan (sweep, one, again, ir_backend_find ("cpu"));
}

/* -- cases -- */

static gboolean
try_case (Sweep *sweep, const SweepCase *one)
{
  const IrBackend *cpu = ir_backend_find ("cpu"), *ref = ir_backend_find ("ref");
  g_autofree char *json = sweep_case_to_json (one);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = NULL;

  enter (sweep, one, "read");
  model = ir_json_read (json, -1, problems, &error);
  if (model == NULL)
    return fail (sweep, one, "cannot be read: %s", error->message);
  if (!check (sweep, one, model) || !plan (sweep, one, model, cpu) ||
      !plan (sweep, one, model, ref) || !run (sweep, one, model, cpu, TRUE) ||
      !run (sweep, one, model, ref, TRUE) || !run (sweep, one, model, cpu, FALSE))
    return FALSE;
  render (sweep, one, model);
  convert (sweep, one, model);
  ask_why (sweep, one, model);
  return optimize (sweep, one, model, "fast-math") && optimize (sweep, one, model, "default");
}

static gboolean
goes_on (gpointer data, guint n_findings)
{
  Sweep *sweep = data;
  return sweep->state->child.position < sweep->n && n_findings < MAX_REPORTS;
}

static int
trials (gpointer data)
{
  Sweep *sweep = data;
  State *state = sweep->state;
  guint64 end = MIN (sweep->n, state->child.position + MAX_CASES);

  g_log_set_always_fatal (G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
  for (; state->child.position < end; state->child.position++)
    {
      guint64 number = (sweep->first + state->child.position * sweep->stride) % sweep->cases->len;
      alarm (LIMIT_S);
      if (!try_case (sweep, &g_array_index (sweep->cases, SweepCase, number)))
        return 1;
    }
  alarm (0);
  state->child.ended = TRUE;
  return 0;
}

static void
report (gpointer data, int status)
{
  Sweep *sweep = data;
  guint64 number = (sweep->first + sweep->state->child.position * sweep->stride) %
                   sweep->cases->len;

  fprintf (stderr, "\n--case %" G_GUINT64_FORMAT ": %s%s\n", number, sweep->state->child.message,
           child_succeeded (status)                               ? ""
           : WIFSIGNALED (status) && WTERMSIG (status) == SIGALRM ? " (does not end)"
           : WIFSIGNALED (status)                                 ? " (crash, or a warning of GLib)"
                                                                  : "");
}

static gint64 n_cases, only = -1;

static void
test_sweep (void)
{
  g_autoptr (GArray) cases = sweep_cases ();
  Sweep sweep = {
    .state = child_share (sizeof (State)), .cases = cases, .n = cases->len, .stride = 1
  };
  ChildLoop loop = { .state = &sweep.state->child,
                     .data = &sweep,
                     .goes_on = goes_on,
                     .trials = trials,
                     .report = report };

  /* A prime that all numbers are reached with, and that goes from family to family. */
  if (n_cases > 0 && (guint64) n_cases < sweep.n)
    sweep.n = (guint64) n_cases, sweep.stride = 7919;
  if (only >= 0)
    sweep.n = 1, sweep.first = (guint64) only;
  guint n_findings = child_loop (&loop);
  g_test_message (
      "%" G_GUINT64_FORMAT " of %u cases: %" G_GUINT64_FORMAT " nodes refused, %" G_GUINT64_FORMAT
      " runs, %" G_GUINT64_FORMAT " steps of passes",
      sweep.n, cases->len, sweep.state->n_stopped, sweep.state->n_ran, sweep.state->n_steps);
  g_assert_cmpuint (n_findings, ==, 0);
}

int
main (int argc, char **argv)
{
  const GOptionEntry entries[] = {
    { "cases", 0, 0, G_OPTION_ARG_INT64, &n_cases, "So many, spread over all", "N" },
    { "case", 0, 0, G_OPTION_ARG_INT64, &only, "Just this one", "NUMBER" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_ignore_unknown_options (context, TRUE);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 2;
    }
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sweep", test_sweep);
  return g_test_run ();
}
