/* Executables: the plan for each set of shapes that inputs have had, the checks of what is given,
 * and runs from their beginning to their end; runner.c goes through the nodes. */
#include "config.h"

#include <string.h>

#include "core/exec/lower/lower.h"
#include "core/exec/run/claims.h"
#include "core/exec/run/control.h"
#include "core/exec/run/detached.h"
#include "core/exec/run/parallel.h"
#include "core/exec/run/plan-check.h"
#include "core/exec/schedule/schedule.h"
#include "core/exec/run/tune.h"
#include "core/io/io.h"
#include "core/ir/pages.h"

struct _IrExecutable
{
  gatomicrefcount ref_count; /* of whoever has it, and of what was left behind */
  IrWorker *worker;
  IrPlanExceptions except; /* a copy of what the options have */
  IrModel *base;           /* a private copy without function calls */
  IrModel *source;
  IrRunOptions options;
  GArray *missing;    /* (nullable) of IrMissing: outputs of @source that @base lacks */
  GHashTable *failed; /* (nullable) IrNodeId -> text: nodes left out as their kernels failed */
  IrBackend without_blocks; /* what the options ask for, where no value is to be kept in blocks */
  IrThreads threads;
  IrPacked *packed;     /* what kernels make of constants */
  GPtrArray *plans;     /* of IrPrepared, by shapes of inputs, that of the last run first */
  IrPrepared *prepared; /* (nullable) the one of them for the shapes of the last run */
  guint64 constant_bytes;
};

#define MAX_PLANS 4 /* that are kept for shapes that may come again */

/* -- inputs -- */

static gboolean input_error (const IrValue *input, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
input_error (const IrValue *input, GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *found = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *needed = input->type != NULL
                                ? ir_type_to_string (input->graph->model->context, input->type)
                                : g_strdup ("a tensor");
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, "input %s: %s, needed is %s", input->name,
               found, needed);
  return FALSE;
}

/* Whether the tensor fits the declared type; equal symbols must get equal sizes. */
static gboolean
check_input (const IrValue *input, const IrTensor *tensor, GHashTable *symbols, GError **error)
{
  const IrType *type = input->type;
  IrContext *context = input->graph->model->context;

  if (type == NULL)
    return TRUE;
  g_autofree char *found = ir_type_to_string (context, ir_tensor_type (tensor, context));
  if (!ir_type_is_tensor (type))
    return ir_type_merge (context, type, ir_tensor_type (tensor, context)) != NULL ||
           input_error (input, error, "found %s, which is not of this kind", found);
  if (ir_tensor_is_container (tensor))
    return input_error (input, error, "found %s", found);
  if (type->dtype != IR_DTYPE_UNDEFINED && type->dtype != ir_tensor_dtype (tensor))
    return input_error (input, error, "found %s", found);
  if (type->rank == IR_RANK_UNKNOWN)
    return TRUE;
  if ((guint) type->rank != ir_tensor_rank (tensor))
    return input_error (input, error, "found %s", found);
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    {
      gint64 size = ir_tensor_dims (tensor)[i];
      if (ir_dim_is_known (type->dims[i]) && type->dims[i] != size)
        return input_error (input, error, "found %s", found);
      if (!ir_dim_is_symbolic (type->dims[i]))
        continue;
      gint64 *bound = g_hash_table_lookup (symbols, GINT_TO_POINTER (type->dims[i]));
      if (bound != NULL && *bound != size)
        {
          g_autofree char *symbol = ir_dim_to_string (context, type->dims[i]);
          return input_error (input, error,
                              "found %s, but another input of this run has %s = %" G_GINT64_FORMAT
                              "; where both are right, give the inputs shapes of their own "
                              "(--shape INPUT=1x128)",
                              found, symbol, *bound);
        }
      if (bound == NULL)
        g_hash_table_insert (symbols, GINT_TO_POINTER (type->dims[i]),
                             g_memdup2 (&size, sizeof size));
    }
  return TRUE;
}

