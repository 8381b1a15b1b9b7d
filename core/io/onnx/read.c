/* ONNX files, over the mapped file. Field numbers are those of onnx.proto; every reader below names
 * its message. What irscope does not know is kept as raw bytes and written back. The messages go
 * into a draft (draft.h), which becomes a model. */
#include "config.h"

#include "core/io/io.h"
#include "core/io/formats.h"
#include "core/io/onnx/onnx.h"

#include <string.h>

static IrDraftGraph *read_graph (IrOnnxReader *reader, const IrWireField *field, guint depth);

/* Nearly all names are, eight bytes at a time; without NUL. */
static gboolean
is_ascii (const guint8 *data, gsize length)
{
  const guint64 high = G_GUINT64_CONSTANT (0x8080808080808080),
                ones = G_GUINT64_CONSTANT (0x0101010101010101);
  gsize i = 0;

  for (; i + 8 <= length; i += 8)
    {
      guint64 word;
      memcpy (&word, data + i, 8);
      /* Below 128, taking 1 from a byte reaches the high bit only where it was 0. */
      if ((word & high) != 0 || ((word - ones) & high) != 0)
        return FALSE;
    }
  for (; i < length; i++)
    if (data[i] == 0 || data[i] >= 128)
      return FALSE;
  return TRUE;
}

/**
 * ir_onnx_intern:
 * @reader: a reader
 * @field: a string; any other field reads as ""
 *
 * Returns: (transfer none): valid UTF-8, interned, without NUL
 */
const char *
ir_onnx_intern (IrOnnxReader *reader, const IrWireField *field)
{
  const char *text = (const char *) field->data;
  gsize length = field->type == IR_WIRE_BYTES ? field->length : 0;
  g_autofree char *valid = NULL;

  if (length == 0)
    return ir_context_intern (reader->context, "");
  if (is_ascii (field->data, length) || g_utf8_validate_len (text, length, NULL))
    return ir_context_intern_len (reader->context, text, (gssize) length);
  valid = g_utf8_make_valid (text, (gssize) length);
  return ir_context_intern (reader->context, valid);
}

/* An empty text is as good as none. */
static const char *
optional_text (IrOnnxReader *reader, const IrWireField *field)
{
  const char *text = ir_onnx_intern (reader, field);

  return text[0] != '\0' ? text : NULL;
}

/**
 * ir_onnx_keep_unknown:
 * @unknown: (inout): bytes so far, %NULL if there are none
 * @field: a field that irscope does not know
 *
 * Keeps the field as it is, to be written back.
 */
void
ir_onnx_keep_unknown (GByteArray **unknown, const IrWireField *field)
{
  if (*unknown == NULL)
    *unknown = g_byte_array_new ();
  g_byte_array_append (*unknown, field->raw, (guint) field->raw_length);
}

/**
 * ir_onnx_take_unknown:
 * @unknown: (inout): fields that were kept; %NULL afterwards
 *
 * Returns: (transfer full) (nullable): their bytes
 */
GBytes *
ir_onnx_take_unknown (GByteArray **unknown)
{
  return *unknown != NULL ? g_byte_array_free_to_bytes (g_steal_pointer (unknown)) : NULL;
}

/**
 * ir_onnx_check_end:
 * @reader: a reader
 * @wire: a message that was read to where it goes
 * @what: what it is
 *
 * Makes a problem of a message that is damaged before its end.
 */
void
ir_onnx_check_end (IrOnnxReader *reader, const IrWire *wire, const char *what)
{
  gsize offset = (gsize) (wire->next - reader->base);

  if (wire->status == IR_WIRE_OK)
    return;
  ir_draft_problem (reader->draft, IR_SEVERITY_ERROR,
                    wire->status == IR_WIRE_TRUNCATED ? IR_PROBLEM_TRUNCATED : IR_PROBLEM_SYNTAX,
                    IR_DRAFT_NOWHERE,
                    wire->status == IR_WIRE_TRUNCATED
                        ? "Byte %" G_GSIZE_FORMAT ": %s ends in the middle of a field; what came "
                          "before is kept."
                        : "Byte %" G_GSIZE_FORMAT ": %s is damaged; what came before is kept.",
                    offset, what);
}

/* -- doc, metadata and unknown fields of any message -- */

