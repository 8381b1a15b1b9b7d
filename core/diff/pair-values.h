/* Which values of two graphs are the same value, by what computes them: that two nodes are paired
 * does not say that what they give is. */
#pragma once

#include "core/diff/diff.h"

typedef struct _IrValuePairing IrValuePairing;

IrValuePairing *ir_value_pairing_new (const IrDiff *diff);
void ir_value_pairing_free (IrValuePairing *pairing);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrValuePairing, ir_value_pairing_free)
/* What @b was in the graph before, found once all that it is computed from was asked for. */
const IrValue *ir_value_pairing_find (IrValuePairing *pairing, const IrValue *b, IrPaired *how);
void ir_value_pairing_add (IrValuePairing *pairing, const IrValue *a, const IrValue *b);
IrValueId ir_value_pairing_of_a (const IrValuePairing *pairing, IrValueId a); /* of b; 0: none */
IrValueId ir_value_pairing_of_b (const IrValuePairing *pairing, IrValueId b);
