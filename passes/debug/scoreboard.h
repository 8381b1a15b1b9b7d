/* The scoreboard: what the graph costs after each step of a history, and where it got dearer. */
#pragma once

#include "core/layout/charts.h"
#include "passes/debug/probe.h"

typedef enum
{
  IR_SCORE_NODES, /* counted as ir_model_n_counted_nodes() */
  IR_SCORE_FLOPS,
  IR_SCORE_BYTES, /* read and written by all nodes */
  IR_SCORE_PEAK,  /* bytes of the memory plan on one worker */
  IR_N_SCORES
} IrScore;

/* Immutable once made. */
typedef struct
{
  gatomicrefcount ref_count;
  guint n_steps;
  double *values[IR_N_SCORES]; /* n_steps + 1 each, by step; NaN: not known */
  guint8 *by_hand;             /* n_steps + 1: an edit, which may make the graph dearer */
  char *problem;               /* (nullable) why some peak is not known */
} IrScoreboard;

gboolean ir_scores_measure (IrTrial *trial, guint step, double *values, GError **error);
IrScoreboard *ir_scoreboard_new (IrTrial *trial,
                                 void (*progress) (guint done, guint total, gpointer data),
                                 gpointer data,
                                 GError **error);
IrScoreboard *ir_scoreboard_ref (IrScoreboard *board);
void ir_scoreboard_unref (IrScoreboard *board);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrScoreboard, ir_scoreboard_unref)

double ir_scoreboard_value (const IrScoreboard *board, IrScore score, guint step);
double ir_scoreboard_change (const IrScoreboard *board, IrScore score, guint step);
gboolean ir_scoreboard_is_spike (const IrScoreboard *board, IrScore score, guint step);
IrScene *ir_scoreboard_chart (const IrScoreboard *board, const IrChartOptions *options);
const char *ir_score_name (IrScore score);  /* "peak_bytes": JSON */
const char *ir_score_title (IrScore score); /* "Peak memory" */
char *ir_score_text (IrScore score, double value);
char *ir_score_change_text (IrScore score, double before, double after);
