#include "config.h"

#include "passes/training/order.h"

#include "core/exec/train/rate.h"
#include "core/exec/train/samples.h"
#include "core/grad/loss.h"
#include "core/io/io.h"
#include "core/ir/history.h"
#include "core/grad/grad.h"
#include "passes/pipeline/derive.h"
#include "passes/rewrites/gradient.h"

#include <math.h>
#include <string.h>

#define N_NAMED 4 /* parameters that a sentence names */

G_GNUC_PRINTF (2, 3)
static gboolean
fail (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, message);
  return FALSE;
}

/* -- options -- */

static gboolean
parse_number (const char *option, const char *text, double *number, GError **error)
{
  char *end;

  if (text == NULL)
    return TRUE;
  *number = g_ascii_strtod (text, &end);
  return (end != text && *end == '\0' && isfinite (*number) && *number >= 0) ||
         fail (error, "--%s \"%s\": a number is needed, 0 or more", option, text);
}

/* What must be the same for the same bits, in words. */
static char *
method_of (const IrTrainingOrder *order)
{
  g_autofree char *parts = order->settings != NULL ? g_strjoinv (" ", (char **) order->settings)
                                                   : g_strdup ("");
  g_autofree char *freeze = order->freeze != NULL ? g_strjoinv (",", (char **) order->freeze)
                                                  : NULL;

  return g_strdup_printf ("%s %s rate=%s schedule=%s%s%s%s%s", order->loss, parts, order->rate,
                          order->schedule != NULL ? order->schedule : "constant",
                          order->loss_scale != NULL ? " loss-scale=" : "",
                          order->loss_scale != NULL ? order->loss_scale : "",
                          freeze != NULL ? " freeze=" : "", freeze != NULL ? freeze : "");
}

/* -- samples -- */

static gboolean
add_file (IrSamples *samples, const char *name, const char *path, GError **error)
{
  g_autoptr (IrTensor) rows = ir_tensor_load (path, error);

  return rows != NULL && ir_samples_add (samples, name, path, rows, error);
}

static gboolean
is_given (const IrSamples *samples, const char *name)
{
  for (guint i = 0; i < samples->sources->len; i++)
    if (strcmp (ir_samples_source (samples, i)->name, name) == 0)
      return TRUE;
  return FALSE;
}

/* "NAME=FILE"; a name may have = in it, a file hardly */
static gboolean
split (const char *text, char **name, const char **path, GError **error)
{
  const char *at = strrchr (text, '=');

  if (at == NULL || at == text || at[1] == '\0')
    return fail (error, "--data %s: needs NAME=FILE", text);
  *name = g_strndup (text, (gsize) (at - text));
  *path = at + 1;
  return TRUE;
}

static gboolean
add_data (const IrModel *model, const IrTrainingOrder *order, IrSamples *samples, GError **error)
{

  for (guint i = 0; order->data[i] != NULL; i++)
    {
      g_autofree char *name = NULL;
      const char *path = NULL;
      if (!split (order->data[i], &name, &path, error))
        return FALSE;
      const IrValue *input = ir_graph_find_value (model->main, name);
      if (input == NULL || !ir_value_is_graph_input (input))
        return fail (error, "--data %s: the graph has no input \"%s\"; irscope info lists them",
                     order->data[i], name);
      if (is_given (samples, name))
        return fail (error, "--data %s: the input has its samples already", order->data[i]);
      if (!add_file (samples, name, path, error))
        return FALSE;
    }
  return TRUE;
}

static IrValue *
open_input (const IrModel *model, const IrSamples *samples)
{
  const IrGraph *graph = model->main;

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    if (ir_graph_input (graph, i)->initializer == NULL &&
        !is_given (samples, ir_graph_input (graph, i)->name))
      return ir_graph_input (graph, i);
  return NULL;
}

/* The input that the loss adds, by a name that is free; of a loss that is in the graph the one that
 * nothing is given for. */
static char *
target_name (const IrModel *model, const IrSamples *samples, gboolean added)
{
  const IrValue *open = added ? NULL : open_input (model, samples);
  char *name = g_strdup (open != NULL ? open->name : "target");

  for (guint i = 1; added && ir_model_has_value (model, name); i++)
    {
      g_free (name);
      name = g_strdup_printf ("target_%u", i);
    }
  return name;
}

