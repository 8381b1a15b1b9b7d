/* Attributes: immutable, allocated in the context. */
#include "config.h"

#include "core/ir/attr.h"

#include <string.h>

static IrAttr *
attr_new (IrContext *context, const char *name, IrAttrKind kind, guint n)
{
  IrAttr *attr = ir_context_alloc (context, sizeof (IrAttr));

  attr->name = ir_context_intern (context, name);
  attr->kind = kind;
  attr->n = n;
  return attr;
}

/* An attribute of kind FLOATS */
const IrAttr *
ir_attr_floats (IrContext *context, const char *name, const float *values, guint n)
{
  IrAttr *attr = attr_new (context, name, IR_ATTR_FLOATS, n);
  attr->floats = ir_context_dup (context, values, n * sizeof (float));
  return attr;
}

/* An attribute of kind INTS */
const IrAttr *
ir_attr_ints (IrContext *context, const char *name, const gint64 *values, guint n)
{
  IrAttr *attr = attr_new (context, name, IR_ATTR_INTS, n);
  attr->ints = ir_context_dup (context, values, n * sizeof (gint64));
  return attr;
}

static const char *
dup_string (IrContext *context, const char *data, gsize length)
{
  char *copy = ir_context_alloc (context, length + 1); /* zeroed: ends with a NUL */
  if (length > 0)
    memcpy (copy, data, length);
  return copy;
}

/* An attribute of kind STRINGS */
const IrAttr *
ir_attr_strings (IrContext *context, const char *name, const IrString *values, guint n)
{
  IrAttr *attr = attr_new (context, name, IR_ATTR_STRINGS, n);
  IrString *copies = ir_context_alloc (context, n * sizeof (IrString));

  for (guint i = 0; i < n; i++)
    copies[i] = (IrString){ values[i].length,
                            dup_string (context, values[i].data, values[i].length) };
  attr->strings = copies;
  return attr;
}

/* An attribute of kind TENSORS or SPARSE_TENSORS. @values: tensors; references are taken. If the
 * first is sparse, the kind is SPARSE_TENSORS. */
const IrAttr *
ir_attr_tensors (IrContext *context, const char *name, IrTensor *const *values, guint n)
{
  gboolean sparse = n > 0 && ir_tensor_sparse_indices (values[0]) != NULL;
  IrAttr *attr = attr_new (context, name, sparse ? IR_ATTR_SPARSE_TENSORS : IR_ATTR_TENSORS, n);

  for (guint i = 0; i < n; i++)
    ir_context_own (context, ir_tensor_ref (values[i]), (GDestroyNotify) ir_tensor_unref);
  attr->tensors = ir_context_dup (context, values, n * sizeof (IrTensor *));
  return attr;
}

/* An attribute of kind GRAPHS */
const IrAttr *
ir_attr_graphs (IrContext *context, const char *name, const guint32 *ids, guint n)
{
  IrAttr *attr = attr_new (context, name, IR_ATTR_GRAPHS, n);
  attr->graphs = ir_context_dup (context, ids, n * sizeof (guint32));
  return attr;
}

const IrAttr *
ir_attr_types (
    IrContext *context, const char *name, IrAttrKind kind, const IrType *const *types, guint n)
{
  IrAttr *attr = attr_new (context, name, kind, n);
  attr->types = ir_context_dup (context, types, n * sizeof (IrType *));
  return attr;
}

/* A single value is an array of one under another kind. */
static const IrAttr *
as_single (const IrAttr *array, IrAttrKind kind)
{
  ((IrAttr *) array)->kind = kind; /* not shared yet */
  return array;
}

/* An attribute of kind FLOAT */
const IrAttr *
ir_attr_float (IrContext *context, const char *name, float value)
{
  return as_single (ir_attr_floats (context, name, &value, 1), IR_ATTR_FLOAT);
}

/* An attribute of kind INT */
const IrAttr *
ir_attr_int (IrContext *context, const char *name, gint64 value)
{
  return as_single (ir_attr_ints (context, name, &value, 1), IR_ATTR_INT);
}

/* An attribute of kind STRING. @value: bytes, copied. @length: number of bytes, or -1 if it ends
 * with a NUL. */
const IrAttr *
ir_attr_string (IrContext *context, const char *name, const char *value, gssize length)
{
  IrString string = { length < 0 ? strlen (value) : (gsize) length, value };
  return as_single (ir_attr_strings (context, name, &string, 1), IR_ATTR_STRING);
}

/* An attribute of kind TENSOR, or SPARSE_TENSOR if @value is sparse */
const IrAttr *
ir_attr_tensor (IrContext *context, const char *name, IrTensor *value)
{
  const IrAttr *array = ir_attr_tensors (context, name, &value, 1);
  return as_single (array, array->kind == IR_ATTR_TENSORS ? IR_ATTR_TENSOR : IR_ATTR_SPARSE_TENSOR);
}

