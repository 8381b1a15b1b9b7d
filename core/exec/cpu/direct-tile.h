/* The inner loops of the direct convolution, for one vector unit: included once for each, with
 * VECTOR, LANES, TARGET and the operations below defined. A tile is some pixels by some blocks of
 * output channels, whose sums stay in registers; each input element is broadcast and multiplied
 * with a vector of weights per block. All loops over the tile have constant bounds, and vanish. */
#pragma once

#ifdef __SANITIZE_ADDRESS__
#define INLINE                                                                                     \
  static TARGET __attribute__ ((noinline)) /* checks in all copies compile for minutes */
#else
#define INLINE static inline __attribute__ ((always_inline)) TARGET
#endif

/* Where windows reach over the edge of the input. */
static const float zeros[16] = { 0 };

/* What follows the sums of a tile. Comparisons keep NaN: of two operands, the instructions give the
 * second where one is NaN. */
INLINE void
finish (const CpuPanel *p, VECTOR *sums, const int n)
{
  /* clang-format off */
  switch (p->activation)
    {
    case IR_ACTIVATION_NONE:
#define IR_ACTIVATION(ID, ...) \
      break; \
    case IR_ACTIVATION_##ID:
#define ACT_TILE(expression) \
      _Pragma ("GCC unroll 32") for (int i = 0; i < n; i++) \
        { \
          VECTOR x = sums[i]; \
          sums[i] = expression; \
        }
#include "core/op/activations.def"
      break;
    }
  /* clang-format on */
}

/* Element offsets of the pixels' windows, and whether all of them lie inside the input. */
INLINE gboolean
corners_of (const CpuPanel *panel, gint64 pixel, gint64 *at, const int n_pixels)
{
  gboolean inside = TRUE;

#pragma GCC unroll 8
  for (int p = 0; p < n_pixels; p++)
    {
      at[p] = panel->corners[pixel + p];
      inside &= panel->inside[pixel + p];
    }
  return inside;
}

/* @at: of the pixel's corner */
INLINE const float *
under_tap (const CpuPanel *panel, gint64 pixel, gint64 at, gint64 tap)
{
  if (panel->places != NULL)
    {
      gint32 place = panel->places[pixel * panel->n_taps + tap];
      return place == CPU_OUTSIDE ? zeros : panel->x + (at + place);
    }
  gint64 row = panel->rows[pixel] + panel->tap_rows[tap];
  gint64 column = panel->columns[pixel] + panel->tap_columns[tap];
  gboolean inside = (guint64) row < (guint64) panel->height &&
                    (guint64) column < (guint64) panel->width;

  return inside ? panel->x + at + panel->steps[tap] : zeros;
}

/* Other groups have lanes in the first or the last block. */
INLINE void
store_lanes (
    const CpuPanel *panel, const VECTOR *sums, float *y, const int n_pixels, const int n_maps)
{
  LANE_MASK all = MASK (0, LANES);
  LANE_MASK begin = MASK (panel->lane, LANES), end = MASK (0, panel->lane_end);

#pragma GCC unroll 8
  for (int p = 0; p < n_pixels; p++)
#pragma GCC unroll 4
    for (int m = 0; m < n_maps; m++)
      STORE_LANES (y + m * panel->out_stride + p * LANES,
                   AND_MASK (m == 0 ? begin : all, m == n_maps - 1 ? end : all),
                   sums[p * n_maps + m]);
}

INLINE void
add_channel (VECTOR *sums,
             const float *const *from,
             gint64 channel,
             const float *w,
             const int n_pixels,
             const int n_maps)
{
  VECTOR weights[CPU_MOST_BLOCKS];

#pragma GCC unroll 4
  for (int m = 0; m < n_maps; m++)
    weights[m] = LOAD (w + m * LANES);
#pragma GCC unroll 8
  for (int p = 0; p < n_pixels; p++)
    {
      VECTOR x = SPREAD (from[p][channel]);
#pragma GCC unroll 4
      for (int m = 0; m < n_maps; m++)
        sums[p * n_maps + m] = MULTIPLY_ADD (x, weights[m], sums[p * n_maps + m]);
    }
}

