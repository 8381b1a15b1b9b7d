/* Work on threads that may be left: who has the data, and where it is done. */
#include "config.h"

#include "core/ir/aside.h"

#include <pthread.h>

GThread *__real_g_thread_try_new (const char *name,
                                  GThreadFunc func,
                                  gpointer data,
                                  GError **error);
GThread *__wrap_g_thread_try_new (const char *name,
                                  GThreadFunc func,
                                  gpointer data,
                                  GError **error);

static gboolean no_threads;

GThread *
__wrap_g_thread_try_new (const char *name, GThreadFunc func, gpointer data, GError **error)
{
  return no_threads ? NULL : __real_g_thread_try_new (name, func, data, error);
}

/* The numbers below @n, of which each is so much work. */
typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  gboolean may_end; /* guarded by lock, as is the next */
  int n_freed;
  int n, n_looks, n_done;
} Sum;

static Sum *
sum_new (int n)
{
  Sum *sum = g_new0 (Sum, 1);

  pthread_mutex_init (&sum->lock, NULL);
  pthread_cond_init (&sum->changed, NULL);
  sum->n = n;
  return sum;
}

static void
sum_destroy (Sum *sum)
{
  pthread_mutex_destroy (&sum->lock);
  pthread_cond_destroy (&sum->changed);
  g_free (sum);
}

/* What a work is given: the test itself has the sum. */
static void
count_freed (gpointer data)
{
  Sum *sum = data;

  pthread_mutex_lock (&sum->lock);
  sum->n_freed++;
  pthread_cond_signal (&sum->changed);
  pthread_mutex_unlock (&sum->lock);
}

static gboolean
at_third_look (gpointer user)
{
  return ++((Sum *) user)->n_looks >= 3;
}

static gboolean
never (gpointer user)
{
  return FALSE;
}

static void
work (gpointer data, IrAside *aside)
{
  Sum *sum = data;

  while (sum->n_done < sum->n && !ir_aside_stopped (aside))
    sum->n_done++;
}

static void
work_blindly (gpointer data, IrAside *aside)
{
  Sum *sum = data;

  pthread_mutex_lock (&sum->lock);
  while (!sum->may_end)
    pthread_cond_wait (&sum->changed, &sum->lock);
  pthread_mutex_unlock (&sum->lock);
  work (data, aside);
}

static void
test_done (void)
{
  Sum *sum = sum_new (1000);

  g_assert_true (ir_aside (sum, count_freed, work, never, NULL));
  g_assert_cmpint (sum->n_done, ==, 1000);
  g_assert_cmpint (sum->n_freed, ==, 0);
  sum_destroy (sum);
}

static void
test_left (void)
{
  Sum *sum = sum_new (1000);

  g_assert_false (ir_aside (sum, count_freed, work_blindly, at_third_look, sum));
  g_assert_cmpint (sum->n_looks, ==, 3);
  pthread_mutex_lock (&sum->lock);
  g_assert_cmpint (sum->n_freed, ==, 0);
  sum->may_end = TRUE;
  pthread_cond_broadcast (&sum->changed);
  while (sum->n_freed == 0)
    pthread_cond_wait (&sum->changed, &sum->lock);
  pthread_mutex_unlock (&sum->lock);
  g_assert_cmpint (sum->n_done, ==, 0); /* it has looked */
  sum_destroy (sum);
}

static void
test_no_thread (void)
{
  Sum *sum = sum_new (1000);

  no_threads = TRUE;
  g_assert_true (ir_aside (sum, count_freed, work, at_third_look, sum));
  no_threads = FALSE;
  g_assert_cmpint (sum->n_done, ==, 2);
  g_assert_cmpint (sum->n_freed, ==, 0);
  sum_destroy (sum);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/aside/who waits gets what is done", test_done);
  g_test_add_func ("/aside/work that is left gives back its data at its end", test_left);
  g_test_add_func ("/aside/without a thread the work looks itself", test_no_thread);
  return g_test_run ();
}
