/* Values of b are asked for in the order of execution, so that what they are computed from is
 * paired already. In order of what can be trusted:
 *
 *   id, lineage     within one history an id means one value, whatever computes it; a file that was
 *                   optimized says in its metadata which original values its own ones stand for
 *   computation     the same operator with the same attributes on paired values and equal constants
 *   name            unless a node behind it shows that another value has its role now
 *   role            paired nodes of one operator take it as the same input
 *   form            paired nodes that differ in the contents of constants alone make it, and no
 *                   node behind it says otherwise
 *
 * Names, roles and forms are where one looks, and no evidence: what both runs hold decides against them where
 * another value holds the same (alike.c), and for a pair where nothing else does.
 *
 * A node that lost or gained a bias, or into which another was fused, thus never vouches for what it
 * gives. */
#include "config.h"

#include "core/diff/pair-values.h"

#include "core/diff/diff-private.h"

#include "core/ir/origin.h"
#include "core/op/defaults.h"
#include "core/op/op.h"

#include <string.h>

struct _IrValuePairing
{
  const IrDiff *diff;
  GHashTable *of_a, *of_b;        /* ids */
  GHashTable *meant;              /* id of b -> id of a: by ids or lineage */
  GHashTable *meant_a;            /* the other way round */
  GHashTable *names;              /* name -> value of a's main graph */
  guint64 *numbers_a, *numbers_b; /* of values that hold the same in every run of their model */
  GHashTable *of_number;          /* number of b -> id of a: of the first pair of it */
};

static gpointer
get (GHashTable *table, guint32 id)
{
  return g_hash_table_lookup (table, GUINT_TO_POINTER (id));
}

static void
put (GHashTable *table, guint32 id, guint32 to)
{
  g_hash_table_insert (table, GUINT_TO_POINTER (id), GUINT_TO_POINTER (to));
}

/**
 * ir_value_pairing_of_a:
 * @self: a pairing
 * @a: id of a value of the first model
 *
 * Returns: the value of the second model that it was paired with, or 0
 */
IrValueId
ir_value_pairing_of_a (const IrValuePairing *self, IrValueId a)
{
  return GPOINTER_TO_UINT (get (self->of_a, a));
}

/**
 * ir_value_pairing_of_b:
 * @self: a pairing
 * @b: id of a value of the second model
 *
 * Returns: the value of the first model that it was paired with, or 0
 */
IrValueId
ir_value_pairing_of_b (const IrValuePairing *self, IrValueId b)
{
  return GPOINTER_TO_UINT (get (self->of_b, b));
}

/**
 * ir_value_pairing_add:
 * @self: a pairing
 * @a: a value of the first model, not paired yet
 * @b: one of the second, not paired yet
 *
 * They are the same value.
 */
void
ir_value_pairing_add (IrValuePairing *self, const IrValue *a, const IrValue *b)
{
  const gpointer number = (gpointer) (guintptr) self->numbers_b[b->id];

  put (self->of_a, a->id, b->id);
  put (self->of_b, b->id, a->id);
  if (!g_hash_table_contains (self->of_number, number))
    g_hash_table_insert (self->of_number, number, GUINT_TO_POINTER (a->id));
}

/* The value of a that holds what @b holds: its partner, or that of one that is computed in the same way. */
static IrValueId
equal_of_b (const IrValuePairing *self, IrValueId b)
{
  const IrValueId a = ir_value_pairing_of_b (self, b);

  return a != 0 ? a
                : GPOINTER_TO_UINT (g_hash_table_lookup (self->of_number,
                                                         (gpointer) (guintptr) self->numbers_b[b]));
}

/* Where a graph computes something twice, any of the two is as good. */
static gboolean
hold_the_same (const IrValuePairing *self, const IrValue *a, const IrValue *b)
{
  const IrValueId twin = equal_of_b (self, b->id);

  return twin != 0 && (twin == a->id || self->numbers_a[twin] == self->numbers_a[a->id]);
}

static gboolean
is_computed (const IrValue *value)
{
  return value != NULL && value->producer != NULL && ir_value_constant (value) == NULL;
}

/* -- what is known before -- */

static void
mean (IrValuePairing *self, const IrValue *a, const IrValue *b)
{
  if (!is_computed (a) || !is_computed (b) || a->graph->kind != IR_GRAPH_MAIN ||
      b->graph->kind != IR_GRAPH_MAIN || get (self->meant, b->id) != NULL ||
      get (self->meant_a, a->id) != NULL)
    return;
  put (self->meant, b->id, a->id);
  put (self->meant_a, a->id, b->id);
}

