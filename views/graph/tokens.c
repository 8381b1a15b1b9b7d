/* Tokens on the lines of the picture, as they are behind the event that is shown. */
#include "config.h"

#include "views/colours.h"
#include "views/graph/canvas-private.h"
#include "views/session/play.h"

void
canvas_forget_tokens (IrCanvas *self)
{
  g_clear_pointer (&self->tokens, g_array_unref);
  g_clear_pointer (&self->measure, ir_text_measure_free);
}

void
ir_canvas_tokens_changed (IrCanvas *self)
{
  const IrFlowState *state = ir_session_get_tokens (self->session);
  const gboolean had = self->tokens != NULL;

  g_clear_pointer (&self->tokens, g_array_unref);
  if (self->measure == NULL && state != NULL)
    self->measure = ir_text_measure_new ();
  if (state != NULL && canvas_scene (self) != NULL)
    self->tokens = ir_scene_tokens (canvas_scene (self), self->frame->model, state,
                                    ir_text_measure_width, self->measure);
  if (had || self->tokens != NULL)
    {
      canvas_sync_proxies (self);
      gtk_widget_queue_draw (GTK_WIDGET (self));
    }
}

void
canvas_snapshot_tokens (IrCanvas *self, GtkSnapshot *snapshot, const IrCamera *now)
{
  const graphene_rect_t all = GRAPHENE_RECT_INIT (0, 0, (float) now->width, (float) now->height);
  const IrLayoutRect world = ir_camera_world (now);
  cairo_t *cr;

  if (self->tokens == NULL || self->tokens->len == 0)
    return;
  cr = gtk_snapshot_append_cairo (snapshot, &all);
  cairo_translate (cr, -now->x, -now->y);
  cairo_scale (cr, now->zoom, now->zoom);
  ir_render_tokens (self->tokens, ir_palette (ir_colours_wanted ()), &world, cr);
  cairo_destroy (cr);
}
