/* Rotary embeddings of positions that a transformer spells out:
 *
 *     a, b = the halves of x along the last axis
 *     y = x * c + Concat (-b, a) * s                            y = RotaryEmbedding (x, c, s)
 *
 * The halves come from two Slices or from one Split. Others turn neighbours against each other, as
 * GPT-J and RoFormer do, and put the pairs together again by a Reshape:
 *
 *     a, b = the elements 0, 2, .. and 1, 3, .. of x
 *     y = x * c + Reshape (pairs -b, a) * s                     y = PairRotaryEmbedding (x, c, s)
 *     y = Reshape (pairs a * c - b * s, a * s + b * c)
 *
 * There a and b come from Slices of step 2, or from Split, Slice or Gather of x in pairs. The
 * standard operator, where the opset has it
 * (23), has one cosine per pair and position of each sample; it is taken where c and s are
 * constants that say no more. Else irscope's own, which takes them as they are. The kernels may
 * contract a product and a sum: rounding. Source: Su and others 2021 (RoFormer); ONNX Runtime
 * RotaryEmbeddingFusion; Hugging Face's rotate_half and rotate_every_two. */
#include "config.h"

#include "passes/rewrites/norm-match.h"
#include "passes/rule/step.h"

#include <string.h>

/* -- the halves -- */

static gboolean
constant_is (const IrNode *node, guint slot, gint64 *value)
{
  const IrValue *input = ir_node_input (node, slot);
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;

  if (tensor == NULL || ir_tensor_n_elements (tensor) != 1)
    return FALSE;
  *value = ir_tensor_get_int64 (tensor, 0);
  return TRUE;
}

/* Slice of @x along its last axis, from @first to before @end. */
static gboolean
is_slice (const IrNode *node, const IrValue *x, gint64 first, gint64 end, gint64 size)
{
  gint64 from, to, axis, step = 1;

  if (!ir_op_is (node, IR_OP_SLICE) || node->inputs[0] != x || ir_node_opset (node) < 10 ||
      !constant_is (node, 1, &from) || !constant_is (node, 2, &to) ||
      !constant_is (node, 3, &axis) ||
      (ir_node_input (node, 4) != NULL && !constant_is (node, 4, &step)))
    return FALSE;
  from = from < 0 ? from + size : from;
  to = to < 0 ? to + size : MIN (to, size);
  return from == first && to == end && step == 1 && (axis == -1 || axis == ir_value_rank (x) - 1);
}

/* Half @part of a Split of @x along its last axis into two. */
static gboolean
is_half (const IrNode *node, const IrValue *half, const IrValue *x, guint part)
{
  gint64 axis = ir_node_attr_int (node, "axis", 0);

  return ir_op_is (node, IR_OP_SPLIT) && node->inputs[0] == x && node->n_outputs == 2 &&
         node->outputs[part] == half && (axis == -1 || axis == ir_value_rank (x) - 1);
}

static gboolean
halves_fit (IrMatch *match)
{
  const IrValue *x = ir_match_value (match, "x");
  const IrValue *halves[] = { ir_match_value (match, "a"), ir_match_value (match, "b") };
  const IrNode *concat = ir_match_node (match, "r");
  int rank = ir_value_rank (x);
  gint64 size, axis = ir_node_attr_int (concat, "axis", 0);

  if (rank < 1 || !ir_dim_is_known (x->type->dims[rank - 1]))
    return ir_match_fail (match, "the size of the last axis of %s is not known", x->name);
  size = x->type->dims[rank - 1];
  if (size < 2 || size % 2 != 0)
    return ir_match_fail (match, "the last axis of %s has no two halves", x->name);
  if (concat->n_inputs != 2 || (axis != -1 && axis != rank - 1))
    return ir_match_fail (match, "the halves are not put together along the last axis");
  for (guint i = 0; i < 2; i++)
    {
      const IrNode *node = halves[i]->producer;
      const IrType *type = halves[i]->type;

      if (node == NULL || (!is_half (node, halves[i], x, i) &&
                           !is_slice (node, x, i * size / 2, (i + 1) * size / 2, size)))
        return ir_match_fail (match, "%s is not the %s half of %s", halves[i]->name,
                              i == 0 ? "first" : "second", x->name);
      if (!ir_type_is_tensor (type) || type->rank != rank || type->dims[rank - 1] != size / 2)
        return ir_match_fail (match, "%s is not half as long as %s", halves[i]->name, x->name);
    }
  return TRUE;
}

