#include "config.h"

#include "core/exec/measure/timeline.h"

#include <string.h>

#define LEAST_MS 1e-6 /* what clocks cannot tell from nothing */

static IrTimelineItem *
item_at (const IrTimeline *timeline, guint i)
{
  return &g_array_index (timeline->items, IrTimelineItem, i);
}

static void
clear_item (gpointer data)
{
  g_free (((IrTimelineItem *) data)->kernel);
}

static gint
compare_start (gconstpointer a, gconstpointer b)
{
  const IrTimelineItem *x = a, *y = b;

  if (x->start_ms != y->start_ms)
    return x->start_ms < y->start_ms ? -1 : 1;
  return x->end_ms != y->end_ms ? (x->end_ms < y->end_ms ? -1 : 1) : 0;
}

static IrTimeline *
timeline_new (const IrModel *model, gboolean measured)
{
  IrTimeline *timeline = g_new0 (IrTimeline, 1);

  timeline->model = model;
  timeline->measured = measured;
  timeline->n_workers = 1;
  timeline->lanes = g_ptr_array_new_with_free_func (g_free);
  timeline->items = g_array_new (FALSE, TRUE, sizeof (IrTimelineItem));
  g_array_set_clear_func (timeline->items, clear_item);
  return timeline;
}

/* -- what an item waited for -- */

typedef struct
{
  const IrScheduleItem **steps; /* by node id; NULL: not of the schedule, such as of a body */
  gint32 *last;                 /* by node id: its last item so far, or -1 */
  guint *spans;     /* by node id: which concurrent nodes it belongs to, from 1 on; 0: none */
  gint32 *of_lane;  /* by lane: its last item so far, or -1 */
  gint32 latest;    /* what ended last so far, or -1 */
  double *chain_ms; /* by item: the longest chain of inputs that ends with it */
  gint32 *before;   /* by item: the one before it in that chain, or -1 */
} Following;

/* Where two end at once, the first that is asked is what it waited for. */
static void
wait_for (IrTimeline *timeline, IrTimelineItem *item, gint32 other, IrWait wait)
{
  const double end = other >= 0 ? item_at (timeline, (guint) other)->end_ms : 0;

  if (other < 0 || (item->behind >= 0 && end <= item_at (timeline, (guint) item->behind)->end_ms))
    return;
  item->behind = other;
  item->wait = wait;
}

/* Whether what ended last are concurrent nodes that @item stands behind. */
static gboolean
crosses_span (const IrTimeline *timeline, const Following *following, const IrTimelineItem *item)
{
  const IrTimelineItem *last = following->latest >= 0
                                   ? item_at (timeline, (guint) following->latest)
                                   : NULL;

  return timeline->measured && last != NULL && last->end_ms <= item->start_ms &&
         following->spans[last->node] != 0 &&
         following->spans[last->node] != following->spans[item->node];
}

static void
follow (IrTimeline *timeline, Following *following, guint index)
{
  IrTimelineItem *item = item_at (timeline, index);
  const IrScheduleItem *step = following->steps[item->node];
  const gint32 own = following->of_lane[item->lane];
  const double free_ms = own >= 0 ? item_at (timeline, (guint) own)->end_ms : 0;

  item->behind = following->before[index] = -1;
  for (guint i = 0; step != NULL && i < step->n_after; i++)
    {
      const gint32 other = following->last[step->after[i]];

      wait_for (timeline, item, other, IR_WAIT_INPUT);
      if (other >= 0 && following->chain_ms[other] > following->chain_ms[index])
        {
          following->chain_ms[index] = following->chain_ms[other];
          following->before[index] = other;
        }
    }
  wait_for (timeline, item, own, IR_WAIT_WORKER);
  if (crosses_span (timeline, following, item))
    wait_for (timeline, item, following->latest, IR_WAIT_SPAN);
  item->idle_ms = MAX (item->start_ms - free_ms, 0);
  if (item->idle_ms < LEAST_MS)
    item->idle_ms = 0;
  following->chain_ms[index] += item->end_ms - item->start_ms;
  following->last[item->node] = (gint32) index;
  if (item->end_ms >= free_ms) /* else it ran within another, as a body does */
    following->of_lane[item->lane] = (gint32) index;
  if (following->latest < 0 ||
      item->end_ms >= item_at (timeline, (guint) following->latest)->end_ms)
    following->latest = (gint32) index;
}

