/* Inlining of model-local functions.
 *
 *   Y = Gelu <limit = 2.0> (X)                 h = Erf (X)
 *                                      ->      Y = Clip <max = 2.0> (h)
 *   Gelu <limit> (a) => (b) {
 *     h = Erf (a)
 *     b = Clip <max = @limit> (h)
 *   }
 *
 * The call's outputs keep their values: the nodes of the body take them over, so names, types and
 * graph outputs stay. Attribute references become the call's attribute, else the function's
 * default, else nothing (ONNX IR, "attribute references"). Subgraphs in the body are copied with
 * it. A function that imports another version of a domain than the model is inlined only if its
 * operators mean the same in both.
 *
 * Graphs that a node owns are copied by the same code: what they capture stays what it is, and
 * references to attributes of a function around them stay references. */
#include "config.h"

#include "core/ir/inline.h"

#include "core/ir/model-private.h"
#include "core/ir/node-prop.h"

#include "core/op/op.h"

#include <string.h>

/* Calls that make calls: more than this is a function that calls itself. */
#define MAX_ROUNDS 64
#define MAX_NODES  (1000 * 1000)

typedef struct
{
  IrEdit *edit;
  IrModel *model;
  const IrNode *call;
  const IrGraph *body;        /* what is copied */
  IrGraph *to;                /* where its nodes go */
  const IrFunctionInfo *info; /* (nullable) NULL: the body is a subgraph of the call */
  GHashTable *values;         /* IrValue of the body -> IrValue here; NULL: left out by the call */
  GHashTable *results; /* IrValue of the body -> IrValue: outputs that await their producer */
  GPtrArray *nodes;    /* of IrNode: made so far in the call's graph */
  GHashTable *members; /* IrGraph of a body, or within one -> Members, as no call changes them */
  const char *suffix, *mark; /* (nullable) of an iteration */
} Expansion;

static void copy_nodes (Expansion *expansion, const IrGraph *from, IrGraph *to);

/**
 * ir_node_function:
 * @node: a node
 *
 * Returns: (transfer none) (nullable): the function of the model that @node calls
 */
const IrGraph *
ir_node_function (const IrNode *node)
{
  return ir_model_find_function (node->graph->model, node->domain, node->op_type, node->overload);
}

static char *
function_key (const char *domain, const char *name, const char *overload)
{
  return g_strconcat (domain, *domain != '\0' ? "." : "", name, *overload != '\0' ? ":" : "",
                      overload, NULL);
}

/**
 * ir_node_function_key:
 * @node: a node
 *
 * Returns: (transfer full) (nullable): the name of the function that its attributes name, with domain and
 *   overload; %NULL if it is none of those that name functions
 */
char *
ir_node_function_key (const IrNode *node)
{
  if (node->op == NULL || (node->op->flags & IR_OP_NAMES_FUNCTION) == 0)
    return NULL;
  return function_key (ir_node_attr_string (node, "domain", ""),
                       ir_node_attr_string (node, "function", ""),
                       ir_node_attr_string (node, "overload", ""));
}

/**
 * ir_function_key:
 * @info: of a function
 *
 * Returns: (transfer full): its name, with domain and overload
 */
char *
ir_function_key (const IrFunctionInfo *info)
{
  return function_key (info->domain, info->name, info->overload != NULL ? info->overload : "");
}

/**
 * ir_node_named_function:
 * @node: a node
 *
 * Where a run has put other graphs in place of functions (the operator Functions), it is one of those.
 *
 * Returns: (transfer none) (nullable): the function that its attributes name
 */
const IrGraph *
ir_node_named_function (const IrNode *node)
{
  const IrModel *model = node->graph->model;

  if (node->op == NULL || (node->op->flags & IR_OP_NAMES_FUNCTION) == 0)
    return NULL;
  const IrGraph *function = ir_model_find_function (model, ir_node_attr_string (node, "domain", ""),
                                                    ir_node_attr_string (node, "function", ""),
                                                    ir_node_attr_string (node, "overload", ""));
  if (function != NULL)
    return function;
  g_autofree char *key = ir_node_function_key (node);
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      const IrNode *owner = graph->state == IR_STATE_LIVE && graph->owner != 0
                                ? ir_model_live_node (model, graph->owner)
                                : NULL;
      if (owner != NULL && owner->op != NULL && owner->op->id == IR_OP_FUNCTIONS &&
          strcmp (graph->name, key) == 0)
        return graph;
    }
  return NULL;
}

