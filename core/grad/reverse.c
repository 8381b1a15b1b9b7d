/* Reverse accumulation: one engine for the operator Gradient, the pass of that name, and bodies.
 *
 *   ones like y                 seed
 *                               keep: what backward needs and the node can give beside (a mask)
 *   for each node, backwards:   vjp: the derivative by its outputs becomes that by its inputs
 *   Sum (all that came)         accumulate, where several nodes read a value; one sum, in the order
 *                               in which the parts came, and in float for the half precisions
 *
 * Only nodes between what is derived and what it is derived by are visited (activity), and what no
 * derivative comes to is 0 without a node (symbolic zeros). An operator without rules is derived
 * through a copy of its body. Source: Griewank and Walther, Evaluating Derivatives, chapter 3. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/grad.h"
#include "core/ir/grad-mark.h"
#include "core/ir/inline.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#include <string.h>

#define MAX_NODES (1000 * 1000) /* derivatives of derivatives grow fast; more is hostile */

#define R(ID, NAME) const char ir_grad_rule_##ID[] = NAME;
IR_GRAD_RULES (R)
#undef R

struct _IrReverse
{
  IrEdit *edit;
  IrGraph *graph;
  guint64 rank;
  IrGradHooks hooks;
  guint first_node;      /* nodes from there on are new */
  GHashTable *active;    /* set of IrValue: what depends on what is derived by */
  GHashTable *held;      /* set of IrValue: independent of what they are computed from */
  GHashTable *adjoints;  /* IrValue -> GPtrArray of IrValue: what has come so far */
  const IrNode *of_body; /* (nullable) whose body this derives: its inputs are noted around it */
};

/**
 * ir_grad_error_quark:
 *
 * Returns: the domain of errors of derivatives, %IR_GRAD_ERROR
 */
GQuark
ir_grad_error_quark (void)
{
  return g_quark_from_static_string ("ir-grad-error-quark");
}

/**
 * ir_reverse_new:
 * @edit: an edit; types of values are inferred
 * @graph: where values are derived
 * @rank: place of new nodes in the order
 * @hooks: (nullable): what to do around each part
 *
 * Returns: (transfer full): a derivation that begins
 */
IrReverse *
ir_reverse_new (IrEdit *edit, IrGraph *graph, guint64 rank, const IrGradHooks *hooks)
{
  IrReverse *reverse = g_new0 (IrReverse, 1);

  reverse->edit = edit;
  reverse->graph = graph;
  reverse->rank = rank;
  if (hooks != NULL)
    reverse->hooks = *hooks;
  reverse->active = g_hash_table_new (NULL, NULL);
  reverse->held = g_hash_table_new (NULL, NULL);
  reverse->adjoints = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  return reverse;
}

/**
 * ir_reverse_free:
 * @reverse: (transfer full): a derivation
 */
void
ir_reverse_free (IrReverse *reverse)
{
  g_hash_table_unref (reverse->active);
  g_hash_table_unref (reverse->held);
  g_hash_table_unref (reverse->adjoints);
  g_free (reverse);
}

/**
 * ir_reverse_by:
 * @reverse: a derivation
 * @value: what is derived by
 */
void
ir_reverse_by (IrReverse *reverse, IrValue *value)
{
  g_hash_table_add (reverse->active, value);
}

/**
 * ir_reverse_hold:
 * @reverse: a derivation
 * @value: what counts as independent of what it is computed from
 */
void
ir_reverse_hold (IrReverse *reverse, IrValue *value)
{
  g_hash_table_add (reverse->held, value);
}

static gboolean
begin (const IrReverse *reverse, const char *rule, const IrNode *anchor)
{
  return reverse->hooks.begin == NULL || reverse->hooks.begin (rule, anchor, reverse->hooks.data);
}

static void
end (const IrReverse *reverse)
{
  if (reverse->hooks.end != NULL)
    reverse->hooks.end (reverse->hooks.data);
}

static IrVjp
vjp_of (const IrReverse *reverse, const IrNode *node)
{
  return (IrVjp){ .edit = reverse->edit,
                  .node = node,
                  .graph = reverse->graph,
                  .rank = reverse->rank,
                  .inline_body = reverse->hooks.inline_body,
                  .inline_data = reverse->hooks.data };
}

