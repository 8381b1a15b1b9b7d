/* Proof: after a step, its changed cone is run before and after on captured values, and the results
 * are compared.
 *
 *   inputs of the cone        values that both sides have and no changed node makes; their contents
 *                             are those of one captured run of the original model (of the value
 *                             that they stand for), so every step is judged by itself
 *   outputs of the cone       the step's correspondence: the new value that stands for the old one
 *
 * The verdict: exact, if all bits agree (any NaN is as good as another). Rounding, if the largest
 * error of the new side is at most four times the old side's plus the tolerance of the rows in the
 * cone, both measured against the old cone evaluated in float64 (inputs widened, reference
 * kernels). Broken otherwise, or if one side is not finite where the other is. Since
 *
 *     |new - exact| <= |old - exact| + |new - old|,
 *
 * a difference within the tolerance alone proves rounding, and float64 (the reference kernels are
 * slow) is only run where it is not. The time is proportional to the cone, not to the graph. */
#include "config.h"

#include "passes/pipeline.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_DEPTH 200 /* nodes between a cone and the nearest captured value */

struct _IrProver
{
  IrModel *model;
  IrModel *before, *after; /* (nullable) copies that travel to both sides of a step */
  guint n_steps;           /* of the history that they were made of */
  IrRun *run;              /* the original model's */
  const IrBackend *backend;
  GHashTable *contents;   /* value id -> IrTensor: captured or computed, of values outside cones */
  GHashTable *stands_for; /* new value id -> old value id, over all steps */
  GCancellable *cancellable;
};

/* One side of a cone. */
typedef struct
{
  IrProver *prover;
  const IrModel *model;
  GHashTable *changed; /* node ids: those of the cone */
  GHashTable *values;  /* value id -> IrTensor, computed here */
  const IrBackend *backend;
  gboolean wide;     /* everything floating-point is float64 */
  double rtol, atol; /* of the rows met */
} Side;

/* -- a prover -- */

static void
capture (IrProver *prover, IrRun *run)
{
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, run->values);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    if (tensor != NULL)
      g_hash_table_insert (prover->contents, id, ir_tensor_ref (tensor));
}

static void
add_inputs (IrProver *prover, GHashTable *inputs)
{
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_insert (prover->contents, id, ir_tensor_ref (tensor));
}

/**
 * ir_prover_new:
 * @model: a model with a history; its cursor stays where it is
 * @inputs: value id -> #IrTensor for the inputs of the original graph
 * @backend: (nullable): what both sides run on; %NULL: reference kernels
 * @cancellable: (nullable): asked while running
 * @error: return location for an error
 *
 * Runs the model as it was at step 0 once, keeping every value. If a node cannot run, the values
 * before it are used, and steps that need others are skipped.
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
  g_autoptr (IrProver) prover = g_new0 (IrProver, 1);
  IrRunOptions options = { .backend = backend, .capture = IR_CAPTURE_ALL };
  g_autoptr (IrModel) original = ir_history_snapshot (model, 0);
  g_autoptr (IrExecutable) executable = NULL;
  g_autoptr (IrRun) run = NULL, partial = NULL;
  g_autoptr (GError) local = NULL;

  prover->model = ir_model_ref (model);
  prover->backend = backend != NULL ? backend : ir_backend_find ("ref");
  prover->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
  prover->contents = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  prover->stands_for = g_hash_table_new (NULL, NULL);
  options.backend = prover->backend;
  add_inputs (prover, inputs);
  executable = ir_executable_new (original, &options, &local);
  if (executable != NULL)
    run = ir_executable_run (executable, inputs, cancellable, &partial, &local);
  if (run == NULL &&
      (partial == NULL || g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED)))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  prover->run = run != NULL ? g_steal_pointer (&run) : g_steal_pointer (&partial);
  capture (prover, prover->run);
  return g_steal_pointer (&prover);
}

/**
 * ir_prover_free:
 * @prover: (transfer full): a prover
 */
