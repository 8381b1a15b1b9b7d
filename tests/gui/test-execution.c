/* What the window says of an execution that is wrong on purpose, and of graphs that run in part. */
#include "config.h"

#include "app/gui/window.h"
#include "core/layout/scene.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/session/execution.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/records.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#include <string.h>

/* -- what is wrong on purpose -- */

static const char *bad_op; /* whose kernel spoils its output */
static IrKernelFunc good_kernel;
static IrBackend spoiling;

static gboolean
spoil (IrCall *call, GError **error)
{
  if (!good_kernel (call, error))
    return FALSE;
  float *data = ir_tensor_data_writable (call->outputs[0].tensor);
  data[ir_tensor_n_elements (call->outputs[0].tensor) / 2] += 0.5f;
  return TRUE;
}

static IrKernelFunc
spoiling_kernel (const IrNode *node)
{
  IrKernelFunc kernel = ir_backend_find ("cpu")->kernel (node);

  if (strcmp (node->op_type, bad_op) != 0)
    return kernel;
  good_kernel = kernel;
  return spoil;
}

static void
spoil_runs (IrSession *session, const char *op)
{
  IrRunSettings settings = *ir_session_get_run_settings (session);

  spoiling = *ir_backend_find ("cpu");
  spoiling.kernel = spoiling_kernel;
  bad_op = op;
  settings.options.backend = op != NULL ? &spoiling : NULL;
  ir_session_set_run_settings (session, &settings);
}

/* -- a window -- */

typedef struct
{
  IrWindow *window;
  IrSession *session;
  char *message; /* (nullable) the last one */
} Fixture;

static void
on_message (IrSession *session, const char *text, gpointer data)
{
  Fixture *fixture = data;

  g_free (fixture->message);
  fixture->message = g_strdup (text);
}

static void
set_up (Fixture *fixture, gconstpointer text)
{
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "graph.onnxtxt", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  fixture->window = ir_window_new (NULL);
  fixture->session = ir_window_get_session (fixture->window);
  g_signal_connect (fixture->session, "message", G_CALLBACK (on_message), fixture);
  gtk_window_present (GTK_WINDOW (fixture->window));
  gtk_test_widget_wait_for_draw (GTK_WIDGET (fixture->window));
  ir_window_open (fixture->window, file);
  wait_for ("the model", is_open_and_idle, fixture->session);
  ir_session_see_sizes (fixture->session);
}

static void
tear_down (Fixture *fixture, gconstpointer text)
{
  gtk_window_destroy (GTK_WINDOW (fixture->window));
  g_free (fixture->message);
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* It is asked for when the window is idle. */
static void
wait_for_picture (Fixture *fixture)
{
  for (guint i = 0; i < 50; i++)
    g_main_context_iteration (NULL, FALSE);
  wait_for ("the picture", is_open_and_idle, fixture->session);
}

static GtkWidget *
row_called (GtkWidget *root, const char *title)
{
  if (ADW_IS_ACTION_ROW (root) &&
      g_str_has_prefix (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (root)), title))
    return root;
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = row_called (child, title);

      if (found != NULL)
        return found;
    }
  return NULL;
}

static IrNodeId
node_with (IrSession *session, const char *op)
{
  guint n;
  IrNode *const *order = ir_graph_order (ir_session_get_frame (session)->model->main, &n);

  for (guint i = 0; i < n; i++)
    if (strcmp (order[i]->op_type, op) == 0)
      return order[i]->id;
  return 0;
}

static guint
badge_of (IrSession *session, const char *op)
{
  const IrFrame *frame = ir_session_get_frame (session);
  const gint32 at = ir_frame_find_box (frame, node_with (session, op));
  guint n;

  g_assert_cmpint (at, >=, 0);
  return ir_scene_boxes (frame->scene, &n)[at].problem;
}

static void
check_execution (Fixture *fixture)
{
  gtk_widget_activate_action (GTK_WIDGET (fixture->window), "win.check-execution", NULL);
  g_assert_true (ir_session_get_busy (fixture->session));
  wait_for ("the check", is_open_and_idle, fixture->session);
  for (guint i = 0; i < 20; i++)
    g_main_context_iteration (NULL, FALSE);
  wait_for ("the picture", is_open_and_idle, fixture->session);
}

