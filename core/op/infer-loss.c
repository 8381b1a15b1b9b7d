/* Inference and cost of losses of classification. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"
#include <string.h>

/* Weight: one number per class. */
static gboolean
check_weight (const IrCall *call, IrDim classes, GError **error)
{
  int rank = ir_call_input_rank (call, 2);
  IrDim same;

  IrDtype dtype = ir_call_input_dtype (call, 2);
  if (dtype != IR_DTYPE_UNDEFINED && dtype != ir_call_input_dtype (call, 0))
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "weight is %s, input 0 is %s",
                         ir_dtype_name (dtype), ir_dtype_name (ir_call_input_dtype (call, 0)));
  if (rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "weight has %d dims, 1 is needed", rank);
  return ir_call_same_dim (call, ir_call_input_dims (call, 2)[0], classes,
                           "the dims of weight and of the classes", &same, error);
}

/* Dims of the targets [N, ...], the more specific of what both inputs say. */
static gboolean
target_dims (const IrCall *call, int *rank, IrDim *dims, GError **error)
{
  int n_input = ir_call_input_rank (call, 0), n_target = ir_call_input_rank (call, 1);
  const IrDim *input = ir_call_input_dims (call, 0), *target = ir_call_input_dims (call, 1);

  *rank = n_target;
  for (int i = 0; i < n_target; i++)
    dims[i] = target[i];
  if (n_input == IR_RANK_UNKNOWN)
    return TRUE;
  if (n_input < 2 || (n_target != IR_RANK_UNKNOWN && n_target != n_input - 1))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "input 0 has %d dims, the targets %d; [N, C, ...] and [N, ...] are needed",
                         n_input, n_target);
  *rank = n_input - 1;
  for (int i = 0; i < *rank; i++)
    {
      IrDim own = input[i == 0 ? 0 : i + 1];
      IrDim other = n_target != IR_RANK_UNKNOWN ? target[i] : IR_DIM_UNKNOWN;
      if (!ir_call_same_dim (call, own, other, "dims of input 0 and of the targets", &dims[i],
                             error))
        return FALSE;
    }
  return check_weight (call, input[1], error);
}

/* Input [N, C, ...], target [N, ...], weight [C] or none. Sets the output to a scalar or,
 * without reduction, to [N, ...]. Source: ONNX NegativeLogLikelihoodLoss 22. */
gboolean
ir_infer_nll_loss (IrCall *call, GError **error)
{
  const char *reduction = ir_call_string (call, "reduction", "mean");
  IrDim dims[IR_MAX_RANK];
  int rank;

  if (!ir_call_check_integers (call, 1, 1, error) || !target_dims (call, &rank, dims, error))
    return FALSE;
  if (strcmp (reduction, "none") != 0)
    {
      if (strcmp (reduction, "mean") != 0 && strcmp (reduction, "sum") != 0)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "reduction is \"%s\"; none, sum or mean is needed", reduction);
      rank = 0;
    }
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, dims);
  return TRUE;
}

/* Scores [N, C, ...], labels [N, ...], weights [C] or none. As ir_infer_nll_loss(); log_prob has
 * the type of the scores. Source: ONNX SoftmaxCrossEntropyLoss 13. */
gboolean
ir_infer_softmax_cross_entropy_loss (IrCall *call, GError **error)
{
  if (!ir_infer_nll_loss (call, error))
    return FALSE;
  if (call->n_outputs > 1)
    ir_call_same_shape (call, 1, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* Per score: maximum, difference, exponential, sum, and the logarithm's difference. */
guint64
ir_cost_softmax_cross_entropy_loss (const IrCall *call)
{
  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 0)), 5);
}
