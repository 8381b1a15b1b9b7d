/* The derivative is followed from what is derived towards what it is derived by, step by step of the
 * pass gradient: each vjp step notes what came to its node's outputs and what went on to its inputs.
 *
 *   zero        the first node that something came to, and nothing went on from
 *   share of 0  the node that raises it most
 *   tiny        the node whose slopes are smallest, if it is at its limits
 *   not finite  explain-not-finite.c
 *
 * Source: keras#7057 (dead units by layer). */
#include "config.h"

#include "core/grad/grad.h"
#include "core/ir/inline.h"
#include "core/ir/grad-mark.h"
#include "core/op/op.h"
#include "passes/debug/explain-private.h"

#include <math.h>
#include <string.h>

#define LEAST_NUMBER 1e-37 /* products below it are 0, or lose their digits, in float */
#define LEAST_HALF   6e-8  /* the same in float16 */
#define TINY_SLOPE   1e-3  /* root mean square that went on, by what came */
#define CANCELLED    1e-5  /* sum, by the sum of magnitudes */
#define N_OTHERS     2     /* nodes that are named besides */
#define LEAST_RISE   0.125 /* of the share of zeros, that a node is named for */

static const char *const kind_names[IR_N_GRADIENT_KINDS] = { "plain",      "no-path",   "frozen",
                                                             "dead",       "saturated", "masked",
                                                             "times-zero", "cancelled", "underflow",
                                                             "non-finite" };

/* As --explain and JSON have it */
const char *
ir_gradient_kind_name (IrGradientKind kind)
{
  return kind_names[kind];
}

/* @reason: (nullable) */
void
ir_gradient_reason_free (IrGradientReason *reason)
{
  if (reason == NULL)
    return;
  g_free (reason->text);
  g_array_unref (reason->stages);
  g_free (reason);
}

void
ir_explain_clear (IrExplain *s)
{
  g_array_unref (s->passages);
  g_clear_pointer (&s->reach, g_hash_table_unref);
}

/* -- values -- */

const IrTensor *
ir_explain_tensor_of (const IrExplain *s, const IrValue *value)
{
  const IrTensor *tensor = value != NULL ? ir_run_value (s->run, value->id) : NULL;

  return tensor != NULL || value == NULL ? tensor : value->initializer;
}

gboolean
ir_explain_stats_of (const IrExplain *s, const IrValue *value, IrTensorStats *stats)
{
  const IrTensor *tensor = ir_explain_tensor_of (s, value);

  memset (stats, 0, sizeof *stats);
  if (tensor != NULL && ir_tensor_dtype (tensor) != IR_DTYPE_STRING)
    ir_tensor_stats (tensor, 0, stats);
  return stats->n > 0;
}

/* As what has no elements is, too. */
static gboolean
is_all_zero (const IrExplain *s, const IrValue *value)
{
  IrTensorStats stats;

  if (value == NULL)
    return TRUE;
  ir_explain_stats_of (s, value, &stats);
  return ir_explain_tensor_of (s, value) != NULL && stats.n_zero == stats.n;
}

static double
share_of_zeros (const IrExplain *s, const IrValue *value)
{
  IrTensorStats stats;

  return ir_explain_stats_of (s, value, &stats) ? (double) stats.n_zero / stats.n : 0;
}

static double
mean_square (const IrExplain *s, const IrValue *value)
{
  IrTensorStats stats;

  return ir_explain_stats_of (s, value, &stats) ? stats.l2 / sqrt ((double) stats.n) : 0;
}

static double
sum_of_magnitudes (const IrExplain *s, const IrValue *value)
{
  const IrTensor *tensor = ir_explain_tensor_of (s, value);
  double sum = 0;

  for (guint64 i = 0; tensor != NULL && i < ir_tensor_n_elements (tensor); i++)
    sum += fabs (ir_tensor_get_double (tensor, i));
  return sum;
}

