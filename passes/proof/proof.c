/* Proof: after a step, its changed cone is run before and after on captured values, and the results
 * are compared.
 *
 *   inputs of the cone        values that both sides have and no changed node makes; their contents
 *                             are those of one captured run of the original model (of the value
 *                             that they stand for), so every step is judged by itself
 *   outputs of the cone       the step's correspondence: the new value that stands for the old one
 *
 * The verdict: exact, if all bits agree (any NaN is as good as another). Rounding, if every element
 * of the new side lies as near to the old cone evaluated in float64 (inputs widened, reference
 * kernels) as rounding explains, by a bound from the sums of both cones (wide.c), plus the
 * tolerance of the rows in the cone. Broken otherwise, or if one side is not finite where the other
 * is. Skipped, with the reason, if a node of the cone cannot run.
 *
 * Nothing is computed twice: what the captured run and earlier steps have made is found again by
 * its number (evaluate.c), so the old side costs next to nothing, and a whole pipeline costs the
 * captured run and the kernels of what its steps have made. */
#include "config.h"

#include "passes/proof/proof-private.h"

#include <string.h>

/* -- a prover -- */

/* Values of expanded calls have ids that mean something else in later states. */
static gboolean
is_of_a_call (gpointer id, gpointer number, gpointer original)
{
  return ir_model_live_value (original, GPOINTER_TO_UINT (id)) == NULL;
}

/* FALSE if it was cancelled: of a graph with a node that cannot run there is no run, or one that
 * ends before its end. */
static gboolean
run_original (IrProver *prover,
              IrModel *original,
              GHashTable *inputs,
              const IrProverOptions *how,
              GError **error)
{
  IrRunOptions options = { .backend = &prover->plain,
                           .n_threads = how->n_threads,
                           .partial = TRUE, /* steps that need more are skipped */
                           .capture = IR_CAPTURE_ALL };
  g_autoptr (IrExecutable) executable = NULL;
  g_autoptr (IrRun) run = NULL, partial = NULL;
  g_autoptr (GError) local = NULL;
  gint64 start = ir_evaluator_clock_ns ();

  ir_run_options_limit (&options, &how->limits);
  executable = ir_executable_new (original, &options, &local);
  if (executable != NULL)
    run = ir_executable_run (executable, inputs, prover->cancellable, &partial, &local);
  prover->cost.captured_ns = ir_evaluator_clock_ns () - start;
  if (g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED) ||
      g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  prover->run = run != NULL ? g_steal_pointer (&run) : g_steal_pointer (&partial);
  return TRUE;
}

/**
 * ir_prover_new_with:
 * @model: a model with a history; its cursor stays where it is
 * @inputs: value id -> #IrTensor for the inputs of the original graph
 * @backend: (nullable): what both sides run on; %NULL: reference kernels
 * @options: threads and limits
 * @cancellable: (nullable): asked while running
 * @error: return location for an error
 *
 * Runs the model as it was at step 0 once, keeping every value. If a node cannot run, steps that
 * need what it gives are skipped, and all others judged.
 *
 * Returns: (transfer full): a prover, or %NULL if it was cancelled or @inputs do not fit
 */
IrProver *
ir_prover_new_with (IrModel *model,
                    GHashTable *inputs,
                    const IrBackend *backend,
                    const IrProverOptions *options,
                    GCancellable *cancellable,
                    GError **error)
{
  g_autoptr (IrProver) prover = g_new0 (IrProver, 1);
  g_autoptr (IrModel) original = ir_history_snapshot (model, 0), flat = NULL;

  prover->model = ir_model_ref (model);
  prover->plain = *(backend != NULL ? backend : ir_backend_find ("ref"));
  prover->plain.plan_blocks = NULL; /* cones run node by node: the captured run does as they do */
  prover->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
  prover->inputs = g_hash_table_ref (inputs);
  prover->how = *options;
  prover->captured = g_hash_table_new (NULL, NULL);
  prover->stands_for = g_hash_table_new (NULL, NULL);
  prover->evaluator = ir_evaluator_new (&prover->plain, options->n_threads, cancellable);
  ir_evaluator_limit (prover->evaluator, &options->limits);
  if (!run_original (prover, original, inputs, options, error))
    return NULL;
  flat = ir_model_has_calls (original) ? ir_exec_expand (original, error) : ir_model_ref (original);
  if (flat == NULL)
    return NULL;
  ir_evaluator_start (prover->evaluator);
  ir_evaluator_take_run (prover->evaluator, flat, prover->run, inputs, prover->captured);
  g_hash_table_foreach_remove (prover->captured, is_of_a_call, original);
  return g_steal_pointer (&prover);
}

