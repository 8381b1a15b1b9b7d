#include "config.h"

#include "core/exec/check/pair-table.h"
#include "core/io/io.h"
#include "core/ir/problem.h"
#include "core/layout/charts.h"
#include "core/render/render.h"
#include "views/colours.h"
#include "core/render/tensor-picture.h"
#include "views/jobs.h"
#include "views/tensor/element-list.h"
#include "views/tensor/tensor-plot.h"

#include <math.h>
#include <string.h>

#define HISTOGRAM_WIDTH 180
#define HISTOGRAM_LEAST 80  /* pixels: the heat map needs the room */
#define HISTOGRAM_BELOW 64  /* high, below the heat map, */
#define HISTOGRAM_LOW   40  /* and where the pane is low */
#define HISTOGRAM_MOST  200 /* high, beside it */
#define LEAST_WIDTH     112 /* so that both sides and the difference fit beside each other */
#define HEIGHT          160
#define LEAST_HEIGHT    132  /* so that a low pane has the picture whole, with its legend */
#define ZOOM            1.25 /* of a turn of the wheel */
#define CAPTION_HEIGHT  20   /* below both pictures */
#define GAP             20
#define LEGEND_WIDTH    64
#define LEGEND_LEAST    24
#define SWATCHES_HEIGHT 16 /* what NaN and Inf look like, below the legend */
#define LEGEND_HEIGHT   8
#define LEGEND_GAP      6   /* between its colours and what stands beside them */
#define SAMPLES         2   /* of a pixel, from left to right and down */
#define SAMPLED_SIDE    512 /* px, of the first picture */
#define MARK            8   /* pixels: a frame is at least so large */

struct _IrTensorPlot
{
  GtkWidget parent;
  IrTensor *tensor, *minus; /* (nullable) */
  IrTensorStats stats;
  IrTensorLayout layout;
  IrHistogramKind kind;
  IrHistogram histogram;    /* of what was asked for last, or before */
  gboolean sampled;         /* until the rest is read */
  gboolean scatter;         /* both sides against each other are wanted */
  IrTensorPicture *picture; /* (nullable) likewise; one of these three */
  IrTensorCurve *curve;     /* (nullable) */
  IrTensorScatter *pairs;   /* (nullable) */
  IrScene *chart;           /* (nullable) of curve or pairs, as large as it was drawn last */
  IrLayoutRect area;        /* px: where in the chart its line or its pairs are */
  int chart_width, chart_height;
  double pointer_x, pointer_y; /* px */
  IrTextMeasure *measure;
  cairo_surface_t *heat_map; /* (nullable) the same for cairo */
  guint64 marked;            /* element that is pointed out; G_MAXUINT64: none */
  gboolean working, stale;   /* a job runs; its result will be out of date */
};

G_DEFINE_FINAL_TYPE (IrTensorPlot, ir_tensor_plot, GTK_TYPE_WIDGET)

enum
{
  PICKED,
  ZOOMED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* -- the heat map -- */

typedef struct
{
  IrTensor *tensor, *minus;
  IrTensorStats stats;
  IrTensorLayout layout;
  IrHistogramKind kind;
  IrPaletteKind colours;
  gboolean scatter;
} Request;

typedef struct
{
  IrTensorPicture *picture;
  IrTensorCurve *curve;
  IrTensorScatter *pairs;
  IrHistogram histogram;
} Answer;

static void
request_free (gpointer data)
{
  Request *request = data;

  g_clear_pointer (&request->tensor, ir_tensor_unref);
  g_clear_pointer (&request->minus, ir_tensor_unref);
  g_free (request);
}

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  ir_tensor_picture_free (answer->picture);
  g_free (answer->curve);
  g_free (answer->pairs);
  g_free (answer);
}

/* The linear one is made with the statistics, also of differences. */
static void
take_bins (const IrTensorStats *stats, IrHistogram *histogram)
{
  *histogram = (IrHistogram){ .low = stats->bin_low, .high = stats->bin_high };
  histogram->n_bins = stats->n_bins;
  for (guint i = 0; i < stats->n_bins; i++)
    histogram->bins[i] = stats->bins[i];
}

