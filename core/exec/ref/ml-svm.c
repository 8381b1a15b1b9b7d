/* ai.onnx.ml: support vector machines, in the form of libsvm: for each pair of classes one decision
 * value out of the support vectors of both, and votes over the pairs. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ml.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

typedef enum
{
  KERNEL_LINEAR,
  KERNEL_POLY,
  KERNEL_RBF,
  KERNEL_SIGMOID,
  N_KERNELS
} Kernel;

typedef struct
{
  Kernel kernel;
  double gamma, coef0, degree;
  IrMlList coefficients, rho, vectors;
  guint64 n_vectors; /* 0: a linear model */
  guint64 n_features;
  double *products; /* [n_vectors]: the kernel of the sample with each support vector */
} Svm;

static void
svm_clear (Svm *svm)
{
  g_clear_pointer (&svm->products, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Svm, svm_clear)

static gboolean
read_kernel (Svm *svm, const IrCall *call, GError **error)
{
  static const char *const names[N_KERNELS] = { "LINEAR", "POLY", "RBF", "SIGMOID" };
  IrMlList params;
  guint kernel = KERNEL_LINEAR;

  if (!ir_ml_choice (call, "kernel_type", names, N_KERNELS, &kernel, error))
    return FALSE;
  svm->kernel = (Kernel) kernel;
  if (!ir_ml_list_init (&params, call, "kernel_params", error) ||
      (params.n > 0 && !ir_ml_list_check (&params, call, "kernel_params", 3, error)))
    return FALSE;
  svm->gamma = params.n > 0 ? ir_ml_list_double (&params, 0) : 0;
  svm->coef0 = params.n > 0 ? ir_ml_list_double (&params, 1) : 0;
  svm->degree = params.n > 0 ? ir_ml_list_double (&params, 2) : 0;
  return TRUE;
}

/* @n_weights: coefficients for each support vector, or, without, rows of a linear model. */
static gboolean
svm_init (Svm *svm,
          const IrCall *call,
          guint64 n_vectors,
          guint64 n_features,
          guint64 n_weights,
          GError **error)
{
  guint64 n_coefficients, n_elements;

  svm->n_vectors = n_vectors;
  svm->n_features = n_features;
  if (!ir_ml_list_init (&svm->coefficients, call, "coefficients", error) ||
      !ir_ml_list_init (&svm->rho, call, "rho", error) ||
      !ir_ml_list_init (&svm->vectors, call, "support_vectors", error) ||
      !read_kernel (svm, call, error))
    return FALSE;
  if (!g_uint64_checked_mul (&n_elements, n_vectors, n_features) ||
      !g_uint64_checked_mul (&n_coefficients, n_vectors > 0 ? n_vectors : n_features, n_weights))
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "there are too many support vectors");
  if (!ir_ml_list_check (&svm->coefficients, call, "coefficients", n_coefficients, error) ||
      (n_vectors > 0 &&
       !ir_ml_list_check (&svm->vectors, call, "support_vectors", n_elements, error)))
    return FALSE;
  svm->products = ir_block_new (call, n_vectors, error);
  return svm->products != NULL;
}

static double
kernel_of (Svm *svm, const double *x, const IrMlList *vectors, guint64 first)
{
  double dot = 0, distance = 0;

  for (guint64 i = 0; i < svm->n_features; i++)
    {
      double v = ir_ml_list_double (vectors, first + i);
      dot += x[i] * v;
      distance += (x[i] - v) * (x[i] - v);
    }
  if (svm->kernel == KERNEL_RBF)
    return exp (-svm->gamma * distance);
  if (svm->kernel == KERNEL_LINEAR)
    return dot;
  dot = svm->gamma * dot + svm->coef0;
  return svm->kernel == KERNEL_POLY ? pow (dot, svm->degree) : tanh (dot);
}

static void
multiply (Svm *svm, const double *x)
{
  for (guint64 i = 0; i < svm->n_vectors; i++)
    svm->products[i] = kernel_of (svm, x, &svm->vectors, i * svm->n_features);
}

/* A linear model has no kernel. */
static double
linear_score (Svm *svm, const double *x, guint64 row)
{
  double sum = ir_ml_list_double (&svm->rho, 0);

  for (guint64 i = 0; i < svm->n_features; i++)
    sum += x[i] * ir_ml_list_double (&svm->coefficients, row * svm->n_features + i);
  return sum;
}

/* -- regression -- */

