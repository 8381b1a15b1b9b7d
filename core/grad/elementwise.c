/* Derivatives of elementwise operators that an expression per input does not say. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"
#include "core/op/op.h"

#include <math.h>
#include <string.h>

/* -- any number of inputs -- */

gboolean
ir_vjp_sum (IrVjp *vjp, GError **error)
{
  for (guint i = 0; i < vjp->node->n_inputs; i++)
    if (vjp->wanted[i])
      vjp->dx[i] = ir_emit_sum_to (vjp, vjp->dy[0], vjp->node->inputs[i]);
  return TRUE;
}

gboolean
ir_vjp_mean (IrVjp *vjp, GError **error)
{
  IrValue *part = ir_emit2 (vjp, "Div", vjp->dy[0], ir_emit_number (vjp, vjp->node->n_inputs));

  for (guint i = 0; i < vjp->node->n_inputs; i++)
    if (vjp->wanted[i])
      vjp->dx[i] = ir_emit_sum_to (vjp, part, vjp->node->inputs[i]);
  return TRUE;
}

/* Max, Min: those that are the result share what comes. */
gboolean
ir_vjp_extreme (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);
  g_autofree IrValue **chosen = g_new0 (IrValue *, node->n_inputs + 1);

  for (guint i = 0; i < node->n_inputs; i++)
    chosen[i] = ir_emit_cast (vjp, ir_emit2 (vjp, "Equal", node->inputs[i], node->outputs[0]),
                              dtype);
  IrValue *part = ir_emit2 (vjp, "Div", vjp->dy[0], ir_emit (vjp, "Sum", node->n_inputs, chosen));
  for (guint i = 0; i < node->n_inputs; i++)
    if (vjp->wanted[i])
      vjp->dx[i] = ir_emit_sum_to (vjp, ir_emit2 (vjp, "Mul", part, chosen[i]), node->inputs[i]);
  return TRUE;
}

/* -- bounds -- */

/* (nullable) A bound of Clip: an input, or before opset 11 an attribute. */
static IrValue *
bound_of (const IrVjp *vjp, guint slot, const char *attr)
{
  if (ir_node_input (vjp->node, slot) != NULL)
    return vjp->node->inputs[slot];
  return ir_node_attr (vjp->node, attr) != NULL
             ? ir_emit_number (vjp, (double) ir_node_attr_float (vjp->node, attr, 0))
             : NULL;
}

/* What comes where @condition holds, 0 elsewhere */
static IrValue *
where (const IrVjp *vjp, IrValue *condition, IrValue *value)
{
  return ir_emit3 (vjp, "Where", condition, value, ir_emit_number (vjp, 0));
}

/* Where the bounds are the wrong way round, all is the upper one. */
gboolean
ir_vjp_clip (IrVjp *vjp, GError **error)
{
  IrValue *x = vjp->node->inputs[0], *low = bound_of (vjp, 1, "min");
  IrValue *high = bound_of (vjp, 2, "max"), *dx = vjp->dy[0];

  if (low != NULL)
    dx = where (vjp, ir_emit2 (vjp, "Greater", x, low), dx);
  if (high != NULL)
    dx = where (vjp, ir_emit2 (vjp, "Less", x, high), dx);
  if (vjp->wanted[0])
    vjp->dx[0] = dx;
  if (vjp->node->n_inputs > 1 && vjp->wanted[1])
    {
      IrValue *below = ir_emit2 (vjp, "Less", x, low);
      if (high != NULL)
        below = ir_emit2 (vjp, "And", below, ir_emit2 (vjp, "Less", low, high));
      vjp->dx[1] = ir_emit_sum_to (vjp, where (vjp, below, vjp->dy[0]), low);
    }
  if (vjp->node->n_inputs > 2 && vjp->wanted[2])
    {
      IrValue *raised = low != NULL ? ir_emit2 (vjp, "Max", x, low) : x;
      vjp->dx[2] = ir_emit_sum_to (
          vjp, where (vjp, ir_emit2 (vjp, "Greater", raised, high), vjp->dy[0]), high);
    }
  return TRUE;
}

gboolean
ir_vjp_cast (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = ir_emit_cast (vjp, vjp->dy[0], ir_value_dtype (vjp->node->inputs[0]));
  return TRUE;
}

