/* Which values of two graphs are the same value: pair-values.h over all of both graphs. What runs of them hold is
 * evidence, where there are any. The answer is the same from either side. */
#pragma once

#include "core/diff/pair-values.h"

#include <gio/gio.h>

typedef struct
{
  IrValueId a;
  IrPaired how;
} IrMatchedValue;

/* What two runs on the same inputs say; whose a value is, its model tells. All are the same from either side. */
typedef struct
{
  gboolean (*is_held) (const IrValue *value, gpointer data); /* else nothing is known of it */
  gboolean (*is_same_input) (const IrValue *x, const IrValue *y, gpointer data); /* bit by bit */
  gboolean (*can_be_same) (const IrValue *x, const IrValue *y, gpointer data); /* type and shape */
  gboolean (*agree) (const IrValue *x, const IrValue *y, gpointer data);       /* up to rounding */
  const IrValue *(*find) (const IrValue *value, gpointer data); /* (nullable) that alone agrees */
  gpointer data;
} IrMatchEvidence;

/* Id of b -> IrMatchedValue, of computed values and inputs. @evidence: (nullable). (transfer full) */
GHashTable *ir_match_values (const IrDiff *diff,
                             const IrMatchEvidence *evidence,
                             GCancellable *cancellable);
gboolean ir_value_runs_once (const IrValue *value);
