/* Calls of the model's own functions become what the functions do:
 *
 *     y = Twice (x)               y = Add (x, x)
 *     Twice (a) => (b) { b = Add (a, a) }
 *
 * One step per call (core/ir/inline.c), so that each can be skipped and proved; calls that a body
 * makes follow, as their copies come later in the order of ids. Nothing is inlined if functions
 * call themselves or would become a million nodes. Functions that nothing calls then go. Source:
 * ONNX IR, "functions"; TVM Relax InlineFunctions; XLA CallInliner. */
#include "config.h"

#include "core/ir/inline.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE_CALL   "inline-call"
#define RULE_UNUSED "remove-unused-functions"

static const IrGraph *
root_of (const IrGraph *graph)
{
  while (graph->kind == IR_GRAPH_SUBGRAPH && ir_graph_outer (graph) != NULL)
    graph = ir_graph_outer (graph);
  return graph;
}

static void
infer_from (IrPassContext *context, guint first)
{
  for (guint i = first; i < context->model->nodes->len; i++)
    {
      IrNode *node = context->model->nodes->pdata[i];

      if (node->state == IR_STATE_LIVE)
        ir_infer_node (context->edit, node, NULL);
    }
}

static void
inline_call (IrPassContext *context, IrNode *node)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  guint first = context->model->nodes->len;
  IrNodeId id = node->id;

  if (!ir_pass_begin (context, RULE_CALL, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (context->edit, "%s is a function of the model", node->op_type);
  if (ir_inline_call (context->edit, node, problems))
    {
      infer_from (context, first);
      ir_pass_end (context);
      return;
    }
  ir_pass_abort (context);
  ir_edit_refuse (context->edit, RULE_CALL, id,
                  problems->len > 0 ? ((const IrProblem *) problems->pdata[0])->message
                                    : "the function has no body");
}

/* -- functions that nothing calls -- */

static GHashTable *
calls_by_root (const IrModel *model)
{
  GHashTable *calls = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      const IrGraph *called = node->state == IR_STATE_LIVE ? ir_node_used_function (node) : NULL;
      const IrGraph *root = called != NULL ? root_of (node->graph) : NULL;
      GPtrArray *list = root != NULL ? g_hash_table_lookup (calls, root) : NULL;

      if (called == NULL)
        continue;
      if (list == NULL)
        {
          list = g_ptr_array_new ();
          g_hash_table_insert (calls, (gpointer) root, list);
        }
      g_ptr_array_add (list, (gpointer) called);
    }
  return calls;
}

static GHashTable *
reachable_functions (const IrModel *model)
{
  g_autoptr (GHashTable) calls = calls_by_root (model);
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();
  GHashTable *seen = g_hash_table_new (NULL, NULL);

  g_ptr_array_add (stack, model->main);
  while (stack->len > 0)
    {
      const GPtrArray *list = g_hash_table_lookup (
          calls, g_ptr_array_steal_index_fast (stack, stack->len - 1));

      for (guint i = 0; list != NULL && i < list->len; i++)
        if (g_hash_table_add (seen, list->pdata[i]))
          g_ptr_array_add (stack, list->pdata[i]);
    }
  return seen;
}

static void
remove_unused (IrPassContext *context)
{
  IrModel *model = context->model;
  g_autoptr (GHashTable) used = reachable_functions (model);
  g_autoptr (GPtrArray) unused = g_ptr_array_new ();

  for (guint i = 1; i < model->graphs->len; i++)
    {
      IrGraph *graph = model->graphs->pdata[i];

      if (graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION &&
          !g_hash_table_contains (used, graph))
        g_ptr_array_add (unused, graph);
    }
  if (unused->len == 0 || !ir_pass_begin (context, RULE_UNUSED, IR_CLASS_EXACT, NULL))
    return;
  ir_edit_step_reason (context->edit, "%u functions that nothing calls", unused->len);
  for (guint i = 0; i < unused->len; i++)
    ir_edit_remove_graph (context->edit, unused->pdata[i]);
  ir_pass_end (context);
}

/* -- the pass -- */

static gboolean
run (IrPassContext *context, GError **error)
{
  IrModel *model = context->model;
  gboolean bounded = ir_inline_is_bounded (model);

  for (guint i = 1; i < model->nodes->len && !context->stopped; i++)
    {
      IrNode *node = model->nodes->pdata[i];

      if (ir_pass_cancelled (context, error))
        return FALSE;
      if (node->state != IR_STATE_LIVE || ir_node_function (node) == NULL ||
          root_of (node->graph)->kind != IR_GRAPH_MAIN)
        continue;
      if (g_str_equal (node->domain, IR_PASS_FUSED_DOMAIN))
        ir_edit_refuse (context->edit, RULE_CALL, node->id,
                        "it stands for fused elementwise nodes");
      else if (node->op != NULL && ir_ref_kernel (node->op) != NULL &&
               g_str_equal (node->domain, "irscope"))
        ir_edit_refuse (context->edit, RULE_CALL, node->id,
                        "it is an operator of irscope; its function is for other programs");
      else if (bounded)
        inline_call (context, node);
      else
        ir_edit_refuse (context->edit, RULE_CALL, node->id,
                        "functions call themselves, or would become a million nodes");
    }
  if (!context->stopped)
    remove_unused (context);
  return TRUE;
}

static const IrRule rules[] = {
  { RULE_CALL, "a call of a function of the model", "the nodes of its body", IR_CLASS_EXACT,
    "A call becomes what the function does, its attributes put in." },
  { RULE_UNUSED, "functions that no call leads to", "nothing", IR_CLASS_EXACT,
    "Functions that nothing calls go." },
  { NULL },
};

const IrPass ir_pass_inline_functions = {
  .name = "inline-functions",
  .title = "Inline functions",
  .doc = "Calls of functions of the model become the nodes of their bodies, so that other passes "
         "see them; functions that nothing calls go.",
  .source = "ONNX IR, functions; TVM Relax InlineFunctions; XLA CallInliner",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Twice -> y\nx, x -> Add -> y",
  .run = run,
  .documented_rules = rules,
};
