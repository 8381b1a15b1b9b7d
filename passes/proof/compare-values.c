/* Both graphs run on the same inputs, those of the same name or else the same place. What is the same value on both sides (pair-values.c) is compared in the order of
 * execution, so that the first that differs is where a difference begins.
 *
 * What differs is judged as a proof judges a step: the value of the second graph is computed anew
 * from what the first graph's run holds of the nearest paired values, and that is compared with what
 * the first graph makes of them, within the tolerance of the rows between, or against float64. So
 * errors of what lies before do not add up, and a bound that many layers widen excuses nothing. A
 * value that is computed in the same way on both sides differs by what comes in; behind one that
 * diverges all that is beyond the tolerance of its own rows diverges too. */
#include "config.h"

#include "passes/proof/compare-values.h"

#include "core/exec/run/loop-table.h"
#include "passes/proof/alike.h"
#include "passes/proof/proof-private.h"

/* -- inputs -- */

static const IrTensor *
given_for (const IrModel *from, const IrModel *to, guint place, GHashTable *inputs)
{
  const IrValue *wanted = ir_graph_input (to->main, place);
  const IrValue *value = ir_graph_find_value (from->main, wanted->name);

  if (value == NULL || !ir_value_is_graph_input (value))
    value = place < ir_graph_n_inputs (from->main) ? ir_graph_input (from->main, place) : NULL;
  return value != NULL ? g_hash_table_lookup (inputs, GUINT_TO_POINTER (value->id)) : NULL;
}

static gboolean
fits (const IrTensor *tensor, const IrType *type)
{
  if (tensor == NULL || !ir_type_is_tensor (type) || type->dtype != ir_tensor_dtype (tensor))
    return FALSE;
  for (int i = 0; ir_type_has_rank (type) && i < type->rank; i++)
    if ((guint) type->rank != ir_tensor_rank (tensor) ||
        (ir_dim_is_known (type->dims[i]) && type->dims[i] != ir_tensor_dims (tensor)[i]))
      return FALSE;
  return TRUE;
}

/**
 * ir_matching_inputs:
 * @from: a model
 * @inputs: value id -> #IrTensor: what @from is run on
 * @to: another model
 * @seed: of what @from has nothing for
 * @bindings: (nullable): symbol name -> #gint64 *: sizes of symbolic dims
 * @error: return location for an error
 *
 * Gives each input of @to what the input of @from of the same name, or else of the same place, has,
 * where its type takes that; the rest is random.
 *
 * Returns: (transfer full) (nullable): value id of @to -> #IrTensor; %NULL as ir_random_inputs()
 * does
 */
