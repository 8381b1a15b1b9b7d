/* The graphs of a training run, made by passes. Each is the network with its own steps; parameters
 * are called the same in all:
 *
 *   result   to-training, to-inference                   what is written
 *   step     to-training with a loss; sizes of the batch; gradient, optimizer, clean-up
 *   check    to-training with a loss, to-inference       what is held out runs through
 */
#include "config.h"

#include "passes/training/training.h"

#include "core/op/infer.h"
#include "core/op/op.h"
#include "passes/pipeline/pipeline.h"

#include <string.h>

#define SCALE "loss.scale" /* constant that the derivative of the loss begins with */

/**
 * ir_training_free:
 * @training: (transfer full) (nullable): graphs of a training
 */
void
ir_training_free (IrTraining *training)
{
  if (training == NULL)
    return;
  g_clear_pointer (&training->result, ir_model_unref);
  g_clear_pointer (&training->step, ir_model_unref);
  g_clear_pointer (&training->check, ir_model_unref);
  g_clear_pointer (&training->algorithm, ir_model_unref);
  g_clear_pointer (&training->notes, g_ptr_array_unref);
  g_free (training);
}

static gboolean
set (IrPipeline *pipeline, const char *option, const char *value, GError **error)
{
  g_autofree char *assignment = g_strconcat (option, "=", value, NULL);

  return ir_pipeline_set (pipeline, assignment, error);
}

/* -- to training and back -- */

static gboolean
run_names (IrModel *model,
           const char *pass,
           const IrTrainingOptions *options,
           gboolean with_loss,
           const char *const *disabled,
           GCancellable *cancellable,
           GError **error)
{
  const char *const names[] = { pass, NULL };
  const IrPipelineOptions how = { .max_class = IR_CLASS_UNSAFE,
                                  .record_refusals = TRUE,
                                  .disabled_rules = disabled };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);

  if (pipeline == NULL ||
      (options != NULL &&
       (!set (pipeline, "to-training.freeze", options->freeze, error) ||
        !set (pipeline, "to-training.loss", with_loss ? options->loss : "", error) ||
        !set (pipeline, "to-training.of", options->of, error) ||
        !set (pipeline, "to-training.target", options->target, error) ||
        !set (pipeline, "to-training.class-axis", options->classes_last ? "last" : "1", error))))
    return FALSE;
  return ir_pipeline_run (model, pipeline, &how, NULL, cancellable, error);
}

#define N_NAMED 3 /* nodes that a note names */

/* Nodes that could not be made ready for one and the same reason. */
static void
note_refusals (IrTraining *training, const IrModel *model, const char *reason)
{
  g_autoptr (GString) names = g_string_new (NULL);
  guint n_nodes = 0;

  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    {
      const IrRefusal *refusal = ir_history_refusal (model, i);
      const IrNode *node = ir_model_node (model, refusal->anchor);
      if (strcmp (refusal->reason, reason) != 0 || node == NULL)
        continue;
      g_autofree char *label = ir_node_label (node);
      if (n_nodes++ < N_NAMED)
        g_string_append_printf (names, "%s%s", n_nodes > 1 ? ", " : "", label);
    }
  if (n_nodes > N_NAMED)
    g_string_append_printf (names, " and %u more", n_nodes - N_NAMED);
  g_string_append_printf (names, ": %s", reason);
  g_ptr_array_add (training->notes, g_strdup (names->str));
}

/* What was untied, and what could not be made ready, as sentences. */
static void
take_notes (IrTraining *training, const IrModel *model)
{
  g_autoptr (GHashTable) said = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);
      if (strcmp (step->rule, "untie") == 0 && step->reason != NULL)
        g_ptr_array_add (training->notes, g_strdup (step->reason));
    }
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    {
      const char *reason = ir_history_refusal (model, i)->reason;
      if (reason != NULL && g_hash_table_add (said, (gpointer) reason))
        note_refusals (training, model, reason);
    }
}

/* -- a step -- */

/* A step that no pass has: of what is decided about the batch. */
static IrEdit *
begin_edit (IrModel *model, const char *rule)
{
  IrEdit *edit = ir_edit_new (model);

  ir_edit_begin_pass (edit, "infer-shapes");
  ir_edit_begin_step (edit, rule, IR_CLASS_UNSAFE, 0);
  return edit;
}

