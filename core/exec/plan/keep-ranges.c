/* Which kept values lie within others. What Concat joins is kept as a range of the whole where it
 * is one, so that the node has nothing to do, and so are views and what Split and Slice cut out:
 * nothing that is kept is written twice, so that sharing bytes is sound, and they are there once.
 *
 * Wholes are met from the last to the first: a dense block grows by a Concat of the one before, and
 * all of them lie in the last. Where Concats join longer and longer lists of the same values, the
 * shorter ones are ranges of the longest as well. Everything else follows its source, in the order
 * of the schedule. */
#include "config.h"

#include "core/exec/plan/plan.h"
#include "core/exec/memory/ranges.h"
#include "core/ir/pages.h"

typedef struct
{
  IrPrepared *prepared;
  const guint8 *eligible; /* by value id: may lie in or around another */
} Planner;

static gboolean
is_apt (const Planner *planner, const IrValue *value)
{
  return value != NULL && planner->eligible[value->id];
}

static gboolean
is_free (const Planner *planner, const IrValue *value)
{
  return is_apt (planner, value) && planner->prepared->values[value->id].within.of == 0;
}

/**
 * ir_capture_root:
 * @prepared: a plan whose kept values are known
 * @id: a value
 * @at: (out): bytes from the start of what comes back
 *
 * Returns: the value in whose memory @id is kept: itself, if it has memory of its own
 */
IrValueId
ir_capture_root (const IrPrepared *prepared, IrValueId id, guint64 *at)
{
  *at = 0;
  for (; prepared->values[id].within.of != 0; id = prepared->values[id].within.of)
    *at += prepared->values[id].within.at;
  return id;
}

/* @at bytes into @whole, if that is possible and no circle. */
static void
lie_in (Planner *planner, const IrValue *part, const IrValue *whole, guint64 at)
{
  guint64 from;
  IrValueId root = ir_capture_root (planner->prepared, whole->id, &from);

  if (ir_plan_is_excepted (planner->prepared->except, IR_DECISION_SHARING, part->id))
    return;
  if (root == part->id || at % IR_ALIGN_BYTES != 0 ||
      at + ir_prepared_kept_bytes (planner->prepared, part) >
          ir_prepared_kept_bytes (planner->prepared, whole))
    return;
  planner->prepared->values[part->id].within = (IrWithin){ root, from + at };
}

/* Whether all that @node joins lies one behind the other already, within one value. */
static gboolean
is_joined (const Planner *planner, const IrNode *node, const guint64 *slices, IrWithin *range)
{
  for (guint i = 0; i < node->n_inputs; i++)
    {
      guint64 at = slices[i], from;
      if (!is_apt (planner, node->inputs[i]) || is_free (planner, node->inputs[i]) ||
          at == IR_SLICE_NOWHERE)
        return FALSE;
      IrValueId root = ir_capture_root (planner->prepared, node->inputs[i]->id, &from);
      if (from < at || (i > 0 && (root != range->of || from - at != range->at)))
        return FALSE;
      *range = (IrWithin){ root, from - at };
    }
  return node->n_inputs > 0;
}

static void
share_joined (Planner *planner, const IrNode *node)
{
  const IrValue *whole = ir_node_output (node, 0);
  IrWithin range = { 0, 0 };

  if (!is_apt (planner, whole))
    return;
  g_autofree guint64 *at = ir_slices_of_whole (planner->prepared->schedule, node);
  if (is_free (planner, whole) && is_joined (planner, node, at, &range))
    {
      lie_in (planner, whole, ir_model_value (planner->prepared->model, range.of), range.at);
      return;
    }
  for (guint i = 0; i < node->n_inputs; i++)
    if (is_free (planner, node->inputs[i]) && at[i] != IR_SLICE_NOWHERE)
      lie_in (planner, node->inputs[i], whole, at[i]);
}

/* The source of a view lies where the view has been led to. */
static void
share_source (Planner *planner, const IrNode *node)
{
  if (ir_step_is_view (planner->prepared, node) && is_apt (planner, node->outputs[0]) &&
      !is_free (planner, node->outputs[0]) && is_free (planner, node->inputs[0]))
    lie_in (planner, node->inputs[0], node->outputs[0], 0);
}

static void
share_results (Planner *planner, const IrNode *node)
{
  const IrValue *source = ir_node_input (node, 0);

  if (!is_apt (planner, source) ||
      !(ir_step_is_view (planner->prepared, node) ||
        (ir_slice_is_possible (node) && !ir_op_is (node, IR_OP_CONCAT))))
    return;
  g_autofree guint64 *at = ir_slice_is_possible (node)
                               ? ir_slices_of_input (planner->prepared->schedule, node)
                               : NULL;
  for (guint i = 0; i < node->n_outputs; i++)
    if (is_free (planner, node->outputs[i]) && (at == NULL || at[i] != IR_SLICE_NOWHERE))
      lie_in (planner, node->outputs[i], source, at != NULL ? at[i] : 0);
}

/**
 * ir_capture_share:
 * @prepared: a plan with its schedule; gets within
 * @eligible: by value id: whether it is kept, of a known size, and made by the run
 *
 * Finds for every value that is kept the other one, if any, among whose bytes it can lie.
 */
void
ir_capture_share (IrPrepared *prepared, const guint8 *eligible)
{
  const GArray *items = prepared->schedule->items;

  for (IrValueId id = 0; id < prepared->n_values; id++)
    prepared->values[id].within = (IrWithin){ 0 };
  if (prepared->without & IR_DECISION_SHARING)
    return;
  Planner planner = { prepared, eligible };
  for (guint i = items->len; i > 0; i--)
    {
      const IrNode *node = ir_model_node (prepared->model,
                                          g_array_index (items, IrScheduleItem, i - 1).node);
      if (ir_op_is (node, IR_OP_CONCAT))
        share_joined (&planner, node);
      else
        share_source (&planner, node);
    }
  for (guint i = 0; i < items->len; i++)
    share_results (&planner,
                   ir_model_node (prepared->model, g_array_index (items, IrScheduleItem, i).node));
}