static gboolean
add_target (const IrModel *model,
            const IrTrainingOrder *order,
            IrSamples *samples,
            const char *name,
            gboolean added,
            GError **error)
{

  if (order->target == NULL && added)
    return fail (error, "--target FILE is needed: %s compares with it", order->loss);
  if (order->target != NULL && !add_file (samples, name, order->target, error))
    return FALSE;
  const IrValue *open = open_input (model, samples);
  if (open != NULL)
    return fail (error, "the input %s has no samples; give --data %s=FILE", open->name, open->name);
  return order->validate == NULL || ir_samples_hold_out (samples, order->validate, error);
}

/* Whether labels have the sizes of the scores without the last axis, and not without axis 1. */
static gboolean
classes_are_last (const IrValue *scores, const IrTensor *labels)
{
  const IrType *type = scores->type;
  gboolean first = TRUE, last = TRUE;

  if (!ir_type_is_tensor (type) || type->rank < 3 ||
      type->rank != (int) ir_tensor_rank (labels) + 1)
    return FALSE;
  for (int i = 1; i < type->rank - 1; i++)
    {
      gint64 size = ir_tensor_dims (labels)[i];
      last = last && (!ir_dim_is_known (type->dims[i]) || type->dims[i] == size);
      first = first && (!ir_dim_is_known (type->dims[i + 1]) || type->dims[i + 1] == size);
    }
  return last && !first;
}

/* Labels are classes that the scores have. */
static gboolean
check_labels (const IrSampleSource *source, const IrValue *scores, gboolean last, GError **error)
{
  const IrType *type = scores->type;
  const IrTensor *rows = source->rows;
  gint64 classes;
  guint64 n = ir_tensor_n_elements (rows), per_row = n / (guint64) ir_tensor_dims (rows)[0];

  if (!ir_type_is_tensor (type) || type->rank < 2 ||
      !ir_dim_is_known (classes = type->dims[last ? type->rank - 1 : 1]))
    return TRUE;
  if (!ir_dtype_is_integer (ir_tensor_dtype (rows)))
    return fail (error, "%s: is of %s, and labels are integers, 0 to %" G_GINT64_FORMAT,
                 source->file, ir_dtype_name (ir_tensor_dtype (rows)), classes - 1);
  for (guint64 i = 0; i < n; i++)
    {
      gint64 label = ir_tensor_get_int64 (rows, i);
      if (label < 0 || label >= classes)
        return fail (error,
                     "%s: row %" G_GUINT64_FORMAT " is the label %" G_GINT64_FORMAT
                     ", and %s has the classes 0 to %" G_GINT64_FORMAT,
                     source->file, i / MAX (per_row, 1), label, scores->name, classes - 1);
    }
  return TRUE;
}

/* -- the run -- */

/**
 * ir_training_run_free:
 * @run: (transfer full) (nullable): a training run
 */
void
ir_training_run_free (IrTrainingRun *run)
{
  if (run == NULL)
    return;
  g_clear_pointer (&run->trainer, ir_trainer_free);
  g_clear_pointer (&run->setup.samples, ir_samples_free);
  g_clear_pointer (&run->training, ir_training_free);
  g_free (run->method);
  g_free (run);
}

/* Labels are classes, along an axis that the loss is told. */
static gboolean
check_classes (const IrModel *model,
               const IrTrainingOrder *order,
               const IrSamples *samples,
               gboolean *last,
               GError **error)
{
  const IrValue *scores;
  const IrSampleSource *labels;

  if (strcmp (order->loss, "cross-entropy") != 0 && strcmp (order->loss, "nll") != 0)
    return TRUE;
  scores = ir_gradient_of (model, order->of != NULL ? order->of : "", error);
  labels = ir_samples_source (samples, samples->sources->len - 1);
  if (scores == NULL)
    return FALSE;
  *last = classes_are_last (scores, labels->rows);
  return check_labels (labels, scores, *last, error);
}

static gboolean
make_setup (IrTrainingRun *run, const IrTrainingOrder *order, IrSamples *samples, GError **error)
{
  run->setup = (IrTrainerSetup){ .step = run->training->step,
                                 .check = samples->n_held_out > 0 ? run->training->check : NULL,
                                 .samples = samples,
                                 .batch = order->batch > 0 ? order->batch : IR_TRAINING_BATCH,
                                 .epochs = order->epochs > 0 ? order->epochs : 1,
                                 .rate_input = IR_TRAINING_RATE };
  run->key = (IrCheckpointKey){ order->seed, run->setup.batch, ir_samples_n_training (samples),
                                run->method };
  return parse_number ("rate", order->rate, &run->setup.rate.base, error) &&
         (order->schedule == NULL || ir_rate_parse (order->schedule, &run->setup.rate, error));
}

