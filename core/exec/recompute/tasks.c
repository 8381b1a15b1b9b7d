/* The problem of computing values again, made of a graph and its schedule. A view is no value of
 * its own here: it has the bytes of what it looks at, and is there when that is. */
#include "config.h"

#include "core/exec/kernel/nchwc.h"
#include "core/exec/kernel/backend.h"
#include "core/exec/memory/place/place.h"
#include "core/exec/recompute/recompute.h"
#include "core/exec/memory/ranges.h"
#include "core/op/infer.h"

typedef struct
{
  IrRecomputeGraph *out;
  const IrGraph *graph;
  const IrSchedule *schedule;
  const IrMemOptions *options;
  gboolean separate;
  GHashTable *value_of; /* value id -> index + 1 */
  GHashTable *task_of;  /* node id -> index + 1 */
  GArray *sizes;        /* of guint64 */
  guint64 sum;          /* of these */
  GPtrArray *reads;     /* of GArray of guint, by task */
} Builder;

static guint
index_of (GHashTable *table, guint id)
{
  gpointer found = g_hash_table_lookup (table, GUINT_TO_POINTER (id));

  return found != NULL ? GPOINTER_TO_UINT (found) - 1 : IR_RECOMPUTE_NONE;
}

static gboolean
escapes (const IrGraph *graph, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    if (ir_use_node_in (graph, ir_value_use (value, i)) == NULL)
      return TRUE;
  return FALSE;
}

/* Bytes of @value in the arena; 0: it lies outside. */
static guint64
arena_bytes (Builder *builder, const IrNode *node, const IrValue *value)
{
  gsize size = 0;

  if (value->type == NULL || !ir_type_is_tensor (value->type) ||
      !ir_nchwc_bytes (value->type, ir_schedule_block (builder->schedule, value), &size) ||
      ir_value_constant (value) != NULL || ir_node_is_constant (node) ||
      escapes (builder->graph, value))
    return 0;
  if (!ir_mem_has_room (&builder->sum, size, builder->options->align_bytes))
    {
      builder->out->problem.n_too_large += size > 0;
      return 0;
    }
  return ir_mem_align (size, builder->options->align_bytes);
}

static gboolean
is_view (const Builder *builder, const IrNode *node, guint slot)
{
  const IrValue *input = ir_node_input (node, 0);

  return slot == 0 && node->op != NULL && (node->op->flags & IR_OP_VIEW) && input != NULL &&
         !builder->separate && ir_schedule_block (builder->schedule, input) == 0;
}

/* Every node that reads @value, itself or by its subgraphs, once. */
static void
add_readers (Builder *builder, const IrValue *value, guint index)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *reader = ir_use_node_in (builder->graph, ir_value_use (value, i));
      guint task = reader != NULL ? index_of (builder->task_of, reader->id) : IR_RECOMPUTE_NONE;
      if (task == IR_RECOMPUTE_NONE)
        continue;
      GArray *reads = g_ptr_array_index (builder->reads, task);
      gboolean known = FALSE;
      for (guint k = 0; k < reads->len; k++)
        known = known || g_array_index (reads, guint, k) == index;
      if (!known)
        g_array_append_val (reads, index);
    }
}

static void
add_value (Builder *builder, const IrNode *node, guint slot, GArray *writes)
{
  const IrValue *value = node->outputs[slot];
  guint64 size = arena_bytes (builder, node, value);
  guint index;

  if (size == 0)
    return;
  if (is_view (builder, node, slot))
    {
      index = index_of (builder->value_of, ir_node_input (node, 0)->id);
      if (index == IR_RECOMPUTE_NONE)
        return; /* a view of what lies outside */
    }
  else
    {
      index = builder->sizes->len;
      g_array_append_val (builder->sizes, size);
      g_array_append_val (builder->out->values, value->id);
      g_array_append_val (writes, index);
    }
  g_hash_table_insert (builder->value_of, GUINT_TO_POINTER (value->id),
                       GUINT_TO_POINTER (index + 1));
  add_readers (builder, value, index);
}

