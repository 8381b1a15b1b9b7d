/* Values are matched by name, nodes by operator and the name of their first output. What matches
 * keeps its id, so lineage, selection and layout survive an edit of the text; everything else is
 * added or removed. A subgraph or function that differs at all is replaced as a whole. */
#include "config.h"

#include "core/ir/reconcile.h"

#include "core/ir/log-private.h"

#include <string.h>

typedef struct
{
  IrEdit *edit;
  IrModel *model, *target;
  GHashTable *values; /* IrValue of target -> IrValue of model */
  GHashTable *kept;   /* nodes of the main graph that are in the target too */
} Reconciler;

static IrGraph *copy_graph (Reconciler *reconciler, const IrGraph *from, IrGraphKind kind);

/* -- from one context to another -- */

static const IrType *import_type (const Reconciler *reconciler, const IrType *type);

static const IrType *
import_closure (const Reconciler *reconciler, const IrType *type)
{
  g_autofree const IrType **members = g_new0 (const IrType *, type->n_members + 1u);

  for (guint i = 0; i < type->n_members; i++)
    members[i] = import_type (reconciler, type->members[i]);
  return ir_type_closure (reconciler->model->context, type->members != NULL ? members : NULL,
                          type->n_params, type->n_members);
}

static const IrType *
import_type (const Reconciler *reconciler, const IrType *type)
{
  IrContext *to = reconciler->model->context, *from = reconciler->target->context;
  IrDim dims[IR_MAX_RANK];

  if (type == NULL || to == from)
    return type;
  switch (type->kind)
    {
    case IR_TYPE_TENSOR:
    case IR_TYPE_SPARSE_TENSOR:
      for (int i = 0; i < type->rank; i++)
        {
          g_autofree char *text = ir_dim_is_symbolic (type->dims[i])
                                      ? ir_dim_to_string (from, type->dims[i])
                                      : NULL;
          dims[i] = text != NULL ? ir_dim_parse (to, text) : type->dims[i];
        }
      return type->kind == IR_TYPE_TENSOR
                 ? ir_type_tensor (to, type->dtype, type->rank, dims)
                 : ir_type_sparse_tensor (to, type->dtype, type->rank, dims);
    case IR_TYPE_SEQUENCE:
      return ir_type_sequence (to, import_type (reconciler, type->element));
    case IR_TYPE_OPTIONAL:
      return ir_type_optional (to, import_type (reconciler, type->element));
    case IR_TYPE_MAP:
      return ir_type_map (to, type->dtype, import_type (reconciler, type->element));
    case IR_TYPE_OPAQUE:
      return ir_type_opaque (to, type->denotation);
    case IR_TYPE_CLOSURE:
      return import_closure (reconciler, type);
    case IR_N_TYPE_KINDS:
      break;
    }
  return NULL;
}

static const IrAttr *
import_types (const Reconciler *reconciler, const IrAttr *attr)
{
  g_autofree const IrType **types = g_new (const IrType *, attr->n + 1);

  for (guint i = 0; i < attr->n; i++)
    types[i] = import_type (reconciler, attr->types[i]);
  return ir_attr_types (reconciler->model->context, attr->name, attr->kind, types, attr->n);
}

static const IrAttr *
import_graphs (Reconciler *reconciler, const IrAttr *attr)
{
  g_autofree guint32 *ids = g_new (guint32, attr->n + 1);

  for (guint i = 0; i < attr->n; i++)
    ids[i] = copy_graph (reconciler, ir_model_graph (reconciler->target, attr->graphs[i]),
                         IR_GRAPH_SUBGRAPH)
                 ->id;
  return attr->kind == IR_ATTR_GRAPH
             ? ir_attr_graph (reconciler->model->context, attr->name, ids[0])
             : ir_attr_graphs (reconciler->model->context, attr->name, ids, attr->n);
}

