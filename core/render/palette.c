#include "config.h"

/* Colours, and the few calculations with them. */

#include "core/op/op.h"
#include "core/render/palette.h"

#include <math.h>

G_STATIC_ASSERT ((int) IR_SCENE_COLOUR_INPUT == (int) IR_N_FAMILIES);

/* clang-format off */
static const IrPalette light = {
  .background = 0xf7f8fa, .box = 0xffffff, .border = 0xb4bcc8, .text = 0x1b2430,
  .muted = 0x586474, .on_header = 0xffffff, .line = 0x7a8696, .control = 0x9a6a2f,
  .frame = 0xeef1f5, .frame_deep = 0xe4e9f0, .frame_border = 0xc3ccd8,
  .hover = 0x4a90d9, .selection = 0x1c5fb8,
  .header = {
    [IR_FAMILY_ELEMENTWISE] = 0x52657d, [IR_FAMILY_ACTIVATION] = 0xa8462f,
    [IR_FAMILY_REDUCE] = 0x84661a, [IR_FAMILY_LINEAR] = 0x2763ad,
    [IR_FAMILY_POOL] = 0x2b7a55, [IR_FAMILY_NORM] = 0x6f55a3,
    [IR_FAMILY_SHAPE] = 0x76685b, [IR_FAMILY_INDEX] = 0x1f7586,
    [IR_FAMILY_CONSTANT] = 0x667080, [IR_FAMILY_CONTROL] = 0x9b3a70,
    [IR_FAMILY_FUSED] = 0x1b3f7a, [IR_FAMILY_OTHER] = 0x5d6470,
    [IR_SCENE_COLOUR_INPUT] = 0x2f6f3e, [IR_SCENE_COLOUR_OUTPUT] = 0x8a3b3b,
    [IR_SCENE_COLOUR_CONSTANT] = 0x667080, [IR_SCENE_COLOUR_UNKNOWN] = 0x3d434c,
    [IR_SCENE_COLOUR_FOLD] = 0x4d5a8c, [IR_SCENE_COLOUR_CLUSTER] = 0x667080,
  },
  .state = { [IR_SCENE_SAME] = 0xb4bcc8, [IR_SCENE_NEW] = 0x0067a5,
             [IR_SCENE_REMOVED] = 0xb84a00, [IR_SCENE_CHANGED] = 0x7a3db8,
             [IR_SCENE_MATCHED] = 0x00734f, [IR_SCENE_MISFIT] = 0xc01c28,
             [IR_SCENE_MISSING] = 0x5d3fd3 },
  .problem = { 0x3a6ea5, 0x9a6700, 0xc01c28 },
  .ramp = { 0xe6ebf2, 0xa9c3d9, 0x6a93b8, 0x345f94, 0x152f60 },
  .accent = { 0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xd55e00, 0xf0e442, 0x8a8f98 },
};

static const IrPalette dark = {
  .background = 0x1a1d22, .box = 0x262b32, .border = 0x4a5361, .text = 0xe8ecf1,
  .muted = 0xa3aebd, .on_header = 0xffffff, .line = 0x8390a2, .control = 0xcf9d5c,
  .frame = 0x20242a, .frame_deep = 0x272c34, .frame_border = 0x444d5a,
  .hover = 0x62a0ea, .selection = 0x8cc0ff,
  .header = {
    [IR_FAMILY_ELEMENTWISE] = 0x51627a, [IR_FAMILY_ACTIVATION] = 0xa0452f,
    [IR_FAMILY_REDUCE] = 0x7d6119, [IR_FAMILY_LINEAR] = 0x2b65ad,
    [IR_FAMILY_POOL] = 0x2a7552, [IR_FAMILY_NORM] = 0x6f57a4,
    [IR_FAMILY_SHAPE] = 0x716458, [IR_FAMILY_INDEX] = 0x1f7080,
    [IR_FAMILY_CONSTANT] = 0x5f6978, [IR_FAMILY_CONTROL] = 0x98396e,
    [IR_FAMILY_FUSED] = 0x234d96, [IR_FAMILY_OTHER] = 0x5a616c,
    [IR_SCENE_COLOUR_INPUT] = 0x2d6a3c, [IR_SCENE_COLOUR_OUTPUT] = 0x8b3d3d,
    [IR_SCENE_COLOUR_CONSTANT] = 0x5f6978, [IR_SCENE_COLOUR_UNKNOWN] = 0x6b7280,
    [IR_SCENE_COLOUR_FOLD] = 0x505e94, [IR_SCENE_COLOUR_CLUSTER] = 0x5f6978,
  },
  .state = { [IR_SCENE_SAME] = 0x4a5361, [IR_SCENE_NEW] = 0x56b4e9,
             [IR_SCENE_REMOVED] = 0xf08a3c, [IR_SCENE_CHANGED] = 0xc39bf0,
             [IR_SCENE_MATCHED] = 0x4cc79a, [IR_SCENE_MISFIT] = 0xff7b7b,
             [IR_SCENE_MISSING] = 0xb3a1ff },
  .problem = { 0x7fb2e5, 0xe5b93c, 0xff7b7b },
  .ramp = { 0x2f353e, 0x3d5a78, 0x5c86ae, 0x93b7d6, 0xdbe9f5 },
  .accent = { 0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xd55e00, 0xf0e442, 0x8a8f98 },
};

