/* The session, the views and the window in a real window under Xvfb, driven from inside. */
#include "config.h"

#include "app/gui/window.h"
#include "core/exec/run/capture.h"
#include "core/exec/schedule/kernel-choice.h"
#include "core/io/io.h"
#include "core/ir/reconcile.h"
#include "core/layout/scene.h"
#include "core/op/infer.h"
#include "passes/pipeline/pipeline.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/graph/canvas.h"
#include "views/graph/proxy.h"
#include "views/session/debug.h"
#include "views/session/execution.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/kernels.h"
#include "views/session/records.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/view.h"

#include <glib/gstdio.h>
#include <string.h>

static char *
example (const char *name)
{
  return g_build_filename (IR_SOURCE_DATADIR, "examples", name, NULL);
}

typedef struct
{
  IrSession *session;
  guint n_failed, n_messages;
  char *text;
} Fixture;

static void
on_failed (IrSession *session, const char *title, const char *text, gpointer data)
{
  Fixture *fixture = data;

  fixture->n_failed++;
  g_free (fixture->text);
  fixture->text = g_strconcat (title, ": ", text, NULL);
}

static void
on_message (IrSession *session, const char *text, gpointer data)
{
  Fixture *fixture = data;

  fixture->n_messages++;
}

static void
set_up (Fixture *fixture, gconstpointer name)
{
  fixture->session = ir_session_new ();
  g_signal_connect (fixture->session, "failed", G_CALLBACK (on_failed), fixture);
  g_signal_connect (fixture->session, "message", G_CALLBACK (on_message), fixture);
  if (name != NULL)
    {
      g_autofree char *path = example (name);

      ir_session_open (fixture->session, path);
      wait_for ("the model", is_open_and_idle, fixture->session);
    }
}

static void
tear_down (Fixture *fixture, gconstpointer name)
{
  g_object_unref (fixture->session);
  g_free (fixture->text);
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* -- the session -- */

static void
test_open (Fixture *fixture, gconstpointer data)
{
  const IrFrame *frame = ir_session_get_frame (fixture->session);
  guint n;

  g_assert_cmpstr (ir_session_get_title (fixture->session), ==, "digits.onnx");
  g_assert_cmpuint (frame->from, ==, 0);
  g_assert_cmpuint (frame->to, ==, 0);
  g_assert_true (frame->model->frozen);
  ir_scene_boxes (frame->scene, &n);
  g_assert_cmpuint (n, >, ir_model_n_counted_nodes (frame->model) / 2);
  g_assert_cmpuint (fixture->n_failed, ==, 0);
}

static void
test_open_damaged (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "broken.onnx", NULL);
  IrFrame *before = ir_session_get_frame (fixture->session);

  g_assert_true (g_file_set_contents (path, "\xff\xff\xff\xff\xff\xff\xff", 7, NULL));
  ir_session_open (fixture->session, path);
  wait_for ("the failure", is_idle, fixture->session);
  g_assert_cmpuint (fixture->n_failed, ==, 1);
  g_assert_nonnull (strstr (fixture->text, "broken.onnx"));
  g_assert_true (ir_session_get_frame (fixture->session) == before);
  g_remove (path);
  g_rmdir (dir);
}

static void
test_pipeline (Fixture *fixture, gconstpointer data)
{
  const IrFrame *frame = ir_session_get_frame (fixture->session);
  const guint n_before = ir_model_n_counted_nodes (frame->model);
  guint n_steps;

  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_idle, fixture->session);
  n_steps = ir_session_get_n_steps (fixture->session);
  frame = ir_session_get_frame (fixture->session);
  g_assert_cmpuint (n_steps, >, 5);
  g_assert_cmpuint (frame->to, ==, n_steps);
  g_assert_cmpuint (frame->from, ==, n_steps - 1);
  g_assert_cmpuint (ir_model_n_counted_nodes (frame->model), <, n_before);
  for (guint i = 1; i <= n_steps; i++)
    {
      const IrVerdict verdict = ir_history_step (ir_session_get_history (fixture->session), i)
                                    ->proof.verdict;

      g_assert_cmpint (verdict, !=, IR_VERDICT_NONE);
      g_assert_cmpint (verdict, !=, IR_VERDICT_BROKEN);
    }
}

static void
test_pipeline_again (Fixture *fixture, gconstpointer data)
{
  guint n_steps;

  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_idle, fixture->session);
  n_steps = ir_session_get_n_steps (fixture->session);
  ir_session_goto (fixture->session, 2);
  wait_for ("step 2", is_idle, fixture->session);
  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline again", is_idle, fixture->session);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), ==, n_steps);
}

/* The slider sends many positions; the last one counts, and the frame is never of another step than
 * it says. */
static void
test_burst (Fixture *fixture, gconstpointer data)
{
  guint n_steps;
  const IrFrame *frame;

  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_idle, fixture->session);
  n_steps = ir_session_get_n_steps (fixture->session);
  for (guint i = 0; i < 300; i++)
    {
      ir_session_goto (fixture->session, (i * 7) % (n_steps + 1));
      g_main_context_iteration (NULL, FALSE);
    }
  ir_session_goto (fixture->session, 3);
  wait_for ("step 3", is_idle, fixture->session);
  frame = ir_session_get_frame (fixture->session);
  g_assert_cmpuint (frame->to, ==, 3);
  g_assert_cmpuint (
      ir_model_n_counted_nodes (frame->model), ==,
      ir_history_step (ir_session_get_history (fixture->session), 3)->cost_after.n_nodes);
}

static void
test_passes (Fixture *fixture, gconstpointer data)
{
  const IrModel *history;
  guint last = 0;

  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_idle, fixture->session);
  history = ir_session_get_history (fixture->session);
  ir_session_goto (fixture->session, 0);
  while (ir_session_get_cursor (fixture->session) < ir_session_get_n_steps (fixture->session))
    {
      const IrFrame *frame;

      ir_session_pass_by (fixture->session, 1);
      wait_for ("the next pass", is_idle, fixture->session);
      frame = ir_session_get_frame (fixture->session);
      g_assert_cmpuint (frame->to, >, last);
      g_assert_cmpuint (ir_history_step (history, frame->from + 1)->pass_run, ==,
                        ir_history_step (history, frame->to)->pass_run);
      last = frame->to;
    }
  g_assert_cmpint (ir_session_get_compare (fixture->session), ==, IR_COMPARE_PASS);
  ir_session_pass_by (fixture->session, -1);
  g_assert_cmpuint (ir_session_get_cursor (fixture->session), <, last);
  ir_session_step_by (fixture->session, -1);
  g_assert_cmpint (ir_session_get_compare (fixture->session), ==, IR_COMPARE_STEP);
  ir_session_set_compare (fixture->session, IR_COMPARE_ORIGINAL);
  ir_session_step_by (fixture->session, -1);
  g_assert_cmpint (ir_session_get_compare (fixture->session), ==, IR_COMPARE_ORIGINAL);
}

