/* How far rounding may carry what a model computes: every value of the main graph is disturbed by a
 * few units in its last place, and what the outputs differ by then is what they may differ by. */
#pragma once

#include "core/exec/exec.h"
#include "core/ir/edit.h"

/* A few units in the last place of 1. */
double disturb_epsilon (IrDtype dtype);

/* A copy of @original where each float value is multiplied by numbers next to 1, @amount epsilons
 * away. @captured: a run of @original that kept all values */
IrModel *disturb_model (IrModel *original, IrRun *captured, GRand *rand, double amount);
GHashTable *disturb_inputs (GHashTable *inputs, GRand *rand, double amount);

/* Whether dtypes and shapes agree. */
gboolean same_form (const IrTensor *a, const IrTensor *b);
/* Both: NULL, or what is wrong: "differs: ..". */
char *compare_exactly (const char *name, const IrTensor *a, const IrTensor *b);
/* @disturbed: the same tensor of disturbed runs
 * @sensitive: return location for whether it depends on rounding too much to say anything */
char *compare_roughly (const char *name,
                       const IrTensor *a,
                       const IrTensor *b,
                       IrTensor *const *disturbed,
                       guint n_disturbed,
                       gboolean *sensitive);
