/* The difference of two models. First the nodes and values of both sides are paired: by id within
 * one history; otherwise by the lineage that the second one carries in its metadata, if any, by
 * name, by fingerprints of all that they are computed from, then by operator and neighbours, from
 * what is paired already and from the outputs. Then each pair is compared field by field. Cost:
 * O(n log n), but for the notes on what changed. */
#include "config.h"

#include "core/ir/diff.h"
#include "core/ir/origin.h"

#include <string.h>

/* Twins by id, 0 = none. Index is the id on the own side. */
typedef struct
{
  const IrModel *a, *b;
  IrOrigins *origins;             /* (nullable) what b says that it was made of */
  guint32 *node_of_a, *node_of_b; /* b's id by a's, a's by b's */
  guint32 *value_of_a, *value_of_b;
} Pairing;

static gboolean
pair_nodes (Pairing *p, const IrNode *a, const IrNode *b)
{
  if (a == NULL || b == NULL || p->node_of_a[a->id] != 0 || p->node_of_b[b->id] != 0)
    return FALSE;
  p->node_of_a[a->id] = b->id;
  p->node_of_b[b->id] = a->id;
  return TRUE;
}

static void
pair_values (Pairing *p, const IrValue *a, const IrValue *b)
{
  if (a == NULL || b == NULL || p->value_of_a[a->id] != 0 || p->value_of_b[b->id] != 0)
    return;
  p->value_of_a[a->id] = b->id;
  p->value_of_b[b->id] = a->id;
}

static void
pair_by_id (Pairing *p)
{
  for (guint i = 1; i < MIN (p->a->nodes->len, p->b->nodes->len); i++)
    pair_nodes (p, ir_model_live_node (p->a, i), ir_model_live_node (p->b, i));
  for (guint i = 1; i < MIN (p->a->values->len, p->b->values->len); i++)
    pair_values (p, ir_model_live_value (p->a, i), ir_model_live_value (p->b, i));
}

/* -- pairing unrelated models -- */

static gboolean
same_operator (const IrNode *a, const IrNode *b)
{
  return strcmp (a->op_type, b->op_type) == 0 && strcmp (a->domain, b->domain) == 0;
}

/* Name -> the live node of that name; names that occur twice lead to NULL. */
static GHashTable *
index_nodes (const IrModel *model)
{
  GHashTable *index = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = ir_model_live_node (model, i);
      if (node == NULL || node->name[0] == '\0')
        continue;
      g_hash_table_insert (index, (gpointer) node->name,
                           g_hash_table_contains (index, node->name) ? NULL : node);
    }
  return index;
}

static GHashTable *
index_values (const IrModel *model)
{
  GHashTable *index = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      if (value == NULL || value->name[0] == '\0')
        continue;
      g_hash_table_insert (index, (gpointer) value->name,
                           g_hash_table_contains (index, value->name) ? NULL : value);
    }
  return index;
}

static void
pair_by_node_name (Pairing *p)
{
  g_autoptr (GHashTable) index = index_nodes (p->b);
  g_autoptr (GHashTable) own = index_nodes (p->a);

  for (guint i = 1; i < p->a->nodes->len; i++)
    {
      const IrNode *a = ir_model_live_node (p->a, i);
      const IrNode *b = a != NULL && g_hash_table_lookup (own, a->name) != NULL
                            ? g_hash_table_lookup (index, a->name)
                            : NULL;
      if (b != NULL && same_operator (a, b))
        pair_nodes (p, a, b);
    }
}

/* Inputs, initializers and, through their outputs, nodes. */
static void
pair_by_value_name (Pairing *p)
{
  g_autoptr (GHashTable) index = index_values (p->b);
  g_autoptr (GHashTable) own = index_values (p->a);

  for (guint i = 1; i < p->a->values->len; i++)
    {
      const IrValue *a = ir_model_live_value (p->a, i);
      const IrValue *b = a != NULL && g_hash_table_lookup (own, a->name) != NULL
                             ? g_hash_table_lookup (index, a->name)
                             : NULL;
      if (b == NULL || (a->producer == NULL) != (b->producer == NULL))
        continue;
      if (a->producer == NULL)
        pair_values (p, a, b);
      else if (a->output_slot == b->output_slot && same_operator (a->producer, b->producer))
        pair_nodes (p, a->producer, b->producer);
    }
}

static void
pair_graph_inputs (Pairing *p)
{
  for (guint i = 0; i < MIN (ir_graph_n_inputs (p->a->main), ir_graph_n_inputs (p->b->main)); i++)
    pair_values (p, ir_graph_input (p->a->main, i), ir_graph_input (p->b->main, i));
}

static void
pair_outputs (Pairing *p)
{
  for (guint i = 1; i < p->a->nodes->len; i++)
    {
      const IrNode *a = ir_model_live_node (p->a, i);
      const IrNode *b = a != NULL ? ir_model_node (p->b, p->node_of_a[i]) : NULL;

      for (guint k = 0; b != NULL && k < MIN (a->n_outputs, b->n_outputs); k++)
        pair_values (p, a->outputs[k], b->outputs[k]);
    }
}

