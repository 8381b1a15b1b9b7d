/* The memory plan: where in one arena every intermediate value lies, and from which step to which.
 * Liveness comes from the schedule; values that share bytes (views, and kernels that may write over
 * their input) are one block that lives as long as any of them; memplan-place.c places the blocks.
 */
#include "config.h"

#include "core/exec/blocks.h"
#include "core/exec/exec-private.h"
#include "core/exec/memplan-private.h"

struct _IrMemDetails
{
  IrMemResult result;
  GArray *block_of; /* of guint, one per item: index into blocks, G_MAXUINT: none */
  GArray *blocks;   /* of IrMemBlock */
  GArray *owners;   /* of IrValueId, one per block: the value that it was made for */
};

/* -- what lives when -- */

typedef struct
{
  const IrGraph *graph;
  const IrSchedule *schedule; /* (nullable) */
  IrMemPlan *plan;
  GHashTable *step_of; /* node id -> step + 1 */
  GHashTable *item_of; /* value id -> index into plan->items, + 1 */
  GArray *block_of;    /* of guint, one per item: index into blocks, G_MAXUINT: none */
  GArray *blocks;      /* of IrMemBlock */
  GArray *owners;      /* of IrValueId, one per block */
  gboolean separate;
} Planner;

typedef enum
{
  REFUSAL_NONE,
  REFUSAL_EXTERNAL,
  REFUSAL_SIZE,
  REFUSAL_LAYOUT,
  REFUSAL_READ_LATER,
  REFUSAL_READ_TWICE,
  REFUSAL_BESIDE
} Refusal;

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

static guint
block_of (const Planner *planner, const IrValue *value)
{
  return planner->schedule != NULL ? ir_schedule_block (planner->schedule, value) : 0;
}

static void
add_external (Planner *planner, const IrValue *value, guint first)
{
  IrMemItem item = { .value = value->id, .offset = IR_PLACE_EXTERNAL, .first = first };
  gboolean escapes;
  gsize size = 0;

  if (value->type != NULL && ir_blocks_bytes (value->type, block_of (planner, value), &size))
    item.size = size;
  item.last = last_use (planner, value, first, &escapes);
  add_item (planner, &item, value, G_MAXUINT);
}

/* -- sharing bytes -- */

static const char *const refusals[] = {
  [REFUSAL_NONE] = "",
  [REFUSAL_EXTERNAL] = "lies outside the arena",
  [REFUSAL_SIZE] = "has another size or type",
  [REFUSAL_LAYOUT] = "is kept in another layout",
  [REFUSAL_READ_LATER] = "is still read later, itself or through a view",
  [REFUSAL_READ_TWICE] = "is read by another input of the same node, too",
  [REFUSAL_BESIDE] = "may be read by a node that runs beside this one",
};

/* The steps that run beside @step, itself included, or NULL where it runs alone. */
static const IrScheduleSpan *
span_of (const IrSchedule *schedule, guint step)
{
  const GArray *spans = schedule != NULL ? schedule->spans : NULL;
  guint low = 0, high = spans != NULL ? spans->len : 0;

  while (low < high)
    {
      guint middle = (low + high) / 2;
      const IrScheduleSpan *span = &g_array_index (spans, IrScheduleSpan, middle);
      if (step >= span->first && step <= span->last)
        return span;
      if (step < span->first)
        high = middle;
      else
        low = middle + 1;
    }
  return NULL;
}

/* Whether the output of @node may be written over its input @slot: element by element, over bytes
 * that nothing reads again. */
static Refusal
may_overwrite (
    const Planner *planner, const IrNode *node, guint slot, const IrMemItem *output, guint *index)
{
  const IrValue *input = ir_node_input (node, slot);
  IrMemItem *item = input != NULL ? find_item (planner, input, index) : NULL;

  if (item == NULL)
    return REFUSAL_EXTERNAL;
  guint block = g_array_index (planner->block_of, guint, *index);
  if (block == G_MAXUINT)
    return REFUSAL_EXTERNAL;
  /* Beyond the first input equal bytes may hide another number of elements, which are repeated. */
  if (item->size != output->size ||
      (slot > 0 && input->type->dtype != node->outputs[0]->type->dtype))
    return REFUSAL_SIZE;
  if (block_of (planner, input) != block_of (planner, node->outputs[0]))
    return REFUSAL_LAYOUT;
  if (g_array_index (planner->blocks, IrMemBlock, block).last != output->first)
    return REFUSAL_READ_LATER;
  if ((item->alias_of != 0 || input->n_uses > 1) &&
      span_of (planner->schedule, output->first) != NULL)
    return REFUSAL_BESIDE;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *other = node->inputs[i];
      guint other_index;
      if (i != slot && other != NULL && find_item (planner, other, &other_index) != NULL &&
          g_array_index (planner->block_of, guint, other_index) == block)
        return REFUSAL_READ_TWICE;
    }
  return REFUSAL_NONE;
}

