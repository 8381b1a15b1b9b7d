/* Derivatives of normalizations: from what was normalized, not from its parts. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"

#include <string.h>

static IrValue *
mul (const IrVjp *vjp, IrValue *a, IrValue *b)
{
  return ir_emit2 (vjp, "Mul", a, b);
}

/* -- softmax: y (dy - sum (dy y)); before opset 13 the axis flattened the input -- */

gboolean
ir_vjp_softmax (IrVjp *vjp, GError **error)
{
  IrValue *y = vjp->node->outputs[0], *dy = vjp->dy[0];
  gint64 axis = ir_node_attr_int (vjp->node, "axis", -1);

  if (!ir_emit_needs_opset (vjp, 13, error))
    return FALSE;
  IrValue *sum = ir_emit_reduce (vjp, "ReduceSum", mul (vjp, dy, y), &axis, 1, TRUE);
  vjp->dx[0] = mul (vjp, y, ir_emit2 (vjp, "Sub", dy, sum));
  return TRUE;
}

gboolean
ir_vjp_log_softmax (IrVjp *vjp, GError **error)
{
  IrValue *y = vjp->node->outputs[0], *dy = vjp->dy[0];
  gint64 axis = ir_node_attr_int (vjp->node, "axis", -1);

  if (!ir_emit_needs_opset (vjp, 13, error))
    return FALSE;
  IrValue *sum = ir_emit_reduce (vjp, "ReduceSum", dy, &axis, 1, TRUE);
  vjp->dx[0] = ir_emit2 (vjp, "Sub", dy, mul (vjp, ir_emit1 (vjp, "Exp", y), sum));
  return TRUE;
}

/* -- what mean and variance, or the mean square, normalize -- */

static gboolean
wanted (const IrVjp *vjp, guint slot)
{
  return slot < vjp->node->n_inputs && vjp->wanted[slot];
}

/* As one operator, in float, or in double if X is; @axis: of LayerNormalization: where parameters begin, else 0 */
static gboolean
derive_by_operator (IrVjp *vjp, const char *op, int axis)
{
  const IrNode *node = vjp->node;
  IrDtype dtype = ir_value_dtype (node->inputs[0]);
  IrDtype wide = dtype == IR_DTYPE_DOUBLE ? dtype : IR_DTYPE_FLOAT;
  IrValue *inputs[] = { vjp->dy[0], node->inputs[0], node->inputs[1] };
  gint64 before[IR_MAX_RANK];
  guint n_out = wanted (vjp, 2) ? 3 : wanted (vjp, 1) ? 2 : 1;
  IrNode *derived = ir_emit_node (vjp, op, 3, inputs, n_out);

  ir_emit_copy_attr (vjp, derived, "axis");
  ir_emit_copy_attr (vjp, derived, "num_groups");
  ir_emit_copy_attr (vjp, derived, "epsilon");
  if (wide != IR_DTYPE_FLOAT)
    ir_emit_attr_int (vjp, derived, "stash_type", wide);
  ir_emit_end (vjp, derived);
  for (int i = 0; i < axis; i++)
    before[i] = i;
  for (guint i = 0; i < n_out; i++)
    if (vjp->wanted[i])
      {
        IrValue *dx = derived->outputs[i];
        if (i > 0 && ir_value_rank (node->inputs[i]) > ir_value_rank (dx))
          dx = ir_emit_unsqueeze (vjp, dx, before, (guint) axis);
        if (i > 0)
          dx = ir_emit_sum_to (vjp, dx, node->inputs[i]);
        vjp->dx[i] = ir_emit_cast (vjp, dx, ir_value_dtype (node->inputs[i]));
      }
  return TRUE;
}

/* Its parameters begin at its axis. */
static gboolean
derive_layer (IrVjp *vjp, const char *op, GError **error)
{
  const gint64 axis = ir_node_attr_int (vjp->node, "axis", -1);
  const int rank = ir_value_rank (vjp->node->inputs[0]);

  if (rank < 1)
    return ir_emit_fail (vjp, error, "the rank of its input is not known");
  return derive_by_operator (vjp, op, (int) axis + (axis < 0 ? rank : 0));
}

