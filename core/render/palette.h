#pragma once

/* The one table of colours: SVG, PDF, PNG and the canvas take theirs from here.
 * Colours are 0xRRGGBB. Header colours carry text of at least 4.5 : 1; states
 * are told apart by dash and badge as well, and their hues (blue, orange,
 * violet) by the common kinds of colour blindness. */

#include "core/layout/scene.h"

G_BEGIN_DECLS

typedef struct
{
  guint32 background;
  guint32 box;       /* body of boxes */
  guint32 border;    /* outline of boxes */
  guint32 text;      /* on boxes and the background */
  guint32 muted;     /* second text */
  guint32 on_header; /* text on headers */
  guint32 line;
  guint32 control;    /* control dependencies */
  guint32 frame;      /* fill of clusters at even depth */
  guint32 frame_deep; /* at odd depth */
  guint32 frame_border;
  guint32 hover; /* outlines of the canvas */
  guint32 selection;
  guint32 header[IR_N_SCENE_COLOURS];
  guint32 state[IR_N_SCENE_STATES];
  guint32 problem[3]; /* note, warning, error */
  guint32 ramp[5];    /* overlay, from 0 to 1; darkness grows evenly */
  guint32 accent[8];  /* classes and rules; told apart by the common kinds of colour blindness */
} IrPalette;

/* Which of them: flags. */
typedef enum
{
  IR_PALETTE_LIGHT = 0,
  IR_PALETTE_DARK = 1 << 0,
  IR_PALETTE_HIGH_CONTRAST = 1 << 1
} IrPaletteKind;

const IrPalette *ir_palette (IrPaletteKind kind);
guint32 ir_colour_mix (guint32 a, guint32 b, double amount);
guint32 ir_palette_ramp (const IrPalette *palette, double at);
double ir_colour_contrast (guint32 a, guint32 b);
guint32 ir_palette_on (const IrPalette *palette, guint32 fill);

/* -- what a thing of a scene is painted in, by all that paint (colours.c) -- */
gboolean ir_box_is_faded (const IrSceneBox *box);
guint32 ir_box_header (const IrPalette *palette,
                       const IrScene *scene,
                       const IrSceneBox *box,
                       double zoom,
                       guint32 *text);
guint32 ir_box_body (const IrPalette *palette, const IrScene *scene, const IrSceneBox *box);
guint32 ir_box_border (const IrPalette *palette, const IrSceneBox *box);
guint32 ir_box_ink (const IrPalette *palette, const IrSceneBox *box, guint32 colour);
guint32 ir_line_ink (const IrPalette *palette, const IrScene *scene, const IrSceneLine *line);

G_END_DECLS