/* An attribute of kind GRAPH */
const IrAttr *
ir_attr_graph (IrContext *context, const char *name, guint32 graph_id)
{
  return as_single (ir_attr_graphs (context, name, &graph_id, 1), IR_ATTR_GRAPH);
}

/* An attribute without a value of its own, for function bodies */
const IrAttr *
ir_attr_ref (IrContext *context, const char *name, IrAttrKind kind, const char *ref_name)
{
  IrAttr *attr = attr_new (context, name, kind, 0);
  attr->ref_name = ir_context_intern (context, ref_name);
  return attr;
}

/* A copy of @attr. @kind: kind of the copy; must have the same kind of elements. @unknown: raw
 * wire bytes; a reference is taken. */
const IrAttr *
ir_attr_annotate (
    IrContext *context, const IrAttr *attr, IrAttrKind kind, const char *doc, GBytes *unknown)
{
  IrAttr *copy = ir_context_dup (context, attr, sizeof *attr);

  copy->kind = kind;
  copy->doc = doc != NULL && doc[0] != '\0' ? ir_context_intern (context, doc) : NULL;
  copy->unknown = NULL;
  if (unknown != NULL && g_bytes_get_size (unknown) > 0)
    {
      copy->unknown = g_bytes_ref (unknown);
      ir_context_own (context, copy->unknown, (GDestroyNotify) g_bytes_unref);
    }
  return copy;
}

const IrAttr *
ir_attr_renamed (IrContext *context, const IrAttr *attr, const char *name)
{
  IrAttr *copy = ir_context_dup (context, attr, sizeof *attr);

  copy->name = ir_context_intern (context, name);
  return copy;
}

/* -- comparing: each kind of element knows its width, or has a function -- */

static gboolean
strings_equal (const IrAttr *a, const IrAttr *b)
{
  for (guint i = 0; i < a->n; i++)
    if (a->strings[i].length != b->strings[i].length ||
        memcmp (a->strings[i].data, b->strings[i].data, a->strings[i].length) != 0)
      return FALSE;
  return TRUE;
}

static gboolean
tensors_equal (const IrAttr *a, const IrAttr *b)
{
  for (guint i = 0; i < a->n; i++)
    if (a->tensors[i] != b->tensors[i] && !ir_tensor_equal (a->tensors[i], b->tensors[i]))
      return FALSE;
  return TRUE;
}

static gboolean
elements_equal (const IrAttr *a, const IrAttr *b)
{
  switch (a->kind)
    {
    case IR_ATTR_FLOAT:
    case IR_ATTR_FLOATS:
      return memcmp (a->floats, b->floats, a->n * sizeof (float)) == 0;
    case IR_ATTR_INT:
    case IR_ATTR_INTS:
      return memcmp (a->ints, b->ints, a->n * sizeof (gint64)) == 0;
    case IR_ATTR_STRING:
    case IR_ATTR_STRINGS:
      return strings_equal (a, b);
    case IR_ATTR_TENSOR:
    case IR_ATTR_TENSORS:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_SPARSE_TENSORS:
      return tensors_equal (a, b);
    case IR_ATTR_GRAPH:
    case IR_ATTR_GRAPHS:
      return memcmp (a->graphs, b->graphs, a->n * sizeof (guint32)) == 0;
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
      return memcmp (a->types, b->types, a->n * sizeof (IrType *)) == 0;
    case IR_ATTR_UNDEFINED:
    case IR_N_ATTR_KINDS:
      break;
    }
  return TRUE;
}

/* Returns TRUE if name, kind and value are the same, bit for bit: -0 differs from 0, a NaN
 * equals itself. Documentation and unknown fields are not compared. @b: an attribute; types are
 * compared as pointers, so they must be of the same context. */
gboolean
ir_attr_equal (const IrAttr *a, const IrAttr *b)
{
  if (a == b)
    return TRUE;
  return strcmp (a->name, b->name) == 0 && a->kind == b->kind && a->n == b->n &&
         g_strcmp0 (a->ref_name, b->ref_name) == 0 && (a->n == 0 || elements_equal (a, b));
}

static guint
mix (guint hash, guint value)
{
  return (hash ^ value) * 16777619u;
}

static guint
hash_bytes (guint hash, gconstpointer data, gsize size)
{
  const guint8 *bytes = data;

  for (gsize i = 0; i < size; i++)
    hash = mix (hash, bytes[i]);
  return hash;
}

