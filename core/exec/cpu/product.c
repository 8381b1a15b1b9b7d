/* Products of matrices on dnnl_sgemm, cut into pieces that can be stopped and parts for threads. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

#include <oneapi/dnnl/dnnl.h>

#define PIECE 1e9 /* multiply-adds between two looks at whether the call is cancelled */
#define PIECE_SIDE                                                                                 \
  192 /* fewest rows of a piece: packing the other matrix again costs little then */
#define READING                                                                                    \
  16 /* multiply-adds in the time that an element of a large matrix takes to be read */
#define WRITING   256       /* likewise, to be written into memory that is new */
#define FEW_TERMS 64        /* of a sum: below, writing Y may be most of it */
#define STRIP     16 /* fewest rows of it that are written together: they may be pages apart */

static gboolean
multiply (const CpuProduct *p)
{
  return dnnl_sgemm (p->a.transposed ? 'T' : 'N', p->b.transposed ? 'T' : 'N', p->m, p->n, p->k,
                     p->alpha, p->a.data, MAX (p->a.distance, 1), p->b.data, MAX (p->b.distance, 1),
                     p->beta, p->y, MAX (p->y_distance, 1)) == dnnl_success;
}

static CpuProduct
columns_of (const CpuProduct *product, gint64 first, gint64 n)
{
  CpuProduct part = *product;

  part.n = n;
  part.b.data += first * (part.b.transposed ? part.b.distance : 1);
  part.y += first;
  return part;
}

static CpuProduct
terms_of (const CpuProduct *product, gint64 first, gint64 k)
{
  CpuProduct part = *product;

  part.k = k;
  part.a.data += first * (part.a.transposed ? part.a.distance : 1);
  part.b.data += first * (part.b.transposed ? 1 : part.b.distance);
  part.beta = first > 0 ? 1 : part.beta;
  return part;
}

static CpuProduct
rows_of (const CpuProduct *product, gint64 first, gint64 m)
{
  CpuProduct part = *product;

  part.m = m;
  part.a.data += first * (part.a.transposed ? 1 : part.a.distance);
  part.y += first * part.y_distance;
  return part;
}

/* In multiply-adds; where they are few for what is read or written, that takes longer. */
static double
work_of (const CpuProduct *p)
{
  double m = (double) p->m, n = (double) p->n, k = (double) p->k;

  return MAX (MAX (m * n * k, READING * (m * k + k * n)), p->k < FEW_TERMS ? WRITING * m * n : 0);
}

static gboolean
multiply_piece (const IrCall *call, const CpuProduct *piece)
{
  return !ir_call_stopped (call) && multiply (piece);
}

/* FALSE: it was to stop, or oneDNN failed. Y is small, and its sums are long. */
static gboolean
multiply_terms (const IrCall *call, const CpuProduct *product, double work)
{
  gint64 n_pieces = (gint64) (work / PIECE) + 1, each = (product->k + n_pieces - 1) / n_pieces;

  for (gint64 first = 0; first < product->k; first += each)
    {
      CpuProduct piece = terms_of (product, first, MIN (each, product->k - first));
      if (!multiply_piece (call, &piece))
        return FALSE;
    }
  return TRUE;
}

/* Likewise. Sums are short: strips of rows of Y, and pieces of them where they are long. */
static gboolean
multiply_strips (const IrCall *call, const CpuProduct *product)
{
  gint64 m = product->m, n = product->n, most = (gint64) (PIECE / WRITING);
  gint64 rows = MAX (most / n / STRIP, 1) * STRIP, n_strips = MAX (m / rows, 1);
  gint64 columns = MAX (most / MIN (rows, m) / PIECE_SIDE, 1) * PIECE_SIDE,
         n_pieces = MAX (n / columns, 1);

  /* What is left over goes with the last: of few rows or columns oneDNN forms sums otherwise. */
  for (gint64 i = 0; i < n_strips; i++)
    for (gint64 j = 0; j < n_pieces; j++)
      {
        CpuProduct strip = rows_of (product, i * rows, i + 1 < n_strips ? rows : m - i * rows);
        CpuProduct piece = columns_of (&strip, j * columns,
                                       j + 1 < n_pieces ? columns : n - j * columns);
        if (!multiply_piece (call, &piece))
          return FALSE;
      }
  return TRUE;
}

/* Goes piece by piece where it takes long: rows of Y, or columns where there are few rows, or
 * terms of the sums where both are few or reading B is most of it. Where writing Y is, rows and
 * columns. Returns FALSE if it was to stop, or oneDNN failed. */
gboolean
cpu_multiply (const IrCall *call, const CpuProduct *product)
{
  gboolean by_columns = product->m < PIECE_SIDE;
  gint64 side = by_columns ? product->n : product->m;
  double work = work_of (product);
  gint64 each = (gint64) ((double) side * (PIECE / work));

  if (work <= PIECE)
    return multiply (product);
  each = (each + PIECE_SIDE - 1) / PIECE_SIDE * PIECE_SIDE;
  /* Rows of B are read where they lie, columns of it in bits of rows, which takes half as long
   * again.
   */
  if (product->k < FEW_TERMS)
    return multiply_strips (call, product);
  if (work / (double) side * (double) MIN (each, side) > 2 * PIECE ||
      (product->m < READING && !product->b.transposed))
    return multiply_terms (call, product, work);
  for (gint64 first = 0; first < side; first += each)
    {
      gint64 n = MIN (each, side - first);
      CpuProduct piece = by_columns ? columns_of (product, first, n) : rows_of (product, first, n);

      if (!multiply_piece (call, &piece))
        return FALSE;
    }
  return TRUE;
}

static gint64
cut (gint64 n, int part, int n_parts)
{
  return n * part / n_parts / 16 * 16 + (part == n_parts ? n - n / 16 * 16 : 0);
}

/* The longer side of Y is cut into parts for the threads of @call; each is a product of its own.
 * Left to itself oneDNN cuts small products so finely that waiting for each other costs more
 * than it brings. Returns FALSE if it was to stop, or oneDNN failed. */
gboolean
cpu_multiply_parts (const IrCall *call, const CpuProduct *product, int n_parts)
{
  gboolean by_columns = product->n >= product->m, done = TRUE;
  gint64 side = by_columns ? product->n : product->m;
  int n_threads = MIN (n_parts, (int) ir_threads_n (call->threads));

  if (n_parts <= 1)
    return cpu_multiply (call, product);
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (int i = 0; i < n_parts; i++)
    {
      gint64 first = cut (side, i, n_parts), n = cut (side, i + 1, n_parts) - first;
      CpuProduct part = by_columns ? columns_of (product, first, n) : rows_of (product, first, n);

      if (n > 0 && !cpu_multiply (call, &part))
#pragma omp atomic write
        done = FALSE;
    }
  return done;
}
