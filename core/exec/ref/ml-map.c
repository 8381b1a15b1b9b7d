/* ai.onnx.ml: maps from and to tensors. */
#include "config.h"

#include "core/exec/ref/string-util.h"
#include "core/exec/ref/ml.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Checks and infers; shapes need not be known before. */
static gboolean
prepare (IrCall *call, GError **error)
{
  return ir_call_check (call, error) && call->op->infer (call, error);
}

/* Input 0 as a map whose values are one tensor, which is what maps to single values are. */
static gboolean
read_map (const IrCall *call, const IrTensor **keys, const IrTensor **values, GError **error)
{
  const IrTensor *map = ir_call_input (call, 0);

  if (map == NULL || ir_tensor_kind (map) != IR_TYPE_MAP)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X is no map");
  *keys = ir_tensor_item (map, 0);
  *values = ir_tensor_item (map, 1);
  return !ir_tensor_is_container (*values) ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X does not map to single values");
}

/* -- ZipMap -- */

static IrTensor *
labels_tensor (const IrCall *call, const IrMlList *labels, GError **error)
{
  gint64 n = (gint64) labels->n;

  if (labels->dtype == IR_DTYPE_INT64)
    return ir_tensor_new_int64s (labels->attr->ints, (gssize) n);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  for (guint64 i = 0; i < labels->n; i++)
    {
      GBytes *name = ir_ml_list_string (labels, i);
      if (name == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for the labels"), NULL;
      g_ptr_array_add (names, name);
    }
  IrTensor *tensor = ir_tensor_new_strings (1, &n, (GBytes **) (gpointer) names->pdata);
  if (tensor == NULL)
    ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "too many labels");
  return tensor;
}

static gboolean
read_labels (const IrCall *call, IrTensor **keys, guint64 n_columns, GError **error)
{
  static const char *const names[] = { "classlabels_strings", "classlabels_int64s", NULL };
  IrMlList labels;

  if (!ir_ml_list_choose (&labels, call, names, TRUE, error))
    return FALSE;
  if (labels.attr == NULL || labels.dtype == IR_DTYPE_FLOAT || labels.n != n_columns)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "%" G_GUINT64_FORMAT " labels are needed, one for each column", n_columns);
  g_auto (IrPlaces) index = { 0 };
  if (!ir_ml_index_init (&index, &labels, call, error))
    return FALSE;
  if (index.n != labels.n)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "two labels are the same");
  *keys = labels_tensor (call, &labels, error);
  return *keys != NULL;
}

/* X [N, C] or [C]. Source: ONNX-ML ZipMap 1. */
gboolean
ir_ref_ml_zip_map (IrCall *call, GError **error)
{
  g_auto (IrMlSamples) samples = { 0 };
  g_autoptr (IrTensor) keys = NULL;
  g_autoptr (GPtrArray) maps = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);

  if (!prepare (call, error) || !ir_ml_samples_init (&samples, call, error) ||
      !read_labels (call, &keys, samples.n_features, error))
    return FALSE;
  IrDtype dtype = ir_tensor_dtype (samples.tensor);
  gint64 n = (gint64) samples.n_features;
  for (guint64 row = 0; row < samples.n; row++)
    {
      g_autoptr (IrTensor) values = ir_tensor_new_alloc (dtype, 1, &n, error);
      if (values == NULL || ir_block_cancelled (call, error))
        return FALSE;
      ir_block_store (values, 0, (guint64) n, ir_ml_samples_read (&samples, row));
      g_ptr_array_add (maps, ir_tensor_new_map (keys, values));
    }
  IrTensor *sequence = ir_tensor_new_sequence (
      call->outputs[0].type->element, (IrTensor *const *) (gpointer) maps->pdata, maps->len);
  if (sequence == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "there is no such sequence of maps");
  ir_call_take_output (call, 0, sequence);
  return TRUE;
}

/* -- DictVectorizer -- */

static gboolean
check_vocabulary (const IrCall *call, const IrMlList *words, const IrTensor *keys, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (keys);

  return (words->attr != NULL && words->dtype != IR_DTYPE_FLOAT &&
          (words->dtype == IR_DTYPE_STRING) == (dtype == IR_DTYPE_STRING)) ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                       "the keys of X are %s and the vocabulary is %s", ir_dtype_name (dtype),
                       ir_dtype_name (words->dtype));
}

/* For each word its place in X, plus 1; 0: X has none. Words twice in the vocabulary are filled in
 * twice; keys of X that are no words are left out. */
