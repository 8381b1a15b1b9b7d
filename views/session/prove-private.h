/* What was proved, in words. */
#pragma once

#include "passes/pipeline/pipeline.h"

/* "1,078 exact, 2 rounding, 0 broken"; (transfer full) */
char *ir_proof_summary_text (const IrProofSummary *summary);