char *
ir_explain_range_of (const IrExplain *s, const IrValue *value)
{
  IrTensorStats stats;

  if (!ir_explain_stats_of (s, value, &stats))
    return g_strdup ("unknown");
  g_autofree char *other = stats.n_nan + stats.n_pos_inf + stats.n_neg_inf == 0
                               ? g_strdup ("")
                               : g_strdup_printf (" and %" G_GUINT64_FORMAT " times not finite",
                                                  stats.n_nan + stats.n_pos_inf + stats.n_neg_inf);
  return stats.min == stats.max ? g_strdup_printf ("%.4g%s", stats.min, other)
                                : g_strdup_printf ("%.4g to %.4g%s", stats.min, stats.max, other);
}

/* -- the steps between -- */

/* (nullable) What came to a value of the node that @step derives, or went on to one, by its place
 * among what the step notes; @value: which one */
const IrValue *
ir_explain_part_at (const IrExplain *s, const IrStep *step, guint i, const IrValue **value)
{
  const IrIdPair *pair = &g_array_index (step->parts, IrIdPair, i);

  *value = ir_model_value (s->model, pair->before);
  return ir_model_value (s->model, pair->after);
}

static gboolean
is_output (const IrNode *node, const IrValue *value)
{
  return value != NULL && value->producer == node;
}

static gboolean
is_input (const IrNode *node, const IrValue *value)
{
  ir_node_for_each_input (node, i, input)
    if (input == value)
      return TRUE;
  return FALSE;
}

/* @part: a node or a value of the forward part */
static gboolean
is_reached (const IrExplain *s, gconstpointer part)
{
  return s->reach == NULL || g_hash_table_contains (s->reach, part);
}

/* Values within a copy of the body are all taken for reached: what of the copy is not needed is gone. */
static gboolean
leads_on (const IrExplain *s, const IrPassage *passage, const IrValue *input)
{
  const IrNode *anchor = ir_model_node (s->model, passage->step->anchor);

  return is_reached (s, input) || (passage->node != anchor && !is_input (anchor, input));
}

/* Those of a step follow each other. */
static gboolean
has_passage (const IrExplain *s, const IrPassage *passage)
{
  for (guint i = s->passages->len; i-- > 0;)
    {
      const IrPassage *other = &g_array_index (s->passages, IrPassage, i);
      if (other->step != passage->step)
        return FALSE;
      if (other->node == passage->node)
        return TRUE;
    }
  return FALSE;
}

/* A call in a body has none: what is in its own body stands for it. */
static void
add_passages (IrExplain *s, const IrStep *step)
{
  const IrNode *anchor = ir_model_node (s->model, step->anchor);
  IrPassage passage = { .step = step };

  if (!is_reached (s, anchor))
    return;
  for (guint i = 0; i < step->parts->len; i++)
    {
      const IrValue *value;
      ir_explain_part_at (s, step, i, &value);
      if (value == NULL || value->producer == NULL || is_output (anchor, value) ||
          is_input (anchor, value) || ir_node_function (value->producer) != NULL)
        continue;
      passage.node = value->producer;
      if (!has_passage (s, &passage))
        g_array_append_val (s->passages, passage);
    }
  passage.node = anchor;
  g_array_append_val (s->passages, passage);
}

/* @by: (nullable): only passages on the way from it */
void
ir_explain_init (IrExplain *s, const IrModel *model, IrRun *run, const IrValue *by)
{
  *s = (IrExplain){ .model = model, .run = run, .by = by };
  s->reach = by != NULL ? ir_explain_reach (by) : NULL;
  s->passages = g_array_new (FALSE, FALSE, sizeof (IrPassage));
  for (guint i = 1; i <= ir_history_n_steps (s->model); i++)
    {
      const IrStep *step = ir_history_step (s->model, i);
      if (strcmp (step->rule, ir_grad_rule_VJP) == 0 && step->parts != NULL)
        add_passages (s, step);
    }
}

gboolean
ir_explain_is_made_in (const IrExplain *s, const IrStep *step, const IrNode *node)
{
  for (gsize i = 0; i < step->n_records; i++)
    {
      const IrRecord *record = ir_history_record (s->model, step->first_record + i);
      if (record->kind == IR_RECORD_NODE_STATE && record->subject == node->id)
        return TRUE;
    }
  return FALSE;
}

