/* From a draft to a model. A graph is made in three rounds: first its inputs, initializers and all
 * outputs of its nodes get their values, so that every name that a subgraph may capture is known
 * whatever the order in the file; then the nodes, subgraphs with them; then inputs, outputs and
 * declared types. Nothing here fails: what does not fit is a problem, and the graph is built as far
 * as it can be understood. */
#include "config.h"

#include "core/io/draft.h"

#include "core/ir/cycles.h"

#include <string.h>

typedef struct _Scope Scope;

struct _Scope
{
  Scope *outer; /* (nullable) */
  IrGraph *graph;
  GHashTable *values; /* interned name -> IrValue */
};

typedef struct
{
  IrDraft *draft;
  IrEdit *edit;
  IrModel *model;
  GArray *control_edges; /* of ControlEdge: made when all nodes are there */
} Builder;

typedef struct
{
  IrNode *node;
  const IrValue *value; /* (nullable) an output of the node to wait for */
  const char *name;     /* else that is its name: it has no outputs */
} ControlEdge;

static IrGraph *build_graph (
    Builder *builder, const IrDraftGraph *draft, IrGraphKind kind, IrGraph *graph, Scope *outer);

static void
problem_at (Builder *builder,
            IrProblemCode code,
            const IrNode *node,
            const IrValue *value,
            IrDraftPlace place,
            const char *message)
{
  GPtrArray *problems = builder->draft->problems;
  IrProblem *problem;

  if (problems->len >= IR_DRAFT_MAX_PROBLEMS)
    return;
  problem = ir_problems_add (problems, IR_SEVERITY_ERROR, code, node, value, "%s", message);
  problem->line = place.line;
  problem->column = place.column;
  if (code == IR_PROBLEM_UNDEFINED_VALUE)
    ir_problem_set_hint (problem, "Look for a misspelt name, or give the graph this input.");
}

static IrValue *
lookup (const Scope *scope, const char *name)
{
  for (; scope != NULL; scope = scope->outer)
    {
      IrValue *value = g_hash_table_lookup (scope->values, name);

      if (value != NULL)
        return value;
    }
  return NULL;
}

/* Adds a value. The first of a name is the one that the name means. */
static IrValue *
define (Builder *builder, Scope *scope, const char *name, IrDraftPlace place)
{
  IrValue *value;

  value = ir_edit_add_value (builder->edit, scope->graph, name, NULL);
  ir_edit_set_flags (builder->edit, value, value->flags | IR_VALUE_NAMED_BY_USER);
  IrValue *first = g_hash_table_lookup (scope->values, name);
  if (first == NULL)
    {
      g_hash_table_insert (scope->values, (gpointer) name, value);
      return value;
    }
  g_autofree char *message = g_strdup_printf ("The name \"%s\" is given to two values of graph "
                                              "\"%s\"; uses of it mean the first.",
                                              name, scope->graph->name);
  problem_at (builder, IR_PROBLEM_DUPLICATE_NAME, NULL, value, place, message);
  return value;
}

/* What the file says of inputs of the main graph is a fact, for what is given is checked against
 * it. All else is a claim, until inference comes to the same. */
static void
declare (Builder *builder, IrValue *value, const IrDraftValue *info, gboolean is_given)
{
  const IrType *type = info->type, *known = ir_value_shown_type (value);

  if (info->extra != NULL)
    ir_edit_set_value_extra (builder->edit, value, info->extra);
  if (type == NULL)
    return;
  if (known != NULL)
    {
      const IrType *merged = ir_type_merge (builder->model->context, known, type);

      if (merged == NULL)
        {
          g_autofree char *was = ir_type_to_string (builder->model->context, known);
          g_autofree char *is = ir_type_to_string (builder->model->context, type);
          g_autofree char *message = g_strdup_printf (
              "Value \"%s\" is declared as %s and as %s; the first counts.", value->name, was, is);

          problem_at (builder, IR_PROBLEM_TYPE_MISMATCH, NULL, value, info->place, message);
          return;
        }
      type = merged;
    }
  if (is_given || ir_type_at_least (value->type, type))
    ir_edit_set_type (builder->edit, value, type);
  else
    ir_edit_set_claim (builder->edit, value, type);
  ir_edit_set_flags (builder->edit, value, value->flags | IR_VALUE_DECLARED);
}

