/* Pieces of tensors along an axis: see slabs.h. */
#include "config.h"

#include "core/exec/kernel/slabs.h"

#include <string.h>

/* A tensor under construction. */
typedef struct
{
  IrTensor *tensor; /* (nullable) all but strings */
  GBytes **strings; /* (nullable) borrowed from the sources */
  guint rank;
  gint64 dims[IR_MAX_RANK];
  IrDtype dtype;
  gsize size; /* bytes of an element; 0: packed */
} Result;

static gboolean
result_init (Result *result, IrDtype dtype, gsize max_bytes, GError **error)
{
  guint64 n = 1;
  gsize bytes = 0;
  gboolean counted = TRUE, empty = FALSE;

  result->dtype = dtype;
  result->size = ir_dtype_bits (dtype) % 8 == 0 ? ir_dtype_bits (dtype) / 8 : 0;
  for (guint i = 0; i < result->rank; i++)
    {
      empty |= result->dims[i] == 0;
      counted = counted && g_uint64_checked_mul (&n, n, (guint64) MAX (result->dims[i], 1));
    }
  n = empty ? 0 : n;
  if (dtype == IR_DTYPE_STRING)
    counted = counted && g_size_checked_mul (&bytes, n, sizeof (GBytes *));
  else
    counted = counted && ir_dtype_storage_bytes (dtype, n, &bytes);
  if (!counted || (max_bytes > 0 && bytes > max_bytes))
    {
      g_autofree char *needed = g_format_size (bytes);
      g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_LIMIT,
                   "the pieces put together need %s, more than may be used",
                   counted ? needed : "more memory than can be addressed");
      return FALSE;
    }
  if (dtype == IR_DTYPE_STRING)
    result->strings = g_try_new0 (GBytes *, n + 1);
  else
    result->tensor = ir_tensor_new_alloc (dtype, result->rank, result->dims, error);
  if (dtype == IR_DTYPE_STRING && result->strings == NULL)
    g_set_error_literal (error, IR_OP_ERROR, IR_OP_ERROR_LIMIT, "not enough memory");
  return result->tensor != NULL || result->strings != NULL;
}

/* Elements [from, from + n) of @source become those from @to on. */
static void
result_copy (Result *result, guint64 to, const IrTensor *source, guint64 from, guint64 n)
{
  if (result->strings != NULL)
    for (guint64 i = 0; i < n; i++)
      result->strings[to + i] = ir_tensor_string (source, from + i);
  else if (result->size > 0)
    memcpy ((guint8 *) ir_tensor_data_writable (result->tensor) + to * result->size,
            (const guint8 *) ir_tensor_data (source) + from * result->size, n * result->size);
  else
    for (guint64 i = 0; i < n; i++)
      ir_dtype_set_code (result->dtype, ir_tensor_data_writable (result->tensor), to + i,
                         ir_dtype_get_code (result->dtype, ir_tensor_data (source), from + i));
}

static IrTensor *
result_finish (Result *result, GError **error)
{
  if (result->strings == NULL)
    return result->tensor;
  IrTensor *tensor = ir_tensor_new_strings (result->rank, result->dims, result->strings);
  g_free (result->strings);
  if (tensor == NULL)
    g_set_error_literal (error, IR_OP_ERROR, IR_OP_ERROR_LIMIT, "too many strings");
  return tensor;
}

static guint64
product (const gint64 *dims, guint from, guint to)
{
  guint64 n = 1;

  for (guint i = from; i < to; i++)
    n *= (guint64) dims[i];
  return n;
}

static gboolean
check_piece (const IrTensor *piece, GError **error)
{
  if (ir_tensor_kind (piece) == IR_TYPE_TENSOR)
    return TRUE;
  g_set_error_literal (error, IR_OP_ERROR, IR_OP_ERROR_DTYPE, "dense tensors are needed");
  return FALSE;
}

/* Places [@start, @start + @length) along @axis are the result. */
static void
copy_piece (Result *result, const IrTensor *whole, guint axis, gint64 start, gint64 length)
{
  const gint64 *dims = ir_tensor_dims (whole);

  if (ir_tensor_n_elements (whole) == 0 || length == 0)
    return;
  guint64 outer = product (dims, 0, axis), inner = product (dims, axis + 1, ir_tensor_rank (whole));
  guint64 run = (guint64) length * inner;
  for (guint64 i = 0; i < outer; i++)
    result_copy (result, i * run, whole, (i * (guint64) dims[axis] + (guint64) start) * inner, run);
}

/**
 * ir_slab_cut:
 * @whole: a dense tensor
 * @axis: one of its axes
 * @start: first place along @axis; the piece lies within @whole
 * @length: places; 1 if @keep_axis is %FALSE
 * @keep_axis: whether the piece still has the axis
 * @max_bytes: of the piece; 0: no limit
 * @error: return location for an error
 *
 * Fails with %IR_OP_ERROR_DTYPE if @whole is not dense, with %IR_OP_ERROR_LIMIT beyond @max_bytes.
 *
 * Returns: (transfer full) (nullable): a copy of that part
 */
