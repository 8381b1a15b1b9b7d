/* What if: the two results are two timelines, of which one is on screen and the other is kept, so that
 * going back takes no time. */
#include "config.h"

#include "views/session/debug-private.h"
#include "views/session/replace.h"
#include "views/session/runs-private.h"
#include "views/session/selection-private.h"

typedef struct
{
  GStrv skips;       /* (nullable) what the what-if left out */
  IrTimeline *kept;  /* (nullable) the other result: the original's, or the what-if's */
  IrFrame *frame;    /* (nullable) its */
  gboolean is_shown; /* that without @skips is on screen */
  IrWhatIf *what_if; /* (nullable) */
  GStrv ended;       /* (nullable) what the last one left out, that was gone on with or ended */
} WhatIf;

static void
clear (gpointer state)
{
  WhatIf *self = state;

  ir_job_free_later (self->kept, (GDestroyNotify) ir_timeline_unref);
  ir_job_free_later (self->frame, (GDestroyNotify) ir_frame_unref);
  g_strfreev (self->skips);
  g_strfreev (self->ended);
  g_clear_pointer (&self->what_if, ir_what_if_free);
  *self = (WhatIf){ 0 };
}

IR_SESSION_NOUN (WhatIf, NULL, clear)

void
ir_session_forget_what_if (IrSession *self)
{
  GStrv ended = g_steal_pointer (&own (self)->skips);

  clear (own (self));
  own (self)->ended = ended;
  ir_session_set_other_result (self, NULL);
}

static void
keep (IrSession *self, IrTimeline *timeline, IrFrame *frame)
{
  own (self)->kept = timeline;
  own (self)->frame = frame;
  ir_session_set_other_result (self, timeline);
}

IrTimeline *
ir_session_get_unskipped (IrSession *self)
{
  return own (self)->is_shown ? own (self)->kept : ir_session_get_timeline (self);
}

void
ir_session_keep_original (IrSession *self, GStrv skips, IrWhatIf *what_if)
{
  IrTimeline *original = ir_timeline_ref (ir_session_get_unskipped (self));
  IrFrame *frame = ir_frame_ref (own (self)->is_shown ? own (self)->frame
                                                      : ir_session_get_frame (self));

  clear (own (self));
  keep (self, original, frame);
  own (self)->skips = skips;
  own (self)->what_if = what_if;
  own (self)->is_shown = TRUE;
}

static void
swap_results (IrSession *self)
{
  IrTimeline *timeline = own (self)->kept;
  IrFrame *frame = own (self)->frame;

  keep (self, ir_timeline_ref (ir_session_get_timeline (self)),
        ir_frame_ref (ir_session_get_frame (self)));
  ir_session_age_picture (self);
  ir_session_take_timeline (self, timeline, frame);
  own (self)->is_shown = !own (self)->is_shown;
}

static void
results_changed (IrSession *self)
{
  ir_session_forget_run_after (self);
  ir_session_forget_records (self);
  ir_session_forget_kernel_times (self);
  ir_session_keep_live_selection (self);
  /* the picture too: it may have been made with other settings */
  ir_session_changed (self, IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_PICTURE |
                                IR_CHANGED_SELECTION | IR_CHANGED_RUNS | IR_CHANGED_KERNELS |
                                IR_CHANGED_VALUES | IR_CHANGED_SCORES | IR_CHANGED_WHAT_IF |
                                IR_CHANGED_BISECTION | IR_CHANGED_WHY);
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
  if (own (self)->kept == NULL || own (self)->is_shown == !!what_if)
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
  if (own (self)->kept == NULL)
    return;
  if (own (self)->is_shown)
    swap_results (self);
  ir_session_forget_what_if (self);
  ir_session_check_compare (self);
  results_changed (self);
}

const IrWhatIf *
ir_session_get_what_if (IrSession *self)
{
  return own (self)->what_if;
}

gboolean
ir_session_shows_what_if (IrSession *self)
{
  return own (self)->is_shown;
}

const char *const *
ir_session_get_skips (IrSession *self)
{
  return (const char *const *) own (self)->skips;
}

const char *const *
ir_session_get_ended_skips (IrSession *self)
{
  return (const char *const *) own (self)->ended;
}