static guint64
mix (guint64 hash, guint64 word)
{
  hash = (hash ^ word) * G_GUINT64_CONSTANT (0x9fb21c651e98df25);
  return hash ^ (hash >> 29);
}

static guint64
hash_text (const char *text)
{
  guint64 hash = 5381;
  for (; *text != '\0'; text++)
    hash = hash * 33 + (guint8) *text;
  return hash;
}

/* Pairs have one number on both sides: the id on side b; what has no twin has none. */
static guint64
value_key (const Pairing *p, const IrValue *value, gboolean side_b)
{
  guint32 twin;

  if (value == NULL)
    return 1;
  twin = side_b ? (p->value_of_b[value->id] != 0 ? value->id : 0) : p->value_of_a[value->id];
  if (twin != 0)
    return 2 + (guint64) twin;
  /* Weights that were renamed are known by their contents. */
  return value->initializer != NULL ? ir_tensor_hash (value->initializer) | 1 : 0;
}

static guint64
input_fingerprint (const Pairing *p, const IrNode *node, gboolean side_b)
{
  guint64 hash = mix (hash_text (node->op_type), hash_text (node->domain));
  gboolean known = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      guint64 key = value_key (p, node->inputs[i], side_b);
      known |= key > 1;
      hash = mix (hash, key);
    }
  return known ? hash : 0;
}

/* Who reads its first output, and where; users that have twins only. */
static guint64
use_fingerprint (const Pairing *p, const IrNode *node, gboolean side_b)
{
  guint64 hash = mix (hash_text (node->op_type), hash_text (node->domain)), sum = 0;
  const IrValue *value = ir_node_output (node, 0);

  for (guint i = 0; value != NULL && i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      guint32 twin = 0;

      if (use.node == NULL)
        twin = use.graph->kind == IR_GRAPH_MAIN ? G_MAXUINT32 : 0;
      else
        twin = side_b ? (p->node_of_b[use.node->id] != 0 ? use.node->id : 0)
                      : p->node_of_a[use.node->id];
      if (twin != 0)
        sum += mix (twin, use.slot + 1);
    }
  return sum != 0 ? mix (hash, sum) : 0;
}

typedef guint64 (*FingerprintFunc) (const Pairing *p, const IrNode *node, gboolean side_b);

/* Pairs nodes whose fingerprints agree, in the order of both graphs. TRUE if there were any. */
static gboolean
pair_by_fingerprint (Pairing *p, FingerprintFunc fingerprint)
{
  g_autoptr (GHashTable) waiting = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free,
                                                          (GDestroyNotify) g_queue_free);
  gboolean any = FALSE;

  for (guint i = 1; i < p->b->nodes->len; i++)
    {
      IrNode *b = ir_model_live_node (p->b, i);
      guint64 key = b != NULL && p->node_of_b[i] == 0 ? fingerprint (p, b, TRUE) : 0;
      GQueue *queue;

      if (key == 0)
        continue;
      queue = g_hash_table_lookup (waiting, &key);
      if (queue == NULL)
        {
          queue = g_queue_new ();
          g_hash_table_insert (waiting, g_memdup2 (&key, sizeof key), queue);
        }
      g_queue_push_tail (queue, b);
    }
  for (guint i = 1; i < p->a->nodes->len; i++)
    {
      IrNode *a = ir_model_live_node (p->a, i);
      guint64 key = a != NULL && p->node_of_a[i] == 0 ? fingerprint (p, a, FALSE) : 0;
      GQueue *queue = key != 0 ? g_hash_table_lookup (waiting, &key) : NULL;
      IrNode *b = queue != NULL ? g_queue_peek_head (queue) : NULL;

      if (b != NULL && same_operator (a, b) && pair_nodes (p, a, b))
        {
          g_queue_pop_head (queue);
          any = TRUE;
        }
    }
  if (any)
    pair_outputs (p);
  return any;
}

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
    Pairing *p, const IrNode *b, const IrOrigin *origin, GHashTable *nodes, GHashTable *values)
{
  const char *output = origin->values->len > 0 ? origin->values->pdata[0] : "";
  const IrValue *value = g_hash_table_lookup (values, output);
  const IrNode *maker = value != NULL ? value->producer : NULL;

  if (maker != NULL && (origin->nodes->len == 1 || same_operator (maker, b)) &&
      pair_nodes (p, maker, b))
    return;
  for (guint i = 0; i < origin->nodes->len; i++)
    {
      const IrNode *a = original_node (nodes, values, origin->nodes->pdata[i]);

      if (a != NULL && same_operator (a, b) && pair_nodes (p, a, b))
        return;
    }
  for (guint i = 0; i < origin->nodes->len; i++)
    if (strcmp (origin->nodes->pdata[i], b->name) == 0 &&
        pair_nodes (p, g_hash_table_lookup (nodes, b->name), b))
      return;
  pair_nodes (p, maker, b);
}

