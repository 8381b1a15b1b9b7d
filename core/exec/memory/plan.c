/* The memory plan: where in one arena every intermediate value lies, and from which step to which.
 * Liveness comes from the schedule; values that share bytes (share.c, sharing.c) are one block
 * that lives as long as any of them; place.c places the blocks.
 */
#include "config.h"

#include "core/exec/memory/planner.h"

/* -- what lives when -- */

static guint
step_of (const IrMemPlanner *planner, const IrNode *node)
{
  gpointer step = g_hash_table_lookup (planner->step_of, GUINT_TO_POINTER (node->id));

  return step != NULL ? GPOINTER_TO_UINT (step) - 1 : 0;
}

/* (nullable) Its item and the index of that; NULL: there is none yet */
IrMemItem *
ir_mem_planner_find (const IrMemPlanner *planner, const IrValue *value, guint *index)
{
  gpointer found = value != NULL
                       ? g_hash_table_lookup (planner->item_of, GUINT_TO_POINTER (value->id))
                       : NULL;

  if (found == NULL)
    return NULL;
  *index = GPOINTER_TO_UINT (found) - 1;
  return &g_array_index (planner->plan->items, IrMemItem, *index);
}

/* The last step that reads @value, and whether the value must outlive the run. */
static guint
last_use (const IrMemPlanner *planner, const IrValue *value, guint first, gboolean *escapes)
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

/* The item of the live range that has been added last */
void
ir_mem_planner_add (IrMemPlanner *planner, const IrMemItem *item, const IrValue *value)
{
  g_array_append_val (planner->plan->items, *item);
  g_hash_table_insert (planner->item_of, GUINT_TO_POINTER (value->id),
                       GUINT_TO_POINTER (planner->plan->items->len));
}

/* (nullable) The span that @step runs in; NULL: it runs alone */
const IrScheduleSpan *
ir_mem_span (const IrSchedule *schedule, guint step)
{
  guint low = 0, high = schedule->spans != NULL ? schedule->spans->len : 0;

  while (low < high)
    {
      guint middle = (low + high) / 2;
      const IrScheduleSpan *span = &g_array_index (schedule->spans, IrScheduleSpan, middle);
      if (step < span->first)
        high = middle;
      else if (step > span->last)
        low = middle + 1;
      else
        return span;
    }
  return NULL;
}

/* The last step that may begin before streams of a device have done with @item. */
static guint
end_in_streams (const IrMemPlanner *planner, const IrMemItem *item)
{
  const guint *until = planner->places->streams->until;
  const IrValue *value = ir_model_value (planner->graph->model, item->value);
  guint last = MAX (item->last, until[item->first]);

  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *node = ir_use_node_in (planner->graph, ir_value_use (value, i));
      if (node != NULL)
        last = MAX (last, until[step_of (planner, node)]);
    }
  return last;
}

/* When @item needs its bytes. Steps that run concurrently have no order: what lives in one of them
 * lives in all. */
IrLiveRange
ir_mem_planner_range (const IrMemPlanner *planner, const IrMemItem *item)
{
  if (planner->there)
    return (IrLiveRange){ .size = item->size,
                          .first = item->first,
                          .last = item->last,
                          .from = item->first,
                          .to = end_in_streams (planner, item) };
  const IrScheduleSpan *begin = ir_mem_span (planner->schedule, item->first),
                       *end = ir_mem_span (planner->schedule, item->last);

  return (IrLiveRange){ .size = item->size,
                        .first = item->first,
                        .last = item->last,
                        .from = begin != NULL ? begin->first : item->first,
                        .to = end != NULL ? end->last : item->last };
}

/* (nullable) What the schedule says of @node; @step_of: node id -> step + 1 */
const IrScheduleItem *
ir_mem_step (const IrSchedule *schedule, GHashTable *step_of, const IrNode *node)
{
  gsize step = GPOINTER_TO_SIZE (g_hash_table_lookup (step_of, GUINT_TO_POINTER (node->id)));

  return step > 0 && step <= schedule->items->len
             ? &g_array_index (schedule->items, IrScheduleItem, step - 1)
             : NULL;
}

