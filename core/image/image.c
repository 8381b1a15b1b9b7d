/* Which library decodes which picture: by the first bytes. */
#include "config.h"

#include "core/image/image.h"

#include <string.h>

static IrImageStatus
decode_absent (const guint8 *data, gsize length, gsize max_bytes, IrImage *image)
{
  return IR_IMAGE_ABSENT;
}

static const struct
{
  const char *name, *magic;
  gsize offset, n;
  IrImageDecoder decode;
} formats[] = {
  { "BMP", "BM", 0, 2, ir_image_decode_pixbuf },
  { "JPEG", "\xff\xd8\xff", 0, 3, ir_image_decode_pixbuf },
  { "PNG", "\x89PNG\r\n\x1a\n", 0, 8, ir_image_decode_pixbuf },
  { "TIFF", "II*\0", 0, 4, ir_image_decode_pixbuf },
  { "TIFF", "MM\0*", 0, 4, ir_image_decode_pixbuf },
  { "PNM", "P", 0, 1, ir_image_decode_pixbuf },
  { "WebP", "WEBP", 8, 4, ir_image_decode_webp },
  { "JPEG 2000", "\0\0\0\x0cjP  ", 0, 8, decode_absent },
  { "JPEG 2000", "\xff\x4f\xff\x51", 0, 4, decode_absent },
};

/**
 * ir_image_decode:
 * @data: a file
 * @length: its bytes
 * @max_bytes: of the decoded picture
 * @image: (out caller-allocates): the picture, if it could be decoded
 * @format: (out): what it is, for messages
 *
 * Returns: whether there is a picture, and if not, why
 */
IrImageStatus
ir_image_decode (
    gconstpointer data, gsize length, gsize max_bytes, IrImage *image, const char **format)
{
  memset (image, 0, sizeof *image);
  *format = "a picture";
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (length >= formats[i].offset + formats[i].n &&
        memcmp ((const guint8 *) data + formats[i].offset, formats[i].magic, formats[i].n) == 0)
      {
        *format = formats[i].name;
        return formats[i].decode (data, length, max_bytes, image);
      }
  return IR_IMAGE_DAMAGED;
}
