/* Tensors. The stored bytes are a GBytes and are never copied, unless the one accessor is asked for
 * a pointer and the bytes are not aligned for the element type: then an aligned copy is made once,
 * by whichever thread comes first, and kept. */
#include "config.h"

#include "core/ir/pages.h"
#include "core/ir/tensor-private.h"

#include <gio/gio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES 1024

static gboolean
count_elements (guint rank, const gint64 *dims, guint64 *n)
{
  guint64 total = 1;
  gboolean empty = FALSE;

  if (rank > IR_MAX_RANK)
    return FALSE;
  for (guint i = 0; i < rank; i++)
    {
      if (dims[i] < 0)
        return FALSE;
      empty |= dims[i] == 0;
    }
  for (guint i = 0; i < rank && !empty; i++)
    if (!g_uint64_checked_mul (&total, total, (guint64) dims[i]) || total > G_MAXINT64)
      return FALSE;
  *n = empty ? 0 : total;
  return TRUE;
}

/* The tensor without its contents; the caller has checked that the sizes fit together. */
IrTensor *
ir_tensor_new_header (
    IrDtype dtype, guint rank, const gint64 *dims, guint64 n_elements, gsize n_bytes)
{
  IrTensor *tensor = g_malloc0 (sizeof (IrTensor) + sizeof (gint64) * rank);

  g_atomic_ref_count_init (&tensor->ref_count);
  tensor->dtype = dtype;
  tensor->rank = rank;
  tensor->n_elements = n_elements;
  tensor->n_bytes = n_bytes;
  if (rank > 0)
    memcpy (tensor->dims, dims, sizeof (gint64) * rank);
  return tensor;
}

/**
 * ir_tensor_new:
 * @dtype: element type with a fixed size
 * @rank: number of dims, at most %IR_MAX_RANK
 * @dims: (array length=rank): all >= 0
 * @bytes: (transfer none): the elements, in C order, little-endian; exactly as many bytes as needed
 *
 * Returns: (transfer full) (nullable): the tensor; %NULL if the sizes do not fit together
 */
IrTensor *
ir_tensor_new (IrDtype dtype, guint rank, const gint64 *dims, GBytes *bytes)
{
  guint64 n_elements;
  gsize n_bytes;
  IrTensor *tensor;

  if (!count_elements (rank, dims, &n_elements) ||
      !ir_dtype_storage_bytes (dtype, n_elements, &n_bytes) || n_bytes != g_bytes_get_size (bytes))
    return NULL;
  tensor = ir_tensor_new_header (dtype, rank, dims, n_elements, n_bytes);
  tensor->bytes = g_bytes_ref (bytes);
  return tensor;
}

/* calloc() rather than an aligned allocation: big blocks come zeroed from the system for free.
 * Shapes, axes and scalars are like all small objects of GLib: without memory for them the program
 * ends, so that those who make them need not ask. */
static GBytes *
alloc_bytes (gsize n_bytes)
{
  gboolean small = n_bytes <= SMALL_BYTES;
  char *memory = small                                    ? g_malloc0 (n_bytes + IR_ALIGN_BYTES)
                 : n_bytes <= G_MAXSSIZE - IR_ALIGN_BYTES ? calloc (1, n_bytes + IR_ALIGN_BYTES)
                                                          : NULL;
  gsize past;

  if (memory == NULL)
    return NULL;
  past = (gsize) ((guintptr) memory % IR_ALIGN_BYTES);
  return g_bytes_new_with_free_func (memory + (past > 0 ? IR_ALIGN_BYTES - past : 0), n_bytes,
                                     small ? g_free : free, memory);
}

/**
 * ir_tensor_new_alloc:
 * @dtype: element type with a fixed size
 * @rank: number of dims
 * @dims: (array length=rank): all >= 0
 * @error: return location for an error, or %NULL
 *
 * Zeroed memory, aligned to 64 bytes. Fails with %G_IO_ERROR_INVALID_ARGUMENT if there is no such
 * tensor and with %G_IO_ERROR_NO_SPACE if there is not enough memory.
 *
 * Returns: (transfer full): the tensor, to be written through ir_tensor_data_writable()
 */
