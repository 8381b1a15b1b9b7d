/* Where in the history one is, and moves to. */
#include "config.h"

#include "views/session/frame-private.h"
#include "views/session/timeline-private.h"

typedef struct
{
  guint cursor;
} Position;

IR_SESSION_NOUN (Position, NULL, NULL)

void
ir_session_place_cursor (IrSession *self, guint step)
{
  own (self)->cursor = step;
}

guint
ir_session_get_cursor (IrSession *self)
{
  return own (self)->cursor;
}

/* Returns what is to be told. */
static IrSessionChanges
move (IrSession *self, guint step)
{
  step = MIN (step, ir_session_get_n_steps (self));
  if (ir_session_is_empty (self) || step == own (self)->cursor)
    return 0;
  own (self)->cursor = step;
  ir_session_hide_marks (self, step);
  return IR_CHANGED_CURSOR;
}

/**
 * ir_session_goto:
 * @step: 0 is the graph as it was opened; clamped to the last step
 *
 * Moves the cursor. The frame follows when it has been made.
 */
void
ir_session_goto (IrSession *self, guint step)
{
  const IrSessionChanges changes = move (self, step);

  if (changes != 0)
    ir_session_changed (self, changes);
}

/* Who moves by passes wants to see what a pass did, who moves by steps what a step did; the other
 * comparisons were chosen and stay. */
static IrSessionChanges
compare_as_moved (IrSession *self, IrCompare unit)
{
  const IrCompare compare = ir_session_get_compare (self);

  if (compare == unit || (compare != IR_COMPARE_STEP && compare != IR_COMPARE_PASS))
    return 0;
  ir_session_place_compare (self, unit);
  return IR_CHANGED_COMPARE;
}

/**
 * ir_session_step_by:
 * @n_steps: how many steps to go on (or, if negative, back)
 *
 * Moves the cursor; a comparison with the beginning of the pass becomes one with the step before.
 */
void
ir_session_step_by (IrSession *self, int n_steps)
{
  const gint64 step = (gint64) own (self)->cursor + n_steps;
  IrSessionChanges changes = compare_as_moved (self, IR_COMPARE_STEP);

  changes |= move (self, (guint) CLAMP (step, 0, (gint64) ir_session_get_n_steps (self)));
  if (changes != 0)
    ir_session_changed (self, changes);
}

/* The last step of the next pass run that has steps, or of the one before the current one. */
static guint
neighbour_pass_end (IrSession *self, gboolean forward)
{
  const IrModel *model = ir_session_get_history (self);
  const guint n = ir_history_n_pass_runs (model);
  guint best = forward ? ir_history_n_steps (model) : 0;

  for (guint i = 0; i < n; i++)
    {
      const IrPassRun *run = ir_history_pass_run (model, i);
      const guint end = run->first_step + run->n_steps - 1;

      if (run->n_steps == 0)
        continue;
      if (forward && end > own (self)->cursor)
        return end;
      if (!forward && end < own (self)->cursor)
        best = end;
    }
  return best;
}

/**
 * ir_session_pass_by:
 * @n_passes: how many pass runs to go on (or, if negative, back)
 *
 * Moves the cursor to the ends of pass runs; a comparison with the step before becomes one with the
 * beginning of the pass.
 */
void
ir_session_pass_by (IrSession *self, int n_passes)
{
  IrSessionChanges changes;

  if (ir_session_is_empty (self))
    return;
  changes = compare_as_moved (self, IR_COMPARE_PASS);
  for (int i = 0; i < ABS (n_passes); i++)
    changes |= move (self, neighbour_pass_end (self, n_passes > 0));
  if (changes != 0)
    ir_session_changed (self, changes);
}
