/* Signals are taken by a thread of their own. The first cancels the command, which says so and ends
 * at its next poll; where that takes longer than a user would wait, this thread says the same in its
 * place and ends the program: the system takes back what the command has. The second ends it at
 * once. */
#include "config.h"

#include "app/cli/leave.h"

#include "app/cli/output.h"

#include <glib/gstdio.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define PATIENCE_US 90000

typedef struct
{
  sigset_t set;
  GCancellable *cancellable;
  gint claimed;      /* atomic: somebody says, or has said, why the command ends */
  gint status;       /* atomic: with which it ends, CliStatus */
  gboolean limited;  /* of the first thread */
  const char *stage; /* (nullable) atomic: a folder whose files are not all written */
} Leave;

static Leave leave = { .status = CLI_FAILED };

/* Returns whether the caller is to say why the command ends; once it was interrupted, only the first
 * is. */
gboolean
cli_leave_claim (void)
{
  return !g_cancellable_is_cancelled (leave.cancellable) ||
         g_atomic_int_compare_and_exchange (&leave.claimed, 0, 1);
}

/* Runs of the command have a limit of time: one that was left behind may still be at work when the
 * program ends. */
void
cli_leave_limited (void)
{
  leave.limited = TRUE;
}

/* The command has come to @status, and has written all. Ends the program at once where work may have
 * been left behind: what exit() does would take the libraries away under its hands. */
void
cli_leave_end (CliStatus status)
{
  g_atomic_int_set (&leave.status, (gint) status);
  g_atomic_int_set (&leave.claimed, 1);
  if (leave.limited || g_cancellable_is_cancelled (leave.cancellable))
    _exit ((int) status);
}

/* @stage: (nullable): files that are not all written, and are removed when the program ends before
 * that; lives until the next call */
void
cli_leave_stage (const IrStaging *stage)
{
  g_atomic_pointer_set (&leave.stage, stage != NULL ? ir_staging_folder (stage) : NULL);
}

/* What is written there meanwhile is removed by the next who saves in the same folder. */
static void
remove_stage (const char *stage)
{
  g_autoptr (GDir) dir = g_dir_open (stage, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (stage, name, NULL);
      g_unlink (path);
    }
  g_rmdir (stage);
}

static gpointer
watch (gpointer user)
{
  const struct timespec patience = { .tv_nsec = PATIENCE_US * 1000 };
  g_autoptr (GError) error = NULL;
  int number;

  sigwait (&leave.set, &number);
  g_cancellable_cancel (leave.cancellable);
  sigtimedwait (&leave.set, NULL, &patience);
  g_cancellable_set_error_if_cancelled (leave.cancellable, &error);
  if (cli_leave_claim ())
    cli_printerr ("irscope: %s\n", error->message);
  const char *stage = g_atomic_pointer_get (&leave.stage);
  if (stage != NULL)
    remove_stage (stage);
  _exit (g_atomic_int_get (&leave.status));
}

/* Takes SIGINT and SIGTERM from now on, which trigger @cancellable. */
void
cli_leave_init (GCancellable *cancellable)
{
  leave.cancellable = cancellable;
  sigemptyset (&leave.set);
  sigaddset (&leave.set, SIGINT);
  sigaddset (&leave.set, SIGTERM);
  pthread_sigmask (SIG_BLOCK, &leave.set, NULL);
  signal (SIGXFSZ, SIG_IGN); /* a file that must not grow is an error of the write */
  g_thread_unref (g_thread_new ("signals", watch, NULL));
}
