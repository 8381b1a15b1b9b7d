/* The runs of the original graph and of the one on screen, and how runs are made. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "views/session/frame-private.h"
#include "views/session/inputs-private.h"
#include "views/session/problems-private.h"
#include "views/session/runs-private.h"

typedef struct
{
  IrRunSettings settings;
  char *chosen, *device; /* (nullable) the settings' */
  IrLastRun last;
  IrRun *spare;      /* (nullable) that was forgotten; the next run may reuse values of it */
  IrWorker *worker;  /* runs graphs */
  gpointer attached; /* (nullable) */
  GDestroyNotify attached_free;
} Runs;

static void
init (gpointer state)
{
  Runs *self = state;

  self->settings = (IrRunSettings){ .options = { .capture = IR_CAPTURE_ALL }, .n_runs = 1 };
  self->worker = ir_worker_new ();
}

/* All values may have been kept: that takes longer than a frame. */
static void
drop_last (IrLastRun *last)
{
  for (guint i = 0; i < IR_N_SIDES; i++)
    ir_job_free_later (g_steal_pointer (&last->runs[i]), (GDestroyNotify) ir_run_unref);
  ir_last_run_clear (last);
}

static void
clear (gpointer state)
{
  Runs *self = state;

  if (self->attached != NULL)
    ir_job_free_later (self->attached, self->attached_free);
  drop_last (&self->last);
  g_clear_pointer (&self->spare, ir_run_unref);
  g_clear_pointer (&self->worker, ir_worker_unref);
  g_free (self->chosen);
  g_free (self->device);
}

IR_SESSION_NOUN (Runs, init, clear)

const IrRunSettings *
ir_session_get_run_settings (IrSession *self)
{
  return &own (self)->settings;
}

const IrBackend *
ir_session_get_backend (IrSession *self)
{
  const char *device = own (self)->settings.device;
  const IrBackend *backend = device != NULL ? ir_backend_find (device) : NULL;

  return backend != NULL ? backend : ir_backend_require (NULL, NULL);
}

/**
 * ir_session_set_run_settings:
 * @settings: how runs are made from now on; the last one stays as it is
 */
void
ir_session_set_run_settings (IrSession *self, const IrRunSettings *settings)
{
  char *chosen = g_strdup (settings->chosen), *device = g_strdup (settings->device);

  own (self)->settings = *settings;
  own (self)->settings.n_runs = MAX (settings->n_runs, 1);
  g_free (own (self)->chosen);
  own (self)->settings.chosen = own (self)->chosen = chosen;
  g_free (own (self)->device);
  own (self)->settings.device = own (self)->device = device;
}

IrRunOptions
ir_session_get_run_options (IrSession *self)
{
  IrRunOptions options = own (self)->settings.options;

  options.seed = ir_session_get_seed (self);
  return options;
}

IrWorker *
ir_session_get_worker (IrSession *self)
{
  return own (self)->worker;
}

/* -- the last run -- */

void
ir_last_run_clear (IrLastRun *run)
{
  for (guint i = 0; i < IR_N_SIDES; i++)
    g_clear_pointer (&run->runs[i], ir_run_unref);
  g_clear_pointer (&run->inputs, g_hash_table_unref);
  g_clear_pointer (&run->sizes, g_hash_table_unref);
  g_free (run->divergence);
  g_free (run->unknown);
  *run = (IrLastRun){ 0 };
}

void
ir_session_attach_to_run (IrSession *self, gpointer data, GDestroyNotify free_func)
{
  Runs *runs = own (self);

  if (runs->attached != NULL)
    ir_job_free_later (runs->attached, runs->attached_free);
  runs->attached = data;
  runs->attached_free = free_func;
}

gpointer
ir_session_get_attached (IrSession *self)
{
  return own (self)->attached;
}

void
ir_session_take_last_run (IrSession *self, IrLastRun *run, GPtrArray *stops)
{
  Runs *runs = own (self);

  ir_session_attach_to_run (self, NULL, NULL);
  drop_last (&runs->last);
  ir_job_free_later (g_steal_pointer (&runs->spare), (GDestroyNotify) ir_run_unref);
  if (run != NULL)
    {
      runs->last = *run;
      *run = (IrLastRun){ 0 };
    }
  ir_session_set_faults (self, IR_FAULTS_OF_RUN, runs->last.step, stops);
}

void
ir_session_run_changed (IrSession *self, IrSessionChanges also)
{
  if (ir_session_get_overlay (self) != NULL)
    {
      ir_session_age_picture (self);
      also |= IR_CHANGED_PICTURE;
    }
  ir_session_changed (self, IR_CHANGED_RUNS | also);
}

IrRun *
ir_session_dup_earlier_run (IrSession *self, IrSide side, guint step)
{
  const Runs *runs = own (self);
  IrRun *run = runs->last.runs[side];

  /* A run that may reuse values has no chains: one that shall measure the same again is not offered any. */
  if (side == IR_SIDE_AFTER && run != NULL && runs->last.step == step &&
      !ir_session_run_has_other_inputs (self))
    return NULL;

  if (run == NULL && side == IR_SIDE_AFTER)
    run = runs->spare != NULL ? runs->spare : runs->last.runs[IR_SIDE_BEFORE];
  return run != NULL ? ir_run_ref (run) : NULL;
}

void
ir_session_forget_run_after (IrSession *self)
{
  Runs *runs = own (self);
  IrRun *after = g_steal_pointer (&runs->last.runs[IR_SIDE_AFTER]);

  ir_session_attach_to_run (self, NULL, NULL);
  if (after != NULL)
    {
      ir_job_free_later (runs->spare, (GDestroyNotify) ir_run_unref);
      runs->spare = after;
    }
  ir_session_set_faults (self, IR_FAULTS_OF_RUN, 0, NULL);
}

/* Whether there was a run, whose values are of steps that are gone. */
gboolean
ir_session_was_run_forgotten (IrSession *self)
{
  return own (self)->spare != NULL;
}

GHashTable *
ir_session_get_used_inputs (IrSession *self)
{
  return own (self)->last.inputs;
}

gboolean
ir_session_was_one_run (IrSession *self)
{
  return own (self)->last.one_run;
}

const char *
ir_session_get_unknown (IrSession *self)
{
  return own (self)->last.unknown;
}

const IrDivergence *
ir_session_get_divergence (IrSession *self)
{
  return own (self)->last.runs[IR_SIDE_AFTER] != NULL ? own (self)->last.divergence : NULL;
}

IrRun *
ir_session_get_run (IrSession *self, IrSide side)
{
  g_return_val_if_fail (side < IR_N_SIDES, NULL);
  return own (self)->last.runs[side];
}

gboolean
ir_session_run_has_other_inputs (IrSession *self)
{
  const IrLastRun *last = &own (self)->last;

  return last->runs[IR_SIDE_AFTER] != NULL &&
         !ir_session_feeds_as (self, last->n_changes, last->sizes);
}

guint
ir_session_get_run_step (IrSession *self)
{
  return own (self)->last.step;
}

IrRun *
ir_run_once (IrExecutable *executable,
             IrModel *model,
             GHashTable *inputs,
             GCancellable *cancellable,
             GError **error)
{
  g_autoptr (GHashTable) known = ir_inputs_of (model, inputs);
  g_autoptr (GError) local = NULL;
  IrRun *partial = NULL, *run;

  run = ir_executable_run_what_can (executable, known, cancellable, &partial, &local);
  if (run == NULL && partial != NULL && partial->error == NULL && local != NULL)
    partial->error = g_error_copy (local);
  if (run == NULL && partial == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return run != NULL ? run : partial;
}
