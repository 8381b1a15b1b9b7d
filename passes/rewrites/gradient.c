/* The backward graph as steps: reverse accumulation, node by node.
 *
 *   y = MatMul (x, w)            y = MatMul (x, w)
 *   loss = ReduceMean (y)   ->   loss = ReduceMean (y)
 *                                one = ConstantOfShape ()                  seed
 *                                dy = Expand (Div (one, n), shape)         vjp of ReduceMean
 *                                w.grad = MatMul (Transpose (x), dy)       vjp of MatMul
 *
 * The engine is core/grad/reverse.c, which the operator Gradient uses as well; here each of its parts
 * is a step. What was there before stays as it is: nodes are added, and outputs of nodes that the
 * backward part needs (a mask, indices). Source: Griewank and Walther, Evaluating Derivatives. */
#include "config.h"

#include "core/exec/lower/lower.h"
#include "core/grad/grad.h"
#include "core/ir/grad-mark.h"
#include "core/op/op.h"
#include "passes/rewrites/gradient.h"
#include "passes/rewrites/raise.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE_CONNECT "connect"
#define MIN_OPSET    13

typedef struct
{
  IrPassContext *context;
  IrValue *of;
  GPtrArray *by;    /* of IrValue: what it is derived by */
  gboolean named;   /* they were named: where nothing comes, zeros are given */
  guint first_node; /* of the backward part */
} Derivation;

#define fail(error, ...) ir_pass_refuse (error, "gradient", __VA_ARGS__)

static const char *
option (const Derivation *d, const char *name)
{
  return ir_pass_option (d->context->priv->pass, name);
}

static gboolean
is_second (const Derivation *d)
{
  return strcmp (option (d, "order"), "2") == 0;
}

/* -- what is derived -- */

static gboolean
is_float (const IrValue *value)
{
  return ir_dtype_is_float (ir_value_dtype (value));
}

/* The only floating-point output, or an error that lists them. */
static IrValue *
find_only_output (const IrModel *model, GError **error)
{
  const IrGraph *graph = model->main;
  g_autoptr (GString) names = g_string_new (NULL);
  IrValue *of = NULL;
  guint n = 0;

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (is_float (ir_graph_output (graph, i)))
      {
        of = ir_graph_output (graph, i);
        g_string_append_printf (names, "%s%s", n++ > 0 ? ", " : "", of->name);
      }
  if (n == 1)
    return of;
  if (n == 0)
    fail (error, "no output of the graph is known to be floating-point; name a value by the option "
                 "of");
  else
    fail (error, "the graph has %u floating-point outputs (%s); name one by the option of", n,
          names->str);
  return NULL;
}

/* (nullable) The node in whose body the value called @name is, also by an iteration: loop@3/name */
static const IrNode *
owner_of (const IrModel *model, const char *name)
{
  const char *at = strchr (name, '@'), *inner = at != NULL ? strchr (at, '/') : NULL;

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);
      const IrNode *owner = value != NULL && value->name != NULL &&
                                    value->graph->kind == IR_GRAPH_SUBGRAPH
                                ? ir_model_live_node (model, value->graph->owner)
                                : NULL;
      if (owner != NULL &&
          (strcmp (value->name, name) == 0 ||
           (inner != NULL && strcmp (value->name, inner + 1) == 0 &&
            strlen (owner->name) == (gsize) (at - name) && g_str_has_prefix (name, owner->name))))
        return owner;
    }
  return NULL;
}

static void
fail_to_find (const IrModel *model, const char *what, const char *name, GError **error)
{
  const IrNode *owner = owner_of (model, name);
  g_autofree char *label = owner != NULL ? ir_node_label (owner) : NULL;

  if (owner == NULL)
    fail (error, "%s: there is no value \"%s\" in the main graph", what, name);
  else
    fail (
        error,
        "%s: \"%s\" is in a body of %s, and only values of the main graph are derived, or derived by; "
        "make it an output of the body, or unroll the loop first (unroll-loops)",
        what, name, label);
}

/**
 * ir_gradient_find:
 * @model: a model whose types are known
 * @what: which option names it
 * @name: a name
 * @error: return location for an error
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE if there is no such value, or it is not floating-point.
 *
 * Returns: (nullable): the value of the main graph called @name
 */
