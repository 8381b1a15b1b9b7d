/* What was done is a line of states, of which one is on screen. All but the last steps of a timeline are
 * those of a shorter one, so a state is the first so many steps of some timeline, and what only makes a
 * history longer keeps one timeline for all of them. */
#include "config.h"

#include "views/session/debug-private.h"
#include "views/session/problems-private.h"
#include "views/session/replace.h"
#include "views/session/runs-private.h"
#include "views/session/selection-private.h"
#include "views/session/undo-private.h"

/* What is common to lines is one state in all of them. */
typedef struct
{
  IrTimeline *timeline; /* that begins with its steps */
  guint n_steps;
  guint base;    /* how many of them the state before it has too */
  guint cursor;  /* where one was when it was left */
  guint edits;   /* another number after every edit by hand */
  char *title;   /* (nullable) what was done: nothing yet */
  IrDone *said;  /* (nullable) how it is done again */
  GArray *found; /* problems, step by step */
} State;

typedef struct
{
  GPtrArray *line;     /* (nullable) (element-type State) */
  guint at;            /* which one is on screen: those behind it can be done again */
  IrTimeline *shown;   /* (nullable) its; the result of a what-if is none of the line */
  GPtrArray *branches; /* (element-type GPtrArray): other lines, that begin as this one does */
  guint n_edits;
  GPtrArray *written; /* (nullable) what the file holds that is open: the states that led to it */
  IrDone *ran;        /* (nullable) the last run of a pipeline */
  guint n_written;    /* and how many steps of the last of them; it may have more */
} Acts;

/* -- states -- */

static void
state_clear (gpointer data)
{
  State *state = data;

  ir_job_free_later (state->timeline, (GDestroyNotify) ir_timeline_unref);
  g_free (state->title);
  ir_done_free (state->said);
  g_array_unref (state->found);
}

static void
state_unref (gpointer state)
{
  g_rc_box_release_full (state, state_clear);
}

static gpointer
state_ref (gconstpointer state, gpointer data)
{
  return g_rc_box_acquire ((gpointer) state);
}

static State *
last_of (const GPtrArray *line)
{
  return line->pdata[line->len - 1];
}

static void
init (gpointer state)
{
  ((Acts *) state)->branches = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
}

static void
clear (gpointer state)
{
  Acts *self = state;

  g_clear_pointer (&self->line, g_ptr_array_unref);
  g_clear_pointer (&self->branches, g_ptr_array_unref);
  g_clear_pointer (&self->shown, ir_timeline_unref);
  g_clear_pointer (&self->written, g_ptr_array_unref);
  g_clear_pointer (&self->ran, ir_done_free);
}

IR_SESSION_NOUN (Acts, init, clear)

void
ir_session_set_ran (IrSession *self, IrDone *ran)
{
  ir_done_free (own (self)->ran);
  own (self)->ran = ran;
}

IrDone *
ir_session_dup_ran (IrSession *self)
{
  return own (self)->ran != NULL ? ir_done_copy (own (self)->ran)
                                 : ir_done_new (IR_DONE_PIPELINE, "default", NULL, 0);
}

/* (nullable): nothing is open */
static State *
current (Acts *acts)
{
  return acts->line != NULL ? acts->line->pdata[acts->at] : NULL;
}

static void
show (Acts *acts, IrTimeline *timeline)
{
  g_clear_pointer (&acts->shown, ir_timeline_unref);
  acts->shown = ir_timeline_ref (timeline);
}

/* -- branches -- */

static gboolean
ends_with (gconstpointer line, gconstpointer state)
{
  return last_of (line) == state;
}

static void
keep_branch (Acts *acts, GPtrArray *line)
{
  if (!g_ptr_array_find_with_equal_func (acts->branches, last_of (line), ends_with, NULL))
    g_ptr_array_add (acts->branches, g_ptr_array_copy (line, state_ref, NULL));
}

/* What begins with all of @state's steps has all of that branch. */
static void
drop_branch (Acts *acts, const State *state)
{
  guint i;

  if (g_ptr_array_find_with_equal_func (acts->branches, state, ends_with, &i))
    g_ptr_array_remove_index (acts->branches, i);
}

