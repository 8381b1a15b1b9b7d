/* One run under way: its clock, whether it may go on, and what its kernels are given of it. */
#include "config.h"

#include <time.h>

#include "core/exec/run/state.h"

/**
 * ir_run_now_ns:
 *
 * Returns: nanoseconds of the clock by which runs are timed
 */
gint64
ir_run_now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * 1000000000 + now.tv_nsec;
}

/**
 * ir_run_elapsed_ns:
 * @state: a run under way
 *
 * Returns: how long it has been under way
 */
gint64
ir_run_elapsed_ns (const IrRunState *state)
{
  return ir_run_now_ns () - state->start_ns;
}

static gboolean fail_limit (const IrNode *node, GError **error, int code, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

static gboolean
fail_limit (const IrNode *node, GError **error, int code, const char *format, ...)
{
  g_autofree char *label = ir_exec_label (node);
  va_list args;

  va_start (args, format);
  g_autofree char *found = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, IR_EXEC_ERROR, code, "%s: %s", label, found);
  return FALSE;
}

/**
 * ir_run_check_use:
 * @state: a run under way
 * @node: the node that is next
 * @error: return location for an error
 *
 * Returns: %FALSE with an error if the run was cancelled or has used up its memory
 */
gboolean
ir_run_check_use (IrRunState *state, const IrNode *node, GError **error)
{
  if (g_cancellable_is_cancelled (state->cancellable))
    {
      g_autofree char *label = ir_exec_label (node);
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED, "Cancelled before %s", label);
      return FALSE;
    }
  if (state->live_bytes + state->placed_bytes > state->memory_limit)
    {
      g_autofree char *used = g_format_size (state->live_bytes + state->placed_bytes);
      g_autofree char *limit = g_format_size (state->memory_limit);
      return fail_limit (node, error, IR_EXEC_ERROR_MEMORY,
                         "%s are in use, the limit is %s; raise the limit or capture fewer values",
                         used, limit);
    }
  return TRUE;
}

/**
 * ir_run_check:
 * @state: a run under way
 * @node: the node that is next
 * @error: return location for an error
 *
 * Returns: %FALSE with an error if the run was cancelled or has used up its memory or its time
 */
gboolean
ir_run_check (IrRunState *state, const IrNode *node, GError **error)
{
  if (!ir_run_check_use (state, node, error))
    return FALSE;
  if (state->watch.deadline_us > 0 && g_get_monotonic_time () >= state->watch.deadline_us)
    return fail_limit (node, error, IR_EXEC_ERROR_LIMIT,
                       "the run has taken longer than its limit of time; raise the limit or use "
                       "smaller inputs");
  return TRUE;
}

/**
 * ir_run_count_iteration:
 * @state: a run under way
 * @node: a loop that is about to run its body
 * @n_before: how often it has run it
 * @condition: name of the condition, which is true
 * @error: return location for an error
 *
 * Counts the iterations of all loops together, so that loops in loops end as well.
 *
 * Returns: %FALSE with an error if that are more than allowed, or as ir_run_check()
 */
gboolean
ir_run_count_iteration (
    IrRunState *state, const IrNode *node, guint64 n_before, const char *condition, GError **error)
{
  guint64 limit = state->options->iteration_limit > 0 ? state->options->iteration_limit
                                                      : IR_RUN_DEFAULT_ITERATIONS;

  if (++state->n_iterations > limit)
    return fail_limit (node, error, IR_EXEC_ERROR_LIMIT,
                       "the loops of this run need more than %" G_GUINT64_FORMAT
                       " iterations; this one has had %" G_GUINT64_FORMAT
                       ", and its condition %s is still true: let it become false, or raise the "
                       "limit on iterations",
                       limit, n_before, condition);
  return ir_run_check (state, node, error);
}

/**
 * ir_run_count_call:
 * @state: a run under way
 * @node: what is about to call a function
 * @error: return location for an error
 *
 * Counts calls together with the iterations of all loops, so that what calls itself ends as well.
 *
 * Returns: %FALSE with an error if that are more than allowed, or as ir_run_check()
 */
gboolean
ir_run_count_call (IrRunState *state, const IrNode *node, GError **error)
{
  guint64 limit = state->options->iteration_limit > 0 ? state->options->iteration_limit
                                                      : IR_RUN_DEFAULT_ITERATIONS;

  if (++state->n_iterations > limit)
    return fail_limit (
        node, error, IR_EXEC_ERROR_LIMIT,
        "the loops and calls of this run need more than %" G_GUINT64_FORMAT
        " iterations; see whether what calls itself ends, or raise the limit on iterations",
        limit);
  return ir_run_check (state, node, error);
}

/**
 * ir_run_enter_call:
 * @state: a run under way
 * @call: a call whose kernel is about to run
 * @threads: for the kernel
 * @scratch: (nullable): for the kernel alone
 *
 * Gives @call what a kernel sees of the run: when to stop, limits, memory and what was prepared.
 * Contents, and who gives memory for outputs, are left to the caller.
 */
void
ir_run_enter_call (IrRunState *state, IrCall *call, IrThreads threads, IrScratch *scratch)
{
  call->threads = threads;
  call->scratch = scratch;
  call->cancellable = state->cancellable;
  call->watch = &state->watch;
  call->max_output_bytes = state->output_limit;
  call->packed = state->prepared->packed;
  call->by_ref = FALSE;
  call->kernel_state = state->prepared->states[call->node->id];
}
