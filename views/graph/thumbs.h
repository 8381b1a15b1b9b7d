/* Small pictures of values, as the canvas paints them. */
#pragma once

#include "core/layout/scene.h"
#include "core/render/palette.h"

#include <gtk/gtk.h>

/* @textures: IrSceneThumb -> GdkTexture: made when they are first painted */
void ir_thumb_paint (GHashTable *textures,
                     GtkSnapshot *snapshot,
                     IrSceneThumb *thumb,
                     const IrPalette *palette,
                     graphene_rect_t at);