static gboolean
check_ids (const IrGraph *graph, GHashTable *inputs, GHashTable *symbols, GError **error)
{
  GHashTableIter iter;
  gpointer key, tensor;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &key, &tensor))
    {
      const IrValue *value = ir_model_live_value (graph->model, GPOINTER_TO_UINT (key));
      if (value != NULL && value->graph == graph && ir_value_is_mutable (value))
        {
          if (!check_input (value, tensor, symbols, error))
            return FALSE;
          continue;
        }
      if (value == NULL || !ir_graph_has_input (graph, value))
        {
          g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                       "%s is not an input of the graph; “irscope info” lists the inputs",
                       value != NULL ? value->name : "A given value");
          return FALSE;
        }
      if (ir_value_constant (value) != NULL)
        return input_error (value, error, "it is a constant of the model and cannot be given");
    }
  return TRUE;
}

/* Checks all inputs and makes the key that says for which shapes a plan holds. */
static char *
check_inputs (const IrGraph *graph, GHashTable *inputs, GError **error)
{
  g_autoptr (GHashTable) symbols = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_autoptr (GString) key = g_string_new (NULL);

  if (!check_ids (graph, inputs, symbols, error))
    return NULL;
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);
      const IrTensor *tensor = input != NULL
                                   ? g_hash_table_lookup (inputs, GUINT_TO_POINTER (input->id))
                                   : NULL;
      if (input == NULL || (tensor == NULL && input->initializer != NULL))
        continue;
      if (tensor == NULL)
        {
          input_error (input, error, "no tensor is given");
          return NULL;
        }
      if (!check_input (input, tensor, symbols, error))
        return NULL;
      IrContext *context = graph->model->context;
      g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
      g_string_append_printf (key, "%u %s\n", input->id, type);
    }
  return g_string_free (g_steal_pointer (&key), FALSE);
}

/* -- a run -- */

static gboolean
make_arena (IrPrepared *prepared, gsize memory_limit, GError **error)
{
  const IrMemPlan *plan = prepared->memplan;

  if (prepared->arena != NULL || plan->peak_bytes == 0)
    return TRUE;
  if (plan->peak_bytes <= memory_limit)
    {
      prepared->arena = ir_pages_new (plan->peak_bytes);
      prepared->new_bytes += plan->peak_bytes;
    }
  if (prepared->arena == NULL)
    {
      g_autofree char *needed = g_format_size (plan->peak_bytes);
      g_autofree char *limit = g_format_size (memory_limit);
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_MEMORY,
                   "The values between the nodes need %s at once, the limit is %s; use smaller "
                   "inputs or raise the limit",
                   needed, limit);
      return FALSE;
    }
  return TRUE;
}

static void
state_clear (IrRunState *state)
{
  for (guint id = 0; id < state->prepared->n_values; id++)
    if (state->tensors[id] != NULL && !ir_steps_holds (state->prepared, id, state->tensors[id]))
      ir_tensor_unref (state->tensors[id]);
  ir_account_free (state->account);
  ir_claims_free (state->claims);
  ir_reuse_free (state->reuse);
  g_clear_pointer (&state->draws, g_hash_table_unref);
  ir_body_calls_free (state->body_calls, state->prepared->n_nodes);
  g_clear_pointer (&state->token_programs, g_hash_table_unref);
  ir_run_free_calls (state);
  g_free (state->tensors);
  g_free (state->ran);
  g_clear_pointer (&state->late, g_array_unref);
}

/* Who executed the nodes that ran at least once. */
static void
count_nodes (const IrRunState *state)
{
  const IrPrepared *prepared = state->prepared;

  for (guint id = 0; id < prepared->n_nodes; id++)
    {
      const IrKernelChoice *choice = &prepared->kernels->rows[id];
      if (!state->ran[id])
        continue;
      if (choice->kernel == NULL)
        state->run->n_control++;
      else if (choice->why == NULL)
        state->run->n_own++;
      else
        state->run->n_fallback++;
    }
}

/* What was allocated for values since the run before has told. */
static guint64
take_allocated (IrRunState *state)
{
  IrPrepared *prepared = state->prepared;
  guint64 bytes = ir_run_take_bytes (&state->allocated_bytes) + prepared->new_bytes;

  prepared->new_bytes = 0;
  for (guint i = 0; i < prepared->schedule->items->len; i++)
    bytes += ir_run_take_bytes (&prepared->steps[i].allocated_bytes);
  return bytes;
}

/**
 * ir_run_end:
 * @state: a run of which no more steps run, for whoever has it
 *
 * Writes what the run tells of itself: its nodes, times and memory.
 */
