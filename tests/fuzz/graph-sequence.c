/* Graphs over sequences: attention with every shape of a mask, recurrent layers, normalizations and
 * products. */
#include "config.h"

#include "tests/fuzz/graph-parts.h"

#include <math.h>

/* -- attention -- */

typedef struct
{
  gint64 batch, heads, kv_heads, queries, keys, size, value_size;
} Heads;

static void
choose_heads (Gen *gen, Heads *heads)
{
  static const gint64 sizes[] = { 1, 2, 3, 4, 8, 8, 16 };

  heads->batch = gen_one_in (gen, 2) ? 1 : part_size (gen, 3);
  heads->heads = 1 + gen_below (gen, 4);
  heads->kv_heads = heads->heads % 2 == 0 && gen_one_in (gen, 3) ? heads->heads / 2 : heads->heads;
  heads->queries = gen_one_in (gen, 4) ? 1 : part_size (gen, 9);
  heads->keys = gen_one_in (gen, 2) ? heads->queries : part_size (gen, 12);
  heads->size = CHOOSE (gen, sizes);
  heads->value_size = gen_one_in (gen, 4) ? CHOOSE (gen, sizes) : heads->size;
}

/* The first key is always seen, so that no row is empty. */
static IrTensor *
mask_contents (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims, gboolean causal)
{
  IrTensor *tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  static const double hiding[] = { -INFINITY, -10000, -3.4028234663852886e38, -1e9, -65504 };
  double hides = dtype == IR_DTYPE_FLOAT16 ? -65504 : CHOOSE (gen, hiding);
  gint64 last = rank > 0 ? dims[rank - 1] : 1, rows = rank > 1 ? dims[rank - 2] : 1;

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      gint64 key = (gint64) i % last, query = (gint64) i / last % rows;
      gboolean sees = key == 0 || (causal ? key <= query : !gen_one_in (gen, 3));
      ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                           dtype == IR_DTYPE_BOOL ? sees
                           : sees                 ? 0
                                                  : hides);
    }
  return tensor;
}

/* Of any rank that broadcasts to batch, heads, queries, keys. */
static IrValue *
random_mask (Gen *gen, const Heads *heads, IrDtype dtype)
{
  gint64 dims[] = { heads->batch, heads->heads, heads->queries, heads->keys };
  guint skip = gen_below (gen, 4), rank = 4 - skip;

  for (guint i = 0; i < 3; i++)
    if (gen_one_in (gen, 2))
      dims[i] = 1;
  if (gen_one_in (gen, 5) && dtype != IR_DTYPE_BOOL) /* relative positions */
    return part_input (gen, "x", dtype, rank, dims + skip);
  g_autoptr (IrTensor) tensor = mask_contents (gen, dtype, rank, dims + skip, gen_one_in (gen, 2));
  return gen_tensor (gen, tensor);
}

/* batch, length, channels -> batch, heads, length, size */
static IrValue *
into_heads (Gen *gen, IrValue *x, gint64 heads, gint64 size)
{
  gint64 dims[] = { 0, 0, heads, size };
  IrValue *y = part_linear (gen, x, heads * size);

  if (gen_one_in (gen, 3))
    dims[1] = -1;
  y = part_reshape (gen, y, 4, dims);
  return part_rank (gen, y) == 4 ? part_transpose (gen, y, (gint64[]){ 0, 2, 1, 3 }) : y;
}

static IrValue *
from_heads (Gen *gen, IrValue *x)
{
  if (part_rank (gen, x) != 4)
    return x;
  gint64 width = part_dim (gen, x, 1) * part_dim (gen, x, 3);
  IrValue *y = part_transpose (gen, x, (gint64[]){ 0, 2, 1, 3 });
  y = part_reshape (gen, y, 3, (gint64[]){ 0, 0, gen_one_in (gen, 2) ? -1 : width });
  return part_linear (gen, y, width);
}

