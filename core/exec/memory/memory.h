/* Placing blocks of memory in time and space: pure functions from sizes and lifetimes to offsets.
 * Graphs (memplan.c) and lists of blocks in files (memplan-csv.c) share them. */
#pragma once

#include "core/exec/exec.h"

/* One block: bytes that are needed together from one step to another. */
typedef struct
{
  guint64 size;      /* bytes, before alignment */
  guint first, last; /* steps, both inclusive */
  guint64 offset;    /* result: bytes from the start of the arena */
  guint64 life;      /* how long it lives in the caller's own unit of time; 0: counted in steps */
} IrMemBlock;

typedef enum
{
  IR_MEM_GREEDY_SIZE,
  IR_MEM_GREEDY_BREADTH,
  IR_MEM_BEST_FIT,
  IR_MEM_EXACT,
  IR_MEM_N_ALGORITHMS
} IrMemAlgorithm;

typedef struct
{
  guint align_bytes;   /* offsets are multiples of it; at least 1 */
  guint64 capacity;    /* bytes: a placement no higher is good enough; 0: the lower bound */
  guint64 max_steps;   /* placements that the exact search may try; 0: it is not run */
  guint time_limit_ms; /* of processor time for the exact search; 0: none */
  guint seed;          /* of what is left to chance there; the same one gives the same placement */
  GCancellable *cancellable;      /* (nullable) whoever cancels it gets no plan */
  void (*looked) (gpointer data); /* (nullable) told whenever the planner looks at it */
  gpointer looked_data;
} IrMemOptions;

typedef struct
{
  guint64 peak_bytes, lower_bound_bytes;
  IrMemAlgorithm algorithm;           /* the first that reached the peak */
  guint64 peaks[IR_MEM_N_ALGORITHMS]; /* bytes by algorithm; 0: not run or nothing found */
  gboolean proven;                    /* no placement can be lower */
  guint64 n_steps;                    /* placements that the exact search tried */
  double search_ms;                   /* processor time of the exact search */
} IrMemResult;

/* Searches a graph's plan gets by default: a tenth of a second or so, and the same everywhere. */
#define IR_MEM_DEFAULT_STEPS 50000

const char *ir_mem_algorithm_name (IrMemAlgorithm algorithm);

/* Each algorithm alone; returns the end of the highest block. */
guint64 ir_mem_blocks_place (IrMemBlock *blocks, guint n, const IrMemOptions *options);
guint64 ir_mem_place_by_breadth (IrMemBlock *blocks, guint n, const IrMemOptions *options);
guint64 ir_mem_place_best_fit (IrMemBlock *blocks, guint n, const IrMemOptions *options);
guint64 ir_mem_blocks_lower_bound (const IrMemBlock *blocks, guint n, guint64 align_bytes);

typedef enum
{
  IR_MEM_SEARCH_FOUND,
  IR_MEM_SEARCH_IMPOSSIBLE, /* proven: no placement fits */
  IR_MEM_SEARCH_GAVE_UP     /* the limit was reached first, or it was cancelled */
} IrMemSearchStatus;
IrMemSearchStatus ir_mem_search (IrMemBlock *blocks,
                                 guint n,
                                 const IrMemOptions *options,
                                 guint64 *n_steps);

/* All of them, the best taken. FALSE: cancelled, and nothing is placed. */
gboolean ir_mem_place (IrMemBlock *blocks,
                       guint n,
                       const IrMemOptions *options,
                       IrMemResult *result);

/* -- plans of graphs -- */
typedef enum
{
  IR_MEM_SEPARATE = 1 << 0 /* every value has bytes of its own: no views, nothing in place */
} IrMemFlags;

IrMemPlan *ir_mem_plan_new_full (IrModel *model,
                                 const IrSchedule *schedule,
                                 IrMemFlags flags,
                                 const IrMemOptions *options);
const IrMemResult *ir_mem_plan_result (const IrMemPlan *plan);
/* The blocks of the arena, and the first value of each. (transfer none) */
const IrMemBlock *ir_mem_plan_blocks (const IrMemPlan *plan, guint *n);
IrValueId ir_mem_plan_block_value (const IrMemPlan *plan, guint block);
const IrSchedule *ir_mem_plan_schedule (const IrMemPlan *plan);
GArray *ir_mem_plan_readers (const IrMemPlan *plan, const IrModel *model, IrValueId value);
/* Bytes from the start of @from to that of @to. */
guint64 ir_mem_plan_distance (const IrMemPlan *plan, IrValueId from, IrValueId to);
/* Where @value lies, what it shares bytes with or why with nothing, and what stands next to it. */
char *ir_mem_plan_explain (const IrMemPlan *plan, const IrModel *model, IrValueId value);
/* memplan-order.c: reorders @schedule so that less lives at once, if that can be found. */
gboolean ir_schedule_order_for_memory (IrSchedule *schedule, IrModel *model, const IrStop *stop);

/* -- memplan-csv.c: instances of MiniMalloc's format -- */
typedef struct
{
  char *id;            /* as in the file */
  gint64 lower, upper; /* lives in [lower, upper), in any unit of time */
} IrMemRow;

typedef struct
{
  GArray *rows;   /* of IrMemRow */
  GArray *blocks; /* of IrMemBlock, one per row; steps count the distinct times */
} IrMemInstance;

IrMemInstance *ir_mem_instance_parse (const char *text, gsize length, GError **error);
char *ir_mem_instance_to_csv (const IrMemInstance *instance);
void ir_mem_instance_free (IrMemInstance *instance);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrMemInstance, ir_mem_instance_free)
