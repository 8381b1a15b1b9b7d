#include "config.h"

/* Nodes that only constants lead to. */

#include "core/layout/draft-private.h"
#include "core/op/check.h"
#include "core/op/op.h"

static gboolean
is_fixed_value (GHashTable *fixed, const IrValue *value)
{
  return value == NULL || ir_value_constant (value) != NULL ||
         (value->producer != NULL && g_hash_table_contains (fixed, value->producer));
}

static gboolean
is_fixed (GHashTable *fixed, const IrNode *node)
{
  const guint varies = IR_OP_RANDOM | IR_OP_SUBGRAPHS;

  if (ir_node_is_constant (node))
    return TRUE;
  if (node->op == NULL || (node->op->flags & varies) != 0 || node->n_inputs == 0 ||
      node->op->tokens != IR_TOKENS_STRICT ||
      !ir_node_is_valid (
          node)) /* one that is being built, whose inputs are still open, is looked for */
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (!is_fixed_value (fixed, node->inputs[i]))
      return FALSE;
  return TRUE;
}

/* Weights behind Identity, Transpose, DequantizeLinear ... say no more than the weights do. */
void
scene_find_fixed (GHashTable *fixed, const IrModel *model)
{
  for (guint id = 1; id < model->graphs->len; id++)
    {
      const IrGraph *graph = ir_model_graph (model, id);
      guint n;

      if (graph == NULL || graph->state != IR_STATE_LIVE)
        continue;
      IrNode *const *order = ir_graph_order (graph, &n);
      for (guint i = 0; i < n; i++)
        if (is_fixed (fixed, order[i]))
          g_hash_table_add (fixed, order[i]);
    }
}
