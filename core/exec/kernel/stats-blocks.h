/* Statistics by blocks of elements. What is known of a block is the same to the bit wherever it was counted, by the host
 * (stats.c) or by a kernel of a device, and blocks are joined in one order. */
#pragma once

#include "core/exec/kernel/stats.h"

#include <math.h>

#define IR_STATS_BLOCK 1024 /* elements */

/* What is known of some elements. */
typedef struct
{
  double min, max, mean, squares, power; /* of finite ones; squares: of deviations from the mean */
  guint64 n_finite, n_nan, n_pos_inf, n_neg_inf, n_zero, n_negative;
  guint64 checksum;
} IrStatsPart;
#define IR_STATS_NOTHING ((IrStatsPart){ .min = INFINITY, .max = -INFINITY })

/* Chunks of blocks, by the number of elements alone. */
typedef struct
{
  guint64 n_blocks, chunk_blocks;
  guint n_chunks;
} IrStatsCut;

void ir_stats_cut (guint64 n, IrStatsCut *cut);
guint64 ir_stats_checksum (const guint8 *data, gsize n);
void ir_stats_join (IrStatsPart *all, const IrStatsPart *part);
void ir_stats_set (IrTensorStats *stats, IrDtype dtype, const IrStatsPart *chunks, guint n_chunks);
gboolean ir_stats_begin_bins (IrTensorStats *stats, guint n_bins);

/* -- what a device counts: where it is, in bytes from the beginning of a buffer -- */
#define IR_STATS_NUMBERS 5  /* doubles of a block: min, max, mean, squares, power */
#define IR_STATS_WHOLES  2  /* words of a block: counts, checksum */
#define IR_STATS_BINS    64 /* counts of 32 bits of a part of the histogram */
#define IR_STATS_COUNT                                                                             \
  12 /* bits of each of the counts: NaN, two infinities, zeros, what is negative */
typedef struct
{
  guint64 n_blocks;
  guint n_parts;
  gsize numbers, wholes, bins, bytes; /* before the first two words: of elements and of parts, how many */
} IrStatsLayout;

void ir_stats_layout (guint64 n, IrStatsLayout *layout);
void ir_stats_of_counted (
    IrDtype dtype, guint64 n, gconstpointer counted, guint n_bins, IrTensorStats *stats);
