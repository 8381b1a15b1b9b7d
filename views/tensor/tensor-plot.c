#include "config.h"

#include "core/ir/problem.h"
#include "views/colours.h"
#include "core/render/palette.h"
#include "views/jobs.h"
#include "views/tensor/element-list.h"
#include "views/tensor/tensor-plot.h"

#include <math.h>

#define HISTOGRAM_WIDTH 180
#define HISTOGRAM_LEAST 120 /* pixels: the heat map needs the room */
#define HEIGHT          160
#define CAPTION_HEIGHT  20 /* below both pictures */
#define GAP             20
#define WRAP            128  /* columns: one row that is longer is wrapped */
#define MAX_SIDE        1024 /* pixels a side of a heat map; larger planes are sampled */
#define LEGEND_WIDTH    64
#define LEGEND_LEAST    24
#define SWATCHES_HEIGHT 16 /* what NaN and Inf look like, below the legend */
#define LEGEND_HEIGHT   8

/* Which elements are where in the picture. */
typedef struct
{
  guint64 plane, size;   /* elements of the plane */
  guint64 rows, columns; /* as they are drawn */
} Grid;

struct _IrTensorPlot
{
  GtkWidget parent;
  IrTensor *tensor, *minus; /* (nullable) */
  IrTensorStats stats;
  guint64 plane;
  cairo_surface_t *heat_map; /* (nullable) of what was asked for last, or before */
  Grid drawn;                /* of heat_map */
  gboolean working, stale;   /* a job runs; its result will be out of date */
};

G_DEFINE_FINAL_TYPE (IrTensorPlot, ir_tensor_plot, GTK_TYPE_WIDGET)

enum
{
  PICKED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* -- planes -- */

/* The axes of a plane: the last two that are longer than 1. -1: there is none. */
static void
plane_axes (const IrTensor *tensor, int *row, int *column)
{
  const gint64 *dims = ir_tensor_dims (tensor);

  *row = *column = -1;
  for (int i = (int) ir_tensor_rank (tensor) - 1; i >= 0 && *row < 0; i--)
    if (dims[i] != 1 && *column < 0)
      *column = i;
    else if (*column >= 0)
      *row = i;
}

void
ir_tensor_plane_size (const IrTensor *tensor, guint64 *rows, guint64 *columns)
{
  int row, column;

  plane_axes (tensor, &row, &column);
  *columns = column >= 0 ? (guint64) ir_tensor_dims (tensor)[column] : 1;
  *rows = row >= 0 ? (guint64) ir_tensor_dims (tensor)[row] : 1;
}

guint64
ir_tensor_n_planes (const IrTensor *tensor)
{
  guint64 rows, columns;

  ir_tensor_plane_size (tensor, &rows, &columns);
  return rows * columns > 0 ? ir_tensor_n_elements (tensor) / (rows * columns) : 0;
}

/* The index of the plane, with ":" for the axes that it spans */
char *
ir_tensor_plane_text (const IrTensor *tensor, guint64 plane)
{
  g_autoptr (GString) text = g_string_new ("]");
  int row, column;

  plane_axes (tensor, &row, &column);
  for (int i = (int) ir_tensor_rank (tensor) - 1; i >= 0; i--)
    {
      guint64 dim = (guint64) MAX (ir_tensor_dims (tensor)[i], 1);
      g_autofree char *part = NULL;

      if (i == row || i == column)
        part = g_strdup (":");
      else if (i > row)
        part = g_strdup ("0");
      else
        {
          part = g_strdup_printf ("%" G_GUINT64_FORMAT, plane % dim);
          plane /= dim;
        }
      g_string_prepend (text, part);
      if (i > 0)
        g_string_prepend (text, ", ");
    }
  g_string_prepend_c (text, '[');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static Grid
grid_of (const IrTensor *tensor, guint64 plane)
{
  Grid grid = { .plane = plane };

  ir_tensor_plane_size (tensor, &grid.rows, &grid.columns);
  grid.size = grid.rows * grid.columns;
  if (grid.rows == 1 && grid.columns > WRAP)
    {
      grid.columns = MAX (WRAP, (guint64) ceil (sqrt ((double) grid.size)));
      grid.rows = (grid.size + grid.columns - 1) / grid.columns;
    }
  return grid;
}

/* -- the heat map -- */

typedef struct
{
  IrTensor *tensor, *minus;
  Grid grid;
  double most; /* the strongest colour */
  IrPaletteKind colours;
} Request;

static void
request_free (gpointer data)
{
  Request *request = data;

  g_clear_pointer (&request->tensor, ir_tensor_unref);
  g_clear_pointer (&request->minus, ir_tensor_unref);
  g_free (request);
}

static double
value_at (const IrTensor *tensor, const IrTensor *minus, guint64 index)
{
  double a = ir_tensor_get_double (tensor, index), b;

  if (minus == NULL)
    return a;
  b = ir_tensor_get_double (minus, index);
  return a == b || (isnan (a) && isnan (b)) ? 0 : a - b;
}

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

/* Of the elements that share a pixel the one that must not be missed: NaN, else the largest. */
static double
pixel_value (const Request *request, guint64 r0, guint64 r1, guint64 c0, guint64 c1)
{
  const Grid *grid = &request->grid;
  double best = 0;

  for (guint64 r = r0; r < r1; r++)
    for (guint64 c = c0; c < c1; c++)
      {
        guint64 at = r * grid->columns + c;
        double value;

        if (at >= grid->size)
          continue;
        value = value_at (request->tensor, request->minus, grid->plane * grid->size + at);
        if (isnan (value))
          return value;
        if (fabs (value) > fabs (best))
          best = value;
      }
  return best;
}

static gpointer
make_heat_map (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const Request *request = data;
  const Grid *grid = &request->grid;
  const IrPalette *palette = ir_palette (request->colours);
  guint64 height = MIN (grid->rows, MAX_SIDE), width = MIN (grid->columns, MAX_SIDE);
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int) width,
                                                         (int) height);
  guint32 *pixels = (guint32 *) cairo_image_surface_get_data (surface);
  int stride = cairo_image_surface_get_stride (surface) / 4;

