/* Tiles of a large picture far out, drawn by workers, so that the main thread only puts them
 * together. While a tile is not there yet, what was drawn at another zoom stands in its place. */
#pragma once

#include "views/graph/paint.h"

typedef struct _IrTiles IrTiles;

/* @changed: called in the main thread when more of the picture can be painted */
IrTiles *ir_tiles_new (void (*changed) (gpointer data), gpointer data);
void ir_tiles_free (IrTiles *self);
void ir_tiles_forget (IrTiles *self); /* another scene, or other colours */
void ir_tiles_paint (IrTiles *self,
                     GtkSnapshot *snapshot,
                     IrScene *scene,
                     IrPaletteKind colours,
                     int scale,
                     const IrCamera *camera);
gboolean ir_tiles_are_wanted (const IrScene *scene);
gboolean ir_tiles_are_complete (const IrTiles *self); /* of what was painted last */
