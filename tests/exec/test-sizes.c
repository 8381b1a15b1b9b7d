/* Sizes of free dims that follow from what nodes need, and what is said where none suit. */
#include "config.h"

#include "tests/exec/graphs.h"

#include "core/io/io.h"

static IrModel *
model_of (const char *graph)
{
  g_autofree char *text = g_strdup_printf ("<ir_version: 8, opset_import: [\"\" : 17]>\n%s", graph);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  g_assert_nonnull (model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return model;
}

static GHashTable *
given (const char *name, gint64 size)
{
  GHashTable *table = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  if (name != NULL)
    g_hash_table_insert (table, g_strdup (name), g_memdup2 (&size, sizeof size));
  return table;
}

/* @node: (nullable): that the size is by; @why (nullable): what it needs */
static void
assert_size (IrModel *model,
             GHashTable *bindings,
             const char *name,
             gint64 size,
             const char *node,
             const char *why)
{
  g_autoptr (GArray) dims = ir_free_dims (model, bindings);

  for (guint i = 0; i < dims->len; i++)
    {
      const IrFreeDim *dim = &g_array_index (dims, IrFreeDim, i);

      if (strcmp (dim->name, name) != 0)
        continue;
      g_assert_cmpint (dim->size, ==, size);
      g_assert_cmpstr (dim->node != 0 ? ir_model_node (model, dim->node)->name : NULL, ==, node);
      g_assert_cmpstr (dim->why, ==, why);
      return;
    }
  g_error ("no dim %s", name);
}

static void
assert_runs (IrModel *model)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 0, NULL, &error);
  IrRunOptions options = { .backend = ir_backend_find ("ref") };
  g_autoptr (IrRun) run = inputs != NULL ? ir_model_run (model, inputs, &options, NULL, &error)
                                         : NULL;

  g_assert_no_error (error);
  g_assert_nonnull (run);
}

/* The graph of a report: a Reshape fixes the product of a batch and a length. */
static const char reshape[] =
    "g (float[b,s,128] x) => (float[16,32,32] y) <int64[3] to = {16,32,32}>\n"
    "{ t = Mul (x, x) u = Concat <axis = 1> (t, t, t, t, t, t, t, t)\n"
    "  [fix] y = Reshape (u, to) }";

static void
test_reshape (void)
{
  g_autoptr (IrModel) model = model_of (reshape);
  g_autoptr (GHashTable) batch = given ("b", 4), length = given ("s", 2), odd = given ("s", 3);

  assert_size (model, NULL, "s", 16, "fix", "b*s = 16");
  assert_size (model, NULL, "b", 1, NULL, NULL);
  assert_size (model, batch, "s", 4, "fix", "b*s = 16");
  assert_size (model, length, "b", 8, "fix", "b*s = 16");
  assert_runs (model);
  g_autoptr (GArray) none = ir_size_conflicts (model, length);
  g_assert_cmpuint (none->len, ==, 0);
  g_autoptr (GArray) conflicts = ir_size_conflicts (model, odd);
  g_assert_cmpuint (conflicts->len, ==, 1);
  g_assert_cmpstr (g_array_index (conflicts, IrSizeConflict, 0).text, ==,
                   "fix (Reshape) needs b*s = 16, which s = 3 does not fit.");
}

static void
test_contradiction (void)
{
  g_autoptr (IrModel)
      model = model_of ("g (float[n,s] x, float[12,3] w) => (y, z) <int64[1] to = {16}>\n"
                        "{ [one] y = Reshape (x, to) [two] z = MatMul (x, w) }");
  g_autoptr (GArray) conflicts = ir_size_conflicts (model, NULL);

  /* The one that has but one unknown is sure of it. */
  assert_size (model, NULL, "s", 12, "two", "s = 12");
  g_assert_cmpuint (conflicts->len, ==, 1);
  const IrSizeConflict *conflict = &g_array_index (conflicts, IrSizeConflict, 0);
  g_assert_cmpstr (conflict->text, ==,
                   "two (MatMul) needs s = 12, one (Reshape) needs n*s = 16: no sizes suit both.");
  g_assert_cmpstr (ir_model_node (model, conflict->node)->name, ==, "one");
  g_assert_cmpstr (ir_model_node (model, conflict->other)->name, ==, "two");
}