/**
 * ir_training_run_new:
 * @model: a network whose types are known; brought to the opset that derivatives need, in steps
 * @order: how it is trained
 * @cancellable: (nullable): ends it
 * @error: return location for an error
 *
 * Opens the samples and makes the graphs of a training run, which has not begun.
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE where samples do not suit the network, naming file and row, and as
 * ir_training_new() does.
 *
 * Returns: (transfer full) (nullable): the run
 */
IrTrainingRun *
ir_training_run_new (IrModel *model,
                     const IrTrainingOrder *order,
                     GCancellable *cancellable,
                     GError **error)
{
  g_autoptr (IrTrainingRun) run = g_new0 (IrTrainingRun, 1);
  g_autoptr (IrSamples) samples = ir_samples_new (order->seed);
  const gboolean added = ir_loss_find (order->loss) != NULL;
  g_autofree char *freeze = order->freeze != NULL ? g_strjoinv (",", (char **) order->freeze)
                                                  : g_strdup ("");
  double scale = 1;

  if (!ir_upgrade_to_derive (model, cancellable, error) ||
      !add_data (model, order, samples, error) ||
      !parse_number ("loss-scale", order->loss_scale, &scale, error))
    return NULL;
  g_autofree char *target = target_name (model, samples, added);
  if (!add_target (model, order, samples, target, added, error))
    return NULL;
  IrTrainingOptions how = { .loss = order->loss,
                            .of = order->of != NULL ? order->of : "",
                            .target = target,
                            .freeze = freeze,
                            .settings = (char **) order->settings,
                            .loss_scale = scale,
                            .samples = samples,
                            .batch = order->batch > 0 ? order->batch : IR_TRAINING_BATCH };
  if (added && !check_classes (model, order, samples, &how.classes_last, error))
    return NULL;
  run->method = method_of (order);
  run->training = ir_training_new (model, &how, cancellable, error);
  if (run->training == NULL || !make_setup (run, order, g_steal_pointer (&samples), error))
    return NULL;
  return g_steal_pointer (&run);
}

/**
 * ir_training_run_begin:
 * @run: a training run that has not begun
 * @options: of the run of each step
 * @norms: whether each step says how long weights and their changes are
 * @resume: (nullable): a file of ir_training_run_save() to go on from
 * @error: return location for an error
 *
 * Returns: %TRUE if its trainer can make the first step
 */
gboolean
ir_training_run_begin (IrTrainingRun *run,
                       const IrRunOptions *options,
                       gboolean norms,
                       const char *resume,
                       GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  guint n;
  IrValue *const *values = ir_graph_values (run->training->result->main, &n);

  for (guint i = 0; i < n; i++)
    if (ir_training_updates (run->training, values[i]))
      g_ptr_array_add (names, (gpointer) values[i]->name);
  g_ptr_array_add (names, NULL);
  run->setup.run = *options;
  run->setup.norms = norms ? (const char *const *) names->pdata : NULL;
  run->trainer = ir_trainer_new (&run->setup, error);
  run->setup.norms = NULL;
  run->setup.samples = NULL;
  return run->trainer != NULL &&
         (resume == NULL || ir_checkpoint_resume (run->trainer, &run->key, resume, error));
}

/**
 * ir_training_run_save:
 * @run: a training run that has begun
 * @path: where; .onnx
 * @error: return location for an error
 *
 * Writes a checkpoint, a plain model with the weights of now, as one act.
 */
gboolean
ir_training_run_save (const IrTrainingRun *run, const char *path, GError **error)
{
  return ir_checkpoint_save (run->training, run->trainer, &run->key, path, error);
}

static gboolean
is_made_in (const IrModel *model, const IrStep *step, IrNodeId node)
{
  for (gsize i = 0; i < step->n_records; i++)
    {
      const IrRecord *record = ir_history_record (model, step->first_record + i);
      if (record->kind == IR_RECORD_NODE_STATE && record->subject == node)
        return TRUE;
    }
  return FALSE;
}

