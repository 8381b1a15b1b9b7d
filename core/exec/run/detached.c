/* Runs that may be left. They go on a worker's thread; who waits leaves soon after the run was
 * cancelled or its time was over, whatever the kernel under way does, and takes with him what the
 * nodes have given that had ended. What is left behind has all that it still writes, and its own
 * reference to the executable; it ends behind the kernel, or at the kernel's next poll.
 *
 * Both sides agree by one word, the turn: only while a kernel works, which touches nothing of what
 * is handed out, may the values be taken, and a run that finds the turn gone ends at once. */
#include "config.h"

#include "core/exec/run/detached.h"

#define PATIENCE_US 40000 /* for a kernel that polls: then the run ends by itself */
#define GIVE_UP_US                                                                                 \
  30000 /* more, where the run is between kernels all that time: nothing is taken */

static gboolean
change_turn (gint *turn, IrTurn from, IrTurn to)
{
  return turn == NULL || g_atomic_int_compare_and_exchange (turn, (gint) from, (gint) to);
}

/* -- the side of the run -- */

static gboolean
fail_left (GError **error)
{
  if (error != NULL && *error == NULL)
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "nobody waits for the run");
  return FALSE;
}

/**
 * ir_run_begin_kernel:
 * @state: a run under way
 * @error: return location for an error
 *
 * From now on until ir_run_end_kernel() whoever waits may leave with what is handed out, which
 * nothing of the run may touch meanwhile. The threads of a span share its turn.
 *
 * Returns: %FALSE with an error if the run was left
 */
gboolean
ir_run_begin_kernel (IrRunState *state, GError **error)
{
  return state->concurrent || change_turn (state->turn, IR_TURN_RUN, IR_TURN_KERNEL) ||
         fail_left (error);
}

/**
 * ir_run_end_kernel:
 * @state: a run under way
 * @error: return location for an error
 *
 * Returns: %FALSE with an error if the run was left
 */
gboolean
ir_run_end_kernel (IrRunState *state, GError **error)
{
  if (state->concurrent || change_turn (state->turn, IR_TURN_KERNEL, IR_TURN_RUN))
    return TRUE;
  while (g_atomic_int_get (state->turn) == IR_TURN_TAKE)
    g_usleep (100);
  return fail_left (error);
}

/**
 * ir_run_kernel:
 * @state: a run under way
 * @kernel: a kernel
 * @call: what it is called with
 * @error: return location for an error
 *
 * Calls @kernel; what is handed out may meanwhile be taken from the run, which then ends.
 *
 * Returns: %TRUE if its outputs have contents, and somebody waits for them
 */
gboolean
ir_run_kernel (IrRunState *state, IrKernelFunc kernel, IrCall *call, GError **error)
{
  if (!ir_run_begin_kernel (state, error))
    return FALSE;
  gboolean done = kernel (call, error);
  return ir_run_end_kernel (state, error) && done;
}

/* What threads of a span write is not looked at. */
static gboolean
is_to_be_shown (const IrRunState *state, guint done, guint total)
{
  const IrRunOptions *options = state->options;

  return options->show != NULL && !state->concurrent && done < total &&
         ir_run_elapsed_ns (state) - state->shown_ns >= (gint64) options->show_ms * 1000000;
}

/**
 * ir_run_tell:
 * @state: a run under way
 * @done: steps that have run
 * @total: of so many
 * @node: (nullable): of the last of them
 *
 * Says how far the run is, if anybody still waits for it.
 */
void
ir_run_tell (IrRunState *state, guint done, guint total, const IrNode *node)
{
  const IrRunOptions *options = state->options;
  IrTurn from = state->concurrent ? IR_TURN_KERNEL : IR_TURN_RUN;
  const gboolean shows = is_to_be_shown (state, done, total);

  if ((options->progress == NULL && !shows) || !change_turn (state->turn, from, IR_TURN_TELL))
    return;
  if (options->progress != NULL)
    options->progress (done, total, node, options->progress_data);
  if (shows)
    {
      options->show (ir_run_state_snapshot (state, done), options->progress_data);
      state->shown_ns = ir_run_elapsed_ns (state);
    }
  change_turn (state->turn, IR_TURN_TELL, from);
}

/* -- the side of who waits -- */

/* Why the run ends, as the kernel under way would have said it. */
static GError *
reason (const IrDetached *detached)
{
  const IrRunState *state = &detached->state;
  IrWatch watch = { .deadline_us = state->watch.deadline_us };
  const IrCall call = { .cancellable = detached->cancellable, .watch = &watch };
  GError *error = NULL;

  if (!ir_call_fail_if_stopped (&call, &error))
    fail_left (&error);
  return ir_exec_error_from_kernel (state->node, error);
}

/* The run as it was when its last node had ended; what is left behind gets another to write to,
 * with the times and the check of the plan, which it may have under its hands. */
static IrRun *
take (IrDetached *detached)
{
  IrRunState *state = &detached->state;
  IrRun *run = state->run, *other = detached->new_run (detached);
  IrTrace *own = other->trace;
  struct _IrPlanCheck *check = other->plan_check;

  ir_run_end (state);
  ir_run_adopt (state, state->n_done);
  ir_late_copies_forget (state, run);
  g_array_append_vals (own->items, run->trace->items->data, state->n_done);
  own->duration_ns = run->trace->duration_ns;
  own->peak_bytes = run->trace->peak_bytes;
  own->arena_bytes = run->trace->arena_bytes;
  other->trace = run->trace;
  run->trace = own;
  other->plan_check = run->plan_check;
  run->plan_check = check;
  run->error = reason (detached);
  run->failed_node = state->node->id;
  state->run = other;
  return run;
}

static gboolean
is_over (const IrDetached *detached)
{
  gint64 deadline_us = __atomic_load_n (&detached->deadline_us, __ATOMIC_ACQUIRE);

  return g_cancellable_is_cancelled (detached->cancellable) ||
         (deadline_us > 0 && g_get_monotonic_time () >= deadline_us);
}

static void
set_error (const IrDetached *detached, const IrRun *run)
{
  GError **error = detached->waiter->error;

  if (run != NULL)
    g_propagate_error (error, g_error_copy (run->error));
  else if (g_cancellable_is_cancelled (detached->cancellable))
    g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED, "Operation was cancelled");
  else
    g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT,
                         "the run has used up its time; raise the limit or use smaller inputs");
}

/* For IrWorkerTask.leave: whether who waits has left it, with an error and what there was. */
gboolean
ir_detached_leave (gpointer data)
{
  IrDetached *detached = data;
  gint64 now = g_get_monotonic_time ();

  if (!is_over (detached))
    return FALSE;
  if (detached->leave_us == 0)
    detached->leave_us = now + PATIENCE_US;
  if (now < detached->leave_us)
    return FALSE;
  if (change_turn (&detached->turn, IR_TURN_KERNEL, IR_TURN_TAKE))
    detached->waiter->run = take (detached);
  else if (now < detached->leave_us + GIVE_UP_US ||
           !change_turn (&detached->turn, IR_TURN_RUN, IR_TURN_LEFT))
    return FALSE;
  set_error (detached, detached->waiter->run);
  g_atomic_int_set (&detached->state.watch.left, 1);
  g_atomic_int_set (&detached->turn, IR_TURN_LEFT);
  return TRUE;
}
