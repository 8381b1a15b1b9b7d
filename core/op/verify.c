/* The verifier. It trusts nothing but the tables of ids: links are checked from both ends, and the
 * search for cycles (cycles.c) makes its own order. Every finding is reported, each with the node's label. */
#include "config.h"

#include "core/op/verify.h"

#include "core/ir/cycles.h"
#include "core/ir/frames.h"
#include "core/op/check.h"
#include "core/op/infer.h"

#include <string.h>

typedef struct
{
  const IrModel *model;
  GPtrArray *problems;
  gboolean has_functions;
} Verifier;

/* -- links -- */

/* Whether @value can be seen from @graph: it belongs to it or to a graph around it. */
static gboolean
is_visible (const IrModel *model, const IrGraph *graph, const IrValue *value)
{
  guint depth = 0;

  for (; graph != NULL && depth <= model->graphs->len; graph = ir_graph_outer (graph), depth++)
    if (value->graph == graph)
      return TRUE;
  return FALSE;
}

static gboolean
is_defined (const IrValue *value)
{
  return value->producer != NULL || value->initializer != NULL || ir_value_is_graph_input (value);
}

/* Of what nothing produces only an initializer has a type that is no declaration. */
static gboolean
is_unread (const IrValue *value)
{
  return value->type != NULL && (value->flags & IR_VALUE_DECLARED) == 0;
}

static gboolean
has_use (const IrValue *value, const IrNode *node, const IrGraph *graph, guint slot)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.slot == slot && use.node == node && (node != NULL || use.graph == graph))
        return TRUE;
    }
  return FALSE;
}

static void
check_input (Verifier *v, const IrNode *node, guint slot)
{
  const IrValue *value = node->inputs[slot];
  g_autofree char *label = ir_node_label (node);
  IrProblem *problem;

  if (value->state != IR_STATE_LIVE)
    ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BROKEN_LINK, node, value,
                     "%s - input %u is \"%s\", which has been removed", label, slot, value->name);
  else if (!is_defined (value) && is_unread (value))
    {
      problem = ir_problems_add (
          v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_NO_CONTENTS, node, value,
          "%s - input %u is the initializer \"%s\", whose contents could not be read", label, slot,
          value->name);
      ir_problem_set_hint (problem,
                           "The problem of the tensor itself says why; the node cannot run, "
                           "and passes leave it alone.");
    }
  else if (!is_defined (value))
    {
      problem = ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_UNDEFINED_VALUE, node,
                                 value, "%s - input %u is \"%s\", which nothing produces", label,
                                 slot, value->name);
      ir_problem_set_hint (problem, "Check the spelling of the name, or add the missing node, "
                                    "input or initializer.");
    }
  else if (!is_visible (v->model, node->graph, value))
    ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_UNDEFINED_VALUE, node, value,
                     "%s - input %u is \"%s\" of another graph, which cannot be seen from here",
                     label, slot, value->name);
}

static void
check_outputs (Verifier *v, const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      if (value == NULL || (value->producer == node && value->output_slot == i &&
                            value->state == IR_STATE_LIVE && value->graph == node->graph))
        continue;
      g_autofree char *label = ir_node_label (node);
      ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BROKEN_LINK, node, value,
                       "%s - output %u is \"%s\", which does not lead back to it", label, i,
                       value->name);
    }
}

static void
check_controls (Verifier *v, const IrNode *node)
{
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    {
      if (ir_model_live_node (v->model, node->controls->ids[i]) != NULL)
        continue;
      g_autofree char *label = ir_node_label (node);
      ir_problems_add (v->problems, IR_SEVERITY_WARNING, IR_PROBLEM_BROKEN_LINK, node, NULL,
                       "%s - waits for node #%u, which does not exist", label,
                       node->controls->ids[i]);
    }
}

static void
check_node_links (Verifier *v, const IrNode *node)
{
  if (node->graph == NULL || node->graph->state != IR_STATE_LIVE)
    {
      g_autofree char *label = ir_node_label (node);
      ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BROKEN_LINK, node, NULL,
                       "%s - is in a graph that has been removed", label);
      return;
    }
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      check_input (v, node, i);
  check_outputs (v, node);
  check_controls (v, node);
}

