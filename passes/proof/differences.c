/* The function that differences are taken of: a copy of the model in double (widen.c), whose moved
 * values are inputs, run on reference kernels. */
#include "config.h"

#include "passes/proof/differences.h"

#include "core/exec/check/difference.h"
#include "passes/pipeline/pipeline.h"
#include "passes/proof/gradcheck.h"
#include "passes/rewrites/gradient.h"

/**
 * ir_movable_clear:
 * @movable: a function that can be moved
 */
void
ir_movable_clear (IrMovable *movable)
{
  g_clear_pointer (&movable->runs, ir_executable_free);
  g_clear_pointer (&movable->model, ir_model_unref);
  g_clear_pointer (&movable->inputs, g_hash_table_unref);
  g_clear_pointer (&movable->by, g_ptr_array_unref);
}

/**
 * ir_tensor_sum:
 * @tensor: a tensor of numbers
 *
 * Returns: the sum of its elements, in order
 */
double
ir_tensor_sum (const IrTensor *tensor)
{
  double sum = 0;

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    sum += ir_tensor_get_double (tensor, i);
  return sum;
}

static IrRunOptions
run_options (const IrMovable *movable)
{
  IrRunOptions options = { .backend = ir_backend_find ("ref") };

  ir_run_options_limit (&options, &movable->limits);
  return options;
}

/* What is computed is no more, and has the contents that it has where the inputs are. */
static gboolean
cut_off (IrMovable *movable, IrEdit *edit, const IrRun *run, IrValue *value, GError **error)
{
  IrTensor *contents = run != NULL ? ir_run_value (run, value->id) : NULL;

  if (contents == NULL)
    return ir_pass_refuse (error, "differences",
                           movable->opens ? "%s has no contents"
                                          : "%s is computed; inputs and parameters can be moved",
                           value->name);
  g_hash_table_replace (movable->inputs, GUINT_TO_POINTER (value->id), ir_tensor_ref (contents));
  ir_edit_set_output (edit, value->producer, value->output_slot,
                      ir_edit_add_value (edit, value->graph, NULL, value->type));
  return TRUE;
}

/* What is moved becomes an input, with the contents of the parameter. */
static gboolean
open_values (IrMovable *movable, GError **error)
{
  IrGraph *graph = movable->model->main;
  g_autoptr (IrEdit) edit = ir_edit_new_import (movable->model);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  g_autoptr (IrRun) run = movable->opens ? ir_movable_run_all (movable, error) : NULL;

  if (movable->opens && run == NULL)
    return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    g_ptr_array_add (inputs, ir_graph_input (graph, i));
  for (guint i = 0; i < movable->by->len; i++)
    {
      IrValue *value = movable->by->pdata[i];
      if (value->producer != NULL && !cut_off (movable, edit, run, value, error))
        return FALSE;
      if (value->initializer != NULL)
        {
          g_hash_table_replace (movable->inputs, GUINT_TO_POINTER (value->id),
                                ir_tensor_ref (value->initializer));
          ir_edit_set_initializer (edit, value, NULL);
        }
      if (!ir_graph_has_input (graph, value))
        g_ptr_array_add (inputs, value);
    }
  ir_edit_set_graph_inputs (edit, graph, (IrValue *const *) inputs->pdata, inputs->len);
  return TRUE;
}

/* Only what is derived is computed. */
static gboolean
prepare (IrMovable *movable, GError **error)
{
  IrRunOptions options = run_options (movable);
  g_autoptr (IrModel) alone = ir_model_clone (movable->model);
  IrEdit *edit = ir_edit_new_import (alone);
  IrValue *of = ir_model_value (alone, movable->of->id);

  ir_edit_set_graph_outputs (edit, alone->main, &of, 1);
  ir_edit_free (edit);
  movable->runs = ir_executable_new (alone, &options, error);
  return movable->runs != NULL;
}

/**
 * ir_movable_init:
 * @movable: (out caller-allocates): limits and cancellable may be set
 * @model: a model of opset 13 or newer
 * @inputs: value id -> #IrTensor for its inputs
 * @of: as the option of the pass gradient
 * @wrt: likewise
 * @error: return location for an error
 *
 * Fails where there are no such values, or what it is derived by is computed.
 *
 * Returns: %TRUE if it can be moved
 */
