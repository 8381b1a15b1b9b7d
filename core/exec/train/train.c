/* Training runs: see train.h. Parameters and states go around in two memories that take turns: what
 * a step hands out is what the next one is given, and what the one before was given is filled again
 * (IrRunOptions.alternate), so that from the third step on no tensor is allocated. Everything random
 * follows from seed and step alone. */
#include "config.h"

#include "core/exec/train/train.h"

#include "core/exec/kernel/stats.h"
#include "core/exec/run/state.h"
#include "core/ir/hash.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SUFFIX ".new"

/* A graph that batches run through. */
typedef struct
{
  IrModel *model; /* (owned) */
  IrExecutable *executable;
  IrValueId *inputs;  /* by source */
  GPtrArray *batches; /* of IrTensor, by source */
  guint64 batch_rows; /* of those */
} Pass;

struct _IrTrainer
{
  Pass step, check;
  IrSamples *samples;
  guint64 batch, epochs;
  IrRate rate;
  IrValueId rate_input;
  IrRunOptions run;
  GArray *states; /* of IrTrainerState */
  IrTrainerPlace place;
  guint64 state_bytes, peak_bytes, planned_bytes;
  IrHeld held;
  gboolean diverged, norms;
  IrNodeId bad_node; /* of the step, where it diverged; 0: not known */
};

static gboolean fail (GError **error, IrExecErrorCode code, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (GError **error, IrExecErrorCode code, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, IR_EXEC_ERROR, code, message);
  return FALSE;
}

/* -- beginning -- */

static void
pass_clear (Pass *pass)
{
  g_clear_pointer (&pass->batches, g_ptr_array_unref);
  g_clear_pointer (&pass->executable, ir_executable_free);
  g_clear_pointer (&pass->model, ir_model_unref);
  g_clear_pointer (&pass->inputs, g_free);
}

static void
state_clear (gpointer data)
{
  IrTrainerState *state = data;

  g_free (state->name);
  g_clear_pointer (&state->tensor, ir_tensor_unref);
}

static IrValue *
find_input (const IrModel *model, const char *name)
{
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    if (strcmp (ir_graph_input (model->main, i)->name, name) == 0)
      return ir_graph_input (model->main, i);
  return NULL;
}

/* Whether a row of the file is a sample of the input. */
static gboolean
check_row (const IrSampleSource *source, const IrValue *input, GError **error)
{
  const IrType *type = input->type;
  IrContext *context = input->graph->model->context;
  gboolean fits = ir_type_is_tensor (type) && ir_type_has_rank (type) &&
                  type->rank == (int) ir_tensor_rank (source->rows);

  for (int i = 1; fits && i < type->rank; i++)
    fits = !ir_dim_is_known (type->dims[i]) || type->dims[i] == ir_tensor_dims (source->rows)[i];
  if (fits)
    return TRUE;
  g_autofree char *found = ir_type_to_string (context, ir_tensor_type (source->rows, context));
  g_autofree char *needed = type != NULL ? ir_type_to_string (context, type)
                                         : g_strdup ("a tensor");
  return fail (error, IR_EXEC_ERROR_INPUT,
               "%s: is %s, and the input %s takes %s: all but the first size must be the same",
               source->file, found, input->name, needed);
}

static gboolean
pass_init (Pass *pass, IrTrainer *trainer, IrModel *model, GError **error)
{
  guint n = trainer->samples->sources->len;

  pass->model = ir_model_ref (model);
  pass->inputs = g_new0 (IrValueId, n + 1);
  pass->batches = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  for (guint i = 0; i < n; i++)
    {
      const IrSampleSource *source = ir_samples_source (trainer->samples, i);
      const IrValue *input = find_input (model, source->name);
      if (input == NULL)
        return fail (error, IR_EXEC_ERROR_INPUT,
                     "%s: there is no input \"%s\" that it could be for", source->file,
                     source->name);
      if (!check_row (source, input, error) ||
          !ir_samples_take (trainer->samples, i, ir_value_dtype (input), error))
        return FALSE;
      pass->inputs[i] = input->id;
    }
  IrRunOptions run = trainer->run;
  if (pass == &trainer->check)
    run.control = NULL; /* that is of steps */
  pass->executable = ir_executable_new (model, &run, error);
  return pass->executable != NULL;
}