/* -- activity -- */

static gboolean
lies_within (const IrValue *value, const IrNode *node)
{
  for (const IrGraph *graph = value->graph; graph != NULL; graph = ir_graph_outer (graph))
    if (graph->owner == node->id && graph->kind == IR_GRAPH_SUBGRAPH)
      return TRUE;
  return FALSE;
}

/* Values around @outer that subgraphs of @node, @outer or a node in it, read. */
static void
add_captured (const IrNode *node, const IrNode *outer, GPtrArray *values)
{
  if (node->op != NULL && !(node->op->flags & IR_OP_SUBGRAPHS))
    return;
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);
  for (guint g = 0; subgraphs != NULL && g < subgraphs->len; g++)
    {
      const IrGraph *graph = subgraphs->pdata[g];
      guint n;
      IrNode *const *order = ir_graph_order (graph, &n);
      for (guint i = 0; i < n; i++)
        {
          ir_node_for_each_input (order[i], k, value)
            if (!lies_within (value, outer))
              g_ptr_array_add (values, value);
          add_captured (order[i], outer, values);
        }
      for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
        if (!lies_within (ir_graph_output (graph, i), outer))
          g_ptr_array_add (values, ir_graph_output (graph, i));
    }
}

/**
 * ir_grad_captured:
 * @node: a node
 *
 * Returns: (transfer container) (element-type IrValue): values around @node that its subgraphs read,
 *   each once
 */
GPtrArray *
ir_grad_captured (const IrNode *node)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GPtrArray *values = g_ptr_array_new ();

  add_captured (node, node, all);
  for (guint i = 0; i < all->len; i++)
    if (g_hash_table_add (seen, all->pdata[i]))
      g_ptr_array_add (values, all->pdata[i]);
  return values;
}

/**
 * ir_reverse_captured:
 * @reverse: a derivation
 * @node: a node
 *
 * Returns: (transfer container) (element-type IrValue): floating-point values that its subgraphs
 *   read, and that derivatives are wanted by, each once
 */
GPtrArray *
ir_reverse_captured (const IrReverse *reverse, const IrNode *node)
{
  GPtrArray *values = ir_grad_captured (node);

  for (guint i = values->len; i-- > 0;)
    if (!g_hash_table_contains (reverse->active, values->pdata[i]) ||
        !ir_emit_is_float (values->pdata[i]))
      g_ptr_array_remove_index (values, i);
  return values;
}

/**
 * ir_reverse_reads:
 * @node: a node
 * @value: a value
 *
 * Returns: whether @node has it as an input, or its subgraphs read it
 */
gboolean
ir_reverse_reads (const IrNode *node, const IrValue *value)
{
  ir_node_for_each_input (node, i, input)
    if (input == value)
      return TRUE;
  g_autoptr (GPtrArray) values = ir_grad_captured (node);
  return g_ptr_array_find (values, value, NULL);
}

/**
 * ir_reverse_is_active:
 * @reverse: a derivation
 * @value: a value
 *
 * Returns: whether it depends on what is derived by
 */
gboolean
ir_reverse_is_active (const IrReverse *reverse, const IrValue *value)
{
  return g_hash_table_contains (reverse->active, value);
}

static gboolean
reads_active (const IrReverse *reverse, const IrNode *node)
{
  ir_node_for_each_input (node, i, value)
    if (g_hash_table_contains (reverse->active, value))
      return TRUE;
  g_autoptr (GPtrArray) captured = ir_reverse_captured (reverse, node);
  return captured->len > 0;
}

static void
activate (IrReverse *reverse, const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs && ir_grad_mark (node) != IR_GRAD_MARK_STOP; i++)
    if (node->outputs[i] != NULL && !g_hash_table_contains (reverse->held, node->outputs[i]))
      g_hash_table_add (reverse->active, node->outputs[i]);
}

