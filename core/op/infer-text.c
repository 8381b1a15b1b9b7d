/* Inference of operators on strings, and of Unique. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"
#include <string.h>

/* X [C] or [1, C], strings. The number of words that stay is not known before. Source: ONNX
 * StringNormalizer 10. */
gboolean
ir_infer_string_normalizer (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  IrDim result[2] = { 1, IR_DIM_UNKNOWN };

  if (dtype != IR_DTYPE_UNDEFINED && dtype != IR_DTYPE_STRING)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X is %s, strings are needed",
                         ir_dtype_name (dtype));
  if (rank != IR_RANK_UNKNOWN && rank != 1 &&
      (rank != 2 || (ir_dim_is_known (dims[0]) && dims[0] != 1)))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X must be [C] or [1, C]");
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_STRING, rank, rank == 2 ? result : &result[1]);
  return TRUE;
}

/* X [C] or [N, C]. Sets the output to [columns] or [N, columns], float; columns is one more than
 * the largest of ngram_indexes. Source: ONNX TfIdfVectorizer 9. */
gboolean
ir_infer_tf_idf_vectorizer (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  guint n = 0;
  const gint64 *indexes = ir_call_ints (call, "ngram_indexes", &n);
  IrDim dims[2] = { IR_DIM_UNKNOWN, 0 };

  for (guint i = 0; i < n; i++)
    {
      if (indexes[i] < 0 || indexes[i] >= G_MAXINT32)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "ngram_indexes has the column %" G_GINT64_FORMAT, indexes[i]);
      dims[1] = MAX (dims[1], indexes[i] + 1);
    }
  if (rank != IR_RANK_UNKNOWN && rank != 1 && rank != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has %d dims, 1 or 2 are needed", rank);
  if (rank == 2)
    dims[0] = ir_call_input_dims (call, 0)[0];
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_FLOAT, rank, rank == 2 ? dims : &dims[1]);
  return TRUE;
}

/* X. How many are different is not known before; inverse_indices has an element for each slice.
 * Source: ONNX Unique 11. */
gboolean
ir_infer_unique (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  gboolean flat = ir_call_attr (call, "axis") == NULL;
  IrDim result[IR_MAX_RANK] = { IR_DIM_UNKNOWN }, unknown = IR_DIM_UNKNOWN, slices;
  gint64 axis = 0;

  if (!flat && rank != IR_RANK_UNKNOWN &&
      !ir_call_axis (call, ir_call_int (call, "axis", 0), rank, &axis, error))
    return FALSE;
  if (rank == IR_RANK_UNKNOWN)
    slices = IR_DIM_UNKNOWN;
  else
    slices = flat ? ir_dims_product (call->context, dims, 0, (guint) rank) : dims[axis];
  for (int i = 0; !flat && i < rank; i++)
    result[i] = i == axis ? IR_DIM_UNKNOWN : dims[i];
  ir_call_set_output_tensor_type (call, 0, dtype, flat ? 1 : rank, result);
  for (guint slot = 1; slot < call->n_outputs; slot++)
    ir_call_set_output_tensor_type (call, slot, IR_DTYPE_INT64, 1, slot == 2 ? &slices : &unknown);
  return TRUE;
}

static gboolean
check_strings (const IrCall *call, guint slot, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, slot);

  return dtype == IR_DTYPE_UNDEFINED || dtype == IR_DTYPE_STRING ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "input %u is %s, strings are needed", slot,
                       ir_dtype_name (dtype));
}

/* X and Y, strings. Source: ONNX StringConcat 20. */
gboolean
ir_infer_string_concat (IrCall *call, GError **error)
{
  IrDim dims[IR_MAX_RANK];
  int rank;

  if (!check_strings (call, 0, error) || !check_strings (call, 1, error) ||
      !ir_call_broadcast_inputs (call, 0, 2, &rank, dims, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_STRING, rank, dims);
  return TRUE;
}

/* X, strings. Sets Y to the shape of X and one more dim, which is not known before, and Z to
 * that of X. Source: ONNX StringSplit 20. */
gboolean
ir_infer_string_split (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  IrDim result[IR_MAX_RANK];

  if (!check_strings (call, 0, error))
    return FALSE;
  if (rank >= IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "X has %d dims, at most %d are supported",
                         rank, IR_MAX_RANK - 1);
  for (int i = 0; i < rank; i++)
    result[i] = dims[i];
  if (rank != IR_RANK_UNKNOWN)
    result[rank] = IR_DIM_UNKNOWN;
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_STRING,
                                  rank != IR_RANK_UNKNOWN ? rank + 1 : rank, result);
  ir_call_same_shape (call, 1, 0, IR_DTYPE_INT64);
  return TRUE;
}

/* X [C] or [N, C], strings. How many tokens there are is not known before. Source: com.microsoft
 * Tokenizer 1. */
gboolean
ir_infer_tokenizer (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *x = ir_call_input_dims (call, 0);
  IrDim dims[3] = { IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN };

  if (!check_strings (call, 0, error))
    return FALSE;
  if (rank != IR_RANK_UNKNOWN && rank != 1 && rank != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has %d dims, 1 or 2 are needed", rank);
  if (ir_call_int (call, "mincharnum", 0) < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "mincharnum must be at least 1");
  for (int i = 0; i < rank; i++)
    dims[i] = x[i];
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_STRING,
                                  rank != IR_RANK_UNKNOWN ? rank + 1 : rank, dims);
  return TRUE;
}

/* X, strings. Source: ONNX RegexFullMatch 20. */
gboolean
ir_infer_regex_full_match (IrCall *call, GError **error)
{
  if (!check_strings (call, 0, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, IR_DTYPE_BOOL);
  return TRUE;
}
