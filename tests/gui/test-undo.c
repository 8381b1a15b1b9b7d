/* What is done to a graph is taken back and done again, whole; what an edit leaves behind is a branch. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/dump.h"
#include "core/ir/reconcile.h"
#include "core/op/infer.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/session/act.h"
#include "views/session/debug.h"
#include "views/session/execution.h"
#include "views/session/file.h"
#include "views/session/selection.h"
#include "views/session/undo.h"

#include <glib/gstdio.h>

typedef struct
{
  IrSession *session;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "digits.onnx", NULL);

  fixture->session = ir_session_new ();
  ir_session_set_prove (fixture->session, FALSE);
  ir_session_open (fixture->session, path);
  wait_for ("the model", is_open_and_idle, fixture->session);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_object_unref (fixture->session);
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* -- doing -- */

static gboolean
rename_first (
    IrEdit *edit, gpointer data, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  guint n;
  IrNode *const *order = ir_graph_order (ir_edit_model (edit)->main, &n);

  ir_edit_begin_step (edit, "rename", IR_CLASS_EDIT, order[0]->id);
  ir_edit_rename_node (edit, order[0], data);
  ir_edit_end_step (edit);
  return TRUE;
}

static void
rename_to (Fixture *fixture, const char *name)
{
  ir_session_edit (fixture->session, "Rename Node", ir_done_new (IR_DONE_ACT, "rename", NULL, 0),
                   rename_first, g_strdup (name), g_free);
  wait_for ("the edit", is_open_and_idle, fixture->session);
}

static void
run_pipeline (Fixture *fixture)
{
  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("the pipeline", is_open_and_idle, fixture->session);
}

static void
undo (Fixture *fixture)
{
  ir_session_undo (fixture->session);
  wait_for ("the undo", is_open_and_idle, fixture->session);
}

static void
redo (Fixture *fixture)
{
  ir_session_redo (fixture->session);
  wait_for ("the redo", is_open_and_idle, fixture->session);
}

static void
go_to (Fixture *fixture, guint step)
{
  ir_session_goto (fixture->session, step);
  wait_for ("the step", is_open_and_idle, fixture->session);
}

/* All that is in the history: every step with its rule, and the graph at its end. */
static char *
dump (Fixture *fixture)
{
  IrModel *history = ir_session_get_history (fixture->session);
  g_autoptr (IrModel) last = ir_history_snapshot (history, ir_history_n_steps (history));
  g_autofree char *graph = ir_model_dump (last);
  g_autoptr (GString) text = g_string_new (graph);

  for (guint i = 1; i <= ir_history_n_steps (history); i++)
    {
      const IrStep *step = ir_history_step (history, i);

      g_string_append_printf (text, "%u %s %u %u\n", i, step->rule, step->anchor, step->n_records);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
assert_is (Fixture *fixture, const char *wanted)
{
  g_autofree char *text = dump (fixture);

  g_assert_true (g_strcmp0 (text, wanted) == 0); /* long: not to be printed */
}

/* -- one line -- */

static void
test_edit (Fixture *fixture, gconstpointer data)
{
  g_autofree char *before = dump (fixture), *after = NULL;

  g_assert_null (ir_session_get_undo (fixture->session));
  g_assert_null (ir_session_get_redo (fixture->session));
  rename_to (fixture, "renamed");
  after = dump (fixture);
  g_assert_true (g_strcmp0 (after, before) != 0);
  g_assert_cmpstr (ir_session_get_undo (fixture->session), ==, "Rename Node");
  g_assert_null (ir_session_get_redo (fixture->session));
  g_assert_true (ir_session_get_modified (fixture->session));
  undo (fixture);
  assert_is (fixture, before);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), ==, 0);
  g_assert_null (ir_session_get_undo (fixture->session));
  g_assert_cmpstr (ir_session_get_redo (fixture->session), ==, "Rename Node");
  g_assert_false (ir_session_get_modified (fixture->session));
  redo (fixture);
  assert_is (fixture, after);
  g_assert_cmpuint (ir_session_get_cursor (fixture->session), ==, 1);
  g_assert_true (ir_session_get_modified (fixture->session));
  g_assert_cmpuint (ir_session_get_n_branches (fixture->session), ==, 0);
}

/* Edits that only make the history longer have one timeline, out of which each state comes whole. */
static void
test_many_edits (Fixture *fixture, gconstpointer data)
{
  char *texts[5];

  texts[0] = dump (fixture);
  for (guint i = 1; i < G_N_ELEMENTS (texts); i++)
    {
      g_autofree char *name = g_strdup_printf ("name%u", i);

      rename_to (fixture, name);
      texts[i] = dump (fixture);
    }
  for (guint i = G_N_ELEMENTS (texts) - 1; i-- > 0;)
    {
      undo (fixture);
      assert_is (fixture, texts[i]);
    }
  for (guint i = 1; i < G_N_ELEMENTS (texts); i++)
    {
      redo (fixture);
      assert_is (fixture, texts[i]);
    }
  g_assert_null (ir_session_get_redo (fixture->session));
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    g_free (texts[i]);
}

