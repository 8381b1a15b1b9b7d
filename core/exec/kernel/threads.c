/* Loops over ranges. A loop inside of one, or inside of whatever runs on several threads, goes over
 * its whole range on the thread that it is called on. */
#include "config.h"

#include "core/exec/kernel/threads.h"

#include <omp.h>
#include <unistd.h>

/* Enough for the cores of a small machine, few enough for each to be large. */
#define DETERMINISTIC_PARTS 4

#define MOST_THREADS 1024

/* About 0.1 ms: small nodes between large ones take less, so that threads are awake when the next
 * large one comes; a thread that waits for one that is not running gives its core away. */
#define SPIN_COUNT "5000"

static guint64
part_start (guint64 n, guint part, guint n_parts)
{
  /* n / n_parts first: n * part could overflow. */
  guint64 each = n / n_parts, rest = n % n_parts;

  return each * part + MIN (part, rest);
}

/**
 * ir_threads_of:
 * @n_threads: number of threads, the calling one included; 0: one per core
 * @deterministic: whether work whose result depends on how it is cut is cut by its shape alone
 *
 * Where parts of the result are rounded differently when they are computed together, kernels ask
 * ir_threads_n_parts() and whether it is to be deterministic.
 *
 * Returns: what a run tells its kernels
 */
IrThreads
ir_threads_of (guint n_threads, gboolean deterministic)
{
  guint n = n_threads != 0 ? n_threads : g_get_num_processors ();

  return (IrThreads){ .n = CLAMP (n, 1, MOST_THREADS), .deterministic = deterministic };
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
 * ir_threads_n_parts:
 * @threads: those of a call
 *
 * Returns: into how many parts large work is cut: one per thread, or, where results must not depend
 *   on their number, always the same
 */
guint
ir_threads_n_parts (IrThreads threads)
{
  return threads.deterministic ? DETERMINISTIC_PARTS : ir_threads_n (threads);
}

/**
 * ir_threads_for:
 * @threads: those of a call
 * @n: number of elements
 * @grain: fewest elements worth a thread of its own; 0 counts as 1
 * @func: called once per part, at the same time on several threads
 * @data: for @func
 *
 * Splits [0, @n) into equal contiguous parts, at most one per thread, however many there are in the
 * end, and returns when all are done. What @func wrote is then visible to the caller.
 */
void
ir_threads_for (IrThreads threads, guint64 n, guint64 grain, IrRangeFunc func, gpointer data)
{
  g_return_if_fail (func != NULL);
  if (n == 0)
    return;
  guint64 most = MAX (n / MAX (grain, 1), 1);
  guint n_parts = (guint) MIN (most, ir_threads_n (threads));
  if (n_parts == 1 || omp_in_parallel ())
    {
      func (0, n, 0, data);
      return;
    }
#pragma omp parallel for num_threads(n_parts) schedule(static, 1)
  for (guint part = 0; part < n_parts; part++)
    func (part_start (n, part, n_parts), part_start (n, part + 1, n_parts), part, data);
}