/* The node of the model as it was written that @node was made for, or itself */
const IrNode *
ir_explain_written_node (const IrExplain *s, const IrNode *node)
{
  for (guint i = 0; i < s->passages->len; i++)
    {
      const IrStep *step = g_array_index (s->passages, IrPassage, i).step;
      if (ir_explain_is_made_in (s, step, node))
        return ir_model_node (s->model, step->anchor);
    }
  return node;
}

/* (nullable) What came to the @i-th output: the last that is noted, for what its readers gave is
 * noted before their sum */
const IrValue *
ir_explain_came_to (const IrExplain *s, const IrPassage *passage, guint i)
{
  const IrValue *last = NULL;

  for (guint k = 0; k < passage->step->parts->len; k++)
    {
      const IrValue *value, *part = ir_explain_part_at (s, passage->step, k, &value);
      if (value != NULL && value == passage->node->outputs[i])
        last = part;
    }
  return last;
}

/* (nullable) What came to the node of @passage, where it is not 0 */
static const IrValue *
what_came (const IrExplain *s, const IrPassage *passage)
{
  for (guint i = 0; i < passage->node->n_outputs; i++)
    {
      const IrValue *part = ir_explain_came_to (s, passage, i);
      if (!is_all_zero (s, part))
        return part;
    }
  return NULL;
}

/* (nullable) The largest of what went on towards what it is derived by; @input: to which input */
static const IrValue *
what_went_on (const IrExplain *s, const IrPassage *passage, const IrValue **input)
{
  const IrValue *largest = NULL;
  double most = -1;

  for (guint i = 0; i < passage->step->parts->len; i++)
    {
      const IrValue *value, *part = ir_explain_part_at (s, passage->step, i, &value);
      if (!is_input (passage->node, value) || part == NULL || !leads_on (s, passage, value))
        continue;
      if (mean_square (s, part) > most)
        {
          most = mean_square (s, part);
          largest = part;
          *input = value;
        }
    }
  return largest;
}

static void
add_stage (IrExplain *s, const IrValue *value, const IrValue *gradient)
{
  IrTensorStats stats;
  IrGradientStage stage = { .value = value->id, .gradient = gradient->id };

  if (!ir_explain_stats_of (s, gradient, &stats))
    return;
  stage.norm = ir_tensor_stats_norm (&stats);
  stage.max_abs = ir_tensor_stats_max_abs (&stats);
  stage.zeros = (double) stats.n_zero / stats.n;
  stage.n_nan = stats.n_nan;
  g_array_append_val (s->reason->stages, stage);
}

static void
find_stages (IrExplain *s)
{
  for (guint i = 0; i < s->passages->len; i++)
    {
      const IrPassage *passage = &g_array_index (s->passages, IrPassage, i);
      for (guint k = 0; k < passage->node->n_outputs; k++)
        {
          const IrValue *part = ir_explain_came_to (s, passage, k);
          if (part != NULL)
            add_stage (s, passage->node->outputs[k], part);
        }
    }
  add_stage (s, s->by, s->gradient);
}

/* -- what is said -- */

void
ir_explain_say (
    IrExplain *s, IrGradientKind kind, const IrNode *node, double share, const char *format, ...)
{
  IrGradientReason *reason = s->reason;
  const IrNode *written = node != NULL ? ir_explain_written_node (s, node) : NULL;
  va_list arguments;

  va_start (arguments, format);
  g_free (reason->text);
  reason->text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  if (written != node)
    {
      g_autofree char *label = ir_node_label (written), *inner = g_steal_pointer (&reason->text);
      reason->text = g_strdup_printf ("In %s: %s", label, inner);
    }
  reason->kind = kind;
  reason->node = written != NULL ? written->id : 0;
  reason->share = share;
}

static const IrGradRow *
row_of (const IrNode *node)
{
  return node != NULL && node->op != NULL ? ir_grad_row (node->op) : NULL;
}

IrGradientKind
ir_explain_kind_of_block (const IrNode *node)
{
  const IrGradRow *row = row_of (node);

  for (guint i = 0; row != NULL && row->blocks != NULL && i < IR_N_GRADIENT_KINDS; i++)
    if (strcmp (row->blocks, kind_names[i]) == 0)
      return i;
  return IR_GRADIENT_PLAIN;
}

