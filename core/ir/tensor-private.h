/* The struct behind IrTensor, for tensor.c and container.c. */
#pragma once

#include "core/ir/tensor.h"

/* Items of containers. Sequences of which one is the beginning of the other may share them. */
typedef struct
{
  gatomicrefcount ref_count;
  guint n_used; /* (atomic) grows only */
  guint capacity;
  IrTensor *items[]; /* never moved: who reads the first ones need not know of an append */
} IrItems;

struct _IrTensor
{
  gatomicrefcount ref_count;
  IrTypeKind kind; /* tensor, sparse tensor, or one of the containers */
  IrDtype dtype;   /* UNDEFINED for containers, whose rank and number of elements are 0 */
  guint rank;
  gboolean writable; /* until it is shared; memory is the tensor's own or the caller's */
  guint64 n_elements;
  gsize n_bytes;
  GBytes *bytes;              /* (nullable) as stored */
  gpointer aligned;           /* (nullable) (atomic) aligned copy of bytes, or bytes' own data */
  gboolean owns_copy;         /* aligned is to be freed; written once, with aligned */
  IrTensor *base;             /* (nullable) reshaped: whose data this is */
  GBytes **strings;           /* (nullable) n_elements */
  IrTensor *values, *indices; /* (nullable) sparse */
  IrTensor **items;           /* (nullable) containers: those of the store; maps: keys and values */
  IrItems *store;             /* (nullable) containers */
  guint n_items;              /* of the store, those of this one */
  gboolean alike;             /* containers: all items are dense tensors of one shape and type */
  struct _IrClosure *closure; /* (nullable) closures: which function */
  IrType *declared;           /* (nullable) containers: a copy of the element type, no dims */
  IrTensorOrigin *origin;     /* (nullable) */
  gsize hash;                 /* (atomic) 0 = not known yet */
  gint64 dims[];
};

IrTensor *ir_tensor_new_header (
    IrDtype dtype, guint rank, const gint64 *dims, guint64 n_elements, gsize n_bytes);

/* -- container.c: what the functions of the same names do for containers -- */
void ir_container_clear (IrTensor *tensor);
const IrType *ir_container_type (const IrTensor *tensor, IrContext *context);
gboolean ir_container_equal (const IrTensor *a, const IrTensor *b);
guint64 ir_container_hash (const IrTensor *tensor, guint64 seed);
char *ir_container_to_string (const IrTensor *tensor, guint max_elements);
