/* Functions of a file that say what the op table says of an operator are left out of what runs, so that its kernel does it;
 * with one thing of them changed they are not: an operator, an input, an output, an attribute, a default, the order of either,
 * a node more. Which changes are seen is kept in known-functions.txt. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/exec/lower/lower.h"
#include "core/io/io.h"
#include "tests/table/snapshot.h"

#include <string.h>

typedef struct
{
  const char *name;
  /* Changes thing @index of @function. FALSE: there is none, or it cannot be changed so */
  gboolean (*apply) (IrEdit *edit, IrGraph *function, guint index);
} Change;

static IrNode *
node_at (const IrGraph *function, guint index)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (function, &n);

  return index < n ? nodes[index] : NULL;
}

static gboolean
other_operator (IrEdit *edit, IrGraph *function, guint index)
{
  IrNode *node = node_at (function, index);

  if (node == NULL)
    return FALSE;
  ir_edit_set_op (edit, node, node->domain, strcmp (node->op_type, "Add") == 0 ? "Mul" : "Add",
                  node->overload);
  return TRUE;
}

static gboolean
no_input (IrEdit *edit, IrGraph *function, guint index)
{
  IrNode *node = node_at (function, index / 3);

  if (node == NULL)
    return FALSE;
  if (index % 3 < node->n_inputs)
    ir_edit_set_input (edit, node, index % 3, NULL);
  return TRUE;
}

static gboolean
one_input_more (IrEdit *edit, IrGraph *function, guint index)
{
  IrNode *node = node_at (function, index);

  if (node == NULL)
    return FALSE;
  ir_edit_set_n_inputs (edit, node, node->n_inputs + 1);
  return TRUE;
}

static gboolean
swapped_inputs (IrEdit *edit, IrGraph *function, guint index)
{
  IrNode *node = node_at (function, index);

  if (node == NULL)
    return FALSE;
  if (node->n_inputs > 1)
    {
      IrValue *first = node->inputs[0];
      ir_edit_set_input (edit, node, 0, node->inputs[1]);
      ir_edit_set_input (edit, node, 1, first);
    }
  return TRUE;
}

/* Reads what the function gets first. */
static gboolean
other_input (IrEdit *edit, IrGraph *function, guint index)
{
  IrNode *node = node_at (function, index);

  if (node == NULL || ir_graph_n_inputs (function) == 0)
    return FALSE;
  if (node->n_inputs > 0)
    ir_edit_set_input (edit, node, node->n_inputs - 1, ir_graph_input (function, 0));
  return TRUE;
}

static gboolean
no_attribute (IrEdit *edit, IrGraph *function, guint index)
{
  IrNode *node = node_at (function, index / 2);

  if (node == NULL)
    return FALSE;
  if (index % 2 < node->n_attrs)
    ir_edit_unset_attr (edit, node, node->attrs[index % 2]->name);
  return TRUE;
}

static gboolean
other_attribute (IrEdit *edit, IrGraph *function, guint index)
{
  IrNode *node = node_at (function, index / 2);

  if (node == NULL)
    return FALSE;
  if (index % 2 < node->n_attrs)
    ir_edit_set_attr (
        edit, node, ir_attr_int (ir_edit_model (edit)->context, node->attrs[index % 2]->name, 41));
  return TRUE;
}

static gboolean
one_node_more (IrEdit *edit, IrGraph *function, guint index)
{
  IrValue *input = index == 0 && ir_graph_n_inputs (function) > 0 ? ir_graph_input (function, 0)
                                                                  : NULL;

  if (input == NULL)
    return FALSE;
  ir_edit_add_node (edit, function, "Identity", NULL, NULL, 1, &input, 1);
  return TRUE;
}

/* The first output or input of the function is another value. */
static gboolean
other_ends (IrEdit *edit, IrGraph *function, guint index)
{
  IrNode *node = node_at (function, 0);
  guint n = index < 2 ? ir_graph_n_outputs (function) : ir_graph_n_inputs (function);
  g_autofree IrValue **values = g_new0 (IrValue *, n + 1);

  if (index >= 4 || n == 0 || node == NULL)
    return FALSE;
  for (guint i = 0; i < n; i++)
    values[i] = index < 2 ? ir_graph_output (function, i) : ir_graph_input (function, i);
  if (index % 2 == 0) /* one less */
    n--;
  else if (index < 2)
    values[0] = node->outputs[0];
  else if (n > 1)
    {
      IrValue *first = values[0];
      values[0] = values[1];
      values[1] = first;
    }
  if (index < 2)
    ir_edit_set_graph_outputs (edit, function, values, n);
  else
    ir_edit_set_graph_inputs (edit, function, values, n);
  return TRUE;
}