static IrValue *
find_output (const IrModel *model, const char *name)
{
  g_autofree char *wanted = g_strconcat (name, SUFFIX, NULL);

  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    if (strcmp (ir_graph_output (model->main, i)->name, wanted) == 0)
      return ir_graph_output (model->main, i);
  return NULL;
}

/* What is mutable and becomes something, and what else the check has to be told. */
static void
find_states (IrTrainer *trainer, const char *const *norms)
{
  const IrModel *model = trainer->step.model;
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrValue *out = ir_value_is_mutable (values[i]) ? find_output (model, values[i]->name)
                                                           : NULL;
      const IrValue *twin = trainer->check.model != NULL
                                ? ir_graph_find_value (trainer->check.model->main, values[i]->name)
                                : NULL;
      if (out == NULL)
        continue;
      IrTrainerState state = { g_strdup (values[i]->name),
                               values[i]->id,
                               out->id,
                               twin != NULL && ir_value_is_mutable (twin) ? twin->id : 0,
                               norms != NULL && g_strv_contains (norms, values[i]->name),
                               ir_tensor_ref (values[i]->initializer),
                               NAN,
                               NAN };
      trainer->state_bytes += ir_tensor_n_bytes (state.tensor);
      g_array_append_val (trainer->states, state);
    }
}

/**
 * ir_trainer_new:
 * @setup: graphs, samples and how to train; its samples are taken over
 * @error: return location for an error
 *
 * Fails with %IR_EXEC_ERROR_INPUT, naming the file, where samples do not fit the inputs, and as
 * ir_executable_new() does.
 *
 * Returns: (transfer full) (nullable): a training run before its first step
 */
IrTrainer *
ir_trainer_new (const IrTrainerSetup *setup, GError **error)
{
  g_autoptr (IrTrainer) trainer = g_new0 (IrTrainer, 1);
  const IrValue *rate = find_input (setup->step, setup->rate_input);

  trainer->samples = setup->samples;
  trainer->batch = setup->batch;
  trainer->epochs = setup->epochs;
  trainer->rate = setup->rate;
  trainer->run = setup->run;
  trainer->run.alternate = TRUE;
  trainer->norms = setup->norms != NULL;
  trainer->states = g_array_new (FALSE, TRUE, sizeof (IrTrainerState));
  g_array_set_clear_func (trainer->states, state_clear);
  if (rate == NULL || ir_graph_n_outputs (setup->step->main) == 0)
    return fail (error, IR_EXEC_ERROR_INPUT, "the graph has no input \"%s\" or no output",
                 setup->rate_input),
           NULL;
  trainer->rate_input = rate->id;
  guint64 n = ir_samples_n_training (trainer->samples);
  if (trainer->batch == 0 || trainer->batch > n)
    return fail (error, IR_EXEC_ERROR_INPUT,
                 "a batch of %" G_GUINT64_FORMAT " samples cannot be taken from %" G_GUINT64_FORMAT
                 "; give a smaller one (--batch)",
                 trainer->batch, n),
           NULL;
  if (!pass_init (&trainer->step, trainer, setup->step, error) ||
      (setup->check != NULL && !pass_init (&trainer->check, trainer, setup->check, error)))
    return NULL;
  find_states (trainer, setup->norms);
  if (trainer->states->len == 0)
    return fail (error, IR_EXEC_ERROR_INPUT, "no initializer changes from step to step"), NULL;
  return g_steal_pointer (&trainer);
}

/**
 * ir_trainer_free:
 * @trainer: (transfer full) (nullable): a training run
 */
void
ir_trainer_free (IrTrainer *trainer)
{
  if (trainer == NULL)
    return;
  pass_clear (&trainer->step);
  pass_clear (&trainer->check);
  g_clear_pointer (&trainer->states, g_array_unref);
  ir_samples_free (trainer->samples);
  g_free (trainer);
}

/* -- one batch -- */

static IrTrainerState *
state_at (const IrTrainer *trainer, guint index)
{
  return &g_array_index (trainer->states, IrTrainerState, index);
}

/* Memory for batches of @rows, where those that are there have another size. */
static gboolean
make_batches (Pass *pass, const IrSamples *samples, guint64 rows, GError **error)
{
  if (pass->batch_rows == rows)
    return TRUE;
  g_ptr_array_set_size (pass->batches, 0);
  pass->batch_rows = 0;
  for (guint i = 0; i < samples->sources->len; i++)
    {
      IrTensor *batch = ir_samples_new_batch (samples, i, rows, error);
      if (batch == NULL)
        return FALSE;
      g_ptr_array_add (pass->batches, batch);
    }
  pass->batch_rows = rows;
  return TRUE;
}

