#include "config.h"

#include "views/tensor/rounds.h"

#include "views/tensor/controls.h"

static const GArray *
points_of (const IrTensorRounds *self)
{
  return self->series != NULL ? ir_run_series (self->series, self->value) : NULL;
}

static int
round_now (const IrTensorRounds *self)
{
  return gtk_widget_get_visible (self->box) ? (int) gtk_range_get_value (GTK_RANGE (self->slider))
                                            : -1;
}

static void
on_slider (IrTensorRounds *self)
{
  if (!self->showing)
    self->changed (self->data);
}

GtkWidget *
ir_tensor_rounds_init (IrTensorRounds *self, GCallback changed, gpointer data)
{
  self->changed = (void (*) (gpointer)) changed;
  self->data = data;
  self->box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  self->slider = gtk_scale_new_with_range (GTK_ORIENTATION_HORIZONTAL, 0, 1, 1);
  self->text = tensor_line_label ("", "numeric", PANGO_ELLIPSIZE_MIDDLE);
  gtk_scale_set_draw_value (GTK_SCALE (self->slider), FALSE);
  gtk_widget_set_hexpand (self->slider, TRUE);
  gtk_widget_set_tooltip_text (self->slider, "Which iteration of its loop the value is shown of");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->slider), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Iteration", -1);
  g_signal_connect_swapped (self->slider, "value-changed", G_CALLBACK (on_slider), self);
  gtk_box_append (GTK_BOX (self->box),
                  tensor_line_label ("Iteration", "dim-label", PANGO_ELLIPSIZE_NONE));
  gtk_box_append (GTK_BOX (self->box), self->slider);
  gtk_box_append (GTK_BOX (self->box), self->text);
  gtk_widget_set_visible (self->box, FALSE);
  return self->box;
}

void
ir_tensor_rounds_clear (IrTensorRounds *self)
{
  g_clear_pointer (&self->series, ir_run_unref);
  g_clear_pointer (&self->run, ir_run_unref);
}

/* What is known of the rounds of another value, or another run, is forgotten. */
char *
ir_tensor_rounds_ask (IrTensorRounds *self, IrTensorRequest *request)
{
  IrRun *run = request->runs[IR_SIDE_AFTER];
  const IrValueId id = request->ids[IR_SIDE_AFTER];
  const IrValue *value = run != NULL ? ir_model_live_value (run->model, id) : NULL;
  g_autofree char *loops = value != NULL ? ir_value_loops (value) : NULL;
  const gboolean ended = loops == NULL || ir_run_has_ended (run, value);

  if (self->run != run || self->value != id)
    {
      ir_tensor_rounds_clear (self);
      self->run = run != NULL ? ir_run_ref (run) : NULL;
      self->value = id;
      gtk_widget_set_visible (self->box, FALSE);
    }
  request->in_loop = loops != NULL && ended;
  request->series = self->series != NULL ? ir_run_ref (self->series) : NULL;
  request->round = round_now (self);
  if (points_of (self) != NULL && request->round + 1 == (int) points_of (self)->len)
    request->round = -1;
  return ended ? NULL : g_steal_pointer (&loops);
}

/* The last one is what the run has kept, so that it is chosen first. */
void
ir_tensor_rounds_take (IrTensorRounds *self, IrRun **series)
{
  if (*series != NULL)
    {
      g_clear_pointer (&self->series, ir_run_unref);
      self->series = g_steal_pointer (series);
    }
  const GArray *points = points_of (self);
  const guint n = points != NULL ? points->len : 0;

  if (n < 2)
    {
      gtk_widget_set_visible (self->box, FALSE);
      return;
    }
  self->showing = TRUE;
  if (!gtk_widget_get_visible (self->box))
    {
      gtk_range_set_range (GTK_RANGE (self->slider), 0, n - 1);
      gtk_range_set_value (GTK_RANGE (self->slider), n - 1);
    }
  self->showing = FALSE;
  gtk_widget_set_visible (self->box, TRUE);
  const guint now = MIN ((guint) round_now (self), n - 1);
  const IrSeriesPoint *point = &g_array_index (points, IrSeriesPoint, now);
  g_autofree char *text = g_strdup_printf ("%s@%" G_GINT64_FORMAT ", %u of %u", point->frame,
                                           point->iteration, now + 1, n);
  gtk_label_set_text (GTK_LABEL (self->text), text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->slider), GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT,
                                  text, -1);
}

const char *
ir_tensor_rounds_text (const IrTensorRounds *self)
{
  return gtk_widget_get_visible (self->box) ? gtk_label_get_text (GTK_LABEL (self->text)) : NULL;
}
