/* What of the picture is selected, and what belongs to it. */
#include "config.h"

#include "views/graph/canvas-private.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#include <string.h>

gint32
ir_canvas_selected_box (IrCanvas *self)
{
  return self->selected_box;
}

static void
collect_selected_lines (IrCanvas *self)
{
  const IrValueId value = ir_session_get_selected_value (self->session);
  guint n;
  const IrSceneLine *lines = ir_scene_lines (canvas_scene (self), &n);

  g_array_set_size (self->selected_lines, 0);
  for (guint i = 0; i < n; i++)
    {
      const gint32 index = (gint32) i;
      const gboolean of_value = value != 0 &&
                                (ir_frame_line_value (self->frame, &lines[i]) == value ||
                                 (!self->frame->foreign && lines[i].before == value));
      const gboolean of_box = value == 0 && self->selected_box >= 0 &&
                              self->frame->marks == NULL && /* lines tell of the pattern then */
                              (lines[i].from == self->selected_box ||
                               lines[i].to == self->selected_box);

      if (of_value || of_box)
        g_array_append_val (self->selected_lines, index);
    }
}

gint32
canvas_box_of_node (IrCanvas *self, IrNodeId node)
{
  return node != 0 ? ir_frame_find_box (self->frame, node) : -1;
}

gint32
canvas_box_of_fold (IrCanvas *self, const IrFrame *frame, const char *fold)
{
  guint n = 0;
  const IrSceneBox *boxes = frame != NULL && frame->scene != NULL && fold != NULL
                                ? ir_scene_boxes (frame->scene, &n)
                                : NULL;

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && strcmp (boxes[i].fold, fold) == 0)
      return (gint32) i;
  return -1;
}

/* A node that is written in the box of its consumer is shown by that. */
static gint32
box_of_consumer (IrCanvas *self, const IrNode *node, guint depth)
{
  for (guint i = 0; node != NULL && i < node->n_outputs; i++)
    for (guint k = 0; node->outputs[i] != NULL && k < node->outputs[i]->n_uses; k++)
      {
        const IrNode *user = ir_value_use (node->outputs[i], k).node;
        gint32 box = user != NULL ? canvas_box_of_node (self, user->id) : -1;

        if (box < 0 && user != NULL && depth < 8)
          box = box_of_consumer (self, user, depth + 1);
        if (box >= 0)
          return box;
      }
  return -1;
}

static void
add_relatives (IrCanvas *self, GArray *ids)
{
  for (guint i = 0; i < MIN (ids->len, MAX_SELECTED); i++)
    {
      const IrNodeId id = g_array_index (ids, IrNodeId, i);
      const gint32 box = canvas_box_of_node (self, id);

      if (box >= 0 && box != self->selected_box)
        g_array_append_val (self->relatives, box);
    }
}

/* Both ways of the lineage, as far as it is on screen. */
static void
collect_relatives (IrCanvas *self)
{
  const IrNodeId node = ir_session_get_selected_node (self->session);
  g_autoptr (GArray) origins = NULL, descendants = NULL;

  g_array_set_size (self->relatives, 0);
  if (node == 0 || self->frame->foreign || self->frame->from == self->frame->to)
    return;
  origins = ir_session_origins (self->session, node);
  descendants = ir_session_descendants (self->session, node, self->frame->to);
  add_relatives (self, origins);
  add_relatives (self, descendants);
}

static void
add_hovered (IrCanvas *self, const IrNode *node)
{
  gint32 box = node != NULL ? canvas_box_of_node (self, node->id) : -1;

  if (node != NULL && box < 0)
    box = box_of_consumer (self, node, 0);
  if (box >= 0)
    g_array_append_val (self->hovered, box);
}

/* What another view points at: a node, or a value with what makes and what reads it. */
void
ir_canvas_hover_changed (IrCanvas *self)
{
  const IrValueId id = ir_session_get_hover_value (self->session);
  const IrValue *value = id != 0 && self->frame != NULL ? ir_frame_value (self->frame, id) : NULL;

  if (canvas_scene (self) == NULL)
    return;
  g_array_set_size (self->hovered, 0);
  if (self->hover_box < 0)
    add_hovered (self, ir_frame_node (self->frame, ir_session_get_hover (self->session)));
  for (guint i = 0; value != NULL && i < MIN (value->n_uses, MAX_SELECTED); i++)
    add_hovered (self, ir_value_use (value, i).node);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

guint
ir_canvas_n_hovered (IrCanvas *self)
{
  return self->hovered->len;
}

/* Follows the session's selection */
void
ir_canvas_selection_changed (IrCanvas *self)
{
  if (canvas_scene (self) == NULL)
    return;
  self->selected_box = canvas_box_of_node (self, ir_session_get_selected_node (self->session));
  if (self->selected_box < 0)
    self->selected_box = canvas_box_of_fold (self, self->frame,
                                             ir_session_get_selected_fold (self->session));
  if (self->selected_box < 0)
    self->selected_box = box_of_consumer (
        self, ir_frame_node (self->frame, ir_session_get_selected_node (self->session)), 0);
  collect_selected_lines (self);
  collect_relatives (self);
  canvas_queue_sync (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
canvas_select_box (IrCanvas *self, gint32 index, gboolean toggle)
{
  const IrSceneBox *box = canvas_box (self, index);
  const IrNodeId node = box != NULL ? ir_frame_box_node (self->frame, box) : 0;

  if (toggle && node != 0)
    ir_session_toggle_node (self->session, node);
  else if (box != NULL && node == 0 && box->fold != NULL)
    {
      ir_session_select_fold (self->session, box->fold);
      self->selected_box = index;
    }
  else
    {
      ir_session_select_node (self->session, node);
      if (box != NULL && node == 0 && box->value != 0)
        {
          ir_session_select_value (self->session, box->value);
          self->selected_box = index;
        }
    }
}
