/* Values of single iterations: where in its loops a run is, what it keeps of which iteration, and the
 * checkpoints from which the others come back. */
#pragma once

#include "core/exec/run/checkpoints.h"
#include "core/exec/run/run.h"

typedef struct _IrRunState IrRunState; /* state.h */
typedef struct _IrObserver IrObserver; /* likewise */

/* A loop that a run is in, with those around it; it lies on the stack of who runs the body. */
typedef struct _IrFrameAt IrFrameAt;
struct _IrFrameAt
{
  const IrFrameAt *outer; /* (nullable) */
  const IrNode *loop;     /* (nullable) tokens: @path says it */
  const char *path;       /* (nullable) "a@1/b": frames of tokens, in their iterations */
  const char *name;       /* (nullable) likewise: of the innermost alone */
  gint64 iteration;
};
char *ir_frame_at_path (const IrFrameAt *at);
char *ir_loop_name (const IrNode *node);

/* -- what is kept -- */
typedef struct
{
  IrValueId value;
  const char *frame; /* "outer@3/inner" */
  gint64 iteration;  /* of the innermost */
  IrTensor *tensor;  /* as the graph has it */
  guint64 order;     /* in the order in which they were computed */
} IrKeptIteration;

/* Statistics of one iteration; those of elements are NaN where there is no finite one. An overview that was
 * thinned out has several in one. */
typedef struct
{
  const char *frame;
  gint64 iteration; /* the first */
  double min, max, mean, std;
  guint64 n, n_nan, n_inf, n_zero;
} IrSeriesPoint;

typedef struct _IrIterationValues IrIterationValues;

guint ir_run_n_iterations_kept (const IrRun *run);
const IrKeptIteration *ir_run_iteration (const IrRun *run,
                                         guint index); /* by value, then by time */
guint ir_run_n_iterations_lost (const IrRun *run);
const GArray *ir_run_series (const IrRun *run, IrValueId value); /* (nullable) of IrSeriesPoint */
guint ir_run_series_step (const IrRun *run, IrValueId value); /* rounds in a point of an overview */
gboolean ir_run_has_ended (const IrRun *run, const IrValue *value); /* what computes it */

guint ir_run_n_checkpoints (const IrRun *run, guint64 *bytes); /* checkpoints.c */

/* -- for the runner -- */

/* A run again, up to an iteration; it ends with %IR_EXEC_ERROR_STOPPED behind it. */
typedef struct
{
  IrNodeId loop; /* the outermost around what is asked for; of tokens the node that runs them */
  gint64 iteration;
  const IrCheckpoint *from; /* (nullable) from the beginning */
  const char *frame; /* (nullable) of tokens: of which iterations from @first on are looked at */
  gint64 first;
} IrResume;

IrIterationValues *ir_iteration_values_new (const IrIterations *wanted);
void ir_iteration_values_free (IrIterationValues *self);
void ir_iterations_note (IrRunState *state, const IrValue *value, IrTensor *tensor);
gboolean ir_iterations_begin (IrRunState *state,
                              const IrNode *loop,
                              gint64 iteration,
                              IrTensor *const *inputs,
                              guint n_inputs,
                              GError **error);
gboolean ir_iterations_end (IrRunState *state, const IrFrameAt *at, GError **error);
gint64 ir_iterations_first (IrRunState *state, const IrNode *loop, GPtrArray *inputs);
gboolean ir_iterations_checkpoint_due (IrRunState *state, const IrNode *loop, gint64 iteration);
gboolean ir_iterations_add_checkpoint (IrRunState *state,
                                       const IrNode *loop,
                                       const IrCheckpoint *row,
                                       IrTensor *const *inputs,
                                       guint n_inputs,
                                       GError **error);
const IrCheckpoint *ir_iterations_resumed (IrRunState *state, const IrNode *loop); /* (nullable) */
const IrCheckpoints *ir_iteration_values_checkpoints (const IrIterationValues *self);
void ir_iteration_values_cut (IrIterationValues *self,
                              const char *frame,
                              gint64 first,
                              gint64 last);
const GArray *ir_iteration_values_series (const IrIterationValues *self, IrValueId value);
IrTensor *ir_iteration_values_find (const IrIterationValues *self,
                                    IrValueId value,
                                    const char *frame,
                                    gint64 iteration);
