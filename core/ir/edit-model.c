/* Verbs of IrEdit about graphs and the model itself, and the immutable payloads that they take. */
#include "config.h"

#include "core/ir/edit-private.h"

#include <string.h>

/**
 * ir_edit_add_graph:
 * @edit: an edit
 * @kind: subgraph or function body
 * @name: (nullable): its name
 *
 * Returns: (transfer none): an empty graph that belongs to nobody yet
 */
IrGraph *
ir_edit_add_graph (IrEdit *edit, IrGraphKind kind, const char *name)
{
  IrModel *model = ir_edit_model (edit);
  IrGraph *graph = ir_model_new_graph (model);

  graph->kind = kind;
  graph->name = ir_context_intern (model->context, name != NULL ? name : "");
  ir_edit_write (edit, IR_RECORD_GRAPH_STATE, graph->id, IR_STATE_LIVE);
  return graph;
}

static gboolean
is_within (const IrGraph *inner, const IrGraph *graph)
{
  while (inner != NULL && inner != graph)
    inner = ir_graph_outer (inner);
  return inner != NULL;
}

/* Nothing in @graph, or in graphs of its nodes, reads anything any more. Which graphs these are is found once,
 * not for each node of the model. */
static void
cut (IrEdit *edit, const IrGraph *graph)
{
  IrModel *model = ir_edit_model (edit);
  const IrGraphSpans *spans = ir_model_spans (model);
  g_autofree guint8 *within = g_new0 (guint8, model->graphs->len);
  guint low = model->nodes->len, high = 0;

  for (guint i = 1; i < model->graphs->len; i++)
    {
      IrGraph *inner = model->graphs->pdata[i];
      const IrIdSpan *span = &g_array_index (spans->nodes, IrIdSpan, i);
      within[i] = is_within (inner, graph);
      if (!within[i])
        continue;
      low = span->low > 0 ? MIN (low, span->low) : low;
      high = MAX (high, span->high);
      if (inner->state == IR_STATE_LIVE)
        ir_edit_set_graph_outputs (edit, inner, NULL, 0);
    }
  for (guint i = high; i >= low && i > 0; i--)
    {
      IrNode *node = model->nodes->pdata[i];
      if (node->state != IR_STATE_LIVE || node->graph == NULL || !within[node->graph->id])
        continue;
      for (guint k = 0; k < node->n_inputs; k++)
        ir_edit_set_input (edit, node, k, NULL);
    }
}

/* By id: an order would be found again for the whole model. */
static void
remove_nodes (IrEdit *edit, const IrGraph *graph)
{
  const GPtrArray *nodes = ir_edit_model (edit)->nodes;
  const IrIdSpan span = g_array_index (ir_model_spans (ir_edit_model (edit))->nodes, IrIdSpan,
                                       graph->id);

  for (guint i = span.high; i >= span.low && i > 0; i--)
    {
      IrNode *node = nodes->pdata[i];
      if (node->graph == graph && node->state == IR_STATE_LIVE)
        ir_edit_remove_node (edit, node);
    }
}

static void
remove_values (IrEdit *edit, const IrGraph *graph)
{
  const GPtrArray *all = ir_edit_model (edit)->values;
  const IrIdSpan span = g_array_index (ir_model_spans (ir_edit_model (edit))->values, IrIdSpan,
                                       graph->id);

  for (guint i = MAX (span.low, 1); i <= span.high; i++)
    {
      IrValue *value = all->pdata[i];
      if (value->graph == graph && value->state == IR_STATE_LIVE && value->n_uses == 0)
        ir_edit_remove_value (edit, value);
    }
}

/**
 * ir_edit_remove_graph:
 * @edit: an edit
 * @graph: a live graph, not the main one
 *
 * Removes it with all of its nodes and values, and what they own.
 */
void
ir_edit_remove_graph (IrEdit *edit, IrGraph *graph)
{
  cut (edit, graph);
  remove_nodes (edit, graph);
  ir_edit_set_graph_inputs (edit, graph, NULL, 0);
  remove_values (edit, graph);
  ir_edit_write (edit, IR_RECORD_GRAPH_STATE, graph->id, IR_STATE_REMOVED);
}