/* Scores, scaled before or behind the product, masked by a sum or by Where. */
static IrValue *
scores (Gen *gen, IrValue *q, IrValue *k, const Heads *heads)
{
  IrDtype dtype = part_dtype (gen, q);
  double root = sqrt ((double) heads->size);
  guint scale = gen_below (gen, 4), mask = gen_below (gen, 4);
  IrValue *y;

  if (scale == 0)
    q = gen_one (gen, "Mul", q, part_number (gen, dtype, 1 / root), NULL);
  y = gen_one (gen, "MatMul", q, part_transpose (gen, k, (gint64[]){ 0, 1, 3, 2 }), NULL);
  if (scale == 1)
    y = gen_one (gen, "Div", y, part_number (gen, dtype, root), NULL);
  if (scale == 2)
    y = gen_one (gen, "Mul", y, part_number (gen, dtype, 1 / root), NULL);
  if (mask == 0)
    y = gen_one (gen, "Add", y, random_mask (gen, heads, dtype), NULL);
  if (mask == 1)
    {
      IrValue *c = random_mask (gen, heads, IR_DTYPE_BOOL), *low = part_number (gen, dtype, -1e4);
      y = gen_one_in (gen, 2)
              ? PART_OR (PART (gen, "Where", NULL, c, y, low), y)
              : PART_OR (PART (gen, "Where", NULL, gen_one (gen, "Not", c, NULL, NULL), low, y), y);
    }
  return y;
}

static void
spelled_attention (Gen *gen, IrValue *x, IrValue *memory, const Heads *heads)
{
  IrValue *q = into_heads (gen, x, heads->heads, heads->size);
  IrValue *k = into_heads (gen, memory, heads->heads, heads->size);
  IrValue *v = into_heads (gen, memory, heads->heads, heads->value_size);

  if (part_rank (gen, q) != 4 || part_rank (gen, k) != 4 || part_rank (gen, v) != 4)
    return;
  IrValue *y = scores (gen, q, k, heads);
  y = PART_OR (PART (gen, "Softmax", ATTRS (INT ("axis", gen_one_in (gen, 3) ? 3 : -1)), y), y);
  y = from_heads (gen, gen_one (gen, "MatMul", y, v, NULL));
  if (gen_one_in (gen, 2) && part_dim (gen, y, -1) == part_dim (gen, x, -1))
    y = gen_one (gen, "Add", x, y, NULL);
  if (gen_one_in (gen, 2))
    part_normalization (gen, y);
}

void
graph_attention (Gen *gen)
{
  Heads heads;

  choose_heads (gen, &heads);
  gint64 width = heads.heads * heads.size, dims[] = { heads.batch, heads.queries, width };
  IrValue *x = part_input (gen, "x", IR_DTYPE_FLOAT, 3, dims), *memory = x;

  if (heads.keys != heads.queries)
    {
      dims[1] = heads.keys;
      memory = part_input (gen, "x", IR_DTYPE_FLOAT, 3, dims);
    }
  if (gen_one_in (gen, 2))
    x = part_keeping (gen, x);
  if (heads.keys == heads.queries && gen_one_in (gen, 2))
    memory = x;
  spelled_attention (gen, x, memory, &heads);
  if (gen_one_in (gen, 2))
    {
      IrValue *y = part_pick (gen, IR_DTYPE_FLOAT, 3);
      y = part_activation (gen, part_linear (gen, y, 1 + gen_below (gen, 24)));
      part_linear (gen, y, width);
    }
}

