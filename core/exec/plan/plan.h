/* What is known before a run: the plan that an executable makes for one set of input shapes. Its
 * files are prepare.c (types, schedule, memory plan, what back ends make once), keep.c,
 * budget.c (values computed again), keep-ranges.c and output-slab.c (what outlives its last use, and where), bind.c, bindings.c and
 * chains.c (the calls of the nodes). */
#pragma once

#include "core/exec/kernel/nchwc.h"
#include "core/exec/kernel/backend.h"
#include "core/exec/kernel/prepack.h"
#include "core/exec/memory/memory.h"
#include "core/exec/plan/options.h"
#include "core/exec/plan/trace.h"

typedef struct _IrRunState IrRunState; /* core/exec/run/state.h */
/* Runs a node that owns subgraphs: the CONTROL column of the op table. */
typedef gboolean (*IrControlFunc) (IrRunState *state, const IrNode *node, GError **error);

/* What a piece of the output needs of an operand: chain.c. */
typedef enum
{
  IR_OPERAND_UNFIT,
  IR_OPERAND_ABSENT,
  IR_OPERAND_FULL, /* the same piece */
  IR_OPERAND_ONE,  /* its one element */
  IR_OPERAND_TAIL, /* all of it, again for each unit of elements */
  IR_OPERAND_LEAD  /* one element for each unit */
} IrOperandForm;

#define IR_CHAIN_OPERANDS 3

/* One step of the schedule. Where all types are known, its call is laid out once, its outputs have
 * their tensors before the kernel runs, and inputs are set by whoever makes them. */
typedef struct
{
  const IrNode *node;
  const IrKernelChoice *choice;
  gboolean bound;    /* the fields below are there */
  gboolean no_op;    /* nothing to compute: outputs are constants, or views made beforehand */
  gboolean there;    /* its outputs lie in the memory of its back end */
  gboolean constant; /* from constants alone: the first run that comes through makes it a no_op */
  gboolean
      observed; /* outputs are read behind the kernel: statistics, files, views that are kept */
  guint n_slab_values;     /* entries of prepared->slab_values up to here */
  guint n_owned;           /* scratch of the call itself; what lies behind is of one run */
  IrTensor **outputs;      /* one per output of the node; NULL: nobody wants it */
  guint64 kept_bytes;      /* outside of the arena: those that its outputs take as the first */
  guint64 placed_bytes;    /* of bound values that lie in the arena while it runs */
  guint64 allocated_bytes; /* that its kernel was given beside those, since a run has told of it */
  guint64 reach_bytes;     /* how far such values have reached into the arena up to here */
  guint chain; /* steps up to the last that this one runs tile by tile, itself included; 0: none */
  guint link;  /* 1 + its place among those; 0: a constant among them, or no chain */
  guint n_links;
  guint64 unit; /* elements that a piece consists of as wholes */
  IrOperandForm forms[IR_CHAIN_OPERANDS];
  guint sources[IR_CHAIN_OPERANDS]; /* how many steps before, in spare memory; 0: where it lies */
  gboolean streams;                 /* only its chain reads its output, which is kept */
  IrCall call;
} IrRunStep;

/* The inputs of bound calls that read a value, and the output that has its tensor. */
typedef struct
{
  IrTensor *tensor;         /* (nullable) (owned) made before the run */
  guint first, n;           /* of prepared->readers */
  IrTensor **producer_slot; /* (nullable) in outputs of its step */
} IrBinding;

/* Where a value goes. */
typedef struct
{
  guint64 offset, size; /* bytes in the arena; offset IR_PLACE_EXTERNAL: the heap */
} IrPlace;

/* Whether a value outlives its last use. */
typedef enum
{
  IR_KEEP_NOT,
  IR_KEEP_PLANNED, /* in memory, and its bytes are counted already */
  IR_KEEP_OPEN     /* in memory if there is room when its size is known, else in a file */
} IrKeep;

/* Among whose bytes a kept value lies. */
typedef struct
{
  IrValueId of; /* 0: it has memory of its own */
  guint64 at;   /* bytes from the start of that one */
} IrWithin;

/* Memory of kept values, and where one lies in it: output-slab.c. */
typedef struct
{
  GBytes *memory;
  GBytes *other; /* (nullable) that of the run before, where runs alternate */
  guint64 bytes, used;
  gboolean pageable; /* some of its memory could not be pinned */
} IrOutputChunk;

