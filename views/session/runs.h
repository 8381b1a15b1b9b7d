/* How the session runs graphs, and what values held in the last run. */
#pragma once

#include "core/exec/exec.h"
#include "core/exec/gpu/precision.h"
#include "passes/debug/bisect.h"
#include "views/session/session.h"

/* The side of a comparison of values. */
typedef enum
{
  IR_SIDE_BEFORE, /* the original graph, step 0 */
  IR_SIDE_AFTER,  /* the graph at the step where it was run last */
  IR_N_SIDES
} IrSide;

typedef struct
{
  IrRunOptions options; /* without back end, seed, chosen values and callbacks, which the session
                         * adds */
  guint n_runs;         /* that count; where there are several, those that warm up do not */
  gboolean one_run;     /* the original graph does not run: what its values were is had from the run
                         * of the graph on screen */
  const char
      *device; /* (nullable) the back end of the graph on screen, as in gpu:1; NULL: the first.
                         * The original graph runs on the first one */
  IrGpuPrecision precision; /* of products on a GPU */
  const char *chosen; /* (nullable) of IR_CAPTURE_CHOSEN: names of values, with commas between;
                         * CALL/NAME in the body of a function; those that a
                         * graph does not have are passed over */
} IrRunSettings;

const IrRunSettings *ir_session_get_run_settings (IrSession *self);
/* That of the settings, whether or not it can be used here: for plans. */
const IrBackend *ir_session_get_backend (IrSession *self);
void ir_session_set_run_settings (IrSession *self, const IrRunSettings *settings);

/* Runs the original graph and the cursor's; %IR_CHANGED_RUNS says when. */
void ir_session_run_graph (IrSession *self);
IrRun *ir_session_get_run (IrSession *self, IrSide side); /* (transfer none) (nullable) */
guint ir_session_get_run_step (IrSession *self);          /* the step that IR_SIDE_AFTER ran */
/* What of the last run is not so any more: it was of another step, or had other inputs. (transfer full)
 * (nullable) */
char *ir_session_stale_text (IrSession *self);
char *ir_session_times_note (IrSession *self);

/* The values of the last run against those of the original graph that they stand for. */
typedef struct
{
  guint n_compared;
  IrValueId first; /* in the order of the graph, that differs by more than rounding; 0: none */
  IrDifference first_difference;
  IrValueId worst; /* 0: all are equal */
  IrDifference worst_difference;
} IrDivergence;

const IrDivergence *ir_session_get_divergence (IrSession *self); /* (nullable): nothing compared */

/* -- contents of values -- */
/* The contents of @value on a side: a constant of the graph, an input, or what was captured; for
 * IR_SIDE_BEFORE through the lineage (the original value that @value stands for). NULL with
 * @reason (transfer full): a sentence that says why not and what to do. */
IrTensor *ir_session_dup_tensor (IrSession *self, IrValueId value, IrSide side, char **reason);
/* The run that has, or can compute, what @value holds on a side, and which of its values that is.
 * (transfer full) (nullable): there is none; ir_run_find() is for a job. */
IrRun *ir_session_dup_run_of (IrSession *self, IrValueId value, IrSide side, IrValueId *id);

/* -- values of the original graph that no run has got: a fused kernel computes what came of them,
 * or the original graph did not run -- */
/* Asked for in the main thread, found in any: what stands for it in the run of the graph on screen,
 * or by running the few nodes of the original graph that lie between it and the nearest values of
 * that run. */
typedef struct _IrOriginalValue IrOriginalValue;
IrOriginalValue *ir_session_new_original_value (IrSession *self,
                                                IrValueId value,
                                                IrSide side); /* (nullable) */
IrTensor *ir_original_value_find (IrOriginalValue *value,
                                  GCancellable *cancellable,
                                  gboolean *computed,
                                  char **how,
                                  GError **error);
void ir_original_value_free (IrOriginalValue *value);

/* -- values in bodies of functions, which only a run has -- */
const IrValue *ir_session_get_body_value (IrSession *self,
                                          IrValueId id,
                                          IrRun **run); /* (nullable) */
/* (transfer container) (nullable): of IrValue; NULL: no run of the graph on screen ran the body of
 * @call */
GPtrArray *ir_session_get_body_values (IrSession *self, const IrNode *call);