static void
pair_by_origin (Pairing *p)
{
  g_autoptr (GHashTable) nodes = index_nodes (p->a);
  g_autoptr (GHashTable) values = index_values (p->a);

  for (guint i = 1; i < p->b->nodes->len; i++)
    {
      const IrNode *b = ir_model_live_node (p->b, i);
      const IrOrigin *origin = b != NULL ? ir_origins_of (p->origins, i) : NULL;

      if (origin == NULL)
        continue;
      pair_with_origin (p, b, origin, nodes, values);
      for (guint k = 0; k < MIN (b->n_outputs, origin->values->len); k++)
        pair_values (p, g_hash_table_lookup (values, origin->values->pdata[k]), b->outputs[k]);
    }
  for (guint i = 1; i < p->b->values->len; i++)
    {
      const IrValue *b = ir_model_live_value (p->b, i);
      const char *name = b != NULL && b->initializer != NULL
                             ? ir_origins_of_constant (p->origins, b->name)
                             : NULL;

      if (name != NULL)
        pair_values (p, g_hash_table_lookup (values, name), b);
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

      hash = mix (hash, hash_text (attr->name));
      if (attr->kind == IR_ATTR_GRAPH || attr->kind == IR_ATTR_GRAPHS)
        continue;
      text = ir_attr_to_string (model->context, attr, 8);
      hash = mix (hash, hash_text (text));
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
      guint64 hash = mix (hash_text (node->op_type), hash_text (node->domain));

      if (node->n_attrs > 0)
        hash = mix (hash, attrs_fingerprint (model, node));
      ir_node_for_each_input (node, k, input)
        hash = mix (hash, values[input->id] + k);
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          values[node->outputs[k]->id] = mix (hash, k + 1);
    }
  return values;
}

/* Inputs, initializers and what else no node makes: one number for what is paired already, that of
 * their contents for other initializers. */
static guint64 *
root_fingerprints (const Pairing *p, gboolean side_b)
{
  const IrModel *model = side_b ? p->b : p->a;
  guint64 *roots = g_new0 (guint64, model->values->len);

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);

      if (value != NULL && value->producer == NULL)
        roots[i] = mix (7, value_key (p, value, side_b));
    }
  return roots;
}

static guint64
subtree_of (const IrNode *node, const guint64 *values)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      return mix (values[node->outputs[i]->id], i);
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
static void
pair_by_subtree (Pairing *p)
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
        pair_nodes (p, ir_model_node (p->a, x->id), ir_model_node (p->b, y->id));
      i += x->key <= y->key;
      k += x->key >= y->key;
    }
  pair_outputs (p);
}

/* -- pairing by neighbours -- */

/* Pairs whose neighbours are still to be looked at. */
typedef struct
{
  Pairing *p;
  GArray *queue; /* of IrNodeId in a */
} Front;

static gboolean
take (Front *front, const IrNode *a, const IrNode *b)
{
  if (!pair_nodes (front->p, a, b))
    return FALSE;
  for (guint k = 0; k < MIN (a->n_outputs, b->n_outputs); k++)
    pair_values (front->p, a->outputs[k], b->outputs[k]);
  g_array_append_val (front->queue, a->id);
  return TRUE;
}

/* The only reader of @value at @slot that has no twin and, if @like is given, its operator; NULL if
 * there are none or several. */
static const IrNode *
only_reader (const IrValue *value, const IrNode *like, guint slot, const guint32 *twins)
{
  const IrNode *found = NULL;

  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);

      if (use.node == NULL || twins[use.node->id] != 0 || use.slot != slot ||
          (like != NULL && !same_operator (use.node, like)))
        continue;
      if (found != NULL)
        return NULL;
      found = use.node;
    }
  return found;
}

#define MAX_READERS 64 /* of one value, looked at in pairs */

static void
pair_readers (Front *front, const IrValue *a, const IrValue *b)
{
  const Pairing *p = front->p;

  if (a == NULL || b == NULL || a->n_uses > MAX_READERS || b->n_uses > MAX_READERS)
    return;
  for (guint i = 0; i < a->n_uses; i++)
    {
      IrUse use = ir_value_use (a, i);
      const IrNode *reader = use.node, *twin;

      if (reader == NULL || p->node_of_a[reader->id] != 0 ||
          only_reader (a, reader, use.slot, p->node_of_a) != reader)
        continue;
      twin = only_reader (b, reader, use.slot, p->node_of_b);
      if (twin != NULL)
        take (front, reader, twin);
    }
}

static void
pair_makers (Front *front, const IrNode *a, const IrNode *b)
{
  for (guint i = 0; i < MIN (a->n_inputs, b->n_inputs); i++)
    {
      const IrValue *from = a->inputs[i], *to = b->inputs[i];

      if (from == NULL || to == NULL)
        continue;
      if (from->producer == NULL && to->producer == NULL)
        pair_values (front->p, from, to);
      else if (from->producer != NULL && to->producer != NULL &&
               from->output_slot == to->output_slot && same_operator (from->producer, to->producer))
        take (front, from->producer, to->producer);
    }
}