/* Equal for equal attributes */
guint
ir_attr_hash (const IrAttr *attr)
{
  guint hash = mix (mix (g_str_hash (attr->name), attr->kind), attr->n);

  if (attr->n == 0)
    return hash;
  switch (attr->kind)
    {
    case IR_ATTR_FLOAT:
    case IR_ATTR_FLOATS:
      return hash_bytes (hash, attr->floats, attr->n * sizeof (float));
    case IR_ATTR_INT:
    case IR_ATTR_INTS:
      return hash_bytes (hash, attr->ints, attr->n * sizeof (gint64));
    case IR_ATTR_STRING:
    case IR_ATTR_STRINGS:
      for (guint i = 0; i < attr->n; i++)
        hash = hash_bytes (hash, attr->strings[i].data, attr->strings[i].length);
      return hash;
    case IR_ATTR_TENSOR:
    case IR_ATTR_TENSORS:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_SPARSE_TENSORS:
      for (guint i = 0; i < attr->n; i++)
        hash = mix (hash, (guint) ir_tensor_hash (attr->tensors[i]));
      return hash;
    case IR_ATTR_GRAPH:
    case IR_ATTR_GRAPHS:
      return hash_bytes (hash, attr->graphs, attr->n * sizeof (guint32));
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
      return hash_bytes (hash, attr->types, attr->n * sizeof (IrType *));
    case IR_ATTR_UNDEFINED:
    case IR_N_ATTR_KINDS:
      break;
    }
  return hash;
}

/* -- text -- */

/* ONNX's name of it in the textual syntax: "float", "ints", "graph" … */
const char *
ir_attr_kind_name (IrAttrKind kind)
{
  static const char *const names[IR_N_ATTR_KINDS] = {
    "undefined",      "float",      "int",         "string",  "tensor", "graph",
    "floats",         "ints",       "strings",     "tensors", "graphs", "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos",
  };
  return (guint) kind < IR_N_ATTR_KINDS ? names[kind] : "undefined";
}

static void
append_tensor (GString *text, IrContext *context, const IrTensor *tensor, guint max_elements)
{
  g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
  g_autofree char *contents = ir_tensor_to_string (tensor, max_elements);

  g_string_append_printf (text, "%s %s", type, contents);
}

static void
append_element (GString *text, IrContext *context, const IrAttr *attr, guint i, guint max_elements)
{
  g_autofree char *string = NULL;

  switch (attr->kind)
    {
    case IR_ATTR_FLOAT:
    case IR_ATTR_FLOATS:
      g_string_append_printf (text, "%.9g", (double) attr->floats[i]);
      break;
    case IR_ATTR_INT:
    case IR_ATTR_INTS:
      g_string_append_printf (text, "%" G_GINT64_FORMAT, attr->ints[i]);
      break;
    case IR_ATTR_STRING:
    case IR_ATTR_STRINGS:
      string = g_utf8_make_valid (attr->strings[i].data, attr->strings[i].length);
      g_string_append_printf (text, "\"%s\"", string);
      break;
    case IR_ATTR_TENSOR:
    case IR_ATTR_TENSORS:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_SPARSE_TENSORS:
      append_tensor (text, context, attr->tensors[i], max_elements);
      break;
    case IR_ATTR_GRAPH:
    case IR_ATTR_GRAPHS:
      g_string_append_printf (text, "graph %u", attr->graphs[i]);
      break;
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
      string = ir_type_to_string (context, attr->types[i]);
      g_string_append (text, string);
      break;
    case IR_ATTR_UNDEFINED:
    case IR_N_ATTR_KINDS:
      break;
    }
}

static gboolean
is_single (IrAttrKind kind)
{
  return kind == IR_ATTR_FLOAT || kind == IR_ATTR_INT || kind == IR_ATTR_STRING ||
         kind == IR_ATTR_TENSOR || kind == IR_ATTR_GRAPH || kind == IR_ATTR_SPARSE_TENSOR ||
         kind == IR_ATTR_TYPE;
}

/* The value for people: "3", "[1, 2, ...]", "\"SAME_UPPER\"", "@alpha" */
char *
ir_attr_to_string (IrContext *context, const IrAttr *attr, guint max_elements)
{
  GString *text = g_string_new (NULL);

  if (attr->ref_name != NULL)
    g_string_append_printf (text, "@%s", attr->ref_name);
  else if (is_single (attr->kind) && attr->n == 1)
    append_element (text, context, attr, 0, max_elements);
  else
    {
      g_string_append_c (text, '[');
      for (guint i = 0; i < MIN (attr->n, max_elements); i++)
        {
          g_string_append (text, i > 0 ? ", " : "");
          append_element (text, context, attr, i, max_elements);
        }
      g_string_append (text, attr->n > max_elements ? ", ...]" : "]");
    }
  return g_string_free (text, FALSE);
}
