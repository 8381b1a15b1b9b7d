/* The recorder of events, for what it is made of: the log of a run (flow-log.c), and parts of it that are played again
 * (flow-part.c). */
#pragma once

#include "core/exec/run/state.h"

#define MAX_OUTSIDE 100000 /* 5 MB; a graph has fewer, but if closures call each other */

typedef struct
{
  const char *path, *name; /* interned: of the innermost loop, with those around and without */
  gint64 iteration;
} IrFlowPlace;

/* A loop in no other begins, or a graph that tokens move through, which is called "". */
typedef struct
{
  IrNodeId loop;    /* of a frame of tokens its LoopCond */
  const char *name; /* interned */
  guint64 index;
} IrFlowStart;

struct _IrFlowLog
{
  IrObserver observer; /* first: it is all that the runner knows */
  gatomicrefcount ref_count;
  IrFlowFilter filter;
  const char *loop;     /* (nullable) (owned) */
  IrModel *source;      /* (nullable) (owned) that was given */
  IrModel *model;       /* (nullable) (owned) that runs: with parts of it made of other nodes */
  IrRun *run;           /* (nullable) (owned) that was told of; to its end, or to an error */
  GHashTable *paths;    /* set of (owned) char * */
  GArray *places;       /* of IrFlowPlace: the root, and one for each body under way */
  GArray *events;       /* of IrFlowEvent */
  GArray *frames;       /* of IrFlowFrame */
  GArray *ends;         /* of IrFlowEnd: as far as events are kept */
  GHashTable *frame_of; /* name -> index + 1 in @frames */
  IrFlowCount *counts;  /* (nullable) by node id */
  GArray *outside;      /* of IrFlowEvent: those in no loop, kept or not, up to MAX_OUTSIDE */
  GArray *starts;       /* of IrFlowStart: likewise */
  /* of a part */
  IrFlowLog *whole;      /* (nullable) (owned) */
  IrNodeId part_of;      /* the loop */
  const char *part_name; /* (owned by @whole) its name */
  IrNodeId owner;        /* of tokens: the node that runs them; 0: a loop with a body */
  GArray *tokens; /* (nullable) of IrFlowToken: likewise, that lay there before the first event */
  gint64 from;    /* its iteration of the checkpoint */
  gint64 first, last;        /* its iterations, of which events are kept */
  guint max_events;          /* likewise */
  gboolean is_deaf;          /* it has not begun, or the loop was left */
  gboolean was_left;         /* the latter */
  GArray *before;            /* of IrFlowEvent: of what led to it, outside of loops */
  IrIterationValues *values; /* (nullable) (owned) */
};

const char *ir_flow_log_intern (IrFlowLog *log, char *path); /* (transfer full) @path */
void ir_flow_log_push (IrFlowLog *log, const char *path, const char *name, gint64 iteration);
/* -- flow-part.c -- */
gboolean ir_flow_part_hears (IrFlowLog *part, const IrFlowTell *tell);
void ir_flow_part_stand (IrFlowLog *part, const GArray *tokens); /* of IrFlowToken */
