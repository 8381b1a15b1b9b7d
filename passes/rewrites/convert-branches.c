/* Between a choice of what to compute, and a choice of what was computed:
 *
 *     y = If (c) { Neg (x) } else { Abs (x) }     y = Where (c, Neg (x), Abs (x))
 *
 * and back, whichever takes less. A small If is two nodes too many, and nothing is fused across it; behind
 * a Where whose condition is one bool, what leads to the side that is not chosen is computed in vain.
 * An If becomes a Where where its branches cannot fail, and both together take no longer, by the cost
 * model, than the If and half of them. A Where becomes an If of two Identities; sink-into-branches
 * moves what they alone read. Source: Allen et al., Conversion of control dependence to data
 * dependence, POPL 1983; LLVM SimplifyCFG, SpeculativeExecution. */
#include "config.h"

#include "core/op/check.h"
#include "core/op/infer.h"
#include "passes/rewrites/branches.h"
#include "passes/rewrites/speculate.h"
#include "passes/rule/move.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE_WHERE "if-to-where"
#define RULE_IF    "where-to-if"

/* What is taken for: an If by itself, a call of a small node, an operation, a byte. They compare two forms,
 * and predict no machine: 64 small Ifs in a row take as long as 64 Where of two small nodes. */
#define IF_US   0.8
#define CALL_US 0.3
#define FLOP_US 1e-5
#define BYTE_US 3e-5
#define CLEARLY 8 /* how many times that must be saved before a choice comes back */

typedef struct
{
  IrPassContext *context;
  IrPassNames *names; /* (nullable) counted when first needed */
} Converter;

static IrPassNames *
names_of (Converter *c)
{
  if (c->names == NULL)
    c->names = ir_pass_names_new (c->context->model);
  return c->names;
}

static gboolean
is_one_bool (const IrValue *value)
{
  const IrType *type = value != NULL ? value->type : NULL;

  if (!ir_type_is_tensor (type) || type->dtype != IR_DTYPE_BOOL || !ir_type_is_static (type))
    return FALSE;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] != 1)
      return FALSE;
  return TRUE;
}

static double
node_us (const IrNode *node, gboolean *known)
{
  gboolean partial = FALSE;
  const double flops = (double) ir_cost_node_flops (node, &partial);
  const double bytes = (double) ir_cost_node_bytes (node, &partial);

  *known = *known && !partial;
  return node->op->flags & IR_OP_VIEW ? CALL_US : CALL_US + flops * FLOP_US + bytes * BYTE_US;
}

/* -- If to Where -- */

static const char *
why_not_speculated (Converter *c, const IrGraph *branch, double *us, gboolean *known)
{
  IrNode *const *nodes;
  guint n;
  const char *why;

  if (branch == NULL || ir_graph_is_cyclic (branch) || ir_graph_n_inputs (branch) > 0)
    return "a branch does not fit";
  nodes = ir_graph_order (branch, &n);
  for (guint i = 0; i < n; i++)
    {
      if (ir_node_is_constant (nodes[i]))
        continue;
      if ((why = ir_pass_why_may_fail (nodes[i])) != NULL)
        return why;
      if (nodes[i]->op->flags & IR_OP_RANDOM)
        return "a branch draws random numbers, which depend on names";
      if (ir_pass_has_control (c->context, nodes[i]))
        return "a control dependency begins or ends in a branch";
      *us += node_us (nodes[i], known);
    }
  return NULL;
}

/* A Where gives what both sides and the condition are together: that must be what the If gives. */
static gboolean
choose_alike (const IrNode *node, const IrGraph *a, const IrGraph *b)
{
  const IrValue *condition = ir_node_input (node, 0);

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *x = ir_graph_output (a, i), *y = ir_graph_output (b, i);

      if (node->outputs[i] == NULL || x == NULL || y == NULL ||
          !ir_types_identical (x->type, y->type) || ir_value_rank (x) < ir_value_rank (condition))
        return FALSE;
    }
  return TRUE;
}

