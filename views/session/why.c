/* Why not: all rules that start at the operator of a node are compared with the graph in a job;
 * those that fit and whose pass did not run are tried, so that the answer says what they would do;
 * one answer at a time is drawn on the graph, at the step where its pattern was compared. */
#include "config.h"

#include "views/session/debug-private.h"

typedef struct
{
  GPtrArray *whys; /* (nullable) of IrWhy, about @asked */
  IrNodeId asked;
  IrJob *job; /* (nullable) */
} Whys;

static void
clear (gpointer state)
{
  Whys *self = state;

  ir_session_drop_job (&self->job);
  g_clear_pointer (&self->whys, g_ptr_array_unref);
  self->asked = 0;
}

IR_SESSION_NOUN (Whys, NULL, clear)

/* What is drawn, too. */
void
ir_session_forget_whys (IrSession *self)
{
  clear (own (self));
  ir_session_forget_marks (self);
}

typedef struct
{
  IrRequest base;
  IrNodeId node;
} WhyRequest;

static gpointer
run_why (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const WhyRequest *request = data;
  g_autoptr (IrModel) model = ir_timeline_copy (request->base.timeline);
  GPtrArray *whys;

  whys = ir_why_rules (model, request->node, IR_CLASS_ROUNDING);
  for (guint i = 0; i < whys->len && !g_cancellable_is_cancelled (cancellable); i++)
    {
      IrWhy *why = whys->pdata[i];

      if (why->answer == IR_WHY_NOT_RUN && why->holds)
        ir_why_try (model, why, IR_CLASS_ROUNDING, cancellable);
    }
  return whys;
}

static void
on_why (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  g_autoptr (GPtrArray) whys = result;
  Whys *state = own (owner);

  if (((IrRequest *) data)->job != state->job)
    return; /* it was cancelled */
  g_clear_pointer (&state->job, ir_job_unref);
  if (whys == NULL)
    return;
  state->whys = g_steal_pointer (&whys);
  ir_session_changed (owner, IR_CHANGED_WHY);
}

static const IrWork why_work = {
  .run = run_why,
  .result_free = (GDestroyNotify) g_ptr_array_unref,
};

/**
 * ir_session_ask_why:
 * @node: a node of any step
 *
 * Compares all rules that start at its operator, unless that was done or is being done.
 */
void
ir_session_ask_why (IrSession *self, IrNodeId node)
{
  WhyRequest *request;

  if (ir_session_is_empty (self) || node == 0 || node & IR_OTHER_SIDE || node == own (self)->asked)
    return;
  clear (own (self));
  own (self)->asked = node;
  request = ir_session_new_request (self, &why_work, sizeof *request);
  request->node = node;
  own (self)->job = ir_session_start_beside (self, request, on_why);
}

GPtrArray *
ir_session_get_whys (IrSession *self)
{
  return own (self)->whys;
}

IrNodeId
ir_session_get_asked (IrSession *self)
{
  return own (self)->asked;
}

static char *
text_of (const IrWhy *why)
{
  if (why->reason == NULL && why->answer == IR_WHY_NOT_RUN)
    return g_strdup (why->holds ? "The rule would be applied here" : "");
  if (why->reason == NULL)
    return g_strdup (why->holds ? "The pattern fits" : "");
  if (why->needed == NULL)
    return g_strdup (why->reason);
  return g_strdup_printf ("%s\nNeeded: %s", why->reason, why->needed);
}

/**
 * ir_session_show_why:
 * @why: (nullable): an answer of ir_session_get_whys(); %NULL: nothing is drawn any more
 *
 * Goes to the step where the pattern was compared and draws what fits, what does not and what is
 * missing. Of a rule that fired the step itself is shown.
 */
void
ir_session_show_why (IrSession *self, const IrWhy *why)
{
  if (why == NULL || why->answer == IR_WHY_FIRED)
    ir_session_clear_marks (self);
  else
    {
      IrSceneMarks *marks = ir_why_marks (why);
      const gboolean moves = marks != NULL && ir_session_get_cursor (self) != why->at_step;

      ir_session_take_marks (self, marks, why->at_step, marks != NULL ? why->rule : NULL,
                             marks != NULL ? text_of (why) : NULL);
      if (moves)
        ir_session_place_cursor (self, why->at_step);
      ir_session_age_picture (self);
      ir_session_changed (self,
                          IR_CHANGED_PICTURE | IR_CHANGED_WHY | (moves ? IR_CHANGED_CURSOR : 0));
    }
  if (why != NULL && why->answer == IR_WHY_FIRED)
    {
      ir_session_set_compare (self, IR_COMPARE_STEP);
      ir_session_goto (self, g_array_index (why->steps, guint, 0));
    }
}