static const IrAttr *
import_attr (Reconciler *reconciler, const IrAttr *attr)
{
  IrContext *to = reconciler->model->context;

  if (attr->ref_name != NULL)
    return ir_attr_ref (to, attr->name, attr->kind, attr->ref_name);
  switch (attr->kind)
    {
    case IR_ATTR_FLOAT:
      return ir_attr_float (to, attr->name, attr->floats[0]);
    case IR_ATTR_FLOATS:
      return ir_attr_floats (to, attr->name, attr->floats, attr->n);
    case IR_ATTR_INT:
      return ir_attr_int (to, attr->name, attr->ints[0]);
    case IR_ATTR_INTS:
      return ir_attr_ints (to, attr->name, attr->ints, attr->n);
    case IR_ATTR_STRING:
      return ir_attr_string (to, attr->name, attr->strings[0].data,
                             (gssize) attr->strings[0].length);
    case IR_ATTR_STRINGS:
      return ir_attr_strings (to, attr->name, attr->strings, attr->n);
    case IR_ATTR_TENSOR:
    case IR_ATTR_SPARSE_TENSOR:
      return ir_attr_tensor (to, attr->name, attr->tensors[0]);
    case IR_ATTR_TENSORS:
    case IR_ATTR_SPARSE_TENSORS:
      return ir_attr_tensors (to, attr->name, attr->tensors, attr->n);
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
      return import_types (reconciler, attr);
    case IR_ATTR_GRAPH:
    case IR_ATTR_GRAPHS:
      return import_graphs (reconciler, attr);
    case IR_ATTR_UNDEFINED:
    case IR_N_ATTR_KINDS:
      break;
    }
  return ir_attr_ints (to, attr->name, NULL, 0);
}

/* -- sameness across contexts -- */

static gboolean graphs_same (const Reconciler *reconciler, const IrGraph *a, const IrGraph *b);

/* Types belong to a context and graphs to a model; everything else is compared as it is. */
static gboolean
elements_same (const Reconciler *reconciler, const IrAttr *a, const IrAttr *b)
{
  gboolean types = a->kind == IR_ATTR_TYPE || a->kind == IR_ATTR_TYPES;

  if (!types && a->kind != IR_ATTR_GRAPH && a->kind != IR_ATTR_GRAPHS)
    return ir_attr_equal (a, b);
  for (guint i = 0; i < a->n; i++)
    if (types ? a->types[i] != import_type (reconciler, b->types[i])
              : !graphs_same (reconciler, ir_model_graph (reconciler->model, a->graphs[i]),
                              ir_model_graph (reconciler->target, b->graphs[i])))
      return FALSE;
  return TRUE;
}

static gboolean
attrs_same (const Reconciler *reconciler, const IrAttr *a, const IrAttr *b)
{
  return a != NULL && a->kind == b->kind && a->n == b->n &&
         g_strcmp0 (a->ref_name, b->ref_name) == 0 &&
         (a->n == 0 || elements_same (reconciler, a, b));
}

static gboolean
names_same (guint n_a, IrValue *const *a, guint n_b, IrValue *const *b)
{
  if (n_a != n_b)
    return FALSE;
  for (guint i = 0; i < n_a; i++)
    if (g_strcmp0 (a[i] != NULL ? a[i]->name : NULL, b[i] != NULL ? b[i]->name : NULL) != 0)
      return FALSE;
  return TRUE;
}

static gboolean
nodes_same (const Reconciler *reconciler, const IrNode *a, const IrNode *b)
{
  if (strcmp (a->op_type, b->op_type) != 0 || strcmp (a->domain, b->domain) != 0 ||
      strcmp (a->name, b->name) != 0 || a->n_attrs != b->n_attrs ||
      !names_same (a->n_inputs, a->inputs, b->n_inputs, b->inputs) ||
      !names_same (a->n_outputs, a->outputs, b->n_outputs, b->outputs))
    return FALSE;
  for (guint i = 0; i < b->n_attrs; i++)
    if (!attrs_same (reconciler, ir_node_attr (a, b->attrs[i]->name), b->attrs[i]))
      return FALSE;
  return TRUE;
}

