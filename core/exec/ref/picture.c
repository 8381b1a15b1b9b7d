/* ImageDecoder. */
#include "config.h"

#include "core/image/image.h"
#include "core/exec/ref/block.h"
#include "core/exec/ref/ref.h"
#include <string.h>

typedef enum
{
  PIXEL_RGB,
  PIXEL_BGR,
  PIXEL_GRAYSCALE,
  N_PIXELS
} Pixel;

static gboolean
read_pixel (const IrCall *call, Pixel *pixel, GError **error)
{
  static const char *const names[N_PIXELS] = { "RGB", "BGR", "Grayscale" };
  const char *name = ir_call_string (call, "pixel_format", "RGB");
  guint i = 0;

  while (i < N_PIXELS && strcmp (names[i], name) != 0)
    i++;
  *pixel = i < N_PIXELS ? (Pixel) i : PIXEL_RGB;
  return i < N_PIXELS ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "pixel_format is \"%s\"; RGB, BGR or Grayscale is needed", name);
}

/* Luma as ITU-R BT.601 weighs the channels, 0.299, 0.587 and 0.114, rounded in 16 bits as image
 * libraries do it. */
static guint8
luma (const guint8 *rgb)
{
  return (guint8) ((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000) >> 16);
}

static gboolean
put_pixels (IrCall *call, const IrImage *image, Pixel pixel, GError **error)
{
  gint64 dims[3] = { image->height, image->width, pixel == PIXEL_GRAYSCALE ? 1 : 3 };
  IrTensor *out = ir_call_new_output (call, 0, IR_DTYPE_UINT8, 3, dims, error);
  guint8 *to = out != NULL ? ir_tensor_data_writable (out) : NULL;
  gsize n = (gsize) image->width * (gsize) image->height;

  for (gsize i = 0; to != NULL && i < n; i++)
    {
      const guint8 *from = image->rgb + 3 * i;
      if (pixel == PIXEL_GRAYSCALE)
        to[i] = luma (from);
      for (guint c = 0; c < 3 && pixel != PIXEL_GRAYSCALE; c++)
        to[3 * i + c] = from[pixel == PIXEL_BGR ? 2 - c : c];
    }
  return out != NULL;
}

/* What is no picture, or a damaged one, gives an empty matrix, as the standard says; a format
 * that this build has no library for is an error. Source: ONNX ImageDecoder 20. */
gboolean
ir_ref_image_decoder (IrCall *call, GError **error)
{
  IrImage image = { 0 };
  const char *format;
  Pixel pixel;

  if (!ir_call_check (call, error) || !call->op->infer (call, error) ||
      !read_pixel (call, &pixel, error))
    return FALSE;
  const IrTensor *file = ir_call_input (call, 0);
  gsize max_bytes = call->max_output_bytes > 0 ? call->max_output_bytes : G_MAXSIZE;
  IrImageStatus status = ir_image_decode (ir_tensor_data (file), ir_tensor_n_bytes (file),
                                          max_bytes, &image, &format);
  g_autofree guint8 *rgb = image.rgb;
  if (status == IR_IMAGE_ABSENT)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "the file is %s, which this build of irscope has no library for", format);
  if (status == IR_IMAGE_LARGE)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "the picture does not fit into memory");
  return put_pixels (call, &image, pixel, error);
}
