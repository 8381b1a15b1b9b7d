/* Operators of the table that have a function body and no kernel run as their body: it becomes a
 * function of the private copy that is run, and calls of it are inlined like those of the file's
 * own functions.
 *
 *   Y = Celu (X)   ->   D = Div (X, Alpha); E = Elu (D); Y = Mul (Alpha, E)
 */
#include "config.h"

#include "core/exec/lower/lower.h"
#include "core/exec/kernel/backend.h"
#include "core/io/io.h"
#include "core/ir/inline.h"

#include <string.h>

/* A body in a model of its own, copied into another; strings and payloads belong to contexts. */
typedef struct
{
  IrEdit *edit;
  IrContext *context;
  GHashTable *values; /* IrValue there -> IrValue here */
} Copy;

static const IrAttr *
copy_attr (IrContext *context, const IrAttr *attr)
{
  if (attr->ref_name != NULL)
    return ir_attr_ref (context, ir_context_intern (context, attr->name), attr->kind,
                        ir_context_intern (context, attr->ref_name));
  const char *name = ir_context_intern (context, attr->name);
  switch ((int) attr->kind)
    {
    case IR_ATTR_FLOAT:
      return ir_attr_float (context, name, attr->floats[0]);
    case IR_ATTR_INT:
      return ir_attr_int (context, name, attr->ints[0]);
    case IR_ATTR_STRING:
      return ir_attr_string (context, name, attr->strings[0].data,
                             (gssize) attr->strings[0].length);
    case IR_ATTR_FLOATS:
      return ir_attr_floats (context, name, attr->floats, attr->n);
    case IR_ATTR_INTS:
      return ir_attr_ints (context, name, attr->ints, attr->n);
    case IR_ATTR_TENSOR:
      return ir_attr_tensor (context, name, attr->tensors[0]);
    default: /* graphs and types: no body of a row has them */
      return NULL;
    }
}

static IrFunctionInfo
copy_info (IrContext *context, const IrFunctionInfo *from)
{
  IrFunctionInfo info = *from;
  gsize size = sizeof (IrOpsets) + from->opsets->n * sizeof (IrOpset);
  IrOpsets *opsets = ir_context_dup (context, from->opsets, size);
  const char **names = ir_context_alloc (context, sizeof *names * (from->n_attr_names + 1));
  const IrAttr **defaults = ir_context_alloc (context,
                                              sizeof *defaults * (from->n_attr_defaults + 1));

  for (guint i = 0; i < from->n_attr_names; i++)
    names[i] = ir_context_intern (context, from->attr_names[i]);
  for (guint i = 0; i < from->n_attr_defaults; i++)
    defaults[i] = copy_attr (context, from->attr_defaults[i]);
  for (guint i = 0; i < opsets->n; i++)
    opsets->opsets[i].domain = ir_context_intern (context, from->opsets->opsets[i].domain);
  info.domain = ir_context_intern (context, from->domain);
  info.name = ir_context_intern (context, from->name);
  info.overload = ir_context_intern (context, from->overload);
  info.attr_names = names;
  info.attr_defaults = defaults;
  info.opsets = opsets;
  return info;
}

static IrValue *
copy_value (Copy *copy, const IrValue *value, IrGraph *to)
{
  IrValue *here;

  if (value == NULL)
    return NULL;
  here = g_hash_table_lookup (copy->values, value);
  if (here == NULL)
    {
      here = ir_edit_add_value (copy->edit, to, ir_context_intern (copy->context, value->name),
                                NULL);
      g_hash_table_insert (copy->values, (gpointer) value, here);
    }
  return here;
}

static void
copy_node (Copy *copy, const IrNode *node, IrGraph *to)
{
  g_autofree IrValue **inputs = g_new0 (IrValue *, node->n_inputs + 1);
  g_autofree IrValue **outputs = g_new0 (IrValue *, node->n_outputs + 1);

  for (guint i = 0; i < node->n_inputs; i++)
    inputs[i] = copy_value (copy, node->inputs[i], to);
  for (guint i = 0; i < node->n_outputs; i++)
    outputs[i] = copy_value (copy, node->outputs[i], to);
  IrNode *here = ir_edit_add_node_with_outputs (copy->edit, to,
                                                ir_context_intern (copy->context, node->op_type),
                                                ir_context_intern (copy->context, node->domain),
                                                ir_context_intern (copy->context, node->name),
                                                node->n_inputs, inputs, node->n_outputs, outputs);
  for (guint i = 0; i < node->n_attrs; i++)
    {
      const IrAttr *attr = copy_attr (copy->context, node->attrs[i]);
      if (attr != NULL)
        ir_edit_set_attr (copy->edit, here, attr);
    }
}

