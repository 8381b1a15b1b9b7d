/* A kernel of the CPU, called in every way that it declares: see IrInputTerms and IrOutputTerms. */
#pragma once

#include "tests/fuzz/op-trial.h"

/* What is wrong with output @slot, or NULL. */
typedef char *(*TermsCompare) (const Trial *trial,
                               guint slot,
                               const IrTensor *found,
                               const IrTensor *wanted);

typedef struct
{
  guint64 n_blocks, n_loose, n_over, n_pieces; /* calls */
} TermsCounts;

/* Returns: (transfer full) (nullable): what is wrong */
char *terms_trial (const Trial *trial,
                   IrTensor *const *wanted,
                   guint32 seed,
                   TermsCompare compare,
                   TermsCounts *counts);
