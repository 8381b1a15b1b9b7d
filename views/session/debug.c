/* What the jobs of the debugger share. */
#include "config.h"

#include "views/session/session-private.h"

IrDebugRequest *
ir_debug_request_new (IrSession *self)
{
  IrDebugRequest *request = g_new0 (IrDebugRequest, 1);

  request->timeline = ir_timeline_ref (self->timeline);
  request->inputs = ir_session_copy_inputs (self->inputs);
  request->seed = self->seed;
  request->sizes = g_hash_table_ref (self->sizes);
  return request;
}

void
ir_debug_request_free (gpointer data)
{
  IrDebugRequest *request = data;

  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->inputs, g_hash_table_unref);
  g_clear_pointer (&request->sizes, g_hash_table_unref);
  g_free (request->predicate);
  g_free (request->folder);
  g_free (request);
}

IrTrial *
ir_debug_trial (const IrDebugRequest *request, GCancellable *cancellable, GError **error)
{
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrModel) model = NULL;

  inputs = ir_session_all_inputs (request->timeline->original, request->inputs, request->seed,
                                  request->sizes, error);
  if (inputs == NULL)
    return NULL;
  model = ir_timeline_fork (request->timeline, ir_history_n_steps (request->timeline->model));
  return ir_trial_new (model, inputs, ir_backend_find ("cpu"), 0, cancellable);
}

/* What was found out about the timeline's steps holds for no other. */
void
ir_session_forget_findings (IrSession *self)
{
  self->board_serial++;
  self->wants_run = 0;
  self->pending_node = 0;
  self->pending_value = 0;
  if (self->board_job != NULL)
    ir_job_cancel (self->board_job);
  g_clear_pointer (&self->board_job, ir_job_unref);
  g_clear_pointer (&self->board, ir_scoreboard_unref);
  g_clear_pointer (&self->bisection, ir_bisection_free);
  g_clear_pointer (&self->bisected, g_free);
  g_clear_pointer (&self->times, g_free);
  g_clear_pointer (&self->spreads, g_free);
}

void
ir_session_clear_debug (IrSession *self)
{
  ir_session_forget_findings (self);
  ir_session_forget_what_if (self);
  g_clear_pointer (&self->breakpoints, g_ptr_array_unref);
}
