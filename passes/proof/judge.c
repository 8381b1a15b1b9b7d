/* Judging a cone. Both sides are asked for the numbers of the values to be compared; only where
 * these differ is anything run. The old side's contents are those of the captured run, or of an
 * earlier step that made them; float64 is evaluated only where a difference is larger than the
 * tolerance, since
 *
 *     |new - exact| <= |old - exact| + |new - old|,
 *
 * so that a difference within the tolerance alone proves rounding. */
#include "config.h"

#include "passes/proof/proof-private.h"

#include "core/exec/check/difference.h"

#include <math.h>

typedef struct
{
  IrProver *prover;
  const IrCone *cone;
  IrValueId target; /* each_alone: the value that is compared, computed whatever was captured */
  IrScope scope;
} Side;

typedef struct
{
  Side old, fresh;
  IrTolerance tolerance; /* of the rows in the cone */
  IrProof *proof;
} Judge;

static guint
known (const IrValue *value, gpointer data)
{
  const Side *side = data;
  gboolean computed;

  if (side->cone->each_alone)
    computed = value->id == side->target;
  else
    computed = value->producer != NULL &&
               g_hash_table_contains (side->cone->changed, GUINT_TO_POINTER (value->producer->id));
  return computed ? 0 : ir_prover_captured (side->prover, value->id);
}

static void
side_init (Side *side, IrProver *prover, const IrCone *cone, const IrModel *model)
{
  *side = (Side){ prover, cone, 0, { 0 } };
  ir_scope_init (&side->scope, prover->evaluator, model, known, side);
}

/* The next pair: what was computed for the last one is a captured value now. */
static void
side_aim (Side *side, IrValueId target)
{
  side->target = target;
  if (side->cone->each_alone)
    g_hash_table_remove_all (side->scope.numbers);
}

/* -- one pair -- */

static void
say (Judge *judge, IrVerdict verdict, const char *text)
{
  judge->proof->verdict = verdict;
  judge->proof->text = ir_context_intern (judge->old.prover->model->context, text);
}

/* What rounding may do to one pair. */
typedef struct
{
  const IrTensor *exact, *of_old, *of_new; /* bounds nullable: no error */
  double tolerance;
} Allowed;

static double
allowed_at (const Allowed *allowed, guint64 i)
{
  double old = allowed->of_old != NULL ? ir_tensor_get_double (allowed->of_old, i) : 0;
  double fresh = allowed->of_new != NULL ? ir_tensor_get_double (allowed->of_new, i) : 0;

  return (isfinite (old) ? old : 0) + (isfinite (fresh) ? fresh : 0) + allowed->tolerance;
}

/* Whether every element of @b lies as near to float64 as rounding explains. @bound: the largest
 * distance that is allowed somewhere */
static gboolean
is_explained (const Allowed *allowed, const IrTensor *b, double *bound)
{
  guint64 n = ir_tensor_n_elements (allowed->exact);
  gboolean explained = TRUE;

  *bound = allowed->tolerance;
  for (guint64 i = 0; i < n; i++)
    {
      double most = allowed_at (allowed, i);
      double distance = fabs (ir_tensor_get_double (b, i) -
                              ir_tensor_get_double (allowed->exact, i));

      *bound = MAX (*bound, most);
      explained = explained && !(distance > most); /* NaN on both sides is agreement */
    }
  return explained;
}

/* The new side's own bound is asked for where the old one's does not explain the difference:
 * another way to the same may have larger sums, and constants that were rounded. */
static gboolean
rounds (Judge *judge,
        IrWide *wide,
        const IrValue *old,
        const IrValue *fresh,
        const IrTensor *b,
        Allowed *allowed)
{
  IrProof *proof = judge->proof;
  g_auto (IrWide) other = { 0 };

  if (is_explained (allowed, b, &proof->bound))
    return TRUE;
  allowed->of_old = ir_wide_bound (wide, old);
  if (is_explained (allowed, b, &proof->bound))
    return TRUE;
  ir_wide_init (&other, judge->old.prover, &judge->fresh.scope, judge->old.scope.model);
  allowed->of_new = ir_wide_value (&other, fresh, NULL) != NULL ? ir_wide_bound (&other, fresh)
                                                                : NULL;
  if (allowed->of_new != NULL &&
      ir_tensor_n_elements (allowed->of_new) != ir_tensor_n_elements (allowed->exact))
    allowed->of_new = NULL;
  return is_explained (allowed, b, &proof->bound);
}

