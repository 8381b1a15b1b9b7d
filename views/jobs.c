#include "config.h"

#include "views/jobs.h"

/* How often progress reaches the main thread; 20 updates a second look smooth and cost nothing. */
#define PROGRESS_INTERVAL_MS 50

/* After being cancelled a job that polls ends by itself, and may have a result to show. */
#define PATIENCE_MS 90

struct _IrJob
{
  gatomicrefcount ref_count;
  gint n_users; /* atomic: of the data: the thread, and the main thread until it is done */
  GTask *task;  /* (nullable) (unowned) until it is done */
  guint leaving; /* (nullable) timeout */
  IrJob *before; /* (nullable) left behind; this one waits until it has ended */
  IrJobSpec spec;
  GWeakRef owner;
  gpointer owner_key; /* only to know that there was one */
  GCancellable *cancellable;
  guint timeout;

  GMutex lock; /* guards what follows */
  GCond over;
  gboolean ended; /* the thread has */
  gboolean changed;
  double fraction;
  char *text;
};

IrJob *
ir_job_ref (IrJob *job)
{
  g_atomic_ref_count_inc (&job->ref_count);
  return job;
}

void
ir_job_unref (IrJob *job)
{
  if (!g_atomic_ref_count_dec (&job->ref_count))
    return;
  g_weak_ref_clear (&job->owner);
  g_clear_object (&job->cancellable);
  g_clear_pointer (&job->before, ir_job_unref);
  g_mutex_clear (&job->lock);
  g_cond_clear (&job->over);
  g_free (job->text);
  g_free (job);
}

static gboolean
leave (gpointer user)
{
  IrJob *job = user;

  job->leaving = 0;
  if (job->task != NULL)
    g_task_set_return_on_cancel (job->task, TRUE);
  return G_SOURCE_REMOVE;
}

/**
 * ir_job_cancel:
 *
 * Asks the job to stop. It ends with %G_IO_ERROR_CANCELLED as soon as its function polls, or in a
 * tenth of a second, whatever that does: then the thread is left behind with the data.
 */
void
ir_job_cancel (IrJob *job)
{
  g_return_if_fail (job != NULL);
  g_cancellable_cancel (job->cancellable);
  if (job->task != NULL && job->leaving == 0)
    job->leaving = g_timeout_add (PATIENCE_MS, leave, job);
}

/**
 * ir_job_is_left:
 *
 * Returns: whether its thread goes on although it is done for its owner
 */
gboolean
ir_job_is_left (IrJob *job)
{
  g_mutex_lock (&job->lock);
  gboolean left = !job->ended && job->task == NULL;
  g_mutex_unlock (&job->lock);
  return left;
}

gboolean
ir_job_is_cancelled (IrJob *job)
{
  return g_cancellable_is_cancelled (job->cancellable);
}

/**
 * ir_job_report:
 * @fraction: 0 to 1, or negative when the end cannot be told
 * @text: (nullable): what is being done; %NULL keeps the text as it is
 *
 * Says how far the job is. May be called often and from any thread: only the newest report is
 * shown.
 */
void
ir_job_report (IrJob *job, double fraction, const char *text)
{
  g_mutex_lock (&job->lock);
  job->changed = TRUE;
  job->fraction = fraction;
  if (text != NULL && g_strcmp0 (text, job->text) != 0)
    {
      g_free (job->text);
      job->text = g_strdup (text);
    }
  g_mutex_unlock (&job->lock);
}

static gboolean
job_tick (gpointer data)
{
  IrJob *job = data;
  g_autoptr (GObject) owner = g_weak_ref_get (&job->owner);
  g_autofree char *text = NULL;
  gboolean changed;
  double fraction;

  g_mutex_lock (&job->lock);
  changed = job->changed;
  fraction = job->fraction;
  text = g_strdup (job->text);
  job->changed = FALSE;
  g_mutex_unlock (&job->lock);
  if (changed && owner != NULL)
    job->spec.progress (owner, fraction, text);
  return G_SOURCE_CONTINUE;
}

/* The data go with the last who uses them, in the main thread. */
static gboolean
release (gpointer user)
{
  g_autoptr (IrJob) job = user;

  if (g_atomic_int_dec_and_test (&job->n_users) && job->spec.data_free != NULL)
    job->spec.data_free (job->spec.data);
  return G_SOURCE_REMOVE;
}

