/* Elements of tensors as plots: rows of them as lines, two tensors against each other. */
#include "config.h"

#include "core/layout/charts-private.h"
#include "core/layout/scene-private.h"

#include <math.h>

#define WIDTH      900.0
#define HEIGHT     320.0
#define LEFT       60.0 /* px: numbers of the y axis */
#define TOP        24.0 /* px: the title */
#define BOTTOM     24.0 /* px: numbers of the x axis */
#define RIGHT      8.0
#define LINE_APART 32.0 /* px from a grid line to the next, about */
#define MOST_TICKS 64
#define MOST_DOTS  64 /* points that are dots as well */
#define DOT        5.0
#define STROKE     10.0 /* px, what is not finite */

#define ACCENT_NOT_FINITE 6
#define ACCENT_DIAGONAL   8

typedef struct
{
  IrScene *scene;
  IrLayoutRect area;
  double low_x, high_x, low_y, high_y;
} Plot;

static void
plot_init (Plot *plot, const IrChartOptions *options)
{
  const double width = options != NULL && options->width > 0 ? options->width : WIDTH,
               height = options != NULL && options->height > 0 ? options->height : HEIGHT;

  *plot = (Plot){ .scene = ir_scene_new (options != NULL ? options->measure : NULL,
                                         options != NULL ? options->measure_data : NULL),
                  .area = { LEFT, TOP, MAX (width - LEFT - RIGHT, 16),
                            MAX (height - TOP - BOTTOM, 16) } };
}

static void
add_text (Plot *plot, const char *text, IrSceneAlign align, double x, double y, double width)
{
  const IrSceneText item = {
    .style = IR_SCENE_TEXT_CAPTION, .align = align, .box = -1, .x = x, .y = y, .text = text
  };

  ir_scene_add_text (plot->scene, &item, width);
}

static void
add_line (Plot *plot, guint8 accent, const IrLayoutPoint *points, guint n)
{
  const IrSceneLine line = { .kind = IR_SCENE_LINE_PLAIN,
                             .accent = accent,
                             .dimmed = accent == 0, /* a grid stays behind what is drawn */
                             .from = -1,
                             .to = -1 };

  ir_scene_add_line (plot->scene, &line, points, n);
}

/* Halves, as the range of doubles may be infinite. */
static double
part_of (double value, double low, double high)
{
  return (value / 2 - low / 2) / (high / 2 - low / 2);
}

static double
x_of (const Plot *plot, double value)
{
  return plot->area.x + part_of (value, plot->low_x, plot->high_x) * plot->area.width;
}

static double
y_of (const Plot *plot, double value)
{
  return plot->area.y + (1 - part_of (value, plot->low_y, plot->high_y)) * plot->area.height;
}

/* -- axes -- */

static void
widen (double *low, double *high)
{
  const double by = *low != 0 ? fabs (*low) / 2 : 1;

  if (*high > *low)
    return;
  *low -= by;
  *high += by;
}

static char *
tick_text (double tick, double step)
{
  return g_strdup_printf ("%.4g", fabs (tick) < step / 1e6 ? 0 : tick);
}

static void
add_y_axis (Plot *plot)
{
  const IrLayoutRect *area = &plot->area;
  const double step = chart_round_step (plot->high_y - plot->low_y, area->height / LINE_APART);

  const double first = ceil (plot->low_y / step);

  for (guint i = 0; i < MOST_TICKS && (first + i) * step <= plot->high_y; i++)
    {
      const double tick = (first + i) * step, y = y_of (plot, tick);
      g_autofree char *text = tick_text (tick, step);

      add_line (plot, 0,
                (const IrLayoutPoint[]){ { area->x - 4, y }, { area->x + area->width, y } }, 2);
      add_text (plot, text, IR_SCENE_ALIGN_END, area->x - 8, y + 4, LEFT - 8);
    }
}

static void
add_x_axis (Plot *plot, gboolean whole)
{
  const IrLayoutRect *area = &plot->area;
  const double bottom = area->y + area->height;
  double step = chart_round_step (plot->high_x - plot->low_x, area->width / CHART_TICK_DISTANCE);

  step = whole ? MAX (step, 1) : step;
  add_line (plot, 0,
            (const IrLayoutPoint[]){ { area->x, bottom }, { area->x + area->width, bottom } }, 2);
  const double first = ceil (plot->low_x / step);

  for (guint i = 0; i < MOST_TICKS && (first + i) * step <= plot->high_x; i++)
    {
      const double tick = (first + i) * step, x = x_of (plot, tick);
      g_autofree char *text = tick_text (tick, step);
      const gboolean last = x > area->x + area->width - 20;

      add_line (plot, 0, (const IrLayoutPoint[]){ { x, area->y }, { x, bottom + 4 } }, 2);
      add_text (plot, text, last ? IR_SCENE_ALIGN_END : IR_SCENE_ALIGN_MIDDLE,
                last ? area->x + area->width : x, bottom + 18, CHART_TICK_DISTANCE);
    }
}