/* Down to the readers of what is paired, up to the makers of what it reads, as far as it goes. */
static void
follow (Front *front)
{
  Pairing *p = front->p;

  while (front->queue->len > 0)
    {
      IrNodeId id = g_array_index (front->queue, IrNodeId, front->queue->len - 1);
      const IrNode *a = ir_model_live_node (p->a, id);
      const IrNode *b = ir_model_live_node (p->b, p->node_of_a[id]);

      g_array_set_size (front->queue, front->queue->len - 1);
      for (guint k = 0; k < MIN (a->n_outputs, b->n_outputs); k++)
        pair_readers (front, a->outputs[k], b->outputs[k]);
      pair_makers (front, a, b);
    }
}

static gboolean
inputs_are_twins (const Pairing *p, const IrNode *a, const IrNode *b)
{
  if (a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs || a->n_inputs == 0)
    return FALSE;
  for (guint i = 0; i < a->n_inputs; i++)
    if (a->inputs[i] == NULL || b->inputs[i] == NULL
            ? a->inputs[i] != b->inputs[i]
            : p->value_of_a[a->inputs[i]->id] != b->inputs[i]->id)
      return FALSE;
  return TRUE;
}

/* Otherwise a node that was put in would pass for one that was replaced. */
static gboolean
readers_are_alike (const IrValue *a, const IrValue *b)
{
  if (a == NULL || b == NULL || a->n_uses != b->n_uses || a->n_uses > MAX_READERS)
    return FALSE;
  for (guint i = 0; i < a->n_uses; i++)
    {
      IrUse from = ir_value_use (a, i), to = ir_value_use (b, i);

      if ((from.node == NULL) != (to.node == NULL) || from.slot != to.slot ||
          (from.node != NULL && !same_operator (from.node, to.node)))
        return FALSE;
    }
  return TRUE;
}

/* Another operator in the place of one: the same inputs, nobody else there, and readers alike. So
 * what lies behind it is found too. */
static void
pair_replaced (Front *front)
{
  Pairing *p = front->p;
  guint n;
  IrNode *const *order = ir_graph_order (p->a->main, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrNode *a = order[i], *b = NULL;
      const IrValue *first = ir_node_input (a, 0);

      if (p->node_of_a[a->id] != 0 || first == NULL || p->value_of_a[first->id] == 0 ||
          first->n_uses > MAX_READERS || only_reader (first, NULL, 0, p->node_of_a) != a)
        continue;
      b = only_reader (ir_model_value (p->b, p->value_of_a[first->id]), NULL, 0, p->node_of_b);
      if (b != NULL && inputs_are_twins (p, a, b) &&
          readers_are_alike (ir_node_output (a, 0), ir_node_output (b, 0)) && take (front, a, b))
        follow (front);
    }
}

/* From the outputs upwards: what lies behind the last node that was put in or taken out. */
static void
pair_output_makers (Front *front)
{
  const IrGraph *a = front->p->a->main, *b = front->p->b->main;

  for (guint i = 0; i < MIN (ir_graph_n_outputs (a), ir_graph_n_outputs (b)); i++)
    {
      const IrValue *from = ir_graph_output (a, i), *to = ir_graph_output (b, i);

      if (from != NULL && to != NULL && from->producer != NULL && to->producer != NULL &&
          same_operator (from->producer, to->producer) &&
          take (front, from->producer, to->producer))
        follow (front);
    }
}

static void
pair_by_neighbours (Pairing *p)
{
  g_autoptr (GArray) queue = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  Front front = { p, queue };

  for (guint i = 0; i < ir_graph_n_inputs (p->a->main); i++)
    {
      const IrValue *a = ir_graph_input (p->a->main, i);
      if (a != NULL && p->value_of_a[a->id] != 0)
        pair_readers (&front, a, ir_model_value (p->b, p->value_of_a[a->id]));
    }
  for (guint i = p->a->nodes->len; i > 1; i--)
    if (p->node_of_a[i - 1] != 0)
      {
        IrNodeId id = i - 1;
        g_array_append_val (queue, id);
      }
  follow (&front);
  pair_replaced (&front);
  pair_output_makers (&front);
}

/* Each round reaches at least one node further; what follow() leaves is rarely deep. */
#define MAX_ROUNDS 64

static void
pair_by_likeness (Pairing *p)
{
  gboolean any = TRUE;

  if (p->origins != NULL)
    pair_by_origin (p);
  pair_by_node_name (p);
  pair_by_value_name (p);
  pair_graph_inputs (p);
  pair_outputs (p);
  pair_by_subtree (p);
  pair_by_neighbours (p);
  for (guint i = 0; i < MAX_ROUNDS && any; i++)
    {
      any = pair_by_fingerprint (p, input_fingerprint);
      any |= pair_by_fingerprint (p, use_fingerprint);
    }
}

/* -- comparing -- */

static GPtrArray *note (GPtrArray *changes, const char *format, ...) G_GNUC_PRINTF (2, 3);

static GPtrArray *
note (GPtrArray *changes, const char *format, ...)
{
  va_list args;

  if (changes == NULL)
    changes = g_ptr_array_new_with_free_func (g_free);
  va_start (args, format);
  g_ptr_array_add (changes, g_strdup_vprintf (format, args));
  va_end (args);
  return changes;
}

static const char *
value_name (const IrValue *value)
{
  return value == NULL ? "none" : value->name[0] != '\0' ? value->name : "(no name)";
}

