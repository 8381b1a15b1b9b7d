/* The verifier: each fault is found, named by its code, and sound models give no findings. */
#include "config.h"

#include "core/ir/edit.h"
#include "core/op/check.h"
#include "core/op/verify.h"

#include <string.h>

typedef struct
{
  IrModel *model;
  IrEdit *edit;
  IrGraph *main;
  IrValue *x;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  f->model = ir_model_new ();
  f->edit = ir_edit_new_import (f->model);
  f->main = f->model->main;
  ir_edit_set_opset (f->edit, "", 17);
  f->x = ir_edit_add_value (f->edit, f->main, "x", NULL);
  ir_edit_set_graph_inputs (f->edit, f->main, &f->x, 1);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  ir_edit_free (f->edit);
  ir_model_unref (f->model);
}

static IrNode *
add (Fixture *f, const char *op, IrValue *a, IrValue *b)
{
  IrValue *inputs[] = { a, b };
  return ir_edit_add_node (f->edit, f->main, op, NULL, op, b != NULL ? 2 : a != NULL, inputs, 1);
}

static const IrProblem *
find (GPtrArray *problems, IrProblemCode code)
{
  for (guint i = 0; i < problems->len; i++)
    if (((IrProblem *) problems->pdata[i])->code == code)
      return problems->pdata[i];
  return NULL;
}

static GPtrArray *
verify (Fixture *f)
{
  GPtrArray *problems = ir_problems_new ();
  ir_verify_structure (f->model, problems);
  ir_verify_nodes (f->model, problems);
  return problems;
}

static void
test_sound (Fixture *f, gconstpointer data)
{
  IrNode *relu = add (f, "Relu", f->x, NULL), *sum = add (f, "Add", relu->outputs[0], f->x);
  g_autoptr (GPtrArray) problems = NULL;

  ir_edit_set_graph_outputs (f->edit, f->main, sum->outputs, 1);
  problems = verify (f);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) problems->pdata[i])->message);
  g_assert_cmpuint (problems->len, ==, 0);
}

static void
test_undefined (Fixture *f, gconstpointer data)
{
  IrValue *nothing = ir_edit_add_value (f->edit, f->main, "nothing", NULL);
  IrNode *relu = add (f, "Relu", nothing, NULL);
  g_autoptr (GPtrArray) problems = NULL;
  const IrProblem *problem;

  ir_edit_set_graph_outputs (f->edit, f->main, &nothing, 1);
  problems = verify (f);
  problem = find (problems, IR_PROBLEM_UNDEFINED_VALUE);
  g_assert_nonnull (problem);
  g_assert_cmpuint (problem->node, ==, relu->id);
  g_assert_cmpuint (problem->value, ==, nothing->id);
  g_assert_nonnull (strstr (problem->message, "nothing"));
  g_assert_nonnull (problem->hint);
  /* The output of the graph is a finding of its own. */
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 2);
}

/* Types that do not fit are a problem, once, and are found anew when a type, a constant or what a
 * body gives changes. A kernel may be asked all the same. */
static void
test_types (Fixture *f, gconstpointer data)
{
  IrContext *context = f->model->context;
  const gint64 dims[] = { 2, 3 }, others[] = { 4, 5 };
  const IrType *type = ir_type_tensor (context, IR_DTYPE_FLOAT, 2, dims),
               *other = ir_type_tensor (context, IR_DTYPE_FLOAT, 2, others);
  IrValue *a = ir_edit_add_value (f->edit, f->main, "a", type),
          *b = ir_edit_add_value (f->edit, f->main, "b", other), *inputs[] = { f->x, a, b };
  IrNode *sum = add (f, "Add", a, b), *softmax = add (f, "Softmax", a, NULL);
  g_autoptr (GPtrArray) problems = NULL;

  ir_edit_set_graph_inputs (f->edit, f->main, inputs, 3);
  g_assert_false (ir_node_is_valid (sum));
  g_assert_true (ir_node_is_well_formed (sum));
  g_assert_true (ir_node_is_valid (softmax));
  problems = verify (f);
  g_assert_nonnull (find (problems, IR_PROBLEM_SHAPE_MISMATCH));
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 1);
  ir_edit_set_type (f->edit, b, type);
  g_assert_true (ir_node_is_valid (sum));
  ir_edit_set_attr (f->edit, softmax, ir_attr_int (context, "axis", 7));
  g_assert_false (ir_node_is_valid (softmax));
  ir_edit_set_type (f->edit, b, NULL);
  ir_edit_set_claim (f->edit, b, other);
  g_assert_true (ir_node_is_valid (sum)); /* a claim says nothing */
}