IrTensor *
ir_tensor_new_alloc (IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  guint64 n_elements;
  gsize n_bytes;
  IrTensor *tensor;
  GBytes *bytes;

  if (!count_elements (rank, dims, &n_elements) ||
      !ir_dtype_storage_bytes (dtype, n_elements, &n_bytes))
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                   "There is no %s tensor of this shape: it has a negative dimension, too many "
                   "dimensions or too many elements",
                   ir_dtype_name (dtype));
      return NULL;
    }
  bytes = alloc_bytes (n_bytes);
  if (bytes == NULL)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
                   "Not enough memory for a tensor of %" G_GSIZE_FORMAT " bytes", n_bytes);
      return NULL;
    }
  tensor = ir_tensor_new_header (dtype, rank, dims, n_elements, n_bytes);
  tensor->bytes = bytes;
  tensor->writable = TRUE;
  return tensor;
}

/**
 * ir_tensor_new_copy:
 * @dtype: element type with a fixed size
 * @rank: number of dims
 * @dims: (array length=rank): all >= 0
 * @data: the elements, copied
 *
 * Returns: (transfer full) (nullable): the tensor; %NULL if it cannot be
 */
IrTensor *
ir_tensor_new_copy (IrDtype dtype, guint rank, const gint64 *dims, gconstpointer data)
{
  IrTensor *tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  if (tensor != NULL && tensor->n_bytes > 0)
    memcpy (ir_tensor_data_writable (tensor), data, tensor->n_bytes);
  return tensor;
}

/**
 * ir_tensor_copy:
 * @tensor: a dense tensor, not of strings
 * @error: return location for an error, or %NULL
 *
 * Returns: (transfer full) (nullable): the same elements in memory of their own; %NULL if there is
 *   none
 */
IrTensor *
ir_tensor_copy (const IrTensor *tensor, GError **error)
{
  IrTensor *copy = ir_tensor_new_alloc (tensor->dtype, tensor->rank, tensor->dims, error);

  if (copy != NULL && copy->n_bytes > 0)
    memcpy (ir_tensor_data_writable (copy), ir_tensor_data (tensor), copy->n_bytes);
  return copy;
}

/**
 * ir_tensor_new_strings:
 * @rank: number of dims
 * @dims: (array length=rank): all >= 0
 * @strings: (transfer none): as many as the shape has elements
 *
 * Returns: (transfer full) (nullable): the tensor; %NULL if there is no such shape
 */
IrTensor *
ir_tensor_new_strings (guint rank, const gint64 *dims, GBytes **strings)
{
  guint64 n;
  g_autoptr (IrTensor) tensor = NULL;

  if (!count_elements (rank, dims, &n) || n > G_MAXUINT32)
    return NULL;
  tensor = ir_tensor_new_header (IR_DTYPE_STRING, rank, dims, n, 0);
  tensor->strings = g_new0 (GBytes *, n + 1);
  for (guint64 i = 0; i < n; i++)
    {
      tensor->strings[i] = g_bytes_ref (strings[i]);
      tensor->n_bytes += g_bytes_get_size (strings[i]);
    }
  return g_steal_pointer (&tensor);
}

/**
 * ir_tensor_new_sparse:
 * @rank: number of dims of the dense tensor
 * @dims: (array length=rank): all >= 0
 * @values: (transfer none): [NNZ], the elements that are not zero
 * @indices: (transfer none): int64 [NNZ] into the flat tensor, or [NNZ, rank]
 *
 * Indices may be out of range; ir_tensor_densify() reports that.
 *
 * Returns: (transfer full) (nullable): the tensor; %NULL if the shapes do not fit together
 */
IrTensor *
ir_tensor_new_sparse (guint rank, const gint64 *dims, IrTensor *values, IrTensor *indices)
{
  guint64 n;
  IrTensor *tensor;

  if (!count_elements (rank, dims, &n) || values->rank != 1 || values->values != NULL ||
      indices->dtype != IR_DTYPE_INT64 || indices->values != NULL ||
      !(indices->rank == 1 || (indices->rank == 2 && indices->dims[1] == (gint64) rank)) ||
      indices->dims[0] != values->dims[0])
    return NULL;
  tensor = ir_tensor_new_header (values->dtype, rank, dims, n, values->n_bytes + indices->n_bytes);
  tensor->kind = IR_TYPE_SPARSE_TENSOR;
  tensor->values = ir_tensor_ref (values);
  tensor->indices = ir_tensor_ref (indices);
  return tensor;
}

/**
 * ir_tensor_new_scalar:
 * @dtype: a numeric element type
 * @value: converted as by ir_dtype_set_double()
 *
 * Returns: (transfer full) (nullable): a tensor of rank 0; %NULL if @dtype is not numeric
 */
IrTensor *
ir_tensor_new_scalar (IrDtype dtype, double value)
{
  IrTensor *tensor = ir_tensor_new_alloc (dtype, 0, NULL, NULL);
  if (tensor != NULL)
    ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), 0, value);
  return tensor;
}

