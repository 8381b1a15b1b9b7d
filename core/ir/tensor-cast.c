/* Elements of one type as those of another. */
#include "config.h"

#include "core/ir/tensor.h"

/* Whether numbers of the one kind can be read as those of the other. */
static gboolean
may_cast (IrDtype from, IrDtype to)
{
  gboolean integer = ir_dtype_is_integer (from) || from == IR_DTYPE_BOOL;

  return from == to || (integer && (ir_dtype_is_integer (to) || ir_dtype_is_float (to))) ||
         (ir_dtype_is_float (from) && ir_dtype_is_float (to));
}

/**
 * ir_tensor_cast:
 * @tensor: a dense tensor of numbers
 * @dtype: type of the elements that are wanted
 *
 * Integers become wider or narrower integers, or floating-point numbers; those become wider, or are
 * rounded. Nothing else has an obvious meaning.
 *
 * Returns: (transfer full) (nullable): the same numbers as @dtype, @tensor itself where that is its
 *   type; %NULL if there is no such conversion, or no memory
 */
IrTensor *
ir_tensor_cast (const IrTensor *tensor, IrDtype dtype)
{
  IrDtype from = ir_tensor_dtype (tensor);
  gconstpointer data = ir_tensor_data (tensor);
  guint64 n = ir_tensor_n_elements (tensor);

  if (from == dtype)
    return ir_tensor_ref ((IrTensor *) tensor);
  if (!may_cast (from, dtype) || (data == NULL && n > 0))
    return NULL;
  IrTensor *cast = ir_tensor_new_alloc (dtype, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                                        NULL);
  gpointer to = cast != NULL ? ir_tensor_data_writable (cast) : NULL;
  for (guint64 i = 0; i < n && to != NULL; i++)
    if (ir_dtype_is_integer (dtype))
      ir_dtype_set_int64 (dtype, to, i, ir_tensor_get_int64 (tensor, i));
    else
      ir_dtype_set_double (dtype, to, i, ir_tensor_get_double (tensor, i));
  return cast;
}
