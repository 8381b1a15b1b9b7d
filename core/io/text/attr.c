#include "config.h"

#include "core/io/text/text.h"

#include <string.h>

const char *const ir_text_kind_names[IR_N_ATTR_KINDS] = {
  [IR_ATTR_FLOAT] = "float",
  [IR_ATTR_INT] = "int",
  [IR_ATTR_STRING] = "string",
  [IR_ATTR_TENSOR] = "tensor",
  [IR_ATTR_GRAPH] = "graph",
  [IR_ATTR_FLOATS] = "floats",
  [IR_ATTR_INTS] = "ints",
  [IR_ATTR_STRINGS] = "strings",
  [IR_ATTR_TENSORS] = "tensors",
  [IR_ATTR_GRAPHS] = "graphs",
  [IR_ATTR_SPARSE_TENSOR] = "sparse_tensor",
  [IR_ATTR_SPARSE_TENSORS] = "sparse_tensors",
  [IR_ATTR_TYPE] = "type_proto",
  [IR_ATTR_TYPES] = "type_protos",
};

/* An attribute while it is read: all of its elements are of one single kind. */
typedef struct
{
  const char *name, *ref_name;
  IrAttrKind declared; /* UNDEFINED if no kind is written */
  IrAttrKind element;  /* single kind of the elements so far */
  gboolean is_list;
  GArray *ints;       /* of gint64 */
  GArray *floats;     /* of float */
  GArray *strings;    /* of IrString, in the context */
  GPtrArray *objects; /* tensors, types, graphs */
} Value;

/**
 * ir_text_single_kind:
 * @kind: a kind of attribute
 *
 * Returns: FLOAT of FLOATS, and so on; a single kind is its own
 */
IrAttrKind
ir_text_single_kind (IrAttrKind kind)
{
  switch (kind)
    {
    case IR_ATTR_FLOATS:
      return IR_ATTR_FLOAT;
    case IR_ATTR_INTS:
      return IR_ATTR_INT;
    case IR_ATTR_STRINGS:
      return IR_ATTR_STRING;
    case IR_ATTR_TENSORS:
      return IR_ATTR_TENSOR;
    case IR_ATTR_GRAPHS:
      return IR_ATTR_GRAPH;
    case IR_ATTR_SPARSE_TENSORS:
      return IR_ATTR_SPARSE_TENSOR;
    case IR_ATTR_TYPES:
      return IR_ATTR_TYPE;
    case IR_ATTR_UNDEFINED:
    case IR_ATTR_FLOAT:
    case IR_ATTR_INT:
    case IR_ATTR_STRING:
    case IR_ATTR_TENSOR:
    case IR_ATTR_GRAPH:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_TYPE:
    case IR_N_ATTR_KINDS:
      break;
    }
  return kind;
}

static IrAttrKind
list_of (IrAttrKind kind)
{
  for (guint i = 1; i < IR_N_ATTR_KINDS; i++)
    if (i != kind && ir_text_single_kind ((IrAttrKind) i) == kind)
      return (IrAttrKind) i;
  return kind;
}

static gboolean
settle (IrTextParser *parser, Value *value, IrAttrKind kind)
{
  if (value->element != IR_ATTR_UNDEFINED && value->element != kind)
    return ir_text_fail (&parser->lexer, "attribute %s needs a value of kind %s before this",
                         value->name, ir_text_kind_names[value->element]);
  value->element = kind;
  return TRUE;
}

static void
add_float (Value *value, double number)
{
  float single = (float) number;

  g_array_append_val (value->floats, single);
}