static gboolean
other_defaults (IrEdit *edit, IrGraph *function, guint index)
{
  IrFunctionInfo info = *function->function;
  IrContext *context = ir_edit_model (edit)->context;
  const IrAttr *one = ir_attr_int (context, "irscope_other", 1);
  g_autofree const IrAttr **list = g_new0 (const IrAttr *, info.n_attr_defaults + 1);

  if (index > info.n_attr_defaults)
    return FALSE;
  for (guint i = 0; i < info.n_attr_defaults; i++)
    list[i] = info.attr_defaults[i];
  list[index] = one;
  info.n_attr_defaults = MAX (info.n_attr_defaults, index + 1);
  info.attr_defaults = ir_context_dup (context, list, info.n_attr_defaults * sizeof *list);
  ir_edit_set_function_info (edit, function, ir_context_dup (context, &info, sizeof info));
  return TRUE;
}

static const Change changes[] = {
  { "another operator", other_operator },     { "an input is left out", no_input },
  { "an input more", one_input_more },        { "inputs swapped", swapped_inputs },
  { "another input", other_input },           { "an attribute less", no_attribute },
  { "another attribute", other_attribute },   { "a node more", one_node_more },
  { "other inputs and outputs", other_ends }, { "other defaults", other_defaults },
};

static const char *
domain_of (const IrOp *op)
{
  return op->domain != NULL ? op->domain : "";
}

static void
add_call (IrEdit *edit, const IrOp *op, const IrGraph *function)
{
  IrGraph *main = ir_edit_model (edit)->main;
  guint n = ir_graph_n_inputs (function);
  g_autofree IrValue **inputs = g_new0 (IrValue *, n + 1);

  for (guint i = 0; i < n; i++)
    inputs[i] = ir_edit_add_value (edit, main, NULL, NULL);
  ir_edit_add_node (edit, main, op->name, domain_of (op), NULL, n, inputs,
                    ir_graph_n_outputs (function));
}

/* Whether the call of it is one of the operator: it stays where it is. */
static gboolean
is_left_out (IrModel *model, const IrOp *op)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) lowered = ir_exec_expand (model, &error);

  for (guint id = 1; lowered != NULL && id < lowered->nodes->len; id++)
    {
      const IrNode *node = lowered->nodes->pdata[id];
      if (node->state == IR_STATE_LIVE && node->graph == lowered->main &&
          strcmp (node->op_type, op->name) == 0 && strcmp (node->domain, domain_of (op)) == 0)
        return TRUE;
    }
  return FALSE;
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  GString *text = g_string_new (NULL);
  const IrOp *op = data;

  *n_tried = *n_taken = 0;
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    for (guint index = 0; index < 100; index++)
      {
        g_autoptr (GError) error = NULL;
        g_autoptr (IrModel)
            model = ir_function_from_text (op->body, domain_of (op), op->name, &error);
        g_assert_no_error (error);
        IrGraph *function = (IrGraph *) ir_model_find_function (model, domain_of (op), op->name,
                                                                "");
        IrEdit *edit = ir_edit_new_import (model);
        add_call (edit, op, function);
        if (i == 0 && index == 0)
          g_assert_true (is_left_out (model, op));
        gboolean changed = changes[i].apply (edit, function, index);
        ir_edit_free (edit);
        if (!changed)
          break;
        gboolean seen = !is_left_out (model, op);
        g_string_append_printf (text, "%s %u: %s\n", changes[i].name, index,
                                seen ? "seen" : "not seen");
        ++*n_tried;
        *n_taken += seen;
      }
  return g_string_free (text, FALSE);
}

int
main (int argc, char **argv)
{
  for (guint i = 1; i < ir_op_n (); i++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) i);
      if (op->body == NULL || ir_ref_kernel (op) == NULL)
        continue;
      g_autofree char *name = g_strconcat (domain_of (op), *domain_of (op) != '\0' ? "." : "",
                                           op->name, NULL);
      snapshot_add (name, say, op);
    }
  return snapshot_run (argc, argv, "known-functions.txt");
}
