/* Where in a tensor a layout looks: the plane that an element lies in, and a part of its rows and columns. */
#include "config.h"

#include "core/render/tensor-picture.h"

#include <math.h>

static gboolean
is_shown (const IrTensorLayout *layout, int axis)
{
  return axis == layout->row_axis || axis == layout->column_axis || axis == layout->tile_axis ||
         axis == layout->channel_axis;
}

static gint64
index_along (const IrTensor *tensor, guint64 element, int axis)
{
  guint64 stride = 1;

  for (guint i = (guint) axis + 1; i < ir_tensor_rank (tensor); i++)
    stride *= (guint64) ir_tensor_dims (tensor)[i];
  return (gint64) (element / stride % (guint64) ir_tensor_dims (tensor)[axis]);
}

/**
 * ir_tensor_layout_plane_of:
 * @layout: a layout
 * @tensor: what is to be shown
 * @element: a flat index
 *
 * Returns: which plane the element lies in, as ir_tensor_layout_set_plane() counts them
 */
guint64
ir_tensor_layout_plane_of (const IrTensorLayout *layout, const IrTensor *tensor, guint64 element)
{
  guint64 plane = 0;

  for (int i = 0; i < (int) ir_tensor_rank (tensor); i++)
    if (!is_shown (layout, i))
      plane = plane * (guint64) ir_tensor_dims (tensor)[i] +
              (guint64) index_along (tensor, element, i);
  return plane;
}

/* @n: elements from @from on of @size that are shown. Where @at is shown it stays where it is, else it comes to
 * the middle. */
static void
zoom_axis (gint64 size, gint64 at, double factor, gint64 *from, gint64 *n)
{
  const gint64 shown = *n > 0 ? *n : size;
  const gint64 wanted = factor < 1   ? (gint64) floor ((double) shown * factor)
                        : factor > 1 ? (gint64) ceil ((double) shown * factor)
                                     : shown;
  const double part = at >= *from && at < *from + shown
                          ? (double) (at - *from) / (double) MAX (shown - 1, 1)
                          : 0.5;

  *n = CLAMP (wanted, 1, size);
  *from = CLAMP (at - (gint64) round (part * (double) (*n - 1)), 0, size - *n);
  *n = *n == size ? 0 : *n;
}

/**
 * ir_tensor_layout_zoom:
 * @layout: a layout
 * @tensor: what is to be shown
 * @element: a flat index: it stays where it is, or comes to the middle
 * @factor: of how many rows and columns are shown: below 1 less; 1: as many
 *
 * An image, tiles and a line are zoomed likewise, along their rows and columns.
 */
void
ir_tensor_layout_zoom (IrTensorLayout *layout,
                       const IrTensor *tensor,
                       guint64 element,
                       double factor)
{
  if (layout->row_axis >= 0)
    zoom_axis (ir_tensor_dims (tensor)[layout->row_axis],
               index_along (tensor, element, layout->row_axis), factor,
               &layout->at[layout->row_axis], &layout->n_rows);
  if (layout->column_axis >= 0)
    zoom_axis (ir_tensor_dims (tensor)[layout->column_axis],
               index_along (tensor, element, layout->column_axis), factor,
               &layout->at[layout->column_axis], &layout->n_columns);
}

/**
 * ir_tensor_layout_is_zoomed:
 * @layout: a layout
 *
 * Returns: %TRUE if not all rows and columns are shown
 */
gboolean
ir_tensor_layout_is_zoomed (const IrTensorLayout *layout)
{
  return layout->n_rows > 0 || layout->n_columns > 0;
}

/**
 * ir_tensor_layout_copy_zoom:
 * @layout: a layout
 * @from: another one
 * @tensor: what is to be shown
 *
 * Shows the same part as @from, if both have the same rows and columns.
 */
void
ir_tensor_layout_copy_zoom (IrTensorLayout *layout,
                            const IrTensorLayout *from,
                            const IrTensor *tensor)
{
  const int axes[] = { from->row_axis, from->column_axis };
  const gint64 n[] = { from->n_rows, from->n_columns };

  if (layout->row_axis != from->row_axis || layout->column_axis != from->column_axis)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (axes); i++)
    if (axes[i] >= (int) ir_tensor_rank (tensor) ||
        (axes[i] >= 0 && from->at[axes[i]] + n[i] > ir_tensor_dims (tensor)[axes[i]]))
      return;
  for (guint i = 0; i < G_N_ELEMENTS (axes); i++)
    if (axes[i] >= 0)
      layout->at[axes[i]] = from->at[axes[i]];
  layout->n_rows = from->n_rows;
  layout->n_columns = from->n_columns;
}
