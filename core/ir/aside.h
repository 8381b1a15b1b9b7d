/* Work on a thread of its own, which whoever waits for it may leave behind: for libraries that do
 * in one call what takes long, and cannot be told to stop. */
#pragma once

#include "core/ir/stop.h"

typedef struct _IrAside IrAside;

/* @data is the work's alone, or counted: what the caller has may not live as long. */
typedef void (*IrAsideWork) (gpointer data, IrAside *aside);
typedef gboolean (*IrAsideStopped) (gpointer user);

gboolean ir_aside (gpointer data,
                   GDestroyNotify free_data,
                   IrAsideWork work,
                   IrAsideStopped stopped,
                   gpointer user);
gboolean ir_aside_until (gpointer data,
                         GDestroyNotify free_data,
                         IrAsideWork work,
                         const IrStop *stop);
gboolean ir_aside_stopped (gpointer aside);