/* -- tests -- */

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define CHAIN                                                                                      \
  HEAD "g (float[4,4] x) => (float[4,4] y) { a = Exp (x) b = MatMul (a, a) y = Neg (b) }\n"

static void
test_right (Fixture *fixture, gconstpointer text)
{
  const IrExecutionReport *report;

  g_assert_null (ir_session_get_execution (fixture->session));
  check_execution (fixture);
  report = ir_session_get_execution (fixture->session);
  g_assert_nonnull (report);
  g_assert_cmpuint (report->n_judged, ==, 3);
  g_assert_cmpuint (report->findings->len, ==, 0);
  g_assert_cmpstr (fixture->message, ==, "Execution is right at all 3 kernel calls");
  g_assert_null (dialog_over (fixture->window));
}

static void
test_fault (Fixture *fixture, gconstpointer text)
{
  const IrExecutionFinding *finding;
  GtkWidget *dialog, *row;

  g_assert_cmpuint (badge_of (fixture->session, "MatMul"), ==, 0);
  spoil_runs (fixture->session, "MatMul");
  check_execution (fixture);
  g_assert_cmpuint (ir_session_get_execution (fixture->session)->n_faults, ==, 1);
  g_assert_nonnull (strstr (fixture->message, "Execution is wrong at"));
  g_assert_nonnull (strstr (fixture->message, "MatMul"));
  g_assert_cmpuint (badge_of (fixture->session, "MatMul"), ==, 1 + IR_SEVERITY_ERROR);
  g_assert_cmpuint (badge_of (fixture->session, "Exp"), ==, 0);
  dialog = dialog_over (fixture->window);
  g_assert_nonnull (dialog);
  finding = ir_session_get_execution (fixture->session)->findings->pdata[0];
  row = row_called (dialog, finding->title);
  g_assert_nonnull (row);
  g_assert_nonnull (strstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (row)), "is off from"));
  g_signal_emit_by_name (row, "activated");
  g_assert_cmpuint (ir_session_get_selected_node (fixture->session), ==,
                    node_with (fixture->session, "MatMul"));
  gtk_window_destroy (GTK_WINDOW (dialog));
  spoil_runs (fixture->session, NULL);
  check_execution (fixture);
  g_assert_cmpuint (badge_of (fixture->session, "MatMul"), ==, 0);
}

/* The badge is of the graph that was checked. */
static void
test_proof (Fixture *fixture, gconstpointer text)
{
  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_open_and_idle, fixture->session);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), >, 0);
  g_assert_nonnull (strstr (fixture->message, "· execution is right at all 3 kernel calls"));
  spoil_runs (fixture->session, "MatMul");
  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline again", is_open_and_idle, fixture->session);
  g_assert_nonnull (strstr (fixture->message, "· execution is wrong at"));
  wait_for_picture (fixture);
  g_assert_cmpuint (badge_of (fixture->session, "MatMul"), ==, 1 + IR_SEVERITY_ERROR);
  ir_session_goto (fixture->session, 0);
  wait_for ("the original", is_open_and_idle, fixture->session);
  g_assert_cmpuint (badge_of (fixture->session, "MatMul"), ==, 0);
  g_assert_null (ir_session_get_execution (fixture->session));
}

/* The reason stands at its node, and no dialog is in the way. */
static void
test_stops (Fixture *fixture, gconstpointer text)
{
  ir_session_run_graph (fixture->session);
  wait_for ("the run", is_open_and_idle, fixture->session);
  g_assert_cmpstr (fixture->message, ==, "The run stopped at turn (Reshape)");
  g_autofree char *status = ir_session_run_text (fixture->session);
  g_assert_true (g_str_has_prefix (status, "The run stopped at turn (Reshape) · Ran in "));
  g_assert_cmpuint (badge_of (fixture->session, "Reshape"), ==, 1 + IR_SEVERITY_ERROR);
  g_assert_null (dialog_over (fixture->window));
}