void
ir_prover_free (IrProver *prover)
{
  g_clear_pointer (&prover->before, ir_model_unref);
  g_clear_pointer (&prover->after, ir_model_unref);
  g_clear_pointer (&prover->run, ir_run_unref);
  g_clear_pointer (&prover->contents, g_hash_table_unref);
  g_clear_pointer (&prover->stands_for, g_hash_table_unref);
  g_clear_object (&prover->cancellable);
  ir_model_unref (prover->model);
  g_free (prover);
}

static void
refresh (IrProver *prover)
{
  guint n = ir_history_n_steps (prover->model);

  if (prover->before != NULL && prover->n_steps == n)
    return;
  g_clear_pointer (&prover->before, ir_model_unref);
  g_clear_pointer (&prover->after, ir_model_unref);
  prover->before = ir_history_clone (prover->model);
  prover->after = ir_history_clone (prover->model);
  prover->n_steps = n;
  g_hash_table_remove_all (prover->stands_for);
  for (guint i = 1; i <= n; i++)
    {
      const IrStep *step = ir_history_step (prover->model, i);

      for (guint k = 0; step->values != NULL && k < step->values->len; k++)
        {
          IrIdPair pair = g_array_index (step->values, IrIdPair, k);
          if (!g_hash_table_contains (prover->stands_for, GUINT_TO_POINTER (pair.after)))
            g_hash_table_insert (prover->stands_for, GUINT_TO_POINTER (pair.after),
                                 GUINT_TO_POINTER (pair.before));
        }
    }
}

/* -- contents -- */

static IrTensor *
widen (const IrTensor *tensor)
{
  guint64 n = ir_tensor_n_elements (tensor);
  IrDtype dtype = ir_tensor_dtype (tensor);
  IrTensor *wide;
  double *data;

  if (!ir_dtype_is_float (dtype) || dtype == IR_DTYPE_DOUBLE)
    return ir_tensor_ref ((IrTensor *) tensor);
  wide = ir_tensor_new_alloc (IR_DTYPE_DOUBLE, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                              NULL);
  if (wide == NULL)
    return NULL;
  data = ir_tensor_data_writable (wide);
  for (guint64 i = 0; i < n; i++)
    data[i] = ir_tensor_get_double (tensor, i);
  return wide;
}

static IrTensor *value_on (Side *side, const IrValue *value, guint depth, char **why);

static void
note_tolerance (Side *side, const IrNode *node)
{
  if (node->op == NULL)
    return;
  side->rtol = MAX (side->rtol, node->op->tol.rtol);
  side->atol = MAX (side->atol, node->op->tol.atol);
}

/* Runs @node; its outputs land in side->values, and also in the prover if it lies outside. */
static gboolean
run_node (Side *side, const IrNode *node, gboolean outside, guint depth, char **why)
{
  g_autofree const IrTensor **inputs = g_new0 (const IrTensor *, MAX (node->n_inputs, 1));
  g_autofree IrTensor **outputs = g_new0 (IrTensor *, MAX (node->n_outputs, 1));
  g_autoptr (GError) error = NULL;

  if (g_cancellable_is_cancelled (side->prover->cancellable))
    {
      *why = g_strdup ("cancelled");
      return FALSE;
    }
  ir_node_for_each_input (node, i, value)
    {
      inputs[i] = value_on (side, value, depth + 1, why);
      if (inputs[i] == NULL)
        return FALSE;
    }
  if (!ir_eval_node (node, inputs, outputs, side->wide ? NULL : side->backend, 0, &error))
    {
      *why = g_strdup (error != NULL ? error->message : "a kernel failed");
      return FALSE;
    }
  note_tolerance (side, node);
  for (guint i = 0; i < node->n_outputs; i++)
    {
      g_autoptr (IrTensor) output = g_steal_pointer (&outputs[i]);
      IrTensor *kept = NULL;

      if (output == NULL || node->outputs[i] == NULL)
        continue;
      kept = side->wide ? widen (output) : ir_tensor_ref (output);
      if (kept == NULL)
        continue;
      if (outside)
        g_hash_table_insert (side->prover->contents, GUINT_TO_POINTER (node->outputs[i]->id),
                             ir_tensor_ref (output));
      g_hash_table_insert (side->values, GUINT_TO_POINTER (node->outputs[i]->id), kept);
    }
  return TRUE;
}

