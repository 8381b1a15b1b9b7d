/* The recorder of events: an observer of a run. Where it stands is a stack of places, one for each body
 * that runs; a graph that tokens move through says the place of each event itself. */
#include "config.h"

#include "core/exec/run/flow-log-private.h"

#include "core/exec/run/iteration-name.h"

#include "core/exec/run/control.h"
#include "core/op/op.h"

#include <string.h>

static const char *const kind_names[IR_N_FLOW_KINDS] = { "fired",  "dead",   "entered",
                                                         "merged", "next",   "deferred",
                                                         "exited", "called", "returned" };

/**
 * ir_flow_kind_name:
 *
 * Returns: (transfer none): the word that the command and JSON give
 */
const char *
ir_flow_kind_name (IrFlowKind kind)
{
  return kind_names[kind];
}

/* -- places -- */

const char *
ir_flow_log_intern (IrFlowLog *log, char *path)
{
  gpointer found;

  if (g_hash_table_lookup_extended (log->paths, path, &found, NULL))
    {
      g_free (path);
      return found;
    }
  g_hash_table_add (log->paths, path);
  return path;
}

static IrFlowPlace *
top (const IrFlowLog *log)
{
  return &g_array_index (log->places, IrFlowPlace, log->places->len - 1);
}

/* @last: interned; most events are where the one before was. */
static const char *
intern_again (IrFlowLog *log, const char *last, const char *name)
{
  return strcmp (last, name) == 0 ? last : ir_flow_log_intern (log, g_strdup (name));
}

/* Behind what is kept paths are read by nobody, and there may be millions of them. @last: one that was there */
static const char *
inside (IrFlowLog *log, const IrFlowPlace *place, const char *name, const char *last)
{
  if (log->observer.n_events >= log->filter.to && *name != '\0')
    return intern_again (log, last, name);
  if (*place->path == '\0' || *name == '\0')
    return intern_again (log, last, *name == '\0' ? place->path : name);
  return ir_flow_log_intern (
      log, g_strdup_printf ("%s@%" G_GINT64_FORMAT "/%s", place->path, place->iteration, name));
}

void
ir_flow_log_push (IrFlowLog *log, const char *path, const char *name, gint64 iteration)
{
  const IrFlowPlace place = { path, ir_flow_log_intern (log, g_strdup (name)), iteration };

  g_array_append_val (log->places, place);
}

static void
pop (IrFlowLog *log)
{
  if (log->places->len > 1)
    g_array_set_size (log->places, log->places->len - 1);
}

/* -- events -- */

static IrFlowFrame *
frame_named (IrFlowLog *log, const char *name)
{
  guint index = GPOINTER_TO_UINT (g_hash_table_lookup (log->frame_of, name));

  if (index == 0)
    {
      const IrFlowFrame frame = { .name = name };
      g_array_append_val (log->frames, frame);
      index = log->frames->len;
      g_hash_table_insert (log->frame_of, (gpointer) name, GUINT_TO_POINTER (index));
    }
  return &g_array_index (log->frames, IrFlowFrame, index - 1);
}

static gboolean
is_wanted (const IrFlowLog *log, const IrFlowPlace *place)
{
  return log->observer.n_events >= log->filter.from && log->observer.n_events < log->filter.to &&
         (log->loop == NULL || strcmp (place->name, log->loop) == 0 ||
          ir_iteration_frame_is (log->loop, place->path)) &&
         (log->filter.iteration < 0 ||
          (*place->path != '\0' && place->iteration == log->filter.iteration));
}

/* Events before those at the end go. */
static void
keep_last (IrFlowLog *log)
{
  if (log->filter.last > 0 && log->events->len > log->filter.last)
    g_array_remove_range (log->events, 0, log->events->len - log->filter.last);
}

static void
record (IrFlowLog *log, IrFlowKind kind, const IrNode *node, gint slot)
{
  const IrFlowPlace *place = top (log);
  const IrFlowEvent event = { log->observer.n_events, kind, node->id, place->path, place->name,
                              place->iteration,       slot };

  if (*place->path == '\0' && log->outside->len < MAX_OUTSIDE)
    g_array_append_val (log->outside, event);
  if (is_wanted (log, place))
    {
      if (log->filter.last > 0 && log->events->len >= 2 * log->filter.last)
        keep_last (log);
      g_array_append_val (log->events, event);
    }
  log->observer.n_events++;
}

