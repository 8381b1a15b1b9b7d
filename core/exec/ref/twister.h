/* Random numbers: the Mersenne Twister of Matsumoto and Nishimura (1998) as numpy's RandomState
 * uses it, which the standard's own test data come from. Same seed, same numbers, on every machine.
 */
#pragma once

#include "core/op/call.h"

#define IR_TWISTER_WORDS 624

typedef struct
{
  guint32 state[IR_TWISTER_WORDS];
  guint next;
  double spare; /* normal numbers come in pairs */
  gboolean has_spare;
} IrTwister;

void ir_twister_init (IrTwister *twister, guint32 seed);
void ir_twister_init_call (IrTwister *twister, const IrCall *call);
double ir_twister_uniform (IrTwister *twister);
double ir_twister_normal (IrTwister *twister);
