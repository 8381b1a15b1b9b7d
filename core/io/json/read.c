/* The JSON of json/write.c, read into a draft. Keys that are not known are ignored; what has the
 * wrong kind is a problem and left out. */
#include "config.h"

#include "core/io/formats.h"
#include "core/io/json/print.h"
#include "core/io/json/json-private.h"
#include "core/io/text/text.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* cJSON takes some 80 bytes for each number, text and object. */
#define MAX_ITEMS (10 * 1000 * 1000)

typedef struct
{
  IrDraft *draft;
  IrContext *context;
  GHashTable *types; /* text -> IrType */
} Reader;

static IrDraftGraph *read_graph (Reader *reader, const cJSON *object, guint depth);

static gboolean
complain (Reader *reader, const char *where, const char *needed)
{
  ir_draft_problem (reader->draft, IR_SEVERITY_ERROR, IR_PROBLEM_SYNTAX, IR_DRAFT_NOWHERE,
                    "%s: %s.", where != NULL ? where : "JSON", needed);
  return FALSE;
}

static const char *
text_or (Reader *reader, const cJSON *object, const char *key, const char *fallback)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive (object, key);

  if (!cJSON_IsString (item) || item->valuestring[0] == '\0')
    return fallback != NULL ? ir_context_intern (reader->context, fallback) : NULL;
  return ir_context_intern (reader->context, item->valuestring);
}

static gboolean
read_integer (const cJSON *item, gint64 *number)
{
  char *end;

  if (cJSON_IsNumber (item))
    {
      *number = (gint64) CLAMP (item->valuedouble, -9e18, 9e18);
      return (double) *number == item->valuedouble;
    }
  if (!cJSON_IsString (item) || item->valuestring[0] == '\0')
    return FALSE;
  *number = g_ascii_strtoll (item->valuestring, &end, 10);
  return *end == '\0';
}

static gint64
integer_or (const cJSON *object, const char *key, gint64 fallback)
{
  gint64 number;

  return read_integer (cJSON_GetObjectItemCaseSensitive (object, key), &number) ? number : fallback;
}

/* Bits of a float or double. */
static gboolean
read_real (const cJSON *item, gboolean is_double, guint64 *bits)
{
  double number;
  float narrow;
  guint32 narrow_bits;
  const char *text;

  if (cJSON_IsNumber (item))
    number = item->valuedouble;
  else if (!cJSON_IsString (item))
    return FALSE;
  else
    {
      text = item->valuestring;
      if (g_str_has_prefix (text, "nan:0x"))
        {
          *bits = g_ascii_strtoull (text + strlen ("nan:0x"), NULL, 16);
          return TRUE;
        }
      if (strcmp (text, "nan") == 0)
        number = (double) NAN;
      else if (strcmp (text, "inf") == 0 || strcmp (text, "-inf") == 0)
        number = text[0] == '-' ? -(double) INFINITY : (double) INFINITY;
      else
        return FALSE;
    }
  narrow = (float) number;
  memcpy (&narrow_bits, &narrow, sizeof narrow_bits);
  memcpy (bits, &number, sizeof *bits);
  if (!is_double)
    *bits = narrow_bits;
  return TRUE;
}

static GBytes *
read_base64 (const cJSON *item)
{
  gsize length = 0;
  guchar *data;

  if (!cJSON_IsString (item))
    return NULL;
  data = g_base64_decode (item->valuestring, &length);
  return g_bytes_new_take (data, length);
}

static GBytes *
read_unknown (Reader *reader, const cJSON *object)
{
  GBytes *bytes = read_base64 (cJSON_GetObjectItemCaseSensitive (object, "unknown"));

  return ir_draft_own_bytes (reader->draft, bytes);
}

static const IrExtra *
read_extra (Reader *reader, const cJSON *object)
{
  const cJSON *list = cJSON_GetObjectItemCaseSensitive (object, "metadata"), *item;
  g_autoptr (GPtrArray) keys = g_ptr_array_new ();
  g_autoptr (GPtrArray) values = g_ptr_array_new ();

  cJSON_ArrayForEach (item, list)
  {
    g_ptr_array_add (keys, (gpointer) text_or (reader, item, "key", ""));
    g_ptr_array_add (values, (gpointer) text_or (reader, item, "value", ""));
  }
  return ir_extra_new (reader->context, text_or (reader, object, "doc", NULL),
                       ir_props_new (reader->context, keys->len, (const char *const *) keys->pdata,
                                     (const char *const *) values->pdata),
                       read_unknown (reader, object));
}

