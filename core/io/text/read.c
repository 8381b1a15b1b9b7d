/* ONNX's textual syntax, read by recursive descent into a draft. A mistake in a node is reported
 * and reading goes on with the next line, one in the head of a graph goes on with its body, so that
 * several mistakes are found at once; a model with any is not built. */
#include "config.h"

#include "core/io/formats.h"
#include "core/io/text/text.h"

#include <string.h>

/* -- graphs -- */

static gboolean
read_declaration (IrTextParser *parser, IrDraftValue *value)
{
  IrTextLexer *lexer = &parser->lexer;

  value->place = ir_text_place (lexer);
  value->extra = ir_text_take_note (lexer);
  if (!ir_draft_spend (parser->draft))
    return FALSE;
  if (ir_text_match (lexer, '?'))
    return ir_text_name (lexer, "the name of a value", &value->name);
  if (ir_text_at_type (parser) && !ir_text_read_type (parser, &value->type, 0))
    return FALSE;
  return ir_text_name (lexer, "the name of a value", &value->name);
}

/* "=>": the list that comes before was not closed. */
static gboolean
at_arrow (IrTextLexer *lexer)
{
  return ir_text_peek (lexer) == '=' && lexer->next + 1 < lexer->end && lexer->next[1] == '>';
}

/* Values of one list: with contents they are initializers as well. */
static gboolean
read_values (IrTextParser *parser,
             char open,
             char close,
             GArray *values,
             GArray *initializers,
             gboolean keep_both)
{
  IrTextLexer *lexer = &parser->lexer;

  if (!ir_text_expect (lexer, open, "a graph") || ir_text_match (lexer, close))
    return lexer->next[-1] == close;
  do
    {
      IrDraftValue value = { 0 };

      if (!read_declaration (parser, &value))
        return FALSE;
      if (initializers != NULL && !at_arrow (lexer) && ir_text_match (lexer, '='))
        {
          IrDraftValue initializer = value;

          if (!ir_text_read_contents (parser, value.type, value.name, &initializer.tensor))
            return FALSE;
          ir_draft_own_tensor (parser->draft, initializer.tensor);
          initializer.extra = keep_both ? NULL : value.extra;
          g_array_append_val (initializers, initializer);
          if (!keep_both)
            continue;
        }
      g_array_append_val (values, value);
    }
  while (ir_text_match (lexer, ','));
  return ir_text_expect (lexer, close, "a list of values");
}

static gboolean
read_names (IrTextParser *parser, IrDraftNames *names)
{
  IrTextLexer *lexer = &parser->lexer;
  const char *name;

  if (!ir_text_at_name (lexer) && ir_text_peek (lexer) != ',')
    return TRUE;
  do
    {
      name = ir_context_intern (parser->context, "");
      if (ir_text_at_name (lexer))
        {
          if (!ir_text_name (lexer, "the name of a value", &name))
            return FALSE;
        }
      else if (ir_text_peek (lexer) != ',')
        break;
      if (!ir_draft_spend (parser->draft))
        return FALSE;
      ir_draft_names_add (parser->draft, names, name);
    }
  while (ir_text_match (lexer, ','));
  return TRUE;
}

/* domain.with.dots.Op:overload */
static gboolean
read_operator (IrTextParser *parser, IrDraftNode *node)
{
  g_autoptr (GString) domain = g_string_new (NULL);
  const char *part;

  if (!ir_text_name (&parser->lexer, "an operator", &part))
    return FALSE;
  for (guint n = 0; ir_text_match (&parser->lexer, '.'); n++)
    {
      g_string_append_printf (domain, "%s%s", n > 0 ? "." : "", part);
      if (!ir_text_name (&parser->lexer, "an operator", &part))
        return FALSE;
    }
  node->op_type = part;
  if (strcmp (domain->str, "ai.onnx") != 0)
    node->domain = ir_context_intern (parser->context, domain->str);
  return !ir_text_match (&parser->lexer, ':') ||
         ir_text_name (&parser->lexer, "an overload", &node->overload);
}