/**
 * ir_reverse_activate:
 * @reverse: a derivation that knows what it derives by
 * @path: nodes, in order
 * @n: how many
 *
 * Has outputs of nodes count as active that read what is.
 */
void
ir_reverse_activate (IrReverse *reverse, IrNode *const *path, guint n)
{
  for (guint i = 0; i < n; i++)
    if (reads_active (reverse, path[i]))
      activate (reverse, path[i]);
}

/* Adds the nodes that lead to @of to @needed. */
static void
add_sources (const IrReverse *reverse, const IrValue *of, GHashTable *needed)
{
  g_autoptr (GPtrArray) waiting = g_ptr_array_new ();

  g_ptr_array_add (waiting, (gpointer) of);
  while (waiting->len > 0)
    {
      const IrValue *value = g_ptr_array_steal_index_fast (waiting, waiting->len - 1);
      IrNode *node = value->producer;
      if (node == NULL || node->graph != reverse->graph ||
          g_hash_table_contains (reverse->held, value) || !g_hash_table_add (needed, node))
        continue;
      ir_node_for_each_input (node, i, input)
        g_ptr_array_add (waiting, input);
      add_captured (node, node, waiting);
    }
}

/**
 * ir_reverse_sources:
 * @reverse: a derivation
 * @of: a value
 *
 * Returns: (transfer full) (element-type IrNode): the nodes that lead to @of, also by what subgraphs
 *   read, not beyond what is held
 */
GHashTable *
ir_reverse_sources (const IrReverse *reverse, const IrValue *of)
{
  GHashTable *needed = g_hash_table_new (NULL, NULL);

  add_sources (reverse, of, needed);
  return needed;
}

/**
 * ir_reverse_path:
 * @reverse: a derivation that knows what it derives by
 * @of: (array length=n): what is derived
 * @n: how many
 *
 * Returns: (transfer container): the nodes between, in order
 */
GPtrArray *
ir_reverse_path (const IrReverse *reverse, IrValue *const *of, guint n)
{
  g_autoptr (GHashTable) needed = g_hash_table_new (NULL, NULL);
  GPtrArray *path = g_ptr_array_new ();
  guint n_nodes;
  IrNode *const *order = ir_graph_order (reverse->graph, &n_nodes);

  for (guint i = 0; i < n; i++)
    add_sources (reverse, of[i], needed);
  for (guint i = 0; i < n_nodes; i++)
    if (g_hash_table_contains (needed, order[i]) && reads_active (reverse, order[i]))
      {
        g_ptr_array_add (path, order[i]);
        activate ((IrReverse *) reverse, order[i]);
      }
  return path;
}

/* -- what comes to a value -- */

/**
 * ir_reverse_give:
 * @reverse: a derivation
 * @value: a value
 * @part: what comes to it, of its shape
 */
void
ir_reverse_give (IrReverse *reverse, IrValue *value, IrValue *part)
{
  GPtrArray *parts = g_hash_table_lookup (reverse->adjoints, value);

  if (parts == NULL)
    {
      parts = g_ptr_array_new ();
      g_hash_table_insert (reverse->adjoints, value, parts);
    }
  g_ptr_array_add (parts, part);
}

static IrValue *
sum_of (const IrReverse *reverse, GPtrArray *parts)
{
  IrVjp vjp = vjp_of (reverse, NULL);
  IrDtype dtype = ir_value_dtype (parts->pdata[0]);
  gboolean half = dtype == IR_DTYPE_FLOAT16 || dtype == IR_DTYPE_BFLOAT16;

  if (dtype == IR_DTYPE_UNDEFINED) /* containers */
    {
      IrValue *sum = parts->pdata[0];
      for (guint i = 1; i < parts->len; i++)
        sum = ir_emit_add (&vjp, sum, parts->pdata[i]);
      return sum;
    }
  for (guint i = 0; half && i < parts->len; i++)
    parts->pdata[i] = ir_emit_cast (&vjp, parts->pdata[i], IR_DTYPE_FLOAT);
  return ir_emit_cast (&vjp, ir_emit (&vjp, "Sum", parts->len, (IrValue *const *) parts->pdata),
                       dtype);
}