/* Outputs that do not wait for the node that cannot run are there. */
static void
test_run_in_part (Fixture *fixture, gconstpointer text)
{
  const IrModel *model = ir_session_get_frame (fixture->session)->model;
  g_autofree char *status = NULL, *reason = NULL;
  g_autoptr (IrTensor) good = NULL;

  ir_session_run_graph (fixture->session);
  wait_for ("the run", is_open_and_idle, fixture->session);
  g_assert_cmpstr (fixture->message, ==,
                   "2 of 3 outputs were not computed: bad (stopped by odd (Frobnicate)), gem "
                   "(stopped by brk (Gemm))");
  status = ir_session_run_text (fixture->session);
  g_assert_true (g_str_has_prefix (status, fixture->message));
  good = ir_session_dup_tensor (fixture->session, ir_graph_find_value (model->main, "good")->id,
                                IR_SIDE_AFTER, NULL);
  g_assert_nonnull (good);
  g_assert_null (ir_session_dup_tensor (
      fixture->session, ir_graph_find_value (model->main, "bad")->id, IR_SIDE_AFTER, &reason));
  g_assert_true (
      g_str_has_prefix (reason, "This value was not computed: odd (Frobnicate): no operator"));
  g_assert_cmpuint (badge_of (fixture->session, "Frobnicate"), >, 0);
  g_assert_cmpuint (badge_of (fixture->session, "Gemm"), ==, 1 + IR_SEVERITY_ERROR);
  g_assert_cmpuint (badge_of (fixture->session, "Exp"), ==, 0);
  check_execution (fixture);
  g_assert_cmpstr (fixture->message, ==, "Execution is right at the 2 nodes that can run");
  g_assert_nonnull (dialog_over (fixture->window));
  g_assert_nonnull (row_called (dialog_over (fixture->window), "odd (Frobnicate)"));
  g_assert_nonnull (row_called (dialog_over (fixture->window), "brk (Gemm)"));
}

/* A kernel that fails stops what waits for it alone. */
static void
test_failed_kernel (Fixture *fixture, gconstpointer text)
{
  const IrModel *model = ir_session_get_frame (fixture->session)->model;
  g_autoptr (IrTensor) good = NULL;

  ir_session_run_graph (fixture->session);
  wait_for ("the run", is_open_and_idle, fixture->session);
  g_assert_nonnull (fixture->message);
  g_assert_true (g_str_has_prefix (fixture->message, "bad was not computed: far (Gather): "));
  good = ir_session_dup_tensor (fixture->session, ir_graph_find_value (model->main, "good")->id,
                                IR_SIDE_AFTER, NULL);
  g_assert_nonnull (good);
  wait_for_picture (fixture);
  g_assert_cmpuint (badge_of (fixture->session, "Gather"), ==, 1 + IR_SEVERITY_ERROR);
  g_assert_cmpuint (badge_of (fixture->session, "Relu"), ==, 0);
}

/* A type that the file declares and that is another one is a warning at its node. */
static void
test_wrong_claim (Fixture *fixture, gconstpointer text)
{
  g_assert_cmpuint (badge_of (fixture->session, "NonZero"), ==, 0);
  ir_session_run_graph (fixture->session);
  wait_for ("the run", is_open_and_idle, fixture->session);
  g_assert_cmpstr (fixture->message, ==,
                   "places (NonZero): output z is int64[1,4], the file declares int64[1,7]");
  wait_for_picture (fixture);
  g_assert_cmpuint (badge_of (fixture->session, "NonZero"), ==, 1 + IR_SEVERITY_WARNING);
  g_assert_nonnull (ir_session_get_run (fixture->session, IR_SIDE_AFTER));
}

static GtkWidget *
find_labelled (GtkWidget *widget, GType type, const char *title)
{
  if (g_type_is_a (G_OBJECT_TYPE (widget), type) &&
      (title == NULL ||
       g_strcmp0 (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget)), title) == 0))
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_labelled (child, type, title);

      if (found != NULL)
        return found;
    }
  return NULL;
}

/* Of all windows the row of the size of @name. */
static GtkWidget *
size_row (const char *name)
{
  g_autoptr (GListModel) windows = g_object_ref (gtk_window_get_toplevels ());
  GtkWidget *found = NULL;

  for (guint i = 0; found == NULL && i < g_list_model_get_n_items (windows); i++)
    {
      g_autoptr (GtkWidget) window = g_list_model_get_item (windows, i);

      found = find_labelled (window, ADW_TYPE_ACTION_ROW, name);
    }
  return found;
}

