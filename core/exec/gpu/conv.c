/* Convolutions, directly: of real numbers with what fused operators do behind them, transposed, of whole
 * numbers; and the derivative by the kernel. */
#include "config.h"

#include "core/exec/gpu/blas.h"
#include "core/exec/gpu/quantize.h"
#include "core/exec/gpu/windows.h"

#define I64 "%" G_GINT64_FORMAT

/* Puts what all of them share, of a call whose kernel is input 1. */
static gboolean
put_conv (GpuWriter *w, const IrCall *call, const IrWindow *window, gboolean transposed)
{
  const IrType *x = ir_call_input_type (call, 0), *kernel = ir_call_input_type (call, 1);
  gint64 groups = ir_call_int (call, "group", 1), inputs, outputs;

  if (!gpu_windows_check (w, window) || !ir_type_is_static (x) || !ir_type_is_static (kernel) ||
      groups <= 0)
    {
      gpu_refuse (w, gpu_unknown_shape);
      return FALSE;
    }
  inputs = transposed ? kernel->dims[0] / groups : kernel->dims[1];
  outputs = transposed ? kernel->dims[1] : kernel->dims[0] / groups;
  gpu_put_extent (w, ir_type_count (x));
  gpu_put_extent (w, ir_type_count (kernel));
  gpu_windows_put (w, window, outputs * groups, transposed);
  gpu_put_int (w, "groups", groups);
  gpu_put_int (w, "channels", inputs);
  gpu_put_int (w, "group_channels", MAX (outputs, 1));
  gpu_put_int (w, "plane", gpu_windows_product (window->in, window->n_axes));
  gpu_put_int (w, "taps", gpu_windows_product (window->kernel, window->n_axes));
  if (transposed)
    gpu_put (w, "weight", "(((k_i64) g * " I64 " + k) * " I64 " + m)", inputs, outputs);
  else
    gpu_put (w, "weight", "((k_i64) c * " I64 " + k)", inputs);
  return TRUE;
}

static gboolean
is_point (const IrWindow *window)
{
  for (guint i = 0; i < window->n_axes; i++)
    if (window->kernel[i] != 1 || window->stride[i] != 1 || window->pad_begin[i] != 0 ||
        window->out[i] != window->in[i])
      return FALSE;
  return TRUE;
}

/* One of a point is a product for each sample, its kernel on the left, which cuBLAS may compute instead of the
 * kernel that was written. */
static const char *
offer_product (GpuWriter *w, const char *why, const IrWindow *window, const GpuShape *out)
{
  const IrCall *call = w->call;
  const gint64 *kernel = ir_call_input_type (call, 1)->dims;
  gint64 plane = gpu_windows_product (window->out, window->n_axes);
  IrGpuProduct product = { .dtype = ir_call_input_dtype (call, 0),
                           .m = kernel[0],
                           .n = plane,
                           .k = kernel[1],
                           .batch = out->dims[0],
                           .stride_b = kernel[1] * plane,
                           .alpha = 1,
                           .a = 1,
                           .b = 0,
                           .bias = -1 };
  const GpuChannels channels = { 2, plane, kernel[0] };
  gboolean biased = ir_call_has_input (call, 2);
  IrGpuLaunch *launch;

  if (why != NULL || out->n == 0 || ir_call_int (call, "group", 1) != 1 || !is_point (window) ||
      !gpu_blas_has (&product))
    return why;
  launch = w->program->launches->pdata[w->program->launches->len - 1];
  if (biased || call->op->addend != 0 || call->op->activation != IR_ACTIVATION_NONE)
    {
      launch->finish = gpu_write_finish (call, biased ? &channels : NULL);
      if (launch->finish == NULL)
        return NULL;
    }
  launch->product = g_memdup2 (&product, sizeof product);
  return NULL;
}