/**
 * ir_reverse_gradient:
 * @reverse: a derivation
 * @value: a value whose readers have all been visited
 *
 * Returns: (nullable): the derivative by @value; %NULL: it is 0
 */
IrValue *
ir_reverse_gradient (IrReverse *reverse, IrValue *value)
{
  GPtrArray *parts = g_hash_table_lookup (reverse->adjoints, value);

  if (parts == NULL || parts->len == 0)
    return NULL;
  if (parts->len > 1)
    {
      if (!begin (reverse, ir_grad_rule_ACCUMULATE, value->producer))
        return NULL;
      IrValue *sum = sum_of (reverse, parts);
      g_ptr_array_set_size (parts, 0);
      g_ptr_array_add (parts, sum);
      end (reverse);
    }
  return parts->pdata[0];
}

/* -- one node -- */

/* @values: the outputs of a copy of @node, which its body computes in its place */
static gboolean
inline_copy (const IrReverse *reverse, const IrNode *node, IrValue **values, GError **error)
{
  IrNode *copy = ir_edit_add_node (reverse->edit, reverse->graph, node->op_type, node->domain, NULL,
                                   node->n_inputs, node->inputs, node->n_outputs);

  memcpy (values, copy->outputs, node->n_outputs * sizeof *values);
  for (guint i = 0; i < node->n_attrs; i++)
    ir_edit_set_attr (reverse->edit, copy, node->attrs[i]);
  ir_edit_set_rank (reverse->edit, copy, reverse->rank);
  return reverse->hooks.inline_body (reverse->edit, copy, reverse->hooks.data, error);
}

/* Bodies of operators of irscope are written for float, without CastLike, which is younger than they may
 * be: what of @part is float becomes @dtype. */
static void
retype (IrEdit *edit, IrNode *part, IrDtype dtype)
{
  IrContext *context = ir_edit_model (edit)->context;
  const IrAttr *number = ir_node_attr (part, "value_float");
  IrTensor *value = ir_node_attr_tensor (part, "value");
  g_autoptr (IrTensor) tensor = NULL;

  if (ir_op_is (part, IR_OP_CAST) && ir_node_attr_int (part, "to", 0) == IR_DTYPE_FLOAT)
    ir_edit_set_attr (edit, part, ir_attr_int (context, "to", dtype));
  if (!ir_op_is (part, IR_OP_CONSTANT))
    return;
  if (value != NULL && ir_tensor_dtype (value) == IR_DTYPE_FLOAT)
    tensor = ir_tensor_cast (value, dtype);
  else if (number != NULL && number->ref_name == NULL)
    tensor = ir_tensor_new_scalar (dtype, (double) number->floats[0]);
  if (tensor == NULL)
    return;
  if (number != NULL)
    ir_edit_unset_attr (edit, part, "value_float");
  ir_edit_set_attr (edit, part, ir_attr_tensor (context, "value", tensor));
}

/* What the body of @node has to be in, if that is not what it is written in; else %IR_DTYPE_UNDEFINED. With a
 * stash_type a node says itself what it computes in, at least: float64 stays float64. */
static IrDtype
other_type (const IrNode *node, const IrGradRow *row)
{
  const IrValue *x = ir_node_input (node, 0);
  const IrDtype dtype = x != NULL ? ir_value_dtype (x) : IR_DTYPE_UNDEFINED;
  const gboolean ours = row != NULL && row->body && g_strcmp0 (node->op->domain, "irscope") == 0 &&
                        (dtype == IR_DTYPE_DOUBLE || ir_op_attr (node->op, "stash_type") == NULL);

  return ours && ir_dtype_is_float (dtype) && dtype != IR_DTYPE_FLOAT ? dtype : IR_DTYPE_UNDEFINED;
}

/**
 * ir_reverse_open_body:
 * @reverse: a derivation whose hooks can inline
 * @node: a call, or a node whose row has a body or an expansion
 * @outputs: (out) (transfer container): the values that stand for its outputs
 * @error: return location for an error
 *
 * Computes @node once more by the nodes of its body, at the place of new nodes.
 *
 * Returns: (transfer container) (nullable): these nodes, in order
 */
