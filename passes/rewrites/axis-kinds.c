/* Operators whose attributes or inputs name axes: see axis-kinds.h. */
#include "config.h"

#include "passes/rewrites/axis-kinds.h"

#include "core/op/op.h"
#include "passes/rule/step.h"

/* The numbers of a constant, absent as NULL with *n 0. FALSE: there, but not known. */
gboolean
ir_axis_constant_ints (const IrNode *node, const char *attr, guint slot, gint64 **numbers, guint *n)
{
  const gint64 *given = attr != NULL ? ir_node_attr_ints (node, attr, n) : NULL;
  const IrValue *value = ir_node_input (node, slot);
  const IrTensor *tensor = value != NULL ? ir_value_constant (value) : NULL;

  *numbers = NULL;
  if (given != NULL)
    {
      *numbers = g_memdup2 (given, MAX (*n, 1) * sizeof (gint64));
      return TRUE;
    }
  *n = 0;
  if (value == NULL)
    return attr == NULL || ir_node_attr (node, attr) == NULL;
  if (tensor == NULL || ir_tensor_rank (tensor) > 1 ||
      ir_tensor_n_elements (tensor) > IR_MAX_RANK * 2)
    return FALSE;
  *n = (guint) ir_tensor_n_elements (tensor);
  *numbers = g_new (gint64, MAX (*n, 1));
  for (guint i = 0; i < *n; i++)
    (*numbers)[i] = ir_tensor_get_int64 (tensor, i);
  return TRUE;
}

gboolean
ir_axis_in_range (gint64 *axis, guint rank)
{
  if (*axis < 0)
    *axis += rank;
  return *axis >= 0 && *axis < rank;
}

gboolean
ir_axes_in_range (gint64 *axes, guint n, guint rank)
{
  for (guint i = 0; i < n; i++)
    if (!ir_axis_in_range (&axes[i], rank))
      return FALSE;
  return TRUE;
}

/* The AXES column of the op table: operators whose attributes or inputs name axes, from the version
 * on that does so plainly. */
/* clang-format off */
static const struct
{
  IrOpId op;
  Kind kind;
  gint64 since; /* 0: no column */
} rows[IR_N_OPS] = { { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define AXES(KIND, SINCE) , .kind = KIND, .since = SINCE
#include "core/op/ops.def"
} };
/* clang-format on */

Kind
ir_axis_kind_of (const IrNode *node)
{
  if (node->op == NULL || node->domain[0] != '\0' || ir_pass_is_open (node))
    return KIND_NONE;
  gint64 since = rows[node->op->id].since;
  if (since > 0)
    return ir_node_opset (node) >= since ? rows[node->op->id].kind : KIND_NONE;
  if (node->op->flags & IR_OP_ELEMENTWISE)
    return ir_node_opset (node) >= 7 ? KIND_ELEMENTWISE : KIND_NONE;
  return ir_op_attr (node->op, "noop_with_empty_axes") != NULL ? KIND_REDUCE : KIND_NONE;
}

/* The axis is required for Concat; -1 is the default of the others that have none. */
gboolean
ir_axis_of (const IrNode *node, guint rank, gint64 *axis)
{
  const IrAttr *attr = ir_node_attr (node, "axis");

  if (attr != NULL && attr->n != 1)
    return FALSE;
  *axis = ir_node_attr_int (node, "axis", ir_axis_kind_of (node) == KIND_SPLIT ? 0 : -1);
  return ir_axis_in_range (axis, rank);
}
