#include "config.h"

#include "views/graph/canvas-private.h"
#include "views/colours.h"
#include "views/graph/proxy.h"
#include "views/jobs.h"
#include "views/session/frame.h"
#include "views/session/selection.h"

#include <adwaita.h>
#include <math.h>
#include <string.h>

#define FLASH_WIDTH 14.0 /* px */

enum
{
  PROP_HADJUSTMENT = 1,
  PROP_VADJUSTMENT,
  PROP_HSCROLL_POLICY,
  PROP_VSCROLL_POLICY
};

enum
{
  ZOOMED,
  MOVED,
  MENU,
  VALUE_DROPPED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE_WITH_CODE (IrCanvas,
                               ir_canvas,
                               GTK_TYPE_WIDGET,
                               G_IMPLEMENT_INTERFACE (GTK_TYPE_SCROLLABLE, NULL))

/* -- for what is dragged and built -- */

IrSession *
ir_canvas_get_session (IrCanvas *self)
{
  return self->session;
}

const IrFrame *
ir_canvas_get_frame (IrCanvas *self)
{
  return self->frame;
}

gint32
ir_canvas_hover_box (IrCanvas *self)
{
  return self->hover_box;
}

gint32
ir_canvas_clicked_line (IrCanvas *self)
{
  return self->clicked_line;
}

/* -- widget -- */

gboolean
canvas_same_camera (const IrCamera *a, const IrCamera *b)
{
  return a->zoom == b->zoom && round (a->x) == round (b->x) && round (a->y) == round (b->y) &&
         a->width == b->width && a->height == b->height;
}

static void
ir_canvas_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  IrCanvas *self = IR_CANVAS (widget);
  IrCamera now = ir_canvas_get_camera (self);

  self->allocating = TRUE;
  if (self->next_due)
    {
      canvas_go_to_next (self);
      now = ir_canvas_get_camera (self);
      self->allocated_width = width; /* the place is one for this size */
      self->allocated_height = height;
    }
  if (!self->moved && canvas_scene (self) != NULL &&
      (self->selected_box < 0 || self->allocated_width == 0))
    canvas_place_first (self);
  else /* what is in the middle stays there when panes come and go, and what is selected in sight */
    {
      const gboolean aimed = canvas_is_aimed (self);

      canvas_configure (
          self, now.x + (self->allocated_width > 0 ? (self->allocated_width - width) / 2 : 0),
          now.y + canvas_hidden_below (self, self->allocated_height, height));
      if (aimed && canvas_scene (self) != NULL)
        canvas_aim_again (self);
    }
  self->allocated_width = width;
  self->allocated_height = height;
  canvas_allocate_proxies (self);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (GTK_IS_POPOVER (child))
      gtk_popover_present (GTK_POPOVER (child));
  self->allocating = FALSE;
  now = ir_canvas_get_camera (self);
  if (self->zoom_to_tell || !canvas_same_camera (&now, &self->sync_camera))
    {
      self->sync_camera = now;
      ir_tip_hide (self->tip);
      canvas_queue_sync (self);
    }
}