static gboolean
interfaces_same (const Reconciler *reconciler, const IrGraph *a, const IrGraph *b)
{
  if (a->inputs->n != b->inputs->n || a->outputs->n != b->outputs->n)
    return FALSE;
  for (guint i = 0; i < a->inputs->n; i++)
    if (strcmp (ir_graph_input (a, i)->name, ir_graph_input (b, i)->name) != 0)
      return FALSE;
  for (guint i = 0; i < a->outputs->n; i++)
    if (strcmp (ir_graph_output (a, i)->name, ir_graph_output (b, i)->name) != 0)
      return FALSE;
  return TRUE;
}

static gboolean
initializers_same (const IrGraph *a, const IrGraph *b)
{
  guint n;
  IrValue *const *values = ir_graph_values (b, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrValue *twin = ir_graph_find_value (a, values[i]->name);

      if (twin == NULL || (twin->initializer == NULL) != (values[i]->initializer == NULL))
        return FALSE;
      if (twin->initializer != NULL && !ir_tensor_equal (twin->initializer, values[i]->initializer))
        return FALSE;
    }
  return TRUE;
}

static gboolean
graphs_same (const Reconciler *reconciler, const IrGraph *a, const IrGraph *b)
{
  guint n_a, n_b;
  IrNode *const *nodes_a, *const *nodes_b;

  if (a == NULL || b == NULL || !interfaces_same (reconciler, a, b) || !initializers_same (a, b))
    return FALSE;
  nodes_a = ir_graph_order (a, &n_a);
  nodes_b = ir_graph_order (b, &n_b);
  if (n_a != n_b)
    return FALSE;
  for (guint i = 0; i < n_a; i++)
    if (!nodes_same (reconciler, nodes_a[i], nodes_b[i]))
      return FALSE;
  return TRUE;
}

/* -- values -- */

static IrValue *
own_value (Reconciler *reconciler, const IrValue *value)
{
  return value != NULL ? g_hash_table_lookup (reconciler->values, value) : NULL;
}

/* What inference has come to here is not claimed anew. */
static void
update_claim (Reconciler *reconciler, IrValue *own, const IrValue *value)
{
  const IrType *claim = import_type (reconciler, value->claim);

  if (claim == NULL && (own->flags & IR_VALUE_DECLARED) != 0)
    ir_edit_set_claim (reconciler->edit, own, NULL);
  else if (claim != NULL && claim != ir_value_shown_type (own))
    ir_edit_set_claim (reconciler->edit, own, claim);
}

static void
update_value (Reconciler *reconciler, IrValue *own, const IrValue *value)
{
  const IrType *type = import_type (reconciler, value->type);

  if (value->initializer == NULL && own->initializer != NULL)
    ir_edit_set_initializer (reconciler->edit, own, NULL);
  else if (value->initializer != NULL &&
           (own->initializer == NULL || !ir_tensor_equal (own->initializer, value->initializer)))
    ir_edit_set_initializer (reconciler->edit, own, value->initializer);
  if (type != NULL && (value->flags & IR_VALUE_DECLARED || value->initializer != NULL) &&
      type != own->type)
    ir_edit_set_type (reconciler->edit, own, type);
  update_claim (reconciler, own, value);
  ir_edit_set_flags (reconciler->edit, own, value->flags);
}

static IrValue *
copy_value (Reconciler *reconciler, IrGraph *graph, const IrValue *value)
{
  IrValue *own;

  if (value->initializer != NULL)
    own = ir_edit_add_initializer (reconciler->edit, graph, value->name, value->initializer);
  else
    own = ir_edit_add_value (reconciler->edit, graph, value->name,
                             import_type (reconciler, value->type));
  ir_edit_set_claim (reconciler->edit, own, import_type (reconciler, value->claim));
  ir_edit_set_flags (reconciler->edit, own, value->flags);
  return own;
}

