/* A thread pool for loops over ranges. Workers sleep on a condition variable between jobs; the
 * caller works too, as worker 0. A call made while the pool is busy (from inside a job, or from a
 * second thread) runs the whole range on the calling thread, so nesting cannot deadlock. The locks
 * are those of POSIX, since ThreadSanitizer does not see into GLib's. */
#include "config.h"

#include "core/exec/kernel/threads.h"

#include <pthread.h>
#include <unistd.h>

/* Enough for the cores of a small machine, few enough for each to be large. */
#define DETERMINISTIC_PARTS 4

/* About 0.1 ms: small nodes between large ones take less, so that threads are awake when the next
 * large one comes; a thread that waits for one that is not running gives its core away. */
#define SPIN_COUNT "5000"

struct _IrThreads
{
  guint n; /* workers, the caller included */
  gboolean deterministic;
  GThread **threads;
  pthread_mutex_t busy; /* held while a job is out */

  pthread_mutex_t lock; /* guards all that follows */
  pthread_cond_t wake, done;
  guint64 job;     /* counts jobs: a worker runs each once */
  guint n_parts;   /* of the current job */
  guint n_running; /* parts not yet done, the caller's excluded */
  guint64 n_elements;
  IrRangeFunc func;
  gpointer data;
  gboolean quit;
};

typedef struct
{
  IrThreads *pool;
  guint index;
} Worker;

static guint64
part_start (guint64 n, guint part, guint n_parts)
{
  /* n / n_parts first: n * part could overflow. */
  guint64 each = n / n_parts, rest = n % n_parts;

  return each * part + MIN (part, rest);
}

static gpointer
worker_main (gpointer data)
{
  g_autofree Worker *worker = data;
  IrThreads *pool = worker->pool;
  guint64 seen = 0;

  pthread_mutex_lock (&pool->lock);
  for (;;)
    {
      while (!pool->quit && pool->job == seen)
        pthread_cond_wait (&pool->wake, &pool->lock);
      if (pool->quit)
        break;
      seen = pool->job;
      if (worker->index >= pool->n_parts)
        continue;
      IrRangeFunc func = pool->func;
      gpointer func_data = pool->data;
      guint64 first = part_start (pool->n_elements, worker->index, pool->n_parts);
      guint64 end = part_start (pool->n_elements, worker->index + 1, pool->n_parts);
      pthread_mutex_unlock (&pool->lock);
      func (first, end, worker->index, func_data);
      pthread_mutex_lock (&pool->lock);
      if (--pool->n_running == 0)
        pthread_cond_signal (&pool->done);
    }
  pthread_mutex_unlock (&pool->lock);
  return NULL;
}

/**
 * ir_threads_new:
 * @n_threads: number of workers, the calling thread included; 0: one per core
 *
 * Starts @n_threads - 1 threads that sleep until there is work. Where the system gives fewer, the
 * pool is smaller; ir_threads_n() tells.
 *
 * Returns: (transfer full): the pool; free with ir_threads_free()
 */
IrThreads *
ir_threads_new (guint n_threads)
{
  IrThreads *pool = g_new0 (IrThreads, 1);

  pthread_mutex_init (&pool->busy, NULL);
  pthread_mutex_init (&pool->lock, NULL);
  pthread_cond_init (&pool->wake, NULL);
  pthread_cond_init (&pool->done, NULL);
  n_threads = CLAMP (n_threads != 0 ? n_threads : g_get_num_processors (), 1, 1024);
  pool->threads = g_new0 (GThread *, n_threads);
  pool->n = 1;
  while (pool->n < n_threads)
    {
      Worker *worker = g_new (Worker, 1);
      *worker = (Worker){ .pool = pool, .index = pool->n };
      GThread *thread = g_thread_try_new ("ir-worker", worker_main, worker, NULL);
      if (thread == NULL)
        {
          g_free (worker);
          break;
        }
      pool->threads[pool->n++] = thread;
    }
  return pool;
}

/**
 * ir_threads_free:
 * @threads: (transfer full) (nullable): a pool without a running job
 *
 * Ends the workers and waits for them.
 */