/**
 * ir_function_declared_type:
 * @value: an input or an output of a function, or of what a run has put in its place
 *
 * Returns: (transfer none) (nullable): the type that all callers can rely on
 */
const IrType *
ir_function_declared_type (const IrValue *value)
{
  if (value->graph->kind == IR_GRAPH_FUNCTION && (value->flags & IR_VALUE_DECLARED) == 0)
    return NULL;
  return ir_value_declared_type (value);
}

/**
 * ir_node_used_function:
 * @node: a node
 *
 * Returns: (transfer none) (nullable): the function of the model that @node calls, or that its attributes name
 */
const IrGraph *
ir_node_used_function (const IrNode *node)
{
  const IrGraph *called = ir_node_function (node);

  return called != NULL ? called : ir_node_named_function (node);
}

static const char *
name_within (const Expansion *expansion, const char *name)
{
  const IrNode *call = expansion->call;
  const char *prefix = call->name[0] != '\0' ? call->name : call->op_type;
  g_autofree char *joined = expansion->suffix != NULL
                                ? g_strconcat (name, "_", expansion->suffix, NULL)
                                : g_strconcat (prefix, "/", name, NULL);

  if (ir_edit_name_is_free (expansion->edit, joined))
    return ir_context_intern (expansion->model->context, joined);
  return ir_edit_unique_name (expansion->edit, joined);
}

/* Types in the body of a function are those of its calls, but for what is declared; those in a
 * subgraph hold for each run. */
static IrValue *
copy_value (Expansion *expansion, IrValue *value, IrGraph *to)
{
  gpointer found = NULL;
  gboolean typed;
  IrValue *copy;

  if (value == NULL)
    return NULL;
  if (g_hash_table_lookup_extended (expansion->values, value, NULL, &found))
    return found;
  typed = expansion->info == NULL;
  copy = ir_edit_add_value (expansion->edit, to, name_within (expansion, value->name),
                            typed ? value->type : NULL);
  if (value->claim != NULL && (typed || (value->flags & IR_VALUE_DECLARED) != 0))
    {
      ir_edit_set_claim (expansion->edit, copy, value->claim);
      ir_edit_set_flags (expansion->edit, copy, copy->flags | (value->flags & IR_VALUE_DECLARED));
    }
  if (value->initializer != NULL)
    {
      ir_edit_set_initializer (expansion->edit, copy, value->initializer);
      ir_edit_set_type (expansion->edit, copy, value->type);
    }
  g_hash_table_insert (expansion->values, value, copy);
  return copy;
}

/* What a node of the copy reads for @value: values of nested graphs have been copied before, and
 * what is neither there nor in the body is captured. */
static IrValue *
map_value (Expansion *expansion, IrValue *value, IrGraph *to)
{
  gpointer found = NULL;

  if (value == NULL)
    return NULL;
  if (g_hash_table_lookup_extended (expansion->values, value, NULL, &found))
    return found;
  return value->graph == expansion->body ? copy_value (expansion, value, to) : value;
}

/* -- attributes -- */

static const IrAttr *
find_default (const IrFunctionInfo *info, const char *name)
{
  for (guint i = 0; i < info->n_attr_defaults; i++)
    if (info->attr_defaults[i]->name == name)
      return info->attr_defaults[i];
  return NULL;
}

/* What a graph has. */
typedef struct
{
  GPtrArray *nodes;  /* of IrNode: in order */
  GPtrArray *values; /* of IrValue */
} Members;

static void
members_free (gpointer data)
{
  Members *members = data;

  g_ptr_array_unref (members->nodes);
  g_ptr_array_unref (members->values);
  g_free (members);
}

static GHashTable *
members_new (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, members_free);
}

static Members *
note_members (GHashTable *all, const IrGraph *graph)
{
  Members *members = g_new (Members, 1);
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  members->nodes = ir_graph_nodes (graph);
  members->values = g_ptr_array_sized_new (n);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (members->values, values[i]);
  g_hash_table_insert (all, (gpointer) graph, members);
  for (guint i = 0; i < members->nodes->len; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (members->nodes->pdata[i]);
      for (guint k = 0; k < inner->len; k++)
        note_members (all, inner->pdata[k]);
    }
  return members;
}

