/* Inference and cost of the domain ai.onnx.ml. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"
#include <string.h>

/* -- X [N, F] -- */

static gboolean
is_real (IrDtype dtype)
{
  return ir_dtype_is_float (dtype) || ir_dtype_is_integer (dtype);
}

static gboolean
check_numeric (const IrCall *call, guint slot, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, slot);

  return dtype == IR_DTYPE_UNDEFINED || is_real (dtype) ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "input %u is %s, numbers are needed", slot,
                       ir_dtype_name (dtype));
}

/* Numbers [N, F], or [F] as one sample. */
static gboolean
samples (const IrCall *call, IrDim *n, IrDim *features, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);

  *n = *features = IR_DIM_UNKNOWN;
  if (!check_numeric (call, 0, error))
    return FALSE;
  if (rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != 1 && rank != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "X has %d dims, [N, F] or one sample [F] is needed", rank);
  *n = rank == 2 ? dims[0] : 1;
  *features = dims[rank - 1];
  return TRUE;
}

static guint
attr_length (const IrCall *call, const char *name)
{
  const IrAttr *attr = ir_call_attr (call, name);
  return attr != NULL ? attr->n : 0;
}

/* Y [N] of labels and Z [N, E] of scores. */
static void
set_classes (IrCall *call, IrDim n, IrDim classes)
{
  IrDim dims[2] = { n, classes };
  gboolean names = attr_length (call, "classlabels_strings") > 0;

  if (call->n_outputs > 0)
    ir_call_set_output_tensor_type (call, 0, names ? IR_DTYPE_STRING : IR_DTYPE_INT64, 1, dims);
  if (call->n_outputs > 1)
    ir_call_set_output_tensor_type (call, 1, IR_DTYPE_FLOAT, 2, dims);
}

/* As many labels as there are; @ints: the name of the attribute with numbers. */
static gboolean
count_labels (const IrCall *call, const char *ints, guint *n, GError **error)
{
  guint n_names = attr_length (call, "classlabels_strings"), n_ints = attr_length (call, ints);

  *n = n_names > 0 ? n_names : n_ints;
  if (n_names > 0 && n_ints > 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "classlabels_strings and %s are both given, one is needed", ints);
  return *n > 0 || ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                                 "there are no classes: classlabels_strings or %s is needed", ints);
}

/* -- what prepares features -- */

/* X [..., F], Y: indices, of any shape. Sets the output to [..., K], where K is the number of
 * indices; [1, K] if X is a vector. Source: ONNX-ML ArrayFeatureExtractor 1. */
gboolean
ir_infer_ml_array_feature_extractor (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0), n_index = ir_call_input_rank (call, 1);
  IrDim dims[IR_MAX_RANK] = { 1 }, picked = IR_DIM_UNKNOWN;

  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  if (rank == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has no axis to pick along");
  if (n_index != IR_RANK_UNKNOWN)
    picked = ir_dims_product (call->context, ir_call_input_dims (call, 1), 0, (guint) n_index);
  for (int i = 0; i + 1 < rank; i++)
    dims[i] = ir_call_input_dims (call, 0)[i];
  if (rank != IR_RANK_UNKNOWN)
    rank = MAX (rank, 2);
  if (rank != IR_RANK_UNKNOWN)
    dims[rank - 1] = picked;
  ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
  return TRUE;
}

/* X of numbers. Sets the output to the type of X. Contents are not propagated. Source: ONNX-ML
 * Binarizer 1, Imputer 1. */
