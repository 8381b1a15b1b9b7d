/* Editing the graph by hand: each edit is a step. */
#include "config.h"

#include "core/op/verify.h"
#include "views/picture.h"
#include "views/session/session-private.h"

typedef struct
{
  IrTimeline *timeline;
  IrFrame *previous;
  IrPictureSettings *settings;
  guint step;
  IrSessionEditFunc func;
  gpointer data;
  GDestroyNotify data_free;
} EditRequest;

static void
edit_request_free (gpointer data)
{
  EditRequest *request = data;

  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->previous, ir_frame_unref);
  g_clear_pointer (&request->settings, ir_picture_settings_unref);
  if (request->data_free != NULL)
    request->data_free (request->data);
  g_free (request);
}

static gpointer
run_edit (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  EditRequest *request = data;
  const IrStop stop = { .cancellable = cancellable };
  g_autoptr (IrModel) model = ir_timeline_fork (request->timeline, request->step);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrEdit *edit;
  IrCost before, after;
  gboolean ok;
  IrOpened *opened;
  guint n;

  if (!ir_cost_model_until (model, NULL, &stop, &before))
    return g_cancellable_set_error_if_cancelled (cancellable, error), NULL;
  edit = ir_edit_new (model);
  ir_edit_begin_pass (edit, "edit");
  ok = request->func (edit, request->data, problems, cancellable, error);
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  if (!ok || g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  n = ir_history_n_steps (model);
  if (n == request->step + 1)
    {
      if (!ir_cost_model_until (model, NULL, &stop, &after))
        return g_cancellable_set_error_if_cancelled (cancellable, error), NULL;
      ir_history_set_cost (model, n, &before, &after);
    }
  ir_verify_model (model, problems);
  ir_picture_settings_set_problems (request->settings, problems);
  opened = ir_opened_new (ir_model_ref (model), NULL, request->step, n, request->previous,
                       request->settings, cancellable);
  opened->problems = g_steal_pointer (&problems);
  opened->message = g_strdup_printf ("Applied as step %u", n);
  return opened;
}

static void
on_edited (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  EditRequest *request = data;
  IrOpened *opened = result;

  ir_session_end_job (self);
  if (opened == NULL)
    {
      ir_session_changed (self, IR_CHANGED_BUSY);
      ir_session_failed (self, "The edit could not be made", error);
      return;
    }
  if (request->timeline == self->timeline && opened->frame->to == request->step)
    ir_session_message (self, "Nothing changed");
  else if (request->timeline == self->timeline)
    {
      ir_session_forget_what_if (self);
      ir_session_take_opened (self, opened);
      ir_session_check_compare (self);
      self->modified = TRUE;
      ir_job_free_later (g_steal_pointer (&self->runs[IR_SIDE_AFTER]),
                         (GDestroyNotify) ir_run_unref);
      ir_session_keep_live_selection (self);
      ir_session_changed (self, IR_CHANGED_ALL & ~(IR_CHANGED_OVERLAY | IR_CHANGED_TIME_SPAN));
      ir_session_message (self, "%s", opened->message);
    }
  ir_session_changed (self, IR_CHANGED_BUSY);
  ir_opened_free (opened);
}

/**
 * ir_session_edit:
 * @title: what is done, for the progress line
 * @func: makes the steps, in a thread
 * @data: (transfer full): freed by @data_free when done
 *
 * Edits the graph at the cursor; steps beyond it are cut off.
 */
void
ir_session_edit (IrSession *self,
                 const char *title,
                 IrSessionEditFunc func,
                 gpointer data,
                 GDestroyNotify data_free)
{
  EditRequest *request = g_new0 (EditRequest, 1);

  request->func = func;
  request->data = data;
  request->data_free = data_free;
  if (self->frame == NULL)
    {
      edit_request_free (request);
      return;
    }
  request->timeline = ir_timeline_ref (self->timeline);
  request->previous = ir_frame_ref (self->frame);
  ir_session_show_why (self, NULL);
  request->settings = ir_session_picture_settings (self, ir_session_found_at (self, 0));
  request->step = self->frame->to;
  ir_session_start_job (self, title,
                        &(IrJobSpec){ .run = run_edit,
                                      .data = request,
                                      .data_free = edit_request_free,
                                      .result_free = ir_opened_free,
                                      .done = on_edited });
}