/**
 * ir_edit_set_graph_owner:
 * @edit: an edit
 * @graph: a subgraph
 * @owner: (nullable): the node that holds it in an attribute
 */
void
ir_edit_set_graph_owner (IrEdit *edit, IrGraph *graph, IrNode *owner)
{
  ir_edit_write (edit, IR_RECORD_GRAPH_OWNER, graph->id, owner != NULL ? owner->id : 0);
}

/**
 * ir_edit_rename_graph:
 * @edit: an edit
 * @graph: a graph
 * @name: (nullable): its name
 */
void
ir_edit_rename_graph (IrEdit *edit, IrGraph *graph, const char *name)
{
  IrContext *context = ir_edit_model (edit)->context;
  ir_edit_write_pointer (edit, IR_RECORD_GRAPH_NAME, graph->id,
                         ir_context_intern (context, name != NULL ? name : ""));
}

static const IrIdList *
id_list (IrEdit *edit, IrValue *const *values, guint n)
{
  g_autofree guint32 *ids = g_new (guint32, n + 1);

  for (guint i = 0; i < n; i++)
    ids[i] = values[i]->id;
  return ir_context_id_list (ir_edit_model (edit)->context, ids, n);
}

/**
 * ir_edit_set_graph_inputs:
 * @edit: an edit
 * @graph: a graph
 * @values: (array length=n): live values without producer
 * @n: how many
 */
void
ir_edit_set_graph_inputs (IrEdit *edit, IrGraph *graph, IrValue *const *values, guint n)
{
  ir_edit_write_pointer (edit, IR_RECORD_GRAPH_INPUTS, graph->id, id_list (edit, values, n));
}

/**
 * ir_edit_set_graph_outputs:
 * @edit: an edit
 * @graph: a graph
 * @values: (array length=n): live values, the same one perhaps twice
 * @n: how many
 */
void
ir_edit_set_graph_outputs (IrEdit *edit, IrGraph *graph, IrValue *const *values, guint n)
{
  ir_edit_write_pointer (edit, IR_RECORD_GRAPH_OUTPUTS, graph->id, id_list (edit, values, n));
}

/**
 * ir_edit_set_graph_extra:
 * @edit: an edit
 * @graph: a graph
 * @extra: (nullable): of the model's context
 */
void
ir_edit_set_graph_extra (IrEdit *edit, IrGraph *graph, const IrExtra *extra)
{
  ir_edit_write_pointer (edit, IR_RECORD_GRAPH_EXTRA, graph->id, extra);
}

/**
 * ir_edit_set_function_info:
 * @edit: an edit
 * @graph: a function body
 * @info: (nullable): copied into the model's context; what it points to must be of the context
 */
void
ir_edit_set_function_info (IrEdit *edit, IrGraph *graph, const IrFunctionInfo *info)
{
  IrContext *context = ir_edit_model (edit)->context;
  ir_edit_write_pointer (edit, IR_RECORD_GRAPH_FUNCTION, graph->id,
                         info != NULL ? ir_context_dup (context, info, sizeof *info) : NULL);
}

/**
 * ir_edit_set_opset:
 * @edit: an edit
 * @domain: (nullable): domain of operators
 * @version: the version to import, 0 to drop the import
 */
void
ir_edit_set_opset (IrEdit *edit, const char *domain, gint64 version)
{
  IrModel *model = ir_edit_model (edit);
  const IrOpsets *old = model->opsets;
  IrOpsets *opsets;

  if (domain == NULL || strcmp (domain, "ai.onnx") == 0)
    domain = "";
  if (ir_model_opset (model, domain) == version)
    return;
  opsets = ir_context_alloc (model->context, sizeof (IrOpsets) + (old->n + 1) * sizeof (IrOpset));
  for (guint i = 0; i < old->n; i++)
    if (strcmp (old->opsets[i].domain, domain) != 0)
      opsets->opsets[opsets->n++] = old->opsets[i];
    else if (version != 0)
      {
        opsets->opsets[opsets->n++] = (IrOpset){ old->opsets[i].domain, version };
        version = 0;
      }
  if (version != 0)
    opsets->opsets[opsets->n++] = (IrOpset){ ir_context_intern (model->context, domain), version };
  ir_edit_write_pointer (edit, IR_RECORD_MODEL_OPSETS, 0, opsets);
}