static gpointer
make_picture (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const Request *request = data;
  Answer *answer = g_new0 (Answer, 1);

  if (request->kind == IR_HISTOGRAM_LINEAR || request->minus != NULL || request->layout.samples > 0)
    take_bins (&request->stats, &answer->histogram);
  else
    ir_tensor_histogram (request->tensor, &request->stats, request->kind, &answer->histogram);
  if (request->scatter)
    answer->pairs = ir_tensor_scatter_new (request->minus, request->tensor, cancellable);
  else if (request->layout.line)
    answer->curve = ir_tensor_layout_curve (&request->layout, request->tensor, request->minus,
                                            cancellable);
  else
    answer->picture = ir_tensor_picture_new (request->tensor, request->minus, &request->stats,
                                             &request->layout, request->colours, cancellable);
  return answer;
}

static void start_picture (IrTensorPlot *self);

static cairo_surface_t *
surface_of (const IrTensorPicture *picture)
{
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int) picture->width,
                                                         (int) picture->height);
  guint8 *rows = cairo_image_surface_get_data (surface);
  const int stride = cairo_image_surface_get_stride (surface);

  for (guint y = 0; y < picture->height && rows != NULL; y++)
    memcpy (rows + (gsize) y * (gsize) stride, picture->pixels + (gsize) y * picture->width,
            sizeof (guint32) * picture->width);
  cairo_surface_mark_dirty (surface);
  return surface;
}

static void
forget_picture (IrTensorPlot *self)
{
  g_clear_pointer (&self->heat_map, cairo_surface_destroy);
  g_clear_pointer (&self->picture, ir_tensor_picture_free);
  g_clear_pointer (&self->curve, g_free);
  g_clear_pointer (&self->pairs, g_free);
  g_clear_pointer (&self->chart, ir_scene_unref);
}

static void
on_picture (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrTensorPlot *self = IR_TENSOR_PLOT (owner);
  Answer *answer = result;

  self->working = FALSE;
  if (self->stale || answer == NULL ||
      (answer->picture == NULL && answer->curve == NULL && answer->pairs == NULL))
    {
      g_clear_pointer (&answer, answer_free);
      if (self->stale)
        start_picture (self);
      return;
    }
  forget_picture (self);
  self->picture = g_steal_pointer (&answer->picture);
  self->curve = g_steal_pointer (&answer->curve);
  self->pairs = g_steal_pointer (&answer->pairs);
  self->histogram = answer->histogram;
  self->heat_map = self->picture != NULL ? surface_of (self->picture) : NULL;
  answer_free (answer);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static gboolean
has_numbers (const IrTensor *tensor)
{
  return tensor != NULL && ir_tensor_dtype (tensor) != IR_DTYPE_STRING &&
         ir_tensor_n_elements (tensor) > 1;
}

static void
start_picture (IrTensorPlot *self)
{
  Request *request;

  self->stale = self->working;
  if (self->working || !has_numbers (self->tensor))
    return;
  request = g_new0 (Request, 1);
  request->tensor = ir_tensor_ref (self->tensor);
  request->minus = self->minus != NULL ? ir_tensor_ref (self->minus) : NULL;
  request->stats = self->stats;
  request->layout = self->layout;
  request->layout.samples = self->sampled ? SAMPLES : 0;
  request->layout.most = self->sampled ? SAMPLED_SIDE : 0;
  request->kind = self->kind;
  request->colours = ir_colours_wanted ();
  request->scatter = self->scatter && self->minus != NULL;
  self->working = TRUE;
  ir_job_unref (ir_job_start (self, &(IrJobSpec){ .run = make_picture,
                                                  .data = request,
                                                  .data_free = request_free,
                                                  .result_free = answer_free,
                                                  .done = on_picture }));
}

/* -- where what lies -- */

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

typedef struct
{
  IrLayoutRect picture, histogram; /* px; below each is room for what it says */
} Places;

static IrLayoutRect
rect (double x, double y, double width, double height)
{
  return (IrLayoutRect){ x, y, MAX (width, 0), MAX (height, 0) };
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

/* What is drawn larger is better: an element of the picture, or the chart. */
static double
size_in (IrTensorPlot *self, const IrLayoutRect *place)
{
  return self->heat_map != NULL ? heat_map_scale (self, place->width, place->height)
                                : MIN (place->width / 2, place->height);
}

/* The histogram stands beside the picture, or below it where that leaves the picture more, or as much and
 * the histogram more. */
static void
find_places (IrTensorPlot *self, Places *places)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self)),
               height = gtk_widget_get_height (GTK_WIDGET (self)) - caption_height (self),
               beside = CLAMP (width - GAP - HEIGHT, HISTOGRAM_LEAST, HISTOGRAM_WIDTH),
               low = CLAMP (height / 4, HISTOGRAM_LOW, HISTOGRAM_BELOW),
               most = height - low - CAPTION_HEIGHT - GAP / 2.0,
               above = self->heat_map != NULL && most > 0
                           ? self->picture->height * heat_map_scale (self, width, most)
                           : most;
  const Places wide = { rect (beside + GAP, 0, width - beside - GAP, height),
                        rect (0, 0, beside, MIN (height, HISTOGRAM_MOST)) },
               tall = { rect (0, 0, width, above),
                        rect (0, above + caption_height (self) + GAP / 2.0,
                              MIN (width, 1.5 * HISTOGRAM_WIDTH), low) };

  const double sizes[] = { size_in (self, &wide.picture), size_in (self, &tall.picture) };
  *places = sizes[1] > sizes[0] || (sizes[1] >= sizes[0] && beside < HISTOGRAM_WIDTH) ? tall : wide;
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

