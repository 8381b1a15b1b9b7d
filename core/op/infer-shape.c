/* Inference of operators that change shapes. Sizes come as propagated contents (IrNumber), so the
 * idioms of exporters resolve: Shape, Gather, Concat and Reshape in a row give symbolic dims. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"
#include <string.h>

/* An end at or above this means "to the end" in files. */
#define TO_THE_END G_MAXINT32

static void
set_unknown_dims (IrCall *call, guint slot, IrDtype dtype, int rank)
{
  IrDim dims[IR_MAX_RANK];
  for (int i = 0; i < rank; i++)
    dims[i] = IR_DIM_UNKNOWN;
  ir_call_set_output_tensor_type (call, slot, dtype, rank, dims);
}

/* Number of elements of a rank 1 input that holds a shape, or -1. */
static int
shape_length (const IrCall *call, guint slot)
{
  const IrDim *dims = ir_call_input_dims (call, slot);
  if (ir_call_input_rank (call, slot) != 1 || !ir_dim_is_known (dims[0]) || dims[0] > IR_MAX_RANK)
    return -1;
  return (int) dims[0];
}

/* Contents that do not change while rank stays at most 1: Reshape, Squeeze, Unsqueeze. */
static void
keep_data (IrCall *call)
{
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  gboolean scalar = FALSE;
  const IrType *type = call->n_outputs > 0 ? call->outputs[0].type : NULL;
  if (type == NULL || !ir_type_has_rank (type) || type->rank > 1 ||
      !ir_call_input_data (call, 0, &numbers, &n, &scalar))
    return;
  if (type->rank == 0 && n != 1)
    return;
  ir_call_set_output_data (call, 0, numbers, n, type->rank == 0);
}

/* -- Reshape, Flatten, Squeeze, Unsqueeze -- */

/* The dim that is left when the elements of @in are laid out over @out without its dim @free. Dims
 * that were copied, and other equal ones, cancel first, so that unknown ones do no harm. */
static IrDim
remaining_dim (IrContext *context,
               int n_in,
               const IrDim *in,
               int n_out,
               const IrDim *out,
               const gboolean *copied,
               int free)
{
  gboolean used[IR_MAX_RANK] = { FALSE };
  IrDim below = 1, above = 1;
  for (int i = 0; i < n_out; i++)
    if (copied[i] && in[i] != 0)
      used[i] = TRUE;
  for (int i = 0; i < n_out; i++)
    {
      gboolean cancelled = copied[i] && in[i] != 0;
      if (i == free)
        continue;
      for (int j = 0; j < n_in && !cancelled; j++)
        if (!used[j] && in[j] == out[i] && out[i] != IR_DIM_UNKNOWN && out[i] != 0)
          cancelled = used[j] = TRUE;
      if (!cancelled)
        below = ir_dim_mul (context, below, out[i]);
    }
  for (int j = 0; j < n_in; j++)
    if (!used[j])
      above = ir_dim_mul (context, above, in[j]);
  IrDim quotient = IR_DIM_UNKNOWN;
  if (above == IR_DIM_UNKNOWN || below == IR_DIM_UNKNOWN || below == 0 ||
      !ir_dim_divides (context, above, below, &quotient))
    return IR_DIM_UNKNOWN;
  return quotient;
}

static gboolean
check_reshape (IrCall *call, int rank, const IrDim *dims, GError **error)
{
  int in_rank = ir_call_input_rank (call, 0);
  const IrDim *in = ir_call_input_dims (call, 0);
  if (in_rank == IR_RANK_UNKNOWN)
    return TRUE;
  IrDim before = ir_dims_product (call->context, in, 0, (guint) in_rank);
  IrDim after = ir_dims_product (call->context, dims, 0, (guint) rank);
  ir_call_need_equal (call, before, after, FALSE);
  if (!ir_dim_is_known (before) || !ir_dim_is_known (after) || before == after)
    return TRUE;
  g_autofree char *from = ir_dims_to_string (call->context, in_rank, in);
  g_autofree char *to = ir_dims_to_string (call->context, rank, dims);
  return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "%s has %" G_GINT64_FORMAT " elements, the shape %s needs %" G_GINT64_FORMAT,
                       from, before, to, after);
}