IrValue *
ir_gradient_find (const IrModel *model, const char *what, const char *name, GError **error)
{
  IrValue *value = ir_graph_find_value (model->main, name);

  if (value == NULL)
    fail_to_find (model, what, name, error);
  else if (!is_float (value))
    fail (error, "%s: \"%s\" is %s, and only floating-point values have derivatives", what, name,
          value->type != NULL ? ir_dtype_name (ir_value_dtype (value)) : "of unknown type");
  else
    return value;
  return NULL;
}

/* -- what it is derived by -- */

/* Statistics that training mode updates are no parameters. */
static gboolean
is_statistic (const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node == NULL || !ir_op_is (use.node, IR_OP_BATCH_NORMALIZATION) || use.slot < 3)
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_gradient_is_geometry:
 * @value: a value
 *
 * Scales and regions of interest of Resize say where elements come from: they are float by the
 * standard, and nothing is derived by them.
 *
 * Returns: whether all that read @value read it so
 */
gboolean
ir_gradient_is_geometry (const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node == NULL || use.slot == 0 ||
          !(ir_op_is (use.node, IR_OP_RESIZE) || ir_op_is (use.node, IR_OP_UPSAMPLE)))
        return FALSE;
    }
  return value->n_uses > 0;
}

/* Where training has said which initializers it changes, those; else all. */
static void
add_parameters (const IrModel *model, GPtrArray *by)
{
  gboolean some = FALSE;
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  for (guint i = 0; i < n; i++)
    some |= ir_value_is_mutable (values[i]);
  for (guint i = 0; i < n; i++)
    if (values[i]->initializer != NULL && is_float (values[i]) && !is_statistic (values[i]) &&
        !ir_gradient_is_geometry (values[i]) && (!some || ir_value_is_mutable (values[i])) &&
        !ir_value_is_default (values[i]))
      g_ptr_array_add (by, values[i]);
}

static void
add_inputs (const IrModel *model, GPtrArray *by)
{
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      IrValue *input = ir_graph_input (model->main, i);
      if ((input->initializer == NULL || ir_value_is_default (input)) && is_float (input))
        g_ptr_array_add (by, input);
    }
}

/**
 * ir_gradient_names:
 * @model: a model
 * @text: names with commas between
 *
 * A name may have commas: of pieces that together are the name of a value, the most are taken.
 *
 * Returns: (transfer full): the names
 */
GStrv
ir_gradient_names (const IrModel *model, const char *text)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  const char *rest = text;

  while (rest != NULL)
    {
      g_autofree char *name = g_strdup (rest);
      char *comma;
      while ((comma = strrchr (name, ',')) != NULL &&
             ir_graph_find_value (model->main, name) == NULL)
        *comma = '\0';
      g_strv_builder_add (names, name);
      rest += strlen (name);
      rest = *rest == ',' ? rest + 1 : NULL;
    }
  return g_strv_builder_end (names);
}

static gboolean
add_named (const IrModel *model, const char *text, GPtrArray *by, GError **error)
{
  g_auto (GStrv) names = ir_gradient_names (model, text);

  for (guint i = 0; names[i] != NULL; i++)
    {
      IrValue *value = ir_gradient_find (model, "wrt", names[i], error);
      if (value == NULL)
        return FALSE;
      if (!g_ptr_array_find (by, value, NULL))
        g_ptr_array_add (by, value);
    }
  return TRUE;
}

/**
 * ir_gradient_is_kind:
 * @wrt: what is derived by
 *
 * Returns: whether that is a kind of values: "params", "inputs" or "all"
 */
gboolean
ir_gradient_is_kind (const char *wrt)
{
  return strcmp (wrt, "params") == 0 || strcmp (wrt, "inputs") == 0 || strcmp (wrt, "all") == 0;
}

/**
 * ir_gradient_wrt:
 * @model: a model whose types are known
 * @wrt: "params", "inputs", "all", or names of values with commas between
 * @error: return location for an error
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE if there is none.
 *
 * Returns: (transfer container) (nullable): the values that it is derived by
 */
