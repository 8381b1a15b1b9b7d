/* A model as JSON, with nothing lost; data/schema/model.schema.json describes it. Types are written
 * in ONNX's textual syntax. Integers beyond 2^53 and numbers that are not finite are strings. */
#include "config.h"

#include "core/io/formats.h"
#include "core/io/json/print.h"
#include "core/io/json/json-private.h"
#include "core/io/text/text.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* Larger tensors are base64 of their bytes. */
#define READABLE_ELEMENTS 1024

static cJSON *write_graph (const IrGraph *graph);

static void
put_text (cJSON *object, const char *key, const char *text)
{
  if (text != NULL && text[0] != '\0')
    cJSON_AddStringToObject (object, key, text);
}

static cJSON *
integer (gint64 number)
{
  char buffer[32];

  g_snprintf (buffer, sizeof buffer, "%" G_GINT64_FORMAT, number);
  return number >= -IR_JSON_MAX_INTEGER && number <= IR_JSON_MAX_INTEGER
             ? cJSON_CreateRaw (buffer)
             : cJSON_CreateString (buffer);
}

static cJSON *
base64 (gconstpointer data, gsize length)
{
  g_autofree char *text = length > 0 ? g_base64_encode (data, length) : g_strdup ("");

  return cJSON_CreateString (text);
}

static void
put_unknown (cJSON *object, GBytes *unknown)
{
  if (unknown != NULL)
    cJSON_AddItemToObject (object, "unknown",
                           base64 (g_bytes_get_data (unknown, NULL), g_bytes_get_size (unknown)));
}

static void
put_extra (cJSON *object, const IrExtra *extra)
{
  cJSON *list;

  if (extra == NULL)
    return;
  put_text (object, "doc", extra->doc);
  put_unknown (object, extra->unknown);
  if (extra->props == NULL)
    return;
  list = cJSON_AddArrayToObject (object, "metadata");
  for (guint i = 0; i < extra->props->n; i++)
    {
      cJSON *pair = cJSON_CreateObject ();

      cJSON_AddStringToObject (pair, "key", extra->props->pairs[i].key);
      cJSON_AddStringToObject (pair, "value", extra->props->pairs[i].value);
      cJSON_AddItemToArray (list, pair);
    }
}

/* A float; NaNs other than the plain one say their bits. The digits are ours, since cJSON's own are
 * right only within its epsilon, and lose the sign of -0. */
static cJSON *
real (double number, guint64 bits, gboolean is_double)
{
  guint64 plain = is_double ? G_GUINT64_CONSTANT (0x7ff8000000000000) : 0x7fc00000;
  char buffer[40];

  if (isfinite (number))
    {
      g_autoptr (GString) text = g_string_new (NULL);

      ir_text_write_float (text, number, is_double, FALSE);
      return cJSON_CreateRaw (text->str);
    }
  if (isinf (number))
    return cJSON_CreateString (number > 0 ? "inf" : "-inf");
  if (bits == plain)
    return cJSON_CreateString ("nan");
  g_snprintf (buffer, sizeof buffer, "nan:0x%" G_GINT64_MODIFIER "x", bits);
  return cJSON_CreateString (buffer);
}

static cJSON *
single (float number)
{
  guint32 bits;

  memcpy (&bits, &number, sizeof bits);
  return real ((double) number, bits, FALSE);
}

/* Text, or {"base64": …} where it is none. */
static cJSON *
bytes_text (const char *data, gsize length)
{
  g_autofree char *text = NULL;
  cJSON *object;

  if (length == 0 || (g_utf8_validate_len (data, length, NULL) && memchr (data, 0, length) == NULL))
    {
      text = g_strndup (length > 0 ? data : "", length);
      return cJSON_CreateString (text);
    }
  object = cJSON_CreateObject ();
  cJSON_AddItemToObject (object, "base64", base64 (data, length));
  return object;
}

static char *
tensor_type (const IrTensor *tensor)
{
  GString *out = g_string_new (NULL);

  ir_text_write_dtype_dims (out, tensor);
  return g_string_free (out, FALSE);
}