static gboolean
use_is_real (const IrUse *use, const IrValue *value)
{
  if (use->node != NULL)
    return use->node->state == IR_STATE_LIVE && use->slot < use->node->n_inputs &&
           use->node->inputs[use->slot] == value;
  return use->graph != NULL && use->slot < use->graph->outputs->n &&
         use->graph->outputs->ids[use->slot] == value->id;
}

static void
check_value_links (Verifier *v, const IrValue *value)
{
  const IrNode *producer = value->producer;

  if (producer != NULL &&
      (producer->state != IR_STATE_LIVE || value->output_slot >= producer->n_outputs ||
       producer->outputs[value->output_slot] != value))
    ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BROKEN_LINK, NULL, value,
                     "\"%s\" - its producer #%u does not lead to it", value->name, producer->id);
  if (producer != NULL && value->initializer != NULL)
    ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_DUPLICATE_NAME, producer, value,
                     "\"%s\" - is both an initializer and the output of a node", value->name);
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (!use_is_real (&use, value))
        ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BROKEN_LINK, use.node, value,
                         "\"%s\" - has a use that does not lead back to it", value->name);
    }
}

/* Every link from a node or an output list must be among the uses; their number then tells. */
static void
check_use_counts (Verifier *v)
{
  const IrModel *model = v->model;
  g_autofree guint *n_links = g_new0 (guint, model->values->len);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      for (guint k = 0; node->state == IR_STATE_LIVE && k < node->n_inputs; k++)
        if (node->inputs[k] != NULL)
          n_links[node->inputs[k]->id]++;
    }
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      for (guint k = 0; graph->state == IR_STATE_LIVE && k < graph->outputs->n; k++)
        if (graph->outputs->ids[k] < model->values->len)
          n_links[graph->outputs->ids[k]]++;
    }
  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = model->values->pdata[i];
      if (value->state == IR_STATE_LIVE && value->n_uses != n_links[i])
        ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BROKEN_LINK, NULL, value,
                         "\"%s\" - counts %u uses, needed %u", value->name, value->n_uses,
                         n_links[i]);
    }
}

/* -- graphs -- */

static void
check_graph_outputs (Verifier *v, const IrGraph *graph)
{
  for (guint i = 0; i < graph->outputs->n; i++)
    {
      const IrValue *value = ir_model_live_value (v->model, graph->outputs->ids[i]);
      if (value == NULL)
        ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BROKEN_LINK, NULL, NULL,
                         "Graph \"%s\" - output %u has been removed", graph->name, i);
      else if (!is_defined (value))
        {
          IrProblem *problem = ir_problems_add (
              v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_UNDEFINED_VALUE, NULL, value,
              "Graph \"%s\" - output \"%s\" is produced by nothing", graph->name, value->name);
          ir_problem_set_hint (problem, "Add the node that produces it, or drop the output.");
        }
      else if (!has_use (value, NULL, graph, i))
        ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BROKEN_LINK, NULL, value,
                         "Graph \"%s\" - output \"%s\" does not count as a use", graph->name,
                         value->name);
    }
}

static void
check_graph_inputs (Verifier *v, const IrGraph *graph)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < graph->inputs->n; i++)
    {
      const IrValue *value = ir_model_live_value (v->model, graph->inputs->ids[i]);
      if (value == NULL)
        ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BROKEN_LINK, NULL, NULL,
                         "Graph \"%s\" - input %u has been removed", graph->name, i);
      else if (value->producer != NULL)
        ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_DUPLICATE_NAME, value->producer,
                         value, "Graph \"%s\" - input \"%s\" is the output of a node as well",
                         graph->name, value->name);
      else if (!g_hash_table_add (seen, GUINT_TO_POINTER (value->id)))
        ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_DUPLICATE_NAME, NULL, value,
                         "Graph \"%s\" - input \"%s\" stands there twice", graph->name,
                         value->name);
    }
}