/* Rotated positions, as decoders have them. */
static IrValue *
rotate (Gen *gen, IrValue *x, const Heads *heads, gint64 length)
{
  gint64 dims[] = { length, heads->size / 2 };
  IrDtype dtype = part_dtype (gen, x);

  if (heads->size % 2 != 0 || gen->free > 0)
    return x;
  dims[0] *= heads->batch;
  IrValue *c = part_weight (gen, dtype, 2, dims, 1), *s = part_weight (gen, dtype, 2, dims, 1);
  gint64 shape[] = { heads->batch, length, heads->size / 2 };
  return PART_OR (PART (gen, "RotaryEmbedding", ATTRS (INT ("interleaved", gen_one_in (gen, 2))), x,
                        part_reshape (gen, c, 3, shape), part_reshape (gen, s, 3, shape)),
                  x);
}

/* The operator Attention, with four axes or three, and with a past now and then. */
void
graph_attention_op (Gen *gen)
{
  Heads h;
  IrDtype dtype = gen_one_in (gen, 5) ? IR_DTYPE_FLOAT16 : IR_DTYPE_FLOAT;
  gboolean flat = gen_one_in (gen, 3), past;

  ir_edit_set_opset (gen->edit, "", 23 + gen_below (gen, 2));
  choose_heads (gen, &h);
  past = gen_one_in (gen, 3);
  gint64 n_past = past ? 1 + gen_below (gen, 4) : 0;
  gint64 q[] = { h.batch, h.heads, h.queries, h.size },
         k[] = { h.batch, h.kv_heads, h.keys, h.size },
         v[] = { h.batch, h.kv_heads, h.keys, h.value_size };
  gint64 flat_q[] = { h.batch, h.queries, h.heads * h.size },
         flat_k[] = { h.batch, h.keys, h.kv_heads * h.size },
         flat_v[] = { h.batch, h.keys, h.kv_heads * h.value_size };
  IrValue *in[6] = { part_input (gen, "x", dtype, flat ? 3 : 4, flat ? flat_q : q),
                     part_input (gen, "x", dtype, flat ? 3 : 4, flat ? flat_k : k),
                     part_input (gen, "x", dtype, flat ? 3 : 4, flat ? flat_v : v) };

  if (!flat && gen_one_in (gen, 2))
    {
      in[0] = rotate (gen, in[0], &h, h.queries);
      in[1] = rotate (gen, in[1], &h, h.keys);
    }
  if (past)
    {
      k[2] = v[2] = n_past;
      in[4] = part_input (gen, "x", dtype, 4, k);
      in[5] = part_input (gen, "x", dtype, 4, v);
    }
  h.keys += n_past;
  gboolean causal = gen_one_in (gen, 3);
  if (gen_one_in (gen, 2))
    in[3] = random_mask (gen, &h, gen_one_in (gen, 2) ? IR_DTYPE_BOOL : dtype);
  if (in[3] != NULL && part_rank (gen, in[3]) < 2)
    in[3] = NULL;
  IrNode *node = gen_emit (gen, "Attention", "",
                           past            ? 6
                           : in[3] != NULL ? 4
                                           : 3,
                           in, past ? 3 : 1,
                           ATTRS (INT ("is_causal", causal),
                                  flat ? INT ("q_num_heads", h.heads) : INT ("is_causal", causal),
                                  flat ? INT ("kv_num_heads", h.kv_heads) : NULL, NULL));
  if (node != NULL && gen_one_in (gen, 2))
    part_keeping (gen, node->outputs[0]);
}

/* -- recurrent layers -- */

