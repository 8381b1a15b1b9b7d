/* DOT by cgraph, in the child, and its answer made a model, in the parent.
 *
 * The answer is records, in this order; strings are a 32-bit length and bytes:
 *   'G' name            the graph
 *   'N' name scope      a node, then 'A' key value for each attribute that is set
 *   'E' tail head       an edge between nodes by number, then its 'A'
 *   'X' message         what cgraph complains about
 *
 * A node becomes an operator of the domain "dot": its label is the operator, its other attributes
 * are string attributes; clusters are scopes. All edges of a node are one value, unless they say
 * different names or ports. What nobody uses is an output of the graph. Nodes that irscope has
 * written itself (class=input, output) become inputs and outputs again. */
#include "config.h"

#include "core/graphviz/child.h"
#include "core/io/draft.h"
#include "core/io/formats.h"

#include <graphviz/cgraph.h>
#include <stdlib.h>
#include <string.h>

#define DOMAIN "dot"

/* -- in the child: no GLib -- */

typedef struct
{
  const char *text; /* ends with NUL */
} ParseJob;

static void
put_attrs (IrChildPipe *out, Agraph_t *graph, int kind, void *object)
{
  for (Agsym_t *symbol = agnxtattr (graph, kind, NULL); symbol != NULL;
       symbol = agnxtattr (graph, kind, symbol))
    {
      const char *value = agxget (object, symbol);

      if (value == NULL || value[0] == '\0')
        continue;
      ir_child_put_byte (out, 'A');
      ir_child_put_string (out, symbol->name);
      ir_child_put_string (out, value);
    }
}

typedef struct
{
  Agrec_t header;
  guint32 index;
  Agraph_t *cluster; /* the innermost */
} NodeInfo;

#define INFO_NAME "irscope"

static void
find_clusters (Agraph_t *graph, int depth)
{
  for (Agraph_t *sub = agfstsubg (graph); sub != NULL && depth < 64; sub = agnxtsubg (sub))
    {
      if (strncmp (agnameof (sub) != NULL ? agnameof (sub) : "", "cluster", 7) == 0)
        for (Agnode_t *node = agfstnode (sub); node != NULL; node = agnxtnode (sub, node))
          ((NodeInfo *) aggetrec (node, INFO_NAME, 0))->cluster = sub;
      find_clusters (sub, depth + 1);
    }
}

/* Path of the clusters around a node, outermost first. */
static void
put_scope (IrChildPipe *out, Agraph_t *cluster)
{
  const char *parts[64];
  gsize n = 0, length = 0;

  for (; cluster != NULL && agparent (cluster) != NULL && n < 64; cluster = agparent (cluster))
    {
      const char *label = agget (cluster, (char *) "label");

      if (strncmp (agnameof (cluster) != NULL ? agnameof (cluster) : "", "cluster", 7) != 0)
        continue;
      parts[n] = label != NULL && label[0] != '\0' ? label : agnameof (cluster);
      length += strlen (parts[n++]) + 1;
    }
  ir_child_put_number (out, (guint32) (length > 0 ? length - 1 : 0));
  for (gsize i = n; i > 0; i--)
    {
      ir_child_put (out, parts[i - 1], strlen (parts[i - 1]));
      if (i > 1)
        ir_child_put_byte (out, '/');
    }
}

static void
parse_in_child (IrChildPipe *out, gpointer user_data)
{
  const ParseJob *job = user_data;
  const char *complaint;
  Agraph_t *graph;
  guint32 n = 0;

  agseterr (AGMAX);
  graph = agmemread (job->text);
  if (graph != NULL)
    {
      ir_child_put_byte (out, 'G');
      ir_child_put_string (out, agnameof (graph));
      for (Agnode_t *node = agfstnode (graph); node != NULL; node = agnxtnode (graph, node))
        ((NodeInfo *) agbindrec (node, INFO_NAME, sizeof (NodeInfo), 0))->index = n++;
      find_clusters (graph, 0);
      for (Agnode_t *node = agfstnode (graph); node != NULL; node = agnxtnode (graph, node))
        {
          ir_child_put_byte (out, 'N');
          ir_child_put_string (out, agnameof (node));
          put_scope (out, ((NodeInfo *) aggetrec (node, INFO_NAME, 0))->cluster);
          put_attrs (out, graph, AGNODE, node);
        }
      for (Agnode_t *node = agfstnode (graph); node != NULL; node = agnxtnode (graph, node))
        for (Agedge_t *edge = agfstout (graph, node); edge != NULL; edge = agnxtout (graph, edge))
          {
            ir_child_put_byte (out, 'E');
            ir_child_put_number (out, ((NodeInfo *) aggetrec (agtail (edge), INFO_NAME, 0))->index);
            ir_child_put_number (out, ((NodeInfo *) aggetrec (aghead (edge), INFO_NAME, 0))->index);
            put_attrs (out, graph, AGEDGE, edge);
          }
    }
  complaint = aglasterr ();
  if (complaint != NULL && complaint[0] != '\0')
    {
      ir_child_put_byte (out, 'X');
      ir_child_put_string (out, complaint);
    }
}

