/* A run that is driven in the window: by keys and buttons it goes on, and what it has kept by then is what
 * the views show; breakpoints, watchpoints, and a run that is not of what is on screen any more. */
#include "config.h"

#include "core/exec/measure/timeline.h"
#include "core/exec/run/capture.h"
#include "tests/gui/opened.h"
#include "views/session/act.h"
#include "views/session/gradients.h"
#include "views/session/inputs.h"
#include "views/session/records.h"
#include "views/session/run-control.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/training.h"
#include "views/session/undo.h"
#include "views/spin.h"
#include "views/training/form.h"
#include "views/view.h"

#include <string.h>

static gboolean
stands (gpointer data)
{
  return ir_session_get_standing (((Opened *) data)->session) != NULL;
}

static gboolean
has_ended (gpointer data)
{
  return !ir_session_is_driven (((Opened *) data)->session) &&
         !ir_session_get_busy (((Opened *) data)->session);
}

static gboolean
is_judged (gpointer data)
{
  return ir_session_get_run_hits (((Opened *) data)->session) != NULL;
}

static void
drive (Opened *self, const char *word)
{
  g_action_group_activate_action (G_ACTION_GROUP (self->window), "drive",
                                  g_variant_new_string (word));
}

static const IrNode *
node_of (Opened *self, const char *op, guint nth)
{
  const IrModel *model = ir_session_get_frame (self->session)->model;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node != NULL && strcmp (node->op_type, op) == 0 && nth-- == 0)
        return node;
    }
  g_assert_not_reached ();
}

static void
test_steps (void)
{
  Opened self;

  open_digits (&self);
  drive (&self, "step");
  wait_for ("a run that stands", stands, &self);
  const IrNodeId first = ir_session_get_standing (self.session)->node;
  g_assert_false (ir_session_get_standing (self.session)->after);
  g_assert_cmpuint (ir_session_get_selected_node (self.session), ==, first);
  wait_for_text (&self, "Stands before");
  const IrNode *conv = node_of (&self, "Conv", 0), *relu = node_of (&self, "Relu", 0);
  ir_session_select_node (self.session, conv->id);
  drive (&self, "to");
  wait_for ("the chosen node", stands, &self);
  g_assert_cmpuint (ir_session_get_standing (self.session)->node, ==, conv->id);
  g_assert_true (ir_session_get_standing (self.session)->after);
  /* What the node gave is there, what comes later is not. */
  g_autoptr (IrTensor)
      given = ir_session_dup_tensor (self.session, conv->outputs[0]->id, IR_SIDE_AFTER, NULL);
  g_autofree char *reason = NULL;
  g_assert_nonnull (given);
  g_assert_null (
      ir_session_dup_tensor (self.session, relu->outputs[0]->id, IR_SIDE_AFTER, &reason));
  g_assert_nonnull (strstr (reason, "stands after"));
  drive (&self, "step");
  wait_for ("the next node", stands, &self);
  drive (&self, "continue");
  wait_for ("the end of the run", has_ended, &self);
  g_assert_null (ir_session_get_run (self.session, IR_SIDE_AFTER)->error);
  wait_for_text (&self, "The last run is of the graph on screen");
  close_window (&self);
}

static void
test_breaks (void)
{
  g_autoptr (GError) error = NULL;
  Opened self;

  open_digits (&self);
  g_assert_false (ir_session_add_run_break (self.session, "op:frob", &error));
  g_assert_nonnull (strstr (error->message, "no such node"));
  g_assert_true (ir_session_add_run_break (self.session, "zeros>10% op:relu", NULL));
  drive (&self, "continue");
  wait_for ("the breakpoint", stands, &self);
  const IrStanding *standing = ir_session_get_standing (self.session);
  g_assert_cmpint (standing->hit, ==, 0);
  g_assert_true (standing->after);
  g_assert_cmpuint (standing->node, ==, node_of (&self, "Relu", 0)->id);
  wait_for_text (&self, "of the elements are zero");
  ir_session_drive (self.session, (IrRunCommand){ .move = IR_RUN_STOP });
  wait_for ("the end of the run", has_ended, &self);
  /* The same condition is judged on what the next run keeps, without stopping it. */
  ir_session_run_graph (self.session);
  wait_for ("the run", is_open_and_idle, self.session);
  wait_for ("what was watched for", is_judged, &self);
  const guint n = ir_session_get_run_hits (self.session)->len;
  g_assert_cmpuint (n, >, 1);
  ir_session_remove_run_break (self.session, 0);
  g_assert_null (ir_session_get_run_hits (self.session));
  /* What no kept value can show is not said to hold of none. */
  ir_session_show_view (self.session, "run");
  g_assert_true (ir_session_add_run_break (self.session, "diverges", NULL));
  wait_for_text (&self, "They stop a run that goes node by node");
  g_assert_true (ir_session_add_run_break (self.session, "max>1e9", NULL));
  wait_for_text (&self, "Those of values hold of 0 values");
  close_window (&self);
}