static void
test_run (Fixture *fixture, gconstpointer data)
{
  IrValueId output;
  g_autoptr (IrTensor) before = NULL, after = NULL;
  g_autofree char *reason = NULL;
  const IrFrame *frame;

  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_idle, fixture->session);
  frame = ir_session_get_frame (fixture->session);
  output = frame->model->main->outputs->ids[0];
  g_assert_null (ir_session_dup_tensor (fixture->session, output, IR_SIDE_AFTER, &reason));
  g_assert_nonnull (strstr (reason, "Run the graph"));
  ir_session_run_graph (fixture->session);
  wait_for ("the run", is_idle, fixture->session);
  g_assert_cmpuint (ir_session_get_run_step (fixture->session), ==, frame->to);
  before = ir_session_dup_tensor (fixture->session, output, IR_SIDE_BEFORE, NULL);
  after = ir_session_dup_tensor (fixture->session, output, IR_SIDE_AFTER, NULL);
  g_assert_nonnull (before);
  g_assert_nonnull (after);
  g_assert_cmpuint (ir_tensor_n_elements (after), ==, 10);
  for (guint i = 0; i < 10; i++)
    g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (before, i),
                                    ir_tensor_get_double (after, i), 1e-4);
}

/* A value in the middle of the graph that is on screen. */
static IrValueId
inner_value (IrSession *session)
{
  guint n;
  IrNode *const *order = ir_graph_order (ir_session_get_frame (session)->model->main, &n);

  return order[n / 2]->outputs[0]->id;
}

static void
set_capture (IrSession *session, IrCaptureKind capture)
{
  IrRunSettings settings = *ir_session_get_run_settings (session);

  settings.options.capture = capture;
  ir_session_set_run_settings (session, &settings);
}

/* Where runs keep outputs alone, the run computes any other value, with the same bits. */
static void
test_on_demand (Fixture *fixture, gconstpointer data)
{
  IrValueId inner = inner_value (fixture->session), id;
  g_autoptr (GError) error = NULL;
  g_autofree char *reason = NULL;

  ir_session_run_graph (fixture->session);
  wait_for ("the run", is_idle, fixture->session);
  g_autoptr (IrTensor) kept = ir_session_dup_tensor (fixture->session, inner, IR_SIDE_AFTER, NULL);
  g_assert_nonnull (kept);
  set_capture (fixture->session, IR_CAPTURE_NONE);
  ir_session_run_graph (fixture->session);
  wait_for ("the run", is_idle, fixture->session);
  g_assert_null (ir_session_dup_tensor (fixture->session, inner, IR_SIDE_AFTER, &reason));
  g_assert_nonnull (reason);
  g_autoptr (IrRun) run = ir_session_dup_run_of (fixture->session, inner, IR_SIDE_AFTER, &id);
  g_assert_nonnull (run);
  g_autoptr (IrTensor) tensor = ir_run_find (run, id, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_tensor_equal (tensor, kept));
}

/* The first value of the original graph that the graph on screen does not have any more. */
static const IrValue *
value_gone (IrSession *session)
{
  const IrModel *now = ir_session_get_frame (session)->model;
  g_autoptr (IrModel) original = ir_history_snapshot (ir_session_get_history (session), 0);
  guint n;
  IrNode *const *order = ir_graph_order (original->main, &n);

  for (guint i = 0; i < n; i++)
    if (strcmp (order[i]->op_type, "Conv") == 0 &&
        ir_model_live_value (now, order[i]->outputs[0]->id) == NULL)
      return ir_model_value (ir_session_get_history (session), order[i]->outputs[0]->id);
  g_assert_not_reached ();
}

/* (transfer full): of the original graph, from the run of the one on screen */
static IrTensor *
find_original (IrSession *session, IrValueId value, IrSide side, char **how)
{
  IrOriginalValue *asked = ir_session_new_original_value (session, value, side);
  g_autoptr (GError) error = NULL;
  gboolean computed;
  IrTensor *tensor;

  g_assert_nonnull (asked);
  tensor = ir_original_value_find (asked, NULL, &computed, how, &error);
  g_assert_no_error (error);
  ir_original_value_free (asked);
  return tensor;
}

static void
assert_near (const IrTensor *a, const IrTensor *b)
{
  IrDifference difference;

  ir_trial_difference (a, b, &difference);
  g_assert_cmpfloat (difference.max_abs, <, 1e-4);
}

/* One run of the optimized graph says what every value of the original one was. */
static void
test_original_in_one_run (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  IrRunSettings settings = *ir_session_get_run_settings (session);
  g_autofree char *text = NULL;
  guint n, n_compared = 0;

  settings.options.capture = IR_CAPTURE_ALL;
  ir_session_set_run_settings (session, &settings);
  ir_session_run_pipeline (session, "default");
  wait_for ("the pipeline", is_idle, session);
  ir_session_run_graph (session);
  wait_for ("the runs", is_idle, session);
  g_autoptr (IrRun) both = ir_run_ref (ir_session_get_run (session, IR_SIDE_BEFORE));
  g_assert_nonnull (ir_session_get_divergence (session));
  g_assert_null (ir_session_new_original_value (session, value_gone (session)->id, IR_SIDE_BEFORE));
  settings.one_run = TRUE;
  ir_session_set_run_settings (session, &settings);
  ir_session_run_graph (session);
  wait_for ("the run", is_idle, session);
  g_assert_null (ir_session_get_run (session, IR_SIDE_BEFORE));
  g_assert_null (ir_session_get_divergence (session));
  text = ir_session_run_text (session);
  g_assert_nonnull (strstr (text, "all values of the original graph in one run"));
  IrNode *const *order = ir_graph_order (both->model->main, &n);
  for (guint i = 0; i < n; i++)
    {
      const IrValueId id = order[i]->outputs[0]->id;
      g_autofree char *how = NULL;
      const IrTensor *expected = ir_run_value (both, id);
      g_autoptr (IrTensor)
          tensor = expected != NULL ? find_original (session, id, IR_SIDE_BEFORE, &how) : NULL;

      if (expected == NULL)
        continue;
      g_assert_true (g_str_has_prefix (how, "The original graph did not run: this was "));
      assert_near (tensor, expected);
      n_compared++;
    }
  g_assert_cmpuint (n_compared, >, 30);
}

