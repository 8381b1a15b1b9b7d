/* A thread that works for others, who may leave: what is left behind goes on with what belongs to
 * it, and ends by itself. */
#pragma once

#include <glib.h>

typedef struct _IrWorker IrWorker;

typedef struct
{
  void (*run) (gpointer data);       /* on the worker's thread */
  gboolean (*leave) (gpointer data); /* who waits is asked every few ms: whether to leave it */
  void (*waiting) (gpointer data);   /* (nullable) said by who waits: what was left has to end first */
  GDestroyNotify free;               /* of the data, where it was left; from the worker's thread */
} IrWorkerTask;

IrWorker *ir_worker_new (void);
IrWorker *ir_worker_ref (IrWorker *worker);
void ir_worker_unref (IrWorker *worker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrWorker, ir_worker_unref)
gboolean ir_worker_call (IrWorker *worker, const IrWorkerTask *work, gpointer data);
void ir_worker_wait (IrWorker *worker);
