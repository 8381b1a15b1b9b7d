/* Computing a node again, and holding what it gave against that. Within the row's tolerance it is
 * right; beyond it, float64 decides where the operator may round at all:
 *
 *     |given - exact| <= 4 |reference - exact| + tolerance
 *
 * A node that owns subgraphs has no other implementation: it runs once more on copies, by the same
 * kernels, and the nodes of its bodies are judged one by one while it runs the first time. */
#include "config.h"

#include "core/exec/check/check-private.h"

#include "core/op/infer.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define WIDE_FACTOR 4 /* how much worse than the reference kernel, against float64 */

/* -- contents -- */

static gboolean
has_bytes (const IrTensor *tensor)
{
  return !ir_tensor_is_container (tensor) && ir_tensor_sparse_values (tensor) == NULL &&
         ir_tensor_dtype (tensor) != IR_DTYPE_STRING;
}

/* Strings and containers never lie where something else is written. Returns the contents of
 * @value as the graph has them. */
IrTensor *
ir_check_plain (
    IrRunState *state, const IrValue *value, const IrTensor *tensor, gboolean copy, GError **error)
{
  if (!has_bytes (tensor))
    return ir_tensor_ref ((IrTensor *) tensor);
  if (ir_schedule_block (state->prepared->schedule, value) != 0 &&
      ir_tensor_rank (tensor) != (guint) value->type->rank)
    return ir_nchwc_to_graph (tensor, value->type, error);
  if (copy)
    return ir_tensor_copy (tensor, error);
  return ir_tensor_new_static (ir_tensor_dtype (tensor), ir_tensor_rank (tensor),
                               ir_tensor_dims (tensor), (gpointer) ir_tensor_data (tensor),
                               ir_tensor_n_bytes (tensor));
}

/* Operations of it by the cost model, with the sizes that there were */
guint64
ir_check_work (const IrNode *node, GHashTable *given, IrTensor *const *outputs)
{
  gboolean partial = FALSE;
  guint64 flops = ir_cost_node_flops (node, &partial), bytes;
  IrCall call;

  if (!partial || node->op == NULL)
    return flops;
  ir_call_layout (&call, node);
  ir_node_for_each_input (node, i, value)
    {
      const IrTensor *tensor = g_hash_table_lookup (given, GUINT_TO_POINTER (value->id));
      if (tensor != NULL)
        ir_call_set_input (&call, i, tensor);
    }
  ir_call_adapt (&call);
  for (guint i = 0; i < MIN (node->n_outputs, call.n_outputs); i++)
    if (outputs[i] != NULL)
      call.outputs[i].type = ir_tensor_type (outputs[i], node->graph->model->context);
  ir_cost_call (&call, &flops, &bytes);
  ir_call_clear (&call);
  return flops;
}

/* -- computing again -- */

static const IrTensor *
find_given (const IrValue *value, gpointer given)
{
  return g_hash_table_lookup (given, GUINT_TO_POINTER (value->id));
}

static void
clear_tensors (IrTensor **tensors, guint n)
{
  for (guint i = 0; i < n; i++)
    g_clear_pointer (&tensors[i], ir_tensor_unref);
}

static gboolean
evaluate (IrChecker *checker,
          const IrNode *node,
          const IrEvalOptions *how,
          GHashTable *given,
          IrTensor **outputs,
          GError **error)
{
  g_autofree const IrTensor **inputs = g_new0 (const IrTensor *, node->n_inputs + 1);
  IrEvalOptions options = *how;

  options.cancellable = checker->state->cancellable;
  options.seed = checker->state->options->seed;
  options.contents = find_given;
  options.data = given;
  ir_node_for_each_input (node, i, value)
    {
      inputs[i] = find_given (value, given);
    }
  return ir_eval_node_with (node, inputs, outputs, &options, error);
}

/* Whether it is for lack of a kernel or the like, and not because the check is to end. */
static gboolean
forgive (IrNodeCheck *item, const char *what, GError *failure, GError **error)
{
  if (!g_error_matches (failure, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED))
    {
      ir_check_leave (item, g_strdup_printf ("%s: %s", what, failure->message));
      g_error_free (failure);
      return TRUE;
    }
  g_propagate_error (error, failure);
  return FALSE;
}

static GHashTable *
tensor_table (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
}

/* (nullable) if there is no memory */
static GHashTable *
widen (GHashTable *given)
{
  g_autoptr (GHashTable) wide = tensor_table ();
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      IrTensor *one = ir_tensor_widen (tensor);
      if (one == NULL)
        return NULL;
      g_hash_table_insert (wide, id, one);
    }
  return g_steal_pointer (&wide);
}

