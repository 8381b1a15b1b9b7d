/* What the files share that plan the memory of a graph: plan.c walks the schedule and places,
 * share.c asks which values share bytes (sharing.h), explain.c says why. */
#pragma once

#include "core/exec/memory/beside.h"
#include "core/exec/kernel/nchwc.h"
#include "core/exec/kernel/backend.h"
#include "core/exec/memory/sharing.h"

struct _IrMemDetails
{
  IrMemResult result;
  IrMemBeside beside;
  GArray *block_of; /* of guint, one per item: index into blocks, or IR_SHARING_NONE */
  GArray *blocks;   /* of IrMemBlock */
  GArray *owners;   /* of IrValueId, one per block: the value that it was made for */
  GArray *refusals; /* of IrMemRefusal: what does not share bytes where it might have */
  IrSchedule *schedule;
  GHashTable *step_of; /* node id -> step + 1 */
  GHashTable *item_of; /* value id -> index into items, + 1 */
};

/* Why a part does not lie in the whole that a node joins from it, or cuts it from, or why an output
 * is not written over an input. */
typedef struct
{
  IrValueId value, of; /* part and whole, or output and input */
  int slot;            /* of the input; -1: a part and a whole */
  IrSharingRefusal refusal;
} IrMemRefusal;

typedef struct
{
  const IrGraph *graph;
  const IrSchedule *schedule;  /* (nullable) */
  const IrPlaces *places;      /* (nullable) NULL: all is in the host's memory */
  gboolean there;              /* plans that of a back end, else the host's */
  guint next_copy;             /* of @places */
  const IrMemOptions *options; /* (nullable) what stops it */
  IrMemPlan *plan;
  GHashTable *step_of; /* node id -> step + 1 */
  GHashTable *item_of; /* value id -> index into plan->items, + 1 */
  IrSharing sharing;   /* one live range per item */
  GArray *refusals;    /* of IrMemRefusal */
  gboolean separate;   /* nothing is shared */
  gboolean slices;     /* parts may lie in wholes */
  guint n_slices;      /* wholes and parts that were seen */
  guint64 sum;         /* bytes of all values that were given a place */
  IrNodeId cut_by;     /* 0, or the node that cuts; it is the last that was asked for */
  guint64 *cuts;       /* (nullable) by its outputs: from ir_slices_of_input() */
} IrMemPlanner;

IrMemItem *ir_mem_planner_find (const IrMemPlanner *planner, const IrValue *value, guint *index);
void ir_mem_planner_add (IrMemPlanner *planner, const IrMemItem *item, const IrValue *value);
IrLiveRange ir_mem_planner_range (const IrMemPlanner *planner, const IrMemItem *item);
gboolean ir_mem_planner_concurrent (const IrMemPlanner *planner,
                                    const IrNode *node,
                                    const IrValue *value);
guint ir_mem_planner_layout (const IrMemPlanner *planner, const IrValue *value);
const IrScheduleSpan *ir_mem_span (const IrSchedule *schedule, guint step);
const IrScheduleItem *ir_mem_step (const IrSchedule *schedule,
                                   GHashTable *step_of,
                                   const IrNode *node);

/* -- share.c -- */
gboolean ir_mem_share_view (IrMemPlanner *planner, const IrNode *node, guint slot, IrMemItem *item);
gboolean ir_mem_share_over (IrMemPlanner *planner, const IrNode *node, guint slot, IrMemItem *item);
void ir_mem_share_parts (IrMemPlanner *planner, const IrNode *node);