/* One that a run was left with, and still reads, is left to it. */
static gboolean
reclaim (Pass *pass, const IrSamples *samples, guint source, GError **error)
{
  if (ir_tensor_reclaim (pass->batches->pdata[source]))
    return TRUE;
  IrTensor *batch = ir_samples_new_batch (samples, source, pass->batch_rows, error);
  if (batch == NULL)
    return FALSE;
  ir_tensor_unref (pass->batches->pdata[source]);
  pass->batches->pdata[source] = batch;
  return TRUE;
}

static GHashTable *
new_inputs (const IrTrainer *trainer, const Pass *pass)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  gboolean check = pass == &trainer->check;

  for (guint i = 0; i < pass->batches->len; i++)
    g_hash_table_insert (inputs, GUINT_TO_POINTER (pass->inputs[i]),
                         ir_tensor_ref (pass->batches->pdata[i]));
  for (guint i = 0; i < trainer->states->len; i++)
    {
      const IrTrainerState *state = state_at (trainer, i);
      IrValueId id = check ? state->check : state->in;
      if (id != 0)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (id), ir_tensor_ref (state->tensor));
    }
  return inputs;
}

/* The first outputs: loss, and accuracy where there is one. */
static void
read_result (const Pass *pass, const IrRun *run, IrTrainerResult *result)
{
  const IrGraph *graph = pass->model->main;
  const IrTensor *loss = ir_run_value (run, ir_graph_output (graph, 0)->id);
  const IrValue *second = ir_graph_n_outputs (graph) > 1 ? ir_graph_output (graph, 1) : NULL;
  const IrTensor *accuracy = second != NULL && !g_str_has_suffix (second->name, SUFFIX)
                                 ? ir_run_value (run, second->id)
                                 : NULL;

  result->loss = loss != NULL ? ir_tensor_get_double (loss, 0) : NAN;
  result->accuracy = accuracy != NULL ? ir_tensor_get_double (accuracy, 0) : NAN;
}

/* -- NaN -- */

static gboolean
floats_are_finite (const float *data, guint64 n)
{
  guint bad = 0;

  for (guint64 i = 0; i < n; i++)
    bad |= !(fabsf (data[i]) <= FLT_MAX);
  return bad == 0;
}

static gboolean
is_finite (const IrTensor *tensor)
{
  guint64 n = ir_tensor_n_elements (tensor);

  if (ir_tensor_dtype (tensor) == IR_DTYPE_FLOAT)
    return floats_are_finite (ir_tensor_data (tensor), n);
  for (guint64 i = 0; ir_dtype_is_float (ir_tensor_dtype (tensor)) && i < n; i++)
    if (!isfinite (ir_tensor_get_double (tensor, i)))
      return FALSE;
  return TRUE;
}

static gboolean
gave_numbers (const IrTrainer *trainer, const IrRun *run, const IrTrainerResult *result)
{
  if (!isfinite (result->loss))
    return FALSE;
  for (guint i = 0; i < trainer->states->len; i++)
    {
      const IrTensor *tensor = ir_run_value (run, state_at (trainer, i)->out);
      if (tensor == NULL || !is_finite (tensor))
        return FALSE;
    }
  return TRUE;
}

/* A sample of the batch that is no number: the file and the row in it. */
static gboolean
say_sample (IrTrainer *trainer, GError **error)
{
  guint64 per_epoch = ir_trainer_steps_per_epoch (trainer), step = trainer->place.step;

  for (guint i = 0; i < trainer->step.batches->len; i++)
    {
      const IrTensor *batch = trainer->step.batches->pdata[i];
      guint64 n = ir_tensor_n_elements (batch) / trainer->batch, at = 0;
      if (is_finite (batch))
        continue;
      while (isfinite (ir_tensor_get_double (batch, at)))
        at++;
      guint64 row = trainer->samples->order[step % per_epoch * trainer->batch + at / MAX (n, 1)];
      return fail (error, IR_EXEC_ERROR_INPUT,
                   "%s: row %" G_GUINT64_FORMAT
                   " has a number that is not finite (%g), met at step "
                   "%" G_GUINT64_FORMAT,
                   ir_samples_source (trainer->samples, i)->file, row,
                   ir_tensor_get_double (batch, at), step + 1);
    }
  return TRUE;
}

