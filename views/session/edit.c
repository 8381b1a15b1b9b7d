/* Editing the graph by hand: each edit is a step. */
#include "config.h"

#include "core/op/verify.h"
#include "passes/pass.h"
#include "passes/pipeline/pipeline.h"
#include "views/session/debug-private.h"
#include "views/session/edit-private.h"
#include "views/session/problems-private.h"
#include "views/session/replace.h"
#include "views/session/runs-private.h"
#include "views/session/selection-private.h"
#include "views/session/timeline-private.h"
#include "views/session/undo-private.h"
#include "views/session/undo.h"

typedef struct
{
  IrRequest base;
  IrPictureSettings *settings;
  guint step;
  char *title;
  IrDone *said; /* how it is done again */
  IrSessionEditFunc func;
  IrPipeline *pipeline;          /* (nullable) makes the steps instead of @func */
  IrSessionEdited edited;        /* (nullable) */
  IrSessionNotEdited not_edited; /* (nullable) says it, instead of "failed" */
  gpointer data;
  GDestroyNotify data_free;
} EditRequest;

static void
clear_request (gpointer data)
{
  EditRequest *request = data;

  ir_picture_settings_unref (request->settings);
  g_free (request->title);
  ir_done_free (request->said);
  g_clear_pointer (&request->pipeline, ir_pipeline_free);
  if (request->data_free != NULL)
    request->data_free (request->data);
}

static gboolean
make_steps (EditRequest *request,
            IrModel *model,
            GPtrArray *problems,
            GCancellable *cancellable,
            GError **error)
{
  const IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                      .backend = ir_backend_find ("cpu") };
  IrPipelineResult result = { 0 };
  IrEdit *edit;
  gboolean ok;

  if (request->pipeline != NULL)
    return ir_pipeline_run (model, request->pipeline, &options, &result, cancellable, error);
  edit = ir_edit_new (model);
  ir_edit_begin_pass (edit, IR_EDIT_PASS);
  ok = request->func (edit, request->data, problems, cancellable, error);
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  return ok;
}