gboolean
ir_infer_ml_same (IrCall *call, GError **error)
{
  if (!check_numeric (call, 0, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* X of numbers. Sets the output to float, with the shape of X. Source: ONNX-ML Normalizer 1,
 * Scaler 1. */
gboolean
ir_infer_ml_float_like (IrCall *call, GError **error)
{
  if (!check_numeric (call, 0, error))
    return FALSE;
  if (ir_call_input_rank (call, 0) == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has no axis of features");
  ir_call_same_shape (call, 0, 0, IR_DTYPE_FLOAT);
  return TRUE;
}

/* Names become numbers and numbers names. */
static gboolean
infer_names (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0), result = IR_DTYPE_UNDEFINED;

  if (dtype == IR_DTYPE_STRING)
    result = IR_DTYPE_INT64;
  else if (ir_dtype_is_integer (dtype))
    result = IR_DTYPE_STRING;
  else if (dtype != IR_DTYPE_UNDEFINED)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X is %s, strings or integers are needed",
                         ir_dtype_name (dtype));
  ir_call_same_shape (call, 0, 0, result);
  return TRUE;
}

/* X of strings or int64. Sets the output to the other of the two types, with the shape of X.
 * Source: ONNX-ML CategoryMapper 1. */
gboolean
ir_infer_ml_category_mapper (IrCall *call, GError **error)
{
  guint n_ints = attr_length (call, "cats_int64s"), n_names = attr_length (call, "cats_strings");

  if (n_ints != n_names)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "cats_int64s has %u elements and cats_strings %u, as many are needed",
                         n_ints, n_names);
  return infer_names (call, error);
}

/* X of any shape. Sets the output to the type of values_*, with the shape of X; in version 1 to
 * int64 for strings and to strings for integers. Source: ONNX-ML LabelEncoder 4, 2 and 1. */
gboolean
ir_infer_ml_label_encoder (IrCall *call, GError **error)
{
  const IrAttr *tensor = ir_call_attr (call, "values_tensor");
  IrDtype dtype = IR_DTYPE_UNDEFINED;

  if (ir_call_attr (call, "classes_strings") != NULL)
    return infer_names (call, error);
  if (tensor != NULL && tensor->kind == IR_ATTR_TENSOR && tensor->n > 0)
    dtype = ir_tensor_dtype (tensor->tensors[0]);
  else if (ir_call_attr (call, "values_strings") != NULL)
    dtype = IR_DTYPE_STRING;
  else if (ir_call_attr (call, "values_int64s") != NULL)
    dtype = IR_DTYPE_INT64;
  else if (ir_call_attr (call, "values_floats") != NULL)
    dtype = IR_DTYPE_FLOAT;
  else
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "there are no values: values_strings, values_int64s, values_floats or "
                         "values_tensor is needed");
  ir_call_same_shape (call, 0, 0, dtype);
  return TRUE;
}

/* How many columns input @slot gets. */
static gboolean
vector_width (const IrCall *call, guint slot, IrDim *width, GError **error)
{
  guint n = 0;
  const gint64 *widths = ir_call_ints (call, "inputdimensions", &n);
  int rank = ir_call_input_rank (call, slot);

  *width = IR_DIM_UNKNOWN;
  if (rank != IR_RANK_UNKNOWN && rank != 1 && rank != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "input %u has %d dims, [N, F] or [F] is needed", slot, rank);
  if (widths == NULL && rank != IR_RANK_UNKNOWN)
    *width = ir_call_input_dims (call, slot)[rank - 1];
  if (widths == NULL)
    return TRUE;
  if (n != call->n_inputs)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "inputdimensions has %u elements for %u inputs", n, call->n_inputs);
  if (widths[slot] < 0 || widths[slot] >= G_MAXINT32)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "inputdimensions has the size %" G_GINT64_FORMAT, widths[slot]);
  *width = widths[slot];
  return TRUE;
}

/* Inputs [N, F], or [F] as one row. Sets the output to float [N, columns]. Source: ONNX-ML
 * FeatureVectorizer 1. */
gboolean
ir_infer_ml_feature_vectorizer (IrCall *call, GError **error)
{
  IrDim dims[2] = { IR_DIM_UNKNOWN, 0 }, width;

  for (guint i = 0; i < call->n_inputs; i++)
    {
      int rank = ir_call_input_rank (call, i);
      if (!check_numeric (call, i, error) || !vector_width (call, i, &width, error))
        return FALSE;
      if (rank != IR_RANK_UNKNOWN &&
          !ir_call_same_dim (call, dims[0], rank == 2 ? ir_call_input_dims (call, i)[0] : 1,
                             "numbers of rows", &dims[0], error))
        return FALSE;
      dims[1] = ir_dim_add (call->context, dims[1], width);
    }
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_FLOAT, 2, dims);
  return TRUE;
}

