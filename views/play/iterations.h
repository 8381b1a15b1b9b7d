/* Iterations of a loop as columns: what its values held in each, a scrubber over all of them, and the
 * series of one value as a line. */
#pragma once

#include "core/exec/run/flow-log.h"
#include "core/exec/run/loop-table.h"

#include <gtk/gtk.h>

#define IR_TYPE_ITERATIONS (ir_iterations_get_type ())
G_DECLARE_FINAL_TYPE (IrIterationsPane, ir_iterations, IR, ITERATIONS, GtkBox)

/* What is told when a value, or an iteration, is chosen; @value: 0: the iteration alone; @round: (nullable) */
typedef void (*IrIterationsChosen) (IrValueId value, const IrLoopRound *round, gpointer data);

GtkWidget *ir_iterations_new (IrIterationsChosen chosen, gpointer data);
/* @log: (nullable); @loop: (nullable) the first one that has values */
void ir_iterations_set (IrIterationsPane *self, IrFlowLog *log, const char *loop);
/* Other iterations of the same loop and run have come. */
void ir_iterations_set_log (IrIterationsPane *self, IrFlowLog *log);
/* Tells of the iteration on which the scrubber stands, as if it had just come there. */
void ir_iterations_tell (IrIterationsPane *self);
void ir_iterations_step (IrIterationsPane *self, int by);