/* The first node in the order of the run with NaN, else with infinities, in what it gives. */
static const IrNode *
first_bad (const IrRun *run,
           gboolean infinities,
           const IrValue **value,
           const IrTensorStats **stats)
{
  for (guint i = 0; i < run->schedule->items->len; i++)
    {
      const IrNode *node = ir_model_node (
          run->model, g_array_index (run->schedule->items, IrScheduleItem, i).node);
      for (guint k = 0; k < node->n_outputs; k++)
        {
          *value = node->outputs[k];
          *stats = *value != NULL
                       ? g_hash_table_lookup (run->stats, GUINT_TO_POINTER ((*value)->id))
                       : NULL;
          if (*stats != NULL && ((*stats)->n_nan > 0 ||
                                 (infinities && (*stats)->n_pos_inf + (*stats)->n_neg_inf > 0)))
            return node;
        }
    }
  return NULL;
}

/* The same step once more, with a look at every value. */
static gboolean
say_where (IrTrainer *trainer, GHashTable *inputs, guint64 seed, GError **error)
{
  IrRunOptions options = trainer->run;
  const IrValue *value;
  const IrTensorStats *stats;

  options.capture = IR_CAPTURE_STATS;
  options.alternate = FALSE;
  options.control = NULL;
  options.seed = seed;
  g_autoptr (IrExecutable) executable = ir_executable_new (trainer->step.model, &options, NULL);
  g_autoptr (IrRun)
      run = executable != NULL ? ir_executable_run (executable, inputs, NULL, NULL, NULL) : NULL;
  const IrNode *node = run != NULL ? first_bad (run, FALSE, &value, &stats) : NULL;
  if (run != NULL && node == NULL)
    node = first_bad (run, TRUE, &value, &stats);
  guint64 step = trainer->place.step + 1;
  if (node == NULL)
    return fail (error, IR_EXEC_ERROR_KERNEL,
                 "step %" G_GUINT64_FORMAT ": the loss or a parameter is no finite number any more",
                 step);
  trainer->bad_node = node->id;
  g_autofree char *label = ir_node_label (node);
  return fail (error, IR_EXEC_ERROR_KERNEL,
               "step %" G_GUINT64_FORMAT ": %s is the first node that gives numbers that are not "
               "finite: %s has %" G_GUINT64_FORMAT " NaN and %" G_GUINT64_FORMAT
               " infinities in %" G_GUINT64_FORMAT " elements",
               step, label, value->name, stats->n_nan, stats->n_pos_inf + stats->n_neg_inf,
               stats->n);
}

/* -- steps -- */

static void
take_states (IrTrainer *trainer, const IrRun *run)
{
  for (guint i = 0; i < trainer->states->len; i++)
    {
      IrTrainerState *state = state_at (trainer, i);
      IrTensor *fresh = ir_tensor_ref (ir_run_value (run, state->out));
      ir_tensor_unref (state->tensor);
      state->tensor = fresh;
    }
}

/* Sums of squares of what is floating-point: statistics and states of the optimizer aside */
static void
add_squares (const IrTensor *before, const IrTensor *after, double *length, double *change)
{
  const guint64 n = ir_tensor_n_elements (after);

  if (ir_tensor_dtype (after) == IR_DTYPE_FLOAT)
    {
      const float *old = ir_tensor_data (before), *fresh = ir_tensor_data (after);
      for (guint64 i = 0; i < n; i++)
        {
          const double by = (double) fresh[i] - old[i];
          *length += (double) fresh[i] * fresh[i];
          *change += by * by;
        }
      return;
    }
  for (guint64 i = 0; i < n; i++)
    {
      const double fresh = ir_tensor_get_double (after, i);
      const double by = fresh - ir_tensor_get_double (before, i);
      *length += fresh * fresh;
      *change += by * by;
    }
}

/* Of all that norms were asked for together. */
static void
measure_norms (const IrTrainer *trainer, const IrRun *run, IrTrainerResult *result)
{
  double length = 0, change = 0;

  for (guint i = 0; i < trainer->states->len; i++)
    {
      IrTrainerState *state = state_at (trainer, i);
      const IrTensor *fresh = ir_run_value (run, state->out);
      double squares = 0, moved = 0;
      if (!state->measured || !ir_dtype_is_float (ir_tensor_dtype (fresh)))
        continue;
      add_squares (state->tensor, fresh, &squares, &moved);
      state->weights = sqrt (squares);
      state->update = sqrt (moved);
      length += squares;
      change += moved;
    }
  result->weights = sqrt (length);
  result->update = sqrt (change);
}