static gboolean
read_node (IrTextParser *parser, IrDraftNode *node, guint depth)
{
  IrTextLexer *lexer = &parser->lexer;
  const char *tensor_name;

  node->place = ir_text_place (lexer);
  node->extra = ir_text_take_note (lexer);
  if (ir_text_match (lexer, '[') &&
      ((ir_text_at_name (lexer) && !ir_text_name (lexer, "the name of a node", &node->name)) ||
       !ir_text_expect (lexer, ']', "the name of a node")))
    return FALSE;
  if (!read_names (parser, &node->outputs) || !ir_text_expect (lexer, '=', "a node") ||
      !read_operator (parser, node))
    return FALSE;
  tensor_name = node->outputs.n > 0 ? node->outputs.names[0] : NULL;
  if (!ir_text_read_attrs (parser, node->attrs, NULL, tensor_name, depth) ||
      !ir_text_expect (lexer, '(', "a node") || !read_names (parser, &node->inputs) ||
      !ir_text_expect (lexer, ')', "the inputs of a node"))
    return FALSE;
  return node->attrs->len > 0 || ir_text_read_attrs (parser, node->attrs, NULL, tensor_name, depth);
}

static gboolean
read_nodes (IrTextParser *parser, IrDraftGraph *graph, guint depth)
{
  IrTextLexer *lexer = &parser->lexer;

  if (!ir_text_expect (lexer, '{', "a graph"))
    return FALSE;
  while (!ir_text_match (lexer, '}'))
    {
      IrDraftNode *node;

      if (ir_text_peek (lexer) == '\0' && lexer->next == lexer->end)
        return ir_text_fail (lexer, "a graph needs \"}\" at its end");
      if (!ir_draft_spend (parser->draft))
        return FALSE;
      node = ir_draft_node_new (parser->draft);
      if (read_node (parser, node, depth))
        {
          ir_draft_node_take_metadata (parser->draft, node);
          g_ptr_array_add (graph->nodes, node);
        }
      else
        ir_text_skip_statement (lexer);
    }
  return TRUE;
}

static gboolean
read_arrow (IrTextParser *parser)
{
  return ir_text_expect (&parser->lexer, '=', "the head of a graph") &&
         ir_text_expect (&parser->lexer, '>', "the head of a graph");
}

static gboolean
read_graph_head (IrTextParser *parser, IrDraftGraph *graph)
{
  IrTextLexer *lexer = &parser->lexer;

  return read_values (parser, '(', ')', graph->inputs, graph->initializers, TRUE) &&
         read_arrow (parser) && read_values (parser, '(', ')', graph->outputs, NULL, FALSE) &&
         (ir_text_peek (lexer) != '<' ||
          read_values (parser, '<', '>', graph->infos, graph->initializers, FALSE));
}

/* After a mistake in a head, the body still gives its own mistakes. */
static gboolean
skip_to_body (IrTextLexer *lexer)
{
  while (lexer->next < lexer->end && *lexer->next != '{')
    lexer->next++;
  return lexer->next < lexer->end;
}

/**
 * ir_text_read_graph:
 * @parser: a parser
 * @depth: graphs around this one
 * @graph: (out): the draft
 *
 * Reads `name (inputs) => (outputs) <initializers> {nodes}`.
 */
gboolean
ir_text_read_graph (IrTextParser *parser, guint depth, IrDraftGraph **graph)
{
  IrTextLexer *lexer = &parser->lexer;
  gboolean ok;

  if (depth > IR_DRAFT_MAX_DEPTH)
    return ir_text_fail (lexer, "graphs are nested too deep");
  *graph = ir_draft_graph_new (parser->draft);
  (*graph)->place = ir_text_place (lexer);
  (*graph)->extra = ir_text_take_note (lexer);
  if (!ir_text_name (lexer, "the name of a graph", &(*graph)->name))
    return FALSE;
  ok = read_graph_head (parser, *graph);
  if (!ok && !skip_to_body (lexer))
    return FALSE;
  return read_nodes (parser, *graph, depth) && ok;
}

/* -- heads: < key: value, … > -- */

static gboolean
read_opsets (IrTextParser *parser, GArray *opsets)
{
  IrTextLexer *lexer = &parser->lexer;

  if (!ir_text_expect (lexer, '[', "opset_import") || ir_text_match (lexer, ']'))
    return lexer->next[-1] == ']';
  do
    {
      IrOpset opset;

      if (!ir_text_name (lexer, "a domain in quotes", &opset.domain) ||
          !ir_text_expect (lexer, ':', "opset_import") || !ir_text_int64 (lexer, &opset.version))
        return FALSE;
      if (strcmp (opset.domain, "ai.onnx") == 0)
        opset.domain = ir_context_intern (parser->context, "");
      if (opsets->len < 1000)
        g_array_append_val (opsets, opset);
    }
  while (ir_text_match (lexer, ','));
  return ir_text_expect (lexer, ']', "opset_import");
}