static void
find_overwritable (const Builder *builder,
                   const IrNode *node,
                   const IrScheduleItem *item,
                   IrRecomputeTask *task)
{
  const IrValue *output = node->n_outputs > 0 ? node->outputs[0] : NULL;
  guint n = 0;

  task->over[0] = task->over[1] = IR_RECOMPUTE_NONE;
  if (builder->separate || node->op == NULL || output == NULL || task->n_writes == 0 ||
      index_of (builder->value_of, output->id) != task->writes[0])
    return;
  for (guint slot = 0; slot < node->n_inputs && n < G_N_ELEMENTS (task->over); slot++)
    {
      const IrValue *input = node->inputs[slot];
      guint index = input != NULL ? index_of (builder->value_of, input->id) : IR_RECOMPUTE_NONE;
      gsize size = 0, input_size = 0;
      guint block = ir_schedule_block (builder->schedule, output);
      gboolean again = FALSE;
      if (index == IR_RECOMPUTE_NONE || !ir_schedule_item_overwrites (item, node, slot) ||
          input->type == NULL || ir_schedule_block (builder->schedule, input) != block ||
          (slot > 0 && input->type->dtype != output->type->dtype) ||
          !ir_nchwc_bytes (output->type, block, &size) ||
          !ir_nchwc_bytes (input->type, block, &input_size) || size != input_size)
        continue;
      for (guint i = 0; i < node->n_inputs; i++)
        again = again || (i != slot && node->inputs[i] != NULL &&
                          index_of (builder->value_of, node->inputs[i]->id) == index);
      if (!again)
        task->over[n++] = index;
    }
}

static void
add_range (GArray *ranges, guint part, guint whole, guint64 at)
{
  IrRecomputeRange range = { part, whole, at };

  if (part != IR_RECOMPUTE_NONE && whole != IR_RECOMPUTE_NONE && part != whole)
    g_array_append_val (ranges, range);
}

/* What Concat joins, and what Split and Slice cut out, where it is one range of the whole. */
static void
find_ranges (const Builder *builder, const IrNode *node, GArray *ranges)
{
  const IrValue *output = ir_node_output (node, 0), *input = ir_node_input (node, 0);

  if (builder->separate || !ir_slice_is_possible (node))
    return;
  g_autofree guint64 *joined = ir_slices_of_whole (builder->schedule, node);
  g_autofree guint64 *cut = ir_slices_of_input (builder->schedule, node);
  for (guint slot = 0; slot < node->n_inputs; slot++)
    if (joined[slot] != IR_SLICE_NOWHERE)
      add_range (ranges, index_of (builder->value_of, node->inputs[slot]->id),
                 index_of (builder->value_of, output->id), joined[slot]);
  for (guint slot = 0; slot < node->n_outputs; slot++)
    if (cut[slot] != IR_SLICE_NOWHERE)
      add_range (ranges, index_of (builder->value_of, node->outputs[slot]->id),
                 index_of (builder->value_of, input->id), cut[slot]);
}

static gboolean
must_run_once (const IrNode *node)
{
  return node->op == NULL ||
         (node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS | IR_OP_CONTAINERS)) != 0;
}

/* (transfer full) @array */
static gconstpointer
keep_array (Builder *builder, GArray *array, guint *n)
{
  *n = array->len;
  g_ptr_array_add (builder->out->memory, array);
  return array->data;
}

