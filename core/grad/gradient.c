/* Gradient nodes of ai.onnx.preview.training, replaced by ordinary nodes before a run.
 *
 *   c = Add (a, b)                                  c = Add (a, b)
 *   d = Mul (c, a)                           ->     d = Mul (c, a)
 *   g, h = Gradient <xs = ["a", "b"],               one = ConstantOfShape (shape of d)
 *                    y = "d"> (a, b)                h = Mul (one, a)
 *                                                   g = Sum (Mul (one, c), h)
 *
 * The attributes name values of the graph around the node: y is seen as a function of xs and zs,
 * and derived by xs where they have the values of the node's inputs. Reverse accumulation: from y
 * backwards, each node between xs and y turns the derivative by its outputs into that by its inputs
 * (reverse.c), and what comes over several ways is added. Where an input of the Gradient node is
 * another value than the attribute names, the nodes between are repeated on it first. A y of
 * several elements stands for their sum.
 *
 * A Gradient node may derive what another one computes (second derivatives): those are replaced
 * first. Source: ONNX ai.onnx.preview.training Gradient 1. */
#include "config.h"

#include "core/grad/grad.h"
#include "core/grad/emit.h"
#include "core/op/infer.h"
#include "core/op/op.h"
#include <string.h>

#define MIN_OPSET 9 /* Where and ConstantOfShape; broadcasting without attributes */

typedef struct
{
  IrEdit *edit;
  IrNode *node; /* the Gradient */
  IrGraph *graph;
  IrValue *y;
  GHashTable *bounds; /* set of IrValue: xs and zs */
  GHashTable *here;   /* IrValue -> IrValue: the same at the place, where it differs */
  GPtrArray *path;    /* of IrNode: between xs and y, in order */
} Derivation;