static void
test_stale (void)
{
  Opened self;

  open_digits (&self);
  ir_session_run_graph (self.session);
  wait_for ("the run", is_open_and_idle, self.session);
  g_assert_null (ir_session_stale_text (self.session));
  ir_session_set_seed (self.session, 77);
  g_autofree char *inputs = ir_session_stale_text (self.session);
  g_assert_cmpstr (inputs, ==, "The inputs have changed since the run.");
  wait_for_text (&self, "The inputs have changed since the run · ");
  ir_session_run_graph (self.session);
  wait_for ("the second run", is_open_and_idle, self.session);
  g_assert_null (ir_session_stale_text (self.session));
  ir_session_run_pipeline (self.session, NULL);
  wait_for ("the steps", is_open_and_idle, self.session);
  wait_for_text (&self, "Steps were made or taken back since the last run: ");
  ir_session_run_graph (self.session);
  wait_for ("the third run", is_open_and_idle, self.session);
  g_assert_null (ir_session_stale_text (self.session));
  ir_session_goto (self.session, 3);
  wait_for ("the third step", is_open_and_idle, self.session);
  g_autofree char *step = ir_session_stale_text (self.session);
  g_assert_nonnull (strstr (step, "the graph is at 3"));
  ir_session_undo (self.session);
  wait_for ("the undo", is_open_and_idle, self.session);
  wait_for_text (&self, "Steps were made or taken back since the last run: ");
  close_window (&self);
}

/* A run that stands does not keep the window, nor the program. */
static gboolean
is_at_first_step (gpointer data)
{
  const IrFrame *frame = ir_session_get_frame (((Opened *) data)->session);

  return frame != NULL && frame->to == 1 && has_ended (data);
}

/* A node is put before the last one: what leads to it keeps its values, in words and in bits, and another
 * run measures all. */
static void
test_reused (void)
{
  Opened self;
  const char *const words[] = { "insert", "Neg", "/fc/Gemm_output_0", NULL };

  open_digits (&self);
  ir_session_run_graph (self.session);
  wait_for ("the run", has_ended, &self);
  g_autoptr (IrRun) first = ir_run_ref (ir_session_get_run (self.session, IR_SIDE_AFTER));
  g_assert_cmpuint (first->n_reused, ==, 0);
  const IrValueId conv = node_of (&self, "Conv", 1)->outputs[0]->id;
  ir_session_act (self.session, words);
  wait_for ("the edit", is_at_first_step, &self);
  ir_session_run_graph (self.session);
  wait_for ("the run", has_ended, &self);
  const IrRun *again = ir_session_get_run (self.session, IR_SIDE_AFTER);
  g_assert_true (again != first);
  g_assert_cmpuint (again->n_reused, >, 10);
  g_assert_cmpuint (again->n_reused, <, again->schedule->items->len);
  g_assert_true (ir_tensor_equal (ir_run_value (again, conv), ir_run_value (first, conv)));
  g_assert_nonnull (
      ir_session_get_divergence (self.session)); /* with the original, which was there */
  /* Their times are said to be missing, and the timeline has none of them. */
  g_autofree char *note = ir_session_times_note (self.session),
                  *words_of_it = g_strdup_printf ("%u of %u nodes have no times", again->n_reused,
                                                  ir_run_n_computing (again));
  g_autofree char *how = ir_session_run_text (self.session);
  g_assert_true (g_str_has_prefix (note, words_of_it));
  g_assert_true (g_str_has_prefix (how, "Ran, not measured"));
  IrTimeline *timeline = ir_timeline_new_measured (again->trace, again->schedule, again->model);
  guint n_ran = 0; /* constants too, which nobody computes */
  for (guint i = 0; i < again->trace->items->len; i++)
    n_ran += !ir_trace_item_is_reused (&g_array_index (again->trace->items, IrTraceItem, i));
  g_assert_cmpuint (n_ran, <, again->trace->items->len);
  g_assert_cmpuint (timeline->items->len, ==, n_ran);
  ir_timeline_free (timeline);
  ir_session_run_graph (self.session);
  wait_for ("another run", has_ended, &self);
  g_assert_null (ir_session_times_note (self.session));
  again = ir_session_get_run (self.session, IR_SIDE_AFTER);
  g_assert_cmpuint (again->n_reused, ==, 0);
  g_assert_cmpuint (ir_run_options (again)->without & IR_DECISION_CHAINS, ==, 0); /* as the first */
  close_window (&self);
}

