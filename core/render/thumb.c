/* Small pictures of values in colours. */
#include "config.h"

#include "core/render/render.h"
#include "core/render/tensor-picture.h"

/**
 * ir_thumb_surface:
 * @thumb: a small picture
 * @palette: colours
 *
 * Returns: (transfer full): the same, a pixel for each cell; free with cairo_surface_destroy()
 */
cairo_surface_t *
ir_thumb_surface (const IrSceneThumb *thumb, const IrPalette *palette)
{
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, (int) thumb->width,
                                                         (int) thumb->height);
  guint32 *pixels = (guint32 *) (void *) cairo_image_surface_get_data (surface);
  const gsize stride = (gsize) cairo_image_surface_get_stride (surface) / 4;

  for (guint y = 0; y < thumb->height && pixels != NULL; y++)
    for (guint x = 0; x < thumb->width; x++)
      {
        const float cell = thumb->cells[(gsize) y * thumb->width + x];
        pixels[y * stride + x] = cell == IR_SCENE_THUMB_GAP
                                     ? 0
                                     : 0xff000000u | ir_tensor_colour ((double) cell,
                                                                       thumb->diverging ? -1 : 0, 1,
                                                                       thumb->diverging, palette);
      }
  cairo_surface_mark_dirty (surface);
  return surface;
}
