/* Charts: an axis with round ticks, and bars. A bar says which node or value it is, so that a
 * selection can be shown in it. */
#include "config.h"

#include "core/layout/charts-private.h"

#include "core/op/op.h"

#include <math.h>
#include <string.h>

#define DEFAULT_WIDTH    1200.0
#define MEMORY_HEIGHT    560.0
#define HISTOGRAM_HEIGHT 320.0

void
chart_init (Chart *chart, const IrChartOptions *options)
{
  chart->scene = ir_scene_new (options != NULL ? options->measure : NULL,
                               options != NULL ? options->measure_data : NULL);
  chart->width = options != NULL && options->width > 0 ? options->width : DEFAULT_WIDTH;
  chart->height = options != NULL && options->height > 0 ? options->height : MEMORY_HEIGHT;
  chart->top = CHART_TITLE_HEIGHT;
}

void
chart_add_text (IrScene *scene,
                const char *text,
                IrSceneTextStyle style,
                IrSceneAlign align,
                gint32 box,
                double x,
                double y,
                double width)
{
  IrSceneText item = { .style = style, .align = align, .box = box, .x = x, .y = y, .text = text };
  ir_scene_add_text (scene, &item, width);
}

void
chart_add_grid_line (Chart *chart, double x0, double y0, double x1, double y1)
{
  IrSceneLine line = { .kind = IR_SCENE_LINE_PLAIN, .from = -1, .to = -1 };
  IrLayoutPoint points[2] = { { x0, y0 }, { x1, y1 } };

  ir_scene_add_line (chart->scene, &line, points, 2);
}

