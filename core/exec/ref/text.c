/* Operators on strings. */
#include "config.h"

#include "core/exec/ref/string-util.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <string.h>

/* -- StringNormalizer -- */

typedef enum
{
  CASE_NONE,
  CASE_LOWER,
  CASE_UPPER
} Case;

/* Bytes that are not UTF-8, or hold a zero, change in their ASCII letters only. */
static GBytes *
change_case (GBytes *bytes, Case action)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);

  if (action == CASE_NONE || length == 0)
    return g_bytes_ref (bytes);
  if (g_utf8_validate_len (data, length, NULL))
    {
      char *word = action == CASE_LOWER ? g_utf8_strdown (data, (gssize) length)
                                        : g_utf8_strup (data, (gssize) length);
      return g_bytes_new_take (word, strlen (word));
    }
  char *word = g_memdup2 (data, length);
  for (gsize i = 0; i < length; i++)
    word[i] = action == CASE_LOWER ? g_ascii_tolower (word[i]) : g_ascii_toupper (word[i]);
  return g_bytes_new_take (word, length);
}

static gboolean
read_action (const IrCall *call, Case *action, GError **error)
{
  const char *name = ir_call_string (call, "case_change_action", "NONE");

  *action = strcmp (name, "LOWER") == 0   ? CASE_LOWER
            : strcmp (name, "UPPER") == 0 ? CASE_UPPER
                                          : CASE_NONE;
  return *action != CASE_NONE || strcmp (name, "NONE") == 0 ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "case_change_action is \"%s\"; LOWER, UPPER or NONE is needed", name);
}

/* NULL: no memory */
static GHashTable *
read_stop_words (const IrCall *call, Case compared)
{
  g_autoptr (GHashTable)
      words = g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref,
                                     NULL);
  const IrAttr *attr = ir_call_attr (call, "stopwords");
  guint n = attr != NULL && attr->kind == IR_ATTR_STRINGS ? attr->n : 0;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GBytes)
          word = ir_string_join (attr->strings[i].data, attr->strings[i].length, "", 0);
      if (word == NULL)
        return NULL;
      g_hash_table_add (words, change_case (word, compared));
    }
  return g_steal_pointer (&words);
}

/* An element as it is to be; NULL: a stop word. */
static GBytes *
normalize (GHashTable *stop_words, GBytes *bytes, Case compared, Case action)
{
  if (g_hash_table_size (stop_words) > 0)
    {
      g_autoptr (GBytes) key = change_case (bytes, compared);
      if (g_hash_table_contains (stop_words, key))
        return NULL;
    }
  return change_case (bytes, action);
}

