/* Reductions and the changes of shape around them:
 *
 *     Unsqueeze (ReduceX{keepdims=0} x, same axes)      ReduceX{keepdims=1} x
 *     ReduceMean{axes=[2..], keepdims=1} x[n,c,...]     GlobalAveragePool x
 *     ReduceMax{axes=[2..], keepdims=1} x[n,c,...]      GlobalMaxPool x
 *     ReduceX x, over axes of size 1, kept              x, for a norm Abs x
 *     ReduceX x, over axes of size 1, dropped           Squeeze x
 *
 * ReduceLogSumExp stays where it is over one element: exp may overflow, and kernels differ then. A
 * norm that drops its axes stays, as Abs and Squeeze would be one node more.
 * Images only: with one axis behind the channels it is as likely the mean of a normalization.
 * Source: onnx/optimizer fuse_consecutive_reduce_unsqueeze; OnnxSlim FusionReduce. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

/* Constant axes by attribute or, in newer opsets, input 1 alone, made non-negative for @rank and
 * sorted into a set of bits; 0 if they are not known. */
static guint64
axes_of (const IrNode *node, int rank)
{
  const IrValue *input = ir_node_input (node, 1);
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;
  guint n = 0;
  gboolean by_input = ir_node_opset (node) >=
                      (ir_op_is (node, IR_OP_REDUCE_SUM) || ir_op_is (node, IR_OP_UNSQUEEZE) ? 13
                                                                                             : 18);
  const gint64 *attr = !by_input ? ir_node_attr_ints (node, "axes", &n) : NULL;
  guint64 set = 0;

  if (tensor != NULL)
    n = (guint) ir_tensor_n_elements (tensor);
  for (guint i = 0; i < n; i++)
    {
      gint64 axis = tensor != NULL ? ir_tensor_get_int64 (tensor, i) : attr[i];

      axis += axis < 0 ? rank : 0;
      if (axis < 0 || axis >= rank)
        return 0;
      set |= G_GUINT64_CONSTANT (1) << axis;
    }
  return set;
}

static gboolean
when_same_axes (IrMatch *match)
{
  const IrNode *reduce = ir_match_node (match, "reduce"), *unsqueeze = ir_match_root (match);
  int rank = ir_value_rank (ir_match_value (match, "x"));
  guint64 reduced = rank > 0 ? axes_of (reduce, rank) : 0;

  if (ir_node_attr_int (reduce, "keepdims", 1) != 0)
    return ir_match_fail (match, "the reduction keeps its axes already");
  if (reduced == 0)
    return ir_match_fail (match, "the axes of the reduction are not known");
  if (axes_of (unsqueeze, rank) != reduced)
    return ir_match_fail (match, "Unsqueeze does not put back the axes that the reduction dropped");
  return TRUE;
}

static gboolean
prepare_keep (IrMatch *match)
{
  ir_match_bind_attr (match, "keep",
                      ir_attr_int (ir_match_context (match)->model->context, "keepdims", 1));
  return TRUE;
}

static gboolean
when_spatial (IrMatch *match)
{
  const IrNode *reduce = ir_match_root (match);
  int rank = ir_value_rank (ir_match_value (match, "x"));
  guint64 spatial = rank >= 4 && rank < 64
                        ? ((G_GUINT64_CONSTANT (1) << rank) - 1) & ~G_GUINT64_CONSTANT (3)
                        : 0;

  if (!ir_dtype_is_float (ir_value_dtype (reduce->outputs[0])))
    return ir_match_fail (match, "only floating-point values are pooled");
  if (rank < 4)
    return ir_match_fail (match, "there are fewer than two axes behind batch and channels");
  if (ir_node_attr_int (reduce, "keepdims", 1) == 0)
    return ir_match_fail (match, "the reduction drops its axes");
  if (axes_of (reduce, rank) != spatial)
    return ir_match_fail (match, "the axes are not all those behind batch and channels");
  return TRUE;
}

