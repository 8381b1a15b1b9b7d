/* Pairing by id and by name, and what all ways of pairing use. */
#include "config.h"

#include "core/diff/diff-private.h"

#include <string.h>

gboolean
ir_pair_nodes (IrPairing *p, const IrNode *a, const IrNode *b)
{
  if (a == NULL || b == NULL || p->node_of_a[a->id] != 0 || p->node_of_b[b->id] != 0)
    return FALSE;
  p->node_of_a[a->id] = b->id;
  p->node_of_b[b->id] = a->id;
  p->how_of_a[a->id] = p->how_of_b[b->id] = (guint8) p->how;
  return TRUE;
}

void
ir_pair_values (IrPairing *p, const IrValue *a, const IrValue *b)
{
  if (a == NULL || b == NULL || p->value_of_a[a->id] != 0 || p->value_of_b[b->id] != 0)
    return;
  p->value_of_a[a->id] = b->id;
  p->value_of_b[b->id] = a->id;
}

void
ir_pair_by_id (IrPairing *p)
{
  for (guint i = 1; i < MIN (p->a->nodes->len, p->b->nodes->len); i++)
    ir_pair_nodes (p, ir_model_live_node (p->a, i), ir_model_live_node (p->b, i));
  for (guint i = 1; i < MIN (p->a->values->len, p->b->values->len); i++)
    ir_pair_values (p, ir_model_live_value (p->a, i), ir_model_live_value (p->b, i));
}

/* -- pairing unrelated models -- */

gboolean
ir_diff_same_operator (const IrNode *a, const IrNode *b)
{
  return strcmp (a->op_type, b->op_type) == 0 && strcmp (a->domain, b->domain) == 0;
}

/* Name -> the live node of that name; names that occur twice lead to NULL. */
GHashTable *
ir_diff_index_nodes (const IrModel *model)
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

GHashTable *
ir_diff_index_values (const IrModel *model)
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

/* -- names that something speaks for -- */

/* Names are no evidence: two exporters give one name to different things. A pair of them is one where a value that
 * they take or give is a pair already, or where they take the same weights. */
typedef struct
{
  IrPairing *p;
  GHashTable *nodes_a, *nodes_b, *values_a, *values_b; /* by name */
} Names;

/* The node of b that @a is called as: by its name, else by that of what it gives. (nullable) */
static const IrNode *
namesake (const Names *names, const IrNode *a)
{
  const IrNode *b = a->name[0] != '\0' && g_hash_table_lookup (names->nodes_a, a->name) == a
                        ? g_hash_table_lookup (names->nodes_b, a->name)
                        : NULL;

  if (b != NULL && ir_diff_same_operator (a, b) && names->p->node_of_b[b->id] == 0)
    return b;
  for (guint i = 0; i < a->n_outputs; i++)
    {
      const IrValue *value = a->outputs[i], *other;

      if (value == NULL || g_hash_table_lookup (names->values_a, value->name) != value)
        continue;
      other = g_hash_table_lookup (names->values_b, value->name);
      b = other != NULL ? other->producer : NULL;
      if (b != NULL && other->output_slot == i && ir_diff_same_operator (a, b) &&
          names->p->node_of_b[b->id] == 0)
        return b;
    }
  return NULL;
}

/* The same numbers, more than one: scalars are everywhere. */
static gboolean
are_same_weights (const IrValue *x, const IrValue *y)
{
  return x->initializer != NULL && y->initializer != NULL &&
         ir_tensor_n_elements (x->initializer) > 1 &&
         ir_tensor_equal (x->initializer, y->initializer);
}

/* The graph shows both at one place, or something that is a pair takes both. */
static gboolean
are_taken_alike (const IrPairing *p, const IrValue *x, const IrValue *y)
{
  for (guint i = 0; i < x->n_uses; i++)
    {
      const IrUse use = ir_value_use (x, i);
      const IrNode *reader = use.node != NULL ? ir_model_node (p->b, p->node_of_a[use.node->id])
                                              : NULL;

      if (use.node == NULL
              ? use.graph->kind == IR_GRAPH_MAIN && ir_graph_output (p->b->main, use.slot) == y
              : reader != NULL && ir_node_input (reader, use.slot) == y)
        return TRUE;
    }
  return FALSE;
}

/* Bodies are looked at by name where what owns them is a pair; those of functions are called alike. */
static gboolean
is_spoken_for (const IrPairing *p, const IrNode *a, const IrNode *b)
{
  if (a->graph->kind != b->graph->kind)
    return FALSE;
  if (a->graph->kind == IR_GRAPH_SUBGRAPH)
    return p->node_of_a[a->graph->owner] == b->graph->owner;
  if (a->graph->kind == IR_GRAPH_FUNCTION)
    return strcmp (a->graph->name, b->graph->name) == 0;
  for (guint i = 0; i < MIN (a->n_inputs, b->n_inputs); i++)
    if (a->inputs[i] != NULL && b->inputs[i] != NULL &&
        (p->value_of_a[a->inputs[i]->id] == b->inputs[i]->id ||
         are_same_weights (a->inputs[i], b->inputs[i])))
      return TRUE;
  for (guint i = 0; i < MIN (a->n_outputs, b->n_outputs); i++)
    if (a->outputs[i] != NULL && b->outputs[i] != NULL &&
        (p->value_of_a[a->outputs[i]->id] == b->outputs[i]->id ||
         are_taken_alike (p, a->outputs[i], b->outputs[i])))
      return TRUE;
  return FALSE;
}

