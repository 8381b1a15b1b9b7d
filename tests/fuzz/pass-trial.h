/* One random model for the fuzzer of passes, made from its arguments and nothing else. While it is
 * made every node is evaluated, so that what comes out runs. Parts of it are idioms of rules, with
 * other constants, attributes, types and inputs now and then. */
#pragma once

#include "core/exec/exec.h"
#include "core/ir/edit.h"

/* @smooth: no operator that jumps, so that small errors stay small
 * @idiom: (nullable): ONNX text that it is about
 * @n: return location for the size that the symbol "n" of the model's inputs stands for; symbols
 *   d2 to d9 stand for their number */
IrModel *pass_trial_model (guint32 seed, guint size, gboolean smooth, const char *idiom, gint64 *n);

/* Contents of all inputs, by their names and @seed; with even seeds, of those that have a default
 * too. @adversarial: NaN, infinities, -0, denormals and the ends of ranges too. */
GHashTable *pass_trial_inputs (IrModel *model, gint64 n, guint32 seed, gboolean adversarial);
IrTensor *pass_trial_tensor (
    const IrValue *value, gint64 n, guint32 seed, gboolean adversarial, gboolean positive);

void pass_trial_fill (IrTensor *tensor, GRand *rand, gboolean adversarial);

/* Whether there is a constant such as the -infinity that hides scores: what comes of it is no
 * overflow. */
gboolean pass_trial_has_infinity (const IrModel *model);
