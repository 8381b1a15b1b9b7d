/* Small pictures of what values hold. They lie in the scene, in no colours yet. */
#include "config.h"

#include "core/layout/scene.h"

/**
 * ir_scene_thumb_new:
 * @width: cells, at least 1
 * @height: cells, at least 1
 *
 * Returns: (transfer full): cells of 0, to be filled in before others see them
 */
IrSceneThumb *
ir_scene_thumb_new (guint width, guint height)
{
  IrSceneThumb *thumb = g_malloc0 (sizeof *thumb + (gsize) width * height * sizeof (float));

  g_atomic_ref_count_init (&thumb->refs);
  thumb->width = width;
  thumb->height = height;
  return thumb;
}

/**
 * ir_scene_thumb_ref:
 * @thumb: a small picture
 *
 * Returns: (transfer full): @thumb
 */
IrSceneThumb *
ir_scene_thumb_ref (IrSceneThumb *thumb)
{
  g_atomic_ref_count_inc (&thumb->refs);
  return thumb;
}

/**
 * ir_scene_thumb_unref:
 * @thumb: (transfer full): a small picture
 */
void
ir_scene_thumb_unref (IrSceneThumb *thumb)
{
  if (g_atomic_ref_count_dec (&thumb->refs))
    g_free (thumb);
}