/* How many inputs come into question: the flag promises it of the first; a kernel of two operands
 * reads both elements before it writes theirs. */
static guint
n_overwritable (const IrNode *node)
{
  const guint both = IR_OP_INPLACE | IR_OP_ELEMENTWISE;

  if (node->op == NULL || !(node->op->flags & IR_OP_INPLACE))
    return 0;
  return (node->op->flags & both) == both && node->n_inputs == 2 && node->n_outputs == 1 ? 2 : 1;
}

static gboolean
find_overwritable (const Planner *planner, const IrNode *node, const IrMemItem *item, guint *index)
{
  for (guint slot = 0; slot < n_overwritable (node) && slot < node->n_inputs; slot++)
    if (may_overwrite (planner, node, slot, item, index) == REFUSAL_NONE)
      return TRUE;
  return FALSE;
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
          ir_blocks_bytes (value->type, block_of (planner, value), &size);
  item.size = size;
  item.last = last_use (planner, value, step, &escapes);
  if (escapes || !sized || size == 0 || ir_value_constant (value) != NULL ||
      ir_node_is_constant (node))
    {
      item.offset = IR_PLACE_EXTERNAL;
      add_item (planner, &item, value, G_MAXUINT);
      return;
    }
  const IrValue *input = ir_node_input (node, 0);
  if (slot == 0 && node->op != NULL && (node->op->flags & IR_OP_VIEW) && input != NULL &&
      !planner->separate && find_item (planner, input, &of) != NULL &&
      block_of (planner, input) == 0)
    {
      share_block (planner, &item, of, value);
      return;
    }
  planner->plan->naive_bytes += ir_mem_align (size, planner->plan->align_bytes);
  if (slot == 0 && !planner->separate && find_overwritable (planner, node, &item, &of))
    {
      share_block (planner, &item, of, value);
      return;
    }
  IrMemBlock block = { .size = size, .first = step, .last = item.last };
  guint index = planner->blocks->len;
  g_array_append_val (planner->blocks, block);
  g_array_append_val (planner->owners, value->id);
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

/* Steps that run beside each other are one moment: what lives in one of them lives in all. */
static void
widen (const IrSchedule *schedule, guint *first, guint *last)
{
  const IrScheduleSpan *from = span_of (schedule, *first), *to = span_of (schedule, *last);

  *first = from != NULL ? from->first : *first;
  *last = to != NULL ? to->last : *last;
}

static void
widen_lives (Planner *planner, const IrSchedule *schedule)
{
  for (guint i = 0; i < planner->plan->items->len; i++)
    {
      IrMemItem *item = &g_array_index (planner->plan->items, IrMemItem, i);
      widen (schedule, &item->first, &item->last);
    }
  for (guint i = 0; i < planner->blocks->len; i++)
    {
      IrMemBlock *block = &g_array_index (planner->blocks, IrMemBlock, i);
      widen (schedule, &block->first, &block->last);
    }
}

static void
planner_init (Planner *planner, const IrGraph *graph, IrMemPlan *plan)
{
  *planner = (Planner){
    .graph = graph,
    .plan = plan,
    .step_of = g_hash_table_new (NULL, NULL),
    .item_of = g_hash_table_new (NULL, NULL),
    .block_of = g_array_new (FALSE, FALSE, sizeof (guint)),
    .blocks = g_array_new (FALSE, FALSE, sizeof (IrMemBlock)),
    .owners = g_array_new (FALSE, FALSE, sizeof (IrValueId)),
  };
}

/* What is worth keeping goes into the plan. */
static void
planner_finish (Planner *planner)
{
  struct _IrMemDetails *details = planner->plan->details;

  details->block_of = planner->block_of;
  details->blocks = planner->blocks;
  details->owners = planner->owners;
  g_hash_table_unref (planner->step_of);
  g_hash_table_unref (planner->item_of);
}

/**
 * ir_mem_plan_new_full:
 * @model: the model, with types
 * @schedule: (transfer none): order of the nodes of its main graph
 * @flags: what not to do
 * @options: alignment, e.g. 64 for the vector units of a CPU, and how hard to search
 *
 * Plans one arena for the intermediate values of the main graph. Graph inputs, graph outputs,
 * constants and values of unknown size are %IR_PLACE_EXTERNAL. Views share the bytes of their
 * input; where a kernel may work in place and nothing reads its input again, the output takes that
 * place.
 *
 * Cost: see ir_mem_place().
 *
 * Returns: (transfer full): the plan; free with ir_mem_plan_unref()
 */
IrMemPlan *
ir_mem_plan_new_full (IrModel *model,
                      const IrSchedule *schedule,
                      IrMemFlags flags,
                      const IrMemOptions *options)
{
  g_return_val_if_fail (model != NULL && schedule != NULL && options != NULL, NULL);
  g_return_val_if_fail (options->align_bytes > 0, NULL);
  IrMemPlan *plan = g_new0 (IrMemPlan, 1);
  Planner planner;

  g_atomic_ref_count_init (&plan->ref_count);
  plan->align_bytes = options->align_bytes;
  plan->items = g_array_new (FALSE, FALSE, sizeof (IrMemItem));
  plan->details = g_new0 (struct _IrMemDetails, 1);
  planner_init (&planner, model->main, plan);
  planner.schedule = schedule;
  planner.separate = (flags & IR_MEM_SEPARATE) != 0;
  collect (&planner, schedule);
  if (schedule->spans != NULL)
    widen_lives (&planner, schedule);
  IrMemBlock *blocks = (IrMemBlock *) (void *) planner.blocks->data;
  IrMemResult *result = &plan->details->result;
  ir_mem_place (blocks, planner.blocks->len, options, result);
  plan->peak_bytes = result->peak_bytes;
  plan->lower_bound_bytes = result->lower_bound_bytes;
  for (guint i = 0; i < plan->items->len; i++)
    {
      guint block = g_array_index (planner.block_of, guint, i);
      if (block != G_MAXUINT)
        g_array_index (plan->items, IrMemItem, i).offset = blocks[block].offset;
    }
  planner_finish (&planner);
  return plan;
}

/**
 * ir_mem_plan_new:
 * @model: the model, with types
 * @schedule: (transfer none): order of the nodes of its main graph
 * @align_bytes: power of two, e.g. 64 for the vector units of a CPU
 *
 * As ir_mem_plan_new_full(), with views, in place, and a short search where the greedy algorithms
 * miss the lower bound.
 *
 * Returns: (transfer full): the plan; free with ir_mem_plan_unref()
 */
IrMemPlan *
ir_mem_plan_new (IrModel *model, const IrSchedule *schedule, guint align_bytes)
{
  IrMemOptions options = { .align_bytes = align_bytes, .max_steps = IR_MEM_DEFAULT_STEPS };

  return ir_mem_plan_new_full (model, schedule, 0, &options);
}

/**
 * ir_mem_plan_result:
 * @plan: a plan
 *
 * Returns: (transfer none): what each algorithm reached
 */
const IrMemResult *
ir_mem_plan_result (const IrMemPlan *plan)
{
  return &plan->details->result;
}

/**
 * ir_mem_plan_blocks:
 * @plan: a plan
 * @n: (out): number of blocks
 *
 * Returns: (transfer none) (array length=n): the blocks of the arena; values that share bytes are
 *   one
 */
const IrMemBlock *
ir_mem_plan_blocks (const IrMemPlan *plan, guint *n)
{
  *n = plan->details->blocks->len;
  return (const IrMemBlock *) (const void *) plan->details->blocks->data;
}

/**
 * ir_mem_plan_block_value:
 * @plan: a plan
 * @block: index of a block
 *
 * Returns: the value that the block was made for
 */
IrValueId
ir_mem_plan_block_value (const IrMemPlan *plan, guint block)
{
  return g_array_index (plan->details->owners, IrValueId, block);
}

/* -- answers -- */

static void
explain_sharing (GString *text, const IrMemPlan *plan, const IrModel *model, guint index)
{
  const IrMemItem *item = &g_array_index (plan->items, IrMemItem, index);
  const IrNode *node = ir_model_value (model, item->value)->producer;
  Planner planner;

  if (item->alias_of != 0)
    {
      g_string_append_printf (text, "It shares the bytes of %s.\n",
                              ir_model_value (model, item->alias_of)->name);
      return;
    }
  if (node == NULL || n_overwritable (node) == 0)
    {
      g_string_append (text, "The kernel of its node cannot work in place.\n");
      return;
    }
  planner_init (&planner, model->main, (IrMemPlan *) plan);
  g_clear_pointer (&planner.block_of, g_array_unref);
  g_clear_pointer (&planner.blocks, g_array_unref);
  planner.block_of = g_array_ref (plan->details->block_of);
  planner.blocks = g_array_ref (plan->details->blocks);
  for (guint i = 0; i < plan->items->len; i++)
    g_hash_table_insert (planner.item_of,
                         GUINT_TO_POINTER (g_array_index (plan->items, IrMemItem, i).value),
                         GUINT_TO_POINTER (i + 1));
  for (guint slot = 0; slot < n_overwritable (node) && slot < node->n_inputs; slot++)
    {
      guint of;
      Refusal refusal = may_overwrite (&planner, node, slot, item, &of);
      if (node->inputs[slot] != NULL && refusal != REFUSAL_NONE)
        g_string_append_printf (text, "It cannot be written over %s, which %s.\n",
                                node->inputs[slot]->name, refusals[refusal]);
    }
  g_array_unref (planner.block_of);
  g_array_unref (planner.blocks);
  g_array_unref (planner.owners);
  g_hash_table_unref (planner.step_of);
  g_hash_table_unref (planner.item_of);
}

/* What lives at some step of the block's life, and would have to go for it to lie at 0. */
static void
explain_conflicts (GString *text, const IrMemPlan *plan, const IrModel *model, guint block)
{
  const GArray *blocks = plan->details->blocks;
  const IrMemBlock *mine = &g_array_index (blocks, IrMemBlock, block);
  guint n_others = 0;

  for (guint i = 0; i < blocks->len; i++)
    {
      const IrMemBlock *other = &g_array_index (blocks, IrMemBlock, i);
      if (i == block || other->last < mine->first || other->first > mine->last)
        continue;
      n_others++;
      g_string_append_printf (
          text, "  %s %s: steps %u to %u, bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT "\n",
          other->offset < mine->offset ? "below" : "above",
          ir_model_value (model, ir_mem_plan_block_value (plan, i))->name, other->first,
          other->last, other->offset, other->offset + other->size);
    }
  g_string_append_printf (text, "%u other blocks live at the same time%s\n", n_others,
                          n_others > 0 ? " (above)." : ".");
}

/**
 * ir_mem_plan_explain:
 * @plan: a plan
 * @model: the model that it is of
 * @value: one of its values
 *
 * Says where @value lies and for how long, what it shares bytes with or why it does not, and which
 * blocks live at the same time, so that it cannot have their bytes.
 *
 * Returns: (transfer full): lines of text
 */
char *
ir_mem_plan_explain (const IrMemPlan *plan, const IrModel *model, IrValueId value)
{
  GString *text = g_string_new (NULL);
  guint index = 0;

  while (index < plan->items->len && g_array_index (plan->items, IrMemItem, index).value != value)
    index++;
  if (index == plan->items->len)
    {
      g_string_append (text, "The plan does not know this value.\n");
      return g_string_free (text, FALSE);
    }
  const IrMemItem *item = &g_array_index (plan->items, IrMemItem, index);
  guint block = g_array_index (plan->details->block_of, guint, index);
  const char *name = ir_model_value (model, value)->name;
  if (block == G_MAXUINT)
    g_string_append_printf (text,
                            "%s lies outside the arena: it is an input, an output or a constant "
                            "of the graph, shares the bytes of one, or has no known size.\n",
                            name);
  else
    {
      g_string_append_printf (
          text, "%s: bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT ", steps %u to %u.\n", name,
          item->offset, item->offset + item->size, item->first, item->last);
      explain_sharing (text, plan, model, index);
      explain_conflicts (text, plan, model, block);
    }
  return g_string_free (text, FALSE);
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
  g_array_unref (plan->details->block_of);
  g_array_unref (plan->details->blocks);
  g_array_unref (plan->details->owners);
  g_free (plan->details);
  g_free (plan);
}