/* What keeps its type keeps every axis, so those that are reduced have one element. */
static gboolean
when_one_element (IrMatch *match)
{
  const IrNode *reduce = ir_match_root (match);

  if (ir_node_attr_int (reduce, "keepdims", 1) == 0)
    return ir_match_fail (match, "the reduction drops its axes");
  if (!ir_types_identical (ir_match_value (match, "x")->type, reduce->outputs[0]->type))
    return ir_match_fail (match, "not every axis that is reduced is known to have one element");
  return TRUE;
}

static gboolean
when_one_float (IrMatch *match)
{
  if (!ir_dtype_is_float (ir_value_dtype (ir_match_root (match)->outputs[0])))
    return ir_match_fail (match, "squares of integers may overflow");
  return when_one_element (match);
}

/* Axes that are dropped must be listed: without any, a reduction is over all, or over none. */
static gboolean
when_one_dropped (IrMatch *match)
{
  const IrNode *reduce = ir_match_root (match);
  const IrType *x = ir_match_value (match, "x")->type;
  guint64 axes = ir_type_is_tensor (x) && x->rank > 0 ? axes_of (reduce, x->rank) : 0;

  if (ir_node_attr_int (reduce, "keepdims", 1) != 0)
    return ir_match_fail (match, "the reduction keeps its axes");
  if (axes == 0)
    return ir_match_fail (match, "the axes of the reduction are not known, or none");
  for (int i = 0; i < x->rank; i++)
    if ((axes >> i & 1) != 0 && x->dims[i] != 1)
      return ir_match_fail (match, "not every axis that is reduced is known to have one element");
  return TRUE;
}

static gboolean
when_dropped_by_input (IrMatch *match)
{
  if (ir_node_opset (ir_match_root (match)) < 13)
    return ir_match_fail (match, "the axes of Squeeze are an attribute before opset 13");
  return when_one_dropped (match);
}

static gboolean
when_dropped_by_attribute (IrMatch *match)
{
  if (ir_node_opset (ir_match_root (match)) >= 13)
    return ir_match_fail (match, "the axes of Squeeze are an input from opset 13 on");
  return when_one_dropped (match);
}

static guint
list_axes (IrMatch *match, gint64 *list)
{
  int rank = ir_value_rank (ir_match_value (match, "x"));
  guint64 axes = axes_of (ir_match_root (match), rank);
  guint n = 0;

  for (int i = 0; i < rank; i++)
    if ((axes >> i & 1) != 0)
      list[n++] = i;
  return n;
}

static gboolean
prepare_axes_input (IrMatch *match)
{
  gint64 list[64];
  guint n = list_axes (match, list);

  ir_match_bind_tensor (match, "dropped", "axes", ir_tensor_new_int64s (list, n));
  return TRUE;
}

static gboolean
prepare_axes_attribute (IrMatch *match)
{
  gint64 list[64];
  guint n = list_axes (match, list);

  ir_match_bind_attr (match, "dropped",
                      ir_attr_ints (ir_match_context (match)->model->context, "axes", list, n));
  return TRUE;
}

/* clang-format off */
#define DROP(ID, OPS, OP, CLASS, WHAT) \
  { "reduce-one-" ID, "(" OPS " ?x ?*axes)", "(Squeeze ?x ?dropped)", CLASS, WHAT, \
    "(float[n,1,4] x) => (float[n,4] y) { a = Neg (x)  r = " OP " <axes: ints = [-2], keepdims: " \
    "int = 0> (a)  y = Abs (r) }", when_dropped_by_input, prepare_axes_input }, \
  { "reduce-one-" ID "-old", "(" OPS " ?x ?*axes)", "(Squeeze{axes=?dropped} ?x)", CLASS, \
    WHAT " Before opset 13.", \
    "<ir_version: 8, opset_import: [\"\" : 11]>\ng (float[n,1,4] x) => (float[n,4] y) { a = " \
    "Neg (x)  r = " OP " <axes: ints = [1], keepdims: int = 0> (a)  y = Abs (r) }", \
    when_dropped_by_attribute, prepare_axes_attribute }
#define NORM(ID, OP, TO, CLASS, WHEN, WHAT) \
  { "reduce-one-" ID, "(" OP " ?x ?*axes)", TO, CLASS, WHAT, \
    "(float[n,1,4] x) => (float[n,1,4] y) { a = Neg (x)  r = " OP " <axes: ints = [1]> (a)  y = Neg (r) }", \
    WHEN }