void
ir_run_end (IrRunState *state)
{
  const IrPrepared *prepared = state->prepared;
  IrTrace *trace = state->run->trace;
  guint64 align = prepared->memplan->align_bytes;

  count_nodes (state);
  if (state->n_done > 0)
    state->arena_bytes = MAX (state->arena_bytes, prepared->steps[state->n_done - 1].reach_bytes);
  trace->duration_ns = ir_run_elapsed_ns (state);
  trace->peak_bytes = state->peak_bytes;
  trace->allocated_bytes = take_allocated (state);
  trace->arena_bytes = (state->arena_bytes + align - 1) / align * align;
}

static gboolean
run_state (IrRunState *state, GHashTable *inputs, GError **error)
{
  gboolean done;

  if (state->options->before != NULL)
    state->reuse = ir_reuse_new (state->options->before, state);
  done = ir_steps_begin (state, inputs, error) && ir_run_schedule (state, error);
  ir_run_end (state);
  return done;
}

/* Captured values have a budget of their own unless the user has set a limit on everything. */
static gsize
memory_limit (const IrExecutable *executable)
{
  const IrRunOptions *options = &executable->options;

  if (options->memory_limit != 0)
    return options->memory_limit;
  return ir_exec_default_memory_limit () +
         (options->capture != IR_CAPTURE_NONE ? ir_capture_budget (options) : 0);
}

static guint64
constant_bytes (const IrModel *model)
{
  guint64 bytes = 0;

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = model->values->pdata[i];
      if (value->state == IR_STATE_LIVE && value->initializer != NULL)
        bytes += ir_tensor_n_bytes (value->initializer);
    }
  return bytes;
}

static void
plan_free (gpointer data)
{
  IrPrepared *prepared = data;

  g_clear_pointer (&prepared->tuner, ir_tuner_free);
  g_clear_pointer (&prepared->parallel, ir_parallel_free);
  ir_prepared_free (prepared);
}

/* Leaves room for one more. Plans that wait for their shapes to come again, with an arena and
 * packed constants each, hold at most half of the memory that a run may use. */
static void
forget_plans (IrExecutable *executable)
{
  GPtrArray *plans = executable->plans;
  guint64 held = 0;
  guint n = 0;

  for (; n < MIN (plans->len, MAX_PLANS - 1); n++)
    {
      held += ((IrPrepared *) plans->pdata[n])->memplan->peak_bytes + executable->constant_bytes;
      if (held > memory_limit (executable) / 2)
        break;
    }
  g_ptr_array_set_size (plans, (gint) n);
}

static IrPrepared *
find_plan (IrExecutable *executable, const char *shapes)
{
  GPtrArray *plans = executable->plans;

  for (guint i = 0; i < plans->len; i++)
    if (strcmp (((IrPrepared *) plans->pdata[i])->shapes, shapes) == 0)
      {
        IrPrepared *found = g_ptr_array_steal_index (plans, i);
        g_ptr_array_insert (plans, 0, found);
        return found;
      }
  return NULL;
}

static gboolean
prepare (IrExecutable *executable, GHashTable *inputs, GCancellable *cancellable, GError **error)
{
  g_autofree char *shapes = check_inputs (executable->base->main, inputs, error);

  if (shapes == NULL)
    return FALSE;
  if (executable->prepared == NULL || strcmp (executable->prepared->shapes, shapes) != 0)
    executable->prepared = find_plan (executable, shapes);
  if (executable->prepared == NULL)
    {
      forget_plans (executable);
      const IrPreparing from = { .base = executable->base,
                                 .inputs = inputs,
                                 .backend = executable->options.backend,
                                 .n_threads = ir_threads_n (executable->threads),
                                 .parallel = executable->options.budget != NULL
                                                 ? IR_PARALLEL_OFF
                                                 : executable->options.parallel,
                                 .budget = executable->options.budget,
                                 .without = executable->options.without,
                                 .except = executable->options.except,
                                 .packed = executable->packed,
                                 .control = ir_subgraph_run,
                                 .cancellable = cancellable };
      executable->prepared = ir_prepared_new (&from, g_steal_pointer (&shapes), error);
      if (executable->prepared != NULL)
        g_ptr_array_insert (executable->plans, 0, executable->prepared);
      if (executable->prepared != NULL && from.parallel == IR_PARALLEL_AUTO && from.n_threads > 1)
        executable->prepared->tuner = ir_tuner_new (from.backend, from.n_threads);
    }
  return executable->prepared != NULL && ir_tuner_next (executable->prepared, error) &&
         make_arena (executable->prepared, memory_limit (executable), error) &&
         ir_steps_make (executable->prepared, &executable->options, memory_limit (executable),
                        cancellable, error);
}

