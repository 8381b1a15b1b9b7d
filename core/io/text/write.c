#include "config.h"

#include "core/io/formats.h"
#include "core/io/text/text.h"

#include <string.h>

typedef struct
{
  GString *out;
  IrModel *model;
  IrContext *context;
  IrTextOptions options;
  IrDataFile *data_file; /* (nullable) */
  guint indent;
} Writer;

static void write_graph (Writer *writer, const IrGraph *graph);

static void
put_indent (Writer *writer)
{
  for (guint i = 0; i < writer->indent; i++)
    g_string_append (writer->out, "  ");
}

/* -- notes -- */

static void
put_note_string (GString *out, const char *text)
{
  g_string_append_c (out, '"');
  for (const char *p = text; *p != '\0'; p++)
    if (*p == '\n')
      g_string_append (out, "\\n");
    else if (*p == '\r')
      g_string_append (out, "\\r");
    else
      {
        if (*p == '"' || *p == '\\')
          g_string_append_c (out, '\\');
        g_string_append_c (out, *p);
      }
  g_string_append_c (out, '"');
}

static void
put_note (Writer *writer, const char *doc, const IrProps *props, GBytes *unknown)
{
  GString *out = writer->out;

  if (doc == NULL && props == NULL && unknown == NULL)
    return;
  g_string_append (out, "#!");
  if (doc != NULL)
    {
      g_string_append (out, " doc ");
      put_note_string (out, doc);
    }
  for (guint i = 0; props != NULL && i < props->n; i++)
    {
      g_string_append (out, i == 0 ? " metadata [" : ", ");
      put_note_string (out, props->pairs[i].key);
      g_string_append (out, ": ");
      put_note_string (out, props->pairs[i].value);
    }
  if (props != NULL)
    g_string_append_c (out, ']');
  if (unknown != NULL)
    {
      g_autofree char *base64 = g_base64_encode (g_bytes_get_data (unknown, NULL),
                                                 g_bytes_get_size (unknown));

      g_string_append_printf (out, " unknown \"%s\"", base64);
    }
  g_string_append_c (out, '\n');
  put_indent (writer);
}

static void
put_extra (Writer *writer, const IrExtra *extra)
{
  if (extra != NULL)
    put_note (writer, extra->doc, extra->props, extra->unknown);
}

/* A note begins its own line. */
static void
put_extra_inline (Writer *writer, const IrExtra *extra)
{
  if (extra == NULL)
    return;
  while (writer->out->len > 0 && writer->out->str[writer->out->len - 1] == ' ')
    g_string_truncate (writer->out, writer->out->len - 1);
  if (writer->out->len > 0 && writer->out->str[writer->out->len - 1] != '\n')
    g_string_append_c (writer->out, '\n');
  put_indent (writer);
  put_extra (writer, extra);
}

/* -- attributes -- */

static void
write_tensor (Writer *writer, const IrTensor *tensor, gboolean may_elide)
{
  const IrTensorOrigin *origin = ir_tensor_origin (tensor);
  IrTextOptions options = writer->options;

  if (options.large == IR_TEXT_ELIDE && !may_elide)
    options.large = IR_TEXT_BASE64;
  if (options.large == IR_TEXT_SIDE_FILE) /* the syntax has a location only for initializers */
    options.large = IR_TEXT_NUMBERS;
  ir_text_write_dtype_dims (writer->out, tensor);
  if (origin != NULL && origin->name != NULL && origin->name[0] != '\0')
    {
      g_string_append_c (writer->out, ' ');
      ir_text_write_name (writer->out, origin->name);
      g_string_append (writer->out, " =");
    }
  g_string_append_c (writer->out, ' ');
  ir_text_write_contents (writer->out, tensor, &options, writer->data_file);
}