static void
test_pipeline (Fixture *fixture, gconstpointer data)
{
  g_autofree char *before = dump (fixture), *after = NULL;
  guint n_steps;

  run_pipeline (fixture);
  after = dump (fixture);
  n_steps = ir_session_get_n_steps (fixture->session);
  g_assert_cmpuint (n_steps, >, 5);
  g_assert_cmpstr (ir_session_get_undo (fixture->session), ==, "Run Pipeline default");
  go_to (fixture, 4);
  undo (fixture);
  assert_is (fixture, before);
  g_assert_cmpstr (ir_session_get_redo (fixture->session), ==, "Run Pipeline default");
  redo (fixture);
  assert_is (fixture, after);
  g_assert_cmpuint (ir_session_get_cursor (fixture->session), ==, 4); /* where one was */
  g_assert_false (ir_session_get_modified (fixture->session));
}

/* What was saved is compared with what is there, not with what was done. */
static void
test_saved (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "edited.onnx", NULL);

  rename_to (fixture, "renamed");
  go_to (fixture, 0);
  ir_session_export (fixture->session, path);
  wait_for ("the file", is_open_and_idle, fixture->session);
  g_assert_true (ir_session_get_modified (fixture->session)); /* it is not in there */
  go_to (fixture, 1);
  ir_session_export (fixture->session, path);
  wait_for ("the file", is_open_and_idle, fixture->session);
  g_assert_false (ir_session_get_modified (fixture->session));
  undo (fixture);
  g_assert_true (ir_session_get_modified (fixture->session));
  redo (fixture);
  g_assert_false (ir_session_get_modified (fixture->session));
  g_remove (path);
  g_rmdir (dir);
}

/* The file is the one that is open from then on, and is written over while its weights are mapped. */
static void
test_save (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "saved.onnx", NULL);
  static const char *const names[] = { "first", "second", "third" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (IrModel) read = NULL;

      rename_to (fixture, names[i]);
      g_assert_true (ir_session_get_modified (fixture->session));
      ir_session_save (fixture->session, path);
      wait_for ("the file", is_open_and_idle, fixture->session);
      g_assert_false (ir_session_get_modified (fixture->session));
      g_assert_cmpstr (ir_session_get_path (fixture->session), ==, path);
      g_assert_cmpstr (ir_session_get_title (fixture->session), ==, "saved.onnx");
      read = ir_model_load (path, NULL, NULL, NULL);
      g_assert_nonnull (ir_graph_find_node (read->main, names[i]));
    }
  undo (fixture);
  g_assert_true (ir_session_get_modified (fixture->session));
  g_remove (path);
  g_rmdir (dir);
}

/* Acts are steps with titles; what they make is selected, and what cannot be done changes nothing. */
static void
test_act (Fixture *fixture, gconstpointer data)
{
  g_autofree char *before = dump (fixture);
  IrNodeId made;

  ir_session_act (fixture->session,
                  (const char *const[]){ "add", "Relu", "/fc/Add_output_0", "name=extra", NULL });
  wait_for ("the act", is_open_and_idle, fixture->session);
  g_assert_cmpstr (ir_session_get_undo (fixture->session), ==, "Add Node");
  made = ir_session_get_selected_node (fixture->session);
  g_assert_cmpstr (ir_model_node (ir_session_get_history (fixture->session), made)->name, ==,
                   "extra");
  undo (fixture);
  assert_is (fixture, before);
  ir_session_act (fixture->session, (const char *const[]){ "add", "Rleu", NULL });
  wait_for ("the act", is_open_and_idle, fixture->session);
  assert_is (fixture, before);
  g_assert_cmpstr (ir_session_get_redo (fixture->session), ==, "Add Node");
}

/* What is wrong with a graph goes and comes with the edit that made it so. */
static void
test_problems (Fixture *fixture, gconstpointer data)
{
  static const char text[] = "<ir_version: 8, opset_import: [\"\": 17]>\n"
                             "g (float[2,3] x, float[4] w) => (float[2,3] y) {\n"
                             "  h = Relu (x)\n  z = Add (h, w)\n  y = Sigmoid (z)\n}\n";
  guint n;

  ir_session_new_model (fixture->session);
  wait_for ("the new graph", is_open_and_idle, fixture->session);
  g_assert_cmpuint (ir_session_get_problems (fixture->session)->len, ==, 0);
  ir_session_edit (fixture->session, "Apply Text", ir_done_new (IR_DONE_ACT, "rename", NULL, 0),
                   apply_text, g_strdup (text), g_free);
  wait_for ("the edit", is_open_and_idle, fixture->session);
  n = ir_session_get_problems (fixture->session)->len;
  g_assert_cmpuint (n, >, 0);
  undo (fixture);
  g_assert_cmpuint (ir_session_get_problems (fixture->session)->len, ==, 0);
  redo (fixture);
  g_assert_cmpuint (ir_session_get_problems (fixture->session)->len, ==, n);
}

