/* Values that share bytes. A view lies where its input lies, and so does what Split and Slice cut
 * out in one piece; a kernel that works in place writes over its input; what is joined to one range
 * is written into its place in the whole from the beginning, so that Concat has nothing to do.
 *
 * A block that holds parts lives from the first that is made to the last use of all: bytes that
 * wait for their part are lost meanwhile. So a part joins only where no more lives at once than
 * without any sharing of this kind (planner->live.most). */
#include "config.h"

#include "core/exec/memory/planner.h"
#include "core/exec/memory/ranges.h"

/* -- where items lie -- */

/**
 * ir_mem_root_of:
 * @planner: a planner
 * @item: index of an item
 * @at: (out): bytes from the start of the block
 *
 * Blocks on the way are led past the one above them, so that asking often is cheap however deep
 * they are joined.
 *
 * Returns: the block that holds the item, all joining done; %IR_MEM_NO_BLOCK: none
 */
guint
ir_mem_root_of (const IrMemPlanner *planner, guint item, guint64 *at)
{
  guint block = g_array_index (planner->block_of, guint, item);

  *at = g_array_index (planner->at_of, guint64, item);
  while (block != IR_MEM_NO_BLOCK)
    {
      IrMemRange *range = &g_array_index (planner->ranges, IrMemRange, block);
      if (range->parent == IR_MEM_NO_BLOCK)
        break;
      const IrMemRange *above = &g_array_index (planner->ranges, IrMemRange, range->parent);
      if (above->parent != IR_MEM_NO_BLOCK)
        {
          range->at += above->at;
          range->parent = above->parent;
        }
      *at += range->at;
      block = range->parent;
    }
  return block;
}

static IrMemBlock *
block_at (const IrMemPlanner *planner, guint block)
{
  return &g_array_index (planner->blocks, IrMemBlock, block);
}

static IrMemItem *
item_at (const IrMemPlanner *planner, guint index)
{
  return &g_array_index (planner->plan->items, IrMemItem, index);
}

static IrMemRange *
range_at (const IrMemPlanner *planner, guint block)
{
  return &g_array_index (planner->ranges, IrMemRange, block);
}

/* Whether item @index has bytes among [@at, @at + @size) of block @root. */
static gboolean
overlaps (const IrMemPlanner *planner, guint index, guint root, guint64 at, guint64 size)
{
  guint64 own;

  return ir_mem_root_of (planner, index, &own) == root && own < at + size &&
         at < own + item_at (planner, index)->size;
}

static gboolean
read_beside (const IrMemPlanner *planner, const IrNode *node, const IrMemItem *item)
{
  return planner->schedule != NULL && planner->schedule->spans != NULL &&
         ir_mem_planner_beside (planner, node, ir_model_value (planner->graph->model, item->value));
}

typedef struct
{
  const IrMemPlanner *planner;
  const IrNode *node;
  guint now, step; /* of the node; the first of those beside it */
  Refusal found;
} Reading;

/* Items that no later step reads can be in nobody's way. */
static IrMemSpotVerdict
look_at_reader (guint index, gpointer data)
{
  Reading *reading = data;
  const IrMemItem *item = item_at (reading->planner, index);

  if (item->last < reading->step)
    return IR_MEM_SPOT_GOES;
  if (item->first > reading->now)
    return IR_MEM_SPOT_STAYS;
  if (item->last > reading->now)
    {
      reading->found = REFUSAL_READ_LATER;
      return IR_MEM_SPOT_ENOUGH;
    }
  if (read_beside (reading->planner, reading->node, item))
    reading->found = REFUSAL_BESIDE;
  return IR_MEM_SPOT_STAYS;
}

/* Why bytes of @root must stay as they are while @node runs. */
static Refusal
still_read (const IrMemPlanner *planner,
            guint root,
            guint64 at,
            guint64 size,
            const IrNode *node,
            guint now)
{
  Reading reading = { planner, node, now, now, REFUSAL_NONE };
  guint end = now;

  ir_mem_planner_widen (planner, &reading.step, &end);
  ir_mem_spots_visit (range_at (planner, root)->spots, at, size, look_at_reader, &reading);
  return reading.found;
}

/* Whether the caller wants the value to have bytes of its own. */
static gboolean
is_apart (const IrMemPlanner *planner, IrValueId value)
{
  const IrMemOptions *options = planner->options;

  return planner->separate || (options != NULL && options->apart != NULL &&
                               value < options->n_apart && options->apart[value] != 0);
}

/* -- in place -- */