/**
 * ir_tensor_new_int64s:
 * @values: copied
 * @n: how many; negative: one value, as a tensor of rank 0
 *
 * Returns: (transfer full): an int64 tensor, of rank 1 if @n >= 0
 */
IrTensor *
ir_tensor_new_int64s (const gint64 *values, gssize n)
{
  gint64 dim = n;
  return ir_tensor_new_copy (IR_DTYPE_INT64, n >= 0, &dim, values);
}

/**
 * ir_tensor_reshape:
 * @tensor: (transfer none): not sparse
 * @rank: number of dims
 * @dims: (array length=rank): with as many elements as @tensor
 *
 * Returns: (transfer full) (nullable): the same elements under another shape, sharing memory;
 *   %NULL if the number of elements differs or @tensor is sparse or a container
 */
IrTensor *
ir_tensor_reshape (IrTensor *tensor, guint rank, const gint64 *dims)
{
  guint64 n;
  IrTensor *shaped;

  if (tensor->kind != IR_TYPE_TENSOR || !count_elements (rank, dims, &n) || n != tensor->n_elements)
    return NULL;
  shaped = ir_tensor_new_header (tensor->dtype, rank, dims, n, tensor->n_bytes);
  shaped->base = ir_tensor_ref (tensor->base != NULL ? tensor->base : tensor);
  return shaped;
}

/**
 * ir_tensor_new_static:
 * @dtype: element type with a fixed size
 * @rank: number of dims
 * @dims: (array length=rank): all >= 0
 * @data: memory that outlives the tensor
 * @bytes: its size, at least as much as the elements need
 *
 * Returns: (transfer full) (nullable): the tensor; %NULL if it does not fit into @bytes
 */
IrTensor *
ir_tensor_new_static (IrDtype dtype, guint rank, const gint64 *dims, gpointer data, gsize bytes)
{
  guint64 n_elements;
  gsize n_bytes;
  IrTensor *tensor;

  if (!count_elements (rank, dims, &n_elements) ||
      !ir_dtype_storage_bytes (dtype, n_elements, &n_bytes) || n_bytes > bytes)
    return NULL;
  tensor = ir_tensor_new_header (dtype, rank, dims, n_elements, n_bytes);
  tensor->bytes = g_bytes_new_static (data, n_bytes);
  tensor->writable = TRUE;
  return tensor;
}

/**
 * ir_tensor_new_within:
 * @dtype: element type with a fixed size
 * @rank: number of dims
 * @dims: (array length=rank): all >= 0
 * @memory: (transfer none): writable memory
 * @at: bytes from its start, at which elements may begin
 *
 * Returns: (transfer full) (nullable): the tensor, which keeps all of @memory; %NULL if it does not
 *   fit
 */
IrTensor *
ir_tensor_new_within (IrDtype dtype, guint rank, const gint64 *dims, GBytes *memory, gsize at)
{
  guint64 n_elements;
  gsize n_bytes;
  IrTensor *tensor;

  if (!count_elements (rank, dims, &n_elements) ||
      !ir_dtype_storage_bytes (dtype, n_elements, &n_bytes) || at > g_bytes_get_size (memory) ||
      n_bytes > g_bytes_get_size (memory) - at)
    return NULL;
  tensor = ir_tensor_new_header (dtype, rank, dims, n_elements, n_bytes);
  tensor->bytes = g_bytes_new_from_bytes (memory, at, n_bytes);
  tensor->writable = TRUE;
  return tensor;
}

/**
 * ir_tensor_ref:
 * @tensor: a tensor
 *
 * Returns: (transfer full): @tensor
 */
IrTensor *
ir_tensor_ref (IrTensor *tensor)
{
  g_atomic_int_inc (&tensor->ref_count);
  return tensor;
}

static void
free_origin (IrTensorOrigin *origin)
{
  g_free ((char *) origin->name);
  g_free ((char *) origin->doc);
  g_free ((char *) origin->location);
  g_clear_pointer (&origin->unknown, g_bytes_unref);
  g_free (origin);
}

/**
 * ir_tensor_unref:
 * @tensor: (transfer full): a tensor
 */
