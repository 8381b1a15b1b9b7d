/* Derivatives against differences: the model in double on reference kernels, moved along each element
 * of what is small, and along random directions and the element with the largest derivative of what
 * is not. Where the two differ the step is made smaller, since a kink may lie within it; where the
 * slopes on both sides stay different, and the derivative is one of them or between, it is at a kink.
 *
 * Sources: torch.autograd.gradcheck (central differences in double, atol + rtol |numeric|); Griewank
 * and Walther, Evaluating Derivatives, on the choice of directions. */
#include "config.h"

#include "passes/proof/gradcheck.h"

#include "core/exec/check/difference.h"
#include "core/op/infer.h"
#include "passes/pipeline/pipeline.h"
#include "passes/rewrites/gradient.h"

#include <math.h>
#include <string.h>

#define FEW     8    /* elements that are all tried */
#define SMALLER 1e-2 /* of a step within which there may be a kink */

typedef struct
{
  const IrGradcheckOptions *options;
  IrModel *forward, *backward;
  IrExecutable *runs; /* of @forward */
  GHashTable *inputs; /* value id -> IrTensor */
  IrValueId of;
  GRand *rand;
  GArray *items;
  double at; /* the function where the inputs are */
} Check;

static void
clear_item (gpointer data)
{
  g_free (((IrGradcheckItem *) data)->input);
}

