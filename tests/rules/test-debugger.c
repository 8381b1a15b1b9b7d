/* The debugger's parts that need no window: scores of steps, breakpoints, what-if. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include "core/io/io.h"
#include "core/op/infer.h"
#include "passes/debug/breakpoint.h"
#include "passes/debug/what-if.h"

#include <math.h>
#include <string.h>

static const struct
{
  const char *text;
  gboolean ok;
} texts[] = {
  { "rule=fold-*", TRUE },    { " op = Conv ", TRUE },
  { "node=#12", TRUE },       { "verdict=broken", TRUE },
  { "nodes<50", TRUE },       { "memory >= 1.5MiB", TRUE },
  { "flops>1e9", TRUE },      { "bytes<=3 kB", TRUE },
  { "pass=fuse-bias", TRUE }, { "", FALSE },
  { "rule", FALSE },          { "rule=", FALSE },
  { "verdict=good", FALSE },  { "colour=red", FALSE },
  { "nodes=5", FALSE },       { "nodes<many", FALSE },
  { "depth>3", FALSE },       { "nodes<5 apples", FALSE },
  { "node=#", FALSE },        { "nodes<", FALSE },
  { "nodes<nan", FALSE },
};

static void
test_texts (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrBreakpoint) breakpoint = ir_breakpoint_parse (texts[i].text, &error);

      g_test_message ("%s: %s", texts[i].text, error != NULL ? error->message : "is read");
      g_assert_true ((breakpoint != NULL) == texts[i].ok);
      g_assert_true ((error == NULL) == texts[i].ok);
    }
  for (const char *const *example = ir_breakpoint_examples (); *example != NULL; example += 2)
    {
      g_autoptr (IrBreakpoint) breakpoint = ir_breakpoint_parse (*example, NULL);

      g_assert_nonnull (breakpoint);
      g_assert_nonnull (example[1]);
    }
}

/* Identity Identity Abs Abs: what the passes below take away, one by one. */
static const char model_text[] =
    "<ir_version: 8, opset_import: [\"\": 17]> g (float[2,4] x) => (float[2,4] y)\n"
    "<float[2,4] a, float[2,4] b, float[2,4] c, float[2,4] d> {\n"
    "  a = Identity (x)  b = Identity (a)  c = Abs (b)  d = Abs (c)  y = Neg (d) }";

static const IrRule identity_rules[] = {
  { "drop-identity", "(Identity ?x)", "?x", IR_CLASS_EXACT, "Right." },
  { NULL },
};
static const IrRule abs_rules[] = {
  { "merge-abs", "(Abs (Abs ?x))", "(Abs ?x)", IR_CLASS_EXACT, "Right." },
  { NULL },
};
static const IrPass passes[] = {
  { .name = "drop", .title = "Drop", .rules = identity_rules },
  { .name = "merge", .title = "Merge", .rules = abs_rules },
};

static IrModel *
optimized (const char *const *skips)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_text_read (model_text, -1, problems, &error);
  g_autoptr (IrPipeline) pipeline = test_pipeline (&passes[0]);
  IrPolicy policy = { ir_policy_skip_named, (gpointer) skips };
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                .policy = skips != NULL ? &policy : NULL };

  g_assert_no_error (error);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  g_clear_pointer (&edit, ir_edit_free);
  g_ptr_array_add (pipeline->passes, (gpointer) &passes[1]);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_assert_no_error (error);
  return model;
}

static IrTrial *
trial_of (IrModel *model)
{
  g_autoptr (IrModel) start = ir_history_snapshot (model, 0);
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = ir_random_inputs (start, 1, NULL, &error);

  g_assert_no_error (error);
  return ir_trial_new (model, inputs, ir_backend_find ("ref"), 1, NULL);
}

