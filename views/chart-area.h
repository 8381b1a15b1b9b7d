/* A chart of core/layout/charts.h that can be zoomed, pointed at and walked through by keys. Bars
 * are nodes, or values where @by_value: a click or the arrow keys select, the selection is
 * outlined. It lies within an IrView, whose session it reads and writes; it is made in a job, and
 * only what is in sight is drawn.
 *
 * Signals:
 *   resized ()                    load it anew: it was zoomed, or its pane got another width
 *   loaded (const char *problem)  (nullable) why there is no chart
 *   ranged (double from, double to)  a part of the x axis was chosen, by dragging or by M, each 0 to 1; both 0:
 *                                    none is any more. Only where ir_chart_area_allow_ranges() was called
 *   stepped (int direction)       by the keys Down (1) and Up (-1)
 *
 * What takes longer says so above the chart, with a button that cancels it. */
#pragma once

#include "core/layout/charts.h"
#include "views/jobs.h"
#include "views/session/session.h"
#include "views/view.h"

#define IR_TYPE_CHART_AREA (ir_chart_area_get_type ())
G_DECLARE_FINAL_TYPE (IrChartArea, ir_chart_area, IR, CHART_AREA, AdwBin)

/* Runs in a thread, twice where the chart came out wider than its pane. */
typedef IrScene *(*IrChartFunc) (IrJob *job,
                                 gpointer request,
                                 const IrChartOptions *options,
                                 GCancellable *cancellable,
                                 GError **error);

GtkWidget *ir_chart_area_new (const char *label, gboolean by_value); /* floating */
/* Makes the chart from @request, which is freed by @request_free; a newer one takes the place of
 * one that waits. */
void ir_chart_area_load (IrChartArea *self,
                         IrChartFunc make,
                         gpointer request,
                         GDestroyNotify request_free);
void ir_chart_area_clear (IrChartArea *self);
void ir_chart_area_allow_ranges (IrChartArea *self);
/* The part of the x axis that is marked, as in ::ranged; both 0: none. */
void ir_chart_area_set_range (IrChartArea *self, double from, double to);
void ir_chart_area_session_changed (IrChartArea *self, IrSessionChanges changes);
/* Buttons that zoom, to be put into a toolbar. (transfer floating) */
GtkWidget *ir_chart_area_new_zoom_buttons (IrChartArea *self);