static void
count_iteration (IrFlowLog *log, gboolean first, guint in_flight)
{
  if (log->whole != NULL)
    return;
  IrFlowFrame *frame = frame_named (log, top (log)->name);

  frame->n_entered += first;
  frame->n_iterations++;
  frame->most_in_flight = MAX (frame->most_in_flight, in_flight);
}

/* A loop in no other */
static void
note_start (IrFlowLog *log, IrNodeId loop, const char *name)
{
  const IrFlowStart start = { loop, ir_flow_log_intern (log, g_strdup (name)),
                              log->observer.n_events };

  if (log->starts->len < MAX_OUTSIDE)
    g_array_append_val (log->starts, start);
}

/* Of bodies of Loop, Scan and SequenceMap, and of branches */
static void
note_body (IrFlowLog *log, const IrFlowTell *tell)
{
  const IrNode *node = tell->node;

  if (tell->kind == IR_FLOW_ENTERED)
    {
      g_autofree char *name = ir_loop_name (node);
      if (*top (log)->path == '\0')
        note_start (log, node->id, name);
      ir_flow_log_push (log, inside (log, top (log), name, top (log)->path), name, 0);
    }
  top (log)->iteration = tell->kind == IR_FLOW_NEXT ? tell->iteration : top (log)->iteration;
  if (tell->kind == IR_FLOW_ENTERED || tell->kind == IR_FLOW_NEXT)
    count_iteration (log, tell->kind == IR_FLOW_ENTERED, 1);
  record (log, tell->kind, node, tell->slot);
  if (tell->kind == IR_FLOW_EXITED)
    pop (log);
  if (log->whole != NULL && log->owner == 0 && log->places->len == 1)
    log->is_deaf = log->was_left = TRUE;
}

static void
note_end (IrFlowLog *log, const char *frame)
{
  const IrFlowEnd end = { log->observer.n_events, frame };

  if (log->filter.last == 0)
    g_array_append_val (log->ends, end);
}

static void
count_token (IrFlowLog *log, const IrFlowTell *tell)
{
  IrFlowCount *count = &log->counts[tell->node->id];

  count->fired += tell->kind != IR_FLOW_DEAD && tell->kind != IR_FLOW_DEFERRED;
  count->dead += tell->kind == IR_FLOW_DEAD;
}

/* Of a graph that tokens move through: its places are inside of that which lies below. */
static void
note_token (IrFlowLog *log, const IrFlowTell *tell)
{
  const IrFlowPlace below = g_array_index (log->places, IrFlowPlace, log->places->len - 2);
  IrFlowPlace *place = top (log);

  place->path = inside (log, &below, tell->frame, place->path);
  place->name = *tell->frame != '\0' ? intern_again (log, place->name, tell->name) : below.name;
  place->iteration = *tell->frame != '\0' ? tell->iteration : below.iteration;
  if (tell->in_flight > 0)
    count_iteration (log, tell->iteration == 0, tell->in_flight);
  if (tell->in_flight > 0 && tell->iteration == 0 && *below.path == '\0' &&
      strcmp (tell->frame, tell->name) == 0)
    note_start (log, tell->loop, tell->name);
  if (tell->node == NULL)
    {
      if (tell->kind == IR_FLOW_EXITED && log->observer.n_events < log->filter.to)
        note_end (log, place->path);
      log->was_left |= log->owner != 0 && tell->kind == IR_FLOW_EXITED &&
                       strcmp (tell->frame, log->part_name) == 0;
      return;
    }
  if (log->whole == NULL)
    count_token (log, tell);
  record (log, tell->kind, tell->node, tell->slot);
}

/* -- the observer -- */

static gboolean
is_token_graph (const IrNode *node)
{
  return ir_op_is (node, IR_OP_TOKEN_GRAPH);
}

static void
flow (IrObserver *observer, const IrFlowTell *tell)
{
  IrFlowLog *log = (IrFlowLog *) observer;

  if (!ir_flow_part_hears (log, tell))
    return;
  if (tell->frame != NULL)
    note_token (log, tell);
  else
    note_body (log, tell);
}

static void
stand (IrObserver *observer, const GArray *tokens)
{
  ir_flow_part_stand ((IrFlowLog *) observer, tokens);
}