static gboolean
are_twins (const Pairing *p, const IrValue *a, const IrValue *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  return p->value_of_a[a->id] == b->id;
}

static GPtrArray *
compare_strings (GPtrArray *changes, const char *what, const char *a, const char *b)
{
  if (strcmp (a, b) != 0)
    changes = note (changes, "%s: \"%s\" -> \"%s\"", what, a, b);
  return changes;
}

/* Where a name was handed over, ids tell the two values apart. */
static GPtrArray *
note_link (GPtrArray *changes, const char *what, guint slot, const IrValue *from, const IrValue *to)
{
  if (from != NULL && to != NULL && strcmp (from->name, to->name) == 0)
    return note (changes, "%s %u: %s (#%u) -> %s (#%u)", what, slot, from->name, from->id, to->name,
                 to->id);
  return note (changes, "%s %u: %s -> %s", what, slot, value_name (from), value_name (to));
}

static GPtrArray *
compare_links (GPtrArray *changes, const Pairing *p, const IrNode *a, const IrNode *b)
{
  for (guint i = 0; i < MAX (a->n_inputs, b->n_inputs); i++)
    if (!are_twins (p, ir_node_input (a, i), ir_node_input (b, i)))
      changes = note_link (changes, "input", i, ir_node_input (a, i), ir_node_input (b, i));
  for (guint i = 0; i < MAX (a->n_outputs, b->n_outputs); i++)
    if (!are_twins (p, ir_node_output (a, i), ir_node_output (b, i)))
      changes = note_link (changes, "output", i, ir_node_output (a, i), ir_node_output (b, i));
  return changes;
}

/* Graph attributes hold ids of their own model, and types belong to a context: texts decide. */
static gboolean
attrs_agree (const Pairing *p, const IrAttr *a, const IrAttr *b)
{
  gboolean types = a->kind == IR_ATTR_TYPE || a->kind == IR_ATTR_TYPES;
  gboolean graphs = a->kind == IR_ATTR_GRAPH || a->kind == IR_ATTR_GRAPHS;

  if (a == b)
    return TRUE;
  if (p->a->context != p->b->context && types && a->kind == b->kind)
    {
      g_autofree char *from = ir_attr_to_string (p->a->context, a, G_MAXUINT);
      g_autofree char *to = ir_attr_to_string (p->b->context, b, G_MAXUINT);
      return strcmp (from, to) == 0;
    }
  if (p->a->context != p->b->context && graphs)
    return a->kind == b->kind && a->n == b->n;
  return ir_attr_equal (a, b);
}

static GPtrArray *
compare_attrs (GPtrArray *changes, const Pairing *p, const IrNode *a, const IrNode *b)
{
  guint i = 0, k = 0;

  while (i < a->n_attrs || k < b->n_attrs)
    {
      const IrAttr *from = i < a->n_attrs ? a->attrs[i] : NULL;
      const IrAttr *to = k < b->n_attrs ? b->attrs[k] : NULL;
      int order = from == NULL ? 1 : to == NULL ? -1 : strcmp (from->name, to->name);
      g_autofree char *before = NULL;
      g_autofree char *after = NULL;

      i += order <= 0;
      k += order >= 0;
      if (order == 0 && attrs_agree (p, from, to))
        continue;
      before = order <= 0 ? ir_attr_to_string (p->a->context, from, 8) : g_strdup ("none");
      after = order >= 0 ? ir_attr_to_string (p->b->context, to, 8) : g_strdup ("none");
      changes = note (changes, "attribute %s: %s -> %s", order <= 0 ? from->name : to->name, before,
                      after);
    }
  return changes;
}

/* Of the node that @id is on side a, the id on side b. */
static GPtrArray *
compare_controls (GPtrArray *changes, const Pairing *p, const IrNode *a, const IrNode *b)
{
  guint n_a = a->controls != NULL ? a->controls->n : 0;
  guint n_b = b->controls != NULL ? b->controls->n : 0;
  g_autoptr (GHashTable) wanted = NULL;
  gboolean same = n_a == n_b;

  if (n_a == 0 && n_b == 0)
    return changes;
  wanted = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < n_b; i++)
    g_hash_table_add (wanted, GUINT_TO_POINTER (b->controls->ids[i]));
  for (guint i = 0; i < n_a && same; i++)
    {
      guint32 id = a->controls->ids[i];
      same = id < p->a->nodes->len &&
             g_hash_table_contains (wanted, GUINT_TO_POINTER (p->node_of_a[id]));
    }
  return same ? changes : note (changes, "control dependencies: %u -> %u", n_a, n_b);
}

static GPtrArray *
compare_nodes (const Pairing *p, const IrNode *a, const IrNode *b)
{
  GPtrArray *changes = NULL;

  changes = compare_strings (changes, "operator", a->op_type, b->op_type);
  changes = compare_strings (changes, "domain", a->domain, b->domain);
  changes = compare_strings (changes, "overload", a->overload, b->overload);
  changes = compare_strings (changes, "name", a->name, b->name);
  changes = compare_links (changes, p, a, b);
  changes = compare_attrs (changes, p, a, b);
  changes = compare_controls (changes, p, a, b);
  changes = compare_strings (changes, "scope", a->scope, b->scope);
  changes = compare_strings (changes, "device", a->device, b->device);
  if (p->a->context == p->b->context && a->graph != NULL && b->graph != NULL &&
      a->graph->id != b->graph->id)
    changes = note (changes, "graph: %u -> %u", a->graph->id, b->graph->id);
  return changes;
}

