/* Elements picked and placed by indices: GatherND, GatherElements, ScatterND, ScatterElements,
 * OneHot, NonZero, Trilu. What does not fit (an index outside, shapes that differ) goes to the
 * reference kernel, which says so. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/op/infer-util.h"

#include <string.h>

static const char *
refuses_first (const IrNode *node)
{
  return cpu_needs_whole_bytes (node, 0);
}

static gsize
element_size (const IrTensor *tensor)
{
  return ir_dtype_bits (ir_tensor_dtype (tensor)) / 8;
}

static gboolean
are_indices (const IrTensor *tensor)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  return dtype == IR_DTYPE_INT64 || dtype == IR_DTYPE_INT32;
}

/* Index @i of @indices into an axis of @size elements, or -1. */
static inline gint64
index_at (const IrTensor *indices, gint64 i, gint64 size)
{
  gconstpointer data = ir_tensor_data (indices);
  gint64 index = ir_tensor_dtype (indices) == IR_DTYPE_INT64 ? ((const gint64 *) data)[i]
                                                             : ((const gint32 *) data)[i];

  index += index < 0 ? size : 0;
  return index >= 0 && index < size ? index : -1;
}

/* -- tuples of indices -- */

/* Where the slice of each tuple lies, in elements; NULL: something does not fit, or it was to stop.
 */
static gint64 *
slice_offsets (const IrCall *call, gint64 batch, gint64 *n_tuples, gint64 *run)
{
  const IrTensor *data = ir_call_input (call, 0), *indices = ir_call_input (call, 1);
  gint64 rank = ir_tensor_rank (data), n_dims = ir_tensor_rank (indices), tuple, per_batch;
  const gint64 *dims = ir_tensor_dims (data), *index_dims = ir_tensor_dims (indices);
  gint64 strides[IR_MAX_RANK + 1];

  if (!are_indices (indices) || n_dims < 1 || batch < 0 || batch >= MIN (n_dims, MAX (rank, 1)))
    return NULL;
  tuple = index_dims[n_dims - 1];
  if (tuple < 1 || tuple > rank - batch)
    return NULL;
  strides[rank] = 1;
  for (gint64 i = rank; i > 0; i--)
    strides[i - 1] = strides[i] * dims[i - 1];
  *run = strides[batch + tuple];
  per_batch = *n_tuples = (gint64) ir_tensor_n_elements (indices) / tuple;
  for (gint64 i = 0; i < batch; i++)
    {
      if (dims[i] != index_dims[i])
        return NULL;
      per_batch /= MAX (dims[i], 1);
    }
  g_autofree gint64 *offsets = g_try_new (gint64, MAX (*n_tuples, 1));
  for (gint64 i = 0; offsets != NULL && i < *n_tuples; i++)
    {
      offsets[i] = batch > 0 ? i / per_batch * strides[batch] : 0;
      for (gint64 k = 0; k < tuple; k++)
        {
          gint64 index = index_at (indices, i * tuple + k, dims[batch + k]);

          if (index < 0)
            return NULL;
          offsets[i] += index * strides[batch + k + 1];
        }
    }
  return g_steal_pointer (&offsets);
}

/* -- one index per element -- */

/* Where each element lies in the data, in elements; NULL: something does not fit, or it was to
 * stop. */
static gint64 *
element_offsets (IrCall *call)
{
  const IrTensor *data = ir_call_input (call, 0), *indices = ir_call_input (call, 1);
  guint rank = ir_tensor_rank (data);
  const gint64 *dims = ir_tensor_dims (data), *index_dims = ir_tensor_dims (indices);
  gint64 n = (gint64) ir_tensor_n_elements (indices), at[IR_MAX_RANK] = { 0 }, axis;
  gint64 strides[IR_MAX_RANK], stride = 1;

  if (!are_indices (indices) || ir_tensor_rank (indices) != rank ||
      !ir_call_axis (call, ir_call_int (call, "axis", 0), (int) rank, &axis, NULL))
    return NULL;
  for (guint i = rank; i > 0; i--)
    {
      if (i - 1 != axis && index_dims[i - 1] > dims[i - 1])
        return NULL;
      strides[i - 1] = stride;
      stride *= dims[i - 1];
    }
  g_autofree gint64 *offsets = g_try_new (gint64, MAX (n, 1));
  for (gint64 i = 0; offsets != NULL && i < n; i++)
    {
      gint64 index = index_at (indices, i, dims[axis]), offset = 0;

      if (index < 0)
        return NULL;
      for (guint k = 0; k < rank; k++)
        offset += (k == axis ? index : at[k]) * strides[k];
      offsets[i] = offset;
      for (guint k = rank; k > 0 && ++at[k - 1] == index_dims[k - 1]; k--)
        at[k - 1] = 0;
    }
  return g_steal_pointer (&offsets);
}

/* -- out of the data -- */

