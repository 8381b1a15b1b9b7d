/* Limits behind limits:
 *
 *     Clip (Relu x, lo, hi)          Clip (x, max (lo, 0), hi)
 *     Relu (Clip (x, lo, hi))        Clip (x, max (lo, 0), hi)     if hi >= 0
 *     Clip (Clip (x, a, b), c, d)    Clip (x, max (a, c), min (b, d))  if the ranges overlap
 *
 * Bounds are constants. Where ranges do not overlap Clip takes the upper bound, so those are left
 * alone. All pass NaN on. Source: ONNX Runtime FuseReluClip. */
#include "config.h"

#include "passes/rule/rule.h"

#include <math.h>

/* Which of 0 and -0 comes out of two limits depends on their order. */
static gboolean
is_clear (double bound)
{
  return !isnan (bound) && (bound != 0 || !signbit (bound));
}

/* The bounds of a Clip by input or attribute; FALSE if they are not constant, NaN or -0. */
static gboolean
bounds_of (const IrNode *clip, double *low, double *high)
{
  static const char *const names[] = { "min", "max" };
  double *bounds[] = { low, high };

  *low = -INFINITY;
  *high = INFINITY;
  for (guint i = 0; i < 2; i++)
    {
      const IrValue *input = ir_node_input (clip, i + 1);
      const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;

      if (input != NULL && (tensor == NULL || ir_tensor_n_elements (tensor) != 1))
        return FALSE;
      if (tensor != NULL)
        *bounds[i] = ir_tensor_get_double (tensor, 0);
      else if (ir_node_attr (clip, names[i]) != NULL)
        *bounds[i] = ir_node_attr_float (clip, names[i], *bounds[i]);
    }
  return is_clear (*low) && is_clear (*high);
}

/* What both limits together let through; FALSE with a reason if that is no one Clip. */
static gboolean
range_of_both (IrMatch *match, double *low, double *high)
{
  double other_low = 0, other_high = INFINITY;
  const IrNode *inner = ir_match_node (match, "inner"), *outer = ir_match_root (match);

  if (!ir_dtype_is_float (ir_value_dtype (outer->outputs[0])) || ir_node_opset (outer) < 11)
    return ir_match_fail (match, "only floating-point limits from opset 11 on are merged");
  if (!bounds_of (ir_op_is (inner, IR_OP_CLIP) ? inner : outer, low, high))
    return ir_match_fail (match, "a bound is not a constant scalar, or NaN or -0");
  if (ir_op_is (inner, IR_OP_CLIP) && ir_op_is (outer, IR_OP_CLIP) &&
      !bounds_of (outer, &other_low, &other_high))
    return ir_match_fail (match,
                          "a bound of the outer Clip is not a constant scalar, or NaN or -0");
  if (MAX (*low, other_low) > MIN (*high, other_high)) /* also where one of them is empty */
    return ir_match_fail (match, "the two ranges do not overlap");
  *low = MAX (*low, other_low);
  *high = MIN (*high, other_high);
  return TRUE;
}

static gboolean
when_overlap (IrMatch *match)
{
  double low, high;

  return range_of_both (match, &low, &high);
}

static gboolean
prepare_bounds (IrMatch *match)
{
  IrDtype dtype = ir_value_dtype (ir_match_root (match)->outputs[0]);
  double low, high;

  if (!range_of_both (match, &low, &high))
    return FALSE;
  /* max (lo, 0) is +0, as Relu gives it. */
  ir_match_bind_tensor (match, "lo", "min", ir_tensor_new_scalar (dtype, low));
  ir_match_bind_tensor (match, "hi", "max", ir_tensor_new_scalar (dtype, high));
  return TRUE;
}

#define BOUNDS                                                                                     \
  "a = Constant <value = float {-0.5}> ()  b = Constant <value = float {1.5}> ()  "                \
  "c = Constant <value = float {0.25}> ()  d = Constant <value = float {6.0}> ()  "
#define EXAMPLE(BODY) "(float[n,4] x) => (float[n,4] y) { " BOUNDS BODY " }"

static const IrRule rules[] = {
  { "merge-relu-clip", "(Clip (Relu@inner ?x) ?*bounds)", "(Clip ?x ?lo ?hi)", IR_CLASS_EXACT,
    "A Clip of a Relu is a Clip.", EXAMPLE ("r = Relu (x)  y = Clip (r, c, d)"), when_overlap,
    prepare_bounds },
  { "merge-clip-relu", "(Relu (Clip@inner ?x ?*bounds))", "(Clip ?x ?lo ?hi)", IR_CLASS_EXACT,
    "A Relu of a Clip is a Clip.", EXAMPLE ("r = Clip (x, c, d)  y = Relu (r)"), when_overlap,
    prepare_bounds },
  { "merge-clips", "(Clip (Clip@inner ?x ?*inner_bounds) ?*bounds)", "(Clip ?x ?lo ?hi)",
    IR_CLASS_EXACT, "Two Clips whose ranges overlap are one.",
    EXAMPLE ("r = Clip (x, a, b)  y = Clip (r, c, d)"), when_overlap, prepare_bounds },
  { NULL },
};

const IrPass ir_pass_merge_clips = {
  .name = "merge-clips",
  .title = "Merge limits",
  .doc = "Relu and Clip behind each other become one Clip.",
  .source = "ONNX Runtime FuseReluClip",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Relu -> Clip -> y\nx -> Clip -> y",
  .rules = rules,
};