static void
derivation_clear (Derivation *d)
{
  g_clear_pointer (&d->bounds, g_hash_table_unref);
  g_clear_pointer (&d->here, g_hash_table_unref);
  g_clear_pointer (&d->path, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Derivation, derivation_clear)

static gboolean fail (const IrNode *node, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (const IrNode *node, GError **error, const char *format, ...)
{
  g_autofree char *label = ir_node_label (node);
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, IR_GRAD_ERROR, IR_GRAD_ERROR_NO_RULE, "%s: %s", label, message);
  return FALSE;
}

static IrValue *
at_place (const Derivation *d, IrValue *value)
{
  IrValue *here = value != NULL ? g_hash_table_lookup (d->here, value) : NULL;

  return here != NULL ? here : value;
}

/* -- what the node names -- */

static IrValue *
find_value (const Derivation *d, const char *name, GError **error)
{
  IrValue *value = ir_graph_find_value_in_scope (d->graph, name);

  if (value == NULL)
    fail (d->node, error, "there is no value “%s” in its graph", name);
  return value;
}

/* (nullable) @output: an existing value to make. */
static IrValue *
add_identity (const Derivation *d, IrValue *from, IrValue *output)
{
  IrNode *node = output != NULL
                     ? ir_edit_add_node_with_outputs (d->edit, d->graph, "Identity", "", NULL, 1,
                                                      &from, 1, &output)
                     : ir_edit_add_node (d->edit, d->graph, "Identity", "", NULL, 1, &from, 1);

  ir_edit_set_rank (d->edit, node, d->node->rank);
  ir_infer_node (d->edit, node, NULL);
  return node->outputs[0];
}

/* The names of an attribute, bound to the inputs from @first on. */
static gboolean
bind_names (Derivation *d, const char *attr_name, guint first, guint *n, GError **error)
{
  const IrAttr *attr = ir_node_attr (d->node, attr_name);

  *n = attr != NULL && attr->kind == IR_ATTR_STRINGS ? attr->n : 0;
  for (guint i = 0; i < *n; i++)
    {
      IrValue *value = find_value (d, attr->strings[i].data, error);
      IrValue *input = ir_node_input (d->node, first + i);
      if (value == NULL)
        return FALSE;
      if (input == NULL)
        return fail (d->node, error, "input %u, the value of “%s”, is missing", first + i,
                     value->name);
      g_hash_table_add (d->bounds, value);
      if (value != input)
        g_hash_table_insert (d->here, value, add_identity (d, input, NULL));
    }
  return TRUE;
}

static gboolean
derivation_init (Derivation *d, IrEdit *edit, IrNode *node, GError **error)
{
  const char *y = ir_node_attr_string (node, "y", NULL);
  guint n_xs = 0, n_zs = 0;

  d->edit = edit;
  d->node = node;
  d->graph = node->graph;
  d->bounds = g_hash_table_new (NULL, NULL);
  d->here = g_hash_table_new (NULL, NULL);
  gint64 opset = ir_graph_opset (d->graph, "");
  if (opset != 0 && opset < MIN_OPSET)
    return fail (node, error, "derivatives need opset %d or newer, the model has %" G_GINT64_FORMAT,
                 MIN_OPSET, opset);
  if (y == NULL)
    return fail (node, error, "the attribute y is missing");
  if ((d->y = find_value (d, y, error)) == NULL || !bind_names (d, "xs", 0, &n_xs, error) ||
      !bind_names (d, "zs", n_xs, &n_zs, error))
    return FALSE;
  if (n_xs == 0 || node->n_inputs != n_xs + n_zs || node->n_outputs > n_xs)
    return fail (node, error,
                 "%u inputs and %u outputs; xs and zs name %u and %u values, so as many are needed",
                 node->n_inputs, node->n_outputs, n_xs, n_zs);
  return TRUE;
}

/* -- the path from xs to y -- */

static gboolean
is_x (const Derivation *d, const IrValue *value)
{
  const IrAttr *attr = ir_node_attr (d->node, "xs");

  for (guint i = 0; i < attr->n; i++)
    if (strcmp (attr->strings[i].data, value->name) == 0)
      return TRUE;
  return FALSE;
}

/* Nodes that lead to y from xs, and from values that are others at the place, not beyond xs and zs */
static void
find_path (Derivation *d)
{
  g_autoptr (IrReverse) activity = ir_reverse_new (d->edit, d->graph, 0, NULL);
  GHashTableIter iter;
  gpointer bound;

  g_hash_table_iter_init (&iter, d->bounds);
  while (g_hash_table_iter_next (&iter, &bound, NULL))
    {
      ir_reverse_hold (activity, bound);
      if (is_x (d, bound) || g_hash_table_contains (d->here, bound))
        ir_reverse_by (activity, bound);
    }
  d->path = ir_reverse_path (activity, &d->y, 1);
}

/* -- other values at the place -- */

/* Repeats @node on the values at the place, if some differ. */
static IrNode *
repeat_node (Derivation *d, IrNode *node, GError **error)
{
  g_autofree IrValue **inputs = g_new0 (IrValue *, node->n_inputs + 1);
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);
  gboolean differs = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      inputs[i] = at_place (d, node->inputs[i]);
      differs |= inputs[i] != node->inputs[i];
    }
  if (!differs)
    return node;
  if (subgraphs != NULL && subgraphs->len > 0)
    return fail (node, error, "has subgraphs and cannot be derived at another place"), NULL;
  IrNode *copy = ir_edit_add_node (d->edit, d->graph, node->op_type, node->domain, NULL,
                                   node->n_inputs, inputs, node->n_outputs);
  for (guint i = 0; i < node->n_attrs; i++)
    ir_edit_set_attr (d->edit, copy, node->attrs[i]);
  ir_edit_set_rank (d->edit, copy, d->node->rank);
  ir_infer_node (d->edit, copy, NULL);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && !g_hash_table_contains (d->bounds, node->outputs[i]))
      g_hash_table_insert (d->here, node->outputs[i], copy->outputs[i]);
  return copy;
}

/* -- backwards -- */

/* The outputs keep their values; an Identity makes them. */
static gboolean
give_outputs (Derivation *d, IrReverse *reverse, GError **error)
{
  const IrAttr *xs = ir_node_attr (d->node, "xs");
  const IrVjp vjp = { .edit = d->edit, .graph = d->graph, .rank = d->node->rank };

  for (guint i = 0; i < d->node->n_outputs; i++)
    {
      IrValue *output = d->node->outputs[i];
      IrValue *x = at_place (d, find_value (d, xs->strings[i].data, NULL));
      if (output == NULL)
        continue;
      IrValue *gradient = ir_reverse_gradient (reverse, x);
      if (gradient == NULL && !ir_dtype_is_float (ir_value_dtype (x)))
        return fail (d->node, error, "input %u is not known to be of a floating-point type", i);
      if (gradient == NULL) /* y does not depend on it */
        gradient = ir_emit_filled (&vjp, x, 0);
      ir_edit_set_output (d->edit, d->node, i, NULL);
      add_identity (d, gradient, output);
    }
  ir_edit_remove_node (d->edit, d->node);
  return TRUE;
}

