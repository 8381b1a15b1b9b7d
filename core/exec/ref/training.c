/* Reference kernels of the optimizers of ai.onnx.preview.training. Each is a function of one
 * element: X, its gradient and its states. */
#include "config.h"

#include "core/exec/kernel/threads.h"
#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

#define FIRST   2 /* R and T come before the variables */
#define MAX_IN  4 /* X, G and two states */
#define MAX_OUT 3

typedef struct
{
  double rate, count;          /* R, T */
  double norm, post;           /* norm_coefficient, norm_coefficient_post */
  double alpha, beta, epsilon; /* as the attributes say */
  double decay;                /* decay_factor */
  gboolean nesterov;
} Settings;

/* @in: X, G, states. @out: the new X and states. */
typedef void (*StepFunc) (const Settings *settings, const double *in, double *out);

static gboolean
read_settings (const IrCall *call, Settings *settings, GError **error)
{
  IrDtype rate = ir_tensor_dtype (ir_call_input (call, 0));

  if (!ir_dtype_is_float (rate))
    return ir_ref_fail_dtype (call, rate, error);
  *settings = (Settings){
    .rate = ir_tensor_get_double (ir_call_input (call, 0), 0),
    .count = (double) ir_tensor_get_int64 (ir_call_input (call, 1), 0),
    .norm = ir_call_float (call, "norm_coefficient", 0),
    .post = ir_call_float (call, "norm_coefficient_post", 0),
    .alpha = ir_call_float (call, "alpha", (double) 0.9f),
    .beta = ir_call_float (call, "beta", (double) 0.999f),
    .epsilon = ir_call_float (call, "epsilon", (double) 1e-6f),
    .decay = ir_call_float (call, "decay_factor", 0),
  };
  return TRUE;
}

/* One variable: elements of @n_in inputs, @n inputs apart, to as many outputs but one. */
static void
update_variable (
    IrCall *call, const Settings *settings, guint variable, guint n, guint n_in, StepFunc step)
{
  guint64 total = ir_tensor_n_elements (ir_call_input (call, FIRST + variable));
  double rows[MAX_IN][IR_REF_CHUNK], results[MAX_OUT][IR_REF_CHUNK];

  for (guint64 first = 0; first < total; first += IR_REF_CHUNK)
    {
      guint count = (guint) MIN (total - first, IR_REF_CHUNK);
      for (guint part = 0; part < n_in; part++)
        ir_block_load (ir_call_input (call, FIRST + part * n + variable), first, count, rows[part]);
      for (guint i = 0; i < count; i++)
        {
          double in[MAX_IN] = { 0 }, out[MAX_OUT] = { 0 };
          for (guint part = 0; part < n_in; part++)
            in[part] = rows[part][i];
          step (settings, in, out);
          for (guint part = 0; part + 1 < n_in; part++)
            results[part][i] = out[part];
        }
      for (guint part = 0; part + 1 < n_in; part++)
        if (ir_call_has_output (call, part * n + variable))
          ir_block_store (call->outputs[part * n + variable].tensor, first, count, results[part]);
    }
}

static gboolean
optimize (IrCall *call, guint n_in, const Settings *settings, StepFunc step, GError **error)
{
  guint n = (call->n_inputs - FIRST) / n_in;

  for (guint slot = FIRST; slot < call->n_inputs; slot++)
    {
      IrDtype dtype = ir_tensor_dtype (ir_call_input (call, slot));
      if (!ir_dtype_is_float (dtype))
        return ir_ref_fail_dtype (call, dtype, error);
    }
  for (guint slot = 0; slot < call->n_outputs; slot++)
    if (ir_call_has_output (call, slot) && ir_block_new_output (call, slot, error) == NULL)
      return FALSE;
  for (guint variable = 0; variable < n; variable++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      update_variable (call, settings, variable, n, n_in, step);
    }
  return TRUE;
}

/* -- Adagrad: X, G, H -- */

static void
step_adagrad (const Settings *settings, const double *in, double *out)
{
  double rate = settings->rate / (1 + settings->count * settings->decay);
  double gradient = settings->norm * in[0] + in[1];
  double squares = in[2] + gradient * gradient;

  out[0] = in[0] - rate * gradient / (sqrt (squares) + settings->epsilon);
  out[1] = squares;
}

/* R, T, then all X, all G and all H. Source: ONNX ai.onnx.preview.training Adagrad 1. */
gboolean
ir_ref_adagrad (IrCall *call, GError **error)
{
  Settings settings;

  return ir_ref_prepare (call, error) && read_settings (call, &settings, error) &&
         optimize (call, 3, &settings, step_adagrad, error);
}