void
ir_tensor_unref (IrTensor *tensor)
{
  if (!g_atomic_int_dec_and_test (&tensor->ref_count))
    return;
  if (tensor->owns_copy)
    free (tensor->aligned);
  for (guint64 i = 0;
       tensor->strings != NULL && i < tensor->n_elements && tensor->strings[i] != NULL; i++)
    g_bytes_unref (tensor->strings[i]);
  g_free (tensor->strings);
  g_clear_pointer (&tensor->bytes, g_bytes_unref);
  g_clear_pointer (&tensor->base, ir_tensor_unref);
  g_clear_pointer (&tensor->values, ir_tensor_unref);
  g_clear_pointer (&tensor->indices, ir_tensor_unref);
  ir_container_clear (tensor);
  g_clear_pointer (&tensor->origin, free_origin);
  g_free (tensor);
}

/* -- reading -- */

/**
 * ir_tensor_dtype:
 * @tensor: a tensor
 *
 * Returns: its element type
 */
IrDtype
ir_tensor_dtype (const IrTensor *tensor)
{
  return tensor->dtype;
}

/**
 * ir_tensor_rank:
 * @tensor: a tensor
 *
 * Returns: its number of dims, 0 for a scalar
 */
guint
ir_tensor_rank (const IrTensor *tensor)
{
  return tensor->rank;
}

/**
 * ir_tensor_dims:
 * @tensor: a tensor
 *
 * Returns: (transfer none): its dims, outermost first
 */
const gint64 *
ir_tensor_dims (const IrTensor *tensor)
{
  return tensor->dims;
}

/**
 * ir_tensor_n_elements:
 * @tensor: a tensor
 *
 * Returns: the product of its dims, of sparse tensors too
 */
guint64
ir_tensor_n_elements (const IrTensor *tensor)
{
  return tensor->n_elements;
}

/**
 * ir_tensor_n_bytes:
 * @tensor: a tensor
 *
 * Returns: size of the stored data: strings without overhead, sparse values with their indices
 */
gsize
ir_tensor_n_bytes (const IrTensor *tensor)
{
  return tensor->n_bytes;
}

static guint
alignment_of (IrDtype dtype)
{
  guint bytes = ir_dtype_bits (dtype) / 8;
  return CLAMP (ir_dtype_kind (dtype) == IR_DTYPE_KIND_COMPLEX ? bytes / 2 : bytes, 1, 8);
}

static gpointer
make_aligned_copy (IrTensor *tensor, gconstpointer data)
{
  guint8 *copy = ir_pages_new (tensor->n_bytes);

  if (copy == NULL) /* as for other things that cannot fail, GLib ends the program */
    copy = g_malloc (tensor->n_bytes);

  memcpy (copy, data, tensor->n_bytes);
  if (g_atomic_pointer_compare_and_exchange (&tensor->aligned, NULL, copy))
    tensor->owns_copy = TRUE; /* read only when the last reference goes */
  else
    free (copy);
  return g_atomic_pointer_get (&tensor->aligned);
}

/**
 * ir_tensor_data:
 * @tensor: a tensor
 *
 * Returns: (transfer none) (nullable): the elements, aligned for their type, as long as @tensor
 *   lives; %NULL for strings and sparse tensors; never %NULL for others, even empty ones
 */
gconstpointer
ir_tensor_data (const IrTensor *tensor)
{
  IrTensor *mutable = (IrTensor *) tensor; /* the cache is no part of the value */
  gconstpointer data;

  if (tensor->base != NULL)
    return ir_tensor_data (tensor->base);
  if (tensor->bytes == NULL)
    return NULL;
  data = g_atomic_pointer_get (&mutable->aligned);
  if (data != NULL)
    return data;
  data = g_bytes_get_data (tensor->bytes, NULL);
  if (data == NULL)
    return tensor->dims; /* an empty tensor: some valid address */
  if ((guintptr) data % alignment_of (tensor->dtype) != 0)
    return make_aligned_copy (mutable, data);
  g_atomic_pointer_set (&mutable->aligned, (gpointer) data);
  return data;
}

/**
 * ir_tensor_raw:
 * @tensor: a tensor
 *
 * For those who copy elements once, as when they pack weights: ir_tensor_data() would keep an
 * aligned copy of what lies in a file at any address.
 *
 * Returns: (transfer none) (nullable): the elements as they lie, perhaps not aligned for their
 * type; otherwise as ir_tensor_data()
 */
gconstpointer
ir_tensor_raw (const IrTensor *tensor)
{
  GBytes *bytes = ir_tensor_bytes (tensor);
  gconstpointer data = bytes != NULL ? g_bytes_get_data (bytes, NULL) : NULL;

  return data != NULL ? data : ir_tensor_data (tensor);
}

