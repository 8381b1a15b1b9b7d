/* The profit of an application: the nodes that go against those that come, by the table of rates. Only
 * the kernels are compared: what it leads other passes to do is not foreseen, but for Transposes. */
#include "config.h"

#include "core/exec/schedule/rates.h"
#include "passes/rule/profit.h"

#define MOST_STEPS 8    /* from a value back to the Transpose that orders its axes */
#define SLOWER     1.05 /* what the table is off by must not decide */
#define LEAST_US   0.25 /* nor what no run could show */

/* The Transpose whose order of axes @value has; (nullable). One that is added meets it there, when
 * what lies between was taken in or passed, and the two become one or none. */
static const IrNode *
transpose_before (const IrValue *value)
{
  const IrNode *node = value != NULL ? value->producer : NULL;

  for (guint i = 0; node != NULL && !ir_op_is (node, IR_OP_TRANSPOSE); i++)
    {
      value = node->n_inputs > 0 && i < MOST_STEPS ? node->inputs[0] : NULL;
      node = value != NULL ? value->producer : NULL;
    }
  return node;
}

/**
 * ir_profit_removed:
 * @profit: (inout): of an application
 * @node: a node that it removes, while it is there
 */
void
ir_profit_removed (IrProfit *profit, const IrNode *node)
{
  profit->before_us += ir_rates_node_us (node, &profit->known);
}

/**
 * ir_profit_made:
 * @profit: (inout): of an application
 * @node: a node that it made, its types inferred
 *
 * A Transpose that meets another one counts as nothing, and the other one as removed if it has no
 * other reader.
 */
void
ir_profit_made (IrProfit *profit, const IrNode *node)
{
  const IrNode *met = ir_op_is (node, IR_OP_TRANSPOSE) ? transpose_before (node->inputs[0]) : NULL;

  if (met == NULL)
    profit->after_us += ir_rates_node_us (node, &profit->known);
  else if (met->outputs[0]->n_uses == 1)
    ir_profit_removed (profit, met);
}

/**
 * ir_profit_refusal:
 * @profit: of an application
 *
 * Where a size is not known nothing is refused.
 *
 * Returns: (transfer full) (nullable): why what was made is slower
 */
char *
ir_profit_refusal (const IrProfit *profit)
{
  if (!profit->known || profit->after_us <= profit->before_us * SLOWER + LEAST_US)
    return NULL;
  return g_strdup_printf (
      "by the table of rates it would be slower for these shapes: %.3g us before,"
      " %.3g us after",
      profit->before_us, profit->after_us);
}
