/* The graph with more nodes is gone through, in the order of execution, and partners are sought in the other
 * one; so the pairs do not depend on which of the two is called the first. */
#include "config.h"

#include "passes/proof/match-values.h"

#include "core/exec/check/difference.h"
#include "passes/proof/alike.h"

typedef struct
{
  const IrMatchSides *sides; /* b is the one that is gone through */
  IrValuePairing *pairing;
  IrAlike *alike;
  GHashTable *found; /* id of b -> IrMatchedValue */
  GCancellable *cancellable;
} Matching;

/* Whether its graph runs once at most: of what runs again and again the last round is kept */
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

/* Where nothing but a name or neighbours speak for a pair, what both hold is asked. (nullable) */
static const IrValue *
find_pair (const Matching *self, const IrValue *b, IrPaired *how)
{
  const IrValue *a = ir_value_pairing_find (self->pairing, b, how), *other;
  const gboolean sure = *how == IR_PAIRED_BY_COMPUTATION || *how == IR_PAIRED_BY_MEANING;
  const IrTensor *x, *y;
  IrComparison result;

  if (sure || (a != NULL && ir_alike_agree (self->alike, a, b)))
    return a;
  other = ir_alike_find (self->alike, b);
  if (other != NULL && ir_value_pairing_of_a (self->pairing, other->id) == 0)
    {
      *how = IR_PAIRED_BY_CONTENTS;
      return other;
    }
  if (a == NULL || *how != IR_PAIRED_BY_PLACE)
    return a;
  x = ir_run_value (self->sides->run_a, a->id);
  y = ir_run_value (self->sides->run_b, b->id);
  return x != NULL && y != NULL && ir_tensors_compare (x, y, &result) ? a : NULL;
}

static void
match (Matching *self, const IrValue *b)
{
  IrPaired how;
  const IrValue *a;

  if (b == NULL || !ir_value_runs_once (b) || ir_run_value (self->sides->run_b, b->id) == NULL)
    return;
  a = find_pair (self, b, &how);
  if (a != NULL && ir_value_runs_once (a) && ir_run_value (self->sides->run_a, a->id) != NULL)
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

/* Inputs that hold the same are the same values. */
static void
match_inputs (Matching *self)
{
  const IrGraph *a = self->sides->diff->a->main, *b = self->sides->diff->b->main;

  for (guint i = 0; i < ir_graph_n_inputs (b); i++)
    {
      const IrValue *y = ir_graph_input (b, i), *x = ir_graph_find_value (a, y->name);
      const IrTensor *held, *other;

      if (x == NULL || !ir_value_is_graph_input (x))
        x = i < ir_graph_n_inputs (a) ? ir_graph_input (a, i) : NULL;
      held = x != NULL ? g_hash_table_lookup (self->sides->inputs_a, GUINT_TO_POINTER (x->id))
                       : NULL;
      other = g_hash_table_lookup (self->sides->inputs_b, GUINT_TO_POINTER (y->id));
      if (held != NULL && other != NULL && ir_value_pairing_of_a (self->pairing, x->id) == 0 &&
          (held == other || ir_tensor_equal (held, other)))
        take (self, x, y, IR_PAIRED_BY_COMPUTATION);
    }
}

static GHashTable *
match_sides (const IrMatchSides *sides, GCancellable *cancellable)
{
  Matching self = { .sides = sides, .cancellable = cancellable };

  self.pairing = ir_value_pairing_new (sides->diff);
  self.alike = ir_alike_new (sides->diff->a, sides->run_a, sides->diff->b, sides->run_b);
  self.found = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  match_inputs (&self);
  match_graph (&self, sides->diff->b->main);
  ir_alike_free (self.alike);
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

GHashTable *
ir_match_values (const IrMatchSides *sides, GCancellable *cancellable)
{
  IrDiff turned;
  IrMatchSides other = { &turned, sides->run_b, sides->run_a, sides->inputs_b, sides->inputs_a };
  g_autoptr (GHashTable) found = NULL;
  GHashTable *found_of_b;
  GHashTableIter iter;
  gpointer id, matched;

  if (!ir_diff_is_turned (sides->diff->a, sides->diff->b))
    return match_sides (sides, cancellable);
  turn (sides->diff, &turned);
  found = match_sides (&other, cancellable);
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