/* What @value, or the value that it stands for, held in the captured run. */
static IrTensor *
captured (IrProver *prover, IrValueId id)
{
  for (guint hops = 0; id != 0 && hops < 1000; hops++)
    {
      IrTensor *tensor = g_hash_table_lookup (prover->contents, GUINT_TO_POINTER (id));

      if (tensor != NULL)
        return tensor;
      id = GPOINTER_TO_UINT (g_hash_table_lookup (prover->stands_for, GUINT_TO_POINTER (id)));
    }
  return NULL;
}

static IrTensor *
keep (Side *side, const IrValue *value, const IrTensor *tensor)
{
  IrTensor *kept = side->wide ? widen (tensor) : ir_tensor_ref ((IrTensor *) tensor);

  if (kept != NULL)
    g_hash_table_insert (side->values, GUINT_TO_POINTER (value->id), kept);
  return kept;
}

/* (transfer none) (nullable) */
static IrTensor *
value_on (Side *side, const IrValue *value, guint depth, char **why)
{
  IrTensor *known = g_hash_table_lookup (side->values, GUINT_TO_POINTER (value->id));
  const IrTensor *constant;
  gboolean inside;

  if (known != NULL)
    return known;
  if ((constant = ir_value_constant (value)) != NULL)
    return keep (side, value, constant);
  inside = value->producer != NULL &&
           g_hash_table_contains (side->changed, GUINT_TO_POINTER (value->producer->id));
  if (!inside && (known = captured (side->prover, value->id)) != NULL)
    return keep (side, value, known);
  if (value->producer == NULL && value->initializer != NULL)
    return keep (side, value, value->initializer);
  if (value->producer == NULL || depth > MAX_DEPTH)
    {
      *why = g_strdup_printf ("the contents of %s were not captured", value->name);
      return NULL;
    }
  if (value->graph->kind != IR_GRAPH_MAIN)
    {
      *why = g_strdup ("it lies in a subgraph, whose values are not captured");
      return NULL;
    }
  if (!run_node (side, value->producer, !inside && !side->wide, depth, why))
    return NULL;
  known = g_hash_table_lookup (side->values, GUINT_TO_POINTER (value->id));
  if (known == NULL)
    *why = g_strdup_printf ("%s was not computed", value->name);
  return known;
}

/* -- comparing -- */

typedef struct
{
  gboolean same, non_finite_differs;
  double max_abs, max_rel, scale; /* scale: largest finite magnitude */
  guint64 max_ulp;
  guint64 at; /* element of the largest difference */
} Comparison;

/* Floats as integers that are ordered as the floats are: neighbours differ by one. */
static gint64
ordered (IrDtype dtype, double value)
{
  union
  {
    double d;
    gint64 i;
  } d = { .d = value };
  union
  {
    float f;
    gint32 i;
  } f = { .f = (float) value };
  gint64 bits, sign;

  if (dtype == IR_DTYPE_DOUBLE)
    return d.i >= 0 ? d.i : G_MININT64 - d.i;
  if (dtype == IR_DTYPE_FLOAT16)
    bits = ir_float16_from_float (f.f), sign = 0x8000;
  else if (dtype == IR_DTYPE_BFLOAT16)
    bits = ir_bfloat16_from_float (f.f), sign = 0x8000;
  else
    return f.i >= 0 ? f.i : (gint64) G_MININT32 - f.i;
  return bits & sign ? -(bits & ~sign) : bits;
}

