/* Reference kernels that gather and scatter. An index outside of its axis is an error. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <string.h>

/* Index @i of @indices, negative ones counted from the end of an axis of @size. */
static gboolean
index_at (const IrCall *call,
          const IrTensor *indices,
          guint64 i,
          gint64 size,
          gint64 *index,
          GError **error)
{
  gint64 offset = (gint64) i;
  ir_ref_load_int (indices, &offset, 1, index);
  if (*index < -size || *index >= size)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "index %" G_GINT64_FORMAT " at place %" G_GUINT64_FORMAT
                         " is outside an axis of %" G_GINT64_FORMAT,
                         *index, i, size);
  if (*index < 0)
    *index += size;
  return TRUE;
}

static gboolean
check_indices (const IrCall *call, guint slot, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (ir_call_input (call, slot));
  return ir_dtype_is_integer (dtype) || ir_ref_fail_dtype (call, dtype, error);
}

/* -- Gather -- */

gboolean
ir_ref_gather (IrCall *call, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  gint64 axis, outer, inner, index;
  if (!ir_ref_prepare (call, error) || !check_indices (call, 1, error))
    return FALSE;
  const IrTensor *data = ir_call_input (call, 0), *indices = ir_call_input (call, 1);
  guint rank = ir_tensor_rank (data);
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), (int) rank, &axis, error) ||
      !ir_ref_reader_init (&in, call, data, error) || !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  gint64 size = ir_tensor_dims (data)[axis];
  gint64 n_indices = (gint64) ir_tensor_n_elements (indices);
  ir_ref_split_at (rank, ir_tensor_dims (data), (guint) axis, &outer, &inner);
  for (gint64 o = 0; out.n > 0 && o < outer && !ir_call_stopped (call); o++)
    for (gint64 k = 0; k < n_indices; k++)
      {
        if (!index_at (call, indices, (guint64) k, size, &index, error))
          return FALSE;
        ir_ref_copy_run (&out, (guint64) ((o * n_indices + k) * inner), &in,
                         (guint64) ((o * size + index) * inner), (guint64) inner);
      }
  return ir_ref_writer_finish (&out, error);
}

/* The place in a tensor of @dims that @at points to, but for @axis, where @index does. */
static gint64
replaced_offset (const IrRefLayout *layout, const gint64 *at, guint axis, gint64 index)
{
  gint64 offset = 0;
  for (guint i = 0; i < layout->rank; i++)
    offset += (i == axis ? index : at[i]) * layout->strides[i];
  return offset;
}

/* Coordinates of element @i of a tensor in C order. */
static void
coordinates (const IrRefLayout *layout, guint64 i, gint64 *at)
{
  for (guint axis = layout->rank; axis-- > 0;)
    {
      at[axis] = (gint64) (i % (guint64) layout->dims[axis]);
      i /= (guint64) layout->dims[axis];
    }
}

/* GatherElements and ScatterElements: indices have the rank of the data and, off the axis, lie
 * within its dims. */
static gboolean
check_elementwise (const IrCall *call, gint64 *axis, GError **error)
{
  const IrTensor *data = ir_call_input (call, 0), *indices = ir_call_input (call, 1);
  guint rank = ir_tensor_rank (data);
  if (!check_indices (call, 1, error) ||
      !ir_call_axis (call, ir_call_int (call, "axis", 0), (int) rank, axis, error))
    return FALSE;
  if (ir_tensor_rank (indices) != rank)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "indices have %u dims, the data %u",
                         ir_tensor_rank (indices), rank);
  for (guint i = 0; i < rank; i++)
    if (i != (guint) *axis && ir_tensor_dims (indices)[i] > ir_tensor_dims (data)[i])
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                           "dim %u of the indices is %" G_GINT64_FORMAT
                           ", that of the data %" G_GINT64_FORMAT,
                           i, ir_tensor_dims (indices)[i], ir_tensor_dims (data)[i]);
  return TRUE;
}

