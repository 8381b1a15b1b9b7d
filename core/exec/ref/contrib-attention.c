/* GroupQueryAttention of com.microsoft, the attention of generating language models: a cache that
 * each sample fills up to a length of its own, positions turned by angles, a window, and a softmax
 * that may have a sink; and SparseAttention, in which a query sees some blocks of keys alone.
 * Source: ContribOperators.md. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref.h"
#include "core/op/infer-util.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct
{
  IrCall *call;
  guint total_slot, lengths_slot, angles; /* inputs; that of sines stands behind @angles */
  gint64 beyond;  /* what a length has to be added, as an input says one less than there are */
  gboolean keeps; /* caches keep what they hold beyond the positions that are there */
  guint64 batch, length, heads, kv_heads, size; /* of a head */
  guint64 past, present;                        /* positions that the caches hold */
  gint64 total;                                 /* positions of the longest sample */
  guint64 half;                                 /* pairs of a head that are turned */
  gboolean turns, interleaved, causal, smooth;
  gint64 window; /* keys up to its own that a query sees; below 1: all */
  double scale, softcap;
  const IrTensor *lengths, *positions, *bias, *sink; /* all but the first nullable */
  double *q, *k, *v, *cos, *sin;                     /* inputs, [batch, length, heads, size] */
  double *keys, *values;                             /* caches, [batch, kv heads, present, size] */
  double *scores, *y;
  /* (nullable) Blocks that the queries of a block see, [layouts, blocks + 1] and [layouts, most]. */
  const IrTensor *rows, *columns;
  gint64 block; /* positions */
} Grouped;

static void
grouped_clear (Grouped *g)
{
  g_free (g->q);
  g_free (g->k);
  g_free (g->v);
  g_free (g->cos);
  g_free (g->sin);
  g_free (g->keys);
  g_free (g->values);
  g_free (g->scores);
  g_free (g->y);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Grouped, grouped_clear)

/* -- inputs -- */

/* Columns [first, first + n) of the rows of input @slot. */
static double *
columns_new (Grouped *g, guint slot, guint64 first, guint64 n, GError **error)
{
  const IrTensor *tensor = ir_call_input (g->call, slot);
  guint64 width = (guint64) ir_tensor_dims (tensor)[2], rows = g->batch * g->length;
  double *values = ir_block_new (g->call, rows * n, error);

  for (guint64 i = 0; values != NULL && i < rows; i++)
    ir_block_load_many (g->call, tensor, i * width + first, n, values + i * n);
  return values;
}

/* How many positions of sample @b were there before. */
static gint64
past_of (const Grouped *g, guint64 b)
{
  if (g->total == (gint64) g->length)
    return 0;
  return ir_tensor_get_int64 (g->lengths, b) + g->beyond - (gint64) g->length;
}

/* Zero beyond the positions that a sample has, or as it is. */
static double *
cache_new (Grouped *g, guint slot, GError **error)
{
  guint64 row = g->size, n = g->batch * g->kv_heads;
  double *values = ir_block_new (g->call, n * g->present * row, error);

  if (values == NULL)
    return NULL;
  ir_block_fill (values, n * g->present * row, 0);
  for (guint64 i = 0; ir_call_has_input (g->call, slot) && i < n; i++)
    {
      gint64 there = g->keeps ? (gint64) g->past : past_of (g, i / g->kv_heads);
      ir_block_load_many (g->call, ir_call_input (g->call, slot), i * g->past * row,
                          (guint64) CLAMP (there, 0, (gint64) g->past) * row,
                          values + i * g->present * row);
    }
  return values;
}

static gboolean
read_angles (Grouped *g, GError **error)
{
  if (!g->turns)
    return TRUE;
  if (!ir_call_has_input (g->call, g->angles) || !ir_call_has_input (g->call, g->angles + 1))
    return ir_call_fail (g->call, error, IR_OP_ERROR_ARITY,
                         "do_rotary needs cos_cache and sin_cache");
  const IrTensor *cos = ir_call_input (g->call, g->angles);
  const IrTensor *sin = ir_call_input (g->call, g->angles + 1);
  if (ir_tensor_rank (cos) != 2 || ir_tensor_n_elements (cos) != ir_tensor_n_elements (sin) ||
      2 * (guint64) ir_tensor_dims (cos)[1] > g->size)
    return ir_call_fail (g->call, error, IR_OP_ERROR_SHAPE,
                         "cos_cache and sin_cache do not fit the heads");
  g->half = (guint64) ir_tensor_dims (cos)[1];
  g->cos = ir_block_load_new (g->call, g->angles, error);
  g->sin = g->cos != NULL ? ir_block_load_new (g->call, g->angles + 1, error) : NULL;
  return g->sin != NULL;
}

