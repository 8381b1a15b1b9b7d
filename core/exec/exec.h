/* Execution: plans as plain data, made by pure functions, and the runner that follows them. */
#pragma once
#include "core/ir/model.h"
#include "core/ir/stop.h"
#include "core/op/op.h"

#define IR_EXEC_ERROR (ir_exec_error_quark ())
GQuark ir_exec_error_quark (void);
typedef enum
{
  IR_EXEC_ERROR_INPUT,       /* an input is missing, or of the wrong type or shape */
  IR_EXEC_ERROR_UNSUPPORTED, /* a node has no kernel: message says which and why */
  IR_EXEC_ERROR_KERNEL,      /* a kernel failed: message names the node */
  IR_EXEC_ERROR_MEMORY,
  IR_EXEC_ERROR_DEVICE, /* the device is not there */
  IR_EXEC_ERROR_CANCELLED,
  IR_EXEC_ERROR_LIMIT /* more time or iterations than allowed */
} IrExecErrorCode;

/* -- back ends: one row each (ref, cpu, later gpu) -- */
typedef struct _IrBackend IrBackend;
struct _IrBackend
{
  const char *name, *title;
  /* Why the back end cannot run @node with a kernel of its own, or NULL if it can. */
  const char *(*refuses) (const IrNode *node);
  IrKernelFunc (*kernel) (const IrNode *node);
  const char *(*kernel_name) (const IrNode *node); /* (nullable): the back end's own name */
  /* (nullable) prepared state per node (packed weights, primitives); called once per plan */
  gpointer (*prepare) (IrCall *call, GError **error);
  void (*release) (gpointer state);
  /* (nullable) Whether what was prepared for @node serves other nodes of the same kernel_name()
   * too: it is made anew where shapes or weights are others. */
  gboolean (*shares_state) (const IrNode *node);
  gboolean falls_back; /* nodes without a kernel run on ref, by a recorded decision */
  /* (nullable) Which values of @graph are kept in blocks of channels: by value id, channels in a
   * block, or 0, which they all are before. */
  void (*plan_blocks) (const IrGraph *graph, guint8 *blocks);
  /* (nullable) What that means for @node, in words; NULL: nothing */
  const char *(*explain_blocks) (const IrNode *node, const guint8 *blocks);
  /* (nullable) Names that IR_META_KERNEL of @node may have, beside "ref"; NULL: there is one kernel
   * only. The first that fits is taken where nobody asks for another. */
  const char *(*candidates) (const IrNode *node);
  /* (nullable) In words, why @node gets the one that it gets; NULL: nothing to say */
  const char *(*explain_choice) (const IrNode *node);
  /* (nullable) Whether pieces of the float32 operands of @node give the same piece of its output,
   * on any thread and without scratch memory. */
  gboolean (*in_pieces) (const IrNode *node);
  /* (nullable) The input that output 0 of @node may be written over, beside those that
   * IR_OP_INPLACE promises: its kernel reads each element before it writes there. -1: none. */
  int (*overwrites) (const IrNode *node);
};
const IrBackend *ir_backend_find (
    const char *name); /* "ref", "cpu"; NULL if unknown or not built */
const IrBackend *const *ir_backends (guint *n);

/* Property (metadata_props) of a node that asks for a kernel: "ref", or one of the candidates of
 * the back end. One that does not fit is passed over, and the schedule says what is taken. */
#define IR_META_KERNEL "irscope.kernel"
const char *ir_node_wanted_kernel (const IrNode *node); /* (nullable) */

/* -- schedule -- */
typedef struct
{
  IrNodeId node;
  const char *device;     /* "cpu" */
  const char *kernel;     /* which kernel: "cpu: oneDNN convolution", "ref" */
  const char *why;        /* (nullable) the decision in words: why a fallback */
  const char *layout;     /* (nullable) in words: what it does about values in blocks of channels */
  const char *candidates; /* (nullable) names of the back end's kernels, if there are several */
  const char *choice;     /* (nullable) in words: why the one that is taken, not another of them */
  guint overwrites; /* 1 + the input that the kernel may write output 0 over, beside those that
                     * IR_OP_INPLACE promises; 0: none */
  guint worker;
  double start_ms, end_ms; /* predicted by the cost model */
  guint n_after;
  const IrNodeId *after; /* nodes whose end it waits for */
} IrScheduleItem;

/* Steps that the workers run beside each other, each on the worker of its item. */
typedef struct
{
  guint first, last;            /* both inclusive */
  double together_ms, apart_ms; /* predicted: so, and one at a time on the threads of all workers */
} IrScheduleSpan;