/* The states before the last one whose steps it has are kept by its timeline, too. */
static void
share_timeline (Acts *acts)
{
  const State *last = last_of (acts->line);
  guint n_shared = last->base;

  for (guint i = acts->line->len - 1; i-- > 0;)
    {
      State *state = acts->line->pdata[i];

      if (state->n_steps <= n_shared)
        {
          ir_job_free_later (state->timeline, (GDestroyNotify) ir_timeline_unref);
          state->timeline = ir_timeline_ref (last->timeline);
        }
      n_shared = MIN (n_shared, state->base);
    }
}

/* Takes @state, and what it was made of to be @is_edit: what it has no more of that stays. */
static void
add_state (Acts *acts, State *state, gboolean is_edit)
{
  const State *here = current (acts);

  if (acts->at + 1 < acts->line->len)
    {
      keep_branch (acts, acts->line);
      g_ptr_array_set_size (acts->line, (int) acts->at + 1);
    }
  if (state->base == here->n_steps)
    drop_branch (acts, here);
  else if (is_edit)
    keep_branch (acts, acts->line);
  g_ptr_array_add (acts->line, state);
  acts->at = acts->line->len - 1;
  share_timeline (acts);
}

/* Takes @said. */
static State *
state_new (
    IrTimeline *timeline, const char *title, guint base, guint edits, IrDone *said, GArray *found)
{
  State *state = g_rc_box_new0 (State);

  state->said = said;
  if (said != NULL)
    {
      said->at = base;
      ir_done_expect (said, ir_timeline_model (timeline), ir_timeline_n_steps (timeline));
    }
  state->timeline = ir_timeline_ref (timeline);
  state->n_steps = state->cursor = ir_timeline_n_steps (timeline);
  state->base = base;
  state->edits = edits;
  state->title = g_strdup (title);
  state->found = found;
  return state;
}

/* -- what the file holds -- */

/* The first @n_steps steps of the line's state @at are in the file. */
static void
take_written (Acts *acts, guint at, guint n_steps)
{
  const State *state = acts->line->pdata[at];

  while (at > 0 && state->base >= n_steps && state->n_steps > n_steps)
    state = acts->line->pdata[--at];
  g_clear_pointer (&acts->written, g_ptr_array_unref);
  acts->written = g_ptr_array_copy (acts->line, state_ref, NULL);
  g_ptr_array_set_size (acts->written, (int) at + 1);
  acts->n_written = n_steps;
}

void
ir_session_acts_written (IrSession *self, guint n_steps)
{
  Acts *acts = own (self);

  take_written (acts, acts->at, n_steps);
}

/* -- what is done -- */

void
ir_session_begin_acts (IrSession *self)
{
  Acts *acts = own (self);
  IrTimeline *timeline = ir_session_get_timeline (self);

  clear (acts);
  init (acts);
  acts->line = g_ptr_array_new_with_free_func (state_unref);
  acts->at = 0;
  g_ptr_array_add (acts->line, state_new (timeline, NULL, 0, ++acts->n_edits, NULL,
                                          ir_session_dup_found (self)));
  take_written (acts, 0, 0);
  show (acts, timeline);
}

/* Who goes on with the result of a what-if can go back to it. Takes @said. */
static void
record_what_if (Acts *acts, IrTimeline *timeline, IrDone *said)
{
  const State *here = current (acts);

  add_state (acts,
             state_new (timeline, "What If", ir_timeline_last_edit (timeline), here->edits, said,
                        g_array_ref (here->found)),
             FALSE);
}

void
ir_session_record_act (
    IrSession *self, const IrRequest *request, const char *title, guint base, IrDone *said)
{
  const gboolean is_edit = ir_done_is_edit (said);
  Acts *acts = own (self);
  IrTimeline *timeline = ir_session_get_timeline (self);

  if (request->timeline != acts->shown)
    record_what_if (acts, request->timeline, ir_session_dup_ran (self));
  current (acts)->cursor = request->frame->to;
  add_state (acts,
             state_new (timeline, title, base, is_edit ? ++acts->n_edits : current (acts)->edits,
                        said, ir_session_dup_found (self)),
             is_edit);
  show (acts, timeline);
}

guint
ir_session_get_edits (IrSession *self)
{
  const State *state = current (own (self));

  return state != NULL ? state->edits : 0;
}

/* -- going to another state -- */