/* One dim of a Reshape: TRUE in @free if it is worked out from the others. */
static gboolean
reshape_dim (IrCall *call, IrNumber number, int i, gboolean *is_free, IrDim *dim, GError **error)
{
  int in_rank = ir_call_input_rank (call, 0);
  const IrDim *in = ir_call_input_dims (call, 0);
  *is_free = FALSE;
  *dim = IR_DIM_UNKNOWN;
  if (!number.known)
    {
      gint64 lower, upper;
      ir_dim_bounds (call->context, number.expr, &lower, &upper);
      /* What may well be negative, as -n, may be the -1 that stands for the rest. */
      *dim = lower < -1 ? IR_DIM_UNKNOWN : number.expr;
      *is_free = *dim == IR_DIM_UNKNOWN;
    }
  else if (number.value == -1)
    *is_free = TRUE;
  else if (number.value < 0)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "shape has the dim %" G_GINT64_FORMAT,
                         number.value);
  else if (number.value > 0 || ir_call_int (call, "allowzero", 0) != 0)
    *dim = number.value;
  else if (in_rank == IR_RANK_UNKNOWN)
    *dim = IR_DIM_UNKNOWN;
  else if (i < in_rank)
    *dim = in[i];
  else
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "shape copies dim %d of an input that has only %d", i, in_rank);
  return TRUE;
}

/* Whether a dim of a Reshape that is known by its symbols can be a 0 that copies another dim. */
static gboolean
may_copy (const IrCall *call, IrNumber number, int i, IrDim dim)
{
  if (number.known || dim == IR_DIM_UNKNOWN || ir_call_int (call, "allowzero", 0) != 0 ||
      ir_dim_is_positive (call->context, dim))
    return FALSE;
  return i >= ir_call_input_rank (call, 0) || ir_call_input_dims (call, 0)[i] != dim;
}

/* Reshape; input 1 holds the shape. 0 copies a dim of the input (unless allowzero), one dim may
 * be -1 and is worked out, also from symbolic dims where the division has no rest: [N,128,768]
 * to (0,0,12,-1) gives [N,128,12,64]. A symbol in the shape is taken for what it stands for,
 * though a 0 there would copy another dim: who reshapes by sizes does not mean empty ones (ONNX
 * data propagation says the same). Not so what is 0 for some sizes that are not, such as n - 1,
 * where a -1 makes up for the dim that is copied. Fails with %IR_OP_ERROR_SHAPE if the numbers
 * of elements are known and differ. */
gboolean
ir_infer_reshape (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  g_autofree IrNumber *shape = NULL;
  guint n = 0;
  if (!ir_call_input_numbers (call, 1, &shape, &n))
    {
      set_unknown_dims (call, 0, dtype, shape_length (call, 1));
      return TRUE;
    }
  if (n > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "shape has %u dims, at most %d are supported", n, IR_MAX_RANK);
  IrDim dims[IR_MAX_RANK];
  gboolean copied[IR_MAX_RANK];
  int free = -1, n_free = 0, n_minus = 0;
  for (guint i = 0; i < n; i++)
    {
      gboolean is_free;
      if (!reshape_dim (call, shape[i], (int) i, &is_free, &dims[i], error))
        return FALSE;
      copied[i] = shape[i].known && shape[i].value == 0 && ir_call_int (call, "allowzero", 0) == 0;
      if (is_free)
        free = (int) i;
      n_free += is_free;
      n_minus += shape[i].known && shape[i].value == -1;
    }
  if (n_minus > 1)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "shape has %d dims of -1, one is allowed",
                         n_minus);
  int in_rank = ir_call_input_rank (call, 0);
  const IrDim *in = ir_call_input_dims (call, 0);
  for (guint i = 0; i < n && n_free > 0; i++)
    if (may_copy (call, shape[i], (int) i, dims[i]))
      {
        dims[i] = IR_DIM_UNKNOWN;
        n_free++;
      }
  if (n_free == 1 && in_rank != IR_RANK_UNKNOWN)
    dims[free] = remaining_dim (call->context, in_rank, in, (int) n, dims, copied, free);
  if (!check_reshape (call, (int) n, dims, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, dtype, (int) n, dims);
  keep_data (call);
  return TRUE;
}

