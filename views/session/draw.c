/* Making frames. Moving the cursor is a job of its own kind: it may run beside a long one, and a
 * burst of moves (the slider) makes only the newest frame after the current one. */
#include "config.h"

#include "views/session/debug-private.h"
#include "views/session/problems-private.h"
#include "views/session/replace.h"
#include "views/session/runs-private.h"

#define MAX_SEEN          16
#define MAX_DESCENT_STEPS 20000 /* that are compared: of more, brackets would be one over another */

typedef struct
{
  IrJob *job;      /* (nullable) */
  GPtrArray *seen; /* of IrFrame: those of one position with other folds, to which one goes back */
} Drawing;

static void
init (gpointer state)
{
  ((Drawing *) state)->seen = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_frame_unref);
}

static void
clear (gpointer state)
{
  ir_session_drop_job (&((Drawing *) state)->job);
  g_ptr_array_unref (((Drawing *) state)->seen);
}

IR_SESSION_NOUN (Drawing, init, clear)

static gboolean
is_position_of (const IrFrame *frame, const IrFrame *other)
{
  return frame->from == other->from && frame->to == other->to &&
         frame->model->context == other->model->context && frame->foreign == other->foreign;
}

/* A group that is closed again leaves the picture as it was before it was opened: what was seen
 * before with the same folds is the one whose places are kept. */
static void
remember_frame (IrSession *self, IrFrame *frame)
{
  GPtrArray *seen = own (self)->seen;

  if (seen->len > 0 && !is_position_of (seen->pdata[0], frame))
    g_ptr_array_set_size (seen, 0);
  for (guint i = 0; i < seen->len; i++)
    if (((IrFrame *) seen->pdata[i])->shape == frame->shape)
      {
        g_ptr_array_remove_index (seen, i);
        break;
      }
  if (seen->len >= MAX_SEEN)
    g_ptr_array_remove_index (seen, 0);
  g_ptr_array_add (seen, ir_frame_ref (frame));
}

static IrFrame *
find_seen (IrSession *self, const IrFrame *now, guint from, guint to, guint64 shape)
{
  GPtrArray *seen = own (self)->seen;

  if (now->from != from || now->to != to || now->shape == shape)
    return NULL;
  for (guint i = 0; i < seen->len; i++)
    {
      IrFrame *frame = seen->pdata[i];

      if (frame->shape == shape && is_position_of (frame, now))
        return frame;
    }
  return NULL;
}

/* The step by itself, beside the graph: what it was done to, and what came of that. */
static void
add_rewrite (IrFrame *frame, IrTimeline *timeline, GCancellable *cancellable)
{
  g_autoptr (IrModel) before = NULL;

  if (frame->to == 0)
    return;
  before = !frame->foreign && frame->from + 1 == frame->to
               ? ir_model_ref (frame->before)
               : ir_timeline_snapshot (timeline, frame->to - 1);
  frame->rewrite = ir_rewrite_new (ir_timeline_model (timeline), frame->to, before, frame->model);
  frame->rewrite_across = ir_picture_of_rewrite (frame->rewrite, IR_SCENE_JOIN_RIGHT, cancellable);
  frame->rewrite_down = ir_picture_of_rewrite (frame->rewrite, IR_SCENE_JOIN_DOWN, cancellable);
}

