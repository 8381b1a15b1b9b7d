/* Chains of steps that run together, piece by piece. */
#pragma once

#include "core/exec/run/runner-private.h"

#define IR_CHAIN_PIECE 16384 /* elements that a step works on at once */

gboolean ir_chains_find (IrPrepared *prepared, GCancellable *cancellable, GError **error);
gboolean ir_chain_run (
    IrRunState *state, IrRunStep *head, IrThreads *threads, IrScratch *scratch, GError **error);
