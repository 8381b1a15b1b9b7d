/* Dropout. Inference passes the input on. Training mode drops elements at random: with a seed that
 * is reproducible, because the standard's test data come from numpy's generator, which is a
 * published algorithm: Matsumoto & Nishimura 1998, "Mersenne Twister", with 53-bit doubles made of
 * two draws each. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/op/rows.h"

#define STATE_WORDS 624
#define SHIFT_WORDS 397

typedef struct
{
  guint32 state[STATE_WORDS];
  guint next;
} Twister;

static void
twister_init (Twister *twister, guint32 seed)
{
  for (guint i = 0; i < STATE_WORDS; i++)
    {
      twister->state[i] = seed;
      seed = 1812433253u * (seed ^ (seed >> 30)) + i + 1;
    }
  twister->next = STATE_WORDS;
}

static void
twister_refill (Twister *twister)
{
  guint32 *state = twister->state;
  for (guint i = 0; i < STATE_WORDS; i++)
    {
      guint32 y = (state[i] & 0x80000000u) | (state[(i + 1) % STATE_WORDS] & 0x7fffffffu);
      state[i] = state[(i + SHIFT_WORDS) % STATE_WORDS] ^ (y >> 1) ^ ((y & 1) ? 0x9908b0dfu : 0);
    }
  twister->next = 0;
}

static guint32
twister_word (Twister *twister)
{
  if (twister->next == STATE_WORDS)
    twister_refill (twister);
  guint32 y = twister->state[twister->next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

/* Uniform in [0, 1). */
static double
twister_double (Twister *twister)
{
  guint32 high = twister_word (twister) >> 5, low = twister_word (twister) >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

/* -- the operator -- */

typedef struct
{
  gboolean training;
  double ratio;
} Mode;

static gboolean
read_mode (IrCall *call, Mode *mode, GError **error)
{
  g_autofree gint64 *training = NULL;
  guint n = 0;
  const IrTensor *ratio = ir_call_input (call, 1);
  mode->training = ir_call_input_ints (call, 2, &training, &n) && n == 1 && training[0] != 0;
  mode->ratio = 0.5;
  if (ratio != NULL)
    {
      if (ir_tensor_n_elements (ratio) != 1 || !ir_dtype_is_float (ir_tensor_dtype (ratio)))
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "ratio must be a scalar float");
      mode->ratio = ir_tensor_get_double (ratio, 0);
    }
  if (!mode->training || mode->ratio == 0)
    {
      mode->training = FALSE;
      return TRUE;
    }
  if (!(mode->ratio > 0 && mode->ratio < 1))
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "ratio is %g, it must be in [0, 1)",
                         mode->ratio);
  if (ir_call_attr (call, "seed") == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "training mode without a seed would give another result each time");
  return TRUE;
}

gboolean
ir_ref_dropout (IrCall *call, GError **error)
{
  Mode mode;
  if (!ir_ref_prepare (call, error) || !read_mode (call, &mode, error) ||
      !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrTensor *out = ir_block_new_output (call, 0, error);
  IrTensor *mask = ir_call_has_output (call, 1) ? ir_block_new_output (call, 1, error) : NULL;
  if (out == NULL || (mask == NULL && ir_call_has_output (call, 1)))
    return FALSE;
  Twister twister;
  twister_init (&twister, (guint32) ir_call_int (call, "seed", 0));
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      gint64 kept = !mode.training || twister_double (&twister) >= mode.ratio;
      double x;
      ir_block_load (in, i, 1, &x);
      if (mode.training)
        x = kept ? x * (1 / (1 - mode.ratio)) : x * 0;
      ir_block_store (out, i, 1, &x);
      if (mask != NULL)
        ir_ref_store_int (mask, i, 1, &kept);
    }
  return TRUE;
}
