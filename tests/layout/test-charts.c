/* Charts: where their bars, frames and ticks are is worked out here from the numbers that they stand for. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/edit.h"
#include "core/exec/flow/token-round.h"
#include "core/exec/lower/lower.h"
#include "core/exec/measure/roofline.h"
#include "core/exec/measure/summary.h"
#include "core/exec/measure/timeline.h"
#include "core/layout/charts.h"
#include "core/op/infer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH  700.0
#define HEIGHT 320.0
#define LEFT   96.0 /* px before the drawing area */

static const IrChartOptions options = { .width = WIDTH, .height = HEIGHT };

typedef struct
{
  IrModel *model;
  GHashTable *inputs;
  IrSchedule *schedule;
} Graph;

static void
graph_clear (Graph *graph)
{
  g_hash_table_unref (graph->inputs);
  ir_schedule_unref (graph->schedule);
  ir_model_unref (graph->model);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Graph, graph_clear)

static void
graph_init (Graph *graph)
{
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[64,32] x, float[32,48] w) => (float[64,48] y)\n"
      "{ a = MatMul (x, w)  b = Relu (a)  c = Exp (x)  d = MatMul (c, w)  e = Tanh (d)  "
      "f = Add (b, e)  y = Mul (f, a) }\n";
  g_autoptr (GError) error = NULL;

  *graph = (Graph){ .model = ir_text_read (text, -1, NULL, &error) };
  g_assert_no_error (error);
  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (graph->model);
    ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  }
  graph->inputs = ir_random_inputs (graph->model, 1, NULL, &error);
  graph->schedule = ir_schedule_new (graph->model, ir_backend_find ("ref"), 2, &error);
  g_assert_no_error (error);
}

/* (nullable) */
static const IrSceneBox *
find_box (const IrScene *scene, const char *format, guint number)
{
  g_autofree char *id = g_strdup_printf (format, number);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    if (strcmp (boxes[i].id, id) == 0)
      return &boxes[i];
  return NULL;
}

/* Without the strips below bars of the critical path. */
static guint
count_boxes (const IrScene *scene)
{
  guint n, n_boxes = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    n_boxes += strchr ("cg", boxes[i].id[strlen (boxes[i].id) - 1]) ==
               NULL; /* no strips, no gaps */
  return n_boxes;
}

static void
assert_near (double found, double wanted)
{
  g_assert_cmpfloat_with_epsilon (found, wanted, 1e-6 * MAX (1, fabs (wanted)));
}

/* Numbers below the drawing area stand where they say; the last is not beyond @high */
static void
check_ticks (const IrScene *scene, double low, double high, guint least)
{
  guint n, n_found = 0;
  const IrSceneText *texts = ir_scene_texts (scene, &n);
  double last = -INFINITY;

  for (guint i = 0; i < n; i++)
    if (texts[i].align == IR_SCENE_ALIGN_MIDDLE)
      {
        double number = atof (texts[i].text) * (strstr (texts[i].text, "µs") != NULL ? 1e-3 : 1);
        assert_near (texts[i].x, LEFT + (number - low) / (high - low) * WIDTH);
        g_assert_cmpfloat (number, >, last);
        g_assert_cmpfloat (number, <=, high * (1 + 1e-9));
        last = number;
        n_found++;
      }
  g_assert_cmpuint (n_found, >=, least);
}

/* -- time -- */

/* @beside: the worker of the bar of @other */
static void
check_bar (const IrScene *scene,
           IrNodeId node,
           guint worker,
           IrNodeId other,
           guint beside,
           double start,
           double end,
           double total)
{
  const IrSceneBox *bar = find_box (scene, "t%u", node), *first = find_box (scene, "t%u", other);

  g_assert_nonnull (bar);
  g_assert_cmpuint (bar->node, ==, node);
  assert_near (bar->x, LEFT + start / total * WIDTH);
  assert_near (bar->width, MAX ((end - start) / total * WIDTH, 1));
  assert_near (bar->y - first->y, 40.0 * ((double) worker - beside));
  assert_near (bar->height, first->height);
}

