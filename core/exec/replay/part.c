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
  const IrCheckpoints *checkpoints = run->iterations != NULL
                                         ? ir_iteration_values_checkpoints (run->iterations)
                                         : NULL;
  const gboolean are_tokens = ir_flow_log_moves_tokens (whole, loop);
  IrResume resume = { loop, last, NULL, NULL, first };

  if (are_tokens)
    {
      const IrGraph *graph = ir_model_node (ir_flow_log_model (whole), loop)->graph;
      resume.frame = ir_flow_log_loop_name (whole, loop);
      if (checkpoints != NULL)
        resume.from = ir_checkpoints_find_tokens (checkpoints, graph, resume.frame, first,
                                                  &resume.loop);
      resume.loop = graph->owner;
    }
  else if (checkpoints != NULL)
    resume.from = ir_checkpoints_find (checkpoints, loop, first);
  IrCaptureAttachment *attachment = ir_capture_attachment (run);
  g_autoptr (GArray) values = ir_loop_values (ir_flow_log_model (whole));
  g_autoptr (IrFlowLog)
      part = ir_flow_log_new_part (whole, loop, resume.from, first, last, max_events);
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