gboolean
ir_vjp_layer_norm (IrVjp *vjp, GError **error)
{
  return derive_layer (vjp, "irscope.LayerNormalizationGrad", error);
}

gboolean
ir_vjp_rms_norm (IrVjp *vjp, GError **error)
{
  return derive_layer (vjp, "irscope.RMSNormalizationGrad", error);
}

/* -- parameters per channel: [C] against [N, C, ...] -- */

static IrValue *
per_channel (const IrVjp *vjp, IrValue *value, int rank)
{
  gint64 dims[IR_MAX_RANK] = { -1 };

  for (int i = 1; i < rank - 1; i++)
    dims[i] = 1;
  return rank < 3 ? value : ir_emit_reshape (vjp, value, dims, (guint) rank - 1);
}

static IrValue *
sum_per_channel (const IrVjp *vjp, IrValue *value, int rank)
{
  gint64 axes[IR_MAX_RANK] = { 0 };

  for (int i = 2; i < rank; i++)
    axes[i - 1] = i;
  return ir_emit_reduce (vjp, "ReduceSum", value, axes, (guint) rank - 1, FALSE);
}

static void
derive_affine (IrVjp *vjp, IrValue *unit, int rank)
{
  if (vjp->wanted[1])
    vjp->dx[1] = sum_per_channel (vjp, mul (vjp, vjp->dy[0], unit), rank);
  if (vjp->wanted[2])
    vjp->dx[2] = sum_per_channel (vjp, vjp->dy[0], rank);
}

gboolean
ir_vjp_batch_norm (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  int rank = ir_value_rank (node->inputs[0]);

  if (rank < 2)
    return ir_emit_fail (vjp, error, "the rank of its input is not known");
  /* The running statistics are those of the batch mixed with the old ones: they are no part of y. */
  if (ir_node_attr_int (node, "training_mode", 0) != 0)
    return derive_by_operator (vjp, "irscope.BatchNormalizationGrad", 0);
  IrValue *raised = ir_emit2 (
      vjp, "Add", node->inputs[4],
      ir_emit_number (vjp, (double) ir_node_attr_float (node, "epsilon", 1e-5f)));
  IrValue *inverse = ir_emit1 (vjp, "Reciprocal", ir_emit1 (vjp, "Sqrt", raised));
  IrValue *factor = mul (vjp, node->inputs[1], inverse);
  IrValue *centred = ir_emit2 (vjp, "Sub", node->inputs[0],
                               per_channel (vjp, node->inputs[3], rank));
  if (vjp->wanted[0])
    vjp->dx[0] = mul (vjp, vjp->dy[0], per_channel (vjp, factor, rank));
  derive_affine (vjp, mul (vjp, centred, per_channel (vjp, inverse, rank)), rank);
  if (vjp->wanted[3])
    vjp->dx[3] = ir_emit1 (vjp, "Neg", mul (vjp, sum_per_channel (vjp, vjp->dy[0], rank), factor));
  if (vjp->wanted[4])
    {
      IrValue *sum = sum_per_channel (vjp, mul (vjp, vjp->dy[0], centred), rank);
      IrValue *cubed = mul (vjp, factor, mul (vjp, inverse, inverse));
      vjp->dx[4] = mul (vjp, mul (vjp, sum, cubed), ir_emit_number (vjp, -0.5));
    }
  return TRUE;
}

gboolean
ir_vjp_instance_norm (IrVjp *vjp, GError **error)
{
  if (ir_value_rank (vjp->node->inputs[0]) < 3)
    return ir_emit_fail (vjp, error, "the rank of its input is not known");
  return derive_by_operator (vjp, "irscope.GroupNormalizationGrad", 0);
}

gboolean
ir_vjp_group_norm (IrVjp *vjp, GError **error)
{
  return ir_emit_needs_opset (vjp, 21, error) && /* before it, one scale per group */
         ir_vjp_instance_norm (vjp, error);
}