/* Names choose; of what the optimized graph does not have any more, what it is computed from. */
static void
test_chosen_values (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  IrRunSettings settings = *ir_session_get_run_settings (session);
  g_autofree char *names = NULL, *text = NULL, *how = NULL;
  const IrValue *gone, *inner;

  ir_session_run_pipeline (session, "default");
  wait_for ("the pipeline", is_idle, session);
  gone = value_gone (session);
  inner = ir_model_live_value (ir_session_get_frame (session)->model, inner_value (session));
  ir_session_run_graph (session);
  wait_for ("the runs", is_idle, session);
  g_autoptr (IrRun) all = ir_run_ref (ir_session_get_run (session, IR_SIDE_BEFORE));
  settings.options.capture = IR_CAPTURE_CHOSEN;
  settings.chosen = names = g_strdup_printf ("%s , nonsense,%s", inner->name, gone->name);
  ir_session_set_run_settings (session, &settings);
  ir_session_run_graph (session);
  wait_for ("the runs", is_idle, session);
  IrRun *before = ir_session_get_run (session, IR_SIDE_BEFORE),
        *after = ir_session_get_run (session, IR_SIDE_AFTER);
  g_assert_nonnull (ir_run_value (before, gone->id));
  g_assert_nonnull (ir_run_value (after, inner->id));
  g_assert_cmpuint (ir_run_n_kept (after), <, ir_run_n_kept (all));
  text = ir_session_run_text (session);
  g_assert_nonnull (strstr (text, "chosen values kept, no graph has nonsense"));
  g_autoptr (IrTensor) tensor = find_original (session, gone->id, IR_SIDE_AFTER, &how);
  assert_near (tensor, ir_run_value (all, gone->id));
  g_assert_nonnull (strstr (how, " by 1 node ")); /* from what was kept for it */
  g_clear_pointer (&text, g_free);
  settings.chosen = inner->name;
  ir_session_set_run_settings (session, &settings);
  ir_session_run_graph (session);
  wait_for ("the runs", is_idle, session);
  text = ir_session_run_text (session);
  g_assert_null (strstr (text, "no graph has"));
}

/* -- bodies of functions -- */

static const char calls[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]>\n"
    "g (float[4] x) => (float[4] y) { [one] a = local.twice (x) [two] y = local.twice (a) }\n"
    "<domain: \"local\", opset_import: [\"\" : 17]>\n"
    "twice (p) => (q) { half = Neg (p) q = Sub (p, half) }\n";

static void
assert_negative (const IrTensor *tensor, const IrTensor *of)
{
  g_assert_nonnull (tensor);
  g_assert_cmpuint (ir_tensor_n_elements (tensor), ==, 4);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpfloat (ir_tensor_get_double (tensor, i), ==, -ir_tensor_get_double (of, i));
}

/* What a call computes on the way is named by the call, and is shown and kept by that name. */
static void
test_bodies (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  IrRunSettings settings = *ir_session_get_run_settings (session);
  g_autofree char *folder = g_dir_make_tmp ("irscope-calls-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "calls.onnxtxt", NULL), *text = NULL;
  IrValueId id;

  g_assert_true (g_file_set_contents (path, calls, -1, NULL));
  ir_session_open (session, path);
  wait_for ("the session", is_idle, session);
  g_autoptr (IrModel) model = ir_model_ref (ir_session_get_frame (session)->model);
  const IrNode *one = ir_graph_find_node (model->main, "one"),
               *two = ir_graph_find_node (model->main, "two");
  g_assert_null (ir_session_get_body_values (session, one));
  ir_session_run_graph (session);
  wait_for ("the run", is_idle, session);
  g_autoptr (GPtrArray) values = ir_session_get_body_values (session, one);
  g_assert_cmpuint (values->len, ==, 1);
  const IrValue *half = values->pdata[0];
  g_assert_cmpstr (half->name, ==, "one/half");
  g_assert_true (ir_session_get_body_value (session, half->id, NULL) == half);
  g_assert_null (ir_session_get_body_value (session, one->outputs[0]->id, NULL));
  g_autoptr (IrTensor) x = ir_session_dup_tensor (session, one->inputs[0]->id, IR_SIDE_AFTER, NULL);
  g_autoptr (IrTensor) before = ir_session_dup_tensor (session, half->id, IR_SIDE_BEFORE, NULL);
  g_autoptr (IrTensor) after = ir_session_dup_tensor (session, half->id, IR_SIDE_AFTER, NULL);
  assert_negative (after, x);
  g_assert_true (before == after);

  settings.options.capture = IR_CAPTURE_CHOSEN;
  settings.chosen = "two/half, half";
  ir_session_set_run_settings (session, &settings);
  ir_session_run_graph (session);
  wait_for ("the run", is_idle, session);
  text = ir_session_run_text (session);
  g_assert_nonnull (strstr (text, "chosen values kept, no graph has half"));
  g_autoptr (GPtrArray) others = ir_session_get_body_values (session, two);
  IrRun *run = ir_session_get_run (session, IR_SIDE_AFTER);
  g_assert_nonnull (ir_run_value (run, ((const IrValue *) others->pdata[0])->id));
  g_autoptr (GPtrArray) again = ir_session_get_body_values (session, one);
  half = again->pdata[0];
  g_assert_null (ir_run_value (run, half->id));
  g_autoptr (IrRun) own = ir_session_dup_run_of (session, half->id, IR_SIDE_BEFORE, &id);
  g_assert_true (own == run && id == half->id);
  g_auto (IrFound) found = { 0 };
  g_autoptr (IrTensor) computed = ir_run_find (run, id, NULL, &found, NULL);
  assert_negative (computed, x);
  g_remove (path);
  g_rmdir (folder);
}

/* -- kernels -- */

/* The first node that has several kernels. */
static IrNodeId
node_with_kernels (IrSession *session)
{
  guint n;
  IrNode *const *order = ir_graph_order (ir_session_get_frame (session)->model->main, &n);

  for (guint i = 0; i < n; i++)
    {
      g_auto (GStrv) names = ir_kernel_choices (ir_backend_find ("cpu"), order[i]);

      if (g_strv_length (names) > 2)
        return order[i]->id;
    }
  g_assert_not_reached ();
}

static const char *
kernel_of (IrSession *session, IrNodeId node)
{
  const char *why, *layout;

  return ir_session_get_kernel (
      session, ir_model_live_node (ir_session_get_frame (session)->model, node), &why, &layout);
}

/* Asking for the reference kernel is a step; the next run has it, and is compared with the one
 * before; a step back takes the wish away. */
static void
test_kernel (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  const IrNodeId node = node_with_kernels (session);
  const char *before = kernel_of (session, node);
  const IrRunChange *change;
  IrNodeChange node_change;

  ir_session_run_graph (session);
  wait_for ("the run", is_idle, session);
  g_assert_cmpuint (ir_session_get_run_times (session).n, ==, 1);
  g_assert_cmpuint (ir_session_get_node_times (session, node).n, ==, 1);
  g_assert_null (ir_session_get_run_change (session));
  ir_session_ask_for_kernel (session, node, "ref");
  wait_for ("the edit", is_idle, session);
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, 1);
  g_assert_cmpstr (kernel_of (session, node), ==, "ref");
  ir_session_ask_for_kernel (session, node, "ref");
  wait_for ("nothing", is_idle, session);
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, 1);

  ir_session_run_graph (session);
  wait_for ("the run", is_idle, session);
  g_assert_cmpstr (kernel_of (session, node), ==, "ref");
  change = ir_session_get_run_change (session);
  g_assert_nonnull (change);
  g_assert_cmpuint (change->from_step, ==, 0);
  g_assert_cmpuint (change->step, ==, 1);
  g_assert_cmpuint (change->n_compared, >, 10);
  g_assert_cmpfloat (change->worst_difference.max_abs, <, 1e-3);
  g_assert_true (ir_session_get_node_change (session, node, &node_change));
  g_assert_true (node_change.compared);
  g_assert_cmpfloat (node_change.difference.max_abs, <, 1e-3);

  ir_session_goto (session, 0);
  wait_for ("step 0", is_idle, session);
  g_assert_cmpstr (kernel_of (session, node), ==, before);
  ir_session_goto (session, 1);
  wait_for ("step 1", is_idle, session);
  ir_session_ask_for_kernel (session, node, NULL);
  wait_for ("the edit", is_idle, session);
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, 2);
  g_assert_cmpstr (kernel_of (session, node), ==, before);
}

