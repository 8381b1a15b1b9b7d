/* One run under way, from its beginning (executable.c) over its nodes (runner.c, steps.c, and flow/
 * for bodies) to what it hands out (capture.c); values.c says what its values hold. */
#pragma once

#include "core/exec/kernel/stats.h"
#include "core/exec/plan/plan.h"
#include "core/exec/run/account.h"
#include "core/exec/run/capture.h"
#include "core/exec/run/flow-log.h"
#include "core/exec/run/iterations.h"
#include "core/exec/run/reuse.h"

/* What control flow tells who looks on. */
typedef struct
{
  IrFlowKind kind;
  const IrNode *node; /* (nullable) of a token: what comes next is in this place */
  const char *frame;  /* of a token: its frame, with those around; %NULL: @node owns a body */
  const char *name;   /* of a token: of the frame alone */
  gint64 iteration;
  gint slot;
  guint in_flight;     /* of a token: an iteration begins, and so many are alive with it; else 0 */
  IrNodeId loop;       /* likewise: LoopCond of its frame */
  const IrNode *owner; /* of a token: who runs them */
} IrFlowTell;

/* Who looks on while a graph runs, and may end the run with an error. All functions are nullable. Of nodes in bodies @step is
 * %NULL; steps of a span are seen by the threads that run them, one that others wait for before
 * they go on. */
struct _IrObserver
{
  gboolean (*begin) (IrObserver *observer, IrRunState *state, GError **error);
  gboolean (*before) (IrObserver *observer,
                      IrRunState *state,
                      const IrNode *node,
                      const IrRunStep *step,
                      GError **error);
  gboolean (*after) (IrObserver *observer,
                     IrRunState *state,
                     const IrNode *node,
                     const IrRunStep *step,
                     GError **error);
  gboolean (*end) (IrObserver *observer, IrRunState *state, GError **error);
  void (*flow) (IrObserver *observer, const IrFlowTell *tell);
  /* In a run again: what lies there, of IrFlowToken, before what is asked for begins */
  void (*stand) (IrObserver *observer, const GArray *tokens);
  guint64 n_events; /* so far, if it counts them: checkpoints remember it */
};

typedef struct _IrClaims IrClaims;     /* claims.c */
typedef struct _IrBodyCall IrBodyCall; /* body-calls.c */

/* Who may touch what a run hands out, where somebody may leave it (detached.c). */
typedef enum
{
  IR_TURN_RUN,    /* the run, between kernels */
  IR_TURN_KERNEL, /* nobody: a kernel works on what is not handed out */
  IR_TURN_TELL,   /* the run tells how far it is */
  IR_TURN_TAKE,   /* who leaves it takes what nodes have given that had ended */
  IR_TURN_LEFT    /* nobody ever: the run has to end */
} IrTurn;

