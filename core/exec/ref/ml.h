/* What the reference kernels of the domain ai.onnx.ml share: attributes as lists, labels, scores
 * and what is made of them at the end. */
#pragma once

#include "core/exec/ref/places.h"

/* -- attributes that hold lists -- */
typedef struct
{
  IrDtype dtype; /* of the elements: STRING, INT64, FLOAT, or that of a tensor */
  guint64 n;
  const IrAttr *attr;     /* (nullable) FLOATS, INTS or STRINGS */
  const IrTensor *tensor; /* (nullable) TENSOR */
} IrMlList;

gboolean ir_ml_list_init (IrMlList *list, const IrCall *call, const char *name, GError **error);
gboolean ir_ml_list_choose (IrMlList *list,
                            const IrCall *call,
                            const char *const *names,
                            gboolean required,
                            GError **error);
gboolean ir_ml_list_check (
    const IrMlList *list, const IrCall *call, const char *name, guint64 n, GError **error);
double ir_ml_list_double (const IrMlList *list, guint64 index);
gint64 ir_ml_list_int (const IrMlList *list, guint64 index);
GBytes *ir_ml_list_string (const IrMlList *list, guint64 index);

/* -- attributes that are one of a few words -- */
gboolean ir_ml_choice (const IrCall *call,
                       const char *attr,
                       const char *const *names,
                       guint n,
                       guint *choice,
                       GError **error);

/* -- what stands where in a list -- */
typedef struct
{
  const char *text; /* (nullable) not terminated; NULL: a number */
  gsize length;
  gint64 number; /* or the bits of a double */
} IrMlKey;

IrMlKey ir_ml_list_key (const IrMlList *list, guint64 index);
IrMlKey ir_ml_tensor_key (const IrTensor *tensor, guint64 index);
IrMlKey ir_ml_int_key (gint64 value);
/* Of equal keys the last counts; the list must outlive the index. */
gboolean ir_ml_index_init (IrPlaces *index,
                           const IrMlList *list,
                           const IrCall *call,
                           GError **error);
guint32 ir_ml_index_find (IrPlaces *index, IrMlKey key); /* 1 + place; 0: nowhere */

/* -- scores -- */
typedef enum
{
  IR_ML_NONE,
  IR_ML_SOFTMAX,
  IR_ML_LOGISTIC,
  IR_ML_SOFTMAX_ZERO,
  IR_ML_PROBIT,
  IR_ML_N_TRANSFORMS
} IrMlTransform; /* the numbers are those of TreeEnsemble's post_transform */

gboolean ir_ml_transform_init (IrMlTransform *transform, const IrCall *call, GError **error);
void ir_ml_transform_run (IrMlTransform transform, guint n, double *scores);
guint ir_ml_top (guint n, const double *scores); /* the first of the highest */
/* One score of two classes becomes both. */
void ir_ml_complement (IrMlTransform transform, gboolean probability, double score, double *scores);
double ir_ml_logistic (double value);

/* -- X [N, F], or [F] as one sample -- */
typedef struct
{
  const IrCall *call;
  const IrTensor *tensor;
  guint64 n, n_features;
  double *row; /* the sample that was read last */
} IrMlSamples;

gboolean ir_ml_samples_init (IrMlSamples *samples, const IrCall *call, GError **error);
const double *ir_ml_samples_read (IrMlSamples *samples, guint64 index);
void ir_ml_samples_clear (IrMlSamples *samples);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrMlSamples, ir_ml_samples_clear)

/* -- Y [N] labels and Z [N, E] scores of classifiers -- */
typedef struct
{
  IrCall *call;
  IrMlList labels;
  GPtrArray *names;   /* (nullable) of GBytes: the labels written so far, if strings */
  gboolean no_memory; /* for one of them */
  IrTensor *numbers;  /* (nullable) output 0, if numbers */
  IrTensor *scores;   /* (nullable) output 1 */
  guint n_scores;     /* columns of Z */
} IrMlClasses;

gboolean ir_ml_classes_init (IrMlClasses *classes,
                             IrCall *call,
                             const char *int_labels,
                             GError **error);
void ir_ml_classes_write (IrMlClasses *classes, guint64 row, guint label, const double *scores);
gboolean ir_ml_classes_finish (IrMlClasses *classes, GError **error);
void ir_ml_classes_clear (IrMlClasses *classes);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrMlClasses, ir_ml_classes_clear)
