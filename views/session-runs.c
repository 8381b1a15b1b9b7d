/* Running the graph: the original and the one on screen, on the same inputs, as often as the
 * settings say. Of the last two runs of the graph on screen the times of all nodes are kept; what
 * the values of the first were is compared with the second, and then let go. */
#include "config.h"

#include "views/session-runs.h"

#include "core/exec/capture.h"
#include "core/op/infer.h"
#include "views/count.h"
#include "views/session-private.h"

#include <math.h>
#include <string.h>

/* -- records -- */

static IrRunRecord *
record_ref (IrRunRecord *record)
{
  g_atomic_ref_count_inc (&record->ref_count);
  return record;
}

static void
record_unref (IrRunRecord *record)
{
  if (!g_atomic_ref_count_dec (&record->ref_count))
    return;
  g_clear_pointer (&record->run, ir_run_unref);
  g_clear_pointer (&record->nodes, g_array_unref);
  g_free (record);
}

static IrTimes
times_of_node (const IrRunRecord *record, IrNodeId node)
{
  if (record == NULL || node >= record->nodes->len)
    return (IrTimes){ 0 };
  return g_array_index (record->nodes, IrTimes, node);
}

/**
 * ir_session_forget_records:
 *
 * What ids name is something else from now on: no run can be compared with those that were.
 */
void
ir_session_forget_records (IrSession *self)
{
  g_clear_pointer (&self->record, record_unref);
  g_clear_pointer (&self->earlier, record_unref);
  g_clear_pointer (&self->change, g_free);
  g_clear_pointer (&self->output_changes, g_array_unref);
  g_clear_pointer (&self->kernel_times, g_ptr_array_unref);
  self->kernel_node = 0;
}

/**
 * ir_session_forget_after:
 *
 * The graph on screen is a new one, whose steps were made anew.
 */
void
ir_session_forget_after (IrSession *self)
{
  ir_job_free_later (g_steal_pointer (&self->runs[IR_SIDE_AFTER]), (GDestroyNotify) ir_run_unref);
  ir_session_forget_records (self);
}

/* -- settings -- */

const IrRunSettings *
ir_session_get_run_settings (IrSession *self)
{
  return &self->settings;
}

/**
 * ir_session_set_run_settings:
 * @settings: how runs are made from now on; the last one stays as it is
 */
void
ir_session_set_run_settings (IrSession *self, const IrRunSettings *settings)
{
  self->settings = *settings;
  self->settings.n_runs = MAX (settings->n_runs, 1);
}

/* -- shapes -- */

struct _IrSizer
{
  IrModel *model; /* frozen */
  GHashTable *inputs;
  guint64 seed;
};

/**
 * ir_session_new_sizer:
 *
 * Returns: (transfer full) (nullable): what ir_sizer_make() needs; %NULL: nothing is open
 */
IrSizer *
ir_session_new_sizer (IrSession *self)
{
  IrSizer *sizer;

  if (self->frame == NULL)
    return NULL;
  sizer = g_new0 (IrSizer, 1);
  sizer->model = ir_model_ref (self->frame->model);
  sizer->inputs = ir_session_copy_inputs (self->inputs);
  sizer->seed = self->seed;
  return sizer;
}

void
ir_sizer_free (IrSizer *sizer)
{
  ir_model_unref (sizer->model);
  g_hash_table_unref (sizer->inputs);
  g_free (sizer);
}

/**
 * ir_sizer_make:
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): a copy of the graph in which symbols have the sizes of the
 *   inputs that a run would take
 */
IrModel *
ir_sizer_make (const IrSizer *sizer, GError **error)
{
  g_autoptr (GHashTable)
      inputs = ir_session_all_inputs (sizer->model, sizer->inputs, sizer->seed, error);
  g_autoptr (IrEdit) edit = NULL;
  IrModel *copy;
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL)
    return NULL;
  copy = ir_model_clone (sizer->model);
  edit = ir_edit_new_import (copy);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      IrValue *input = ir_model_live_value (copy, GPOINTER_TO_UINT (id));

      if (input != NULL && ir_value_is_graph_input (input) && !ir_tensor_is_container (tensor))
        ir_infer_bind_input (edit, input, ir_tensor_rank (tensor), ir_tensor_dims (tensor));
    }
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return copy;
}

