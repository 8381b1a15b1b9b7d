/* Two nodes, or two values, field by field. */
#include "config.h"

#include "core/diff/diff-private.h"
#include "core/op/defaults.h"

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
