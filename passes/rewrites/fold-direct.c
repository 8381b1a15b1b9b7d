/* What folding computes without a kernel, because weights are big:
 *
 *     Identity, Reshape, Flatten, Squeeze, Unsqueeze     the same bytes under another shape
 *     Transpose                                          in blocks that stay in the cache
 *     ConstantOfShape                                    slices of one block of equal elements
 *
 * All of it is exact by nature: elements are moved bit by bit. What does not fit here (strings,
 * packed types, shapes that inference does not know) is left to the reference kernels. */
#include "config.h"

#include "passes/rewrites/fold-direct.h"

#include "core/io/mapped-file.h"

#include <string.h>

#define BLOCK 16 /* rows and columns that are turned at a time */

/* -- equal elements -- */

typedef struct
{
  IrDtype dtype;
  guint8 element[8];
  GBytes *bytes; /* the most that were asked for */
} Splat;

struct _IrFoldSplats
{
  GArray *splats; /* of Splat */
};

static void
splat_clear (gpointer data)
{
  g_clear_pointer (&((Splat *) data)->bytes, g_bytes_unref);
}

IrFoldSplats *
ir_fold_splats_new (void)
{
  IrFoldSplats *splats = g_new (IrFoldSplats, 1);

  splats->splats = g_array_new (FALSE, TRUE, sizeof (Splat));
  g_array_set_clear_func (splats->splats, splat_clear);
  return splats;
}

/* @splats: blocks; tensors that share them keep them */
void
ir_fold_splats_free (IrFoldSplats *splats)
{
  g_array_unref (splats->splats);
  g_free (splats);
}

/* Bytes of an element; 0 if it has no whole number of them, or is a string. */
static gsize
element_bytes (IrDtype dtype)
{
  gsize one, two;

  if (dtype == IR_DTYPE_STRING || !ir_dtype_storage_bytes (dtype, 1, &one) ||
      !ir_dtype_storage_bytes (dtype, 2, &two))
    return 0;
  return two == 2 * one && one <= 8 ? one : 0;
}

static GBytes *
repeat (const guint8 *element, gsize size, gsize n_bytes)
{
  guint8 *data = g_try_malloc (n_bytes);
  gsize done = MIN (size, n_bytes);

  if (data == NULL)
    return NULL;
  memcpy (data, element, done);
  while (done < n_bytes)
    {
      gsize more = MIN (MIN (done, (gsize) 1 << 16), n_bytes - done);
      memcpy (data + done, data, more);
      done += more;
    }
  return g_bytes_new_take (data, n_bytes);
}

static Splat *
find_splat (IrFoldSplats *splats, IrDtype dtype, const guint8 *element)
{
  Splat fresh = { .dtype = dtype };

  memcpy (fresh.element, element, sizeof fresh.element);
  for (guint i = 0; i < splats->splats->len; i++)
    {
      Splat *splat = &g_array_index (splats->splats, Splat, i);
      if (splat->dtype == dtype && memcmp (splat->element, element, sizeof fresh.element) == 0)
        return splat;
    }
  g_array_append_val (splats->splats, fresh);
  return &g_array_index (splats->splats, Splat, splats->splats->len - 1);
}

static IrTensor *
constant_of_shape (const IrNode *node, const IrType *type, IrFoldSplats *splats)
{
  const IrTensor *value = ir_node_attr_tensor (node, "value");
  gsize size = element_bytes (type->dtype), n_bytes;
  guint8 element[8] = { 0 };
  g_autoptr (GBytes) bytes = NULL;
  Splat *splat;

  if (size == 0 || !ir_type_n_bytes (type, &n_bytes) || n_bytes == 0 ||
      (value != NULL && (ir_tensor_n_elements (value) != 1 || ir_tensor_n_bytes (value) != size)))
    return NULL;
  if (value != NULL)
    memcpy (element, ir_tensor_data (value), size);
  splat = find_splat (splats, type->dtype, element);
  if (splat->bytes == NULL || g_bytes_get_size (splat->bytes) < n_bytes)
    {
      GBytes *more = repeat (element, size, n_bytes);

      if (more == NULL)
        return NULL;
      g_clear_pointer (&splat->bytes, g_bytes_unref);
      splat->bytes = more;
    }
  bytes = g_bytes_new_from_bytes (splat->bytes, 0, n_bytes);
  return ir_tensor_new (type->dtype, type->rank, type->dims, bytes);
}

