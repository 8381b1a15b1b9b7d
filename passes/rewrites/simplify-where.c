/* Choices that are known, or asked the wrong way round:
 *
 *     Where (Not c, x, y)      Where (c, y, x)
 *     Where (c, x, x)          x                        if the shape stays
 *     Where (true, x, y)       x                        if the shape stays
 *     Not (Less (a, b))        GreaterOrEqual (a, b)    for integers: NaN is neither
 *
 * Source: ONNX Runtime NotWhereFusion; tinygrad symbolic; onnx/optimizer rewrite_where. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

static gboolean
keeps_type (IrMatch *match, const char *variable)
{
  if (!ir_types_identical (ir_match_value (match, variable)->type,
                           ir_match_root (match)->outputs[0]->type))
    return ir_match_fail (match, "the result does not provably have the shape of %s",
                          ir_match_value (match, variable)->name);
  return TRUE;
}

static gboolean
when_x_stays (IrMatch *match)
{
  return keeps_type (match, "x");
}

static gboolean
when_y_stays (IrMatch *match)
{
  return keeps_type (match, "y");
}

#define INTS(BODY)   "(int64[n,4] a, int64[n,4] b) => (bool[n,4] y) { " BODY " }"
#define CHOICE(BODY) "(bool[n,4] c, float[n,4] x, float[n,4] z) => (float[n,4] y) { " BODY " }"

static const IrRule rules[] = {
  { "where-not", "(Where (Not ?c) ?x ?y)", "(Where ?c ?y ?x)", IR_CLASS_EXACT,
    "A choice by a negation is the choice with its sides swapped.",
    CHOICE ("d = Not (c)  y = Where (d, x, z)") },
  { "where-same", "(Where ?c ?x ?x)", "?x", IR_CLASS_EXACT,
    "A choice between a value and itself is the value.",
    CHOICE ("a = Abs (x)  w = Where (c, a, a)  y = Add (w, z)"), when_x_stays },
  { "where-true", "(Where 1 ?x ?y)", "?x", IR_CLASS_EXACT, "A choice by true is the first.",
    CHOICE ("t = Constant <value = bool {1}> ()  a = Abs (x)  w = Where (t, a, z)  y = Neg (w)"),
    when_x_stays },
  { "where-false", "(Where 0 ?x ?y)", "?y", IR_CLASS_EXACT, "A choice by false is the second.",
    CHOICE ("t = Constant <value = bool {0}> ()  a = Abs (x)  w = Where (t, z, a)  y = Neg (w)"),
    when_y_stays },
  { "not-less", "(Not (Less ?a:int ?b))", "(GreaterOrEqual ?a ?b)", IR_CLASS_EXACT,
    "An integer that is not less is greater or equal.", INTS ("l = Less (a, b)  y = Not (l)") },
  { "not-greater", "(Not (Greater ?a:int ?b))", "(LessOrEqual ?a ?b)", IR_CLASS_EXACT,
    "An integer that is not greater is less or equal.", INTS ("l = Greater (a, b)  y = Not (l)") },
  { NULL },
};

const IrPass ir_pass_simplify_where = {
  .name = "simplify-where",
  .title = "Simplify choices",
  .doc = "Where by a constant, by a negation or between equal values, and negated comparisons of "
         "integers, become simpler.",
  .source = "ONNX Runtime NotWhereFusion; tinygrad symbolic",
  .step_class = IR_CLASS_EXACT,
  .before_after = "c -> Not -> Where (x, y)\nc -> Where (y, x)",
  .rules = rules,
};
