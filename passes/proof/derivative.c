/* Whether a step that derives a node says what the node does: for directions d of each input
 *
 *     <dy, J d>, by differences of the node, against <dx, d>,
 *
 * on the values of the run, in double, where J d is how its outputs move. Where they disagree the step
 * of the differences is made smaller, since a kink may lie within it; where the slopes on both sides
 * differ, and the derivative lies between, it is at a kink, which is said with both.
 *
 * Source: Griewank and Walther, Evaluating Derivatives, 3.3 (the identity of the two modes). */
#include "config.h"

#include "core/grad/grad.h"
#include "core/ir/grad-mark.h"
#include "core/op/op.h"
#include "passes/proof/proof-private.h"

#include <float.h>
#include <math.h>

#define N_DIRECTIONS 3
#define STEP         1e-6 /* of the size of the input */
#define AGREEMENT    1e-6 /* of the sum of all terms */

typedef struct
{
  IrProver *prover;
  const IrStep *step;
  const IrNode *node;
  IrScope plain, scope; /* the derivatives as the run has them; the node and what derives it */
  GHashTable *given;    /* value id -> number: derivatives by its outputs */
  IrWide wide;          /* of what derives it */
  double terms;         /* sum of magnitudes, of the last comparison */
} Judge;

static guint
captured (const IrValue *value, gpointer data)
{
  return ir_prover_captured (((const Judge *) data)->prover, value->id);
}

/* The node itself is computed again, whatever was captured. */
static guint
known (const IrValue *value, gpointer data)
{
  const Judge *judge = data;
  guint number = GPOINTER_TO_UINT (
      g_hash_table_lookup (judge->given, GUINT_TO_POINTER (value->id)));

  return number != 0 ? number : ir_prover_captured (judge->prover, value->id);
}

static guint
known_but_outputs (const IrValue *value, gpointer data)
{
  const Judge *judge = data;

  return value->producer == judge->node ? 0 : known (value, data);
}

static double
dot (Judge *judge, const IrTensor *a, const double *b, double factor)
{
  double sum = 0;

  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double term = ir_tensor_get_double (a, i) * b[i] * factor;
      sum += term;
      judge->terms += fabs (term);
    }
  return sum;
}

/* -- how the node moves -- */

/* <dy, y (x + step d)>. FALSE if it cannot be computed. */
static gboolean
weighed_output (Judge *judge,
                const IrValue *x,
                const IrTensor *here,
                const double *direction,
                double step,
                double *sum,
                GError **error)
{
  IrScope scope;
  g_auto (IrWide) wide = { 0 };
  g_autoptr (IrTensor) moved = ir_tensor_new_copy (IR_DTYPE_DOUBLE, ir_tensor_rank (here),
                                                   ir_tensor_dims (here), ir_tensor_data (here));
  double *numbers = ir_tensor_data_writable (moved);
  gboolean done = TRUE;

  for (guint64 i = 0; i < ir_tensor_n_elements (here); i++)
    numbers[i] += step * direction[i];
  ir_scope_init (&scope, judge->prover->evaluator, judge->prover->flat_after, known_but_outputs,
                 judge);
  ir_wide_init (&wide, judge->prover, &scope, NULL);
  g_hash_table_insert (wide.values, GUINT_TO_POINTER (x->id), ir_tensor_ref (moved));
  *sum = 0;
  for (guint k = 0; k < judge->step->parts->len && done; k++)
    {
      IrIdPair pair = g_array_index (judge->step->parts, IrIdPair, k);
      const IrValue *y = ir_model_value (judge->prover->flat_after, pair.before);
      if (y->producer != judge->node)
        continue;
      const IrTensor *dy = ir_wide_value (
          &judge->wide, ir_model_value (judge->prover->flat_after, pair.after), error);
      const IrTensor *out = dy != NULL ? ir_wide_value (&wide, y, error) : NULL;
      done = out != NULL && ir_tensor_dtype (out) == IR_DTYPE_DOUBLE;
      if (done)
        *sum += dot (judge, dy, ir_tensor_data (out), 1);
    }
  ir_scope_clear (&scope);
  return done;
}

/* -- what the step says -- */

