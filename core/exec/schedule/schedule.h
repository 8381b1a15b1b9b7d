/* The order of nodes, and where each runs: plain data, made by pure functions. */
#pragma once

#include "core/exec/kernel/backend.h"

/* Whether nodes that do not wait for each other run concurrently, on one thread each. */
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
  IrNodeId node;
  const char *device;     /* "cpu", "gpu" */
  const char *kernel;     /* which kernel: "cpu: oneDNN convolution", "ref" */
  const char *why;        /* (nullable) the decision in words: why a fallback */
  const char *layout;     /* (nullable) in words: what it does about values in NCHWc */
  const char *candidates; /* (nullable) names of the back end's kernels, if there are several */
  const char *choice;     /* (nullable) in words: why the one that is taken, not another of them */
  guint64 overwrites;     /* bit by bit: the inputs that the kernel may write output 0 over */
  const IrMemory *memory; /* (nullable) where the kernel writes its outputs; NULL: in the host's */
  guint64 there;          /* bit by bit: the inputs that it reads in @memory */
  guint worker;
  double start_ms, end_ms; /* predicted by the cost model */
  guint n_after;
  const IrNodeId *after; /* nodes whose end it waits for */
} IrScheduleItem;

/* Steps that the workers run concurrently, each on the worker of its item. */
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
  guint n_streams; /* of a device, at most */
  double makespan_ms, critical_path_ms, work_ms;
  guint8 *
      blocks; /* (nullable) by value id: channels that stand together; see core/exec/kernel/nchwc.h */
  guint n_blocks;     /* its length */
  IrKernels *kernels; /* of all nodes, those of subgraphs included */
  gatomicrefcount ref_count;
} IrSchedule;
IrSchedule *ir_schedule_new (IrModel *model,
                             const IrBackend *backend,
                             guint n_workers,
                             GError **error);
IrSchedule *ir_schedule_new_by (IrModel *model, IrKernels *kernels, guint n_workers);
gboolean ir_schedule_check (IrModel *model, const IrBackend *backend, GError **error);
void ir_schedule_unref (IrSchedule *schedule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSchedule, ir_schedule_unref)
IrSchedule *ir_schedule_ref (IrSchedule *schedule);
gboolean ir_schedule_item_overwrites (const IrScheduleItem *item, const IrNode *node, guint slot);
/* order.c: reorders @schedule so that less lives at once, if that can be found. */
gboolean ir_schedule_order_for_memory (IrSchedule *schedule, IrModel *model);

/* -- copies.c: values that are read in another memory than the one they are made in -- */
typedef struct
{
  IrValueId value;
  gboolean to_host; /* else to the memory of a back end */
  guint step;       /* before it, or behind it */
  gboolean behind;
  gboolean once;     /* of a constant: for all runs */
  gboolean late;     /* no step reads it: the host need not wait for it before the end */
  IrNodeId producer; /* 0: what the run is given, or a constant */
  IrNodeId reader;   /* the first one; 0: it is handed out */
  guint64 bytes;
  double ms;       /* predicted */
  guint stream;    /* that it is made in */
  guint64 late_at; /* of a late one: where among those its value is kept until it is copied */
} IrScheduleCopy;
/* A copy: asking for it and waiting, and the bytes of a PCIe 3.0 link of 16 lanes, of which 12 GB/s are left in
 * practice. Assumed, not measured. */
#define IR_COPY_MS         0.010
#define IR_COPY_MS_OF_BYTE (1 / 12e6)
/* Of values that are copied while the device goes on. Graph outputs stay where they are there until the end; the
 * others are first copied there. */
#define IR_LATE_BYTES (G_GUINT64_CONSTANT (1) << 30)
/* In words, why the host waits for a copy to it: what reads it there. */
const char *ir_schedule_copy_why (const IrScheduleCopy *copy, const IrModel *model);
/* device-streams.c: what is beside each other on a device, and in order. */
#define IR_STREAM_NONE G_MAXUINT
typedef struct
{
  guint n_streams, n_events;
  guint *stream;     /* by step; IR_STREAM_NONE: it is no step of the device */
  guint *event;      /* by step: the one that is recorded behind it, or IR_STREAM_NONE */
  guint *wait_first; /* by step, and one more: the first of waits */
  guint *waits;      /* events that the stream waits for before the step */
  guint *until;      /* by step: the last that may begin before the step has ended */
  guint *task;       /* by step: the how many-th of the device it is */
  guint *clocks;     /* by task: how far it knows each stream to be, as tasks + 1 */
} IrDeviceStreams;
/* Where a value is while it is of use, in steps; first > last: it is not there. */
typedef struct
{
  gboolean made_there;
  gboolean late; /* it is read there beside the last steps still */
  guint first_there, last_there, first_here, last_here;
} IrValuePlaces;
typedef struct
{
  const IrMemory *memory;
  GArray *copies; /* of IrScheduleCopy, in their order */
  IrValuePlaces *values;
  guint n_values;     /* its length: largest id + 1 */
  guint64 late_bytes; /* of values that are kept there until they are copied */
  IrDeviceStreams *streams;
} IrPlaces;
/* Plain data, made by a pure function: NULL where all is in the host's memory. @kept: (nullable) by value id,
 * what is wanted in the host's memory as soon as it is made, as if it were a graph output. */
IrPlaces *ir_places_new (const IrSchedule *schedule, const IrModel *model, const guint8 *kept);
void ir_places_free (IrPlaces *places);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrPlaces, ir_places_free)

IrDeviceStreams *ir_device_streams_new (const IrSchedule *schedule,
                                        IrPlaces *places,
                                        const guint *step_of);
gboolean ir_device_streams_ordered (const IrDeviceStreams *streams, guint before, guint behind);
void ir_device_streams_free (IrDeviceStreams *streams);

/* The node of @graph that a use belongs to: the node itself, or the owner of the subgraphs around
 * it. NULL for graph outputs and for uses outside @graph. */
IrNode *ir_use_node_in (const IrGraph *graph, IrUse use);

guint ir_schedule_block (const IrSchedule *schedule, const IrValue *value);
const IrType *ir_schedule_kept_type (const IrSchedule *schedule, const IrValue *value);

/* -- for planners -- */
#define IR_NODE_OVERHEAD_MS 0.005 /* finding inputs, giving memory, bookkeeping */

/* Waking the workers for concurrent nodes and waiting for the last of them, awake as they
 * are while a graph runs; more on a busy machine. */
#define IR_FORK_MS 0.005

IrSchedule *ir_schedule_copy (const IrSchedule *schedule);
void ir_schedule_place (IrSchedule *schedule);
