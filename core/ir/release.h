/* Letting go of what is many: millions of strings or tensors take longer to give back than a run
 * that is cancelled may go on, so another thread does that. */
#pragma once

#include <glib.h>

void ir_release_steadily (void);
void ir_release (gpointer data, GDestroyNotify free_func, guint64 n);

/* A #GPtrArray that may hold millions. */
typedef GPtrArray IrLongArray;

void ir_long_array_unref (IrLongArray *array);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrLongArray, ir_long_array_unref)