static void
mark_critical (IrTimeline *timeline, const Following *following)
{
  gint32 at = -1;

  for (guint i = 0; i < timeline->items->len; i++)
    if (at < 0 || following->chain_ms[i] > following->chain_ms[at])
      at = (gint32) i;
  timeline->critical_path_ms = at >= 0 ? following->chain_ms[at] : 0;
  for (; at >= 0; at = following->before[at])
    item_at (timeline, (guint) at)->critical = TRUE;
}

/* Of a timeline whose items have as lanes the streams of a device, from 1 on, or 0. Workers that run nothing beside
 * a device have none. */
static void
make_lanes (IrTimeline *timeline)
{
  const guint n = timeline->items->len;
  g_autofree guint *places = g_new0 (guint, timeline->n_workers); /* 1 + the lane of a worker */
  guint n_streams = 0;

  for (guint i = 0; i < n; i++)
    n_streams = MAX (n_streams, item_at (timeline, i)->lane);
  for (guint i = 0; i < n; i++)
    if (item_at (timeline, i)->lane == 0)
      places[item_at (timeline, i)->worker] = 1;
  for (guint i = 0; i < timeline->n_workers; i++)
    if (places[i] != 0 || n_streams == 0)
      {
        g_ptr_array_add (timeline->lanes, g_strdup_printf ("worker %u", i));
        places[i] = timeline->lanes->len;
      }
  const guint n_host = timeline->lanes->len;
  for (guint i = 0; i < n_streams; i++)
    g_ptr_array_add (timeline->lanes, g_strdup_printf ("%s stream %u", timeline->device, i));
  for (guint i = 0; i < n; i++)
    {
      IrTimelineItem *item = item_at (timeline, i);
      item->lane = item->lane == 0 ? places[item->worker] - 1 : n_host + item->lane - 1;
    }
}

static void
follow_all (IrTimeline *timeline, const IrSchedule *schedule)
{
  const guint n = timeline->items->len, n_nodes = timeline->model->nodes->len;
  g_autofree const IrScheduleItem **steps = g_new0 (const IrScheduleItem *, n_nodes + 1);
  g_autofree gint32 *last = g_new (gint32, n_nodes + 1), *before = g_new (gint32, n + 1);
  g_autofree guint *spans = g_new0 (guint, n_nodes + 1);
  g_autofree gint32 *of_lane = NULL;
  g_autofree double *chain_ms = g_new0 (double, n + 1);

  g_array_sort (timeline->items, compare_start);
  for (guint i = 0; i < n; i++)
    timeline->n_workers = MAX (timeline->n_workers, item_at (timeline, i)->worker + 1);
  make_lanes (timeline);
  of_lane = g_new (gint32, timeline->lanes->len);
  memset (of_lane, 0xff, sizeof *of_lane * timeline->lanes->len);
  memset (last, 0xff, sizeof *last * (n_nodes + 1));
  for (guint i = 0; schedule != NULL && i < schedule->items->len; i++)
    {
      const IrScheduleItem *step = &g_array_index (schedule->items, IrScheduleItem, i);

      if (step->node < n_nodes)
        steps[step->node] = step;
    }
  for (guint k = 0; schedule != NULL && schedule->spans != NULL && k < schedule->spans->len; k++)
    {
      const IrScheduleSpan *span = &g_array_index (schedule->spans, IrScheduleSpan, k);

      for (guint i = span->first; i <= span->last && i < schedule->items->len; i++)
        spans[g_array_index (schedule->items, IrScheduleItem, i).node] = k + 1;
    }
  Following following = { .steps = steps,
                          .last = last,
                          .spans = spans,
                          .of_lane = of_lane,
                          .latest = -1,
                          .chain_ms = chain_ms,
                          .before = before };
  for (guint i = 0; i < n; i++)
    follow (timeline, &following, i);
  mark_critical (timeline, &following);
}

/**
 * ir_timeline_new_predicted:
 * @schedule: a schedule
 * @model: the model that it is of
 *
 * Returns: (transfer full): its nodes where and when the cost model has them, each behind what it waits for
 */
