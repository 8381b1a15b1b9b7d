/* Cases of the ONNX backend tests: see conformance.h. */
#include "config.h"

#include "core/exec/eval/conformance.h"

#include "core/exec/kernel/backend.h"
#include "core/io/io.h"
#include "core/ir/edit.h"
#include <math.h>

/**
 * ir_case_status_name:
 * @status: a status
 *
 * Returns: (transfer none): "passed", "failed" or "unsupported"
 */
const char *
ir_case_status_name (IrCaseStatus status)
{
  static const char *const names[IR_N_CASE_STATUSES] = { "passed", "failed", "unsupported" };

  g_return_val_if_fail (status < IR_N_CASE_STATUSES, "");
  return names[status];
}

static gboolean
same_number (double actual, double wanted, double rtol, double atol)
{
  if (isnan (actual) || isnan (wanted))
    return isnan (actual) && isnan (wanted);
  if (isinf (actual) || isinf (wanted))
    return actual == wanted;
  return fabs (actual - wanted) <= atol + rtol * fabs (wanted);
}

static char *
string_difference (const IrTensor *actual, const IrTensor *wanted, guint64 i)
{
  GBytes *a = ir_tensor_string (actual, i), *w = ir_tensor_string (wanted, i);

  if (g_bytes_equal (a, w))
    return NULL;
  return g_strdup_printf ("string %" G_GUINT64_FORMAT " is %.*s, not %.*s", i,
                          (int) g_bytes_get_size (a), (const char *) g_bytes_get_data (a, NULL),
                          (int) g_bytes_get_size (w), (const char *) g_bytes_get_data (w, NULL));
}

static char *
number_difference (
    const IrTensor *actual, const IrTensor *wanted, guint64 i, double rtol, double atol)
{
  double a = ir_tensor_get_double (actual, i), w = ir_tensor_get_double (wanted, i);

  if (same_number (a, w, rtol, atol))
    return NULL;
  return g_strdup_printf ("element %" G_GUINT64_FORMAT " is %.9g, not %.9g", i, a, w);
}

typedef struct
{
  IrContext *context;
  double rtol, atol;
} Rule;

static char *value_difference (const Rule *rule, const IrTensor *actual, const IrTensor *wanted);

static char *
tensor_difference (const Rule *rule, const IrTensor *actual, const IrTensor *wanted)
{
  const IrType *a = ir_tensor_type (actual, rule->context);
  const IrType *w = ir_tensor_type (wanted, rule->context);
  char *difference = NULL;

  if (a != w)
    {
      g_autofree char *found = ir_type_to_string (rule->context, a);
      g_autofree char *needed = ir_type_to_string (rule->context, w);
      return g_strdup_printf ("is %s, not %s", found, needed);
    }
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted) && difference == NULL; i++)
    difference = ir_tensor_dtype (wanted) == IR_DTYPE_STRING
                     ? string_difference (actual, wanted, i)
                     : number_difference (actual, wanted, i, rule->rtol, rule->atol);
  return difference;
}

static char *
items_difference (const Rule *rule, const IrTensor *actual, const IrTensor *wanted)
{
  guint n = ir_tensor_n_items (wanted);
  char *difference = NULL;

  if (ir_tensor_n_items (actual) != n)
    return g_strdup_printf ("has %u items, not %u", ir_tensor_n_items (actual), n);
  for (guint i = 0; i < n && difference == NULL; i++)
    {
      g_autofree char *inner = value_difference (rule, ir_tensor_item (actual, i),
                                                 ir_tensor_item (wanted, i));
      if (inner != NULL)
        difference = g_strdup_printf ("item %u %s", i, inner);
    }
  return difference;
}

/* The value of entry @index, whichever way the map holds its values. (transfer full) */
static IrTensor *
map_value (const IrTensor *map, guint index)
{
  const IrTensor *values = ir_tensor_item (map, 1);

  return ir_tensor_is_container (values) ? ir_tensor_ref (ir_tensor_item (values, index))
                                         : ir_tensor_entry (values, index);
}

