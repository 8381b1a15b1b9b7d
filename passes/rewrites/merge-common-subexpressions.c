/* Computes once what is computed twice:
 *
 *     x --Relu--> a                x --Relu--> a, read by both
 *     x --Relu--> b
 *
 * Value numbering in topological order, one table per graph (what runs in a branch of an If is not
 * what runs outside). First equal constants become one, then nodes of the same operator, domain,
 * device, attributes (bit by bit: -0 is not 0) and inputs; operands are sorted for commutative
 * operators only. Random operators, operators with subgraphs and nodes with control dependencies
 * are left alone. O(nodes + bytes of constants). Source: ONNX Runtime
 * CommonSubexpressionElimination, ConstantSharing. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE_CONSTANT "share-constant"
#define SAMPLE        64 /* bytes */
#define RULE_NODE     "merge-nodes"

/* -- constants -- */

/* By type, shape and the first bytes: weights are read in full only where two may be equal, and a
 * page of the file is touched once. */
static guint
hash_constant (gconstpointer value)
{
  const IrTensor *tensor = ((const IrValue *) value)->initializer;
  guint hash = ir_tensor_dtype (tensor) * 31 + ir_tensor_rank (tensor);
  gsize size = 0;
  const guint8 *data;

  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    hash = hash * 31 + g_int64_hash (&ir_tensor_dims (tensor)[i]);
  if (ir_tensor_dtype (tensor) == IR_DTYPE_STRING || ir_tensor_sparse_values (tensor) != NULL)
    return hash;
  data = g_bytes_get_data (ir_tensor_bytes (tensor), &size);
  for (gsize i = 0; i < MIN (size, SAMPLE); i++)
    hash = hash * 31 + data[i];
  return hash;
}

static gboolean
equal_constant (gconstpointer a, gconstpointer b)
{
  return ir_tensor_equal (((const IrValue *) a)->initializer, ((const IrValue *) b)->initializer);
}

static gboolean
can_share (const IrValue *value)
{
  return value->producer == NULL && value->initializer != NULL && value->n_uses > 0 &&
         ir_value_constant (value) == value->initializer && !ir_value_is_graph_output (value);
}

static void
share_constants (IrPassContext *context, IrGraph *graph)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (hash_constant, equal_constant);
  guint n;
  IrValue *const *live = ir_graph_values (graph, &n);
  g_autofree IrValue **values = g_memdup2 (live, MAX (n, 1) * sizeof (IrValue *));

  for (guint i = 0; i < n && !context->stopped; i++)
    {
      IrValue *value = values[i], *first;

      if (!can_share (value))
        continue;
      first = g_hash_table_lookup (seen, value);
      if (first == NULL)
        g_hash_table_add (seen, value);
      else if (ir_pass_begin (context, RULE_CONSTANT, IR_CLASS_EXACT, ir_value_use (value, 0).node))
        {
          ir_edit_step_reason (context->edit, "%s has the contents of %s", value->name,
                               first->name);
          ir_edit_replace_uses (context->edit, value, first);
          if (!ir_value_is_graph_input (value))
            ir_edit_remove_value (context->edit, value);
          ir_pass_end (context);
        }
    }
}

/* -- nodes -- */

static gboolean
sorts_inputs (const IrNode *node)
{
  return node->op != NULL && node->op->flags & IR_OP_COMMUTES && node->n_inputs == 2;
}

static guint32
input_key (const IrNode *node, guint slot)
{
  guint32 key = node->inputs[slot] != NULL ? node->inputs[slot]->id : 0;

  if (sorts_inputs (node))
    {
      guint32 other = node->inputs[1 - slot] != NULL ? node->inputs[1 - slot]->id : 0;
      return slot == 0 ? MIN (key, other) : MAX (key, other);
    }
  return key;
}

static guint
hash_node (gconstpointer data)
{
  const IrNode *node = data;
  guint hash = g_str_hash (node->op_type) * 31 + g_str_hash (node->domain);

  for (guint i = 0; i < node->n_inputs; i++)
    hash = hash * 31 + input_key (node, i);
  for (guint i = 0; i < node->n_attrs; i++)
    hash = hash * 31 + ir_attr_hash (node->attrs[i]);
  return hash;
}

