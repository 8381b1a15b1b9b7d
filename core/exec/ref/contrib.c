/* Operators of com.microsoft that are neither of the standard nor made of it. Source:
 * ContribOperators.md of ONNX Runtime, and what its kernels do where that is silent. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include "core/op/infer-window.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* -- Inverse -- */

/* Gauss and Jordan with pivots, of the n x n matrix @a; @inverse: the identity. FALSE: singular. */
static gboolean
invert (double *a, double *inverse, guint64 n)
{
  for (guint64 column = 0; column < n; column++)
    {
      guint64 pivot = column;
      for (guint64 row = column + 1; row < n; row++)
        if (fabs (a[row * n + column]) > fabs (a[pivot * n + column]))
          pivot = row;
      double most = a[pivot * n + column];
      if (most == 0)
        return FALSE;
      for (guint64 k = 0; k < n; k++)
        {
          double x = a[pivot * n + k], y = inverse[pivot * n + k];
          a[pivot * n + k] = a[column * n + k];
          inverse[pivot * n + k] = inverse[column * n + k];
          a[column * n + k] = x / most;
          inverse[column * n + k] = y / most;
        }
      for (guint64 row = 0; row < n; row++)
        {
          double factor = row != column ? -a[row * n + column] : 0;
          ir_block_add_scaled (factor, a + column * n, n, a + row * n);
          ir_block_add_scaled (factor, inverse + column * n, n, inverse + row * n);
        }
    }
  return TRUE;
}

/* X [.., n, n]; what cannot be inverted gives infinities. */
gboolean
ir_ref_inverse (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0);
  guint64 n = (guint64) ir_tensor_dims (x)[ir_tensor_rank (x) - 1], size = n * n;
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *a = ir_block_new (call, 2 * size, error);
  if (y == NULL || a == NULL)
    return FALSE;
  for (guint64 i = 0; size > 0 && i < ir_tensor_n_elements (x) / size; i++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      ir_block_load (x, i * size, size, a);
      ir_block_fill (a + size, size, 0);
      for (guint64 k = 0; k < n; k++)
        a[size + k * n + k] = 1;
      if (!invert (a, a + size, n))
        ir_block_fill (a + size, size, INFINITY);
      ir_block_store (y, i * size, size, a + size);
    }
  return TRUE;
}

/* -- CropAndResize -- */

/* Place @i of @n between @low and @high of an axis of @size elements. */
static double
crop_place (double low, double high, gint64 i, gint64 n, gint64 size)
{
  double last = (double) (size - 1);

  return n > 1 ? low * last + (double) i * ((high - low) * last / (double) (n - 1))
               : 0.5 * (low + high) * last;
}

static double
crop_value (const double *plane, const gint64 *dims, double y, double x, gboolean nearest)
{
  if (nearest)
    return plane[(gint64) round (y) * dims[3] + (gint64) round (x)];
  gint64 top = (gint64) floor (y), left = (gint64) floor (x);
  gint64 bottom = MIN ((gint64) ceil (y), dims[2] - 1),
         right = MIN ((gint64) ceil (x), dims[3] - 1);
  double down = y - (double) top, across = x - (double) left;
  double upper = plane[top * dims[3] + left] * (1 - across) + plane[top * dims[3] + right] * across;
  double lower = plane[bottom * dims[3] + left] * (1 - across) +
                 plane[bottom * dims[3] + right] * across;

  return upper * (1 - down) + lower * down;
}

/* X [N, C, H, W], boxes [rois, 4] as top, left, bottom, right from 0 to 1, the sample of each, the
 * size of the crops. */