/* Whether a stream of the device may still make or read @value while @node runs in another. */
static gboolean
is_used_in_streams (const IrMemPlanner *planner, const IrNode *node, const IrValue *value)
{
  const IrDeviceStreams *streams = planner->places->streams;
  guint step = step_of (planner, node);

  if (planner->places->values[value->id].late)
    return TRUE;
  if (value->producer != NULL && step_of (planner, value->producer) < step &&
      !ir_device_streams_ordered (streams, step_of (planner, value->producer), step))
    return TRUE;
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *reader = ir_use_node_in (planner->graph, ir_value_use (value, i));
      if (reader != NULL && reader != node && step_of (planner, reader) < step &&
          !ir_device_streams_ordered (streams, step_of (planner, reader), step))
        return TRUE;
    }
  return FALSE;
}

/* Whether another worker may read @value while @node runs */
gboolean
ir_mem_planner_concurrent (const IrMemPlanner *planner, const IrNode *node, const IrValue *value)
{
  if (planner->there)
    return is_used_in_streams (planner, node, value);
  const IrScheduleSpan *span = ir_mem_span (planner->schedule, step_of (planner, node));
  const GArray *items = planner->schedule->items;

  for (guint i = 0; span != NULL && i < value->n_uses; i++)
    {
      const IrNode *reader = ir_use_node_in (planner->graph, ir_value_use (value, i));
      guint step = reader != NULL ? step_of (planner, reader) : 0;
      if (reader != NULL && step >= span->first && step <= span->last &&
          g_array_index (items, IrScheduleItem, step).worker !=
              g_array_index (items, IrScheduleItem, step_of (planner, node)).worker)
        return TRUE;
    }
  return FALSE;
}

/* How many channels of @value stand together; 0: it is plain */
guint
ir_mem_planner_layout (const IrMemPlanner *planner, const IrValue *value)
{
  return ir_schedule_block (planner->schedule, value);
}

static void
add_external (IrMemPlanner *planner, const IrValue *value, guint first)
{
  IrMemItem item = { .value = value->id, .offset = IR_PLACE_EXTERNAL, .first = first };
  gboolean escapes;
  gsize size = 0;

  if (value->type != NULL &&
      ir_nchwc_bytes (value->type, ir_mem_planner_layout (planner, value), &size))
    item.size = size;
  item.last = last_use (planner, value, first, &escapes);
  ir_sharing_add_external (&planner->sharing);
  ir_mem_planner_add (planner, &item, value);
}

/* Where values are in two memories: whether @value is in the one that is planned, from when to when. */
static gboolean
find_stay (const IrMemPlanner *planner, const IrValue *value, IrMemItem *item)
{
  const IrValuePlaces *row = &planner->places->values[value->id];

  if (!planner->there && !row->made_there)
    return TRUE; /* as ever */
  item->first = planner->there ? row->first_there : row->first_here;
  item->last = planner->there ? row->last_there : row->last_here;
  return item->first <= item->last;
}

/* Whether @value is made in the memory that is planned; else it is copied there. */
static gboolean
is_made_in (const IrMemPlanner *planner, const IrValue *value)
{
  return planner->places == NULL || planner->places->values[value->id].made_there == planner->there;
}

/* Gives @item bytes of its own. */
static void
add_alone (IrMemPlanner *planner, const IrMemItem *item, const IrValue *value)
{
  IrLiveRange range = ir_mem_planner_range (planner, item);

  ir_sharing_add_alone (&planner->sharing, &range);
  ir_mem_planner_add (planner, item, value);
}

/* What is copied into the memory that is planned. Constants stay there for all runs. */
static void
add_copied (IrMemPlanner *planner, const IrScheduleCopy *copy)
{
  const IrValue *value = ir_model_value (planner->graph->model, copy->value);
  IrMemItem item = { .value = value->id, .size = copy->bytes };

  if (copy->to_host == planner->there || !find_stay (planner, value, &item))
    return;
  if (copy->once || copy->bytes == 0 || (!planner->there && ir_value_is_graph_output (value)) ||
      !ir_mem_has_room (&planner->sum, copy->bytes, planner->plan->align_bytes))
    {
      item.offset = IR_PLACE_EXTERNAL;
      ir_sharing_add_external (&planner->sharing);
      ir_mem_planner_add (planner, &item, value);
      return;
    }
  planner->plan->naive_bytes += ir_mem_align (copy->bytes, planner->plan->align_bytes);
  add_alone (planner, &item, value);
}

/* Copies before step @step, or behind it. */
static void
add_copies (IrMemPlanner *planner, guint step, gboolean behind)
{
  const GArray *copies = planner->places != NULL ? planner->places->copies : NULL;

  while (copies != NULL && planner->next_copy < copies->len)
    {
      const IrScheduleCopy *copy = &g_array_index (copies, IrScheduleCopy, planner->next_copy);
      if (copy->step != step || copy->behind != behind)
        return;
      add_copied (planner, copy);
      planner->next_copy++;
    }
}

