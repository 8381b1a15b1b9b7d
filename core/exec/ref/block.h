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
/* The same for many elements: they look now and then, and leave out the rest if they are to stop.
 */
void ir_block_load_many (
    const IrCall *call, const IrTensor *tensor, guint64 first, guint64 n, double *values);
void ir_block_store_many (
    const IrCall *call, IrTensor *tensor, guint64 first, guint64 n, const double *values);
void ir_block_fill (const IrCall *call, double *values, guint64 n, double value);

/* For loops over elements, or chunks of IR_REF_CHUNK of them, by where they are: whether what is
 * left may be left out. The runner sees by itself that the call was to stop. */
static inline gboolean
ir_block_stopped (const IrCall *call, guint64 place)
{
  return place != 0 && place % 4096 == 0 && ir_call_stopped (call);
}

/* For loops whose rounds are of very different lengths: counts the work. */
#define IR_BLOCK_LOOK (1 << 14) /* elements between two looks */

typedef struct
{
  const IrCall *call;
  guint64 n_done; /* since the last look */
  gboolean stopped;
} IrBlockWatch;

/* Whether what is left may be left out, after work on @n elements more. */
static inline gboolean
ir_block_worked (IrBlockWatch *watch, guint64 n)
{
  watch->n_done += MIN (n, IR_BLOCK_LOOK);
  if (watch->n_done >= IR_BLOCK_LOOK)
    {
      watch->n_done = 0;
      watch->stopped = watch->stopped || ir_call_stopped (watch->call);
    }
  return watch->stopped;
}

/* Sums in their order, in pieces between which it looks; nothing of use if it was to stop. */
double ir_block_dot (IrBlockWatch *watch, const double *a, const double *b, guint64 n);
void ir_block_add_scaled (
    IrBlockWatch *watch, double factor, const double *x, guint64 n, double *y);

/* Sorts stably, as g_qsort_with_data() does; FALSE: it was to stop, and @order is in no order. */
gboolean ir_block_sort (
    const IrCall *call, gint64 *order, gint64 n, GCompareDataFunc compare, gpointer data);