/* -- in the parent -- */

typedef enum
{
  NODE_OPERATOR,
  NODE_INPUT,
  NODE_OUTPUT
} NodeRole;

typedef struct
{
  char *name, *scope, *label, *shown_name;
  NodeRole role;
  GPtrArray *attrs;   /* of char *: key, value */
  GPtrArray *outputs; /* of interned value names */
  GHashTable *ports;  /* port or name of an edge -> interned value name */
  GArray *inputs;     /* of Input */
} DotNode;

typedef struct
{
  const char *value; /* interned */
  guint slot;        /* from the attribute "to", else by order */
  guint order;
} Input;

typedef struct
{
  IrDraft *draft;
  IrContext *context;
  GPtrArray *nodes;  /* of DotNode */
  GHashTable *names; /* value names in use */
  char *graph_name;
} Reader;

static void
dot_node_free (gpointer data)
{
  DotNode *node = data;

  g_free (node->name);
  g_free (node->scope);
  g_free (node->label);
  g_free (node->shown_name);
  g_ptr_array_unref (node->attrs);
  g_ptr_array_unref (node->outputs);
  g_hash_table_unref (node->ports);
  g_array_unref (node->inputs);
  g_free (node);
}

/* Keys of drawing that say nothing of the graph. */
static gboolean
is_drawing (const char *key)
{
  static const char *const keys[] = { "pos",      "width",     "height",   "shape",    "style",
                                      "color",    "fillcolor", "fontname", "fontsize", "fontcolor",
                                      "penwidth", "margin",    "bb",       "lp",       "xlp" };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strcmp (key, keys[i]) == 0)
      return TRUE;
  return FALSE;
}

static void
take_node_attr (DotNode *node, char *key, char *value)
{
  if (strcmp (key, "label") == 0 && strcmp (value, "\\N") != 0)
    {
      g_free (node->label);
      node->label = g_strdup (value);
    }
  else if (strcmp (key, "name") == 0)
    {
      g_free (node->shown_name);
      node->shown_name = g_strdup (value);
    }
  else if (strcmp (key, "class") == 0 && strcmp (value, "input") == 0)
    node->role = NODE_INPUT;
  else if (strcmp (key, "class") == 0 && strcmp (value, "output") == 0)
    node->role = NODE_OUTPUT;
  else if (strcmp (key, "label") != 0 && !is_drawing (key))
    {
      g_ptr_array_add (node->attrs, g_strdup (key));
      g_ptr_array_add (node->attrs, g_strdup (value));
    }
  g_free (key);
  g_free (value);
}

static void
read_node (Reader *reader, IrChildAnswer *answer)
{
  DotNode *node = g_new0 (DotNode, 1);

  node->name = ir_child_get_string (answer);
  node->scope = ir_child_get_string (answer);
  node->attrs = g_ptr_array_new_with_free_func (g_free);
  node->outputs = g_ptr_array_new ();
  node->ports = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  node->inputs = g_array_new (FALSE, FALSE, sizeof (Input));
  while (answer->next < answer->end && *answer->next == 'A' && !answer->failed)
    {
      char *key, *value;

      ir_child_get_byte (answer);
      key = ir_child_get_string (answer);
      value = ir_child_get_string (answer);
      take_node_attr (node, key, value);
    }
  g_ptr_array_add (reader->nodes, node);
}

static const char *
unique_name (Reader *reader, const char *base)
{
  g_autofree char *name = g_strdup (base);

  for (guint n = 1; g_hash_table_contains (reader->names, name); n++)
    {
      g_free (name);
      name = g_strdup_printf ("%s_%u", base, n);
    }
  g_hash_table_add (reader->names, g_strdup (name));
  return ir_context_intern (reader->context, name);
}