/* One tap of the few channels of a plain input. */
INLINE void
add_plain (const CpuPanel *panel,
           VECTOR *sums,
           const float *const *from,
           gboolean inside,
           const float *w,
           const int n_pixels,
           const int n_maps)
{
  for (gint64 channel = 0; channel < panel->last; channel++, w += n_maps * LANES)
    {
      gint64 skip = channel * panel->between;
      const float *own[CPU_MOST_PIXELS];

      if (inside)
        {
          add_channel (sums, from, skip, w, n_pixels, n_maps);
          continue;
        }
#pragma GCC unroll 8
      for (int p = 0; p < n_pixels; p++)
        own[p] = from[p] == zeros ? zeros : from[p] + skip;
      add_channel (sums, own, 0, w, n_pixels, n_maps);
    }
}

INLINE void
tile (const CpuPanel *panel, gint64 pixel, const int n_pixels, const int n_maps)
{
  VECTOR sums[CPU_MOST_PIXELS * CPU_MOST_BLOCKS];
  gint64 at[CPU_MOST_PIXELS];
  const float *w = panel->w;
  float *y = panel->y + pixel * LANES;
  float *kept = panel->sums + (pixel - panel->sums_pixel) * LANES;
  guintptr ahead = panel->ahead, next = (guintptr) (n_pixels * panel->pixel_bytes);
  gboolean inside = corners_of (panel, pixel, at, n_pixels);

#pragma GCC unroll 8
  for (int p = 0; p < n_pixels; p++)
#pragma GCC unroll 4
    for (int m = 0; m < n_maps; m++)
      sums[p * n_maps + m] = panel->starts ? LOAD (panel->bias + m * LANES)
                                           : LOAD (kept + m * panel->sums_stride + p * LANES);
  for (gint64 block = 0; block < panel->n_blocks; block++)
    {
      gint64 first = block == 0 ? panel->first : 0;
      gint64 end = block == panel->n_blocks - 1 ? panel->last : panel->block;

      for (gint64 tap = 0; tap < panel->n_taps; tap++)
        {
          const float *from[CPU_MOST_PIXELS];

#pragma GCC unroll 8
          for (int p = 0; p < n_pixels; p++)
            from[p] = inside ? panel->x + (at[p] + panel->steps[tap])
                             : under_tap (panel, pixel + p, at[p], tap);
          for (gint64 line = 0; line < panel->ahead_lines; line++, ahead += CPU_LINE)
            __builtin_prefetch ((gconstpointer) ahead, 0, 2);
          if (panel->n_taps == 1) /* of larger windows the neighbours' have most */
            {
#pragma GCC unroll 8
              for (int p = 0; p < n_pixels; p++)
                __builtin_prefetch ((gconstpointer) ((guintptr) from[p] + next), 0, 3);
            }
          if (panel->between != 1)
            {
              add_plain (panel, sums, from, inside, w, n_pixels, n_maps);
              w += end * n_maps * LANES;
              continue;
            }
#pragma GCC unroll 4
          for (gint64 channel = first; channel < end; channel++, w += n_maps * LANES)
            add_channel (sums, from, channel, w, n_pixels, n_maps);
        }
#pragma GCC unroll 8
      for (int p = 0; p < n_pixels; p++)
        at[p] += panel->in_stride;
    }
  if (panel->ends && panel->add != NULL)
    {
#pragma GCC unroll 8
      for (int p = 0; p < n_pixels; p++)
#pragma GCC unroll 4
        for (int m = 0; m < n_maps; m++)
          sums[p * n_maps + m] = ADD (
              sums[p * n_maps + m],
              LOAD (panel->add + m * panel->out_stride + (pixel + p) * LANES));
    }
  if (panel->ends)
    finish (panel, sums, n_pixels * n_maps);
  if (panel->lane > 0 || panel->lane_end < LANES)
    {
      store_lanes (panel, sums, y, n_pixels, n_maps);
      return;
    }
  float *to = panel->ends ? y : kept;
  gint64 stride = panel->ends ? panel->out_stride : panel->sums_stride;
#pragma GCC unroll 8
  for (int p = 0; p < n_pixels; p++)
#pragma GCC unroll 4
    for (int m = 0; m < n_maps; m++)
      STORE (to + m * stride + p * LANES, sums[p * n_maps + m]);
}

