/* ai.onnx.ml: what turns raw data into features: picking, scaling, encoding. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ml.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

/* Elements in a row of X: all of its last axis. */
static guint64
row_length (const IrTensor *tensor)
{
  guint rank = ir_tensor_rank (tensor);
  return rank > 0 ? (guint64) ir_tensor_dims (tensor)[rank - 1] : 1;
}

static guint64
n_rows (const IrTensor *tensor)
{
  guint64 length = row_length (tensor);
  return length > 0 ? ir_tensor_n_elements (tensor) / length : 0;
}

/* -- by features -- */

/* X [..., F], Y: indices. Source: ONNX-ML ArrayFeatureExtractor 1. */
gboolean
ir_ref_ml_array_feature_extractor (IrCall *call, GError **error)
{
  g_auto (IrRefReader) reader = { 0 };
  g_auto (IrRefWriter) writer = { 0 };

  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0), *picks = ir_call_input (call, 1);
  guint64 length = row_length (in), n = ir_tensor_n_elements (picks);
  for (guint64 i = 0; i < n; i++)
    {
      gint64 pick = ir_tensor_get_int64 (picks, i);
      if (pick < 0 || (guint64) pick >= length)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "Y asks for feature %" G_GINT64_FORMAT " of %" G_GUINT64_FORMAT, pick,
                             length);
    }
  if (!ir_ref_reader_init (&reader, call, in, error) ||
      !ir_ref_writer_init (&writer, call, 0, error))
    return FALSE;
  for (guint64 row = 0, rest = n_rows (in); row < rest; row++)
    for (guint64 i = 0; i < n; i++)
      ir_ref_copy_run (&writer, row * n + i, &reader,
                       row * length + (guint64) ir_tensor_get_int64 (picks, i), 1);
  return ir_ref_writer_finish (&writer, error);
}

/* X. Source: ONNX-ML Binarizer 1. */
gboolean
ir_ref_ml_binarizer (IrCall *call, GError **error)
{
  double threshold = ir_call_float (call, "threshold", 0), value;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      ir_block_load (in, i, 1, &value);
      value = value > threshold ? 1 : 0;
      ir_block_store (out, i, 1, &value);
    }
  return TRUE;
}

/* One number, or one for each feature. */
static gboolean
check_by_feature (
    const IrMlList *list, const IrCall *call, const char *name, guint64 length, GError **error)
{
  return ir_ml_list_check (list, call, name, list->n == 1 ? 1 : length, error);
}

