/* Runs on a worker's thread that may be left: see detached.c. */
#pragma once

#include "core/exec/run/state.h"

typedef struct _IrDetached IrDetached;

/* Where who waits is given what there was when he left. */
typedef struct
{
  IrRun *run; /* (nullable) */
  GError **error;
} IrWaiter;

/* All that a run reads and writes beside its executable. */
struct _IrDetached
{
  IrExecutable *executable;
  GHashTable *inputs;
  IrObserver *observer;      /* (nullable) */
  GCancellable *cancellable; /* (nullable) */
  IrRun *(*new_run) (const IrDetached *detached);
  IrRunState state;
  gint turn;            /* atomic */
  gint64 deadline_us;   /* atomic; 0: none, or not known yet */
  gint64 leave_us;      /* of who waits: when he leaves; 0: not yet */
  IrWaiter *waiter;     /* (nullable) of who waits, while he does */
  IrRun *run, *partial; /* (nullable) what came of it */
  GError *error;        /* (nullable) */
};

gboolean ir_detached_leave (gpointer data);
