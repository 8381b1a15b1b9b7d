/* The memory plan: where in one arena every intermediate value lies, and from which step to which.
 * Liveness comes from the schedule; values that share bytes (views, and kernels that may write over
 * their input) are one block that lives as long as any of them; blocks are placed greedily by size
 * (Pisarchyk and Lee 2020): the largest first, each into the smallest gap that is free over its
 * whole life. */
#include "config.h"

#include "core/exec/exec-private.h"
#include "core/exec/memplan-private.h"

/* -- what lives when -- */

typedef struct
{
  const IrGraph *graph;
  IrMemPlan *plan;
  GHashTable *step_of; /* node id -> step + 1 */
  GHashTable *item_of; /* value id -> index into plan->items, + 1 */
  GArray *block_of;    /* of guint, one per item: index into blocks, G_MAXUINT: none */
  GArray *blocks;      /* of IrMemBlock */
} Planner;

static guint
step_of (const Planner *planner, const IrNode *node)
{
  gpointer step = g_hash_table_lookup (planner->step_of, GUINT_TO_POINTER (node->id));

  return step != NULL ? GPOINTER_TO_UINT (step) - 1 : 0;
}

static IrMemItem *
find_item (const Planner *planner, const IrValue *value, guint *index)
{
  gpointer found = g_hash_table_lookup (planner->item_of, GUINT_TO_POINTER (value->id));

  if (found == NULL)
    return NULL;
  *index = GPOINTER_TO_UINT (found) - 1;
  return &g_array_index (planner->plan->items, IrMemItem, *index);
}

/* The last step that reads @value, and whether the value must outlive the run. */
static guint
last_use (const Planner *planner, const IrValue *value, guint first, gboolean *escapes)
{
  guint last = first;

  *escapes = FALSE;
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *node = ir_use_node_in (planner->graph, ir_value_use (value, i));
      if (node == NULL)
        *escapes = TRUE;
      else
        last = MAX (last, step_of (planner, node));
    }
  return last;
}

static void
add_item (Planner *planner, const IrMemItem *item, const IrValue *value, guint block)
{
  g_array_append_val (planner->plan->items, *item);
  g_array_append_val (planner->block_of, block);
  g_hash_table_insert (planner->item_of, GUINT_TO_POINTER (value->id),
                       GUINT_TO_POINTER (planner->plan->items->len));
}

static void
add_external (Planner *planner, const IrValue *value, guint first)
{
  IrMemItem item = { .value = value->id, .offset = IR_PLACE_EXTERNAL, .first = first };
  gboolean escapes;
  gsize size = 0;

  if (value->type != NULL && ir_type_n_bytes (value->type, &size))
    item.size = size;
  item.last = last_use (planner, value, first, &escapes);
  add_item (planner, &item, value, G_MAXUINT);
}

/* Whether a kernel may write @output over input 0, because nothing reads that again. */
static gboolean
may_overwrite (const Planner *planner, const IrNode *node, const IrMemItem *output, guint *index)
{
  const IrValue *input = ir_node_input (node, 0);
  IrMemItem *item = input != NULL ? find_item (planner, input, index) : NULL;

  if (item == NULL || !(node->op->flags & IR_OP_INPLACE) || item->size != output->size)
    return FALSE;
  guint block = g_array_index (planner->block_of, guint, *index);
  if (block == G_MAXUINT ||
      g_array_index (planner->blocks, IrMemBlock, block).last != output->first)
    return FALSE;
  for (guint slot = 1; slot < node->n_inputs; slot++)
    {
      const IrValue *other = node->inputs[slot];
      guint other_index;
      if (other != NULL && find_item (planner, other, &other_index) != NULL &&
          g_array_index (planner->block_of, guint, other_index) == block)
        return FALSE;
    }
  return TRUE;
}

static void
share_block (Planner *planner, IrMemItem *item, guint of, const IrValue *value)
{
  const IrMemItem *base = &g_array_index (planner->plan->items, IrMemItem, of);
  guint block = g_array_index (planner->block_of, guint, of);

  item->alias_of = base->alias_of != 0 ? base->alias_of : base->value;
  if (block != G_MAXUINT)
    {
      IrMemBlock *shared = &g_array_index (planner->blocks, IrMemBlock, block);
      shared->last = MAX (shared->last, item->last);
    }
  else
    item->offset = IR_PLACE_EXTERNAL;
  add_item (planner, item, value, block);
}

