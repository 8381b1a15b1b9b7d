/* Orders of a graph's nodes on workers and streams: pure functions from tasks, how long each takes
 * and resources to places in time. Tasks know nothing of graphs, so that tests and other plans can
 * make their own; ir_schedule_new_with() makes them of a model. */
#pragma once

#include "core/exec/schedule/schedule.h"

/* Name of the process in a trace to which runs that warmed up belong. */
#define IR_TRACE_WARMUP "warm-up"

/* What the machine can do at most: core/exec/measure/roofline.h measures it. */
typedef struct
{
  double gflops, gbps; /* billions of operations, and of bytes moved, per second */
  guint n_threads;
} IrRoofline;

/* -- tasks that wait for each other -- */
typedef struct
{
  guint n;
  double *ms;           /* by task: how long it takes; finite, at least 0 */
  guint *before_first;  /* n + 1: where the predecessors of a task begin in before */
  guint *before;        /* ascending; each is below the task that waits for it */
  guint *after_first;   /* n + 1: where the successors of a task begin in after */
  guint *after;         /* ascending */
  guint *kin;           /* by task: those of one number other than 0 can run as one kernel */
  double kin_saving_ms; /* that one kernel saves for each task that it takes beside the first */
  /* (nullable) By task: how long it takes when it runs alone, on the threads of all workers; ms is
   * on the thread of one worker then. Stages choose between the two. */
  double *wide_ms;
  double fork_ms; /* what a stage takes beside its tasks where it has several groups */
} IrTasks;
typedef struct
{
  guint from, to;
} IrTaskEdge;
IrTasks *ir_tasks_new (guint n, const double *ms, const IrTaskEdge *edges, guint n_edges);
void ir_tasks_free (IrTasks *tasks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTasks, ir_tasks_free)

typedef struct
{
  guint worker;
  guint stage; /* number of its stage; 0 where there are none */
  double start_ms, end_ms;
  gboolean wide; /* it has the threads of all workers */
} IrTaskPlace;

double *ir_tasks_bottom_levels (const IrTasks *tasks);
void ir_tasks_place_in_order (const IrTasks *tasks, guint n_workers, IrTaskPlace *places);
void ir_tasks_place_by_list (const IrTasks *tasks, guint n_workers, IrTaskPlace *places);

/* -- stages, after the inter-operator scheduler -- */
typedef enum
{
  IR_STAGE_CONCURRENT, /* concurrent groups, the tasks of a group one after another */
  IR_STAGE_MERGED,     /* all tasks as one kernel */
  IR_STAGE_LIST,       /* a block that was too wide to search: list scheduling */
  IR_STAGE_WIDE,       /* one task after another, each on the threads of all workers */
} IrStageKind;
typedef struct
{
  IrStageKind kind;
  guint n_tasks, n_groups;
  double start_ms, end_ms;
} IrStage;

#define IR_STAGES_DEFAULT_STEPS 200000
typedef struct
{
  guint n_workers;
  guint max_group;    /* tasks in a group: r in the paper; 0: any number */
  guint max_groups;   /* groups in a stage: s in the paper; 0: any number */
  guint64 max_steps;  /* endings tried in each search of a block; 0: IR_STAGES_DEFAULT_STEPS */
  GCancellable
      *cancellable; /* (nullable) what may stop it; what was not searched gets list scheduling */
} IrStageOptions;
typedef struct
{
  GArray *stages;     /* of IrStage, in the order of time */
  guint n_blocks;     /* parts of the graph that were searched by themselves */
  guint n_contracted; /* of these: chains in them were taken as one task to bound the search */
  guint n_pruned;     /* of those: groups were bounded as well, by 3 tasks and 8 groups */
  guint n_listed;     /* blocks beyond the limit even so: list scheduling */
  guint64 n_steps;    /* endings tried */
} IrStages;
IrStages *ir_tasks_place_in_stages (const IrTasks *tasks,
                                    const IrStageOptions *options,
                                    IrTaskPlace *places);
void ir_stages_free (IrStages *stages);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrStages, ir_stages_free)

