/* Control flow as functions that are values, as MindSpore's graphs have it:
 *
 *     If (c) { f } else { g }     Call (Switch (c, Partial (f, x..), Partial (g, x..)))
 *     Loop (M, c, v) { f }        Call (Partial (header, x..), 0, c, v..)
 *         header (x, i, c, v) = Call (Switch (i < M and c, Partial (body, x, i, c, v), Partial (after, v)))
 *         body (x, i, c, v) = Call (Partial (header, x), i + 1, f (x, i, c, v))
 *         after (v) = v
 *     F (x)                       Call (Partial (F), x)
 *
 * x is what is read from around. Nodes move into the functions, so they stay the nodes that they are; outer
 * constructs come first. Loops are in closures-loop.c. Random operators draw by names, so what has some stays.
 *
 * Source: MindSpore, functional control flow (FuncGraph, Partial, Switch), as its front end builds it. */
#include "config.h"

#include "core/ir/inline.h"
#include "passes/rewrites/closures-private.h"
#include "passes/rewrites/trips.h"
#include "passes/rule/rule.h"

#define FUNCTIONS "closure" /* domain of the functions that are made */

#define RULE_IF   "if-to-closures"
#define RULE_LOOP "loop-to-closures"
#define RULE_SCAN "scan-to-closures"
#define RULE_MAP  "sequence-map-to-closures"
#define RULE_CALL "call-to-closure"

/* -- functions -- */

