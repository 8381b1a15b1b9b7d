/* Values in NCHWc, and the way there and back. */
#include "config.h"

#include "core/exec/kernel/nchwc.h"
#include "core/ir/pages.h"

#include <stdlib.h>
#include <string.h>

/**
 * ir_scratch_get:
 * @scratch: memory that is kept
 * @part: which of its parts, below %IR_SCRATCH_PARTS
 * @bytes: how much is needed
 *
 * Returns: (transfer none) (nullable): aligned memory with any contents, until the part is asked
 *   for again; %NULL if there is none
 */
gpointer
ir_scratch_get (IrScratch *scratch, guint part, gsize bytes)
{
  IrScratchPart *found = &scratch->parts[part];

  if (found->data != NULL && found->bytes >= bytes)
    return found->data;
  free (found->data);
  *found = (IrScratchPart){ 0 };
  if (posix_memalign (&found->data, IR_ALIGN_BYTES, MAX (bytes, IR_ALIGN_BYTES)) != 0)
    {
      found->data = NULL;
      return NULL;
    }
  found->bytes = MAX (bytes, IR_ALIGN_BYTES);
  return found->data;
}

/**
 * ir_scratch_clear:
 * @scratch: memory that is kept
 *
 * Gives it back.
 */
void
ir_scratch_clear (IrScratch *scratch)
{
  for (guint i = 0; i < IR_SCRATCH_PARTS; i++)
    free (scratch->parts[i].data);
  *scratch = (IrScratch){ 0 };
}

/**
 * ir_nchwc_name:
 * @rank: number of axes in the graph, batch and channels included
 * @block: channels of a block; 0: as it is in the graph
 *
 * Returns: (transfer none): what the layout is called, such as NCHW or NCHW16c
 */
const char *
ir_nchwc_name (guint rank, guint block)
{
  static const char *const names[] = { "NC", "NCW", "NCHW", "NCDHW" };
  const char *name = rank >= 2 && rank - 2 < G_N_ELEMENTS (names) ? names[rank - 2] : "NC...";
  g_autofree char *blocked = block > 0 ? g_strdup_printf ("%s%uc", name, block) : NULL;

  return g_intern_string (blocked != NULL ? blocked : name);
}

/**
 * ir_nchwc_bytes:
 * @type: type of a value
 * @block: channels in a block; 0: plain
 * @bytes: (out): what the value takes, filled up to whole blocks
 *
 * Returns: %FALSE if that is not known
 */
gboolean
ir_nchwc_bytes (const IrType *type, guint block, gsize *bytes)
{
  gint64 channels;

  if (!ir_type_n_bytes (type, bytes))
    return FALSE;
  if (block == 0 || type->rank != 4 || type->dims[1] <= 0)
    return TRUE;
  channels = type->dims[1];
  return g_size_checked_mul (bytes, *bytes / (gsize) channels,
                             (gsize) ((channels - 1) / block + 1) * block);
}

typedef float Four __attribute__ ((vector_size (16)));

static inline Four
load (const float *from)
{
  Four v;

  memcpy (&v, from, sizeof v);
  return v;
}

static inline void
store (float *to, Four v)
{
  memcpy (to, &v, sizeof v);
}

/* Four rows of four elements become columns. */
static inline void
turn_square (const float *from, gint64 from_row, float *to, gint64 to_row)
{
  Four a = load (from), b = load (from + from_row), c = load (from + 2 * from_row),
       d = load (from + 3 * from_row);
  Four low_ab = __builtin_shufflevector (a, b, 0, 4, 1, 5),
       high_ab = __builtin_shufflevector (a, b, 2, 6, 3, 7),
       low_cd = __builtin_shufflevector (c, d, 0, 4, 1, 5),
       high_cd = __builtin_shufflevector (c, d, 2, 6, 3, 7);

  store (to, __builtin_shufflevector (low_ab, low_cd, 0, 1, 4, 5));
  store (to + to_row, __builtin_shufflevector (low_ab, low_cd, 2, 3, 6, 7));
  store (to + 2 * to_row, __builtin_shufflevector (high_ab, high_cd, 0, 1, 4, 5));
  store (to + 3 * to_row, __builtin_shufflevector (high_ab, high_cd, 2, 3, 6, 7));
}

