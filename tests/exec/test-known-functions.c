/* A file that defines a function by the name of an operator: if it says what the operator does, the kernel of the
 * operator runs, and if it says anything else, that is what runs. */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/lower/lower.h"
#include "core/io/io.h"
#include "core/op/op.h"
#include "tests/rules/graph-changes.h"

#include <string.h>

#define SOME       16 /* of those whose function is the same, as what is changed is elsewhere */
#define MOST_NODES 24

/* -- what a function says -- */

typedef struct
{
  GString *text;
  GHashTable *numbers; /* value -> number + 1, as they come */
} Words;

static void
add_value (Words *words, const IrValue *value)
{
  gpointer number = value != NULL ? g_hash_table_lookup (words->numbers, value) : NULL;

  if (value != NULL && number == NULL)
    {
      number = GUINT_TO_POINTER (g_hash_table_size (words->numbers) + 1);
      g_hash_table_insert (words->numbers, (gpointer) value, number);
    }
  g_string_append_printf (words->text, " %u", GPOINTER_TO_UINT (number));
}

static void
add_attr (Words *words, IrContext *context, const IrAttr *attr)
{
  g_autofree char *contents = ir_attr_to_string (context, attr, G_MAXUINT);

  g_string_append_printf (words->text, " %s/%d/%s=%s", attr->name, (int) attr->kind,
                          attr->ref_name != NULL ? attr->ref_name : "", contents);
}

/* (transfer full) All of it but names of values */
static char *
words_of (const IrGraph *function)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new (NULL, NULL);
  Words words = { g_string_new (NULL), numbers };
  IrContext *context = function->model->context;
  guint n;
  IrNode *const *nodes = ir_graph_order (function, &n);

  for (guint i = 0; i < function->function->n_attr_defaults; i++)
    add_attr (&words, context, function->function->attr_defaults[i]);
  g_string_append (words.text, "\n(");
  for (guint i = 0; i < ir_graph_n_inputs (function); i++)
    add_value (&words, ir_graph_input (function, i));
  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (words.text, "\n%s.%s:", nodes[i]->domain, nodes[i]->op_type);
      for (guint k = 0; k < nodes[i]->n_inputs; k++)
        add_value (&words, nodes[i]->inputs[k]);
      g_string_append (words.text, " ->");
      for (guint k = 0; k < nodes[i]->n_outputs; k++)
        add_value (&words, nodes[i]->outputs[k]);
      for (guint k = 0; k < nodes[i]->n_attrs; k++)
        add_attr (&words, context, nodes[i]->attrs[k]);
    }
  g_string_append (words.text, "\n)");
  for (guint i = 0; i < ir_graph_n_outputs (function); i++)
    add_value (&words, ir_graph_output (function, i));
  return g_string_free (words.text, FALSE);
}

/* -- what runs -- */

typedef struct
{
  const IrOp *op;
  char *words; /* of its row */
  guint n_same, n_other;
} Known;

static const char *
domain_of (const IrOp *op)
{
  return op->domain != NULL ? op->domain : "";
}

static gboolean
has_op (const IrModel *model, const IrOp *op)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node != NULL && strcmp (node->op_type, op->name) == 0 &&
          strcmp (node->domain, domain_of (op)) == 0)
        return TRUE;
    }
  return FALSE;
}

/* Whether the operator is still there when calls were replaced by bodies */
static gboolean
runs_kernel (IrModel *model, const IrOp *op)
{
  g_autoptr (IrModel) expanded = ir_exec_expand (model, NULL);

  return expanded != NULL && has_op (expanded, op);
}

static void
check_one (IrModel *model, IrEdit *edit, const char *said, gpointer data)
{
  Known *known = data;
  const IrGraph *function = ir_model_find_function (model, domain_of (known->op), known->op->name,
                                                    "");

  g_clear_pointer (&edit, ir_edit_free);
  if (function == NULL || ir_graph_is_cyclic (function) || !has_op (model, known->op))
    return;
  g_autofree char *words = words_of (function);
  const gboolean same = strcmp (words, known->words) == 0;
  if (same && known->n_same++ % SOME != 0)
    return;
  known->n_other += !same;
  const gboolean kernel = runs_kernel (model, known->op);
  if (kernel != same)
    g_error ("%s, %s: %s, but the function says\n%s\nwhere the row of the table says\n%s",
             known->op->name, said, kernel ? "the kernel runs" : "the body runs", words,
             known->words);
}

