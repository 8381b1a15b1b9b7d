/* The attentions of com.microsoft as compositions of our own (transformer.def): projections, heads
 * apart, what is added to the scores, caches. Q, K and V are [batch, heads, positions, size] inside;
 * sizes are those of ONNX Runtime's ContribOperators.md. */
#include "config.h"

#include "core/op/compose-util.h"

#include <float.h>
#include <math.h>

typedef struct
{
  gint64 heads;
  IrPart *q, *k, *v;
  IrPart *mask; /* (nullable) added to the scores */
} Attended;

/* -- sizes -- */

/* The size of an axis as int64 [1]. */
static IrPart *
size_of (IrCompose *c, IrPart *x, gint64 axis)
{
  ir_compose_set_int (c, "start", axis);
  ir_compose_set_int (c, "end", axis + 1);
  return ir_compose (c, IR_OP_SHAPE, 1, x);
}

static IrPart *
scalar (IrCompose *c, IrPart *x)
{
  return ir_compose_reshape (c, x, 0, (gint64[]){ 0 });
}

/* start, start + 1, ... before end, from int64 [1] each */
static IrPart *
count (IrCompose *c, IrPart *start, IrPart *end)
{
  return ir_compose (c, IR_OP_RANGE, 3, scalar (c, start), scalar (c, end),
                     ir_compose_number (c, IR_DTYPE_INT64, 1));
}

static IrPart *
keys_of (IrCompose *c, IrPart *k)
{
  return count (c, ir_compose_ints (c, 1, (gint64[]){ 0 }), size_of (c, k, 2));
}

/* -- heads -- */

/* [batch, positions, heads * size] to [batch, heads, positions, size] */
static IrPart *
apart (IrCompose *c, IrPart *x, gint64 heads)
{
  const gint64 dims[] = { 0, 0, heads, -1 }, perm[] = { 0, 2, 1, 3 };

  return ir_compose_transpose (c, ir_compose_reshape (c, x, 4, dims), 4, perm);
}

static IrPart *
together (IrCompose *c, IrPart *x)
{
  const gint64 dims[] = { 0, 0, -1 }, perm[] = { 0, 2, 1, 3 };

  return ir_compose_reshape (c, ir_compose_transpose (c, x, 4, perm), 3, dims);
}

/* Part @index of an axis, which goes. */
static IrPart *
pick (IrCompose *c, IrPart *x, gint64 axis, gint64 index)
{
  ir_compose_set_int (c, "axis", axis);
  return ir_compose (c, IR_OP_GATHER, 2, x, ir_compose_number (c, IR_DTYPE_INT64, (double) index));
}

/* @x with an axis of 1 before its own. */
static IrPart *
led_by_one (IrCompose *c, IrPart *x)
{
  IrPart *dims = ir_compose (c, IR_OP_SHAPE, 1, x);

  ir_compose_set_int (c, "axis", 0);
  dims = ir_compose (c, IR_OP_CONCAT, 2, ir_compose_ints (c, 1, (gint64[]){ 1 }), dims);
  return ir_compose (c, IR_OP_RESHAPE, 2, x, dims);
}

static IrPart *
behind (IrCompose *c, gint64 axis, IrPart *first, IrPart *second)
{
  if (first == NULL)
    return second;
  ir_compose_set_int (c, "axis", axis);
  return ir_compose (c, IR_OP_CONCAT, 2, first, second);
}

static gint64
heads_of (IrCompose *c)
{
  gint64 heads = ir_call_int (c->call, "num_heads", 0);

  if (heads < 1)
    ir_compose_fail (c, IR_OP_ERROR_ATTRIBUTE, "num_heads is %" G_GINT64_FORMAT ", needed is some",
                     heads);
  return heads;
}

/* -- what is added to the scores -- */

/* 0 where @keep says so, @otherwise elsewhere. */
static IrPart *
added (IrCompose *c, const Attended *a, IrPart *keep, double otherwise)
{
  IrDtype dtype = ir_compose_dtype (a->q);

  return ir_compose (c, IR_OP_WHERE, 3, keep, ir_compose_number (c, dtype, 0),
                     ir_compose_number (c, dtype, otherwise));
}

static void
add_mask (IrCompose *c, Attended *a, IrPart *mask)
{
  a->mask = a->mask != NULL ? ir_compose (c, IR_OP_ADD, 2, a->mask, mask) : mask;
}