static GPtrArray *
compare_types (GPtrArray *changes, const Pairing *p, const IrValue *a, const IrValue *b)
{
  g_autofree char *from = NULL;
  g_autofree char *to = NULL;

  if (a->type == b->type)
    return changes;
  from = ir_type_to_string (p->a->context, a->type);
  to = ir_type_to_string (p->b->context, b->type);
  return strcmp (from, to) != 0 ? note (changes, "type: %s -> %s", from, to) : changes;
}

static gboolean
is_output (const IrValue *value)
{
  return ir_value_is_graph_output (value);
}

static GPtrArray *
compare_values (const Pairing *p, const IrValue *a, const IrValue *b)
{
  GPtrArray *changes = compare_types (NULL, p, a, b);

  changes = compare_strings (changes, "name", a->name, b->name);
  if ((a->initializer == NULL) != (b->initializer == NULL))
    changes = note (changes, b->initializer == NULL ? "initializer removed" : "initializer added");
  else if (a->initializer != b->initializer && !ir_tensor_equal (a->initializer, b->initializer))
    changes = note (changes, "initializer changed");
  if (is_output (a) != is_output (b))
    changes = note (changes, is_output (b) ? "is an output now" : "is no output any more");
  if (ir_value_is_graph_input (a) != ir_value_is_graph_input (b))
    changes = note (changes,
                    ir_value_is_graph_input (b) ? "is an input now" : "is no input any more");
  if ((a->producer == NULL) != (b->producer == NULL) ||
      (a->producer != NULL && p->node_of_a[a->producer->id] != b->producer->id))
    {
      g_autofree char *from = a->producer != NULL ? ir_node_label (a->producer) : g_strdup ("none");
      g_autofree char *to = b->producer != NULL ? ir_node_label (b->producer) : g_strdup ("none");
      changes = note (changes, "producer: %s -> %s", from, to);
    }
  return changes;
}

/* -- the result -- */

static void
add_node_diff (IrDiff *diff, IrDiffKind kind, IrNodeId a, IrNodeId b, GPtrArray *changes)
{
  IrNodeDiff item = { kind, a, b, changes };

  g_array_append_val (diff->nodes, item);
  diff->n_nodes[kind]++;
  if (a != 0)
    g_hash_table_insert (diff->by_a, GUINT_TO_POINTER (a), GUINT_TO_POINTER (diff->nodes->len));
  if (b != 0)
    g_hash_table_insert (diff->by_b, GUINT_TO_POINTER (b), GUINT_TO_POINTER (diff->nodes->len));
}

/* All live nodes, graph by graph, each in its order. */
static GPtrArray *
all_nodes (const IrModel *model)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      guint n = 0;
      IrNode *const *order = graph->state == IR_STATE_LIVE ? ir_graph_order (graph, &n) : NULL;
      for (guint k = 0; k < n; k++)
        g_ptr_array_add (nodes, order[k]);
    }
  return nodes;
}

/* Removed nodes, by the node of b behind whose place they come; 0 = in front of all. */
static void
add_removed (IrDiff *diff, const guint32 *next_removed, guint32 first)
{
  for (guint32 id = first; id != 0; id = next_removed[id])
    add_node_diff (diff, IR_DIFF_REMOVED, id, 0, NULL);
}

static char *
join_names (const GPtrArray *names)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", (char *) names->pdata[i]);
  return g_string_free (text, FALSE);
}

/* What the file says of a node that is not what it was. */
static GPtrArray *
note_origin (GPtrArray *changes, const Pairing *p, const IrNode *b, gboolean added)
{
  const IrOrigin *origin = p->origins != NULL ? ir_origins_of (p->origins, b->id) : NULL;
  g_autofree char *names = NULL;
  g_autofree char *rules = NULL;

  if (origin == NULL || (!added && changes == NULL))
    return changes;
  names = join_names (origin->nodes);
  rules = join_names (origin->rules);
  return note (changes, "stands for: %s (%s)", names, rules);
}

