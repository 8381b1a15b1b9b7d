#include "config.h"

#include "views/graph/search.h"

#include "core/layout/scene.h"
#include "views/session/frame.h"

#include <string.h>

static void
append_node (GString *text, const IrNode *node)
{
  g_string_append_printf (text, "%s %s %s ", node->op_type, node->name, node->scope);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      g_string_append_printf (text, "%s %s ", node->outputs[i]->name,
                              ir_dtype_name (ir_value_dtype (node->outputs[i])));
}

/* All that a box can be found by, in small letters. */
static void
describe (GString *text, const IrFrame *frame, const IrSceneBox *box)
{
  const IrNode *node = ir_frame_node (frame, ir_frame_box_node (frame, box));
  const IrValue *value = box->value != 0 ? ir_model_value (frame->model, box->value) : NULL;
  g_autofree char *lower = NULL;

  g_string_truncate (text, 0);
  if (node != NULL)
    append_node (text, node);
  if (value != NULL)
    g_string_append_printf (text, "%s %s ", value->name, ir_dtype_name (ir_value_dtype (value)));
  if (box->state != IR_SCENE_SAME)
    g_string_append (text, ir_scene_state_name (box->state));
  if (node == NULL && value == NULL && box->tip != NULL)
    g_string_append (text, box->tip);
  lower = g_utf8_strdown (text->str, (gssize) text->len);
  g_string_assign (text, lower);
}

static gboolean
matches (const GString *text, GStrv words)
{
  for (guint i = 0; words[i] != NULL; i++)
    if (words[i][0] != '\0' && strstr (text->str, words[i]) == NULL)
      return FALSE;
  return TRUE;
}

/* The closed box that @node lies in, or -1: the outermost of those around it, as no other is drawn.
 * @folds: key -> index + 1 */
static gint32
fold_around (const IrFrame *frame, GHashTable *folds, const IrNode *node)
{
  g_autoptr (GPtrArray) keys = ir_scene_fold_keys (frame->diff, node);
  gint32 around = -1;

  for (guint i = 0; i < keys->len; i++)
    {
      const guint found = GPOINTER_TO_UINT (g_hash_table_lookup (folds, keys->pdata[i]));

      around = found > 0 ? (gint32) found - 1 : around;
    }
  return around;
}

/* Closed boxes that hold a node that is found. */
static void
search_folds (const IrFrame *frame, GStrv words, GString *about, GArray *hits)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (frame->scene, &n);
  g_autoptr (GHashTable) folds = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind == IR_SCENE_FOLD && boxes[i].fold != NULL)
      g_hash_table_insert (folds, (gpointer) boxes[i].fold, GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < hits->len; i++) /* found by what it says itself */
    if (boxes[g_array_index (hits, gint32, i)].kind == IR_SCENE_FOLD)
      g_hash_table_remove (folds, boxes[g_array_index (hits, gint32, i)].fold);
  for (guint id = 1; id < frame->model->nodes->len && g_hash_table_size (folds) > 0; id++)
    {
      const IrNode *node = ir_model_live_node (frame->model, id);
      g_autofree char *lower = NULL;
      gint32 fold;

      if (node == NULL)
        continue;
      g_string_truncate (about, 0);
      append_node (about, node);
      lower = g_utf8_strdown (about->str, (gssize) about->len);
      g_string_assign (about, lower);
      if (!matches (about, words) || ir_frame_find_box (frame, id) >= 0 ||
          (fold = fold_around (frame, folds, node)) < 0)
        continue;
      g_array_append_val (hits, fold);
      g_hash_table_remove (folds, boxes[fold].fold);
    }
}

/* The boxes found, of gint32; then the closed ones that hold such a node, at any depth. @text:
 * words; each must occur in the operator, a name, the scope, the element type of an output, or
 * the state in the diff ("new", "changed"). */
GArray *
ir_search_frame (const IrFrame *frame, const char *text)
{
  GArray *hits = g_array_new (FALSE, FALSE, sizeof (gint32));
  g_autofree char *lower = g_utf8_strdown (text, -1);
  g_auto (GStrv) words = g_strsplit (g_strstrip (lower), " ", -1);
  g_autoptr (GString) about = g_string_new (NULL);
  guint n = 0;
  const IrSceneBox *boxes = frame->scene != NULL ? ir_scene_boxes (frame->scene, &n) : NULL;

  if (words[0] == NULL || lower[0] == '\0')
    return hits;
  for (guint i = 0; i < n; i++)
    {
      const gint32 index = (gint32) i;

      if (boxes[i].kind == IR_SCENE_CLUSTER || boxes[i].kind == IR_SCENE_PLAIN)
        continue;
      describe (about, frame, &boxes[i]);
      if (matches (about, words))
        g_array_append_val (hits, index);
    }
  if (frame->scene != NULL)
    search_folds (frame, words, about, hits);
  return hits;
}
