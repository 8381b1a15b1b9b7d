/* The transforms of Winograd's convolution for one vector unit: included once for each, after
 * direct-tile.h. A tile is six by six pixels of the input, which give four by four of the output;
 * each transform is one along the columns and one along the rows, all lanes at once.
 *
 * Source: Lavin and Gray 2016, Fast algorithms for convolutional neural networks. */
#pragma once

#define TIMES(x, c)   MULTIPLY (x, SPREAD (c))
#define PLUS(x, c, y) MULTIPLY_ADD (x, SPREAD (c), y) /* x c + y */

/* Six of the input to six of the products' side. */
INLINE void
winograd_in_line (const VECTOR d[6], VECTOR v[6])
{
  VECTOR even = PLUS (d[2], -4, d[4]), odd = PLUS (d[1], -4, d[3]);
  VECTOR far = SUBTRACT (d[4], d[2]), near = SUBTRACT (d[3], d[1]);

  v[0] = PLUS (d[0], 4, PLUS (d[2], -5, d[4]));
  v[1] = ADD (even, odd);
  v[2] = SUBTRACT (even, odd);
  v[3] = PLUS (near, 2, far);
  v[4] = PLUS (near, -2, far);
  v[5] = PLUS (d[1], 4, PLUS (d[3], -5, d[5]));
}

/* Six of the products' side to four of the output. */
INLINE void
winograd_out_line (const VECTOR m[6], VECTOR y[4])
{
  VECTOR near = ADD (m[1], m[2]), near_odd = SUBTRACT (m[1], m[2]);
  VECTOR far = ADD (m[3], m[4]), far_odd = SUBTRACT (m[3], m[4]);

  y[0] = ADD (ADD (m[0], near), far);
  y[1] = PLUS (far_odd, 2, near_odd);
  y[2] = PLUS (far, 4, near);
  y[3] = ADD (PLUS (far_odd, 8, near_odd), m[5]);
}

static TARGET void
winograd_in (const CpuWinogradTile *tile, const float *x, float *v)
{
  VECTOR half[6][6]; /* by column */

  for (int c = 0; c < 6; c++)
    {
      gint64 column = tile->column + c;
      VECTOR d[6];

#pragma GCC unroll 6
      for (int r = 0; r < 6; r++)
        {
          gint64 row = tile->row + r;
          gboolean inside = (guint64) row < (guint64) tile->height &&
                            (guint64) column < (guint64) tile->width;

          d[r] = inside ? LOAD (x + (row * tile->width + column) * LANES) : ZERO ();
        }
      winograd_in_line (d, half[c]);
    }
  for (int r = 0; r < 6; r++)
    {
      VECTOR d[6], line[6];

#pragma GCC unroll 6
      for (int c = 0; c < 6; c++)
        d[c] = half[c][r];
      winograd_in_line (d, line);
#pragma GCC unroll 6
      for (int c = 0; c < 6; c++)
        STORE (v + (r * 6 + c) * tile->stride, line[c]);
    }
}

/* @panel: bias, residual and output of the tile's block, at its first pixel. FALSE: an element is
 * not finite. */
static TARGET gboolean
winograd_out (const CpuWinogradTile *tile, const CpuPanel *panel, const float *m)
{
  VECTOR half[4][6], bias = LOAD (panel->bias), check = ZERO ();

  for (int c = 0; c < 6; c++)
    {
      VECTOR line[6], y[4];

#pragma GCC unroll 6
      for (int r = 0; r < 6; r++)
        line[r] = LOAD (m + (r * 6 + c) * tile->stride);
      winograd_out_line (line, y);
#pragma GCC unroll 4
      for (int r = 0; r < 4; r++)
        half[r][c] = y[r];
    }
  for (int r = 0; r < tile->n_rows; r++)
    {
      gint64 at = r * tile->out_width * LANES;
      VECTOR y[4];

      winograd_out_line (half[r], y);
#pragma GCC unroll 4
      for (int c = 0; c < 4; c++)
        {
          check = MULTIPLY_ADD (y[c], ZERO (), check);
          y[c] = ADD (y[c], bias);
          if (panel->add != NULL && c < tile->n_columns)
            y[c] = ADD (y[c], LOAD (panel->add + at + c * LANES));
        }
      finish (panel, y, 4);
#pragma GCC unroll 4
      for (int c = 0; c < 4; c++)
        if (c < tile->n_columns)
          STORE (panel->y + at + c * LANES, y[c]);
    }
  return IS_ZERO (check);
}
