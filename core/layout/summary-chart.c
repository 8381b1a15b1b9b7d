/* A model at a glance, drawn: bars of operators and of scopes, and the roofline plot of Williams, Waterman
 * and Patterson 2009: operations per second over operations per byte, below what memory and arithmetic
 * allow. */
#include "config.h"

#include "core/layout/charts-private.h"

#include "core/ir/count.h"
#include "core/op/op.h"

#include <math.h>

#define WIDTH       900.0
#define LINE        16.0 /* px from a line of the title to the next */
#define MOST_ROWS   16
#define PLOT_HEIGHT 280.0
#define PLOT_LEFT   80.0
#define PLOT_RIGHT  60.0
#define NAME_ROOM   90.0 /* px that the name of a point may want to the right of it */
#define TICK_ROOM   34.0 /* px from one number of an axis to the next */
#define POINT       8.0

static guint8
colour_of (const IrSummaryRow *row)
{
  return row->family < IR_N_FAMILIES ? row->family : IR_SCENE_COLOUR_UNKNOWN;
}

static const char *
name_of (const IrSummaryRow *row)
{
  return row->name[0] != '\0' ? row->name : "(no scope)";
}

/* "1.23 MFLOP" */
static char *
quantity_text (double amount, const char *of)
{
  static const char *const units[] = { "", "k", "M", "G", "T" };
  guint unit = 0;

  for (; amount >= 1000 && unit + 1 < G_N_ELEMENTS (units); unit++)
    amount /= 1000;
  return g_strdup_printf ("%.4g %s%s", amount, units[unit], of);
}

/* "1.23 M" */
static char *
number_text (double amount)
{
  return g_strchomp (quantity_text (amount, ""));
}

/* "1.23 M", "4.5 MiB", "12 µs" */
static char *
amount_text (const IrSummaryRow *row, IrSummaryKey key)
{
  const double amount = ir_summary_amount (row, key);

  if (key == IR_SUMMARY_BYTES)
    return g_format_size_full (row->bytes, G_FORMAT_SIZE_IEC_UNITS);
  if (key == IR_SUMMARY_TIME)
    return g_strdup_printf (amount < 1e6 ? "%.4g µs" : "%.4g ms",
                            amount / (amount < 1e6 ? 1e3 : 1e6));
  return number_text (amount);
}

static void
add_bars (
    ChartPage *page, const char *title, const GArray *rows, IrSummaryKey key, const char *prefix)
{
  double most = 0;

  chart_page_title (page, title);
  for (guint i = 0; i < rows->len; i++)
    most = MAX (most, ir_summary_amount (&g_array_index (rows, IrSummaryRow, i), key));
  for (guint i = 0; i < MIN (rows->len, MOST_ROWS); i++)
    {
      const IrSummaryRow *row = &g_array_index (rows, IrSummaryRow, i);
      g_autofree char *text = amount_text (row, key), *id = g_strdup_printf ("%s%u", prefix, i),
                      *tip = g_strdup_printf ("%s\n%s in %u nodes", name_of (row), text,
                                              row->n_nodes);

      chart_page_bar (page, name_of (row), text, most > 0 ? ir_summary_amount (row, key) / most : 0,
                      &(IrSceneBox){ .colour = colour_of (row),
                                     .node = row->node,
                                     .key = row->node,
                                     .id = id,
                                     .tip = tip });
    }
  if (rows->len > MOST_ROWS)
    {
      g_autofree char *more = g_strdup_printf ("and %u more", rows->len - MOST_ROWS);

      page->y += CHART_PAGE_ROW;
      chart_page_text (page, more, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, 0,
                       CHART_PAGE_NAME_WIDTH);
    }
}

/* -- values, and where nodes run -- */

static char *
bytes_text (guint64 bytes)
{
  return g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
}