/* -- the job -- */

typedef struct
{
  IrTimeline *timeline;
  IrModel *original, *model; /* frozen */
  guint step;
  GHashTable *inputs;
  guint64 seed;
  IrRunSettings settings;
  IrRunRecord *before; /* (nullable) the run to compare with */
  IrJob *job;
  const char *what;
} RunRequest;

typedef struct
{
  IrRun *runs[IR_N_SIDES];
  GHashTable *inputs;
  IrDivergence *divergence; /* (nullable) */
  IrRunRecord *record;
  IrRunChange *change;    /* (nullable) */
  GArray *output_changes; /* (nullable) of IrOutputChange */
} Ran;

static void
run_request_free (gpointer data)
{
  RunRequest *request = data;

  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->original, ir_model_unref);
  g_clear_pointer (&request->model, ir_model_unref);
  g_clear_pointer (&request->inputs, g_hash_table_unref);
  g_clear_pointer (&request->before, record_unref);
  g_free (request);
}

static void
ran_free (gpointer data)
{
  Ran *ran = data;

  for (guint i = 0; i < IR_N_SIDES; i++)
    g_clear_pointer (&ran->runs[i], ir_run_unref);
  g_clear_pointer (&ran->inputs, g_hash_table_unref);
  g_free (ran->divergence);
  g_clear_pointer (&ran->record, record_unref);
  g_free (ran->change);
  g_clear_pointer (&ran->output_changes, g_array_unref);
  g_free (ran);
}

static void
on_node_progress (guint done, guint total, const IrNode *node, gpointer data)
{
  RunRequest *request = data;
  g_autofree char *text = g_strdup_printf ("%s: node %u of %u", request->what, done, total);

  ir_job_report (request->job, total > 0 ? (double) done / total : -1, text);
}

/* Those of @inputs that @model has: a run refuses others. */
static GHashTable *
inputs_of (const IrModel *model, GHashTable *inputs)
{
  GHashTable *own = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      const IrValue *value = ir_model_live_value (model, GPOINTER_TO_UINT (id));

      if (value != NULL && ir_graph_has_input (model->main, value))
        g_hash_table_insert (own, id, ir_tensor_ref (tensor));
    }
  return own;
}

/**
 * ir_session_run_once:
 * @executable: of @model
 * @model: what runs
 * @inputs: of any model of the history
 * @cancellable: (nullable): ends it
 * @error: return location for an error
 *
 * One that fails half way is a result too: what was computed before can be looked at, and the run
 * says which node failed.
 *
 * Returns: (transfer full) (nullable): the run
 */
IrRun *
ir_session_run_once (IrExecutable *executable,
                     IrModel *model,
                     GHashTable *inputs,
                     GCancellable *cancellable,
                     GError **error)
{
  g_autoptr (GHashTable) own = inputs_of (model, inputs);
  g_autoptr (GError) local = NULL;
  IrRun *partial = NULL, *run;

  run = ir_executable_run (executable, own, cancellable, &partial, &local);
  if (run == NULL && partial != NULL && partial->error == NULL && local != NULL)
    partial->error = g_error_copy (local);
  if (run == NULL && partial == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return run != NULL ? run : partial;
}

static IrExecutable *
prepare (RunRequest *request, IrModel *model, GError **error)
{
  IrRunOptions options = request->settings.options;

  options.seed = request->seed;
  options.progress = on_node_progress;
  options.progress_data = request;
  return ir_executable_new (model, &options, error);
}

static IrRun *
run_model (RunRequest *request,
           IrModel *model,
           GHashTable *inputs,
           GCancellable *cancellable,
           GError **error)
{
  g_autoptr (IrExecutable) executable = prepare (request, model, error);

  return executable != NULL ? ir_session_run_once (executable, model, inputs, cancellable, error)
                            : NULL;
}

/* -- times of several runs -- */

typedef struct
{
  GArray *total; /* of double, ms */
  GPtrArray
      *nodes; /* (element-type GArray): of double, ms; by node id, NULL where there are none */
} Samples;

static void
unref_samples (gpointer data)
{
  if (data != NULL)
    g_array_unref (data);
}

static void
take_sample (GArray **samples, double ms)
{
  if (*samples == NULL)
    *samples = g_array_new (FALSE, FALSE, sizeof (double));
  g_array_append_val (*samples, ms);
}

static void
take_trace (Samples *samples, const IrTrace *trace)
{
  take_sample (&samples->total, (double) trace->duration_ns / 1e6);
  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);

      if (item->node >= samples->nodes->len)
        g_ptr_array_set_size (samples->nodes, (int) item->node + 1);
      take_sample ((GArray **) &samples->nodes->pdata[item->node],
                   (double) (item->end_ns - item->start_ns) / 1e6);
    }
}