/* -- Adam: X, G, V, H -- */

static void
step_adam (const Settings *settings, const double *in, double *out)
{
  double alpha = settings->alpha, beta = settings->beta, rate = settings->rate;
  double gradient = settings->norm * in[0] + in[1];
  double mean = alpha * in[2] + (1 - alpha) * gradient;
  double square = beta * in[3] + (1 - beta) * gradient * gradient;

  if (settings->count > 0)
    rate *= sqrt (1 - pow (beta, settings->count)) / (1 - pow (alpha, settings->count));
  out[0] = (1 - settings->post) * (in[0] - rate * mean / (sqrt (square) + settings->epsilon));
  out[1] = mean;
  out[2] = square;
}

/* R, T, then all X, all G, all V and all H. Source: ONNX ai.onnx.preview.training Adam 1. */
gboolean
ir_ref_adam (IrCall *call, GError **error)
{
  Settings settings;

  return ir_ref_prepare (call, error) && read_settings (call, &settings, error) &&
         optimize (call, 4, &settings, step_adam, error);
}

/* -- Momentum: X, G, V -- */

static void
step_momentum (const Settings *settings, const double *in, double *out)
{
  double gradient = settings->norm * in[0] + in[1];
  double beta = settings->count > 0 ? settings->beta : 1;
  double momentum = settings->alpha * in[2] + beta * gradient;
  double direction = settings->nesterov ? gradient + settings->alpha * momentum : momentum;

  out[0] = in[0] - settings->rate * direction;
  out[1] = momentum;
}

/* R, T, then all X, all G and all V. Source: ONNX ai.onnx.preview.training Momentum 1. */
gboolean
ir_ref_momentum (IrCall *call, GError **error)
{
  const char *mode = ir_call_string (call, "mode", "");
  Settings settings;

  if (!ir_ref_prepare (call, error) || !read_settings (call, &settings, error))
    return FALSE;
  settings.nesterov = g_str_equal (mode, "nesterov");
  if (!settings.nesterov && !g_str_equal (mode, "standard"))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "mode is \"%s\"; standard or nesterov is needed", mode);
  return optimize (call, 3, &settings, step_momentum, error);
}

/* -- derivatives -- */

/* What a Gradient computes is not in its inputs but in the graph: see core/grad/gradient.c.
 * Returns always FALSE, with %IR_OP_ERROR_UNSUPPORTED. */
gboolean
ir_ref_gradient (IrCall *call, GError **error)
{
  return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                       "a Gradient runs as part of its graph, not by itself");
}

/* X, and a tensor whose shape broadcasts to that of X */
gboolean
ir_ref_reduce_sum_to (IrCall *call, GError **error)
{
  gint64 places[IR_REF_CHUNK];
  double values[IR_REF_CHUNK];
  IrRefLayout layout;

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0), *like = ir_call_input (call, 1);
  guint64 total = ir_tensor_n_elements (x), n = ir_tensor_n_elements (like);
  IrTensor *out = ir_block_new_output (call, 0, error);
  g_autofree double *sums = out != NULL ? ir_block_new (call, n, error) : NULL;
  if (sums == NULL)
    return FALSE;
  memset (sums, 0, (gsize) n * sizeof *sums);
  ir_ref_layout_broadcast (&layout, like, ir_tensor_rank (x), ir_tensor_dims (x));
  for (guint64 first = 0; first < total; first += IR_REF_CHUNK)
    {
      guint count = (guint) MIN (total - first, IR_REF_CHUNK);
      ir_block_load (x, first, count, values);
      ir_ref_layout_offsets (&layout, first, count, 0, places);
      for (guint i = 0; i < count; i++)
        sums[places[i]] += values[i];
    }
  ir_block_store (out, 0, n, sums);
  return TRUE;
}

/* -- the derivative of a convolution by its kernel -- */

typedef struct
{
  IrCall *call;
  guint n_axes;
  gint64 batch, channels, maps, group;
  const gint64 *in, *out;
  gint64 kernel[IR_MAX_RANK], strides[IR_MAX_RANK], dilations[IR_MAX_RANK], pads[IR_MAX_RANK];
  guint64 x_plane, y_plane, taps;
  const double *x, *dy;
  gint64 *places; /* for a tap: of each place of dY, the one of X; -1: in the padding */
  double *dw;
  guint64 tap;
} GradWeight;