static gboolean
read_number (IrTextParser *parser, Value *value)
{
  g_autoptr (GString) string = g_string_new (NULL);
  IrTextLiteral literal = { .string = string };
  gint64 number;

  if (!ir_text_literal (&parser->lexer, &literal))
    return FALSE;
  if (literal.kind == IR_TEXT_STRING)
    {
      IrString copy = { string->len, NULL };

      copy.data = ir_context_dup (parser->context, string->str, string->len + 1);
      g_array_append_val (value->strings, copy);
      return settle (parser, value, IR_ATTR_STRING);
    }
  /* An integer may stand for a float. */
  if (literal.kind == IR_TEXT_FLOAT || value->element == IR_ATTR_FLOAT)
    {
      if (value->element == IR_ATTR_INT && value->declared == IR_ATTR_UNDEFINED)
        {
          for (guint i = 0; i < value->ints->len; i++)
            add_float (value, (double) g_array_index (value->ints, gint64, i));
          g_array_set_size (value->ints, 0);
          value->element = IR_ATTR_FLOAT;
        }
      add_float (value, literal.number);
      return settle (parser, value, IR_ATTR_FLOAT);
    }
  if (!ir_text_literal_int64 (&literal, &number))
    return ir_text_fail (&parser->lexer, "an integer of 64 bits is needed before this");
  g_array_append_val (value->ints, number);
  return settle (parser, value, IR_ATTR_INT);
}

static gboolean
read_bytes (IrTextParser *parser, Value *value)
{
  g_autoptr (GString) text = g_string_new (NULL);
  IrString string = { 0, NULL };
  g_autofree guchar *data = NULL;
  gsize length;
  char *copy;

  parser->lexer.next += strlen ("bytes");
  if (!ir_text_string (&parser->lexer, text))
    return FALSE;
  data = g_base64_decode (text->str, &length);
  copy = ir_context_alloc (parser->context, length + 1);
  memcpy (copy, data, length);
  string = (IrString){ length, copy };
  g_array_append_val (value->strings, string);
  return settle (parser, value, IR_ATTR_STRING);
}

/* A type, or a type with contents: a tensor. */
static gboolean
read_typed (IrTextParser *parser, Value *value, const char *tensor_name)
{
  const IrType *type;
  const char *name = NULL;
  IrTensor *tensor;

  if (!ir_text_read_type (parser, &type, 0))
    return FALSE;
  if (value->element == IR_ATTR_TYPE ||
      (!ir_text_at_contents (parser) && ir_text_peek (&parser->lexer) != '=' &&
       !ir_text_at_name (&parser->lexer)))
    {
      g_ptr_array_add (value->objects, (gpointer) type);
      return settle (parser, value, IR_ATTR_TYPE);
    }
  if (!ir_text_at_contents (parser) && ir_text_at_name (&parser->lexer) &&
      !ir_text_name (&parser->lexer, "a tensor's name", &name))
    return FALSE;
  ir_text_match (&parser->lexer, '=');
  if (!ir_text_read_contents (parser, type, tensor_name, &tensor))
    return FALSE;
  if (tensor == NULL)
    return ir_text_fail (&parser->lexer, "attribute %s needs its tensor before this", value->name);
  if (name != NULL && ir_tensor_origin (tensor) == NULL)
    {
      IrTensorOrigin origin = { .name = name, .offset = -1, .length = -1 };

      ir_tensor_set_origin (tensor, &origin);
    }
  g_ptr_array_add (value->objects, ir_draft_own_tensor (parser->draft, tensor));
  return settle (parser, value,
                 type->kind == IR_TYPE_SPARSE_TENSOR ? IR_ATTR_SPARSE_TENSOR : IR_ATTR_TENSOR);
}

static gboolean
at_special_number (IrTextParser *parser)
{
  return ir_text_at_word (&parser->lexer, "nan") || ir_text_at_word (&parser->lexer, "inf") ||
         ir_text_at_word (&parser->lexer, "infinity");
}

static gboolean
read_single (IrTextParser *parser, Value *value, const char *tensor_name, guint depth)
{
  IrTextLexer *lexer = &parser->lexer;
  IrDraftGraph *graph;
  char c = ir_text_peek (lexer);

  if (ir_text_match (lexer, '@'))
    return ir_text_name (lexer, "the name of an attribute", &value->ref_name);
  if (ir_text_at_prefixed_string (lexer, "bytes"))
    return read_bytes (parser, value);
  if (value->element == IR_ATTR_TYPE || ir_text_at_type (parser))
    return read_typed (parser, value, tensor_name);
  /* A quoted graph name is told from a string by the kind that is written. */
  if ((!g_ascii_isalpha (c) && c != '_' && value->element != IR_ATTR_GRAPH) ||
      (at_special_number (parser) && value->element != IR_ATTR_GRAPH))
    return read_number (parser, value);
  if (!ir_text_read_graph (parser, depth + 1, &graph))
    return FALSE;
  g_ptr_array_add (value->objects, graph);
  return settle (parser, value, IR_ATTR_GRAPH);
}