GPtrArray *
ir_gradient_wrt (const IrModel *model, const char *wrt, GError **error)
{
  g_autoptr (GPtrArray) by = g_ptr_array_new ();

  if (!ir_gradient_is_kind (wrt) && !add_named (model, wrt, by, error))
    return NULL;
  if (ir_gradient_is_kind (wrt) && strcmp (wrt, "inputs") != 0)
    add_parameters (model, by);
  if (ir_gradient_is_kind (wrt) && strcmp (wrt, "params") != 0)
    add_inputs (model, by);
  if (by->len > 0)
    return g_steal_pointer (&by);
  fail (error, "wrt: the graph has no floating-point %s",
        strcmp (wrt, "all") == 0      ? "inputs or parameters"
        : strcmp (wrt, "params") == 0 ? "parameters; try inputs"
                                      : "inputs; try params");
  return NULL;
}

/**
 * ir_gradient_of:
 * @model: a model whose types are known
 * @of: name of a value; "": the only floating-point output
 * @error: return location for an error
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE if there is no such value, with a list if there are several.
 *
 * Returns: (nullable): the value that is derived
 */
IrValue *
ir_gradient_of (const IrModel *model, const char *of, GError **error)
{
  return *of != '\0' ? ir_gradient_find (model, "of", of, error) : find_only_output (model, error);
}

/* -- why there is none -- */

static void
add_readers (GPtrArray *waiting, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node != NULL)
        g_ptr_array_add (waiting, use.node);
    }
}

static gboolean
lets_nothing_back (const IrNode *node, const IrValue *output)
{
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;

  if (ir_grad_mark (node) != IR_GRAD_MARK_PLAIN)
    return ir_grad_mark (node) == IR_GRAD_MARK_STOP;
  return (row != NULL && row->zero) || !is_float (output);
}

/* The nodes that @of is computed from. */
static GHashTable *
sources_of (const IrValue *of)
{
  GHashTable *nodes = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) waiting = g_ptr_array_new ();

  g_ptr_array_add (waiting, (gpointer) of);
  while (waiting->len > 0)
    {
      const IrValue *value = g_ptr_array_steal_index_fast (waiting, waiting->len - 1);
      if (value->producer == NULL || !g_hash_table_add (nodes, value->producer))
        continue;
      ir_node_for_each_input (value->producer, i, input)
        g_ptr_array_add (waiting, input);
    }
  return nodes;
}

/**
 * ir_gradient_end:
 * @value: a value that nothing comes to
 * @of: what is derived
 * @node: (out) (nullable): where the path ends
 *
 * Returns: (transfer full): why @of does not depend on @value smoothly, as a sentence
 */
char *
ir_gradient_end (const IrValue *value, const IrValue *of, const IrNode **node)
{
  g_autoptr (GPtrArray) waiting = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL), sources = sources_of (of);
  gboolean reached = value == of;
  const IrNode *end = NULL;

  add_readers (waiting, value);
  while (waiting->len > 0)
    {
      const IrNode *reader = g_ptr_array_steal_index (waiting, 0);
      if (!g_hash_table_contains (sources, reader) || !g_hash_table_add (seen, (gpointer) reader))
        continue;
      for (guint i = 0; i < reader->n_outputs; i++)
        if (reader->outputs[i] != NULL)
          {
            reached |= reader->outputs[i] == of;
            if (end == NULL && lets_nothing_back (reader, reader->outputs[i]))
              end = reader;
            add_readers (waiting, reader->outputs[i]);
          }
    }
  *node = reached ? end : NULL;
  if (*node == NULL)
    return g_strdup_printf ("No node leads from it to %s, or what leads there is constant.",
                            of->name);
  g_autofree char *label = ir_node_label (end);
  return g_strdup_printf ("The path ends at %s: %s.", label,
                          ir_grad_mark (end) == IR_GRAD_MARK_STOP ? "it is marked stop"
                          : is_float (end->outputs[0])
                              ? "it is constant almost everywhere"
                              : "what it gives is not floating-point, so nothing comes back");
}

/* -- steps -- */

static gboolean
begin_step (const char *rule, const IrNode *anchor, gpointer data)
{
  IrPassContext *context = data;
  g_autofree char *label = anchor != NULL ? ir_node_label (anchor) : NULL;

  if (!ir_pass_begin (context, rule, IR_CLASS_EXACT, anchor))
    return FALSE;
  if (rule == ir_grad_rule_SEED)
    ir_edit_step_reason (context->edit, "the derivative of it by itself");
  else if (rule == ir_grad_rule_KEEP)
    ir_edit_step_reason (context->edit, "%s gives out what its derivative needs beside", label);
  else if (rule == ir_grad_rule_VJP)
    ir_edit_step_reason (context->edit, "backwards through %s", label);
  else
    ir_edit_step_reason (context->edit, "what came to the output of %s from all who read it",
                         label != NULL ? label : "the graph's inputs");
  return TRUE;
}