/* Types are parsed once: most of a model's values share a few. */
static const IrType *
read_type (Reader *reader, const cJSON *item)
{
  gpointer type = NULL;

  if (!cJSON_IsString (item))
    return NULL;
  if (!g_hash_table_lookup_extended (reader->types, item->valuestring, NULL, &type))
    {
      type = (gpointer) ir_text_parse_type (reader->draft, item->valuestring);
      g_hash_table_insert (reader->types, g_strdup (item->valuestring), type);
    }
  return type;
}

/* -- tensors -- */

static GBytes *
read_string_bytes (const cJSON *item)
{
  if (cJSON_IsString (item))
    return g_bytes_new (item->valuestring, strlen (item->valuestring));
  return read_base64 (cJSON_GetObjectItemCaseSensitive (item, "base64"));
}

static gboolean
pack_element (const cJSON *item, IrDtype dtype, guint8 *data, gsize i)
{
  guint64 bits;
  gint64 number;

  if (dtype == IR_DTYPE_FLOAT || dtype == IR_DTYPE_DOUBLE)
    {
      guint size = dtype == IR_DTYPE_FLOAT ? 4 : 8;

      if (!read_real (item, size == 8, &bits))
        return FALSE;
      for (guint b = 0; b < size; b++)
        data[i * size + b] = (guint8) (bits >> (8 * b));
      return TRUE;
    }
  if (!ir_dtype_is_integer (dtype) || !read_integer (item, &number))
    return FALSE;
  ir_dtype_set_int64 (dtype, data, i, number);
  return TRUE;
}

static IrTensor *
read_strings (const IrType *type, const cJSON *list, guint64 n)
{
  g_autoptr (GPtrArray) strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  const cJSON *item;

  cJSON_ArrayForEach (item, list)
  {
    GBytes *bytes = read_string_bytes (item);

    if (bytes == NULL)
      return NULL;
    g_ptr_array_add (strings, bytes);
  }
  return strings->len == n
             ? ir_tensor_new_strings ((guint) type->rank, type->dims, (GBytes **) strings->pdata)
             : NULL;
}

static IrTensor *
read_numbers (const IrType *type, const cJSON *list, guint64 n, gsize n_bytes)
{
  g_autofree guint8 *data = NULL;
  g_autoptr (GBytes) bytes = NULL;
  const cJSON *item;
  gsize i = 0;

  if (!cJSON_IsArray (list) || (guint64) cJSON_GetArraySize (list) != n)
    return NULL;
  data = g_malloc0 (MAX (n_bytes, 1));
  cJSON_ArrayForEach (item, list) if (!pack_element (item, type->dtype, data, i++)) return NULL;
  bytes = g_bytes_new_take (g_steal_pointer (&data), n_bytes);
  return ir_tensor_new (type->dtype, (guint) type->rank, type->dims, bytes);
}

static IrTensor *
read_dense (const cJSON *object, const IrType *type)
{
  const cJSON *values = cJSON_GetObjectItemCaseSensitive (object, "values");
  g_autoptr (GBytes) bytes = NULL;
  guint64 n;
  gsize n_bytes = 0;

  if (!ir_type_is_static (type) || !ir_type_n_elements (type, &n) || n > G_MAXINT64 / 16)
    return NULL;
  if (type->dtype == IR_DTYPE_STRING)
    return read_strings (type, values, n);
  if (!ir_dtype_storage_bytes (type->dtype, n, &n_bytes))
    return NULL;
  if (values != NULL)
    return read_numbers (type, values, n, n_bytes);
  bytes = read_base64 (cJSON_GetObjectItemCaseSensitive (object, "base64"));
  if (bytes == NULL || g_bytes_get_size (bytes) != n_bytes)
    return NULL;
  return ir_tensor_new (type->dtype, (guint) type->rank, type->dims, bytes);
}