gboolean
ir_infer_flatten (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  gint64 axis = ir_call_int (call, "axis", 1);
  if (rank == IR_RANK_UNKNOWN)
    {
      set_unknown_dims (call, 0, dtype, 2);
      return TRUE;
    }
  if (axis < -rank || axis > rank)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "axis %" G_GINT64_FORMAT " is outside [%d, %d]", axis, -rank, rank);
  guint cut = (guint) (axis < 0 ? axis + rank : axis);
  IrDim result[2] = { ir_dims_product (call->context, dims, 0, cut),
                      ir_dims_product (call->context, dims, cut, (guint) rank) };
  ir_call_set_output_tensor_type (call, 0, dtype, 2, result);
  return TRUE;
}

gboolean
ir_infer_squeeze (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0), kept = 0;
  const IrDim *dims = ir_call_input_dims (call, 0);
  g_autofree gint64 *axes = NULL;
  guint n_axes = 0;
  gboolean given = ir_call_has_input (call, 1);
  gboolean mask[IR_MAX_RANK] = { FALSE };
  IrDim result[IR_MAX_RANK];
  if (rank == IR_RANK_UNKNOWN || (given && !ir_call_input_ints (call, 1, &axes, &n_axes)))
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if (given && !ir_call_axes (call, axes, n_axes, rank, mask, error))
    return FALSE;
  for (int i = 0; i < rank; i++)
    {
      if (!given && !ir_dim_is_known (dims[i]))
        {
          ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
          return TRUE; /* it may be 1, so not even the rank is known */
        }
      if (given && mask[i] && ir_dim_is_known (dims[i]) && dims[i] != 1)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "axis %d has %" G_GINT64_FORMAT " elements; only axes of 1 can go", i,
                             dims[i]);
      if (given ? !mask[i] : dims[i] != 1)
        result[kept++] = dims[i];
    }
  ir_call_set_output_tensor_type (call, 0, dtype, kept, result);
  keep_data (call);
  return TRUE;
}

gboolean
ir_infer_unsqueeze (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  g_autofree gint64 *axes = NULL;
  guint n_axes = 0;
  if (!ir_call_input_ints (call, 1, &axes, &n_axes))
    {
      int added = shape_length (call, 1);
      if (ir_call_input_rank (call, 1) == 0)
        added = 1;
      set_unknown_dims (call, 0, dtype,
                        rank != IR_RANK_UNKNOWN && added >= 0 && rank + added <= IR_MAX_RANK
                            ? rank + added
                            : IR_RANK_UNKNOWN);
      return TRUE;
    }
  if (rank == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if ((guint) rank + n_axes > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "more than %d dims are not supported",
                         IR_MAX_RANK);
  int out_rank = rank + (int) n_axes, from = 0;
  gboolean mask[IR_MAX_RANK];
  IrDim result[IR_MAX_RANK];
  if (!ir_call_axes (call, axes, n_axes, out_rank, mask, error))
    return FALSE;
  for (int i = 0; i < out_rank; i++)
    result[i] = mask[i] ? 1 : dims[from++];
  ir_call_set_output_tensor_type (call, 0, dtype, out_rank, result);
  keep_data (call);
  return TRUE;
}

/* -- Transpose -- */

gboolean
ir_infer_transpose (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  guint n = 0;
  const gint64 *perm = ir_call_ints (call, "perm", &n);
  if (rank == IR_RANK_UNKNOWN)
    {
      set_unknown_dims (call, 0, dtype,
                        perm != NULL && n <= IR_MAX_RANK ? (int) n : IR_RANK_UNKNOWN);
      return TRUE;
    }
  if (perm != NULL && n != (guint) rank)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "perm has %u entries, the input %d dims", n, rank);
  gboolean mask[IR_MAX_RANK];
  if (perm != NULL && !ir_call_axes (call, perm, n, rank, mask, error))
    return FALSE;
  IrDim result[IR_MAX_RANK];
  for (int i = 0; i < rank; i++)
    {
      gint64 from = perm != NULL ? perm[i] : rank - 1 - i;
      result[i] = dims[from < 0 ? from + rank : from];
    }
  ir_call_set_output_tensor_type (call, 0, dtype, rank, result);
  return TRUE;
}

/* -- Concat, Split -- */

