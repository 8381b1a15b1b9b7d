/* Inference of the optimizers of ai.onnx.preview.training, and what they cost. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

#define FIRST 2 /* R and T come before the variables */

static gboolean
check_scalar (const IrCall *call, guint slot, GError **error)
{
  const IrType *type = ir_call_input_type (call, slot);
  guint64 n;

  return type == NULL || !ir_type_n_elements (type, &n) || n == 1 ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u must be one number", slot);
}

/* All tensors of a variable have the type of the first, as far as both are known. */
static gboolean
check_variable (const IrCall *call, guint first, guint other, GError **error)
{
  const IrType *type = ir_call_input_type (call, first);
  const IrType *found = ir_call_input_type (call, other);

  if (type == NULL || found == NULL || ir_type_merge (call->context, type, found) != NULL)
    return TRUE;
  g_autofree char *found_text = ir_type_to_string (call->context, found);
  g_autofree char *text = ir_type_to_string (call->context, type);
  return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "input %u is %s, the variable at input %u is %s", other, found_text, first,
                       text);
}

/* @n_in tensors of each variable go in: X, G, then states; X and the states come out. */
static gboolean
infer_optimizer (IrCall *call, guint n_in, GError **error)
{
  guint n = call->n_inputs > FIRST ? (call->n_inputs - FIRST) / n_in : 0;

  if (n == 0 || n * n_in + FIRST != call->n_inputs || call->n_outputs > n * (n_in - 1))
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY,
                         "%u inputs and %u outputs; needed are R, T and then %u inputs and %u "
                         "outputs for each variable",
                         call->n_inputs, call->n_outputs, n_in, n_in - 1);
  if (!check_scalar (call, 0, error) || !check_scalar (call, 1, error) ||
      !ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  for (guint variable = 0; variable < n; variable++)
    for (guint part = 1; part < n_in; part++)
      if (!check_variable (call, FIRST + variable, FIRST + part * n + variable, error))
        return FALSE;
  for (guint slot = 0; slot < call->n_outputs; slot++)
    ir_call_set_output_type (call, slot, ir_call_input_type (call, FIRST + slot % n));
  return TRUE;
}

/* R, T, then X, G and H of each variable. Fails with %IR_OP_ERROR_ARITY if the inputs are not as
 * many as the variables need. The functions below do the same for the other optimizers. Source:
 * ONNX ai.onnx.preview.training Adagrad 1. */
gboolean
ir_infer_adagrad (IrCall *call, GError **error)
{
  return infer_optimizer (call, 3, error);
}

/* R, T, then X, G, V and H of each variable. */
gboolean
ir_infer_adam (IrCall *call, GError **error)
{
  return infer_optimizer (call, 4, error);
}

/* R, T, then X, G and V of each variable. */
gboolean
ir_infer_momentum (IrCall *call, GError **error)
{
  return infer_optimizer (call, 3, error);
}

/* Some five operations for every element that goes in. */
guint64
ir_cost_optimizer (const IrCall *call)
{
  guint64 sum = 0;

  for (guint slot = FIRST; slot < call->n_inputs; slot++)
    sum += MIN (ir_mul_saturated (5, ir_type_count (ir_call_input_type (call, slot))),
                G_MAXUINT64 - sum);
  return sum;
}

/* -- derivatives -- */

/* A derivative has the type of the value that it is by. Source: ONNX ai.onnx.preview.training
 * Gradient 1. */
gboolean
ir_infer_gradient (IrCall *call, GError **error)
{
  const IrAttr *xs = ir_call_attr (call, "xs");

  if (xs == NULL || xs->kind != IR_ATTR_STRINGS || call->n_outputs > xs->n ||
      call->n_inputs < xs->n)
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY,
                         "%u inputs and %u outputs do not fit what xs names", call->n_inputs,
                         call->n_outputs);
  for (guint slot = 0; slot < call->n_outputs; slot++)
    ir_call_set_output_type (call, slot, ir_call_input_type (call, slot));
  return TRUE;
}

