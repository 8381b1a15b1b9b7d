/* The graph's search: what it finds, and where closed boxes hold it. */
#include "config.h"

#include "core/layout/scene.h"
#include "tests/gui/waiting.h"
#include "views/graph/search.h"
#include "views/picture.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#include <glib/gstdio.h>
#include <gtk/gtk.h>
#include <string.h>

/* -- waiting -- */

static gboolean
is_current (gpointer data)
{
  const IrFrame *frame = ir_session_get_frame (data);

  return is_idle (data) && frame->serial == ir_session_get_picture_serial (data);
}

static IrSession *
open_file (const char *path)
{
  IrSession *session = ir_session_new ();

  ir_session_open (session, path);
  wait_for ("the model", is_open_and_idle, session);
  return session;
}

static guint
length (GListStore *store)
{
  return g_list_model_get_n_items (G_LIST_MODEL (store));
}

static void
test_search (void)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "digits.onnx", NULL);
  g_autoptr (IrSession) session = open_file (path);
  const IrFrame *frame = ir_session_get_frame (session);
  g_autoptr (GError) error = NULL;
  g_autoptr (GListStore) conv = ir_search_frame (session, frame, "conv", NULL);
  g_autoptr (GListStore) both = ir_search_frame (session, frame, "CONV1 conv", NULL);
  g_autoptr (GListStore) none = ir_search_frame (session, frame, "no such node", NULL);
  g_autoptr (GListStore) empty = ir_search_frame (session, frame, "  ", NULL);

  g_autoptr (GListStore) input = ir_search_frame (session, frame, "name:image", NULL);

  g_assert_cmpuint (length (conv), >=, 3);
  g_assert_cmpuint (length (both), >=, 1);
  g_assert_cmpuint (length (both), <, length (conv));
  g_assert_cmpuint (length (none), ==, 0);
  g_assert_cmpuint (length (empty), ==, 0);
  g_assert_cmpuint (length (input), >=, 1);
  g_assert_null (ir_search_frame (session, frame, "cost>lots", &error));
  g_assert_error (error, IR_QUERY_ERROR, IR_QUERY_ERROR_SYNTAX);
}

/* Two scopes in the main graph; in the branch of one a scope with two nodes, and a branch in it. */
static const char nested[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[4] x, bool c) => (float[4] y) {\n"
    "  [\"/head/Relu\"] a = Relu (x)\n"
    "  [\"/head/If\"] b = If (c) <then_branch = t () => (float[4] p) {\n"
    "      [\"/cell/Tanh\"] i = Tanh (a)\n"
    "      [\"/cell/Sigmoid\"] j = Sigmoid (i)\n"
    "      [\"/cell/If\"] k = If (c) <then_branch = u () => (float[4] q) {\n"
    "          [\"/deep/Cos\"] m = Cos (j)\n"
    "          [\"/deep/Sin\"] n = Sin (m)\n"
    "          q = Ceil (n) },\n"
    "        else_branch = v () => (float[4] r) { r = Abs (j) }>\n"
    "      p = Floor (k) },\n"
    "    else_branch = e () => (float[4] s) { s = Neg (a) }>\n"
    "  y = Exp (b)\n"
    "}\n";

/* The fold of the frame that shows @title, closed. */
static void
close_frame (IrSession *session, const char *title)
{
  const IrScene *scene = ir_session_get_frame (session)->scene;
  guint n, n_texts;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);
  const IrSceneText *texts = ir_scene_texts (scene, &n_texts);

  for (guint i = 0; i < n_texts; i++)
    if (texts[i].box >= 0 && g_str_has_suffix (texts[i].text, title))
      {
        ir_session_toggle_fold (session, boxes[texts[i].box].fold);
        wait_for ("the folded graph", is_current, session);
        return;
      }
  g_error ("no frame is called %s", title);
}

/* The only node that is found, or 0. */
static IrNodeId
find_alone (IrSession *session, const char *text)
{
  const IrFrame *frame = ir_session_get_frame (session);
  g_autoptr (GListStore) hits = ir_search_frame (session, frame, text, NULL);
  g_autoptr (IrFound) found = NULL;

  g_assert_cmpuint (length (hits), <=, 1);
  found = g_list_model_get_item (G_LIST_MODEL (hits), 0);
  return found != NULL ? found->node : 0;
}

/* The closed box that has @title */
static const IrSceneBox *
find_closed (IrSession *session, const char *title)
{
  const IrScene *scene = ir_session_get_frame (session)->scene;
  guint n, n_texts;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);
  const IrSceneText *texts = ir_scene_texts (scene, &n_texts);

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind == IR_SCENE_FOLD && g_str_has_suffix (texts[boxes[i].first_text].text, title))
      return &boxes[i];
  return NULL;
}

