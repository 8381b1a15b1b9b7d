/* In the place of webp.c where libwebp is missing. */
#include "config.h"

#include "core/image/image.h"

/**
 * ir_image_decode_webp:
 * @data: a file
 * @length: its bytes
 * @limits: of the decoded picture, and what stops it
 * @image: (out caller-allocates): the picture, if it could be decoded; zeroed before
 *
 * Returns: whether there is a picture, and if not, why
 */
IrImageStatus
ir_image_decode_webp (const guint8 *data, gsize length, const IrImageLimits *limits, IrImage *image)
{
  return IR_IMAGE_ABSENT;
}