/* Runs on other inputs say nothing of each other's values. */
static void
test_change_of_inputs (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;

  ir_session_run_graph (session);
  wait_for ("the run", is_idle, session);
  ir_session_run_graph (session);
  wait_for ("the run again", is_idle, session);
  g_assert_cmpuint (ir_session_get_run_change (session)->n_compared, >, 10);
  g_assert_cmpuint (ir_session_get_run_change (session)->n_differ, ==, 0);
  g_assert_false (ir_session_get_run_change (session)->other_inputs);
  ir_session_set_seed (session, 7);
  ir_session_run_graph (session);
  wait_for ("the run on others", is_idle, session);
  g_assert_true (ir_session_get_run_change (session)->other_inputs);
  g_assert_cmpuint (ir_session_get_run_change (session)->n_compared, ==, 0);
}

static void
test_measured_kernels (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  const IrNodeId node = node_with_kernels (session);
  GPtrArray *times;
  guint step;

  g_assert_null (ir_session_get_kernel_times (session, node, &step));
  ir_session_measure_kernels (session, node);
  wait_for ("the kernels", is_idle, session);
  times = ir_session_get_kernel_times (session, node, &step);
  g_assert_nonnull (times);
  g_assert_cmpuint (times->len, >, 2);
  for (guint i = 0; i < times->len; i++)
    {
      const IrKernelTime *time = times->pdata[i];

      g_assert_cmpint (time->taken, ==, i == 0);
      g_assert_cmpuint (time->ms.n, ==, 7);
      g_assert_cmpfloat (time->ms.q1, <=, time->ms.median);
      g_assert_true (time->compared);
      g_assert_cmpfloat (time->difference.max_abs, <, 1e-3);
    }
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, 0);
  ir_session_run_graph (session);
  wait_for ("the run", is_idle, session);
  times = ir_session_get_kernel_times (session, node, &step);
  g_assert_cmpstr (((IrKernelTime *) times->pdata[0])->kernel, ==, kernel_of (session, node));
}

/* Of several runs those that warm up do not count. */
static void
test_several_runs (Fixture *fixture, gconstpointer data)
{
  IrRunSettings settings = *ir_session_get_run_settings (fixture->session);
  g_autofree char *text = NULL;

  settings.n_runs = 4;
  settings.options.n_threads = 1;
  settings.options.deterministic = TRUE;
  ir_session_set_run_settings (fixture->session, &settings);
  ir_session_run_graph (fixture->session);
  wait_for ("the runs", is_idle, fixture->session);
  g_assert_cmpuint (ir_session_get_run_times (fixture->session).n, ==, 4);
  text = ir_session_run_text (fixture->session);
  g_assert_nonnull (strstr (text, "4 runs"));
  g_assert_nonnull (strstr (text, "1 thread "));
  g_assert_nonnull (strstr (text, "deterministic"));
  g_assert_nonnull (strstr (text, "all values kept"));
}

/* A given input is what runs: the trained network recognizes the picture. */
static void
test_given_input (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = example ("digits-input-7.npy");
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) image = ir_tensor_load (path, &error), result = NULL;
  const IrFrame *frame = ir_session_get_frame (fixture->session);
  guint best = 0;

  g_assert_no_error (error);
  ir_session_set_input (fixture->session, frame->model->main->inputs->ids[0], image);
  ir_session_run_graph (fixture->session);
  wait_for ("the run", is_idle, fixture->session);
  result = ir_session_dup_tensor (fixture->session, frame->model->main->outputs->ids[0],
                                  IR_SIDE_AFTER, NULL);
  for (guint i = 1; i < 10; i++)
    if (ir_tensor_get_double (result, i) > ir_tensor_get_double (result, best))
      best = i;
  g_assert_cmpuint (best, ==, 7);
}

static gboolean
rename_first (
    IrEdit *edit, gpointer data, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  IrModel *model = ir_edit_model (edit);
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  ir_edit_begin_step (edit, "rename", IR_CLASS_EDIT, order[0]->id);
  ir_edit_rename_node (edit, order[0], "renamed");
  ir_edit_end_step (edit);
  return TRUE;
}

static void
test_edit (Fixture *fixture, gconstpointer data)
{
  const IrFrame *frame;

  ir_session_edit (fixture->session, "Rename", ir_done_new (IR_DONE_ACT, "rename", NULL, 0),
                   rename_first, NULL, NULL);
  wait_for ("the edit", is_idle, fixture->session);
  frame = ir_session_get_frame (fixture->session);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), ==, 1);
  g_assert_nonnull (ir_graph_find_node (frame->model->main, "renamed"));
  g_assert_null (ir_graph_find_node (frame->before->main, "renamed"));
  g_assert_true (ir_session_get_modified (fixture->session));

  /* a pipeline keeps the edit and comes after it */
  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_idle, fixture->session);
  g_assert_cmpstr (ir_history_pass_of (ir_session_get_history (fixture->session), 1), ==, "edit");
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), >, 1);
  ir_session_goto (fixture->session, 0);
  wait_for ("the original", is_idle, fixture->session);
  g_assert_null (
      ir_graph_find_node (ir_session_get_frame (fixture->session)->model->main, "renamed"));
}

static void
test_cancel (Fixture *fixture, gconstpointer data)
{
  IrFrame *before = ir_session_get_frame (fixture->session);

  ir_session_run_pipeline (fixture->session, NULL);
  g_assert_true (ir_session_get_busy (fixture->session));
  ir_session_cancel (fixture->session);
  wait_for ("the end", is_idle, fixture->session);
  g_assert_true (ir_session_get_frame (fixture->session) == before);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), ==, 0);
  g_assert_cmpuint (fixture->n_failed, ==, 0);
  g_assert_cmpuint (fixture->n_messages, ==, 1);
}

static void
assert_same_problems (const GPtrArray *a, const GPtrArray *b)
{
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    g_assert_cmpstr (((IrProblem *) a->pdata[i])->message, ==,
                     ((IrProblem *) b->pdata[i])->message);
}

/* Types that do not fit and declarations that do not hold are found in an edited text as in a file;
 * other edits leave them, and the graph before has none. */