static guint64
n_steps (const IrTrainer *trainer)
{
  return trainer->epochs * ir_trainer_steps_per_epoch (trainer);
}

/* All that a step is given; what is random in it follows from its number. */
static GHashTable *
step_inputs (IrTrainer *trainer, double rate, GError **error)
{
  guint64 per_epoch = ir_trainer_steps_per_epoch (trainer), step = trainer->place.step;

  if (!make_batches (&trainer->step, trainer->samples, trainer->batch, error))
    return NULL;
  for (guint i = 0; i < trainer->step.batches->len; i++)
    {
      if (!reclaim (&trainer->step, trainer->samples, i, error))
        return NULL;
      ir_samples_fill (trainer->samples, i, step / per_epoch, step % per_epoch * trainer->batch,
                       trainer->step.batches->pdata[i]);
    }
  GHashTable *inputs = new_inputs (trainer, &trainer->step);
  g_hash_table_insert (inputs, GUINT_TO_POINTER (trainer->rate_input),
                       ir_tensor_new_scalar (IR_DTYPE_DOUBLE, rate));
  return inputs;
}

static void
count_step (IrTrainer *trainer, const IrRun *run, const IrTrainerResult *result)
{
  if (trainer->place.step % ir_trainer_steps_per_epoch (trainer) == 0)
    trainer->place.loss = trainer->place.right = 0;
  trainer->place.step++;
  trainer->place.loss += result->loss;
  trainer->place.right += result->accuracy;
  trainer->peak_bytes = MAX (trainer->peak_bytes, run->trace->peak_bytes + trainer->state_bytes);
  trainer->held = run->held;
  trainer->planned_bytes = run->memplan != NULL ? run->memplan->peak_bytes : 0;
}

/**
 * ir_trainer_step:
 * @trainer: a training run that is not done
 * @cancellable: (nullable): ends the step; then it has not been
 * @result: (out): what it gave
 * @error: return location for an error
 *
 * Runs the next batch and takes what parameters and states become.
 *
 * Fails with %IR_EXEC_ERROR_KERNEL where the loss or a parameter would not be finite, naming the
 * first node that gives such a number; parameters stay what they were before.
 *
 * Returns: %TRUE if the step was made
 */
gboolean
ir_trainer_step (IrTrainer *trainer,
                 GCancellable *cancellable,
                 IrTrainerResult *result,
                 GError **error)
{
  guint64 step = trainer->place.step, per_epoch = ir_trainer_steps_per_epoch (trainer);
  guint64 seed = ir_mix64 (ir_mix64 (trainer->samples->seed) ^ ir_mix64 (step + 1));
  gint64 start = g_get_monotonic_time ();

  *result = (IrTrainerResult){ .step = step + 1,
                               .epoch = step / per_epoch + 1,
                               .weights = NAN,
                               .update = NAN,
                               .rate = ir_rate_at (&trainer->rate, step, n_steps (trainer),
                                                   per_epoch) };
  g_autoptr (GHashTable) inputs = step_inputs (trainer, result->rate, error);
  if (inputs == NULL)
    return FALSE;
  ir_executable_set_seed (trainer->step.executable, seed);
  g_autoptr (IrRun)
      run = ir_executable_run (trainer->step.executable, inputs, cancellable, NULL, error);
  if (run == NULL)
    return FALSE;
  read_result (&trainer->step, run, result);
  result->allocated_bytes = run->trace->allocated_bytes;
  if (!gave_numbers (trainer, run, result))
    {
      if (!say_sample (trainer, error))
        return FALSE;
      trainer->diverged = TRUE;
      return say_where (trainer, inputs, seed, error);
    }
  if (trainer->norms)
    measure_norms (trainer, run, result);
  take_states (trainer, run);
  count_step (trainer, run, result);
  result->ms = (double) (g_get_monotonic_time () - start) / 1000;
  return TRUE;
}

/**
 * ir_trainer_drive:
 * @trainer: a training run, between two steps
 * @control: (nullable): who drives the nodes of the steps from now on; lives as long as he does
 * @error: return location for an error
 *
 * Steps that nobody drives are planned anew without him, so that they are as fast as before.
 *
 * Returns: %TRUE if it is so
 */
