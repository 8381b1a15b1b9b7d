/* Dragging on the canvas. */
#include "config.h"

#include "views/graph/drag.h"

#include "core/act/act.h"
#include "core/op/op.h"
#include "views/session/act.h"
#include "views/session/frame.h"
#include "views/session/places.h"
#include "views/session/selection.h"

#include <adwaita.h>
#include <math.h>

#define THRESHOLD   4.0  /* px; less than that of panning, which comes behind */
#define PORT_REACH  9.0  /* px around a port that take it */
#define PORT_RADIUS 5.0  /* px */
#define PORT_ZOOM   0.35 /* farther out there are no ports to take */
#define TOP_REACH   16.0 /* px from the rim of a box where the nearest input is meant */

typedef enum
{
  NOTHING,
  LINK,
  BAND,
  MOVE
} Kind;

struct _IrDrag
{
  IrCanvas *canvas; /* not referenced: owns this */
  GtkGesture *gesture;
  Kind kind;
  gboolean claimed;
  double x0, y0, x, y; /* px of the widget */

  /* a link */
  IrValueId value;
  gint32 from, target; /* boxes; -1: none */
  gint slot;           /* of the target, -1: none */
  char *why;           /* (nullable): why not there */
  char *label;         /* (nullable): what would be connected */
};

/* -- where things are -- */

static const IrSceneBox *
box_at (IrDrag *self, gint32 index)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  guint n = 0;
  const IrSceneBox *boxes = frame != NULL && frame->scene != NULL
                                ? ir_scene_boxes (frame->scene, &n)
                                : NULL;

  return index >= 0 && (guint) index < n ? &boxes[index] : NULL;
}

static graphene_rect_t
rect_of (IrDrag *self, const IrSceneBox *box)
{
  const IrCamera camera = ir_canvas_get_camera (self->canvas);

  return ir_camera_rect (&camera, box);
}

static gboolean
is_sideways (IrDrag *self)
{
  return (ir_session_get_show (ir_canvas_get_session (self->canvas)) & IR_SHOW_SIDEWAYS) != 0;
}

/* The n-th of @n ports, spread along the side where lines begin, or end. */
static graphene_point_t
port_place (IrDrag *self, const IrSceneBox *box, guint index, guint n, gboolean is_output)
{
  const graphene_rect_t r = rect_of (self, box);
  const float along = (float) (index + 1) / (float) (n + 1), side = is_output ? 1 : 0;

  return is_sideways (self) ? GRAPHENE_POINT_INIT (r.origin.x + side * r.size.width,
                                                   r.origin.y + along * r.size.height)
                            : GRAPHENE_POINT_INIT (r.origin.x + along * r.size.width,
                                                   r.origin.y + side * r.size.height);
}

/* What the box gives: outputs of its node, or the value that it stands for. */
static guint
n_given (IrDrag *self, const IrSceneBox *box)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const IrNode *node = ir_model_live_node (frame->model, box->node);

  if ((box->kind == IR_SCENE_NODE || box->kind == IR_SCENE_CLUSTER) && node != NULL)
    return node->n_outputs;
  return (box->kind == IR_SCENE_INPUT || box->kind == IR_SCENE_CONSTANT) && box->value != 0;
}

static const IrValue *
given (IrDrag *self, const IrSceneBox *box, guint index)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const IrNode *node = ir_model_live_node (frame->model, box->node);

  return box->kind == IR_SCENE_NODE && node != NULL
             ? ir_node_output (node, index)
             : ir_model_live_value (frame->model, box->value);
}

/* The box near (@x, @y) whose output port is there; its value is @value. -1: none */
static gint32
port_at (IrDrag *self, double x, double y, IrValueId *value)
{
  static const double around[][2] = { { 0, 0 }, { 0, -PORT_REACH }, { -PORT_REACH, 0 } };

  if (ir_canvas_get_camera (self->canvas).zoom < PORT_ZOOM)
    return -1;
  for (guint i = 0; i < G_N_ELEMENTS (around); i++)
    {
      const gint32 index = ir_canvas_pick (self->canvas, x + around[i][0], y + around[i][1]).box;
      const IrSceneBox *box = box_at (self, index);
      const guint n = box != NULL ? n_given (self, box) : 0;

      for (guint k = 0; k < n; k++)
        {
          const graphene_point_t at = port_place (self, box, k, n, TRUE);
          const IrValue *found = given (self, box, k);

          if (found == NULL || hypot (at.x - x, at.y - y) > PORT_REACH)
            continue;
          *value = found->id;
          return index;
        }
    }
  return -1;
}

