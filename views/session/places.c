/* Where boxes stand that were moved by hand. */
#include "config.h"

#include "views/session/places.h"

#include "views/session/frame-private.h"

typedef struct
{
  GHashTable *moves; /* guint64 * -> IrLayoutPoint * */
} Places;

static void
init (gpointer state)
{
  ((Places *) state)->moves = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
}

static void
clear (gpointer state)
{
  g_hash_table_unref (((Places *) state)->moves);
}

IR_SESSION_NOUN (Places, init, clear)

/* How far boxes stand from where they are laid out, for a picture. */
void
ir_session_place_boxes (IrSession *self, IrPictureSettings *settings)
{
  GHashTableIter iter;
  gpointer key, by;

  g_hash_table_iter_init (&iter, own (self)->moves);
  while (g_hash_table_iter_next (&iter, &key, &by))
    ir_picture_settings_move (settings, *(guint64 *) key, by);
}

void
ir_session_forget_places (IrSession *self)
{
  g_hash_table_remove_all (own (self)->moves);
}

gboolean
ir_session_has_places (IrSession *self)
{
  return g_hash_table_size (own (self)->moves) > 0;
}

/**
 * ir_session_move_boxes:
 * @keys: (array length=n): of boxes
 *
 * Moves boxes of the picture; the model does not hear of it.
 */
void
ir_session_move_boxes (IrSession *self, const guint64 *keys, guint n, double dx, double dy)
{
  for (guint i = 0; i < n; i++)
    {
      IrLayoutPoint *by = g_hash_table_lookup (own (self)->moves, &keys[i]);

      if (by == NULL)
        {
          by = g_new0 (IrLayoutPoint, 1);
          g_hash_table_insert (own (self)->moves, g_memdup2 (&keys[i], sizeof keys[i]), by);
        }
      by->x += dx;
      by->y += dy;
    }
  ir_session_picture_changed (self);
}

/**
 * ir_session_keep_places:
 * @view: where they are written down
 */
void
ir_session_keep_places (IrSession *self, IrKeptView *view)
{
  GHashTableIter iter;
  gpointer key, by;

  g_hash_table_iter_init (&iter, own (self)->moves);
  while (g_hash_table_iter_next (&iter, &key, &by))
    ir_kept_view_move (view, *(guint64 *) key, *(IrLayoutPoint *) by);
}

/**
 * ir_session_show_places:
 * @view: where boxes stand as it says
 *
 * Who calls it draws the picture anew.
 */
void
ir_session_show_places (IrSession *self, const IrKeptView *view)
{
  GHashTableIter iter;
  gpointer key, by;

  g_hash_table_remove_all (own (self)->moves);
  g_hash_table_iter_init (&iter, view->moves);
  while (g_hash_table_iter_next (&iter, &key, &by))
    g_hash_table_insert (own (self)->moves, g_memdup2 (key, sizeof (guint64)),
                         g_memdup2 (by, sizeof (IrLayoutPoint)));
}

/**
 * ir_session_arrange:
 *
 * Forgets all places: the picture is as it is laid out.
 */
void
ir_session_arrange (IrSession *self)
{
  ir_session_forget_places (self);
  ir_session_picture_changed (self);
}
