/* What happens in the control flow of a run, event by event: which node ran in which iteration of which
 * frame, which tokens were dead, which branch was called. One stream for the operators that move tokens
 * (irscope.flow) and for If, Loop, Scan and SequenceMap. A run that is told of goes node by node on one
 * thread, so the same graph and inputs give the same events. */
#pragma once

#include "core/exec/run/iterations.h"

typedef enum
{
  IR_FLOW_FIRED,    /* a node ran; of a Switch slot says which output is live */
  IR_FLOW_DEAD,     /* an input is dead, so it did not run */
  IR_FLOW_ENTERED,  /* a frame, or a body: its iteration 0 begins */
  IR_FLOW_MERGED,   /* slot is the input that was live */
  IR_FLOW_NEXT,     /* on to an iteration, which is the event's */
  IR_FLOW_DEFERRED, /* a token waits, as too many iterations are in flight */
  IR_FLOW_EXITED,   /* a value left its frame, or a body has ended behind this iteration */
  IR_FLOW_CALLED,   /* a branch; slot 1: then, 0: else; -1: a closure */
  IR_FLOW_RETURNED,
  IR_N_FLOW_KINDS
} IrFlowKind;
const char *ir_flow_kind_name (IrFlowKind kind);

typedef struct
{
  guint64 index; /* in the whole run, from 0 */
  IrFlowKind kind;
  IrNodeId node;     /* of the model that ran: ir_flow_log_model() */
  const char *frame; /* interned: "" outside, "outer@3/inner": in iteration 3 of outer */
  const char *loop;  /* interned: the innermost of these by itself; names may have / in them */
  gint64 iteration;  /* of @frame; 0 outside */
  gint slot;         /* -1: says nothing */
} IrFlowEvent;

/* Of one frame, in all places where it was entered. */
typedef struct
{
  const char *name; /* interned */
  guint64 n_entered, n_iterations;
  guint most_in_flight;
} IrFlowFrame;

typedef struct
{
  guint64 fired, dead;
} IrFlowCount;

/* A frame of tokens is over before the event @index, where an inner one of that name may begin. */
typedef struct
{
  guint64 index;
  const char *frame; /* interned: "outer@3/inner" */
} IrFlowEnd;

typedef enum
{
  IR_TOKEN_LIVE,
  IR_TOKEN_DEAD,
  IR_TOKEN_WAITS, /* at a NextIteration, as too many iterations are in flight */
  IR_TOKEN_TAKEN  /* none: the reader has run; where it is a Merge, what comes later has lost */
} IrTokenState;

/* It lies on the edge from what gave @value to @reader. */
typedef struct
{
  IrValueId value;
  IrNodeId reader; /* 0: it is an output of its graph */
  IrTokenState state;
  gboolean stays;    /* constant in its frame: it is there in each iteration */
  const char *frame; /* "" outside */
  gint64 iteration;
} IrFlowToken;

/* Which events are kept; all are counted. */
typedef struct
{
  guint64 from, to; /* by index, @to not included */
  const char *
      loop; /* (nullable) only in frames of this name, or in "outer@1/inner", where * is any iteration */
  gint64 iteration; /* only in this iteration of the innermost frame; -1: in all */
  guint last;       /* of those so many at the end; 0: all */
} IrFlowFilter;

typedef struct _IrFlowLog IrFlowLog;

IrFlowLog *ir_flow_log_new (const IrFlowFilter *filter);
IrFlowLog *ir_flow_log_ref (IrFlowLog *log);
void ir_flow_log_unref (IrFlowLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrFlowLog, ir_flow_log_unref)
IrRun *ir_flow_log_run (IrFlowLog *log,
                        IrModel *model,
                        GHashTable *inputs,
                        const IrRunOptions *options,
                        GCancellable *cancellable,
                        GError **error);
const GArray *ir_flow_log_events (const IrFlowLog *log); /* of IrFlowEvent */
guint64 ir_flow_log_n_events (const IrFlowLog *log);     /* kept or not */
const GArray *ir_flow_log_frames (const IrFlowLog *log); /* of IrFlowFrame, as they were entered */
const GArray *ir_flow_log_ends (const IrFlowLog *log);   /* of IrFlowEnd, in order */
const IrFlowCount *ir_flow_log_counts (const IrFlowLog *log, IrNodeId node); /* (nullable) */
const IrModel *ir_flow_log_model (const IrFlowLog *log);  /* (nullable) before a run */
const IrModel *ir_flow_log_source (const IrFlowLog *log); /* (nullable) likewise: as it was given */
IrRun *ir_flow_log_get_run (const IrFlowLog *log);        /* (transfer none) (nullable) */
/* (nullable) of IrSeriesPoint */
const GArray *ir_flow_log_series (const IrFlowLog *log, IrValueId value);

/* -- parts: some iterations of a loop, played again from a checkpoint of the run -- */
IrNodeId ir_flow_log_outer_loop (const IrFlowLog *log, const char *name);
IrFlowLog *ir_flow_log_whole (IrFlowLog *log);
/* (nullable) of IrSeriesPoint */
const GArray *ir_flow_log_part_series (const IrFlowLog *log, IrValueId value);
const GArray *ir_flow_log_before (const IrFlowLog *log);       /* of IrFlowEvent */
const GArray *ir_flow_log_tokens (const IrFlowLog *log);       /* (nullable) of IrFlowToken */
const IrGraph *ir_flow_log_token_graph (const IrFlowLog *log); /* (nullable) */
gint64 ir_flow_log_first_round (const IrFlowLog *log, const char *loop);
const char *ir_flow_log_loop_name (const IrFlowLog *log, IrNodeId loop);
gboolean ir_flow_log_moves_tokens (const IrFlowLog *log, IrNodeId loop);
gboolean ir_flow_log_rounds (const IrFlowLog *log, IrNodeId loop, gint64 *first, gint64 *last);
gboolean ir_flow_log_has_round (const IrFlowLog *log, IrNodeId loop, gint64 iteration);
IrFlowLog *ir_flow_log_replay (IrFlowLog *log, /* core/exec/replay/part.c */
                               IrNodeId loop,
                               gint64 first,
                               gint64 last,
                               guint max_events,
                               GCancellable *cancellable,
                               GError **error);
/* For who plays it: */
IrFlowLog *ir_flow_log_new_part (IrFlowLog *whole,
                                 IrNodeId loop,
                                 const IrCheckpoint *from,
                                 gint64 first,
                                 gint64 last,
                                 guint max_events);
IrObserver *ir_flow_log_observer (IrFlowLog *log);
void ir_flow_log_end_part (IrFlowLog *part, IrIterationValues *values);