static void
fill_nodes (IrDiff *diff, const Pairing *p)
{
  g_autoptr (GPtrArray) a_nodes = all_nodes (p->a);
  g_autoptr (GPtrArray) b_nodes = all_nodes (p->b);
  g_autofree guint32 *first_removed = g_new0 (guint32, p->b->nodes->len);
  g_autofree guint32 *last_removed = g_new0 (guint32, p->b->nodes->len);
  g_autofree guint32 *next_removed = g_new0 (guint32, p->a->nodes->len);
  guint32 behind = 0;

  for (guint i = 0; i < a_nodes->len; i++)
    {
      guint32 id = ((IrNode *) a_nodes->pdata[i])->id;

      if (p->node_of_a[id] != 0)
        {
          behind = p->node_of_a[id];
          continue;
        }
      if (first_removed[behind] == 0)
        first_removed[behind] = id;
      else
        next_removed[last_removed[behind]] = id;
      last_removed[behind] = id;
    }
  add_removed (diff, next_removed, first_removed[0]);
  for (guint i = 0; i < b_nodes->len; i++)
    {
      const IrNode *b = b_nodes->pdata[i];
      const IrNode *a = ir_model_live_node (p->a, p->node_of_b[b->id]);
      GPtrArray *changes = a != NULL ? compare_nodes (p, a, b) : NULL;

      changes = note_origin (changes, p, b, a == NULL);
      add_node_diff (diff,
                     a == NULL         ? IR_DIFF_ADDED
                     : changes != NULL ? IR_DIFF_CHANGED
                                       : IR_DIFF_SAME,
                     a != NULL ? a->id : 0, b->id, changes);
      add_removed (diff, next_removed, first_removed[b->id]);
    }
}

static void
fill_values (IrDiff *diff, const Pairing *p)
{
  for (guint i = 1; i < p->b->values->len; i++)
    {
      const IrValue *b = ir_model_live_value (p->b, i);
      const IrValue *a = b != NULL ? ir_model_live_value (p->a, p->value_of_b[i]) : NULL;
      IrValueDiff item = { IR_DIFF_ADDED, 0, i, NULL };

      if (b == NULL)
        continue;
      if (a != NULL)
        {
          item.a = a->id;
          item.kind = IR_DIFF_CHANGED;
          item.changes = compare_values (p, a, b);
        }
      if (a == NULL || item.changes != NULL)
        g_array_append_val (diff->values, item);
    }
  for (guint i = 1; i < p->a->values->len; i++)
    {
      IrValueDiff item = { IR_DIFF_REMOVED, i, 0, NULL };
      if (ir_model_live_value (p->a, i) != NULL && p->value_of_a[i] == 0)
        g_array_append_val (diff->values, item);
    }
}

static void
clear_node_diff (gpointer data)
{
  g_clear_pointer (&((IrNodeDiff *) data)->changes, g_ptr_array_unref);
}

static void
clear_value_diff (gpointer data)
{
  g_clear_pointer (&((IrValueDiff *) data)->changes, g_ptr_array_unref);
}

/**
 * ir_diff_new:
 * @a: (transfer none): before
 * @b: (transfer none): after
 * @same_history: whether equal ids mean the same node: two steps of one model
 *
 * All nodes are listed, those that are the same too; of values only those that differ. Neither
 * model may be edited while the difference is in use.
 *
 * Returns: (transfer full): the difference
 */
IrDiff *
ir_diff_new (IrModel *a, IrModel *b, gboolean same_history)
{
  IrDiff *diff = g_new0 (IrDiff, 1);
  Pairing p = { .a = a, .b = b };

  diff->a = ir_model_ref (a);
  diff->b = ir_model_ref (b);
  diff->nodes = g_array_new (FALSE, FALSE, sizeof (IrNodeDiff));
  diff->values = g_array_new (FALSE, FALSE, sizeof (IrValueDiff));
  g_array_set_clear_func (diff->nodes, clear_node_diff);
  g_array_set_clear_func (diff->values, clear_value_diff);
  diff->by_a = g_hash_table_new (NULL, NULL);
  diff->by_b = g_hash_table_new (NULL, NULL);
  p.node_of_a = g_new0 (guint32, a->nodes->len);
  p.node_of_b = g_new0 (guint32, b->nodes->len);
  p.value_of_a = g_new0 (guint32, a->values->len);
  p.value_of_b = g_new0 (guint32, b->values->len);
  if (same_history)
    pair_by_id (&p);
  else
    {
      p.origins = ir_origins_read (b);
      pair_by_likeness (&p);
    }
  fill_nodes (diff, &p);
  fill_values (diff, &p);
  g_free (p.node_of_a);
  g_free (p.node_of_b);
  g_free (p.value_of_a);
  g_free (p.value_of_b);
  g_clear_pointer (&p.origins, ir_origins_free);
  return diff;
}

/**
 * ir_diff_free:
 * @diff: (transfer full): a difference
 */
void
ir_diff_free (IrDiff *diff)
{
  g_array_unref (diff->nodes);
  g_array_unref (diff->values);
  g_hash_table_unref (diff->by_a);
  g_hash_table_unref (diff->by_b);
  ir_model_unref (diff->a);
  ir_model_unref (diff->b);
  g_free (diff);
}

static const IrNodeDiff *
find (const IrDiff *diff, GHashTable *table, IrNodeId id)
{
  guint place = GPOINTER_TO_UINT (g_hash_table_lookup (table, GUINT_TO_POINTER (id)));
  return place > 0 ? &g_array_index (diff->nodes, IrNodeDiff, place - 1) : NULL;
}

/**
 * ir_diff_of_a:
 * @diff: a difference
 * @a: id of a node in the model before
 *
 * Returns: (transfer none) (nullable): what became of it; %NULL if it is not live there
 */