/* Decisions that are taken before there is a plan. */
static void
leave_out (IrExecutable *executable)
{
  IrRunOptions *options = &executable->options;

  if (options->control != NULL)
    options->without |= IR_DECISION_CHAINS | IR_DECISION_SPANS;
  if (options->before != NULL)
    options->without |= IR_DECISION_CHAINS; /* a node of one may be reused, and the next one not */
  if (options->without & IR_DECISION_SPANS)
    options->parallel = IR_PARALLEL_OFF;
  if ((options->without & IR_DECISION_BLOCKS) && options->backend->plan_blocks != NULL)
    {
      executable->without_blocks = *options->backend;
      executable->without_blocks.plan_blocks = NULL;
      options->backend = &executable->without_blocks;
    }
}

static void
drop_base (IrExecutable *executable)
{
  executable->prepared = NULL;
  g_clear_pointer (&executable->plans, g_ptr_array_unref);
  g_clear_pointer (&executable->missing, g_array_unref);
  g_clear_pointer (&executable->packed, ir_packed_unref);
  g_clear_pointer (&executable->base, ir_model_unref);
}

static void
copy_exceptions (IrExecutable *executable)
{
  const IrPlanExceptions *except = executable->options.except;

  if (except == NULL)
    return;
  executable->except = *except;
  executable->except.values = g_memdup2 (except->values, except->n_values);
  executable->options.except = &executable->except;
}

/* The graph that runs: that of the file without function calls, and without what cannot run. */
static gboolean
make_base (IrExecutable *executable, GError **error)
{
  executable->base = ir_exec_lower (executable->source, executable->options.backend, error);
  if (executable->base == NULL)
    return FALSE;
  if (executable->options.partial)
    executable->missing = ir_exec_omit (executable->base, executable->options.backend,
                                        executable->failed);
  executable->plans = g_ptr_array_new_with_free_func (plan_free);
  executable->constant_bytes = constant_bytes (executable->base);
  executable->packed = executable->options.without & IR_DECISION_PREPACK ? ir_packed_new_closed ()
                                                                         : ir_packed_new ();
  return TRUE;
}

/**
 * ir_executable_new:
 * @model: the model to run; it may be edited later, the executable keeps what it is now
 * @options: (nullable): how to run; %NULL: all defaults
 * @error: return location for an error
 *
 * Takes a private copy of @model, expands the functions that it defines, and finds a kernel for
 * every node, so that what cannot run is said before inputs are asked for.
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED, naming the first node that cannot run (but for partial
 * runs, which leave it out), and with an %IR_IO_ERROR if the file under @model has changed.
 *
 * Returns: (transfer full) (nullable): the executable; to be used by one thread at a time
 */
IrExecutable *
ir_executable_new (IrModel *model, const IrRunOptions *options, GError **error)
{
  g_return_val_if_fail (model != NULL, NULL);
  g_autoptr (IrExecutable) executable = g_new0 (IrExecutable, 1);

  g_atomic_ref_count_init (&executable->ref_count);
  if (!ir_model_check_file (model, error))
    return NULL;
  if (options != NULL)
    executable->options = *options;
  if (executable->options.chosen != NULL)
    g_array_ref (executable->options.chosen);
  executable->worker = executable->options.worker != NULL
                           ? ir_worker_ref (executable->options.worker)
                           : ir_worker_new ();
  copy_exceptions (executable);
  if (executable->options.backend == NULL)
    executable->options.backend = ir_backend_require (NULL, NULL);
  leave_out (executable);
  executable->source = ir_model_ref (model);
  if (!make_base (executable, error))
    return NULL;
  executable->threads = ir_threads_of (executable->options.n_threads,
                                       executable->options.deterministic);
  if (!ir_schedule_check (executable->base, executable->options.backend, error))
    return NULL;
  return g_steal_pointer (&executable);
}

