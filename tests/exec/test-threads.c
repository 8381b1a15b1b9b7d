/* Loops over ranges: every element once, whatever the split; nesting and many callers. */
#include "config.h"

#include "core/exec/kernel/threads.h"
#include "core/io/mapped-file.h"
#include "core/io/sanitizer.h"

#include <omp.h>
#include <signal.h>

typedef struct
{
  guint8 *counts;
  IrThreads threads;
  int n_parts; /* atomic */
} Job;

static void
count (guint64 first, guint64 end, guint worker, gpointer data)
{
  Job *job = data;

  g_atomic_int_inc (&job->n_parts);
  g_assert_cmpuint (worker, <, ir_threads_n (job->threads));
  for (guint64 i = first; i < end; i++)
    job->counts[i]++;
}

static void
check_counts (const Job *job, guint64 n)
{
  for (guint64 i = 0; i < n; i++)
    g_assert_cmpuint (job->counts[i], ==, 1);
}

static void
test_covers (void)
{
  for (guint n_threads = 1; n_threads <= 5; n_threads++)
    {
      IrThreads threads = ir_threads_of (n_threads, FALSE);
      g_assert_cmpuint (ir_threads_n (threads), ==, n_threads);
      for (guint64 n = 0; n < 40; n++)
        for (guint64 grain = 0; grain < 12; grain += 5)
          {
            g_autofree guint8 *counts = g_new0 (guint8, n + 1);
            Job job = { .counts = counts, .threads = threads };
            ir_threads_for (threads, n, grain, count, &job);
            check_counts (&job, n);
            g_assert_cmpint (job.n_parts, <=, (int) MAX (1, n / MAX (grain, 1)));
            g_assert_cmpint (job.n_parts, <=, (int) n_threads);
          }
    }
}

static void
test_null (void)
{
  guint8 counts[10] = { 0 };
  Job job = { .counts = counts };

  ir_threads_for ((IrThreads){ 0 }, 10, 1, count, &job);
  check_counts (&job, 10);
  g_assert_cmpint (job.n_parts, ==, 1);
}

/* Each outer element owns ten inner ones. */
static void
nest (guint64 first, guint64 end, guint worker, gpointer data)
{
  Job *outer = data;

  for (guint64 i = first; i < end; i++)
    {
      Job inner = { .counts = outer->counts + 10 * i, .threads = outer->threads };
      ir_threads_for (outer->threads, 10, 1, count, &inner);
    }
}

static void
test_nested (void)
{
  IrThreads threads = ir_threads_of (3, FALSE);

  for (guint round = 0; round < 200; round++)
    {
      guint8 counts[60] = { 0 };
      Job job = { .counts = counts, .threads = threads };
      ir_threads_for (threads, 6, 1, nest, &job);
      check_counts (&job, 60);
    }
}

static gpointer
caller (gpointer data)
{
  const IrThreads threads = ir_threads_of (3, FALSE);

  for (guint round = 0; round < 100; round++)
    {
      guint8 counts[50] = { 0 };
      Job job = { .counts = counts, .threads = threads };
      ir_threads_for (threads, 50, 1, count, &job);
      check_counts (&job, 50);
    }
  return NULL;
}

static void
test_many_callers (void)
{
  GThread *callers[4];

  for (guint i = 0; i < G_N_ELEMENTS (callers); i++)
    callers[i] = g_thread_new ("caller", caller, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (callers); i++)
    g_thread_join (callers[i]);
}

/* -- whose threads -- */

static void
look_at_pool (guint64 first, guint64 end, guint worker, gpointer data)
{
  g_assert_true (omp_in_parallel ());
  g_assert_cmpint (omp_get_num_threads (), ==, 3);
}

static guint
n_threads_now (void)
{
  g_autoptr (GDir) tasks = g_dir_open ("/proc/self/task", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (tasks) != NULL)
    n++;
  return n;
}

