/* LinearAttention and CausalConvWithState: what networks with a recurrent state use in place of
 * attention. Sums are in double and rounded when they are stored. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref.h"

#include <math.h>
#include <string.h>

/* -- LinearAttention -- */

typedef struct
{
  IrCall *call;
  guint64 batch, length, q_heads, kv_heads, k_size, v_size;
  gboolean per_key;   /* decay has one entry per key element, not one per head */
  guint64 beta_heads; /* 1: all heads share an entry */
  double scale;
  IrTensor *output; /* (nullable) */
  double *state;    /* [k_size, v_size] of one head */
  double *query, *key, *value, *decay, *sums;
} Linear;

static void
linear_clear (Linear *linear)
{
  g_free (linear->state);
  g_free (linear->query);
  g_free (linear->key);
  g_free (linear->value);
  g_free (linear->decay);
  g_free (linear->sums);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Linear, linear_clear)

static gboolean
linear_init (Linear *linear, IrCall *call, GError **error)
{
  const gint64 *q = ir_tensor_dims (ir_call_input (call, 0));
  const gint64 *v = ir_tensor_dims (ir_call_input (call, 2));
  const IrTensor *decay = ir_call_input (call, 4), *beta = ir_call_input (call, 5);

  linear->call = call;
  linear->batch = (guint64) q[0];
  linear->length = (guint64) q[1];
  linear->q_heads = (guint64) ir_call_int (call, "q_num_heads", 1);
  linear->kv_heads = (guint64) ir_call_int (call, "kv_num_heads", 1);
  linear->k_size = (guint64) q[2] / linear->q_heads;
  linear->v_size = (guint64) v[2] / linear->kv_heads;
  linear->per_key = decay != NULL && (guint64) ir_tensor_dims (decay)[2] != linear->kv_heads;
  linear->beta_heads = beta != NULL ? (guint64) ir_tensor_dims (beta)[2] : 1;
  linear->scale = ir_call_float (call, "scale", 0);
  if (linear->scale == 0)
    linear->scale = 1 / sqrt ((double) linear->k_size);
  return (linear->state = ir_block_new (call, linear->k_size * linear->v_size, error)) != NULL &&
         (linear->query = ir_block_new (call, linear->k_size, error)) != NULL &&
         (linear->key = ir_block_new (call, linear->k_size, error)) != NULL &&
         (linear->value = ir_block_new (call, linear->v_size, error)) != NULL &&
         (linear->decay = ir_block_new (call, linear->k_size, error)) != NULL &&
         (linear->sums = ir_block_new (call, linear->v_size, error)) != NULL;
}

/* sums[m] = sum over d of vector[d] * state[d, m] */
static void
read_state (Linear *linear, const double *vector)
{
  memset (linear->sums, 0, linear->v_size * sizeof *linear->sums);
  for (guint64 d = 0; d < linear->k_size; d++)
    ir_block_add_scaled (vector[d], linear->state + d * linear->v_size,
                         linear->v_size, linear->sums);
}

static void
decay_state (Linear *linear, guint64 row, guint64 head)
{
  const IrTensor *decay = ir_call_input (linear->call, 4);
  guint64 each = linear->per_key ? linear->k_size : 1;

  if (decay == NULL)
    return;
  ir_block_load_many (linear->call, decay, (row * linear->kv_heads + head) * each, each,
                      linear->decay);
  for (guint64 d = 0; d < linear->k_size; d++)
    {
      double factor = exp (linear->decay[linear->per_key ? d : 0]);
      for (guint64 m = 0; m < linear->v_size; m++)
        linear->state[d * linear->v_size + m] *= factor;
    }
}

/* The value becomes beta * (value - what the state says of the key). */
static void
correct_value (Linear *linear, guint64 row, guint64 head)
{
  const IrTensor *beta = ir_call_input (linear->call, 5);
  double rate;

  if (beta == NULL)
    return;
  ir_block_load (beta, row * linear->beta_heads + (linear->beta_heads > 1 ? head : 0), 1, &rate);
  read_state (linear, linear->key);
  for (guint64 m = 0; m < linear->v_size; m++)
    linear->value[m] = rate * (linear->value[m] - linear->sums[m]);
}

/* One position of one head of keys: the state is updated, then read by the queries that share it.
 * @row: position over all batches. */
