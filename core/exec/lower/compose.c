/* Operators that are made of others become them in what a back end runs: its kernels for products,
 * convolutions and attention serve them, too. The row's COMPOSE function is followed twice: once
 * for types alone, to see whether every part fits the versions of operators that the graph imports,
 * and once to make nodes.
 *
 *   Y = com.microsoft.FusedMatMul <transB> (A, B)   ->   T = Transpose (B); Y = MatMul (A, T)
 *
 * What cannot be made stays, and runs by the reference kernel of its row. */
#include "config.h"

#include "core/exec/lower/lower.h"
#include "core/op/check.h"
#include "core/op/compose.h"
#include "core/op/infer.h"

typedef struct
{
  IrEdit *edit;
  IrNode *node;
  GPtrArray *made; /* of IrNode */
} Maker;

/* -- whether it can be made -- */

static gboolean
try_inner (IrCompose *c, IrCall *inner, IrPart *const *inputs, IrPart **outputs, GError **error)
{
  const IrOp *op = inner->op;
  gint64 opset = ir_graph_opset (c->call->node->graph, op->domain);

  for (const IrAdapt *adapt = op->adapt; adapt->below != 0; adapt++)
    c->not_nodes |= opset > 0 && opset < adapt->below;
  return ir_compose_infer (c, inner, inputs, outputs, error);
}

static gboolean
can_be_made (const IrNode *node)
{
  g_auto (IrCompose) c = { 0 };
  IrCall call;

  ir_call_init (&call, node);
  ir_compose_init (&c, &call);
  c.apply = try_inner;
  gboolean can = ir_call_check (&call, NULL) && ir_compose_follow (&c, NULL) && !c.not_nodes;
  for (guint i = 0; can && i < node->n_outputs; i++)
    can = node->outputs[i] == NULL || c.results[i] != NULL;
  ir_call_clear (&call);
  return can;
}

/* -- nodes -- */

static const char *
name_within (const Maker *maker, const char *name)
{
  const IrNode *node = maker->node;
  g_autofree char *joined = g_strconcat (node->name[0] != '\0' ? node->name : node->op_type, "/",
                                         name, NULL);

  return ir_edit_unique_name (maker->edit, joined);
}

static IrNode *
make_node (Maker *maker, const IrOp *op, guint n_inputs, IrValue *const *inputs, guint n_outputs)
{
  const IrNode *from = maker->node;
  IrNode *node = ir_edit_add_node (maker->edit, from->graph, op->name, op->domain,
                                   name_within (maker, op->name), n_inputs, inputs, n_outputs);

  ir_edit_set_rank (maker->edit, node, from->rank);
  ir_edit_set_scope (maker->edit, node, from->scope);
  ir_edit_set_device (maker->edit, node, from->device);
  g_ptr_array_add (maker->made, node);
  return node;
}

/* The value of a part: one that a node made, an input, or a constant, which becomes a node. */
static IrValue *
value_of (Maker *maker, const IrCompose *c, IrPart *part)
{
  if (part == NULL)
    return NULL;
  for (guint i = 0; part->value == NULL && i < c->call->n_inputs; i++)
    if (c->inputs[i] == part)
      part->value = i < maker->node->n_inputs ? maker->node->inputs[i] : NULL;
  if (part->value == NULL)
    {
      IrNode *node = make_node (maker, ir_op_by_id (IR_OP_CONSTANT), 0, NULL, 1);

      ir_edit_set_attr (maker->edit, node,
                        ir_attr_tensor (c->call->context, "value", (IrTensor *) part->tensor));
      ir_edit_set_type (maker->edit, node->outputs[0], part->type);
      part->value = node->outputs[0];
    }
  return part->value;
}

static gboolean
make_inner (IrCompose *c, IrCall *inner, IrPart *const *inputs, IrPart **outputs, GError **error)
{
  Maker *maker = c->data;
  g_autofree IrValue **values = g_new0 (IrValue *, inner->n_inputs + 1);

  if (!ir_compose_infer (c, inner, inputs, outputs, error))
    return FALSE;
  for (guint i = 0; i < inner->n_inputs; i++)
    values[i] = value_of (maker, c, inputs[i]);
  IrNode *node = make_node (maker, inner->op, inner->n_inputs, values, inner->n_outputs);
  for (guint i = 0; i < inner->n_attrs; i++)
    ir_edit_set_attr (maker->edit, node, inner->attrs[i]);
  for (guint i = 0; i < inner->n_outputs; i++)
    {
      if (outputs[i]->type != NULL)
        ir_edit_set_type (maker->edit, node->outputs[i], outputs[i]->type);
      outputs[i]->value = node->outputs[i];
    }
  return TRUE;
}

