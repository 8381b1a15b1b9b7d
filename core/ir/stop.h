/* What is made for somebody who may no longer want it. */
#pragma once

#include <gio/gio.h>

typedef struct
{
  GCancellable *cancellable;      /* (nullable) */
  void (*looked) (gpointer data); /* (nullable) told whenever it has been looked at */
  gpointer looked_data;
} IrStop;

gboolean ir_stopped (const IrStop *stop);