/**
 * ir_executable_free:
 * @executable: (transfer full) (nullable): an executable
 *
 * What a run still needs that was left behind stays until it ends.
 */
void
ir_executable_free (IrExecutable *executable)
{
  if (executable == NULL || !g_atomic_ref_count_dec (&executable->ref_count))
    return;
  g_clear_pointer (&executable->worker, ir_worker_unref);
  g_free ((gpointer) executable->except.values);
  g_clear_pointer (&executable->options.chosen, g_array_unref);
  drop_base (executable);
  g_clear_pointer (&executable->failed, g_hash_table_unref);
  g_clear_pointer (&executable->source, ir_model_unref);
  g_free (executable);
}

/**
 * ir_executable_leave_out:
 * @executable: an executable whose options said partial
 * @run: where a node failed: the run up to there
 * @error: return location for an error
 *
 * Leaves the node out whose kernel has failed, with what waits for it, so that the next run gives
 * the outputs that can be had; its IrRun.missing names the others.
 *
 * Returns: %FALSE with @error unset if the run did not end by a kernel
 */
gboolean
ir_executable_leave_out (IrExecutable *executable, const IrRun *run, GError **error)
{
  if (!executable->options.partial || run->failed_node == 0 ||
      !g_error_matches (run->error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL))
    return FALSE;
  if (executable->failed == NULL)
    executable->failed = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  ir_worker_wait (executable->worker);
  if (!g_hash_table_insert (executable->failed, GUINT_TO_POINTER (run->failed_node),
                            g_strdup (run->error->message)))
    return FALSE;
  drop_base (executable);
  return make_base (executable, error);
}

/* -- runs that may be left -- */

static void
detached_free (gpointer data)
{
  IrDetached *self = data;

  g_clear_pointer (&self->run, ir_run_unref);
  g_clear_pointer (&self->partial, ir_run_unref);
  g_clear_error (&self->error);
  g_hash_table_unref (self->inputs);
  g_clear_object (&self->cancellable);
  ir_executable_free (self->executable);
  g_free (self);
}

static IrRun *
new_run (const IrDetached *self)
{
  return ir_run_new (self->state.prepared, &self->executable->options, self->executable->missing,
                     self->inputs);
}

/* @inputs: may be changed by whoever has them, once he has left. */
static IrDetached *
detached_new (IrExecutable *executable,
              GHashTable *inputs,
              IrObserver *observer,
              GCancellable *cancellable)
{
  IrDetached *self = g_new0 (IrDetached, 1);
  GHashTableIter iter;
  gpointer id, tensor;

  g_atomic_ref_count_inc (&executable->ref_count);
  self->executable = executable;
  self->observer = observer;
  self->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
  self->new_run = new_run;
  self->inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    if (tensor != NULL) /* else it is not given */
      g_hash_table_insert (self->inputs, id, ir_tensor_ref (tensor));
  return self;
}

/* Without anything that could end it, and where others look on, a run stays with who waits. */
static gboolean
may_be_left (const IrDetached *self)
{
  const IrRunOptions *options = &self->executable->options;

  return (self->cancellable != NULL || options->time_limit_ms != 0) && self->observer == NULL &&
         !(options->checks & IR_RUN_CHECK_PLAN);
}

static void
say_waiting (gpointer data)
{
  const IrRunOptions *options = &((IrDetached *) data)->executable->options;

  if (options->waiting != NULL)
    options->waiting (options->progress_data);
}

/* Returns FALSE if it was left: then @self is gone. */
static gboolean
work_detached (IrDetached *self, const IrWorkerTask *work, IrWaiter *waiter)
{
  IrWorker *worker = self->executable->worker;

  if (may_be_left (self))
    {
      self->waiter = waiter;
      return ir_worker_call (worker, work, self);
    }
  ir_worker_wait (worker);
  work->run (self);
  return TRUE;
}

static void
prepare_detached (gpointer data)
{
  IrDetached *self = data;

  if (ir_model_check_file (self->executable->source, &self->error))
    prepare (self->executable, self->inputs, self->cancellable, &self->error);
}

/**
 * ir_executable_prepare:
 * @executable: an executable
 * @inputs: value id -> #IrTensor; overridable inputs may be left out
 * @cancellable: (nullable): as for ir_executable_run()
 * @error: return location for an error
 *
 * Makes the plan for the shapes of @inputs: types, schedule, memory, packed weights. A run with
 * inputs of these shapes then only runs.
 *
 * Fails with an %IR_EXEC_ERROR; the message names the input or the node.
 *
 * Returns: %TRUE if the plan is there
 */
