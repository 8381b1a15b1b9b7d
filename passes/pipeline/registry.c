/* The passes that there are: passes.def is made by meson.build from its list of names. */
#include "config.h"

#include "passes/rule/rule.h"

#include <string.h>

#define IR_PASS(NAME) extern const IrPass ir_pass_##NAME;
#include "passes/passes.def"

static const IrPass *const passes[] = {
#define IR_PASS(NAME) &ir_pass_##NAME,
#include "passes/passes.def"
};

/**
 * ir_passes:
 * @n: (out): how many
 *
 * Returns: (transfer none): all passes, in the order of the documentation
 */
const IrPass *const *
ir_passes (guint *n)
{
  *n = G_N_ELEMENTS (passes);
  return passes;
}

/**
 * ir_pass_find:
 * @name: "fold-conv-bn"
 *
 * Returns: (transfer none) (nullable): the pass of that name
 */
const IrPass *
ir_pass_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (passes); i++)
    if (strcmp (passes[i]->name, name) == 0)
      return passes[i];
  return NULL;
}
