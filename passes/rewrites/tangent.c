/* The graph with dual numbers: each value on the way, and beside it its tangent.
 *
 *   y = MatMul (x, w)            y = MatMul (x, w)      y' = MatMul (x', w)         tangent
 *   z = Tanh (y)           ->    z = Tanh (y)           z.tangent = Mul (y', 1 - z z)   tangent
 *
 * The engine is core/grad/forward.c; each of its parts is a step. One run gives the product of the
 * Jacobian with one direction, for any number of outputs; what the pass gradient gives is one row of
 * it, by any number of inputs. Source: Griewank and Walther, Evaluating Derivatives, chapter 3. */
#include "config.h"

#include "core/exec/lower/lower.h"
#include "core/grad/grad.h"
#include "core/op/op.h"
#include "passes/rewrites/gradient.h"
#include "passes/rewrites/raise.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE_DIRECT  "direct-tangents"
#define RULE_OPENED  "opened-tangent"
#define RULE_KEEP    "keep-for-tangent"
#define RULE_CONNECT "connect-tangents"
#define MIN_OPSET    13

typedef struct
{
  IrPassContext *context;
  GPtrArray *of, *by; /* of IrValue */
  gboolean named;     /* what is derived was named: where nothing has a tangent, zeros are given */
  guint first_node;   /* that is new */
} Derivation;

#define fail(error, ...) ir_pass_refuse (error, "tangent", __VA_ARGS__)

static const char *
option (const Derivation *d, const char *name)
{
  return ir_pass_option (d->context->priv->pass, name);
}

/* -- what is derived -- */

static gboolean
add_names (const Derivation *d, const char *what, GPtrArray *values, GError **error)
{
  const char *text = option (d, what);
  g_auto (GStrv) names = ir_gradient_names (d->context->model, text);

  for (guint i = 0; *text != '\0' && names[i] != NULL; i++)
    {
      IrValue *value = ir_gradient_find (d->context->model, what, names[i], error);
      if (value == NULL)
        return FALSE;
      if (strcmp (what, "of") != 0 || !g_ptr_array_find (values, value, NULL))
        g_ptr_array_add (values, value);
    }
  return TRUE;
}

static gboolean
add_outputs (const Derivation *d, GError **error)
{
  const IrGraph *graph = d->context->model->main;

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (ir_dtype_is_float (ir_value_dtype (ir_graph_output (graph, i))) &&
        !g_ptr_array_find (d->of, ir_graph_output (graph, i), NULL))
      g_ptr_array_add (d->of, ir_graph_output (graph, i));
  return d->of->len > 0 ||
         fail (error, "no output of the graph is known to be floating-point; name a value by the "
                      "option of");
}

/* -- in which direction -- */

static gboolean
set_directions (const Derivation *d, IrForward *forward, GError **error)
{
  g_autoptr (GPtrArray) directions = g_ptr_array_new ();

  if (!add_names (d, "tangent", directions, error))
    return FALSE;
  if (directions->len > 0 && directions->len != d->by->len)
    return fail (error, "tangent: %u values, and it is derived by %u; name one for each",
                 directions->len, d->by->len);
  for (guint i = 0; i < d->by->len; i++)
    {
      IrValue *by = d->by->pdata[i], *along = directions->len > 0 ? directions->pdata[i] : NULL;
      if (along != NULL && along->type != by->type)
        return fail (error, "tangent: \"%s\" has not the type of \"%s\"", along->name, by->name);
      ir_forward_by (forward, by, along);
    }
  return TRUE;
}

/* -- steps -- */

static gboolean
begin_step (const char *rule, const IrNode *anchor, gpointer data)
{
  IrPassContext *context = data;
  g_autofree char *label = anchor != NULL ? ir_node_label (anchor) : NULL;
  const gboolean opened = rule == ir_grad_rule_TANGENT && ir_forward_opens (anchor) &&
                          ir_pass_rule_enabled (context, RULE_OPENED, IR_CLASS_ROUNDING);

  if (!ir_pass_begin (context,
                      opened                      ? RULE_OPENED
                      : rule == ir_grad_rule_SEED ? RULE_DIRECT
                      : rule == ir_grad_rule_KEEP ? RULE_KEEP
                                                  : rule,
                      opened ? IR_CLASS_ROUNDING : IR_CLASS_EXACT, anchor))
    return FALSE;
  if (rule == ir_grad_rule_SEED)
    ir_edit_step_reason (context->edit, "the tangent of what it is derived by");
  else if (rule == ir_grad_rule_KEEP)
    ir_edit_step_reason (context->edit, "%s gives out what its derivative needs beside", label);
  else
    ir_edit_step_reason (context->edit, "the tangent of the result of %s%s", label,
                         opened ? ", which stands opened in its place" : "");
  return TRUE;
}

static void
end_step (gpointer data)
{
  ir_pass_end (data);
}