IrTimeline *
ir_timeline_new_predicted (const IrSchedule *schedule, const IrModel *model)
{
  IrTimeline *timeline = timeline_new (model, FALSE);
  g_autoptr (IrPlaces) places = ir_places_new (schedule, model, NULL);

  for (guint i = 0; i < schedule->items->len; i++)
    {
      const IrScheduleItem *step = &g_array_index (schedule->items, IrScheduleItem, i);
      const guint stream = places != NULL ? places->streams->stream[i] : IR_STREAM_NONE;
      const IrTimelineItem item = { .node = step->node,
                                    .worker = step->worker,
                                    .lane = stream != IR_STREAM_NONE ? stream + 1 : 0,
                                    .start_ms = step->start_ms,
                                    .end_ms = step->end_ms,
                                    .kernel = g_strdup (step->kernel) };

      if (item.lane > 0)
        timeline->device = step->device;
      g_array_append_val (timeline->items, item);
    }
  timeline->n_workers = MAX (schedule->n_workers, 1);
  timeline->duration_ms = schedule->makespan_ms;
  follow_all (timeline, schedule);
  return timeline;
}

/**
 * ir_timeline_new_measured:
 * @trace: what a run measured
 * @schedule: (nullable): what the run followed; without it nothing is known of what waited for what
 * @model: the model that ran
 *
 * A node that ran several times has as many items, and one that was not run again, as another run had what it
 * gives, has none.
 *
 * Returns: (transfer full): its nodes where and when they ran
 */
IrTimeline *
ir_timeline_new_measured (const IrTrace *trace, const IrSchedule *schedule, const IrModel *model)
{
  IrTimeline *timeline = timeline_new (model, TRUE);

  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *call = &g_array_index (trace->items, IrTraceItem, i);
      const IrTimelineItem item = { .node = call->node,
                                    .worker = call->worker,
                                    .lane = call->stream,
                                    .start_ms = (double) call->start_ns / 1e6,
                                    .end_ms = (double) call->end_ns / 1e6,
                                    .kernel = ir_trace_item_kernel (call) };

      if (call->stream > 0)
        timeline->device = call->device;
      if (!ir_trace_item_is_reused (call)) /* it did not run */
        g_array_append_val (timeline->items, item);
    }
  timeline->duration_ms = (double) trace->duration_ns / 1e6;
  follow_all (timeline, schedule);
  return timeline;
}

/**
 * ir_timeline_free:
 * @timeline: (transfer full) (nullable): a timeline
 */
void
ir_timeline_free (IrTimeline *timeline)
{
  if (timeline == NULL)
    return;
  g_array_unref (timeline->items);
  g_ptr_array_unref (timeline->lanes);
  g_free (timeline);
}

/* -- gaps -- */

static char *
ms_text (double ms)
{
  return ms < 1 ? g_strdup_printf ("%.3g µs", ms * 1000) : g_strdup_printf ("%.3g ms", ms);
}

/**
 * ir_wait_name:
 * @wait: why an item had to wait
 *
 * Returns: (transfer none): its name
 */
const char *
ir_wait_name (IrWait wait)
{
  static const char *const names[] = {
    [IR_WAIT_WORKER] = "worker", [IR_WAIT_INPUT] = "input", [IR_WAIT_SPAN] = "concurrent nodes"
  };

  return names[wait];
}

/**
 * ir_timeline_gap_text:
 * @timeline: a timeline
 * @item: one of its items
 *
 * Returns: (transfer full) (nullable): for how long its lane stood idle before it and why, as one line;
 *   %NULL where it did not
 */