/* One run under way. */
struct _IrRunState
{
  const IrRunOptions *options;
  IrObserver *observer; /* (nullable) */
  IrPrepared *prepared;
  IrThreads threads;
  GCancellable *cancellable; /* (nullable) */
  IrWatch watch;
  IrRun *run;
  IrTensor **tensors; /* by value id: what lives now; of bindings without a reference */
  guint8 *ran;        /* by node id: has run at least once */
  IrAccount *account;
  IrClaims *claims; /* (nullable) */
  IrReuse *reuse;   /* (nullable) what an earlier run has kept */
  guint64 live_bytes, peak_bytes, kept_bytes;
  guint64 placed_bytes;            /* of bound values in the arena, besides live_bytes */
  gboolean diverged;               /* shapes are not what inference said: bindings hold no longer */
  struct _IrPlanCheck *plan_check; /* (nullable) of the run; what is left behind keeps it */
  gboolean by_ref;     /* the kernel of the last node has left it to the reference kernel */
  gboolean concurrent; /* several threads are at work: parallel.c */
  guint64 arena_bytes; /* how far values have reached into the arena */
  guint64
      allocated_bytes; /* of memory that nodes without a bound call were given beside the plan's */
  gsize memory_limit, output_limit, capture_budget;
  gint64 start_ns, shown_ns;  /* the second: when it was last shown, from the start */
  gint64 device_begin_ns;     /* from the start of the run: where the clock of a device begins */
  guint64 n_iterations;       /* of all loops so far */
  guint depth;                /* of control flow */
  guint nesting;              /* of that, what lies on the stack of the program */
  const IrFrameAt *frame;     /* (nullable) the innermost loop that it is in */
  const IrResume *resume;     /* (nullable) it is run again for one iteration */
  gboolean is_on_way;         /* likewise: it has not come to those of which statistics are wanted */
  IrBodyCall **body_calls;    /* (nullable) by node id */
  GHashTable *token_programs; /* (nullable) of flow/token-graph.c: graph -> what is known of it */
  struct _IrCalls *calls;     /* (nullable) of flow/call.c */
  GDestroyNotify free_calls;  /* likewise */
  GHashTable *draws;          /* (nullable) node id -> how often a random node has run */
  gint *turn;                 /* (nullable) atomic: IrTurn */
  guint n_done;               /* steps of the schedule */
  guint n_copied;             /* copies of the plan that were made, or were not needed */
  GArray *late;               /* (nullable) of late-copies.c: those that nobody waits for */
  gboolean late_pending;      /* some of them may not have ended */
  const IrNode *node;         /* (nullable) of the step under way */
  gint64 step_ns;             /* when that began, from the start */
};

/* Memory that was allocated: a run that is left tells of it while its last kernel may still ask for
 * some. */
static inline void
ir_run_count_bytes (guint64 *counter, gsize bytes)
{
  __atomic_fetch_add (counter, bytes, __ATOMIC_RELAXED);
}

static inline guint64
ir_run_take_bytes (guint64 *counter)
{
  return __atomic_exchange_n (counter, 0, __ATOMIC_RELAXED);
}

/* What each observer is told of; @self: (nullable) */
static inline gboolean
ir_observer_begin (IrObserver *self, IrRunState *state, GError **error)
{
  return self == NULL || self->begin == NULL || self->begin (self, state, error);
}

static inline gboolean
ir_observer_before (
    IrObserver *self, IrRunState *state, const IrNode *node, const IrRunStep *step, GError **error)
{
  return self == NULL || self->before == NULL || self->before (self, state, node, step, error);
}

static inline gboolean
ir_observer_after (
    IrObserver *self, IrRunState *state, const IrNode *node, const IrRunStep *step, GError **error)
{
  return self == NULL || self->after == NULL || self->after (self, state, node, step, error);
}

static inline gboolean
ir_observer_end (IrObserver *self, IrRunState *state, GError **error)
{
  return self == NULL || self->end == NULL || self->end (self, state, error);
}

static inline gboolean
ir_run_before (IrRunState *state, const IrNode *node, const IrRunStep *step, GError **error)
{
  return ir_observer_before (state->observer, state, node, step, error);
}

static inline gboolean
ir_run_after (IrRunState *state, const IrNode *node, const IrRunStep *step, GError **error)
{
  return ir_observer_after (state->observer, state, node, step, error);
}

/* What calls of closures have kept */
static inline void
ir_run_free_calls (IrRunState *state)
{
  if (state->calls != NULL)
    state->free_calls (state->calls);
  state->calls = NULL;
}

/* Of a node that owns a body */
static inline void
ir_run_tell_flow (
    IrRunState *state, IrFlowKind kind, const IrNode *node, gint64 iteration, gint slot)
{
  if (state->observer != NULL && state->observer->flow != NULL)
    state->observer->flow (state->observer,
                           &(IrFlowTell){ kind, node, NULL, NULL, iteration, slot, 0 });
}