gboolean
ir_trainer_drive (IrTrainer *trainer, IrRunControl *control, GError **error)
{
  IrRunOptions run = trainer->run;

  if (run.control == control)
    return TRUE;
  run.control = control;
  IrExecutable *executable = ir_executable_new (trainer->step.model, &run, error);
  if (executable == NULL)
    return FALSE;
  ir_executable_free (trainer->step.executable);
  trainer->step.executable = executable;
  trainer->run.control = control;
  return TRUE;
}

/* As the graph takes them; where that does not say, as many as in a step. */
static guint64
check_batch (const IrTrainer *trainer)
{
  const IrValue *input = ir_model_value (trainer->check.model, trainer->check.inputs[0]);

  return ir_dim_is_known (input->type->dims[0]) ? (guint64) MAX (input->type->dims[0], 1)
                                                : trainer->batch;
}

/* Rows @first .. of what is held out, @n of them. */
static gboolean
check_rows (IrTrainer *trainer,
            guint64 first,
            guint64 n,
            GCancellable *cancellable,
            IrTrainerResult *result,
            GError **error)
{
  Pass *pass = &trainer->check;

  if (!make_batches (pass, trainer->samples, n, error))
    return FALSE;
  for (guint i = 0; i < pass->batches->len; i++)
    {
      if (!reclaim (pass, trainer->samples, i, error))
        return FALSE;
      ir_samples_fill_held_out (trainer->samples, i, first, pass->batches->pdata[i]);
    }
  g_autoptr (GHashTable) inputs = new_inputs (trainer, pass);
  g_autoptr (IrRun) run = ir_executable_run (pass->executable, inputs, cancellable, NULL, error);
  if (run == NULL)
    return FALSE;
  read_result (pass, run, result);
  return TRUE;
}

/**
 * ir_trainer_check:
 * @trainer: a training run whose samples hold some out, with a graph to check by
 * @cancellable: (nullable): ends it
 * @result: (out): loss and accuracy, means over all that are held out
 * @error: return location for an error
 *
 * Returns: %TRUE if all of them were run through
 */
gboolean
ir_trainer_check (IrTrainer *trainer,
                  GCancellable *cancellable,
                  IrTrainerResult *result,
                  GError **error)
{
  guint64 n = trainer->samples->n_held_out, at_once = check_batch (trainer);
  double loss = 0, accuracy = 0;

  g_return_val_if_fail (trainer->check.executable != NULL && n > 0, FALSE);
  *result = (IrTrainerResult){ .step = trainer->place.step };
  for (guint64 first = 0; first < n; first += at_once)
    {
      guint64 rows = MIN (at_once, n - first);
      IrTrainerResult part = { 0 };
      if (!check_rows (trainer, first, rows, cancellable, &part, error))
        return FALSE;
      loss += part.loss * (double) rows;
      accuracy += part.accuracy * (double) rows;
    }
  result->loss = loss / (double) n;
  result->accuracy = accuracy / (double) n;
  return TRUE;
}

/* -- where it is -- */

/**
 * ir_trainer_holds_out:
 * @trainer: a training run
 *
 * Returns: whether some samples are held out, so that ir_trainer_check() has something to do
 */
gboolean
ir_trainer_holds_out (const IrTrainer *trainer)
{
  return trainer->check.executable != NULL && trainer->samples->n_held_out > 0;
}

/**
 * ir_trainer_is_done:
 * @trainer: a training run
 *
 * Returns: whether all epochs are over
 */
gboolean
ir_trainer_is_done (const IrTrainer *trainer)
{
  return trainer->place.step >= n_steps (trainer);
}

/**
 * ir_trainer_ends_epoch:
 * @trainer: a training run
 *
 * Returns: whether the last step was the last of an epoch
 */
gboolean
ir_trainer_ends_epoch (const IrTrainer *trainer)
{
  return trainer->place.step > 0 && trainer->place.step % ir_trainer_steps_per_epoch (trainer) == 0;
}

/**
 * ir_trainer_has_diverged:
 * @trainer: a training run
 *
 * Returns: whether a step failed because its numbers were not finite
 */
gboolean
ir_trainer_has_diverged (const IrTrainer *trainer)
{
  return trainer->diverged;
}

/**
 * ir_trainer_bad_node:
 * @trainer: a training run that has diverged
 *
 * Returns: the node of the graph of its step that was the first to give numbers that are not finite; 0: it
 *   is not known
 */
