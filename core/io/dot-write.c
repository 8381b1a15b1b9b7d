/* A model as Graphviz DOT: operators are boxes, values are edges with their shapes, inputs, outputs
 * and constants are ellipses, scopes, subgraphs and functions are clusters. Ids of nodes are
 * numbers of the model, so the same model gives the same text. */
#include "config.h"

#include "core/io/formats.h"

#include <string.h>

typedef struct
{
  GString *out;
  IrModel *model;
  guint indent;
  guint n_clusters;
} Writer;

/* Nodes by scope: a tree of clusters. */
typedef struct
{
  const char *name;    /* last part of the path */
  GPtrArray *children; /* of Cluster */
  GPtrArray *nodes;    /* of IrNode */
} Cluster;

static void write_graph (Writer *writer, const IrGraph *graph);

static void put_line (Writer *writer, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
put_line (Writer *writer, const char *format, ...)
{
  va_list args;

  for (guint i = 0; i < writer->indent; i++)
    g_string_append (writer->out, "  ");
  va_start (args, format);
  g_string_append_vprintf (writer->out, format, args);
  va_end (args);
  g_string_append_c (writer->out, '\n');
}

/* A quoted string of DOT: the quote is escaped; a backslash would begin an escape of labels. Other
 * control characters become blanks. */
static char *
quote (const char *text)
{
  GString *out = g_string_new ("\"");

  for (const char *p = text; *p != '\0'; p++)
    if (*p == '"' || *p == '\\')
      g_string_append_printf (out, "\\%c", *p);
    else if (*p == '\n')
      g_string_append (out, "\\n");
    else
      g_string_append_c (out, (guchar) *p < ' ' ? ' ' : *p);
  g_string_append_c (out, '"');
  return g_string_free (out, FALSE);
}

static Cluster *
cluster_new (const char *name)
{
  Cluster *cluster = g_new0 (Cluster, 1);

  cluster->name = name;
  cluster->children = g_ptr_array_new ();
  cluster->nodes = g_ptr_array_new ();
  return cluster;
}

static void
cluster_free (Cluster *cluster)
{
  for (guint i = 0; i < cluster->children->len; i++)
    cluster_free (cluster->children->pdata[i]);
  g_ptr_array_unref (cluster->children);
  g_ptr_array_unref (cluster->nodes);
  g_free (cluster);
}

/* Deeper scopes than this share a cluster: a name is untrusted, and the tree is walked by
 * recursion. */
#define MAX_SCOPE_DEPTH 64

static Cluster *
find_cluster (IrContext *context, GHashTable *by_path, Cluster *root, const char *path)
{
  g_auto (GStrv) parts = g_strsplit (path, "/", MAX_SCOPE_DEPTH);
  g_autoptr (GString) sofar = g_string_new (NULL);
  Cluster *cluster = root;

  for (guint i = 0; path[0] != '\0' && parts[i] != NULL; i++)
    {
      Cluster *child;
      const char *key;

      g_string_append_printf (sofar, "%s%s", i > 0 ? "/" : "", parts[i]);
      key = ir_context_intern (context, sofar->str);
      child = g_hash_table_lookup (by_path, key);
      if (child == NULL)
        {
          child = cluster_new (ir_context_intern (context, parts[i]));
          g_ptr_array_add (cluster->children, child);
          g_hash_table_insert (by_path, (gpointer) key, child);
        }
      cluster = child;
    }
  return cluster;
}

static void
begin_cluster (Writer *writer, const char *label, const char *style)
{
  g_autofree char *quoted = quote (label);

  put_line (writer, "subgraph cluster_%u {", writer->n_clusters++);
  writer->indent++;
  put_line (writer, "label=%s; style=\"%s\";", quoted, style);
}

static void
end_cluster (Writer *writer)
{
  writer->indent--;
  put_line (writer, "}");
}

static void
write_node (Writer *writer, const IrNode *node)
{
  g_autofree char *label = NULL;
  g_autofree char *quoted = NULL;
  g_autofree char *name = quote (node->name);
  g_autofree char *op = g_strdup_printf ("%s%s%s", node->domain, node->domain[0] != '\0' ? "." : "",
                                         node->op_type);

  label = node->name[0] != '\0' ? g_strdup_printf ("%s\n%s", op, node->name) : g_strdup (op);
  quoted = quote (label);
  put_line (writer, "n%u [label=%s, name=%s];", node->id, quoted, name);
}

static void
write_subgraphs (Writer *writer, const IrNode *node)
{
  for (guint i = 0; i < node->n_attrs; i++)
    {
      const IrAttr *attr = node->attrs[i];

      if (attr->kind != IR_ATTR_GRAPH && attr->kind != IR_ATTR_GRAPHS)
        continue;
      for (guint k = 0; k < attr->n; k++)
        {
          const IrGraph *graph = ir_model_graph (writer->model, attr->graphs[k]);
          g_autofree char *owner = ir_node_label (node);
          g_autofree char *label = NULL;

          if (graph == NULL || graph->state != IR_STATE_LIVE)
            continue;
          label = g_strdup_printf ("%s: %s %s", owner, attr->name, graph->name);
          begin_cluster (writer, label, "rounded,dashed");
          write_graph (writer, graph);
          end_cluster (writer);
        }
    }
}

static void
write_cluster (Writer *writer, const Cluster *cluster)
{
  for (guint i = 0; i < cluster->nodes->len; i++)
    {
      write_node (writer, cluster->nodes->pdata[i]);
      write_subgraphs (writer, cluster->nodes->pdata[i]);
    }
  for (guint i = 0; i < cluster->children->len; i++)
    {
      const Cluster *child = cluster->children->pdata[i];

      begin_cluster (writer, child->name, "rounded");
      write_cluster (writer, child);
      end_cluster (writer);
    }
}

static char *
type_text (Writer *writer, const IrValue *value)
{
  return ir_type_to_string (writer->model->context, ir_value_shown_type (value));
}

/* Values that no node makes: inputs, initializers, and what is missing. */
static void
write_source (Writer *writer, const IrValue *value)
{
  g_autofree char *type = type_text (writer, value);
  g_autofree char *label = g_strdup_printf ("%s\n%s", value->name, type);
  g_autofree char *quoted = quote (label);
  g_autofree char *name = quote (value->name);
  const char *kind = ir_value_is_graph_input (value) ? "input"
                     : value->initializer != NULL    ? "constant"
                                                     : "undefined";

  put_line (writer, "v%u [label=%s, name=%s, shape=ellipse, class=%s%s];", value->id, quoted, name,
            kind, value->initializer != NULL ? ", style=dashed" : "");
}

static void
write_values (Writer *writer, const IrGraph *graph)
{
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  for (guint i = 0; i < n; i++)
    if (values[i]->producer == NULL &&
        (values[i]->n_uses > 0 || ir_value_is_graph_input (values[i])))
      write_source (writer, values[i]);
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    {
      g_autofree char *quoted = quote (ir_graph_output (graph, i)->name);

      put_line (writer, "o%u_%u [label=%s, name=%s, shape=ellipse, class=output];", graph->id, i,
                quoted, quoted);
    }
}

static void
write_use (Writer *writer, const IrValue *value, IrUse use)
{
  g_autofree char *from = value->producer != NULL ? g_strdup_printf ("n%u", value->producer->id)
                                                  : g_strdup_printf ("v%u", value->id);
  g_autofree char *to = use.node != NULL ? g_strdup_printf ("n%u", use.node->id)
                                         : g_strdup_printf ("o%u_%u", use.graph->id, use.slot);
  g_autofree char *type = type_text (writer, value);
  g_autofree char *label = quote (value->producer != NULL ? type : "");
  g_autofree char *name = quote (value->name);

  put_line (writer, "%s -> %s [label=%s, name=%s, from=%u, to=%u];", from, to, label, name,
            value->output_slot, use.slot);
}

static void
write_edges (Writer *writer, const IrGraph *graph)
{
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);
  IrNode *const *order;

  for (guint i = 0; i < n; i++)
    for (guint u = 0; u < values[i]->n_uses; u++)
      write_use (writer, values[i], ir_value_use (values[i], u));
  order = ir_graph_order (graph, &n);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; order[i]->controls != NULL && k < order[i]->controls->n; k++)
      put_line (writer, "n%u -> n%u [style=dotted, class=control];", order[i]->controls->ids[k],
                order[i]->id);
}

