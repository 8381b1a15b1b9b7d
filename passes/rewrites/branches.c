/* Branches of an If, and outputs of nodes that own graphs: see branches.h. */
#include "config.h"

#include "passes/rewrites/branches.h"

#include "passes/rewrites/unroll.h"

void
ir_branch_inline (IrPassContext *context, IrPassNames *names, IrNode *owner, IrGraph *branch)
{
  IrEdit *edit = context->edit;
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (branch);

  ir_edit_set_graph_outputs (edit, branch, NULL, 0);
  for (guint i = 0; i < nodes->len; i++)
    {
      IrNode *node = nodes->pdata[i];

      ir_pass_move_node (context, names, node, owner->graph);
      ir_edit_set_rank (edit, node, owner->rank);
      if (node->device[0] == '\0' && owner->device[0] != '\0')
        ir_edit_set_device (edit, node, owner->device);
      ir_edit_step_map_node (edit, owner->id, node->id);
    }
  ir_unroll_move_free_values (context, names, branch, owner->graph);
}

static void
keep_outputs (IrEdit *edit, IrGraph *graph, guint first, const gboolean *kept, guint n_kept)
{
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (i < first || (i - first < n_kept && kept[i - first]))
      g_ptr_array_add (outputs, ir_graph_output (graph, i));
  ir_edit_set_graph_outputs (edit, graph, (IrValue *const *) outputs->pdata, outputs->len);
}

void
ir_branch_keep_outputs (IrPassContext *context,
                        const IrNode *node,
                        const gboolean *kept,
                        guint offset)
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  for (guint i = 0; i < graphs->len; i++)
    keep_outputs (context->edit, graphs->pdata[i], offset, kept, node->n_outputs);
}

void
ir_branch_compact (IrPassContext *context, IrNode *node, const gboolean *kept)
{
  guint n = 0;

  for (guint i = 0; i < node->n_outputs; i++)
    if (!kept[i])
      ir_edit_set_output (context->edit, node, i, NULL);
  for (guint i = 0; i < node->n_outputs; i++)
    if (kept[i])
      ir_edit_set_output (context->edit, node, n++, node->outputs[i]);
  ir_edit_set_n_outputs (context->edit, node, n);
}