static void
mean_ids (IrValuePairing *self)
{
  for (guint id = 1; id < self->diff->b->values->len; id++)
    if (ir_model_live_value (self->diff->b, id) != NULL)
      mean (self, ir_model_live_value (self->diff->a, id), ir_model_live_value (self->diff->b, id));
}

/* What @made says that it was made of; @of_b: it is b, and a the original. */
static void
mean_origins (IrValuePairing *self, const IrModel *made, const IrModel *original, gboolean of_b)
{
  g_autoptr (IrOrigins) origins = ir_origins_read (made);

  for (guint id = 1; origins != NULL && id < made->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (made, id);
      const IrOrigin *origin = node != NULL ? ir_origins_of (origins, id) : NULL;

      for (guint k = 0; origin != NULL && k < MIN (origin->values->len, node->n_outputs); k++)
        {
          const char *name = origin->values->pdata[k];
          const IrValue *old = name[0] != '\0' ? ir_graph_find_value (original->main, name) : NULL;

          mean (self, of_b ? old : node->outputs[k], of_b ? node->outputs[k] : old);
        }
    }
}

static void
index_names (IrValuePairing *self)
{
  for (guint id = 1; id < self->diff->a->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (self->diff->a, id);

      if (is_computed (value) && value->graph->kind == IR_GRAPH_MAIN && value->name[0] != '\0')
        g_hash_table_insert (self->names, (gpointer) value->name, (gpointer) value);
    }
}

/**
 * ir_value_pairing_new:
 * @diff: how the nodes of two models are paired; borrowed
 *
 * Numbers all values of both by what computes them: all constants are read once.
 *
 * Returns: (transfer full): a pairing of their values, without any pair yet
 */
IrValuePairing *
ir_value_pairing_new (const IrDiff *diff)
{
  IrValuePairing *self = g_new0 (IrValuePairing, 1);

  self->diff = diff;
  self->of_a = g_hash_table_new (NULL, NULL);
  self->of_b = g_hash_table_new (NULL, NULL);
  self->meant = g_hash_table_new (NULL, NULL);
  self->meant_a = g_hash_table_new (NULL, NULL);
  self->names = g_hash_table_new (g_str_hash, g_str_equal);
  if (diff->same_history)
    mean_ids (self);
  else
    {
      mean_origins (self, diff->b, diff->a, TRUE);
      mean_origins (self, diff->a, diff->b, FALSE);
    }
  index_names (self);
  self->numbers_a = ir_diff_own_numbers (diff->a);
  self->numbers_b = ir_diff_own_numbers (diff->b);
  self->of_number = g_hash_table_new (NULL, NULL);
  return self;
}

/**
 * ir_value_pairing_free:
 * @self: (transfer full): a pairing
 */
void
ir_value_pairing_free (IrValuePairing *self)
{
  g_hash_table_unref (self->of_a);
  g_hash_table_unref (self->of_b);
  g_hash_table_unref (self->meant);
  g_hash_table_unref (self->meant_a);
  g_hash_table_unref (self->names);
  g_hash_table_unref (self->of_number);
  g_free (self->numbers_a);
  g_free (self->numbers_b);
  g_free (self);
}

/* Whether a value of a is to be had for @b: not paired, and not meant for another. */
static gboolean
is_free (const IrValuePairing *self, const IrValue *a, const IrValue *b)
{
  const IrValueId meant = GPOINTER_TO_UINT (get (self->meant_a, a->id));

  return is_computed (a) && ir_value_pairing_of_a (self, a->id) == 0 &&
         (meant == 0 || meant == b->id) && (a->graph->kind == b->graph->kind);
}

/* -- by computation -- */

static gboolean
attrs_agree (const IrNode *a, const IrNode *b)
{
  guint i = 0, k = 0;

  while (i < a->n_attrs || k < b->n_attrs)
    {
      const IrAttr *from = i < a->n_attrs ? a->attrs[i] : NULL;
      const IrAttr *to = k < b->n_attrs ? b->attrs[k] : NULL;
      const int order = from == NULL ? 1 : to == NULL ? -1 : strcmp (from->name, to->name);

      i += order <= 0;
      k += order >= 0;
      if (order == 0 ? !ir_attr_equal (from, to)
                     : !ir_op_attr_is_default (order < 0 ? a : b, order < 0 ? from : to))
        return FALSE;
    }
  return TRUE;
}