/**
 * ir_mem_may_overwrite:
 * @planner: a planner that has come to @node
 * @node: a node
 * @slot: one of its inputs
 * @output: the item of its output 0
 * @index: (out): the item of the input
 *
 * Returns: whether the output may be written over the input: element by element, over bytes that
 *   nothing reads again
 */
Refusal
ir_mem_may_overwrite (const IrMemPlanner *planner,
                      const IrNode *node,
                      guint slot,
                      const IrMemItem *output,
                      guint *index)
{
  const IrValue *input = ir_node_input (node, slot);
  IrMemItem *item = input != NULL ? ir_mem_planner_find (planner, input, index) : NULL;
  guint64 at;

  if (item == NULL)
    return REFUSAL_EXTERNAL;
  guint root = ir_mem_root_of (planner, *index, &at);
  if (root == IR_MEM_NO_BLOCK)
    return REFUSAL_EXTERNAL;
  /* Beyond the first input equal bytes may hide another number of elements, which are repeated. */
  if (item->size != output->size ||
      (slot > 0 && input->type->dtype != node->outputs[0]->type->dtype))
    return REFUSAL_SIZE;
  if (ir_mem_planner_layout (planner, input) != ir_mem_planner_layout (planner, node->outputs[0]))
    return REFUSAL_LAYOUT;
  Refusal refusal = still_read (planner, root, at, item->size, node, output->first);
  if (refusal != REFUSAL_NONE)
    return refusal;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *other = node->inputs[i];
      guint other_index;
      if (i != slot && other != NULL &&
          ir_mem_planner_find (planner, other, &other_index) != NULL &&
          overlaps (planner, other_index, root, at, item->size))
        return REFUSAL_READ_TWICE;
    }
  return REFUSAL_NONE;
}

/**
 * ir_mem_is_overwritable:
 * @planner: a planner
 * @node: a node
 * @slot: one of its inputs
 *
 * Returns: whether the kernel that the schedule has chosen reads each element of the input before
 *   it writes output 0 there
 */
gboolean
ir_mem_is_overwritable (const IrMemPlanner *planner, const IrNode *node, guint slot)
{
  gsize step = GPOINTER_TO_SIZE (
      g_hash_table_lookup (planner->step_of, GUINT_TO_POINTER (node->id)));
  const IrScheduleItem *item = NULL;

  if (planner->schedule != NULL && step > 0 && step <= planner->schedule->items->len)
    item = &g_array_index (planner->schedule->items, IrScheduleItem, step - 1);
  return ir_schedule_item_overwrites (item, node, slot);
}

static void
lie_in (IrMemPlanner *planner, IrMemItem *item, guint of, guint64 at, const IrValue *value)
{
  const IrMemItem *base = item_at (planner, of);
  guint block = g_array_index (planner->block_of, guint, of);
  guint64 from;

  if (block != IR_MEM_NO_BLOCK)
    {
      guint first = item->first, last = item->last;
      ir_mem_planner_widen (planner, &first, &last);
      block = ir_mem_root_of (planner, of, &from);
      block_at (planner, block)->last = MAX (block_at (planner, block)->last, last);
      at += from;
    }
  else
    {
      item->alias_of = base->alias_of != 0 ? base->alias_of : base->value;
      item->offset = IR_PLACE_EXTERNAL;
    }
  ir_mem_planner_add (planner, item, value, block, at);
}

/**
 * ir_mem_share_over:
 * @planner: a planner that has come to @node
 * @node: a node
 * @slot: one of its outputs
 * @item: its item, not yet added
 *
 * Adds @item over an input of @node where that is allowed.
 *
 * Returns: whether it was
 */
gboolean
ir_mem_share_over (IrMemPlanner *planner, const IrNode *node, guint slot, IrMemItem *item)
{
  guint n = slot == 0 && !is_apart (planner, item->value) ? node->n_inputs : 0, of;

  for (guint input = 0; input < n; input++)
    if (ir_mem_is_overwritable (planner, node, input) &&
        ir_mem_may_overwrite (planner, node, input, item, &of) == REFUSAL_NONE)
      {
        item->over = item_at (planner, of)->value;
        lie_in (planner, item, of, 0, node->outputs[0]);
        return TRUE;
      }
  return FALSE;
}

static gint64
aligned (const IrMemPlanner *planner, guint64 size)
{
  return (gint64) ir_mem_align (size, planner->plan->align_bytes);
}

/* -- views, and what is cut out -- */

