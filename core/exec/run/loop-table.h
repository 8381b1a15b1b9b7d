/* Values of a loop by iterations: what the log of a run has of their statistics, as a table. Where these are too many
 * the rounds of a part are there, if the outermost loop around can be played again, and each value as a line that was
 * thinned out. */
#pragma once

#include "core/exec/run/flow-log.h"

/* An iteration, in the order in which they began. */
typedef struct
{
  const char *frame; /* "outer@3/inner" */
  gint64 iteration;
  IrNodeId loop;      /* the outermost around, where it can be played again */
  gint64 first, last; /* likewise: it is in one of these iterations of that */
} IrLoopRound;

/* A value. */
typedef struct
{
  IrValueId value;
  GArray *line;    /* of IrSeriesPoint: of the whole loop, maybe several rounds in each */
  GArray *series;  /* (nullable) likewise: single rounds, in which it was computed */
  guint32 *points; /* by round from the first that there is: 1 + index in @series; 0: none */
} IrLoopRow;

typedef struct
{
  GArray *rounds; /* of IrLoopRound: those that there are */
  GArray *rows;   /* of IrLoopRow, by value */
  IrNodeId loop;  /* the outermost, of which other rounds are in no part yet; 0: all are there */
  guint n_rounds; /* likewise: with them */
  const GArray *line; /* (nullable) of a loop in a loop: the value that is in each round */
  guint step;         /* likewise: rounds in a point of it */
  guint first;        /* likewise: the first that there is */
  char *name;         /* of the loop */
  const IrFlowLog *log;
} IrLoopTable;

IrLoopTable *ir_loop_table_new (const IrFlowLog *log, const char *loop);
void ir_loop_table_free (IrLoopTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrLoopTable, ir_loop_table_free)
guint ir_loop_table_n_rounds (const IrLoopTable *table);
IrLoopRound ir_loop_table_round (const IrLoopTable *table, guint round);
gboolean ir_loop_table_has_round (const IrLoopTable *table, guint round);
const IrSeriesPoint *ir_loop_table_point (const IrLoopTable *table, guint row, guint round);
GArray *ir_loop_values (
    const IrModel *model); /* (transfer full) of IrValueId: those of all loops */