/* What a long run has computed is there when it is cancelled, on both sides. */
static gboolean
is_cancelled (gpointer data)
{
  const IrRun *run = ir_session_get_run (((Opened *) data)->session, IR_SIDE_AFTER);

  return has_ended (data) && run != NULL && run->error != NULL;
}

static gboolean
is_in_loop (gpointer data)
{
  const char *text = ir_session_get_progress_text (((Opened *) data)->session);

  return text != NULL && strstr (text, "node 1 of 3") != NULL;
}

static void
test_cancelled (void)
{
  static const char graph[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[64,64] x) => (float[64,64] y) <int64 n = {900000}> {\n"
      " a = Exp (x)\n"
      " b = Loop (n, , a) <body = r (int64 i, bool c, float[64,64] s) => (bool d, float[64,64] t) {\n"
      "  d = Identity (c)\n  t = Sin (s)\n }>\n"
      " y = Add (b, x)\n}\n";
  g_autofree char *path = g_build_filename (g_get_user_config_dir (), "long.onnxtxt", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);
  Opened self;

  g_assert_true (g_file_set_contents (path, graph, -1, NULL));
  open_digits (&self);
  ir_window_open (self.window, file);
  wait_for_text (&self, "long.onnxtxt");
  wait_for ("the graph", is_open_and_idle, self.session);
  ir_session_run_graph (self.session);
  wait_for ("the loop", is_in_loop, &self);
  ir_session_cancel (self.session);
  wait_for ("what was computed", is_cancelled, &self);
  const IrRun *run = ir_session_get_run (self.session, IR_SIDE_AFTER);
  const IrGraph *main = ir_session_get_frame (self.session)->model->main;
  g_assert_nonnull (ir_run_value (run, ir_graph_find_value (main, "a")->id));
  g_assert_null (ir_run_value (run, ir_graph_find_value (main, "y")->id));
  g_assert_true (ir_session_get_run (self.session, IR_SIDE_BEFORE) == run);
  wait_for_text (&self, "The run was cancelled behind node 1 of 3");
  wait_for_text (&self, "Cancelled");
  close_window (&self);
}

/* The fold of the node that owns a body */
static const char *
fold_of (Opened *self, const IrNode *node)
{
  const IrScene *scene = ir_session_get_frame (self->session)->scene;
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].node == node->id && boxes[i].fold != NULL)
      return boxes[i].fold;
  return NULL;
}

static gboolean
is_drawn (gpointer data)
{
  const Opened *self = data;

  return ir_frame_find_box (ir_session_get_frame (self->session),
                            ir_session_get_selected_node (self->session)) >= 0;
}

static gboolean
is_not_drawn (gpointer data)
{
  return !is_drawn (data);
}

