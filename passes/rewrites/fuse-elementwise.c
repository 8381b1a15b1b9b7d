/* Elementwise nodes that lie one behind the other over the same elements become one call of a
 * function of the model, whose body they are:
 *
 *     a = Mul (x, s)  b = Add (a, y)  z = Tanh (b)        z = irscope.fused.MulAddTanh (x, s, y)
 *
 * A group grows from its last node upwards: a producer joins if it is elementwise, gives a tensor
 * of the very shape of the last one, and all its uses lie in the group already. So no path leaves a
 * group and comes back, nothing is computed twice, and only the last value is seen outside.
 * Operands of other shapes are broadcast inside. A reduction that alone reads the last value, over
 * constant axes, ends the group and belongs to it; the axes are constants of the body:
 *
 *     d = Sub (x, m)  s = Mul (d, d)  v = ReduceSum (s, [1])    v = irscope.fused.SubMulReduceSum
 * (..)
 *
 * The nodes of the body are the same as before, in one order, so results are bit for bit the same.
 * Groups of one structure share one function, so
 * that a file stays small and every other runtime can run it. Source: Rammer and XLA instruction
 * fusion (elementwise, no duplication), TVM FuseOps (kElemWise). */
#include "config.h"

#include "core/op/check.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE           "fuse-elementwise"
#define RULE_REDUCTION "fuse-reduction"

/* A body that can still be read. */
#define MOST_NODES 32

typedef struct
{
  IrPassContext *context;
  IrNode *root;        /* the last elementwise one */
  IrNode *reduction;   /* (nullable) of what the root gives */
  GPtrArray *nodes;    /* of IrNode, the root first; then, sorted, in the order of execution */
  GHashTable *members; /* set of the same */
  GPtrArray *inputs;   /* of IrValue, each once, in the order of first use */
} Group;

static Group *
group_new (IrPassContext *context, IrNode *root, IrNode *reduction)
{
  Group *group = g_new0 (Group, 1);

  group->context = context;
  group->root = root;
  group->reduction = reduction;
  group->nodes = g_ptr_array_new ();
  group->members = g_hash_table_new (NULL, NULL);
  group->inputs = g_ptr_array_new ();
  return group;
}

static void
group_free (Group *group)
{
  g_ptr_array_unref (group->nodes);
  g_hash_table_unref (group->members);
  g_ptr_array_unref (group->inputs);
  g_free (group);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Group, group_free)

/* -- growing -- */

static gboolean
is_elementwise (const IrPassContext *context, const IrNode *node)
{
  return node->state == IR_STATE_LIVE && ir_node_valid_op (node) != NULL &&
         (node->op->flags & (IR_OP_ELEMENTWISE | IR_OP_RANDOM | IR_OP_SUBGRAPHS)) ==
             IR_OP_ELEMENTWISE &&
         node->n_inputs > 0 && node->n_outputs == 1 && node->outputs[0] != NULL &&
         !ir_pass_has_control (context, node);
}

/* Every dimension is known or symbolic, and equal; element types may differ. */
static gboolean
same_shape (const IrType *a, const IrType *b)
{
  if (a == NULL || b == NULL || a->kind != IR_TYPE_TENSOR || b->kind != IR_TYPE_TENSOR ||
      a->rank == IR_RANK_UNKNOWN || a->rank != b->rank)
    return FALSE;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] == IR_DIM_UNKNOWN || a->dims[i] != b->dims[i])
      return FALSE;
  return TRUE;
}

static gboolean
only_used_inside (const Group *group, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);

      if (use.node == NULL || !g_hash_table_contains (group->members, use.node))
        return FALSE;
    }
  return TRUE;
}

/* Why the producer of @value cannot join, or NULL. */
static const char *
why_outside (const Group *group, const IrValue *value)
{
  const IrNode *node = value->producer;

  if (node == NULL || node->graph != group->root->graph || !is_elementwise (group->context, node))
    return "it is no elementwise node of this graph";
  if (!same_shape (value->type, group->root->outputs[0]->type))
    return "its shape is another one, or not known";
  if (!only_used_inside (group, value))
    return "its value is used elsewhere too";
  return group->nodes->len >= MOST_NODES ? "the group has enough nodes" : NULL;
}

static IrNode *
last_of (const Group *group)
{
  return group->reduction != NULL ? group->reduction : group->root;
}

/* Over axes that are an attribute, left out, or a constant. */
static gboolean
is_reduction (const IrPassContext *context, const IrNode *node)
{
  return node->state == IR_STATE_LIVE && ir_node_valid_op (node) != NULL &&
         node->op->family == IR_FAMILY_REDUCE && g_str_has_prefix (node->op_type, "Reduce") &&
         node->n_inputs > 0 && node->inputs[0] != NULL && node->n_outputs == 1 &&
         node->outputs[0] != NULL && !ir_pass_has_control (context, node);
}