typedef struct
{
  GArray *items; /* of IrScheduleItem, in execution order */
  GArray *spans; /* (nullable) of IrScheduleSpan, ascending; all other steps run one at a time */
  guint n_workers;
  double makespan_ms, critical_path_ms, work_ms;
  guint8 *blocks; /* (nullable) by value id: channels that stand together; see core/exec/blocks.h */
  guint n_blocks; /* its length */
  gatomicrefcount ref_count;
} IrSchedule;
IrSchedule *ir_schedule_new (IrModel *model,
                             const IrBackend *backend,
                             guint n_workers,
                             GError **error);
IrSchedule *ir_schedule_new_until (IrModel *model,
                                   const IrBackend *backend,
                                   guint n_workers,
                                   const IrStop *stop, /* (nullable) */
                                   GError **error);
void ir_schedule_unref (IrSchedule *schedule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSchedule, ir_schedule_unref)

/* -- memory plan -- */
#define IR_PLACE_EXTERNAL G_MAXUINT64
typedef struct
{
  IrValueId value;
  guint64 offset, size; /* bytes; offset IR_PLACE_EXTERNAL: inputs, outputs, constants */
  guint first, last;    /* steps of the schedule, both inclusive */
  IrValueId alias_of;   /* 0, or the value whose bytes it lies in; the next three say why */
  IrValueId view_of;    /* 0, or what it has the contents of, or of a part of it */
  IrValueId over;       /* 0, or the input of its node that it is written over */
  IrValueId part_of;    /* 0, or the output of a Concat that it is written into in its place */
} IrMemItem;

typedef struct
{
  GArray *items; /* of IrMemItem, by first use */
  guint64 peak_bytes, lower_bound_bytes, naive_bytes;
  guint align_bytes;
  struct _IrMemDetails *details; /* how it was made: see the functions of core/exec/memplan.h */
  gatomicrefcount ref_count;
} IrMemPlan;
/* Needs all shapes; values of unknown size are left external. */
IrMemPlan *ir_mem_plan_new (IrModel *model, const IrSchedule *schedule, guint align_bytes);
void ir_mem_plan_unref (IrMemPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrMemPlan, ir_mem_plan_unref)

/* -- trace -- */
typedef struct
{
  IrNodeId node;
  const char *device, *kernel;
  guint worker;
  gint64 start_ns, end_ns; /* from the start of the run */
  guint64 bytes, flops;
} IrTraceItem;
typedef struct
{
  GArray *items; /* of IrTraceItem, by start */
  gint64 duration_ns;
  guint64 peak_bytes;  /* measured: live value memory at its highest */
  guint64 arena_bytes; /* measured: how far values reached into the arena of the memory plan */
  gatomicrefcount ref_count;
} IrTrace;
IrTrace *ir_trace_ref (IrTrace *trace);
void ir_trace_unref (IrTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTrace, ir_trace_unref)
char *ir_trace_to_chrome_json (const IrTrace *trace, const IrModel *model);

/* -- running -- */
typedef enum
{
  IR_CAPTURE_NONE,
  IR_CAPTURE_ALL,
  IR_CAPTURE_STATS,
  IR_CAPTURE_CHOSEN,
  IR_CAPTURE_CHECKPOINTS /* so many that each other one is soon computed again */
} IrCaptureKind;

typedef struct
{
  guint64 n;
  double min, max, mean, std; /* over finite elements */
  guint64 n_nan, n_pos_inf, n_neg_inf, n_zero, n_negative;
  double l2;
  guint n_bins;
  double bin_low, bin_high;
  guint64 bins[64]; /* over finite elements */
  guint64 checksum; /* of the bytes */
} IrTensorStats;
void ir_tensor_stats (const IrTensor *tensor, guint n_bins, IrTensorStats *stats);
gboolean ir_tensor_stats_with (const IrTensor *tensor,
                               guint n_bins,
                               const IrCall *call,
                               IrTensorStats *stats);

/* A loop without end stops within seconds; real ones run thousands of times. */
#define IR_RUN_DEFAULT_ITERATIONS 1000000
/* What nobody waits for ends by itself: an hour. */
#define IR_RUN_DEFAULT_TIME_MS 3600000

/* Whether nodes that do not wait for each other run beside each other, on one thread each. */
typedef enum
{
  IR_PARALLEL_OFF,  /* one node at a time, on all threads */
  IR_PARALLEL_ON,   /* wherever there are several */
  IR_PARALLEL_AUTO, /* where the first runs show that it is faster: tune.c */
  IR_N_PARALLEL
} IrParallelMode;
/* Runs of a plan after which IR_PARALLEL_AUTO has decided. */
#define IR_PARALLEL_AUTO_RUNS 15
const char *ir_parallel_mode_name (IrParallelMode mode);
gboolean ir_parallel_mode_find (const char *name, IrParallelMode *mode);

