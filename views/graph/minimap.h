/* The whole picture in a corner, with the part of it that is in sight. */
#pragma once

#include "views/graph/canvas.h"

#define IR_TYPE_MINIMAP (ir_minimap_get_type ())
G_DECLARE_FINAL_TYPE (IrMinimap, ir_minimap, IR, MINIMAP, GtkWidget)

GtkWidget *ir_minimap_new (IrCanvas *canvas);
void ir_minimap_scene_changed (IrMinimap *self);
void ir_minimap_update (IrMinimap *self); /* the camera has moved */
