/* Pictures of tensors. Of the elements that share a pixel the one is drawn that must not be missed: NaN,
 * then an infinity, then the largest magnitude. */
#include "config.h"

#include "core/render/tensor-picture.h"

#include "core/op/op.h"
#include "core/render/render.h"

#include <math.h>
#include <string.h>

#define MOST         1024 /* px of a side */
#define WRAP         128  /* columns: one row that is longer is wrapped */
#define GAP          1    /* px between planes */
#define LEAST_SIDE   256  /* px of the files: small planes are drawn larger */
#define LEGEND       28   /* px of the files, below */
#define LEGEND_WIDTH 160

/* -- layouts -- */

static gboolean refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, IR_RENDER_ERROR, IR_RENDER_ERROR_FORMAT, text);
  return FALSE;
}

static gint64
size_of (const IrTensor *tensor, int axis)
{
  return axis >= 0 ? ir_tensor_dims (tensor)[axis] : 1;
}

/* How many elements along an axis are shown; not of tiles, which are all. */
static gint64
n_shown (const IrTensorLayout *layout, const IrTensor *tensor, int axis)
{
  const gint64 n = axis < 0                      ? 1
                   : axis == layout->row_axis    ? layout->n_rows
                   : axis == layout->column_axis ? layout->n_columns
                                                 : 0;

  return n > 0 ? n : size_of (tensor, axis);
}

/* The last two axes longer than 1. */
static void
find_plane (IrTensorLayout *layout, const IrTensor *tensor)
{
  layout->row_axis = layout->column_axis = layout->tile_axis = layout->channel_axis = -1;
  for (int i = (int) ir_tensor_rank (tensor) - 1; i >= 0 && layout->row_axis < 0; i--)
    if (size_of (tensor, i) > 1 && layout->column_axis < 0)
      layout->column_axis = i;
    else if (layout->column_axis >= 0 && size_of (tensor, i) > 1)
      layout->row_axis = i;
}

static gboolean
is_channels (gint64 n)
{
  return n == 1 || n == 3 || n == 4;
}

/* [.., C, H, W] or [.., H, W, C] */
static gboolean
find_image (IrTensorLayout *layout, const IrTensor *tensor, GError **error)
{
  const int rank = (int) ir_tensor_rank (tensor);

  if (rank >= 3 && is_channels (size_of (tensor, rank - 3)))
    layout->channel_axis = rank - 3;
  else if (rank >= 3 && is_channels (size_of (tensor, rank - 1)))
    layout->channel_axis = rank - 1;
  else
    return refuse (error, "needs an axis of 1, 3 or 4 channels before or behind rows and columns");
  layout->row_axis = layout->channel_axis == rank - 1 ? rank - 3 : rank - 2;
  layout->column_axis = layout->row_axis + 1;
  return TRUE;
}

/**
 * ir_tensor_layout_init:
 * @layout: (out caller-allocates): the layout
 * @tensor: what is to be shown
 * @as: "heat": one plane; "tiles": all planes along the axis before it; "image": of colours, NCHW or
 *   NHWC; "line": the last axis longer than 1; "auto": a line of vectors, else a plane
 * @error: return location for an error
 *
 * Returns: %FALSE if @tensor has no numbers, or not those axes
 */
