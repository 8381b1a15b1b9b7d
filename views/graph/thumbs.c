#include "config.h"

#include "views/graph/thumbs.h"

#include "core/render/render.h"

static GdkTexture *
new_texture (const IrSceneThumb *thumb, const IrPalette *palette)
{
  cairo_surface_t *surface = ir_thumb_surface (thumb, palette);
  const gsize stride = (gsize) cairo_image_surface_get_stride (surface);
  g_autoptr (GBytes) bytes = g_bytes_new_with_free_func (
      cairo_image_surface_get_data (surface), stride * thumb->height,
      (GDestroyNotify) cairo_surface_destroy, surface);

  return gdk_memory_texture_new ((int) thumb->width, (int) thumb->height, GDK_MEMORY_DEFAULT, bytes,
                                 stride);
}

void
ir_thumb_paint (GHashTable *textures,
                GtkSnapshot *snapshot,
                IrSceneThumb *thumb,
                const IrPalette *palette,
                graphene_rect_t at)
{
  GdkTexture *texture = g_hash_table_lookup (textures, thumb);

  if (texture == NULL)
    {
      texture = new_texture (thumb, palette);
      g_hash_table_insert (textures, thumb, texture);
    }
  gtk_snapshot_append_texture (snapshot, texture, &at);
}
