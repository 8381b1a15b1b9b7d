/* Charts: an axis with round ticks, and bars. A bar says which node or value it is, so that a
 * selection can be shown in it. */
#include "config.h"

#include "core/layout/charts.h"

#include "core/op/op.h"

#include <math.h>
#include <string.h>

#define DEFAULT_WIDTH    1200.0
#define LABEL_WIDTH      96.0 /* px left of the drawing area, for the names of lanes */
#define LANE_HEIGHT      40.0
#define BAR_HEIGHT       28.0
#define LEAST_BAR        1.0 /* px: what took no time is still there */
#define AXIS_HEIGHT      28.0
#define MEMORY_HEIGHT    560.0
#define HISTOGRAM_HEIGHT 320.0
#define TITLE_HEIGHT     32.0
#define TICK_DISTANCE    120.0 /* px, about */

typedef struct
{
  IrScene *scene;
  double width; /* px of the drawing area */
  double top;   /* px: first lane or row */
} Chart;

static void
chart_init (Chart *chart, const IrChartOptions *options)
{
  chart->scene = ir_scene_new (options != NULL ? options->measure : NULL,
                               options != NULL ? options->measure_data : NULL);
  chart->width = options != NULL && options->width > 0 ? options->width : DEFAULT_WIDTH;
  chart->top = TITLE_HEIGHT;
}

static void
add_text (Chart *chart,
          const char *text,
          IrSceneTextStyle style,
          IrSceneAlign align,
          gint32 box,
          double x,
          double y,
          double width)
{
  IrSceneText item = { .style = style, .align = align, .box = box, .x = x, .y = y, .text = text };
  ir_scene_add_text (chart->scene, &item, width);
}

static void
add_grid_line (Chart *chart, double x0, double y0, double x1, double y1)
{
  IrSceneLine line = { .kind = IR_SCENE_LINE_PLAIN, .from = -1, .to = -1 };
  IrLayoutPoint points[2] = { { x0, y0 }, { x1, y1 } };

  ir_scene_add_line (chart->scene, &line, points, 2);
}

