/* Bodies of control flow, copied to be derived: see body.h. */
#include "config.h"

#include "core/grad/body.h"

#include "core/ir/inline.h"
#include "core/op/infer.h"
#include "core/op/op.h"

/* @attr of @owner becomes a new graph, without inputs so far. */
void
ir_grad_body_open (
    IrGradBody *body, const IrVjp *vjp, const IrGraph *from, IrNode *owner, const char *attr)
{
  IrContext *context = ir_edit_model (vjp->edit)->context;
  IrGraph *graph = ir_edit_add_graph (vjp->edit, IR_GRAPH_SUBGRAPH,
                                      from != NULL ? from->name : attr);

  ir_edit_set_attr (vjp->edit, owner,
                    ir_attr_graph (context, ir_context_intern (context, attr), graph->id));
  body->vjp = vjp;
  body->from = from;
  body->emit = *vjp;
  body->emit.graph = graph;
  body->values = g_hash_table_new (NULL, NULL);
  body->inputs = g_ptr_array_new ();
  body->outputs = g_ptr_array_new ();
}

void
ir_grad_body_clear (IrGradBody *body)
{
  g_clear_pointer (&body->values, g_hash_table_unref);
  g_clear_pointer (&body->path, g_ptr_array_unref);
  g_clear_pointer (&body->inputs, g_ptr_array_unref);
  g_clear_pointer (&body->outputs, g_ptr_array_unref);
}

IrValue *
ir_grad_body_add_input (IrGradBody *body, const IrType *type)
{
  IrValue *value = ir_edit_add_value (body->emit.edit, body->emit.graph, NULL, type);

  g_ptr_array_add (body->inputs, value);
  return value;
}

/* A value in the place of @value of the body, before that is copied; what makes it comes later. */
IrValue *
ir_grad_body_stand_for (IrGradBody *body, IrValue *value)
{
  IrValue *copy = ir_edit_add_value (body->emit.edit, body->emit.graph, NULL, value->type);

  g_hash_table_insert (body->values, value, copy);
  return copy;
}

void
ir_grad_body_copy (IrGradBody *body)
{
  body->path = ir_inline_body (body->emit.edit, body->vjp->node, body->from, body->emit.graph,
                               body->values);
}

/* What @value of the body, or around it, is in the copy */
IrValue *
ir_grad_body_at (const IrGradBody *body, IrValue *value)
{
  IrValue *copy = g_hash_table_lookup (body->values, value);

  return copy != NULL ? copy : value;
}

/* By an Identity, where no node of the graph makes @value or another output has it. */
void
ir_grad_body_add_output (IrGradBody *body, IrValue *value)
{
  if (value->graph != body->emit.graph || value->producer == NULL ||
      g_ptr_array_find (body->outputs, value, NULL))
    value = ir_emit1 (&body->emit, "Identity", value);
  g_ptr_array_add (body->outputs, value);
}

void
ir_grad_body_close (IrGradBody *body)
{
  ir_edit_set_graph_inputs (body->emit.edit, body->emit.graph,
                            (IrValue *const *) body->inputs->pdata, body->inputs->len);
  ir_edit_set_graph_outputs (body->emit.edit, body->emit.graph,
                             (IrValue *const *) body->outputs->pdata, body->outputs->len);
}

/* (transfer full): a derivation of the copy by what the node captures */
IrReverse *
ir_grad_body_reverse (const IrGradBody *body)
{
  const IrGradHooks hooks = { .inline_body = body->vjp->inline_body,
                              .data = body->vjp->inline_data };
  IrReverse *reverse = ir_reverse_new (body->emit.edit, body->emit.graph, body->emit.rank, &hooks);

  for (guint i = 0; i < body->vjp->n_captured; i++)
    ir_reverse_by (reverse, body->vjp->captured[i]);
  return reverse;
}

