#pragma once

/* What charts are drawn with: an axis with round ticks, texts, bars and frames. */

#include "core/layout/charts.h"

#define CHART_LABEL_WIDTH   IR_CHART_LEFT
#define CHART_TITLE_HEIGHT  32.0
#define CHART_TICK_DISTANCE 120.0 /* px, about */
#define CHART_LEAST_BAR     1.0   /* px: what took no time is still there */

typedef struct
{
  IrScene *scene;
  double width;  /* px of the drawing area */
  double height; /* px of it, of memory plans */
  double top;    /* px: first lane or row */
} Chart;

typedef char *(*ChartFormat) (double value);

void chart_init (Chart *chart, const IrChartOptions *options);
void chart_add_text (IrScene *scene,
                     const char *text,
                     IrSceneTextStyle style,
                     IrSceneAlign align,
                     gint32 box,
                     double x,
                     double y,
                     double width);
void chart_add_grid_line (Chart *chart, double x0, double y0, double x1, double y1);
void chart_add_x_axis (Chart *chart, double low, double high, double height, ChartFormat format);
void chart_add_bar (Chart *chart, IrSceneBox *box, const char *text);
void chart_add_span (
    Chart *chart, guint index, const IrScheduleSpan *span, double low, double high, double height);
guint chart_n_spans (const IrSchedule *schedule); /* @schedule: nullable */
double chart_round_step (double range, double n);
char *chart_format_ms (double ms);
char *chart_format_bytes (double bytes);
guint8 chart_colour_of (const IrNode *node);
char *chart_flow_cell_text (const IrNode *node, const IrFlowEvent *event, const char *value);

/* -- charts that are read from top to bottom (chart-page.c) -- */
#define CHART_PAGE_ROW        20.0
#define CHART_PAGE_NAME_WIDTH 220.0
#define CHART_PAGE_NARROW     480.0 /* px: names stand above bars */

typedef struct
{
  IrScene *scene;
  double width, y;
} ChartPage;

ChartPage chart_page_new (double width, const IrChartOptions *options);
void chart_page_text (ChartPage *page,
                      const char *text,
                      IrSceneTextStyle style,
                      IrSceneAlign align,
                      double x,
                      double width);
void chart_page_line (ChartPage *page, double x0, double y0, double x1, double y1);
void chart_page_title (ChartPage *page, const char *title);
void chart_page_bar (
    ChartPage *page, const char *name, const char *number, double part, const IrSceneBox *box);