/* X [C] or [1, C], strings. Source: ONNX StringNormalizer 10. */
gboolean
ir_ref_string_normalizer (IrCall *call, GError **error)
{
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  Case action, compared = ir_call_int (call, "is_case_sensitive", 0) ? CASE_NONE : CASE_LOWER;

  if (!ir_call_check (call, error) || !call->op->infer (call, error) ||
      !read_action (call, &action, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  g_autoptr (GHashTable) stop_words = read_stop_words (call, compared);
  if (stop_words == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for the stop words");
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      GBytes *text = normalize (stop_words, ir_tensor_string (in, i), compared, action);
      if (text != NULL)
        g_ptr_array_add (kept, text);
    }
  if (kept->len == 0)
    g_ptr_array_add (kept, g_bytes_new_static ("", 0));
  gint64 dims[2] = { 1, kept->len };
  guint rank = ir_tensor_rank (in);
  return ir_call_take_strings (call, 0, rank, rank == 2 ? dims : &dims[1],
                               (GBytes **) (gpointer) kept->pdata, error);
}

/* -- TfIdfVectorizer -- */

/* Words, whatever their type, are numbers of a dictionary made of the pool; -1: in no n-gram. */
typedef struct
{
  GHashTable *numbers; /* word -> number + 1 */
  gint64 *pool;
  gint64 n_pool;
  const gint64 *starts, *columns;
  guint n_starts, n_columns;
  const float *weights; /* (nullable) */
  gint64 min, max, max_skip;
  gboolean counts, weighs;
} Vectorizer;

static void
vectorizer_clear (Vectorizer *v)
{
  g_clear_pointer (&v->numbers, g_hash_table_unref);
  g_clear_pointer (&v->pool, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Vectorizer, vectorizer_clear)

static GBytes *
word_of (const IrTensor *tensor, guint64 i)
{
  if (ir_tensor_dtype (tensor) == IR_DTYPE_STRING)
    return g_bytes_ref (ir_tensor_string (tensor, i));
  gint64 number = ir_tensor_get_int64 (tensor, i);
  return g_bytes_new (&number, sizeof number);
}

static void
read_pool (Vectorizer *v, const IrAttr *attr)
{
  v->numbers = g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref,
                                   NULL);
  v->n_pool = attr->n;
  v->pool = g_new0 (gint64, MAX (attr->n, 1));
  for (guint i = 0; i < attr->n; i++)
    {
      g_autoptr (GBytes)
          word = attr->kind == IR_ATTR_STRINGS
                     ? g_bytes_new_static (attr->strings[i].data, attr->strings[i].length)
                     : g_bytes_new (&attr->ints[i], sizeof attr->ints[i]);
      guint number = GPOINTER_TO_UINT (g_hash_table_lookup (v->numbers, word));
      if (number == 0)
        {
          number = (guint) g_hash_table_size (v->numbers) + 1;
          g_hash_table_replace (v->numbers, g_bytes_ref (word), GUINT_TO_POINTER (number));
        }
      v->pool[i] = number - 1;
    }
}

/* How many n-grams of @length words the pool holds, and where they begin. */
static gint64
n_grams (const Vectorizer *v, gint64 length, gint64 *start)
{
  if (length > v->n_starts)
    return 0;
  *start = v->starts[length - 1];
  return ((length < v->n_starts ? v->starts[length] : v->n_pool) - *start) / length;
}

static gboolean
check_pool (const Vectorizer *v, const IrCall *call, GError **error)
{
  gint64 n_all = 0, start = 0;

  for (guint i = 0; i < v->n_starts; i++)
    {
      gint64 end = i + 1 < v->n_starts ? v->starts[i + 1] : v->n_pool;
      if (v->starts[i] < 0 || v->starts[i] > end || end > v->n_pool ||
          (end - v->starts[i]) % (i + 1) != 0)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "ngram_counts does not divide a pool of %" G_GINT64_FORMAT " words",
                             v->n_pool);
      n_all += n_grams (v, (gint64) i + 1, &start);
    }
  if (n_all > v->n_columns)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "ngram_indexes has %u columns for %" G_GINT64_FORMAT " n-grams",
                         v->n_columns, n_all);
  return TRUE;
}

static gboolean
vectorizer_init (Vectorizer *v, const IrCall *call, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (ir_call_input (call, 0));
  gboolean strings = dtype == IR_DTYPE_STRING;
  const IrAttr *pool = ir_call_attr (call, strings ? "pool_strings" : "pool_int64s");
  const IrAttr *weights = ir_call_attr (call, "weights");
  const char *mode = ir_call_string (call, "mode", "");

  if (!strings && !ir_dtype_is_integer (dtype))
    return ir_ref_fail_dtype (call, dtype, error);
  if (pool == NULL || pool->kind != (strings ? IR_ATTR_STRINGS : IR_ATTR_INTS))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "there is no pool for words of type %s", ir_dtype_name (dtype));
  v->counts = strcmp (mode, "TF") == 0 || strcmp (mode, "TFIDF") == 0;
  v->weighs = strcmp (mode, "IDF") == 0 || strcmp (mode, "TFIDF") == 0;
  if (!v->counts && !v->weighs)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "mode is \"%s\"; TF, IDF or TFIDF is needed", mode);
  v->starts = ir_call_ints (call, "ngram_counts", &v->n_starts);
  v->columns = ir_call_ints (call, "ngram_indexes", &v->n_columns);
  v->min = MAX (ir_call_int (call, "min_gram_length", 1), 1);
  v->max = MIN (ir_call_int (call, "max_gram_length", 1), v->n_starts);
  v->max_skip = ir_call_int (call, "max_skip_count", 0);
  if (weights != NULL && (weights->kind != IR_ATTR_FLOATS || weights->n != v->n_columns))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "weights must hold %u numbers, one per n-gram", v->n_columns);
  v->weights = weights != NULL ? weights->floats : NULL;
  read_pool (v, pool);
  return check_pool (v, call, error);
}