static GPtrArray *
build_inputs (Builder *builder, const IrDraftGraph *draft, Scope *scope)
{
  GPtrArray *inputs = g_ptr_array_new ();

  for (guint i = 0; i < draft->inputs->len; i++)
    {
      const IrDraftValue *info = &g_array_index (draft->inputs, IrDraftValue, i);
      IrValue *value = define (builder, scope, info->name, info->place);

      declare (builder, value, info, scope->graph->kind == IR_GRAPH_MAIN);
      g_ptr_array_add (inputs, value);
    }
  return inputs;
}

/* What holds for values of both types; NULL: nothing. */
static const IrType *
common_type (IrContext *context, const IrType *a, const IrType *b)
{
  IrDim dims[IR_MAX_RANK];

  if (!ir_type_is_tensor (a) || !ir_type_is_tensor (b) || a->dtype != b->dtype)
    return NULL;
  if (!ir_type_has_rank (a) || !ir_type_has_rank (b) || a->rank != b->rank)
    return ir_type_tensor (context, a->dtype, IR_RANK_UNKNOWN, NULL);
  for (int i = 0; i < a->rank; i++)
    dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : IR_DIM_UNKNOWN;
  return ir_type_tensor (context, a->dtype, a->rank, dims);
}

/* Where the default of an input contradicts what is declared of the input, that is a claim: a run has
 * the one or the other. */
static void
check_default (Builder *builder, IrValue *input, const IrDraftValue *info)
{
  IrContext *context = builder->model->context;
  const IrType *declared = input->type, *held = ir_tensor_type (info->tensor, context);

  if (declared == NULL || ir_type_merge (context, declared, held) != NULL)
    return;
  g_autofree char *was = ir_type_to_string (context, declared);
  g_autofree char *is = ir_type_to_string (context, held);
  g_autofree char *message = g_strdup_printf (
      "Input \"%s\" is declared as %s, and its initializer is %s; neither is relied on.",
      input->name, was, is);
  problem_at (builder, IR_PROBLEM_TYPE_MISMATCH, NULL, input, info->place, message);
  ir_edit_set_type (builder->edit, input, common_type (context, declared, held));
  ir_edit_set_claim (builder->edit, input, declared);
}

static void
build_initializers (Builder *builder, const IrDraftGraph *draft, Scope *scope)
{
  for (guint i = 0; i < draft->initializers->len; i++)
    {
      const IrDraftValue *info = &g_array_index (draft->initializers, IrDraftValue, i);
      IrValue *value = g_hash_table_lookup (scope->values, info->name);

      /* An initializer of an input's name is that input's default. */
      if (value == NULL || value->initializer != NULL)
        value = define (builder, scope, info->name, info->place);
      if (info->tensor != NULL)
        {
          ir_edit_set_initializer (builder->edit, value, info->tensor);
          check_default (builder, value, info);
        }
      if (value->type == NULL && value->claim == NULL && info->tensor != NULL)
        ir_edit_set_type (builder->edit, value,
                          ir_tensor_type (info->tensor, builder->model->context));
      if (value->type == NULL && value->claim == NULL && info->type != NULL)
        ir_edit_set_type (builder->edit, value, info->type);
      if (info->extra != NULL)
        ir_edit_set_value_extra (builder->edit, value, info->extra);
    }
}

