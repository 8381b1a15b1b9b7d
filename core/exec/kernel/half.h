/* Elements in float16 and bfloat16 as float32, and back: rounded to nearest even. */
#pragma once

#include "core/ir/tensor.h"

typedef guint16 IrHalf __attribute__ ((aligned (1))); /* as files have them, at any address */

typedef struct
{
  void (*widen) (const IrHalf *x, float *y, gint64 n);
  void (*narrow) (const float *x, guint16 *y, gint64 n);
} IrHalfLoops;
IrHalfLoops ir_half_loops (IrDtype dtype, gboolean plain);