/* Of a body and all graphs in it at once: each edit makes the model forget what all its graphs have. */
static const Members *
members_of (GHashTable *all, const IrGraph *graph)
{
  Members *members = g_hash_table_lookup (all, graph);

  return members != NULL ? members : note_members (all, graph);
}

static guint32
copy_subgraph (Expansion *expansion, guint32 id)
{
  const IrGraph *from = ir_model_graph (expansion->model, id);
  IrGraph *to = ir_edit_add_graph (expansion->edit, IR_GRAPH_SUBGRAPH, from->name);
  guint n_inputs = ir_graph_n_inputs (from), n_outputs = ir_graph_n_outputs (from);
  g_autofree IrValue **inputs = g_new0 (IrValue *, n_inputs + 1);
  g_autofree IrValue **outputs = g_new0 (IrValue *, n_outputs + 1);
  const Members *members = members_of (expansion->members, from);

  for (guint i = 0; i < n_inputs; i++)
    inputs[i] = copy_value (expansion, ir_graph_input (from, i), to);
  ir_edit_set_graph_inputs (expansion->edit, to, inputs, n_inputs);
  for (guint i = 0; i < members->values->len; i++)
    copy_value (expansion, members->values->pdata[i], to);
  copy_nodes (expansion, from, to);
  for (guint i = 0; i < n_outputs; i++)
    outputs[i] = map_value (expansion, ir_graph_output (from, i), to);
  ir_edit_set_graph_outputs (expansion->edit, to, outputs, n_outputs);
  return to->id;
}

static const IrAttr *
copy_graph_attr (Expansion *expansion, const IrAttr *attr)
{
  IrContext *context = expansion->model->context;
  g_autofree guint32 *ids = g_new (guint32, attr->n + 1);

  for (guint i = 0; i < attr->n; i++)
    ids[i] = copy_subgraph (expansion, attr->graphs[i]);
  return attr->kind == IR_ATTR_GRAPH ? ir_attr_graph (context, attr->name, ids[0])
                                     : ir_attr_graphs (context, attr->name, ids, attr->n);
}

static const IrAttr *
resolve_attr (Expansion *expansion, const IrAttr *attr)
{
  const IrAttr *given;

  if (attr->ref_name == NULL)
    return attr->kind == IR_ATTR_GRAPH || attr->kind == IR_ATTR_GRAPHS
               ? copy_graph_attr (expansion, attr)
               : attr;
  if (expansion->info == NULL)
    return attr;
  given = ir_node_attr (expansion->call, attr->ref_name);
  if (given == NULL)
    given = find_default (expansion->info, attr->ref_name);
  if (given == NULL)
    return NULL;
  given = ir_attr_renamed (expansion->model->context, given, attr->name);
  /* A graph that the call holds must be held once: the call is removed, copies are not. */
  return given->kind == IR_ATTR_GRAPH || given->kind == IR_ATTR_GRAPHS
             ? copy_graph_attr (expansion, given)
             : given;
}

/* -- nodes -- */

/* What it says of iterations of loops inside of the one that is copied stays. */
static void
mark_iteration (Expansion *expansion, const IrNode *from, IrNode *to)
{
  const char *inner = ir_node_prop (from, IR_PROP_ITERATION);
  const char *output = from->n_outputs > 0 && from->outputs[0] != NULL ? from->outputs[0]->name
                                                                       : from->op_type;
  g_autofree char *text = g_strconcat (expansion->mark, "/",
                                       inner != NULL           ? inner
                                       : from->name[0] != '\0' ? from->name
                                                               : output,
                                       NULL);

  ir_node_set_prop (expansion->edit, to, IR_PROP_ITERATION, text);
}