/* The last query sees all keys, the one before it one less, and so on. */
static void
add_causal (IrCompose *c, Attended *a)
{
  const gint64 column[] = { -1, 1 };
  IrPart *total = size_of (c, a->k, 2);
  IrPart *first = ir_compose (c, IR_OP_SUB, 2, total, size_of (c, a->q, 2));
  IrPart *queries = ir_compose_reshape (c, count (c, first, total), 2, column);
  IrPart *later = ir_compose (c, IR_OP_GREATER, 2, keys_of (c, a->k), queries);
  double least = ir_compose_dtype (a->q) == IR_DTYPE_FLOAT16 ? -65504 : -FLT_MAX;

  add_mask (c, a, added (c, a, ir_compose (c, IR_OP_NOT, 1, later), least));
}

static IrPart *
whole_numbers (IrCompose *c, IrPart *x)
{
  ir_compose_set_int (c, "to", IR_DTYPE_INT64);
  return ir_compose (c, IR_OP_CAST, 1, x);
}

/* Where the keys of each sample end, and perhaps behind that where they begin. */
static IrPart *
keep_by_length (IrCompose *c, const Attended *a, IrPart *lengths)
{
  const gint64 column[] = { -1, 1 }, row[] = { 0, 1, 1, -1 };
  gint64 n = ir_compose_dim (c, lengths, 0), batch = ir_compose_dim (c, a->q, 0);
  IrPart *keys = keys_of (c, a->k), *keep;

  if (n != batch && n != 2 * batch)
    {
      ir_compose_fail (c, IR_OP_ERROR_SHAPE,
                       "the mask has %" G_GINT64_FORMAT " lengths for %" G_GINT64_FORMAT " samples",
                       n, batch);
      return NULL;
    }
  lengths = whole_numbers (c, lengths);
  IrPart *ends = n == batch ? lengths : ir_compose_slice (c, lengths, 0, 0, batch);
  keep = ir_compose (c, IR_OP_LESS, 2, keys, ir_compose_reshape (c, ends, 2, column));
  if (n != batch)
    {
      IrPart *starts = ir_compose_slice (c, lengths, 0, batch, n);
      IrPart *before = ir_compose (c, IR_OP_LESS, 2, keys,
                                   ir_compose_reshape (c, starts, 2, column));
      keep = ir_compose (c, IR_OP_AND, 2, keep, ir_compose (c, IR_OP_NOT, 1, before));
    }
  return ir_compose_reshape (c, keep, 4, row);
}

/* A mask of keys, as ONNX Runtime has it: lengths, or 1 where a key counts. */
static void
add_padding (IrCompose *c, Attended *a, IrPart *mask)
{
  const gint64 row[] = { 0, 1, 1, -1 }, second = 1;
  double hidden = ir_call_float (c->call, "mask_filter_value", -10000);
  IrPart *keep = NULL;

  if (mask == NULL)
    return;
  switch (ir_compose_rank (c, mask))
    {
    case 1:
      keep = keep_by_length (c, a, mask);
      break;
    case 2:
    case 3:
      keep = ir_compose (c, IR_OP_GREATER, 2, mask,
                         ir_compose_number (c, ir_compose_dtype (mask), 0));
      keep = ir_compose_rank (c, mask) == 2
                 ? ir_compose_reshape (c, keep, 4, row)
                 : ir_compose (c, IR_OP_UNSQUEEZE, 2, keep, ir_compose_ints (c, 1, &second));
      break;
    default:
      ir_compose_fail (c, IR_OP_ERROR_UNSUPPORTED, "a mask of rank %u is not supported",
                       ir_compose_rank (c, mask));
    }
  add_mask (c, a, added (c, a, keep, hidden));
}

/* -- attention -- */

static double
scale_of (IrCompose *c, const Attended *a)
{
  double scale = ir_call_float (c->call, "scale", 0);
  gint64 size = ir_compose_dim (c, a->q, 3);

  return scale != 0 ? scale : size > 0 ? 1 / sqrt ((double) size) : 1;
}

/* [batch, positions, heads * size] of V */
static IrPart *
attend (IrCompose *c, const Attended *a)
{
  double scale = scale_of (c, a);
  IrPart *q = scale < 0 ? ir_compose_times (c, a->q, -1) : a->q;

  ir_compose_set_float (c, "scale", fabs (scale));
  return together (c,
                   ir_compose (c, a->mask != NULL ? IR_OP_MASKED_ATTENTION : IR_OP_LATE_ATTENTION,
                               a->mask != NULL ? 4 : 3, q, a->k, a->v, a->mask));
}