/* The entry of @map whose key is that of entry @index of @other; -1 if there is none. */
static gint64
find_key (const IrTensor *map, const IrTensor *other, guint index)
{
  const IrTensor *keys = ir_tensor_item (map, 0);
  g_autoptr (IrTensor) key = ir_tensor_entry (ir_tensor_item (other, 0), index);

  for (guint64 i = 0; i < ir_tensor_n_elements (keys); i++)
    {
      g_autoptr (IrTensor) candidate = ir_tensor_entry (keys, i);
      if (ir_tensor_equal (candidate, key))
        return (gint64) i;
    }
  return -1;
}

/* The order of the entries does not matter. */
static char *
map_difference (const Rule *rule, const IrTensor *actual, const IrTensor *wanted)
{
  guint64 n = ir_tensor_n_elements (ir_tensor_item (wanted, 0));
  guint64 found = ir_tensor_n_elements (ir_tensor_item (actual, 0));

  if (found != n)
    return g_strdup_printf ("has %" G_GUINT64_FORMAT " entries, not %" G_GUINT64_FORMAT, found, n);
  for (guint i = 0; i < n; i++)
    {
      gint64 at = find_key (actual, wanted, i);
      g_autoptr (IrTensor) key = ir_tensor_entry (ir_tensor_item (wanted, 0), i);
      g_autofree char *name = ir_tensor_to_string (key, 1);
      if (at < 0)
        return g_strdup_printf ("has no entry %s", name);
      g_autoptr (IrTensor) a = map_value (actual, (guint) at);
      g_autoptr (IrTensor) w = map_value (wanted, i);
      g_autofree char *inner = value_difference (rule, a, w);
      if (inner != NULL)
        return g_strdup_printf ("entry %s %s", name, inner);
    }
  return NULL;
}

static char *
value_difference (const Rule *rule, const IrTensor *actual, const IrTensor *wanted)
{
  const IrType *a = ir_tensor_type (actual, rule->context);
  const IrType *w = ir_tensor_type (wanted, rule->context);

  if (!ir_tensor_is_container (actual) || !ir_tensor_is_container (wanted) || a->kind != w->kind ||
      (ir_tensor_n_items (wanted) == 0 && ir_type_merge (rule->context, a, w) == NULL))
    return tensor_difference (rule, actual, wanted);
  return a->kind == IR_TYPE_MAP ? map_difference (rule, actual, wanted)
                                : items_difference (rule, actual, wanted);
}

/**
 * ir_tensor_difference:
 * @context: the context of the types
 * @actual: a dense tensor, a sequence, an optional or a map
 * @wanted: what it should be
 * @rtol: relative tolerance
 * @atol: absolute tolerance
 *
 * Compares shape, element type and elements: |actual - wanted| <= atol + rtol · |wanted|, NaN equal
 * to NaN, infinities and strings exactly. Sequences are compared item by item, optionals are equal
 * if both are empty, maps entry by entry in any order.
 *
 * Source: numpy.testing.assert_allclose, which the ONNX backend tests use.
 *
 * Returns: (transfer full) (nullable): the first difference in words; %NULL if there is none
 */
char *
ir_tensor_difference (
    IrContext *context, const IrTensor *actual, const IrTensor *wanted, double rtol, double atol)
{
  Rule rule = { context, rtol, atol };

  return value_difference (&rule, actual, wanted);
}

/* -- cases -- */

static const char *
unsupported_op (const IrModel *model, const IrBackend *backend)
{
  IrKernelFunc kernel;
  const IrBackend *chosen;
  const char *why;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = g_ptr_array_index (model->nodes, i);
      if (node != NULL && node->state == IR_STATE_LIVE && node->graph->kind != IR_GRAPH_FUNCTION &&
          !ir_backend_choose (backend, node, &kernel, &chosen, &why, NULL))
        return node->op_type;
    }
  return NULL;
}