IrFrame *
ir_frame_make (const IrFrameSpec *spec, GCancellable *cancellable, GError **error)
{
  IrFrame *frame = g_new0 (IrFrame, 1);
  IrPictureSettings *settings = spec->settings;
  g_autoptr (IrOverlayFacts) facts = NULL;

  g_atomic_ref_count_init (&frame->ref_count);
  frame->from = spec->from;
  frame->to = spec->to;
  frame->model = ir_timeline_snapshot (spec->timeline, spec->to);
  frame->before = spec->other != NULL      ? ir_model_ref (spec->other)
                  : spec->from == spec->to ? ir_model_ref (frame->model)
                                           : ir_timeline_snapshot (spec->timeline, spec->from);
  frame->foreign = spec->other != NULL;
  if (!frame->foreign && settings->marks != NULL && settings->marks_step == spec->to &&
      spec->from == spec->to)
    frame->marks = ir_scene_marks_ref (settings->marks);
  frame->diff = ir_diff_new (frame->before, frame->model, !frame->foreign);
  if (!frame->foreign && frame->from != frame->to &&
      ABS ((gint64) frame->to - frame->from) <= MAX_DESCENT_STEPS)
    ir_diff_add_descent (frame->diff, ir_timeline_model (spec->timeline), frame->from, frame->to);
  frame->serial = settings->serial;
  frame->root = g_intern_string (settings->look->root);
  frame->shape = ir_look_shape (settings->look);
  facts = ir_picture_facts (settings);
  if (settings->look->overlay != NULL)
    ir_timeline_add_steps (spec->timeline, facts, spec->to);
  frame->scene = ir_picture_new (frame, settings, spec->previous, facts, &frame->scale, cancellable,
                                 error);
  add_rewrite (frame, spec->timeline, cancellable);
  return frame;
}

typedef struct
{
  IrRequest base; /* whose frame is the one before */
  guint from, to;
  IrPictureSettings *settings;
  IrModel *other;             /* (nullable): compared with this instead of with @from */
  IrTimeline *other_timeline; /* (nullable): or with the last step of this */
} FrameRequest;

static void
clear_request (gpointer data)
{
  FrameRequest *request = data;

  g_clear_pointer (&request->settings, ir_picture_settings_unref);
  g_clear_pointer (&request->other, ir_model_unref);
  g_clear_pointer (&request->other_timeline, ir_timeline_unref);
}

static gpointer
run_frame (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  FrameRequest *request = data;
  IrTimeline *result = request->other_timeline;
  g_autoptr (GError) local = NULL;
  IrFrame *frame;

  if (request->other == NULL && result != NULL)
    request->other = ir_timeline_snapshot (result, ir_timeline_n_steps (result));
  frame = ir_frame_make (&(IrFrameSpec){ .timeline = request->base.timeline,
                                         .from = request->from,
                                         .to = request->to,
                                         .previous = request->base.frame,
                                         .settings = request->settings,
                                         .other = request->other },
                         cancellable, &local);
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
  g_autoptr (IrFrame) frame = result;

  g_clear_pointer (&own (self)->job, ir_job_unref);
  if (frame != NULL && ir_request_is_current (data, self))
    {
      remember_frame (self, frame);
      ir_session_set_frame (self, g_steal_pointer (&frame));
      /* other values belong to another pair of graphs */
      ir_session_changed (self, IR_CHANGED_FRAME |
                                    (ir_session_has_values (self) ? IR_CHANGED_VALUES : 0) |
                                    (ir_session_problems_vary (self) ? IR_CHANGED_PROBLEMS : 0));
      ir_session_select_pending (self);
    }
  ir_session_request_frame (self);
}

static const IrWork frame_work = {
  .run = run_frame,
  .clear = clear_request,
  .result_free = (GDestroyNotify) ir_frame_unref,
};

void
ir_session_request_frame (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);
  const guint cursor = ir_session_get_cursor (self);
  FrameRequest *request;
  IrFrame *seen;
  guint from;

  if (frame == NULL || own (self)->job != NULL)
    return;
  from = ir_session_compare_from (self, cursor);
  if (frame->to == cursor && frame->from == from &&
      frame->serial == ir_session_get_picture_serial (self))
    return;
  request = ir_session_new_request (self, &frame_work, sizeof *request);
  request->from = from;
  request->to = cursor;
  request->settings = ir_session_picture_settings (self, ir_session_get_run (self, IR_SIDE_AFTER),
                                                   ir_session_problems_at (self, cursor));
  if (own (self)->seen->len == 0)
    remember_frame (self, ir_session_get_frame (self));
  seen = find_seen (self, frame, from, cursor, ir_look_shape (request->settings->look));
  if (seen != NULL)
    {
      ir_frame_unref (request->base.frame);
      request->base.frame = ir_frame_ref (seen);
    }
  if (!ir_session_has_marks (self))
    {
      request->other = ir_session_other_model (self);
      request->other_timeline = ir_session_other_timeline (self);
    }
  own (self)->job = ir_session_start_beside (self, request, on_frame);
}
