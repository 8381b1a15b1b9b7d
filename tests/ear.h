/* What a test hears of the looks of work under way: whether it looks often enough, and whether it
 * ends at once when it is cancelled. */
#pragma once

#include "core/ir/stop.h"

/* The looks of a run come by IrRunOptions.looked, with the ear as data. */
typedef struct
{
  int n_looks; /* atomic */
  int stop_at; /* cancel at this look; 0: never */
  GCancellable *cancellable;
} Ear;

static inline void
ear_heard (gpointer data)
{
  Ear *ear = data;

  if (g_atomic_int_add (&ear->n_looks, 1) + 1 == ear->stop_at)
    g_cancellable_cancel (ear->cancellable);
}

static inline IrStop
ear_stop (Ear *ear)
{
  return (IrStop){ .cancellable = ear->cancellable, .looked = ear_heard, .looked_data = ear };
}