static void
add_output (IrMemPlanner *planner, const IrNode *node, guint slot, guint step)
{
  const IrValue *value = node->outputs[slot];
  IrMemItem item = { .value = value->id, .first = step };
  gboolean escapes, sized;
  gsize size = 0;

  if (!is_made_in (planner, value))
    return;

  sized = value->type != NULL && ir_type_is_tensor (value->type) &&
          ir_nchwc_bytes (value->type, ir_mem_planner_layout (planner, value), &size);
  item.size = size;
  item.last = last_use (planner, value, step, &escapes);
  if (planner->there)
    {
      find_stay (planner, value, &item);
      escapes = FALSE;
    }
  sized = sized && !escapes && size > 0 && ir_value_constant (value) == NULL &&
          !ir_node_is_constant (node);
  if (sized && !ir_mem_has_room (&planner->sum, size, planner->plan->align_bytes))
    {
      planner->plan->n_too_large++;
      sized = FALSE;
    }
  if (!sized)
    {
      item.offset = IR_PLACE_EXTERNAL;
      ir_sharing_add_external (&planner->sharing);
      ir_mem_planner_add (planner, &item, value);
      return;
    }
  if (ir_mem_share_view (planner, node, slot, &item))
    return;
  planner->plan->naive_bytes += ir_mem_align (size, planner->plan->align_bytes);
  if (ir_mem_share_over (planner, node, slot, &item))
    return;
  add_alone (planner, &item, value);
}

/* FALSE: cancelled. */
static gboolean
collect (IrMemPlanner *planner)
{
  const IrSchedule *schedule = planner->schedule;
  IrModel *model = planner->graph->model;
  guint n_values;
  IrValue *const *values = ir_graph_values (planner->graph, &n_values);

  for (guint i = 0; i < schedule->items->len; i++)
    g_hash_table_insert (planner->step_of,
                         GUINT_TO_POINTER (g_array_index (schedule->items, IrScheduleItem, i).node),
                         GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < n_values; i++)
    if (values[i]->producer == NULL && !planner->there)
      add_external (planner, values[i], 0);
  for (guint step = 0; step < schedule->items->len; step++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, step);
      const IrNode *node = ir_model_node (model, item->node);
      add_copies (planner, step, FALSE);
      for (guint slot = 0; node != NULL && slot < node->n_outputs; slot++)
        if (ir_mem_stopped (planner->options))
          return FALSE;
        else if (node->outputs[slot] != NULL)
          add_output (planner, node, slot, step);
      if (node != NULL)
        ir_mem_share_parts (planner, node);
      add_copies (planner, step, TRUE);
    }
  return !ir_mem_stopped (planner->options);
}

/* -- from items to a plan -- */

static IrMemPlan *
plan_empty (const IrMemPlanner *planner, guint align_bytes)
{
  IrMemPlan *plan = g_new0 (IrMemPlan, 1);

  g_atomic_ref_count_init (&plan->ref_count);
  plan->align_bytes = align_bytes;
  plan->items = g_array_new (FALSE, FALSE, sizeof (IrMemItem));
  plan->details = g_new0 (struct _IrMemDetails, 1);
  plan->details->block_of = g_array_new (FALSE, FALSE, sizeof (guint));
  plan->details->owners = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  plan->details->refusals = g_array_new (FALSE, FALSE, sizeof (IrMemRefusal));
  plan->details->schedule = ir_schedule_ref ((IrSchedule *) planner->schedule);
  plan->details->step_of = g_hash_table_ref (planner->step_of);
  plan->details->item_of = g_hash_table_ref (planner->item_of);
  return plan;
}

static void
planner_init (IrMemPlanner *planner,
              const IrGraph *graph,
              const IrSchedule *schedule,
              const IrPlaces *places,
              gboolean there,
              const IrMemOptions *options)
{
  *planner = (IrMemPlanner){ .graph = graph,
                             .schedule = schedule,
                             .places = places,
                             .there = there,
                             .options = options,
                             .step_of = g_hash_table_new (NULL, NULL),
                             .item_of = g_hash_table_new (NULL, NULL) };
  planner->plan = plan_empty (planner, options->align_bytes);
  planner->plan->memory = there ? places->memory : NULL;
  planner->refusals = planner->plan->details->refusals;
  ir_sharing_init (&planner->sharing, options->align_bytes, options);
}