/* X [N, F]. Source: ONNX-ML SVMRegressor 1. */
gboolean
ir_ref_ml_svm_regressor (IrCall *call, GError **error)
{
  g_auto (IrMlSamples) samples = { 0 };
  g_auto (Svm) svm = { 0 };
  IrMlTransform transform;
  gint64 n_supports = ir_call_int (call, "n_supports", 0);
  gboolean one_class = ir_call_int (call, "one_class", 0) != 0;

  if (!ir_ref_prepare (call, error) || !ir_ml_samples_init (&samples, call, error) ||
      !ir_ml_transform_init (&transform, call, error))
    return FALSE;
  if (n_supports < 0 || n_supports >= G_MAXINT32)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "n_supports is %" G_GINT64_FORMAT,
                         n_supports);
  if (!svm_init (&svm, call, (guint64) n_supports, samples.n_features, 1, error) ||
      !ir_ml_list_check (&svm.rho, call, "rho", 1, error))
    return FALSE;
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  for (guint64 row = 0; row < samples.n; row++)
    {
      const double *x = ir_ml_samples_read (&samples, row);
      double sum = ir_ml_list_double (&svm.rho, 0);
      multiply (&svm, x);
      for (guint64 i = 0; i < svm.n_vectors; i++)
        sum += svm.products[i] * ir_ml_list_double (&svm.coefficients, i);
      if (svm.n_vectors == 0)
        sum = linear_score (&svm, x, 0);
      if (one_class)
        sum = sum > 0 ? 1 : -1;
      ir_ml_transform_run (transform, 1, &sum);
      ir_block_store (out, row, 1, &sum);
    }
  return TRUE;
}

/* -- classification -- */

typedef struct
{
  guint n; /* classes */
  guint64 n_pairs;
  const gint64 *sizes; /* (nullable) [n]: support vectors of each class */
  guint64 *starts;     /* [n]: the first of each class */
  IrMlList prob_a, prob_b;
  IrMlTransform transform;
  double *scores;       /* [max (n, n_pairs, 2)] */
  double *votes;        /* [n] */
  double *pairs, *work; /* [n * n]: probabilities of i against j, and scratch */
} Classifier;

static void
classifier_clear (Classifier *c)
{
  g_clear_pointer (&c->starts, g_free);
  g_clear_pointer (&c->scores, g_free);
  g_clear_pointer (&c->votes, g_free);
  g_clear_pointer (&c->pairs, g_free);
  g_clear_pointer (&c->work, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Classifier, classifier_clear)

/* How many support vectors there are. */
static gboolean
read_sizes (Classifier *c, const IrCall *call, guint64 *n_vectors, GError **error)
{
  guint n_sizes = 0;

  *n_vectors = 0;
  c->sizes = ir_call_ints (call, "vectors_per_class", &n_sizes);
  c->starts = g_new0 (guint64, MAX (c->n, 1));
  for (guint i = 0; i < n_sizes; i++)
    {
      if (c->sizes[i] < 0 || c->sizes[i] >= G_MAXINT32)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "vectors_per_class has the size %" G_GINT64_FORMAT, c->sizes[i]);
      if (i < c->n)
        c->starts[i] = *n_vectors;
      *n_vectors += (guint64) c->sizes[i];
    }
  return *n_vectors == 0 || n_sizes == c->n ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "vectors_per_class has %u elements for %u classes", n_sizes, c->n);
}

static gboolean
classifier_init (Classifier *c, Svm *svm, const IrCall *call, guint64 n_features, GError **error)
{
  guint64 n_vectors;

  c->n_pairs = (guint64) c->n * (c->n - 1) / 2;
  if (!read_sizes (c, call, &n_vectors, error) ||
      !ir_ml_transform_init (&c->transform, call, error) ||
      !ir_ml_list_init (&c->prob_a, call, "prob_a", error) ||
      !ir_ml_list_init (&c->prob_b, call, "prob_b", error) ||
      !svm_init (svm, call, n_vectors, n_features, n_vectors > 0 ? c->n - 1 : c->n, error))
    return FALSE;
  if (n_vectors > 0 && !ir_ml_list_check (&svm->rho, call, "rho", c->n_pairs, error))
    return FALSE;
  if (n_vectors == 0 && svm->rho.n != 1 && !ir_ml_list_check (&svm->rho, call, "rho", c->n, error))
    return FALSE;
  if ((c->prob_a.n > 0 || c->prob_b.n > 0) && n_vectors > 0 &&
      (!ir_ml_list_check (&c->prob_a, call, "prob_a", c->n_pairs, error) ||
       !ir_ml_list_check (&c->prob_b, call, "prob_b", c->n_pairs, error)))
    return FALSE;
  c->scores = ir_block_new (call, MAX (MAX (c->n, c->n_pairs), 2), error);
  c->votes = ir_block_new (call, c->n, error);
  guint64 n_square = c->prob_a.n > 0 && n_vectors > 0 ? (guint64) c->n * c->n : 0;
  c->pairs = ir_block_new (call, n_square, error);
  c->work = ir_block_new (call, n_square + c->n, error);
  return c->scores != NULL && c->votes != NULL && c->pairs != NULL && c->work != NULL;
}

/* Sum over the support vectors of class @of, weighted by row @row of the coefficients. */
static double
sum_class (const Classifier *c, Svm *svm, guint of, guint row)
{
  double sum = 0;

  for (guint64 k = c->starts[of];
       k < c->starts[of] + (guint64) c->sizes[of]; k++)
    sum += svm->products[k] * ir_ml_list_double (&svm->coefficients, row * svm->n_vectors + k);
  return sum;
}

/* Each class has n - 1 rows of coefficients, one for each other class: of two classes, the row of
 * the greater against the smaller is the smaller's number. */