/* (transfer full) One that no function has. */
static char *
function_name (const IrLowerConstruct *c, const char *what)
{
  const IrModel *model = c->l->context->model;
  const IrNode *node = c->node;
  const IrValue *output = ir_node_output (node, 0);
  g_autofree char *base = g_strconcat (node->name[0] != '\0' ? node->name
                                       : output != NULL      ? output->name
                                                             : node->op_type,
                                       "_", what, NULL);
  char *name = NULL;

  g_strcanon (base, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_", '_');
  name = g_strdup (base);
  for (guint i = 2; ir_model_find_function (model, FUNCTIONS, name, "") != NULL; i++)
    {
      g_free (name);
      name = g_strdup_printf ("%s_%u", base, i);
    }
  return name;
}

void
ir_closure_function_init (IrClosureFunction *f, IrLowerConstruct *c, const char *what)
{
  IrModel *model = c->l->context->model;
  const IrGraph *root = c->node->graph;
  g_autofree char *made = function_name (c, what);
  const char *name = ir_context_intern (model->context, made);

  while (root->kind == IR_GRAPH_SUBGRAPH && ir_graph_outer (root) != NULL)
    root = ir_graph_outer (root);
  const IrFunctionInfo info = { .domain = ir_context_intern (model->context, FUNCTIONS),
                                .name = name,
                                .overload = ir_context_intern (model->context, ""),
                                .opsets = root->function != NULL ? root->function->opsets
                                                                 : model->opsets };
  f->graph = ir_edit_add_graph (c->l->edit, IR_GRAPH_FUNCTION, name);
  ir_edit_set_function_info (c->l->edit, f->graph, &info);
  ir_edit_set_opset (c->l->edit, FUNCTIONS, 1);
  f->inputs = g_ptr_array_new ();
}

void
ir_closure_function_clear (IrClosureFunction *f)
{
  g_clear_pointer (&f->inputs, g_ptr_array_unref);
}

static void
declare (IrLowerConstruct *c, IrValue *value, const IrType *type)
{
  if (type == NULL)
    return;
  ir_edit_set_claim (c->l->edit, value, type);
  ir_edit_set_flags (c->l->edit, value, value->flags | IR_VALUE_DECLARED);
}

IrValue *
ir_closure_add_input (IrClosureFunction *f,
                      IrLowerConstruct *c,
                      const char *name,
                      const IrType *type)
{
  IrValue *value = ir_edit_add_value (c->l->edit, f->graph, ir_edit_unique_name (c->l->edit, name),
                                      type);

  declare (c, value, type);
  g_ptr_array_add (f->inputs, value);
  return value;
}

void
ir_closure_add_captures (IrClosureFunction *f,
                         IrLowerConstruct *c,
                         const GPtrArray *captures,
                         const IrGraph *body,
                         GPtrArray *results)
{
  for (guint i = 0; i < captures->len; i++)
    {
      IrValue *value = captures->pdata[i];
      IrValue *input = ir_closure_add_input (f, c, value->name, value->type);
      ir_lower_read_instead (c->l, body, value, input);
      ir_lower_swap_result (results, value, input);
    }
}

void
ir_closure_set_inputs (IrClosureFunction *f, IrLowerConstruct *c)
{
  ir_edit_set_graph_inputs (c->l->edit, f->graph, (IrValue *const *) f->inputs->pdata,
                            f->inputs->len);
}

void
ir_closure_set_outputs (IrClosureFunction *f,
                        IrLowerConstruct *c,
                        IrValue *const *outputs,
                        guint n,
                        const GPtrArray *types)
{
  ir_edit_set_graph_outputs (c->l->edit, f->graph, outputs, n);
  for (guint i = 0; i < n; i++)
    if (!ir_graph_has_input (f->graph, outputs[i]))
      declare (c, outputs[i], types != NULL ? types->pdata[i] : outputs[i]->type);
}

/* -- new nodes -- */

static IrNode *
add_node (IrLowerConstruct *c, const char *op, GPtrArray *inputs, guint n_outputs)
{
  return ir_lower_add_node (c, op, IR_CLOSURE_DOMAIN, inputs->len, (IrValue *const *) inputs->pdata,
                            n_outputs, NULL);
}

IrValue *
ir_closure_add_partial (IrLowerConstruct *c, const IrGraph *function, GPtrArray *captured)
{
  IrContext *context = c->l->context->model->context;
  const IrFunctionInfo *info = function->function;
  IrNode *node = add_node (c, "Partial", captured, 1);

  ir_edit_set_attr (c->l->edit, node, ir_attr_string (context, "function", info->name, -1));
  if (info->domain[0] != '\0')
    ir_edit_set_attr (c->l->edit, node, ir_attr_string (context, "domain", info->domain, -1));
  if (info->overload != NULL && info->overload[0] != '\0')
    ir_edit_set_attr (c->l->edit, node, ir_attr_string (context, "overload", info->overload, -1));
  if (ir_graph_n_outputs (function) > 0)
    ir_infer_node (c->l->edit, node, NULL);
  return node->outputs[0];
}

IrValue *
ir_closure_add_switch (IrLowerConstruct *c, IrValue *condition, IrValue *if_true, IrValue *if_false)
{
  IrValue *inputs[] = { condition, if_true, if_false };
  IrNode *node = ir_lower_add_node (c, "Switch", IR_CLOSURE_DOMAIN, 3, inputs, 1, NULL);

  ir_infer_node (c->l->edit, node, NULL);
  return node->outputs[0];
}

IrNode *
ir_closure_add_call (IrLowerConstruct *c,
                     IrValue *closure,
                     const GPtrArray *arguments,
                     guint n_outputs,
                     const GPtrArray *types)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  g_ptr_array_add (inputs, closure);
  for (guint i = 0; arguments != NULL && i < arguments->len; i++)
    g_ptr_array_add (inputs, arguments->pdata[i]);
  IrNode *node = add_node (c, "Call", inputs, n_outputs);
  for (guint i = 0; types != NULL && i < n_outputs; i++)
    if (types->pdata[i] != NULL)
      ir_edit_set_type (c->l->edit, node->outputs[i], types->pdata[i]);
  return node;
}

void
ir_closure_be_construct (IrLowerConstruct *c, IrNode *call)
{
  ir_edit_rename_node (c->l->edit, call, c->node->name);
  ir_edit_set_scope (c->l->edit, call, c->node->scope);
  ir_edit_set_device (c->l->edit, call, c->node->device);
  ir_lower_guard (c, call);
}

