/* What stands around attention: rotary positions, caches and gated activations. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"

#include <math.h>
#include <string.h>

/* -- RotaryEmbedding -- */

typedef struct
{
  const IrTensor *x, *cos, *sin, *positions; /* positions nullable */
  IrDtype dtype;
  guint64 batch, length, heads, size, half; /* half: pairs of a head */
  guint64 batch_stride, head_stride, row_stride;
  gboolean interleaved;
} Rotary;

static void
rotary_init (Rotary *rotary, const IrCall *call)
{
  const gint64 *dims;
  guint64 rotated = (guint64) ir_call_int (call, "rotary_embedding_dim", 0);

  rotary->x = ir_call_input (call, 0);
  rotary->cos = ir_call_input (call, 1);
  rotary->sin = ir_call_input (call, 2);
  rotary->positions = ir_call_input (call, 3);
  rotary->dtype = ir_tensor_dtype (rotary->x);
  rotary->interleaved = ir_call_int (call, "interleaved", 0) != 0;
  dims = ir_tensor_dims (rotary->x);
  rotary->batch = (guint64) dims[0];
  if (ir_tensor_rank (rotary->x) == 4)
    {
      rotary->heads = (guint64) dims[1];
      rotary->length = (guint64) dims[2];
      rotary->size = rotary->row_stride = (guint64) dims[3];
      rotary->head_stride = rotary->length * rotary->size;
      rotary->batch_stride = rotary->heads * rotary->head_stride;
    }
  else
    {
      rotary->heads = (guint64) ir_call_int (call, "num_heads", 1);
      rotary->length = (guint64) dims[1];
      rotary->row_stride = (guint64) dims[2];
      rotary->size = rotary->head_stride = rotary->row_stride / rotary->heads;
      rotary->batch_stride = rotary->length * rotary->row_stride;
    }
  rotary->half = (rotated > 0 ? rotated : rotary->size) / 2;
}

/* Row of the caches for a position of a sample; negative ones count from the end, as in Gather. */
static gboolean
cache_row (const Rotary *rotary,
           const IrCall *call,
           guint64 batch,
           guint64 row,
           guint64 *at,
           GError **error)
{
  gint64 n = ir_tensor_dims (rotary->cos)[0], position;

  *at = batch * rotary->length + row;
  if (rotary->positions == NULL)
    return TRUE;
  n = MIN (n, ir_tensor_dims (rotary->sin)[0]);
  position = ir_tensor_get_int64 (rotary->positions, *at);
  if (position < -n || position >= n)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "position %" G_GINT64_FORMAT " is not one of the %" G_GINT64_FORMAT
                         " that the caches have",
                         position, n);
  *at = (guint64) (position < 0 ? position + n : position);
  return TRUE;
}

/* Each product and each sum is an element of X's type, as in the function body. */
static void
rotate_head (const Rotary *rotary,
             const double *cosines,
             const double *sines,
             double *head)
{
  IrDtype dtype = rotary->dtype;

  for (guint64 i = 0; i < rotary->half; i++)
    {
      double *a = head + (rotary->interleaved ? 2 * i : i);
      double *b = head + (rotary->interleaved ? 2 * i + 1 : i + rotary->half);
      double real = ir_block_round (dtype, cosines[i] * *a) - ir_block_round (dtype, sines[i] * *b);
      double imaginary = ir_block_round (dtype, sines[i] * *a) +
                         ir_block_round (dtype, cosines[i] * *b);
      *a = real;
      *b = imaginary;
    }
}

/* X, cosines, sines, and the positions or none. Fails with %IR_OP_ERROR_VALUE where a position
 * has no row in the caches. Source: ONNX RotaryEmbedding 23, function body. */
gboolean
ir_ref_rotary_embedding (IrCall *call, GError **error)
{
  Rotary rotary;
  guint64 at;

  if (!ir_block_check_float (call, error) || !ir_infer_rotary_embedding (call, error))
    return FALSE;
  rotary_init (&rotary, call);
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *head = ir_block_new (call, rotary.size, error);
  g_autofree double *cosines = ir_block_new (call, rotary.half, error);
  g_autofree double *sines = ir_block_new (call, rotary.half, error);
  if (y == NULL || head == NULL || cosines == NULL || sines == NULL)
    return FALSE;
  for (guint64 i = 0; i < rotary.batch * rotary.length && !ir_call_stopped (call); i++)
    {
      guint64 batch = i / rotary.length, row = i % rotary.length;
      if (!cache_row (&rotary, call, batch, row, &at, error))
        return FALSE;
      ir_block_load_many (call, rotary.cos, at * rotary.half, rotary.half, cosines);
      ir_block_load_many (call, rotary.sin, at * rotary.half, rotary.half, sines);
      for (guint64 h = 0; h < rotary.heads; h++)
        {
          guint64 first = batch * rotary.batch_stride + h * rotary.head_stride +
                          row * rotary.row_stride;
          ir_block_load_many (call, rotary.x, first, rotary.size, head);
          rotate_head (&rotary, cosines, sines, head);
          ir_block_store (y, first, rotary.size, head);
        }
    }
  return TRUE;
}