/* X of any shape. Sets the output to float, with the shape of X and the number of categories
 * behind it. Source: ONNX-ML OneHotEncoder 1. */
gboolean
ir_infer_ml_one_hot_encoder (IrCall *call, GError **error)
{
  guint n_ints = attr_length (call, "cats_int64s"), n_names = attr_length (call, "cats_strings");
  int rank = ir_call_input_rank (call, 0);
  IrDim dims[IR_MAX_RANK];

  if ((n_ints == 0) == (n_names == 0))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "one of cats_int64s and cats_strings is needed");
  if (rank == IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "X has %d dims already", rank);
  for (int i = 0; i < rank; i++)
    dims[i] = ir_call_input_dims (call, 0)[i];
  if (rank != IR_RANK_UNKNOWN)
    dims[rank++] = MAX (n_ints, n_names);
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_FLOAT, rank, dims);
  return TRUE;
}

/* -- linear models -- */

/* X [N, F]. Sets the outputs to labels [N] and scores [N, E], float. One row of coefficients for
 * two labels gives two scores. Source: ONNX-ML LinearClassifier 1. */
gboolean
ir_infer_ml_linear_classifier (IrCall *call, GError **error)
{
  guint n_labels, n_intercepts = attr_length (call, "intercepts");
  IrDim n, features, rows;

  if (!samples (call, &n, &features, error) ||
      !count_labels (call, "classlabels_ints", &n_labels, error))
    return FALSE;
  rows = n_intercepts > 0 ? n_intercepts : n_labels;
  if (n_intercepts == 0 && n_labels == 2 && ir_dim_is_known (features) &&
      attr_length (call, "coefficients") == features)
    rows = 1;
  if (rows != n_labels && (rows != 1 || n_labels != 2))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "there are %u labels and %" G_GINT64_FORMAT " intercepts", n_labels, rows);
  if (ir_dim_is_known (features) &&
      (features >= G_MAXINT32 || attr_length (call, "coefficients") != features * rows))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "coefficients has %u elements, %" G_GINT64_FORMAT
                         " for each of %" G_GINT64_FORMAT " classes are needed",
                         attr_length (call, "coefficients"), features, rows);
  set_classes (call, n, n_labels);
  return TRUE;
}

/* X [N, F]. Sets the output to float [N, targets]. Source: ONNX-ML LinearRegressor 1. */
gboolean
ir_infer_ml_linear_regressor (IrCall *call, GError **error)
{
  gint64 targets = ir_call_int (call, "targets", 1);
  guint n_weights = attr_length (call, "coefficients");
  guint n_intercepts = attr_length (call, "intercepts");
  IrDim dims[2] = { IR_DIM_UNKNOWN, targets }, features;

  if (!samples (call, &dims[0], &features, error))
    return FALSE;
  if (targets < 1 || targets >= G_MAXINT32)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "targets is %" G_GINT64_FORMAT ", 1 or more is needed", targets);
  if (ir_dim_is_known (features) && (features >= G_MAXINT32 || n_weights != features * targets))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "coefficients has %u elements, %" G_GINT64_FORMAT
                         " for each of %" G_GINT64_FORMAT " targets are needed",
                         n_weights, features, targets);
  if (n_intercepts != 0 && n_intercepts != targets)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "intercepts has %u elements, %" G_GINT64_FORMAT " are needed",
                         n_intercepts, targets);
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_FLOAT, 2, dims);
  return TRUE;
}

/* A multiplication and an addition for each weight and sample. */
guint64
ir_cost_ml_linear (const IrCall *call)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  guint64 n = rank == 2 && ir_dim_is_known (dims[0]) ? (guint64) dims[0] : 1;

  return ir_mul_saturated (2 * (guint64) attr_length (call, "coefficients"), n);
}

/* -- support vectors -- */

/* X [N, F]. Sets the outputs to labels [N] and scores, float: [N, E] for a linear model and with
 * probabilities, else [N, E * (E - 1) / 2], and [N, 2] for two classes. Source: ONNX-ML
 * SVMClassifier 1. */
