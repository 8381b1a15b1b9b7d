/* Pictures as files in memory, decoded by libraries that a build may lack: gdk-pixbuf for BMP,
 * JPEG, PNG, PNM and TIFF, libwebp for WebP. This folder alone knows them. */
#pragma once

#include <gio/gio.h>

typedef struct
{
  gint64 width, height; /* pixels */
  guint8 *rgb;          /* [height, width, 3]; g_free() */
  guint orientation;    /* as Exif counts, 1 to 8; 0: the file does not say */
} IrImage;

typedef enum
{
  IR_IMAGE_DECODED,
  IR_IMAGE_DAMAGED, /* no picture, or not a whole one */
  IR_IMAGE_ABSENT,  /* no library for this format was there when irscope was built */
  IR_IMAGE_LARGE    /* more than the limit */
} IrImageStatus;

typedef IrImageStatus (*IrImageDecoder) (const guint8 *data,
                                         gsize length,
                                         gsize max_bytes,
                                         IrImage *image);

/* @format: (out): name of the format, for messages. */
IrImageStatus ir_image_decode (
    gconstpointer data, gsize length, gsize max_bytes, IrImage *image, const char **format);

/* Turns the pixels as the orientation says, which is 1 then. FALSE: no memory. */
gboolean ir_image_turn_upright (IrImage *image);

/* A part of a picture in pixels, whose edges need not be those of pixels. */
typedef struct
{
  double x, y, width, height;
} IrImageBox;

/* @to: [height, width, 3], 0 to 255. FALSE: no memory. */
gboolean ir_image_resample (
    const IrImage *image, const IrImageBox *box, gint64 width, gint64 height, float *to);

/* What the libraries' files provide; a stand-in that says ABSENT where one is missing. */
IrImageStatus ir_image_decode_pixbuf (const guint8 *data,
                                      gsize length,
                                      gsize max_bytes,
                                      IrImage *image);
IrImageStatus ir_image_decode_webp (const guint8 *data,
                                    gsize length,
                                    gsize max_bytes,
                                    IrImage *image);