GHashTable *
ir_matching_inputs (const IrModel *from,
                    GHashTable *inputs,
                    IrModel *to,
                    guint64 seed,
                    GHashTable *bindings,
                    GError **error)
{
  g_autoptr (GHashTable)
      given = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  GHashTable *all;
  GHashTableIter iter;
  gpointer id, tensor;

  for (guint i = 0; i < ir_graph_n_inputs (to->main); i++)
    {
      const IrTensor *found = given_for (from, to, i, inputs);
      const IrValue *value = ir_graph_input (to->main, i);

      if (fits (found, value->type))
        g_hash_table_insert (given, GUINT_TO_POINTER (value->id),
                             ir_tensor_ref ((IrTensor *) found));
    }
  all = ir_random_inputs_beside (to, seed, bindings, given, error);
  g_hash_table_iter_init (&iter, given);
  while (all != NULL && g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_replace (all, id, ir_tensor_ref (tensor));
  return all;
}

/* -- running -- */

typedef struct
{
  const IrCompareValuesOptions *options;
  gboolean of_b;
} Side;

static void
on_node (guint done, guint total, const IrNode *node, gpointer data)
{
  const Side *side = data;

  side->options->progress (side->of_b, done, total, side->options->progress_data);
}

static IrRun *
run_side (IrModel *model,
          GHashTable *inputs,
          Side side,
          GArray *of_loops, /* (nullable) these alone are kept, in all iterations */
          GCancellable *cancellable,
          GError **error)
{
  IrRunOptions options = side.options->run;

  if (side.of_b && side.options->second != NULL)
    options.backend = side.options->second;
  options.capture = of_loops != NULL ? IR_CAPTURE_CHOSEN : IR_CAPTURE_ALL;
  options.chosen = of_loops;
  if (of_loops != NULL)
    options.iterations = IR_ITERATIONS_ALL;
  options.progress = side.options->progress != NULL ? on_node : NULL;
  options.progress_data = &side;
  return ir_model_run (model, inputs, &options, cancellable, error);
}

/* -- judging -- */

typedef struct
{
  IrComparedValues *self;
  IrValuePairing *pairing;
  GHashTable *matched; /* id of b -> IrMatchedValue */
  IrProver prover;     /* what judging needs of one */
  IrModel *flat_a, *flat_b;
  GHashTable *inputs_a, *inputs_b;
  IrScope scope_a, scope_b;
  IrValueId target_a; /* the value that is judged is not given */
  gboolean
      of_devices; /* one graph on two of them: both sides start from what the second run holds */
} Judging;

static guint
leaf (const Judging *judging, const IrTensor *tensor)
{
  return tensor != NULL ? ir_evaluator_leaf (judging->prover.evaluator, (IrTensor *) tensor) : 0;
}

static const IrTensor *
held (const Judging *judging, IrValueId a, IrValueId b)
{
  return judging->of_devices ? ir_run_value (judging->self->run_b, b)
                             : ir_run_value (judging->self->run_a, a);
}

/* On both sides what is paired holds what one of the runs has. */
static guint
known_a (const IrValue *value, gpointer data)
{
  const Judging *judging = data;
  const IrValueId b = ir_value_pairing_of_a (judging->pairing, value->id);

  if (value->producer == NULL)
    return leaf (judging, g_hash_table_lookup (judging->inputs_a, GUINT_TO_POINTER (value->id)));
  if (value->id == judging->target_a || b == 0)
    return 0;
  return leaf (judging, held (judging, value->id, b));
}

static guint
known_b (const IrValue *value, gpointer data)
{
  const Judging *judging = data;
  const IrValueId a = ir_value_pairing_of_b (judging->pairing, value->id);

  if (value->producer == NULL)
    return leaf (judging, g_hash_table_lookup (judging->inputs_b, GUINT_TO_POINTER (value->id)));
  return a != 0 ? leaf (judging, held (judging, a, value->id)) : 0;
}

/* The nodes between a value and what is given. */
typedef struct
{
  const Judging *judging;
  gboolean of_b;
  GHashTable *seen; /* set of nodes */
  IrTolerance tolerance;
  gboolean follows; /* something given diverges, or follows what does */
} Between;

static const IrComparedValue *
compared (const Judging *judging, const IrValue *value, gboolean of_b)
{
  const guint place = GPOINTER_TO_UINT (g_hash_table_lookup (
      of_b ? judging->self->by_b : judging->self->by_a, GUINT_TO_POINTER (value->id)));

  return place > 0 ? &g_array_index (judging->self->items, IrComparedValue, place - 1) : NULL;
}

static void walk_node (Between *between, GQueue *queue, const IrNode *node);

static void
walk_value (Between *between, GQueue *queue, const IrValue *value)
{
  const IrComparedValue *item;

  if (value == NULL || value->producer == NULL || ir_value_constant (value) != NULL)
    return;
  item = compared (between->judging, value, between->of_b);
  if (item != NULL)
    between->follows |= item->differs && (item->diverges || item->follows);
  else if (g_hash_table_add (between->seen, value->producer))
    g_queue_push_tail (queue, value->producer);
}

/* With the bodies that it owns, which see values around them. */
static void
walk_node (Between *between, GQueue *queue, const IrNode *node)
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  if (node->op != NULL)
    {
      between->tolerance.rtol = MAX (between->tolerance.rtol, node->op->tol.rtol);
      between->tolerance.atol = MAX (between->tolerance.atol, node->op->tol.atol);
    }
  for (guint i = 0; i < node->n_inputs; i++)
    walk_value (between, queue, node->inputs[i]);
  for (guint i = 0; graphs != NULL && i < graphs->len; i++)
    for (guint k = 0; k < ir_graph_n_outputs (graphs->pdata[i]); k++)
      walk_value (between, queue, ir_graph_output (graphs->pdata[i], k));
}

