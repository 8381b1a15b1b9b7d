/* Which values can lie within others: an operand of Concat is one range of bytes of what it is
 * joined to where no axis before the joined one has more than one entry, and so are what Split and
 * Slice cut out. */
#include "config.h"

#include "core/exec/blocks.h"
#include "core/exec/slices.h"
#include "core/op/infer-util.h"

#define NOWHERE G_MAXUINT64

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
 * Returns: whether ir_slice_of_whole() or ir_slice_of_input() may hold for it
 */
gboolean
ir_slice_is_possible (const IrNode *node)
{
  return node->op != NULL && (node->op->id == IR_OP_CONCAT || node->op->id == IR_OP_SPLIT ||
                              node->op->id == IR_OP_SLICE);
}

/* -- Concat -- */

/* Bytes that entries of the joined axis before those of @slot take, in blocks of channels or not.
 */
static guint64
joined_at (const IrNode *node, guint slot, gint64 axis, guint block)
{
  const IrType *whole = node->outputs[0]->type;
  guint64 entries = 0;

  for (guint i = 0; i < slot; i++)
    entries += (guint64) node->inputs[i]->type->dims[axis];
  if (block == 0)
    return entries * entry_bytes (whole, axis);
  return axis == 1 && whole->rank == 4 && entries % block == 0 ? entries * entry_bytes (whole, axis)
                                                               : NOWHERE;
}

/**
 * ir_slice_of_whole:
 * @schedule: (nullable): says which values are in blocks of channels
 * @node: a node
 * @slot: one of its inputs
 * @at: (out): bytes from the start of output 0
 *
 * Returns: whether the input is one range of bytes of output 0, in the same layout
 */
gboolean
ir_slice_of_whole (const IrSchedule *schedule, const IrNode *node, guint slot, guint64 *at)
{
  const IrValue *whole = ir_node_output (node, 0);
  guint block = 0;
  IrCall call;
  gint64 axis;

  if (node->op == NULL || node->op->id != IR_OP_CONCAT || !is_fit (whole))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (!is_fit (node->inputs[i]) || node->inputs[i]->type->rank != whole->type->rank ||
        node->inputs[i]->type->dtype != whole->type->dtype)
      return FALSE;
  if (schedule != NULL)
    block = ir_schedule_block (schedule, whole);
  if (schedule != NULL && ir_schedule_block (schedule, node->inputs[slot]) != block)
    return FALSE;
  ir_call_init (&call, node);
  *at = axis_of (&call, whole->type, 0, &axis) ? joined_at (node, slot, axis, block) : NOWHERE;
  ir_call_clear (&call);
  return *at != NOWHERE;
}

/* -- Split and Slice -- */

static guint64
split_at (IrCall *call, const IrNode *node, guint slot)
{
  const IrType *whole = node->inputs[0]->type;
  guint64 entries = 0;
  gint64 axis;

  if (!axis_of (call, whole, 0, &axis))
    return NOWHERE;
  for (guint i = 0; i < slot; i++)
    {
      if (node->outputs[i] == NULL || !is_fit (node->outputs[i]))
        return NOWHERE;
      entries += (guint64) node->outputs[i]->type->dims[axis];
    }
  return entries * entry_bytes (whole, axis);
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
slice_at (IrCall *call, const IrNode *node, guint slot)
{
  const IrType *whole = node->inputs[0]->type, *part = node->outputs[slot]->type;
  g_autofree gint64 *starts = NULL, *axes = NULL, *steps = NULL;
  guint n = 0, n_axes = 0, n_steps = 0;
  guint64 at = 0;

  if (part->rank != whole->rank || !is_one_range (whole, part) ||
      !ir_call_input_ints (call, 1, &starts, &n) ||
      (ir_call_has_input (call, 3) && !ir_call_input_ints (call, 3, &axes, &n_axes)) ||
      (ir_call_has_input (call, 4) && !ir_call_input_ints (call, 4, &steps, &n_steps)) ||
      n > (guint) whole->rank || (axes != NULL && n_axes != n) || (steps != NULL && n_steps != n))
    return NOWHERE;
  for (guint i = 0; i < n; i++)
    {
      gint64 axis, start, size;
      if (!ir_call_axis (call, axes != NULL ? axes[i] : (gint64) i, whole->rank, &axis, NULL))
        return NOWHERE;
      size = whole->dims[axis];
      start = CLAMP (starts[i] < 0 ? starts[i] + size : starts[i], 0, size - 1);
      if (steps != NULL && steps[i] != 1 && part->dims[axis] > 1)
        return NOWHERE;
      guint64 stride = ir_dtype_bits (whole->dtype) / 8;
      for (int k = (int) axis + 1; k < whole->rank; k++)
        stride *= (guint64) whole->dims[k];
      at += (guint64) start * stride;
    }
  return at;
}

/**
 * ir_slice_of_input:
 * @schedule: (nullable): says which values are in blocks of channels
 * @node: a node
 * @slot: one of its outputs
 * @at: (out): bytes from the start of input 0
 *
 * Returns: whether the output is one range of bytes of input 0, in the same layout
 */
gboolean
ir_slice_of_input (const IrSchedule *schedule, const IrNode *node, guint slot, guint64 *at)
{
  const IrValue *whole = ir_node_input (node, 0), *part = ir_node_output (node, slot);
  guint64 (*find) (IrCall *, const IrNode *, guint) = NULL;
  gsize bytes = 0, all = 0;
  IrCall call;

  if (node->op != NULL && node->op->id == IR_OP_SPLIT)
    find = split_at;
  else if (node->op != NULL && node->op->id == IR_OP_SLICE)
    find = slice_at;
  if (find == NULL || !is_fit (whole) || !is_fit (part) ||
      part->type->dtype != whole->type->dtype || part->type->rank != whole->type->rank ||
      (schedule != NULL &&
       (ir_schedule_block (schedule, whole) != 0 || ir_schedule_block (schedule, part) != 0)))
    return FALSE;
  ir_call_init (&call, node);
  *at = find (&call, node, slot);
  ir_call_clear (&call);
  ir_type_n_bytes (part->type, &bytes);
  ir_type_n_bytes (whole->type, &all);
  return *at != NOWHERE && *at <= all && bytes <= all - *at;
}
