/* Inference of operators on sequences and optionals. The type of a sequence's items has the dims
 * that all of them share; the number of items is never known before. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

static const IrType *
unknown_tensor (const IrCall *call)
{
  return ir_type_tensor (call->context, IR_DTYPE_UNDEFINED, IR_RANK_UNKNOWN, NULL);
}

/* The items' type of input @slot; NULL without failure if it is not known. */
static gboolean
input_element (const IrCall *call, guint slot, const IrType **element, GError **error)
{
  const IrType *type = ir_call_input_type (call, slot);

  *element = NULL;
  if (type == NULL)
    return TRUE;
  if (type->kind != IR_TYPE_SEQUENCE)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "input %u must be a sequence", slot);
  *element = type->element;
  return TRUE;
}

static gboolean
check_position (const IrCall *call, guint slot, GError **error)
{
  return !ir_call_has_input (call, slot) || ir_call_check_integers (call, slot, 1, error);
}

static gboolean
check_tensor (const IrCall *call, guint slot, GError **error)
{
  const IrType *type = ir_call_input_type (call, slot);

  return type == NULL || ir_type_is_tensor (type) ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "input %u must be a tensor", slot);
}

static void
set_sequence (IrCall *call, const IrType *element)
{
  ir_call_set_output_type (
      call, 0, ir_type_sequence (call->context, element != NULL ? element : unknown_tensor (call)));
}

/**
 * ir_type_join:
 * @call: for messages and the context
 * @a: (nullable): a type
 * @b: (nullable): another
 * @join: (out) (nullable): what holds for a value that has one of the two; dims that differ are
 *   unknown; %NULL if one of them is
 * @error: return location for an error
 *
 * Fails with %IR_OP_ERROR_DTYPE if no value could have both kinds or element types.
 *
 * Returns: %TRUE if there is such a type, or it is not known
 */
gboolean
ir_type_join (
    const IrCall *call, const IrType *a, const IrType *b, const IrType **join, GError **error)
{
  IrDim dims[IR_MAX_RANK];
  const IrType *element;

  *join = NULL;
  if (a == NULL || b == NULL || a == b)
    {
      *join = a == b ? a : NULL;
      return TRUE;
    }
  /* A carried value may begin as an empty optional and become what it would hold. */
  if ((a->kind == IR_TYPE_OPTIONAL) != (b->kind == IR_TYPE_OPTIONAL))
    {
      const IrType *inner = a->kind == IR_TYPE_OPTIONAL ? a->element : b->element;
      const IrType *other = a->kind == IR_TYPE_OPTIONAL ? b : a;
      if (!ir_type_join (call, inner, other, join, error))
        return FALSE;
      *join = NULL;
      return TRUE;
    }
  if (a->kind != b->kind ||
      (a->dtype != b->dtype && a->dtype != IR_DTYPE_UNDEFINED && b->dtype != IR_DTYPE_UNDEFINED))
    {
      g_autofree char *one = ir_type_to_string (call->context, a);
      g_autofree char *other = ir_type_to_string (call->context, b);
      return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "%s and %s are different types", one,
                           other);
    }
  if (a->kind == IR_TYPE_CLOSURE)
    {
      *join = ir_closure_join (call, a, b);
      return TRUE;
    }
  IrDtype dtype = a->dtype != IR_DTYPE_UNDEFINED ? a->dtype : b->dtype;
  if (a->element != NULL && b->element != NULL)
    {
      if (!ir_type_join (call, a->element, b->element, &element, error))
        return FALSE;
      *join = a->kind == IR_TYPE_SEQUENCE   ? ir_type_sequence (call->context, element)
              : a->kind == IR_TYPE_OPTIONAL ? ir_type_optional (call->context, element)
                                            : ir_type_map (call->context, dtype, element);
      return TRUE;
    }
  if (!ir_type_is_tensor (a))
    return TRUE;
  int rank = a->rank == b->rank ? a->rank : IR_RANK_UNKNOWN;
  for (int i = 0; i < rank; i++)
    dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : IR_DIM_UNKNOWN;
  *join = ir_type_tensor (call->context, dtype, rank, dims);
  return TRUE;
}

/* SequenceEmpty. Source: ONNX SequenceEmpty 11. */
gboolean
ir_infer_sequence_empty (IrCall *call, GError **error)
{
  gint64 dtype = ir_call_int (call, "dtype", IR_DTYPE_FLOAT);

  if (!ir_dtype_is_valid (dtype))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "dtype %" G_GINT64_FORMAT " is no element type", dtype);
  set_sequence (call, ir_type_tensor (call->context, (IrDtype) dtype, IR_RANK_UNKNOWN, NULL));
  return TRUE;
}

/* Source: ONNX SequenceConstruct 11 */
gboolean
ir_infer_sequence_construct (IrCall *call, GError **error)
{
  const IrType *element = ir_call_input_type (call, 0);

  for (guint i = 0; i < call->n_inputs; i++)
    if (!check_tensor (call, i, error) ||
        !ir_type_join (call, element, ir_call_input_type (call, i), &element, error))
      return FALSE;
  set_sequence (call, element);
  return TRUE;
}

/* Source: ONNX SequenceAt 11 */
gboolean
ir_infer_sequence_at (IrCall *call, GError **error)
{
  const IrType *element;

  if (!input_element (call, 0, &element, error) || !check_position (call, 1, error))
    return FALSE;
  ir_call_set_output_type (call, 0, element);
  return TRUE;
}