void
ir_threads_free (IrThreads *threads)
{
  if (threads == NULL)
    return;
  pthread_mutex_lock (&threads->lock);
  threads->quit = TRUE;
  pthread_cond_broadcast (&threads->wake);
  pthread_mutex_unlock (&threads->lock);
  for (guint i = 1; i < threads->n; i++)
    g_thread_join (threads->threads[i]);
  pthread_mutex_destroy (&threads->busy);
  pthread_mutex_destroy (&threads->lock);
  pthread_cond_destroy (&threads->wake);
  pthread_cond_destroy (&threads->done);
  g_free (threads->threads);
  g_free (threads);
}

/**
 * ir_threads_limit_spinning:
 * @argv: arguments of main(), which calls this before anything else
 *
 * Threads of OpenMP that wait for each other spin for milliseconds before they sleep, which on a
 * busy machine keeps the very thread from running that they wait for. The library reads how long
 * once, when it is loaded, so the program starts itself again with a shorter time, unless the user
 * has chosen one.
 */
void
ir_threads_limit_spinning (char **argv)
{
  g_autofree char *self = NULL;

  if (g_getenv ("GOMP_SPINCOUNT") != NULL || g_getenv ("OMP_WAIT_POLICY") != NULL)
    return;
  self = g_file_read_link ("/proc/self/exe", NULL);
  if (self != NULL && g_setenv ("GOMP_SPINCOUNT", SPIN_COUNT, FALSE))
    execv (self, argv); /* where that fails, the program runs as it is */
}

/**
 * ir_threads_n:
 * @threads: (nullable): a pool; %NULL is one thread
 *
 * Returns: number of workers, the caller included
 */
guint
ir_threads_n (const IrThreads *threads)
{
  return threads != NULL ? threads->n : 1;
}

/**
 * ir_threads_set_deterministic:
 * @threads: a pool without a running job
 * @deterministic: whether work whose result depends on how it is cut is cut by its shape alone
 *
 * Where parts of the result are rounded differently when they are computed together, kernels ask
 * ir_threads_n_parts() and ir_threads_deterministic().
 */
void
ir_threads_set_deterministic (IrThreads *threads, gboolean deterministic)
{
  g_return_if_fail (threads != NULL);
  threads->deterministic = deterministic;
}

/**
 * ir_threads_deterministic:
 * @threads: (nullable): a pool
 *
 * Returns: whether results must be the same bits at any number of threads
 */
gboolean
ir_threads_deterministic (const IrThreads *threads)
{
  return threads != NULL && threads->deterministic;
}

/**
 * ir_threads_n_parts:
 * @threads: (nullable): a pool; %NULL is one thread
 *
 * Returns: into how many parts large work is cut: one per worker, or, where results must not depend
 *   on their number, always the same
 */
guint
ir_threads_n_parts (const IrThreads *threads)
{
  return ir_threads_deterministic (threads) ? DETERMINISTIC_PARTS : ir_threads_n (threads);
}

/**
 * ir_threads_for:
 * @threads: (nullable): a pool; %NULL runs on the calling thread
 * @n: number of elements
 * @grain: fewest elements worth a thread of its own; 0 counts as 1
 * @func: called once per part, at the same time on several threads
 * @data: for @func
 *
 * Splits [0, @n) into equal contiguous parts, at most one per worker, and returns when all are
 * done. What @func wrote is then visible to the caller.
 */
void
ir_threads_for (IrThreads *threads, guint64 n, guint64 grain, IrRangeFunc func, gpointer data)
{
  g_return_if_fail (func != NULL);
  if (n == 0)
    return;
  guint64 most = MAX (n / MAX (grain, 1), 1);
  guint n_parts = (guint) MIN (most, ir_threads_n (threads));
  if (n_parts == 1 || pthread_mutex_trylock (&threads->busy) != 0)
    {
      func (0, n, 0, data);
      return;
    }
  pthread_mutex_lock (&threads->lock);
  threads->job++;
  threads->n_parts = n_parts;
  threads->n_running = n_parts - 1;
  threads->n_elements = n;
  threads->func = func;
  threads->data = data;
  pthread_cond_broadcast (&threads->wake);
  pthread_mutex_unlock (&threads->lock);
  func (0, part_start (n, 1, n_parts), 0, data);
  pthread_mutex_lock (&threads->lock);
  while (threads->n_running > 0)
    pthread_cond_wait (&threads->done, &threads->lock);
  pthread_mutex_unlock (&threads->lock);
  pthread_mutex_unlock (&threads->busy);
}