/* For what no node is the reason of: nothing but whether the run is to stop. */
static inline IrCall
ir_run_call (IrRunState *state)
{
  return (IrCall){ .cancellable = state->cancellable, .watch = &state->watch };
}

/* -- run.c -- */
IrRun *ir_run_new (const IrPrepared *prepared,
                   const IrRunOptions *options,
                   GArray *missing,
                   GHashTable *inputs);
IrRun *ir_run_state_snapshot (IrRunState *state, guint n_steps);

/* -- detached.c -- */
gboolean ir_run_kernel (IrRunState *state, IrKernelFunc kernel, IrCall *call, GError **error);
gboolean ir_run_begin_kernel (IrRunState *state, GError **error);
gboolean ir_run_end_kernel (IrRunState *state, GError **error);
void ir_run_tell (IrRunState *state, guint done, guint total, const IrNode *node);

void ir_run_enter_call (IrRunState *state, IrCall *call, IrThreads threads, IrScratch *scratch);
gboolean ir_run_graph (IrRunState *state, const IrGraph *graph, GError **error);
gboolean ir_run_schedule (IrRunState *state, GError **error);
gint64 ir_run_now_ns (void);
gint64 ir_run_elapsed_ns (const IrRunState *state);
gboolean ir_run_check_use (IrRunState *state, const IrNode *node, GError **error);
gboolean ir_run_check (IrRunState *state, const IrNode *node, GError **error);
gboolean ir_run_count_iteration (
    IrRunState *state, const IrNode *node, guint64 n_before, const char *condition, GError **error);
gboolean ir_run_count_call (IrRunState *state, const IrNode *node, GError **error);
gboolean ir_run_node (IrRunState *state, const IrNode *node, GError **error);
void ir_run_keep (IrRun *run, IrValueId id, IrTensor *tensor);
void ir_run_adopt (IrRunState *state, guint n_steps);
void ir_run_end (IrRunState *state);
void ir_run_capture (IrRunState *state, const IrValue *value, IrTensor *tensor);
gboolean ir_capture_comes_with_whole (const IrPrepared *prepared, IrValueId id);
gboolean ir_run_wants_contents (const IrRunState *state, const IrValue *value);

/* -- runner.c -- */
IrTensor *ir_run_give_memory (IrRunState *state,
                              IrCall *call,
                              guint output,
                              IrDtype dtype,
                              guint rank,
                              const gint64 *dims,
                              GError **error);

/* -- body-calls.c -- */
void ir_body_calls_free (IrBodyCall **calls, guint n_nodes);
void ir_body_call_make (IrRunState *state, const IrNode *node);
IrBodyCall *ir_body_call_fits (IrRunState *state, const IrNode *node);
gboolean ir_body_call_run (IrBodyCall *self, gsize left, gboolean *by_ref, GError **error);

/* -- executable.c -- */
void ir_executable_set_seed (IrExecutable *executable, guint64 seed); /* of the runs from now on */
IrRun *ir_executable_run_observed (IrExecutable *executable,
                                   GHashTable *inputs,
                                   IrObserver *observer,
                                   GCancellable *cancellable,
                                   IrRun **partial,
                                   GError **error);

/* -- steps.c -- */
void ir_steps_forget_views (IrPrepared *prepared);
gboolean ir_steps_begin (IrRunState *state, GHashTable *inputs, GError **error);
gboolean ir_step_run (IrRunState *state, IrRunStep *step, guint index, GError **error);
gboolean ir_step_compute (
    IrRunState *state, IrRunStep *step, IrThreads threads, IrScratch *scratch, GError **error);
void ir_step_finish (IrRunState *state, IrRunStep *step);
void ir_steps_feed (IrRunState *state, const IrValue *value, IrTensor *tensor);