/* What two nodes that are a pair take and no node makes: those of one name, then those of one place. */
void
ir_pair_constants (IrPairing *p, const IrNode *a, const IrNode *b)
{
  for (gboolean by_place = FALSE; by_place <= TRUE; by_place++)
    for (guint i = 0; i < MIN (a->n_inputs, b->n_inputs); i++)
      {
        const IrValue *x = a->inputs[i], *y = b->inputs[i];

        if (x != NULL && y != NULL && x->producer == NULL && y->producer == NULL &&
            (by_place || strcmp (x->name, y->name) == 0))
          ir_pair_values (p, x, y);
      }
}

static gboolean
pair_namesake (const Names *names, const IrNode *a)
{
  IrPairing *p = names->p;
  const IrNode *b = p->node_of_a[a->id] == 0 ? namesake (names, a) : NULL;

  if (b == NULL || !is_spoken_for (p, a, b) || !ir_pair_nodes (p, a, b))
    return FALSE;
  for (guint k = 0; k < MIN (a->n_outputs, b->n_outputs); k++)
    ir_pair_values (p, a->outputs[k], b->outputs[k]);
  ir_pair_constants (p, a, b);
  return TRUE;
}

#define MAX_ROUNDS 16 /* there and back; what a later one would reach is found by its neighbours */

/* Along each graph and back, as a pair speaks for those that follow it and for those before it. */
void
ir_pair_by_name (IrPairing *p)
{
  g_autoptr (GHashTable) nodes_a = ir_diff_index_nodes (p->a), nodes_b = ir_diff_index_nodes (p->b),
                         values_a = ir_diff_index_values (p->a),
                         values_b = ir_diff_index_values (p->b);
  const Names names = { p, nodes_a, nodes_b, values_a, values_b };
  gboolean any = TRUE;

  for (guint round = 0; any && round < MAX_ROUNDS; round++)
    {
      any = FALSE;
      for (guint i = 1; i < p->a->graphs->len; i++)
        {
          const IrGraph *graph = p->a->graphs->pdata[i];
          guint n = 0;
          IrNode *const *order = graph->state == IR_STATE_LIVE ? ir_graph_order (graph, &n) : NULL;

          for (guint k = 0; k < n; k++)
            any |= pair_namesake (&names, order[k]);
          for (guint k = n; k > 0; k--)
            any |= pair_namesake (&names, order[k - 1]);
        }
    }
}

static gboolean
are_in_one_place (const IrPairing *p, const IrGraph *a, const IrGraph *b)
{
  if (a->kind != b->kind)
    return FALSE;
  return a->kind == IR_GRAPH_MAIN       ? TRUE
         : a->kind == IR_GRAPH_FUNCTION ? strcmp (a->name, b->name) == 0
                                        : p->node_of_a[a->owner] == b->owner;
}

/* Values that no node makes, and that no pair of nodes takes: inputs of bodies; weights of one name and one content. */
void
ir_pair_rest_by_name (IrPairing *p)
{
  g_autoptr (GHashTable) own = ir_diff_index_values (p->a), others = ir_diff_index_values (p->b);

  for (guint i = 1; i < p->a->values->len; i++)
    {
      const IrValue *a = ir_model_live_value (p->a, i);
      const IrValue *b = a != NULL && a->producer == NULL && g_hash_table_lookup (own, a->name) == a
                             ? g_hash_table_lookup (others, a->name)
                             : NULL;

      if (b != NULL && b->producer == NULL && are_in_one_place (p, a->graph, b->graph) &&
          (a->initializer != NULL) == (b->initializer != NULL) &&
          (a->initializer == NULL || ir_tensor_equal (a->initializer, b->initializer)))
        ir_pair_values (p, a, b);
    }
}

/* Names of inputs are what whoever runs a graph says; those that are left go by place. */
void
ir_pair_graph_inputs (IrPairing *p)
{
  const IrGraph *a = p->a->main, *b = p->b->main;

  for (gboolean by_place = FALSE; by_place <= TRUE; by_place++)
    for (guint i = 0; i < ir_graph_n_inputs (a); i++)
      {
        const IrValue *x = ir_graph_input (a, i), *y;

        y = !by_place                   ? ir_graph_find_value (b, x->name)
            : i < ir_graph_n_inputs (b) ? ir_graph_input (b, i)
                                        : NULL;
        if (y != NULL && ir_value_is_graph_input (y) &&
            (!by_place || (x->initializer == NULL && y->initializer == NULL &&
                           ir_value_dtype (x) == ir_value_dtype (y))))
          ir_pair_values (p, x, y);
      }
}

void
ir_pair_outputs (IrPairing *p)
{
  for (guint i = 1; i < p->a->nodes->len; i++)
    {
      const IrNode *a = ir_model_live_node (p->a, i);
      const IrNode *b = a != NULL ? ir_model_node (p->b, p->node_of_a[i]) : NULL;

      for (guint k = 0; b != NULL && k < MIN (a->n_outputs, b->n_outputs); k++)
        ir_pair_values (p, a->outputs[k], b->outputs[k]);
    }
}

guint64
ir_diff_mix (guint64 hash, guint64 word)
{
  hash = (hash ^ word) * G_GUINT64_CONSTANT (0x9fb21c651e98df25);
  return hash ^ (hash >> 29);
}

guint64
ir_diff_hash_text (const char *text)
{
  guint64 hash = 5381;
  for (; *text != '\0'; text++)
    hash = hash * 33 + (guint8) *text;
  return hash;
}

/* Pairs have one number on both sides: the id on side b; what has no twin has none. */
guint64
ir_diff_value_key (const IrPairing *p, const IrValue *value, gboolean side_b)
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