/* Each channel by itself: a vector of the input by a vector of weights. */
INLINE void
depthwise (const CpuPanel *panel, gint64 pixel, const int n_pixels)
{
  VECTOR sums[CPU_MOST_PIXELS];
  gint64 at[CPU_MOST_PIXELS];
  float *y = panel->y + pixel * LANES;
  gboolean inside = corners_of (panel, pixel, at, n_pixels);

#pragma GCC unroll 8
  for (int p = 0; p < n_pixels; p++)
    sums[p] = LOAD (panel->bias);
  for (gint64 tap = 0; tap < panel->n_taps; tap++)
    {
      VECTOR weights = LOAD (panel->w + tap * LANES);

#pragma GCC unroll 8
      for (int p = 0; p < n_pixels; p++)
        {
          const float *from = inside ? panel->x + (at[p] + panel->steps[tap])
                                     : under_tap (panel, pixel + p, at[p], tap);
          sums[p] = MULTIPLY_ADD (LOAD (from), weights, sums[p]);
        }
    }
  if (panel->add != NULL)
    {
#pragma GCC unroll 8
      for (int p = 0; p < n_pixels; p++)
        sums[p] = ADD (sums[p], LOAD (panel->add + (pixel + p) * LANES));
    }
  finish (panel, sums, n_pixels);
#pragma GCC unroll 8
  for (int p = 0; p < n_pixels; p++)
    STORE (y + p * LANES, sums[p]);
}

/* Neighbours of one row whose windows lie inside: what they share is read once. */
INLINE void
depthwise_run (const CpuPanel *panel,
               const CpuDepthwiseRow *row,
               gint64 pixel,
               const int n_pixels,
               const int kernel,
               const int stride)
{
  const float *x = row->x + (pixel * stride - row->pad) * LANES, *w = row->w;
  VECTOR sums[CPU_MOST_PIXELS];

#pragma GCC unroll 8
  for (int p = 0; p < n_pixels; p++)
    sums[p] = LOAD (panel->bias);
  for (gint64 r = 0; r < row->n_rows; r++)
    {
      VECTOR weights[5];

#pragma GCC unroll 5
      for (int t = 0; t < kernel; t++)
        weights[t] = LOAD (w + t * LANES);
#pragma GCC unroll 20
      for (int k = 0; k < (n_pixels - 1) * stride + kernel; k++)
        {
          VECTOR v = LOAD (x + k * LANES);
#pragma GCC unroll 8
          for (int p = 0; p < n_pixels; p++)
            if (k >= p * stride && k < p * stride + kernel)
              sums[p] = MULTIPLY_ADD (v, weights[k - p * stride], sums[p]);
        }
      x += row->width * LANES;
      w += kernel * LANES;
    }
  if (row->add != NULL)
    {
#pragma GCC unroll 8
      for (int p = 0; p < n_pixels; p++)
        sums[p] = ADD (sums[p], LOAD (row->add + (pixel + p) * LANES));
    }
  finish (panel, sums, n_pixels);
#pragma GCC unroll 8
  for (int p = 0; p < n_pixels; p++)
    STORE (row->y + (pixel + p) * LANES, sums[p]);
}

/* A pixel whose window reaches over the left or right edge. */
INLINE void
depthwise_edge (
    const CpuPanel *panel, const CpuDepthwiseRow *row, gint64 pixel, const int kernel, int stride)
{
  gint64 column = pixel * stride - row->pad;
  gint64 first = MAX (0, -column), end = MIN (kernel, row->width - column);
  VECTOR sum = LOAD (panel->bias);

  for (gint64 r = 0; r < row->n_rows; r++)
    for (gint64 t = first; t < end; t++)
      sum = MULTIPLY_ADD (LOAD (row->x + (r * row->width + column + t) * LANES),
                          LOAD (row->w + (r * kernel + t) * LANES), sum);
  if (row->add != NULL)
    sum = ADD (sum, LOAD (row->add + pixel * LANES));
  finish (panel, &sum, 1);
  STORE (row->y + pixel * LANES, sum);
}

