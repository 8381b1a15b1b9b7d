/* Blocks of elements as doubles. Every type up to 32 bits fits a double exactly. */
#include "config.h"

#include "core/exec/ref/block.h"

#include <string.h>

#define PIECE 64 /* elements that take longer than a poll */

void
ir_block_load (const IrTensor *tensor, guint64 first, guint64 n, double *values)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  const void *data = ir_tensor_data (tensor);

  if (dtype == IR_DTYPE_FLOAT)
    for (guint64 i = 0; i < n; i++)
      values[i] = (double) ((const float *) data)[first + i];
  else if (dtype == IR_DTYPE_DOUBLE)
    for (guint64 i = 0; i < n; i++)
      values[i] = ((const double *) data)[first + i];
  else
    for (guint64 i = 0; i < n; i++)
      ir_dtype_get_double (dtype, data, first + i, &values[i]);
}

/* @values: the elements; rounded to the type of @tensor */
void
ir_block_store (IrTensor *tensor, guint64 first, guint64 n, const double *values)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  void *data = ir_tensor_data_writable (tensor);

  if (dtype == IR_DTYPE_FLOAT)
    for (guint64 i = 0; i < n; i++)
      ((float *) data)[first + i] = (float) values[i];
  else if (dtype == IR_DTYPE_DOUBLE)
    for (guint64 i = 0; i < n; i++)
      ((double *) data)[first + i] = values[i];
  else
    for (guint64 i = 0; i < n; i++)
      ir_dtype_set_double (dtype, data, first + i, values[i]);
}

/* As ir_block_load(): the poll of the kernels that read by it. Where the run is to stop the
 * elements are zero, and what is made of them is thrown away. */
void
ir_block_load_many (
    const IrCall *call, const IrTensor *tensor, guint64 first, guint64 n, double *values)
{
  if (n > PIECE && ir_call_stopped (call))
    memset (values, 0, n * sizeof *values);
  else
    ir_block_load (tensor, first, n, values);
}

void
ir_block_fill (double *values, guint64 n, double value)
{
  for (guint64 i = 0; i < n; i++)
    values[i] = value;
}

/* The sum of their products, from the first to the last. */
double
ir_block_dot (const double *a, const double *b, guint64 n)
{
  double sum = 0;

  for (guint64 i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

void
ir_block_add_scaled (double factor, const double *x, guint64 n, double *y)
{
  for (guint64 i = 0; i < n; i++)
    y[i] += factor * x[i];
}

/* Sorts stably; returns FALSE if there are too many. */
gboolean
ir_block_sort (gint64 *order, gint64 n, GCompareDataFunc compare, gpointer data)
{
  if (n > G_MAXINT)
    return FALSE;
  g_qsort_with_data (order, (gint) n, sizeof *order, compare, data);
  return TRUE;
}

/* @value as an element of @dtype would hold it */
double
ir_block_round (IrDtype dtype, double value)
{
  guint64 element = 0;

  if (dtype == IR_DTYPE_FLOAT)
    return (double) (float) value;
  ir_dtype_set_double (dtype, &element, 0, value);
  ir_dtype_get_double (dtype, &element, 0, &value);
  return value;
}

/* Kernels ask for all that they need before they look whether they got it: the first error counts.
 */
static gboolean
has_failed (GError **error)
{
  return error != NULL && *error != NULL;
}

/* Room for @n doubles; free with g_free() */
double *
ir_block_new (const IrCall *call, guint64 n, GError **error)
{
  if (has_failed (error))
    return NULL;
  double *values = n < G_MAXSIZE / sizeof (double)
                       ? g_try_malloc (sizeof (double) * MAX ((gsize) n, 1))
                       : NULL;

  if (values == NULL)
    ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                  "no memory for %" G_GUINT64_FORMAT " elements of scratch", n);
  return values;
}

/* All its elements as doubles; free with g_free() */
double *
ir_block_load_new (const IrCall *call, guint slot, GError **error)
{
  const IrTensor *tensor = ir_call_input (call, slot);
  guint64 n = ir_tensor_n_elements (tensor);
  g_autofree double *values = ir_block_new (call, n, error);

  if (values == NULL)
    return NULL;
  ir_block_load (tensor, 0, n, values);
  return g_steal_pointer (&values);
}

/* Returns FALSE with %IR_OP_ERROR_DTYPE if input 0 is not of a floating-point type. */
gboolean
ir_block_check_float (const IrCall *call, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (ir_call_input (call, 0));

  return ir_dtype_is_float (dtype) ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                       "input 0 is %s, needed is a floating-point type", ir_dtype_name (dtype));
}

/* The output's tensor, to be written */
IrTensor *
ir_block_new_output (IrCall *call, guint slot, GError **error)
{
  const IrType *type = call->outputs[slot].type;

  if (has_failed (error))
    return NULL;
  if (type == NULL || !ir_type_is_static (type))
    {
      ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the shape of output %u is not known", slot);
      return NULL;
    }
  return ir_call_new_output (call, slot, type->dtype, (guint) type->rank, type->dims, error);
}

/* Returns TRUE with an error if the run was cancelled or has used up its time. */
gboolean
ir_block_cancelled (const IrCall *call, GError **error)
{
  return ir_call_fail_if_stopped (call, error);
}