static guint64
ulp_distance (IrDtype dtype, double a, double b)
{
  gint64 ia = ordered (dtype, a), ib = ordered (dtype, b);

  return ia > ib ? (guint64) ia - (guint64) ib : (guint64) ib - (guint64) ia;
}

static void
compare_element (Comparison *result, IrDtype dtype, double a, double b, guint64 at)
{
  double difference;

  if (isnan (a) && isnan (b))
    return;
  if (!isfinite (a) || !isfinite (b))
    {
      if (a != b)
        {
          result->same = FALSE;
          result->non_finite_differs = TRUE;
          result->at = at;
          result->max_abs = INFINITY;
        }
      return;
    }
  result->scale = MAX (result->scale, fabs (a));
  if (a == b && signbit (a) == signbit (b))
    return;
  result->same = FALSE;
  difference = fabs (a - b);
  result->max_ulp = MAX (result->max_ulp, ulp_distance (dtype, a, b));
  if (a != 0)
    result->max_rel = MAX (result->max_rel, difference / fabs (a));
  if (difference > result->max_abs)
    {
      result->max_abs = difference;
      result->at = at;
    }
}

/* FALSE if the two cannot be compared: other shapes or types. */
static gboolean
compare (const IrTensor *a, const IrTensor *b, Comparison *result)
{
  IrDtype dtype = ir_tensor_dtype (b);

  memset (result, 0, sizeof *result);
  result->same = TRUE;
  if (ir_tensor_rank (a) != ir_tensor_rank (b) ||
      memcmp (ir_tensor_dims (a), ir_tensor_dims (b), ir_tensor_rank (a) * sizeof (gint64)) != 0)
    return FALSE;
  if (!ir_dtype_is_float (dtype) || !ir_dtype_is_float (ir_tensor_dtype (a)))
    {
      result->same = ir_tensor_equal (a, b);
      result->non_finite_differs = !result->same;
      return ir_tensor_dtype (a) == dtype;
    }
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    compare_element (result, dtype, ir_tensor_get_double (a, i), ir_tensor_get_double (b, i), i);
  return TRUE;
}

/* -- one step -- */

typedef struct
{
  GHashTable *changed; /* node ids */
  GArray *pairs;       /* of IrIdPair: values to compare */
} Cone;