static void
end_step (gpointer data)
{
  ir_pass_end (data);
}

/**
 * ir_gradient_rank:
 * @graph: a graph
 *
 * Returns: a place in the order behind all its nodes
 */
guint64
ir_gradient_rank (const IrGraph *graph)
{
  guint64 rank = 0;
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  for (guint i = 0; i < n; i++)
    rank = MAX (rank, order[i]->rank);
  return rank + 1;
}

/**
 * ir_gradient_connect:
 * @context: a pass with an open step
 * @value: a value
 * @gradient: what belongs to it
 * @suffix: "grad" or "tangent"
 * @first_node: nodes before were there before anything was derived
 * @rank: place of a new node in the order
 * @outputs: (element-type IrValue): those that the graph is to have, which grow all at once: its list is
 *   a record each time
 *
 * Appends @gradient to @outputs, called NAME.suffix, with a number where that name exists; by an
 * Identity where it is something else already.
 */
void
ir_gradient_connect (IrPassContext *context,
                     IrValue *value,
                     IrValue *gradient,
                     const char *suffix,
                     guint first_node,
                     guint64 rank,
                     GPtrArray *outputs)
{
  g_autofree char *base = g_strdup_printf ("%s.%s", value->name, suffix);

  if (gradient->producer == NULL || gradient->producer->id < first_node ||
      gradient->flags & IR_VALUE_NAMED_BY_USER || ir_value_is_graph_output (gradient))
    {
      IrNode *node = ir_edit_add_node (context->edit, context->model->main, "Identity", "", NULL, 1,
                                       &gradient, 1);
      ir_edit_set_rank (context->edit, node, rank);
      ir_infer_node (context->edit, node, NULL);
      gradient = node->outputs[0];
    }
  ir_edit_rename_value (context->edit, gradient,
                        !ir_model_has_value (context->model, base)
                            ? base
                            : ir_edit_unique_name (context->edit, base));
  ir_edit_set_flags (context->edit, gradient, gradient->flags | IR_VALUE_NAMED_BY_USER);
  g_ptr_array_add (outputs, gradient);
}

/**
 * ir_gradient_outputs:
 * @graph: a graph
 *
 * Returns: (transfer container) (element-type IrValue): its outputs, to which others are added
 */
GPtrArray *
ir_gradient_outputs (const IrGraph *graph)
{
  GPtrArray *outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    g_ptr_array_add (outputs, ir_graph_output (graph, i));
  return outputs;
}

/**
 * ir_gradient_hand_out:
 * @context: a pass with an open step
 * @outputs: (element-type IrValue): what ir_gradient_outputs() gave, and perhaps others
 *
 * Makes them the outputs of the graph.
 */
void
ir_gradient_hand_out (IrPassContext *context, const GPtrArray *outputs)
{
  IrGraph *graph = context->model->main;

  if (outputs->len > ir_graph_n_outputs (graph))
    ir_edit_set_graph_outputs (context->edit, graph, (IrValue *const *) outputs->pdata,
                               outputs->len);
}

/**
 * ir_gradient_filled:
 * @context: a pass with an open step
 * @like: a value
 * @element: a number
 * @rank: place of the new nodes in the order
 *
 * Returns: @element throughout, in the shape and type of @like
 */
IrValue *
ir_gradient_filled (IrPassContext *context, IrValue *like, double element, guint64 rank)
{
  IrEdit *edit = context->edit;
  IrNode *shape = ir_edit_add_node (edit, context->model->main, "Shape", "", NULL, 1, &like, 1);
  IrNode *node = ir_edit_add_node (edit, context->model->main, "ConstantOfShape", "", NULL, 1,
                                   shape->outputs, 1);
  gint64 one = 1;
  g_autoptr (IrTensor) scalar = ir_tensor_new_scalar (ir_value_dtype (like), element);
  g_autoptr (IrTensor) tensor = ir_tensor_reshape (scalar, 1, &one);

  ir_edit_set_attr (edit, node, ir_attr_tensor (context->model->context, "value", tensor));
  ir_edit_set_rank (edit, shape, rank);
  ir_edit_set_rank (edit, node, rank);
  ir_infer_node (edit, shape, NULL);
  ir_infer_node (edit, node, NULL);
  return node->outputs[0];
}