static cJSON *
element (const IrTensor *tensor, guint64 i)
{
  const guint8 *data = g_bytes_get_data (ir_tensor_bytes (tensor), NULL);
  IrDtype dtype = ir_tensor_dtype (tensor);
  guint64 bits = 0;
  float narrow;
  double wide;

  if (dtype == IR_DTYPE_FLOAT)
    {
      memcpy (&narrow, data + 4 * i, sizeof narrow);
      return single (narrow);
    }
  if (dtype == IR_DTYPE_DOUBLE)
    {
      memcpy (&wide, data + 8 * i, sizeof wide);
      memcpy (&bits, &wide, sizeof bits);
      return real (wide, bits, TRUE);
    }
  return integer (ir_tensor_get_int64 (tensor, i));
}

/* Types whose elements are JSON's numbers as they are. */
static gboolean
is_plain (IrDtype dtype)
{
  IrDtypeKind kind = ir_dtype_kind (dtype);

  return dtype == IR_DTYPE_FLOAT || dtype == IR_DTYPE_DOUBLE || kind == IR_DTYPE_KIND_SINT ||
         (kind == IR_DTYPE_KIND_UINT && dtype != IR_DTYPE_UINT64);
}

static cJSON *
write_tensor (const IrTensor *tensor)
{
  cJSON *object = cJSON_CreateObject (), *list;
  const IrTensorOrigin *origin = ir_tensor_origin (tensor);
  g_autofree char *type = tensor_type (tensor);
  guint64 n = ir_tensor_n_elements (tensor);

  cJSON_AddStringToObject (object, "type", type);
  if (origin != NULL)
    {
      put_text (object, "name", origin->name);
      put_text (object, "doc", origin->doc);
      put_unknown (object, origin->unknown);
    }
  if (ir_tensor_sparse_values (tensor) != NULL)
    {
      cJSON_AddItemToObject (object, "sparse_values",
                             write_tensor (ir_tensor_sparse_values (tensor)));
      cJSON_AddItemToObject (object, "indices", write_tensor (ir_tensor_sparse_indices (tensor)));
      return object;
    }
  if (ir_tensor_dtype (tensor) != IR_DTYPE_STRING &&
      (n > READABLE_ELEMENTS || !is_plain (ir_tensor_dtype (tensor))))
    {
      GBytes *bytes = ir_tensor_bytes (tensor);

      cJSON_AddItemToObject (object, "base64",
                             base64 (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)));
      return object;
    }
  list = cJSON_AddArrayToObject (object, "values");
  for (guint64 i = 0; i < n; i++)
    if (ir_tensor_dtype (tensor) == IR_DTYPE_STRING)
      {
        GBytes *string = ir_tensor_string (tensor, i);

        cJSON_AddItemToArray (
            list, bytes_text (g_bytes_get_data (string, NULL), g_bytes_get_size (string)));
      }
    else
      cJSON_AddItemToArray (list, element (tensor, i));
  return object;
}

static void
put_type (cJSON *object, const char *key, IrContext *context, const IrType *type)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (type == NULL)
    return;
  ir_text_write_type (text, context, type);
  cJSON_AddStringToObject (object, key, text->str);
}

static cJSON *
attr_element (IrModel *model, const IrAttr *attr, guint i)
{
  g_autoptr (GString) text = NULL;

  switch (ir_text_single_kind (attr->kind))
    {
    case IR_ATTR_FLOAT:
      return single (attr->floats[i]);
    case IR_ATTR_INT:
      return integer (attr->ints[i]);
    case IR_ATTR_STRING:
      return bytes_text (attr->strings[i].data, attr->strings[i].length);
    case IR_ATTR_TENSOR:
    case IR_ATTR_SPARSE_TENSOR:
      return write_tensor (attr->tensors[i]);
    case IR_ATTR_GRAPH:
      if (ir_model_graph (model, attr->graphs[i]) != NULL)
        return write_graph (ir_model_graph (model, attr->graphs[i]));
      break;
    case IR_ATTR_TYPE:
      text = g_string_new (NULL);
      ir_text_write_type (text, model->context, attr->types[i]);
      return cJSON_CreateString (text->str);
    case IR_ATTR_UNDEFINED:
    case IR_ATTR_FLOATS:
    case IR_ATTR_INTS:
    case IR_ATTR_STRINGS:
    case IR_ATTR_TENSORS:
    case IR_ATTR_GRAPHS:
    case IR_ATTR_SPARSE_TENSORS:
    case IR_ATTR_TYPES:
    case IR_N_ATTR_KINDS:
      break;
    }
  return cJSON_CreateNull ();
}

