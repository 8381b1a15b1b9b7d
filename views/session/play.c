/* Playing: one run of the graph on screen, whose control flow is written down. */
#include "config.h"

#include "views/session/play.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/run/loop-table.h"
#include "views/session/request.h"

#define MAX_EVENTS 200000     /* that are kept: about 10 MB */
#define MAX_BYTES  (64 << 20) /* of statistics of iterations, some 400,000, and of checkpoints */
#define AHEAD      64         /* iterations behind one that is asked for, at most */
#define BEHIND     4          /* and before it, where these are not long: as many have columns */

typedef struct
{
  IrFlowLog *log;     /* (nullable) of the run, or a part of it that was played again */
  IrFlowState *state; /* (nullable) of @log: behind the event that is shown */
  IrJob *job;         /* (nullable) plays a part */
  IrNodeId loop;      /* of which a part was asked for last; 0: there it is */
  gint64 first, last; /* likewise: its iterations */
  gboolean shows_event;
  char *error;       /* (nullable) */
  IrModel *model;    /* (nullable) of the frame that was played */
  guint n_changes;   /* of what inputs are given, by then */
  GHashTable *sizes; /* (nullable) likewise */
} Play;

static void
clear (gpointer state)
{
  Play *play = state;

  g_clear_pointer (&play->state, ir_flow_state_free);
  play->shows_event = FALSE;
  play->loop = 0;
  g_clear_pointer (&play->log, ir_flow_log_unref);
  g_clear_pointer (&play->error, g_free);
  g_clear_pointer (&play->model, ir_model_unref);
  g_clear_pointer (&play->sizes, g_hash_table_unref);
}

IR_SESSION_NOUN (Play, NULL, clear)

typedef struct
{
  IrFlowLog *log;
  char *error;
} Played;

static void
played_free (gpointer data)
{
  Played *played = data;

  ir_flow_log_unref (played->log);
  g_free (played->error);
  g_free (played);
}

/* A run that fails has played until then. */
static gpointer
run_play (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const IrRequest *request = data;
  const IrFlowFilter filter = { .to = MAX_EVENTS, .iteration = -1 };
  IrModel *model = request->frame->model;
  g_autoptr (GHashTable)
      inputs = ir_feed_inputs (&request->feed, ir_timeline_original (request->timeline), error);
  g_autoptr (GError) failed = NULL;

  if (inputs == NULL)
    return NULL;
  g_autoptr (GHashTable) own = ir_inputs_of (model, inputs);
  const IrBackend *backend = ir_backend_find ("cpu");
  g_autoptr (GArray) chosen = ir_flow_values (model, backend);
  const IrRunOptions options = { .backend = backend,
                                 .seed = request->feed.seed,
                                 .capture = IR_CAPTURE_CHOSEN,
                                 .chosen = chosen,
                                 .capture_budget = MAX_BYTES,
                                 .iterations = { .kind = IR_ITERATIONS_OVERVIEW } };
  g_autoptr (IrFlowLog) log = ir_flow_log_new (&filter);
  g_autoptr (IrRun) run = ir_flow_log_run (log, model, own, &options, cancellable, &failed);
  if (run == NULL && (g_cancellable_is_cancelled (cancellable) || ir_flow_log_model (log) == NULL))
    {
      g_propagate_error (error, g_steal_pointer (&failed));
      return NULL;
    }
  Played *played = g_new0 (Played, 1);
  played->log = g_steal_pointer (&log);
  played->error = failed != NULL ? g_strdup (failed->message) : NULL;
  return played;
}

static void
on_played (IrSession *self, gpointer result, gpointer data)
{
  const IrRequest *request = data;
  Played *played = result;
  Play *play = own (self);

  if (ir_request_is_current (data, self))
    {
      clear (play);
      play->log = g_steal_pointer (&played->log);
      play->error = g_steal_pointer (&played->error);
      play->model = ir_model_ref (request->frame->model);
      play->n_changes = request->feed.n_changes;
      play->sizes = request->feed.sizes != NULL ? g_hash_table_ref (request->feed.sizes) : NULL;
      ir_session_changed (self, IR_CHANGED_PLAY);
    }
  played_free (played);
  ir_session_changed (self, IR_CHANGED_BUSY);
}

static const IrWork play_work = {
  .run = run_play,
  .done = on_played,
  .failure = "The graph could not be played",
  .result_free = played_free,
  .runs = TRUE,
};

/**
 * ir_session_play:
 *
 * Runs the graph on screen once, on one thread, and keeps what happens in its control flow.
 */
void
ir_session_play (IrSession *self)
{
  if (!ir_session_is_empty (self) && ir_session_get_frame (self) != NULL)
    ir_session_start (self, "Playing the graph",
                      ir_session_new_request (self, &play_work, sizeof (IrRequest)));
}

/* -- parts -- */

typedef struct
{
  IrRequest base;
  IrFlowLog *log;
  IrNodeId loop;
  gint64 first, last;
} PartRequest;

static void
clear_part_request (gpointer data)
{
  ir_flow_log_unref (((PartRequest *) data)->log);
}