/* Puts @output in the place of the value that a part is, or beside it. */
static void
give_output (Maker *maker, IrCompose *c, IrPart *part, IrValue *output)
{
  IrValue *value = value_of (maker, c, part);
  IrNode *producer = value->producer;

  if (producer != NULL && g_ptr_array_find (maker->made, producer, NULL))
    {
      guint slot = value->output_slot;

      ir_edit_replace_uses (maker->edit, value, output);
      ir_edit_set_output (maker->edit, producer, slot, output);
      part->value = output;
      g_ptr_array_remove (maker->made, producer); /* the next output of it is another one */
      return;
    }
  IrNode *identity = make_node (maker, ir_op_by_id (IR_OP_IDENTITY), 1, &value, 1);
  ir_edit_set_output (maker->edit, identity, 0, output);
}

static void
make (IrEdit *edit, IrNode *node)
{
  g_autoptr (GPtrArray) made = g_ptr_array_new ();
  g_autofree IrValue **outputs = g_memdup2 (node->outputs, sizeof *outputs * node->n_outputs);
  Maker maker = { edit, node, made };
  g_auto (IrCompose) c = { 0 };
  const IrNodeId first = ir_edit_model (edit)->nodes->len;
  IrCall call;

  ir_call_init (&call, node);
  ir_compose_init (&c, &call);
  c.apply = make_inner;
  c.data = &maker;
  if (ir_compose_follow (&c, NULL))
    {
      for (guint i = 0; i < node->n_outputs; i++)
        if (outputs[i] != NULL)
          ir_edit_set_output (edit, node, i, NULL);
      for (guint i = 0; i < node->n_outputs; i++)
        if (outputs[i] != NULL)
          give_output (&maker, &c, c.results[i], outputs[i]);
      ir_edit_note_inlined (edit, node, first);
      ir_edit_remove_node (edit, node);
    }
  ir_call_clear (&call);
}

/**
 * ir_exec_compose_node:
 * @edit: an edit, with a step open unless it imports
 * @node: a node whose operator is composed, with types
 * @error: return location for an error
 *
 * Puts its parts in the place of @node.
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED where the parts depend on what is not known, or do not fit the
 * versions that the graph imports.
 *
 * Returns: %TRUE if @node is gone
 */
gboolean
ir_exec_compose_node (IrEdit *edit, IrNode *node, GError **error)
{
  if (can_be_made (node))
    return make (edit, node), TRUE;
  g_set_error (
      error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
      "%s cannot be taken apart: types that it depends on are not known, or its parts are not "
      "in the versions that the graph imports",
      node->op_type);
  return FALSE;
}

static gboolean
is_wanted (const IrNode *node, const IrBackend *backend)
{
  return node != NULL && node->state == IR_STATE_LIVE && node->op != NULL &&
         node->op->compose != NULL && backend->refuses (node) != NULL &&
         ir_node_wanted_kernel (node) == NULL && node->controls == NULL &&
         !ir_node_has_control_uses (node) && ir_node_is_well_formed (node);
}

/**
 * ir_exec_compose:
 * @model: a private copy of a model, with types, not being edited
 * @backend: what is to run it
 *
 * Puts the parts in the place of each node that is composed, that @backend has no kernel for, and
 * whose parts fit what the model imports. The reference kernels run such nodes as they are.
 */
void
ir_exec_compose (IrModel *model, const IrBackend *backend)
{
  g_autoptr (IrEdit) edit = NULL;

  if (backend == &ir_backend_ref)
    return;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = g_ptr_array_index (model->nodes, i);

      if (!is_wanted (node, backend) || !can_be_made (node))
        continue;
      if (edit == NULL)
        edit = ir_edit_new_import (model);
      if (ir_model_opset (model, "irscope") == 0)
        ir_edit_set_opset (edit, "irscope", 1);
      make (edit, node);
    }
}

/**
 * ir_exec_lower:
 * @model: a model
 * @backend: what is to run it
 * @error: return location for an error
 *
 * Fails as ir_exec_expand() does.
 *
 * Returns: (transfer full) (nullable): a copy of @model as @backend runs it: without function calls,
 *   with the parts of operators that it has no kernel for, and with nodes that tokens move through
 *   inside of a TokenGraph; ids of what @model has are the same
 */
IrModel *
ir_exec_lower (IrModel *model, const IrBackend *backend, GError **error)
{
  g_autoptr (IrModel) copy = ir_exec_expand (model, error);

  if (copy == NULL)
    return NULL;
  ir_exec_compose (copy, backend);
  ir_exec_wrap_tokens (copy);
  return g_steal_pointer (&copy);
}
