/* All values of two graphs as a table: those that are the same value, with how they differ where both were run,
 * and those that have no partner. */
#pragma once

#include "core/diff/match-values.h"
#include "passes/proof/compare-values.h"

/* One value, or two that are the same. */
typedef struct
{
  const IrValue *a, *b;        /* (nullable): none on that side */
  IrPaired how;                /* %IR_PAIRED_NOT: it has no partner */
  const IrComparedValue *item; /* (nullable): it has no partner, or nothing was run */
  guint order;                 /* of execution; those without partner come behind */
} IrValueRow;

typedef enum
{
  IR_VALUES_BY_ORDER,
  IR_VALUES_BY_A,
  IR_VALUES_BY_B,
  IR_VALUES_BY_ABS, /* the largest first */
  IR_VALUES_BY_REL,
  IR_VALUES_BY_ULP,
  IR_N_VALUE_ORDERS
} IrValueOrder;

const char *ir_value_order_name (IrValueOrder order); /* "abs" */

/* Of IrValueRow, in the order of execution. They borrow from @values, or from the models of @diff. */
GArray *ir_value_rows (const IrComparedValues *values);
GArray *ir_value_rows_of_structure (const IrDiff *diff, GHashTable *matched);
void ir_value_rows_sort (GArray *rows, IrValueOrder order);
const char *ir_value_row_verdict (const IrValueRow *row);
char *ir_value_rows_csv (const GArray *rows); /* (transfer full) */