/* X [..., F]. Source: ONNX-ML Scaler 1. */
gboolean
ir_ref_ml_scaler (IrCall *call, GError **error)
{
  IrMlList offset, scale;
  double value;

  if (!ir_ref_prepare (call, error) || !ir_ml_list_init (&offset, call, "offset", error) ||
      !ir_ml_list_init (&scale, call, "scale", error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  guint64 length = row_length (in);
  if ((offset.n > 0 && !check_by_feature (&offset, call, "offset", length, error)) ||
      (scale.n > 0 && !check_by_feature (&scale, call, "scale", length, error)))
    return FALSE;
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      guint64 feature = i % length;
      ir_block_load (in, i, 1, &value);
      if (offset.n > 0)
        value -= ir_ml_list_double (&offset, offset.n == 1 ? 0 : feature);
      if (scale.n > 0)
        value *= ir_ml_list_double (&scale, scale.n == 1 ? 0 : feature);
      ir_block_store (out, i, 1, &value);
    }
  return TRUE;
}

typedef enum
{
  NORM_MAX,
  NORM_L1,
  NORM_L2,
  N_NORMS
} Norm;

static double
norm_of (Norm norm, guint64 n, const double *row)
{
  double max = -G_MAXDOUBLE, absolute = 0, squares = 0;

  for (guint64 i = 0; i < n; i++)
    {
      max = MAX (max, row[i]);
      absolute += fabs (row[i]);
      squares += row[i] * row[i];
    }
  if (norm == NORM_MAX)
    return max;
  return norm == NORM_L1 ? absolute : sqrt (squares);
}

/* X [..., F]. Source: ONNX-ML Normalizer 1. MAX divides by the greatest element, not by the
 * greatest absolute value, as the text of the standard has it. */
gboolean
ir_ref_ml_normalizer (IrCall *call, GError **error)
{
  static const char *const names[N_NORMS] = { "MAX", "L1", "L2" };
  guint kind = NORM_MAX;

  if (!ir_ref_prepare (call, error) || !ir_ml_choice (call, "norm", names, N_NORMS, &kind, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  guint64 length = row_length (in);
  IrTensor *out = ir_block_new_output (call, 0, error);
  g_autofree double *row = ir_block_new (call, length, error);
  if (out == NULL || row == NULL)
    return FALSE;
  for (guint64 r = 0; r < n_rows (in); r++)
    {
      ir_block_load_many (call, in, r * length, length, row);
      double norm = norm_of ((Norm) kind, length, row);
      for (guint64 i = 0; i < length && norm != 0; i++)
        row[i] /= norm;
      ir_block_store (out, r * length, length, row);
    }
  return TRUE;
}

/* -- missing values -- */

static void
impute_int (const IrTensor *in, IrTensor *out, guint64 i, gint64 from, const IrMlList *to)
{
  gint64 value = ir_tensor_get_int64 (in, i);

  if (value == from)
    value = ir_ml_list_int (to, to->n == 1 ? 0 : i % to->n);
  ir_dtype_set_int64 (ir_tensor_dtype (out), ir_tensor_data_writable (out), i, value);
}

static void
impute_float (const IrTensor *in, IrTensor *out, guint64 i, double from, const IrMlList *to)
{
  double value = ir_tensor_get_double (in, i);

  if (value == from || (isnan (value) && isnan (from)))
    value = ir_ml_list_double (to, to->n == 1 ? 0 : i % to->n);
  ir_block_store (out, i, 1, &value);
}

/* X [..., F]. Source: ONNX-ML Imputer 1. */
gboolean
ir_ref_ml_imputer (IrCall *call, GError **error)
{
  IrMlList values;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  gboolean real = ir_dtype_is_float (ir_tensor_dtype (in));
  const char *name = real ? "imputed_value_floats" : "imputed_value_int64s";
  if (!ir_ml_list_init (&values, call, name, error) ||
      !check_by_feature (&values, call, name, row_length (in), error))
    return FALSE;
  if (!real && values.n > 0 && values.dtype != IR_DTYPE_INT64)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "%s must hold integers", name);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  double from = ir_call_float (call, "replaced_value_float", 0);
  gint64 from_int = ir_call_int (call, "replaced_value_int64", 0);
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    if (real)
      impute_float (in, out, i, from, &values);
    else
      impute_int (in, out, i, from_int, &values);
  return TRUE;
}

/* -- several inputs -- */

/* Columns [column, column + width) of the output from one input; 0 where that has no more. */
static gboolean
put_columns (IrCall *call, guint slot, IrTensor *out, gint64 column, gint64 *width, GError **error)
{
  const IrTensor *in = ir_call_input (call, slot);
  gint64 length = (gint64) row_length (in), n_columns = call->outputs[0].type->dims[1];
  guint n;
  const gint64 *widths = ir_call_ints (call, "inputdimensions", &n);

  *width = widths != NULL ? widths[slot] : length;
  gint64 n_taken = MIN (*width, length);
  g_autofree double *row = ir_block_new (call, (guint64) MAX (*width, n_taken), error);
  if (row == NULL)
    return FALSE;
  memset (row, 0, (gsize) *width * sizeof *row);
  for (gint64 r = 0;
       r < call->outputs[0].type->dims[0]; r++)
    {
      ir_block_load_many (call, in, (guint64) (r * length), (guint64) n_taken, row);
      ir_block_store (out, (guint64) (r * n_columns + column), (guint64) *width, row);
    }
  return TRUE;
}

/* Inputs [N, F] or [F]. Source: ONNX-ML FeatureVectorizer 1. */
gboolean
ir_ref_ml_feature_vectorizer (IrCall *call, GError **error)
{
  gint64 column = 0, width = 0;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  IrTensor *out = ir_block_new_output (call, 0, error);
  for (guint i = 0; i < call->n_inputs && out != NULL; i++, column += width)
    if (!put_columns (call, i, out, column, &width, error))
      return FALSE;
  return out != NULL;
}

/* -- encoding -- */

/* Keys must be what X holds: strings, integers or floating point. */
static gboolean
check_keys (const IrMlList *keys, const IrCall *call, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (ir_call_input (call, 0));

  if ((dtype == IR_DTYPE_STRING) == (keys->dtype == IR_DTYPE_STRING) &&
      ir_dtype_is_float (dtype) == ir_dtype_is_float (keys->dtype) &&
      ir_dtype_is_integer (dtype) == ir_dtype_is_integer (keys->dtype))
    return TRUE;
  return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X is %s and the keys are %s",
                       ir_dtype_name (dtype), ir_dtype_name (keys->dtype));
}

/* Output 0 takes values[places[i] - 1], or the default where places[i] is 0. */
static gboolean
put_strings (IrCall *call,
             const guint32 *places,
             guint64 n,
             const IrMlList *values,
             GBytes *fallback,
             GError **error)
{
  const IrType *type = call->outputs[0].type;
  g_autoptr (GPtrArray) strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

  for (guint64 i = 0; i < n; i++)
    {
      GBytes *string = places[i] == 0 ? g_bytes_ref (fallback)
                                      : ir_ml_list_string (values, places[i] - 1);
      if (string == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for the strings");
      g_ptr_array_add (strings, string);
    }
  return ir_call_take_strings (call, 0, (guint) type->rank, type->dims,
                               (GBytes **) (gpointer) strings->pdata, error);
}

static GBytes *
string_default (const IrCall *call)
{
  const IrAttr *attr = ir_call_attr (call, "default_string");

  if (attr == NULL || attr->kind != IR_ATTR_STRING || attr->n == 0)
    return g_bytes_new_static ("_Unused", 7);
  return g_bytes_new (attr->strings[0].data, attr->strings[0].length);
}

/* The single element of default_tensor, which must be of the type of the values; NULL if absent. */
static gboolean
tensor_default (const IrCall *call, IrDtype dtype, const IrTensor **tensor, GError **error)
{
  const IrAttr *attr = ir_call_attr (call, "default_tensor");

  *tensor = attr != NULL && attr->kind == IR_ATTR_TENSOR && attr->n > 0 ? attr->tensors[0] : NULL;
  if (*tensor == NULL)
    return TRUE;
  if (ir_tensor_dtype (*tensor) == dtype && ir_tensor_n_elements (*tensor) == 1 &&
      ir_tensor_sparse_values (*tensor) == NULL)
    return TRUE;
  return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "default_tensor must hold one element of type %s", ir_dtype_name (dtype));
}

static gboolean
put_integers (IrCall *call,
              const guint32 *places,
              guint64 n,
              const IrMlList *values,
              const IrTensor *fallback,
              GError **error)
{
  gint64 otherwise = fallback != NULL ? ir_tensor_get_int64 (fallback, 0)
                                      : ir_call_int (call, "default_int64", -1);
  IrTensor *out = ir_block_new_output (call, 0, error);

  for (guint64 i = 0; i < n && out != NULL; i++)
    ir_dtype_set_int64 (ir_tensor_dtype (out), ir_tensor_data_writable (out), i,
                        places[i] > 0 ? ir_ml_list_int (values, places[i] - 1) : otherwise);
  return out != NULL;
}

static gboolean
put_floats (IrCall *call,
            const guint32 *places,
            guint64 n,
            const IrMlList *values,
            const IrTensor *fallback,
            GError **error)
{
  double otherwise = fallback != NULL ? ir_tensor_get_double (fallback, 0)
                                      : ir_call_float (call, "default_float", -0.0);
  IrTensor *out = ir_block_new_output (call, 0, error);

  for (guint64 i = 0; i < n && out != NULL; i++)
    {
      double value = places[i] > 0 ? ir_ml_list_double (values, places[i] - 1) : otherwise;
      ir_block_store (out, i, 1, &value);
    }
  return out != NULL;
}

/* Where each element of X stands in the keys, plus 1; 0: nowhere. */
static guint32 *
find_places (const IrCall *call, const IrMlList *keys, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  guint64 n = ir_tensor_n_elements (in);
  g_auto (IrPlaces) index = { 0 };
  if (!ir_ml_index_init (&index, keys, call, error))
    return NULL;
  guint32 *places = n < G_MAXUINT32 ? g_try_new0 (guint32, (gsize) MAX (n, 1)) : NULL;

  if (places == NULL)
    ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for %" G_GUINT64_FORMAT " elements",
                  n);
  for (guint64 i = 0; i < n && places != NULL; i++)
    places[i] = ir_ml_index_find (&index, ir_ml_tensor_key (in, i));
  return places;
}