/* What the softmax is taken of. */
static IrPart *
scores_of (IrCompose *c, const Attended *a)
{
  const gint64 perm[] = { 0, 1, 3, 2 };
  IrPart *scores = ir_compose (c, IR_OP_MATMUL, 2, a->q, ir_compose_transpose (c, a->k, 4, perm));

  scores = ir_compose_times (c, scores, scale_of (c, a));
  return a->mask != NULL ? ir_compose (c, IR_OP_ADD, 2, scores, a->mask) : scores;
}

/* -- Attention and QAttention -- */

/* How many columns of the projection are queries, keys and values. */
static gboolean
projected_sizes (IrCompose *c, IrPart *projected, gint64 sizes[3])
{
  guint n;
  const gint64 *given = ir_call_ints (c->call, "qkv_hidden_sizes", &n);
  gint64 all = ir_compose_dim (c, projected, 2);

  for (guint i = 0; i < 3; i++)
    sizes[i] = given != NULL && n == 3 ? given[i] : all / 3;
  if (!c->unknown && (sizes[0] != sizes[1] || sizes[0] < 1 || sizes[2] < 1 || sizes[0] > all ||
                      sizes[2] > all || sizes[0] + sizes[1] + sizes[2] != all))
    ir_compose_fail (c, IR_OP_ERROR_SHAPE,
                     "%" G_GINT64_FORMAT " columns are not those of queries, keys and values", all);
  return !c->failed && !c->unknown;
}

/* From the projection on; @past is [2, batch, heads, positions, size]. */
static void
attend_projected (IrCompose *c, IrPart *projected, IrPart *mask, IrPart *past, IrPart *bias)
{
  Attended a = { .heads = heads_of (c) };
  gint64 sizes[3];

  if (ir_call_int (c->call, "do_rotary", 0) != 0 ||
      ir_call_int (c->call, "past_present_share_buffer", 0) != 0)
    ir_compose_fail (c, IR_OP_ERROR_UNSUPPORTED,
                     "do_rotary and past_present_share_buffer are not supported");
  if (!projected_sizes (c, projected, sizes))
    return;
  a.q = apart (c, ir_compose_slice (c, projected, 2, 0, sizes[0]), a.heads);
  a.k = apart (c, ir_compose_slice (c, projected, 2, sizes[0], 2 * sizes[0]), a.heads);
  a.v = apart (c, ir_compose_slice (c, projected, 2, 2 * sizes[0], 2 * sizes[0] + sizes[2]),
               a.heads);
  if (past != NULL)
    {
      a.k = behind (c, 2, pick (c, past, 0, 0), a.k);
      a.v = behind (c, 2, pick (c, past, 0, 1), a.v);
    }
  add_padding (c, &a, mask);
  if (ir_call_int (c->call, "unidirectional", 0) != 0)
    add_causal (c, &a);
  if (bias != NULL)
    add_mask (c, &a, bias);
  ir_compose_result (c, 0, attend (c, &a));
  if (ir_compose_wants (c, 1))
    ir_compose_result (c, 1, behind (c, 0, led_by_one (c, a.k), led_by_one (c, a.v)));
}

/* input [batch, positions, in], weights [in, out], bias, a mask, a past, what is added to the
 * scores. */
void
ir_compose_attention (IrCompose *c)
{
  IrPart *projected = ir_compose (c, IR_OP_MATMUL, 2, ir_compose_input (c, 0),
                                  ir_compose_input (c, 1));

  if (ir_compose_input (c, 2) != NULL)
    projected = ir_compose (c, IR_OP_ADD, 2, projected, ir_compose_input (c, 2));
  attend_projected (c, projected, ir_compose_input (c, 3), ir_compose_input (c, 4),
                    ir_compose_input (c, 5));
}

/* input, weights, bias, the scales of the first two, a mask, their zero points, a past. */
void
ir_compose_q_attention (IrCompose *c)
{
  IrPart *scale = ir_compose (c, IR_OP_MUL, 2, ir_compose_input (c, 3), ir_compose_input (c, 4));
  IrPart *projected = ir_compose_scaled_product (
      c, ir_compose_input (c, 0), ir_compose_input (c, 1), ir_compose_input (c, 6),
      ir_compose_input (c, 7), scale, ir_compose_input (c, 2));

  attend_projected (c, projected, ir_compose_input (c, 5), ir_compose_input (c, 8), NULL);
}

