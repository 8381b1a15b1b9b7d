/* Poolings by windows, directly: a thread for each element of the result visits its window. */
#include "config.h"

#include "core/exec/gpu/windows.h"

#define I64 "%" G_GINT64_FORMAT

/* What is kept of a window: expressions of what came before, s, and an element, v. */
typedef struct
{
  const char *start, *visit, *finish;
} Pooling;

/* How many places of the window lie inside of the padded input, as a product over the axes. */
static char *
padded_text (const IrWindow *window)
{
  GString *text = g_string_new ("  k_i64 padded = 1;\n");

  for (guint i = 0; i < window->n_axes; i++)
    {
      gint64 end = window->in[i] + window->pad_end[i];
      g_string_append_printf (text,
                              "  {\n    k_i64 last = p%u < " I64 " ? (" I64 " - p%u) / " I64
                              " + 1 : 0;\n    padded *= last < " I64 " ? last : " I64 ";\n  }\n",
                              i, end, end - 1, i, window->dilation[i], window->kernel[i],
                              window->kernel[i]);
    }
  return g_string_free (text, FALSE);
}

/* The index of place @at of a plane where the axes count in reverse. */
static char *
reversed_text (const IrWindow *window)
{
  GString *text = g_string_new ("0");
  gint64 step = gpu_windows_product (window->in, window->n_axes);

  for (guint i = 0; i < window->n_axes; i++)
    {
      step /= window->in[i];
      g_string_append_printf (text, " + at / " I64 " %% " I64 " * " I64, step, window->in[i],
                              gpu_windows_product (window->in, i));
    }
  return g_string_free (text, FALSE);
}

static const char *
add_pool (IrCall *call, IrGpuProgram *program, const char *family, const Pooling *pooling)
{
  g_auto (GpuWriter) w;
  IrWindow window;
  GpuShape in, out;

  gpu_writer_init (&w, program, call, family);
  if (!ir_window_of_pool (&window, call, NULL))
    return gpu_refuse (&w, gpu_unknown_shape);
  const GpuElement *e = gpu_put_input (&w, "x", 0);
  if (e == NULL || !gpu_shape_of_input (&w, 0, &in) || !gpu_shape_of_output (&w, 0, &out) ||
      !gpu_windows_check (&w, &window))
    return w.why;
  if (!gpu_is_real (e->compute) && pooling->start != NULL)
    return gpu_refuse (&w, gpu_no_element);
  gpu_put_output (&w, "y", 0);
  gpu_put (&w, "keep", "%s", "");
  if (call->n_outputs > 1 && call->outputs[1].present)
    {
      gpu_put_output (&w, "indices", 1);
      gpu_put_text (&w, "reversed", reversed_text (&window));
      gpu_put (&w, "keep", "  K_STORE (indices, i, plane * $plane + %s);\n",
               ir_call_int (call, "storage_order", 0) == 0 ? "at" : "$reversed");
    }
  gpu_windows_put (&w, &window, out.dims[1], FALSE);
  gpu_put_text (&w, "padded", padded_text (&window));
  gpu_put_int (&w, "plane", gpu_windows_product (window.in, window.n_axes));
  gpu_put_int (&w, "channels", out.dims[1]);
  gpu_put (&w, "f", "%s", g_str_equal (e->compute, "double") ? "" : "f");
  gpu_put_number (&w, "p", (double) ir_call_int (call, "p", 2), e->compute);
  if (pooling->start != NULL)
    {
      gpu_put (&w, "start", "%s", pooling->start);
      gpu_put (&w, "visit", "%s", pooling->visit);
      gpu_put (&w, "result", "%s", pooling->finish);
    }
  else
    gpu_put_expression (&w, "start", e->compute, "lowest");
  return gpu_write_each (&w, pooling->start != NULL ? "pool" : "max-pool", out.n);
}

static const char *
emit_max_pool (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const Pooling largest = { NULL };

  return add_pool (call, program, "max_pool", &largest);
}

static const char *
emit_average_pool (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const Pooling mean = { "0", "v", "s / ($compute_x) visited" };
  static const Pooling padded_mean = { "0", "v", "s / ($compute_x) padded" };

  return add_pool (call, program, "average_pool",
                   ir_call_int (call, "count_include_pad", 0) != 0 ? &padded_mean : &mean);
}

static const char *
emit_lp_pool (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const Pooling squares = { "0", "v * v", "sqrt$f (s)" };
  static const Pooling magnitudes = { "0", "fabs$f (v)", "s" };
  static const Pooling powers = { "0", "pow$f (fabs$f (v), $p)", "pow$f (s, 1 / $p)" };
  gint64 p = ir_call_int (call, "p", 2);

  return add_pool (call, program, "lp_pool", p == 1 ? &magnitudes : p == 2 ? &squares : &powers);
}

const IrGpuKernel gpu_max_pool = { "max-pool", emit_max_pool };
const IrGpuKernel gpu_average_pool = { "average-pool", emit_average_pool };
const IrGpuKernel gpu_lp_pool = { "lp-pool", emit_lp_pool };