typedef struct
{
  IrRequest base;
  IrPictureSettings *settings;
  IrModel *other; /* (nullable) the file that the frame is compared with */
  IrCompare compare;
  GPtrArray *line;
  guint at, cursor;
  char *message;
} UndoRequest;

static void
clear_request (gpointer data)
{
  UndoRequest *request = data;

  g_clear_pointer (&request->settings, ir_picture_settings_unref);
  g_clear_pointer (&request->other, ir_model_unref);
  g_clear_pointer (&request->line, g_ptr_array_unref);
  g_free (request->message);
}

static gpointer
run_undo (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const UndoRequest *request = data;
  const State *state = request->line->pdata[request->at];
  IrTimeline *timeline = ir_timeline_until (state->timeline, state->n_steps);
  IrSuccessor *successor = ir_successor_show (
      timeline, request->other,
      ir_compare_step (request->compare, ir_timeline_model (timeline), request->cursor, 0),
      request->cursor, request->base.frame, request->settings, cancellable);

  if (!g_cancellable_set_error_if_cancelled (cancellable, error))
    return successor;
  ir_successor_free (successor);
  return NULL;
}

/* The one that is left becomes a branch, to its end. */
static void
take_line (Acts *acts, GPtrArray *line, guint at)
{
  if (line != acts->line)
    {
      g_autoptr (GPtrArray) before = acts->line;

      acts->line = g_ptr_array_ref (line);
      g_ptr_array_remove (acts->branches, line);
      keep_branch (acts, before);
    }
  acts->at = at;
}

static void
on_undone (IrSession *self, gpointer result, gpointer data)
{
  const UndoRequest *request = data;
  IrSuccessor *successor = result;

  if (ir_request_is_current (data, self))
    {
      Acts *acts = own (self);

      if (request->line == acts->line)
        current (acts)->cursor = request->base.frame->to;
      take_line (acts, request->line, request->at);
      show (acts, successor->timeline);
      ir_session_forget_what_if (self);
      ir_session_take_successor (self, successor);
      ir_session_place_found (self, current (acts)->found);
      ir_session_check_compare (self);
      ir_session_forget_run_after (self);
      ir_session_forget_records (self);
      ir_session_forget_kernel_times (self);
      ir_session_keep_live_selection (self);
      /* the picture and the comparison too: a pinned one starts from its step again */
      ir_session_changed (self, IR_CHANGED_ALL & ~(IR_CHANGED_OVERLAY | IR_CHANGED_TIME_SPAN));
      ir_session_message (self, "%s", request->message);
    }
  else
    ir_session_changed (self, IR_CHANGED_BUSY);
  ir_successor_free (successor);
}

static const IrWork undo_work = {
  .run = run_undo,
  .done = on_undone,
  .failure = "The other state could not be shown",
  .clear = clear_request,
  .result_free = ir_successor_free,
};

/* Takes @message. */
static void
go (IrSession *self, GPtrArray *line, guint at, guint cursor, char *message)
{
  const IrCompare compare = ir_session_get_compare (self);
  const State *state = line->pdata[at];
  UndoRequest *request;

  ir_session_clear_marks (self);
  request = ir_session_new_request (self, &undo_work, sizeof *request);
  request->settings = ir_session_picture_settings (self, ir_session_get_run (self, IR_SIDE_AFTER),
                                                   ir_found_at (state->found, cursor));
  request->compare = compare == IR_COMPARE_RESULT ? IR_COMPARE_STEP : compare;
  request->other = ir_session_other_model (self);
  request->line = g_ptr_array_ref (line);
  request->at = at;
  request->cursor = cursor;
  request->message = message;
  ir_session_start (self, message, request);
}

static gboolean
shows_what_if (IrSession *self)
{
  return ir_session_get_timeline (self) != own (self)->shown;
}

const char *
ir_session_get_undo (IrSession *self)
{
  Acts *acts = own (self);

  if (acts->line == NULL)
    return NULL;
  return shows_what_if (self) ? "What If" : current (acts)->title;
}

const char *
ir_session_get_redo (IrSession *self)
{
  const Acts *acts = own (self);

  return acts->line != NULL && acts->at + 1 < acts->line->len
             ? ((State *) acts->line->pdata[acts->at + 1])->title
             : NULL;
}

