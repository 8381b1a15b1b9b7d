/* What the reference kernels share: see ref-util.h. */
#include "config.h"

#include "core/exec/ref/ref-util.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref.h"
#include <string.h>

/* Checks the call against its row and infers what can be known of the types of its outputs.
 * Returns FALSE if the call is not valid. */
gboolean
ir_ref_check (IrCall *call, GError **error)
{
  if (!ir_call_check (call, error))
    return FALSE;
  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].present && ir_call_input (call, i) == NULL)
      return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "input %u has no contents", i);
  for (guint i = 0; i < call->n_outputs; i++)
    call->outputs[i].type = NULL;
  return call->op->infer (call, error);
}

/* Checks the call against its row and infers the types of its outputs from contents. Returns
 * FALSE if the call is not valid, or if a type cannot be known before the kernel runs. */
gboolean
ir_ref_prepare (IrCall *call, GError **error)
{
  if (!ir_ref_check (call, error))
    return FALSE;
  for (guint i = 0; i < call->n_outputs; i++)
    if (call->outputs[i].present &&
        (call->outputs[i].type == NULL || !ir_type_is_static (call->outputs[i].type)))
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the shape of output %u is not known",
                           i);
  return TRUE;
}

/* Number of elements; saturates, which ir_call_new_output() refuses before. */
guint64
ir_ref_count (const IrType *type)
{
  guint64 n = 0;
  return ir_type_n_elements (type, &n) ? n : G_MAXUINT64;
}

/* -- layouts -- */

/* An empty tensor may have dims whose product does not fit; nothing is then done with it. */
static gint64
wrapping_product (gint64 a, gint64 b)
{
  return (gint64) ((guint64) a * (guint64) b);
}

void
ir_ref_layout_add (IrRefLayout *layout, gint64 dim, gint64 stride)
{
  layout->dims[layout->rank] = dim;
  layout->strides[layout->rank] = stride;
  layout->rank++;
}

/* All elements of a tensor in C order */
void
ir_ref_layout_init (IrRefLayout *layout, guint rank, const gint64 *dims)
{
  gint64 stride = 1;
  layout->rank = rank;
  for (guint i = rank; i-- > 0;)
    {
      layout->dims[i] = dims[i];
      layout->strides[i] = stride;
      stride = wrapping_product (stride, MAX (dims[i], 1));
    }
}

/* For each place of the result, the element of @in: axes of size 1 and missing ones repeat. */
void
ir_ref_layout_broadcast (IrRefLayout *layout, const IrTensor *in, guint rank, const gint64 *dims)
{
  guint in_rank = ir_tensor_rank (in);
  const gint64 *in_dims = ir_tensor_dims (in);
  gint64 stride = 1;
  layout->rank = rank;
  for (guint i = rank; i-- > 0;)
    {
      gint64 at = (gint64) i - ((gint64) rank - in_rank);
      gint64 dim = at >= 0 ? in_dims[at] : 1;
      layout->dims[i] = dims[i];
      layout->strides[i] = dim == 1 ? 0 : stride;
      stride = wrapping_product (stride, MAX (dim, 1));
    }
}

/* Number of places in its index space */
guint64
ir_ref_layout_count (const IrRefLayout *layout)
{
  guint64 n = 1;
  for (guint i = 0; i < layout->rank; i++)
    n *= (guint64) layout->dims[i];
  return n;
}

void
ir_ref_layout_offsets (
    const IrRefLayout *layout, guint64 first, guint n, gint64 base, gint64 *offsets)
{
  gint64 at[2 * IR_MAX_RANK];
  gint64 offset = base;
  for (guint axis = layout->rank; axis-- > 0;)
    {
      at[axis] = (gint64) (first % (guint64) layout->dims[axis]);
      first /= (guint64) layout->dims[axis];
      offset += at[axis] * layout->strides[axis];
    }
  for (guint i = 0; i < n; i++)
    {
      offsets[i] = offset;
      for (guint axis = layout->rank; axis-- > 0;)
        {
          offset += layout->strides[axis];
          if (++at[axis] < layout->dims[axis])
            break;
          offset -= layout->dims[axis] * layout->strides[axis];
          at[axis] = 0;
        }
    }
}

void
ir_ref_split_at (guint rank, const gint64 *dims, guint axis, gint64 *outer, gint64 *inner)
{
  *outer = *inner = 1;
  for (guint i = 0; i < rank; i++)
    if (i != axis)
      {
        gint64 *product = i < axis ? outer : inner;
        *product = wrapping_product (*product, dims[i]);
      }
}

/* -- numbers -- */

