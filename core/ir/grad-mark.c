/* What somebody has said about the derivative of one node: metadata of it, which files keep. */
#include "config.h"

#include "core/ir/grad-mark.h"

#include "core/ir/node-prop.h"

#include <string.h>

#define KEY "irscope.gradient"

static const char *const names[IR_N_GRAD_MARKS] = { "plain", "stop", "straight-through" };

/**
 * ir_grad_mark:
 * @node: a node
 *
 * Returns: how it is derived: as its operator says, not at all, or as if it were the identity
 */
IrGradMark
ir_grad_mark (const IrNode *node)
{
  const char *text = ir_node_prop (node, KEY);

  for (guint i = 0; text != NULL && i < IR_N_GRAD_MARKS; i++)
    if (strcmp (names[i], text) == 0)
      return i;
  return IR_GRAD_MARK_PLAIN;
}

/**
 * ir_grad_mark_name:
 *
 * Returns: (transfer none) (nullable): its name; %NULL behind the last one
 */
const char *
ir_grad_mark_name (IrGradMark mark)
{
  return mark < IR_N_GRAD_MARKS ? names[mark] : NULL;
}

/**
 * ir_grad_set_mark:
 * @edit: an edit
 * @node: a node
 * @mark: how it shall be derived
 */
void
ir_grad_set_mark (IrEdit *edit, IrNode *node, IrGradMark mark)
{
  ir_node_set_prop (edit, node, KEY, mark != IR_GRAD_MARK_PLAIN ? names[mark] : NULL);
}
