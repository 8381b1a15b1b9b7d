#include "config.h"

#include "passes/debug/gradients.h"

#include "core/exec/run/capture.h"
#include "core/grad/grad.h"
#include "passes/debug/explain-private.h"
#include "passes/pipeline/derive.h"
#include "passes/rewrites/gradient.h"

#include <math.h>
#include <string.h>

static void
clear_row (gpointer data)
{
  g_free (((IrGradientRow *) data)->why);
}

/**
 * ir_gradients_ref:
 * @gradients: derivatives
 *
 * Returns: (transfer full): the same
 */
IrGradients *
ir_gradients_ref (IrGradients *gradients)
{
  g_atomic_ref_count_inc (&gradients->refs);
  return gradients;
}

/**
 * ir_gradients_unref:
 * @gradients: (transfer full): derivatives
 */
void
ir_gradients_unref (IrGradients *gradients)
{
  if (!g_atomic_ref_count_dec (&gradients->refs))
    return;
  g_clear_pointer (&gradients->rows, g_array_unref);
  g_clear_pointer (&gradients->layers, g_array_unref);
  g_clear_pointer (&gradients->run, ir_run_unref);
  g_clear_pointer (&gradients->model, ir_model_unref);
  g_strfreev (gradients->stop);
  g_free (gradients);
}

/* -- the backward graph -- */

static gboolean
set (IrPipeline *pipeline, const char *option, const char *value, GError **error)
{
  g_autofree char *assignment = g_strdup_printf ("gradient.%s=%s", option, value);

  return ir_pipeline_set (pipeline, assignment, error);
}

static IrPipeline *
pipeline_of (const IrGradientsSetup *setup, const char *wrt, GError **error)
{
  const char *const names[] = { "gradient", NULL };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);
  g_autofree char *stop = setup->stop != NULL ? g_strjoinv (",", (char **) setup->stop)
                                              : g_strdup ("");

  if (pipeline == NULL || !set (pipeline, "of", setup->of, error) ||
      !set (pipeline, "wrt", wrt, error) || !set (pipeline, "stop", stop, error) ||
      !set (pipeline, "cotangent", setup->cotangent != NULL ? setup->cotangent : "", error) ||
      (setup->order != NULL && !set (pipeline, "order", setup->order, error)))
    return NULL;
  return g_steal_pointer (&pipeline);
}

/* Nothing comes: there is no derivative, or zeros that were asked for. */
static gboolean
is_filled (const IrValue *gradient)
{
  const IrNode *node = gradient != NULL ? gradient->producer : NULL;
  const IrTensor *value = node != NULL && ir_node_is (node, "ConstantOfShape")
                              ? ir_node_attr_tensor (node, "value")
                              : NULL;

  return gradient == NULL || (value != NULL && ir_tensor_get_double (value, 0) == 0);
}

/* The outputs behind the model's own are the derivatives, in the order of what it is derived by. */
static void
find_rows (IrGradients *self)
{
  const IrGraph *graph = self->model->main;
  guint at = self->n_outputs;

  for (guint i = 0; i < self->rows->len; i++)
    {
      IrGradientRow *row = &g_array_index (self->rows, IrGradientRow, i);
      const IrValue *by = ir_model_value (self->model, row->by);
      g_autofree char *name = g_strdup_printf ("%s.grad", by->name);
      const IrNode *end = NULL;

      if (at < ir_graph_n_outputs (graph) &&
          g_str_has_prefix (ir_graph_output (graph, at)->name, name))
        row->gradient = ir_graph_output (graph, at++)->id;
      if (is_filled (ir_model_value (self->model, row->gradient)))
        row->why = ir_gradient_end (by, ir_model_value (self->model, self->of), &end);
      row->end = end != NULL ? end->id : 0;
    }
}

static gboolean
name_all (IrGradients *self, const IrGradientsSetup *setup, const char *wrt, GError **error)
{
  const IrValue *value = ir_gradient_of (self->model, setup->of, error);
  g_autoptr (GPtrArray) by = value != NULL ? ir_gradient_wrt (self->model, wrt, error) : NULL;

  if (by == NULL)
    return FALSE;
  self->of = value->id;
  for (guint i = 0; i < by->len; i++)
    {
      IrGradientRow row = { .by = ((const IrValue *) by->pdata[i])->id, .held = NAN };
      g_array_append_val (self->rows, row);
    }
  self->n_outputs = ir_graph_n_outputs (self->model->main);
  return TRUE;
}

