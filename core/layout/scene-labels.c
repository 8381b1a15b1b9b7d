/* What stands beside the lines of a graph: types of values, and what else there is to say of them. */
#include "config.h"

#include "core/layout/draft-private.h"
#include "core/layout/scene-private.h"

#define MAX_DROP    64.0 /* px that a label may be away from its box */
#define LABEL_WIDTH 144  /* px, at most */

static const SceneItem *
item_at (const SceneDraft *draft, guint i)
{
  return &g_array_index (draft->items, SceneItem, i);
}

/* g_int64_hash() looks at the low half only. */
static guint64
net_of (const SceneLink *link)
{
  return (guint32) link->from | ((link->from_port * 0x9e3779b97f4a7c15u) & ~(guint64) G_MAXUINT32);
}

/* Net -> state of its lines + 1; the same where they differ, since both sides have one then. */
static GHashTable *
states_of_nets (const SceneDraft *draft)
{
  GHashTable *states = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);

  for (guint i = 0; i < draft->links->len; i++)
    {
      const SceneLink *link = &g_array_index (draft->links, SceneLink, i);
      const guint64 net = net_of (link);
      const gint known = GPOINTER_TO_INT (g_hash_table_lookup (states, &net)) - 1;
      const gint state = known < 0 || known == (gint) link->state ? (gint) link->state
                                                                  : IR_SCENE_SAME;

      g_hash_table_insert (states, g_memdup2 (&net, sizeof net), GINT_TO_POINTER (state + 1));
    }
  return states;
}

/* Of items with several outputs: item -> GArray of double, where its lines begin, in px. */
static GHashTable *
starts_of_lines (const IrScene *scene, const SceneDraft *draft)
{
  GHashTable *starts = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_array_unref);

  for (guint i = 0; i < draft->links->len; i++)
    {
      const SceneLink *link = &g_array_index (draft->links, SceneLink, i);
      const SceneItem *from = link->from >= 0 ? item_at (draft, (guint) link->from) : NULL;
      GArray *known;
      guint n;

      if (from == NULL || from->out == NULL || from->out->len < 2)
        continue;
      known = g_hash_table_lookup (starts, GINT_TO_POINTER (link->from));
      if (known == NULL)
        {
          known = g_array_new (FALSE, FALSE, sizeof (double));
          g_hash_table_insert (starts, GINT_TO_POINTER (link->from), known);
        }
      g_array_append_val (known, ir_layout_edge (scene->layout, i, &n)[0].x);
    }
  return starts;
}

/* Whether the next output's line begins where the label of the one at @x stands: that one's label is read
 * for both, as outputs beside each other are mostly alike. */
static gboolean
is_crowded (const IrScene *scene, GHashTable *starts, gint32 from, double x, const char *label)
{
  const GArray *known = g_hash_table_lookup (starts, GINT_TO_POINTER (from));
  const double width = ir_scene_measure (scene, label, IR_SCENE_TEXT_LABEL);

  for (guint i = 0; known != NULL && i < known->len; i++)
    {
      const double other = g_array_index (known, double, i);

      if (other > x + 1 && other < x + MIN (width, LABEL_WIDTH) + 6)
        return TRUE;
    }
  return FALSE;
}

/* (transfer full) Beside the lines of @value: its type, unless its pill says that, and what else there is to say. */
static char *
label_of (const IrSceneOptions *options, const IrValue *value, gboolean is_pill)
{
  g_autofree char *type = is_pill || options->hide_shapes ? NULL : scene_type_text (value);
  g_autofree char *note = options->note != NULL ? options->note (value, options->style_data) : NULL;

  return g_strconcat (type != NULL ? type : "", type != NULL && note != NULL ? "  " : "",
                      note != NULL ? note : "", NULL);
}

/* The type of each net once, right of its line and below its layer, where no
 * box is. Inputs carry theirs inside. */
void
scene_add_labels (IrScene *scene, const SceneDraft *draft, const IrSceneOptions *options)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GHashTable) states = states_of_nets (draft), starts = starts_of_lines (scene, draft);

  for (guint i = 0; i < draft->links->len; i++)
    {
      const SceneLink *link = &g_array_index (draft->links, SceneLink, i);
      const SceneItem *from = link->from >= 0 ? item_at (draft, (guint) link->from) : NULL;
      const IrValue *value = link->vb ? link->vb : link->va;
      const guint64 net = net_of (link);
      guint n;
      const IrLayoutPoint *p = ir_layout_edge (scene->layout, i, &n);
      if (value == NULL || !g_hash_table_add (seen, g_memdup2 (&net, sizeof net)))
        continue;
      g_autofree char *type = label_of (options, value, from != NULL && scene_is_pill (from));
      if (type[0] == '\0')
        continue;
      gboolean down = p[1].y > p[0].y;
      if (down && is_crowded (scene, starts, link->from, p[0].x, type))
        continue;
      double drop = from != NULL ? ir_layout_box_drop (scene->layout, (guint) link->from) : 0;
      double below = drop <= MAX_DROP ? drop : 0;
      if (from != NULL && from->kind == IR_SCENE_FOLD)
        below = MAX (below, SCENE_STACK);
      IrSceneText text = { .style = IR_SCENE_TEXT_LABEL,
                           .state = GPOINTER_TO_INT (g_hash_table_lookup (states, &net)) - 1,
                           .box = -1,
                           .x = p[0].x + (down ? 6 : 4),
                           .y = p[0].y + (down ? 13 + below : -4),
                           .text = type };
      ir_scene_add_text (scene, &text, LABEL_WIDTH);
    }
}