/* Cosines or sines must broadcast to x without making it bigger, and be there for both halves. */
static gboolean
angles_fit (IrMatch *match, const char *variable)
{
  const IrType *x = ir_match_value (match, "x")->type;
  const IrType *angles = ir_match_value (match, variable)->type;

  if (!ir_type_is_tensor (angles) || angles->rank < 1 || angles->rank > x->rank)
    return ir_match_fail (match, "the shape of the cosines or sines is not known, or too big");
  if (angles->dims[angles->rank - 1] != x->dims[x->rank - 1])
    return ir_match_fail (match, "there is not one cosine and sine per element of a head");
  for (int i = 0; i < angles->rank; i++)
    {
      IrDim dim = angles->dims[i], wanted = x->dims[x->rank - angles->rank + i];

      if (dim != 1 && (dim == IR_DIM_UNKNOWN || dim != wanted))
        return ir_match_fail (match, "the cosines or sines may make the result bigger");
    }
  return TRUE;
}

/* -- what the standard operator takes: constants [batch, positions, half] -- */

/* Bit for bit, in a row of @half times two. */
static gboolean
is_double (const guint8 *row, gsize half, gboolean pairs)
{
  for (gsize i = 0; i < half; i++)
    if (memcmp (row + (pairs ? 2 * i : i) * sizeof (float),
                row + (pairs ? 2 * i + 1 : half + i) * sizeof (float), sizeof (float)) != 0)
      return FALSE;
  return TRUE;
}

/* Whether @tensor, which broadcasts to @x, has rows of @width for positions alone. */
static gboolean
has_rows (const IrTensor *tensor, const IrType *x, gint64 width)
{
  guint rank = tensor != NULL ? ir_tensor_rank (tensor) : 0;

  return rank >= 2 && rank <= 4 && ir_tensor_dtype (tensor) == IR_DTYPE_FLOAT &&
         (rank == 2 || ir_tensor_dims (tensor)[rank - 3] == 1) &&
         ir_tensor_dims (tensor)[rank - 2] == x->dims[2] &&
         ir_tensor_dims (tensor)[rank - 1] == width;
}

/* And is the same for both of a pair. */
static gboolean
is_cache (const IrTensor *tensor, const IrType *x, gboolean pairs)
{
  gsize half = (gsize) x->dims[3] / 2;

  if (!has_rows (tensor, x, x->dims[3]))
    return FALSE;
  for (guint64 row = 0; row < ir_tensor_n_elements (tensor) / (guint64) x->dims[3]; row++)
    if (!is_double ((const guint8 *) ir_tensor_data (tensor) + row * 2 * half * sizeof (float),
                    half, pairs))
      return FALSE;
  return TRUE;
}

/* One sample after the other, of a type that the standard operator takes. */
static gboolean
is_standard_type (const IrMatch *match, const IrType *x)
{
  return ir_node_opset (ir_match_root (match)) >= 23 && x->rank == 4 &&
         x->dtype == IR_DTYPE_FLOAT && ir_dim_is_known (x->dims[0]) && x->dims[0] > 0 &&
         ir_dim_is_known (x->dims[2]) && x->dims[2] > 0;
}

static gboolean
is_standard (IrMatch *match, gboolean pairs)
{
  const IrType *x = ir_match_value (match, "x")->type;

  return is_standard_type (match, x) &&
         is_cache (ir_value_constant (ir_match_value (match, "c")), x, pairs) &&
         is_cache (ir_value_constant (ir_match_value (match, "s")), x, pairs);
}

/* One of each pair, for each sample of the batch: every @step-th of the elements of a row. */
static IrTensor *
cache_of (const IrTensor *tensor, const IrType *x, gint64 step)
{
  gint64 half = x->dims[3] / 2, n = x->dims[2], dims[] = { x->dims[0], n, half };
  gint64 width = ir_tensor_dims (tensor)[ir_tensor_rank (tensor) - 1];
  gboolean repeats = ir_tensor_rank (tensor) < 4 || ir_tensor_dims (tensor)[0] == 1;
  IrTensor *cache = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 3, dims, NULL);

  for (gint64 i = 0; cache != NULL && i < x->dims[0] * n; i++)
    {
      const float *from = (const float *) ir_tensor_data (tensor) + (repeats ? i % n : i) * width;
      float *to = (float *) ir_tensor_data_writable (cache) + i * half;

      for (gint64 k = 0; k < half; k++)
        memcpy (to + k, from + step * k, sizeof (float)); /* NaN stays what it is */
    }
  return cache;
}