static gboolean
is_same_operator (const IrNode *a, const IrNode *b)
{
  return strcmp (a->op_type, b->op_type) == 0 && strcmp (a->domain, b->domain) == 0;
}

/* Bodies hold ids of their own model, and draws depend on names: these are not told to be equal. */
static gboolean
is_plain (const IrNode *node)
{
  return node->op != NULL && (node->op->flags & (IR_OP_SUBGRAPHS | IR_OP_RANDOM)) == 0;
}

static gboolean
inputs_agree (const IrValuePairing *self, const IrNode *a, const IrNode *b, gboolean constants)
{
  for (guint i = 0; i < MAX (a->n_inputs, b->n_inputs); i++)
    {
      const IrValue *x = ir_node_input (a, i), *y = ir_node_input (b, i);
      const IrTensor *held = x != NULL ? ir_value_constant (x) : NULL;
      const IrTensor *other = y != NULL ? ir_value_constant (y) : NULL;

      if ((x == NULL) != (y == NULL) || (held == NULL) != (other == NULL))
        return FALSE;
      if (held != NULL ? constants && held != other && !ir_tensor_equal (held, other)
                       : constants && x != NULL && !hold_the_same (self, x, y))
        return FALSE;
    }
  return TRUE;
}

static gboolean
is_same_computation (const IrValuePairing *self, const IrNode *a, const IrNode *b)
{
  return is_same_operator (a, b) && is_plain (a) && is_plain (b) &&
         ir_node_opset (a) == ir_node_opset (b) && a->n_outputs == b->n_outputs &&
         attrs_agree (a, b) && inputs_agree (self, a, b, TRUE);
}

/* The node of a that does what @b does: its partner, or one that takes the same value. */
static const IrNode *
find_twin (const IrValuePairing *self, const IrNode *b)
{
  const IrNodeDiff *row = ir_diff_of_b (self->diff, b->id);
  const IrNode *partner = row != NULL && row->a != 0 ? ir_model_node (self->diff->a, row->a) : NULL;
  const IrValue *x = NULL;

  if (partner != NULL && is_same_computation (self, partner, b))
    return partner;
  for (guint i = 0; i < b->n_inputs && x == NULL; i++)
    if (b->inputs[i] != NULL && ir_value_constant (b->inputs[i]) == NULL)
      x = ir_model_live_value (self->diff->a, equal_of_b (self, b->inputs[i]->id));
  for (guint i = 0; x != NULL && i < ir_value_n_node_uses (x); i++)
    {
      const IrNode *user = ir_value_use (x, i).node;

      if (user != partner && is_same_computation (self, user, b) &&
          is_free (self, user->outputs[0], b->outputs[0]))
        return user;
    }
  return NULL;
}

/* -- by what takes it -- */

typedef struct
{
  const IrValue *other; /* (nullable) what a paired node takes in the same place */
  gboolean any;         /* some paired node of one operator takes the value */
  gboolean confirmed;   /* and its partner takes the one that was asked about */
} Roles;

/* @of_b: @value is one of b. @asked: (nullable) on the other side */
static Roles
find_roles (const IrValuePairing *self, const IrValue *value, gboolean of_b, const IrValue *asked)
{
  Roles roles = { NULL };

  for (guint i = 0; i < ir_value_n_node_uses (value); i++)
    {
      const IrUse use = ir_value_use (value, i);
      const IrNodeDiff *row = of_b ? ir_diff_of_b (self->diff, use.node->id)
                                   : ir_diff_of_a (self->diff, use.node->id);
      const IrNodeId id = row == NULL ? 0 : of_b ? row->a : row->b;
      const IrNode *partner = id != 0 ? ir_model_node (of_b ? self->diff->a : self->diff->b, id)
                                      : NULL;
      const IrValue *there = partner != NULL ? ir_node_input (partner, use.slot) : NULL;

      if (!is_computed (there) || !is_same_operator (use.node, partner))
        continue;
      roles.any = TRUE;
      roles.other = roles.other != NULL ? roles.other : there;
      for (guint k = 0; asked != NULL && k < partner->n_inputs; k++)
        roles.confirmed |= partner->inputs[k] == asked;
    }
  return roles;
}

