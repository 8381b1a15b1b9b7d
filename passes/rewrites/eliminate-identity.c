/* Removes nodes that hand their input on unchanged:
 *
 *     x --Identity--> y     x --Mul 1--> y     x --Reshape to its own shape--> y        x
 *
 * A unit (1, 0, all pads 0) must not make the result bigger by broadcasting. x + 0 is no identity:
 * -0 + 0 is +0, so it counts as rounding; x - (+0) and x + (-0) are exact. Names of graph outputs
 * stay: where both ends have one, the node stays. Source: onnx/optimizer eliminate_nop_*; ONNX
 * Runtime EliminateIdentity, EliminateDropout, NoopElimination. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

/* -- conditions -- */

static gboolean
when_same_shape (IrMatch *match)
{
  const IrValue *x = ir_match_value (match, "x");
  const IrValue *y = ir_match_root (match)->outputs[0];

  if (y == NULL || !ir_types_identical (x->type, y->type))
    return ir_match_fail (match, "%s and the result do not provably have the same shape", x->name);
  return TRUE;
}

static gboolean
when_same_dtype (IrMatch *match)
{
  IrDtype from = ir_value_dtype (ir_match_value (match, "x"));
  gint64 to = ir_node_attr_int (ir_match_root (match), "to", IR_DTYPE_UNDEFINED);

  if (from == IR_DTYPE_UNDEFINED || to != (gint64) from)
    return ir_match_fail (match, "the cast is from %s to another type", ir_dtype_name (from));
  return TRUE;
}

/* The integers of input @slot, or of attribute @attr where an old opset has them there. */
static gboolean
all_ints_are (const IrNode *node, guint slot, const char *attr, gint64 wanted)
{
  const IrValue *value = ir_node_input (node, slot);
  const IrTensor *tensor = value != NULL ? ir_value_constant (value) : NULL;
  guint n = 0;
  const gint64 *ints = NULL;

  if (value != NULL && tensor == NULL)
    return FALSE;
  if (tensor != NULL)
    {
      for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
        if (ir_tensor_get_int64 (tensor, i) != wanted)
          return FALSE;
      return TRUE;
    }
  ints = attr != NULL ? ir_node_attr_ints (node, attr, &n) : NULL;
  for (guint i = 0; i < n; i++)
    if (ints[i] != wanted)
      return FALSE;
  return TRUE;
}

static gboolean
when_no_pads (IrMatch *match)
{
  const IrNode *pad = ir_match_root (match);

  if (pad->n_inputs < 2 && ir_node_attr (pad, "pads") == NULL)
    return ir_match_fail (match, "the pads are not known");
  if (!all_ints_are (pad, 1, "pads", 0))
    return ir_match_fail (match, "some pad is not 0, or not constant");
  return when_same_shape (match);
}

static gboolean
when_steps_forward (IrMatch *match)
{
  if (!all_ints_are (ir_match_root (match), 4, NULL, 1))
    return ir_match_fail (match, "some step is not 1, or not constant");
  return when_same_shape (match);
}

static gboolean
when_one_input (IrMatch *match)
{
  if (ir_match_root (match)->n_inputs != 1)
    return ir_match_fail (match, "there are several inputs");
  return TRUE;
}

static gboolean
when_one_output (IrMatch *match)
{
  if (ir_match_root (match)->n_outputs != 1)
    return ir_match_fail (match, "there are several outputs");
  return when_same_shape (match);
}

static gboolean
when_identity_permutation (IrMatch *match)
{
  const IrNode *node = ir_match_root (match);
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (node, "perm", &n);

  if (perm == NULL && !(ir_value_rank (ir_match_value (match, "x")) >= 0 &&
                        ir_value_rank (ir_match_value (match, "x")) <= 1))
    return ir_match_fail (match, "the axes are reversed");
  for (guint i = 0; i < n; i++)
    if (perm[i] != i)
      return ir_match_fail (match, "axis %u becomes axis %d", (guint) perm[i], i);
  return TRUE;
}

static gboolean
when_idempotent (IrMatch *match)
{
  const IrNode *root = ir_match_root (match);
  const IrNode *before = ir_match_value (match, "x")->producer;

  if (before == NULL || before->op != root->op)
    return ir_match_fail (match, "%s does not come from the same operator",
                          ir_match_value (match, "x")->name);
  if (root->op == NULL || !(root->op->flags & IR_OP_IDEMPOTENT))
    return ir_match_fail (match, "%s is not idempotent", root->op_type);
  return TRUE;
}

