/* What is known of blocks of elements becomes the statistics of a tensor. Blocks are joined to chunks, and these to
 * the whole, as in Chan, Golub and LeVeque 1979. How a tensor is cut depends on its size alone, and all is joined in
 * its order, so that neither the number of threads nor who has counted changes a bit of the result.
 *
 * The checksum is that of the bytes: a block has eight lanes, which take its words in turns, and what comes of them is
 * folded in one order. Equal tensors have equal ones on every machine, and any change of one bit changes it. */
#include "config.h"

#include "core/exec/kernel/stats-blocks.h"

#include <string.h>

#define WORDS            8  /* lanes */
#define CHUNK_BLOCKS     32 /* in a chunk at least */
#define MOST_CHUNKS      256
#define MOST_PARTS       256
#define ELEMENTS_OF_PART 4096

/**
 * ir_stats_cut:
 * @n: elements of a tensor
 * @cut: (out): how they are cut into blocks, and these into chunks
 */
void
ir_stats_cut (guint64 n, IrStatsCut *cut)
{
  cut->n_blocks = n / IR_STATS_BLOCK + (n % IR_STATS_BLOCK > 0);
  cut->chunk_blocks = MAX ((cut->n_blocks + MOST_CHUNKS - 1) / MOST_CHUNKS, CHUNK_BLOCKS);
  cut->n_chunks = (guint) ((cut->n_blocks + cut->chunk_blocks - 1) / cut->chunk_blocks);
}

/* -- checksum -- */

static inline guint64
mix (guint64 sum, guint64 word)
{
  sum = (sum ^ word) * G_GUINT64_CONSTANT (0x9fb21c651e98df25);
  return sum ^ (sum >> 29);
}

static inline guint64
fold (guint64 a, guint64 b)
{
  return mix (mix (1, a), b);
}

/**
 * ir_stats_checksum:
 * @data: (array length=n): the elements of a block
 * @n: bytes
 *
 * What the last word lacks counts as 0.
 *
 * Returns: the checksum of the block
 */
guint64
ir_stats_checksum (const guint8 *data, gsize n)
{
  guint64 lanes[WORDS] = { 0 }, words[WORDS];

  for (; n >= sizeof words; n -= sizeof words, data += sizeof words)
    {
      memcpy (words, data, sizeof words);
      for (guint i = 0; i < WORDS; i++)
        lanes[i] = mix (lanes[i], words[i]);
    }
  for (guint i = 0; n > 0; i++)
    {
      gsize some = MIN (n, sizeof (guint64));
      words[0] = 0;
      memcpy (words, data, some);
      lanes[i] = mix (lanes[i], words[0]);
      data += some;
      n -= some;
    }
  for (guint i = 0; i < WORDS / 2; i++)
    lanes[i] = fold (lanes[i], lanes[i + WORDS / 2]);
  return fold (fold (lanes[0], lanes[1]), fold (lanes[2], lanes[3]));
}

/* -- joining -- */

/**
 * ir_stats_join:
 * @all: what is known of the elements before, %IR_STATS_NOTHING of none
 * @part: and of those behind them
 *
 * Makes @all what is known of both. Means so far apart that their distance is no number are weighed one by one.
 */
void
ir_stats_join (IrStatsPart *all, const IrStatsPart *part)
{
  guint64 n = all->n_finite + part->n_finite;

  if (part->n_finite > 0)
    {
      double before = (double) all->n_finite, share = (double) part->n_finite / (double) n;
      double apart = part->mean - all->mean;
      all->squares += part->squares + apart * apart * before * share;
      all->mean = isfinite (apart) ? all->mean + apart * share
                                   : all->mean * (before / (double) n) + part->mean * share;
      all->min = MIN (all->min, part->min);
      all->max = MAX (all->max, part->max);
      all->power += part->power;
    }
  all->n_finite = n;
  all->n_nan += part->n_nan;
  all->n_pos_inf += part->n_pos_inf;
  all->n_neg_inf += part->n_neg_inf;
  all->n_zero += part->n_zero;
  all->n_negative += part->n_negative;
  all->checksum = mix (all->checksum, part->checksum);
}

/**
 * ir_stats_set:
 * @stats: with the number of elements, and nothing else
 * @dtype: of them
 * @chunks: (array length=n_chunks): what is known of all of them, in their order
 * @n_chunks: as ir_stats_cut() says
 *
 * Sets what the chunks say, all but the histogram.
 */