static void
walk (Between *between, const IrValue *value)
{
  GQueue queue = G_QUEUE_INIT;
  const IrNode *node;

  g_hash_table_add (between->seen, value->producer);
  g_queue_push_tail (&queue, value->producer);
  while ((node = g_queue_pop_head (&queue)) != NULL)
    walk_node (between, &queue, node);
}

static Between
find_between (const Judging *judging, const IrValue *a, const IrValue *b)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  Between between = { judging, FALSE, seen };

  walk (&between, a);
  between.of_b = TRUE;
  walk (&between, b);
  between.seen = NULL;
  return between;
}

static void
say (Judging *judging, IrComparedValue *item, const char *why)
{
  item->diverges = TRUE;
  item->why = ir_context_intern (judging->self->b->context, why);
}

static void
judge_by_rows (Judging *judging, IrComparedValue *item, double tolerance, const char *why)
{
  item->bound_kind = IR_BOUND_ROWS;
  item->bound = tolerance;
  item->alone = item->result.max_abs;
  if (item->result.non_finite_differs || item->result.max_abs > tolerance)
    say (judging, item, why);
}

/* The second graph's way from what the first has; of two devices, the first one's from what the second has. */
static void
judge_alone (Judging *judging, IrComparedValue *item, const Between *between, double tolerance)
{
  const IrValue *a = ir_model_live_value (judging->flat_a, item->a),
                *b = ir_model_live_value (judging->flat_b, item->b);
  const IrTensor *there = held (judging, item->a, item->b), *x, *y;
  const IrIdPair pair = { item->a, item->b };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) anew = NULL;
  IrProof proof = { 0 };

  if (a != NULL && b != NULL)
    anew = judging->of_devices ? ir_scope_contents (&judging->scope_a, a, &error)
                               : ir_scope_contents (&judging->scope_b, b, &error);
  if (anew == NULL)
    {
      judge_by_rows (judging, item, tolerance,
                     error != NULL ? error->message : "it lies in the body of a function");
      return;
    }
  ir_tensor_ref (anew);
  x = judging->of_devices ? anew : there;
  y = judging->of_devices ? there : anew;
  judging->target_a = item->a;
  ir_contents_judge (&judging->prover, &judging->scope_a, &judging->scope_b, between->tolerance,
                     &pair, x, y, &proof);
  judging->target_a = 0;
  item->alone = proof.max_abs;
  item->bound = proof.bound;
  item->bound_kind = proof.verdict == IR_VERDICT_EXACT ? IR_BOUND_INHERITED
                     : proof.max_abs <= tolerance      ? IR_BOUND_ROWS
                                                       : IR_BOUND_WIDE;
  if (proof.verdict != IR_VERDICT_EXACT && proof.verdict != IR_VERDICT_ROUNDING)
    say (judging, item, proof.text != NULL ? proof.text : "it could not be judged");
}

static void
judge (Judging *judging,
       IrComparedValue *item,
       const IrValue *a,
       const IrValue *b,
       IrPaired how,
       const IrTensor *x)
{
  const Between between = find_between (judging, a, b);
  const double tolerance = ir_tolerance_of (between.tolerance, ir_tensor_dtype (x),
                                            item->result.scale);

  item->follows = between.follows;
  if (!ir_dtype_is_float (ir_tensor_dtype (x)) && !ir_tensor_is_container (x))
    say (judging, item, "it is not floating-point");
  else if (between.follows && !judging->of_devices)
    judge_by_rows (judging, item, tolerance, "what it is computed from diverges");
  else if (item->result.non_finite_differs)
    say (judging, item, "it is finite on one side only");
  else if (judging->of_devices && item->result.max_abs <= tolerance)
    judge_by_rows (judging, item, tolerance, NULL);
  else if (how == IR_PAIRED_BY_COMPUTATION && !judging->of_devices)
    item->bound_kind = IR_BOUND_INHERITED;
  else
    judge_alone (judging, item, &between, tolerance);
}