gboolean
ir_ref_crop_and_resize (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const gint64 *dims = ir_tensor_dims (ir_call_input (call, 0)), *out = call->outputs[0].type->dims;
  const IrTensor *samples = ir_call_input (call, 2);
  gboolean nearest = strcmp (ir_call_string (call, "mode", "bilinear"), "nearest") == 0;
  double beyond = ir_call_float (call, "extrapolation_value", 0);
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *x = y != NULL ? ir_block_load_new (call, 0, error) : NULL;
  g_autofree double *boxes = x != NULL ? ir_block_load_new (call, 1, error) : NULL;
  if (boxes == NULL)
    return FALSE;
  guint64 n = ir_tensor_n_elements (y);
  for (guint64 i = 0; i < n; i++)
    {
      gint64 column = (gint64) i % out[3], row = (gint64) i / out[3] % out[2];
      gint64 channel = (gint64) i / (out[3] * out[2]) % out[1];
      guint64 roi = i / (guint64) (out[3] * out[2] * out[1]);
      gint64 sample = ir_tensor_get_int64 (samples, roi);
      if (row == 0 && column == 0 && ir_block_cancelled (call, error))
        return FALSE;
      if (sample < 0 || sample >= dims[0])
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "box %u is of no sample", (guint) roi);
      const double *box = boxes + 4 * roi,
                   *plane = x + (sample * dims[1] + channel) * dims[2] * dims[3];
      double at_y = crop_place (box[0], box[2], row, out[2], dims[2]);
      double at_x = crop_place (box[1], box[3], column, out[3], dims[3]);
      gboolean inside = at_y >= 0 && at_y <= (double) (dims[2] - 1) && at_x >= 0 &&
                        at_x <= (double) (dims[3] - 1);
      double value = inside ? crop_value (plane, dims, at_y, at_x, nearest) : beyond;
      ir_block_store (y, i, 1, &value);
    }
  return TRUE;
}

/* -- MurmurHash3 -- */

static guint32
rotate (guint32 x, guint by)
{
  return x << by | x >> (32 - by);
}

static guint32
mix (guint32 k)
{
  return rotate (k * 0xcc9e2d51u, 15) * 0x1b873593u;
}

/* Source: Austin Appleby's MurmurHash3_x86_32, in the public domain. */
static guint32
murmur (const guint8 *data, gsize n, guint32 seed)
{
  guint32 h = seed, tail = 0;

  for (gsize i = 0; i + 4 <= n; i += 4)
    {
      guint32 k = data[i] | (guint32) data[i + 1] << 8 | (guint32) data[i + 2] << 16 |
                  (guint32) data[i + 3] << 24;
      h = rotate (h ^ mix (k), 13) * 5 + 0xe6546b64u;
    }
  for (gsize i = n & 3; i-- > 0;)
    tail = tail << 8 | data[(n & ~(gsize) 3) + i];
  h ^= mix (tail) ^ (guint32) n;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

gboolean
ir_ref_murmur_hash (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0);
  gboolean strings = ir_tensor_dtype (x) == IR_DTYPE_STRING;
  gsize size = strings ? sizeof (gpointer) : ir_dtype_bits (ir_tensor_dtype (x)) / 8;
  guint32 seed = (guint32) ir_call_int (call, "seed", 0);
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  guint32 *hashes = ir_tensor_data_writable (y);
  for (guint64 i = 0; i < ir_tensor_n_elements (x); i++)
    {
      gsize n = size;
      const guint8 *data = strings ? g_bytes_get_data (ir_tensor_string (x, i), &n)
                                   : (const guint8 *) ir_tensor_data (x) + i * size;
      if (i % IR_REF_CHUNK == 0 && ir_block_cancelled (call, error))
        return FALSE;
      hashes[i] = murmur (data, n, seed);
    }
  return TRUE;
}

/* -- UnfoldTensor -- */

/* Windows along an axis, which become the last axis. */
gboolean
ir_ref_unfold_tensor (IrCall *call, GError **error)
{
  g_auto (IrRefReader) reader = { 0 };
  g_auto (IrRefWriter) writer = { 0 };
  const IrTensor *x = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (x);
  gint64 axis, step = ir_call_int (call, "step", 1), size = ir_call_int (call, "size", 1);
  IrRefLayout layout;

  if (!ir_ref_prepare (call, error) ||
      !ir_call_axis (call, ir_call_int (call, "dim", -1), (int) rank, &axis, error) ||
      !ir_ref_reader_init (&reader, call, x, error) ||
      !ir_ref_writer_init (&writer, call, 0, error))
    return FALSE;
  ir_ref_layout_init (&layout, rank, ir_tensor_dims (x));
  gint64 stride = layout.strides[axis];
  layout.dims[axis] = call->outputs[0].type->dims[axis];
  layout.strides[axis] = stride * step;
  ir_ref_layout_add (&layout, size, stride);
  ir_ref_copy_layout (&writer, 0, &reader, &layout, 0);
  return ir_ref_writer_finish (&writer, error);
}

/* -- NGramRepeatBlock -- */

/* input_ids [batch, length] and scores [batch, words]: words that would end a run of n for a second
 * time get -infinity. */
