/* Which values can lie within others: an operand of Concat is one range of bytes of what it is
 * joined to where no axis before the joined one has more than one entry, and so are what Split and
 * Slice cut out. */
#include "config.h"

#include "core/exec/kernel/nchwc.h"
#include "core/exec/memory/ranges.h"
#include "core/op/infer-util.h"

/* Sizes must be known, and elements must have bytes of their own. */
static gboolean
is_fit (const IrValue *value)
{
  const IrType *type = value != NULL ? value->type : NULL;
  gsize bytes;

  return type != NULL && ir_type_is_tensor (type) && ir_type_has_rank (type) &&
         ir_type_is_static (type) && ir_dtype_bits (type->dtype) % 8 == 0 &&
         ir_dtype_bits (type->dtype) > 0 && ir_type_n_bytes (type, &bytes) && bytes > 0;
}

static gboolean
one_before (const IrType *type, gint64 axis)
{
  for (gint64 i = 0; i < axis; i++)
    if (type->dims[i] != 1)
      return FALSE;
  return TRUE;
}

/* Bytes of one entry of @axis. */
static guint64
entry_bytes (const IrType *type, gint64 axis)
{
  gsize bytes = 0;

  ir_type_n_bytes (type, &bytes);
  return type->dims[axis] > 0 ? bytes / (guint64) type->dims[axis] : 0;
}

/* The axis of a call of Concat or Split along which everything is one range. */
static gboolean
axis_of (IrCall *call, const IrType *whole, gint64 fallback, gint64 *axis)
{
  return ir_call_axis (call, ir_call_int (call, "axis", fallback), whole->rank, axis, NULL) &&
         one_before (whole, *axis);
}

/**
 * ir_slice_is_possible:
 * @node: a node
 *
 * Returns: whether ir_slices_of_whole() or ir_slices_of_input() may find something
 */
gboolean
ir_slice_is_possible (const IrNode *node)
{
  return node->op != NULL && (node->op->flags & IR_OP_RANGES) != 0;
}

static guint64 *
nowhere (guint n)
{
  guint64 *at = g_new (guint64, (gsize) n + 1);

  for (guint i = 0; i <= n; i++)
    at[i] = IR_SLICE_NOWHERE;
  return at;
}

/* -- Concat -- */

/* Off @axis a part has the dims of the whole, and there it ends within. Sizes of a run may deny it, which the node says when
 * it runs; its producers have written by then. */
static gboolean
lies_within (const IrType *part, const IrType *whole, gint64 axis, guint64 before)
{
  for (int i = 0; i < whole->rank; i++)
    if (i != axis && part->dims[i] != whole->dims[i])
      return FALSE;
  return before <= (guint64) whole->dims[axis] &&
         (guint64) part->dims[axis] <= (guint64) whole->dims[axis] - before;
}

static gboolean
can_join (const IrNode *node, const IrValue *whole)
{
  if (node->op == NULL || node->op->id != IR_OP_CONCAT || !is_fit (whole))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (!is_fit (node->inputs[i]) || node->inputs[i]->type->rank != whole->type->rank ||
        node->inputs[i]->type->dtype != whole->type->dtype)
      return FALSE;
  return TRUE;
}

/**
 * ir_slices_of_whole:
 * @schedule: (nullable): says which values are in NCHWc
 * @node: a node
 *
 * Cost: O(inputs).
 *
 * Returns: (transfer full): for each input, where in output 0 it is one range of bytes, in the same
 *   layout: bytes from the start, or %IR_SLICE_NOWHERE
 */
guint64 *
ir_slices_of_whole (const IrSchedule *schedule, const IrNode *node)
{
  const IrValue *whole = ir_node_output (node, 0);
  guint64 *at = nowhere (node->n_inputs), entries = 0;
  IrCall call;
  gint64 axis;

  if (!can_join (node, whole))
    return at;
  guint block = schedule != NULL ? ir_schedule_block (schedule, whole) : 0;
  ir_call_init (&call, node);
  gboolean fits = axis_of (&call, whole->type, 0, &axis);
  ir_call_clear (&call);
  if (!fits || (block != 0 && (axis != 1 || whole->type->rank != 4)))
    return at;
  guint64 bytes = entry_bytes (whole->type, axis);
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *part = node->inputs[i];
      if ((schedule == NULL || ir_schedule_block (schedule, part) == block) &&
          (block == 0 || entries % block == 0) &&
          lies_within (part->type, whole->type, axis, entries))
        at[i] = entries * bytes;
      entries += (guint64) part->type->dims[axis];
    }
  return at;
}

/* -- Split and Slice -- */

