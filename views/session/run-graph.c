/* Running the graph: the original and the one on screen, on the same inputs, as often as the
 * settings say. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "views/session/session-private.h"

typedef struct
{
  IrTimeline *timeline;
  IrModel *original, *model; /* frozen */
  guint step;
  GHashTable *inputs;
  guint64 seed;
  GHashTable *sizes;
  IrRunSettings settings;
  GPtrArray *chosen;             /* (nullable) of char *: names, of IR_CAPTURE_CHOSEN */
  IrModel *expanded[IR_N_SIDES]; /* (nullable) as they run, once a name was looked for there */
  IrRunRecord *before;           /* (nullable) the run to compare with */
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
  char *unknown;          /* (nullable) names of chosen values that neither graph has */
} Ran;

static void
run_request_free (gpointer data)
{
  RunRequest *request = data;

  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->original, ir_model_unref);
  g_clear_pointer (&request->model, ir_model_unref);
  g_clear_pointer (&request->inputs, g_hash_table_unref);
  g_clear_pointer (&request->sizes, g_hash_table_unref);
  g_clear_pointer (&request->before, ir_run_record_unref);
  g_clear_pointer (&request->chosen, g_ptr_array_unref);
  for (guint i = 0; i < IR_N_SIDES; i++)
    g_clear_pointer (&request->expanded[i], ir_model_unref);
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
  g_clear_pointer (&ran->record, ir_run_record_unref);
  g_free (ran->change);
  g_clear_pointer (&ran->output_changes, g_array_unref);
  g_free (ran->unknown);
  g_free (ran);
}

static void
on_node_progress (guint done, guint total, const IrNode *node, gpointer data)
{
  RunRequest *request = data;
  g_autofree char *text = g_strdup_printf ("%s: node %u of %u", request->what, done, total);

  ir_job_report (request->job, total > 0 ? (double) done / total : -1, text);
}

/* -- what is kept -- */

static GPtrArray *
names_of (const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text != NULL ? text : "", ",", -1);
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; parts[i] != NULL; i++)
    if (g_strstrip (parts[i])[0] != '\0')
      g_ptr_array_add (names, g_strdup (parts[i]));
  return names;
}

/* The bodies of functions have values of their own for each call. */
static const IrValue *
find_value (const IrModel *model, const char *name)
{
  IrValue *found = NULL;

  for (guint i = 1; i < model->graphs->len && found == NULL; i++)
    if (((const IrGraph *) model->graphs->pdata[i])->kind != IR_GRAPH_FUNCTION)
      found = ir_graph_find_value (model->graphs->pdata[i], name);
  return found;
}

/* "CALL/NAME" is a value of what runs, in which bodies are in the place of calls. */
static const IrValue *
find_body_value (RunRequest *request, IrModel *model, const char *name)
{
  IrModel **expanded = &request
                            ->expanded[model == request->original ? IR_SIDE_BEFORE : IR_SIDE_AFTER];

  if (strchr (name, '/') == NULL)
    return NULL;
  if (*expanded == NULL)
    *expanded = ir_exec_expand (model, NULL);
  return *expanded != NULL ? find_value (*expanded, name) : NULL;
}

/* Of a value that @model does not have any more, those that it is computed from. */
static void
choose (RunRequest *request, IrModel *model, const char *name, GArray *chosen)
{
  const IrValue *value = find_value (model, name), *original = find_value (request->original, name);
  g_autoptr (GArray) needs = NULL;

  if (value == NULL && original == NULL)
    value = find_body_value (request, model, name);
  if (value != NULL)
    g_array_append_val (chosen, value->id);
  if (value != NULL || original == NULL)
    return;
  g_mutex_lock (&request->timeline->lock);
  needs = ir_originals_needs (request->timeline->model, request->step, original->id, NULL);
  g_mutex_unlock (&request->timeline->lock);
  if (needs != NULL)
    g_array_append_vals (chosen, needs->data, needs->len);
}

/* (transfer full) (nullable): of IrValueId, what a run of @model keeps */
static GArray *
chosen_values (RunRequest *request, IrModel *model)
{
  GArray *chosen;

  if (request->chosen == NULL)
    return NULL;
  chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  for (guint i = 0; i < request->chosen->len; i++)
    choose (request, model, request->chosen->pdata[i], chosen);
  return chosen;
}

/* (transfer full) (nullable): names that say nothing to either graph, with commas between */
static char *
unknown_values (RunRequest *request)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; request->chosen != NULL && i < request->chosen->len; i++)
    {
      const char *name = request->chosen->pdata[i];

      if (find_value (request->model, name) == NULL &&
          find_value (request->original, name) == NULL &&
          find_body_value (request, request->model, name) == NULL &&
          find_body_value (request, request->original, name) == NULL)
        g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", name);
    }
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}

/* -- one graph -- */

/* @chosen: (nullable): has to live as long as what is returned */
static IrExecutable *
prepare (
    RunRequest *request, IrModel *model, GArray *chosen, GCancellable *cancellable, GError **error)
{
  const IrStop stop = { .cancellable = cancellable };
  IrRunOptions options = request->settings.options;

  options.chosen = chosen;
  options.partial = TRUE;
  options.seed = request->seed;
  options.progress = on_node_progress;
  options.progress_data = request;
  return ir_executable_new_until (model, &options, &stop, error);
}