static void
add_span (Graph *graph, guint first, guint last)
{
  IrScheduleSpan span = { .first = first, .last = last, .together_ms = 1, .apart_ms = 2 };

  if (graph->schedule->spans == NULL)
    graph->schedule->spans = g_array_new (FALSE, FALSE, sizeof span);
  g_array_append_val (graph->schedule->spans, span);
}

/* Every node takes half as long as it is until the next begins, but for one that takes no time. */
static void
test_trace (void)
{
  g_auto (Graph) graph = { 0 };
  graph_init (&graph);
  IrRunOptions run_options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = ir_model_run (graph.model, graph.inputs, &run_options, NULL, &error);
  g_assert_no_error (error);
  IrTrace *trace = run->trace;
  const guint n = trace->items->len;

  trace->duration_ns = n * 1000000;
  for (guint i = 0; i < n; i++)
    {
      IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);
      item->start_ns = i * 1000000;
      item->end_ns = item->start_ns + (i == 4 ? 0 : 500000);
      item->worker = i % 3;
    }
  add_span (&graph, 1, 3);
  IrChartOptions beside = options;
  beside.beside = graph.schedule;
  g_autoptr (IrScene) scene = ir_chart_times (NULL, trace, NULL, run->model, &beside);
  g_assert_cmpuint (count_boxes (scene), ==, n + 1);
  for (guint i = 0; i < n; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);
      check_bar (scene, item->node, item->worker, g_array_index (trace->items, IrTraceItem, 0).node,
                 0, (double) item->start_ns, (double) item->end_ns, (double) trace->duration_ns);
    }
  const IrSceneBox *frame = find_box (scene, "s%u", 0);
  double low = INFINITY, high = 0;
  for (guint i = 1; i <= 3; i++)
    {
      const IrSceneBox *bar = find_box (
          scene, "t%u", g_array_index (graph.schedule->items, IrScheduleItem, i).node);
      low = MIN (low, bar->x);
      high = MAX (high, bar->x + bar->width);
    }
  assert_near (frame->x, low);
  assert_near (frame->x + frame->width, high);
  assert_near (frame->height, 3 * 40);
  check_ticks (scene, 0, n, 4);
}

static void
test_schedule (void)
{
  g_auto (Graph) graph = { 0 };
  graph_init (&graph);
  const GArray *items = graph.schedule->items;

  add_span (&graph, 0, 1);
  add_span (&graph, 3, 4);
  g_autoptr (IrScene) scene = ir_chart_times (graph.schedule, NULL, NULL, graph.model, &options);
  g_assert_cmpuint (count_boxes (scene), ==, items->len + 2);
  for (guint i = 0; i < items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (items, IrScheduleItem, i);
      check_bar (scene, item->node, item->worker, g_array_index (items, IrScheduleItem, 0).node,
                 g_array_index (items, IrScheduleItem, 0).worker, item->start_ms, item->end_ms,
                 graph.schedule->makespan_ms);
    }
  for (guint k = 0; k < 2; k++)
    {
      const IrSceneBox *frame = find_box (scene, "s%u", k);
      double low = INFINITY, high = 0;
      for (guint i = 3 * k; i <= 3 * k + 1; i++)
        {
          const IrScheduleItem *item = &g_array_index (items, IrScheduleItem, i);
          low = MIN (low, item->start_ms);
          high = MAX (high, item->end_ms);
        }
      assert_near (frame->x, LEFT + low / graph.schedule->makespan_ms * WIDTH);
      assert_near (frame->width, (high - low) / graph.schedule->makespan_ms * WIDTH);
    }
  check_ticks (scene, 0, graph.schedule->makespan_ms, 3);
}

/* What tokens move through is one bar; below, of one iteration of each frame, each node is a bar, and above it one as
 * high as what the iteration holds. */
