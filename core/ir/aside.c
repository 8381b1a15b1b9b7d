/* Threads that are left behind. The lock says who has the data: the work until it is done, then
 * whoever waits; if nobody does any more, the work keeps it and gives it back at its end. */
#include "config.h"

#include "core/ir/aside.h"

#include <pthread.h>
#include <time.h>

#define LOOK_NS 5000000

struct _IrAside
{
  IrAsideWork work;
  gpointer data;
  GDestroyNotify free_data;
  IrAsideStopped stopped; /* (nullable) asked by the work itself, where it has no thread */
  gpointer user;
  pthread_mutex_t lock; /* not one of GLib's, which ThreadSanitizer does not know */
  pthread_cond_t changed;
  gboolean done; /* guarded by lock */
  gint left;     /* atomic, written under lock: nobody waits any more */
};

/* Waiting must not depend on somebody setting the clock. */
static void
init_lock (IrAside *aside)
{
  pthread_condattr_t attributes;

  pthread_mutex_init (&aside->lock, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&aside->changed, &attributes);
  pthread_condattr_destroy (&attributes);
}

static void
aside_free (IrAside *aside)
{
  pthread_mutex_destroy (&aside->lock);
  pthread_cond_destroy (&aside->changed);
  g_free (aside);
}

static gpointer
run (gpointer user)
{
  IrAside *aside = user;

  aside->work (aside->data, aside);
  pthread_mutex_lock (&aside->lock);
  gboolean left = aside->left != 0;
  aside->done = TRUE;
  pthread_cond_signal (&aside->changed);
  pthread_mutex_unlock (&aside->lock);
  if (left)
    {
      aside->free_data (aside->data);
      aside_free (aside);
    }
  return NULL;
}

/* FALSE: nothing has happened. */
static gboolean
wait_a_little (IrAside *aside)
{
  struct timespec until;

  clock_gettime (CLOCK_MONOTONIC, &until);
  until.tv_nsec += LOOK_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  return pthread_cond_timedwait (&aside->changed, &aside->lock, &until) == 0;
}

/* Until it is done, or to be left. */
static gboolean
await (IrAside *aside, IrAsideStopped stopped, gpointer user)
{
  gboolean left = FALSE;

  pthread_mutex_lock (&aside->lock);
  while (!aside->done && !left)
    if (!wait_a_little (aside))
      left = !aside->done && stopped (user);
  __atomic_store_n (&aside->left, left, __ATOMIC_RELAXED);
  pthread_mutex_unlock (&aside->lock);
  return !left;
}

/**
 * ir_aside:
 * @data: what @work reads and writes
 * @free_data: gives it back; from any thread
 * @work: to be done
 * @stopped: asked every few milliseconds
 * @user: for @stopped
 *
 * Does @work on a thread of its own, or here where there can be none.
 *
 * Returns: %TRUE if it is done, or has stopped here, and @data is the caller's again; %FALSE if
 *   @stopped said so: then it goes on for nobody, and gives @data back at its end
 */
gboolean
ir_aside (gpointer data,
          GDestroyNotify free_data,
          IrAsideWork work,
          IrAsideStopped stopped,
          gpointer user)
{
  IrAside *aside = g_new (IrAside, 1);

  *aside = (IrAside){ .work = work, .data = data, .free_data = free_data };
  init_lock (aside);
  GThread *thread = g_thread_try_new ("irscope-aside", run, aside, NULL);
  if (thread == NULL)
    {
      aside->stopped = stopped;
      aside->user = user;
      work (data, aside);
    }
  else
    g_thread_unref (thread);
  gboolean done = thread == NULL || await (aside, stopped, user);
  if (done)
    aside_free (aside);
  return done;
}

static gboolean
is_stopped (gpointer stop)
{
  return ir_stopped (stop);
}

/**
 * ir_aside_until:
 * @data: what @work reads and writes
 * @free_data: gives it back; from any thread
 * @work: to be done
 * @stop: (nullable): what may stop it
 *
 * As ir_aside().
 *
 * Returns: %TRUE if @data is the caller's again; %FALSE if it was stopped
 */
gboolean
ir_aside_until (gpointer data, GDestroyNotify free_data, IrAsideWork work, const IrStop *stop)
{
  return ir_aside (data, free_data, work, is_stopped, (gpointer) stop);
}

/**
 * ir_aside_stopped:
 * @aside: work under way; a pointer without type, so that this can be handed on as a function
 *
 * For works that can look, and between parts of them.
 *
 * Returns: whether nobody waits for it any more
 */
gboolean
ir_aside_stopped (gpointer aside)
{
  IrAside *self = aside;

  return self->stopped != NULL ? self->stopped (self->user)
                               : __atomic_load_n (&self->left, __ATOMIC_RELAXED) != 0;
}
