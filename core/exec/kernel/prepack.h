/* What kernels make of constants, once for all plans of an executable: weights in the order in
 * which they are read. Several nodes, and plans for several shapes, may share one constant. */
#pragma once

#include "core/ir/tensor.h"
#include "core/op/call.h"

/* Returns (nullable): memory for free(), as of ir_pages_new(); NULL: there is none, or it was to
 * stop. */
typedef gpointer (*IrPackFunc) (const IrTensor *constant, gpointer data);

/* Returns (transfer full) (nullable): @constant in another type. */
typedef IrTensor *(*IrRetypeFunc) (const IrTensor *constant, gpointer data);

IrPacked *ir_packed_new (void);
IrPacked *ir_packed_new_closed (void);
gboolean ir_packed_keeps (const IrPacked *packed); /* (nullable) */
IrPacked *ir_packed_ref (IrPacked *packed);
void ir_packed_unref (IrPacked *packed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrPacked, ir_packed_unref)
gconstpointer ir_packed_get (
    IrPacked *packed, const IrTensor *constant, guint64 form, IrPackFunc pack, gpointer data);
IrTensor *ir_packed_tensor (IrPacked *packed,
                            const IrTensor *constant,
                            IrRetypeFunc retype,
                            gpointer data);