/**
 * ir_tensor_data_writable:
 * @tensor: a tensor made by ir_tensor_new_alloc(), _copy(), _scalar(), _int64s() or _static(), not
 *   yet shared
 *
 * Returns: (transfer none) (nullable): its elements, to be written; %NULL if they are not its own
 */
gpointer
ir_tensor_data_writable (IrTensor *tensor)
{
  IrTensor *owner = tensor->base != NULL ? tensor->base : tensor;
  gconstpointer data = owner->writable ? g_bytes_get_data (owner->bytes, NULL) : NULL;
  return owner->writable && data == NULL ? owner->dims : (gpointer) data;
}

/**
 * ir_tensor_reclaim:
 * @tensor: a tensor made by ir_tensor_new_alloc(), whose bytes have not been taken out of it
 *
 * For buffers that are filled again and again: where the caller's reference is the only one, what
 * is cached about the contents is forgotten, and they may be written through
 * ir_tensor_data_writable().
 *
 * Returns: whether that is so
 */
gboolean
ir_tensor_reclaim (IrTensor *tensor)
{
  if (g_atomic_int_get (&tensor->ref_count) != 1 || !tensor->writable)
    return FALSE;
  if ((gsize) g_atomic_pointer_get (&tensor->hash) != 0) /* a store would cost more than the look */
    g_atomic_pointer_set (&tensor->hash, 0);
  g_clear_pointer (&tensor->origin, free_origin);
  return TRUE;
}

/**
 * ir_tensor_bytes:
 * @tensor: a tensor
 *
 * Returns: (transfer none) (nullable): the bytes as stored, at any alignment; %NULL for strings and
 *   sparse tensors
 */
GBytes *
ir_tensor_bytes (const IrTensor *tensor)
{
  return tensor->base != NULL ? tensor->base->bytes : tensor->bytes;
}

/**
 * ir_tensor_string:
 * @tensor: a tensor of strings
 * @index: flat index
 *
 * Returns: (transfer none) (nullable): the string; %NULL if @tensor holds none there
 */
GBytes *
ir_tensor_string (const IrTensor *tensor, guint64 index)
{
  GBytes **strings = tensor->base != NULL ? tensor->base->strings : tensor->strings;
  return strings != NULL && index < tensor->n_elements ? strings[index] : NULL;
}

/**
 * ir_tensor_sparse_values:
 * @tensor: a tensor
 *
 * Returns: (transfer none) (nullable): the elements that are not zero; %NULL if it is not sparse
 */
const IrTensor *
ir_tensor_sparse_values (const IrTensor *tensor)
{
  return tensor->values;
}

/**
 * ir_tensor_sparse_indices:
 * @tensor: a tensor
 *
 * Returns: (transfer none) (nullable): int64 [NNZ] or [NNZ, rank]; %NULL if it is not sparse
 */
const IrTensor *
ir_tensor_sparse_indices (const IrTensor *tensor)
{
  return tensor->indices;
}

/* Flat index of the @i-th value of a sparse tensor, or -1 if it lies outside. */
static gint64
sparse_position (const IrTensor *tensor, gint64 i)
{
  const gint64 *indices = ir_tensor_data (tensor->indices);
  gint64 position = 0;

  if (tensor->indices->rank == 1)
    return indices[i] >= 0 && (guint64) indices[i] < tensor->n_elements ? indices[i] : -1;
  for (guint axis = 0; axis < tensor->rank; axis++)
    {
      gint64 index = indices[i * (gint64) tensor->rank + axis];
      if (index < 0 || index >= tensor->dims[axis])
        return -1;
      position = position * tensor->dims[axis] + index;
    }
  return tensor->n_elements > 0 ? position : -1;
}

static void
copy_element (IrDtype dtype, gpointer to, gsize to_index, gconstpointer from, gsize from_index)
{
  gsize size = ir_dtype_bits (dtype) / 8;

  if (size > 0)
    memcpy ((char *) to + to_index * size, (const char *) from + from_index * size, size);
  else
    ir_dtype_set_code (dtype, to, to_index, ir_dtype_get_code (dtype, from, from_index));
}

/**
 * ir_tensor_densify:
 * @tensor: (transfer none): a tensor
 * @error: return location for an error, or %NULL
 *
 * Fails with %G_IO_ERROR_INVALID_DATA if an index lies outside or the values are strings, and as
 * ir_tensor_new_alloc() does.
 *
 * Returns: (transfer full): the tensor with all its zeros; @tensor itself if it is not sparse
 */
