/* Blocks of elements as doubles: how the reference kernels of this folder read and write tensors of
 * any numeric type, one row at a time. */
#pragma once

#include "core/op/call.h"

void ir_block_load (const IrTensor *tensor, guint64 first, guint64 n, double *values);
void ir_block_store (IrTensor *tensor, guint64 first, guint64 n, const double *values);
double ir_block_round (IrDtype dtype, double value);
void ir_block_softmax (IrDtype dtype, double *row, guint64 n);
double *ir_block_new (const IrCall *call, guint64 n, GError **error);
double *ir_block_load_new (const IrCall *call, guint slot, GError **error);
gboolean ir_block_check_float (const IrCall *call, GError **error);
IrTensor *ir_block_new_output (IrCall *call, guint slot, GError **error);
gboolean ir_block_cancelled (const IrCall *call, GError **error);

/* For loops over elements, or chunks of IR_REF_CHUNK of them, by where they are: whether what is
 * left may be left out. The runner sees by itself that the call was to stop. */
static inline gboolean
ir_block_stopped (const IrCall *call, guint64 place)
{
  return place != 0 && place % 4096 == 0 && ir_call_stopped (call);
}