/* X, and a tensor whose shape broadcasts to that of X */
gboolean
ir_infer_reduce_sum_to (IrCall *call, GError **error)
{
  int from = ir_call_input_rank (call, 0), to = ir_call_input_rank (call, 1);
  const IrDim *dims = ir_call_input_dims (call, 0), *wanted = ir_call_input_dims (call, 1);

  for (int i = 0; from != IR_RANK_UNKNOWN && i < to; i++)
    if (to > from || (ir_dim_is_known (dims[from - to + i]) && ir_dim_is_known (wanted[i]) &&
                      wanted[i] != 1 && wanted[i] != dims[from - to + i]))
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                           "the shape of like does not broadcast to that of X");
  ir_call_same_shape (call, 0, 1, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* One for each of @needed axes or ends. Places in a window are computed from them, and must not overflow. */
static gboolean
check_steps (IrCall *call, const char *name, guint needed, gint64 least, GError **error)
{
  guint n = 0;
  const gint64 *steps = ir_call_ints (call, name, &n);

  if (steps != NULL && n != needed)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "%s has %u numbers, %u are needed",
                         name, n, needed);
  for (guint i = 0; i < n; i++)
    if (steps[i] < least || steps[i] > G_MAXINT32)
      return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                           "%s has %" G_GINT64_FORMAT ", needed %" G_GINT64_FORMAT " to %d", name,
                           steps[i], least, G_MAXINT32);
  return TRUE;
}

/* X [N, C, ...] and dY [N, M, ...] to [M, C / group, kernel...] */
gboolean
ir_infer_conv_grad_weight (IrCall *call, GError **error)
{
  const IrDim *x = ir_call_input_dims (call, 0), *dy = ir_call_input_dims (call, 1);
  int rank = ir_call_input_rank (call, 0);
  gint64 group = ir_call_int (call, "group", 1);
  IrDim dims[IR_MAX_RANK];
  guint n = 0;
  const gint64 *kernel = ir_call_ints (call, "kernel_shape", &n);

  if (rank == IR_RANK_UNKNOWN || ir_call_input_rank (call, 1) == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank < 3 || ir_call_input_rank (call, 1) != rank || kernel == NULL || (int) n != rank - 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "X and dY need a batch, channels and as many spatial axes as kernel_shape "
                         "has sizes");
  if (group < 1 || (ir_dim_is_known (x[1]) && x[1] % group != 0) ||
      (ir_dim_is_known (dy[1]) && dy[1] % group != 0))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "the channels of X and dY must be multiples of group");
  if (ir_dim_is_known (x[0]) && ir_dim_is_known (dy[0]) && x[0] != dy[0])
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X and dY have batches of two sizes");
  dims[0] = dy[1];
  dims[1] = ir_dim_is_known (x[1]) ? x[1] / group : IR_DIM_UNKNOWN;
  for (guint i = 0; i < n; i++)
    if (kernel[i] < 1 || kernel[i] > G_MAXINT32)
      return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                           "kernel_shape has a size below 1, or too large a one");
    else
      dims[i + 2] = kernel[i];
  if (!check_steps (call, "strides", n, 1, error) ||
      !check_steps (call, "dilations", n, 1, error) || !check_steps (call, "pads", 2 * n, 0, error))
    return FALSE;
  ir_call_set_output_type (
      call, 0, ir_type_tensor (call->context, ir_call_input_dtype (call, 0), rank, dims));
  return TRUE;
}

/* As many products as the convolution has. */
guint64
ir_cost_conv_grad_weight (const IrCall *call)
{
  const IrDim *dims = call->outputs[0].type != NULL ? call->outputs[0].type->dims : NULL;
  guint64 per_place = 2;

  for (int i = 1; dims != NULL && i < call->outputs[0].type->rank; i++)
    per_place = ir_mul_saturated (per_place, ir_dim_is_known (dims[i]) ? (guint64) dims[i] : 1);
  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 1)), per_place);
}