static void
place_node (Expansion *expansion, const IrNode *from, IrNode *to)
{
  const IrNode *call = expansion->call;
  IrEdit *edit = expansion->edit;

  if (from->overload[0] != '\0')
    ir_edit_set_op (edit, to, from->op_type, from->domain, from->overload);
  ir_edit_set_rank (edit, to, call->rank);
  ir_edit_set_scope (edit, to, call->scope);
  ir_edit_set_device (edit, to, from->device[0] != '\0' ? from->device : call->device);
  if (from->extra != NULL)
    ir_edit_set_node_extra (edit, to, from->extra);
  if (expansion->mark != NULL)
    mark_iteration (expansion, from, to);
  for (guint i = 0; i < from->n_attrs; i++)
    {
      const IrAttr *attr = resolve_attr (expansion, from->attrs[i]);

      if (attr != NULL)
        ir_edit_set_attr (edit, to, attr);
    }
  if (to->graph == expansion->to)
    g_ptr_array_add (expansion->nodes, to);
  ir_edit_step_map_node (edit, call->id, to->id);
  if (expansion->info == NULL)
    ir_edit_step_map_node (edit, from->id, to->id);
}

static IrValue *
output_value (Expansion *expansion, IrValue *output, IrGraph *to)
{
  IrValue *result = output != NULL ? g_hash_table_lookup (expansion->results, output) : NULL;

  if (result == NULL)
    return copy_value (expansion, output, to);
  g_hash_table_insert (expansion->values, output, result);
  return result;
}

static void
copy_nodes (Expansion *expansion, const IrGraph *from, IrGraph *to)
{
  const GPtrArray *nodes = members_of (expansion->members, from)->nodes;

  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      g_autofree IrValue **inputs = g_new0 (IrValue *, node->n_inputs + 1);
      g_autofree IrValue **outputs = g_new0 (IrValue *, node->n_outputs + 1);

      for (guint k = 0; k < node->n_outputs; k++)
        outputs[k] = output_value (expansion, node->outputs[k], to);
      for (guint k = 0; k < node->n_inputs; k++)
        inputs[k] = map_value (expansion, node->inputs[k], to);
      const char *name = node->name[0] != '\0'       ? name_within (expansion, node->name)
                         : expansion->suffix != NULL ? ""
                                                     : name_within (expansion, node->op_type);
      place_node (expansion, node,
                  ir_edit_add_node_with_outputs (expansion->edit, to, node->op_type, node->domain,
                                                 name, node->n_inputs, inputs, node->n_outputs,
                                                 outputs));
    }
}

/* -- the call -- */

static void
bind_inputs (Expansion *expansion, const IrGraph *body)
{
  for (guint i = 0; i < ir_graph_n_inputs (body); i++)
    g_hash_table_insert (expansion->values, ir_graph_input (body, i),
                         ir_node_input (expansion->call, i));
}

/* Takes the call's outputs from it and says which value of the body each is; the first use of a
 * value that a node of the body makes takes it over, all others get an Identity. */
static GPtrArray *
detach_outputs (Expansion *expansion, const IrGraph *body, IrNode *call)
{
  GPtrArray *outputs = g_ptr_array_new ();

  for (guint i = 0; i < call->n_outputs; i++)
    {
      IrValue *output = call->outputs[i];
      IrValue *inner = i < ir_graph_n_outputs (body) ? ir_graph_output (body, i) : NULL;

      if (output != NULL)
        ir_edit_set_output (expansion->edit, call, i, NULL);
      if (output != NULL && inner != NULL && inner->producer != NULL && inner->graph == body &&
          !g_hash_table_contains (expansion->results, inner))
        g_hash_table_insert (expansion->results, inner, output);
      else if (output != NULL && inner != NULL)
        {
          g_ptr_array_add (outputs, inner);
          g_ptr_array_add (outputs, output);
        }
    }
  return outputs;
}

static void
add_identities (Expansion *expansion, const GPtrArray *pairs, IrGraph *to)
{
  for (guint i = 0; i < pairs->len; i += 2)
    {
      IrValue *from = copy_value (expansion, pairs->pdata[i], to);
      IrValue *output = pairs->pdata[i + 1];
      IrNode *identity = ir_edit_add_node_with_outputs (expansion->edit, to, "Identity", "",
                                                        name_within (expansion, "Identity"), 1,
                                                        &from, 1, &output);

      ir_edit_set_rank (expansion->edit, identity, expansion->call->rank);
      ir_edit_step_map_node (expansion->edit, expansion->call->id, identity->id);
      g_ptr_array_add (expansion->nodes, identity);
    }
}