static const char *
value_of (Reader *reader, DotNode *tail, const char *port, const char *name)
{
  const char *key = name[0] != '\0' ? name : port;
  const char *value = g_hash_table_lookup (tail->ports, key);
  g_autofree char *base = NULL;

  if (value != NULL)
    return value;
  base = name[0] != '\0'   ? g_strdup (name)
         : port[0] != '\0' ? g_strdup_printf ("%s:%s", tail->name, port)
                           : g_strdup (tail->shown_name != NULL ? tail->shown_name : tail->name);
  value = unique_name (reader, base);
  g_hash_table_insert (tail->ports, g_strdup (key), (gpointer) value);
  g_ptr_array_add (tail->outputs, (gpointer) value);
  return value;
}

static void
replace (char **text, const char *value)
{
  g_free (*text);
  *text = g_strdup (value);
}

static void
read_edge (Reader *reader, IrChildAnswer *answer)
{
  guint32 tail = ir_child_get_number (answer), head = ir_child_get_number (answer);
  g_autofree char *port = g_strdup (""), *name = g_strdup (""), *to = g_strdup ("");
  gboolean control = FALSE;
  DotNode *to_node;
  Input input;

  while (answer->next < answer->end && *answer->next == 'A' && !answer->failed)
    {
      g_autofree char *key = NULL, *value = NULL;

      ir_child_get_byte (answer);
      key = ir_child_get_string (answer);
      value = ir_child_get_string (answer);
      if (strcmp (key, "tailport") == 0)
        replace (&port, value);
      else if (strcmp (key, "name") == 0)
        replace (&name, value);
      else if (strcmp (key, "to") == 0)
        replace (&to, value);
      else if (strcmp (key, "class") == 0)
        control |= strcmp (value, "control") == 0;
    }
  if (tail >= reader->nodes->len || head >= reader->nodes->len || control ||
      !ir_draft_spend (reader->draft))
    return;
  to_node = reader->nodes->pdata[head];
  input.value = value_of (reader, reader->nodes->pdata[tail], port, name);
  input.order = to_node->inputs->len;
  input.slot = to[0] != '\0' ? (guint) CLAMP (g_ascii_strtoll (to, NULL, 10), 0, 1000000)
                             : input.order;
  g_array_append_val (to_node->inputs, input);
}

static int
compare_inputs (gconstpointer a, gconstpointer b)
{
  const Input *left = a, *right = b;

  if (left->slot != right->slot)
    return left->slot < right->slot ? -1 : 1;
  return left->order < right->order ? -1 : left->order > right->order;
}

static void
add_value (GArray *values, const char *name)
{
  IrDraftValue value = { .name = name };

  g_array_append_val (values, value);
}

/* The first line of a label is the operator. */
static const char *
operator_of (Reader *reader, const DotNode *node)
{
  const char *text = node->label != NULL ? node->label : node->name;
  gsize length = strcspn (text, "\n");
  const char *escape = strstr (text, "\\n");

  if (escape != NULL)
    length = MIN (length, (gsize) (escape - text));
  return ir_context_intern_len (reader->context, text, (gssize) length);
}

static void
build_operator (Reader *reader, DotNode *node, IrDraftGraph *graph)
{
  IrDraftNode *draft = ir_draft_node_new (reader->draft);

  draft->op_type = operator_of (reader, node);
  draft->domain = ir_context_intern (reader->context, DOMAIN);
  draft->name = ir_context_intern (reader->context,
                                   node->shown_name != NULL ? node->shown_name : node->name);
  if (node->scope[0] != '\0')
    draft->scope = ir_context_intern (reader->context, node->scope);
  if (node->outputs->len == 0)
    {
      const char *value = unique_name (reader,
                                       node->shown_name != NULL ? node->shown_name : node->name);

      g_ptr_array_add (node->outputs, (gpointer) value);
      add_value (graph->outputs, value);
    }
  for (guint i = 0; i < node->inputs->len; i++)
    ir_draft_names_add (reader->draft, &draft->inputs,
                        g_array_index (node->inputs, Input, i).value);
  for (guint i = 0; i < node->outputs->len; i++)
    ir_draft_names_add (reader->draft, &draft->outputs, node->outputs->pdata[i]);
  for (guint i = 0; i < node->attrs->len; i += 2)
    {
      IrDraftAttr attr = { .attr = ir_attr_string (reader->context, node->attrs->pdata[i],
                                                   node->attrs->pdata[i + 1], -1) };

      g_array_append_val (draft->attrs, attr);
    }
  g_ptr_array_add (graph->nodes, draft);
}