static void
await_before (IrJob *job)
{
  IrJob *before = job->before;

  if (before == NULL)
    return;
  ir_job_report (job, -1, "Waiting for the work that was cancelled to end");
  g_mutex_lock (&before->lock);
  while (!before->ended && !g_cancellable_is_cancelled (job->cancellable))
    g_cond_wait_until (&before->over, &before->lock,
                       g_get_monotonic_time () + PROGRESS_INTERVAL_MS * 1000);
  g_mutex_unlock (&before->lock);
}

static void
end_thread (IrJob *job)
{
  g_mutex_lock (&job->lock);
  job->ended = TRUE;
  g_cond_broadcast (&job->over);
  g_mutex_unlock (&job->lock);
  g_idle_add (release, ir_job_ref (job));
}

static gpointer
run (IrJob *job, GError **error)
{
  await_before (job);
  return g_cancellable_set_error_if_cancelled (job->cancellable, error)
             ? NULL
             : job->spec.run (job, job->spec.data, job->cancellable, error);
}

static void
job_thread (GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
  IrJob *job = task_data;
  g_autoptr (GError) error = NULL;
  gpointer result = run (job, &error);

  end_thread (job);
  if (error != NULL)
    {
      if (result != NULL && job->spec.result_free != NULL)
        job->spec.result_free (result);
      g_task_return_error (task, g_steal_pointer (&error));
    }
  else
    g_task_return_pointer (task, result, job->spec.result_free);
}

static void
job_done (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (IrJob) job = user_data;
  g_autoptr (GError) error = NULL;
  gpointer value = g_task_propagate_pointer (G_TASK (result), &error);
  g_autoptr (GObject) owner = g_weak_ref_get (&job->owner);

  g_clear_handle_id (&job->timeout, g_source_remove);
  g_clear_handle_id (&job->leaving, g_source_remove);
  job->task = NULL;
  if (job->owner_key == NULL || owner != NULL)
    job->spec.done (owner, value, error, job->spec.data);
  else if (value != NULL && job->spec.result_free != NULL)
    job->spec.result_free (value);
  release (g_steal_pointer (&job));
}

static IrJob *
job_new (gpointer owner, const IrJobSpec *spec)
{
  IrJob *job = g_new0 (IrJob, 1);

  g_atomic_ref_count_init (&job->ref_count);
  job->n_users = 2;
  g_mutex_init (&job->lock);
  g_cond_init (&job->over);
  g_weak_ref_init (&job->owner, owner);
  job->spec = *spec;
  job->owner_key = owner;
  job->cancellable = g_cancellable_new ();
  job->before = spec->before != NULL ? ir_job_ref (spec->before) : NULL;
  return job;
}

/**
 * ir_job_start:
 * @owner: (nullable): a #GObject that the job belongs to; held weakly, `done` and `progress` are
 *   called only while it lives
 * @spec: what to do; copied
 *
 * Starts a thread of the pool on `spec->run`.
 *
 * Returns: (transfer full): the job, to cancel it
 */
IrJob *
ir_job_start (gpointer owner, const IrJobSpec *spec)
{
  g_autoptr (GTask) task = NULL;

  g_return_val_if_fail (spec->run != NULL && spec->done != NULL, NULL);
  IrJob *job = job_new (owner, spec);
  if (spec->progress != NULL)
    job->timeout = g_timeout_add (PROGRESS_INTERVAL_MS, job_tick, job);
  task = g_task_new (NULL, job->cancellable, job_done, ir_job_ref (job));
  g_task_set_task_data (task, ir_job_ref (job), (GDestroyNotify) ir_job_unref);
  job->task = task;
  g_task_run_in_thread (task, job_thread);
  return job;
}

static void
free_thread (GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
  /* The task data goes with the task, which ends in this thread. */
  g_task_set_task_data (task, NULL, NULL);
  g_task_return_boolean (task, TRUE);
}

/**
 * ir_job_free_later:
 * @data: (nullable) (transfer full): something that may be let go of in any thread
 * @free_func: how
 *
 * Lets go of @data in a thread of the pool.
 */
void
ir_job_free_later (gpointer data, GDestroyNotify free_func)
{
  g_autoptr (GTask) task = NULL;

  if (data == NULL)
    return;
  task = g_task_new (NULL, NULL, NULL, NULL);
  g_task_set_task_data (task, data, free_func);
  g_task_run_in_thread (task, free_thread);
}