GPtrArray *
ir_reverse_open_body (const IrReverse *reverse,
                      const IrNode *node,
                      IrValue ***outputs,
                      GError **error)
{
  IrModel *model = ir_edit_model (reverse->edit);
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;
  g_autofree IrValue **values = g_new0 (IrValue *, node->n_outputs + 1);
  const IrVjp emit = vjp_of (reverse, node);
  const guint first = model->nodes->len;
  const IrDtype dtype = other_type (node, row);
  GPtrArray *path;

  if (!(row != NULL && row->expand != NULL ? row->expand (&emit, values, error)
                                           : inline_copy (reverse, node, values, error)))
    return NULL;
  path = g_ptr_array_new ();
  for (guint i = first; i < model->nodes->len; i++)
    {
      IrNode *part = model->nodes->pdata[i];
      if (part->state != IR_STATE_LIVE || part->graph != reverse->graph)
        continue;
      ir_edit_set_rank (reverse->edit, part, reverse->rank);
      if (dtype != IR_DTYPE_UNDEFINED)
        retype (reverse->edit, part, dtype);
      ir_infer_node (reverse->edit, part, NULL);
      g_ptr_array_add (path, part);
    }
  *outputs = g_steal_pointer (&values);
  return path;
}

static gboolean
is_input (const IrNode *node, const IrValue *value, guint before)
{
  for (guint i = 0; i < before; i++)
    if (node->inputs[i] == value)
      return TRUE;
  return FALSE;
}

/* Through a copy of the body: what it is computed from is computed again. The derivative is by the
 * value, in whichever place it is read. */
static gboolean
derive_body (const IrReverse *reverse, IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  g_autoptr (IrReverse) inner = ir_reverse_new (reverse->edit, reverse->graph, reverse->rank, NULL);
  g_autofree IrValue **outputs = NULL;
  g_autoptr (GPtrArray) path = ir_reverse_open_body (reverse, node, &outputs, error);

  if (path == NULL)
    return FALSE;
  inner->of_body = node;
  inner->hooks.inline_body = reverse->hooks.inline_body;
  inner->hooks.data = reverse->hooks.data;
  for (guint i = 0; i < node->n_inputs; i++)
    if (vjp->wanted[i])
      ir_reverse_by (inner, node->inputs[i]);
  for (guint i = 0; i < vjp->n_captured; i++)
    ir_reverse_by (inner, vjp->captured[i]);
  for (guint i = 0; i < node->n_outputs; i++)
    if (vjp->dy[i] != NULL)
      ir_reverse_give (inner, outputs[i], vjp->dy[i]);
  if (!ir_reverse_run (inner, NULL, NULL, (IrNode *const *) path->pdata, path->len, error))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (vjp->wanted[i] && !is_input (node, node->inputs[i], i))
      vjp->dx[i] = ir_reverse_gradient (inner, node->inputs[i]);
  for (guint i = 0; i < vjp->n_captured; i++)
    if (!is_input (node, vjp->captured[i], node->n_inputs))
      vjp->by_captured[i] = ir_reverse_gradient (inner, vjp->captured[i]);
  return TRUE;
}

/* As if it were the identity of its first input. Source: Bengio, Leonard and Courville 2013, Estimating
 * or Propagating Gradients Through Stochastic Neurons. */
static gboolean
pass_through (IrVjp *vjp, GError **error)
{
  const IrValue *x = ir_node_input (vjp->node, 0), *y = ir_node_output (vjp->node, 0);

  if (x == NULL || y == NULL || vjp->dy[0] == NULL || x->type == NULL || y->type == NULL ||
      x->type->rank != y->type->rank ||
      memcmp (x->type->dims, y->type->dims, MAX (x->type->rank, 0) * sizeof *x->type->dims) != 0)
    return ir_emit_fail (
        vjp, error,
        "it is marked straight-through, which needs a first input with the shape of "
        "the first output");
  if (vjp->wanted[0])
    vjp->dx[0] = ir_emit_cast (vjp, vjp->dy[0], ir_value_dtype (x));
  return TRUE;
}