/* Why the reduction cannot end a group, or NULL. */
static const char *
why_not_reduced (const IrPassContext *context, const IrNode *node)
{
  const IrNode *root = node->inputs[0]->producer;

  if (root == NULL || root->graph != node->graph || !is_elementwise (context, root))
    return "what it reduces is not made by an elementwise node of this graph";
  if (node->inputs[0]->n_uses != 1)
    return "what it reduces is used elsewhere too";
  if (strcmp (root->device, node->device) != 0)
    return "it is placed on another device than what it reduces";
  return ir_node_input (node, 1) != NULL && ir_value_constant (node->inputs[1]) == NULL
             ? "its axes are not constant"
             : NULL;
}

static void
grow (Group *group)
{
  g_ptr_array_add (group->nodes, group->root);
  g_hash_table_add (group->members, group->root);
  for (guint i = 0; i < group->nodes->len; i++)
    {
      const IrNode *node = group->nodes->pdata[i];

      ir_node_for_each_input (node, slot, value)
        {
          if (g_hash_table_contains (group->members, value->producer) ||
              why_outside (group, value) != NULL)
            continue;
          g_ptr_array_add (group->nodes, value->producer);
          g_hash_table_add (group->members, value->producer);
        }
    }
}

/* A value with two uses in the group is looked at when the first of its users joins, and again when
 * the second does: so one walk is enough. What stands in front of what: users after producers. */
static void
visit (Group *group, IrNode *node, GHashTable *seen, GPtrArray *sorted)
{
  if (!g_hash_table_contains (group->members, node) || !g_hash_table_add (seen, node))
    return;
  ir_node_for_each_input (node, slot, value)
    {
      if (value->producer != NULL)
        visit (group, value->producer, seen, sorted);
    }
  g_ptr_array_add (sorted, node);
}

/* The axes of the reduction, which go into the body. */
static gboolean
is_inner_constant (const Group *group, const IrNode *node, guint slot)
{
  return node == group->reduction && slot > 0;
}

static void
sort (Group *group)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GPtrArray *sorted = g_ptr_array_new ();

  if (group->reduction != NULL)
    g_hash_table_add (group->members, group->reduction);
  visit (group, last_of (group), seen, sorted);
  g_ptr_array_unref (group->nodes);
  group->nodes = sorted;
  for (guint i = 0; i < sorted->len; i++)
    {
      const IrNode *node = sorted->pdata[i];

      ir_node_for_each_input (node, slot, value)
        {
          if (!is_inner_constant (group, node, slot) &&
              !g_hash_table_contains (group->members, value->producer) &&
              !g_ptr_array_find (group->inputs, value, NULL))
            g_ptr_array_add (group->inputs, value);
        }
    }
}

/* -- functions -- */

static void
describe_numbers (GString *text, const IrTensor *tensor)
{
  g_string_append (text, " [");
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    g_string_append_printf (text, " %" G_GINT64_FORMAT, ir_tensor_get_int64 (tensor, i));
  g_string_append_printf (text, " ]%u", ir_tensor_rank (tensor));
}

static void
describe_value (GString *text, GPtrArray *inputs, GPtrArray *nodes, const IrValue *value)
{
  guint at;

  if (value == NULL)
    g_string_append (text, " _");
  else if (g_ptr_array_find (inputs, value, &at))
    g_string_append_printf (text, " x%u", at);
  else if (value->producer != NULL && g_ptr_array_find (nodes, value->producer, &at))
    g_string_append_printf (text, " v%u", at);
  else if (ir_value_constant (value) != NULL)
    describe_numbers (text, ir_value_constant (value));
  else
    g_string_append (text, " ?");
}

/* What a body says, names of values apart: equal for groups that can share a function. */
static char *
describe (IrContext *context, GPtrArray *inputs, GPtrArray *nodes)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];

      g_string_append_printf (text, "%s::%s:%" G_GINT64_FORMAT, node->domain, node->op_type,
                              ir_node_opset (node));
      for (guint k = 0; k < node->n_inputs; k++)
        describe_value (text, inputs, nodes, node->inputs[k]);
      for (guint k = 0; k < node->n_attrs; k++)
        {
          g_autofree char *value = ir_attr_to_string (context, node->attrs[k], G_MAXUINT);
          g_string_append_printf (text, " %s=%s", node->attrs[k]->name, value);
        }
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