static void
check_clear (Check *check)
{
  g_clear_pointer (&check->runs, ir_executable_free);
  g_clear_pointer (&check->forward, ir_model_unref);
  g_clear_pointer (&check->backward, ir_model_unref);
  g_clear_pointer (&check->inputs, g_hash_table_unref);
  g_clear_pointer (&check->rand, g_rand_free);
  g_clear_pointer (&check->items, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Check, check_clear)

/* -- the function -- */

static IrRunOptions
run_options (const Check *check)
{
  IrRunOptions options = { .backend = ir_backend_find ("ref") };

  ir_run_options_limit (&options, &check->options->limits);
  return options;
}

static double
sum_of (const IrTensor *tensor)
{
  double sum = 0;

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    sum += ir_tensor_get_double (tensor, i);
  return sum;
}

/* With @value's contents moved by @step along @direction. FALSE if it cannot run. */
static gboolean
evaluate (const Check *check,
          const IrValue *value,
          const double *direction,
          double step,
          double *result,
          GError **error)
{
  IrTensor *here = g_hash_table_lookup (check->inputs, GUINT_TO_POINTER (value->id));
  g_autoptr (IrTensor) before = ir_tensor_ref (here);
  g_autoptr (IrTensor) moved = ir_tensor_new_copy (IR_DTYPE_DOUBLE, ir_tensor_rank (here),
                                                   ir_tensor_dims (here), ir_tensor_data (here));
  double *numbers = ir_tensor_data_writable (moved);

  for (guint64 i = 0; i < ir_tensor_n_elements (moved); i++)
    numbers[i] += step * direction[i];
  g_hash_table_replace (check->inputs, GUINT_TO_POINTER (value->id), ir_tensor_ref (moved));
  g_autoptr (IrRun) run = ir_executable_run (check->runs, check->inputs,
                                             check->options->cancellable, NULL, error);
  g_hash_table_replace (check->inputs, GUINT_TO_POINTER (value->id), ir_tensor_ref (before));
  if (run != NULL)
    *result = sum_of (ir_run_value (run, check->of));
  return run != NULL;
}

/* -- one direction -- */

static gboolean
agrees (const Check *check, double analytic, double numeric)
{
  return fabs (analytic - numeric) <= check->options->atol + check->options->rtol * fabs (numeric);
}

static gboolean
is_kink (const Check *check, const IrGradcheckItem *item)
{
  double low = MIN (item->left, item->right), high = MAX (item->left, item->right);
  double margin = check->options->atol + check->options->rtol * MAX (fabs (low), fabs (high));

  return high - low > margin && item->analytic >= low - margin && item->analytic <= high + margin;
}

static gboolean
try_direction (Check *check,
               const IrValue *value,
               const double *direction,
               gint64 index,
               double analytic,
               GError **error)
{
  IrGradcheckItem item = { .input = g_strdup (value->name), .index = index, .analytic = analytic };

  for (double step = check->options->eps; step >= check->options->eps * SMALLER; step *= SMALLER)
    {
      double before, behind;
      if (!evaluate (check, value, direction, -step, &before, error) ||
          !evaluate (check, value, direction, step, &behind, error))
        return clear_item (&item), FALSE;
      item.numeric = (behind - before) / (2 * step);
      item.left = (check->at - before) / step;
      item.right = (behind - check->at) / step;
      if (agrees (check, analytic, item.numeric))
        break;
    }
  item.verdict = agrees (check, analytic, item.numeric) ? IR_GRADCHECK_PASSED
                 : is_kink (check, &item)               ? IR_GRADCHECK_KINK
                                                        : IR_GRADCHECK_FAILED;
  g_array_append_val (check->items, item);
  return TRUE;
}

static gboolean
try_element (Check *check,
             const IrValue *value,
             const IrTensor *gradient,
             guint64 index,
             double *direction,
             GError **error)
{
  memset (direction, 0, ir_tensor_n_elements (gradient) * sizeof *direction);
  direction[index] = 1;
  return try_direction (check, value, direction, (gint64) index,
                        ir_tensor_get_double (gradient, index), error);
}

static gboolean
try_random (
    Check *check, const IrValue *value, const IrTensor *gradient, double *direction, GError **error)
{
  guint64 n = ir_tensor_n_elements (gradient);
  double length = 0, along = 0;

  for (guint64 i = 0; i < n; i++)
    {
      direction[i] = g_rand_double_range (check->rand, -1, 1);
      length += direction[i] * direction[i];
    }
  for (guint64 i = 0; i < n; i++)
    {
      direction[i] /= sqrt (length);
      along += direction[i] * ir_tensor_get_double (gradient, i);
    }
  return try_direction (check, value, direction, -1, along, error);
}

static guint64
largest_of (const IrTensor *gradient)
{
  guint64 best = 0;

  for (guint64 i = 1; i < ir_tensor_n_elements (gradient); i++)
    if (fabs (ir_tensor_get_double (gradient, i)) > fabs (ir_tensor_get_double (gradient, best)))
      best = i;
  return best;
}

static gboolean
try_value (Check *check, const IrValue *value, const IrTensor *gradient, GError **error)
{
  guint64 n = ir_tensor_n_elements (gradient);
  g_autofree double *direction = g_new0 (double, MAX (n, 1));

  if (n == 0)
    return TRUE;
  for (guint64 i = 0; n <= FEW && i < n; i++)
    if (!try_element (check, value, gradient, i, direction, error))
      return FALSE;
  if (n <= FEW)
    return TRUE;
  for (guint i = 0; i < check->options->n_directions; i++)
    if (!try_random (check, value, gradient, direction, error))
      return FALSE;
  return try_element (check, value, gradient, largest_of (gradient), direction, error);
}

/* -- the models -- */

#define fail(error, ...) ir_pass_refuse (error, "gradcheck", __VA_ARGS__)

/* What is moved becomes an input, with the contents of the parameter. */
static gboolean
open_values (Check *check, GPtrArray *by, GError **error)
{
  IrGraph *graph = check->forward->main;
  g_autoptr (IrEdit) edit = ir_edit_new_import (check->forward);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    g_ptr_array_add (inputs, ir_graph_input (graph, i));
  for (guint i = 0; i < by->len; i++)
    {
      IrValue *value = by->pdata[i];
      if (value->producer != NULL)
        return fail (error, "%s is computed; inputs and parameters can be moved", value->name);
      if (value->initializer == NULL)
        continue;
      g_hash_table_replace (check->inputs, GUINT_TO_POINTER (value->id),
                            ir_tensor_ref (value->initializer));
      ir_edit_set_initializer (edit, value, NULL);
      if (!ir_graph_has_input (graph, value))
        g_ptr_array_add (inputs, value);
    }
  ir_edit_set_graph_inputs (edit, graph, (IrValue *const *) inputs->pdata, inputs->len);
  return TRUE;
}

static gboolean
derive (Check *check, const IrValue *of, const GPtrArray *by, GError **error)
{
  const char *const names[] = { "gradient", NULL };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);
  g_autofree char *name = g_strdup_printf ("gradient.of=%s", of->name);
  g_autoptr (GString) wrt = g_string_new ("gradient.wrt=");

  for (guint i = 0; i < by->len; i++)
    g_string_append_printf (wrt, "%s%s", i > 0 ? "," : "", ((const IrValue *) by->pdata[i])->name);
  check->backward = ir_model_clone (check->forward);
  return pipeline != NULL && ir_pipeline_set (pipeline, name, error) &&
         ir_pipeline_set (pipeline, wrt->str, error) &&
         ir_pipeline_run (check->backward, pipeline, NULL, NULL, check->options->cancellable,
                          error);
}