static gboolean
encode (IrCall *call, const IrMlList *keys, const IrMlList *values, GError **error)
{
  const IrTensor *fallback = NULL;
  guint64 n = ir_tensor_n_elements (ir_call_input (call, 0));

  if (keys->n != values->n || keys->n >= G_MAXINT32)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "there are %" G_GUINT64_FORMAT " keys and %" G_GUINT64_FORMAT
                         " values, as many are needed",
                         keys->n, values->n);
  if (!check_keys (keys, call, error) || !tensor_default (call, values->dtype, &fallback, error))
    return FALSE;
  g_autofree guint32 *places = find_places (call, keys, error);
  if (places == NULL)
    return FALSE;
  if (values->dtype == IR_DTYPE_STRING)
    {
      g_autoptr (GBytes) otherwise = fallback != NULL ? g_bytes_ref (ir_tensor_string (fallback, 0))
                                                      : string_default (call);
      return put_strings (call, places, n, values, otherwise, error);
    }
  if (ir_dtype_is_float (values->dtype))
    return put_floats (call, places, n, values, fallback, error);
  if (ir_dtype_is_integer (values->dtype))
    return put_integers (call, places, n, values, fallback, error);
  return ir_ref_fail_dtype (call, values->dtype, error);
}

/* Names against numbers; which way goes by what X holds. */
static gboolean
encode_names (IrCall *call, const IrMlList *names, const IrMlList *numbers, GError **error)
{
  gboolean from_names = ir_tensor_dtype (ir_call_input (call, 0)) == IR_DTYPE_STRING;

  if ((names->n > 0 && names->dtype != IR_DTYPE_STRING) ||
      (numbers->n > 0 && numbers->dtype != IR_DTYPE_INT64))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "names must be strings and their numbers integers");
  return encode (call, from_names ? names : numbers, from_names ? numbers : names, error);
}

