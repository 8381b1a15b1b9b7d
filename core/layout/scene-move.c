/* Boxes at places of somebody's choice: the scene as it was laid out, with some boxes moved and the
 * lines at them drawn anew. */
#include "config.h"

#include "core/layout/scene-private.h"

#include <math.h>

#define LABEL_REACH 40.0 /* px from the end of a line where a label is taken to be its */

typedef struct
{
  IrScene *scene;
  IrLayoutPoint *by; /* per box */
} Move;

static gboolean
is_moved (const Move *move, gint32 box)
{
  return box >= 0 && (move->by[box].x != 0 || move->by[box].y != 0);
}

static void
move_labels (Move *move, IrLayoutPoint at, IrLayoutPoint by, guint8 *done)
{
  for (guint i = 0; i < move->scene->texts->len; i++)
    {
      IrSceneText *text = &g_array_index (move->scene->texts, IrSceneText, i);

      if (text->box >= 0 || done[i] || hypot (text->x - at.x, text->y - at.y) > LABEL_REACH)
        continue;
      text->x += by.x;
      text->y += by.y;
      done[i] = TRUE;
    }
}

/* From end to end by one bend in the middle, along the way that it began with. */
static void
route (Move *move, IrSceneLine *line, guint8 *done)
{
  const IrLayoutPoint none = { 0, 0 };
  const IrLayoutPoint from_by = line->from >= 0 ? move->by[line->from] : none;
  const IrLayoutPoint to_by = line->to >= 0 ? move->by[line->to] : none;
  IrLayoutPoint *points = &g_array_index (move->scene->points, IrLayoutPoint, line->first_point);
  const IrLayoutPoint first = points[0], last = points[line->n_points - 1];
  const gboolean down = fabs (points[1].y - first.y) >= fabs (points[1].x - first.x);
  IrLayoutPoint path[4];

  move_labels (move, first, from_by, done);
  move_labels (move, last, to_by, done);
  if (from_by.x == to_by.x && from_by.y == to_by.y)
    {
      for (guint i = 0; i < line->n_points; i++)
        points[i] = (IrLayoutPoint){ points[i].x + from_by.x, points[i].y + from_by.y };
      return;
    }
  path[0] = (IrLayoutPoint){ first.x + from_by.x, first.y + from_by.y };
  path[3] = (IrLayoutPoint){ last.x + to_by.x, last.y + to_by.y };
  if (down)
    {
      const double middle = (path[0].y + path[3].y) / 2;

      path[1] = (IrLayoutPoint){ path[0].x, middle };
      path[2] = (IrLayoutPoint){ path[3].x, middle };
    }
  else
    {
      const double middle = (path[0].x + path[3].x) / 2;

      path[1] = (IrLayoutPoint){ middle, path[0].y };
      path[2] = (IrLayoutPoint){ middle, path[3].y };
    }
  line->first_point = move->scene->points->len;
  line->n_points = G_N_ELEMENTS (path);
  g_array_append_vals (move->scene->points, path, G_N_ELEMENTS (path));
}

/* Frames reach around what lies in them. */
static void
stretch_frames (IrScene *scene)
{
  for (guint i = scene->boxes->len; i > 0; i--)
    {
      const IrSceneBox *box = &g_array_index (scene->boxes, IrSceneBox, i - 1);
      IrSceneBox *around = box->parent >= 0 ? &g_array_index (scene->boxes, IrSceneBox, box->parent)
                                            : NULL;
      double right, bottom;

      if (around == NULL)
        continue;
      right = MAX (around->x + around->width, box->x + box->width + 8);
      bottom = MAX (around->y + around->height, box->y + box->height + 8);
      around->x = MIN (around->x, box->x - 8);
      around->y = MIN (around->y, box->y - 8);
      around->width = right - around->x;
      around->height = bottom - around->y;
    }
}

/**
 * ir_scene_move:
 * @scene: a finished scene that nobody else reads yet
 * @moves: key of a box -> IrLayoutPoint, px: how far it stands from where it was laid out
 *
 * Moves boxes that are no frames, with their texts; lines at them are drawn anew with one bend, and
 * frames reach around what they hold.
 */
void
ir_scene_move (IrScene *scene, GHashTable *moves)
{
  Move move = { scene, g_new0 (IrLayoutPoint, scene->boxes->len + 1) };
  g_autofree guint8 *done = g_new0 (guint8, scene->texts->len + 1);
  gboolean any = FALSE;

  for (guint i = 0; i < scene->boxes->len; i++)
    {
      IrSceneBox *box = &g_array_index (scene->boxes, IrSceneBox, i);
      const IrLayoutPoint *by = box->kind != IR_SCENE_CLUSTER
                                    ? g_hash_table_lookup (moves, &box->key)
                                    : NULL;

      if (by == NULL)
        continue;
      any = TRUE;
      move.by[i] = *by;
      box->x += by->x;
      box->y += by->y;
      for (guint k = 0; k < box->n_texts; k++)
        {
          IrSceneText *text = &g_array_index (scene->texts, IrSceneText, box->first_text + k);

          text->x += by->x;
          text->y += by->y;
        }
    }
  for (guint i = 0; any && i < scene->lines->len; i++)
    {
      IrSceneLine *line = &g_array_index (scene->lines, IrSceneLine, i);

      if (line->n_points >= 2 && (is_moved (&move, line->from) || is_moved (&move, line->to)))
        route (&move, line, done);
    }
  g_free (move.by);
  if (!any)
    return;
  stretch_frames (scene);
  g_clear_pointer (&scene->cell_start, g_free);
  g_clear_pointer (&scene->cell_items, g_free);
  scene->finished = FALSE;
  ir_scene_finish (scene);
}
