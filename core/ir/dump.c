/* The canonical dump. One line per noun and one indented line per field that has parts; ids instead
 * of pointers, attributes as bits, tensors by element type, dims and hash. Order is by id. */
#include "config.h"

#include "core/ir/dump.h"
#include "core/op/op.h"

#include <string.h>

static const char *const state_names[] = { "unborn", "live", "removed" };

static void
put_string (GString *out, const char *label, const char *string)
{
  g_autofree char *escaped = g_strescape (string != NULL ? string : "", NULL);
  g_string_append_printf (out, string != NULL ? " %s=\"%s\"" : " %s=-", label, escaped);
}

static void
put_bytes (GString *out, const char *label, GBytes *bytes)
{
  gsize n = 0;
  const guint8 *data = bytes != NULL ? g_bytes_get_data (bytes, &n) : NULL;

  g_string_append_printf (out, " %s=", label);
  if (bytes == NULL)
    g_string_append_c (out, '-');
  for (gsize i = 0; i < n; i++)
    g_string_append_printf (out, "%02x", data[i]);
}

static void
put_extra (GString *out, const IrExtra *extra)
{
  if (extra == NULL)
    return;
  g_string_append (out, "\n  extra");
  put_string (out, "doc", extra->doc);
  put_bytes (out, "unknown", extra->unknown);
  for (guint i = 0; extra->props != NULL && i < extra->props->n; i++)
    {
      put_string (out, "key", extra->props->pairs[i].key);
      put_string (out, "value", extra->props->pairs[i].value);
    }
}

static void
put_ids (GString *out, const char *label, const IrIdList *list)
{
  g_string_append_printf (out, " %s=", label);
  if (list == NULL)
    g_string_append_c (out, '-');
  for (guint i = 0; list != NULL && i < list->n; i++)
    g_string_append_printf (out, "%s%u", i > 0 ? "," : "", list->ids[i]);
}

static void
put_type (GString *out, const IrModel *model, const char *key, const IrType *type)
{
  g_autofree char *text = ir_type_to_string (model->context, type);

  put_string (out, key, type != NULL ? text : NULL);
  for (const IrType *at = type; at != NULL; at = at->element)
    {
      if (at->denotation != NULL)
        put_string (out, "denotation", at->denotation);
      for (int i = 0; at->dim_denotations != NULL && i < at->rank; i++)
        put_string (out, "dim", at->dim_denotations[i]);
    }
}

static void
put_tensor (GString *out, const IrTensor *tensor)
{
  const IrTensorOrigin *origin;

  if (tensor == NULL)
    {
      g_string_append (out, " tensor=-");
      return;
    }
  g_string_append_printf (out, " tensor=%s[", ir_dtype_name (ir_tensor_dtype (tensor)));
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    g_string_append_printf (out, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "",
                            ir_tensor_dims (tensor)[i]);
  g_string_append_printf (out, "]#%016" G_GINT64_MODIFIER "x%s", ir_tensor_hash (tensor),
                          ir_tensor_sparse_values (tensor) != NULL ? " sparse" : "");
  origin = ir_tensor_origin (tensor);
  if (origin == NULL)
    return;
  put_string (out, "named", origin->name);
  put_string (out, "doc", origin->doc);
  put_string (out, "location", origin->location);
  g_string_append_printf (out, " at=%" G_GINT64_FORMAT "+%" G_GINT64_FORMAT, origin->offset,
                          origin->length);
  put_bytes (out, "unknown", origin->unknown);
}

static void
put_attr_element (GString *out, const IrModel *model, const IrAttr *attr, guint i)
{
  g_autoptr (GBytes) bytes = NULL;
  guint32 bits;

  switch (attr->kind)
    {
    case IR_ATTR_FLOAT:
    case IR_ATTR_FLOATS:
      memcpy (&bits, &attr->floats[i], sizeof bits);
      g_string_append_printf (out, " 0x%08x", bits);
      break;
    case IR_ATTR_INT:
    case IR_ATTR_INTS:
      g_string_append_printf (out, " %" G_GINT64_FORMAT, attr->ints[i]);
      break;
    case IR_ATTR_STRING:
    case IR_ATTR_STRINGS:
      bytes = g_bytes_new (attr->strings[i].data, attr->strings[i].length);
      put_bytes (out, "bytes", bytes);
      break;
    case IR_ATTR_TENSOR:
    case IR_ATTR_TENSORS:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_SPARSE_TENSORS:
      put_tensor (out, attr->tensors[i]);
      break;
    case IR_ATTR_GRAPH:
    case IR_ATTR_GRAPHS:
      g_string_append_printf (out, " graph %u", attr->graphs[i]);
      break;
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
      put_type (out, model, "type", attr->types[i]);
      break;
    case IR_ATTR_UNDEFINED:
    case IR_N_ATTR_KINDS:
    default:
      break;
    }
}

static void
put_attr (GString *out, const IrModel *model, const IrAttr *attr)
{
  put_string (out, "name", attr->name);
  g_string_append_printf (out, " %s n=%u", ir_attr_kind_name (attr->kind), attr->n);
  if (attr->ref_name != NULL)
    put_string (out, "ref", attr->ref_name);
  if (attr->doc != NULL)
    put_string (out, "doc", attr->doc);
  if (attr->unknown != NULL)
    put_bytes (out, "unknown", attr->unknown);
  for (guint i = 0; i < attr->n; i++)
    put_attr_element (out, model, attr, i);
}