gboolean
ir_ref_gather_elements (IrCall *call, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  IrRefLayout at_data, at_indices;
  gint64 axis, index, at[IR_MAX_RANK];
  if (!ir_ref_prepare (call, error) || !check_elementwise (call, &axis, error))
    return FALSE;
  const IrTensor *data = ir_call_input (call, 0), *indices = ir_call_input (call, 1);
  if (!ir_ref_reader_init (&in, call, data, error) || !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  ir_ref_layout_init (&at_data, ir_tensor_rank (data), ir_tensor_dims (data));
  ir_ref_layout_init (&at_indices, ir_tensor_rank (data), ir_tensor_dims (indices));
  for (guint64 i = 0; i < out.n; i++)
    {
      if (!index_at (call, indices, i, at_data.dims[axis], &index, error))
        return FALSE;
      coordinates (&at_indices, i, at);
      ir_ref_copy_run (&out, i, &in, (guint64) replaced_offset (&at_data, at, (guint) axis, index),
                       1);
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- tuples of indices: GatherND, ScatterND -- */

typedef struct
{
  IrRefLayout data;
  gint64 batch; /* leading axes that data and indices share */
  gint64 tuple; /* indices per tuple */
  guint64 n_tuples;
  guint64 n_per_batch; /* tuples per batch */
  gint64 run;          /* elements of a slice */
} Tuples;

static gboolean
tuples_init (Tuples *tuples, const IrCall *call, gint64 batch, GError **error)
{
  const IrTensor *data = ir_call_input (call, 0), *indices = ir_call_input (call, 1);
  guint rank = ir_tensor_rank (data), n_dims = ir_tensor_rank (indices);
  const gint64 *dims = ir_tensor_dims (indices);
  if (!check_indices (call, 1, error))
    return FALSE;
  if (n_dims < 1 || batch < 0 || batch >= MIN (n_dims, MAX (rank, 1)) || dims[n_dims - 1] < 1 ||
      dims[n_dims - 1] > (gint64) rank - batch)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "indices of %u dims do not fit data of %u dims", n_dims, rank);
  ir_ref_layout_init (&tuples->data, rank, ir_tensor_dims (data));
  tuples->batch = batch;
  tuples->tuple = dims[n_dims - 1];
  tuples->n_tuples = ir_tensor_n_elements (indices) / (guint64) tuples->tuple;
  tuples->n_per_batch = tuples->n_tuples;
  for (gint64 i = 0; i < batch; i++)
    {
      if (dims[i] != ir_tensor_dims (data)[i])
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "batch dim %" G_GINT64_FORMAT " of data and indices differ", i);
      tuples->n_per_batch /= (guint64) MAX (dims[i], 1);
    }
  tuples->run = 1;
  for (guint i = (guint) (batch + tuples->tuple); i < rank; i++)
    tuples->run *= ir_tensor_dims (data)[i];
  return TRUE;
}

/* Where slice @i lies in the data. */
static gboolean
tuple_offset (const Tuples *tuples, const IrCall *call, guint64 i, gint64 *offset, GError **error)
{
  const IrTensor *indices = ir_call_input (call, 1);
  gint64 stride = tuples->batch > 0 ? tuples->data.strides[tuples->batch - 1] : 0, index;
  *offset = tuples->batch > 0 ? (gint64) (i / tuples->n_per_batch) * stride : 0;
  for (gint64 k = 0; k < tuples->tuple; k++)
    {
      guint axis = (guint) (tuples->batch + k);
      if (!index_at (call, indices, i * (guint64) tuples->tuple + (guint64) k,
                     tuples->data.dims[axis], &index, error))
        return FALSE;
      *offset += index * tuples->data.strides[axis];
    }
  return TRUE;
}

gboolean
ir_ref_gather_nd (IrCall *call, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  Tuples tuples;
  gint64 offset;
  if (!ir_ref_prepare (call, error) ||
      !tuples_init (&tuples, call, ir_call_int (call, "batch_dims", 0), error) ||
      !ir_ref_reader_init (&in, call, ir_call_input (call, 0), error) ||
      !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  for (guint64 i = 0; out.n > 0 && i < tuples.n_tuples && !ir_call_stopped (call); i++)
    {
      if (!tuple_offset (&tuples, call, i, &offset, error))
        return FALSE;
      ir_ref_copy_run (&out, i * (guint64) tuples.run, &in, (guint64) offset, (guint64) tuples.run);
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- combining old and new elements -- */

typedef enum
{
  COMBINE_REPLACE,
  COMBINE_ADD,
  COMBINE_MUL,
  COMBINE_MAX,
  COMBINE_MIN,
  N_COMBINES
} Combine;

static gboolean
combine_mode (const IrCall *call, IrDtype dtype, Combine *combine, GError **error)
{
  static const char *const names[N_COMBINES] = { "none", "add", "mul", "max", "min" };
  const char *name = ir_call_string (call, "reduction", "none");
  for (guint i = 0; i < N_COMBINES; i++)
    if (g_str_equal (name, names[i]))
      {
        *combine = (Combine) i;
        return i == COMBINE_REPLACE || ir_ref_kind (dtype) != IR_REF_OTHER ||
               ir_ref_fail_dtype (call, dtype, error);
      }
  return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "reduction is \"%s\"; none, add, mul, max or min is needed", name);
}

static double
combine_real (Combine combine, double a, double b)
{
  switch (combine)
    {
    case COMBINE_ADD:
      return a + b;
    case COMBINE_MUL:
      return a * b;
    case COMBINE_MAX:
      return a > b || a != a ? a : b;
    case COMBINE_MIN:
      return a < b || a != a ? a : b;
    case COMBINE_REPLACE:
    case N_COMBINES:
    default:
      return b;
    }
}

static gint64
combine_int (Combine combine, gboolean is_signed, gint64 a, gint64 b)
{
  gboolean less = is_signed ? a < b : (guint64) a < (guint64) b;
  switch (combine)
    {
    case COMBINE_ADD:
      return (gint64) ((guint64) a + (guint64) b);
    case COMBINE_MUL:
      return (gint64) ((guint64) a * (guint64) b);
    case COMBINE_MAX:
      return less ? b : a;
    case COMBINE_MIN:
      return less ? a : b;
    case COMBINE_REPLACE:
    case N_COMBINES:
    default:
      return b;
    }
}

/* Element @to of the output takes in element @from of the updates. Types below 8 bits are only
 * replaced, see scatter_begin(). */
static void
combine_element (
    IrRefWriter *out, Combine combine, guint64 to, const IrRefReader *updates, guint64 from)
{
  IrRefKind kind = ir_ref_kind (out->dtype);
  if (combine == COMBINE_REPLACE)
    ir_ref_copy_run (out, to, updates, from, 1);
  else if (kind == IR_REF_REAL)
    {
      double a = 0, b = 0;
      ir_dtype_get_double (out->dtype, out->data, to, &a);
      ir_dtype_get_double (out->dtype, updates->data, from, &b);
      ir_dtype_set_double (out->dtype, out->data, to, combine_real (combine, a, b));
    }
  else
    {
      gint64 a = 0, b = 0;
      if (out->dtype == IR_DTYPE_UINT64) /* the bits, not the clamped value */
        {
          memcpy (&a, out->data + to * 8, 8);
          memcpy (&b, updates->data + from * 8, 8);
        }
      else
        {
          ir_dtype_get_int64 (out->dtype, out->data, to, &a);
          ir_dtype_get_int64 (out->dtype, updates->data, from, &b);
        }
      ir_dtype_set_int64 (out->dtype, out->data, to,
                          combine_int (combine, kind == IR_REF_SINT, a, b));
    }
}

/* Output 0 starts as a copy of input 0; @updates reads input 2, which must be of the same type. */
static gboolean
scatter_begin (
    IrCall *call, IrRefWriter *out, IrRefReader *updates, Combine *combine, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  const IrTensor *data = ir_call_input (call, 0), *news = ir_call_input (call, 2);
  IrDtype dtype = ir_tensor_dtype (data);
  if (ir_tensor_dtype (news) != dtype)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "data are %s, updates %s",
                         ir_dtype_name (dtype), ir_dtype_name (ir_tensor_dtype (news)));
  if (!combine_mode (call, dtype, combine, error) || !ir_ref_reader_init (&in, call, data, error) ||
      !ir_ref_reader_init (updates, call, news, error) || !ir_ref_writer_init (out, call, 0, error))
    return FALSE;
  if (*combine != COMBINE_REPLACE && out->owned != NULL)
    return ir_ref_fail_dtype (call, dtype, error);
  ir_ref_copy_run (out, 0, &in, 0, in.n);
  return TRUE;
}

gboolean
ir_ref_scatter_elements (IrCall *call, GError **error)
{
  g_auto (IrRefReader) updates = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  IrRefLayout at_data, at_indices;
  Combine combine;
  gint64 axis, index, at[IR_MAX_RANK];
  if (!ir_ref_prepare (call, error) || !check_elementwise (call, &axis, error) ||
      !scatter_begin (call, &out, &updates, &combine, error))
    return FALSE;
  const IrTensor *data = ir_call_input (call, 0), *indices = ir_call_input (call, 1);
  if (updates.n != ir_tensor_n_elements (indices))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "%" G_GUINT64_FORMAT " updates for %" G_GUINT64_FORMAT " indices",
                         updates.n, ir_tensor_n_elements (indices));
  ir_ref_layout_init (&at_data, ir_tensor_rank (data), ir_tensor_dims (data));
  ir_ref_layout_init (&at_indices, ir_tensor_rank (data), ir_tensor_dims (indices));
  for (guint64 i = 0; i < updates.n; i++)
    {
      if (!index_at (call, indices, i, at_data.dims[axis], &index, error))
        return FALSE;
      coordinates (&at_indices, i, at);
      combine_element (&out, combine, (guint64) replaced_offset (&at_data, at, (guint) axis, index),
                       &updates, i);
    }
  return ir_ref_writer_finish (&out, error);
}

gboolean
ir_ref_scatter_nd (IrCall *call, GError **error)
{
  g_auto (IrRefReader) updates = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  Tuples tuples;
  Combine combine;
  gint64 offset;
  if (!ir_ref_prepare (call, error) || !tuples_init (&tuples, call, 0, error) ||
      !scatter_begin (call, &out, &updates, &combine, error))
    return FALSE;
  if (updates.n != tuples.n_tuples * (guint64) tuples.run)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "%" G_GUINT64_FORMAT " updates, %" G_GUINT64_FORMAT
                         " slices of %" G_GINT64_FORMAT " elements are needed",
                         updates.n, tuples.n_tuples, tuples.run);
  for (guint64 i = 0; updates.n > 0 && i < tuples.n_tuples && !ir_call_stopped (call); i++)
    {
      if (!tuple_offset (&tuples, call, i, &offset, error))
        return FALSE;
      for (gint64 k = 0; k < tuples.run; k++)
        combine_element (&out, combine, (guint64) (offset + k), &updates,
                         i * (guint64) tuples.run + (guint64) k);
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- OneHot -- */

/* An index may be of any numeric type here; what lies outside [-depth, depth) is all off. */
gboolean
ir_ref_one_hot (IrCall *call, GError **error)
{
  g_auto (IrRefReader) values = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  gint64 axis, outer, inner;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *indices = ir_call_input (call, 0);
  const IrType *type = call->outputs[0].type;
  if (ir_ref_kind (ir_tensor_dtype (indices)) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (indices), error);
  if (!ir_call_axis (call, ir_call_int (call, "axis", -1), type->rank, &axis, error) ||
      !ir_ref_reader_init (&values, call, ir_call_input (call, 2), error))
    return FALSE;
  if (values.n != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "values must be [off, on], it has %" G_GUINT64_FORMAT " elements",
                         values.n);
  if (!ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  gint64 depth = type->dims[axis];
  ir_ref_split_at ((guint) type->rank, type->dims, (guint) axis, &outer, &inner);
  for (guint64 i = 0; i < out.n; i++)
    {
      gint64 place = (gint64) i / inner % depth;
      gint64 from = (gint64) i / inner / depth * inner + (gint64) i % inner;
      gint64 index = ir_tensor_get_int64 (indices, (guint64) from);
      ir_ref_copy_run (&out, i, &values, index == place || index == place - depth, 1);
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- NonZero -- */

static gboolean
is_non_zero (const IrTensor *in, guint64 i)
{
  if (ir_tensor_dtype (in) == IR_DTYPE_STRING) /* the zero of strings is the empty one */
    return g_bytes_get_size (ir_tensor_string (in, i)) > 0;
  gint64 offset = (gint64) i, whole = 0;
  double real = 0;
  if (ir_ref_kind (ir_tensor_dtype (in)) != IR_REF_REAL)
    {
      ir_ref_load_int (in, &offset, 1, &whole);
      return whole != 0;
    }
  ir_ref_load_real (in, &offset, 1, &real);
  return real != 0;
}

/* The size of the output depends on the contents, so inference leaves it open. */
gboolean
ir_ref_non_zero (IrCall *call, GError **error)
{
  if (!ir_call_check (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrDtype dtype = ir_tensor_dtype (in);
  guint64 total = ir_tensor_n_elements (in);
  gint64 dims[2] = { ir_tensor_rank (in), 0 }, at[IR_MAX_RANK];
  IrRefLayout layout;
  if (ir_ref_kind (dtype) == IR_REF_OTHER && dtype != IR_DTYPE_STRING)
    return ir_ref_fail_dtype (call, dtype, error);
  for (guint64 i = 0; i < total; i++)
    dims[1] += is_non_zero (in, i);
  IrTensor *out = ir_call_new_output (call, 0, IR_DTYPE_INT64, 2, dims, error);
  if (out == NULL)
    return FALSE;
  ir_ref_layout_init (&layout, ir_tensor_rank (in), ir_tensor_dims (in));
  gint64 column = 0;
  for (guint64 i = 0; i < total; i++)
    {
      if (!is_non_zero (in, i))
        continue;
      coordinates (&layout, i, at);
      for (gint64 row = 0; row < dims[0]; row++)
        ir_ref_store_int (out, (guint64) (row * dims[1] + column), 1, &at[row]);
      column++;
    }
  return TRUE;
}

/* -- Compress -- */

/* How the picked slices lie. */
typedef struct
{
  gint64 outer, size, inner; /* of the input; size: along the axis */
  gint64 n;                  /* of the condition, at most size */
  guint rank;                /* of the output */
  gint64 dims[IR_MAX_RANK];
} Compress;

static gboolean
compress_axis (const IrCall *call, Compress *compress, GError **error)
{
  const IrTensor *data = ir_call_input (call, 0);
  gint64 axis = 0;

  *compress = (Compress){ 1, (gint64) ir_tensor_n_elements (data), 1, 0, 1, { 0 } };
  if (ir_call_attr (call, "axis") == NULL)
    return TRUE;
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), (int) ir_tensor_rank (data), &axis,
                     error))
    return FALSE;
  compress->rank = ir_tensor_rank (data);
  memcpy (compress->dims, ir_tensor_dims (data), sizeof (gint64) * compress->rank);
  compress->size = compress->dims[axis];
  compress->dims[axis] = 0;
  ir_ref_split_at (compress->rank, ir_tensor_dims (data), (guint) axis, &compress->outer,
                   &compress->inner);
  return TRUE;
}

/* The size of the output depends on the condition, which inference does not read where it is long.
 */
static gboolean
compress_init (const IrCall *call, Compress *compress, GError **error)
{
  const IrTensor *condition = ir_call_input (call, 1);
  gint64 n = (gint64) ir_tensor_n_elements (condition), count = 0;
  gint64 axis = ir_call_attr (call, "axis") != NULL ? ir_call_int (call, "axis", 0) : 0;

  if (ir_tensor_dtype (condition) != IR_DTYPE_BOOL)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (condition), error);
  if (!compress_axis (call, compress, error))
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    {
      gboolean picked = is_non_zero (condition, (guint64) i);
      if (picked && i >= compress->size)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "the condition picks slice %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT,
                             i, compress->size);
      count += picked;
    }
  compress->n = MIN (n, compress->size);
  compress->dims[axis < 0 ? axis + (gint64) compress->rank : axis] = count;
  return !ir_block_cancelled (call, error);
}

gboolean
ir_ref_compress (IrCall *call, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  Compress c;
  gint64 done = 0;

  if (!ir_ref_check (call, error) || !compress_init (call, &c, error))
    return FALSE;
  const IrTensor *data = ir_call_input (call, 0), *condition = ir_call_input (call, 1);
  if (!ir_ref_reader_init (&in, call, data, error) ||
      !ir_ref_writer_init_dims (&out, call, 0, ir_tensor_dtype (data), c.rank, c.dims, error))
    return FALSE;
  for (gint64 o = 0; out.n > 0 && o < c.outer && !ir_call_stopped (call); o++)
    for (gint64 i = 0; i < c.n; i++)
      if (is_non_zero (condition, (guint64) i))
        {
          ir_ref_copy_run (&out, (guint64) (done * c.inner), &in,
                           (guint64) ((o * c.size + i) * c.inner), (guint64) c.inner);
          done++;
        }
  return ir_ref_writer_finish (&out, error);
}

/* -- Trilu -- */

gboolean
ir_ref_trilu (IrCall *call, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  g_autofree gint64 *shift = NULL;
  guint n = 0;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *data = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (data);
  gboolean upper = ir_call_int (call, "upper", 1) != 0;
  if (rank < 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input has %u dims, matrices are needed",
                         rank);
  if (!ir_ref_reader_init (&in, call, data, error) || !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  /* Beyond the size of any matrix it makes no difference, and the sum below cannot overflow. */
  gint64 k = ir_call_input_ints (call, 1, &shift, &n) && n == 1
                 ? CLAMP (shift[0], -G_MAXINT64 / 2, G_MAXINT64 / 2)
                 : 0;
  gint64 rows = ir_tensor_dims (data)[rank - 2], columns = ir_tensor_dims (data)[rank - 1];
  for (guint64 i = 0; i < out.n; i++)
    {
      gint64 column = (gint64) (i % (guint64) columns);
      gint64 row = (gint64) (i / (guint64) columns % (guint64) rows);
      if (upper ? column - row >= k : column - row <= k)
        ir_ref_copy_run (&out, i, &in, i, 1);
      else
        memset (out.data + i * out.size, 0, out.size);
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- ReverseSequence -- */

gboolean
ir_ref_reverse_sequence (IrCall *call, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  gint64 at[IR_MAX_RANK], length;
  IrRefLayout layout;
  if (!ir_ref_prepare (call, error) || !check_indices (call, 1, error))
    return FALSE;
  const IrTensor *data = ir_call_input (call, 0), *lengths = ir_call_input (call, 1);
  gint64 time = ir_call_int (call, "time_axis", 0), batch = ir_call_int (call, "batch_axis", 1);
  if (ir_tensor_rank (data) < 2 || time < 0 || time > 1 || batch != 1 - time)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "time_axis and batch_axis must be 0 and 1 of at least two dims");
  const gint64 *dims = ir_tensor_dims (data);
  if (ir_tensor_n_elements (lengths) != (guint64) dims[batch])
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "%" G_GUINT64_FORMAT " lengths for %" G_GINT64_FORMAT " sequences",
                         ir_tensor_n_elements (lengths), dims[batch]);
  if (!ir_ref_reader_init (&in, call, data, error) || !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  ir_ref_layout_init (&layout, ir_tensor_rank (data), dims);
  for (guint64 i = 0; i < out.n; i++)
    {
      coordinates (&layout, i, at);
      length = ir_tensor_get_int64 (lengths, (guint64) at[batch]);
      if (length < 0 || length > dims[time])
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "sequence %" G_GINT64_FORMAT " has length %" G_GINT64_FORMAT,
                             at[batch], length);
      gint64 from = at[time] < length ? length - 1 - at[time] : at[time];
      ir_ref_copy_run (&out, i, &in, (guint64) replaced_offset (&layout, at, (guint) time, from),
                       1);
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- TopK -- */

typedef struct
{
  double real;
  gint64 whole;
  gint64 place;
} Candidate;

typedef struct
{
  IrRefKind kind;
  gboolean largest;
  const Candidate *line;
} Order;

static int
compare_values (const Candidate *a, const Candidate *b, IrRefKind kind)
{
  if (kind == IR_REF_SINT)
    return (a->whole > b->whole) - (a->whole < b->whole);
  if (kind == IR_REF_UINT)
    return ((guint64) a->whole > (guint64) b->whole) - ((guint64) a->whole < (guint64) b->whole);
  /* NaN counts as the largest, as numpy sorts. */
  gboolean nan_a = a->real != a->real, nan_b = b->real != b->real;
  if (nan_a || nan_b)
    return nan_a - nan_b;
  return (a->real > b->real) - (a->real < b->real);
}

static int
compare_candidates (gconstpointer a, gconstpointer b, gpointer data)
{
  const Order *order = data;
  const Candidate *left = &order->line[*(const gint64 *) a];
  const Candidate *right = &order->line[*(const gint64 *) b];
  int value = compare_values (left, right, order->kind);
  if (value != 0)
    return order->largest ? -value : value;
  return (left->place > right->place) - (left->place < right->place);
}

gboolean
ir_ref_top_k (IrCall *call, GError **error)
{
  gint64 axis, outer, inner;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrDtype dtype = ir_tensor_dtype (in);
  Order order = { ir_ref_kind (dtype), ir_call_int (call, "largest", 1) != 0, NULL };
  guint rank = ir_tensor_rank (in);
  if (order.kind == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, dtype, error);
  if (!ir_call_axis (call, ir_call_int (call, "axis", -1), (int) rank, &axis, error))
    return FALSE;
  IrTensor *values = ir_call_has_output (call, 0) ? ir_block_new_output (call, 0, error) : NULL;
  IrTensor *places = ir_call_has_output (call, 1) ? ir_block_new_output (call, 1, error) : NULL;
  if ((values == NULL && ir_call_has_output (call, 0)) ||
      (places == NULL && ir_call_has_output (call, 1)))
    return FALSE;
  gint64 n = ir_tensor_dims (in)[axis];
  gint64 k = call->outputs[values != NULL ? 0 : 1].type->dims[axis];
  g_autofree Candidate *line = g_try_new0 (Candidate, MAX (n, 1));
  g_autofree gint64 *sorted = g_try_new0 (gint64, MAX (n, 1));
  order.line = line;
  if (line == NULL || sorted == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory to sort an axis");
  ir_ref_split_at (rank, ir_tensor_dims (in), (guint) axis, &outer, &inner);
  for (gint64 l = 0; k > 0 && l < outer * inner && !ir_call_stopped (call); l++)
    {
      gint64 start = l / inner * n * inner + l % inner;
      gint64 to = l / inner * k * inner + l % inner;
      for (gint64 i = 0; i < n; i++)
        {
          gint64 at = start + i * inner;
          line[i].place = sorted[i] = i;
          if (order.kind == IR_REF_REAL)
            ir_ref_load_real (in, &at, 1, &line[i].real);
          else
            ir_ref_load_int (in, &at, 1, &line[i].whole);
        }
      if (!ir_block_sort (sorted, n, compare_candidates, &order))
        return ir_block_cancelled (call, error)
                   ? FALSE
                   : ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory to sort an axis");
      for (gint64 i = 0; i < k; i++)
        {
          const Candidate *taken = &line[sorted[i]];
          if (values != NULL && order.kind == IR_REF_REAL)
            ir_ref_store_real (values, (guint64) (to + i * inner), 1, &taken->real);
          else if (values != NULL)
            ir_ref_store_int (values, (guint64) (to + i * inner), 1, &taken->whole);
          if (places != NULL)
            ir_ref_store_int (places, (guint64) (to + i * inner), 1, &taken->place);
        }
    }
  return TRUE;
}