static PangoLayout *
small_text (IrTensorPlot *self, const char *text, int *width)
{
  PangoLayout *layout = gtk_widget_create_pango_layout (GTK_WIDGET (self), text);
  PangoAttrList *attrs = pango_attr_list_new ();

  pango_attr_list_insert (attrs, pango_attr_scale_new (PANGO_SCALE_SMALL));
  pango_layout_set_attributes (layout, attrs);
  pango_attr_list_unref (attrs);
  pango_layout_get_pixel_size (layout, width, NULL);
  return layout;
}

static int
text_width (IrTensorPlot *self, const char *text)
{
  int width;

  g_object_unref (small_text (self, text, &width));
  return width;
}

/* @align: 0 puts @x at the left end of the text, 1 at the right. Returns the width. */
static double
draw_text (IrTensorPlot *self, cairo_t *cr, const char *text, double x, double y, double align)
{
  int width;
  g_autoptr (PangoLayout) layout = small_text (self, text, &width);

  set_source (cr, palette_now ()->muted);
  cairo_move_to (cr, x - align * width, y);
  pango_cairo_show_layout (cr, layout);
  return width;
}

/* What lies in the middle of a bin. */
static double
middle_of (const IrHistogram *histogram, guint bin)
{
  return histogram->low + (bin + 0.5) * (histogram->high - histogram->low) / histogram->n_bins;
}

static void
draw_bars (IrTensorPlot *self, cairo_t *cr, double across, double height)
{
  const IrPalette *palette = palette_now ();
  const IrHistogram *histogram = &self->histogram;
  const gboolean signs = histogram->kind != IR_HISTOGRAM_LOG;
  double width = across / MAX (histogram->n_bins, 1);
  guint64 most = 1;

  for (guint i = 0; i < histogram->n_bins; i++)
    most = MAX (most, histogram->bins[i]);
  for (guint i = 0; i < histogram->n_bins; i++)
    {
      double bar = MAX ((double) histogram->bins[i] / (double) most * (height - 4), 1);

      if (histogram->bins[i] == 0)
        continue;
      set_source (cr, palette->header[signs && middle_of (histogram, i) < 0 ? IR_FAMILY_ACTIVATION
                                                                            : IR_FAMILY_LINEAR]);
      cairo_rectangle (cr, i * width, height - 1 - bar, MAX (width - 1, 1), bar);
      cairo_fill (cr);
    }
}

static char *
end_text (const IrHistogram *histogram, double end, int digits)
{
  return histogram->kind == IR_HISTOGRAM_LOG ? g_strdup_printf ("±%.*g", digits, pow (10, end))
                                             : g_strdup_printf ("%.*g", digits, end);
}

