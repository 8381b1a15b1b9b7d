/* The proof of one step. */
#include "config.h"

#include "passes/pipeline/pipeline.h"
#include "views/session/session-private.h"

/* On a fork: the history on screen is not written while views may read it. */
static gpointer
run_prove (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const IrDebugRequest *request = data;
  IrTimeline *timeline = request->timeline;
  g_autoptr (IrModel) model = ir_timeline_fork (timeline, ir_history_n_steps (timeline->model));
  g_autoptr (GHashTable) inputs = ir_session_all_inputs (timeline->original, request->inputs,
                                                         request->seed, request->sizes, error);
  g_autoptr (IrProver) prover = NULL;
  IrProof *proof;

  if (inputs == NULL)
    return NULL;
  prover = ir_prover_new (model, inputs, ir_backend_find ("cpu"), cancellable, error);
  if (prover == NULL)
    return NULL;
  proof = g_new0 (IrProof, 1);
  if (ir_prover_prove_step (prover, request->step, proof, error))
    return proof;
  g_free (proof);
  return NULL;
}

static void
on_proved (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  const IrDebugRequest *request = data;
  g_autofree IrProof *proof = result;

  ir_session_end_job (self);
  if (proof != NULL && request->timeline == self->timeline)
    {
      g_mutex_lock (&self->timeline->lock);
      ir_history_set_proof (self->timeline->model, request->step, proof);
      g_mutex_unlock (&self->timeline->lock);
      ir_session_changed (self, IR_CHANGED_HISTORY);
      ir_session_message (self, "Step %u: %s", request->step, ir_verdict_name (proof->verdict));
    }
  else if (proof == NULL)
    ir_session_failed (self, "The step could not be proved", error);
  ir_session_changed (self, IR_CHANGED_BUSY);
}

/**
 * ir_session_prove_step:
 * @step: a step
 *
 * Runs the cone of @step before and after, and gives the step its verdict.
 */
void
ir_session_prove_step (IrSession *self, guint step)
{
  IrDebugRequest *request;

  if (self->frame == NULL || step == 0 || step > ir_session_get_n_steps (self))
    return;
  request = ir_debug_request_new (self);
  request->step = step;
  ir_session_start_job (self, "Proving the step",
                        &(IrJobSpec){ .run = run_prove,
                                      .data = request,
                                      .data_free = ir_debug_request_free,
                                      .result_free = g_free,
                                      .done = on_proved });
}