/* At least 7 : 1 for all that is read. */
static const IrPalette light_contrast = {
  .background = 0xffffff, .box = 0xffffff, .border = 0x000000, .text = 0x000000,
  .muted = 0x2e3440, .on_header = 0xffffff, .line = 0x1b2430, .control = 0x6a3d00,
  .frame = 0xf4f6f9, .frame_deep = 0xeaeef4, .frame_border = 0x2e3440,
  .hover = 0x0b4f9e, .selection = 0x003c8f,
  .header = {
    [IR_FAMILY_ELEMENTWISE] = 0x48596f, [IR_FAMILY_ACTIVATION] = 0x8c3a27,
    [IR_FAMILY_REDUCE] = 0x6e5516, [IR_FAMILY_LINEAR] = 0x235799,
    [IR_FAMILY_POOL] = 0x226042, [IR_FAMILY_NORM] = 0x624b90,
    [IR_FAMILY_SHAPE] = 0x62564c, [IR_FAMILY_INDEX] = 0x185b68,
    [IR_FAMILY_CONSTANT] = 0x505764, [IR_FAMILY_CONTROL] = 0x923769,
    [IR_FAMILY_FUSED] = 0x1b3f7a, [IR_FAMILY_OTHER] = 0x525863,
    [IR_SCENE_COLOUR_INPUT] = 0x296237, [IR_SCENE_COLOUR_OUTPUT] = 0x8a3b3b,
    [IR_SCENE_COLOUR_CONSTANT] = 0x505764, [IR_SCENE_COLOUR_UNKNOWN] = 0x3d434c,
    [IR_SCENE_COLOUR_FOLD] = 0x485584, [IR_SCENE_COLOUR_CLUSTER] = 0x505764,
  },
  .state = { [IR_SCENE_SAME] = 0x51555a, [IR_SCENE_NEW] = 0x005b92,
             [IR_SCENE_REMOVED] = 0x903a00, [IR_SCENE_CHANGED] = 0x7339ad,
             [IR_SCENE_MATCHED] = 0x006042, [IR_SCENE_MISFIT] = 0xa91824,
             [IR_SCENE_MISSING] = 0x573bc6 },
  .problem = { 0x2e5681, 0x785100, 0xa91824 },
  .ramp = { 0xe6ebf2, 0xa9c3d9, 0x6a93b8, 0x345f94, 0x152f60 },
  .accent = { 0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xd55e00, 0xf0e442, 0x8a8f98 },
};

