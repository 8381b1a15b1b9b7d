/* Running the graph: the original and the one on screen, on the same inputs, as often as the
 * settings say. */
#include "config.h"

#include "core/exec/gpu/runtime.h"
#include "core/exec/run/capture.h"
#include "core/exec/run/loop-table.h"
#include "core/ir/inline.h"
#include "views/session/records.h"
#include "views/session/data-set.h"
#include "views/session/problems-private.h"
#include "views/session/request.h"
#include "views/session/runs-private.h"
#include "views/session/selection.h"

#define SHOW_MS 300 /* between two pictures of a run under way */

/* What the thread of a run and the session share, for as long as either has it. */
typedef struct
{
  GWeakRef session;
  gint waits;        /* atomic: a picture is not taken yet */
  gboolean over;     /* in the main thread */
  gboolean original; /* it is a run of the original graph, too */
  IrLastRun about;   /* whose step and inputs; without runs */
} SoFar;

typedef struct
{
  IrRequest base;
  IrModel *original, *model; /* (transfer none) frozen: those of the timeline and of the frame */
  guint step;
  IrRunSettings settings;
  IrWorker *worker;
  char *device;                  /* (nullable) name of the back end of @model */
  const IrBackend *backend;      /* likewise, once it was found */
  GPtrArray *chosen;             /* (nullable) of char *: names, of IR_CAPTURE_CHOSEN */
  IrModel *expanded[IR_N_SIDES]; /* (nullable) as they run, once a name was looked for there */
  IrRunRecord *before;           /* (nullable) the run to compare with */
  IrRun *earlier[IR_N_SIDES];    /* (nullable) what is as it was there does not run */
  SoFar *so_far;
  const char *what;
} RunRequest;

typedef struct
{
  IrLastRun run;
  IrRunRecord *record;
  IrRunChange *change;    /* (nullable) */
  GArray *output_changes; /* (nullable) of IrOutputChange */
} Ran;

static void
so_far_clear (gpointer data)
{
  SoFar *so_far = data;

  g_weak_ref_clear (&so_far->session);
  ir_last_run_clear (&so_far->about);
}

static void
clear_request (gpointer data)
{
  RunRequest *request = data;

  for (guint i = 0; i < IR_N_SIDES; i++)
    g_clear_pointer (&request->earlier[i], ir_run_unref);
  if (request->so_far != NULL)
    g_atomic_rc_box_release_full (request->so_far, so_far_clear);
  g_clear_pointer (&request->before, ir_run_record_unref);
  g_clear_pointer (&request->chosen, g_ptr_array_unref);
  g_free (request->device);
  g_clear_pointer (&request->worker, ir_worker_unref);
  for (guint i = 0; i < IR_N_SIDES; i++)
    g_clear_pointer (&request->expanded[i], ir_model_unref);
}

static void
ran_free (gpointer data)
{
  Ran *ran = data;

  ir_last_run_clear (&ran->run);
  g_clear_pointer (&ran->record, ir_run_record_unref);
  g_free (ran->change);
  g_clear_pointer (&ran->output_changes, g_array_unref);
  g_free (ran);
}

static void
on_node_progress (guint done, guint total, const IrNode *node, gpointer data)
{
  RunRequest *request = data;
  g_autofree char *text = g_strdup_printf ("%s: node %u of %u", request->what, done, total);

  ir_job_report (request->base.job, total > 0 ? (double) done / total : -1, text);
}

static void
on_waiting (gpointer data)
{
  const RunRequest *request = data;

  ir_job_report (request->base.job, -1, "Waiting for the run that was cancelled to end");
}

/* -- values as they are computed -- */

typedef struct
{
  SoFar *so_far;
  IrRun *run;
} Arrival;

static void
arrival_free (gpointer data)
{
  Arrival *arrival = data;

  g_atomic_int_set (&arrival->so_far->waits, FALSE);
  ir_run_unref (arrival->run);
  g_atomic_rc_box_release_full (arrival->so_far, so_far_clear);
  g_free (arrival);
}

