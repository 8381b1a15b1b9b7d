/* Breakpoints: where a run through the history stops. */
#include "config.h"

#include "views/session/debug-private.h"

typedef struct
{
  GPtrArray *breakpoints;
  gboolean forward; /* where to run when the scoreboard is made */
} Breakpoints;

static void
init (gpointer state)
{
  ((Breakpoints *) state)->breakpoints = g_ptr_array_new_with_free_func (
      (GDestroyNotify) ir_breakpoint_free);
}

static void
clear (gpointer state)
{
  g_ptr_array_unref (((Breakpoints *) state)->breakpoints);
}

IR_SESSION_NOUN (Breakpoints, init, clear)

GPtrArray *
ir_session_get_breakpoints (IrSession *self)
{
  return own (self)->breakpoints;
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
  g_ptr_array_add (own (self)->breakpoints, breakpoint);
  ir_session_changed (self, IR_CHANGED_BREAKPOINTS);
  return TRUE;
}

void
ir_session_remove_breakpoint (IrSession *self, guint index)
{
  if (index >= own (self)->breakpoints->len)
    return;
  g_ptr_array_remove_index (own (self)->breakpoints, index);
  ir_session_changed (self, IR_CHANGED_BREAKPOINTS);
}

static gboolean
needs_board (IrSession *self)
{
  for (guint i = 0; i < own (self)->breakpoints->len; i++)
    if (ir_breakpoint_needs_scores (own (self)->breakpoints->pdata[i]))
      return ir_session_get_scoreboard (self) == NULL && ir_session_get_n_steps (self) > 0;
  return FALSE;
}

static void
run_to_breakpoint (IrSession *self, gboolean forward)
{
  const IrBreakpoint *hit = NULL;
  const guint step = ir_breakpoints_run (own (self)->breakpoints, ir_session_get_history (self),
                                         ir_session_get_scoreboard (self),
                                         ir_session_get_cursor (self), forward, &hit);

  if (ir_session_get_compare (self) == IR_COMPARE_PASS)
    ir_session_set_compare (self, IR_COMPARE_STEP);
  ir_session_goto (self, step);
  if (hit != NULL)
    ir_session_message (self, "Stopped at step %u: %s", step, ir_breakpoint_text (hit));
  else
    ir_session_message (self, forward ? "No breakpoint after this: at the last step"
                                      : "No breakpoint before this: at the original graph");
}

static void
on_scored (IrSession *self, const GError *error)
{
  if (error != NULL)
    ir_session_failed (self, "The steps could not be scored", error);
  else
    run_to_breakpoint (self, own (self)->forward);
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
  if (ir_session_is_empty (self))
    return;
  own (self)->forward = forward;
  if (needs_board (self))
    ir_session_score_then (self, on_scored);
  else
    run_to_breakpoint (self, forward);
}