static cJSON *
write_attr (IrModel *model, const IrAttr *attr)
{
  cJSON *object = cJSON_CreateObject (), *list;

  cJSON_AddStringToObject (object, "name", attr->name);
  cJSON_AddStringToObject (object, "kind", ir_text_kind_names[attr->kind]);
  put_text (object, "doc", attr->doc);
  put_unknown (object, attr->unknown);
  if (attr->ref_name != NULL)
    cJSON_AddStringToObject (object, "ref", attr->ref_name);
  else if (ir_text_single_kind (attr->kind) == attr->kind)
    cJSON_AddItemToObject (object, "value",
                           attr->n > 0 ? attr_element (model, attr, 0) : cJSON_CreateNull ());
  else
    {
      list = cJSON_AddArrayToObject (object, "value");
      for (guint i = 0; i < attr->n; i++)
        cJSON_AddItemToArray (list, attr_element (model, attr, i));
    }
  return object;
}

static void
put_names (cJSON *object, const char *key, guint n, IrValue *const *values)
{
  cJSON *list = cJSON_AddArrayToObject (object, key);

  for (guint i = 0; i < n; i++)
    cJSON_AddItemToArray (list, cJSON_CreateString (values[i] != NULL ? values[i]->name : ""));
}

static cJSON *
write_node (const IrNode *node)
{
  cJSON *object = cJSON_CreateObject (), *attrs;

  put_text (object, "name", node->name);
  cJSON_AddStringToObject (object, "op_type", node->op_type);
  put_text (object, "domain", node->domain);
  put_text (object, "overload", node->overload);
  put_names (object, "inputs", node->n_inputs, node->inputs);
  put_names (object, "outputs", node->n_outputs, node->outputs);
  if (node->n_attrs > 0)
    {
      attrs = cJSON_AddArrayToObject (object, "attributes");
      for (guint i = 0; i < node->n_attrs; i++)
        cJSON_AddItemToArray (attrs, write_attr (node->graph->model, node->attrs[i]));
    }
  put_extra (object, ir_node_extra_to_write (node));
  return object;
}

static cJSON *
write_value (const IrValue *value, gboolean with_type)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", value->name);
  if (with_type)
    put_type (object, "type", value->graph->model->context, ir_value_declared_type (value));
  put_extra (object, value->extra);
  return object;
}

static cJSON *
write_initializer (const IrValue *value)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", value->name);
  cJSON_AddItemToObject (object, "tensor", write_tensor (value->initializer));
  if (!ir_value_is_graph_input (value))
    put_extra (object, value->extra);
  return object;
}

static gboolean
is_typed (const IrValue *value)
{
  return value->graph->kind != IR_GRAPH_FUNCTION || (value->flags & IR_VALUE_DECLARED) != 0;
}

static void
put_values (cJSON *object, const IrGraph *graph)
{
  cJSON *initializers = cJSON_AddArrayToObject (object, "initializers");
  cJSON *declared = cJSON_AddArrayToObject (object, "values");
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  for (guint i = 0; i < n; i++)
    {
      if (values[i]->initializer != NULL)
        cJSON_AddItemToArray (initializers, write_initializer (values[i]));
      if (!ir_value_is_graph_input (values[i]) && !ir_value_is_graph_output (values[i]) &&
          ((values[i]->flags & IR_VALUE_DECLARED) != 0 ||
           (values[i]->extra != NULL && values[i]->initializer == NULL)))
        cJSON_AddItemToArray (declared, write_value (values[i], TRUE));
    }
}