static void
copy_body (IrEdit *edit, const IrGraph *body)
{
  IrContext *context = ir_edit_model (edit)->context;
  g_autoptr (GHashTable) values = g_hash_table_new (NULL, NULL);
  Copy copy = { edit, context, values };
  IrFunctionInfo info = copy_info (context, body->function);
  IrGraph *to = ir_edit_add_graph (edit, IR_GRAPH_FUNCTION, info.name);
  guint n_inputs = ir_graph_n_inputs (body), n_outputs = ir_graph_n_outputs (body), n_nodes;
  g_autofree IrValue **ends = g_new0 (IrValue *, MAX (n_inputs, n_outputs) + 1);
  IrNode *const *nodes = ir_graph_order (body, &n_nodes);

  ir_edit_set_function_info (edit, to, &info);
  for (guint i = 0; i < n_inputs; i++)
    ends[i] = copy_value (&copy, ir_graph_input (body, i), to);
  ir_edit_set_graph_inputs (edit, to, ends, n_inputs);
  for (guint i = 0; i < n_nodes; i++)
    copy_node (&copy, nodes[i], to);
  for (guint i = 0; i < n_outputs; i++)
    ends[i] = copy_value (&copy, ir_graph_output (body, i), to);
  ir_edit_set_graph_outputs (edit, to, ends, n_outputs);
}

static gboolean
add_body (IrEdit *edit, const IrOp *op, GError **error)
{
  const char *domain = op->domain != NULL ? op->domain : "";

  if (ir_model_find_function (ir_edit_model (edit), domain, op->name, "") != NULL)
    return TRUE;
  g_autoptr (IrModel) holder = ir_function_from_text (op->body, domain, op->name, error);
  if (holder == NULL)
    return FALSE;
  copy_body (edit, ir_model_find_function (holder, domain, op->name, ""));
  return TRUE;
}

/* Rows, not nodes: edits move the arrays of the model. */
static GHashTable *
wanted_rows (IrModel *model, const IrOp *only)
{
  GHashTable *rows = g_hash_table_new (NULL, NULL);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = g_ptr_array_index (model->nodes, i);
      if (node == NULL || node->state != IR_STATE_LIVE || node->op == NULL ||
          node->op->body == NULL)
        continue;
      gboolean runs = ir_ref_kernel (node->op) != NULL || (node->op->flags & IR_OP_SUBGRAPHS) != 0;
      if (only != NULL ? node->op == only : !runs)
        g_hash_table_add (rows, (gpointer) node->op);
    }
  return rows;
}

/**
 * ir_exec_expand_bodies:
 * @edit: an edit that imports
 * @only: (nullable): the row whose nodes are replaced although it may have a kernel; %NULL: all
 * that have a body and no kernel
 * @problems: gets a problem where a call has to stay
 * @error: return location for an error
 *
 * Replaces nodes by the bodies of their rows, and calls of the model's own functions by theirs.
 *
 * Returns: %FALSE if a body cannot be read
 */
gboolean
ir_exec_expand_bodies (IrEdit *edit, const IrOp *only, GPtrArray *problems, GError **error)
{
  /* A body may have nodes that need bodies themselves. */
  for (guint round = 0; round < 8; round++)
    {
      g_autoptr (GHashTable) rows = wanted_rows (ir_edit_model (edit), only);
      GHashTableIter iter;
      gpointer op;

      g_hash_table_iter_init (&iter, rows);
      while (g_hash_table_iter_next (&iter, &op, NULL))
        if (!add_body (edit, op, error))
          return FALSE;
      ir_inline_functions (edit, problems);
      if (g_hash_table_size (rows) == 0 || only != NULL)
        return TRUE;
    }
  return TRUE;
}

/**
 * ir_exec_inline_node:
 * @edit: an edit, with a step open unless it imports
 * @node: a node whose row has a body, or that is composed, or that calls a function of the model
 * @data: not used; so that this is an #IrGradInline
 * @error: return location for an error
 *
 * Replaces @node by the nodes of that body, whose types are not known yet.
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED where the body is written for another version.
 *
 * Returns: %TRUE if @node is gone
 */
gboolean
ir_exec_inline_node (IrEdit *edit, IrNode *node, gpointer data, GError **error)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  gboolean own = ir_node_function (node) != NULL;
  const IrOp *op = node->op;

  if (!own && op != NULL && op->compose != NULL)
    return ir_exec_compose_node (edit, node, error);
  if (!own && (op == NULL || op->body == NULL || !add_body (edit, op, error)))
    {
      if (error != NULL && *error == NULL)
        g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED, "%s has no body",
                     node->op_type);
      return FALSE;
    }
  const IrGraph *body = ir_node_function (node);
  gboolean done = ir_inline_call (edit, node, problems);
  if (!done)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED, "%s",
                 problems->len > 0 ? ((IrProblem *) problems->pdata[0])->message
                                   : "its body cannot be put in its place");
  if (!own && body != NULL)
    ir_edit_remove_graph (edit, (IrGraph *) body);
  return done;
}
