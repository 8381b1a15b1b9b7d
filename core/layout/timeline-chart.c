/* Runs on one axis of time: predicted above measured, and below both what the plan holds. Nodes of
 * the critical path are underlined. */
#include "config.h"

#include "core/exec/flow/token-round.h"
#include "core/exec/measure/timeline.h"
#include "core/layout/charts-private.h"

#include <math.h>

#define AXIS_HEIGHT   28.0
#define LANE_HEIGHT   40.0
#define BAR_HEIGHT    28.0
#define MEMORY_HEIGHT 64.0
#define STRIP_HEIGHT  4.0
#define LEAST_GAP     3.0 /* px: what is shorter is not seen as a gap */
#define SECTION_GAP   12.0

#define ROUND_HELD_HEIGHT 32.0

typedef struct
{
  Chart chart;
  double scale; /* px per ms */
} Times;

static double
x_of (const Times *times, double ms)
{
  return CHART_LABEL_WIDTH + ms * times->scale;
}

static void
add_title (Times *times, const char *title)
{
  chart_add_text (times->chart.scene, title, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0,
                  times->chart.top + 14, CHART_LABEL_WIDTH + times->chart.width);
  times->chart.top += CHART_TITLE_HEIGHT;
}

/* -- bars -- */

/* A strip below a bar. It stands for no node, so that keys go from bar to bar. */
static void
underline (Times *times, const IrSceneBox *bar)
{
  g_autofree char *id = g_strconcat (bar->id, "c", NULL);
  IrSceneBox strip = { .colour = IR_SCENE_COLOUR_OUTPUT,
                       .x = bar->x,
                       .y = bar->y + bar->height + 1,
                       .width = bar->width,
                       .height = STRIP_HEIGHT,
                       .id = id,
                       .tip = "on the critical path" };

  chart_add_bar (&times->chart, &strip, "");
}

/* A line before a bar, where its worker stood idle for long enough to be seen. It stands for no node either. */
static void
add_gap (Times *times, const IrTimelineItem *item, const IrSceneBox *bar, const char *why)
{
  g_autofree char *id = g_strconcat (bar->id, "g", NULL);
  IrSceneBox line = { .colour = IR_SCENE_COLOUR_CLUSTER,
                      .x = x_of (times, item->start_ms - item->idle_ms),
                      .y = bar->y + (BAR_HEIGHT - STRIP_HEIGHT) / 2,
                      .width = item->idle_ms * times->scale,
                      .height = STRIP_HEIGHT,
                      .dimmed = TRUE,
                      .id = id,
                      .tip = why };

  if (line.width >= LEAST_GAP)
    chart_add_bar (&times->chart, &line, "");
}

static void
add_time_bar (Times *times, const IrTimeline *timeline, guint index, const char *prefix)
{
  const IrTimelineItem *item = &g_array_index (timeline->items, IrTimelineItem, index);
  const IrNode *node = ir_model_node (timeline->model, item->node);
  g_autofree char *label = ir_node_label (node),
                  *duration = chart_format_ms (round ((item->end_ms - item->start_ms) * 1e6) / 1e6),
                  *gap = ir_timeline_gap_text (timeline, index),
                  *id = g_strdup_printf ("%s%u", prefix, item->node);
  g_autofree char *tip = g_strconcat (label, "\n", duration, ", ", item->kernel,
                                      item->critical ? "\non the critical path" : "",
                                      gap != NULL ? "\n" : NULL, gap, NULL);
  IrSceneBox box = {
    .colour = chart_colour_of (node), .node = item->node, .key = item->node, .id = id, .tip = tip
  };

  box.x = x_of (times, item->start_ms);
  box.y = times->chart.top + item->lane * LANE_HEIGHT + (LANE_HEIGHT - BAR_HEIGHT) / 2;
  box.width = MAX ((item->end_ms - item->start_ms) * times->scale, CHART_LEAST_BAR);
  box.height = BAR_HEIGHT;
  if (gap != NULL)
    {
      g_autofree char *why = g_strconcat (label, "\n", gap, NULL);
      add_gap (times, item, &box, why);
    }
  chart_add_bar (&times->chart, &box, node->op_type);
  if (item->critical)
    underline (times, &box);
}

/* Frames behind the bars of concurrent nodes. */
static void
add_spans (Times *times, const IrTimeline *timeline, const IrSchedule *schedule)
{
  const guint n = chart_n_spans (schedule), n_nodes = timeline->model->nodes->len;
  g_autofree guint *spans = g_new0 (guint, n_nodes + 1);
  g_autofree double *low = g_new (double, n + 1), *high = g_new0 (double, n + 1);

  for (guint k = 0; k < n; k++)
    {
      const IrScheduleSpan *span = &g_array_index (schedule->spans, IrScheduleSpan, k);

      low[k + 1] = INFINITY;
      for (guint i = span->first; i <= span->last && i < schedule->items->len; i++)
        spans[g_array_index (schedule->items, IrScheduleItem, i).node] = k + 1;
    }
  low[0] = INFINITY;
  for (guint i = 0; n > 0 && i < timeline->items->len; i++)
    {
      const IrTimelineItem *item = &g_array_index (timeline->items, IrTimelineItem, i);
      const guint k = spans[item->node];

      low[k] = MIN (low[k], item->start_ms);
      high[k] = MAX (high[k], item->end_ms);
    }
  for (guint k = 0; k < n; k++)
    if (high[k + 1] > 0)
      chart_add_span (&times->chart, k, &g_array_index (schedule->spans, IrScheduleSpan, k),
                      x_of (times, low[k + 1]), x_of (times, high[k + 1]),
                      timeline->lanes->len * LANE_HEIGHT);
}