static GtkWidget *
failure_dialog (void)
{
  g_autoptr (GListModel) windows = g_object_ref (gtk_window_get_toplevels ());

  for (guint i = 0; i < g_list_model_get_n_items (windows); i++)
    {
      g_autoptr (GtkWidget) window = g_list_model_get_item (windows, i);

      if (ADW_IS_MESSAGE_DIALOG (window))
        return window;
    }
  return NULL;
}

/* A run that failed at its sizes leads to them; the ones that are set make it run. */
static void
test_sizes (Fixture *fixture, gconstpointer data)
{
  IrSession *session = ir_window_get_session (fixture->window);
  GtkWidget *dialog, *row;
  const gint64 *dims;

  ir_session_set_size (session, "seq", 8);
  ir_session_run_graph (session);
  wait_for ("the failure", is_open_and_idle, session);
  dialog = failure_dialog ();
  g_assert_nonnull (dialog);
  g_assert_cmpstr (adw_message_dialog_get_response_label (ADW_MESSAGE_DIALOG (dialog), "sizes"), ==,
                   "_Set Sizes…");
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (dialog), "sizes");
  row = size_row ("seq");
  g_assert_nonnull (row);
  g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (row)), ==,
                   "As irscope run --dim seq=8");
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (find_labelled (row, GTK_TYPE_SPIN_BUTTON, NULL)), 5);
  g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (row)), ==,
                   "As irscope run --dim seq=5");
  row = size_row ("z[0]");
  g_assert_nonnull (row);
  g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (row)), ==, "1, chosen by default");
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (find_labelled (row, GTK_TYPE_SPIN_BUTTON, NULL)), 3);
  ir_session_run_graph (session);
  wait_for ("the run", is_open_and_idle, session);
  g_assert_nonnull (ir_session_get_run (session, IR_SIDE_AFTER));
  g_assert_null (ir_session_get_run (session, IR_SIDE_AFTER)->error);
  for (guint i = 0; i < 2; i++)
    {
      const IrFrame *frame = ir_session_get_frame (session);

      dims = ir_tensor_dims (ir_run_value (ir_session_get_run (session, IR_SIDE_AFTER),
                                           frame->model->main->outputs->ids[i]));
      g_assert_cmpint (dims[0], ==, i == 0 ? 5 : 3);
    }
}

#define STOPS                                                                                      \
  "<ir_version: 8, opset_import: [\"\" : 17]>"                                                     \
  "g (float[4,4] x) => (float[7] y) <int64[1] s = {7}> "                                           \
  "{ a = Exp (x) [turn] b = Reshape (a, s) y = Relu (b) }"
#define PART                                                                                       \
  "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"                                       \
  "part (float[2,4] x) => (float[2,4] good, float[2,4] bad, gem) { a = Exp (x) good = Relu (a) "   \
  "[odd] b = my.Frobnicate (a) bad = Neg (b) [brk] gem = Gemm (x) }\n"

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
#define ADD(NAME, TEXT, TEST)                                                                      \
  g_test_add ("/execution/" NAME, Fixture, TEXT, set_up, TEST, tear_down)
  ADD ("says that all is right", CHAIN, test_right);
  ADD ("lists a fault, leads to its node and badges it", CHAIN, test_fault);
  ADD ("is judged behind the proofs of a pipeline",
       HEAD "g (float[4,4] x) => (float[4,4] y) { i = Identity (x) a = Exp (i) b = MatMul (a, a) "
            "y = Neg (b) }\n",
       test_proof);
  ADD ("says at which node it stopped", STOPS, test_stops);
  ADD ("does not stop outputs that can be had", PART, test_run_in_part);
  ADD ("goes on behind a kernel that fails",
       HEAD "g (float[4,4] x) => (float[4,4] good, bad) <int64[1] i = {9}> { a = Exp (x) "
            "good = Relu (a) [far] b = Gather (a, i) bad = Neg (b) }\n",
       test_failed_kernel);
  ADD ("shows declared types that are wrong",
       HEAD "g (float[4] x) => (int64[1,7] z) { [places] z = NonZero (x) }\n", test_wrong_claim);
  ADD ("leads from sizes that fail to the sizes",
       HEAD "g (float[seq,2] x, float[?] z) => (float[seq,2] y, float[k] v) <float[5,2] c = "
            "{0.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0}> { y = Add (x, c) v = Neg (z) }\n",
       test_sizes);
  return run_window_tests ();
}
