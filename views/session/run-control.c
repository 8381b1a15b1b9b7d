/* Runs that are driven. The run goes on in the thread of the long job, and waits there while it stands;
 * where it stands comes to the main thread as a copy, with all that was kept by then. */
#include "config.h"

#include "views/session/run-control.h"

#include "core/exec/gpu/runtime.h"
#include "core/exec/check/check.h"
#include "core/exec/run/capture.h"
#include "core/ir/history.h"
#include "passes/proof/compare-values.h"
#include "views/session/request.h"
#include "views/session/runs-private.h"
#include "views/session/selection.h"

/* What the thread of the run and the session share, for as long as either has it. */
typedef struct
{
  gatomicrefcount ref_count;
  GWeakRef session;
  IrRunControl *control;
  guint step;         /* of the graph that runs */
  GHashTable *inputs; /* (nullable) */
  guint n_changes;    /* as of IrFeed */
  GHashTable *sizes;
} Link;

typedef struct
{
  GPtrArray *breaks;    /* of IrRunBreak */
  Link *link;           /* (nullable) of the run under way */
  IrStanding *standing; /* (nullable) */
  GArray *hits;         /* (nullable) of IrRunHit */
  IrRun *judged;        /* (nullable) that @hits are of */
  IrJob *judging;       /* (nullable) */
} RunControl;

static void
link_unref (Link *link)
{
  if (!g_atomic_ref_count_dec (&link->ref_count))
    return;
  g_weak_ref_clear (&link->session);
  g_clear_pointer (&link->inputs, g_hash_table_unref);
  g_clear_pointer (&link->sizes, g_hash_table_unref);
  ir_run_control_uncheck (link->control);
  ir_run_control_free (link->control);
  g_free (link);
}

static Link *
link_ref (Link *link)
{
  g_atomic_ref_count_inc (&link->ref_count);
  return link;
}

static void
standing_free (IrStanding *standing)
{
  g_free (standing->text);
  g_free (standing->advice);
  g_free (standing);
}

static void
init (gpointer state)
{
  ((RunControl *) state)->breaks = g_ptr_array_new_with_free_func (
      (GDestroyNotify) ir_run_break_unref);
}

static void
forget_hits (RunControl *self)
{
  ir_session_drop_job (&self->judging);
  g_clear_pointer (&self->hits, g_array_unref);
  g_clear_pointer (&self->judged, ir_run_unref);
}

static void
clear (gpointer state)
{
  RunControl *self = state;

  forget_hits (self);
  g_ptr_array_unref (self->breaks);
  g_clear_pointer (&self->link, link_unref);
  g_clear_pointer (&self->standing, standing_free);
}

IR_SESSION_NOUN (RunControl, init, clear)

/* -- where it stands -- */

typedef struct
{
  Link *link;
  IrRun *run; /* so far */
  IrStanding *standing;
  gconstpointer hit; /* (nullable) the breakpoint, which may be gone by now */
} Arrival;

static void
arrival_free (gpointer data)
{
  Arrival *arrival = data;

  link_unref (arrival->link);
  g_clear_pointer (&arrival->run, ir_run_unref);
  g_clear_pointer (&arrival->standing, standing_free);
  g_free (arrival);
}

static void
show_run (IrSession *self, Link *link, IrRun *run)
{
  IrLastRun last = { .step = link->step, .n_changes = link->n_changes };

  last.runs[IR_SIDE_AFTER] = ir_run_ref (run);
  last.runs[IR_SIDE_BEFORE] = link->step == 0 ? ir_run_ref (run) : NULL;
  last.sizes = g_hash_table_ref (link->sizes);
  last.inputs = link->inputs != NULL ? g_hash_table_ref (link->inputs) : NULL;
  ir_session_take_last_run (self, &last, NULL);
}

static gboolean
on_arrival (gpointer data)
{
  Arrival *arrival = data;
  g_autoptr (IrSession) self = g_weak_ref_get (&arrival->link->session);

  if (self == NULL || own (self)->link != arrival->link)
    return G_SOURCE_REMOVE;
  show_run (self, arrival->link, arrival->run);
  g_clear_pointer (&own (self)->standing, standing_free);
  own (self)->standing = g_steal_pointer (&arrival->standing);
  for (guint i = 0; i < own (self)->breaks->len; i++)
    if (own (self)->breaks->pdata[i] == arrival->hit)
      own (self)->standing->hit = (gint) i;
  if (own (self)->standing->node != 0 &&
      ir_model_live_node (ir_session_get_history (self), own (self)->standing->node) != NULL)
    ir_session_show_node (self, own (self)->standing->node);
  ir_session_run_changed (self, IR_CHANGED_RUN_CONTROL | IR_CHANGED_BUSY);
  return G_SOURCE_REMOVE;
}