/* -- verdicts -- */

/* What was found before stays */
void
ir_check_leave (IrNodeCheck *item, char *reason)
{
  if (!ir_checked_is_fault (item->verdict))
    {
      g_free (item->reason);
      item->reason = g_steal_pointer (&reason);
      item->verdict = IR_CHECKED_NOT;
    }
  g_free (reason);
}

static gboolean
is_worse (const IrComparison *found, const IrComparison *than)
{
  return (found->non_finite_differs && !than->non_finite_differs) || found->max_abs > than->max_abs;
}

static void
note (IrNodeCheck *item, IrValueId value, const IrComparison *found, double bound)
{
  if (item->value != 0 && !is_worse (found, &item->found))
    return;
  item->value = value;
  item->found = *found;
  item->bound = bound;
}

/* @reason: (transfer full) (nullable) */
static void
find_beyond (
    IrNodeCheck *item, IrValueId value, const IrComparison *found, double bound, char *reason)
{
  if (ir_checked_is_fault (item->verdict))
    {
      g_free (reason);
      return;
    }
  g_free (item->reason);
  item->reason = reason;
  item->verdict = IR_CHECKED_BEYOND;
  item->value = value;
  item->found = *found;
  item->bound = bound;
}

/* Bodies have the tolerances of their nodes. */
static void
add_tolerances (const IrGraph *graph, IrTolerance *tolerance)
{
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (graph, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    {
      g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (nodes[i]);
      for (guint k = 0; subgraphs != NULL && k < subgraphs->len; k++)
        add_tolerances (g_ptr_array_index (subgraphs, k), tolerance);
      if (nodes[i]->op == NULL)
        continue;
      tolerance->rtol = MAX (tolerance->rtol, nodes[i]->op->tol.rtol);
      tolerance->atol = MAX (tolerance->atol, nodes[i]->op->tol.atol);
    }
}

static IrTolerance
tolerance_of (const IrNode *node)
{
  IrTolerance tolerance = node->op != NULL ? node->op->tol : (IrTolerance) IR_TOL_EXACT;
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);

  for (guint i = 0; subgraphs != NULL && i < subgraphs->len; i++)
    add_tolerances (g_ptr_array_index (subgraphs, i), &tolerance);
  return tolerance;
}

static gboolean
rounds (IrTolerance tolerance, const IrTensor *tensor)
{
  return (tolerance.rtol > 0 || tolerance.atol > 0) && !ir_tensor_is_container (tensor) &&
         ir_dtype_is_float (ir_tensor_dtype (tensor));
}

/* Whether float64 finds @actual not much worse than @reference; @bound becomes what it may be off.
 */
static gboolean
is_as_exact (const IrTensor *exact,
             const IrTensor *reference,
             const IrTensor *actual,
             double tolerance,
             IrComparison *found,
             double *bound)
{
  IrComparison of_reference, of_actual;

  if (!ir_tensors_compare (exact, reference, &of_reference) ||
      !ir_tensors_compare (exact, actual, &of_actual))
    return FALSE;
  if (!of_reference.non_finite_differs)
    *bound = WIDE_FACTOR * of_reference.max_abs + tolerance;
  *found = of_actual;
  return (!of_actual.non_finite_differs && of_actual.max_abs <= *bound) ||
         (of_actual.non_finite_differs && of_reference.non_finite_differs);
}

/* Whether there is an answer without float64. */
static gboolean
compare (IrNodeCheck *item,
         const IrValue *value,
         const IrTensor *wanted,
         const IrTensor *actual,
         IrTolerance tolerance,
         double scale)
{
  IrComparison found;

  if (!ir_tensors_compare (wanted, actual, &found) ||
      ir_tensor_dtype (wanted) != ir_tensor_dtype (actual))
    {
      found = (IrComparison){ .non_finite_differs = TRUE, .max_abs = INFINITY };
      find_beyond (item, value->id, &found, 0,
                   g_strdup_printf ("%s has another shape or type", value->name));
      return TRUE;
    }
  double bound = ir_tolerance_of (tolerance, ir_tensor_dtype (wanted), MAX (scale, found.scale));
  if (found.same || (!found.non_finite_differs && found.max_abs <= bound))
    {
      note (item, value->id, &found, bound);
      return TRUE;
    }
  if (rounds (tolerance, actual))
    return FALSE;
  find_beyond (item, value->id, &found, bound, NULL);
  return TRUE;
}