static IrNode *
add_where (IrPassContext *context, const IrNode *owner, IrValue *x, IrValue *y)
{
  IrNode *where = ir_edit_add_node (context->edit, owner->graph, "Where", NULL, "", 3,
                                    (IrValue *[]){ owner->inputs[0], x, y }, 1);

  ir_edit_set_rank (context->edit, where, owner->rank);
  ir_edit_set_device (context->edit, where, owner->device);
  ir_edit_set_type (context->edit, where->outputs[0], x->type);
  ir_edit_step_map_node (context->edit, owner->id, where->id);
  return where;
}

/* (transfer full) (nullable): why it is not done after all */
static char *
write_wheres (Converter *c, IrNode *node, IrGraph *const branches[2], double us, gboolean known)
{
  const guint n = node->n_outputs;
  g_autofree IrValue **sides = g_new0 (IrValue *, 2 * n + 1), **old = g_new0 (IrValue *, n + 1);
  double after = us;

  for (guint i = 0; i < 2 * n; i++)
    sides[i] = ir_graph_output (branches[i / n], i % n);
  for (guint i = 0; i < n; i++)
    old[i] = node->outputs[i];
  for (guint side = 0; side < 2; side++)
    ir_branch_inline (c->context, names_of (c), node, branches[side]);
  for (guint i = 0; i < n; i++)
    {
      IrNode *where = add_where (c->context, node, sides[i], sides[n + i]);

      if (ir_node_valid_op (where) == NULL)
        return g_strdup ("Where does not take what the branches give");
      after += node_us (where, &known);
      if (!ir_pass_fit_type (c->context, old[i], where->outputs[0]))
        return g_strdup ("less would be known of the type of an output");
      ir_edit_replace_uses (c->context->edit, old[i], where->outputs[0]);
    }
  if (!known || after > IF_US + us / 2)
    return g_strdup_printf (
        "by the table of rates both branches and a Where would take %.3g us, the "
        "If and one of them %.3g us",
        after, IF_US + us / 2);
  ir_pass_remove_node (c->context, node);
  return NULL;
}

static void
if_to_where (Converter *c, IrNode *node)
{
  IrGraph *const branches[2] = { ir_node_attr_graph (node, "then_branch"),
                                 ir_node_attr_graph (node, "else_branch") };
  const IrNodeId id = node->id;
  double us = 0;
  gboolean known = TRUE;
  const char *why = NULL;

  if (ir_node_valid_op (node) == NULL || !is_one_bool (ir_node_input (node, 0)))
    return;
  for (guint side = 0; side < 2 && why == NULL; side++)
    why = why_not_speculated (c, branches[side], &us, &known);
  if (why == NULL && !choose_alike (node, branches[0], branches[1]))
    why = "the types of what the branches give are not known to be the same";
  if (why == NULL && known && us > 2 * IF_US)
    why = "its branches take longer than the If itself";
  if (why != NULL)
    {
      ir_edit_refuse (c->context->edit, RULE_WHERE, id, why);
      return;
    }
  if (!ir_pass_begin (c->context, RULE_WHERE, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (c->context->edit,
                       "computing both branches takes no longer than choosing one");
  g_autofree char *late = write_wheres (c, node, branches, us, known);
  if (late == NULL)
    {
      ir_pass_end (c->context);
      return;
    }
  ir_pass_abort (c->context);
  ir_edit_refuse (c->context->edit, RULE_WHERE, id, late);
}

/* -- Where to If -- */

/* Adds nodes that lead to nothing but @value, read by @reader, to @cone; what they take */
static double
grow_cone (Converter *c, const IrValue *value, GHashTable *cone, gboolean *known)
{
  IrNode *node = value->producer;
  double us = 0;

  if (node == NULL || g_hash_table_contains (cone, node) || ir_node_valid_op (node) == NULL ||
      node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS) || ir_pass_has_control (c->context, node))
    return 0;
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *output = node->outputs[i];

      if (output == NULL)
        continue;
      if (ir_value_is_graph_output (output))
        return 0;
      for (guint k = 0; k < output->n_uses; k++)
        if (!g_hash_table_contains (cone, ir_value_use (output, k).node))
          return 0;
    }
  g_hash_table_add (cone, node);
  us = node_us (node, known);
  ir_node_for_each_input (node, i, input)
    us += grow_cone (c, input, cone, known);
  return us;
}

