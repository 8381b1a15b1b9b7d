/* Charts that are read from top to bottom: sections of bars, each with its name and its number. */
#include "config.h"

#include "core/layout/charts-private.h"

#define BAR          12.0
#define NUMBER_WIDTH 110.0
#define SECTION_GAP  24.0
#define TOP          14.0

/* @width: where the options say none */
ChartPage
chart_page_new (double width, const IrChartOptions *options)
{
  return (ChartPage){ .scene = ir_scene_new (options != NULL ? options->measure : NULL,
                                             options != NULL ? options->measure_data : NULL),
                      .width = options != NULL && options->width > 0 ? options->width : width,
                      .y = TOP };
}

void
chart_page_text (ChartPage *page,
                 const char *text,
                 IrSceneTextStyle style,
                 IrSceneAlign align,
                 double x,
                 double width)
{
  const IrSceneText item = {
    .style = style, .align = align, .box = -1, .x = x, .y = page->y, .text = text
  };

  ir_scene_add_text (page->scene, &item, width);
}

void
chart_page_line (ChartPage *page, double x0, double y0, double x1, double y1)
{
  const IrSceneLine line = { .kind = IR_SCENE_LINE_PLAIN, .from = -1, .to = -1 };
  const IrLayoutPoint points[2] = { { x0, y0 }, { x1, y1 } };

  ir_scene_add_line (page->scene, &line, points, 2);
}

void
chart_page_title (ChartPage *page, const char *title)
{
  page->y += SECTION_GAP;
  chart_page_text (page, title, IR_SCENE_TEXT_TITLE, IR_SCENE_ALIGN_START, 0, page->width);
}

/* A bar with its name and its number beside, or above it where there is no room. @box: its colour, what
 * it stands for, and its id and tip */
void
chart_page_bar (
    ChartPage *page, const char *name, const char *number, double part, const IrSceneBox *box)
{
  const gboolean narrow = page->width < CHART_PAGE_NARROW;
  const double left = narrow ? 0 : CHART_PAGE_NAME_WIDTH,
               room = narrow ? page->width : page->width - CHART_PAGE_NAME_WIDTH - NUMBER_WIDTH;
  IrSceneBox bar = *box;

  page->y += CHART_PAGE_ROW;
  chart_page_text (page, name, IR_SCENE_TEXT_ROW, IR_SCENE_ALIGN_START, 0,
                   narrow ? page->width - NUMBER_WIDTH : CHART_PAGE_NAME_WIDTH - 8);
  chart_page_text (page, number, IR_SCENE_TEXT_ROW, IR_SCENE_ALIGN_END, page->width,
                   NUMBER_WIDTH - 8);
  bar.kind = IR_SCENE_PLAIN;
  bar.parent = -1;
  bar.x = left;
  bar.y = narrow ? page->y + 4 : page->y - BAR + 1;
  bar.width = part > 0 ? MAX (part * room, 1) : 0; /* nothing has no bar */
  bar.height = bar.header = narrow ? BAR / 2 : BAR;
  ir_scene_add_box (page->scene, &bar);
  page->y += narrow ? BAR : 0;
}