static void
add_lanes (Times *times, const IrTimeline *timeline, const IrSchedule *schedule, const char *prefix)
{
  for (guint lane = 0; lane < timeline->lanes->len; lane++)
    chart_add_text (times->chart.scene, timeline->lanes->pdata[lane], IR_SCENE_TEXT_CAPTION,
                    IR_SCENE_ALIGN_START, -1, 0,
                    times->chart.top + lane * LANE_HEIGHT + LANE_HEIGHT / 2 + 4,
                    CHART_LABEL_WIDTH - 8);
  add_spans (times, timeline, schedule);
  for (guint i = 0; i < timeline->items->len; i++)
    add_time_bar (times, timeline, i, prefix);
  times->chart.top += timeline->lanes->len * LANE_HEIGHT;
}

/* -- what is held -- */

/* When the nodes of @timeline began, by id; negative: they are not in it. */
static double *
starts_of (const IrTimeline *timeline)
{
  const guint n = timeline->model->nodes->len;
  double *starts = g_new (double, n + 1);

  for (guint i = 0; i <= n; i++)
    starts[i] = -1;
  for (guint i = timeline->items->len; i-- > 0;)
    {
      const IrTimelineItem *item = &g_array_index (timeline->items, IrTimelineItem, i);
      starts[item->node] = item->start_ms;
    }
  return starts;
}

static void
add_held_bar (Times *times,
              const IrNode *node,
              guint step,
              guint64 bytes,
              guint64 most,
              double from,
              double to)
{
  g_autofree char *size = chart_format_bytes ((double) bytes), *label = ir_node_label (node),
                  *id = g_strdup_printf ("h%u", step),
                  *tip = g_strdup_printf ("%s held at step %u\n%s", size, step, label);
  IrSceneBox box = { .colour = IR_SCENE_COLOUR_FOLD, .node = node->id, .id = id, .tip = tip };

  box.height = MAX ((double) bytes / (double) most * MEMORY_HEIGHT, CHART_LEAST_BAR);
  box.x = x_of (times, from);
  box.y = times->chart.top + MEMORY_HEIGHT - box.height;
  box.width = MAX ((to - from) * times->scale, CHART_LEAST_BAR);
  chart_add_bar (&times->chart, &box, "");
}

/* A step holds its bytes until the next one begins. */
static void
add_held (Times *times, const IrTimeline *timeline, const IrMemPlan *plan)
{
  const IrSchedule *schedule = ir_mem_plan_schedule (plan);
  g_autoptr (GArray) held = ir_mem_plan_held (plan);
  g_autofree double *starts = starts_of (timeline);
  g_autofree char *arena = chart_format_bytes ((double) plan->peak_bytes),
                  *bound = chart_format_bytes ((double) plan->lower_bound_bytes);
  g_autofree char *title = g_strdup_printf (
      "Arena: %s; no placement of these steps can have less than %s", arena, bound);
  double end = timeline->duration_ms;

  add_title (times, title);
  for (guint i = MIN (held->len, schedule->items->len); i-- > 0;)
    {
      const IrNodeId id = g_array_index (schedule->items, IrScheduleItem, i).node;
      const guint64 bytes = g_array_index (held, guint64, i);

      if (id >= timeline->model->nodes->len || starts[id] < 0)
        continue;
      if (bytes > 0)
        add_held_bar (times, ir_model_node (timeline->model, id), i, bytes,
                      MAX (plan->peak_bytes, 1), starts[id], MAX (end, starts[id]));
      end = starts[id];
    }
  chart_add_text (times->chart.scene, arena, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, -1,
                  CHART_LABEL_WIDTH - 8, times->chart.top + 8, CHART_LABEL_WIDTH - 8);
  times->chart.top += MEMORY_HEIGHT;
}

/* -- one iteration of each frame of tokens -- */

