/* Pairing by the lineage that one file carries, and by fingerprints of all that a node is computed
 * from. */
#include "config.h"

#include "core/diff/diff-private.h"
#include "core/op/defaults.h"
#include "core/op/op.h"

#include <string.h>

/* -- pairing by the lineage that one file carries -- */

/* The node of a that a name in lineage means: a node's name, or that of its first output. */
static const IrNode *
original_node (GHashTable *nodes, GHashTable *values, const char *name)
{
  const IrNode *node = g_hash_table_lookup (nodes, name);
  const IrValue *value = node == NULL ? g_hash_table_lookup (values, name) : NULL;

  return value != NULL ? value->producer : node;
}

/* A node stands for many: its twin is the one that made its output, if it is of the same operator
 * or the only one; else the first of the same operator; else the one of its name; else the one that
 * made its output. */
static void
pair_with_origin (
    IrPairing *p, const IrNode *b, const IrOrigin *origin, GHashTable *nodes, GHashTable *values)
{
  const char *output = origin->values->len > 0 ? origin->values->pdata[0] : "";
  const IrValue *value = g_hash_table_lookup (values, output);
  const IrNode *maker = value != NULL ? value->producer : NULL;

  if (maker != NULL && (origin->nodes->len == 1 || ir_diff_same_operator (maker, b)) &&
      ir_pair_nodes (p, maker, b))
    return;
  for (guint i = 0; i < origin->nodes->len; i++)
    {
      const IrNode *a = original_node (nodes, values, origin->nodes->pdata[i]);

      if (a != NULL && ir_diff_same_operator (a, b) && ir_pair_nodes (p, a, b))
        return;
    }
  for (guint i = 0; i < origin->nodes->len; i++)
    if (strcmp (origin->nodes->pdata[i], b->name) == 0 &&
        ir_pair_nodes (p, g_hash_table_lookup (nodes, b->name), b))
      return;
  ir_pair_nodes (p, maker, b);
}

void
ir_pair_by_origin (IrPairing *p)
{
  g_autoptr (GHashTable) nodes = ir_diff_index_nodes (p->a);
  g_autoptr (GHashTable) values = ir_diff_index_values (p->a);

  for (guint i = 1; i < p->b->nodes->len; i++)
    {
      const IrNode *b = ir_model_live_node (p->b, i);
      const IrOrigin *origin = b != NULL ? ir_origins_of (p->origins, i) : NULL;

      if (origin == NULL)
        continue;
      pair_with_origin (p, b, origin, nodes, values);
      for (guint k = 0; k < MIN (b->n_outputs, origin->values->len); k++)
        ir_pair_values (p, g_hash_table_lookup (values, origin->values->pdata[k]), b->outputs[k]);
    }
  for (guint i = 1; i < p->b->values->len; i++)
    {
      const IrValue *b = ir_model_live_value (p->b, i);
      const char *name = b != NULL && b->initializer != NULL
                             ? ir_origins_of_constant (p->origins, b->name)
                             : NULL;

      if (name != NULL)
        ir_pair_values (p, g_hash_table_lookup (values, name), b);
    }
}

/* -- pairing by subtrees -- */

typedef struct
{
  const IrModel *model;
  guint64 *values; /* by id */
  gboolean is_own; /* nodes that draw, or that nobody knows, are like no other one of their model */
} Numbers;

static guint64 number_graph (const Numbers *self, const IrGraph *graph);

static gboolean
has_tensors (const IrAttr *attr)
{
  return attr->kind == IR_ATTR_TENSOR || attr->kind == IR_ATTR_TENSORS ||
         attr->kind == IR_ATTR_SPARSE_TENSOR || attr->kind == IR_ATTR_SPARSE_TENSORS;
}

/* An initializer and what a Constant gives are alike. */
static guint64
number_constant (const IrTensor *tensor)
{
  return ir_diff_mix (11, ir_tensor_hash (tensor));
}

