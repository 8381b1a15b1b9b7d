/* The double where. What a choice leaves out has a slope all the same, and 0 times an infinite one is
 * NaN; so what is not chosen is computed from a harmless number:
 *
 *     Where (c, Sqrt (x), y)      Where (c, Sqrt (Where (c, x, 0.5)), y)
 *
 * 0.5 lies within the domain of all these functions. What is chosen stays as it is, bit for bit.
 *
 * Source: the guide of jax.numpy.where, "double where"; jax#1052; pytorch#68425. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define HARMLESS 0.5

static gboolean
when_not_guarded (IrMatch *match)
{
  const IrValue *x = ir_match_value (match, "x");
  const IrNode *before = x->producer;

  if (!ir_dtype_is_float (ir_value_dtype (x)))
    return ir_match_fail (match, "%s is not floating-point", x->name);
  if (!ir_types_identical (x->type, ir_match_root (match)->outputs[0]->type))
    return ir_match_fail (match, "the result does not provably have the shape of %s", x->name);
  if (before != NULL && ir_node_is (before, "Where") &&
      before->inputs[0] == ir_match_value (match, "c"))
    return ir_match_fail (match, "%s is chosen by the same condition already", x->name);
  return TRUE;
}

static gboolean
prepare_harmless (IrMatch *match)
{
  IrDtype dtype = ir_value_dtype (ir_match_value (match, "x"));

  ir_match_bind_tensor (match, "half", "harmless", ir_tensor_new_scalar (dtype, HARMLESS));
  return TRUE;
}

#define EXAMPLE(BODY) "(bool[n,4] c, float[n,4] x, float[n,4] z) => (float[n,4] y) { " BODY " }"

/* On either side of the choice. */
#define GUARD(NAME, OP, BEFORE, BEHIND, DOC, EXAMPLE_FIRST, EXAMPLE_SECOND)                        \
  { "guard-" NAME,                                                                                 \
    "(Where ?c (" OP BEFORE " ?x" BEHIND ") ?y)",                                                  \
    "(Where ?c (" OP BEFORE " (Where ?c ?x ?half)" BEHIND ") ?y)",                                 \
    IR_CLASS_EXACT,                                                                                \
    DOC,                                                                                           \
    EXAMPLE (EXAMPLE_FIRST),                                                                       \
    when_not_guarded,                                                                              \
    prepare_harmless },                                                                            \
  {                                                                                                \
    "guard-" NAME "-else", "(Where ?c ?y (" OP BEFORE " ?x" BEHIND "))",                           \
        "(Where ?c ?y (" OP BEFORE " (Where ?c ?half ?x)" BEHIND "))", IR_CLASS_EXACT, DOC,        \
        EXAMPLE (EXAMPLE_SECOND), when_not_guarded, prepare_harmless                               \
  }
#define UNARY(NAME, OP, DOC)                                                                       \
  GUARD (NAME, OP, "", "", DOC, "t = " OP " (x)  y = Where (c, t, z)",                             \
         "t = " OP " (x)  y = Where (c, z, t)")

static const IrRule rules[] = {
  UNARY ("sqrt", "Sqrt", "A root that is not chosen has an infinite slope at 0, and none below."),
  UNARY (
      "log", "Log", "A logarithm that is not chosen has an infinite slope at 0, and none below."),
  UNARY ("reciprocal", "Reciprocal", "An inverse that is not chosen has an infinite slope at 0."),
  UNARY ("exp", "Exp", "An exponential that is not chosen may overflow."),
  UNARY ("asin", "Asin", "An arc sine that is not chosen has an infinite slope at -1 and 1."),
  UNARY ("acos", "Acos", "An arc cosine that is not chosen has an infinite slope at -1 and 1."),
  UNARY ("atanh", "Atanh", "What is not chosen has an infinite slope at -1 and 1."),
  GUARD ("div",
         "Div",
         " ?a",
         "",
         "A quotient that is not chosen may be one by 0.",
         "t = Div (z, x)  y = Where (c, t, z)",
         "t = Div (z, x)  y = Where (c, z, t)"),
  GUARD ("pow",
         "Pow",
         "",
         " ?b",
         "A power that is not chosen may be of 0, or of a negative number.",
         "t = Pow (x, z)  y = Where (c, t, z)",
         "t = Pow (x, z)  y = Where (c, z, t)"),
  { NULL },
};

const IrPass ir_pass_guard_where = {
  .name = "guard-where",
  .title = "Guard what a choice leaves out",
  .doc =
      "A function whose slope may be infinite, and that a Where does not choose everywhere, gets "
      "a harmless input where it is not chosen: derivatives have no NaN of 0 times infinity then. "
      "The values of the forward part stay.",
  .source = "jax.numpy.where, double where; jax#1052; pytorch#68425",
  .step_class = IR_CLASS_EXACT,
  .before_after =
      "c, x -> Sqrt (x) -> Where (c, ., y)\nc, x -> Where (c, x, 0.5) -> Sqrt -> Where (c, ., y)",
  .rules = rules,
};