/* -- comparing -- */

static void
compare (Judging *judging, const IrValue *b)
{
  IrComparedValues *self = judging->self;
  IrComparedValue item = { .comparable = FALSE };
  const IrMatchedValue *matched = b != NULL ? g_hash_table_lookup (judging->matched,
                                                                   GUINT_TO_POINTER (b->id))
                                            : NULL;
  const IrValue *a = matched != NULL ? ir_model_value (self->a, matched->a) : NULL;
  const IrTensor *x, *y;

  if (matched == NULL)
    return;
  x = ir_run_value (self->run_a, a->id);
  y = ir_run_value (self->run_b, b->id);
  item.a = a->id;
  item.b = b->id;
  item.how = matched->how;
  item.is_output = ir_value_is_graph_output (a) && a->graph->kind == IR_GRAPH_MAIN;
  item.comparable = ir_tensors_compare (x, y, &item.result);
  item.differs = !item.comparable || !item.result.same;
  if (!item.comparable)
    say (judging, &item, "the shapes or types differ");
  else if (item.differs)
    judge (judging, &item, a, b, matched->how, x);
  self->n_differ += item.differs;
  self->n_diverge += item.diverges;
  ir_value_pairing_add (judging->pairing, a, b);
  /* What follows is computed from what is given now, and not from how it was computed. */
  g_hash_table_remove (judging->scope_a.numbers, GUINT_TO_POINTER (a->id));
  g_hash_table_remove (judging->scope_b.numbers, GUINT_TO_POINTER (b->id));
  g_array_append_val (self->items, item);
  g_hash_table_insert (self->by_a, GUINT_TO_POINTER (a->id), GUINT_TO_POINTER (self->items->len));
  g_hash_table_insert (self->by_b, GUINT_TO_POINTER (b->id), GUINT_TO_POINTER (self->items->len));
}

/* What inputs hold is the same on both sides, so that values can be computed from it. */
static void
pair_inputs (Judging *judging)
{
  const IrGraph *b = judging->self->b->main;

  for (guint i = 0; i < ir_graph_n_inputs (b); i++)
    {
      const IrValue *y = ir_graph_input (b, i);
      const IrMatchedValue *matched = g_hash_table_lookup (judging->matched,
                                                           GUINT_TO_POINTER (y->id));

      if (matched != NULL)
        ir_value_pairing_add (judging->pairing, ir_model_value (judging->self->a, matched->a), y);
    }
}

/* In the order of execution, bodies before what owns them. */
static void
compare_graph (Judging *judging, const IrGraph *graph, GCancellable *cancellable)
{
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  for (guint i = 0; i < n && !g_cancellable_is_cancelled (cancellable); i++)
    {
      g_autoptr (GPtrArray) graphs = ir_node_subgraphs (order[i]);

      for (guint k = 0; graphs != NULL && k < graphs->len; k++)
        compare_graph (judging, graphs->pdata[k], cancellable);
      for (guint k = 0; k < order[i]->n_outputs; k++)
        compare (judging, order[i]->outputs[k]);
    }
}

