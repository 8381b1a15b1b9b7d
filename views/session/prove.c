/* The proof of one step, and of all that have none yet. */
#include "config.h"

#include "passes/pipeline/pipeline.h"
#include "core/ir/count.h"
#include "views/session/prove-private.h"
#include "views/session/request.h"
#include "views/session/timeline.h"

/* Proofs run every changed cone, so they are made by themselves only for graphs that run in about a
 * second. */
#define MAX_FLOPS G_GUINT64_CONSTANT (4000000000)
#define MAX_STEPS 2000

gboolean
ir_history_is_large (const IrModel *model)
{
  const guint n = ir_history_n_steps (model);

  return n > MAX_STEPS || (n > 0 && ir_history_step (model, 1)->cost_before.flops > MAX_FLOPS);
}

char *
ir_proof_summary_text (const IrProofSummary *summary)
{
  g_autofree char *exact = ir_count_text (summary->n[IR_VERDICT_EXACT]),
                  *rounding = ir_count_text (summary->n[IR_VERDICT_ROUNDING]),
                  *broken = ir_count_text (summary->n[IR_VERDICT_BROKEN]);

  return g_strdup_printf ("%s exact, %s rounding, %s broken", exact, rounding, broken);
}

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
  .runs = TRUE,
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

/* -- all of them -- */

typedef struct
{
  IrRequest base;
  GMutex lock;
  GArray *proofs; /* of IrProof, by step - 1, under the lock: they stay when the job is cancelled */
  guint n_unproved; /* when it began */
} AllRequest;

static void
clear_all (gpointer data)
{
  AllRequest *request = data;

  g_clear_pointer (&request->proofs, g_array_unref);
  g_mutex_clear (&request->lock);
}

/* What is done by hand is not meant to leave values as they are. */
static gboolean
needs_verdict (const IrModel *model, guint index)
{
  const IrStep *step = ir_history_step (model, index);

  return step->proof.verdict == IR_VERDICT_NONE && step->step_class != IR_CLASS_EDIT;
}

static gpointer
run_prove_all (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  AllRequest *request = data;
  g_autoptr (IrModel) model = ir_timeline_copy (request->base.timeline);
  g_autoptr (GHashTable) inputs = ir_feed_inputs (
      &request->base.feed, ir_timeline_original (request->base.timeline), error);
  g_autoptr (IrProver) prover = NULL;
  guint n_done = 0;

  if (inputs != NULL)
    prover = ir_prover_new (model, inputs, ir_backend_find ("cpu"), cancellable, error);
  if (prover == NULL)
    return NULL;
  for (guint step = 1; step <= request->proofs->len; step++)
    {
      g_autofree char *text = g_strdup_printf ("Checking step %u of %u", step,
                                               request->proofs->len);
      IrProof proof;

      if (!needs_verdict (model, step))
        continue;
      ir_job_report (job, (double) n_done++ / request->n_unproved, text);
      if (g_cancellable_set_error_if_cancelled (cancellable, error) ||
          !ir_prover_prove_step (prover, step, &proof, error))
        return NULL;
      g_mutex_lock (&request->lock);
      g_array_index (request->proofs, IrProof, step - 1) = proof;
      g_mutex_unlock (&request->lock);
    }
  return request;
}

/* Those that there are, into the history. */
static IrProofSummary
take_proofs (IrSession *self, AllRequest *request)
{
  GMutexLocker *locker = ir_timeline_lock (request->base.timeline);
  IrModel *model = ir_timeline_model (request->base.timeline);
  IrProofSummary summary = { 0 };

  g_mutex_lock (&request->lock);
  for (guint i = 0; i < request->proofs->len; i++)
    {
      const IrProof *proof = &g_array_index (request->proofs, IrProof, i);

      if (proof->verdict == IR_VERDICT_NONE)
        continue;
      ir_history_set_proof (model, i + 1, proof);
      summary.n[proof->verdict]++;
    }
  g_mutex_unlock (&request->lock);
  g_mutex_locker_free (locker);
  return summary;
}

