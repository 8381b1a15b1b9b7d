#include "config.h"

#include "views/sparkline.h"

#include <math.h>

#define CATCH 7.0 /* px: a click so near to a mark means it */

/**
 * ir_change_in_percent:
 * @from: what was, not 0
 * @to: what is
 *
 * Returns: (transfer full): with a decimal where less than one in a hundred would say nothing
 */
char *
ir_change_in_percent (double from, double to)
{
  const double percent = (to - from) / from * 100;

  if (fabs (percent) < 0.05)
    return g_strdup ("±0 %");
  return g_strdup_printf (fabs (percent) < 0.95 ? "%+.1f %%" : "%+.0f %%", percent);
}

double
ir_sparkline_x (const IrSparkline *line, guint step)
{
  return line->start + (line->end - line->start) * step / MAX (line->board->n_steps, 1);
}

static double
most_of (const IrSparkline *line)
{
  double most = 0;

  for (guint step = 0; step <= line->board->n_steps; step++)
    most = fmax (most, ir_scoreboard_value (line->board, line->score, step)); /* passes over NaN */
  return most;
}

static double
y_of (const IrSparkline *line, guint step, double most)
{
  const double value = ir_scoreboard_value (line->board, line->score, step);

  return line->bottom - (line->bottom - line->top) * (most > 0 ? value / most : 0);
}

/* A named colour of the theme. */
void
ir_sparkline_colour (GtkWidget *widget, cairo_t *cr, const char *name, double alpha)
{
  GtkStyleContext *style = gtk_widget_get_style_context (widget);
  GdkRGBA colour;

  if (!gtk_style_context_lookup_color (style, name, &colour))
    gtk_style_context_get_color (style, &colour);
  colour.alpha *= (float) alpha;
  gdk_cairo_set_source_rgba (cr, &colour);
}

void
ir_sparkline_draw (const IrSparkline *line, cairo_t *cr)
{
  const double most = most_of (line);
  gboolean is_down = FALSE;

  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  for (guint step = 0; step <= line->board->n_steps; step++)
    {
      if (isnan (ir_scoreboard_value (line->board, line->score, step)))
        {
          is_down = FALSE;
          continue;
        }
      (is_down ? cairo_line_to : cairo_move_to) (cr, ir_sparkline_x (line, step),
                                                 y_of (line, step, most));
      is_down = TRUE;
    }
  cairo_stroke (cr);
}

/* Triangles, so that the marks are told by their form too. */
void
ir_sparkline_draw_spikes (const IrSparkline *line, cairo_t *cr)
{
  const double most = most_of (line);

  for (guint step = 1; step <= line->board->n_steps; step++)
    if (ir_scoreboard_is_spike (line->board, line->score, step))
      {
        const double x = ir_sparkline_x (line, step);
        const double y = MAX (y_of (line, step, most) - 3, 6);

        cairo_move_to (cr, x, y - 6);
        cairo_line_to (cr, x + 5, y + 2);
        cairo_line_to (cr, x - 5, y + 2);
        cairo_close_path (cr);
        cairo_fill (cr);
      }
}

gboolean
ir_sparkline_any_spike (const IrScoreboard *board, guint step)
{
  for (guint i = 0; i < IR_N_SCORES; i++)
    if (ir_scoreboard_is_spike (board, i, step))
      return TRUE;
  return FALSE;
}

/* The step under @x; a rise that is near, of the line's score or of any, catches it. */
guint
ir_sparkline_step_at (const IrSparkline *line, double x, gboolean all_scores)
{
  const double part = (x - line->start) / MAX (line->end - line->start, 1);
  guint nearest = (guint) (CLAMP (part, 0, 1) * line->board->n_steps + 0.5);
  double distance = CATCH;

  for (guint step = 1; step <= line->board->n_steps; step++)
    if ((all_scores ? ir_sparkline_any_spike (line->board, step)
                    : ir_scoreboard_is_spike (line->board, line->score, step)) &&
        fabs (ir_sparkline_x (line, step) - x) < distance)
      {
        nearest = step;
        distance = fabs (ir_sparkline_x (line, step) - x);
      }
  return nearest;
}