static guint64
attrs_fingerprint (const Numbers *self, const IrNode *node)
{
  guint64 hash = 1;

  for (guint i = 0; i < node->n_attrs; i++)
    {
      const IrAttr *attr = node->attrs[i];
      g_autofree char *text = NULL;

      if (ir_op_attr_is_default (node, attr))
        continue;
      hash = ir_diff_mix (hash, ir_diff_hash_text (attr->name));
      if (attr->kind == IR_ATTR_GRAPH || attr->kind == IR_ATTR_GRAPHS)
        continue;
      if (has_tensors (attr))
        {
          for (guint k = 0; k < attr->n; k++)
            hash = ir_diff_mix (hash, ir_tensor_hash (attr->tensors[k]));
          continue;
        }
      text = ir_attr_to_string (self->model->context, attr, G_MAXUINT);
      hash = ir_diff_mix (hash, ir_diff_hash_text (text));
    }
  return hash;
}

/* Of its operator, its attributes, its bodies and of everything that it is computed from. */
static guint64
number_node (const Numbers *self, const IrNode *node)
{
  g_autoptr (GPtrArray) bodies = ir_node_subgraphs (node);
  guint64 hash = ir_diff_mix (ir_diff_hash_text (node->op_type), ir_diff_hash_text (node->domain));

  hash = ir_diff_mix (hash, attrs_fingerprint (self, node));
  if (self->is_own && (node->op == NULL || (node->op->flags & IR_OP_RANDOM) != 0))
    hash = ir_diff_mix (hash, node->id);
  ir_node_for_each_input (node, k, input)
    hash = ir_diff_mix (hash, self->values[input->id] + k);
  for (guint i = 0; bodies != NULL && i < bodies->len; i++)
    hash = ir_diff_mix (hash, number_graph (self, bodies->pdata[i]));
  return hash;
}

/* What differs above a node changes its number. Returns: that of what the graph gives */
static guint64
number_graph (const Numbers *self, const IrGraph *graph)
{
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);
  guint64 hash = 17;

  for (guint i = 0; graph->kind != IR_GRAPH_MAIN && i < ir_graph_n_inputs (graph); i++)
    if (ir_graph_input (graph, i) != NULL)
      self->values[ir_graph_input (graph, i)->id] = ir_diff_mix (13, i);
  for (guint i = 0; i < n; i++)
    {
      const guint64 number = number_node (self, order[i]);

      for (guint k = 0; k < order[i]->n_outputs; k++)
        if (order[i]->outputs[k] != NULL)
          {
            const IrTensor *constant = ir_value_constant (order[i]->outputs[k]);

            self->values[order[i]->outputs[k]->id] = constant != NULL ? number_constant (constant)
                                                                      : ir_diff_mix (number, k + 1);
          }
    }
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (ir_graph_output (graph, i) != NULL)
      hash = ir_diff_mix (hash, self->values[ir_graph_output (graph, i)->id]);
  return hash;
}

/* Equal ones are computed from the same in the same way; 0 stands for a cycle. @roots: of values that nodes do not make. */
static guint64 *
subtree_fingerprints (const IrModel *model, const guint64 *roots, gboolean is_own)
{
  const Numbers numbers = { model, g_memdup2 (roots, model->values->len * sizeof *roots), is_own };

  number_graph (&numbers, model->main);
  return numbers.values;
}

/* Of one model: by value id. Values of one number hold the same in every run. (transfer full) */
guint64 *
ir_diff_own_numbers (const IrModel *model)
{
  g_autofree guint64 *roots = g_new0 (guint64, model->values->len);

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);

      if (value != NULL && value->producer == NULL)
        roots[i] = value->initializer != NULL && !ir_value_is_graph_input (value)
                       ? number_constant (value->initializer)
                       : ir_diff_mix (7, i);
    }
  return subtree_fingerprints (model, roots, TRUE);
}

/* Inputs, initializers and what else no node makes: one number for what is paired already, that of
 * their contents for initializers, whatever they are called. */
