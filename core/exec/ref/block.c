/* Blocks of elements as doubles. Every type up to 32 bits fits a double exactly. */
#include "config.h"

#include "core/exec/ref/block.h"

#include <string.h>

#define PIECE (1 << 16) /* elements that are loaded or stored between two looks */
#define RUN   4096      /* elements that are sorted without one */

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

/* As ir_block_load(), but stops when the run does */
void
ir_block_load_many (
    const IrCall *call, const IrTensor *tensor, guint64 first, guint64 n, double *values)
{
  for (guint64 i = 0; i < n && (i == 0 || !ir_call_stopped (call)); i += PIECE)
    ir_block_load (tensor, first + i, MIN (n - i, PIECE), values + i);
}

/* As ir_block_store(), but stops when the run does. @values: the elements; rounded to the type
 * of @tensor. */
void
ir_block_store_many (
    const IrCall *call, IrTensor *tensor, guint64 first, guint64 n, const double *values)
{
  for (guint64 i = 0; i < n && (i == 0 || !ir_call_stopped (call)); i += PIECE)
    ir_block_store (tensor, first + i, MIN (n - i, PIECE), values + i);
}

/* Stops when the run does */
void
ir_block_fill (const IrCall *call, double *values, guint64 n, double value)
{
  for (guint64 i = 0; i < n && !ir_block_stopped (call, i); i++)
    values[i] = value;
}

/* The sum of their products, from the first to the last; a part of it if the run is to stop. */
double
ir_block_dot (IrBlockWatch *watch, const double *a, const double *b, guint64 n)
{
  double sum = 0;

  for (guint64 at = 0; at < n && !ir_block_worked (watch, MIN (n - at, IR_BLOCK_LOOK));
       at += IR_BLOCK_LOOK)
    for (guint64 i = at; i < MIN (n, at + IR_BLOCK_LOOK); i++)
      sum += a[i] * b[i];
  return sum;
}

/* Leaves out the rest when the run is to stop */
void
ir_block_add_scaled (IrBlockWatch *watch, double factor, const double *x, guint64 n, double *y)
{
  for (guint64 at = 0; at < n && !ir_block_worked (watch, MIN (n - at, IR_BLOCK_LOOK));
       at += IR_BLOCK_LOOK)
    for (guint64 i = at; i < MIN (n, at + IR_BLOCK_LOOK); i++)
      y[i] += factor * x[i];
}

/* Both sides of @middle are sorted; @room holds the left one meanwhile. */
static gboolean
merge (IrBlockWatch *watch,
       gint64 *order,
       gint64 middle,
       gint64 n,
       gint64 *room,
       GCompareDataFunc compare,
       gpointer data)
{
  gint64 left = 0, right = middle, to = 0;

  for (; left < middle && !ir_block_worked (watch, 1); left++)
    room[left] = order[left];
  for (left = 0; left < middle && right < n && !ir_block_worked (watch, 1);)
    order[to++] = compare (&order[right], &room[left], data) < 0 ? order[right++] : room[left++];
  while (left < middle && !ir_block_worked (watch, 1))
    order[to++] = room[left++];
  return !watch->stopped;
}

static gboolean
sort (IrBlockWatch *watch,
      gint64 *order,
      gint64 n,
      gint64 *room,
      GCompareDataFunc compare,
      gpointer data)
{
  if (n <= RUN)
    {
      g_qsort_with_data (order, (gint) n, sizeof *order, compare, data);
      return !ir_block_worked (watch, (guint64) n * 8);
    }
  gint64 middle = n / 2;
  return sort (watch, order, middle, room, compare, data) &&
         sort (watch, order + middle, n - middle, room, compare, data) &&
         merge (watch, order, middle, n, room, compare, data);
}

/* A stable sort of any length that stops when the run does. Source: merge sort, as
 * g_qsort_with_data(). Returns FALSE if it was to stop, or there is no memory: @order is then in
 * no order. */
gboolean
ir_block_sort (const IrCall *call, gint64 *order, gint64 n, GCompareDataFunc compare, gpointer data)
{
  IrBlockWatch watch = { .call = call };
  g_autofree gint64 *room = n > RUN ? g_try_new (gint64, (gsize) (n / 2)) : NULL;

  return (room != NULL || n <= RUN) && sort (&watch, order, n, room, compare, data);
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
  ir_block_load_many (call, tensor, 0, n, values);
  if (n > PIECE && ir_block_cancelled (call, error))
    return NULL;
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
