/* What the kernels of ai.onnx.ml share: see ml.h. */
#include "config.h"

#include "core/exec/ref/ml.h"

#include "core/exec/ref/string-util.h"
#include "core/ir/hash.h"
#include <math.h>
#include <string.h>

/* -- lists -- */

/* Reads a list from an attribute: floats, integers, strings, or a tensor with at most one axis.
 * An absent attribute is an empty list. Returns FALSE if the attribute is of another kind. */
gboolean
ir_ml_list_init (IrMlList *list, const IrCall *call, const char *name, GError **error)
{
  static const IrDtype dtypes[IR_N_ATTR_KINDS] = { [IR_ATTR_FLOATS] = IR_DTYPE_FLOAT,
                                                   [IR_ATTR_INTS] = IR_DTYPE_INT64,
                                                   [IR_ATTR_STRINGS] = IR_DTYPE_STRING };
  const IrAttr *attr = ir_call_attr (call, name);

  memset (list, 0, sizeof *list);
  if (attr == NULL)
    return TRUE;
  if (attr->kind == IR_ATTR_TENSOR && attr->n > 0)
    {
      const IrTensor *tensor = attr->tensors[0];
      if (ir_tensor_sparse_values (tensor) != NULL || ir_tensor_rank (tensor) > 1)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "%s must be a dense tensor with one axis", name);
      list->tensor = tensor;
      list->dtype = ir_tensor_dtype (tensor);
      list->n = ir_tensor_n_elements (tensor);
      return TRUE;
    }
  if ((guint) attr->kind >= IR_N_ATTR_KINDS || dtypes[attr->kind] == IR_DTYPE_UNDEFINED)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "%s is %s, a list is needed", name,
                         ir_attr_kind_name (attr->kind));
  list->attr = attr;
  list->dtype = dtypes[attr->kind];
  list->n = attr->n;
  return TRUE;
}

/* Returns FALSE if more than one of the attributes has elements, or none though @required. */
gboolean
ir_ml_list_choose (
    IrMlList *list, const IrCall *call, const char *const *names, gboolean required, GError **error)
{
  const char *found = NULL;
  IrMlList candidate;

  memset (list, 0, sizeof *list);
  for (guint i = 0; names[i] != NULL; i++)
    {
      if (!ir_ml_list_init (&candidate, call, names[i], error))
        return FALSE;
      if (candidate.n == 0)
        continue;
      if (found != NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "%s and %s are both given, one is needed", found, names[i]);
      found = names[i];
      *list = candidate;
    }
  return found != NULL || !required ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "%s, or another list of its kind, is "
                       "missing",
                       names[0]);
}

/* Returns FALSE if it has not @n elements or holds strings */
gboolean
ir_ml_list_check (
    const IrMlList *list, const IrCall *call, const char *name, guint64 n, GError **error)
{
  if (list->n != n)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "%s has %" G_GUINT64_FORMAT " elements, %" G_GUINT64_FORMAT " are needed",
                         name, list->n, n);
  return n == 0 || ir_dtype_is_float (list->dtype) || ir_dtype_is_integer (list->dtype) ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "%s holds %s, numbers are needed", name,
                       ir_dtype_name (list->dtype));
}

double
ir_ml_list_double (const IrMlList *list, guint64 index)
{
  if (list->tensor != NULL)
    return ir_tensor_get_double (list->tensor, index);
  return list->dtype == IR_DTYPE_FLOAT ? (double) list->attr->floats[index]
                                       : (double) list->attr->ints[index];
}

gint64
ir_ml_list_int (const IrMlList *list, guint64 index)
{
  return list->tensor != NULL ? ir_tensor_get_int64 (list->tensor, index) : list->attr->ints[index];
}

/* The element; anything if the run is to stop; NULL if there is no memory. */
GBytes *
ir_ml_list_string (const IrMlList *list, guint64 index)
{
  if (list->tensor != NULL)
    return g_bytes_ref (ir_tensor_string (list->tensor, index));
  return ir_string_join (list->attr->strings[index].data, list->attr->strings[index].length,
                         "", 0);
}

IrMlKey
ir_ml_int_key (gint64 value)
{
  return (IrMlKey){ .number = value };
}

/* All NaNs are one key, and so are both zeros. */
static IrMlKey
real_key (double value)
{
  IrMlKey key = { .text = NULL };

  value = isnan (value) ? (double) NAN : value + 0.0;
  memcpy (&key.number, &value, sizeof value);
  return key;
}

static IrMlKey
text_key (const char *text, gsize length)
{
  return (IrMlKey){ text != NULL ? text : "", length, 0 };
}

/* Keys of equal elements are equal, whatever the width of their types. Returns the key of the
 * element, valid as long as @tensor. */
IrMlKey
ir_ml_tensor_key (const IrTensor *tensor, guint64 index)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  gsize length;

  if (dtype == IR_DTYPE_STRING)
    {
      const char *text = g_bytes_get_data (ir_tensor_string (tensor, index), &length);
      return text_key (text, length);
    }
  return ir_dtype_is_float (dtype) ? real_key (ir_tensor_get_double (tensor, index))
                                   : ir_ml_int_key (ir_tensor_get_int64 (tensor, index));
}

