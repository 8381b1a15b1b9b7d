/* The way back from training: BatchNormalization uses its running statistics, Dropout lets all
 * through, and what was mutable is constant again. Source: ONNX BatchNormalization 15, Dropout 13. */
#include "config.h"

#include "core/op/op.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE_NORM     "use-batch-norm"
#define RULE_DROPOUT  "use-dropout"
#define RULE_CONSTANT "constant"

static void
drop_outputs (IrPassContext *context, const IrNode *node)
{
  IrGraph *graph = context->model->main;
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (ir_graph_output (graph, i)->producer != node ||
        ir_graph_output (graph, i)->output_slot == 0)
      g_ptr_array_add (outputs, ir_graph_output (graph, i));
  if (outputs->len < ir_graph_n_outputs (graph))
    ir_edit_set_graph_outputs (context->edit, graph, (IrValue *const *) outputs->pdata,
                               outputs->len);
}

static gboolean
is_read (const IrNode *node, const IrGraph *graph)
{
  for (guint i = 1; i < node->n_outputs; i++)
    for (guint k = 0; node->outputs[i] != NULL && k < node->outputs[i]->n_uses; k++)
      {
        IrUse use = ir_value_use (node->outputs[i], k);
        if (use.node != NULL || use.graph != graph)
          return TRUE;
      }
  return FALSE;
}

static void
use_norm (IrPassContext *context, IrNode *node)
{
  g_autofree char *label = ir_node_label (node);

  if (ir_node_attr_int (node, "training_mode", 0) == 0)
    return;
  if (is_read (node, context->model->main))
    {
      ir_edit_refuse (context->edit, RULE_NORM, node->id, "its new statistics are read by a node");
      return;
    }
  if (!ir_pass_begin (context, RULE_NORM, IR_CLASS_UNSAFE, node))
    return;
  drop_outputs (context, node);
  ir_edit_set_n_outputs (context->edit, node, 1);
  ir_edit_unset_attr (context->edit, node, "training_mode");
  ir_infer_node (context->edit, node, NULL);
  ir_edit_step_reason (context->edit, "%s normalizes by its running statistics", label);
  ir_pass_end (context);
}

static void
use_dropout (IrPassContext *context, IrNode *node)
{
  g_autofree char *label = ir_node_label (node);
  IrValue *training = ir_node_input (node, 2);

  if (training == NULL || ir_value_constant (training) == NULL ||
      !ir_pass_begin (context, RULE_DROPOUT, IR_CLASS_UNSAFE, node))
    return;
  ir_edit_set_n_inputs (context->edit, node, ir_node_input (node, 1) != NULL ? 2 : 1);
  if (training->n_uses == 0 && training->producer != NULL)
    ir_edit_remove_node (context->edit, training->producer);
  else if (training->n_uses == 0 && !ir_value_is_graph_input (training))
    ir_edit_remove_value (context->edit, training);
  ir_infer_node (context->edit, node, NULL);
  ir_edit_step_reason (context->edit, "%s lets all elements through", label);
  ir_pass_end (context);
}

static void
make_constant (IrPassContext *context)
{
  guint n, n_changed = 0;
  IrValue *const *values = ir_graph_values (context->model->main, &n);
  g_autofree IrValue **copy = g_memdup2 (values, sizeof (IrValue *) * n);

  for (guint i = 0; i < n; i++)
    n_changed += ir_value_is_mutable (copy[i]);
  if (n_changed == 0 || !ir_pass_begin (context, RULE_CONSTANT, IR_CLASS_EXACT, NULL))
    return;
  for (guint i = 0; i < n; i++)
    if (ir_value_is_mutable (copy[i]))
      ir_edit_set_flags (context->edit, copy[i], copy[i]->flags & ~(guint) IR_VALUE_MUTABLE);
  ir_edit_step_reason (context->edit, "%u initializers are constant again", n_changed);
  ir_pass_end (context);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (context->model->main);

  for (guint i = 0; i < nodes->len && !context->stopped; i++)
    if (ir_op_is (nodes->pdata[i], IR_OP_BATCH_NORMALIZATION))
      use_norm (context, nodes->pdata[i]);
    else if (ir_op_is (nodes->pdata[i], IR_OP_DROPOUT))
      use_dropout (context, nodes->pdata[i]);
  if (!context->stopped)
    make_constant (context);
  return TRUE;
}

static const IrRule rules[] = {
  { RULE_NORM, "BatchNormalization in training mode", "with its running statistics",
    IR_CLASS_UNSAFE, "What its statistics would become is no output any more." },
  { RULE_DROPOUT, "Dropout in training mode", "one that drops nothing", IR_CLASS_UNSAFE,
    "Its input that says so goes." },
  { RULE_CONSTANT, "mutable initializers", "constants", IR_CLASS_EXACT,
    "Passes, planners and kernels may rely on their contents again." },
  { NULL },
};

const IrPass ir_pass_to_inference = {
  .name = "to-inference",
  .title = "Make ready for use",
  .doc = "The way back from training: BatchNormalization uses its running statistics, Dropout lets "
         "all through, and parameters are constant again. A loss stays.",
  .source = "ONNX BatchNormalization, Dropout",
  .step_class = IR_CLASS_UNSAFE,
  .before_after =
      "x -> BatchNormalization (training) -> y, mean, var\nx -> BatchNormalization -> y",
  .run = run,
  .documented_rules = rules,
  .once = TRUE,
};
