/* Runs: an executable is prepared for the shapes of its inputs and run many times; a run keeps what
 * it was asked to. */
#pragma once

#include "core/exec/memory/memory.h"
#include "core/exec/plan/options.h"
#include "core/exec/plan/trace.h"

/* -- trace -- */
typedef struct
{
  GArray *items;  /* of IrTraceItem, by start */
  GArray *copies; /* (nullable) of IrTraceCopy, by start */
  guint n_graphs; /* of a device that were launched in place of their steps, which have no times */
  gint64 duration_ns;
  guint64 peak_bytes;      /* measured: live value memory at its highest */
  guint64 arena_bytes;     /* measured: how far values reached into the arena of the memory plan */
  guint64 allocated_bytes; /* of memory for values that this run has allocated */
  gatomicrefcount ref_count;
} IrTrace;
IrTrace *ir_trace_ref (IrTrace *trace);
void ir_trace_unref (IrTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTrace, ir_trace_unref)
char *ir_trace_item_kernel (const IrTraceItem *item); /* (transfer full) what has computed it */
char *ir_trace_to_chrome_json (const IrTrace *trace, const IrModel *model);

/* -- runs -- */
/* What lay at a node, and was to be otherwise by what its kernel declares, or by the plan. */
typedef struct
{
  IrNodeId node;
  guint slot; /* of an output, or an input */
  gboolean is_output;
  char *value, *found, *declared; /* the value's name; in words */
} IrContradiction;

/* A type that the file declares, and that was another one. Nothing relied on it. */
typedef struct
{
  IrValueId value;
  IrNodeId node; /* that computes it, or gives it to its body */
  const IrType *declared, *found;
  char *text; /* a sentence: where, what was found, what is declared */
} IrWrongClaim;

typedef struct _IrRun
{
  gatomicrefcount ref_count;
  IrModel *model; /* the frozen model that ran, with concrete shapes */
  /* By value id, n_values entries, NULL where nothing is kept: outputs, and what was captured; read
   * them with ir_run_value(), as some are in another layout before somebody looks. */
  IrTensor **values;
  guint n_values;
  GHashTable *stats; /* IrValueId -> IrTensorStats, for IR_CAPTURE_STATS */
  IrTrace *trace;
  IrSchedule *schedule;
  IrMemPlan *memplan;                    /* (nullable) where shapes were not all known before */
  IrHeld held;                           /* the budget of the options, and what holding it took */
  struct _IrIterationValues *iterations; /* (nullable) of single iterations: iterations.h */
  GArray *missing;    /* (nullable) of IrMissing, where the options said partial */
  GArray *claims;     /* (nullable) of IrWrongClaim */
  GError *error;      /* (nullable) a node failed: values before it are there */
  gboolean under_way; /* it is what a run had kept that had not ended: ir_run_state_snapshot() */
  IrNodeId failed_node;
  GMutex presenting; /* guards values where ir_run_value() brings them into their layout */
  struct _IrPlanCheck *plan_check; /* (nullable) for IR_RUN_CHECK_PLAN */
  struct _IrCapture *capture; /* what was captured elsewhere, and how the rest is had: capture.h */
  /* Nodes that ran, those of subgraphs once each: by kernels of the back end that was asked for, by
   * reference kernels in their place, and control flow, which the runner itself executes. */
  guint n_own, n_fallback, n_control;
  guint
      n_reused; /* nodes of the main graph that did not run: IrRunOptions.before had what they give; no constants */
} IrRun;

/* A prepared plan for one model, back end and set of input shapes; run it many times. */
typedef struct _IrExecutable IrExecutable;
IrExecutable *ir_executable_new (IrModel *model, const IrRunOptions *options, GError **error);
void ir_executable_free (IrExecutable *executable);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrExecutable, ir_executable_free)
gboolean ir_executable_leave_out (IrExecutable *executable, const IrRun *run, GError **error);
/* Makes the plan for inputs of these shapes, which the first run with them would do otherwise. */
gboolean ir_executable_prepare (IrExecutable *executable,
                                GHashTable *inputs,
                                GCancellable *cancellable,
                                GError **error);
/* @inputs: value id -> IrTensor; overridable inputs may be left out. A failing node gives NULL and
 * @error, and, if @partial is not NULL, what was computed before. */
IrRun *ir_executable_run (IrExecutable *executable,
                          GHashTable *inputs,
                          GCancellable *cancellable,
                          IrRun **partial,
                          GError **error);
IrRun *ir_executable_run_what_can (IrExecutable *executable,
                                   GHashTable *inputs,
                                   GCancellable *cancellable,
                                   IrRun **partial,
                                   GError **error);
IrRun *ir_run_ref (IrRun *run);
void ir_run_unref (IrRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrRun, ir_run_unref)
const GArray *ir_run_contradictions (const IrRun *run, guint *n_nodes);
guint ir_run_n_kept (const IrRun *run);
guint ir_run_n_computing (const IrRun *run); /* nodes of the main graph but constants */
IrTensor *ir_run_value (const IrRun *run, IrValueId value); /* (transfer none) (nullable) */

/* One shot: prepare, run, free. */
IrRun *ir_model_run (IrModel *model,
                     GHashTable *inputs,
                     const IrRunOptions *options,
                     GCancellable *cancellable,
                     GError **error);

/* Random inputs that respect what uses allow: integer indices within Gather's extent, 0/1 masks,
 * positive lengths; symbolic dims from @bindings (name -> gint64 *), else 1 for a first dim named
 * batch or N and a small sensible number otherwise. Same seed, same tensors. */
typedef struct
{
  guint64 seed;
  GHashTable *bindings;      /* (nullable) symbol name -> gint64 *: sizes of symbolic dims */
  GHashTable *given;         /* (nullable) value id -> IrTensor: inputs that need none */
  GHashTable *fills;         /* (nullable) value id -> IrFill: numbers that were asked for */
  guint64 limit;             /* most bytes of all of them together; 0: a quarter of memory */
  GCancellable *cancellable; /* (nullable) */
} IrRandomOptions;
/* A dim of an input whose size a run chooses. */
typedef struct
{
  char *name;      /* a symbol; of a dim without a name "x[1]": that of input x at axis 1 */
  IrValueId input; /* the first that has it */
  gint64 size;     /* that a run takes */
  gboolean given;  /* it was asked for; else chosen */
  IrNodeId node;   /* that it follows from, by @why; 0: none, it is a default */
  char *why;       /* (nullable) what that node needs: "b*s = 16" */
} IrFreeDim;
GArray *ir_free_dims (const IrModel *model, GHashTable *bindings); /* (transfer full) */
/* What no sizes suit, or not those that are asked for. */
typedef struct
{
  IrNodeId node, other; /* that disagree; @other 0: @node alone, with a size that was asked for */
  char *text;           /* a sentence that names them */
} IrSizeConflict;
GArray *ir_size_conflicts (const IrModel *model, GHashTable *bindings); /* (transfer full) */
GHashTable *ir_random_inputs_with (IrModel *model, const IrRandomOptions *options, GError **error);
struct _IrEdit;
gboolean ir_random_bind_sizes (struct _IrEdit *edit,
                               const IrRandomOptions *options,
                               GError **error);
GHashTable *ir_random_inputs (IrModel *model, guint64 seed, GHashTable *bindings, GError **error);
/* Sizes of symbols that contents have are added to @bindings, where these do not say them. */
void ir_bind_given (const IrModel *model, GHashTable *given, GHashTable *bindings);
GHashTable *ir_random_inputs_beside (
    IrModel *model, guint64 seed, GHashTable *bindings, GHashTable *given, GError **error);
