/* What two runs on the same inputs hold, as evidence of which values are the same: core/diff asks for it. */
#pragma once

#include "core/diff/match-values.h"
#include "core/exec/exec.h"

typedef struct _IrAlike IrAlike;

/* Of two runs, and what their inputs were given: value id -> IrTensor. Borrowed. */
typedef struct
{
  const IrModel *a, *b;
  IrRun *run_a, *run_b;
  GHashTable *inputs_a, *inputs_b;
} IrRunSides;

IrAlike *ir_alike_new (const IrRunSides *sides);
void ir_alike_free (IrAlike *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrAlike, ir_alike_free)
IrMatchEvidence ir_alike_evidence (IrAlike *self);