/* What a loop has computed in its latest round is not called that of its last, whose rounds could be chosen. */
static void
test_stands_in_loop (void)
{
  static const char graph[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) <int64 n = {5}> {\n"
      " a = Neg (x)\n"
      " b = Loop (n, , a) <body = r (int64 i, bool c, float[2] s) => (bool d, float[2] t) {\n"
      "  t = Sin (s)\n  d = Identity (c)\n }>\n"
      " y = Add (b, x)\n}\n";
  g_autofree char *path = g_build_filename (g_get_user_config_dir (), "in-loop.onnxtxt", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);
  Opened self;

  g_assert_true (g_file_set_contents (path, graph, -1, NULL));
  open_digits (&self);
  ir_window_open (self.window, file);
  wait_for_text (&self, "in-loop.onnxtxt");
  wait_for ("the graph", is_open_and_idle, self.session);
  for (guint i = 0; i < 4; i++) /* to the second node of the body */
    {
      drive (&self, "step");
      wait_for ("a run that stands", stands, &self);
    }
  wait_for_text (&self, "The run stands");
  wait_for ("the node that comes next", is_drawn, &self);
  ir_session_toggle_fold (self.session, fold_of (&self, node_of (&self, "Loop", 0)));
  wait_for ("a closed loop", is_not_drawn, &self);
  drive (&self, "step"); /* to the first node of the next round */
  wait_for ("a run that stands", stands, &self);
  wait_for ("the node in the loop that was closed by hand", is_drawn, &self);
  drive (&self, "step");
  wait_for ("a run that stands", stands, &self);
  const IrRun *run = ir_session_get_run (self.session, IR_SIDE_AFTER);
  const IrNode *sin = node_of (&self, "Sin", 0), *neg = node_of (&self, "Neg", 0);
  g_assert_nonnull (ir_run_value (run, sin->outputs[0]->id));
  g_assert_false (ir_run_has_ended (run, ir_model_value (run->model, sin->outputs[0]->id)));
  ir_session_select_node (self.session, sin->id);
  ir_session_show_view (self.session, "tensor");
  wait_for_text (&self, "has not ended: this is the latest iteration");
  wait_for_text (&self, "Copy");
  ir_session_select_node (self.session, node_of (&self, "Add", 0)->id); /* it comes later */
  wait_for_text (&self, "The run stopped before this value");
  g_assert_null (find_label (GTK_WIDGET (self.window), "Copy"));
  ir_session_cancel (self.session);
  wait_for ("the end", has_ended, &self);
  wait_for_text (&self, "Stopped before ");
  g_assert_false (g_str_has_prefix (
      ir_session_get_run (self.session, IR_SIDE_AFTER)->error->message, "The run stands"));
  ir_session_run_graph (self.session);
  wait_for ("a whole run", has_ended, &self);
  run = ir_session_get_run (self.session, IR_SIDE_AFTER);
  g_assert_null (run->error);
  g_assert_true (ir_run_has_ended (run, ir_model_value (run->model, sin->outputs[0]->id)));
  g_assert_true (ir_run_has_ended (run, ir_model_value (run->model, neg->outputs[0]->id)));
  close_window (&self);
}

static void
test_closed_while_it_stands (void)
{
  Opened self;

  open_digits (&self);
  drive (&self, "step");
  wait_for ("a run that stands", stands, &self);
  ir_session_cancel (self.session);
  wait_for ("the end of the run", has_ended, &self);
  drive (&self, "step");
  wait_for ("a run that stands again", stands, &self);
  close_window (&self);
}

/* -- derivatives -- */

static gboolean
is_derived (gpointer data)
{
  IrSession *session = ((Opened *) data)->session;

  return !ir_session_get_busy (session) && (ir_session_get_gradients (session) != NULL ||
                                            ir_session_get_gradients_error (session) != NULL);
}

static void
test_gradients (void)
{
  Opened self;

  open_digits (&self);
  ir_session_show_view (self.session, "gradients");
  wait_for_text (&self, "Derive the Graph");
  ir_session_derive (self.session, "nothing", "params");
  wait_for ("a refusal", is_derived, &self);
  g_assert_null (ir_session_get_gradients (self.session));
  wait_for_text (&self, "no value \"nothing\"");
  ir_session_forget_gradients (self.session);
  ir_session_derive (self.session, "probabilities", "params");
  wait_for ("the derivatives", is_derived, &self);
  const IrGradients *gradients = ir_session_get_gradients (self.session);
  g_assert_cmpuint (gradients->rows->len, ==, 16);
  g_assert_cmpuint (gradients->layers->len, >, 20);
  wait_for_text (&self, "16 of 16 derivatives are 0");
  g_assert_null (ir_session_gradients_stale_text (self.session));
  /* A value that is selected anywhere is followed back. */
  ir_session_select_value (self.session, g_array_index (gradients->rows, IrGradientRow, 0).by);
  wait_for_text (&self, "conv1.weight: cancelled.");
  ir_session_select_node (self.session, node_of (&self, "Softmax", 0)->id);
  wait_for_text (&self, "nodes derive it");
  ir_session_set_seed (self.session, 17);
  g_autofree char *stale = ir_session_gradients_stale_text (self.session);
  g_assert_nonnull (strstr (stale, "Inputs have changed"));
  close_window (&self);
}

/* -- training -- */

static IrCourseState
course_state (Opened *self, guint64 *step)
{
  g_auto (IrCourse) course = ir_session_get_course (self->session);

  if (step != NULL)
    *step = course.step;
  return course.state;
}

static gboolean
training_stands (gpointer data)
{
  return course_state (data, NULL) == IR_COURSE_STANDS;
}

static gboolean
training_has_ended (gpointer data)
{
  return course_state (data, NULL) == IR_COURSE_ENDED &&
         !ir_session_get_busy (((Opened *) data)->session);
}

static IrTrainingWish
wish_for (const char *rate)
{
  const char *folder = g_getenv ("IRSCOPE_DATADIR");
  g_autofree char *data = g_strdup_printf ("image=%s/examples/digits-images.npy", folder);
  const char *const all[] = { data, NULL };

  return (IrTrainingWish){ .data = g_strdupv ((char **) all),
                           .target = g_strdup_printf ("%s/examples/digits-labels.npy", folder),
                           .loss = g_strdup ("cross-entropy"),
                           .optimizer = g_strdup ("sgd"),
                           .rate = g_strdup (rate),
                           .validate = g_strdup ("20%"),
                           .batch = 8,
                           .epochs = 1,
                           .path = g_build_filename (g_get_user_config_dir (), "t.onnx", NULL) };
}

/* -- nodes of a step -- */

static gboolean
stands_within (gpointer data)
{
  g_auto (IrCourse) course = ir_session_get_course (((Opened *) data)->session);

  return course.state == IR_COURSE_STANDS && course.standing != NULL;
}

/* One more node; where it stands then */
static char *
next_node (Opened *self)
{
  ir_session_train_node (self->session);
  wait_for ("the next node", stands_within, self);
  g_auto (IrCourse) course = ir_session_get_course (self->session);
  return g_steal_pointer (&course.standing);
}

static double
first_loss (Opened *self)
{
  g_auto (IrCourse) course = ir_session_get_course (self->session);

  g_assert_cmpuint (course.points->len, ==, 1);
  return g_array_index (course.points, IrTrainingPoint, 0).loss;
}

static const char *
selected_op (Opened *self)
{
  const IrNode *node = ir_model_live_node (ir_session_get_frame (self->session)->model,
                                           ir_session_get_selected_node (self->session));

  return node != NULL ? node->op_type : NULL;
}

static gboolean
is_at_conv (gpointer self)
{
  return g_strcmp0 (selected_op (self), "Conv") == 0;
}

static void
end_training (Opened *self)
{
  ir_session_train_stop (self->session);
  wait_for ("its end", training_has_ended, self);
  g_auto (IrCourse) course = ir_session_get_course (self->session);
  g_assert_false (course.failed);
}

static void
test_training_nodes (void)
{
  g_auto (IrTrainingWish) wish = wish_for ("0.01");
  Opened self;

  open_digits (&self);
  ir_session_show_view (self.session, "training");
  ir_session_train (self.session, &wish, IR_TRAINING_STEP);
  wait_for ("a training that stands", training_stands, &self);
  const double loss = first_loss (&self);
  end_training (&self);

  /* the same batch node by node: what is next, what it reads, and where that is in the graph */
  ir_session_train (self.session, &wish, IR_TRAINING_NODE);
  wait_for ("the first node", stands_within, &self);
  wait_for_text (&self, "Standing in step 1 of");
  wait_for ("the node that is next", is_at_conv, &self);
  g_auto (IrCourse) first = ir_session_get_course (self.session);
  g_assert_true (g_str_has_prefix (first.standing, "Before "));
  g_assert_nonnull (strstr (first.standing, "\nimage float[8,1,8,8]: 0 to 1, mean "));
  gboolean derives = FALSE;
  for (guint i = 0; i < 60 && !derives; i++)
    {
      g_autofree char *at = next_node (&self);
      derives = strstr (at, "ConvGradWeight") != NULL;
    }
  g_assert_true (derives);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpstr (selected_op (&self), ==, "Conv"); /* that it derives */
  ir_session_train_step (self.session);
  do
    g_main_context_iteration (NULL, TRUE);
  while (!training_stands (&self) || stands_within (&self));
  g_assert_cmpfloat (first_loss (&self), ==, loss);
  /* stopped within the second: what there is is written */
  g_autofree char *second = next_node (&self);
  g_assert_nonnull (strstr (second, "0 of "));
  end_training (&self);
  g_auto (IrCourse) course = ir_session_get_course (self.session);
  g_assert_cmpuint (course.points->len, ==, 1);
  g_assert_true (course.is_written);

  /* breakpoints of runs */
  g_assert_true (ir_session_add_run_break (self.session, "op:MaxPool", NULL));
  ir_session_train (self.session, &wish, IR_TRAINING_RUNS);
  wait_for ("the breakpoint", stands_within, &self);
  g_auto (IrCourse) hit = ir_session_get_course (self.session);
  g_assert_nonnull (strstr (hit.standing, "(MaxPool)"));
  g_assert_cmpuint (hit.points->len, ==, 0);
  ir_session_train_on (self.session); /* to the same one in the next batch */
  do
    g_main_context_iteration (NULL, TRUE);
  while (!stands_within (&self));
  g_assert_cmpfloat (first_loss (&self), ==, loss);
  end_training (&self);
  close_window (&self);
}

static void
test_training (void)
{
  g_auto (IrTrainingWish) wish = wish_for ("0.01");
  Opened self;
  guint64 step;

  open_digits (&self);
  ir_session_show_view (self.session, "training");
  wait_for_text (&self, "Samples of image");
  ir_session_train (self.session, &wish, TRUE);
  wait_for ("a training that stands", training_stands, &self);
  course_state (&self, &step);
  g_assert_cmpuint (step, ==, 1);
  wait_for_text (&self, "Standing: step 1 of");
  ir_session_train_rate (self.session, 0.5);
  ir_session_train_step (self.session);
  do
    g_main_context_iteration (NULL, TRUE);
  while (course_state (&self, &step) != IR_COURSE_STANDS || step < 2);
  g_auto (IrCourse) course = ir_session_get_course (self.session);
  g_assert_cmpuint (course.points->len, ==, 2);
  g_assert_cmpfloat (g_array_index (course.points, IrTrainingPoint, 0).rate, ==, 0.01);
  g_assert_cmpfloat (g_array_index (course.points, IrTrainingPoint, 1).rate, ==, 0.5);
  g_assert_cmpfloat (g_array_index (course.points, IrTrainingPoint, 1).update, >, 0);
  ir_session_train_stop (self.session);
  wait_for ("its end", training_has_ended, &self);
  /* What was written becomes the graph's, as one step. */
  const IrValue *before = ir_graph_find_value (ir_session_get_frame (self.session)->model->main,
                                               "fc.weight");
  const double old = ir_tensor_get_double (before->initializer, 0);
  const char *const words[] = { "weights", wish.path, NULL };
  ir_session_act (self.session, words);
  wait_for ("the weights", is_open_and_idle, self.session);
  g_assert_cmpuint (ir_session_get_cursor (self.session), ==, 1);
  const IrValue *after = ir_graph_find_value (ir_session_get_frame (self.session)->model->main,
                                              "fc.weight");
  g_assert_cmpfloat (ir_tensor_get_double (after->initializer, 0), !=, old);
  close_window (&self);
}

/* (nullable) The entry below @widget whose tip begins with @tip */
static GtkWidget *
find_entry (GtkWidget *widget, const char *tip)
{
  const char *own = GTK_IS_ENTRY (widget) ? gtk_widget_get_tooltip_text (widget) : NULL;
  GtkWidget *found = own != NULL && g_str_has_prefix (own, tip) ? widget : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL && found == NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_entry (child, tip);
  return found;
}

/* The rate of the next step, which is step @wanted */
static double
rate_of_step (Opened *self, guint64 wanted)
{
  guint64 step;

  ir_session_train_step (self->session);
  do
    g_main_context_iteration (NULL, TRUE);
  while (course_state (self, &step) != IR_COURSE_STANDS || step < wanted);
  g_auto (IrCourse) course = ir_session_get_course (self->session);
  return g_array_index (course.points, IrTrainingPoint, wanted - 1).rate;
}

/* A rate that is typed into the form while a training is under way counts when it is entered, not letter by letter,
 * and what is no rate changes nothing. */
static void
test_typed_rate (void)
{
  g_auto (IrTrainingWish) wish = wish_for ("0.01");
  Opened self;

  open_digits (&self);
  ir_session_show_view (self.session, "training");
  wait_for_text (&self, "Samples of image");
  GtkWidget *entry = find_entry (GTK_WIDGET (self.window), "It may be changed while the training");
  g_assert_nonnull (entry);
  ir_session_train (self.session, &wish, TRUE);
  wait_for ("a training that stands", training_stands, &self);
  wait_for_text (&self, "Standing: step 1 of");
  g_assert_true (gtk_widget_is_sensitive (entry)); /* the rest of the form is not */
  g_assert_false (
      gtk_widget_is_sensitive (find_entry (GTK_WIDGET (self.window), "What the network should")));
  gtk_editable_set_text (GTK_EDITABLE (entry), "1");
  g_assert_cmpfloat (rate_of_step (&self, 2), ==, 0.01);
  gtk_editable_set_text (GTK_EDITABLE (entry), "1e-4");
  g_signal_emit_by_name (entry, "activate");
  g_assert_cmpfloat (rate_of_step (&self, 3), ==, 1e-4);
  gtk_editable_set_text (GTK_EDITABLE (entry), "1e");
  g_signal_emit_by_name (entry, "activate");
  g_assert_cmpfloat (rate_of_step (&self, 4), ==, 1e-4);
  ir_session_train_stop (self.session);
  wait_for ("its end", training_has_ended, &self);
  close_window (&self);
}

/* All entries below @widget that are called @name get @text. */
static void
fill_entries (GtkWidget *widget, const char *name, const char *text)
{
  const char *tip = GTK_IS_ENTRY (widget) ? gtk_widget_get_tooltip_text (widget) : NULL;

  if (tip != NULL && g_str_has_prefix (tip, name))
    gtk_editable_set_text (GTK_EDITABLE (widget), text);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    fill_entries (child, name, text);
}

static void
test_training_form (void)
{
  g_autoptr (GtkWidget) form = g_object_ref_sink (ir_training_form_new ());
  g_auto (IrTrainingWish) wish = { 0 };
  g_autofree char *why = NULL;

  ir_training_form_set (IR_TRAINING_FORM (form), NULL);
  fill_entries (form, "What the network should answer", "labels.npy");
  fill_entries (form, "constant, cosine", " warm-up:4,cosine ");
  fill_entries (form, "Derivatives whose norm", "0.5");
  fill_entries (form, "Most memory", "50%");
  g_assert_true (ir_training_form_get (IR_TRAINING_FORM (form), &wish, &why));
  g_assert_cmpstr (wish.schedule, ==, "warm-up:4,cosine");
  g_assert_cmpstr (wish.budget, ==, "50%");
  g_assert_null (wish.freeze);
  g_assert_cmpuint (g_strv_length (wish.settings), ==, 1);
  g_assert_cmpstr (wish.settings[0], ==, "optimizer.clip=0.5");
}

/* The wheel over a form scrolls it: over a number it changes nothing. */
static void
test_spin (void)
{
  g_autoptr (GtkWidget) spin = g_object_ref_sink (ir_spin_new (0, 9));
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (spin);
  guint n = 0;

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);
      if (!GTK_IS_EVENT_CONTROLLER_SCROLL (controller))
        continue;
      n++;
      g_assert_cmpint (gtk_event_controller_get_propagation_phase (controller), ==, GTK_PHASE_NONE);
    }
  g_assert_cmpuint (n, >, 0);
}