/* -- a link -- */

static void
forget_target (IrDrag *self)
{
  self->target = -1;
  self->slot = -1;
  g_clear_pointer (&self->why, g_free);
  g_clear_pointer (&self->label, g_free);
}

/* Near the rim where lines end the nearest input is meant; else the first open one that fits. */
static gint
wanted_slot (
    IrDrag *self, const IrSceneBox *box, const IrNode *node, const IrValue *value, GError **error)
{
  const graphene_rect_t r = rect_of (self, box);
  const guint n = MAX (ir_act_n_slots (node), 1);
  const double along = is_sideways (self) ? (self->y - r.origin.y) / r.size.height
                                          : (self->x - r.origin.x) / r.size.width;
  const double depth = is_sideways (self) ? self->x - r.origin.x : self->y - r.origin.y;
  gint slot = depth > TOP_REACH ? ir_act_slot_for (node, value, NULL) : -1;

  if (slot >= 0)
    return slot;
  slot = (gint) CLAMP (along * n, 0, n - 1);
  slot = MIN (slot, (gint) node->n_inputs);
  return ir_act_fits (node, (guint) slot, value, error) ? slot : -1;
}

static void
look_at_node (IrDrag *self, const IrSceneBox *box, const IrNode *node, const IrValue *value)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *type = value->type != NULL
                              ? ir_type_to_string (value->graph->model->context, value->type)
                              : g_strdup ("type not known");

  self->slot = wanted_slot (self, box, node, value, &error);
  if (self->slot < 0)
    self->why = g_strdup (error != NULL ? error->message : "It has no inputs");
  else
    {
      g_autofree char *name = node->op != NULL ? ir_op_input_name (node->op, (guint) self->slot)
                                               : g_strdup_printf ("input %d", self->slot);

      self->label = g_strdup_printf ("%s → %s of %s", type, name, node->op_type);
    }
}

/* What the pointer is over while a value is dragged. */
static void
look (IrDrag *self)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const gint32 index = ir_canvas_pick (self->canvas, self->x, self->y).box;
  const IrSceneBox *box = box_at (self, index);
  const IrValue *value = ir_model_live_value (frame->model, self->value);
  const IrNode *node = box != NULL ? ir_model_live_node (frame->model, box->node) : NULL;

  forget_target (self);
  if (value == NULL || box == NULL || index == self->from)
    return;
  if (box->kind == IR_SCENE_NODE && node != NULL)
    {
      self->target = index;
      look_at_node (self, box, node, value);
    }
  else if (box->kind == IR_SCENE_OUTPUT && box->value != 0 && box->value != self->value)
    {
      const IrValue *output = ir_model_live_value (frame->model, box->value);

      self->target = index;
      self->slot = 0;
      self->label = g_strdup_printf ("%s gives %s", value->name,
                                     output != NULL ? output->name : "");
    }
}

static void
connect_target (IrDrag *self)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const IrSceneBox *box = box_at (self, self->target);
  const IrNode *node = ir_model_live_node (frame->model, box->node);
  g_autofree char *value = g_strdup_printf ("#%u", self->value);
  g_autofree char *target = g_strdup_printf ("#%u", node != NULL ? node->id : box->value);
  g_autofree char *slot = g_strdup_printf ("%d", self->slot);

  if (node != NULL)
    ir_session_act (ir_canvas_get_session (self->canvas),
                    (const char *const[]){ "connect", value, target, slot, NULL });
  else
    ir_session_act (ir_canvas_get_session (self->canvas),
                    (const char *const[]){ "replace", target, value, NULL });
}