/* Every value of @from gets one in @graph: of the same name if it is there already. */
static void
map_values (Reconciler *reconciler, IrGraph *graph, const IrGraph *from, gboolean reuse)
{
  guint n;
  IrValue *const *values = ir_graph_values (from, &n);

  for (guint i = 0; i < n; i++)
    {
      IrValue *own = reuse ? ir_graph_find_value (graph, values[i]->name) : NULL;

      if (own != NULL)
        update_value (reconciler, own, values[i]);
      else
        own = copy_value (reconciler, graph, values[i]);
      g_hash_table_insert (reconciler->values, values[i], own);
    }
}

/* -- nodes -- */

/* The graphs of an attribute that goes. */
static void
remove_graphs (Reconciler *reconciler, const IrAttr *attr)
{
  if (attr == NULL || (attr->kind != IR_ATTR_GRAPH && attr->kind != IR_ATTR_GRAPHS))
    return;
  for (guint i = 0; i < attr->n; i++)
    ir_edit_remove_graph (reconciler->edit, ir_model_graph (reconciler->model, attr->graphs[i]));
}

static void
set_attrs (Reconciler *reconciler, IrNode *own, const IrNode *node)
{
  g_autoptr (GPtrArray) stale = g_ptr_array_new ();

  for (guint i = 0; i < own->n_attrs; i++)
    if (ir_node_attr (node, own->attrs[i]->name) == NULL)
      g_ptr_array_add (stale, (gpointer) own->attrs[i]->name);
  for (guint i = 0; i < stale->len; i++)
    {
      remove_graphs (reconciler, ir_node_attr (own, stale->pdata[i]));
      ir_edit_unset_attr (reconciler->edit, own, stale->pdata[i]);
    }
  for (guint i = 0; i < node->n_attrs; i++)
    {
      const IrAttr *old = ir_node_attr (own, node->attrs[i]->name);

      if (attrs_same (reconciler, old, node->attrs[i]))
        continue;
      remove_graphs (reconciler, old);
      ir_edit_set_attr (reconciler->edit, own, import_attr (reconciler, node->attrs[i]));
    }
}

static void
set_links (Reconciler *reconciler, IrNode *own, const IrNode *node)
{
  ir_edit_set_n_inputs (reconciler->edit, own, node->n_inputs);
  for (guint i = 0; i < node->n_inputs; i++)
    ir_edit_set_input (reconciler->edit, own, i, own_value (reconciler, node->inputs[i]));
  ir_edit_set_n_outputs (reconciler->edit, own, node->n_outputs);
  for (guint i = 0; i < node->n_outputs; i++)
    ir_edit_set_output (reconciler->edit, own, i, own_value (reconciler, node->outputs[i]));
}

static IrNode *
copy_node (Reconciler *reconciler, IrGraph *graph, const IrNode *node)
{
  IrNode *own = ir_edit_add_node_with_outputs (reconciler->edit, graph, node->op_type, node->domain,
                                               node->name, 0, NULL, 0, NULL);

  if (g_strcmp0 (own->overload, node->overload) != 0)
    ir_edit_set_op (reconciler->edit, own, node->op_type, node->domain, node->overload);
  if (g_strcmp0 (own->scope, node->scope) != 0)
    ir_edit_set_scope (reconciler->edit, own, node->scope);
  set_links (reconciler, own, node);
  set_attrs (reconciler, own, node);
  return own;
}

/* The node that makes the value of the same name by the same operator. */
static IrNode *
find_twin (Reconciler *reconciler, const IrNode *node)
{
  const IrValue *value = own_value (reconciler, ir_node_output (node, 0));
  IrNode *own = value != NULL ? value->producer : NULL;

  if (own == NULL || own->graph != reconciler->model->main ||
      g_hash_table_contains (reconciler->kept, own) || strcmp (own->op_type, node->op_type) != 0 ||
      strcmp (own->domain, node->domain) != 0)
    return NULL;
  return own;
}