static gboolean
on_arrival (gpointer data)
{
  const Arrival *arrival = data;
  const IrLastRun *about = &arrival->so_far->about;
  g_autoptr (IrSession) self = g_weak_ref_get (&arrival->so_far->session);
  IrLastRun last = { .step = about->step, .n_changes = about->n_changes };

  if (self == NULL || arrival->so_far->over)
    return G_SOURCE_REMOVE;
  last.runs[IR_SIDE_AFTER] = ir_run_ref (arrival->run);
  if (arrival->so_far->original)
    last.runs[IR_SIDE_BEFORE] = ir_run_ref (arrival->run);
  last.sizes = g_hash_table_ref (about->sizes);
  last.inputs = g_hash_table_ref (ir_run_inputs (arrival->run));
  ir_session_take_last_run (self, &last, NULL);
  ir_session_run_changed (self, 0);
  return G_SOURCE_REMOVE;
}

/* In the thread of the run. @how: it is with the nodes that have run */
static void
send (RunRequest *request, IrRun *run, const char *how)
{
  SoFar *so_far = request->so_far;
  Arrival *arrival;

  if (!g_atomic_int_compare_and_exchange (&so_far->waits, FALSE, TRUE))
    {
      ir_run_unref (run);
      return;
    }
  g_clear_error (&run->error);
  g_set_error (&run->error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED, "The run %s node %u of %u", how,
               run->trace->items->len, run->schedule->items->len);
  arrival = g_new0 (Arrival, 1);
  *arrival = (Arrival){ g_atomic_rc_box_acquire (so_far), run };
  g_idle_add_full (G_PRIORITY_DEFAULT, on_arrival, arrival, arrival_free);
}

static void
on_so_far (IrRun *run, gpointer request)
{
  send (request, run, "has come to");
}