static void
add_dtypes (ChartPage *page, const IrSummary *summary)
{
  chart_page_title (page, "Element types by bytes");
  for (guint i = 0; i < summary->dtypes->len; i++)
    {
      const IrSummaryDtype *row = &g_array_index (summary->dtypes, IrSummaryDtype, i),
                           *first = &g_array_index (summary->dtypes, IrSummaryDtype, 0);
      const guint64 bytes = row->constant_bytes + row->computed_bytes,
                    most = first->constant_bytes + first->computed_bytes;
      g_autofree char *text = bytes_text (bytes), *id = g_strdup_printf ("d%u", i),
                      *tip = g_strdup_printf (
                          "%s\n%u constants, %u computed values%s", ir_dtype_name (row->dtype),
                          row->n_constants, row->n_computed,
                          row->partial ? "\nsizes that are not known count as 1" : "");

      chart_page_bar (page, ir_dtype_name (row->dtype), text,
                      most > 0 ? (double) bytes / (double) most : 0,
                      &(IrSceneBox){ .colour = IR_SCENE_COLOUR_CONSTANT, .id = id, .tip = tip });
    }
}

/* A bar selects the node that computes the value, or the first that reads it. */
static IrNodeId
node_of (const IrValue *value)
{
  const IrNode *reader = ir_value_n_node_uses (value) > 0 ? ir_value_use (value, 0).node : NULL;

  return value->producer != NULL ? value->producer->id : reader != NULL ? reader->id : 0;
}

static void
add_tensors (ChartPage *page, const IrSummary *summary)
{
  if (summary->tensors->len == 0)
    return;
  chart_page_title (page, "Largest tensors");
  for (guint i = 0; i < summary->tensors->len; i++)
    {
      const IrSummaryTensor *row = &g_array_index (summary->tensors, IrSummaryTensor, i),
                            *first = &g_array_index (summary->tensors, IrSummaryTensor, 0);
      const IrValue *value = ir_model_value (summary->model, row->value);
      g_autofree char *type = ir_type_to_string (summary->model->context,
                                                 ir_value_shown_type (value)),
                      *text = bytes_text (row->bytes), *id = g_strdup_printf ("v%u", i),
                      *tip = g_strdup_printf ("%s\n%s%s", value->name, type,
                                              row->constant ? ", a constant" : "");

      chart_page_bar (
          page, value->name, text, (double) row->bytes / (double) first->bytes,
          &(IrSceneBox){ .colour = row->constant ? IR_SCENE_COLOUR_CONSTANT : IR_SCENE_COLOUR_INPUT,
                         .node = node_of (value),
                         .key = node_of (value),
                         .id = id,
                         .tip = tip });
    }
}

static void
add_places (ChartPage *page, const IrSummary *summary)
{
  chart_page_title (page, "Where nodes would run");
  for (guint i = 0; i < summary->places->len; i++)
    {
      const IrSummaryPlace *row = &g_array_index (summary->places, IrSummaryPlace, i);
      g_autofree char *text = g_strdup_printf ("%u", row->n_nodes),
                      *id = g_strdup_printf ("p%u", i),
                      *name = row->why != NULL ? g_strdup_printf ("%s: %s", row->where, row->why)
                                               : g_strdup (row->where);

      chart_page_bar (page, name, text,
                      summary->n_nodes > 0 ? (double) row->n_nodes / summary->n_nodes : 0,
                      &(IrSceneBox){ .colour = row->why != NULL ? IR_SCENE_COLOUR_UNKNOWN
                                                                : IR_SCENE_COLOUR_FOLD,
                                     .node = row->node,
                                     .key = row->node,
                                     .id = id,
                                     .tip = name });
    }
}

/* -- the roofline -- */

/* Decades of both axes. */
typedef struct
{
  double low_x, high_x, low_y, high_y; /* powers of ten */
  double left, top, width, height;     /* px */
} Plot;

static double
x_of (const Plot *plot, double intensity)
{
  return plot->left +
         (log10 (intensity) - plot->low_x) / (plot->high_x - plot->low_x) * plot->width;
}

static double
y_of (const Plot *plot, double rate)
{
  return plot->top + (plot->high_y - log10 (rate)) / (plot->high_y - plot->low_y) * plot->height;
}

/* Billions of operations per second; 0: no point. */
static double
rate_of (const IrSummaryRow *row)
{
  return row->time_ns > 0 && row->flops > 0 && row->bytes > 0
             ? (double) row->flops / (double) row->time_ns
             : 0;
}

