/* The schedule: which node runs when, by which kernel and why. Nodes run in the order of the graph;
 * the times are a prediction by a roofline model (Williams, Waterman and Patterson 2009: a node
 * takes the longer of its arithmetic and its memory traffic, plus a fixed overhead), laid out on
 * the workers by list scheduling with the longest path to the end as priority (Hu 1961). */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/schedule/schedule.h"
#include "core/ir/cycles.h"
#include "core/op/infer.h"

/* Orders of magnitude for one core of a current desktop; they shape the picture, and no test
 * compares them with measured time. */
#define REF_FLOPS_PER_MS  1e6  /* 1 GFLOP/s: double accumulation, one element at a time */
#define FAST_FLOPS_PER_MS 40e6 /* 40 GFLOP/s: vector kernels */
#define BYTES_PER_MS      8e6  /* 8 GB/s */

/* The node of @graph that a node at any depth stands in, or NULL if it is not inside @graph. */
static IrNode *
enclosing_node (const IrGraph *graph, IrNode *node)
{
  while (node != NULL && node->graph != graph)
    node = node->graph->kind == IR_GRAPH_SUBGRAPH
               ? ir_model_live_node (graph->model, node->graph->owner)
               : NULL;
  return node;
}

/**
 * ir_use_node_in:
 * @graph: a graph
 * @use: a use of one of its values
 *
 * Returns: (transfer none) (nullable): the node of @graph that makes the use, itself or by a
 *   subgraph that it owns; %NULL for a graph output of @graph
 */
IrNode *
ir_use_node_in (const IrGraph *graph, IrUse use)
{
  if (use.node != NULL)
    return enclosing_node (graph, use.node);
  if (use.graph == graph || use.graph->kind != IR_GRAPH_SUBGRAPH)
    return NULL;
  return enclosing_node (graph, ir_model_live_node (graph->model, use.graph->owner));
}

/* The nodes that one waits for. */
typedef struct
{
  const IrNode *node;
  GArray *ids;    /* of IrNodeId */
  IrNodeId *seen; /* by node id: the last node that was found to wait for it */
} Waiting;

static void
add_predecessor (Waiting *waiting, const IrNode *predecessor)
{
  if (predecessor == NULL || predecessor == waiting->node ||
      waiting->seen[predecessor->id] == waiting->node->id)
    return;
  waiting->seen[predecessor->id] = waiting->node->id;
  g_array_append_val (waiting->ids, predecessor->id);
}

/* Producers of what the subgraphs of @node take from @graph, at any depth. */
static void
add_captured (Waiting *waiting, const IrGraph *inner)
{
  const IrGraph *graph = waiting->node->graph;
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (inner, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    {
      ir_node_for_each_input (nodes[i], slot, value)
        {
          if (value->graph == graph)
            add_predecessor (waiting, value->producer);
        }
      g_autoptr (GPtrArray) deeper = ir_node_subgraphs (nodes[i]);
      for (guint j = 0; deeper != NULL && j < deeper->len; j++)
        add_captured (waiting, g_ptr_array_index (deeper, j));
    }
  for (guint i = 0; i < ir_graph_n_outputs (inner); i++)
    {
      const IrValue *output = ir_graph_output (inner, i);
      if (output != NULL && output->graph == graph)
        add_predecessor (waiting, output->producer);
    }
}

/* The nodes whose end @node waits for, in the order in which it names them. */
static GArray *
predecessors (const IrNode *node, IrNodeId *seen)
{
  Waiting waiting = { node, g_array_new (FALSE, FALSE, sizeof (IrNodeId)), seen };

  ir_node_for_each_input (node, slot, value)
    {
      if (value->graph == node->graph)
        add_predecessor (&waiting, value->producer);
    }
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);
  for (guint i = 0; subgraphs != NULL && i < subgraphs->len; i++)
    add_captured (&waiting, g_ptr_array_index (subgraphs, i));
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    add_predecessor (&waiting, ir_model_live_node (node->graph->model, node->controls->ids[i]));
  return waiting.ids;
}

