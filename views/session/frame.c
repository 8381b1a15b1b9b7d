/* What is on screen, and what of it is selected by which id. */
#include "config.h"

#include "views/session/frame-private.h"

IrFrame *
ir_frame_ref (IrFrame *frame)
{
  g_atomic_ref_count_inc (&frame->ref_count);
  return frame;
}

void
ir_frame_unref (IrFrame *frame)
{
  if (!g_atomic_ref_count_dec (&frame->ref_count))
    return;
  g_clear_pointer (&frame->scene, ir_scene_unref);
  g_clear_pointer (&frame->rewrite, ir_rewrite_free);
  g_clear_pointer (&frame->rewrite_across, ir_scene_unref);
  g_clear_pointer (&frame->rewrite_down, ir_scene_unref);
  g_clear_pointer (&frame->scale, ir_scale_unref);
  g_clear_pointer (&frame->diff, ir_diff_free);
  g_clear_pointer (&frame->marks, ir_scene_marks_unref);
  g_clear_pointer (&frame->before, ir_model_unref);
  g_clear_pointer (&frame->model, ir_model_unref);
  g_free (frame);
}

/**
 * ir_frame_node:
 * @frame: what is on screen
 * @id: as it is selected
 *
 * Returns: (transfer none) (nullable): the node, on the side that has it
 */
const IrNode *
ir_frame_node (const IrFrame *frame, IrNodeId id)
{
  const IrNode *node;

  if (id & IR_OTHER_SIDE)
    return frame->foreign ? ir_model_live_node (frame->before, id & ~IR_OTHER_SIDE) : NULL;
  node = ir_model_live_node (frame->model, id);
  return node != NULL || frame->foreign ? node : ir_model_live_node (frame->before, id);
}

/**
 * ir_frame_value:
 * @frame: what is on screen
 * @id: as it is selected
 *
 * Returns: (transfer none) (nullable): the value, on the side that has it
 */
const IrValue *
ir_frame_value (const IrFrame *frame, IrValueId id)
{
  const IrValue *value;

  if (id & IR_OTHER_SIDE)
    return frame->foreign ? ir_model_live_value (frame->before, id & ~IR_OTHER_SIDE) : NULL;
  value = ir_model_live_value (frame->model, id);
  return value != NULL || frame->foreign ? value : ir_model_live_value (frame->before, id);
}

/**
 * ir_frame_box_node:
 * @frame: what is on screen
 * @box: of its scene
 *
 * Returns: the id to select it by, or 0
 */
IrNodeId
ir_frame_box_node (const IrFrame *frame, const IrSceneBox *box)
{
  if (box->node != 0 || box->before == 0)
    return box->node;
  return frame->foreign ? box->before | IR_OTHER_SIDE : box->before;
}

/**
 * ir_frame_line_value:
 * @frame: what is on screen
 * @line: of its scene
 *
 * Returns: the id to select its value by, or 0
 */
IrValueId
ir_frame_line_value (const IrFrame *frame, const IrSceneLine *line)
{
  if (line->value != 0 || line->before == 0)
    return line->value;
  return frame->foreign ? line->before | IR_OTHER_SIDE : line->before;
}

/**
 * ir_frame_find_box:
 * @frame: what is on screen
 * @id: as it is selected
 *
 * Returns: the box of its scene that shows the node, or -1
 */
gint32
ir_frame_find_box (const IrFrame *frame, IrNodeId id)
{
  guint n = 0;
  const IrSceneBox *boxes = frame->scene != NULL ? ir_scene_boxes (frame->scene, &n) : NULL;
  const gint32 found = id != 0 && n > 0 ? ir_scene_find_node (frame->scene, id) : -1;

  /* a node that is gone is known by its id before; in another file it may be that of another */
  if (found >= 0 && (!frame->foreign || boxes[found].node == id))
    return found;
  for (guint i = 0; i < n && id != 0; i++)
    if (ir_frame_box_node (frame, &boxes[i]) == id || (!frame->foreign && boxes[i].before == id))
      return (gint32) i;
  return -1;
}

/* -- the one on screen -- */

typedef struct
{
  IrFrame *frame; /* (nullable) */
} Screen;

static void
clear (gpointer state)
{
  g_clear_pointer (&((Screen *) state)->frame, ir_frame_unref);
}

IR_SESSION_NOUN (Screen, NULL, clear)

void
ir_session_set_frame (IrSession *self, IrFrame *frame)
{
  ir_job_free_later (own (self)->frame, (GDestroyNotify) ir_frame_unref);
  own (self)->frame = frame;
}

/**
 * ir_session_get_frame:
 *
 * Returns: (transfer none) (nullable): what is on screen; take a reference to keep it over the next
 *   change
 */
IrFrame *
ir_session_get_frame (IrSession *self)
{
  return own (self)->frame;
}

gboolean
ir_session_is_empty (IrSession *self)
{
  return own (self)->frame == NULL;
}