static gboolean
explained (const IrStep *step, guint32 before, guint32 after)
{
  for (guint i = 0; step->values != NULL && i < step->values->len; i++)
    {
      IrIdPair pair = g_array_index (step->values, IrIdPair, i);
      if (pair.before == before && pair.after == after)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_change (const IrStep *step, const IrRecord *record)
{
  static const char *const kinds[] = { "node",     "number of inputs",  "output", "attribute",
                                       "operator", "number of outputs", NULL };
  const char *kind = ir_record_kind_name (record);

  if (strcmp (kind, "input") == 0)
    return !explained (step, record->before.number, record->after.number);
  return g_strv_contains (kinds, kind);
}

static void
add_pair (GArray *pairs, guint32 before, guint32 after)
{
  IrIdPair pair = { before, after };

  for (guint i = 0; i < pairs->len; i++)
    if (memcmp (&g_array_index (pairs, IrIdPair, i), &pair, sizeof pair) == 0)
      return;
  g_array_append_val (pairs, pair);
}

/* Another opset may change what any node means: all of them, in the order in which they run. */
static void
add_all_nodes (IrProver *prover, Cone *cone)
{
  guint n;
  IrNode *const *order = ir_graph_order (prover->before->main, &n);

  for (guint i = 0; i < n; i++)
    {
      g_hash_table_add (cone->changed, GUINT_TO_POINTER (order[i]->id));
      for (guint k = 0; k < order[i]->n_outputs; k++)
        {
          IrIdPair pair = { 0, 0 };

          if (order[i]->outputs[k] == NULL ||
              ir_model_live_value (prover->after, order[i]->outputs[k]->id) == NULL)
            continue;
          pair.before = pair.after = order[i]->outputs[k]->id;
          g_array_append_val (cone->pairs, pair);
        }
    }
}

static void
find_cone (IrProver *prover, const IrStep *step, Cone *cone)
{
  GHashTableIter iter;
  gpointer id;
  gboolean all = FALSE;

  for (guint i = 0; i < step->n_records; i++)
    {
      const IrRecord *record = ir_history_record (prover->model, step->first_record + i);
      if (is_change (step, record))
        g_hash_table_add (cone->changed, GUINT_TO_POINTER (record->subject));
      all = all || strcmp (ir_record_kind_name (record), "opset imports") == 0;
    }
  if (all)
    add_all_nodes (prover, cone);
  for (guint i = 0; step->values != NULL && i < step->values->len; i++)
    {
      IrIdPair pair = g_array_index (step->values, IrIdPair, i);
      if (ir_model_live_value (prover->before, pair.before) != NULL &&
          ir_model_live_value (prover->after, pair.after) != NULL)
        add_pair (cone->pairs, pair.before, pair.after);
    }
  if (all)
    return;
  /* A node that was changed in place stands for itself. */
  g_hash_table_iter_init (&iter, cone->changed);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      const IrNode *node = ir_model_live_node (prover->after, GPOINTER_TO_UINT (id));

      if (node == NULL || ir_model_live_node (prover->before, node->id) == NULL)
        continue;
      for (guint i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != NULL &&
            ir_model_live_value (prover->before, node->outputs[i]->id) != NULL)
          add_pair (cone->pairs, node->outputs[i]->id, node->outputs[i]->id);
    }
}

static void
side_init (Side *side, IrProver *prover, const IrModel *model, GHashTable *changed)
{
  memset (side, 0, sizeof *side);
  side->prover = prover;
  side->model = model;
  side->changed = changed;
  side->backend = prover->backend;
  side->values = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
}

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
judge_wide (IrProof *proof,
            Side *wide,
            const IrValue *old,
            const IrTensor *a,
            const IrTensor *b,
            double tolerance)
{
  g_autofree char *why = NULL;
  const IrTensor *exact = value_on (wide, old, 0, &why);
  Comparison of_old, of_new;

  if (exact == NULL || !compare (exact, a, &of_old) || !compare (exact, b, &of_new))
    {
      g_autofree char *text = g_strdup_printf ("differs by more than the tolerance, and float64 "
                                               "cannot tell which side is right: %s",
                                               why != NULL ? why : "other shapes");
      proof->verdict = IR_VERDICT_BROKEN;
      proof->text = ir_context_intern (wide->prover->model->context, text);
      return;
    }
  proof->bound = 4 * of_old.max_abs + tolerance;
  if (of_new.non_finite_differs && !of_old.non_finite_differs)
    proof->text = "not finite where float64 is";
  else if (of_new.max_abs <= proof->bound)
    {
      proof->verdict = MAX (proof->verdict, IR_VERDICT_ROUNDING);
      return;
    }
  else
    proof
        ->text = "the error against float64 is more than four times that of the old side, plus the "
                 "tolerance";
  proof->verdict = IR_VERDICT_BROKEN;
}

/* Compares one pair; proof gets the worse of what it has and what is found. */
static void
judge_pair (IrProof *proof, Side *old_side, Side *new_side, Side *wide, IrIdPair pair)
{
  const IrValue *old = ir_model_value (old_side->model, pair.before);
  const IrValue *fresh = ir_model_value (new_side->model, pair.after);
  g_autofree char *why = NULL;
  const IrTensor *a = value_on (old_side, old, 0, &why);
  const IrTensor *b = a != NULL ? value_on (new_side, fresh, 0, &why) : NULL;
  Comparison found;
  double tolerance, scale;

  if (a == NULL || b == NULL)
    {
      if (proof->verdict != IR_VERDICT_BROKEN)
        {
          proof->verdict = IR_VERDICT_SKIPPED;
          proof->text = ir_context_intern (old_side->prover->model->context,
                                           why != NULL ? why : "not computed");
        }
      return;
    }
  if (!compare (a, b, &found))
    {
      proof->verdict = IR_VERDICT_BROKEN;
      proof->worst_value = pair.before;
      proof->text = "the new value has another shape or type";
      return;
    }
  if (found.same)
    return;
  if (found.max_abs >= proof->max_abs)
    proof->worst_value = pair.before;
  proof->max_abs = MAX (proof->max_abs, found.max_abs);
  proof->max_rel = MAX (proof->max_rel, found.max_rel);
  proof->max_ulp = MAX (proof->max_ulp, found.max_ulp);
  scale = epsilon_scale (ir_tensor_dtype (a));
  tolerance = scale * (MAX (old_side->atol, new_side->atol) +
                       MAX (old_side->rtol, new_side->rtol) * found.scale);
  proof->bound = MAX (proof->bound, tolerance);
  if (proof->verdict == IR_VERDICT_BROKEN || proof->verdict == IR_VERDICT_SKIPPED)
    return;
  if (!found.non_finite_differs && found.max_abs <= tolerance)
    proof->verdict = IR_VERDICT_ROUNDING;
  else if (!ir_dtype_is_float (ir_tensor_dtype (a)))
    {
      proof->verdict = IR_VERDICT_BROKEN;
      proof->text = "the new value differs, and it is not floating-point";
    }
  else
    judge_wide (proof, wide, old, a, b, tolerance);
}

static void
judge_cone (IrProver *prover, const Cone *cone, IrProof *proof)
{
  Side old_side, new_side, wide;

  side_init (&old_side, prover, prover->before, cone->changed);
  side_init (&new_side, prover, prover->after, cone->changed);
  side_init (&wide, prover, prover->before, cone->changed);
  wide.wide = TRUE;
  proof->verdict = IR_VERDICT_EXACT;
  for (guint i = 0; i < cone->pairs->len; i++)
    judge_pair (proof, &old_side, &new_side, &wide, g_array_index (cone->pairs, IrIdPair, i));
  if (cone->pairs->len == 0)
    proof->text = "nothing to compare: what went was not used";
  g_hash_table_unref (old_side.values);
  g_hash_table_unref (new_side.values);
  g_hash_table_unref (wide.values);
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
  const IrStep *what;
  Cone cone = { 0 };
  gint64 start = g_get_monotonic_time ();

  memset (proof, 0, sizeof *proof);
  if (prover->cancellable != NULL &&
      g_cancellable_set_error_if_cancelled (prover->cancellable, error))
    return FALSE;
  g_return_val_if_fail (step >= 1 && step <= ir_history_n_steps (prover->model), FALSE);
  refresh (prover);
  what = ir_history_step (prover->model, step);
  if (what->step_class == IR_CLASS_EDIT)
    {
      proof->verdict = IR_VERDICT_SKIPPED;
      proof->text = "an edit by hand may change anything";
    }
  else
    {
      ir_history_goto (prover->before, step - 1);
      ir_history_goto (prover->after, step);
      cone.changed = g_hash_table_new (NULL, NULL);
      cone.pairs = g_array_new (FALSE, FALSE, sizeof (IrIdPair));
      find_cone (prover, what, &cone);
      judge_cone (prover, &cone, proof);
      g_hash_table_unref (cone.changed);
      g_array_unref (cone.pairs);
    }
  if (prover->cancellable != NULL &&
      g_cancellable_set_error_if_cancelled (prover->cancellable, error))
    return FALSE;
  proof->duration_ns = (g_get_monotonic_time () - start) * 1000;
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