/* In the thread of the run. */
static void
on_stopped (IrRunControl *control, const IrRunStop *stop, gpointer data)
{
  Link *link = data;
  Arrival *arrival = g_new0 (Arrival, 1);
  IrStanding *standing = g_new0 (IrStanding, 1);

  *standing = (IrStanding){ .node = stop->node != NULL ? stop->node->id : 0,
                            .after = stop->after,
                            .value = stop->value != NULL ? stop->value->id : 0,
                            .hit = -1,
                            .text = ir_run_stop_text (stop) };
  standing->advice = stop->came_in != NULL
                         ? g_strdup_printf ("It holds of what the node reads, too: %s",
                                            stop->came_in)
                         : g_strdup (stop->finding.advice);
  *arrival = (Arrival){ link_ref (link), ir_run_control_snapshot (control), standing, stop->hit };
  g_set_error (&arrival->run->error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED, "The run stands %s",
               standing->text);
  g_idle_add_full (G_PRIORITY_DEFAULT, on_arrival, arrival, arrival_free);
}

const IrStanding *
ir_session_get_standing (IrSession *self)
{
  return own (self)->standing;
}

gboolean
ir_session_is_driven (IrSession *self)
{
  return own (self)->link != NULL;
}

/* -- the run -- */

typedef struct
{
  IrRequest base;
  IrModel *model; /* (transfer none) frozen: of the frame */
  IrRunSettings settings;
  IrWorker *worker;
  IrRunCommand first;
  Link *link;        /* (nullable) not before it is fed */
  char *device;      /* (nullable) name of the back end */
  gboolean compares; /* with the original graph, before it begins */
} DriveRequest;

static gboolean
any_needs (const GPtrArray *breaks, IrRunBreakNeeds what)
{
  for (guint i = 0; i < breaks->len; i++)
    if (ir_run_break_needs (breaks->pdata[i]) & what)
      return TRUE;
  return FALSE;
}

/* What breakpoints need that compare with the original graph. */
static gboolean
compare_with_original (const DriveRequest *request,
                       GHashTable *inputs,
                       const IrRunOptions *options,
                       GCancellable *cancellable,
                       GError **error)
{
  g_autoptr (IrModel) history = NULL;
  g_autoptr (GHashTable) divergences = NULL;

  if (!request->compares)
    return TRUE;
  ir_job_report (request->base.job, -1, "Comparing with the original graph");
  history = ir_timeline_copy (request->base.timeline);
  divergences = ir_history_divergences (history, request->link->step, inputs, options, cancellable,
                                        error);
  if (divergences != NULL)
    ir_run_control_set_divergences (request->link->control, divergences);
  return divergences != NULL;
}

static void
clear_request (gpointer data)
{
  DriveRequest *request = data;

  g_clear_pointer (&request->worker, ir_worker_unref);
  g_clear_pointer (&request->link, link_unref);
  g_free (request->device);
}

static void
on_node_progress (guint done, guint total, const IrNode *node, gpointer data)
{
  DriveRequest *request = data;
  g_autofree char *text = g_strdup_printf ("Running the graph: node %u of %u", done, total);

  ir_job_report (request->base.job, total > 0 ? (double) done / total : -1, text);
}

static gpointer
run_driven (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  DriveRequest *request = data;
  IrRunOptions options = request->settings.options;
  g_autoptr (GHashTable) inputs = ir_feed_inputs (&request->base.feed, request->model, error);
  g_autoptr (IrExecutable) executable = NULL;

  if (inputs == NULL)
    return NULL;
  ir_gpu_runtime_round (request->settings.precision);
  if (request->device != NULL)
    options.backend = ir_backend_require (request->device, error);
  if (request->device != NULL && options.backend == NULL)
    return NULL;
  if (options.capture == IR_CAPTURE_CHOSEN)
    options.capture = IR_CAPTURE_ALL;
  options.partial = TRUE;
  options.seed = request->base.feed.seed;
  if (!compare_with_original (request, inputs, &options, cancellable, error))
    return NULL;
  options.control = request->link->control;
  options.progress = on_node_progress;
  options.progress_data = request;
  options.worker = request->worker;
  request->link->inputs = g_hash_table_ref (inputs);
  executable = ir_executable_new (request->model, &options, error);
  return executable != NULL ? ir_run_once (executable, request->model, inputs, cancellable, error)
                            : NULL;
}

