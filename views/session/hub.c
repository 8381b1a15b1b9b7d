/* What every noun of the session stands on: telling of changes, and the one long job. */
#include "config.h"

#include "views/session/session-private.h"

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

static void
on_progress (gpointer owner, double fraction, const char *text)
{
  IrSession *self = owner;

  self->progress = fraction;
  g_free (self->progress_text);
  self->progress_text = g_strdup (text);
  ir_session_changed (self, IR_CHANGED_BUSY);
}

gboolean
ir_session_start_job (IrSession *self, const char *text, const IrJobSpec *spec)
{
  IrJobSpec full = *spec;

  if (self->job != NULL)
    {
      ir_session_message (self, "Busy: wait for the current work to end, or cancel it");
      if (spec->data_free != NULL)
        spec->data_free (spec->data);
      return FALSE;
    }
  full.progress = on_progress;
  self->job = ir_job_start (self, &full);
  on_progress (self, -1, text);
  return TRUE;
}

/* First line of every done function. */
void
ir_session_end_job (IrSession *self)
{
  g_clear_pointer (&self->job, ir_job_unref);
  self->progress = -1;
  g_clear_pointer (&self->progress_text, g_free);
}

void
ir_session_cancel (IrSession *self)
{
  if (self->job != NULL)
    ir_job_cancel (self->job);
}

gboolean
ir_session_get_busy (IrSession *self)
{
  return self->job != NULL;
}

double
ir_session_get_progress (IrSession *self)
{
  return self->progress;
}

const char *
ir_session_get_progress_text (IrSession *self)
{
  return self->progress_text;
}
