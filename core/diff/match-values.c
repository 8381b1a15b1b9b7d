/* The graph with more nodes is gone through, in the order of execution, and partners are sought in the other
 * one; so the pairs do not depend on which of the two is called the first. */
#include "config.h"

#include "core/diff/match-values.h"

typedef struct
{
  const IrDiff *diff;              /* b is the one that is gone through */
  const IrMatchEvidence *evidence; /* (nullable) */
  IrValuePairing *pairing;
  GHashTable *found; /* id of b -> IrMatchedValue */
  GCancellable *cancellable;
} Matching;

/**
 * ir_value_runs_once:
 * @value: a value
 *
 * Returns: whether its graph runs once at most: of what runs again and again the last round is kept
 */
gboolean
ir_value_runs_once (const IrValue *value)
{
  const IrGraph *graph = value->graph;

  for (; graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH; graph = ir_graph_outer (graph))
    if (ir_graph_n_inputs (graph) > 0)
      return FALSE;
  return graph != NULL && graph->kind == IR_GRAPH_MAIN;
}

static void
take (Matching *self, const IrValue *a, const IrValue *b, IrPaired how)
{
  IrMatchedValue *matched = g_new (IrMatchedValue, 1);

  *matched = (IrMatchedValue){ a->id, how };
  ir_value_pairing_add (self->pairing, a, b);
  g_hash_table_insert (self->found, GUINT_TO_POINTER (b->id), matched);
}

/* As far as their types are known. */
static gboolean
may_be_same (const IrValue *a, const IrValue *b)
{
  const IrType *x = ir_value_shown_type (a), *y = ir_value_shown_type (b);

  if (!ir_type_is_tensor (x) || !ir_type_is_tensor (y))
    return TRUE;
  if (x->dtype != y->dtype)
    return FALSE;
  if (!ir_type_has_rank (x) || !ir_type_has_rank (y))
    return TRUE;
  for (int i = 0; i < x->rank && i < y->rank; i++)
    if (ir_dim_is_known (x->dims[i]) && ir_dim_is_known (y->dims[i]) && x->dims[i] != y->dims[i])
      return FALSE;
  return x->rank == y->rank;
}

/* Where nothing but a name or neighbours speak for a pair, what both hold is asked. (nullable) */
static const IrValue *
find_pair (const Matching *self, const IrValue *b, IrPaired *how)
{
  const IrMatchEvidence *evidence = self->evidence;
  const IrValue *a = ir_value_pairing_find (self->pairing, b, how), *other;
  const gboolean sure = *how == IR_PAIRED_BY_COMPUTATION || *how == IR_PAIRED_BY_MEANING;

  if (sure || (a != NULL && evidence != NULL && evidence->agree (a, b, evidence->data)))
    return a;
  if (evidence == NULL)
    return a == NULL || may_be_same (a, b) ? a : NULL;
  other = evidence->find (b, evidence->data);
  if (other != NULL && ir_value_pairing_of_a (self->pairing, other->id) == 0)
    {
      *how = IR_PAIRED_BY_CONTENTS;
      return other;
    }
  return a == NULL || *how != IR_PAIRED_BY_PLACE || evidence->can_be_same (a, b, evidence->data)
             ? a
             : NULL;
}

static gboolean
is_held (const Matching *self, const IrValue *value)
{
  return ir_value_runs_once (value) &&
         (self->evidence == NULL || self->evidence->is_held (value, self->evidence->data));
}

static void
match (Matching *self, const IrValue *b)
{
  IrPaired how;
  const IrValue *a;

  if (b == NULL || !is_held (self, b))
    return;
  a = find_pair (self, b, &how);
  if (a != NULL && is_held (self, a))
    take (self, a, b, how);
}

