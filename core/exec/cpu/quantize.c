/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear between float32 and whole numbers, by one
 * scale or one per channel. A quotient or product of two floats that double holds is the same in
 * float, so the bits are those of the reference. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/ref/quantize.h"
#include "core/op/infer-util.h"

#include <math.h>
#include <omp.h>

#define PIECE 8192 /* elements of a row at once */

/* Rows of elements that have one scale and one zero point. */
typedef struct
{
  gint64 rows, length; /* [rows, length] */
  gint64 n;            /* scales: row i has number i % n */
  const float *scales;
  const IrTensor *zeros; /* (nullable) */
} Rows;

/* -- elements -- */

CPU_VECTORIZED static void
to_unsigned (const float *x, gint64 n, float scale, float zero, guint8 *y)
{
  for (gint64 i = 0; i < n; i++)
    {
      float quotient = x[i] / scale, q = rintf (quotient) + zero;

      q = q < 0 ? 0 : q > G_MAXUINT8 ? G_MAXUINT8 : q;
      y[i] = (guint8) (gint32) (quotient == quotient ? q : 0);
    }
}

CPU_VECTORIZED static void
to_signed (const float *x, gint64 n, float scale, float zero, gint8 *y)
{
  for (gint64 i = 0; i < n; i++)
    {
      float quotient = x[i] / scale, q = rintf (quotient) + zero;

      q = q < G_MININT8 ? G_MININT8 : q > G_MAXINT8 ? G_MAXINT8 : q;
      y[i] = (gint8) (gint32) (quotient == quotient ? q : 0);
    }
}

CPU_VECTORIZED static void
from_unsigned (const guint8 *x, gint64 n, float scale, gint32 zero, float *y)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) (x[i] - zero) * scale;
}

CPU_VECTORIZED static void
from_signed (const gint8 *x, gint64 n, float scale, gint32 zero, float *y)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) (x[i] - zero) * scale;
}

CPU_VECTORIZED static void
from_whole (const gint32 *x, gint64 n, double scale, double zero, float *y)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) ((x[i] - zero) * scale);
}

/* Elements [@at, @at + @n) of input 0, of one scale. */
typedef void (*PieceFunc) (
    const IrTensor *x, gpointer y, gint64 at, gint64 n, float scale, double zero);

static void
quantize_unsigned (const IrTensor *x, gpointer y, gint64 at, gint64 n, float scale, double zero)
{
  to_unsigned ((const float *) ir_tensor_data (x) + at, n, scale, (float) zero, (guint8 *) y + at);
}

static void
quantize_signed (const IrTensor *x, gpointer y, gint64 at, gint64 n, float scale, double zero)
{
  to_signed ((const float *) ir_tensor_data (x) + at, n, scale, (float) zero, (gint8 *) y + at);
}

static void
dequantize_unsigned (const IrTensor *x, gpointer y, gint64 at, gint64 n, float scale, double zero)
{
  from_unsigned ((const guint8 *) ir_tensor_data (x) + at, n, scale, (gint32) zero,
                 (float *) y + at);
}

static void
dequantize_signed (const IrTensor *x, gpointer y, gint64 at, gint64 n, float scale, double zero)
{
  from_signed ((const gint8 *) ir_tensor_data (x) + at, n, scale, (gint32) zero, (float *) y + at);
}

static void
dequantize_whole (const IrTensor *x, gpointer y, gint64 at, gint64 n, float scale, double zero)
{
  from_whole ((const gint32 *) ir_tensor_data (x) + at, n, scale, zero, (float *) y + at);
}

/* -- rows -- */

/* FALSE: left to the reference: blocks, scales that are no floats, other numbers of them. */
static gboolean
rows_init (Rows *rows, const IrCall *call)
{
  const IrTensor *x = ir_call_input (call, 0), *zeros = ir_call_input (call, 2);
  const IrTensor *scales = ir_call_input (call, 1);
  gint64 n = (gint64) ir_tensor_n_elements (scales), all = (gint64) ir_tensor_n_elements (x), axis;

  *rows = (Rows){
    .rows = 1, .length = all, .n = n, .scales = cpu_floats (call, 1), .zeros = zeros
  };
  if (rows->scales == NULL || all == 0 || ir_call_int (call, "block_size", 0) != 0 ||
      (zeros != NULL && ir_tensor_n_elements (zeros) != (guint64) n))
    return FALSE;
  if (n == 1)
    return TRUE;
  if (!ir_call_axis (call, ir_call_int (call, "axis", 1), (int) ir_tensor_rank (x), &axis, NULL) ||
      ir_tensor_dims (x)[axis] != n)
    return FALSE;
  CpuSplit split = cpu_split_axes (x, axis, axis + 1);
  rows->rows = split.outer * n;
  rows->length = split.inner;
  return TRUE;
}

static gboolean
run_rows (IrCall *call, const Rows *rows, PieceFunc run, gpointer y, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0);
  gint64 pieces = (rows->length + PIECE - 1) / PIECE;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (x) / 4);
  CpuWatch watch = cpu_watch (call, MIN (rows->length, PIECE));