static void
judge_wide (Judge *judge,
            const IrValue *old,
            const IrValue *fresh,
            const IrTensor *a,
            const IrTensor *b,
            double tolerance)
{
  g_autoptr (GError) error = NULL;
  g_auto (IrWide) wide = { 0 };
  gint64 start = ir_evaluator_clock_ns ();
  IrComparison of_old, of_new;
  const IrTensor *exact;

  ir_wide_init (&wide, judge->old.prover, &judge->old.scope, NULL);
  exact = ir_wide_value (&wide, old, &error);
  if (exact == NULL || !ir_tensors_compare (exact, a, &of_old) ||
      !ir_tensors_compare (exact, b, &of_new))
    {
      g_autofree char *text = g_strdup_printf ("differs by more than the tolerance, and float64 "
                                               "cannot tell which side is right: %s",
                                               error != NULL ? error->message : "other shapes");
      say (judge, IR_VERDICT_BROKEN, text);
    }
  else if (of_new.non_finite_differs && !of_old.non_finite_differs)
    say (judge, IR_VERDICT_BROKEN, "not finite where float64 is");
  else
    {
      Allowed allowed = { exact, NULL, NULL, tolerance };

      if (rounds (judge, &wide, old, fresh, b, &allowed))
        judge->proof->verdict = MAX (judge->proof->verdict, IR_VERDICT_ROUNDING);
      else
        say (judge, IR_VERDICT_BROKEN,
             "the error against float64 is larger than rounding in the sums of both sides, plus "
             "the tolerance, explains");
    }
  judge->old.prover->cost.wide_ns += ir_evaluator_clock_ns () - start;
}

static void
note (IrProof *proof, const IrComparison *found, IrValueId value)
{
  if (found->max_abs >= proof->max_abs)
    proof->worst_value = value;
  proof->max_abs = MAX (proof->max_abs, found->max_abs);
  proof->max_rel = MAX (proof->max_rel, found->max_rel);
  proof->max_ulp = MAX (proof->max_ulp, found->max_ulp);
}

/* Returns: whether all bits agree. */
static gboolean
judge_contents (
    Judge *judge, const IrValue *old, const IrValue *fresh, const IrTensor *a, const IrTensor *b)
{
  IrProof *proof = judge->proof;
  gint64 start = ir_evaluator_clock_ns ();
  IrComparison found;
  gboolean comparable = ir_tensors_compare (a, b, &found);
  double tolerance;

  judge->old.prover->cost.compare_ns += ir_evaluator_clock_ns () - start;
  if (!comparable)
    {
      proof->worst_value = old->id;
      say (judge, IR_VERDICT_BROKEN, "the new value has another shape or type");
      return FALSE;
    }
  if (found.same)
    return ir_tensor_dtype (a) == ir_tensor_dtype (b);
  note (proof, &found, old->id);
  tolerance = ir_tolerance_of (judge->tolerance, ir_tensor_dtype (a), found.scale);
  proof->bound = MAX (proof->bound, tolerance);
  if (proof->verdict == IR_VERDICT_BROKEN || proof->verdict == IR_VERDICT_SKIPPED)
    return FALSE;
  if (!found.non_finite_differs && found.max_abs <= tolerance)
    proof->verdict = IR_VERDICT_ROUNDING;
  else if (!ir_dtype_is_float (ir_tensor_dtype (a)) && !ir_tensor_is_container (a))
    say (judge, IR_VERDICT_BROKEN, "the new value differs, and it is not floating-point");
  else
    judge_wide (judge, old, fresh, a, b, tolerance);
  return FALSE;
}

static IrTensor *
contents_of (Side *side, const IrValue *value, gint64 *duration_ns, guint *n_nodes, GError **error)
{
  const IrEvaluatorWork *work = ir_evaluator_work (side->prover->evaluator);
  gint64 before = work->duration_ns;
  guint n_before = work->n_nodes;
  IrTensor *tensor = ir_scope_contents (&side->scope, value, error);

  *duration_ns += work->duration_ns - before;
  *n_nodes += work->n_nodes - n_before;
  return tensor != NULL ? ir_tensor_ref (tensor) : NULL;
}

static gboolean
run_pair (Judge *judge, const IrValue *old, const IrValue *fresh, GError **error)
{
  IrProofCost *cost = &judge->old.prover->cost;
  g_autoptr (IrTensor) a = NULL, b = NULL;
  guint old_number = ir_scope_number (&judge->old.scope, old, error);
  guint new_number = old_number != 0 ? ir_scope_number (&judge->fresh.scope, fresh, error) : 0;

  if (new_number == 0)
    return FALSE;
  if (old_number == new_number)
    return TRUE; /* the same kernels on the same contents */
  a = contents_of (&judge->old, old, &cost->old_ns, &cost->n_old, error);
  b = a != NULL ? contents_of (&judge->fresh, fresh, &cost->new_ns, &cost->n_new, error) : NULL;
  if (b == NULL)
    return FALSE;
  if (judge_contents (judge, old, fresh, a, b) && ir_value_constant (fresh) != NULL)
    ir_evaluator_equate (judge->old.prover->evaluator, (IrTensor *) ir_value_constant (fresh),
                         old_number);
  return TRUE;
}