/* Where @fold is closed by itself, it opens for the node that makes the value @name. */
static void
assert_reveals (IrSession *session, const char *fold, const char *name)
{
  const IrFrame *frame = ir_session_get_frame (session);
  g_autoptr (GHashTable) folds = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  g_hash_table_add (folds, g_strdup (fold));
  for (guint id = 1; id < frame->model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (frame->model, id);

      if (value != NULL && g_strcmp0 (value->name, name) == 0)
        g_assert_true (ir_look_reveal (folds, frame->diff, value->producer));
    }
  g_assert_cmpuint (g_hash_table_size (folds), ==, 0);
}

/* What lies in closed scopes of branches is found where the outermost of them is closed, and is
 * told how to be opened. */
static void
test_search_folds (void)
{
  static const char *const names[] = { "tanh", "sigmoid", "op:sin", "op:cos", "name:deep op:cos" };
  static const char *const frames[] = { "deep", "cell", "head" };
  g_autoptr (IrSession) session = NULL;
  g_autofree char *folder = g_dir_make_tmp ("irscope-folds-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "nested.onnxtxt", NULL);

  g_assert_true (g_file_set_contents (path, nested, -1, NULL));
  session = open_file (path);
  for (guint i = 0; i < G_N_ELEMENTS (frames); i++)
    {
      const IrNodeId sin = find_alone (session, "op:sin");
      const IrSceneBox *closed;

      g_assert_cmpint (ir_frame_find_box (ir_session_get_frame (session), sin), >=, 0);
      close_frame (session, frames[i]);
      closed = find_closed (session, frames[i]);
      g_assert_nonnull (closed);
      g_assert_true (g_str_has_prefix (closed->fold, "scope:"));
      assert_reveals (session, closed->fold, "n");
      g_assert_cmpuint (find_alone (session, "op:sin"), ==, sin);
      g_assert_cmpint (ir_frame_find_box (ir_session_get_frame (session), sin), <, 0);
      ir_session_show_node (session, sin); /* closed by hand, and opened for what was chosen */
      wait_for ("the opened graph", is_current, session);
      g_assert_cmpint (ir_frame_find_box (ir_session_get_frame (session), sin), >=, 0);
      g_assert_cmpuint (ir_session_get_selected_node (session), ==, sin);
    }
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_cmpuint (find_alone (session, names[i]), !=, 0);
  g_assert_cmpuint (find_alone (session, "softmax"), ==, 0);
  g_remove (path);
  g_rmdir (folder);
}

/* Opening a group and closing it again leaves all where it was, whichever was opened in between. */
static void
test_closing_restores (void)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "transformer-block.onnx",
                                            NULL);
  g_autoptr (IrSession) session = open_file (path);
  g_autofree char *before = NULL, *fold = NULL;
  static const char *const frames[] = { "attention", "query", "self" };

  ir_session_set_folds (session, TRUE);
  wait_for ("the closed graph", is_current, session);
  g_assert_true (ir_session_has_folds (session, TRUE));
  before = ir_scene_to_text (ir_session_get_frame (session)->scene);
  for (guint i = 0; i < G_N_ELEMENTS (frames); i++)
    {
      const IrSceneBox *closed = find_closed (session, frames[i]);
      g_autofree char *open = NULL, *after = NULL;

      if (closed == NULL)
        continue;
      g_free (fold);
      fold = g_strdup (closed->fold);
      ir_session_select_fold (session, fold);
      g_assert_cmpstr (ir_session_get_selected_fold (session), ==, fold);
      ir_session_toggle_fold (session, fold);
      wait_for ("the opened group", is_current, session);
      open = ir_scene_to_text (ir_session_get_frame (session)->scene);
      g_assert_cmpstr (open, !=, before);
      ir_session_toggle_fold (session, fold);
      wait_for ("the closed group", is_current, session);
      after = ir_scene_to_text (ir_session_get_frame (session)->scene);
      g_assert_cmpstr (after, ==, before);
    }
  g_assert_nonnull (fold);
  ir_session_set_folds (session, FALSE);
  wait_for ("the open graph", is_current, session);
  g_assert_false (ir_session_has_folds (session, TRUE));
}

int
main (int argc, char *argv[])
{
  start_window_tests (&argc, &argv);
  g_test_add_func ("/search/finds nodes by words", test_search);
  g_test_add_func ("/search/finds nodes in closed scopes of branches", test_search_folds);
  g_test_add_func ("/search/a group that is closed again leaves no trace", test_closing_restores);
  return run_window_tests ();
}