static double
predicted_ms (const IrNode *node, gboolean fast)
{
  gboolean partial = FALSE;
  double flops = (double) ir_cost_node_flops (node, &partial);
  double bytes = (double) ir_cost_node_bytes (node, &partial);

  if (ir_node_is_constant (node) || (node->op != NULL && (node->op->flags & IR_OP_VIEW)))
    return IR_NODE_OVERHEAD_MS;
  return IR_NODE_OVERHEAD_MS +
         MAX (flops / (fast ? FAST_FLOPS_PER_MS : REF_FLOPS_PER_MS), bytes / BYTES_PER_MS);
}

static void
item_clear (gpointer data)
{
  IrScheduleItem *item = data;

  g_free ((gpointer) item->after);
}

static void
fill_item (IrScheduleItem *item, const IrNode *node, const IrKernelChoice *choice, IrNodeId *seen)
{
  item->node = node->id;
  item->device = choice->backend != NULL && choice->backend->memory != NULL ? choice->backend->name
                                                                            : "cpu";
  item->memory = choice->backend != NULL ? choice->backend->memory : NULL;
  item->kernel = choice->name;
  item->why = choice->why;
  for (guint slot = 0; slot < MIN (node->n_inputs, 64); slot++)
    {
      const IrInputTerms terms = ir_backend_input_terms (choice->backend, node, slot, FALSE);
      item->overwrites |= (guint64) (terms.overwritten != FALSE) << slot;
      item->there |= (guint64) (item->memory != NULL && terms.there) << slot;
    }
  g_autoptr (GArray) after = predecessors (node, seen);
  item->n_after = after->len;
  item->after = g_memdup2 (after->data, sizeof (IrNodeId) * after->len);
  item->end_ms = predicted_ms (node,
                               choice->backend != &ir_backend_ref); /* for now, the duration */
}

typedef struct
{
  guint item;
  double bottom_ms; /* longest path from the start of the node to the end of the run */
} Priority;

static int
compare_priority (gconstpointer a, gconstpointer b)
{
  const Priority *x = a, *y = b;

  if (x->bottom_ms != y->bottom_ms)
    return x->bottom_ms > y->bottom_ms ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static GHashTable *
index_by_node (const GArray *items)
{
  GHashTable *index = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < items->len; i++)
    g_hash_table_insert (index, GUINT_TO_POINTER (g_array_index (items, IrScheduleItem, i).node),
                         GUINT_TO_POINTER (i));
  return index;
}

/**
 * ir_schedule_place:
 * @schedule: a schedule whose items end after as many ms as they take
 *
 * Lays the items out on the workers. A node's bottom level is at least that of all that wait for
 * it, and these stand behind it, so descending bottom levels are a valid order to place nodes in.
 */
void
ir_schedule_place (IrSchedule *schedule)
{
  GArray *items = schedule->items;
  g_autoptr (GHashTable) index = index_by_node (items);

  schedule->makespan_ms = schedule->critical_path_ms = schedule->work_ms = 0;
  g_autofree Priority *order = g_new0 (Priority, items->len);
  g_autofree double *free_ms = g_new0 (double, schedule->n_workers);

  for (guint i = items->len; i-- > 0;)
    {
      const IrScheduleItem *item = &g_array_index (items, IrScheduleItem, i);
      order[i].item = i;
      order[i].bottom_ms += item->end_ms;
      schedule->work_ms += item->end_ms;
      schedule->critical_path_ms = MAX (schedule->critical_path_ms, order[i].bottom_ms);
      for (guint j = 0; j < item->n_after; j++)
        {
          guint before = GPOINTER_TO_UINT (
              g_hash_table_lookup (index, GUINT_TO_POINTER (item->after[j])));
          order[before].bottom_ms = MAX (order[before].bottom_ms, order[i].bottom_ms);
        }
    }
  if (items->len > 0)
    qsort (order, items->len, sizeof *order, compare_priority);
  for (guint k = 0; k < items->len; k++)
    {
      IrScheduleItem *item = &g_array_index (items, IrScheduleItem, order[k].item);
      double ready_ms = 0, duration_ms = item->end_ms;
      for (guint j = 0; j < item->n_after; j++)
        {
          guint before = GPOINTER_TO_UINT (
              g_hash_table_lookup (index, GUINT_TO_POINTER (item->after[j])));
          ready_ms = MAX (ready_ms, g_array_index (items, IrScheduleItem, before).end_ms);
        }
      /* The earliest start; among equals the worker that has waited least, to leave no gaps. */
      guint best = 0;
      for (guint w = 1; w < schedule->n_workers; w++)
        {
          double start = MAX (ready_ms, free_ms[w]), best_start = MAX (ready_ms, free_ms[best]);
          if (start < best_start || (start == best_start && free_ms[w] > free_ms[best]))
            best = w;
        }
      item->worker = best;
      item->start_ms = MAX (ready_ms, free_ms[best]);
      item->end_ms = item->start_ms + duration_ms;
      free_ms[best] = item->end_ms;
      schedule->makespan_ms = MAX (schedule->makespan_ms, item->end_ms);
    }
}