static IrTensor *
read_plain_tensor (Reader *reader, const cJSON *object)
{
  const IrType *type = read_type (reader, cJSON_GetObjectItemCaseSensitive (object, "type"));

  return type != NULL && type->kind == IR_TYPE_TENSOR && type->dtype != IR_DTYPE_UNDEFINED
             ? read_dense (object, type)
             : NULL;
}

static IrTensor *
read_sparse (Reader *reader, const cJSON *object, const IrType *type)
{
  g_autoptr (IrTensor) values = read_plain_tensor (
      reader, cJSON_GetObjectItemCaseSensitive (object, "sparse_values"));
  g_autoptr (IrTensor)
      indices = read_plain_tensor (reader, cJSON_GetObjectItemCaseSensitive (object, "indices"));
  guint64 n = 1;

  for (int i = 0; i < type->rank; i++)
    if (!ir_dim_is_known (type->dims[i]) || !g_uint64_checked_mul (&n, n, (guint64) type->dims[i]))
      return NULL;
  if (values == NULL || indices == NULL || type->rank == IR_RANK_UNKNOWN || n > G_MAXINT64 / 16 ||
      !ir_io_sparse_fits (values, indices, (guint) type->rank, type->dims))
    return NULL;
  return ir_tensor_new_sparse ((guint) type->rank, type->dims, values, indices);
}

/* (transfer none): owned by the context. */
static IrTensor *
read_tensor (Reader *reader, const cJSON *object, const char *where)
{
  const IrType *type = read_type (reader, cJSON_GetObjectItemCaseSensitive (object, "type"));
  IrTensorOrigin origin = { .offset = -1, .length = -1 };
  IrTensor *tensor = NULL;

  if (type != NULL && type->kind == IR_TYPE_SPARSE_TENSOR)
    tensor = read_sparse (reader, object, type);
  else
    tensor = read_plain_tensor (reader, object);
  if (tensor == NULL)
    {
      complain (reader, where, "a tensor with a type and as many values is needed");
      return NULL;
    }
  origin.name = text_or (reader, object, "name", NULL);
  origin.doc = text_or (reader, object, "doc", NULL);
  origin.unknown = read_unknown (reader, object);
  if (origin.name != NULL || origin.doc != NULL || origin.unknown != NULL)
    ir_tensor_set_origin (tensor, &origin);
  return ir_draft_own_tensor (reader->draft, tensor);
}

/* -- attributes -- */

static IrAttrKind
read_kind (const cJSON *object)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive (object, "kind");

  for (guint i = 1; cJSON_IsString (item) && i < IR_N_ATTR_KINDS; i++)
    if (strcmp (item->valuestring, ir_text_kind_names[i]) == 0)
      return (IrAttrKind) i;
  return IR_ATTR_UNDEFINED;
}

typedef struct
{
  GArray *ints, *floats, *strings;
  GPtrArray *objects;
} Elements;

static gboolean
read_attr_string (Reader *reader, const cJSON *item, GArray *strings)
{
  g_autoptr (GBytes) bytes = read_string_bytes (item);
  IrString string;
  char *copy;

  if (bytes == NULL)
    return FALSE;
  string.length = g_bytes_get_size (bytes);
  copy = ir_context_alloc (reader->context, string.length + 1);
  if (string.length > 0)
    memcpy (copy, g_bytes_get_data (bytes, NULL), string.length);
  string.data = copy;
  g_array_append_val (strings, string);
  return TRUE;
}

static gboolean
add_object (Elements *elements, gconstpointer object)
{
  if (object == NULL)
    return FALSE;
  g_ptr_array_add (elements->objects, (gpointer) object);
  return TRUE;
}

