#include "config.h"

/* SVG written by hand: <rect>, <path> and real <text>, one <g> per item with a
 * title (the tooltip) and data attributes that scripts can find. Styles of
 * text are classes; colours are attributes, which every reader understands. */

#include "core/render/painter-private.h"
#include "core/render/render.h"

#include <math.h>
#include <string.h>

typedef struct
{
  IrPainter base;
  GString *out;
} SvgPainter;

static GString *
output (IrPainter *painter)
{
  return ((SvgPainter *) painter)->out;
}

/* Escapes for XML 1.0; characters that it cannot hold become U+FFFD. */
static void
append_escaped (GString *out, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);

  for (const char *p = valid; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);
      if (c == '&')
        g_string_append (out, "&amp;");
      else if (c == '<')
        g_string_append (out, "&lt;");
      else if (c == '>')
        g_string_append (out, "&gt;");
      else if (c == '"')
        g_string_append (out, "&quot;");
      else if ((c < 32 && c != '\n' && c != '\t') || c == 0xfffe || c == 0xffff)
        g_string_append (out, "\357\277\275");
      else
        g_string_append_unichar (out, c);
    }
}

/* At most two decimals, no locale, no trailing zeros. */
static void
append_number (GString *out, double x)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  double rounded = floor (x * 100 + 0.5) / 100;

  /* Nearly all are whole, and this is most of the time of a big file. */
  if (rounded == floor (rounded) && ABS (rounded) < 1e9)
    {
      g_string_append_printf (out, "%d", (int) rounded);
      return;
    }
  g_string_append (out, g_ascii_formatd (buffer, sizeof buffer, "%.2f", rounded + 0.0));
  while (out->str[out->len - 1] == '0')
    g_string_truncate (out, out->len - 1);
  if (out->str[out->len - 1] == '.')
    g_string_truncate (out, out->len - 1);
}

static void
append_attribute (GString *out, const char *name, double x)
{
  g_string_append_printf (out, " %s=\"", name);
  append_number (out, x);
  g_string_append_c (out, '"');
}

static void
append_pen (GString *out, const IrPen *pen)
{
  if (pen->fill == IR_NO_COLOUR)
    g_string_append (out, " fill=\"none\"");
  else
    g_string_append_printf (out, " fill=\"#%06x\"", pen->fill);
  if (pen->stroke == IR_NO_COLOUR)
    return;
  g_string_append_printf (out, " stroke=\"#%06x\"", pen->stroke);
  append_attribute (out, "stroke-width", pen->width);
  for (guint i = 0; i < pen->n_dash; i++)
    {
      g_string_append (out, i == 0 ? " stroke-dasharray=\"" : " ");
      append_number (out, pen->dash[i]);
    }
  if (pen->n_dash > 0)
    g_string_append_c (out, '"');
}

static void
append_ref (GString *out, const char *name, const IrScene *scene, gint32 box)
{
  guint n;

  if (box >= 0)
    g_string_append_printf (out, " data-%s=\"%s\"", name, ir_scene_boxes (scene, &n)[box].id);
}

static void
svg_begin (IrPainter *painter, const char *kind, const IrScene *scene, IrSceneHit item)
{
  GString *out = output (painter);
  guint n;
  const char *tip;

  if (item.box >= 0)
    {
      const IrSceneBox *b = &ir_scene_boxes (scene, &n)[item.box];
      g_string_append_printf (out, "<g id=\"%s\" class=\"%s %s\"", b->id, kind,
                              ir_scene_state_name (b->state));
      if (b->node != 0)
        g_string_append_printf (out, " data-node=\"%u\"", b->node);
      if (b->before != 0)
        g_string_append_printf (out, " data-before=\"%u\"", b->before);
      append_ref (out, "parent", scene, b->parent);
      tip = b->tip;
    }
  else
    {
      const IrSceneLine *l = &ir_scene_lines (scene, &n)[item.line];
      g_string_append_printf (out, "<g id=\"e%d\" class=\"%s %s\"", item.line, kind,
                              ir_scene_state_name (l->state));
      append_ref (out, "from", scene, l->from);
      append_ref (out, "to", scene, l->to);
      tip = l->tip;
    }
  g_string_append_c (out, '>');
  if (tip != NULL && tip[0] != '\0')
    {
      g_string_append (out, "<title>");
      append_escaped (out, tip);
      g_string_append (out, "</title>");
    }
}

static void
svg_end (IrPainter *painter)
{
  g_string_append (output (painter), "</g>\n");
}

static void
svg_rect (IrPainter *painter, IrLayoutRect r, double radius, const IrPen *pen)
{
  GString *out = output (painter);

  g_string_append (out, "<rect");
  append_attribute (out, "x", r.x);
  append_attribute (out, "y", r.y);
  append_attribute (out, "width", r.width);
  append_attribute (out, "height", r.height);
  if (radius > 0)
    append_attribute (out, "rx", radius);
  append_pen (out, pen);
  g_string_append (out, "/>");
}

