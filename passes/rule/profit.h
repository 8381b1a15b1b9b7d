/* Whether a rewrite is worth it, by the table of rates (core/exec/schedule/rates.h). */
#pragma once

#include "passes/pass.h"

/* Of one application: begins as { .known = TRUE }. */
typedef struct
{
  double before_us, after_us;
  gboolean known; /* all sizes are; else nothing is refused */
} IrProfit;

void ir_profit_removed (IrProfit *profit, const IrNode *node); /* before it is removed */
void ir_profit_made (IrProfit *profit, const IrNode *node);    /* with its types */
char *ir_profit_refusal (const IrProfit *profit);
