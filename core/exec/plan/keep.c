/* Which values a run keeps, and where: decided before it, from the policy, the sizes that are known
 * and the budget. Values are taken in the order of the schedule; one that no longer fits lies in
 * the arena as if nobody wanted it and is written to a file when it is computed, so that memory
 * holds the arena and the budget, whatever the model.
 *
 * What lies in another value costs nothing beside it, and takes all of its memory at once.
 *
 * Checkpoints: a value is kept if computing it from values kept before would cost more than a
 * small part of the run. Each other one is then that near to kept ones. */
#include "config.h"

#include "core/exec/plan/plan.h"

#define CHECKPOINT_PARTS 32 /* a value that is not kept costs at most about a run / this */

typedef struct
{
  IrPrepared *prepared;
  guint64 budget; /* bytes */
  guint8 *wanted; /* by value id */
  guint8 *taken;  /* by value id: its memory is counted in kept_bytes */
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

  return ir_step_is_plain (type) && ir_type_n_bytes (type, bytes);
}

/* Bytes that keeping @value takes beside what is kept already. Where that of which it is a part
 * does not fit, it gets memory of its own. */
static guint64
find_room (Planner *planner, const IrValue *value, gsize bytes, IrValueId *root)
{
  IrPrepared *prepared = planner->prepared;
  guint64 at;
  gsize all = 0;

  *root = ir_capture_root (prepared, value->id, &at);
  if (planner->taken[*root])
    return 0;
  if (*root == value->id || !size_of (planner, ir_model_value (prepared->model, *root), &all))
    return bytes;
  if (prepared->kept_bytes + all <= planner->budget ||
      ir_value_is_graph_output (ir_model_value (prepared->model, *root)))
    return all; /* outputs are kept in any case */
  prepared->values[value->id].within.of = 0;
  *root = value->id;
  return bytes;
}

static void
plan_value (Planner *planner, const IrValue *value, gboolean is_output)
{
  IrPrepared *prepared = planner->prepared;
  IrValueId root = value->id;
  gsize bytes = 0;

  if (value->graph != prepared->model->main ||
      (value->producer != NULL && ir_value_constant (value) == NULL &&
       !size_of (planner, value, &bytes)))
    {
      prepared->values[value->id].keep = IR_KEEP_OPEN;
      return;
    }
  guint64 room = find_room (planner, value, bytes, &root);
  if (is_output || prepared->kept_bytes + room <= planner->budget)
    {
      prepared->values[value->id].keep = IR_KEEP_PLANNED;
      prepared->kept_bytes += room;
      planner->taken[root] = TRUE;
    }
  else
    prepared->values[value->id].spill = TRUE;
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

/* Whether all that @node reads is the same in every run, and so is what it gives. */
static gboolean
is_constant_node (const Planner *planner, const IrNode *node)
{
  const IrPlanValue *values = planner->prepared->values;
  gsize bytes;

  if (node->op == NULL || (node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS | IR_OP_VIEW)) ||
      ir_prepared_is_control (planner->prepared, node) ||
      ir_prepared_choice (planner->prepared, node)->backend->memory != NULL || node->n_inputs == 0)
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && ir_value_constant (node->inputs[i]) == NULL &&
        !values[node->inputs[i]->id].constant)
      return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL &&
        (!planner->wanted[node->outputs[i]->id] || ir_value_is_graph_output (node->outputs[i]) ||
         !size_of (planner, node->outputs[i], &bytes)))
      return FALSE;
  return TRUE;
}

/* What of the wanted values can lie in another one: made by each run, and of a known size. Views of
 * what the run is given, and of what is the same in every run, lie there. */
static void
share (Planner *planner, const GArray *items)
{
  IrPrepared *prepared = planner->prepared;
  const IrGraph *graph = prepared->model->main;
  g_autofree guint8 *eligible = g_memdup2 (planner->wanted, prepared->n_values + 1),
                    *given = g_new0 (guint8, prepared->n_values + 1);

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (ir_graph_output (graph, i) != NULL)
      eligible[ir_graph_output (graph, i)->id] = TRUE;
  for (guint id = 1; id < prepared->n_values; id++)
    {
      const IrValue *value = ir_model_live_value (prepared->model, id);
      given[id] = value != NULL && (value->producer == NULL || ir_value_constant (value) != NULL);
      eligible[id] = eligible[id] && value != NULL && value->graph == graph && !given[id];
    }
  for (guint i = 0; i < items->len; i++)
    {
      const IrNode *node = ir_model_node (prepared->model,
                                          g_array_index (items, IrScheduleItem, i).node);
      gboolean constant = is_constant_node (planner, node);
      if (ir_step_is_view (prepared, node) && given[node->inputs[0]->id])
        given[node->outputs[0]->id] = TRUE;
      for (guint k = 0; k < node->n_outputs; k++)
        {
          const IrValue *value = node->outputs[k];
          gsize bytes = 0;
          if (value != NULL && constant)
            given[value->id] = prepared->values[value->id].constant = TRUE;
          if (value != NULL)
            eligible[value->id] = eligible[value->id] && !given[value->id] &&
                                  size_of (planner, value, &bytes) && bytes > 0;
        }
    }
  ir_capture_share (prepared, eligible);
}

/**
 * ir_capture_plan:
 * @prepared: a plan with schedule and places; gets keep, spill, within, constant and kept_bytes
 * @options: of its runs
 *
 * Outputs of the graph are always kept in memory; what has no producer is there anyway.
 */
void
ir_capture_plan (IrPrepared *prepared, const IrRunOptions *options)
{
  g_autofree guint8 *wanted = g_new0 (guint8, prepared->n_values + 1),
                    *taken = g_new0 (guint8, prepared->n_values + 1);
  const IrGraph *graph = prepared->model->main;
  const GArray *items = prepared->schedule->items;
  Planner planner = { prepared, ir_capture_budget (options), wanted, taken };

  for (IrValueId id = 0; id < prepared->n_values; id++)
    {
      IrPlanValue *row = &prepared->values[id];
      row->keep = IR_KEEP_NOT;
      row->spill = row->constant = FALSE;
    }
  prepared->kept_bytes = 0;
  want (&planner, options);
  share (&planner, items);
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