IrTensor *
ir_slab_cut (const IrTensor *whole,
             guint axis,
             gint64 start,
             gint64 length,
             gboolean keep_axis,
             gsize max_bytes,
             GError **error)
{
  Result result = { 0 };
  const gint64 *dims = ir_tensor_dims (whole);
  guint rank = ir_tensor_rank (whole);

  if (!check_piece (whole, error))
    return NULL;
  g_return_val_if_fail (axis < rank && start >= 0 && start + length <= dims[axis], NULL);
  for (guint i = 0; i < rank; i++)
    if (i != axis || keep_axis)
      result.dims[result.rank++] = i == axis ? length : dims[i];
  if (!result_init (&result, ir_tensor_dtype (whole), max_bytes, error))
    return NULL;
  copy_piece (&result, whole, axis, start, length);
  return result_finish (&result, error);
}

/**
 * ir_slab_refill:
 * @piece: what ir_slab_cut() has given of @whole, not of strings, which nobody else has any more
 * @whole: a dense tensor
 * @axis: as it was then, as are the places along it, but
 * @start: where they begin
 * @length: how many they are
 *
 * Makes @piece another part of the same size.
 */
void
ir_slab_refill (IrTensor *piece, const IrTensor *whole, guint axis, gint64 start, gint64 length)
{
  IrDtype dtype = ir_tensor_dtype (piece);
  Result result = { .tensor = piece, .dtype = dtype };

  result.size = ir_dtype_bits (dtype) % 8 == 0 ? ir_dtype_bits (dtype) / 8 : 0;
  copy_piece (&result, whole, axis, start, length);
}

/* All pieces must have the type of the first and, but for @free_axis, its dims. */
static gboolean
check_pieces (IrTensor *const *pieces, guint n, guint free_axis, GError **error)
{
  for (guint i = 0; i < n; i++)
    {
      if (!check_piece (pieces[i], error))
        return FALSE;
      gboolean fits = ir_tensor_dtype (pieces[i]) == ir_tensor_dtype (pieces[0]) &&
                      ir_tensor_rank (pieces[i]) == ir_tensor_rank (pieces[0]);
      for (guint k = 0; fits && k < ir_tensor_rank (pieces[0]); k++)
        fits = k == free_axis || ir_tensor_dims (pieces[i])[k] == ir_tensor_dims (pieces[0])[k];
      if (fits)
        continue;
      g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_SHAPE,
                   "piece %u has another shape or element type than piece 0, so they cannot be put "
                   "together",
                   i);
      return FALSE;
    }
  return TRUE;
}

/**
 * ir_slabs_join:
 * @pieces: (array length=n): dense tensors of one element type
 * @n: how many, at least 1
 * @how: axis and direction
 * @error: return location for an error
 *
 * Along an axis that the pieces have, their sizes there may differ (concatenation); along a new
 * one, their shapes must be equal (stacking).
 *
 * Fails with %IR_OP_ERROR_SHAPE if the pieces do not fit together or the axis is out of range, and
 * as ir_slab_cut() does.
 *
 * Returns: (transfer full) (nullable): all of them in one tensor
 */
IrTensor *
ir_slabs_join (IrTensor *const *pieces, guint n, const IrSlabJoin *how, GError **error)
{
  g_return_val_if_fail (n > 0, NULL);
  guint piece_rank = ir_tensor_rank (pieces[0]);
  gint64 rank = (gint64) piece_rank + (how->new_axis ? 1 : 0);
  Result result = { .rank = (guint) rank };
  gint64 total = 0;

  if (rank > IR_MAX_RANK || how->axis < -rank || how->axis >= rank)
    {
      g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_SHAPE,
                   "axis %" G_GINT64_FORMAT
                   " is out of range for a result of rank %" G_GINT64_FORMAT,
                   how->axis, rank);
      return NULL;
    }
  guint axis = (guint) (how->axis < 0 ? how->axis + rank : how->axis);
  if (!check_pieces (pieces, n, how->new_axis ? G_MAXUINT : axis, error))
    return NULL;
  for (guint i = 0; i < n; i++)
    if (total < G_MAXINT64 / 2)
      total += how->new_axis ? 1 : MIN (ir_tensor_dims (pieces[i])[axis], G_MAXINT64 / 4);
  for (guint i = 0, k = 0; i < result.rank; i++)
    {
      gboolean own = how->new_axis && i == axis;
      result.dims[i] = i == axis ? total : ir_tensor_dims (pieces[0])[k];
      k += own ? 0 : 1;
    }
  if (!result_init (&result, ir_tensor_dtype (pieces[0]), how->max_bytes, error))
    return NULL;
  guint64 outer = product (result.dims, 0, axis);
  guint64 inner = product (result.dims, axis + 1, result.rank), place = 0;
  for (guint i = 0; i < n && outer * inner > 0; i++)
    {
      const IrTensor *piece = pieces[how->backward ? n - 1 - i : i];
      guint64 length = how->new_axis ? 1 : (guint64) ir_tensor_dims (piece)[axis];
      for (guint64 o = 0; length > 0 && o < outer; o++)
        result_copy (&result, (o * (guint64) total + place) * inner, piece, o * length * inner,
                     length * inner);
      place += length;
    }
  return result_finish (&result, error);
}

/**
 * ir_slab_none:
 * @dtype: an element type
 * @rank: number of dims
 * @dims: (array length=rank): all >= 0, one of them 0
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): what pieces are together if there are none
 */
IrTensor *
ir_slab_none (IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  return dtype == IR_DTYPE_STRING ? ir_tensor_new_strings (rank, dims, NULL)
                                  : ir_tensor_new_alloc (dtype, rank, dims, error);
}
