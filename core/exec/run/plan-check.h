/* Whether what lies at every node of a run is what its kernel declares and the plan says. */
#pragma once

#include "core/exec/run/state.h"

typedef struct _IrPlanCheck IrPlanCheck;

IrPlanCheck *ir_plan_check_new (const IrPrepared *prepared);
void ir_plan_check_free (IrPlanCheck *check);
void ir_plan_check_watch (const IrRunState *state, IrCall *call);
void ir_plan_check_steps (IrRunState *state, guint first, guint end);