  for (guint64 y = 0; y < height && !g_cancellable_is_cancelled (cancellable); y++)
    for (guint64 x = 0; x < width; x++)
      {
        guint64 r0 = y * grid->rows / height, r1 = (y + 1) * grid->rows / height,
                c0 = x * grid->columns / width, c1 = (x + 1) * grid->columns / width;

        pixels[y * (guint64) stride + x] =
            r0 * grid->columns + c0 < grid->size
                ? colour_of (pixel_value (request, r0, r1, c0, c1), request->most, palette)
                : palette->background; /* beyond the end of a wrapped row */
      }
  cairo_surface_mark_dirty (surface);
  return surface;
}

static void start_heat_map (IrTensorPlot *self);

static void
on_heat_map (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrTensorPlot *self = IR_TENSOR_PLOT (owner);
  const Request *request = data;

  self->working = FALSE;
  if (self->stale)
    {
      g_clear_pointer ((cairo_surface_t **) &result, cairo_surface_destroy);
      start_heat_map (self);
      return;
    }
  g_clear_pointer (&self->heat_map, cairo_surface_destroy);
  self->heat_map = result;
  self->drawn = request->grid;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static gboolean
has_numbers (const IrTensor *tensor)
{
  return tensor != NULL && ir_tensor_dtype (tensor) != IR_DTYPE_STRING &&
         ir_tensor_n_elements (tensor) > 1;
}

static void
start_heat_map (IrTensorPlot *self)
{
  Request *request;

  self->stale = self->working;
  if (self->working || !has_numbers (self->tensor))
    return;
  request = g_new0 (Request, 1);
  request->tensor = ir_tensor_ref (self->tensor);
  request->minus = self->minus != NULL ? ir_tensor_ref (self->minus) : NULL;
  request->grid = grid_of (self->tensor, self->plane);
  request->most = MAX (fabs (self->stats.min), fabs (self->stats.max));
  request->colours = ir_colours_wanted ();
  self->working = TRUE;
  ir_job_unref (
      ir_job_start (self, &(IrJobSpec){ .run = make_heat_map,
                                        .data = request,
                                        .data_free = request_free,
                                        .result_free = (GDestroyNotify) cairo_surface_destroy,
                                        .done = on_heat_map }));
}

/* -- where what lies -- */

/* Narrower where the heat map and its legend would not have their room. */
static double
histogram_width (IrTensorPlot *self)
{
  return CLAMP (gtk_widget_get_width (GTK_WIDGET (self)) - GAP - HEIGHT, HISTOGRAM_LEAST,
                HISTOGRAM_WIDTH);
}

static double
heat_map_x (IrTensorPlot *self)
{
  return histogram_width (self) + GAP;
}

static gboolean
has_swatches (const IrTensorPlot *self)
{
  return self->stats.n_nan + self->stats.n_pos_inf + self->stats.n_neg_inf > 0;
}

static int
caption_height (const IrTensorPlot *self)
{
  return CAPTION_HEIGHT + (has_swatches (self) ? SWATCHES_HEIGHT : 0);
}

/* -- drawing -- */

static const IrPalette *
palette_now (void)
{
  return ir_palette (ir_colours_wanted ());
}

static void
set_source (cairo_t *cr, guint32 colour)
{
  cairo_set_source_rgb (cr, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                        (colour & 255) / 255.0);
}

/* @align: 0 puts @x at the left end of the text, 1 at the right. Returns the width. */
static double
draw_text (IrTensorPlot *self, cairo_t *cr, const char *text, double x, double y, double align)
{
  g_autoptr (PangoLayout) layout = gtk_widget_create_pango_layout (GTK_WIDGET (self), text);
  PangoAttrList *attrs = pango_attr_list_new ();
  int width;

  pango_attr_list_insert (attrs, pango_attr_scale_new (PANGO_SCALE_SMALL));
  pango_layout_set_attributes (layout, attrs);
  pango_attr_list_unref (attrs);
  pango_layout_get_pixel_size (layout, &width, NULL);
  set_source (cr, palette_now ()->muted);
  cairo_move_to (cr, x - align * width, y);
  pango_cairo_show_layout (cr, layout);
  return width;
}

static void
draw_bars (IrTensorPlot *self, cairo_t *cr, double height)
{
  const IrPalette *palette = palette_now ();
  const IrTensorStats *stats = &self->stats;
  double width = histogram_width (self) / MAX (stats->n_bins, 1);
  guint64 most = 1;

  for (guint i = 0; i < stats->n_bins; i++)
    most = MAX (most, stats->bins[i]);
  for (guint i = 0; i < stats->n_bins; i++)
    {
      double middle = stats->bin_low +
                      (i + 0.5) * (stats->bin_high - stats->bin_low) / stats->n_bins;
      double bar = MAX ((double) stats->bins[i] / most * (height - 4), 1);

      if (stats->bins[i] == 0)
        continue;
      set_source (cr, palette->header[middle < 0 ? IR_FAMILY_ACTIVATION : IR_FAMILY_LINEAR]);
      cairo_rectangle (cr, i * width, height - 1 - bar, MAX (width - 1, 1), bar);
      cairo_fill (cr);
    }
}

static void
draw_histogram (IrTensorPlot *self, cairo_t *cr, double height)
{
  const IrTensorStats *stats = &self->stats;
  const double width = histogram_width (self);
  const int digits = width < HISTOGRAM_WIDTH ? 3 : 4;
  g_autofree char *low = g_strdup_printf ("%.*g", digits, stats->bin_low),
                  *high = g_strdup_printf ("%.*g", digits, stats->bin_high);

  draw_bars (self, cr, height);
  set_source (cr, palette_now ()->line);
  cairo_rectangle (cr, 0, height - 1, width, 1);
  if (stats->bin_low < 0 && stats->bin_high > 0)
    cairo_rectangle (cr, floor (-stats->bin_low / (stats->bin_high - stats->bin_low) * width),
                     height - 1, 1, 5);
  cairo_fill (cr);
  if (stats->n_bins == 0)
    draw_text (self, cr, "no finite element", 0, height / 2 - 8, 0);
  else if (stats->bin_low == stats->bin_high)
    draw_text (self, cr, low, 0, height + 3, 0);
  else
    {
      draw_text (self, cr, low, 0, height + 3, 0);
      draw_text (self, cr, high, width, height + 3, 1);
    }
}

/* Where the heat map lies: whole pixels of one size per element where there is room. */
static double
heat_map_scale (IrTensorPlot *self, double width, double height)
{
  double columns = cairo_image_surface_get_width (self->heat_map),
         rows = cairo_image_surface_get_height (self->heat_map);
  double scale = MIN (width / columns, height / rows);

  return scale >= 1 ? floor (scale) : scale;
}

static void
draw_heat_map (IrTensorPlot *self, cairo_t *cr, double x, double width, double height)
{
  double scale = heat_map_scale (self, width, height);
  double columns = cairo_image_surface_get_width (self->heat_map) * scale,
         rows = cairo_image_surface_get_height (self->heat_map) * scale;

  cairo_save (cr);
  cairo_translate (cr, x, 0);
  cairo_rectangle (cr, 0, 0, columns, rows);
  cairo_clip (cr);
  cairo_scale (cr, scale, scale);
  cairo_set_source_surface (cr, self->heat_map, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr),
                            scale >= 1 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
  cairo_paint (cr);
  cairo_restore (cr);
  set_source (cr, palette_now ()->border);
  cairo_set_line_width (cr, 1);
  cairo_rectangle (cr, x + 0.5, 0.5, MAX (columns - 1, 1), MAX (rows - 1, 1));
  cairo_stroke (cr);
}

static double
draw_swatch (IrTensorPlot *self, cairo_t *cr, guint32 colour, const char *text, double x, double y)
{
  set_source (cr, colour);
  cairo_rectangle (cr, x, y + 4, LEGEND_HEIGHT, LEGEND_HEIGHT);
  cairo_fill (cr);
  return x + LEGEND_HEIGHT + 4 + draw_text (self, cr, text, x + LEGEND_HEIGHT + 4, y, 0) + 10;
}

/* From the strongest negative colour over none to the strongest positive one. */
static void
draw_legend (IrTensorPlot *self, cairo_t *cr, double x, double y)
{
  const IrPalette *palette = palette_now ();
  const double right = gtk_widget_get_width (GTK_WIDGET (self));
  double most = MAX (fabs (self->stats.min), fabs (self->stats.max)), end = x;
  g_autofree char *low = g_strdup_printf ("%.3g", -most), *high = g_strdup_printf ("%.3g", most);

  end += draw_text (self, cr, low, x, y, 0) + 6;
  /* What is above nothing is about as wide as what is below. */
  const int width = (int) CLAMP (right - end - (end - x), LEGEND_LEAST, LEGEND_WIDTH);
  for (int i = 0; i < width; i++)
    {
      set_source (cr, colour_of ((i - width / 2) / (width / 2.0), 1, palette));
      cairo_rectangle (cr, end + i, y + 4, 1, LEGEND_HEIGHT);
      cairo_fill (cr);
    }
  draw_text (self, cr, high, end + width + 6, y, 0);
}

static void
draw_swatches (IrTensorPlot *self, cairo_t *cr, double x, double y)
{
  const IrPalette *palette = palette_now ();

  if (self->stats.n_nan > 0)
    x = draw_swatch (self, cr, palette->problem[IR_SEVERITY_ERROR], "NaN", x, y);
  if (self->stats.n_pos_inf + self->stats.n_neg_inf > 0)
    draw_swatch (self, cr, palette->problem[IR_SEVERITY_WARNING], "Inf", x, y);
}

static void
ir_tensor_plot_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  IrTensorPlot *self = IR_TENSOR_PLOT (widget);
  int width = gtk_widget_get_width (widget),
      height = gtk_widget_get_height (widget) - caption_height (self);
  const double x = heat_map_x (self);
  cairo_t *cr;

  if (!has_numbers (self->tensor) || width <= 0 || height <= 0)
    return;
  cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height + caption_height (self)));
  draw_histogram (self, cr, height);
  if (self->heat_map != NULL && width > x + GAP)
    {
      draw_heat_map (self, cr, x, width - x, height);
      draw_legend (self, cr, x, height + 3);
      draw_swatches (self, cr, x, height + 3 + SWATCHES_HEIGHT);
    }
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
  const gboolean horizontal = orientation == GTK_ORIENTATION_HORIZONTAL;
  const int height = HEIGHT + caption_height (IR_TENSOR_PLOT (widget));

  *minimum = horizontal ? HISTOGRAM_WIDTH : height;
  *natural = horizontal ? HISTOGRAM_WIDTH + GAP + HEIGHT : height;
}

