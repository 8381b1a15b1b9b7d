/* Data movement in a row:
 *
 *     Concat (a, Concat (b, c), d)          Concat (a, b, c, d)       along the same axis
 *     Slice (Slice (x, A), B)               Slice (x, A and B)        on different axes, steps 1
 *
 * Slices of one axis are left alone: clamping depends on sizes (OnnxSlim's issue 277 merged those
 * that overlap). Source: onnx/optimizer fuse_consecutive_concats, fuse_consecutive_slices. */
#include "config.h"

#include "passes/rule/rule.h"

static gboolean
when_same_axis (IrMatch *match)
{
  const IrNode *outer = ir_match_root (match), *inner = ir_match_node (match, "inner");
  int rank = ir_value_rank (outer->outputs[0]);
  gint64 a = ir_node_attr_int (outer, "axis", 1), b = ir_node_attr_int (inner, "axis", 1);

  if (a != b && (rank < 0 || (a + rank) % rank != (b + rank) % rank))
    return ir_match_fail (match, "the two are along different axes, %d and %d", (int) a, (int) b);
  return TRUE;
}

#define MAX_AXES 16

typedef struct
{
  guint n;
  gint64 starts[MAX_AXES], ends[MAX_AXES], axes[MAX_AXES];
} Ranges;

static gboolean
add_ints (const IrNode *node, guint slot, gint64 *list, guint at, guint n)
{
  const IrValue *input = ir_node_input (node, slot);
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;

  if (tensor == NULL || ir_tensor_n_elements (tensor) != n)
    return FALSE;
  for (guint i = 0; i < n; i++)
    list[at + i] = ir_tensor_get_int64 (tensor, i);
  return TRUE;
}

/* Appends what a Slice takes; FALSE if that is not constant, or an axis is there already. */
static gboolean
add_ranges (Ranges *ranges, const IrNode *slice, int rank)
{
  const IrValue *starts = ir_node_input (slice, 1), *steps = ir_node_input (slice, 4);
  const IrTensor *tensor = starts != NULL ? ir_value_constant (starts) : NULL;
  guint n = tensor != NULL ? (guint) ir_tensor_n_elements (tensor) : 0;
  gint64 step[MAX_AXES];

  if (tensor == NULL || ir_tensor_dtype (tensor) != IR_DTYPE_INT64 || ranges->n + n > MAX_AXES ||
      !add_ints (slice, 1, ranges->starts, ranges->n, n) ||
      !add_ints (slice, 2, ranges->ends, ranges->n, n) ||
      (steps != NULL && !add_ints (slice, 4, step, 0, n)))
    return FALSE;
  if (ir_node_input (slice, 3) != NULL && !add_ints (slice, 3, ranges->axes, ranges->n, n))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      gint64 axis = ir_node_input (slice, 3) != NULL ? ranges->axes[ranges->n + i] : i;

      axis += axis < 0 ? rank : 0;
      if (axis < 0 || axis >= rank || (steps != NULL && step[i] != 1))
        return FALSE;
      for (guint k = 0; k < ranges->n + i; k++)
        if (ranges->axes[k] == axis)
          return FALSE;
      ranges->axes[ranges->n + i] = axis;
    }
  ranges->n += n;
  return TRUE;
}

static gboolean
ranges_of_both (IrMatch *match, Ranges *ranges)
{
  const IrNode *outer = ir_match_root (match), *inner = ir_match_node (match, "inner");
  int rank = ir_value_rank (ir_match_value (match, "x"));

  ranges->n = 0;
  if (ir_node_opset (outer) < 10 || rank < 1)
    return ir_match_fail (match, "the number of axes is not known, or the opset is below 10");
  if (!add_ranges (ranges, inner, rank) || !add_ranges (ranges, outer, rank))
    return ir_match_fail (match, "the two are not constant with steps 1 on different axes");
  return TRUE;
}

static gboolean
when_disjoint (IrMatch *match)
{
  Ranges ranges;

  return ranges_of_both (match, &ranges);
}

static gboolean
prepare_ranges (IrMatch *match)
{
  Ranges ranges;

  if (!ranges_of_both (match, &ranges))
    return FALSE;
  ir_match_bind_tensor (match, "starts", "starts", ir_tensor_new_int64s (ranges.starts, ranges.n));
  ir_match_bind_tensor (match, "ends", "ends", ir_tensor_new_int64s (ranges.ends, ranges.n));
  ir_match_bind_tensor (match, "axes", "axes", ir_tensor_new_int64s (ranges.axes, ranges.n));
  return TRUE;
}

static const IrRule rules[] = {
  { "merge-concats-first", "(Concat@outer (Concat@inner ?*xs) ?*ys)", "(Concat{@outer} ?*xs ?*ys)",
    IR_CLASS_EXACT, "A Concat that begins with a Concat along the same axis is one.",
    "(float[n,2] a, float[n,3] b) => (float[n,7] y) { c = Concat <axis: int = 1> (a, b)  y = Concat "
    "<axis: int = -1> (c, a) }",
    when_same_axis },
  { "merge-concats-second", "(Concat@outer ?a (Concat@inner ?*xs) ?*ys)",
    "(Concat{@outer} ?a ?*xs ?*ys)", IR_CLASS_EXACT,
    "A Concat whose second part is a Concat along the same axis is one.",
    "(float[n,2] a, float[n,3] b) => (float[n,7] y) { c = Concat <axis: int = 1> (a, b)  y = Concat "
    "<axis: int = 1> (a, c) }",
    when_same_axis },
  { "merge-slices", "(Slice (Slice@inner ?x ?*first) ?*second)", "(Slice ?x ?starts ?ends ?axes)",
    IR_CLASS_EXACT, "Two slices of different axes are one.",
    "(float[n,6,5] x) => (float[n,3,2] y) { s = Constant <value = int64[1] {1}> ()  e = Constant "
    "<value = int64[1] {4}> ()  a = Constant <value = int64[1] {1}> ()  t = Constant <value = "
    "int64[1] {-2}> ()  u = Constant <value = int64[1] {9}> ()  b = Constant <value = int64[1] "
    "{-1}> ()  c = Slice (x, s, e, a)  y = Slice (c, t, u, b) }",
    when_disjoint, prepare_ranges },
  { NULL },
};

const IrPass ir_pass_merge_slices = {
  .name = "merge-slices",
  .title = "Merge slices and concatenations",
  .doc = "Concatenations along one axis, and slices of different axes, in a row become one.",
  .source = "onnx/optimizer fuse_consecutive_concats, fuse_consecutive_slices",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Slice -> Slice -> y\nx -> Slice -> y",
  .rules = rules,
};
