/* What if: the two results are two timelines, of which one is on screen and the other is kept, so that
 * going back takes no time. */
#include "config.h"

#include "views/session/session-private.h"

void
ir_session_forget_what_if (IrSession *self)
{
  ir_job_free_later (g_steal_pointer (&self->kept), (GDestroyNotify) ir_timeline_unref);
  ir_job_free_later (g_steal_pointer (&self->kept_frame), (GDestroyNotify) ir_frame_unref);
  g_clear_pointer (&self->skips, g_strfreev);
  g_clear_pointer (&self->what_if, ir_what_if_free);
  self->shows_what_if = FALSE;
}

/* Just before the result without @skips takes its place: the original one is kept. */
void
ir_session_keep_original (IrSession *self, GStrv skips, IrWhatIf *what_if)
{
  const gboolean is_kept = self->kept != NULL && self->shows_what_if;
  IrTimeline *original = ir_timeline_ref (is_kept ? self->kept : self->timeline);
  IrFrame *frame = ir_frame_ref (is_kept ? self->kept_frame : self->frame);

  ir_session_forget_what_if (self);
  self->kept = original;
  self->kept_frame = frame;
  self->skips = skips;
  self->what_if = what_if;
  self->shows_what_if = TRUE;
}

static void
swap_results (IrSession *self)
{
  IrTimeline *timeline = g_steal_pointer (&self->kept);
  IrFrame *frame = g_steal_pointer (&self->kept_frame);

  self->kept = ir_timeline_ref (self->timeline);
  self->kept_frame = ir_frame_ref (self->frame);
  self->serial++;
  ir_session_take_timeline (self, timeline, frame);
  self->shows_what_if = !self->shows_what_if;
}

static void
results_changed (IrSession *self)
{
  ir_session_forget_after (self);
  ir_session_keep_live_selection (self);
  ir_session_changed (self, IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_SELECTION |
                                IR_CHANGED_RUNS | IR_CHANGED_DEBUG);
  ir_session_request_frame (self); /* it may have been made with other settings */
}

/**
 * ir_session_show_what_if:
 * @what_if: %FALSE shows the original result, with nothing skipped
 *
 * Changes between the two results; both are kept.
 */
void
ir_session_show_what_if (IrSession *self, gboolean what_if)
{
  if (self->kept == NULL || self->shows_what_if == !!what_if)
    return;
  swap_results (self);
  results_changed (self);
}

/**
 * ir_session_skip_nothing:
 *
 * Ends the what-if: the original result is there again.
 */
void
ir_session_skip_nothing (IrSession *self)
{
  if (self->kept == NULL)
    return;
  if (self->shows_what_if)
    swap_results (self);
  ir_session_forget_what_if (self);
  ir_session_check_compare (self);
  results_changed (self);
}

const IrWhatIf *
ir_session_get_what_if (IrSession *self)
{
  return self->what_if;
}

gboolean
ir_session_shows_what_if (IrSession *self)
{
  return self->shows_what_if;
}

const char *const *
ir_session_get_skips (IrSession *self)
{
  return (const char *const *) self->skips;
}