gboolean
ir_movable_init (IrMovable *movable,
                 IrModel *model,
                 GHashTable *inputs,
                 const char *of,
                 const char *wrt,
                 GError **error)
{
  GHashTableIter iter;
  gpointer id, tensor;

  movable->model = ir_model_widen (model);
  movable->n_outputs = ir_graph_n_outputs (movable->model->main);
  movable->inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_insert (movable->inputs, id, ir_tensor_widen (tensor));
  movable->by = ir_gradient_wrt (movable->model, wrt, error);
  movable->of = movable->by != NULL ? ir_gradient_of (movable->model, of, error) : NULL;
  return movable->of != NULL && open_values (movable, error) && prepare (movable, error);
}

/**
 * ir_movable_at:
 * @movable: a function that can be moved
 * @value: (nullable): what is moved; %NULL: nothing
 * @direction: (nullable): per element of @value
 * @step: how far
 * @result: (out): the sum of what is derived, there
 * @error: return location for an error
 *
 * Returns: %TRUE if it could be run
 */
gboolean
ir_movable_at (const IrMovable *movable,
               const IrValue *value,
               const double *direction,
               double step,
               double *result,
               GError **error)
{
  gpointer id = GUINT_TO_POINTER (value != NULL ? value->id : 0);
  IrTensor *here = value != NULL ? g_hash_table_lookup (movable->inputs, id) : NULL;
  g_autoptr (IrTensor) before = here != NULL ? ir_tensor_ref (here) : NULL;

  if (here != NULL)
    {
      IrTensor *moved = ir_tensor_new_copy (IR_DTYPE_DOUBLE, ir_tensor_rank (here),
                                            ir_tensor_dims (here), ir_tensor_data (here));
      double *numbers = ir_tensor_data_writable (moved);
      for (guint64 i = 0; i < ir_tensor_n_elements (moved); i++)
        numbers[i] += step * direction[i];
      g_hash_table_replace (movable->inputs, id, moved);
    }
  g_autoptr (IrRun)
      run = ir_executable_run (movable->runs, movable->inputs, movable->cancellable, NULL, error);
  if (here != NULL)
    g_hash_table_replace (movable->inputs, id, ir_tensor_ref (before));
  if (run != NULL)
    *result = ir_tensor_sum (ir_run_value (run, movable->of->id));
  return run != NULL;
}

/**
 * ir_movable_run_all:
 * @movable: a function that can be moved
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): a run where the inputs are, with all values
 */
IrRun *
ir_movable_run_all (const IrMovable *movable, GError **error)
{
  IrRunOptions options = run_options (movable);

  options.capture = IR_CAPTURE_ALL;
  return ir_model_run (movable->model, movable->inputs, &options, movable->cancellable, error);
}

/**
 * ir_movable_derive:
 * @movable: a function that can be moved
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable) (element-type IrTensor): per value that it is derived by, in
 *   double, by the pass gradient
 */
GPtrArray *
ir_movable_derive (const IrMovable *movable, GError **error)
{
  const char *const names[] = { "gradient", NULL };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);
  g_autofree char *of = g_strdup_printf ("gradient.of=%s", movable->of->name);
  g_autoptr (GString) wrt = g_string_new ("gradient.wrt=");
  g_autoptr (IrModel) backward = ir_model_clone (movable->model);
  IrRunOptions options = run_options (movable);

  for (guint i = 0; i < movable->by->len; i++)
    g_string_append_printf (wrt, "%s%s", i > 0 ? "," : "",
                            ((const IrValue *) movable->by->pdata[i])->name);
  if (pipeline == NULL || !ir_pipeline_set (pipeline, of, error) ||
      !ir_pipeline_set (pipeline, wrt->str, error) ||
      !ir_pipeline_run (backward, pipeline, NULL, NULL, movable->cancellable, error))
    return NULL;
  g_autoptr (IrRun)
      run = ir_model_run (backward, movable->inputs, &options, movable->cancellable, error);
  if (run == NULL)
    return NULL;
  GPtrArray *gradients = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  for (guint i = 0; i < movable->by->len; i++)
    g_ptr_array_add (gradients,
                     ir_tensor_ref (ir_run_value (
                         run, ir_graph_output (backward->main, movable->n_outputs + i)->id)));
  return gradients;
}
