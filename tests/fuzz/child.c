#include "config.h"

#include "tests/fuzz/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

gpointer
child_share (gsize size)
{
  gpointer shared = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return shared == MAP_FAILED ? NULL : shared;
}

static void
silence (void)
{
  int null = open ("/dev/null", O_WRONLY);
  if (null >= 0)
    {
      dup2 (null, STDOUT_FILENO);
      dup2 (null, STDERR_FILENO);
      close (null);
    }
}

int
child_wait (pid_t pid)
{
  int status = -1;
  while (pid > 0 && waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

int
child_run (int (*func) (gpointer data), gpointer data, gboolean silent)
{
  fflush (NULL);
  pid_t pid = fork ();
  if (pid == 0)
    {
      if (silent)
        silence ();
      exit (func (data));
    }
  return child_wait (pid);
}

gboolean
child_succeeded (int status)
{
  return WIFEXITED (status) && WEXITSTATUS (status) == 0;
}

guint
child_loop (const ChildLoop *loop)
{
  guint n_findings = 0;

  while (loop->goes_on (loop->data, n_findings))
    {
      loop->state->ended = FALSE;
      loop->state->message[0] = '\0';
      int status = child_run (loop->trials, loop->data, FALSE);
      if (child_succeeded (status))
        continue;
      n_findings++;
      if (loop->state->ended) /* after its last trial: the sanitizer's look at the end */
        {
          fprintf (stderr, "\nLeaks in the trials up to %" G_GUINT64_FORMAT ", see above.\n",
                   loop->state->position);
          continue;
        }
      loop->report (loop->data, status);
      loop->state->position++;
    }
  return n_findings;
}
