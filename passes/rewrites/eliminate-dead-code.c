/* Removes what no output of the graph depends on: nodes, and initializers without uses.
 *
 * A use by a node inside a subgraph counts, and so does a node that must run after it by a control
 * dependency. Nodes go from the last to the first, each step taking one of them and all that only
 * it kept alive; initializers go in one step per graph. Files of IR version 3 list every
 * initializer as an input as well: there the input goes too. Loops of tokens read themselves: what of such no
 * output depends on goes in one step, and a frame keeps its LoopCond as long as anything of it stays. What owns a body among
 * tokens is dead with what that reads, so a node there stays if it alone reads one. O(nodes).
 * Source: onnx/optimizer eliminate_deadend, eliminate_unused_initializer. */
#include "config.h"

#include "core/op/op.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE_NODE        "dead-node"
#define RULE_INITIALIZER "unused-initializers"

static gboolean
is_dead (const IrPassContext *context, const IrNode *node)
{
  if (node->state != IR_STATE_LIVE || ir_pass_is_control_source (context, node) ||
      ir_node_tokens (node) == IR_TOKENS_LOOP_COND) /* which its frame needs */
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && node->outputs[i]->n_uses > 0)
      return FALSE;
  return ir_pass_lets_others_wait (node);
}

/* Removes @node and, nearest first, the producers that nothing needs any more. */
static guint
remove_cone (IrPassContext *context, IrNode *node)
{
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();
  guint removed = 0;

  g_ptr_array_add (stack, node);
  while (stack->len > 0)
    {
      IrNode *dead = g_ptr_array_steal_index (stack, stack->len - 1);
      g_autoptr (GPtrArray) producers = g_ptr_array_new ();

      if (!is_dead (context, dead))
        continue;
      ir_node_for_each_input (dead, i, value)
        {
          if (value->producer != NULL)
            g_ptr_array_add (producers, value->producer);
        }
      ir_edit_step_map_node (context->edit, dead->id, 0);
      ir_edit_remove_node (context->edit, dead);
      removed++;
      g_ptr_array_extend (stack, producers, NULL, NULL);
    }
  return removed;
}

static void
remove_dead_nodes (IrPassContext *context, IrGraph *graph)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

  for (guint i = nodes->len; i > 0 && !context->stopped; i--)
    {
      IrNode *node = nodes->pdata[i - 1];

      if (!is_dead (context, node) || !ir_pass_begin (context, RULE_NODE, IR_CLASS_EXACT, node))
        continue;
      guint n = remove_cone (context, node);
      ir_edit_step_reason (context->edit, "nothing uses the result%s",
                           n > 1 ? ", nor what only it used" : "");
      ir_pass_end (context);
    }
}

/* -- loops of tokens -- */

typedef struct
{
  const IrFrames *frames;
  GHashTable *needed; /* of IrNode */
  GPtrArray *stack;
} Need;

static void
need (Need *n, IrNode *node)
{
  if (node != NULL && node->graph == n->frames->graph && g_hash_table_add (n->needed, node))
    g_ptr_array_add (n->stack, node);
}

static void
need_what_it_reads (Need *n, const IrNode *node)
{
  const IrModel *model = n->frames->graph->model;
  g_autoptr (GPtrArray) captures = ir_node_captures (node);
  const guint frame = n->frames->frame_of[node->id];

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      need (n, node->inputs[i]->producer);
  for (guint i = 0; i < captures->len; i++)
    need (n, ((const IrValue *) captures->pdata[i])->producer);
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    need (n, ir_model_live_node (model, node->controls->ids[i]));
  if (frame != 0)
    need (n, ir_model_live_node (model, ir_frames_of (n->frames, node)->loop_cond));
}

/* (transfer container) The nodes that no output of @graph depends on; loops read themselves. */
static GPtrArray *
find_unneeded (IrPassContext *context, IrGraph *graph)
{
  g_autoptr (GHashTable) needed = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) stack = g_ptr_array_new (), nodes = ir_graph_nodes (graph);
  Need n = { ir_pass_frames (context, graph), needed, stack };
  GPtrArray *unneeded = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (ir_graph_output (graph, i) != NULL)
      need (&n, ir_graph_output (graph, i)->producer);
  while (stack->len > 0)
    need_what_it_reads (&n, g_ptr_array_steal_index (stack, stack->len - 1));
  for (guint i = 0; i < nodes->len; i++)
    if (!g_hash_table_contains (needed, nodes->pdata[i]))
      g_ptr_array_add (unneeded, nodes->pdata[i]);
  return unneeded;
}