/* Each thread that runs a loop has a pool, which ends with it. */
static void
test_pools (void)
{
  guint n_before = 0;

  ir_threads_for (ir_threads_of (3, FALSE), 3, 1, look_at_pool, NULL);
  n_before = n_threads_now ();
  for (guint i = 0; i < 50; i++)
    g_thread_join (g_thread_new ("caller", caller, NULL));
  for (guint i = 0; i < 1000 && n_threads_now () > n_before; i++)
    g_usleep (10000);
  g_assert_cmpuint (n_threads_now (), <=, n_before);
}

/* -- handlers of signals -- */

/* A kernel may use the register of the stack for anything, so handlers need another. */
static gboolean
is_safe (void)
{
  stack_t stack;
  sigset_t blocked;
  char here;

  g_assert_cmpint (sigaltstack (NULL, &stack), ==, 0);
  if ((stack.ss_flags & SS_DISABLE) != 0 || stack.ss_size < 16384)
    return FALSE;
  g_assert_cmpint (stack.ss_flags & SS_ONSTACK, ==, 0);
  pthread_sigmask (SIG_SETMASK, NULL, &blocked);
  g_assert_false (sigismember (&blocked, SIGBUS));
  g_assert_false (sigismember (&blocked, SIGSEGV));
  return &here < (char *) stack.ss_sp || &here >= (char *) stack.ss_sp + stack.ss_size;
}

static gpointer
look (gpointer data)
{
  sigset_t blocked;

  pthread_sigmask (SIG_SETMASK, NULL, &blocked);
  return GINT_TO_POINTER (is_safe () && sigismember (&blocked, SIGCHLD));
}

static void *
leave (void *data)
{
  pthread_exit (look (NULL));
}

static void
look_at_range (guint64 start, guint64 end, guint part, gpointer data)
{
  g_assert_true (is_safe ());
}

/* Teams that get larger and smaller: OpenMP ends its threads and makes new ones. */
static void
look_at_teams (guint first)
{
  for (guint i = 0; i < 12; i++)
    {
      guint n = 2 + (first + i * 5) % 7, n_safe = 0;

#pragma omp parallel num_threads(n) reduction(+ : n_safe)
      n_safe += is_safe ();
      g_assert_cmpuint (n_safe, >=, 1);
      g_assert_cmpuint (n_safe, ==, n);
    }
}

static gpointer
look_at_teams_of_thread (gpointer data)
{
  look_at_teams (GPOINTER_TO_UINT (data));
  return NULL;
}

static void
look_in_thread (void *(*func) (void *) )
{
  pthread_t thread;
  void *safe = NULL;

  g_assert_cmpint (pthread_create (&thread, NULL, func, NULL), ==, 0);
  g_assert_cmpint (pthread_join (thread, &safe), ==, 0);
  g_assert_nonnull (safe);
}

static void
test_signal_stacks (void)
{
  IrThreads threads = ir_threads_of (3, FALSE);
  GThread *thread = NULL;

  if (HAVE_SANITIZER)
    {
      g_test_skip ("the sanitizers make threads and their stacks themselves");
      return;
    }
  g_assert_true (is_safe ());
  thread = g_thread_new ("look", look, NULL);
  g_assert_true (g_thread_join (thread));
  look_in_thread (look);
  look_in_thread (leave);
  ir_threads_for (threads, 3, 1, look_at_range, NULL);
  omp_set_dynamic (0);
  look_at_teams (0);
  thread = g_thread_new ("teams", look_at_teams_of_thread, GUINT_TO_POINTER (3));
  look_at_teams (1);
  g_thread_join (thread);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/threads/every element is worked on once", test_covers);
  g_test_add_func ("/threads/none are one thread", test_null);
  g_test_add_func ("/threads/a loop inside a loop does not deadlock", test_nested);
  g_test_add_func ("/threads/several threads may call at once", test_many_callers);
  g_test_add_func ("/threads/they are those of OpenMP, and end with their caller", test_pools);
  g_test_add_func ("/threads/handlers of signals have a stack in every thread", test_signal_stacks);
  return g_test_run ();
}