static void
put_graph (cJSON *object, const IrGraph *graph)
{
  cJSON *inputs, *outputs, *nodes;
  IrNode *const *order;
  guint n;

  put_extra (object, graph->extra);
  inputs = cJSON_AddArrayToObject (object, "inputs");
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    cJSON_AddItemToArray (
        inputs, write_value (ir_graph_input (graph, i), is_typed (ir_graph_input (graph, i))));
  outputs = cJSON_AddArrayToObject (object, "outputs");
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    cJSON_AddItemToArray (
        outputs, write_value (ir_graph_output (graph, i), is_typed (ir_graph_output (graph, i))));
  put_values (object, graph);
  nodes = cJSON_AddArrayToObject (object, "nodes");
  order = ir_graph_order (graph, &n);
  for (guint i = 0; i < n; i++)
    cJSON_AddItemToArray (nodes, write_node (order[i]));
}

static cJSON *
write_graph (const IrGraph *graph)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", graph->name);
  put_graph (object, graph);
  return object;
}

static void
put_opsets (cJSON *object, const IrOpsets *opsets)
{
  cJSON *list = cJSON_AddArrayToObject (object, "opset_imports");

  for (guint i = 0; opsets != NULL && i < opsets->n; i++)
    {
      cJSON *opset = cJSON_CreateObject ();

      cJSON_AddStringToObject (opset, "domain", opsets->opsets[i].domain);
      cJSON_AddItemToObject (opset, "version", integer (opsets->opsets[i].version));
      cJSON_AddItemToArray (list, opset);
    }
}

static cJSON *
write_function (const IrGraph *graph)
{
  const IrFunctionInfo *info = graph->function;
  cJSON *object = cJSON_CreateObject (), *names, *defaults;

  cJSON_AddStringToObject (object, "domain", info->domain);
  cJSON_AddStringToObject (object, "name", info->name);
  put_text (object, "overload", info->overload);
  put_opsets (object, info->opsets);
  names = cJSON_AddArrayToObject (object, "attribute_names");
  for (guint i = 0; i < info->n_attr_names; i++)
    cJSON_AddItemToArray (names, cJSON_CreateString (info->attr_names[i]));
  defaults = cJSON_AddArrayToObject (object, "attribute_defaults");
  for (guint i = 0; i < info->n_attr_defaults; i++)
    cJSON_AddItemToArray (defaults, write_attr (graph->model, info->attr_defaults[i]));
  put_graph (object, graph);
  return object;
}

static cJSON *
write_model (IrModel *model)
{
  const IrModelInfo *info = model->info;
  cJSON *object = cJSON_CreateObject (), *functions;

  cJSON_AddStringToObject (object, "format", IR_JSON_FORMAT);
  cJSON_AddItemToObject (object, "ir_version", integer (info->ir_version));
  put_text (object, "producer_name", info->producer_name);
  put_text (object, "producer_version", info->producer_version);
  put_text (object, "domain", info->domain);
  if (info->model_version != 0)
    cJSON_AddItemToObject (object, "model_version", integer (info->model_version));
  put_extra (object, &info->extra);
  put_opsets (object, model->opsets);
  cJSON_AddItemToObject (object, "graph", write_graph (model->main));
  functions = cJSON_AddArrayToObject (object, "functions");
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];

      if (graph != NULL && graph->state == IR_STATE_LIVE && graph->function != NULL)
        cJSON_AddItemToArray (functions, write_function (graph));
    }
  return object;
}

/**
 * ir_json_write:
 * @model: a model
 *
 * Returns: (transfer full): all of it as JSON; free with g_free()
 */
char *
ir_json_write (IrModel *model)
{
  cJSON *object = write_model (model);
  char *text = ir_json_print_text (object);

  cJSON_Delete (object);
  return text;
}

/**
 * ir_json_write_file:
 * @model: a model
 * @path: where to
 * @cancellable: (nullable): what may stop it; then there is no error
 * @error: return location for an error
 *
 * Writes JSON, atomically.
 *
 * Returns: %TRUE if it is written
 */
gboolean
ir_json_write_file (IrModel *model, const char *path, GCancellable *cancellable, GError **error)
{
  return ir_file_write_text (model, ir_json_write, path, cancellable, error);
}