/* -- lines -- */

static gint32
add_spot (
    Plot *plot, guint8 accent, double x, double y, double width, double height, const char *tip)
{
  const IrSceneBox box = { .kind = IR_SCENE_PLAIN,
                           .parent = -1,
                           .accent = accent,
                           .x = x - width / 2,
                           .y = y - height / 2,
                           .width = width,
                           .height = height,
                           .header = height,
                           .tip = tip };

  return ir_scene_add_box (plot->scene, &box);
}

static double
middle_of (const IrTensorCurve *curve, guint piece)
{
  return ((double) ir_tensor_curve_begin (curve, piece) +
          (double) ir_tensor_curve_begin (curve, piece + 1) - 1) /
         2;
}

/* What is not finite stands at the foot. */
static void
add_broken (Plot *plot, const IrTensorCurve *curve)
{
  for (guint i = 0; i < curve->n_pieces; i++)
    if (curve->broken[i])
      {
        const guint64 begin = ir_tensor_curve_begin (curve, i);
        g_autofree char *tip = g_strdup_printf (
            "NaN or infinite at %" G_GUINT64_FORMAT "%s", begin,
            ir_tensor_curve_begin (curve, i + 1) > begin + 1 ? " or behind" : "");

        add_spot (plot, ACCENT_NOT_FINITE, x_of (plot, middle_of (curve, i)),
                  plot->area.y + plot->area.height - STROKE / 2, 3, STROKE, tip);
      }
}

static void
add_dots (Plot *plot, const IrTensorCurve *curve, guint8 accent)
{
  for (guint i = 0; i < curve->n_pieces; i++)
    if (!isnan (curve->least[i]))
      {
        g_autofree char *tip = g_strdup_printf ("%u: %.6g", i, curve->least[i]);

        add_spot (plot, accent, x_of (plot, i), y_of (plot, curve->least[i]), DOT, DOT, tip);
      }
}

/* Through all elements; where several share a piece, through its least and its largest. */
static void
add_curve (Plot *plot, const IrTensorCurve *curve, guint8 accent)
{
  g_autofree IrLayoutPoint *points = g_new (IrLayoutPoint, 2 * IR_CURVE_PIECES);
  guint n = 0;

  for (guint i = 0; i <= curve->n_pieces; i++)
    {
      if (i == curve->n_pieces || isnan (curve->least[i]))
        {
          if (n > 1)
            add_line (plot, accent, points, n);
          n = 0;
          continue;
        }
      const double x = x_of (plot, middle_of (curve, i));
      const double ends[] = { i % 2 == 0 ? curve->least[i] : curve->largest[i],
                              i % 2 == 0 ? curve->largest[i] : curve->least[i] };

      points[n++] = (IrLayoutPoint){ x, y_of (plot, ends[0]) };
      if (ends[1] != ends[0])
        points[n++] = (IrLayoutPoint){ x, y_of (plot, ends[1]) };
    }
  add_broken (plot, curve);
  if (curve->n_pieces <= MOST_DOTS)
    add_dots (plot, curve, accent);
}

/* From the left: the names of the lines, in their colours, then @title. */
static void
add_heads (Plot *plot, const char *const *names, guint n, const char *title)
{
  double x = plot->area.x;

  for (guint i = 0; n > 1 && i < n; i++)
    {
      add_spot (plot, (guint8) (i + 1), x + 5, 9, 10, 4, names[i]);
      add_text (plot, names[i], IR_SCENE_ALIGN_START, x + 14, 13, 0);
      x += 14 + ir_scene_measure (plot->scene, names[i], IR_SCENE_TEXT_CAPTION) + 16;
    }
  if (title != NULL)
    add_text (plot, title, IR_SCENE_ALIGN_START, x, 13,
              MAX (plot->area.x + plot->area.width - x, 16));
}