static void
reconcile_nodes (Reconciler *reconciler)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (reconciler->target->main);
  g_autoptr (GPtrArray) twins = g_ptr_array_new ();
  guint64 rank = 0;

  for (guint i = 0; i < nodes->len; i++)
    {
      IrNode *own = find_twin (reconciler, nodes->pdata[i]);

      g_ptr_array_add (twins, own);
      if (own != NULL)
        g_hash_table_add (reconciler->kept, own);
    }
  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      IrNode *own = twins->pdata[i];

      if (own == NULL)
        {
          own = copy_node (reconciler, reconciler->model->main, node);
          ir_edit_set_rank (reconciler->edit, own, rank);
          g_hash_table_add (reconciler->kept, own);
          continue;
        }
      rank = own->rank;
      ir_edit_rename_node (reconciler->edit, own, node->name);
      set_links (reconciler, own, node);
      set_attrs (reconciler, own, node);
    }
}

static IrGraph *
copy_graph (Reconciler *reconciler, const IrGraph *from, IrGraphKind kind)
{
  IrGraph *graph = ir_edit_add_graph (reconciler->edit, kind, from->name);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (from);
  g_autoptr (GPtrArray) list = g_ptr_array_new ();

  map_values (reconciler, graph, from, FALSE);
  for (guint i = 0; i < nodes->len; i++)
    copy_node (reconciler, graph, nodes->pdata[i]);
  for (guint i = 0; i < ir_graph_n_inputs (from); i++)
    g_ptr_array_add (list, own_value (reconciler, ir_graph_input (from, i)));
  ir_edit_set_graph_inputs (reconciler->edit, graph, (IrValue *const *) list->pdata, list->len);
  g_ptr_array_set_size (list, 0);
  for (guint i = 0; i < ir_graph_n_outputs (from); i++)
    g_ptr_array_add (list, own_value (reconciler, ir_graph_output (from, i)));
  ir_edit_set_graph_outputs (reconciler->edit, graph, (IrValue *const *) list->pdata, list->len);
  return graph;
}

/* -- the main graph's rim, and what is left over -- */

static void
reconcile_interface (Reconciler *reconciler)
{
  const IrGraph *from = reconciler->target->main;
  g_autoptr (GPtrArray) list = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_inputs (from); i++)
    g_ptr_array_add (list, own_value (reconciler, ir_graph_input (from, i)));
  ir_edit_set_graph_inputs (reconciler->edit, reconciler->model->main,
                            (IrValue *const *) list->pdata, list->len);
  g_ptr_array_set_size (list, 0);
  for (guint i = 0; i < ir_graph_n_outputs (from); i++)
    g_ptr_array_add (list, own_value (reconciler, ir_graph_output (from, i)));
  ir_edit_set_graph_outputs (reconciler->edit, reconciler->model->main,
                             (IrValue *const *) list->pdata, list->len);
}

static void
remove_leftovers (Reconciler *reconciler)
{
  IrGraph *main = reconciler->model->main;
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (main);
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  IrValue *const *live;
  guint n;

  for (guint i = 0; i < nodes->len; i++)
    if (!g_hash_table_contains (reconciler->kept, nodes->pdata[i]))
      ir_edit_set_n_inputs (reconciler->edit, nodes->pdata[i], 0);
  for (guint i = nodes->len; i > 0; i--) /* users first: subgraphs hold on to what they capture */
    if (!g_hash_table_contains (reconciler->kept, nodes->pdata[i - 1]))
      ir_edit_remove_node (reconciler->edit, nodes->pdata[i - 1]);
  live = ir_graph_values (main, &n);
  for (guint i = 0; i < n; i++)
    if (live[i]->producer == NULL && live[i]->n_uses == 0 && !ir_graph_has_input (main, live[i]) &&
        ir_graph_find_value (reconciler->target->main, live[i]->name) == NULL)
      g_ptr_array_add (values, live[i]);
  for (guint i = 0; i < values->len; i++)
    ir_edit_remove_value (reconciler->edit, values->pdata[i]);
}