static void
decide_pairs (Classifier *c, Svm *svm)
{
  guint64 pair = 0;

  for (guint i = 0; i < c->n; i++)
    c->votes[i] = 0;
  for (guint i = 0; i < c->n; i++)
    for (guint j = i + 1; j < c->n; j++, pair++)
      {
        double score = sum_class (c, svm, i, j - 1) + sum_class (c, svm, j, i) +
                       ir_ml_list_double (&svm->rho, pair);
        c->scores[pair] = score;
        c->votes[score > 0 ? i : j]++;
      }
}

/* One step of the iteration below; gives the largest error before it. */
static double
couple_once (guint n, const double *q, double *p, double *qp)
{
  double pqp = 0, error = 0;

  for (guint t = 0; t < n; t++)
    {
      qp[t] = 0;
      for (guint j = 0; j < n; j++)
        qp[t] += q[t * n + j] * p[j];
      pqp += p[t] * qp[t];
    }
  for (guint t = 0; t < n; t++)
    error = MAX (error, fabs (qp[t] - pqp));
  if (error < 0.005 / n)
    return error;
  for (guint t = 0; t < n; t++)
    {
      double step = (pqp - qp[t]) / q[t * n + t];
      p[t] += step;
      pqp = (pqp + step * (step * q[t * n + t] + 2 * qp[t])) / (1 + step) / (1 + step);
      for (guint j = 0; j < n; j++)
        {
          qp[j] = (qp[j] + step * q[t * n + j]) / (1 + step);
          p[j] /= 1 + step;
        }
    }
  return error;
}

/* Probabilities of the classes out of those of the pairs: the second approach of T.-F. Wu, C.-J.
 * Lin, R. C. Weng, "Probability estimates for multi-class classification by pairwise coupling"
 * (2004), algorithm 2, with the limits of libsvm. */
static void
couple (guint n, const double *r, double *q, double *qp, double *p)
{
  for (guint t = 0; t < n; t++)
    {
      p[t] = 1.0 / n;
      q[t * n + t] = 0;
      for (guint j = 0; j < n; j++)
        if (j != t)
          {
            q[t * n + t] += r[j * n + t] * r[j * n + t];
            q[t * n + j] = -r[j * n + t] * r[t * n + j];
          }
    }
  for (guint i = 0; i < MAX (100, n) && couple_once (n, q, p, qp) >= 0.005 / n; i++)
    ;
}

/* The scores of the pairs become probabilities of the classes. */
static void
estimate (Classifier *c)
{
  guint64 pair = 0;

  for (guint i = 0; i < c->n; i++)
    for (guint j = i + 1; j < c->n; j++, pair++)
      {
        double value = c->scores[pair] * ir_ml_list_double (&c->prob_a, pair) +
                       ir_ml_list_double (&c->prob_b, pair);
        double p = CLAMP (1 - ir_ml_logistic (value), 1e-7, 1 - 1e-7);
        c->pairs[i * c->n + j] = p;
        c->pairs[j * c->n + i] = 1 - p;
      }
  couple (c->n, c->pairs, c->work, c->work + (gsize) c->n * c->n, c->scores);
}

static void
classify (Classifier *c, Svm *svm, IrMlClasses *classes, guint64 row, const double *x)
{
  guint top;

  if (svm->n_vectors == 0)
    {
      for (guint i = 0; i < c->n; i++)
        c->scores[i] = linear_score (svm, x, i);
      top = c->n == 1 && c->scores[0] <= 0 ? 1 : ir_ml_top (c->n, c->scores);
    }
  else
    {
      multiply (svm, x);
      decide_pairs (c, svm);
      top = ir_ml_top (c->n, c->votes);
      if (c->prob_a.n > 0)
        estimate (c);
      else if (c->n == 2)
        ir_ml_complement (c->transform, FALSE, c->scores[0], c->scores);
      else if (c->n == 1)
        c->scores[0] = 0; /* no pair: nothing speaks for or against the only class */
    }
  ir_ml_transform_run (c->transform, classes->n_scores, c->scores);
  ir_ml_classes_write (classes, row, top, c->scores);
}

/* X [N, F]. A linear model adds the same rho[0] to the score of each class, as its peers do.
 * Source: ONNX-ML SVMClassifier 1. */
gboolean
ir_ref_ml_svm_classifier (IrCall *call, GError **error)
{
  g_auto (IrMlSamples) samples = { 0 };
  g_auto (IrMlClasses) classes = { 0 };
  g_auto (Classifier) c = { 0 };
  g_auto (Svm) svm = { 0 };

  if (!ir_ref_prepare (call, error) || !ir_ml_samples_init (&samples, call, error) ||
      !ir_ml_classes_init (&classes, call, "classlabels_ints", error))
    return FALSE;
  c.n = (guint) classes.labels.n;
  if (!classifier_init (&c, &svm, call, samples.n_features, error))
    return FALSE;
  for (guint64 row = 0; row < samples.n; row++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      classify (&c, &svm, &classes, row, ir_ml_samples_read (&samples, row));
    }
  return ir_ml_classes_finish (&classes, error);
}