typedef struct
{
  const char *doc;
  GPtrArray *keys, *values;
  GByteArray *unknown;
} Extra;

static void
read_pair (IrOnnxReader *reader, const IrWireField *field, Extra *extra)
{
  const char *key = ir_context_intern (reader->context, ""), *value = key;
  IrWire wire;
  IrWireField part;

  if (!ir_draft_spend (reader->draft))
    return;
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 1)
      key = ir_onnx_intern (reader, &part);
    else if (part.id == 2)
      value = ir_onnx_intern (reader, &part);
  ir_onnx_check_end (reader, &wire, "a metadata entry");
  if (extra->keys == NULL)
    {
      extra->keys = g_ptr_array_new ();
      extra->values = g_ptr_array_new ();
    }
  g_ptr_array_add (extra->keys, (gpointer) key);
  g_ptr_array_add (extra->values, (gpointer) value);
}

static const IrProps *
extra_props (IrOnnxReader *reader, Extra *extra)
{
  const IrProps *props = NULL;

  if (extra->keys != NULL)
    props = ir_props_new (reader->context, extra->keys->len,
                          (const char *const *) extra->keys->pdata,
                          (const char *const *) extra->values->pdata);
  g_clear_pointer (&extra->keys, g_ptr_array_unref);
  g_clear_pointer (&extra->values, g_ptr_array_unref);
  return props;
}

static const IrExtra *
extra_finish (IrOnnxReader *reader, Extra *extra)
{
  const IrProps *props = extra_props (reader, extra);
  g_autoptr (GBytes) unknown = ir_onnx_take_unknown (&extra->unknown);

  return ir_extra_new (reader->context, extra->doc, props, unknown);
}

/* -- ValueInfoProto: name 1, type 2, doc_string 3, metadata_props 4 -- */

static void
read_value_info (IrOnnxReader *reader, const IrWireField *field, GArray *infos)
{
  IrDraftValue info = { 0 };
  Extra extra = { 0 };
  IrWire wire;
  IrWireField part;

  if (!ir_draft_spend (reader->draft))
    return;
  info.name = ir_context_intern (reader->context, "");
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 1)
      info.name = ir_onnx_intern (reader, &part);
    else if (part.id == 2 && part.type == IR_WIRE_BYTES)
      info.type = ir_onnx_read_type (reader, &part, 0);
    else if (part.id == 3)
      extra.doc = ir_onnx_intern (reader, &part);
    else if (part.id == 4)
      read_pair (reader, &part, &extra);
    else
      ir_onnx_keep_unknown (&extra.unknown, &part);
  ir_onnx_check_end (reader, &wire, "a value's declaration");
  info.extra = extra_finish (reader, &extra);
  g_array_append_val (infos, info);
}

/* -- AttributeProto: name 1, f 2, i 3, s 4, t 5, g 6, floats 7, ints 8, strings 9, tensors 10,
 *    graphs 11, doc_string 13, tp 14, type_protos 15, type 20, ref_attr_name 21, sparse_tensor 22,
 *    sparse_tensors 23 -- */

typedef struct
{
  const char *name, *ref_name, *doc;
  gint64 kind;     /* as written; 0 in files before IR version 2 */
  IrAttrKind seen; /* from the fields that are there */
  GArray *numbers; /* of guint64: f, i, floats, ints */
  GArray *strings; /* of IrString */
  GPtrArray *tensors, *graphs, *types;
  gboolean broken; /* something of it could not be read */
  GByteArray *unknown;
} AttrParts;

static const struct
{
  guint32 id;
  IrAttrKind kind;
} attr_fields[] = {
  { 2, IR_ATTR_FLOAT },          { 3, IR_ATTR_INT },
  { 4, IR_ATTR_STRING },         { 5, IR_ATTR_TENSOR },
  { 6, IR_ATTR_GRAPH },          { 7, IR_ATTR_FLOATS },
  { 8, IR_ATTR_INTS },           { 9, IR_ATTR_STRINGS },
  { 10, IR_ATTR_TENSORS },       { 11, IR_ATTR_GRAPHS },
  { 14, IR_ATTR_TYPE },          { 15, IR_ATTR_TYPES },
  { 22, IR_ATTR_SPARSE_TENSOR }, { 23, IR_ATTR_SPARSE_TENSORS },
};

