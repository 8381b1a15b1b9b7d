/* Folders of inputs and wanted outputs: see data-set.h. */
#include "config.h"

#include "core/exec/eval/data-set.h"

#include "core/exec/eval/conformance.h"
#include "core/io/io.h"

#include <string.h>

#define PREFIX   "test_data_set_"
#define MAX_SETS 1000

/**
 * ir_data_set_list:
 * @model_path: file of a model
 *
 * Returns: (transfer full): the folders test_data_set_N beside it, by their number
 */
GStrv
ir_data_set_list (const char *model_path)
{
  g_autofree char *dir = g_path_get_dirname (model_path);
  g_autoptr (GStrvBuilder) found = g_strv_builder_new ();

  for (guint i = 0; i < MAX_SETS; i++)
    {
      g_autofree char *name = g_strdup_printf (PREFIX "%u", i);
      g_autofree char *path = g_build_filename (dir, name, NULL);

      if (!g_file_test (path, G_FILE_TEST_IS_DIR))
        break;
      g_strv_builder_add (found, path);
    }
  return g_strv_builder_end (found);
}

/* (transfer full) */
static char *
path_of (const char *dir, const char *kind, guint index)
{
  g_autofree char *name = g_strdup_printf ("%s_%u.pb", kind, index);

  return g_build_filename (dir, name, NULL);
}

/* (nullable) without @error: there is no such file */
static IrTensor *
load (const char *path, const IrValue *value, GError **error)
{
  return g_file_test (path, G_FILE_TEST_EXISTS)
             ? ir_value_load (path, ir_value_shown_type (value), error)
             : NULL;
}

/**
 * ir_data_set_free:
 * @set: a set
 */
void
ir_data_set_free (IrDataSet *set)
{
  g_hash_table_unref (set->inputs);
  g_hash_table_unref (set->files);
  g_hash_table_unref (set->wanted);
  g_free (set);
}

/**
 * ir_data_set_load:
 * @model: the model that it belongs to
 * @dir: a folder with input_N.pb and output_N.pb
 * @error: return location for an error
 *
 * Inputs and outputs without a file are left out.
 *
 * Fails with %IR_EXEC_ERROR_INPUT where there is no file for any input, and as ir_value_load().
 *
 * Returns: (transfer full) (nullable): the set
 */
IrDataSet *
ir_data_set_load (IrModel *model, const char *dir, GError **error)
{
  g_autoptr (IrDataSet) set = g_new0 (IrDataSet, 1);
  guint n_needed = 0;
  GError *local = NULL;

  set->inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  set->files = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  set->wanted = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                       (GDestroyNotify) ir_tensor_unref);
  for (guint i = 0; i < ir_graph_n_inputs (model->main) && local == NULL; i++)
    {
      const IrValue *value = ir_graph_input (model->main, i);
      g_autofree char *path = NULL;
      IrTensor *tensor;

      if (value == NULL || value->initializer != NULL)
        continue;
      path = path_of (dir, "input", n_needed++);
      tensor = load (path, value, &local);
      if (tensor == NULL)
        continue;
      g_hash_table_insert (set->inputs, GUINT_TO_POINTER (value->id), tensor);
      g_hash_table_insert (set->files, GUINT_TO_POINTER (value->id), g_steal_pointer (&path));
    }
  for (guint i = 0; i < ir_graph_n_outputs (model->main) && local == NULL; i++)
    {
      const IrValue *value = ir_graph_output (model->main, i);
      g_autofree char *path = path_of (dir, "output", i);
      IrTensor *tensor = value != NULL ? load (path, value, &local) : NULL;

      if (tensor != NULL)
        g_hash_table_insert (set->wanted, g_strdup (value->name), tensor);
    }
  if (local == NULL && n_needed > 0 && g_hash_table_size (set->inputs) == 0)
    local = g_error_new (IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                         "%s: has no input_0.pb; a data set is a folder with input_N.pb and "
                         "output_N.pb",
                         dir);
  if (local == NULL)
    return g_steal_pointer (&set);
  g_propagate_error (error, local);
  return NULL;
}

/**
 * ir_data_set_difference:
 * @set: a set
 * @output: an output of the graph
 * @actual: (nullable): what it is; %NULL: it was not computed
 *
 * Returns: (transfer full) (nullable): what differs, in words; %NULL: nothing, or it is not in @set
 */
char *
ir_data_set_difference (const IrDataSet *set, const IrValue *output, const IrTensor *actual)
{
  const IrTensor *wanted = g_hash_table_lookup (set->wanted, output->name);
  const IrOp *op = output->producer != NULL ? output->producer->op : NULL;

  if (wanted == NULL)
    return NULL;
  if (actual == NULL)
    return g_strdup ("was not computed");
  return ir_tensor_difference (output->graph->model->context, actual, wanted,
                               MAX (IR_CONFORMANCE_RTOL, op != NULL ? op->tol.rtol : 0),
                               MAX (IR_CONFORMANCE_ATOL, op != NULL ? op->tol.atol : 0));
}
