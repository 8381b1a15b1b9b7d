/* The ONNX backend cases (Debian: libonnx-testdata) against the reference kernels: shape, type and
 * |a - b| <= 1e-7 + 1e-3 |b|, the rule of the standard's own runner. Every type that inference gave
 * is compared with what came out. A floor on the count keeps it from getting worse.
 *
 * With arguments like node/test_add: runs these cases and says what went wrong. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/io/io.h"
#include "core/op/infer.h"
#include <math.h>
#include <string.h>

#define DATA_DIR "/usr/share/libonnx-testdata/data"
/* Cases that passed when this was last raised. */
#define FLOOR_PASSED 814

static const char *const sets[] = { "node", "pytorch-converted", "pytorch-operator", "simple" };

/* Cases whose data contradict the standard or themselves. */
static const struct
{
  const char *name, *reason;
} wrong_data[] = {
  { "test_cast_FLOAT_to_BFLOAT16", "the data were cut off, not rounded to the nearest" },
  { "test_castlike_BFLOAT16_to_FLOAT", "input like is declared [3,4] and given [1]" },
  { "test_castlike_BFLOAT16_to_FLOAT_expanded", "input like is declared [3,4] and given [1]" },
  { "test_castlike_FLOAT_to_BFLOAT16", "input like is declared [3,4] and given [1]" },
  { "test_castlike_FLOAT_to_BFLOAT16_expanded", "input like is declared [3,4] and given [1]" },
};

typedef enum
{
  PASSED,
  FAILED,
  UNSUPPORTED,
  N_STATUS
} Status;

static gboolean
same_number (double actual, double wanted)
{
  if (isnan (actual) || isnan (wanted))
    return isnan (actual) && isnan (wanted);
  if (isinf (actual) || isinf (wanted))
    return actual == wanted;
  return fabs (actual - wanted) <= 1e-7 + 1e-3 * fabs (wanted);
}

/* (transfer full) (nullable): what differs */
static char *
compare (IrContext *context, const IrTensor *actual, const IrTensor *wanted)
{
  const IrType *a = ir_tensor_type (actual, context), *w = ir_tensor_type (wanted, context);
  if (a != w)
    {
      g_autofree char *found = ir_type_to_string (context, a);
      g_autofree char *needed = ir_type_to_string (context, w);
      return g_strdup_printf ("is %s, not %s", found, needed);
    }
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    if (ir_tensor_dtype (wanted) == IR_DTYPE_STRING)
      {
        if (!g_bytes_equal (ir_tensor_string (actual, i), ir_tensor_string (wanted, i)))
          return g_strdup_printf (
              "string %" G_GUINT64_FORMAT " is %.*s, not %.*s", i,
              (int) g_bytes_get_size (ir_tensor_string (actual, i)),
              (const char *) g_bytes_get_data (ir_tensor_string (actual, i), NULL),
              (int) g_bytes_get_size (ir_tensor_string (wanted, i)),
              (const char *) g_bytes_get_data (ir_tensor_string (wanted, i), NULL));
      }
    else if (!same_number (ir_tensor_get_double (actual, i), ir_tensor_get_double (wanted, i)))
      return g_strdup_printf ("element %" G_GUINT64_FORMAT " is %.9g, not %.9g", i,
                              ir_tensor_get_double (actual, i), ir_tensor_get_double (wanted, i));
  return NULL;
}

static const char *
unsupported_op (const IrModel *model, const IrBackend *ref)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = g_ptr_array_index (model->nodes, i);
      if (node == NULL || node->state != IR_STATE_LIVE)
        continue;
      if (node->op == NULL || ref->refuses (node) != NULL)
        return node->op_type;
    }
  return NULL;
}

static IrTensor *
load_value (const char *dir, const char *kind, guint index, GError **error)
{
  g_autofree char *path = g_strdup_printf ("%s/test_data_set_0/%s_%u.pb", dir, kind, index);
  return ir_tensor_load (path, error);
}

/* The cases store bfloat16 as uint16, because numpy has no such type: the model says what it is. */
static IrTensor *
as_declared (IrTensor *tensor, IrDtype dtype)
{
  if (tensor == NULL || ir_tensor_dtype (tensor) != IR_DTYPE_UINT16 || dtype != IR_DTYPE_BFLOAT16)
    return tensor;
  IrTensor *typed = ir_tensor_new_copy (dtype, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                                        ir_tensor_data (tensor));
  ir_tensor_unref (tensor);
  return typed;
}