static void
add_output (Planner *planner, const IrNode *node, guint slot, guint step)
{
  const IrValue *value = node->outputs[slot];
  IrMemItem item = { .value = value->id, .first = step };
  gboolean escapes, sized;
  gsize size = 0;
  guint of;

  sized = value->type != NULL && ir_type_is_tensor (value->type) &&
          ir_type_n_bytes (value->type, &size);
  item.size = size;
  item.last = last_use (planner, value, step, &escapes);
  if (escapes || !sized || size == 0 || ir_value_constant (value) != NULL)
    {
      item.offset = IR_PLACE_EXTERNAL;
      add_item (planner, &item, value, G_MAXUINT);
      return;
    }
  const IrValue *input = ir_node_input (node, 0);
  if (slot == 0 && node->op != NULL && (node->op->flags & IR_OP_VIEW) && input != NULL &&
      find_item (planner, input, &of) != NULL)
    {
      share_block (planner, &item, of, value);
      return;
    }
  planner->plan->naive_bytes += ir_mem_align (size, planner->plan->align_bytes);
  if (slot == 0 && node->op != NULL && may_overwrite (planner, node, &item, &of))
    {
      share_block (planner, &item, of, value);
      return;
    }
  IrMemBlock block = { .size = size, .first = step, .last = item.last };
  guint index = planner->blocks->len;
  g_array_append_val (planner->blocks, block);
  add_item (planner, &item, value, index);
}

static void
collect (Planner *planner, const IrSchedule *schedule)
{
  IrModel *model = planner->graph->model;
  guint n_values;
  IrValue *const *values = ir_graph_values (planner->graph, &n_values);

  for (guint i = 0; i < schedule->items->len; i++)
    g_hash_table_insert (planner->step_of,
                         GUINT_TO_POINTER (g_array_index (schedule->items, IrScheduleItem, i).node),
                         GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < n_values; i++)
    if (values[i]->producer == NULL)
      add_external (planner, values[i], 0);
  for (guint step = 0; step < schedule->items->len; step++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, step);
      const IrNode *node = ir_model_node (model, item->node);
      for (guint slot = 0; node != NULL && slot < node->n_outputs; slot++)
        if (node->outputs[slot] != NULL)
          add_output (planner, node, slot, step);
    }
}

/**
 * ir_mem_plan_new:
 * @model: the model, with types
 * @schedule: (transfer none): order of the nodes of its main graph
 * @align_bytes: power of two, e.g. 64 for the vector units of a CPU
 *
 * Plans one arena for the intermediate values of the main graph. Graph inputs, graph outputs,
 * constants and values of unknown size are %IR_PLACE_EXTERNAL. Views share the bytes of their
 * input; where a kernel may work in place and nothing reads its input again, the output takes that
 * place.
 *
 * Source: Pisarchyk and Lee 2020. Cost: see ir_mem_blocks_place().
 *
 * Returns: (transfer full): the plan; free with ir_mem_plan_unref()
 */
IrMemPlan *
ir_mem_plan_new (IrModel *model, const IrSchedule *schedule, guint align_bytes)
{
  g_return_val_if_fail (model != NULL && schedule != NULL && align_bytes > 0, NULL);
  IrMemPlan *plan = g_new0 (IrMemPlan, 1);
  g_autoptr (GHashTable) steps = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) items = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) block_of = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GArray) blocks = g_array_new (FALSE, FALSE, sizeof (IrMemBlock));
  Planner planner = { model->main, plan, steps, items, block_of, blocks };

  g_atomic_ref_count_init (&plan->ref_count);
  plan->align_bytes = align_bytes;
  plan->items = g_array_new (FALSE, FALSE, sizeof (IrMemItem));
  collect (&planner, schedule);
  IrMemBlock *placed = (IrMemBlock *) (void *) blocks->data;
  plan->peak_bytes = ir_mem_blocks_place (placed, blocks->len, align_bytes);
  plan->lower_bound_bytes = ir_mem_blocks_lower_bound (placed, blocks->len, align_bytes);
  for (guint i = 0; i < plan->items->len; i++)
    {
      guint block = g_array_index (block_of, guint, i);
      if (block != G_MAXUINT)
        g_array_index (plan->items, IrMemItem, i).offset = placed[block].offset;
    }
  return plan;
}

/**
 * ir_mem_plan_ref:
 * @plan: a plan
 *
 * Returns: (transfer full): @plan
 */
IrMemPlan *
ir_mem_plan_ref (IrMemPlan *plan)
{
  g_atomic_ref_count_inc (&plan->ref_count);
  return plan;
}

/**
 * ir_mem_plan_unref:
 * @plan: (transfer full) (nullable): a plan
 */
void
ir_mem_plan_unref (IrMemPlan *plan)
{
  if (plan == NULL || !g_atomic_ref_count_dec (&plan->ref_count))
    return;
  g_array_unref (plan->items);
  g_free (plan);
}