static IrAttrKind
kind_of_field (guint32 id)
{
  for (guint i = 0; i < G_N_ELEMENTS (attr_fields); i++)
    if (attr_fields[i].id == id)
      return attr_fields[i].kind;
  return IR_ATTR_UNDEFINED;
}

static void
read_attr_tensor (IrOnnxReader *reader, const IrWireField *field, gboolean sparse, AttrParts *attr)
{
  g_autofree char *what = g_strdup_printf ("Attribute %s", attr->name);
  IrTensor *tensor = sparse ? ir_onnx_read_sparse_tensor (reader, field, what, NULL)
                            : ir_onnx_read_tensor (reader, field, what, NULL, NULL);

  if (tensor != NULL)
    g_ptr_array_add (attr->tensors, tensor);
  else
    attr->broken = TRUE;
}

static void
read_attr_graph (IrOnnxReader *reader, const IrWireField *field, guint depth, AttrParts *attr)
{
  IrDraftGraph *graph = read_graph (reader, field, depth + 1);

  if (graph != NULL)
    g_ptr_array_add (attr->graphs, graph);
  else
    attr->broken = TRUE;
}

static void
read_attr_value (
    IrOnnxReader *reader, const IrWireField *field, IrAttrKind kind, guint depth, AttrParts *attr)
{
  gboolean ok = TRUE;

  /* A present single field counts only if it agrees with the type that is written. */
  if (attr->kind != 0 && attr->kind != (gint64) kind)
    return;
  attr->seen = kind;
  if (kind == IR_ATTR_FLOAT || kind == IR_ATTR_FLOATS)
    ok = ir_wire_field_numbers (field, IR_WIRE_FIXED32, attr->numbers);
  else if (kind == IR_ATTR_INT || kind == IR_ATTR_INTS)
    ok = ir_wire_field_numbers (field, IR_WIRE_VARINT, attr->numbers);
  else if (field->type != IR_WIRE_BYTES)
    ok = FALSE;
  else if (kind == IR_ATTR_STRING || kind == IR_ATTR_STRINGS)
    {
      IrString string = { field->length, (const char *) field->data };

      g_array_append_val (attr->strings, string);
    }
  else if (kind == IR_ATTR_TENSOR || kind == IR_ATTR_TENSORS)
    read_attr_tensor (reader, field, FALSE, attr);
  else if (kind == IR_ATTR_SPARSE_TENSOR || kind == IR_ATTR_SPARSE_TENSORS)
    read_attr_tensor (reader, field, TRUE, attr);
  else if (kind == IR_ATTR_GRAPH || kind == IR_ATTR_GRAPHS)
    read_attr_graph (reader, field, depth, attr);
  else
    g_ptr_array_add (attr->types, (gpointer) ir_onnx_read_type (reader, field, 0));
  attr->broken |= !ok;
}

static gboolean
is_list (IrAttrKind kind)
{
  return (kind >= IR_ATTR_FLOATS && kind <= IR_ATTR_GRAPHS) || kind == IR_ATTR_SPARSE_TENSORS ||
         kind == IR_ATTR_TYPES;
}

static const IrAttr *
numbers_attr (IrOnnxReader *reader, const AttrParts *attr, IrAttrKind kind)
{
  IrContext *context = reader->context;
  const guint64 *numbers = (const guint64 *) (gpointer) attr->numbers->data;
  guint n = attr->numbers->len;
  /* proto3 writers leave a zero out. */
  guint64 last = n > 0 ? numbers[n - 1] : 0;

  if (kind == IR_ATTR_INT)
    return ir_attr_int (context, attr->name, (gint64) last);
  if (kind == IR_ATTR_INTS)
    return ir_attr_ints (context, attr->name, (const gint64 *) numbers, n);
  g_autofree float *floats = g_new (float, n + 1);
  for (guint i = 0; i < MAX (n, 1); i++)
    {
      guint32 bits = (guint32) (n > 0 ? numbers[i] : 0);

      memcpy (&floats[i], &bits, sizeof bits);
    }
  return kind == IR_ATTR_FLOAT ? ir_attr_float (context, attr->name, floats[MAX (n, 1) - 1])
                               : ir_attr_floats (context, attr->name, floats, n);
}

