/* Why not: all rules that start at the operator of a node are compared with the graph in a job;
 * those that fit and whose pass did not run are tried, so that the answer says what they would do;
 * one answer at a time is drawn on the graph, at the step where its pattern was compared. */
#include "config.h"

#include "views/session/session-private.h"

typedef struct
{
  IrTimeline *timeline;
  IrNodeId node;
} WhyRequest;

static void
why_request_free (gpointer data)
{
  WhyRequest *request = data;

  ir_timeline_unref (request->timeline);
  g_free (request);
}

/* What was asked, answered and drawn holds for no other timeline. */
void
ir_session_forget_whys (IrSession *self)
{
  if (self->why_job != NULL)
    ir_job_cancel (self->why_job);
  g_clear_pointer (&self->why_job, ir_job_unref);
  g_clear_pointer (&self->whys, g_ptr_array_unref);
  g_clear_pointer (&self->marks, ir_scene_marks_unref);
  g_clear_pointer (&self->shown_why, g_free);
  g_clear_pointer (&self->shown_why_text, g_free);
  self->asked = 0;
}

static gpointer
run_why (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const WhyRequest *request = data;
  IrTimeline *timeline = request->timeline;
  g_autoptr (IrModel) model = ir_timeline_fork (timeline, ir_history_n_steps (timeline->model));
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
  IrSession *self = owner;
  const WhyRequest *request = data;
  g_autoptr (GPtrArray) whys = result;

  if (request->timeline != self->timeline || request->node != self->asked)
    return;
  g_clear_pointer (&self->why_job, ir_job_unref);
  if (whys == NULL)
    return;
  g_clear_pointer (&self->whys, g_ptr_array_unref);
  self->whys = g_steal_pointer (&whys);
  ir_session_changed (self, IR_CHANGED_DEBUG);
}

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

  if (self->timeline == NULL || node == 0 || node & IR_OTHER_SIDE || node == self->asked)
    return;
  if (self->why_job != NULL)
    ir_job_cancel (self->why_job);
  g_clear_pointer (&self->why_job, ir_job_unref);
  g_clear_pointer (&self->whys, g_ptr_array_unref);
  self->asked = node;
  request = g_new0 (WhyRequest, 1);
  request->timeline = ir_timeline_ref (self->timeline);
  request->node = node;
  self->why_job = ir_job_start (self,
                                &(IrJobSpec){ .run = run_why,
                                              .data = request,
                                              .data_free = why_request_free,
                                              .result_free = (GDestroyNotify) g_ptr_array_unref,
                                              .done = on_why });
}

GPtrArray *
ir_session_get_whys (IrSession *self)
{
  return self->whys;
}

IrNodeId
ir_session_get_asked (IrSession *self)
{
  return self->asked;
}

/* At another step than @step nothing is drawn any more. */
gboolean
ir_session_hide_why (IrSession *self, guint step)
{
  if (self->marks == NULL || self->marks_step == step)
    return FALSE;
  g_clear_pointer (&self->marks, ir_scene_marks_unref);
  g_clear_pointer (&self->shown_why, g_free);
  g_clear_pointer (&self->shown_why_text, g_free);
  self->serial++;
  return TRUE;
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
  if (why != NULL && why->answer == IR_WHY_FIRED)
    {
      ir_session_show_why (self, NULL);
      ir_session_set_compare (self, IR_COMPARE_STEP);
      ir_session_goto (self, g_array_index (why->steps, guint, 0));
      return;
    }
  if (why == NULL && self->marks == NULL)
    return;
  g_clear_pointer (&self->marks, ir_scene_marks_unref);
  g_clear_pointer (&self->shown_why, g_free);
  g_clear_pointer (&self->shown_why_text, g_free);
  if (why != NULL && (self->marks = ir_why_marks (why)) != NULL)
    {
      self->marks_step = why->at_step;
      self->shown_why = g_strdup (why->rule);
      self->shown_why_text = text_of (why);
      if (self->cursor != why->at_step)
        {
          self->cursor = why->at_step;
          g_object_notify (G_OBJECT (self), "cursor");
        }
    }
  ir_session_picture_changed (self);
  ir_session_changed (self, IR_CHANGED_DEBUG);
}

const char *
ir_session_get_shown_why (IrSession *self)
{
  return self->shown_why;
}

const char *
ir_session_get_shown_why_text (IrSession *self)
{
  return self->shown_why_text;
}