static void
report_duplicate (Verifier *v, const IrGraph *graph, const IrValue *value, gboolean outer)
{
  IrProblem *problem = ir_problems_add (
      v->problems, outer ? IR_SEVERITY_WARNING : IR_SEVERITY_ERROR, IR_PROBLEM_DUPLICATE_NAME,
      value->producer, value, "Graph \"%s\" - two values are named \"%s\"%s", graph->name,
      value->name, outer ? ", the other one in a graph around it" : "");
  ir_problem_set_hint (problem, "Rename one of them: names are what files refer by.");
}

static void
check_names (Verifier *v, const IrGraph *graph)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL); /* names are interned */
  const IrGraph *outer = ir_graph_outer (graph);
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrValue *value = values[i];
      if (value->name[0] == '\0')
        continue;
      if (!g_hash_table_add (seen, (gpointer) value->name))
        report_duplicate (v, graph, value, FALSE);
      else if (outer != NULL && ir_graph_find_value_in_scope (outer, value->name) != NULL)
        report_duplicate (v, graph, value, TRUE);
    }
}

/* Here nodes are known by their ids, elsewhere by their names. One finding for each name. */
static void
check_node_names (Verifier *v, const IrGraph *graph)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL); /* interned name -> how often */
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      guint times = GPOINTER_TO_UINT (g_hash_table_lookup (seen, node->name)) + 1;

      if (node->name[0] == '\0')
        continue;
      g_hash_table_insert (seen, (gpointer) node->name, GUINT_TO_POINTER (times));
      if (times != 2)
        continue;
      IrProblem *problem = ir_problems_add (
          v->problems, IR_SEVERITY_WARNING, IR_PROBLEM_DUPLICATE_NAME, node, NULL,
          "Graph \"%s\" - two nodes are named \"%s\"", graph->name, node->name);
      ir_problem_set_hint (problem, "Rename one of them: ONNX Runtime refuses such files.");
    }
}

static void
check_graph (Verifier *v, const IrGraph *graph)
{
  check_graph_inputs (v, graph);
  check_graph_outputs (v, graph);
  check_names (v, graph);
  check_node_names (v, graph);
  if (graph->kind == IR_GRAPH_SUBGRAPH && ir_model_live_node (v->model, graph->owner) == NULL)
    ir_problems_add (v->problems, IR_SEVERITY_WARNING, IR_PROBLEM_BROKEN_LINK, NULL, NULL,
                     "Graph \"%s\" (%u) - belongs to no node", graph->name, graph->id);
}

/**
 * ir_verify_structure:
 * @model: a model
 * @problems: (element-type IrProblem): findings are appended
 *
 * Checks that links lead back from both ends, that uses are complete, that every value that is read
 * or handed out is produced and visible, that names are unique in their scope, and that nodes do
 * not wait for each other; the nodes of a cycle are named. So are those that are in two frames.
 *
 * Cost: linear in nodes, edges and uses, but for sorting the edges.
 */
