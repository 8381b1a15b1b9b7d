/* Curves over one axis, in panels beside and below each other, each with an axis of its own upwards: linear,
 * or logarithmic where that can be. Long curves are drawn by the least and the largest of each pixel. */
#include "config.h"

#include "core/layout/charts-private.h"

#include <math.h>

#define WIDTH        900.0
#define PANEL_HEIGHT 130.0
#define PANEL_LEAST  250.0 /* px: panels that are less wide stand below each other */
#define GAP          28.0
#define LEFT         56.0
#define TITLE        22.0
#define TICKS        20.0
#define TITLE_WIDTH  70.0
#define LEGEND_WIDTH 240.0 /* where less is left beside the title, it is below it */
#define LEGEND_LINE  15.0

static void
clear_curve (gpointer data)
{
  g_array_unref (((IrChartCurve *) data)->points);
}

/**
 * ir_chart_curves_new:
 *
 * Returns: (transfer full): of #IrChartCurve: none yet
 */
GArray *
ir_chart_curves_new (void)
{
  GArray *curves = g_array_new (FALSE, FALSE, sizeof (IrChartCurve));

  g_array_set_clear_func (curves, clear_curve);
  return curves;
}

typedef struct
{
  double low_x, high_x, low_y, high_y;
  double left, top, width;
  gboolean is_log;
} Plot;

/* Logarithmic only where all is positive */
static gboolean
find_range (const GArray *curves, gboolean wants_log, Plot *plot)
{
  gboolean any = FALSE;

  *plot = (Plot){ .low_x = INFINITY,
                  .high_x = -INFINITY,
                  .low_y = INFINITY,
                  .high_y = -INFINITY,
                  .is_log = wants_log };
  for (guint i = 0; i < curves->len; i++)
    {
      const GArray *points = g_array_index (curves, IrChartCurve, i).points;
      for (guint k = 0; k < points->len; k++)
        {
          const IrLayoutPoint *point = &g_array_index (points, IrLayoutPoint, k);
          any = TRUE;
          plot->is_log = plot->is_log && point->y > 0;
          plot->low_x = MIN (plot->low_x, point->x);
          plot->high_x = MAX (plot->high_x, point->x);
          plot->low_y = MIN (plot->low_y, point->y);
          plot->high_y = MAX (plot->high_y, point->y);
        }
    }
  if (!any)
    return FALSE;
  if (plot->is_log)
    {
      plot->low_y = floor (log10 (plot->low_y));
      plot->high_y = MAX (ceil (log10 (plot->high_y)), plot->low_y + 1);
    }
  else
    {
      plot->low_y = MIN (plot->low_y, 0);
      if (plot->high_y <= plot->low_y)
        plot->high_y = plot->low_y + 1;
    }
  if (plot->high_x <= plot->low_x)
    plot->high_x = plot->low_x + 1;
  return TRUE;
}

static IrLayoutPoint
place_of (const Plot *plot, const IrLayoutPoint *point)
{
  const double y = plot->is_log ? log10 (point->y) : point->y;

  return (IrLayoutPoint){
    plot->left + (point->x - plot->low_x) / (plot->high_x - plot->low_x) * plot->width,
    plot->top + PANEL_HEIGHT - (y - plot->low_y) / (plot->high_y - plot->low_y) * PANEL_HEIGHT,
  };
}

/* Of the points that fall into one pixel the highest and the lowest */
static void
thin (GArray *places)
{
  guint kept = 0;

  for (guint i = 0; i < places->len;)
    {
      IrLayoutPoint low = g_array_index (places, IrLayoutPoint, i), high = low;
      const double column = floor (low.x);
      guint n = 0;
      for (; i < places->len && floor (g_array_index (places, IrLayoutPoint, i).x) == column;
           i++, n++)
        {
          const IrLayoutPoint *point = &g_array_index (places, IrLayoutPoint, i);
          low = point->y > low.y ? *point : low;
          high = point->y < high.y ? *point : high;
        }
      const gboolean falls = high.x <= low.x;
      g_array_index (places, IrLayoutPoint, kept++) = falls ? high : low;
      if (n > 1)
        g_array_index (places, IrLayoutPoint, kept++) = falls ? low : high;
    }
  g_array_set_size (places, kept);
}

