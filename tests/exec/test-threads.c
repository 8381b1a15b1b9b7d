/* The thread pool: every element once, whatever the split; nesting and many callers. */
#include "config.h"

#include "core/exec/kernel/threads.h"

typedef struct
{
  guint8 *counts;
  IrThreads *pool;
  int n_parts; /* atomic */
} Job;

static void
count (guint64 first, guint64 end, guint worker, gpointer data)
{
  Job *job = data;

  g_atomic_int_inc (&job->n_parts);
  g_assert_cmpuint (worker, <, ir_threads_n (job->pool));
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
      g_autoptr (IrThreads) pool = ir_threads_new (n_threads);
      g_assert_cmpuint (ir_threads_n (pool), ==, n_threads);
      for (guint64 n = 0; n < 40; n++)
        for (guint64 grain = 0; grain < 12; grain += 5)
          {
            g_autofree guint8 *counts = g_new0 (guint8, n + 1);
            Job job = { .counts = counts, .pool = pool };
            ir_threads_for (pool, n, grain, count, &job);
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

  ir_threads_for (NULL, 10, 1, count, &job);
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
      Job inner = { .counts = outer->counts + 10 * i, .pool = outer->pool };
      ir_threads_for (outer->pool, 10, 1, count, &inner);
    }
}

static void
test_nested (void)
{
  g_autoptr (IrThreads) pool = ir_threads_new (3);

  for (guint round = 0; round < 200; round++)
    {
      guint8 counts[60] = { 0 };
      Job job = { .counts = counts, .pool = pool };
      ir_threads_for (pool, 6, 1, nest, &job);
      check_counts (&job, 60);
    }
}

static gpointer
caller (gpointer data)
{
  IrThreads *pool = data;

  for (guint round = 0; round < 300; round++)
    {
      guint8 counts[50] = { 0 };
      Job job = { .counts = counts, .pool = pool };
      ir_threads_for (pool, 50, 1, count, &job);
      check_counts (&job, 50);
    }
  return NULL;
}

static void
test_many_callers (void)
{
  g_autoptr (IrThreads) pool = ir_threads_new (3);
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("caller", caller, pool);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/threads/every element is worked on once", test_covers);
  g_test_add_func ("/threads/no pool is one thread", test_null);
  g_test_add_func ("/threads/a loop inside a loop does not deadlock", test_nested);
  g_test_add_func ("/threads/several threads may call at once", test_many_callers);
  return g_test_run ();
}