/* -- how good a placement is -- */
typedef struct
{
  double from_ms;
  guint n; /* tasks that run from then on */
} IrWidth;
typedef struct
{
  double makespan_ms, critical_path_ms, work_ms;
  double bound_ms;    /* the longer of the critical path and the work shared by all workers */
  double utilization; /* time that workers are busy, of the time that they are there: 0 to 1 */
  double parallelism; /* work over critical path: how many workers could be busy on average */
  guint max_width;    /* the most tasks that run at once */
  GArray *widths;     /* of IrWidth, by time; the last has none running */
} IrScheduleReport;
IrScheduleReport *ir_tasks_report (const IrTasks *tasks,
                                   guint n_workers,
                                   const IrTaskPlace *places);
void ir_schedule_report_free (IrScheduleReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrScheduleReport, ir_schedule_report_free)

/* -- streams of a device that runs each of them in order -- */
typedef struct
{
  guint n_streams;
  guint *stream;  /* by task */
  GArray *waits;  /* of IrTaskEdge: the stream of to waits for the event behind from */
  guint n_events; /* tasks with an event behind them */
} IrStreams;
IrStreams *ir_tasks_streams (const IrTasks *tasks, GCancellable *cancellable);
void ir_streams_limit (IrStreams *streams, guint n_tasks, guint most);
void ir_streams_free (IrStreams *streams);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrStreams, ir_streams_free)

/* -- what nodes cost, measured -- */
typedef struct
{
  double *ms;       /* by node id: the median, or negative where nothing was measured */
  guint n;          /* its length */
  guint n_nodes;    /* that were measured */
  guint n_unknown;  /* events of nodes that the model does not have */
  guint n_workers;  /* threads in the trace */
  double span_ms;   /* from the first start to the last end in the trace */
  IrRoofline peaks; /* that were measured before the run; all 0: none */
} IrNodeCosts;
IrNodeCosts *ir_node_costs_parse (const IrModel *model,
                                  const char *text,
                                  gsize length,
                                  GError **error);
void ir_node_costs_free (IrNodeCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrNodeCosts, ir_node_costs_free)

/* -- schedules of models -- */
typedef enum
{
  IR_SCHEDULE_FILE,
  IR_SCHEDULE_LIST,
  IR_SCHEDULE_MEMORY,
  IR_SCHEDULE_IOS,
  IR_N_SCHEDULE_POLICIES
} IrSchedulePolicy;
const char *ir_schedule_policy_name (IrSchedulePolicy policy);
gboolean ir_schedule_policy_find (const char *name, IrSchedulePolicy *policy);

typedef struct
{
  IrSchedulePolicy policy;
  const IrNodeCosts *costs; /* (nullable) in place of the cost model, where there are some */
  IrStageOptions stages;    /* n_workers and stop count for every policy */
  /* With IR_SCHEDULE_IOS: each stage is concurrent nodes, on one thread each, as costs have
   * it, or one at a time on the threads of all workers, whichever takes less. The schedule then
   * says which steps a runner may run together. */
  gboolean compare;
  /* (nullable) By node id, on all threads, negative where that is unknown; NULL: threads bring
   * nothing, so that all runs together that can. */
  const IrNodeCosts *wide_costs;
  IrKernels *kernels; /* (nullable) chosen before, for the same model and back end */
} IrScheduleOptions;
/* What a run asks for; with %IR_PARALLEL_AUTO, its first one. */
IrScheduleOptions ir_schedule_run_options (guint n_threads, IrParallelMode mode);
/* What a schedule was made of, in the order of its items. */
typedef struct
{
  IrTasks *tasks;
  IrTaskPlace *places;
  double *predicted_ms; /* by item: what the cost model says */
  IrStages *stages;     /* (nullable) for IR_SCHEDULE_IOS */
} IrScheduleDetails;
IrSchedule *ir_schedule_new_with (IrModel *model,
                                  const IrBackend *backend,
                                  const IrScheduleOptions *options,
                                  IrScheduleDetails **details,
                                  GError **error);
/* The same of a schedule that is there: its times are its costs. */
IrScheduleDetails *ir_schedule_details_new (const IrSchedule *schedule, const IrModel *model);
void ir_schedule_details_free (IrScheduleDetails *details);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrScheduleDetails, ir_schedule_details_free)