static void
find_decades (Plot *plot, const GArray *rows, const IrRoofline *peaks)
{
  const double ridge = peaks->gflops / peaks->gbps;

  plot->low_x = floor (log10 (ridge)) - 2;
  plot->high_x = ceil (log10 (ridge)) + 1;
  plot->high_y = ceil (log10 (peaks->gflops));
  plot->low_y = plot->high_y - 3;
  for (guint i = 0; i < rows->len; i++)
    {
      const IrSummaryRow *row = &g_array_index (rows, IrSummaryRow, i);
      const double rate = rate_of (row);

      if (rate <= 0)
        continue;
      const double intensity = log10 (ir_summary_amount (row, IR_SUMMARY_INTENSITY));
      plot->low_x = MIN (plot->low_x, floor (intensity));
      plot->high_x = MAX (plot->high_x, ceil (intensity));
      plot->low_y = MIN (plot->low_y, floor (log10 (rate)));
      plot->high_y = MAX (plot->high_y, ceil (log10 (rate)));
    }
}

static void
add_axes (ChartPage *page, const Plot *plot)
{
  const double y = page->y, decade = plot->width / (plot->high_x - plot->low_x),
               every = ceil (TICK_ROOM / decade);

  for (double x = plot->low_x; x <= plot->high_x; x++)
    {
      const double at = x_of (plot, pow (10, x));
      g_autofree char *text = g_strdup_printf ("%g", pow (10, x));

      chart_page_line (page, at, plot->top, at, plot->top + plot->height);
      page->y = plot->top + plot->height + 16;
      if (fmod (x - plot->low_x, every) == 0)
        chart_page_text (page, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_MIDDLE, at, 80);
    }
  for (double r = plot->low_y; r <= plot->high_y; r++)
    {
      const double at = y_of (plot, pow (10, r));
      g_autofree char *text = g_strdup_printf ("%g", pow (10, r));

      chart_page_line (page, plot->left, at, plot->left + plot->width, at);
      page->y = at + 4;
      chart_page_text (page, text, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, plot->left - 8, 60);
    }
  page->y = y;
}

static void
add_point (ChartPage *page, const Plot *plot, const IrSummaryRow *row, guint index)
{
  const double rate = rate_of (row), intensity = ir_summary_amount (row, IR_SUMMARY_INTENSITY);
  g_autofree char *id = g_strdup_printf ("r%u", index),
                  *tip = g_strdup_printf ("%s\n%.4g GFLOP/s at %.4g FLOP per byte", name_of (row),
                                          rate, intensity);
  const IrSceneBox box = { .kind = IR_SCENE_PLAIN,
                           .colour = colour_of (row),
                           .parent = -1,
                           .x = x_of (plot, intensity) - POINT / 2,
                           .y = y_of (plot, rate) - POINT / 2,
                           .width = POINT,
                           .height = POINT,
                           .header = POINT,
                           .node = row->node,
                           .key = row->node,
                           .id = id,
                           .tip = tip };
  const double y = page->y;
  const gboolean at_rim = box.x + POINT + NAME_ROOM > page->width;

  ir_scene_add_box (page->scene, &box);
  page->y = box.y + POINT;
  chart_page_text (page, name_of (row), IR_SCENE_TEXT_CAPTION,
                   at_rim ? IR_SCENE_ALIGN_END : IR_SCENE_ALIGN_START,
                   at_rim ? box.x - 4 : box.x + POINT + 4, 120);
  page->y = y;
}

/* A line, or one for each part where there is little room. */
static void
add_roofline_title (ChartPage *page, const IrRoofline *peaks)
{
  g_autofree char *most = g_strdup_printf ("at most %.4g GFLOP/s and %.4g GB/s", peaks->gflops,
                                           peaks->gbps),
                  *all = g_strdup_printf ("Roofline: GFLOP/s over FLOP per byte; %s", most);
  const gboolean narrow = page->width < CHART_PAGE_NARROW;

  chart_page_title (page, narrow ? "Roofline" : all);
  for (const char **line = (const char *[]){ "GFLOP/s over FLOP per byte", most, NULL };
       narrow && *line != NULL; line++)
    {
      page->y += LINE;
      chart_page_text (page, *line, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, 0, page->width);
    }
}