static gboolean
read_kind (IrTextParser *parser, Value *value)
{
  gsize length;
  const char *text;

  if (!ir_text_match (&parser->lexer, ':'))
    return TRUE;
  text = ir_text_peek_identifier (&parser->lexer, &length);
  for (guint i = 1; i < IR_N_ATTR_KINDS; i++)
    if (strlen (ir_text_kind_names[i]) == length &&
        memcmp (ir_text_kind_names[i], text, length) == 0)
      {
        value->declared = (IrAttrKind) i;
        value->element = ir_text_single_kind (value->declared);
        parser->lexer.next += length;
        return TRUE;
      }
  return ir_text_fail (&parser->lexer, "a kind of attribute is needed (int, floats, tensor…)");
}

static gboolean
read_value (IrTextParser *parser, Value *value, const char *tensor_name, guint depth)
{
  if (!ir_text_match (&parser->lexer, '['))
    return read_single (parser, value, tensor_name, depth);
  value->is_list = TRUE;
  if (ir_text_match (&parser->lexer, ']'))
    return value->declared != IR_ATTR_UNDEFINED ||
           ir_text_fail (&parser->lexer,
                         "an empty list needs its kind before it, as in a: ints = []");
  do
    if (!read_single (parser, value, NULL, depth))
      return FALSE;
  while (ir_text_match (&parser->lexer, ','));
  return ir_text_expect (&parser->lexer, ']', "a list");
}

/**
 * ir_text_make_attr:
 * @context: owns the result
 * @name: name of the attribute
 * @kind: any but graphs
 * @values: its elements; single kinds have at least one
 *
 * Returns: (transfer none) (nullable): the attribute
 */
const IrAttr *
ir_text_make_attr (IrContext *context,
                   const char *name,
                   IrAttrKind kind,
                   const IrTextElements *values)
{
  IrTensor *const *tensors = (IrTensor *const *) values->objects;
  const IrAttr *attr;

  switch (kind)
    {
    case IR_ATTR_FLOAT:
      return ir_attr_float (context, name, values->floats[0]);
    case IR_ATTR_INT:
      return ir_attr_int (context, name, values->ints[0]);
    case IR_ATTR_STRING:
      return ir_attr_string (context, name, values->strings[0].data,
                             (gssize) values->strings[0].length);
    case IR_ATTR_FLOATS:
      return ir_attr_floats (context, name, values->floats, values->n_floats);
    case IR_ATTR_INTS:
      return ir_attr_ints (context, name, values->ints, values->n_ints);
    case IR_ATTR_STRINGS:
      return ir_attr_strings (context, name, values->strings, values->n_strings);
    case IR_ATTR_TENSOR:
    case IR_ATTR_SPARSE_TENSOR:
      attr = ir_attr_tensor (context, name, tensors[0]);
      return kind == IR_ATTR_TENSOR ? attr : ir_attr_annotate (context, attr, kind, NULL, NULL);
    case IR_ATTR_TENSORS:
    case IR_ATTR_SPARSE_TENSORS:
      attr = ir_attr_tensors (context, name, tensors, values->n_objects);
      return kind == IR_ATTR_TENSORS ? attr : ir_attr_annotate (context, attr, kind, NULL, NULL);
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
      return ir_attr_types (context, name, kind, (const IrType *const *) values->objects,
                            values->n_objects);
    case IR_ATTR_UNDEFINED:
    case IR_ATTR_GRAPH:
    case IR_ATTR_GRAPHS:
    case IR_N_ATTR_KINDS:
      break;
    }
  return NULL;
}