/* The first node that the step "seed" has made; 0: nothing is derived */
static guint
find_first_node (const IrModel *model)
{
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);
      for (guint k = 0; strcmp (step->rule, ir_grad_rule_SEED) == 0 && k < step->n_records; k++)
        {
          const IrRecord *record = ir_history_record (model, step->first_record + k);
          if (record->kind == IR_RECORD_NODE_STATE)
            return record->subject;
        }
    }
  return 0;
}

static gboolean
derive (IrGradients *self, const IrGradientsSetup *setup, GCancellable *cancellable, GError **error)
{
  const IrPipelineOptions how = { .max_class = IR_CLASS_EXACT };
  g_autofree char *wrt = g_strdup (setup->wrt);
  g_autoptr (IrPipeline) pipeline = NULL;
  gboolean partial = FALSE;
  guint before;

  if (!ir_prepare_to_derive (self->model, &wrt, cancellable, error) ||
      !name_all (self, setup, wrt, error) || (pipeline = pipeline_of (setup, wrt, error)) == NULL)
    return FALSE;
  before = ir_history_n_steps (self->model);
  self->forward = ir_cost_model (self->model, &partial);
  if (!ir_pipeline_run (self->model, pipeline, &how, NULL, cancellable, error))
    return FALSE;
  if (ir_history_n_steps (self->model) == before)
    return ir_pass_refuse (error, "gradient",
                           "the model has Gradient nodes, which name values that must stay; it is "
                           "not derived once more");
  self->first_node = find_first_node (self->model);
  self->all = ir_cost_model (self->model, &partial);
  find_rows (self);
  return TRUE;
}

/**
 * ir_gradients_new:
 * @model: a model whose types are known; it gets the backward part, in steps
 * @setup: what is derived, and by what
 * @cancellable: (nullable): stops it
 * @error: return location for an error
 *
 * Derives @model by the pass gradient. Fails where it is not known what to derive, and where a node on
 * the way cannot be, naming it.
 *
 * Returns: (transfer full) (nullable): the derivatives, which no run has computed yet
 */
IrGradients *
ir_gradients_new (IrModel *model,
                  const IrGradientsSetup *setup,
                  GCancellable *cancellable,
                  GError **error)
{
  g_autoptr (IrGradients) self = g_new0 (IrGradients, 1);

  g_atomic_ref_count_init (&self->refs);
  self->model = ir_model_ref (model);
  self->stop = g_strdupv ((char **) setup->stop);
  self->rows = g_array_new (FALSE, TRUE, sizeof (IrGradientRow));
  g_array_set_clear_func (self->rows, clear_row);
  return derive (self, setup, cancellable, error) ? g_steal_pointer (&self) : NULL;
}

/* -- what a run gave -- */

static guint64
bytes_of (const IrValue *value)
{
  guint64 n;

  return ir_type_n_elements (value->type, &n) ? n * ir_dtype_bits (ir_value_dtype (value)) / 8 : 0;
}

/* In the sizes of the run */
static guint64
count_kept (const IrGradients *self)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  guint64 sum = 0;

  for (guint i = self->first_node; i > 0 && i < self->model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (self->model, i);
      if (node == NULL)
        continue;
      ir_node_for_each_input (node, k, value)
        if (value->producer != NULL && value->producer->id < self->first_node &&
            ir_value_constant (value) == NULL && g_hash_table_add (seen, value))
          sum += bytes_of (ir_model_value (self->run->model, value->id));
    }
  return sum;
}

/**
 * ir_gradients_tensor:
 * @gradients: derivatives, with a run
 * @value: of its model; 0: none
 *
 * Returns: (transfer none) (nullable): what the run gave, or an initializer
 */
IrTensor *
ir_gradients_tensor (const IrGradients *gradients, IrValueId value)
{
  IrTensor *tensor = value != 0 ? ir_run_value (gradients->run, value) : NULL;

  return tensor != NULL || value == 0 ? tensor
                                      : ir_model_value (gradients->model, value)->initializer;
}

static void
take_stats (IrGradients *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      IrGradientRow *row = &g_array_index (self->rows, IrGradientRow, i);
      const IrTensor *gradient = ir_gradients_tensor (self, row->gradient),
                     *held = ir_gradients_tensor (self, row->by);
      IrTensorStats stats = { 0 };

      if (gradient != NULL)
        ir_tensor_stats (gradient, 0, &row->stats);
      if (held == NULL)
        continue;
      ir_tensor_stats (held, 0, &stats);
      row->held = stats.l2;
    }
}

