/* How the graph is drawn: what is shown beside the nodes, which scopes are closed. */
#include "config.h"

#include "views/picture.h"
#include "views/session/session-private.h"

void
ir_session_picture_changed (IrSession *self)
{
  self->serial++;
  ir_session_request_frame (self);
}

const char *
ir_session_get_overlay (IrSession *self)
{
  return self->overlay;
}

void
ir_session_set_overlay (IrSession *self, const char *id)
{
  id = g_intern_string (id);
  if (self->overlay == id)
    return;
  self->overlay = id;
  ir_session_changed (self, IR_CHANGED_OVERLAY);
  ir_session_picture_changed (self);
}

IrShow
ir_session_get_show (IrSession *self)
{
  return self->show;
}

/**
 * ir_session_set_show:
 * @show: what the picture of the graph shows
 */
void
ir_session_set_show (IrSession *self, IrShow show)
{
  if (self->show == show)
    return;
  self->show = show;
  g_object_notify (G_OBJECT (self), "show");
  ir_session_picture_changed (self);
}

guint
ir_session_get_picture_serial (IrSession *self)
{
  return self->serial;
}

static gboolean
is_drawn_open (IrSession *self, const char *fold)
{
  guint n = 0;
  const IrSceneBox *boxes = self->frame != NULL && self->frame->scene != NULL
                                ? ir_scene_boxes (self->frame->scene, &n)
                                : NULL;

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind == IR_SCENE_CLUSTER && g_strcmp0 (boxes[i].fold, fold) == 0)
      return TRUE;
  return FALSE;
}

/**
 * ir_session_toggle_fold:
 * @fold: the key of a scope or of a node with subgraphs, from a box of the scene
 *
 * Closes it into one box, or opens it again.
 */
void
ir_session_toggle_fold (IrSession *self, const char *fold)
{
  const gboolean was_closed = g_hash_table_remove (self->folded, fold);
  const gboolean was_automatic = g_hash_table_remove (self->automatic, fold);

  /* the picture may show one open that is closed elsewhere, because of what it holds */
  if (is_drawn_open (self, fold) || (!was_closed && !was_automatic))
    g_hash_table_add (self->folded, g_strdup (fold));
  ir_session_picture_changed (self);
}
