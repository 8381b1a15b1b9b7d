/* What a graph computes and where, as text without names: each node when it is first read, with its attributes, what it
 * reads, and then what its graphs give. What nobody reads is left out, and the order of the outputs of an If says
 * nothing. A tensor that a SequenceMap is given for all items is one that its body reads of around. */
#include "config.h"

#include "tests/flow/graph-form.h"

#include <string.h>

/* What is still to be written: of an output of a node with graphs what these give for it. */
typedef struct
{
  const IrNode *node;
  guint output;
} Result;

typedef struct
{
  GString *text;
  GHashTable *numbers; /* IrNode -> 1 + number */
  GHashTable *slots;   /* IrValue of a node with graphs -> 1 + number */
  GArray *results;     /* of Result */
} Form;

static guint number_of (Form *form, const IrNode *node);

static guint
depth_of (const IrGraph *graph)
{
  guint depth = 0;

  while ((graph = ir_graph_outer (graph)) != NULL)
    depth++;
  return depth;
}

static gint
input_of (const IrGraph *graph, const IrValue *value)
{
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    if (ir_graph_input (graph, i) == value)
      return (gint) i;
  return -1;
}

static guint
n_carried (const IrNode *node)
{
  const IrGraph *body = ir_node_attr_graph (node, "body");

  if (ir_node_is (node, "Loop"))
    return node->n_inputs > 2 ? node->n_inputs - 2 : 0;
  return ir_node_is (node, "Scan") && body != NULL
             ? ir_graph_n_inputs (body) - (guint) ir_node_attr_int (node, "num_scan_inputs", 0)
             : 0;
}

/* What goes round is there whoever reads it. */
static gboolean
is_there (const IrNode *node, guint output)
{
  return output < n_carried (node) ||
         (ir_node_output (node, output) != NULL && node->outputs[output]->n_uses > 0);
}

gboolean
graph_form_has_unread (const IrModel *model)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      g_autoptr (GPtrArray) graphs = node != NULL ? ir_node_subgraphs (node) : NULL;
      for (guint k = 0; graphs != NULL && graphs->len > 0 && k < node->n_outputs; k++)
        if (!is_there (node, k))
          return TRUE;
    }
  return FALSE;
}

static guint
slot_of (Form *form, const IrNode *node, guint output)
{
  const Result result = { node, output };
  guint slot = GPOINTER_TO_UINT (g_hash_table_lookup (form->slots, node->outputs[output]));

  if (!ir_node_is (node, "If"))
    {
      g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);
      for (guint i = slot = 0; graphs->len > 0 && i < output; i++)
        slot += is_there (node, i);
      return graphs->len > 0 ? slot : output;
    }
  if (slot == 0)
    {
      slot = g_hash_table_size (form->slots) + 1;
      g_hash_table_insert (form->slots, node->outputs[output], GUINT_TO_POINTER (slot));
      g_array_append_val (form->results, result);
    }
  return slot;
}

/* (transfer full) */
static char *
value_text (Form *form, const IrValue *value)
{
  const gint input = value != NULL ? input_of (value->graph, value) : -1;
  const IrNode *owner = input > 0 ? ir_model_live_node (value->graph->model, value->graph->owner)
                                  : NULL;

  if (value == NULL)
    return g_strdup ("-");
  if (owner != NULL && ir_node_is (owner, "SequenceMap") &&
      ir_type_is_tensor (owner->inputs[input]->type))
    return value_text (form, owner->inputs[input]);
  if (input >= 0)
    return g_strdup_printf ("in%u.%d", depth_of (value->graph), input);
  if (value->producer != NULL)
    {
      const guint number = number_of (form, value->producer);
      return g_strdup_printf ("%u.%u", number, slot_of (form, value->producer, value->output_slot));
    }
  return g_strdup_printf ("constant:%" G_GINT64_MODIFIER "x", ir_tensor_hash (value->initializer));
}

