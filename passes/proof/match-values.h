/* Which values of two runs are the same value: pair-values.h over all of both graphs, with what the runs hold
 * as evidence (alike.h). The answer is the same from either side. */
#pragma once

#include "core/exec/exec.h"
#include "passes/proof/pair-values.h"

typedef struct
{
  IrValueId a;
  IrPaired how;
} IrMatchedValue;

/* Of two runs, and what their inputs were given: value id -> IrTensor. */
typedef struct
{
  const IrDiff *diff;
  IrRun *run_a, *run_b;
  GHashTable *inputs_a, *inputs_b;
} IrMatchSides;

/* Id of b -> IrMatchedValue, of computed values and inputs. (transfer full) */
GHashTable *ir_match_values (const IrMatchSides *sides, GCancellable *cancellable);
gboolean ir_value_runs_once (const IrValue *value);