/* -- branches -- */

static void
assert_branch (Fixture *fixture, guint index, const char *title, guint n_steps, guint n_shared)
{
  const IrBranch branch = ir_session_get_branch (fixture->session, index);

  g_assert_cmpstr (branch.title, ==, title);
  g_assert_cmpuint (branch.n_steps, ==, n_steps);
  g_assert_cmpuint (branch.n_shared, ==, n_shared);
}

static void
test_earlier_edit (Fixture *fixture, gconstpointer data)
{
  g_autofree char *whole = NULL, *edited = NULL;
  guint n_steps;

  run_pipeline (fixture);
  whole = dump (fixture);
  n_steps = ir_session_get_n_steps (fixture->session);
  go_to (fixture, 3);
  rename_to (fixture, "renamed");
  edited = dump (fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), ==, 4);
  g_assert_cmpuint (ir_session_get_n_branches (fixture->session), ==, 1);
  assert_branch (fixture, 0, "Run Pipeline default", n_steps, 3);

  ir_session_go_to_branch (fixture->session, 0);
  wait_for ("the branch", is_open_and_idle, fixture->session);
  assert_is (fixture, whole);
  g_assert_cmpuint (ir_session_get_cursor (fixture->session), ==, n_steps);
  g_assert_cmpuint (ir_session_get_n_branches (fixture->session), ==, 1);
  assert_branch (fixture, 0, "Rename Node", 4, 3);
  g_assert_false (ir_session_get_modified (fixture->session));

  ir_session_go_to_branch (fixture->session, 0);
  wait_for ("the edited one", is_open_and_idle, fixture->session);
  assert_is (fixture, edited);
  g_assert_true (ir_session_get_modified (fixture->session));
  undo (fixture); /* it leads there, too: then it is no other history */
  assert_is (fixture, whole);
  g_assert_cmpuint (ir_session_get_cursor (fixture->session), ==, 3);
  g_assert_cmpuint (ir_session_get_n_branches (fixture->session), ==, 0);
  redo (fixture);
  g_assert_cmpuint (ir_session_get_n_branches (fixture->session), ==, 1);
}

/* What was undone is not lost when something else is done. */
static void
test_edit_after_undo (Fixture *fixture, gconstpointer data)
{
  g_autofree char *first = NULL, *other = NULL;

  rename_to (fixture, "a");
  rename_to (fixture, "b");
  first = dump (fixture);
  undo (fixture);
  rename_to (fixture, "c");
  other = dump (fixture);
  g_assert_null (ir_session_get_redo (fixture->session));
  g_assert_cmpuint (ir_session_get_n_branches (fixture->session), ==, 1);
  assert_branch (fixture, 0, "Rename Node", 2, 1);
  ir_session_go_to_branch (fixture->session, 0);
  wait_for ("the branch", is_open_and_idle, fixture->session);
  assert_is (fixture, first);
  ir_session_go_to_branch (fixture->session, 0);
  wait_for ("the other one", is_open_and_idle, fixture->session);
  assert_is (fixture, other);
  ir_session_new_model (fixture->session);
  wait_for ("a new graph", is_open_and_idle, fixture->session);
  g_assert_cmpuint (ir_session_get_n_branches (fixture->session), ==, 0);
  g_assert_null (ir_session_get_undo (fixture->session));
}

/* -- pipelines over edits -- */

static guint
n_edits (Fixture *fixture)
{
  const IrModel *history = ir_session_get_history (fixture->session);
  guint n = 0;

  for (guint i = 1; i <= ir_history_n_steps (history); i++)
    n += g_strcmp0 (ir_history_pass_of (history, i), "edit") == 0;
  return n;
}

/* Steps of a pipeline, an edit of what it made, and the pipeline again. */
static void
test_pipeline_over_edit (Fixture *fixture, gconstpointer data)
{
  g_autofree char *edited = NULL, *again = NULL;
  guint n_steps;

  run_pipeline (fixture);
  n_steps = ir_session_get_n_steps (fixture->session);
  rename_to (fixture, "renamed");
  edited = dump (fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), ==, n_steps + 1);
  run_pipeline (fixture);
  again = dump (fixture);
  g_assert_cmpuint (n_edits (fixture), ==, 1);
  g_assert_nonnull (
      ir_graph_find_node (ir_session_get_frame (fixture->session)->model->main, "renamed"));
  g_assert_true (ir_session_get_modified (fixture->session));
  run_pipeline (fixture); /* in the place of the run before */
  assert_is (fixture, again);
  undo (fixture);
  undo (fixture);
  assert_is (fixture, edited);
}

