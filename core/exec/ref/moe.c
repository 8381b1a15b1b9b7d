/* Mixtures of experts of com.microsoft: each row goes to a few of many layers. MoE has weights of real
 * numbers, QMoE of few bits with scales. Source: ContribOperators.md of ONNX Runtime, and what its
 * kernels do where that is silent. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/n-bits.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"

#include <math.h>
#include <string.h>

/* The weights of a layer, [experts, rows, width], and its bias. */
typedef struct
{
  const IrTensor *data, *bias, *scales, *zeros; /* all but the first nullable; no scales: reals */
  guint bits;
  guint64 rows, width;
  guint64 block; /* numbers of a row that share a scale; 0: all */
} Weights;

/* Inputs of a layer; 0: there is none. */
typedef struct
{
  guint data, bias, scales, zeros;
} Slots;

typedef struct
{
  IrCall *call;
  Weights fc[3];
  guint64 rows, hidden, inner, experts, k;
  guint64 fused; /* 2: fc1 has two numbers for each of inner */
  const char *activation;
  double alpha, beta, limit;
  gboolean normalized, interleaved;
  double *in, *row; /* scratch: what fc1 gives [fused * inner], and a row of weights */
} Mixture;

/* -- weights -- */

static const IrTensor *
given (const IrCall *call, guint slot)
{
  return slot > 0 && ir_call_has_input (call, slot) ? ir_call_input (call, slot) : NULL;
}

static gboolean
check_size (const IrCall *call, guint slot, guint64 n, GError **error)
{
  const IrTensor *tensor = given (call, slot);

  return tensor == NULL || ir_tensor_n_elements (tensor) == n ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "input %u has %" G_GUINT64_FORMAT " elements, needed are %" G_GUINT64_FORMAT,
                       slot, ir_tensor_n_elements (tensor), n);
}

/* Of reals, or with @bits of few. A third layer may be absent. */
static gboolean
weights_init (
    Weights *w, IrCall *call, const Slots *slots, guint bits, guint64 block, GError **error)
{
  const IrTensor *data = given (call, slots->data);

  *w = (Weights){ .data = data, .bits = bits };
  if (data == NULL)
    return TRUE;
  guint64 per_byte = bits > 0 ? 8 / bits : 1, experts = (guint64) ir_tensor_dims (data)[0];
  w->rows = (guint64) ir_tensor_dims (data)[1];
  w->width = (guint64) ir_tensor_dims (data)[2] * per_byte;
  w->bias = given (call, slots->bias);
  w->scales = given (call, slots->scales);
  w->zeros = given (call, slots->zeros);
  w->block = block;
  if (!check_size (call, slots->bias, experts * w->rows, error))
    return FALSE;
  if (bits == 0)
    return TRUE;
  if (w->scales == NULL || ir_tensor_dtype (data) != IR_DTYPE_UINT8)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                         "input %u must be uint8, and have scales in input %u", slots->data,
                         slots->scales);
  if (block > 0 && w->width % block != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "block_size does not divide the rows of input %u", slots->data);
  guint64 blocks = block > 0 ? w->width / block : 1;
  guint64 packed = block > 0 ? w->rows * ((blocks + per_byte - 1) / per_byte)
                             : (w->rows + per_byte - 1) / per_byte;
  return check_size (call, slots->scales, experts * w->rows * blocks, error) &&
         check_size (call, slots->zeros, experts * packed, error);
}

static double
zero_of (const Weights *w, guint64 expert, guint64 row, guint64 block, guint64 blocks)
{
  guint64 per_byte = 8 / w->bits;

  if (w->zeros == NULL)
    return (double) (1u << (w->bits - 1));
  const guint8 *data = ir_tensor_data (w->zeros);
  if (w->block == 0)
    return ir_n_bits_at (data + expert * ((w->rows + per_byte - 1) / per_byte), row, w->bits);
  return ir_n_bits_at (data + (expert * w->rows + row) * ((blocks + per_byte - 1) / per_byte),
                       block, w->bits);
}

/* Row @row of the weights of @expert, as real numbers. */
static void
load_row (const Weights *w, guint64 expert, guint64 row, double *values)
{
  guint64 first = (expert * w->rows + row) * w->width;

  if (w->bits == 0)
    {
      ir_block_load (w->data, first, w->width, values);
      return;
    }
  guint64 size = w->block > 0 ? w->block : w->width, blocks = w->width / MAX (size, 1);
  for (guint64 block = 0; block < blocks; block++)
    {
      double scale = ir_tensor_get_double (w->scales, (expert * w->rows + row) * blocks + block);
      double zero = zero_of (w, expert, row, block, blocks);

      for (guint64 i = block * size; i < (block + 1) * size; i++)
        values[i] = (ir_n_bits_at (ir_tensor_data (w->data), first + i, w->bits) - zero) * scale;
    }
}

