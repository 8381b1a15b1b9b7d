/* Rotary embeddings of positions that a transformer spells out:
 *
 *     a, b = the halves of x along the last axis
 *     y = x * c + Concat (-b, a) * s                            y = RotaryEmbedding (x, c, s)
 *
 * The halves come from two Slices or from one Split. The standard operator, where the opset has it
 * (23), has one cosine per pair and position of each sample; it is taken where c and s are
 * constants that say no more. Else irscope's own, which takes them as they are. The kernels may
 * contract a product and a sum: rounding. Source: Su and others 2021 (RoFormer); ONNX Runtime
 * RotaryEmbeddingFusion; Hugging Face's rotate_half. */
#include "config.h"

#include "passes/norm-match.h"
#include "passes/step.h"

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

  if (!ir_node_is (node, "Slice") || node->inputs[0] != x || ir_node_opset (node) < 10 ||
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

  return ir_node_is (node, "Split") && node->inputs[0] == x && node->n_outputs == 2 &&
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

/* Whether @tensor, which broadcasts to @x, is the same in all heads and in both halves. */
static gboolean
is_cache (const IrTensor *tensor, const IrType *x)
{
  guint rank = tensor != NULL ? ir_tensor_rank (tensor) : 0;
  gsize size = (gsize) x->dims[3] / 2 * sizeof (float);

  if (tensor == NULL || rank < 2 || rank > 4 || ir_tensor_dtype (tensor) != IR_DTYPE_FLOAT ||
      (rank > 2 && ir_tensor_dims (tensor)[rank - 3] != 1) ||
      ir_tensor_dims (tensor)[rank - 2] != x->dims[2])
    return FALSE;
  for (guint64 row = 0; row < ir_tensor_n_elements (tensor) / (guint64) x->dims[3]; row++)
    {
      const guint8 *from = (const guint8 *) ir_tensor_data (tensor) + row * 2 * size;
      if (memcmp (from, from + size, size) != 0)
        return FALSE;
    }
  return TRUE;
}

static gboolean
is_standard (IrMatch *match)
{
  const IrType *x = ir_match_value (match, "x")->type;

  return ir_node_opset (ir_match_root (match)) >= 23 && x->rank == 4 &&
         x->dtype == IR_DTYPE_FLOAT && ir_dim_is_known (x->dims[0]) && x->dims[0] > 0 &&
         ir_dim_is_known (x->dims[2]) && x->dims[2] > 0 &&
         is_cache (ir_value_constant (ir_match_value (match, "c")), x) &&
         is_cache (ir_value_constant (ir_match_value (match, "s")), x);
}

/* The first halves, for each sample of the batch. */
static IrTensor *
cache_of (const IrTensor *tensor, const IrType *x)
{
  gint64 half = x->dims[3] / 2, n = x->dims[2], dims[] = { x->dims[0], n, half };
  gboolean repeats = ir_tensor_rank (tensor) < 4 || ir_tensor_dims (tensor)[0] == 1;
  IrTensor *cache = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 3, dims, NULL);

  for (gint64 i = 0; cache != NULL && i < x->dims[0] * n; i++)
    memcpy ((float *) ir_tensor_data_writable (cache) + i * half,
            (const float *) ir_tensor_data (tensor) + (repeats ? i % n : i) * 2 * half,
            sizeof (float) * (gsize) half);
  return cache;
}

static gboolean
when_standard (IrMatch *match)
{
  return halves_fit (match) && angles_fit (match, "c") && angles_fit (match, "s") &&
         ir_match_opset_between (match, 23, 0) &&
         (is_standard (match) ||
          ir_match_fail (match, "cosines and sines are not constants for positions alone"));
}

static gboolean
when_late (IrMatch *match)
{
  return halves_fit (match) && angles_fit (match, "c") && angles_fit (match, "s") &&
         ir_match_opset_between (match, 13, 0) && ir_match_is_float32 (match) &&
         (!is_standard (match) || ir_match_fail (match, "the standard has an operator for it"));
}

static gboolean
prepare_caches (IrMatch *match)
{
  const IrType *x = ir_match_value (match, "x")->type;
  IrTensor *cos = cache_of (ir_match_constant (match, "c"), x);
  IrTensor *sin = cache_of (ir_match_constant (match, "s"), x);

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
  { NULL },
};

const IrPass ir_pass_fuse_rotary = {
  .name = "fuse-rotary",
  .title = "Fuse rotary embeddings",
  .doc = "x * cos + Concat (-second half, first half) * sin becomes one operator: the standard one "
         "if the opset has it and the angles are constants, else one of irscope.",
  .source = "Su and others 2021; ONNX Runtime RotaryEmbeddingFusion",
  .step_class = IR_CLASS_ROUNDING,
  .needs = "shapes",
  .breaks = "schedule memplan",
  .before_after = "x -> Slice, Slice, Neg, Concat, Mul, Mul, Add -> y\nx -> RotaryEmbedding -> y",
  .rules = rules,
};