/* -- TensorScatter -- */

typedef struct
{
  const IrTensor *indices; /* (nullable) */
  gboolean circular;
  guint64 outer, per_batch, length, update_length, inner;
} Scatter;

/* First position that the update of a sample goes to. */
static gboolean
write_index (
    const Scatter *scatter, const IrCall *call, guint64 batch, guint64 *first, GError **error)
{
  gint64 index = scatter->indices != NULL ? ir_tensor_get_int64 (scatter->indices, batch) : 0;
  gint64 length = (gint64) scatter->length, n = (gint64) scatter->update_length;

  *first = 0;
  if (scatter->circular)
    {
      if (length > 0)
        *first = (guint64) ((index % length + length) % length);
      return TRUE;
    }
  if (index < 0 || index > length - n)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "write_indices[%" G_GUINT64_FORMAT "] is %" G_GINT64_FORMAT
                         "; %" G_GINT64_FORMAT " positions from there on do not lie in the cache "
                         "of %" G_GINT64_FORMAT,
                         batch, index, n, length);
  *first = (guint64) index;
  return TRUE;
}

/* Fails with %IR_OP_ERROR_VALUE where a linear update would reach beyond the cache. Source: ONNX
 * TensorScatter 24. */
gboolean
ir_ref_tensor_scatter (IrCall *call, GError **error)
{
  g_auto (IrRefReader) cache = { 0 };
  g_auto (IrRefReader) update = { 0 };
  g_auto (IrRefWriter) writer = { 0 };
  gint64 axis, outer, inner;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *past = ir_call_input (call, 0);
  const gint64 *dims = ir_tensor_dims (past);
  if (!ir_call_axis (call, ir_call_int (call, "axis", -2), (int) ir_tensor_rank (past), &axis,
                     error) ||
      !ir_ref_reader_init (&cache, call, past, error) ||
      !ir_ref_reader_init (&update, call, ir_call_input (call, 1), error) ||
      !ir_ref_writer_init (&writer, call, 0, error))
    return FALSE;
  ir_ref_split_at (ir_tensor_rank (past), dims, (guint) axis, &outer, &inner);
  Scatter scatter = {
    .indices = ir_call_input (call, 2),
    .circular = strcmp (ir_call_string (call, "mode", "linear"), "circular") == 0,
    .outer = (guint64) outer,
    .per_batch = dims[0] > 0 ? (guint64) (outer / dims[0]) : 1,
    .length = (guint64) dims[axis],
    .update_length = (guint64) ir_tensor_dims (ir_call_input (call, 1))[axis],
    .inner = (guint64) inner,
  };
  ir_ref_copy_run (&writer, 0, &cache, 0, cache.n);
  for (guint64 i = 0; i < scatter.outer && cache.n > 0 && !ir_call_stopped (call); i++)
    {
      guint64 first;
      if (!write_index (&scatter, call, i / scatter.per_batch, &first, error))
        return FALSE;
      for (guint64 k = 0; k < scatter.update_length;
           k++)
        ir_ref_copy_run (&writer,
                         (i * scatter.length + (first + k) % scatter.length) * scatter.inner,
                         &update, (i * scatter.update_length + k) * scatter.inner, scatter.inner);
    }
  return ir_ref_writer_finish (&writer, error);
}

/* -- SwiGLU -- */

/* A and B. Rounded to the element type after each operator of the function body. Source: ONNX
 * SwiGLU 28, function body. */
gboolean
ir_ref_swiglu (IrCall *call, GError **error)
{
  if (!ir_block_check_float (call, error) || !ir_infer_swiglu (call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *a = ir_block_load_new (call, 0, error);
  g_autofree double *b = ir_block_load_new (call, 1, error);
  if (y == NULL || a == NULL || b == NULL)
    return FALSE;
  IrDtype dtype = ir_tensor_dtype (y);
  double alpha = ir_block_round (dtype, ir_call_float (call, "alpha", 1));
  guint64 n = ir_tensor_n_elements (y);
  for (guint64 i = 0; i < n; i++)
    {
      double gate = 1 / (1 + exp (-ir_block_round (dtype, alpha * a[i])));
      b[i] *= ir_block_round (dtype, a[i] * ir_block_round (dtype, gate));
    }
  ir_block_store (y, 0, n, b);
  return TRUE;
}