/* -- Transpose -- */

typedef struct
{
  guint rank;
  gint64 dims[IR_MAX_RANK];    /* of the output */
  gint64 strides[IR_MAX_RANK]; /* of the input, in elements, along the axes of the output */
} Turn;

/* Axes of one element vanish, and axes that stay neighbours become one. */
static void
simplify (Turn *turn)
{
  guint n = 0;

  for (guint i = 0; i < turn->rank; i++)
    {
      if (turn->dims[i] == 1)
        continue;
      if (n > 0 && turn->strides[n - 1] == turn->dims[i] * turn->strides[i])
        {
          turn->dims[n - 1] *= turn->dims[i];
          turn->strides[n - 1] = turn->strides[i];
          continue;
        }
      turn->dims[n] = turn->dims[i];
      turn->strides[n++] = turn->strides[i];
    }
  turn->rank = n;
}

/* out[i * out_stride + j] = in[i + j * in_stride] for i < rows, j < columns. */
#define TURN_BLOCKS(TYPE)                                                                          \
  typedef TYPE Loose_##TYPE __attribute__ ((aligned (1))); /* as files have them */                \
  static void turn_##TYPE (const Loose_##TYPE *in, gint64 in_stride, TYPE *out, gint64 out_stride, \
                           gint64 rows, gint64 columns)                                            \
  {                                                                                                \
    for (gint64 i = 0; i < rows; i += BLOCK)                                                       \
      for (gint64 j = 0; j < columns; j += BLOCK)                                                  \
        for (gint64 a = i; a < MIN (i + BLOCK, rows); a++)                                         \
          for (gint64 b = j; b < MIN (j + BLOCK, columns); b++)                                    \
            out[a * out_stride + b] = in[a + b * in_stride];                                       \
  }
TURN_BLOCKS (guint8)
TURN_BLOCKS (guint16)
TURN_BLOCKS (guint32)
TURN_BLOCKS (guint64)

static void
turn_plane (gsize size,
            const guint8 *in,
            gint64 in_stride,
            guint8 *out,
            gint64 out_stride,
            gint64 rows,
            gint64 columns)
{
  if (size == 1)
    turn_guint8 (in, in_stride, out, out_stride, rows, columns);
  else if (size == 2)
    turn_guint16 ((const Loose_guint16 *) in, in_stride, (guint16 *) out, out_stride, rows,
                  columns);
  else if (size == 4)
    turn_guint32 ((const Loose_guint32 *) in, in_stride, (guint32 *) out, out_stride, rows,
                  columns);
  else
    turn_guint64 ((const Loose_guint64 *) in, in_stride, (guint64 *) out, out_stride, rows,
                  columns);
}

/* The axis of the output along which the input is contiguous. */
static guint
axis_of_rows (const Turn *turn)
{
  guint axis = 0;

  while (axis + 1 < turn->rank && turn->strides[axis] != 1)
    axis++;
  return axis;
}

