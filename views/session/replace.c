/* Puts a new history in the place of the old one, all of it at once: what a job brings that opened a
 * file, ran a pipeline or edited the graph. */
#include "config.h"

#include "views/picture.h"
#include "views/session/session-private.h"

void
ir_opened_free (gpointer data)
{
  IrOpened *opened = data;

  g_clear_pointer (&opened->timeline, ir_timeline_unref);
  g_clear_pointer (&opened->frame, ir_frame_unref);
  g_clear_pointer (&opened->problems, g_ptr_array_unref);
  g_clear_pointer (&opened->what_if, ir_what_if_free);
  g_clear_pointer (&opened->other, ir_model_unref);
  g_clear_pointer (&opened->folds, g_hash_table_unref);
  g_clear_pointer (&opened->execution, ir_execution_report_free);
  g_free (opened->message);
  g_free (opened);
}

/* Lays out @model, at @to compared with @from or (nullable) @other, as the first frame of a new
 * timeline. */
IrOpened *
ir_opened_new (IrModel *model,
            IrModel *other,
            guint from,
            guint to,
            IrFrame *previous,
            IrPictureSettings *settings,
            GCancellable *cancellable)
{
  IrOpened *opened = g_new0 (IrOpened, 1);
  g_autoptr (GError) error = NULL;

  opened->timeline = ir_timeline_new (model);
  opened->frame = ir_frame_make (&(IrFrameRequest){ .timeline = opened->timeline,
                                               .other = other,
                                               .from = from,
                                               .to = to,
                                               .previous = previous,
                                               .settings = settings },
                              cancellable, &error);
  if (error != NULL && !g_cancellable_is_cancelled (cancellable))
    g_warning ("layout: %s", error->message);
  return opened;
}

void
ir_session_take_timeline (IrSession *self, IrTimeline *timeline, IrFrame *frame)
{
  ir_session_forget_findings (self);
  ir_session_forget_whys (self);
  ir_session_forget_execution (self);
  ir_job_free_later (self->timeline, (GDestroyNotify) ir_timeline_unref);
  ir_job_free_later (self->frame, (GDestroyNotify) ir_frame_unref);
  self->timeline = timeline;
  self->frame = frame;
  self->cursor = frame->to;
  self->hover = 0;
  self->pinned = MIN (self->pinned, ir_history_n_steps (timeline->model));
}

void
ir_session_take_opened (IrSession *self, IrOpened *opened)
{
  ir_session_forget_values (self);
  ir_session_take_timeline (self, g_steal_pointer (&opened->timeline),
                            g_steal_pointer (&opened->frame));
  if (opened->problems != NULL)
    ir_session_take_problems (self, self->frame->to, g_steal_pointer (&opened->problems));
  else
    ir_session_forget_problems (self, ir_history_n_edits (self->timeline->model));
  if (opened->execution != NULL)
    ir_session_take_execution (self, g_steal_pointer (&opened->execution));
}