/* @exact: (nullable) */
static void
compare_wide (IrNodeCheck *item,
              const IrValue *value,
              const IrTensor *exact,
              const IrTensor *wanted,
              const IrTensor *actual,
              IrTolerance tolerance,
              double scale)
{
  IrComparison found;

  ir_tensors_compare (wanted, actual, &found);
  double bound = ir_tolerance_of (tolerance, ir_tensor_dtype (wanted), MAX (scale, found.scale));
  if (exact != NULL && is_as_exact (exact, wanted, actual, bound, &found, &bound))
    note (item, value->id, &found, bound);
  else
    find_beyond (item, value->id, &found, bound, NULL);
}

/* -- one node -- */

/* Where the tolerance alone does not tell: what it should be, and what rounding explains. */
typedef struct
{
  IrTensor **base; /* in float64, or what the other kernel gave */
  IrTensor **sums; /* (nullable) of the magnitudes of what is summed, element by element */
  double of_sum;   /* largest error of such a sum, over the sum */
  IrTolerance tolerance;
} Doubt;

/* The magnitudes of what is given; others than floating-point numbers as they are. */
static GHashTable *
magnitudes (GHashTable *given)
{
  g_autoptr (GHashTable) result = tensor_table ();
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      IrDtype dtype = ir_tensor_dtype (tensor);
      if (!has_bytes (tensor) || (dtype != IR_DTYPE_FLOAT && dtype != IR_DTYPE_DOUBLE))
        {
          g_hash_table_insert (result, id, ir_tensor_ref (tensor));
          continue;
        }
      IrTensor *copy = ir_tensor_copy (tensor, NULL);
      if (copy == NULL)
        return NULL;
      g_hash_table_insert (result, id, copy);
      gpointer data = ir_tensor_data_writable (copy);
      for (guint64 i = 0; i < ir_tensor_n_elements (copy); i++)
        if (dtype == IR_DTYPE_FLOAT)
          ((float *) data)[i] = fabsf (((float *) data)[i]);
        else
          ((double *) data)[i] = fabs (((double *) data)[i]);
    }
  return g_steal_pointer (&result);
}

/* Operators on magnitudes that tell by how much the order of summation may matter. */
static gboolean
is_sums (const IrNode *node)
{
  return node->op != NULL && (node->op->flags & IR_OP_SUMS) != 0;
}

static gboolean
doubt_init (Doubt *doubt, const IrJudging *judging, const IrNode *node, IrTensor *const *actual)
{
  gboolean other = judging->by == IR_JUDGE_OTHER;
  const IrEvalOptions how = {
    .backend = other ? judging->checker->state->options->backend : &ir_backend_ref,
    .threads = other || judging->checker->state->concurrent ? (IrThreads){ 0 }
                                                            : judging->checker->state->threads,
    .round = judging->seen->round,
  };
  const IrNode *again = other ? judging->other : node;
  g_autoptr (GHashTable) given = other ? g_hash_table_ref (judging->seen->given)
                                       : widen (judging->seen->given);
  guint64 n = node->n_outputs > 0 && actual[0] != NULL ? ir_tensor_n_elements (actual[0]) : 1;

  if (given == NULL ||
      (!other && !evaluate (judging->checker, again, &how, given, doubt->base, NULL)))
    return FALSE;
  if (!is_sums (node))
    return TRUE;
  /* Any order of summation is off by no more than n / 2 roundings of the sum of magnitudes. */
  guint64 flops = ir_check_work (node, judging->seen->given, actual);
  doubt->of_sum = MAX (doubt->tolerance.rtol,
                       (double) flops / (double) MAX (n, 1) / 2 * FLT_EPSILON);
  g_autoptr (GHashTable) large = magnitudes (given);
  if (large != NULL)
    evaluate (judging->checker, again, &how, large, doubt->sums, NULL);
  return TRUE;
}

/* The element that lies farthest beyond what it may, or the farthest one; of tensors of one shape.
 */
static gboolean
is_explained (const Doubt *doubt,
              const IrTensor *base,
              const IrTensor *sums,
              const IrTensor *actual,
              double slack,
              IrComparison *found,
              double *bound)
{
  double worst = -INFINITY,
         unit = ir_tolerance_of ((IrTolerance){ doubt->of_sum, 0 }, ir_tensor_dtype (actual), 1);

  for (guint64 i = 0; i < ir_tensor_n_elements (actual); i++)
    {
      double a = ir_tensor_get_double (base, i), b = ir_tensor_get_double (actual, i);
      double sum = sums != NULL ? ir_tensor_get_double (sums, i) : 0;
      double most = slack + (isfinite (sum) ? unit * fabs (sum) : 0);
      if (a == b || (isnan (a) && isnan (b)))
        continue;
      double off = isfinite (a) && isfinite (b) ? fabs (a - b) : INFINITY;
      if (off - most <= worst)
        continue;
      worst = off - most;
      found->max_abs = off;
      found->at = i;
      found->non_finite_differs = !isfinite (off);
      *bound = most;
    }
  return worst <= 0;
}