static char *
describe_function (const IrGraph *graph)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph), inputs = g_ptr_array_new ();

  for (guint i = nodes->len; i > 0; i--)
    if (ir_op_is (nodes->pdata[i - 1], IR_OP_CONSTANT))
      g_ptr_array_remove_index (nodes, i - 1);
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    g_ptr_array_add (inputs, ir_graph_input (graph, i));
  return describe (graph->model->context, inputs, nodes);
}

/* Text of the body -> IrGraph, of the functions that stand for groups by now. */
static GHashTable *
known_functions (const IrModel *model)
{
  GHashTable *known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 1; i < model->graphs->len; i++)
    {
      IrGraph *graph = model->graphs->pdata[i];

      if (graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION &&
          g_str_equal (graph->function->domain, IR_PASS_FUSED_DOMAIN))
        g_hash_table_insert (known, describe_function (graph), graph);
    }
  return known;
}

/* "MulAddTanh", "MulAddTanh_2" … */
static const char *
function_name (IrModel *model, const GPtrArray *nodes)
{
  g_autoptr (GString) base = g_string_new (NULL), name = g_string_new (NULL);

  for (guint i = 0; i < nodes->len && i < 6; i++)
    g_string_append (base, ((const IrNode *) nodes->pdata[i])->op_type);
  g_string_assign (name, base->str);
  for (guint i = 2; ir_model_find_function (model, IR_PASS_FUSED_DOMAIN, name->str, "") != NULL;
       i++)
    g_string_printf (name, "%s_%u", base->str, i);
  return ir_context_intern (model->context, name->str);
}

static IrValue *
copy_constant (const Group *group, IrGraph *body, const IrValue *value)
{
  return ir_pass_add_constant (group->context, body, "axes",
                               (IrTensor *) ir_value_constant (value));
}

static void
write_body (Group *group, IrGraph *body)
{
  IrEdit *edit = group->context->edit;
  g_autoptr (GHashTable) here = g_hash_table_new (NULL, NULL); /* value outside -> in the body */
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  IrNode *last = NULL;

  for (guint i = 0; i < group->inputs->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%u", i);
      IrValue *input = ir_edit_add_value (edit, body, name, NULL);

      g_ptr_array_add (inputs, input);
      g_hash_table_insert (here, group->inputs->pdata[i], input);
    }
  ir_edit_set_graph_inputs (edit, body, (IrValue *const *) inputs->pdata, inputs->len);
  for (guint i = 0; i < group->nodes->len; i++)
    {
      const IrNode *node = group->nodes->pdata[i];
      g_autofree IrValue **operands = g_new0 (IrValue *, node->n_inputs);

      for (guint k = 0; k < node->n_inputs; k++)
        operands[k] = is_inner_constant (group, node, k) && node->inputs[k] != NULL
                          ? copy_constant (group, body, node->inputs[k])
                          : g_hash_table_lookup (here, node->inputs[k]);
      last = ir_edit_add_node (edit, body, node->op_type, node->domain, NULL, node->n_inputs,
                               operands, 1);
      for (guint k = 0; k < node->n_attrs; k++)
        ir_edit_set_attr (edit, last, node->attrs[k]);
      g_hash_table_insert (here, node->outputs[0], last->outputs[0]);
    }
  ir_edit_set_graph_outputs (edit, body, &last->outputs[0], 1);
}

static IrGraph *
write_function (Group *group, GHashTable *known)
{
  IrModel *model = group->context->model;
  g_autofree char *text = describe (model->context, group->inputs, group->nodes);
  IrGraph *graph = g_hash_table_lookup (known, text);

  if (graph != NULL && graph->state == IR_STATE_LIVE)
    return graph;
  ir_edit_set_opset (group->context->edit, IR_PASS_FUSED_DOMAIN, 1);
  const char *name = function_name (model, group->nodes);
  IrFunctionInfo info = { .domain = ir_context_intern (model->context, IR_PASS_FUSED_DOMAIN),
                          .name = name,
                          .overload = ir_context_intern (model->context, ""),
                          .opsets = model->opsets };
  graph = ir_edit_add_graph (group->context->edit, IR_GRAPH_FUNCTION, name);
  ir_edit_set_function_info (group->context->edit, graph, &info);
  write_body (group, graph);
  g_hash_table_insert (known, g_steal_pointer (&text), graph);
  return graph;
}

/* -- the rewrite -- */