IrTensor *
ir_tensor_densify (IrTensor *tensor, GError **error)
{
  g_autoptr (IrTensor) dense = NULL;
  gconstpointer values;

  if (tensor->values == NULL)
    return ir_tensor_ref (tensor);
  values = ir_tensor_data (tensor->values);
  if (values == NULL)
    {
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                           "A sparse tensor of strings has no dense form");
      return NULL;
    }
  dense = ir_tensor_new_alloc (tensor->dtype, tensor->rank, tensor->dims, error);
  if (dense == NULL)
    return NULL;
  for (gint64 i = 0; i < tensor->values->dims[0]; i++)
    {
      gint64 position = sparse_position (tensor, i);
      if (position < 0)
        {
          g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                       "Index %" G_GINT64_FORMAT " of a sparse tensor lies outside of its shape",
                       i);
          return NULL;
        }
      copy_element (tensor->dtype, ir_tensor_data_writable (dense), (gsize) position, values,
                    (gsize) i);
    }
  return g_steal_pointer (&dense);
}

/**
 * ir_tensor_type:
 * @tensor: a tensor
 * @context: where the type lives
 *
 * Returns: (transfer none): its type, with known dims; of containers with the dims that all items
 *   have
 */
const IrType *
ir_tensor_type (const IrTensor *tensor, IrContext *context)
{
  if (ir_tensor_is_container (tensor))
    return ir_container_type (tensor, context);
  if (tensor->values != NULL)
    return ir_type_sparse_tensor (context, tensor->dtype, (int) tensor->rank, tensor->dims);
  return ir_type_tensor (context, tensor->dtype, (int) tensor->rank, tensor->dims);
}

/**
 * ir_tensor_set_origin:
 * @tensor: a tensor that is not shared yet
 * @origin: facts of its file, copied
 */
void
ir_tensor_set_origin (IrTensor *tensor, const IrTensorOrigin *origin)
{
  g_clear_pointer (&tensor->origin, free_origin);
  tensor->origin = g_new0 (IrTensorOrigin, 1);
  tensor->origin->name = g_strdup (origin->name);
  tensor->origin->doc = g_strdup (origin->doc);
  tensor->origin->location = g_strdup (origin->location);
  tensor->origin->offset = origin->offset;
  tensor->origin->length = origin->length;
  tensor->origin->unknown = origin->unknown != NULL ? g_bytes_ref (origin->unknown) : NULL;
}

/**
 * ir_tensor_origin:
 * @tensor: a tensor
 *
 * Returns: (transfer none) (nullable): facts of its file
 */
const IrTensorOrigin *
ir_tensor_origin (const IrTensor *tensor)
{
  return tensor->origin;
}

/* -- elements -- */

/* Where the element stands in the values of a sparse tensor, or -1. Later values win. */
static gint64
sparse_find (const IrTensor *tensor, guint64 index)
{
  for (gint64 i = tensor->values->dims[0] - 1; i >= 0; i--)
    if (sparse_position (tensor, i) == (gint64) index)
      return i;
  return -1;
}

/**
 * ir_tensor_get_double:
 * @tensor: a tensor of numbers
 * @index: flat index
 *
 * Returns: the element; of complex numbers the real part; 0 if there is no such element, NaN for
 *   strings
 */
double
ir_tensor_get_double (const IrTensor *tensor, guint64 index)
{
  double value = 0;

  if (index >= tensor->n_elements)
    return 0;
  if (tensor->values != NULL)
    {
      gint64 at = sparse_find (tensor, index);
      return at >= 0 ? ir_tensor_get_double (tensor->values, (guint64) at) : 0;
    }
  if (ir_dtype_kind (tensor->dtype) == IR_DTYPE_KIND_STRING)
    return NAN;
  ir_dtype_get_double (tensor->dtype, ir_tensor_data (tensor), index, &value);
  return value;
}

/**
 * ir_tensor_get_int64:
 * @tensor: a tensor of numbers
 * @index: flat index
 *
 * Returns: the element as by ir_dtype_get_int64(): truncated and clamped; 0 if there is none
 */
gint64
ir_tensor_get_int64 (const IrTensor *tensor, guint64 index)
{
  gint64 value = 0;

  if (index >= tensor->n_elements || ir_dtype_kind (tensor->dtype) == IR_DTYPE_KIND_STRING)
    return 0;
  if (tensor->values != NULL)
    {
      gint64 at = sparse_find (tensor, index);
      return at >= 0 ? ir_tensor_get_int64 (tensor->values, (guint64) at) : 0;
    }
  ir_dtype_get_int64 (tensor->dtype, ir_tensor_data (tensor), index, &value);
  return value;
}