INLINE void
depthwise_row (const CpuPanel *panel,
               const CpuDepthwiseRow *row,
               const int kernel,
               const int stride)
{
  gint64 pixel = 0;

  for (; pixel < row->inside; pixel++)
    depthwise_edge (panel, row, pixel, kernel, stride);
  for (; pixel + 8 <= row->end; pixel += 8)
    depthwise_run (panel, row, pixel, 8, kernel, stride);
  if (pixel + 4 <= row->end)
    {
      depthwise_run (panel, row, pixel, 4, kernel, stride);
      pixel += 4;
    }
  if (pixel + 2 <= row->end)
    {
      depthwise_run (panel, row, pixel, 2, kernel, stride);
      pixel += 2;
    }
  if (pixel < row->end)
    {
      depthwise_run (panel, row, pixel, 1, kernel, stride);
      pixel++;
    }
  for (; pixel < row->n; pixel++)
    depthwise_edge (panel, row, pixel, kernel, stride);
}

#define DEPTHWISE_SQUARE(KERNEL, STRIDE)                                                           \
  static TARGET void depthwise_square_##KERNEL##_##STRIDE (const CpuPanel *panel,                  \
                                                           const CpuDepthwiseRow *row)             \
  {                                                                                                \
    depthwise_row (panel, row, KERNEL, STRIDE);                                                    \
  }
DEPTHWISE_SQUARE (3, 1)
DEPTHWISE_SQUARE (3, 2)
DEPTHWISE_SQUARE (5, 1)
DEPTHWISE_SQUARE (5, 2)

#define DEPTHWISE_SQUARES                                                                          \
  [3] = { NULL, depthwise_square_3_1, depthwise_square_3_2 }, [5] = { NULL, depthwise_square_5_1,  \
                                                                      depthwise_square_5_2 }

/* The largest of each channel under a window; a NaN wins and stays. */
static TARGET void
pool_max (const float *x, gint64 row, gint64 n_rows, gint64 n_columns, float *y)
{
  VECTOR most = LOAD (x);

  for (gint64 r = 0; r < n_rows; r++)
    for (gint64 c = 0; c < n_columns; c++)
      {
        VECTOR v = LOAD (x + r * row + c * LANES);
        most = IF_NAN (MAXIMUM (v, most), v);
      }
  STORE (y, most);
}

#define LARGER(v, most) IF_NAN (MAXIMUM (v, most), v)

INLINE VECTOR
column_max (const float *x, gint64 row, gint64 n_rows)
{
  VECTOR most = LOAD (x);

  for (gint64 r = 1; r < n_rows; r++)
    {
      VECTOR v = LOAD (x + r * row);
      most = LARGER (v, most);
    }
  return most;
}

/* Windows of three columns share some of them. */
static TARGET void
pool_max_row (
    const float *x, gint64 row, gint64 n_rows, gint64 n_columns, gint64 step, gint64 n, float *y)
{
  VECTOR left, middle, right;

  if (n_columns != 3 || step > 2)
    {
      for (gint64 p = 0; p < n; p++)
        pool_max (x + p * step * LANES, row, n_rows, n_columns, y + p * LANES);
      return;
    }
  left = column_max (x, row, n_rows);
  middle = column_max (x + LANES, row, n_rows);
  for (gint64 p = 0; p < n; p++)
    {
      right = column_max (x + (p * step + 2) * LANES, row, n_rows);
      left = LARGER (middle, left);
      left = LARGER (right, left);
      STORE (y + p * LANES, left);
      if (p + 1 == n)
        break;
      left = step == 1 ? middle : right;
      middle = step == 1 ? right : column_max (x + (p * step + 3) * LANES, row, n_rows);
    }
}

/* One column of a window in double: the lower and the upper half of the lanes. */
typedef struct
{
  DOUBLES low, high;
} Wide;

INLINE Wide
column_sum (const float *x, gint64 row, gint64 n_rows)
{
  Wide sum = { LOAD_DOUBLES (x), LOAD_DOUBLES (x + LANES / 2) };

  for (gint64 r = 1; r < n_rows; r++)
    {
      sum.low = ADD_DOUBLES (sum.low, LOAD_DOUBLES (x + r * row));
      sum.high = ADD_DOUBLES (sum.high, LOAD_DOUBLES (x + r * row + LANES / 2));
    }
  return sum;
}