/* clang-format on */

#define REDUCE                                                                                     \
  "ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|ReduceLogSum|"            \
  "ReduceLogSumExp|ReduceSumSquare"

static const IrRule rules[] = {
  { "reduce-keep-axes", "(Unsqueeze (" REDUCE "@reduce ?x ?*axes) ?*back)",
    "(@reduce{@reduce,keepdims=?keep} ?x ?*axes)", IR_CLASS_EXACT,
    "A reduction whose axes are put back keeps them.",
    "(float[n,3,4] x) => (float[n,1,4] y) { a = Constant <value = int64[1] {1}> ()  r = ReduceMax "
    "<axes: ints = [1], keepdims: int = 0> (x)  y = Unsqueeze (r, a) }",
    when_same_axes, prepare_keep },
  { "mean-to-global-pool", "(ReduceMean ?x ?*axes)", "(GlobalAveragePool ?x)", IR_CLASS_ROUNDING,
    "The mean over all axes behind batch and channels is GlobalAveragePool.",
    "(float[n,3,4,5] x) => (float[n,3,1,1] y) { y = ReduceMean <axes: ints = [2,3]> (x) }",
    when_spatial },
  { "max-to-global-pool", "(ReduceMax ?x ?*axes)", "(GlobalMaxPool ?x)", IR_CLASS_ROUNDING,
    "The maximum over all axes behind batch and channels is GlobalMaxPool.",
    "(float[n,3,4,5] x) => (float[n,3,1,1] y) { y = ReduceMax <axes: ints = [2,3]> (x) }",
    when_spatial },
  { "reduce-one", "(ReduceMax|ReduceMin ?x ?*axes)", "?x", IR_CLASS_EXACT,
    "The largest or least of one element is that element.",
    "(float[n,1,4] x) => (float[n,1,4] y) { a = Neg (x)  r = ReduceMax <axes: ints = [1]> (a)  y = Abs "
    "(r) }",
    when_one_element },
  { "reduce-one-number", "(ReduceSum|ReduceMean|ReduceProd ?x ?*axes)", "?x", IR_CLASS_ROUNDING,
    "The sum, mean or product of one element is that element, but for the sign of 0.",
    "(float[n,1,4] x) => (float[n,1,4] y) { a = Neg (x)  r = ReduceMean <axes: ints = [1]> (a)  y = "
    "Abs (r) }",
    when_one_element },
  NORM ("absolute",
        "ReduceL1",
        "(Abs ?x)",
        IR_CLASS_EXACT,
        when_one_element,
        "The sum of the absolute value of one element is that value."),
  NORM ("length",
        "ReduceL2",
        "(Abs ?x)",
        IR_CLASS_ROUNDING,
        when_one_float,
        "The length of one element is its absolute value."),
  NORM ("square",
        "ReduceSumSquare",
        "(Mul ?x ?x)",
        IR_CLASS_ROUNDING,
        when_one_float,
        "The sum of the square of one element is its square."),
  DROP ("largest",
        "ReduceMax|ReduceMin",
        "ReduceMin",
        IR_CLASS_EXACT,
        "The largest or least of one element, without its axis, is that element."),
  DROP ("sum",
        "ReduceSum|ReduceMean|ReduceProd",
        "ReduceMean",
        IR_CLASS_ROUNDING,
        "The sum, mean or product of one element, without its axis, is that element, but for the "
        "sign of 0."),
  { NULL },
};

const IrPass ir_pass_fold_reduce = {
  .name = "fold-reduce",
  .title = "Simplify reductions",
  .doc = "A reduction keeps the axes that were put back behind it; the mean and the maximum over "
         "all axes behind batch and channels are global pooling; a reduction over axes of one "
         "element is that element, its absolute value or its square.",
  .source = "onnx/optimizer fuse_consecutive_reduce_unsqueeze; OnnxSlim FusionReduce",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> ReduceMean -> Unsqueeze -> y\nx -> ReduceMean{keepdims} -> y",
  .rules = rules,
};