static IrTensor *
load_value (
    const char *dir, guint set, const char *kind, guint index, const IrValue *value, GError **error)
{
  g_autofree char *path = g_strdup_printf ("%s/test_data_set_%u/%s_%u.pb", dir, set, kind, index);

  return ir_value_load (path, ir_value_shown_type (value), error);
}

/* Bits of one 16-bit type as elements of another. */
static IrTensor *
retype (const IrTensor *tensor, IrDtype dtype)
{
  return ir_tensor_new_copy (dtype, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                             ir_tensor_data (tensor));
}

/* Older cases store bfloat16 as uint16, because numpy has no such type: the model says what an
 * input is. */
static IrTensor *
as_declared (IrTensor *tensor, IrDtype dtype)
{
  if (tensor == NULL || ir_tensor_dtype (tensor) != IR_DTYPE_UINT16 || dtype != IR_DTYPE_BFLOAT16)
    return tensor;
  IrTensor *typed = retype (tensor, dtype);
  ir_tensor_unref (tensor);
  return typed;
}

/* The official runner compares arrays as they are stored: where the wanted output is bfloat16
 * stored as uint16, the bits of ours are compared as such numbers. Those cases were made by cutting
 * the lower half of a float off, so the last bit differs from rounding, within the tolerance. */
static const IrTensor *
as_stored (const IrTensor *actual, const IrTensor *wanted, IrTensor **owned)
{
  if (ir_tensor_dtype (wanted) != IR_DTYPE_UINT16 || ir_tensor_dtype (actual) != IR_DTYPE_BFLOAT16)
    return actual;
  *owned = retype (actual, IR_DTYPE_UINT16);
  return *owned;
}

/* The official runner hands arrays over without a look at the declared shapes, and some cases have
 * others: those of the CastLike operators declare the target as large as the input and give one
 * element. What is given counts, so a declaration that contradicts it is replaced. */
static void
redeclare (IrModel *model, IrValue *value, const IrTensor *tensor)
{
  const IrType *given = ir_tensor_type (tensor, model->context);

  if (value->type == NULL || ir_tensor_dtype (tensor) != ir_value_dtype (value) ||
      ir_type_merge (model->context, value->type, given) != NULL)
    return;
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_edit_set_type (edit, value, given);
}

static GHashTable *
load_inputs (IrModel *model, const char *dir, guint set, GError **error)
{
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0, file = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      IrValue *value = ir_graph_input (model->main, i);
      if (value->initializer != NULL)
        continue;
      IrTensor *tensor = as_declared (load_value (dir, set, "input", file++, value, error),
                                      ir_value_dtype (value));
      if (tensor == NULL)
        return NULL;
      redeclare (model, value, tensor);
      g_hash_table_insert (inputs, GUINT_TO_POINTER (value->id), tensor);
    }
  return g_steal_pointer (&inputs);
}

/* An optional that holds something may be given as what it holds. */
static gboolean
agrees (IrContext *context, const IrType *inferred, const IrType *actual)
{
  if (inferred->kind == IR_TYPE_OPTIONAL && actual->kind != IR_TYPE_OPTIONAL)
    inferred = inferred->element;
  return inferred == NULL || ir_type_merge (context, inferred, actual) != NULL;
}

/* What inference said against what was computed; every value, not only the outputs. */
static char *
inference_difference (const IrModel *model, const IrRun *run)
{
  for (IrValueId id = 1; id < run->n_values; id++)
    {
      const IrTensor *tensor = ir_run_value (run, id);
      const IrValue *value = tensor != NULL ? ir_model_value (model, id) : NULL;
      if (value == NULL)
        continue;
      const IrType *actual = ir_tensor_type (tensor, model->context);
      if (value->type == NULL || agrees (model->context, value->type, actual))
        continue;
      g_autofree char *inferred = ir_type_to_string (model->context, value->type);
      g_autofree char *found = ir_type_to_string (model->context, actual);
      return g_strdup_printf ("%s was inferred as %s and is %s", value->name, inferred, found);
    }
  return NULL;
}