static void
settle_doubt (const Doubt *doubt,
              IrNodeCheck *item,
              const IrNode *node,
              guint slot,
              const IrTensor *wanted,
              const IrTensor *actual)
{
  const IrTensor *base = doubt->base[slot] != NULL ? doubt->base[slot] : wanted;
  const IrTensor *sums = doubt->sums[slot];
  IrValueId value = node->outputs[slot]->id;
  IrComparison found, own;

  ir_tensors_compare (wanted, actual, &found);
  double slack = ir_tolerance_of (doubt->tolerance, ir_tensor_dtype (wanted), found.scale);
  double bound = slack;
  if (base != wanted && ir_tensors_compare (base, wanted, &own) && !own.non_finite_differs)
    slack += WIDE_FACTOR * own.max_abs;
  if (sums != NULL && ir_tensor_n_elements (sums) != ir_tensor_n_elements (actual))
    sums = NULL;
  if (ir_tensor_n_elements (base) == ir_tensor_n_elements (actual) &&
      is_explained (doubt, base, sums, actual, slack, &found, &bound))
    note (item, value, &found, bound);
  else
    find_beyond (item, value, &found, bound, NULL);
}

static void
compare_outputs (const IrJudging *judging,
                 const IrNode *node,
                 IrTensor *const *wanted,
                 IrTensor *const *actual)
{
  g_autofree IrTensor **base = g_new0 (IrTensor *, node->n_outputs + 1);
  g_autofree IrTensor **sums = g_new0 (IrTensor *, node->n_outputs + 1);
  Doubt doubt = { .base = base, .sums = sums, .tolerance = tolerance_of (node) };
  gboolean asked = FALSE;

  if (judging->by == IR_JUDGE_OTHER) /* each of them may be as far from the reference */
    doubt.tolerance = (IrTolerance){ 2 * doubt.tolerance.rtol, 2 * doubt.tolerance.atol };
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      if (value == NULL || actual[i] == NULL || wanted[i] == NULL ||
          compare (judging->item, value, wanted[i], actual[i], doubt.tolerance, 0))
        continue;
      if (!asked)
        doubt_init (&doubt, judging, node, actual);
      asked = TRUE;
      settle_doubt (&doubt, judging->item, node, i, wanted[i], actual[i]);
    }
  clear_tensors (base, node->n_outputs);
  clear_tensors (sums, node->n_outputs);
}

/* Returns FALSE if the check is to end */
gboolean
ir_check_judge (const IrJudging *judging,
                const IrNode *node,
                IrTensor *const *outputs,
                GError **error)
{
  IrRunState *state = judging->checker->state;
  gboolean own = judging->by == IR_JUDGE_OTHER || ir_prepared_is_control (state->prepared, node);
  g_autofree IrTensor **wanted = g_new0 (IrTensor *, node->n_outputs + 1);
  const IrEvalOptions how = {
    .backend = own ? state->options->backend : &ir_backend_ref,
    .threads = judging->by == IR_JUDGE_OTHER || state->concurrent ? (IrThreads){ 0 }
                                                                  : state->threads,
    .round = judging->seen->round,
  };
  GError *failure = NULL;

  if (judging->by == IR_JUDGE_REF)
    judging->item->judge = own ? "a run of it by itself" : ir_backend_ref.name;
  if (!evaluate (judging->checker, judging->by == IR_JUDGE_OTHER ? judging->other : node, &how,
                 judging->seen->given, wanted, &failure))
    return forgive (judging->item, "it cannot be computed again", failure, error);
  compare_outputs (judging, node, wanted, outputs);
  clear_tensors (wanted, node->n_outputs);
  return TRUE;
}

/* -- chains -- */

typedef struct
{
  IrChecker *checker;
  const IrRunStep *head;
  IrSeen *seen;
  GHashTable *wanted; /* value id -> IrTensor: what was given, and what the nodes make of it */
  GHashTable *exact;  /* (nullable) the same in float64, when it has been asked for */
  IrTolerance tolerance;
  double scale; /* of all that the nodes have made so far */
} Chain;

