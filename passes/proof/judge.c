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

#include "passes/difference.h"

#include <float.h>
#include <math.h>

#define MAX_DEPTH 500 /* nodes between a value of a cone and the nearest captured one */

typedef struct
{
  IrProver *prover;
  const IrCone *cone;
  IrValueId target; /* each_alone: the value that is compared, computed whatever was captured */
  IrScope scope;
} Side;

/* The old side once more, in float64 from the cone's inputs on. */
typedef struct
{
  Side *old;
  GHashTable *values; /* value id -> IrTensor */
  GError *error;      /* (nullable) the first one, of values that bodies use */
  guint depth;
} Wide;

typedef struct
{
  Side old, fresh;
  double rtol, atol; /* of the rows in the cone */
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

/* -- float64 -- */

static const IrTensor *wide_value (Wide *wide, const IrValue *value, GError **error);

static const IrTensor *
wide_outer (const IrValue *value, gpointer data)
{
  Wide *wide = data;

  return wide_value (wide, value, wide->error == NULL ? &wide->error : NULL);
}

static gboolean
wide_run (Wide *wide, const IrNode *node, GError **error)
{
  g_autofree const IrTensor **inputs = g_new0 (const IrTensor *, node->n_inputs + 1);
  g_autofree IrTensor **outputs = g_new0 (IrTensor *, node->n_outputs + 1);
  const IrEvalOptions options = { ir_backend_find ("ref"), NULL, wide->old->prover->cancellable,
                                  wide_outer, wide };
  gboolean done;

  ir_node_for_each_input (node, i, value)
    {
      inputs[i] = wide_value (wide, value, error);
      if (inputs[i] == NULL)
        return FALSE;
    }
  done = ir_eval_node_with (node, inputs, outputs, &options, error);
  for (guint i = 0; i < node->n_outputs; i++)
    {
      g_autoptr (IrTensor) output = g_steal_pointer (&outputs[i]);
      IrTensor *kept = done && output != NULL ? ir_tensor_widen (output) : NULL;

      if (kept != NULL)
        g_hash_table_insert (wide->values, GUINT_TO_POINTER (node->outputs[i]->id), kept);
    }
  return done;
}

/* (transfer none) (nullable) */
static const IrTensor *
wide_value (Wide *wide, const IrValue *value, GError **error)
{
  gpointer key = GUINT_TO_POINTER (value->id);
  IrTensor *tensor = g_hash_table_lookup (wide->values, key);
  const IrTensor *constant = ir_value_constant (value);
  gboolean given;

  if (tensor != NULL)
    return tensor;
  given = constant != NULL || value->producer == NULL || known (value, wide->old) != 0;
  if (!given && wide->depth < MAX_DEPTH)
    {
      gboolean done;

      wide->depth++;
      done = wide_run (wide, value->producer, error);
      wide->depth--;
      return done ? g_hash_table_lookup (wide->values, key) : NULL;
    }
  if (constant == NULL)
    constant = ir_scope_contents (&wide->old->scope, value, error);
  tensor = constant != NULL ? ir_tensor_widen (constant) : NULL;
  if (tensor != NULL)
    g_hash_table_insert (wide->values, key, tensor);
  return tensor;
}

/* -- one pair -- */

/* Tolerances are for float32; narrower types scale by their own epsilon. */
static double
epsilon_scale (IrDtype dtype)
{
  if (dtype == IR_DTYPE_FLOAT16)
    return 0x1p-10 / FLT_EPSILON;
  if (dtype == IR_DTYPE_BFLOAT16)
    return 0x1p-7 / FLT_EPSILON;
  return dtype == IR_DTYPE_DOUBLE ? DBL_EPSILON / FLT_EPSILON : 1;
}

static void
say (Judge *judge, IrVerdict verdict, const char *text)
{
  judge->proof->verdict = verdict;
  judge->proof->text = ir_context_intern (judge->old.prover->model->context, text);
}

static void
judge_wide (
    Judge *judge, const IrValue *old, const IrTensor *a, const IrTensor *b, double tolerance)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable)
      values = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  Wide wide = { &judge->old, values, NULL, 0 };
  gint64 start = ir_evaluator_clock_ns ();
  const IrTensor *exact = wide_value (&wide, old, &error);
  IrProof *proof = judge->proof;
  IrComparison of_old, of_new;

  judge->old.prover->cost.wide_ns += ir_evaluator_clock_ns () - start;
  g_clear_error (&wide.error);
  if (exact == NULL || !ir_tensors_compare (exact, a, &of_old) ||
      !ir_tensors_compare (exact, b, &of_new))
    {
      g_autofree char *text = g_strdup_printf ("differs by more than the tolerance, and float64 "
                                               "cannot tell which side is right: %s",
                                               error != NULL ? error->message : "other shapes");
      say (judge, IR_VERDICT_BROKEN, text);
      return;
    }
  proof->bound = 4 * of_old.max_abs + tolerance;
  if (of_new.non_finite_differs && !of_old.non_finite_differs)
    say (judge, IR_VERDICT_BROKEN, "not finite where float64 is");
  else if (of_new.max_abs <= proof->bound)
    proof->verdict = MAX (proof->verdict, IR_VERDICT_ROUNDING);
  else
    say (judge, IR_VERDICT_BROKEN,
         "the error against float64 is more than four times that of the old side, plus the "
         "tolerance");
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
judge_contents (Judge *judge, const IrValue *old, const IrTensor *a, const IrTensor *b)
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
  tolerance = epsilon_scale (ir_tensor_dtype (a)) * (judge->atol + judge->rtol * found.scale);
  proof->bound = MAX (proof->bound, tolerance);
  if (proof->verdict == IR_VERDICT_BROKEN || proof->verdict == IR_VERDICT_SKIPPED)
    return FALSE;
  if (!found.non_finite_differs && found.max_abs <= tolerance)
    proof->verdict = IR_VERDICT_ROUNDING;
  else if (!ir_dtype_is_float (ir_tensor_dtype (a)) && !ir_tensor_is_container (a))
    say (judge, IR_VERDICT_BROKEN, "the new value differs, and it is not floating-point");
  else
    judge_wide (judge, old, a, b, tolerance);
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
  if (judge_contents (judge, old, a, b) && ir_value_constant (fresh) != NULL)
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
  judge->rtol = MAX (judge->rtol, node->op->tol.rtol);
  judge->atol = MAX (judge->atol, node->op->tol.atol);
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
      if (ir_run_value (prover->run, original) != NULL)
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

/**
 * ir_cone_judge:
 * @prover: a prover whose copies stand on both sides of a step
 * @cone: the step's cone
 * @proof: gets the verdict
 */
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