/* Adds the n-grams of @length words that begin at @row, @step words apart. */
static void
count_at (Vectorizer *v, const gint64 *row, gint64 length, gint64 step, double *counts)
{
  gint64 start = 0, before = 0, n;

  for (gint64 shorter = 1; shorter < length; shorter++)
    before += n_grams (v, shorter, &start);
  n = n_grams (v, length, &start);
  for (gint64 gram = 0; gram < n; gram++)
    {
      gint64 k = 0;
      while (k < length && row[k * step] == v->pool[start + gram * length + k])
        k++;
      if (k == length)
        counts[before + gram]++;
    }
}

static void
count_row (Vectorizer *v, const gint64 *row, gint64 n, double *counts)
{
  for (gint64 length = v->min; length <= MIN (v->max, n); length++)
    {
      /* One word has no gap: it is counted once. */
      gint64 last_step = length == 1 ? 1 : MIN (v->max_skip, n) + 1;
      for (gint64 step = 1; step <= last_step; step++)
        for (gint64 first = 0; first + (length - 1) * step < n;
             first++)
          count_at (v, row + first, length, step, counts);
    }
}

/* X [C] or [N, C]. Source: ONNX TfIdfVectorizer 9. */
gboolean
ir_ref_tf_idf_vectorizer (IrCall *call, GError **error)
{
  g_auto (Vectorizer) v = { 0 };

  if (!ir_ref_prepare (call, error) || !vectorizer_init (&v, call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  const IrType *type = call->outputs[0].type;
  gint64 n = ir_tensor_dims (in)[ir_tensor_rank (in) - 1], width = type->dims[type->rank - 1];
  gint64 n_rows = type->rank == 2 ? type->dims[0] : 1;
  IrTensor *out = ir_block_new_output (call, 0, error);
  g_autofree double *counts = ir_block_new (call, v.n_columns, error);
  g_autofree double *result = ir_block_new (call, (guint64) width, error);
  if (out == NULL || counts == NULL || result == NULL)
    return FALSE;
  g_autofree gint64 *row = g_try_new0 (gint64, (gsize) MAX (n, 1));
  if (row == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for a row");
  for (gint64 r = 0; r < n_rows; r++)
    {
      for (gint64 i = 0; i < n; i++)
        {
          g_autoptr (GBytes) word = word_of (in, (guint64) (r * n + i));
          row[i] = (gint64) GPOINTER_TO_UINT (g_hash_table_lookup (v.numbers, word)) - 1;
        }
      memset (counts, 0, v.n_columns * sizeof *counts);
      memset (result, 0, (gsize) width * sizeof *result);
      count_row (&v, row, n, counts);
      for (guint i = 0; i < v.n_columns; i++)
        {
          double weight = v.weighs && v.weights != NULL ? (double) v.weights[i] : 1;
          if (counts[i] > 0)
            result[v.columns[i]] = weight * (v.counts ? counts[i] : 1);
        }
      ir_block_store (out, (guint64) (r * width), (guint64) width, result);
    }
  return TRUE;
}