/* -- pointer -- */

/* The element under the pointer, as a flat index. */
static gboolean
element_at (IrTensorPlot *self, double x, double y, guint64 *index)
{
  double height = gtk_widget_get_height (GTK_WIDGET (self)) - caption_height (self),
         width = gtk_widget_get_width (GTK_WIDGET (self)) - heat_map_x (self), scale;
  guint64 row, column;

  x -= heat_map_x (self);
  if (self->heat_map == NULL || self->working || self->tensor == NULL || x < 0 || y < 0)
    return FALSE;
  scale = heat_map_scale (self, width, height);
  x /= scale * cairo_image_surface_get_width (self->heat_map);
  y /= scale * cairo_image_surface_get_height (self->heat_map);
  if (x >= 1 || y >= 1)
    return FALSE;
  row = (guint64) (y * self->drawn.rows);
  column = (guint64) (x * self->drawn.columns);
  if (row * self->drawn.columns + column >= self->drawn.size)
    return FALSE;
  *index = self->drawn.plane * self->drawn.size + row * self->drawn.columns + column;
  return *index < ir_tensor_n_elements (self->tensor);
}

static gboolean
ir_tensor_plot_query_tooltip (
    GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  IrTensorPlot *self = IR_TENSOR_PLOT (widget);
  g_autofree char *where = NULL, *value = NULL, *text = NULL;
  guint64 index;

  if (keyboard || !element_at (self, x, y, &index))
    return FALSE;
  where = ir_tensor_index_text (self->tensor, index);
  value = self->minus != NULL
              ? g_strdup_printf ("%.6g", value_at (self->tensor, self->minus, index))
              : ir_tensor_element_text (self->tensor, index);
  text = g_strdup_printf ("%s = %s", where, value);
  gtk_tooltip_set_text (tooltip, text);
  return TRUE;
}

