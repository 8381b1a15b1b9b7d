/* Loops whose iterations are written out: see unroll.h. */
#include "config.h"

#include "passes/rewrites/unroll.h"

#include "core/ir/frames.h"
#include "core/ir/inline.h"
#include "core/op/check.h"
#include "core/op/op.h"
#include "passes/rewrites/trips.h"
#include "passes/rule/step.h"

/* How many nodes @graph has, with those of the graphs inside it; G_MAXUINT if some is random. */
guint
ir_unroll_size (const IrGraph *graph)
{
  IrNode *const *nodes;
  guint n, size = 0;

  nodes = ir_graph_order (graph, &n);
  for (guint i = 0; i < n && size < G_MAXUINT; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes[i]);

      if (nodes[i]->op != NULL && nodes[i]->op->flags & IR_OP_RANDOM)
        return G_MAXUINT;
      size += !ir_node_is_constant (nodes[i]);
      for (guint k = 0; k < inner->len && size < G_MAXUINT; k++)
        {
          guint more = ir_unroll_size (inner->pdata[k]);
          size = more > G_MAXUINT / 2 ? G_MAXUINT : MIN (size + more, G_MAXUINT / 2);
        }
    }
  return size;
}

/* -- what is known -- */

static gboolean
fits (const IrKnownLoop *loop)
{
  if (loop->body == NULL || ir_graph_is_cyclic (loop->body) ||
      ir_graph_n_inputs (loop->body) != loop->n_carried + 2 ||
      ir_graph_n_outputs (loop->body) < MAX (loop->n_carried, loop->node->n_outputs) + 1 ||
      loop->node->n_outputs < loop->n_carried)
    return FALSE;
  for (guint i = 0; i < loop->n_carried; i++)
    if (loop->node->inputs[i + 2] == NULL)
      return FALSE;
  for (guint i = 0; i < loop->n_carried + 2; i++)
    if (ir_graph_input (loop->body, i) == NULL || ir_graph_input (loop->body, i)->initializer)
      return FALSE;
  for (guint i = 0; i < ir_graph_n_outputs (loop->body); i++)
    if (ir_graph_output (loop->body, i) == NULL)
      return FALSE;
  return TRUE;
}

gboolean
ir_unroll_find (IrNode *node, IrKnownLoop *loop)
{
  *loop = (IrKnownLoop){ node, ir_node_attr_graph (node, "body"), MAX (node->n_inputs, 2) - 2, -1 };
  return ir_op_is (node, IR_OP_LOOP) && fits (loop);
}

gboolean
ir_unroll_only_limit (const IrKnownLoop *loop)
{
  return ir_is_true_inside (loop->body, ir_graph_output (loop->body, 0)) ||
         ir_node_trips (loop->node) >= 0;
}

/* How often the body runs, if the graph says so. */
gboolean
ir_unroll_count_trips (IrKnownLoop *loop)
{
  loop->trips = ir_node_trips (loop->node);
  return loop->trips >= 0;
}

/* What makes the number of iterations unknown, by its name. (transfer full) */
char *
ir_unroll_why_unknown (const IrKnownLoop *loop)
{
  const IrValue *limit = ir_node_input (loop->node, 0), *first = ir_node_input (loop->node, 1);
  gint64 element;

  if (limit == NULL && ir_is_true_inside (loop->body, ir_graph_output (loop->body, 0)))
    return g_strdup ("how often it runs is not known: it has no limit");
  if (limit != NULL && !ir_value_known_integer (limit, &element))
    return g_strdup_printf ("how often it runs is not known: its limit %s is no constant",
                            limit->name);
  if (first != NULL && !ir_value_known_integer (first, &element))
    return g_strdup_printf ("how often it runs is not known: its condition %s is no constant",
                            first->name);
  return g_strdup_printf (
      "how often it runs is not known: the condition %s that its body gives may end it, and compares no counter with a constant",
      ir_graph_output (loop->body, 0)->name);
}

gboolean
ir_unroll_stacks_tensors (const IrKnownLoop *loop)
{
  for (guint i = loop->n_carried; i < loop->node->n_outputs; i++)
    if (!ir_type_is_tensor (ir_graph_output (loop->body, i + 1)->type))
      return FALSE;
  return TRUE;
}

/* -- what moves -- */

void
ir_unroll_move_free_values (IrPassContext *context,
                            IrPassNames *names,
                            const IrGraph *from,
                            IrGraph *to)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  IrValue *const *live;
  guint n;

  live = ir_graph_values (from, &n);
  for (guint i = 0; i < n; i++)
    if (live[i]->producer == NULL && !ir_graph_has_input (from, live[i]))
      g_ptr_array_add (values, live[i]);
  for (guint i = 0; i < values->len; i++)
    ir_pass_move_value (context, names, values->pdata[i], to);
}