static void
say_block (IrExplain *s, const IrNode *node, double share, const char *what)
{
  IrGradientKind kind = ir_explain_kind_of_block (node);
  g_autofree char *label = ir_node_label (node),
                  *range = ir_explain_range_of (s, ir_node_input (node, 0));

  if (kind == IR_GRADIENT_DEAD)
    ir_explain_say (
        s, kind, node, share,
        "%s is dead: its input is %s, and where it is below the kink the slope is 0, so %s.", label,
        range, what);
  else if (kind == IR_GRADIENT_SATURATED)
    ir_explain_say (
        s, kind, node, share,
        "%s is saturated: its input is %s, and at its limits the slope is 0 or close to it, so %s.",
        label, range, what);
  else
    ir_explain_say (s, kind, node, share,
                    "%s takes other elements: what it leaves out has no part, so %s.", label, what);
}

/* -- where nothing goes on -- */

/* The element of @operand that the element @at of @out is computed from, where each is from one */
double
ir_explain_operand_at (const IrTensor *out, const IrTensor *operand, gint64 at)
{
  const guint rank = ir_tensor_rank (out), own = ir_tensor_rank (operand);
  gint64 index = 0, stride = 1;

  for (guint i = 0; i < own; i++)
    {
      const guint axis = own - 1 - i, out_axis = rank - 1 - i;
      gint64 below = 1;
      for (guint k = out_axis + 1; k < rank; k++)
        below *= ir_tensor_dims (out)[k];
      const gint64 place = at / below % ir_tensor_dims (out)[out_axis];
      if (ir_tensor_dims (operand)[axis] != 1)
        index += place * stride;
      stride *= ir_tensor_dims (operand)[axis];
    }
  return ir_tensor_get_double (operand, (guint64) index);
}

/* Which kind of loss makes the output of an elementwise node 0 where its inputs are not. */
static IrGradientKind
kind_of_loss (const IrExplain *s, const IrNode *node)
{
  const IrTensor *out = ir_explain_tensor_of (s, node->outputs[0]);
  const IrTensor *a = ir_explain_tensor_of (s, ir_node_input (node, 0)),
                 *b = ir_explain_tensor_of (s, ir_node_input (node, 1));

  if (node->op != NULL && (node->op->flags & (IR_OP_SUMS | IR_OP_ELEMENTWISE)) == IR_OP_SUMS)
    return IR_GRADIENT_CANCELLED;
  if (a == NULL || b == NULL || out == NULL || node->n_inputs != 2 || node->op == NULL ||
      (node->op->flags & IR_OP_ELEMENTWISE) == 0 || !ir_dtype_is_float (ir_tensor_dtype (b)) ||
      ir_tensor_rank (a) > ir_tensor_rank (out) || ir_tensor_rank (b) > ir_tensor_rank (out))
    return IR_GRADIENT_PLAIN;
  const double least = ir_tensor_dtype (out) == IR_DTYPE_FLOAT16 ? LEAST_HALF : LEAST_NUMBER;
  for (guint64 i = 0; i < ir_tensor_n_elements (out); i++)
    {
      const double x = ir_explain_operand_at (out, a, (gint64) i),
                   y = ir_explain_operand_at (out, b, (gint64) i);
      if (ir_tensor_get_double (out, i) != 0 || x == 0 || y == 0)
        continue;
      return fabs (x * y) < least ? IR_GRADIENT_UNDERFLOW : IR_GRADIENT_CANCELLED;
    }
  return IR_GRADIENT_PLAIN;
}

static gboolean
makes_zeros (const IrExplain *s, const IrNode *node)
{
  if (!ir_dtype_is_float (ir_value_dtype (node->outputs[0])) || !is_all_zero (s, node->outputs[0]))
    return FALSE;
  ir_node_for_each_input (node, i, input)
    if (ir_dtype_is_float (ir_value_dtype (input)) && is_all_zero (s, input))
      return FALSE;
  return TRUE;
}