/* An edit in the middle of what a pipeline made: the pipeline goes on from there. */
static void
test_pipeline_over_earlier_edit (Fixture *fixture, gconstpointer data)
{
  guint n_refusals;

  run_pipeline (fixture);
  go_to (fixture, 3);
  rename_to (fixture, "renamed");
  run_pipeline (fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), >, 4);
  g_assert_cmpstr (ir_history_pass_of (ir_session_get_history (fixture->session), 4), ==, "edit");
  g_assert_cmpuint (n_edits (fixture), ==, 1);
  n_refusals = ir_history_n_refusals (ir_session_get_history (fixture->session));
  run_pipeline (fixture); /* in the place of the run before, and of what that refused */
  g_assert_cmpuint (ir_history_n_refusals (ir_session_get_history (fixture->session)), ==,
                    n_refusals);
  undo (fixture);
  undo (fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), ==, 4);
}

/* A what-if is no edit; who edits its result can go back to it. */
static void
test_what_if (Fixture *fixture, gconstpointer data)
{
  g_autofree char *whole = NULL, *without = NULL;

  run_pipeline (fixture);
  whole = dump (fixture);
  ir_session_skip (fixture->session, "fold-conv-bn");
  wait_for ("the what-if", is_open_and_idle, fixture->session);
  g_assert_cmpstr (ir_session_get_undo (fixture->session), ==, "What If");
  undo (fixture);
  assert_is (fixture, whole);
  g_assert_cmpstr (ir_session_get_undo (fixture->session), ==, "Run Pipeline default");
  ir_session_skip (fixture->session, "fold-conv-bn");
  wait_for ("the what-if", is_open_and_idle, fixture->session);
  without = dump (fixture);
  g_assert_true (g_strcmp0 (without, whole) != 0);
  rename_to (fixture, "renamed");
  undo (fixture);
  assert_is (fixture, without);
  undo (fixture);
  assert_is (fixture, whole);
}

/* -- a newer opset -- */

static const char old_forms[] = "<ir_version: 6, opset_import: [\"\" : 11]>\n"
                                "g (float[1,2,1] x) => (float[2] y) { h = Identity (x) "
                                "y = Squeeze <axes: ints = [0, 2]> (h) }";

static gint64
opset_of (Fixture *fixture)
{
  return ir_model_opset (ir_session_get_frame (fixture->session)->model, "");
}

/* Nodes take their new forms in steps that are one edit, and pipelines leave them. */
static void
test_upgrade (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "old.onnxtxt", NULL);
  guint n;

  g_assert_true (g_file_set_contents (path, old_forms, -1, NULL));
  ir_session_open (fixture->session, path);
  wait_for ("the model", is_open_and_idle, fixture->session);
  ir_session_act (fixture->session, (const char *const[]){ "opset", "13", NULL });
  wait_for ("the upgrade", is_open_and_idle, fixture->session);
  n = ir_session_get_n_steps (fixture->session);
  g_assert_cmpuint (n, ==, 2); /* the axes, and the import */
  g_assert_cmpint (opset_of (fixture), ==, 13);
  g_assert_cmpstr (ir_session_get_undo (fixture->session), ==, "Upgrade to Opset 13");
  run_pipeline (fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), >, n);
  g_assert_cmpint (opset_of (fixture), ==, 13);
  undo (fixture);
  undo (fixture);
  g_assert_cmpint (opset_of (fixture), ==, 11);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), ==, 0);
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
#define ADD(NAME, TEST) g_test_add ("/undo/" NAME, Fixture, NULL, set_up, TEST, tear_down)
  ADD ("takes an edit back, and does it again", test_edit);
  ADD ("takes many edits back, one by one", test_many_edits);
  ADD ("takes all of a pipeline back at once", test_pipeline);
  ADD ("knows which edits are in the file", test_saved);
  ADD ("saves over the file that is open", test_save);
  ADD ("does acts, whole or not at all", test_act);
  ADD ("brings back what was wrong", test_problems);
  ADD ("keeps what follows an earlier edit as a branch", test_earlier_edit);
  ADD ("keeps what was undone before another edit", test_edit_after_undo);
  ADD ("runs a pipeline over an edit of what it made", test_pipeline_over_edit);
  ADD ("runs a pipeline over an edit in the middle of it", test_pipeline_over_earlier_edit);
  ADD ("goes back to the result of a what-if", test_what_if);
  ADD ("a newer opset is an edit", test_upgrade);
  return run_window_tests ();
}