gboolean
ir_infer_ml_svm_classifier (IrCall *call, GError **error)
{
  guint n_labels, n_sizes = 0;
  const gint64 *sizes = ir_call_ints (call, "vectors_per_class", &n_sizes);
  gboolean linear = TRUE;
  IrDim n, features, scores;

  if (!samples (call, &n, &features, error) ||
      !count_labels (call, "classlabels_ints", &n_labels, error))
    return FALSE;
  if (n_labels > G_MAXUINT16)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "there are %u classes", n_labels);
  for (guint i = 0; i < n_sizes; i++)
    linear = linear && sizes[i] == 0;
  scores = n_labels;
  if (!linear && attr_length (call, "prob_a") == 0 && n_labels > 2)
    scores = (IrDim) n_labels * (n_labels - 1) / 2;
  set_classes (call, n, scores);
  return TRUE;
}

/* X [N, F]. Sets the output to float [N, 1]. Source: ONNX-ML SVMRegressor 1. */
gboolean
ir_infer_ml_svm_regressor (IrCall *call, GError **error)
{
  IrDim dims[2] = { IR_DIM_UNKNOWN, 1 }, features;

  if (!samples (call, &dims[0], &features, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_FLOAT, 2, dims);
  return TRUE;
}

/* A product with each support vector, and a few operations for the kernel. */
guint64
ir_cost_ml_svm (const IrCall *call)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  guint64 n = rank == 2 && ir_dim_is_known (dims[0]) ? (guint64) dims[0] : 1;
  guint64 each = 2 * ((guint64) attr_length (call, "support_vectors") +
                      (guint64) attr_length (call, "coefficients"));

  return ir_mul_saturated (each, n);
}

/* -- trees -- */

static gboolean
infer_targets (IrCall *call, IrDtype dtype, GError **error)
{
  gint64 targets = ir_call_int (call, "n_targets", 0);
  IrDim dims[2] = { IR_DIM_UNKNOWN, targets }, features;

  if (!samples (call, &dims[0], &features, error))
    return FALSE;
  if (targets < 1 || targets >= G_MAXINT32)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "n_targets is %" G_GINT64_FORMAT ", 1 or more is needed", targets);
  ir_call_set_output_tensor_type (call, 0, dtype, 2, dims);
  return TRUE;
}

/* X [N, F], floating point. Sets the output to [N, n_targets], of the element type of X. Source:
 * ONNX-ML TreeEnsemble 5. */
gboolean
ir_infer_ml_tree_ensemble (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);

  if (dtype != IR_DTYPE_UNDEFINED && !ir_dtype_is_float (dtype))
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X is %s, floating point is needed",
                         ir_dtype_name (dtype));
  return infer_targets (call, dtype, error);
}

/* X [N, F]. Sets the output to float [N, n_targets]. Source: ONNX-ML TreeEnsembleRegressor 3. */
gboolean
ir_infer_ml_tree_regressor (IrCall *call, GError **error)
{
  return infer_targets (call, IR_DTYPE_FLOAT, error);
}

/* X [N, F]. Sets the outputs to labels [N] and scores [N, E], float. Source: ONNX-ML
 * TreeEnsembleClassifier 3. */
gboolean
ir_infer_ml_tree_classifier (IrCall *call, GError **error)
{
  guint n_labels;
  IrDim n, features;

  if (!samples (call, &n, &features, error) ||
      !count_labels (call, "classlabels_int64s", &n_labels, error))
    return FALSE;
  set_classes (call, n, n_labels);
  return TRUE;
}

/* One comparison per level. Trees are taken as balanced: of k nodes, log2 (k) lie on a path. */
guint64
ir_cost_ml_tree (const IrCall *call)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  guint64 n = rank == 2 && ir_dim_is_known (dims[0]) ? (guint64) dims[0] : 1;
  guint n_nodes = attr_length (call, "nodes_featureids"), n_ids = 0;
  const gint64 *ids = ir_call_ints (call, "nodes_treeids", &n_ids);
  guint64 n_trees = attr_length (call, "tree_roots");

  for (guint i = 0; i < n_ids; i++)
    n_trees += i == 0 || ids[i] != ids[i - 1];
  n_trees = MAX (n_trees, 1);
  return ir_mul_saturated (n_trees * g_bit_storage ((gulong) (n_nodes / n_trees)), n);
}