/**
 * ir_edit_set_info:
 * @edit: an edit
 * @info: copied; what it points to must be of the model's context
 */
void
ir_edit_set_info (IrEdit *edit, const IrModelInfo *info)
{
  IrModel *model = ir_edit_model (edit);

  if (memcmp (model->info, info, sizeof *info) != 0)
    ir_edit_write_pointer (edit, IR_RECORD_MODEL_INFO, 0,
                           ir_context_dup (model->context, info, sizeof *info));
}

/**
 * ir_edit_set_metadata:
 * @edit: an edit
 * @key: key of the model's metadata_props
 * @value: (nullable): %NULL removes the pair
 */
void
ir_edit_set_metadata (IrEdit *edit, const char *key, const char *value)
{
  IrModel *model = ir_edit_model (edit);
  const IrProps *old = model->info->extra.props;
  guint n_old = old != NULL ? old->n : 0, n = 0;
  g_autofree const char **keys = g_new (const char *, n_old + 1);
  g_autofree const char **values = g_new (const char *, n_old + 1);
  IrModelInfo info = *model->info;

  for (guint i = 0; i < n_old; i++)
    if (strcmp (old->pairs[i].key, key) != 0)
      {
        keys[n] = old->pairs[i].key;
        values[n++] = old->pairs[i].value;
      }
  if (value != NULL)
    {
      keys[n] = key;
      values[n++] = value;
    }
  info.extra.props = ir_props_new (model->context, n, keys, values);
  ir_edit_set_info (edit, &info);
}

/**
 * ir_extra_new:
 * @context: owns the result
 * @doc: (nullable): doc_string
 * @props: (nullable): metadata_props, of @context
 * @unknown: (nullable): raw wire bytes; a reference is taken
 *
 * Returns: (transfer none) (nullable): immutable; %NULL if there is nothing
 */
const IrExtra *
ir_extra_new (IrContext *context, const char *doc, const IrProps *props, GBytes *unknown)
{
  IrExtra *extra;

  if ((doc == NULL || doc[0] == '\0') && props == NULL &&
      (unknown == NULL || g_bytes_get_size (unknown) == 0))
    return NULL;
  extra = ir_context_alloc (context, sizeof (IrExtra));
  extra->doc = doc != NULL && doc[0] != '\0' ? ir_context_intern (context, doc) : NULL;
  extra->props = props;
  if (unknown != NULL && g_bytes_get_size (unknown) > 0)
    {
      extra->unknown = g_bytes_ref (unknown);
      ir_context_own (context, extra->unknown, (GDestroyNotify) g_bytes_unref);
    }
  return extra;
}

/**
 * ir_props_new:
 * @context: owns the result
 * @n: number of pairs
 * @keys: (array length=n): keys
 * @values: (array length=n): values
 *
 * Returns: (transfer none) (nullable): immutable; %NULL if @n is 0
 */
const IrProps *
ir_props_new (IrContext *context, guint n, const char *const *keys, const char *const *values)
{
  IrProps *props;

  if (n == 0)
    return NULL;
  props = ir_context_alloc (context, sizeof (IrProps) + n * sizeof (props->pairs[0]));
  props->n = n;
  for (guint i = 0; i < n; i++)
    {
      props->pairs[i].key = ir_context_intern (context, keys[i]);
      props->pairs[i].value = ir_context_intern (context, values[i]);
    }
  return props;
}

/**
 * ir_props_get:
 * @props: (nullable): pairs
 * @key: a key
 *
 * Returns: (transfer none) (nullable): the value of the first pair with @key
 */
const char *
ir_props_get (const IrProps *props, const char *key)
{
  for (guint i = 0; props != NULL && i < props->n; i++)
    if (strcmp (props->pairs[i].key, key) == 0)
      return props->pairs[i].value;
  return NULL;
}

/**
 * ir_class_name:
 * @step_class: a class
 *
 * Returns: (transfer none): "exact", "rounding", "unsafe" or "edit"
 */
const char *
ir_class_name (IrClass step_class)
{
  static const char *const names[IR_N_CLASSES] = { "exact", "rounding", "unsafe", "edit" };
  return names[step_class];
}
