/* A thread pool as an object that is passed where it is needed: one in the process, made by whoever
 * runs a graph. Work is a range that is split once, statically, so the same range and number of
 * threads always give the same parts. */
#pragma once

#include <glib.h>

typedef struct _IrThreads IrThreads;

/* Works on the elements [first, end); @worker is 0 .. ir_threads_n() - 1 and may index scratch. */
typedef void (*IrRangeFunc) (guint64 first, guint64 end, guint worker, gpointer data);

IrThreads *ir_threads_new (guint n_threads);
void ir_threads_free (IrThreads *threads);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrThreads, ir_threads_free)

void ir_threads_limit_spinning (char **argv);
guint ir_threads_n (const IrThreads *threads);
void ir_threads_set_deterministic (IrThreads *threads, gboolean deterministic);
gboolean ir_threads_deterministic (const IrThreads *threads);
guint ir_threads_n_parts (const IrThreads *threads);
void ir_threads_for (IrThreads *threads, guint64 n, guint64 grain, IrRangeFunc func, gpointer data);