/* (transfer container): per value that it is derived by; NULL: 0 */
static GPtrArray *
gradients_of (const Derivation *d, IrReverse *reverse)
{
  GPtrArray *gradients = g_ptr_array_new ();

  for (guint i = 0; i < d->by->len; i++)
    g_ptr_array_add (gradients, ir_reverse_gradient (reverse, d->by->pdata[i]));
  return gradients;
}

static gboolean
connect_all (Derivation *d, IrReverse *reverse, guint64 rank)
{
  IrPassContext *context = d->context;
  g_autoptr (GPtrArray) gradients = gradients_of (d, reverse);
  const char *suffix = is_second (d) ? "grad.grad" : "grad";
  g_autoptr (GPtrArray) outputs = ir_gradient_outputs (context->model->main);
  guint n_given = 0;

  if (context->stopped || !ir_pass_begin (context, RULE_CONNECT, IR_CLASS_EXACT, d->of->producer))
    return TRUE;
  for (guint i = 0; i < d->by->len; i++)
    {
      IrValue *gradient = gradients->pdata[i];
      n_given += gradient != NULL;
      if (gradient == NULL && d->named)
        gradient = ir_gradient_filled (context, d->by->pdata[i], 0, rank);
      if (gradient != NULL)
        ir_gradient_connect (context, d->by->pdata[i], gradient, suffix, d->first_node, rank,
                             outputs);
    }
  ir_gradient_hand_out (context, outputs);
  ir_edit_step_reason (context->edit, "%u of %u derivatives of %s are outputs, as NAME.%s", n_given,
                       d->by->len, d->of->name, suffix);
  ir_pass_end (context);
  return TRUE;
}

/* (transfer full) (nullable): a derivation that knows what is held, and by what it derives */
static IrReverse *
reverse_new (const Derivation *d, guint64 rank, GError **error)
{
  IrPassContext *context = d->context;
  const IrGradHooks hooks = { begin_step, end_step, ir_exec_inline_node, context,
                              ir_pass_option_number (context->priv->pass, "nodes") };
  g_autoptr (IrReverse)
      reverse = ir_reverse_new (context->edit, context->model->main, rank, &hooks);
  const char *stop = option (d, "stop");
  g_auto (GStrv) stops = ir_gradient_names (context->model, stop);

  for (guint i = 0; *stop != '\0' && stops[i] != NULL; i++)
    {
      IrValue *held = ir_gradient_find (context->model, "stop", stops[i], error);
      if (held == NULL)
        return NULL;
      ir_reverse_hold (reverse, held);
    }
  for (guint i = 0; i < d->by->len; i++)
    ir_reverse_by (reverse, d->by->pdata[i]);
  return g_steal_pointer (&reverse);
}

/* The first derivatives, all elements of all of them together, are derived in turn. */
static gboolean
derive_again (Derivation *d, IrReverse *first, GError **error)
{
  IrPassContext *context = d->context;
  g_autoptr (GPtrArray) gradients = gradients_of (d, first);
  const guint64 rank = ir_gradient_rank (context->model->main);
  g_autoptr (IrReverse) second = reverse_new (d, rank, error);

  while (g_ptr_array_remove (gradients, NULL))
    ;
  g_autoptr (GPtrArray)
      path = ir_reverse_path (second, (IrValue *const *) gradients->pdata, gradients->len);
  if (context->stopped || !begin_step (ir_grad_rule_SEED, d->of->producer, context))
    return TRUE;
  for (guint i = 0; i < gradients->len; i++)
    {
      IrValue *gradient = gradients->pdata[i];
      ir_reverse_give (second, gradient, ir_gradient_filled (context, gradient, 1, rank));
    }
  end_step (context);
  return ir_reverse_run (second, NULL, NULL, (IrNode *const *) path->pdata, path->len, error) &&
         connect_all (d, second, rank);
}

