/* Constant matrices as dnnl_sgemm reads them fastest: not transposed, and with rows whose distance
 * is no large power of two. Rows of whole pages meet in the same few sets of the first cache, so
 * that a panel of them does not stay there; measured with 64 rows of A on AVX-512, 3072 columns run
 * at 88 GFLOP/s as they are and at 145 with a line more between rows, and a transposed matrix
 * at 90. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/kernel/prepack.h"
#include "core/ir/pages.h"

#include <stdlib.h>
#include <string.h>

#define PADDED "padded"
#define PLAIN  "plain"

#define LINE         16  /* floats of a cache line */
#define FEW_ROWS     8   /* of A: below, reading B is all there is to it, in any order */
#define HARMFUL      256 /* floats: multiples of this distance are avoided */
#define MIN_ELEMENTS (1 << 14)

/* How a matrix is packed. */
typedef struct
{
  const IrCall *call;
  gint64 rows, columns, distance; /* of what comes out */
  gboolean turned;                /* the constant has it transposed */
} Packing;

static gint64
padded_distance (gint64 n)
{
  gint64 lines = (n + LINE - 1) / LINE * LINE;

  return lines % HARMFUL == 0 ? lines + LINE : lines;
}

/* LINE columns from @first on, which are rows of the constant. */
static void
turn_panel (const Packing *p, const CpuUnalignedFloat *from, float *to, gint64 first)
{
  gint64 end = MIN (first + LINE, p->columns);

  for (gint64 block = 0; block < p->rows; block += LINE)
    for (gint64 column = first; column < end; column++)
      for (gint64 row = block; row < MIN (block + LINE, p->rows); row++)
        to[row * p->distance + column] = from[column * p->rows + row];
}

static gpointer
pack (const IrTensor *constant, gpointer data)
{
  const Packing *p = data;
  const CpuUnalignedFloat *from = ir_tensor_raw (constant);
  gint64 n_parts = p->turned ? (p->columns + LINE - 1) / LINE : p->rows;
  int n_threads = cpu_n_threads (p->call, (guint64) (p->rows * p->columns));
  float *to = ir_pages_new (sizeof (float) * (gsize) (p->rows * p->distance));

  if (to == NULL)
    return NULL;
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 part = 0; part < n_parts; part++)
    if (p->turned)
      turn_panel (p, from, to, part * LINE);
    else
      memcpy (to + part * p->distance, from + part * p->columns,
              sizeof (float) * (gsize) p->columns);
  return to;
}

static gboolean
is_aligned (const IrTensor *tensor)
{
  return (guintptr) ir_tensor_raw (tensor) % sizeof (float) == 0;
}

/* (nullable) Why B [k, n] of an A of @m rows stays as it lies. */
static const char *
stays (const IrNode *node, gint64 m, gint64 n, gint64 k, gboolean transposed)
{
  const char *wanted = ir_node_wanted_kernel (node);

  if (ir_value_constant (node->inputs[1]) == NULL)
    return "the second operand is no constant";
  if (g_strcmp0 (wanted, PLAIN) == 0)
    return "a property of the node asks for it";
  if (g_strcmp0 (wanted, PADDED) == 0)
    return NULL;
  if (m < FEW_ROWS || k * n < MIN_ELEMENTS)
    return "products this small gain nothing from constants in another order";
  return transposed || n % HARMFUL == 0
             ? NULL
             : "the rows of the constant are at a good distance as they lie";
}

/* B, in another order than input 1 has it if that is faster and it is a constant; valid during
 * the call. Without data: it was to stop. @transposed: whether input 1 has B transposed, [n, k]. */
CpuMatrix
cpu_constant_matrix (const IrCall *call, gint64 m, gint64 n, gint64 k, gboolean transposed)
{
  const IrTensor *b = ir_call_input (call, 1);
  gboolean stays_so = stays (call->node, m, n, k, transposed) != NULL;
  Packing packing = { call, k, n, padded_distance (n), transposed };
  const float *packed = NULL;

  if (stays_so)
    packing = transposed ? (Packing){ call, n, k, k, FALSE } : (Packing){ call, k, n, n, FALSE };
  /* What stays needs a copy all the same where the file has it at an odd address. */
  if (call->packed != NULL && ir_value_constant (call->node->inputs[1]) == b &&
      (!stays_so || !is_aligned (b)))
    packed = ir_packed_get (call->packed, b, (guint64) packing.distance << 1 | packing.turned, pack,
                            &packing);
  if (packed == NULL || stays_so)
    return (CpuMatrix){ packed != NULL ? packed : ir_tensor_data (ir_call_input (call, 1)),
                        transposed ? k : n, transposed };
  return (CpuMatrix){ packed, packing.distance, FALSE };
}

/* FALSE: the types do not say it, or B is no single matrix. */
static gboolean
sizes_of (const IrCall *call, gint64 *m, gint64 *n, gint64 *k, gboolean *transposed)
{
  const IrType *a = ir_call_input_type (call, 0), *b = ir_call_input_type (call, 1);
  guint across = ir_call_int (call, "transA", 0) != 0 ? 1 : 0;

  *transposed = ir_call_int (call, "transB", 0) != 0;
  if (a == NULL || b == NULL || a->rank < 2 || b->rank < 2 || !ir_type_is_static (a) ||
      !ir_type_is_static (b))
    return FALSE;
  *m = a->dims[a->rank - 2 + (int) across];
  *n = b->dims[b->rank - (*transposed ? 2 : 1)];
  *k = b->dims[b->rank - (*transposed ? 1 : 2)];
  for (int i = 0; i + 2 < a->rank; i++)
    *m *= a->dims[i];
  for (int i = 0; i + 2 < b->rank; i++)
    if (b->dims[i] != 1)
      return FALSE;
  return TRUE;
}

/* The name of the variant of the kernel that runs it */
const char *
cpu_product_variant (const IrNode *node, const char **why)
{
  gint64 m, n, k;
  gboolean transposed, known;
  IrCall call;

  ir_call_init (&call, node);
  known = sizes_of (&call, &m, &n, &k, &transposed);
  ir_call_clear (&call);
  if (known)
    *why = stays (node, m, n, k, transposed);
  else
    *why = ir_value_constant (node->inputs[1]) != NULL
               ? "the constant is packed when the sizes are known, if that helps"
               : "the second operand is no constant";
  return *why == NULL ? "oneDNN sgemm, packed constant" : "oneDNN sgemm";
}

const char cpu_product_candidates[] = PADDED ", " PLAIN;