/* The key of the element, as ir_ml_tensor_key() gives it */
IrMlKey
ir_ml_list_key (const IrMlList *list, guint64 index)
{
  if (list->tensor != NULL)
    return ir_ml_tensor_key (list->tensor, index);
  if (list->dtype == IR_DTYPE_STRING)
    return text_key (list->attr->strings[index].data, list->attr->strings[index].length);
  return list->dtype == IR_DTYPE_FLOAT ? real_key ((double) list->attr->floats[index])
                                       : ir_ml_int_key (list->attr->ints[index]);
}

static gboolean
has_key (gconstpointer list, guint32 place, gconstpointer key)
{
  const IrMlKey *wanted = key;
  IrMlKey own = ir_ml_list_key (list, place);

  return (own.text != NULL) == (wanted->text != NULL) && own.number == wanted->number &&
         own.length == wanted->length &&
         (own.text == NULL || memcmp (own.text, wanted->text, own.length) == 0);
}

static guint64
key_hash (const IrMlKey *key)
{
  guint64 hash = (guint64) key->number;

  for (gsize i = 0; i < key->length; i++)
    hash = (hash ^ (guint8) key->text[i]) * G_GUINT64_CONSTANT (0x100000001b3);
  return ir_mix64 (hash);
}

/* Finds keys by ir_ml_index_find(); of equal ones the last. Returns FALSE if there is no memory,
 * or the run is to stop. */
gboolean
ir_ml_index_init (IrPlaces *index, const IrMlList *list, const IrCall *call, GError **error)
{
  guint64 n = MIN (list->n, G_MAXINT32 - 1);

  if (!ir_places_init (index, call, n, has_key, list, error))
    return FALSE;
  for (guint64 i = 0; i < n; i++)
    {
      IrMlKey key = ir_ml_list_key (list, i);
      ir_places_put (index, key_hash (&key), &key, (guint32) i);
    }
  return TRUE;
}

/* 1 + where it stands in the list; 0: nowhere */
guint32
ir_ml_index_find (IrPlaces *index, IrMlKey key)
{
  return ir_places_find (index, key_hash (&key), &key);
}

/* -- scores -- */

/* Returns FALSE if the attribute is none of them. @choice: the number of the word; stays if the
 * attribute is absent. */
gboolean
ir_ml_choice (const IrCall *call,
              const char *attr,
              const char *const *names,
              guint n,
              guint *choice,
              GError **error)
{
  const char *name = ir_call_string (call, attr, NULL);
  gint64 number = ir_call_int (call, attr, *choice);

  if (name != NULL)
    for (number = 0; number < n && strcmp (names[number], name) != 0;)
      number++;
  if (number >= 0 && number < n)
    {
      *choice = (guint) number;
      return TRUE;
    }
  g_autoptr (GString) words = g_string_new (names[0]);
  for (guint i = 1; i < n; i++)
    g_string_append_printf (words, "%s%s", i + 1 < n ? ", " : " or ", names[i]);
  return name != NULL ? ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                                      "%s is \"%s\"; %s is needed", attr, name, words->str)
                      : ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                                      "%s is %" G_GINT64_FORMAT "; 0 to %u are needed, for %s",
                                      attr, number, n - 1, words->str);
}

/* Returns FALSE if there is no such transform */
gboolean
ir_ml_transform_init (IrMlTransform *transform, const IrCall *call, GError **error)
{
  static const char *const names[] = { "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT" };
  guint number = IR_ML_NONE;
  gboolean known = ir_ml_choice (call, "post_transform", names, IR_ML_N_TRANSFORMS, &number, error);

  *transform = (IrMlTransform) number;
  return known;
}

/* 1 / (1 + exp (-value)), without overflow */
double
ir_ml_logistic (double value)
{
  double positive = 1 / (1 + exp (-fabs (value)));
  return value < 0 ? 1 - positive : positive;
}

/* The quantile of the normal distribution, sqrt (2) * erfinv (2 p - 1), by the approximation of
 * S. Winitzki (2008) that the ONNX reference implementation defines it by. */
static double
probit (double p)
{
  double x = 2 * p - 1, log_rest = log ((1 - x) * (1 + x));
  double half = 2 / (G_PI * 0.147) + log_rest / 2;
  double root = sqrt (sqrt (half * half - log_rest / 0.147) - half);

  return copysign (G_SQRT2 * root, x);
}

static void
softmax (guint n, double *scores, gboolean keep_zeros)
{
  double max = -G_MAXDOUBLE, sum = 0;

  for (guint i = 0; i < n; i++)
    max = MAX (max, scores[i]);
  for (guint i = 0; i < n; i++)
    {
      /* "Zero" is what the ONNX reference implementation takes for it. */
      gboolean zero = keep_zeros && fabs (scores[i]) <= 1e-7;
      scores[i] = zero ? scores[i] * exp (-max) : exp (scores[i] - max);
      sum += scores[i];
    }
  for (guint i = 0; i < n; i++)
    scores[i] = sum != 0 ? scores[i] / sum : 0.5;
}