/* What waited for the call waits for every node of it, and each of them for what the call did. */
static void
move_controls (Expansion *expansion, IrNode *call)
{
  const IrIdList *before = call->controls;
  gboolean waited_for = ir_node_has_control_uses (call);

  for (guint i = 0; before != NULL && i < before->n; i++)
    for (guint k = 0; k < expansion->nodes->len; k++)
      ir_edit_add_control (expansion->edit, expansion->nodes->pdata[k],
                           ir_model_node (expansion->model, before->ids[i]));
  for (guint i = 1; waited_for && i < expansion->model->nodes->len; i++)
    {
      IrNode *node = expansion->model->nodes->pdata[i];
      gboolean waits = FALSE;

      for (guint k = 0;
           node->state == IR_STATE_LIVE && node->controls != NULL && k < node->controls->n; k++)
        waits |= node->controls->ids[k] == call->id;
      if (!waits)
        continue;
      ir_edit_remove_control (expansion->edit, node, call);
      for (guint k = 0; k < expansion->nodes->len; k++)
        ir_edit_add_control (expansion->edit, node, expansion->nodes->pdata[k]);
    }
}

/* An operator means the same in two versions if it was there in the older one and no adaption lies
 * between them. */
static gboolean
means_the_same (const IrNode *node, gint64 a, gint64 b)
{
  gint64 older = MIN (a, b), newer = MAX (a, b);

  if (node->op == NULL || older < node->op->since)
    return FALSE;
  for (const IrAdapt *adapt = node->op->adapt; adapt != NULL && adapt->below != 0; adapt++)
    if (older < adapt->below && adapt->below <= newer)
      return FALSE;
  return TRUE;
}

static gboolean
uses_differently (const IrGraph *body, const char *domain, gint64 own, gint64 model)
{
  const IrModel *all = body->model;

  for (guint i = 1; i < all->nodes->len; i++)
    {
      const IrNode *node = all->nodes->pdata[i];
      const IrGraph *graph = node->graph;

      if (node->state != IR_STATE_LIVE || strcmp (node->domain, domain) != 0)
        continue;
      while (graph != NULL && graph != body)
        graph = ir_graph_outer (graph);
      if (graph == body && ir_node_function (node) == NULL && !means_the_same (node, own, model))
        return TRUE;
    }
  return FALSE;
}

static gboolean
import_domains (IrEdit *edit, const IrNode *call, const IrGraph *body, GPtrArray *problems)
{
  const IrOpsets *opsets = body->function->opsets;
  IrModel *model = ir_edit_model (edit);

  for (guint i = 0; opsets != NULL && i < opsets->n; i++)
    {
      gint64 own = opsets->opsets[i].version;
      gint64 imported = ir_graph_opset (call->graph, opsets->opsets[i].domain);
      g_autofree char *label = ir_node_label (call);

      if (imported == 0 || imported == own ||
          !uses_differently (body, opsets->opsets[i].domain, own, imported))
        continue;
      if (problems != NULL)
        ir_problems_add (problems, IR_SEVERITY_WARNING, IR_PROBLEM_UNSUPPORTED, call, NULL,
                         "%s: its function is written for version %" G_GINT64_FORMAT
                         " of \"%s\", the graph imports %" G_GINT64_FORMAT
                         ", and operators in it differ; the call stays.",
                         label, own, opsets->opsets[i].domain, imported);
      return FALSE;
    }
  for (guint i = 0; opsets != NULL && i < opsets->n; i++)
    if (ir_model_opset (model, opsets->opsets[i].domain) == 0)
      ir_edit_set_opset (edit, opsets->opsets[i].domain, opsets->opsets[i].version);
  return TRUE;
}