static void
write_call (Group *group, const IrGraph *function)
{
  IrPassContext *context = group->context;
  IrEdit *edit = context->edit;
  IrNode *last = last_of (group);
  IrValue *old = last->outputs[0];
  IrNode *call = ir_edit_add_node (edit, last->graph, function->function->name,
                                   function->function->domain, NULL, group->inputs->len,
                                   (IrValue *const *) group->inputs->pdata, 1);

  ir_edit_set_type (edit, call->outputs[0], old->type);
  ir_edit_set_scope (edit, call, last->scope);
  ir_edit_replace_uses (edit, old, call->outputs[0]);
  for (guint i = group->nodes->len; i > 0; i--)
    {
      IrNode *node = group->nodes->pdata[i - 1];

      ir_edit_step_map_node (edit, node->id, call->id);
      ir_pass_remove_node (context, node);
    }
  ir_pass_take_name (context, old, call->outputs[0]);
}

static void
fuse (Group *group, GHashTable *known, const char *rule)
{
  IrPassContext *context = group->context;

  sort (group);
  if (!ir_pass_begin (context, rule, IR_CLASS_EXACT, last_of (group)))
    return;
  if (group->reduction != NULL)
    ir_edit_step_reason (context->edit, "%u nodes over the same elements, and a reduction of them",
                         group->nodes->len - 1);
  else
    ir_edit_step_reason (context->edit, "%u nodes over the same elements", group->nodes->len);
  write_call (group, write_function (group, known));
  ir_pass_end (context);
}

static void
fuse_from (IrPassContext *context, IrNode *root, GHashTable *known)
{
  g_autoptr (Group) group = group_new (context, root, NULL);

  if (!same_shape (root->outputs[0]->type, root->outputs[0]->type))
    {
      ir_edit_refuse (context->edit, RULE, root->id, "the shape of the result is not known");
      return;
    }
  grow (group);
  if (group->nodes->len >= 2)
    {
      fuse (group, known, RULE);
      return;
    }
  ir_node_for_each_input (root, slot, value)
    {
      if (value->producer != NULL && is_elementwise (context, value->producer))
        ir_edit_refuse (context->edit, RULE, root->id, why_outside (group, value));
    }
}

/* What the reduction reads, and what that is computed from. */
static void
fuse_reduction (IrPassContext *context, IrNode *reduction, GHashTable *known)
{
  IrNode *root = reduction->inputs[0]->producer;
  const char *why = why_not_reduced (context, reduction);
  g_autoptr (Group) group = NULL;

  if (why == NULL && !same_shape (root->outputs[0]->type, root->outputs[0]->type))
    why = "the shape of what it reduces is not known";
  if (why != NULL)
    {
      ir_edit_refuse (context->edit, RULE_REDUCTION, reduction->id, why);
      return;
    }
  group = group_new (context, root, reduction);
  grow (group);
  fuse (group, known, RULE_REDUCTION);
}

/* Bodies of functions stay as they are: these are what groups become. */
static gboolean
is_in_function (const IrGraph *graph)
{
  while (graph->kind == IR_GRAPH_SUBGRAPH && ir_graph_outer (graph) != NULL)
    graph = ir_graph_outer (graph);
  return graph->kind == IR_GRAPH_FUNCTION;
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);
  g_autoptr (GHashTable) known = known_functions (context->model);

  for (guint i = 0; i < graphs->len; i++)
    {
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graphs->pdata[i]);

      for (guint k = is_in_function (graphs->pdata[i]) ? 0 : nodes->len; k > 0 && !context->stopped;
           k--)
        {
          IrNode *node = nodes->pdata[k - 1];

          if (ir_pass_cancelled (context, error))
            return FALSE;
          if (is_reduction (context, node))
            fuse_reduction (context, node, known);
          else if (is_elementwise (context, node))
            fuse_from (context, node, known);
        }
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE, "elementwise nodes over the same elements, used by each other alone",
    "one call of a function that holds them", IR_CLASS_EXACT,
    "What is computed element by element is computed in one go." },
  { RULE_REDUCTION, "a reduction over constant axes of what elementwise nodes give to it alone",
    "one call of a function that holds them, and the reduction last", IR_CLASS_EXACT,
    "What is computed only to be reduced is reduced in one go." },
  { NULL },
};

const IrPass ir_pass_fuse_elementwise = {
  .name = "fuse-elementwise",
  .title = "Fuse elementwise nodes",
  .doc =
      "Elementwise nodes that lie one behind the other, over the same elements and without other "
      "uses of what lies between, become one call of a function of the model (domain "
      "irscope.fused) with these nodes as its body; a reduction that alone reads the last of them "
      "belongs to it. Groups alike share the function.",
  .source = "TVM FuseOps; XLA instruction fusion; Rammer",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x, s -> Mul -> a; a, y -> Add -> z\nx, s, y -> MulAdd -> z",
  .run = run,
  .documented_rules = rules,
};
