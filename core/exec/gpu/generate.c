/* What makes elements of their places: constants, ranges, masks. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-util.h"

#include <string.h>

#define I64 "%" G_GINT64_FORMAT

/* Launches a thread for each element of output 0; $value is there. */
static const char *
write_elements (GpuWriter *w)
{
  GpuShape out;

  if (!gpu_shape_of_output (w, 0, &out))
    return w->why;
  gpu_put (w, "function", "%s", "");
  gpu_put (w, "offsets", "%s", "");
  return gpu_write_each (w, "element", out.n);
}

/* -- what types say -- */

static const char *
emit_shape (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape in, out;
  gint64 start = ir_call_int (call, "start", 0);

  gpu_writer_init (&w, program, call, "shape");
  if (!gpu_shape_of_input (&w, 0, &in) || !gpu_shape_of_output (&w, 0, &out))
    return w.why;
  start = CLAMP (start < 0 ? start + in.rank : start, 0, in.rank);
  GString *value = g_string_new ("0");
  for (guint i = 0; i < out.n; i++)
    {
      g_autofree char *test = g_strdup_printf ("i == %u ? " I64 "ll : ", i, in.dims[start + i]);
      g_string_prepend (value, test);
    }
  gpu_put_text (&w, "value", g_string_free (value, FALSE));
  gpu_put_output (&w, "y", 0);
  return write_elements (&w);
}

static const char *
emit_size (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape in;

  gpu_writer_init (&w, program, call, "size");
  if (!gpu_shape_of_input (&w, 0, &in))
    return w.why;
  gpu_put_output (&w, "y", 0);
  gpu_put (&w, "value", I64 "ll", (gint64) in.n);
  return write_elements (&w);
}

/* The bits of the element that all are. */
static const char *
emit_constant_of_shape (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  const IrAttr *attr = ir_call_attr (call, "value");
  g_auto (GpuWriter) w;
  guint64 bits = 0;

  gpu_writer_init (&w, program, call, "constant_of_shape");
  if (!gpu_put_moved (&w, "y", IR_GPU_OUTPUT, 0))
    return w.why;
  if (attr != NULL && attr->kind == IR_ATTR_TENSOR && attr->n > 0)
    {
      g_autoptr (IrTensor) dense = ir_tensor_densify (attr->tensors[0], NULL);
      if (dense == NULL || ir_tensor_n_elements (dense) != 1 || ir_tensor_n_bytes (dense) > 8)
        return gpu_refuse (&w, "its value is not one element");
      memcpy (&bits, ir_tensor_data (dense), ir_tensor_n_bytes (dense));
    }
  gpu_put (&w, "value", "0x%" G_GINT64_MODIFIER "xull", bits);
  return write_elements (&w);
}

/* -- what places say -- */

static const char *
emit_range (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;

  gpu_writer_init (&w, program, call, "range");
  const GpuElement *e = gpu_put_input (&w, "start", 0);
  if (e == NULL || gpu_put_input (&w, "step", 2) != e || gpu_put_output (&w, "y", 0) != e)
    return gpu_refuse (&w, gpu_no_element);
  /* Rounded once, as the reference rounds. */
  gpu_put (&w, "type", "%s", gpu_is_real (e->compute) ? "double" : "k_u64");
  gpu_put (
      &w, "value",
      gpu_is_real (e->compute)
          ? "$store_y (($compute_y) (($type) $load_start (K_LOAD (start, 0)) + ($type) i * ($type) $load_step (K_LOAD (step, 0))))"
          : "($type_y) (($type) $load_start (K_LOAD (start, 0)) + ($type) i * ($type) $load_step (K_LOAD (step, 0)))");
  return write_elements (&w);
}

/* Whether the column is so far behind the row. */
static const char *
emit_eye_like (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape out;
  gint64 k = CLAMP (ir_call_int (call, "k", 0), -G_MAXINT64 / 2, G_MAXINT64 / 2);

  gpu_writer_init (&w, program, call, "eye_like");
  if (!gpu_shape_of_output (&w, 0, &out) || gpu_put_output (&w, "y", 0) == NULL || out.rank != 2)
    return gpu_refuse (&w, gpu_unknown_shape);
  gpu_put (&w, "value", "$store_y ((k_i64) (i %% " I64 ") - (k_i64) (i / " I64 ") == " I64 "ll)",
           MAX (out.dims[1], 1), MAX (out.dims[1], 1), k);
  return write_elements (&w);
}