typedef struct
{
  const IrBackend *backend; /* NULL: cpu */
  guint n_threads;          /* 0: number of cores */
  IrParallelMode parallel;
  IrCaptureKind capture;
  GArray *chosen;          /* (nullable) of IrValueId, for IR_CAPTURE_CHOSEN */
  gsize capture_budget;    /* bytes of captured values in memory, the others go to a file; 0: a
                            * quarter of memory, and no more than half of memory_limit */
  gsize spill_limit;       /* bytes of that file; 0: what the folder for temporary files has */
  gsize memory_limit;      /* bytes; 0: a quarter of memory */
  gsize output_limit;      /* bytes of one value; 0: 1/4 of memory */
  guint64 iteration_limit; /* of all loops of a run together; 0: IR_RUN_DEFAULT_ITERATIONS */
  guint time_limit_ms;     /* of a run, looked at as often as cancelling is; 0:
                              IR_RUN_DEFAULT_TIME_MS, G_MAXUINT: none */
  gboolean deterministic;  /* the same bits at any number of threads, for some speed */
  guint64 seed; /* of random operators that have no seed of their own; runs with it agree */
  void (*progress) (guint done, guint total, const IrNode *node, gpointer data);
  gpointer progress_data;
  /* (nullable) called, from any thread, whenever a kernel has looked whether it is to stop */
  void (*looked) (gpointer data);
  gpointer looked_data;
} IrRunOptions;

typedef struct
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
  IrMemPlan *memplan; /* (nullable) where shapes were not all known before */
  GError *error;      /* (nullable) a node failed: values before it are there */
  IrNodeId failed_node;
  GMutex presenting;          /* guards values where ir_run_value() brings them into their layout */
  struct _IrCapture *capture; /* what was captured elsewhere, and how the rest is had: capture.h */
  /* Nodes that ran, those of subgraphs once each: by kernels of the back end that was asked for, by
   * reference kernels in their place, and control flow, which the runner itself executes. */
  guint n_own, n_fallback, n_control;
} IrRun;

/* A prepared plan for one model, back end and set of input shapes; run it many times. */
typedef struct _IrExecutable IrExecutable;
IrExecutable *ir_executable_new (IrModel *model, const IrRunOptions *options, GError **error);
IrExecutable *ir_executable_new_until (IrModel *model,
                                       const IrRunOptions *options,
                                       const IrStop *stop, /* (nullable) */
                                       GError **error);
void ir_executable_free (IrExecutable *executable);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrExecutable, ir_executable_free)
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
IrRun *ir_run_ref (IrRun *run);
void ir_run_unref (IrRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrRun, ir_run_unref)
guint ir_run_n_kept (const IrRun *run);
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
  guint64 limit;             /* most bytes of all of them together; 0: a quarter of memory */
  GCancellable *cancellable; /* (nullable) */
} IrRandomOptions;
GHashTable *ir_random_inputs_with (IrModel *model, const IrRandomOptions *options, GError **error);
struct _IrEdit;
gboolean ir_random_bind_sizes (struct _IrEdit *edit,
                               const IrRandomOptions *options,
                               GError **error);
GHashTable *ir_random_inputs (IrModel *model, guint64 seed, GHashTable *bindings, GError **error);
GHashTable *ir_random_inputs_beside (
    IrModel *model, guint64 seed, GHashTable *bindings, GHashTable *given, GError **error);

/* Runs one node on given contents (reference kernels): constant folding and proofs use it. Outputs
 * that the node does not have are NULL. (transfer full) outputs */
gboolean ir_eval_node (const IrNode *node,
                       const IrTensor *const *inputs,
                       IrTensor **outputs,
                       const IrBackend *backend,
                       gsize output_limit,
                       GError **error);

/* The same for proofs: with threads, cancelling, random draws as a run has them, and nodes that own
 * subgraphs. */
typedef struct
{
  const IrBackend *backend;  /* NULL: reference kernels */
  IrThreads *threads;        /* (nullable) one thread */
  GCancellable *cancellable; /* (nullable) */
  /* (nullable) what a value holds that the node's subgraphs use and that lies outside of them */
  const IrTensor *(*contents) (const IrValue *value, gpointer data);
  gpointer data;
  /* (nullable) In: NULL, or what was prepared for another node, if the back end shares it; out:
   * what is prepared now, for the caller to release. */
  gpointer *state;
} IrEvalOptions;
gboolean ir_eval_node_with (const IrNode *node,
                            const IrTensor *const *inputs,
                            IrTensor **outputs,
                            const IrEvalOptions *options,
                            GError **error);
/* A copy of @model in which function calls are replaced by bodies: what is run. (transfer full) */
IrModel *ir_exec_expand (IrModel *model, GError **error);
IrModel *ir_exec_expand_until (IrModel *model,
                               const IrStop *stop, /* (nullable) */
                               GError **error);
