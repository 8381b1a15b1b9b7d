/* Reference kernels of constants and generators. */
#include "config.h"

#include "core/exec/ref/string-util.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

/* -- Constant -- */

static gboolean
take_tensor (IrCall *call, IrTensor *tensor, GError **error)
{
  IrTensor *dense = ir_tensor_densify (tensor, error);
  if (dense == NULL)
    return FALSE;
  ir_call_take_output (call, 0, dense);
  return TRUE;
}

static gboolean
take_strings (IrCall *call, const IrAttr *attr, GError **error)
{
  g_autoptr (GPtrArray) strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  gint64 n = attr->n;
  for (guint i = 0; i < attr->n; i++)
    {
      GBytes *text = ir_string_join (attr->strings[i].data, attr->strings[i].length, "", 0);
      if (text == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for the strings");
      g_ptr_array_add (strings, text);
    }
  return ir_call_take_strings (call, 0, attr->kind == IR_ATTR_STRINGS, &n,
                               (GBytes **) (gpointer) strings->pdata, error);
}

gboolean
ir_ref_constant (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrAttr *attr = NULL;
  for (const IrAttrSpec *spec = call->op->attrs; spec->name != NULL && attr == NULL; spec++)
    attr = ir_call_attr (call, spec->name);
  if (attr->kind == IR_ATTR_TENSOR || attr->kind == IR_ATTR_SPARSE_TENSOR)
    return take_tensor (call, attr->tensors[0], error);
  if (attr->kind == IR_ATTR_STRING || attr->kind == IR_ATTR_STRINGS)
    return take_strings (call, attr, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  if (attr->n > 0 && ir_tensor_dtype (out) == IR_DTYPE_FLOAT)
    memcpy (ir_tensor_data_writable (out), attr->floats,
                  attr->n * sizeof *attr->floats);
  else if (attr->n > 0)
    memcpy (ir_tensor_data_writable (out), attr->ints, attr->n * sizeof *attr->ints);
  return TRUE;
}

/* -- ConstantOfShape -- */

gboolean
ir_ref_constant_of_shape (IrCall *call, GError **error)
{
  g_auto (IrRefReader) value = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrAttr *attr = ir_call_attr (call, "value");
  gboolean given = attr != NULL && attr->kind == IR_ATTR_TENSOR && attr->n > 0;
  if (given && ir_tensor_n_elements (attr->tensors[0]) != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "value must have one element");
  if (given && !ir_ref_reader_init (&value, call, attr->tensors[0], error))
    return FALSE;
  if (!ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  if (value.n == 0)
    memset (out.data, 0, out.n * out.size);
  for (guint64 i = 0; value.n == 1 && i < out.n; i++)
    ir_ref_copy_run (&out, i, &value, 0, 1);
  return ir_ref_writer_finish (&out, error);
}

/* -- Range -- */

gboolean
ir_ref_range (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *start = ir_call_input (call, 0), *delta = ir_call_input (call, 2);
  IrDtype dtype = ir_tensor_dtype (start);
  IrRefKind kind = ir_ref_kind (dtype);
  for (guint slot = 0; slot < 3; slot++)
    if (ir_tensor_n_elements (ir_call_input (call, slot)) != 1)
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u must be a scalar", slot);
  if (kind == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, dtype, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  gint64 first = ir_tensor_get_int64 (start, 0), step = ir_tensor_get_int64 (delta, 0);
  double first_real = ir_tensor_get_double (start, 0), step_real = ir_tensor_get_double (delta, 0);
  for (guint64 i = 0; i < ir_tensor_n_elements (out); i++)
    {
      double real = first_real + (double) i * step_real;
      gint64 whole = (gint64) ((guint64) first + i * (guint64) step);
      if (kind == IR_REF_REAL)
        ir_ref_store_real (out, i, 1, &real);
      else
        ir_ref_store_int (out, i, 1, &whole);
    }
  return TRUE;
}

/* -- EyeLike -- */

gboolean
ir_ref_eye_like (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  IrDtype dtype = call->outputs[0].type->dtype;
  if (ir_ref_kind (dtype) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, dtype, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  gint64 columns = ir_tensor_dims (out)[1];
  gint64 k = CLAMP (ir_call_int (call, "k", 0), -G_MAXINT64 / 2, G_MAXINT64 / 2);
  for (guint64 i = 0; i < ir_tensor_n_elements (out); i++)
    {
      gint64 row = (gint64) i / columns, column = (gint64) i % columns;
      double element = column - row == k;
      ir_ref_store_real (out, i, 1, &element);
    }
  return TRUE;
}
