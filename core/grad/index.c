/* Derivatives of operators that pick and put elements by indices: what was picked twice gets both. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"

#include <string.h>

/* Indices from the end count from the start. */
static IrValue *
from_the_start (const IrVjp *vjp, IrValue *indices, IrValue *data, gint64 axis)
{
  static const gint64 none = 0;
  gint64 place = axis < 0 ? axis + ir_value_rank (data) : axis, size = data->type->dims[place];
  IrValue *zero = ir_emit_ints (vjp, &none, -1), *n;

  indices = ir_emit_cast (vjp, indices, IR_DTYPE_INT64);
  n = size >= 0
          ? ir_emit_ints (vjp, &size, -1)
          : ir_emit2 (vjp, "Gather", ir_emit1 (vjp, "Shape", data), ir_emit_ints (vjp, &place, -1));
  return ir_emit3 (vjp, "Where", ir_emit2 (vjp, "Less", indices, zero),
                   ir_emit2 (vjp, "Add", indices, n), indices);
}

/* Rows along axis, which comes first: rows are added where they were taken from. */
gboolean
ir_vjp_gather (IrVjp *vjp, GError **error)
{
  static const gint64 last = -1;
  const IrNode *node = vjp->node;
  IrValue *data = node->inputs[0], *indices = node->inputs[1], *dy = vjp->dy[0], *zeros;
  int rank = ir_value_rank (data), n = ir_value_rank (indices);
  gint64 axis = ir_node_attr_int (node, "axis", 0), there[IR_MAX_RANK], back[IR_MAX_RANK];
  gint64 moved[IR_MAX_RANK];

  if (!ir_emit_needs_opset (vjp, 16, error))
    return FALSE;
  if (rank < 1 || n < 0 || rank + n - 1 > IR_MAX_RANK)
    return ir_emit_fail (vjp, error, "the ranks of its inputs are not known");
  axis += axis < 0 ? rank : 0;
  for (int i = 0; i < rank + n - 1; i++) /* of dy: the indices' axes to the front */
    moved[i] = i < n ? axis + i : i < n + axis ? i - n : i;
  for (int i = 0; i < rank; i++)
    {
      there[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
      back[there[i]] = i;
    }
  dy = ir_emit_transpose (vjp, dy, moved, (guint) (rank + n - 1));
  zeros = ir_emit_transpose (vjp, ir_emit_filled (vjp, data, 0), there, (guint) rank);
  IrValue *inputs[] = {
    zeros, ir_emit_unsqueeze (vjp, from_the_start (vjp, indices, data, axis), &last, 1), dy
  };
  IrNode *scatter = ir_emit_node (vjp, "ScatterND", 3, inputs, 1);
  ir_emit_attr_string (vjp, scatter, "reduction", "add");
  vjp->dx[0] = ir_emit_transpose (vjp, ir_emit_end (vjp, scatter), back, (guint) rank);
  return TRUE;
}

static IrValue *
scatter_elements (
    const IrVjp *vjp, IrValue *data, IrValue *indices, IrValue *updates, gint64 axis, gboolean add)
{
  IrValue *inputs[] = { data, indices, updates };
  IrNode *node = ir_emit_node (vjp, "ScatterElements", 3, inputs, 1);

  ir_emit_attr_int (vjp, node, "axis", axis);
  if (add)
    ir_emit_attr_string (vjp, node, "reduction", "add");
  return ir_emit_end (vjp, node);
}

gboolean
ir_vjp_gather_elements (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;

  if (!ir_emit_needs_opset (vjp, 16, error))
    return FALSE;
  vjp->dx[0] = scatter_elements (vjp, ir_emit_filled (vjp, node->inputs[0], 0), node->inputs[1],
                                 vjp->dy[0], ir_node_attr_int (node, "axis", 0), TRUE);
  return TRUE;
}

gboolean
ir_vjp_gather_nd (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;

  if (!ir_emit_needs_opset (vjp, 16, error))
    return FALSE;
  if (ir_node_attr_int (node, "batch_dims", 0) != 0)
    return ir_vjp_move (vjp, error);
  IrValue *inputs[] = { ir_emit_filled (vjp, node->inputs[0], 0), node->inputs[1], vjp->dy[0] };
  IrNode *scatter = ir_emit_node (vjp, "ScatterND", 3, inputs, 1);
  ir_emit_attr_string (vjp, scatter, "reduction", "add");
  vjp->dx[0] = ir_emit_end (vjp, scatter);
  return TRUE;
}

/* -- Scatter: what is put at places of data. Both operators do the same but for how indices name the
 * places -- */

/* From the places, in the shape of the updates */
static IrValue *
taken (const IrVjp *vjp, IrValue *value)
{
  const IrNode *node = vjp->node;
  IrValue *inputs[] = { value, node->inputs[1] };

  if (strcmp (node->op_type, "ScatterND") == 0)
    return ir_emit2 (vjp, "GatherND", value, node->inputs[1]);
  IrNode *gather = ir_emit_node (vjp, "GatherElements", 2, inputs, 1);
  ir_emit_copy_attr (vjp, gather, "axis");
  return ir_emit_end (vjp, gather);
}

/* @updates at the places of @data; @reduction: (nullable): they are written over */
static IrValue *
put (const IrVjp *vjp, IrValue *data, IrValue *updates, const char *reduction)
{
  const IrNode *node = vjp->node;
  IrValue *inputs[] = { data, node->inputs[1], updates };
  IrNode *scatter = ir_emit_node (
      vjp, strcmp (node->op_type, "ScatterND") == 0 ? "ScatterND" : "ScatterElements", 3, inputs,
      1);

  ir_emit_copy_attr (vjp, scatter, "axis");
  if (reduction != NULL)
    ir_emit_attr_string (vjp, scatter, "reduction", reduction);
  return ir_emit_end (vjp, scatter);
}

static IrValue *
is_true (const IrVjp *vjp, IrValue *condition)
{
  return ir_emit_cast (vjp, condition, ir_value_dtype (vjp->dy[0]));
}

/* Those that are the result share what comes. */
static void
derive_extreme (IrVjp *vjp)
{
  const IrNode *node = vjp->node;
  IrValue *data = is_true (vjp, ir_emit2 (vjp, "Equal", node->inputs[0], node->outputs[0]));
  IrValue *updates = is_true (
      vjp, ir_emit2 (vjp, "Equal", node->inputs[2], taken (vjp, node->outputs[0])));
  IrValue *share = ir_emit2 (vjp, "Div", vjp->dy[0], put (vjp, data, updates, "add"));

  vjp->dx[0] = ir_emit2 (vjp, "Mul", share, data);
  vjp->dx[2] = ir_emit2 (vjp, "Mul", taken (vjp, share), updates);
}

/* The product of the others at the same place: of all that are not 0, divided by this one, unless one of
 * the others is 0. */
static void
derive_product (IrVjp *vjp)
{
  const IrNode *node = vjp->node;
  IrValue *zero = ir_emit_number (vjp, 0), *one = ir_emit_number (vjp, 1);
  IrValue *none[2], *safe[2];

  for (guint i = 0; i < 2; i++)
    {
      IrValue *factor = node->inputs[2 * i], *is_none = ir_emit2 (vjp, "Equal", factor, zero);
      none[i] = is_true (vjp, is_none);
      safe[i] = ir_emit3 (vjp, "Where", is_none, one, factor);
    }
  IrValue *product = ir_emit2 (vjp, "Mul", vjp->dy[0], put (vjp, safe[0], safe[1], "mul"));
  IrValue *zeros = put (vjp, none[0], none[1], "add");
  for (guint i = 0; i < 2; i++)
    {
      IrValue *all = i == 0 ? product : taken (vjp, product),
              *n = i == 0 ? zeros : taken (vjp, zeros);
      vjp->dx[2 * i] = ir_emit3 (vjp, "Where", ir_emit2 (vjp, "Equal", n, none[i]),
                                 ir_emit2 (vjp, "Div", all, safe[i]), zero);
    }
}

gboolean
ir_vjp_scatter (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  const char *reduction = ir_node_attr_string (node, "reduction", "none");
  const gboolean add = strcmp (reduction, "add") == 0;

  if (!add && strcmp (reduction, "none") != 0)
    {
      if (!ir_emit_needs_opset (vjp, 18, error))
        return FALSE;
      (strcmp (reduction, "mul") == 0 ? derive_product : derive_extreme) (vjp);
      return TRUE;
    }
  if (vjp->wanted[0])
    vjp->dx[0] = add ? vjp->dy[0]
                     : put (vjp, vjp->dy[0], ir_emit_filled (vjp, node->inputs[2], 0), NULL);
  if (vjp->wanted[2])
    vjp->dx[2] = taken (vjp, vjp->dy[0]);
  return TRUE;
}

/* By the two values, off and on */
gboolean
ir_vjp_one_hot (IrVjp *vjp, GError **error)
{
  static const gint64 pair[] = { 0, 1 }, axis = 0;
  const IrNode *node = vjp->node;
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);
  IrValue *inputs[] = { node->inputs[0], node->inputs[1],
                        ir_emit_cast (vjp, ir_emit_ints (vjp, pair, 2), dtype) };
  IrNode *again = ir_emit_node (vjp, "OneHot", 3, inputs, 1);
  IrValue *parts[2];

  ir_emit_copy_attr (vjp, again, "axis");
  IrValue *dy = ir_emit_flat (vjp, vjp->dy[0]);
  IrValue *on = ir_emit_flat (vjp, ir_emit_end (vjp, again));
  IrValue *off = ir_emit2 (vjp, "Sub", ir_emit_number (vjp, 1), on);
  parts[0] = ir_emit_reduce (vjp, "ReduceSum", ir_emit2 (vjp, "Mul", dy, off), &axis, 1, TRUE);
  parts[1] = ir_emit_reduce (vjp, "ReduceSum", ir_emit2 (vjp, "Mul", dy, on), &axis, 1, TRUE);
  IrNode *concat = ir_emit_node (vjp, "Concat", 2, parts, 1);
  ir_emit_attr_int (vjp, concat, "axis", 0);
  vjp->dx[2] = ir_emit_end (vjp, concat);
  return TRUE;
}

