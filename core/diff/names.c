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

void
ir_pair_by_node_name (IrPairing *p)
{
  g_autoptr (GHashTable) index = ir_diff_index_nodes (p->b);
  g_autoptr (GHashTable) own = ir_diff_index_nodes (p->a);

  for (guint i = 1; i < p->a->nodes->len; i++)
    {
      const IrNode *a = ir_model_live_node (p->a, i);
      const IrNode *b = a != NULL && g_hash_table_lookup (own, a->name) != NULL
                            ? g_hash_table_lookup (index, a->name)
                            : NULL;
      if (b != NULL && ir_diff_same_operator (a, b))
        ir_pair_nodes (p, a, b);
    }
}

/* Inputs, initializers and, through their outputs, nodes. */
void
ir_pair_by_value_name (IrPairing *p)
{
  g_autoptr (GHashTable) index = ir_diff_index_values (p->b);
  g_autoptr (GHashTable) own = ir_diff_index_values (p->a);

  for (guint i = 1; i < p->a->values->len; i++)
    {
      const IrValue *a = ir_model_live_value (p->a, i);
      const IrValue *b = a != NULL && g_hash_table_lookup (own, a->name) != NULL
                             ? g_hash_table_lookup (index, a->name)
                             : NULL;
      if (b == NULL || (a->producer == NULL) != (b->producer == NULL))
        continue;
      if (a->producer == NULL)
        ir_pair_values (p, a, b);
      else if (a->output_slot == b->output_slot && ir_diff_same_operator (a->producer, b->producer))
        ir_pair_nodes (p, a->producer, b->producer);
    }
}

void
ir_pair_graph_inputs (IrPairing *p)
{
  for (guint i = 0; i < MIN (ir_graph_n_inputs (p->a->main), ir_graph_n_inputs (p->b->main)); i++)
    ir_pair_values (p, ir_graph_input (p->a->main, i), ir_graph_input (p->b->main, i));
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
