/* Comparing the graph at the cursor with what has another history: another file, or the other
 * result of a what-if. The frame's other side has ids of its own then; where one is selected it
 * carries IR_OTHER_SIDE. */
#include "config.h"

#include "views/session/frame-private.h"
#include "views/session/timeline-private.h"

typedef struct
{
  IrCompare compare;
  guint pinned;
  IrModel *other;     /* (nullable) frozen: the file to compare with */
  char *other_path;   /* (nullable) */
  IrTimeline *result; /* (nullable) the other result of a what-if */
} Comparison;

static void
clear (gpointer state)
{
  Comparison *self = state;

  g_clear_pointer (&self->other, ir_model_unref);
  g_clear_pointer (&self->result, ir_timeline_unref);
  g_free (self->other_path);
}

IR_SESSION_NOUN (Comparison, NULL, clear)

static gboolean
is_foreign (IrCompare compare)
{
  return compare == IR_COMPARE_FILE || compare == IR_COMPARE_RESULT;
}

IrModel *
ir_session_other_model (IrSession *self)
{
  return own (self)->compare == IR_COMPARE_FILE && own (self)->other != NULL
             ? ir_model_ref (own (self)->other)
             : NULL;
}

IrTimeline *
ir_session_other_timeline (IrSession *self)
{
  return own (self)->compare == IR_COMPARE_RESULT && own (self)->result != NULL
             ? ir_timeline_ref (own (self)->result)
             : NULL;
}

void
ir_session_set_other_result (IrSession *self, IrTimeline *result)
{
  IrTimeline *before = own (self)->result;

  own (self)->result = result != NULL ? ir_timeline_ref (result) : NULL;
  ir_job_free_later (before, (GDestroyNotify) ir_timeline_unref);
}

void
ir_session_place_compare (IrSession *self, IrCompare compare)
{
  own (self)->compare = compare;
}

void
ir_session_forget_other (IrSession *self)
{
  ir_job_free_later (g_steal_pointer (&own (self)->other), (GDestroyNotify) ir_model_unref);
  g_clear_pointer (&own (self)->other_path, g_free);
}

void
ir_session_check_compare (IrSession *self)
{
  if (ir_session_can_compare (self, own (self)->compare))
    return;
  ir_session_age_picture (self);
  ir_session_place_compare (self, IR_COMPARE_STEP);
}

void
ir_session_take_other (IrSession *self, IrModel *model, const char *path)
{
  ir_session_forget_other (self);
  own (self)->other = model;
  own (self)->other_path = g_strdup (path);
  ir_session_age_picture (self);
  ir_session_place_compare (self, IR_COMPARE_FILE);
}

/**
 * ir_session_can_compare:
 * @compare: a comparison
 *
 * Returns: whether there is such a thing to compare with now
 */
gboolean
ir_session_can_compare (IrSession *self, IrCompare compare)
{
  if (compare == IR_COMPARE_FILE)
    return own (self)->other != NULL;
  if (compare == IR_COMPARE_RESULT)
    return own (self)->result != NULL;
  return TRUE;
}

const char *
ir_session_get_other_path (IrSession *self)
{
  return own (self)->other_path;
}

/**
 * ir_session_other_title:
 *
 * Returns: (transfer full): the name of the file that is compared with, "" if there is none
 */
char *
ir_session_other_title (IrSession *self)
{
  return own (self)->other_path != NULL ? g_path_get_basename (own (self)->other_path)
                                        : g_strdup ("");
}

IrCompare
ir_session_get_compare (IrSession *self)
{
  return own (self)->compare;
}

guint
ir_compare_step (IrCompare compare, const IrModel *history, guint to, guint pinned)
{
  switch (compare)
    {
    case IR_COMPARE_STEP:
      return to > 0 ? to - 1 : 0;
    case IR_COMPARE_PASS:
      if (to == 0)
        return 0;
      return ir_history_pass_run (history, ir_history_step (history, to)->pass_run)->first_step - 1;
    case IR_COMPARE_ORIGINAL:
      return 0;
    case IR_COMPARE_PINNED:
      return MIN (pinned, ir_history_n_steps (history));
    case IR_COMPARE_FILE:
    case IR_COMPARE_RESULT:
    case IR_COMPARE_NOTHING:
    case IR_N_COMPARES:
    default:
      return to;
    }
}

guint
ir_session_compare_from (IrSession *self, guint to)
{
  if (ir_session_has_marks_at (self, to))
    return to;
  return ir_compare_step (own (self)->compare, ir_session_get_history (self), to,
                          own (self)->pinned);
}

void
ir_session_set_compare (IrSession *self, IrCompare compare)
{
  g_return_if_fail (compare < IR_N_COMPARES);
  ir_session_clear_marks (self);
  if (own (self)->compare == compare || !ir_session_can_compare (self, compare))
    return;
  if (is_foreign (compare) || is_foreign (own (self)->compare))
    ir_session_age_picture (self);
  own (self)->compare = compare;
  ir_session_changed (self, IR_CHANGED_COMPARE);
}

/**
 * ir_session_pin:
 * @step: a step
 *
 * From now on the graph at the cursor is compared with the graph at @step.
 */
void
ir_session_pin (IrSession *self, guint step)
{
  own (self)->pinned = MIN (step, ir_session_get_n_steps (self));
  own (self)->compare = IR_COMPARE_PINNED;
  ir_session_changed (self, IR_CHANGED_COMPARE);
}

guint
ir_session_get_base (IrSession *self)
{
  return ir_session_is_empty (self) ? 0
                                    : ir_session_compare_from (self, ir_session_get_cursor (self));
}

/**
 * ir_session_set_base:
 * @step: a step, on either side of the cursor
 *
 * One point is a look, two are a difference.
 */
void
ir_session_set_base (IrSession *self, guint step)
{
  ir_session_clear_marks (self);
  if (is_foreign (own (self)->compare))
    ir_session_age_picture (self);
  if (step == ir_session_get_cursor (self))
    ir_session_set_compare (self, IR_COMPARE_NOTHING);
  else
    ir_session_pin (self, step);
}

guint
ir_session_get_pin (IrSession *self)
{
  return own (self)->pinned;
}

void
ir_session_place_pin (IrSession *self, guint at_most)
{
  own (self)->pinned = MIN (own (self)->pinned, at_most);
}
