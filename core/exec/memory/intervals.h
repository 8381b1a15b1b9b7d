/* Which items lie where in a block. */
#pragma once

#include <glib.h>

typedef struct _IrMemSpots IrMemSpots;
typedef enum
{
  IR_MEM_SPOT_STAYS,
  IR_MEM_SPOT_GOES,  /* it is taken out */
  IR_MEM_SPOT_ENOUGH /* it stays, and no other one is asked for */
} IrMemSpotVerdict;
typedef IrMemSpotVerdict (*IrMemSpotFunc) (guint item, gpointer data);

IrMemSpots *ir_mem_spots_new (void);
void ir_mem_spots_add (IrMemSpots *spots, guint item, guint64 at, guint64 size);
void ir_mem_spots_visit (
    IrMemSpots *spots, guint64 at, guint64 size, IrMemSpotFunc look, gpointer data);
IrMemSpots *ir_mem_spots_join (
    IrMemSpots *whole, IrMemSpots *part, guint64 at, IrMemSpotFunc look, gpointer data);
void ir_mem_spots_free (IrMemSpots *spots);