static char *
output_difference (const IrModel *model, const IrRun *run, const char *dir, guint set)
{
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      g_autoptr (GError) error = NULL;
      const IrValue *value = ir_graph_output (model->main, i);
      g_autoptr (IrTensor) wanted = load_value (dir, set, "output", i, value, &error);
      g_autoptr (IrTensor) retyped = NULL;
      const IrTensor *actual = ir_run_value (run, value->id);
      if (wanted == NULL)
        return g_strdup (error->message);
      if (actual == NULL)
        return g_strdup_printf ("there is no output %s", value->name);
      actual = as_stored (actual, wanted, &retyped);
      g_autofree char *difference = ir_tensor_difference (model->context, actual, wanted,
                                                          IR_CONFORMANCE_RTOL, IR_CONFORMANCE_ATOL);
      if (difference != NULL)
        return g_strdup_printf ("%s: %s", value->name, difference);
    }
  return NULL;
}

static IrCaseStatus
run_set (IrModel *model,
         const char *dir,
         guint set,
         const IrBackend *backend,
         char **why,
         IrCaseNodes *nodes)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = load_inputs (model, dir, set, &error);
  IrRunOptions options = { .backend = backend, .n_threads = 1, .capture = IR_CAPTURE_ALL };

  if (inputs == NULL)
    {
      *why = g_strdup_printf ("an input cannot be read: %s", error->message);
      return IR_CASE_UNSUPPORTED;
    }
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  if (run == NULL)
    {
      *why = g_strdup (error->message);
      return g_error_matches (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED) ? IR_CASE_UNSUPPORTED
                                                                               : IR_CASE_FAILED;
    }
  *nodes = (IrCaseNodes){ run->n_own, run->n_fallback, run->n_control };
  *why = output_difference (model, run, dir, set);
  if (*why == NULL)
    *why = inference_difference (model, run);
  return *why == NULL ? IR_CASE_PASSED : IR_CASE_FAILED;
}

static gboolean
has_set (const char *dir, guint set)
{
  g_autofree char *path = g_strdup_printf ("%s/test_data_set_%u", dir, set);

  return g_file_test (path, G_FILE_TEST_IS_DIR);
}

/**
 * ir_case_run:
 * @dir: a folder with model.onnx and test_data_set_0 …
 * @backend: what to run it on; where it falls back, the reference kernels are used
 * @why: (out) (transfer full) (nullable): the reason, unless it passed
 * @nodes: (out) (optional): who executed the nodes of the last data set that ran
 *
 * Runs all data sets of a case, up to the first that does not pass. A value whose type contradicts
 * what inference said makes a case fail, too.
 *
 * Returns: passed, failed, or unsupported: an operator without a kernel, or an input that
 *   cannot be read
 */
IrCaseStatus
ir_case_run (const char *dir, const IrBackend *backend, char **why, IrCaseNodes *nodes)
{
  IrCaseNodes counted = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (dir, "model.onnx", NULL);
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);

  *why = NULL;
  if (model == NULL)
    {
      *why = g_strdup (error->message);
      return IR_CASE_FAILED;
    }
  const char *op = unsupported_op (model, backend);
  if (op != NULL)
    {
      *why = g_strdup_printf ("no kernel for %s", op);
      return IR_CASE_UNSUPPORTED;
    }
  if (!has_set (dir, 0))
    {
      *why = g_strdup ("there is no test_data_set_0");
      return IR_CASE_UNSUPPORTED;
    }
  IrCaseStatus status = IR_CASE_PASSED;
  for (guint set = 0; status == IR_CASE_PASSED && has_set (dir, set); set++)
    status = run_set (model, dir, set, backend, why, &counted);
  if (nodes != NULL)
    *nodes = counted;
  return status;
}
