/* What both branches of an If compute is computed before it:
 *
 *     y = If (c) { u = Exp (x)  Neg (u) }     u = Exp (x)
 *               else { v = Exp (x)  Abs (v) }  y = If (c) { Neg (u) } else { Abs (u) }
 *
 * Two nodes, one in each branch, of the same operator, attributes and inputs, which come from around the
 * If, are in both, or are equal constants. As one of them runs in any case, it does not matter whether
 * they can fail. Where the two results are the same output of the If, that output goes, and so does an
 * If without outputs. Source: LLVM GVNHoist; Click, Global code motion, global value numbering, PLDI
 * 1995. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rewrites/branches.h"
#include "passes/rewrites/trips.h"
#include "passes/rule/move.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE "hoist-equal"

typedef struct
{
  IrPassContext *context;
  IrPassNames *names; /* (nullable) counted when first needed */
  IrNode *owner;
  IrGraph *branches[2]; /* then, else */
} Hoister;

typedef IrNode *const Pair[2];

static gboolean
is_outside (const Hoister *h, const IrValue *value)
{
  return value->graph != h->branches[0] && value->graph != h->branches[1];
}

static gboolean
same_operand (const Hoister *h, const IrValue *a, const IrValue *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  if (a == b)
    return is_outside (h, a);
  return ir_pass_is_local_constant (h->context, h->branches[0], a) &&
         ir_pass_is_local_constant (h->context, h->branches[1], b) &&
         ir_tensor_equal (ir_value_constant (a), ir_value_constant (b));
}

static gboolean
same_operands (const Hoister *h, Pair pair, gboolean swapped)
{
  for (guint i = 0; i < pair[0]->n_inputs; i++)
    if (!same_operand (h, pair[0]->inputs[i], pair[1]->inputs[swapped ? 1 - i : i]))
      return FALSE;
  return TRUE;
}

static gboolean
computes_same (const Hoister *h, Pair pair)
{
  return ir_pass_same_operation (pair[0], pair[1]) &&
         (same_operands (h, pair, FALSE) ||
          (pair[0]->op->flags & IR_OP_COMMUTES && pair[0]->n_inputs == 2 &&
           same_operands (h, pair, TRUE)));
}

/* It reads something, and all of that from around the If or as constants. */
static gboolean
can_leave (const Hoister *h, guint side, const IrNode *node)
{
  gboolean reads = FALSE;

  if (node->state != IR_STATE_LIVE || ir_node_valid_op (node) == NULL ||
      node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS) || ir_pass_has_control (h->context, node))
    return FALSE;
  ir_node_for_each_input (node, i, value)
    {
      if (!is_outside (h, value) &&
          !ir_pass_is_local_constant (h->context, h->branches[side], value))
        return FALSE;
      reads |= is_outside (h, value);
    }
  return reads;
}

/* Which output of @node @value is; -1: none */
static int
output_of (const IrNode *node, const IrValue *value)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (value != NULL && node->outputs[i] == value)
      return (int) i;
  return -1;
}

/* Which outputs of the If are neither's. FALSE: one branch gives a result where the other does not. */
static gboolean
find_kept (const Hoister *h, Pair pair, gboolean *kept)
{
  for (guint i = 0; i < h->owner->n_outputs; i++)
    {
      int a = output_of (pair[0], ir_graph_output (h->branches[0], i));

      if (a != output_of (pair[1], ir_graph_output (h->branches[1], i)))
        return FALSE;
      kept[i] = a < 0;
    }
  return TRUE;
}

static gboolean
stand_for (const Hoister *h, IrValue *old, IrValue *with)
{
  if (!ir_pass_fit_type (h->context, old, with))
    return FALSE;
  ir_edit_replace_uses (h->context->edit, old, with);
  return TRUE;
}

/* Outputs of the If that are results of @pair become those of @node, which stands outside. */
static gboolean
give_outputs (const Hoister *h, Pair pair, const gboolean *kept)
{
  const guint n = h->owner->n_outputs;
  gboolean all = TRUE, some = FALSE;
  g_autofree IrValue **results = g_new0 (IrValue *, n + 1);

  for (guint i = 0; i < n; i++)
    if (!kept[i])
      results[i] = pair[0]->outputs[output_of (pair[0], ir_graph_output (h->branches[0], i))];
  for (guint i = 0; i < n; i++)
    {
      all &= !kept[i];
      some |= !kept[i];
    }
  if (!some)
    return TRUE;
  ir_branch_keep_outputs (h->context, h->owner, kept, 0);
  for (guint i = 0; i < n; i++)
    if (results[i] != NULL && h->owner->outputs[i] != NULL &&
        !stand_for (h, h->owner->outputs[i], results[i]))
      return FALSE;
  if (all)
    ir_pass_remove_node (h->context, h->owner);
  else
    ir_branch_compact (h->context, h->owner, kept);
  return TRUE;
}