/* Each element twice. */
static IrTensor *
twice (const IrTensor *tensor)
{
  guint rank = ir_tensor_rank (tensor);
  gint64 dims[IR_MAX_RANK];

  memcpy (dims, ir_tensor_dims (tensor), sizeof (gint64) * rank);
  dims[rank - 1] *= 2;
  IrTensor *result = ir_tensor_new_alloc (IR_DTYPE_FLOAT, rank, dims, NULL);
  for (guint64 i = 0; result != NULL && i < ir_tensor_n_elements (result); i++)
    memcpy ((float *) ir_tensor_data_writable (result) + i,
            (const float *) ir_tensor_data (tensor) + i / 2, sizeof (float));
  return result;
}

/* The caches of the standard operator, or without @x each element twice. */
static IrTensor *
angles_of (IrMatch *match, const char *variable, const IrType *x, gint64 step)
{
  const IrTensor *tensor = ir_match_constant (match, variable);

  return x != NULL ? cache_of (tensor, x, step) : twice (tensor);
}

static gboolean
bind_angles (IrMatch *match, const IrType *x, gint64 step)
{
  IrTensor *cos = angles_of (match, "c", x, step), *sin = angles_of (match, "s", x, step);

  if (cos == NULL || sin == NULL)
    {
      g_clear_pointer (&cos, ir_tensor_unref);
      g_clear_pointer (&sin, ir_tensor_unref);
      return ir_match_fail (match, "there is no memory for the cosines and sines");
    }
  ir_match_bind_tensor (match, "cos", "cos_cache", cos);
  ir_match_bind_tensor (match, "sin", "sin_cache", sin);
  return TRUE;
}

static gboolean
when_standard (IrMatch *match)
{
  return halves_fit (match) && angles_fit (match, "c") && angles_fit (match, "s") &&
         ir_match_opset_between (match, 23, 0) &&
         (is_standard (match, FALSE) ||
          ir_match_fail (match, "cosines and sines are not constants for positions alone"));
}

static gboolean
when_late (IrMatch *match)
{
  return halves_fit (match) && angles_fit (match, "c") && angles_fit (match, "s") &&
         ir_match_opset_between (match, 13, 0) && ir_match_is_float32 (match) &&
         (!is_standard (match, FALSE) ||
          ir_match_fail (match, "the standard has an operator for it"));
}

static gboolean
prepare_caches (IrMatch *match)
{
  return bind_angles (match, ir_match_value (match, "x")->type, 1);
}

/* -- neighbours -- */

/* One of the two of each pair in the last axis of @x, by itself. */
typedef struct
{
  const IrValue *x;
  guint part;
  gboolean negated;
} Member;

/* @type is @x's, but for the last axis: @n more axes, of sizes @last. */
static gboolean
is_like (const IrType *type, const IrType *x, int n, const gint64 *last)
{
  int rank = x->rank - 1;

  if (!ir_type_is_tensor (type) || type->dtype != x->dtype || type->rank != rank + n)
    return FALSE;
  for (int i = 0; i < rank; i++)
    if (type->dims[i] == IR_DIM_UNKNOWN || type->dims[i] != x->dims[i])
      return FALSE;
  for (int i = 0; i < n; i++)
    if (type->dims[rank + i] != last[i])
      return FALSE;
  return TRUE;
}

static gboolean
are_pairs (const IrValue *value, const IrValue *x)
{
  gint64 last[] = { x->type->dims[x->type->rank - 1] / 2, 2 };

  return value != NULL && value->producer != NULL && ir_op_is (value->producer, IR_OP_RESHAPE) &&
         value->producer->inputs[0] == x && is_like (value->type, x->type, 2, last);
}

static gboolean
is_last_axis (gint64 axis, int rank)
{
  return axis == -1 || axis == rank - 1;
}