static void
add_roofline (ChartPage *page, const GArray *rows, const IrRoofline *peaks)
{
  const gboolean narrow = page->width < CHART_PAGE_NARROW;
  const double left = narrow ? PLOT_LEFT / 2 : PLOT_LEFT, right = narrow ? 12 : PLOT_RIGHT;
  Plot plot = { .left = left, .width = page->width - left - right, .height = PLOT_HEIGHT };
  double ridge = peaks->gflops / peaks->gbps, low;

  add_roofline_title (page, peaks);
  plot.top = page->y + 16;
  find_decades (&plot, rows, peaks);
  add_axes (page, &plot);
  low = MAX (pow (10, plot.low_x), pow (10, plot.low_y) / peaks->gbps);
  for (guint twice = 0; twice < 2; twice++) /* so that it stands out from the grid */
    {
      chart_page_line (page, x_of (&plot, low), y_of (&plot, low * peaks->gbps) + twice,
                       x_of (&plot, ridge), y_of (&plot, peaks->gflops) + twice);
      chart_page_line (page, x_of (&plot, ridge), y_of (&plot, peaks->gflops) + twice,
                       plot.left + plot.width, y_of (&plot, peaks->gflops) + twice);
    }
  for (guint i = 0; i < rows->len; i++)
    if (rate_of (&g_array_index (rows, IrSummaryRow, i)) > 0)
      add_point (page, &plot, &g_array_index (rows, IrSummaryRow, i), i);
  page->y = plot.top + plot.height + 24;
}

/**
 * ir_chart_summary:
 * @summary: a summary, whose rows are sorted as they are to stand
 * @key: what bars are as long as
 * @peaks: (nullable): what the machine can do at most: with times a roofline plot is drawn
 * @options: (nullable): how to draw
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_summary (const IrSummary *summary,
                  IrSummaryKey key,
                  const IrRoofline *peaks,
                  const IrChartOptions *options)
{
  ChartPage page = chart_page_new (WIDTH, options);
  g_autofree char *bytes = g_format_size_full (summary->bytes, G_FORMAT_SIZE_IEC_UNITS),
                  *held = g_format_size_full (summary->param_bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *params = number_text ((double) summary->params),
                  *flops = quantity_text ((double) summary->flops, "FLOP"),
                  *moved = g_strdup_printf ("%s moved", bytes);
  g_autofree char *nodes = ir_count_text (summary->n_nodes),
                  *size = g_strdup_printf ("%s nodes, %s parameters in %s", nodes, params, held),
                  *work = g_strdup_printf ("a run: %s%s", summary->partial ? "at least " : "",
                                           flops),
                  *title = g_strdup_printf ("%s; %s, %s", size, work, moved);
  static const char *const by[] = {
    [IR_SUMMARY_NAME] = "nodes",        [IR_SUMMARY_NODES] = "nodes",
    [IR_SUMMARY_PARAMS] = "parameters", [IR_SUMMARY_FLOPS] = "FLOPs",
    [IR_SUMMARY_BYTES] = "bytes moved", [IR_SUMMARY_INTENSITY] = "FLOPs per byte",
    [IR_SUMMARY_TIME] = "time",
  };
  g_autofree char *ops = g_strdup_printf ("Operators by %s", by[key]),
                  *scopes = g_strdup_printf ("Scopes by %s", by[key]);

  if (page.width >= CHART_PAGE_NARROW)
    chart_page_text (&page, title, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, 0, page.width);
  else
    for (char **line = (char *[]){ size, work, moved, NULL }; *line != NULL; line++)
      {
        chart_page_text (&page, *line, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, 0, page.width);
        page.y += line[1] != NULL ? LINE : 0;
      }
  /* Whoever asks for it sees it without scrolling. */
  if (peaks != NULL && peaks->gflops > 0 && peaks->gbps > 0)
    add_roofline (&page, summary->ops, peaks);
  const IrSummaryKey bars = key == IR_SUMMARY_NAME ? IR_SUMMARY_NODES : key;
  add_bars (&page, ops, summary->ops, bars, "o");
  add_bars (&page, scopes, summary->scopes, bars, "s");
  add_dtypes (&page, summary);
  add_tensors (&page, summary);
  add_places (&page, summary);
  ir_scene_finish (page.scene);
  return page.scene;
}