static gboolean
read_element (Reader *reader, const cJSON *item, IrAttrKind single, guint depth, Elements *elements)
{
  gint64 number;
  guint64 bits;

  switch (single)
    {
    case IR_ATTR_INT:
      if (!read_integer (item, &number))
        return FALSE;
      g_array_append_val (elements->ints, number);
      return TRUE;
    case IR_ATTR_FLOAT:
      if (!read_real (item, FALSE, &bits))
        return FALSE;
      g_array_append_val (elements->floats, *(guint32[]){ (guint32) bits });
      return TRUE;
    case IR_ATTR_STRING:
      return read_attr_string (reader, item, elements->strings);
    case IR_ATTR_TENSOR:
    case IR_ATTR_SPARSE_TENSOR:
      return add_object (elements, read_tensor (reader, item, "An attribute"));
    case IR_ATTR_GRAPH:
      return add_object (elements, read_graph (reader, item, depth + 1));
    case IR_ATTR_TYPE:
      return add_object (elements, read_type (reader, item));
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
  return FALSE;
}

static const IrAttr *
make_attr (Reader *reader, const char *name, IrAttrKind kind, const Elements *elements)
{
  IrTextElements values = { (const gint64 *) (gpointer) elements->ints->data,
                            elements->ints->len,
                            (const float *) (gpointer) elements->floats->data,
                            elements->floats->len,
                            (const IrString *) (gpointer) elements->strings->data,
                            elements->strings->len,
                            elements->objects->pdata,
                            elements->objects->len };

  return ir_text_make_attr (reader->context, name, kind, &values);
}

static gboolean
read_elements (
    Reader *reader, const cJSON *object, IrAttrKind kind, guint depth, Elements *elements)
{
  const cJSON *value = cJSON_GetObjectItemCaseSensitive (object, "value"), *item;
  IrAttrKind single = ir_text_single_kind (kind);

  if (single == kind)
    return value != NULL && read_element (reader, value, single, depth, elements);
  if (!cJSON_IsArray (value))
    return FALSE;
  cJSON_ArrayForEach (
      item, value) if (!read_element (reader, item, single, depth, elements)) return FALSE;
  return TRUE;
}

static void
read_attr (Reader *reader, const cJSON *object, guint depth, GArray *attrs)
{
  IrAttrKind kind = read_kind (object);
  const char *name = text_or (reader, object, "name", "");
  const char *ref = text_or (reader, object, "ref", NULL);
  const char *doc = text_or (reader, object, "doc", NULL);
  GBytes *unknown = read_unknown (reader, object);
  IrDraftAttr attr = { 0 };

  if (!ir_draft_spend (reader->draft))
    return;
  Elements elements = { g_array_new (FALSE, FALSE, sizeof (gint64)),
                        g_array_new (FALSE, FALSE, sizeof (float)),
                        g_array_new (FALSE, FALSE, sizeof (IrString)), g_ptr_array_new () };
  if (kind == IR_ATTR_UNDEFINED || name[0] == '\0')
    complain (reader, name, "an attribute with a name and a kind is needed");
  else if (ref != NULL)
    attr.attr = ir_attr_ref (reader->context, name, kind, ref);
  else if (!read_elements (reader, object, kind, depth, &elements))
    complain (reader, name, "the value of an attribute is not of its kind");
  else if (ir_text_single_kind (kind) == IR_ATTR_GRAPH)
    {
      attr = (IrDraftAttr){ .graphs = ir_draft_pointers (reader->draft),
                            .name = name,
                            .kind = kind,
                            .doc = doc,
                            .unknown = unknown };
      for (guint i = 0; i < elements.objects->len; i++)
        g_ptr_array_add (attr.graphs, elements.objects->pdata[i]);
    }
  else
    attr.attr = make_attr (reader, name, kind, &elements);
  if (attr.attr != NULL && (doc != NULL || unknown != NULL))
    attr.attr = ir_attr_annotate (reader->context, attr.attr, attr.attr->kind, doc, unknown);
  if (attr.attr != NULL || attr.graphs != NULL)
    g_array_append_val (attrs, attr);
  g_array_unref (elements.ints);
  g_array_unref (elements.floats);
  g_array_unref (elements.strings);
  g_ptr_array_unref (elements.objects);
}

/* -- graphs -- */

static void
read_names (Reader *reader, const cJSON *list, IrDraftNames *names)
{
  const cJSON *item;

  cJSON_ArrayForEach (item, list)
  {
    const char *name = ir_context_intern (reader->context,
                                          cJSON_IsString (item) ? item->valuestring : "");

    if (ir_draft_spend (reader->draft))
      ir_draft_names_add (reader->draft, names, name);
  }
}

static void
read_values (Reader *reader, const cJSON *list, GArray *values, gboolean initializers)
{
  const cJSON *item;

  cJSON_ArrayForEach (item, list)
  {
    IrDraftValue value = { .name = text_or (reader, item, "name", "") };

    if (!ir_draft_spend (reader->draft))
      return;
    value.type = read_type (reader, cJSON_GetObjectItemCaseSensitive (item, "type"));
    value.extra = read_extra (reader, item);
    if (initializers)
      value.tensor = read_tensor (reader, cJSON_GetObjectItemCaseSensitive (item, "tensor"),
                                  value.name);
    g_array_append_val (values, value);
  }
}

static void
read_node (Reader *reader, const cJSON *object, guint depth, GPtrArray *nodes)
{
  IrDraftNode *node;
  const cJSON *item;

  if (!ir_draft_spend (reader->draft))
    return;
  node = ir_draft_node_new (reader->draft);
  node->name = text_or (reader, object, "name", "");
  node->op_type = text_or (reader, object, "op_type", "");
  node->domain = text_or (reader, object, "domain", "");
  node->overload = text_or (reader, object, "overload", "");
  read_names (reader, cJSON_GetObjectItemCaseSensitive (object, "inputs"), &node->inputs);
  read_names (reader, cJSON_GetObjectItemCaseSensitive (object, "outputs"), &node->outputs);
  cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive (object, "attributes"))
      read_attr (reader, item, depth, node->attrs);
  node->extra = read_extra (reader, object);
  ir_draft_node_take_metadata (reader->draft, node);
  g_ptr_array_add (nodes, node);
}