static void
test_edit_problems (Fixture *fixture, gconstpointer data)
{
  static char text[] = "<ir_version: 8, opset_import: [\"\": 17]>\n"
                       "g (float[2,3] x, float[4] w) => (float[2,3] y, float[7] v) {\n"
                       "  h = Relu (x)\n  z = Add (h, w)\n  y = Sigmoid (z)\n  v = Neg (w)\n}\n";
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "irscope-misfit.onnxtxt", NULL);
  IrSession *opened = ir_session_new ();
  const GPtrArray *wanted, *found;
  const IrFrame *frame;

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  ir_session_open (opened, path);
  wait_for ("the file", is_open_and_idle, opened);
  wanted = ir_session_get_problems (opened);
  g_assert_cmpuint (wanted->len, ==, 2);
  ir_session_new_model (fixture->session);
  ir_session_edit (fixture->session, "Apply", ir_done_new (IR_DONE_ACT, "rename", NULL, 0),
                   apply_text, text, NULL);
  wait_for ("the edit", is_open_and_idle, fixture->session);
  found = ir_session_get_problems (fixture->session);
  assert_same_problems (found, wanted);
  frame = ir_session_get_frame (fixture->session);
  {
    const IrNodeId add = ((IrProblem *) found->pdata[0])->node;
    guint n;
    const gint32 at = ir_frame_find_box (frame, add);

    g_assert_cmpstr (ir_model_node (frame->model, add)->op_type, ==, "Add");
    g_assert_cmpuint (ir_scene_boxes (frame->scene, &n)[at].problem, ==, 1 + IR_SEVERITY_ERROR);
  }
  ir_session_edit (fixture->session, "Rename", ir_done_new (IR_DONE_ACT, "rename", NULL, 0),
                   rename_first, NULL, NULL);
  wait_for ("the edit", is_open_and_idle, fixture->session);
  found = ir_session_get_problems (fixture->session);
  g_assert_cmpuint (found->len, ==, 1);
  g_assert_cmpstr (((IrProblem *) found->pdata[0])->message, ==,
                   ((IrProblem *) wanted->pdata[0])->message);
  ir_session_goto (fixture->session, 0);
  wait_for ("the beginning", is_idle, fixture->session);
  g_assert_cmpuint (ir_session_get_problems (fixture->session)->len, ==, 0);
  ir_session_goto (fixture->session, 1);
  wait_for ("the first edit", is_idle, fixture->session);
  assert_same_problems (ir_session_get_problems (fixture->session), wanted);
  g_object_unref (opened);
  g_remove (path);
}

static void
test_export (Fixture *fixture, gconstpointer data)
{
  static const char *const names[] = { "a.svg",  "a.pdf",     "a.png", "a.dot",
                                       "a.onnx", "a.onnxtxt", "a.json" };
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);

  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_idle, fixture->session);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (dir, names[i], NULL);
      GStatBuf status;

      ir_session_export (fixture->session, path);
      wait_for ("the file", is_idle, fixture->session);
      g_assert_cmpint (g_stat (path, &status), ==, 0);
      g_assert_cmpint (status.st_size, >, 100);
      g_remove (path);
    }
  g_assert_cmpuint (fixture->n_failed, ==, 0);
  ir_session_export (fixture->session, "/nowhere/at/all.onnx");
  wait_for ("the failure", is_idle, fixture->session);
  g_assert_cmpuint (fixture->n_failed, ==, 1);
  g_rmdir (dir);
}

static void
test_new (Fixture *fixture, gconstpointer data)
{
  ir_session_new_model (fixture->session);
  wait_for ("the empty graph", is_idle, fixture->session);
  g_assert_false (ir_session_is_empty (fixture->session));
  g_assert_null (ir_session_get_path (fixture->session));
  g_assert_cmpuint (ir_model_n_nodes (ir_session_get_frame (fixture->session)->model), ==, 0);
}

/* -- views -- */

static IrWindow *
open_window (const char *name)
{
  IrWindow *window = g_object_new (IR_TYPE_WINDOW, NULL);
  g_autofree char *path = example (name);

  gtk_window_present (GTK_WINDOW (window));
  gtk_test_widget_wait_for_draw (GTK_WIDGET (window));
  if (name != NULL)
    {
      g_autoptr (GFile) file = g_file_new_for_path (path);

      ir_window_open (window, file);
      wait_for ("the model", is_open_and_idle, ir_window_get_session (window));
      gtk_test_widget_wait_for_draw (GTK_WIDGET (window));
    }
  return window;
}

