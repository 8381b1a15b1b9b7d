/* Casts:
 *
 *     x --Cast T--> --Cast U--> y        x --Cast U--> y       if T holds every value of x exactly
 *     x --Cast T--> --Cast type of x-->  x                     likewise
 *     CastLike (x, y)                    Cast{to} (x)           if the type of y is known
 *
 * float16 -> float -> float16 is x; float -> float16 -> float is not: the inner cast rounds.
 * Widening means that the inner type holds every value of the outer source. Source: ONNX Runtime
 * CastChainElimination; Grappler remove_redundant_cast. */
#include "config.h"

#include "passes/rule/rule.h"

/* Bits of the significand and of the exponent range of a type; 0 where it is not binary. */
typedef struct
{
  IrDtype dtype;
  guint digits; /* bits of an integer that are always exact */
  gint max_exponent, min_exponent;
  gboolean is_signed;
} Range;

static const Range ranges[] = {
  { IR_DTYPE_BOOL, 1, 1, 0, FALSE },          { IR_DTYPE_UINT8, 8, 8, 0, FALSE },
  { IR_DTYPE_UINT16, 16, 16, 0, FALSE },      { IR_DTYPE_UINT32, 32, 32, 0, FALSE },
  { IR_DTYPE_UINT64, 64, 64, 0, FALSE },      { IR_DTYPE_INT8, 7, 7, 0, TRUE },
  { IR_DTYPE_INT16, 15, 15, 0, TRUE },        { IR_DTYPE_INT32, 31, 31, 0, TRUE },
  { IR_DTYPE_INT64, 63, 63, 0, TRUE },        { IR_DTYPE_FLOAT16, 11, 16, -24, TRUE },
  { IR_DTYPE_BFLOAT16, 8, 128, -133, TRUE },  { IR_DTYPE_FLOAT, 24, 128, -149, TRUE },
  { IR_DTYPE_DOUBLE, 53, 1024, -1074, TRUE },
};

static const Range *
range_of (IrDtype dtype)
{
  for (guint i = 0; i < G_N_ELEMENTS (ranges); i++)
    if (ranges[i].dtype == dtype)
      return &ranges[i];
  return NULL;
}

/* Integers of the smallest negative value need one more exponent, which every wider type has. */
static gboolean
holds_all (IrDtype wide, IrDtype narrow)
{
  const Range *a = range_of (wide), *b = range_of (narrow);
  gboolean wide_is_integer = !ir_dtype_is_float (wide);

  if (a == NULL || b == NULL || wide == IR_DTYPE_BOOL)
    return wide == narrow && a != NULL;
  if (wide_is_integer && ir_dtype_is_float (narrow))
    return FALSE;
  return a->digits >= b->digits && a->max_exponent >= b->max_exponent &&
         a->min_exponent <= b->min_exponent && (a->is_signed || !b->is_signed);
}

static gboolean
when_inner_is_lossless (IrMatch *match)
{
  IrDtype from = ir_value_dtype (ir_match_value (match, "x"));
  IrDtype over = ir_value_dtype (ir_match_node (match, "inner")->outputs[0]);

  if (from == IR_DTYPE_UNDEFINED || !holds_all (over, from))
    return ir_match_fail (match, "%s does not hold every %s exactly", ir_dtype_name (over),
                          ir_dtype_name (from));
  return TRUE;
}

/* Text depends on the type of a number; and what an integer cannot hold becomes something else from
 * a float than from an integer. */
static gboolean
when_mergeable (IrMatch *match)
{
  IrDtype from = ir_value_dtype (ir_match_value (match, "x"));
  IrDtype over = ir_value_dtype (ir_match_node (match, "inner")->outputs[0]);
  IrDtype to = ir_value_dtype (ir_match_root (match)->outputs[0]);
  IrDtypeKind kind = ir_dtype_kind (to);

  if (to == IR_DTYPE_STRING)
    return ir_match_fail (match, "the text of a number depends on its type");
  if ((kind == IR_DTYPE_KIND_SINT || kind == IR_DTYPE_KIND_UINT) && ir_dtype_is_float (over) &&
      !holds_all (to, from))
    return ir_match_fail (match, "what %s does not hold becomes another one from %s than from %s",
                          ir_dtype_name (to), ir_dtype_name (over), ir_dtype_name (from));
  return when_inner_is_lossless (match);
}

static gboolean
when_back (IrMatch *match)
{
  IrDtype from = ir_value_dtype (ir_match_value (match, "x"));

  if (from != ir_value_dtype (ir_match_root (match)->outputs[0]))
    return ir_match_fail (match, "the second cast does not lead back to %s", ir_dtype_name (from));
  return when_inner_is_lossless (match);
}

static gboolean
when_type_is_known (IrMatch *match)
{
  IrDtype to = ir_value_dtype (ir_match_value (match, "like"));

  if (to == IR_DTYPE_UNDEFINED)
    return ir_match_fail (match, "the type of %s is not known",
                          ir_match_value (match, "like")->name);
  return TRUE;
}

static gboolean
prepare_to (IrMatch *match)
{
  IrContext *context = ir_match_context (match)->model->context;
  IrDtype to = ir_value_dtype (ir_match_value (match, "like"));

  ir_match_bind_attr (match, "to", ir_attr_int (context, "to", (gint64) to));
  return TRUE;
}

static const IrRule rules[] = {
  { "cast-like-known", "(CastLike@cast ?x ?like)", "(Cast{@cast,to=?to} ?x)", IR_CLASS_EXACT,
    "A CastLike whose type is known is a Cast, which does not wait for the other value.",
    "(double[n,4] x, float[n,4] z) => (float[n,4] y) { c = CastLike (x, z)  y = Add (c, z) }",
    when_type_is_known, prepare_to },
  { "cast-there-and-back", "(Cast (Cast@inner:shared ?x))", "?x", IR_CLASS_EXACT,
    "A cast to a wider type and back changes nothing.",
    "(float16[n,4] x) => (float16[n,4] y) { a = Cast <to: int = 1> (x)  b = Cast <to: int = 10> (a) "
    " y = Neg (b) }",
    when_back },
  { "merge-casts", "(Cast@outer (Cast@inner ?x))", "(Cast{@outer} ?x)", IR_CLASS_EXACT,
    "A cast to a wider type before another cast does not matter, but to text, or to integers that do "
    "not hold all values.",
    "(float16[n,4] x) => (double[n,4] y) { a = Cast <to: int = 1> (x)  y = Cast <to: int = 11> (a) "
    "}",
    when_mergeable },
  { NULL },
};

const IrPass ir_pass_merge_casts = {
  .name = "merge-casts",
  .title = "Merge casts",
  .doc =
      "Of two casts in a row the first goes away if it loses nothing, and both if they lead back; "
      "CastLike becomes Cast.",
  .source = "ONNX Runtime CastChainElimination; Grappler remove_redundant_cast",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Cast -> Cast -> y\nx -> Cast -> y",
  .rules = rules,
};