static void
remove_dead_loops (IrPassContext *context, IrGraph *graph)
{
  g_autoptr (GPtrArray) unneeded = find_unneeded (context, graph);

  if (unneeded->len == 0 ||
      !ir_pass_begin (context, RULE_NODE, IR_CLASS_EXACT, unneeded->pdata[unneeded->len - 1]))
    return;
  ir_edit_step_reason (context->edit, "%u nodes of loops, which no output depends on",
                       unneeded->len);
  for (guint i = 0; i < unneeded->len; i++)
    {
      IrNode *node = unneeded->pdata[i];
      for (guint k = 0; ir_node_tokens (node) == IR_TOKENS_MERGE && k < node->n_inputs; k++)
        ir_edit_set_input (context->edit, node, k, NULL);
    }
  for (guint i = unneeded->len; i > 0; i--)
    {
      IrNode *node = unneeded->pdata[i - 1];
      ir_edit_step_map_node (context->edit, node->id, 0);
      ir_edit_remove_node (context->edit, node);
    }
  ir_pass_end (context);
}

static gboolean
is_unused_initializer (const IrValue *value)
{
  return value->state == IR_STATE_LIVE && value->producer == NULL && value->initializer != NULL &&
         value->n_uses == 0 && ir_value_constant (value) != NULL;
}

static void
drop_inputs (IrEdit *edit, IrGraph *graph)
{
  g_autoptr (GPtrArray) kept = g_ptr_array_new ();
  guint n = ir_graph_n_inputs (graph);

  for (guint i = 0; i < n; i++)
    if (!is_unused_initializer (ir_graph_input (graph, i)))
      g_ptr_array_add (kept, ir_graph_input (graph, i));
  if (kept->len < n)
    ir_edit_set_graph_inputs (edit, graph, (IrValue *const *) kept->pdata, kept->len);
}

static void
remove_initializers (IrPassContext *context, IrGraph *graph)
{
  g_autoptr (GPtrArray) unused = g_ptr_array_new ();
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  for (guint i = 0; i < n; i++)
    if (is_unused_initializer (values[i]))
      g_ptr_array_add (unused, values[i]);
  if (unused->len == 0 || !ir_pass_begin (context, RULE_INITIALIZER, IR_CLASS_EXACT, NULL))
    return;
  drop_inputs (context->edit, graph);
  for (guint i = 0; i < unused->len; i++)
    ir_edit_remove_value (context->edit, unused->pdata[i]);
  ir_edit_step_reason (context->edit, "%u %s that nothing uses", unused->len,
                       unused->len == 1 ? "initializer" : "initializers");
  ir_pass_end (context);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);

  /* Inner graphs first: what they captured may be dead then. */
  for (guint i = graphs->len; i > 0 && !context->stopped; i--)
    {
      IrGraph *graph = graphs->pdata[i - 1];

      if (ir_pass_cancelled (context, error))
        return FALSE;
      if (graph->state == IR_STATE_LIVE)
        remove_dead_nodes (context, graph);
      if (graph->state == IR_STATE_LIVE && ir_graph_has_tokens (graph) && !context->stopped)
        remove_dead_loops (context, graph);
    }
  for (guint i = 0; i < graphs->len && !context->stopped; i++)
    if (((IrGraph *) graphs->pdata[i])->state == IR_STATE_LIVE)
      remove_initializers (context, graphs->pdata[i]);
  return TRUE;
}

static const IrRule rules[] = {
  { RULE_NODE, "a node whose results nothing uses", "nothing", IR_CLASS_EXACT,
    "A node that no output depends on goes, with what only it used." },
  { RULE_INITIALIZER, "initializers that nothing uses", "nothing", IR_CLASS_EXACT,
    "Constants that nothing uses go." },
  { NULL },
};

const IrPass ir_pass_eliminate_dead_code = {
  .name = "eliminate-dead-code",
  .title = "Eliminate dead code",
  .doc = "Removes nodes that no output depends on, and initializers that nothing uses. What a "
         "subgraph captures, and what a control dependency names, stays.",
  .source = "onnx/optimizer eliminate_deadend, eliminate_unused_initializer",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Relu -> y\nx -> Exp\n\nx -> Relu -> y",
  .run = run,
  .tokens = TRUE,
  .documented_rules = rules,
};