static guint32 *
find_words (const IrCall *call, const IrMlList *words, const IrTensor *keys, GError **error)
{
  IrMlList list = { .dtype = ir_tensor_dtype (keys),
                    .n = ir_tensor_n_elements (keys),
                    .tensor = keys };
  g_auto (IrPlaces) index = { 0 };

  if (!ir_ml_index_init (&index, &list, call, error))
    return NULL;
  guint32 *places = g_try_new0 (guint32, (gsize) MAX (words->n, 1));
  if (places == NULL)
    ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "there are too many words");
  for (guint64 i = 0; places != NULL && i < words->n; i++)
    places[i] = ir_ml_index_find (&index, ir_ml_list_key (words, i));
  return places;
}

static gboolean
put_words (IrCall *call, const IrTensor *values, const guint32 *places, guint64 n, GError **error)
{
  g_autoptr (GPtrArray) strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  gint64 dims[2] = { 1, (gint64) n };

  for (guint64 i = 0; i < n; i++)
    {
      g_ptr_array_add (strings, places[i] > 0
                                    ? g_bytes_ref (ir_tensor_string (values, places[i] - 1))
                                    : g_bytes_new_static ("", 0));
    }
  return ir_call_take_strings (call, 0, 2, dims, (GBytes **) (gpointer) strings->pdata, error);
}

/* X: a map. Source: ONNX-ML DictVectorizer 1. The result is one row [1, words], as other
 * programs have it, since the operators behind it take [N, F]. */
gboolean
ir_ref_ml_dict_vectorizer (IrCall *call, GError **error)
{
  static const char *const names[] = { "string_vocabulary", "int64_vocabulary", NULL };
  const IrTensor *keys, *values;
  IrMlList words;

  if (!prepare (call, error) || !read_map (call, &keys, &values, error) ||
      !ir_ml_list_choose (&words, call, names, TRUE, error) ||
      !check_vocabulary (call, &words, keys, error))
    return FALSE;
  IrDtype dtype = ir_tensor_dtype (values);
  g_autofree guint32 *places = find_words (call, &words, keys, error);
  gint64 dims[2] = { 1, (gint64) words.n };
  if (places == NULL)
    return FALSE;
  if (dtype == IR_DTYPE_STRING)
    return put_words (call, values, places, words.n, error);
  IrTensor *out = ir_call_new_output (call, 0, dtype, 2, dims, error);
  for (guint64 i = 0; i < words.n && out != NULL; i++)
    {
      gpointer data = ir_tensor_data_writable (out);
      if (ir_dtype_is_float (dtype))
        ir_dtype_set_double (dtype, data, i,
                             places[i] > 0 ? ir_tensor_get_double (values, places[i] - 1) : 0);
      else
        ir_dtype_set_int64 (dtype, data, i,
                            places[i] > 0 ? ir_tensor_get_int64 (values, places[i] - 1) : 0);
    }
  return out != NULL;
}

/* -- CastMap -- */

/* Entries by their keys. */
static int
compare_keys (gconstpointer a, gconstpointer b, gpointer data)
{
  const gint64 *keys = data;
  gint64 left = keys[*(const gint64 *) a], right = keys[*(const gint64 *) b];

  return left < right ? -1 : left > right;
}

/* The shortest text that reads as the same number. */
static GBytes *
number_text (const IrTensor *values, guint64 i)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  IrDtype dtype = ir_tensor_dtype (values);

  if (!ir_dtype_is_float (dtype))
    {
      char *number = g_strdup_printf ("%" G_GINT64_FORMAT, ir_tensor_get_int64 (values, i));
      return g_bytes_new_take (number, strlen (number));
    }
  double value = ir_tensor_get_double (values, i);
  for (guint digits = 1; digits <= 17; digits++)
    {
      char format[8];
      g_snprintf (format, sizeof format, "%%.%ug", digits);
      g_ascii_formatd (text, sizeof text, format, value);
      if (isnan (value) || ir_block_round (dtype, g_ascii_strtod (text, NULL)) == value)
        break;
    }
  return g_bytes_new (text, strlen (text));
}

static gboolean
read_number (const IrCall *call, const IrTensor *values, guint64 i, double *value, GError **error)
{
  gsize length;

  if (ir_tensor_dtype (values) != IR_DTYPE_STRING)
    {
      *value = ir_tensor_get_double (values, i);
      return TRUE;
    }
  const IrStringNumber number = ir_string_number (ir_tensor_string (values, i), FALSE);
  *value = number.real;
  const char *text = ir_string_at (values, i, &length);
  return number.is_real || ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                                         "\"%.*s\" is no number", (int) MIN (length, 40), text);
}

