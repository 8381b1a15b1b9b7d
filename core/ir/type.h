/* Types of values, interned in the context: equal types are the same pointer. */
#pragma once

#include "core/ir/dim.h"
#include "core/ir/dtype.h"

typedef enum
{
  IR_TYPE_TENSOR,
  IR_TYPE_SPARSE_TENSOR,
  IR_TYPE_SEQUENCE,
  IR_TYPE_OPTIONAL,
  IR_TYPE_MAP,
  IR_TYPE_OPAQUE,
  IR_TYPE_CLOSURE, /* a function with some of its inputs: irscope.closure */
  IR_N_TYPE_KINDS
} IrTypeKind;

#define IR_RANK_UNKNOWN (-1)
#define IR_MAX_RANK     64 /* readers refuse more; kernels may rely on it */

typedef struct _IrType IrType;

struct _IrType
{
  IrTypeKind kind;
  IrDtype dtype;          /* tensors: element type; maps: key type; UNDEFINED if not known */
  gint8 rank;             /* tensors: IR_RANK_UNKNOWN or number of dims */
  const IrType *element;  /* (nullable) sequence, optional: element; map: value */
  const char *denotation; /* (nullable) TypeProto.denotation; for OPAQUE "domain/name" */
  const char *const *dim_denotations; /* (nullable) one per dim, entries nullable */
  /* (nullable) closure: what it takes, then what it gives, entries nullable; NULL: not known */
  const struct _IrType *const *members;
  guint16 n_params, n_members;
  IrDim dims[]; /* rank entries */
};

const IrType *ir_type_tensor (IrContext *context, IrDtype dtype, int rank, const IrDim *dims);
const IrType *ir_type_sparse_tensor (IrContext *context,
                                     IrDtype dtype,
                                     int rank,
                                     const IrDim *dims);
const IrType *ir_type_sequence (IrContext *context, const IrType *element);
const IrType *ir_type_optional (IrContext *context, const IrType *element);
const IrType *ir_type_map (IrContext *context, IrDtype key, const IrType *value);
const IrType *ir_type_opaque (IrContext *context, const char *denotation);
/* @members: (nullable) first the @n_params types of what it takes, then those of what it gives */
const IrType *ir_type_closure (IrContext *context,
                               const IrType *const *members,
                               guint n_params,
                               guint n_members);
const IrType *ir_type_with_denotation (IrContext *context,
                                       const IrType *type,
                                       const char *denotation,
                                       const char *const *dim_denotations);

gboolean ir_type_is_tensor (const IrType *type);
gboolean ir_type_is_container (const IrType *type); /* NULL is none */
gboolean ir_type_has_rank (const IrType *type);
gboolean ir_type_is_static (const IrType *type);
gboolean ir_type_n_elements (const IrType *type, guint64 *n_elements);
gboolean ir_type_n_bytes (const IrType *type, gsize *bytes);
/* Equal or more specific: the meet of what both say; NULL if they contradict each other. */
const IrType *ir_type_merge (IrContext *context, const IrType *a, const IrType *b);
gboolean ir_type_at_least (const IrType *specific, const IrType *general);
const IrType *ir_type_substitute (IrContext *context, const IrType *type, GHashTable *bindings);
char *ir_type_to_string (IrContext *context, const IrType *type); /* "float[batch,3,?,224]" */
const IrType *ir_type_parse (IrContext *context, const char *text, GError **error);