/* Sizes of a batch of @rows, so that the derivative has constants where there would be sizes. */
static void
bind_sizes (IrModel *model, const IrTrainingOptions *options, guint64 rows)
{
  g_autoptr (IrEdit) edit = begin_edit (model, "batch");

  for (guint i = 0; i < options->samples->sources->len; i++)
    {
      const IrSampleSource *source = ir_samples_source (options->samples, i);
      IrValue *input = ir_graph_find_value (model->main, source->name);
      gint64 dims[IR_MAX_RANK];
      /* What does not fit is said when the run begins. */
      if (input == NULL || !ir_value_is_graph_input (input) ||
          ir_value_rank (input) != (int) ir_tensor_rank (source->rows))
        continue;
      for (int k = 0; k < input->type->rank; k++)
        dims[k] = ir_dim_is_known (input->type->dims[k]) ? input->type->dims[k]
                                                         : ir_tensor_dims (source->rows)[k];
      dims[0] = (gint64) rows;
      ir_infer_bind_input (edit, input, ir_tensor_rank (source->rows), dims);
    }
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
}

/* Where the network is for batches of one size, what is held out goes through it in batches of a size
 * that divides it. */
static void
bind_check (IrModel *model, const IrTrainingOptions *options)
{
  guint64 n = options->samples->n_held_out, rows = MIN (options->batch, n);
  gboolean known = FALSE;

  for (guint i = 0; i < options->samples->sources->len; i++)
    {
      const IrValue *input = ir_graph_find_value (model->main,
                                                  ir_samples_source (options->samples, i)->name);
      known = known || (input != NULL && ir_value_rank (input) > 0 &&
                        ir_dim_is_known (input->type->dims[0]));
    }
  while (rows > 1 && n % rows != 0)
    rows--;
  if (known && rows > 0)
    bind_sizes (model, options, rows);
}

/* Derivatives in half precision vanish where they are small: the loss counts for more. */
static gboolean
add_scale (IrModel *model, double scale, IrPipeline *pipeline, GError **error)
{
  const IrValue *loss = ir_graph_output (model->main, 0);
  g_autofree char *text = NULL;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (scale == 1)
    return TRUE;
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (ir_value_dtype (loss), scale);
  g_autoptr (IrEdit) edit = begin_edit (model, "loss-scale");
  ir_edit_add_initializer (edit, model->main, SCALE, tensor);
  text = g_strdup (g_ascii_dtostr (number, sizeof number, scale));
  return set (pipeline, "gradient.cotangent", SCALE, error) &&
         set (pipeline, "optimizer.loss-scale", text, error);
}

static gboolean
set_all (IrPipeline *pipeline, const IrTrainingOptions *options, const char *prefix, GError **error)
{
  for (guint i = 0; options->settings != NULL && options->settings[i] != NULL; i++)
    if (g_str_has_prefix (options->settings[i], prefix) &&
        !ir_pipeline_set (pipeline, options->settings[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
make_step (IrModel *model,
           const IrTrainingOptions *options,
           GCancellable *cancellable,
           GError **error)
{
  const IrPipelineOptions how = { .max_class = IR_CLASS_ROUNDING };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("train", error);

  if (pipeline == NULL ||
      !set (pipeline, "gradient.of", ir_graph_output (model->main, 0)->name, error))
    return FALSE;
  if (!set_all (pipeline, options, "", error))
    return FALSE;
  bind_sizes (model, options, options->batch);
  return add_scale (model, options->loss_scale, pipeline, error) &&
         ir_pipeline_run (model, pipeline, &how, NULL, cancellable, error);
}

/* -- the optimizer alone -- */

/* What is mutable and follows its derivative; statistics come from the forward part. */
/**
 * ir_training_updates:
 * @training: graphs of a training
 * @value: a value of its result
 *
 * Returns: whether it is a parameter, which follows its derivative
 */
gboolean
ir_training_updates (const IrTraining *training, const IrValue *value)
{
  g_autofree char *name = g_strconcat (value->name, IR_TRAINING_SUFFIX, NULL);
  const IrValue *fresh = ir_graph_find_value (training->step->main, name);
  const IrValue *twin = ir_graph_find_value (training->step->main, value->name);

  return value->initializer != NULL && twin != NULL && ir_value_is_mutable (twin) &&
         fresh != NULL && fresh->producer != NULL &&
         !ir_op_is (fresh->producer, IR_OP_BATCH_NORMALIZATION);
}

/* Parameters with their derivatives as inputs, and as outputs, which the optimizer takes. */
static void
add_parameters (const IrTraining *training, IrModel *model)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) gradients = g_ptr_array_new ();
  guint n;
  IrValue *const *values = ir_graph_values (training->result->main, &n);

  ir_edit_set_opset (edit, "", ir_model_opset (training->result, ""));
  ir_edit_rename_graph (edit, model->main, "optimizer");
  for (guint i = 0; i < n; i++)
    if (ir_training_updates (training, values[i]))
      {
        g_autofree char *name = g_strconcat (values[i]->name, ".grad", NULL);
        IrValue *own = ir_edit_add_initializer (edit, model->main, values[i]->name,
                                                values[i]->initializer);
        ir_edit_set_flags (edit, own, own->flags | IR_VALUE_MUTABLE);
        g_ptr_array_add (gradients,
                         ir_edit_add_value (edit, model->main, name,
                                            ir_tensor_type (own->initializer, model->context)));
      }
  ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) gradients->pdata, gradients->len);
  ir_edit_set_graph_outputs (edit, model->main, (IrValue *const *) gradients->pdata,
                             gradients->len);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
}

