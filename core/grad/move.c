/* Derivatives of operators that move elements: what comes goes back to where it was taken from. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"

#include <string.h>

gboolean
ir_vjp_reshape (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = ir_emit_reshape_like (vjp, vjp->dy[0], vjp->node->inputs[0]);
  return TRUE;
}

gboolean
ir_vjp_transpose (IrVjp *vjp, GError **error)
{
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (vjp->node, "perm", &n);
  gint64 inverse[IR_MAX_RANK] = { 0 };
  IrNode *node = ir_emit_node (vjp, "Transpose", 1, &vjp->dy[0], 1);

  for (guint i = 0; i < MIN (n, IR_MAX_RANK); i++)
    {
      gint64 from = perm[i] < 0 ? perm[i] + n : perm[i];
      if (from < 0 || from >= n)
        return ir_emit_fail (vjp, error, "perm is no permutation");
      inverse[from] = i;
    }
  if (perm != NULL)
    ir_emit_attr_ints (vjp, node, "perm", inverse, MIN (n, IR_MAX_RANK));
  vjp->dx[0] = ir_emit_end (vjp, node);
  return TRUE;
}

/* Each input is cut out of the result where the ones before it end. */
gboolean
ir_vjp_concat (IrVjp *vjp, GError **error)
{
  gint64 axis = ir_node_attr_int (vjp->node, "axis", 1), zero = 0;
  IrValue *axes = ir_emit_ints (vjp, &axis, 1), *start = ir_emit_ints (vjp, &zero, 1);
  gint64 at = 0;

  for (guint i = 0; i < vjp->node->n_inputs; i++)
    {
      const IrType *type = vjp->node->inputs[i]->type;
      int rank = ir_value_rank (vjp->node->inputs[i]);
      gint64 size = rank > 0 ? type->dims[axis < 0 ? axis + rank : axis] : -1;
      IrValue *end;

      at = at >= 0 && size >= 0 ? at + size : -1;
      end = at >= 0 ? ir_emit_ints (vjp, &at, 1)
                    : ir_emit2 (vjp, "Add", start,
                                ir_emit2 (vjp, "Gather",
                                          ir_emit1 (vjp, "Shape", vjp->node->inputs[i]), axes));
      IrValue *inputs[4] = { vjp->dy[0], start, end, axes };
      if (vjp->wanted[i])
        vjp->dx[i] = ir_emit (vjp, "Slice", 4, inputs);
      start = end;
    }
  return TRUE;
}

/* Into how many parts it cuts; the last of them may be left out of its outputs. */
static guint
n_parts (const IrNode *node)
{
  const IrValue *sizes = ir_node_input (node, 1);
  guint n = (guint) CLAMP (ir_node_attr_int (node, "num_outputs", 0), 0, G_MAXINT32), n_attr = 0;

  if (sizes != NULL && ir_value_rank (sizes) == 1 && sizes->type->dims[0] > 0)
    n = (guint) sizes->type->dims[0];
  if (ir_node_attr_ints (node, "split", &n_attr) != NULL)
    n = n_attr;
  return MAX (n, node->n_outputs);
}

/* (nullable) Zeros for what is cut off behind the parts that are there */
static IrValue *
rest_of_split (const IrVjp *vjp, gint64 axis, GError **error)
{
  const IrNode *node = vjp->node;
  gint64 dims[IR_MAX_RANK], part[IR_MAX_RANK];
  int rank = 0, part_rank;
  gboolean known = ir_emit_dims (node->inputs[0], dims, &rank);

  axis += axis < 0 ? rank : 0;
  for (guint i = 0; known && i < node->n_outputs; i++)
    if ((known = ir_emit_dims (node->outputs[i], part, &part_rank) && part_rank == rank &&
                 axis >= 0 && axis < rank))
      dims[axis] -= part[axis];
  if (!known)
    return ir_emit_fail (vjp, error,
                         "outputs are left out and sizes are not known; give them (--dim)"),
           NULL;
  return ir_emit2 (vjp, "Expand", ir_emit_number (vjp, 0), ir_emit_ints (vjp, dims, rank));
}