gboolean
ir_ref_ngram_repeat_block (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *ids = ir_call_input (call, 0);
  gint64 batch = ir_tensor_dims (ids)[0], length = ir_tensor_dims (ids)[1];
  gint64 words = ir_tensor_dims (ir_call_input (call, 1))[1],
         n = ir_call_int (call, "ngram_size", 1);
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *scores = y != NULL ? ir_block_load_new (call, 1, error) : NULL;
  if (scores == NULL)
    return FALSE;
  for (gint64 b = 0; b < batch; b++)
    for (gint64 i = 0; i + n <= length; i++)
      {
        gint64 k = 0, word = ir_tensor_get_int64 (ids, (guint64) (b * length + i + n - 1));
        while (k < n - 1 &&
               ir_tensor_get_int64 (ids, (guint64) (b * length + i + k)) ==
                   ir_tensor_get_int64 (ids, (guint64) (b * length + length - n + 1 + k)))
          k++;
        if (i == 0 && ir_block_cancelled (call, error))
          return FALSE;
        if (word < 0 || word >= words)
          return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                               "word %" G_GINT64_FORMAT " has no score", word);
        if (k == n - 1)
          scores[b * words + word] = -INFINITY;
      }
  ir_block_store (y, 0, (guint64) (batch * words), scores);
  return TRUE;
}

/* -- BifurcationDetector -- */

static gint64 *
words_new (const IrCall *call, guint slot, guint64 *n)
{
  const IrTensor *tensor = ir_call_input (call, slot);
  gint64 *words;

  *n = tensor != NULL ? ir_tensor_n_elements (tensor) : 0;
  words = g_new (gint64, *n + 1);
  for (guint64 i = 0; i < *n; i++)
    words[i] = ir_tensor_get_int64 (tensor, i);
  return words;
}

/* Where @n words stand in @from [n_from] at or behind @start; n_from: nowhere. */
static guint64
find_words (const gint64 *from, guint64 n_from, guint64 start, const gint64 *words, guint64 n)
{
  for (guint64 i = start; i + n <= n_from; i++)
    if (memcmp (from + i, words, n * sizeof *words) == 0)
      return i;
  return n_from;
}

/* Behind which word of the source the last words of @tokens stand there, and nowhere else; -1. */
static gint64
suffix_match (const IrCall *call, const gint64 *source, guint64 n_source, const GArray *tokens)
{
  gint64 least = ir_call_int (call, "min_ngram_size", 1);
  gint64 most = ir_call_int (call, "max_ngram_size", 3), match = -1;

  for (gint64 n = MAX (least, 1); n <= most && (guint64) n <= tokens->len; n++)
    {
      const gint64 *words = &g_array_index (tokens, gint64, tokens->len - (guint) n);
      guint64 at = find_words (source, n_source, 0, words, (guint64) n);
      if (at == n_source)
        return match;
      match = (gint64) at + n;
      if ((guint64) match >= n_source ||
          find_words (source, n_source, at + 1, words, (guint64) n) == n_source)
        return match;
      match = -1;
    }
  return match;
}

/* The words of the source, those so far, where these stood in it, and those that are predicted. */
gboolean
ir_ref_bifurcation_detector (IrCall *call, GError **error)
{
  guint64 n_source, n_tokens, n_predicted;

  if (!ir_ref_check (call, error))
    return FALSE;
  gint64 start = ir_tensor_get_int64 (ir_call_input (call, 2), 0);
  g_autofree gint64 *source = words_new (call, 0, &n_source);
  g_autofree gint64 *so_far = words_new (call, 1, &n_tokens);
  g_autofree gint64 *predicted = words_new (call, 3, &n_predicted);
  g_autoptr (GArray) tokens = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_array_append_vals (tokens, so_far, (guint) n_tokens);
  if (n_predicted > 0)
    {
      guint64 same = 0;
      if (start < 0 || (guint64) start > n_source || n_predicted != n_source + 1 - (guint64) start)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "the predicted words are not those behind word %" G_GINT64_FORMAT,
                             start);
      while (same + 1 < n_predicted && predicted[same] == source[same + (guint64) start])
        same++;
      g_array_append_vals (tokens, predicted, (guint) same + 1);
    }
  gint64 match = suffix_match (call, source, n_source, tokens), n = tokens->len;
  IrTensor *y = ir_call_new_output (call, 0, IR_DTYPE_INT64, 1, &n, error);
  if (y == NULL || ir_block_cancelled (call, error))
    return FALSE;
  if (n > 0)
    memcpy (ir_tensor_data_writable (y), tokens->data, sizeof (gint64) * (gsize) n);
  if (!ir_call_has_output (call, 1))
    return TRUE;
  IrTensor *index = ir_call_new_output (call, 1, IR_DTYPE_INT64, 0, NULL, error);
  if (index != NULL)
    ir_ref_store_int (index, 0, 1, &match);
  return index != NULL;
}

