/* Types that the file declares, held against what values turn out to be. */
#pragma once

#include "core/exec/run/state.h"

IrClaims *ir_claims_new (IrRun *run, const GArray *claimed);
void ir_claims_free (IrClaims *claims); /* (nullable) */
void ir_claims_check (IrClaims *claims, const IrValue *value, const IrTensor *tensor);