/* Parts that nothing depends on are zeros. */
gboolean
ir_vjp_split (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  const gint64 axis = ir_node_attr_int (node, "axis", 0);
  g_autofree IrValue **parts = g_new0 (IrValue *, node->n_outputs + 1);
  guint n = node->n_outputs;

  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] == NULL)
      return ir_emit_fail (vjp, error, "its output %u is left out", i);
    else
      parts[i] = vjp->dy[i] != NULL ? vjp->dy[i] : ir_emit_filled (vjp, node->outputs[i], 0);
  if (n_parts (node) > n && (parts[n++] = rest_of_split (vjp, axis, error)) == NULL)
    return FALSE;
  IrNode *concat = ir_emit_node (vjp, "Concat", n, parts, 1);
  ir_emit_attr_int (vjp, concat, "axis", axis);
  vjp->dx[0] = ir_emit_end (vjp, concat);
  return TRUE;
}

/* -- any operator that moves elements: where does it take them from? It is asked with their numbers,
 * from 1 on; what it fills in is 0, and goes to a place that is dropped. -- */

static IrValue *
numbers_like (const IrVjp *vjp, IrValue *like)
{
  static const gint64 one = 1;
  IrValue *first = ir_emit_ints (vjp, &one, -1);
  IrValue *end = ir_emit2 (vjp, "Add", ir_emit_size (vjp, like), first);
  IrValue *all = ir_emit3 (vjp, "Range", first, end, first);

  return ir_emit_reshape_like (vjp, all, like);
}

static IrValue *
send_back (const IrVjp *vjp, IrValue *like, IrValue *numbers, IrValue *updates)
{
  static const gint64 one = 1, zero = 0, end = G_MAXINT64;
  IrValue *n = ir_emit_reshape (vjp, ir_emit_size (vjp, like), &one, 1);
  IrValue *room = ir_emit2 (vjp, "Add", n, ir_emit_ints (vjp, &one, 1));
  IrValue *inputs[] = { ir_emit2 (vjp, "Expand", ir_emit_number (vjp, 0), room),
                        ir_emit_flat (vjp, numbers), ir_emit_flat (vjp, updates) };
  IrNode *node = ir_emit_node (vjp, "ScatterElements", 3, inputs, 1);

  ir_emit_attr_string (vjp, node, "reduction", "add");
  return ir_emit_reshape_like (
      vjp, ir_emit_slice (vjp, ir_emit_end (vjp, node), &one, &end, &zero, 1), like);
}

gboolean
ir_vjp_move (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  g_autofree IrValue **inputs = g_memdup2 (node->inputs, (node->n_inputs + 1) * sizeof (IrValue *));

  if (!ir_emit_needs_opset (vjp, 16, error))
    return FALSE;
  for (guint i = 1; i < node->n_inputs; i++)
    if (vjp->wanted[i])
      return ir_emit_fail (vjp, error, "there is no rule for its input %u", i);
  inputs[0] = numbers_like (vjp, node->inputs[0]);
  IrNode *again = ir_emit_node (vjp, node->op_type, node->n_inputs, inputs, 1);
  for (guint i = 0; i < node->n_attrs; i++)
    ir_edit_set_attr (vjp->edit, again, node->attrs[i]);
  vjp->dx[0] = send_back (vjp, node->inputs[0], ir_emit_end (vjp, again), vjp->dy[0]);
  return TRUE;
}

/* The operator itself, on what comes: ReverseSequence */
gboolean
ir_vjp_same (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  g_autofree IrValue **inputs = g_memdup2 (node->inputs, (node->n_inputs + 1) * sizeof (IrValue *));

  inputs[0] = vjp->dy[0];
  IrNode *again = ir_emit_node (vjp, node->op_type, node->n_inputs, inputs, 1);
  for (guint i = 0; i < node->n_attrs; i++)
    ir_edit_set_attr (vjp->edit, again, node->attrs[i]);
  vjp->dx[0] = ir_emit_end (vjp, again);
  return TRUE;
}

gboolean
ir_vjp_trilu (IrVjp *vjp, GError **error)
{
  return ir_vjp_same (vjp, error);
}

/* -- Slice: zeros around it; with steps, by numbers -- */

static gboolean
constant_ints (const IrNode *node, guint slot, gint64 *values, guint *n)
{
  IrValue *input = ir_node_input (node, slot);
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;

  *n = tensor != NULL ? (guint) MIN (ir_tensor_n_elements (tensor), IR_MAX_RANK) : 0;
  for (guint i = 0; i < *n; i++)
    values[i] = (gint64) ir_tensor_get_double (tensor, i);
  return tensor != NULL;
}

