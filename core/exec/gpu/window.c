/* Sliding windows, directly: Conv, MaxPool, AveragePool. The loops over the window are written for its
 * number of axes; each visits only what lies inside of the input. */
#include "config.h"

#include "core/exec/gpu/emit.h"
#include "core/op/infer-window.h"

typedef struct
{
  const GpuElement *element;
  IrWindow window;
  GpuShape in, out;
  const char *index, *suffix, *f;
} Windows;

static const char *
read_windows (Windows *w, const IrCall *call)
{
  if (!gpu_shape (ir_call_input_type (call, 0), &w->in) ||
      !gpu_shape (call->outputs[0].type, &w->out))
    return "a shape is not known before the run";
  w->element = gpu_element (ir_call_input_dtype (call, 0));
  if (w->element == NULL || !gpu_is_real (w->element->compute))
    return "no GPU kernel takes its element type";
  w->index = MAX (w->in.n, w->out.n) <= G_MAXINT32 ? "unsigned int" : "unsigned long long";
  w->suffix = w->index[9] == 'l' ? "ull" : "u";
  w->f = g_str_equal (w->element->compute, "double") ? "" : "f";
  for (guint i = 0; i < w->window.n_axes; i++)
    if (!ir_dim_is_known (w->window.kernel[i]) || !ir_dim_is_known (w->window.in[i]))
      return "a shape is not known before the run";
  return NULL;
}

/* Splits i into batch, channel c and place d of the result, and begins each window at p. */
static char *
digits_text (const Windows *w)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "  %s r = i;\n", w->index);
  for (guint i = w->window.n_axes; i-- > 0;)
    g_string_append_printf (text,
                            "  k_i64 p%u = (k_i64) (r %% %" G_GINT64_FORMAT
                            "%s) * %" G_GINT64_FORMAT "ll - (%" G_GINT64_FORMAT
                            "ll);\n  r /= %" G_GINT64_FORMAT "%s;\n",
                            i, w->window.out[i], w->suffix, w->window.stride[i],
                            w->window.pad_begin[i], w->window.out[i], w->suffix);
  g_string_append_printf (text,
                          "  %s c = r %% %" G_GINT64_FORMAT "%s, b = r / %" G_GINT64_FORMAT "%s;\n",
                          w->index, w->out.dims[1], w->suffix, w->out.dims[1], w->suffix);
  return g_string_free (text, FALSE);
}

/* Loops over tap q of each axis, at place a of the input, with what is inside alone. */
static char *
loops_text (const Windows *w)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < w->window.n_axes; i++)
    g_string_append_printf (
        text,
        "  for (k_i64 q%u = 0; q%u < %" G_GINT64_FORMAT "ll; q%u++)\n    {\n"
        "      k_i64 a%u = p%u + q%u * %" G_GINT64_FORMAT "ll;\n"
        "      if (a%u < 0 || a%u >= %" G_GINT64_FORMAT "ll)\n        continue;\n",
        i, i, w->window.kernel[i], i, i, i, i, w->window.dilation[i], i, i, w->window.in[i]);
  return g_string_free (text, FALSE);
}

/* The place in a plane of @sizes by the letters @letter. */
static char *
place_text (const Windows *w, char letter, const IrDim *sizes)
{
  GString *text = g_string_new ("0");

  for (guint i = 0; i < w->window.n_axes; i++)
    {
      g_string_prepend_c (text, '(');
      g_string_append_printf (text, ") * %" G_GINT64_FORMAT "ll + %c%u", sizes[i], letter, i);
    }
  return g_string_free (text, FALSE);
}

static gint64
product_of (const IrDim *sizes, guint n)
{
  gint64 product = 1;

  for (guint i = 0; i < n; i++)
    product *= sizes[i];
  return product;
}

static IrGpuLaunch *
add_windows (const Windows *w,
             IrGpuProgram *program,
             const char *family,
             const char *parameters,
             const char *start,
             const char *visit,
             const char *finish)
{
  guint64 blocks = gpu_blocks (w->out.n, GPU_THREADS);
  g_autofree char *digits = digits_text (w);
  g_autofree char *loops = loops_text (w);
  g_autofree char *n = g_strdup_printf ("%" G_GUINT64_FORMAT "%s", w->out.n, w->suffix);
  GString *closings = g_string_new (NULL);
  IrGpuLaunch *launch;

  for (guint i = 0; i < w->window.n_axes; i++)
    g_string_append (closings, "    }\n");
  launch = gpu_launch (program, family,
                       gpu_fill ("window", "parameters", parameters, "index", w->index, "threads",
                                 G_STRINGIFY (GPU_THREADS) "u", "compute", w->element->compute,
                                 "start", start, "n", n, "digits", digits, "loops", loops, "visit",
                                 visit, "closings", closings->str, "finish", finish, NULL),
                       blocks, GPU_THREADS);
  g_string_free (closings, TRUE);
  return launch;
}