/* (dy - s sum (dy y)) / norm, where s is y, or with p = 1 the sign of x; 0 where the norm is 0 */
gboolean
ir_vjp_lp_norm (IrVjp *vjp, GError **error)
{
  IrValue *x = vjp->node->inputs[0], *y = vjp->node->outputs[0], *zero = ir_emit_number (vjp, 0);
  gint64 axis = ir_node_attr_int (vjp->node, "axis", -1);
  gboolean first = ir_node_attr_int (vjp->node, "p", 2) == 1;
  IrValue *norm = ir_emit_reduce (vjp, first ? "ReduceL1" : "ReduceL2", x, &axis, 1, TRUE);
  IrValue *none = ir_emit2 (vjp, "Equal", norm, zero);
  IrValue *safe = ir_emit3 (vjp, "Where", none, ir_emit_number (vjp, 1), norm);
  IrValue *sum = ir_emit_reduce (vjp, "ReduceSum", mul (vjp, vjp->dy[0], y), &axis, 1, TRUE);
  IrValue *along = mul (vjp, first ? ir_emit1 (vjp, "Sign", x) : y, sum);
  IrValue *rest = ir_emit2 (vjp, "Sub", vjp->dy[0], along);

  vjp->dx[0] = ir_emit3 (vjp, "Where", none, zero, ir_emit2 (vjp, "Div", rest, safe));
  return TRUE;
}

/* -- LRN: sums over neighbouring channels -- */

static IrValue *
sum_of_neighbours (const IrVjp *vjp, IrValue *value, gint64 before, gint64 after, gint64 channels)
{
  int rank = ir_value_rank (value);
  gint64 pads[2 * IR_MAX_RANK] = { 0 }, axis = 1;
  guint n = (guint) (before + after + 1);
  g_autofree IrValue **terms = g_new0 (IrValue *, n + 1);

  pads[1] = before;
  pads[rank + 1] = after;
  IrValue *padded = ir_emit2 (vjp, "Pad", value, ir_emit_ints (vjp, pads, 2 * rank));
  for (guint i = 0; i < n; i++)
    {
      gint64 start = i, end = i + channels;
      terms[i] = ir_emit_slice (vjp, padded, &start, &end, &axis, 1);
    }
  return ir_emit (vjp, "Sum", n, terms);
}

/* Source: Krizhevsky, Sutskever and Hinton, ImageNet classification; derived */
gboolean
ir_vjp_lrn (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrValue *x = node->inputs[0];
  gint64 dims[IR_MAX_RANK], size = ir_node_attr_int (node, "size", 1);
  gint64 before = (size - 1) / 2, after = size - 1 - before;
  double alpha = (double) ir_node_attr_float (node, "alpha", 1e-4f) / (double) size;
  double beta = (double) ir_node_attr_float (node, "beta", 0.75f);
  double bias = (double) ir_node_attr_float (node, "bias", 1);
  int rank;

  if (!ir_emit_needs_opset (vjp, 11, error))
    return FALSE;
  if (!ir_emit_dims (x, dims, &rank) || rank < 2)
    return ir_emit_fail (vjp, error, "its sizes are not known; give them (--dim)");
  IrValue *squares = sum_of_neighbours (vjp, mul (vjp, x, x), before, after, dims[1]);
  IrValue *base = ir_emit2 (vjp, "Add", mul (vjp, squares, ir_emit_number (vjp, alpha)),
                            ir_emit_number (vjp, bias));
  IrValue *power = ir_emit2 (vjp, "Pow", base, ir_emit_number (vjp, -beta));
  IrValue *direct = mul (vjp, vjp->dy[0], power);
  IrValue *share = ir_emit2 (vjp, "Div", mul (vjp, direct, x), base);
  IrValue *others = sum_of_neighbours (vjp, share, after, before, dims[1]);
  vjp->dx[0] = ir_emit2 (vjp, "Sub", direct,
                         mul (vjp, mul (vjp, x, others), ir_emit_number (vjp, 2 * alpha * beta)));
  return TRUE;
}

/* -- MeanVarianceNormalization: y = c / (s + e), c = x - mean (x), s = sqrt (mean (c^2)) -- */

/* Where s is 0 its slope counts as 0, which that of its body, the root of a difference of squares, does not.
 * Derived; as the derivative of any normalization by a standard deviation. */
