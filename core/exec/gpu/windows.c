/* The loops over a window are written for its number of axes; each visits only what lies inside. */
#include "config.h"

#include "core/exec/gpu/windows.h"

#define I64 "%" G_GINT64_FORMAT

gboolean
gpu_windows_check (GpuWriter *w, const IrWindow *window)
{
  for (guint i = 0; i < window->n_axes; i++)
    if (!ir_dim_is_known (window->kernel[i]) || !ir_dim_is_known (window->in[i]) ||
        !ir_dim_is_known (window->out[i]))
      gpu_refuse (w, gpu_unknown_shape);
  return w->why == NULL;
}

gint64
gpu_windows_product (const IrDim *sizes, guint n)
{
  gint64 product = 1;

  for (guint i = 0; i < n; i++)
    product *= sizes[i];
  return product;
}

char *
gpu_windows_place (const IrWindow *window, char letter, const IrDim *sizes)
{
  GString *text = g_string_new ("0");

  for (guint i = 0; i < window->n_axes; i++)
    {
      g_string_prepend_c (text, '(');
      g_string_append_printf (text, ") * " I64 " + %c%u", sizes[i], letter, i);
    }
  g_string_prepend_c (text, '(');
  g_string_append_c (text, ')');
  return g_string_free (text, FALSE);
}

static void
put_digits (GpuWriter *w, const IrWindow *window, gint64 channels, gboolean transposed)
{
  GString *text = g_string_new ("  $index r = i;\n");

  for (guint i = window->n_axes; i-- > 0;)
    {
      gint64 step = transposed ? 1 : window->stride[i];
      gint64 shift = transposed ? window->pad_begin[i] : -window->pad_begin[i];
      g_string_append_printf (
          text, "  k_i64 p%u = (k_i64) (r %% " I64 ") * " I64 " + (" I64 ");\n  r /= " I64 ";\n", i,
          window->out[i], step, shift, window->out[i]);
    }
  g_string_append_printf (text, "  $index c = r %% " I64 ", b = r / " I64 ";", channels, channels);
  gpu_put_text (w, "digits", g_string_free (text, FALSE));
}

static void
put_loops (GpuWriter *w, const IrWindow *window, gboolean transposed)
{
  GString *text = g_string_new (NULL), *closings = g_string_new (NULL);

  for (guint i = 0; i < window->n_axes; i++)
    {
      g_string_append_printf (text, "  for (k_i64 q%u = 0; q%u < " I64 "; q%u++)\n    {\n", i, i,
                              window->kernel[i], i);
      if (transposed)
        g_string_append_printf (text,
                                "      k_i64 u%u = p%u - q%u * " I64 ", a%u = u%u / " I64 ";\n"
                                "      if (u%u < 0 || u%u %% " I64 " != 0 || a%u >= " I64 ")\n"
                                "        continue;\n",
                                i, i, i, window->dilation[i], i, i, window->stride[i], i, i,
                                window->stride[i], i, window->in[i]);
      else
        g_string_append_printf (text,
                                "      k_i64 a%u = p%u + q%u * " I64 ";\n"
                                "      if (a%u < 0 || a%u >= " I64 ")\n        continue;\n",
                                i, i, i, window->dilation[i], i, i, window->in[i]);
      g_string_append (closings, "    }\n");
    }
  gpu_put_text (w, "loops", g_string_free (text, FALSE));
  gpu_put_text (w, "closings", g_string_free (closings, FALSE));
}

void
gpu_windows_put (GpuWriter *w, const IrWindow *window, gint64 channels, gboolean transposed)
{
  put_digits (w, window, channels, transposed);
  put_loops (w, window, transposed);
  gpu_put_text (w, "place", gpu_windows_place (window, 'a', window->in));
  gpu_put_text (w, "tap", gpu_windows_place (window, 'q', window->kernel));
}