static IrRunRecord *
record_new (guint step, IrRun *run, const Samples *samples)
{
  IrRunRecord *record = g_new0 (IrRunRecord, 1);

  g_atomic_ref_count_init (&record->ref_count);
  record->step = step;
  record->run = ir_run_ref (run);
  if (samples->total != NULL)
    record->times = ir_times (samples->total);
  record->nodes = g_array_new (FALSE, TRUE, sizeof (IrTimes));
  g_array_set_size (record->nodes, samples->nodes->len);
  for (guint i = 0; i < samples->nodes->len; i++)
    if (samples->nodes->pdata[i] != NULL)
      g_array_index (record->nodes, IrTimes, i) = ir_times (samples->nodes->pdata[i]);
  return record;
}

/* Runs that are not counted: memory is touched for the first time, and which nodes are faster
 * beside each other is found out by the first fifteen. */
#define N_TUNING_RUNS 16

static guint
n_warming_up (const IrRunSettings *settings)
{
  return settings->options.parallel == IR_PARALLEL_AUTO ? N_TUNING_RUNS : settings->n_runs > 1;
}

/* The last one is the result; it ends early with one that fails or is cancelled. */
static IrRun *
run_often (RunRequest *request,
           GHashTable *inputs,
           IrRunRecord **record,
           GCancellable *cancellable,
           GError **error)
{
  g_autoptr (IrExecutable) executable = prepare (request, request->model, error);
  const guint n_early = n_warming_up (&request->settings);
  const guint n = n_early + request->settings.n_runs;
  g_autofree char *plain = g_strdup (request->what);
  Samples samples = { NULL, g_ptr_array_new_with_free_func (unref_samples) };
  IrRun *run = NULL;

  for (guint i = 0; executable != NULL && i < n; i++)
    {
      g_autofree char *what = n > 1 ? g_strdup_printf ("%s, run %u of %u", plain, i + 1, n)
                                    : g_strdup (plain);

      request->what = what;
      g_clear_pointer (&run, ir_run_unref);
      run = ir_session_run_once (executable, request->model, inputs, cancellable, error);
      if (run != NULL && run->trace != NULL && (i >= n_early || run->error != NULL))
        take_trace (&samples, run->trace);
      if (run == NULL || run->error != NULL || g_cancellable_is_cancelled (cancellable))
        break;
    }
  request->what = NULL;
  if (run != NULL)
    *record = record_new (request->step, run, &samples);
  if (samples.total != NULL)
    g_array_unref (samples.total);
  g_ptr_array_unref (samples.nodes);
  return run;
}

static gboolean
same_shape (const IrTensor *a, const IrTensor *b)
{
  if (ir_tensor_rank (a) != ir_tensor_rank (b) || ir_tensor_dtype (a) != ir_tensor_dtype (b))
    return FALSE;
  for (guint i = 0; i < ir_tensor_rank (a); i++)
    if (ir_tensor_dims (a)[i] != ir_tensor_dims (b)[i])
      return FALSE;
  return TRUE;
}