static gboolean
read_metadata (IrTextParser *parser, GPtrArray *metadata)
{
  IrTextLexer *lexer = &parser->lexer;
  const char *key, *value;

  if (!ir_text_expect (lexer, '[', "metadata_props") || ir_text_match (lexer, ']'))
    return lexer->next[-1] == ']';
  do
    {
      if (!ir_draft_spend (parser->draft) || !ir_text_name (lexer, "a key in quotes", &key) ||
          !ir_text_expect (lexer, ':', "metadata_props") ||
          !ir_text_name (lexer, "a value in quotes", &value))
        return FALSE;
      g_ptr_array_add (metadata, (gpointer) key);
      g_ptr_array_add (metadata, (gpointer) value);
    }
  while (ir_text_match (lexer, ','));
  return ir_text_expect (lexer, ']', "metadata_props");
}

typedef struct
{
  const char *domain, *overload, *doc, *producer_name, *producer_version;
  gint64 ir_version, model_version;
  gboolean has_ir_version;
  GArray *opsets;
  GPtrArray *metadata;
} Head;

static gboolean
read_head_entry (IrTextParser *parser, Head *head)
{
  IrTextLexer *lexer = &parser->lexer;
  const char *key;
  const struct
  {
    const char *key;
    const char **text;
    gint64 *number;
  } entries[] = {
    { "domain", &head->domain, NULL },
    { "overload", &head->overload, NULL },
    { "doc_string", &head->doc, NULL },
    { "producer_name", &head->producer_name, NULL },
    { "producer_version", &head->producer_version, NULL },
    { "ir_version", NULL, &head->ir_version },
    { "model_version", NULL, &head->model_version },
  };

  if (!ir_text_name (lexer, "a key like ir_version or opset_import", &key) ||
      !ir_text_expect (lexer, ':', "a head"))
    return FALSE;
  if (strcmp (key, "opset_import") == 0)
    return read_opsets (parser, head->opsets);
  if (strcmp (key, "metadata_props") == 0)
    return read_metadata (parser, head->metadata);
  head->has_ir_version |= strcmp (key, "ir_version") == 0;
  for (guint i = 0; i < G_N_ELEMENTS (entries); i++)
    if (strcmp (key, entries[i].key) == 0)
      return entries[i].text != NULL ? ir_text_name (lexer, "a text in quotes", entries[i].text)
                                     : ir_text_int64 (lexer, entries[i].number);
  return ir_text_fail (lexer,
                       "\"%s\" is no key of a head; before this ir_version, opset_import, "
                       "domain, doc_string or the like is needed",
                       key);
}

static gboolean
read_head (IrTextParser *parser, Head *head)
{
  IrTextLexer *lexer = &parser->lexer;

  if (!ir_text_match (lexer, '<') || ir_text_match (lexer, '>'))
    return TRUE;
  do
    if (!read_head_entry (parser, head))
      {
        while (lexer->next < lexer->end && *lexer->next != '>')
          lexer->next++;
        ir_text_match (lexer, '>');
        return FALSE;
      }
  while (ir_text_match (lexer, ','));
  return ir_text_expect (lexer, '>', "a head");
}

static void
head_init (IrTextParser *parser, Head *head)
{
  memset (head, 0, sizeof *head);
  head->opsets = ir_draft_array (parser->draft, sizeof (IrOpset));
  head->metadata = ir_draft_pointers (parser->draft);
}

/* -- functions and model -- */

static gboolean
read_function_head (IrTextParser *parser, IrDraftGraph *graph, GArray *attrs, IrDraftNames *names)
{
  return ir_text_read_attrs (parser, attrs, names, NULL, 0) &&
         read_values (parser, '(', ')', graph->inputs, NULL, FALSE) && read_arrow (parser) &&
         read_values (parser, '(', ')', graph->outputs, NULL, FALSE) &&
         (ir_text_peek (&parser->lexer) != '<' ||
          read_values (parser, '<', '>', graph->infos, NULL, FALSE));
}

/* What is pasted behind a model may be another one. */
static gboolean
is_of_function (IrTextLexer *lexer, const Head *head)
{
  return !head->has_ir_version ||
         ir_text_fail (lexer,
                       "a second model begins here: a text holds one, and behind it functions, "
                       "whose heads have a domain and no ir_version");
}

