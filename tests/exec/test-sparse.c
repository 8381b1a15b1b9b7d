/* Tensors that a file holds in sparse form: executed as dense ones, kept sparse in every format. */
#include "config.h"

#include "core/io/io.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#include <glib/gstdio.h>

/* w has linear indices, k coordinates; n is a shape. */
#define MODEL                                                                                      \
  "<ir_version: 8, opset_import: [\"\" : 17]>\n"                                                   \
  "graph (float[N,2] x) => (float[N,3] y)\n"                                                       \
  "<sparse_tensor(float[2,3]) w = {2, 3} int64[2] {1, 3}>\n{\n"                                    \
  "  p = MatMul (x, w)\n"                                                                          \
  "  k = Constant <sparse_value = sparse_tensor(float[3,3]) {5, 7} int64[2,2] {0, 0, 2, 1}> ()\n"  \
  "  y = MatMul (p, k)\n}\n"

static IrModel *
read_model (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  IrEdit *edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  ir_edit_free (edit);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) g_ptr_array_index (problems, i))->message);
  return model;
}

/* [1, 2] w = [6, 2, 0]; times k = [30, 0, 0] */
static void
assert_runs (IrModel *model)
{
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GHashTable) inputs = inputs_new ();
      IrRunOptions options = { .backend = ir_backend_find (i == 0 ? "ref" : "cpu"),
                               .n_threads = 1 };
      inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of ("float[1,2]", "1 2"));
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      IrTensor *y = ir_run_value (run, ir_graph_output (run->model->main, 0)->id);
      assert_tensor (y, "float[1,3]", "30 0 0", 0);
    }
}

static void
assert_sparse (IrModel *model)
{
  const IrValue *w = ir_graph_find_value (model->main, "w");
  const IrValue *k = ir_graph_find_value (model->main, "k");

  g_assert_nonnull (ir_tensor_sparse_values (w->initializer));
  g_assert_nonnull (
      ir_tensor_sparse_values (ir_node_attr (k->producer, "sparse_value")->tensors[0]));
}

static void
test_run (void)
{
  g_autoptr (IrModel) model = read_model (MODEL);
  g_autofree char *type = ir_type_to_string (model->context,
                                             ir_graph_find_value (model->main, "k")->type);

  g_assert_cmpstr (type, ==, "float[3,3]");
  assert_sparse (model);
  assert_runs (model);
}

static void
test_formats (void)
{
  static const char *const extensions[] = { "onnx", "onnxtxt", "json" };
  g_autoptr (IrModel) model = read_model (MODEL);
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("irscope-sparse-XXXXXX", &error);

  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (extensions); i++)
    {
      g_autofree char *name = g_strdup_printf ("model.%s", extensions[i]);
      g_autofree char *path = g_build_filename (folder, name, NULL);
      ir_model_save (model, path, NULL, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrModel) again = ir_model_load (path, NULL, NULL, &error);
      g_assert_no_error (error);
      assert_sparse (again);
      assert_runs (again);
      g_unlink (path);
    }
  g_rmdir (folder);
}

/* Contents of a sparse constant are known to inference: [0, 6], where 0 stands for dim 0 of x. */
static void
test_shape (void)
{
  g_autoptr (IrModel) model = read_model (
      "<ir_version: 8, opset_import: [\"\" : 17]>\ngraph (float[1,6] x) => (float[] y)\n{\n"
      "  k = Constant <sparse_value = sparse_tensor(int64[2]) {6} int64[1] {1}> ()\n"
      "  y = Reshape (x, k)\n}\n");
  g_autofree char *type = ir_type_to_string (model->context,
                                             ir_graph_find_value (model->main, "y")->type);

  g_assert_cmpstr (type, ==, "float[1,6]");
}

static void
test_type (void)
{
  g_autoptr (IrModel)
      model = read_model ("<ir_version: 8, opset_import: [\"\" : 17]>\ngraph () => (y)\n"
                          "<sparse_tensor(float[2,3]) w = {2} int64[1] {1}>\n{\n y = Abs (w)\n}\n");
  g_autofree char *type = ir_type_to_string (model->context,
                                             ir_graph_find_value (model->main, "y")->type);

  g_assert_cmpstr (type, ==, "float[2,3]");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sparse/sparse weights and constants run as dense ones", test_run);
  g_test_add_func ("/sparse/every format keeps them sparse", test_formats);
  g_test_add_func ("/sparse/a sparse constant may be a shape", test_shape);
  g_test_add_func ("/sparse/what is made of sparse weights is dense", test_type);
  return g_test_run ();
}