/* How kernels compute with it */
IrRefKind
ir_ref_kind (IrDtype dtype)
{
  switch (ir_dtype_kind (dtype))
    {
    case IR_DTYPE_KIND_FLOAT:
      return IR_REF_REAL;
    case IR_DTYPE_KIND_SINT:
      return IR_REF_SINT;
    case IR_DTYPE_KIND_UINT:
    case IR_DTYPE_KIND_BOOL:
      return IR_REF_UINT;
    case IR_DTYPE_KIND_NONE:
    case IR_DTYPE_KIND_STRING:
    case IR_DTYPE_KIND_COMPLEX:
    case IR_N_DTYPE_KINDS:
    default:
      return IR_REF_OTHER;
    }
}

void
ir_ref_load_real (const IrTensor *tensor, const gint64 *offsets, guint n, double *values)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  const void *data = ir_tensor_data (tensor);
  if (dtype == IR_DTYPE_FLOAT)
    for (guint i = 0; i < n; i++)
      values[i] = (double) ((const float *) data)[offsets[i]];
  else
    for (guint i = 0; i < n; i++)
      ir_dtype_get_double (dtype, data, (gsize) offsets[i], &values[i]);
}

/* @values: the elements, widened; those of uint64 keep their bits */
void
ir_ref_load_int (const IrTensor *tensor, const gint64 *offsets, guint n, gint64 *values)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  const void *data = ir_tensor_data (tensor);
  if (dtype == IR_DTYPE_UINT64 || dtype == IR_DTYPE_INT64)
    for (guint i = 0; i < n; i++)
      values[i] = ((const gint64 *) data)[offsets[i]];
  else
    for (guint i = 0; i < n; i++)
      ir_dtype_get_int64 (dtype, data, (gsize) offsets[i], &values[i]);
}

/* @values: the elements; rounded to the type */
void
ir_ref_store_real (IrTensor *tensor, guint64 first, guint n, const double *values)
{
  ir_block_store (tensor, first, n, values);
}

/* @values: the elements; integers keep the low bits */
void
ir_ref_store_int (IrTensor *tensor, guint64 first, guint n, const gint64 *values)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  void *data = ir_tensor_data_writable (tensor);
  for (guint i = 0; i < n; i++)
    ir_dtype_set_int64 (dtype, data, (gsize) (first + i), values[i]);
}

/* Always FALSE, with %IR_OP_ERROR_DTYPE */
gboolean
ir_ref_fail_dtype (const IrCall *call, IrDtype dtype, GError **error)
{
  return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "elements of type %s are not supported here",
                       ir_dtype_name (dtype));
}

/* -- elements of any type -- */

static gsize
element_size (IrDtype dtype)
{
  if (dtype == IR_DTYPE_STRING)
    return sizeof (GBytes *);
  return MAX (ir_dtype_bits (dtype) / 8, 1);
}

static gboolean
scratch_failed (const IrCall *call, guint64 n, GError **error)
{
  return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                       "no memory for %" G_GUINT64_FORMAT " elements of scratch", n);
}

/* Elements below 8 bits to a byte each, and back. */
static void
unpack_codes (IrDtype dtype, const void *packed, guint64 n, guint8 *bytes)
{
  for (guint64 i = 0; i < n; i++)
    bytes[i] = (guint8) ir_dtype_get_code (dtype, packed, (gsize) i);
}

static void
pack_codes (IrDtype dtype, const guint8 *bytes, guint64 n, void *packed)
{
  for (guint64 i = 0; i < n; i++)
    ir_dtype_set_code (dtype, packed, (gsize) i, bytes[i]);
}

/* Makes the elements addressable with a whole number of bytes each. Strings are pointers that
 * @tensor keeps alive. Returns FALSE if there is no memory. */
gboolean
ir_ref_reader_init (IrRefReader *reader, const IrCall *call, const IrTensor *tensor, GError **error)
{
  memset (reader, 0, sizeof *reader);
  reader->dtype = ir_tensor_dtype (tensor);
  reader->size = element_size (reader->dtype);
  reader->n = ir_tensor_n_elements (tensor);
  guint bits = ir_dtype_bits (reader->dtype);
  if (reader->dtype != IR_DTYPE_STRING && bits >= 8)
    {
      reader->data = ir_tensor_data (tensor);
      if (reader->data == NULL)
        return ir_ref_fail_dtype (call, reader->dtype, error);
      return TRUE;
    }
  reader->owned = g_try_malloc_n (MAX ((gsize) reader->n, 1), reader->size);
  reader->data = reader->owned;
  if (reader->owned == NULL)
    return scratch_failed (call, reader->n, error);
  if (reader->dtype != IR_DTYPE_STRING)
    unpack_codes (reader->dtype, ir_tensor_data (tensor), reader->n, reader->owned);
  else
    for (guint64 i = 0; i < reader->n; i++)
      ((GBytes **) reader->owned)[i] = ir_tensor_string (tensor, i);
  return TRUE;
}