static const char *
emit_conv (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean has_bias = ir_call_has_input (call, 2);
  GpuShape weights;
  Windows w;
  IrGpuLaunch *launch;

  if (!gpu_shape (ir_call_input_type (call, 1), &weights) ||
      !ir_window_of_conv (&w.window, call, NULL))
    return "a shape is not known before the run";
  const char *why = read_windows (&w, call);
  if (why != NULL || w.out.n == 0)
    return why;
  if (gpu_element (ir_call_input_dtype (call, 1)) != w.element ||
      (has_bias && gpu_element (ir_call_input_dtype (call, 2)) != w.element))
    return "its inputs are of different types";
  if (gpu_blocks (w.out.n, GPU_THREADS) == 0)
    return "it has more elements than a launch has threads";
  const GpuElement *e = w.element;
  gint64 group = ir_call_int (call, "group", 1), channels = weights.dims[1];
  gint64 plane = product_of (w.window.in, w.window.n_axes),
         taps = product_of (w.window.kernel, w.window.n_axes);
  g_autofree char *at = place_text (&w, 'a', w.window.in);
  g_autofree char *tap = place_text (&w, 'q', w.window.kernel);
  g_autofree char *parameters = g_strdup_printf (
      "const %s *x, const %s *w, %s%s%s%s *y", e->storage, e->storage, has_bias ? "const " : "",
      has_bias ? e->storage : "", has_bias ? " *bias, " : "", e->storage);
  g_autofree char *visit = g_strdup_printf (
      "      for (k_i64 k = 0; k < %" G_GINT64_FORMAT "ll; k++)\n"
      "        s += %s (K_LOAD (x, ((k_i64) b * %" G_GINT64_FORMAT
      "ll + (k_i64) (c / %" G_GINT64_FORMAT "%s) * %" G_GINT64_FORMAT "ll + k) * %" G_GINT64_FORMAT
      "ll + %s))\n"
      "             * %s (K_LOAD (w, ((k_i64) c * %" G_GINT64_FORMAT "ll + k) * %" G_GINT64_FORMAT
      "ll + %s));\n",
      channels, e->load, w.in.dims[1], MAX (w.out.dims[1] / MAX (group, 1), 1), w.suffix, channels,
      plane, at, e->load, channels, taps, tap);
  g_autofree char *bias = has_bias ? g_strdup_printf (" + %s (K_LOAD (bias, c))", e->load)
                                   : g_strdup ("");
  g_autofree char *finish = g_strdup_printf ("  K_STORE (y, i, %s (s%s));\n", e->store, bias);

  launch = add_windows (&w, program, "conv", parameters, "0", visit, finish);
  for (guint slot = 0; slot < 2 + (guint) has_bias; slot++)
    gpu_launch_arg (launch, IR_GPU_INPUT, slot);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, 0);
  return NULL;
}

/* How many places of the window lie inside of the padded input, as a product over the axes. */
static char *
padded_text (const Windows *w)
{
  GString *text = g_string_new ("  k_i64 padded = 1;\n");

  for (guint i = 0; i < w->window.n_axes; i++)
    {
      gint64 end = w->window.in[i] + w->window.pad_end[i], dilation = w->window.dilation[i];
      g_string_append_printf (
          text,
          "  {\n    k_i64 last = p%u < %" G_GINT64_FORMAT "ll ? (%" G_GINT64_FORMAT
          "ll - p%u) / %" G_GINT64_FORMAT "ll + 1 : 0;\n    padded *= last < %" G_GINT64_FORMAT
          "ll ? last : %" G_GINT64_FORMAT "ll;\n  }\n",
          i, end, end - 1, i, dilation, w->window.kernel[i], w->window.kernel[i]);
    }
  return g_string_free (text, FALSE);
}

static const char *
emit_pool (IrCall *call, IrGpuProgram *program, gboolean is_max)
{
  Windows w;
  IrGpuLaunch *launch;

  if (!ir_window_of_pool (&w.window, call, NULL))
    return "a shape is not known before the run";
  const char *why = read_windows (&w, call);
  if (why != NULL || w.out.n == 0)
    return why;
  if (call->n_outputs > 1 && call->outputs[1].present)
    return "no GPU kernel gives the indices";
  if (gpu_blocks (w.out.n, GPU_THREADS) == 0)
    return "it has more elements than a launch has threads";
  const GpuElement *e = w.element;
  gint64 plane = product_of (w.window.in, w.window.n_axes);
  gboolean with_padding = ir_call_int (call, "count_include_pad", 0) != 0;
  g_autofree char *at = place_text (&w, 'a', w.window.in);
  g_autofree char *parameters = g_strdup_printf ("const %s *x, %s *y", e->storage, e->storage);
  g_autofree char *value = g_strdup_printf (
      "%s (K_LOAD (x, (k_i64) (r) * %" G_GINT64_FORMAT "ll + %s))", e->load, plane, at);
  g_autofree char *visit = is_max ? g_strdup_printf ("      s = k_max%s (s, %s);\n", w.f, value)
                                  : g_strdup_printf ("      s += %s;\n      inside++;\n", value);
  g_autofree char *padded = padded_text (&w);
  g_autofree char *finish = is_max ? g_strdup_printf ("  K_STORE (y, i, %s (s));\n", e->store)
                                   : g_strdup_printf (
                                         "%s  K_STORE (y, i, %s (%s > 0 ? s / (%s) %s : 0));\n",
                                         with_padding ? padded : "", e->store,
                                         with_padding ? "padded" : "inside", e->compute,
                                         with_padding ? "padded" : "inside");

  launch = add_windows (&w, program, is_max ? "max_pool" : "average_pool", parameters,
                        is_max ? "-K_INFINITY" : "0, inside = 0", visit, finish);
  gpu_launch_arg (launch, IR_GPU_INPUT, 0);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, 0);
  return NULL;
}

static const char *
emit_max_pool (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_pool (call, program, TRUE);
}

static const char *
emit_average_pool (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_pool (call, program, FALSE);
}

const IrGpuKernel gpu_conv = { "conv", emit_conv };
const IrGpuKernel gpu_max_pool = { "max-pool", emit_max_pool };
const IrGpuKernel gpu_average_pool = { "average-pool", emit_average_pool };
