/* Operators that fusions of transformers make: compositions of the kernels of standard ones. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref.h"

#include <string.h>

/* X + Skip, rounded to the element type as between two nodes. */
static IrTensor *
sum_of_inputs (IrCall *call, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0), *skip = ir_call_input (call, 1);
  guint64 n = ir_tensor_n_elements (x);
  g_autofree double *a = ir_block_load_new (call, 0, error);
  g_autofree double *b = a != NULL ? ir_block_load_new (call, 1, error) : NULL;
  IrTensor *sum = b != NULL ? ir_tensor_new_alloc (ir_tensor_dtype (x), ir_tensor_rank (x),
                                                   ir_tensor_dims (x), error)
                            : NULL;

  if (sum == NULL || ir_tensor_n_elements (skip) != n)
    return sum;
  for (guint64 i = 0; i < n; i++)
    a[i] += b[i];
  ir_block_store (sum, 0, n, a);
  return sum;
}

static gboolean
normalize_sum (IrCall *call, IrTensor *sum, GError **error)
{
  IrCallInput inputs[] = { call->inputs[0], call->inputs[2], call->inputs[3] };
  IrCall inner = *call;

  inputs[0].tensor = sum;
  inner.inputs = inputs;
  inner.n_inputs = G_N_ELEMENTS (inputs);
  inner.n_outputs = 1;
  return ir_ref_layer_norm (&inner, error);
}

/* X, Skip of one shape; Scale and B broadcast to the last axis. LayerNormalization over the last
 * axis of X + Skip. Source: irscope SkipLayerNormalization 1. */
gboolean
ir_ref_skip_layer_norm (IrCall *call, GError **error)
{
  if (!ir_block_check_float (call, error) || !ir_infer_skip_layer_norm (call, error))
    return FALSE;
  g_autoptr (IrTensor) sum = sum_of_inputs (call, error);

  return sum != NULL && normalize_sum (call, sum, error);
}

/* X, Skip of one shape; Scale and B broadcast to the last axis. LayerNormalization over the last
 * axis of X + Skip, and the sum. Source: irscope AddLayerNormalization 1. */
gboolean
ir_ref_add_layer_norm (IrCall *call, GError **error)
{
  if (!ir_block_check_float (call, error) || !ir_infer_skip_layer_norm (call, error))
    return FALSE;
  g_autoptr (IrTensor) sum = sum_of_inputs (call, error);

  if (sum == NULL || !normalize_sum (call, sum, error))
    return FALSE;
  if (!ir_call_has_output (call, 1))
    return TRUE;
  IrTensor *out = ir_block_new_output (call, 1, error);
  if (out != NULL)
    memcpy (ir_tensor_data_writable (out), ir_tensor_data (sum),
                  ir_tensor_n_bytes (sum));
  return out != NULL;
}

/* -- rows with broadcasting -- */

/* The axes but the last of what is computed, with the distance of their elements in a tensor. */
typedef struct
{
  guint rank; /* without the last axis */
  guint64 dims[IR_MAX_RANK];
} Rows;

static guint64
rows_count (const Rows *rows)
{
  guint64 n = 1;

  for (guint i = 0; i < rows->rank; i++)
    n *= rows->dims[i];
  return n;
}

/* Place of row @row in a tensor of dims @dims, whose axes line up with the last ones of @rows and
 * repeat where they are 1. */
static guint64
broadcast_row (const Rows *rows, guint64 row, guint rank, const gint64 *dims)
{
  guint64 at = 0, step = 1;

  for (guint i = 0; i < rows->rank; i++)
    {
      guint axis = rows->rank - 1 - i;
      guint64 place = row % rows->dims[axis];

      row /= rows->dims[axis];
      if (i >= rank)
        break;
      guint64 size = (guint64) dims[rank - 1 - i];
      at += size == 1 ? 0 : place * step;
      step *= size;
    }
  return at;
}

/* -- rotary embedding by halves, and by pairs -- */

/* The heads of X: rows in the order of X's memory if its axes are apart; else [batch, positions,
 * heads], while cosines and sines line up with [batch, heads, positions]. */
typedef struct
{
  Rows rows;
  guint64 size, heads; /* heads 0: no axis to swap */
} Heads;

static Heads
rotated_heads (const IrCall *call)
{
  const IrTensor *x = ir_call_input (call, 0);
  const gint64 *dims = ir_tensor_dims (x);
  Heads heads = { .rows.rank = ir_tensor_rank (x) - 1 };

  heads.heads = (guint64) ir_call_int (call, "num_heads", 0);
  for (guint i = 0; i < heads.rows.rank; i++)
    heads.rows.dims[i] = (guint64) dims[i];
  heads.size = (guint64) dims[heads.rows.rank];
  if (heads.heads == 0)
    return heads;
  heads.size /= heads.heads;
  heads.rows.rank = 3;
  heads.rows.dims[1] = heads.heads;
  heads.rows.dims[2] = (guint64) dims[1];
  return heads;
}

/* Where row @row of [batch, heads, positions] lies in X. */
static guint64
start_of_row (const Heads *heads, guint64 row)
{
  guint64 length = heads->rows.dims[2], batch, head;

  if (heads->heads == 0)
    return row * heads->size;
  batch = row / (heads->heads * length);
  head = row / length % heads->heads;
  return ((batch * length + row % length) * heads->heads + head) * heads->size;
}

/* What element @i of @n is turned against: by halves, or by pairs of neighbours. */
static double
turned (const double *x, guint64 n, guint64 i, gboolean pairs)
{
  guint64 half = n / 2, first = n - half;

  if (pairs)
    return i % 2 == 0 ? -x[i + 1] : x[i - 1];
  return i < first ? -x[half + i] : x[i - first];
}