static gboolean
compare_all (IrComparedValues *self,
             const IrDiff *diff,
             GHashTable *inputs_a,
             GHashTable *inputs_b,
             const IrRunOptions *options,
             gboolean of_devices,
             GCancellable *cancellable,
             GError **error)
{
  Judging judging = {
    .self = self, .inputs_a = inputs_a, .inputs_b = inputs_b, .of_devices = of_devices
  };
  g_autoptr (IrModel) flat_a = ir_model_has_calls (self->a) ? ir_exec_expand (self->a, error)
                                                            : ir_model_ref (self->a);
  g_autoptr (IrModel) flat_b = NULL;
  g_autoptr (IrAlike) alike = NULL;
  IrMatchEvidence evidence;

  if (flat_a != NULL)
    flat_b = ir_model_has_calls (self->b) ? ir_exec_expand (self->b, error)
                                          : ir_model_ref (self->b);
  if (flat_b == NULL)
    return FALSE;
  judging.flat_a = flat_a;
  judging.flat_b = flat_b;
  judging.pairing = ir_value_pairing_new (diff);
  judging.prover = (IrProver){ .model = self->b,
                               .plain = *(options->backend != NULL ? options->backend
                                                                   : ir_backend_find ("cpu")),
                               .cancellable = cancellable };
  judging.prover.plain.plan_blocks = NULL; /* node by node, as a proof */
  judging.prover.evaluator = ir_evaluator_new (&judging.prover.plain, options->n_threads,
                                               cancellable);
  ir_evaluator_start (judging.prover.evaluator);
  ir_scope_init (&judging.scope_a, judging.prover.evaluator, flat_a, known_a, &judging);
  ir_scope_init (&judging.scope_b, judging.prover.evaluator, flat_b, known_b, &judging);
  alike = ir_alike_new (
      &(IrRunSides){ self->a, self->b, self->run_a, self->run_b, inputs_a, inputs_b });
  evidence = ir_alike_evidence (alike);
  judging.matched = ir_match_values (diff, &evidence, cancellable);
  pair_inputs (&judging);
  compare_graph (&judging, self->b->main, cancellable);
  ir_scope_clear (&judging.scope_a);
  ir_scope_clear (&judging.scope_b);
  ir_evaluator_free (judging.prover.evaluator);
  ir_value_pairing_free (judging.pairing);
  g_hash_table_unref (judging.matched);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

/**
 * ir_compare_runs:
 * @diff: how the nodes of two models are paired
 * @run_a: a run of the first, with the values that are to be compared
 * @run_b: a run of the second
 * @inputs_a: value id -> #IrTensor: every input of the first
 * @inputs_b: value id -> #IrTensor: every input of the second
 * @options: back end and threads that values are judged with
 * @of_devices: of one graph, on two back ends of which @options has that of the first run: what differs by more
 *   than the tolerance of its rows is computed anew, from what the second run holds
 * @cancellable: (nullable): asked between nodes
 * @error: return location for an error
 *
 * Compares what is the same value on both sides, as far as both runs kept it.
 *
 * Returns: (transfer full) (nullable): the values, or %NULL with @error if it was cancelled
 */
IrComparedValues *
ir_compare_runs (const IrDiff *diff,
                 IrRun *run_a,
                 IrRun *run_b,
                 GHashTable *inputs_a,
                 GHashTable *inputs_b,
                 const IrRunOptions *options,
                 gboolean of_devices,
                 GCancellable *cancellable,
                 GError **error)
{
  g_autoptr (IrComparedValues) self = g_new0 (IrComparedValues, 1);

  self->a = ir_model_ref (diff->a);
  self->b = ir_model_ref (diff->b);
  self->run_a = ir_run_ref (run_a);
  self->run_b = ir_run_ref (run_b);
  self->items = g_array_new (FALSE, FALSE, sizeof (IrComparedValue));
  self->by_a = g_hash_table_new (NULL, NULL);
  self->by_b = g_hash_table_new (NULL, NULL);
  return compare_all (self, diff, inputs_a, inputs_b, options, of_devices, cancellable, error)
             ? g_steal_pointer (&self)
             : NULL;
}

/* Values of bodies are the same where nodes that are a pair give them. 0: none */
static IrValueId
partner_of (const IrComparedValues *self, const IrDiff *diff, IrValueId b)
{
  const IrComparedValue *item = ir_compared_values_of_b (self, b);
  const IrNode *node = ir_model_value (self->b, b)->producer;
  const IrNodeDiff *row = item == NULL && node != NULL ? ir_diff_of_b (diff, node->id) : NULL;
  const IrNode *other = row != NULL && row->a != 0 ? ir_model_node (self->a, row->a) : NULL;

  if (item != NULL)
    return item->a;
  for (guint i = 0; other != NULL && i < MIN (node->n_outputs, other->n_outputs); i++)
    if (node->outputs[i] != NULL && node->outputs[i]->id == b && other->outputs[i] != NULL)
      return other->outputs[i]->id;
  return 0;
}

/* Of what both sides compute in loops; the runs that there are have kept the last rounds alone. */
static gboolean
find_iteration (IrComparedValues *self,
                const IrDiff *diff,
                GHashTable *inputs_a,
                GHashTable *inputs_b,
                const IrCompareValuesOptions *options,
                GCancellable *cancellable,
                GError **error)
{
  g_autoptr (GArray) in_loops = ir_loop_values (self->b);
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (IrIdPair));
  g_autoptr (GArray) of_a = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_autoptr (GArray) of_b = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_autoptr (IrRun) run_a = NULL;
  g_autoptr (IrRun) run_b = NULL;

  for (guint i = 0; i < in_loops->len; i++)
    {
      const IrValueId b = g_array_index (in_loops, IrValueId, i);
      const IrIdPair pair = { partner_of (self, diff, b), b };

      if (pair.before == 0)
        continue;
      g_array_append_val (pairs, pair);
      g_array_append_val (of_a, pair.before);
      g_array_append_val (of_b, pair.after);
    }
  if (pairs->len == 0)
    return TRUE;
  run_a = run_side (self->a, inputs_a, (Side){ options, FALSE }, of_a, cancellable, error);
  if (run_a != NULL)
    run_b = run_side (self->b, inputs_b, (Side){ options, TRUE }, of_b, cancellable, error);
  if (run_b == NULL)
    return FALSE;
  ir_first_iteration_find (run_a, run_b, pairs, &self->iteration);
  return TRUE;
}