static void
on_pressed (GtkGestureClick *gesture, int n_press, double x, double y, IrTensorPlot *self)
{
  guint64 index;

  if (element_at (self, x, y, &index))
    g_signal_emit (self, signals[PICKED], 0, index);
}

/* -- object -- */

static void
ir_tensor_plot_finalize (GObject *object)
{
  IrTensorPlot *self = IR_TENSOR_PLOT (object);

  g_clear_pointer (&self->heat_map, cairo_surface_destroy);
  g_clear_pointer (&self->tensor, ir_tensor_unref);
  g_clear_pointer (&self->minus, ir_tensor_unref);
  G_OBJECT_CLASS (ir_tensor_plot_parent_class)->finalize (object);
}

static void
ir_tensor_plot_class_init (IrTensorPlotClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_tensor_plot_finalize;
  GTK_WIDGET_CLASS (klass)->snapshot = ir_tensor_plot_snapshot;
  GTK_WIDGET_CLASS (klass)->measure = ir_tensor_plot_measure;
  GTK_WIDGET_CLASS (klass)->query_tooltip = ir_tensor_plot_query_tooltip;
  signals[PICKED] = g_signal_new ("picked", IR_TYPE_TENSOR_PLOT, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 1, G_TYPE_UINT64);
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_IMG);
}