/* Along the last axis, from @first to before @end in steps of @step. */
static gboolean
slices (const IrNode *node, gint64 first, gint64 end, gint64 step)
{
  int rank = ir_value_rank (node->inputs[0]);
  gint64 from, to, axis, by = 1, size = node->inputs[0]->type->dims[rank - 1];

  if (ir_node_opset (node) < 10 || !constant_is (node, 1, &from) || !constant_is (node, 2, &to) ||
      !constant_is (node, 3, &axis) ||
      (ir_node_input (node, 4) != NULL && !constant_is (node, 4, &by)))
    return FALSE;
  from = from < 0 ? from + size : from;
  to = to < 0 ? to + size : MIN (to, size);
  return from == first && to == end && by == step && is_last_axis (axis, rank);
}

static gboolean is_column (Member *member, const IrValue *value);

static gboolean
negates (Member *member, const IrNode *node)
{
  if (member->negated || !ir_op_is (node, IR_OP_NEG))
    return FALSE;
  member->negated = TRUE;
  return TRUE;
}

/* Without an axis of its own. */
static gboolean
is_flat (Member *member, const IrValue *value)
{
  const IrValue *x = member->x;
  const IrNode *node = value->producer;
  gint64 half = x->type->dims[x->type->rank - 1] / 2, number;

  if (node == NULL || !is_like (value->type, x->type, 1, &half))
    return FALSE;
  if (negates (member, node))
    return is_flat (member, node->inputs[0]);
  if (ir_op_is (node, IR_OP_SQUEEZE))
    return constant_is (node, 1, &number) && is_last_axis (number, x->type->rank + 1) &&
           is_column (member, node->inputs[0]);
  if (ir_op_is (node, IR_OP_SLICE))
    return node->inputs[0] == x && (slices (node, member->part, 2 * half, 2) ||
                                    slices (node, member->part, 2 * half - 1 + member->part, 2));
  return ir_op_is (node, IR_OP_GATHER) && are_pairs (node->inputs[0], x) &&
         constant_is (node, 1, &number) && (number + 2) % 2 == member->part &&
         is_last_axis (ir_node_attr_int (node, "axis", 0), x->type->rank + 1);
}

/* With an axis of size 1 behind. */
static gboolean
is_column (Member *member, const IrValue *value)
{
  const IrValue *x = member->x;
  const IrNode *node = value->producer;
  gint64 last[] = { x->type->dims[x->type->rank - 1] / 2, 1 }, number;

  if (node == NULL || !is_like (value->type, x->type, 2, last))
    return FALSE;
  if (negates (member, node))
    return is_column (member, node->inputs[0]);
  if (ir_op_is (node, IR_OP_UNSQUEEZE))
    return constant_is (node, 1, &number) && is_last_axis (number, x->type->rank + 1) &&
           is_flat (member, node->inputs[0]);
  if (node->n_inputs == 0 || !are_pairs (node->inputs[0], x))
    return FALSE;
  if (ir_op_is (node, IR_OP_SLICE))
    return slices (node, member->part, member->part + 1, 1);
  return ir_op_is (node, IR_OP_SPLIT) && node->n_outputs == 2 &&
         node->outputs[member->part] == value &&
         is_last_axis (ir_node_attr_int (node, "axis", 0), x->type->rank + 1);
}

/* x, whose last axis has pairs; two of them side by side again in the end. */
static gboolean
pairs_fit (IrMatch *match, const IrValue *x, const IrValue *whole)
{
  const IrNode *concat = ir_match_node (match, "p");
  int rank = ir_value_rank (x);

  if (rank < 1 || !ir_dim_is_known (x->type->dims[rank - 1]))
    return ir_match_fail (match, "the size of the last axis of %s is not known", x->name);
  gint64 size = x->type->dims[rank - 1], last[] = { size / 2, 2 };
  if (size < 2 || size % 2 != 0)
    return ir_match_fail (match, "the last axis of %s has no pairs", x->name);
  if (concat->n_inputs != 2 || !is_last_axis (ir_node_attr_int (concat, "axis", 0), rank + 1) ||
      !is_like (concat->outputs[0]->type, x->type, 2, last))
    return ir_match_fail (match, "%s does not put pairs together", concat->outputs[0]->name);
  return ir_types_identical (whole->type, x->type) ||
         ir_match_fail (match, "%s is not known to have the shape of %s", whole->name, x->name);
}