static gboolean
check_supported (const IrCall *call, GError **error)
{
  static const guint unknown[] = { 12, 13, 14, 15, 16 };

  for (guint i = 0; i < G_N_ELEMENTS (unknown); i++)
    if (ir_call_has_input (call, unknown[i]))
      return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                           "input %u, of quantized caches and normalized heads, is not supported",
                           unknown[i]);
  if (ir_call_int (call, "sliding_window_cache", 0) != 0 || ir_call_int (call, "qk_output", 0) != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "sliding_window_cache and qk_output are not supported");
  return TRUE;
}

/* What both operators have. */
static void
read_common (Grouped *g)
{
  double scale = ir_call_float (g->call, "scale", 0);

  g->scale = scale != 0 ? scale : 1 / sqrt ((double) g->size);
  g->turns = ir_call_int (g->call, "do_rotary", 0) != 0;
  g->interleaved = ir_call_int (g->call, "rotary_interleaved", 0) != 0;
  g->lengths = ir_call_input (g->call, g->lengths_slot);
}

static void
read_settings (Grouped *g)
{
  const IrCall *call = g->call;

  read_common (g);
  g->softcap = ir_call_float (call, "softcap", 0);
  g->window = ir_call_int (call, "local_window_size", -1);
  g->causal = ir_call_int (call, "causal", 1) != 0;
  g->positions = ir_call_input (call, 9);
  g->bias = ir_call_input (call, 10);
  g->sink = ir_call_input (call, 11);
  g->smooth = ir_call_int (call, "smooth_softmax", 0) == 1 || g->sink != NULL;
}

static gboolean
read_sizes (Grouped *g, GError **error)
{
  IrCall *call = g->call;
  const gint64 *dims = ir_tensor_dims (ir_call_input (call, 0));
  gboolean packed = !ir_call_has_input (call, 1);

  g->batch = (guint64) dims[0];
  g->length = (guint64) dims[1];
  g->heads = (guint64) ir_call_int (call, "num_heads", 1);
  g->kv_heads = (guint64) ir_call_int (call, "kv_num_heads", 1);
  g->size = (guint64) dims[2] / (packed ? g->heads + 2 * g->kv_heads : g->heads);
  g->past = ir_call_has_input (call, 3) ? (guint64) ir_tensor_dims (ir_call_input (call, 3))[2] : 0;
  if (ir_tensor_n_elements (ir_call_input (call, g->total_slot)) != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "total_sequence_length must be one number");
  g->total = ir_tensor_get_int64 (ir_call_input (call, g->total_slot), 0);
  if (g->total < 1 || g->total > G_MAXINT32)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "total_sequence_length is %" G_GINT64_FORMAT, g->total);
  g->present = g->keeps ? g->past : MAX (g->past, (guint64) g->total);
  return ir_tensor_n_elements (ir_call_input (call, g->lengths_slot)) == g->batch ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u must have one length a sample",
                       g->lengths_slot);
}

static gboolean
load (Grouped *g, GError **error)
{
  gboolean packed = !ir_call_has_input (g->call, 1);
  guint64 q = g->heads * g->size, kv = g->kv_heads * g->size;

  return (g->q = columns_new (g, 0, 0, q, error)) != NULL &&
         (g->k = columns_new (g, packed ? 0 : 1, packed ? q : 0, kv, error)) != NULL &&
         (g->v = columns_new (g, packed ? 0 : 2, packed ? q + kv : 0, kv, error)) != NULL &&
         (g->keys = cache_new (g, 3, error)) != NULL &&
         (g->values = cache_new (g, 4, error)) != NULL &&
         (g->scores = ir_block_new (g->call, g->present + 1, error)) != NULL &&
         (g->y = ir_block_new (g->call, g->batch * g->length * q, error)) != NULL &&
         read_angles (g, error);
}

/* -- positions -- */

static gboolean
turn (Grouped *g, double *x, guint64 heads, GError **error)
{
  guint64 n_rows = g->half > 0 ? ir_tensor_n_elements (ir_call_input (g->call, g->angles)) / g->half
                               : 0;

  for (guint64 row = 0; g->turns && row < g->batch * g->length; row++)
    {
      guint64 b = row / g->length, s = row % g->length;
      gint64 at = g->positions != NULL ? ir_tensor_get_int64 (g->positions, row)
                                       : past_of (g, b) + (gint64) s;
      if (at < 0 || (guint64) at >= n_rows)
        return ir_call_fail (g->call, error, IR_OP_ERROR_VALUE,
                             "position %" G_GINT64_FORMAT " is not in the caches of angles", at);
      const double *cos = g->cos + (guint64) at * g->half, *sin = g->sin + (guint64) at * g->half;
      for (guint64 h = 0; h < heads; h++)
        for (guint64 i = 0; i < g->half; i++)
          {
            double *head = x + (row * heads + h) * g->size;
            double *a = head + (g->interleaved ? 2 * i : i);
            double *c = head + (g->interleaved ? 2 * i + 1 : i + g->half);
            double real = *a * cos[i] - *c * sin[i];
            *c = *a * sin[i] + *c * cos[i];
            *a = real;
          }
    }
  return TRUE;
}