static void
test_scores (void)
{
  g_autoptr (IrModel) model = optimized (NULL);
  g_autoptr (IrTrial) trial = trial_of (model);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrScoreboard) board = ir_scoreboard_new (trial, NULL, NULL, &error);
  const double nodes[] = { 5, 4, 3, 2 };

  g_assert_no_error (error);
  g_assert_cmpuint (board->n_steps, ==, 3);
  for (guint i = 0; i <= 3; i++)
    g_assert_cmpfloat (ir_scoreboard_value (board, IR_SCORE_NODES, i), ==, nodes[i]);
  /* Abs and Neg touch 8 floats each way: 2 nodes of 2 * 32 bytes. */
  g_assert_cmpfloat (ir_scoreboard_value (board, IR_SCORE_BYTES, 3), ==, 128);
  g_assert_cmpfloat (ir_scoreboard_change (board, IR_SCORE_NODES, 2), ==, -1);
  g_assert_cmpfloat (ir_scoreboard_change (board, IR_SCORE_NODES, 0), ==, 0);
  g_assert_null (board->problem);
  g_assert_false (isnan (ir_scoreboard_value (board, IR_SCORE_PEAK, 3)));
  for (guint i = 0; i < IR_N_SCORES; i++)
    for (guint step = 0; step <= 3; step++)
      g_assert_false (ir_scoreboard_is_spike (board, i, step));
  board->values[IR_SCORE_FLOPS][1] = 100;
  board->values[IR_SCORE_FLOPS][2] = 102;
  board->values[IR_SCORE_FLOPS][3] = 105;
  g_assert_false (ir_scoreboard_is_spike (board, IR_SCORE_FLOPS, 2));
  g_assert_true (ir_scoreboard_is_spike (board, IR_SCORE_FLOPS, 3));
  board->values[IR_SCORE_FLOPS][2] = NAN;
  g_assert_false (ir_scoreboard_is_spike (board, IR_SCORE_FLOPS, 3));
}

/* What is added by hand makes a graph dearer, and is no rise that one looks for. */
static void
test_scores_of_edits (void)
{
  g_autoptr (IrModel) model = optimized (NULL);
  IrEdit *edit = ir_edit_new (model);
  IrValue *x = ir_graph_find_value (model->main, "x");

  ir_edit_begin_pass (edit, "edit");
  ir_edit_begin_step (edit, "add", IR_CLASS_EDIT, 0);
  ir_edit_add_node (edit, model->main, "Exp", "", "more", 1, &x, 1);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  ir_edit_end_step (edit);
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  g_autoptr (IrTrial) trial = trial_of (model);
  g_autoptr (IrScoreboard) board = ir_scoreboard_new (trial, NULL, NULL, NULL);

  g_assert_cmpuint (board->n_steps, ==, 4);
  g_assert_cmpfloat (ir_scoreboard_change (board, IR_SCORE_NODES, 4), ==, 1);
  for (guint i = 0; i < IR_N_SCORES; i++)
    g_assert_false (ir_scoreboard_is_spike (board, i, 4));
}

/* A breakpoint at a node stops at every step that has changed it, whatever else the step did. */
static void
test_every_touched_node (void)
{
  g_autoptr (IrModel) model = optimized (NULL);
  g_autoptr (IrTrial) trial = trial_of (model);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrScoreboard) board = ir_scoreboard_new (trial, NULL, NULL, &error);
  guint n_tried = 0;

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);
      for (guint k = 0; k < step->n_records; k++)
        {
          const IrRecord *record = ir_history_record (model, step->first_record + k);
          if (record->kind != IR_RECORD_NODE_STATE)
            continue;
          g_autofree char *text = g_strdup_printf ("node=#%u", record->subject);
          g_autoptr (GPtrArray)
              list = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_breakpoint_free);
          const IrBreakpoint *hit;
          g_ptr_array_add (list, ir_breakpoint_parse (text, NULL));
          g_assert_cmpuint (ir_breakpoints_run (list, model, board, i - 1, TRUE, &hit), ==, i);
          n_tried++;
        }
    }
  g_assert_cmpuint (n_tried, >=, 4);
}

/* -- peaks -- */

static const char *const peak_texts[] = {
  "(float[N,3,12,12] x, float[16,3,3,3] W, float[16] B, float[16] S, float[16] T, float[16] M, "
  "float[16] V) => (float[N,K] y) { a = Conv <pads = [1, 1, 1, 1]> (x, W, B) "
  "b = BatchNormalization (a, S, T, M, V)  c = Relu (b)  d = Conv <pads = [1, 1, 1, 1]> (x, W, B) "
  "e = Add (c, d)  f = Relu (e)  g = Identity (f)  h = Transpose <perm = [0, 2, 3, 1]> (g) "
  "i = Transpose <perm = [0, 3, 1, 2]> (h)  y = Flatten <axis = 1> (i) }",
  "(float[N,8,32] x, float[32,32] W, float[32] B) => (float[N,8,32] y) { m = MatMul (x, W) "
  "a = Add (B, m)  s = Shape (x)  r = Reshape (a, s)  i = Identity (r)  t = Tanh (i) "
  "y = Add (t, x) }",
};