typedef struct
{
  guint chunk; /* 1 + its index; 0: nowhere yet */
  guint64 at;  /* bytes */
} IrOutputPlace;

/* All that is known of one value before a run. */
typedef struct
{
  IrPlace place;
  /* What the first run adds: bind.c, keep.c. */
  IrBinding binding;
  IrKeep keep;
  gboolean spill;    /* is written to a file when it is computed */
  gboolean constant; /* computed from constants alone, and kept for all runs */
  IrWithin within;
  IrOutputPlace slab_place; /* of a kept value, and of what it lies in */
  IrTensor *other;          /* (nullable) (owned) in the other memory of its chunk */
  IrTensor *
      there; /* (nullable) (owned) in the memory of a back end: its data is no address of the host */
} IrPlanValue;

/* Steps that a device is asked for at once, from the second run on: core/exec/run/device-graphs.c. */
typedef struct
{
  guint first, end; /* steps of the schedule */
  gboolean refused; /* the device could not write it down */
  IrMemoryGraph graph;
} IrDeviceGraph;

#define IR_CHAIN_TILE 16384 /* elements that a step of a chain works on at once */

typedef struct _IrParallel IrParallel; /* core/exec/run/parallel.c */
typedef struct _IrTuner IrTuner;       /* core/exec/run/tune.c */

/* Everything that depends on the shapes of the inputs. */
typedef struct
{
  IrModel *model; /* frozen, concrete shapes where inference can tell */
  IrDecisions without;
  const IrPlanExceptions *except; /* (nullable) */
  char *shapes;                   /* key: the inputs' types as text */
  GArray *claimed; /* (nullable) of IrValueId: values whose types are only declared */
  IrSchedule *schedule;
  IrMemPlan *memplan;
  /* What the first run adds, when it is known which values are kept: bind.c. */
  IrRunStep *steps; /* (nullable) one per step of the schedule */
  IrCallInput **readers;
  IrPlaces *places;                     /* (nullable) NULL: all is in the host's memory */
  IrMemoryBlock there, constants_there; /* of values between the nodes, and of constants */
  IrMemoryBlock late_there;             /* of those that are kept, until they are copied */
  IrMemoryBlock stats_there;            /* where the device counts, one value after the other */
  IrMemoryEvent *events;                /* (nullable) of the streams of places */
  IrMemoryEvent *stamps; /* (nullable) likewise: of the beginning, before and behind each step,
                          * and each copy */
  GArray *graphs;      /* (nullable) of IrDeviceGraph; NULL: no run has ended that could use them */
  guint64 kept_bytes;  /* of values that are kept in memory by plan */
  GArray *slab_values; /* of IrValueId: bound to memory that is handed out */
  GArray *chunks;      /* of IrOutputChunk */
  guint64 expected_bytes, taken_bytes; /* of chunks */
  gboolean alternate;                  /* what a run hands out, the next but one fills again */
  guint64 new_bytes;  /* of tensors that were allocated since a run has told of them */
  GArray *views;      /* of guint, steps: views of such values, and of inputs and constants */
  GArray *sources;    /* of IrValueId: values without a producer */
  IrTraceItem *trace; /* one per step, without times */

  guint n_nodes, n_values; /* lengths of the tables below: largest id + 1 */
  IrKernels *kernels;      /* of the schedule */
  gpointer *states;        /* by node id: (nullable) what the back end prepared */
  IrControlFunc control;   /* for nodes without a kernel */
  IrPlanValue *values;
  IrValueId *release;   /* values in the order of their last use */
  guint *release_start; /* by step: first index into release; n_steps + 1 entries */
  gpointer arena;       /* (nullable) plan->peak_bytes, aligned */
  IrHeld held;          /* what holding a budget took */
  IrScratch scratch;    /* of the kernels, one after the other */
  IrPacked *packed;     /* of the kernels, for all plans of the executable */
  /* Of the executable, which frees them: */
  IrTuner *tuner;       /* (nullable) what the first runs are to find out */
  IrParallel *parallel; /* (nullable) for concurrent nodes, where the schedule has some */
} IrPrepared;

/* What a plan is made from. */
typedef struct
{
  IrModel *base;      /* without function calls */
  GHashTable *inputs; /* value id -> IrTensor */
  const IrBackend *backend;
  guint n_threads; /* workers of the schedule */
  IrParallelMode parallel;
  IrDecisions without;
  const IrPlanExceptions *except; /* (nullable) */
  IrPacked *packed;               /* what kernels make of constants */
  IrControlFunc control;          /* for nodes without a kernel */
  const char *budget;             /* (nullable) of the arena: IrRunOptions.budget */
  GCancellable *cancellable;      /* (nullable) polled between nodes and placements */
} IrPreparing;

