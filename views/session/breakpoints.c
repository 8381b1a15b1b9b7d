/* Breakpoints: where a run through the history stops. */
#include "config.h"

#include "views/session/debug-private.h"

typedef struct
{
  gboolean off;
  guint n_hits; /* how often it has stopped */
} Stops;

typedef struct
{
  GPtrArray *breakpoints;
  GArray *stops; /* of Stops, one for each */
  guint last;    /* the one that stopped last + 1, or 0 */
  gboolean forward; /* where to run when the scoreboard is made */
} Breakpoints;

static void
init (gpointer state)
{
  ((Breakpoints *) state)->breakpoints = g_ptr_array_new_with_free_func (
      (GDestroyNotify) ir_breakpoint_free);
  ((Breakpoints *) state)->stops = g_array_new (FALSE, TRUE, sizeof (Stops));
}

static void
clear (gpointer state)
{
  g_ptr_array_unref (((Breakpoints *) state)->breakpoints);
  g_array_unref (((Breakpoints *) state)->stops);
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
 * Returns: %FALSE if the text cannot be read, or names what there is not
 */
gboolean
ir_session_add_breakpoint (IrSession *self, const char *text, GError **error)
{
  IrBreakpoint *breakpoint = ir_breakpoint_parse (text, error);

  if (breakpoint == NULL)
    return FALSE;
  if (!ir_session_is_empty (self) &&
      !ir_breakpoint_check (breakpoint, ir_session_get_history (self), error))
    {
      ir_breakpoint_free (breakpoint);
      return FALSE;
    }
  g_array_set_size (own (self)->stops, own (self)->stops->len + 1);
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
  g_array_remove_index (own (self)->stops, index);
  own (self)->last = 0;
  ir_session_changed (self, IR_CHANGED_BREAKPOINTS);
}

static Stops *
stops_of (IrSession *self, guint index)
{
  return &g_array_index (own (self)->stops, Stops, index);
}

/**
 * ir_session_switch_breakpoint:
 * @on: whether it stops
 */
void
ir_session_switch_breakpoint (IrSession *self, guint index, gboolean on)
{
  if (index >= own (self)->stops->len || stops_of (self, index)->off == !on)
    return;
  stops_of (self, index)->off = !on;
  ir_session_changed (self, IR_CHANGED_BREAKPOINTS);
}

gboolean
ir_session_breakpoint_is_on (IrSession *self, guint index)
{
  return index < own (self)->stops->len && !stops_of (self, index)->off;
}

/**
 * ir_session_breakpoint_hits:
 * @last: (out): whether it is the one that stopped last
 *
 * Returns: how often it has stopped
 */
guint
ir_session_breakpoint_hits (IrSession *self, guint index, gboolean *last)
{
  *last = own (self)->last == index + 1;
  return index < own (self)->stops->len ? stops_of (self, index)->n_hits : 0;
}

/* Those that are on. (transfer container) */
static GPtrArray *
switched_on (IrSession *self)
{
  GPtrArray *on = g_ptr_array_new ();

  for (guint i = 0; i < own (self)->breakpoints->len; i++)
    if (!stops_of (self, i)->off)
      g_ptr_array_add (on, own (self)->breakpoints->pdata[i]);
  return on;
}

static void
count_hit (IrSession *self, const IrBreakpoint *hit)
{
  guint index;

  own (self)->last = 0;
  if (hit != NULL && g_ptr_array_find (own (self)->breakpoints, hit, &index))
    {
      stops_of (self, index)->n_hits++;
      own (self)->last = index + 1;
    }
  ir_session_changed (self, IR_CHANGED_BREAKPOINTS);
}

static gboolean
needs_board (IrSession *self)
{
  g_autoptr (GPtrArray) on = switched_on (self);

  for (guint i = 0; i < on->len; i++)
    if (ir_breakpoint_needs_scores (on->pdata[i]))
      return ir_session_get_scoreboard (self) == NULL && ir_session_get_n_steps (self) > 0;
  return FALSE;
}

static void
run_to_breakpoint (IrSession *self, gboolean forward)
{
  const IrBreakpoint *hit = NULL;
  g_autoptr (GPtrArray) on = switched_on (self);
  const guint step = ir_breakpoints_run (on, ir_session_get_history (self),
                                         ir_session_get_scoreboard (self),
                                         ir_session_get_cursor (self), forward, &hit);

  if (ir_session_get_compare (self) == IR_COMPARE_PASS)
    ir_session_set_compare (self, IR_COMPARE_STEP);
  count_hit (self, hit);
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