static gboolean
inline_call (IrEdit *edit, IrNode *node, GHashTable *members, GPtrArray *problems)
{
  const IrGraph *body = ir_node_function (node);
  g_autoptr (GHashTable) values = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) results = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();
  g_autoptr (GPtrArray) identities = NULL;
  Expansion expansion = { .edit = edit,
                          .model = ir_edit_model (edit),
                          .call = node,
                          .body = body,
                          .to = node->graph,
                          .values = values,
                          .results = results,
                          .nodes = nodes,
                          .members = members };

  if (body == NULL || body->function == NULL || !import_domains (edit, node, body, problems))
    return FALSE;
  const IrNodeId first = ir_edit_model (edit)->nodes->len;
  expansion.info = body->function;
  bind_inputs (&expansion, body);
  identities = detach_outputs (&expansion, body, node);
  copy_nodes (&expansion, body, node->graph);
  add_identities (&expansion, identities, node->graph);
  move_controls (&expansion, node);
  ir_edit_note_inlined (edit, node, first);
  ir_edit_remove_node (edit, node);
  return TRUE;
}

/**
 * ir_inline_call:
 * @edit: an edit, with a step open unless it imports
 * @node: a node that calls a function of its model
 * @problems: (nullable): gets the reason if the call has to stay
 *
 * Replaces @node by a copy of the function's body. Types of the new values are not known until they
 * are inferred. The function itself stays.
 *
 * Cost: O(size of the body and of the model).
 *
 * Returns: %TRUE if @node is gone
 */
gboolean
ir_inline_call (IrEdit *edit, IrNode *node, GPtrArray *problems)
{
  g_autoptr (GHashTable) members = members_new ();

  return inline_call (edit, node, members, problems);
}

/* (nullable) The call in whose place the node is run */
static const IrNode *
call_of (const IrModel *model, IrNodeId id)
{
  const GArray *ranges = model->cache->inlined;
  guint low = 0, high = ranges != NULL ? ranges->len : 0;

  while (low < high)
    {
      guint middle = (low + high) / 2;
      const IrInlined *range = &g_array_index (ranges, IrInlined, middle);
      if (id >= range->first && id < range->end)
        return ir_model_node (model, range->call);
      if (id < range->first)
        high = middle;
      else
        low = middle + 1;
    }
  return NULL;
}

/**
 * ir_inline_written:
 * @model: what is run of a model
 * @id: a node of it
 *
 * Returns: the node of the model that it came of: a call, where it is of the body of a function; else @id
 */
IrNodeId
ir_inline_written (const IrModel *model, IrNodeId id)
{
  for (const IrNode *call; (call = call_of (model, id)) != NULL;)
    id = call->id;
  return id;
}

static gboolean
is_within (const IrModel *model, IrNodeId id, IrNodeId call)
{
  for (const IrNode *node; (node = call_of (model, id)) != NULL; id = node->id)
    if (node->id == call)
      return TRUE;
  return FALSE;
}

/**
 * ir_inline_last:
 * @model: what is run of a model
 * @id: a node of the model
 *
 * Returns: the node behind which @id has run: of a call, the last that was written in its function; else @id
 */
IrNodeId
ir_inline_last (const IrModel *model, IrNodeId id)
{
  const IrNode *call = ir_model_node (model, id);
  guint n;

  if (call == NULL || call->state == IR_STATE_LIVE || model->cache->inlined == NULL)
    return id;
  IrNode *const *nodes = ir_graph_order (call->graph, &n);
  while (n > 0 && !is_within (model, nodes[n - 1]->id, id))
    n--;
  return n > 0 ? nodes[n - 1]->id : id;
}

/**
 * ir_inline_functions_around:
 * @node: a node of what is run of a model
 *
 * Returns: (transfer full) (nullable): the functions in whose bodies it was written, from the inside out:
 *   "local.norm of local.block"; %NULL: none
 */
char *
ir_inline_functions_around (const IrNode *node)
{
  const IrModel *model = node->graph->model;
  g_autoptr (GString) text = g_string_new (NULL);

  for (const IrNode *call = node; (call = call_of (model, call->id)) != NULL;)
    {
      g_autofree char *key = function_key (call->domain, call->op_type, call->overload);
      g_string_append_printf (text, "%s%s", text->len > 0 ? " of " : "", key);
    }
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}

/**
 * ir_inline_body:
 * @edit: an edit, with a step open unless it imports
 * @node: a node that owns @body
 * @body: a subgraph
 * @to: the graph of @node, or one within
 * @values: IrValue of @body to IrValue of @to: its inputs, given by the caller; gets the other values
 *   of @body that nodes read, and its outputs
 *
 * Copies the nodes of @body once into @to, with the graphs that they own. What the
 * body captures is read as it is. @node and @body stay. Lineage leads from @node, and from the
 * nodes of the body, to the copies.
 *
 * Cost: O(size of the body).
 *
 * Returns: (transfer container): the new nodes of @to, in a valid order
 */
