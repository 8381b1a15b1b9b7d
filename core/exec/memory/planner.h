/* What the files share that plan the memory of a graph: plan.c walks the schedule and places,
 * share.c says which values share bytes, explain.c says why. */
#pragma once

#include "core/exec/memory/memory.h"
#include "core/exec/kernel/nchwc.h"
#include "core/exec/kernel/backend.h"
#include "core/exec/memory/peak-tree.h"

#define IR_MEM_NO_BLOCK G_MAXUINT /* outside the arena */

struct _IrMemDetails
{
  IrMemResult result;
  GArray *block_of; /* of guint, one per item: index into blocks, or IR_MEM_NO_BLOCK */
  GArray *blocks;   /* of IrMemBlock */
  GArray *owners;   /* of IrValueId, one per block: the value that it was made for */
  GArray *refusals; /* of IrMemRefusal: what is copied where it might have been shared */
  IrSchedule *schedule;
  GHashTable *step_of; /* node id -> step + 1 */
  GHashTable *item_of; /* value id -> index into items, + 1 */
};

typedef enum
{
  REFUSAL_NONE,
  REFUSAL_EXTERNAL,
  REFUSAL_SIZE,
  REFUSAL_LAYOUT,
  REFUSAL_READ_LATER,
  REFUSAL_BESIDE,
  REFUSAL_READ_TWICE,
  REFUSAL_ALIGN,
  REFUSAL_PART,
  REFUSAL_PEAK,
  N_REFUSALS
} Refusal;

/* Between a part and the whole that a node joins from it, or cuts it from. */
typedef struct
{
  IrValueId part, whole;
  Refusal refusal;
} IrMemRefusal;

/* -- intervals.c: which items lie where in a block -- */
typedef struct _IrMemSpots IrMemSpots;
typedef enum
{
  IR_MEM_SPOT_STAYS,
  IR_MEM_SPOT_GOES,  /* it is taken out */
  IR_MEM_SPOT_ENOUGH /* it stays, and no other one is asked for */
} IrMemSpotVerdict;
typedef IrMemSpotVerdict (*IrMemSpotFunc) (guint item, gpointer data);

IrMemSpots *ir_mem_spots_new (void);
void ir_mem_spots_add (IrMemSpots *spots, guint item, guint64 at, guint64 size);
void ir_mem_spots_visit (
    IrMemSpots *spots, guint64 at, guint64 size, IrMemSpotFunc look, gpointer data);
IrMemSpots *ir_mem_spots_join (
    IrMemSpots *whole, IrMemSpots *part, guint64 at, IrMemSpotFunc look, gpointer data);
void ir_mem_spots_free (IrMemSpots *spots);

/* While the schedule is walked, a block may become a range of a later one. */
typedef struct
{
  guint parent; /* IR_MEM_NO_BLOCK: none */
  guint64 at;   /* bytes from the start of the parent */
  IrValueId owner;
  IrMemSpots *spots; /* (nullable) those that may still be read; of roots */
} IrMemRange;

typedef struct
{
  const IrGraph *graph;
  const IrSchedule *schedule;  /* (nullable) */
  const IrMemOptions *options; /* (nullable) what stops it */
  IrMemPlan *plan;
  GHashTable *step_of; /* node id -> step + 1 */
  GHashTable *item_of; /* value id -> index into plan->items, + 1 */
  GArray *block_of;    /* of guint, one per item */
  GArray *at_of;       /* of guint64, one per item: bytes from the start of its block */
  GArray *blocks;      /* of IrMemBlock */
  GArray *ranges;      /* of IrMemRange, one per block */
  GArray *refusals;    /* of IrMemRefusal */
  gboolean separate;   /* nothing is shared */
  gboolean slices;     /* parts may lie in wholes */
  guint n_slices;      /* wholes and parts that were seen */
  guint64 sum;         /* bytes of all values that were given a place */
  IrNodeId cut_by;     /* 0, or the node that cuts; it is the last that was asked for */
  guint64 *cuts;       /* (nullable) by its outputs: from ir_slices_of_input() */
  IrMemLive live;      /* without slices, changed with each */
} IrMemPlanner;

void ir_mem_planner_init (IrMemPlanner *planner, const IrGraph *graph, const IrSchedule *schedule);
void ir_mem_planner_clear (IrMemPlanner *planner);
IrMemItem *ir_mem_planner_find (const IrMemPlanner *planner, const IrValue *value, guint *index);
void ir_mem_planner_add (
    IrMemPlanner *planner, const IrMemItem *item, const IrValue *value, guint block, guint64 at);
guint ir_mem_planner_new_block (IrMemPlanner *planner, const IrMemItem *item);
const IrScheduleSpan *ir_mem_planner_span (const IrMemPlanner *planner, guint step);
void ir_mem_planner_widen (const IrMemPlanner *planner, guint *first, guint *last);
gboolean ir_mem_planner_beside (const IrMemPlanner *planner,
                                const IrNode *node,
                                const IrValue *value);
guint ir_mem_planner_layout (const IrMemPlanner *planner, const IrValue *value);

/* -- share.c -- */
guint ir_mem_root_of (const IrMemPlanner *planner, guint item, guint64 *at);
gboolean ir_mem_is_overwritable (const IrMemPlanner *planner, const IrNode *node, guint slot);
Refusal ir_mem_may_overwrite (const IrMemPlanner *planner,
                              const IrNode *node,
                              guint slot,
                              const IrMemItem *output,
                              guint *index);
gboolean ir_mem_share_view (IrMemPlanner *planner, const IrNode *node, guint slot, IrMemItem *item);
gboolean ir_mem_share_over (IrMemPlanner *planner, const IrNode *node, guint slot, IrMemItem *item);
void ir_mem_share_parts (IrMemPlanner *planner, const IrNode *node);