/**
 * ir_training_run_node:
 * @run: a training run
 * @node: of the graph of a step; 0: none
 *
 * Returns: the node of the network that it is, or that it derives
 */
IrNodeId
ir_training_run_node (const IrTrainingRun *run, IrNodeId node)
{
  const IrModel *model = run->training->step;

  for (guint i = 1; node != 0 && i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);
      if (strcmp (step->rule, ir_grad_rule_VJP) == 0 && is_made_in (model, step, node))
        return step->anchor;
    }
  return node;
}

/**
 * ir_training_run_bad_node:
 * @run: a training run whose last step has diverged
 *
 * Returns: the node of the network that gave the first numbers that are not finite, or whose derivative
 *   did; 0: it is not known
 */
IrNodeId
ir_training_run_bad_node (const IrTrainingRun *run)
{
  return ir_training_run_node (run, run->trainer != NULL ? ir_trainer_bad_node (run->trainer) : 0);
}

/**
 * ir_training_run_diverged_text:
 * @run: a training run
 * @error: what its last step has failed with
 *
 * Returns: (transfer full): @error, and where numbers were not finite, of what node of the network that is
 *   or whose derivative, and what to do. In the first step no rate is to blame.
 */
char *
ir_training_run_diverged_text (const IrTrainingRun *run, const GError *error)
{
  const IrNodeId bad = ir_trainer_bad_node (run->trainer), node = ir_training_run_bad_node (run);
  const IrNode *written = node != 0 ? ir_model_node (run->training->step, node) : NULL;

  if (!ir_trainer_has_diverged (run->trainer) || written == NULL)
    return g_strdup (error->message);
  g_autofree char *label = ir_node_label (written);
  g_autofree char *derives = bad != node ? g_strdup_printf (", in the derivative of %s", label)
                                         : g_strdup ("");
  return g_strdup_printf (
      "%s%s; %s", error->message, derives,
      ir_trainer_place (run->trainer).step > 0
          ? "try a smaller rate, or clip derivatives (--clip)"
          : "it is the first step, so no rate is to blame: 'irscope grad --explain' and the view "
            "Gradients follow it back");
}

/* (nullable) What it has become */
static const IrTensor *
tensor_now (const IrTrainingRun *run, const char *name)
{
  const GArray *states = ir_trainer_states (run->trainer);

  for (guint i = 0; i < states->len; i++)
    if (strcmp (g_array_index (states, IrTrainerState, i).name, name) == 0)
      return g_array_index (states, IrTrainerState, i).tensor;
  return NULL;
}

static gboolean
has_moved (const IrTrainingRun *run, const IrValue *value)
{
  const IrTensor *now = tensor_now (run, value->name), *before = value->initializer;

  return now != NULL &&
         (ir_tensor_n_bytes (now) != ir_tensor_n_bytes (before) ||
          memcmp (ir_tensor_data (now), ir_tensor_data (before), ir_tensor_n_bytes (before)) != 0);
}

/**
 * ir_training_run_unmoved_text:
 * @run: a training run
 *
 * Returns: (transfer full) (nullable): which parameters and running statistics no step has changed a bit
 *   of, as a sentence; %NULL: all were changed, or no step was made
 */
char *
ir_training_run_unmoved_text (const IrTrainingRun *run)
{
  g_autoptr (GString) names = g_string_new (NULL);
  const char *first = NULL;
  guint n, n_unmoved = 0, n_all = 0;
  IrValue *const *values = ir_graph_values (run->training->step->main, &n);

  if (ir_trainer_place (run->trainer).step == 0)
    return NULL;
  for (guint i = 0; i < n; i++)
    {
      if (!ir_value_is_mutable (values[i]) ||
          ir_graph_find_value (run->training->result->main, values[i]->name) == NULL)
        continue;
      n_all++;
      if (has_moved (run, values[i]))
        continue;
      first = first != NULL ? first : values[i]->name;
      if (n_unmoved++ < N_NAMED)
        g_string_append_printf (names, "%s%s", n_unmoved > 1 ? ", " : "", values[i]->name);
    }
  return n_unmoved == 0
             ? NULL
             : g_strdup_printf (
                   "%u of %u parameters never moved: %s%s; 'irscope grad --explain %s' "
                   "and the view Gradients say why",
                   n_unmoved, n_all, names->str, n_unmoved > N_NAMED ? ", …" : "", first);
}
