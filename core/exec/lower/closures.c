/* Functions that closures name run as graphs of their own: one node of the private copy that is run,
 * Functions, owns a graph for each, which calls the function. Such calls are then replaced by the body like
 * all others.
 *
 *   p = Partial <function = "f"> (x)     Functions <bodies = [f (a, b) => (c) { c = f (a, b) }]> ()
 */
#include "config.h"

#include "core/exec/lower/lower.h"
#include "core/ir/inline.h"
#include "core/op/op.h"

/* Called as what the function computes will be. @declared: (nullable) of the function */
static IrValue *
add_value (IrEdit *edit, IrGraph *graph, const IrValue *declared, const char *function)
{
  g_autofree char *name = g_strconcat (function, "/", declared != NULL ? declared->name : "", NULL);
  const char *own = ir_edit_name_is_free (edit, name)
                        ? ir_context_intern (ir_edit_model (edit)->context, name)
                        : ir_edit_unique_name (edit, name);
  const IrType *type = declared != NULL ? ir_function_declared_type (declared) : NULL;

  return ir_edit_add_value (edit, graph, own, type);
}

/* (transfer none) The graph that stands for @function */
static IrGraph *
add_body (IrEdit *edit, const IrGraph *function)
{
  g_autofree char *key = ir_function_key (function->function);
  IrContext *context = ir_edit_model (edit)->context;
  const guint n_inputs = ir_graph_n_inputs (function), n_outputs = ir_graph_n_outputs (function);
  g_autofree IrValue **inputs = g_new0 (IrValue *, n_inputs + 1);
  g_autofree IrValue **outputs = g_new0 (IrValue *, n_outputs + 1);
  IrGraph *graph = ir_edit_add_graph (edit, IR_GRAPH_SUBGRAPH, ir_context_intern (context, key));
  const IrFunctionInfo *info = function->function;

  for (guint i = 0; i < n_inputs; i++)
    inputs[i] = add_value (edit, graph, ir_graph_input (function, i), info->name);
  for (guint i = 0; i < n_outputs; i++)
    outputs[i] = add_value (edit, graph, ir_graph_output (function, i), info->name);
  ir_edit_set_graph_inputs (edit, graph, inputs, n_inputs);
  IrNode *call = ir_edit_add_node_with_outputs (edit, graph, info->name, info->domain, info->name,
                                                n_inputs, inputs, n_outputs, outputs);
  if (info->overload != NULL && *info->overload != '\0')
    ir_edit_set_op (edit, call, info->name, info->domain, info->overload);
  ir_edit_set_graph_outputs (edit, graph, outputs, n_outputs);
  return graph;
}

/**
 * ir_exec_take_closures:
 * @edit: an edit that imports
 *
 * Gives each function that a closure names a graph of its own. Models without closures stay as they are, and such that
 * have these graphs already.
 */
void
ir_exec_take_closures (IrEdit *edit)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GPtrArray) functions = g_ptr_array_new ();
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      const IrGraph *function = node->state == IR_STATE_LIVE ? ir_node_named_function (node) : NULL;
      if (node->state == IR_STATE_LIVE && ir_op_is (node, IR_OP_FUNCTIONS))
        return;
      if (function != NULL && function->function != NULL &&
          !g_ptr_array_find (functions, function, NULL))
        g_ptr_array_add (functions, (gpointer) function);
    }
  if (functions->len == 0)
    return;
  for (guint i = 0; i < functions->len; i++)
    {
      const IrGraph *graph = add_body (edit, functions->pdata[i]);
      g_array_append_val (ids, graph->id);
    }
  IrNode *node = ir_edit_add_node (edit, model->main, "Functions", "irscope.closure", "functions",
                                   0, NULL, 0);
  ir_edit_set_attr (
      edit, node,
      ir_attr_graphs (model->context, "bodies", (const guint32 *) (gpointer) ids->data, ids->len));
}
