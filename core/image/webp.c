/* Pictures by libwebp. */
#include "config.h"

#include "core/image/image.h"

#include <webp/decode.h>

/**
 * ir_image_decode_webp:
 * @data: a file
 * @length: its bytes
 * @max_bytes: of the decoded picture
 * @image: (out caller-allocates): the picture, if it could be decoded; zeroed before
 *
 * Returns: whether there is a picture, and if not, why
 */
IrImageStatus
ir_image_decode_webp (const guint8 *data, gsize length, gsize max_bytes, IrImage *image)
{
  int width = 0, height = 0; /* at most 16383 each, by the format */

  if (!WebPGetInfo (data, length, &width, &height) || width <= 0 || height <= 0)
    return IR_IMAGE_DAMAGED;
  gsize bytes = (gsize) width * (gsize) height * 3;
  if (bytes > max_bytes || (image->rgb = g_try_malloc (bytes)) == NULL)
    return IR_IMAGE_LARGE;
  image->width = width;
  image->height = height;
  if (WebPDecodeRGBInto (data, length, image->rgb, bytes, width * 3) != NULL)
    return IR_IMAGE_DECODED;
  g_free (image->rgb);
  *image = (IrImage){ 0 };
  return IR_IMAGE_DAMAGED;
}
