/* Breakpoints: where a run through the history stops. */
#include "config.h"

#include "views/session/session-private.h"

GPtrArray *
ir_session_get_breakpoints (IrSession *self)
{
  return self->breakpoints;
}

/**
 * ir_session_add_breakpoint:
 * @text: as ir_breakpoint_parse() reads it
 * @error: return location for an error
 *
 * Returns: %FALSE if the text cannot be read
 */
gboolean
ir_session_add_breakpoint (IrSession *self, const char *text, GError **error)
{
  IrBreakpoint *breakpoint = ir_breakpoint_parse (text, error);

  if (breakpoint == NULL)
    return FALSE;
  g_ptr_array_add (self->breakpoints, breakpoint);
  ir_session_changed (self, IR_CHANGED_DEBUG);
  return TRUE;
}

void
ir_session_remove_breakpoint (IrSession *self, guint index)
{
  if (index >= self->breakpoints->len)
    return;
  g_ptr_array_remove_index (self->breakpoints, index);
  ir_session_changed (self, IR_CHANGED_DEBUG);
}

static gboolean
needs_board (IrSession *self)
{
  for (guint i = 0; i < self->breakpoints->len; i++)
    if (ir_breakpoint_needs_scores (self->breakpoints->pdata[i]))
      return self->board == NULL && ir_session_get_n_steps (self) > 0;
  return FALSE;
}

void
ir_session_run_breakpoints (IrSession *self, gboolean forward)
{
  const IrBreakpoint *hit = NULL;
  const guint step = ir_breakpoints_run (self->breakpoints, self->timeline->model, self->board,
                                         self->cursor, forward, &hit);

  if (self->compare == IR_COMPARE_PASS)
    ir_session_set_compare (self, IR_COMPARE_STEP);
  ir_session_goto (self, step);
  if (hit != NULL)
    ir_session_message (self, "Stopped at step %u: %s", step, ir_breakpoint_text (hit));
  else
    ir_session_message (self, forward ? "No breakpoint after this: at the last step"
                                      : "No breakpoint before this: at the original graph");
}

/**
 * ir_session_run_to_breakpoint:
 * @forward: %FALSE goes back
 *
 * Moves the cursor to the next step that a breakpoint hits, else to the end. Where one asks for
 * costs, the scoreboard is made first.
 */
void
ir_session_run_to_breakpoint (IrSession *self, gboolean forward)
{
  if (self->timeline == NULL)
    return;
  if (!needs_board (self))
    {
      ir_session_run_breakpoints (self, forward);
      return;
    }
  self->wants_run = forward ? 1 : -1;
  ir_session_request_scoreboard (self);
}