/* Of the derived node, a Loop or a Scan */
gboolean
ir_grad_rounds_init (IrGradRounds *rounds, const IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  const IrGraph *body = ir_node_attr_graph (node, "body");
  const gboolean loop = node->op->id == IR_OP_LOOP;
  const gint64 n_slices = loop ? 0 : ir_node_attr_int (node, "num_scan_inputs", 0);

  rounds->node_in = loop ? 2 : 0;
  rounds->body_in = loop ? 2 : 0;
  rounds->body_out = loop ? 1 : 0;
  if (body == NULL || n_slices < 0 || node->n_inputs < rounds->node_in + n_slices)
    return ir_emit_fail (vjp, error, "it has no body, or too few inputs");
  if (!loop && ir_node_opset (node) != 0 && ir_node_opset (node) < 9)
    return ir_emit_needs_opset (vjp, 9, error);
  rounds->n_slices = (guint) n_slices;
  rounds->n_states = node->n_inputs - rounds->node_in - rounds->n_slices;
  if (ir_graph_n_inputs (body) != rounds->body_in + rounds->n_states + rounds->n_slices ||
      ir_graph_n_outputs (body) < rounds->body_out + rounds->n_states)
    return ir_emit_fail (vjp, error,
                         "its body has %u inputs and %u outputs, which do not fit its own",
                         ir_graph_n_inputs (body), ir_graph_n_outputs (body));
  for (guint i = 0; i < rounds->n_states + rounds->n_slices; i++)
    if (node->inputs[rounds->node_in + i] == NULL)
      return ir_emit_fail (vjp, error, "one of its inputs is missing");
  rounds->n_scans = ir_graph_n_outputs (body) - rounds->body_out - rounds->n_states;
  return TRUE;
}

/* (transfer full): a derivation of the body @from of a Loop or a Scan that knows what depends on what
 * is derived by: states take that from round to round. */
IrReverse *
ir_grad_rounds_activity (const IrGradRounds *rounds, const IrVjp *vjp, const IrGraph *from)
{
  IrReverse *activity = ir_reverse_new (vjp->edit, (IrGraph *) from, 0, NULL);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (from);
  gboolean more = TRUE;

  for (guint i = 0; i < vjp->n_captured; i++)
    ir_reverse_by (activity, vjp->captured[i]);
  for (guint i = 0; i < rounds->n_states + rounds->n_slices; i++)
    if (vjp->wanted[rounds->node_in + i])
      ir_reverse_by (activity, ir_graph_input (from, rounds->body_in + i));
  while (more)
    {
      more = FALSE;
      ir_reverse_activate (activity, (IrNode *const *) nodes->pdata, nodes->len);
      for (guint i = 0; i < rounds->n_states; i++)
        {
          IrValue *before = ir_graph_input (from, rounds->body_in + i);
          if (!ir_emit_is_float (before) || ir_reverse_is_active (activity, before) ||
              !ir_reverse_is_active (activity, ir_graph_output (from, rounds->body_out + i)))
            continue;
          ir_reverse_by (activity, before);
          more = TRUE;
        }
    }
  return activity;
}

/* (nullable): a node of @graph, or in it, whose results are others when it is run again */
static const IrNode *
find_random (const IrGraph *graph)
{
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  for (guint i = 0; i < n; i++)
    {
      if (order[i]->op != NULL && (order[i]->op->flags & IR_OP_RANDOM) != 0)
        return order[i];
      const IrGraph *called = ir_node_function (order[i]);
      if (called != NULL && find_random (called) != NULL)
        return order[i];
      g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (order[i]);
      for (guint g = 0; g < subgraphs->len; g++)
        {
          const IrNode *random = find_random (subgraphs->pdata[g]);
          if (random != NULL)
            return random;
        }
    }
  return NULL;
}

/* FALSE with @error if @graph, a body of the derived node, draws random numbers. */
gboolean
ir_grad_refuse_random (const IrVjp *vjp, const IrGraph *graph, GError **error)
{
  const IrNode *random = graph != NULL ? find_random (graph) : NULL;
  g_autofree char *label = random != NULL ? ir_node_label (random) : NULL;

  return random == NULL ||
         ir_emit_fail (
             vjp, error,
             "%s in its body draws random numbers, which would be others when the body is "
             "computed again; draw them outside",
             label);
}