void
ir_ref_reader_clear (IrRefReader *reader)
{
  g_clear_pointer (&reader->owned, g_free);
}

/* Memory for an output of any element type; ir_ref_writer_finish() makes it the output. All
 * elements must be written. Returns FALSE if the size is refused or there is no memory. */
gboolean
ir_ref_writer_init_dims (IrRefWriter *writer,
                         IrCall *call,
                         guint slot,
                         IrDtype dtype,
                         guint rank,
                         const gint64 *dims,
                         GError **error)
{
  memset (writer, 0, sizeof *writer);
  writer->call = call;
  writer->slot = slot;
  writer->dtype = dtype;
  writer->size = element_size (dtype);
  /* Strings have a tensor of pointers only at the end; a byte each stands in for the size check. */
  IrTensor *tensor = ir_call_new_output (
      call, slot, dtype == IR_DTYPE_STRING ? IR_DTYPE_UINT8 : dtype, rank, dims, error);
  if (tensor == NULL)
    return FALSE;
  writer->n = ir_tensor_n_elements (tensor);
  if (dtype != IR_DTYPE_STRING && ir_dtype_bits (dtype) >= 8)
    {
      writer->data = ir_tensor_data_writable (tensor);
      return TRUE;
    }
  writer->owned = g_try_malloc0_n (MAX ((gsize) writer->n, 1), writer->size);
  writer->data = writer->owned;
  return writer->owned != NULL || scratch_failed (call, writer->n, error);
}

/* As ir_ref_writer_init_dims(), of the inferred type. Returns FALSE if the size is refused or
 * there is no memory. */
gboolean
ir_ref_writer_init (IrRefWriter *writer, IrCall *call, guint slot, GError **error)
{
  const IrType *type = call->outputs[slot].type;
  return ir_ref_writer_init_dims (writer, call, slot, type->dtype, (guint) type->rank, type->dims,
                                  error);
}

/* An element that nobody wrote is the empty string. */
static gboolean
finish_strings (IrRefWriter *writer, const IrTensor *shape, GError **error)
{
  g_autoptr (GBytes) empty = g_bytes_new_static ("", 0);
  GBytes **strings = (GBytes **) (gpointer) writer->data;
  for (guint64 i = 0; i < writer->n; i++)
    if (strings[i] == NULL)
      strings[i] = empty;
  return ir_call_take_strings (writer->call, writer->slot, ir_tensor_rank (shape),
                               ir_tensor_dims (shape), strings, error);
}

/* Returns FALSE if there are too many strings */
gboolean
ir_ref_writer_finish (IrRefWriter *writer, GError **error)
{
  if (writer->owned == NULL)
    return TRUE;
  IrTensor *shape = writer->call->outputs[writer->slot].tensor;
  if (writer->dtype != IR_DTYPE_STRING)
    {
      gpointer packed = ir_tensor_data_writable (shape);
      memset (packed, 0, ir_tensor_n_bytes (shape)); /* the bits behind the last element, too */
      pack_codes (writer->dtype, writer->data, writer->n, packed);
      return TRUE;
    }
  return finish_strings (writer, shape, error);
}

void
ir_ref_writer_clear (IrRefWriter *writer)
{
  g_clear_pointer (&writer->owned, g_free);
}

/* @reader: where from; elements of the same type */
void
ir_ref_copy_layout (IrRefWriter *writer,
                    guint64 first,
                    const IrRefReader *reader,
                    const IrRefLayout *layout,
                    gint64 base)
{
  guint64 total = ir_ref_layout_count (layout);
  gint64 offsets[IR_REF_CHUNK];
  gsize size = writer->size;
  for (guint64 done = 0; done < total;
       done += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (total - done, IR_REF_CHUNK);
      guint8 *to = writer->data + (first + done) * size;
      ir_ref_layout_offsets (layout, done, n, base, offsets);
      for (guint i = 0; i < n; i++)
        memcpy (to + i * size, reader->data + (gsize) offsets[i] * size, size);
    }
}

/* @reader: where from; elements of the same type */
void
ir_ref_copy_run (
    IrRefWriter *writer, guint64 to, const IrRefReader *reader, guint64 from, guint64 n)
{
  if (n > 0)
    memcpy (writer->data + to * writer->size, reader->data + from * reader->size,
            n * writer->size);
}