gboolean
ir_unroll_hand_over (IrPassContext *context, IrNode *node, const GPtrArray *results)
{
  guint n = node->n_outputs;
  g_autofree IrValue **old = g_memdup2 (node->outputs, n * sizeof (IrValue *));

  for (guint i = 0; i < n; i++)
    {
      if (old[i] == NULL || old[i]->n_uses == 0)
        continue;
      if (results->pdata[i] == NULL || !ir_pass_fit_type (context, old[i], results->pdata[i]))
        return FALSE;
      ir_edit_replace_uses (context->edit, old[i], results->pdata[i]);
    }
  ir_pass_remove_node (context, node);
  for (guint i = 0; i < n; i++)
    if (old[i] != NULL && results->pdata[i] != NULL &&
        ((IrValue *) results->pdata[i])->producer != NULL)
      ir_pass_take_name (context, old[i], results->pdata[i]);
  return TRUE;
}

/* -- copies -- */

IrValue *
ir_unroll_scalar (
    IrPassContext *context, IrGraph *graph, const char *name, IrDtype dtype, gint64 number)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (dtype, (double) number);

  return ir_pass_add_constant (context, graph, name, tensor);
}

void
ir_unroll_copy (IrPassContext *context,
                const IrKnownLoop *loop,
                const IrUnrolledIteration *iteration,
                GPtrArray *carried,
                GPtrArray **scans)
{
  g_autoptr (GHashTable) values = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) nodes = NULL;
  IrValue *first = ir_graph_input (loop->body, 0), *second = ir_graph_input (loop->body, 1);
  IrValue *number = iteration->number, *condition = iteration->condition;

  if (number == NULL && first->n_uses > 0)
    number = ir_unroll_scalar (context, iteration->to, "iteration", IR_DTYPE_INT64,
                               iteration->constant);
  if (condition == NULL && second->n_uses > 0)
    condition = ir_unroll_scalar (context, iteration->to, "true", IR_DTYPE_BOOL, 1);
  g_hash_table_insert (values, first, number);
  g_hash_table_insert (values, second, condition);
  for (guint i = 0; i < loop->n_carried; i++)
    g_hash_table_insert (values, ir_graph_input (loop->body, i + 2), carried->pdata[i]);
  nodes = ir_inline_iteration (context->edit, loop->node, loop->body, iteration->to, values,
                               iteration->suffix, iteration->mark);
  for (guint i = 0; i < nodes->len; i++)
    ir_infer_node (context->edit, nodes->pdata[i], NULL);
  for (guint i = 1; i < ir_graph_n_outputs (loop->body); i++)
    {
      IrValue *result = g_hash_table_lookup (values, ir_graph_output (loop->body, i));

      if (i <= loop->n_carried)
        carried->pdata[i - 1] = result;
      else
        g_ptr_array_add (scans[i - 1 - loop->n_carried], result);
    }
}

/* @value with a new first axis of size 1. */
static IrValue *
unsqueeze (
    IrPassContext *context, const IrKnownLoop *loop, IrGraph *graph, IrValue *value, IrValue **axes)
{
  static const gint64 zero = 0;
  gboolean by_input = ir_graph_opset (graph, "") >= 13;
  IrNode *node;

  if (by_input && *axes == NULL)
    {
      g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (&zero, 1);
      *axes = ir_pass_add_constant (context, graph, "axes", tensor);
    }
  IrValue *inputs[] = { value, *axes };
  node = ir_edit_add_node (context->edit, graph, "Unsqueeze", NULL, NULL, by_input ? 2 : 1, inputs,
                           1);
  if (!by_input)
    ir_edit_set_attr (context->edit, node,
                      ir_attr_ints (context->model->context, "axes", &zero, 1));
  ir_infer_node (context->edit, node, NULL);
  ir_edit_step_map_node (context->edit, loop->node->id, node->id);
  return node->outputs[0];
}

IrValue *
ir_unroll_stack (IrPassContext *context,
                 const IrKnownLoop *loop,
                 IrGraph *graph,
                 const GPtrArray *parts,
                 IrValue **axes)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new ();
  IrNode *node;

  for (guint i = 0; i < parts->len; i++)
    g_ptr_array_add (rows, unsqueeze (context, loop, graph, parts->pdata[i], axes));
  if (rows->len == 1)
    return rows->pdata[0];
  node = ir_edit_add_node (context->edit, graph, "Concat", NULL, NULL, rows->len,
                           (IrValue *const *) rows->pdata, 1);
  ir_edit_set_attr (context->edit, node, ir_attr_int (context->model->context, "axis", 0));
  ir_infer_node (context->edit, node, NULL);
  ir_edit_step_map_node (context->edit, loop->node->id, node->id);
  return node->outputs[0];
}
