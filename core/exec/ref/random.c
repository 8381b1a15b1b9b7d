/* Reference kernels of random numbers. All draw from one generator, element by element in C order;
 * see twister.h for what the seed means. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/twister.h"
#include "core/exec/ref/ref.h"
#include <math.h>

typedef struct
{
  IrTwister twister;
  double from, scale; /* low and high - low, or mean and standard deviation */
  gboolean normal;
} Source;

static gboolean
fill (IrCall *call, Source *source, GError **error)
{
  double values[IR_REF_CHUNK];

  if (!ir_ref_prepare (call, error))
    return FALSE;
  IrDtype dtype = call->outputs[0].type->dtype;
  if (!ir_dtype_is_float (dtype))
    return ir_ref_fail_dtype (call, dtype, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  ir_twister_init_call (&source->twister, call);
  guint64 total = ir_tensor_n_elements (out);
  for (guint64 first = 0; first < total; first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (total - first, IR_REF_CHUNK);
      if (ir_block_cancelled (call, error))
        return FALSE;
      for (guint i = 0; i < n; i++)
        values[i] = source->from + source->scale * (source->normal
                                                        ? ir_twister_normal (&source->twister)
                                                        : ir_twister_uniform (&source->twister));
      ir_block_store (out, first, n, values);
    }
  return TRUE;
}

/* Source: ONNX RandomUniform 22, RandomUniformLike 22 */
gboolean
ir_ref_random_uniform (IrCall *call, GError **error)
{
  double low = ir_call_float (call, "low", 0), high = ir_call_float (call, "high", 1);
  Source source = { .from = low, .scale = high - low };

  return fill (call, &source, error);
}

/* Source: ONNX RandomNormal 22, RandomNormalLike 22 */
gboolean
ir_ref_random_normal (IrCall *call, GError **error)
{
  Source source = { .from = ir_call_float (call, "mean", 0),
                    .scale = ir_call_float (call, "scale", 1),
                    .normal = TRUE };

  return fill (call, &source, error);
}

/* Probabilities in [0, 1]. An element is 1 where a uniform number of [0, 1) is below its
 * probability. A probability outside [0, 1] is an error. Source: ONNX Bernoulli 22. */
gboolean
ir_ref_bernoulli (IrCall *call, GError **error)
{
  IrTwister twister;
  double p;

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrDtype dtype = call->outputs[0].type->dtype;
  if (ir_ref_kind (dtype) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, dtype, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  ir_twister_init_call (&twister, call);
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      ir_block_load (in, i, 1, &p);
      if (!(p >= 0 && p <= 1))
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "element %" G_GUINT64_FORMAT " is %g, not a probability", i, p);
      double drawn = ir_twister_uniform (&twister) < p;
      ir_block_store (out, i, 1, &drawn);
    }
  return TRUE;
}

/* -- Multinomial -- */

/* The sums of the first 1, 2, ... weights exp (x), relative to the largest. */
static gboolean
sum_weights (const IrCall *call, double *weights, gint64 n, GError **error)
{
  double largest = -HUGE_VAL, sum = 0;

  for (gint64 i = 0; i < n; i++)
    largest = MAX (largest, weights[i]);
  for (gint64 i = 0; i < n; i++)
    {
      sum += exp (weights[i] - largest);
      weights[i] = sum;
    }
  return (isfinite (sum) && sum > 0) ||
         ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                       "a row of the input has no class, or a NaN, or nothing above -inf");
}

/* The first class whose sum lies above @place. */
static gint64
find_class (const double *sums, gint64 n, double place)
{
  gint64 low = 0, high = n - 1;

  while (low < high)
    {
      gint64 middle = low + (high - low) / 2;
      if (sums[middle] > place)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

/* Logarithms of weights [batch, class]. Source: ONNX Multinomial 22. Cost: O(batch · (class +
 * samples · log class)). */
gboolean
ir_ref_multinomial (IrCall *call, GError **error)
{
  IrTwister twister;

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  gint64 n = ir_tensor_dims (in)[1], samples = ir_tensor_dims (out)[1];
  g_autofree double *sums = ir_block_new (call, (guint64) n, error);
  if (sums == NULL)
    return FALSE;
  ir_twister_init_call (&twister, call);
  for (gint64 row = 0; row < ir_tensor_dims (in)[0]; row++)
    {
      ir_block_load_many (call, in, (guint64) (row * n), (guint64) n, sums);
      if (ir_block_cancelled (call, error) || !sum_weights (call, sums, n, error))
        return FALSE;
      for (gint64 i = 0; i < samples; i++)
        {
          gint64 drawn = find_class (sums, n, ir_twister_uniform (&twister) * sums[n - 1]);
          ir_ref_store_int (out, (guint64) (row * samples + i), 1, &drawn);
        }
    }
  return TRUE;
}
