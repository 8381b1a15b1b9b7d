#include "config.h"

#include "views/graph/legend.h"
#include "views/colours.h"
#include "views/label.h"

#include "core/look/legend.h"
#include "core/render/render.h"

struct _IrLegend
{
  GtkWidget parent_instance;

  IrScene *scene; /* (nullable) */
};

G_DEFINE_FINAL_TYPE (IrLegend, ir_legend, GTK_TYPE_WIDGET)

/* Without the margin that a picture has. */
static IrLayoutRect
content (const IrLegend *self)
{
  const IrLayoutRect bounds = ir_scene_bounds (self->scene);

  return (IrLayoutRect){ bounds.x + IR_SCENE_MARGIN, bounds.y + IR_SCENE_MARGIN,
                         bounds.width - 2 * IR_SCENE_MARGIN, bounds.height - 2 * IR_SCENE_MARGIN };
}

static void
ir_legend_measure (GtkWidget *widget,
                   GtkOrientation orientation,
                   int for_size,
                   int *minimum,
                   int *natural,
                   int *minimum_baseline,
                   int *natural_baseline)
{
  const IrLegend *self = IR_LEGEND (widget);
  const IrLayoutRect r = self->scene != NULL ? content (self) : (IrLayoutRect){ 0 };

  *minimum = *natural = (int) (orientation == GTK_ORIENTATION_HORIZONTAL ? r.width : r.height) + 1;
}

static void
ir_legend_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  const IrLegend *self = IR_LEGEND (widget);
  IrLayoutRect r;
  cairo_t *cr;

  if (self->scene == NULL)
    return;
  r = content (self);
  cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) r.width + 1, (float) r.height + 1));
  cairo_translate (cr, -r.x, -r.y);
  ir_render_cairo (self->scene, ir_palette (ir_colours_wanted ()), NULL, 1, cr);
  cairo_destroy (cr);
}

void
ir_legend_set_scale (IrLegend *self, const IrScale *scale)
{
  g_clear_pointer (&self->scene, ir_scene_unref);
  gtk_widget_set_visible (GTK_WIDGET (self), scale != NULL);
  if (scale != NULL)
    {
      g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
      g_autofree char *sentence = ir_scale_sentence (scale);

      self->scene = ir_legend_draw (scale, ir_text_measure_width, measure);
      gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                      sentence, -1);
      ir_set_tip (GTK_WIDGET (self), sentence);
    }
  gtk_widget_queue_resize (GTK_WIDGET (self));
}

static void
ir_legend_finalize (GObject *object)
{
  g_clear_pointer (&IR_LEGEND (object)->scene, ir_scene_unref);
  G_OBJECT_CLASS (ir_legend_parent_class)->finalize (object);
}

static void
ir_legend_class_init (IrLegendClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_legend_finalize;
  GTK_WIDGET_CLASS (klass)->measure = ir_legend_measure;
  GTK_WIDGET_CLASS (klass)->snapshot = ir_legend_snapshot;
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_IMG);
}

static void
ir_legend_init (IrLegend *self)
{
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  ir_colours_watch (self, G_CALLBACK (gtk_widget_queue_draw));
}

GtkWidget *
ir_legend_new (void)
{
  return g_object_new (IR_TYPE_LEGEND, NULL);
}
