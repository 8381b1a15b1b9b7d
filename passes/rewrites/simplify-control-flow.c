/* Control flow whose course is known:
 *
 *     If (true) { a } else { b }              a
 *     Loop (0, c, x) { ... }                  x; scan outputs of size 0
 *     Loop (3, true, x) { x = f (x) }         f (f (f (x)))
 *     If (c) { u, v } else { w, z }, v unused     If (c) { u } else { w }
 *
 * Branches move: their nodes stay the nodes that they are, and names that would hide others are
 * replaced. Bodies of loops are copied once per iteration if the number of iterations is constant,
 * the condition that its body gives cannot end the loop before, also where the Loop has no
 * condition as input, and the copies are not many. Scan outputs are stacked by Unsqueeze and
 * Concat. Random operators draw by the names of their outputs, so a body that has some stays where
 * it is. Source: onnx/optimizer eliminate_if_with_const_cond; XLA WhileLoopSimplifier,
 * WhileLoopUnroller. */
#include "config.h"

#include "passes/rule/move.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"
#include "passes/rewrites/branches.h"
#include "passes/rewrites/trips.h"
#include "passes/rewrites/unroll.h"

#define RULE_IF     "inline-branch"
#define RULE_LOOP   "remove-loop"
#define RULE_UNROLL "unroll-loop"
#define RULE_DROP   "drop-unused-outputs"

typedef struct
{
  IrPassContext *context;
  IrPassNames *names; /* (nullable) counted when first needed */
} Simplifier;

static IrPassNames *
names_of (Simplifier *s)
{
  if (s->names == NULL)
    s->names = ir_pass_names_new (s->context->model);
  return s->names;
}

static GPtrArray *
outputs_of (const IrGraph *graph)
{
  GPtrArray *outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    g_ptr_array_add (outputs, ir_graph_output (graph, i));
  return outputs;
}

static gboolean
are_all_there (const GPtrArray *values)
{
  for (guint i = 0; i < values->len; i++)
    if (values->pdata[i] == NULL)
      return FALSE;
  return TRUE;
}

static void
finish (IrPassContext *context, const char *rule, IrNodeId node, gboolean done)
{
  if (done)
    {
      ir_pass_end (context);
      return;
    }
  ir_pass_abort (context);
  ir_edit_refuse (context->edit, rule, node, "less would be known of the type of an output");
}

/* -- If -- */

static gboolean
inline_branch (Simplifier *s, IrNode *node, IrGraph *branch)
{
  g_autoptr (GPtrArray) results = outputs_of (branch);

  ir_branch_inline (s->context, names_of (s), node, branch);
  return ir_unroll_hand_over (s->context, node, results);
}