IrPrepared *ir_prepared_new (const IrPreparing *from, char *shapes, GError **error);
IrModel *ir_plan_hold_budget (const IrPreparing *from, IrHeld *held, GError **error);
void ir_prepared_reschedule (IrPrepared *prepared, IrSchedule *schedule);
void ir_prepared_free (IrPrepared *prepared);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrPrepared, ir_prepared_free)

static inline const IrKernelChoice *
ir_prepared_choice (const IrPrepared *prepared, const IrNode *node)
{
  return &prepared->kernels->rows[node->id];
}

/* Whether the runner itself executes @node. */
static inline gboolean
ir_prepared_is_control (const IrPrepared *prepared, const IrNode *node)
{
  return ir_prepared_choice (prepared, node)->kernel == NULL;
}

/* Whether the value lies in the arena while it is of use. */
static inline gboolean
ir_prepared_in_arena (const IrPrepared *prepared, const IrValue *value)
{
  const IrPlanValue *row = &prepared->values[value->id];

  return row->place.offset != IR_PLACE_EXTERNAL && row->keep == IR_KEEP_NOT;
}

/* -- prepare.c -- */
IrPlanValue *ir_plan_values_new (guint n_values);
IrModel *ir_prepared_bind_shapes (IrModel *base, GHashTable *inputs, GCancellable *cancellable);
IrPrepared *ir_prepared_new_bare (IrModel *frozen, IrSchedule *schedule, GError **error);
gboolean ir_prepared_ready (IrPrepared *prepared, IrNodeId id, GError **error);
void ir_prepared_unready (IrPrepared *prepared, IrNodeId id);

/* -- keep.c -- */
guint64 ir_capture_budget (const IrRunOptions *options);
void ir_capture_plan (IrPrepared *prepared, const IrRunOptions *options);

/* -- keep-ranges.c -- */
void ir_capture_share (IrPrepared *prepared, const guint8 *eligible);
IrValueId ir_capture_root (const IrPrepared *prepared, IrValueId id, guint64 *at);

/* -- output-slab.c -- */
void ir_output_slab_init (IrPrepared *prepared);
guint64 ir_output_slab_needs (const IrPrepared *prepared, const IrValue *value);
IrTensor *ir_output_slab_tensor (IrPrepared *prepared, const IrValue *value, GError **error);
IrTensor *ir_output_slab_constant (const IrPrepared *prepared,
                                   const IrValue *value,
                                   GError **error);
gboolean ir_output_slab_is_pinned (const IrPrepared *prepared, IrValueId id);
gboolean ir_output_slab_renew (IrPrepared *prepared, GError **error);
void ir_output_slab_clear (IrPrepared *prepared);

/* -- bindings.c -- */
gboolean ir_step_is_plain (const IrType *type);
gboolean ir_step_has_type (const IrTensor *tensor, const IrType *type);
gboolean ir_step_is_shape_static (const IrCall *call);
guint64 ir_step_bytes (const IrType *type);
guint64 ir_prepared_kept_bytes (const IrPrepared *prepared, const IrValue *value);
gboolean ir_step_is_view (const IrPrepared *prepared, const IrNode *node);
void ir_steps_tell (const IrPrepared *prepared, IrValueId id, const IrTensor *tensor);
void ir_steps_rebind (IrPrepared *prepared, IrValueId id, IrTensor *tensor);
gboolean ir_steps_holds (const IrPrepared *prepared, IrValueId id, const IrTensor *tensor);

/* -- bind.c -- */
gboolean ir_steps_make (IrPrepared *prepared,
                        const IrRunOptions *options,
                        gsize memory_limit,
                        GCancellable *cancellable,
                        GError **error);
void ir_steps_free (IrPrepared *prepared);

/* -- there.c -- */
gboolean ir_there_is_lost (const IrPrepared *prepared);
gboolean ir_there_make (IrPrepared *prepared, guint64 stats_bytes, GError **error);
gboolean ir_there_bind (IrPrepared *prepared, IrRunStep *step, const IrScheduleItem *item);
void ir_there_clear (IrPrepared *prepared);

/* -- chains.c -- */
void ir_chains_find (IrPrepared *prepared);
