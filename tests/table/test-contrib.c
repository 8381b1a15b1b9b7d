/* Operators of com.microsoft against ONNX Runtime: graphs that tests/oracle/contrib-onnxruntime.py
 * wrote, a file per operator with a few nodes. What a node gives is y, what ONNX Runtime gave is the
 * initializer wanted_y. Each graph runs on the reference kernels and on the CPU's, where nodes become
 * what they are composed of. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "core/exec/exec.h"
#include "core/io/io.h"
#include "core/ir/edit.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#define TOLERANCE 2e-4 /* of the largest number, or of 1 */

/* Of what ONNX Runtime rounds on the way and we do not. */
static double
tolerance_of (const IrOp *op)
{
  return op->id == IR_OP_DYNAMIC_QUANTIZE_LSTM ? 0.05 : TOLERANCE;
}

static IrModel *
read_graph (const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "contrib", name, NULL);
  g_autofree char *text = NULL;

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  IrModel *model = ir_text_read (text, -1, problems, &error);
  g_assert_no_error (error);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s: %s", name, ((IrProblem *) g_ptr_array_index (problems, i))->message);
  g_assert_cmpuint (problems->len, ==, 0);
  return model;
}

static double
largest (const IrTensor *tensor)
{
  double most = 1;

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    most = MAX (most, fabs (ir_tensor_get_double (tensor, i)));
  return most;
}

static void
compare_strings (const IrValue *value, const IrTensor *found, const IrTensor *wanted)
{
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    if (!g_bytes_equal (ir_tensor_string (found, i), ir_tensor_string (wanted, i)))
      {
        g_test_message ("%s: element %u is not what ONNX Runtime has", value->name, (guint) i);
        g_test_fail ();
      }
}

static void
compare (const IrValue *value, const IrTensor *found, const IrTensor *wanted, IrContext *context)
{
  const IrOp *op = value->producer->op;
  double bound = ir_dtype_is_float (ir_tensor_dtype (wanted)) ? tolerance_of (op) * largest (wanted)
                                                              : op->tol.atol;

  g_assert_nonnull (found);
  g_assert_true (ir_tensor_type (found, context) == ir_tensor_type (wanted, context));
  if (ir_tensor_dtype (wanted) == IR_DTYPE_STRING)
    {
      compare_strings (value, found, wanted);
      return;
    }
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    {
      double a = ir_tensor_get_double (found, i), b = ir_tensor_get_double (wanted, i);
      if (a == b || fabs (a - b) <= bound)
        continue;
      g_test_message ("%s: element %u is %.9g, ONNX Runtime has %.9g", value->name, (guint) i, a,
                      b);
      g_test_fail ();
    }
}

static void
run_on (IrModel *model, const char *backend)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = g_hash_table_new (NULL, NULL);
  IrRunOptions options = { .backend = ir_backend_find (backend), .n_threads = 1 };
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      const IrValue *output = ir_graph_output (model->main, i);
      g_autofree char *name = g_strconcat ("wanted_", output->name, NULL);
      const IrValue *wanted = ir_graph_find_value (model->main, name);
      g_assert_nonnull (wanted);
      compare (output, ir_run_value (run, output->id), wanted->initializer, model->context);
    }
}

static void
test_file (gconstpointer name)
{
  g_autoptr (IrModel) model = read_graph (name);

  run_on (model, "ref");
  run_on (model, "cpu");
}

static guint
count_of_domain (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      n += node->state == IR_STATE_LIVE && strcmp (node->domain, "com.microsoft") == 0;
    }
  return n;
}

/* What ONNX Runtime's optimizer writes becomes what the CPU has kernels for. */
static void
test_put_in_place (gconstpointer name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = read_graph (name);
  g_autoptr (IrModel) for_ref = ir_exec_expand (model, &error);
  g_autoptr (IrModel) for_cpu = ir_exec_expand (model, &error);
  guint n = count_of_domain (model);

  g_assert_no_error (error);
  g_assert_cmpuint (n, >, 0);
  ir_exec_compose (for_ref, ir_backend_find ("ref"));
  ir_exec_compose (for_cpu, ir_backend_find ("cpu"));
  g_assert_cmpuint (count_of_domain (for_ref), ==, n);
  g_assert_cmpuint (count_of_domain (for_cpu), ==, 0);
  g_assert_cmpuint (count_of_domain (model), ==, n);
}

/* Operators of the domain, and of those that ai.onnx had on trial, without a file. */
static void
test_all_there (void)
{
  /* Their weights are sparse, which the text has no word for; or ONNX Runtime has no like of them. */
  static const char *const left_out[] = { "SparseToDenseMatMul", NULL };

  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      gboolean on_trial = op->domain == NULL && op->until > 0 && op->compose != NULL;
      if ((!on_trial && g_strcmp0 (op->domain, "com.microsoft") != 0) ||
          g_strv_contains (left_out, op->name))
        continue;
      g_autofree char *file = g_strconcat (op->name, ".onnxtxt", NULL);
      g_autofree char *path = g_test_build_filename (G_TEST_DIST, "contrib", file, NULL);
      if (!g_file_test (path, G_FILE_TEST_EXISTS))
        g_error ("%s has no case of ONNX Runtime's: add it to tests/oracle/contrib-onnxruntime.py",
                 op->name);
    }
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  const char *name;

  g_test_init (&argc, &argv, NULL);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "contrib", NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, &error);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_assert_no_error (error);
  while ((name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (name));
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *test = g_strdup_printf ("/contrib/%s gives what ONNX Runtime gives",
                                               (char *) names->pdata[i]);
      g_test_add_data_func (test, names->pdata[i], test_file);
    }
  static const char *const written[] = {
    "FusedConv", "FusedGemm", "FusedMatMul",        "BiasGelu",   "FastGelu",
    "QuickGelu", "Attention", "MultiHeadAttention", "QAttention", "SkipLayerNormalization"
  };
  for (guint i = 0; i < G_N_ELEMENTS (written); i++)
    {
      g_autofree char *test = g_strdup_printf ("/contrib/cpu runs what %s is made of", written[i]);
      g_test_add_data_func_full (test, g_strconcat (written[i], ".onnxtxt", NULL),
                                 test_put_in_place, g_free);
    }
  g_test_add_func ("/contrib/each operator has its cases", test_all_there);
  return g_test_run ();
}