static void
draw_histogram (IrTensorPlot *self, cairo_t *cr, double width, double height)
{
  const IrHistogram *histogram = &self->histogram;
  const double range = histogram->high - histogram->low;
  g_autofree char *low = NULL, *high = NULL;
  double room = 0;

  for (int digits = 4; digits > 0 && room < LEGEND_GAP; digits--)
    {
      g_free (low);
      g_free (high);
      low = end_text (histogram, histogram->low, digits);
      high = end_text (histogram, histogram->high, digits);
      room = width - text_width (self, low) - text_width (self, high);
    }
  draw_bars (self, cr, width, height);
  set_source (cr, palette_now ()->line);
  cairo_rectangle (cr, 0, height - 1, width, 1);
  if (histogram->kind != IR_HISTOGRAM_LOG && histogram->low < 0 && histogram->high > 0)
    cairo_rectangle (cr, floor (-histogram->low / range * width), height - 1, 1, 5);
  cairo_fill (cr);
  if (histogram->n_bins == 0)
    draw_text (self, cr, "no finite element", 0, height / 2 - 8, 0);
  else if (histogram->low == histogram->high)
    draw_text (self, cr, low, 0, height + 3, 0);
  else
    {
      draw_text (self, cr, low, 0, height + 3, 0);
      draw_text (self, cr, high, width, height + 3, 1);
    }
}

/* -- charts: lines, and both sides against each other -- */

static gboolean
has_chart (const IrTensorPlot *self)
{
  return self->curve != NULL || self->pairs != NULL;
}

/* (transfer full) */
static IrScene *
make_chart (IrTensorPlot *self, double width, double height, IrLayoutRect *area)
{
  const IrChartOptions options = { .measure = ir_text_measure_width,
                                   .measure_data = self->measure,
                                   .width = width,
                                   .height = height };

  return self->curve != NULL ? ir_chart_curves ((const IrTensorCurve *const[]){ self->curve }, NULL,
                                                1, NULL, &options, area)
                             : ir_chart_scatter (self->pairs, "before", "after", &options, area);
}

static void
update_chart (IrTensorPlot *self, int width, int height)
{
  if (self->chart != NULL && self->chart_width == width && self->chart_height == height)
    return;
  g_clear_pointer (&self->chart, ir_scene_unref);
  self->chart = make_chart (self, width, height, &self->area);
  self->chart_width = width;
  self->chart_height = height;
}

/* px in the chart of an element. FALSE: it is not in it */
static gboolean
find_in_chart (IrTensorPlot *self, guint64 index, double *x, double *y)
{
  const IrLayoutRect *area = &self->area;
  const IrTensorCurve *curve = self->curve;

  if (index >= ir_tensor_n_elements (self->tensor))
    return FALSE;
  *y = area->y + area->height / 2;
  if (curve != NULL)
    {
      const guint64 along = index >= curve->first && curve->step > 0
                                ? (index - curve->first) / curve->step
                                : 0;

      *x = area->x + (double) along / (double) MAX (curve->n - 1, 1) * area->width;
      return index >= curve->first && along < curve->n &&
             (curve->step == 0 || (index - curve->first) % curve->step == 0);
    }
  const double range = self->pairs->high - self->pairs->low,
               a = ir_tensor_get_double (self->minus, index),
               b = ir_tensor_get_double (self->tensor, index);
  *x = area->x + (a - self->pairs->low) / range * area->width;
  *y = area->y + (self->pairs->high - b) / range * area->height;
  return isfinite (*x) && isfinite (*y);
}

/* The first element that a place in the chart stands for. */
static gboolean
element_in_chart (IrTensorPlot *self, double x, double y, guint64 *index)
{
  const IrLayoutRect *area = &self->area;
  guint n;

  if (self->chart == NULL)
    return FALSE;
  if (self->curve != NULL)
    {
      const double part = (x - area->x) / area->width;
      const guint64 along = (guint64) round (CLAMP (part, 0, 1) * (double) (self->curve->n - 1));

      *index = self->curve->first + along * self->curve->step;
      return part > -0.02 && part < 1.02 && y >= area->y && y <= area->y + area->height;
    }
  const IrSceneHit hit = ir_scene_pick (self->chart, x, y, 2);
  const guint64 key = hit.box >= 0 ? ir_scene_boxes (self->chart, &n)[hit.box].key : 0;
  *index = key - 1;
  return key > 0;
}