static gpointer
run_edit (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  EditRequest *request = data;
  g_autoptr (IrModel) model = ir_timeline_fork (request->base.timeline, request->step);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrSuccessor *successor;
  guint n;

  const IrCost before = ir_cost_model (model, NULL);
  if (!make_steps (request, model, problems, cancellable, error) ||
      g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  n = ir_history_n_steps (model);
  if (request->pipeline == NULL && n == request->step + 1)
    {
      const IrCost after = ir_cost_model (model, NULL);
      ir_history_set_cost (model, n, &before, &after);
    }
  ir_verify_model (model, problems);
  ir_picture_settings_set_problems (request->settings, problems);
  successor = ir_successor_new (ir_model_ref (model), NULL, request->step, n, request->base.frame,
                                request->settings, cancellable);
  successor->problems = g_steal_pointer (&problems);
  successor->message = g_strdup_printf ("Applied as step %u%s", n,
                                        request->step < ir_timeline_n_steps (request->base.timeline)
                                            ? "; what followed is a branch"
                                            : "");
  return successor;
}

static void
on_edited (IrSession *self, gpointer result, gpointer data)
{
  EditRequest *request = data;
  IrSuccessor *successor = result;
  const gboolean is_current = ir_request_is_current (data, self);
  const guint n_branches = ir_session_get_n_branches (self);

  if (is_current && successor->frame->to == request->step)
    ir_session_message (self, "Nothing changed");
  else if (is_current)
    {
      ir_session_forget_what_if (self);
      ir_session_take_successor (self, successor);
      ir_session_check_compare (self);
      ir_session_record_act (self, &request->base, request->title, request->step,
                             g_steal_pointer (&request->said));
      ir_session_forget_run_after (self);
      ir_session_keep_live_selection (self);
      ir_session_changed (self, IR_CHANGED_ALL &
                                    ~(IR_CHANGED_OVERLAY | IR_CHANGED_TIME_SPAN |
                                      IR_CHANGED_CURSOR | IR_CHANGED_COMPARE | IR_CHANGED_PICTURE));
      if (request->edited == NULL || ir_session_get_n_branches (self) > n_branches)
        ir_session_message (self, "%s", successor->message);
      if (request->edited != NULL)
        request->edited (self, request->data);
    }
  ir_session_changed (self, IR_CHANGED_BUSY);
  ir_successor_free (successor);
}

static void
on_not_edited (IrSession *self, const GError *error, gpointer data)
{
  const EditRequest *request = data;
  g_autofree char *title = g_strdup_printf ("Cannot %s", request->title);

  if (request->not_edited != NULL)
    request->not_edited (self, title, error, request->data);
  else
    ir_session_failed (self, title, error);
}

static const IrWork edit_work = {
  .run = run_edit,
  .done = on_edited,
  .failed = on_not_edited,
  .clear = clear_request,
  .result_free = ir_successor_free,
};

/* Takes @said. */
static EditRequest *
new_request (IrSession *self, const char *title, IrDone *said)
{
  EditRequest *request;

  ir_session_clear_marks (self);
  request = ir_session_new_request (self, &edit_work, sizeof *request);
  request->settings = ir_session_picture_settings (self, ir_session_get_run (self, IR_SIDE_AFTER),
                                                   ir_session_found_at (self, 0));
  request->step = request->base.frame->to;
  request->title = g_strdup (title);
  request->said = said;
  return request;
}

/**
 * ir_session_edit:
 * @title: what is done, such as "Apply Text", for the progress line and the menu
 * @said: (transfer full): how a session does it again
 * @func: makes the steps, in a thread
 * @data: (transfer full): freed by @data_free when done
 *
 * Edits the graph at the cursor; steps beyond it stay as a branch.
 */
void
ir_session_edit (IrSession *self,
                 const char *title,
                 IrDone *said,
                 IrSessionEditFunc func,
                 gpointer data,
                 GDestroyNotify data_free)
{
  ir_session_edit_then (self, title, said, func, NULL, NULL, data, data_free);
}

/**
 * ir_session_upgrade_opset:
 * @opset: a version of ai.onnx, not older than that of the graph at the cursor
 *
 * Rewrites the nodes that have another form in @opset, a step each, and imports it: what
 * `irscope convert --opset` does. It is an edit, which pipelines leave in place.
 */
void
ir_session_upgrade_opset (IrSession *self, gint64 opset)
{
  static const char *const names[] = { IR_PASS_UPGRADE_OPSET, NULL };
  g_autofree char *title = g_strdup_printf ("Upgrade to Opset %" G_GINT64_FORMAT, opset);
  g_autofree char *version = g_strdup_printf ("%" G_GINT64_FORMAT, opset);
  g_autofree char *setting = g_strdup_printf (IR_PASS_UPGRADE_OPSET ".opset=%" G_GINT64_FORMAT,
                                              opset);
  g_autoptr (GError) error = NULL;
  EditRequest *request;

  if (ir_session_is_empty (self))
    return;
  request = new_request (self, title, ir_done_new (IR_DONE_OPSET, version, NULL, 0));
  request->pipeline = ir_pipeline_new_from_names (names, &error);
  if (request->pipeline == NULL || !ir_pipeline_set (request->pipeline, setting, &error))
    {
      ir_request_free (request);
      ir_session_failed (self, "Cannot Upgrade", error);
      return;
    }
  g_free (request->pipeline->name);
  request->pipeline->name = g_strdup (IR_EDIT_PASS);
  ir_session_start (self, title, request);
}

/* The same; @edited (nullable) hears of it when the edit is on screen, @not_edited (nullable) when it is refused. */
void
ir_session_edit_then (IrSession *self,
                      const char *title,
                      IrDone *said,
                      IrSessionEditFunc func,
                      IrSessionEdited edited,
                      IrSessionNotEdited not_edited,
                      gpointer data,
                      GDestroyNotify data_free)
{
  EditRequest *request;

  if (ir_session_is_empty (self))
    {
      if (data_free != NULL)
        data_free (data);
      ir_done_free (said);
      return;
    }
  request = new_request (self, title, said);
  request->func = func;
  request->edited = edited;
  request->not_edited = not_edited;
  request->data = data;
  request->data_free = data_free;
  ir_session_start (self, title, request);
}
