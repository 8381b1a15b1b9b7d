/* What every noun of the session stands on, and what knows none of them. */
#include "config.h"

#include "views/session/hub.h"

/* -- nouns -- */

gpointer
ir_session_noun (IrSession *self, const IrNoun *noun)
{
  gpointer state = g_hash_table_lookup (self->nouns, noun);

  if (state == NULL)
    {
      state = g_malloc0 (noun->size);
      g_hash_table_insert (self->nouns, (gpointer) noun, state);
      if (noun->init != NULL)
        noun->init (state);
    }
  return state;
}

void
ir_session_free_nouns (IrSession *self)
{
  GHashTableIter iter;
  gpointer noun, state;

  g_hash_table_iter_init (&iter, self->nouns);
  while (g_hash_table_iter_next (&iter, &noun, &state))
    {
      if (((const IrNoun *) noun)->clear != NULL)
        ((const IrNoun *) noun)->clear (state);
      g_free (state);
    }
  g_clear_pointer (&self->nouns, g_hash_table_unref);
}

/* -- telling -- */

void
ir_session_changed (IrSession *self, IrSessionChanges changes)
{
  g_signal_emit_by_name (self, "changed", (guint) changes);
}

void
ir_session_message (IrSession *self, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_signal_emit_by_name (self, "message", text);
}

void
ir_session_failed (IrSession *self, const char *title, const GError *error)
{
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    ir_session_message (self, "Cancelled");
  else
    g_signal_emit_by_name (self, "failed", title, error != NULL ? error->message : "");
}

/**
 * ir_session_show_view:
 * @id: such as "tensor"
 *
 * Asks the window to bring that view to the front.
 */
void
ir_session_show_view (IrSession *self, const char *id)
{
  g_signal_emit_by_name (self, "show-view", id);
}

/* -- the long job -- */

typedef struct
{
  IrJob *job;  /* (nullable) */
  IrJob *left; /* (nullable): the one that was cancelled last */
  double progress;
  char *text; /* (nullable) */
} LongJob;

static void
init (gpointer state)
{
  ((LongJob *) state)->progress = -1;
}

void
ir_session_drop_job (IrJob **job)
{
  if (*job != NULL)
    ir_job_cancel (*job);
  g_clear_pointer (job, ir_job_unref);
}

static void
clear (gpointer state)
{
  LongJob *self = state;

  ir_session_drop_job (&self->job);
  g_clear_pointer (&self->left, ir_job_unref);
  g_free (self->text);
}

IR_SESSION_NOUN (LongJob, init, clear)

static void
on_progress (gpointer owner, double fraction, const char *text)
{
  LongJob *self = own (owner);

  self->progress = fraction;
  g_free (self->text);
  self->text = g_strdup (text);
  ir_session_changed (owner, IR_CHANGED_BUSY);
}

gboolean
ir_session_start_job (IrSession *self, const char *text, const IrJobSpec *spec)
{
  IrJobSpec full = *spec;

  if (own (self)->job != NULL)
    {
      ir_session_message (self, "Busy: wait for the current work to end, or cancel it");
      if (spec->data_free != NULL)
        spec->data_free (spec->data);
      return FALSE;
    }
  full.progress = on_progress;
  if (own (self)->left != NULL && ir_job_is_left (own (self)->left))
    full.before = own (self)->left;
  own (self)->job = ir_job_start (self, &full);
  on_progress (self, -1, text);
  return TRUE;
}

void
ir_session_end_job (IrSession *self)
{
  g_clear_pointer (&own (self)->job, ir_job_unref);
  own (self)->progress = -1;
  g_clear_pointer (&own (self)->text, g_free);
}

void
ir_session_cancel (IrSession *self)
{
  LongJob *long_job = own (self);

  if (long_job->job == NULL)
    return;
  g_clear_pointer (&long_job->left, ir_job_unref);
  long_job->left = ir_job_ref (long_job->job);
  ir_job_cancel (long_job->job);
}

gboolean
ir_session_get_busy (IrSession *self)
{
  return own (self)->job != NULL;
}

double
ir_session_get_progress (IrSession *self)
{
  return own (self)->progress;
}

const char *
ir_session_get_progress_text (IrSession *self)
{
  return own (self)->text;
}