static gboolean
read_function (IrTextParser *parser)
{
  IrTextLexer *lexer = &parser->lexer;
  IrDraftGraph *graph = ir_draft_graph_new (parser->draft);
  GArray *attrs = ir_draft_array (parser->draft, sizeof (IrDraftAttr));
  IrDraftNames names = { 0 };
  const IrExtra *note = ir_text_take_note (lexer);
  gboolean ok;
  Head head;

  head_init (parser, &head);
  graph->place = ir_text_place (lexer);
  ok = read_head (parser, &head) && is_of_function (lexer, &head) &&
       ir_text_name (lexer, "the name of a function", &graph->name) &&
       read_function_head (parser, graph, attrs, &names);
  if (!ok && !skip_to_body (lexer))
    return FALSE;
  if (!read_nodes (parser, graph, 0))
    return FALSE;
  graph->function = ir_draft_function_info (
      parser->draft, head.domain != NULL ? head.domain : ir_context_intern (parser->context, ""),
      graph->name, head.overload != NULL ? head.overload : ir_context_intern (parser->context, ""),
      &names, attrs, head.opsets);
  graph->extra = head.doc == NULL
                     ? note
                     : ir_extra_new (parser->context, head.doc, note != NULL ? note->props : NULL,
                                     note != NULL ? note->unknown : NULL);
  g_ptr_array_add (parser->draft->functions, graph);
  return ok;
}

/* A text that says nothing of operator sets and IR version means those of what it is read over. */
static void
keep_imports (IrTextParser *parser, IrDraft *draft)
{
  const IrModel *base = parser->base;

  if (base == NULL || draft->opsets->len > 0)
    return;
  for (guint i = 0; i < base->opsets->n; i++)
    {
      const IrOpset opset = { ir_context_intern (parser->context, base->opsets->opsets[i].domain),
                              base->opsets->opsets[i].version };

      g_array_append_val (draft->opsets, opset);
    }
}

static void
read_model_head (IrTextParser *parser)
{
  IrDraft *draft = parser->draft;
  IrModelInfo *info = &draft->info;
  const IrExtra *note;
  Head head;
  const char **texts[] = { &head.domain, &head.producer_name, &head.producer_version, &head.doc };

  head_init (parser, &head);
  note = ir_text_peek (&parser->lexer) == '<' ? ir_text_take_note (&parser->lexer) : NULL;
  read_head (parser, &head);
  if (note != NULL)
    info->extra.unknown = note->unknown;
  if (head.has_ir_version)
    info->ir_version = head.ir_version;
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    if (*texts[i] != NULL && (*texts[i])[0] == '\0')
      *texts[i] = NULL;
  info->model_version = head.model_version;
  info->domain = head.domain;
  info->producer_name = head.producer_name;
  info->producer_version = head.producer_version;
  info->extra.doc = head.doc;
  draft->opsets = head.opsets;
  keep_imports (parser, draft);
  draft->metadata = head.metadata;
}

static void
read_functions (IrTextParser *parser)
{
  IrTextLexer *lexer = &parser->lexer;

  while (ir_text_peek (lexer) != '\0' || lexer->next < lexer->end)
    {
      const char *before = lexer->next;

      if (!ir_draft_spend (parser->draft))
        return;
      if (!read_function (parser) && lexer->next == before)
        lexer->next++;
    }
}

static void
parser_init (IrTextParser *parser, IrDraft *draft, IrModel *model, const char *text, gsize length)
{
  memset (parser, 0, sizeof *parser);
  parser->draft = draft;
  parser->context = draft->context;
  parser->reader = (IrOnnxReader){ .draft = draft,
                                   .context = draft->context,
                                   .external_files = g_hash_table_new (NULL, NULL),
                                   .keep_alive = model->keep_alive };
  g_ptr_array_set_free_func (model->keep_alive, (GDestroyNotify) ir_mapped_file_unref);
  ir_text_lexer_init (&parser->lexer, draft, text, length);
}

static void
parser_clear (IrTextParser *parser)
{
  g_hash_table_unref (parser->reader.external_files);
  ir_text_lexer_clear (&parser->lexer);
}

static const char *
first_message (const GPtrArray *problems, guint from)
{
  for (guint i = from; i < problems->len; i++)
    if (((const IrProblem *) problems->pdata[i])->severity == IR_SEVERITY_ERROR)
      return ((const IrProblem *) problems->pdata[i])->message;
  return "no model";
}

static gboolean
fail_format (GError **error, const char *path, const GPtrArray *problems, guint from)
{
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "%s%s%s", path != NULL ? path : "",
               path != NULL ? ": " : "", first_message (problems, from));
  return FALSE;
}