/* A step, and above it what the iteration holds then. It takes no time of the axis. */
static void
add_round_bar (
    Times *times, const IrTokenRound *round, guint index, guint i, const IrNode *node, double width)
{
  const IrTokenStep *step = &g_array_index (round->steps, IrTokenStep, i);
  g_autofree char *label = ir_node_label (node),
                  *size = chart_format_bytes ((double) step->live_bytes),
                  *id = g_strdup_printf ("r%u.%u", index, i),
                  *held_id = g_strdup_printf ("r%u.%uh", index, i),
                  *tip = g_strdup_printf ("%s\nstep %u of an iteration, which holds %s then", label,
                                          i, size);
  IrSceneBox box = { .colour = chart_colour_of (node),
                     .node = node->id,
                     .key = node->id,
                     .id = id,
                     .tip = tip,
                     .x = CHART_LABEL_WIDTH + i * width,
                     .y = times->chart.top + (LANE_HEIGHT - BAR_HEIGHT) / 2,
                     .width = MAX (width - 1, CHART_LEAST_BAR),
                     .height = BAR_HEIGHT };
  IrSceneBox held = {
    .colour = IR_SCENE_COLOUR_FOLD, .id = held_id, .tip = tip, .x = box.x, .width = box.width
  };

  chart_add_bar (&times->chart, &box, node->op_type);
  if (step->live_bytes == 0)
    return;
  held.height = (double) step->live_bytes / (double) MAX (round->peak_bytes, 1) * ROUND_HELD_HEIGHT;
  held.y = times->chart.top - held.height;
  chart_add_bar (&times->chart, &held, "");
}

/* What tokens move through is one bar of the lanes; here are its nodes, as they run in an iteration. */
static void
add_rounds (Times *times, const IrModel *model)
{
  g_autoptr (GArray) rounds = ir_token_rounds (model);

  for (guint k = 0; k < rounds->len; k++)
    {
      const IrTokenRound *round = &g_array_index (rounds, IrTokenRound, k);
      g_autofree char *text = ir_token_round_text (round, model);
      const double width = times->chart.width / MAX (round->steps->len, 1);

      times->chart.top += SECTION_GAP;
      add_title (times, text);
      times->chart.top += round->peak_bytes > 0 ? ROUND_HELD_HEIGHT : 0;
      for (guint i = 0; i < round->steps->len; i++)
        add_round_bar (times, round, k, i,
                       ir_model_node (model, g_array_index (round->steps, IrTokenStep, i).node),
                       width);
      times->chart.top += LANE_HEIGHT;
    }
}

/* -- charts -- */

static char *
predicted_title (const IrSchedule *schedule)
{
  return g_strdup_printf (
      "Predicted: makespan %.3g ms, critical path (underlined) %.3g ms, work %.3g ms, %u workers",
      schedule->makespan_ms, schedule->critical_path_ms, schedule->work_ms, schedule->n_workers);
}

static char *
measured_title (const IrTrace *trace, const IrTimeline *timeline)
{
  g_autofree char *duration = chart_format_ms (round (timeline->duration_ms * 1000) / 1000),
                  *path = chart_format_ms (round (timeline->critical_path_ms * 1000) / 1000),
                  *held = chart_format_bytes ((double) trace->peak_bytes);

  return g_strdup_printf (
      "Measured: %s, critical path (underlined) %s, %u kernel calls, %s of values held at most",
      duration, path, trace->items->len, held);
}

/**
 * ir_chart_times:
 * @schedule: (nullable): predicted times that are drawn
 * @trace: (nullable): measured times that are drawn, below
 * @plan: (nullable): the memory plan that was followed, of which is drawn what it holds, below both
 * @model: the model that they are of
 * @options: (nullable): how to draw
 *
 * Times, ms to the right on one axis, a lane for each worker and stream. Nodes on the critical path are underlined. Where
 * a worker stood idle there is a line, and its tip and that of the bar behind it say why. Below is one iteration of each
 * frame of tokens, node by node with what it holds; its title says how many may be in flight and hold as much.
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_times (const IrSchedule *schedule,
                const IrTrace *trace,
                const IrMemPlan *plan,
                const IrModel *model,
                const IrChartOptions *options)
{
  const IrSchedule *followed = options != NULL && options->beside != NULL ? options->beside
                                                                          : schedule;
  g_autoptr (IrTimeline)
      predicted = schedule != NULL ? ir_timeline_new_predicted (schedule, model) : NULL,
      measured = trace != NULL ? ir_timeline_new_measured (trace, followed, model) : NULL;
  const double total_ms = MAX (predicted != NULL ? predicted->duration_ms : 0,
                               measured != NULL ? measured->duration_ms : 0);
  Times times;
  double bottom;

  chart_init (&times.chart, options);
  times.scale = total_ms > 0 ? times.chart.width / total_ms : 0;
  times.chart.top = 0;
  if (predicted != NULL)
    {
      g_autofree char *title = predicted_title (schedule);

      add_title (&times, title);
      add_lanes (&times, predicted, schedule, measured != NULL ? "p" : "t");
    }
  if (measured != NULL)
    {
      g_autofree char *title = measured_title (trace, measured);

      times.chart.top += predicted != NULL ? SECTION_GAP : 0;
      add_title (&times, title);
      add_lanes (&times, measured, followed, "t");
    }
  if (plan != NULL)
    add_held (&times, measured != NULL ? measured : predicted, plan);
  bottom = times.chart.top;
  times.chart.top = CHART_TITLE_HEIGHT;
  chart_add_x_axis (&times.chart, 0, total_ms, bottom - CHART_TITLE_HEIGHT, chart_format_ms);
  times.chart.top = bottom + AXIS_HEIGHT;
  add_rounds (&times, model);
  ir_scene_finish (times.chart.scene);
  return times.chart.scene;
}