static void
ir_canvas_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  IrCanvas *self = IR_CANVAS (widget);
  const IrCamera now = ir_canvas_get_camera (self);
  const GtkBitset *selection = ir_session_get_selection (self->session);
  GtkBitsetIter iter;
  guint node;
  guint n = 0;

  if (self->content == NULL || !canvas_same_camera (&now, &self->content_camera))
    {
      g_clear_pointer (&self->content, gsk_render_node_unref);
      ir_node_painter_set_scale (self->painter, gtk_widget_get_scale_factor (widget));
      self->content = ir_node_painter_paint (self->painter, gtk_widget_get_pango_context (widget),
                                             &now);
      self->content_camera = now;
    }
  gtk_snapshot_push_clip (snapshot,
                          &GRAPHENE_RECT_INIT (0, 0, (float) now.width, (float) now.height));
  if (self->content != NULL)
    gtk_snapshot_append_node (snapshot, self->content);
  if (canvas_scene (self) != NULL)
    {
      canvas_snapshot_tokens (self, snapshot, &now);
      for (guint i = 0; i < self->selected_lines->len; i++)
        ir_node_painter_highlight_line (self->painter, snapshot, &now,
                                        g_array_index (self->selected_lines, gint32, i));
      for (guint i = 0; i < self->relatives->len; i++)
        ir_node_painter_outline (self->painter, snapshot, &now,
                                 g_array_index (self->relatives, gint32, i), 4, 0.45);
      for (guint i = 0; i < self->hovered->len; i++)
        ir_node_painter_outline (self->painter, snapshot, &now,
                                 g_array_index (self->hovered, gint32, i), 3, 0.6);
      if (self->hover_box >= 0)
        ir_node_painter_outline (self->painter, snapshot, &now, self->hover_box, 2, 0.4);
      for (gboolean more = gtk_bitset_iter_init_first (&iter, selection, &node);
           more && n < MAX_SELECTED; more = gtk_bitset_iter_next (&iter, &node), n++)
        ir_node_painter_outline (self->painter, snapshot, &now, canvas_box_of_node (self, node), 2,
                                 1);
      if (self->flash > 0)
        ir_node_painter_outline (self->painter, snapshot, &now, self->selected_box,
                                 2 + FLASH_WIDTH * self->flash, 0.5 * self->flash);
      ir_node_painter_outline (self->painter, snapshot, &now, self->selected_box,
                               gtk_widget_get_focus_child (widget) != NULL ? 3 : 2, 1);
      ir_drag_snapshot (self->drag, snapshot);
      ir_tip_snapshot (self->tip, snapshot);
    }
  gtk_snapshot_pop (snapshot);
}

/* One tab stop for the whole canvas; arrows move inside it. */
static gboolean
ir_canvas_focus (GtkWidget *widget, GtkDirectionType direction)
{
  IrCanvas *self = IR_CANVAS (widget);

  if (gtk_widget_has_focus (widget) || gtk_widget_get_focus_child (widget) != NULL)
    return FALSE;
  if (self->selected_box >= 0)
    canvas_focus_selected (self);
  if (gtk_widget_get_focus_child (widget) == NULL)
    gtk_widget_grab_focus (widget);
  return TRUE;
}