IrNodeId
ir_trainer_bad_node (const IrTrainer *trainer)
{
  return trainer->bad_node;
}

/**
 * ir_trainer_set_rate:
 * @trainer: a training run
 * @base: the learning rate that its schedule changes, from the next step on
 */
void
ir_trainer_set_rate (IrTrainer *trainer, double base)
{
  trainer->rate.base = base;
}

/**
 * ir_trainer_steps_per_epoch:
 * @trainer: a training run
 *
 * Returns: full batches in the samples; the few that are left are in another batch next time
 */
guint64
ir_trainer_steps_per_epoch (const IrTrainer *trainer)
{
  return ir_samples_n_training (trainer->samples) / trainer->batch;
}

/**
 * ir_trainer_peak_bytes:
 * @trainer: a training run
 *
 * Returns: most memory of values in a step, measured: parameters and states before and after it,
 *   and all between
 */
guint64
ir_trainer_peak_bytes (const IrTrainer *trainer)
{
  return trainer->peak_bytes;
}

/**
 * ir_trainer_held:
 * @trainer: a training run
 * @planned: (out): bytes of the arena of its plan
 *
 * Returns: what holding the budget of its options took in the last step
 */
IrHeld
ir_trainer_held (const IrTrainer *trainer, guint64 *planned)
{
  *planned = trainer->planned_bytes;
  return trainer->held;
}

/**
 * ir_trainer_states:
 * @trainer: a training run
 *
 * Returns: (transfer none): of #IrTrainerState; their tensors are those of now
 */
const GArray *
ir_trainer_states (const IrTrainer *trainer)
{
  return trainer->states;
}

/**
 * ir_trainer_place:
 * @trainer: a training run
 *
 * Returns: where it stands: with its states all that a run needs to go on from here
 */
IrTrainerPlace
ir_trainer_place (const IrTrainer *trainer)
{
  return trainer->place;
}

/**
 * ir_trainer_epoch_means:
 * @trainer: a training run
 * @loss: (out): mean over the steps of the epoch so far; NaN before the first
 * @accuracy: (out): likewise; NaN where there is none
 */
void
ir_trainer_epoch_means (const IrTrainer *trainer, double *loss, double *accuracy)
{
  guint64 n = trainer->place.step % ir_trainer_steps_per_epoch (trainer);

  if (n == 0)
    n = ir_trainer_steps_per_epoch (trainer);
  *loss = trainer->place.step > 0 ? trainer->place.loss / (double) n : NAN;
  *accuracy = trainer->place.step > 0 ? trainer->place.right / (double) n : NAN;
}

/**
 * ir_trainer_resume:
 * @trainer: a training run before its first step
 * @place: where the other one stood
 * @tensors: name -> #IrTensor: its states
 * @error: return location for an error
 *
 * Goes on where another run, of the same graph, samples and options, has left off: the same bits
 * follow. Fails with %IR_EXEC_ERROR_INPUT, naming a state that is missing or has another type.
 *
 * Returns: %TRUE if the next step is the one behind @place
 */
gboolean
ir_trainer_resume (IrTrainer *trainer,
                   const IrTrainerPlace *place,
                   GHashTable *tensors,
                   GError **error)
{
  for (guint i = 0; i < trainer->states->len; i++)
    {
      const IrTrainerState *state = state_at (trainer, i);
      const IrTensor *tensor = g_hash_table_lookup (tensors, state->name);
      if (tensor == NULL)
        return fail (error, IR_EXEC_ERROR_INPUT, "it has no \"%s\"", state->name);
      if (ir_tensor_dtype (tensor) != ir_tensor_dtype (state->tensor) ||
          ir_tensor_rank (tensor) != ir_tensor_rank (state->tensor) ||
          memcmp (ir_tensor_dims (tensor), ir_tensor_dims (state->tensor),
                  sizeof (gint64) * ir_tensor_rank (tensor)) != 0)
        return fail (error, IR_EXEC_ERROR_INPUT, "its \"%s\" is of another shape or type",
                     state->name);
    }
  for (guint i = 0; i < trainer->states->len; i++)
    {
      IrTrainerState *state = state_at (trainer, i);
      ir_tensor_unref (state->tensor);
      state->tensor = ir_tensor_ref (g_hash_table_lookup (tensors, state->name));
    }
  trainer->place = *place;
  return TRUE;
}
