/* Inference and cost of those operators of transformer.def that no operator of the standard has in
 * that form. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

/* -- attention of packed queries, keys and values -- */

typedef struct
{
  IrDim batch, length, size;
  gint64 heads;
} Packed;

static gboolean
packed_of (const IrCall *call, Packed *packed, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  gint64 heads = ir_call_int (call, "num_heads", 0);

  *packed = (Packed){ IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, heads };
  if (heads < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "num_heads is %" G_GINT64_FORMAT ", needed is at least 1", heads);
  if (ir_call_float (call, "scale", 1) < 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "scale is negative");
  if (rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != 3)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "QKV has rank %d, needed is 3", rank);
  packed->batch = dims[0];
  packed->length = dims[1];
  if (!ir_dim_is_known (dims[2]))
    return TRUE;
  if (heads > G_MAXINT64 / 3 || dims[2] % (3 * heads) != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "the last axis of QKV has size %" G_GINT64_FORMAT
                         ", which does not hold three times %" G_GINT64_FORMAT " heads",
                         dims[2], heads);
  packed->size = dims[2] / (3 * heads);
  return TRUE;
}

/* Whether input @slot, where it is given, broadcasts to @rank dims without making them bigger. */
static gboolean
check_broadcasts (const IrCall *call, guint slot, int rank, const IrDim *dims, GError **error)
{
  int own = ir_call_input_rank (call, slot);
  const IrDim *from = ir_call_input_dims (call, slot);
  g_autofree char *name = ir_op_input_name (call->op, slot);

  if (!ir_call_has_input (call, slot) || own == IR_RANK_UNKNOWN)
    return TRUE;
  if (own < 1 || own > rank)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%s has rank %d, needed is 1 to %d", name,
                         own, rank);
  for (int i = 0; i < own; i++)
    {
      IrDim to = dims[rank - own + i];

      if (ir_dim_is_known (from[i]) && ir_dim_is_known (to) && from[i] != 1 && from[i] != to)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "axis %d of %s has size %" G_GINT64_FORMAT
                             ", which does not broadcast to %" G_GINT64_FORMAT,
                             i, name, from[i], to);
    }
  return TRUE;
}

/* QKV [batch, positions, 3 * heads * size]; a mask or none. Sets the output to [batch,
 * positions, heads * size]. Source: irscope PackedAttention 1. */
gboolean
ir_infer_packed_attention (IrCall *call, GError **error)
{
  Packed packed;

  if (!packed_of (call, &packed, error))
    return FALSE;
  IrDim scores[] = { packed.batch, packed.heads, packed.length, packed.length };
  if (!check_broadcasts (call, 1, 4, scores, error))
    return FALSE;
  IrDim last = ir_dims_product (call->context, (IrDim[]){ packed.heads, packed.size }, 0, 2);
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), 3,
                                  (IrDim[]){ packed.batch, packed.length, last });
  return TRUE;
}

/* Two products of [positions, positions], a multiply and an add each, and the softmax between. */
guint64
ir_cost_packed_attention (const IrCall *call)
{
  Packed packed;

  if (!packed_of (call, &packed, NULL))
    return 0;
  IrDim scores[] = { packed.batch, packed.heads, packed.length, packed.length };
  guint64 n = ir_type_count (ir_type_tensor (call->context, IR_DTYPE_FLOAT, 4, scores));
  guint64 size = ir_dim_is_known (packed.size) ? (guint64) packed.size : 1;
  return ir_mul_saturated (n, 4 * MIN (size, G_MAXUINT64 / 8) + 5);
}

/* -- rotary embedding by halves -- */