static void
note (IrMemPlanner *planner, IrValueId part, IrValueId whole, Refusal refusal)
{
  IrMemRefusal row = { part, whole, refusal };

  if (refusal != REFUSAL_NONE)
    g_array_append_val (planner->refusals, row);
}

/* A small part may keep a large whole. */
static Refusal
may_cut (IrMemPlanner *planner, const IrMemItem *item, guint of, guint64 at)
{
  guint64 from;
  guint root = ir_mem_root_of (planner, of, &from);

  if (root == IR_MEM_NO_BLOCK)
    return REFUSAL_EXTERNAL;
  if ((at + from) % planner->plan->align_bytes != 0)
    return REFUSAL_ALIGN;
  guint first = item->first, last = item->last, end = block_at (planner, root)->last;
  gint64 whole = aligned (planner, block_at (planner, root)->size);
  gint64 part = aligned (planner, item->size);
  ir_mem_planner_widen (planner, &first, &last);
  for (int sign = 1; sign >= -1; sign -= 2)
    {
      ir_mem_live_add (&planner->live, first, last, -sign * part);
      if (last > end)
        ir_mem_live_add (&planner->live, end + 1, last, sign * whole);
      if (sign > 0 && ir_mem_live_is_low (&planner->live, first, last))
        return REFUSAL_NONE;
    }
  return REFUSAL_PEAK;
}

/* Outputs of a node are asked for one after the other. */
static guint64
cut_at (IrMemPlanner *planner, const IrNode *node, guint slot)
{
  if (planner->cut_by != node->id)
    {
      g_free (planner->cuts);
      planner->cuts = ir_slices_of_input (planner->schedule, node);
      planner->cut_by = node->id;
    }
  return planner->cuts[slot];
}

static gboolean
share_cut (IrMemPlanner *planner, const IrNode *node, guint slot, IrMemItem *item)
{
  const IrValue *whole = ir_node_input (node, 0);
  guint64 at = ir_slice_is_possible (node) ? cut_at (planner, node, slot) : IR_SLICE_NOWHERE;
  guint of;

  if (at == IR_SLICE_NOWHERE || ir_mem_planner_find (planner, whole, &of) == NULL)
    return FALSE;
  planner->n_slices++;
  if (!planner->slices)
    return FALSE;
  Refusal refusal = may_cut (planner, item, of, at);
  note (planner, item->value, whole->id, refusal);
  if (refusal != REFUSAL_NONE)
    return FALSE;
  item->view_of = whole->id;
  planner->plan->naive_bytes += ir_mem_align (item->size, planner->plan->align_bytes);
  lie_in (planner, item, of, at, node->outputs[slot]);
  return TRUE;
}

/**
 * ir_mem_share_view:
 * @planner: a planner that has come to @node
 * @node: a node
 * @slot: one of its outputs
 * @item: its item, not yet added
 *
 * Adds @item among the bytes of input 0 where it has its contents, or a range of them.
 *
 * Returns: whether it has
 */
gboolean
ir_mem_share_view (IrMemPlanner *planner, const IrNode *node, guint slot, IrMemItem *item)
{
  const IrValue *input = ir_node_input (node, 0);
  guint of;

  if (is_apart (planner, item->value) || input == NULL || node->op == NULL)
    return FALSE;
  if (slot != 0 || !(node->op->flags & IR_OP_VIEW))
    return share_cut (planner, node, slot, item);
  if (ir_mem_planner_find (planner, input, &of) == NULL ||
      ir_mem_planner_layout (planner, input) != 0)
    return FALSE;
  item->view_of = input->id;
  lie_in (planner, item, of, 0, node->outputs[slot]);
  return TRUE;
}

/* -- what is joined -- */

typedef struct
{
  guint item, block, first;
  guint64 at;
} Part;

/* A block that has been made for nothing but the part can become a range of the whole. */
static Refusal
may_join (const IrMemPlanner *planner, const IrNode *node, guint slot, guint whole, Part *part)
{
  guint64 from;

  if (ir_mem_planner_find (planner, node->inputs[slot], &part->item) == NULL)
    return REFUSAL_EXTERNAL;
  if (part->at == IR_SLICE_NOWHERE || is_apart (planner, node->inputs[slot]->id))
    return REFUSAL_LAYOUT;
  part->block = ir_mem_root_of (planner, part->item, &from);
  if (part->block == IR_MEM_NO_BLOCK)
    return REFUSAL_EXTERNAL;
  if (part->at % planner->plan->align_bytes != 0)
    return REFUSAL_ALIGN;
  if (part->block == whole || from != 0 ||
      block_at (planner, part->block)->size != item_at (planner, part->item)->size)
    return REFUSAL_PART;
  part->first = block_at (planner, part->block)->first;
  return REFUSAL_NONE;
}