static gboolean
is_read_once_by (const IrValue *value, const IrNode *node)
{
  return value->n_uses == 1 && ir_value_use (value, 0).node == node;
}

static double
cone_us (Converter *c, IrNode *where, guint slot, gboolean *known)
{
  const IrValue *value = where->inputs[slot];
  g_autoptr (GHashTable) cone = g_hash_table_new (NULL, NULL);

  g_hash_table_add (cone, where);
  return is_read_once_by (value, where) ? grow_cone (c, value, cone, known) : 0;
}

static IrGraph *
add_branch (IrPassContext *context, IrNode *node, const char *name, IrValue *value)
{
  IrGraph *branch = ir_edit_add_graph (context->edit, IR_GRAPH_SUBGRAPH, name);
  IrNode *identity;

  ir_edit_set_attr (context->edit, node, ir_attr_graph (context->model->context, name, branch->id));
  identity = ir_edit_add_node (context->edit, branch, "Identity", NULL, "", 1, &value, 1);
  ir_edit_set_type (context->edit, identity->outputs[0], value->type);
  ir_edit_set_graph_outputs (context->edit, branch, identity->outputs, 1);
  return branch;
}

static void
where_to_if (Converter *c, IrNode *where)
{
  IrEdit *edit = c->context->edit;
  double us;
  gboolean known = TRUE;
  IrNode *node;

  if (ir_node_valid_op (where) == NULL || !is_one_bool (where->inputs[0]) ||
      !ir_types_identical (where->inputs[1]->type, where->inputs[2]->type) ||
      !ir_types_identical (where->inputs[1]->type, where->outputs[0]->type))
    return;
  us = cone_us (c, where, 1, &known) + cone_us (c, where, 2, &known);
  if (!known || us / 2 < CLEARLY * IF_US)
    {
      ir_edit_refuse (edit, RULE_IF, where->id,
                      "what leads to its two sides alone takes too little for a choice");
      return;
    }
  if (!ir_pass_begin (c->context, RULE_IF, IR_CLASS_EXACT, where))
    return;
  ir_edit_step_reason (edit, "of what leads to its two sides, %.3g us, one is not needed", us);
  node = ir_edit_add_node (edit, where->graph, "If", NULL, "", 1, where->inputs, 1);
  ir_edit_set_rank (edit, node, where->rank);
  ir_edit_set_device (edit, node, where->device);
  add_branch (c->context, node, "then_branch", where->inputs[1]);
  add_branch (c->context, node, "else_branch", where->inputs[2]);
  ir_pass_replace_node (c->context, where, node->outputs[0]);
  ir_pass_end (c->context);
}

/* -- the pass -- */

static void
visit (IrNode *node, gpointer data)
{
  Converter *c = data;

  if (ir_pass_has_control (c->context, node) || ir_pass_is_open (node))
    return;
  if (ir_op_is (node, IR_OP_IF))
    if_to_where (c, node);
  else if (ir_op_is (node, IR_OP_WHERE))
    where_to_if (c, node);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  Converter c = { context, NULL };
  const gboolean done = ir_pass_visit_inner_first (context, visit, &c, error);

  g_clear_pointer (&c.names, ir_pass_names_free);
  return done;
}

static const IrRule rules[] = {
  { RULE_WHERE, "an If of small branches that cannot fail",
    "the nodes of both, and a Where per output", IR_CLASS_EXACT,
    "Where both branches take less than the choice, both are computed." },
  { RULE_IF, "a Where by one bool, behind what nothing else reads", "an If of two Identities",
    IR_CLASS_EXACT, "Where much leads to the two sides of a choice, one of them is not computed." },
  { NULL },
};

const IrPass ir_pass_convert_branches = {
  .name = "convert-branches",
  .title = "Convert branches",
  .doc =
      "An If of small branches becomes a Where; a Where by one bool, with much behind it, becomes an If.",
  .source = "Allen et al., Conversion of control dependence to data dependence, POPL 1983; "
            "LLVM SimplifyCFG, SpeculativeExecution",
  .step_class = IR_CLASS_EXACT,
  .before_after =
      "If (c) { x -> Neg } else { x -> Abs } -> y\n(c, x -> Neg, x -> Abs) -> Where -> y",
  .run = run,
  .documented_rules = rules,
};