/* @n_rows rows of @n elements, @from_row apart, become @n rows of @n_rows, @to_row apart. */
static void
turn (const float *from, gint64 from_row, gint64 n_rows, gint64 n, float *to, gint64 to_row)
{
  gint64 rows = n_rows / 4 * 4, columns = n / 4 * 4;

  for (gint64 column = 0; column < columns; column += 4)
    for (gint64 row = 0; row < rows; row += 4)
      turn_square (from + row * from_row + column, from_row, to + column * to_row + row, to_row);
  for (gint64 column = 0; column < n; column++)
    for (gint64 row = column < columns ? rows : 0; row < n_rows; row++)
      to[column * to_row + row] = from[row * from_row + column];
}

#define CUT (1 << 20) /* elements that a thread takes at a time, at most */

/* Into how many parts a block is cut, so that all threads have some. */
static gint64
n_cuts_of (gint64 n_blocks, gint64 block_elements, int n_threads)
{
  gint64 n = block_elements / CUT + 1;

  return n_blocks < n_threads ? MAX (n, n_threads) : n;
}

/**
 * ir_nchwc_from_plain:
 * @plain: [batch, channels, plane]
 * @blocks: (out caller-allocates): [batch, channels / block, plane, block]
 * @batch: number of samples
 * @channels: number of channels
 * @plane: pixels of a channel
 * @block: channels in a block
 * @n_threads: how many threads may share the work
 *
 * Channels that fill up the last block become 0.
 */
void
ir_nchwc_from_plain (const float *plain,
                     float *blocks,
                     gint64 batch,
                     gint64 channels,
                     gint64 plane,
                     gint64 block,
                     int n_threads)
{
  gint64 n_blocks = (channels + block - 1) / block;
  gint64 n_cuts = n_cuts_of (batch * n_blocks, plane * block, n_threads);

#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 part = 0; part < batch * n_blocks * n_cuts; part++)
    {
      gint64 i = part / n_cuts, cut = part % n_cuts, pixel = plane * cut / n_cuts,
             n_pixels = plane * (cut + 1) / n_cuts - pixel;
      gint64 first = i % n_blocks * block, n = MIN (block, channels - first);
      const float *from = plain + (i / n_blocks * channels + first) * plane + pixel;
      float *to = blocks + (i * plane + pixel) * block;

      if (n < block)
        memset (to, 0, (gsize) (n_pixels * block) * sizeof *to);
      turn (from, plane, n, n_pixels, to, block);
    }
}

/**
 * ir_nchwc_to_plain:
 * @blocks: [batch, channels / block, plane, block]
 * @plain: (out caller-allocates): [batch, channels, plane]
 * @batch: number of samples
 * @channels: number of channels
 * @plane: pixels of a channel
 * @block: channels in a block
 * @n_threads: how many threads may share the work
 *
 * The way back of ir_nchwc_from_plain().
 */
void
ir_nchwc_to_plain (const float *blocks,
                   float *plain,
                   gint64 batch,
                   gint64 channels,
                   gint64 plane,
                   gint64 block,
                   int n_threads)
{
  gint64 n_blocks = (channels + block - 1) / block;
  gint64 n_cuts = n_cuts_of (batch * n_blocks, plane * block, n_threads);

#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 part = 0; part < batch * n_blocks * n_cuts; part++)
    {
      gint64 i = part / n_cuts, cut = part % n_cuts, pixel = plane * cut / n_cuts,
             n_pixels = plane * (cut + 1) / n_cuts - pixel;
      gint64 first = i % n_blocks * block, n = MIN (block, channels - first);
      const float *from = blocks + (i * plane + pixel) * block;
      float *to = plain + (i / n_blocks * channels + first) * plane + pixel;

      turn (from, block, n_pixels, n, to, plane);
    }
}

/**
 * ir_nchwc_to_graph:
 * @blocks: contents in NCHWc, of rank 5, or contents as the graph has them
 * @type: the value's type in the graph, of rank 4
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the same contents as the graph has them; %NULL if there is
 * no memory
 */
IrTensor *
ir_nchwc_to_graph (const IrTensor *blocks, const IrType *type, GError **error)
{
  if (ir_tensor_rank (blocks) != 5)
    return ir_tensor_ref ((IrTensor *) blocks);
  g_autoptr (IrTensor) plain = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 4, type->dims, error);

  if (plain == NULL || ir_tensor_n_elements (plain) == 0)
    return g_steal_pointer (&plain);
  ir_nchwc_to_plain (ir_tensor_data (blocks), ir_tensor_data_writable (plain), type->dims[0],
                     type->dims[1], type->dims[2] * type->dims[3], ir_tensor_dims (blocks)[4], 1);
  return g_steal_pointer (&plain);
}
