/* Which items lie where in a block. */
#pragma once

#include <glib.h>

typedef struct _IrMemSpots IrMemIntervals;
typedef enum
{
  IR_MEM_INTERVAL_KEEP,
  IR_MEM_INTERVAL_REMOVE, /* it is taken out */
  IR_MEM_INTERVAL_STOP    /* it stays, and no other one is asked for */
} IrMemIntervalVerdict;
typedef IrMemIntervalVerdict (*IrMemIntervalFunc) (guint item, gpointer data);

IrMemIntervals *ir_mem_intervals_new (void);
void ir_mem_intervals_add (IrMemIntervals *intervals, guint item, guint64 at, guint64 size);
void ir_mem_intervals_visit (
    IrMemIntervals *intervals, guint64 at, guint64 size, IrMemIntervalFunc look, gpointer data);
IrMemIntervals *ir_mem_intervals_join (
    IrMemIntervals *whole, IrMemIntervals *part, guint64 at, IrMemIntervalFunc look, gpointer data);
void ir_mem_intervals_free (IrMemIntervals *intervals);