/* Writes the new rows behind those that are there. */
static gboolean
fill_caches (Grouped *g, GError **error)
{
  for (guint64 b = 0; b < g->batch; b++)
    {
      gint64 past = past_of (g, b);
      if (past < 0 || (guint64) past + g->length > g->present)
        return ir_call_fail (g->call, error, IR_OP_ERROR_VALUE,
                             "the length of sample %" G_GUINT64_FORMAT " does not fit the cache",
                             b);
      for (guint64 s = 0; s < g->length; s++)
        for (guint64 h = 0; h < g->kv_heads; h++)
          {
            guint64 from = ((b * g->length + s) * g->kv_heads + h) * g->size;
            guint64 to = ((b * g->kv_heads + h) * g->present + (guint64) past + s) * g->size;
            memcpy (g->keys + to, g->k + from, g->size * sizeof (double));
            memcpy (g->values + to, g->v + from, g->size * sizeof (double));
          }
    }
  return TRUE;
}

/* -- one query -- */

static double
bias_at (const Grouped *g, guint64 b, guint64 h, guint64 s, guint64 key)
{
  const gint64 *dims = ir_tensor_dims (g->bias);
  guint64 place[] = { b, h, s, key }, at = 0;

  for (guint i = 0; i < 4; i++)
    at = at * (guint64) dims[i] + (dims[i] == 1 ? 0 : place[i]);
  return ir_tensor_get_double (g->bias, MIN (at, ir_tensor_n_elements (g->bias) - 1));
}

/* Softmax of @n scores, where a sink may take a share of it. */
static void
weigh (const Grouped *g, guint64 h, double *scores, guint64 n)
{
  double sink = g->sink != NULL ? ir_tensor_get_double (g->sink, h) : 0;
  double most = g->smooth ? sink : -INFINITY, sum;

  for (guint64 i = 0; i < n; i++)
    most = MAX (most, scores[i]);
  sum = g->smooth ? exp (sink - most) : 0;
  for (guint64 i = 0; i < n; i++)
    sum += scores[i] = exp (scores[i] - most);
  for (guint64 i = 0; i < n; i++)
    scores[i] /= sum;
}

/* Whether the queries of block @row see the keys of block @column, by the layout of head @h. */
static gboolean
sees (const Grouped *g, guint64 h, gint64 row, gint64 column)
{
  const gint64 *dims = ir_tensor_dims (g->rows);
  guint64 layout = h % (guint64) dims[0];
  guint64 at = layout * (guint64) dims[1] + (guint64) row;
  guint64 first = layout * (guint64) ir_tensor_dims (g->columns)[1];

  for (gint64 i = ir_tensor_get_int64 (g->rows, at); i < ir_tensor_get_int64 (g->rows, at + 1); i++)
    if (ir_tensor_get_int64 (g->columns, first + (guint64) i) == column)
      return TRUE;
  return FALSE;
}

/* Keys that a query does not see have the least score, so that they weigh nothing beside another. */
static void
hide_blocks (Grouped *g, guint64 h, gint64 query, guint64 end)
{
  for (gint64 block = 0; g->rows != NULL && block * g->block < (gint64) end; block++)
    {
      gint64 last = MIN ((block + 1) * g->block, (gint64) end);

      if (!sees (g, h, query / g->block, block))
        ir_block_fill (g->scores + block * g->block, (guint64) (last - block * g->block), -FLT_MAX);
    }
}

