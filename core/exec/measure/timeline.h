/* A run on one axis of time, predicted or measured: which node ran where and when, what it began behind,
 * why its worker stood idle before it, and what lies in a range. */
#pragma once

#include "core/exec/run/run.h"

/* What an item could not begin before. */
typedef enum
{
  IR_WAIT_WORKER, /* its lane ran something else */
  IR_WAIT_INPUT,  /* an input or a control edge */
  IR_WAIT_SPAN, /* concurrent nodes, of which all have to end before the steps behind them begin */
} IrWait;

typedef struct
{
  IrNodeId node;
  guint worker, lane;
  double start_ms, end_ms; /* from the start of the run */
  char *kernel;            /* (owned) */
  gint32 behind;  /* the item that ended last of those that it had to wait for; -1: there is none */
  IrWait wait;    /* why it had to wait for that */
  double idle_ms; /* how long its lane stood idle before it */
  gboolean critical; /* it is on the longest chain of nodes that wait for each other */
} IrTimelineItem;

typedef struct
{
  const IrModel *model; /* (unowned) */
  GArray *items;        /* of IrTimelineItem, by start */
  guint n_workers;
  const char *device; /* (nullable): where some of it ran */
  GPtrArray *lanes;   /* of char: their names; of workers of the host, and of streams of a device */
  double duration_ms, critical_path_ms;
  gboolean measured;
} IrTimeline;

IrTimeline *ir_timeline_new_predicted (const IrSchedule *schedule, const IrModel *model);
IrTimeline *ir_timeline_new_measured (const IrTrace *trace,
                                      const IrSchedule *schedule, /* (nullable) that was followed */
                                      const IrModel *model);
void ir_timeline_free (IrTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTimeline, ir_timeline_free)
const char *ir_wait_name (IrWait wait);
char *ir_timeline_gap_text (const IrTimeline *timeline, guint item);

/* Of all nodes of one operator. */
typedef struct
{
  const char *op; /* interned */
  guint n_calls;
  double ms; /* within the range */
} IrTimelineRow;

typedef struct
{
  double from_ms, to_ms;
  double busy_ms, idle_ms; /* of all lanes together */
  GArray *items;           /* of guint: which items of the timeline lie in it, at least in part */
  GArray *rows;            /* of IrTimelineRow, most time first */
} IrTimelineRange;

IrTimelineRange *ir_timeline_range (const IrTimeline *timeline, double from_ms, double to_ms);
double ir_timeline_range_ms (const IrTimelineRange *range, const IrTimelineItem *item);
void ir_timeline_range_free (IrTimelineRange *range);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTimelineRange, ir_timeline_range_free)