/**
 * ir_compare_values:
 * @diff: how the nodes of two models are paired
 * @inputs_a: value id -> #IrTensor: every input of the first
 * @inputs_b: value id -> #IrTensor: every input of the second, as of ir_matching_inputs()
 * @options: how to run
 * @cancellable: (nullable): asked while running and between nodes
 * @error: return location for an error
 *
 * Runs both models with every value kept, and compares what is the same value on both sides.
 *
 * Returns: (transfer full) (nullable): the values, or %NULL with @error if one of the models does
 * not run to its end
 */
IrComparedValues *
ir_compare_values (const IrDiff *diff,
                   GHashTable *inputs_a,
                   GHashTable *inputs_b,
                   const IrCompareValuesOptions *options,
                   GCancellable *cancellable,
                   GError **error)
{
  g_autoptr (IrRun)
      run_a = run_side (diff->a, inputs_a, (Side){ options, FALSE }, NULL, cancellable, error);
  g_autoptr (IrRun) run_b = NULL;
  g_autoptr (IrComparedValues) values = NULL;

  if (run_a == NULL)
    {
      g_prefix_error (error, "The first graph: ");
      return NULL;
    }
  run_b = run_side (diff->b, inputs_b, (Side){ options, TRUE }, NULL, cancellable, error);
  if (run_b == NULL)
    {
      g_prefix_error (error, "The second graph: ");
      return NULL;
    }
  values = ir_compare_runs (diff, run_a, run_b, inputs_a, inputs_b, &options->run,
                            options->second != NULL, cancellable, error);
  return values != NULL &&
                 (!options->iterations || values->n_differ == 0 ||
                  find_iteration (values, diff, inputs_a, inputs_b, options, cancellable, error))
             ? g_steal_pointer (&values)
             : NULL;
}

/**
 * ir_compared_values_free:
 * @values: (transfer full): what ir_compare_values() returned
 */
