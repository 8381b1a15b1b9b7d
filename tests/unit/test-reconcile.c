/* Grafting: a model is made to say what another says, by edits that can be undone. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/dump.h"
#include "core/ir/reconcile.h"
#include "core/ir/history.h"
#include "core/op/infer.h"
#include "core/op/verify.h"

#include <string.h>

#define HEADER "<ir_version: 8, opset_import: [\"\" : 17]>\n"

static const char plain_text[] = HEADER
    "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1.0, 2.0, 3.0}> {\n"
    "  [first] a = Mul (x, w)\n"
    "  [second] b = Relu (a)\n"
    "  [third] y = Add (b, x)\n"
    "}\n";

static const char if_text[] = HEADER
    "g (float[4] x, bool c) => (float[4] y) <float[4] w = {1.0, 2.0, 3.0, 4.0}> {\n"
    "  h = Mul (x, w)\n"
    "  z = If (c) <then_branch = t () => (float[4] t1) { t1 = Relu (h) },\n"
    "              else_branch = e () => (float[4] e1) { n = Neg (h) e1 = Add (n, w) }>\n"
    "  y = Tanh (z)\n"
    "}\n";

static const char function_text[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]>\n"
    "g (float[2] x) => (y) { y = f.Twice <k = 2.0> (x) }\n"
    "<domain: \"f\", opset_import: [\"\" : 17]>\n"
    "Twice <k: float = 1.5> (a) => (b) { c = LeakyRelu <alpha: float = @k> (a) b = Add (c, a) }\n";

static const char attr_text[] = HEADER
    "g (float[4,3] x) => (float[4,3] y) { a = Softmax <axis = 0> (x) y = LeakyRelu <alpha = 0.5> (a) }\n";

static const struct
{
  const char *name, *text, *from, *to; /* what is replaced by what */
} edits[] = {
  { "an attribute is added", plain_text, "Relu (a)", "Softmax <axis = 0> (a)" },
  { "an attribute goes", attr_text, " <axis = 0>", "" },
  { "an attribute is changed", attr_text, "alpha = 0.5", "alpha = 0.25" },
  { "an attribute gives way to another operator's", attr_text, "Softmax <axis = 0>",
    "Elu <alpha = 2.0>" },
  { "the version of the format is changed", plain_text, "ir_version: 8", "ir_version: 9" },
  { "a branch goes with its attribute", if_text,
    ",\n              else_branch = e () => (float[4] e1) { n = Neg (h) e1 = Add (n, w) }", "" },
  { "a constant is changed", plain_text, "{1.0, 2.0, 3.0}", "{1.0, -2.0, 3.0}" },
  { "a node is inserted", plain_text, "Add (b, x)", "Add (b2, x)\n  b2 = Neg (b)" },
  { "a node is taken out", plain_text, "  [second] b = Relu (a)\n  [third] y = Add (b, x)",
    "  [third] y = Add (a, x)" },
  { "a node is renamed", plain_text, "[first]", "[other]" },
  { "an input gets another shape", plain_text, "float[2,3] x", "float[N,3] x" },
  { "an input is added", plain_text, "float[2,3] x) =>", "float[2,3] x, float[3] v) =>" },
  { "a constant becomes an input", plain_text,
    "x) => (float[2,3] y) <float[3] w = {1.0, 2.0, 3.0}>", "x, float[3] w) => (float[2,3] y)" },
  { "a constant goes and another comes", plain_text,
    "w = {1.0, 2.0, 3.0}> {\n  [first] a = Mul (x, w)",
    "v = {4.0, 5.0, 6.0}> {\n  [first] a = Mul (x, v)" },
  { "an output is added", plain_text, "(float[2,3] y) <", "(float[2,3] y, float[2,3] a) <" },
  { "a type is declared", plain_text, "<float[3] w = {1.0, 2.0, 3.0}>",
    "<float[3] w = {1.0, 2.0, 3.0}, float[2,3] a>" },
  { "the graph is renamed", plain_text, "g (", "another (" },
  { "the opset is changed", plain_text, ": 17]", ": 18]" },
  { "all nodes are replaced", plain_text,
    "[first] a = Mul (x, w)\n  [second] b = Relu (a)\n  [third] y = Add (b, x)", "y = Sub (x, w)" },
  { "a branch is changed", if_text, "t1 = Relu (h)", "t1 = Abs (h)" },
  { "a branch captures something else", if_text, "t1 = Relu (h)", "t1 = Mul (x, w)" },
  { "what a branch captures is changed", if_text, "h = Mul (x, w)", "h = Div (x, w)" },
  { "what a branch captures goes", if_text,
    "  h = Mul (x, w)\n  z = If (c) <then_branch = t () => (float[4] t1) { t1 = Relu (h) },\n              else_branch = e () => (float[4] e1) { n = Neg (h) e1 = Add (n, w) }>",
    "  z = If (c) <then_branch = t () => (float[4] t1) { t1 = Relu (x) },\n              else_branch = e () => (float[4] e1) { e1 = Add (x, w) }>" },
  { "an If goes", if_text,
    "  z = If (c) <then_branch = t () => (float[4] t1) { t1 = Relu (h) },\n              else_branch = e () => (float[4] e1) { n = Neg (h) e1 = Add (n, w) }>\n  y = Tanh (z)",
    "  y = Tanh (h)" },
  { "an argument of a call is changed", function_text, "k = 2.0", "k = 3.0" },
  { "the body of a function is changed", function_text, "b = Add (c, a)", "b = Sub (c, a)" },
  { "a default of a function is changed", function_text, "float = 1.5", "float = 2.5" },
};