/* Up to the first output that is missing, or of an unknown size: what follows may begin anywhere.
 */
static void
find_split (IrCall *call, const IrNode *node, guint64 *at)
{
  const IrType *whole = node->inputs[0]->type;
  guint64 entries = 0, bytes;
  gint64 axis;

  if (!axis_of (call, whole, 0, &axis))
    return;
  bytes = entry_bytes (whole, axis);
  for (guint i = 0; i < node->n_outputs; i++)
    {
      at[i] = entries * bytes;
      if (node->outputs[i] == NULL || !is_fit (node->outputs[i]))
        return;
      entries += (guint64) node->outputs[i]->type->dims[axis];
    }
}

/* The last axis that is cut; all of those before it must have one entry left. */
static gboolean
is_one_range (const IrType *whole, const IrType *part)
{
  int last = part->rank;

  while (last > 0 && part->dims[last - 1] == whole->dims[last - 1])
    last--;
  return one_before (part, last - 1);
}

static guint64
slice_at (IrCall *call, const IrNode *node)
{
  const IrType *whole = node->inputs[0]->type, *part = node->outputs[0]->type;
  g_autofree gint64 *starts = NULL, *axes = NULL, *steps = NULL;
  guint n = 0, n_axes = 0, n_steps = 0;
  guint64 at = 0;

  if (part->rank != whole->rank || !is_one_range (whole, part) ||
      !ir_call_input_ints (call, 1, &starts, &n) ||
      (ir_call_has_input (call, 3) && !ir_call_input_ints (call, 3, &axes, &n_axes)) ||
      (ir_call_has_input (call, 4) && !ir_call_input_ints (call, 4, &steps, &n_steps)) ||
      n > (guint) whole->rank || (axes != NULL && n_axes != n) || (steps != NULL && n_steps != n))
    return IR_SLICE_NOWHERE;
  for (guint i = 0; i < n; i++)
    {
      gint64 axis, start, size;
      if (!ir_call_axis (call, axes != NULL ? axes[i] : (gint64) i, whole->rank, &axis, NULL))
        return IR_SLICE_NOWHERE;
      size = whole->dims[axis];
      start = CLAMP (starts[i] < 0 ? starts[i] + size : starts[i], 0, size - 1);
      if (steps != NULL && steps[i] != 1 && part->dims[axis] > 1)
        return IR_SLICE_NOWHERE;
      guint64 stride = ir_dtype_bits (whole->dtype) / 8;
      for (int k = (int) axis + 1; k < whole->rank; k++)
        stride *= (guint64) whole->dims[k];
      at += (guint64) start * stride;
    }
  return at;
}

/* Whether output @slot may be one range of input 0. */
static gboolean
can_cut (const IrSchedule *schedule, const IrNode *node, guint slot)
{
  const IrValue *whole = node->inputs[0], *part = node->outputs[slot];

  return is_fit (part) && part->type->dtype == whole->type->dtype &&
         part->type->rank == whole->type->rank &&
         (schedule == NULL || ir_schedule_block (schedule, part) == 0);
}

/**
 * ir_slices_of_input:
 * @schedule: (nullable): says which values are in NCHWc
 * @node: a node
 *
 * Cost: O(outputs).
 *
 * Returns: (transfer full): for each output, where in input 0 it is one range of bytes, in the same
 *   layout: bytes from the start, or %IR_SLICE_NOWHERE
 */
guint64 *
ir_slices_of_input (const IrSchedule *schedule, const IrNode *node)
{
  const IrValue *whole = ir_node_input (node, 0);
  guint64 *at = nowhere (node->n_outputs);
  gsize bytes = 0, all = 0;
  IrCall call;

  if (node->op == NULL || (node->op->id != IR_OP_SPLIT && node->op->id != IR_OP_SLICE) ||
      !is_fit (whole) || (schedule != NULL && ir_schedule_block (schedule, whole) != 0))
    return at;
  ir_call_init (&call, node);
  if (node->op->id == IR_OP_SPLIT)
    find_split (&call, node, at);
  else if (node->n_outputs > 0 && can_cut (schedule, node, 0))
    at[0] = slice_at (&call, node);
  ir_call_clear (&call);
  ir_type_n_bytes (whole->type, &all);
  for (guint i = 0; i < node->n_outputs; i++)
    if (at[i] != IR_SLICE_NOWHERE &&
        (!can_cut (schedule, node, i) || !ir_type_n_bytes (node->outputs[i]->type, &bytes) ||
         at[i] > all || bytes > all - at[i]))
      at[i] = IR_SLICE_NOWHERE;
  return at;
}
