/* Functions: inlined, and written for operators of our own domain. */
#include "config.h"

#include "core/ir/inline.h"
#include "core/ir/history.h"
#include "core/op/op.h"
#include "tests/io/models.h"

#include <string.h>

static const char functions_text[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]>\n"
    "g (float[2] x, bool c) => (float[2] y, float[2] same, z) {\n"
    "  [call] y, unused = f.Outer <k = 2.0> (x)\n"
    "  same = f.Pass (x)\n"
    "  z = If (c) <then_branch = t () => (t1) { t1, t2 = f.Outer (y) },\n"
    "              else_branch = e () => (e1) { e1 = Neg (x) }>\n"
    "}\n"
    "<domain: \"f\", opset_import: [\"\" : 17, \"f\" : 1]>\n"
    "Outer <k: float = 1.5> (a, b) => (c, d) {\n"
    "  h = f.Inner <slope: float = @k> (a)\n"
    "  c = Add (h, a)\n"
    "  d = Clip (h, \"\", b)\n"
    "}\n"
    "<domain: \"f\", opset_import: [\"\" : 17]>\n"
    "Inner <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }\n"
    "<domain: \"f\", opset_import: [\"\" : 17]>\n"
    "Pass (a) => (a) {}\n";

static guint
count_op (const IrModel *model, const char *op_type)
{
  guint n = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];

      n += node->state == IR_STATE_LIVE && strcmp (node->op_type, op_type) == 0;
    }
  return n;
}

static void
inline_all (IrModel *model, guint n_expected, guint n_problems)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrEdit) edit = ir_edit_new (model);
  guint n;

  ir_edit_begin_pass (edit, "edit");
  ir_edit_begin_step (edit, "inline-functions", IR_CLASS_EXACT, 0);
  n = ir_inline_functions (edit, problems);
  ir_edit_end_step (edit);
  ir_edit_end_pass (edit);
  g_assert_cmpuint (n, ==, n_expected);
  g_assert_cmpuint (problems->len, ==, n_problems);
}

static void
test_inline (void)
{
  g_autoptr (IrModel) model = test_read_text (functions_text);
  IrValue *y = ir_graph_find_value (model->main, "y");
  IrValue *same = ir_graph_find_value (model->main, "same");
  const IrNode *add, *leaky, *in_branch;

  inline_all (model, 5, 0);
  g_assert_null (ir_model_find_function (model, "f", "Outer", ""));
  add = y->producer;
  g_assert_cmpstr (add->op_type, ==, "Add");
  leaky = add->inputs[0]->producer;
  g_assert_cmpstr (leaky->op_type, ==, "LeakyRelu");
  g_assert_cmpfloat (ir_node_attr_float (leaky, "alpha", 0), ==, 2.0f);
  g_assert_true (ir_value_is_graph_output (y));
  g_assert_cmpstr (same->producer->op_type, ==, "Identity");
  in_branch = ir_graph_output (ir_node_attr_graph (ir_graph_find_value (model->main, "z")->producer,
                                                   "then_branch"),
                               0)
                  ->producer;
  g_assert_cmpstr (in_branch->op_type, ==, "Add");
  g_assert_cmpfloat (ir_node_attr_float (in_branch->inputs[0]->producer, "alpha", 0), ==, 1.5f);
  g_assert_true (in_branch->inputs[1] == y);
  g_assert_cmpuint (count_op (model, "Outer") + count_op (model, "Inner"), ==, 0);
}

static void
test_undo (void)
{
  g_autoptr (IrModel) model = test_read_text (functions_text);
  g_autofree char *before = ir_text_write (model);
  g_autofree char *after = NULL;

  inline_all (model, 5, 0);
  ir_history_goto (model, 0);
  after = ir_text_write (model);
  g_assert_cmpstr (before, ==, after);
}

static void
test_recursive (void)
{
  g_autoptr (IrModel) model = test_read_text (
      "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]> g (float x) => (y) { y = f.A (x) }\n"
      "<domain: \"f\", opset_import: [\"f\" : 1]> A (a) => (b) { b = f.B (a) }\n"
      "<domain: \"f\", opset_import: [\"f\" : 1]> B (a) => (b) { b = f.A (a) }\n");

  inline_all (model, 0, 1);
}

static void
test_versions (void)
{
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]> g (float[2,2] x) => (y) { y = f.A (x) }\n"
      "<domain: \"f\", opset_import: [\"\" : %d]> A (a) => (b) { b = %s <axis = 1> (a) }\n";
  static const struct
  {
    int version;
    const char *op;
    guint n_inlined;
  } cases[] = { { 17, "Softmax", 1 }, { 13, "Softmax", 1 }, { 11, "Softmax", 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *filled = g_strdup_printf (text, cases[i].version, cases[i].op);
      g_autoptr (IrModel) model = test_read_text (filled);

      inline_all (model, cases[i].n_inlined, 1 - cases[i].n_inlined);
    }
}

/* Every fused operator has a body that reads, is written as a function, and inlines to operators of
 * ai.onnx alone. */
static void
test_bodies (void)
{
  guint n_bodies = 0;

  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      g_autoptr (IrModel) model = NULL;
      g_autoptr (IrModel) again = NULL;
      g_autoptr (IrEdit) edit = NULL;
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      IrValue *inputs[8] = { NULL };
      const IrGraph *function;
      guint n;

      if (op->domain == NULL || strcmp (op->domain, "irscope") != 0)
        continue;
      g_assert_nonnull (op->body);
      n = (guint) (op->in.max > 0 ? op->in.max : op->in.min);
      model = ir_model_new ();
      edit = ir_edit_new_import (model);
      ir_edit_set_opset (edit, "", 17);
      for (guint i = 0; i < n; i++)
        inputs[i] = ir_edit_add_value (edit, model->main, NULL, NULL);
      ir_edit_set_graph_inputs (edit, model->main, inputs, n);
      IrNode *node = ir_edit_add_node (edit, model->main, op->name, "irscope", "fused", n, inputs,
                                       1);
      ir_edit_set_graph_outputs (edit, model->main, &node->outputs[0], 1);

      again = test_through_onnx (model);
      g_assert_cmpint (again->info->ir_version, >=, 8);
      g_assert_cmpint (ir_model_opset (again, "irscope"), >, 0);
      function = ir_model_find_function (again, "irscope", op->name, "");
      g_assert_nonnull (function);
      g_assert_cmpint (ir_graph_opset (function, ""), ==, 17);
      inline_all (again, 1, 0);
      for (guint i = 1; i < again->nodes->len; i++)
        if (((IrNode *) again->nodes->pdata[i])->state == IR_STATE_LIVE)
          g_assert_cmpstr (((IrNode *) again->nodes->pdata[i])->domain, ==, "");
      n_bodies++;
    }
  g_test_message ("%u bodies", n_bodies);
  g_assert_cmpuint (n_bodies, >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/functions/calls become the nodes of the body", test_inline);
  g_test_add_func ("/io/functions/inlining is undone like any step", test_undo);
  g_test_add_func ("/io/functions/functions that call each other end", test_recursive);
  g_test_add_func ("/io/functions/other versions stay calls where operators differ", test_versions);
  g_test_add_func ("/io/functions/fused operators are written with their bodies", test_bodies);
  return g_test_run ();
}