static void
close_window (IrWindow *window)
{
  gtk_window_destroy (GTK_WINDOW (window));
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
test_rows (void)
{
  guint n;
  const IrViewInfo *const *infos = ir_views (&n);

  g_assert_cmpuint (n, >=, 1);
  for (guint i = 0; i < n; i++)
    {
      g_assert_true (g_type_is_a (infos[i]->get_type (), IR_TYPE_VIEW));
      g_assert_true (ir_view_find (infos[i]->id) == infos[i]);
      g_assert_cmpuint (strlen (infos[i]->title), >, 0);
      g_assert_true (g_str_has_suffix (infos[i]->doc, "."));
      g_assert_true (g_str_has_suffix (infos[i]->icon_name, "-symbolic"));
      g_assert_cmpint (infos[i]->place, <, IR_N_VIEW_PLACES);
      for (guint k = 0; k < i; k++)
        g_assert_cmpstr (infos[k]->id, !=, infos[i]->id);
    }
}

static gboolean
draws_something (GtkWidget *widget)
{
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (widget);
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  GskRenderNode *node;

  gdk_paintable_snapshot (paintable, GDK_SNAPSHOT (snapshot), gtk_widget_get_width (widget),
                          gtk_widget_get_height (widget));
  node = gtk_snapshot_free_to_node (snapshot);
  if (node == NULL)
    return FALSE;
  gsk_render_node_unref (node);
  return TRUE;
}

static gboolean
says_computed (gpointer view)
{
  return is_shown (view, "The run did not keep this value: it was recomputed");
}

static gboolean
says_recomputed (gpointer view)
{
  return is_shown (view, "Recomputed, not compared");
}

static gboolean
compares_with_original (gpointer session)
{
  return is_idle (session) && ir_session_get_frame (session)->from == 0;
}

/* A tensor view of the digits in a window. */
static GtkWidget *
open_tensor_view (Fixture *fixture, GtkWidget **window)
{
  g_autofree char *path = example ("digits.onnx");
  GtkWidget *view;

  set_up (fixture, NULL);
  *window = gtk_window_new ();
  view = GTK_WIDGET (ir_view_info_create (ir_view_find ("tensor"), fixture->session));
  gtk_window_set_default_size (GTK_WINDOW (*window), 500, 400);
  gtk_window_set_child (GTK_WINDOW (*window), view);
  gtk_window_present (GTK_WINDOW (*window));
  ir_session_open (fixture->session, path);
  wait_for ("the session", is_idle, fixture->session);
  return view;
}

/* What only the original's own nodes have made is not said to be equal to what they made before. */
static void
test_tensor_recomputed (void)
{
  Fixture fixture = { 0 };
  GtkWidget *window, *view = open_tensor_view (&fixture, &window);

  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  ir_session_run_graph (fixture.session);
  wait_for ("the run", is_idle, fixture.session);
  ir_session_set_compare (fixture.session, IR_COMPARE_ORIGINAL);
  wait_for ("the original", compares_with_original, fixture.session);
  ir_session_select_value (fixture.session, value_gone (fixture.session)->id);
  wait_for ("the value", says_recomputed, view);
  g_assert_false (is_shown (view, "bit for bit"));
  g_assert_false (is_shown (view, "differ, most by"));
  gtk_window_destroy (GTK_WINDOW (window));
  tear_down (&fixture, NULL);
}

/* The tensor view computes what the run did not keep, and says so. */
static void
test_tensor_on_demand (void)
{
  Fixture fixture = { 0 };
  GtkWidget *window, *view = open_tensor_view (&fixture, &window);

  set_capture (fixture.session, IR_CAPTURE_STATS);
  ir_session_run_graph (fixture.session);
  wait_for ("the run", is_idle, fixture.session);
  ir_session_select_value (fixture.session, inner_value (fixture.session));
  wait_for ("the value", says_computed, view);
  gtk_window_destroy (GTK_WINDOW (window));
  tear_down (&fixture, NULL);
}

/* Each view alone in a window, through the life of a session. */
static void
test_view (gconstpointer data)
{
  const IrViewInfo *info = data;
  Fixture fixture = { 0 };
  GtkWidget *window = gtk_window_new ();
  GtkWidget *view;

  set_up (&fixture, NULL);
  view = GTK_WIDGET (ir_view_info_create (info, fixture.session));
  gtk_window_set_default_size (GTK_WINDOW (window), 500, 400);
  gtk_window_set_child (GTK_WINDOW (window), view);
  gtk_window_present (GTK_WINDOW (window));
  gtk_test_widget_wait_for_draw (window);
  g_assert_true (draws_something (view)); /* empty */
  for (guint round = 0; round < 4; round++)
    {
      g_autofree char *path = example ("digits.onnx");

      if (round == 0)
        ir_session_open (fixture.session, path);
      else if (round == 1)
        ir_session_run_pipeline (fixture.session, NULL);
      else if (round == 2)
        ir_session_run_graph (fixture.session);
      else
        {
          const IrFrame *frame = ir_session_get_frame (fixture.session);
          guint n;

          ir_session_select_node (fixture.session, ir_graph_order (frame->model->main, &n)[0]->id);
          ir_session_select_value (fixture.session, frame->model->main->outputs->ids[0]);
          ir_session_goto (fixture.session, 1);
        }
      wait_for ("the session", is_idle, fixture.session);
      settle (100);
      for (guint i = 0; i < 30 && !draws_something (view); i++)
        settle (100);
      g_assert_true (draws_something (view));
    }
  gtk_window_destroy (GTK_WINDOW (window));
  tear_down (&fixture, NULL);
}

/* -- canvas -- */

static void
test_canvas (void)
{
  IrWindow *window = open_window ("digits.onnx");
  IrSession *session = ir_window_get_session (window);
  GtkWidget *canvas = find_widget (GTK_WIDGET (window), IR_TYPE_CANVAS);
  GtkWidget *proxy;
  double zoom;
  guint n;
  IrNodeId node = ir_graph_order (ir_session_get_frame (session)->model->main, &n)[0]->id;

  g_assert_nonnull (canvas);
  gtk_test_accessible_assert_role (GTK_ACCESSIBLE (canvas), GTK_ACCESSIBLE_ROLE_LIST);
  settle (300);
  proxy = find_widget (canvas, IR_TYPE_NODE_PROXY);
  g_assert_nonnull (proxy);
  gtk_test_accessible_assert_role (GTK_ACCESSIBLE (proxy), GTK_ACCESSIBLE_ROLE_LIST_ITEM);

  zoom = ir_canvas_get_zoom (IR_CANVAS (canvas));
  g_assert_true (gtk_widget_activate_action (canvas, "view.zoom-in", NULL));
  g_assert_cmpfloat (ir_canvas_get_zoom (IR_CANVAS (canvas)), >, zoom);
  g_assert_true (gtk_widget_activate_action (canvas, "view.fit", NULL));
  settle (500);
  g_assert_cmpfloat (ir_canvas_get_zoom (IR_CANVAS (canvas)), <=, 1);

  ir_session_select_node (session, node);
  settle (500);
  g_assert_cmpint (ir_canvas_selected_box (IR_CANVAS (canvas)), >=, 0);
  for (proxy = gtk_widget_get_first_child (canvas); proxy != NULL;
       proxy = gtk_widget_get_next_sibling (proxy))
    if (IR_IS_NODE_PROXY (proxy) && ir_node_proxy_get_box (IR_NODE_PROXY (proxy)) ==
                                        ir_canvas_selected_box (IR_CANVAS (canvas)))
      break;
  g_assert_nonnull (proxy);
  gtk_test_accessible_assert_state (GTK_ACCESSIBLE (proxy), GTK_ACCESSIBLE_STATE_SELECTED, TRUE);
  close_window (window);
}

static gboolean
is_current (gpointer data)
{
  const IrFrame *frame = ir_session_get_frame (data);

  return is_idle (data) && frame->serial == ir_session_get_picture_serial (data);
}

/* What the picture shows is made anew by a job, with what was there in its place. */
static void
test_options (void)
{
  IrWindow *window = open_window ("transformer-block.onnx");
  IrSession *session = ir_window_get_session (window);
  GtkWidget *canvas = find_widget (GTK_WIDGET (window), IR_TYPE_CANVAS);
  const IrSceneBox *boxes;
  const char *fold = NULL;
  guint n, n_open, n_tinted = 0;

  boxes = ir_scene_boxes (ir_session_get_frame (session)->scene, &n_open);
  for (guint i = 0; i < n_open && fold == NULL; i++)
    if (boxes[i].kind == IR_SCENE_CLUSTER)
      fold = boxes[i].fold;
  g_assert_nonnull (fold);
  ir_session_toggle_fold (session, fold);
  wait_for ("the folded graph", is_current, session);
  ir_scene_boxes (ir_session_get_frame (session)->scene, &n);
  g_assert_cmpuint (n, <, n_open);

  g_assert_true (gtk_widget_activate_action (canvas, "graph.overlay", "s", "flops"));
  wait_for ("the overlay", is_current, session);
  boxes = ir_scene_boxes (ir_session_get_frame (session)->scene, &n);
  for (guint i = 0; i < n; i++)
    n_tinted += boxes[i].has_tint;
  g_assert_cmpuint (n_tinted, >, 0);
  g_assert_true (gtk_widget_activate_action (canvas, "graph.sideways", NULL));
  wait_for ("the turned graph", is_current, session);
  settle (100);
  close_window (window);
}

/* A message takes the place of one that comes, stays or fades. */
static void
test_messages (void)
{
  static const guint pauses_ms[] = { 0, 20, 100, 300, 600, 1100, 5, 1050, 1200, 0 };
  IrWindow *window = open_window (NULL);
  IrSession *session = ir_window_get_session (window);

  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", TRUE, NULL);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (pauses_ms); i++)
    {
      g_autofree char *text = g_strdup_printf ("Message %u", i);

      g_signal_emit_by_name (session, "message", text);
      settle (pauses_ms[i % G_N_ELEMENTS (pauses_ms)]);
    }
  settle (600);
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
  close_window (window);
}

static void
test_window (void)
{
  IrWindow *window = open_window (NULL);
  IrSession *session = ir_window_get_session (window);
  GActionGroup *actions = G_ACTION_GROUP (window);
  g_autofree char *path = example ("worked-example.onnx");

  g_assert_false (g_action_group_get_action_enabled (actions, "optimize"));
  g_assert_false (g_action_group_get_action_enabled (actions, "export"));
  g_assert_true (g_action_group_get_action_enabled (actions, "open"));
  g_action_group_activate_action (actions, "open-file", g_variant_new_string (path));
  wait_for ("the model", is_open_and_idle, session);
  g_assert_true (g_action_group_get_action_enabled (actions, "optimize"));
  g_assert_false (g_action_group_get_action_enabled (actions, "previous-step"));
  g_action_group_activate_action (actions, "optimize", NULL);
  wait_for ("the pipeline", is_idle, session);
  g_action_group_activate_action (actions, "first", NULL);
  wait_for ("the original", is_idle, session);
  g_assert_cmpuint (ir_session_get_cursor (session), ==, 0);
  g_action_group_change_action_state (actions, "show-bottom", g_variant_new_boolean (FALSE));
  g_action_group_change_action_state (actions, "show-bottom", g_variant_new_boolean (TRUE));
  settle (100);
  close_window (window);
}

static void
test_dark (void)
{
  IrWindow *window = open_window ("if-branch.onnx");
  AdwStyleManager *style = adw_style_manager_get_default ();

  adw_style_manager_set_color_scheme (style, ADW_COLOR_SCHEME_FORCE_DARK);
  settle (200);
  g_assert_true (adw_style_manager_get_dark (style));
  for (guint i = 0; i < 30 && !draws_something (GTK_WIDGET (window)); i++)
    settle (100);
  g_assert_true (draws_something (GTK_WIDGET (window)));
  adw_style_manager_set_color_scheme (style, ADW_COLOR_SCHEME_DEFAULT);
  settle (200);
  close_window (window);
}

/* -- the debugger -- */

static gboolean
is_scored (gpointer data)
{
  return !ir_session_is_scoring (data);
}

/* The first step of a rule, 0 if it has none. */
static guint
step_of_rule (IrSession *session, const char *rule)
{
  const IrModel *history = ir_session_get_history (session);

  for (guint i = 1; i <= ir_history_n_steps (history); i++)
    if (g_strcmp0 (ir_history_step (history, i)->rule, rule) == 0)
      return i;
  return 0;
}

static void
optimize (Fixture *fixture)
{
  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_idle, fixture->session);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), >, 0);
}