/* Only what is derived is computed. */
static gboolean
prepare (Check *check, IrValue *of, GError **error)
{
  IrRunOptions options = run_options (check);
  IrEdit *edit = ir_edit_new_import (check->forward);

  ir_edit_set_graph_outputs (edit, check->forward->main, &of, 1);
  ir_edit_free (edit);
  check->of = of->id;
  check->runs = ir_executable_new (check->forward, &options, error);
  return check->runs != NULL;
}

static gboolean
check_all (Check *check, const GPtrArray *by, guint n_outputs, GError **error)
{
  IrRunOptions options = run_options (check);
  g_autoptr (IrRun) run = ir_model_run (check->backward, check->inputs, &options,
                                        check->options->cancellable, error);
  const IrGraph *graph = check->backward->main;

  if (run == NULL)
    return FALSE;
  g_autoptr (IrRun) start = ir_executable_run (check->runs, check->inputs,
                                               check->options->cancellable, NULL, error);
  if (start == NULL)
    return FALSE;
  check->at = sum_of (ir_run_value (start, check->of));
  for (guint i = 0; i < by->len; i++)
    if (!try_value (check, by->pdata[i],
                    ir_run_value (run, ir_graph_output (graph, n_outputs + i)->id), error))
      return FALSE;
  return TRUE;
}

/**
 * ir_gradcheck:
 * @model: a model of opset 13 or newer
 * @inputs: value id -> #IrTensor for its inputs
 * @options: what is derived by what, steps and tolerances
 * @error: return location for an error
 *
 * Compares derivatives with differences, in double. Fails where @model cannot be derived or run, or
 * what it is derived by is computed.
 *
 * Returns: (transfer full) (nullable) (element-type IrGradcheckItem): what was compared
 */
GArray *
ir_gradcheck (IrModel *model, GHashTable *inputs, const IrGradcheckOptions *options, GError **error)
{
  g_auto (Check) check = { .options = options };
  GHashTableIter iter;
  gpointer id, tensor;

  check.forward = ir_model_widen (model);
  check.items = g_array_new (FALSE, TRUE, sizeof (IrGradcheckItem));
  g_array_set_clear_func (check.items, clear_item);
  check.rand = g_rand_new_with_seed ((guint32) options->seed);
  check.inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_insert (check.inputs, id, ir_tensor_widen (tensor));
  g_autoptr (GPtrArray) by = ir_gradient_wrt (check.forward, options->wrt, error);
  IrValue *of = by != NULL ? ir_gradient_of (check.forward, options->of, error) : NULL;
  guint n_outputs = ir_graph_n_outputs (check.forward->main);
  if (of == NULL || !open_values (&check, by, error) || !derive (&check, of, by, error) ||
      !prepare (&check, of, error) || !check_all (&check, by, n_outputs, error))
    return NULL;
  return g_steal_pointer (&check.items);
}
