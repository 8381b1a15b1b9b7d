/* Placing blocks of memory in time and space: pure functions from sizes and lifetimes to offsets.
 * It knows no graphs: plans of graphs (memory.h) and lists of blocks in files (csv.c) share it. */
#pragma once

#include <gio/gio.h>

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
  const guint8 *apart; /* (nullable) by value id, of graphs: not 0: it is to have bytes of its own */
  guint n_apart;       /* its length */
  GCancellable *cancellable; /* (nullable) whoever cancels it gets no plan */
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

/* More than any memory, and so little that sums of offsets and sizes cannot wrap around. */
#define IR_MEM_MAX_BYTES ((guint64) 1 << 50) /* of one block */
#define IR_MEM_MAX_SUM   ((guint64) 1 << 60) /* of all */

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

/* -- csv.c: instances of MiniMalloc's format -- */
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

/* -- for whoever places blocks one by one -- */
typedef struct _IrMemGaps IrMemGaps;

guint64 ir_mem_align (guint64 size, guint64 align_bytes);
gboolean ir_mem_has_room (guint64 *sum, guint64 size, guint64 align_bytes);
/* Looks whether the plan is still wanted; (nullable) @options. Planners ask for each block, step of
 * a search, or run. */
gboolean ir_mem_stopped (const IrMemOptions *options);
IrMemGaps *ir_mem_gaps_new (IrMemBlock *blocks, guint n, guint64 align_bytes);
guint64 ir_mem_gaps_place (IrMemGaps *gaps, guint index);
guint64 ir_mem_place_in_order (IrMemBlock *blocks,
                               guint n,
                               const IrMemOptions *options,
                               GCompareDataFunc compare);
void ir_mem_gaps_free (IrMemGaps *gaps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrMemGaps, ir_mem_gaps_free)