/* (transfer full) A call of @op, which is defined as its row says */
static IrModel *
call_of (const IrOp *op, char **words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) holder = ir_function_from_text (op->body, domain_of (op), op->name, &error);
  g_assert_no_error (error);
  const IrGraph *function = ir_model_find_function (holder, domain_of (op), op->name, "");
  g_autoptr (IrEdit) edit = ir_edit_new_import (holder);
  const guint n = ir_graph_n_inputs (function), n_outputs = ir_graph_n_outputs (function);
  g_autofree IrValue **inputs = g_new0 (IrValue *, n + 1);

  *words = words_of (function);
  for (guint i = 0; i < n; i++)
    inputs[i] = ir_edit_add_value (edit, holder->main, NULL, NULL);
  ir_edit_set_graph_inputs (edit, holder->main, inputs, n);
  ir_edit_set_opset (edit, "", 21);
  ir_edit_set_opset (edit, domain_of (op), *domain_of (op) == '\0' ? 21 : 1);
  IrNode *node = ir_edit_add_node (edit, holder->main, op->name, domain_of (op), "call", n, inputs,
                                   n_outputs);
  ir_edit_set_graph_outputs (edit, holder->main, node->outputs, n_outputs);
  return g_steal_pointer (&holder);
}

/* A node, an output or an input more; the last output less, whose node stays */
enum
{
  ADD_NODE,
  ADD_OUTPUT,
  ADD_INPUT,
  DROP_OUTPUT,
  N_LENGTHS
};

static void
check_length (IrModel *model, Known *known, guint what)
{
  g_autoptr (IrModel) other = ir_model_clone (model);
  IrEdit *edit = ir_edit_new_import (other);
  IrGraph *function = (IrGraph *) ir_model_find_function (other, domain_of (known->op),
                                                          known->op->name, "");
  g_autoptr (GPtrArray) inputs = g_ptr_array_new (), outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_inputs (function); i++)
    g_ptr_array_add (inputs, ir_graph_input (function, i));
  for (guint i = 0; i < ir_graph_n_outputs (function); i++)
    g_ptr_array_add (outputs, ir_graph_output (function, i));
  if (what == ADD_NODE)
    ir_edit_add_node (edit, function, "Identity", NULL, "more", 1,
                      (IrValue *const *) outputs->pdata, 1);
  else if (what == ADD_OUTPUT)
    g_ptr_array_add (outputs, outputs->pdata[0]);
  else if (what == ADD_INPUT)
    g_ptr_array_add (inputs, ir_edit_add_value (edit, function, "more", NULL));
  else
    g_ptr_array_set_size (outputs, outputs->len - 1);
  ir_edit_set_graph_inputs (edit, function, (IrValue *const *) inputs->pdata, inputs->len);
  ir_edit_set_graph_outputs (edit, function, (IrValue *const *) outputs->pdata, outputs->len);
  check_one (other, edit, "another length", known);
}

static void
test_op (gconstpointer data)
{
  Known known = { .op = data };
  g_autoptr (IrModel) model = call_of (known.op, &known.words);

  if (ir_model_n_nodes (model) <= MOST_NODES + 1)
    graph_changes_try (model, check_one, &known);
  else
    check_one (model, ir_edit_new_import (model), "as it is", &known);
  for (guint what = 0; what < N_LENGTHS; what++)
    check_length (model, &known, what);
  g_test_message ("%u say the same, %u something else", known.n_same, known.n_other);
  g_assert_cmpuint (known.n_same, >, 0);
  g_assert_true (known.n_other > 5 || ir_model_n_nodes (model) > MOST_NODES + 1);
  g_free (known.words);
}

int
main (int argc, char **argv)
{
  guint n = 0;

  g_test_init (&argc, &argv, NULL);
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      if (op->body == NULL || ir_ref_kernel (op) == NULL)
        continue;
      g_autofree char *path = g_strdup_printf ("/known-functions/%s.%s", domain_of (op), op->name);
      g_test_add_data_func (path, op, test_op);
      n++;
    }
  g_assert_cmpuint (n, >, 0);
  return g_test_run ();
}