/* What the network has is not repeated: the algorithm reads it there by name. */
static IrModel *
without_parameters (const IrTraining *training, IrModel *algorithm)
{
  IrModel *model = ir_model_clone (algorithm);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  guint n;
  IrValue *const *values = ir_graph_values (training->result->main, &n);

  for (guint i = 0; i < n; i++)
    {
      IrValue *own = ir_graph_find_value (model->main, values[i]->name);
      if (own != NULL && own->initializer != NULL && ir_training_updates (training, values[i]))
        ir_edit_set_initializer (edit, own, NULL);
    }
  return model;
}

static gboolean
make_algorithm (IrTraining *training, const IrTrainingOptions *options, GError **error)
{
  const char *const names[] = { "optimizer", NULL };
  const IrPipelineOptions how = { .max_class = IR_CLASS_EXACT };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);
  g_autofree char *scale = g_strdup_printf ("%.17g", options->loss_scale);

  g_autoptr (IrModel) model = ir_model_new ();
  add_parameters (training, model);
  if (pipeline == NULL || !set (pipeline, "optimizer.loss-scale", scale, error) ||
      !set_all (pipeline, options, "optimizer.", error) ||
      !ir_pipeline_run (model, pipeline, &how, NULL, NULL, error))
    return FALSE;
  training->algorithm = without_parameters (training, model);
  return TRUE;
}

/**
 * ir_training_new:
 * @model: a network of opset 18 or newer, with types
 * @options: how it is trained
 * @cancellable: (nullable): ends it
 * @error: return location for an error
 *
 * Makes the graphs of a training run, on copies of @model.
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE where an option does not suit, and as a derivation does,
 * naming the node.
 *
 * Returns: (transfer full) (nullable): the graphs
 */
IrTraining *
ir_training_new (IrModel *model,
                 const IrTrainingOptions *options,
                 GCancellable *cancellable,
                 GError **error)
{
  static const char *const keep_mutable[] = { "constant", NULL };
  g_autoptr (IrTraining) training = g_new0 (IrTraining, 1);

  training->notes = g_ptr_array_new_with_free_func (g_free);
  training->result = ir_model_clone (model);
  training->step = ir_model_clone (model);
  if (!run_names (training->result, "to-training", options, FALSE, NULL, cancellable, error))
    return NULL;
  take_notes (training, training->result);
  if (!run_names (training->result, "to-inference", NULL, FALSE, NULL, cancellable, error) ||
      !run_names (training->step, "to-training", options, TRUE, NULL, cancellable, error))
    return NULL;
  training->check = ir_model_clone (training->step);
  if (!run_names (training->check, "to-inference", NULL, FALSE, keep_mutable, cancellable, error))
    return NULL;
  bind_check (training->check, options);
  if (!make_step (training->step, options, cancellable, error) ||
      !make_algorithm (training, options, error))
    return NULL;
  return g_steal_pointer (&training);
}
