/* The canvas by the pointer: hover, clicks, pans and pinches. */
#include "config.h"

#include "views/graph/canvas-private.h"
#include "views/session/selection.h"

#include <adwaita.h>
#include <math.h>

#define PICK_REACH     5.0 /* px around a line that still hit it */
#define DRAG_THRESHOLD 6.0

IrSceneHit
ir_canvas_pick (IrCanvas *self, double x, double y)
{
  const IrCamera now = ir_canvas_get_camera (self);

  IrSceneHit hit;

  if (canvas_scene (self) == NULL)
    return (IrSceneHit){ -1, -1 };
  hit = ir_scene_pick (canvas_scene (self), (x + now.x) / now.zoom, (y + now.y) / now.zoom,
                       PICK_REACH / now.zoom);
  return canvas_shows (self, hit) ? hit : (IrSceneHit){ -1, -1 };
}

static void
set_hover (IrCanvas *self, gint32 index)
{
  const IrSceneBox *box = canvas_box (self, index);

  if (box != NULL && box->kind == IR_SCENE_CLUSTER)
    {
      index = -1;
      box = NULL;
    }
  if (self->hover_box == index)
    return;
  self->hover_box = index;
  ir_session_set_hover (self->session, box != NULL ? box->node : 0);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
on_motion (GtkEventControllerMotion *controller, double x, double y, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  IrSceneHit hit;

  self->pointer_x = x;
  self->pointer_y = y;
  if (self->panning)
    return;
  hit = ir_canvas_pick (self, x, y);
  set_hover (self, hit.box);
  ir_tip_point (self->tip, hit, x, y);
}

static void
on_leave (GtkEventControllerMotion *controller, gpointer user_data)
{
  set_hover (IR_CANVAS (user_data), -1);
  ir_tip_hide (IR_CANVAS (user_data)->tip);
}

static gboolean
on_scroll (GtkEventControllerScroll *controller, double dx, double dy, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const GdkModifierType state = gtk_event_controller_get_current_event_state (
      GTK_EVENT_CONTROLLER (controller));

  if ((state & GDK_CONTROL_MASK) == 0)
    return GDK_EVENT_PROPAGATE;
  canvas_zoom_at (self, self->zoom * pow (ZOOM_STEP, -dy), self->pointer_x, self->pointer_y);
  return GDK_EVENT_STOP;
}

static void
on_pinch_begin (GtkGesture *gesture, GdkEventSequence *sequence, gpointer user_data)
{
  IR_CANVAS (user_data)->pinch_zoom = IR_CANVAS (user_data)->zoom;
}

static void
on_pinch (GtkGestureZoom *gesture, double scale, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  double x, y;

  if (!gtk_gesture_get_bounding_box_center (GTK_GESTURE (gesture), &x, &y))
    return;
  canvas_zoom_at (self, self->pinch_zoom * scale, x, y);
}

static void
on_drag_begin (GtkGestureDrag *gesture, double x, double y, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const IrCamera now = ir_canvas_get_camera (self);

  self->drag_x = now.x;
  self->drag_y = now.y;
  self->panning = FALSE;
  ir_tip_hide (self->tip);
  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  gtk_widget_grab_focus (GTK_WIDGET (self));
}

static void
on_drag_update (GtkGestureDrag *gesture, double dx, double dy, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);

  if (!self->panning && hypot (dx, dy) < DRAG_THRESHOLD)
    return;
  if (!self->panning)
    {
      self->panning = TRUE;
      gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
      gtk_widget_set_cursor_from_name (GTK_WIDGET (self), "grabbing");
    }
  gtk_adjustment_set_value (self->hadjustment, self->drag_x - dx);
  gtk_adjustment_set_value (self->vadjustment, self->drag_y - dy);
}

/* px on screen: the mark before the title of a group */
#define CHEVRON 26.0

/* Whether the mark that opens and closes is there. */
static gboolean
is_chevron (IrCanvas *self, const IrSceneBox *box, double x, double y)
{
  const IrCamera now = ir_canvas_get_camera (self);
  graphene_rect_t r;

  if (box == NULL || box->fold == NULL || now.zoom < 0.45)
    return FALSE;
  r = ir_camera_rect (&now, box);
  return x < r.origin.x + CHEVRON * now.zoom && y < r.origin.y + box->header * now.zoom;
}

/* Whether it is the title of an open group, not what lies in it. */
static gboolean
is_title (IrCanvas *self, const IrSceneBox *box, double y)
{
  const IrCamera now = ir_canvas_get_camera (self);
  const graphene_rect_t r = ir_camera_rect (&now, box);

  return box->kind == IR_SCENE_CLUSTER && box->fold != NULL &&
         y < r.origin.y + box->header * now.zoom;
}

