/* Values of a loop by iterations: what a run with %IR_ITERATIONS_SERIES has of them, as a table. */
#pragma once

#include "core/exec/run/iterations.h"

/* An iteration, in the order in which they began. */
typedef struct
{
  const char *frame; /* "outer@3/inner" */
  gint64 iteration;
} IrLoopRound;

/* A value. */
typedef struct
{
  IrValueId value;
  const GArray *series; /* of IrSeriesPoint: in those iterations in which it was computed */
  guint32 *points;      /* by round: 1 + index in @series; 0: it was not computed there */
} IrLoopRow;

typedef struct
{
  GArray *rounds; /* of IrLoopRound */
  GArray *rows;   /* of IrLoopRow, by value */
} IrLoopTable;

IrLoopTable *ir_loop_table_new (const IrRun *run, const char *loop);
void ir_loop_table_free (IrLoopTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrLoopTable, ir_loop_table_free)
const IrSeriesPoint *ir_loop_table_point (const IrLoopTable *table, guint row, guint round);
GArray *ir_loop_values (
    const IrModel *model); /* (transfer full) of IrValueId: those of all loops */