/* All axes but the two that are turned run like the digits of a counter. */
static void
turn_all (const Turn *turn, gsize size, const guint8 *in, guint8 *out)
{
  gint64 out_strides[IR_MAX_RANK], digits[IR_MAX_RANK] = { 0 }, from = 0, to = 0;
  guint last = turn->rank - 1, rows = axis_of_rows (turn), axis;

  out_strides[last] = 1;
  for (guint i = last; i-- > 0;)
    out_strides[i] = out_strides[i + 1] * turn->dims[i + 1];
  do
    {
      if (rows == last)
        memcpy (out + to * size, in + from * size, turn->dims[last] * size);
      else
        turn_plane (size, in + from * size, turn->strides[last], out + to * size, out_strides[rows],
                    turn->dims[rows], turn->dims[last]);
      for (axis = turn->rank; axis-- > 0;)
        {
          if (axis == last || axis == rows)
            continue;
          from += turn->strides[axis];
          to += out_strides[axis];
          if (++digits[axis] < turn->dims[axis])
            break;
          from -= turn->dims[axis] * turn->strides[axis];
          to -= turn->dims[axis] * out_strides[axis];
          digits[axis] = 0;
        }
    }
  while (axis != G_MAXUINT);
}

static IrTensor *
transpose (const IrNode *node, const IrTensor *x)
{
  gsize size = element_bytes (ir_tensor_dtype (x));
  guint rank = ir_tensor_rank (x), n;
  const gint64 *perm = ir_node_attr_ints (node, "perm", &n), *in = ir_tensor_dims (x);
  gint64 strides[IR_MAX_RANK], dims[IR_MAX_RANK];
  Turn turn = { .rank = rank };
  guint64 seen = 0;
  IrTensor *out;

  if (size == 0 || (size & (size - 1)) != 0 || rank == 0 || (perm != NULL && n != rank) ||
      ir_tensor_n_elements (x) == 0 || ir_tensor_raw (x) == NULL)
    return NULL;
  strides[rank - 1] = 1;
  for (guint i = rank - 1; i-- > 0;)
    strides[i] = strides[i + 1] * in[i + 1];
  for (guint i = 0; i < rank; i++)
    {
      gint64 axis = perm != NULL ? perm[i] : rank - 1 - i;

      if (axis < 0 || axis >= rank || seen >> axis & 1)
        return NULL;
      seen |= G_GUINT64_CONSTANT (1) << axis;
      turn.dims[i] = dims[i] = in[axis];
      turn.strides[i] = strides[axis];
    }
  simplify (&turn);
  if (turn.rank <= 1)
    return ir_tensor_reshape ((IrTensor *) x, rank, dims);
  out = ir_tensor_new_alloc (ir_tensor_dtype (x), rank, dims, NULL);
  if (out == NULL)
    return NULL;
  turn_all (&turn, size, ir_tensor_raw (x), ir_tensor_data_writable (out));
  ir_mapped_file_give_back (ir_tensor_raw (x), ir_tensor_n_bytes (x));
  return out;
}

/* The output; NULL if a kernel has to compute it */
IrTensor *
ir_fold_directly (const IrNode *node, IrFoldSplats *splats)
{
  static const char *const views[] = { "Identity", "Reshape",   "Flatten",
                                       "Squeeze",  "Unsqueeze", NULL };
  const IrType *type = node->n_outputs == 1 && node->outputs[0] != NULL ? node->outputs[0]->type
                                                                        : NULL;
  const IrTensor *x = node->n_inputs > 0 && node->inputs[0] != NULL
                          ? ir_value_constant (node->inputs[0])
                          : NULL;
  guint64 n;

  if (node->domain[0] != '\0' || x == NULL || !ir_type_is_static (type) ||
      ir_tensor_is_container (x) || ir_tensor_sparse_values (x) != NULL)
    return NULL;
  if (ir_op_is (node, IR_OP_CONSTANT_OF_SHAPE))
    return constant_of_shape (node, type, splats);
  if (ir_tensor_dtype (x) != type->dtype || !ir_type_n_elements (type, &n) ||
      n != ir_tensor_n_elements (x))
    return NULL;
  if (ir_op_is (node, IR_OP_TRANSPOSE))
    return transpose (node, x);
  if (g_strv_contains (views, node->op_type) && ir_tensor_dtype (x) != IR_DTYPE_STRING)
    return ir_tensor_reshape ((IrTensor *) x, type->rank, type->dims);
  return NULL;
}
