/* What two graphs compute from the same inputs, value by value: both are run, and what paired nodes
 * give is compared. */
#pragma once

#include "core/exec/exec.h"
#include "core/diff/diff.h"
#include "core/exec/check/difference.h"

typedef struct
{
  IrValueId a, b;
  gboolean is_output;  /* of the main graph of a */
  gboolean comparable; /* FALSE: other shapes or types */
  gboolean differs;    /* in any bit */
  gboolean diverges;   /* by more than rounding */
  IrComparison result; /* where comparable */
} IrComparedValue;

typedef struct
{
  IrModel *a, *b;       /* referenced */
  IrRun *run_a, *run_b; /* with every value */
  GArray *items;        /* of IrComparedValue, in the order of b */
  guint n_differ, n_diverge;
  GHashTable *by_a, *by_b; /* value id -> index + 1 into items */
} IrComparedValues;

typedef struct
{
  IrRunOptions run; /* capture and progress are set by the comparison */
  void (*progress) (gboolean of_b, guint done, guint total, gpointer data); /* (nullable) */
  gpointer progress_data;
} IrCompareValuesOptions;

/* Inputs of @to that go with @inputs of @from. value id -> IrTensor, (transfer full) */
GHashTable *ir_matching_inputs (const IrModel *from,
                                GHashTable *inputs,
                                IrModel *to,
                                guint64 seed,
                                GHashTable *bindings,
                                GError **error);
IrComparedValues *ir_compare_values (const IrDiff *diff,
                                     GHashTable *inputs_a,
                                     GHashTable *inputs_b,
                                     const IrCompareValuesOptions *options,
                                     GCancellable *cancellable,
                                     GError **error);
void ir_compared_values_free (IrComparedValues *values);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrComparedValues, ir_compared_values_free)

const IrComparedValue *ir_compared_values_first (const IrComparedValues *values,
                                                 gboolean diverging);
/* The n_differ that differ, largest difference first. (transfer container) */
GPtrArray *ir_compared_values_worst (const IrComparedValues *values);
