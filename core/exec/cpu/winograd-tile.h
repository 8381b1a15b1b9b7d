/* The transforms of Winograd's convolution for one vector unit: included once for each, after
 * direct-tile.h. A tile is six by six pixels of the input, which give four by four of the output,
 * or four by four, which give two by two; each transform is one along the columns and one along the
 * rows, all lanes at once.
 *
 * Source: Lavin and Gray 2016, Fast algorithms for convolutional neural networks. */
#pragma once

#define TIMES(x, c)   MULTIPLY (x, SPREAD (c))
#define PLUS(x, c, y) MULTIPLY_ADD (x, SPREAD (c), y) /* x c + y */

/* Six, or four, of the input to as many of the products' side. */
INLINE void
winograd_in_line (const VECTOR *d, VECTOR *v, const int size)
{
  if (size == 4)
    {
      v[0] = SUBTRACT (d[0], d[2]);
      v[1] = ADD (d[1], d[2]);
      v[2] = SUBTRACT (d[2], d[1]);
      v[3] = SUBTRACT (d[1], d[3]);
      return;
    }
  VECTOR even = PLUS (d[2], -4, d[4]), odd = PLUS (d[1], -4, d[3]);
  VECTOR far = SUBTRACT (d[4], d[2]), near = SUBTRACT (d[3], d[1]);

  v[0] = PLUS (d[0], 4, PLUS (d[2], -5, d[4]));
  v[1] = ADD (even, odd);
  v[2] = SUBTRACT (even, odd);
  v[3] = PLUS (near, 2, far);
  v[4] = PLUS (near, -2, far);
  v[5] = PLUS (d[1], 4, PLUS (d[3], -5, d[5]));
}

/* Six of the products' side to four of the output, or four to two. */
INLINE void
winograd_out_line (const VECTOR *m, VECTOR *y, const int size)
{
  if (size == 4)
    {
      y[0] = ADD (ADD (m[0], m[1]), m[2]);
      y[1] = SUBTRACT (SUBTRACT (m[1], m[2]), m[3]);
      return;
    }
  VECTOR near = ADD (m[1], m[2]), near_odd = SUBTRACT (m[1], m[2]);
  VECTOR far = ADD (m[3], m[4]), far_odd = SUBTRACT (m[3], m[4]);

  y[0] = ADD (ADD (m[0], near), far);
  y[1] = PLUS (far_odd, 2, near_odd);
  y[2] = PLUS (far, 4, near);
  y[3] = ADD (PLUS (far_odd, 8, near_odd), m[5]);
}

INLINE void
winograd_in (const CpuWinogradTile *tile, const float *x, float *v, const int size)
{
  VECTOR half[6][6]; /* by column */

  for (int c = 0; c < size; c++)
    {
      gint64 column = tile->column + c;
      VECTOR d[6];

#pragma GCC unroll 6
      for (int r = 0; r < size; r++)
        {
          gint64 row = tile->row + r;
          gboolean inside = (guint64) row < (guint64) tile->height &&
                            (guint64) column < (guint64) tile->width;

          d[r] = inside ? LOAD (x + (row * tile->width + column) * LANES) : ZERO ();
        }
      winograd_in_line (d, half[c], size);
    }
  for (int r = 0; r < size; r++)
    {
      VECTOR d[6], line[6];

#pragma GCC unroll 6
      for (int c = 0; c < size; c++)
        d[c] = half[c][r];
      winograd_in_line (d, line, size);
#pragma GCC unroll 6
      for (int c = 0; c < size; c++)
        STORE (v + (r * size + c) * tile->stride, line[c]);
    }
}

/* @panel: bias, residual and output of the tile's block, at its first pixel. FALSE: an element is
 * not finite. */
INLINE gboolean
winograd_out (const CpuWinogradTile *tile, const CpuPanel *panel, const float *m, const int size)
{
  const int n = size - 2;
  VECTOR half[4][6], bias = LOAD (panel->bias), check = ZERO ();

  for (int c = 0; c < size; c++)
    {
      VECTOR line[6], y[4];

#pragma GCC unroll 6
      for (int r = 0; r < size; r++)
        line[r] = LOAD (m + (r * size + c) * tile->stride);
      winograd_out_line (line, y, size);
#pragma GCC unroll 4
      for (int r = 0; r < n; r++)
        half[r][c] = y[r];
    }
  for (int r = 0; r < tile->n_rows; r++)
    {
      gint64 at = r * tile->out_width * LANES;
      VECTOR y[4];

      winograd_out_line (half[r], y, size);
#pragma GCC unroll 4
      for (int c = 0; c < n; c++)
        {
          check = MULTIPLY_ADD (y[c], ZERO (), check);
          y[c] = ADD (y[c], bias);
          if (panel->add != NULL && c < tile->n_columns)
            y[c] = ADD (y[c], LOAD (panel->add + at + c * LANES));
        }
      finish (panel, y, n);
#pragma GCC unroll 4
      for (int c = 0; c < n; c++)
        if (c < tile->n_columns)
          STORE (panel->y + at + c * LANES, y[c]);
    }
  return IS_ZERO (check);
}

#define WINOGRAD(SIZE)                                                                             \
  static TARGET void winograd_in_##SIZE (const CpuWinogradTile *tile, const float *x, float *v)    \
  {                                                                                                \
    winograd_in (tile, x, v, SIZE);                                                                \
  }                                                                                                \
  static TARGET gboolean winograd_out_##SIZE (const CpuWinogradTile *tile, const CpuPanel *panel,  \
                                              const float *m)                                      \
  {                                                                                                \
    return winograd_out (tile, panel, m, SIZE);                                                    \
  }

WINOGRAD (4)
WINOGRAD (6)
