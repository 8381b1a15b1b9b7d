/* One random model for the fuzzer of passes, made from (seed, size) and nothing else. While it is
 * made every node is evaluated, so that what comes out runs. Parts of it are the examples of rules,
 * with other constants, attributes, types and inputs now and then. */
#pragma once

#include "core/exec/exec.h"
#include "core/ir/edit.h"

/* @smooth: no operator that jumps, so that small errors stay small
 * @n: return location for the size that the symbol "n" of the model's inputs stands for */
IrModel *pass_trial_model (guint32 seed, guint size, gboolean smooth, gint64 *n);

/* Contents of all inputs, by their names and @seed; @adversarial: NaN, infinities, -0 and denormals
 * too. */
GHashTable *pass_trial_inputs (IrModel *model, gint64 n, guint32 seed, gboolean adversarial);

void pass_trial_fill (IrTensor *tensor, GRand *rand, gboolean adversarial);