static char *
replaced (const char *text, const char *from, const char *to)
{
  const char *at = strstr (text, from);

  g_assert_nonnull (at);
  return g_strdup_printf ("%.*s%s%s", (int) (at - text), text, to, at + strlen (from));
}

static IrModel *
read_text (const char *text, IrModel *base)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_text_read_over (text, -1, base, problems, &error);

  g_assert_no_error (error);
  g_assert_nonnull (model);
  return model;
}

/* As the text view does. */
static void
reconcile (IrModel *model, const char *text)
{
  g_autoptr (IrModel) base = ir_model_clone (model);
  g_autoptr (IrModel) target = read_text (text, base);
  g_autoptr (IrEdit) edit = ir_edit_new (model);

  ir_edit_begin_pass (edit, "edit");
  ir_edit_begin_step (edit, "apply-text", IR_CLASS_EDIT, 0);
  ir_reconcile (edit, target);
  ir_edit_end_step (edit);
  ir_edit_end_pass (edit);
}

static void
assert_sound (const IrModel *model)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_verify_structure (model, problems);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((const IrProblem *) problems->pdata[i])->message);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
}

static int
compare_lines (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

/* The order of statements that do not depend on each other may differ. */
static char *
sorted_text (IrModel *model)
{
  g_autofree char *text = ir_text_write (model);
  g_auto (GStrv) lines = NULL;

  g_strdelimit (text, ",>{", ' '); /* the last of a list has no comma */
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    g_strchomp (lines[i]);
  qsort (lines, g_strv_length (lines), sizeof (char *), compare_lines);
  return g_strjoinv ("\n", lines);
}

static void
assert_same_text (IrModel *model, const char *text)
{
  g_autoptr (IrModel) target = read_text (text, NULL);
  g_autofree char *is = sorted_text (model), *wanted = sorted_text (target);

  g_assert_cmpstr (is, ==, wanted);
}

/* -- tests -- */

static void
test_edit (gconstpointer data)
{
  const guint index = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) model = read_text (edits[index].text, NULL);
  g_autofree char *before = ir_model_dump (model), *after = NULL, *undone = NULL, *redone = NULL,
                  *text = replaced (edits[index].text, edits[index].from, edits[index].to);

  reconcile (model, text);
  g_assert_cmpuint (ir_history_n_steps (model), ==, 1);
  assert_sound (model);
  assert_same_text (model, text);
  after = ir_model_dump (model);
  ir_history_goto (model, 0);
  undone = ir_model_dump (model);
  g_assert_cmpstr (undone, ==, before);
  ir_history_goto (model, 1);
  redone = ir_model_dump (model);
  g_assert_cmpstr (redone, ==, after);
}

static void
test_same (gconstpointer data)
{
  g_autoptr (IrModel) model = read_text (data, NULL);
  g_autofree char *before = ir_model_dump (model), *text = ir_text_write (model), *after = NULL;

  reconcile (model, text);
  after = ir_model_dump (model);
  g_assert_cmpuint (ir_history_n_steps (model), ==, 0);
  g_assert_cmpstr (after, ==, before);
}

static void
infer (IrModel *model)
{
  IrEdit *edit = ir_edit_new_import (model);

  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  ir_edit_free (edit);
}

