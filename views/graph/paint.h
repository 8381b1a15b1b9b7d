/* The painter: turns the visible part of a scene into render nodes. Where few boxes are visible it
 * makes plain nodes with text; far out it draws everything in one cairo node, because thousands of
 * render nodes cost more than a frame. Text nodes are kept from frame to frame. */
#pragma once

#include "core/layout/scene.h"
#include "core/render/palette.h"

#include <gtk/gtk.h>

typedef struct _IrPainter IrNodePainter;

/* Where the picture lies on the screen: screen = world * zoom - offset. */
typedef struct
{
  double zoom;
  double x, y;          /* px, offset */
  double width, height; /* px, of the viewport */
} IrCamera;

IrNodePainter *ir_node_painter_new (void (*changed) (gpointer data), gpointer data);
void ir_node_painter_free (IrNodePainter *painter);
void ir_node_painter_set_scene (IrNodePainter *painter, IrScene *scene); /* (nullable) */
void ir_node_painter_set_sides (IrNodePainter *painter, IrSceneSides sides);
void ir_node_painter_set_scale (IrNodePainter *painter, int scale);
void ir_node_painter_set_colours (IrNodePainter *painter, IrPaletteKind colours);
struct _IrTween;
void ir_node_painter_set_tween (IrNodePainter *painter, const struct _IrTween *tween, double t);
GskRenderNode *ir_node_painter_paint (IrNodePainter *painter,
                                      PangoContext *pango,
                                      const IrCamera *camera);
/* What moves on top of the picture. */
void ir_node_painter_outline (IrNodePainter *painter,
                              GtkSnapshot *snapshot,
                              const IrCamera *camera,
                              gint32 box,
                              double width,
                              double alpha);
void ir_node_painter_highlight_line (IrNodePainter *painter,
                                     GtkSnapshot *snapshot,
                                     const IrCamera *camera,
                                     gint32 line);
IrLayoutRect ir_camera_world (const IrCamera *camera);
graphene_rect_t ir_camera_rect (const IrCamera *camera, const IrSceneBox *box);
