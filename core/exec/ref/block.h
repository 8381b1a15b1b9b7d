/* Blocks of elements as doubles: how the reference kernels of this folder read and write tensors of
 * any numeric type, one row at a time. */
#pragma once

#include "core/op/call.h"

void ir_block_load (const IrTensor *tensor, guint64 first, guint64 n, double *values);
void ir_block_store (IrTensor *tensor, guint64 first, guint64 n, const double *values);
double ir_block_round (IrDtype dtype, double value);
void ir_block_softmax (const IrCall *call, IrDtype dtype, double *row, guint64 n);
double *ir_block_new (const IrCall *call, guint64 n, GError **error);
double *ir_block_load_new (const IrCall *call, guint slot, GError **error);
gboolean ir_block_check_float (const IrCall *call, GError **error);
IrTensor *ir_block_new_output (IrCall *call, guint slot, GError **error);
gboolean ir_block_cancelled (const IrCall *call, GError **error);
/* The same as ir_block_load(), with the poll of a kernel that reads by it. */
void ir_block_load_many (
    const IrCall *call, const IrTensor *tensor, guint64 first, guint64 n, double *values);
void ir_block_fill (double *values, guint64 n, double value);
double ir_block_dot (const double *a, const double *b, guint64 n);
void ir_block_add_scaled (double factor, const double *x, guint64 n, double *y);
gboolean ir_block_sort (gint64 *order, gint64 n, GCompareDataFunc compare, gpointer data);