/**
 * ir_chart_curves:
 * @curves: (array length=n): rows of elements; those of the first are the x axis
 * @names: (array length=n) (nullable): what they are called, where they are several
 * @n: how many, at least 1
 * @title: (nullable): a line above
 * @options: (nullable): @width and @height are those of all of it
 * @area: (out) (optional): where the lines are: its left edge is the first element, its right one the last
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_curves (const IrTensorCurve *const *curves,
                 const char *const *names,
                 guint n,
                 const char *title,
                 const IrChartOptions *options,
                 IrLayoutRect *area)
{
  Plot plot;

  plot_init (&plot, options);
  plot.high_x = (double) MAX (curves[0]->n, 2) - 1;
  plot.low_y = INFINITY;
  plot.high_y = -INFINITY;
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < curves[i]->n_pieces; k++)
      {
        plot.low_y = fmin (plot.low_y, curves[i]->least[k]);
        plot.high_y = fmax (plot.high_y, curves[i]->largest[k]);
      }
  if (plot.low_y > plot.high_y) /* nothing is finite */
    plot.low_y = plot.high_y = 0;
  widen (&plot.low_y, &plot.high_y);
  add_heads (&plot, names, n, title);
  add_y_axis (&plot);
  add_x_axis (&plot, TRUE);
  for (guint i = 0; i < n; i++)
    add_curve (&plot, curves[i], (guint8) (i + 1));
  ir_scene_finish (plot.scene);
  if (area != NULL)
    *area = plot.area;
  return plot.scene;
}

/* -- two tensors against each other -- */

static void
add_cells (Plot *plot, const IrTensorScatter *scatter)
{
  const double width = plot->area.width / IR_SCATTER_CELLS,
               height = plot->area.height / IR_SCATTER_CELLS,
               by = (plot->high_x / 2 - plot->low_x / 2) / IR_SCATTER_CELLS * 2;
  guint64 most = 1;

  for (guint i = 0; i < G_N_ELEMENTS (scatter->counts); i++)
    most = MAX (most, scatter->counts[i]);
  for (guint i = 0; i < G_N_ELEMENTS (scatter->counts); i++)
    {
      const guint column = i % IR_SCATTER_CELLS, row = i / IR_SCATTER_CELLS;

      if (scatter->counts[i] == 0)
        continue;
      g_autofree char *tip = g_strdup_printf (
          "%" G_GUINT64_FORMAT " where x is %.4g … %.4g and y is %.4g … %.4g", scatter->counts[i],
          plot->low_x + column * by, plot->low_x + (column + 1) * by, plot->low_y + row * by,
          plot->low_y + (row + 1) * by);
      const IrSceneBox box = {
        .kind = IR_SCENE_PLAIN,
        .parent = -1,
        .has_tint = TRUE,
        .tint = most > 1 ? 0.4 + 0.6 * log ((double) scatter->counts[i]) / log ((double) most) : 1,
        .x = plot->area.x + column * width,
        .y = plot->area.y + plot->area.height - (row + 1) * height,
        .width = width,
        .height = height,
        .header = height,
        .key = scatter->at[i] + 1,
        .tip = tip
      };

      ir_scene_add_box (plot->scene, &box);
    }
}

/**
 * ir_chart_scatter:
 * @scatter: where pairs of elements lie
 * @x_name: what the x axis is
 * @y_name: what the y axis is
 * @options: (nullable): @width and @height are those of all of it
 * @area: (out) (optional): where the pairs are, a square
 *
 * Both axes are the same: what does not differ lies on the diagonal. The key of a box is one more than the
 * index of its first pair.
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_scatter (const IrTensorScatter *scatter,
                  const char *x_name,
                  const char *y_name,
                  const IrChartOptions *options,
                  IrLayoutRect *area)
{
  g_autofree char *out = scatter->n_left_out > 0
                             ? g_strdup_printf (" (%" G_GUINT64_FORMAT " not finite)",
                                                scatter->n_left_out)
                             : NULL;
  g_autofree char *title = g_strdup_printf ("%s over %s%s", y_name, x_name, out ? out : "");
  Plot plot;

  plot_init (&plot, options);
  plot.area.width = plot.area.height = MIN (plot.area.width, plot.area.height);
  plot.low_x = plot.low_y = scatter->low;
  plot.high_x = plot.high_y = scatter->high;
  add_heads (&plot, NULL, 0, title);
  add_y_axis (&plot);
  add_x_axis (&plot, FALSE);
  add_line (&plot, ACCENT_DIAGONAL,
            (const IrLayoutPoint[]){ { plot.area.x, plot.area.y + plot.area.height },
                                     { plot.area.x + plot.area.width, plot.area.y } },
            2);
  add_cells (&plot, scatter);
  ir_scene_finish (plot.scene);
  if (area != NULL)
    *area = plot.area;
  return plot.scene;
}