char *
ir_timeline_gap_text (const IrTimeline *timeline, guint item)
{
  const IrTimelineItem *this = item_at (timeline, item);
  const IrTimelineItem *behind = this->behind >= 0 ? item_at (timeline, (guint) this->behind)
                                                   : NULL;
  const double since = this->start_ms - this->idle_ms;
  const double waited = behind != NULL ? MAX (behind->end_ms - since, 0) : 0;
  const double rest = MAX (this->idle_ms - waited, 0);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *idle = ms_text (this->idle_ms), *waited_text = ms_text (waited),
                  *rest_text = ms_text (rest), *label = NULL;

  if (this->idle_ms == 0)
    return NULL;
  g_string_append_printf (text, "%s stood idle for %s before it: ",
                          (const char *) timeline->lanes->pdata[this->lane], idle);
  if (waited < LEAST_MS)
    {
      g_string_append (text,
                       behind == NULL
                           ? "no node ran on it until then, so the run was being prepared"
                           : "nothing that it waits for was running, so it is time between nodes");
      return g_string_free (g_steal_pointer (&text), FALSE);
    }
  label = ir_node_label (ir_model_node (timeline->model, behind->node));
  g_string_append_printf (text, "%s it waited for %s on %s%s", waited_text, label,
                          (const char *) timeline->lanes->pdata[behind->lane],
                          this->wait == IR_WAIT_SPAN ? ", the last of concurrent nodes" : "");
  if (rest >= LEAST_MS)
    g_string_append_printf (text, ", %s is time between nodes", rest_text);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* -- ranges -- */

/**
 * ir_timeline_range_ms:
 * @range: a range
 * @item: an item
 *
 * Returns: for how long @item runs within @range
 */
double
ir_timeline_range_ms (const IrTimelineRange *range, const IrTimelineItem *item)
{
  return MAX (MIN (item->end_ms, range->to_ms) - MAX (item->start_ms, range->from_ms), 0);
}

/* What only touches a range does not lie in it; what takes no time lies where it is. */
static gboolean
lies_in (const IrTimelineRange *range, const IrTimelineItem *item)
{
  if (item->end_ms - item->start_ms > 0 && range->to_ms > range->from_ms)
    return item->end_ms > range->from_ms && item->start_ms < range->to_ms;
  return item->end_ms >= range->from_ms && item->start_ms <= range->to_ms;
}

static gint
compare_rows (gconstpointer a, gconstpointer b)
{
  const IrTimelineRow *x = a, *y = b;

  if (x->ms != y->ms)
    return x->ms > y->ms ? -1 : 1;
  return strcmp (x->op, y->op);
}

static void
add_to_row (IrTimelineRange *range, GHashTable *places, const char *op, double ms)
{
  guint place = GPOINTER_TO_UINT (g_hash_table_lookup (places, op));

  if (place == 0)
    {
      g_array_append_val (range->rows, ((IrTimelineRow){ .op = op }));
      place = range->rows->len;
      g_hash_table_insert (places, (gpointer) op, GUINT_TO_POINTER (place));
    }
  IrTimelineRow *row = &g_array_index (range->rows, IrTimelineRow, place - 1);
  row->n_calls++;
  row->ms += ms;
}

/* Time during which lanes run something in @range; bodies run within their nodes, and count once. */
static void
add_busy (const IrTimeline *timeline, IrTimelineRange *range)
{
  g_autofree double *until = g_new (double, timeline->lanes->len);

  for (guint i = 0; i < timeline->lanes->len; i++)
    until[i] = range->from_ms;
  for (guint i = 0; i < range->items->len; i++)
    {
      const IrTimelineItem *item = item_at (timeline, g_array_index (range->items, guint, i));
      const double from = MAX (item->start_ms, until[item->lane]),
                   to = MIN (item->end_ms, range->to_ms);

      range->busy_ms += MAX (to - from, 0);
      until[item->lane] = MAX (until[item->lane], to);
    }
  range->idle_ms = MAX ((range->to_ms - range->from_ms) * timeline->lanes->len - range->busy_ms, 0);
}

/**
 * ir_timeline_range:
 * @timeline: a timeline
 * @from_ms: where the range begins
 * @to_ms: where it ends; what lies beyond the timeline is cut off
 *
 * Returns: (transfer full): what lies in it
 */
IrTimelineRange *
ir_timeline_range (const IrTimeline *timeline, double from_ms, double to_ms)
{
  IrTimelineRange *range = g_new0 (IrTimelineRange, 1);
  g_autoptr (GHashTable) places = g_hash_table_new (g_str_hash, g_str_equal);

  range->from_ms = CLAMP (from_ms, 0, timeline->duration_ms);
  range->to_ms = CLAMP (to_ms, range->from_ms, timeline->duration_ms);
  range->items = g_array_new (FALSE, FALSE, sizeof (guint));
  range->rows = g_array_new (FALSE, FALSE, sizeof (IrTimelineRow));
  for (guint i = 0; i < timeline->items->len; i++)
    {
      const IrTimelineItem *item = item_at (timeline, i);

      if (!lies_in (range, item))
        continue;
      g_array_append_val (range->items, i);
      add_to_row (range, places, ir_model_node (timeline->model, item->node)->op_type,
                  ir_timeline_range_ms (range, item));
    }
  g_array_sort (range->rows, compare_rows);
  add_busy (timeline, range);
  return range;
}

/**
 * ir_timeline_range_free:
 * @range: (transfer full) (nullable): a range
 */
void
ir_timeline_range_free (IrTimelineRange *range)
{
  if (range == NULL)
    return;
  g_array_unref (range->items);
  g_array_unref (range->rows);
  g_free (range);
}
