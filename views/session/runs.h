/* How the session runs graphs, what that took, what a run changed against the one before it, and
 * which kernels there are. */
#pragma once

#include "core/exec/measure/times.h"
#include "views/session/session.h"

typedef struct
{
  IrRunOptions options; /* without back end, seed, chosen values and callbacks, which the session
                         * adds */
  guint n_runs;         /* that count; where there are several, those that warm up do not */
  gboolean one_run;     /* the original graph does not run: what its values were is had from the run
                         * of the graph on screen */
  const char *chosen;   /* (nullable) of IR_CAPTURE_CHOSEN: names of values, with commas between;
                         * CALL/NAME in the body of a function; those that a
                         * graph does not have are passed over */
} IrRunSettings;

const IrRunSettings *ir_session_get_run_settings (IrSession *self);
void ir_session_set_run_settings (IrSession *self, const IrRunSettings *settings);

/* The graph on screen with the shapes that a run of it would have: plans need them. Made in the
 * main thread, asked in any. */
typedef struct _IrSizer IrSizer;
IrSizer *ir_session_new_sizer (IrSession *self);
IrModel *ir_sizer_make (const IrSizer *sizer, GError **error); /* (transfer full) */
void ir_sizer_free (IrSizer *sizer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSizer, ir_sizer_free)

/* -- what the last run took, ms -- */
IrTimes ir_session_get_run_times (IrSession *self); /* n 0: none */
IrTimes ir_session_get_node_times (IrSession *self, IrNodeId node);
char *ir_times_text (const IrTimes *times); /* (transfer full) "52.1 µs (50.2–55.7 µs, 5 runs)" */
char *ir_times_tip (const IrTimes *times); /* (transfer full) (nullable): what that says */
char *ir_ms_text (double ms);              /* (transfer full) "52.1 µs" */
/* (transfer full) (nullable): the last run in a line: time, threads, policies, what it kept */
char *ir_session_run_text (IrSession *self);

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

/* -- values in bodies of functions, which only a run has (session/bodies.c) -- */
const IrValue *ir_session_get_body_value (IrSession *self,
                                          IrValueId id,
                                          IrRun **run); /* (nullable) */
/* (transfer container) (nullable): of IrValue; NULL: no run of the graph on screen ran the body of
 * @call */
GPtrArray *ir_session_get_body_values (IrSession *self, const IrNode *call);

/* -- what it changed against the run before -- */
typedef struct
{
  guint from_step, step;
  IrTimes before, after; /* ms */
  gboolean other_inputs; /* nothing was compared */
  guint n_compared, n_differ;
  IrValueId worst; /* 0: no difference */
  IrDifference worst_difference;
} IrRunChange;

const IrRunChange *ir_session_get_run_change (IrSession *self);             /* (nullable) */
char *ir_run_change_text (const IrRunChange *change, const IrModel *model); /* (transfer full) */

typedef struct
{
  IrTimes before, after; /* ms; n 0: it was not there */
  gboolean compared;
  IrDifference difference; /* of its outputs, the largest */
} IrNodeChange;

gboolean ir_session_get_node_change (IrSession *self, IrNodeId node, IrNodeChange *change);
char *ir_difference_text (const IrDifference *difference); /* (transfer full) */

/* -- kernels (kernels.c) -- */
typedef struct
{
  char *name;     /* (nullable) as IR_META_KERNEL asks for it */
  char *kernel;   /* as the schedule calls it */
  char *why;      /* (nullable) why it is not the back end's own */
  gboolean taken; /* the graph at that step runs it */
  IrTimes ms;     /* n 0: the run did not come that far */
  gboolean compared;
  IrDifference difference; /* of the node's outputs, from those of the kernel that is taken */
} IrKernelTime;

/* A step in which @node asks for a kernel; @kernel: (nullable): the back end chooses. */
void ir_session_ask_for_kernel (IrSession *self, IrNodeId node, const char *kernel);
/* Runs the graph with each kernel that @node could have, in turn; %IR_CHANGED_RUNS says when. */
void ir_session_measure_kernels (IrSession *self, IrNodeId node);
/* (transfer none) (nullable): of IrKernelTime, those of @node that were measured last, at @step */
GPtrArray *ir_session_get_kernel_times (IrSession *self, IrNodeId node, guint *step);
/* What runs @node at the cursor, by the last run or by what the back end says: the kernel, (out)
 * (nullable) why, and in words what it does about the layout of values. (nullable) */
const char *ir_session_get_kernel (IrSession *self,
                                   const IrNode *node,
                                   const char **why,
                                   const char **layout);