static void
write_graph (Writer *writer, const IrGraph *graph)
{
  g_autoptr (GHashTable) by_path = g_hash_table_new (NULL, NULL);
  Cluster *root = cluster_new ("");
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (find_cluster (writer->model->context, by_path, root, order[i]->scope)->nodes,
                     order[i]);
  write_values (writer, graph);
  write_cluster (writer, root);
  cluster_free (root);
}

/**
 * ir_dot_write:
 * @model: a model
 *
 * Returns: (transfer full): the main graph and the functions as a digraph
 */
char *
ir_dot_write (IrModel *model)
{
  Writer writer = { g_string_new (NULL), model, 0, 0 };
  g_autofree char *name = quote (model->main->name);

  put_line (&writer, "digraph %s {", name);
  writer.indent++;
  put_line (&writer, "node [shape=box]; rankdir=TB;");
  write_graph (&writer, model->main);
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      g_autofree char *label = NULL;

      if (graph == NULL || graph->state != IR_STATE_LIVE || graph->kind != IR_GRAPH_FUNCTION)
        continue;
      label = g_strdup_printf ("function %s", graph->name);
      begin_cluster (&writer, label, "rounded,dashed");
      write_graph (&writer, graph);
      end_cluster (&writer);
    }
  for (guint i = 1; i < model->graphs->len; i++)
    if (model->graphs->pdata[i] != NULL &&
        ((IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE)
      write_edges (&writer, model->graphs->pdata[i]);
  writer.indent--;
  put_line (&writer, "}");
  return g_string_free (writer.out, FALSE);
}

/**
 * ir_dot_write_file:
 * @model: a model
 * @path: where to
 * @cancellable: (nullable): what may stop it; then there is no error
 * @error: return location for an error
 *
 * Writes DOT, atomically.
 *
 * Returns: %TRUE if it is written
 */
gboolean
ir_dot_write_file (IrModel *model, const char *path, GCancellable *cancellable, GError **error)
{
  return ir_file_write_text (model, ir_dot_write, path, cancellable, error);
}
