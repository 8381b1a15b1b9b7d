/* The ways to derive beside each other: forward, reverse and the tape in one, by differences, by the
 * complex step, and as expressions. Where one cannot be taken, the others are there all the same. */
#include "config.h"

#include "passes/debug/derivation.h"

#include "core/grad/symbolic.h"
#include "passes/proof/numeric.h"
#include "passes/rewrites/gradient.h"

#include <math.h>
#include <string.h>

#define MAX_NUMBERS 64 /* elements that are moved */
#define LONG_TREE   60 /* longer expressions are told by their size */
#define MAX_NAMES   4
#define LEAST_ERROR 1e-17 /* what 0 is drawn as */

static void
clear_way (gpointer data)
{
  IrChartWay *way = data;

  g_free (way->title);
  g_free (way->note);
  g_free (way->why);
  g_hash_table_unref (way->texts);
  g_clear_pointer (&way->curves, g_array_unref);
}

static void
clear_curve (gpointer data)
{
  g_array_unref (((IrChartCurve *) data)->points);
}

/**
 * ir_derivation_free:
 * @derivation: (transfer full): a derivation
 */
void
ir_derivation_free (IrDerivation *derivation)
{
  g_clear_pointer (&derivation->tape, ir_tape_free);
  g_clear_pointer (&derivation->ways, g_array_unref);
  g_clear_pointer (&derivation->model, ir_model_unref);
  g_free (derivation->title);
  g_free (derivation);
}

static IrChartWay *
add_way (IrDerivation *derivation, const char *title)
{
  IrChartWay way = { .title = g_strdup (title),
                     .texts = g_hash_table_new_full (NULL, NULL, NULL, g_free) };

  g_array_append_val (derivation->ways, way);
  return &g_array_index (derivation->ways, IrChartWay, derivation->ways->len - 1);
}

static void
refuse (IrChartWay *way, const GError *error, const IrNode *stop)
{
  way->why = g_strdup (error->message);
  way->stop = stop != NULL ? stop->id : 0;
}

static void
say (IrChartWay *way, const IrValue *value, char *text)
{
  g_hash_table_insert (way->texts, GUINT_TO_POINTER (value->id), text);
}

static char *
figure_of (const IrTensor *tensor)
{
  IrTensorStats stats = { 0 };

  if (ir_tensor_n_elements (tensor) == 1)
    return g_strdup_printf ("%.9g", ir_tensor_get_double (tensor, 0));
  ir_tensor_stats (tensor, 0, &stats);
  return g_strdup_printf ("norm %.6g", ir_tensor_stats_norm (&stats));
}

/* -- the ways -- */

static void
add_tape (IrDerivation *derivation,
          GHashTable *inputs,
          const IrValue *of,
          const GPtrArray *by,
          const IrTapeOptions *options)
{
  g_autoptr (GError) error = NULL;
  IrNodeId stop = 0;

  derivation->tape = ir_tape_run (derivation->model, inputs, of, by, options, &stop, &error);
  if (derivation->tape != NULL)
    return;
  IrChartWay *way = add_way (derivation, "Forward and reverse");
  g_prefix_error (&error, "Use differences. ");
  refuse (way, error, ir_model_live_node (derivation->model, stop));
}

static guint64
count_elements (const IrMovable *movable)
{
  guint64 n = 0;

  for (guint i = 0; i < movable->by->len; i++)
    n += ir_tensor_n_elements (g_hash_table_lookup (
        movable->inputs, GUINT_TO_POINTER (((IrValue *) movable->by->pdata[i])->id)));
  return n;
}

/* Errors of all differences by their step, along ones */
static void
add_curves (IrChartWay *way, const IrMovable *movable)
{
  g_autoptr (GPtrArray) directions = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < movable->by->len; i++)
    {
      const IrTensor *here = g_hash_table_lookup (
          movable->inputs, GUINT_TO_POINTER (((IrValue *) movable->by->pdata[i])->id));
      double *direction = g_new (double, MAX (ir_tensor_n_elements (here), 1));
      for (guint64 k = 0; k < ir_tensor_n_elements (here); k++)
        direction[k] = 1;
      g_ptr_array_add (directions, direction);
    }
  g_autoptr (IrSweep) sweep = ir_numeric_sweep (movable, (double *const *) directions->pdata, NULL);
  if (sweep == NULL)
    return;
  way->curves = g_array_new (FALSE, FALSE, sizeof (IrChartCurve));
  g_array_set_clear_func (way->curves, clear_curve);
  for (guint kind = 0; kind < IR_N_DIFFERENCES; kind++)
    {
      IrChartCurve curve = { .name = ir_difference_name ((IrDifference) kind),
                             .points = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint)) };
      for (guint i = 0; i < sweep->points->len; i++)
        {
          const IrSweepPoint *point = &g_array_index (sweep->points, IrSweepPoint, i);
          IrLayoutPoint at = { log10 (point->h), log10 (MAX (point->error[kind], LEAST_ERROR)) };
          if (!isnan (point->error[kind]))
            g_array_append_val (curve.points, at);
        }
      g_array_append_val (way->curves, curve);
    }
}

