/* Products of 8-bit integers less their zero points, which are of 16 bits. */
#pragma once

#include "core/exec/cpu/cpu.h"

#define CPU_INTEGER_PAD   32 /* rows are filled up with zeros to a multiple of so many elements */
#define CPU_INTEGER_TERMS 32768 /* 255 * 255 * 32768 < 2^31: sums of no more fit into 32 bits */

/* How sums of products are stored. */
typedef struct
{
  IrDtype dtype;    /* INT32: the sums as they are; else an 8-bit type */
  double low, high; /* of that type */
  double zero;
  double *scales; /* (nullable) [n_scales] from sums to what is stored, one or one per channel */
  gint64 n_scales;
  const IrTensor *bias; /* (nullable) int32, per channel */
  gpointer y;
} CpuIntegerStore;

gint64 cpu_integer_row (gint64 k); /* its length, filled up */
gint16 *cpu_integer_zeros (const IrCall *call, guint slot, gint64 n);
void cpu_integer_copy (
    const IrTensor *tensor, gint64 first, gint64 distance, gint64 n, gint zero, gint16 *to);
/* How an operand becomes rows of 16 bits: @fill writes it into @n zeros, less @zeros. */
typedef struct _CpuIntegerPacking CpuIntegerPacking;
struct _CpuIntegerPacking
{
  void (*fill) (const CpuIntegerPacking *packing, const IrTensor *operand, gint16 *to);
  gconstpointer product; /* for @fill */
  const gint16 *zeros;   /* [n_zeros] */
  gint64 n_zeros, n;
  guint form; /* tells apart ways to fill in one constant, with equal zeros */
};
const gint16 *cpu_integer_operand (const IrCall *call,
                                   guint slot,
                                   const CpuIntegerPacking *packing,
                                   gint16 **own);
void cpu_integer_dots (const gint16 *a,
                       gint64 m,
                       const gint16 *b,
                       gint64 n,
                       gint64 row,
                       gint32 *sums,
                       gint64 distance);
gboolean cpu_integer_store_init (CpuIntegerStore *store, IrCall *call, GError **error);
gboolean cpu_integer_store_scale (
    CpuIntegerStore *store, const IrCall *call, guint x_scale, guint w_scale, gint64 channels);
void cpu_integer_store_clear (CpuIntegerStore *store);
void cpu_integer_store (const CpuIntegerStore *store, gint64 channel, gint32 sum, gint64 at);
/* Why not: an operand is no int8 or uint8. Those of MatMulInteger and ConvInteger stand in slots 0 and
 * 1, those of QLinearMatMul and QLinearConv in 0 and 3. */
const char *cpu_integer_refuses (const IrNode *node);
const char *cpu_quantized_refuses (const IrNode *node);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CpuIntegerStore, cpu_integer_store_clear)