/* -- Gelu: normal distribution Phi and density phi at x -- */

static IrValue *
gelu_exact_slope (const IrVjp *vjp, IrValue *x)
{
  IrValue *scaled = ir_emit2 (vjp, "Mul", x, ir_emit_number (vjp, M_SQRT1_2));
  IrValue *cdf = ir_emit2 (
      vjp, "Mul", ir_emit2 (vjp, "Add", ir_emit1 (vjp, "Erf", scaled), ir_emit_number (vjp, 1)),
      ir_emit_number (vjp, 0.5));
  IrValue *exponent = ir_emit1 (vjp, "Neg", ir_emit2 (vjp, "Mul", scaled, scaled));
  IrValue *density = ir_emit2 (vjp, "Mul", ir_emit1 (vjp, "Exp", exponent),
                               ir_emit_number (vjp, 0.5 * M_2_SQRTPI * M_SQRT1_2));

  return ir_emit2 (vjp, "Add", cdf, ir_emit2 (vjp, "Mul", x, density));
}

/* t = tanh u, u = k (x + c x^3): (1 + t) / 2 + x (1 - t^2) / 2 k (1 + 3 c x^2) */
static IrValue *
gelu_tanh_slope (const IrVjp *vjp, IrValue *x)
{
  const double k = M_SQRT2 * M_2_SQRTPI * 0.5, c = 0.044715;
  IrValue *one = ir_emit_number (vjp, 1), *half = ir_emit_number (vjp, 0.5);
  IrValue *square = ir_emit2 (vjp, "Mul", x, x);
  IrValue *inner = ir_emit2 (vjp, "Add", one,
                             ir_emit2 (vjp, "Mul", square, ir_emit_number (vjp, c)));
  IrValue *u = ir_emit2 (vjp, "Mul", ir_emit2 (vjp, "Mul", x, inner), ir_emit_number (vjp, k));
  IrValue *t = ir_emit1 (vjp, "Tanh", u);
  IrValue *left = ir_emit2 (vjp, "Mul", ir_emit2 (vjp, "Add", one, t), half);
  IrValue *flank = ir_emit2 (vjp, "Mul", ir_emit2 (vjp, "Sub", one, ir_emit2 (vjp, "Mul", t, t)),
                             half);
  IrValue *slope = ir_emit2 (
      vjp, "Mul",
      ir_emit2 (vjp, "Add", one, ir_emit2 (vjp, "Mul", square, ir_emit_number (vjp, 3 * c))),
      ir_emit_number (vjp, k));

  return ir_emit2 (vjp, "Add", left, ir_emit2 (vjp, "Mul", flank, ir_emit2 (vjp, "Mul", x, slope)));
}

gboolean
ir_vjp_gelu (IrVjp *vjp, GError **error)
{
  gboolean by_tanh = ir_op_is (vjp->node, IR_OP_LATE_GELU_TANH) ||
                     strcmp (ir_node_attr_string (vjp->node, "approximate", "none"), "tanh") == 0;
  IrValue *x = vjp->node->inputs[0];

  if (ir_value_dtype (x) == IR_DTYPE_FLOAT)
    vjp->dx[0] = ir_emit2 (vjp, by_tanh ? "irscope.GeluTanhGrad" : "irscope.GeluGrad", vjp->dy[0],
                           x);
  else
    vjp->dx[0] = ir_emit2 (vjp, "Mul", vjp->dy[0],
                           by_tanh ? gelu_tanh_slope (vjp, x) : gelu_exact_slope (vjp, x));
  return TRUE;
}

/* -- Dropout: the mask of the run -- */

/* The mask, where it may drop some. */
guint
ir_keep_mask (const IrNode *node)
{
  const IrValue *training = ir_node_input (node, 2);
  const IrTensor *known = training != NULL ? ir_value_constant (training) : NULL;

  return training != NULL && (known == NULL || ir_tensor_get_double (known, 0) != 0) ? 1 : 0;
}