static void
connect_all (const Derivation *d, const IrForward *forward, guint64 rank)
{
  IrPassContext *context = d->context;
  g_autoptr (GPtrArray) outputs = ir_gradient_outputs (context->model->main);
  guint n_given = 0;

  if (context->stopped || !ir_pass_begin (context, RULE_CONNECT, IR_CLASS_EXACT, NULL))
    return;
  for (guint i = 0; i < d->of->len; i++)
    {
      IrValue *of = d->of->pdata[i], *tangent = ir_forward_tangent (forward, of);
      n_given += tangent != NULL;
      if (tangent == NULL && d->named)
        tangent = ir_gradient_filled (context, of, 0, rank);
      if (tangent != NULL)
        ir_gradient_connect (context, of, tangent, "tangent", d->first_node, rank, outputs);
    }
  ir_gradient_hand_out (context, outputs);
  ir_edit_step_reason (context->edit, "%u of %u derivatives are outputs, as NAME.tangent", n_given,
                       d->of->len);
  ir_pass_end (context);
}

static gboolean
derive (Derivation *d, GError **error)
{
  IrPassContext *context = d->context;
  IrGraph *graph = context->model->main;
  const IrGradHooks hooks = { begin_step, end_step, ir_exec_inline_node, context,
                              .opens = ir_pass_rule_enabled (context, RULE_OPENED,
                                                             IR_CLASS_ROUNDING) };
  const guint64 rank = ir_gradient_rank (graph);
  g_autoptr (IrForward) forward = ir_forward_new (context->edit, graph, &hooks);
  g_autoptr (GPtrArray) held = g_ptr_array_new ();

  d->first_node = context->model->nodes->len;
  if (!set_directions (d, forward, error) || !add_names (d, "stop", held, error))
    return FALSE;
  for (guint i = 0; i < held->len; i++)
    ir_forward_hold (forward, held->pdata[i]);
  if (!ir_forward_run (forward, (IrValue *const *) d->of->pdata, d->of->len, error))
    return FALSE;
  connect_all (d, forward, rank);
  return TRUE;
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) of = g_ptr_array_new ();
  Derivation d = { .context = context, .of = of };
  gint64 opset = ir_model_opset (context->model, "");

  if (opset != 0 && opset < MIN_OPSET)
    return fail (error,
                 "the model has opset %" G_GINT64_FORMAT ", derivatives need %d; upgrade it first "
                 "(--opset 18)",
                 opset, MIN_OPSET);
  if (!ir_raise_control_flow (context, "tangent", error) || context->stopped)
    return context->stopped;
  d.named = *option (&d, "of") != '\0';
  if (!add_names (&d, "of", of, error) || (!d.named && !add_outputs (&d, error)))
    return FALSE;
  g_autoptr (GPtrArray) by = ir_gradient_wrt (context->model, option (&d, "wrt"), error);
  d.by = by;
  return by != NULL && derive (&d, error);
}

static const IrRule rules[] = {
  { RULE_DIRECT, "what it is derived by", "ones, or a direction", IR_CLASS_EXACT,
    "The tangent of what it is derived by." },
  { RULE_KEEP, "a node that can give more", "the same with a further output", IR_CLASS_EXACT,
    "What only the forward part knows and the derivative needs: a Dropout's mask, the places of largest elements." },
  { "tangent", "a node between", "the node, and the tangent of its result", IR_CLASS_EXACT,
    "By the node itself where it is linear, by its GRAD column where that is pointwise, by its vjp turned round else; docs/GRADIENTS.md. A call becomes its body." },
  { RULE_OPENED, "a product of several operators",
    "the nodes that it is made of, and the tangent of its result", IR_CLASS_ROUNDING,
    "Its body is what is derived, and gives its result, too: no product is computed twice. With --class exact the node stays, and its body is computed beside." },
  { RULE_CONNECT, "derivatives", "outputs of the graph", IR_CLASS_EXACT,
    "Derivatives become outputs called NAME.tangent, with a number where that name exists." },
  { NULL },
};

static const IrPassOption options[] = {
  { "of", IR_PASS_OPTION_TEXT, "",
    "Names of the values that are derived, with commas between. Default: all floating-point "
    "outputs." },
  { "wrt", IR_PASS_OPTION_TEXT, "params",
    "What it is derived by: params, inputs, all, or names of values with commas between." },
  { "tangent", IR_PASS_OPTION_TEXT, "",
    "Names of values with commas between: the direction of each, in its type. Default: "
    "ones." },
  { "stop", IR_PASS_OPTION_TEXT, "",
    "Names of values that count as constant, with commas between." },
  { NULL },
};

const IrPass ir_pass_tangent = {
  .name = "tangent",
  .title = "Derive forwards",
  .doc =
      "Adds to each value on the way its tangent, where parameters, inputs or other values change "
      "in a direction: the product of the Jacobian with it, as outputs called NAME.tangent.",
  .source = "Griewank and Walther, Evaluating Derivatives; JAX jvp",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x, w -> MatMul -> y\nx, w -> MatMul -> y; dx, w -> MatMul -> y.tangent",
  .run = run,
  .documented_rules = rules,
  .options = options,
  .once = TRUE,
};
