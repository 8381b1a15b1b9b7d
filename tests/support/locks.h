/* How often this thread has locked a mutex, in a program that is linked with -Wl,--wrap=g_mutex_lock. What
 * threads share is read and written under its lock: a function that takes none has left it out. */
#pragma once

#include <glib.h>

static _Thread_local guint n_locks;

void __real_g_mutex_lock (GMutex *mutex);
void __wrap_g_mutex_lock (GMutex *mutex);

void
__wrap_g_mutex_lock (GMutex *mutex)
{
  n_locks++;
  __real_g_mutex_lock (mutex);
}

/* @call locks @n times. */
#define ASSERT_LOCKS(n, call)                                                                      \
  G_STMT_START                                                                                     \
  {                                                                                                \
    const guint before = n_locks;                                                                  \
    call;                                                                                          \
    if (n_locks - before != (n))                                                                   \
      g_error ("%s locks %u times, not %u", #call, n_locks - before, (guint) (n));                 \
  }                                                                                                \
  G_STMT_END