/* The dims that cosines and sines broadcast to: X's, or those of its heads apart. */
static gboolean
rotated_dims (const IrCall *call, int *rank, IrDim *dims, GError **error)
{
  const IrDim *x = ir_call_input_dims (call, 0);
  gint64 heads = ir_call_int (call, "num_heads", 0);

  *rank = ir_call_input_rank (call, 0);
  if (*rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (ir_op_attr (call->op, "num_heads") == NULL)
    {
      for (int i = 0; i < *rank; i++)
        dims[i] = x[i];
      return *rank >= 1 ||
             ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X is a scalar, which has no halves");
    }
  if (*rank != 3 || heads < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "X has rank %d and %" G_GINT64_FORMAT " heads, needed are 3 and some",
                         *rank, heads);
  if (ir_dim_is_known (x[2]) && x[2] % heads != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "the last axis of X has size %" G_GINT64_FORMAT
                         ", which is not a multiple of its %" G_GINT64_FORMAT " heads",
                         x[2], heads);
  *rank = 4;
  dims[0] = x[0];
  dims[1] = heads;
  dims[2] = x[1];
  dims[3] = ir_dim_is_known (x[2]) ? x[2] / heads : IR_DIM_UNKNOWN;
  return TRUE;
}

/* X; cosines and sines, which broadcast to it and have its last axis in full. Sets the output to
 * X's type. Source: irscope RotaryEmbedding 1, MultiHeadRotaryEmbedding 1. */
gboolean
ir_infer_half_rotary (IrCall *call, GError **error)
{
  IrDim dims[IR_MAX_RANK];
  int rank;

  if (!rotated_dims (call, &rank, dims, error))
    return FALSE;
  for (guint slot = 1; slot < 3 && rank != IR_RANK_UNKNOWN; slot++)
    {
      int own = ir_call_input_rank (call, slot);

      if (!check_broadcasts (call, slot, rank, dims, error))
        return FALSE;
      if (own > 0 && ir_call_input_dims (call, slot)[own - 1] == 1 &&
          ir_dim_is_known (dims[rank - 1]) && dims[rank - 1] != 1)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "input %u has one angle for all pairs, needed is one for each", slot);
    }
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* X; cosines and sines, which broadcast to it and have its last axis in full. Sets the output to
 * X's type. Fails with %IR_OP_ERROR_SHAPE if the last axis has no pairs. Source: irscope
 * PairRotaryEmbedding 1. */
gboolean
ir_infer_pair_rotary (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  IrDim size = rank > 0 ? ir_call_input_dims (call, 0)[rank - 1] : IR_DIM_UNKNOWN;

  if (ir_dim_is_known (size) && size % 2 != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "the last axis of X has %" G_GINT64_FORMAT " elements, which are no pairs",
                         size);
  return ir_infer_half_rotary (call, error);
}

/* -- embeddings -- */

/* Rows of the table in input @slot, as many as the ids behind it, broadcast with those of @dims. */
static gboolean
join_rows (const IrCall *call, guint slot, int *rank, IrDim *dims, IrDim *width, GError **error)
{
  int table = ir_call_input_rank (call, slot), own = ir_call_input_rank (call, slot + 1);
  const IrDim *ids = ir_call_input_dims (call, slot + 1);
  IrDim joined[IR_MAX_RANK];

  if (!ir_call_check_integers (call, slot + 1, 1, error))
    return FALSE;
  if (table != IR_RANK_UNKNOWN && table != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u has rank %d, needed is 2", slot,
                         table);
  if (table == 2 && !ir_call_same_dim (call, *width, ir_call_input_dims (call, slot)[1],
                                       "the last axis of the tables", width, error))
    return FALSE;
  if (own == IR_RANK_UNKNOWN || *rank == IR_RANK_UNKNOWN)
    {
      *rank = IR_RANK_UNKNOWN;
      return TRUE;
    }
  int all = MAX (own, *rank);
  for (int i = 0; i < all; i++)
    {
      IrDim a = i < all - *rank ? 1 : dims[i - (all - *rank)];
      IrDim b = i < all - own ? 1 : ids[i - (all - own)];

      if (!ir_call_broadcast_dim (call, a, b, &joined[i], error))
        return FALSE;
    }
  for (int i = 0; i < all; i++)
    dims[i] = joined[i];
  *rank = all;
  return TRUE;
}

/* Three times a table [rows, width] and ids; Scale and B [width]. Sets the output to the ids'
 * shapes, broadcast, and the width behind them. Source: irscope EmbedLayerNormalization 1. */
gboolean
ir_infer_embed_layer_norm (IrCall *call, GError **error)
{
  IrDim dims[IR_MAX_RANK + 1], width = IR_DIM_UNKNOWN;
  int rank = 0;

  for (guint slot = 0; slot < 6; slot += 2)
    if (!join_rows (call, slot, &rank, dims, &width, error))
      return FALSE;
  if (rank >= IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the ids have too many axes");
  if (rank != IR_RANK_UNKNOWN)
    dims[rank++] = width;
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, dims);
  return TRUE;
}