/**
 * ir_reverse_node:
 * @reverse: a derivation
 * @vjp: a node, and the derivatives by its outputs; dx is filled in
 * @error: return location for an error
 *
 * By its mark, its body or its rule. Fails with %IR_GRAD_ERROR_NO_RULE, naming the node, where none
 * of them can.
 *
 * Returns: %TRUE if the derivatives by all wanted inputs are there
 */
gboolean
ir_reverse_node (const IrReverse *reverse, IrVjp *vjp, GError **error)
{
  const IrGradRow *row = vjp->node->op != NULL ? ir_grad_row (vjp->node->op) : NULL;
  gboolean call = ir_node_function (vjp->node) != NULL;
  guint first_node = ir_edit_model (reverse->edit)->nodes->len;
  guint first_value = ir_edit_model (reverse->edit)->values->len;
  g_autoptr (GPtrArray) results = g_ptr_array_new ();
  const guint n_inputs = vjp->node->n_inputs; /* a Loop may get more, to keep values */

  if (ir_grad_mark (vjp->node) == IR_GRAD_MARK_STRAIGHT_THROUGH)
    return pass_through (vjp, error);
  if (((call || (row != NULL && row->body)) && reverse->hooks.inline_body != NULL) ||
      (row != NULL && row->expand != NULL))
    {
      if (!derive_body (reverse, vjp, error))
        {
          g_autofree char *label = ir_node_label (vjp->node);
          g_prefix_error (error, "%s, in its body: ", label);
          return FALSE;
        }
    }
  else if (!ir_vjp_run (vjp, error))
    return FALSE;
  for (guint i = 0; i < n_inputs; i++)
    {
      if (!vjp->wanted[i])
        vjp->dx[i] = NULL;
      g_ptr_array_add (results, vjp->dx[i]);
    }
  for (guint i = 0; i < vjp->n_captured; i++)
    g_ptr_array_add (results, vjp->by_captured[i]);
  ir_emit_sweep (vjp->edit, first_node, first_value, (IrValue *const *) results->pdata,
                 results->len);
  return TRUE;
}

/* Which inputs have a derivative; FALSE with @error where a type is not known. */
static gboolean
find_wanted (const IrReverse *reverse, IrVjp *vjp, gboolean *wanted, gboolean *any, GError **error)
{
  const IrNode *node = vjp->node;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      IrValue *input = node->inputs[i];
      if (input == NULL || !g_hash_table_contains (reverse->active, input))
        continue;
      if (input->type == NULL)
        return ir_emit_fail (vjp, error, "the type of its input %s is not known", input->name);
      *any |= wanted[i] = ir_emit_is_float (input) || ir_vjp_passes_integers (node, i);
    }
  return TRUE;
}

/**
 * ir_reverse_keep:
 * @reverse: a derivation
 * @vjp: a node
 *
 * Has it give out what its derivative reads of the forward part, and that does not come out of it
 * yet; a part of its own.
 */
void
ir_reverse_keep (const IrReverse *reverse, const IrVjp *vjp)
{
  const IrNode *node = vjp->node;
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;
  guint slot = row != NULL && row->keep != NULL ? row->keep (node) : 0;

  if (slot == 0 || ir_node_output (node, slot) != NULL || !begin (reverse, ir_grad_rule_KEEP, node))
    return;
  ir_emit_extra_output (vjp, slot);
  end (reverse);
}

/* For proofs and explanations, which follow values of the graph, not of the copies of bodies. */
static void
note_part (const IrReverse *reverse, const IrValue *value, const IrValue *part)
{
  if (reverse->graph->kind != IR_GRAPH_SUBGRAPH &&
      (reverse->of_body == NULL || !ir_reverse_reads (reverse->of_body, value)))
    ir_edit_step_note_part (reverse->edit, value->id, part->id);
}

static void
add_part (IrReverse *reverse, IrValue *value, IrValue *part)
{
  ir_reverse_give (reverse, value, part);
  note_part (reverse, value, part);
}

