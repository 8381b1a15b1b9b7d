/* What an earlier run has kept, for a run of a graph that has changed since. */
#pragma once

#include "core/exec/plan/plan.h"
#include "core/exec/run/run.h"

typedef struct _IrReuse IrReuse;

IrReuse *ir_reuse_new (IrRun *before, const IrRunState *state);
gboolean ir_reuse_is_constant (const IrNode *node);
void ir_reuse_free (IrReuse *self);
gboolean ir_reuse_has (const IrReuse *self, const IrNode *node); /* @self: (nullable) */
gboolean ir_reuse_fill (const IrReuse *self, IrRunState *state, IrRunStep *step, GError **error);