static void
test_tokens (void)
{
  static const char text[] =
      "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.flow\" : 1]>\n"
      "g (int64 n, float[8] x) => (float[8] y) { zero = Constant <value_int = 0> () one = Constant <value_int = 1> ()\n"
      "i0 = irscope.flow.Enter <frame_name = \"w\"> (zero) i = irscope.flow.Merge (i0, i3)\n"
      "m = irscope.flow.Enter <frame_name = \"w\", is_constant = 1> (n) c = Less (i, m) p = irscope.flow.LoopCond (c)\n"
      "i1, i2 = irscope.flow.Switch (i, p) j = Add (i2, one) i3 = irscope.flow.NextIteration (j)\n"
      "v0 = irscope.flow.Enter <frame_name = \"w\"> (x) v = irscope.flow.Merge (v0, v3)\n"
      "v1, v2 = irscope.flow.Switch (v, p) t = Neg (v2) s = Size (t) f = Cast <to = 1> (s) "
      "u = Add (t, f) v3 = irscope.flow.NextIteration (u) y = irscope.flow.Exit (v1) }\n";
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) read = ir_text_read (text, -1, NULL, &error);
  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (read);
    ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  }
  g_autoptr (IrModel) model = ir_exec_lower (read, ir_backend_find ("ref"), &error);
  g_assert_no_error (error);
  g_autoptr (IrSchedule) schedule = ir_schedule_new (model, ir_backend_find ("ref"), 1, &error);
  g_assert_no_error (error);
  g_autoptr (IrScene) scene = ir_chart_times (schedule, NULL, NULL, model, &options);
  g_autoptr (GArray) rounds = ir_token_rounds (model);
  double foot = 0;

  g_assert_cmpuint (rounds->len, ==, 2);
  for (guint k = 0; k < rounds->len; k++)
    {
      const IrTokenRound *round = &g_array_index (rounds, IrTokenRound, k);
      g_autofree char *bar_id = g_strdup_printf ("r%u.%%u", k),
                      *held_id = g_strdup_printf ("r%u.%%uh", k);
      g_assert_cmpuint (round->steps->len, >, 2);
      for (guint i = 0; i < round->steps->len; i++)
        {
          const IrTokenStep *step = &g_array_index (round->steps, IrTokenStep, i);
          const IrSceneBox *bar = find_box (scene, bar_id, i), *held = find_box (scene, held_id, i);
          g_assert_cmpuint (bar->node, ==, step->node);
          assert_near (bar->x, LEFT + i * WIDTH / round->steps->len);
          g_assert_cmpfloat (bar->y, >, foot);
          g_assert_true ((held != NULL) == (step->live_bytes > 0));
          if (held != NULL)
            assert_near (held->height,
                         32.0 * (double) step->live_bytes / (double) round->peak_bytes);
          if (held != NULL)
            g_assert_cmpfloat (held->y + held->height, <, bar->y);
        }
      foot = find_box (scene, bar_id, 0)->y + 28;
    }
  g_assert_cmpuint (g_array_index (rounds, IrTokenRound, 1).peak_bytes, >=, 8);
}

/* -- both on one axis -- */

/* A line from where the worker was free to the bar, where that is some pixels long. */
static void
check_gaps (const IrScene *scene, const IrTimeline *timeline, double total)
{
  guint n = 0;

  for (guint i = 0; i < timeline->items->len; i++)
    {
      const IrTimelineItem *item = &g_array_index (timeline->items, IrTimelineItem, i);
      const IrSceneBox *line = find_box (scene, "t%ug", item->node);
      g_autofree char *why = ir_timeline_gap_text (timeline, i);

      g_assert_true ((line != NULL) == (item->idle_ms / total * WIDTH >= 3));
      if (line == NULL)
        continue;
      n++;
      assert_near (line->x, LEFT + (item->start_ms - item->idle_ms) / total * WIDTH);
      assert_near (line->width, item->idle_ms / total * WIDTH);
      g_assert_true (line->node == 0 && strstr (line->tip, why) != NULL);
    }
  g_assert_cmpuint (n, ==, 2);
}