GPtrArray *
ir_inline_body (
    IrEdit *edit, const IrNode *node, const IrGraph *body, IrGraph *to, GHashTable *values)
{
  return ir_inline_iteration (edit, node, body, to, values, NULL, NULL);
}

/**
 * ir_inline_iteration:
 * @edit: an edit, with a step open unless it imports
 * @node: a node that owns @body
 * @body: a subgraph
 * @to: the graph of @node, or one within
 * @values: as in ir_inline_body()
 * @suffix: (nullable): of the names of the copies: h becomes h_3; a name that exists gets a further number
 * @mark: (nullable): "loop@3": the copies say so, by %IR_PROP_ITERATION
 *
 * As ir_inline_body().
 *
 * Returns: (transfer container): the new nodes of @to, in a valid order
 */
GPtrArray *
ir_inline_iteration (IrEdit *edit,
                     const IrNode *node,
                     const IrGraph *body,
                     IrGraph *to,
                     GHashTable *values,
                     const char *suffix,
                     const char *mark)
{
  g_autoptr (GHashTable) members = members_new ();
  g_autoptr (GHashTable) results = g_hash_table_new (NULL, NULL);
  GPtrArray *nodes = g_ptr_array_new ();
  Expansion expansion = { .edit = edit,
                          .model = ir_edit_model (edit),
                          .call = node,
                          .body = body,
                          .to = to,
                          .values = values,
                          .results = results,
                          .nodes = nodes,
                          .members = members,
                          .suffix = suffix,
                          .mark = mark };

  copy_nodes (&expansion, body, to);
  for (guint i = 0; i < ir_graph_n_outputs (body); i++)
    {
      IrValue *output = ir_graph_output (body, i);
      IrValue *copy = map_value (&expansion, output, to);

      if (output != NULL)
        g_hash_table_insert (values, output, copy);
    }
  return nodes;
}

static const IrGraph *
root_of (const IrGraph *graph)
{
  while (graph->kind == IR_GRAPH_SUBGRAPH && ir_graph_outer (graph) != NULL)
    graph = ir_graph_outer (graph);
  return graph;
}

static GPtrArray *
find_calls (IrModel *model, GHashTable *refused)
{
  GPtrArray *calls = g_ptr_array_new ();

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = model->nodes->pdata[i];

      if (node->state != IR_STATE_LIVE || g_hash_table_contains (refused, node) ||
          ir_node_function (node) == NULL)
        continue;
      if (root_of (node->graph)->kind == IR_GRAPH_MAIN)
        g_ptr_array_add (calls, node);
    }
  return calls;
}

/* -- how much it would become -- */

typedef struct
{
  GHashTable *calls; /* IrGraph, main or function -> GPtrArray of IrGraph that its nodes call */
  GHashTable *sizes; /* IrGraph -> GUINT: nodes when all is expanded, at most MAX_NODES */
} Sizes;

/* Counts what is no call, and lists the calls. */
static void
count_own (Sizes *sizes, const IrNode *node)
{
  const IrGraph *root = root_of (node->graph), *called = ir_node_function (node);
  guint own = GPOINTER_TO_UINT (g_hash_table_lookup (sizes->sizes, root));
  GPtrArray *calls = g_hash_table_lookup (sizes->calls, root);

  if (called == NULL)
    {
      g_hash_table_insert (sizes->sizes, (gpointer) root, GUINT_TO_POINTER (own + 1));
      return;
    }
  if (calls == NULL)
    {
      calls = g_ptr_array_new ();
      g_hash_table_insert (sizes->calls, (gpointer) root, calls);
    }
  g_ptr_array_add (calls, (gpointer) called);
}

