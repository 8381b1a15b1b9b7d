/* Run control: a run that stops where it is told to, tells where it stands and waits to be told how to
 * go on. It is an observer of the run, so that runs, rounds of loops and steps of training are all
 * driven by it (IrRunOptions.control). Such a run goes node by node, without chains and spans, and gives
 * the bits of a run that is not parallel. */
#pragma once

#include "core/exec/run/breakpoint.h"
#include "core/exec/run/run.h"

typedef struct _IrRunControl IrRunControl;

/* How a run goes on. */
typedef enum
{
  IR_RUN_CONTINUE, /* to the next breakpoint */
  IR_RUN_STEP,     /* to the next node, into bodies */
  IR_RUN_OVER,     /* to the next node that is in no body of this one */
  IR_RUN_ROUND,    /* to where the innermost body begins again, or is left */
  IR_RUN_TO,       /* until @node has run */
  IR_RUN_STOP      /* no further: the run ends with %IR_EXEC_ERROR_STOPPED */
} IrRunMove;

typedef struct
{
  IrRunMove move;
  IrNodeId node; /* of IR_RUN_TO */
  const char *
      frame; /* (nullable) likewise: in this one alone, "outer@3/inner" with * for any; lives as long as the
                        control */
  gint64 iteration; /* with it: -1: the next */
} IrRunCommand;

typedef enum
{
  IR_RUN_STOPPED_BY_MOVE,
  IR_RUN_STOPPED_BY_PAUSE,
  IR_RUN_STOPPED_BY_BREAK
} IrRunStopKind;

/* Where a run stands while it waits. */
typedef struct
{
  IrRunStopKind kind;
  const IrModel *model; /* that runs */
  const IrNode *node;   /* (nullable) the graph has not begun: an input is what it is about */
  gboolean after;       /* @node has run; else it is next */
  guint64 round;        /* how often @node has run with this time; more than 1 in bodies */
  guint depth;          /* of bodies */
  char *place;          /* (nullable) "outer@1/inner@3/": the loops that it is in */
  guint done, total;    /* nodes of the main graph */
  guint64 live_bytes;   /* that values hold */
  IrRunBreak *hit;      /* (nullable) */
  const IrValue *value; /* (nullable) of which @hit holds */
  IrRunFinding finding; /* of @hit */
  char *
      came_in; /* (nullable) names of inputs of @node of which @hit holds, too, and that are still there */
} IrRunStop;
char *ir_run_stop_text (const IrRunStop *stop);

/* What a control is made with. Both functions are called by the thread that runs. */
typedef struct
{
  /* The run stands; ir_run_control_go() says how it goes on, from here or from any thread. */
  void (*stopped) (IrRunControl *control, const IrRunStop *stop, gpointer data);
  /* (nullable) A node has run. */
  void (*ran) (IrRunControl *control, const IrNode *node, gpointer data);
  gpointer data;
  IrRunCommand first; /* how it begins */
} IrRunControlSetup;

IrRunControl *ir_run_control_new (const IrRunControlSetup *setup);
void ir_run_control_free (IrRunControl *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrRunControl, ir_run_control_free)
void ir_run_control_begin_by (IrRunControl *self, IrRunCommand first);
void ir_run_control_set_breaks (IrRunControl *self, GPtrArray *breaks);
void ir_run_control_set_divergences (IrRunControl *self, GHashTable *divergences);
void ir_run_control_go (IrRunControl *self, IrRunCommand command);
void ir_run_control_pause (IrRunControl *self);
/* -- while it stands, or in @ran -- */
IrTensor *ir_run_control_value (IrRunControl *self, const IrValue *value, GError **error);
IrRun *ir_run_control_snapshot (IrRunControl *self);

/* -- watchpoints: breakpoints that are judged on what a run has kept -- */
typedef struct
{
  const IrRunBreak *by; /* of the list that was judged */
  IrValueId value;
  IrNodeId node; /* 0: an input */
  IrTensorStats stats;
  IrRunFinding finding;
} IrRunHit;
GArray *ir_run_judge (IrRun *run, const GPtrArray *breaks, GCancellable *cancellable);

/* -- for the runner, and for who judges by reference kernels -- */
struct _IrObserver *ir_run_control_observer (IrRunControl *self);
/* Another that looks on, before @self does; @found: (nullable): what it says of a node that has just run,
 * (transfer full) (nullable) */
void ir_run_control_watch (IrRunControl *self,
                           struct _IrObserver *other,
                           char *(*found) (struct _IrObserver *other, const IrNode *node));
struct _IrObserver *ir_run_control_watcher (IrRunControl *self); /* (nullable) */