/* Each product and the sum are elements of X's type, as in the function body. */
static void
rotate_row (IrDtype dtype,
            guint64 n,
            gboolean pairs,
            const double *x,
            const double *cos,
            const double *sin,
            double *y)
{
  for (guint64 i = 0; i < n; i++)
    y[i] = ir_block_round (dtype, x[i] * cos[i]) +
           ir_block_round (dtype, turned (x, n, i, pairs) * sin[i]);
}

static gboolean
rotate_rows (IrCall *call, gboolean pairs, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0), *cos = ir_call_input (call, 1),
                 *sin = ir_call_input (call, 2);

  Heads heads = rotated_heads (call);
  guint64 n = heads.size;
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *row = y != NULL ? ir_block_new (call, 4 * MIN (n, G_MAXUINT64 / 8), error)
                                     : NULL;
  if (row == NULL)
    return FALSE;
  for (guint64 i = 0; n > 0 && i < rows_count (&heads.rows); i++)
    {
      guint64 at = start_of_row (&heads, i);

      ir_block_load_many (call, x, at, n, row);
      ir_block_load_many (
          call, cos,
          n * broadcast_row (&heads.rows, i, ir_tensor_rank (cos) - 1, ir_tensor_dims (cos)), n,
          row + n);
      ir_block_load_many (
          call, sin,
          n * broadcast_row (&heads.rows, i, ir_tensor_rank (sin) - 1, ir_tensor_dims (sin)), n,
          row + 2 * n);
      rotate_row (ir_tensor_dtype (x), n, pairs, row, row + n, row + 2 * n, row + 3 * n);
      ir_block_store (y, at, n, row + 3 * n);
    }
  return TRUE;
}

/* X; cosines and sines that broadcast to it. Source: irscope RotaryEmbedding 1,
 * MultiHeadRotaryEmbedding 1. */
gboolean
ir_ref_half_rotary (IrCall *call, GError **error)
{
  return ir_block_check_float (call, error) && ir_infer_half_rotary (call, error) &&
         rotate_rows (call, FALSE, error);
}

/* X; cosines and sines that broadcast to it. Source: irscope PairRotaryEmbedding 1. */
gboolean
ir_ref_pair_rotary (IrCall *call, GError **error)
{
  return ir_block_check_float (call, error) && ir_infer_pair_rotary (call, error) &&
         rotate_rows (call, TRUE, error);
}

/* -- embeddings -- */

/* The rows of a table that ids name, in the shape that all ids broadcast to. */
static gboolean
add_rows (IrCall *call,
          guint slot,
          const Rows *rows,
          guint64 width,
          double *sum,
          double *row,
          GError **error)
{
  const IrTensor *table = ir_call_input (call, slot), *ids = ir_call_input (call, slot + 1);
  IrDtype dtype = ir_tensor_dtype (table);
  gint64 n = ir_tensor_dims (table)[0];

  for (guint64 i = 0; i < rows_count (rows); i++)
    {
      gint64 id = ir_tensor_get_int64 (
          ids, broadcast_row (rows, i, ir_tensor_rank (ids), ir_tensor_dims (ids)));

      if (id < -n || id >= n)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "id %" G_GINT64_FORMAT " is not one of the %" G_GINT64_FORMAT
                             " rows of input %u",
                             id, n, slot);
      ir_block_load_many (call, table, (guint64) (id < 0 ? id + n : id) * width, width, row);
      for (guint64 k = 0; k < width; k++)
        sum[i * width + k] = ir_block_round (dtype, sum[i * width + k] + row[k]);
    }
  return TRUE;
}

/* The three rows added up, rounded as between nodes, as a tensor of the output's shape. */
static IrTensor *
sum_of_embeddings (IrCall *call, GError **error)
{
  const IrType *type = call->outputs[0].type;
  Rows rows = { .rank = (guint) type->rank - 1 };
  guint64 width = (guint64) type->dims[rows.rank], n;

  for (guint i = 0; i < rows.rank; i++)
    rows.dims[i] = (guint64) type->dims[i];
  g_autoptr (IrTensor)
      sum = ir_tensor_new_alloc (type->dtype, (guint) type->rank, type->dims, error);
  if (sum == NULL)
    return NULL;
  n = ir_tensor_n_elements (sum);
  g_autofree double *sums = ir_block_new (call, n, error);
  g_autofree double *row = sums != NULL ? ir_block_new (call, width, error) : NULL;
  if (row == NULL)
    return NULL;
  ir_block_fill (sums, n, -0.0);
  for (guint slot = 0; slot < 6; slot += 2)
    if (!add_rows (call, slot, &rows, width, sums, row, error))
      return NULL;
  ir_block_store (sum, 0, n, sums);
  return g_steal_pointer (&sum);
}

/* Three times a table and ids; Scale and B. Fails with %IR_OP_ERROR_VALUE where an id has no row
 * in its table. Source: irscope EmbedLayerNormalization 1. */
gboolean
ir_ref_embed_layer_norm (IrCall *call, GError **error)
{
  if (!ir_infer_embed_layer_norm (call, error))
    return FALSE;
  if (!ir_type_is_static (call->outputs[0].type))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the shapes of tables and ids do not fit");
  g_autoptr (IrTensor) sum = sum_of_embeddings (call, error);
  IrCallInput inputs[] = { { .present = TRUE, .tensor = sum }, call->inputs[6], call->inputs[7] };
  IrCall inner = *call;

  if (sum == NULL)
    return FALSE;
  inputs[0].type = call->outputs[0].type;
  inner.inputs = inputs;
  inner.n_inputs = G_N_ELEMENTS (inputs);
  return ir_ref_layer_norm (&inner, error);
}