/* Those of a Scan that say the same where they are left out, and are of outputs that nobody reads */
static char *
attr_text (const IrNode *node, const IrAttr *attr)
{
  GString *text = g_string_new (NULL);
  gboolean says = FALSE;
  const guint n_states = node->n_inputs - (guint) ir_node_attr_int (node, "num_scan_inputs", 0);

  if (attr->kind != IR_ATTR_INTS || !g_str_has_prefix (attr->name, "scan_"))
    {
      g_string_free (text, TRUE);
      return ir_attr_to_string (node->graph->model->context, attr, 200);
    }
  for (guint i = 0; i < attr->n; i++)
    if (strstr (attr->name, "output") == NULL || node->outputs[n_states + i]->n_uses > 0)
      {
        says = says || attr->ints[i] != 0;
        g_string_append_printf (text, "%" G_GINT64_FORMAT ",", attr->ints[i]);
      }
  return g_string_free (text, !says);
}

static int
compare_attrs (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(const IrAttr *const *) a)->name, (*(const IrAttr *const *) b)->name);
}

static guint
number_of (Form *form, const IrNode *node)
{
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (form->numbers, node));
  g_autoptr (GString) line = g_string_new (NULL);
  g_autoptr (GPtrArray) attrs = g_ptr_array_new ();
  gboolean has_graphs = FALSE;

  if (number > 0)
    return number - 1;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      g_autofree char *text = i > 0 && ir_node_is (node, "SequenceMap") &&
                                      ir_type_is_tensor (node->inputs[i]->type)
                                  ? g_strdup ("")
                                  : value_text (form, node->inputs[i]);
      g_string_append_printf (line, " %s", text);
    }
  for (guint i = 0; i < node->n_attrs; i++)
    g_ptr_array_add (attrs, (gpointer) node->attrs[i]);
  g_ptr_array_sort (attrs, compare_attrs);
  number = g_hash_table_size (form->numbers);
  g_hash_table_insert (form->numbers, (gpointer) node, GUINT_TO_POINTER (number + 1));
  for (guint i = 0; i < attrs->len; i++)
    {
      const IrAttr *attr = attrs->pdata[i];
      g_autofree char *value = attr->kind != IR_ATTR_GRAPH ? attr_text (node, attr) : NULL;
      has_graphs = has_graphs || attr->kind == IR_ATTR_GRAPH;
      if (value != NULL)
        g_string_append_printf (line, " %s=%s", attr->name, value);
    }
  g_string_append_printf (form->text, "%u @%u %s%s\n", number, depth_of (node->graph),
                          node->op_type, g_strchomp (line->str));
  for (guint i = 0; has_graphs && !ir_node_is (node, "If") && i < node->n_outputs; i++)
    {
      const Result result = { node, i };
      g_array_append_val (form->results, result);
    }
  return number;
}

static void
write_result (Form *form, Result result)
{
  const IrNode *node = result.node;
  const gboolean is_loop = ir_node_is (node, "Loop");
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);
  g_autoptr (GString) line = g_string_new (NULL);

  if (!is_there (node, result.output))
    return;
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
  for (guint i = 0; i < graphs->len; i++)
    g_ptr_array_add (sorted, ir_node_is (node, "If")
                                 ? ir_node_attr_graph (node, i == 0 ? "then_branch" : "else_branch")
                                 : graphs->pdata[i]);
  for (guint i = 0; i < sorted->len; i++)
    {
      const IrGraph *graph = sorted->pdata[i];
      for (guint k = is_loop && result.output == 0 ? 0 : result.output + is_loop;
           k <= result.output + is_loop; k++)
        {
          g_autofree char *text = value_text (form, ir_graph_output (graph, k));
          g_string_append_printf (line, " %s", text);
        }
    }
  g_string_append_printf (form->text, "of %u:%s\n", number_of (form, node), line->str);
}

char *
graph_form (const IrGraph *graph)
{
  Form form = { .text = g_string_new (NULL),
                .numbers = g_hash_table_new (NULL, NULL),
                .slots = g_hash_table_new (NULL, NULL),
                .results = g_array_new (FALSE, FALSE, sizeof (Result)) };

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    {
      g_autofree char *text = value_text (&form, ir_graph_output (graph, i));
      g_string_append_printf (form.text, "output %u is %s\n", i, text);
    }
  for (guint i = 0; i < form.results->len; i++)
    write_result (&form, g_array_index (form.results, Result, i));
  g_hash_table_unref (form.numbers);
  g_hash_table_unref (form.slots);
  g_array_unref (form.results);
  return g_string_free (form.text, FALSE);
}
