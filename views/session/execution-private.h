/* Checks of the execution, for the folder alone. */
#pragma once

#include "core/exec/exec.h"
#include "views/session/execution.h"
#include "views/session/hub.h"

/* @inputs: of any model of the history. (transfer full) (nullable) */
IrExecutionReport *ir_execution_judge (IrModel *model,
                                       guint step,
                                       GHashTable *inputs,
                                       const IrRunOptions *options,
                                       IrJob *job,
                                       GCancellable *cancellable,
                                       GError **error);
void ir_execution_report_free (IrExecutionReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrExecutionReport, ir_execution_report_free)
void ir_session_take_execution (IrSession *self, IrExecutionReport *report); /* takes it */
void ir_session_forget_execution (IrSession *self);
