/* Pairing by the lineage that one file carries, and by fingerprints of all that a node is computed
 * from. */
#include "config.h"

#include "core/diff/diff-private.h"
#include "core/op/defaults.h"

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

static guint64
attrs_fingerprint (const IrModel *model, const IrNode *node)
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
      text = ir_attr_to_string (model->context, attr, 8);
      hash = ir_diff_mix (hash, ir_diff_hash_text (text));
    }
  return hash;
}

/* Of everything that a node is computed from, in the order of execution. What differs above a node
 * changes its fingerprint; 0 stands for a cycle. @roots: of values that nodes do not make. */
static guint64 *
subtree_fingerprints (const IrModel *model, const guint64 *roots)
{
  guint64 *values = g_memdup2 (roots, model->values->len * sizeof *roots);
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrNode *node = order[i];
      guint64 hash = ir_diff_mix (ir_diff_hash_text (node->op_type),
                                  ir_diff_hash_text (node->domain));

      hash = ir_diff_mix (hash, attrs_fingerprint (model, node));
      ir_node_for_each_input (node, k, input)
        hash = ir_diff_mix (hash, values[input->id] + k);
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          values[node->outputs[k]->id] = ir_diff_mix (hash, k + 1);
    }
  return values;
}

/* Inputs, initializers and what else no node makes: one number for what is paired already, that of
 * their contents for other initializers. */
static guint64 *
root_fingerprints (const IrPairing *p, gboolean side_b)
{
  const IrModel *model = side_b ? p->b : p->a;
  guint64 *roots = g_new0 (guint64, model->values->len);

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);

      if (value != NULL && value->producer == NULL)
        roots[i] = ir_diff_mix (7, ir_diff_value_key (p, value, side_b));
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
  IrNodeId id;
} Entry;

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
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
                      i };
      if (entry.key != 0)
        g_array_append_val (entries, entry);
    }
  g_array_sort (entries, compare_entries);
  return entries;
}

/* Nodes that are computed from the same in the same way, in the order of both graphs. */
void
ir_pair_by_subtree (IrPairing *p)
{
  g_autofree guint64 *roots_a = root_fingerprints (p, FALSE);
  g_autofree guint64 *roots_b = root_fingerprints (p, TRUE);
  g_autofree guint64 *values_a = subtree_fingerprints (p->a, roots_a);
  g_autofree guint64 *values_b = subtree_fingerprints (p->b, roots_b);
  g_autoptr (GArray) a = sorted_entries (p->a, values_a, p->node_of_a);
  g_autoptr (GArray) b = sorted_entries (p->b, values_b, p->node_of_b);

  for (guint i = 0, k = 0; i < a->len && k < b->len;)
    {
      const Entry *x = &g_array_index (a, Entry, i), *y = &g_array_index (b, Entry, k);

      if (x->key == y->key)
        ir_pair_nodes (p, ir_model_node (p->a, x->id), ir_model_node (p->b, y->id));
      i += x->key <= y->key;
      k += x->key >= y->key;
    }
  ir_pair_outputs (p);
}