/* As a picture within the file: cells as rectangles would be most of it. */
static void
svg_thumb (IrPainter *painter, IrLayoutRect r, const IrSceneThumb *thumb, const IrPalette *palette)
{
  GString *out = output (painter);
  g_autoptr (GBytes) png = ir_surface_png (ir_thumb_surface (thumb, palette), NULL);
  g_autofree char *data = png != NULL ? g_base64_encode (g_bytes_get_data (png, NULL),
                                                         g_bytes_get_size (png))
                                      : NULL;

  if (data == NULL)
    return;
  g_string_append (out, "<image");
  append_attribute (out, "x", r.x);
  append_attribute (out, "y", r.y);
  append_attribute (out, "width", r.width);
  append_attribute (out, "height", r.height);
  g_string_append_printf (out,
                          " preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                          "href=\"data:image/png;base64,%s\"/>",
                          data);
}

static void
svg_path (IrPainter *painter, const IrPathOp *ops, guint n, const IrPen *pen)
{
  GString *out = output (painter);

  g_string_append (out, "<path d=\"");
  for (guint i = 0; i < n; i++)
    {
      g_string_append_c (out, ops[i].op);
      if (ops[i].op == 'Z')
        continue;
      if (ops[i].op == 'Q')
        {
          append_number (out, ops[i].cx);
          g_string_append_c (out, ' ');
          append_number (out, ops[i].cy);
          g_string_append_c (out, ' ');
        }
      append_number (out, ops[i].x);
      g_string_append_c (out, ' ');
      append_number (out, ops[i].y);
    }
  g_string_append_c (out, '"');
  append_pen (out, pen);
  g_string_append (out, "/>");
}

static void
svg_text (IrPainter *painter, const IrSceneText *text, guint32 colour, guint32 halo)
{
  static const char *const anchors[] = { "start", "middle", "end" };
  GString *out = output (painter);

  g_string_append_printf (out, "<text class=\"%s\"", ir_scene_text_look (text->style)->name);
  append_attribute (out, "x", text->x);
  append_attribute (out, "y", text->y);
  if (painter->text_scale > 0)
    {
      g_string_append (out, " style=\"font-size:");
      append_number (out, ir_scene_text_look (text->style)->size * painter->text_scale);
      g_string_append (out, "px\"");
    }
  if (text->align != IR_SCENE_ALIGN_START)
    g_string_append_printf (out, " text-anchor=\"%s\"", anchors[text->align]);
  g_string_append_printf (out, " fill=\"#%06x\"", colour);
  if (halo != IR_NO_COLOUR)
    g_string_append_printf (
        out,
        " stroke=\"#%06x\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
        halo);
  g_string_append_c (out, '>');
  append_escaped (out, text->text);
  g_string_append (out, "</text>");
}

static void
append_styles (GString *out)
{
  g_string_append (out, "<style>text{font-family:" IR_RENDER_FONTS ";white-space:pre}\n");
  for (int i = 0; i < IR_N_SCENE_TEXT_STYLES; i++)
    {
      const IrSceneTextLook *look = ir_scene_text_look (i);
      g_string_append_printf (out, ".%s{font-size:%gpx%s}\n", look->name, look->size,
                              look->bold ? ";font-weight:600" : "");
    }
  g_string_append (out, "</style>\n");
}

/**
 * ir_render_svg:
 * @scene: a finished scene
 * @options: (nullable): colours
 * @error: return location for an error, or %NULL
 *
 * Cost: about 1 kB per box. Never fails.
 *
 * Returns: (transfer full): the file
 */
GBytes *
ir_render_svg (const IrScene *scene, IrRenderOptions *options, GError **error)
{
  const IrPalette *palette = ir_palette (options != NULL ? options->colours : IR_PALETTE_LIGHT);
  const double zoom = options != NULL && options->zoom > 0 ? options->zoom : 1;
  const IrScene *legend = options != NULL ? options->legend : NULL;
  IrLayoutPoint at;
  const IrLayoutRect r = ir_render_page (scene, options, &at);
  SvgPainter painter = {
    .base = { 0, svg_begin, svg_end, svg_rect, svg_thumb, svg_path, svg_text },
    .out = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"),
  };
  IrPen background = { .fill = palette->background, .stroke = IR_NO_COLOUR };

  g_string_append (painter.out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
  append_attribute (painter.out, "width", r.width * zoom);
  append_attribute (painter.out, "height", r.height * zoom);
  g_string_append_printf (painter.out, " viewBox=\"%.0f %.0f %.0f %.0f\">\n", r.x, r.y, r.width,
                          r.height);
  append_styles (painter.out);
  if (options == NULL || !options->transparent)
    svg_rect (&painter.base, r, 0, &background);
  g_string_append_c (painter.out, '\n');
  ir_scene_paint (scene, palette, options != NULL ? options->clip : NULL, zoom, &painter.base);
  if (options != NULL && options->tokens != NULL)
    ir_tokens_paint (options->tokens, palette, options->clip, &painter.base);
  if (legend != NULL)
    {
      const IrLayoutRect bounds = ir_scene_bounds (legend);

      g_string_append (painter.out, "<g class=\"legend\" transform=\"translate(");
      append_number (painter.out, at.x - bounds.x / zoom);
      g_string_append_c (painter.out, ' ');
      append_number (painter.out, at.y - bounds.y / zoom);
      g_string_append (painter.out, ") scale(");
      append_number (painter.out, 1 / zoom);
      g_string_append (painter.out, ")\">\n");
      ir_scene_paint (legend, palette, NULL, 1, &painter.base);
      g_string_append (painter.out, "</g>\n");
    }
  g_string_append (painter.out, "</svg>\n");
  return g_string_free_to_bytes (painter.out);
}