static gint
output_place (const IrValue *value)
{
  for (guint i = 0; i < ir_graph_n_outputs (value->graph); i++)
    if (ir_graph_output (value->graph, i) == value)
      return (gint) i;
  return -1;
}

static gboolean
are_outputs (const IrValue *a, const IrValue *b)
{
  return output_place (b) >= 0 && output_place (a) == output_place (b);
}

/* Whether no node behind either value takes another one in its place. */
static gboolean
is_uncontested (const IrValuePairing *self, const IrValue *a, const IrValue *b)
{
  const Roles of_b = find_roles (self, b, TRUE, a), of_a = find_roles (self, a, FALSE, b);

  return (!of_b.any || of_b.confirmed) && (!of_a.any || of_a.confirmed);
}

static const IrValue *
find_by_name (const IrValuePairing *self, const IrValue *b)
{
  const IrValue *a = g_hash_table_lookup (self->names, b->name);

  return a != NULL && is_free (self, a, b) && ir_value_dtype (a) == ir_value_dtype (b) &&
                 (is_uncontested (self, a, b) || are_outputs (a, b))
             ? a
             : NULL;
}

static const IrValue *
find_by_role (const IrValuePairing *self, const IrValue *b)
{
  const IrValue *a = find_roles (self, b, TRUE, NULL).other;

  if (a == NULL && output_place (b) >= 0 &&
      (guint) output_place (b) < ir_graph_n_outputs (self->diff->a->main))
    a = ir_graph_output (self->diff->a->main, (guint) output_place (b));
  return a != NULL && is_free (self, a, b) && (is_uncontested (self, a, b) || are_outputs (a, b))
             ? a
             : NULL;
}

static const IrValue *
find_by_form (const IrValuePairing *self, const IrValue *b)
{
  const IrNodeDiff *row = ir_diff_of_b (self->diff, b->producer->id);
  const IrNode *node = row != NULL && row->a != 0 ? ir_model_node (self->diff->a, row->a) : NULL;
  const IrValue *a = node != NULL ? ir_node_output (node, b->output_slot) : NULL;

  return a != NULL && is_free (self, a, b) && is_same_operator (node, b->producer) &&
                 node->n_outputs == b->producer->n_outputs &&
                 inputs_agree (self, node, b->producer, FALSE) && is_uncontested (self, a, b)
             ? a
             : NULL;
}

/* -- finding -- */

/**
 * ir_value_pairing_find:
 * @self: a pairing
 * @b: a value of the second model, all of what it is computed from having been asked for
 * @how: (out): what speaks for it
 *
 * Pairs nothing: ir_value_pairing_add() does, once it is seen that they can be compared.
 *
 * Returns: (transfer none) (nullable): what @b was in the first model; %NULL: it cannot be told
 */
const IrValue *
ir_value_pairing_find (IrValuePairing *self, const IrValue *b, IrPaired *how)
{
  const IrValueId meant = GPOINTER_TO_UINT (get (self->meant, b->id));
  const IrValue *a = meant != 0 ? ir_model_live_value (self->diff->a, meant) : NULL;
  const IrNode *twin;

  *how = IR_PAIRED_NOT;
  if (!is_computed (b))
    return NULL;
  if (a != NULL)
    {
      *how = is_same_computation (self, a->producer, b->producer) ? IR_PAIRED_BY_COMPUTATION
                                                                  : IR_PAIRED_BY_MEANING;
      return a;
    }
  twin = find_twin (self, b->producer);
  a = twin != NULL ? ir_node_output (twin, b->output_slot) : NULL;
  if (a != NULL && is_free (self, a, b))
    {
      *how = IR_PAIRED_BY_COMPUTATION;
      return a;
    }
  a = b->graph->kind == IR_GRAPH_MAIN ? find_by_name (self, b) : NULL;
  *how = a != NULL ? IR_PAIRED_BY_NAME : IR_PAIRED_NOT;
  if (a == NULL && b->graph->kind == IR_GRAPH_MAIN)
    a = find_by_role (self, b);
  a = a != NULL ? a : find_by_form (self, b);
  if (a != NULL && *how == IR_PAIRED_NOT)
    *how = are_outputs (a, b) ? IR_PAIRED_BY_NAME : IR_PAIRED_BY_PLACE;
  return a;
}