/* Leaves the rest as it is when the run is to stop. Source: ONNX-ML, the attribute
 * post_transform. */
void
ir_ml_transform_run (IrMlTransform transform, guint n, double *scores)
{
  if (transform == IR_ML_SOFTMAX || transform == IR_ML_SOFTMAX_ZERO)
    softmax (n, scores, transform == IR_ML_SOFTMAX_ZERO);
  for (guint i = 0; i < n && transform == IR_ML_LOGISTIC; i++)
    scores[i] = ir_ml_logistic (scores[i]);
  for (guint i = 0; i < n && transform == IR_ML_PROBIT; i++)
    scores[i] = probit (scores[i]);
}

void
ir_ml_complement (IrMlTransform transform, gboolean probability, double score, double *scores)
{
  gboolean of_one = transform == IR_ML_PROBIT || (transform == IR_ML_NONE && probability);

  scores[0] = of_one ? 1 - score : -score;
  scores[1] = score;
}

/* The place of the highest, of equal ones the first; any place if the run is to stop. */
guint
ir_ml_top (guint n, const double *scores)
{
  guint top = 0;

  for (guint i = 1; i < n; i++)
    if (scores[i] > scores[top])
      top = i;
  return top;
}

/* -- samples -- */

/* A call whose input 0 is [N, F] or [F]. Returns FALSE if there is no memory for a sample. */
gboolean
ir_ml_samples_init (IrMlSamples *samples, const IrCall *call, GError **error)
{
  const IrTensor *tensor = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (tensor);
  const gint64 *dims = ir_tensor_dims (tensor);

  samples->call = call;
  samples->tensor = tensor;
  samples->n = rank == 2 ? (guint64) dims[0] : 1;
  samples->n_features = (guint64) dims[rank - 1];
  samples->row = ir_block_new (call, samples->n_features, error);
  return samples->row != NULL;
}

/* Its features, until the next is read */
const double *
ir_ml_samples_read (IrMlSamples *samples, guint64 index)
{
  ir_block_load_many (samples->call, samples->tensor, index * samples->n_features,
                      samples->n_features, samples->row);
  return samples->row;
}

void
ir_ml_samples_clear (IrMlSamples *samples)
{
  g_clear_pointer (&samples->row, g_free);
}

/* -- classes -- */

/* A call whose inference has set the types of Y [N] and Z [N, E]. Returns FALSE if the labels
 * are of a wrong kind or there is no memory. */
gboolean
ir_ml_classes_init (IrMlClasses *classes, IrCall *call, const char *int_labels, GError **error)
{
  const char *const names[] = { "classlabels_strings", int_labels, NULL };
  const IrType *type = call->outputs[0].type;

  classes->call = call;
  if (!ir_ml_list_choose (&classes->labels, call, names, TRUE, error))
    return FALSE;
  if (classes->labels.dtype != type->dtype)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "the labels are %s, needed are %s",
                         ir_dtype_name (classes->labels.dtype), ir_dtype_name (type->dtype));
  if (type->dtype == IR_DTYPE_STRING)
    classes->names = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  else if ((classes->numbers = ir_block_new_output (call, 0, error)) == NULL)
    return FALSE;
  if (!ir_call_has_output (call, 1))
    return TRUE;
  classes->n_scores = (guint) call->outputs[1].type->dims[1];
  return (classes->scores = ir_block_new_output (call, 1, error)) != NULL;
}

/* @row: the sample; they come in order. @label: place of its class; behind the labels: none of
 * them, which is 0 or "". */
void
ir_ml_classes_write (IrMlClasses *classes, guint64 row, guint label, const double *scores)
{
  gboolean known = label < classes->labels.n;

  if (classes->names != NULL)
    {
      GBytes *name = known ? ir_ml_list_string (&classes->labels, label)
                           : g_bytes_new_static ("", 0);
      if (name != NULL)
        g_ptr_array_add (classes->names, name);
      classes->no_memory = classes->no_memory || name == NULL;
    }
  else
    ir_dtype_set_int64 (IR_DTYPE_INT64, ir_tensor_data_writable (classes->numbers), row,
                        known ? ir_ml_list_int (&classes->labels, label) : 0);
  if (classes->scores != NULL)
    ir_block_store (classes->scores, row * classes->n_scores, classes->n_scores,
                         scores);
}

gboolean
ir_ml_classes_finish (IrMlClasses *classes, GError **error)
{
  gint64 n = classes->names != NULL ? classes->names->len : 0;

  if (classes->no_memory)
    return ir_call_fail (classes->call, error, IR_OP_ERROR_LIMIT, "no memory for the labels");
  return classes->names == NULL ||
         ir_call_take_strings (classes->call, 0, 1, &n,
                               (GBytes **) (gpointer) classes->names->pdata, error);
}

void
ir_ml_classes_clear (IrMlClasses *classes)
{
  g_clear_pointer (&classes->names, g_ptr_array_unref);
}