/* Values of all node outputs, in one array in the order of the nodes; NULL where left out. */
static GPtrArray *
build_node_outputs (Builder *builder, const IrDraftGraph *draft, Scope *scope)
{
  GPtrArray *values = g_ptr_array_new ();

  for (guint n = 0; n < draft->nodes->len; n++)
    {
      const IrDraftNode *node = draft->nodes->pdata[n];

      for (guint i = 0; i < node->outputs.n; i++)
        {
          const char *name = node->outputs.names[i];

          g_ptr_array_add (values,
                           name[0] != '\0' ? define (builder, scope, name, node->place) : NULL);
        }
    }
  return values;
}

/* A name that nobody defines becomes a value without a producer, so that the graph can be shown. */
static IrValue *
resolve (Builder *builder, Scope *scope, const char *name, gboolean *undefined)
{
  IrValue *value = lookup (scope, name);

  *undefined = FALSE;
  if (value != NULL)
    return value;
  *undefined = TRUE;
  return define (builder, scope, name, (IrDraftPlace){ 0, 0 });
}

static const IrAttr *
build_graph_attr (Builder *builder, const IrDraftAttr *draft, Scope *scope)
{
  IrContext *context = builder->model->context;
  guint n = draft->graphs->len;
  g_autofree guint32 *ids = g_new (guint32, MAX (n, 1));
  const IrAttr *attr;

  for (guint i = 0; i < n; i++)
    ids[i] = build_graph (builder, draft->graphs->pdata[i], IR_GRAPH_SUBGRAPH, NULL, scope)->id;
  attr = draft->kind == IR_ATTR_GRAPH && n == 1 ? ir_attr_graph (context, draft->name, ids[0])
                                                : ir_attr_graphs (context, draft->name, ids, n);
  if (draft->doc != NULL || draft->unknown != NULL)
    attr = ir_attr_annotate (context, attr, attr->kind, draft->doc, draft->unknown);
  return attr;
}

static const char *
attr_name (const IrDraftAttr *attr)
{
  return attr->graphs != NULL ? attr->name : attr->attr->name;
}

static int
compare_attrs (gconstpointer a, gconstpointer b)
{
  return strcmp (attr_name (a), attr_name (b));
}

/* By name, as nodes keep them: so subgraphs get the same ids whatever the order in the file. */
static void
build_attrs (Builder *builder, IrNode *node, const IrDraftNode *draft, Scope *scope)
{
  if (draft->attrs->len == 0)
    return;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_array_sort (draft->attrs, compare_attrs);
  for (guint i = 0; i < draft->attrs->len; i++)
    {
      const IrDraftAttr *attr = &g_array_index (draft->attrs, IrDraftAttr, i);
      const char *name = attr_name (attr);

      if (!g_hash_table_add (seen, (gpointer) name))
        {
          g_autofree char *label = ir_node_label (node);
          g_autofree char *message = g_strdup_printf (
              "%s: attribute %s is given twice; the first counts.", label, name);

          problem_at (builder, IR_PROBLEM_BAD_ATTRIBUTE, node, NULL, draft->place, message);
          continue;
        }
      ir_edit_set_attr (builder->edit, node,
                        attr->graphs != NULL ? build_graph_attr (builder, attr, scope)
                                             : attr->attr);
    }
}

static void
report_undefined (Builder *builder, IrNode *node, const IrValue *value, IrDraftPlace place)
{
  g_autofree char *label = ir_node_label (node);
  g_autofree char *message = g_strdup_printf (
      "%s: input \"%s\" is no graph input, no initializer and no output of a node.", label,
      value->name);
  problem_at (builder, IR_PROBLEM_UNDEFINED_VALUE, node, value, place, message);
}