static double
dense (const Mixture *m, guint which, guint64 expert, guint64 row, const double *x)
{
  const Weights *w = &m->fc[which];
  double bias = w->bias != NULL ? ir_tensor_get_double (w->bias, expert * w->rows + row) : 0;

  load_row (w, expert, row, m->row);
  return bias + ir_block_dot (m->row, x, w->width);
}

/* -- a row -- */

static double
act (const Mixture *m, double x)
{
  if (strcmp (m->activation, "relu") == 0)
    return MAX (x, 0);
  if (strcmp (m->activation, "gelu") == 0)
    return 0.5 * x * (1 + tanh (0.7978845608028654 * (x + 0.044715 * x * x * x)));
  if (strcmp (m->activation, "silu") == 0)
    return x / (1 + exp (-x));
  return x;
}

/* What goes into fc2, to the first numbers of @m->in. */
static void
gate (Mixture *m, guint64 expert, const double *x)
{
  for (guint64 i = 0; i < m->fused * m->inner; i++)
    m->in[i] = dense (m, 0, expert, i, x);
  for (guint64 i = 0; i < m->inner; i++)
    {
      if (m->fused == 1)
        {
          double y = act (m, m->in[i]);
          m->in[i] = m->fc[2].data != NULL ? y * dense (m, 2, expert, i, x) : y;
          continue;
        }
      double g = m->in[m->interleaved ? 2 * i : i];
      double l = m->in[m->interleaved ? 2 * i + 1 : m->inner + i];
      g = MIN (g, m->limit);
      l = CLAMP (l, -m->limit, m->limit);
      m->in[i] = g / (1 + exp (-m->alpha * g)) * (l + m->beta);
    }
}

/* The weight of the @nth best expert of a row, which is @best. */
static double
routing_weight (const Mixture *m, const double *logits, const guint64 *best, guint64 nth)
{
  double most = logits[best[0]], sum = 0;

  for (guint64 i = 0; i < (m->normalized ? m->k : m->experts); i++)
    sum += exp (logits[m->normalized ? best[i] : i] - most);
  return exp (logits[best[nth]] - most) / sum;
}

/* The same where the weights are given: of all experts, or of a sum of 1. */
static double
given_weight (const Mixture *m, const double *weights, const guint64 *best, guint64 nth)
{
  double sum = 0;

  for (guint64 i = 0; i < m->k; i++)
    sum += weights[best[i]];
  return weights[best[nth]] / (m->normalized && sum > 0 ? sum : 1);
}

static void
choose (const Mixture *m, const double *logits, guint64 *best)
{
  for (guint64 i = 0; i < m->k; i++)
    {
      gboolean found = FALSE;
      for (guint64 e = 0; e < m->experts; e++)
        {
          gboolean taken = FALSE;
          for (guint64 j = 0; j < i; j++)
            taken |= best[j] == e;
          if (!taken && (!found || logits[e] > logits[best[i]]))
            {
              best[i] = e;
              found = TRUE;
            }
        }
    }
}

/* -- all of it -- */

static gboolean
check_settings (const Mixture *m, GError **error)
{
  static const char *const known[] = { "relu", "gelu", "silu", "identity", "swiglu", NULL };
  const IrCall *call = m->call;

  if (!g_strv_contains (known, m->activation) || ir_call_int (call, "use_sparse_mixer", 0) != 0 ||
      (m->fused == 1 && strcmp (m->activation, "swiglu") == 0))
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "activation_type %s, or use_sparse_mixer, is not supported",
                         m->activation);
  return (m->k >= 1 && m->k <= m->experts && m->k <= 64) ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "k is none that the experts allow");
}

static gboolean
mixture_init (
    Mixture *m, IrCall *call, const Slots slots[3], guint bits, guint64 block, GError **error)
{
  m->call = call;
  for (guint i = 0; i < 3; i++)
    if (!weights_init (&m->fc[i], call, &slots[i], bits, block, error))
      return FALSE;
  m->activation = ir_call_string (call, "activation_type", "relu");
  m->hidden = m->fc[0].width;
  m->experts = (guint64) ir_tensor_dims (m->fc[0].data)[0];
  m->inner = m->fc[1].width;
  m->fused = strcmp (m->activation, "swiglu") == 0 && m->fc[0].rows == 2 * m->inner ? 2 : 1;
  m->rows = m->hidden > 0 ? ir_tensor_n_elements (ir_call_input (call, 0)) / m->hidden : 0;
  m->k = (guint64) ir_call_int (call, "k", 1);
  m->alpha = ir_call_float (call, "activation_alpha", 1);
  m->beta = ir_call_float (call, "activation_beta", 0);
  m->limit = ir_call_float (call, "swiglu_limit", INFINITY);
  m->normalized = ir_call_int (call, "normalize_routing_weights", 0) != 0;
  m->interleaved = ir_call_int (call, "swiglu_fusion", 0) == 1;
  return check_settings (m, error);
}

