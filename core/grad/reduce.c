/* Derivatives of reductions and sums along an axis. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"
#include "core/op/op.h"

#include <string.h>

/* What stands for each sum, repeated for each element of the input. */
static IrValue *
spread (const IrVjp *vjp, IrValue *value)
{
  const IrNode *node = vjp->node;
  IrValue *x = node->inputs[0], *axes_input = ir_node_input (node, 1);
  guint n = 0;
  const gint64 *axes = ir_node_attr_ints (node, "axes", &n);

  if (ir_node_attr_int (node, "keepdims", 1) == 0 && axes_input != NULL)
    value = ir_emit2 (vjp, "Unsqueeze", value, axes_input);
  else if (ir_node_attr_int (node, "keepdims", 1) == 0 && axes != NULL && n > 0)
    value = ir_emit_unsqueeze (vjp, value, axes, n);
  return ir_emit2 (vjp, "Expand", value, ir_emit_shape (vjp, x));
}

/* Another reduction of @value over the same axes, with the reduced ones left at 1 or not as here. */
static IrValue *
reduce_again (const IrVjp *vjp, const char *op, IrValue *value)
{
  IrValue *inputs[2] = { value, ir_node_input (vjp->node, 1) };
  gint64 opset = ir_graph_opset (vjp->graph, "");
  gboolean sum = strcmp (op, "ReduceSum") == 0;
  guint n_axes = 0;
  const gint64 *axes = ir_node_attr_ints (vjp->node, "axes", &n_axes);
  gboolean as_input = axes != NULL && sum && (opset == 0 || opset >= 13);

  if (as_input)
    inputs[1] = ir_emit_ints (vjp, axes, n_axes);
  IrNode *node = ir_emit_node (vjp, op, inputs[1] != NULL ? 2 : 1, inputs, 1);
  ir_emit_copy_attr (vjp, node, "keepdims");
  if (!as_input)
    ir_emit_copy_attr (vjp, node, "axes");
  ir_emit_copy_attr (vjp, node, "noop_with_empty_axes");
  return ir_emit_end (vjp, node);
}

gboolean
ir_vjp_reduce_sum (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = spread (vjp, vjp->dy[0]);
  return TRUE;
}

gboolean
ir_vjp_reduce_sum_square (IrVjp *vjp, GError **error)
{
  IrValue *twice = ir_emit2 (vjp, "Mul", vjp->node->inputs[0], ir_emit_number (vjp, 2));

  vjp->dx[0] = ir_emit2 (vjp, "Mul", spread (vjp, vjp->dy[0]), twice);
  return TRUE;
}

/* How many elements each result is made of */
static IrValue *
group_size (const IrVjp *vjp)
{
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);
  guint64 n, m;

  if (ir_type_n_elements (vjp->node->inputs[0]->type, &n) &&
      ir_type_n_elements (vjp->node->outputs[0]->type, &m) && m > 0)
    return ir_emit_number (vjp, (double) n / (double) m);
  return ir_emit2 (vjp, "Div",
                   ir_emit_cast (vjp, ir_emit1 (vjp, "Size", vjp->node->inputs[0]), dtype),
                   ir_emit_cast (vjp, ir_emit1 (vjp, "Size", vjp->node->outputs[0]), dtype));
}

gboolean
ir_vjp_reduce_mean (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = ir_emit2 (vjp, "Div", spread (vjp, vjp->dy[0]), group_size (vjp));
  return TRUE;
}

/* Elements that are the result share what comes. */
gboolean
ir_vjp_reduce_extreme (IrVjp *vjp, GError **error)
{
  IrValue *x = vjp->node->inputs[0];
  IrValue *chosen = ir_emit_cast (vjp,
                                  ir_emit2 (vjp, "Equal", x, spread (vjp, vjp->node->outputs[0])),
                                  ir_value_dtype (vjp->dy[0]));
  IrValue *share = ir_emit2 (vjp, "Div", vjp->dy[0], reduce_again (vjp, "ReduceSum", chosen));

  vjp->dx[0] = ir_emit2 (vjp, "Mul", spread (vjp, share), chosen);
  return TRUE;
}

/* The product of the others: y / x, but where there is one zero only that has a derivative. */
gboolean
ir_vjp_reduce_prod (IrVjp *vjp, GError **error)
{
  IrValue *x = vjp->node->inputs[0], *zero = ir_emit_number (vjp, 0);
  IrValue *one = ir_emit_number (vjp, 1);
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);
  IrValue *is_zero = ir_emit2 (vjp, "Equal", x, zero);
  IrValue *safe = ir_emit3 (vjp, "Where", is_zero, one, x);
  IrValue *product = spread (vjp, reduce_again (vjp, "ReduceProd", safe));
  IrValue *zeros = spread (vjp,
                           reduce_again (vjp, "ReduceSum", ir_emit_cast (vjp, is_zero, dtype)));
  IrValue *others = ir_emit2 (vjp, "Sub", zeros, ir_emit_cast (vjp, is_zero, dtype));
  IrValue *slope = ir_emit3 (vjp, "Where", ir_emit2 (vjp, "Equal", others, zero),
                             ir_emit2 (vjp, "Div", product, safe), zero);

  vjp->dx[0] = ir_emit2 (vjp, "Mul", spread (vjp, vjp->dy[0]), slope);
  return TRUE;
}

gboolean
ir_vjp_reduce_l1 (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = ir_emit2 (vjp, "Mul", spread (vjp, vjp->dy[0]),
                         ir_emit1 (vjp, "Sign", vjp->node->inputs[0]));
  return TRUE;
}

/* x / y, and 0 where y is 0, as frameworks do */
gboolean
ir_vjp_reduce_l2 (IrVjp *vjp, GError **error)
{
  IrValue *y = vjp->node->outputs[0], *zero = ir_emit_number (vjp, 0);
  IrValue *none = ir_emit2 (vjp, "Equal", y, zero);
  IrValue *safe = ir_emit3 (vjp, "Where", none, ir_emit_number (vjp, 1), y);
  IrValue *part = ir_emit3 (vjp, "Where", none, zero, ir_emit2 (vjp, "Div", vjp->dy[0], safe));

  vjp->dx[0] = ir_emit2 (vjp, "Mul", spread (vjp, part), vjp->node->inputs[0]);
  return TRUE;
}

gboolean
ir_vjp_reduce_log_sum (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = spread (
      vjp, ir_emit2 (vjp, "Div", vjp->dy[0], ir_emit1 (vjp, "Exp", vjp->node->outputs[0])));
  return TRUE;
}

gboolean
ir_vjp_reduce_log_sum_exp (IrVjp *vjp, GError **error)
{
  IrValue *below = ir_emit2 (vjp, "Sub", vjp->node->inputs[0], spread (vjp, vjp->node->outputs[0]));

  vjp->dx[0] = ir_emit2 (vjp, "Mul", spread (vjp, vjp->dy[0]), ir_emit1 (vjp, "Exp", below));
  return TRUE;
}

/* Summed up from the other end */
gboolean
ir_vjp_cum_sum (IrVjp *vjp, GError **error)
{
  IrValue *inputs[] = { vjp->dy[0], vjp->node->inputs[1] };
  IrNode *node = ir_emit_node (vjp, "CumSum", 2, inputs, 1);

  ir_emit_copy_attr (vjp, node, "exclusive");
  ir_emit_attr_int (vjp, node, "reverse", !ir_node_attr_int (vjp->node, "reverse", 0));
  vjp->dx[0] = ir_emit_end (vjp, node);
  return TRUE;
}