static void
put_opsets (GString *out, const IrOpsets *opsets)
{
  for (guint i = 0; opsets != NULL && i < opsets->n; i++)
    {
      g_string_append (out, "\n  opset");
      put_string (out, "domain", opsets->opsets[i].domain);
      g_string_append_printf (out, " version=%" G_GINT64_FORMAT, opsets->opsets[i].version);
    }
}

static void
put_function (GString *out, const IrModel *model, const IrFunctionInfo *info)
{
  if (info == NULL)
    return;
  g_string_append (out, "\n  function");
  put_string (out, "domain", info->domain);
  put_string (out, "name", info->name);
  put_string (out, "overload", info->overload);
  for (guint i = 0; i < info->n_attr_names; i++)
    put_string (out, "attr", info->attr_names[i]);
  for (guint i = 0; i < info->n_attr_defaults; i++)
    {
      g_string_append (out, "\n  default");
      put_attr (out, model, info->attr_defaults[i]);
    }
  put_opsets (out, info->opsets);
}

static void
put_model (GString *out, const IrModel *model)
{
  const IrModelInfo *info = model->info;

  g_string_append_printf (
      out, "model ir_version=%" G_GINT64_FORMAT " model_version=%" G_GINT64_FORMAT " main=%u",
      info->ir_version, info->model_version, model->main->id);
  put_string (out, "producer", info->producer_name);
  put_string (out, "producer_version", info->producer_version);
  put_string (out, "domain", info->domain);
  put_extra (out, &info->extra);
  put_opsets (out, model->opsets);
  g_string_append_c (out, '\n');
}

static void
put_graph (GString *out, const IrModel *model, const IrGraph *graph)
{
  static const char *const kinds[] = { "main", "subgraph", "function" };

  g_string_append_printf (out, "graph %u %s %s owner=%u", graph->id, state_names[graph->state],
                          kinds[graph->kind], graph->owner);
  put_string (out, "name", graph->name);
  put_ids (out, "inputs", graph->inputs);
  put_ids (out, "outputs", graph->outputs);
  put_function (out, model, graph->function);
  put_extra (out, graph->extra);
  g_string_append_c (out, '\n');
}

static void
put_links (GString *out, const char *label, IrValue *const *values, guint n)
{
  g_string_append_printf (out, " %s=", label);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (out, "%s%u", i > 0 ? "," : "", values[i] != NULL ? values[i]->id : 0);
}

static void
put_node (GString *out, const IrModel *model, const IrNode *node)
{
  g_string_append_printf (out, "node %u %s graph=%u row=%s rank=%" G_GUINT64_FORMAT, node->id,
                          state_names[node->state], node->graph != NULL ? node->graph->id : 0,
                          node->op != NULL ? node->op->name : "-", node->rank);
  put_string (out, "domain", node->domain);
  put_string (out, "op", node->op_type);
  put_string (out, "overload", node->overload);
  put_string (out, "name", node->name);
  put_string (out, "scope", node->scope);
  put_string (out, "device", node->device);
  put_links (out, "inputs", node->inputs, node->n_inputs);
  put_links (out, "outputs", node->outputs, node->n_outputs);
  put_ids (out, "controls", node->controls);
  for (guint i = 0; i < node->n_attrs; i++)
    {
      g_string_append (out, "\n  attr");
      put_attr (out, model, node->attrs[i]);
    }
  put_extra (out, node->extra);
  g_string_append_c (out, '\n');
}

static void
put_value (GString *out, const IrModel *model, const IrValue *value)
{
  g_string_append_printf (out, "value %u %s graph=%u producer=%u.%u flags=%u", value->id,
                          state_names[value->state], value->graph != NULL ? value->graph->id : 0,
                          value->producer != NULL ? value->producer->id : 0, value->output_slot,
                          (guint) value->flags);
  put_string (out, "name", value->name);
  put_type (out, model, "type", value->type);
  if (value->claim != NULL)
    put_type (out, model, "claim", value->claim);
  if (value->initializer != NULL)
    put_tensor (out, value->initializer);
  g_string_append (out, " uses=");
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node != NULL)
        g_string_append_printf (out, "%s%u.%u", i > 0 ? "," : "", use.node->id, use.slot);
      else
        g_string_append_printf (out, "%sg%u.%u", i > 0 ? "," : "", use.graph->id, use.slot);
    }
  put_extra (out, value->extra);
  g_string_append_c (out, '\n');
}

/* Every field of the model and of all graphs, nodes and values that are live or removed, as
 * text; equal texts mean equal states. */
char *
ir_model_dump (const IrModel *model)
{
  GString *out = g_string_new (NULL);

  put_model (out, model);
  for (guint i = 1; i < model->graphs->len; i++)
    if (((IrGraph *) model->graphs->pdata[i])->state != IR_STATE_UNBORN)
      put_graph (out, model, model->graphs->pdata[i]);
  for (guint i = 1; i < model->nodes->len; i++)
    if (((IrNode *) model->nodes->pdata[i])->state != IR_STATE_UNBORN)
      put_node (out, model, model->nodes->pdata[i]);
  for (guint i = 1; i < model->values->len; i++)
    if (((IrValue *) model->values->pdata[i])->state != IR_STATE_UNBORN)
      put_value (out, model, model->values->pdata[i]);
  return g_string_free (out, FALSE);
}
