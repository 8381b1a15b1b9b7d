/* Two nodes, or two values, field by field. */
#include "config.h"

#include "core/diff/diff-private.h"
#include "core/op/defaults.h"
#include "core/op/op.h"

#include <stdio.h>
#include <string.h>

GPtrArray *
ir_diff_note (GPtrArray *changes, const char *format, ...)
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
are_twins (const IrPairing *p, const IrValue *a, const IrValue *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  return p->value_of_a[a->id] == b->id;
}

static GPtrArray *
compare_strings (GPtrArray *changes, const char *what, const char *a, const char *b)
{
  if (strcmp (a, b) != 0)
    changes = ir_diff_note (changes, "%s: \"%s\" -> \"%s\"", what, a, b);
  return changes;
}

/* Where a name was handed over, ids tell the two values apart. */
static GPtrArray *
note_link (GPtrArray *changes, const char *what, guint slot, const IrValue *from, const IrValue *to)
{
  if (from != NULL && to != NULL && strcmp (from->name, to->name) == 0)
    return ir_diff_note (changes, "%s %u: %s (#%u) -> %s (#%u)", what, slot, from->name, from->id,
                         to->name, to->id);
  return ir_diff_note (changes, "%s %u: %s -> %s", what, slot, value_name (from), value_name (to));
}

static GPtrArray *
compare_links (GPtrArray *changes, const IrPairing *p, const IrNode *a, const IrNode *b)
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
attrs_agree (const IrPairing *p, const IrAttr *a, const IrAttr *b)
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

/* Between files an attribute that is spelled out with its default is no difference to one that is
 * left out; between steps it is what a rewrite did. */
static gboolean
says_nothing (const IrPairing *p, const IrNode *node, const IrAttr *attr)
{
  return p->a->context != p->b->context && ir_op_attr_is_default (node, attr);
}

static GPtrArray *
compare_attrs (GPtrArray *changes, const IrPairing *p, const IrNode *a, const IrNode *b)
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
      if (order == 0 ? attrs_agree (p, from, to)
                     : says_nothing (p, order < 0 ? a : b, order < 0 ? from : to))
        continue;
      before = order <= 0 ? ir_attr_to_string (p->a->context, from, 8) : g_strdup ("none");
      after = order >= 0 ? ir_attr_to_string (p->b->context, to, 8) : g_strdup ("none");
      changes = ir_diff_note (changes, "attribute %s: %s -> %s", order <= 0 ? from->name : to->name,
                              before, after);
    }
  return changes;
}

/* Of the node that @id is on side a, the id on side b. */
static GPtrArray *
compare_controls (GPtrArray *changes, const IrPairing *p, const IrNode *a, const IrNode *b)
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
  return same ? changes : ir_diff_note (changes, "control dependencies: %u -> %u", n_a, n_b);
}

GPtrArray *
ir_diff_compare_nodes (const IrPairing *p, const IrNode *a, const IrNode *b)
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
    changes = ir_diff_note (changes, "graph: %u -> %u", a->graph->id, b->graph->id);
  return changes;
}

/* -- a change in short -- */

/* "a -> b" with an arrow, and without the quotes of strings. (transfer full) */
static char *
with_arrow (const char *name, const char *change)
{
  const char *arrow = strstr (change, " -> ");
  g_autofree char *from = g_strndup (change, arrow != NULL ? arrow - change : 0),
                  *to = g_strdup (arrow != NULL ? arrow + 4 : change);

  for (char **text = (char *[]){ from, to, NULL }; *text != NULL; text++)
    {
      const gsize length = strlen (*text);

      if (length >= 2 && (*text)[0] == '"' && (*text)[length - 1] == '"')
        {
          memmove (*text, *text + 1, length - 2);
          (*text)[length - 2] = '\0';
        }
    }
  return g_strdup_printf ("%s%s%s \342\206\222 %s", name, name[0] != '\0' ? " " : "", from, to);
}

/* A constant is a row of its node: no line shows that it is another. */
static gboolean
is_of_constant (const IrDiff *diff, const IrNodeDiff *row, guint slot)
{
  const IrNode *a = row->a != 0 ? ir_model_node (diff->a, row->a) : NULL,
               *b = row->b != 0 ? ir_model_node (diff->b, row->b) : NULL;
  const IrValue *from = a != NULL ? ir_node_input (a, slot) : NULL,
                *to = b != NULL ? ir_node_input (b, slot) : NULL;

  return (from != NULL && ir_value_constant (from) != NULL) ||
         (to != NULL && ir_value_constant (to) != NULL);
}