/* -- maps -- */

static const IrType *
input_map (const IrCall *call)
{
  const IrType *type = ir_call_input_type (call, 0);
  return type != NULL && type->kind == IR_TYPE_MAP ? type : NULL;
}

static gboolean
check_map (const IrCall *call, GError **error)
{
  return ir_call_input_type (call, 0) == NULL || input_map (call) != NULL ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X is no map");
}

/* X: a map of integers to numbers or strings. Sets the output to [1, entries], or [1, max_map]
 * where it is sparse. Source: ONNX-ML CastMap 1. */
gboolean
ir_infer_ml_cast_map (IrCall *call, GError **error)
{
  const char *to = ir_call_string (call, "cast_to", "TO_FLOAT");
  const char *form = ir_call_string (call, "map_form", "DENSE");
  gint64 n = ir_call_int (call, "max_map", 1);
  gboolean sparse = strcmp (form, "SPARSE") == 0;
  IrDim dims[2] = { 1, sparse ? n : IR_DIM_UNKNOWN };
  IrDtype dtype = strcmp (to, "TO_FLOAT") == 0    ? IR_DTYPE_FLOAT
                  : strcmp (to, "TO_INT64") == 0  ? IR_DTYPE_INT64
                  : strcmp (to, "TO_STRING") == 0 ? IR_DTYPE_STRING
                                                  : IR_DTYPE_UNDEFINED;

  if (!check_map (call, error))
    return FALSE;
  if (dtype == IR_DTYPE_UNDEFINED)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "cast_to is \"%s\"; TO_FLOAT, TO_INT64 or TO_STRING is needed", to);
  if (!sparse && strcmp (form, "DENSE") != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "map_form is \"%s\"; DENSE or SPARSE is needed", form);
  if (sparse && (n < 1 || n >= G_MAXINT32))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "max_map is %" G_GINT64_FORMAT, n);
  ir_call_set_output_tensor_type (call, 0, dtype, 2, dims);
  return TRUE;
}

/* X: a map. Sets the output to [1, words], of the type of the values of X. Source: ONNX-ML
 * DictVectorizer 1. */
gboolean
ir_infer_ml_dict_vectorizer (IrCall *call, GError **error)
{
  guint n_ints = attr_length (call, "int64_vocabulary");
  guint n_names = attr_length (call, "string_vocabulary");
  const IrType *map = input_map (call);
  IrDim dims[2] = { 1, MAX (n_ints, n_names) };
  IrDtype dtype = IR_DTYPE_UNDEFINED;

  if (!check_map (call, error))
    return FALSE;
  if ((n_ints == 0) == (n_names == 0))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "one of int64_vocabulary and string_vocabulary is needed");
  if (map != NULL && map->element != NULL && ir_type_is_tensor (map->element))
    dtype = map->element->dtype;
  ir_call_set_output_tensor_type (call, 0, dtype, 2, dims);
  return TRUE;
}

/* X [N, C] or [C], float. Sets the output to a sequence of maps of labels to float. Source:
 * ONNX-ML ZipMap 1. */
gboolean
ir_infer_ml_zip_map (IrCall *call, GError **error)
{
  gboolean names = attr_length (call, "classlabels_strings") > 0;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  IrDim n, columns;
  guint n_labels;

  if (!samples (call, &n, &columns, error) ||
      !count_labels (call, "classlabels_int64s", &n_labels, error))
    return FALSE;
  if (ir_dim_is_known (columns) && columns != n_labels)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "X has %" G_GINT64_FORMAT " columns for %u labels", columns, n_labels);
  const IrType *value = ir_type_tensor (
      call->context, dtype != IR_DTYPE_UNDEFINED ? dtype : IR_DTYPE_FLOAT, IR_RANK_UNKNOWN, NULL);
  const IrType *map = ir_type_map (call->context, names ? IR_DTYPE_STRING : IR_DTYPE_INT64, value);
  ir_call_set_output_type (call, 0, ir_type_sequence (call->context, map));
  return TRUE;
}