/* Inputs of both graphs: an edit may have added some that the original does not have. */
static GHashTable *
run_inputs (const RunRequest *request, GError **error)
{
  GHashTable *inputs = ir_session_all_inputs (request->model, request->inputs, request->seed,
                                              error);
  g_autoptr (GHashTable) before = NULL;
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL || request->step == 0)
    return inputs;
  before = ir_session_all_inputs (request->original, request->inputs, request->seed, NULL);
  if (before == NULL)
    return inputs;
  g_hash_table_iter_init (&iter, before);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      IrTensor *own = g_hash_table_lookup (inputs, id);

      if (own == NULL || same_shape (own, tensor)) /* else an edit gave it another shape */
        g_hash_table_insert (inputs, id, ir_tensor_ref (tensor));
    }
  return inputs;
}

/* Rounding of a few steps stays below this part of the value. */
#define DIVERGES 1e-3

static void
compare_value (const RunRequest *request, const Ran *ran, const IrValue *value, IrDivergence *found)
{
  IrValueId original;
  const IrTensor *before, *after = ir_run_value (ran->runs[IR_SIDE_AFTER], value->id);
  IrDifference difference;

  if (after == NULL)
    return;
  g_mutex_lock (&request->timeline->lock);
  original = ir_model_live_value (request->original, value->id) != NULL
                 ? value->id
                 : ir_lineage_original_value (request->timeline->model, value->id);
  g_mutex_unlock (&request->timeline->lock);
  before = original != 0 ? ir_run_value (ran->runs[IR_SIDE_BEFORE], original) : NULL;
  if (before == NULL)
    return;
  ir_trial_difference (before, after, &difference);
  found->n_compared++;
  if (found->first == 0 && difference.max_rel > DIVERGES && difference.max_abs > DIVERGES * 1e-2)
    {
      found->first = value->id;
      found->first_difference = difference;
    }
  if (difference.max_abs > found->worst_difference.max_abs)
    {
      found->worst = value->id;
      found->worst_difference = difference;
    }
}

/* In the order of the graph, so that the first that differs comes first. */
static IrDivergence *
find_divergence (const RunRequest *request, const Ran *ran, GCancellable *cancellable)
{
  IrDivergence *found = g_new0 (IrDivergence, 1);
  guint n;
  IrNode *const *order = ir_graph_order (request->model->main, &n);

  for (guint i = 0; i < n && !g_cancellable_is_cancelled (cancellable); i++)
    for (guint k = 0; k < order[i]->n_outputs; k++)
      if (order[i]->outputs[k] != NULL)
        compare_value (request, ran, order[i]->outputs[k], found);
  return found;
}

/* -- what changed against the run before -- */

static gboolean
same_inputs (GHashTable *a, GHashTable *b)
{
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, a);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      const IrTensor *other = g_hash_table_lookup (b, id);

      if (other != NULL && other != tensor && !ir_tensor_equal (other, tensor))
        return FALSE;
    }
  return TRUE;
}

/* Steps that were cut off may have given the same id to something else. */
static const IrTensor *
same_value_before (const IrRun *before, const IrValue *value)
{
  const IrValue *other = ir_model_live_value (before->model, value->id);

  return other != NULL && g_strcmp0 (other->name, value->name) == 0
             ? ir_run_value (before, value->id)
             : NULL;
}

static void
compare_output (const IrRun *before,
                const IrRun *after,
                const IrValue *value,
                IrRunChange *change,
                IrOutputChange *node)
{
  const IrTensor *now = ir_run_value (after, value->id),
                 *then = now != NULL ? same_value_before (before, value) : NULL;
  IrDifference difference;

  if (then == NULL)
    return;
  ir_trial_difference (then, now, &difference);
  change->n_compared++;
  change->n_differ += difference.max_abs > 0;
  node->compared = TRUE;
  node->difference.max_abs = MAX (node->difference.max_abs, difference.max_abs);
  node->difference.max_rel = MAX (node->difference.max_rel, difference.max_rel);
  if (difference.max_abs > change->worst_difference.max_abs)
    {
      change->worst = value->id;
      change->worst_difference = difference;
    }
}