static const IrAttr *
make_attr (IrTextParser *parser, const Value *value, IrAttrKind kind)
{
  IrTextElements elements = { (const gint64 *) (gpointer) value->ints->data,
                              value->ints->len,
                              (const float *) (gpointer) value->floats->data,
                              value->floats->len,
                              (const IrString *) (gpointer) value->strings->data,
                              value->strings->len,
                              value->objects->pdata,
                              value->objects->len };

  return ir_text_make_attr (parser->context, value->name, kind, &elements);
}

static gboolean
finish (IrTextParser *parser, const Value *value, const IrExtra *note, GArray *attrs)
{
  IrAttrKind kind = value->is_list ? list_of (value->element) : value->element;
  IrDraftAttr result = { 0 };

  if (value->ref_name != NULL)
    result.attr = ir_attr_ref (parser->context, value->name,
                               value->declared != IR_ATTR_UNDEFINED ? value->declared : kind,
                               value->ref_name);
  else if (value->declared != IR_ATTR_UNDEFINED && value->declared != kind)
    return ir_text_fail (&parser->lexer, "attribute %s needs a value of kind %s before this",
                         value->name, ir_text_kind_names[value->declared]);
  else if (kind == IR_ATTR_GRAPH || kind == IR_ATTR_GRAPHS)
    {
      result.graphs = ir_draft_pointers (parser->draft);
      result.name = value->name;
      result.kind = kind;
      result.doc = note != NULL ? note->doc : NULL;
      result.unknown = note != NULL ? note->unknown : NULL;
      for (guint i = 0; i < value->objects->len; i++)
        g_ptr_array_add (result.graphs, value->objects->pdata[i]);
    }
  else
    result.attr = make_attr (parser, value, kind);
  if (result.attr != NULL && note != NULL)
    result.attr = ir_attr_annotate (parser->context, result.attr, result.attr->kind, note->doc,
                                    note->unknown);
  g_array_append_val (attrs, result);
  return TRUE;
}

/* @tensor_name: what an elided tensor is looked up by. */
static gboolean
read_attr (IrTextParser *parser,
           GArray *attrs,
           IrDraftNames *bare_names,
           const char *tensor_name,
           guint depth)
{
  const IrExtra *note = ir_text_take_note (&parser->lexer);
  Value value = { 0 };
  gboolean ok;

  if (!ir_draft_spend (parser->draft) ||
      !ir_text_name (&parser->lexer, "the name of an attribute", &value.name))
    return FALSE;
  if (bare_names != NULL && ir_text_peek (&parser->lexer) != ':' &&
      ir_text_peek (&parser->lexer) != '=')
    {
      ir_draft_names_add (parser->draft, bare_names, value.name);
      return TRUE;
    }
  value.ints = g_array_new (FALSE, FALSE, sizeof (gint64));
  value.floats = g_array_new (FALSE, FALSE, sizeof (float));
  value.strings = g_array_new (FALSE, FALSE, sizeof (IrString));
  value.objects = g_ptr_array_new ();
  ok = read_kind (parser, &value) && ir_text_expect (&parser->lexer, '=', "an attribute") &&
       read_value (parser, &value, tensor_name, depth) && finish (parser, &value, note, attrs);
  g_array_unref (value.ints);
  g_array_unref (value.floats);
  g_array_unref (value.strings);
  g_ptr_array_unref (value.objects);
  return ok;
}

/**
 * ir_text_read_attrs:
 * @parser: a parser
 * @attrs: of IrDraftAttr, appended to
 * @bare_names: (nullable): takes names without a value; in heads of functions
 * @tensor_name: (nullable): what an elided tensor is looked up by
 * @depth: graphs around this one
 *
 * Reads `<a = 1, b: floats = [1, 2]>` if there is one.
 */
gboolean
ir_text_read_attrs (IrTextParser *parser,
                    GArray *attrs,
                    IrDraftNames *bare_names,
                    const char *tensor_name,
                    guint depth)
{
  if (!ir_text_match (&parser->lexer, '<') || ir_text_match (&parser->lexer, '>'))
    return TRUE;
  do
    if (!read_attr (parser, attrs, bare_names, tensor_name, depth))
      return FALSE;
  while (ir_text_match (&parser->lexer, ','));
  return ir_text_expect (&parser->lexer, '>', "a list of attributes");
}