static GHashTable *
load_inputs (IrModel *model, const char *dir, GError **error)
{
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  for (guint i = 0, file = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      const IrValue *value = ir_graph_input (model->main, i);
      if (value->initializer != NULL)
        continue;
      IrTensor *tensor = as_declared (load_value (dir, "input", file++, error),
                                      ir_value_dtype (value));
      if (tensor == NULL)
        return NULL;
      g_hash_table_insert (inputs, GUINT_TO_POINTER (value->id), tensor);
    }
  return g_steal_pointer (&inputs);
}

/* The file's inference against what was computed. */
static char *
check_inference (const IrModel *model, const IrRun *run)
{
  GHashTableIter iter;
  gpointer id, tensor;
  g_hash_table_iter_init (&iter, run->values);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      const IrValue *value = ir_model_value (model, GPOINTER_TO_UINT (id));
      const IrType *actual = ir_tensor_type (tensor, model->context);
      if (value == NULL || value->type == NULL ||
          ir_type_merge (model->context, value->type, actual) != NULL)
        continue;
      g_autofree char *inferred = ir_type_to_string (model->context, value->type);
      g_autofree char *found = ir_type_to_string (model->context, actual);
      return g_strdup_printf ("%s was inferred as %s and is %s", value->name, inferred, found);
    }
  return NULL;
}

static Status
run_case (const char *dir, char **why)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (dir, "model.onnx", NULL);
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);
  const IrBackend *ref = ir_backend_find ("ref");
  *why = NULL;
  if (model == NULL)
    {
      *why = g_strdup (error->message);
      return FAILED;
    }
  const char *op = unsupported_op (model, ref);
  if (op != NULL)
    {
      *why = g_strdup (op);
      return UNSUPPORTED;
    }
  g_autoptr (GHashTable) inputs = load_inputs (model, dir, &error);
  if (inputs == NULL)
    {
      *why = g_strdup_printf ("input that is no tensor: %s", error->message);
      return UNSUPPORTED;
    }
  IrRunOptions options = { .backend = ref, .n_threads = 1, .capture = IR_CAPTURE_ALL };
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  if (run == NULL)
    {
      *why = g_strdup (error->message);
      return g_error_matches (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED) ? UNSUPPORTED
                                                                               : FAILED;
    }
  for (guint i = 0; i < ir_graph_n_outputs (model->main) && *why == NULL; i++)
    {
      const IrValue *value = ir_graph_output (model->main, i);
      g_autoptr (IrTensor)
          wanted = as_declared (load_value (dir, "output", i, &error), ir_value_dtype (value));
      const IrTensor *actual = ir_run_value (run, value->id);
      if (wanted == NULL)
        *why = g_strdup (error->message);
      else if (actual == NULL)
        *why = g_strdup_printf ("no output %s", value->name);
      else
        *why = compare (model->context, actual, wanted);
    }
  if (*why == NULL)
    *why = check_inference (model, run);
  return *why == NULL ? PASSED : FAILED;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static gboolean
has_wrong_data (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (wrong_data); i++)
    if (g_str_equal (wrong_data[i].name, name))
      return TRUE;
  return FALSE;
}

static void
run_set (const char *set, guint counts[N_STATUS])
{
  g_autofree char *folder = g_build_filename (DATA_DIR, set, NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *entry;
  while (dir != NULL && (entry = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (entry));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    {
      const char *name = g_ptr_array_index (names, i);
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_autofree char *why = NULL;
      if (has_wrong_data (name))
        continue;
      Status status = run_case (path, &why);
      counts[status]++;
      if (status == FAILED)
        g_test_message ("%s: %s", name, why);
      else if (status == UNSUPPORTED && g_test_verbose ())
        g_test_message ("%s: no kernel for %s", name, why);
    }
}

static void
test_cases (void)
{
  guint counts[N_STATUS] = { 0 };
  if (!g_file_test (DATA_DIR, G_FILE_TEST_IS_DIR))
    {
      g_test_skip ("the ONNX cases are not installed (Debian: libonnx-testdata)");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (sets); i++)
    run_set (sets[i], counts);
  g_test_message ("%u passed, %u failed, %u unsupported", counts[PASSED], counts[FAILED],
                  counts[UNSUPPORTED]);
  g_assert_cmpuint (counts[PASSED], >=, FLOOR_PASSED);
  g_assert_cmpuint (counts[FAILED], ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (int i = 1; i < argc; i++)
    {
      g_autofree char *path = g_build_filename (DATA_DIR, argv[i], NULL);
      g_autofree char *why = NULL;
      Status status = run_case (path, &why);
      g_print ("%s: %s %s\n", argv[i],
               status == PASSED   ? "passed"
               : status == FAILED ? "failed"
                                  : "unsupported",
               why != NULL ? why : "");
    }
  if (argc > 1)
    return 0;
  g_test_add_func ("/table/reference kernels pass the ONNX cases", test_cases);
  return g_test_run ();
}