/* @weights: (nullable): of the experts, beside the logits that choose them */
static gboolean
run_rows (Mixture *m, const double *x, const double *logits, const double *weights, GError **error)
{
  IrTensor *y = ir_block_new_output (m->call, 0, error);
  g_autofree double *sums = y != NULL ? ir_block_new (m->call, m->hidden, error) : NULL;

  if (sums == NULL)
    return FALSE;
  for (guint64 row = 0; row < m->rows; row++)
    {
      guint64 best[64];
      if (ir_block_cancelled (m->call, error))
        return FALSE;
      choose (m, logits + row * m->experts, best);
      ir_block_fill (sums, m->hidden, 0);
      for (guint64 i = 0; i < m->k; i++)
        {
          double weight = weights != NULL ? given_weight (m, weights + row * m->experts, best, i)
                                          : routing_weight (m, logits + row * m->experts, best, i);
          gate (m, best[i], x + row * m->hidden);
          for (guint64 h = 0; h < m->hidden; h++)
            sums[h] += weight * dense (m, 1, best[i], h, m->in);
        }
      ir_block_store (y, row * m->hidden, m->hidden, sums);
    }
  return TRUE;
}

static gboolean
run (Mixture *m, guint weights_slot, GError **error)
{
  IrCall *call = m->call;
  gboolean weighted = weights_slot > 0 && ir_call_has_input (call, weights_slot);
  g_autofree double *x = ir_block_load_new (call, 0, error);
  g_autofree double *logits = x != NULL ? ir_block_load_new (call, 1, error) : NULL;
  g_autofree double *in = logits != NULL ? ir_block_new (call, m->fused * m->inner, error) : NULL;
  g_autofree double *row = in != NULL ? ir_block_new (call, MAX (m->hidden, m->inner), error)
                                      : NULL;
  g_autofree double *weights = row != NULL && weighted
                                   ? ir_block_load_new (call, weights_slot, error)
                                   : NULL;

  if (row == NULL || (weighted && weights == NULL) ||
      !check_size (call, weights_slot, m->rows * m->experts, error))
    return FALSE;
  m->in = in;
  m->row = row;
  return run_rows (m, x, logits, weights, error);
}

/* Rows, the logits of the experts, and the weights and biases of fc1, fc2 and perhaps fc3. */
gboolean
ir_ref_moe (IrCall *call, GError **error)
{
  static const Slots slots[3] = { { 2, 3, 0, 0 }, { 4, 5, 0, 0 }, { 6, 7, 0, 0 } };
  Mixture m = { 0 };

  return ir_ref_prepare (call, error) && ir_block_check_float (call, error) &&
         mixture_init (&m, call, slots, 0, 0, error) && run (&m, 0, error);
}

/* Inputs of QMoE that no integers have. */
static gboolean
check_quantized (const IrCall *call, GError **error)
{
  for (guint slot = 15; slot < 21; slot++)
    if (ir_call_has_input (call, slot))
      return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                           "input %u, of weights that are no integers, is not supported", slot);
  return TRUE;
}

/* The same with weights of few bits: behind those of each layer stand its scales and its bias; zero
 * points and weights of the experts come last. Where the latter are not given, those of the chosen
 * experts always sum to 1, as in ONNX Runtime. */
gboolean
ir_ref_q_moe (IrCall *call, GError **error)
{
  static const Slots slots[3] = { { 2, 4, 3, 11 }, { 5, 7, 6, 12 }, { 8, 10, 9, 13 } };
  guint bits = (guint) ir_call_int (call, "expert_weight_bits", 4);
  Mixture m = { 0 };

  return ir_ref_prepare (call, error) && ir_block_check_float (call, error) &&
         check_quantized (call, error) &&
         mixture_init (&m, call, slots, bits, (guint64) ir_call_int (call, "block_size", 0),
                       error) &&
         (m.normalized |= !ir_call_has_input (call, 14), run (&m, 14, error));
}
