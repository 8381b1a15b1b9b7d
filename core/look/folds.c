/* What is closed by itself: in large graphs scopes, until the rest can be read. */
#include "config.h"

#include "core/look/look.h"

#define MANY_BOXES   60     /* what is left open is not more, if that can be */
#define MORE_BOXES   30     /* that may come to what lies outside of all scopes */
#define SMALL_HEIGHT 1800.0 /* px; as much fits a window at a scale at which operators are read */
#define SMALL_WIDTH  3000.0
#define SCOPE        "scope:" /* of keys of folds */

/* The scopes of a picture, by box. */
typedef struct
{
  guint n, deepest;
  const IrSceneBox *boxes;
  guint *depths;      /* scopes around a box, itself included if it is one */
  gboolean *has_more; /* of a scope: there are scopes in it */
} Scopes;

static gboolean
is_scope (const IrSceneBox *box)
{
  return box->kind == IR_SCENE_CLUSTER && box->fold != NULL && g_str_has_prefix (box->fold, SCOPE);
}

static void
find_scopes (Scopes *scopes, const IrScene *scene)
{
  scopes->boxes = ir_scene_boxes (scene, &scopes->n);
  scopes->deepest = 0;
  scopes->depths = g_new0 (guint, scopes->n + 1);
  scopes->has_more = g_new0 (gboolean, scopes->n + 1);
  for (guint i = 0; i < scopes->n; i++)
    {
      for (gint32 k = (gint32) i; k >= 0; k = scopes->boxes[k].parent)
        {
          scopes->depths[i] += is_scope (&scopes->boxes[k]);
          if (k != (gint32) i && is_scope (&scopes->boxes[i]))
            scopes->has_more[k] = TRUE;
        }
      scopes->deepest = MAX (scopes->deepest, scopes->depths[i]);
    }
}

/* Whether a scope is closed when those of @level are: these, and those that end before. */
static gboolean
is_closed (const Scopes *scopes, guint index, guint level)
{
  return is_scope (&scopes->boxes[index]) &&
         (scopes->depths[index] == level ||
          (scopes->depths[index] < level && !scopes->has_more[index]));
}

/* Boxes that are left then. */
static guint
left_at (const Scopes *scopes, guint level)
{
  guint left = 0;

  for (guint i = 0; i < scopes->n; i++)
    {
      gint32 around = scopes->boxes[i].parent;

      while (around >= 0 && !is_closed (scopes, (guint) around, level))
        around = scopes->boxes[around].parent;
      left += around < 0 &&
              (scopes->boxes[i].kind != IR_SCENE_CLUSTER || is_closed (scopes, i, level));
    }
  return left;
}

static GHashTable *
choose_level (const Scopes *scopes)
{
  GHashTable *keys;
  guint level = scopes->deepest;
  const guint outermost = left_at (scopes, 1);

  if (scopes->deepest == 0 || 3 * outermost > scopes->n)
    return NULL;
  while (level > 1 && left_at (scopes, level) > MAX (MANY_BOXES, outermost + MORE_BOXES))
    level--;
  keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < scopes->n; i++)
    if (is_closed (scopes, i, level))
      g_hash_table_add (keys, g_strdup (scopes->boxes[i].fold));
  return keys;
}

/* Copies of one block, and arithmetic on shapes. */
static gboolean
nobody_reads (const IrSceneBox *box)
{
  return box->kind == IR_SCENE_CLUSTER && box->fold != NULL &&
         (g_str_has_prefix (box->fold, "repeat:") || g_str_has_prefix (box->fold, "shape:"));
}

/**
 * ir_look_choose_folds:
 * @scene: the picture of a graph with all scopes open
 *
 * Returns: (transfer full) (nullable): keys of the scopes to close so that the picture can be taken
 *   in at once: copies of one block, arithmetic on shapes, and those of the deepest level that leaves few boxes, or few more than closing the
 *   outermost ones does; %NULL if the picture is small, or has no scopes to speak of
 */
GHashTable *
ir_look_choose_folds (const IrScene *scene)
{
  const IrLayoutRect bounds = ir_scene_bounds (scene);
  Scopes scopes;
  GHashTable *keys = NULL;

  find_scopes (&scopes, scene);
  if (scopes.n > MANY_BOXES && (bounds.height > SMALL_HEIGHT || bounds.width > SMALL_WIDTH))
    keys = choose_level (&scopes);
  for (guint i = 0; i < scopes.n; i++)
    if (nobody_reads (&scopes.boxes[i]))
      {
        if (keys == NULL)
          keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
        g_hash_table_add (keys, g_strdup (scopes.boxes[i].fold));
      }
  g_free (scopes.depths);
  g_free (scopes.has_more);
  return keys;
}

/**
 * ir_look_reveal:
 * @folds: keys of folds that are closed
 * @diff: (nullable): what the picture is made of
 * @node: a node of either side
 *
 * Takes what @node lies in out of @folds.
 *
 * Returns: whether there was some
 */
gboolean
ir_look_reveal (GHashTable *folds, const IrDiff *diff, const IrNode *node)
{
  g_autoptr (GPtrArray) keys = NULL;
  gboolean any = FALSE;

  if (g_hash_table_size (folds) == 0)
    return FALSE;
  keys = ir_scene_fold_keys (diff, node);
  for (guint i = 0; i < keys->len; i++)
    any |= g_hash_table_remove (folds, keys->pdata[i]);
  return any;
}