static void
add_line (ChartPage *page, const IrLayoutPoint *points, guint n, IrSceneState state)
{
  const IrSceneLine line = { .kind = IR_SCENE_LINE_PLAIN, .state = state, .from = -1, .to = -1 };

  ir_scene_add_line (page->scene, &line, points, n);
}

static void
add_curve (ChartPage *page, const Plot *plot, const IrChartCurve *curve, guint index)
{
  g_autoptr (GArray) places = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint));

  for (guint i = 0; i < curve->points->len; i++)
    {
      const IrLayoutPoint at = place_of (plot, &g_array_index (curve->points, IrLayoutPoint, i));
      g_array_append_val (places, at);
    }
  if (places->len == 0)
    return;
  thin (places);
  if (places->len == 1)
    {
      const IrLayoutPoint only = g_array_index (places, IrLayoutPoint, 0);
      const IrLayoutPoint end = { only.x + 3, only.y };
      g_array_append_val (places, end);
    }
  add_line (page, (const IrLayoutPoint *) (const void *) places->data, places->len,
            index == 0 ? IR_SCENE_MATCHED : IR_SCENE_CHANGED);
}

static void
add_tick (ChartPage *page, const Plot *plot, double y, const char *text)
{
  const double at = plot->top + PANEL_HEIGHT -
                    (y - plot->low_y) / (plot->high_y - plot->low_y) * PANEL_HEIGHT;

  chart_page_line (page, plot->left, at, plot->left + plot->width, at);
  page->y = at + 4;
  chart_page_text (page, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, plot->left - 6, LEFT - 8);
}

/* (transfer full) */
static char *
number_of (const IrChartPanel *panel, const char *format, double value)
{
  return panel->format != NULL ? panel->format (value) : g_strdup_printf (format, value);
}

static void
add_axes (ChartPage *page, const Plot *plot, const IrChartPanel *panel, const char *axis)
{
  const guint n = plot->is_log ? (guint) MIN (plot->high_y - plot->low_y, 4) : 2;
  g_autofree char *first = g_strdup_printf ("%s %.0f", axis, plot->low_x),
                  *last = g_strdup_printf ("%.0f", plot->high_x);

  for (guint i = 0; i <= n; i++)
    {
      double y = plot->low_y + (plot->high_y - plot->low_y) * i / n;
      if (plot->is_log)
        y = floor (y);
      g_autofree char *text = number_of (panel, "%.3g", plot->is_log ? pow (10, y) : y);
      add_tick (page, plot, y, text);
    }
  page->y = plot->top + PANEL_HEIGHT + 14;
  chart_page_text (page, first, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, plot->left,
                   plot->width / 2);
  chart_page_text (page, last, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, plot->left + plot->width,
                   plot->width / 2);
}

/* (transfer full): "— training 0.25", where the curve ends; NULL: it has no points */
static char *
end_text (const IrChartPanel *panel, guint i)
{
  static const char *const dashes[] = { "—", "–·–" };
  const IrChartCurve *curve = &g_array_index (panel->curves, IrChartCurve, i);
  const guint n = curve->points->len;

  if (n == 0)
    return NULL;
  g_autofree char *last = number_of (panel, "%.4g",
                                     g_array_index (curve->points, IrLayoutPoint, n - 1).y);
  return g_strdup_printf ("%s %s %s", dashes[MIN (i, G_N_ELEMENTS (dashes) - 1)], curve->name,
                          last);
}