/* Predicted above measured, and below what the plan holds at each step. */
static void
check_both (const IrSchedule *schedule, const IrRun *run)
{
  const GArray *calls = run->trace->items;
  g_autoptr (IrScene)
      scene = ir_chart_times (schedule, run->trace, run->memplan, run->model, &options);
  const double total = MAX (0.06, schedule->makespan_ms);
  for (guint i = 0; i < calls->len; i++)
    {
      const IrTraceItem *call = &g_array_index (calls, IrTraceItem, i);
      const IrScheduleItem *step = &g_array_index (schedule->items, IrScheduleItem, i);
      const IrSceneBox *above = find_box (scene, "p%u", step->node),
                       *below = find_box (scene, "t%u", call->node);
      assert_near (above->x, LEFT + step->start_ms / total * WIDTH);
      assert_near (below->x, LEFT + (double) call->start_ns / 1e6 / total * WIDTH);
      g_assert_cmpfloat (above->y + above->height, <, below->y);
    }
  g_autoptr (IrTimeline) timeline = ir_timeline_new_measured (run->trace, schedule, run->model);
  check_gaps (scene, timeline, total);
  g_autoptr (GArray) held = ir_mem_plan_held (run->memplan);
  guint64 most = 0;
  for (guint i = 0; i < held->len; i++)
    most = MAX (most, g_array_index (held, guint64, i));
  for (guint i = 0; i < held->len; i++)
    {
      const IrSceneBox *box = find_box (scene, "h%u", i);
      const guint64 bytes = g_array_index (held, guint64, i);
      g_assert_true ((box != NULL) == (bytes > 0));
      if (box != NULL)
        assert_near (box->height, (double) bytes / (double) run->memplan->peak_bytes * 64);
    }
  guint step;
  guint64 at_peak;
  g_array_unref (ir_mem_plan_at_peak (run->memplan, &step, &at_peak));
  g_assert_cmpuint (at_peak, ==, most);
}

/* Two workers; b waits for a on the other one, c is behind b on its own after a pause. */
static void
test_timeline (void)
{
  g_auto (Graph) graph = { 0 };
  graph_init (&graph);
  IrRunOptions run_options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = ir_model_run (graph.model, graph.inputs, &run_options, NULL, &error);
  g_assert_no_error (error);
  GArray *calls = run->trace->items;
  static const struct
  {
    guint worker;
    gint64 start, end;
  } times[] = { { 0, 0, 10 },  { 1, 15, 20 }, { 0, 10, 12 }, { 0, 12, 14 },
                { 0, 14, 16 }, { 1, 40, 50 }, { 1, 50, 60 } }; /* a b c d e f y, us */

  g_assert_cmpuint (calls->len, ==, G_N_ELEMENTS (times));
  for (guint i = 0; i < calls->len; i++)
    {
      IrTraceItem *call = &g_array_index (calls, IrTraceItem, i);
      call->worker = times[i].worker;
      call->start_ns = times[i].start * 1000;
      call->end_ns = times[i].end * 1000;
    }
  run->trace->duration_ns = 60000;
  g_autoptr (IrTimeline)
      timeline = ir_timeline_new_measured (run->trace, graph.schedule, run->model);
  static const struct
  {
    const char *op;
    double idle_us;
    gint32 behind;
    IrWait wait;
    gboolean critical;
    const char *text; /* (nullable) what the explanation holds */
  } wanted[] = {
    /* by start: a c d e, of which b is between; f waits for b and e */
    { "MatMul", 0, -1, IR_WAIT_WORKER, TRUE, NULL },
    { "Exp", 0, 0, IR_WAIT_WORKER, FALSE, NULL },
    { "MatMul", 0, 1, IR_WAIT_INPUT, FALSE, NULL },
    { "Tanh", 0, 2, IR_WAIT_INPUT, FALSE, NULL },
    { "Relu", 15, 0, IR_WAIT_INPUT, TRUE, "10 µs it waited for" },
    { "Add", 20, 4, IR_WAIT_INPUT, TRUE, "nothing that it waits for was running" },
    { "Mul", 0, 5, IR_WAIT_INPUT, TRUE, NULL },
  };
  g_assert_cmpuint (timeline->items->len, ==, G_N_ELEMENTS (wanted));
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      const IrTimelineItem *item = &g_array_index (timeline->items, IrTimelineItem, i);
      g_autofree char *text = ir_timeline_gap_text (timeline, i);
      g_assert_cmpstr (ir_model_node (run->model, item->node)->op_type, ==, wanted[i].op);
      assert_near (item->idle_ms * 1000, wanted[i].idle_us);
      g_assert_cmpint (item->behind, ==, wanted[i].behind);
      g_assert_cmpint (item->behind >= 0 ? item->wait : IR_WAIT_WORKER, ==, wanted[i].wait);
      g_assert_cmpint (item->critical, ==, wanted[i].critical);
      g_assert_true ((text == NULL) == (wanted[i].text == NULL));
      g_assert_true (text == NULL || strstr (text, wanted[i].text) != NULL);
    }
  assert_near (timeline->critical_path_ms, 0.035);

  g_autoptr (IrTimelineRange) range = ir_timeline_range (timeline, 0.011, 0.016);
  assert_near (range->busy_ms, 0.006);
  assert_near (range->idle_ms, 0.004);
  g_assert_cmpuint (range->items->len, ==, 4);
  assert_near (g_array_index (range->rows, IrTimelineRow, 0).ms, 0.002);

  check_both (graph.schedule, run);
}

