/* A score over the steps as a line, from 0, so that half as high is half as dear; rises have marks
 * of their own form. Shared by the scoreboard and the step bar. */
#pragma once

#include "passes/debug/scoreboard.h"

#include <gtk/gtk.h>

typedef struct
{
  const IrScoreboard *board;
  IrScore score;
  double start, end;  /* px: x of the original and of the last step */
  double top, bottom; /* px */
} IrSparkline;

char *ir_change_in_percent (double from, double to); /* "-12 %", "+0.4 %" */
double ir_sparkline_x (const IrSparkline *line, guint step);
void ir_sparkline_colour (GtkWidget *widget, cairo_t *cr, const char *name, double alpha);
void ir_sparkline_draw (const IrSparkline *line, cairo_t *cr);
void ir_sparkline_draw_spikes (const IrSparkline *line, cairo_t *cr);
guint ir_sparkline_step_at (const IrSparkline *line, double x, gboolean all_scores);
gboolean ir_sparkline_any_spike (const IrScoreboard *board, guint step);