void
ir_verify_structure (const IrModel *model, GPtrArray *problems)
{
  Verifier v = { model, problems, FALSE };

  for (guint i = 1; i < model->nodes->len; i++)
    if (ir_model_live_node (model, i) != NULL)
      check_node_links (&v, model->nodes->pdata[i]);
  for (guint i = 1; i < model->values->len; i++)
    if (ir_model_live_value (model, i) != NULL)
      check_value_links (&v, model->values->pdata[i]);
  check_use_counts (&v);
  for (guint i = 1; i < model->graphs->len; i++)
    if (((const IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE)
      check_graph (&v, model->graphs->pdata[i]);
  ir_model_report_cycles (model, problems);
  for (guint i = 1; i < model->graphs->len; i++)
    if (((const IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE)
      ir_graph_report_frames (model->graphs->pdata[i], problems);
}

/* -- nodes against the op table -- */

/* ": B is open" where that is the first one that is missing. */
static char *
missing_text (const IrNode *node, gboolean input, guint found, IrArity arity)
{
  g_autofree char *name = NULL;

  if (!input || node->op == NULL || (int) found >= arity.min)
    return g_strdup ("");
  name = ir_op_input_name (node->op, found);
  return g_strdup_printf (": %s is open", name);
}

static void
check_count (Verifier *v, const IrNode *node, const char *what, guint found, IrArity arity)
{
  g_autofree char *label = NULL, *missing = NULL;
  const gboolean input = what[0] == 'i';
  const IrProblemCode code = input ? IR_PROBLEM_INPUT_COUNT : IR_PROBLEM_OUTPUT_COUNT;
  const char *s = found == 1 ? "" : "s";

  if ((int) found >= arity.min && (arity.max < 0 || (int) found <= arity.max))
    return;
  label = ir_node_label (node);
  missing = missing_text (node, input, found, arity);
  if (arity.max < 0)
    ir_problems_add (v->problems, IR_SEVERITY_ERROR, code, node, NULL,
                     "%s - has %u %s%s, needed at least %d%s", label, found, what, s, arity.min,
                     missing);
  else if (arity.min == arity.max)
    ir_problems_add (v->problems, IR_SEVERITY_ERROR, code, node, NULL,
                     "%s - has %u %s%s, needed %d%s", label, found, what, s, arity.min, missing);
  else
    ir_problems_add (v->problems, IR_SEVERITY_ERROR, code, node, NULL,
                     "%s - has %u %s%s, needed %d to %d%s", label, found, what, s, arity.min,
                     arity.max, missing);
}

static void
check_attr (Verifier *v, const IrNode *node, const IrOp *op, const IrAttr *attr)
{
  const IrAttrSpec *spec = ir_op_attr (op, attr->name);
  g_autofree char *label = NULL;

  if (spec != NULL && (spec->kind == attr->kind || spec->kind == IR_ATTR_UNDEFINED))
    return;
  if (spec == NULL && ir_node_attr (node, attr->name) == NULL)
    return; /* an adapter's own, for what the newest form cannot say */
  label = ir_node_label (node);
  if (spec == NULL)
    {
      IrProblem *problem = ir_problems_add (
          v->problems, IR_SEVERITY_WARNING, IR_PROBLEM_BAD_ATTRIBUTE, node, NULL,
          "%s - has the attribute \"%s\", which %s does not know", label, attr->name, op->name);
      ir_problem_set_hint (problem, "It is kept and has no effect.");
    }
  else
    ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BAD_ATTRIBUTE, node, NULL,
                     "%s - attribute \"%s\" is of kind %s, needed %s", label, attr->name,
                     ir_attr_kind_name (attr->kind), ir_attr_kind_name (spec->kind));
}

static gboolean
call_has_attr (const IrCall *call, const char *name)
{
  for (guint i = 0; i < call->n_attrs; i++)
    if (strcmp (call->attrs[i]->name, name) == 0)
      return TRUE;
  return FALSE;
}

static guint
count_present (const IrCall *call)
{
  guint n = call->n_inputs;
  while (n > 0 && !call->inputs[n - 1].present)
    n--;
  return n;
}

static void
check_required_inputs (Verifier *v, const IrNode *node, const IrOp *op, const IrCall *call)
{
  for (guint i = 0; i < MIN ((guint) MAX (op->in.min, 0), call->n_inputs); i++)
    {
      if (call->inputs[i].present || ir_op_input_is_optional (op, i))
        continue;
      g_autofree char *label = ir_node_label (node);
      g_autofree char *name = ir_op_input_name (op, i);
      ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_INPUT_COUNT, node, NULL,
                       "%s - input %u (%s) is left out, but %s needs it", label, i, name, op->name);
    }
}

/* What keeps the node from running and from being rewritten, and was not said before: links are the
 * matter of ir_verify_structure(). */
static void
check_rest (Verifier *v, const IrNode *node, guint n_before)
{
  g_autoptr (GError) error = NULL;

  if (!ir_node_check_form (node, &error))
    {
      if (g_error_matches (error, IR_OP_ERROR, IR_OP_ERROR_VALUE))
        return;
    }
  else if (ir_node_check (node, &error))
    return;
  for (guint i = n_before; i < v->problems->len; i++)
    if (((const IrProblem *) v->problems->pdata[i])->severity == IR_SEVERITY_ERROR)
      return;
  ir_problems_add (v->problems, IR_SEVERITY_ERROR, ir_infer_problem_code (error), node, NULL, "%s",
                   error->message);
}

/* Arity and attributes are those of the adapted call: the row describes the newest opset. */
static void
check_call (Verifier *v, const IrNode *node, const IrOp *op)
{
  guint n, n_before = v->problems->len;
  IrCall call;

  ir_call_init (&call, node);
  n = count_present (&call);
  check_count (v, node, "input", n, (IrArity){ (gint8) ir_op_least_inputs (op), op->in.max });
  if (n >= ir_op_least_inputs (op))
    check_required_inputs (v, node, op, &call);
  check_count (v, node, "output", node->n_outputs, op->out);
  for (guint i = 0; i < call.n_attrs; i++)
    check_attr (v, node, op, call.attrs[i]);
  for (const IrAttrSpec *spec = op->attrs; spec != NULL && spec->name != NULL; spec++)
    if (spec->required && !call_has_attr (&call, spec->name))
      {
        g_autofree char *label = ir_node_label (node);
        ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BAD_ATTRIBUTE, node, NULL,
                         "%s - the attribute \"%s\" is missing, but %s needs it", label, spec->name,
                         op->name);
      }
  ir_call_clear (&call);
  check_rest (v, node, n_before);
}

static const char *
domain_name (const IrNode *node)
{
  return node->domain[0] != '\0' ? node->domain : "ai.onnx";
}

/* A missing import is one mistake, however many nodes need it: the first of them is named. */
static gboolean
domain_is_reported (const Verifier *v, const IrNode *node)
{
  for (guint i = 0; i < v->problems->len; i++)
    {
      const IrProblem *problem = v->problems->pdata[i];
      const IrNode *other = problem->code == IR_PROBLEM_MISSING_OPSET
                                ? ir_model_node (node->graph->model, problem->node)
                                : NULL;

      if (other != NULL && strcmp (other->domain, node->domain) == 0)
        return TRUE;
    }
  return FALSE;
}

/* FALSE if the version rules the operator out, so that its arity says nothing. */
static gboolean
check_opset (Verifier *v, const IrNode *node, const IrOp *op)
{
  gint64 version = ir_node_opset (node);
  g_autofree char *label = ir_node_label (node);
  IrProblem *problem;

  if (version == 0)
    {
      /* irscope's own operators come with their bodies; files get the import when written. */
      if (strcmp (node->domain, "irscope") == 0 || domain_is_reported (v, node))
        return TRUE;
      problem = ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_MISSING_OPSET, node,
                                 NULL, "%s - the model imports no opset of domain %s", label,
                                 domain_name (node));
      ir_problem_set_hint (problem, "Add the import; the newest version is assumed meanwhile.");
      return TRUE;
    }
  if (version < op->since)
    {
      problem = ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_UNSUPPORTED, node, NULL,
                                 "%s - %s came with opset %" G_GINT64_FORMAT
                                 ", the model imports %" G_GINT64_FORMAT,
                                 label, op->name, op->since, version);
      ir_problem_set_hint (problem, "Import a newer opset.");
      return FALSE;
    }
  if (op->until > 0 && version >= op->until)
    {
      problem = ir_problems_add (v->problems, IR_SEVERITY_WARNING, IR_PROBLEM_UNSUPPORTED, node,
                                 NULL,
                                 "%s - %s was removed with opset %" G_GINT64_FORMAT
                                 ", the model imports %" G_GINT64_FORMAT,
                                 label, op->name, op->until, version);
      ir_problem_set_hint (problem, "Import an older opset, or use what replaced it.");
    }
  return TRUE;
}