/* Lets the back end say which values it keeps in a layout of its own, and each node why. */
static void
plan_blocks (IrSchedule *schedule, IrModel *model)
{
  const IrBackend *backend = schedule->kernels->backend;

  if (backend->plan_blocks == NULL)
    return;
  schedule->n_blocks = model->values->len;
  schedule->blocks = g_new0 (guint8, schedule->n_blocks + 1);
  backend->plan_blocks (model->main, schedule->kernels, schedule->blocks);
  if (backend->explain_blocks == NULL) /* nobody asks why */
    return;
  for (guint i = 0; i < schedule->items->len; i++)
    {
      IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      const IrNode *node = ir_model_node (model, item->node);
      if (item->why != NULL)
        continue;
      item->candidates = backend->candidates != NULL ? backend->candidates (node) : NULL;
      item->choice = backend->explain_choice != NULL ? backend->explain_choice (node) : NULL;
      item->layout = backend->explain_blocks (node, schedule->blocks);
    }
}

/* Puts the nodes of the graphs in order, where there is one. */
static gboolean
order_nodes (IrModel *model, GError **error)
{
  ir_model_order (model);
  g_autofree char *message = ir_model_cycle_message (model);
  if (message == NULL)
    return TRUE;
  g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, message);
  return FALSE;
}

/**
 * ir_schedule_check:
 * @model: a model
 * @backend: which kernels are wanted
 * @error: return location for an error
 *
 * Fails as ir_schedule_new().
 *
 * Returns: whether that would give a schedule
 */