static const IrAttr *
objects_attr (IrOnnxReader *reader, const AttrParts *attr, IrAttrKind kind)
{
  IrContext *context = reader->context;
  IrTensor *const *tensors = (IrTensor *const *) attr->tensors->pdata;
  guint n = attr->tensors->len;
  const IrType *const *types = (const IrType *const *) attr->types->pdata, *const no_type = NULL;

  if (kind == IR_ATTR_TYPE)
    return ir_attr_types (context, attr->name, kind, attr->types->len > 0 ? types : &no_type, 1);
  if (kind == IR_ATTR_TYPES)
    return ir_attr_types (context, attr->name, kind, types, attr->types->len);
  if (kind == IR_ATTR_TENSORS || kind == IR_ATTR_SPARSE_TENSORS)
    {
      const IrAttr *list = ir_attr_tensors (context, attr->name, tensors, n);

      return kind == IR_ATTR_TENSORS ? list : ir_attr_annotate (context, list, kind, NULL, NULL);
    }
  if (n == 0)
    return NULL;
  return ir_attr_annotate (context, ir_attr_tensor (context, attr->name, tensors[n - 1]), kind,
                           NULL, NULL);
}

static const IrAttr *
make_attr (IrOnnxReader *reader, const AttrParts *attr, IrAttrKind kind)
{
  IrContext *context = reader->context;
  const IrString *strings = (const IrString *) (gpointer) attr->strings->data;
  guint n = attr->strings->len;

  if (attr->ref_name != NULL)
    return ir_attr_ref (context, attr->name, kind, attr->ref_name);
  if (kind == IR_ATTR_FLOAT || kind == IR_ATTR_FLOATS || kind == IR_ATTR_INT ||
      kind == IR_ATTR_INTS)
    return numbers_attr (reader, attr, kind);
  if (kind == IR_ATTR_STRING)
    return ir_attr_string (context, attr->name, n > 0 ? strings[n - 1].data : "",
                           n > 0 ? (gssize) strings[n - 1].length : 0);
  if (kind == IR_ATTR_STRINGS)
    return ir_attr_strings (context, attr->name, strings, n);
  return objects_attr (reader, attr, kind);
}

/* The type comes after the values on the wire, so it is looked for first. */
static void
scan_attr_head (IrOnnxReader *reader, const IrWireField *field, AttrParts *attr)
{
  IrWire wire;
  IrWireField part;

  attr->name = ir_context_intern (reader->context, "");
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 1)
      attr->name = ir_onnx_intern (reader, &part);
    else if (part.id == 13)
      attr->doc = optional_text (reader, &part);
    else if (part.id == 20 && part.type == IR_WIRE_VARINT)
      attr->kind = (gint64) part.number;
    else if (part.id == 21)
      attr->ref_name = optional_text (reader, &part);
}

static void
scan_attr_body (IrOnnxReader *reader, const IrWireField *field, guint depth, AttrParts *attr)
{
  IrWire wire;
  IrWireField part;

  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    {
      IrAttrKind kind = kind_of_field (part.id);

      if (kind != IR_ATTR_UNDEFINED)
        read_attr_value (reader, &part, kind, depth, attr);
      else if (part.id != 1 && part.id != 13 && part.id != 20 && part.id != 21)
        ir_onnx_keep_unknown (&attr->unknown, &part);
    }
  ir_onnx_check_end (reader, &wire, "an attribute");
}