/* Whether next to nothing is left of inputs that all are what came, in another form */
static gboolean
cancels (const IrExplain *s, const IrNode *node, GHashTable *came)
{
  double least = INFINITY;
  guint n = 0;

  ir_node_for_each_input (node, i, input)
    {
      if (!g_hash_table_contains (came, input))
        return FALSE;
      least = MIN (least, sum_of_magnitudes (s, input));
      n++;
    }
  return n > 1 && least > 0 && sum_of_magnitudes (s, node->outputs[0]) <= CANCELLED * least;
}

/* How a step loses what came, at the first of its nodes where none of the inputs is 0 */
static IrGradientKind
kind_of_step (const IrExplain *s, const IrPassage *passage)
{
  g_autoptr (GHashTable) came = g_hash_table_new (NULL, NULL);
  guint n;
  IrNode *const *order = ir_graph_order (s->model->main, &n);

  for (guint i = 0; i < passage->node->n_outputs; i++)
    {
      const IrValue *part = ir_explain_came_to (s, passage, i);
      if (part != NULL)
        g_hash_table_add (came, (gpointer) part);
    }
  for (guint i = 0; i < n; i++)
    {
      const IrNode *node = order[i];
      gboolean reads = FALSE;

      if (node->id <= passage->node->id || !ir_explain_is_made_in (s, passage->step, node))
        continue;
      ir_node_for_each_input (node, k, input)
        reads |= g_hash_table_contains (came, input);
      if (reads && makes_zeros (s, node))
        return kind_of_loss (s, node);
      if (reads && cancels (s, node, came))
        return IR_GRADIENT_CANCELLED;
      for (guint k = 0; reads && k < node->n_outputs; k++)
        g_hash_table_add (came, node->outputs[k]);
    }
  return IR_GRADIENT_PLAIN;
}

/* (nullable) Another input that is 0 everywhere, and that what came is multiplied by */
static const IrValue *
zero_factor (const IrExplain *s, const IrNode *node, const IrValue *input)
{
  gboolean is_left_out = FALSE; /* a square has its input twice */

  ir_node_for_each_input (node, i, other)
    {
      if ((other != input || is_left_out) && ir_dtype_is_float (ir_value_dtype (other)) &&
          is_all_zero (s, other))
        return other;
      is_left_out |= other == input;
    }
  return NULL;
}

static gboolean
is_mask (const IrExplain *s, const IrNode *node, const IrValue *input)
{
  ir_node_for_each_input (node, i, other)
    {
      const IrTensor *tensor = other != input ? ir_explain_tensor_of (s, other) : NULL;
      gboolean mask = tensor != NULL && ir_dtype_is_float (ir_value_dtype (other));
      for (guint64 k = 0; mask && k < ir_tensor_n_elements (tensor); k++)
        mask = ir_tensor_get_double (tensor, k) == 0 || ir_tensor_get_double (tensor, k) == 1;
      if (mask)
        return TRUE;
    }
  return FALSE;
}

/* Where the zeros of @value begin: it, or what it comes from that is 0 everywhere, too */
static const IrValue *
first_zero (const IrExplain *s, const IrValue *value)
{
  const IrValue *from = value;

  while (from != NULL)
    {
      value = from;
      from = NULL;
      for (guint i = 0; value->producer != NULL && from == NULL && i < value->producer->n_inputs;
           i++)
        {
          const IrValue *input = value->producer->inputs[i];
          if (input != NULL && input->producer != NULL &&
              ir_dtype_is_float (ir_value_dtype (input)) && is_all_zero (s, input))
            from = input;
        }
    }
  return value;
}

static void
explain_factor (IrExplain *s, const IrNode *node, const IrValue *factor)
{
  g_autofree char *label = ir_node_label (node);

  if (first_zero (s, factor)->producer != NULL)
    factor = first_zero (s, factor);

  if (factor->producer != NULL && ir_explain_kind_of_block (factor->producer) == IR_GRADIENT_DEAD)
    {
      g_autofree char *what = g_strdup_printf ("it gives 0 everywhere, which %s multiplies by",
                                               label);
      say_block (s, factor->producer, 1, what);
    }
  else
    ir_explain_say (s, IR_GRADIENT_TIMES_ZERO, node, 1,
                    "%s multiplies by %s, which is 0 everywhere: nothing of what came passes.",
                    label, factor->name);
}

