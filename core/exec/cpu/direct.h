/* Convolution over NCHWc: a vector holds one pixel of as many channels as it has
 * lanes, so that one multiplication serves them all. Values in this layout have the shape
 * [N, C / lanes, H, W, lanes]; the last block is filled up where C is no multiple. */
#pragma once

#include "core/exec/cpu/cpu.h"
#include "core/ir/pages.h"

/* Of one convolution along two axes; sizes in elements. */
typedef struct
{
  gint64 batch, groups;
  gint64 channels, maps; /* in and out, of one group */
  gint64 in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
} CpuDirectShape;

typedef struct _CpuDirect CpuDirect;

gboolean cpu_shares_pixels (gint64 channels, gint64 plane);

gboolean cpu_direct_takes (const CpuDirectShape *shape, guint lanes);
CpuDirect *cpu_direct_new (const CpuDirectShape *shape, guint lanes);
void cpu_direct_free (CpuDirect *direct);
const CpuDirectShape *cpu_direct_shape (const CpuDirect *direct);
/* How many channels stand together in the input that cpu_direct_run() reads; 0: it is plain. */
guint cpu_direct_in_block (const CpuDirectShape *shape, guint lanes);
gboolean cpu_direct_adds_in_place (const CpuDirectShape *shape, guint lanes);
gboolean cpu_direct_knows (const CpuEpilogue *epilogue);
gboolean cpu_direct_pack (CpuDirect *direct, const CpuUnalignedFloat *weights, const float *bias);
void cpu_direct_run (const CpuDirect *direct,
                     const IrCall *call,
                     const CpuEpilogue *epilogue,
                     const float *x,
                     float *y);

/* -- what direct.c and its copies for each vector unit share (direct-tile.h) -- */

/* A panel of neighbouring blocks of output channels, and a part of the input channels. */
typedef struct
{
  const float *x;    /* the part's first block of channels */
  const float *w;    /* [block][tap][channel][block of maps][lane] */
  const float *bias; /* [block of maps][lane] */
  const float *add;  /* (nullable) residual, where y is */
  float *y;
  float *sums; /* between parts: y, or, where that is what has to be added, memory of its own */
  gint64 sums_stride, sums_pixel; /* of it: from block to block, and the first pixel */
  const gint32 *corners;          /* by pixel of the output: first element under the window */
  const gint32 *rows, *columns;   /* by pixel: of the window's corner in the input */
  const guint8 *inside;           /* by pixel: the window lies inside the input */
  const gint32 *places; /* (nullable) by pixel and tap: elements from the corner, or CPU_OUTSIDE */
  const gint32 *steps;  /* by tap: elements from the corner */
  const gint32 *tap_rows, *tap_columns;
  gint64 n_taps, height, width; /* of the input */
  gint64 in_stride, out_stride; /* elements from one block of channels to the next */
  gint64 between;               /* elements from one channel to the next; not 1: one plain block */
  gint64 pixel_bytes;           /* from the window of one pixel to that of the next */
  gint64 n_blocks, block;       /* of the part: blocks, channels in each */
  gint64 first, last;           /* first channel in the first block, end in the last */
  gint64 lane, lane_end;        /* of maps: first in the first block, end in the last */
  gboolean starts, ends;        /* first part: from the bias; last part: what follows is done */
  IrActivation activation;      /* one that cpu_direct_knows() */
  float low, high, alpha;
  guintptr ahead;     /* address of weights that are needed later */
  gint64 ahead_lines; /* lines of them to fetch with each tap of a block */
} CpuPanel;

#define CPU_LINE 64 /* bytes that the caches move together */

/* Weights that are needed after those of @panel are fetched into the cache with its tiles, a few
 * with each step, since only so many can be on their way: where the output is small, nothing else
 * hides how long they take. @index: tile, of @count. */
static inline void
cpu_fetch_ahead (CpuPanel *panel, const float *weights, gint64 n, gint64 index, gint64 count)
{
  gint64 steps = panel->n_blocks * panel->n_taps, n_lines = n * (gint64) sizeof (float) / CPU_LINE;
  gint64 each = (n_lines + steps * count - 1) / (steps * count);

  panel->ahead = (guintptr) weights + (guintptr) (index * steps * each * CPU_LINE);
  panel->ahead_lines = index * steps * each < n_lines ? each : 0;
}

#define CPU_OUTSIDE G_MININT32

/* The pixels from @pixel on, as many as the function is made for. */
typedef void (*CpuTileFunc) (const CpuPanel *panel, gint64 pixel);

#define CPU_MOST_LANES  16
#define CPU_MOST_BLOCKS 4 /* of maps in a panel */
#define CPU_MOST_PIXELS 8 /* of a tile */

/* How the lanes of a block are put together from those of others. */
typedef struct
{
  guint n;
  gint64 blocks[CPU_MOST_LANES];
  guint32 masks[CPU_MOST_LANES]; /* lanes that come from the block */
  gint32 lanes[CPU_MOST_LANES][CPU_MOST_LANES];
} CpuShuffle;

/* A row of the output of a depthwise convolution, of one block of channels. */
typedef struct
{
  const float *x, *w; /* of the window's first row that is inside the input */
  const float *add;   /* (nullable) */
  float *y;
  gint64 n_rows;         /* of the window, inside */
  gint64 width, pad;     /* of the input; columns before it */
  gint64 n, inside, end; /* pixels; those of [inside, end) have whole windows */
} CpuDepthwiseRow;

/* A tile of Winograd's convolution (winograd.c). */
typedef struct
{
  gint64 row, column;    /* of the input, perhaps outside */
  gint64 height, width;  /* of the input */
  gint64 stride;         /* elements from one product to the next */
  int n_rows, n_columns; /* of the tile's output that there are */
  gint64 out_width, out_pixel;
} CpuWinogradTile;

/* By blocks of maps and pixels, each from 1 on; NULL: too many for the registers. Depthwise ones
 * take one block. */
typedef struct
{
  guint lanes, most_blocks;
  guint most_pixels[CPU_MOST_BLOCKS + 1];
  CpuTileFunc tiles[CPU_MOST_BLOCKS + 1][CPU_MOST_PIXELS + 1];
  CpuTileFunc depthwise[CPU_MOST_PIXELS + 1];
  /* By columns of a square window and stride; NULL: the one above. */
  void (*depthwise_row[6][3]) (const CpuPanel *panel, const CpuDepthwiseRow *row);
  /* The largest elements of a window; @row: elements from one row of the input to the next. */
  void (*pool_max) (const float *x, gint64 row, gint64 n_rows, gint64 n_columns, float *y);
  /* The means of @n windows of three columns, @step pixels apart; sums in double. */
  void (*pool_mean_row) (
      const float *x, gint64 row, gint64 n_rows, gint64 step, gint64 n, double counted, float *y);
  /* Of @n windows, @step pixels apart. */
  void (*pool_max_row) (
      const float *x, gint64 row, gint64 n_rows, gint64 n_columns, gint64 step, gint64 n, float *y);
  /* One block of @plane pixels, from a sample. */
  void (*shuffle) (const CpuShuffle *shuffle, const float *x, gint64 plane, float *y);
  /* One block of channels, there and back: of tiles of four by four pixels, and of six by six. */
  void (*winograd_in[2]) (const CpuWinogradTile *tile, const float *x, float *v);
  gboolean (*winograd_out[2]) (const CpuWinogradTile *tile, const CpuPanel *panel, const float *m);
} CpuVectorUnit;

const CpuVectorUnit *cpu_vector_unit (guint lanes);
extern const CpuVectorUnit cpu_unit_avx2, cpu_unit_avx512;
