/* Bars of magnitudes that lie many powers of ten apart: derivatives by parameter and by node. All sections
 * have the same logarithmic axis; what is 0 or not finite has no length, and says so. */
#include "config.h"

#include "core/ir/problem.h"
#include "core/layout/charts-private.h"

#include <math.h>

#define WIDTH        900.0
#define MOST_BARS    400
#define MOST_DECADES 40.0
#define LEAST_PART   0.01

static void
clear_bar (gpointer data)
{
  IrChartMagnitude *bar = data;

  g_free (bar->name);
  g_free (bar->text);
  g_free (bar->tip);
}

static void
clear_section (gpointer data)
{
  IrChartSection *section = data;

  g_free (section->title);
  g_array_unref (section->bars);
}

/**
 * ir_chart_sections_new:
 *
 * Returns: (transfer full): of #IrChartSection: none yet
 */
GArray *
ir_chart_sections_new (void)
{
  GArray *sections = g_array_new (FALSE, FALSE, sizeof (IrChartSection));

  g_array_set_clear_func (sections, clear_section);
  return sections;
}

/**
 * ir_chart_sections_add:
 * @sections: of #IrChartSection
 * @title: what its bars are
 */
void
ir_chart_sections_add (GArray *sections, const char *title)
{
  IrChartSection section = { g_strdup (title),
                             g_array_new (FALSE, FALSE, sizeof (IrChartMagnitude)) };

  g_array_set_clear_func (section.bars, clear_bar);
  g_array_append_val (sections, section);
}

/**
 * ir_chart_sections_add_bar:
 * @sections: of #IrChartSection; at least one
 * @bar: (transfer none): copied to the last of them
 */
void
ir_chart_sections_add_bar (GArray *sections, const IrChartMagnitude *bar)
{
  IrChartSection *last = &g_array_index (sections, IrChartSection, sections->len - 1);
  IrChartMagnitude copy = *bar;

  copy.name = g_strdup (bar->name);
  copy.text = g_strdup (bar->text);
  copy.tip = g_strdup (bar->tip);
  g_array_append_val (last->bars, copy);
}

static gboolean
has_length (const IrChartMagnitude *bar)
{
  return isfinite (bar->amount) && bar->amount > 0;
}

/* Powers of ten; FALSE: nothing has a length */
static gboolean
find_decades (const GArray *sections, double *low, double *high)
{
  *low = INFINITY;
  *high = -INFINITY;
  for (guint i = 0; i < sections->len; i++)
    {
      const GArray *bars = g_array_index (sections, IrChartSection, i).bars;
      for (guint k = 0; k < bars->len; k++)
        {
          const IrChartMagnitude *bar = &g_array_index (bars, IrChartMagnitude, k);
          if (!has_length (bar))
            continue;
          *low = MIN (*low, floor (log10 (bar->amount)));
          *high = MAX (*high, ceil (log10 (bar->amount)));
        }
    }
  if (*low > *high)
    return FALSE;
  *low = MIN (*low, *high - 1);
  *low = MAX (*low, *high - MOST_DECADES);
  return TRUE;
}

static guint8
colour_of (const IrChartMagnitude *bar, const IrModel *model)
{
  const IrNode *node = ir_model_live_node (model, bar->node);

  return node != NULL ? chart_colour_of (node) : IR_SCENE_COLOUR_CONSTANT;
}

static void
add_section (ChartPage *page,
             const IrChartSection *section,
             guint index,
             double low,
             double high,
             const IrModel *model)
{
  chart_page_title (page, section->title);
  for (guint i = 0; i < MIN (section->bars->len, MOST_BARS); i++)
    {
      const IrChartMagnitude *bar = &g_array_index (section->bars, IrChartMagnitude, i);
      const double part = has_length (bar) ? (log10 (bar->amount) - low) / (high - low) : 0;
      g_autofree char *id = g_strdup_printf ("m%u-%u", index, i);

      chart_page_bar (page, bar->name, bar->text,
                      has_length (bar) ? CLAMP (part, LEAST_PART, 1) : 0,
                      &(IrSceneBox){ .colour = colour_of (bar, model),
                                     .node = bar->node,
                                     .key = bar->node,
                                     .problem = bar->warn ? 1 + IR_SEVERITY_WARNING : 0,
                                     .id = id,
                                     .tip = bar->tip });
    }
  if (section->bars->len <= MOST_BARS)
    return;
  g_autofree char *more = g_strdup_printf ("and %u more", section->bars->len - MOST_BARS);
  page->y += CHART_PAGE_ROW;
  chart_page_text (page, more, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, 0,
                   CHART_PAGE_NAME_WIDTH);
}

/**
 * ir_chart_magnitudes:
 * @sections: of #IrChartSection
 * @note: (nullable): a line above them
 * @model: whose nodes give bars their colours
 * @options: (nullable): the drawing area
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_magnitudes (const GArray *sections,
                     const char *note,
                     const IrModel *model,
                     const IrChartOptions *options)
{
  ChartPage page = chart_page_new (WIDTH, options);
  double low = 0, high = 1;
  const gboolean any = find_decades (sections, &low, &high);
  g_autofree char *axis = any ? g_strdup_printf ("Bars are logarithmic, from 1e%.0f to 1e%.0f", low,
                                                 high)
                              : g_strdup ("All of it is 0 or not finite");

  if (note != NULL)
    {
      chart_page_text (&page, note, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, 0, page.width);
      page.y += CHART_PAGE_ROW;
    }
  chart_page_text (&page, axis, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, 0, page.width);
  for (guint i = 0; i < sections->len; i++)
    add_section (&page, &g_array_index (sections, IrChartSection, i), i, low, high, model);
  ir_scene_finish (page.scene);
  return page.scene;
}
