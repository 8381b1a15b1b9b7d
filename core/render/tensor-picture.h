/* Contents of a tensor as a picture: a heat map of two of its axes, all planes along a third beside each
 * other (channels, heads of attention), or an image. What the window paints and what files get. */
#pragma once

#include "core/exec/check/curve.h"
#include "core/exec/kernel/stats.h"
#include "core/render/palette.h"

#include <gio/gio.h>

typedef enum
{
  IR_TENSOR_COLOURS_AUTO,      /* one-sided where no element has the other sign */
  IR_TENSOR_COLOURS_DIVERGING, /* around zero */
  IR_TENSOR_COLOURS_ONE_SIDED  /* from the least to the largest */
} IrTensorColours;

/* Which elements lie where. Begins as ir_tensor_layout_init() makes it. A plane of one row that is longer
 * than a picture is wide stands in several. */
typedef struct
{
  int row_axis, column_axis; /* -1: there is none, one row or column */
  int tile_axis;             /* -1: one plane; else all along this axis, beside each other */
  gboolean line;             /* elements along @column_axis are a line, and no pixels */
  int channel_axis;          /* -1: a number is a colour; else of 1, 3 or 4 elements: an image */
  gint64 at[IR_MAX_RANK];    /* index along the other axes; of rows and columns the first */
  gint64 n_rows, n_columns;  /* that are shown from there on; 0: all */
  IrTensorColours colours;
  guint most;    /* px of a side; larger planes are sampled; 0: 1024 */
  guint samples; /* elements that are looked at for a pixel, from left to right and down; 0: all */
} IrTensorLayout;

typedef struct
{
  guint width, height; /* px */
  guint32 *pixels;     /* 0xRRGGBB, row by row */
  IrTensorLayout layout;
  guint64 rows, columns;         /* of a plane, elements */
  guint64 wrapped;               /* elements of one row that stands in several; 0: it does not */
  guint n_tiles, n_across;       /* planes, and how many of them beside each other */
  guint tile_width, tile_height; /* px */
  double low, high;              /* elements of the strongest colours */
  gboolean diverging, sampled, has_nan, has_inf;
} IrTensorPicture;

/* @as: "auto", "heat", "tiles", "image" or "line"; FALSE: @tensor cannot be shown so */
gboolean ir_tensor_layout_init (IrTensorLayout *layout,
                                const IrTensor *tensor,
                                const char *as,
                                GError **error);
gboolean ir_tensor_layout_set_axes (IrTensorLayout *layout,
                                    const IrTensor *tensor,
                                    const char *text,
                                    GError **error);
char *ir_tensor_layout_text (const IrTensorLayout *layout,
                             const IrTensor *tensor); /* "[0, :, :]" */
guint64 ir_tensor_layout_n_planes (const IrTensorLayout *layout, const IrTensor *tensor);
/* The @plane-th of those that the layout could show, which the other axes count */
void ir_tensor_layout_set_plane (IrTensorLayout *layout, const IrTensor *tensor, guint64 plane);
guint64 ir_tensor_layout_plane_of (const IrTensorLayout *layout,
                                   const IrTensor *tensor,
                                   guint64 element);
void ir_tensor_layout_zoom (IrTensorLayout *layout,
                            const IrTensor *tensor,
                            guint64 element,
                            double factor);
gboolean ir_tensor_layout_is_zoomed (const IrTensorLayout *layout);
void ir_tensor_layout_copy_zoom (IrTensorLayout *layout,
                                 const IrTensorLayout *from,
                                 const IrTensor *tensor);
/* Of layouts that are a line. @minus: (nullable); (transfer full): g_free() */
IrTensorCurve *ir_tensor_layout_curve (const IrTensorLayout *layout,
                                       const IrTensor *tensor,
                                       const IrTensor *minus,
                                       GCancellable *cancellable);
IrTensorPicture *ir_tensor_picture_new (const IrTensor *tensor,
                                        const IrTensor *minus, /* (nullable): of their difference */
                                        const IrTensorStats *stats, /* of what is shown */
                                        const IrTensorLayout *layout,
                                        IrPaletteKind colours,
                                        GCancellable *cancellable);
void ir_tensor_picture_free (IrTensorPicture *picture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTensorPicture, ir_tensor_picture_free)
/* Element at a pixel. FALSE: there is none */
gboolean ir_tensor_picture_at (
    const IrTensorPicture *picture, const IrTensor *tensor, guint x, guint y, guint64 *index);
/* Pixel of an element. FALSE: it lies in another plane */
gboolean ir_tensor_picture_find (
    const IrTensorPicture *picture, const IrTensor *tensor, guint64 index, guint *x, guint *y);
guint32 ir_tensor_colour (
    double value, double low, double high, gboolean diverging, const IrPalette *palette);
GBytes *ir_tensor_picture_svg (const IrTensorPicture *picture, IrPaletteKind colours);
GBytes *ir_tensor_picture_png (const IrTensorPicture *picture,
                               IrPaletteKind colours,
                               GError **error);
