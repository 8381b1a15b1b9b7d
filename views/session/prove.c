/* The proof of one step. */
#include "config.h"

#include "passes/pipeline/pipeline.h"
#include "views/session/request.h"

typedef struct
{
  IrRequest base;
  guint step;
} ProofRequest;

/* On a fork: the history on screen is not written while views may read it. */
static gpointer
run_prove (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const ProofRequest *request = data;
  IrTimeline *timeline = request->base.timeline;
  g_autoptr (IrModel) model = ir_timeline_copy (timeline);
  g_autoptr (GHashTable)
      inputs = ir_feed_inputs (&request->base.feed, ir_timeline_original (timeline), error);
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
on_proved (IrSession *self, gpointer result, gpointer data)
{
  const ProofRequest *request = data;
  g_autofree IrProof *proof = result;

  if (ir_request_is_current (data, self))
    {
      GMutexLocker *locker = ir_timeline_lock (request->base.timeline);

      ir_history_set_proof (ir_timeline_model (request->base.timeline), request->step, proof);
      g_mutex_locker_free (locker);
      ir_session_changed (self, IR_CHANGED_HISTORY);
      ir_session_message (self, "Step %u: %s", request->step, ir_verdict_name (proof->verdict));
    }
  ir_session_changed (self, IR_CHANGED_BUSY);
}

static const IrWork prove_work = {
  .run = run_prove,
  .done = on_proved,
  .failure = "The step could not be proved",
  .result_free = g_free,
};

/**
 * ir_session_prove_step:
 * @step: a step
 *
 * Runs the cone of @step before and after, and gives the step its verdict.
 */
void
ir_session_prove_step (IrSession *self, guint step)
{
  ProofRequest *request;

  if (ir_session_is_empty (self) || step == 0 || step > ir_session_get_n_steps (self))
    return;
  request = ir_session_new_request (self, &prove_work, sizeof *request);
  request->step = step;
  ir_session_start (self, "Proving the step", request);
}
