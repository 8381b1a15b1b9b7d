/* How often a Loop, a Scan or a frame of tokens runs: by a limit that is a constant or a size and a condition that can
 * never end it, by what a Scan is cut from, and by induction over counters, those of tokens in core/ir/induction.c. */
#include "config.h"

#include "core/op/trips.h"

#include "core/ir/counter.h"
#include "core/ir/frames.h"
#include "core/op/infer-util.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#define MAX_HOPS 1000 /* a graph that is checked may have cycles */

/**
 * ir_node_repeated:
 * @node: a node
 *
 * Returns: (nullable): the graph of it that it runs again and again
 */
const IrGraph *
ir_node_repeated (const IrNode *node)
{
  return node->op != NULL && !ir_op_is (node, IR_OP_TOKEN_GRAPH) ? ir_node_attr_graph (node, "body")
                                                                 : NULL;
}

/* Past Identity */
static const IrValue *
origin (const IrValue *value, gconstpointer body)
{
  for (guint i = 0; i < MAX_HOPS && value != NULL && value->producer != NULL &&
                    ir_op_is (value->producer, IR_OP_IDENTITY);
       i++)
    value = ir_node_input (value->producer, 0);
  return value;
}

/**
 * ir_is_true_inside:
 * @body: the body of a Loop
 * @value: (nullable): a value of it
 *
 * Returns: %TRUE if @value is true whenever the body runs: a constant, or the condition by which it runs
 */
gboolean
ir_is_true_inside (const IrGraph *body, const IrValue *value)
{
  gint64 element;

  value = origin (value, body);
  return value != NULL && (value == ir_graph_input (body, 1) ||
                           (ir_value_known_integer (value, &element) && element != 0));
}

/* -- the counter of a Loop -- */

static gboolean
is_true (const IrValue *value, gconstpointer body)
{
  return ir_is_true_inside (body, value);
}

/* Which input of the body it is; its number if it is none */
static guint
input_slot (const IrGraph *body, const IrValue *value)
{
  guint slot = 0;

  while (slot < ir_graph_n_inputs (body) && ir_graph_input (body, slot) != value)
    slot++;
  return slot;
}

/* What it begins with, and what is added to it behind each iteration. */
static gboolean
follow_counter (
    const IrNode *node, const IrCounterScope *scope, guint slot, gint64 *first, gint64 *step)
{
  const IrGraph *body = scope->data;

  *first = 0;
  *step = 1;
  return slot == 0 ||
         (slot >= 2 && slot < ir_graph_n_inputs (body) && slot <= ir_graph_n_outputs (body) &&
          ir_value_known_integer (ir_node_input (node, slot), first) &&
          ir_counter_read (scope, ir_graph_output (body, slot - 1), step) ==
              ir_graph_input (body, slot));
}

/* By induction: the body gives the condition of the next iteration. -1: not known */
static gint64
trips_by_counter (const IrNode *node, const IrGraph *body)
{
  const IrCounterScope scope = { origin, is_true, body };
  IrComparison comparison;
  gint64 first, step;

  if (!ir_comparison_read (&scope, ir_graph_output (body, 0), &comparison) ||
      !follow_counter (node, &scope, input_slot (body, comparison.counter), &first, &step))
    return -1;
  const gint64 last = ir_comparison_ends (&comparison, first, step);
  return last >= 0 ? last + 1 : -1;
}

static gint64
trips_of_loop (const IrNode *node, const IrGraph *body)
{
  const IrValue *limit = ir_node_input (node, 0);
  const IrValue *condition = ir_node_input (node, 1);
  gint64 most = G_MAXINT64, first = 1;

  const gboolean limited = limit == NULL || ir_value_known_integer (limit, &most);
  const gboolean begins = condition == NULL || ir_value_known_integer (condition, &first);
  if (most <= 0 || first == 0)
    return 0;
  if (!limited || !begins || most == 1)
    return limited && begins ? 1 : -1;
  if (ir_graph_n_inputs (body) < 2 || ir_graph_n_outputs (body) < 1)
    return -1;
  if (ir_is_true_inside (body, ir_graph_output (body, 0)))
    return limit != NULL ? most : -1;
  const gint64 counted = trips_by_counter (node, body);
  return counted >= 0 ? MIN (most, counted) : -1;
}