static gboolean
begin (IrObserver *observer, IrRunState *state, GError **error)
{
  IrFlowLog *log = (IrFlowLog *) observer;

  g_array_set_size (log->places, 0);
  ir_flow_log_push (log, ir_flow_log_intern (log, g_strdup ("")), "", 0);
  g_clear_pointer (&log->model, ir_model_unref);
  log->model = ir_model_ref (state->prepared->model);
  g_free (log->counts);
  log->counts = g_new0 (IrFlowCount, log->model->nodes->len);
  return TRUE;
}

static gboolean
before (IrObserver *observer,
        IrRunState *state,
        const IrNode *node,
        const IrRunStep *step,
        GError **error)
{
  IrFlowLog *log = (IrFlowLog *) observer;

  if (is_token_graph (node) && log->whole == NULL && *top (log)->path == '\0')
    note_start (log, node->id, "");
  if (is_token_graph (node) && !log->is_deaf)
    ir_flow_log_push (log, top (log)->path, top (log)->name, top (log)->iteration);
  return TRUE;
}

static gboolean
after (IrObserver *observer,
       IrRunState *state,
       const IrNode *node,
       const IrRunStep *step,
       GError **error)
{
  IrFlowLog *log = (IrFlowLog *) observer;

  if (log->is_deaf)
    return TRUE;
  if (is_token_graph (node))
    {
      pop (log);
      return TRUE;
    }
  if (ir_op_is (node, IR_OP_FUNCTIONS)) /* the model has no such node */
    return TRUE;
  if (log->whole == NULL)
    log->counts[node->id].fired++;
  record (log, IR_FLOW_FIRED, node, -1);
  return TRUE;
}

/* -- all -- */

/**
 * ir_flow_log_new:
 * @filter: which events are kept; copied
 *
 * Returns: (transfer full): a log without events
 */
IrFlowLog *
ir_flow_log_new (const IrFlowFilter *filter)
{
  IrFlowLog *log = g_new0 (IrFlowLog, 1);

  g_atomic_ref_count_init (&log->ref_count);
  log->observer = (IrObserver){ begin, before, after, NULL, flow, stand, 0 };
  log->filter = *filter;
  log->loop = log->filter.loop = g_strdup (filter->loop);
  log->paths = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  log->places = g_array_new (FALSE, FALSE, sizeof (IrFlowPlace));
  log->events = g_array_new (FALSE, FALSE, sizeof (IrFlowEvent));
  log->frames = g_array_new (FALSE, TRUE, sizeof (IrFlowFrame));
  log->ends = g_array_new (FALSE, FALSE, sizeof (IrFlowEnd));
  log->frame_of = g_hash_table_new (NULL, NULL);
  log->outside = g_array_new (FALSE, FALSE, sizeof (IrFlowEvent));
  log->starts = g_array_new (FALSE, FALSE, sizeof (IrFlowStart));
  log->before = g_array_new (FALSE, FALSE, sizeof (IrFlowEvent));
  return log;
}

/**
 * ir_flow_log_ref:
 * @log: a log, which is not written any more
 *
 * Returns: (transfer full): the same, for one more owner
 */
IrFlowLog *
ir_flow_log_ref (IrFlowLog *log)
{
  g_atomic_ref_count_inc (&log->ref_count);
  return log;
}

/**
 * ir_flow_log_unref:
 * @log: (transfer full) (nullable): a log
 */
void
ir_flow_log_unref (IrFlowLog *log)
{
  if (log == NULL || !g_atomic_ref_count_dec (&log->ref_count))
    return;
  g_free ((char *) log->loop);
  g_clear_pointer (&log->run, ir_run_unref);
  g_clear_pointer (&log->model, ir_model_unref);
  g_clear_pointer (&log->source, ir_model_unref);
  g_hash_table_unref (log->paths);
  g_hash_table_unref (log->frame_of);
  g_array_unref (log->places);
  g_array_unref (log->events);
  g_array_unref (log->frames);
  g_array_unref (log->ends);
  g_array_unref (log->outside);
  g_array_unref (log->starts);
  g_array_unref (log->before);
  g_clear_pointer (&log->tokens, g_array_unref);
  g_clear_pointer (&log->values, ir_iteration_values_free);
  g_clear_pointer (&log->whole, ir_flow_log_unref);
  g_free (log->counts);
  g_free (log);
}

/**
 * ir_flow_log_run:
 * @log: a log without events
 * @model: a model
 * @inputs: value id -> IrTensor
 * @options: (nullable): of the run; it goes on one thread, without chains and spans. A control of it
 *   drives the run, and must not have another who looks on
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error: those of ir_model_run()
 *
 * Runs @model and writes down what happens in its control flow. After an error @log has what happened
 * before.
 *
 * Returns: (transfer full): the run
 */