gboolean
ir_vjp_mean_variance (IrVjp *vjp, GError **error)
{
  static const gint64 usual[] = { 0, 2, 3 };
  IrValue *x = vjp->node->inputs[0], *y = vjp->node->outputs[0];
  guint n = G_N_ELEMENTS (usual);
  const gint64 *axes = ir_node_attr (vjp->node, "axes") != NULL
                           ? ir_node_attr_ints (vjp->node, "axes", &n)
                           : usual;

  IrValue *centred = ir_emit2 (vjp, "Sub", x, ir_emit_reduce (vjp, "ReduceMean", x, axes, n, TRUE));
  IrValue *variance = ir_emit_reduce (vjp, "ReduceMean", mul (vjp, centred, centred), axes, n,
                                      TRUE);
  IrValue *flat = ir_emit2 (vjp, "Equal", variance, ir_emit_number_like (vjp, x, 0));
  IrValue *safe = ir_emit1 (
      vjp, "Sqrt", ir_emit3 (vjp, "Where", flat, ir_emit_number_like (vjp, x, 1), variance));
  IrValue *deviation = ir_emit3 (vjp, "Where", flat, ir_emit_number_like (vjp, x, 0), safe);
  IrValue *scale = ir_emit2 (vjp, "Add", deviation, ir_emit_number_like (vjp, x, 1e-9));
  IrValue *direct = ir_emit2 (vjp, "Div", vjp->dy[0], scale);
  IrValue *along = ir_emit2 (
      vjp, "Div", ir_emit_reduce (vjp, "ReduceMean", mul (vjp, vjp->dy[0], y), axes, n, TRUE),
      scale);
  IrValue *moved = ir_emit2 (vjp, "Sub", direct,
                             mul (vjp, along, ir_emit2 (vjp, "Div", centred, safe)));
  vjp->dx[0] = ir_emit2 (vjp, "Sub", moved,
                         ir_emit_reduce (vjp, "ReduceMean", moved, axes, n, TRUE));
  return TRUE;
}

/* -- losses of classification -- */

/* Of each target: its weight, 0 where it is ignored. @safe: (out): targets that name a class;
 * @counts: (out) (nullable): which targets are not ignored; NULL: all */
static IrValue *
target_weights (const IrVjp *vjp, IrValue *targets, IrValue **safe, IrValue **counts)
{
  const IrNode *node = vjp->node;
  IrDtype dtype = ir_value_dtype (vjp->node->inputs[0]);
  IrValue *table = ir_node_input (node, 2), *kept = NULL, *weights = NULL;

  *safe = ir_emit_cast (vjp, targets, IR_DTYPE_INT64);
  if (ir_node_attr (node, "ignore_index") != NULL)
    {
      gint64 ignored = ir_node_attr_int (node, "ignore_index", 0), zero = 0;
      kept = ir_emit1 (vjp, "Not",
                       ir_emit2 (vjp, "Equal", *safe, ir_emit_ints (vjp, &ignored, -1)));
      *safe = ir_emit3 (vjp, "Where", kept, *safe, ir_emit_ints (vjp, &zero, -1));
    }
  *counts = kept;
  weights = table != NULL ? ir_emit2 (vjp, "Gather", table, *safe) : NULL;
  if (kept != NULL)
    {
      IrValue *mask = ir_emit_cast (vjp, kept, dtype);
      weights = weights != NULL ? mul (vjp, weights, mask) : mask;
    }
  return weights != NULL
             ? weights
             : ir_emit2 (vjp, "Expand", ir_emit_number (vjp, 1), ir_emit_shape (vjp, targets));
}

/* 1 at the class, 0 elsewhere, along axis 1. */
static IrValue *
one_hot (const IrVjp *vjp, IrValue *targets, IrDtype dtype)
{
  const IrType *type = vjp->node->inputs[0]->type;
  gint64 one = 1, pair[] = { 0, 1 }, depth = type->dims[1];
  IrValue *size = depth >= 0
                      ? ir_emit_ints (vjp, &depth, 1)
                      : ir_emit2 (vjp, "Gather", ir_emit1 (vjp, "Shape", vjp->node->inputs[0]),
                                  ir_emit_ints (vjp, &one, 1));
  IrValue *inputs[] = { targets, size, ir_emit_cast (vjp, ir_emit_ints (vjp, pair, 2), dtype) };
  IrNode *node = ir_emit_node (vjp, "OneHot", 3, inputs, 1);

  ir_emit_attr_int (vjp, node, "axis", 1);
  return ir_emit_end (vjp, node);
}