static IrModel *
read_model (const char *text,
            gsize length,
            const char *path,
            IrModel *base,
            GPtrArray *problems,
            GCancellable *cancellable,
            GError **error)
{
  g_autoptr (IrModel) model = ir_model_new ();
  g_autoptr (IrDraft) draft = ir_draft_new (model->context, problems, cancellable);
  g_autofree char *folder = path != NULL ? g_path_get_dirname (path) : NULL;
  guint n_before = draft->problems->len, n_errors;
  IrTextParser parser;

  parser_init (&parser, draft, model, text, length);
  parser.base = base;
  parser.reader.folder = folder;
  draft->info = *model->info;
  read_model_head (&parser);
  if (ir_text_read_graph (&parser, 0, &draft->main) || draft->main->nodes->len > 0)
    read_functions (&parser);
  n_errors = parser.lexer.n_errors;
  parser_clear (&parser);
  if (draft->stopped)
    return NULL;
  if (n_errors > 0 || draft->over_budget)
    {
      fail_format (error, path, draft->problems, n_before);
      return NULL;
    }
  if (path != NULL)
    model->path = ir_context_intern (model->context, path);
  ir_draft_build (draft, model);
  return g_steal_pointer (&model);
}

/**
 * ir_text_read:
 * @text: a model in ONNX's textual syntax
 * @length: its bytes, -1 if it ends with NUL
 * @problems: (nullable): gets mistakes with line and column, several at once
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_FORMAT if the text has any mistake; the error says the first.
 *
 * Returns: (transfer full) (nullable): the model
 */
IrModel *
ir_text_read (const char *text, gssize length, GPtrArray *problems, GError **error)
{
  return read_model (text, length < 0 ? strlen (text) : (gsize) length, NULL, NULL, problems, NULL,
                     error);
}

/**
 * ir_text_read_over:
 * @text: a model in ONNX's textual syntax, perhaps with tensors left out as "{...}"
 * @length: its bytes, -1 if it ends with NUL
 * @base: (nullable): the model that has those tensors, under the same names
 * @problems: (nullable): gets mistakes with line and column, several at once
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the model; it shares the tensors with @base
 */
IrModel *
ir_text_read_over (
    const char *text, gssize length, IrModel *base, GPtrArray *problems, GError **error)
{
  IrModel *model = read_model (text, length < 0 ? strlen (text) : (gsize) length, NULL, base,
                               problems, NULL, error);

  /* Its tensors may lie in files that the base keeps open. */
  for (guint i = 0; model != NULL && base != NULL && i < base->keep_alive->len; i++)
    g_ptr_array_add (model->keep_alive, ir_mapped_file_ref (base->keep_alive->pdata[i]));
  return model;
}

/**
 * ir_text_read_file:
 * @path: a file in ONNX's textual syntax
 * @problems: (nullable): gets mistakes with line and column
 * @cancellable: (nullable): what may stop reading; then there is no error
 * @error: return location for an error
 *
 * Reads text; external data are looked for in the folder of @path.
 *
 * Returns: (transfer full) (nullable): the model
 */
IrModel *
ir_text_read_file (const char *path, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  g_autoptr (GBytes) bytes = ir_file_read_text (path, error);
  gsize length;
  const char *text;

  if (bytes == NULL)
    return NULL;
  text = g_bytes_get_data (bytes, &length);
  return read_model (text != NULL ? text : "", length, path, NULL, problems, cancellable, error);
}

/**
 * ir_function_from_text:
 * @text: a function: `name <attributes> (X) => (Y) {...}`, with or without a head before it
 * @domain: the function's domain, where the head says none
 * @name: the function's name, which counts over the one in the text
 * @error: return location for an error
 *
 * Reads the body of an op row.
 *
 * Fails with %IR_IO_ERROR_FORMAT.
 *
 * Returns: (transfer full) (nullable): a model whose main graph is empty and that has the function
 */
IrModel *
ir_function_from_text (const char *text, const char *domain, const char *name, GError **error)
{
  g_autoptr (IrModel) model = ir_model_new ();
  g_autoptr (IrDraft) draft = ir_draft_new (model->context, NULL, NULL);
  IrDraftGraph *graph;
  IrFunctionInfo *info;
  IrTextParser parser;
  guint n_errors;

  parser_init (&parser, draft, model, text, strlen (text));
  draft->info = *model->info;
  read_functions (&parser);
  n_errors = parser.lexer.n_errors;
  parser_clear (&parser);
  if (n_errors > 0 || draft->functions->len != 1)
    {
      fail_format (error, name, draft->problems, 0);
      return NULL;
    }
  graph = draft->functions->pdata[0];
  info = ir_context_dup (model->context, graph->function, sizeof *info);
  info->name = graph->name = ir_context_intern (model->context, name);
  if (info->domain[0] == '\0')
    info->domain = ir_context_intern (model->context, domain);
  graph->function = info;
  ir_draft_build (draft, model);
  if (ir_problems_count (draft->problems, IR_SEVERITY_ERROR) == 0)
    return g_steal_pointer (&model);
  fail_format (error, name, draft->problems, 0);
  return NULL;
}