/* -- If -- */

/* A closure of what @branch does */
static IrValue *
close_branch (IrLowerConstruct *c, IrGraph *branch, const char *what)
{
  g_autoptr (GPtrArray) captures = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_auto (IrClosureFunction) f = { 0 };

  ir_lower_find_captures (c->l, branch, c->node->graph, captures, seen);
  ir_closure_function_init (&f, c, what);
  g_autoptr (GPtrArray) results = ir_lower_take_outputs (c->l, branch);
  ir_closure_add_captures (&f, c, captures, branch, results);
  ir_closure_set_inputs (&f, c);
  c->graph = f.graph;
  ir_lower_move_in (c, branch, NULL);
  c->graph = c->node->graph;
  ir_closure_set_outputs (&f, c, (IrValue *const *) results->pdata, results->len, NULL);
  return ir_closure_add_partial (c, f.graph, captures);
}

static gboolean
close_if (IrLowerConstruct *c)
{
  IrValue *if_true = close_branch (c, ir_node_attr_graph (c->node, "then_branch"), "then");
  IrValue *if_false = close_branch (c, ir_node_attr_graph (c->node, "else_branch"), "else");
  IrValue *chosen = ir_closure_add_switch (c, c->node->inputs[0], if_true, if_false);
  IrNode *call = ir_closure_add_call (c, chosen, NULL, c->node->n_outputs, NULL);

  ir_closure_be_construct (c, call);
  return ir_lower_hand_over (c, call->outputs);
}

static void
if_to_closures (IrLowering *l, IrNode *node, const char *rule)
{
  const char *why = ir_lower_why_not_if (l, node);
  IrLowerConstruct c;

  if (why != NULL)
    ir_lower_refuse (l, rule, node, why);
  else if (ir_lower_begin (&c, l, rule, node))
    ir_lower_end (&c, rule, close_if (&c) ? NULL : IR_LOWER_LESS_KNOWN);
}

/* -- calls -- */

/* Whether @function, or what it calls, draws */
static gboolean
draws (const IrGraph *function)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();
  gboolean found = FALSE;

  g_ptr_array_add (stack, (gpointer) function);
  while (stack->len > 0 && !found)
    {
      const IrGraph *graph = g_ptr_array_steal_index_fast (stack, stack->len - 1);
      guint n;
      IrNode *const *nodes = ir_graph_order (graph, &n);
      found = ir_pass_draws_itself (graph);
      for (guint i = 0; i < n; i++)
        {
          const IrGraph *called = ir_node_function (nodes[i]);
          if (called != NULL && g_hash_table_add (seen, (gpointer) called))
            g_ptr_array_add (stack, (gpointer) called);
        }
    }
  return found;
}

/* (nullable) */
static const char *
why_not_call (const IrNode *node, const IrGraph *function)
{
  if (g_str_equal (node->domain, IR_PASS_FUSED_DOMAIN))
    return "it stands for fused elementwise nodes";
  if (node->n_attrs > 0 || function->function->n_attr_names > 0 ||
      function->function->n_attr_defaults > 0)
    return "its function has attributes, which a closure does not give";
  if (node->n_inputs != ir_graph_n_inputs (function) ||
      node->n_outputs > ir_graph_n_outputs (function))
    return "it leaves out inputs of its function, or does not fit it";
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] == NULL)
      return "it leaves out inputs of its function";
  return draws (function) ? "it draws random numbers, which depend on names" : NULL;
}

static gboolean
close_call (IrLowerConstruct *c, const IrGraph *function)
{
  g_autoptr (GPtrArray) captured = g_ptr_array_new (), arguments = g_ptr_array_new ();

  for (guint i = 0; i < c->node->n_inputs; i++)
    g_ptr_array_add (arguments, c->node->inputs[i]);
  IrValue *closure = ir_closure_add_partial (c, function, captured);
  IrNode *call = ir_closure_add_call (c, closure, arguments, c->node->n_outputs, NULL);
  ir_closure_be_construct (c, call);
  return ir_lower_hand_over (c, call->outputs);
}