static void
explain_end (IrExplain *s, const IrPassage *passage, const IrValue *input)
{
  const IrNode *node = passage->node;
  const IrValue *factor = zero_factor (s, node, input);
  const IrGradientKind loss = kind_of_step (s, passage), block = ir_explain_kind_of_block (node);
  g_autofree char *label = ir_node_label (node),
                  *came = ir_explain_range_of (s, what_came (s, passage));

  if (ir_explain_tensor_of (s, input) != NULL &&
      ir_tensor_n_elements (ir_explain_tensor_of (s, input)) == 0)
    ir_explain_say (s, IR_GRADIENT_MASKED, node, 1, "%s, which %s reads, has no elements.",
                    input->name, label);
  else if (loss == IR_GRADIENT_UNDERFLOW)
    ir_explain_say (
        s, IR_GRADIENT_UNDERFLOW, node, 1,
        "At %s products of numbers that are not 0 are 0 in %s: what came is %s. Scale what is "
        "derived, or compute in a wider type.",
        label, ir_dtype_name (ir_value_dtype (input)), came);
  else if (loss == IR_GRADIENT_CANCELLED)
    ir_explain_say (
        s, IR_GRADIENT_CANCELLED, node, 1,
        "At %s what came (%s) cancels: parts that are not 0 have the sum 0, so %s has no influence.",
        label, came, input->name);
  else if (block != IR_GRADIENT_PLAIN &&
           (block != IR_GRADIENT_DEAD || input == ir_node_input (node, 0))) /* not PRelu's slope */
    say_block (s, node, 1, "nothing of what came passes");
  else if (factor != NULL)
    explain_factor (s, node, factor);
  else if (is_mask (s, node, input))
    ir_explain_say (s, IR_GRADIENT_MASKED, node, 1,
                    "%s multiplies by a mask of zeros and ones: where something came it is 0.",
                    label);
  else
    ir_explain_say (s, IR_GRADIENT_MASKED, node, 1,
                    "%s passes nothing on: where something came (%s) no element of %s has a part.",
                    label, came, input->name);
}

/* Parts that are not 0, of several readers or of many elements, with the sum 0 */
static gboolean
explain_cancelled (IrExplain *s)
{
  const IrNode *sum = s->gradient->producer;
  const IrNode *reader = s->by->n_uses > 0 ? ir_value_use (s->by, 0).node : NULL;
  double parts = 0, total = sum_of_magnitudes (s, s->gradient);
  guint n_floats = 0;

  while (sum != NULL && ir_node_is (sum, "Identity"))
    sum = sum->inputs[0]->producer;
  if (sum == NULL || reader == NULL || sum->op == NULL)
    return FALSE;
  ir_node_for_each_input (sum, i, part)
    if (ir_dtype_is_float (ir_value_dtype (part)))
      {
        parts += sum_of_magnitudes (s, part);
        n_floats++;
      }
  if (!ir_node_is (sum, "Sum") && !((sum->op->flags & IR_OP_SUMS) != 0 && n_floats == 1))
    return FALSE;
  if (!(parts > 0) || total > CANCELLED * parts)
    return FALSE;
  g_autofree char *label = ir_node_label (reader);
  ir_explain_say (
      s, IR_GRADIENT_CANCELLED, reader, 1,
      "What comes to %s cancels: the parts have the sum of magnitudes %.3g, and their sum has %.3g. What "
      "is derived does not depend on it, or hardly: look for a normalization behind %s that takes it "
      "out again.",
      s->by->name, parts, total, label);
  return TRUE;
}