/* Of a model whose declarations inference has confirmed. */
static void
test_same_inferred (gconstpointer data)
{
  g_autoptr (IrModel) model = read_text (data, NULL);

  infer (model);
  g_autofree char *before = ir_model_dump (model), *text = ir_text_write (model), *after = NULL;
  reconcile (model, text);
  after = ir_model_dump (model);
  g_assert_cmpuint (ir_history_n_steps (model), ==, 0);
  g_assert_cmpstr (after, ==, before);
}

/* What was inferred before the edit is no fact behind it; beside it, it stays. */
static void
test_stale_types (void)
{
  const char *plain = HEADER "g (float[6,2] x, int64[1] n) => (float[?,2] y, float[6,2] z)\n"
                             "<int64[1] s = {0}, int64[1] e = {1}, int64[1] a = {0}> {\n"
                             "  t = Slice (x, s, e, a)\n  y = Relu (t)\n  z = Neg (x)\n}\n";
  g_autoptr (IrModel) model = read_text (plain, NULL);
  g_autofree char *text = replaced (plain, "Slice (x, s, e, a)", "Slice (x, s, n, a)");

  infer (model);
  const IrValue *y = ir_graph_find_value (model->main, "y"),
                *z = ir_graph_find_value (model->main, "z");
  g_assert_cmpint (y->type->dims[0], ==, 1);
  reconcile (model, text);
  g_assert_cmpint (z->type->dims[0], ==, 6);
  g_autoptr (IrEdit) edit = ir_edit_new (model);
  ir_edit_begin_pass (edit, "edit");
  ir_edit_begin_step (edit, "infer", IR_CLASS_EXACT, 0);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  g_assert_true (ir_type_is_tensor (y->type));
  g_assert_false (ir_type_is_static (y->type));
}

static void
test_ids (void)
{
  g_autoptr (IrModel) model = read_text (plain_text, NULL);
  IrNodeId first = ir_graph_find_node (model->main, "first")->id,
           third = ir_graph_find_node (model->main, "third")->id;
  IrValueId x = ir_graph_find_value (model->main, "x")->id,
            w = ir_graph_find_value (model->main, "w")->id;
  g_autofree char *text = replaced (plain_text, "[second] b = Relu (a)", "b = Neg (a)");
  const IrNode *node;

  reconcile (model, text);
  g_assert_cmpuint (ir_graph_find_node (model->main, "first")->id, ==, first);
  g_assert_cmpuint (ir_graph_find_node (model->main, "third")->id, ==, third);
  g_assert_null (ir_graph_find_node (model->main, "second"));
  g_assert_cmpuint (ir_graph_find_value (model->main, "x")->id, ==, x);
  g_assert_cmpuint (ir_graph_find_value (model->main, "w")->id, ==, w);
  node = ir_graph_find_value (model->main, "b")->producer;
  g_assert_cmpstr (node->op_type, ==, "Neg");
  g_assert_cmpuint (node->id, >, third);
}

/* "{...}" stands for the tensor that is there: nothing changes, and nothing is copied. */
static void
test_elided (void)
{
  g_autoptr (IrModel) model = read_text (plain_text, NULL);
  const IrTensor *w = ir_graph_find_value (model->main, "w")->initializer;
  g_autofree char *text = replaced (plain_text, "{1.0, 2.0, 3.0}", "{...}");

  reconcile (model, text);
  g_assert_cmpuint (ir_history_n_steps (model), ==, 0);
  g_assert_true (ir_graph_find_value (model->main, "w")->initializer == w);
}

