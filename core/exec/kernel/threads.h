/* Loops over ranges on the threads of the program, which are OpenMP's: one pool for each thread that
 * runs graphs, and the same as that of the kernels and of oneDNN. Work is a range that is split once,
 * statically, so the same range and number of threads always give the same parts. */
#pragma once

#include "core/op/call.h"

/* Works on the elements [first, end); @worker is 0 .. ir_threads_n() - 1 and may index scratch. */
typedef void (*IrRangeFunc) (guint64 first, guint64 end, guint worker, gpointer data);

void ir_threads_limit_spinning (char **argv);
IrThreads ir_threads_of (guint n_threads, gboolean deterministic);
guint ir_threads_n_parts (IrThreads threads);
void ir_threads_for (IrThreads threads, guint64 n, guint64 grain, IrRangeFunc func, gpointer data);

/* Operations of a reference kernel that take about as long as a thread spins that waits for another
 * one: where other programs have the cores, fewer would only cost. */
#define IR_THREADS_WORTH 100000

/* How many elements are worth a thread of their own, where each takes so many operations. */
static inline guint64
ir_threads_grain (double operations)
{
  return (guint64) MAX (IR_THREADS_WORTH / MAX (operations, 1), 1);
}

/* How many of them, the calling one included. */
static inline guint
ir_threads_n (IrThreads threads)
{
  return MAX (threads.n, 1);
}