static void
test_training_options (void)
{
  g_auto (IrTrainingWish) wish = wish_for ("0.01");
  const char *const settings[] = { "optimizer.momentum=0.9", "optimizer.clip=1", NULL };
  Opened self;

  wish.schedule = g_strdup ("warm-up:4");
  wish.freeze = g_strdup ("conv1*");
  wish.budget = g_strdup ("100%");
  wish.settings = g_strdupv ((char **) settings);
  wish.deterministic = TRUE;
  open_digits (&self);
  ir_session_train (self.session, &wish, TRUE);
  wait_for ("a training that stands", training_stands, &self);
  {
    g_auto (IrCourse) course = ir_session_get_course (self.session);
    g_assert_cmpfloat_with_epsilon (g_array_index (course.points, IrTrainingPoint, 0).rate, 0.0025,
                                    1e-9);
  }
  ir_session_train_stop (self.session);
  wait_for ("its end", training_has_ended, &self);
  g_clear_pointer (&wish.settings, g_strfreev);
  const char *const wrong[] = { "optimizer.momentum=much", NULL };
  wish.settings = g_strdupv ((char **) wrong);
  ir_session_train (self.session, &wish, FALSE);
  wait_for ("its end", training_has_ended, &self);
  g_auto (IrCourse) course = ir_session_get_course (self.session);
  g_assert_true (course.failed);
  g_assert_nonnull (strstr (course.text, "momentum"));
  close_window (&self);
}