static void
build_node (Builder *builder, const IrDraftNode *draft, Scope *scope, IrValue *const *outputs)
{
  guint n_inputs = draft->inputs.n;
  IrValue *few_inputs[8];
  gboolean few_undefined[G_N_ELEMENTS (few_inputs)] = { FALSE };
  g_autofree gpointer many = n_inputs > G_N_ELEMENTS (few_inputs)
                                 ? g_malloc0_n (n_inputs, sizeof (IrValue *) + sizeof (gboolean))
                                 : NULL;
  IrValue **inputs = many != NULL ? many : few_inputs;
  gboolean *undefined = many != NULL ? (gboolean *) (gpointer) (inputs + n_inputs) : few_undefined;
  IrNode *node;

  for (guint i = 0; i < n_inputs; i++)
    {
      const char *name = draft->inputs.names[i];

      inputs[i] = name[0] != '\0' ? resolve (builder, scope, name, &undefined[i]) : NULL;
    }
  node = ir_edit_add_node_with_outputs (builder->edit, scope->graph, draft->op_type, draft->domain,
                                        draft->name, n_inputs, inputs, draft->outputs.n, outputs);
  for (guint i = 0; i < n_inputs; i++)
    if (undefined[i])
      report_undefined (builder, node, inputs[i], draft->place);
  if (draft->overload[0] != '\0')
    ir_edit_set_op (builder->edit, node, draft->op_type, draft->domain, draft->overload);
  ir_edit_set_scope (builder->edit, node,
                     draft->scope != NULL
                         ? draft->scope
                         : ir_draft_scope_of_name (builder->model->context, draft->name));
  if (draft->device[0] != '\0')
    ir_edit_set_device (builder->edit, node, draft->device);
  if (draft->rank != 0)
    ir_edit_set_rank (builder->edit, node, draft->rank);
  if (draft->extra != NULL)
    ir_edit_set_node_extra (builder->edit, node, draft->extra);
  build_attrs (builder, node, draft, scope);
  for (guint i = 0; draft->after != NULL && draft->after[i] != NULL; i++)
    {
      ControlEdge edge = { node, lookup (scope, draft->after[i]), draft->after[i] };

      g_array_append_val (builder->control_edges, edge);
    }
}

static void
build_infos (Builder *builder, const IrDraftGraph *draft, Scope *scope)
{
  for (guint i = 0; i < draft->infos->len; i++)
    {
      const IrDraftValue *info = &g_array_index (draft->infos, IrDraftValue, i);
      IrValue *value = g_hash_table_lookup (scope->values, info->name);

      if (value != NULL)
        declare (builder, value, info, FALSE);
    }
}

static void
build_outputs (Builder *builder, const IrDraftGraph *draft, Scope *scope)
{
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < draft->outputs->len; i++)
    {
      const IrDraftValue *info = &g_array_index (draft->outputs, IrDraftValue, i);
      gboolean undefined;
      IrValue *value = resolve (builder, scope, info->name, &undefined);

      if (undefined)
        {
          g_autofree char *message = g_strdup_printf (
              "Graph \"%s\": its output \"%s\" is not computed by any node.", scope->graph->name,
              info->name);

          problem_at (builder, IR_PROBLEM_UNDEFINED_VALUE, NULL, value, info->place, message);
        }
      declare (builder, value, info, FALSE);
      g_ptr_array_add (outputs, value);
    }
  ir_edit_set_graph_outputs (builder->edit, scope->graph, (IrValue *const *) outputs->pdata,
                             outputs->len);
}

static void
build_body (Builder *builder, const IrDraftGraph *draft, Scope *scope)
{
  g_autoptr (GPtrArray) inputs = build_inputs (builder, draft, scope);
  g_autoptr (GPtrArray) outputs = NULL;
  gsize first_output = 0;

  ir_edit_set_graph_inputs (builder->edit, scope->graph, (IrValue *const *) inputs->pdata,
                            inputs->len);
  build_initializers (builder, draft, scope);
  outputs = build_node_outputs (builder, draft, scope);
  for (guint n = 0; n < draft->nodes->len; n++)
    {
      const IrDraftNode *node = draft->nodes->pdata[n];

      build_node (builder, node, scope,
                  node->outputs.n > 0 ? (IrValue *const *) outputs->pdata + first_output : NULL);
      first_output += node->outputs.n;
    }
  build_infos (builder, draft, scope);
  build_outputs (builder, draft, scope);
}