static void
concat_data (IrCall *call)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (IrNumber));
  gboolean some = FALSE;
  for (guint i = 0; i < call->n_inputs; i++)
    {
      g_autofree IrNumber *numbers = NULL;
      guint n = 0;
      gboolean scalar = FALSE;
      const IrDim *dims = ir_call_input_dims (call, i);
      if (ir_call_input_data (call, i, &numbers, &n, &scalar) && !scalar)
        {
          g_array_append_vals (all, numbers, n);
          some = TRUE;
          continue;
        }
      if (ir_call_input_rank (call, i) != 1 || !ir_dim_is_known (dims[0]) ||
          dims[0] > IR_SHAPE_DATA_MAX || all->len > IR_SHAPE_DATA_MAX)
        return;
      IrNumber unknown = ir_number_unknown ();
      for (gint64 k = 0; k < dims[0]; k++)
        g_array_append_val (all, unknown);
    }
  if (some)
    ir_call_set_output_data (call, 0, (const IrNumber *) (gpointer) all->data, all->len, FALSE);
}

gboolean
ir_infer_concat (IrCall *call, GError **error)
{
  IrDtype dtype;
  int rank = IR_RANK_UNKNOWN;
  IrDim dims[IR_MAX_RANK];
  gint64 axis = ir_call_int (call, "axis", 0);
  gboolean all_ranked = TRUE;
  if (!ir_call_common_dtype (call, 0, call->n_inputs, &dtype, error))
    return FALSE;
  for (guint i = 0; i < call->n_inputs; i++)
    {
      int other = ir_call_input_rank (call, i);
      const IrDim *more = ir_call_input_dims (call, i);
      if (other == IR_RANK_UNKNOWN)
        {
          all_ranked = FALSE;
          continue;
        }
      if (rank == IR_RANK_UNKNOWN)
        {
          rank = other;
          memcpy (dims, more, (gsize) rank * sizeof *dims);
          if (!ir_call_axis (call, axis, rank, &axis, error))
            return FALSE;
          continue;
        }
      if (other != rank)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u has %d dims, input 0 has %d",
                             i, other, rank);
      for (int k = 0; k < rank; k++)
        if (k == axis)
          dims[k] = ir_dim_add (call->context, dims[k], more[k]);
        else if (!ir_call_same_dim (call, dims[k], more[k], "dims off the axis", &dims[k], error))
          return FALSE;
    }
  if (rank != IR_RANK_UNKNOWN && !all_ranked)
    dims[axis] = IR_DIM_UNKNOWN;
  ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
  if (rank == 1)
    concat_data (call);
  return TRUE;
}

/* Size of part @i of @n_parts; @sizes (nullable) as given. */
static IrDim
part_size (IrCall *call, IrDim whole, const gint64 *sizes, guint i, guint n_parts)
{
  if (sizes != NULL)
    return sizes[i];
  if (ir_dim_is_known (whole))
    {
      guint64 size = (guint64) whole, chunk = size / n_parts + (size % n_parts != 0);
      guint64 start = MIN (ir_mul_saturated (chunk, i), size);
      return (IrDim) MIN (chunk, size - start);
    }
  IrDim quotient;
  if (whole != IR_DIM_UNKNOWN && ir_dim_divides (call->context, whole, n_parts, &quotient))
    return quotient;
  return IR_DIM_UNKNOWN;
}

/* Contents of the parts of a vector, e.g. of a shape that is taken apart. */
static void
split_data (IrCall *call, const gint64 *starts, const gint64 *lengths, guint n_parts)
{
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  gboolean scalar = FALSE;
  if (!ir_call_input_data (call, 0, &numbers, &n, &scalar) || scalar)
    return;
  for (guint i = 0; i < n_parts; i++)
    if (starts[i] >= 0 && lengths[i] >= 0 && starts[i] + lengths[i] <= n)
      ir_call_set_output_data (call, i, numbers + starts[i], (guint) lengths[i], FALSE);
}

/* Split; optional input 1 holds the sizes. Without sizes the parts are as equal as they can be,
 * the last one smaller. */
