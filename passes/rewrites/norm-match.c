#include "config.h"

#include "passes/rewrites/norm-match.h"

/* The axes of a reduction: an attribute, or from opset 18 on an input alone. */
static gboolean
only_axis (const IrNode *reduce, gint64 *axis)
{
  const IrValue *input = ir_node_input (reduce, 1);
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;
  guint n = 0;
  const gint64 *axes = ir_node_opset (reduce) < 18 ? ir_node_attr_ints (reduce, "axes", &n) : NULL;

  if (input != NULL)
    {
      if (tensor == NULL || ir_tensor_n_elements (tensor) != 1)
        return FALSE;
      *axis = ir_tensor_get_int64 (tensor, 0);
      return TRUE;
    }
  if (n != 1)
    return FALSE;
  *axis = axes[0];
  return TRUE;
}

/* Whether it reduces the last axis alone and keeps it with size 1 */
gboolean
ir_match_last_axis_mean (IrMatch *match, const char *label)
{
  const IrNode *reduce = ir_match_node (match, label);
  int rank = ir_value_rank (reduce->inputs[0]);
  gint64 axis;

  if (rank <= 0)
    return ir_match_fail (match, "the number of dimensions of %s is not known",
                          reduce->inputs[0]->name);
  if (ir_node_attr_int (reduce, "keepdims", 1) == 0)
    return ir_match_fail (match, "the mean drops its axis");
  if (!only_axis (reduce, &axis))
    return ir_match_fail (match, "the mean is not over one constant axis");
  if (axis != -1 && axis != rank - 1)
    return ir_match_fail (match, "the mean is over axis %d, needed is the last of %d", (int) axis,
                          rank);
  return TRUE;
}

/* Whether @scale has one element per element of the last axis of @like and no more axes. */
gboolean
ir_match_scales_last_axis (IrMatch *match, const char *scale, const char *like)
{
  const IrType *vector = ir_match_value (match, scale)->type;
  const IrType *x = ir_match_value (match, like)->type;

  if (!ir_type_is_tensor (vector) || vector->rank != 1 || !ir_type_is_tensor (x) || x->rank < 1)
    return ir_match_fail (match, "%s is not a vector", ir_match_value (match, scale)->name);
  if (vector->dims[0] == IR_DIM_UNKNOWN || vector->dims[0] != x->dims[x->rank - 1])
    return ir_match_fail (match, "%s does not have the size of the last axis",
                          ir_match_value (match, scale)->name);
  return TRUE;
}

/* Whether the root's opset is in the range. @below: first version that is too new; 0: none is. */
gboolean
ir_match_opset_between (IrMatch *match, gint64 least, gint64 below)
{
  gint64 opset = ir_node_opset (ir_match_root (match));

  if (opset < least)
    return ir_match_fail (match, "the opset is %d, needed is %d", (int) opset, (int) least);
  if (below > 0 && opset >= below)
    return ir_match_fail (match, "opset %d has a standard operator for it", (int) opset);
  return TRUE;
}

/* Whether the result is float; the bodies of irscope's own operators are for it alone. */
gboolean
ir_match_is_float32 (IrMatch *match)
{
  if (ir_value_dtype (ir_match_root (match)->outputs[0]) != IR_DTYPE_FLOAT)
    return ir_match_fail (match, "the fused operator is for float only");
  return TRUE;
}

/* Makes an attribute of a constant input */
void
ir_match_bind_scalar_attr (IrMatch *match, const char *constant, const char *attr)
{
  double value = ir_tensor_get_double (ir_match_constant (match, constant), 0);

  ir_match_bind_attr (match, attr,
                      ir_attr_float (ir_match_context (match)->model->context, attr, value));
}