static void
simplify_if (Simplifier *s, IrNode *node)
{
  gint64 condition;

  if (!ir_pass_constant_element (ir_node_input (node, 0), &condition))
    return;
  IrGraph *branch = ir_node_attr_graph (node, condition != 0 ? "then_branch" : "else_branch");
  if (branch == NULL || ir_graph_n_outputs (branch) != node->n_outputs ||
      ir_graph_n_inputs (branch) > 0 || ir_graph_is_cyclic (branch))
    return;
  g_autoptr (GPtrArray) results = outputs_of (branch);
  if (!are_all_there (results))
    return;
  if (ir_unroll_size (branch) == G_MAXUINT)
    {
      ir_edit_refuse (s->context->edit, RULE_IF, node->id,
                      "the branch draws random numbers, which depend on names");
      return;
    }
  IrNodeId id = node->id;
  if (!ir_pass_begin (s->context, RULE_IF, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (s->context->edit, "the condition is always %s",
                       condition != 0 ? "true" : "false");
  finish (s->context, RULE_IF, id, inline_branch (s, node, branch));
}

/* -- Loop -- */

/* What is stacked if nothing was; NULL if the shape of an element is not known. */
static IrValue *
empty_stack (IrPassContext *context, IrGraph *graph, const IrType *element)
{
  gint64 dims[IR_MAX_RANK + 1] = { 0 };
  g_autoptr (IrTensor) tensor = NULL;

  if (!ir_type_is_tensor (element) || !ir_type_is_static (element) ||
      element->rank >= IR_MAX_RANK || ir_dtype_kind (element->dtype) == IR_DTYPE_KIND_STRING)
    return NULL;
  for (int i = 0; i < element->rank; i++)
    dims[i + 1] = element->dims[i];
  tensor = ir_tensor_new_alloc (element->dtype, (guint) element->rank + 1, dims, NULL);
  return tensor != NULL ? ir_pass_add_constant (context, graph, "empty", tensor) : NULL;
}

static gboolean
remove_loop (IrPassContext *context, const IrKnownLoop *loop)
{
  g_autoptr (GPtrArray) results = g_ptr_array_new ();

  for (guint i = 0; i < loop->node->n_outputs; i++)
    {
      const IrValue *old = loop->node->outputs[i];

      if (old == NULL || old->n_uses == 0)
        g_ptr_array_add (results, NULL);
      else if (i < loop->n_carried)
        g_ptr_array_add (results, loop->node->inputs[i + 2]);
      else
        g_ptr_array_add (results, empty_stack (context, loop->node->graph,
                                               ir_graph_output (loop->body, i + 1)->type));
    }
  return ir_unroll_hand_over (context, loop->node, results);
}

/* -- unrolling -- */

static gboolean
unroll (Simplifier *s, const IrKnownLoop *loop)
{
  guint n_scans = ir_graph_n_outputs (loop->body) - 1 - loop->n_carried;
  g_autofree GPtrArray **scans = g_new0 (GPtrArray *, n_scans + 1);
  g_autoptr (GPtrArray) carried = g_ptr_array_new ();
  IrValue *axes = NULL;

  for (guint i = 0; i < n_scans; i++)
    scans[i] = g_ptr_array_new ();
  for (guint i = 0; i < loop->n_carried; i++)
    g_ptr_array_add (carried, loop->node->inputs[i + 2]);
  ir_unroll_move_free_values (s->context, names_of (s), loop->body, loop->node->graph);
  for (gint64 trip = 0; trip < loop->trips; trip++)
    ir_unroll_copy (s->context, loop,
                    &(IrUnrolledIteration){ .to = loop->node->graph, .constant = trip }, carried,
                    scans);
  for (guint i = loop->n_carried; i < loop->node->n_outputs; i++)
    {
      const IrValue *old = loop->node->outputs[i];
      gboolean used = old != NULL && old->n_uses > 0;

      g_ptr_array_add (carried, used ? ir_unroll_stack (s->context, loop, loop->node->graph,
                                                        scans[i - loop->n_carried], &axes)
                                     : NULL);
    }
  for (guint i = 0; i < n_scans; i++)
    g_ptr_array_unref (scans[i]);
  return ir_unroll_hand_over (s->context, loop->node, carried);
}

static const char *
why_not_unrolled (const IrKnownLoop *loop)
{
  guint size = ir_unroll_size (loop->body);

  if (size == G_MAXUINT)
    return "the body draws random numbers, which depend on names";
  if (loop->trips > IR_UNROLL_NODES || size * (guint64) loop->trips > IR_UNROLL_NODES)
    return "the copies of the body would be too many nodes";
  return ir_unroll_stacks_tensors (loop) ? NULL : "what is stacked is not known to be a tensor";
}

static void
simplify_loop (Simplifier *s, IrNode *node)
{
  IrKnownLoop loop;
  const char *why;
  IrNodeId id = node->id;

  if (!ir_unroll_find (node, &loop))
    return;
  if (!ir_unroll_count_trips (&loop))
    {
      g_autofree char *unknown = ir_unroll_why_unknown (&loop);
      ir_edit_refuse (s->context->edit, RULE_UNROLL, id, unknown);
      return;
    }
  if (loop.trips == 0)
    {
      if (!ir_pass_begin (s->context, RULE_LOOP, IR_CLASS_EXACT, node))
        return;
      ir_edit_step_reason (s->context->edit, "the body never runs");
      finish (s->context, RULE_LOOP, id, remove_loop (s->context, &loop));
      return;
    }
  if ((why = why_not_unrolled (&loop)) != NULL)
    {
      ir_edit_refuse (s->context->edit, RULE_UNROLL, id, why);
      return;
    }
  if (!ir_pass_begin (s->context, RULE_UNROLL, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (s->context->edit, "the body runs %u times", (guint) loop.trips);
  finish (s->context, RULE_UNROLL, id, unroll (s, &loop));
}

/* -- outputs that nobody uses -- */

static gboolean
fits_outputs (const IrNode *node, guint offset)
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  for (guint i = 0; i < graphs->len; i++)
    {
      g_autoptr (GPtrArray) outputs = outputs_of (graphs->pdata[i]);
      if (outputs->len != node->n_outputs + offset || !are_all_there (outputs))
        return FALSE;
    }
  return graphs->len > 0;
}

/* Any output of an If, scan outputs of a Loop; one has to stay. */
static void
drop_unused (IrPassContext *context, IrNode *node)
{
  gboolean is_if = ir_op_is (node, IR_OP_IF);
  guint first = is_if ? 0 : MAX (node->n_inputs, 2) - 2, n_kept = 0;
  g_autofree gboolean *kept = g_new0 (gboolean, node->n_outputs + 1);

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *output = node->outputs[i];
      kept[i] = i < first || (output != NULL && output->n_uses > 0);
      n_kept += kept[i];
    }
  if (n_kept == 0 || n_kept == node->n_outputs || !fits_outputs (node, is_if ? 0 : 1) ||
      !ir_pass_begin (context, RULE_DROP, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (context->edit, "%u of %u outputs are not used", node->n_outputs - n_kept,
                       node->n_outputs);
  ir_branch_keep_outputs (context, node, kept, is_if ? 0 : 1);
  ir_branch_compact (context, node, kept);
  ir_pass_end (context);
}

/* -- the pass -- */

static void
simplify (Simplifier *s, IrNode *node)
{
  gboolean is_if = ir_op_is (node, IR_OP_IF), is_loop = ir_op_is (node, IR_OP_LOOP);

  if ((!is_if && !is_loop) || ir_pass_has_control (s->context, node))
    return;
  if (is_if)
    simplify_if (s, node);
  else
    simplify_loop (s, node);
  if (node->state == IR_STATE_LIVE)
    drop_unused (s->context, node);
}

static void
visit (IrNode *node, gpointer data)
{
  simplify (data, node);
}

/* Inner graphs first: what is copied is simple then. */
static gboolean
run (IrPassContext *context, GError **error)
{
  Simplifier s = { context, NULL };
  const gboolean done = ir_pass_visit_inner_first (context, visit, &s, error);

  g_clear_pointer (&s.names, ir_pass_names_free);
  return done;
}

static const IrRule rules[] = {
  { RULE_IF, "an If whose condition is a constant", "the nodes of the branch", IR_CLASS_EXACT,
    "A branch that always runs is part of the graph." },
  { RULE_LOOP, "a Loop that never runs", "its initial values", IR_CLASS_EXACT,
    "A Loop of no iterations gives its initial values; what it stacks is empty." },
  { RULE_UNROLL, "a Loop of a constant number of iterations, of at most 256 nodes together",
    "a copy of the body per iteration", IR_CLASS_EXACT,
    "A short Loop that nothing can end before is written out." },
  { RULE_DROP, "an If or a Loop with outputs that nothing uses", "the same without them",
    IR_CLASS_EXACT, "Outputs of branches, and what a Loop stacks, go if nothing uses them." },
  { NULL },
};

const IrPass ir_pass_simplify_control_flow = {
  .name = "simplify-control-flow",
  .title = "Simplify control flow",
  .doc = "An If with a constant condition becomes its branch; a Loop becomes its initial values if "
         "it never runs, and copies of its body if it runs a few times; outputs that nothing uses "
         "go.",
  .source = "onnx/optimizer eliminate_if_with_const_cond; XLA WhileLoopSimplifier, "
            "WhileLoopUnroller",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> If (true) { Relu } else { Neg } -> y\nx -> Relu -> y",
  .run = run,
  .documented_rules = rules,
};