/* How many iterations of @loop have as many events as are kept, about */
static gint64
count_kept (const IrFlowLog *log, IrNodeId loop)
{
  const GArray *frames = ir_flow_log_frames (log);
  const char *name = ir_flow_log_loop_name (log, loop);
  guint64 n = 1;

  for (guint i = 0; i < frames->len; i++)
    if (g_str_equal (g_array_index (frames, IrFlowFrame, i).name, name))
      n = MAX (g_array_index (frames, IrFlowFrame, i).n_iterations, 1);
  return (gint64) (MAX_EVENTS / (ir_flow_log_n_events (log) / n + 1));
}

static gpointer
run_part (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const PartRequest *request = data;
  const gint64 n_kept = count_kept (request->log, request->loop);

  return ir_flow_log_replay (request->log, request->loop,
                             MAX (request->first - MIN (BEHIND, n_kept / 4), 0),
                             MAX (request->first + CLAMP (n_kept / 2, 1, AHEAD), request->last),
                             MAX_EVENTS, cancellable, error);
}

static void start_part (IrSession *self);

static void
on_part (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  const PartRequest *request = data;
  IrSession *self = owner;
  Play *play = own (self);
  g_autoptr (IrFlowLog) part = result;

  g_clear_pointer (&play->job, ir_job_unref);
  if (play->log == NULL || ir_flow_log_whole (play->log) != ir_flow_log_whole (request->log))
    return;
  if (part == NULL ||
      (play->loop == request->loop && play->first == request->first && play->last == request->last))
    play->loop = 0;
  if (part != NULL)
    {
      g_clear_pointer (&play->state, ir_flow_state_free);
      play->shows_event = FALSE;
      ir_flow_log_unref (play->log);
      play->log = g_steal_pointer (&part);
      ir_session_changed (self, IR_CHANGED_EVENT);
    }
  start_part (self);
}

static const IrWork part_work = {
  .run = run_part,
  .clear = clear_part_request,
  .result_free = (GDestroyNotify) ir_flow_log_unref,
};

/* Of those that are asked for while one is made, the last one. */
static void
start_part (IrSession *self)
{
  Play *play = own (self);
  PartRequest *request;

  if (play->loop == 0 || play->job != NULL)
    return;
  request = ir_session_new_request (self, &part_work, sizeof *request);
  request->log = ir_flow_log_ref (play->log);
  request->loop = play->loop;
  request->first = play->first;
  request->last = play->last;
  play->job = ir_session_start_beside (self, request, on_part);
}

/**
 * ir_session_play_rounds:
 * @loop: a loop of ir_session_get_events(), by ir_flow_log_outer_loop()
 * @first: one of its iterations
 * @last: and another, or the same
 *
 * Plays them again from a checkpoint of the run, with some before and behind them, unless they are there.
 * ir_session_get_events() is that part then, and %IR_CHANGED_EVENT tells of it.
 *
 * Returns: whether they are there
 */
gboolean
ir_session_play_rounds (IrSession *self, IrNodeId loop, gint64 first, gint64 last)
{
  Play *play = own (self);

  if (play->log == NULL || loop == 0 ||
      (ir_flow_log_has_round (play->log, loop, first) &&
       ir_flow_log_has_round (play->log, loop, last)))
    return TRUE;
  play->loop = loop;
  play->first = first;
  play->last = last;
  start_part (self);
  return FALSE;
}

void
ir_session_forget_events (IrSession *self)
{
  clear (own (self));
  ir_session_changed (self, IR_CHANGED_PLAY);
}

IrFlowLog *
ir_session_get_events (IrSession *self)
{
  return own (self)->log;
}

const char *
ir_session_get_play_error (IrSession *self)
{
  return own (self)->error;
}

void
ir_session_show_event (IrSession *self, guint event)
{
  Play *play = own (self);

  if (play->log == NULL)
    return;
  if (play->state == NULL)
    play->state = ir_flow_state_new (play->log);
  ir_flow_state_go (play->state, event);
  play->shows_event = TRUE;
  ir_session_changed (self, IR_CHANGED_EVENT);
}

void
ir_session_hide_event (IrSession *self)
{
  own (self)->shows_event = FALSE;
  ir_session_changed (self, IR_CHANGED_EVENT);
}

const IrFlowState *
ir_session_get_tokens (IrSession *self)
{
  const Play *play = own (self);
  const IrFrame *frame = ir_session_get_frame (self);

  return play->shows_event && frame != NULL && frame->model == play->model ? play->state : NULL;
}

char *
ir_session_events_stale_text (IrSession *self)
{
  const Play *play = own (self);
  const IrFrame *frame = ir_session_get_frame (self);

  if (play->log == NULL || frame == NULL)
    return NULL;
  if (play->model != frame->model)
    return g_strdup ("Of another step than the one on screen: play again");
  return ir_session_feeds_as (self, play->n_changes, play->sizes)
             ? NULL
             : g_strdup ("Inputs have changed since: play again");
}