static gboolean
has_whys (gpointer data)
{
  return ir_session_get_whys (data) != NULL;
}

static const IrWhy *
ask_why (IrSession *session, const char *op, const char *rule)
{
  const IrModel *model = ir_session_get_frame (session)->model;
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    if (strcmp (order[i]->op_type, op) == 0)
      {
        ir_session_ask_why (session, order[i]->id);
        break;
      }
  wait_for ("the answers", has_whys, session);
  for (guint i = 0; i < ir_session_get_whys (session)->len; i++)
    {
      const IrWhy *why = ir_session_get_whys (session)->pdata[i];

      if (strcmp (why->rule, rule) == 0)
        return why;
    }
  return NULL;
}

/* Before a pipeline has run, what a rule would do; afterwards, with what rules refused. */
static void
test_why (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  const IrWhy *why = ask_why (session, "BatchNormalization", "fold-conv-bn");

  g_assert_nonnull (why);
  g_assert_cmpint (why->answer, ==, IR_WHY_NOT_RUN);
  g_assert_true (why->holds); /* it was tried */
  g_assert_null (why->reason);
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, 0);
  ir_session_run_pipeline (session, NULL);
  wait_for ("the pipeline", is_idle, session);
  g_assert_cmpuint (ir_history_n_refusals (ir_session_get_history (session)), >, 0);
  ir_session_goto (session, 0);
  wait_for ("the original", is_idle, session);
  why = ask_why (session, "BatchNormalization", "fold-conv-bn");
  g_assert_cmpint (why->answer, ==, IR_WHY_FIRED);
}

static void
test_scoreboard (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  const IrScoreboard *board;

  g_assert_null (ir_session_get_scoreboard (session));
  optimize (fixture);
  ir_session_request_scoreboard (session);
  wait_for ("the scores", is_scored, session);
  board = ir_session_get_scoreboard (session);
  g_assert_nonnull (board);
  g_assert_cmpuint (board->n_steps, ==, ir_session_get_n_steps (session));
  for (guint i = 1; i <= board->n_steps; i++)
    {
      const IrStep *step = ir_history_step (ir_session_get_history (session), i);

      g_assert_cmpfloat (board->values[IR_SCORE_NODES][i], ==, step->cost_after.n_nodes);
      g_assert_cmpfloat (board->values[IR_SCORE_PEAK][i], >, 0);
    }
  optimize (fixture);
  g_assert_null (ir_session_get_scoreboard (session)); /* it was of other steps */
  g_assert_cmpuint (fixture->n_failed, ==, 0);
}

static void
test_breakpoints (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  g_autoptr (GError) error = NULL;
  guint step, nodes;
  g_autofree char *fewer = NULL;

  optimize (fixture);
  step = step_of_rule (session, "fold-conv-bn");
  g_assert_cmpuint (step, >, 0);
  g_assert_false (ir_session_add_breakpoint (session, "rule", &error));
  g_assert_error (error, IR_BREAKPOINT_ERROR, IR_BREAKPOINT_ERROR_SYNTAX);
  g_assert_true (ir_session_add_breakpoint (session, "rule=fold-conv-b?", NULL));
  ir_session_goto (session, 0);
  ir_session_run_to_breakpoint (session, TRUE);
  g_assert_cmpuint (ir_session_get_cursor (session), ==, step);
  ir_session_goto (session, G_MAXUINT);
  for (guint i = 0; i < 100 && ir_session_get_cursor (session) != step; i++)
    ir_session_run_to_breakpoint (session, FALSE);
  g_assert_cmpuint (ir_session_get_cursor (session), ==, step);
  ir_session_run_to_breakpoint (session, FALSE);
  g_assert_cmpuint (ir_session_get_cursor (session), ==, 0);

  ir_session_remove_breakpoint (session, 0);
  g_assert_cmpuint (ir_session_get_breakpoints (session)->len, ==, 0);
  nodes = ir_history_step (ir_session_get_history (session), step)->cost_after.n_nodes;
  fewer = g_strdup_printf ("nodes<=%u", nodes);
  g_assert_true (ir_session_add_breakpoint (session, fewer, NULL));
  ir_session_run_to_breakpoint (session, TRUE); /* makes the scores first */
  wait_for ("the scores", is_scored, session);
  wait_for ("the frame", is_idle, session);
  g_assert_cmpuint (ir_session_get_cursor (session), >, 0);
  g_assert_cmpuint (ir_session_get_cursor (session), <=, step);
  g_assert_cmpuint (ir_model_n_counted_nodes (ir_session_get_frame (session)->model), <=, nodes);
}

