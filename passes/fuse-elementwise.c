/* Elementwise nodes that lie one behind the other over the same elements become one call of a
 * function of the model, whose body they are:
 *
 *     a = Mul (x, s)  b = Add (a, y)  z = Tanh (b)        z = irscope.fused.MulAddTanh (x, s, y)
 *
 * A group grows from its last node upwards: a producer joins if it is elementwise, gives a tensor
 * of the very shape of the last one, and all its uses lie in the group already. So no path leaves a
 * group and comes back, nothing is computed twice, and only the last value is seen outside.
 * Operands of other shapes are broadcast inside. Groups of one structure share one function, so
 * that a file stays small and every other runtime can run it. Source: Rammer and XLA instruction
 * fusion (elementwise, no duplication), TVM FuseOps (kElemWise). */
#include "config.h"

#include "passes/rule.h"
#include "passes/step.h"

#define RULE "fuse-elementwise"

/* A body that can still be read. */
#define MOST_NODES 32

typedef struct
{
  IrPassContext *context;
  IrNode *root;
  GPtrArray *nodes;    /* of IrNode, the root first; then, sorted, in the order of execution */
  GHashTable *members; /* set of the same */
  GPtrArray *inputs;   /* of IrValue, each once, in the order of first use */
} Group;

static Group *
group_new (IrPassContext *context, IrNode *root)
{
  Group *group = g_new0 (Group, 1);

  group->context = context;
  group->root = root;
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
  return node->state == IR_STATE_LIVE && node->op != NULL &&
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

static void
sort (Group *group)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GPtrArray *sorted = g_ptr_array_new ();

  visit (group, group->root, seen, sorted);
  g_ptr_array_unref (group->nodes);
  group->nodes = sorted;
  for (guint i = 0; i < sorted->len; i++)
    {
      const IrNode *node = sorted->pdata[i];

      ir_node_for_each_input (node, slot, value)
        {
          if (!g_hash_table_contains (group->members, value->producer) &&
              !g_ptr_array_find (group->inputs, value, NULL))
            g_ptr_array_add (group->inputs, value);
        }
    }
}

/* -- functions -- */

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
        operands[k] = g_hash_table_lookup (here, node->inputs[k]);
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
  const IrValue *old = group->root->outputs[0];
  IrNode *call = ir_edit_add_node (edit, group->root->graph, function->function->name,
                                   function->function->domain, NULL, group->inputs->len,
                                   (IrValue *const *) group->inputs->pdata, 1);

  ir_edit_set_type (edit, call->outputs[0], old->type);
  ir_edit_set_scope (edit, call, group->root->scope);
  ir_edit_replace_uses (edit, group->root->outputs[0], call->outputs[0]);
  for (guint i = group->nodes->len; i > 0; i--)
    {
      IrNode *node = group->nodes->pdata[i - 1];

      ir_edit_step_map_node (edit, node->id, call->id);
      ir_pass_remove_node (context, node);
    }
  ir_pass_take_name (context, old, call->outputs[0]);
}

static void
fuse_from (IrPassContext *context, IrNode *root, GHashTable *known)
{
  g_autoptr (Group) group = group_new (context, root);

  if (!same_shape (root->outputs[0]->type, root->outputs[0]->type))
    {
      ir_edit_refuse (context->edit, RULE, root->id, "the shape of the result is not known");
      return;
    }
  grow (group);
  if (group->nodes->len < 2)
    {
      ir_node_for_each_input (root, slot, value)
        {
          if (value->producer != NULL && is_elementwise (context, value->producer))
            ir_edit_refuse (context->edit, RULE, root->id, why_outside (group, value));
        }
      return;
    }
  sort (group);
  if (!ir_pass_begin (context, RULE, IR_CLASS_EXACT, root))
    return;
  ir_edit_step_reason (context->edit, "%u nodes over the same elements", group->nodes->len);
  write_call (group, write_function (group, known));
  ir_pass_end (context);
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
          if (is_elementwise (context, node))
            fuse_from (context, node, known);
        }
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE, "elementwise nodes over the same elements, used by each other alone",
    "one call of a function that holds them", IR_CLASS_EXACT,
    "What is computed element by element is computed in one go." },
  { NULL },
};

const IrPass ir_pass_fuse_elementwise = {
  .name = "fuse-elementwise",
  .title = "Fuse elementwise nodes",
  .doc =
      "Elementwise nodes that lie one behind the other, over the same elements and without other "
      "uses of what lies between, become one call of a function of the model (domain "
      "irscope.fused) with these nodes as its body. Groups alike share the function.",
  .source = "TVM FuseOps; XLA instruction fusion; Rammer",
  .step_class = IR_CLASS_EXACT,
  .needs = "shapes",
  .breaks = "schedule memplan",
  .before_after = "x, s -> Mul -> a; a, y -> Add -> z\nx, s, y -> MulAdd -> z",
  .run = run,
  .documented_rules = rules,
};
