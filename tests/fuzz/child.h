/* What the fuzzers that run their trials in child processes share, so that a crash, a hang or a
 * leak is a finding like any other: one range of trials per child, and the next child goes on
 * behind a finding. */
#pragma once

#include <glib.h>
#include <sys/types.h>

/* What a child leaves behind; the first member of a fuzzer's own struct in shared memory. */
typedef struct
{
  guint64 position; /* of the trial that runs */
  gboolean ended;   /* the child came to the end of its trials */
  char message[2048];
} ChildState;

/* Zeroed, and seen by this process and all that it forks; NULL if there is none. */
gpointer child_share (gsize size);

/* Runs @func in a child; @silent: what it prints is thrown away. Returns: its wait status */
int child_run (int (*func) (gpointer data), gpointer data, gboolean silent);
int child_wait (pid_t pid);
gboolean child_succeeded (int status);

typedef struct
{
  ChildState *state;
  gpointer data;
  /* Whether there are trials left. */
  gboolean (*goes_on) (gpointer data, guint n_findings);
  /* In the child: runs trials from the position on; 0 at the end of them, with ended set, or 1 at a
   * finding, with a message. */
  int (*trials) (gpointer data);
  void (*report) (gpointer data, int status);
} ChildLoop;

/* Returns: number of findings */
guint child_loop (const ChildLoop *loop);