static gboolean
derive_node (IrReverse *reverse, const IrNode *node, GError **error)
{
  g_autofree IrValue **dy = g_new0 (IrValue *, node->n_outputs + 1);
  g_autofree IrValue **dx = g_new0 (IrValue *, node->n_inputs + 1);
  g_autofree gboolean *wanted = g_new0 (gboolean, node->n_inputs + 1);
  IrVjp vjp = vjp_of (reverse, node);
  gboolean any_dy = FALSE, any_wanted = FALSE;

  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      any_dy |= (dy[i] = ir_reverse_gradient (reverse, node->outputs[i])) != NULL;
  if (!any_dy || ir_grad_mark (node) == IR_GRAD_MARK_STOP)
    return TRUE;
  vjp.dy = dy;
  vjp.dx = dx;
  vjp.wanted = wanted;
  if (!find_wanted (reverse, &vjp, wanted, &any_wanted, error))
    return FALSE;
  g_autoptr (GPtrArray) captured = ir_reverse_captured (reverse, node);
  g_autofree IrValue **by_captured = g_new0 (IrValue *, captured->len + 1);
  if (!any_wanted && captured->len == 0)
    return TRUE;
  vjp.n_captured = captured->len;
  vjp.captured = (IrValue *const *) captured->pdata;
  vjp.by_captured = by_captured;
  ir_reverse_keep (reverse, &vjp);
  if (!begin (reverse, ir_grad_rule_VJP, node))
    return TRUE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (dy[i] != NULL)
      note_part (reverse, node->outputs[i], dy[i]);
  const guint n_inputs = node->n_inputs;
  gboolean done = ir_reverse_node (reverse, &vjp, error);
  for (guint i = 0; done && i < n_inputs; i++)
    if (wanted[i] && dx[i] != NULL)
      add_part (reverse, node->inputs[i], dx[i]);
  for (guint i = 0; done && i < captured->len; i++)
    if (by_captured[i] != NULL)
      add_part (reverse, captured->pdata[i], by_captured[i]);
  end (reverse);
  return done;
}

static gboolean
may_grow (const IrReverse *reverse, const IrNode *node, GError **error)
{
  const guint max = reverse->hooks.max_nodes > 0 ? reverse->hooks.max_nodes : MAX_NODES;
  const guint n = ir_edit_model (reverse->edit)->nodes->len - reverse->first_node;

  if (n <= max)
    return TRUE;
  g_autofree char *label = ir_node_label (node);
  g_set_error (
      error, IR_GRAD_ERROR, IR_GRAD_ERROR_NO_RULE,
      "%s: up to here the backward part has %u nodes, more than the limit of %u (the option nodes "
      "of the pass gradient); raise it, or derive less",
      label, n, max);
  return FALSE;
}

/**
 * ir_reverse_run:
 * @reverse: a derivation
 * @of: (nullable): what is derived; %NULL: derivatives by outputs of @path are there
 * @seed: (nullable): the derivative by @of; %NULL: ones, so that @of stands for its sum
 * @path: the nodes between, in order
 * @n: how many
 * @error: return location for an error
 *
 * Visits @path from its end. Fails with %IR_GRAD_ERROR_NO_RULE, naming the node, where one cannot be
 * derived, and where there are more new nodes than the hooks allow.
 *
 * Returns: %TRUE if all derivatives are there
 */
gboolean
ir_reverse_run (
    IrReverse *reverse, IrValue *of, IrValue *seed, IrNode *const *path, guint n, GError **error)
{
  ir_reverse_activate (reverse, path, n);
  reverse->first_node = ir_edit_model (reverse->edit)->nodes->len;
  if (of != NULL)
    {
      IrVjp vjp = vjp_of (reverse, of->producer);
      if (!begin (reverse, ir_grad_rule_SEED, of->producer))
        return TRUE;
      ir_reverse_give (reverse, of, seed != NULL ? seed : ir_emit_filled (&vjp, of, 1));
      end (reverse);
    }
  for (guint i = n; i-- > 0;)
    {
      if (!may_grow (reverse, path[i], error))
        return FALSE;
      if (!derive_node (reverse, path[i], error))
        return FALSE;
    }
  return TRUE;
}