static void
end_link (IrSession *self)
{
  g_clear_pointer (&own (self)->link, link_unref);
  g_clear_pointer (&own (self)->standing, standing_free);
}

static void
take_times (IrSession *self, guint step, IrRun *run)
{
  IrRunSamples samples;

  ir_run_samples_init (&samples);
  ir_run_samples_take (&samples, run->trace);
  ir_session_take_record (self, ir_run_record_new (step, run, &samples), NULL, NULL);
  ir_run_samples_clear (&samples);
}

static void
on_driven (IrSession *self, gpointer result, gpointer data)
{
  DriveRequest *request = data;
  g_autoptr (IrRun) run = result;

  show_run (self, request->link, run);
  end_link (self);
  if (run->error == NULL)
    take_times (self, request->link->step, run);
  ir_session_run_changed (self, IR_CHANGED_RUN_CONTROL | IR_CHANGED_BUSY);
  if (run->error == NULL)
    ir_session_message (self, "The run has come to its end");
  else if (g_error_matches (run->error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED))
    ir_session_message (self, "%s", run->error->message);
  else
    ir_session_run_failed (self, "The graph ran only in part", run->error);
}

/* It was cancelled: what it had kept stays, and stands no more. */
static void
say_it_was_stopped (IrSession *self)
{
  const IrStanding *standing = own (self)->standing;
  IrRun *run = ir_session_get_run (self, IR_SIDE_AFTER);

  if (standing == NULL || run == NULL || run->error == NULL)
    return;
  g_clear_error (&run->error);
  g_set_error (&run->error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED, "Stopped %s", standing->text);
}

static void
on_drive_failed (IrSession *self, const GError *error, gpointer request)
{
  say_it_was_stopped (self);
  end_link (self);
  ir_session_run_changed (self, IR_CHANGED_RUN_CONTROL | IR_CHANGED_BUSY);
  if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    ir_session_run_failed (self, "The graph could not run", error);
}

static Link *
link_new (IrSession *self, IrRunCommand first)
{
  Link *link = g_new0 (Link, 1);

  g_atomic_ref_count_init (&link->ref_count);
  g_weak_ref_init (&link->session, self);
  link->step = ir_session_get_frame (self)->to;
  link->control = ir_run_control_new (&(IrRunControlSetup){ on_stopped, NULL, link, first });
  ir_run_control_set_breaks (link->control, own (self)->breaks);
  if (any_needs (own (self)->breaks, IR_RUN_BREAK_REF))
    ir_run_control_check (link->control, NULL);
  return link;
}

static void
on_fed (IrSession *self, gpointer data)
{
  DriveRequest *request = data;

  own (self)->link = link_new (self, request->first);
  request->link = link_ref (own (self)->link);
  request->link->n_changes = request->base.feed.n_changes;
  request->link->sizes = g_hash_table_ref (request->base.feed.sizes);
  request->compares = any_needs (own (self)->breaks, IR_RUN_BREAK_ORIGINAL) &&
                      request->link->step > 0;
}

static const IrWork drive_work = {
  .run = run_driven,
  .done = on_driven,
  .failed = on_drive_failed,
  .clear = clear_request,
  .result_free = (GDestroyNotify) ir_run_unref,
  .runs = TRUE,
  .fed = on_fed,
};

static void
begin (IrSession *self, IrRunCommand first)
{
  DriveRequest *request = ir_session_new_request (self, &drive_work, sizeof *request);

  request->model = request->base.frame->model;
  request->settings = *ir_session_get_run_settings (self);
  request->settings.chosen = NULL;
  request->device = g_strdup (request->settings.device);
  request->worker = ir_worker_ref (ir_session_get_worker (self));
  request->first = first;
  ir_session_start (self, "Running the graph", request);
  ir_session_changed (self, IR_CHANGED_RUN_CONTROL);
}

/**
 * ir_session_drive:
 * @command: how a run begins that is stopped where this says, or how the one that stands goes on
 *
 * Without anything kept but statistics or outputs, what nodes gave is seen only while it stands.
 */