/* A text of nodes whose names come from a small pool, so that names come back in other roles. */
static char *
random_text (GRand *rand)
{
  static const char *const unary[] = { "Relu", "Neg", "Exp", "Identity" }, *const binary[] = {
    "Add", "Mul", "Sub"
  };
  g_autoptr (GString) text = g_string_new (HEADER "g (float[2] x, float[2] v) => (");
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) nodes = g_string_new (NULL);
  guint n = (guint) g_rand_int_range (rand, 1, 12);

  g_ptr_array_add (names, g_strdup ("x"));
  g_ptr_array_add (names, g_strdup ("v"));
  g_ptr_array_add (names, g_strdup ("w"));
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%d", g_rand_int_range (rand, 0, 16));
      const char *a = names->pdata[g_rand_int_range (rand, 0, (gint) names->len)],
                 *b = names->pdata[g_rand_int_range (rand, 0, (gint) names->len)];

      if (g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
        continue;
      if (g_rand_boolean (rand))
        g_string_append_printf (nodes, "  %s = %s (%s)\n", name,
                                unary[g_rand_int_range (rand, 0, G_N_ELEMENTS (unary))], a);
      else
        g_string_append_printf (nodes, "  %s = %s (%s, %s)\n", name,
                                binary[g_rand_int_range (rand, 0, G_N_ELEMENTS (binary))], a, b);
      g_ptr_array_add (names, g_steal_pointer (&name));
    }
  g_string_append_printf (text, "%s) <float[2] w = {%d.0, 1.0}> {\n%s}\n",
                          (char *) names->pdata[names->len - 1], g_rand_int_range (rand, 0, 3),
                          nodes->str);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20);
  g_autoptr (IrModel) model = read_text (plain_text, NULL);
  g_autoptr (GPtrArray) dumps = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (dumps, ir_model_dump (model));
  for (guint i = 0; i < 300; i++)
    {
      g_autofree char *text = random_text (rand);

      reconcile (model, text);
      assert_sound (model);
      assert_same_text (model, text);
      if (ir_history_n_steps (model) == dumps->len)
        g_ptr_array_add (dumps, ir_model_dump (model));
    }
  g_assert_cmpuint (dumps->len, >, 200);
  for (guint i = 0; i < 200; i++)
    {
      guint step = (guint) g_rand_int_range (rand, 0, (gint) dumps->len);
      g_autofree char *dump = NULL;

      ir_history_goto (model, step);
      dump = ir_model_dump (model);
      g_assert_cmpstr (dump, ==, dumps->pdata[step]);
    }
}

/* A text that says nothing of operator sets means those of the model below it; one that does, its own. */
static void
test_headless (void)
{
  static const char *const heads[] = { "", "<ir_version: 8, opset_import: [\"\" : 18]>\n" };

  for (guint i = 0; i < G_N_ELEMENTS (heads); i++)
    {
      g_autoptr (IrModel) base = read_text (plain_text, NULL);
      g_autofree char *text = g_strconcat (heads[i], plain_text + strlen (HEADER), NULL);
      g_autoptr (IrModel) model = read_text (text, base);

      g_assert_cmpint (ir_model_opset (model, ""), ==, i == 0 ? 17 : 18);
      g_assert_cmpuint (model->opsets->n, ==, 1);
    }
}

/* A new node comes where the text has it, though nothing but the order of the file says so. */
static void
test_place (void)
{
  static const char *const after[] = { "[first] a = Mul (x, w)\n", "[second] b = Relu (a)\n" };

  for (guint i = 0; i < G_N_ELEMENTS (after); i++)
    {
      g_autofree char *with = g_strconcat (after[i], "  [new] n = Abs (x)\n", NULL);
      g_autofree char *text = replaced (plain_text, after[i], with), *written = NULL;
      g_autoptr (IrModel) model = read_text (plain_text, NULL);
      reconcile (model, text);
      written = ir_text_write (model);
      const char *fresh = strstr (written, "[new]");
      g_assert_nonnull (fresh);
      g_assert_true (strstr (written, i == 0 ? "[first]" : "[second]") < fresh);
      g_assert_true (fresh < strstr (written, i == 0 ? "[second]" : "[third]"));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graft/a text without imports keeps them", test_headless);
  for (guint i = 0; i < G_N_ELEMENTS (edits); i++)
    {
      g_autofree char *path = g_strdup_printf ("/reconcile/%s, and back", edits[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_edit);
    }
  g_test_add_data_func ("/reconcile/the same text changes nothing", plain_text, test_same);
  g_test_add_data_func ("/reconcile/the same text with an If changes nothing", if_text, test_same);
  g_test_add_data_func ("/reconcile/the same text with a function changes nothing", function_text,
                        test_same);
  g_test_add_data_func ("/reconcile/the same text with types that are known changes nothing",
                        plain_text, test_same_inferred);
  g_test_add_data_func ("/reconcile/the same text with an If, with types, changes nothing", if_text,
                        test_same_inferred);
  g_test_add_func ("/reconcile/types behind a change are forgotten", test_stale_types);
  g_test_add_func ("/reconcile/what stays keeps its id", test_ids);
  g_test_add_func ("/reconcile/a new node comes where the text has it", test_place);
  g_test_add_func ("/reconcile/tensors that are left out stay", test_elided);
  g_test_add_func ("/reconcile/random texts one after another, and back to any", test_random);
  return g_test_run ();
}