static gboolean
neighbours_fit (IrMatch *match)
{
  const IrValue *x = ir_match_value (match, "x");
  Member first = { .x = x, .part = 1 }, second = { .x = x, .part = 0 };

  if (!pairs_fit (match, x, ir_match_node (match, "r")->outputs[0]))
    return FALSE;
  if (!is_column (&first, ir_match_value (match, "b")) || !first.negated)
    return ir_match_fail (match, "%s is not the second of each pair of %s, negated",
                          ir_match_value (match, "b")->name, x->name);
  if (!is_column (&second, ir_match_value (match, "a")) || second.negated)
    return ir_match_fail (match, "%s is not the first of each pair of %s",
                          ir_match_value (match, "a")->name, x->name);
  return TRUE;
}

static gboolean
when_standard_pairs (IrMatch *match)
{
  return neighbours_fit (match) && angles_fit (match, "c") && angles_fit (match, "s") &&
         ir_match_opset_between (match, 23, 0) &&
         (is_standard (match, TRUE) ||
          ir_match_fail (match, "cosines and sines are not constants for positions alone"));
}

static gboolean
when_late_pairs (IrMatch *match)
{
  return neighbours_fit (match) && angles_fit (match, "c") && angles_fit (match, "s") &&
         ir_match_opset_between (match, 13, 0) && ir_match_is_float32 (match) &&
         (!is_standard (match, TRUE) ||
          ir_match_fail (match, "the standard has an operator for it"));
}

static gboolean
prepare_pairs (IrMatch *match)
{
  return bind_angles (match, ir_match_value (match, "x")->type, 2);
}

/* -- neighbours as complex numbers: constants [.., half] -- */

/* What @a and @b are the two of each pair of; NULL if nothing. */
static IrValue *
whole_of (const IrValue *a, const IrValue *b)
{
  const IrNode *node = a->producer;
  Member first = { .part = 0 }, second = { .part = 1 };

  if (node != NULL && ir_op_is (node, IR_OP_SQUEEZE) && node->inputs[0]->producer != NULL)
    node = node->inputs[0]->producer;
  if (node == NULL || node->n_inputs == 0 || node->inputs[0] == NULL)
    return NULL;
  IrValue *x = node->inputs[0];
  if (x->producer != NULL && ir_op_is (x->producer, IR_OP_RESHAPE) &&
      x->producer->inputs[0] != NULL && ir_value_rank (x) == ir_value_rank (a) + 1)
    x = x->producer->inputs[0];
  if (ir_value_rank (x) < 1 || !ir_dim_is_known (x->type->dims[x->type->rank - 1]))
    return NULL;
  first.x = second.x = x;
  return is_flat (&first, a) && !first.negated && is_flat (&second, b) && !second.negated ? x
                                                                                          : NULL;
}

/* Constants that broadcast to the halves of @x without making them bigger. */
static gboolean
half_angles_fit (IrMatch *match, const char *variable, const IrType *x)
{
  const IrTensor *tensor = ir_match_constant (match, variable);
  guint rank = tensor != NULL ? ir_tensor_rank (tensor) : 0;

  if (rank < 1 || rank > (guint) x->rank || ir_tensor_dtype (tensor) != IR_DTYPE_FLOAT ||
      ir_tensor_dims (tensor)[rank - 1] != x->dims[x->rank - 1] / 2)
    return ir_match_fail (match, "there is not one cosine and sine per pair");
  for (guint i = 0; i + 1 < rank; i++)
    {
      gint64 dim = ir_tensor_dims (tensor)[i];
      if (dim != 1 && dim != x->dims[(guint) x->rank - rank + i])
        return ir_match_fail (match, "the cosines or sines may make the result bigger");
    }
  return TRUE;
}

static gboolean
complex_fit (IrMatch *match)
{
  const IrValue *x = whole_of (ir_match_value (match, "a"), ir_match_value (match, "b"));
  gint64 axes[2];

  if (x == NULL)
    return ir_match_fail (match, "%s and %s are not the two of each pair of one value",
                          ir_match_value (match, "a")->name, ir_match_value (match, "b")->name);
  if (!constant_is (ir_match_node (match, "u"), 1, &axes[0]) ||
      !constant_is (ir_match_node (match, "v"), 1, &axes[1]) ||
      !is_last_axis (axes[0], x->type->rank + 1) || !is_last_axis (axes[1], x->type->rank + 1))
    return ir_match_fail (match, "the new axes are not behind the others");
  return pairs_fit (match, x, ir_match_root (match)->outputs[0]) &&
         half_angles_fit (match, "c", x->type) && half_angles_fit (match, "s", x->type);
}

