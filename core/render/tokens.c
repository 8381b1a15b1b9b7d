#include "config.h"

/* Tokens are pills with a text, told apart without colour: a dead one is ✕ in a dashed rim, one that waits says so,
 * and what became of a node has square corners. */

#include "core/layout/scene-tokens.h"
#include "core/render/painter-private.h"

static void
look_of (const IrPalette *palette, IrSceneTokenKind kind, IrPen *pen, guint32 *ink)
{
  static const double dashes[] = { 3, 2 };

  *pen = (IrPen){ .fill = palette->box, .stroke = palette->muted, .width = 1 };
  *ink = palette->text;
  switch (kind)
    {
    case IR_SCENE_TOKEN_LIVE:
      pen->fill = palette->selection;
      pen->stroke = palette->background;
      *ink = ir_palette_on (palette, palette->selection);
      break;
    case IR_SCENE_TOKEN_DEAD:
      pen->dash = dashes;
      pen->n_dash = G_N_ELEMENTS (dashes);
      break;
    case IR_SCENE_TOKEN_WAITS:
      pen->stroke = palette->problem[1];
      pen->width = 2;
      break;
    case IR_SCENE_TOKEN_NOTE:
    default:
      break;
    }
}

static void
paint_token (const IrSceneToken *token, const IrPalette *palette, IrPainter *painter)
{
  const IrLayoutRect rect = { token->x - token->width / 2, token->y - IR_SCENE_TOKEN_HEIGHT / 2,
                              token->width, IR_SCENE_TOKEN_HEIGHT };
  const IrSceneText text = { .style = IR_SCENE_TEXT_LABEL,
                             .align = IR_SCENE_ALIGN_MIDDLE,
                             .box = -1,
                             .x = token->x,
                             .y = token->y + 4,
                             .width = token->width,
                             .text = token->text };
  IrPen pen;
  guint32 ink;

  look_of (palette, token->kind, &pen, &ink);
  painter->rect (painter, rect, token->kind == IR_SCENE_TOKEN_NOTE ? 2 : IR_SCENE_TOKEN_HEIGHT / 2,
                 &pen);
  painter->text (painter, &text, ink, IR_NO_COLOUR);
}

/* @clip: (nullable) px of the scene: only what meets it */
void
ir_tokens_paint (const GArray *tokens,
                 const IrPalette *palette,
                 const IrLayoutRect *clip,
                 IrPainter *painter)
{
  for (guint i = 0; i < tokens->len; i++)
    {
      const IrSceneToken *token = &g_array_index (tokens, IrSceneToken, i);
      if (clip == NULL || (token->x + token->width > clip->x && token->y + 20 > clip->y &&
                           token->x - token->width < clip->x + clip->width &&
                           token->y - 20 < clip->y + clip->height))
        paint_token (token, palette, painter);
    }
}
