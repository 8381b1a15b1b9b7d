/* ai.onnx.ml: linear models. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ml.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"

typedef struct
{
  IrMlList coefficients, intercepts; /* [n, F], and [n] or nothing */
  IrMlTransform transform;
  guint n;
} Linear;

static gboolean
linear_init (Linear *linear, const IrCall *call, guint64 n_features, GError **error)
{
  return ir_ml_list_init (&linear->coefficients, call, "coefficients", error) &&
         ir_ml_list_init (&linear->intercepts, call, "intercepts", error) &&
         ir_ml_list_check (&linear->coefficients, call, "coefficients", linear->n * n_features,
                           error) &&
         (linear->intercepts.n == 0 ||
          ir_ml_list_check (&linear->intercepts, call, "intercepts", linear->n, error)) &&
         ir_ml_transform_init (&linear->transform, call, error);
}

static void
linear_run (Linear *linear, guint64 n_features, const double *x, double *scores)
{
  for (guint k = 0; k < linear->n; k++)
    {
      double sum = linear->intercepts.n > 0 ? ir_ml_list_double (&linear->intercepts, k) : 0;
      for (guint64 i = 0; i < n_features; i++)
        sum += x[i] * ir_ml_list_double (&linear->coefficients, k * n_features + i);
      scores[k] = sum;
    }
}

/* X [N, F]. One row of coefficients for two classes gives the scores -s and s. Source: ONNX-ML
 * LinearClassifier 1. */
gboolean
ir_ref_ml_linear_classifier (IrCall *call, GError **error)
{
  g_auto (IrMlSamples) samples = { 0 };
  g_auto (IrMlClasses) classes = { 0 };
  Linear linear = { 0 };

  if (!ir_ref_prepare (call, error) || !ir_ml_samples_init (&samples, call, error) ||
      !ir_ml_classes_init (&classes, call, "classlabels_ints", error))
    return FALSE;
  guint n_labels = (guint) classes.labels.n;
  const IrAttr *weights = ir_call_attr (call, "coefficients");
  linear.n = n_labels == 2 && weights->n == samples.n_features ? 1 : n_labels;
  if (!linear_init (&linear, call, samples.n_features, error))
    return FALSE;
  g_autofree double *scores = ir_block_new (call, n_labels, error);
  for (guint64 row = 0;
       row < samples.n && scores != NULL; row++)
    {
      linear_run (&linear, samples.n_features, ir_ml_samples_read (&samples, row), scores);
      if (linear.n < n_labels)
        ir_ml_complement (linear.transform, FALSE, scores[0], scores);
      guint top = n_labels == 1 && scores[0] <= 0 ? 1 : ir_ml_top (n_labels, scores);
      ir_ml_transform_run (linear.transform, n_labels, scores);
      ir_ml_classes_write (&classes, row, top, scores);
    }
  return scores != NULL && ir_ml_classes_finish (&classes, error);
}

/* X [N, F]. Source: ONNX-ML LinearRegressor 1. */
gboolean
ir_ref_ml_linear_regressor (IrCall *call, GError **error)
{
  g_auto (IrMlSamples) samples = { 0 };
  Linear linear = { 0 };

  if (!ir_ref_prepare (call, error) || !ir_ml_samples_init (&samples, call, error))
    return FALSE;
  linear.n = (guint) call->outputs[0].type->dims[1];
  if (!linear_init (&linear, call, samples.n_features, error))
    return FALSE;
  IrTensor *out = ir_block_new_output (call, 0, error);
  g_autofree double *scores = ir_block_new (call, linear.n, error);
  if (out == NULL || scores == NULL)
    return FALSE;
  for (guint64 row = 0; row < samples.n; row++)
    {
      linear_run (&linear, samples.n_features, ir_ml_samples_read (&samples, row), scores);
      ir_ml_transform_run (linear.transform, linear.n, scores);
      ir_block_store (out, row * linear.n, linear.n, scores);
    }
  return TRUE;
}