/* Source: ONNX SequenceInsert 11 */
gboolean
ir_infer_sequence_insert (IrCall *call, GError **error)
{
  const IrType *element;

  if (!input_element (call, 0, &element, error) || !check_tensor (call, 1, error) ||
      !check_position (call, 2, error) ||
      !ir_type_join (call, element, ir_call_input_type (call, 1), &element, error))
    return FALSE;
  set_sequence (call, element);
  return TRUE;
}

gboolean
ir_infer_sequence_erase (IrCall *call, GError **error)
{
  const IrType *element;

  if (!input_element (call, 0, &element, error) || !check_position (call, 1, error))
    return FALSE;
  set_sequence (call, element);
  return TRUE;
}

gboolean
ir_infer_sequence_length (IrCall *call, GError **error)
{
  const IrType *element;

  if (!input_element (call, 0, &element, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_INT64, 0, NULL);
  return TRUE;
}

/* Size of every piece along the axis, or unknown. */
static IrDim
piece_size (const IrCall *call, IrDim whole)
{
  g_autofree gint64 *sizes = NULL;
  guint n = 0;

  if (!ir_call_has_input (call, 1))
    return 1;
  if (!ir_call_input_ints (call, 1, &sizes, &n) || n == 0)
    return IR_DIM_UNKNOWN;
  for (guint i = 1; i < n; i++)
    if (sizes[i] != sizes[0])
      return IR_DIM_UNKNOWN;
  if (sizes[0] <= 0 || (n == 1 && !(ir_dim_is_known (whole) && whole % sizes[0] == 0)))
    return IR_DIM_UNKNOWN;
  return sizes[0];
}

/* A tensor [.., N, ..] and perhaps sizes. Pieces have a known size along the axis if all have
 * the same. Source: ONNX SplitToSequence 24. */
gboolean
ir_infer_split_to_sequence (IrCall *call, GError **error)
{
  const IrDim *dims = ir_call_input_dims (call, 0);
  int rank = ir_call_input_rank (call, 0), split_rank = ir_call_input_rank (call, 1);
  IrDim piece[IR_MAX_RANK];
  gint64 axis;
  int n = 0;

  if (!check_tensor (call, 0, error) || !check_position (call, 1, error))
    return FALSE;
  if (split_rank > 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "split must be a scalar or a list");
  if (rank == IR_RANK_UNKNOWN)
    {
      set_sequence (call, ir_type_tensor (call->context, ir_call_input_dtype (call, 0),
                                          IR_RANK_UNKNOWN, NULL));
      return TRUE;
    }
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), rank, &axis, error))
    return FALSE;
  gboolean keep = ir_call_has_input (call, 1) || ir_call_int (call, "keepdims", 1) != 0;
  for (int i = 0; i < rank; i++)
    if (i != axis || keep)
      piece[n++] = i == axis ? piece_size (call, dims[i]) : dims[i];
  set_sequence (call, ir_type_tensor (call->context, ir_call_input_dtype (call, 0), n, piece));
  return TRUE;
}

/* The size along the axis is not known, since the number of tensors is not. */
static gboolean
infer_joined (IrCall *call, gboolean is_new, GError **error)
{
  const IrType *element;
  IrDim dims[IR_MAX_RANK];
  gint64 axis;

  if (!input_element (call, 0, &element, error))
    return FALSE;
  if (element == NULL || !ir_type_is_tensor (element))
    return TRUE;
  int rank = ir_type_has_rank (element) ? element->rank + (is_new ? 1 : 0) : IR_RANK_UNKNOWN;
  if (rank > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the result has too many dimensions");
  if (rank != IR_RANK_UNKNOWN)
    {
      if (!ir_call_axis (call, ir_call_int (call, "axis", 0), rank, &axis, error))
        return FALSE;
      for (int i = 0, k = 0; i < rank; i++)
        {
          dims[i] = i == axis ? IR_DIM_UNKNOWN : element->dims[k];
          k += i == axis && is_new ? 0 : 1;
        }
    }
  ir_call_set_output_tensor_type (call, 0, element->dtype, rank, dims);
  return TRUE;
}

/* Source: ONNX ConcatFromSequence 11 */
gboolean
ir_infer_concat_from_sequence (IrCall *call, GError **error)
{
  return infer_joined (call, ir_call_int (call, "new_axis", 0) != 0, error);
}

gboolean
ir_infer_stack (IrCall *call, GError **error)
{
  return infer_joined (call, TRUE, error);
}

/* -- optionals -- */

/* Optional. Source: ONNX Optional 15: of the input's type, or of attribute type. */
gboolean
ir_infer_optional (IrCall *call, GError **error)
{
  const IrAttr *attr = ir_call_attr (call, "type");
  const IrType *element = ir_call_input_type (call, 0);

  if (!ir_call_has_input (call, 0))
    {
      if (attr == NULL || attr->kind != IR_ATTR_TYPE || attr->n != 1)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "an empty optional needs attribute type");
      element = attr->types[0];
    }
  if (element != NULL)
    ir_call_set_output_type (call, 0, ir_type_optional (call->context, element));
  return TRUE;
}

gboolean
ir_infer_optional_has_element (IrCall *call, GError **error)
{
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_BOOL, 0, NULL);
  return TRUE;
}

gboolean
ir_infer_optional_get_element (IrCall *call, GError **error)
{
  const IrType *type = ir_call_input_type (call, 0);

  ir_call_set_output_type (call, 0,
                           type != NULL && type->kind == IR_TYPE_OPTIONAL ? type->element : type);
  return TRUE;
}
