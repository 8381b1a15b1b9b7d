/* Boxes on their way from where they were in one frame to where they are in the next. */
#include "config.h"

#include "views/graph/canvas-private.h"

#include <adwaita.h>

#define TWEEN_MS 250

void
canvas_end_tween (IrCanvas *self)
{
  if (self->tweening != NULL)
    adw_animation_pause (self->tweening);
  ir_node_painter_set_tween (self->painter, NULL, 1);
  g_clear_pointer (&self->tween, ir_tween_free);
  g_clear_pointer (&self->content, gsk_render_node_unref);
}

static void
on_tween (double t, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);

  if (t >= 1)
    canvas_end_tween (self);
  else
    ir_node_painter_set_tween (self->painter, self->tween, t);
  g_clear_pointer (&self->content, gsk_render_node_unref);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* @was: the camera over @old, whose boxes go to their places now; at once without motion. */
void
canvas_tween_from (IrCanvas *self, const IrFrame *old, const IrCamera *was)
{
  const IrCamera now = ir_canvas_get_camera (self);
  gboolean motion = FALSE;

  canvas_end_tween (self);
  g_object_get (gtk_widget_get_settings (GTK_WIDGET (self)), "gtk-enable-animations", &motion,
                NULL);
  if (!motion || was->zoom != now.zoom || !gtk_widget_get_mapped (GTK_WIDGET (self)) ||
      old->root != self->frame->root)
    return;
  self->tween = ir_tween_new (old->scene, canvas_scene (self), (now.x - was->x) / now.zoom,
                              (now.y - was->y) / now.zoom);
  if (self->tween == NULL)
    return;
  if (self->tweening == NULL)
    {
      self->tweening = adw_timed_animation_new (
          GTK_WIDGET (self), 0, 1, TWEEN_MS,
          adw_callback_animation_target_new (on_tween, self, NULL));
      adw_timed_animation_set_easing (ADW_TIMED_ANIMATION (self->tweening), ADW_EASE_OUT_CUBIC);
    }
  ir_node_painter_set_tween (self->painter, self->tween, 0);
  adw_animation_reset (self->tweening);
  adw_animation_play (self->tweening);
}