/* -- comparing -- */

/**
 * ir_tensor_equal:
 * @a: a tensor
 * @b: another
 *
 * Returns: %TRUE if element type, dims and all bits agree; -0 differs from 0, equal NaNs are equal;
 *   the file's facts do not count
 */
gboolean
ir_tensor_equal (const IrTensor *a, const IrTensor *b)
{
  if (a == b)
    return TRUE;
  if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank ||
      a->n_bytes != b->n_bytes || (a->values != NULL) != (b->values != NULL) ||
      (a->rank > 0 && memcmp (a->dims, b->dims, sizeof (gint64) * a->rank) != 0))
    return FALSE;
  if (ir_tensor_is_container (a))
    return ir_container_equal (a, b);
  if (a->values != NULL)
    return ir_tensor_equal (a->values, b->values) && ir_tensor_equal (a->indices, b->indices);
  if (a->dtype == IR_DTYPE_STRING)
    {
      for (guint64 i = 0; i < a->n_elements; i++)
        if (!g_bytes_equal (ir_tensor_string (a, i), ir_tensor_string (b, i)))
          return FALSE;
      return TRUE;
    }
  return a->n_bytes == 0 || g_bytes_equal (ir_tensor_bytes (a), ir_tensor_bytes (b));
}

static guint64
rotate_multiply (guint64 hash, guint64 word)
{
  hash = (hash ^ word) * G_GUINT64_CONSTANT (0x9fb21c651e98df25);
  return hash ^ (hash >> 29);
}

/* Four independent lanes, so that a weight of a gigabyte is hashed at about memory speed. */
static guint64
hash_bytes (const void *data, gsize n, guint64 seed)
{
  const guint8 *p = data;
  guint64 lanes[4] = { seed, seed + 1, seed + 2, seed + 3 }, word;

  for (; n >= 32; n -= 32, p += 32)
    for (guint lane = 0; lane < 4; lane++)
      {
        memcpy (&word, p + lane * 8, 8);
        lanes[lane] = rotate_multiply (lanes[lane], word);
      }
  for (; n > 0; n -= MIN (n, 8), p += 8)
    {
      word = 0;
      memcpy (&word, p, MIN (n, 8));
      lanes[0] = rotate_multiply (lanes[0], word + MIN (n, 8));
    }
  for (guint lane = 1; lane < 4; lane++)
    lanes[0] = rotate_multiply (lanes[0], lanes[lane]);
  return lanes[0];
}

static guint64
compute_hash (const IrTensor *tensor)
{
  guint64 hash = rotate_multiply ((guint64) tensor->dtype, tensor->rank);

  hash = hash_bytes (tensor->dims, sizeof (gint64) * tensor->rank, hash);
  if (ir_tensor_is_container (tensor))
    return ir_container_hash (tensor, hash);
  if (tensor->values != NULL)
    return rotate_multiply (rotate_multiply (hash, ir_tensor_hash (tensor->values)),
                            ir_tensor_hash (tensor->indices));
  if (tensor->dtype != IR_DTYPE_STRING)
    return hash_bytes (g_bytes_get_data (ir_tensor_bytes (tensor), NULL), tensor->n_bytes, hash);
  for (guint64 i = 0; i < tensor->n_elements; i++)
    {
      gsize length;
      gconstpointer data = g_bytes_get_data (ir_tensor_string (tensor, i), &length);
      hash = hash_bytes (data, length, hash + length);
    }
  return hash;
}

/**
 * ir_tensor_hash:
 * @tensor: a tensor that is no longer written
 *
 * Returns: a hash that agrees with ir_tensor_equal(); computed once; the same in every run
 */
guint64
ir_tensor_hash (const IrTensor *tensor)
{
  IrTensor *mutable = (IrTensor *) tensor; /* the cache is no part of the value */
  gsize hash = (gsize) g_atomic_pointer_get (&mutable->hash);

  if (hash != 0)
    return hash;
  hash = MAX (compute_hash (tensor), 1); /* which would compute it twice */
  g_atomic_pointer_set (&mutable->hash, hash);
  return hash;
}

/* -- text -- */

typedef struct
{
  const IrTensor *tensor;
  GString *text;
  guint64 left; /* elements that may still be printed */
  guint64 next; /* flat index */
  gboolean truncated;
} Printer;

static void
append_real (GString *text, IrDtype dtype, double value)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  /* a NaN has a sign that means nothing, and differs from machine to machine */
  g_string_append (
      text, isnan (value) ? "nan"
                          : g_ascii_formatd (number, sizeof number,
                                             dtype == IR_DTYPE_DOUBLE ? "%.17g" : "%.9g", value));
}