static guint64 *
root_fingerprints (const IrPairing *p, gboolean side_b)
{
  const IrModel *model = side_b ? p->b : p->a;
  guint64 *roots = g_new0 (guint64, model->values->len);

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);

      if (value != NULL && value->producer == NULL)
        roots[i] = value->initializer != NULL && !ir_value_is_graph_input (value)
                       ? number_constant (value->initializer)
                       : ir_diff_mix (7, ir_diff_value_key (p, value, side_b));
    }
  return roots;
}

static guint64
subtree_of (const IrNode *node, const guint64 *values)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      return ir_diff_mix (values[node->outputs[i]->id], i);
  return 0;
}

typedef struct
{
  guint64 key;
  const IrNode *node;
} Entry;

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->node->id < y->node->id ? -1 : x->node->id > y->node->id;
}

static GArray *
sorted_entries (const IrModel *model, const guint64 *values, const guint32 *twins)
{
  GArray *entries = g_array_new (FALSE, FALSE, sizeof (Entry));

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      Entry entry = { node != NULL && node->graph == model->main && twins[i] == 0
                          ? subtree_of (node, values)
                          : 0,
                      node };
      if (entry.key != 0)
        g_array_append_val (entries, entry);
    }
  g_array_sort (entries, compare_entries);
  return entries;
}

static guint
end_of_run (const GArray *entries, guint first)
{
  guint end = first + 1;

  while (end < entries->len &&
         g_array_index (entries, Entry, end).key == g_array_index (entries, Entry, first).key)
    end++;
  return end;
}

/* The name that tells it from others that compute the same. */
static const char *
own_name (const IrNode *node)
{
  const IrValue *value = ir_node_output (node, 0);

  return node->name[0] != '\0' ? node->name : value != NULL ? value->name : "";
}

/* Several that compute the same from the same: those of one name first, then in the order of both graphs. */
static void
pair_run (IrPairing *p, const Entry *a, guint n_a, const Entry *b, guint n_b)
{
  g_autoptr (GHashTable) names = n_a > 1 || n_b > 1 ? g_hash_table_new (g_str_hash, g_str_equal)
                                                    : NULL;

  for (guint k = 0; names != NULL && k < n_b; k++)
    g_hash_table_insert (names, (gpointer) own_name (b[k].node), (gpointer) b[k].node);
  for (guint i = 0; names != NULL && i < n_a; i++)
    ir_pair_nodes (p, a[i].node, g_hash_table_lookup (names, own_name (a[i].node)));
  for (guint i = 0, k = 0; i < n_a && k < n_b;)
    if (p->node_of_a[a[i].node->id] != 0)
      i++;
    else if (p->node_of_b[b[k].node->id] != 0)
      k++;
    else
      ir_pair_nodes (p, a[i].node, b[k].node);
}

/* Nodes that are computed from the same in the same way. */
void
ir_pair_by_subtree (IrPairing *p)
{
  g_autofree guint64 *roots_a = root_fingerprints (p, FALSE);
  g_autofree guint64 *roots_b = root_fingerprints (p, TRUE);
  g_autofree guint64 *values_a = subtree_fingerprints (p->a, roots_a, FALSE);
  g_autofree guint64 *values_b = subtree_fingerprints (p->b, roots_b, FALSE);
  g_autoptr (GArray) a = sorted_entries (p->a, values_a, p->node_of_a);
  g_autoptr (GArray) b = sorted_entries (p->b, values_b, p->node_of_b);

  for (guint i = 0, k = 0; i < a->len && k < b->len;)
    {
      const Entry *x = &g_array_index (a, Entry, i), *y = &g_array_index (b, Entry, k);
      const guint end_x = end_of_run (a, i), end_y = end_of_run (b, k);

      if (x->key == y->key)
        pair_run (p, x, end_x - i, y, end_y - k);
      if (x->key <= y->key)
        i = end_x;
      if (x->key >= y->key)
        k = end_y;
    }
  ir_pair_outputs (p);
}