/* -- functions and model -- */

static const char *
own_string (const Reconciler *reconciler, const char *string)
{
  return string != NULL ? ir_context_intern (reconciler->model->context, string) : NULL;
}

static const IrOpsets *
import_opsets (const Reconciler *reconciler, const IrOpsets *opsets)
{
  IrOpsets *copy = ir_context_alloc (reconciler->model->context,
                                     sizeof (IrOpsets) + opsets->n * sizeof (IrOpset));

  copy->n = opsets->n;
  for (guint i = 0; i < opsets->n; i++)
    copy->opsets[i] = (IrOpset){ own_string (reconciler, opsets->opsets[i].domain),
                                 opsets->opsets[i].version };
  return copy;
}

static void
copy_function (Reconciler *reconciler, const IrGraph *from)
{
  const IrFunctionInfo *info = from->function;
  IrGraph *graph = copy_graph (reconciler, from, IR_GRAPH_FUNCTION);
  const char **names = ir_context_alloc (reconciler->model->context,
                                         info->n_attr_names * sizeof (char *));
  const IrAttr **defaults = ir_context_alloc (reconciler->model->context,
                                              info->n_attr_defaults * sizeof (IrAttr *));
  IrFunctionInfo copy = {
    .domain = own_string (reconciler, info->domain),
    .name = own_string (reconciler, info->name),
    .overload = own_string (reconciler, info->overload),
    .n_attr_names = info->n_attr_names,
    .attr_names = names,
    .n_attr_defaults = info->n_attr_defaults,
    .attr_defaults = defaults,
    .opsets = info->opsets != NULL ? import_opsets (reconciler, info->opsets) : NULL,
  };

  for (guint i = 0; i < info->n_attr_names; i++)
    names[i] = own_string (reconciler, info->attr_names[i]);
  for (guint i = 0; i < info->n_attr_defaults; i++)
    defaults[i] = import_attr (reconciler, info->attr_defaults[i]);
  ir_edit_set_function_info (reconciler->edit, graph, &copy);
}

static const IrGraph *
same_function (const IrModel *model, const IrFunctionInfo *info)
{
  return ir_model_find_function (model, info->domain, info->name, info->overload);
}

static gboolean
opsets_same (const IrOpsets *a, const IrOpsets *b)
{
  if (a == NULL || b == NULL || a->n != b->n)
    return a == b;
  for (guint i = 0; i < a->n; i++)
    if (strcmp (a->opsets[i].domain, b->opsets[i].domain) != 0 ||
        a->opsets[i].version != b->opsets[i].version)
      return FALSE;
  return TRUE;
}

static gboolean
infos_same (const Reconciler *reconciler, const IrFunctionInfo *a, const IrFunctionInfo *b)
{
  if (a->n_attr_names != b->n_attr_names || a->n_attr_defaults != b->n_attr_defaults ||
      !opsets_same (a->opsets, b->opsets))
    return FALSE;
  for (guint i = 0; i < a->n_attr_names; i++)
    if (strcmp (a->attr_names[i], b->attr_names[i]) != 0)
      return FALSE;
  for (guint i = 0; i < a->n_attr_defaults; i++)
    if (strcmp (a->attr_defaults[i]->name, b->attr_defaults[i]->name) != 0 ||
        !attrs_same (reconciler, a->attr_defaults[i], b->attr_defaults[i]))
      return FALSE;
  return TRUE;
}

static void
copy_functions (Reconciler *reconciler)
{
  for (guint i = 1; i < reconciler->target->graphs->len; i++)
    {
      const IrGraph *from = reconciler->target->graphs->pdata[i];

      if (from->state == IR_STATE_LIVE && from->function != NULL &&
          same_function (reconciler->model, from->function) == NULL)
        copy_function (reconciler, from);
    }
}