/* Each value goes back to where its index says. */
gboolean
ir_vjp_top_k (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;

  vjp->dx[0] = scatter_elements (vjp, ir_emit_filled (vjp, node->inputs[0], 0),
                                 ir_emit_extra_output (vjp, 1), vjp->dy[0],
                                 ir_node_attr_int (node, "axis", -1), FALSE);
  return TRUE;
}

/* Each element, or slice along the axis, goes back to where it first stood. */
gboolean
ir_vjp_unique (IrVjp *vjp, GError **error)
{
  static const gint64 all = -1;
  const IrNode *node = vjp->node;
  IrValue *x = node->inputs[0], *first = ir_emit_extra_output (vjp, 1);
  const int rank = ir_value_rank (x);
  gint64 axis = ir_node_attr_int (node, "axis", 0), dims[IR_MAX_RANK];

  if (ir_node_attr (node, "axis") == NULL || rank == 1)
    {
      if (!ir_emit_needs_opset (vjp, 16, error))
        return FALSE;
      vjp->dx[0] = ir_emit_scatter_flat (vjp, x, first, vjp->dy[0]);
      return TRUE;
    }
  if (rank < 1)
    return ir_emit_fail (vjp, error, "the rank of its input is not known");
  axis += axis < 0 ? rank : 0;
  for (int i = 0; i < rank; i++)
    dims[i] = i == axis ? all : 1;
  IrValue *places = ir_emit2 (vjp, "Expand", ir_emit_reshape (vjp, first, dims, (guint) rank),
                              ir_emit_shape (vjp, vjp->dy[0]));
  vjp->dx[0] = scatter_elements (vjp, ir_emit_filled (vjp, x, 0), places, vjp->dy[0], axis, FALSE);
  return TRUE;
}