/* -- memory -- */

/* Of the whole drawing area: the bytes of the peak upwards, steps to the right. */
static void
check_stay (const IrSceneBox *box,
            guint first,
            guint last,
            guint64 offset,
            guint64 size,
            guint n_steps,
            guint64 peak,
            double bottom)
{
  const double per_step = WIDTH / n_steps, per_byte = HEIGHT / (double) peak;

  assert_near (box->x, LEFT + first * per_step);
  assert_near (box->width, (last + 1 - first) * per_step);
  assert_near (box->height, (double) size * per_byte);
  assert_near (box->y + box->height, bottom - (double) offset * per_byte);
}

static void
test_memory (void)
{
  g_auto (Graph) graph = { 0 };
  graph_init (&graph);
  IrMemOptions how = { .align_bytes = 64 };
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new_full (graph.model, graph.schedule, 0, &how);
  guint n_steps = graph.schedule->items->len, n_drawn = 0;

  add_span (&graph, 2, 3);
  IrChartOptions beside = options;
  beside.beside = graph.schedule;
  g_autoptr (IrScene) scene = ir_chart_memory (plan, graph.model, &beside);
  const IrSceneBox *frame = find_box (scene, "s%u", 0);
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      const IrSceneBox *box = find_box (scene, "m%u", item->value);
      if (item->offset == IR_PLACE_EXTERNAL)
        g_assert_null (box);
      else
        check_stay (box, item->first, item->last, item->offset, item->size, n_steps,
                    plan->peak_bytes, frame->y + frame->height);
      n_drawn += box != NULL;
    }
  g_assert_cmpuint (n_drawn, >, 2);
  assert_near (frame->x, LEFT + 2 * WIDTH / n_steps);
  assert_near (frame->width, 2 * WIDTH / n_steps);
  assert_near (frame->height, HEIGHT);
}

/* Of two stays of a value the later one was computed again. */
static void
test_recompute (void)
{
  g_auto (Graph) graph = { 0 };
  graph_init (&graph);
  IrMemOptions how = { .align_bytes = 64 };
  g_autoptr (IrRecomputeGraph)
      problem = ir_recompute_graph_new (graph.model, graph.schedule, 0, &how);
  g_autoptr (IrRecomputePlan) least = ir_mem_recompute (&problem->problem, 1, &how);
  const guint64 peaks[] = { least->peak_bytes, 10 * least->peak_bytes };

  for (guint k = 0; k < G_N_ELEMENTS (peaks); k++)
    {
      g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&problem->problem, peaks[k], &how);
      g_autoptr (IrScene) scene = ir_chart_recompute (problem, plan, graph.model, &options);
      g_autofree guint *stays = g_new0 (guint, problem->problem.n_values);
      double bottom = 0;
      g_assert_cmpuint (count_boxes (scene), ==, plan->intervals->len);
      for (guint i = 0; i < plan->intervals->len; i++)
        {
          const IrRecomputeInterval *stay = &g_array_index (plan->intervals, IrRecomputeInterval,
                                                            i);
          const IrSceneBox *box = find_box (scene, "l%u", i);
          const guint64 bytes = problem->problem.sizes[stay->value],
                        top = MAX (plan->peak_bytes, plan->budget_bytes);
          if (i == 0)
            bottom = box->y + box->height + (double) stay->offset * HEIGHT / (double) top;
          check_stay (box, stay->first, stay->last, stay->offset, bytes, plan->runs->len, top,
                      bottom);
          g_assert_cmpint (box->state, ==,
                           stays[stay->value] > 0 ? IR_SCENE_CHANGED : IR_SCENE_SAME);
          stays[stay->value]++;
        }
      g_assert_cmpuint (plan->intervals->len, >, 2);
    }
}