void
ir_compared_values_free (IrComparedValues *values)
{
  g_clear_pointer (&values->run_a, ir_run_unref);
  g_clear_pointer (&values->run_b, ir_run_unref);
  g_clear_pointer (&values->items, g_array_unref);
  g_clear_pointer (&values->by_a, g_hash_table_unref);
  g_clear_pointer (&values->by_b, g_hash_table_unref);
  ir_first_iteration_clear (&values->iteration);
  g_clear_pointer (&values->a, ir_model_unref);
  g_clear_pointer (&values->b, ir_model_unref);
  g_free (values);
}

/* -- reading -- */

/**
 * ir_bound_kind_name:
 *
 * Returns: (transfer none): "none", "inherited", "rows" or "float64"
 */
const char *
ir_bound_kind_name (IrBoundKind kind)
{
  static const char *const names[] = { "none", "inherited", "rows", "float64" };

  return names[kind];
}

/**
 * ir_compared_value_verdict:
 *
 * Returns: (transfer full) (nullable): how its difference was judged, in a sentence; %NULL if there
 *   is none
 */
char *
ir_compared_value_verdict (const IrComparedValue *item)
{
  const char *by = item->bound_kind == IR_BOUND_WIDE ? "by float64" : "by the operators' tolerance";

  if (!item->differs)
    return NULL;
  if (item->diverges && item->bound_kind == IR_BOUND_NONE)
    return g_strdup_printf ("more than rounding: %s", item->why);
  if (item->diverges)
    return g_strdup_printf ("more than rounding: %.3g of the same inputs, %.3g allowed %s; %s",
                            item->alone, item->bound, by, item->why);
  if (item->bound_kind == IR_BOUND_INHERITED)
    return g_strdup ("rounding: computed in the same way, from values that differ by rounding");
  return g_strdup_printf ("rounding: %.3g of the same inputs, %.3g allowed %s", item->alone,
                          item->bound, by);
}

/**
 * ir_compared_values_first:
 * @diverging: whether differences up to rounding are passed over
 *
 * Returns: (transfer none) (nullable): the first value, in the order of execution, that differs
 */
const IrComparedValue *
ir_compared_values_first (const IrComparedValues *values, gboolean diverging)
{
  for (guint i = 0; i < values->items->len; i++)
    {
      const IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);

      if (diverging ? item->diverges : item->differs)
        return item;
    }
  return NULL;
}

/**
 * ir_compared_values_of_b:
 * @values: what was compared
 * @b: id of a value of the second graph
 *
 * Returns: (transfer none) (nullable): how it was compared; %NULL: it has no partner
 */
const IrComparedValue *
ir_compared_values_of_b (const IrComparedValues *values, IrValueId b)
{
  const guint place = GPOINTER_TO_UINT (g_hash_table_lookup (values->by_b, GUINT_TO_POINTER (b)));

  return place > 0 ? &g_array_index (values->items, IrComparedValue, place - 1) : NULL;
}

static gboolean
is_worse (const IrComparedValue *x, const IrComparedValue *y)
{
  if (x->comparable != y->comparable)
    return !x->comparable;
  if (x->result.non_finite_differs != y->result.non_finite_differs)
    return x->result.non_finite_differs;
  if (x->result.max_abs != y->result.max_abs)
    return x->result.max_abs > y->result.max_abs;
  return x < y; /* the order of execution */
}

static int
compare_badness (gconstpointer a, gconstpointer b)
{
  const IrComparedValue *x = *(const IrComparedValue *const *) a;
  const IrComparedValue *y = *(const IrComparedValue *const *) b;

  return x == y ? 0 : is_worse (x, y) ? -1 : 1;
}

/**
 * ir_compared_values_worst:
 *
 * Returns: (transfer container) (element-type IrComparedValue): those that differ, largest first:
 *   what cannot be compared, what is not finite on one side, then by the difference
 */
GPtrArray *
ir_compared_values_worst (const IrComparedValues *values)
{
  GPtrArray *worst = g_ptr_array_new ();

  for (guint i = 0; i < values->items->len; i++)
    {
      IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);

      if (item->differs)
        g_ptr_array_add (worst, item);
    }
  g_ptr_array_sort (worst, compare_badness);
  return worst;
}