/* A round number near @range / @n: 1, 2 or 5 times a power of ten. */
double
chart_round_step (double range, double n)
{
  double raw = range / MAX (n, 1), power = pow (10, floor (log10 (raw)));
  double factor = raw / power;

  return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

char *
chart_format_ms (double ms)
{
  return ms == 0  ? g_strdup ("0")
         : ms < 1 ? g_strdup_printf ("%g µs", ms * 1000)
                  : g_strdup_printf ("%g ms", ms);
}

char *
chart_format_bytes (double bytes)
{
  return g_format_size_full ((guint64) bytes, G_FORMAT_SIZE_IEC_UNITS);
}

static char *
format_number (double value)
{
  return g_strdup_printf ("%.4g", value);
}

/* Ticks below the drawing area, with grid lines through it. */
void
chart_add_x_axis (Chart *chart, double low, double high, double height, ChartFormat format)
{
  double step, bottom = chart->top + height;

  if (!(high > low))
    return;
  step = chart_round_step (high - low, chart->width / CHART_TICK_DISTANCE);
  for (double tick = ceil (low / step) * step; tick <= high * (1 + 1e-9); tick += step)
    {
      double x = CHART_LABEL_WIDTH + (tick - low) / (high - low) * chart->width;
      g_autofree char *text = format (fabs (tick) < step / 1e6 ? 0 : tick);

      chart_add_grid_line (chart, x, chart->top, x, bottom + 4);
      chart_add_text (chart->scene, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_MIDDLE, -1, x,
                      bottom + 20, CHART_TICK_DISTANCE);
    }
}

guint8
chart_colour_of (const IrNode *node)
{
  return node->op != NULL ? (guint8) node->op->family : IR_SCENE_COLOUR_UNKNOWN;
}

/* The text stands in the bar if the bar has room for some of it. */
void
chart_add_bar (Chart *chart, IrSceneBox *box, const char *text)
{
  gint32 index;

  box->kind = IR_SCENE_PLAIN;
  box->parent = -1;
  box->header = box->height;
  index = ir_scene_add_box (chart->scene, box);
  if (box->width >= 32 && box->height >= 14)
    chart_add_text (chart->scene, text, IR_SCENE_TEXT_ROW, IR_SCENE_ALIGN_START, index, box->x + 6,
                    box->y + box->height / 2 + 4, box->width - 12);
}

/* -- spans: concurrent nodes -- */

/* A frame behind the bars of a span, from @low to @high on the x axis in px. */
void
chart_add_span (
    Chart *chart, guint index, const IrScheduleSpan *span, double low, double high, double height)
{
  g_autofree char *id = g_strdup_printf ("s%u", index), *tip = NULL, *together = NULL,
                  *apart = NULL;
  IrSceneBox box = { .kind = IR_SCENE_CLUSTER,
                     .colour = IR_SCENE_COLOUR_CLUSTER,
                     .parent = -1,
                     .x = low,
                     .y = chart->top,
                     .width = MAX (high - low, CHART_LEAST_BAR),
                     .height = height,
                     .id = id };

  together = chart_format_ms (round (span->together_ms * 1e6) / 1e6);
  apart = chart_format_ms (round (span->apart_ms * 1e6) / 1e6);
  tip = g_strdup_printf ("Steps %u to %u run concurrently\npredicted %s so, %s one at a time",
                         span->first, span->last, together, apart);
  box.tip = tip;
  ir_scene_add_box (chart->scene, &box);
}

guint
chart_n_spans (const IrSchedule *schedule)
{
  return schedule != NULL && schedule->spans != NULL ? schedule->spans->len : 0;
}

/* -- memory -- */

static void
add_memory_box (
    Chart *chart, const IrModel *model, const IrMemItem *item, double per_step, double per_byte)
{
  const IrValue *value = ir_model_value (model, item->value);
  g_autofree char *size = chart_format_bytes (item->size), *tip = NULL,
                  *id = g_strdup_printf ("m%u", item->value);
  IrSceneBox box = { .colour = value->producer != NULL ? chart_colour_of (value->producer)
                                                       : IR_SCENE_COLOUR_INPUT,
                     .value = item->value,
                     .key = item->value,
                     .id = id };

  tip = g_strdup_printf ("%s\n%s at %" G_GUINT64_FORMAT ", steps %u to %u", value->name, size,
                         item->offset, item->first, item->last);
  box.tip = tip;
  box.node = value->producer != NULL ? value->producer->id : 0;
  box.x = CHART_LABEL_WIDTH + item->first * per_step;
  box.width = MAX ((item->last + 1 - item->first) * per_step, CHART_LEAST_BAR);
  box.height = MAX (item->size * per_byte, CHART_LEAST_BAR);
  box.y = chart->top + chart->height - (item->offset + item->size) * per_byte;
  chart_add_bar (chart, &box, value->name);
}

static void
add_memory_axis (Chart *chart, guint64 top, double per_byte)
{
  const double bytes = (double) MAX (top, 1), unit = pow (1024, floor (log (bytes) / log (1024)));
  const double step = unit * chart_round_step (bytes / unit, CLAMP (chart->height / 32, 1, 6));

  for (double tick = 0; tick <= (double) top; tick += step)
    {
      double y = chart->top + chart->height - tick * per_byte;
      g_autofree char *text = chart_format_bytes (tick);

      chart_add_grid_line (chart, CHART_LABEL_WIDTH - 4, y, CHART_LABEL_WIDTH + chart->width, y);
      chart_add_text (chart->scene, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, -1,
                      CHART_LABEL_WIDTH - 8, y + 4, CHART_LABEL_WIDTH - 8);
    }
}

/* Below the drawing area, what its places from left to right are: "steps" of the run, and their nodes where
 * @schedule (nullable) says so. */
static void
add_order_axis (
    Chart *chart, guint n, const char *what, const IrSchedule *schedule, const IrModel *model)
{
  const double most = MAX (n, 1),
               step = MAX (chart_round_step (most, chart->width / CHART_TICK_DISTANCE), 1);
  const double bottom = chart->top + chart->height;

  for (double tick = 0; tick < most; tick += step)
    {
      const double x = CHART_LABEL_WIDTH + (tick + 0.5) / most * chart->width;
      const guint at = (guint) tick;
      const IrNode *node = schedule != NULL && at < schedule->items->len
                               ? ir_model_node (
                                     model,
                                     g_array_index (schedule->items, IrScheduleItem, at).node)
                               : NULL;
      g_autofree char *number = tick == 0 ? g_strdup_printf ("%s 0", what) : format_number (tick);
      g_autofree char *text = g_strconcat (number, node != NULL ? ": " : NULL,
                                           node != NULL ? node->op_type : NULL, NULL);

      chart_add_grid_line (chart, x, bottom, x, bottom + 4);
      chart_add_text (chart->scene, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_MIDDLE, -1, x,
                      bottom + 20, CHART_TICK_DISTANCE);
    }
}

/* A line through the drawing area, at so many bytes. */
static void
add_limit (Chart *chart, const char *what, guint64 bytes, double per_byte)
{
  const double y = chart->top + chart->height - (double) bytes * per_byte;

  chart_add_grid_line (chart, CHART_LABEL_WIDTH - 4, y, CHART_LABEL_WIDTH + chart->width, y);
  chart_add_text (chart->scene, what, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, -1,
                  CHART_LABEL_WIDTH + chart->width, y - 4, CHART_TICK_DISTANCE);
}

/* Program order is the x axis. */
static void
add_step_spans (Chart *chart, const IrSchedule *schedule, double per_step)
{
  for (guint k = 0; k < chart_n_spans (schedule); k++)
    {
      const IrScheduleSpan *span = &g_array_index (schedule->spans, IrScheduleSpan, k);
      chart_add_span (chart, k, span, CHART_LABEL_WIDTH + span->first * per_step,
                      CHART_LABEL_WIDTH + (span->last + 1) * per_step, chart->height);
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
  g_autofree char *peak = chart_format_bytes (plan->peak_bytes),
                  *bound = chart_format_bytes (plan->lower_bound_bytes),
                  *naive = chart_format_bytes (plan->naive_bytes);
  g_autofree char *title = g_strdup_printf ("Peak %s, lower bound %s, without reuse %s", peak,
                                            bound, naive);
  guint n_steps = 1;
  Chart chart;

  chart_init (&chart, options);
  for (guint i = 0; i < plan->items->len; i++)
    n_steps = MAX (n_steps, g_array_index (plan->items, IrMemItem, i).last + 1);
  chart_add_text (chart.scene, title, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0, 14,
                  CHART_LABEL_WIDTH + chart.width);
  add_step_spans (&chart, options != NULL ? options->beside : NULL, chart.width / n_steps);
  add_memory_axis (&chart, plan->peak_bytes, chart.height / MAX (plan->peak_bytes, 1));
  add_order_axis (&chart, n_steps, "step", ir_mem_plan_schedule (plan), model);
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (item->offset != IR_PLACE_EXTERNAL && item->size > 0)
        add_memory_box (&chart, model, item, chart.width / n_steps,
                        chart.height / MAX (plan->peak_bytes, 1));
    }
  add_limit (&chart,
             plan->lower_bound_bytes == plan->peak_bytes ? "peak = lower bound" : "lower bound",
             plan->lower_bound_bytes, chart.height / MAX (plan->peak_bytes, 1));
  ir_scene_finish (chart.scene);
  return chart.scene;
}

/* -- memory under a budget -- */

/* A stay of a value that was there before is one that was computed again. */
static void
add_interval (Chart *chart,
              const IrModel *model,
              const IrRecomputeGraph *graph,
              const IrRecomputeInterval *interval,
              guint index,
              gboolean again,
              double per_run,
              double per_byte)
{
  const IrValue *value = ir_model_value (model,
                                         g_array_index (graph->values, IrValueId, interval->value));
  const guint64 bytes = graph->problem.sizes[interval->value];
  g_autofree char *size = chart_format_bytes ((double) bytes), *tip = NULL,
                  *id = g_strdup_printf ("l%u", index);
  IrSceneBox box = { .colour = value->producer != NULL ? chart_colour_of (value->producer)
                                                       : IR_SCENE_COLOUR_INPUT,
                     .state = again ? IR_SCENE_CHANGED : IR_SCENE_SAME,
                     .value = value->id,
                     .key = index + 1,
                     .id = id };

  tip = g_strdup_printf ("%s%s\n%s at %" G_GUINT64_FORMAT ", runs %u to %u", value->name,
                         again ? ", computed again" : "", size, interval->offset, interval->first,
                         interval->last);
  box.tip = tip;
  box.node = value->producer != NULL ? value->producer->id : 0;
  box.x = CHART_LABEL_WIDTH + interval->first * per_run;
  box.width = MAX ((interval->last + 1 - interval->first) * per_run, CHART_LEAST_BAR);
  box.height = MAX ((double) bytes * per_byte, CHART_LEAST_BAR);
  box.y = chart->top + chart->height - (double) (interval->offset + bytes) * per_byte;
  chart_add_bar (chart, &box, value->name);
}

/**
 * ir_chart_recompute:
 * @graph: the tasks and values of @model
 * @plan: the order in which they run so that the budget holds, some of them again
 * @model: the model that it is of
 * @options: (nullable): how to draw
 *
 * Stays of values in memory as rectangles: runs to the right, address upwards, and the budget as a
 * line. Those that were computed again have the colour of what changed.
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_recompute (const IrRecomputeGraph *graph,
                    const IrRecomputePlan *plan,
                    const IrModel *model,
                    const IrChartOptions *options)
{
  const guint64 top = MAX (MAX (plan->peak_bytes, plan->budget_bytes), 1);
  g_autofree char *peak = chart_format_bytes ((double) plan->peak_bytes),
                  *plain = chart_format_bytes ((double) plan->plain_peak_bytes),
                  *budget = chart_format_bytes ((double) plan->budget_bytes);
  g_autofree char *title = g_strdup_printf ("Budget %s, peak %s; without budget %s", budget, peak,
                                            plain);
  g_autofree gboolean *seen = g_new0 (gboolean, graph->problem.n_values + 1);
  Chart chart;

  chart_init (&chart, options);
  chart_add_text (chart.scene, title, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0, 14,
                  CHART_LABEL_WIDTH + chart.width);
  add_memory_axis (&chart, top, chart.height / (double) top);
  add_order_axis (&chart, plan->runs->len, "run", NULL, model);
  for (guint i = 0; i < plan->intervals->len; i++)
    {
      const IrRecomputeInterval *interval = &g_array_index (plan->intervals, IrRecomputeInterval,
                                                            i);

      add_interval (&chart, model, graph, interval, i, seen[interval->value],
                    chart.width / MAX (plan->runs->len, 1), chart.height / (double) top);
      seen[interval->value] = TRUE;
    }
  add_limit (&chart, "budget", plan->budget_bytes, chart.height / (double) top);
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
  box.x = CHART_LABEL_WIDTH + bin * width + 1;
  box.width = MAX (width - 2, CHART_LEAST_BAR);
  box.height = MAX (height, CHART_LEAST_BAR);
  box.y = chart->top + HISTOGRAM_HEIGHT - box.height;
  chart_add_bar (chart, &box, "");
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
  g_autofree char *range = ir_tensor_stats_range_text (stats, 6, ", "),
                  *text = g_strdup_printf (
                      "%s: %s, NaN %" G_GUINT64_FORMAT ", Inf %" G_GUINT64_FORMAT, title, range,
                      stats->n_nan, stats->n_pos_inf + stats->n_neg_inf);
  g_autofree char *top = NULL;
  guint64 most = 1;
  Chart chart;

  chart_init (&chart, options);
  for (guint i = 0; i < stats->n_bins; i++)
    most = MAX (most, stats->bins[i]);
  top = g_strdup_printf ("%" G_GUINT64_FORMAT, most);
  chart_add_text (chart.scene, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0, 14,
                  CHART_LABEL_WIDTH + chart.width);
  chart_add_text (chart.scene, top, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, -1,
                  CHART_LABEL_WIDTH - 8, chart.top + 8, CHART_LABEL_WIDTH - 8);
  chart_add_grid_line (&chart, CHART_LABEL_WIDTH - 4, chart.top + HISTOGRAM_HEIGHT,
                       CHART_LABEL_WIDTH + chart.width, chart.top + HISTOGRAM_HEIGHT);
  chart_add_x_axis (&chart, stats->bin_low, stats->bin_high, HISTOGRAM_HEIGHT, format_number);
  for (guint i = 0; i < stats->n_bins; i++)
    add_bin (&chart, stats, i, most);
  ir_scene_finish (chart.scene);
  return chart.scene;
}