/* The proof gets the worse of what it has and what is found. */
static void
judge_pair (Judge *judge, IrIdPair pair)
{
  const IrValue *old = ir_model_value (judge->old.scope.model, pair.before);
  const IrValue *fresh = ir_model_value (judge->fresh.scope.model, pair.after);
  g_autoptr (GError) error = NULL;

  side_aim (&judge->old, pair.before);
  side_aim (&judge->fresh, pair.after);
  if (!run_pair (judge, old, fresh, &error) && judge->proof->verdict != IR_VERDICT_BROKEN)
    say (judge, IR_VERDICT_SKIPPED, error != NULL ? error->message : "not computed");
}

/* -- the cone -- */

static void
note_tolerance (Judge *judge, const IrModel *model, guint32 id)
{
  const IrNode *node = ir_model_live_node (model, id);

  if (node == NULL || node->op == NULL)
    return;
  judge->tolerance.rtol = MAX (judge->tolerance.rtol, node->op->tol.rtol);
  judge->tolerance.atol = MAX (judge->tolerance.atol, node->op->tol.atol);
}

static void
note_tolerances (Judge *judge, const IrProver *prover, const IrCone *cone)
{
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, cone->changed);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      note_tolerance (judge, prover->before, GPOINTER_TO_UINT (id));
      note_tolerance (judge, prover->after, GPOINTER_TO_UINT (id));
    }
}

/* Whether a value of a body was never computed by the run. */
static gboolean
is_unreached (const IrProver *prover, IrValueId id)
{
  const IrValue *value = ir_model_live_value (prover->before, id);
  IrValueId original = id;

  if (value == NULL || value->graph->kind != IR_GRAPH_SUBGRAPH)
    return FALSE;
  for (guint hops = 0; original != 0 && hops < 1000; hops++)
    {
      if (prover->run == NULL || ir_run_value (prover->run, original) != NULL)
        return FALSE;
      original = GPOINTER_TO_UINT (
          g_hash_table_lookup (prover->stands_for, GUINT_TO_POINTER (original)));
    }
  return TRUE;
}

static void
explain (const IrProver *prover, const IrCone *cone, IrProof *proof)
{
  gboolean unreached = FALSE;

  if (proof->text != NULL)
    return;
  for (guint i = 0; i < cone->pairs->len && !unreached; i++)
    unreached = is_unreached (prover, g_array_index (cone->pairs, IrIdPair, i).before);
  if (unreached)
    proof->text = "the run did not come through this body; it was computed for the proof, from "
                  "what it would begin with";
  else if (cone->pairs->len == 0 && cone->in_function)
    proof->text = "nothing to compare: no node calls this function";
  else if (g_hash_table_size (cone->changed) == 0)
    proof->text = "no node was changed";
  else if (cone->pairs->len == 0)
    proof->text = "nothing to compare: what went was not used";
}

void
ir_cone_judge (IrProver *prover, const IrCone *cone, IrProof *proof)
{
  Judge judge = { .proof = proof };

  side_init (&judge.old, prover, cone, prover->flat_before);
  side_init (&judge.fresh, prover, cone, prover->flat_after);
  note_tolerances (&judge, prover, cone);
  proof->verdict = IR_VERDICT_EXACT;
  for (guint i = 0; i < cone->pairs->len; i++)
    judge_pair (&judge, g_array_index (cone->pairs, IrIdPair, i));
  explain (prover, cone, proof);
  ir_scope_clear (&judge.old.scope);
  ir_scope_clear (&judge.fresh.scope);
}

/* As ir_cone_judge() does for each pair of a step. @old_scope: the graph before; it knows what
 * is taken as given, and not @pair. */
void
ir_contents_judge (IrProver *prover,
                   const IrScope *old_scope,
                   const IrScope *new_scope,
                   IrTolerance tolerance,
                   const IrIdPair *pair,
                   const IrTensor *a,
                   const IrTensor *b,
                   IrProof *proof)
{
  Judge judge = { .old = { prover, NULL, 0, *old_scope },
                  .fresh = { prover, NULL, 0, *new_scope },
                  .tolerance = tolerance,
                  .proof = proof };

  proof->verdict = IR_VERDICT_EXACT;
  judge_contents (&judge, ir_model_value (old_scope->model, pair->before),
                  ir_model_value (new_scope->model, pair->after), a, b);
}