/**
 * ir_session_undo:
 *
 * Takes back the last edit or the last run of a pipeline: the history is what it was, and so is the
 * position in it. A what-if that is on screen ends.
 */
void
ir_session_undo (IrSession *self)
{
  const Acts *acts = own (self);
  const char *title = ir_session_get_undo (self);

  if (title != NULL && shows_what_if (self))
    ir_session_skip_nothing (self);
  else if (title != NULL)
    go (self, acts->line, acts->at - 1, ((State *) acts->line->pdata[acts->at - 1])->cursor,
        g_strdup_printf ("Undid %s", title));
}

/**
 * ir_session_redo:
 *
 * Does again what ir_session_undo() took back last: the same steps are there, not made anew.
 */
void
ir_session_redo (IrSession *self)
{
  const Acts *acts = own (self);
  const char *title = ir_session_get_redo (self);

  if (title != NULL)
    go (self, acts->line, acts->at + 1, ((State *) acts->line->pdata[acts->at + 1])->cursor,
        g_strdup_printf ("Redid %s", title));
}

/* -- branches, as they are listed -- */

/* Undo may have led to the end of one, which is then no other history. (nullable) */
static GPtrArray *
listed_branch (Acts *acts, guint index)
{
  for (guint i = 0; i < acts->branches->len; i++)
    if (!ends_with (acts->branches->pdata[i], current (acts)) && index-- == 0)
      return acts->branches->pdata[i];
  return NULL;
}

static guint
n_shared_steps (const GPtrArray *a, guint n_states, const GPtrArray *b)
{
  guint n = 0, n_same = 0;

  while (n_same < n_states && n_same < b->len && a->pdata[n_same] == b->pdata[n_same])
    n = ((State *) a->pdata[n_same++])->n_steps;
  for (guint i = n_same; i < n_states; i++)
    n = MIN (n, ((State *) a->pdata[i])->base);
  for (guint i = n_same; i < b->len; i++)
    n = MIN (n, ((State *) b->pdata[i])->base);
  return n;
}

guint
ir_session_get_n_branches (IrSession *self)
{
  guint n = 0;

  while (listed_branch (own (self), n) != NULL)
    n++;
  return n;
}

/**
 * ir_session_get_branch:
 * @index: less than ir_session_get_n_branches()
 *
 * Returns: what the branch is, until the next %IR_CHANGED_UNDO
 */
IrBranch
ir_session_get_branch (IrSession *self, guint index)
{
  Acts *acts = own (self);
  const GPtrArray *line = listed_branch (acts, index);
  const State *last = line != NULL ? last_of (line) : NULL;

  g_return_val_if_fail (last != NULL, ((IrBranch){ 0 }));
  return (IrBranch){ last->title != NULL ? last->title : "As Opened", last->n_steps,
                     n_shared_steps (acts->line, acts->at + 1, line) };
}

/**
 * ir_session_go_to_branch:
 * @index: less than ir_session_get_n_branches()
 *
 * Puts the branch in the place of the history on screen, which becomes a branch.
 */
void
ir_session_go_to_branch (IrSession *self, guint index)
{
  GPtrArray *line = listed_branch (own (self), index);

  if (line != NULL)
    go (self, line, line->len - 1, last_of (line)->n_steps,
        g_strdup_printf ("Went to the branch %s", ir_session_get_branch (self, index).title));
}

/* -- as a session has it -- */

static guint
n_common (const GPtrArray *a, const GPtrArray *b)
{
  guint n = 0;

  while (n < a->len && n < b->len && a->pdata[n] == b->pdata[n])
    n++;
  return n;
}

/* Which state of @line is the first that is not in the file as a whole. */
static guint
first_unwritten (const Acts *acts, const GPtrArray *line)
{
  const guint n = n_common (line, acts->written);
  const gboolean in_part = n == acts->written->len &&
                           last_of (acts->written)->n_steps > acts->n_written;

  return in_part ? n - 1 : n;
}

/* Steps are counted from the file on: @n_before, so many of then are no more. What was done in the place
 * of steps that the file holds is done behind them. */
static IrDone *
listed (const Acts *acts, const State *state, guint *n_before)
{
  IrDone *done = ir_done_copy (state->said);

  if (state == last_of (acts->written)) /* the rest of it */
    {
      done->at = acts->n_written;
      g_clear_pointer (&done->made, g_array_unref);
    }
  *n_before = MIN (*n_before, done->at);
  done->at -= *n_before;
  done->n_steps -= *n_before;
  return done;
}

