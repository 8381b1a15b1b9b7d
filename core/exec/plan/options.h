/* What a run is asked for. */
#pragma once

#include "core/exec/schedule/schedule.h"
#include "core/ir/worker.h"

typedef enum
{
  IR_CAPTURE_NONE,
  IR_CAPTURE_ALL,
  IR_CAPTURE_STATS,
  IR_CAPTURE_CHOSEN,
  IR_CAPTURE_CHECKPOINTS /* so many that each other one is soon computed again */
} IrCaptureKind;

/* A loop without end stops within seconds; real ones run thousands of times. */
#define IR_RUN_DEFAULT_ITERATIONS 1000000
/* What nobody waits for ends by itself: an hour. */
#define IR_RUN_DEFAULT_TIME_MS 3600000

/* The limits of IrRunOptions alone, for what runs in other ways; 0: as there. */
typedef struct
{
  gsize memory_limit, output_limit;
  guint64 iteration_limit;
  guint time_limit_ms;
} IrRunLimits;

/* What a plan decides by itself. Without any of it the results are the same, but for rounding. */
typedef enum
{
  IR_DECISION_BLOCKS = 1 << 0,  /* values in NCHWc */
  IR_DECISION_SHARING = 1 << 1, /* values that share bytes: over an input, views, parts in wholes */
  IR_DECISION_CHAINS = 1 << 2,  /* chains of nodes element by element that run tile by tile */
  IR_DECISION_SPANS = 1 << 3,   /* nodes that run concurrently */
  IR_DECISION_PREPACK = 1 << 4  /* constants kept in the order in which their kernel reads them */
} IrDecisions;
#define IR_N_DECISIONS  5
#define IR_DECISION_ALL ((IrDecisions) ((1 << IR_N_DECISIONS) - 1))
gboolean ir_decisions_parse (const char *text, IrDecisions *decisions_, GError **error);
const char *ir_decision_name (guint index);
const char *ir_decision_doc (guint index);

/* Values for which a plan is not to take some decisions, so that it is found out where they matter:
 * those that would be in blocks, lie in others or be computed tile by tile, or that the first node of
 * a span gives. Constants are prepacked all or not at all. */
typedef struct
{
  IrDecisions decisions;
  const guint8 *values; /* by value id: not 0: without them */
  guint n_values;       /* its length */
} IrPlanExceptions;
gboolean ir_plan_is_excepted (const IrPlanExceptions *except, /* (nullable) */
                              IrDecisions decision,
                              IrValueId value);

/* What is checked while a run follows its plan. */
typedef enum
{
  IR_RUN_CHECK_PLAN = 1 << 0, /* at every node, what lies there is what its kernel declares */
  IR_RUN_CHECK_REF = 1
                     << 1 /* at every node, what ref makes of its inputs: core/exec/check/check.h */
} IrRunChecks;
#define IR_N_RUN_CHECKS 2
gboolean ir_run_checks_parse (const char *text, IrRunChecks *checks_, GError **error);

/* Of which iterations of loops a run keeps what it captures, beside the last round of each value. */
typedef enum
{
  IR_ITERATIONS_NONE,
  IR_ITERATIONS_RANGE,       /* from @first to @last */
  IR_ITERATIONS_PAIR,        /* @first and @last */
  IR_ITERATIONS_EVERY,       /* 0, @first, 2 @first ... */
  IR_ITERATIONS_LAST,        /* the last @first rounds of each value */
  IR_ITERATIONS_CHECKPOINTS, /* none of them: each comes back by running a few again */
  IR_ITERATIONS_SERIES,      /* statistics of all, and no contents */
  IR_ITERATIONS_OVERVIEW, /* likewise, of several at once where they are too many, and checkpoints */
  IR_ITERATIONS_ONE,      /* @first of @frame */
  IR_ITERATIONS_NAMED     /* what @names says, value by value */
} IrIterationsKind;

/* A value in one iteration, or in all of a loop. */
typedef struct
{
  IrValueId value;
  char *frame;      /* (owned) "outer@3/inner"; * for any iteration of what is around */
  gint64 iteration; /* -1: all */
} IrIterationPick;
GArray *ir_iteration_picks_new (void); /* of IrIterationPick */
typedef struct
{
  IrIterationsKind kind;
  gint64 first, last;
  const char *frame; /* (nullable) "outer@3/inner"; lives as long as the options */
  GArray *names;     /* (nullable) of IrIterationPick; likewise */
} IrIterations;
gboolean ir_iterations_parse (const char *text, IrIterations *iterations, GError **error);