static gboolean
wait_for_the_same (const IrNode *a, const IrNode *b)
{
  if (a->controls == NULL || b->controls == NULL)
    return a->controls == b->controls;
  return a->controls->n == b->controls->n &&
         memcmp (a->controls->ids, b->controls->ids, a->controls->n * sizeof a->controls->ids[0]) ==
             0;
}

static gboolean
equal_node (gconstpointer data_a, gconstpointer data_b)
{
  const IrNode *a = data_a, *b = data_b;

  if (!ir_pass_same_operation (a, b) || !wait_for_the_same (a, b))
    return FALSE;
  for (guint i = 0; i < a->n_inputs; i++)
    if (input_key (a, i) != input_key (b, i))
      return FALSE;
  return TRUE;
}

/* A predicate of Switches stays one of its own: by it conditionals are told apart. Among tokens nodes may wait
 * for others, as long as none waits for them. */
static gboolean
can_merge (IrPassContext *context, const IrNode *node)
{
  return node->state == IR_STATE_LIVE && ir_node_valid_op (node) != NULL && node->n_outputs > 0 &&
         !(node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS)) &&
         !ir_pass_is_control_source (context, node) && !ir_pass_is_predicate (node) &&
         (node->controls == NULL || ir_graph_has_tokens (node->graph));
}

/* Two outputs of the graph keep their two names: one of them would need an Identity. */
static gboolean
outputs_can_merge (IrPassContext *context, const IrNode *node, const IrNode *first)
{
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *a = node->outputs[i], *b = first->outputs[i];

      if (a == NULL)
        continue;
      if (ir_value_is_graph_output (a) && ir_value_is_graph_output (b))
        {
          ir_edit_refuse (context->edit, RULE_NODE, node->id,
                          "both results are outputs of the graph");
          return FALSE;
        }
      if (a->type != NULL && (b->type == NULL || !ir_type_at_least (b->type, a->type)))
        {
          ir_edit_refuse (context->edit, RULE_NODE, node->id, "less is known of the other's type");
          return FALSE;
        }
    }
  return TRUE;
}

static void
merge (IrPassContext *context, IrNode *node, IrNode *first)
{
  g_autofree char *label = ir_node_label (first);

  if (!outputs_can_merge (context, node, first) ||
      !ir_pass_begin (context, RULE_NODE, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (context->edit, "%s computes the same", label);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      ir_edit_replace_uses (context->edit, node->outputs[i], first->outputs[i]);
  ir_edit_step_map_node (context->edit, node->id, first->id);
  ir_edit_remove_node (context->edit, node);
  ir_pass_end (context);
}

static gboolean
merge_nodes (IrPassContext *context, IrGraph *graph, GError **error)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);
  g_autoptr (GHashTable) seen = g_hash_table_new (hash_node, equal_node);

  for (guint i = 0; i < nodes->len && !context->stopped; i++)
    {
      IrNode *node = nodes->pdata[i], *first;

      if (ir_pass_cancelled (context, error))
        return FALSE;
      if (!can_merge (context, node))
        continue;
      first = g_hash_table_lookup (seen, node);
      if (first == NULL)
        g_hash_table_add (seen, node);
      else
        merge (context, node, first);
    }
  return TRUE;
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);

  for (guint i = 0; i < graphs->len && !context->stopped; i++)
    {
      share_constants (context, graphs->pdata[i]);
      if (!merge_nodes (context, graphs->pdata[i], error))
        return FALSE;
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE_CONSTANT, "two initializers of the same contents", "one of them", IR_CLASS_EXACT,
    "Equal constants, compared bit by bit, become one." },
  { RULE_NODE, "two nodes of the same operator, attributes and inputs", "one of them",
    IR_CLASS_EXACT, "What is computed twice is computed once." },
  { NULL },
};

const IrPass ir_pass_merge_common_subexpressions = {
  .name = "merge-common-subexpressions",
  .title = "Merge common subexpressions",
  .doc = "Nodes that compute the same from the same become one, and so do equal constants.",
  .source = "ONNX Runtime CommonSubexpressionElimination, ConstantSharing",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Relu -> a\nx -> Relu -> b\n\nx -> Relu -> a, b",
  .run = run,
  .tokens = TRUE,
  .documented_rules = rules,
};