static void
find_change (const RunRequest *request, Ran *ran, GCancellable *cancellable)
{
  const IrRunRecord *before = request->before;
  IrRunChange *change = ran->change = g_new0 (IrRunChange, 1);
  guint n;
  IrNode *const *order = ir_graph_order (request->model->main, &n);

  change->from_step = before->step;
  change->step = request->step;
  change->before = before->times;
  change->after = ran->record->times;
  change->other_inputs = !same_inputs (ir_run_inputs (before->run),
                                       ir_run_inputs (ran->record->run));
  ran->output_changes = g_array_new (FALSE, TRUE, sizeof (IrOutputChange));
  g_array_set_size (ran->output_changes, request->model->nodes->len);
  for (guint i = 0; i < n && !change->other_inputs && !g_cancellable_is_cancelled (cancellable);
       i++)
    for (guint k = 0; k < order[i]->n_outputs; k++)
      if (order[i]->outputs[k] != NULL)
        compare_output (before->run, ran->record->run, order[i]->outputs[k], change,
                        &g_array_index (ran->output_changes, IrOutputChange, order[i]->id));
}

/* -- running -- */

/* The original may be what cannot run, as when an edit repaired it: then there is no before. */
static gpointer
run_graph (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  RunRequest *request = data;
  Ran *ran = g_new0 (Ran, 1);

  request->job = job;
  ran->inputs = run_inputs (request, error);
  if (ran->inputs != NULL && request->step > 0)
    {
      request->what = "Running the original graph";
      ran->runs[IR_SIDE_BEFORE] = run_model (request, request->original, ran->inputs, cancellable,
                                             NULL);
    }
  request->what = request->step == 0 ? "Running the graph" : "Running the optimized graph";
  if (ran->inputs != NULL && !g_cancellable_is_cancelled (cancellable))
    ran->runs[IR_SIDE_AFTER] = run_often (request, ran->inputs, &ran->record, cancellable, error);
  if (ran->runs[IR_SIDE_AFTER] != NULL && request->step == 0)
    ran->runs[IR_SIDE_BEFORE] = ir_run_ref (ran->runs[IR_SIDE_AFTER]);
  if (request->step > 0 && ran->runs[IR_SIDE_BEFORE] != NULL && ran->runs[IR_SIDE_AFTER] != NULL)
    ran->divergence = find_divergence (request, ran, cancellable);
  if (ran->record != NULL && request->before != NULL && request->before->run != NULL)
    find_change (request, ran, cancellable);
  if (ran->runs[IR_SIDE_AFTER] != NULL && !g_cancellable_is_cancelled (cancellable))
    return ran;
  if (*error == NULL)
    g_cancellable_set_error_if_cancelled (cancellable, error);
  ran_free (ran);
  return NULL;
}

/* Of the run before only the times are needed any more. */
static void
take_record (IrSession *self, Ran *ran)
{
  g_clear_pointer (&self->earlier, record_unref);
  self->earlier = g_steal_pointer (&self->record);
  if (self->earlier != NULL)
    ir_job_free_later (g_steal_pointer (&self->earlier->run), (GDestroyNotify) ir_run_unref);
  self->record = g_steal_pointer (&ran->record);
  g_free (self->change);
  self->change = g_steal_pointer (&ran->change);
  g_clear_pointer (&self->output_changes, g_array_unref);
  self->output_changes = g_steal_pointer (&ran->output_changes);
}

static void
on_ran (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  RunRequest *request = data;
  Ran *ran = result;
  const IrRun *after;

  ir_session_end_job (self);
  if (ran == NULL)
    {
      ir_session_changed (self, IR_CHANGED_BUSY);
      ir_session_failed (self, "The graph could not run", error);
      return;
    }
  ir_session_clear_runs (self);
  for (guint i = 0; i < IR_N_SIDES; i++)
    self->runs[i] = g_steal_pointer (&ran->runs[i]);
  self->used_inputs = g_steal_pointer (&ran->inputs);
  self->run_step = request->step;
  self->divergence = g_steal_pointer (&ran->divergence);
  if (request->timeline == self->timeline)
    take_record (self, ran);
  ran_free (ran);
  after = self->runs[IR_SIDE_AFTER];
  ir_session_changed (self, IR_CHANGED_RUNS | IR_CHANGED_BUSY);
  if (self->overlay != NULL)
    ir_session_picture_changed (self);
  if (after->error != NULL)
    {
      ir_session_select_node (self, after->failed_node);
      ir_session_failed (self, "The graph ran only in part", after->error);
    }
  else if (self->divergence != NULL && self->divergence->first != 0)
    ir_session_message (self, "First tensor to differ from the original: %s, by %.3g",
                        ir_model_value (self->timeline->model, self->divergence->first)->name,
                        self->divergence->first_difference.max_abs);
}