static IrValue *
softmax_of (const IrVjp *vjp, const char *op)
{
  IrNode *softmax = ir_emit_node (vjp, op, 1, vjp->node->inputs, 1);

  ir_emit_attr_int (vjp, softmax, "axis", 1);
  return ir_emit_end (vjp, softmax);
}

/* By the weights of classes: what the targets of each lose without them. A mean, @total (nullable), is
 * a quotient of two sums over weights: (loss of the target - mean) / total. */
static IrValue *
by_class (const IrVjp *vjp, gboolean softmax, IrValue *hot, IrValue *counts, IrValue *total)
{
  static const gint64 channel = 1;
  const IrNode *node = vjp->node;
  const int rank = ir_value_rank (node->inputs[0]);
  IrValue *scores = softmax ? softmax_of (vjp, "LogSoftmax") : node->inputs[0];
  IrValue *loss = ir_emit1 (
      vjp, "Neg", ir_emit_reduce (vjp, "ReduceSum", mul (vjp, hot, scores), &channel, 1, FALSE));
  gint64 others[IR_MAX_RANK] = { 0 };

  for (int i = 2; i < rank; i++)
    others[i - 1] = i;
  if (total != NULL)
    loss = ir_emit2 (vjp, "Div", ir_emit2 (vjp, "Sub", loss, node->outputs[0]), total);
  if (counts != NULL)
    loss = ir_emit3 (vjp, "Where", counts, loss, ir_emit_number (vjp, 0));
  loss = ir_emit_unsqueeze (vjp, mul (vjp, loss, vjp->dy[0]), &channel, 1);
  return ir_emit_reduce (vjp, "ReduceSum", mul (vjp, hot, loss), others, (guint) rank - 1, FALSE);
}

/* weight (softmax - onehot) dy for the cross entropy, - weight onehot dy for the likelihood; the mean
 * divides by the sum of weights, and is 0 where all targets are ignored, as frameworks say. */
gboolean
ir_vjp_loss (IrVjp *vjp, GError **error)
{
  static const gint64 channel = 1;
  const IrNode *node = vjp->node;
  IrValue *x = node->inputs[0], *safe, *counts, *all = NULL;
  IrDtype dtype = ir_value_dtype (x);
  const char *reduction = ir_node_attr_string (node, "reduction", "mean");
  const gboolean entropy = strcmp (node->op_type, "SoftmaxCrossEntropyLoss") == 0;

  if (!ir_emit_needs_opset (vjp, 13, error))
    return FALSE;
  if (ir_value_rank (x) < 2)
    return ir_emit_fail (vjp, error, "the rank of its input is not known");
  IrValue *factor = target_weights (vjp, node->inputs[1], &safe, &counts);
  if (strcmp (reduction, "mean") == 0)
    {
      IrNode *sum = ir_emit_node (vjp, "ReduceSum", 1, &factor, 1);
      ir_emit_attr_int (vjp, sum, "keepdims", 0);
      IrValue *zero = ir_emit_number (vjp, 0);
      all = ir_emit_end (vjp, sum);
      all = ir_emit3 (vjp, "Where", ir_emit2 (vjp, "Equal", all, zero), ir_emit_number (vjp, 1),
                      all);
      factor = ir_emit2 (vjp, "Div", factor, all);
    }
  factor = ir_emit_unsqueeze (vjp, mul (vjp, factor, vjp->dy[0]), &channel, 1);
  IrValue *hot = one_hot (vjp, safe, dtype);
  vjp->dx[0] = entropy ? mul (vjp, factor, ir_emit2 (vjp, "Sub", softmax_of (vjp, "Softmax"), hot))
                       : ir_emit1 (vjp, "Neg", mul (vjp, factor, hot));
  if (wanted (vjp, 2))
    vjp->dx[2] = by_class (vjp, entropy, hot, counts, all);
  return TRUE;
}