static const char *
emit_real (IrCall *call, IrGpuProgram *program, gboolean transposed)
{
  g_auto (GpuWriter) w;
  IrWindow window;
  GpuShape out;

  gpu_writer_init (&w, program, call, transposed ? "conv_transpose" : "conv");
  if (!(transposed ? ir_window_of_conv_transpose : ir_window_of_conv) (&window, call, NULL) ||
      !gpu_shape_of_output (&w, 0, &out))
    return gpu_refuse (&w, gpu_unknown_shape);
  const GpuElement *e = gpu_put_input (&w, "x", 0);
  if (e == NULL || !gpu_is_real (e->compute))
    return gpu_refuse (&w, gpu_no_element);
  gboolean same = gpu_put_input (&w, "w", 1) == e;
  if (ir_call_has_input (call, 2))
    same &= gpu_put_input (&w, "bias", 2) == e;
  if (!same)
    return gpu_refuse (&w, "its inputs are of different types");
  if (!put_conv (&w, call, &window, transposed))
    return w.why;
  const gint64 *kernel = ir_call_input_type (call, 1)->dims;
  gint64 groups = ir_call_int (call, "group", 1);
  gpu_put (&w, "sum", "%s", e->compute);
  gpu_put (&w, "minus_x", "%s", "");
  gpu_put (&w, "minus_w", "%s", "");
  gpu_put_epilogue (&w, &out, e);
  gpu_put_output (&w, "y", 0);
  gboolean biased = ir_call_has_input (call, 2);
  gpu_put (&w, "bias", "%s", biased ? "$load_bias (K_LOAD (bias, c))" : "0");
  gpu_put (&w, "plus", "%s", biased ? " + plus" : "");
  if (!transposed && gpu_conv_tiles_fit (e, &window, kernel[1], kernel[0] / groups))
    return offer_product (&w,
                          gpu_conv_tiles_write (&w, &window, (gint64) out.dims[0], groups,
                                                kernel[1], kernel[0] / groups),
                          &window, &out);
  gpu_put (&w, "finish", "  K_STORE (y, i, %s (e_$name (s%s, i$arguments)));\n", e->store,
           biased ? " + $bias" : "");
  const char *why = gpu_write_each (&w, "conv", out.n);
  return transposed ? why : offer_product (&w, why, &window, &out);
}

static const char *
emit_conv (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_real (call, program, FALSE);
}

static const char *
emit_conv_transpose (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_real (call, program, TRUE);
}

/* -- of whole numbers -- */

/* ", NUMBER": element c of an input with one number, or one for each channel. */
static void
put_number (GpuWriter *w, const char *word, const char *before, const char *name, guint slot)
{
  if (!ir_call_has_input (w->call, slot))
    {
      gpu_put (w, word, "%s", "");
      return;
    }
  guint64 n = ir_type_count (ir_call_input_type (w->call, slot));
  const GpuElement *element = gpu_put_input (w, name, slot);
  if (element != NULL)
    gpu_put (w, word, "%s%s%s (K_LOAD (%s, %s))", before,
             gpu_is_real (element->compute) ? "" : "(k_i64) ", element->load, name,
             n == 1 ? "0" : "c");
}

static gboolean
is_small (const GpuElement *element)
{
  return element != NULL && !gpu_is_real (element->compute) && ir_dtype_bits (element->dtype) <= 16;
}

static const char *
emit_conv_integer (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  IrWindow window;
  GpuShape out;

  gpu_writer_init (&w, program, call, "conv_integer");
  if (!ir_window_of_conv (&window, call, NULL) || !gpu_shape_of_output (&w, 0, &out))
    return gpu_refuse (&w, gpu_unknown_shape);
  if (!is_small (gpu_put_input (&w, "x", 0)) || !is_small (gpu_put_input (&w, "w", 1)))
    return gpu_refuse (&w, gpu_no_element);
  if (!put_conv (&w, call, &window, FALSE))
    return w.why;
  gpu_put (&w, "sum", "k_i64");
  gpu_put (&w, "finishing", "%s", "");
  put_number (&w, "minus_x", " - ", "x_zero", 2);
  put_number (&w, "minus_w", " - ", "w_zero", 3);
  gpu_put_output (&w, "y", 0);
  gpu_put (&w, "finish", "  K_STORE (y, i, (int) s);\n");
  return gpu_write_each (&w, "conv", out.n);
}

static const char *
emit_q_linear_conv (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  IrCallInput inputs[3];
  IrCall view;
  IrWindow window;
  GpuShape out;

  gpu_writer_init (&w, program, call, "q_linear_conv");
  ir_call_as_conv (call, 3, 8, inputs, &view);
  if (!ir_window_of_conv (&window, &view, NULL) || !gpu_shape_of_output (&w, 0, &out))
    return gpu_refuse (&w, gpu_unknown_shape);
  if (!is_small (gpu_put_input (&w, "x", 0)) || !is_small (gpu_put_input (&w, "w", 3)))
    return gpu_refuse (&w, gpu_no_element);
  if (!put_conv (&w, &view, &window, FALSE))
    return w.why;
  gpu_put (&w, "sum", "k_i64");
  put_number (&w, "minus_x", " - ", "x_zero", 2);
  put_number (&w, "minus_w", " - ", "w_zero", 5);
  put_number (&w, "plus", " + ", "bias", 8);
  put_number (&w, "x_scale", "", "xs", 1);
  put_number (&w, "w_scale", "", "ws", 4);
  put_number (&w, "y_scale", "", "ys", 6);
  put_number (&w, "y_zero", "", "yz", 7);
  const GpuElement *e = gpu_put_output (&w, "y", 0);
  if (!is_small (e))
    return gpu_refuse (&w, gpu_no_element);
  gpu_put_quantize (&w, "finishing", e->dtype);
  gpu_put (&w, "finish",
           "  float scaled = (float) (s$plus) * ($x_scale * $w_scale / $y_scale);\n"
           "  K_STORE (y, i, (%s) q_$name (scaled, $y_zero));\n",
           e->storage);
  return gpu_write_each (&w, "conv", out.n);
}