/* Integers are cut off, as in a cast. */
static gboolean
read_integer (const IrCall *call, const IrTensor *values, guint64 i, gint64 *value, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (values);
  double number;

  if (dtype != IR_DTYPE_STRING && !ir_dtype_is_float (dtype))
    {
      *value = ir_tensor_get_int64 (values, i);
      return TRUE;
    }
  if (!read_number (call, values, i, &number, error))
    return FALSE;
  if (!(fabs (number) < 9223372036854775808.0))
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "%g is no int64", number);
  *value = (gint64) number;
  return TRUE;
}

/* Element @to of the output from entry @from of the map. */
static gboolean
put_entry (const IrCall *call,
           IrTensor *out,
           guint64 to,
           const IrTensor *values,
           guint64 from,
           GError **error)
{
  gint64 integer = 0;
  double number = 0;

  if (ir_tensor_dtype (out) == IR_DTYPE_INT64)
    {
      if (!read_integer (call, values, from, &integer, error))
        return FALSE;
      ((gint64 *) ir_tensor_data_writable (out))[to] = integer;
      return TRUE;
    }
  if (!read_number (call, values, from, &number, error))
    return FALSE;
  ((float *) ir_tensor_data_writable (out))[to] = (float) number;
  return TRUE;
}

static GPtrArray *
zero_strings (const IrCall *call, guint64 n)
{
  GPtrArray *strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

  for (guint64 i = 0; i < n; i++)
    g_ptr_array_add (strings, g_bytes_new_static ("0", 1));
  return strings;
}

static gboolean
cast_entries (IrCall *call,
              const gint64 *order,
              const gint64 *keys,
              guint64 n,
              const IrTensor *values,
              const gint64 *dims,
              gboolean sparse,
              GError **error)
{
  IrDtype dtype = call->outputs[0].type->dtype;
  gboolean texts = dtype == IR_DTYPE_STRING;
  g_autoptr (GPtrArray) strings = zero_strings (call, texts ? (guint64) dims[1] : 0);
  IrTensor *out = texts ? NULL : ir_call_new_output (call, 0, dtype, 2, dims, error);

  if ((!texts && out == NULL) ||
      (texts && strings->len < dims[1] && ir_block_cancelled (call, error)))
    return FALSE;
  if (!texts)
    memset (ir_tensor_data_writable (out), 0, ir_tensor_n_bytes (out));
  for (guint64 i = 0; i < n; i++)
    {
      guint64 from = (guint64) order[i], to = sparse ? (guint64) keys[from] : i;
      if (i % 1024 == 0 && ir_block_cancelled (call, error))
        return FALSE;
      if (!texts && !put_entry (call, out, to, values, from, error))
        return FALSE;
      if (!texts)
        continue;
      g_bytes_unref (strings->pdata[to]);
      strings->pdata[to] = ir_tensor_dtype (values) == IR_DTYPE_STRING
                               ? g_bytes_ref (ir_tensor_string (values, from))
                               : number_text (values, from);
    }
  return !texts ||
         ir_call_take_strings (call, 0, 2, dims, (GBytes **) (gpointer) strings->pdata, error);
}

/* X: a map of integers to numbers or strings. Source: ONNX-ML CastMap 1. The result is one row,
 * [1, entries] or [1, max_map]. */
gboolean
ir_ref_ml_cast_map (IrCall *call, GError **error)
{
  gboolean sparse = strcmp (ir_call_string (call, "map_form", "DENSE"), "SPARSE") == 0;
  gint64 max = ir_call_int (call, "max_map", 1);
  const IrTensor *keys, *values;

  if (!prepare (call, error) || !read_map (call, &keys, &values, error))
    return FALSE;
  if (!ir_dtype_is_integer (ir_tensor_dtype (keys)))
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "the keys of X are %s, not integers",
                         ir_dtype_name (ir_tensor_dtype (keys)));
  guint64 n = ir_tensor_n_elements (keys);
  gint64 dims[2] = { 1, sparse ? max : (gint64) n };
  g_autofree gint64 *numbers = g_try_new (gint64, (gsize) MAX (n, 1));
  g_autofree gint64 *order = g_try_new (gint64, (gsize) MAX (n, 1));
  if (numbers == NULL || order == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "there are too many entries");
  for (guint64 i = 0; i < n; i++)
    {
      numbers[i] = ir_tensor_get_int64 (keys, i);
      order[i] = (gint64) i;
      if (sparse && (numbers[i] < 0 || numbers[i] >= max))
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "X has the key %" G_GINT64_FORMAT ", max_map is %" G_GINT64_FORMAT,
                             numbers[i], max);
    }
  if (!ir_block_sort (order, (gint64) n, compare_keys, numbers))
    return !ir_block_cancelled (call, error) &&
           ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory to sort the entries");
  return cast_entries (call, order, numbers, n, values, dims, sparse, error);
}