static void
call_to_closure (IrLowering *l, IrNode *node, const char *rule)
{
  const IrGraph *function = ir_node_function (node);
  const char *why = why_not_call (node, function);
  IrLowerConstruct c;

  if (why != NULL)
    ir_lower_refuse (l, rule, node, why);
  else if (ir_lower_begin (&c, l, rule, node))
    ir_lower_end (&c, rule, close_call (&c, function) ? NULL : IR_LOWER_LESS_KNOWN);
}

/* -- the pass -- */

static gboolean
run (IrPassContext *context, GError **error)
{
  static const IrLowerWay ways[] = {
    { IR_OP_IF, RULE_IF, if_to_closures },      { IR_OP_LOOP, RULE_LOOP, ir_closure_loop },
    { IR_OP_SCAN, RULE_SCAN, ir_closure_loop }, { IR_OP_SEQUENCE_MAP, RULE_MAP, ir_closure_loop },
    { IR_OP_NONE, RULE_CALL, call_to_closure }, { 0 }
  };

  return ir_lower_run (context, ways, IR_CLOSURE_DOMAIN, TRUE, error);
}

static const IrRule rules[] = {
  { RULE_IF, "an If", "a function for each branch, Partials, Switch, Call", IR_CLASS_EXACT,
    "What a branch reads from around becomes inputs of its function, which Partial gives.",
    "(float[n,4] x, bool c) => (float[n,4] y) { y = If (c) <then_branch = t () => (u) { u = Neg (x) }, "
    "else_branch = e () => (v) { v = Exp (x) }> }" },
  { RULE_LOOP, "a Loop", "functions header, body and after, Partial, Call", IR_CLASS_EXACT,
    "The header calls body or after, and the body calls the header as the last thing. What is stacked is put "
    "behind a sequence that goes round, and made one tensor by Stack.",
    "(float[n,4] x, int64 often, bool c) => (float[n,4] y) { y = Loop (often, c, x) <body = b (int64 i, bool go, "
    "float[n,4] s) => (bool more, float[n,4] t) { more = Identity (go) t = Neg (s) }> }" },
  { RULE_SCAN, "a Scan", "the same, as long as the axis is; slices by Gather", IR_CLASS_EXACT,
    "What is scanned is captured, and read by the number of the iteration.",
    "(float[n,4] x) => (float[n,4] y) { y = Scan <num_scan_inputs = 1, body = b (float[4] s) => (float[4] t) { t = "
    "Neg (s) }> (x) }" },
  { RULE_MAP, "a SequenceMap", "the same, as long as the sequence is; items by SequenceAt",
    IR_CLASS_EXACT, "Items are read by the number of the iteration, and put behind a sequence.",
    "(float[n,4] x) => (float[n,4] y) { s = SequenceConstruct (x, x) t = SequenceMap (s) <body = b (float[n,4] e) => "
    "(float[n,4] f) { f = Neg (e) }> zero = Constant <value_int = 0> () y = SequenceAt (t, zero) }" },
  { RULE_CALL, "a call of a function of the model", "Partial and Call", IR_CLASS_EXACT,
    "A closure of the function that has none of its inputs yet." },
  { NULL },
};

const IrPass ir_pass_to_closures = {
  .name = "to-closures",
  .title = "Turn control flow into closures",
  .doc =
      "If, Loop, Scan, SequenceMap and calls of functions become functions that are values, and calls of them, a "
      "step for each. What draws random numbers stays.",
  .source = "MindSpore, functional control flow",
  .step_class = IR_CLASS_EXACT,
  .before_after =
      "x, c -> If { f } else { g } -> y\nx, c -> Partial (f), Partial (g) -> Switch -> Call -> y",
  .run = run,
  .documented_rules = rules,
  .once = TRUE,
};