/* -- by the kernel -- */

/* Splits the element of the kernel, r, into its taps, and a place of the result, q, into where the kernel
 * stood and what of the input was under the tap. */
static void
put_places (GpuWriter *w, const IrWindow *window)
{
  GString *taps = g_string_new (NULL), *places = g_string_new (NULL);

  for (guint i = window->n_axes; i-- > 0;)
    {
      g_string_append_printf (taps, "  k_i64 q%u = (k_i64) (r %% " I64 ");\n  r /= " I64 ";\n", i,
                              window->kernel[i], window->kernel[i]);
      g_string_append_printf (places,
                              "      k_i64 d%u = (k_i64) (q %% " I64 ");\n      q /= " I64 ";\n"
                              "      k_i64 a%u = d%u * " I64 " + q%u * " I64 " - (" I64 ");\n"
                              "      inside = inside && a%u >= 0 && a%u < " I64 ";\n",
                              i, window->out[i], window->out[i], i, i, window->stride[i], i,
                              window->dilation[i], window->pad_begin[i], i, i, window->in[i]);
    }
  gpu_put_text (w, "taps", g_string_free (taps, FALSE));
  gpu_put_text (w, "places", g_string_free (places, FALSE));
  gpu_put_text (w, "place", gpu_windows_place (window, 'a', window->in));
  gpu_put_text (w, "spot", gpu_windows_place (window, 'd', window->out));
}

/* The window of the convolution whose kernel is derived by: the kernel is the result. */
static gboolean
window_of_weight (GpuWriter *w, const GpuShape *x, const GpuShape *d, IrWindow *window)
{
  guint n_axes = x->rank - 2, n;
  const gint64 *kernel = ir_call_ints (w->call, "kernel_shape", &n);

  if (x->rank < 3 || d->rank != x->rank || kernel == NULL || n != n_axes ||
      n_axes > IR_WINDOW_MAX_AXES ||
      !ir_window_init (window, w->call, n_axes, x->dims + 2, kernel, NULL))
    gpu_refuse (w, "its shapes do not fit");
  else
    for (guint i = 0; i < n_axes; i++)
      window->out[i] = d->dims[2 + i];
  return w->why == NULL && gpu_windows_check (w, window);
}

static const char *
emit_conv_weight (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape x, d, out;
  IrWindow window;
  gint64 groups = ir_call_int (call, "group", 1);

  gpu_writer_init (&w, program, call, "conv_weight");
  const GpuElement *e = gpu_put_input (&w, "x", 0);
  if (e == NULL || !gpu_is_real (e->compute) || gpu_put_input (&w, "d", 1) != e ||
      gpu_put_output (&w, "y", 0) != e)
    return gpu_refuse (&w, gpu_no_element);
  if (!gpu_shape_of_input (&w, 0, &x) || !gpu_shape_of_input (&w, 1, &d) ||
      !gpu_shape_of_output (&w, 0, &out) || !window_of_weight (&w, &x, &d, &window))
    return w.why;
  gint64 out_plane = gpu_windows_product (window.out, window.n_axes);
  put_places (&w, &window);
  gpu_put_int (&w, "channels", MAX (out.dims[1], 1));
  gpu_put_int (&w, "group_channels", MAX (out.dims[0] / MAX (groups, 1), 1));
  gpu_put_int (&w, "x_channels", x.dims[1]);
  gpu_put_int (&w, "y_channels", d.dims[1]);
  gpu_put_int (&w, "plane", gpu_windows_product (window.in, window.n_axes));
  gpu_put_int (&w, "out_plane", out_plane);
  gpu_put (&w, "f", "%s", g_str_equal (e->compute, "double") ? "" : "f");
  return gpu_write_rows (&w, "conv-weight", out.n, (guint64) (x.dims[0] * out_plane));
}

const IrGpuKernel gpu_conv = { "conv", emit_conv };
const IrGpuKernel gpu_conv_transpose = { "conv-transpose", emit_conv_transpose };
const IrGpuKernel gpu_conv_integer = { "conv-integer", emit_conv_integer };
const IrGpuKernel gpu_q_linear_conv = { "q-linear-conv", emit_q_linear_conv };
const IrGpuKernel gpu_conv_weight = { "conv-weight", emit_conv_weight };