static void
finish_attr (IrOnnxReader *reader, AttrParts *attr, const IrDraftNode *node, GArray *attrs)
{
  IrAttrKind kind = attr->kind > 0 && attr->kind < IR_N_ATTR_KINDS ? (IrAttrKind) attr->kind
                                                                   : attr->seen;
  GBytes *unknown = ir_draft_own_bytes (reader->draft, ir_onnx_take_unknown (&attr->unknown));
  IrDraftAttr result = { 0 };

  if ((kind == IR_ATTR_GRAPH || kind == IR_ATTR_GRAPHS) && attr->ref_name == NULL)
    {
      result = (IrDraftAttr){ .graphs = ir_draft_pointers (reader->draft),
                              .name = attr->name,
                              .kind = kind,
                              .doc = attr->doc,
                              .unknown = unknown };
      for (guint i = 0; i < attr->graphs->len; i++)
        g_ptr_array_add (result.graphs, attr->graphs->pdata[i]);
    }
  else if (kind != IR_ATTR_UNDEFINED && (!attr->broken || is_list (kind)))
    result.attr = make_attr (reader, attr, kind);
  if (result.attr != NULL && (attr->doc != NULL || unknown != NULL))
    result.attr = ir_attr_annotate (reader->context, result.attr, result.attr->kind, attr->doc,
                                    unknown);
  if (result.attr != NULL || result.graphs != NULL)
    g_array_append_val (attrs, result);
  if (attr->broken || (result.attr == NULL && result.graphs == NULL))
    ir_draft_problem (reader->draft, IR_SEVERITY_ERROR, IR_PROBLEM_BAD_ATTRIBUTE, IR_DRAFT_NOWHERE,
                      "%s (%s): attribute %s has no value that can be read (type %" G_GINT64_FORMAT
                      ").",
                      node != NULL ? node->name : "function", node != NULL ? node->op_type : "",
                      attr->name, attr->kind);
}

static void
read_attr (IrOnnxReader *reader,
           const IrWireField *field,
           const IrDraftNode *node,
           guint depth,
           GArray *attrs)
{
  AttrParts attr = { 0 };

  if (!ir_draft_spend (reader->draft))
    return;
  attr.numbers = g_array_new (FALSE, FALSE, sizeof (guint64));
  attr.strings = g_array_new (FALSE, FALSE, sizeof (IrString));
  attr.tensors = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  attr.graphs = g_ptr_array_new ();
  attr.types = g_ptr_array_new ();
  scan_attr_head (reader, field, &attr);
  scan_attr_body (reader, field, depth, &attr);
  finish_attr (reader, &attr, node, attrs);
  g_array_unref (attr.numbers);
  g_array_unref (attr.strings);
  g_ptr_array_unref (attr.tensors);
  g_ptr_array_unref (attr.graphs);
  g_ptr_array_unref (attr.types);
  g_clear_pointer (&attr.unknown, g_byte_array_unref);
}

/* -- NodeProto: input 1, output 2, name 3, op_type 4, attribute 5, doc_string 6, domain 7,
 *    overload 8, metadata_props 9; device_configurations 10 is kept raw -- */

static const char *
intern_domain (IrOnnxReader *reader, const IrWireField *field)
{
  const char *domain = ir_onnx_intern (reader, field);

  return strcmp (domain, "ai.onnx") == 0 ? ir_context_intern (reader->context, "") : domain;
}

static void
read_name (IrOnnxReader *reader, const IrWireField *field, IrDraftNames *names)
{
  const char *name = ir_onnx_intern (reader, field);

  if (ir_draft_spend (reader->draft))
    ir_draft_names_add (reader->draft, names, name);
}

static void
read_node_field (IrOnnxReader *reader, const IrWireField *field, IrDraftNode *node, Extra *extra)
{
  switch (field->id)
    {
    case 1:
      read_name (reader, field, &node->inputs);
      break;
    case 2:
      read_name (reader, field, &node->outputs);
      break;
    case 3:
      node->name = ir_onnx_intern (reader, field);
      break;
    case 4:
      node->op_type = ir_onnx_intern (reader, field);
      break;
    case 5:
      break; /* when the name is known */
    case 6:
      extra->doc = ir_onnx_intern (reader, field);
      break;
    case 7:
      node->domain = intern_domain (reader, field);
      break;
    case 8:
      node->overload = ir_onnx_intern (reader, field);
      break;
    case 9:
      read_pair (reader, field, extra);
      break;
    default:
      ir_onnx_keep_unknown (&extra->unknown, field);
    }
}

static void
read_node (IrOnnxReader *reader, const IrWireField *field, guint depth, GPtrArray *nodes)
{
  IrDraftNode *node;
  Extra extra = { 0 };
  IrWire wire;
  IrWireField part;
  guint n_parts[6] = { 0 }; /* fields of a number: an input, an output and an attribute each */

  if (!ir_draft_spend (reader->draft))
    return;
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id < G_N_ELEMENTS (n_parts))
      n_parts[part.id]++;
  node = ir_draft_node_new_sized (reader->draft, n_parts[1], n_parts[2], n_parts[5]);
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    read_node_field (reader, &part, node, &extra);
  ir_onnx_check_end (reader, &wire, "a node");
  ir_wire_init_field (&wire, field);
  while (n_parts[5] > 0 && ir_wire_next (&wire, &part))
    if (part.id == 5)
      read_attr (reader, &part, node, depth, node->attrs);
  node->extra = extra_finish (reader, &extra);
  ir_draft_node_take_metadata (reader->draft, node);
  g_ptr_array_add (nodes, node);
}

