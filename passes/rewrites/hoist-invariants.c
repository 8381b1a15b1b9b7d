/* What a loop computes anew in each iteration, from values that do not change, is computed once
 * before it:
 *
 *     Loop (n, c, x) { w = Exp (v)  x = Mul (x, w) }     w = Exp (v)
 *                                                        Loop (n, c, x) { x = Mul (x, w) }
 *
 * In bodies of Loop and Scan. A loop may run no iteration, and then the node runs that did not run
 * before: so only nodes move that cannot fail, by a fact of the table (IR_OP_TOTAL) and types that
 * leave no doubt that shapes fit. Inner bodies come first, so that a node leaves all loops that it
 * does not depend on. Constants that it reads move with it. Source: XLA
 * WhileLoopInvariantCodeMotion. */
#include "config.h"

#include "passes/rewrites/speculate.h"
#include "passes/rule/move.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE "hoist-invariant"

typedef struct
{
  IrPassContext *context;
  IrPassNames *names; /* (nullable) counted when first needed */
  IrNode *loop;
  const IrGraph *body;
} Hoister;

static gboolean
is_invariant (const Hoister *h, const IrNode *node)
{
  gboolean from_outside = FALSE;

  ir_node_for_each_input (node, i, value)
    {
      if (value->graph == h->body && !ir_pass_is_local_constant (h->context, h->body, value))
        return FALSE;
      from_outside |= value->graph != h->body;
    }
  return from_outside;
}

static gboolean
gives_outputs (const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && ir_value_is_graph_output (node->outputs[i]))
      return TRUE;
  return FALSE;
}

static void
hoist (Hoister *h, IrNode *node)
{
  g_autofree char *label = ir_node_label (h->loop);

  if (!ir_pass_begin (h->context, RULE, IR_CLASS_EXACT, node))
    return;
  if (h->names == NULL)
    h->names = ir_pass_names_new (h->context->model);
  ir_edit_step_reason (h->context->edit, "nothing that it reads changes in %s", label);
  ir_node_for_each_input (node, i, value)
    {
      if (value->graph == h->body)
        ir_pass_move_constant (h->context, h->names, value, h->loop);
    }
  ir_edit_set_rank (h->context->edit, node, h->loop->rank);
  ir_pass_move_node (h->context, h->names, node, h->loop->graph);
  ir_edit_step_map_node (h->context->edit, node->id, node->id);
  ir_pass_end (h->context);
}

static void
look_at (Hoister *h, IrNode *node)
{
  const char *why;

  if (node->state != IR_STATE_LIVE || ir_node_is_constant (node) || !is_invariant (h, node))
    return;
  why = ir_pass_why_may_fail (node);
  if (why == NULL && gives_outputs (node))
    why = "the result is an output of the body";
  if (why == NULL && ir_pass_has_control (h->context, node))
    why = "a control dependency begins or ends there";
  if (why != NULL)
    ir_edit_refuse (h->context->edit, RULE, node->id, why);
  else
    hoist (h, node);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);
  g_autoptr (IrPassNames) names = NULL;
  Hoister h = { .context = context };
  gboolean cancelled = FALSE;

  for (guint i = graphs->len; i > 0 && !cancelled && !context->stopped; i--)
    {
      g_autoptr (GPtrArray) nodes = NULL;

      h.body = graphs->pdata[i - 1];
      h.loop = ir_model_live_node (context->model, h.body->owner);
      if (h.loop == NULL || !(ir_op_is (h.loop, IR_OP_LOOP) || ir_op_is (h.loop, IR_OP_SCAN)) ||
          ir_pass_has_control (context, h.loop))
        continue;
      nodes = ir_graph_nodes (h.body);
      for (guint k = 0; k < nodes->len && !cancelled && !context->stopped; k++)
        {
          cancelled = ir_pass_cancelled (context, error);
          if (!cancelled)
            look_at (&h, nodes->pdata[k]);
        }
    }
  names = h.names;
  return !cancelled;
}

static const IrRule rules[] = {
  { RULE, "a node of a loop's body that reads nothing of the body and cannot fail",
    "the node before the loop", IR_CLASS_EXACT,
    "What is the same in each iteration is computed once, before the loop." },
  { NULL },
};

const IrPass ir_pass_hoist_invariants = {
  .name = "hoist-invariants",
  .title = "Hoist invariants out of loops",
  .doc = "Nodes of the body of a Loop or a Scan that compute the same in each iteration move in "
         "front of it, if they can never fail.",
  .source = "XLA WhileLoopInvariantCodeMotion",
  .step_class = IR_CLASS_EXACT,
  .before_after = "Loop { w -> Exp -> v; s, v -> Mul }\nw -> Exp -> v; Loop { s, v -> Mul }",
  .run = run,
  .documented_rules = rules,
};