/* Latest first: those cost the fewest bytes that wait. */
static int
compare_parts (gconstpointer a, gconstpointer b)
{
  const Part *left = a, *right = b;

  return left->first != right->first ? (left->first < right->first ? 1 : -1)
                                     : (left->at > right->at) - (left->at < right->at);
}

/* The whole lives longer by what the part does, whose own bytes are no longer needed. */
static gboolean
is_worth (IrMemPlanner *planner, guint whole, guint part)
{
  const IrMemBlock *own = block_at (planner, part), *all = block_at (planner, whole);
  guint first = MIN (own->first, all->first), last = MAX (own->last, all->last);
  gint64 size = aligned (planner, all->size);

  for (int sign = 1; sign >= -1; sign -= 2)
    {
      ir_mem_live_add (&planner->live, own->first, own->last, -sign * aligned (planner, own->size));
      if (first < all->first)
        ir_mem_live_add (&planner->live, first, all->first - 1, sign * size);
      if (last > all->last)
        ir_mem_live_add (&planner->live, all->last + 1, last, sign * size);
      if (sign > 0 && ir_mem_live_is_low (&planner->live, first, last))
        return TRUE;
    }
  return FALSE;
}

static IrMemSpotVerdict
look_whether_over (guint index, gpointer data)
{
  const Reading *reading = data;

  return item_at (reading->planner, index)->last < reading->step ? IR_MEM_SPOT_GOES
                                                                 : IR_MEM_SPOT_STAYS;
}

/* @reading: of the node that joins. */
static void
join (IrMemPlanner *planner, guint whole, const Part *part, IrValueId owner, Reading *reading)
{
  IrMemBlock *all = block_at (planner, whole), *own = block_at (planner, part->block);
  IrMemRange *range = range_at (planner, part->block), *into = range_at (planner, whole);

  all->first = MIN (all->first, own->first);
  all->last = MAX (all->last, own->last);
  range->parent = whole;
  range->at = part->at;
  into->spots = ir_mem_spots_join (into->spots, g_steal_pointer (&range->spots), part->at,
                                   look_whether_over, reading);
  item_at (planner, part->item)->part_of = owner;
}

/**
 * ir_mem_share_parts:
 * @planner: a planner that has added the outputs of @node
 * @node: a node
 *
 * Lets the inputs of a Concat lie in its output, where they are a range of it.
 */
void
ir_mem_share_parts (IrMemPlanner *planner, const IrNode *node)
{
  const IrValue *output = ir_node_output (node, 0);
  guint whole, index;
  guint64 at;

  if (planner->separate || node->op == NULL || node->op->id != IR_OP_CONCAT || output == NULL ||
      ir_mem_planner_find (planner, output, &index) == NULL)
    return;
  whole = ir_mem_root_of (planner, index, &at);
  if (whole == IR_MEM_NO_BLOCK)
    return;
  planner->n_slices++;
  if (!planner->slices)
    return;
  Reading reading = { planner, node, item_at (planner, index)->first, 0, REFUSAL_NONE };
  guint end = reading.now;
  reading.step = reading.now;
  ir_mem_planner_widen (planner, &reading.step, &end);
  g_autofree guint64 *slices = ir_slices_of_whole (planner->schedule, node);
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (Part));
  for (guint slot = 0; slot < node->n_inputs && !ir_mem_stopped (planner->options); slot++)
    {
      Part part = { .at = slices[slot] };
      Refusal refusal = may_join (planner, node, slot, whole, &part);
      if (refusal == REFUSAL_NONE)
        g_array_append_val (parts, part);
      else
        note (planner, node->inputs[slot]->id, output->id, refusal);
    }
  g_array_sort (parts, compare_parts);
  for (guint i = 0; i < parts->len && !ir_mem_stopped (planner->options); i++)
    {
      const Part *part = &g_array_index (parts, Part, i);
      Refusal refusal = REFUSAL_NONE;
      if (range_at (planner, part->block)->parent != IR_MEM_NO_BLOCK)
        refusal = REFUSAL_PART; /* an input that is joined twice */
      else if (!is_worth (planner, whole, part->block))
        refusal = REFUSAL_PEAK;
      else
        join (planner, whole, part, output->id, &reading);
      note (planner, item_at (planner, part->item)->value, output->id, refusal);
    }
}
