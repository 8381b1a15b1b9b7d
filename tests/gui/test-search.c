/* The graph's search: what it finds, and where closed boxes hold it. */
#include "config.h"

#include "core/layout/scene.h"
#include "tests/gui/waiting.h"
#include "views/graph/search.h"
#include "views/picture.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/timeline.h"

#include <glib/gstdio.h>
#include <gtk/gtk.h>
#include <string.h>

/* -- waiting -- */

static gboolean
is_idle (gpointer data)
{
  const IrFrame *frame = ir_session_get_frame (data);

  return !ir_session_get_busy (data) &&
         (frame == NULL || frame->to == ir_session_get_cursor (data));
}

static gboolean
frame_is_laid_out (gpointer data)
{
  const IrFrame *frame = ir_session_get_frame (data);

  return is_idle (data) && frame != NULL && frame->scene != NULL;
}

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
  wait_for ("the model", frame_is_laid_out, session);
  return session;
}

static void
test_search (void)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "digits.onnx", NULL);
  g_autoptr (IrSession) session = open_file (path);
  const IrFrame *frame = ir_session_get_frame (session);
  g_autoptr (GArray) conv = ir_search_frame (frame, "conv");
  g_autoptr (GArray) both = ir_search_frame (frame, "CONV1 conv");
  g_autoptr (GArray) none = ir_search_frame (frame, "no such node");
  g_autoptr (GArray) empty = ir_search_frame (frame, "  ");

  g_assert_cmpuint (conv->len, >=, 3);
  g_assert_cmpuint (both->len, >=, 1);
  g_assert_cmpuint (both->len, <, conv->len);
  g_assert_cmpuint (none->len, ==, 0);
  g_assert_cmpuint (empty->len, ==, 0);
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
    if (texts[i].box >= 0 && strcmp (texts[i].text, title) == 0)
      {
        ir_session_toggle_fold (session, boxes[texts[i].box].fold);
        wait_for ("the folded graph", is_current, session);
        return;
      }
  g_error ("no frame is called %s", title);
}

/* The only box that is found, or NULL. */
static const IrSceneBox *
find_alone (IrSession *session, const char *text)
{
  const IrFrame *frame = ir_session_get_frame (session);
  g_autoptr (GArray) hits = ir_search_frame (frame, text);
  guint n;

  g_assert_cmpuint (hits->len, <=, 1);
  return hits->len == 0 ? NULL
                        : &ir_scene_boxes (frame->scene, &n)[g_array_index (hits, gint32, 0)];
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
        g_assert_true (ir_picture_reveal (folds, frame->diff, value->producer));
    }
  g_assert_cmpuint (g_hash_table_size (folds), ==, 0);
}

/* What lies in closed scopes of branches is found where the outermost of them is closed, and is
 * told how to be opened. */
static void
test_search_folds (void)
{
  static const char *const names[] = { "tanh", "sigmoid", "sin", "deep", "cos" };
  static const char *const frames[] = { "deep", "cell", "head" };
  g_autoptr (IrSession) session = NULL;
  g_autofree char *folder = g_dir_make_tmp ("irscope-folds-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "nested.onnxtxt", NULL);

  g_assert_true (g_file_set_contents (path, nested, -1, NULL));
  session = open_file (path);
  for (guint i = 0; i < G_N_ELEMENTS (frames); i++)
    {
      const IrSceneBox *sin;

      close_frame (session, frames[i]);
      sin = find_alone (session, "sin");
      g_assert_nonnull (sin);
      g_assert_cmpint (sin->kind, ==, IR_SCENE_FOLD);
      g_assert_true (g_str_has_prefix (sin->fold, "scope:"));
      g_assert_true (g_str_has_suffix (sin->fold, frames[i]));
      assert_reveals (session, sin->fold, "n");
    }
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_nonnull (find_alone (session, names[i]));
  g_assert_null (find_alone (session, "softmax"));
  g_remove (path);
  g_rmdir (folder);
}

int
main (int argc, char *argv[])
{
  gtk_test_init (&argc, &argv, NULL);
  g_test_add_func ("/search/finds nodes by words", test_search);
  g_test_add_func ("/search/finds nodes in closed scopes of branches", test_search_folds);
  return g_test_run ();
}