static void
test_what_if (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  const IrWhatIf *what_if;
  g_autofree char *key = NULL;
  guint step, n_steps;

  optimize (fixture);
  n_steps = ir_session_get_n_steps (session);
  step = step_of_rule (session, "fold-conv-bn");
  key = ir_step_stable_key (ir_session_get_history (session), step);
  ir_session_skip (session, key);
  wait_for ("the other result", is_idle, session);
  what_if = ir_session_get_what_if (session);
  g_assert_nonnull (what_if);
  g_assert_true (ir_session_shows_what_if (session));
  g_assert_cmpstr (ir_session_get_skips (session)[0], ==, key);
  for (guint i = 1; i <= ir_session_get_n_steps (session); i++)
    {
      g_autofree char *other = ir_step_stable_key (ir_session_get_history (session), i);

      g_assert_cmpstr (other, !=, key);
    }
  g_assert_cmpuint (what_if->n_steps[IR_WITH], ==, n_steps);
  g_assert_cmpuint (what_if->n_steps[IR_WITHOUT], ==, ir_session_get_n_steps (session));
  g_assert_cmpfloat (what_if->scores[IR_WITHOUT][IR_SCORE_NODES], >,
                     what_if->scores[IR_WITH][IR_SCORE_NODES]);
  g_assert_true (what_if->ran);
  g_assert_cmpfloat (what_if->between.max_abs, <, 1e-4);

  ir_session_show_what_if (session, FALSE);
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, n_steps);
  ir_session_show_what_if (session, TRUE);
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, what_if->n_steps[IR_WITHOUT]);
  ir_session_skip (session, "fold-conv-bn"); /* the whole rule, too */
  wait_for ("the third result", is_idle, session);
  g_assert_cmpuint (step_of_rule (session, "fold-conv-bn"), ==, 0);
  g_assert_cmpuint (g_strv_length ((GStrv) ir_session_get_skips (session)), ==, 2);
  ir_session_skip_nothing (session);
  wait_for ("the frame", is_idle, session);
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, n_steps);
  g_assert_null (ir_session_get_what_if (session));
  g_assert_null (ir_session_get_skips (session));
  g_assert_cmpuint (fixture->n_failed, ==, 0);
}

static void
test_bisect (Fixture *fixture, gconstpointer data)
{
  IrSession *session = fixture->session;
  const IrBisection *found;
  g_autofree char *text = NULL;

  ir_session_bisect (session, "nodes > 1"); /* there are no steps */
  g_assert_null (ir_session_get_bisection (session));
  optimize (fixture);
  ir_session_goto (session, 0);
  ir_session_bisect (session, "max_abs(probabilities) > 0");
  wait_for ("the culprit", is_idle, session);
  found = ir_session_get_bisection (session);
  g_assert_nonnull (found);
  g_assert_cmpint (found->answer, ==, IR_BISECT_FOUND);
  g_assert_cmpuint (ir_session_get_cursor (session), ==, found->step);
  g_assert_cmpuint (ir_session_get_frame (session)->from, ==, found->step - 1);
  g_assert_cmpuint (ir_session_get_selected_value (session), ==, found->diverges);
  text = ir_session_bisection_text (session);
  g_assert_nonnull (strstr (text, "First tensor to differ"));
  g_assert_cmpuint (fixture->n_failed, ==, 0);
  ir_session_bisect (session, "nodes >");
  wait_for ("the failure", is_idle, session);
  g_assert_cmpuint (fixture->n_failed, ==, 1);
}

static void
add_session_test (const char *name,
                  const char *file,
                  void (*test) (Fixture *fixture, gconstpointer data))
{
  g_autofree char *path = g_strconcat ("/session/", name, NULL);

  g_test_add (path, Fixture, file, set_up, test, tear_down);
}

int
main (int argc, char **argv)
{
  guint n;
  const IrViewInfo *const *infos;

  start_window_tests (&argc, &argv);
  add_session_test ("opens a model and lays it out", "digits.onnx", test_open);
  add_session_test ("keeps what is open when a file is damaged", "digits.onnx", test_open_damaged);
  add_session_test ("runs a pipeline and proves its steps", "digits.onnx", test_pipeline);
  add_session_test ("runs a pipeline again in place of the first run", "digits.onnx",
                    test_pipeline_again);
  add_session_test ("ends a burst of moves at the last one", "digits.onnx", test_burst);
  add_session_test ("moves from pass to pass", "digits.onnx", test_passes);
  add_session_test ("gives every value before and after", "digits.onnx", test_run);
  add_session_test ("computes what a run did not keep", "digits.onnx", test_on_demand);
  add_session_test ("says what the original graph computed from one run of the optimized one",
                    "digits.onnx", test_original_in_one_run);
  add_session_test ("keeps the values that names choose, or what they are computed from",
                    "digits.onnx", test_chosen_values);
  add_session_test ("shows and keeps values in bodies of functions by the names of their calls",
                    NULL, test_bodies);
  add_session_test ("asks for another kernel and compares the runs", "digits.onnx", test_kernel);
  add_session_test ("compares no runs on other inputs", "digits.onnx", test_change_of_inputs);
  add_session_test ("measures all kernels of a node", "digits.onnx", test_measured_kernels);
  add_session_test ("tells several runs by median and spread", "digits.onnx", test_several_runs);
  add_session_test ("runs on given inputs", "digits.onnx", test_given_input);
  add_session_test ("keeps edits as steps before the pipeline", "digits.onnx", test_edit);
  add_session_test ("finds what is wrong after an edit as after opening", NULL, test_edit_problems);
  add_session_test ("stays as it was after a cancel", "digits.onnx", test_cancel);
  add_session_test ("exports every format", "digits.onnx", test_export);
  add_session_test ("makes an empty graph", NULL, test_new);
  add_session_test ("tells what rules would do, and why they did not", "digits.onnx", test_why);
  add_session_test ("scores every step", "digits.onnx", test_scoreboard);
  add_session_test ("stops at breakpoints, forth and back", "digits.onnx", test_breakpoints);
  add_session_test ("skips one application, then a rule, and goes back", "digits.onnx",
                    test_what_if);
  add_session_test ("bisects and shows the culprit", "digits.onnx", test_bisect);
  g_test_add_func ("/views/rows are complete", test_rows);
  infos = ir_views (&n);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("/views/%s draws at every stage of a session",
                                               infos[i]->id);

      g_test_add_data_func (path, infos[i], test_view);
    }
  g_test_add_func ("/views/tensor computes what a run did not keep, and says so",
                   test_tensor_on_demand);
  g_test_add_func ("/views/tensor takes nothing for evidence that the same nodes made twice",
                   test_tensor_recomputed);
  g_test_add_func ("/canvas/zooms, selects and tells assistive technology", test_canvas);
  g_test_add_func ("/canvas/folds, tints and turns", test_options);
  g_test_add_func ("/window/enables what can be done", test_window);
  g_test_add_func ("/window/lets a message take the place of one that comes, stays or fades",
                   test_messages);
  g_test_add_func ("/window/follows dark and light", test_dark);
  return run_window_tests ();
}