static void
test_names (Fixture *f, gconstpointer data)
{
  IrNode *a = add (f, "Relu", f->x, NULL), *b = add (f, "Relu", f->x, NULL);
  g_autoptr (GPtrArray) problems = NULL;

  ir_edit_rename_value (f->edit, a->outputs[0], "same");
  ir_edit_rename_value (f->edit, b->outputs[0], "same");
  problems = verify (f);
  g_assert_nonnull (find (problems, IR_PROBLEM_DUPLICATE_NAME));
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 1);
}

static void
test_node_names (Fixture *f, gconstpointer data)
{
  g_autoptr (GPtrArray) problems = NULL;
  const IrProblem *problem;
  IrNode *second = NULL;

  for (guint i = 0; i < 3; i++)
    {
      IrNode *node = add (f, "Relu", f->x, NULL);

      ir_edit_rename_node (f->edit, node, "same");
      second = i == 1 ? node : second;
      ir_edit_rename_node (f->edit, add (f, "Neg", f->x, NULL), "");
    }
  problems = verify (f);
  problem = find (problems, IR_PROBLEM_DUPLICATE_NAME);
  g_assert_nonnull (problem);
  g_assert_cmpuint (problem->node, ==, second->id);
  g_assert_cmpint (problem->severity, ==, IR_SEVERITY_WARNING);
  g_assert_cmpuint (problems->len, ==, 1);
}

static void
test_cycle (Fixture *f, gconstpointer data)
{
  IrNode *a = add (f, "Add", f->x, f->x), *b = add (f, "Relu", a->outputs[0], NULL);
  IrNode *c = add (f, "Neg", b->outputs[0], NULL), *behind = add (f, "Abs", c->outputs[0], NULL);
  IrNode *own = add (f, "Sqrt", f->x, NULL);
  g_autoptr (GPtrArray) problems = NULL;
  guint n_cycles = 0;

  ir_edit_set_input (f->edit, a, 1, c->outputs[0]);
  ir_edit_set_input (f->edit, own, 0, own->outputs[0]);
  problems = verify (f);
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      if (problem->code != IR_PROBLEM_CYCLE)
        continue;
      n_cycles++;
      g_assert_null (strstr (problem->message, behind->name));
      if (strstr (problem->message, "Sqrt") == NULL)
        g_assert_true (strstr (problem->message, "Add") != NULL &&
                       strstr (problem->message, "Relu") != NULL &&
                       strstr (problem->message, "Neg") != NULL);
    }
  g_assert_cmpuint (n_cycles, ==, 2);
}

static void
test_control_cycle (Fixture *f, gconstpointer data)
{
  IrNode *a = add (f, "Relu", f->x, NULL), *b = add (f, "Neg", a->outputs[0], NULL);
  g_autoptr (GPtrArray) problems = NULL;

  ir_edit_add_control (f->edit, a, b);
  problems = verify (f);
  g_assert_nonnull (find (problems, IR_PROBLEM_CYCLE));
}

/* A branch that reads what its own If produces waits for itself. */
static void
test_captured_cycle (Fixture *f, gconstpointer data)
{
  IrNode *branch = add (f, "If", f->x, NULL);
  IrGraph *body = ir_edit_add_graph (f->edit, IR_GRAPH_SUBGRAPH, "then");
  g_autoptr (GPtrArray) problems = NULL;

  ir_edit_set_attr (f->edit, branch, ir_attr_graph (f->model->context, "then_branch", body->id));
  ir_edit_add_node (f->edit, body, "Relu", NULL, "inner", 1, branch->outputs, 1);
  problems = verify (f);
  g_assert_nonnull (find (problems, IR_PROBLEM_CYCLE));
}