static gboolean
when_involution (IrMatch *match)
{
  const IrNode *root = ir_match_root (match), *inner = ir_match_node (match, "inner");

  if (root->op == NULL || root->op != inner->op || !(root->op->flags & IR_OP_INVOLUTION))
    return ir_match_fail (match, "the two do not undo each other");
  return TRUE;
}

/* Until opset 6 is_test says it, from 12 the third input, in between Dropout is for inference. */
static gboolean
when_inference (IrMatch *match)
{
  const IrNode *dropout = ir_match_root (match);
  const IrValue *training = ir_node_input (dropout, 2), *mask = ir_node_output (dropout, 1);
  const IrTensor *constant = training != NULL ? ir_value_constant (training) : NULL;

  if (ir_node_opset (dropout) < 7 && ir_node_attr_int (dropout, "is_test", 0) == 0)
    return ir_match_fail (match, "Dropout is in training mode (is_test is 0)");
  if (training != NULL && (constant == NULL || ir_tensor_get_int64 (constant, 0) != 0))
    return ir_match_fail (match, "Dropout may be in training mode");
  if (mask != NULL && mask->n_uses > 0 &&
      (!ir_type_is_static (mask->type) || mask->type->dtype != IR_DTYPE_BOOL))
    return ir_match_fail (match, "the mask is used and its shape is not known");
  return TRUE;
}

/* The mask of inference keeps everything. */
static gboolean
prepare_mask (IrMatch *match)
{
  const IrValue *mask = ir_node_output (ir_match_root (match), 1);
  IrTensor *tensor;

  if (mask == NULL || mask->n_uses == 0)
    return TRUE;
  tensor = ir_tensor_new_alloc (IR_DTYPE_BOOL, mask->type->rank, mask->type->dims, NULL);
  if (tensor == NULL)
    return ir_match_fail (match, "not enough memory for the mask");
  memset (ir_tensor_data_writable (tensor), 1, ir_tensor_n_bytes (tensor));
  ir_match_bind_tensor (match, "mask", "mask", tensor);
  return TRUE;
}

#define FLOATS(BODY)       "(float[n,4] x) => (float[n,4] y) { " BODY " }"
#define CONST(TYPE, VALUE) "c = Constant <value = " TYPE " {" VALUE "}> ()  "

