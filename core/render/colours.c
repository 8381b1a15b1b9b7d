#include "config.h"

/* Which colours of the palette a box or line has, for all that paint a scene, so that they agree. */

#include "core/render/palette.h"

#define FADED  0.6  /* how far removed things go towards the background */
#define DIMMED 0.72 /* how far goes what was not asked for */
#define APART  0.35 /* how far go lines that are the same, among others that differ */

/**
 * ir_box_is_faded:
 * @box: of a scene
 *
 * Returns: whether it is not there: it was, or it would have to be
 */
gboolean
ir_box_is_faded (const IrSceneBox *box)
{
  return box->state == IR_SCENE_REMOVED || box->state == IR_SCENE_MISSING;
}

static guint32
pale (const IrPalette *palette, const IrSceneBox *box, guint32 colour)
{
  return box->dimmed             ? ir_colour_mix (colour, palette->background, DIMMED)
         : ir_box_is_faded (box) ? ir_colour_mix (colour, palette->background, FADED)
                                 : colour;
}

/**
 * ir_box_header:
 * @palette: the colours in use
 * @scene: a scene
 * @box: one of its boxes
 * @zoom: px on screen for one of the scene
 * @text: (out): of letters on it
 *
 * Returns: the colour of the header, 0xRRGGBB
 */
guint32
ir_box_header (const IrPalette *palette,
               const IrScene *scene,
               const IrSceneBox *box,
               double zoom,
               guint32 *text)
{
  const gboolean heat = box->kind != IR_SCENE_CLUSTER && box->kind != IR_SCENE_PLAIN &&
                        ir_scene_shows_heat (scene, zoom);
  const gboolean own = box->accent > 0 || box->has_tint || heat;
  guint32 colour = palette->header[box->colour % IR_N_SCENE_COLOURS];

  if (box->accent > 0)
    colour = palette->accent[(box->accent - 1) % G_N_ELEMENTS (palette->accent)];
  else if (box->has_tint)
    colour = ir_palette_ramp (palette, box->tint);
  else if (heat)
    colour = ir_palette_ramp (palette, box->heat);
  colour = pale (palette, box, colour);
  *text = own || ir_box_is_faded (box) ? ir_palette_on (palette, colour)
          : box->dimmed                ? ir_box_ink (palette, box, palette->text)
                                       : palette->on_header;
  return colour;
}

/**
 * ir_box_body:
 * @palette: the colours in use
 * @scene: a scene
 * @box: one of its boxes
 *
 * Returns: the colour below its header, or of a frame
 */
guint32
ir_box_body (const IrPalette *palette, const IrScene *scene, const IrSceneBox *box)
{
  guint n, depth = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  if (box->kind != IR_SCENE_CLUSTER)
    return pale (palette, box, palette->box);
  for (gint32 g = box->parent; g >= 0 && depth < 64; g = boxes[g].parent)
    depth++;
  return depth % 2 == 0 ? palette->frame : palette->frame_deep;
}

/**
 * ir_box_border:
 * @palette: the colours in use
 * @box: of a scene
 *
 * Returns: the colour of its outline
 */
guint32
ir_box_border (const IrPalette *palette, const IrSceneBox *box)
{
  const guint32 colour = box->state != IR_SCENE_SAME     ? palette->state[box->state]
                         : box->kind == IR_SCENE_CLUSTER ? palette->frame_border
                                                         : palette->border;

  return box->dimmed ? ir_colour_mix (colour, palette->background, DIMMED) : colour;
}

/**
 * ir_box_ink:
 * @palette: the colours in use
 * @box: of a scene
 * @colour: of its letters, were it not dimmed
 *
 * Returns: the colour of letters in its body
 */
guint32
ir_box_ink (const IrPalette *palette, const IrSceneBox *box, guint32 colour)
{
  return box->dimmed ? ir_colour_mix (colour, palette->background, 0.5) : colour;
}

/**
 * ir_line_ink:
 * @palette: the colours in use
 * @scene: a scene
 * @line: one of its lines
 *
 * Returns: its colour
 */
guint32
ir_line_ink (const IrPalette *palette, const IrScene *scene, const IrSceneLine *line)
{
  guint32 colour = line->state != IR_SCENE_SAME ? palette->state[line->state]
                   : line->accent > 0
                       ? palette->accent[(line->accent - 1) % G_N_ELEMENTS (palette->accent)]
                   : line->kind == IR_SCENE_LINE_DATA    ? palette->line
                   : line->kind == IR_SCENE_LINE_CONTROL ? palette->control
                                                         : palette->border;

  if (line->dimmed)
    return ir_colour_mix (colour, palette->background, DIMMED);
  if (ir_scene_is_diff (scene) && line->state == IR_SCENE_SAME)
    return ir_colour_mix (colour, palette->background, APART);
  return colour;
}