/**
 * ir_gradients_take_run:
 * @gradients: derivatives
 * @run: (transfer full): a run of its model, which kept the derivatives at least
 * @all: whether it kept all values: then it is known what came back to each node
 */
void
ir_gradients_take_run (IrGradients *gradients, IrRun *run, gboolean all)
{
  g_clear_pointer (&gradients->run, ir_run_unref);
  g_clear_pointer (&gradients->layers, g_array_unref);
  gradients->run = run;
  take_stats (gradients);
  gradients->kept_bytes = count_kept (gradients);
  if (all)
    gradients->layers = ir_explain_layers (gradients);
}

/**
 * ir_gradients_run:
 * @gradients: derivatives
 * @inputs: value id -> #IrTensor
 * @options: (nullable): of the run, which keeps all values
 * @cancellable: (nullable): stops it
 * @error: return location for an error
 *
 * Runs forward and backward part once.
 */
gboolean
ir_gradients_run (IrGradients *gradients,
                  GHashTable *inputs,
                  const IrRunOptions *options,
                  GCancellable *cancellable,
                  GError **error)
{
  IrRunOptions how = options != NULL ? *options : (IrRunOptions){ 0 };
  IrRun *run;

  how.capture = IR_CAPTURE_ALL;
  how.partial = FALSE;
  run = ir_model_run (gradients->model, inputs, &how, cancellable, error);
  if (run != NULL)
    ir_gradients_take_run (gradients, run, TRUE);
  return run != NULL;
}

/* -- what is remarkable -- */

/**
 * ir_gradient_is_remarkable:
 * @row: a derivative that a run has computed
 *
 * Returns: whether there is one of which no element is a number other than 0, or one is not finite
 */
gboolean
ir_gradient_is_remarkable (const IrGradientRow *row)
{
  const IrTensorStats *stats = &row->stats;

  return row->why == NULL && stats->n > 0 &&
         (stats->n_zero == stats->n || stats->n_nan + stats->n_pos_inf + stats->n_neg_inf > 0);
}

/**
 * ir_gradients_explain:
 * @gradients: derivatives, with a run that kept all values
 * @row: which of them
 *
 * Returns: (transfer full): why the derivative is 0, tiny or not finite, and what came back on the way
 */
IrGradientReason *
ir_gradients_explain (const IrGradients *gradients, guint row)
{
  const IrModel *model = gradients->model;
  const IrGradientRow *one = &g_array_index (gradients->rows, IrGradientRow, row);
  const IrValue *gradient = one->why == NULL ? ir_model_value (model, one->gradient) : NULL;
  IrGradientReason *reason = ir_gradient_explain (
      model, gradients->run, ir_model_value (model, gradients->of), ir_model_value (model, one->by),
      gradient, gradients->stop);

  if (reason->kind != IR_GRADIENT_NO_PATH || one->why == NULL)
    return reason;
  reason->node = one->end;
  g_free (reason->text);
  reason->text = g_strdup (one->why);
  return reason;
}

/**
 * ir_gradients_check:
 * @gradients: derivatives, with a run
 * @row: which of them
 * @index: an element of what it is derived by, in the order of memory
 * @cancellable: (nullable): stops it
 * @error: return location for an error
 *
 * Compares the derivative by one element with differences, on the inputs of the run: ir_gradcheck() on
 * the graph without its backward part.
 *
 * Returns: (transfer full) (nullable) (element-type IrGradcheckItem): one item
 */
GArray *
ir_gradients_check (const IrGradients *gradients,
                    guint row,
                    guint64 index,
                    GCancellable *cancellable,
                    GError **error)
{
  g_autoptr (IrModel) forward = ir_model_clone (gradients->model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (forward);
  g_autofree char *element = g_strdup_printf ("%" G_GUINT64_FORMAT, index);
  IrValue *of = ir_model_value (forward, gradients->of);
  const IrGradcheckOptions how = {
    .of = of->name,
    .wrt = ir_model_value (forward, g_array_index (gradients->rows, IrGradientRow, row).by)->name,
    .element = element,
    .eps = IR_GRADCHECK_EPS,
    .atol = IR_GRADCHECK_ATOL,
    .rtol = IR_GRADCHECK_RTOL,
    .cancellable = cancellable,
  };

  ir_edit_set_graph_outputs (edit, forward->main, &of, 1);
  return ir_gradcheck (forward, ir_run_inputs (gradients->run), &how, error);
}