static const char *
emit_trilu (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean upper = ir_call_int (call, "upper", 1) != 0, has_k = ir_call_has_input (call, 1);
  g_auto (GpuWriter) w;
  GpuShape out;

  gpu_writer_init (&w, program, call, "trilu");
  if (!gpu_shape_of_output (&w, 0, &out) || out.rank < 2)
    return gpu_refuse (&w, gpu_unknown_shape);
  gpu_put_moved (&w, "x", IR_GPU_INPUT, 0);
  if (has_k)
    gpu_put_input (&w, "k", 1);
  gpu_put_moved (&w, "y", IR_GPU_OUTPUT, 0);
  gint64 rows = MAX (out.dims[out.rank - 2], 1), columns = MAX (out.dims[out.rank - 1], 1);
  gpu_put (&w, "value",
           "(k_i64) (i %% " I64 ") - (k_i64) (i / " I64 " %% " I64 ") %s %s ? K_LOAD (x, i) : 0",
           columns, columns, rows, upper ? ">=" : "<=", has_k ? "K_LOAD (k, 0)" : "0");
  return write_elements (&w);
}

static const char *
emit_one_hot (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gint64 axis = ir_call_int (call, "axis", -1), inner = 1;
  g_auto (GpuWriter) w;
  GpuShape out;

  gpu_writer_init (&w, program, call, "one_hot");
  if (!gpu_shape_of_output (&w, 0, &out))
    return w.why;
  axis += axis < 0 ? out.rank : 0;
  for (guint i = (guint) axis + 1; i < out.rank; i++)
    inner *= out.dims[i];
  gpu_put_input (&w, "indices", 0);
  gpu_put_moved (&w, "values", IR_GPU_INPUT, 2);
  gpu_put_moved (&w, "y", IR_GPU_OUTPUT, 0);
  gint64 depth = MAX (out.dims[axis], 1);
  inner = MAX (inner, 1);
  gpu_put (&w, "index_there",
           "(k_i64) $load_indices (K_LOAD (indices, i / " I64 " * " I64 " + i %% " I64 "))",
           inner * depth, inner, inner);
  gpu_put (&w, "place", "(k_i64) (i / " I64 " %% " I64 ")", inner, depth);
  gpu_put (&w, "value",
           "K_LOAD (values, $index_there == $place || $index_there == $place - " I64 ")", depth);
  return write_elements (&w);
}

/* A factor for all, and an addend for each channel. */
static const char *
emit_image_scaler (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  const IrAttr *bias = ir_call_attr (call, "bias");
  g_auto (GpuWriter) w;
  GpuShape x;

  gpu_writer_init (&w, program, call, "image_scaler");
  const GpuElement *e = gpu_put_input (&w, "x", 0);
  if (e == NULL || !gpu_is_real (e->compute) || !gpu_shape_of_input (&w, 0, &x) || x.rank != 4)
    return gpu_refuse (&w, gpu_no_element);
  if (bias == NULL || bias->kind != IR_ATTR_FLOATS || bias->n != x.dims[1] || bias->n > 64)
    return gpu_refuse (&w, "it has not one bias for each channel, or more than 64");
  gpu_put_output (&w, "y", 0);
  GString *addend = g_string_new ("0");
  for (guint c = 0; c < bias->n; c++)
    {
      g_autofree char *number = gpu_number ((double) bias->floats[c],
                                            g_str_equal (e->compute, "double"));
      g_autofree char *test = g_strdup_printf ("$channel == %u ? %s : ", c, number);
      g_string_prepend (addend, test);
    }
  gpu_put (&w, "channel", "(i / " I64 " %% " I64 ")", MAX (x.dims[2] * x.dims[3], 1),
           MAX (x.dims[1], 1));
  gpu_put_number (&w, "scale", ir_call_float (call, "scale", 1), e->compute);
  gpu_put_text (&w, "addend", g_string_free (addend, FALSE));
  gpu_put (&w, "scaled", "$load_x ($store_x ($scale * $load_x (K_LOAD (x, i))))");
  gpu_put (&w, "value", "$store_y ($scaled + $load_x ($store_x ($addend)))");
  return write_elements (&w);
}

/* What stays of elements when nothing is dropped: all of them. */
const char *
gpu_write_kept (IrGpuProgram *program, IrCall *call, guint slot)
{
  g_auto (GpuWriter) w;
  GpuShape out;

  gpu_writer_init (&w, program, call, "kept");
  if (!gpu_shape_of_output (&w, slot, &out))
    return w.why;
  gpu_put_output (&w, "y", slot);
  gpu_put (&w, "function", "%s", "");
  gpu_put (&w, "offsets", "%s", "");
  gpu_put (&w, "value", "1");
  return gpu_write_each (&w, "element", out.n);
}

const IrGpuKernel gpu_shape_row = { "shape", emit_shape };
const IrGpuKernel gpu_size = { "size", emit_size };
const IrGpuKernel gpu_constant_of_shape = { "constant-of-shape", emit_constant_of_shape };
const IrGpuKernel gpu_range = { "range", emit_range };
const IrGpuKernel gpu_eye_like = { "eye-like", emit_eye_like };
const IrGpuKernel gpu_trilu = { "trilu", emit_trilu };
const IrGpuKernel gpu_one_hot = { "one-hot", emit_one_hot };
const IrGpuKernel gpu_image_scaler = { "image-scaler", emit_image_scaler };