static const IrRule rules[] = {
  { "identity", "(Identity ?x)", "?x", IR_CLASS_EXACT, "An Identity hands its input on.",
    FLOATS ("a = Relu (x)  b = Identity (a)  y = Neg (b)") },
  { "dropout", "(Dropout ?x ?*options)", "?x ?mask", IR_CLASS_EXACT,
    "Dropout does nothing in inference; its mask, if it is used, is all true.",
    FLOATS ("a = Relu (x)  b = Dropout (a)  y = Neg (b)"), when_inference, prepare_mask },
  { "cast-to-same", "(Cast ?x)", "?x", IR_CLASS_EXACT, "A cast to the type that is there already.",
    FLOATS ("a = Relu (x)  b = Cast <to: int = 1> (a)  y = Neg (b)"), when_same_dtype },
  { "reshape-to-same", "(Reshape|Flatten|Expand|Tile ?x ?*shape)", "?x", IR_CLASS_EXACT,
    "A Reshape, Flatten, Expand or Tile to the shape that is there already.",
    FLOATS ("a = Relu (x)  b = Flatten (a)  y = Neg (b)"), when_same_shape },
  { "transpose-nothing", "(Transpose ?x)", "?x", IR_CLASS_EXACT,
    "A Transpose that leaves every axis where it is.",
    FLOATS ("a = Relu (x)  b = Transpose <perm: ints = [0,1]> (a)  y = Neg (b)"),
    when_identity_permutation },
  { "pad-nothing", "(Pad ?x ?*pads)", "?x", IR_CLASS_EXACT, "A Pad by nothing.",
    FLOATS ("p = Constant <value = int64[4] {0,0,0,0}> ()  a = Relu (x)  b = Pad (a, p)  y = Neg "
            "(b)"),
    when_no_pads },
  { "slice-everything", "(Slice ?x ?*ranges)", "?x", IR_CLASS_EXACT, "A Slice that takes all.",
    FLOATS ("s = Constant <value = int64[1] {0}> ()  e = Constant <value = int64[1] "
            "{9223372036854775807}> ()  a = Relu (x)  b = Slice (a, s, e)  y = Neg (b)"),
    when_steps_forward },
  { "concat-of-one", "(Concat|Sum|Max|Min|Mean ?x)", "?x", IR_CLASS_EXACT,
    "A Concat, Sum, Max, Min or Mean of one value.",
    FLOATS ("a = Relu (x)  b = Concat <axis: int = 1> (a)  y = Neg (b)"), when_one_input },
  { "split-in-one", "(Split ?x ?*sizes)", "?x", IR_CLASS_EXACT, "A Split into one part.",
    FLOATS ("a = Relu (x)  b = Split <axis: int = 1> (a)  y = Neg (b)"), when_one_output },
  { "mul-one", "(Mul ?x 1)", "?x", IR_CLASS_EXACT, "x * 1 is x.",
    FLOATS (CONST ("float", "1.0") "a = Relu (x)  b = Mul (c, a)  y = Neg (b)") },
  { "div-one", "(Div ?x 1)", "?x", IR_CLASS_EXACT, "x / 1 is x.",
    FLOATS (CONST ("float", "1.0") "a = Relu (x)  b = Div (a, c)  y = Neg (b)") },
  { "pow-one", "(Pow ?x 1)", "?x", IR_CLASS_EXACT, "x to the power of 1 is x.",
    FLOATS (CONST ("float", "1.0") "a = Relu (x)  b = Pow (a, c)  y = Neg (b)") },
  { "sub-zero", "(Sub ?x +0)", "?x", IR_CLASS_EXACT, "x - (+0) is x, for -0 too.",
    FLOATS (CONST ("float", "0.0") "a = Neg (x)  b = Sub (a, c)  y = Abs (b)") },
  { "add-negative-zero", "(Add ?x -0)", "?x", IR_CLASS_EXACT, "x + (-0) is x, for -0 too.",
    FLOATS (CONST ("float", "-0.0") "a = Neg (x)  b = Add (a, c)  y = Abs (b)") },
  { "add-zero-integer", "(Add ?x:int 0)", "?x", IR_CLASS_EXACT, "x + 0 is x for integers.",
    "(int64[n,4] x) => (int64[n,4] y) { " CONST ("int64",
                                                 "0") "a = Neg (x)  b = Add (c, a)  y = Abs "
                                                      "(b) }" },
  { "add-zero", "(Add ?x:float 0)", "?x", IR_CLASS_ROUNDING,
    "x + 0 is x but for -0, which becomes +0.",
    FLOATS (CONST ("float", "0.0") "a = Neg (x)  b = Add (c, a)  y = Abs (b)") },
  { "and-true", "(And ?x 1)", "?x", IR_CLASS_EXACT, "x and true is x.",
    "(bool[n,4] x) => (bool[n,4] y) { " CONST ("bool",
                                               "1") "a = Not (x)  b = And (a, c)  d = Or (b, "
                                                    "a)  y = Not (d) }" },
  { "or-false", "(Or ?x 0)", "?x", IR_CLASS_EXACT, "x or false is x.",
    "(bool[n,4] x) => (bool[n,4] y) { " CONST ("bool",
                                               "0") "a = Not (x)  b = Or (a, c)  d = And (b, "
                                                    "a)  y = Not (d) }" },
  { "idempotent", "(Abs|Ceil|Floor|Relu|Round|Sign ?x)", "?x", IR_CLASS_EXACT,
    "The second of two Abs, Ceil, Floor, Relu, Round or Sign does nothing.",
    FLOATS ("a = Relu (x)  b = Relu (a)  y = Neg (b)"), when_idempotent },
  { "involution", "(Neg|Not|BitwiseNot (Neg|Not|BitwiseNot@inner:shared ?x))", "?x", IR_CLASS_EXACT,
    "Two Neg or two Not undo each other.",
    FLOATS ("a = Relu (x)  b = Neg (a)  c = Neg (b)  y = Abs (c)"), when_involution },
  { NULL },
};

const IrPass ir_pass_eliminate_identity = {
  .name = "eliminate-identity",
  .title = "Eliminate identities",
  .doc = "Removes nodes that hand their input on unchanged: Identity, Dropout in inference, casts "
         "and reshapes to what is there already, x * 1, x - 0, two Neg in a row.",
  .source = "onnx/optimizer eliminate_nop_*; ONNX Runtime EliminateIdentity, NoopElimination",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Mul 1 -> y -> ...\nx -> ...",
  .rules = rules,
};