static gboolean
gather (IrCall *call, const gint64 *offsets, gint64 n, gint64 run, GError **error)
{
  const IrTensor *data = ir_call_input (call, 0);
  const guint8 *x = ir_tensor_data (data);
  gsize size = element_size (data), bytes = (gsize) run * size;

  if (offsets == NULL)
    return ir_ref_run (call, error);
  guint8 *y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (call->outputs[0].tensor) != (guint64) (n * run))
    return ir_ref_run (call, error);
  if (bytes == 0)
    return TRUE;
  int n_threads = cpu_n_threads (call, (guint64) (n * run));
  CpuWatch watch = cpu_watch (call, run);
#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (n, 0), until = cpu_share (n, 1);
       i < until && !cpu_watch_stopped (&watch, i); i++)
    memcpy (y + (gsize) i * bytes, x + (gsize) offsets[i] * size, bytes);
  return TRUE;
}

static gboolean
run_gather_nd (IrCall *call, GError **error)
{
  gint64 n = 0, run = 0;
  g_autofree gint64 *offsets = slice_offsets (call, ir_call_int (call, "batch_dims", 0), &n, &run);

  return gather (call, offsets, n, run, error);
}

static gboolean
run_gather_elements (IrCall *call, GError **error)
{
  g_autofree gint64 *offsets = element_offsets (call);

  return gather (call, offsets, (gint64) ir_tensor_n_elements (ir_call_input (call, 1)), 1, error);
}

const IrCpuKernel cpu_gather_nd = { .name = "slice copy",
                                    .refuses = refuses_first,
                                    .run = run_gather_nd };
const IrCpuKernel cpu_gather_elements = { .name = "element copy",
                                          .refuses = refuses_first,
                                          .run = run_gather_elements };

/* -- into a copy of the data, one after the other: a place may be named twice -- */

static void
add_slice (float *y, const float *x, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] += x[i];
}

static gboolean
scatter (IrCall *call, const gint64 *offsets, gint64 n, gint64 run, GError **error)
{
  const IrTensor *data = ir_call_input (call, 0), *news = ir_call_input (call, 2);
  const char *reduction = ir_call_string (call, "reduction", "none");
  gboolean adds = strcmp (reduction, "add") == 0 && ir_tensor_dtype (data) == IR_DTYPE_FLOAT;
  const guint8 *x = ir_tensor_data (news);
  gsize size = element_size (data), bytes = (gsize) run * size;

  if (offsets == NULL || ir_tensor_dtype (news) != ir_tensor_dtype (data) ||
      ir_tensor_n_elements (news) != (guint64) (n * run) ||
      (!adds && strcmp (reduction, "none") != 0))
    return ir_ref_run (call, error);
  guint8 *y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_bytes (data) > 0 && (gconstpointer) y != ir_tensor_data (data))
    memcpy (y, ir_tensor_data (data), ir_tensor_n_bytes (data));
  CpuWatch watch = cpu_watch (call, run);
  for (gint64 i = 0; bytes > 0 && i < n && !cpu_watch_stopped (&watch, i); i++)
    if (adds)
      add_slice ((float *) y + offsets[i], (const float *) x + i * run, run);
    else
      memcpy (y + (gsize) offsets[i] * size, x + (gsize) i * bytes, bytes);
  return TRUE;
}

static gboolean
run_scatter_nd (IrCall *call, GError **error)
{
  gint64 n = 0, run = 0;
  g_autofree gint64 *offsets = slice_offsets (call, 0, &n, &run);

  return scatter (call, offsets, n, run, error);
}

static gboolean
run_scatter_elements (IrCall *call, GError **error)
{
  g_autofree gint64 *offsets = element_offsets (call);

  return scatter (call, offsets, (gint64) ir_tensor_n_elements (ir_call_input (call, 1)), 1, error);
}

const IrCpuKernel cpu_scatter_nd = { .name = "slice copy",
                                     .refuses = refuses_first,
                                     .run = run_scatter_nd };
const IrCpuKernel cpu_scatter_elements = { .name = "element copy",
                                           .refuses = refuses_first,
                                           .run = run_scatter_elements };

/* -- OneHot: all off, then one on per index -- */

static const char *
refuses_one_hot (const IrNode *node)
{
  return cpu_needs_whole_bytes (node, 2);
}