gboolean
ir_schedule_check (IrModel *model, const IrBackend *backend, GError **error)
{
  guint n_nodes;

  if (!order_nodes (model, error))
    return FALSE;
  IrNode *const *nodes = ir_graph_order (model->main, &n_nodes);
  for (guint i = 0; i < n_nodes; i++)
    {
      const IrBackend *chosen;
      IrKernelFunc kernel;
      const char *why;
      if (!ir_backend_choose (backend, nodes[i], &kernel, &chosen, &why, error))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_schedule_new:
 * @model: a model without cycles
 * @backend: which kernels are wanted
 * @n_workers: threads to lay the predicted times out on, at least 1
 * @error: return location for an error
 *
 * Orders the nodes of the main graph and predicts when each would run. The items stand in execution
 * order; subgraphs run inside the node that owns them.
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED at the first node that has no kernel, and with %IR_EXEC_ERROR_INPUT
 * on a cycle.
 *
 * Cost: O(nodes log nodes + edges · workers).
 *
 * Returns: (transfer full) (nullable): the schedule
 */
IrSchedule *
ir_schedule_new (IrModel *model, const IrBackend *backend, guint n_workers, GError **error)
{
  g_return_val_if_fail (model != NULL && backend != NULL, NULL);
  if (!order_nodes (model, error))
    return NULL;
  g_autoptr (IrKernels) kernels = ir_kernels_new (model, backend, error);
  return kernels != NULL ? ir_schedule_new_by (model, kernels, n_workers) : NULL;
}

/**
 * ir_schedule_new_by:
 * @model: a model without cycles, whose nodes have an order
 * @kernels: which kernels run its nodes
 * @n_workers: threads to lay the predicted times out on, at least 1
 *
 * As ir_schedule_new(), by kernels that have been chosen before.
 *
 * Returns: (transfer full): the schedule
 */
IrSchedule *
ir_schedule_new_by (IrModel *model, IrKernels *kernels, guint n_workers)
{
  IrSchedule *schedule = g_new0 (IrSchedule, 1);
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (model->main, &n_nodes);
  g_autofree IrNodeId *seen = g_new0 (IrNodeId, (gsize) model->nodes->len + 1);

  g_atomic_ref_count_init (&schedule->ref_count);
  schedule->kernels = ir_kernels_ref (kernels);
  schedule->n_workers = MAX (n_workers, 1);
  schedule->n_streams = 1;
  if (kernels->backend->memory != NULL)
    schedule->n_streams = kernels->backend->memory->n_streams ();
  schedule->items = g_array_sized_new (FALSE, TRUE, sizeof (IrScheduleItem), n_nodes);
  g_array_set_clear_func (schedule->items, item_clear);
  for (guint i = 0; i < n_nodes; i++)
    {
      IrScheduleItem item = { 0 };
      fill_item (&item, nodes[i], &kernels->rows[nodes[i]->id], seen);
      g_array_append_val (schedule->items, item);
    }
  plan_blocks (schedule, model);
  ir_schedule_place (schedule);
  return schedule;
}

/**
 * ir_schedule_ref:
 * @schedule: a schedule
 *
 * Returns: (transfer full): @schedule
 */
IrSchedule *
ir_schedule_ref (IrSchedule *schedule)
{
  g_atomic_ref_count_inc (&schedule->ref_count);
  return schedule;
}

/**
 * ir_schedule_copy:
 * @schedule: a schedule
 *
 * Returns: (transfer full): another one of the same contents
 */
IrSchedule *
ir_schedule_copy (const IrSchedule *schedule)
{
  IrSchedule *copy = g_memdup2 (schedule, sizeof *schedule);

  g_atomic_ref_count_init (&copy->ref_count);
  copy->items = g_array_copy (schedule->items);
  g_array_set_clear_func (copy->items, item_clear);
  for (guint i = 0; i < copy->items->len; i++)
    {
      IrScheduleItem *item = &g_array_index (copy->items, IrScheduleItem, i);
      item->after = g_memdup2 (item->after, sizeof *item->after * item->n_after);
    }
  copy->kernels = ir_kernels_ref (schedule->kernels);
  copy->spans = schedule->spans != NULL ? g_array_copy (schedule->spans) : NULL;
  copy->blocks = schedule->blocks != NULL ? g_memdup2 (schedule->blocks, schedule->n_blocks + 1)
                                          : NULL;
  return copy;
}

/**
 * ir_schedule_unref:
 * @schedule: (transfer full) (nullable): a schedule
 */
void
ir_schedule_unref (IrSchedule *schedule)
{
  if (schedule == NULL || !g_atomic_ref_count_dec (&schedule->ref_count))
    return;
  g_array_unref (schedule->items);
  g_clear_pointer (&schedule->spans, g_array_unref);
  g_free (schedule->blocks);
  ir_kernels_unref (schedule->kernels);
  g_free (schedule);
}

/**
 * ir_schedule_item_overwrites:
 * @item: (nullable): what a schedule has chosen for @node; %NULL: any kernel
 * @node: a node
 * @slot: one of its inputs
 *
 * Returns: whether the kernel reads each element of the input before it writes output 0 there
 */
gboolean
ir_schedule_item_overwrites (const IrScheduleItem *item, const IrNode *node, guint slot)
{
  if (item == NULL || slot >= 64)
    return ir_node_is_inplace (node, slot);
  return (item->overwrites >> slot & 1) != 0;
}

/**
 * ir_schedule_block:
 * @schedule: (nullable): a schedule; %NULL where a node runs without one
 * @value: a value of its model
 *
 * Returns: how many channels of @value stand together; 0: it is kept as the graph has it
 */
guint
ir_schedule_block (const IrSchedule *schedule, const IrValue *value)
{
  return schedule != NULL && schedule->blocks != NULL && value->id < schedule->n_blocks
             ? schedule->blocks[value->id]
             : 0;
}

/**
 * ir_schedule_kept_type:
 * @schedule: a schedule
 * @value: a value of its model
 *
 * Returns: (transfer none) (nullable): the type of the tensor that holds @value between the nodes:
 *   the value's own, or that of its blocks
 */
const IrType *
ir_schedule_kept_type (const IrSchedule *schedule, const IrValue *value)
{
  guint block = ir_schedule_block (schedule, value);
  const IrDim *dims;

  if (block == 0)
    return value->type;
  dims = value->type->dims;
  IrDim blocked[] = { dims[0], (dims[1] + block - 1) / block, dims[2], dims[3], block };
  return ir_type_tensor (value->graph->model->context, value->type->dtype, 5, blocked);
}