/**
 * ir_session_run_graph:
 *
 * Runs the original graph and the graph at the cursor on the same inputs, keeping what
 * ir_session_set_run_settings() says.
 */
void
ir_session_run_graph (IrSession *self)
{
  RunRequest *request;

  if (self->frame == NULL)
    return;
  request = g_new0 (RunRequest, 1);
  request->timeline = ir_timeline_ref (self->timeline);
  request->original = ir_model_ref (self->timeline->original);
  request->model = ir_model_ref (self->frame->model);
  request->step = self->frame->to;
  request->inputs = ir_session_copy_inputs (self->inputs);
  request->seed = self->seed;
  request->settings = self->settings;
  request->before = self->record != NULL ? record_ref (self->record) : NULL;
  ir_session_start_job (self, "Running the graph",
                        &(IrJobSpec){ .run = run_graph,
                                      .data = request,
                                      .data_free = run_request_free,
                                      .result_free = ran_free,
                                      .done = on_ran });
}

/* -- what the last run took -- */

IrTimes
ir_session_get_run_times (IrSession *self)
{
  return self->record != NULL ? self->record->times : (IrTimes){ 0 };
}

IrTimes
ir_session_get_node_times (IrSession *self, IrNodeId node)
{
  return times_of_node (self->record, node);
}

const IrRunChange *
ir_session_get_run_change (IrSession *self)
{
  return self->change;
}

/**
 * ir_session_get_node_change:
 * @change: (out caller-allocates): what of @node is otherwise than in the run before
 *
 * Returns: whether both runs had the node
 */
gboolean
ir_session_get_node_change (IrSession *self, IrNodeId node, IrNodeChange *change)
{
  const IrOutputChange *outputs;

  *change = (IrNodeChange){ .before = times_of_node (self->earlier, node),
                            .after = times_of_node (self->record, node) };
  if (self->change == NULL || change->before.n == 0 || change->after.n == 0)
    return FALSE;
  if (node < self->output_changes->len)
    {
      outputs = &g_array_index (self->output_changes, IrOutputChange, node);
      change->compared = outputs->compared;
      change->difference = outputs->difference;
    }
  return TRUE;
}

/* -- values inside fused kernels -- */

struct _IrFusedValue
{
  IrTimeline *timeline;
  IrRun *run;
  guint step;
  IrValueId original;
  char *inside; /* (nullable) the node that computes what came of it */
};

/* The node of the run that the one that made @value ended up in. */
static char *
label_of_fused (IrSession *self, const IrValue *value)
{
  g_autoptr (GArray)
      nodes = value->producer != NULL
                  ? ir_session_descendants (self, value->producer->id, self->run_step)
                  : NULL;
  const IrNode *node = nodes != NULL && nodes->len > 0
                           ? ir_model_live_node (self->runs[IR_SIDE_AFTER]->model,
                                                 g_array_index (nodes, IrNodeId, 0))
                           : NULL;

  return node != NULL ? ir_node_label (node) : NULL;
}

/**
 * ir_session_new_fused_value:
 * @value: a value of any step
 *
 * Returns: (transfer full) (nullable): what finds the contents of @value in a run of a graph that
 *   does not have it; %NULL if there is no such run, or @value is none of the original graph
 */