/* Each row: an input's dim, its size, the node that says so, and what it says. */
static const struct
{
  const char *name, *graph, *dim;
  gint64 size;
  const char *node, *why;
} rows[] = {
  { "matmul", "g (float[2,k] x, float[6,3] w) => (y) { [n] y = MatMul (x, w) }", "k", 6, "n",
    "k = 6" },
  { "gemm", "g (float[2,k] x, float[6,3] w) => (y) { [n] y = Gemm (x, w) }", "k", 6, "n", "k = 6" },
  { "conv", "g (float[1,c,9,9] x, float[2,5,3,3] w) => (y) { [n] y = Conv (x, w) }", "c", 5, "n",
    "c = 5" },
  { "concat", "g (float[2,k] x, float[2,6] w) => (y) { [n] y = Concat <axis = 0> (x, w) }", "k", 6,
    "n", "k = 6" },
  { "add", "g (float[2,k] x, float[1,6] w) => (y) { [n] y = Add (x, w) }", "k", 6, "n", "k = 6" },
  { "add to one", "g (float[batch,3] x, float[5,3] w) => (y) { [n] y = Add (x, w) }", "batch", 1,
    NULL, NULL },
  { "expand", "g (float[k,1] x) => (y) <int64[2] s = {6,4}> { [n] y = Expand (x, s) }", "k", 6, "n",
    "k = 6" },
  { "nameless", "g (float[2,?] x, float[6,3] w) => (y) { [n] y = MatMul (x, w) }", "x[1]", 6, "n",
    "x[1] = 6" },
  { "between inputs",
    "g (float[2,k] x, float[2,m] z, float[6,3] w) => (y, v) { [n] v = MatMul (x, w) "
    "[a] y = Concat <axis = 0> (x, z) }",
    "m", 6, "a", "k = m" },
  /* 193 to 224 would do, and networks are made for multiples. */
  { "behind strides",
    "g (float[1,3,h,w] x, float[1,3,32,32] k) => (y) <int64[2] s = {1,49}> { "
    "c = Conv <strides = [32,32], pads = [0,0,31,31]> (x, k) [n] y = Reshape (c, s) }",
    "h", 224, "n", NULL },
  /* What may not run fixes nothing. */
  { "branch",
    "g (bool c, float[k] x) => (y) { y = If (c) <then_branch = t () => (o) { s = Constant <value_ints "
    "= [3]> () o = Reshape (x, s) }, else_branch = e () => (o) { o = Identity (x) }> }",
    "k", 8, NULL, NULL },
  { "nothing", "g (float[k] x) => (y) { y = Relu (x) }", "k", 8, NULL, NULL },
};

static void
test_row (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) model = model_of (rows[i].graph);
  g_autoptr (GArray) conflicts = ir_size_conflicts (model, NULL);

  g_assert_cmpuint (conflicts->len, ==, 0);
  if (rows[i].why != NULL || rows[i].node == NULL)
    assert_size (model, NULL, rows[i].dim, rows[i].size, rows[i].node, rows[i].why);
  else
    {
      g_autoptr (GArray) dims = ir_free_dims (model, NULL);

      for (guint k = 0; k < dims->len; k++)
        g_assert_cmpint (g_array_index (dims, IrFreeDim, k).size, ==, rows[i].size);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sizes/reshape", test_reshape);
  g_test_add_func ("/sizes/contradiction", test_contradiction);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *path = g_strdup_printf ("/sizes/%s", rows[i].name);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_row);
    }
  return g_test_run ();
}