/* Whether a node of the body takes an attribute that it cannot do without from @name. Where the
 * call leaves out one that is optional in the body, the body's node is without it. */
static gboolean
body_needs_attr (const IrGraph *function, const char *name)
{
  IrNode *const *nodes;
  guint n;

  nodes = ir_graph_order (function, &n);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < nodes[i]->n_attrs; k++)
      {
        const IrAttr *attr = nodes[i]->attrs[k];
        const IrAttrSpec *spec = nodes[i]->op != NULL ? ir_op_attr (nodes[i]->op, attr->name)
                                                      : NULL;
        if (g_strcmp0 (attr->ref_name, name) == 0 && (spec == NULL || spec->required))
          return TRUE;
      }
  return FALSE;
}

static void
check_function_call (Verifier *v, const IrNode *node, const IrGraph *function)
{
  IrArity in = { 0, (gint8) MIN (ir_graph_n_inputs (function), G_MAXINT8) };
  IrArity out = { 0, (gint8) MIN (ir_graph_n_outputs (function), G_MAXINT8) };
  const IrFunctionInfo *info = function->function;

  if (ir_graph_n_inputs (function) <= G_MAXINT8)
    check_count (v, node, "input", node->n_inputs, in);
  if (ir_graph_n_outputs (function) <= G_MAXINT8)
    check_count (v, node, "output", node->n_outputs, out);
  for (guint i = 0; i < info->n_attr_names; i++)
    if (ir_node_attr (node, info->attr_names[i]) == NULL &&
        body_needs_attr (function, info->attr_names[i]))
      {
        g_autofree char *label = ir_node_label (node);
        ir_problems_add (v->problems, IR_SEVERITY_ERROR, IR_PROBLEM_BAD_ATTRIBUTE, node, NULL,
                         "%s - the attribute \"%s\" is missing, but the function needs it", label,
                         info->attr_names[i]);
      }
}

