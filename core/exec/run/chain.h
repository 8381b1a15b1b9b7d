/* Chains of steps that run together, piece by piece. */
#pragma once

#include "core/exec/run/state.h"

gboolean ir_chain_run (
    IrRunState *state, IrRunStep *head, IrThreads threads, IrScratch *scratch, GError **error);
