/* What is wrong with the graph, step by step, for the folder alone. */
#pragma once

#include "views/session/execution.h"
#include "views/session/hub.h"

/* What runs found, which does not last as what is wrong with the graph itself does. */
typedef enum
{
  IR_FAULTS_OF_RUN,
  IR_FAULTS_OF_CHECK,
  IR_N_FAULTS
} IrFaultKind;

/* -- of the graph: none of these tells -- */
void ir_session_forget_problems (IrSession *self, guint step); /* of the steps behind @step */
/* @problems: (transfer full): of the graph at @step, the last one that was edited */
void ir_session_take_problems (IrSession *self, guint step, GPtrArray *problems);
GPtrArray *ir_session_found_at (IrSession *self, guint step); /* (transfer none) */
/* All that was found, to be put back with the history that it was found in. */
GArray *ir_session_dup_found (IrSession *self); /* (transfer full) */
void ir_session_place_found (IrSession *self, const GArray *found);
GPtrArray *ir_found_at (const GArray *found, guint step); /* (transfer none) */

/* -- of its execution -- */
/* @faults: (nullable) (transfer full): of IrProblem, at @step; tells nobody */
void ir_session_set_faults (IrSession *self, IrFaultKind kind, guint step, GPtrArray *faults);
/* They came or went at the graph on screen, whose badges may be others: IR_CHANGED_PROBLEMS and
 * IR_CHANGED_PICTURE are to be told. */
void ir_session_faults_changed (IrSession *self);
void ir_session_forget_faults (IrSession *self);

GPtrArray *ir_session_problems_at (IrSession *self, guint step); /* (transfer none) all */
/* Whether another step may have others. */
gboolean ir_session_problems_vary (IrSession *self);