static void
on_colours_changed (IrCanvas *self)
{
  ir_node_painter_set_colours (self->painter, ir_colours_wanted ());
  g_clear_pointer (&self->content, gsk_render_node_unref);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* Follows the session's frame. The camera stays where it is unless another graph was opened. */
void
ir_canvas_frame_changed (IrCanvas *self)
{
  IrFrame *frame = ir_session_get_frame (self->session);
  IrFrame *before = self->frame;
  const IrCamera was = ir_canvas_get_camera (self);
  const IrModel *old = before != NULL ? before->model : NULL;

  if (frame == NULL || old == NULL || old->context != frame->model->context)
    {
      self->moved = FALSE;
      g_hash_table_remove_all (self->places);
      g_array_set_size (self->left, 0);
    }
  if (frame == NULL || before == NULL || frame->scene != before->scene)
    self->aimed.zoom = 0; /* that was a place of another picture */
  self->frame = frame != NULL ? ir_frame_ref (frame) : NULL;
  if (frame != NULL && frame->scene != NULL && before != NULL && before->scene != NULL &&
      old->context == frame->model->context && frame->shape != before->shape)
    canvas_follow_frame (self, before, frame);
  else if (frame != NULL && frame->scene != NULL && before != NULL && before->scene != NULL &&
           old->context == frame->model->context && frame->marks != before->marks)
    canvas_keep_selected (self, before, frame);
  self->hover_box = -1;
  self->selected_box = -1;
  self->clicked_line = -1;
  ir_tip_hide (self->tip);
  g_array_set_size (self->selected_lines, 0);
  g_array_set_size (self->relatives, 0);
  g_array_set_size (self->hovered, 0);
  canvas_end_tween (self);
  ir_node_painter_set_scene (self->painter, (IrScene *) canvas_scene (self));
  ir_canvas_tokens_changed (self);
  g_clear_pointer (&self->content, gsk_render_node_unref);
  ir_canvas_selection_changed (self);
  if (before != NULL && before->scene != NULL && canvas_scene (self) != NULL &&
      old->context == frame->model->context && before->scene != frame->scene)
    canvas_tween_from (self, before, &was);
  ir_job_free_later (before, (GDestroyNotify) ir_frame_unref);
  canvas_await_size (self);
  canvas_sync_proxies (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* -- sides -- */

static void
show_sides (IrCanvas *self)
{
  ir_node_painter_set_sides (self->painter, self->blinking ? IR_SCENE_BEFORE : self->sides);
  g_clear_pointer (&self->content, gsk_render_node_unref);
  canvas_sync_proxies (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
ir_canvas_set_sides (IrCanvas *self, IrSceneSides sides)
{
  if (self->sides == sides)
    return;
  self->sides = sides;
  show_sides (self);
}

void
ir_canvas_blink (IrCanvas *self, gboolean on)
{
  on = on && canvas_scene (self) != NULL && ir_scene_is_diff (canvas_scene (self));
  if (self->blinking == on)
    return;
  self->blinking = on;
  show_sides (self);
}

static void
on_adjustment_changed (IrCanvas *self)
{
  if (self->configuring)
    return;
  self->moved = TRUE;
  canvas_queue_allocate (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
set_adjustment (IrCanvas *self, GtkAdjustment **field, GtkAdjustment *adjustment)
{
  if (*field != NULL)
    g_signal_handlers_disconnect_by_data (*field, self);
  g_clear_object (field);
  if (adjustment == NULL)
    return;
  *field = g_object_ref_sink (adjustment);
  g_signal_connect_swapped (adjustment, "value-changed", G_CALLBACK (on_adjustment_changed), self);
}

static void
ir_canvas_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  IrCanvas *self = IR_CANVAS (object);

  switch (id)
    {
    case PROP_HADJUSTMENT:
      set_adjustment (self, &self->hadjustment, g_value_get_object (value));
      break;
    case PROP_VADJUSTMENT:
      set_adjustment (self, &self->vadjustment, g_value_get_object (value));
      break;
    case PROP_HSCROLL_POLICY:
      self->hpolicy = g_value_get_enum (value);
      break;
    case PROP_VSCROLL_POLICY:
      self->vpolicy = g_value_get_enum (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
ir_canvas_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  IrCanvas *self = IR_CANVAS (object);

  switch (id)
    {
    case PROP_HADJUSTMENT:
      g_value_set_object (value, self->hadjustment);
      break;
    case PROP_VADJUSTMENT:
      g_value_set_object (value, self->vadjustment);
      break;
    case PROP_HSCROLL_POLICY:
      g_value_set_enum (value, self->hpolicy);
      break;
    case PROP_VSCROLL_POLICY:
      g_value_set_enum (value, self->vpolicy);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
ir_canvas_dispose (GObject *object)
{
  IrCanvas *self = IR_CANVAS (object);
  GtkWidget *child;

  ir_tip_hide (self->tip);
  canvas_forget_tokens (self);
  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  g_clear_object (&self->animation);
  if (self->tweening != NULL)
    adw_animation_pause (self->tweening);
  g_clear_object (&self->tweening);
  if (self->flashing != NULL)
    adw_animation_pause (self->flashing);
  g_clear_object (&self->flashing);
  set_adjustment (self, &self->hadjustment, NULL);
  set_adjustment (self, &self->vadjustment, NULL);
  g_clear_handle_id (&self->sync_timeout, g_source_remove);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  if (self->proxies != NULL)
    g_ptr_array_set_size (self->proxies, 0);
  G_OBJECT_CLASS (ir_canvas_parent_class)->dispose (object);
}

static void
ir_canvas_finalize (GObject *object)
{
  IrCanvas *self = IR_CANVAS (object);

  g_clear_pointer (&self->content, gsk_render_node_unref);
  g_clear_pointer (&self->painter, ir_node_painter_free);
  g_clear_pointer (&self->tween, ir_tween_free);
  g_clear_pointer (&self->drag, ir_drag_free);
  g_clear_pointer (&self->tip, ir_tip_free);
  g_clear_pointer (&self->frame, ir_frame_unref);
  g_clear_pointer (&self->selected_lines, g_array_unref);
  g_clear_pointer (&self->relatives, g_array_unref);
  g_clear_pointer (&self->hovered, g_array_unref);
  g_clear_pointer (&self->places, g_hash_table_unref);
  g_clear_pointer (&self->left, g_array_unref);
  g_clear_pointer (&self->toggled, g_free);
  g_clear_pointer (&self->proxies, g_ptr_array_unref);
  g_clear_object (&self->session);
  G_OBJECT_CLASS (ir_canvas_parent_class)->finalize (object);
}

static void
activate_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrCanvas *self = IR_CANVAS (widget);
  GtkWidget *focus = gtk_widget_get_focus_child (widget);

  if (focus != NULL && IR_IS_NODE_PROXY (focus))
    canvas_go_to_box (self, ir_node_proxy_get_box (IR_NODE_PROXY (focus)));
  canvas_activate_selected (self);
}

static void
ir_canvas_class_init (IrCanvasClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  object_class->dispose = ir_canvas_dispose;
  object_class->finalize = ir_canvas_finalize;
  object_class->get_property = ir_canvas_get_property;
  object_class->set_property = ir_canvas_set_property;
  widget_class->size_allocate = ir_canvas_size_allocate;
  widget_class->snapshot = ir_canvas_snapshot;
  widget_class->focus = ir_canvas_focus;
  g_object_class_override_property (object_class, PROP_HADJUSTMENT, "hadjustment");
  g_object_class_override_property (object_class, PROP_VADJUSTMENT, "vadjustment");
  g_object_class_override_property (object_class, PROP_HSCROLL_POLICY, "hscroll-policy");
  g_object_class_override_property (object_class, PROP_VSCROLL_POLICY, "vscroll-policy");
  gtk_widget_class_set_css_name (widget_class, "canvas");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST);
  gtk_widget_class_install_action (widget_class, "canvas.activate", NULL, activate_action);
  signals[ZOOMED] = g_signal_new ("zoomed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                  NULL, NULL, G_TYPE_NONE, 0);
  signals[MOVED] = g_signal_new ("moved", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                 NULL, NULL, G_TYPE_NONE, 0);
  signals[MENU] = g_signal_new ("menu", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                NULL, G_TYPE_NONE, 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
  signals[VALUE_DROPPED] = g_signal_new ("value-dropped", G_TYPE_FROM_CLASS (klass),
                                         G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 3,
                                         G_TYPE_UINT, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
}

/* What workers draw is there. */
static void
on_more_painted (gpointer data)
{
  IrCanvas *self = data;

  g_clear_pointer (&self->content, gsk_render_node_unref);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
ir_canvas_init (IrCanvas *self)
{
  self->zoom = 1;
  self->selected_box = self->hover_box = self->clicked_line = -1;
  self->selected_lines = g_array_new (FALSE, FALSE, sizeof (gint32));
  self->relatives = g_array_new (FALSE, FALSE, sizeof (gint32));
  self->hovered = g_array_new (FALSE, FALSE, sizeof (gint32));
  self->proxies = g_ptr_array_new ();
  self->left = g_array_new (FALSE, FALSE, sizeof (IrLeftView));
  self->places = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->painter = ir_node_painter_new (on_more_painted, self);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, "Graph",
                                  -1);
  self->drag = ir_drag_new (self);
  self->tip = ir_tip_new (self);
  canvas_add_keys (self);
  canvas_add_pointer (self);
  ir_colours_watch (self, G_CALLBACK (on_colours_changed));
  on_colours_changed (self);
}

GtkWidget *
ir_canvas_new (IrSession *session)
{
  IrCanvas *self = g_object_new (IR_TYPE_CANVAS, NULL);

  self->session = g_object_ref (session);
  return GTK_WIDGET (self);
}