/* Elements before and after what is cut out along each axis, if that is known and has no steps */
static gboolean
slice_margins (const IrNode *node, const gint64 *dims, int rank, gint64 *pads)
{
  gint64 starts[IR_MAX_RANK], ends[IR_MAX_RANK], axes[IR_MAX_RANK], steps[IR_MAX_RANK];
  guint n, n_ends, n_axes, n_steps;

  if (!constant_ints (node, 1, starts, &n) || !constant_ints (node, 2, ends, &n_ends) ||
      n != n_ends || (!constant_ints (node, 3, axes, &n_axes) && ir_node_input (node, 3) != NULL) ||
      (!constant_ints (node, 4, steps, &n_steps) && ir_node_input (node, 4) != NULL))
    return FALSE;
  memset (pads, 0, 2 * (gsize) rank * sizeof *pads);
  for (guint i = 0; i < n; i++)
    {
      gint64 axis = n_axes > i ? axes[i] : (gint64) i;
      axis += axis < 0 ? rank : 0;
      if (axis < 0 || axis >= rank || (n_steps > i && steps[i] != 1))
        return FALSE;
      gint64 size = dims[axis], start = starts[i], end = ends[i];
      start = CLAMP (start < 0 ? start + size : start, 0, size);
      end = CLAMP (end < 0 ? MAX (end, -size - 1) + size : end, start, size);
      pads[axis] = start;
      pads[axis + rank] = size - end;
    }
  return TRUE;
}

gboolean
ir_vjp_slice (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  gint64 dims[IR_MAX_RANK], pads[2 * IR_MAX_RANK];
  int rank;

  if (!ir_emit_needs_opset (vjp, 11, error))
    return FALSE;
  if (!ir_emit_dims (node->inputs[0], dims, &rank) || !slice_margins (node, dims, rank, pads))
    return ir_vjp_move (vjp, error);
  vjp->dx[0] = ir_emit2 (vjp, "Pad", vjp->dy[0], ir_emit_ints (vjp, pads, 2 * rank));
  return TRUE;
}

static IrValue *
sum_of (const IrVjp *vjp, IrValue *value)
{
  IrNode *sum = ir_emit_node (vjp, "ReduceSum", 1, &value, 1);

  ir_emit_attr_int (vjp, sum, "keepdims", 0);
  return ir_emit_end (vjp, sum);
}

/* What constants pad is cut off, and comes to the constant; what was padded with copies is added to them. */
gboolean
ir_vjp_pad (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;

  if (!ir_emit_needs_opset (vjp, 11, error))
    return FALSE;
  if (strcmp (ir_node_attr_string (node, "mode", "constant"), "constant") != 0)
    return ir_vjp_move (vjp, error);
  IrValue *inputs[4] = { vjp->dy[0], ir_emit1 (vjp, "Neg", node->inputs[1]), NULL,
                         ir_node_input (node, 3) };
  vjp->dx[0] = ir_emit (vjp, "Pad", inputs[3] != NULL ? 4 : 2, inputs);
  if (node->n_inputs > 2 && vjp->wanted[2])
    vjp->dx[2] = ir_emit_reshape_like (
        vjp, ir_emit2 (vjp, "Sub", sum_of (vjp, vjp->dy[0]), sum_of (vjp, vjp->dx[0])),
        node->inputs[2]);
  return TRUE;
}

/* [r0, d0, r1, d1 ...], where the repetitions are summed */
gboolean
ir_vjp_tile (IrVjp *vjp, GError **error)
{
  gint64 dims[IR_MAX_RANK], out[IR_MAX_RANK], apart[2 * IR_MAX_RANK], axes[IR_MAX_RANK];
  int rank, out_rank;

  if (!ir_emit_dims (vjp->node->inputs[0], dims, &rank) ||
      !ir_emit_dims (vjp->node->outputs[0], out, &out_rank) || rank != out_rank ||
      2 * rank > IR_MAX_RANK)
    return ir_vjp_move (vjp, error);
  for (int i = 0; i < rank; i++)
    {
      axes[i] = 2 * i;
      apart[2 * i] = dims[i] > 0 ? out[i] / dims[i] : 0;
      apart[2 * i + 1] = dims[i];
      if (dims[i] == 0 || out[i] == 0)
        return ir_vjp_move (vjp, error);
    }
  IrValue *parts = ir_emit_reshape (vjp, vjp->dy[0], apart, 2 * (guint) rank);
  vjp->dx[0] = ir_emit_reduce (vjp, "ReduceSum", parts, axes, (guint) rank, FALSE);
  return TRUE;
}