/* -- values -- */

static void
test_histogram (void)
{
  g_autoptr (GError) error = NULL;
  const float numbers[] = { -2, -1.9f, -1.5f, -2, -1.95f, 0.5f, 1.9f, 2, NAN };
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (
      IR_DTYPE_FLOAT, 1, (const gint64[]){ G_N_ELEMENTS (numbers) }, numbers);
  IrTensorStats stats = { 0 };

  ir_tensor_stats (tensor, 8, &stats);
  g_autoptr (IrScene) scene = ir_chart_histogram (&stats, "x", &options);
  guint64 most = 0, n = 0;
  guint n_bars = 0;
  for (guint i = 0; i < stats.n_bins; i++)
    most = MAX (most, stats.bins[i]);
  for (guint i = 0; i < stats.n_bins; i++)
    {
      const IrSceneBox *bar = find_box (scene, "b%u", i), *full = find_box (scene, "b%u", 0);
      n += stats.bins[i];
      n_bars += bar != NULL;
      g_assert_true ((bar != NULL) == (stats.bins[i] > 0));
      if (bar == NULL)
        continue;
      assert_near (bar->x + bar->width / 2, LEFT + (i + 0.5) * WIDTH / stats.n_bins);
      assert_near (bar->height / full->height, (double) stats.bins[i] / (double) stats.bins[0]);
      assert_near (bar->y + bar->height, full->y + full->height);
    }
  g_assert_cmpuint (stats.bins[0], ==, most);
  g_assert_cmpuint (n, ==, 8);
  g_assert_cmpuint (count_boxes (scene), ==, n_bars);
  check_ticks (scene, stats.bin_low, stats.bin_high, 3);
}

/* -- lines and pairs -- */

static const IrLayoutPoint *
find_curve (const IrScene *scene, guint8 accent, guint nth, guint *n_points)
{
  guint n;
  const IrSceneLine *lines = ir_scene_lines (scene, &n);

  *n_points = 0;
  for (guint i = 0; i < n; i++)
    if (lines[i].accent == accent && nth-- == 0)
      {
        *n_points = lines[i].n_points;
        return ir_scene_line_points (scene, &lines[i]);
      }
  return NULL;
}

static guint
count_accent (const IrScene *scene, guint8 accent)
{
  guint n, found = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    found += boxes[i].accent == accent;
  return found;
}

static void
test_curve (void)
{
  const float numbers[] = { 1, 2, -2, NAN, 4, 0, INFINITY };
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (
      IR_DTYPE_FLOAT, 1, (const gint64[]){ G_N_ELEMENTS (numbers) }, numbers);
  g_autofree IrTensorCurve *curve = ir_tensor_curve_new (tensor, NULL, 0, 1, 7, 0, NULL);
  IrLayoutRect area;
  guint n;
  g_autoptr (IrScene) scene = ir_chart_curves ((const IrTensorCurve *const[]){ curve }, NULL, 1,
                                               "x", &options, &area);
  const IrLayoutPoint *points = find_curve (scene, 1, 0, &n);

  g_assert_cmpuint (curve->n_not_finite, ==, 2);
  g_assert_cmpuint (n, ==, 3); /* up to the NaN */
  for (guint i = 0; i < n; i++)
    {
      assert_near (points[i].x, area.x + i / 6.0 * area.width);
      assert_near (points[i].y, area.y + (4 - (double) numbers[i]) / 6 * area.height);
    }
  points = find_curve (scene, 1, 1, &n);
  g_assert_cmpuint (n, ==, 2);
  assert_near (points[0].x, area.x + 4 / 6.0 * area.width);
  assert_near (points[0].y, area.y);
  g_assert_cmpuint (count_accent (scene, 1), ==, 5);
  g_assert_cmpuint (count_accent (scene, 6), ==, 2); /* what is not finite */
}