static void
add_difference (IrDerivation *derivation, const IrMovable *movable, IrDifference kind)
{
  IrChartWay *way = add_way (derivation,
                             kind == IR_DIFFERENCE_COMPLEX ? "Complex step" : "Numeric");
  g_autoptr (GError) error = NULL;
  IrComplexStop stop = { 0 };
  guint64 n = count_elements (movable);

  way->note = kind == IR_DIFFERENCE_COMPLEX
                  ? g_strdup_printf ("step %g", ir_difference_step (kind))
                  : g_strdup_printf ("central, step %g: %" G_GUINT64_FORMAT " runs",
                                     ir_difference_step (kind), 2 * n);
  if (n > MAX_NUMBERS)
    {
      way->why = g_strdup_printf ("%" G_GUINT64_FORMAT " elements would be moved, one by one; use "
                                  "reverse mode, or a sweep along one direction.",
                                  n);
      return;
    }
  g_autoptr (GPtrArray)
      gradients = ir_numeric_gradients (movable, kind, ir_difference_step (kind), &stop, &error);
  if (gradients == NULL)
    {
      refuse (way, error, ir_model_live_node (derivation->model, stop.node));
      g_free (stop.why);
      return;
    }
  for (guint i = 0; i < gradients->len; i++)
    say (way, movable->by->pdata[i], figure_of (gradients->pdata[i]));
  if (kind == IR_DIFFERENCE_CENTRAL)
    add_curves (way, movable);
}

static void
add_symbolic (IrDerivation *derivation, IrValue *of, const GPtrArray *by)
{
  IrChartWay *way = add_way (derivation, "Symbolic");
  const IrNode *stop = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrSymbolic) symbolic = ir_symbolic_new (derivation->model, of, by, &stop, &error);
  double tree = 0;

  if (symbolic == NULL)
    {
      refuse (way, error, stop);
      return;
    }
  g_autofree IrExpr *raw = g_new0 (IrExpr, by->len + 1);
  for (guint i = 0; i < by->len; i++)
    {
      IrExpr shown = ir_symbolic_derive (symbolic, by->pdata[i], IR_SYMBOLIC_SIMPLIFIED);
      raw[i] = ir_symbolic_derive (symbolic, by->pdata[i], IR_SYMBOLIC_RAW);
      tree += raw[i] != 0 ? ir_symbolic_tree_size (symbolic, raw[i]) : INFINITY;
      gboolean is_short = shown != 0 && ir_symbolic_tree_size (symbolic, shown) <= LONG_TREE;
      say (way, by->pdata[i],
           is_short ? ir_symbolic_text (symbolic, shown)
                    : g_strdup_printf ("%u parts", shown != 0
                                                       ? ir_symbolic_dag_size (symbolic, &shown, 1)
                                                       : G_MAXUINT));
    }
  way->note = g_strdup_printf ("raw: %.0f as trees, %u as graph", tree,
                               ir_symbolic_dag_size (symbolic, raw, by->len));
}

static char *
title_of (const IrValue *of, const GPtrArray *by)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%s by ", of->name);
  for (guint i = 0; i < by->len && i < MAX_NAMES; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", ((IrValue *) by->pdata[i])->name);
  if (by->len > MAX_NAMES)
    g_string_append_printf (text, " and %u more", by->len - MAX_NAMES);
  return g_string_free (text, FALSE);
}

/**
 * ir_derivation_new:
 * @model: a model whose types are known
 * @inputs: value id -> #IrTensor for its inputs
 * @of: as the option of the pass gradient
 * @wrt: likewise; inputs and parameters
 * @limits: of runs
 * @cancellable: (nullable): stops it
 * @error: return location for an error
 *
 * Fails where it is not known what to derive, not where a way cannot be taken.
 *
 * Returns: (transfer full) (nullable): the derivation in all ways
 */
IrDerivation *
ir_derivation_new (IrModel *model,
                   GHashTable *inputs,
                   const char *of,
                   const char *wrt,
                   const IrRunLimits *limits,
                   GCancellable *cancellable,
                   GError **error)
{
  IrValue *value = ir_gradient_of (model, of, error);
  g_autoptr (GPtrArray) by = value != NULL ? ir_gradient_wrt (model, wrt, error) : NULL;
  g_auto (IrMovable) movable = { .limits = *limits, .cancellable = cancellable };
  const IrTapeOptions tape = { .limits = *limits, .cancellable = cancellable };

  if (by == NULL || !ir_movable_init (&movable, model, inputs, of, wrt, error))
    return NULL;
  g_autoptr (IrDerivation) derivation = g_new0 (IrDerivation, 1);
  derivation->model = ir_model_ref (model);
  derivation->ways = g_array_new (FALSE, FALSE, sizeof (IrChartWay));
  g_array_set_clear_func (derivation->ways, clear_way);
  derivation->title = title_of (value, by);
  add_tape (derivation, inputs, value, by, &tape);
  add_difference (derivation, &movable, IR_DIFFERENCE_CENTRAL);
  add_difference (derivation, &movable, IR_DIFFERENCE_COMPLEX);
  add_symbolic (derivation, value, by);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  return g_steal_pointer (&derivation);
}

/**
 * ir_derivation_chart:
 * @derivation: a derivation
 * @options: (nullable): the drawing area
 *
 * Returns: (transfer full): its picture
 */
IrScene *
ir_derivation_chart (const IrDerivation *derivation, const IrChartOptions *options)
{
  return ir_chart_derivation (derivation->tape, derivation->model, derivation->title,
                              (const IrChartWay *) derivation->ways->data, derivation->ways->len,
                              options);
}
