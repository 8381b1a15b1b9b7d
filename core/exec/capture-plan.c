/* Which values a run keeps, and where: decided before it, from the policy, the sizes that are known
 * and the budget. Values are taken in the order of the schedule; one that no longer fits lies in
 * the arena as if nobody wanted it and is written to a file when it is computed, so that memory
 * holds the arena and the budget, whatever the model.
 *
 * Checkpoints: a value is kept if computing it from values kept before would cost more than a
 * small part of the run. Each other one is then that near to kept ones. */
#include "config.h"

#include "core/exec/runner-private.h"

#define CHECKPOINT_PARTS 32 /* a value that is not kept costs at most about a run / this */

typedef struct
{
  IrPrepared *prepared;
  guint64 budget; /* bytes */
  guint8 *wanted; /* by value id */
} Planner;

/**
 * ir_capture_budget:
 * @options: of a run
 *
 * Returns: bytes that captured values may take in memory
 */
guint64
ir_capture_budget (const IrRunOptions *options)
{
  guint64 budget = options->capture_budget != 0 ? options->capture_budget
                                                : ir_exec_default_memory_limit ();

  return options->memory_limit != 0 ? MIN (budget, options->memory_limit / 2) : budget;
}

static gboolean
size_of (const Planner *planner, const IrValue *value, gsize *bytes)
{
  const IrType *type = ir_schedule_kept_type (planner->prepared->schedule, value);

  return type != NULL && type->kind == IR_TYPE_TENSOR && type->dtype != IR_DTYPE_UNDEFINED &&
         type->dtype != IR_DTYPE_STRING && ir_type_is_static (type) &&
         ir_type_n_bytes (type, bytes);
}

static gboolean
is_view_of_kept (const Planner *planner, const IrNode *node, gsize bytes)
{
  const IrValue *in = ir_node_input (node, 0);
  gsize in_bytes = 0;

  return node->op != NULL && (node->op->flags & IR_OP_VIEW) && in != NULL && in->producer != NULL &&
         planner->prepared->keep[in->id] == IR_KEEP_PLANNED && size_of (planner, in, &in_bytes) &&
         in_bytes == bytes;
}

static void
plan_value (Planner *planner, const IrValue *value, gboolean is_output)
{
  IrPrepared *prepared = planner->prepared;
  gsize bytes = 0;

  if (value->graph != prepared->model->main ||
      (value->producer != NULL && ir_value_constant (value) == NULL &&
       !size_of (planner, value, &bytes)))
    {
      prepared->keep[value->id] = IR_KEEP_OPEN;
      return;
    }
  if (value->producer != NULL && bytes > 0 && is_view_of_kept (planner, value->producer, bytes))
    bytes = 0;
  if (is_output || prepared->kept_bytes + bytes <= planner->budget)
    {
      prepared->keep[value->id] = IR_KEEP_PLANNED;
      prepared->kept_bytes += bytes;
    }
  else
    prepared->spill[value->id] = TRUE;
}

static double
cost_of (const IrScheduleItem *item)
{
  return item->end_ms - item->start_ms;
}

/* What it costs to have the outputs of a node again, from what is kept before it. */
static double
cost_from_kept (const double *costs, const IrScheduleItem *item)
{
  double cost = cost_of (item);

  for (guint i = 0; i < item->n_after; i++)
    cost += costs[item->after[i]];
  return cost;
}

static void
choose_checkpoints (Planner *planner)
{
  const IrPrepared *prepared = planner->prepared;
  const GArray *items = prepared->schedule->items;
  g_autofree double *costs = g_new0 (double, prepared->n_nodes + 1);
  double total = 0;

  for (guint i = 0; i < items->len; i++)
    total += cost_of (&g_array_index (items, IrScheduleItem, i));
  for (guint i = 0; i < items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (items, IrScheduleItem, i);
      const IrNode *node = ir_model_node (prepared->model, item->node);
      costs[node->id] = cost_from_kept (costs, item);
      if (costs[node->id] <= total / CHECKPOINT_PARTS)
        continue;
      costs[node->id] = 0;
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          planner->wanted[node->outputs[k]->id] = TRUE;
    }
}

static void
want (Planner *planner, const IrRunOptions *options)
{
  guint n = planner->prepared->n_values;

  switch (options->capture)
    {
    case IR_CAPTURE_ALL:
      for (guint id = 1; id < n; id++)
        planner->wanted[id] = ir_model_live_value (planner->prepared->model, id) != NULL;
      break;
    case IR_CAPTURE_CHOSEN:
      for (guint i = 0; options->chosen != NULL && i < options->chosen->len; i++)
        if (g_array_index (options->chosen, IrValueId, i) < n)
          planner->wanted[g_array_index (options->chosen, IrValueId, i)] = TRUE;
      break;
    case IR_CAPTURE_CHECKPOINTS:
      choose_checkpoints (planner);
      break;
    case IR_CAPTURE_NONE:
    case IR_CAPTURE_STATS:
      break;
    }
}

/**
 * ir_capture_plan:
 * @prepared: a plan with schedule and places; gets keep, spill and kept_bytes
 * @options: of its runs
 *
 * Outputs of the graph are always kept in memory; what has no producer is there anyway.
 */
void
ir_capture_plan (IrPrepared *prepared, const IrRunOptions *options)
{
  g_autofree guint8 *wanted = g_new0 (guint8, prepared->n_values + 1);
  const IrGraph *graph = prepared->model->main;
  const GArray *items = prepared->schedule->items;
  Planner planner = { prepared, ir_capture_budget (options), wanted };

  prepared->keep = g_new0 (guint8, prepared->n_values + 1);
  prepared->spill = g_new0 (guint8, prepared->n_values + 1);
  prepared->kept_bytes = 0;
  want (&planner, options);
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (ir_graph_output (graph, i) != NULL)
      {
        plan_value (&planner, ir_graph_output (graph, i), TRUE);
        wanted[ir_graph_output (graph, i)->id] = FALSE;
      }
  for (guint i = 0; i < items->len; i++)
    {
      const IrNode *node = ir_model_node (prepared->model,
                                          g_array_index (items, IrScheduleItem, i).node);
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL && wanted[node->outputs[k]->id])
          {
            plan_value (&planner, node->outputs[k], FALSE);
            wanted[node->outputs[k]->id] = FALSE;
          }
    }
  for (guint id = 1; id < prepared->n_values; id++) /* sources, and what lies in bodies */
    if (wanted[id])
      {
        const IrValue *value = ir_model_live_value (prepared->model, id);
        if (value != NULL)
          plan_value (&planner, value, FALSE);
      }
}