/* -- GraphProto: node 1, name 2, initializer 5, doc_string 10, input 11, output 12, value_info 13,
 *    sparse_initializer 15, metadata_props 16; quantization_annotation 14 is kept raw -- */

static void
read_initializer (IrOnnxReader *reader, const IrWireField *field, gboolean sparse, GArray *list)
{
  IrDraftValue info = { 0 };
  IrTensor *tensor;

  if (!ir_draft_spend (reader->draft))
    return;
  tensor = sparse ? ir_onnx_read_sparse_tensor (reader, field, "Sparse initializer", &info.name)
                  : ir_onnx_read_tensor (reader, field, "Initializer", &info.name, &info.type);
  info.tensor = ir_draft_own_tensor (reader->draft, tensor);
  info.omitted = tensor == NULL;
  g_array_append_val (list, info);
}

static void
read_graph_field (
    IrOnnxReader *reader, const IrWireField *field, guint depth, IrDraftGraph *graph, Extra *extra)
{
  switch (field->id)
    {
    case 1:
      read_node (reader, field, depth, graph->nodes);
      break;
    case 2:
      graph->name = ir_onnx_intern (reader, field);
      break;
    case 5:
    case 15:
      read_initializer (reader, field, field->id == 15, graph->initializers);
      break;
    case 10:
      extra->doc = ir_onnx_intern (reader, field);
      break;
    case 11:
      read_value_info (reader, field, graph->inputs);
      break;
    case 12:
      read_value_info (reader, field, graph->outputs);
      break;
    case 13:
      read_value_info (reader, field, graph->infos);
      break;
    case 16:
      read_pair (reader, field, extra);
      break;
    default:
      ir_onnx_keep_unknown (&extra->unknown, field);
    }
}

static IrDraftGraph *
read_graph (IrOnnxReader *reader, const IrWireField *field, guint depth)
{
  IrDraftGraph *graph;
  Extra extra = { 0 };
  IrWire wire;
  IrWireField part;

  if (depth > IR_DRAFT_MAX_DEPTH)
    {
      ir_draft_problem (reader->draft, IR_SEVERITY_ERROR, IR_PROBLEM_LIMIT, IR_DRAFT_NOWHERE,
                        "Graphs are nested more than %d deep; the inner ones are left out.",
                        IR_DRAFT_MAX_DEPTH);
      return NULL;
    }
  if (!ir_draft_spend (reader->draft))
    return NULL;
  graph = ir_draft_graph_new (reader->draft);
  ir_wire_init_field (&wire, field);
  while (!reader->draft->stopped && ir_wire_next (&wire, &part))
    read_graph_field (reader, &part, depth, graph, &extra);
  ir_onnx_check_end (reader, &wire, "a graph");
  graph->extra = extra_finish (reader, &extra);
  return graph;
}

/* -- OperatorSetIdProto: domain 1, version 2 -- */

#define MAX_OPSETS 1000

static void
read_opset (IrOnnxReader *reader, const IrWireField *field, GArray *opsets)
{
  IrOpset opset = { ir_context_intern (reader->context, ""), 0 };
  IrWire wire;
  IrWireField part;

  if (opsets->len == MAX_OPSETS)
    return;
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 1)
      opset.domain = intern_domain (reader, &part);
    else if (part.id == 2 && part.type == IR_WIRE_VARINT)
      opset.version = (gint64) part.number;
  ir_onnx_check_end (reader, &wire, "an opset import");
  g_array_append_val (opsets, opset);
}

/* -- FunctionProto: name 1, input 4, output 5, attribute 6, node 7, doc_string 8, opset_import 9,
 *    domain 10, attribute_proto 11, value_info 12, overload 13, metadata_props 14 -- */

