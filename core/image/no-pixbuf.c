/* In the place of pixbuf.c where gdk-pixbuf is missing. */
#include "config.h"

#include "core/image/image.h"

/**
 * ir_image_decode_pixbuf:
 * @data: a file
 * @length: its bytes
 * @max_bytes: of the decoded picture
 * @image: (out caller-allocates): the picture, if it could be decoded; zeroed before
 *
 * Returns: whether there is a picture, and if not, why
 */
IrImageStatus
ir_image_decode_pixbuf (const guint8 *data, gsize length, gsize max_bytes, IrImage *image)
{
  return IR_IMAGE_ABSENT;
}