static void
make_tasks (Builder *builder, IrModel *model)
{
  IrRecomputeTask *tasks = g_new0 (IrRecomputeTask, builder->out->nodes->len + 1);

  builder->out->problem.tasks = tasks;
  builder->out->problem.n_tasks = builder->out->nodes->len;
  for (guint i = 0; i < builder->out->nodes->len; i++)
    {
      const IrNode *node = ir_model_node (model, g_array_index (builder->out->nodes, IrNodeId, i));
      GArray *writes = g_array_new (FALSE, FALSE, sizeof (guint));
      GArray *ranges = g_array_new (FALSE, FALSE, sizeof (IrRecomputeRange));
      gboolean partial = FALSE;
      for (guint slot = 0; slot < node->n_outputs; slot++)
        if (node->outputs[slot] != NULL)
          add_value (builder, node, slot, writes);
      tasks[i].writes = keep_array (builder, writes, &tasks[i].n_writes);
      tasks[i].flops = ir_cost_node_flops (node, &partial);
      tasks[i].once = must_run_once (node);
      find_ranges (builder, node, ranges);
      tasks[i].ranges = keep_array (builder, ranges, &tasks[i].n_ranges);
      find_overwritable (builder, node,
                         &g_array_index (builder->schedule->items, IrScheduleItem, i), &tasks[i]);
    }
  for (guint i = 0; i < builder->out->nodes->len; i++)
    tasks[i].reads = keep_array (builder, g_array_ref (g_ptr_array_index (builder->reads, i)),
                                 &tasks[i].n_reads);
}

/**
 * ir_recompute_graph_new:
 * @model: the model, with types
 * @schedule: order of the nodes of its main graph
 * @flags: as for ir_mem_plan_new_full()
 * @options: the alignment, to whose multiples sizes are rounded up, and what stops it
 *
 * Tasks are the nodes of the schedule; values are those that the memory plan would give bytes of
 * the arena. Nodes that draw random numbers, own subgraphs or give sequences run once.
 *
 * Returns: (transfer full) (nullable): the problem, and which nodes and values it speaks of; %NULL
 *   if it was cancelled
 */
IrRecomputeGraph *
ir_recompute_graph_new (IrModel *model,
                        const IrSchedule *schedule,
                        IrMemFlags flags,
                        const IrMemOptions *options)
{
  g_return_val_if_fail (model != NULL && schedule != NULL && options != NULL, NULL);
  g_return_val_if_fail (options->align_bytes > 0, NULL);
  g_autoptr (GHashTable) value_of = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) task_of = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) reads = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  IrRecomputeGraph *out = g_new0 (IrRecomputeGraph, 1);
  Builder builder = { .out = out,
                      .graph = model->main,
                      .schedule = schedule,
                      .options = options,
                      .separate = (flags & IR_MEM_SEPARATE) != 0,
                      .value_of = value_of,
                      .task_of = task_of,
                      .sizes = g_array_new (FALSE, FALSE, sizeof (guint64)),
                      .reads = reads };

  out->nodes = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  out->values = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  out->memory = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  for (guint i = 0; i < schedule->items->len; i++)
    {
      IrNodeId node = g_array_index (schedule->items, IrScheduleItem, i).node;
      g_array_append_val (out->nodes, node);
      g_hash_table_insert (task_of, GUINT_TO_POINTER (node), GUINT_TO_POINTER (i + 1));
      g_ptr_array_add (reads, g_array_new (FALSE, FALSE, sizeof (guint)));
    }
  make_tasks (&builder, model);
  out->problem.n_values = builder.sizes->len;
  out->problem.sizes = (const guint64 *) (const void *) builder.sizes->data;
  g_ptr_array_add (out->memory, builder.sizes);
  if (!ir_mem_stopped (options))
    return out;
  ir_recompute_graph_free (out);
  return NULL;
}

/**
 * ir_recompute_graph_free:
 * @graph: (transfer full) (nullable): a problem
 */
void
ir_recompute_graph_free (IrRecomputeGraph *graph)
{
  if (graph == NULL)
    return;
  g_free ((gpointer) graph->problem.tasks);
  g_array_unref (graph->nodes);
  g_array_unref (graph->values);
  g_ptr_array_unref (graph->memory);
  g_free (graph);
}