typedef struct
{
  IrDraftGraph *graph;
  IrFunctionInfo info;
  IrDraftNames inputs, outputs, attr_names;
  GArray *attrs;  /* of IrDraftAttr */
  GArray *opsets; /* of IrOpset */
  Extra extra;
} FunctionParts;

static void
read_function_field (IrOnnxReader *reader, const IrWireField *field, FunctionParts *function)
{
  switch (field->id)
    {
    case 1:
      function->info.name = ir_onnx_intern (reader, field);
      break;
    case 4:
      read_name (reader, field, &function->inputs);
      break;
    case 5:
      read_name (reader, field, &function->outputs);
      break;
    case 6:
      read_name (reader, field, &function->attr_names);
      break;
    case 7:
      read_node (reader, field, 0, function->graph->nodes);
      break;
    case 8:
      function->extra.doc = ir_onnx_intern (reader, field);
      break;
    case 9:
      read_opset (reader, field, function->opsets);
      break;
    case 10:
      function->info.domain = intern_domain (reader, field);
      break;
    case 11:
      read_attr (reader, field, NULL, 0, function->attrs);
      break;
    case 12:
      read_value_info (reader, field, function->graph->infos);
      break;
    case 13:
      function->info.overload = ir_onnx_intern (reader, field);
      break;
    case 14:
      read_pair (reader, field, &function->extra);
      break;
    default:
      ir_onnx_keep_unknown (&function->extra.unknown, field);
    }
}

static void
names_to_values (const IrDraftNames *names, GArray *values)
{
  for (guint i = 0; i < names->n; i++)
    {
      IrDraftValue value = { .name = names->names[i] };

      g_array_append_val (values, value);
    }
}

static void
read_function (IrOnnxReader *reader, const IrWireField *field)
{
  const char *empty = ir_context_intern (reader->context, "");
  FunctionParts function = { 0 };
  IrWire wire;
  IrWireField part;

  if (!ir_draft_spend (reader->draft))
    return;
  function.graph = ir_draft_graph_new (reader->draft);
  function.info.domain = function.info.name = function.info.overload = empty;
  function.attrs = ir_draft_array (reader->draft, sizeof (IrDraftAttr));
  function.opsets = ir_draft_array (reader->draft, sizeof (IrOpset));
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    read_function_field (reader, &part, &function);
  ir_onnx_check_end (reader, &wire, "a function");
  names_to_values (&function.inputs, function.graph->inputs);
  names_to_values (&function.outputs, function.graph->outputs);
  function.graph->name = function.info.name;
  function.graph->function = ir_draft_function_info (
      reader->draft, function.info.domain, function.info.name, function.info.overload,
      &function.attr_names, function.attrs, function.opsets);
  function.graph->extra = extra_finish (reader, &function.extra);
  g_ptr_array_add (reader->draft->functions, function.graph);
}

/* -- ModelProto: ir_version 1, producer_name 2, producer_version 3, domain 4, model_version 5,
 *    doc_string 6, graph 7, opset_import 8, metadata_props 14, functions 25; training_info 20 and
 *    configuration 26 are kept raw -- */

static void
read_model_field (IrOnnxReader *reader, const IrWireField *field, Extra *extra)
{
  IrDraft *draft = reader->draft;

  switch (field->id)
    {
    case 1:
      draft->info.ir_version = (gint64) field->number;
      break;
    case 2:
      draft->info.producer_name = optional_text (reader, field);
      break;
    case 3:
      draft->info.producer_version = optional_text (reader, field);
      break;
    case 4:
      draft->info.domain = optional_text (reader, field);
      break;
    case 5:
      draft->info.model_version = (gint64) field->number;
      break;
    case 6:
      extra->doc = ir_onnx_intern (reader, field);
      break;
    case 7:
      if (field->type == IR_WIRE_BYTES && draft->main == NULL)
        draft->main = read_graph (reader, field, 0);
      break;
    case 8:
      read_opset (reader, field, draft->opsets);
      break;
    case 14:
      read_pair (reader, field, extra);
      break;
    case 25:
      read_function (reader, field);
      break;
    default:
      ir_onnx_keep_unknown (&extra->unknown, field);
    }
}