/* X: strings or integers. Source: ONNX-ML CategoryMapper 1. */
gboolean
ir_ref_ml_category_mapper (IrCall *call, GError **error)
{
  IrMlList names, numbers;

  return ir_ref_prepare (call, error) && ir_ml_list_init (&names, call, "cats_strings", error) &&
         ir_ml_list_init (&numbers, call, "cats_int64s", error) &&
         encode_names (call, &names, &numbers, error);
}

/* Version 1: the number of a name is its place. */
static gboolean
encode_classes (IrCall *call, GError **error)
{
  IrMlList names;

  if (!ir_ml_list_init (&names, call, "classes_strings", error))
    return FALSE;
  g_autoptr (IrTensor)
      places = ir_tensor_new_alloc (IR_DTYPE_INT64, 1, (gint64[1]){ (gint64) names.n }, error);
  if (places == NULL)
    return FALSE;
  IrMlList numbers = { .dtype = IR_DTYPE_INT64, .n = names.n, .tensor = places };
  for (guint64 i = 0; i < names.n; i++)
    ((gint64 *) ir_tensor_data_writable (places))[i] = (gint64) i;
  return encode_names (call, &names, &numbers, error);
}

/* X of any type that has keys. Source: ONNX-ML LabelEncoder 4, 2 and 1. */
gboolean
ir_ref_ml_label_encoder (IrCall *call, GError **error)
{
  static const char *const key_names[] = { "keys_tensor", "keys_strings", "keys_int64s",
                                           "keys_floats", NULL };
  static const char *const value_names[] = { "values_tensor", "values_strings", "values_int64s",
                                             "values_floats", NULL };
  IrMlList keys, values;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  if (ir_call_attr (call, "classes_strings") != NULL)
    return encode_classes (call, error);
  return ir_ml_list_choose (&keys, call, key_names, TRUE, error) &&
         ir_ml_list_choose (&values, call, value_names, TRUE, error) &&
         encode (call, &keys, &values, error);
}

/* Numbers are cut to integers before they are looked up. */
static IrMlKey
category_key (const IrTensor *tensor, guint64 i)
{
  if (!ir_dtype_is_float (ir_tensor_dtype (tensor)))
    return ir_ml_tensor_key (tensor, i);
  double value = trunc (ir_tensor_get_double (tensor, i));
  if (!(fabs (value) < 9.2e18))
    return (IrMlKey){ .text = "" }; /* no integer: no category */
  return ir_ml_int_key ((gint64) value);
}

/* X of any shape. Source: ONNX-ML OneHotEncoder 1. */
gboolean
ir_ref_ml_one_hot_encoder (IrCall *call, GError **error)
{
  gboolean strict = ir_call_int (call, "zeros", 1) == 0;
  IrMlList categories;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  gboolean strings = ir_tensor_dtype (in) == IR_DTYPE_STRING;
  if (!ir_ml_list_init (&categories, call, strings ? "cats_strings" : "cats_int64s", error))
    return FALSE;
  if (categories.n == 0 || categories.dtype != (strings ? IR_DTYPE_STRING : IR_DTYPE_INT64))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "there are no categories for X of type %s",
                         ir_dtype_name (ir_tensor_dtype (in)));
  if (!strings && !ir_dtype_is_float (ir_tensor_dtype (in)) &&
      !ir_dtype_is_integer (ir_tensor_dtype (in)))
    return ir_ref_fail_dtype (call, ir_tensor_dtype (in), error);
  g_auto (IrPlaces) index = { 0 };
  if (!ir_ml_index_init (&index, &categories, call, error))
    return FALSE;
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  float *data = ir_tensor_data_writable (out);
  memset (data, 0, ir_tensor_n_bytes (out));
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      guint place = ir_ml_index_find (&index, category_key (in, i));
      if (place > 0)
        data[i * categories.n + place - 1] = 1;
      else if (strict)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "element %" G_GUINT64_FORMAT " of X is no category", i);
    }
  return TRUE;
}