static void
draw_chart (IrTensorPlot *self, cairo_t *cr, int width, int height)
{
  double x, y;

  update_chart (self, width, height);
  ir_render_cairo (self->chart, palette_now (), NULL, 1, cr);
  if (find_in_chart (self, self->marked, &x, &y))
    {
      set_source (cr, palette_now ()->selection);
      cairo_set_line_width (cr, 2);
      if (self->curve != NULL)
        cairo_rectangle (cr, x - 1, self->area.y, 2, self->area.height);
      else
        cairo_rectangle (cr, x - MARK / 2.0, y - MARK / 2.0, MARK, MARK);
      cairo_stroke (cr);
    }
}

/* A frame around the element that is pointed out. */
static void
draw_mark (IrTensorPlot *self, cairo_t *cr, double scale)
{
  const double side = MAX (scale, MARK);
  guint px, py;

  if (self->marked >= ir_tensor_n_elements (self->tensor) ||
      !ir_tensor_picture_find (self->picture, self->tensor, self->marked, &px, &py))
    return;
  set_source (cr, palette_now ()->selection);
  cairo_set_line_width (cr, 2);
  cairo_rectangle (cr, (px + 0.5) * scale - side / 2, (py + 0.5) * scale - side / 2, side, side);
  cairo_stroke (cr);
}

static void
draw_heat_map (IrTensorPlot *self, cairo_t *cr, double width, double height)
{
  double scale = heat_map_scale (self, width, height);
  double columns = cairo_image_surface_get_width (self->heat_map) * scale,
         rows = cairo_image_surface_get_height (self->heat_map) * scale;

  cairo_save (cr);
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
  cairo_rectangle (cr, 0.5, 0.5, MAX (columns - 1, 1), MAX (rows - 1, 1));
  cairo_stroke (cr);
  draw_mark (self, cr, scale);
}

static double
draw_swatch (IrTensorPlot *self, cairo_t *cr, guint32 colour, const char *text, double x, double y)
{
  set_source (cr, colour);
  cairo_rectangle (cr, x, y + 4, LEGEND_HEIGHT, LEGEND_HEIGHT);
  cairo_fill (cr);
  return x + LEGEND_HEIGHT + 4 + draw_text (self, cr, text, x + LEGEND_HEIGHT + 4, y, 0) + 10;
}

/* The ends of the range, with as many digits as there is room for. Returns the room for the colours between
 * them in pixels. */
static double
legend_texts (IrTensorPlot *self, double right, char **low, char **high)
{
  double room = 0;

  for (int digits = 3; digits > 0 && room < LEGEND_LEAST; digits--)
    {
      g_free (*low);
      g_free (*high);
      *low = g_strdup_printf ("%.*g", digits, self->picture->low);
      *high = g_strdup_printf ("%.*g", digits, self->picture->high);
      room = right - text_width (self, *low) - text_width (self, *high) - 2 * LEGEND_GAP;
    }
  return room;
}

/* From the colour of the least element to that of the largest; images need none. */
static void
draw_legend (IrTensorPlot *self, cairo_t *cr, double right, double y)
{
  const IrTensorPicture *picture = self->picture;
  const IrPalette *palette = palette_now ();
  const double range = picture->high - picture->low;
  double end, room;
  g_autofree char *low = NULL, *high = NULL;

  if (picture->layout.channel_axis >= 0)
    return;
  room = legend_texts (self, right, &low, &high);
  end = draw_text (self, cr, low, 0, y, 0) + LEGEND_GAP;
  const int width = (int) CLAMP (room, LEGEND_LEAST, LEGEND_WIDTH);
  for (int i = 0; i < width; i++)
    {
      set_source (cr, ir_tensor_colour (picture->low + range * (i + 0.5) / width, picture->low,
                                        picture->high, picture->diverging, palette));
      cairo_rectangle (cr, end + i, y + 4, 1, LEGEND_HEIGHT);
      cairo_fill (cr);
    }
  draw_text (self, cr, high, end + width + LEGEND_GAP, y, 0);
}