static gboolean
is_standard_complex (IrMatch *match)
{
  const IrType *x = whole_of (ir_match_value (match, "a"), ir_match_value (match, "b"))->type;

  return is_standard_type (match, x) &&
         has_rows (ir_match_constant (match, "c"), x, x->dims[3] / 2) &&
         has_rows (ir_match_constant (match, "s"), x, x->dims[3] / 2);
}

static gboolean
when_standard_complex (IrMatch *match)
{
  return complex_fit (match) && ir_match_opset_between (match, 23, 0) &&
         (is_standard_complex (match) ||
          ir_match_fail (match, "cosines and sines are not for positions alone"));
}

static gboolean
when_late_complex (IrMatch *match)
{
  return complex_fit (match) && ir_match_opset_between (match, 13, 0) &&
         ir_match_is_float32 (match) &&
         (!is_standard_complex (match) ||
          ir_match_fail (match, "the standard has an operator for it"));
}

static IrValue *
bind_whole (IrMatch *match)
{
  IrValue *x = whole_of (ir_match_value (match, "a"), ir_match_value (match, "b"));

  ir_match_bind_value (match, "x", x);
  return x;
}

static gboolean
prepare_standard_complex (IrMatch *match)
{
  return bind_angles (match, bind_whole (match)->type, 1);
}

static gboolean
prepare_late_complex (IrMatch *match)
{
  bind_whole (match);
  return bind_angles (match, NULL, 0);
}

#define PATTERN(C, S) "(Add (Mul ?x " C ") (Mul (Concat@r (Neg ?b) ?a) " S "))"
#define HEAD(OPSET)   "<ir_version: 10, opset_import: [\"\" : " OPSET ", \"irscope\" : 1]>\ng "
#define REST                                                                                       \
  "o = Neg (b)  r = Concat <axis: int = -1> (o, a)  p = Mul (x, C)  q = Mul (r, S)  y = Add (p, q) }"
#define X_SLICES                                                                                   \
  "z = Constant <value = int64[1] {0}> ()  h = Constant <value = int64[1] {2}> ()  e = Constant "  \
  "<value = int64[1] {9223372036854775807}> ()  l = Constant <value = int64[1] {3}> ()  "          \
  "a = Slice (x, z, h, l)  b = Slice (x, h, e, l)  "
#define X_SPLIT "h = Constant <value = int64[2] {2,2}> ()  a, b = Split <axis: int = -1> (x, h)  "
#define X_CACHES                                                                                   \
  "C = Constant <value = float[3,4] {1,2,1,2,3,4,3,4,5,6,5,6}> ()  "                               \
  "S = Constant <value = float[1,1,3,4] {2,1,2,1,4,3,4,3,6,5,6,5}> ()  "

#define PAIRS(C, S) "(Add (Mul ?x " C ") (Mul (Reshape@r (Concat@p ?b ?a) ?shape) " S "))"
#define COMPLEX                                                                                    \
  "(Reshape (Concat@p (Unsqueeze@u (Sub (Mul ?a ?c:const) (Mul ?b ?s:const)) ?m) "                 \
  "(Unsqueeze@v (Add (Mul ?a ?s) (Mul ?b ?c)) ?n)) ?shape)"
#define X_NEIGHBOURS                                                                               \
  "z = Constant <value = int64[1] {0}> ()  i = Constant <value = int64[1] {1}> ()  e = Constant "  \
  "<value = int64[1] {9223372036854775807}> ()  l = Constant <value = int64[1] {-1}> ()  t = "     \
  "Constant <value = int64[1] {2}> ()  a = Slice (x, z, e, l, t)  b = Slice (x, i, e, l, t)  "
#define X_PAIRS                                                                                    \
  "l = Constant <value = int64[1] {-1}> ()  d = Constant <value = int64[5] {0, 0, 0, -1, 2}> ()  " \
  "k = Constant <value = int64[2] {1, 1}> ()  w = Reshape (x, d)  ac, bc = Split <axis: int = -1>" \
  " (w, k)  a = Squeeze (ac, l)  b = Squeeze (bc, l)  "
#define REST_PAIRS                                                                                 \
  "o = Neg (b)  bu = Unsqueeze (o, l)  au = Unsqueeze (a, l)  m = Concat <axis: int = -1> (bu, "   \
  "au)  h = Shape (x)  r = Reshape (m, h)  p = Mul (x, C)  q = Mul (r, S)  y = Add (p, q) }"