void
ir_stats_set (IrTensorStats *stats, IrDtype dtype, const IrStatsPart *chunks, guint n_chunks)
{
  IrStatsPart all = IR_STATS_NOTHING;

  all.checksum = mix ((guint64) dtype, stats->n);
  for (guint c = 0; c < n_chunks; c++)
    ir_stats_join (&all, &chunks[c]);
  stats->checksum = all.checksum;
  stats->n_nan = all.n_nan;
  stats->n_pos_inf = all.n_pos_inf;
  stats->n_neg_inf = all.n_neg_inf;
  stats->n_zero = all.n_zero;
  stats->n_negative = all.n_negative;
  if (all.n_finite == 0)
    return;
  stats->min = all.min;
  stats->max = all.max;
  stats->mean = all.mean;
  stats->std = sqrt (all.squares / (double) all.n_finite);
  stats->l2 = sqrt (all.power);
}

/**
 * ir_stats_begin_bins:
 * @stats: with all but the histogram
 * @n_bins: that are wanted, at most as many as @stats has
 *
 * Says what the bins are for, and leaves them empty.
 *
 * Returns: whether there are some to be filled
 */
gboolean
ir_stats_begin_bins (IrTensorStats *stats, guint n_bins)
{
  if (ir_tensor_stats_n_finite (stats) == 0)
    return FALSE;
  stats->n_bins = MIN (n_bins, G_N_ELEMENTS (stats->bins));
  stats->bin_low = stats->min;
  stats->bin_high = stats->max;
  return stats->n_bins > 0;
}

/* -- what a device has counted -- */

/**
 * ir_stats_layout:
 * @n: elements of a value
 * @layout: (out): where a device puts what it counts of them
 */
void
ir_stats_layout (guint64 n, IrStatsLayout *layout)
{
  IrStatsCut cut;

  ir_stats_cut (n, &cut);
  *layout = (IrStatsLayout){ .n_blocks = cut.n_blocks };
  layout->n_parts = (guint) MIN (n / ELEMENTS_OF_PART + 1, MOST_PARTS);
  layout->numbers = 2 * sizeof (guint64);
  layout->wholes = layout->numbers + cut.n_blocks * IR_STATS_NUMBERS * sizeof (double);
  layout->bins = layout->wholes + cut.n_blocks * IR_STATS_WHOLES * sizeof (guint64);
  layout->bytes = layout->bins + (gsize) layout->n_parts * IR_STATS_BINS * sizeof (guint32);
}

static guint64
count_of (guint64 counts, guint which)
{
  return counts >> (which * IR_STATS_COUNT) & ((1u << IR_STATS_COUNT) - 1);
}

static IrStatsPart
part_of (const double *numbers, const guint64 *wholes, guint64 n)
{
  IrStatsPart part = { numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] };

  part.n_nan = count_of (wholes[0], 0);
  part.n_pos_inf = count_of (wholes[0], 1);
  part.n_neg_inf = count_of (wholes[0], 2);
  part.n_zero = count_of (wholes[0], 3);
  part.n_negative = count_of (wholes[0], 4);
  part.n_finite = n - part.n_nan - part.n_pos_inf - part.n_neg_inf;
  part.checksum = wholes[1];
  return part;
}

/**
 * ir_stats_of_counted:
 * @dtype: of the elements
 * @n: how many there are
 * @counted: (array): what a device has counted of them, as ir_stats_layout() says, at a multiple of 8 bytes
 * @n_bins: %IR_STATS_BINS; 0: no histogram
 * @stats: (out): the statistics
 *
 * Gives the bits that ir_tensor_stats() gives of the same elements.
 */
void
ir_stats_of_counted (
    IrDtype dtype, guint64 n, gconstpointer counted, guint n_bins, IrTensorStats *stats)
{
  IrStatsPart chunks[MOST_CHUNKS];
  IrStatsLayout layout;
  IrStatsCut cut;

  ir_stats_layout (n, &layout);
  ir_stats_cut (n, &cut);
  const double *numbers = (gconstpointer) ((const guint8 *) counted + layout.numbers);
  const guint64 *wholes = (gconstpointer) ((const guint8 *) counted + layout.wholes);
  const guint32 *bins = (gconstpointer) ((const guint8 *) counted + layout.bins);
  for (guint64 block = 0; block < cut.n_blocks; block++)
    {
      IrStatsPart part = part_of (numbers + block * IR_STATS_NUMBERS,
                                  wholes + block * IR_STATS_WHOLES,
                                  MIN (n - block * IR_STATS_BLOCK, IR_STATS_BLOCK));
      if (block % cut.chunk_blocks == 0)
        chunks[block / cut.chunk_blocks] = IR_STATS_NOTHING;
      ir_stats_join (&chunks[block / cut.chunk_blocks], &part);
    }
  *stats = (IrTensorStats){ .n = n };
  ir_stats_set (stats, dtype, chunks, cut.n_chunks);
  if (!ir_stats_begin_bins (stats, n_bins))
    return;
  for (guint i = 0; i < layout.n_parts * IR_STATS_BINS; i++)
    stats->bins[i % IR_STATS_BINS] += bins[i];
}