gboolean
ir_infer_split (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  guint n_parts = call->n_outputs, n_sizes = 0;
  g_autofree gint64 *sizes = NULL;
  gint64 axis;
  gboolean given = ir_call_has_input (call, 1);
  gboolean known = given && ir_call_input_ints (call, 1, &sizes, &n_sizes);
  if (known && n_sizes != n_parts)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "%u sizes for %u outputs", n_sizes,
                         n_parts);
  if (rank == IR_RANK_UNKNOWN)
    {
      for (guint i = 0; i < n_parts; i++)
        ir_call_set_output_tensor_type (call, i, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), rank, &axis, error))
    return FALSE;
  /* Outputs at the end may be left out; then the attribute tells how many parts there are. */
  gint64 n_all = ir_call_int (call, "num_outputs", n_parts);
  if (n_all < n_parts || n_all > G_MAXINT32)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "num_outputs is %" G_GINT64_FORMAT ", the node has %u outputs", n_all,
                         n_parts);
  gint64 total = 0;
  for (guint i = 0; known && i < n_sizes; i++)
    if (sizes[i] < 0 || sizes[i] > G_MAXINT64 - total)
      return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "size %" G_GINT64_FORMAT " of output %u",
                           sizes[i], i);
    else
      total += sizes[i];
  if (known && ir_dim_is_known (dims[axis]) && total != dims[axis])
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "sizes sum up to %" G_GINT64_FORMAT ", the axis has %" G_GINT64_FORMAT,
                         total, dims[axis]);
  IrDim result[IR_MAX_RANK];
  g_autofree gint64 *starts = g_new0 (gint64, n_parts + 1);
  g_autofree gint64 *lengths = g_new0 (gint64, n_parts + 1);
  memcpy (result, dims, (gsize) rank * sizeof *result);
  for (guint i = 0; i < n_parts; i++)
    {
      result[axis] = given && !known ? IR_DIM_UNKNOWN
                                     : part_size (call, dims[axis], sizes, i, (guint) n_all);
      ir_call_set_output_tensor_type (call, i, dtype, rank, result);
      lengths[i] = ir_dim_is_known (result[axis]) && starts[i] >= 0 ? result[axis] : -1;
      starts[i + 1] = lengths[i] >= 0 ? starts[i] + lengths[i] : -1;
    }
  if (rank == 1)
    split_data (call, starts, lengths, n_parts);
  return TRUE;
}

/* -- Slice -- */

/* Number of elements that a slice takes of an axis of @size; exact for known numbers. */
static gint64
slice_length (gint64 size, gint64 start, gint64 end, gint64 step)
{
  if (size == 0)
    return 0;
  start = start < 0 ? start + size : start;
  end = end < 0 ? end + size : end;
  if (step > 0)
    {
      start = CLAMP (start, 0, size);
      end = CLAMP (end, 0, size);
      return end > start ? (end - start - 1) / step + 1 : 0;
    }
  start = CLAMP (start, 0, size - 1);
  end = CLAMP (end, -1, size - 1);
  /* Not -step: it may be the smallest integer. */
  return start > end ? (gint64) (((guint64) (start - end) - 1) / (0 - (guint64) step)) + 1 : 0;
}

/* @number as a place in [0, size], symbolically; negative ones count from the end. */
static IrDim
place_of (IrContext *context, IrNumber number, IrDim size)
{
  gint64 lower, upper;
  if (number.known && number.value >= TO_THE_END)
    return size;
  if (number.known && number.value < 0)
    {
      ir_dim_bounds (context, size, &lower, &upper);
      if (number.value < -G_MAXINT32 || lower < -number.value)
        return number.value <= -G_MAXINT32 ? 0 : IR_DIM_UNKNOWN;
      return ir_dim_sub (context, size, -number.value);
    }
  if (!number.known && !ir_dim_is_symbolic (number.expr))
    return IR_DIM_UNKNOWN;
  IrDim place = number.known ? number.value : number.expr;
  if (place == size)
    return size;
  ir_dim_bounds (context, place, &lower, &upper);
  if (lower < 0)
    return IR_DIM_UNKNOWN;
  gint64 size_lower, size_upper;
  ir_dim_bounds (context, size, &size_lower, &size_upper);
  return upper <= size_lower ? place : ir_dim_min (context, place, size);
}

