/* Where the tokens are: the state of a graph behind any event of a log. Of a Loop, a Scan or a SequenceMap the
 * values of the body are tokens likewise, and what a branch reads. */
#pragma once

#include "core/exec/run/flow-log.h"

/* The last that is told of a node. */
typedef struct
{
  const IrFlowEvent *event; /* (nullable): nothing yet */
  gboolean is_passed_by;    /* it stands in a branch that was not chosen */
} IrFlowNote;

typedef struct _IrFlowState IrFlowState;

IrFlowState *ir_flow_state_new (IrFlowLog *log);
void ir_flow_state_free (IrFlowState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrFlowState, ir_flow_state_free)
/* @event: as the log numbers those that it kept, from 0 */
void ir_flow_state_go (IrFlowState *state, guint event);
const IrFlowEvent *ir_flow_state_event (const IrFlowState *state); /* (nullable) the last one */
GArray *ir_flow_state_tokens (const IrFlowState *state); /* (transfer full) of IrFlowToken */
const IrFlowNote *ir_flow_state_note (const IrFlowState *state, IrNodeId node); /* (nullable) */
const IrFlowLog *ir_flow_state_log (const IrFlowState *state);
/* What a run has to keep so that tokens say what they hold. (transfer full) of IrValueId */
GArray *ir_flow_values (IrModel *model, const IrBackend *backend);
/* What a value held in an iteration, as short as fits a small box. (transfer full) (nullable) */
char *ir_flow_value_text (const IrFlowLog *log,
                          const IrValue *value,
                          const char *frame,
                          gint64 iteration);