static void
attend (Grouped *g, guint64 b, guint64 s, guint64 h)
{
  guint64 kv = h / (g->heads / g->kv_heads), past = (guint64) past_of (g, b);
  guint64 end = g->causal
                    ? past + s + 1
                    : MIN (g->present, (guint64) (ir_tensor_get_int64 (g->lengths, b) + g->beyond));
  guint64 first = g->window > 0 && end > (guint64) g->window ? end - (guint64) g->window : 0;
  const double *q = g->q + ((b * g->length + s) * g->heads + h) * g->size;
  const double *keys = g->keys + (b * g->kv_heads + kv) * g->present * g->size;
  const double *values = g->values + (b * g->kv_heads + kv) * g->present * g->size;
  double *y = g->y + ((b * g->length + s) * g->heads + h) * g->size;

  for (guint64 j = first; j < end; j++)
    {
      double score = ir_block_dot (q, keys + j * g->size, g->size) * g->scale;
      if (g->softcap > 0)
        score = g->softcap * tanh (score / g->softcap);
      g->scores[j] = score + (g->bias != NULL ? bias_at (g, b, h, s, j) : 0);
    }
  hide_blocks (g, h, (gint64) (past + s), end);
  weigh (g, h, g->scores + first, end - first);
  memset (y, 0, g->size * sizeof *y);
  for (guint64 j = first; j < end; j++)
    ir_block_add_scaled (g->scores[j], values + j * g->size, g->size, y);
}

static gboolean
store (Grouped *g, guint slot, const double *values, guint64 n, const gint64 *dims, GError **error)
{
  if (!ir_call_has_output (g->call, slot))
    return TRUE;
  IrTensor *out = dims != NULL ? ir_call_new_output (g->call, slot,
                                                     ir_tensor_dtype (ir_call_input (g->call, 0)),
                                                     4, dims, error)
                               : ir_block_new_output (g->call, slot, error);
  if (out != NULL)
    ir_block_store (out, 0, n, values);
  return out != NULL;
}

static gboolean
run (Grouped *g, GError **error)
{
  if (!load (g, error) || !turn (g, g->q, g->heads, error) || !turn (g, g->k, g->kv_heads, error) ||
      !fill_caches (g, error))
    return FALSE;
  for (guint64 row = 0; row < g->batch * g->length; row++)
    {
      if (ir_block_cancelled (g->call, error))
        return FALSE;
      for (guint64 h = 0; h < g->heads; h++)
        attend (g, row / g->length, row % g->length, h);
    }
  const gint64 dims[] = { (gint64) g->batch, (gint64) g->kv_heads, (gint64) g->present,
                          (gint64) g->size };
  guint64 n = g->batch * g->kv_heads * g->present * g->size;
  return store (g, 0, g->y, g->batch * g->length * g->heads * g->size, NULL, error) &&
         store (g, 1, g->keys, n, dims, error) && store (g, 2, g->values, n, dims, error);
}

/* query, key, value, past keys and values, lengths less 1, the longest length, angles, positions,
 * what is added to the scores, a sink. */
gboolean
ir_ref_group_query_attention (IrCall *call, GError **error)
{
  g_auto (Grouped)
      g = { .call = call, .lengths_slot = 5, .total_slot = 6, .angles = 7, .beyond = 1 };

  if (!ir_block_check_float (call, error) || !ir_infer_group_query_attention (call, error) ||
      !check_supported (call, error) || !read_sizes (&g, error))
    return FALSE;
  read_settings (&g);
  return run (&g, error);
}

/* Blocks are those of the cache, and rows say where their columns stand. */
static gboolean
check_blocks (const Grouped *g, GError **error)
{
  const gint64 *rows = ir_tensor_dims (g->rows), *columns = ir_tensor_dims (g->columns);

  for (gint64 layout = 0; layout < rows[0]; layout++)
    for (gint64 i = 0; i < rows[1]; i++)
      {
        gint64 at = ir_tensor_get_int64 (g->rows, (guint64) (layout * rows[1] + i));
        if (at < 0 || at > columns[1])
          return ir_call_fail (g->call, error, IR_OP_ERROR_VALUE,
                               "block_row_indices has %" G_GINT64_FORMAT ", of %" G_GINT64_FORMAT
                               " columns",
                               at, columns[1]);
      }
  return (rows[1] - 1) * g->block >= (gint64) g->present ||
         ir_call_fail (g->call, error, IR_OP_ERROR_SHAPE,
                       "block_row_indices has %" G_GINT64_FORMAT
                       " rows of blocks, too few for %" G_GUINT64_FORMAT " positions",
                       rows[1] - 1, g->present);
}

/* query, key, value, past keys and values, rows and columns of the blocks, the longest length,
 * lengths, angles. */
gboolean
ir_ref_sparse_attention (IrCall *call, GError **error)
{
  g_auto (Grouped) g = {
    .call = call, .lengths_slot = 8, .total_slot = 7, .angles = 9, .keeps = TRUE, .causal = TRUE
  };

  if (!ir_block_check_float (call, error) || !ir_infer_sparse_attention (call, error) ||
      !read_sizes (&g, error))
    return FALSE;
  read_common (&g);
  g.rows = ir_call_input (call, 5);
  g.columns = ir_call_input (call, 6);
  g.block = ir_call_int (call, "sparse_block_size", 1);
  return check_blocks (&g, error) && run (&g, error);
}