static IrDim
sliced_dim (IrContext *context, IrDim size, IrNumber start, IrNumber end, gint64 step)
{
  if (ir_dim_is_known (size) && start.known && end.known)
    return slice_length (size, start.value, end.value, step);
  if (size == IR_DIM_UNKNOWN || step != 1)
    return IR_DIM_UNKNOWN;
  IrDim from = place_of (context, start, size), to = place_of (context, end, size);
  if (from == IR_DIM_UNKNOWN || to == IR_DIM_UNKNOWN)
    return IR_DIM_UNKNOWN;
  IrDim length = ir_dim_sub (context, to, from);
  gint64 lower, upper;
  if (ir_dim_is_known (length) || length == IR_DIM_UNKNOWN)
    return length;
  ir_dim_bounds (context, length, &lower, &upper);
  return lower >= 0 ? length : ir_dim_max (context, length, 0);
}

static void
slice_data (IrCall *call, gint64 start, gint64 end, gint64 step)
{
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  gboolean scalar = FALSE;
  if (!ir_call_input_data (call, 0, &numbers, &n, &scalar) || scalar)
    return;
  gint64 length = slice_length (n, start, end, step);
  start = start < 0 ? start + n : start;
  start = step > 0 ? CLAMP (start, 0, (gint64) n) : CLAMP (start, 0, (gint64) n - 1);
  g_autofree IrNumber *taken = g_new (IrNumber, MAX (length, 1));
  for (gint64 i = 0; i < length; i++)
    taken[i] = numbers[start + i * step];
  ir_call_set_output_data (call, 0, taken, (guint) length, FALSE);
}

/* Slice; inputs: data, starts, ends, axes (optional), steps (optional). Exact where size, start
 * and end are known. With a step of 1, symbolic places give symbolic dims; what may lie beyond
 * the end is limited by min(). */
gboolean
ir_infer_slice (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 4, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  g_autofree IrNumber *starts = NULL;
  g_autofree IrNumber *ends = NULL;
  g_autofree gint64 *axes = NULL;
  g_autofree gint64 *steps = NULL;
  guint n = 0, n_ends = 0, n_axes = 0, n_steps = 0;
  if (rank == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, rank, NULL);
      return TRUE;
    }
  gboolean has_axes = ir_call_has_input (call, 3), has_steps = ir_call_has_input (call, 4);
  if (!ir_call_input_numbers (call, 1, &starts, &n) ||
      !ir_call_input_numbers (call, 2, &ends, &n_ends) ||
      (has_axes && !ir_call_input_ints (call, 3, &axes, &n_axes)) ||
      (has_steps && !ir_call_input_ints (call, 4, &steps, &n_steps)))
    {
      set_unknown_dims (call, 0, dtype, rank);
      return TRUE;
    }
  if (n_ends != n || (has_axes && n_axes != n) || (has_steps && n_steps != n) || n > (guint) rank)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "%u starts, %u ends, %u axes and %u steps for %d dims do not fit", n,
                         n_ends, has_axes ? n_axes : n, has_steps ? n_steps : n, rank);
  IrDim result[IR_MAX_RANK];
  gboolean mask[IR_MAX_RANK];
  memcpy (result, dims, (gsize) rank * sizeof *result);
  if (has_axes && !ir_call_axes (call, axes, n_axes, rank, mask, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      gint64 axis = has_axes ? (axes[i] < 0 ? axes[i] + rank : axes[i]) : i;
      gint64 step = has_steps ? steps[i] : 1;
      if (step == 0)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "step of axis %" G_GINT64_FORMAT " is 0", axis);
      result[axis] = sliced_dim (call->context, dims[axis], starts[i], ends[i], step);
    }
  ir_call_set_output_tensor_type (call, 0, dtype, rank, result);
  if (rank == 1 && n == 1 && starts[0].known && ends[0].known)
    slice_data (call, starts[0].value, ends[0].value, has_steps ? steps[0] : 1);
  else if (rank == 1 && n == 0)
    ir_call_same_type (call, 0, 0);
  return TRUE;
}

/* -- Shape, Size -- */