static void
write_element (Writer *writer, const IrAttr *attr, guint i, gboolean may_elide)
{
  GString *out = writer->out;

  switch (ir_text_single_kind (attr->kind))
    {
    case IR_ATTR_FLOAT:
      ir_text_write_float (out, (double) attr->floats[i], FALSE, TRUE);
      break;
    case IR_ATTR_INT:
      g_string_append_printf (out, "%" G_GINT64_FORMAT, attr->ints[i]);
      break;
    case IR_ATTR_STRING:
      ir_text_write_bytes (out, attr->strings[i].data, attr->strings[i].length);
      break;
    case IR_ATTR_TENSOR:
    case IR_ATTR_SPARSE_TENSOR:
      write_tensor (writer, attr->tensors[i], may_elide);
      break;
    case IR_ATTR_GRAPH:
      if (ir_model_graph (writer->model, attr->graphs[i]) != NULL)
        write_graph (writer, ir_model_graph (writer->model, attr->graphs[i]));
      break;
    case IR_ATTR_TYPE:
      ir_text_write_type (out, writer->context, attr->types[i]);
      break;
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
}

/* The kind is written where the value does not tell it. */
static gboolean
needs_kind (const IrAttr *attr)
{
  IrAttrKind single = ir_text_single_kind (attr->kind);

  return attr->ref_name != NULL || attr->n == 0 || single == IR_ATTR_TYPE ||
         single == IR_ATTR_GRAPH;
}

static void
write_attr (Writer *writer, const IrAttr *attr)
{
  GString *out = writer->out;
  gboolean list = attr->kind != ir_text_single_kind (attr->kind);

  ir_text_write_name (out, attr->name);
  if (needs_kind (attr))
    g_string_append_printf (out, ": %s", ir_text_kind_names[attr->kind]);
  g_string_append (out, " = ");
  if (attr->ref_name != NULL)
    {
      g_string_append_c (out, '@');
      ir_text_write_name (out, attr->ref_name);
      return;
    }
  g_string_append (out, list ? "[" : "");
  for (guint i = 0; i < attr->n; i++)
    {
      g_string_append (out, i > 0 ? ", " : "");
      write_element (writer, attr, i, !list);
    }
  g_string_append (out, list ? "]" : "");
}

static void
write_attrs (Writer *writer, guint n, const IrAttr *const *attrs)
{
  GString *out = writer->out;

  if (n == 0)
    return;
  g_string_append (out, " <");
  writer->indent++;
  for (guint i = 0; i < n; i++)
    {
      g_string_append (out, i > 0 ? ", " : "");
      if (attrs[i]->doc != NULL || attrs[i]->unknown != NULL)
        {
          g_string_append_c (out, '\n');
          put_indent (writer);
          put_note (writer, attrs[i]->doc, NULL, attrs[i]->unknown);
        }
      write_attr (writer, attrs[i]);
    }
  writer->indent--;
  g_string_append_c (out, '>');
}

/* -- nodes and graphs -- */

static void
write_value_names (Writer *writer, guint n, IrValue *const *values)
{
  for (guint i = 0; i < n; i++)
    {
      g_string_append (writer->out, i > 0 ? ", " : "");
      ir_text_write_name (writer->out, values[i] != NULL ? values[i]->name : "");
    }
}

static void
write_operator (GString *out, const IrNode *node)
{
  g_auto (GStrv) parts = g_strsplit (node->domain, ".", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      ir_text_write_part (out, parts[i]);
      g_string_append_c (out, '.');
    }
  ir_text_write_name (out, node->op_type);
  if (node->overload[0] != '\0')
    {
      g_string_append_c (out, ':');
      ir_text_write_name (out, node->overload);
    }
}

static gboolean
has_graph (const IrNode *node)
{
  for (guint i = 0; i < node->n_attrs; i++)
    if (ir_text_single_kind (node->attrs[i]->kind) == IR_ATTR_GRAPH)
      return TRUE;
  return FALSE;
}

/* Attributes with graphs come behind the inputs, where they are easier to read. */
static void
write_node (Writer *writer, const IrNode *node)
{
  GString *out = writer->out;
  gboolean last = has_graph (node);

  put_indent (writer);
  put_extra (writer, ir_node_extra_to_write (node));
  if (node->name[0] != '\0')
    {
      g_string_append_c (out, '[');
      ir_text_write_name (out, node->name);
      g_string_append (out, "] ");
    }
  write_value_names (writer, node->n_outputs, node->outputs);
  g_string_append (out, node->n_outputs > 0 ? " = " : "= ");
  write_operator (out, node);
  if (!last)
    write_attrs (writer, node->n_attrs, node->attrs);
  g_string_append (out, " (");
  write_value_names (writer, node->n_inputs, node->inputs);
  g_string_append_c (out, ')');
  if (last)
    write_attrs (writer, node->n_attrs, node->attrs);
  g_string_append_c (out, '\n');
}

#define SHOWN_ELEMENTS 8

/**
 * ir_text_write_node:
 * @node: a node
 *
 * The node alone, to be looked at: without its name, with large attributes left out, and without
 * its subgraphs.
 *
 * Returns: (transfer full): "y = Conv <group = 1> (x, w)"
 */
char *
ir_text_write_node (const IrNode *node)
{
  IrModel *model = node->graph->model;
  Writer writer = {
    g_string_new (NULL), model, model->context, { IR_TEXT_ELIDE, SHOWN_ELEMENTS }, NULL, 0
  };

  write_value_names (&writer, node->n_outputs, node->outputs);
  g_string_append (writer.out, node->n_outputs > 0 ? " = " : "= ");
  write_operator (writer.out, node);
  if (!has_graph (node))
    write_attrs (&writer, node->n_attrs, node->attrs);
  g_string_append (writer.out, " (");
  write_value_names (&writer, node->n_inputs, node->inputs);
  g_string_append_c (writer.out, ')');
  return g_string_free (writer.out, FALSE);
}

static void
write_nodes (Writer *writer, const IrGraph *graph)
{
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  g_string_append (writer->out, "{\n");
  writer->indent++;
  for (guint i = 0; i < n; i++)
    write_node (writer, order[i]);
  writer->indent--;
  put_indent (writer);
  g_string_append_c (writer->out, '}');
}

static void
write_declaration (Writer *writer, const IrValue *value, gboolean with_contents)
{
  GString *out = writer->out;
  const IrTensor *tensor = with_contents ? value->initializer : NULL;
  /* Functions have types only where they are declared: others would narrow what they accept. */
  const IrType *type = ir_value_declared_type (value);
  gboolean typed = type != NULL && (value->graph->kind != IR_GRAPH_FUNCTION ||
                                    (value->flags & IR_VALUE_DECLARED) != 0);

  put_extra_inline (writer, value->extra);
  if (tensor != NULL)
    ir_text_write_dtype_dims (out, tensor);
  else if (typed)
    ir_text_write_type (out, writer->context, type);
  g_string_append (out, tensor != NULL || typed ? " " : "");
  ir_text_write_name (out, value->name);
  if (tensor == NULL)
    return;
  g_string_append (out, " = ");
  ir_text_write_contents (out, tensor, &writer->options, writer->data_file);
}

static void
write_ends (Writer *writer, const IrGraph *graph, gboolean inputs)
{
  guint n = inputs ? ir_graph_n_inputs (graph) : ir_graph_n_outputs (graph);

  g_string_append_c (writer->out, '(');
  for (guint i = 0; i < n; i++)
    {
      g_string_append (writer->out, i > 0 ? ", " : "");
      write_declaration (writer, inputs ? ir_graph_input (graph, i) : ir_graph_output (graph, i),
                         FALSE);
    }
  g_string_append_c (writer->out, ')');
}

static void
next_info (Writer *writer, guint *n)
{
  g_string_append (writer->out, (*n)++ == 0 ? " <\n" : ",\n");
  put_indent (writer);
}

/* Initializers, defaults of inputs too, then declared values in between. */
static void
write_infos (Writer *writer, const IrGraph *graph)
{
  guint n_values, n = 0;
  IrValue *const *values = ir_graph_values (graph, &n_values);

  writer->indent += 2;
  for (guint i = 0; i < n_values; i++)
    if (values[i]->initializer != NULL)
      {
        next_info (writer, &n);
        write_declaration (writer, values[i], TRUE);
      }
  for (guint i = 0; i < n_values; i++)
    if (!ir_value_is_graph_input (values[i]) && !ir_value_is_graph_output (values[i]) &&
        ((values[i]->flags & IR_VALUE_DECLARED) != 0 ||
         (values[i]->extra != NULL && values[i]->initializer == NULL)))
      {
        next_info (writer, &n);
        write_declaration (writer, values[i], FALSE);
      }
  writer->indent -= 2;
  g_string_append (writer->out, n > 0 ? "> " : " ");
}

static void
write_graph_body (Writer *writer, const IrGraph *graph)
{
  ir_text_write_name (writer->out, graph->name);
  g_string_append_c (writer->out, ' ');
  write_ends (writer, graph, TRUE);
  g_string_append (writer->out, " => ");
  write_ends (writer, graph, FALSE);
  write_infos (writer, graph);
  write_nodes (writer, graph);
}

static void
write_graph (Writer *writer, const IrGraph *graph)
{
  put_extra_inline (writer, graph->extra);
  write_graph_body (writer, graph);
}

/* -- heads -- */

static void
put_entry (GString *out, const char *key, const char *text)
{
  if (text == NULL)
    return;
  g_string_append_printf (out, ",\n  %s: ", key);
  ir_text_write_string (out, text, strlen (text));
}

static void
put_opsets (GString *out, const IrOpsets *opsets)
{
  g_string_append (out, "opset_import: [");
  for (guint i = 0; opsets != NULL && i < opsets->n; i++)
    {
      g_string_append (out, i > 0 ? ", " : "");
      ir_text_write_string (out, opsets->opsets[i].domain, strlen (opsets->opsets[i].domain));
      g_string_append_printf (out, " : %" G_GINT64_FORMAT, opsets->opsets[i].version);
    }
  g_string_append_c (out, ']');
}

static void
write_model_head (Writer *writer)
{
  const IrModelInfo *info = writer->model->info;
  const IrProps *props = info->extra.props;
  GString *out = writer->out;

  put_note (writer, NULL, NULL, info->extra.unknown);
  g_string_append_printf (out, "<\n  ir_version: %" G_GINT64_FORMAT ",\n  ", info->ir_version);
  put_opsets (out, writer->model->opsets);
  put_entry (out, "producer_name", info->producer_name);
  put_entry (out, "producer_version", info->producer_version);
  put_entry (out, "domain", info->domain);
  if (info->model_version != 0)
    g_string_append_printf (out, ",\n  model_version: %" G_GINT64_FORMAT, info->model_version);
  put_entry (out, "doc_string", info->extra.doc);
  for (guint i = 0; props != NULL && i < props->n; i++)
    {
      g_string_append (out, i == 0 ? ",\n  metadata_props: [" : ", ");
      ir_text_write_string (out, props->pairs[i].key, strlen (props->pairs[i].key));
      g_string_append (out, ": ");
      ir_text_write_string (out, props->pairs[i].value, strlen (props->pairs[i].value));
    }
  g_string_append (out, props != NULL ? "]\n>\n" : "\n>\n");
}

static void
write_function_head (Writer *writer, const IrGraph *graph)
{
  const IrFunctionInfo *info = graph->function;
  GString *out = writer->out;

  put_extra (writer, graph->extra);
  g_string_append (out, "<\n  domain: ");
  ir_text_write_string (out, info->domain, strlen (info->domain));
  put_entry (out, "overload", info->overload[0] != '\0' ? info->overload : NULL);
  g_string_append (out, ",\n  ");
  put_opsets (out, info->opsets);
  g_string_append (out, "\n>\n");
  ir_text_write_name (out, info->name);
  for (guint i = 0; i < info->n_attr_names; i++)
    {
      g_string_append (out, i == 0 ? " <" : ", ");
      ir_text_write_name (out, info->attr_names[i]);
    }
  for (guint i = 0; i < info->n_attr_defaults; i++)
    {
      g_string_append (out, i + info->n_attr_names == 0 ? " <" : ", ");
      write_attr (writer, info->attr_defaults[i]);
    }
  g_string_append (out, info->n_attr_names + info->n_attr_defaults > 0 ? "> " : " ");
}

static void
write_function (Writer *writer, const IrGraph *graph)
{
  write_function_head (writer, graph);
  write_ends (writer, graph, TRUE);
  g_string_append (writer->out, " => ");
  write_ends (writer, graph, FALSE);
  write_infos (writer, graph);
  write_nodes (writer, graph);
}

static void
write_model (Writer *writer)
{
  write_model_head (writer);
  if (writer->model->main->extra != NULL)
    put_extra (writer, writer->model->main->extra);
  write_graph_body (writer, writer->model->main);
  g_string_append_c (writer->out, '\n');
  for (guint i = 1; i < writer->model->graphs->len; i++)
    {
      const IrGraph *graph = writer->model->graphs->pdata[i];

      if (graph == NULL || graph->state != IR_STATE_LIVE || graph->kind != IR_GRAPH_FUNCTION ||
          graph->function == NULL)
        continue;
      g_string_append_c (writer->out, '\n');
      write_function (writer, graph);
      g_string_append_c (writer->out, '\n');
    }
}

/* Tensors above this go into base64, or beside the file: nobody reads so many numbers. */
#define READABLE_ELEMENTS 1024

static const IrTextOptions default_options = { IR_TEXT_BASE64, READABLE_ELEMENTS };

static char *
write_text (IrModel *model, const IrTextOptions *options, IrDataFile *data_file)
{
  Writer writer = { g_string_new (NULL), model,
                    model->context,      options != NULL ? *options : default_options,
                    data_file,           0 };

  write_model (&writer);
  return g_string_free (writer.out, FALSE);
}

/**
 * ir_text_write:
 * @model: a model
 *
 * Returns: (transfer full): all of it in ONNX's textual syntax, with the extensions that the head
 * of text.h lists where the syntax has no place for something
 */
char *
ir_text_write (IrModel *model)
{
  return write_text (model, NULL, NULL);
}

/**
 * ir_text_write_options:
 * @model: a model
 * @options: (nullable): how large tensors are written
 *
 * Returns: (transfer full): the model in ONNX's textual syntax
 */
char *
ir_text_write_options (IrModel *model, const IrTextOptions *options)
{
  return write_text (model, options, NULL);
}

static gboolean
stream_text (GOutputStream *stream, gpointer text, GError **error)
{
  return g_output_stream_write_all (stream, text, strlen (text), NULL, NULL, error);
}

/**
 * ir_text_write_file:
 * @model: a model
 * @path: where to
 * @cancellable: (nullable): not polled: a file takes a tenth of a second
 * @error: return location for an error
 *
 * Writes the text; initializers of more than 1024 elements go into PATH.HASH.data beside it, as
 * ONNX's external data, so that other tools can read both. Both are saved as one
 * (ir_data_file_save()).
 *
 * Returns: %TRUE if it is written
 */
gboolean
ir_text_write_file (IrModel *model, const char *path, GCancellable *cancellable, GError **error)
{
  const IrTextOptions options = { IR_TEXT_SIDE_FILE, READABLE_ELEMENTS };
  g_autofree char *text = NULL;
  IrDataFile data_file;
  gboolean ok;

  ir_data_file_init (&data_file, path);
  text = write_text (model, &options, &data_file);
  if (data_file.pieces->len > 0)
    {
      ir_data_file_name (&data_file);
      g_free (text);
      text = write_text (model, &options, &data_file);
    }
  ok = ir_data_file_save (&data_file, path, stream_text, text, error);
  ir_data_file_clear (&data_file);
  return ok;
}
