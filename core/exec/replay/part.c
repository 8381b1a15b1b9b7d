/* Some iterations of a loop, played once more: the run goes on from the last checkpoint before them, and is looked on
 * as it was, so events and values are the same. */
#include "config.h"

#include "core/exec/replay/replay.h"
#include "core/exec/run/loop-table.h"
#include "core/exec/run/state.h"

/**
 * ir_flow_log_replay:
 * @log: the log of a run with %IR_ITERATIONS_OVERVIEW, or a part of one
 * @loop: by ir_flow_log_outer_loop()
 * @first: the first iteration that is to be in it
 * @last: the last one; there may be fewer
 * @max_events: so many are kept at most
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * At most 2 sqrt (n) iterations more than those that are asked for are run.
 *
 * Returns: (transfer full) (nullable): the log of that part
 */
IrFlowLog *
ir_flow_log_replay (IrFlowLog *log,
                    IrNodeId loop,
                    gint64 first,
                    gint64 last,
                    guint max_events,
                    GCancellable *cancellable,
                    GError **error)
{
  IrFlowLog *whole = ir_flow_log_whole (log);
  IrRun *run = ir_flow_log_get_run (whole);
  const IrCheckpoint *from = run->iterations != NULL
                                 ? ir_checkpoints_find (
                                       ir_iteration_values_checkpoints (run->iterations), loop,
                                       first)
                                 : NULL;
  const IrResume resume = { loop, last, from };
  IrCaptureAttachment *attachment = ir_capture_attachment (run);
  g_autoptr (GArray) values = ir_loop_values (ir_flow_log_model (whole));
  g_autoptr (IrFlowLog) part = ir_flow_log_new_part (whole, loop, from, first, last, max_events);
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&attachment->lock);
  IrReplay *replay = ir_replay_of_run (run, attachment, error);
  IrIterationValues *series = replay != NULL ? ir_replay_iterations (replay, &resume, values,
                                                                     ir_flow_log_observer (part),
                                                                     cancellable, error)
                                             : NULL;

  if (series == NULL)
    return NULL;
  ir_flow_log_end_part (part, series);
  return g_steal_pointer (&part);
}