gboolean
ir_infer_shape (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  if (rank == IR_RANK_UNKNOWN)
    {
      IrDim unknown = IR_DIM_UNKNOWN;
      ir_call_set_output_tensor_type (call, 0, IR_DTYPE_INT64, 1, &unknown);
      return TRUE;
    }
  gint64 start = ir_call_int (call, "start", 0), end = ir_call_int (call, "end", rank);
  start = CLAMP (start < 0 ? start + rank : start, 0, rank);
  end = CLAMP (end < 0 ? end + rank : end, 0, rank);
  IrDim length = MAX (end - start, 0);
  IrNumber numbers[IR_MAX_RANK];
  for (gint64 i = 0; i < length; i++)
    numbers[i] = ir_number_from_dim (dims[start + i]);
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_INT64, 1, &length);
  ir_call_set_output_data (call, 0, numbers, (guint) length, FALSE);
  return TRUE;
}

gboolean
ir_infer_size (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_INT64, 0, NULL);
  if (rank == IR_RANK_UNKNOWN)
    return TRUE;
  IrDim product = ir_dims_product (call->context, ir_call_input_dims (call, 0), 0, (guint) rank);
  IrNumber number = ir_number_from_dim (product);
  ir_call_set_output_data (call, 0, &number, 1, TRUE);
  return TRUE;
}

/* -- Expand, Tile, Pad -- */

gboolean
ir_infer_expand (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  g_autofree IrNumber *shape = NULL;
  guint n = 0;
  if (rank == IR_RANK_UNKNOWN || !ir_call_input_numbers (call, 1, &shape, &n))
    {
      int length = shape_length (call, 1);
      IrDim wide[IR_MAX_RANK];
      if (rank == IR_RANK_UNKNOWN || length < 0 || MAX (rank, length) > IR_MAX_RANK)
        {
          set_unknown_dims (call, 0, dtype, IR_RANK_UNKNOWN);
          return TRUE;
        }
      length = MAX (rank, length);
      /* A size other than 1 cannot change. */
      for (int i = 0; i < length; i++)
        {
          IrDim dim = i >= length - rank ? dims[i - (length - rank)] : IR_DIM_UNKNOWN;
          wide[i] = ir_dim_is_known (dim) && dim != 1 ? dim : IR_DIM_UNKNOWN;
        }
      ir_call_set_output_tensor_type (call, 0, dtype, length, wide);
      return TRUE;
    }
  if (n > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "shape has %u dims, at most %d are supported", n, IR_MAX_RANK);
  int out_rank = MAX (rank, (int) n);
  IrDim result[IR_MAX_RANK];
  for (int i = 0; i < out_rank; i++)
    {
      int at_in = i - (out_rank - rank), at_shape = i - (out_rank - (int) n);
      if (at_shape >= 0 && shape[at_shape].known && shape[at_shape].value < 0)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "shape has the dim %" G_GINT64_FORMAT,
                             shape[at_shape].value);
      IrDim a = at_in >= 0 ? dims[at_in] : 1;
      IrDim b = at_shape >= 0 ? ir_dim_from_number (shape[at_shape]) : 1;
      if (!ir_call_broadcast_dim (call, a, b, &result[i], error))
        return FALSE;
    }
  ir_call_set_output_tensor_type (call, 0, dtype, out_rank, result);

  g_autofree IrNumber *numbers = NULL;
  guint n_numbers = 0;
  gboolean scalar = FALSE;
  if (out_rank != 1 || !ir_dim_is_known (result[0]) || result[0] > IR_SHAPE_DATA_MAX ||
      !ir_call_input_data (call, 0, &numbers, &n_numbers, &scalar) || n_numbers == 0)
    return TRUE;
  g_autofree IrNumber *copies = g_new (IrNumber, MAX (result[0], 1));
  for (gint64 i = 0; i < result[0]; i++)
    copies[i] = numbers[n_numbers == 1 ? 0 : i];
  ir_call_set_output_data (call, 0, copies, (guint) result[0], FALSE);
  return TRUE;
}

