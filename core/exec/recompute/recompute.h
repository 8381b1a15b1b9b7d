/* Computing values again instead of keeping them: which tasks run a second time so that no more
 * bytes live at once than a budget allows, and what that costs. The problem is plain numbers
 * (recompute/recompute.c, checkpoints.c, evict.c, live-ranges.c); tasks.c makes
 * it of a graph. */
#pragma once

#include "core/exec/memory/memory.h"
#include "core/ir/edit.h"

#define IR_RECOMPUTE_NONE G_MAXUINT

/* One value is a range of bytes of another: what a task reads, of what it joins it to, or what it
 * writes, of what it cuts it from. Where the part lies there, nothing is copied. */
typedef struct
{
  guint part, whole;
  guint64 at; /* bytes from the start of the whole */
} IrRecomputeRange;

typedef struct
{
  guint64 flops;
  guint n_reads, n_writes;
  const guint *reads, *writes; /* values, each once */
  guint over[2]; /* values that its first write may replace; IR_RECOMPUTE_NONE: none */
  guint n_ranges;
  const IrRecomputeRange *ranges; /* (nullable) */
  gboolean once; /* what it gives may differ when it runs again, or its cost is unknown */
} IrRecomputeTask;

typedef struct
{
  const IrRecomputeTask *tasks; /* in the order in which each first runs */
  guint n_tasks;
  const guint64 *sizes; /* bytes by value */
  guint n_values;
  guint n_too_large; /* values beside these that no memory has room for: no budget can be held */
} IrRecomputeProblem;

typedef enum
{
  IR_RECOMPUTE_KEEP, /* everything fits as it is */
  IR_RECOMPUTE_CHAIN,
  IR_RECOMPUTE_EVICT,
  IR_RECOMPUTE_N_METHODS
} IrRecomputeMethod;

/* One stay of a value in memory, from the run that computes it to the last that reads it. */
typedef struct
{
  guint value, first, last; /* runs, both inclusive */
  guint block;              /* intervals that share bytes have one block */
  guint64 at;               /* bytes from the start of the block */
  guint64 offset;           /* bytes from the start of the arena */
  /* Lives, or IR_RECOMPUTE_NONE: what it is a range of, what it is written over, and what it is
   * written into in its place, which is joined later. */
  guint view_of, over, part_of;
} IrRecomputeInterval;

typedef struct
{
  IrRecomputeMethod method;
  gboolean feasible; /* the peak is within the budget; otherwise it is the lowest that was found */
  guint64 budget_bytes;
  guint64 peak_bytes, lower_bound_bytes; /* of the arena, and the most that live at once */
  guint64 plain_peak_bytes;              /* when nothing runs again */
  guint64 floor_bytes; /* what the widest task reads and writes: no order can be below */
  guint64 flops, extra_flops;
  GArray *runs;  /* of guint: tasks */
  GArray *intervals; /* of IrRecomputeInterval, by first run */
} IrRecomputePlan;

const char *ir_recompute_method_name (IrRecomputeMethod method);
IrRecomputePlan *ir_mem_recompute (const IrRecomputeProblem *problem,
                                   guint64 budget,
                                   const IrMemOptions *options);
void ir_recompute_plan_free (IrRecomputePlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrRecomputePlan, ir_recompute_plan_free)

/* Each method alone: the runs, or NULL where it finds none. (transfer full) of guint */
GArray *ir_recompute_chain (const IrRecomputeProblem *problem,
                            guint64 budget,
                            const IrMemOptions *options);
GArray *ir_recompute_evict (const IrRecomputeProblem *problem,
                            guint64 budget,
                            gboolean slices,
                            const IrMemOptions *options);
/* -- live-ranges.c -- */
GArray *ir_recompute_intervals (const IrRecomputeProblem *problem, const guint *runs, guint n_runs);
gboolean ir_recompute_has_ranges (const IrRecomputeProblem *problem);
GArray *ir_recompute_share (const IrRecomputeProblem *problem,
                            const GArray *runs,
                            gboolean slices,
                            const IrMemOptions *options,
                            GArray *intervals);

/* -- of a graph -- */
typedef struct
{
  IrRecomputeProblem problem;
  GArray *nodes;  /* of IrNodeId, by task */
  GArray *values; /* of IrValueId, by value */
  GPtrArray *memory;
} IrRecomputeGraph;

IrRecomputeGraph *ir_recompute_graph_new (IrModel *model,
                                          const IrSchedule *schedule,
                                          IrMemFlags flags,
                                          const IrMemOptions *options);
void ir_recompute_graph_free (IrRecomputeGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrRecomputeGraph, ir_recompute_graph_free)

/* -- apply.c: a plan made part of the graph -- */
void ir_recompute_hold_captured (IrRecomputeGraph *graph, const IrModel *model);
guint ir_recompute_apply (IrEdit *edit, const IrRecomputeGraph *graph, const IrRecomputePlan *plan);
const IrNode *ir_recompute_peak_node (const IrModel *model,
                                      const IrRecomputeGraph *graph,
                                      const IrRecomputePlan *plan);