static void
read_window (const IrCall *call, const char *name, guint n, gint64 *values, gint64 fallback)
{
  guint given = 0;
  const gint64 *list = ir_call_ints (call, name, &given);

  for (guint i = 0; i < n; i++)
    values[i] = i < given ? list[i] : fallback;
}

static void
find_places (GradWeight *g)
{
  gint64 tap[IR_MAX_RANK], rest = (gint64) g->tap;

  for (guint i = g->n_axes; i-- > 0; rest /= g->kernel[i])
    tap[i] = rest % g->kernel[i];
  for (guint64 at = 0; at < g->y_plane; at++)
    {
      gint64 place = 0, scale = 1, left = (gint64) at;
      for (guint i = g->n_axes; i-- > 0; left /= g->out[i])
        {
          gint64 k = (left % g->out[i]) * g->strides[i] - g->pads[i] + tap[i] * g->dilations[i];
          place = place < 0 || k < 0 || k >= g->in[i] ? -1 : place + k * scale;
          scale *= g->in[i];
        }
      g->places[at] = place;
    }
}

static void
sum_maps (guint64 first, guint64 last, guint worker, gpointer data)
{
  const GradWeight *g = data;
  gint64 c_each = g->channels / g->group, m_each = g->maps / g->group;

  for (guint64 m = first; m < last && !ir_call_stopped (g->call); m++)
    for (gint64 c = 0; c < c_each; c++)
      {
        guint64 channel = (guint64) ((gint64) m / m_each * c_each + c);
        double sum = 0;
        for (gint64 n = 0; n < g->batch; n++)
          {
            const double *x = g->x + ((guint64) (n * g->channels) + channel) * g->x_plane;
            const double *dy = g->dy + ((guint64) (n * g->maps) + m) * g->y_plane;
            for (guint64 at = 0; at < g->y_plane; at++)
              sum += g->places[at] >= 0 ? dy[at] * x[g->places[at]] : 0;
          }
        g->dw[(m * (guint64) c_each + (guint64) c) * g->taps + g->tap] = sum;
      }
}

static guint64
plane_of (const gint64 *sizes, guint n)
{
  guint64 product = 1;

  for (guint i = 0; i < n; i++)
    product *= (guint64) sizes[i];
  return product;
}

/* X, dY; tap by tap, in double. Cost: as the convolution. */
gboolean
ir_ref_conv_grad_weight (IrCall *call, GError **error)
{
  GradWeight g = { .call = call };

  if (!ir_block_check_float (call, error) || !call->op->infer (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0), *dy = ir_call_input (call, 1);
  g.n_axes = ir_tensor_rank (x) - 2;
  g.batch = ir_tensor_dims (x)[0];
  g.channels = ir_tensor_dims (x)[1];
  g.maps = ir_tensor_dims (dy)[1];
  g.in = ir_tensor_dims (x) + 2;
  g.out = ir_tensor_dims (dy) + 2;
  g.group = ir_call_int (call, "group", 1);
  read_window (call, "kernel_shape", g.n_axes, g.kernel, 1);
  read_window (call, "strides", g.n_axes, g.strides, 1);
  read_window (call, "dilations", g.n_axes, g.dilations, 1);
  read_window (call, "pads", g.n_axes, g.pads, 0);
  g.x_plane = plane_of (g.in, g.n_axes);
  g.y_plane = plane_of (g.out, g.n_axes);
  g.taps = plane_of (g.kernel, g.n_axes);
  IrTensor *out = ir_block_new_output (call, 0, error);
  guint64 n = out != NULL ? ir_tensor_n_elements (out) : 0;
  g_autofree double *xs = out != NULL ? ir_block_load_new (call, 0, error) : NULL;
  g_autofree double *dys = xs != NULL ? ir_block_load_new (call, 1, error) : NULL;
  g_autofree double *dw = dys != NULL ? ir_block_new (call, n, error) : NULL;
  g_autofree double *places = dw != NULL ? ir_block_new (call, g.y_plane, error) : NULL;
  if (places == NULL)
    return FALSE;
  g.x = xs;
  g.dy = dys;
  g.dw = dw;
  g.places = (gint64 *) (gpointer) places;
  double each = (double) g.y_plane * (double) g.batch * (double) (g.channels / g.group);
  for (g.tap = 0; n > 0 && g.tap < g.taps; g.tap++)
    {
      find_places (&g);
      ir_threads_for (call->threads, (guint64) g.maps, ir_threads_grain (each), sum_maps, &g);
      if (ir_block_cancelled (call, error))
        return FALSE;
    }
  ir_block_store (out, 0, n, dw);
  return TRUE;
}