/**
 * ir_prover_new:
 * @model: a model with a history; its cursor stays where it is
 * @inputs: value id -> #IrTensor for the inputs of the original graph
 * @backend: (nullable): what both sides run on; %NULL: reference kernels
 * @cancellable: (nullable): asked while running
 * @error: return location for an error
 *
 * As ir_prover_new_with() on all cores, with the limits of a run.
 *
 * Returns: (transfer full): a prover, or %NULL if nothing could be run
 */
IrProver *
ir_prover_new (IrModel *model,
               GHashTable *inputs,
               const IrBackend *backend,
               GCancellable *cancellable,
               GError **error)
{
  const IrProverOptions options = { 0 };

  return ir_prover_new_with (model, inputs, backend, &options, cancellable, error);
}

static void
leave_states (IrProver *prover)
{
  g_clear_pointer (&prover->flat_before, ir_model_unref);
  g_clear_pointer (&prover->flat_after, ir_model_unref);
  g_clear_pointer (&prover->before, ir_model_unref);
  g_clear_pointer (&prover->after, ir_model_unref);
}

/**
 * ir_prover_free:
 * @prover: (transfer full): a prover
 */
void
ir_prover_free (IrProver *prover)
{
  leave_states (prover);
  g_clear_pointer (&prover->run, ir_run_unref);
  g_clear_pointer (&prover->evaluator, ir_evaluator_free);
  g_clear_pointer (&prover->captured, g_hash_table_unref);
  g_clear_pointer (&prover->stands_for, g_hash_table_unref);
  g_clear_object (&prover->cancellable);
  g_clear_pointer (&prover->inputs, g_hash_table_unref);
  g_clear_pointer (&prover->token_run, ir_run_unref);
  ir_model_unref (prover->model);
  g_free (prover);
}

/* The number of what it, or the value that it stands for, held in the captured run; 0 if that
 * was not captured. */
guint
ir_prover_captured (const IrProver *prover, IrValueId id)
{
  for (guint hops = 0; id != 0 && hops < 1000; hops++)
    {
      guint number = GPOINTER_TO_UINT (
          g_hash_table_lookup (prover->captured, GUINT_TO_POINTER (id)));

      if (number != 0)
        return number;
      id = GPOINTER_TO_UINT (g_hash_table_lookup (prover->stands_for, GUINT_TO_POINTER (id)));
    }
  return 0;
}

/**
 * ir_prover_cost:
 * @prover: a prover
 *
 * Returns: (transfer none): what it has cost so far, the captured run included
 */
const IrProofCost *
ir_prover_cost (const IrProver *prover)
{
  return &prover->cost;
}

/* -- the states on both sides of a step -- */

static void
note_correspondence (IrProver *prover, const IrStep *step)
{
  for (guint k = 0; step->values != NULL && k < step->values->len; k++)
    {
      IrIdPair pair = g_array_index (step->values, IrIdPair, k);
      if (!g_hash_table_contains (prover->stands_for, GUINT_TO_POINTER (pair.after)))
        g_hash_table_insert (prover->stands_for, GUINT_TO_POINTER (pair.after),
                             GUINT_TO_POINTER (pair.before));
    }
}

static void
refresh (IrProver *prover)
{
  guint n = ir_history_n_steps (prover->model);

  if (prover->before != NULL && prover->n_steps == n)
    return;
  leave_states (prover);
  prover->before = ir_history_clone (prover->model);
  prover->after = ir_history_clone (prover->model);
  prover->has_calls = ir_model_has_calls (prover->model);
  prover->n_steps = n;
  g_hash_table_remove_all (prover->stands_for);
  for (guint i = 1; i <= n; i++)
    note_correspondence (prover, ir_history_step (prover->model, i));
}

