/* A copy of a model in which floating-point numbers are doubles: constants, casts and types. Results
 * of a run of it are rounded as little as can be. */
#include "config.h"

#include "core/exec/check/difference.h"
#include "core/op/infer.h"
#include "core/op/op.h"
#include "passes/proof/gradcheck.h"
#include "passes/rewrites/gradient.h"

static gboolean
is_narrow (gint64 dtype)
{
  return dtype == IR_DTYPE_FLOAT || dtype == IR_DTYPE_FLOAT16 || dtype == IR_DTYPE_BFLOAT16;
}

static const IrType *
wide_type (IrContext *context, const IrType *type)
{
  return ir_type_is_tensor (type) && is_narrow (type->dtype)
             ? ir_type_tensor (context, IR_DTYPE_DOUBLE, type->rank, type->dims)
             : type;
}

static void
widen_value (IrEdit *edit, IrValue *value)
{
  IrContext *context = ir_edit_model (edit)->context;

  if (ir_gradient_is_geometry (value))
    return;
  if (value->initializer != NULL && is_narrow (ir_tensor_dtype (value->initializer)))
    {
      g_autoptr (IrTensor) wide = ir_tensor_widen (value->initializer);
      ir_edit_set_initializer (edit, value, wide);
    }
  if (value->claim != NULL)
    ir_edit_set_claim (edit, value,
                       value->producer != NULL ? NULL : wide_type (context, value->claim));
  if (value->type != NULL)
    ir_edit_set_type (edit, value,
                      value->producer != NULL ? NULL : wide_type (context, value->type));
}

/* Numbers that a node has as attributes */
static void
widen_constant (IrEdit *edit, IrNode *node)
{
  IrContext *context = ir_edit_model (edit)->context;
  IrTensor *value = ir_node_attr_tensor (node, "value");
  g_autoptr (IrTensor) wide = NULL;
  const IrAttr *one = ir_node_attr (node, "value_float"),
               *many = ir_node_attr (node, "value_floats");
  gint64 single = 1;

  if (ir_op_is (node, IR_OP_CONSTANT) && node->outputs[0] != NULL &&
      ir_gradient_is_geometry (node->outputs[0]))
    return;
  if (value != NULL && is_narrow (ir_tensor_dtype (value)))
    wide = ir_tensor_widen (value);
  else if (one != NULL && one->ref_name == NULL)
    wide = ir_tensor_new_scalar (IR_DTYPE_DOUBLE, (double) one->floats[0]);
  else if (many != NULL && many->ref_name == NULL)
    {
      gint64 n = many->n;
      g_autofree double *numbers = g_new (double, MAX (many->n, 1));
      for (guint i = 0; i < many->n; i++)
        numbers[i] = (double) many->floats[i];
      wide = ir_tensor_new_copy (IR_DTYPE_DOUBLE, 1, &n, numbers);
    }
  else if (ir_op_is (node, IR_OP_CONSTANT_OF_SHAPE) && value == NULL)
    {
      g_autoptr (IrTensor) zero = ir_tensor_new_scalar (IR_DTYPE_DOUBLE, 0);
      wide = ir_tensor_reshape (zero, 1, &single);
    }
  if (wide == NULL)
    return;
  if (one != NULL)
    ir_edit_unset_attr (edit, node, "value_float");
  if (many != NULL)
    ir_edit_unset_attr (edit, node, "value_floats");
  ir_edit_set_attr (edit, node, ir_attr_tensor (context, "value", wide));
}

static void
widen_node (IrEdit *edit, IrNode *node)
{
  static const char *const names[] = { "to", "dtype", "stash_type" };
  IrContext *context = ir_edit_model (edit)->context;

  if (ir_op_is (node, IR_OP_CONSTANT) || ir_op_is (node, IR_OP_CONSTANT_OF_SHAPE))
    widen_constant (edit, node);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (is_narrow (ir_node_attr_int (node, names[i], 0)))
      ir_edit_set_attr (edit, node, ir_attr_int (context, names[i], IR_DTYPE_DOUBLE));
}

/**
 * ir_model_widen:
 * @model: a model
 *
 * Returns: (transfer full): a copy of @model, with the same ids, in which what was float or less is
 *   double
 */
IrModel *
ir_model_widen (IrModel *model)
{
  IrModel *wide = ir_model_clone (model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (wide);

  for (guint i = 1; i < wide->nodes->len; i++)
    if (ir_model_live_node (wide, i) != NULL)
      widen_node (edit, wide->nodes->pdata[i]);
  for (guint i = 1; i < wide->values->len; i++)
    if (ir_model_live_value (wide, i) != NULL)
      widen_value (edit, wide->values->pdata[i]);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return wide;
}