static void
step (Linear *linear, guint64 row, guint64 head)
{
  guint64 group = linear->q_heads / linear->kv_heads;

  ir_block_load_many (linear->call, ir_call_input (linear->call, 1),
                      (row * linear->kv_heads + head) * linear->k_size, linear->k_size,
                      linear->key);
  ir_block_load_many (linear->call, ir_call_input (linear->call, 2),
                      (row * linear->kv_heads + head) * linear->v_size, linear->v_size,
                      linear->value);
  decay_state (linear, row, head);
  correct_value (linear, row, head);
  for (guint64 d = 0; d < linear->k_size; d++)
    ir_block_add_scaled (linear->key[d], linear->value, linear->v_size,
                         linear->state + d * linear->v_size);
  for (guint64 q = head * group;
       linear->output != NULL && q < (head + 1) * group; q++)
    {
      guint64 at = row * linear->q_heads + q;
      ir_block_load_many (linear->call, ir_call_input (linear->call, 0), at * linear->k_size,
                          linear->k_size, linear->query);
      read_state (linear, linear->query);
      for (guint64 m = 0; m < linear->v_size; m++)
        linear->sums[m] *= linear->scale;
      ir_block_store (linear->output, at * linear->v_size, linear->v_size,
                           linear->sums);
    }
}

/* Query, key and value; a state, rates of decay and of update or none. The state decays first;
 * then the value is corrected by what the decayed state says of the key. Source: ONNX
 * LinearAttention 27. */
gboolean
ir_ref_linear_attention (IrCall *call, GError **error)
{
  g_auto (Linear) linear = { 0 };
  IrTensor *present = NULL;

  if (!ir_block_check_float (call, error) || !ir_infer_linear_attention (call, error) ||
      !linear_init (&linear, call, error))
    return FALSE;
  if ((ir_call_has_output (call, 0) &&
       (linear.output = ir_block_new_output (call, 0, error)) == NULL) ||
      (ir_call_has_output (call, 1) && (present = ir_block_new_output (call, 1, error)) == NULL))
    return FALSE;
  guint64 n = linear.k_size * linear.v_size;
  for (guint64 i = 0; i < linear.batch * linear.kv_heads; i++)
    {
      if (ir_call_has_input (call, 3))
        ir_block_load_many (call, ir_call_input (call, 3), i * n, n, linear.state);
      else
        memset (linear.state, 0, sizeof (double) * n);
      for (guint64 t = 0; t < linear.length; t++)
        step (&linear, i / linear.kv_heads * linear.length + t, i % linear.kv_heads);
      if (present != NULL)
        ir_block_store (present, i * n, n, linear.state);
      if (ir_block_cancelled (call, error))
        return FALSE;
    }
  return TRUE;
}

/* -- CausalConvWithState -- */

/* One channel: @padded is the state and then the input, @taps the filter. */
static void
filter_channel (const IrCall *call,
                IrTensor *output,
                guint64 channel,
                guint64 first,
                const double *padded,
                guint64 length,
                const double *taps,
                guint64 n_taps)
{
  const IrTensor *bias = ir_call_input (call, 2);
  gboolean gate = strcmp (ir_call_string (call, "activation", "none"), "none") != 0;
  double offset = bias != NULL ? ir_tensor_get_double (bias, channel) : 0;

  for (guint64 i = 0; i < length; i++)
    {
      double sum = offset;
      for (guint64 k = 0; k < n_taps; k++)
        sum += padded[i + k] * taps[k];
      sum = ir_block_round (ir_tensor_dtype (output), sum);
      if (gate)
        sum /= 1 + exp (-sum);
      ir_block_store (output, first + i, 1, &sum);
    }
}

/* The state stands before the input; without one, zeros do. The new state is what comes last in
 * both together. Source: ONNX CausalConvWithState 27. */
gboolean
ir_ref_causal_conv (IrCall *call, GError **error)
{
  if (!ir_block_check_float (call, error) || !ir_infer_causal_conv (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0), *w = ir_call_input (call, 1),
                 *past = ir_call_input (call, 3);
  guint64 channels = (guint64) ir_tensor_dims (x)[1], length = (guint64) ir_tensor_dims (x)[2];
  guint64 rows = (guint64) ir_tensor_dims (x)[0] * channels;
  guint64 n_taps = (guint64) ir_tensor_dims (w)[2], kept = n_taps - 1;
  IrTensor *output = NULL, *present = NULL;
  if ((ir_call_has_output (call, 0) && (output = ir_block_new_output (call, 0, error)) == NULL) ||
      (ir_call_has_output (call, 1) && (present = ir_block_new_output (call, 1, error)) == NULL))
    return FALSE;
  g_autofree double *padded = ir_block_new (call, kept + length, error);
  g_autofree double *taps = ir_block_new (call, n_taps, error);
  if (padded == NULL || taps == NULL)
    return FALSE;
  for (guint64 row = 0; row < rows; row++)
    {
      if (past != NULL)
        ir_block_load_many (call, past, row * kept, kept, padded);
      else
        memset (padded, 0, sizeof (double) * kept);
      ir_block_load_many (call, x, row * length, length, padded + kept);
      ir_block_load_many (call, w, row % channels * n_taps, n_taps, taps);
      if (output != NULL)
        filter_channel (call, output, row % channels, row * length, padded, length, taps, n_taps);
      if (present != NULL)
        ir_block_store (present, row * kept, kept, padded + length);
      if (row % channels == 0 && ir_block_cancelled (call, error))
        return FALSE;
    }
  return TRUE;
}