static void
build_graph (Reader *reader)
{
  IrDraftGraph *graph = ir_draft_graph_new (reader->draft);
  IrOpset opset = { ir_context_intern (reader->context, DOMAIN), 1 };

  graph->name = ir_context_intern (reader->context, reader->graph_name);
  g_array_append_val (reader->draft->opsets, opset);
  for (guint i = 0; i < reader->nodes->len && ir_draft_spend (reader->draft); i++)
    {
      DotNode *node = reader->nodes->pdata[i];

      g_array_sort (node->inputs, compare_inputs);
      if (node->role == NODE_INPUT && node->inputs->len == 0)
        for (guint k = 0; k < node->outputs->len; k++)
          add_value (graph->inputs, node->outputs->pdata[k]);
      else if (node->role == NODE_OUTPUT && node->outputs->len == 0)
        for (guint k = 0; k < node->inputs->len; k++)
          add_value (graph->outputs, g_array_index (node->inputs, Input, k).value);
      else
        build_operator (reader, node, graph);
    }
  reader->draft->main = graph;
}

static void
read_records (Reader *reader, IrChildAnswer *answer, char **message)
{
  while (answer->next < answer->end && !answer->failed)
    switch (ir_child_get_byte (answer))
      {
      case 'G':
        g_free (reader->graph_name);
        reader->graph_name = ir_child_get_string (answer);
        break;
      case 'N':
        read_node (reader, answer);
        break;
      case 'E':
        read_edge (reader, answer);
        break;
      case 'X':
        g_free (*message);
        *message = g_strchomp (ir_child_get_string (answer));
        break;
      default:
        answer->failed = TRUE;
      }
}

/* cgraph says "<unknown>: syntax error in line 3 near 'x'". */
static void
report (IrDraft *draft, IrSeverity severity, const char *message)
{
  const char *found = strstr (message, "line ");
  IrDraftPlace place = { found != NULL ? (guint) g_ascii_strtoull (found + 5, NULL, 10) : 0, 0 };

  ir_draft_problem (draft, severity, IR_PROBLEM_SYNTAX, place, "DOT: %s", message);
}

/* Reads the first graph of the text as a model of operators of the domain "dot". Fails with
 * %IR_IO_ERROR_FORMAT for what is no DOT, and with %IR_IO_ERROR_LIMIT for what takes too much
 * time or memory. Returns the model. @length: its bytes, -1 if it ends with NUL. */
IrModel *
ir_dot_read (const char *text,
             gssize length,
             const IrGraphvizLimits *limits,
             GPtrArray *problems,
             GCancellable *cancellable,
             GError **error)
{
  g_autofree char *copy = length < 0 ? g_strdup (text) : g_strndup (text, (gsize) length);
  ParseJob job = { copy };
  g_autoptr (GBytes) bytes = ir_child_run (parse_in_child, &job, limits, cancellable, error);
  g_autoptr (IrModel) model = NULL;
  g_autoptr (IrDraft) draft = NULL;
  g_autoptr (GPtrArray) nodes = g_ptr_array_new_with_free_func (dot_node_free);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *message = NULL;
  IrChildAnswer answer;
  Reader reader = { 0 };

  if (bytes == NULL)
    return NULL;
  model = ir_model_new ();
  draft = ir_draft_new (model->context, problems, cancellable);
  draft->info = *model->info;
  reader = (Reader){ draft, model->context, nodes, names, NULL };
  ir_child_answer_init (&answer, bytes);
  read_records (&reader, &answer, &message);
  if (message != NULL)
    report (draft, reader.graph_name != NULL ? IR_SEVERITY_WARNING : IR_SEVERITY_ERROR, message);
  if (reader.graph_name == NULL || answer.failed)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "No graph in the DOT text%s%s.",
                   message != NULL ? ": " : "", message != NULL ? message : "");
      g_free (reader.graph_name);
      return NULL;
    }
  build_graph (&reader);
  g_free (reader.graph_name);
  if (draft->stopped)
    return NULL;
  ir_draft_build (draft, model);
  return g_steal_pointer (&model);
}

/**
 * ir_dot_read_file:
 * @path: a DOT file
 * @problems: (nullable): gets the findings
 * @cancellable: (nullable): what may stop the child process and reading
 * @error: return location for an error
 *
 * Reads DOT in a child process: see ir_dot_read().
 *
 * Returns: (transfer full) (nullable): the model
 */
IrModel *
ir_dot_read_file (const char *path, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  g_autoptr (GBytes) bytes = ir_file_read_text (path, error);
  gsize length;
  const char *text;
  IrModel *model;

  if (bytes == NULL)
    return NULL;
  text = g_bytes_get_data (bytes, &length);
  model = ir_dot_read (text != NULL ? text : "", (gssize) length, NULL, problems, cancellable,
                       error);
  if (model == NULL)
    g_prefix_error (error, "%s: ", path);
  else
    model->path = ir_context_intern (model->context, path);
  return model;
}