typedef struct
{
  const IrBackend *backend; /* NULL: cpu */
  guint n_threads;          /* 0: number of cores */
  IrParallelMode parallel;
  IrCaptureKind capture;
  GArray *chosen;          /* (nullable) of IrValueId, for IR_CAPTURE_CHOSEN */
  IrIterations iterations; /* of what is captured */
  gsize capture_budget;    /* bytes of captured values in memory, the others go to a file; 0: a
                            * quarter of memory, and no more than half of memory_limit */
  gsize spill_limit;       /* bytes of that file; 0: what the folder for temporary files has */
  gsize memory_limit;      /* bytes; 0: a quarter of memory */
  gsize output_limit;      /* bytes of one value; 0: 1/4 of memory */
  /* (nullable) Most bytes of the arena, by ir_size_parse(), of what it has without: values are dropped
   * and computed again to hold it. Nodes then run one after the other. */
  const char *budget;
  guint64 iteration_limit; /* of all loops of a run together; 0: IR_RUN_DEFAULT_ITERATIONS */
  guint time_limit_ms;     /* of a run, polled as often as cancelling is; 0:
                              IR_RUN_DEFAULT_TIME_MS, G_MAXUINT: none */
  gboolean partial;        /* nodes that cannot run, and what waits for them, are left out of the
                              run; otherwise the first of them is an error */
  gboolean untimed; /* a device is not asked how long its nodes take, which takes time itself */
  gboolean deterministic;         /* the same bits at any number of threads, for some speed */
  IrDecisions without;            /* that plans are not to take */
  const IrPlanExceptions *except; /* (nullable) and for which values; lives as long as the plans */
  IrRunChecks checks;
  /* (nullable) Who stops it, and says how it goes on: core/exec/run/control.h. Then no chains are made
   * and no nodes run concurrently. */
  struct _IrRunControl *control;
  /* (nullable) An earlier run, of any graph: nodes that compute what one of it did are not run, and give what
   * it has kept, where the bits are the same; run/reuse.h. Only where both are not parallel, without a GPU and
   * not checked. Lives as long as the executable. */
  struct _IrRun *before;
  gboolean reuse_all; /* also where nothing has changed; else such a run runs everything */
  gboolean alternate; /* a run is given what the one before it has handed out, so that two
                              memories take turns and none is allocated */
  guint64 seed;       /* of random operators that have no seed of their own; runs with it agree */
  void (*progress) (guint done, guint total, const IrNode *node, gpointer data);
  /* (nullable) Given a copy of what the run has by now (transfer full), between nodes of the main graph, by the
   * thread of the run; the next one show_ms later at the earliest. */
  void (*show) (struct _IrRun *so_far, gpointer data);
  guint show_ms;
  gpointer progress_data; /* of both */
  /* (nullable) of runs that may be left: whose thread runs them; each executable has its own. */
  IrWorker *worker;
  /* (nullable) told, with progress_data, when a run waits for one that was left there to end */
  void (*waiting) (gpointer data);
} IrRunOptions;
/* What holding a budget took. */
typedef struct
{
  guint64 budget_bytes, plain_bytes; /* 0: there was none; of the arena without */
  guint64 flops, extra_flops;
  guint n_again; /* nodes that run again */
} IrHeld;
#define IR_BUDGET_ERROR (ir_budget_error_quark ())
GQuark ir_budget_error_quark (void);
typedef struct
{
  guint64 budget_bytes, plain_bytes, least_bytes; /* asked for; without a budget; found at least */
  char *least_at; /* (owned) (nullable) the node that reaches these, as messages call it */
} IrBudgetRefusal;
const IrBudgetRefusal *ir_budget_refusal (const GError *error);
void ir_run_options_limit (IrRunOptions *options, const IrRunLimits *limits);
/* When what begins now has to end, for g_get_monotonic_time(); 0: never. */
gint64 ir_run_limits_deadline (const IrRunLimits *limits);