gboolean
ir_tensor_layout_init (IrTensorLayout *layout,
                       const IrTensor *tensor,
                       const char *as,
                       GError **error)
{
  const IrDtypeKind kind = ir_dtype_kind (ir_tensor_dtype (tensor));

  *layout = (IrTensorLayout){ 0 };
  if (ir_tensor_is_container (tensor) || kind == IR_DTYPE_KIND_STRING ||
      kind == IR_DTYPE_KIND_COMPLEX || ir_tensor_n_elements (tensor) == 0)
    return refuse (error, "there are no real numbers to be drawn");
  find_plane (layout, tensor);
  layout->line = strcmp (as, "line") == 0 ||
                 (strcmp (as, "auto") == 0 && layout->row_axis < 0 && layout->column_axis >= 0);
  if (layout->line)
    layout->row_axis = -1;
  if (layout->line || strcmp (as, "heat") == 0 || strcmp (as, "auto") == 0)
    return TRUE;
  if (strcmp (as, "image") == 0)
    return find_image (layout, tensor, error);
  if (strcmp (as, "tiles") != 0)
    return refuse (error, "“%s”: needs auto, heat, tiles, image or line", as);
  for (int i = layout->row_axis - 1; i >= 0 && layout->tile_axis < 0; i--)
    layout->tile_axis = size_of (tensor, i) > 1 ? i : -1;
  return layout->tile_axis >= 0 ||
         refuse (error, "needs a third axis longer than 1, whose planes stand beside each other");
}

/* A part of an axis, "10:20", "10:" or ":20"; "": all of it. */
static gboolean
set_part (IrTensorLayout *layout,
          const IrTensor *tensor,
          int axis,
          const char *text,
          gint64 *n,
          GError **error)
{
  const gint64 size = size_of (tensor, axis);
  const char *colon = strchr (text, ':');
  g_autofree char *first = g_strndup (text, colon != NULL ? (gsize) (colon - text) : 0);
  gint64 from = 0, to = size;

  layout->at[axis] = *n = 0;
  if (text[0] == '\0')
    return TRUE;
  if (colon == NULL ||
      (first[0] != '\0' && !g_ascii_string_to_signed (first, 10, 0, size - 1, &from, NULL)) ||
      (colon[1] != '\0' && !g_ascii_string_to_signed (colon + 1, 10, from + 1, size, &to, NULL)))
    return refuse (
        error,
        "“%s”: a part of an axis needs its first index and the one behind its last, as 0:%" G_GINT64_FORMAT,
        text, size);
  layout->at[axis] = from;
  *n = to - from;
  return TRUE;
}

/**
 * ir_tensor_layout_set_axes:
 * @layout: a layout
 * @tensor: what is to be shown
 * @text: an entry per axis: "r", "c", "t" or an index, as in "0,t,r,c"; of rows and columns a part, as in
 *   "r10:20"
 * @error: return location for an error
 *
 * Returns: %FALSE if that are not as many entries as @tensor has axes, or an index is out of range
 */
gboolean
ir_tensor_layout_set_axes (IrTensorLayout *layout,
                           const IrTensor *tensor,
                           const char *text,
                           GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  const guint rank = ir_tensor_rank (tensor);

  if (g_strv_length (parts) != rank)
    return refuse (error, "“%s”: needs an entry for each of %u axes: r, c, t or an index", text,
                   rank);
  layout->row_axis = layout->column_axis = layout->tile_axis = layout->channel_axis = -1;
  layout->n_rows = layout->n_columns = 0;
  for (guint i = 0; i < rank; i++)
    {
      const char *part = g_strstrip (parts[i]);
      int *axis = part[0] == 'r'            ? &layout->row_axis
                  : part[0] == 'c'          ? &layout->column_axis
                  : strcmp (part, "t") == 0 ? &layout->tile_axis
                                            : NULL;

      if (axis != NULL && *axis >= 0)
        return refuse (error, "“%s”: two axes are %c", text, part[0]);
      if (axis != NULL)
        *axis = (int) i;
      if (axis != NULL && axis != &layout->tile_axis)
        {
          if (!set_part (layout, tensor, (int) i, part + 1,
                         part[0] == 'r' ? &layout->n_rows : &layout->n_columns, error))
            return FALSE;
        }
      else if (axis != NULL)
        layout->at[i] = 0;
      else if (!g_ascii_string_to_signed (part, 10, 0, size_of (tensor, (int) i) - 1,
                                          &layout->at[i], NULL))
        return refuse (error, "“%s”: needs r, c, t or an index from 0 to %" G_GINT64_FORMAT, part,
                       size_of (tensor, (int) i) - 1);
    }
  if (layout->line && (layout->row_axis >= 0 || layout->tile_axis >= 0 || layout->column_axis < 0))
    return refuse (error, "“%s”: a line needs one axis that is c, and an index for each other",
                   text);
  return TRUE;
}

