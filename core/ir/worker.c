/* One thread for many works: OpenMP keeps a pool of threads for each thread that begins parallel
 * work, so a thread for each run would make a pool for each run. At most one work is left behind at
 * a time, as the next one waits for it. */
#include "config.h"

#include "core/ir/worker.h"

#include <pthread.h>
#include <time.h>

#define POLL_NS 5000000 /* between two questions whether to leave */

typedef enum
{
  IDLE,
  BUSY,
  LEFT, /* busy for nobody */
} State;

struct _IrWorker
{
  gatomicrefcount ref_count;
  pthread_mutex_t lock; /* not one of GLib's, which ThreadSanitizer does not know; guards the rest */
  pthread_cond_t changed;
  GThread *made;   /* (nullable) */
  gboolean closed; /* nobody has it any more: the thread ends, and frees it */
  gboolean joined; /* … but for the worker, which is freed by who waits for the thread */
  pthread_t thread;
  State state;
  guint n_begun; /* works so far */
  const IrWorkerTask *work; /* (nullable) to be begun */
  gpointer data;
};

/**
 * ir_worker_new:
 *
 * Returns: (transfer full): a worker, whose thread begins with the first work
 */
IrWorker *
ir_worker_new (void)
{
  IrWorker *worker = g_new0 (IrWorker, 1);
  pthread_condattr_t attributes;

  g_atomic_ref_count_init (&worker->ref_count);
  pthread_mutex_init (&worker->lock, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC); /* whoever sets the clock */
  pthread_cond_init (&worker->changed, &attributes);
  pthread_condattr_destroy (&attributes);
  return worker;
}

static void
worker_free (IrWorker *worker)
{
  pthread_cond_destroy (&worker->changed);
  pthread_mutex_destroy (&worker->lock);
  g_free (worker);
}

static gboolean
is_own_thread (const IrWorker *worker)
{
  return worker->made != NULL && worker->state != IDLE &&
         pthread_equal (worker->thread, pthread_self ());
}

/**
 * ir_worker_ref:
 * @worker: a worker
 *
 * Returns: (transfer full): @worker
 */
IrWorker *
ir_worker_ref (IrWorker *worker)
{
  g_atomic_ref_count_inc (&worker->ref_count);
  return worker;
}

/**
 * ir_worker_unref:
 * @worker: (transfer full): a worker
 *
 * The last one ends the thread, which goes on until what was left behind has ended.
 */
void
ir_worker_unref (IrWorker *worker)
{
  if (!g_atomic_ref_count_dec (&worker->ref_count))
    return;
  pthread_mutex_lock (&worker->lock);
  /* One that has nothing to do ends at once, and all that a thread has is gone when it is joined. */
  gboolean joins = worker->made != NULL && worker->state == IDLE;
  GThread *made = g_steal_pointer (&worker->made);
  worker->closed = TRUE;
  worker->joined = joins;
  pthread_cond_broadcast (&worker->changed);
  pthread_mutex_unlock (&worker->lock);
  if (joins)
    g_thread_join (made);
  else if (made != NULL)
    g_thread_unref (made);
  if (joins || made == NULL)
    worker_free (worker);
}

static void
run_one (IrWorker *worker)
{
  const IrWorkerTask *work = g_steal_pointer (&worker->work);
  gpointer data = worker->data;

  pthread_mutex_unlock (&worker->lock);
  work->run (data);
  pthread_mutex_lock (&worker->lock);
  if (worker->state == LEFT)
    {
      pthread_mutex_unlock (&worker->lock);
      work->free (data); /* which may be the last that has the worker */
      pthread_mutex_lock (&worker->lock);
    }
  worker->state = IDLE;
  pthread_cond_broadcast (&worker->changed);
}

static gpointer
thread (gpointer user)
{
  IrWorker *worker = user;

  pthread_mutex_lock (&worker->lock);
  worker->thread = pthread_self ();
  while (worker->work != NULL || !worker->closed)
    if (worker->work != NULL)
      run_one (worker);
    else
      pthread_cond_wait (&worker->changed, &worker->lock);
  gboolean joined = worker->joined;
  pthread_mutex_unlock (&worker->lock);
  if (!joined)
    worker_free (worker);
  return NULL;
}

/* FALSE: there can be none. */
static gboolean
start_thread (IrWorker *worker)
{
  if (worker->made == NULL)
    worker->made = g_thread_try_new ("irscope-worker", thread, worker, NULL);
  return worker->made != NULL;
}

static void
wait_a_little (IrWorker *worker)
{
  struct timespec until;

  clock_gettime (CLOCK_MONOTONIC, &until);
  until.tv_nsec += POLL_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait (&worker->changed, &worker->lock, &until);
}

/* The lock is held, but for what the caller says. FALSE: it does not want to wait so long. */
static gboolean
await_turn (IrWorker *worker, const IrWorkerTask *work, gpointer data)
{
  gboolean told = work->waiting == NULL;

  while (worker->state != IDLE)
    {
      if (worker->state == LEFT && !told)
        {
          told = TRUE;
          pthread_mutex_unlock (&worker->lock);
          work->waiting (data);
          pthread_mutex_lock (&worker->lock);
        }
      if (work->leave (data))
        return FALSE;
      if (worker->state != IDLE)
        wait_a_little (worker);
    }
  return TRUE;
}

/* The lock is held. FALSE: it was left. */
static gboolean
await_end (IrWorker *worker, const IrWorkerTask *work, gpointer data)
{
  const guint own = worker->n_begun;

  while (worker->state == BUSY && worker->n_begun == own)
    {
      wait_a_little (worker);
      if (worker->state == BUSY && worker->n_begun == own && work->leave (data))
        {
          worker->state = LEFT;
          return FALSE;
        }
    }
  return TRUE;
}

/**
 * ir_worker_call:
 * @worker: a worker
 * @work: what is done; static
 * @data: what it is done with
 *
 * Does @work on the thread of @worker, after what was left there before, and waits for it as long
 * as `leave` does not say otherwise. Works of other callers are waited for, too. Where there can be
 * no thread, and on that of @worker, it is done on the spot.
 *
 * Returns: %TRUE if it is done, and @data is the caller's again; %FALSE if it was left, and @data
 *   is freed at its end
 */
gboolean
ir_worker_call (IrWorker *worker, const IrWorkerTask *work, gpointer data)
{
  pthread_mutex_lock (&worker->lock);
  gboolean here = is_own_thread (worker);
  if (!here && !await_turn (worker, work, data))
    {
      pthread_mutex_unlock (&worker->lock);
      work->free (data);
      return FALSE;
    }
  here = here || !start_thread (worker);
  if (here)
    {
      pthread_mutex_unlock (&worker->lock);
      work->run (data);
      return TRUE;
    }
  worker->state = BUSY;
  worker->n_begun++;
  worker->work = work;
  worker->data = data;
  pthread_cond_broadcast (&worker->changed);
  gboolean done = await_end (worker, work, data);
  pthread_mutex_unlock (&worker->lock);
  return done;
}

/**
 * ir_worker_wait:
 * @worker: a worker
 *
 * Waits until what was left behind has ended.
 */
void
ir_worker_wait (IrWorker *worker)
{
  pthread_mutex_lock (&worker->lock);
  while (worker->state != IDLE && !is_own_thread (worker))
    wait_a_little (worker);
  pthread_mutex_unlock (&worker->lock);
}
