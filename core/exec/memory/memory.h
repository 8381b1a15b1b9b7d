/* The memory plan of a graph: which values share bytes, and where they lie. */
#pragma once

#include "core/exec/memory/place/place.h"
#include "core/exec/schedule/schedule.h"

#define IR_PLACE_EXTERNAL G_MAXUINT64
typedef struct
{
  IrValueId value;
  guint64 offset, size; /* bytes; offset IR_PLACE_EXTERNAL: inputs, outputs, constants */
  guint first, last;    /* steps of the schedule, both inclusive */
  IrValueId alias_of;   /* 0, or the value whose bytes it lies in; the next three say why */
  IrValueId view_of;    /* 0, or what it has the contents of, or of a part of it */
  IrValueId over;       /* 0, or the input of its node that it is written over */
  IrValueId part_of;    /* 0, or the output of a Concat that it is written into in its place */
} IrMemItem;

typedef struct _IrMemPlan
{
  GArray *items; /* of IrMemItem, by first use */
  guint64 peak_bytes, lower_bound_bytes, naive_bytes;
  guint n_too_large; /* values that no memory has room for: left external */
  guint align_bytes;
  const IrMemory *memory;   /* (nullable) whose bytes these are; NULL: the host's */
  struct _IrMemPlan *there; /* (nullable) the plan of what lies in the memory of a back end */
  struct _IrMemDetails *details; /* how it was made: see the functions of core/exec/memory/memory.h */
  gatomicrefcount ref_count;
} IrMemPlan;
/* Needs all shapes; values of unknown size are left external. */
IrMemPlan *ir_mem_plan_new (IrModel *model, const IrSchedule *schedule, guint align_bytes);
void ir_mem_plan_unref (IrMemPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrMemPlan, ir_mem_plan_unref)
IrMemPlan *ir_mem_plan_ref (IrMemPlan *plan);

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
/* What lives where most is held, the largest first: of IrMemItem. (transfer full) */
GArray *ir_mem_plan_at_peak (const IrMemPlan *plan, guint *step, guint64 *bytes);
/* By step, bytes of the arena that are held: of guint64. (transfer full) */
GArray *ir_mem_plan_held (const IrMemPlan *plan);
char *ir_mem_plan_peak_text (const IrMemPlan *plan, const IrModel *model, guint most);
/* Where @value lies, what it shares bytes with or why with nothing, and what stands next to it. */
char *ir_mem_plan_explain (const IrMemPlan *plan, const IrModel *model, IrValueId value);

/* -- as an allocator would see it (events.c) -- */
typedef struct
{
  guint step; /* before which it happens; the number of steps: behind the last */
  gboolean allocates;
  IrValueId value; /* the first of the block */
  guint64 offset, size;
  guint64 held; /* bytes of all blocks, behind it */
} IrMemEvent;
GArray *ir_mem_plan_events (const IrMemPlan *plan);

/* -- two plans -- */
typedef struct
{
  const char *name;                 /* of a value, interned: as the second plan calls it */
  IrValueId before, after;          /* 0: it is not there */
  guint64 before_size, after_size;  /* bytes in the arena; 0: it is not there */
  gboolean before_peak, after_peak; /* it lives where most is held */
} IrMemChange;
GArray *ir_mem_plans_compare (const IrMemPlan *before,
                              const IrModel *before_model,
                              const IrMemPlan *after,
                              const IrModel *after_model,
                              GHashTable *matched);