IrRun *
ir_flow_log_run (IrFlowLog *log,
                 IrModel *model,
                 GHashTable *inputs,
                 const IrRunOptions *options,
                 GCancellable *cancellable,
                 GError **error)
{
  IrRunOptions own = options != NULL ? *options : (IrRunOptions){ 0 };

  own.n_threads = 1;
  own.parallel = IR_PARALLEL_OFF;
  own.without |= IR_DECISION_CHAINS | IR_DECISION_SPANS;
  IrObserver *observer = &log->observer;
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &own, error);
  g_autoptr (IrRun) partial = NULL;
  IrRun *run;

  if (executable == NULL)
    return NULL;
  if (own.control != NULL)
    {
      ir_run_control_watch (own.control, observer, NULL);
      observer = ir_run_control_observer (own.control);
    }
  g_clear_pointer (&log->source, ir_model_unref);
  log->source = ir_model_ref (model);
  run = ir_executable_run_observed (executable, inputs, observer, cancellable, &partial, error);
  g_clear_pointer (&log->run, ir_run_unref);
  log->run = run != NULL ? ir_run_ref (run) : g_steal_pointer (&partial);
  if (own.control != NULL)
    ir_run_control_watch (own.control, NULL, NULL);
  keep_last (log);
  return run;
}

/**
 * ir_flow_log_events:
 *
 * Returns: (transfer none) (element-type IrFlowEvent): those that the filter wants, in order
 */
const GArray *
ir_flow_log_events (const IrFlowLog *log)
{
  return log->events;
}

/**
 * ir_flow_log_n_events:
 *
 * Returns: how many there were, kept or not
 */
guint64
ir_flow_log_n_events (const IrFlowLog *log)
{
  return log->whole != NULL ? log->whole->observer.n_events : log->observer.n_events;
}

/**
 * ir_flow_log_frames:
 *
 * Returns: (transfer none) (element-type IrFlowFrame): each by its name, as they were first entered
 */
const GArray *
ir_flow_log_frames (const IrFlowLog *log)
{
  return log->whole != NULL ? log->whole->frames : log->frames;
}

/**
 * ir_flow_log_ends:
 *
 * Returns: (transfer none) (element-type IrFlowEnd): when frames of tokens were over
 */
const GArray *
ir_flow_log_ends (const IrFlowLog *log)
{
  return log->ends;
}

/**
 * ir_flow_log_counts:
 * @log: a log of a run
 * @node: a node of ir_flow_log_model()
 *
 * Returns: (transfer none) (nullable): how often it ran and how often it was dead
 */
const IrFlowCount *
ir_flow_log_counts (const IrFlowLog *log, IrNodeId node)
{
  if (log->whole != NULL)
    return ir_flow_log_counts (log->whole, node);
  return log->counts != NULL && node < log->model->nodes->len ? &log->counts[node] : NULL;
}

/**
 * ir_flow_log_model:
 *
 * Returns: (transfer none) (nullable): the model that ran, with bodies of functions in place of calls
 */
const IrModel *
ir_flow_log_model (const IrFlowLog *log)
{
  return log->whole != NULL ? log->whole->model : log->model;
}

/**
 * ir_flow_log_source:
 *
 * Returns: (transfer none) (nullable): the model that was given; its ids are those of events
 */
const IrModel *
ir_flow_log_source (const IrFlowLog *log)
{
  return log->whole != NULL ? log->whole->source : log->source;
}

/**
 * ir_flow_log_get_run:
 *
 * Returns: (transfer none) (nullable): the run, as far as it came, with what it was asked to keep
 */
IrRun *
ir_flow_log_get_run (const IrFlowLog *log)
{
  return log->whole != NULL ? log->whole->run : log->run;
}

/**
 * ir_flow_log_series:
 * @log: a log of a run that kept statistics of iterations, or a part of one
 * @value: id of a value
 *
 * Returns: (transfer none) (nullable) (element-type IrSeriesPoint): those of single iterations that there are, in order
 */
const GArray *
ir_flow_log_series (const IrFlowLog *log, IrValueId value)
{
  const IrRun *run = ir_flow_log_get_run (log);
  const GArray *own = ir_flow_log_part_series (log, value);

  return own != NULL                                           ? own
         : run != NULL && ir_run_series_step (run, value) == 1 ? ir_run_series (run, value)
                                                               : NULL;
}