#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (rows->rows * pieces, 0), end = cpu_share (rows->rows * pieces, 1);
       i < end && !cpu_watch_stopped (&watch, i); i++)
    {
      gint64 row = i / pieces, first = i % pieces * PIECE;
      guint64 k = (guint64) (row % rows->n);

      run (x, y, row * rows->length + first, MIN (PIECE, rows->length - first), rows->scales[k],
           rows->zeros != NULL ? ir_tensor_get_double (rows->zeros, k) : 0);
    }
  return !ir_call_fail_if_stopped (call, error);
}

static gboolean
run_quantize (IrCall *call, GError **error)
{
  IrDtype dtype;
  Rows rows;

  if (!call->op->infer (call, error))
    return FALSE;
  dtype = call->outputs[0].type->dtype;
  if ((dtype != IR_DTYPE_INT8 && dtype != IR_DTYPE_UINT8) || !rows_init (&rows, call) ||
      ir_call_int (call, "precision", 0) > 1)
    return ir_ref_run (call, error);
  gpointer y = cpu_new_output (call, 0, error);
  return y != NULL &&
         run_rows (call, &rows, dtype == IR_DTYPE_INT8 ? quantize_signed : quantize_unsigned, y,
                   error);
}

static gboolean
run_dequantize (IrCall *call, GError **error)
{
  IrDtype from = ir_tensor_dtype (ir_call_input (call, 0));
  Rows rows;

  if (!call->op->infer (call, error))
    return FALSE;
  if (call->outputs[0].type->dtype != IR_DTYPE_FLOAT || !rows_init (&rows, call))
    return ir_ref_run (call, error);
  gpointer y = cpu_new_output (call, 0, error);
  return y != NULL && run_rows (call, &rows,
                                from == IR_DTYPE_INT8    ? dequantize_signed
                                : from == IR_DTYPE_UINT8 ? dequantize_unsigned
                                                         : dequantize_whole,
                                y, error);
}

/* -- a scale of its own -- */

CPU_VECTORIZED static gboolean
find_range (const float *x, gint64 n, float *low, float *high)
{
  float least = 0, most = 0;
  gboolean numbers = TRUE;

  for (gint64 i = 0; i < n; i++)
    {
      least = x[i] < least ? x[i] : least;
      most = x[i] > most ? x[i] : most;
      numbers &= x[i] == x[i];
    }
  *low = least;
  *high = most;
  return numbers;
}

static gboolean
run_dynamic_quantize (IrCall *call, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0);
  gint64 n = (gint64) ir_tensor_n_elements (x);
  float low, high, scale;
  gpointer outputs[3] = { NULL };

  if (!call->op->infer (call, error))
    return FALSE;
  if (!find_range (ir_tensor_data (x), n, &low, &high))
    return ir_ref_run (call, error);
  scale = (float) (((double) high - low) / 255);
  if (!(scale > 0))
    scale = 1;
  double zero = ir_ref_quantize (IR_DTYPE_UINT8, (float) (-(double) low / scale), 0);
  for (guint i = 0; i < MIN (call->n_outputs, 3); i++)
    if (ir_call_has_output (call, i) && (outputs[i] = cpu_new_output (call, i, error)) == NULL)
      return FALSE;
  if (outputs[1] != NULL)
    *(float *) outputs[1] = scale;
  if (outputs[2] != NULL)
    *(guint8 *) outputs[2] = (guint8) zero;
  if (outputs[0] != NULL)
    to_unsigned (ir_tensor_data (x), n, scale, (float) zero, outputs[0]);
  return TRUE;
}

/* -- the kernels -- */

static const char *
refuses_dequantize (const IrNode *node)
{
  IrDtype dtype = cpu_dtype (node, 0);

  if (dtype != IR_DTYPE_INT8 && dtype != IR_DTYPE_UINT8 && dtype != IR_DTYPE_INT32)
    return "the CPU kernel of this operator takes int8, uint8 and int32, and the input is of another or unknown type";
  return cpu_dtype (node, 1) == IR_DTYPE_FLOAT
             ? NULL
             : "the CPU kernel of this operator takes scales in float32";
}

/* In 16 bits the quotient is rounded before it is made whole. */
static const char *
refuses_quantize (const IrNode *node)
{
  const char *why = cpu_needs_first_float (node);

  return why != cpu_half ? why : "only quotients in float32 are quantized here";
}

const IrCpuKernel cpu_quantize_linear = { .name = "vector loop",
                                          .refuses = refuses_quantize,
                                          .run = run_quantize };
const IrCpuKernel cpu_dequantize_linear = { .name = "vector loop",
                                            .refuses = refuses_dequantize,
                                            .run = run_dequantize };
const IrCpuKernel cpu_dynamic_quantize_linear = { .name = "vector loop",
                                                  .refuses = refuses_quantize,
                                                  .run = run_dynamic_quantize };