#define REST_COMPLEX                                                                               \
  "f = Mul (a, C)  g = Mul (b, S)  o = Sub (f, g)  p = Mul (a, S)  q = Mul (b, C)  r = Add (p, q)" \
  "  ou = Unsqueeze (o, l)  ru = Unsqueeze (r, l)  m = Concat <axis: int = -1> (ou, ru)  h = "     \
  "Shape (x)  y = Reshape (m, h) }"
#define X_PAIR_CACHES                                                                              \
  "C = Constant <value = float[3,4] {1,1,2,2,3,3,4,4,5,5,6,6}> ()  "                               \
  "S = Constant <value = float[1,1,3,4] {2,2,1,1,4,4,3,3,6,6,5,5}> ()  "

static const IrRule rules[] = {
  { "fuse-rotary", PATTERN ("?c:const", "?s:const"), "(RotaryEmbedding ?x ?cos ?sin)",
    IR_CLASS_ROUNDING, "A rotary embedding with constants for the positions is RotaryEmbedding.",
    HEAD ("23") "(float[2,3,3,4] x) => (float[2,3,3,4] y) { " X_CACHES X_SLICES REST, when_standard,
    prepare_caches },
  { "fuse-late-rotary", PATTERN ("?c", "?s"), "(irscope.RotaryEmbedding ?x ?c ?s)",
    IR_CLASS_ROUNDING,
    "A rotary embedding is one operator of irscope, unless the standard's says the same.",
    HEAD ("17") "(float[n,2,3,4] x, float[3,4] C, float[1,1,3,4] S) => (float[n,2,3,4] y) "
                "{ " X_SPLIT REST,
    when_late },
  { "fuse-pair-rotary", PAIRS ("?c:const", "?s:const"),
    "(RotaryEmbedding{interleaved=1} ?x ?cos ?sin)", IR_CLASS_ROUNDING,
    "A rotary embedding of neighbours with constants for the positions is RotaryEmbedding.",
    HEAD ("23") "(float[2,3,3,4] x) => (float[2,3,3,4] y) { " X_PAIR_CACHES X_NEIGHBOURS REST_PAIRS,
    when_standard_pairs, prepare_pairs },
  { "fuse-late-pair-rotary", PAIRS ("?c", "?s"), "(irscope.PairRotaryEmbedding ?x ?c ?s)",
    IR_CLASS_ROUNDING,
    "A rotary embedding of neighbours is one operator of irscope, unless the standard's says the "
    "same.",
    HEAD ("17") "(float[n,3,2,4] x, float[3,1,4] C, float[1,3,1,4] S) => (float[n,3,2,4] y) "
                "{ " X_NEIGHBOURS REST_PAIRS,
    when_late_pairs },
  { "fuse-complex-rotary", COMPLEX, "(RotaryEmbedding{interleaved=1} ?x ?cos ?sin)",
    IR_CLASS_ROUNDING,
    "Pairs that are multiplied as complex numbers by constants for the positions are "
    "RotaryEmbedding.",
    HEAD ("23") "(float[2,2,3,4] x, float[3,2] C, float[1,1,3,2] S) => (float[2,2,3,4] y) "
                "{ " X_PAIRS REST_COMPLEX,
    when_standard_complex, prepare_standard_complex },
  { "fuse-late-complex-rotary", COMPLEX, "(irscope.PairRotaryEmbedding ?x ?cos ?sin)",
    IR_CLASS_ROUNDING,
    "Pairs that are multiplied as complex numbers by constants are one operator of irscope, unless "
    "the standard's says the same.",
    HEAD ("17") "(float[n,2,3,4] x, float[3,2] C, float[1,1,3,2] S) => (float[n,2,3,4] y) "
                "{ " X_PAIRS REST_COMPLEX,
    when_late_complex, prepare_late_complex },
  { NULL },
};

const IrPass ir_pass_fuse_rotary = {
  .name = "fuse-rotary",
  .title = "Fuse rotary embeddings",
  .doc = "x * cos + Concat (-second half, first half) * sin becomes one operator: the standard one "
         "if the opset has it and the angles are constants, else one of irscope. So do neighbours "
         "that are turned against each other.",
  .source = "Su and others 2021; ONNX Runtime RotaryEmbeddingFusion",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Slice, Slice, Neg, Concat, Mul, Mul, Add -> y\nx -> RotaryEmbedding -> y",
  .rules = rules,
};
