/* Values that share bytes. A view lies where its input lies, and so does what Split and Slice cut
 * out in one piece; a kernel that works in place writes over its input; what is joined to one range
 * is written into its place in the whole from the beginning, so that Concat has nothing to do.
 * Whether the bytes allow it, sharing.c says. */
#include "config.h"

#include "core/exec/memory/planner.h"
#include "core/exec/memory/ranges.h"

static IrMemItem *
item_at (const IrMemPlanner *planner, guint index)
{
  return &g_array_index (planner->plan->items, IrMemItem, index);
}

/* Whether the caller wants the value to have bytes of its own. */
static gboolean
is_apart (const IrMemPlanner *planner, IrValueId value)
{
  const IrMemOptions *options = planner->options;

  return planner->separate || (options != NULL && options->apart != NULL &&
                               value < options->n_apart && options->apart[value] != 0);
}

static void
note (IrMemPlanner *planner, IrValueId value, IrValueId of, int slot, IrSharingRefusal refusal)
{
  IrMemRefusal row = { value, of, slot, refusal };

  if (refusal != IR_REFUSAL_NONE)
    g_array_append_val (planner->refusals, row);
}

/* Adds @item among the bytes of item @of. */
static void
lie_in (IrMemPlanner *planner, IrMemItem *item, guint of, guint64 at, const IrValue *value)
{
  const IrMemItem *base = item_at (planner, of);
  guint64 from;

  if (ir_sharing_block_of (&planner->sharing, of, &from) != IR_SHARING_NONE)
    {
      IrLiveRange range = ir_mem_planner_range (planner, item);
      ir_sharing_add_within (&planner->sharing, &range, of, at);
    }
  else
    {
      item->alias_of = base->alias_of != 0 ? base->alias_of : base->value;
      item->offset = IR_PLACE_EXTERNAL;
      ir_sharing_add_external (&planner->sharing);
    }
  ir_mem_planner_add (planner, item, value);
}

/* -- in place -- */

typedef struct
{
  const IrMemPlanner *planner;
  const IrNode *node;
} Reader;

static gboolean
is_read_concurrently (guint index, gpointer data)
{
  const Reader *reader = data;
  const IrMemPlanner *planner = reader->planner;

  return ir_mem_planner_concurrent (
      planner, reader->node,
      ir_model_value (planner->graph->model, item_at (planner, index)->value));
}

static IrSharingStep
step_for (const IrMemPlanner *planner, const IrMemItem *output, Reader *reader)
{
  IrLiveRange range = ir_mem_planner_range (planner, output);
  gboolean asks = planner->there || planner->schedule->spans != NULL;

  return (IrSharingStep){ .now = output->first,
                          .from = range.from,
                          .is_concurrent = asks ? is_read_concurrently : NULL,
                          .data = reader };
}

/* Whether the output may be written over the input: element by element, over bytes that nothing
 * reads again. */
static IrSharingRefusal
may_overwrite (const IrMemPlanner *planner,
               const IrNode *node,
               guint slot,
               const IrMemItem *output,
               guint *index)
{
  const IrValue *input = ir_node_input (node, slot);
  IrMemItem *item = input != NULL ? ir_mem_planner_find (planner, input, index) : NULL;
  guint64 at;

  if (item == NULL || ir_sharing_block_of (&planner->sharing, *index, &at) == IR_SHARING_NONE)
    return IR_REFUSAL_EXTERNAL;
  /* Beyond the first input equal bytes may hide another number of elements, which are repeated. */
  if (item->size != output->size ||
      (slot > 0 && input->type->dtype != node->outputs[0]->type->dtype))
    return IR_REFUSAL_SIZE;
  if (ir_mem_planner_layout (planner, input) != ir_mem_planner_layout (planner, node->outputs[0]))
    return IR_REFUSAL_LAYOUT;
  g_autofree guint *others = g_new (guint, node->n_inputs);
  Reader reader = { planner, node };
  IrSharingStep step = step_for (planner, output, &reader);
  step.reads = others;
  for (guint i = 0; i < node->n_inputs; i++)
    if (i != slot && ir_mem_planner_find (planner, node->inputs[i], &others[step.n_reads]) != NULL)
      step.n_reads++;
  return ir_sharing_may_overwrite (&planner->sharing, *index, &step);
}

/* Adds @item over an input of @node that the kernel reads element by element before it writes there,
 * where that is allowed: TRUE. */
