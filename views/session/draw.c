/* Making frames. Moving the cursor is a job of its own kind: it may run beside a long one, and a burst
 * of moves (the slider) makes only the newest frame after the current one. */
#include "config.h"

#include "views/picture.h"
#include "views/session/session-private.h"

static void
frame_request_free (gpointer data)
{
  IrFrameRequest *request = data;

  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->previous, ir_frame_unref);
  g_clear_pointer (&request->settings, ir_picture_settings_unref);
  g_clear_pointer (&request->other, ir_model_unref);
  g_clear_pointer (&request->other_timeline, ir_timeline_unref);
  g_free (request);
}

/* @problems: of the graph that is drawn */
IrPictureSettings *
ir_session_picture_settings (IrSession *self, GPtrArray *problems)
{
  IrPictureSettings *settings = ir_picture_settings_new (
      self->serial, self->show, self->folded, self->overlay, self->runs[IR_SIDE_AFTER], problems);

  ir_picture_settings_set_automatic (settings, self->automatic);
  ir_picture_settings_set_marks (settings, self->marks, self->marks_step);
  return settings;
}

/* (transfer full) (nullable): what the frame is compared with, if that has another history. */
static IrModel *
foreign_side (const IrFrameRequest *request)
{
  IrModel *model;

  if (request->other != NULL)
    return ir_model_ref (request->other);
  if (request->other_timeline == NULL)
    return NULL;
  g_mutex_lock (&request->other_timeline->lock);
  model = ir_history_snapshot (request->other_timeline->model,
                               ir_history_n_steps (request->other_timeline->model));
  g_mutex_unlock (&request->other_timeline->lock);
  return model;
}

IrFrame *
ir_frame_make (const IrFrameRequest *request, GCancellable *cancellable, GError **error)
{
  IrFrame *frame = g_new0 (IrFrame, 1);
  IrModel *other = foreign_side (request);

  g_atomic_ref_count_init (&frame->ref_count);
  frame->from = request->from;
  frame->to = request->to;
  g_mutex_lock (&request->timeline->lock);
  frame->model = ir_history_snapshot (request->timeline->model, request->to);
  frame->before = other != NULL ? other
                  : request->from == request->to
                      ? ir_model_ref (frame->model)
                      : ir_history_snapshot (request->timeline->model, request->from);
  g_mutex_unlock (&request->timeline->lock);
  frame->foreign = other != NULL;
  if (other == NULL && request->settings->marks != NULL &&
      request->settings->marks_step == request->to && request->from == request->to)
    frame->marks = ir_scene_marks_ref (request->settings->marks);
  frame->diff = ir_diff_new (frame->before, frame->model, !frame->foreign);
  frame->serial = request->settings->serial;
  frame->scene = ir_picture_new (frame, request->settings, request->previous, cancellable, error);
  return frame;
}

static gpointer
run_frame (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) local = NULL;
  IrFrame *frame = ir_frame_make (data, cancellable, &local);

  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    {
      ir_frame_unref (frame);
      return NULL;
    }
  if (local != NULL)
    g_warning ("layout: %s", local->message);
  return frame;
}

static void
on_frame (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  IrFrameRequest *request = data;
  IrFrame *frame = result;

  g_clear_pointer (&self->frame_job, ir_job_unref);
  if (frame != NULL && request->timeline == self->timeline)
    {
      ir_job_free_later (self->frame, (GDestroyNotify) ir_frame_unref);
      self->frame = g_steal_pointer (&frame);
      /* other values belong to another pair of graphs */
      ir_session_changed (
          self, IR_CHANGED_FRAME | (self->values != NULL ? IR_CHANGED_RUNS : 0) |
                    (self->faults != NULL || self->found->len > 1 ? IR_CHANGED_PROBLEMS : 0));
      ir_session_select_pending (self);
    }
  g_clear_pointer (&frame, ir_frame_unref);
  ir_session_request_frame (self);
}

/* Starts to make the frame that is wanted, unless it is there or one is being made. */
void
ir_session_request_frame (IrSession *self)
{
  IrFrameRequest *request;
  guint from;

  if (self->frame == NULL || self->frame_job != NULL)
    return;
  from = ir_session_compare_from (self, self->cursor);
  if (self->frame->to == self->cursor && self->frame->from == from &&
      self->frame->serial == self->serial)
    return;
  request = g_new0 (IrFrameRequest, 1);
  request->timeline = ir_timeline_ref (self->timeline);
  request->from = from;
  request->to = self->cursor;
  request->previous = ir_frame_ref (self->frame);
  request->settings = ir_session_picture_settings (self, ir_session_problems_at (self, self->cursor));
  if (self->marks == NULL)
    {
      request->other = ir_session_other_model (self);
      request->other_timeline = ir_session_other_timeline (self);
    }
  self->frame_job = ir_job_start (self,
                                  &(IrJobSpec){ .run = run_frame,
                                                .data = request,
                                                .data_free = frame_request_free,
                                                .result_free = (GDestroyNotify) ir_frame_unref,
                                                .done = on_frame });
}
