/* The optimizers of ai.onnx.preview.training: a launch for each variable, with its gradient and its states. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-util.h"

#define FIRST 2 /* R and T come before the variables */

/* Text of one element: x, gradient g, states v and h; r is the rate. */
typedef struct
{
  guint n_in; /* X, G and states */
  const char *rate;
  const char *state, *other; /* (nullable) what the states become: new_v, new_h */
  const char *result;        /* what x becomes */
} Step;

/* Inputs of variable @k of @n, and its outputs, as far as they are wanted. */
static const GpuElement *
put_variable (GpuWriter *w, guint k, guint n, const Step *step)
{
  static const char *const ins[] = { "x", "g", "v", "h" }, *const outs[] = { "y", "nv", "nh" };
  static const char *const values[] = { "$result", "new_v", "new_h" };
  const GpuElement *e = gpu_put_input (w, ins[0], FIRST + k);
  GString *stores = g_string_new (NULL);

  for (guint part = 1; part < step->n_in; part++)
    if (gpu_put_input (w, ins[part], FIRST + part * n + k) != e)
      gpu_refuse (w, "a variable and its states are of different types");
  for (guint part = 0; part + 1 < step->n_in; part++)
    if (part * n + k < w->call->n_outputs && w->call->outputs[part * n + k].present)
      {
        gpu_put_output (w, outs[part], part * n + k);
        g_string_append_printf (stores, "  K_STORE (%s, i, $store (%s));\n", outs[part],
                                values[part]);
      }
  gpu_put_text (w, "stores", g_string_free (stores, FALSE));
  if (e == NULL || !gpu_is_real (e->compute))
    gpu_refuse (w, gpu_no_element);
  return w->why == NULL ? e : NULL;
}

static void
put_settings (GpuWriter *w, const GpuElement *e)
{
  static const struct
  {
    const char *word, *attr;
    float fallback;
  } settings[] = { { "norm", "norm_coefficient", 0 }, { "post", "norm_coefficient_post", 0 },
                   { "alpha", "alpha", 0.9f },        { "beta", "beta", 0.999f },
                   { "epsilon", "epsilon", 1e-6f },   { "decay", "decay_factor", 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    {
      double value = ir_call_float (w->call, settings[i].attr, (double) settings[i].fallback);
      g_autofree char *wide = g_strconcat ("wide_", settings[i].word, NULL);
      gpu_put_number (w, settings[i].word, value, e->compute);
      gpu_put_number (w, wide, value, "double");
    }
}

static const char *
add_steps (IrCall *call, IrGpuProgram *program, const char *family, const Step *step)
{
  guint n = call->n_inputs > FIRST ? (call->n_inputs - FIRST) / step->n_in : 0;
  const char *why = NULL;

  for (guint k = 0; k < n && why == NULL; k++)
    {
      g_auto (GpuWriter) w;
      GpuShape x;
      gpu_writer_init (&w, program, call, family);
      const GpuElement *rate = gpu_put_input (&w, "rates", 0);
      if (rate == NULL || !gpu_is_real (rate->compute))
        return gpu_refuse (&w, gpu_no_element);
      gpu_put_input (&w, "counts", 1);
      const GpuElement *e = put_variable (&w, k, n, step);
      if (e == NULL || !gpu_shape_of_input (&w, FIRST + k, &x))
        return w.why;
      gpu_put_element (&w, e);
      put_settings (&w, e);
      gpu_put (&w, "rate", "%s", step->rate);
      gpu_put (&w, "state", "%s", step->state);
      gpu_put (&w, "other", "%s", step->other != NULL ? step->other : "0");
      gpu_put (&w, "result", "%s", step->result);
      gpu_put (&w, "other_state", "%s", step->n_in > 3 ? "$load (K_LOAD (h, i))" : "0");
      why = gpu_write_each (&w, "optimizer", x.n);
    }
  return why;
}

static const char *
emit_adagrad (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const Step step = { 3, "rate / (1 + (double) count * $wide_decay)",
                             "v_i + gradient * gradient", NULL,
                             "x_i - r * gradient / (sqrt$f (new_v) + $epsilon)" };

  return add_steps (call, program, "adagrad", &step);
}

static const char *
emit_adam (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const Step step = {
    4,
    "count > 0 ? rate * sqrt (1 - pow ($wide_beta, (double) count)) / (1 - pow ($wide_alpha, (double) count)) : rate",
    "$alpha * v_i + (1 - $alpha) * gradient", "$beta * h_i + (1 - $beta) * gradient * gradient",
    "(1 - $post) * (x_i - r * new_v / (sqrt$f (new_h) + $epsilon))"
  };

  return add_steps (call, program, "adam", &step);
}

/* The first step takes all of its gradient. */
static const char *
emit_momentum (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
#define MOMENTUM "$alpha * v_i + (K_LOAD (counts, 0) > 0 ? $beta : 1) * gradient"
  static const Step standard = { 3, "rate", MOMENTUM, NULL, "x_i - r * new_v" };
  static const Step nesterov = { 3, "rate", MOMENTUM, NULL,
                                 "x_i - r * (gradient + $alpha * new_v)" };
#undef MOMENTUM
  const char *mode = ir_call_string (call, "mode", "");

  if (!g_str_equal (mode, "nesterov") && !g_str_equal (mode, "standard"))
    return "its mode is neither standard nor nesterov";
  return add_steps (call, program, "momentum",
                    g_str_equal (mode, "nesterov") ? &nesterov : &standard);
}

const IrGpuKernel gpu_adagrad = { "adagrad", emit_adagrad };
const IrGpuKernel gpu_adam = { "adam", emit_adam };
const IrGpuKernel gpu_momentum = { "momentum", emit_momentum };