static void
draw_swatches (IrTensorPlot *self, cairo_t *cr, double y)
{
  const IrPalette *palette = palette_now ();
  double x = 0;

  if (self->stats.n_nan > 0)
    x = draw_swatch (self, cr, palette->problem[IR_SEVERITY_ERROR], "NaN", x, y);
  if (self->stats.n_pos_inf + self->stats.n_neg_inf > 0)
    draw_swatch (self, cr, palette->problem[IR_SEVERITY_WARNING], "Inf", x, y);
}

static void
ir_tensor_plot_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  IrTensorPlot *self = IR_TENSOR_PLOT (widget);
  const int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  Places places;

  if (!has_numbers (self->tensor) || width <= 0 || height <= caption_height (self))
    return;
  find_places (self, &places);
  const IrLayoutRect *at = &places.picture;
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));
  cairo_save (cr);
  cairo_translate (cr, places.histogram.x, places.histogram.y);
  draw_histogram (self, cr, places.histogram.width, places.histogram.height);
  cairo_restore (cr);
  cairo_translate (cr, at->x, at->y);
  if (has_chart (self) && at->width > GAP)
    draw_chart (self, cr, (int) at->width, (int) at->height + caption_height (self));
  else if (self->heat_map != NULL && at->width > GAP)
    {
      draw_heat_map (self, cr, at->width, at->height);
      draw_legend (self, cr, at->width, at->height + 3);
      draw_swatches (self, cr, at->height + 3 + SWATCHES_HEIGHT);
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
  const int caption = caption_height (IR_TENSOR_PLOT (widget));

  *minimum = horizontal ? LEAST_WIDTH : LEAST_HEIGHT + caption;
  *natural = horizontal ? HISTOGRAM_WIDTH + GAP + HEIGHT : HEIGHT + caption;
}

/* -- pointer -- */

/* The element under the pointer, as a flat index. */
static gboolean
element_at (IrTensorPlot *self, double x, double y, guint64 *index)
{
  Places places;

  find_places (self, &places);
  x -= places.picture.x;
  y -= places.picture.y;
  if (self->working || self->tensor == NULL || x < 0 || y < 0)
    return FALSE;
  if (has_chart (self))
    return element_in_chart (self, x, y, index);
  if (self->heat_map == NULL)
    return FALSE;
  const double scale = heat_map_scale (self, places.picture.width, places.picture.height);
  return ir_tensor_picture_at (self->picture, self->tensor, (guint) (x / scale),
                               (guint) (y / scale), index);
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
              ? g_strdup_printf ("%.6g", ir_tensor_minus (self->tensor, self->minus, index))
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

/* With Ctrl, as in the graph; else what is around scrolls. */
static gboolean
on_scrolled (GtkEventControllerScroll *scroll, double dx, double dy, IrTensorPlot *self)
{
  const GdkModifierType state = gtk_event_controller_get_current_event_state (
      GTK_EVENT_CONTROLLER (scroll));
  guint64 index;

  if ((state & GDK_CONTROL_MASK) == 0)
    return FALSE;
  if (dy != 0 && element_at (self, self->pointer_x, self->pointer_y, &index))
    g_signal_emit (self, signals[ZOOMED], 0, index, dy < 0 ? 1 / ZOOM : ZOOM);
  return TRUE;
}

static void
on_moved (GtkEventControllerMotion *motion, double x, double y, IrTensorPlot *self)
{
  self->pointer_x = x;
  self->pointer_y = y;
}

/* -- object -- */

static void
ir_tensor_plot_finalize (GObject *object)
{
  IrTensorPlot *self = IR_TENSOR_PLOT (object);

  forget_picture (self);
  g_clear_pointer (&self->measure, ir_text_measure_free);
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
  signals[ZOOMED] = g_signal_new ("zoomed", IR_TYPE_TENSOR_PLOT, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 2, G_TYPE_UINT64, G_TYPE_DOUBLE);
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_IMG);
}