static void
ir_tensor_plot_init (IrTensorPlot *self)
{
  GtkGesture *click = gtk_gesture_click_new ();

  g_signal_connect (click, "pressed", G_CALLBACK (on_pressed), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  ir_colours_watch (self, G_CALLBACK (start_heat_map));
}

GtkWidget *
ir_tensor_plot_new (const char *label)
{
  GtkWidget *self = g_object_new (IR_TYPE_TENSOR_PLOT, NULL);

  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return self;
}

void
ir_tensor_plot_load (IrTensorPlot *self,
                     IrTensor *tensor,
                     IrTensor *minus,
                     const IrTensorStats *stats)
{
  IrTensor *old = self->tensor, *old_minus = self->minus;

  self->tensor = tensor != NULL ? ir_tensor_ref (tensor) : NULL;
  self->minus = minus != NULL ? ir_tensor_ref (minus) : NULL;
  g_clear_pointer (&old, ir_tensor_unref);
  g_clear_pointer (&old_minus, ir_tensor_unref);
  if (stats != NULL)
    self->stats = *stats;
  self->plane = 0;
  gtk_widget_set_visible (GTK_WIDGET (self), has_numbers (tensor));
  gtk_widget_queue_resize (GTK_WIDGET (self)); /* the caption may have other lines */
  start_heat_map (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
ir_tensor_plot_set_plane (IrTensorPlot *self, guint64 plane)
{
  if (self->tensor == NULL || plane >= ir_tensor_n_planes (self->tensor) || plane == self->plane)
    return;
  self->plane = plane;
  start_heat_map (self);
}