/* A function that calls itself never ends, which @depth tells. */
static guint
expanded_size (Sizes *sizes, const IrGraph *graph, guint depth)
{
  g_autoptr (GPtrArray) calls = NULL;
  guint size = GPOINTER_TO_UINT (g_hash_table_lookup (sizes->sizes, graph));
  gpointer found;

  if (depth > MAX_ROUNDS)
    return MAX_NODES;
  if (!g_hash_table_steal_extended (sizes->calls, graph, NULL, &found))
    return size; /* calls nothing, or is known */
  calls = found;
  g_hash_table_insert (sizes->sizes, (gpointer) graph, GUINT_TO_POINTER (MAX_NODES));
  for (guint i = 0; i < calls->len && size < MAX_NODES; i++)
    size += expanded_size (sizes, calls->pdata[i], depth + 1);
  size = MIN (size, MAX_NODES);
  g_hash_table_insert (sizes->sizes, (gpointer) graph, GUINT_TO_POINTER (size));
  return size;
}

static gboolean
is_too_much (const IrModel *model)
{
  g_autoptr (GHashTable) own = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable)
      calls = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  Sizes sizes = { calls, own };

  for (guint i = 1; i < model->nodes->len; i++)
    if (((const IrNode *) model->nodes->pdata[i])->state == IR_STATE_LIVE)
      count_own (&sizes, model->nodes->pdata[i]);
  return g_hash_table_size (calls) > 0 && expanded_size (&sizes, model->main, 0) >= MAX_NODES;
}

/**
 * ir_inline_is_bounded:
 * @model: a model
 *
 * Returns: %TRUE if replacing all calls that the main graph makes would come to an end, with less
 *   than a million nodes
 */
gboolean
ir_inline_is_bounded (const IrModel *model)
{
  return !is_too_much (model);
}

/* Notes the functions that closures of @root name, and what those call and name in turn. */
static void
note_named (const IrModel *model, const IrGraph *root, GHashTable *named)
{
  const gboolean all = root != model->main; /* a function that stays keeps its calls */

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      if (node->state != IR_STATE_LIVE || root_of (node->graph) != root)
        continue;
      const IrGraph *used = all ? ir_node_used_function (node) : ir_node_named_function (node);
      if (used != NULL && used->kind == IR_GRAPH_FUNCTION &&
          g_hash_table_add (named, (gpointer) used))
        note_named (model, used, named);
    }
}

/* All that no closure names */
static void
remove_functions (IrEdit *edit)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GHashTable) named = g_hash_table_new (NULL, NULL);

  note_named (model, model->main, named);
  for (guint i = 1; i < model->graphs->len; i++)
    {
      IrGraph *graph = model->graphs->pdata[i];

      if (graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION &&
          !g_hash_table_contains (named, graph))
        ir_edit_remove_graph (edit, graph);
    }
}

/**
 * ir_inline_functions:
 * @edit: an edit, with a step open unless it imports
 * @problems: (nullable): gets what could not be inlined, and functions that call themselves
 *
 * Replaces every call of a model-local function, in subgraphs too, and those that the bodies make,
 * until none is left; then the functions are removed that no closure names. If some call has to stay, so
 * do all functions.
 *
 * Returns: number of calls that were replaced
 */
guint
ir_inline_functions (IrEdit *edit, GPtrArray *problems)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GHashTable) refused = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) members = members_new ();
  guint n_done = 0;

  for (guint round = 0; round < MAX_ROUNDS && !is_too_much (model); round++)
    {
      g_autoptr (GPtrArray) calls = find_calls (model, refused);

      if (calls->len == 0)
        {
          if (g_hash_table_size (refused) == 0)
            remove_functions (edit);
          return n_done;
        }
      for (guint i = 1; round == 0 && i < model->graphs->len; i++)
        {
          const IrGraph *graph = model->graphs->pdata[i];
          if (graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION)
            members_of (members, graph);
        }
      for (guint i = 0; i < calls->len && model->nodes->len < MAX_NODES; i++)
        if (inline_call (edit, calls->pdata[i], members, problems))
          n_done++;
        else
          g_hash_table_add (refused, calls->pdata[i]);
      if (model->nodes->len >= MAX_NODES)
        break;
    }
  if (problems != NULL)
    ir_problems_add (
        problems, IR_SEVERITY_ERROR, IR_PROBLEM_LIMIT, NULL, NULL,
        "Functions call each other more than %d deep, or make more than %d nodes; they "
        "are not all inlined.",
        MAX_ROUNDS, MAX_NODES);
  return n_done;
}