/* -- MultiHeadAttention and its decoder -- */

/* Queries, keys and values side by side within each head: [batch, positions, heads, n, size]. */
static void
unpack (IrCompose *c, IrPart *packed, guint n, IrPart **parts)
{
  const gint64 perm[] = { 0, 2, 1, 3 };

  for (guint i = 0; i < n; i++)
    parts[i] = ir_compose_transpose (c, pick (c, packed, 3, i), 4, perm);
}

static IrPart *
with_bias (IrCompose *c, IrPart *x, IrPart *bias, gint64 start, gint64 end)
{
  if (bias == NULL)
    return x;
  return ir_compose (c, IR_OP_ADD, 2, x, ir_compose_slice (c, bias, 0, start, end));
}

/* A bias of heads side by side as [heads, 1, size], for heads apart. */
static IrPart *
with_bias_apart (IrCompose *c, IrPart *x, IrPart *bias, gint64 start, gint64 end, gint64 heads)
{
  const gint64 dims[] = { heads, 1, -1 };

  if (bias == NULL)
    return x;
  return ir_compose (c, IR_OP_ADD, 2, x,
                     ir_compose_reshape (c, ir_compose_slice (c, bias, 0, start, end), 3, dims));
}

/* Q, K and V of all the forms that they may have; a bias is that of all three, one behind the other.
 */
static void
split_heads (IrCompose *c, Attended *a, IrPart *query, IrPart *key, IrPart *value, IrPart *bias)
{
  gint64 heads = a->heads;

  if (key == NULL)
    {
      IrPart *parts[3] = { NULL };
      unpack (c, query, 3, parts);
      gint64 size = bias != NULL ? ir_compose_dim (c, bias, 0) / 3 : 0;
      a->q = with_bias_apart (c, parts[0], bias, 0, size, heads);
      a->k = with_bias_apart (c, parts[1], bias, size, 2 * size, heads);
      a->v = with_bias_apart (c, parts[2], bias, 2 * size, 3 * size, heads);
      return;
    }
  gint64 size = bias != NULL ? ir_compose_dim (c, query, 2) : 0;
  gint64 all = bias != NULL ? ir_compose_dim (c, bias, 0) : 0;
  a->q = apart (c, with_bias (c, query, bias, 0, size), heads);
  if (value == NULL)
    {
      IrPart *parts[2] = { NULL };
      unpack (c, key, 2, parts);
      a->k = with_bias_apart (c, parts[0], bias, size, 2 * size, heads);
      a->v = with_bias_apart (c, parts[1], bias, 2 * size, all, heads);
    }
  else if (ir_compose_rank (c, key) == 4)
    {
      a->k = key;
      a->v = value;
    }
  else
    {
      a->k = apart (c, with_bias (c, key, bias, size, 2 * size), heads);
      a->v = apart (c, with_bias (c, value, bias, 2 * size, all), heads);
    }
}

/* query, key, value, bias, a mask of keys, what is added to the scores, past keys and values. */
void
ir_compose_multi_head_attention (IrCompose *c)
{
  Attended a = { .heads = heads_of (c) };

  if (ir_compose_input (c, 8) != NULL || ir_compose_input (c, 9) != NULL)
    ir_compose_fail (c, IR_OP_ERROR_UNSUPPORTED,
                     "past_sequence_length and cache_indirection are not supported");
  split_heads (c, &a, ir_compose_input (c, 0), ir_compose_input (c, 1), ir_compose_input (c, 2),
               ir_compose_input (c, 3));
  a.k = behind (c, 2, ir_compose_input (c, 6), a.k);
  a.v = behind (c, 2, ir_compose_input (c, 7), a.v);
  add_padding (c, &a, ir_compose_input (c, 4));
  if (ir_call_int (c->call, "unidirectional", 0) != 0)
    add_causal (c, &a);
  if (ir_compose_input (c, 5) != NULL)
    add_mask (c, &a, ir_compose_input (c, 5));
  ir_compose_result (c, 0, attend (c, &a));
  ir_compose_result (c, 1, a.k);
  ir_compose_result (c, 2, a.v);
  if (ir_compose_wants (c, 3))
    ir_compose_result (c, 3, scores_of (c, &a));
}

/* Positions [start, end) of a cache, both int64 [1]. */
static IrPart *
cached (IrCompose *c, IrPart *cache, IrPart *start, IrPart *end)
{
  return ir_compose (c, IR_OP_SLICE, 4, cache, start, end, ir_compose_ints (c, 1, (gint64[]){ 2 }));
}