static gboolean
derive (Derivation *d, GError **error)
{
  IrPassContext *context = d->context;
  const guint64 rank = ir_gradient_rank (context->model->main);
  const char *cotangent = option (d, "cotangent");
  g_autoptr (IrReverse) reverse = reverse_new (d, rank, error);
  IrValue *seed = NULL;

  d->first_node = context->model->nodes->len;
  if (reverse == NULL)
    return FALSE;
  if (*cotangent != '\0' &&
      (seed = ir_gradient_find (context->model, "cotangent", cotangent, error)) == NULL)
    return FALSE;
  if (seed != NULL && seed->type != d->of->type)
    return fail (error, "cotangent: \"%s\" has not the type of \"%s\"", seed->name, d->of->name);
  g_autoptr (GPtrArray) path = ir_reverse_path (reverse, &d->of, 1);
  return ir_reverse_run (reverse, d->of, seed, (IrNode *const *) path->pdata, path->len, error) &&
         (is_second (d) ? derive_again (d, reverse, error) : connect_all (d, reverse, rank));
}

static gboolean
run (IrPassContext *context, GError **error)
{
  Derivation d = { .context = context };
  gint64 opset = ir_model_opset (context->model, "");

  if (opset != 0 && opset < MIN_OPSET)
    return fail (error,
                 "the model has opset %" G_GINT64_FORMAT ", derivatives need %d; upgrade it first "
                 "(--opset 18)",
                 opset, MIN_OPSET);
  if (!ir_raise_control_flow (context, "gradient", error) || context->stopped)
    return context->stopped;
  if (strcmp (option (&d, "order"), "1") != 0 && !is_second (&d))
    return fail (error, "order: %s; 1 and 2 are known", option (&d, "order"));
  d.of = ir_gradient_of (context->model, option (&d, "of"), error);
  g_autoptr (GPtrArray)
      by = d.of != NULL ? ir_gradient_wrt (context->model, option (&d, "wrt"), error) : NULL;
  d.by = by;
  d.named = !ir_gradient_is_kind (option (&d, "wrt"));
  return by != NULL && derive (&d, error);
}

static const IrRule rules[] = {
  { "seed", "the value that is derived", "ones, or the cotangent", IR_CLASS_EXACT,
    "The derivative of a value by itself." },
  { "keep", "a node that can give more", "the same with a further output", IR_CLASS_EXACT,
    "What only the forward part knows and the derivative needs: a Dropout's mask, the places of largest elements." },
  { "vjp", "a node between", "what its GRAD column says", IR_CLASS_EXACT,
    "The derivative by a node's outputs becomes that by its inputs; docs/GRADIENTS.md." },
  { "accumulate", "a value that several nodes read", "Sum", IR_CLASS_EXACT,
    "What came from all who read a value is added, by one Sum." },
  { RULE_CONNECT, "derivatives", "outputs of the graph", IR_CLASS_EXACT,
    "Derivatives become outputs called NAME.grad, with a number where that name exists." },
  { NULL },
};

static const IrPassOption options[] = {
  { "of", IR_PASS_OPTION_TEXT, "",
    "The value that is derived; several elements stand for their sum. Default: the only "
    "floating-point output." },
  { "wrt", IR_PASS_OPTION_TEXT, "params",
    "What it is derived by: params, inputs, all, or names of values with commas between." },
  { "cotangent", IR_PASS_OPTION_TEXT, "",
    "A value of the type of the derived one that its elements are weighed by. Default: ones." },
  { "stop", IR_PASS_OPTION_TEXT, "",
    "Names of values that count as constant, with commas between." },
  { "order", IR_PASS_OPTION_INT, "1",
    "2: the first derivatives are derived in turn, all their elements together: the Hessian times "
    "ones, as NAME.grad.grad." },
  { "nodes", IR_PASS_OPTION_INT, "1000000", "Most nodes that the backward part may have." },
  { NULL },
};

const IrPass ir_pass_gradient = {
  .name = "gradient",
  .title = "Derive backwards",
  .doc = "Adds the backward graph: the derivatives of a value by parameters, inputs or other "
         "values, as outputs called NAME.grad. The forward part stays as it is.",
  .source = "Griewank and Walther, Evaluating Derivatives; TVM Relax Gradient; ONNX Gradient",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x, w -> MatMul -> y\nx, w -> MatMul -> y; dy, w -> MatMul -> x.grad",
  .run = run,
  .documented_rules = rules,
  .options = options,
  .once = TRUE,
};