static void
reconcile_functions (Reconciler *reconciler)
{
  guint n_own = reconciler->model->graphs->len;

  for (guint i = 1; i < n_own; i++)
    {
      IrGraph *own = reconciler->model->graphs->pdata[i];
      const IrGraph *twin;

      if (own->state != IR_STATE_LIVE || own->function == NULL)
        continue;
      twin = same_function (reconciler->target, own->function);
      if (twin == NULL || !infos_same (reconciler, own->function, twin->function) ||
          !graphs_same (reconciler, own, twin))
        ir_edit_remove_graph (reconciler->edit, own);
    }
  copy_functions (reconciler);
}

static void
reconcile_opsets (Reconciler *reconciler)
{
  const IrOpsets *from = reconciler->target->opsets, *own = reconciler->model->opsets;

  for (guint i = 0; i < own->n; i++)
    if (ir_model_opset (reconciler->target, own->opsets[i].domain) == 0)
      ir_edit_set_opset (reconciler->edit, own->opsets[i].domain, 0);
  for (guint i = 0; i < from->n; i++)
    ir_edit_set_opset (reconciler->edit, from->opsets[i].domain, from->opsets[i].version);
}

static void
reconcile_info (Reconciler *reconciler)
{
  IrModelInfo info = *reconciler->model->info;

  info.ir_version = reconciler->target->info->ir_version;
  ir_edit_set_info (reconciler->edit, &info);
}

/* -- types -- */

static void
push_readers (GPtrArray *stack, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      IrNode *node = use.node != NULL ? use.node
                                      : ir_model_live_node (use.graph->model, use.graph->owner);
      if (node != NULL)
        g_ptr_array_add (stack, node);
    }
}

static void
push_all (GPtrArray *stack, const IrModel *model)
{
  for (IrNodeId id = 1; id < model->nodes->len; id++)
    if (ir_model_live_node (model, id) != NULL)
      g_ptr_array_add (stack, ir_model_live_node (model, id));
}

static void
push_changed (GPtrArray *stack, const IrModel *model, const IrRecord *record)
{
  IrNode *owner = NULL;

  if (ir_record_changes_computation (record))
    g_ptr_array_add (stack, ir_model_node (model, record->subject));
  else if (record->kind == IR_RECORD_VALUE_TYPE || record->kind == IR_RECORD_VALUE_INITIALIZER)
    push_readers (stack, ir_model_value (model, record->subject));
  else if (record->kind == IR_RECORD_GRAPH_INPUTS || record->kind == IR_RECORD_GRAPH_OUTPUTS)
    owner = ir_model_live_node (model, ir_model_graph (model, record->subject)->owner);
  else if (record->kind == IR_RECORD_GRAPH_FUNCTION ||
           ir_record_subject (record->kind) == IR_SUBJECT_MODEL)
    push_all (stack, model);
  if (owner != NULL)
    g_ptr_array_add (stack, owner);
}

static void
forget_type (IrEdit *edit, GPtrArray *stack, IrValue *value)
{
  if (value == NULL || value->state != IR_STATE_LIVE || value->initializer != NULL)
    return;
  ir_edit_set_type (edit, value, NULL);
  push_readers (stack, value);
}

/* Where the records of the open step begin. */
static guint
first_open_record (const IrLog *log)
{
  const IrStep *last = log->steps->len > 0 ? log->steps->pdata[log->steps->len - 1] : NULL;

  return last != NULL ? last->first_record + last->n_records : 0;
}

/**
 * ir_reconcile_forget_types:
 * @edit: a recording edit with an open step
 *
 * What was inferred behind what the step has changed so far need not hold any more: it is not known
 * until types are inferred again.
 */
