/* What one branch of an If alone reads is computed there:
 *
 *     u = MatMul (x, w)                        y = If (c) { u = MatMul (x, w)  Relu (u) }
 *     y = If (c) { Relu (u) } else { Neg (x) }       else { Neg (x) }
 *
 * A node whose results all go to one branch of one If of its own graph, at whatever depth inside, moves
 * into that branch: where the other one runs it does not. It never enters the body of a loop, where it
 * would run once per iteration, so that hoist-invariants does not bring back what came here. Readers come
 * before what they read, so that a chain moves whole. Source: LLVM Sink; TensorFlow's
 * functionalization of conditionals. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rewrites/trips.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE "sink-node"

/* The graph directly inside a node of @outer that @graph is, or lies in; (nullable) */
static IrGraph *
ancestor_inside (const IrModel *model, IrGraph *graph, const IrGraph *outer)
{
  while (graph != NULL)
    {
      const IrNode *owner = ir_model_live_node (model, graph->owner);

      if (owner == NULL)
        return NULL;
      if (owner->graph == outer)
        return graph;
      graph = owner->graph;
    }
  return NULL;
}

/* The one branch that reads all of what @node gives; NULL: there are others, or none. */
static IrGraph *
only_reader (const IrModel *model, const IrNode *node)
{
  IrGraph *branch = NULL;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];

      if (value == NULL)
        continue;
      if (ir_value_is_graph_output (value))
        return NULL;
      for (guint k = 0; k < value->n_uses; k++)
        {
          IrGraph *reader = ir_value_use (value, k).node->graph;

          if (reader == node->graph)
            return NULL;
          reader = ancestor_inside (model, reader, node->graph);
          if (reader == NULL || (branch != NULL && reader != branch))
            return NULL;
          branch = reader;
        }
    }
  return branch;
}

static gboolean
draws (const IrNode *node)
{
  g_autoptr (GPtrArray) inner = ir_node_subgraphs (node);

  if (node->op->flags & IR_OP_RANDOM)
    return TRUE;
  for (guint i = 0; i < inner->len; i++)
    if (ir_pass_draws (inner->pdata[i]))
      return TRUE;
  return FALSE;
}

/* What only constants lead to is computed before any run, not by a branch. */
static gboolean
reads_something (const IrNode *node)
{
  ir_node_for_each_input (node, i, value)
    {
      if (ir_value_constant (value) == NULL)
        return TRUE;
    }
  return FALSE;
}

static void
look_at (IrPassContext *context, IrNode *node)
{
  IrGraph *branch;
  const IrNode *owner;
  const char *why = NULL;

  if (node->state != IR_STATE_LIVE || ir_node_valid_op (node) == NULL || !reads_something (node))
    return;
  branch = only_reader (context->model, node);
  owner = branch != NULL ? ir_model_live_node (context->model, branch->owner) : NULL;
  if (owner == NULL)
    return;
  if (!ir_op_is (owner, IR_OP_IF))
    why = "only a loop's body reads it, where it would run in each iteration";
  else if (ir_pass_has_control (context, node))
    why = "a control dependency begins or ends there";
  else if (draws (node))
    why = "it draws random numbers";
  if (why != NULL)
    {
      ir_edit_refuse (context->edit, RULE, node->id, why);
      return;
    }
  if (!ir_pass_begin (context, RULE, IR_CLASS_EXACT, node))
    return;
  g_autofree char *label = ir_node_label (owner);
  ir_edit_step_reason (context->edit, "nothing reads it but one branch of %s", label);
  ir_edit_move_node (context->edit, node, branch);
  ir_edit_step_map_node (context->edit, node->id, node->id);
  ir_pass_end (context);
}

/* Outer graphs first: what has come into a branch may go on into one inside of it. */
static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);

  for (guint i = 0; i < graphs->len && !context->stopped; i++)
    {
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graphs->pdata[i]);

      for (guint k = nodes->len; k > 0 && !context->stopped; k--)
        {
          if (ir_pass_cancelled (context, error))
            return FALSE;
          look_at (context, nodes->pdata[k - 1]);
        }
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE, "a node whose results one branch of an If alone reads", "the node in that branch",
    IR_CLASS_EXACT, "What one branch alone reads is not computed where the other one runs." },
  { NULL },
};

const IrPass ir_pass_sink_into_branches = {
  .name = "sink-into-branches",
  .title = "Sink into branches",
  .doc = "Nodes that one branch of an If alone reads move into it, and run only where it does.",
  .source = "LLVM Sink",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Exp -> u; If (c) { u -> Relu } else { Neg }\n"
                  "If (c) { x -> Exp -> u -> Relu } else { Neg }",
  .run = run,
  .documented_rules = rules,
};