static void
click (IrCanvas *self, double x, double y, gboolean toggle)
{
  const IrSceneHit hit = ir_canvas_pick (self, x, y);
  guint n;

  self->clicked_line = hit.box < 0 || canvas_box (self, hit.box)->kind == IR_SCENE_CLUSTER
                           ? hit.line
                           : -1;
  if (!toggle && is_chevron (self, canvas_box (self, hit.box), x, y))
    ir_canvas_toggle_fold (self, canvas_box (self, hit.box)->fold);
  else if (hit.box >= 0 && is_title (self, canvas_box (self, hit.box), y))
    canvas_select_box (self, hit.box, toggle);
  else if (hit.box >= 0 &&
           (canvas_box (self, hit.box)->kind != IR_SCENE_CLUSTER ||
            (hit.line < 0 && ir_frame_box_node (self->frame, canvas_box (self, hit.box)) != 0)))
    canvas_select_box (self, hit.box, toggle);
  else if (hit.line >= 0)
    {
      const IrSceneLine *line = &ir_scene_lines (canvas_scene (self), &n)[hit.line];

      ir_session_select_node (self->session, 0);
      ir_session_select_value (self->session, ir_frame_line_value (self->frame, line));
    }
  else if (!toggle)
    ir_session_select_node (self->session, 0);
}

static void
on_drag_end (GtkGestureDrag *gesture, double dx, double dy, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const GdkModifierType state = gtk_event_controller_get_current_event_state (
      GTK_EVENT_CONTROLLER (gesture));
  double x, y;

  gtk_widget_set_cursor (GTK_WIDGET (self), NULL);
  if (self->panning)
    {
      self->panning = FALSE;
      return;
    }
  if (ir_drag_is_going_on (self->drag) || !gtk_gesture_drag_get_start_point (gesture, &x, &y))
    return; /* it was no click, but something that is dragged */
  if (gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture)) == GDK_BUTTON_PRIMARY)
    click (self, x, y, (state & (GDK_CONTROL_MASK | GDK_SHIFT_MASK)) != 0);
}

static void
on_double_click (GtkGestureClick *gesture, int n_press, double x, double y, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const gint32 index = n_press == 2 ? ir_canvas_pick (self, x, y).box : -1;
  const IrSceneBox *box = canvas_box (self, index);

  if (box == NULL)
    return;
  if (box->fold != NULL)
    ir_canvas_toggle_fold (self, box->fold);
  else if (box->kind != IR_SCENE_CLUSTER)
    {
      canvas_select_box (self, index, FALSE);
      self->selected_box = index;
      canvas_activate_selected (self);
    }
}

static void
on_menu_click (GtkGestureClick *gesture, int n_press, double x, double y, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const gint32 index = ir_canvas_pick (self, x, y).box;
  const IrSceneBox *box = canvas_box (self, index);
  const IrNodeId node = box != NULL ? ir_frame_box_node (self->frame, box) : 0;

  ir_tip_hide (self->tip);
  gtk_widget_grab_focus (GTK_WIDGET (self));
  /* What is meant, not what was selected before. */
  if (box != NULL && box->kind == IR_SCENE_CLUSTER && is_title (self, box, y))
    canvas_select_box (self, index, FALSE);
  else if (node == 0 || !gtk_bitset_contains (ir_session_get_selection (self->session), node))
    click (self, x, y, FALSE);
  g_signal_emit_by_name (self, "menu", x, y);
}

void
canvas_add_pointer (IrCanvas *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (
      GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  GtkGesture *pinch = gtk_gesture_zoom_new ();
  GtkGesture *drag = gtk_gesture_drag_new ();
  GtkGesture *middle = gtk_gesture_drag_new ();
  GtkGesture *twice = gtk_gesture_click_new ();
  GtkGesture *menu = gtk_gesture_click_new ();
  GtkWidget *widget = GTK_WIDGET (self);

  g_signal_connect (motion, "motion", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "leave", G_CALLBACK (on_leave), self);
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scroll), self);
  /* before the scrolled window takes the wheel */
  gtk_event_controller_set_propagation_phase (scroll, GTK_PHASE_CAPTURE);
  g_signal_connect (pinch, "begin", G_CALLBACK (on_pinch_begin), self);
  g_signal_connect (pinch, "scale-changed", G_CALLBACK (on_pinch), self);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (middle), GDK_BUTTON_MIDDLE);
  for (GtkGesture **g = (GtkGesture *[]){ drag, middle, NULL }; *g != NULL; g++)
    {
      g_signal_connect (*g, "drag-begin", G_CALLBACK (on_drag_begin), self);
      g_signal_connect (*g, "drag-update", G_CALLBACK (on_drag_update), self);
      g_signal_connect (*g, "drag-end", G_CALLBACK (on_drag_end), self);
    }
  g_signal_connect (twice, "pressed", G_CALLBACK (on_double_click), self);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (menu), GDK_BUTTON_SECONDARY);
  g_signal_connect (menu, "pressed", G_CALLBACK (on_menu_click), self);
  gtk_widget_add_controller (widget, motion);
  gtk_widget_add_controller (widget, scroll);
  for (GtkGesture **g = (GtkGesture *[]){ pinch, drag, middle, twice, menu, NULL }; *g != NULL; g++)
    gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (*g));
}