/* The plan is not freed: its caller owns it. */
static void
planner_clear (IrMemPlanner *planner)
{
  ir_sharing_clear (&planner->sharing);
  g_hash_table_unref (planner->step_of);
  g_hash_table_unref (planner->item_of);
  g_free (planner->cuts);
}

/* From live ranges to the items of the plan. */
static void
number_blocks (const IrMemPlanner *planner)
{
  struct _IrMemDetails *details = planner->plan->details;
  const GArray *items = planner->plan->items;
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint));

  details->blocks = ir_sharing_blocks (&planner->sharing, numbers);
  g_array_set_size (details->owners, details->blocks->len);
  for (guint i = 0; i < items->len; i++)
    {
      IrMemItem *item = &g_array_index (items, IrMemItem, i);
      guint64 at;
      guint root = ir_sharing_block_of (&planner->sharing, i, &at), block = IR_SHARING_NONE;
      if (root != IR_SHARING_NONE)
        {
          guint owner = ir_sharing_owner (&planner->sharing, root);
          IrValueId value = g_array_index (items, IrMemItem, owner).value;
          block = g_array_index (numbers, guint, root);
          g_array_index (details->owners, IrValueId, block) = value;
          item->offset = at;
          item->alias_of = value != item->value ? value : 0;
        }
      g_array_append_val (details->block_of, block);
    }
}

/* FALSE: cancelled. */
static gboolean
place (const IrMemPlanner *planner, const IrMemOptions *options)
{
  IrMemPlan *plan = planner->plan;
  IrMemResult *result = &plan->details->result;

  number_blocks (planner);
  IrMemBlock *blocks = (IrMemBlock *) (void *) plan->details->blocks->data;
  if (!ir_mem_place (blocks, plan->details->blocks->len, options, result))
    return FALSE;
  plan->peak_bytes = result->peak_bytes;
  plan->lower_bound_bytes = result->lower_bound_bytes;
  for (guint i = 0; i < plan->items->len; i++)
    {
      guint block = g_array_index (plan->details->block_of, guint, i);
      if (block != IR_SHARING_NONE)
        g_array_index (plan->items, IrMemItem, i).offset += blocks[block].offset;
    }
  return TRUE;
}

/* Plans once more with ranges of Split, Slice and Concat inside of one another. (nullable) The plan with the
 * lower peak; NULL: cancelled */
static IrMemPlan *
plan_slices (const IrMemPlanner *without, const IrMemOptions *options)
{
  IrMemPlanner planner;

  planner_init (&planner, without->graph, without->schedule, without->places, without->there,
                options);
  planner.slices = TRUE;
  g_autoptr (GArray) blocks = ir_sharing_blocks (&without->sharing, NULL);
  ir_mem_live_init (&planner.sharing.live, blocks, without->schedule->items->len,
                    options->align_bytes);
  g_autoptr (IrMemPlan) plan = planner.plan;
  gboolean done = collect (&planner) && place (&planner, options);
  gboolean low = plan->peak_bytes <= (guint64) planner.sharing.live.most;
  planner_clear (&planner);
  if (done && low)
    return g_steal_pointer (&plan);
  if (!done || !place (without, options))
    return NULL;
  return plan->peak_bytes <= without->plan->peak_bytes ? g_steal_pointer (&plan)
                                                       : ir_mem_plan_ref (without->plan);
}

/* The plan of one memory. (nullable) NULL: cancelled. */
static IrMemPlan *
plan_memory (IrModel *model,
             const IrSchedule *schedule,
             const IrPlaces *places,
             gboolean there,
             IrMemFlags flags,
             const IrMemOptions *options)
{
  IrMemPlanner planner;
  IrMemPlan *plan = NULL;

  planner_init (&planner, model->main, schedule, places, there, options);
  planner.separate = (flags & IR_MEM_SEPARATE) != 0;
  if (collect (&planner))
    {
      if (planner.n_slices > 0)
        plan = plan_slices (&planner, options);
      else if (place (&planner, options))
        plan = ir_mem_plan_ref (planner.plan);
    }
  ir_mem_plan_unref (planner.plan);
  planner_clear (&planner);
  return plan;
}

