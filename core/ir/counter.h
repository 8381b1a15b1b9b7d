/* Conditions of loops that compare a counter with a constant, and when they end: of Loops (core/op/trips.c) and of loops of
 * tokens (induction.c). */
#pragma once

#include "core/ir/model.h"

/* How a loop forwards values, and which conditions never end it. */
typedef struct
{
  const IrValue *(*origin) (const IrValue *value,
                            gconstpointer data); /* (nullable) where it comes from */
  gboolean (*is_true) (const IrValue *value, gconstpointer data); /* (nullable) @value */
  gconstpointer data;
} IrCounterScope;

/* @counter + @offset < @limit; <= where @or_equal, > and >= where @above. */
typedef struct
{
  const IrValue *counter; /* (nullable) where it comes from */
  gint64 offset, limit;
  gboolean above, or_equal;
} IrComparison;

const IrValue *ir_counter_read (const IrCounterScope *scope, const IrValue *value, gint64 *offset);
gboolean ir_comparison_read (const IrCounterScope *scope,
                             const IrValue *condition,
                             IrComparison *comparison);
gint64 ir_comparison_ends (const IrComparison *comparison, gint64 first, gint64 step);