const IrNodeDiff *
ir_diff_of_a (const IrDiff *diff, IrNodeId a)
{
  return find (diff, diff->by_a, a);
}

/**
 * ir_diff_of_b:
 * @diff: a difference
 * @b: id of a node in the model after
 *
 * Returns: (transfer none) (nullable): what it was; %NULL if it is not live there
 */
const IrNodeDiff *
ir_diff_of_b (const IrDiff *diff, IrNodeId b)
{
  return find (diff, diff->by_b, b);
}

/**
 * ir_diff_kind_name:
 * @kind: a kind of difference
 *
 * Returns: (transfer none): "same", "added", "removed" or "changed"
 */
const char *
ir_diff_kind_name (IrDiffKind kind)
{
  static const char *const names[IR_N_DIFF_KINDS] = { "same", "added", "removed", "changed" };
  return (guint) kind < IR_N_DIFF_KINDS ? names[kind] : "unknown";
}

/* -- groups -- */

static void
group_free (gpointer data)
{
  IrDiffGroup *group = data;

  g_ptr_array_unref (group->changes);
  g_array_unref (group->items);
  g_free (group);
}

/* What a change says without the names of its place: two places may then say the same. */
static char *
change_in_common (const char *change)
{
  static const char *const local[] = { "input ", "output ", "name:", "scope:", "producer:" };
  const char *colon = strchr (change, ':'), *rules = strrchr (change, '(');

  if (g_str_has_prefix (change, "stands for:") && rules != NULL)
    return g_strdup_printf ("stands for others %s", rules);
  for (guint i = 0; i < G_N_ELEMENTS (local); i++)
    if (colon != NULL && g_str_has_prefix (change, local[i]))
      return g_strndup (change, colon - change);
  return g_strdup (change);
}

static void
add_to_group (GHashTable *index,
              GPtrArray *groups,
              IrDiffKind kind,
              gboolean of_values,
              const char *op,
              const GPtrArray *changes,
              guint item)
{
  g_autoptr (GPtrArray) common = g_ptr_array_new_with_free_func (g_free);
  GString *key = g_string_new (NULL);
  IrDiffGroup *group;

  g_string_append_printf (key, "%d %d %s", kind, of_values, op != NULL ? op : "");
  for (guint i = 0; changes != NULL && i < changes->len; i++)
    {
      g_ptr_array_add (common, change_in_common (changes->pdata[i]));
      g_string_append_printf (key, "\n%s", (char *) common->pdata[i]);
    }
  group = g_hash_table_lookup (index, key->str);
  if (group == NULL)
    {
      group = g_new0 (IrDiffGroup, 1);
      group->kind = kind;
      group->of_values = of_values;
      group->op = op;
      group->changes = g_steal_pointer (&common);
      group->items = g_array_new (FALSE, FALSE, sizeof (guint));
      g_ptr_array_add (groups, group);
      g_hash_table_insert (index, g_strdup (key->str), group);
    }
  g_array_append_val (group->items, item);
  g_string_free (key, TRUE);
}

static const char *
common_operator (const IrDiff *diff, const IrNodeDiff *item)
{
  const IrNode *a = item->a != 0 ? ir_model_node (diff->a, item->a) : NULL;
  const IrNode *b = item->b != 0 ? ir_model_node (diff->b, item->b) : NULL;

  if (a != NULL && b != NULL)
    return strcmp (a->op_type, b->op_type) == 0 ? b->op_type : NULL;
  return b != NULL ? b->op_type : a->op_type;
}

/* Largest first; of equal ones the one that comes first. */
static int
compare_groups (gconstpointer a, gconstpointer b)
{
  const IrDiffGroup *x = *(IrDiffGroup *const *) a, *y = *(IrDiffGroup *const *) b;
  guint i, k;

  if (x->items->len != y->items->len)
    return x->items->len < y->items->len ? 1 : -1;
  if (x->of_values != y->of_values)
    return x->of_values ? 1 : -1;
  i = g_array_index (x->items, guint, 0);
  k = g_array_index (y->items, guint, 0);
  return i < k ? -1 : i > k;
}

/**
 * ir_diff_groups:
 * @diff: a difference
 *
 * Sorts the nodes and values that differ by what differs: kind, operator and changes, but for the
 * names of neighbours and of themselves, which differ from place to place. Linear in their texts.
 *
 * Returns: (transfer full) (element-type IrDiffGroup): largest groups first; single ones too
 */
GPtrArray *
ir_diff_groups (const IrDiff *diff)
{
  g_autoptr (GHashTable) index = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GPtrArray *groups = g_ptr_array_new_with_free_func (group_free);

  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);

      if (item->kind != IR_DIFF_SAME)
        add_to_group (index, groups, item->kind, FALSE, common_operator (diff, item), item->changes,
                      i);
    }
  for (guint i = 0; i < diff->values->len; i++)
    {
      const IrValueDiff *item = &g_array_index (diff->values, IrValueDiff, i);

      if (item->kind != IR_DIFF_SAME)
        add_to_group (index, groups, item->kind, TRUE, NULL, item->changes, i);
    }
  g_ptr_array_sort (groups, compare_groups);
  return groups;
}
