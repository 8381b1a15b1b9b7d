/* IrTensor: shared, reference-counted element data. The bytes are a GBytes, most often a slice of
 * the mapped model file, at any byte offset; ir_tensor_data() is the one accessor that gives a
 * pointer aligned for the element type (through a cached aligned copy where the file's is not).
 * Little-endian, C order; 4- and 2-bit types are packed, low bits first. Strings are held apart.
 *
 * At run time a value may also hold a sequence, an optional or a map. That is a container: an
 * IrTensor of another kind, whose items are tensors or containers. It has element type UNDEFINED,
 * rank 0, no elements and no data, so that code for tensors finds nothing to read in it. */
#pragma once

#include "core/ir/type.h"

typedef struct _IrTensor IrTensor;

IrTensor *ir_tensor_new (IrDtype dtype, guint rank, const gint64 *dims, GBytes *bytes);
IrTensor *ir_tensor_new_alloc (IrDtype dtype, guint rank, const gint64 *dims, GError **error);
IrTensor *ir_tensor_new_copy (IrDtype dtype, guint rank, const gint64 *dims, gconstpointer data);
IrTensor *ir_tensor_copy (const IrTensor *tensor, GError **error); /* dense, not of strings */
IrTensor *ir_tensor_new_strings (guint rank, const gint64 *dims, GBytes **strings);
IrTensor *ir_tensor_new_sparse (guint rank,
                                const gint64 *dims,
                                IrTensor *values,
                                IrTensor *indices);
IrTensor *ir_tensor_new_scalar (IrDtype dtype, double value);
IrTensor *ir_tensor_new_int64s (const gint64 *values, gssize n); /* n < 0: a scalar of one */
IrTensor *ir_tensor_cast (const IrTensor *tensor, IrDtype dtype); /* tensor-cast.c */
IrTensor *ir_tensor_reshape (IrTensor *tensor, guint rank, const gint64 *dims);
/* A tensor over memory that the caller keeps alive and may write until it is shared. */
IrTensor *ir_tensor_new_static (
    IrDtype dtype, guint rank, const gint64 *dims, gpointer data, gsize bytes);
/* The same over a part of memory that lives as long as the tensor. */
IrTensor *ir_tensor_new_within (
    IrDtype dtype, guint rank, const gint64 *dims, GBytes *memory, gsize at);
IrTensor *ir_tensor_ref (IrTensor *tensor);
void ir_tensor_unref (IrTensor *tensor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTensor, ir_tensor_unref)

/* -- containers (container.c): immutable, items shared; NULL if the items do not fit -- */
IrTensor *ir_tensor_new_sequence (const IrType *element, IrTensor *const *items, guint n_items);
IrTensor *ir_tensor_append (const IrTensor *sequence, IrTensor *item);
gconstpointer ir_tensor_item_store (const IrTensor *tensor); /* (nullable) */
IrTensor *ir_tensor_stored_item (const IrTensor *tensor, guint index); /* (nullable) */
IrTensor *ir_tensor_new_optional (const IrType *element, IrTensor *item);
IrTensor *ir_tensor_new_map (IrTensor *keys, IrTensor *values);    /* [N]; [N] or a sequence of N */
IrTensor *ir_tensor_entry (const IrTensor *tensor, guint64 index); /* (transfer full) a scalar */
/* A function with the first of its inputs: the function as ir_function_key() names it, and a type as text.
 * NULL: closures hold each other too deep. */
IrTensor *ir_tensor_new_closure (const char *function,
                                 const char *type,
                                 IrTensor *const *items,
                                 guint n_items);
const char *ir_tensor_closure_function (const IrTensor *tensor); /* (nullable): no closure */
IrTensor *ir_tensor_with_items (const IrTensor *container, IrTensor *const *items);
IrTypeKind ir_tensor_kind (const IrTensor *tensor);
gboolean ir_tensor_is_container (const IrTensor *tensor);
guint ir_tensor_n_items (const IrTensor *tensor);               /* maps: 2, keys and values */
IrTensor *ir_tensor_item (const IrTensor *tensor, guint index); /* (transfer none) (nullable) */
const IrType *ir_tensor_item_type (const IrTensor *tensor, IrContext *context);

IrDtype ir_tensor_dtype (const IrTensor *tensor);
guint ir_tensor_rank (const IrTensor *tensor);
const gint64 *ir_tensor_dims (const IrTensor *tensor);
guint64 ir_tensor_n_elements (const IrTensor *tensor);
gsize ir_tensor_n_bytes (const IrTensor *tensor);
gconstpointer ir_tensor_data (const IrTensor *tensor); /* NULL for strings and sparse */
gconstpointer ir_tensor_raw (const IrTensor *tensor);  /* (nullable) at any alignment */
gpointer ir_tensor_data_writable (IrTensor *tensor); /* only before it is shared */
/* Makes a tensor that nobody else refers to writable again, as if it were new; FALSE if somebody
 * does. */
gboolean ir_tensor_reclaim (IrTensor *tensor);
GBytes *ir_tensor_bytes (const IrTensor *tensor); /* (transfer none): as stored */
GBytes *ir_tensor_string (const IrTensor *tensor, guint64 index); /* (transfer none) */
const IrTensor *ir_tensor_sparse_values (const IrTensor *tensor);
const IrTensor *ir_tensor_sparse_indices (const IrTensor *tensor);
IrTensor *ir_tensor_densify (IrTensor *tensor, GError **error); /* (transfer full) */
const IrType *ir_tensor_type (const IrTensor *tensor, IrContext *context);

/* Facts of the file it came from, for writing back; all (nullable). Set once, before sharing. */
typedef struct
{
  const char *name;      /* TensorProto.name */
  const char *doc;       /* doc_string */
  const char *location;  /* external data: path relative to the model, as in the file */
  gint64 offset, length; /* external data; -1 = not given */
  GBytes *unknown;       /* metadata_props, segment and unknown fields, raw wire bytes */
} IrTensorOrigin;
void ir_tensor_set_origin (IrTensor *tensor, const IrTensorOrigin *origin); /* copies */
const IrTensorOrigin *ir_tensor_origin (const IrTensor *tensor);

double ir_tensor_get_double (const IrTensor *tensor, guint64 index);
gint64 ir_tensor_get_int64 (const IrTensor *tensor, guint64 index);
gboolean ir_tensor_equal (const IrTensor *a, const IrTensor *b); /* dtype, dims and bits */
guint64 ir_tensor_hash (const IrTensor *tensor);
char *ir_tensor_to_string (const IrTensor *tensor, guint max_elements);