void
ir_reconcile_forget_types (IrEdit *edit)
{
  const IrModel *model = ir_edit_model (edit);
  const GArray *records = model->log != NULL ? model->log->records : NULL;
  guint n_records = records != NULL ? records->len : 0;
  guint first = records != NULL ? first_open_record (model->log) : 0;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();

  for (guint i = first; i < n_records; i++)
    {
      const IrRecord record = g_array_index (records, IrRecord, i);
      push_changed (stack, model, &record);
    }
  while (stack->len > 0)
    {
      const IrNode *node = g_ptr_array_steal_index_fast (stack, stack->len - 1);
      if (node->state != IR_STATE_LIVE || !g_hash_table_add (seen, (gpointer) node))
        continue;
      for (guint i = 0; i < node->n_outputs; i++)
        forget_type (edit, stack, node->outputs[i]);
      g_autoptr (GPtrArray) bodies = ir_node_subgraphs (node);
      for (guint i = 0; i < bodies->len; i++)
        for (guint k = 0; k < ir_graph_n_inputs (bodies->pdata[i]); k++)
          forget_type (edit, stack, ir_graph_input (bodies->pdata[i], k));
    }
}

/**
 * ir_reconcile:
 * @edit: an edit with an open step
 * @target: what the model of @edit is to say
 *
 * Changes the model until its graphs, functions, opset imports and IR version are those of @target.
 * Producer, metadata and documentation stay. What is declared of inner values is what @target
 * declares; what was inferred behind a change is forgotten: infer afterwards. @edit has to record.
 */
void
ir_reconcile (IrEdit *edit, IrModel *target)
{
  Reconciler reconciler = { .edit = edit, .model = ir_edit_model (edit), .target = target };

  reconciler.values = g_hash_table_new (NULL, NULL);
  reconciler.kept = g_hash_table_new (NULL, NULL);
  reconcile_opsets (&reconciler);
  reconcile_info (&reconciler);
  reconcile_functions (&reconciler);
  map_values (&reconciler, reconciler.model->main, target->main, TRUE);
  reconcile_nodes (&reconciler);
  reconcile_interface (&reconciler);
  remove_leftovers (&reconciler);
  if (strcmp (reconciler.model->main->name, target->main->name) != 0)
    ir_edit_rename_graph (edit, reconciler.model->main, target->main->name);
  ir_reconcile_forget_types (edit);
  g_hash_table_unref (reconciler.values);
  g_hash_table_unref (reconciler.kept);
}

/**
 * ir_reconcile_into:
 * @edit: an edit with an open step
 * @graph: where the nodes go
 * @part: the model that they come from; may have another context
 * @values: (inout): IrValue of @part -> IrValue of the model of @edit, or %NULL: an input that is left
 *   out; gets those that are made
 *
 * Copies what is in the main graph of @part, aside from the values in @values, and the functions and
 * opset imports that it needs. Names are copied as they are.
 *
 * Returns: (transfer container): the new nodes
 */
GPtrArray *
ir_reconcile_into (IrEdit *edit, IrGraph *graph, IrModel *part, GHashTable *values)
{
  Reconciler reconciler = {
    .edit = edit, .model = ir_edit_model (edit), .target = part, .values = values
  };
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (part->main);
  GPtrArray *made = g_ptr_array_new ();
  guint n;
  IrValue *const *own = ir_graph_values (part->main, &n);

  for (guint i = 0; i < part->opsets->n; i++)
    if (ir_model_opset (reconciler.model, part->opsets->opsets[i].domain) == 0)
      ir_edit_set_opset (edit, part->opsets->opsets[i].domain, part->opsets->opsets[i].version);
  copy_functions (&reconciler);
  for (guint i = 0; i < n; i++)
    if (!g_hash_table_contains (values, own[i]))
      g_hash_table_insert (values, own[i], copy_value (&reconciler, graph, own[i]));
  for (guint i = 0; i < nodes->len; i++)
    g_ptr_array_add (made, copy_node (&reconciler, graph, nodes->pdata[i]));
  return made;
}
