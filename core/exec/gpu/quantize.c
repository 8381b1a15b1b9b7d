/* Quantization: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. */
#include "config.h"

#include "core/exec/gpu/quantize.h"
#include "core/op/infer-util.h"

#include <string.h>

void
gpu_put_quantize (GpuWriter *w, const char *name, IrDtype dtype)
{
  guint bits = ir_dtype_bits (dtype);
  gboolean is_signed = ir_dtype_kind (dtype) == IR_DTYPE_KIND_SINT;

  gpu_put_int (w, "low", is_signed ? -(G_GINT64_CONSTANT (1) << (bits - 1)) : 0);
  gpu_put_int (w, "high", (G_GINT64_CONSTANT (1) << (is_signed ? bits - 1 : bits)) - 1);
  gpu_put_part (w, name, "quantize");
}

/* Where input @slot has the number of each element of @x: one for all, one for each place along the axis,
 * or one for each block along it. */
static void
add_spread (GpuWriter *w, GpuLoop *loop, guint slot, const GpuShape *x)
{
  gint64 axis = ir_call_int (w->call, "axis", 1), block = ir_call_int (w->call, "block_size", 0);
  gint64 strides[IR_MAX_RANK] = { 0 };
  GpuShape own;

  if (!gpu_shape_of_input (w, slot, &own))
    return;
  axis += axis < 0 ? x->rank : 0;
  if (block > 0)
    gpu_refuse (w, "no GPU kernel quantizes by blocks");
  else if (own.n != 1 && (own.rank != 1 || axis < 0 || axis >= x->rank))
    gpu_refuse (w, "scales are neither one number nor a list");
  else if (own.n != 1)
    strides[axis] = 1;
  gpu_loop_add (loop, strides, 0);
}

/* Inputs x, scale and, where it is there, zero; words for their places o0, o1, o2 of element i, and $zero. */
static gboolean
put_operands (GpuWriter *w, GpuShape *x)
{
  gboolean has_zero = ir_call_has_input (w->call, 2);
  gint64 own[IR_MAX_RANK];
  GpuLoop loop;

  gpu_put_input (w, "x", 0);
  gpu_put_input (w, "scale", 1);
  if (has_zero)
    gpu_put_input (w, "zero", 2);
  if (w->why != NULL || !gpu_shape_of_input (w, 0, x))
    return FALSE;
  gpu_contiguous_strides (x, own);
  gpu_loop_init (&loop, x);
  gpu_loop_add (&loop, own, 0);
  add_spread (w, &loop, 1, x);
  if (has_zero)
    add_spread (w, &loop, 2, x);
  if (w->why != NULL)
    return FALSE;
  gpu_loop_join (&loop);
  gpu_put_loop (w, "offsets", &loop, "i");
  gpu_put (w, "zero", "%s", has_zero ? "$load_zero (K_LOAD (zero, o2))" : "0");
  return TRUE;
}

static gboolean
is_whole (const GpuElement *element)
{
  return element != NULL && !gpu_is_real (element->compute) && element->dtype != IR_DTYPE_BOOL &&
         ir_dtype_bits (element->dtype) <= 32;
}

static const char *
emit_quantize (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gint64 precision = ir_call_int (call, "precision", 0);
  g_auto (GpuWriter) w;
  GpuShape x;

  gpu_writer_init (&w, program, call, "quantize");
  if (!put_operands (&w, &x))
    return w.why;
  const GpuElement *e = gpu_put_output (&w, "y", 0);
  if (!is_whole (e) || ir_call_input_dtype (call, 0) != IR_DTYPE_FLOAT ||
      ir_call_input_dtype (call, 1) != IR_DTYPE_FLOAT ||
      (precision != 0 && precision != IR_DTYPE_FLOAT))
    return gpu_refuse (&w, gpu_no_element);
  gpu_put_quantize (&w, "function", e->dtype);
  gpu_put (
      &w, "value",
      "(%s) q_$name ($load_x (K_LOAD (x, o0)) / $load_scale (K_LOAD (scale, o1)), (k_i64) ($zero))",
      e->storage);
  return gpu_write_each (&w, "element", x.n);
}

static const char *
emit_dequantize (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape x;

  gpu_writer_init (&w, program, call, "dequantize");
  if (!put_operands (&w, &x))
    return w.why;
  const GpuElement *e = gpu_put_output (&w, "y", 0);
  if (e == NULL || !gpu_is_real (e->compute) || gpu_element (ir_call_input_dtype (call, 1)) != e ||
      !is_whole (gpu_element (ir_call_input_dtype (call, 0))))
    return gpu_refuse (&w, gpu_no_element);
  gpu_put (&w, "function", "%s", "");
  gpu_put (
      &w, "value",
      "$store_y (($compute_y) ((k_i64) $load_x (K_LOAD (x, o0)) - (k_i64) ($zero)) * $load_scale (K_LOAD (scale, o1)))");
  return gpu_write_each (&w, "element", x.n);
}

/* One block finds the range, and with it scale and zero point, which the other launch reads. */
static const char *
emit_dynamic_quantize (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) range;
  g_auto (GpuWriter) w;
  GpuShape x;

  gpu_writer_init (&range, program, call, "quantize_range");
  gpu_writer_init (&w, program, call, "quantize");
  if (!gpu_shape_of_input (&w, 0, &x) || ir_call_input_dtype (call, 0) != IR_DTYPE_FLOAT)
    return gpu_refuse (&w, gpu_no_element);
  for (guint i = 0; i < 3; i++)
    if (call->n_outputs <= i || !call->outputs[i].present)
      return "it is asked for without its scale or its zero point";
  gpu_put_input (&range, "x", 0);
  gpu_put_output (&range, "scale", 1);
  gpu_put_output (&range, "zero", 2);
  gpu_put_quantize (&range, "function", IR_DTYPE_UINT8);
  gpu_put_extent (&range, x.n);
  const char *why = gpu_write_rows (&range, "quantize-range", 1, x.n);
  gpu_put_input (&w, "x", 0);
  gpu_put_output (&w, "scale", 1);
  gpu_put_output (&w, "zero", 2);
  gpu_put_output (&w, "y", 0);
  gpu_put_quantize (&w, "function", IR_DTYPE_UINT8);
  gpu_put (&w, "offsets", "%s", "");
  gpu_put (&w, "value",
           "(unsigned char) q_$name (K_LOAD (x, i) / K_LOAD (scale, 0), (k_i64) K_LOAD (zero, 0))");
  return why != NULL ? why : gpu_write_each (&w, "element", x.n);
}

const IrGpuKernel gpu_quantize = { "quantize", emit_quantize };
const IrGpuKernel gpu_dequantize = { "dequantize", emit_dequantize };
const IrGpuKernel gpu_dynamic_quantize = { "dynamic-quantize", emit_dynamic_quantize };