static IrValue *
recurrent_layer (Gen *gen, IrValue *x)
{
  static const struct
  {
    const char *op;
    gint64 gates;
  } ops[] = { { "LSTM", 4 }, { "GRU", 3 }, { "RNN", 1 } };
  static const char *const directions[] = { "forward", "reverse", "bidirectional" };
  guint op = gen_below (gen, 3), way = gen_below (gen, 3);
  gint64 steps = part_dim (gen, x, 0), batch = part_dim (gen, x, 1), size = part_dim (gen, x, 2);
  gint64 hidden = part_size (gen, 20), ways = way == 2 ? 2 : 1;
  gint64 w[] = { ways, ops[op].gates * hidden, size },
         r[] = { ways, ops[op].gates * hidden, hidden }, b[] = { ways, 2 * ops[op].gates * hidden },
         h[] = { ways, batch, hidden }, p[] = { ways, 3 * hidden };
  IrDtype dtype = part_dtype (gen, x);
  double scale = 1 / sqrt ((double) MAX (hidden, 1));
  g_autofree char *length = g_strdup_printf ("l%" G_GINT64_FORMAT "_", MAX (steps, 1));
  IrValue *in[8] = { x, part_weight (gen, dtype, 3, w, scale),
                     part_weight (gen, dtype, 3, r, scale) };

  if (gen_one_in (gen, 2))
    in[3] = part_weight (gen, dtype, 2, b, 0.5);
  if (gen_one_in (gen, 4) && steps > 0)
    in[4] = part_input (gen, length, IR_DTYPE_INT32, 1, &batch);
  if (gen_one_in (gen, 3))
    in[5] = gen->free > 0 || gen_one_in (gen, 2) ? part_input (gen, "x", dtype, 3, h)
                                                 : part_weight (gen, dtype, 3, h, 1);
  if (op == 0 && gen_one_in (gen, 3))
    in[6] = part_weight (gen, dtype, 3, h, 1);
  if (op == 0 && gen_one_in (gen, 5))
    in[7] = part_weight (gen, dtype, 2, p, 0.5);
  IrNode *node = gen_emit (
      gen, ops[op].op, "", op == 0 ? 8 : 6, in, 1 + gen_below (gen, op == 0 ? 3 : 2),
      ATTRS (INT ("hidden_size", hidden), STRING ("direction", directions[way]),
             op == 1 ? INT ("linear_before_reset", gen_one_in (gen, 2)) : NULL));
  if (node == NULL)
    return x;
  /* steps, ways, batch, hidden -> steps, batch, ways * hidden */
  IrValue *y = part_transpose (gen, node->outputs[0], (gint64[]){ 0, 2, 1, 3 });
  return part_reshape (gen, y, 3, (gint64[]){ 0, 0, -1 });
}

void
graph_recurrent (Gen *gen)
{
  gint64 dims[] = { part_size (gen, 7), part_size (gen, 4), part_size (gen, 12) };
  IrValue *x = part_input (gen, "x", IR_DTYPE_FLOAT, 3, dims);

  for (guint i = 1 + gen_below (gen, 2); i > 0; i--)
    {
      x = recurrent_layer (gen, x);
      if (gen_one_in (gen, 3))
        x = part_keeping (gen, x);
    }
  if (gen_one_in (gen, 2))
    x = part_linear (gen, x, 1 + gen_below (gen, 8));
  if (gen_one_in (gen, 3))
    PART (gen, "LogSoftmax", ATTRS (INT ("axis", -1)), x);
}

/* -- normalizations -- */

static IrValue *
random_norm (Gen *gen, IrValue *x)
{
  guint rank = part_rank (gen, x), way = gen_below (gen, 7);
  gint64 axis = rank > 0 ? gen_below (gen, rank) : 0, c = rank > 1 ? part_dim (gen, x, 1) : 1;
  IrDtype dtype = part_dtype (gen, x);

  if (rank < 2 || way < 3)
    return part_normalization (gen, x);
  if (way == 3)
    return PART_OR (
        PART (gen, gen_one_in (gen, 3) ? "LogSoftmax" : "Softmax", ATTRS (INT ("axis", axis)), x),
        x);
  if (way == 4)
    return PART_OR (PART (gen, "LpNormalization",
                          ATTRS (INT ("axis", axis), INT ("p", 1 + gen_below (gen, 2))), x),
                    x);
  if (way == 5)
    return PART_OR (PART (gen, "BatchNormalization", NULL, x, part_positive (gen, dtype, 1, &c),
                          part_weight (gen, dtype, 1, &c, 0.5),
                          part_weight (gen, dtype, 1, &c, 0.5), part_positive (gen, dtype, 1, &c)),
                    x);
  return PART_OR (PART (gen, "InstanceNormalization", ATTRS (FLOAT ("epsilon", 0.01)), x,
                        part_positive (gen, dtype, 1, &c), part_weight (gen, dtype, 1, &c, 0.5)),
                  x);
}