static gboolean
is_shown (const IrTensorLayout *layout, int axis)
{
  return axis == layout->row_axis || axis == layout->column_axis || axis == layout->tile_axis ||
         axis == layout->channel_axis;
}

/**
 * ir_tensor_layout_set_plane:
 * @layout: a layout
 * @tensor: what is to be shown
 * @plane: from 0 on, in the order of memory
 *
 * Sets the indices along the axes that are not shown.
 */
void
ir_tensor_layout_set_plane (IrTensorLayout *layout, const IrTensor *tensor, guint64 plane)
{
  for (int i = (int) ir_tensor_rank (tensor) - 1; i >= 0; i--)
    if (!is_shown (layout, i))
      {
        const guint64 size = (guint64) MAX (size_of (tensor, i), 1);

        layout->at[i] = (gint64) (plane % size);
        plane /= size;
      }
}

/**
 * ir_tensor_layout_n_planes:
 * @layout: a layout
 * @tensor: what is to be shown
 *
 * Returns: how many pictures of this kind there are, along the axes that are not shown
 */
guint64
ir_tensor_layout_n_planes (const IrTensorLayout *layout, const IrTensor *tensor)
{
  guint64 n = 1;

  for (int i = 0; i < (int) ir_tensor_rank (tensor); i++)
    n *= is_shown (layout, i) ? 1 : (guint64) size_of (tensor, i);
  return n;
}

/**
 * ir_tensor_layout_text:
 * @layout: a layout
 * @tensor: what is to be shown
 *
 * Returns: (transfer full): the index, with ":" for the axes that are shown: "[0, 2, :, 10:20]"
 */