static void
test_scope (Fixture *f, gconstpointer data)
{
  IrNode *branch = add (f, "If", f->x, NULL);
  IrGraph *body = ir_edit_add_graph (f->edit, IR_GRAPH_SUBGRAPH, "then");
  IrNode *inner;
  g_autoptr (GPtrArray) problems = NULL;

  ir_edit_set_attr (f->edit, branch, ir_attr_graph (f->model->context, "then_branch", body->id));
  inner = ir_edit_add_node (f->edit, body, "Relu", NULL, "inner", 1, &f->x, 1);
  problems = ir_problems_new ();
  ir_verify_structure (f->model, problems);
  g_assert_cmpuint (problems->len, ==, 0);
  add (f, "Relu", inner->outputs[0], NULL);
  ir_verify_structure (f->model, problems);
  g_assert_nonnull (find (problems, IR_PROBLEM_UNDEFINED_VALUE));
}

static void
test_operators (Fixture *f, gconstpointer data)
{
  IrNode *lone = add (f, "Add", f->x, NULL);
  IrNode *unknown = add (f, "Frobnicate", f->x, NULL);
  IrNode *wrong = add (f, "Softmax", f->x, NULL);
  IrNode *foreign = ir_edit_add_node (f->edit, f->main, "Inverse", "com.microsoft", NULL, 1, &f->x,
                                      1);
  g_autoptr (GPtrArray) problems = NULL;
  const IrProblem *problem;

  ir_edit_set_attr (f->edit, wrong, ir_attr_float (f->model->context, "axis", 1));
  problems = verify (f);
  problem = find (problems, IR_PROBLEM_INPUT_COUNT);
  g_assert_nonnull (problem);
  g_assert_cmpuint (problem->node, ==, lone->id);
  g_assert_nonnull (strstr (problem->message, " is open")); /* which one is missing */
  problem = find (problems, IR_PROBLEM_UNKNOWN_OPERATOR);
  g_assert_cmpuint (problem->node, ==, unknown->id);
  g_assert_cmpint (problem->severity, ==, IR_SEVERITY_WARNING);
  g_assert_nonnull (problem->hint);
  problem = find (problems, IR_PROBLEM_BAD_ATTRIBUTE);
  g_assert_cmpuint (problem->node, ==, wrong->id);
  g_assert_cmpuint (foreign->id, !=, 0);
}

static void
test_opset (Fixture *f, gconstpointer data)
{
  g_autoptr (GPtrArray) problems = NULL;

  add (f, "Relu", f->x, NULL);
  ir_edit_set_opset (f->edit, "", 0);
  problems = verify (f);
  g_assert_nonnull (find (problems, IR_PROBLEM_MISSING_OPSET));
}

/* Old opsets keep in attributes what newer ones take as inputs. */
static void
test_old_opset (Fixture *f, gconstpointer data)
{
  IrNode *clip = add (f, "Clip", f->x, NULL);
  g_autoptr (GPtrArray) problems = NULL;

  ir_edit_set_opset (f->edit, "", 6);
  ir_edit_set_attr (f->edit, clip, ir_attr_float (f->model->context, "min", 0));
  ir_edit_set_attr (f->edit, clip, ir_attr_float (f->model->context, "max", 6));
  problems = verify (f);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) problems->pdata[i])->message);
  g_assert_cmpuint (problems->len, ==, 0);
}

#define ADD(name, func) g_test_add (name, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/verify/a sound model has no findings", test_sound);
  ADD ("/verify/values that nothing produces are found", test_undefined);
  ADD ("/verify/two values of one name are found", test_names);
  ADD ("/verify/two nodes of one name are found once", test_node_names);
  ADD ("/verify/nodes on a cycle are named and no others", test_cycle);
  ADD ("/verify/control dependencies close cycles", test_control_cycle);
  ADD ("/verify/a branch that reads its own If is a cycle", test_captured_cycle);
  ADD ("/verify/values are visible inwards only", test_scope);
  ADD ("/verify/nodes are held against their operators", test_operators);
  ADD ("/verify/a missing opset import is found", test_opset);
  ADD ("/verify/old opsets are judged by their own form", test_old_opset);
  ADD ("/verify/types that do not fit are found, and found anew", test_types);
  return g_test_run ();
}