/* A round number near @range / @n: 1, 2 or 5 times a power of ten. */
static double
round_step (double range, double n)
{
  double raw = range / MAX (n, 1), power = pow (10, floor (log10 (raw)));
  double factor = raw / power;

  return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

typedef char *(*FormatFunc) (double value);

static char *
format_ms (double ms)
{
  return ms == 0  ? g_strdup ("0")
         : ms < 1 ? g_strdup_printf ("%g µs", ms * 1000)
                  : g_strdup_printf ("%g ms", ms);
}

static char *
format_bytes (double bytes)
{
  return g_format_size_full ((guint64) bytes, G_FORMAT_SIZE_IEC_UNITS);
}

static char *
format_number (double value)
{
  return g_strdup_printf ("%.4g", value);
}

/* Ticks below the drawing area, with grid lines through it. */
static void
add_x_axis (Chart *chart, double low, double high, double height, FormatFunc format)
{
  double step, bottom = chart->top + height;

  if (!(high > low))
    return;
  step = round_step (high - low, chart->width / TICK_DISTANCE);
  for (double tick = ceil (low / step) * step; tick <= high * (1 + 1e-9); tick += step)
    {
      double x = LABEL_WIDTH + (tick - low) / (high - low) * chart->width;
      g_autofree char *text = format (fabs (tick) < step / 1e6 ? 0 : tick);

      add_grid_line (chart, x, chart->top, x, bottom + 4);
      add_text (chart, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_MIDDLE, -1, x, bottom + 20,
                TICK_DISTANCE);
    }
}

static guint8
colour_of (const IrNode *node)
{
  return node->op != NULL ? (guint8) node->op->family : IR_SCENE_COLOUR_UNKNOWN;
}

/* The text stands in the bar if the bar has room for some of it. */
static void
add_bar (Chart *chart, IrSceneBox *box, const char *text)
{
  gint32 index;

  box->kind = IR_SCENE_PLAIN;
  box->parent = -1;
  box->header = box->height;
  index = ir_scene_add_box (chart->scene, box);
  if (box->width >= 32 && box->height >= 14)
    add_text (chart, text, IR_SCENE_TEXT_ROW, IR_SCENE_ALIGN_START, index, box->x + 6,
              box->y + box->height / 2 + 4, box->width - 12);
}

/* -- time -- */

static void
add_time_bar (Chart *chart,
              const IrModel *model,
              IrNodeId id,
              const char *kernel,
              guint lane,
              double start_ms,
              double end_ms,
              double total_ms)
{
  const IrNode *node = ir_model_node (model, id);
  double scale = total_ms > 0 ? chart->width / total_ms : 0;
  g_autofree char *label = ir_node_label (node), *duration = format_ms (end_ms - start_ms),
                  *tip = NULL, *box_id = NULL;
  IrSceneBox box = { .colour = colour_of (node), .node = id, .key = id };

  tip = g_strdup_printf ("%s\n%s, %s", label, duration, kernel);
  box_id = g_strdup_printf ("t%u", id);
  box.tip = tip;
  box.id = box_id;
  box.x = LABEL_WIDTH + start_ms * scale;
  box.y = chart->top + lane * LANE_HEIGHT + (LANE_HEIGHT - BAR_HEIGHT) / 2;
  box.width = MAX ((end_ms - start_ms) * scale, LEAST_BAR);
  box.height = BAR_HEIGHT;
  add_bar (chart, &box, node->op_type);
}

static void
add_lanes (Chart *chart, guint n, double total_ms)
{
  for (guint lane = 0; lane < n; lane++)
    {
      g_autofree char *name = g_strdup_printf ("worker %u", lane);
      double y = chart->top + lane * LANE_HEIGHT + LANE_HEIGHT / 2 + 4;

      add_text (chart, name, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0, y,
                LABEL_WIDTH - 8);
    }
  add_x_axis (chart, 0, total_ms, n * LANE_HEIGHT, format_ms);
}

/**
 * ir_chart_schedule:
 * @schedule: a schedule
 * @model: the model that it is of
 * @options: (nullable): how to draw
 *
 * Predicted times, ms to the right, a lane for each worker.
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_schedule (const IrSchedule *schedule, const IrModel *model, const IrChartOptions *options)
{
  Chart chart;
  g_autofree char *title = g_strdup_printf (
      "Predicted: makespan %.3g ms, critical path %.3g ms, work %.3g ms, %u workers",
      schedule->makespan_ms, schedule->critical_path_ms, schedule->work_ms, schedule->n_workers);

  chart_init (&chart, options);
  add_text (&chart, title, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0, 14,
            LABEL_WIDTH + chart.width);
  add_lanes (&chart, schedule->n_workers, schedule->makespan_ms);
  for (guint i = 0; i < schedule->items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      add_time_bar (&chart, model, item->node, item->kernel, item->worker, item->start_ms,
                    item->end_ms, schedule->makespan_ms);
    }
  ir_scene_finish (chart.scene);
  return chart.scene;
}

/**
 * ir_chart_trace:
 * @trace: what a run measured
 * @model: the model that ran
 * @options: (nullable): how to draw
 *
 * Measured times, ms to the right, a lane for each worker.
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_trace (const IrTrace *trace, const IrModel *model, const IrChartOptions *options)
{
  double total_ms = trace->duration_ns / 1e6;
  g_autofree char *duration = format_ms (round (total_ms * 1000) / 1000),
                  *peak = format_bytes (trace->peak_bytes);
  g_autofree char *title = g_strdup_printf ("Measured: %s, %u nodes, peak %s", duration,
                                            trace->items->len, peak);
  guint n_lanes = 1;
  Chart chart;

  chart_init (&chart, options);
  for (guint i = 0; i < trace->items->len; i++)
    n_lanes = MAX (n_lanes, g_array_index (trace->items, IrTraceItem, i).worker + 1);
  add_text (&chart, title, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0, 14,
            LABEL_WIDTH + chart.width);
  add_lanes (&chart, n_lanes, total_ms);
  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);
      add_time_bar (&chart, model, item->node, item->kernel, item->worker, item->start_ns / 1e6,
                    item->end_ns / 1e6, total_ms);
    }
  ir_scene_finish (chart.scene);
  return chart.scene;
}

/* -- memory -- */

static void
add_memory_box (
    Chart *chart, const IrModel *model, const IrMemItem *item, double per_step, double per_byte)
{
  const IrValue *value = ir_model_value (model, item->value);
  g_autofree char *size = format_bytes (item->size), *tip = NULL,
                  *id = g_strdup_printf ("m%u", item->value);
  IrSceneBox box = { .colour = value->producer != NULL ? colour_of (value->producer)
                                                       : IR_SCENE_COLOUR_INPUT,
                     .value = item->value,
                     .key = item->value,
                     .id = id };

  tip = g_strdup_printf ("%s\n%s at %" G_GUINT64_FORMAT ", steps %u to %u", value->name, size,
                         item->offset, item->first, item->last);
  box.tip = tip;
  box.node = value->producer != NULL ? value->producer->id : 0;
  box.x = LABEL_WIDTH + item->first * per_step;
  box.width = MAX ((item->last + 1 - item->first) * per_step, LEAST_BAR);
  box.height = MAX (item->size * per_byte, LEAST_BAR);
  box.y = chart->top + MEMORY_HEIGHT - (item->offset + item->size) * per_byte;
  add_bar (chart, &box, value->name);
}

static void
add_memory_axis (Chart *chart, const IrMemPlan *plan, double per_byte)
{
  double step = round_step (MAX (plan->peak_bytes, 1) / 1024.0, 6) * 1024;

  for (double tick = 0; tick <= plan->peak_bytes; tick += step)
    {
      double y = chart->top + MEMORY_HEIGHT - tick * per_byte;
      g_autofree char *text = format_bytes (tick);

      add_grid_line (chart, LABEL_WIDTH - 4, y, LABEL_WIDTH + chart->width, y);
      add_text (chart, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, -1, LABEL_WIDTH - 8, y + 4,
                LABEL_WIDTH - 8);
    }
}

/**
 * ir_chart_memory:
 * @plan: a memory plan
 * @model: the model that it is of
 * @options: (nullable): how to draw
 *
 * Values as rectangles: program order to the right, address upwards. Values outside the arena are
 * not drawn; one that shares the bytes of another lies over it.
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_memory (const IrMemPlan *plan, const IrModel *model, const IrChartOptions *options)
{
  g_autofree char *peak = format_bytes (plan->peak_bytes),
                  *bound = format_bytes (plan->lower_bound_bytes),
                  *naive = format_bytes (plan->naive_bytes);
  g_autofree char *title = g_strdup_printf ("Peak %s, lower bound %s, without reuse %s", peak,
                                            bound, naive);
  guint n_steps = 1;
  Chart chart;

  chart_init (&chart, options);
  for (guint i = 0; i < plan->items->len; i++)
    n_steps = MAX (n_steps, g_array_index (plan->items, IrMemItem, i).last + 1);
  add_text (&chart, title, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0, 14,
            LABEL_WIDTH + chart.width);
  add_memory_axis (&chart, plan, MEMORY_HEIGHT / MAX (plan->peak_bytes, 1));
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (item->offset != IR_PLACE_EXTERNAL && item->size > 0)
        add_memory_box (&chart, model, item, chart.width / n_steps,
                        MEMORY_HEIGHT / MAX (plan->peak_bytes, 1));
    }
  ir_scene_finish (chart.scene);
  return chart.scene;
}

/* -- values -- */

static void
add_bin (Chart *chart, const IrTensorStats *stats, guint bin, guint64 most)
{
  double width = chart->width / stats->n_bins,
         step = (stats->bin_high - stats->bin_low) / stats->n_bins;
  double height = (double) stats->bins[bin] / most * HISTOGRAM_HEIGHT;
  g_autofree char *id = g_strdup_printf ("b%u", bin), *tip = NULL;
  IrSceneBox box = { .colour = IR_FAMILY_ELEMENTWISE, .key = bin + 1, .id = id };

  if (stats->bins[bin] == 0)
    return;
  tip = g_strdup_printf ("%" G_GUINT64_FORMAT " values from %.4g to %.4g", stats->bins[bin],
                         stats->bin_low + bin * step, stats->bin_low + (bin + 1) * step);
  box.tip = tip;
  box.x = LABEL_WIDTH + bin * width + 1;
  box.width = MAX (width - 2, LEAST_BAR);
  box.height = MAX (height, LEAST_BAR);
  box.y = chart->top + HISTOGRAM_HEIGHT - box.height;
  add_bar (chart, &box, "");
}

/**
 * ir_chart_histogram:
 * @stats: statistics with bins
 * @title: what it is of
 * @options: (nullable): how to draw
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_histogram (const IrTensorStats *stats, const char *title, const IrChartOptions *options)
{
  g_autofree char *text = g_strdup_printf (
      "%s: min %.6g, max %.6g, mean %.6g, std %.6g, NaN %" G_GUINT64_FORMAT
      ", Inf %" G_GUINT64_FORMAT,
      title, stats->min, stats->max, stats->mean, stats->std, stats->n_nan,
      stats->n_pos_inf + stats->n_neg_inf);
  g_autofree char *top = NULL;
  guint64 most = 1;
  Chart chart;

  chart_init (&chart, options);
  for (guint i = 0; i < stats->n_bins; i++)
    most = MAX (most, stats->bins[i]);
  top = g_strdup_printf ("%" G_GUINT64_FORMAT, most);
  add_text (&chart, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0, 14,
            LABEL_WIDTH + chart.width);
  add_text (&chart, top, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, -1, LABEL_WIDTH - 8,
            chart.top + 8, LABEL_WIDTH - 8);
  add_grid_line (&chart, LABEL_WIDTH - 4, chart.top + HISTOGRAM_HEIGHT, LABEL_WIDTH + chart.width,
                 chart.top + HISTOGRAM_HEIGHT);
  add_x_axis (&chart, stats->bin_low, stats->bin_high, HISTOGRAM_HEIGHT, format_number);
  for (guint i = 0; i < stats->n_bins; i++)
    add_bin (&chart, stats, i, most);
  ir_scene_finish (chart.scene);
  return chart.scene;
}
