/* The runs of the original graph and of the one on screen, and how runs are made. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "views/session/session-private.h"

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
  char *chosen = g_strdup (settings->chosen);

  self->settings = *settings;
  self->settings.n_runs = MAX (settings->n_runs, 1);
  g_free (self->chosen);
  self->settings.chosen = self->chosen = chosen;
}

/* -- the last run -- */

void
ir_session_clear_runs (IrSession *self)
{
  for (guint i = 0; i < IR_N_SIDES; i++)
    ir_job_free_later (g_steal_pointer (&self->runs[i]), (GDestroyNotify) ir_run_unref);
  ir_session_forget_originals (self);
  g_clear_pointer (&self->used_inputs, g_hash_table_unref);
  g_clear_pointer (&self->divergence, g_free);
  g_clear_pointer (&self->unknown, g_free);
  self->run_step = 0;
}

const IrDivergence *
ir_session_get_divergence (IrSession *self)
{
  return self->runs[IR_SIDE_AFTER] != NULL ? self->divergence : NULL;
}

IrRun *
ir_session_get_run (IrSession *self, IrSide side)
{
  g_return_val_if_fail (side < IR_N_SIDES, NULL);
  return self->runs[side];
}

guint
ir_session_get_run_step (IrSession *self)
{
  return self->run_step;
}

/* One that fails half way is a result too: what was computed before can be looked at, and the
 * run says which node failed. Returns the run. */
IrRun *
ir_session_run_once (IrExecutable *executable,
                     IrModel *model,
                     GHashTable *inputs,
                     GCancellable *cancellable,
                     GError **error)
{
  g_autoptr (GHashTable) own = ir_session_inputs_of (model, inputs);
  g_autoptr (GError) local = NULL;
  IrRun *partial = NULL, *run;

  run = ir_executable_run (executable, own, cancellable, &partial, &local);
  if (run == NULL && partial != NULL && partial->error == NULL && local != NULL)
    partial->error = g_error_copy (local);
  if (run == NULL && partial == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return run != NULL ? run : partial;
}