/* What is derived by and what is held, as they are at the place. */
static IrReverse *
reverse_of (const Derivation *d, const IrGradHooks *hooks)
{
  IrReverse *reverse = ir_reverse_new (d->edit, d->graph, d->node->rank, hooks);
  GHashTableIter iter;
  gpointer bound;

  g_hash_table_iter_init (&iter, d->bounds);
  while (g_hash_table_iter_next (&iter, &bound, NULL))
    {
      ir_reverse_hold (reverse, at_place (d, bound));
      if (is_x (d, bound))
        ir_reverse_by (reverse, at_place (d, bound));
    }
  return reverse;
}

static gboolean
replace (IrEdit *edit, IrNode *node, const IrGradHooks *hooks, GError **error)
{
  g_auto (Derivation) d = { 0 };

  if (!derivation_init (&d, edit, node, error))
    return FALSE;
  find_path (&d);
  g_autoptr (IrReverse) reverse = reverse_of (&d, hooks);
  g_autofree IrNode **copies = g_new0 (IrNode *, d.path->len + 1);
  for (guint i = 0; i < d.path->len; i++)
    if ((copies[i] = repeat_node (&d, d.path->pdata[i], error)) == NULL)
      return FALSE;
  IrValue *y = at_place (&d, d.y);
  if (!ir_dtype_is_float (ir_value_dtype (y)))
    return fail (node, error, "“%s” is not known to be of a floating-point type", d.y->name);
  return ir_reverse_run (reverse, y, NULL, copies, d.path->len, error) &&
         give_outputs (&d, reverse, error);
}

/* -- all of them -- */

/* Whether what @node derives is computed with the help of another Gradient. */
static gboolean
waits (const IrNode *node)
{
  const char *name = ir_node_attr_string (node, "y", "");
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) waiting = g_ptr_array_new ();
  IrValue *y = ir_graph_find_value (node->graph, name);

  if (y != NULL)
    g_ptr_array_add (waiting, y);
  while (waiting->len > 0)
    {
      const IrValue *value = g_ptr_array_steal_index_fast (waiting, waiting->len - 1);
      if (value->producer == NULL || !g_hash_table_add (seen, value->producer))
        continue;
      if (ir_op_is (value->producer, IR_OP_GRADIENT))
        return TRUE;
      ir_node_for_each_input (value->producer, i, input)
        g_ptr_array_add (waiting, input);
    }
  return FALSE;
}

static IrNode *
find_next (IrModel *model, gboolean *any)
{
  *any = FALSE;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = model->nodes->pdata[i];
      if (node->state != IR_STATE_LIVE || !ir_op_is (node, IR_OP_GRADIENT) ||
          node->graph->kind == IR_GRAPH_FUNCTION)
        continue;
      *any = TRUE;
      if (!waits (node))
        return node;
    }
  return NULL;
}

/**
 * ir_grad_expand:
 * @edit: an edit of a model without function calls
 * @hooks: (nullable): how bodies are inlined
 * @error: return location for an error
 *
 * Replaces all Gradient nodes. Types are inferred before if there is one.
 *
 * Fails with %IR_GRAD_ERROR_NO_RULE, naming the node, where one on the way has no rule.
 *
 * Returns: %TRUE if none is left
 */
gboolean
ir_grad_expand (IrEdit *edit, const IrGradHooks *hooks, GError **error)
{
  IrModel *model = ir_edit_model (edit);
  gboolean any;
  IrNode *node = find_next (model, &any);

  if (any)
    {
      ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
      if (ir_model_opset (model, "irscope") == 0)
        ir_edit_set_opset (edit, "irscope", 1);
    }
  while (any && node != NULL)
    {
      if (!replace (edit, node, hooks, error))
        return FALSE;
      node = find_next (model, &any);
    }
  if (!any)
    return TRUE;
  g_set_error (error, IR_GRAD_ERROR, IR_GRAD_ERROR_NO_RULE,
               "Gradient nodes derive each other in a circle");
  return FALSE;
}