/* The cache with @now written at position @length, and what of it counts from then on. */
static IrPart *
update_cache (IrCompose *c, IrPart *cache, IrPart *length, IrPart *now, IrPart **present)
{
  IrPart *next = ir_compose (c, IR_OP_ADD, 2, length, ir_compose_ints (c, 1, (gint64[]){ 1 }));
  IrPart *start = ir_compose_ints (c, 1, (gint64[]){ 0 });
  IrPart *used = behind (c, 2, cached (c, cache, start, length), now);

  *present = behind (c, 2, used, cached (c, cache, next, size_of (c, cache, 2)));
  return used;
}

/* query, key, value, a mask of keys, what is added to the scores, past keys and values, their
 * length, two inputs of a beam search, bias. One position at a time. */
void
ir_compose_decoder_attention (IrCompose *c)
{
  Attended a = { .heads = heads_of (c) };
  gboolean shared = ir_call_int (c->call, "past_present_share_buffer", 0) != 0;
  IrPart *length = ir_compose_input (c, 7), *present_key, *present_value;

  if (ir_compose_input (c, 9) != NULL)
    ir_compose_fail (c, IR_OP_ERROR_UNSUPPORTED, "cache_indirection is not supported");
  split_heads (c, &a, ir_compose_input (c, 0), ir_compose_input (c, 1), ir_compose_input (c, 2),
               ir_compose_input (c, 10));
  if (shared && length != NULL && ir_compose_input (c, 5) != NULL)
    {
      length = ir_compose_reshape (c, whole_numbers (c, length), 1, (gint64[]){ 1 });
      a.k = update_cache (c, ir_compose_input (c, 5), length, a.k, &present_key);
      a.v = update_cache (c, ir_compose_input (c, 6), length, a.v, &present_value);
    }
  else
    {
      present_key = a.k = behind (c, 2, ir_compose_input (c, 5), a.k);
      present_value = a.v = behind (c, 2, ir_compose_input (c, 6), a.v);
    }
  add_padding (c, &a, ir_compose_input (c, 3));
  if (ir_compose_input (c, 4) != NULL)
    add_mask (c, &a, ir_compose_input (c, 4));
  ir_compose_result (c, 0, attend (c, &a));
  ir_compose_result (c, 1, present_key);
  ir_compose_result (c, 2, present_value);
  if (ir_compose_wants (c, 3))
    ir_compose_result (c, 3, scores_of (c, &a));
}

/* -- RotaryEmbedding -- */

/* Positions of each sample: those that are given, or the first of them. */
static IrPart *
positions_of (IrCompose *c, IrPart *ids, IrPart *x, gint64 axis)
{
  IrPart *samples, *shape, *all;

  if (ir_compose_rank (c, ids) != 1)
    return ids;
  samples = size_of (c, x, 0);
  shape = size_of (c, x, axis);
  ir_compose_set_int (c, "axis", 0);
  shape = ir_compose (c, IR_OP_CONCAT, 2, samples, shape);
  all = count (c, ir_compose_ints (c, 1, (gint64[]){ 0 }), size_of (c, x, axis));
  return ir_compose (c, IR_OP_EXPAND, 2, ir_compose (c, IR_OP_ADD, 2, all, ids), shape);
}

/* input, positions, and two caches, of all positions and half of what is turned. */
void
ir_compose_rotary_embedding (IrCompose *c)
{
  IrPart *x = ir_compose_input (c, 0), *cos = ir_compose_input (c, 2);
  gint64 dim = ir_call_int (c->call, "rotary_embedding_dim", 0);
  gint64 heads = ir_call_int (c->call, "num_heads", 0);
  gboolean packed = ir_compose_rank (c, x) == 3;
  IrPart *positions = positions_of (c, ir_compose_input (c, 1), x, packed ? 1 : 2);

  if (ir_call_int (c->call, "is_packed_batching", 0) != 0)
    ir_compose_fail (c, IR_OP_ERROR_UNSUPPORTED, "is_packed_batching is not supported");
  if (packed && (dim == 0 || heads == 0))
    {
      gint64 size = 2 * ir_compose_dim (c, cos, 1), all = ir_compose_dim (c, x, 2);
      heads = size > 0 ? all / size : 1;
    }
  if (packed)
    ir_compose_set_int (c, "num_heads", MAX (heads, 1));
  ir_compose_set_int (c, "interleaved", ir_call_int (c->call, "interleaved", 0));
  ir_compose_set_int (c, "rotary_embedding_dim", dim);
  IrPart *y = ir_compose (c, IR_OP_ROTARY_EMBEDDING, 4, x, cos, ir_compose_input (c, 3), positions);
  ir_compose_result (c, 0, y);
}