void
ir_session_drive (IrSession *self, IrRunCommand command)
{
  if (ir_session_is_empty (self))
    return;
  if (command.move == IR_RUN_TO && command.node == 0)
    {
      ir_session_message (self, "Select the node that is to have run");
      return;
    }
  if (own (self)->standing != NULL)
    {
      g_clear_pointer (&own (self)->standing, standing_free);
      ir_run_control_go (own (self)->link->control, command);
      ir_session_changed (self, IR_CHANGED_RUN_CONTROL);
    }
  else if (!ir_session_get_busy (self) && command.move != IR_RUN_STOP)
    begin (self, command);
  else if (own (self)->link != NULL && command.move == IR_RUN_STOP)
    ir_session_cancel (self);
}

void
ir_session_pause_run (IrSession *self)
{
  if (own (self)->link != NULL)
    ir_run_control_pause (own (self)->link->control);
}

/* -- breakpoints -- */

GPtrArray *
ir_session_get_run_breaks (IrSession *self)
{
  return own (self)->breaks;
}

static void
breaks_changed (IrSession *self)
{
  forget_hits (own (self));
  if (own (self)->link != NULL)
    ir_run_control_set_breaks (own (self)->link->control, own (self)->breaks);
  ir_session_changed (self, IR_CHANGED_RUN_CONTROL);
}

/**
 * ir_session_add_run_break:
 * @text: as ir_run_break_parse() reads it
 * @error: return location for an error
 *
 * Returns: %FALSE if the text cannot be read, or asks for nodes that there are not
 */
gboolean
ir_session_add_run_break (IrSession *self, const char *text, GError **error)
{
  g_autoptr (IrRunBreak) one = ir_run_break_parse (text, error);

  if (one == NULL || (!ir_session_is_empty (self) &&
                      !ir_run_break_check (one, ir_session_get_frame (self)->model, error)))
    return FALSE;
  g_ptr_array_add (own (self)->breaks, g_steal_pointer (&one));
  breaks_changed (self);
  return TRUE;
}

void
ir_session_remove_run_break (IrSession *self, guint index)
{
  if (index >= own (self)->breaks->len)
    return;
  g_ptr_array_remove_index (own (self)->breaks, index);
  breaks_changed (self);
}

/* -- watchpoints -- */

typedef struct
{
  IrRun *run;
  GPtrArray *breaks;
} JudgeRequest;

static void
judge_request_free (gpointer data)
{
  JudgeRequest *request = data;

  ir_run_unref (request->run);
  g_ptr_array_unref (request->breaks);
  g_free (request);
}

static gpointer
judge (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const JudgeRequest *request = data;

  return ir_run_judge (request->run, request->breaks, cancellable);
}

static void
on_judged (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  const JudgeRequest *request = data;
  RunControl *self = own (owner);

  g_clear_pointer (&self->judging, ir_job_unref);
  if (result == NULL)
    return;
  g_clear_pointer (&self->hits, g_array_unref);
  self->hits = result;
  g_clear_pointer (&self->judged, ir_run_unref);
  self->judged = ir_run_ref (request->run);
  ir_session_changed (owner, IR_CHANGED_RUN_CONTROL);
}

/* The breakpoints that the hits name are kept with them. */
static GPtrArray *
copy_breaks (const GPtrArray *breaks)
{
  GPtrArray *copy = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_run_break_unref);

  for (guint i = 0; i < breaks->len; i++)
    g_ptr_array_add (copy, ir_run_break_ref (breaks->pdata[i]));
  return copy;
}

/**
 * ir_session_get_run_hits:
 *
 * Begins to judge what the last run has kept, if that is not done.
 *
 * Returns: (transfer none) (nullable): of #IrRunHit, by value
 */
const GArray *
ir_session_get_run_hits (IrSession *self)
{
  IrRun *run = ir_session_get_run (self, IR_SIDE_AFTER);
  RunControl *state = own (self);
  JudgeRequest *request;

  if (run == NULL || state->breaks->len == 0)
    {
      forget_hits (state);
      return NULL;
    }
  if (state->judged == run)
    return state->hits;
  if (state->judging != NULL)
    return NULL;
  request = g_new0 (JudgeRequest, 1);
  *request = (JudgeRequest){ ir_run_ref (run), copy_breaks (state->breaks) };
  state->judging = ir_job_start (self, &(IrJobSpec){ .run = judge,
                                                     .data = request,
                                                     .data_free = judge_request_free,
                                                     .result_free = (GDestroyNotify) g_array_unref,
                                                     .done = on_judged });
  return NULL;
}