static void
ir_tensor_plot_init (IrTensorPlot *self)
{
  GtkGesture *click = gtk_gesture_click_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (
                         GTK_EVENT_CONTROLLER_SCROLL_VERTICAL),
                     *motion = gtk_event_controller_motion_new ();

  g_signal_connect (click, "pressed", G_CALLBACK (on_pressed), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scrolled), self);
  gtk_widget_add_controller (GTK_WIDGET (self), scroll);
  g_signal_connect (motion, "motion", G_CALLBACK (on_moved), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  self->marked = G_MAXUINT64;
  self->measure = ir_text_measure_new ();
  ir_colours_watch (self, G_CALLBACK (start_picture));
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
                     const IrTensorStats *stats,
                     gboolean sampled)
{
  IrTensor *old = self->tensor, *old_minus = self->minus;
  const gboolean same = tensor != NULL && tensor == old && minus == old_minus;

  self->sampled = sampled;
  self->tensor = tensor != NULL ? ir_tensor_ref (tensor) : NULL;
  self->minus = minus != NULL ? ir_tensor_ref (minus) : NULL;
  g_clear_pointer (&old, ir_tensor_unref);
  g_clear_pointer (&old_minus, ir_tensor_unref);
  if (stats != NULL)
    self->stats = *stats;
  self->marked = same ? self->marked : G_MAXUINT64;
  if (has_numbers (tensor) && !same)
    ir_tensor_layout_init (&self->layout, tensor, "auto", NULL);
  gtk_widget_set_visible (GTK_WIDGET (self), has_numbers (tensor));
  gtk_widget_queue_resize (GTK_WIDGET (self)); /* the caption may have other lines */
  start_picture (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* Which elements lie where; a layout of another tensor is passed over */
void
ir_tensor_plot_set_layout (IrTensorPlot *self, const IrTensorLayout *layout)
{
  if (!has_numbers (self->tensor) || memcmp (&self->layout, layout, sizeof *layout) == 0)
    return;
  self->layout = *layout;
  start_picture (self);
}

void
ir_tensor_plot_set_histogram (IrTensorPlot *self, IrHistogramKind kind)
{
  if (kind == self->kind)
    return;
  self->kind = kind;
  start_picture (self);
}

/* Points an element out; G_MAXUINT64: none */
void
ir_tensor_plot_mark (IrTensorPlot *self, guint64 index)
{
  self->marked = index;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* Both sides against each other in place of their difference */
void
ir_tensor_plot_set_scatter (IrTensorPlot *self, gboolean scatter)
{
  if (scatter == self->scatter)
    return;
  self->scatter = scatter;
  start_picture (self);
}

static gboolean
save_chart (IrTensorPlot *self, const char *path, GError **error)
{
  IrRenderOptions options = { .colours = ir_colours_wanted () };
  g_autoptr (IrScene) scene = make_chart (self, 0, self->pairs != NULL ? 480 : 0, NULL);

  return ir_render_file (scene, path, &options, error);
}

static gboolean
save_values (IrTensorPlot *self, const char *path, GError **error)
{
  if (self->minus != NULL && g_str_has_suffix (path, ".csv"))
    return ir_tensors_save_table (self->minus, self->tensor, path, error);
  if (self->minus == NULL)
    return ir_tensor_save (self->tensor, path, error);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
               "%s: a difference is saved as .csv, .png or .svg", path);
  return FALSE;
}

/* The picture as .png or .svg; else the values, as the ending says */
gboolean
ir_tensor_plot_save (IrTensorPlot *self, const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;

  if (!g_str_has_suffix (path, ".svg") && !g_str_has_suffix (path, ".png"))
    return save_values (self, path, error);
  if (has_chart (self))
    return save_chart (self, path, error);
  if (self->picture == NULL)
    {
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, "There is no picture");
      return FALSE;
    }
  bytes = g_str_has_suffix (path, ".svg")
              ? ir_tensor_picture_svg (self->picture, ir_colours_wanted ())
              : ir_tensor_picture_png (self->picture, ir_colours_wanted (), error);
  return bytes != NULL && ir_file_write_atomic (path, bytes, error);
}
