/* Pictures by libwebp, which gets the file in pieces, so that it may be stopped between them. */
#include "config.h"

#include "core/image/image.h"

#include <webp/decode.h>

#define PIECE_BYTES 4096

/* All of the file into @image, whose memory is there. */
static IrImageStatus
decode_pieces (const guint8 *data, gsize length, const IrImageLimits *limits, IrImage *image)
{
  WebPIDecoder *decoder = WebPINewRGB (
      MODE_RGB, image->rgb, (gsize) (image->width * image->height * 3), (int) image->width * 3);
  VP8StatusCode status = decoder != NULL ? VP8_STATUS_SUSPENDED : VP8_STATUS_OUT_OF_MEMORY;
  gboolean stopped = FALSE;

  for (gsize at = 0; status == VP8_STATUS_SUSPENDED && !stopped && at < length; at += PIECE_BYTES)
    {
      status = WebPIUpdate (decoder, data, MIN (at + PIECE_BYTES, length));
      stopped = limits->stopped (limits->user);
    }
  if (decoder != NULL)
    WebPIDelete (decoder);
  if (stopped)
    return IR_IMAGE_STOPPED;
  return status == VP8_STATUS_OK ? IR_IMAGE_DECODED : IR_IMAGE_DAMAGED;
}

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
  int width = 0, height = 0; /* at most 16383 each, by the format */

  if (!WebPGetInfo (data, length, &width, &height) || width <= 0 || height <= 0)
    return IR_IMAGE_DAMAGED;
  gsize bytes = (gsize) width * (gsize) height * 3;
  if (bytes > limits->max_bytes || (image->rgb = g_try_malloc (bytes)) == NULL)
    return IR_IMAGE_LARGE;
  image->width = width;
  image->height = height;
  IrImageStatus status = decode_pieces (data, length, limits, image);
  if (status != IR_IMAGE_DECODED)
    {
      g_free (image->rgb);
      *image = (IrImage){ 0 };
    }
  return status;
}
