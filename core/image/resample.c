/* Pictures in other sizes, and the right way up. */
#include "config.h"

#include "core/image/image.h"

#include <math.h>
#include <string.h>

/* -- the right way up -- */

/* Where the pixel (@x, @y) of the picture as it is meant lies in the file, by Exif 2.32, 4.6.4 A:
 * 2 is mirrored, 3 turned by half, 6 and 8 by a quarter, the others both. */
static gsize
pixel_in_file (const IrImage *image, gsize x, gsize y)
{
  const gsize width = (gsize) image->width, height = (gsize) image->height;
  const gboolean swapped = image->orientation >= 5;
  const gboolean from_right = image->orientation == 2 || image->orientation == 3 ||
                              image->orientation == 7 || image->orientation == 8;
  const gboolean from_below = image->orientation == 3 || image->orientation == 4 ||
                              image->orientation == 6 || image->orientation == 7;
  const gsize column = swapped ? y : x, row = swapped ? x : y;

  return (from_below ? height - 1 - row : row) * width + (from_right ? width - 1 - column : column);
}

/**
 * ir_image_turn_upright:
 * @image: a decoded picture
 *
 * Turns the pixels as the file says that they are meant, and says so in its orientation. Cameras write
 * pictures as the sensor lay.
 *
 * Returns: %FALSE where there is no memory; nothing has changed then
 */
gboolean
ir_image_turn_upright (IrImage *image)
{
  const gboolean swapped = image->orientation >= 5;
  const gsize width = (gsize) (swapped ? image->height : image->width);
  const gsize height = (gsize) (swapped ? image->width : image->height);
  guint8 *turned;

  if (image->orientation < 2 || image->orientation > 8)
    return TRUE;
  turned = g_try_malloc_n (width * height, 3);
  if (turned == NULL)
    return FALSE;
  for (gsize y = 0; y < height; y++)
    for (gsize x = 0; x < width; x++)
      memcpy (turned + (y * width + x) * 3, image->rgb + pixel_in_file (image, x, y) * 3, 3);
  g_free (image->rgb);
  *image = (IrImage){ (gint64) width, (gint64) height, turned, 1 };
  return TRUE;
}

/* -- other sizes -- */

/* The pixels of the file that one of the new ones is the mean of, along one axis, and how much each
 * counts. */
typedef struct
{
  gint64 first, n;
  double *weights;
} Span;

static void
free_spans (Span *spans, gint64 n)
{
  for (gint64 i = 0; spans != NULL && i < n; i++)
    g_free (spans[i].weights);
  g_free (spans);
}

/* A triangle as wide as a new pixel where the picture shrinks, so that every pixel of the file counts,
 * and as wide as one of the file where it grows: linear interpolation. */
static void
find_span (Span *span, double centre, double reach, gint64 n_pixels)
{
  double sum = 0;

  span->first = CLAMP ((gint64) floor (centre - reach), 0, n_pixels - 1);
  span->n = CLAMP ((gint64) ceil (centre + reach), span->first + 1, n_pixels) - span->first;
  span->weights = g_try_new0 (double, span->n);
  for (gint64 i = 0; span->weights != NULL && i < span->n; i++)
    {
      span->weights[i] = MAX (1 - fabs ((double) (span->first + i) + 0.5 - centre) / reach, 0);
      sum += span->weights[i];
    }
  for (gint64 i = 0; span->weights != NULL && i < span->n; i++)
    span->weights[i] = sum > 0 ? span->weights[i] / sum : 1.0 / (double) span->n;
}

/* (nullable): no memory */
static Span *
find_spans (double from, double length, gint64 n, gint64 n_pixels)
{
  Span *spans = g_try_new0 (Span, n);
  const double step = length / (double) n;

  for (gint64 i = 0; spans != NULL && i < n; i++)
    {
      find_span (&spans[i], from + ((double) i + 0.5) * step, MAX (step, 1), n_pixels);
      if (spans[i].weights != NULL)
        continue;
      free_spans (spans, n);
      return NULL;
    }
  return spans;
}

/* Rows of the file become rows of @width pixels. */
static void
resample_rows (const IrImage *image, const Span *columns, gint64 width, float *to)
{
  for (gint64 y = 0; y < image->height; y++)
    for (gint64 x = 0; x < width; x++)
      {
        double sums[3] = { 0 };

        for (gint64 i = 0; i < columns[x].n; i++)
          for (guint c = 0; c < 3; c++)
            sums[c] += columns[x].weights[i] *
                       image->rgb[(y * image->width + columns[x].first + i) * 3 + c];
        for (guint c = 0; c < 3; c++)
          to[(y * width + x) * 3 + c] = (float) sums[c];
      }
}

static void
resample_columns (const float *from, const Span *rows, gint64 width, gint64 height, float *to)
{
  for (gint64 y = 0; y < height; y++)
    for (gint64 i = 0; i < width * 3; i++)
      {
        double sum = 0;

        for (gint64 k = 0; k < rows[y].n; k++)
          sum += rows[y].weights[k] * from[(rows[y].first + k) * width * 3 + i];
        to[y * width * 3 + i] = (float) sum;
      }
}

/**
 * ir_image_resample:
 * @image: a picture
 * @box: the part of it, in its pixels
 * @width: of the result, 1 or more
 * @height: of the result, 1 or more
 * @to: (out caller-allocates): [@height, @width, 3], 0 to 255
 *
 * Each new pixel is a mean of those around its place, weighted by a triangle. Nothing is rounded between
 * the axes.
 *
 * Returns: %FALSE where there is no memory
 */
gboolean
ir_image_resample (
    const IrImage *image, const IrImageBox *box, gint64 width, gint64 height, float *to)
{
  Span *columns = find_spans (box->x, box->width, width, image->width);
  Span *rows = find_spans (box->y, box->height, height, image->height);
  g_autofree float *between = g_try_new (float, (gsize) (image->height * width * 3));
  const gboolean can = columns != NULL && rows != NULL && between != NULL;

  if (can)
    {
      resample_rows (image, columns, width, between);
      resample_columns (between, rows, width, height, to);
    }
  free_spans (columns, width);
  free_spans (rows, height);
  return can;
}