/* Of more elements than pieces none is lost: the one that sticks out is there. */
static void
test_long_curve (void)
{
  const gint64 dims[] = { 2, 5000 };
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (IR_DTYPE_DOUBLE, 2, dims, NULL);
  double *data = ir_tensor_data_writable (tensor);

  memset (data, 0, 10000 * sizeof *data);
  data[2 * 3333 + 1] = 7;
  data[2 * 10 + 1] = -3;
  g_autofree IrTensorCurve *odd = ir_tensor_curve_new (tensor, NULL, 1, 2, 5000, 0, NULL);
  g_autofree IrTensorCurve *even = ir_tensor_curve_new (tensor, NULL, 0, 2, 5000, 0, NULL);
  guint at = 0;

  while (odd->largest[at] != 7)
    at++;
  g_assert_cmpuint (odd->n_pieces, ==, IR_CURVE_PIECES);
  g_assert_cmpuint (ir_tensor_curve_begin (odd, at), <=, 3333);
  g_assert_cmpuint (ir_tensor_curve_begin (odd, at + 1), >, 3333);
  g_assert_cmpuint (ir_tensor_curve_begin (odd, IR_CURVE_PIECES), ==, 5000);
  g_assert_cmpfloat (odd->least[2], ==, -3);
  for (guint i = 0; i < even->n_pieces; i++)
    g_assert_true (even->least[i] == 0 && even->largest[i] == 0);
}

static void
test_scatter (void)
{
  const float before[] = { 0, 1, 2, 4, 4, NAN }, after[] = { 0, 1, 2, 4, 0, 1 };
  g_autoptr (IrTensor) x = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, (const gint64[]){ 6 }, before),
                       y = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, (const gint64[]){ 6 }, after);
  g_autofree IrTensorScatter *scatter = ir_tensor_scatter_new (x, y, NULL);
  IrLayoutRect area;
  g_autoptr (IrScene) scene = ir_chart_scatter (scatter, "before", "after", &options, &area);
  guint n, n_off = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  g_assert_cmpuint (scatter->n_left_out, ==, 1);
  g_assert_cmpuint (n, ==, 5);
  assert_near (area.width, area.height);
  for (guint i = 0; i < n; i++)
    {
      const double right = (boxes[i].x - area.x) / boxes[i].width,
                   up = (area.y + area.height - boxes[i].y) / boxes[i].height - 1;

      g_assert_cmpuint (boxes[i].key, >, 0);
      if (fabs (right - up) > 0.5)
        {
          g_assert_cmpuint (boxes[i].key - 1, ==, 4);
          n_off++;
        }
    }
  g_assert_cmpuint (n_off, ==, 1);
}

