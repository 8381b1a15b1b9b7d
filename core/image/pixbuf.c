/* Pictures by gdk-pixbuf. The size is checked as soon as the file says it, before memory is taken:
 * the loader gets the file in pieces, and between them it may be stopped; a TIFF is decoded
 * as a whole when all of the file is there. */
#include "config.h"

#include "core/image/image.h"

#include <gdk-pixbuf/gdk-pixbuf.h>
#include <string.h>

#define PIECE_BYTES 4096

typedef struct
{
  gsize max_bytes;
  gboolean large;
} Check;

static void
size_prepared (GdkPixbufLoader *loader, int width, int height, gpointer data)
{
  Check *check = data;
  gsize bytes;

  check->large = !g_size_checked_mul (&bytes, (gsize) MAX (width, 0), (gsize) MAX (height, 0)) ||
                 !g_size_checked_mul (&bytes, bytes, 3) || bytes > check->max_bytes;
  if (check->large)
    gdk_pixbuf_loader_set_size (loader, 1, 1);
}

/* Alpha is left out: the standard knows three channels or one. */
static IrImageStatus
copy_pixels (GdkPixbuf *pixbuf, IrImage *image)
{
  const char *orientation = gdk_pixbuf_get_option (pixbuf, "orientation");
  int width = gdk_pixbuf_get_width (pixbuf), height = gdk_pixbuf_get_height (pixbuf);
  gsize n_channels = (gsize) gdk_pixbuf_get_n_channels (pixbuf);
  gsize stride = (gsize) gdk_pixbuf_get_rowstride (pixbuf);
  const guint8 *pixels = gdk_pixbuf_read_pixels (pixbuf);

  image->rgb = g_try_malloc_n ((gsize) width * (gsize) height, 3);
  if (image->rgb == NULL)
    return IR_IMAGE_LARGE;
  image->width = width;
  image->height = height;
  image->orientation = orientation != NULL ? (guint) g_ascii_strtoull (orientation, NULL, 10) : 0;
  for (gsize y = 0; y < (gsize) height; y++)
    for (gsize x = 0; x < (gsize) width; x++)
      memcpy (image->rgb + (y * (gsize) width + x) * 3, pixels + y * stride + x * n_channels, 3);
  return IR_IMAGE_DECODED;
}

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
  g_autoptr (GdkPixbufLoader) loader = gdk_pixbuf_loader_new ();
  Check check = { max_bytes, FALSE };

  g_signal_connect (loader, "size-prepared", G_CALLBACK (size_prepared), &check);
  gboolean good = gdk_pixbuf_loader_write (loader, data, length, NULL);
  good = gdk_pixbuf_loader_close (loader, NULL) && good;
  if (check.large)
    return IR_IMAGE_LARGE;
  GdkPixbuf *pixbuf = good ? gdk_pixbuf_loader_get_pixbuf (loader) : NULL;
  return pixbuf != NULL ? copy_pixels (pixbuf, image) : IR_IMAGE_DAMAGED;
}
