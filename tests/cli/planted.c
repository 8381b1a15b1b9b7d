/* The passes of irscope, and some that are wrong on purpose: linked instead of passes/pipeline/registry.c
 * into a program that only tests have. Bisection, proof and reproducer must find each of them. */
#include "config.h"

#include "passes/rule/rule.h"

#include <string.h>

/* -- wrong rules; each leaves something alone that makes it right -- */

/* Small numbers where zeros were. */
static const IrRule leak[] = {
  { "wrong-leak", "(Relu ?x)", "(LeakyRelu ?x)", IR_CLASS_ROUNDING,
    "Wrong on purpose: lets a hundredth of negative numbers through." },
  { NULL },
};

/* An activation that is dropped. */
static const IrRule drop[] = {
  { "wrong-relu", "(Relu ?x)", "?x", IR_CLASS_EXACT, "Wrong on purpose: drops Relu." },
  { NULL },
};

/* NaN where numbers were. */
static const IrRule nan_maker[] = {
  { "wrong-log", "(Softmax ?x)", "(Log (Neg (Sigmoid ?x)))", IR_CLASS_EXACT,
    "Wrong on purpose: the logarithm of negative numbers." },
  { NULL },
};

/* The sides of a sum, one with the wrong sign. */
static const IrRule sign[] = {
  { "wrong-sign", "(Add ?x ?y)", "(Sub ?x ?y)", IR_CLASS_EXACT, "Wrong on purpose: a minus." },
  { NULL },
};

/* The axis of a Softmax. */
static const IrRule axis[] = {
  { "wrong-softmax", "(Softmax ?x)", "(Sigmoid ?x)", IR_CLASS_EXACT,
    "Wrong on purpose: forgets the sum." },
  { NULL },
};

/* clang-format off */
#define PLANTED(NAME, RULES) \
  { .name = NAME, .title = NAME, .doc = "Wrong on purpose.", .source = "tests", \
    .step_class = IR_CLASS_ROUNDING, .rules = RULES }
/* clang-format on */

static const IrPass planted[] = {
  PLANTED ("plant-leak", leak), PLANTED ("plant-relu", drop),    PLANTED ("plant-nan", nan_maker),
  PLANTED ("plant-sign", sign), PLANTED ("plant-softmax", axis),
};

/* -- the registry -- */

#define IR_PASS(NAME) extern const IrPass ir_pass_##NAME;
#include "passes/passes.def"

static const IrPass *const passes[] = {
#define IR_PASS(NAME) &ir_pass_##NAME,
#include "passes/passes.def"
  &planted[0], &planted[1], &planted[2], &planted[3], &planted[4],
};

const IrPass *const *
ir_passes (guint *n)
{
  *n = G_N_ELEMENTS (passes);
  return passes;
}

const IrPass *
ir_pass_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (passes); i++)
    if (strcmp (passes[i]->name, name) == 0)
      return passes[i];
  return NULL;
}
