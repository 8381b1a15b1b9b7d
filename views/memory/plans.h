/* Memory plans as data: made in the job of the chart, from a run or from the graph on screen. */
#pragma once

#include "core/exec/memory/memory.h"
#include "core/layout/charts.h"
#include "views/jobs.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"

/* The plan in which nothing runs again; plans under several budgets share it. */
typedef struct
{
  gatomicrefcount ref_count;
  IrRun *run;     /* (nullable) whose graph it is, and whose plan unless one is asked for */
  IrSizer *sizer; /* (nullable) what it is made from where there is no run */
  const IrBackend *backend; /* likewise */
  gboolean memory_order, separate, of_device;
  /* made by the job; all nullable */
  IrModel *model;
  const IrSchedule *schedule; /* the run's, or the next */
  IrSchedule *own_schedule;
  const IrMemPlan *plan; /* likewise */
  IrMemPlan *own_plan;
} IrPlainPlan;

typedef struct
{
  gatomicrefcount ref_count;
  IrPlainPlan *plain;
  char *budget;         /* (nullable) as text */
  IrPlainPlan *before;  /* (nullable) of the graph that it is compared with */
  IrFrame *frame;       /* (nullable) of that comparison */
  gboolean draws_other; /* @before is what is drawn */
  /* made by the job */
  gboolean made;
  IrRecomputeGraph *graph;
  IrRecomputePlan *again; /* (nullable) under the budget */
  GArray *changes;        /* (nullable) of IrMemChange: @before to @plain */
} IrMemoryRequest;

IrPlainPlan *ir_plain_plan_new (void);
IrPlainPlan *ir_plain_plan_ref (IrPlainPlan *plain);
void ir_plain_plan_unref (IrPlainPlan *plain);
IrMemoryRequest *ir_memory_request_new (IrPlainPlan *plain);
IrMemoryRequest *ir_memory_request_ref (IrMemoryRequest *memory);
void ir_memory_request_unref (gpointer memory);
/* An IrChartFunc; @request: IrMemoryRequest, which gets what is made */
IrScene *ir_memory_request_draw (IrJob *job,
                                 gpointer request,
                                 const IrChartOptions *options,
                                 GCancellable *cancellable,
                                 GError **error);