/* -- DynamicTimeWarping -- */

/* The way through costs [M, N] that adds up to least, as two rows of places. */
gboolean
ir_ref_dynamic_time_warping (IrCall *call, GError **error)
{
  if (!ir_ref_check (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (x);
  guint64 m = (guint64) ir_tensor_dims (x)[rank - 2], n = (guint64) ir_tensor_dims (x)[rank - 1];
  g_autofree double *costs = ir_block_load_new (call, 0, error);
  g_autofree double *sums = costs != NULL ? ir_block_new (call, (m + 1) * (n + 1), error) : NULL;
  g_autofree guint8 *from = g_new0 (guint8, (m + 1) * (n + 1));
  g_autoptr (GArray) way = g_array_new (FALSE, FALSE, sizeof (gint32));
  if (sums == NULL)
    return FALSE;
  ir_block_fill (sums, (m + 1) * (n + 1), INFINITY);
  sums[0] = 0;
  for (guint64 i = 1; i <= m; i++)
    for (guint64 j = 1; j <= n; j++)
      {
        double both = sums[(i - 1) * (n + 1) + j - 1], up = sums[(i - 1) * (n + 1) + j];
        double left = sums[i * (n + 1) + j - 1];
        guint8 how = both < up && both < left ? 0 : up < both && up < left ? 1 : 2;
        if (j == 1 && ir_block_cancelled (call, error))
          return FALSE;
        from[i * (n + 1) + j] = how;
        sums[i * (n + 1) + j] = (float) (costs[(i - 1) * n + j - 1] + (how == 0   ? both
                                                                       : how == 1 ? up
                                                                                  : left));
      }
  for (guint64 i = m, j = n; i > 0 || j > 0;)
    {
      gint32 place[] = { (gint32) i - 1, (gint32) j - 1 };
      guint8 how = i == 0 ? 2 : j == 0 ? 1 : from[i * (n + 1) + j];
      g_array_append_vals (way, place, 2);
      i -= how != 2;
      j -= how != 1;
    }
  gint64 dims[] = { 2, way->len / 2 };
  IrTensor *y = ir_call_new_output (call, 0, IR_DTYPE_INT32, 2, dims, error);
  for (gint64 k = 0; y != NULL && k < 2 * dims[1]; k++)
    ((gint32 *) ir_tensor_data_writable (y))[k] = g_array_index (
        way, gint32, 2 * (dims[1] - 1 - k % dims[1]) + k / dims[1]);
  return y != NULL;
}

/* -- MaxpoolWithMask -- */

/* The largest element of a window, which ends in each row before the first one that the mask hides.
 * The mask begins anew with each plane, but for what is left of its place divided by the number of
 * planes of the mask: so ONNX Runtime's kernel counts. */
static double
masked_most (
    const IrWindow *w, const gint64 *place, const double *x, const IrTensor *mask, guint64 first)
{
  gint64 at[IR_WINDOW_MAX_AXES] = { 0 };
  guint last = w->n_axes - 1;
  const gint64 *dims = ir_tensor_dims (mask);
  guint64 planes = ir_tensor_rank (mask) >= 2 ? (guint64) MAX (dims[0] * dims[1], 1) : 1;
  double most = -FLT_MAX;

  for (;;)
    {
      gint64 index = 0;
      gboolean inside = TRUE;
      for (guint i = 0; i < w->n_axes; i++)
        {
          gint64 k = place[i] * w->stride[i] - w->pad_begin[i] + at[i];
          inside = inside && k >= 0 && k < w->in[i];
          index = index * w->in[i] + k;
        }
      gboolean hidden = inside && index > 0 &&
                        ir_tensor_get_int64 (mask, (first % planes + (guint64) index) %
                                                       ir_tensor_n_elements (mask)) == 0;
      if (inside && !hidden)
        most = MAX (most, x[first + (guint64) index]);
      guint axis = last;
      at[last] = hidden ? w->kernel[last] : at[last] + 1;
      while (axis > 0 && at[axis] >= w->kernel[axis])
        {
          at[axis] = 0;
          at[--axis]++;
        }
      if (at[0] >= w->kernel[0])
        return most;
    }
}

/* X [N, C, ...] and a mask of its dims. */
gboolean
ir_ref_max_pool_with_mask (IrCall *call, GError **error)
{
  IrWindow window;

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error) ||
      !ir_window_of_pool (&window, call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *x = y != NULL ? ir_block_load_new (call, 0, error) : NULL;
  if (x == NULL)
    return FALSE;
  guint64 n = ir_tensor_n_elements (y), plane = 1, out = 1;
  for (guint i = 0; i < window.n_axes; i++)
    {
      plane *= (guint64) window.in[i];
      out *= (guint64) window.out[i];
    }
  for (guint64 i = 0; i < n; i++)
    {
      gint64 place[IR_WINDOW_MAX_AXES];
      guint64 rest = i % out;
      if (rest == 0 && ir_block_cancelled (call, error))
        return FALSE;
      for (guint axis = window.n_axes; axis-- > 0; rest /= (guint64) window.out[axis])
        place[axis] = (gint64) (rest % (guint64) window.out[axis]);
      double most = masked_most (&window, place, x, ir_call_input (call, 1), i / out * plane);
      ir_block_store (y, i, 1, &most);
    }
  return TRUE;
}

/* -- WordConvEmbedding -- */

typedef struct
{
  const IrTensor *words;
  gint64 letters, window, filters, size,
      n_rows; /* of a word; of a window; of W; of a letter; of C */
  double *w, *bias, *table;
} Words;

static void
words_clear (Words *words)
{
  g_free (words->w);
  g_free (words->bias);
  g_free (words->table);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Words, words_clear)

/* How many letters a word has; 0: it is none. */
static gint64
word_length (const Words *words, gint64 word)
{
  gint64 n = 0;

  for (gint64 i = 0; i < words->letters; i++)
    {
      gboolean there = ir_tensor_get_int64 (words->words, (guint64) (word * words->letters + i)) >
                       0;
      if (i == 0 && !there)
        return 0;
      n += there;
    }
  return n;
}

/* What filter @filter gives for the window that begins with letter @first. */
static double
filtered (const Words *words, gint64 word, gint64 first, gint64 filter)
{
  double sum = words->bias[filter];

  for (gint64 i = 0; i < words->window; i++)
    {
      gint64 letter = ir_tensor_get_int64 (words->words,
                                           (guint64) (word * words->letters + first + i));
      sum += ir_block_dot (words->w + (filter * words->window + i) * words->size,
                           words->table + letter * words->size, (guint64) words->size);
    }
  return sum;
}

static gboolean
words_init (Words *words, IrCall *call, GError **error)
{
  const gint64 *w = ir_tensor_dims (ir_call_input (call, 1));

  words->words = ir_call_input (call, 0);
  words->letters = ir_tensor_dims (words->words)[1];
  words->filters = w[0];
  words->window = w[2];
  words->size = w[3];
  words->n_rows = ir_tensor_dims (ir_call_input (call, 3))[0];
  for (guint64 i = 0; i < ir_tensor_n_elements (words->words); i++)
    {
      gint64 letter = ir_tensor_get_int64 (words->words, i);
      if (letter < 0 || letter >= words->n_rows)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "letter %" G_GINT64_FORMAT " is none of the %" G_GINT64_FORMAT
                             " rows of C",
                             letter, words->n_rows);
    }
  words->w = ir_block_load_new (call, 1, error);
  words->bias = words->w != NULL ? ir_block_load_new (call, 2, error) : NULL;
  words->table = words->bias != NULL ? ir_block_load_new (call, 3, error) : NULL;
  return words->table != NULL;
}

/* Words [words, letters], filters [filters, 1, letters, size], their bias, and rows of letters. */
gboolean
ir_ref_word_conv_embedding (IrCall *call, GError **error)
{
  g_auto (Words) words = { 0 };

  if (!ir_ref_prepare (call, error) || !words_init (&words, call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  guint64 n = ir_tensor_n_elements (y);
  for (guint64 i = 0; i < n; i++)
    {
      gint64 word = (gint64) (i / (guint64) words.filters), length = word_length (&words, word);
      gint64 n_windows = MAX (length, words.window) - words.window + 1;
      double most = length > 0 ? -1 : 0;

      if (ir_block_cancelled (call, error))
        return FALSE;
      for (gint64 first = 0; length > 0 && first < n_windows; first++)
        most = MAX (most,
                    tanh (filtered (&words, word, first, (gint64) (i % (guint64) words.filters))));
      ir_block_store (y, i, 1, &most);
    }
  return TRUE;
}

/* -- NGramHashMapping -- */

typedef struct
{
  const IrTensor *ids, *past; /* the latter nullable */
  gint64 positions, before;   /* of a sample; words that are looked back at */
  gint64 pad;
  gboolean narrow; /* of 32 bits */
} Hashes;

static gint64
wrapped (const Hashes *h, guint64 value)
{
  return h->narrow ? (gint32) (guint32) value : (gint64) value;
}

/* The word at @position of a sample, which may lie before its first. */
static gint64
word_at (const Hashes *h, gint64 sample, gint64 position)
{
  if (position >= 0)
    return ir_tensor_get_int64 (h->ids, (guint64) (sample * h->positions + position));
  return h->past != NULL
             ? ir_tensor_get_int64 (h->past, (guint64) (sample * h->before + h->before + position))
             : h->pad;
}

/* The words up to @position, @n together. */
static gint64
mixed (const Hashes *h, const IrTensor *multipliers, gint64 sample, gint64 position, gint64 n)
{
  gint64 mix = 0;

  for (gint64 k = 0; k < n; k++)
    mix ^= wrapped (h, (guint64) word_at (h, sample, position - k) *
                           (guint64) ir_tensor_get_int64 (multipliers, (guint64) k));
  return mix;
}

static gboolean
hashes_init (Hashes *h, IrCall *call, GError **error)
{
  const IrTensor *sizes = ir_call_input (call, 2);

  h->ids = ir_call_input (call, 0);
  h->past = ir_call_input (call, 3);
  h->narrow = ir_tensor_dtype (h->ids) == IR_DTYPE_INT32;
  h->positions = ir_tensor_dims (h->ids)[1];
  h->before = ir_call_int (call, "max_ngram_size", 2) - 1;
  h->pad = ir_call_int (call, "pad_id", 0);
  if (h->narrow && h->pad != (gint32) h->pad)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "pad_id is %" G_GINT64_FORMAT ", which is no int32", h->pad);
  for (guint64 i = 0; i < ir_tensor_n_elements (sizes); i++)
    if (ir_tensor_get_int64 (sizes, i) <= 0)
      return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "a vocabulary size is not positive");
  return TRUE;
}

/* Words [batch, positions], a multiplier for each that is looked at, a size for each hash, the words
 * before. */
gboolean
ir_ref_ngram_hash_mapping (IrCall *call, GError **error)
{
  Hashes h;

  if (!ir_ref_prepare (call, error) || !hashes_init (&h, call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  IrTensor *present = y != NULL && ir_call_has_output (call, 1)
                          ? ir_block_new_output (call, 1, error)
                          : NULL;
  if (y == NULL || (present == NULL && ir_call_has_output (call, 1)))
    return FALSE;
  gint64 heads = ir_call_int (call, "n_head_per_ngram", 1), all = h.before * heads;
  guint64 n = ir_tensor_n_elements (y);
  for (guint64 i = 0; i < n; i++)
    {
      gint64 row = (gint64) (i / (guint64) all), head = (gint64) (i % (guint64) all);
      gint64 size = ir_tensor_get_int64 (ir_call_input (call, 2), (guint64) head);
      gint64 hash = mixed (&h, ir_call_input (call, 1), row / h.positions, row % h.positions,
                           head / heads + 2) %
                    size;

      if (head == 0 && ir_block_cancelled (call, error))
        return FALSE;
      hash += hash < 0 ? size : 0;
      ir_ref_store_int (y, i, 1, &hash);
    }
  for (guint64 i = 0; present != NULL && i < ir_tensor_n_elements (present); i++)
    {
      gint64 word = word_at (&h, (gint64) i / h.before,
                             h.positions - h.before + (gint64) i % h.before);
      ir_ref_store_int (present, i, 1, &word);
    }
  return TRUE;
}
