#include "config.h"

#include "views/session/request.h"

gpointer
ir_session_new_request (IrSession *self, const IrWork *work, gsize size)
{
  IrRequest *request = g_malloc0 (size);
  IrTimeline *timeline = ir_session_get_timeline (self);
  IrFrame *frame = ir_session_get_frame (self);

  request->work = work;
  request->timeline = timeline != NULL ? ir_timeline_ref (timeline) : NULL;
  request->frame = frame != NULL ? ir_frame_ref (frame) : NULL;
  request->feed = ir_session_dup_feed (self);
  return request;
}

void
ir_request_free (gpointer data)
{
  IrRequest *request = data;

  if (request->work->clear != NULL)
    request->work->clear (request);
  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->frame, ir_frame_unref);
  ir_feed_clear (&request->feed);
  g_free (request);
}

static gpointer
run (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  IrRequest *request = data;

  request->job = job;
  return request->work->run (job, request, cancellable, error);
}

static void
fail (IrSession *self, IrRequest *request, const GError *error)
{
  if (request->work->failed != NULL)
    request->work->failed (self, error, request);
  else
    ir_session_failed (self, request->work->failure, error);
}

static void
on_done (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  const IrWork *work = ((IrRequest *) data)->work;

  ir_session_end_job (owner);
  if (result != NULL)
    {
      work->done (owner, result, data);
      return;
    }
  ir_session_changed (owner, IR_CHANGED_BUSY);
  fail (owner, data, error);
}

static IrJobSpec
spec_of (IrRequest *request, IrJobDone done)
{
  return (IrJobSpec){ .run = run,
                      .data = request,
                      .data_free = ir_request_free,
                      .result_free = request->work->result_free,
                      .done = done };
}

static void
start (IrSession *self, const char *text, IrRequest *request)
{
  const IrJobSpec spec = spec_of (request, on_done);

  if (request->work->fed != NULL)
    request->work->fed (self, request);
  ir_session_start_job (self, text, &spec);
}

/* -- what waits until its sizes were seen -- */

typedef struct
{
  IrRequest *request; /* (nullable) */
  char *text;
  GHashTable *seen; /* names of free dims */
} Held;

static void
init (gpointer state)
{
  ((Held *) state)->seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

static void
clear (gpointer state)
{
  g_clear_pointer (&((Held *) state)->request, ir_request_free);
  g_clear_pointer (&((Held *) state)->text, g_free);
  g_clear_pointer (&((Held *) state)->seen, g_hash_table_unref);
}

IR_SESSION_NOUN (Held, init, clear)

void
ir_session_forget_seen (IrSession *self)
{
  g_hash_table_remove_all (own (self)->seen);
}

/* Whether a run would choose a size that nobody asked for or has seen. */
static gboolean
chooses_unseen (IrSession *self)
{
  const IrModel *original = ir_session_get_original (self);
  g_autoptr (GHashTable) given = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GArray) dims = NULL;

  if (original == NULL)
    return FALSE;
  ir_bind_given (original, ir_session_get_inputs (self), given);
  dims = ir_session_free_dims (self);
  for (guint i = 0; i < dims->len; i++)
    {
      const IrFreeDim *dim = &g_array_index (dims, IrFreeDim, i);

      if (!dim->given && !g_hash_table_contains (given, dim->name) &&
          !g_hash_table_contains (own (self)->seen, dim->name))
        return TRUE;
    }
  return FALSE;
}

/* Those of now, by somebody who lets a run have them. */
void
ir_session_see_sizes (IrSession *self)
{
  g_autoptr (GArray) dims = ir_session_free_dims (self);

  for (guint i = 0; i < dims->len; i++)
    g_hash_table_add (own (self)->seen, g_strdup (g_array_index (dims, IrFreeDim, i).name));
}

void
ir_session_start (IrSession *self, const char *text, gpointer data)
{
  IrRequest *request = data;
  gboolean taken = FALSE;

  if (!request->work->runs || ir_session_get_busy (self) || !chooses_unseen (self))
    {
      start (self, text, request);
      return;
    }
  ir_session_give_up (self);
  own (self)->request = request;
  own (self)->text = g_strdup (text);
  g_signal_emit_by_name (self, "sizes-unseen", text, &taken);
  if (!taken)
    ir_session_go_on (self);
}

/**
 * ir_session_go_on:
 *
 * Starts what waits for sizes to be seen, with the inputs and sizes of now
 *
 * Returns: whether anything waited
 */
gboolean
ir_session_go_on (IrSession *self)
{
  IrRequest *request = g_steal_pointer (&own (self)->request);
  g_autofree char *text = g_steal_pointer (&own (self)->text);

  if (request == NULL)
    return FALSE;
  if (!ir_request_is_current (request, self))
    {
      ir_request_free (request);
      return FALSE;
    }
  ir_feed_clear (&request->feed);
  request->feed = ir_session_dup_feed (self);
  start (self, text, request);
  return TRUE;
}

/* What waits for sizes to be seen ends as if it had been cancelled. */
void
ir_session_give_up (IrSession *self)
{
  IrRequest *request = g_steal_pointer (&own (self)->request);
  g_autofree char *text = g_steal_pointer (&own (self)->text);
  g_autoptr (GError) error = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "Cancelled");

  if (request == NULL)
    return;
  ir_session_changed (self, IR_CHANGED_BUSY);
  fail (self, request, error);
  ir_request_free (request);
}

IrJob *
ir_session_start_beside (IrSession *self, gpointer request, IrJobDone done)
{
  const IrJobSpec spec = spec_of (request, done);

  return ir_job_start (self, &spec);
}

gboolean
ir_request_is_current (gpointer request, IrSession *self)
{
  return ((IrRequest *) request)->timeline == ir_session_get_timeline (self);
}