/* Lists the states @from to @to. Returns: how many steps are no more there */
static guint
list_line (const Acts *acts, GPtrArray *done, const GPtrArray *line, guint from, guint to)
{
  guint n_before = acts->n_written;

  for (guint i = first_unwritten (acts, line); i <= to && i < line->len; i++)
    {
      IrDone *next = listed (acts, line->pdata[i], &n_before);

      if (done != NULL && i >= from)
        g_ptr_array_add (done, next);
      else
        ir_done_free (next);
    }
  return n_before;
}

guint
ir_session_get_n_written (IrSession *self)
{
  const Acts *acts = own (self);

  return acts->line != NULL ? list_line (acts, NULL, acts->line, 0, acts->at) : 0;
}

/* What is left of one that does not go on from the file is nothing that could be done to it. */
static void
list_branch (const Acts *acts, const GPtrArray *line, IrSessionFile *file)
{
  const guint first = first_unwritten (acts, line), n = MAX (n_common (line, acts->line), first);
  IrDoneBranch *branch;

  if (n_common (line, acts->written) < acts->written->len ||
      (line->len <= first && acts->written->len > 1))
    return;
  branch = g_new0 (IrDoneBranch, 1);
  branch->n_shared = n - first;
  branch->done = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_done_free);
  list_line (acts, branch->done, line, n, G_MAXUINT);
  g_ptr_array_add (file->branches, branch);
}

void
ir_session_list_done (IrSession *self, IrSessionFile *file)
{
  const Acts *acts = own (self);
  guint first;

  if (acts->line == NULL)
    return;
  first = first_unwritten (acts, acts->line);
  list_line (acts, file->done, acts->line, first, G_MAXUINT);
  file->n_done = MAX (acts->at + 1, first) - first;
  file->n_undone = first - MIN (acts->at + 1, first);
  for (guint i = 0; i < acts->branches->len; i++)
    list_branch (acts, acts->branches->pdata[i], file);
}

/* States of a replay are shared by its lines, and so are those that are made of them. */
static GPtrArray *
restore_line (Acts *acts, const GPtrArray *line, GHashTable *timelines, GHashTable *made)
{
  GPtrArray *states = g_ptr_array_new_with_free_func (state_unref);
  const State *first = acts->line->pdata[0];

  for (guint i = 0; i < line->len; i++)
    {
      const IrSessionReplayed *replayed = line->pdata[i];
      State *state = g_hash_table_lookup (made, replayed),
            *before = i > 0 ? states->pdata[i - 1] : NULL;
      g_autofree char *title = replayed->done != NULL ? ir_done_title (replayed->done) : NULL;

      if (state == NULL)
        {
          state = state_new (g_hash_table_lookup (timelines, replayed->model), title,
                             replayed->base, first->edits, NULL, g_array_ref (first->found));
          state->n_steps = state->cursor = replayed->n_steps;
          state->said = replayed->done != NULL ? ir_done_copy (replayed->done) : NULL;
          if (before != NULL)
            state->edits = ir_done_is_edit (state->said) ? ++acts->n_edits : before->edits;
          if (state->said != NULL)
            {
              state->said->at = replayed->base;
              ir_done_expect (state->said, replayed->model, replayed->n_steps);
            }
          g_hash_table_insert (made, (gpointer) replayed, state);
        }
      else
        state = state_ref (state, NULL);
      g_ptr_array_add (states, state);
    }
  return states;
}

void
ir_session_restore_acts (IrSession *self, const IrSessionReplay *replay, GHashTable *timelines)
{
  Acts *acts = own (self);
  g_autoptr (GHashTable) made = g_hash_table_new (NULL, NULL);
  GPtrArray *line = restore_line (acts, replay->line, timelines, made);

  for (guint i = 0; i < replay->branches->len; i++)
    g_ptr_array_add (acts->branches,
                     restore_line (acts, replay->branches->pdata[i], timelines, made));
  g_ptr_array_unref (acts->line);
  acts->line = line;
  acts->at = replay->at;
  take_written (acts, 0, 0);
  current (acts)->cursor = ir_session_get_cursor (self);
}