/* Steps are mostly proved in order: what was behind the last one is before this one. */
static gboolean
go_to (IrProver *prover, guint step, GError **error)
{
  ir_history_goto (prover->before, step - 1);
  ir_history_goto (prover->after, step);
  g_clear_pointer (&prover->flat_before, ir_model_unref);
  if (prover->flat_after != NULL && prover->at == step - 1)
    prover->flat_before = g_steal_pointer (&prover->flat_after);
  g_clear_pointer (&prover->flat_after, ir_model_unref);
  prover->at = step;
  if (!prover->has_calls)
    {
      g_clear_pointer (&prover->flat_before, ir_model_unref);
      prover->flat_before = ir_model_ref (prover->before);
      prover->flat_after = ir_model_ref (prover->after);
      return TRUE;
    }
  if (prover->flat_before == NULL)
    prover->flat_before = ir_exec_expand (prover->before, error);
  if (prover->flat_before != NULL)
    prover->flat_after = ir_exec_expand (prover->after, error);
  return prover->flat_after != NULL;
}

static void
prove (IrProver *prover, guint step, IrProof *proof)
{
  const IrStep *what = ir_history_step (prover->model, step);
  g_auto (IrCone) cone = { 0 };
  g_autoptr (GError) error = NULL;

  if (what->step_class == IR_CLASS_EDIT)
    {
      proof->verdict = IR_VERDICT_SKIPPED;
      proof->text = "an edit by hand may change anything";
    }
  else if (!go_to (prover, step, &error))
    {
      proof->verdict = IR_VERDICT_SKIPPED;
      proof->text = ir_context_intern (prover->model->context, error->message);
    }
  else
    {
      ir_cone_find (prover, what, &cone);
      if (!ir_token_judge (prover, step, &cone, proof))
        ir_cone_judge (prover, &cone, proof);
      if (what->parts != NULL && proof->verdict == IR_VERDICT_EXACT)
        ir_derivative_judge (prover, what, proof);
    }
}

/**
 * ir_prover_prove_step:
 * @prover: a prover
 * @step: 1 .. n_steps
 * @proof: (out caller-allocates): the verdict; also stored in the history
 * @error: return location for an error
 *
 * Runs the cone of @step before and after it. What cannot be run is a verdict too (skipped, with
 * the reason), not an error. Steps of class edit are skipped: they may change anything.
 *
 * Returns: %FALSE if cancelled
 */
gboolean
ir_prover_prove_step (IrProver *prover, guint step, IrProof *proof, GError **error)
{
  gint64 start = g_get_monotonic_time (), start_ns = ir_evaluator_clock_ns ();

  memset (proof, 0, sizeof *proof);
  if (prover->cancellable != NULL &&
      g_cancellable_set_error_if_cancelled (prover->cancellable, error))
    return FALSE;
  g_return_val_if_fail (step >= 1 && step <= ir_history_n_steps (prover->model), FALSE);
  refresh (prover);
  ir_evaluator_start (prover->evaluator);
  prove (prover, step, proof);
  if (prover->cancellable != NULL &&
      g_cancellable_set_error_if_cancelled (prover->cancellable, error))
    return FALSE;
  proof->duration_ns = (g_get_monotonic_time () - start) * 1000;
  prover->cost.steps_ns += ir_evaluator_clock_ns () - start_ns;
  ir_history_set_proof (prover->model, step, proof);
  return TRUE;
}

/**
 * ir_prover_prove_all:
 * @prover: a prover
 * @summary: (out caller-allocates) (nullable): how many steps got which verdict
 * @progress: (nullable): called after each step
 * @data: for @progress
 * @cancellable: (nullable): asked before each step
 * @error: return location for an error
 *
 * Proves every step of the history, in order.
 *
 * Returns: %FALSE if cancelled; the verdicts so far stay
 */
gboolean
ir_prover_prove_all (IrProver *prover,
                     IrProofSummary *summary,
                     void (*progress) (guint done, guint total, gpointer data),
                     gpointer data,
                     GCancellable *cancellable,
                     GError **error)
{
  guint total = ir_history_n_steps (prover->model);
  IrProofSummary own = { { 0 } };

  for (guint i = 1; i <= total; i++)
    {
      IrProof proof;

      if ((cancellable != NULL && g_cancellable_set_error_if_cancelled (cancellable, error)) ||
          !ir_prover_prove_step (prover, i, &proof, error))
        return FALSE;
      own.n[proof.verdict]++;
      if (progress != NULL)
        progress (i, total, data);
    }
  if (summary != NULL)
    *summary = own;
  return TRUE;
}