gboolean
ir_executable_prepare (IrExecutable *executable,
                       GHashTable *inputs,
                       GCancellable *cancellable,
                       GError **error)
{
  static const IrWorkerTask work = { prepare_detached, ir_detached_leave, say_waiting,
                                     detached_free };
  IrWaiter waiter = { .error = error };

  g_return_val_if_fail (executable != NULL && inputs != NULL, FALSE);
  IrDetached *self = detached_new (executable, inputs, NULL, cancellable);
  if (!work_detached (self, &work, &waiter))
    return FALSE;
  gboolean done = self->error == NULL;
  if (!done)
    g_propagate_error (error, g_steal_pointer (&self->error));
  detached_free (self);
  return done;
}

/**
 * ir_executable_run:
 * @executable: an executable
 * @inputs: value id -> #IrTensor; overridable inputs and mutable initializers may be left out
 * @cancellable: (nullable): ends the run
 * @partial: (out) (optional) (nullable) (transfer full): where a node failed, the run up to there
 * @error: return location for an error
 *
 * Runs once. The plan is made anew when the shapes of the inputs differ from those of the last run.
 *
 * Who waits is free within 100 ms after @cancellable was cancelled or the limit of time is over. A
 * kernel that takes longer is left behind with all that it writes; the next run waits for it.
 *
 * Fails with an %IR_EXEC_ERROR; the message names the input or the node.
 *
 * Returns: (transfer full) (nullable): the run
 */
IrRun *
ir_executable_run (IrExecutable *executable,
                   GHashTable *inputs,
                   GCancellable *cancellable,
                   IrRun **partial,
                   GError **error)
{
  g_return_val_if_fail (executable != NULL && inputs != NULL, NULL);

  return ir_executable_run_observed (executable, inputs,
                                     ir_run_control_observer (executable->options.control),
                                     cancellable, partial, error);
}

/**
 * ir_executable_set_seed:
 * @executable: an executable that does not run
 * @seed: of random operators that have no seed of their own
 *
 * Another one for each run: plans do not depend on it.
 */
void
ir_executable_set_seed (IrExecutable *executable, guint64 seed)
{
  executable->options.seed = seed;
}

static void
begin_state (IrDetached *self)
{
  IrExecutable *executable = self->executable;
  IrPrepared *prepared = executable->prepared;
  const IrRunLimits limits = { .time_limit_ms = executable->options.time_limit_ms };
  IrRun *run = ir_run_new (prepared, &executable->options, executable->missing, self->inputs);

  self->state = (IrRunState){
    .options = &executable->options,
    .observer = self->observer,
    .prepared = prepared,
    .threads = executable->threads,
    .cancellable = self->cancellable,
    .run = run,
    .plan_check = run->plan_check,
    .turn = self->waiter != NULL ? &self->turn : NULL,
    .tensors = g_new0 (IrTensor *, prepared->n_values + 1),
    .ran = g_new0 (guint8, prepared->n_nodes + 1),
    .account = ir_account_new (),
    .claims = ir_claims_new (run, prepared->claimed),
    .memory_limit = memory_limit (executable),
    .capture_budget = ir_capture_budget (&executable->options),
    .kept_bytes = prepared->kept_bytes,
    .start_ns = ir_run_now_ns (),
  };
  self->state.watch.deadline_us = ir_run_limits_deadline (&limits);
  self->state.output_limit = executable->options.output_limit != 0
                                 ? executable->options.output_limit
                                 : ir_exec_default_memory_limit ();
  __atomic_store_n (&self->deadline_us, self->state.watch.deadline_us, __ATOMIC_RELEASE);
}

