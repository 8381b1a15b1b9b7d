#pragma once

/* What a picture is made of, free of any format. paint.c walks the scene once
 * and calls these; SVG and cairo are two sets of them, so they cannot differ. */

#include "core/render/render.h"

G_BEGIN_DECLS

#define IR_NO_COLOUR G_MAXUINT32

typedef struct
{
  char op;       /* 'M' move, 'L' line, 'Q' quadratic, 'Z' close */
  double x, y;   /* px, end */
  double cx, cy; /* px, control point of Q */
} IrPathOp;

typedef struct
{
  guint32 fill;   /* 0xRRGGBB or IR_NO_COLOUR */
  guint32 stroke; /* 0xRRGGBB or IR_NO_COLOUR */
  double width;   /* px, of the stroke */
  const double *dash;
  guint n_dash;
} IrPen;

typedef struct _IrPainter IrPainter;

struct _IrPainter
{
  double text_scale; /* of letters, against the size of their style; 0 = 1 */
  /* What follows belongs to one item; (nullable) in painters without structure. */
  void (*begin) (IrPainter *painter, const char *kind, const IrScene *scene, IrSceneHit item);
  void (*end) (IrPainter *painter);
  void (*rect) (IrPainter *painter, IrLayoutRect rect, double radius, const IrPen *pen);
  void (*thumb) (IrPainter *painter,
                 IrLayoutRect rect,
                 const IrSceneThumb *thumb,
                 const IrPalette *palette);
  void (*path) (IrPainter *painter, const IrPathOp *ops, guint n, const IrPen *pen);
  /* @halo: colour of an outline that keeps lines off the letters */
  void (*text) (IrPainter *painter, const IrSceneText *text, guint32 colour, guint32 halo);
  gboolean pixels; /* what it paints is not seen larger: what hides behind a pixel is left out */
};

void ir_scene_paint (const IrScene *scene,
                     const IrPalette *palette,
                     const IrLayoutRect *clip,
                     double zoom,
                     IrPainter *painter);

void ir_tokens_paint (const GArray *tokens,
                      const IrPalette *palette,
                      const IrLayoutRect *clip, /* (nullable) */
                      IrPainter *painter);

/* The page: the picture, and the legend below it. @at: (out): where that begins, in px of the picture */
IrLayoutRect ir_render_page (const IrScene *scene,
                             const IrRenderOptions *options, /* (nullable) */
                             IrLayoutPoint *at);

#define IR_RENDER_FONTS "Inter, Cantarell, Noto Sans, DejaVu Sans, sans-serif"

G_END_DECLS