/* (transfer full) (nullable): all that came to @x by this step */
static double *
derivative_by (Judge *judge, const IrValue *x, guint64 n, GError **error)
{
  g_autofree double *sum = g_new0 (double, MAX (n, 1));

  for (guint k = 0; k < judge->step->parts->len; k++)
    {
      IrIdPair pair = g_array_index (judge->step->parts, IrIdPair, k);
      if (pair.before != x->id)
        continue;
      const IrTensor *part = ir_wide_value (
          &judge->wide, ir_model_value (judge->prover->flat_after, pair.after), error);
      if (part == NULL || ir_tensor_n_elements (part) != n)
        return NULL;
      for (guint64 i = 0; i < n; i++)
        sum[i] += ir_tensor_get_double (part, i);
    }
  return g_steal_pointer (&sum);
}

static void say (Judge *judge, IrProof *proof, IrVerdict verdict, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

static void
say (Judge *judge, IrProof *proof, IrVerdict verdict, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  proof->verdict = verdict;
  proof->text = ir_context_intern (judge->prover->model->context, text);
}

/* FALSE: the verdict stands. */
static gboolean
compare (Judge *judge,
         const IrValue *x,
         const IrTensor *here,
         const double *direction,
         const double *dx,
         double size,
         IrProof *proof)
{
  g_autoptr (GError) error = NULL;
  double at, before, behind, slope = 0, said = 0, left = 0, right = 0, noise = 0;

  for (double step = STEP * size; step >= STEP * size * 1e-2; step *= 1e-2)
    {
      judge->terms = 0;
      if (!weighed_output (judge, x, here, direction, 0, &at, &error) ||
          !weighed_output (judge, x, here, direction, -step, &before, &error) ||
          !weighed_output (judge, x, here, direction, step, &behind, &error))
        {
          say (judge, proof, IR_VERDICT_SKIPPED, "%s",
               error != NULL ? error->message : "the node cannot be moved in double");
          return FALSE;
        }
      noise = judge->terms * DBL_EPSILON / step; /* what double leaves of a difference */
      judge->terms = 0;
      said = 0;
      for (guint64 i = 0; i < ir_tensor_n_elements (here); i++)
        {
          said += dx[i] * direction[i];
          judge->terms += fabs (dx[i] * direction[i]);
        }
      slope = (behind - before) / (2 * step);
      left = (at - before) / step;
      right = (behind - at) / step;
      if (fabs (slope - said) <= AGREEMENT * MAX (judge->terms, fabs (slope)) + noise)
        {
          proof->max_abs = MAX (proof->max_abs, fabs (slope - said));
          return TRUE;
        }
    }
  double low = MIN (left, right) - noise, high = MAX (left, right) + noise;
  double margin = 1e-3 * MAX (fabs (low), fabs (high));
  if (high - low > margin && said >= low - margin && said <= high + margin)
    say (judge, proof, IR_VERDICT_ROUNDING,
         "kink: by %s the slopes are %.6g and %.6g, the derivative takes %.6g", x->name, left,
         right, said);
  else
    say (judge, proof, IR_VERDICT_BROKEN,
         "by %s the node moves by %.9g along a direction, and its derivative says %.9g", x->name,
         slope, said);
  proof->max_abs = fabs (slope - said);
  proof->max_rel = fabs (slope - said) / MAX (fabs (slope), DBL_MIN);
  return FALSE;
}

static gboolean
judge_input (Judge *judge, const IrValue *x, GRand *rand, IrProof *proof)
{
  g_autoptr (GError) error = NULL;
  const IrTensor *here = ir_wide_value (&judge->wide, x, &error);
  guint64 n = here != NULL ? ir_tensor_n_elements (here) : 0, largest = 0;
  g_autofree double *dx = here != NULL && ir_tensor_dtype (here) == IR_DTYPE_DOUBLE
                              ? derivative_by (judge, x, n, &error)
                              : NULL;
  g_autofree double *direction = g_new0 (double, MAX (n, 1));
  double size = 0;

  if (dx == NULL)
    {
      say (judge, proof, IR_VERDICT_SKIPPED, "%s",
           error != NULL ? error->message : "its derivative cannot be computed in double");
      return FALSE;
    }
  for (guint64 i = 0; i < n; i++)
    {
      size = MAX (size, fabs (ir_tensor_get_double (here, i)));
      largest = fabs (dx[i]) > fabs (dx[largest]) ? i : largest;
    }
  for (guint k = 0; n > 0 && k <= N_DIRECTIONS; k++)
    {
      double length = 0;
      for (guint64 i = 0; i < n; i++)
        {
          direction[i] = k < N_DIRECTIONS ? g_rand_double_range (rand, -1, 1) : i == largest;
          length += direction[i] * direction[i];
        }
      for (guint64 i = 0; i < n; i++)
        direction[i] /= sqrt (length);
      if (!compare (judge, x, here, direction, dx, MAX (size, 1), proof))
        return FALSE;
    }
  return TRUE;
}

/* -- the step -- */

/* Numbers of the derivatives by the node's outputs, as the run would have them. */
static gboolean
give_derivatives (Judge *judge, IrProof *proof)
{
  g_autoptr (GError) error = NULL;

  for (guint k = 0; k < judge->step->parts->len; k++)
    {
      IrIdPair pair = g_array_index (judge->step->parts, IrIdPair, k);
      const IrValue *y = ir_model_value (judge->prover->flat_after, pair.before);
      const IrValue *part = ir_model_value (judge->prover->flat_after, pair.after);
      if (y == NULL || part == NULL || y->producer != judge->node)
        continue;
      guint number = ir_scope_number (&judge->plain, part, &error);
      if (number == 0)
        {
          say (judge, proof, IR_VERDICT_SKIPPED, "%s", error->message);
          return FALSE;
        }
      g_hash_table_insert (judge->given, GUINT_TO_POINTER (part->id), GUINT_TO_POINTER (number));
    }
  return TRUE;
}

/* Rounding has no slope, and a draw is another one each time. */
static gboolean
has_slopes (const IrNode *node)
{
  return !ir_op_is (node, IR_OP_CAST) && !ir_op_is (node, IR_OP_CAST_LIKE) &&
         !ir_op_is (node, IR_OP_QUANTIZE_LINEAR) && !ir_op_is (node, IR_OP_DEQUANTIZE_LINEAR) &&
         !ir_op_is (node, IR_OP_DROPOUT) && (node->op == NULL || !(node->op->flags & IR_OP_RANDOM));
}

/* @step derives its anchor: see above. The verdict is rounding where both agree. */
void
ir_derivative_judge (IrProver *prover, const IrStep *step, IrProof *proof)
{
  Judge judge = { .prover = prover, .step = step };
  g_autoptr (GRand) rand = g_rand_new_with_seed (step->index);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  judge.node = ir_model_live_node (prover->flat_after, step->anchor);
  if (judge.node == NULL)
    {
      say (&judge, proof, IR_VERDICT_SKIPPED, "the call that is derived has become its body");
      return;
    }
  if (ir_grad_mark (judge.node) != IR_GRAD_MARK_PLAIN)
    {
      say (&judge, proof, IR_VERDICT_SKIPPED,
           "it is marked %s: its derivative is not that of what it computes",
           ir_grad_mark_name (ir_grad_mark (judge.node)));
      return;
    }
  if (!has_slopes (judge.node))
    {
      say (&judge, proof, IR_VERDICT_SKIPPED,
           "%s rounds or draws: it has no slopes to compare with", judge.node->op_type);
      return;
    }
  judge.given = g_hash_table_new (NULL, NULL);
  ir_scope_init (&judge.plain, prover->evaluator, prover->flat_after, captured, &judge);
  ir_scope_init (&judge.scope, prover->evaluator, prover->flat_after, known, &judge);
  ir_wide_init (&judge.wide, prover, &judge.scope, NULL);
  gboolean open = give_derivatives (&judge, proof);
  for (guint k = 0; k < step->parts->len && open; k++)
    {
      const IrValue *x = ir_model_value (prover->flat_after,
                                         g_array_index (step->parts, IrIdPair, k).before);
      if (x == NULL || !ir_reverse_reads (judge.node, x) || !g_hash_table_add (seen, (gpointer) x))
        continue;
      open = judge_input (&judge, x, rand, proof);
      if (open)
        say (&judge, proof, IR_VERDICT_ROUNDING,
             "the derivatives agree with differences of the node, in double");
    }
  ir_wide_clear (&judge.wide);
  ir_scope_clear (&judge.plain);
  ir_scope_clear (&judge.scope);
  g_hash_table_unref (judge.given);
}
