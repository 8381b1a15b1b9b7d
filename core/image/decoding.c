/* Decoding aside. Nobody knows how long a library takes over a piece of a file: a TIFF is decoded
 * in one call, a few bytes of a progressive JPEG can be many passes over a large picture. */
#include "config.h"

#include "core/ir/aside.h"
#include "core/image/image.h"

#include <string.h>

#define COPY_BYTES ((gsize) 4 << 20) /* between two looks */

typedef struct
{
  IrImageDecoder decode;
  guint8 *data; /* a copy */
  gsize length, max_bytes;
  IrImageStatus status;
  IrImage image;
} Decoding;

static void
decoding_free (Decoding *decoding)
{
  g_free (decoding->image.rgb);
  g_free (decoding->data);
  g_free (decoding);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Decoding, decoding_free)

/* (nullable): stopped, or no memory */
static Decoding *
decoding_new (IrImageDecoder decode,
              const guint8 *data,
              gsize length,
              const IrImageLimits *limits,
              IrImageStatus *status)
{
  g_autoptr (Decoding) decoding = g_new0 (Decoding, 1);

  decoding->decode = decode;
  decoding->length = length;
  decoding->max_bytes = limits->max_bytes;
  decoding->data = g_try_malloc (MAX (length, 1));
  *status = IR_IMAGE_LARGE;
  if (decoding->data == NULL)
    return NULL;
  *status = IR_IMAGE_STOPPED;
  for (gsize at = 0; at < length; at += COPY_BYTES)
    if (at > 0 && limits->stopped (limits->user))
      return NULL;
    else
      memcpy (decoding->data + at, data + at, MIN (COPY_BYTES, length - at));
  return g_steal_pointer (&decoding);
}

static void
decode (gpointer data, IrAside *aside)
{
  Decoding *decoding = data;
  IrImageLimits limits = { decoding->max_bytes, ir_aside_stopped, aside };

  decoding->status = decoding->decode (decoding->data, decoding->length, &limits, &decoding->image);
}

/**
 * ir_image_decode_aside:
 * @decoder: reads one kind of file; its limits' stopped() is %TRUE when nobody waits any more
 * @data: a file
 * @length: its bytes
 * @limits: of the decoded picture, and what stops the waiting
 * @image: (out caller-allocates): the picture, if it could be decoded; zeroed before
 *
 * Returns: whether there is a picture, and if not, why
 */
IrImageStatus
ir_image_decode_aside (IrImageDecoder decoder,
                       const guint8 *data,
                       gsize length,
                       const IrImageLimits *limits,
                       IrImage *image)
{
  IrImageStatus status;
  g_autoptr (Decoding) decoding = decoding_new (decoder, data, length, limits, &status);

  if (decoding == NULL)
    return status;
  if (!ir_aside (decoding, (GDestroyNotify) decoding_free, decode, limits->stopped, limits->user))
    {
      decoding = NULL;
      return IR_IMAGE_STOPPED;
    }
  *image = decoding->image;
  decoding->image = (IrImage){ 0 };
  return decoding->status;
}