static void
end_link (IrDrag *self)
{
  look (self);
  if (self->target >= 0 && self->slot >= 0)
    connect_target (self);
  else if (self->target >= 0)
    ir_session_refuse (ir_canvas_get_session (self->canvas), self->why);
  else if (ir_canvas_pick (self->canvas, self->x, self->y).box != self->from)
    g_signal_emit_by_name (self->canvas, "value-dropped", self->value, self->x, self->y);
}

/* -- a rubber band -- */

static void
end_band (IrDrag *self)
{
  IrSession *session = ir_canvas_get_session (self->canvas);
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  g_autoptr (GtkBitset) nodes = gtk_bitset_copy (ir_session_get_selection (session));
  const double left = MIN (self->x0, self->x), right = MAX (self->x0, self->x);
  const double top = MIN (self->y0, self->y), bottom = MAX (self->y0, self->y);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (frame->scene, &n);

  for (guint i = 0; i < n; i++)
    {
      const graphene_rect_t r = rect_of (self, &boxes[i]);
      const IrNodeId node = ir_frame_box_node (frame, &boxes[i]);

      if (boxes[i].kind != IR_SCENE_CLUSTER && node != 0 && r.origin.x < right &&
          r.origin.x + r.size.width > left && r.origin.y < bottom &&
          r.origin.y + r.size.height > top)
        gtk_bitset_add (nodes, node);
    }
  ir_session_select_value (session, 0);
  ir_session_set_selection (session, nodes);
}

/* -- to another place -- */

static gboolean
moves (IrDrag *self, const IrSceneBox *box, gint32 index)
{
  const GtkBitset *selection = ir_session_get_selection (ir_canvas_get_session (self->canvas));
  const IrSceneBox *held = box_at (self, self->from);

  if (index == self->from)
    return TRUE;
  return held->node != 0 && box->node != 0 && box->kind == IR_SCENE_NODE &&
         gtk_bitset_contains (selection, held->node) && gtk_bitset_contains (selection, box->node);
}

static void
end_move (IrDrag *self)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const double zoom = ir_canvas_get_camera (self->canvas).zoom;
  g_autoptr (GArray) keys = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (frame->scene, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind != IR_SCENE_CLUSTER && moves (self, &boxes[i], (gint32) i))
      g_array_append_val (keys, boxes[i].key);
  ir_session_move_boxes (ir_canvas_get_session (self->canvas), (const guint64 *) keys->data,
                         keys->len, (self->x - self->x0) / zoom, (self->y - self->y0) / zoom);
}

/* -- the gesture -- */

/* What a drag from there is; %NOTHING: the canvas's own. */
static Kind
kind_at (IrDrag *self, double x, double y, GdkModifierType state)
{
  const gint32 index = ir_canvas_pick (self->canvas, x, y).box;
  const IrSceneBox *box = box_at (self, index);
  const gboolean more = (state & (GDK_SHIFT_MASK | GDK_CONTROL_MASK)) != 0;

  self->from = port_at (self, x, y, &self->value);
  if (self->from >= 0)
    return LINK;
  self->from = index;
  if (box == NULL || box->kind == IR_SCENE_CLUSTER)
    return more ? BAND : NOTHING;
  return more || ir_canvas_get_camera (self->canvas).zoom < PORT_ZOOM / 2 ? NOTHING : MOVE;
}

static void
on_begin (GtkGestureDrag *gesture, double x, double y, IrDrag *self)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);

  self->claimed = FALSE;
  self->kind = NOTHING;
  forget_target (self);
  if (frame != NULL && frame->scene != NULL)
    self->kind = kind_at (
        self, x, y, gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture)));
  self->x0 = self->x = x;
  self->y0 = self->y = y;
  if (self->kind == NOTHING)
    gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_DENIED);
}

static void
on_update (GtkGestureDrag *gesture, double dx, double dy, IrDrag *self)
{
  if (self->kind == NOTHING || (!self->claimed && hypot (dx, dy) < THRESHOLD))
    return;
  if (!self->claimed)
    {
      self->claimed = TRUE;
      gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
      gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
    }
  self->x = self->x0 + dx;
  self->y = self->y0 + dy;
  if (self->kind == LINK)
    look (self);
  gtk_widget_queue_draw (GTK_WIDGET (self->canvas));
}

