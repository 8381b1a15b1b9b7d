/* Puts a new history in the place of the old one, all of it at once: what a job brings that opened a
 * file, ran a pipeline or edited the graph. */
#include "config.h"

#include "views/session/debug-private.h"
#include "views/session/problems-private.h"
#include "views/session/replace.h"
#include "views/session/runs-private.h"
#include "views/session/selection-private.h"

void
ir_successor_free (gpointer data)
{
  IrSuccessor *successor = data;

  g_clear_pointer (&successor->timeline, ir_timeline_unref);
  g_clear_pointer (&successor->frame, ir_frame_unref);
  g_clear_pointer (&successor->problems, g_ptr_array_unref);
  g_clear_pointer (&successor->what_if, ir_what_if_free);
  g_clear_pointer (&successor->other, ir_model_unref);
  g_clear_pointer (&successor->folds, g_hash_table_unref);
  g_clear_pointer (&successor->execution, ir_execution_report_free);
  g_free (successor->message);
  g_free (successor);
}

IrSuccessor *
ir_successor_new (IrModel *model,
                  IrModel *other,
                  guint from,
                  guint to,
                  IrFrame *previous,
                  IrPictureSettings *settings,
                  GCancellable *cancellable)
{
  return ir_successor_show (ir_timeline_new (model), other, from, to, previous, settings,
                            cancellable);
}

IrSuccessor *
ir_successor_show (IrTimeline *timeline,
                   IrModel *other,
                   guint from,
                   guint to,
                   IrFrame *previous,
                   IrPictureSettings *settings,
                   GCancellable *cancellable)
{
  IrSuccessor *successor = g_new0 (IrSuccessor, 1);
  g_autoptr (GError) error = NULL;

  successor->timeline = timeline;
  successor->frame = ir_frame_make (&(IrFrameSpec){ .timeline = successor->timeline,
                                                    .other = other,
                                                    .from = from,
                                                    .to = to,
                                                    .previous = previous,
                                                    .settings = settings },
                                    cancellable, &error);
  if (error != NULL && !g_cancellable_is_cancelled (cancellable))
    g_warning ("layout: %s", error->message);
  return successor;
}

void
ir_session_take_timeline (IrSession *self, IrTimeline *timeline, IrFrame *frame)
{
  ir_session_forget_scores (self);
  ir_session_forget_bisection (self);
  ir_session_forget_whys (self);
  ir_session_forget_execution (self);
  ir_session_set_timeline (self, timeline);
  ir_session_set_frame (self, frame);
  ir_session_place_cursor (self, frame->to);
  ir_session_forget_hover (self);
  ir_session_place_pin (self, ir_timeline_n_steps (timeline));
}

void
ir_session_take_successor (IrSession *self, IrSuccessor *successor)
{
  const guint step = successor->frame->to;

  ir_session_forget_values (self);
  ir_session_take_timeline (self, g_steal_pointer (&successor->timeline),
                            g_steal_pointer (&successor->frame));
  if (successor->problems != NULL)
    ir_session_take_problems (self, step, g_steal_pointer (&successor->problems));
  else
    ir_session_forget_problems (self, ir_timeline_last_edit (ir_session_get_timeline (self)));
  if (successor->execution != NULL)
    ir_session_take_execution (self, g_steal_pointer (&successor->execution));
}
