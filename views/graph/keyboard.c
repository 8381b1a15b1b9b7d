/* The canvas by keys: from box to box, zoom, the menu. */
#include "config.h"

#include "views/graph/canvas-private.h"
#include "views/graph/proxy.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

void
canvas_focus_selected (IrCanvas *self)
{
  canvas_sync_proxies (self);
  for (guint i = 0; i < self->proxies->len; i++)
    if (ir_node_proxy_get_box (self->proxies->pdata[i]) == self->selected_box)
      {
        gtk_widget_grab_focus (self->proxies->pdata[i]);
        return;
      }
}

void
canvas_go_to_box (IrCanvas *self, gint32 index)
{
  if (canvas_box (self, index) == NULL)
    return;
  canvas_select_box (self, index, FALSE);
  self->selected_box = index;
  ir_canvas_show_box (self, index);
  canvas_focus_selected (self);
}

/* The first box at the other end of a line of @index; down the lines or up. */
static gint32
neighbour_along_lines (IrCanvas *self, gint32 index, gboolean down)
{
  guint n;
  const IrSceneLine *lines = ir_scene_lines (canvas_scene (self), &n);

  for (guint i = 0; i < n; i++)
    {
      if (down && lines[i].from == index && lines[i].to >= 0)
        return lines[i].to;
      if (!down && lines[i].to == index && lines[i].from >= 0)
        return lines[i].from;
    }
  return -1;
}

/* The nearest box beside @index that shares a part of its height. */
static gint32
neighbour_beside (IrCanvas *self, gint32 index, gboolean right)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (canvas_scene (self), &n);
  const IrSceneBox *me = &boxes[index];
  double best = G_MAXDOUBLE;
  gint32 found = -1;

  for (guint i = 0; i < n; i++)
    {
      const double distance = right ? boxes[i].x - (me->x + me->width)
                                    : me->x - (boxes[i].x + boxes[i].width);

      if (boxes[i].kind == IR_SCENE_CLUSTER || distance < 0 || distance >= best ||
          boxes[i].y > me->y + me->height || boxes[i].y + boxes[i].height < me->y)
        continue;
      best = distance;
      found = (gint32) i;
    }
  return found;
}

static gint32
first_box_in_sight (IrCanvas *self)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (canvas_scene (self), &n);

  for (guint i = 0; i < n; i++)
    {
      const IrLayoutRect rect = { boxes[i].x, boxes[i].y, boxes[i].width, boxes[i].height };

      if (boxes[i].kind != IR_SCENE_CLUSTER && canvas_rect_in_sight (self, &rect, 0))
        return (gint32) i;
    }
  return n > 0 ? 0 : -1;
}

void
canvas_activate_selected (IrCanvas *self)
{
  const IrSceneBox *box = canvas_box (self, self->selected_box);
  const IrNode *node;
  IrValue *value;
  IrNodeId id;

  if (box == NULL)
    return;
  if (box->fold != NULL)
    {
      ir_canvas_toggle_fold (self, box->fold);
      return;
    }
  id = ir_frame_box_node (self->frame, box);
  node = ir_frame_node (self->frame, id);
  value = node != NULL ? ir_node_output (node, 0) : NULL;
  if (value != NULL || box->value != 0)
    {
      ir_session_select_value (self->session,
                               value != NULL ? value->id | (id & IR_OTHER_SIDE) : box->value);
      ir_session_show_view (self->session, "tensor");
    }
}

/* Keys that move the cursor, before the scrolled window takes them for scrolling. */
static gboolean
move_cursor (IrCanvas *self, guint keyval, GdkModifierType state)
{
  const gboolean control = (state & GDK_CONTROL_MASK) != 0;

  if (state & (GDK_SHIFT_MASK | GDK_ALT_MASK))
    return FALSE;
  if (keyval == GDK_KEY_Left || keyval == GDK_KEY_Right)
    {
      const int by = keyval == GDK_KEY_Right ? 1 : -1;

      if (control)
        ir_session_pass_by (self->session, by);
      else
        ir_session_step_by (self->session, by);
      return TRUE;
    }
  if (!control && (keyval == GDK_KEY_Home || keyval == GDK_KEY_End))
    {
      ir_session_goto (self->session, keyval == GDK_KEY_Home ? 0 : G_MAXUINT);
      return TRUE;
    }
  return FALSE;
}

static gboolean
on_key (GtkEventControllerKey *controller,
        guint keyval,
        guint keycode,
        GdkModifierType state,
        gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const gboolean plain = (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) == 0;
  const gboolean shift = (state & GDK_SHIFT_MASK) != 0;
  gint32 next = -1;

  if (move_cursor (self, keyval, state))
    return GDK_EVENT_STOP;
  if (canvas_scene (self) == NULL || !plain)
    return GDK_EVENT_PROPAGATE;
  if (keyval == GDK_KEY_Return || keyval == GDK_KEY_KP_Enter)
    canvas_activate_selected (self);
  else if (keyval == GDK_KEY_plus || keyval == GDK_KEY_KP_Add)
    ir_canvas_zoom_by (self, ZOOM_STEP);
  else if (keyval == GDK_KEY_minus || keyval == GDK_KEY_KP_Subtract)
    ir_canvas_zoom_by (self, 1 / ZOOM_STEP);
  else if (keyval == GDK_KEY_Up || keyval == GDK_KEY_Down ||
           (shift && (keyval == GDK_KEY_Left || keyval == GDK_KEY_Right)))
    {
      if (self->selected_box < 0)
        next = first_box_in_sight (self);
      else if (keyval == GDK_KEY_Up || keyval == GDK_KEY_Down)
        next = neighbour_along_lines (self, self->selected_box, keyval == GDK_KEY_Down);
      else
        next = neighbour_beside (self, self->selected_box, keyval == GDK_KEY_Right);
      canvas_go_to_box (self, next);
    }
  else if (keyval == GDK_KEY_Menu || (shift && keyval == GDK_KEY_F10))
    {
      const IrSceneBox *box = canvas_box (self, self->selected_box);
      const IrCamera now = ir_canvas_get_camera (self);

      if (box != NULL)
        g_signal_emit_by_name (self, "menu", (box->x + box->width / 2) * now.zoom - now.x,
                               (box->y + box->height) * now.zoom - now.y);
    }
  else
    return GDK_EVENT_PROPAGATE;
  return GDK_EVENT_STOP;
}

void
canvas_add_keys (IrCanvas *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();

  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
}