static SoFar *
so_far_new (IrSession *self, const RunRequest *request)
{
  SoFar *so_far = g_atomic_rc_box_new0 (SoFar);

  g_weak_ref_init (&so_far->session, self);
  so_far->about.step = request->step;
  so_far->about.n_changes = request->base.feed.n_changes;
  so_far->about.sizes = g_hash_table_ref (request->base.feed.sizes);
  return so_far;
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

/* "CALL/NAME" is a value of what runs, in which bodies are in the place of calls, and parts in that of
 * operators which the back end has no kernel for. */
static const IrValue *
find_body_value (RunRequest *request, IrModel *model, const char *name)
{
  const IrSide side = model == request->original ? IR_SIDE_BEFORE : IR_SIDE_AFTER;
  const IrBackend *backend = side == IR_SIDE_AFTER ? request->backend : NULL;
  IrModel **expanded = &request->expanded[side];

  if (strchr (name, '/') == NULL)
    return NULL;
  if (*expanded == NULL)
    *expanded = ir_exec_lower (model, backend != NULL ? backend : ir_backend_require (NULL, NULL),
                               NULL);
  return *expanded != NULL ? find_value (*expanded, name) : NULL;
}

/* Of a value that @model does not have any more, those that it is computed from. */
static void
choose (RunRequest *request, IrModel *model, const char *name, GArray *chosen)
{
  const IrValue *value = find_value (model, name), *original = find_value (request->original, name);
  g_autoptr (GMutexLocker) locker = NULL;
  g_autoptr (GArray) needs = NULL;

  if (value == NULL && original == NULL)
    value = find_body_value (request, model, name);
  if (value != NULL)
    g_array_append_val (chosen, value->id);
  if (value != NULL || original == NULL)
    return;
  locker = ir_timeline_lock (request->base.timeline);
  needs = ir_originals_needs (ir_timeline_model (request->base.timeline), request->step,
                              original->id, NULL);
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
prepare (RunRequest *request,
         IrSide side,
         const IrBackend *backend, /* (nullable) */
         GArray *chosen,
         GError **error)
{
  IrRunOptions options = request->settings.options;
  IrModel *model = side == IR_SIDE_BEFORE ? request->original : request->model;
  g_autoptr (GArray) in_loops = ir_loop_values (model);

  if (in_loops->len > 0 && options.capture != IR_CAPTURE_NONE &&
      options.iterations.kind == IR_ITERATIONS_NONE)
    options.iterations.kind = IR_ITERATIONS_CHECKPOINTS; /* any round of them can be looked at */
  options.backend = backend;
  options.chosen = chosen;
  options.partial = TRUE;
  options.seed = request->base.feed.seed;
  options.progress = on_node_progress;
  options.progress_data = request;
  if (request->settings.n_runs == 1) /* else times are what is wanted */
    {
      options.before = request->earlier[side];
      options.reuse_all = side == IR_SIDE_BEFORE;
      options.show = side == IR_SIDE_AFTER ? on_so_far : NULL;
      options.show_ms = SHOW_MS;
    }
  options.worker = request->worker;
  options.waiting = on_waiting;
  return ir_executable_new (model, &options, error);
}

static IrRun *
run_model (RunRequest *request,
           IrModel *model,
           GHashTable *inputs,
           GCancellable *cancellable,
           GError **error)
{
  g_autoptr (GArray) chosen = chosen_values (request, model);
  g_autoptr (IrExecutable) executable = prepare (request, IR_SIDE_BEFORE, NULL, chosen, error);

  return executable != NULL ? ir_run_once (executable, model, inputs, cancellable, error) : NULL;
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
      executable = prepare (request, IR_SIDE_AFTER, request->backend, chosen, error);
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
      run = ir_run_once (executable, request->model, inputs, cancellable, error);
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
  const IrFeed *feed = &request->base.feed;
  GHashTable *inputs = ir_feed_inputs (feed, request->model, error);
  g_autoptr (GHashTable) before = NULL;
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL || request->step == 0)
    return inputs;
  before = ir_feed_inputs (feed, request->original, NULL);
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
find_divergence (const RunRequest *request, const IrLastRun *ran, GCancellable *cancellable)
{
  g_autoptr (IrDiff) diff = ir_diff_new (request->original, request->model, TRUE);
  g_autoptr (IrComparedValues) values = ir_compare_runs (
      diff, ran->runs[IR_SIDE_BEFORE], ran->runs[IR_SIDE_AFTER], ran->inputs, ran->inputs,
      &request->settings.options, request->step == 0, cancellable, NULL);
  const IrComparedValue *first = values != NULL ? ir_compared_values_first (values, TRUE) : NULL;
  const IrComparedValue *worst = NULL;
  IrDivergence *found = g_new0 (IrDivergence, 1);
  double most = 0;

  for (guint i = 0; values != NULL && i < values->items->len; i++)
    {
      const IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);

      found->n_compared += item->comparable;
      if (item->comparable && ir_comparison_of_scale (&item->result) > most)
        {
          worst = item;
          most = ir_comparison_of_scale (&item->result);
        }
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

static gboolean
is_on_device (const RunRequest *request)
{
  return request->backend != NULL && request->backend->memory != NULL;
}

/* The original may be what cannot run, as when an edit repaired it: then there is no before. */
static gpointer
run_graph (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  RunRequest *request = data;
  Ran *ran = g_new0 (Ran, 1);
  IrLastRun *run = &ran->run;
  IrRun **before = &run->runs[IR_SIDE_BEFORE], **after = &run->runs[IR_SIDE_AFTER];
  gboolean twice;

  run->step = request->step;
  run->one_run = request->settings.one_run;
  run->n_changes = request->base.feed.n_changes;
  run->sizes = g_hash_table_ref (request->base.feed.sizes);
  run->inputs = run_inputs (request, error);
  if (run->inputs != NULL && request->device != NULL)
    {
      ir_gpu_runtime_round (request->settings.precision);
      request->backend = ir_backend_require (request->device, error);
      if (request->backend == NULL)
        g_clear_pointer (&run->inputs, g_hash_table_unref);
    }
  run->unknown = unknown_values (request);
  twice = !request->settings.one_run && (request->step > 0 || is_on_device (request));
  request->so_far->original = request->step == 0 && !twice;
  if (run->inputs != NULL && twice)
    {
      request->what = request->step == 0 ? "Running the graph on the CPU"
                                         : "Running the original graph";
      *before = run_model (request, request->original, run->inputs, cancellable, NULL);
    }
  request->what = request->step == 0 ? "Running the graph" : "Running the optimized graph";
  if (run->inputs != NULL && !g_cancellable_is_cancelled (cancellable))
    *after = run_often (request, run->inputs, &ran->record, cancellable, error);
  if (*after != NULL && request->step == 0 && !twice)
    *before = ir_run_ref (*after);
  if (twice && *before != NULL && *after != NULL)
    run->divergence = find_divergence (request, run, cancellable);
  if (ran->record != NULL && request->before != NULL)
    ran->change = ir_run_record_compare (request->before, ran->record, request->model, cancellable,
                                         &ran->output_changes);
  if (*after != NULL && !g_cancellable_is_cancelled (cancellable))
    return ran;
  /* What a cancelled run has computed arrives before the news of its end. */
  if (*after != NULL && (*after)->trace != NULL && (*after)->trace->items->len > 0)
    send (request, g_steal_pointer (after), "was cancelled behind");
  if (*error == NULL)
    g_cancellable_set_error_if_cancelled (cancellable, error);
  ran_free (ran);
  return NULL;
}

/* @why names the node. */
static void
add_stop (GPtrArray *problems, const IrModel *model, IrNodeId id, const char *why)
{
  const IrNode *node = id != 0 ? ir_model_live_node (model, id) : NULL;

  if (node != NULL)
    ir_problems_add (problems, IR_SEVERITY_ERROR, IR_PROBLEM_EXECUTION, node, NULL, "%s", why);
}

/* A type that the file declares and that was another. */
static void
add_claim (GPtrArray *problems, const IrModel *model, const IrWrongClaim *wrong)
{
  const IrNode *node = wrong->node != 0 ? ir_model_live_node (model, wrong->node) : NULL;
  const IrValue *value = ir_model_live_value (model, wrong->value);

  ir_problems_add (problems, IR_SEVERITY_WARNING, IR_PROBLEM_TYPE_MISMATCH, node, value, "%s",
                   wrong->text);
}

/* (transfer full) (nullable): nodes that could not run, and what the file declares wrongly */
static GPtrArray *
stops_of (const IrRun *run, const IrModel *model)
{
  GPtrArray *problems;

  if (run->missing == NULL && run->error == NULL && run->claims == NULL)
    return NULL;
  problems = ir_problems_new ();
  for (guint i = 0; run->missing != NULL && i < run->missing->len; i++)
    {
      const IrMissing *missing = &g_array_index (run->missing, IrMissing, i);

      add_stop (problems, model, ir_inline_written (run->model, missing->node), missing->why);
    }
  if (run->error != NULL)
    add_stop (problems, model, ir_inline_written (run->model, run->failed_node),
              run->error->message);
  for (guint i = 0; run->claims != NULL && i < run->claims->len; i++)
    add_claim (problems, model, &g_array_index (run->claims, IrWrongClaim, i));
  return problems;
}

/* The first; the list of problems has all of them. */
static void
say_claims (IrSession *self, const IrRun *run)
{
  const IrWrongClaim *first = &g_array_index (run->claims, IrWrongClaim, 0);

  if (run->claims->len == 1)
    ir_session_message (self, "%s", first->text);
  else
    ir_session_message (self, "%u declared types are wrong. %s", run->claims->len, first->text);
}

/* A kernel that fails may do so at these sizes alone, which somebody may choose. */
static void
say_missing (IrSession *self, const IrRun *run)
{
  g_autofree char *text = ir_session_missing_text (self, run);
  g_autoptr (GArray) dims = ir_session_free_dims (self);
  gboolean failed = FALSE;

  for (guint i = 0; i < run->missing->len; i++)
    failed |= g_array_index (run->missing, IrMissing, i).failed;
  ir_session_select_node (
      self, ir_inline_written (run->model, g_array_index (run->missing, IrMissing, 0).node));
  if (failed && dims->len > 0)
    {
      g_autoptr (GError) error = g_error_new_literal (IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL, text);
      ir_session_run_failed (self, "The graph ran only in part", error);
    }
  else
    ir_session_message (self, "%s", text);
}

/* Its node is selected, and has the reason as a problem: only what sizes may mend, or no node, is asked about. */
static void
say_stopped (IrSession *self, const IrRun *run)
{
  g_autoptr (GArray) dims = ir_session_free_dims (self);
  g_autofree char *where = ir_session_stopped_text (self, run);

  ir_session_select_node (self, ir_inline_written (run->model, run->failed_node));
  if (where != NULL && dims->len == 0)
    ir_session_message (self, "%s", where);
  else
    ir_session_run_failed (self, "The graph ran only in part", run->error);
}

/* What is to be said of the run, which is the session's now. */
static void
say_outcome (IrSession *self, const IrRun *run)
{
  const IrDivergence *divergence = ir_session_get_divergence (self);
  gboolean differs;
  g_autofree char *compared = ir_session_data_set_text (self, &differs);

  if (run->error != NULL)
    say_stopped (self, run);
  else if (run->missing != NULL)
    say_missing (self, run);
  else if (run->claims != NULL)
    say_claims (self, run);
  else if (compared != NULL)
    ir_session_message (self, "%s", compared);
  else if (divergence != NULL && divergence->first != 0)
    {
      g_autofree char *difference = ir_difference_text (&divergence->first_difference);

      ir_session_message (self, "First tensor to differ from %s: %s, %s",
                          ir_session_get_run_step (self) > 0 ? "the original" : "that on the CPU",
                          ir_model_value (ir_session_get_history (self), divergence->first)->name,
                          difference);
    }
  else if (run->n_reused > 0)
    ir_session_message (self,
                        "%u of %u nodes ran, what leads to the others has not changed; another run "
                        "runs all",
                        ir_run_n_computing (run) - run->n_reused, ir_run_n_computing (run));
}

static void
on_ran (IrSession *self, gpointer result, gpointer data)
{
  RunRequest *request = data;
  Ran *ran = result;
  const IrRun *after = ran->run.runs[IR_SIDE_AFTER];

  request->so_far->over = TRUE;
  ir_session_take_last_run (self, &ran->run, stops_of (after, request->model));
  if (ir_request_is_current (request, self))
    ir_session_take_record (self, g_steal_pointer (&ran->record), g_steal_pointer (&ran->change),
                            g_steal_pointer (&ran->output_changes));
  ran_free (ran);
  ir_session_faults_changed (self);
  ir_session_run_changed (self, IR_CHANGED_BUSY | IR_CHANGED_PROBLEMS | IR_CHANGED_PICTURE);
  say_outcome (self, after);
}

static void
on_run_failed (IrSession *self, const GError *error, gpointer data)
{
  RunRequest *request = data;

  if (request->so_far != NULL)
    request->so_far->over = TRUE;
  ir_session_run_failed (self, "The graph could not run", error);
}

static void
on_fed (IrSession *self, gpointer data)
{
  RunRequest *request = data;

  for (guint i = 0; i < IR_N_SIDES; i++)
    request->earlier[i] = ir_session_dup_earlier_run (self, i, request->step);
  request->so_far = so_far_new (self, request);
}

static const IrWork run_work = {
  .run = run_graph,
  .done = on_ran,
  .failed = on_run_failed,
  .clear = clear_request,
  .result_free = ran_free,
  .runs = TRUE,
  .fed = on_fed,
};

/**
 * ir_session_run_graph:
 *
 * Runs the original graph and the graph at the cursor on the same inputs, keeping what
 * ir_session_set_run_settings() says.
 */
void
ir_session_run_graph (IrSession *self)
{
  const IrRunSettings *settings = ir_session_get_run_settings (self);
  IrRunRecord *before = ir_session_get_record (self);
  RunRequest *request;

  if (ir_session_is_empty (self))
    return;
  request = ir_session_new_request (self, &run_work, sizeof *request);
  request->original = ir_timeline_original (request->base.timeline);
  request->model = request->base.frame->model;
  request->step = request->base.frame->to;
  request->settings = *settings;
  request->device = g_strdup (settings->device);
  request->worker = ir_worker_ref (ir_session_get_worker (self));
  if (settings->options.capture == IR_CAPTURE_CHOSEN)
    request->chosen = names_of (settings->chosen);
  request->settings.chosen = NULL;
  request->before = before != NULL ? ir_run_record_ref (before) : NULL;
  ir_session_start (self, "Running the graph", request);
}
