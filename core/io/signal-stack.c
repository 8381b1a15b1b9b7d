/* Stacks for the handlers of signals, one for every thread.
 *
 * The SIGBUS of a mapped file that was cut (mapped-file.c) comes in the thread that touches the
 * page, which may be in generated code of oneDNN, where the register RSP points into a buffer: a
 * frame that the kernel puts there lands in the heap. So no handler may use the stack of the thread
 * that it interrupts; each thread needs another, and has to ask for it itself.
 *
 * Threads are made by GLib, by us, and by OpenMP, which ends and makes workers between any two of
 * its regions, also those that oneDNN opens: there is no place of ours that all of them pass. All
 * are made by pthread_create(), so the program defines that: it starts the thread in a frame that
 * holds its stack for handlers and calls the one of the system. Signals that the process gets from
 * outside are left to the first thread, which alone looks for them: handlers that others install,
 * as GLib's of SIGCHLD, ask for no stack of their own.
 *
 * The sanitizers have their own pthread_create(); that of AddressSanitizer makes such stacks, too.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "config.h"

#include "core/io/signal-stack.h"

#include "core/io/sanitizer.h"

#include <dlfcn.h>
#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* The registers of AVX-512 and AMX take 11 KB of the frame. */
#define STACK_BYTES (64 * 1024)

/* Threads with less of a stack than this, which are none of ours, can spare nothing. */
#define MIN_THREAD_BYTES (4 * STACK_BYTES)

static gboolean
has_stack (void)
{
  stack_t now;

  return sigaltstack (NULL, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0;
}

/* FALSE: it has one already. */
static gboolean
use (char *bytes)
{
  stack_t stack = { .ss_sp = bytes, .ss_size = STACK_BYTES };

  return !has_stack () && sigaltstack (&stack, NULL) == 0;
}

/* Gives the calling thread a stack for handlers of signals, for good, if it has none: for the
 * first thread, and for those that were not made by pthread_create(). */
void
ir_signal_stack_take (void)
{
  if (!has_stack ())
    use (g_malloc (STACK_BYTES));
}

/* The first thread has one before main() begins, whoever opens files later. */
__attribute__ ((constructor)) static void
take_at_start (void)
{
  ir_signal_stack_take ();
}

#if !HAVE_SANITIZER

typedef int (*CreateFunc) (pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);

typedef struct
{
  void *(*func) (void *);
  void *data;
} Start;

/* Faults are of the thread itself; a limit of time or size, a broken pipe and a profiler's clock
 * mean something by default. */
static void
block_signals_from_outside (void)
{
  static const int let_through[] = { SIGBUS,  SIGSEGV, SIGFPE,  SIGILL,  SIGTRAP, SIGSYS,
                                     SIGABRT, SIGPIPE, SIGXCPU, SIGXFSZ, SIGPROF };
  sigset_t set;

  sigfillset (&set);
  for (gsize i = 0; i < G_N_ELEMENTS (let_through); i++)
    sigdelset (&set, let_through[i]);
  pthread_sigmask (SIG_BLOCK, &set, NULL);
}

/* The frame may be left by pthread_exit(), too; what runs behind it runs where the bytes are. */
static void
stop_using (void *used)
{
  stack_t none = { .ss_flags = SS_DISABLE };

  if (*(gboolean *) used)
    sigaltstack (&none, NULL);
}

static void *
start_thread (void *data)
{
  char bytes[STACK_BYTES];
  Start start = *(Start *) data;
  gboolean used = use (bytes);
  void *result;

  free (data);
  block_signals_from_outside ();
  pthread_cleanup_push (stop_using, &used);
  result = start.func (start.data);
  pthread_cleanup_pop (1);
  return result;
}

static CreateFunc
system_create (void)
{
  void *symbol = dlsym (RTLD_NEXT, "pthread_create");
  CreateFunc create;

  memcpy (&create, &symbol, sizeof create);
  return create;
}

static gboolean
is_small (const pthread_attr_t *attr)
{
  size_t size;

  return attr != NULL && pthread_attr_getstacksize (attr, &size) == 0 && size < MIN_THREAD_BYTES;
}

__attribute__ ((visibility ("default"))) int
pthread_create (pthread_t *restrict thread,
                const pthread_attr_t *restrict attr,
                void *(*func) (void *),
                void *restrict data)
{
  CreateFunc create = system_create ();
  Start *start;
  int status;

  if (is_small (attr))
    return create (thread, attr, func, data);
  start = malloc (sizeof *start); /* threads may be made before GLib is ready */
  if (start == NULL)
    return EAGAIN;
  *start = (Start){ .func = func, .data = data };
  status = create (thread, attr, start_thread, start);
  if (status != 0)
    free (start);
  return status;
}

#endif