gboolean ir_steps_may_place (const IrPrepared *prepared, const IrCall *call);
gboolean ir_steps_may_block (const IrPrepared *prepared, const IrCall *call);
/* -- run/values.c -- */
IrTensor *ir_run_state_tensor (IrRunState *state, const IrValue *value);
gboolean ir_run_state_lies_there (const IrRunState *state, const IrValue *value);
IrTensor *ir_run_state_plain (const IrRunState *state,
                              const IrValue *value,
                              const IrTensor *tensor,
                              GError **error);
IrTensor *ir_run_layout_for_kernels (const IrSchedule *schedule,
                                     const IrValue *value,
                                     IrTensor *tensor,
                                     GError **error);
void ir_run_state_set (IrRunState *state, const IrValue *value, IrTensor *tensor);
gboolean ir_run_state_publish (IrRunState *state,
                               const IrValue *value,
                               IrTensor *tensor,
                               GError **error);
void ir_run_state_drop (IrRunState *state, const IrValue *value);
IrTensor *ir_run_state_take (IrRunState *state, const IrValue *value);
void ir_run_state_accept (IrRunState *state, const IrValue *value, IrTensor **tensor);
IrTensor *ir_run_state_hand_out (IrRunState *state, const IrValue *value);
void ir_run_state_uncount (IrRunState *state, const IrTensor *tensor);
void ir_run_state_refill (IrRunState *state, const IrValue *value, IrTensor *tensor);
IrTensor *ir_run_state_lasting (const IrRunState *state, IrTensor *tensor, GError **error);

/* -- copies.c -- */
gboolean ir_streams_enter (IrRunState *state, guint step, GError **error);
gboolean ir_streams_leave (IrRunState *state, guint step, GError **error);
gboolean ir_streams_finish (IrRunState *state, GError **error);
gboolean ir_copies_run (IrRunState *state, guint step, gboolean behind, GError **error);
gboolean ir_copies_observe (IrRunState *state, const IrRunStep *step, GError **error);
IrTensor *ir_copies_fetch (IrRunState *state, const IrValue *value, GError **error);
gboolean ir_copies_give (IrRunState *state,
                         const IrValue *value,
                         const IrTensor *tensor,
                         GError **error);

guint ir_copies_note (
    IrRunState *state, IrValueId value, gboolean to_host, guint64 bytes, gint64 start_ns);

/* -- device-stats.c -- */
gboolean ir_device_stats (IrRunState *state,
                          const IrValue *value,
                          guint n_bins,
                          IrTensorStats *stats,
                          gboolean *counted,
                          GError **error);
gboolean ir_device_stats_keep (IrRunState *state,
                               const IrValue *value,
                               gboolean *counted,
                               GError **error);
gboolean ir_device_stats_now (IrRunState *state,
                              const IrValue *value,
                              IrTensorStats *stats,
                              gboolean *counted,
                              GError **error);

/* -- device-graphs.c -- */
void ir_device_graphs_allow (IrRunState *state);
IrDeviceGraph *ir_device_graphs_at (const IrRunState *state, guint step);
gboolean ir_device_graphs_run (IrRunState *state,
                               IrDeviceGraph *graph,
                               gboolean *asked,
                               GError **error);

/* -- late-copies.c -- */
gboolean ir_late_copies_take (IrRunState *state, guint index, gboolean *taken, GError **error);
gboolean ir_late_copies_ask (IrRunState *state, guint step, GError **error);
gboolean ir_late_copies_settle (IrRunState *state, GError **error);
void ir_late_copies_forget (const IrRunState *state, IrRun *run);
gboolean ir_late_copies_read (const IrRunState *state, GError **error);

/* -- device-clock.c -- */
gboolean ir_device_clock_begin (IrRunState *state, GError **error);
gboolean ir_device_clock_note (IrRunState *state,
                               const IrRunStep *step,
                               gboolean behind,
                               GError **error);
gboolean ir_device_clock_read (const IrRunState *state, GArray *items, GError **error);

/* -- flow/subgraph.c, handed down when a plan is made -- */
gboolean ir_subgraph_run (IrRunState *state, const IrNode *node, GError **error);
