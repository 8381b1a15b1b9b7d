/* The generator of random numbers: see twister.h. */
#include "config.h"

#include "core/exec/ref/twister.h"

#include <math.h>

#define SHIFT_WORDS 397

void
ir_twister_init (IrTwister *twister, guint32 seed)
{
  for (guint i = 0; i < IR_TWISTER_WORDS; i++)
    {
      twister->state[i] = seed;
      seed = 1812433253u * (seed ^ (seed >> 30)) + i + 1;
    }
  twister->next = IR_TWISTER_WORDS;
  twister->has_spare = FALSE;
}

/* A call in execution, perhaps with an attribute seed of kind INT or FLOAT. The attribute's
 * whole part, modulo 2^32, is the seed. Without it, or where it is NaN, the seed is that of the
 * call, which the runner makes of the run's seed, the name of the node's output and how often
 * the node has run before: two runs agree, two nodes do not. */
void
ir_twister_init_call (IrTwister *twister, const IrCall *call)
{
  const IrAttr *attr = ir_call_attr (call, "seed");
  double seed = attr != NULL && attr->kind == IR_ATTR_FLOAT ? ir_call_float (call, "seed", 0) : 0;

  if (attr == NULL || isnan (seed))
    ir_twister_init (twister, (guint32) call->random_seed);
  else if (attr->kind == IR_ATTR_INT)
    ir_twister_init (twister, (guint32) ir_call_int (call, "seed", 0));
  else
    ir_twister_init (twister, (guint32) (gint64) CLAMP (trunc (seed), -9e18, 9e18));
}

static void
refill (IrTwister *twister)
{
  guint32 *state = twister->state;

  for (guint i = 0; i < IR_TWISTER_WORDS; i++)
    {
      guint32 y = (state[i] & 0x80000000u) | (state[(i + 1) % IR_TWISTER_WORDS] & 0x7fffffffu);
      state[i] = state[(i + SHIFT_WORDS) % IR_TWISTER_WORDS] ^ (y >> 1) ^
                 ((y & 1) ? 0x9908b0dfu : 0);
    }
  twister->next = 0;
}

static guint32
next_word (IrTwister *twister)
{
  if (twister->next == IR_TWISTER_WORDS)
    refill (twister);
  guint32 y = twister->state[twister->next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

/* A multiple of 2^-53 in [0, 1), made of two words */
double
ir_twister_uniform (IrTwister *twister)
{
  guint32 high = next_word (twister) >> 5, low = next_word (twister) >> 6;

  return (high * 67108864.0 + low) / 9007199254740992.0;
}

/* Source: Marsaglia's polar method, second number of the pair first, as numpy's legacy
 * generator. Returns a number of the standard normal distribution. */
double
ir_twister_normal (IrTwister *twister)
{
  double x, y, square;

  if (twister->has_spare)
    {
      twister->has_spare = FALSE;
      return twister->spare;
    }
  do
    {
      x = 2 * ir_twister_uniform (twister) - 1;
      y = 2 * ir_twister_uniform (twister) - 1;
      square = x * x + y * y;
    }
  while (square >= 1 || square == 0);
  double factor = sqrt (-2 * log (square) / square);
  twister->spare = factor * x;
  twister->has_spare = TRUE;
  return factor * y;
}