gboolean
ir_infer_tile (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  g_autofree IrNumber *repeats = NULL;
  guint n = 0;
  if (rank == IR_RANK_UNKNOWN || !ir_call_input_numbers (call, 1, &repeats, &n))
    {
      set_unknown_dims (call, 0, dtype, rank);
      return TRUE;
    }
  if (n != (guint) rank)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%u repeats for %d dims", n, rank);
  IrDim result[IR_MAX_RANK];
  for (int i = 0; i < rank; i++)
    {
      if (repeats[i].known && repeats[i].value < 0)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "repeats axis %d %" G_GINT64_FORMAT " times", i, repeats[i].value);
      result[i] = ir_dim_mul (call->context, dims[i], ir_dim_from_number (repeats[i]));
    }
  ir_call_set_output_tensor_type (call, 0, dtype, rank, result);
  return TRUE;
}

gboolean
ir_infer_pad (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error) || !ir_call_check_integers (call, 3, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  g_autofree IrNumber *pads = NULL;
  g_autofree gint64 *axes = NULL;
  guint n = 0, n_axes = (guint) MAX (rank, 0);
  gboolean has_axes = ir_call_has_input (call, 3);
  if (rank == IR_RANK_UNKNOWN || !ir_call_input_numbers (call, 1, &pads, &n) ||
      (has_axes && !ir_call_input_ints (call, 3, &axes, &n_axes)))
    {
      set_unknown_dims (call, 0, dtype, rank);
      return TRUE;
    }
  gboolean mask[IR_MAX_RANK];
  if (has_axes && !ir_call_axes (call, axes, n_axes, rank, mask, error))
    return FALSE;
  if (n != 2 * n_axes)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%u pads for %u axes; two each are needed",
                         n, n_axes);
  IrDim result[IR_MAX_RANK];
  memcpy (result, dims, (gsize) rank * sizeof *result);
  for (guint i = 0; i < n_axes; i++)
    {
      gint64 axis = has_axes ? (axes[i] < 0 ? axes[i] + rank : axes[i]) : i;
      IrNumber size = ir_number_from_dim (dims[axis]);
      size = ir_number_add (call->context, size, pads[i]);
      size = ir_number_add (call->context, size, pads[n_axes + i]);
      if (size.known && size.value < 0)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "axis %" G_GINT64_FORMAT " would have %" G_GINT64_FORMAT " elements",
                             axis, size.value);
      result[axis] = ir_dim_from_number (size);
    }
  ir_call_set_output_tensor_type (call, 0, dtype, rank, result);
  return TRUE;
}

/* -- Dropout -- */

/* The mask had the type of the data before opset 10. */
gboolean
ir_infer_dropout (IrCall *call, GError **error)
{
  ir_call_set_output_type (call, 0, ir_call_input_type (call, 0));
  gboolean old = call->opset > 0 && call->opset < 10;
  ir_call_same_shape (call, 1, 0, old ? ir_call_input_dtype (call, 0) : IR_DTYPE_BOOL);
  return TRUE;
}

/* -- DepthToSpace, SpaceToDepth -- */

static gboolean
infer_blocks (IrCall *call, gboolean to_space, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *in = ir_call_input_dims (call, 0);
  gint64 b = ir_call_int (call, "blocksize", 0);
  if (b <= 0 || b > G_MAXINT32)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "blocksize is %" G_GINT64_FORMAT, b);
  if (rank == IR_RANK_UNKNOWN)
    {
      set_unknown_dims (call, 0, dtype, 4);
      return TRUE;
    }
  if (rank != 4)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "input has %d dims, [N, C, H, W] is needed", rank);
  IrDim out[4] = { in[0], in[1], in[2], in[3] };
  gboolean whole = TRUE;
  for (int i = 1; i < 4; i++)
    {
      gint64 factor = i == 1 ? b * b : b;
      gboolean divide = (i == 1) == to_space;
      if (!divide)
        out[i] = ir_dim_mul (call->context, in[i], factor);
      else if (!ir_dim_is_known (in[i]) || in[i] % factor == 0)
        out[i] = ir_dim_floordiv (call->context, in[i], factor);
      else
        whole = FALSE;
    }
  if (!whole)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%s is not a multiple of the blocks",
                         to_space ? "number of channels" : "height or width");
  ir_call_set_output_tensor_type (call, 0, dtype, 4, out);
  return TRUE;
}

gboolean
ir_infer_depth_to_space (IrCall *call, GError **error)
{
  return infer_blocks (call, TRUE, error);
}

gboolean
ir_infer_space_to_depth (IrCall *call, GError **error)
{
  return infer_blocks (call, FALSE, error);
}
