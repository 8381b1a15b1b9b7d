#include "config.h"

#include "views/graph/tween.h"

#include <math.h>

#define MAX_BOXES 20000
#define STILL     0.5 /* px of the scene */

typedef struct
{
  IrLayoutRect rect;
  gboolean is_new, moves;
} Start;

struct _IrTween
{
  const IrSceneBox *boxes; /* of @after, which outlives this */
  guint n;
  Start *starts;  /* per box */
  IrScene *after; /* referenced */
};

static GHashTable *
index_keys (const IrScene *scene)
{
  GHashTable *index = g_hash_table_new (g_int64_hash, g_int64_equal);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    g_hash_table_insert (index, (gpointer) &boxes[i].key, (gpointer) &boxes[i]);
  return index;
}

/* What was not there comes out of the middle of what it lies in, if that was there. */
static void
start_new (IrTween *self, guint i, GHashTable *known, double dx, double dy)
{
  const IrSceneBox *box = &self->boxes[i];
  const IrSceneBox *around = box->parent >= 0
                                 ? g_hash_table_lookup (known, &self->boxes[box->parent].key)
                                 : NULL;
  Start *start = &self->starts[i];

  start->is_new = start->moves = TRUE;
  start->rect = (IrLayoutRect){ box->x, box->y, box->width, box->height };
  if (around == NULL || around->kind != IR_SCENE_FOLD)
    return;
  start->rect.x = around->x + around->width / 2 - box->width / 2 + dx;
  start->rect.y = around->y + around->height / 2 - box->height / 2 + dy;
}

IrTween *
ir_tween_new (const IrScene *before, const IrScene *after, double dx, double dy)
{
  g_autoptr (GHashTable) known = NULL;
  IrTween *self;
  gboolean any = FALSE;
  guint n_before, n;

  ir_scene_boxes (before, &n_before);
  ir_scene_boxes (after, &n);
  if (n == 0 || n > MAX_BOXES || n_before > MAX_BOXES)
    return NULL;
  known = index_keys (before);
  self = g_new0 (IrTween, 1);
  self->after = ir_scene_ref ((IrScene *) after);
  self->boxes = ir_scene_boxes (after, &self->n);
  self->starts = g_new0 (Start, self->n);
  for (guint i = 0; i < self->n; i++)
    {
      const IrSceneBox *box = &self->boxes[i], *old = g_hash_table_lookup (known, &box->key);
      Start *start = &self->starts[i];

      if (old == NULL)
        {
          start_new (self, i, known, dx, dy);
          continue;
        }
      start->rect = (IrLayoutRect){ old->x + dx, old->y + dy, old->width, old->height };
      start->moves = fabs (start->rect.x - box->x) > STILL ||
                     fabs (start->rect.y - box->y) > STILL ||
                     fabs (old->width - box->width) > STILL ||
                     fabs (old->height - box->height) > STILL;
      any |= start->moves;
    }
  if (!any)
    g_clear_pointer (&self, ir_tween_free);
  return self;
}

void
ir_tween_free (IrTween *self)
{
  ir_scene_unref (self->after);
  g_free (self->starts);
  g_free (self);
}

IrLayoutRect
ir_tween_rect (const IrTween *self, gint32 index, double t, gboolean *is_new)
{
  const IrSceneBox *box = &self->boxes[index];
  const Start *start = &self->starts[index];

  *is_new = start->is_new;
  return (IrLayoutRect){ start->rect.x + (box->x - start->rect.x) * t,
                         start->rect.y + (box->y - start->rect.y) * t,
                         start->rect.width + (box->width - start->rect.width) * t,
                         start->rect.height + (box->height - start->rect.height) * t };
}

gboolean
ir_tween_moves_line (const IrTween *self, const IrSceneLine *line)
{
  return (line->from >= 0 && self->starts[line->from].moves) ||
         (line->to >= 0 && self->starts[line->to].moves);
}