static gboolean
run_one_hot (IrCall *call, GError **error)
{
  const IrTensor *indices = ir_call_input (call, 0), *values = ir_call_input (call, 2);
  const IrType *type = call->outputs[0].type;
  const guint8 *off = ir_tensor_data (values);
  gsize size = element_size (values);
  gint64 axis;

  if (!are_indices (indices) || ir_tensor_n_elements (values) != 2 || type == NULL ||
      !ir_type_is_static (type) ||
      !ir_call_axis (call, ir_call_int (call, "axis", -1), type->rank, &axis, NULL))
    return ir_ref_run (call, error);
  guint8 *y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  CpuSplit split = cpu_split_axes (call->outputs[0].tensor, axis, axis + 1);
  gint64 n = split.outer * split.inner;
  CpuWatch watch = cpu_watch (call, 1);
  for (gint64 i = 0; i < n * split.middle && !cpu_watch_stopped (&watch, i); i++)
    memcpy (y + (gsize) i * size, off, size);
  for (gint64 i = 0; i < n; i++)
    {
      gint64 index = index_at (indices, i, split.middle),
             at = (i / split.inner * split.middle + index) * split.inner + i % split.inner;

      if (index >= 0)
        memcpy (y + (gsize) at * size, off + size, size);
    }
  return TRUE;
}

const IrCpuKernel cpu_one_hot = { .name = "fill", .refuses = refuses_one_hot, .run = run_one_hot };

/* -- NonZero -- */

static const char *
refuses_non_zero (const IrNode *node)
{
  IrDtype dtype = cpu_dtype (node, 0);

  return dtype == IR_DTYPE_FLOAT || dtype == IR_DTYPE_INT64 || dtype == IR_DTYPE_INT32 ||
                 dtype == IR_DTYPE_BOOL
             ? NULL
             : "only float, int64, int32 and bool are looked through here";
}

static inline gboolean
is_non_zero (gconstpointer x, IrDtype dtype, gint64 i)
{
  return dtype == IR_DTYPE_FLOAT   ? ((const float *) x)[i] != 0
         : dtype == IR_DTYPE_INT64 ? ((const gint64 *) x)[i] != 0
         : dtype == IR_DTYPE_INT32 ? ((const gint32 *) x)[i] != 0
                                   : ((const guint8 *) x)[i] != 0;
}

static gboolean
run_non_zero (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gint64 total = (gint64) ir_tensor_n_elements (in), dims[2] = { ir_tensor_rank (in), 0 };
  gint64 at[IR_MAX_RANK] = { 0 }, column = 0;
  IrDtype dtype = ir_tensor_dtype (in);
  gconstpointer x = ir_tensor_data (in);
  IrTensor *out;

  for (gint64 i = 0; i < total; i++)
    dims[1] += is_non_zero (x, dtype, i);
  out = ir_call_new_output (call, 0, IR_DTYPE_INT64, 2, dims, error);
  if (out == NULL)
    return FALSE;
  gint64 *y = ir_tensor_data_writable (out);
  CpuWatch watch = cpu_watch (call, 1);
  for (gint64 i = 0; i < total && !cpu_watch_stopped (&watch, i); i++)
    {
      if (is_non_zero (x, dtype, i))
        {
          for (gint64 k = 0; k < dims[0]; k++)
            y[k * dims[1] + column] = at[k];
          column++;
        }
      for (gint64 k = dims[0]; k > 0 && ++at[k - 1] == ir_tensor_dims (in)[k - 1]; k--)
        at[k - 1] = 0;
    }
  return TRUE;
}

const IrCpuKernel cpu_non_zero = { .name = "loop",
                                   .refuses = refuses_non_zero,
                                   .run = run_non_zero };

/* -- Trilu -- */

static gboolean
run_trilu (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gint64 rank = ir_tensor_rank (in), k = 0;
  gboolean upper = ir_call_int (call, "upper", 1) != 0;
  g_autofree gint64 *shift = NULL;
  const guint8 *x = ir_tensor_data (in);
  gsize size = element_size (in);
  guint n = 0;

  if (rank < 2)
    return ir_ref_run (call, error);
  guint8 *y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  /* Beyond the size of any matrix it makes no difference, and the sum below cannot overflow. */
  if (ir_call_input_ints (call, 1, &shift, &n) && n == 1)
    k = CLAMP (shift[0], -G_MAXINT64 / 2, G_MAXINT64 / 2);
  gint64 rows = ir_tensor_dims (in)[rank - 2], columns = ir_tensor_dims (in)[rank - 1];
  gint64 total = columns > 0 ? (gint64) ir_tensor_n_elements (in) / columns : 0;
  CpuWatch watch = cpu_watch (call, columns);
  for (gint64 i = 0; i < total && !cpu_watch_stopped (&watch, i); i++)
    {
      gint64 edge = CLAMP (i % rows + k + (upper ? 0 : 1), 0, columns), first = upper ? edge : 0,
             end = upper ? columns : edge;
      guint8 *to = y + (gsize) (i * columns) * size;

      memmove (to + (gsize) first * size, x + (gsize) (i * columns + first) * size,
               (gsize) (end - first) * size);
      memset (to, 0, (gsize) first * size);
      memset (to + (gsize) end * size, 0, (gsize) (columns - end) * size);
    }
  return TRUE;
}

const IrCpuKernel cpu_trilu = { .name = "row copy", .refuses = refuses_first, .run = run_trilu };