/* Bodies before what owns them. */
static void
match_graph (Matching *self, const IrGraph *graph)
{
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  for (guint i = 0; i < n && !g_cancellable_is_cancelled (self->cancellable); i++)
    {
      g_autoptr (GPtrArray) graphs = ir_node_subgraphs (order[i]);

      for (guint k = 0; graphs != NULL && k < graphs->len; k++)
        match_graph (self, graphs->pdata[k]);
      for (guint k = 0; k < order[i]->n_outputs; k++)
        match (self, order[i]->outputs[k]);
    }
}

/* Inputs that hold the same are the same values; without runs those of one name, or of one place. */
static void
match_inputs (Matching *self)
{
  const IrGraph *a = self->diff->a->main, *b = self->diff->b->main;
  const IrMatchEvidence *evidence = self->evidence;

  for (guint i = 0; i < ir_graph_n_inputs (b); i++)
    {
      const IrValue *y = ir_graph_input (b, i), *x = ir_graph_find_value (a, y->name);

      if (x == NULL || !ir_value_is_graph_input (x))
        x = i < ir_graph_n_inputs (a) ? ir_graph_input (a, i) : NULL;
      if (x != NULL && ir_value_pairing_of_a (self->pairing, x->id) == 0 &&
          (evidence != NULL ? evidence->is_same_input (x, y, evidence->data)
                            : ir_value_dtype (x) == ir_value_dtype (y)))
        take (self, x, y, IR_PAIRED_BY_COMPUTATION);
    }
}

static GHashTable *
match_sides (const IrDiff *diff, const IrMatchEvidence *evidence, GCancellable *cancellable)
{
  Matching self = { .diff = diff, .evidence = evidence, .cancellable = cancellable };

  self.pairing = ir_value_pairing_new (diff);
  self.found = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  match_inputs (&self);
  match_graph (&self, diff->b->main);
  ir_value_pairing_free (self.pairing);
  return self.found;
}

/* -- from either side -- */

/* The same difference from the other side, as far as pairs go. */
static void
turn (const IrDiff *diff, IrDiff *turned)
{
  *turned = (IrDiff){ .a = diff->b,
                      .b = diff->a,
                      .same_history = diff->same_history,
                      .nodes = g_array_copy (diff->nodes),
                      .by_a = diff->by_b,
                      .by_b = diff->by_a };
  g_array_set_clear_func (turned->nodes, NULL); /* texts are those of @diff */
  for (guint i = 0; i < turned->nodes->len; i++)
    {
      IrNodeDiff *row = &g_array_index (turned->nodes, IrNodeDiff, i);
      const IrNodeId a = row->a;

      row->a = row->b;
      row->b = a;
    }
}

/**
 * ir_match_values:
 * @diff: how the nodes of two models are paired
 * @evidence: (nullable): what runs of both hold; without it structure alone decides
 * @cancellable: (nullable): asked between nodes
 *
 * Pairs values in the order of execution, and leaves out what it cannot tell: a name alone makes no pair.
 *
 * Returns: (transfer full): id of the second model's value -> #IrMatchedValue
 */
GHashTable *
ir_match_values (const IrDiff *diff, const IrMatchEvidence *evidence, GCancellable *cancellable)
{
  IrDiff turned;
  g_autoptr (GHashTable) found = NULL;
  GHashTable *found_of_b;
  GHashTableIter iter;
  gpointer id, matched;

  if (!ir_diff_is_turned (diff->a, diff->b))
    return match_sides (diff, evidence, cancellable);
  turn (diff, &turned);
  found = match_sides (&turned, evidence, cancellable);
  found_of_b = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_hash_table_iter_init (&iter, found);
  while (g_hash_table_iter_next (&iter, &id, &matched))
    {
      const IrMatchedValue *one = matched;
      IrMatchedValue *back = g_new (IrMatchedValue, 1);

      *back = (IrMatchedValue){ GPOINTER_TO_UINT (id), one->how };
      g_hash_table_insert (found_of_b, GUINT_TO_POINTER (one->a), back);
    }
  g_array_unref (turned.nodes);
  return found_of_b;
}