static void
run_detached (gpointer data)
{
  IrDetached *self = data;
  IrExecutable *executable = self->executable;

  if (!ir_model_check_file (executable->source, &self->error) ||
      !prepare (executable, self->inputs, self->cancellable, &self->error))
    return;
  begin_state (self);
  gboolean done = run_state (&self->state, self->inputs, &self->error);
  state_clear (&self->state);
  if (executable->options.alternate) /* who gave it wants its memory back */
    ir_steps_forget_views (executable->prepared);
  g_autoptr (IrRun) run = self->state.run;
  /* Contents from a file that changed meanwhile are worth nothing. */
  if (done && !ir_model_check_file (executable->source, &self->error))
    return;
  if (done)
    {
      ir_tuner_note (executable->prepared, run->trace);
      self->run = g_steal_pointer (&run);
      return;
    }
  run->error = g_error_copy (self->error);
  self->partial = g_steal_pointer (&run);
}

/**
 * ir_executable_run_observed:
 * @executable: an executable
 * @inputs: value id -> #IrTensor; overridable inputs may be left out
 * @observer: (nullable): who looks on, for as long as the run takes
 * @cancellable: (nullable): as for ir_executable_run()
 * @partial: (out) (optional) (nullable) (transfer full): likewise
 * @error: return location for an error
 *
 * As ir_executable_run(), by the very plan that it follows: who looks on changes nothing of it.
 *
 * Returns: (transfer full) (nullable): the run
 */
IrRun *
ir_executable_run_observed (IrExecutable *executable,
                            GHashTable *inputs,
                            IrObserver *observer,
                            GCancellable *cancellable,
                            IrRun **partial,
                            GError **error)
{
  static const IrWorkerTask work = { run_detached, ir_detached_leave, say_waiting, detached_free };
  IrWaiter waiter = { .error = error };
  IrDetached *self = detached_new (executable, inputs, observer, cancellable);
  IrRun *run = NULL;

  if (work_detached (self, &work, &waiter))
    {
      run = g_steal_pointer (&self->run);
      waiter.run = g_steal_pointer (&self->partial);
      if (run == NULL)
        g_propagate_error (error, g_steal_pointer (&self->error));
      detached_free (self);
    }
  if (partial != NULL)
    *partial = g_steal_pointer (&waiter.run);
  g_clear_pointer (&waiter.run, ir_run_unref);
  return run;
}

/**
 * ir_model_run:
 * @model: a model
 * @inputs: value id -> #IrTensor
 * @options: (nullable): how to run
 * @cancellable: (nullable): looked at while it is prepared and runs
 * @error: return location for an error
 *
 * Prepares, runs once and frees.
 *
 * Returns: (transfer full) (nullable): the run
 */
IrRun *
ir_model_run (IrModel *model,
              GHashTable *inputs,
              const IrRunOptions *options,
              GCancellable *cancellable,
              GError **error)
{
  g_autoptr (IrExecutable) executable = ir_executable_new (model, options, error);

  return executable != NULL ? ir_executable_run (executable, inputs, cancellable, NULL, error)
                            : NULL;
}

/**
 * ir_executable_run_what_can:
 * @executable: an executable; where its options said partial, failing kernels stop only what waits
 *   for them
 * @inputs: (element-type IrValueId IrTensor): as of ir_executable_run()
 * @cancellable: (nullable): stops the run
 * @partial: (out) (transfer full) (nullable): where nothing is returned, what was computed before the
 *   first failure
 * @error: return location for an error
 *
 * Runs, and where a kernel fails again without its node, until the outputs that can be had are there;
 * IrRun.missing names the others, with the node that stops each.
 *
 * Fails with the first failure if there is no other output.
 *
 * Returns: (transfer full) (nullable): the run
 */
IrRun *
ir_executable_run_what_can (IrExecutable *executable,
                            GHashTable *inputs,
                            GCancellable *cancellable,
                            IrRun **partial,
                            GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (IrRun) before = NULL, run = NULL;

  while (run == NULL)
    {
      g_autoptr (GError) local = NULL;
      g_autoptr (IrRun) part = NULL;

      run = ir_executable_run (executable, inputs, cancellable, &part, &local);
      if (run != NULL)
        break;
      if (failure == NULL)
        {
          failure = g_error_copy (local);
          before = part != NULL ? ir_run_ref (part) : NULL;
        }
      if (part == NULL || !ir_executable_leave_out (executable, part, NULL))
        break;
    }
  if (run != NULL && (failure == NULL || ir_graph_n_outputs (run->model->main) > 0))
    return g_steal_pointer (&run);
  *partial = g_steal_pointer (&before);
  g_propagate_error (error, g_steal_pointer (&failure));
  return NULL;
}
