#include "config.h"

#include "views/session/request.h"

gpointer
ir_session_new_request (IrSession *self, const IrWork *work, gsize size)
{
  IrRequest *request = g_malloc0 (size);
  IrTimeline *timeline = ir_session_get_timeline (self);
  IrFrame *frame = ir_session_get_frame (self);

  request->work = work;
  request->timeline = timeline != NULL ? ir_timeline_ref (timeline) : NULL;
  request->frame = frame != NULL ? ir_frame_ref (frame) : NULL;
  request->feed = ir_session_dup_feed (self);
  return request;
}

void
ir_request_free (gpointer data)
{
  IrRequest *request = data;

  if (request->work->clear != NULL)
    request->work->clear (request);
  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->frame, ir_frame_unref);
  ir_feed_clear (&request->feed);
  g_free (request);
}

static gpointer
run (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  IrRequest *request = data;

  request->job = job;
  return request->work->run (job, request, cancellable, error);
}

static void
on_done (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  const IrWork *work = ((IrRequest *) data)->work;

  ir_session_end_job (owner);
  if (result != NULL)
    {
      work->done (owner, result, data);
      return;
    }
  ir_session_changed (owner, IR_CHANGED_BUSY);
  if (work->failed != NULL)
    work->failed (owner, error, data);
  else
    ir_session_failed (owner, work->failure, error);
}

static IrJobSpec
spec_of (IrRequest *request, IrJobDone done)
{
  return (IrJobSpec){ .run = run,
                      .data = request,
                      .data_free = ir_request_free,
                      .result_free = request->work->result_free,
                      .done = done };
}

void
ir_session_start (IrSession *self, const char *text, gpointer request)
{
  const IrJobSpec spec = spec_of (request, on_done);

  ir_session_start_job (self, text, &spec);
}

IrJob *
ir_session_start_beside (IrSession *self, gpointer request, IrJobDone done)
{
  const IrJobSpec spec = spec_of (request, done);

  return ir_job_start (self, &spec);
}

gboolean
ir_request_is_current (gpointer request, IrSession *self)
{
  return ((IrRequest *) request)->timeline == ir_session_get_timeline (self);
}
