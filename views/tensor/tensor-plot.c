#include "config.h"

#include "core/ir/problem.h"
#include "core/render/palette.h"
#include "views/tensor/tensor-plot.h"

#include <adwaita.h>
#include <math.h>

#define HISTOGRAM_WIDTH 220
#define HEIGHT          150
#define GAP             16
#define MAX_SIDE        1024 /* elements a side of a heat map; larger planes are sampled */

struct _IrTensorPlot
{
  GtkWidget parent;
  IrTensor *tensor; /* (nullable) */
  IrTensorStats stats;
  guint64 plane;
  cairo_surface_t *heat_map; /* (nullable) made when needed */
};

G_DEFINE_FINAL_TYPE (IrTensorPlot, ir_tensor_plot, GTK_TYPE_WIDGET)

/* -- planes -- */

static void
plane_size (const IrTensor *tensor, gint64 *rows, gint64 *columns)
{
  guint rank = ir_tensor_rank (tensor);
  const gint64 *dims = ir_tensor_dims (tensor);

  *columns = rank >= 1 ? dims[rank - 1] : 1;
  *rows = rank >= 2 ? dims[rank - 2] : 1;
}

guint64
ir_tensor_n_planes (const IrTensor *tensor)
{
  gint64 rows, columns;

  plane_size (tensor, &rows, &columns);
  return rows * columns > 0 ? ir_tensor_n_elements (tensor) / (guint64) (rows * columns) : 0;
}

/* -- colours -- */

static guint32
colour_of (double value, double most, const IrPalette *palette)
{
  double size;

  if (isnan (value))
    return palette->problem[IR_SEVERITY_ERROR];
  if (isinf (value))
    return palette->problem[IR_SEVERITY_WARNING];
  size = most > 0 ? fabs (value) / most : 0;
  return ir_colour_mix (palette->box,
                        value < 0 ? palette->header[IR_FAMILY_ACTIVATION]
                                  : palette->header[IR_FAMILY_LINEAR],
                        sqrt (MIN (size, 1)));
}

static const IrPalette *
palette_now (void)
{
  return ir_palette (adw_style_manager_get_dark (adw_style_manager_get_default ()));
}

static void
set_source (cairo_t *cr, guint32 colour)
{
  cairo_set_source_rgb (cr, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                        (colour & 255) / 255.0);
}

static cairo_surface_t *
make_heat_map (IrTensorPlot *self)
{
  const IrPalette *palette = palette_now ();
  double most = MAX (fabs (self->stats.min), fabs (self->stats.max));
  gint64 rows, columns, out_rows, out_columns;
  cairo_surface_t *surface;
  guint32 *pixels;
  int stride;

  plane_size (self->tensor, &rows, &columns);
  out_rows = MIN (rows, MAX_SIDE);
  out_columns = MIN (columns, MAX_SIDE);
  surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int) out_columns, (int) out_rows);
  stride = cairo_image_surface_get_stride (surface) / 4;
  pixels = (guint32 *) cairo_image_surface_get_data (surface);
  for (gint64 r = 0; r < out_rows; r++)
    for (gint64 c = 0; c < out_columns; c++)
      {
        gint64 row = r * rows / out_rows, column = c * columns / out_columns;
        guint64 index = self->plane * (guint64) (rows * columns) +
                        (guint64) (row * columns + column);

        pixels[r * stride + c] = colour_of (ir_tensor_get_double (self->tensor, index), most,
                                            palette);
      }
  cairo_surface_mark_dirty (surface);
  return surface;
}

/* -- drawing -- */

static void
draw_histogram (IrTensorPlot *self, cairo_t *cr, double height)
{
  const IrPalette *palette = palette_now ();
  guint64 most = 1;
  double width;

  for (guint i = 0; i < self->stats.n_bins; i++)
    most = MAX (most, self->stats.bins[i]);
  width = (double) HISTOGRAM_WIDTH / MAX (self->stats.n_bins, 1);
  set_source (cr, palette->line);
  cairo_rectangle (cr, 0, height - 1, HISTOGRAM_WIDTH, 1);
  cairo_fill (cr);
  set_source (cr, palette->header[IR_FAMILY_LINEAR]);
  for (guint i = 0; i < self->stats.n_bins; i++)
    {
      double bar = (double) self->stats.bins[i] / most * (height - 4);

      if (self->stats.bins[i] == 0)
        continue;
      bar = MAX (bar, 1);
      cairo_rectangle (cr, i * width, height - 1 - bar, MAX (width - 1, 1), bar);
      cairo_fill (cr);
    }
}