static void
append_bytes (GString *text, GBytes *bytes)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);
  g_autofree char *copy = g_strndup (data != NULL ? data : "", MIN (length, 256));
  g_autofree char *valid = g_utf8_make_valid (copy, -1);
  g_autofree char *escaped = g_strescape (valid, NULL);

  g_string_append_printf (text, "\"%s%s\"", escaped, length > 256 ? "..." : "");
}

static void
append_complex (GString *text, const IrTensor *tensor, guint64 index)
{
  IrDtype part = tensor->dtype == IR_DTYPE_COMPLEX64 ? IR_DTYPE_FLOAT : IR_DTYPE_DOUBLE;
  double real, imaginary;

  ir_dtype_get_double (part, ir_tensor_data (tensor), index * 2, &real);
  ir_dtype_get_double (part, ir_tensor_data (tensor), index * 2 + 1, &imaginary);
  append_real (text, part, real);
  if (!signbit (imaginary))
    g_string_append_c (text, '+');
  append_real (text, part, imaginary);
  g_string_append_c (text, 'j');
}

static void
append_element (GString *text, const IrTensor *tensor, guint64 index)
{
  guint64 wide;

  switch (ir_dtype_kind (tensor->dtype))
    {
    case IR_DTYPE_KIND_STRING:
      append_bytes (text, ir_tensor_string (tensor, index));
      break;
    case IR_DTYPE_KIND_COMPLEX:
      append_complex (text, tensor, index);
      break;
    case IR_DTYPE_KIND_BOOL:
      g_string_append (text, ir_tensor_get_int64 (tensor, index) != 0 ? "true" : "false");
      break;
    case IR_DTYPE_KIND_SINT:
    case IR_DTYPE_KIND_UINT:
      wide = tensor->dtype == IR_DTYPE_UINT64 ? ((const guint64 *) ir_tensor_data (tensor))[index]
                                              : 0;
      if (wide > (guint64) G_MAXINT64)
        g_string_append_printf (text, "%" G_GUINT64_FORMAT, wide);
      else
        g_string_append_printf (text, "%" G_GINT64_FORMAT, ir_tensor_get_int64 (tensor, index));
      break;
    case IR_DTYPE_KIND_FLOAT:
      append_real (text, tensor->dtype, ir_tensor_get_double (tensor, index));
      break;
    case IR_DTYPE_KIND_NONE:
    case IR_N_DTYPE_KINDS:
    default:
      break;
    }
}

static void
print_axis (Printer *printer, guint axis)
{
  if (axis == printer->tensor->rank)
    {
      append_element (printer->text, printer->tensor, printer->next++);
      printer->left--;
      return;
    }
  g_string_append_c (printer->text, '[');
  for (gint64 i = 0; i < printer->tensor->dims[axis] && !printer->truncated; i++)
    {
      if (i > 0)
        g_string_append (printer->text, ", ");
      printer->truncated = printer->left == 0;
      if (printer->truncated)
        g_string_append (printer->text, "...");
      else
        print_axis (printer, axis + 1);
    }
  g_string_append_c (printer->text, ']');
}

/**
 * ir_tensor_to_string:
 * @tensor: a tensor
 * @max_elements: how many elements to print at most
 *
 * Returns: (transfer full): nested brackets as in numpy, `[[1, 2], [3, ...]]`; a scalar has none;
 *   sparse tensors as `{indices: [...], values: [...]}`; sequences as `(item, item)`, an empty
 *   optional as `none`, maps as `{key: value, ...}`; floats have 9 digits, doubles 17
 */
char *
ir_tensor_to_string (const IrTensor *tensor, guint max_elements)
{
  g_autoptr (GString) text = g_string_new (NULL);
  Printer printer = { tensor, text, max_elements, 0, FALSE };

  if (ir_tensor_is_container (tensor))
    return ir_container_to_string (tensor, max_elements);
  if (tensor->values != NULL)
    {
      g_autofree char *indices = ir_tensor_to_string (tensor->indices, max_elements);
      g_autofree char *values = ir_tensor_to_string (tensor->values, max_elements);
      return g_strdup_printf ("{indices: %s, values: %s}", indices, values);
    }
  if (tensor->n_elements == 0)
    g_string_append (text, "[]");
  else if (max_elements == 0)
    g_string_append (text, "...");
  else
    print_axis (&printer, 0);
  return g_strdup (text->str);
}