/* On a copy of its own. */
static guint64
peak_anew (IrTrial *trial, GHashTable *inputs, const IrBackend *backend, guint step)
{
  g_autoptr (IrModel) snapshot = ir_history_snapshot (ir_trial_history (trial), step);
  g_autoptr (IrModel) copy = ir_model_clone (snapshot);
  IrEdit *edit = ir_edit_new_import (copy);
  g_autoptr (IrSchedule) schedule = NULL;
  g_autoptr (IrMemPlan) plan = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < ir_graph_n_inputs (copy->main); i++)
    {
      IrValue *input = ir_graph_input (copy->main, i);
      const IrTensor *tensor = g_hash_table_lookup (inputs, GUINT_TO_POINTER (input->id));

      ir_infer_bind_input (edit, input, ir_tensor_rank (tensor), ir_tensor_dims (tensor));
    }
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  ir_edit_free (edit);
  schedule = ir_schedule_new (copy, backend, 1, &error);
  g_assert_no_error (error);
  plan = ir_mem_plan_new (copy, schedule, 64);
  return plan->peak_bytes;
}

static guint64
peak_of (IrTrial *trial, guint step)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrMemPlan) plan = ir_trial_plan (trial, step, &error);

  g_assert_no_error (error);
  return plan->peak_bytes;
}

/* A trial plans on a copy that travels: whatever step was planned before, the peak is that of a
 * copy of the step alone, and the sizes of the inputs are not left behind in any type. */
static void
test_peaks (gconstpointer text)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("default", NULL);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING };
  const IrBackend *backend = ir_backend_find ("cpu");
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrTrial) trial = NULL;
  g_autoptr (GError) error = NULL;
  guint n;

  test_model_randomize (model, rand);
  inputs = test_inputs (model, rand, FALSE);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  n = ir_history_n_steps (model);
  g_assert_cmpuint (n, >, 2);
  trial = ir_trial_new (model, inputs, backend, 1, NULL);
  for (guint i = 0; i < 4 * n; i++)
    {
      guint step = i <= n ? i : (guint) g_rand_int_range (rand, 0, (gint32) n + 1);

      g_assert_cmpuint (peak_of (trial, step), ==, peak_anew (trial, inputs, backend, step));
      g_assert_cmpuint (peak_of (trial, step), >, 0);
    }
}

static void
test_score_texts (void)
{
  static const struct
  {
    IrScore score;
    double before, after;
    const char *text;
  } changes[] = {
    { IR_SCORE_NODES, 12, 14, "+2" },        { IR_SCORE_NODES, 14, 12, "−2" },
    { IR_SCORE_BYTES, 0, 1536, "+1.5 KiB" }, { IR_SCORE_FLOPS, 2e6, 0, "−2.0 M" },
    { IR_SCORE_PEAK, NAN, 5, "?" },          { IR_SCORE_PEAK, 5, 5, "" },
    { IR_SCORE_PEAK, 0, 1000, "+1000 B" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      g_autofree char *text = ir_score_change_text (changes[i].score, changes[i].before,
                                                    changes[i].after);

      g_assert_cmpstr (text, ==, changes[i].text);
    }
}

static guint
run_from (const char *text, IrModel *model, const IrScoreboard *board, guint from, gboolean forward)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_breakpoint_free);
  const IrBreakpoint *hit;
  guint step;

  g_ptr_array_add (list, ir_breakpoint_parse (text, NULL));
  step = ir_breakpoints_run (list, model, board, from, forward, &hit);
  g_assert_true (hit == NULL || hit == list->pdata[0]);
  return hit != NULL ? step : G_MAXUINT;
}