static void
on_end (GtkGestureDrag *gesture, double dx, double dy, IrDrag *self)
{
  const Kind kind = self->claimed ? self->kind : NOTHING;
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);

  self->claimed = FALSE;
  self->x = self->x0 + dx;
  self->y = self->y0 + dy;
  if (frame != NULL && frame->scene != NULL)
    {
      if (kind == LINK)
        end_link (self);
      else if (kind == BAND)
        end_band (self);
      else if (kind == MOVE)
        end_move (self);
    }
  self->kind = NOTHING;
  forget_target (self);
  gtk_widget_queue_draw (GTK_WIDGET (self->canvas));
}

static void
on_cancel (GtkGesture *gesture, GdkEventSequence *sequence, IrDrag *self)
{
  self->kind = NOTHING;
  self->claimed = FALSE;
  forget_target (self);
  gtk_widget_queue_draw (GTK_WIDGET (self->canvas));
}

/* -- drawing -- */

static GdkRGBA
accent (gboolean is_right)
{
  const gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());

  if (!is_right)
    return dark ? (GdkRGBA){ 1, 0.48, 0.39, 1 } : (GdkRGBA){ 0.75, 0.11, 0.16, 1 };
  return dark ? (GdkRGBA){ 0.47, 0.68, 0.93, 1 } : (GdkRGBA){ 0.11, 0.44, 0.85, 1 };
}

static void
draw_rect (GtkSnapshot *snapshot,
           const graphene_rect_t *r,
           const GdkRGBA *colour,
           float width,
           float radius)
{
  GskRoundedRect outline;

  gsk_rounded_rect_init_from_rect (&outline, r, radius);
  gtk_snapshot_append_border (snapshot, &outline, (float[4]){ width, width, width, width },
                              (GdkRGBA[4]){ *colour, *colour, *colour, *colour });
}

static void
draw_port (GtkSnapshot *snapshot, graphene_point_t at, const GdkRGBA *colour)
{
  const graphene_rect_t r = GRAPHENE_RECT_INIT (at.x - PORT_RADIUS, at.y - PORT_RADIUS,
                                                2 * PORT_RADIUS, 2 * PORT_RADIUS);
  GskRoundedRect round;

  gsk_rounded_rect_init_from_rect (&round, &r, PORT_RADIUS);
  gtk_snapshot_push_rounded_clip (snapshot, &round);
  gtk_snapshot_append_color (snapshot, colour, &r);
  gtk_snapshot_pop (snapshot);
}

static void
draw_text (IrDrag *self, GtkSnapshot *snapshot, const char *text, const GdkRGBA *colour)
{
  g_autoptr (PangoLayout) layout = gtk_widget_create_pango_layout (GTK_WIDGET (self->canvas), text);
  const gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  const GdkRGBA back = dark ? (GdkRGBA){ 0.14, 0.14, 0.15, 0.95 } : (GdkRGBA){ 1, 1, 1, 0.95 };
  const int width = gtk_widget_get_width (GTK_WIDGET (self->canvas));
  int w, h;
  graphene_rect_t r;

  pango_layout_set_width (layout, MIN (360, MAX (width - 24, 80)) * PANGO_SCALE);
  pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
  pango_layout_get_pixel_size (layout, &w, &h);
  r = GRAPHENE_RECT_INIT ((float) CLAMP (self->x + 14, 4, MAX (width - w - 16, 4)),
                          (float) self->y + 14, (float) w + 12, (float) h + 8);
  gtk_snapshot_append_color (snapshot, &back, &r);
  draw_rect (snapshot, &r, colour, 1, 4);
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (r.origin.x + 6, r.origin.y + 4));
  gtk_snapshot_append_layout (snapshot, layout, colour);
  gtk_snapshot_restore (snapshot);
}