IrFusedValue *
ir_session_new_fused_value (IrSession *self, IrValueId value)
{
  IrRun *run = self->runs[IR_SIDE_AFTER];
  const IrValue *original = self->timeline != NULL && (value & IR_OTHER_SIDE) == 0
                                ? ir_model_live_value (self->timeline->original, value)
                                : NULL;
  IrFusedValue *fused;

  if (run == NULL || run->error != NULL || original == NULL || self->run_step == 0 ||
      ir_model_live_value (run->model, value) != NULL)
    return NULL;
  fused = g_new0 (IrFusedValue, 1);
  fused->timeline = ir_timeline_ref (self->timeline);
  fused->run = ir_run_ref (run);
  fused->step = self->run_step;
  fused->original = value;
  fused->inside = label_of_fused (self, original);
  return fused;
}

void
ir_fused_value_free (IrFusedValue *value)
{
  ir_timeline_unref (value->timeline);
  ir_run_unref (value->run);
  g_free (value->inside);
  g_free (value);
}

/**
 * ir_fused_value_find:
 * @value: made by ir_session_new_fused_value()
 * @cancellable: (nullable): ends it
 * @how: (out) (transfer full): how the contents were had, as a sentence
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the contents, on the inputs of the run
 */
IrTensor *
ir_fused_value_find (IrFusedValue *value, GCancellable *cancellable, char **how, GError **error)
{
  g_autoptr (IrOriginals) originals = NULL;
  g_auto (IrFound) found = { 0 };
  g_autofree char *text = NULL;
  IrTensor *tensor;

  *how = NULL;
  g_mutex_lock (&value->timeline->lock);
  originals = ir_originals_new (value->timeline->model, value->step, value->run, error);
  g_mutex_unlock (&value->timeline->lock);
  if (originals == NULL)
    return NULL;
  tensor = ir_originals_find (originals, value->original, cancellable, &found, error);
  if (tensor == NULL)
    return NULL;
  text = ir_found_text (&found, value->run->model);
  *how = found.stands_for == 0 && value->inside != NULL
             ? g_strdup_printf ("It lies inside %s of the graph that ran: it was %s.",
                                value->inside, text)
             : g_strdup_printf ("The graph that ran does not have this value: it was %s.", text);
  return tensor;
}

/* -- as text -- */

/**
 * ir_ms_text:
 * @ms: a time
 *
 * Returns: (transfer full): in the unit in which it has three digits: "52.1 µs"
 */
char *
ir_ms_text (double ms)
{
  static const char *const units[] = { "µs", "ms", "s" };
  double number = ms * 1000;
  guint unit = 0;

  for (; number >= 999.5 && unit + 1 < G_N_ELEMENTS (units); unit++)
    number /= 1000;
  return number >= 100  ? g_strdup_printf ("%.0f %s", number, units[unit])
         : number >= 10 ? g_strdup_printf ("%.1f %s", number, units[unit])
                        : g_strdup_printf ("%.2f %s", number, units[unit]);
}

/* "11.9–20.3 µs"; each with its own unit where these differ. */
static char *
range_text (double low_ms, double high_ms)
{
  g_autofree char *low = ir_ms_text (low_ms), *high = ir_ms_text (high_ms);
  char *unit = strchr (low, ' ');

  if (g_str_has_suffix (high, unit))
    *unit = '\0';
  return g_strdup_printf ("%s–%s", low, high);
}

/**
 * ir_times_text:
 * @times: ms
 *
 * Returns: (transfer full): the median, and between which times half of the runs lie
 */
char *
ir_times_text (const IrTimes *times)
{
  g_autofree char *median = ir_ms_text (times->median), *range = NULL;

  if (times->n == 0)
    return g_strdup ("not measured");
  if (times->n == 1)
    return g_strdup_printf ("%s (one run)", median);
  range = range_text (times->q1, times->q3);
  return g_strdup_printf ("%s (%s, %u runs)", median, range, times->n);
}

/**
 * ir_times_tip:
 * @times: ms
 *
 * Returns: (transfer full) (nullable): what the figures of ir_times_text() are; %NULL where that
 *   needs no words
 */
char *
ir_times_tip (const IrTimes *times)
{
  g_autofree char *half = NULL, *all = NULL;

  if (times->n < 2)
    return NULL;
  half = range_text (times->q1, times->q3);
  all = range_text (times->min, times->max);
  return g_strdup_printf ("The median of %u runs; half of them took %s, all of them %s", times->n,
                          half, all);
}