char *
ir_tensor_layout_text (const IrTensorLayout *layout, const IrTensor *tensor)
{
  GString *text = g_string_new ("[");

  for (int i = 0; i < (int) ir_tensor_rank (tensor); i++)
    {
      g_string_append (text, i > 0 ? ", " : "");
      const gint64 n = n_shown (layout, tensor, i);

      if (is_shown (layout, i) && n < size_of (tensor, i))
        g_string_append_printf (text, "%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT, layout->at[i],
                                layout->at[i] + n);
      else if (is_shown (layout, i))
        g_string_append_c (text, ':');
      else
        g_string_append_printf (text, "%" G_GINT64_FORMAT, layout->at[i]);
    }
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

/* -- elements -- */

typedef struct
{
  const IrTensor *tensor, *minus;
  guint64 stride[IR_MAX_RANK];
  guint64 origin; /* of the element at row, column, tile and channel 0 */
} Reader;

static void
reader_init (Reader *reader,
             const IrTensor *tensor,
             const IrTensor *minus,
             const IrTensorLayout *layout)
{
  guint64 stride = 1;

  *reader = (Reader){ .tensor = tensor, .minus = minus };
  for (int i = (int) ir_tensor_rank (tensor) - 1; i >= 0; i--)
    {
      reader->stride[i] = stride;
      reader->origin += (guint64) CLAMP (layout->at[i], 0, size_of (tensor, i) - 1) * stride;
      stride *= (guint64) size_of (tensor, i);
    }
}

static guint64
step (const Reader *reader, int axis)
{
  return axis >= 0 ? reader->stride[axis] : 0;
}

static guint64
element_at (
    const Reader *reader, const IrTensorLayout *layout, guint64 tile, guint64 row, guint64 column)
{
  return reader->origin + tile * step (reader, layout->tile_axis) +
         row * step (reader, layout->row_axis) + column * step (reader, layout->column_axis);
}

/* Of a picture, which may be wrapped. FALSE: behind the end */
static gboolean
find_element (const Reader *reader,
              const IrTensorPicture *picture,
              guint64 tile,
              guint64 row,
              guint64 column,
              guint64 *index)
{
  if (picture->wrapped > 0)
    {
      column += row * picture->columns;
      row = 0;
      if (column >= picture->wrapped)
        return FALSE;
    }
  *index = element_at (reader, &picture->layout, tile, row, column);
  return TRUE;
}

static double
read_value (const Reader *reader, guint64 index)
{
  return ir_tensor_minus (reader->tensor, reader->minus, index);
}

/**
 * ir_tensor_layout_curve:
 * @layout: a layout that is a line
 * @tensor: what is shown
 * @minus: (nullable): of the same shape: then it is @tensor - @minus
 * @cancellable: (nullable): polled
 *
 * Returns: (transfer full) (nullable): the line, free with g_free(); %NULL if it was cancelled
 */
IrTensorCurve *
ir_tensor_layout_curve (const IrTensorLayout *layout,
                        const IrTensor *tensor,
                        const IrTensor *minus,
                        GCancellable *cancellable)
{
  Reader reader;

  reader_init (&reader, tensor, minus, layout);
  return ir_tensor_curve_new (tensor, minus, reader.origin, step (&reader, layout->column_axis),
                              (guint64) n_shown (layout, tensor, layout->column_axis),
                              layout->samples * layout->samples * 16, cancellable);
}

/* -- colours -- */

/**
 * ir_tensor_colour:
 * @value: of an element
 * @low: of the strongest colour below zero, or of the first of a ramp
 * @high: of the strongest colour
 * @diverging: whether colours go apart from zero
 * @palette: the colours in use
 *
 * Returns: 0xRRGGBB; NaN and infinities have colours of their own
 */
guint32
ir_tensor_colour (
    double value, double low, double high, gboolean diverging, const IrPalette *palette)
{
  double most;

  if (isnan (value))
    return palette->problem[2];
  if (isinf (value))
    return palette->problem[1];
  if (!diverging)
    return ir_palette_ramp (palette, high > low ? (value - low) / (high - low) : 0);
  most = MAX (fabs (low), fabs (high));
  return ir_colour_mix (palette->box,
                        palette->header[value < 0 ? IR_FAMILY_ACTIVATION : IR_FAMILY_LINEAR],
                        most > 0 ? sqrt (MIN (fabs (value) / most, 1)) : 0);
}

static gboolean
is_stronger (double value, double than)
{
  if (isnan (than) || isnan (value))
    return !isnan (than);
  return fabs (value) > fabs (than);
}

/* The element of a block that must not be missed. FALSE: it lies behind the end */
static gboolean
strongest (const Reader *reader,
           const IrTensorPicture *picture,
           guint64 tile,
           const guint64 rows[2],
           const guint64 columns[2],
           double *best)
{
  const guint samples = picture->layout.samples;
  const guint64 down = samples > 0 ? MAX ((rows[1] - rows[0]) / samples, 1) : 1,
                right = samples > 0 ? MAX ((columns[1] - columns[0]) / samples, 1) : 1;
  gboolean some = FALSE;
  guint64 index;

  for (guint64 r = rows[0]; r < rows[1]; r += down)
    for (guint64 c = columns[0]; c < columns[1]; c += right)
      {
        if (!find_element (reader, picture, tile, r, c, &index))
          continue;
        const double value = read_value (reader, index);

        if (!some || is_stronger (value, *best))
          *best = value;
        some = TRUE;
      }
  return some;
}

static guint32
grey_of (double value, const IrTensorStats *stats)
{
  const double range = stats->max - stats->min;
  const double part = range > 0 && isfinite (value) ? (value - stats->min) / range : 0;

  return (guint32) (CLAMP (part, 0, 1) * 255 + 0.5);
}

/* Of an image: channels from the least to the largest element; a fourth is left out. */
static guint32
pixel_of_image (const Reader *reader,
                const IrTensorLayout *layout,
                const IrTensorStats *stats,
                guint64 row,
                guint64 column)
{
  const guint64 at = element_at (reader, layout, 0, row, column),
                channel = step (reader, layout->channel_axis);
  const gboolean one = size_of (reader->tensor, layout->channel_axis) == 1;
  guint32 colour = 0;

  for (guint i = 0; i < 3; i++)
    colour = colour << 8 | grey_of (read_value (reader, at + (one ? 0 : i * channel)), stats);
  return colour;
}

/* -- pictures -- */

static void
place_tiles (IrTensorPicture *picture, const IrTensor *tensor, guint most)
{
  const IrTensorLayout *layout = &picture->layout;
  guint across, down, room;

  picture->rows = (guint64) n_shown (layout, tensor, layout->row_axis);
  picture->columns = (guint64) n_shown (layout, tensor, layout->column_axis);
  if (layout->row_axis < 0 && layout->tile_axis < 0 && layout->channel_axis < 0 &&
      picture->columns > WRAP)
    {
      picture->wrapped = picture->columns;
      picture->columns = MAX (WRAP, (guint64) ceil (sqrt ((double) picture->wrapped)));
      picture->rows = (picture->wrapped + picture->columns - 1) / picture->columns;
    }
  picture->n_tiles = (guint) MIN (size_of (tensor, layout->tile_axis),
                                  (gint64) most / 2 * most / 2);
  /* About square, with planes as they are. */
  across = (guint) ceil (sqrt ((double) picture->n_tiles * (double) MAX (picture->rows, 1) /
                               (double) MAX (picture->columns, 1)));
  picture->n_across = across = CLAMP (across, 1, MIN (MAX (picture->n_tiles, 1), most / 2));
  down = (picture->n_tiles + across - 1) / across;
  room = MAX (most / MAX (across, 1), 2) - GAP;
  picture->tile_width = (guint) MIN (picture->columns, room);
  room = MAX (most / MAX (down, 1), 2) - GAP;
  picture->tile_height = (guint) MIN (picture->rows, room);
  picture->width = across * (picture->tile_width + GAP) - GAP;
  picture->height = down * (picture->tile_height + GAP) - GAP;
  picture->sampled = picture->tile_width < picture->columns ||
                     picture->tile_height < picture->rows ||
                     picture->n_tiles < size_of (tensor, layout->tile_axis);
}

static void
fill_tile (IrTensorPicture *picture,
           const Reader *reader,
           const IrTensorStats *stats,
           const IrPalette *palette,
           guint tile)
{
  const guint left = tile % picture->n_across * (picture->tile_width + GAP),
              top = tile / picture->n_across * (picture->tile_height + GAP);

  for (guint y = 0; y < picture->tile_height; y++)
    for (guint x = 0; x < picture->tile_width; x++)
      {
        const guint64 rows[2] = { y * picture->rows / picture->tile_height,
                                  (y + 1) * picture->rows / picture->tile_height },
                      columns[2] = { x * picture->columns / picture->tile_width,
                                     (x + 1) * picture->columns / picture->tile_width };
        guint32 *pixel = &picture->pixels[(gsize) (top + y) * picture->width + left + x];

        if (picture->layout.channel_axis >= 0)
          {
            *pixel = pixel_of_image (reader, &picture->layout, stats, rows[0], columns[0]);
            continue;
          }
        double value;
        if (!strongest (reader, picture, tile, rows, columns, &value))
          continue;
        picture->has_nan = picture->has_nan || isnan (value);
        picture->has_inf = picture->has_inf || isinf (value);
        *pixel = ir_tensor_colour (value, picture->low, picture->high, picture->diverging, palette);
      }
}

/**
 * ir_tensor_picture_new:
 * @tensor: what is shown; dense, as single elements of others are slow to find
 * @minus: (nullable): of the same shape: then it is @tensor - @minus
 * @stats: of what is shown: the colours go by its range
 * @layout: which elements lie where
 * @colours: of the palette
 * @cancellable: (nullable): polled between rows of planes
 *
 * Returns: (transfer full) (nullable): the picture; %NULL if it was cancelled
 */
IrTensorPicture *
ir_tensor_picture_new (const IrTensor *tensor,
                       const IrTensor *minus,
                       const IrTensorStats *stats,
                       const IrTensorLayout *layout,
                       IrPaletteKind colours,
                       GCancellable *cancellable)
{
  g_autoptr (IrTensorPicture) picture = g_new0 (IrTensorPicture, 1);
  const IrPalette *palette = ir_palette (colours);
  Reader reader;

  picture->layout = *layout;
  picture->low = stats->min;
  picture->high = stats->max;
  picture->diverging = layout->colours == IR_TENSOR_COLOURS_DIVERGING ||
                       (layout->colours == IR_TENSOR_COLOURS_AUTO && stats->min < 0 &&
                        stats->max > 0);
  if (picture->diverging)
    {
      picture->high = MAX (fabs (stats->min), fabs (stats->max));
      picture->low = -picture->high;
    }
  place_tiles (picture, tensor, layout->most != 0 ? layout->most : MOST);
  picture->pixels = g_new (guint32, (gsize) picture->width * picture->height);
  for (gsize i = 0; i < (gsize) picture->width * picture->height; i++)
    picture->pixels[i] = palette->background;
  reader_init (&reader, tensor, minus, layout);
  for (guint tile = 0; tile < picture->n_tiles; tile++)
    {
      if (g_cancellable_is_cancelled (cancellable))
        return NULL;
      fill_tile (picture, &reader, stats, palette, tile);
    }
  return g_steal_pointer (&picture);
}

/**
 * ir_tensor_picture_free:
 * @picture: (transfer full) (nullable): a picture
 */
void
ir_tensor_picture_free (IrTensorPicture *picture)
{
  if (picture == NULL)
    return;
  g_free (picture->pixels);
  g_free (picture);
}

/**
 * ir_tensor_picture_at:
 * @picture: a picture
 * @tensor: of this tensor
 * @x: px from the left
 * @y: px from the top
 * @index: (out): the first element that the pixel stands for
 *
 * Returns: %FALSE between planes and behind the last one
 */
gboolean
ir_tensor_picture_at (
    const IrTensorPicture *picture, const IrTensor *tensor, guint x, guint y, guint64 *index)
{
  const guint w = picture->tile_width + GAP, h = picture->tile_height + GAP;
  const guint tile = y / h * picture->n_across + x / w;
  Reader reader;

  if (x >= picture->width || y >= picture->height || x % w >= picture->tile_width ||
      y % h >= picture->tile_height || tile >= picture->n_tiles)
    return FALSE;
  reader_init (&reader, tensor, NULL, &picture->layout);
  return find_element (&reader, picture, tile, y % h * picture->rows / picture->tile_height,
                       x % w * picture->columns / picture->tile_width, index);
}

/**
 * ir_tensor_picture_find:
 * @picture: a picture
 * @tensor: of this tensor
 * @index: an element
 * @x: (out): px from the left
 * @y: (out): px from the top
 *
 * Returns: %FALSE if the element lies in a plane that is not drawn
 */
gboolean
ir_tensor_picture_find (
    const IrTensorPicture *picture, const IrTensor *tensor, guint64 index, guint *x, guint *y)
{
  const IrTensorLayout *layout = &picture->layout;
  guint64 place[3] = { 0, 0, 0 }; /* tile, row, column */

  for (int i = (int) ir_tensor_rank (tensor) - 1; i >= 0; i--)
    {
      const guint64 size = (guint64) MAX (size_of (tensor, i), 1), at = index % size;

      index /= size;
      if (i == layout->tile_axis)
        place[0] = at;
      else if (i == layout->row_axis)
        place[1] = at;
      else if (i == layout->column_axis)
        place[2] = at;
      else if (i != layout->channel_axis && at != (guint64) layout->at[i])
        return FALSE;
    }
  if (layout->row_axis >= 0)
    place[1] -= (guint64) layout->at[layout->row_axis]; /* before the first: larger than any */
  if (layout->column_axis >= 0)
    place[2] -= (guint64) layout->at[layout->column_axis];
  if (place[0] >= picture->n_tiles || place[1] >= MAX (picture->rows, 1) ||
      place[2] >= (picture->wrapped > 0 ? picture->wrapped : MAX (picture->columns, 1)))
    return FALSE;
  if (picture->wrapped > 0)
    {
      place[1] = place[2] / picture->columns;
      place[2] %= picture->columns;
    }
  *x = (guint) (place[0] % picture->n_across) * (picture->tile_width + GAP) +
       (guint) (place[2] * picture->tile_width / picture->columns);
  *y = (guint) (place[0] / picture->n_across) * (picture->tile_height + GAP) +
       (guint) (place[1] * picture->tile_height / picture->rows);
  return TRUE;
}

/* -- files -- */

/* px of the file for one of the picture: wholes. */
static guint
scale_of (const IrTensorPicture *picture)
{
  const guint side = MAX (picture->width, picture->height);

  return side > 0 && side < LEAST_SIDE ? (LEAST_SIDE + side - 1) / side : 1;
}

static guint32
legend_colour (const IrTensorPicture *picture, guint i, const IrPalette *palette)
{
  const double value = picture->low + (picture->high - picture->low) * (i + 0.5) / LEGEND_WIDTH;

  return ir_tensor_colour (value, picture->low, picture->high, picture->diverging, palette);
}

static void
add_rect (GString *svg, double x, double y, double width, double height, guint32 colour)
{
  g_string_append_printf (svg,
                          "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"#%06x\"/>\n",
                          x, y, width, height, colour);
}

static void
add_svg_text (
    GString *svg, double x, double y, const char *anchor, guint32 colour, const char *text)
{
  g_string_append_printf (svg,
                          "<text x=\"%g\" y=\"%g\" text-anchor=\"%s\" fill=\"#%06x\">%s</text>\n",
                          x, y, anchor, colour, text);
}

static void
add_svg_legend (GString *svg, const IrTensorPicture *picture, const IrPalette *palette, double top)
{
  char low[32], high[32];

  if (picture->layout.channel_axis >= 0)
    return;
  g_snprintf (low, sizeof low, "%.4g", picture->low);
  g_snprintf (high, sizeof high, "%.4g", picture->high);
  for (guint i = 0; i < LEGEND_WIDTH; i += 4)
    add_rect (svg, i, top + 4, 4, 8, legend_colour (picture, i, palette));
  add_svg_text (svg, 0, top + 24, "start", palette->muted, low);
  add_svg_text (svg, LEGEND_WIDTH, top + 24, "end", palette->muted, high);
  if (picture->has_nan)
    add_svg_text (svg, LEGEND_WIDTH + 16, top + 24, "start", palette->problem[2], "NaN");
  if (picture->has_inf)
    add_svg_text (svg, LEGEND_WIDTH + 56, top + 24, "start", palette->problem[1], "Inf");
}

/**
 * ir_tensor_picture_svg:
 * @picture: a picture
 * @colours: of the palette
 *
 * Runs of one colour are one rectangle. What the colours mean stands below.
 *
 * Returns: (transfer full): the file
 */
GBytes *
ir_tensor_picture_svg (const IrTensorPicture *picture, IrPaletteKind colours)
{
  const IrPalette *palette = ir_palette (colours);
  const guint scale = scale_of (picture);
  const guint width = MAX (picture->width * scale, LEGEND_WIDTH + 96),
              height = picture->height * scale + LEGEND;
  GString *svg = g_string_new (NULL);

  g_string_append_printf (
      svg,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
      "font-family=\"sans-serif\" font-size=\"11\" shape-rendering=\"crispEdges\">\n",
      width, height);
  add_rect (svg, 0, 0, width, height, palette->background);
  for (guint y = 0; y < picture->height; y++)
    for (guint x = 0, end; x < picture->width; x = end)
      {
        const guint32 *row = &picture->pixels[(gsize) y * picture->width];

        for (end = x + 1; end < picture->width && row[end] == row[x];)
          end++;
        if (row[x] != palette->background)
          add_rect (svg, x * scale, y * scale, (end - x) * scale, scale, row[x]);
      }
  add_svg_legend (svg, picture, palette, picture->height * scale);
  g_string_append (svg, "</svg>\n");
  return g_string_free_to_bytes (svg);
}

static void
paint_pixel (guint32 *pixels, int stride, guint x, guint y, guint scale, guint32 colour)
{
  for (guint v = 0; v < scale; v++)
    for (guint u = 0; u < scale; u++)
      pixels[(y * scale + v) * (guint) stride + x * scale + u] = colour;
}

static void
show_text (cairo_t *cr, double x, double y, guint32 colour, const char *text)
{
  cairo_set_source_rgb (cr, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                        (colour & 255) / 255.0);
  cairo_move_to (cr, x, y);
  cairo_show_text (cr, text);
}

static void
paint_legend (cairo_t *cr, const IrTensorPicture *picture, const IrPalette *palette, double top)
{
  char low[32], high[32];

  if (picture->layout.channel_axis >= 0)
    return;
  g_snprintf (low, sizeof low, "%.4g", picture->low);
  g_snprintf (high, sizeof high, "%.4g", picture->high);
  cairo_set_font_size (cr, 11);
  for (guint i = 0; i < LEGEND_WIDTH; i++)
    {
      const guint32 colour = legend_colour (picture, i, palette);

      cairo_set_source_rgb (cr, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                            (colour & 255) / 255.0);
      cairo_rectangle (cr, i, top + 4, 1, 8);
      cairo_fill (cr);
    }
  show_text (cr, 0, top + 24, palette->muted, low);
  show_text (cr, LEGEND_WIDTH - 40, top + 24, palette->muted, high);
  if (picture->has_nan)
    show_text (cr, LEGEND_WIDTH + 16, top + 24, palette->problem[2], "NaN");
  if (picture->has_inf)
    show_text (cr, LEGEND_WIDTH + 56, top + 24, palette->problem[1], "Inf");
}

/**
 * ir_tensor_picture_png:
 * @picture: a picture
 * @colours: of the palette
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the file
 */
GBytes *
ir_tensor_picture_png (const IrTensorPicture *picture, IrPaletteKind colours, GError **error)
{
  const IrPalette *palette = ir_palette (colours);
  const guint scale = scale_of (picture);
  const guint width = MAX (picture->width * scale, LEGEND_WIDTH + 96),
              height = picture->height * scale + LEGEND;
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int) width,
                                                         (int) height);
  cairo_t *cr = cairo_create (surface);

  cairo_set_source_rgb (cr, (palette->background >> 16 & 255) / 255.0,
                        (palette->background >> 8 & 255) / 255.0,
                        (palette->background & 255) / 255.0);
  cairo_paint (cr);
  paint_legend (cr, picture, palette, picture->height * scale);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  if (cairo_surface_status (surface) == CAIRO_STATUS_SUCCESS)
    for (guint y = 0; y < picture->height; y++)
      for (guint x = 0; x < picture->width; x++)
        paint_pixel ((guint32 *) (void *) cairo_image_surface_get_data (surface),
                     cairo_image_surface_get_stride (surface) / 4, x, y, scale,
                     picture->pixels[(gsize) y * picture->width + x]);
  cairo_surface_mark_dirty (surface);
  return ir_surface_png (surface, error);
}
