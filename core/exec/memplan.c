/* The memory plan: where in one arena every intermediate value lies, and from which step to which.
 * Liveness comes from the schedule; values that share bytes (views, and kernels that may write over
 * their input) are one block that lives as long as any of them; blocks are placed greedily by size
 * (Pisarchyk and Lee 2020): the largest first, each into the smallest gap that is free over its
 * whole life. */
#include "config.h"

#include "core/exec/exec-private.h"

static guint64
align_up (guint64 size, guint64 align)
{
  return (size + align - 1) / align * align;
}

/* -- placing blocks -- */

static int
compare_size (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrMemBlock *blocks = data;
  guint i = *(const guint *) a, j = *(const guint *) b;

  if (blocks[i].size != blocks[j].size)
    return blocks[i].size > blocks[j].size ? -1 : 1;
  guint life_i = blocks[i].last - blocks[i].first, life_j = blocks[j].last - blocks[j].first;
  if (life_i != life_j)
    return life_i > life_j ? -1 : 1;
  return i < j ? -1 : i > j;
}

/* The blocks already placed, found by when they live: time is cut into spans of some steps, each
 * with the list of blocks that touch it. Most blocks live for a few steps, so a query looks at few.
 */
#define SPAN_STEPS 64

typedef struct
{
  const IrMemBlock *blocks;
  GArray **spans; /* of guint, entries nullable */
  guint n_spans;
  guint *seen; /* by block: the last query that met it */
  guint n_queries;
  GArray *overlaps; /* of guint: what the last query found */
} Placed;

static void
placed_init (Placed *placed, const IrMemBlock *blocks, guint n)
{
  guint last = 0;

  for (guint i = 0; i < n; i++)
    last = MAX (last, blocks[i].last);
  *placed = (Placed){ .blocks = blocks, .n_spans = last / SPAN_STEPS + 1 };
  placed->spans = g_new0 (GArray *, placed->n_spans);
  placed->seen = g_new0 (guint, n + 1);
  placed->overlaps = g_array_new (FALSE, FALSE, sizeof (guint));
}

static void
placed_clear (Placed *placed)
{
  for (guint i = 0; i < placed->n_spans; i++)
    g_clear_pointer (&placed->spans[i], g_array_unref);
  g_free (placed->spans);
  g_free (placed->seen);
  g_array_unref (placed->overlaps);
}

static void
placed_add (Placed *placed, guint index)
{
  const IrMemBlock *block = &placed->blocks[index];

  for (guint i = block->first / SPAN_STEPS; i <= block->last / SPAN_STEPS; i++)
    {
      if (placed->spans[i] == NULL)
        placed->spans[i] = g_array_new (FALSE, FALSE, sizeof (guint));
      g_array_append_val (placed->spans[i], index);
    }
}

static int
compare_offset (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrMemBlock *blocks = data;
  guint i = *(const guint *) a, j = *(const guint *) b;

  if (blocks[i].offset != blocks[j].offset)
    return blocks[i].offset < blocks[j].offset ? -1 : 1;
  return i < j ? -1 : i > j;
}

/* Fills placed->overlaps with the blocks that live when @block does, by offset. */
static void
placed_query (Placed *placed, const IrMemBlock *block)
{
  g_array_set_size (placed->overlaps, 0);
  placed->n_queries++;
  for (guint i = block->first / SPAN_STEPS; i <= block->last / SPAN_STEPS; i++)
    for (guint k = 0; placed->spans[i] != NULL && k < placed->spans[i]->len; k++)
      {
        guint index = g_array_index (placed->spans[i], guint, k);
        const IrMemBlock *other = &placed->blocks[index];
        if (placed->seen[index] == placed->n_queries || other->last < block->first ||
            other->first > block->last)
          continue;
        placed->seen[index] = placed->n_queries;
        g_array_append_val (placed->overlaps, index);
      }
  g_array_sort_with_data (placed->overlaps, compare_offset, (gpointer) placed->blocks);
}

/* The smallest gap that fits among the blocks that live at the same time. */
static guint64
find_gap (Placed *placed, const IrMemBlock *block, guint64 align)
{
  guint64 need = align_up (block->size, align), end = 0;
  guint64 best = G_MAXUINT64, best_gap = G_MAXUINT64;

  placed_query (placed, block);
  for (guint i = 0; i < placed->overlaps->len; i++)
    {
      const IrMemBlock *other = &placed->blocks[g_array_index (placed->overlaps, guint, i)];
      if (other->offset > end && other->offset - end >= need && other->offset - end < best_gap)
        {
          best = end;
          best_gap = other->offset - end;
        }
      end = MAX (end, other->offset + align_up (other->size, align));
    }
  return best != G_MAXUINT64 ? best : end;
}

/**
 * ir_mem_blocks_place:
 * @blocks: (inout) (array length=n): sizes in bytes and inclusive lifetimes; gets the offsets
 * @n: number of blocks
 * @align_bytes: offsets are multiples of this
 *
 * Places blocks so that no two that live at the same step overlap.
 *
 * Source: Pisarchyk and Lee 2020, greedy by size. Cost: O(n · blocks that live near in time).
 *
 * Returns: end of the highest block, in bytes
 */
guint64
ir_mem_blocks_place (IrMemBlock *blocks, guint n, guint64 align_bytes)
{
  g_autofree guint *order = g_new (guint, n);
  guint64 peak = 0;
  Placed placed;

  placed_init (&placed, blocks, n);
  for (guint i = 0; i < n; i++)
    order[i] = i;
  if (n > 0)
    g_qsort_with_data (order, (gint) n, sizeof *order, compare_size, blocks);
  for (guint i = 0; i < n; i++)
    {
      IrMemBlock *block = &blocks[order[i]];
      block->offset = find_gap (&placed, block, align_bytes);
      placed_add (&placed, order[i]);
      peak = MAX (peak, block->offset + align_up (block->size, align_bytes));
    }
  placed_clear (&placed);
  return peak;
}

/**
 * ir_mem_blocks_lower_bound:
 * @blocks: (array length=n): sizes and lifetimes
 * @n: number of blocks
 * @align_bytes: sizes are rounded up to multiples of this
 *
 * Returns: the most bytes that live at one step: no placement can need less
 */
guint64
ir_mem_blocks_lower_bound (const IrMemBlock *blocks, guint n, guint64 align_bytes)
{
  guint n_steps = 0;
  guint64 live = 0, most = 0;

  for (guint i = 0; i < n; i++)
    n_steps = MAX (n_steps, blocks[i].last + 1);
  g_autofree guint64 *born = g_new0 (guint64, n_steps + 1), *died = g_new0 (guint64, n_steps + 1);
  for (guint i = 0; i < n; i++)
    {
      born[blocks[i].first] += align_up (blocks[i].size, align_bytes);
      died[blocks[i].last + 1] += align_up (blocks[i].size, align_bytes);
    }
  for (guint step = 0; step < n_steps; step++)
    {
      live += born[step] - died[step];
      most = MAX (most, live);
    }
  return most;
}

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
  planner->plan->naive_bytes += align_up (size, planner->plan->align_bytes);
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
