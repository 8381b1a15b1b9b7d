/* What the chosen pipeline would gain at the step on screen: it runs on a copy, beside other work. */
#include "config.h"

#include "passes/debug/gain.h"
#include "views/session/debug-private.h"

typedef struct
{
  IrJob *job;           /* (nullable) */
  IrTimeline *timeline; /* (nullable) that @text is of, or is going to be */
  guint step;
  char *pipeline, *text; /* (nullable) */
} Gain;

static void
clear (gpointer state)
{
  Gain *self = state;

  ir_session_drop_job (&self->job);
  g_clear_pointer (&self->timeline, ir_timeline_unref);
  g_clear_pointer (&self->pipeline, g_free);
  g_clear_pointer (&self->text, g_free);
}

IR_SESSION_NOUN (Gain, NULL, clear)

typedef struct
{
  IrRequest base;
  IrPipeline *pipeline;
  guint step;
} GainRequest;

static void
clear_request (gpointer data)
{
  ir_pipeline_free (((GainRequest *) data)->pipeline);
}

static gpointer
run_gain (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  GainRequest *request = data;
  g_autoptr (IrModel) model = ir_timeline_fork (request->base.timeline, request->step);
  IrGain gain;

  return ir_gain_measure (model, request->pipeline, ir_backend_find ("cpu"), &gain, cancellable,
                          error)
             ? ir_gain_text (&gain, request->pipeline->title)
             : NULL;
}

static void
on_gain (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  Gain *gain = own (owner);

  if (((IrRequest *) data)->job != gain->job)
    {
      g_free (result); /* it was cancelled */
      return;
    }
  g_clear_pointer (&gain->job, ir_job_unref);
  g_free (gain->text);
  gain->text = error != NULL ? g_strdup (error->message) : result;
  ir_session_changed (owner, IR_CHANGED_SCORES);
}

static const IrWork gain_work = {
  .run = run_gain,
  .clear = clear_request,
  .result_free = g_free,
};

static gboolean
is_current (IrSession *self)
{
  const Gain *gain = own (self);

  return gain->timeline != NULL && gain->timeline == ir_session_get_timeline (self) &&
         gain->step == ir_session_get_cursor (self) &&
         g_strcmp0 (gain->pipeline, ir_session_get_pipeline (self)) == 0;
}

/**
 * ir_session_measure_gain:
 *
 * Runs the chosen pipeline on a copy of the graph on screen, beside other work; %IR_CHANGED_SCORES says
 * when it has ended.
 */
void
ir_session_measure_gain (IrSession *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_session_load_pipeline (self, &error);
  Gain *gain = own (self);
  GainRequest *request;

  if (ir_session_is_empty (self))
    return;
  clear (gain);
  gain->timeline = ir_timeline_ref (ir_session_get_timeline (self));
  gain->step = ir_session_get_cursor (self);
  gain->pipeline = g_strdup (ir_session_get_pipeline (self));
  if (pipeline != NULL)
    {
      request = ir_session_new_request (self, &gain_work, sizeof *request);
      request->pipeline = g_steal_pointer (&pipeline);
      request->step = gain->step;
      gain->job = ir_session_start_beside (self, request, on_gain);
    }
  else
    gain->text = g_strdup (error->message);
  ir_session_changed (self, IR_CHANGED_SCORES);
}

void
ir_session_cancel_gain (IrSession *self)
{
  clear (own (self));
  ir_session_changed (self, IR_CHANGED_SCORES);
}

gboolean
ir_session_is_measuring_gain (IrSession *self)
{
  return own (self)->job != NULL;
}

/**
 * ir_session_get_gain:
 *
 * Returns: (transfer none) (nullable): what was found, as a sentence; %NULL if that is of another graph
 */
const char *
ir_session_get_gain (IrSession *self)
{
  return is_current (self) ? own (self)->text : NULL;
}