static const IrPalette dark_contrast = {
  .background = 0x000000, .box = 0x000000, .border = 0xffffff, .text = 0xffffff,
  .muted = 0xd8dee6, .on_header = 0xffffff, .line = 0xe8ecf1, .control = 0xffc98a,
  .frame = 0x0d0f12, .frame_deep = 0x16191e, .frame_border = 0xd8dee6,
  .hover = 0x9ccbff, .selection = 0xb8d9ff,
  .header = {
    [IR_FAMILY_ELEMENTWISE] = 0x47566c, [IR_FAMILY_ACTIVATION] = 0x8d3d29,
    [IR_FAMILY_REDUCE] = 0x685116, [IR_FAMILY_LINEAR] = 0x265999,
    [IR_FAMILY_POOL] = 0x236144, [IR_FAMILY_NORM] = 0x5c4888,
    [IR_FAMILY_SHAPE] = 0x5e5349, [IR_FAMILY_INDEX] = 0x195d6a,
    [IR_FAMILY_CONSTANT] = 0x4f5764, [IR_FAMILY_CONTROL] = 0x8f3667,
    [IR_FAMILY_FUSED] = 0x234d96, [IR_FAMILY_OTHER] = 0x505660,
    [IR_SCENE_COLOUR_INPUT] = 0x2a6438, [IR_SCENE_COLOUR_OUTPUT] = 0x8b3d3d,
    [IR_SCENE_COLOUR_CONSTANT] = 0x4f5764, [IR_SCENE_COLOUR_UNKNOWN] = 0x4f545e,
    [IR_SCENE_COLOUR_FOLD] = 0x465383, [IR_SCENE_COLOUR_CLUSTER] = 0x4f5764,
  },
  .state = { [IR_SCENE_SAME] = 0x91979e, [IR_SCENE_NEW] = 0x56b4e9,
             [IR_SCENE_REMOVED] = 0xf08a3c, [IR_SCENE_CHANGED] = 0xc39bf0,
             [IR_SCENE_MATCHED] = 0x4cc79a, [IR_SCENE_MISFIT] = 0xff7b7b,
             [IR_SCENE_MISSING] = 0xb3a1ff },
  .problem = { 0x7fb2e5, 0xe5b93c, 0xff7b7b },
  .ramp = { 0x2f353e, 0x3d5a78, 0x5c86ae, 0x93b7d6, 0xdbe9f5 },
  .accent = { 0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xd55e00, 0xf0e442, 0x8a8f98 },
};
/* clang-format on */

/**
 * ir_palette:
 * @kind: light or dark, with the contrast that is usual or a high one
 *
 * Returns: (transfer none): the colours of such pictures
 */
const IrPalette *
ir_palette (IrPaletteKind kind)
{
  static const IrPalette *const palettes[] = { &light, &dark, &light_contrast, &dark_contrast };

  return palettes[kind & (IR_PALETTE_DARK | IR_PALETTE_HIGH_CONTRAST)];
}

/**
 * ir_colour_mix:
 * @a: 0xRRGGBB
 * @b: 0xRRGGBB
 * @amount: 0 = @a, 1 = @b
 *
 * Returns: the colour between, 0xRRGGBB
 */
guint32
ir_colour_mix (guint32 a, guint32 b, double amount)
{
  guint32 out = 0;

  for (int shift = 0; shift <= 16; shift += 8)
    {
      double x = a >> shift & 0xff, y = b >> shift & 0xff;
      out |= (guint32) (x + (y - x) * CLAMP (amount, 0, 1) + 0.5) << shift;
    }
  return out;
}

/**
 * ir_palette_ramp:
 * @palette: the colours in use
 * @at: 0 … 1, clamped
 *
 * Returns: the overlay's colour, 0xRRGGBB
 */
guint32
ir_palette_ramp (const IrPalette *palette, double at)
{
  double x = CLAMP (at, 0, 1) * (G_N_ELEMENTS (palette->ramp) - 1);
  guint i = MIN ((guint) x, (guint) G_N_ELEMENTS (palette->ramp) - 2);

  return ir_colour_mix (palette->ramp[i], palette->ramp[i + 1], x - i);
}

static double
luminance (guint32 colour)
{
  static const double weight[] = { 0.0722, 0.7152, 0.2126 };
  double sum = 0;

  for (int i = 0; i < 3; i++)
    {
      double c = (colour >> 8 * i & 0xff) / 255.0;
      sum += weight[i] * (c <= 0.03928 ? c / 12.92 : pow ((c + 0.055) / 1.055, 2.4));
    }
  return sum;
}

/**
 * ir_colour_contrast:
 * @a: 0xRRGGBB
 * @b: 0xRRGGBB
 *
 * Source: WCAG 2.1, contrast ratio.
 *
 * Returns: 1 … 21
 */
double
ir_colour_contrast (guint32 a, guint32 b)
{
  double x = luminance (a), y = luminance (b);

  return (MAX (x, y) + 0.05) / (MIN (x, y) + 0.05);
}

/**
 * ir_palette_on:
 * @palette: the colours in use
 * @fill: what the text stands on, 0xRRGGBB
 *
 * Returns: a text colour that can be read on any fill: white or nearly black
 */
guint32
ir_palette_on (const IrPalette *palette, guint32 fill)
{
  return ir_colour_contrast (fill, 0xffffff) >= ir_colour_contrast (fill, 0x111820) ? 0xffffff
                                                                                    : 0x111820;
}