/* Whole pixels of one size per element where there is room; nothing is smoothed. */
static void
draw_heat_map (IrTensorPlot *self, cairo_t *cr, double x, double width, double height)
{
  double columns, rows, scale;

  if (self->heat_map == NULL)
    self->heat_map = make_heat_map (self);
  columns = cairo_image_surface_get_width (self->heat_map);
  rows = cairo_image_surface_get_height (self->heat_map);
  scale = MIN (width / columns, height / rows);
  scale = scale >= 1 ? floor (scale) : scale;
  cairo_save (cr);
  cairo_translate (cr, x, 0);
  cairo_rectangle (cr, 0, 0, columns * scale, rows * scale);
  cairo_clip (cr);
  cairo_scale (cr, scale, scale);
  cairo_set_source_surface (cr, self->heat_map, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr),
                            scale >= 1 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
  cairo_paint (cr);
  cairo_restore (cr);
  set_source (cr, palette_now ()->border);
  cairo_set_line_width (cr, 1);
  cairo_rectangle (cr, x + 0.5, 0.5, MAX (columns * scale - 1, 1), MAX (rows * scale - 1, 1));
  cairo_stroke (cr);
}

static gboolean
has_numbers (const IrTensor *tensor)
{
  return tensor != NULL && ir_tensor_dtype (tensor) != IR_DTYPE_STRING &&
         ir_tensor_n_elements (tensor) > 0;
}

static void
ir_tensor_plot_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  IrTensorPlot *self = IR_TENSOR_PLOT (widget);
  int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  cairo_t *cr;

  if (!has_numbers (self->tensor) || width <= 0 || height <= 0)
    return;
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));
  draw_histogram (self, cr, height);
  if (width > HISTOGRAM_WIDTH + 2 * GAP)
    draw_heat_map (self, cr, HISTOGRAM_WIDTH + GAP, width - HISTOGRAM_WIDTH - GAP, height);
  cairo_destroy (cr);
}

static void
ir_tensor_plot_measure (GtkWidget *widget,
                        GtkOrientation orientation,
                        int for_size,
                        int *minimum,
                        int *natural,
                        int *minimum_baseline,
                        int *natural_baseline)
{
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? HISTOGRAM_WIDTH : HEIGHT / 2;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? HISTOGRAM_WIDTH + GAP + HEIGHT : HEIGHT;
}

/* -- object -- */

static void
forget_heat_map (IrTensorPlot *self)
{
  g_clear_pointer (&self->heat_map, cairo_surface_destroy);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
ir_tensor_plot_finalize (GObject *object)
{
  IrTensorPlot *self = IR_TENSOR_PLOT (object);

  g_clear_pointer (&self->heat_map, cairo_surface_destroy);
  g_clear_pointer (&self->tensor, ir_tensor_unref);
  G_OBJECT_CLASS (ir_tensor_plot_parent_class)->finalize (object);
}

static void
ir_tensor_plot_class_init (IrTensorPlotClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_tensor_plot_finalize;
  GTK_WIDGET_CLASS (klass)->snapshot = ir_tensor_plot_snapshot;
  GTK_WIDGET_CLASS (klass)->measure = ir_tensor_plot_measure;
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_IMG);
}

static void
ir_tensor_plot_init (IrTensorPlot *self)
{
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Histogram and heat map", -1);
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark",
                           G_CALLBACK (forget_heat_map), self, G_CONNECT_SWAPPED);
}

GtkWidget *
ir_tensor_plot_new (void)
{
  return g_object_new (IR_TYPE_TENSOR_PLOT, NULL);
}

void
ir_tensor_plot_load (IrTensorPlot *self, IrTensor *tensor, const IrTensorStats *stats)
{
  IrTensor *old = self->tensor;

  self->tensor = tensor != NULL ? ir_tensor_ref (tensor) : NULL;
  g_clear_pointer (&old, ir_tensor_unref);
  if (stats != NULL)
    self->stats = *stats;
  self->plane = 0;
  forget_heat_map (self);
}

void
ir_tensor_plot_set_plane (IrTensorPlot *self, guint64 plane)
{
  if (self->tensor == NULL || plane >= ir_tensor_n_planes (self->tensor) || plane == self->plane)
    return;
  self->plane = plane;
  forget_heat_map (self);
}
