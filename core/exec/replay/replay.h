/* Running single nodes of a graph again: the smallest set that leads to a value from values whose
 * contents are known. */
#pragma once

#include "core/exec/run/capture.h"
#include "core/exec/run/iterations.h"

/* (transfer full) (nullable) What @value holds as far as somebody knows; in NCHWc or
 * not. Inputs and constants are known anyway. */
typedef IrTensor *(*IrReplayKnown) (const IrValue *value, GCancellable *cancellable, gpointer data);

typedef struct _IrReplay IrReplay;

IrReplay *ir_replay_new (IrModel *frozen,
                         IrSchedule *schedule,
                         const IrRunOptions *options,
                         GHashTable *inputs,
                         IrReplayKnown known,
                         gpointer data,
                         GError **error);
void ir_replay_set_run (IrReplay *replay, const IrRun *run);
void ir_replay_free (IrReplay *replay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrReplay, ir_replay_free)
IrTensor *ir_replay_find (IrReplay *replay,
                          const IrValue *value,
                          GCancellable *cancellable,
                          IrFound *found,
                          GError **error);
IrTensor *ir_replay_find_iteration (IrReplay *replay,
                                    const IrIterationName *name,
                                    GCancellable *cancellable,
                                    IrFound *found,
                                    GError **error);
IrIterationValues *ir_replay_iterations (IrReplay *replay,
                                         const IrResume *resume,
                                         GArray *values,
                                         IrObserver *observer,
                                         GCancellable *cancellable,
                                         GError **error);
IrReplay *ir_replay_of_run (IrRun *run, IrCaptureAttachment *attachment, GError **error);
/* The nodes of the main graph whose outputs @node reads, bodies included: (transfer container) */
GPtrArray *ir_replay_reads (const IrNode *node);
/* The node of the main graph that makes @value, or in which it is made. (nullable) */
const IrNode *ir_replay_producer (const IrValue *value);
