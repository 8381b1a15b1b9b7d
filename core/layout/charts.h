#pragma once

/* Pictures that are no graphs, as scenes: the schedule as a timeline, the memory plan as rectangles
 * over program order and address, the histogram of a tensor. What `irscope render --view` writes
 * and what the views paint. */

#include "core/exec/check/curve.h"
#include "core/exec/exec.h"
#include "core/exec/measure/summary.h"
#include "core/exec/schedule/tasks.h"
#include "core/exec/recompute/recompute.h"
#include "core/exec/run/flow-log.h"
#include "core/exec/tape/tape.h"
#include "core/layout/scene.h"

/* px left of the drawing area, for the names of lanes; from there on the x axis is IrChartOptions.width long */
#define IR_CHART_LEFT 96.0

typedef struct
{
  IrSceneMeasure measure; /* (nullable) as in IrSceneOptions */
  gpointer measure_data;
  double width;  /* px of the drawing area; 0 = 1200 */
  double height; /* px of it, for memory plans; 0 = 560 */
  /* (nullable) traces and memory plans: the schedule that was followed, whose spans of nodes beside
   * each other are framed */
  const IrSchedule *beside;
} IrChartOptions;

IrScene *ir_chart_times (const IrSchedule *schedule, /* (nullable) */
                         const IrTrace *trace,       /* (nullable) */
                         const IrMemPlan *plan,      /* (nullable) */
                         const IrModel *model,
                         const IrChartOptions *options);
IrScene *ir_chart_memory (const IrMemPlan *plan,
                          const IrModel *model,
                          const IrChartOptions *options);
IrScene *ir_chart_recompute (const IrRecomputeGraph *graph,
                             const IrRecomputePlan *plan,
                             const IrModel *model,
                             const IrChartOptions *options);
IrScene *ir_chart_summary (const IrSummary *summary,
                           IrSummaryKey key,
                           const IrRoofline *peaks, /* (nullable) */
                           const IrChartOptions *options);
typedef struct
{
  const char *name;
  GArray *points; /* (owned) of IrLayoutPoint: x to the right, y up */
} IrChartCurve;
/* A way to derive beside those of the tape: what it says of values, or why it cannot be taken. */
typedef struct
{
  char *title;       /* "Numeric" */
  char *note;        /* (nullable) a line below the title */
  char *why;         /* (nullable) which node stops it first, and what to use instead */
  IrNodeId stop;     /* that node; 0: none */
  GHashTable *texts; /* value id -> text */
  GArray *curves;    /* (nullable) of IrChartCurve: errors by step, both as powers of ten */
} IrChartWay;
IrScene *ir_chart_derivation (const IrTape *tape, /* (nullable) */
                              const IrModel *model,
                              const char *title,
                              const IrChartWay *ways,
                              guint n_ways,
                              const IrChartOptions *options);
/* Curves that share an axis upwards. */
typedef struct
{
  const char *title;
  gboolean logarithmic; /* where all numbers are positive */
  GArray *curves;       /* of IrChartCurve */
  char *(*format) (double value); /* (nullable) how numbers of it are written */
} IrChartPanel;
GArray *ir_chart_curves_new (void);
IrScene *ir_chart_panels (const IrChartPanel *panels,
                          guint n,
                          const char *axis,
                          const IrChartOptions *options);
/* Something that is as long as its magnitude, on a logarithmic axis. */
typedef struct
{
  char *name, *text, *tip; /* @text: beside it, such as the number */
  double amount;           /* 0 or not finite: no bar */
  gboolean warn;           /* marked */
  IrNodeId node;           /* that it selects; 0: none */
} IrChartMagnitude;
typedef struct
{
  char *title;
  GArray *bars; /* of IrChartMagnitude */
} IrChartSection;
void ir_chart_sections_add (GArray *sections,
                            const char *title); /* of IrChartSection, which owns what is in it */
GArray *ir_chart_sections_new (void);
void ir_chart_sections_add_bar (GArray *sections,
                                const IrChartMagnitude *bar); /* copied, to the last */
IrScene *ir_chart_magnitudes (const GArray *sections,
                              const char *note, /* (nullable) */
                              const IrModel *model,
                              const IrChartOptions *options);
/* Loops as lanes, iterations as columns, and what became of each node there. */
IrScene *ir_chart_flow (const IrFlowLog *log, const IrChartOptions *options);
/* A loop as it is, and beside it some of its iterations written out, as they ran. */
IrScene *ir_chart_unrolled (const IrFlowLog *log,
                            const char *path,
                            gint64 first,
                            gint64 last,
                            const IrChartOptions *options,
                            GCancellable *cancellable,
                            GError **error);
/* Elements of tensors (tensor-chart.c): options are of all of the picture, and not of its drawing area. */
IrScene *ir_chart_curves (const IrTensorCurve *const *curves,
                          const char *const *names,
                          guint n,
                          const char *title,
                          const IrChartOptions *options,
                          IrLayoutRect *area);
IrScene *ir_chart_scatter (const IrTensorScatter *scatter,
                           const char *x_name,
                           const char *y_name,
                           const IrChartOptions *options,
                           IrLayoutRect *area);
IrScene *ir_chart_histogram (const IrTensorStats *stats,
                             const char *title,
                             const IrChartOptions *options);