static void
test_diverged (void)
{
  g_auto (IrTrainingWish) wish = wish_for ("1e30");
  Opened self;

  open_digits (&self);
  ir_session_show_view (self.session, "training");
  ir_session_train (self.session, &wish, FALSE);
  wait_for ("the first numbers that are not finite", training_has_ended, &self);
  g_auto (IrCourse) course = ir_session_get_course (self.session);
  g_assert_true (course.failed);
  g_assert_cmpuint (course.bad_node, !=, 0);
  g_assert_cmpuint (ir_session_get_selected_node (self.session), ==, course.bad_node);
  wait_for_text (&self, "is the first node that gives numbers that are not finite");
  /* a text that wraps does not make the window wider, however little height there is for it */
  GtkWidget *said = find_label (GTK_WIDGET (self.window), course.text);
  GtkWidget *view = gtk_widget_get_ancestor (said, IR_TYPE_VIEW);
  int any, low;
  gtk_widget_measure (view, GTK_ORIENTATION_HORIZONTAL, -1, &any, NULL, NULL, NULL);
  gtk_widget_measure (view, GTK_ORIENTATION_HORIZONTAL, 200, &low, NULL, NULL, NULL);
  g_assert_cmpint (low, ==, any);
  g_assert_cmpint (gtk_widget_get_request_mode (view), ==, GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH);
  close_window (&self);
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  g_test_add_func ("/run-control/steps", test_steps);
  g_test_add_func ("/run-control/breaks", test_breaks);
  g_test_add_func ("/run-control/stale", test_stale);
  g_test_add_func ("/run-control/reused", test_reused);
  g_test_add_func ("/run-control/cancelled", test_cancelled);
  g_test_add_func ("/run-control/stands-in-a-loop", test_stands_in_loop);
  g_test_add_func ("/run-control/closed-while-it-stands", test_closed_while_it_stands);
  g_test_add_func ("/run-control/gradients", test_gradients);
  g_test_add_func ("/run-control/training", test_training);
  g_test_add_func ("/run-control/training-nodes", test_training_nodes);
  g_test_add_func ("/run-control/training-options", test_training_options);
  g_test_add_func ("/run-control/training-form", test_training_form);
  g_test_add_func ("/run-control/training-typed-rate", test_typed_rate);
  g_test_add_func ("/run-control/spin", test_spin);
  g_test_add_func ("/run-control/training-diverged", test_diverged);
  return run_window_tests ();
}