gboolean
ir_vjp_dropout (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrValue *ratio = ir_node_input (node, 1), *training = ir_node_input (node, 2);
  const IrTensor *known = training != NULL ? ir_value_constant (training) : NULL;
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);

  vjp->dx[0] = vjp->dy[0];
  if (training == NULL || (known != NULL && ir_tensor_get_double (known, 0) == 0))
    return TRUE;
  IrValue *kept = where (vjp, ir_emit_extra_output (vjp, 1), vjp->dy[0]);
  IrValue *part = ratio != NULL ? ir_emit_cast (vjp, ratio, dtype) : ir_emit_number (vjp, 0.5);
  IrValue *scaled = ir_emit2 (vjp, "Div", kept,
                              ir_emit2 (vjp, "Sub", ir_emit_number (vjp, 1), part));
  vjp->dx[0] = known != NULL ? scaled : ir_emit3 (vjp, "Where", training, scaled, vjp->dy[0]);
  return TRUE;
}

/* -- quantization, straight through: rounding counts as the identity inside the range -- */

/* The scale in the rank of the data: one number, or one per slice along axis. */
static IrValue *
along_axis (const IrVjp *vjp, IrValue *value)
{
  gint64 dims[IR_MAX_RANK], axis = ir_node_attr_int (vjp->node, "axis", 1);
  int rank = ir_value_rank (vjp->node->inputs[0]);

  if (ir_value_rank (value) != 1 || rank < 1)
    return value;
  for (int i = 0; i < rank; i++)
    dims[i] = i == (axis < 0 ? axis + rank : axis) ? -1 : 1;
  return ir_emit_reshape (vjp, value, dims, (guint) rank);
}

static gboolean
quantization_is_simple (const IrVjp *vjp, GError **error)
{
  if (ir_node_attr_int (vjp->node, "block_size", 0) != 0)
    return ir_emit_fail (vjp, error, "it quantizes in blocks, which have no rule");
  if (vjp->wanted[1] || (vjp->node->n_inputs > 2 && vjp->wanted[2]))
    return ir_emit_fail (vjp, error, "there is no rule for its scale; derive by its data");
  return TRUE;
}

static gboolean
range_of (IrDtype dtype, double *low, double *high)
{
  switch ((int) dtype)
    {
    case IR_DTYPE_UINT8:
      return *low = 0, *high = 255, TRUE;
    case IR_DTYPE_INT8:
      return *low = -128, *high = 127, TRUE;
    case IR_DTYPE_UINT16:
      return *low = 0, *high = 65535, TRUE;
    case IR_DTYPE_INT16:
      return *low = -32768, *high = 32767, TRUE;
    case IR_DTYPE_UINT4:
      return *low = 0, *high = 15, TRUE;
    case IR_DTYPE_INT4:
      return *low = -8, *high = 7, TRUE;
    default:
      return FALSE;
    }
}

gboolean
ir_vjp_quantize (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);
  double low, high;

  if (!quantization_is_simple (vjp, error))
    return FALSE;
  if (!range_of (ir_value_dtype (node->outputs[0]), &low, &high))
    return ir_emit_fail (vjp, error, "the range of its output's type has no rule");
  IrValue *scale = along_axis (vjp, ir_emit_cast (vjp, node->inputs[1], dtype));
  IrValue *place = ir_emit2 (vjp, "Div", ir_emit_cast (vjp, node->inputs[0], dtype), scale);
  if (ir_node_input (node, 2) != NULL)
    place = ir_emit2 (vjp, "Add", place,
                      along_axis (vjp, ir_emit_cast (vjp, node->inputs[2], dtype)));
  IrValue *dx = ir_emit2 (vjp, "Div", vjp->dy[0], scale);
  dx = where (vjp, ir_emit2 (vjp, "Less", place, ir_emit_number (vjp, high + 0.5)), dx);
  dx = where (vjp, ir_emit2 (vjp, "Greater", place, ir_emit_number (vjp, low - 0.5)), dx);
  vjp->dx[0] = ir_emit_cast (vjp, dx, ir_value_dtype (node->inputs[0]));
  return TRUE;
}

/* What comes back has the type of the scale. */
gboolean
ir_vjp_dequantize (IrVjp *vjp, GError **error)
{
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);

  if (!quantization_is_simple (vjp, error))
    return FALSE;
  IrValue *scale = along_axis (vjp, ir_emit_cast (vjp, vjp->node->inputs[1], dtype));
  vjp->dx[0] = ir_emit2 (vjp, "Mul", vjp->dy[0], scale);
  return TRUE;
}
