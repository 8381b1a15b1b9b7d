/* Helpers that inference, adapters and cost functions share: axes, broadcasting, partly known
 * dims. They know the call, not operators. */
#pragma once

#include "core/op/call.h"
#include "core/op/op.h"

/* -- types -- */
IrDtype ir_call_input_dtype (const IrCall *call, guint slot);     /* UNDEFINED if not known */
int ir_call_input_rank (const IrCall *call, guint slot);          /* IR_RANK_UNKNOWN if not known */
const IrDim *ir_call_input_dims (const IrCall *call, guint slot); /* (nullable) */
/* Output @slot gets the type of input @input, propagated contents too. */
void ir_call_same_type (IrCall *call, guint slot, guint input);
/* Output @slot: @dtype with the shape of input @input. */
void ir_call_same_shape (IrCall *call, guint slot, guint input, IrDtype dtype);
/* All given inputs must have one element type; gives it, or UNDEFINED if none is known. */
gboolean ir_call_common_dtype (
    const IrCall *call, guint first, guint n, IrDtype *dtype, GError **error);

/* Inputs [first, first + n), where given and known, must hold integers: shapes, axes, indices. */
gboolean ir_call_check_integers (const IrCall *call, guint first, guint n, GError **error);

/* What holds for a value of one type or the other; fails if nothing can. */
gboolean ir_type_join (
    const IrCall *call, const IrType *a, const IrType *b, const IrType **join, GError **error);

/* What two closures have in common: of members that differ nothing is known. */
const IrType *ir_closure_join (const IrCall *call, const IrType *a, const IrType *b);

/* The element type alone; (nullable) @type */
const IrType *ir_type_without_shape (IrContext *context, const IrType *type);

/* -- axes -- */
/* @axis in [-rank, rank) becomes [0, rank); @extra is added to the rank (Unsqueeze, Flatten). */
gboolean ir_call_axis (const IrCall *call, gint64 axis, int rank, gint64 *normal, GError **error);
/* As above for a list; refuses repetition. @mask: rank entries, set TRUE. */
gboolean ir_call_axes (
    const IrCall *call, const gint64 *axes, guint n, int rank, gboolean *mask, GError **error);

/* -- dims -- */
/* One dim out of two that must be equal: the more specific; fails if they are known and differ. */
gboolean ir_call_same_dim (
    const IrCall *call, IrDim a, IrDim b, const char *what, IrDim *dim, GError **error);
/* What runs need of dims that are not both known, for who asks by IrCall.equal. */
void ir_call_need_equal (const IrCall *call, IrDim a, IrDim b, gboolean or_one);
/* The dim that a and b broadcast to, or a failure. */
gboolean ir_call_broadcast_dim (const IrCall *call, IrDim a, IrDim b, IrDim *dim, GError **error);
/* Broadcast of the shapes of inputs [first, first + n): sets @rank (IR_RANK_UNKNOWN if some rank
 * is) and @dims (room for IR_MAX_RANK). */
gboolean ir_call_broadcast_inputs (
    const IrCall *call, guint first, guint n, int *rank, IrDim *dims, GError **error);
/* Product of dims [from, to); a known 0 wins over unknown. */
IrDim ir_dims_product (IrContext *context, const IrDim *dims, guint from, guint to);
IrDim ir_dim_from_number (IrNumber number);                                /* negative: unknown */
char *ir_dims_to_string (IrContext *context, int rank, const IrDim *dims); /* "[2,N,?]" */

/* -- propagated contents -- */
/* Contents that are worth propagating: 0 or 1 dims, at most this many elements. */
#define IR_SHAPE_DATA_MAX 1024
/* Contents of an input of rank 0 or 1, element by element; @scalar: rank 0. g_free() @numbers. */
gboolean ir_call_input_data (
    const IrCall *call, guint slot, IrNumber **numbers, guint *n, gboolean *scalar);
IrNumber ir_number_unknown (void);
gboolean ir_call_input_is_scalar (const IrCall *call, guint slot); /* rank 0 for sure */
gboolean ir_number_equal (IrNumber a, IrNumber b);                 /* equal for sure */

/* -- cost -- */
guint64 ir_type_count (const IrType *type); /* elements; unknown dims count as 1; saturates */
guint64 ir_mul_saturated (guint64 a, guint64 b);