void
graph_norms (Gen *gen)
{
  guint rank = 2 + gen_below (gen, 3);
  gint64 dims[4];

  for (guint i = 0; i < rank; i++)
    dims[i] = part_size (gen, i + 1 == rank ? 40 : 6);
  IrValue *x = part_input (gen, "x", IR_DTYPE_FLOAT, rank, dims);
  for (guint i = 1 + gen_below (gen, 4); i > 0; i--)
    {
      IrValue *y = gen_one_in (gen, 3) ? part_keeping (gen, x) : x;
      if (gen_one_in (gen, 3))
        y = gen_one (gen, "Add", y, x, NULL);
      x = random_norm (gen, y);
    }
}

/* -- products -- */

static void
multiply (Gen *gen, IrDtype dtype)
{
  IrValue *x = part_pick (gen, dtype, -1);
  guint rank = x != NULL ? part_rank (gen, x) : 0;

  if (rank < 2)
    return;
  if (gen_one_in (gen, 4))
    {
      gint64 order[IR_MAX_RANK];
      for (guint i = 0; i < rank; i++)
        order[i] = i;
      order[rank - 1] = rank - 2;
      order[rank - 2] = rank - 1;
      IrValue *turned = part_transpose (gen, x, order);
      x = gen_one_in (gen, 2) ? gen_one (gen, "MatMul", x, turned, NULL) : turned;
    }
  part_linear (gen, x, part_size (gen, 24));
}

static void
products_of (Gen *gen, IrDtype dtype)
{
  static const char *const reductions[] = { "ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2" };
  guint rank = 2 + gen_below (gen, 2);
  gint64 dims[3] = { part_size (gen, 5), part_size (gen, 12), part_size (gen, 24) };
  IrValue *x = part_input (gen, "x", dtype, rank, dims);

  for (guint i = 2 + gen_below (gen, 6); i > 0; i--)
    {
      guint way = gen_below (gen, 8);
      IrValue *y = part_pick (gen, dtype, -1);
      y = y != NULL ? y : x;
      if (way < 3)
        multiply (gen, dtype);
      else if (way < 6)
        part_keeping (gen, y);
      else if (way == 6 && part_rank (gen, y) > 0)
        part_reduce (gen, CHOOSE (gen, reductions), y, gen_below (gen, part_rank (gen, y)),
                     gen_one_in (gen, 2));
      else
        PART (gen, "Concat", ATTRS (INT ("axis", -1)), y,
              part_or (part_beside (gen, y, (int) part_rank (gen, y) - 1), y));
    }
}

void
graph_products (Gen *gen)
{
  products_of (gen, IR_DTYPE_FLOAT);
}

/* -- other floats -- */

static void
floats_of (Gen *gen, IrDtype dtype)
{
  if (gen_one_in (gen, 2))
    graph_conv (gen, 1 + gen_below (gen, 2), dtype);
  else
    products_of (gen, dtype);
  IrValue *x = part_pick (gen, dtype, -1);
  if (x != NULL && gen_one_in (gen, 2))
    {
      x = PART_OR (PART (gen, "Cast", ATTRS (INT ("to", IR_DTYPE_FLOAT)), x), x);
      part_keeping (gen, x);
    }
}

void
graph_float16 (Gen *gen)
{
  floats_of (gen, IR_DTYPE_FLOAT16);
}

void
graph_bfloat16 (Gen *gen)
{
  floats_of (gen, IR_DTYPE_BFLOAT16);
}

void
graph_double (Gen *gen)
{
  floats_of (gen, IR_DTYPE_DOUBLE);
}