static TARGET void
pool_mean_row (
    const float *x, gint64 row, gint64 n_rows, gint64 step, gint64 n, double counted, float *y)
{
  const DOUBLES factor = SPREAD_DOUBLES (1 / counted);
  Wide left = column_sum (x, row, n_rows), middle = column_sum (x + LANES, row, n_rows);

  for (gint64 p = 0; p < n; p++)
    {
      Wide right = column_sum (x + (p * step + 2) * LANES, row, n_rows);
      DOUBLES low = ADD_DOUBLES (ADD_DOUBLES (left.low, middle.low), right.low);
      DOUBLES high = ADD_DOUBLES (ADD_DOUBLES (left.high, middle.high), right.high);

      STORE_DOUBLES (y + p * LANES, MULTIPLY_DOUBLES (low, factor));
      STORE_DOUBLES (y + p * LANES + LANES / 2, MULTIPLY_DOUBLES (high, factor));
      if (p + 1 == n)
        break;
      left = step == 1 ? middle : right;
      middle = step == 1 ? right : column_sum (x + (p * step + 3) * LANES, row, n_rows);
    }
}

INLINE void
shuffle_few (const CpuShuffle *shuffle, const float *x, gint64 plane, float *y, const guint n)
{
  const float *from[CPU_MOST_LANES];
  LANE_PLACES places[CPU_MOST_LANES];
  LANE_MASK masks[CPU_MOST_LANES];

  for (guint k = 0; k < n; k++)
    {
      from[k] = x + shuffle->blocks[k] * plane * LANES;
      places[k] = LOAD_PLACES (shuffle->lanes[k]);
      masks[k] = LANE_BITS (shuffle->masks[k]);
    }
  for (gint64 pixel = 0; pixel < plane; pixel++)
    {
      VECTOR v = ZERO ();

      for (guint k = 0; k < n; k++)
        v = TAKE_LANES (v, masks[k], places[k], LOAD (from[k] + pixel * LANES));
      STORE (y + pixel * LANES, v);
    }
}

/* A block whose lanes come from other blocks. */
static TARGET void
shuffle_block (const CpuShuffle *shuffle, const float *x, gint64 plane, float *y)
{
  switch (shuffle->n)
    {
    case 2:
      shuffle_few (shuffle, x, plane, y, 2);
      break;
    case 3:
      shuffle_few (shuffle, x, plane, y, 3);
      break;
    case 4:
      shuffle_few (shuffle, x, plane, y, 4);
      break;
    default:
      shuffle_few (shuffle, x, plane, y, shuffle->n);
    }
}

#define TILE(MAPS, PIXELS)                                                                         \
  static TARGET void tile_##MAPS##_##PIXELS (const CpuPanel *panel, gint64 pixel)                  \
  {                                                                                                \
    tile (panel, pixel, PIXELS, MAPS);                                                             \
  }
#define DEPTHWISE(PIXELS)                                                                          \
  static TARGET void depthwise_##PIXELS (const CpuPanel *panel, gint64 pixel)                      \
  {                                                                                                \
    depthwise (panel, pixel, PIXELS);                                                              \
  }
#define TILES_6(MAPS)                                                                              \
  TILE (MAPS, 1) TILE (MAPS, 2) TILE (MAPS, 3) TILE (MAPS, 4) TILE (MAPS, 5) TILE (MAPS, 6)
#define TILES_8(MAPS) TILES_6 (MAPS) TILE (MAPS, 7) TILE (MAPS, 8)

#define ROW_6(MAPS)                                                                                \
  NULL, tile_##MAPS##_1, tile_##MAPS##_2, tile_##MAPS##_3, tile_##MAPS##_4, tile_##MAPS##_5,       \
      tile_##MAPS##_6
#define ROW_8(MAPS) ROW_6 (MAPS), tile_##MAPS##_7, tile_##MAPS##_8

DEPTHWISE (1)
DEPTHWISE (2)
DEPTHWISE (3)
DEPTHWISE (4)
DEPTHWISE (5)
DEPTHWISE (6)
DEPTHWISE (7)
DEPTHWISE (8)

#define DEPTHWISE_ROW                                                                              \
  NULL, depthwise_1, depthwise_2, depthwise_3, depthwise_4, depthwise_5, depthwise_6, depthwise_7, \
      depthwise_8