static void
explain_rest (IrExplain *s)
{
  const IrGradientStage *last = NULL;

  for (guint i = 0; i < s->reason->stages->len; i++)
    {
      const IrGradientStage *stage = &g_array_index (s->reason->stages, IrGradientStage, i);
      if (stage->norm > 0)
        last = stage;
    }
  if (last == NULL && ir_tensor_n_elements (ir_explain_tensor_of (s, s->of)) == 0)
    ir_explain_say (s, IR_GRADIENT_MASKED, NULL, 1, "%s has no elements.", s->of->name);
  else if (last == NULL)
    ir_explain_say (s, IR_GRADIENT_MASKED, NULL, 1,
                    "What %s is derived with is 0 itself: the cotangent.", s->of->name);
  else
    ir_explain_say (s, IR_GRADIENT_MASKED, ir_model_value (s->model, last->value)->producer, 1,
                    "%s is the last value that something comes to.",
                    ir_model_value (s->model, last->value)->name);
}

/* Something came to its node, and nothing goes on; @input: towards what */
static gboolean
ends_here (const IrExplain *s, const IrPassage *passage, const IrValue **input)
{
  const IrValue *on = what_went_on (s, passage, input);

  return on != NULL && what_came (s, passage) != NULL && is_all_zero (s, on);
}

/* Where several ways end, the last node is the nearest to what it is derived by; the others are named. */
static void
explain_zero (IrExplain *s)
{
  const IrPassage *last = NULL;
  const IrValue *to = NULL, *input;
  g_autoptr (GString) others = g_string_new (NULL);
  guint n = 0;

  for (guint i = 0; i < s->passages->len; i++)
    {
      const IrPassage *passage = &g_array_index (s->passages, IrPassage, i);
      if ((last != NULL && last->step == passage->step) || !ends_here (s, passage, &input))
        continue; /* a call says no more than what is in its body */
      if (last != NULL && n++ < N_OTHERS)
        {
          g_autofree char *label = ir_node_label (ir_explain_written_node (s, last->node));
          g_string_append_printf (others, "%s%s", n > 1 ? ", " : "", label);
        }
      last = passage;
      to = input;
    }
  if (last == NULL)
    {
      if (!explain_cancelled (s))
        explain_rest (s);
      return;
    }
  explain_end (s, last, to);
  if (n > 0)
    {
      g_autofree char *text = g_steal_pointer (&s->reason->text);
      s->reason->text = g_strdup_printf ("%s Other ways end at %s%s.", text, others->str,
                                         n > N_OTHERS ? ", …" : "");
    }
}

/* -- where a part is lost, or most of it -- */

static void
explain_share (IrExplain *s)
{
  const IrNode *node = NULL;
  double most = LEAST_RISE;

  for (guint i = 0; i < s->passages->len; i++)
    {
      const IrPassage *passage = &g_array_index (s->passages, IrPassage, i);
      const IrValue *input = NULL, *on = what_went_on (s, passage, &input);
      const IrValue *came = what_came (s, passage);
      if (on == NULL || came == NULL ||
          ir_explain_kind_of_block (passage->node) == IR_GRADIENT_PLAIN)
        continue;
      double rise = share_of_zeros (s, on) - share_of_zeros (s, came);
      if (rise > most)
        {
          most = rise;
          node = passage->node;
        }
    }
  if (node == NULL)
    return;
  g_autofree char *what = g_strdup_printf ("%.0f %% of what came ends there", 100 * most);
  say_block (s, node, most, what);
}

static void
explain_tiny (IrExplain *s)
{
  const IrPassage *at = NULL;
  const IrValue *to = NULL;
  double least = TINY_SLOPE;

  for (guint i = 0; i < s->passages->len; i++)
    {
      const IrPassage *passage = &g_array_index (s->passages, IrPassage, i);
      const IrValue *input = NULL, *on = what_went_on (s, passage, &input);
      const IrValue *came = what_came (s, passage);
      if (on == NULL || came == NULL ||
          ir_explain_kind_of_block (passage->node) != IR_GRADIENT_SATURATED)
        continue;
      double ratio = mean_square (s, on) / mean_square (s, came);
      if (ratio < least)
        {
          least = ratio;
          at = passage;
          to = input;
        }
    }
  if (at == NULL)
    return;
  if (kind_of_step (s, at) == IR_GRADIENT_CANCELLED)
    {
      explain_end (s, at, to);
      return;
    }
  g_autofree char *what = g_strdup_printf ("%.2g of what came passes", least);
  say_block (s, at->node, 1, what);
}

/* -- all -- */