static IrRun *
run_model (RunRequest *request,
           IrModel *model,
           GHashTable *inputs,
           GCancellable *cancellable,
           GError **error)
{
  g_autoptr (GArray) chosen = chosen_values (request, model);
  g_autoptr (IrExecutable) executable = prepare (request, model, chosen, cancellable, error);

  return executable != NULL ? ir_session_run_once (executable, model, inputs, cancellable, error)
                            : NULL;
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
  g_autoptr (GArray) chosen = chosen_values (request, request->model);
  g_autoptr (IrExecutable)
      executable = prepare (request, request->model, chosen, cancellable, error);
  const guint n_early = n_warming_up (&request->settings);
  const guint n = n_early + request->settings.n_runs;
  g_autofree char *plain = g_strdup (request->what);
  IrRunSamples samples;
  IrRun *run = NULL;

  ir_run_samples_init (&samples);
  for (guint i = 0; executable != NULL && i < n; i++)
    {
      g_autofree char *what = n > 1 ? g_strdup_printf ("%s, run %u of %u", plain, i + 1, n)
                                    : g_strdup (plain);

      request->what = what;
      g_clear_pointer (&run, ir_run_unref);
      run = ir_session_run_once (executable, request->model, inputs, cancellable, error);
      if (run != NULL && run->trace != NULL && (i >= n_early || run->error != NULL))
        ir_run_samples_take (&samples, run->trace);
      if (run == NULL || run->error != NULL || g_cancellable_is_cancelled (cancellable))
        break;
    }
  request->what = NULL;
  if (run != NULL)
    *record = ir_run_record_new (request->step, run, &samples);
  ir_run_samples_clear (&samples);
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
                                              request->sizes, error);
  g_autoptr (GHashTable) before = NULL;
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL || request->step == 0)
    return inputs;
  before = ir_session_all_inputs (request->original, request->inputs, request->seed, request->sizes,
                                  NULL);
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

static IrDifference
difference_of (const IrComparedValues *values, const IrComparedValue *item)
{
  IrDifference difference = { 0 };

  ir_trial_difference (ir_run_value (values->run_a, item->a), ir_run_value (values->run_b, item->b),
                       &difference);
  return difference;
}

/* As values of two graphs are compared, and judged as proofs are. */
static IrDivergence *
find_divergence (const RunRequest *request, const Ran *ran, GCancellable *cancellable)
{
  g_autoptr (IrDiff) diff = ir_diff_new (request->original, request->model, TRUE);
  g_autoptr (IrComparedValues) values = ir_compare_runs (
      diff, ran->runs[IR_SIDE_BEFORE], ran->runs[IR_SIDE_AFTER], ran->inputs, ran->inputs,
      &request->settings.options, cancellable, NULL);
  const IrComparedValue *first = values != NULL ? ir_compared_values_first (values, TRUE) : NULL;
  const IrComparedValue *worst = NULL;
  IrDivergence *found = g_new0 (IrDivergence, 1);

  for (guint i = 0; values != NULL && i < values->items->len; i++)
    {
      const IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);

      found->n_compared += item->comparable;
      if (item->comparable && item->result.max_abs > (worst != NULL ? worst->result.max_abs : 0))
        worst = item;
    }
  if (first != NULL)
    {
      found->first = first->b;
      found->first_difference = difference_of (values, first);
    }
  if (worst != NULL)
    {
      found->worst = worst->b;
      found->worst_difference = difference_of (values, worst);
    }
  return found;
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
  ran->unknown = unknown_values (request);
  if (ran->inputs != NULL && request->step > 0 && !request->settings.one_run)
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
    ran->change = ir_run_record_compare (request->before, ran->record, request->model, cancellable,
                                         &ran->output_changes);
  if (ran->runs[IR_SIDE_AFTER] != NULL && !g_cancellable_is_cancelled (cancellable))
    return ran;
  if (*error == NULL)
    g_cancellable_set_error_if_cancelled (cancellable, error);
  ran_free (ran);
  return NULL;
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
      ir_session_run_failed (self, "The graph could not run", error);
      return;
    }
  ir_session_clear_runs (self);
  for (guint i = 0; i < IR_N_SIDES; i++)
    self->runs[i] = g_steal_pointer (&ran->runs[i]);
  self->used_inputs = g_steal_pointer (&ran->inputs);
  self->run_step = request->step;
  self->one_run = request->settings.one_run;
  self->unknown = g_steal_pointer (&ran->unknown);
  self->divergence = g_steal_pointer (&ran->divergence);
  if (request->timeline == self->timeline)
    ir_session_take_record (self, g_steal_pointer (&ran->record), g_steal_pointer (&ran->change),
                            g_steal_pointer (&ran->output_changes));
  ran_free (ran);
  after = self->runs[IR_SIDE_AFTER];
  ir_session_faults_changed (self);
  ir_session_changed (self, IR_CHANGED_RUNS | IR_CHANGED_BUSY | IR_CHANGED_PROBLEMS);
  if (self->overlay != NULL)
    ir_session_picture_changed (self);
  if (after->error != NULL)
    {
      ir_session_select_node (self, after->failed_node);
      ir_session_run_failed (self, "The graph ran only in part", after->error);
    }
  else if (after->missing != NULL)
    {
      g_autofree char *text = ir_session_missing_text (self, after);

      ir_session_select_node (self, g_array_index (after->missing, IrMissing, 0).node);
      ir_session_message (self, "%s", text);
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
  request->sizes = g_hash_table_ref (self->sizes);
  request->settings = self->settings;
  if (self->settings.options.capture == IR_CAPTURE_CHOSEN)
    request->chosen = names_of (self->settings.chosen);
  request->settings.chosen = NULL;
  request->before = self->record != NULL ? ir_run_record_ref (self->record) : NULL;
  ir_session_start_job (self, "Running the graph",
                        &(IrJobSpec){ .run = run_graph,
                                      .data = request,
                                      .data_free = run_request_free,
                                      .result_free = ran_free,
                                      .done = on_ran });
}