static IrGraph *
build_graph (
    Builder *builder, const IrDraftGraph *draft, IrGraphKind kind, IrGraph *graph, Scope *outer)
{
  Scope scope = { outer, graph, g_hash_table_new (NULL, NULL) };

  if (graph == NULL)
    scope.graph = ir_edit_add_graph (builder->edit, kind, draft->name);
  else if (draft->name[0] != '\0')
    ir_edit_rename_graph (builder->edit, graph, draft->name);
  if (draft->extra != NULL)
    ir_edit_set_graph_extra (builder->edit, scope.graph, draft->extra);
  if (draft->function != NULL)
    ir_edit_set_function_info (builder->edit, scope.graph, draft->function);
  build_body (builder, draft, &scope);
  g_hash_table_unref (scope.values);
  return scope.graph;
}

static void
build_functions (Builder *builder)
{
  const IrDraft *draft = builder->draft;

  for (guint i = 0; i < draft->functions->len; i++)
    {
      const IrDraftGraph *graph = draft->functions->pdata[i];
      const IrFunctionInfo *info = graph->function;

      if (ir_model_find_function (builder->model, info->domain, info->name, info->overload) != NULL)
        {
          g_autofree char *message = g_strdup_printf (
              "Function %s.%s is defined twice; calls mean the first.", info->domain, info->name);

          problem_at (builder, IR_PROBLEM_DUPLICATE_NAME, NULL, NULL, graph->place, message);
        }
      build_graph (builder, graph, IR_GRAPH_FUNCTION, NULL, NULL);
    }
}

static const IrProps *
metadata_props (IrDraft *draft)
{
  guint n = draft->metadata->len / 2;
  g_autofree const char **keys = g_new (const char *, n);
  g_autofree const char **values = g_new (const char *, n);

  for (guint i = 0; i < n; i++)
    {
      keys[i] = draft->metadata->pdata[2 * i];
      values[i] = draft->metadata->pdata[2 * i + 1];
    }
  return ir_props_new (draft->context, n, keys, values);
}

/**
 * ir_draft_build:
 * @draft: what a reader has found
 * @model: an empty model whose context is the draft's
 *
 * Makes the model. Subgraphs see the values of the graphs around them, functions see only their
 * own. Duplicate names, undefined values and cycles are put on the draft's list of problems.
 */
void
ir_draft_build (IrDraft *draft, IrModel *model)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GArray) control_edges = g_array_new (FALSE, FALSE, sizeof (ControlEdge));
  Builder builder = { draft, edit, model, control_edges };

  if (draft->metadata->len > 0)
    draft->info.extra.props = metadata_props (draft);
  ir_edit_take_interned (edit);
  ir_edit_set_info (edit, &draft->info);
  for (guint i = 0; i < draft->opsets->len; i++)
    {
      const IrOpset *opset = &g_array_index (draft->opsets, IrOpset, i);

      ir_edit_set_opset (edit, opset->domain, opset->version);
    }
  if (draft->main != NULL)
    build_graph (&builder, draft->main, IR_GRAPH_MAIN, model->main, NULL);
  build_functions (&builder);
  for (guint i = 0; i < control_edges->len; i++)
    {
      const ControlEdge *edge = &g_array_index (control_edges, ControlEdge, i);

      IrNode *before = edge->value != NULL ? edge->value->producer
                                           : ir_graph_find_node (edge->node->graph, edge->name);

      if (before != NULL && (edge->value != NULL || before->n_outputs == 0))
        ir_edit_add_control (edit, edge->node, before);
    }
  ir_model_order (model);
  if (ir_model_is_cyclic (model))
    ir_model_report_cycles (model, draft->problems);
}