/* The length of the last input along the axis that it is cut along, from opset 9 on. */
static gint64
trips_of_scan (const IrNode *node)
{
  const gint64 n_scanned = ir_node_attr_int (node, "num_scan_inputs", 0);
  const IrValue *last = node->n_inputs > 0 ? node->inputs[node->n_inputs - 1] : NULL;
  guint n = 0;
  const gint64 *axes = ir_node_attr_ints (node, "scan_input_axes", &n);
  gint64 axis = axes != NULL && n_scanned >= 1 && (gint64) n == n_scanned ? axes[n - 1] : 0;

  if (last == NULL || !ir_type_is_tensor (last->type) || last->type->rank <= 0 ||
      (ir_node_opset (node) > 0 && ir_node_opset (node) < 9))
    return -1;
  axis += axis < 0 ? last->type->rank : 0;
  return axis >= 0 && axis < last->type->rank ? MAX (last->type->dims[axis], -1) : -1;
}

/**
 * ir_node_trips:
 * @node: a node that runs a graph again and again
 *
 * Returns: how many iterations it has each time it runs, where that is proved; -1: not known
 */
gint64
ir_node_trips (const IrNode *node)
{
  return ir_op_is (node, IR_OP_LOOP)   ? trips_of_loop (node, ir_node_repeated (node))
         : ir_op_is (node, IR_OP_SCAN) ? trips_of_scan (node)
                                       : -1;
}

/* -- one run -- */

typedef struct
{
  guint64 *times; /* by node id */
  gboolean partial;
} Count;

static guint64
times_inside (Count *count, guint64 times, gint64 trips)
{
  count->partial |= trips < 0;
  return ir_mul_saturated (times, trips < 0 ? 1 : (guint64) trips);
}

static guint64
times_in_frame (Count *count, const IrFrames *frames, guint frame)
{
  guint64 times = 1;

  for (; frame != 0; frame = g_array_index (frames->frames, IrFrame, frame).parent)
    times = times_inside (count, times, g_array_index (frames->frames, IrFrame, frame).trips);
  return times;
}

static void
count_graph (Count *count, const IrGraph *graph, guint64 times)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);
  g_autoptr (IrFrames) frames = ir_graph_has_tokens (graph) ? ir_frames_new (graph) : NULL;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes[i]);
      const guint64 own = frames == NULL
                              ? times
                              : ir_mul_saturated (
                                    times,
                                    times_in_frame (count, frames, frames->frame_of[nodes[i]->id]));
      const guint64 inside = ir_node_repeated (nodes[i]) != NULL
                                 ? times_inside (count, own, ir_node_trips (nodes[i]))
                                 : own;

      count->times[nodes[i]->id] = own;
      for (guint k = 0; k < inner->len; k++)
        count_graph (count, inner->pdata[k], inside);
    }
}

/**
 * ir_model_times:
 * @model: a model
 * @partial: (out) (optional): set to %TRUE if some loop is counted once, as it is not known how often it runs; else
 *   left alone
 *
 * A branch counts as if it were taken. Nodes of functions, which run in calls, count once.
 *
 * Returns: (transfer full) (array): by node id, how often it runs in one run
 */
guint64 *
ir_model_times (const IrModel *model, gboolean *partial)
{
  Count count = { g_new (guint64, model->nodes->len), FALSE };

  for (guint i = 0; i < model->nodes->len; i++)
    count.times[i] = 1;
  count_graph (&count, model->main, 1);
  if (partial != NULL && count.partial)
    *partial = TRUE;
  return count.times;
}

static guint64
add_saturated (guint64 a, guint64 b)
{
  return a > G_MAXUINT64 - b ? G_MAXUINT64 : a + b;
}

/**
 * ir_cost_run:
 * @model: a model
 * @partial: (out) (optional): set to %TRUE if some size, or how often some loop runs, was not known and counted as 1;
 *   else left alone
 *
 * As ir_cost_model(), with all iterations of loops.
 *
 * Returns: the cost of one run
 */
IrCost
ir_cost_run (const IrModel *model, gboolean *partial)
{
  g_autofree guint64 *times = ir_model_times (model, partial);
  IrCost cost = ir_cost_model (model, partial);

  cost.flops = cost.bytes = 0;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node == NULL || node->graph->kind == IR_GRAPH_FUNCTION)
        continue;
      const IrCost own = ir_cost_node (node);
      cost.flops = add_saturated (cost.flops, ir_mul_saturated (own.flops, times[i]));
      cost.bytes = add_saturated (cost.bytes, ir_mul_saturated (own.bytes, times[i]));
    }
  return cost;
}