/* "— training 0.25   –·– held out 0.3" beside the title, in a line below it, or in a line for each curve */
static void
add_legend (ChartPage *page, const Plot *plot, const IrChartPanel *panel, guint n_lines)
{
  g_autoptr (GString) line = g_string_new (NULL);

  for (guint i = 0; i < panel->curves->len; i++)
    {
      g_autofree char *text = end_text (panel, i);
      if (text == NULL)
        continue;
      if (n_lines > 1)
        g_string_truncate (line, 0);
      g_string_append_printf (line, "%s%s", line->len > 0 ? "   " : "", text);
      page->y += n_lines > 1 ? LEGEND_LINE : 0;
      if (n_lines > 1)
        chart_page_text (page, line->str, IR_SCENE_TEXT_LABEL, IR_SCENE_ALIGN_START, plot->left,
                         plot->width);
    }
  page->y += n_lines == 1 ? LEGEND_LINE : 0;
  if (n_lines == 1)
    chart_page_text (page, line->str, IR_SCENE_TEXT_LABEL, IR_SCENE_ALIGN_START, plot->left,
                     plot->width);
  else if (n_lines == 0)
    chart_page_text (page, line->str, IR_SCENE_TEXT_LABEL, IR_SCENE_ALIGN_END,
                     plot->left + plot->width, plot->width - TITLE_WIDTH);
}

/* Lines of legends below titles, which all panels leave room for */
static guint
count_lines (const IrChartPanel *panels, guint n, double width)
{
  guint most = 0;

  for (guint i = 0; i < n; i++)
    most = MAX (most, panels[i].curves->len);
  return width - LEFT - TITLE_WIDTH >= LEGEND_WIDTH ? 0 : width - LEFT >= LEGEND_WIDTH ? 1 : most;
}

static void
add_panel (ChartPage *page,
           const IrChartPanel *panel,
           const char *axis,
           guint n_lines,
           double x,
           double y,
           double width)
{
  Plot plot;
  const gboolean any = find_range (panel->curves, panel->logarithmic, &plot);

  plot.left = x + LEFT;
  plot.top = y + TITLE + n_lines * LEGEND_LINE;
  plot.width = width - LEFT;
  page->y = y + TITLE - 8;
  chart_page_text (page, panel->title, IR_SCENE_TEXT_TITLE, IR_SCENE_ALIGN_START, plot.left,
                   plot.width);
  add_legend (page, &plot, panel, n_lines);
  if (!any)
    {
      page->y = plot.top + PANEL_HEIGHT / 2;
      chart_page_text (page, "nothing yet", IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, plot.left,
                       plot.width);
      return;
    }
  add_axes (page, &plot, panel, axis);
  for (guint i = 0; i < panel->curves->len; i++)
    add_curve (page, &plot, &g_array_index (panel->curves, IrChartCurve, i), i);
}

/**
 * ir_chart_panels:
 * @panels: (array length=n): what is drawn
 * @n: how many
 * @axis: what lies along x
 * @options: (nullable): the drawing area
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_panels (const IrChartPanel *panels,
                 guint n,
                 const char *axis,
                 const IrChartOptions *options)
{
  ChartPage page = chart_page_new (WIDTH, options);
  page.width += options != NULL && options->width > 0 ? CHART_LABEL_WIDTH
                                                      : 0; /* no lanes: no names */
  const guint across = MAX (MIN ((guint) (page.width / PANEL_LEAST), MIN (n, 2)), 1);
  const double width = (page.width - GAP * (across - 1)) / across;
  const guint n_lines = count_lines (panels, n, width);
  const double height = TITLE + n_lines * LEGEND_LINE + PANEL_HEIGHT + TICKS + GAP;

  for (guint i = 0; i < n; i++)
    add_panel (&page, &panels[i], axis, n_lines, (i % across) * (width + GAP),
               (i / across) * height, width);
  ir_scene_finish (page.scene);
  return page.scene;
}