static void
read_model (IrOnnxReader *reader, const guint8 *data, gsize length)
{
  IrDraft *draft = reader->draft;
  Extra extra = { 0 };
  const IrExtra *finished;
  IrWire wire;
  IrWireField part;

  ir_wire_init (&wire, data, length);
  while (ir_wire_next (&wire, &part))
    read_model_field (reader, &part, &extra);
  ir_onnx_check_end (reader, &wire, "the model");
  /* A model that is cut keeps the longest field it was in: mostly the graph. */
  if (wire.status == IR_WIRE_TRUNCATED && draft->main == NULL && part.id == 7 && part.raw != NULL)
    {
      IrWireField rest = { .id = 7, .type = IR_WIRE_BYTES, .raw = part.raw };
      IrWire tail;

      ir_wire_init (&tail, part.raw, length - (gsize) (part.raw - data));
      tail.next++;
      while (tail.next < tail.end && (*tail.next & 0x80) != 0)
        tail.next++;
      rest.data = MIN (tail.next + 1, tail.end);
      rest.length = (gsize) (tail.end - rest.data);
      draft->main = read_graph (reader, &rest, 0);
    }
  finished = extra_finish (reader, &extra);
  if (finished != NULL)
    draft->info.extra = *finished;
}

/* Whether anything in the bytes looked like a model at all. */
static gboolean
is_model (const IrDraft *draft)
{
  return draft->main != NULL || (draft->info.ir_version > 0 && draft->opsets->len > 0);
}

static void
add_file (GPtrArray *keep_alive, IrMappedFile *file)
{
  g_ptr_array_set_free_func (keep_alive, (GDestroyNotify) ir_mapped_file_unref);
  if (file != NULL)
    g_ptr_array_add (keep_alive, file);
}

static IrModel *
read_bytes (
    GBytes *bytes, const char *path, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrModel) model = ir_model_new ();
  g_autoptr (IrDraft) draft = ir_draft_new (model->context, problems, cancellable);
  g_autofree char *folder = path != NULL ? g_path_get_dirname (path) : NULL;
  g_autoptr (GHashTable) external_files = g_hash_table_new (NULL, NULL);
  IrOnnxReader reader = { draft,          model->context,   bytes, NULL, folder,
                          external_files, model->keep_alive };
  gsize length;

  add_file (model->keep_alive, NULL);
  reader.base = g_bytes_get_data (bytes, &length);
  if (length > 0)
    read_model (&reader, reader.base, length);
  if (draft->stopped)
    return NULL;
  if (!is_model (draft))
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT,
                   "%s: is no ONNX model: no graph was found in its %" G_GSIZE_FORMAT " bytes.",
                   path != NULL ? path : "The data", length);
      return NULL;
    }
  if (path != NULL)
    model->path = ir_context_intern (model->context, path);
  ir_draft_build (draft, model);
  return g_steal_pointer (&model);
}

/**
 * ir_onnx_read_bytes:
 * @bytes: a ModelProto; tensors become slices of it
 * @path: (nullable): where it is from: external data is looked for in its folder
 * @problems: (nullable): gets the findings
 * @error: return location for an error
 *
 * Reads a model. Whatever is damaged or missing is a problem, and the rest is kept.
 *
 * Fails with %IR_IO_ERROR_FORMAT if no model can be recognised in the bytes.
 *
 * Returns: (transfer full) (nullable): the model
 */
IrModel *
ir_onnx_read_bytes (GBytes *bytes, const char *path, GPtrArray *problems, GError **error)
{
  return read_bytes (bytes, path, problems, NULL, error);
}

/**
 * ir_onnx_read_file:
 * @path: an ONNX file
 * @problems: (nullable): gets the findings
 * @cancellable: (nullable): what may stop reading; then there is no error
 * @error: return location for an error
 *
 * Maps the file and reads it. Weights stay in the file's pages.
 *
 * Returns: (transfer full) (nullable): the model
 */
IrModel *
ir_onnx_read_file (const char *path, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrMappedFile) file = ir_mapped_file_open (path, error);
  g_autoptr (GBytes) bytes = NULL;
  IrModel *model;

  if (file == NULL)
    return NULL;
  bytes = ir_mapped_file_bytes (file);
  ir_mapped_file_set_scattered (file, TRUE);
  model = read_bytes (bytes, path, problems, cancellable, error);
  ir_mapped_file_set_scattered (file, FALSE);
  if (model != NULL)
    add_file (model->keep_alive, g_steal_pointer (&file));
  return model;
}