static gboolean
leads_to (const IrExplain *s, char *const *stop, gboolean marks, const IrValue **held)
{
  g_autoptr (GPtrArray) waiting = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  g_ptr_array_add (waiting, (gpointer) s->by);
  while (waiting->len > 0)
    {
      const IrValue *value = g_ptr_array_steal_index_fast (waiting, waiting->len - 1);
      if (!g_hash_table_add (seen, (gpointer) value))
        continue;
      if ((stop != NULL && g_strv_contains ((const char *const *) stop, value->name)) ||
          (marks && value->producer != NULL && ir_grad_mark (value->producer) == IR_GRAD_MARK_STOP))
        {
          *held = value;
          continue;
        }
      if (value == s->of)
        return TRUE;
      for (guint i = 0; i < value->n_uses; i++)
        {
          const IrNode *reader = ir_value_use (value, i).node;
          for (guint k = 0; reader != NULL && k < reader->n_outputs; k++)
            if (reader->outputs[k] != NULL &&
                ir_dtype_is_float (ir_value_dtype (reader->outputs[k])))
              g_ptr_array_add (waiting, reader->outputs[k]);
        }
    }
  return FALSE;
}

static void
explain_nothing (IrExplain *s, char *const *stop)
{
  const IrValue *held = NULL;

  if (leads_to (s, NULL, FALSE, &held) && !leads_to (s, stop, TRUE, &held) && held != NULL)
    {
      const gboolean marked = held->producer != NULL &&
                              ir_grad_mark (held->producer) == IR_GRAD_MARK_STOP;
      g_autofree char *label = marked ? ir_node_label (held->producer) : NULL;
      ir_explain_say (s, IR_GRADIENT_FROZEN, held->producer, 1,
                      "Every way from %s to %s goes through %s, which %s%s.", s->by->name,
                      s->of->name, held->name,
                      marked ? "counts as constant: stop is marked on " : "counts as constant",
                      marked ? label : "");
    }
  else
    ir_explain_say (s, IR_GRADIENT_NO_PATH, NULL, 1, "Nothing leads from %s to %s.", s->by->name,
                    s->of->name);
}

static void
explain_something (IrExplain *s)
{
  IrTensorStats stats;

  find_stages (s);
  if (!ir_explain_stats_of (s, s->gradient, &stats))
    ir_explain_say (s, IR_GRADIENT_PLAIN, NULL, 0, "The derivative has no elements.");
  else if (stats.n_nan + stats.n_pos_inf + stats.n_neg_inf > 0)
    ir_explain_not_finite (s);
  else if (stats.n_zero == stats.n)
    explain_zero (s);
  else if (!explain_cancelled (s))
    {
      if (stats.n_zero > 0)
        explain_share (s);
      if (s->reason->kind == IR_GRADIENT_PLAIN)
        explain_tiny (s);
    }
  if (s->reason->text == NULL)
    ir_explain_say (s, IR_GRADIENT_PLAIN, NULL, 0,
                    "Nothing is remarkable: norm %.4g, %.0f %% zeros.", stats.l2,
                    100.0 * stats.n_zero / stats.n);
}

/* @run: of @model, which has its steps, and kept all values; @gradient: (nullable): nothing comes to @by; @stop:
 * (nullable): names that count as constant. (transfer full) */
IrGradientReason *
ir_gradient_explain (const IrModel *model,
                     IrRun *run,
                     const IrValue *of,
                     const IrValue *by,
                     const IrValue *gradient,
                     char *const *stop)
{
  g_auto (IrExplain) s = { 0 };
  IrTensorStats stats;

  ir_explain_init (&s, model, run, by);
  s.of = of;
  s.gradient = gradient;
  s.reason = g_new0 (IrGradientReason, 1);
  s.reason->stages = g_array_new (FALSE, TRUE, sizeof (IrGradientStage));
  s.reason->sample = -1;
  s.reason->is_finite = !ir_explain_stats_of (&s, of, &stats) ||
                        stats.n_nan + stats.n_pos_inf + stats.n_neg_inf == 0;
  if (gradient == NULL)
    explain_nothing (&s, stop);
  else
    explain_something (&s);
  return s.reason;
}