/* As people write it: 0.001, where the exact one is 0.00100000005. */
static char *
short_float (const IrModel *model, IrNodeId id, const char *attr, const char *exact)
{
  const IrNode *node = id != 0 ? ir_model_node (model, id) : NULL;
  const IrAttr *found = node != NULL ? ir_node_attr (node, attr) : NULL;

  return found != NULL && found->kind == IR_ATTR_FLOAT && found->n == 1
             ? g_strdup_printf ("%g", (double) found->floats[0])
             : g_strdup (exact);
}

static char *
attribute_brief (const IrDiff *diff, const IrNodeDiff *row, const char *name, const char *change)
{
  g_auto (GStrv) sides = g_strsplit (change, " -> ", 2);
  g_autofree char *from = NULL, *to = NULL;

  if (g_strv_length (sides) != 2)
    return with_arrow (name, change);
  from = short_float (diff->a, row->a, name, sides[0]);
  to = short_float (diff->b, row->b, name, sides[1]);
  return g_strdup_printf ("%s %s \342\206\222 %s", name, from, to);
}

/**
 * ir_diff_change_brief:
 * @diff: a difference
 * @row: one of its nodes that changed
 * @index: which of its changes
 *
 * Returns: (transfer full) (nullable): the change as it is written on the node: "epsilon 0.001 → 1e-05";
 *   %NULL for names, and for what the lines of a picture show
 */
char *
ir_diff_change_brief (const IrDiff *diff, const IrNodeDiff *row, guint index)
{
  const char *change = row->changes->pdata[index], *colon = strstr (change, ": ");
  guint slot;

  if (colon == NULL)
    return NULL;
  if (g_str_has_prefix (change, "attribute "))
    {
      const gsize head = strlen ("attribute ");
      g_autofree char *name = g_strndup (change + head, (gsize) (colon - change) - head);

      return attribute_brief (diff, row, name, colon + 2);
    }
  if (g_str_has_prefix (change, "operator: ") || g_str_has_prefix (change, "domain: "))
    return with_arrow ("", colon + 2);
  if (g_str_has_prefix (change, "device: "))
    return with_arrow ("device", colon + 2);
  if (sscanf (change, "input %u", &slot) == 1 && is_of_constant (diff, row, slot))
    {
      const IrNode *node = row->b != 0 ? ir_model_node (diff->b, row->b) : NULL;
      g_autofree char *name = node != NULL && node->op != NULL ? ir_op_input_name (node->op, slot)
                                                               : g_strdup_printf ("input %u", slot);

      return with_arrow (name, colon + 2);
    }
  return NULL;
}

static GPtrArray *
compare_types (GPtrArray *changes, const IrPairing *p, const IrValue *a, const IrValue *b)
{
  g_autofree char *from = NULL;
  g_autofree char *to = NULL;

  if (ir_value_shown_type (a) == ir_value_shown_type (b))
    return changes;
  from = ir_type_to_string (p->a->context, ir_value_shown_type (a));
  to = ir_type_to_string (p->b->context, ir_value_shown_type (b));
  return strcmp (from, to) != 0 ? ir_diff_note (changes, "type: %s -> %s", from, to) : changes;
}

static gboolean
is_output (const IrValue *value)
{
  return ir_value_is_graph_output (value);
}

GPtrArray *
ir_diff_compare_values (const IrPairing *p, const IrValue *a, const IrValue *b)
{
  GPtrArray *changes = compare_types (NULL, p, a, b);

  changes = compare_strings (changes, "name", a->name, b->name);
  if ((a->initializer == NULL) != (b->initializer == NULL))
    changes = ir_diff_note (changes,
                            b->initializer == NULL ? "initializer removed" : "initializer added");
  else if (a->initializer != b->initializer && !ir_tensor_equal (a->initializer, b->initializer))
    changes = ir_diff_note (changes, "initializer changed");
  if (is_output (a) != is_output (b))
    changes = ir_diff_note (changes, is_output (b) ? "is an output now" : "is no output any more");
  if (ir_value_is_graph_input (a) != ir_value_is_graph_input (b))
    changes = ir_diff_note (changes, ir_value_is_graph_input (b) ? "is an input now"
                                                                 : "is no input any more");
  if ((a->producer == NULL) != (b->producer == NULL) ||
      (a->producer != NULL && p->node_of_a[a->producer->id] != b->producer->id))
    {
      g_autofree char *from = a->producer != NULL ? ir_node_label (a->producer) : g_strdup ("none");
      g_autofree char *to = b->producer != NULL ? ir_node_label (b->producer) : g_strdup ("none");
      changes = ir_diff_note (changes, "producer: %s -> %s", from, to);
    }
  return changes;
}