gboolean
ir_mem_share_over (IrMemPlanner *planner, const IrNode *node, guint slot, IrMemItem *item)
{
  const IrScheduleItem *step = ir_mem_step (planner->schedule, planner->step_of, node);
  guint of;

  for (guint input = 0; slot == 0 && input < node->n_inputs; input++)
    {
      if (planner->there && !(input < 64 && step != NULL && (step->there >> input & 1)))
        continue;
      if (!ir_schedule_item_overwrites (step, node, input))
        continue;
      IrSharingRefusal refusal = may_overwrite (planner, node, input, item, &of);
      if (refusal == IR_REFUSAL_NONE && !is_apart (planner, item->value))
        {
          item->over = item_at (planner, of)->value;
          lie_in (planner, item, of, 0, node->outputs[0]);
          return TRUE;
        }
      if (node->inputs[input] != NULL)
        note (planner, item->value, node->inputs[input]->id, (int) input, refusal);
    }
  return FALSE;
}

/* -- views, and what is cut out -- */

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
  IrLiveRange range = ir_mem_planner_range (planner, item);
  guint of;

  if (at == IR_SLICE_NOWHERE || planner->there || ir_mem_planner_find (planner, whole, &of) == NULL)
    return FALSE;
  planner->n_slices++;
  if (!planner->slices)
    return FALSE;
  IrSharingRefusal refusal = ir_sharing_may_cut (&planner->sharing, &range, of, at);
  note (planner, item->value, whole->id, -1, refusal);
  if (refusal != IR_REFUSAL_NONE)
    return FALSE;
  item->view_of = whole->id;
  planner->plan->naive_bytes += ir_mem_align (item->size, planner->plan->align_bytes);
  lie_in (planner, item, of, at, node->outputs[slot]);
  return TRUE;
}

/* Adds @item among the bytes of input 0 where it has its contents, or a range of them: TRUE. */
gboolean
ir_mem_share_view (IrMemPlanner *planner, const IrNode *node, guint slot, IrMemItem *item)
{
  const IrValue *input = ir_node_input (node, 0);
  guint64 at;
  guint of;

  if (is_apart (planner, item->value) || input == NULL || node->op == NULL)
    return FALSE;
  if (slot != 0 || !(node->op->flags & IR_OP_VIEW))
    return share_cut (planner, node, slot, item);
  if (ir_mem_planner_find (planner, input, &of) == NULL ||
      ir_mem_planner_layout (planner, input) != 0 ||
      (planner->there && ir_sharing_block_of (&planner->sharing, of, &at) == IR_SHARING_NONE))
    return FALSE;
  item->view_of = input->id;
  lie_in (planner, item, of, 0, node->outputs[slot]);
  return TRUE;
}

/* -- what is joined -- */

/* Lets the inputs of a Concat lie in its output, where they are a range of it. */
void
ir_mem_share_parts (IrMemPlanner *planner, const IrNode *node)
{
  const IrValue *output = ir_node_output (node, 0);
  guint whole;
  guint64 at;

  if (planner->separate || node->op == NULL || node->op->id != IR_OP_CONCAT || output == NULL ||
      planner->there ||
      (planner->places != NULL && planner->places->values[output->id].made_there) ||
      node->n_inputs == 0 || ir_mem_planner_find (planner, output, &whole) == NULL ||
      ir_sharing_block_of (&planner->sharing, whole, &at) == IR_SHARING_NONE)
    return;
  planner->n_slices++;
  if (!planner->slices)
    return;
  Reader reader = { planner, node };
  IrSharingStep step = step_for (planner, item_at (planner, whole), &reader);
  g_autofree guint64 *slices = ir_slices_of_whole (planner->schedule, node);
  g_autofree IrSharingPart *parts = g_new0 (IrSharingPart, node->n_inputs);
  for (guint slot = 0; slot < node->n_inputs; slot++)
    {
      IrSharingPart *part = &parts[slot];
      *part = (IrSharingPart){ .range = IR_SHARING_NONE, .slot = slot, .at = slices[slot] };
      if (ir_mem_planner_find (planner, node->inputs[slot], &part->range) != NULL &&
          (part->at == IR_SLICE_NOWHERE || is_apart (planner, node->inputs[slot]->id)))
        part->refusal = IR_REFUSAL_LAYOUT;
    }
  ir_sharing_join (&planner->sharing, whole, parts, node->n_inputs, &step);
  for (guint i = 0; i < node->n_inputs; i++)
    if (parts[i].refusal == IR_REFUSAL_NONE)
      item_at (planner, parts[i].range)->part_of = output->id;
    else if (node->inputs[parts[i].slot] != NULL)
      note (planner, node->inputs[parts[i].slot]->id, output->id, -1, parts[i].refusal);
}