static void
test_runs (void)
{
  g_autoptr (IrModel) model = optimized (NULL);
  g_autoptr (IrTrial) trial = trial_of (model);
  g_autoptr (IrScoreboard) board = ir_scoreboard_new (trial, NULL, NULL, NULL);
  const IrProof broken = { .verdict = IR_VERDICT_BROKEN };

  g_assert_cmpuint (run_from ("rule=drop-*", model, NULL, 0, TRUE), ==, 1);
  g_assert_cmpuint (run_from ("rule=drop-*", model, NULL, 1, TRUE), ==, 2);
  g_assert_cmpuint (run_from ("rule=drop-*", model, NULL, 2, TRUE), ==, G_MAXUINT);
  g_assert_cmpuint (run_from ("rule=drop-*", model, NULL, 3, FALSE), ==, 2);
  g_assert_cmpuint (run_from ("rule=drop-*", model, NULL, 1, FALSE), ==, G_MAXUINT);
  g_assert_cmpuint (run_from ("rule=drop-*", model, NULL, 0, FALSE), ==, G_MAXUINT);
  g_assert_cmpuint (run_from ("pass=merge", model, NULL, 0, TRUE), ==, 3);
  g_assert_cmpuint (run_from ("op=Abs", model, NULL, 0, TRUE), ==, 3);
  g_assert_cmpuint (run_from ("op=Neg", model, NULL, 0, TRUE), ==, G_MAXUINT);
  g_assert_cmpuint (run_from ("nodes<=3", model, board, 0, TRUE), ==, 2);
  g_assert_cmpuint (run_from ("nodes<=3", model, board, 2, TRUE), ==, G_MAXUINT);
  g_assert_cmpuint (run_from ("nodes<=3", model, NULL, 0, TRUE), ==, G_MAXUINT);
  g_assert_cmpuint (run_from ("verdict=broken", model, NULL, 0, TRUE), ==, G_MAXUINT);
  ir_history_set_proof (model, 2, &broken);
  g_assert_cmpuint (run_from ("verdict=broken", model, NULL, 0, TRUE), ==, 2);
}

static void
test_node (void)
{
  g_autoptr (IrModel) model = optimized (NULL);
  const IrStep *step = ir_history_step (model, 2);
  g_autofree char *text = g_strdup_printf ("node=#%u", step->anchor);

  g_assert_cmpuint (run_from (text, model, NULL, 1, TRUE), ==, 2);
}

static void
test_what_if (void)
{
  const char *const skips[] = { "merge-abs", NULL };
  g_autoptr (IrModel) with = optimized (NULL), without = optimized (skips);
  g_autoptr (IrModel) start = ir_history_snapshot (with, 0);
  g_autoptr (GHashTable) inputs = ir_random_inputs (start, 1, NULL, NULL);
  g_autoptr (IrWhatIf)
      what_if = ir_what_if_new (with, without, inputs, ir_backend_find ("ref"), NULL, TRUE, NULL);

  g_assert_cmpuint (what_if->n_steps[IR_WITH], ==, 3);
  g_assert_cmpuint (what_if->n_steps[IR_WITHOUT], ==, 2);
  g_assert_cmpfloat (what_if->scores[IR_WITH][IR_SCORE_NODES], ==, 2);
  g_assert_cmpfloat (what_if->scores[IR_WITHOUT][IR_SCORE_NODES], ==, 3);
  g_assert_true (what_if->ran);
  g_assert_cmpfloat (what_if->between.max_abs, ==, 0);
  g_assert_null (what_if->worst);
}

static void
test_key (void)
{
  g_autoptr (IrModel) with = optimized (NULL);
  g_autofree char *key = ir_step_stable_key (with, 1);
  const char *const skips[] = { key, NULL };
  g_autoptr (IrModel) without = optimized (skips);

  g_assert_cmpuint (ir_history_n_steps (without), ==, 2);
  for (guint i = 1; i <= 2; i++)
    {
      g_autofree char *other = ir_step_stable_key (without, i);

      g_assert_cmpstr (other, !=, key);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/breakpoint/texts are read or refused with a reason", test_texts);
  g_test_add_func ("/breakpoint/runs stop at the nearest step, forth and back", test_runs);
  g_test_add_func ("/breakpoint/a node is found by its id", test_node);
  g_test_add_func ("/breakpoint/every node that a step changes is met", test_every_touched_node);
  g_test_add_func ("/scoreboard/every step has its costs, rises are spikes", test_scores);
  g_test_add_func ("/debugger/scores of what is done by hand", test_scores_of_edits);
  g_test_add_data_func ("/scoreboard/peaks are those of a copy of the step: convolutions",
                        peak_texts[0], test_peaks);
  g_test_add_data_func ("/scoreboard/peaks are those of a copy of the step: sequences",
                        peak_texts[1], test_peaks);
  g_test_add_func ("/scoreboard/changes are told with their unit", test_score_texts);
  g_test_add_func ("/what-if/both results stand beside each other", test_what_if);
  g_test_add_func ("/what-if/one application is left out by its stable key", test_key);
  return g_test_run ();
}