static const IrNode *
link_node (const Chain *chain, guint link)
{
  return chain->head[link].link != 0 ? chain->head[link].node : NULL;
}

static gboolean
run_link (const Chain *chain, const IrNode *node, GHashTable *table, GError **error)
{
  const IrEvalOptions how = { .backend = &ir_backend_ref };
  IrTensor *output = NULL;

  if (!evaluate (chain->checker, node, &how, table, &output, error))
    return FALSE;
  g_hash_table_insert (table, GUINT_TO_POINTER (node->outputs[0]->id), output);
  return TRUE;
}

/* What the chain gives in float64, which is known from then on. */
static const IrTensor *
exact_of (Chain *chain, const IrValue *value)
{
  if (chain->exact == NULL)
    {
      chain->exact = widen (chain->seen->given);
      for (guint i = 0; chain->exact != NULL && i < chain->head->chain; i++)
        if (link_node (chain, i) != NULL &&
            !run_link (chain, link_node (chain, i), chain->exact, NULL))
          break;
    }
  return chain->exact != NULL ? find_given (value, chain->exact) : NULL;
}

static void
count_tolerance (Chain *chain, const IrNode *node, const IrTensor *made)
{
  IrTolerance own = tolerance_of (node);
  IrComparison itself;

  chain->tolerance.rtol += own.rtol;
  chain->tolerance.atol += own.atol;
  g_autoptr (IrTensor) nothing = ir_tensor_new_alloc (ir_tensor_dtype (made), ir_tensor_rank (made),
                                                      ir_tensor_dims (made), NULL);
  if (nothing == NULL)
    return;
  memset (ir_tensor_data_writable (nothing), 0, ir_tensor_n_bytes (nothing));
  if (ir_tensors_compare (made, nothing, &itself))
    chain->scale = MAX (chain->scale, itself.scale);
}

/* What was never whole shares the verdict of the first that is. */
static void
settle (const Chain *chain, guint first, guint last)
{
  IrNodeCheck *items = chain->checker->items + (chain->head - chain->checker->prepared->steps);

  for (guint i = first; i < last; i++)
    {
      if (chain->head[i].link == 0)
        continue;
      g_autofree char *label = ir_node_label (chain->head[last].node);
      items[i].judge = items[last].judge;
      if (ir_checked_is_fault (items[last].verdict))
        ir_check_leave (&items[i],
                        g_strdup_printf ("what it gives is never written whole, and %s, in which "
                                         "its chain ends, is beyond its tolerance",
                                         label));
    }
}

/* The tolerances of nodes between which nothing was written add up. Returns FALSE if the check
 * is to end. @outputs: by step of the chain: what it gave, in plain order; NULL: it was never
 * whole. */
gboolean
ir_check_judge_chain (IrChecker *checker,
                      const IrRunStep *head,
                      IrSeen *seen,
                      IrTensor *const *outputs,
                      GError **error)
{
  IrNodeCheck *items = checker->items + (head - checker->prepared->steps);
  g_autoptr (GHashTable) wanted = tensor_table ();
  Chain chain = { checker, head, seen, wanted, NULL, IR_TOL_EXACT, 0 };
  GHashTableIter iter;
  gpointer id, tensor;
  guint first = 0;
  gboolean going = TRUE;

  g_hash_table_iter_init (&iter, seen->given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_insert (wanted, id, ir_tensor_ref (tensor));
  for (guint i = 0; going && i < head->chain; i++)
    {
      const IrNode *node = link_node (&chain, i);
      GError *failure = NULL;
      if (node == NULL)
        continue;
      items[i].judge = ir_backend_ref.name;
      if (!run_link (&chain, node, wanted, &failure))
        {
          going = forgive (&items[i], "it cannot be computed again", failure, error);
          for (guint k = first; going && k < head->chain; k++)
            if (k != i && head[k].link != 0)
              ir_check_leave (&items[k], g_strdup (items[i].reason));
          break;
        }
      const IrValue *value = node->outputs[0];
      const IrTensor *made = find_given (value, wanted);
      count_tolerance (&chain, node, made);
      if (outputs[i] == NULL)
        continue;
      if (!compare (&items[i], value, made, outputs[i], chain.tolerance, chain.scale))
        compare_wide (&items[i], value, exact_of (&chain, value), made, outputs[i], chain.tolerance,
                      chain.scale);
      settle (&chain, first, i);
      first = i + 1;
    }
  g_clear_pointer (&chain.exact, g_hash_table_unref);
  return going;
}