static void
draw_link (IrDrag *self, GtkSnapshot *snapshot)
{
  const GdkRGBA colour = accent (self->why == NULL);
  const IrSceneBox *target = box_at (self, self->target);
  const double left = MIN (self->x0, self->x) - 4, top = MIN (self->y0, self->y) - 4;
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot,
      &GRAPHENE_RECT_INIT ((float) left, (float) top, (float) fabs (self->x - self->x0) + 8,
                           (float) fabs (self->y - self->y0) + 8));

  cairo_set_line_width (cr, 2);
  cairo_set_source_rgba (cr, colour.red, colour.green, colour.blue, colour.alpha);
  cairo_move_to (cr, self->x0, self->y0);
  cairo_line_to (cr, self->x, self->y);
  cairo_stroke (cr);
  cairo_destroy (cr);
  draw_port (snapshot, GRAPHENE_POINT_INIT ((float) self->x0, (float) self->y0), &colour);
  if (target != NULL)
    {
      const graphene_rect_t r = rect_of (self, target);

      draw_rect (snapshot, &r, &colour, 3, 6);
    }
  if (self->why != NULL || self->label != NULL)
    draw_text (self, snapshot, self->why != NULL ? self->why : self->label, &colour);
}

static void
draw_moved (IrDrag *self, GtkSnapshot *snapshot)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const GdkRGBA colour = accent (TRUE);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (frame->scene, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind != IR_SCENE_CLUSTER && moves (self, &boxes[i], (gint32) i))
      {
        graphene_rect_t r = rect_of (self, &boxes[i]);

        graphene_rect_offset (&r, (float) (self->x - self->x0), (float) (self->y - self->y0));
        draw_rect (snapshot, &r, &colour, 2, 6);
      }
}

/* Ports of the box under the pointer, from which a line can be drawn. */
static void
draw_ports (IrDrag *self, GtkSnapshot *snapshot)
{
  const IrSceneBox *box = box_at (self, ir_canvas_hover_box (self->canvas));
  const GdkRGBA colour = accent (TRUE);
  const guint n = box != NULL && ir_canvas_get_camera (self->canvas).zoom >= PORT_ZOOM
                      ? n_given (self, box)
                      : 0;

  for (guint i = 0; i < n; i++)
    if (given (self, box, i) != NULL)
      draw_port (snapshot, port_place (self, box, i, n, TRUE), &colour);
}

void
ir_drag_snapshot (IrDrag *self, GtkSnapshot *snapshot)
{
  const GdkRGBA colour = accent (TRUE);

  if (self->claimed && self->kind == LINK)
    draw_link (self, snapshot);
  else if (self->claimed && self->kind == MOVE)
    draw_moved (self, snapshot);
  else if (self->claimed && self->kind == BAND)
    {
      const graphene_rect_t r = GRAPHENE_RECT_INIT (
          (float) MIN (self->x0, self->x), (float) MIN (self->y0, self->y),
          (float) fabs (self->x - self->x0), (float) fabs (self->y - self->y0));

      gtk_snapshot_append_color (snapshot,
                                 &(GdkRGBA){ colour.red, colour.green, colour.blue, 0.12f }, &r);
      draw_rect (snapshot, &r, &colour, 1, 0);
    }
  else
    draw_ports (self, snapshot);
}

gboolean
ir_drag_is_going_on (IrDrag *self)
{
  return self->claimed;
}

/* -- object -- */

IrDrag *
ir_drag_new (IrCanvas *canvas)
{
  IrDrag *self = g_new0 (IrDrag, 1);

  self->canvas = canvas;
  self->target = self->from = -1;
  self->gesture = gtk_gesture_drag_new ();
  /* before the canvas pans */
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (self->gesture),
                                              GTK_PHASE_CAPTURE);
  g_signal_connect (self->gesture, "drag-begin", G_CALLBACK (on_begin), self);
  g_signal_connect (self->gesture, "drag-update", G_CALLBACK (on_update), self);
  g_signal_connect (self->gesture, "drag-end", G_CALLBACK (on_end), self);
  g_signal_connect (self->gesture, "cancel", G_CALLBACK (on_cancel), self);
  gtk_widget_add_controller (GTK_WIDGET (canvas), GTK_EVENT_CONTROLLER (self->gesture));
  return self;
}

void
ir_drag_free (IrDrag *self)
{
  forget_target (self);
  g_free (self);
}
