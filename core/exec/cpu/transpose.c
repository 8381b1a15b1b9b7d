/* Transpose of elements of 1, 2, 4 or 8 bytes. Axes that stay neighbours are merged; the innermost
 * loop walks the output, in tiles where the input is walked across. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

#include <string.h>

#define TILE 16 /* elements a side: both sides of a tile stay in the first cache */

typedef struct
{
  guint rank;
  gint64 dims[IR_MAX_RANK], strides[IR_MAX_RANK]; /* of the output; strides in the input */
} Walk;

static void
walk_init (Walk *walk, const gint64 *in_dims, guint rank, const gint64 *perm)
{
  gint64 in_strides[IR_MAX_RANK], stride = 1;

  for (guint i = rank; i > 0; i--)
    {
      in_strides[i - 1] = stride;
      stride *= in_dims[i - 1];
    }
  walk->rank = 0;
  for (guint i = 0; i < rank; i++)
    {
      gint64 dim = in_dims[perm[i]], step = in_strides[perm[i]];

      if (dim == 1)
        continue;
      if (walk->rank > 0 && walk->strides[walk->rank - 1] == dim * step)
        {
          walk->dims[walk->rank - 1] *= dim;
          walk->strides[walk->rank - 1] = step;
          continue;
        }
      walk->dims[walk->rank] = dim;
      walk->strides[walk->rank++] = step;
    }
  if (walk->rank == 0)
    {
      walk->dims[0] = walk->strides[0] = 1;
      walk->rank = 1;
    }
}

static gint64
place (const Walk *walk, gint64 index, guint n_axes)
{
  gint64 at = 0;

  for (guint i = n_axes; i > 0; i--)
    {
      at += index % walk->dims[i - 1] * walk->strides[i - 1];
      index /= walk->dims[i - 1];
    }
  return at;
}

#define COPY_PLANE(Type)                                                                           \
  static void copy_plane_##Type (const Type *in, gint64 rows, gint64 row_step, gint64 columns,     \
                                 gint64 column_step, Type *out, gint64 out_step)                   \
  {                                                                                                \
    for (gint64 r = 0; r < rows; r += TILE)                                                        \
      for (gint64 c = 0; c < columns; c += TILE)                                                   \
        for (gint64 i = r; i < MIN (r + TILE, rows); i++)                                          \
          for (gint64 j = c; j < MIN (c + TILE, columns); j++)                                     \
            out[i * out_step + j] = in[i * row_step + j * column_step];                            \
  }
COPY_PLANE (guint8)
COPY_PLANE (guint16)
COPY_PLANE (guint32)
COPY_PLANE (guint64)

/* Rows and columns of the output, whose rows are @out_step apart. */
static void
copy_plane (gsize size,
            const guint8 *in,
            gint64 rows,
            gint64 row_step,
            gint64 columns,
            gint64 column_step,
            guint8 *out,
            gint64 out_step)
{
  if (column_step == 1)
    for (gint64 i = 0; i < rows; i++)
      memcpy (out + i * out_step * (gint64) size, in + i * row_step * (gint64) size,
              columns * size);
  else if (size == 4)
    copy_plane_guint32 ((const guint32 *) in, rows, row_step, columns, column_step, (guint32 *) out,
                        out_step);
  else if (size == 8)
    copy_plane_guint64 ((const guint64 *) in, rows, row_step, columns, column_step, (guint64 *) out,
                        out_step);
  else if (size == 2)
    copy_plane_guint16 ((const guint16 *) in, rows, row_step, columns, column_step, (guint16 *) out,
                        out_step);
  else
    copy_plane_guint8 (in, rows, row_step, columns, column_step, out, out_step);
}

static const char *
refuses (const IrNode *node)
{
  guint bits = node->n_inputs > 0 && node->inputs[0] != NULL
                   ? ir_dtype_bits (ir_value_dtype (node->inputs[0]))
                   : 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64
             ? NULL
             : "elements of this type have no whole 1, 2, 4 or 8 bytes, or the type is unknown";
}

static gboolean
read_perm (const IrCall *call, guint rank, gint64 *perm)
{
  guint n;
  const gint64 *given = ir_call_ints (call, "perm", &n);
  guint64 seen = 0;

  for (guint i = 0; i < rank; i++)
    perm[i] = given != NULL && i < n ? given[i] : rank - 1 - i;
  for (guint i = 0; i < rank; i++)
    {
      if (perm[i] < 0 || perm[i] >= rank)
        return FALSE;
      seen |= (guint64) 1 << perm[i];
    }
  return (given == NULL || n == rank) && (rank == 64 || seen == ((guint64) 1 << rank) - 1);
}

static gboolean
run (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (in);
  gint64 perm[IR_MAX_RANK], dims[IR_MAX_RANK];
  gsize size = ir_dtype_bits (ir_tensor_dtype (in)) / 8;
  const guint8 *x = ir_tensor_data (in);
  IrTensor *out;
  guint8 *y;
  Walk walk;

  if (!read_perm (call, rank, perm))
    return ir_ref_run (call, error);
  for (guint i = 0; i < rank; i++)
    dims[i] = ir_tensor_dims (in)[perm[i]];
  out = ir_call_new_output (call, 0, ir_tensor_dtype (in), rank, dims, error);
  if (out == NULL)
    return FALSE;
  if (ir_tensor_n_elements (out) == 0)
    return TRUE;
  y = ir_tensor_data_writable (out);
  walk_init (&walk, ir_tensor_dims (in), rank, perm);
  gint64 columns = walk.dims[walk.rank - 1], rows = walk.rank > 1 ? walk.dims[walk.rank - 2] : 1;
  gint64 row_step = walk.rank > 1 ? walk.strides[walk.rank - 2] : 0,
         column_step = walk.strides[walk.rank - 1];
  gint64 planes = (gint64) ir_tensor_n_elements (out) / (rows * columns);
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (out));
  /* A large plane is cut into bands of rows, and those of long rows into pieces. */
  gint64 band = MAX (CPU_POLL / MAX (columns, 1) / TILE * TILE, TILE),
         bands = (rows + band - 1) / band;
  gint64 length = MIN (columns, CPU_POLL / TILE), pieces = (columns + length - 1) / length;
  CpuWatch watch = cpu_watch (call, MIN (band, rows) * length);
#pragma omp parallel num_threads(n_threads)
  for (gint64 part = cpu_share (planes * bands * pieces, 0),
              until = cpu_share (planes * bands * pieces, 1);
       part < until && !cpu_watch_stopped (&watch, part); part++)
    {
      gint64 plane = part / pieces / bands, first = part / pieces % bands * band,
             column = part % pieces * length;
      gint64 at = place (&walk, plane, walk.rank > 2 ? walk.rank - 2 : 0) + first * row_step +
                  column * column_step;

      copy_plane (size, x + at * (gint64) size, MIN (band, rows - first), row_step,
                  MIN (length, columns - column), column_step,
                  y + ((plane * rows + first) * columns + column) * (gint64) size, columns);
    }
  return TRUE;
}

const IrCpuKernel cpu_transpose = { .name = "tiled copy", .refuses = refuses, .run = run };