/**
 * ir_difference_text:
 * @difference: of two tensors
 *
 * Returns: (transfer full): how large it is, absolute and relative
 */
char *
ir_difference_text (const IrDifference *difference)
{
  if (difference->max_abs == 0)
    return g_strdup ("the same numbers");
  if (!isfinite (difference->max_abs))
    return g_strdup ("NaN or infinite on one side, or of another shape");
  return g_strdup_printf ("off by at most %.3g, relative %.3g", difference->max_abs,
                          difference->max_rel);
}

/**
 * ir_run_change_text:
 * @change: what the last run changed
 * @model: that ran
 *
 * Returns: (transfer full): how many values differ, and the one that differs most
 */
char *
ir_run_change_text (const IrRunChange *change, const IrModel *model)
{
  g_autofree char *all = ir_count_text (change->n_compared),
                  *some = ir_count_text (change->n_differ);
  g_autofree char *worst = NULL;

  if (change->other_inputs)
    return g_strdup ("its inputs were others");
  if (change->n_compared == 0)
    return g_strdup ("no value was kept in both");
  if (change->worst == 0)
    return g_strdup_printf ("all %s values are the same numbers", all);
  worst = ir_difference_text (&change->worst_difference);
  return g_strdup_printf ("%s of %s values differ, most: %s, %s", some, all,
                          ir_model_value (model, change->worst)->name, worst);
}

static void
append_kept (GString *text, const IrRun *run)
{
  static const char *const words[] = { [IR_CAPTURE_NONE] = "outputs kept",
                                       [IR_CAPTURE_ALL] = "all values kept",
                                       [IR_CAPTURE_STATS] = "statistics kept",
                                       [IR_CAPTURE_CHOSEN] = "chosen values kept",
                                       [IR_CAPTURE_CHECKPOINTS] = "checkpoints kept" };
  g_autofree char *spilled = g_format_size_full (ir_run_spilled_bytes (run),
                                                 G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *note = ir_run_capture_note (run);

  g_string_append_printf (text, " · %s", words[ir_run_options (run)->capture]);
  if (ir_run_n_spilled (run) > 0)
    g_string_append_printf (text, ", %u of them in a file (%s)", ir_run_n_spilled (run), spilled);
  if (ir_run_n_lost (run) > 0)
    g_string_append_printf (text, ", %u not", ir_run_n_lost (run));
  if (note != NULL)
    g_string_append_printf (text, ": %s", note);
}

/* Which nodes ran beside each other: where that was asked for. */
static void
append_parallel (GString *text, const IrRun *run)
{
  const IrParallelMode mode = ir_run_options (run)->parallel;
  const GArray *spans = run->schedule != NULL ? run->schedule->spans : NULL;
  guint n = 0;

  if (mode == IR_PARALLEL_OFF)
    return;
  for (guint i = 0; spans != NULL && i < spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (spans, IrScheduleSpan, i);
      n += span->last - span->first + 1;
    }
  if (n > 0)
    g_string_append_printf (text, " · %u nodes beside others", n);
  else
    g_string_append (text, " · no nodes beside others");
  g_string_append (text, mode == IR_PARALLEL_AUTO ? " (auto)" : "");
}

/**
 * ir_session_run_text:
 *
 * Returns: (transfer full) (nullable): the last run in a line, and how it was made; %NULL: there is
 *   none
 */
char *
ir_session_run_text (IrSession *self)
{
  const IrRun *run = self->runs[IR_SIDE_AFTER];
  const IrRunOptions *options;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *times = NULL;
  guint n_threads;

  if (run == NULL || self->record == NULL)
    return NULL;
  options = ir_run_options (run);
  times = ir_times_text (&self->record->times);
  n_threads = options->n_threads != 0 ? options->n_threads : g_get_num_processors ();
  g_string_append_printf (text, "Ran in %s · %u %s", times, n_threads,
                          n_threads == 1 ? "thread" : "threads");
  append_parallel (text, run);
  if (options->deterministic)
    g_string_append (text, " · deterministic");
  append_kept (text, run);
  return g_string_free (g_steal_pointer (&text), FALSE);
}