/**
 * ir_mem_plan_new_full:
 * @model: the model, with types
 * @schedule: (transfer none): order of the nodes of its main graph
 * @flags: what not to do
 * @options: alignment, e.g. 64 for the vector units of a CPU, how hard to search, and what stops it
 *
 * Plans one arena for the intermediate values of the main graph. Graph inputs, graph outputs,
 * constants, and values of unknown size or larger than any memory are %IR_PLACE_EXTERNAL. Views
 * share the bytes of their input, and so do ranges that Split and Slice cut out; where a kernel may
 * work in place and nothing reads its input again, the output takes that place; what Concat joins
 * lies in the whole from the beginning. Ranges are shared only where no more lives at once than
 * without. What lies in the memory of a back end has a plan of its own, which hangs on that of the
 * host's.
 *
 * Cost: see ir_mem_place().
 *
 * Returns: (transfer full) (nullable): the plan; free with ir_mem_plan_unref(); %NULL if it was
 *   cancelled
 */
IrMemPlan *
ir_mem_plan_new_full (IrModel *model,
                      const IrSchedule *schedule,
                      IrMemFlags flags,
                      const IrMemOptions *options)
{
  g_return_val_if_fail (model != NULL && schedule != NULL && options != NULL, NULL);
  g_return_val_if_fail (options->align_bytes > 0, NULL);
  g_autoptr (IrPlaces) places = ir_places_new (schedule, model, NULL);
  g_autoptr (IrMemPlan) plan = plan_memory (model, schedule, places, FALSE, flags, options);

  if (plan == NULL || places == NULL)
    return g_steal_pointer (&plan);
  IrMemOptions wider = *options;
  wider.align_bytes = MAX (options->align_bytes, places->memory->align_bytes);
  plan->there = plan_memory (model, schedule, places, TRUE, flags, &wider);
  return plan->there != NULL ? g_steal_pointer (&plan) : NULL;
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

/**
 * ir_mem_plan_schedule:
 * @plan: a plan
 *
 * Returns: (transfer none): the order that it is for
 */
const IrSchedule *
ir_mem_plan_schedule (const IrMemPlan *plan)
{
  return plan->details->schedule;
}

static int
compare_steps (gconstpointer a, gconstpointer b)
{
  const guint *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

/**
 * ir_mem_plan_readers:
 * @plan: a plan
 * @model: the model that it is of
 * @value: one of its values
 *
 * Returns: (transfer full): of guint, ascending: the steps whose nodes read @value, themselves or
 *   by their subgraphs
 */
GArray *
ir_mem_plan_readers (const IrMemPlan *plan, const IrModel *model, IrValueId value)
{
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (guint));
  const IrValue *read = ir_model_value (model, value);
  guint n = 0;

  for (guint i = 0; i < read->n_uses; i++)
    {
      const IrNode *node = ir_use_node_in (model->main, ir_value_use (read, i));
      gpointer found = node != NULL ? g_hash_table_lookup (plan->details->step_of,
                                                           GUINT_TO_POINTER (node->id))
                                    : NULL;
      guint step = GPOINTER_TO_UINT (found) - 1;
      if (found != NULL)
        g_array_append_val (steps, step);
    }
  g_array_sort (steps, compare_steps);
  for (guint i = 0; i < steps->len; i++)
    if (n == 0 || g_array_index (steps, guint, n - 1) != g_array_index (steps, guint, i))
      g_array_index (steps, guint, n++) = g_array_index (steps, guint, i);
  g_array_set_size (steps, n);
  return steps;
}

static guint64
offset_of (const IrMemPlan *plan, IrValueId value)
{
  gpointer found = g_hash_table_lookup (plan->details->item_of, GUINT_TO_POINTER (value));

  return found != NULL ? g_array_index (plan->items, IrMemItem, GPOINTER_TO_UINT (found) - 1).offset
                       : 0;
}

/**
 * ir_mem_plan_distance:
 * @plan: a plan
 * @from: a value of the arena, or 0
 * @to: a value that lies in it
 *
 * Returns: how many bytes behind the start of @from @to begins; 0 where there is no @from
 */
guint64
ir_mem_plan_distance (const IrMemPlan *plan, IrValueId from, IrValueId to)
{
  return from != 0 ? offset_of (plan, to) - offset_of (plan, from) : 0;
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
  ir_mem_plan_unref (plan->there);
  g_array_unref (plan->items);
  g_array_unref (plan->details->block_of);
  g_clear_pointer (&plan->details->blocks, g_array_unref);
  g_array_unref (plan->details->owners);
  g_array_unref (plan->details->refusals);
  ir_schedule_unref (plan->details->schedule);
  g_hash_table_unref (plan->details->step_of);
  g_hash_table_unref (plan->details->item_of);
  g_free (plan->details);
  g_free (plan);
}
