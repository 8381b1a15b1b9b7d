/* What two graphs compute from the same inputs, value by value: both are run, and what is the same
 * value on both sides (pair-values.h) is compared. */
#pragma once

#include "core/exec/exec.h"
#include "core/diff/diff.h"
#include "core/exec/check/first-iteration.h"
#include "core/diff/pair-values.h"

/* What a difference was held against. */
typedef enum
{
  IR_BOUND_NONE,      /* nothing: no bit differs, or no bound allows it */
  IR_BOUND_INHERITED, /* computed in the same way, from values that differ by rounding */
  IR_BOUND_ROWS,      /* the tolerance of the operators that compute it */
  IR_BOUND_WIDE,      /* float64, and what rounding may do to the sums of both sides */
} IrBoundKind;

typedef struct
{
  IrValueId a, b;
  gboolean is_output;  /* of the main graph of a */
  gboolean comparable; /* FALSE: other shapes or types */
  gboolean differs;    /* in any bit */
  gboolean diverges;   /* by more than rounding, as a proof judges it */
  gboolean follows;    /* of what it is computed from something diverges */
  IrBoundKind bound_kind;
  double bound;        /* with rows and float64: largest distance allowed, of the same inputs */
  double alone;        /* with these: how far the two lie apart when computed of the same inputs */
  const char *why;     /* (nullable) interned: why no bound explains it */
  IrPaired how;        /* why they are the same value */
  IrComparison result; /* where comparable */
} IrComparedValue;

typedef struct
{
  IrModel *a, *b;       /* referenced */
  IrRun *run_a, *run_b; /* with every value */
  GArray *items;        /* of IrComparedValue, in the order of b */
  guint n_differ, n_diverge;
  GHashTable *by_a, *by_b;    /* value id -> index + 1 into items */
  IrFirstIteration iteration; /* with .iterations, where values of loops differ */
} IrComparedValues;

typedef struct
{
  IrRunOptions run; /* capture and progress are set by the comparison */
  gboolean
      iterations; /* where something differs and there are loops, both run once more for the first iteration */
  /* (nullable) What the second graph runs on, which is the same as the first: what differs there by more than
   * the tolerance of its rows is computed anew, by the first back end, from what the second run holds. */
  const IrBackend *second;
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
/* The same of runs that are there. @of_devices: of one graph, on two back ends */
IrComparedValues *ir_compare_runs (const IrDiff *diff,
                                   IrRun *run_a,
                                   IrRun *run_b,
                                   GHashTable *inputs_a,
                                   GHashTable *inputs_b,
                                   const IrRunOptions *options,
                                   gboolean of_devices,
                                   GCancellable *cancellable,
                                   GError **error);
void ir_compared_values_free (IrComparedValues *values);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrComparedValues, ir_compared_values_free)

const char *ir_bound_kind_name (IrBoundKind kind);
/* "by rounding: 1.9e-06 of the same inputs, 3.1e-06 allowed by float64" (transfer full) (nullable) */
char *ir_compared_value_verdict (const IrComparedValue *item);
const IrComparedValue *ir_compared_values_first (const IrComparedValues *values,
                                                 gboolean diverging);
const IrComparedValue *ir_compared_values_of_b (const IrComparedValues *values,
                                                IrValueId b); /* (nullable) */
/* The n_differ that differ, largest difference first. (transfer container) */
GPtrArray *ir_compared_values_worst (const IrComparedValues *values);

/* Values at @step of @history that are not what the original graph holds there, by more than rounding. */
GHashTable *ir_history_divergences (IrModel *history,
                                    guint step,
                                    GHashTable *inputs,
                                    const IrRunOptions *options,
                                    GCancellable *cancellable,
                                    GError **error);