static IrDraftGraph *
read_graph (Reader *reader, const cJSON *object, guint depth)
{
  IrDraftGraph *graph;
  const cJSON *item;

  if (!cJSON_IsObject (object) || depth > IR_DRAFT_MAX_DEPTH)
    {
      complain (reader, "graph",
                depth > IR_DRAFT_MAX_DEPTH ? "graphs are nested too deep" : "an object is needed");
      return NULL;
    }
  graph = ir_draft_graph_new (reader->draft);
  graph->name = text_or (reader, object, "name", "");
  graph->extra = read_extra (reader, object);
  read_values (reader, cJSON_GetObjectItemCaseSensitive (object, "inputs"), graph->inputs, FALSE);
  read_values (reader, cJSON_GetObjectItemCaseSensitive (object, "outputs"), graph->outputs, FALSE);
  read_values (reader, cJSON_GetObjectItemCaseSensitive (object, "values"), graph->infos, FALSE);
  read_values (reader, cJSON_GetObjectItemCaseSensitive (object, "initializers"),
               graph->initializers, TRUE);
  cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive (object, "nodes"))
      read_node (reader, item, depth, graph->nodes);
  return graph;
}

static void
read_opsets (Reader *reader, const cJSON *object, GArray *opsets)
{
  const cJSON *item;

  cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive (object, "opset_imports"))
  {
    IrOpset opset = { text_or (reader, item, "domain", ""), integer_or (item, "version", 0) };

    if (opsets->len < 1000)
      g_array_append_val (opsets, opset);
  }
}

static void
read_function (Reader *reader, const cJSON *object)
{
  IrDraftGraph *graph = ir_draft_spend (reader->draft) ? read_graph (reader, object, 0) : NULL;
  IrDraftNames names = { 0 };
  const cJSON *item;

  if (graph == NULL)
    return;
  GArray *attrs = ir_draft_array (reader->draft, sizeof (IrDraftAttr));
  GArray *opsets = ir_draft_array (reader->draft, sizeof (IrOpset));
  read_opsets (reader, object, opsets);
  read_names (reader, cJSON_GetObjectItemCaseSensitive (object, "attribute_names"), &names);
  cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive (object, "attribute_defaults"))
      read_attr (reader, item, 0, attrs);
  graph->function = ir_draft_function_info (reader->draft, text_or (reader, object, "domain", ""),
                                            graph->name, text_or (reader, object, "overload", ""),
                                            &names, attrs, opsets);
  g_ptr_array_add (reader->draft->functions, graph);
}

