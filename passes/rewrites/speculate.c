/* Whether a node may run where it did not: see speculate.h. */
#include "config.h"

#include "passes/rewrites/speculate.h"

#include "core/op/check.h"
#include "passes/rule/step.h"

static gboolean
reads_only_floats (const IrNode *node)
{
  ir_node_for_each_input (node, i, value)
    {
      if (!ir_dtype_is_float (ir_value_dtype (value)))
        return FALSE;
    }
  return TRUE;
}

/* Known in full, or the same as that of the first input, or a scalar. */
static gboolean
fits_surely (const IrNode *node, const IrValue *value)
{
  return ir_type_is_static (value->type) || ir_value_rank (value) == 0 ||
         ir_types_identical (value->type, node->inputs[0]->type);
}

const char *
ir_pass_why_may_fail (const IrNode *node)
{
  guint n_read = 0;

  if (ir_node_valid_op (node) == NULL || !(node->op->flags & (IR_OP_TOTAL | IR_OP_TOTAL_FLOAT)))
    return "the operator may fail on what it reads, and as written it may never run";
  if (!(node->op->flags & IR_OP_TOTAL) && !reads_only_floats (node))
    return "on integers the operator may fail, and as written it may never run";
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && ir_value_rank (node->outputs[i]) == IR_RANK_UNKNOWN)
      return "the type of the result is not known";
  for (guint i = 0; i < node->n_inputs; i++)
    n_read += node->inputs[i] != NULL;
  if (node->n_inputs == 0 || node->inputs[0] == NULL)
    return "the first input is left out";
  ir_node_for_each_input (node, i, value)
    {
      if (ir_value_rank (value) == IR_RANK_UNKNOWN || (n_read > 1 && !fits_surely (node, value)))
        return "the shapes of what it reads are not known to fit";
    }
  return NULL;
}