static void
check_node (Verifier *v, const IrNode *node)
{
  const IrGraph *function = v->has_functions
                                ? ir_model_find_function (v->model, node->domain, node->op_type,
                                                          node->overload)
                                : NULL;
  g_autofree char *label = NULL;
  IrProblem *problem;

  if (function != NULL)
    check_function_call (v, node, function);
  else if (node->op != NULL)
    {
      if (check_opset (v, node, node->op))
        check_call (v, node, node->op);
    }
  else
    {
      label = ir_node_label (node);
      problem = ir_problems_add (v->problems, IR_SEVERITY_WARNING, IR_PROBLEM_UNKNOWN_OPERATOR,
                                 node, NULL, "%s - irscope does not know %s.%s", label,
                                 domain_name (node), node->op_type);
      ir_problem_set_hint (problem, "The node is shown and kept as it is; types behind it are not "
                                    "inferred and it cannot be run. docs/OPS.md lists what is "
                                    "known.");
    }
}

/**
 * ir_verify_nodes:
 * @model: a model
 * @problems: (element-type IrProblem): findings are appended
 *
 * Checks every live node against its row of the op table, or the model's function that it calls:
 * numbers of inputs and outputs, attributes, and the opset import. An operator that is in neither
 * is a warning.
 */
void
ir_verify_nodes (const IrModel *model, GPtrArray *problems)
{
  Verifier v = { model, problems, FALSE };

  for (guint i = 1; i < model->graphs->len; i++)
    v.has_functions |= ((const IrGraph *) model->graphs->pdata[i])->function != NULL;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      if (node->state == IR_STATE_LIVE && node->graph != NULL)
        check_node (&v, node);
    }
}

/* -- all of it -- */

/**
 * ir_verify_model:
 * @model: a model, may be frozen
 * @problems: (element-type IrProblem): what is known of it already; findings are appended
 *
 * All that can be wrong with a graph that is not run: its structure, its nodes, and the types that
 * follow from its inputs. What stands in @problems is not said again. The same after a file was
 * read and after an edit.
 */
void
ir_verify_model (IrModel *model, GPtrArray *problems)
{
  g_autoptr (GPtrArray) inferred = ir_problems_new (), found = ir_problems_new ();

  ir_infer_check (model, inferred);
  ir_problems_merge (problems, inferred);
  ir_verify_structure (model, found);
  ir_verify_nodes (model, found);
  ir_problems_merge (problems, found);
}