static gboolean
move_out (Hoister *h, Pair pair, const gboolean *kept)
{
  IrEdit *edit = h->context->edit;
  IrNode *node = pair[0], *twin = pair[1];

  if (h->names == NULL)
    h->names = ir_pass_names_new (h->context->model);
  ir_node_for_each_input (node, i, value)
    {
      if (value->graph == h->branches[0])
        ir_pass_move_constant (h->context, h->names, value, h->owner);
    }
  ir_edit_set_rank (edit, node, h->owner->rank);
  ir_pass_move_node (h->context, h->names, node, h->owner->graph);
  ir_edit_step_map_node (edit, node->id, node->id);
  ir_edit_step_map_node (edit, twin->id, node->id);
  if (!give_outputs (h, pair, kept))
    return FALSE;
  if (h->owner->state != IR_STATE_LIVE)
    return TRUE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (twin->outputs[i] != NULL && !stand_for (h, twin->outputs[i], node->outputs[i]))
      return FALSE;
  ir_pass_remove_node (h->context, twin);
  return TRUE;
}

static void
hoist (Hoister *h, Pair pair)
{
  g_autofree gboolean *kept = g_new0 (gboolean, h->owner->n_outputs + 1);
  g_autofree char *label = ir_node_label (pair[1]);
  const IrNodeId id = pair[0]->id;

  if (!find_kept (h, pair, kept))
    {
      ir_edit_refuse (h->context->edit, RULE, id, "one branch alone gives the result");
      return;
    }
  if (!ir_pass_begin (h->context, RULE, IR_CLASS_EXACT, pair[0]))
    return;
  ir_edit_step_reason (h->context->edit, "%s of the other branch computes the same", label);
  if (move_out (h, pair, kept))
    {
      ir_pass_end (h->context);
      return;
    }
  ir_pass_abort (h->context);
  ir_edit_refuse (h->context->edit, RULE, id, "less would be known of the type of an output");
}

/* What nodes have in common that may be equal */
static gpointer
kind_of (const IrNode *node)
{
  return GUINT_TO_POINTER (g_direct_hash (node->op_type) * 31 + node->n_inputs);
}

static GHashTable *
by_kind (const Hoister *h, guint side)
{
  GHashTable *table = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (h->branches[side]);

  for (guint i = 0; i < nodes->len; i++)
    {
      GPtrArray *alike = g_hash_table_lookup (table, kind_of (nodes->pdata[i]));

      if (alike == NULL)
        g_hash_table_insert (table, kind_of (nodes->pdata[i]), alike = g_ptr_array_new ());
      g_ptr_array_add (alike, nodes->pdata[i]);
    }
  return table;
}

static IrNode *
find_twin (const Hoister *h, GHashTable *others, IrNode *node)
{
  const GPtrArray *alike = g_hash_table_lookup (others, kind_of (node));

  for (guint i = 0; alike != NULL && i < alike->len; i++)
    {
      IrNode *other = alike->pdata[i];

      if (can_leave (h, 1, other) && computes_same (h, (Pair){ node, other }))
        return other;
    }
  return NULL;
}

static gboolean
fits (const Hoister *h)
{
  for (guint side = 0; side < 2; side++)
    if (h->branches[side] == NULL || ir_graph_is_cyclic (h->branches[side]) ||
        ir_graph_n_inputs (h->branches[side]) > 0 ||
        ir_graph_n_outputs (h->branches[side]) != h->owner->n_outputs)
      return FALSE;
  return TRUE;
}

/* In the order of the nodes, so that what reads what has left may follow. */
static void
look_at (Hoister *h, IrNode *owner)
{
  h->owner = owner;
  h->branches[0] = ir_node_attr_graph (owner, "then_branch");
  h->branches[1] = ir_node_attr_graph (owner, "else_branch");
  if (!fits (h))
    return;
  g_autoptr (GHashTable) others = by_kind (h, 1);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (h->branches[0]);

  for (guint i = 0; i < nodes->len && owner->state == IR_STATE_LIVE && !h->context->stopped; i++)
    {
      IrNode *node = nodes->pdata[i];
      IrNode *twin = can_leave (h, 0, node) ? find_twin (h, others, node) : NULL;

      if (twin != NULL)
        hoist (h, (Pair){ node, twin });
    }
}

static void
visit (IrNode *node, gpointer data)
{
  Hoister *h = data;

  if (ir_op_is (node, IR_OP_IF) && !ir_pass_has_control (h->context, node))
    look_at (h, node);
}

/* Inner graphs first, so that a node leaves all the branches that it can. */
static gboolean
run (IrPassContext *context, GError **error)
{
  Hoister h = { .context = context };
  const gboolean done = ir_pass_visit_inner_first (context, visit, &h, error);

  g_clear_pointer (&h.names, ir_pass_names_free);
  return done;
}

static const IrRule rules[] = {
  { RULE, "a node in each branch of an If, of the same operator, attributes and inputs",
    "one node before the If", IR_CLASS_EXACT,
    "What both branches compute is computed before them." },
  { NULL },
};

const IrPass ir_pass_hoist_branches = {
  .name = "hoist-branches",
  .title = "Hoist out of branches",
  .doc = "Nodes that both branches of an If compute alike become one node in front of it.",
  .source = "LLVM GVNHoist; Click, Global code motion, global value numbering, PLDI 1995",
  .step_class = IR_CLASS_EXACT,
  .before_after = "If (c) { x -> Exp -> Neg } else { x -> Exp -> Abs }\n"
                  "x -> Exp -> u; If (c) { u -> Neg } else { u -> Abs }",
  .run = run,
  .documented_rules = rules,
};