/* For each angle whether it goes by the places of @stream, 1 height or 2 width, as bool [angles]. */
static IrPart *
goes_by (IrCompose *c, const gint64 *sections, gint64 n, guint stream)
{
  gboolean turns = ir_call_int (c->call, "mrope_layout", 0) == 1;
  gint64 first = stream == 1 ? sections[0] : sections[0] + sections[1];
  g_autofree guint8 *mask = g_new0 (guint8, (gsize) n);

  for (gint64 i = 0; i < n; i++)
    mask[i] = turns ? i % 3 == stream && i < 3 * sections[stream]
                    : i >= first && i < first + sections[stream];
  return ir_compose_constant (c, ir_tensor_new_copy (IR_DTYPE_BOOL, 1, &n, mask));
}

/* Rows of a cache of angles for places [3, batch, positions], each angle of the stream that it goes
 * by. */
static IrPart *
angles_of (IrCompose *c, IrPart *cache, IrPart *places, IrPart *by_height, IrPart *by_width)
{
  IrPart *rows = ir_compose (c, IR_OP_GATHER, 2, cache, places), *y;

  y = ir_compose (c, IR_OP_WHERE, 3, by_width, pick (c, rows, 0, 2), pick (c, rows, 0, 0));
  return ir_compose (c, IR_OP_WHERE, 3, by_height, pick (c, rows, 0, 1), y);
}

/* The sections of the angles, which are all of a cache. */
static const gint64 *
sections_of (IrCompose *c, gint64 *n)
{
  guint n_sections;
  const gint64 *sections = ir_call_ints (c->call, "mrope_section", &n_sections);
  gint64 size = ir_compose_dim (c, ir_compose_input (c, 2), 1);

  *n = 0;
  for (guint i = 0; sections != NULL && n_sections == 3 && i < 3; i++)
    *n = sections[i] < 0 || sections[i] > size || *n < 0 ? -1 : *n + sections[i];
  if (n_sections != 3 || *n != size)
    ir_compose_fail (c, IR_OP_ERROR_ATTRIBUTE,
                     "mrope_section must be three numbers that add up to the %" G_GINT64_FORMAT
                     " angles of cos_cache",
                     size);
  return c->failed || c->unknown ? NULL : sections;
}

/* input, positions [3, batch, positions], and two caches, of all places and half of what is turned. */
void
ir_compose_m_rotary_embedding (IrCompose *c)
{
  IrPart *x = ir_compose_input (c, 0), *places = ir_compose_input (c, 1), *masks[2], *angles[2];
  gint64 dim = ir_call_int (c->call, "rotary_embedding_dim", 0), n;
  gint64 heads = ir_call_int (c->call, "num_heads", 0);
  const gint64 *sections = sections_of (c, &n);
  gboolean packed = ir_compose_rank (c, x) == 3;

  if (ir_call_int (c->call, "is_packed_batching", 0) != 0)
    ir_compose_fail (c, IR_OP_ERROR_UNSUPPORTED, "is_packed_batching is not supported");
  if (ir_compose_rank (c, places) != 3 || ir_compose_dim (c, places, 0) != 3)
    ir_compose_fail (c, IR_OP_ERROR_SHAPE, "position_ids must be [3, batch, positions]");
  if (sections == NULL || c->failed || c->unknown)
    return;
  if (packed && (dim == 0 || heads == 0))
    heads = n > 0 ? ir_compose_dim (c, x, 2) / (2 * n) : 1;
  for (guint i = 0; i < 2; i++)
    masks[i] = goes_by (c, sections, n, i + 1);
  for (guint i = 0; i < 2; i++)
    angles[i] = angles_of (c, ir_compose_input (c, 2 + i), places, masks[0], masks[1]);
  if (packed)
    ir_compose_set_int (c, "num_heads", MAX (heads, 1));
  ir_compose_set_int (c, "interleaved", ir_call_int (c->call, "interleaved", 0));
  ir_compose_set_int (c, "rotary_embedding_dim", dim);
  ir_compose_result (c, 0, ir_compose (c, IR_OP_ROTARY_EMBEDDING, 3, x, angles[0], angles[1]));
}