static void
end_prove_all (IrSession *self, AllRequest *request, const GError *error)
{
  IrProofSummary summary;
  g_autofree char *done = NULL, *all = ir_count_text (request->n_unproved), *text = NULL;

  if (ir_request_is_current (request, self))
    {
      guint n = 0;

      summary = take_proofs (self, request);
      for (guint i = 0; i < G_N_ELEMENTS (summary.n); i++)
        n += summary.n[i];
      done = ir_count_text (n);
      ir_session_changed (self, IR_CHANGED_HISTORY);
      text = ir_proof_summary_text (&summary);
      ir_session_message (self, "Checked %s of %s steps: %s", done, all, text);
    }
  ir_session_changed (self, IR_CHANGED_BUSY);
  if (error != NULL && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    ir_session_run_failed (self, "The steps could not be checked", error);
}

static void
on_proved_all (IrSession *self, gpointer result, gpointer data)
{
  end_prove_all (self, data, NULL);
}

static void
on_not_proved_all (IrSession *self, const GError *error, gpointer data)
{
  end_prove_all (self, data, error);
}

static const IrWork prove_all_work = {
  .run = run_prove_all,
  .done = on_proved_all,
  .failed = on_not_proved_all,
  .clear = clear_all,
  .runs = TRUE,
};

/**
 * ir_session_n_unproved:
 * @large: (out): whether the graph is too large for that to be done by itself
 *
 * Returns: how many steps of passes have no verdict
 */
guint
ir_session_n_unproved (IrSession *self, gboolean *large)
{
  IrTimeline *timeline = ir_session_get_timeline (self);
  g_autoptr (GMutexLocker) locker = timeline != NULL ? ir_timeline_lock (timeline) : NULL;
  const IrModel *model = timeline != NULL ? ir_timeline_model (timeline) : NULL;
  guint n = 0;

  *large = model != NULL && ir_history_is_large (model);
  for (guint step = 1; model != NULL && step <= ir_history_n_steps (model); step++)
    n += needs_verdict (model, step);
  return n;
}

static gboolean
is_broken (const IrModel *model, guint step)
{
  return ir_history_step (model, step)->proof.verdict == IR_VERDICT_BROKEN;
}

/**
 * ir_session_n_broken:
 *
 * Returns: how many steps were proved to change a value by more than rounding
 */
guint
ir_session_n_broken (IrSession *self)
{
  IrTimeline *timeline = ir_session_get_timeline (self);
  g_autoptr (GMutexLocker) locker = timeline != NULL ? ir_timeline_lock (timeline) : NULL;
  const IrModel *model = timeline != NULL ? ir_timeline_model (timeline) : NULL;
  guint n = 0;

  for (guint step = 1; model != NULL && step <= ir_history_n_steps (model); step++)
    n += is_broken (model, step);
  return n;
}

/**
 * ir_session_next_broken:
 *
 * Goes to the next step that is broken; behind the last one to the first
 */
void
ir_session_next_broken (IrSession *self)
{
  const IrModel *model = ir_session_get_history (self);
  const guint n = ir_session_get_n_steps (self), cursor = ir_session_get_cursor (self);

  for (guint i = 0; model != NULL && i < n; i++)
    {
      const guint step = (cursor + i) % n + 1;

      if (!is_broken (model, step))
        continue;
      ir_session_set_compare (self, IR_COMPARE_STEP);
      ir_session_goto (self, step);
      return;
    }
}

/**
 * ir_session_prove_all:
 *
 * Gives every step a verdict that has none, however long that takes. What was found stays when it is
 * cancelled.
 */
void
ir_session_prove_all (IrSession *self)
{
  AllRequest *request;
  gboolean large;
  const guint n = ir_session_n_unproved (self, &large);

  if (n == 0)
    return;
  request = ir_session_new_request (self, &prove_all_work, sizeof *request);
  g_mutex_init (&request->lock);
  request->proofs = g_array_new (FALSE, TRUE, sizeof (IrProof));
  g_array_set_size (request->proofs, ir_timeline_n_steps (request->base.timeline));
  request->n_unproved = n;
  ir_session_start (self, "Checking the steps", request);
}