static void
read_model (Reader *reader, const cJSON *object)
{
  IrDraft *draft = reader->draft;
  const IrExtra *extra = read_extra (reader, object);
  const cJSON *item;

  draft->info.ir_version = integer_or (object, "ir_version", draft->info.ir_version);
  draft->info.model_version = integer_or (object, "model_version", 0);
  draft->info.producer_name = text_or (reader, object, "producer_name", NULL);
  draft->info.producer_version = text_or (reader, object, "producer_version", NULL);
  draft->info.domain = text_or (reader, object, "domain", NULL);
  if (extra != NULL)
    draft->info.extra = *extra;
  read_opsets (reader, object, draft->opsets);
  draft->main = read_graph (reader, cJSON_GetObjectItemCaseSensitive (object, "graph"), 0);
  cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive (object, "functions"))
      read_function (reader, item);
}

/* Items that cJSON would make: bounded before it makes any. */
static gboolean
has_too_many_items (const char *text, gsize length)
{
  gsize n = 0;

  for (gsize i = 0; i < length; i++)
    n += text[i] == ',' || text[i] == '[' || text[i] == '{';
  return n > MAX_ITEMS;
}

static cJSON *
parse_text (const char *text, gsize length, GError **error)
{
  const char *end = text;
  cJSON *object;
  guint line = 1;

  if (!g_utf8_validate_len (text, length, NULL))
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "The JSON is not valid UTF-8.");
      return NULL;
    }
  if (has_too_many_items (text, length))
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT, "The JSON has more than %d items.",
                   MAX_ITEMS);
      return NULL;
    }
  object = cJSON_ParseWithLengthOpts (text, length, &end, FALSE);
  if (cJSON_IsObject (object))
    return object;
  for (const char *p = text; p < end; p++)
    line += *p == '\n';
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "Line %u: is no JSON object%s.", line,
               object == NULL ? "; the syntax is wrong" : "");
  cJSON_Delete (object);
  return NULL;
}

static IrModel *
read_bytes (GBytes *bytes, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrModel) model = ir_model_new ();
  g_autoptr (IrDraft) draft = ir_draft_new (model->context, problems, cancellable);
  g_autoptr (GHashTable) types = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Reader reader = { draft, model->context, types };
  gsize length;
  const char *text = g_bytes_get_data (bytes, &length);
  cJSON *object = parse_text (text != NULL ? text : "", length, error);

  if (object == NULL)
    return NULL;
  draft->info = *model->info;
  read_model (&reader, object);
  cJSON_Delete (object);
  if (draft->stopped)
    return NULL;
  if (draft->main == NULL)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT,
                   "The JSON has no \"graph\"; is it a model that irscope has written?");
      return NULL;
    }
  ir_draft_build (draft, model);
  return g_steal_pointer (&model);
}

/**
 * ir_json_read:
 * @text: JSON as ir_json_write() makes it
 * @length: its bytes, -1 if it ends with NUL
 * @problems: (nullable): gets the findings
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_FORMAT if the text is no JSON or has no graph, and with
 * %IR_IO_ERROR_LIMIT if it would take too much memory.
 *
 * Returns: (transfer full) (nullable): the model
 */
IrModel *
ir_json_read (const char *text, gssize length, GPtrArray *problems, GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, length < 0 ? strlen (text) : (gsize) length);

  return read_bytes (bytes, problems, NULL, error);
}

/**
 * ir_json_read_file:
 * @path: a JSON file
 * @problems: (nullable): gets the findings
 * @cancellable: (nullable): what may stop reading; then there is no error
 * @error: return location for an error
 *
 * Reads JSON: see ir_json_read().
 *
 * Returns: (transfer full) (nullable): the model
 */
IrModel *
ir_json_read_file (const char *path, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  g_autoptr (GBytes) bytes = ir_file_read_text (path, error);
  IrModel *model;

  if (bytes == NULL)
    return NULL;
  model = read_bytes (bytes, problems, cancellable, error);
  if (model == NULL)
    g_prefix_error (error, "%s: ", path);
  else
    model->path = ir_context_intern (model->context, path);
  return model;
}