/* Neither the range of doubles nor one number alone is too much. */
static void
test_extremes (void)
{
  static const double ranges[][2] = {
    { -DBL_MAX, DBL_MAX }, { 1e17, 1e17 + 16 }, { 0, 0 }, { 5e-324, 1e-323 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (ranges); i++)
    {
      g_autoptr (IrTensor)
          tensor = ir_tensor_new_copy (IR_DTYPE_DOUBLE, 1, (const gint64[]){ 2 }, ranges[i]);
      g_autofree IrTensorCurve *curve = ir_tensor_curve_new (tensor, NULL, 0, 1, 2, 0, NULL);
      g_autofree IrTensorScatter *pairs = ir_tensor_scatter_new (tensor, tensor, NULL);
      g_autoptr (IrScene) line = ir_chart_curves ((const IrTensorCurve *const[]){ curve }, NULL, 1,
                                                  NULL, &options, NULL),
                          scatter = ir_chart_scatter (pairs, "x", "y", &options, NULL);
      guint n;
      const IrLayoutPoint *points = find_curve (line, 1, 0, &n);

      g_assert_cmpuint (n, ==, 2);
      g_assert_true (isfinite (points[0].y) && isfinite (points[1].y));
      g_assert_true (points[0].y >= points[1].y);
      ir_scene_boxes (scatter, &n);
      g_assert_cmpuint (n, ==, ranges[i][0] == ranges[i][1] ? 1 : 2);
    }
}

static const IrSceneText *
find_text (const IrScene *scene, const char *prefix)
{
  guint n;
  const IrSceneText *texts = ir_scene_texts (scene, &n);

  for (guint i = 0; i < n; i++)
    if (g_str_has_prefix (texts[i].text, prefix))
      return &texts[i];
  g_error ("no text begins with %s", prefix);
}

/* In a pane of any width the roofline is above the bars, and most of the width is its plot. */
static void
test_roofline (void)
{
  g_auto (Graph) graph = { 0 };
  graph_init (&graph);
  const IrRoofline peaks = { .gflops = 100, .gbps = 20 };
  g_autoptr (IrSummary) summary = ir_summary_new (graph.model, NULL, NULL, 1, 10);

  for (guint i = 0; i < summary->ops->len; i++)
    g_array_index (summary->ops, IrSummaryRow, i).time_ns = 1000;
  for (double width = 230; width <= 920; width *= 2)
    {
      const IrChartOptions pane = { .width = width };
      g_autoptr (IrScene) scene = ir_chart_summary (summary, IR_SUMMARY_FLOPS, &peaks, &pane);
      const IrSceneBox *most = find_box (scene, "r%u", 0), *other = find_box (scene, "o%u", 0);
      const double left = find_text (scene, "0.01")->x, right = find_text (scene, "100")->x;

      g_assert_cmpfloat (find_text (scene, "Roofline")->y, <, find_text (scene, "Operators")->y);
      g_assert_cmpfloat (most->y, <, other->y);
      g_assert_cmpfloat (right - left, >, width / 2);
    }
}

/* A bar is as long as its number, and nothing has none: a pixel would look like a little. */
static void
test_bars (void)
{
  g_auto (Graph) graph = { 0 };
  graph_init (&graph);
  g_autoptr (IrSummary) summary = ir_summary_new (graph.model, NULL, NULL, 1, 10);
  const guint last = summary->ops->len - 1;

  g_assert_cmpuint (last, >, 0);
  for (guint i = 0; i <= last; i++)
    g_array_index (summary->ops, IrSummaryRow, i).flops = i < last ? 1e6 : 0;
  for (double width = 230; width <= 920; width *= 2)
    {
      const IrChartOptions pane = { .width = width };
      g_autoptr (IrScene) scene = ir_chart_summary (summary, IR_SUMMARY_FLOPS, NULL, &pane);

      g_assert_cmpfloat (find_box (scene, "o%u", 0)->width, >, 50);
      g_assert_cmpfloat (find_box (scene, "o%u", last)->width, ==, 0);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/charts/a trace is bars where its nodes ran", test_trace);
  g_test_add_func ("/charts/a schedule is bars where its nodes shall run", test_schedule);
  g_test_add_func ("/charts/an iteration of tokens is a bar for each node", test_tokens);
  g_test_add_func ("/charts/both lie on one axis, with what nodes waited for", test_timeline);
  g_test_add_func ("/charts/a memory plan is rectangles of steps and bytes", test_memory);
  g_test_add_func ("/charts/what is computed again has a colour of its own", test_recompute);
  g_test_add_func ("/charts/a histogram is as high as its counts", test_histogram);
  g_test_add_func ("/charts/a row of elements is a line with gaps", test_curve);
  g_test_add_func ("/charts/a line of many elements loses none of the extremes", test_long_curve);
  g_test_add_func ("/charts/pairs that are equal lie on the diagonal", test_scatter);
  g_test_add_func ("/charts/lines and pairs of any range", test_extremes);
  g_test_add_func ("/charts/a roofline is above the bars, and wide enough", test_roofline);
  g_test_add_func ("/charts/what is nothing has no bar", test_bars);
  return g_test_run ();
}
