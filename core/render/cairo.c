#include "config.h"

/* The same picture by cairo, as PDF or PNG, or on any surface; and the widths
 * of texts by Pango. Metrics are not hinted, so that text has one width at
 * every scale. */

#include "core/io/io.h"
#include "core/render/painter-private.h"
#include "core/render/render.h"

#include <cairo-pdf.h>
#include <math.h>
#include <pango/pangocairo.h>

/**
 * ir_render_error_quark:
 *
 * Returns: the domain of IR_RENDER_ERROR
 */
GQuark
ir_render_error_quark (void)
{
  return g_quark_from_static_string ("ir-render-error-quark");
}

/* --- fonts ------------------------------------------------------------------ */

static PangoContext *
new_context (void)
{
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  cairo_font_options_t *options = cairo_font_options_create ();

  cairo_font_options_set_hint_metrics (options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style (options, CAIRO_HINT_STYLE_NONE);
  pango_cairo_context_set_font_options (context, options);
  pango_cairo_context_set_resolution (context, 96);
  pango_context_set_round_glyph_positions (context, FALSE);
  cairo_font_options_destroy (options);
  return context;
}

static PangoLayout *
new_layout (PangoContext *context, IrSceneTextStyle style)
{
  const IrSceneTextLook *look = ir_scene_text_look (style);
  PangoLayout *layout = pango_layout_new (context);
  PangoFontDescription *font = pango_font_description_from_string (IR_RENDER_FONTS);

  pango_font_description_set_absolute_size (font, look->size * PANGO_SCALE);
  pango_font_description_set_weight (font,
                                     look->bold ? PANGO_WEIGHT_SEMIBOLD : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description (layout, font);
  pango_layout_set_single_paragraph_mode (layout, TRUE);
  pango_font_description_free (font);
  return layout;
}

#define MAX_WIDTHS (200 * 1000) /* remembered for each style */

struct _IrTextMeasure
{
  PangoContext *context;
  PangoLayout *layouts[IR_N_SCENE_TEXT_STYLES];
  GHashTable *widths[IR_N_SCENE_TEXT_STYLES]; /* text -> double * */
};

/**
 * ir_text_measure_new:
 *
 * What ir_text_measure_width() needs; for one thread. Give both to
 * #IrSceneOptions.
 *
 * Returns: (transfer full): the measure
 */
IrTextMeasure *
ir_text_measure_new (void)
{
  IrTextMeasure *measure = g_new0 (IrTextMeasure, 1);

  measure->context = new_context ();
  for (int i = 0; i < IR_N_SCENE_TEXT_STYLES; i++)
    {
      measure->layouts[i] = new_layout (measure->context, i);
      measure->widths[i] = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    }
  return measure;
}

/**
 * ir_text_measure_free:
 * @measure: (nullable) (transfer full): a measure
 */
void
ir_text_measure_free (IrTextMeasure *measure)
{
  if (measure == NULL)
    return;
  for (int i = 0; i < IR_N_SCENE_TEXT_STYLES; i++)
    {
      g_object_unref (measure->layouts[i]);
      g_hash_table_unref (measure->widths[i]);
    }
  g_object_unref (measure->context);
  g_free (measure);
}

/**
 * ir_text_measure_width:
 * @text: one line of UTF-8
 * @style: how it is set
 * @measure: an #IrTextMeasure
 *
 * Fits #IrSceneMeasure. Widths are remembered, so that a measure is worth keeping.
 *
 * Returns: px
 */
double
ir_text_measure_width (const char *text, IrSceneTextStyle style, gpointer measure)
{
  IrTextMeasure *self = measure;
  double *known = g_hash_table_lookup (self->widths[style], text);
  int width;

  if (known != NULL)
    return *known;
  pango_layout_set_text (self->layouts[style], text, -1);
  pango_layout_get_size (self->layouts[style], &width, NULL);
  if (g_hash_table_size (self->widths[style]) >= MAX_WIDTHS)
    g_hash_table_remove_all (self->widths[style]);
  known = g_new (double, 1);
  *known = (double) width / PANGO_SCALE;
  g_hash_table_insert (self->widths[style], g_strdup (text), known);
  return *known;
}

/* --- the painter ------------------------------------------------------------ */

typedef struct
{
  IrPainter base;
  cairo_t *cr;
  PangoContext *context;
  PangoLayout *layouts[IR_N_SCENE_TEXT_STYLES];
} CairoPainter;

static void
set_colour (cairo_t *cr, guint32 colour)
{
  cairo_set_source_rgb (cr, (colour >> 16 & 0xff) / 255.0, (colour >> 8 & 0xff) / 255.0,
                        (colour & 0xff) / 255.0);
}

static void
use_pen (cairo_t *cr, const IrPen *pen)
{
  if (pen->fill != IR_NO_COLOUR)
    {
      set_colour (cr, pen->fill);
      cairo_fill_preserve (cr);
    }
  if (pen->stroke != IR_NO_COLOUR)
    {
      set_colour (cr, pen->stroke);
      cairo_set_line_width (cr, pen->width);
      cairo_set_dash (cr, pen->dash, (int) pen->n_dash, 0);
      cairo_stroke_preserve (cr);
    }
  cairo_new_path (cr);
}

static void
draw_rect (IrPainter *painter, IrLayoutRect r, double radius, const IrPen *pen)
{
  cairo_t *cr = ((CairoPainter *) painter)->cr;
  double right = r.x + r.width, bottom = r.y + r.height;

  radius = MIN (radius, MIN (r.width, r.height) / 2);
  if (radius <= 0)
    cairo_rectangle (cr, r.x, r.y, r.width, r.height);
  else
    {
      cairo_new_sub_path (cr);
      cairo_arc (cr, right - radius, r.y + radius, radius, -G_PI_2, 0);
      cairo_arc (cr, right - radius, bottom - radius, radius, 0, G_PI_2);
      cairo_arc (cr, r.x + radius, bottom - radius, radius, G_PI_2, G_PI);
      cairo_arc (cr, r.x + radius, r.y + radius, radius, G_PI, 1.5 * G_PI);
      cairo_close_path (cr);
    }
  use_pen (cr, pen);
}

static void
draw_thumb (IrPainter *painter, IrLayoutRect r, const IrSceneThumb *thumb, const IrPalette *palette)
{
  cairo_t *cr = ((CairoPainter *) painter)->cr;
  cairo_surface_t *surface = ir_thumb_surface (thumb, palette);

  cairo_save (cr);
  cairo_translate (cr, r.x, r.y);
  cairo_scale (cr, r.width / thumb->width, r.height / thumb->height);
  cairo_set_source_surface (cr, surface, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_restore (cr);
  cairo_surface_destroy (surface);
}

/* A quadratic curve as the cubic that is equal to it. */
static void
quadratic_to (cairo_t *cr, const IrPathOp *op)
{
  double x, y;

  cairo_get_current_point (cr, &x, &y);
  cairo_curve_to (cr, x + (op->cx - x) * 2 / 3, y + (op->cy - y) * 2 / 3,
                  op->x + (op->cx - op->x) * 2 / 3, op->y + (op->cy - op->y) * 2 / 3, op->x, op->y);
}

static void
draw_path (IrPainter *painter, const IrPathOp *ops, guint n, const IrPen *pen)
{
  cairo_t *cr = ((CairoPainter *) painter)->cr;

  for (guint i = 0; i < n; i++)
    {
      if (ops[i].op == 'M')
        cairo_move_to (cr, ops[i].x, ops[i].y);
      else if (ops[i].op == 'L')
        cairo_line_to (cr, ops[i].x, ops[i].y);
      else if (ops[i].op == 'Q')
        quadratic_to (cr, &ops[i]);
      else
        cairo_close_path (cr);
    }
  use_pen (cr, pen);
}

static void
draw_text (IrPainter *painter, const IrSceneText *text, guint32 colour, guint32 halo)
{
  CairoPainter *self = (CairoPainter *) painter;
  const double scale = painter->text_scale > 0 ? painter->text_scale : 1;
  PangoLayout *layout;
  int width;
  double x = text->x;

  if (self->layouts[text->style] == NULL)
    self->layouts[text->style] = new_layout (self->context, text->style);
  layout = self->layouts[text->style];
  pango_layout_set_text (layout, text->text, -1);
  pango_layout_get_size (layout, &width, NULL);
  if (text->align == IR_SCENE_ALIGN_MIDDLE)
    x -= (double) width / PANGO_SCALE / 2;
  else if (text->align == IR_SCENE_ALIGN_END)
    x -= (double) width / PANGO_SCALE;
  cairo_save (self->cr);
  if (scale != 1)
    {
      cairo_translate (self->cr, text->x, text->y);
      cairo_scale (self->cr, scale, scale);
      cairo_translate (self->cr, -text->x, -text->y);
    }
  cairo_move_to (self->cr, x, text->y);
  if (halo != IR_NO_COLOUR)
    {
      pango_cairo_layout_line_path (self->cr, pango_layout_get_line_readonly (layout, 0));
      set_colour (self->cr, halo);
      cairo_set_dash (self->cr, NULL, 0, 0);
      cairo_set_line_width (self->cr, 3);
      cairo_stroke (self->cr);
      cairo_move_to (self->cr, x, text->y);
    }
  set_colour (self->cr, colour);
  pango_cairo_show_layout_line (self->cr, pango_layout_get_line_readonly (layout, 0));
  cairo_new_path (self->cr);
  cairo_restore (self->cr);
}

static void
painter_begin (CairoPainter *painter, cairo_t *cr)
{
  const cairo_surface_type_t type = cairo_surface_get_type (cairo_get_target (cr));

  *painter = (CairoPainter){
    .base = { .pixels = type != CAIRO_SURFACE_TYPE_PDF && type != CAIRO_SURFACE_TYPE_SVG,
              .rect = draw_rect,
              .thumb = draw_thumb,
              .path = draw_path,
              .text = draw_text },
    .cr = cr,
    .context = new_context (),
  };
  cairo_save (cr);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
}

static void
painter_end (CairoPainter *painter)
{
  cairo_restore (painter->cr);
  for (int i = 0; i < IR_N_SCENE_TEXT_STYLES; i++)
    g_clear_object (&painter->layouts[i]);
  g_object_unref (painter->context);
}

/**
 * ir_render_cairo:
 * @scene: a finished scene
 * @palette: colours
 * @clip: (nullable): px; only what meets it is painted
 * @zoom: px on screen for one of the scene, which says what is written
 * @cr: where, in px of the scene; the background is the caller's
 *
 * May be called from any thread, for different @cr at once.
 */
void
ir_render_cairo (const IrScene *scene,
                 const IrPalette *palette,
                 const IrLayoutRect *clip,
                 double zoom,
                 cairo_t *cr)
{
  CairoPainter painter;

  painter_begin (&painter, cr);
  ir_scene_paint (scene, palette, clip, zoom, &painter.base);
  painter_end (&painter);
}

/**
 * ir_render_tokens:
 * @tokens: (element-type IrSceneToken): what lies on the lines of a scene
 * @palette: the colours
 * @clip: (nullable): px of the scene; only what meets it is drawn
 * @cr: where, in px of the scene, which is drawn already
 */
void
ir_render_tokens (const GArray *tokens,
                  const IrPalette *palette,
                  const IrLayoutRect *clip,
                  cairo_t *cr)
{
  CairoPainter painter;

  painter_begin (&painter, cr);
  ir_tokens_paint (tokens, palette, clip, &painter.base);
  painter_end (&painter);
}

/* --- files ------------------------------------------------------------------ */

static cairo_status_t
append_data (void *closure, const unsigned char *data, unsigned int length)
{
  g_byte_array_append (closure, data, length);
  return CAIRO_STATUS_SUCCESS;
}

static gboolean
check_status (cairo_status_t status, GError **error)
{
  if (status == CAIRO_STATUS_SUCCESS)
    return TRUE;
  g_set_error (error, IR_RENDER_ERROR, IR_RENDER_ERROR_CAIRO, "The picture could not be drawn: %s",
               cairo_status_to_string (status));
  return FALSE;
}

/**
 * ir_surface_png:
 * @surface: (transfer full): an image
 * @error: return location for an error, or %NULL
 *
 * Returns: (transfer full) (nullable): it as a file
 */
GBytes *
ir_surface_png (cairo_surface_t *surface, GError **error)
{
  g_autoptr (GByteArray) data = g_byte_array_new ();
  cairo_status_t status = cairo_surface_status (surface);

  if (status == CAIRO_STATUS_SUCCESS)
    status = cairo_surface_write_to_png_stream (surface, append_data, data);
  cairo_surface_destroy (surface);
  return check_status (status, error) ? g_byte_array_free_to_bytes (g_steal_pointer (&data)) : NULL;
}

static double
zoom_of (const IrRenderOptions *options)
{
  return options != NULL && options->zoom > 0 ? options->zoom : 1;
}

static void
draw_page (const IrScene *scene,
           const IrRenderOptions *options,
           double scale,
           cairo_surface_t *surface)
{
  const IrPalette *palette = ir_palette (options != NULL ? options->colours : IR_PALETTE_LIGHT);
  const IrScene *legend = options != NULL ? options->legend : NULL;
  IrLayoutPoint at;
  const IrLayoutRect r = ir_render_page (scene, options, &at);
  cairo_t *cr = cairo_create (surface);

  if (options == NULL || !options->transparent)
    {
      set_colour (cr, palette->background);
      cairo_paint (cr);
    }
  cairo_scale (cr, scale, scale);
  cairo_translate (cr, -r.x, -r.y);
  cairo_save (cr);
  if (options != NULL && options->clip != NULL)
    {
      cairo_rectangle (cr, r.x, r.y, options->clip->width, options->clip->height);
      cairo_clip (cr);
    }
  ir_render_cairo (scene, palette, options != NULL ? options->clip : NULL, zoom_of (options), cr);
  if (options != NULL && options->tokens != NULL)
    ir_render_tokens (options->tokens, palette, options->clip, cr);
  cairo_restore (cr);
  if (legend != NULL)
    {
      const IrLayoutRect bounds = ir_scene_bounds (legend);

      cairo_translate (cr, at.x, at.y);
      cairo_scale (cr, 1 / zoom_of (options), 1 / zoom_of (options));
      cairo_translate (cr, -bounds.x, -bounds.y);
      ir_render_cairo (legend, palette, NULL, 1, cr);
    }
  cairo_show_page (cr);
  cairo_destroy (cr);
}

static void
take_note (IrRenderOptions *options, double asked, double scale, const char *why)
{
  if (options == NULL || scale >= asked * 0.999)
    return;
  g_free (options->note);
  options->note = g_strdup_printf ("The picture is drawn at %.3g of its size: %s.", scale, why);
}

/**
 * ir_render_pdf:
 * @scene: a finished scene
 * @options: (nullable): colours; the note is set if the page had to be scaled
 * @error: return location for an error, or %NULL
 *
 * One page; one px is 0.75 points. Text is text.
 *
 * Returns: (transfer full) (nullable): the file
 */
GBytes *
ir_render_pdf (const IrScene *scene, IrRenderOptions *options, GError **error)
{
  IrLayoutPoint at;
  const IrLayoutRect r = ir_render_page (scene, options, &at);
  const double asked = 0.75 * zoom_of (options);
  double side = MAX (MAX (r.width, r.height), 1), scale = MIN (asked, IR_RENDER_MAX_POINTS / side);
  g_autoptr (GByteArray) data = g_byte_array_new ();
  cairo_surface_t *surface = cairo_pdf_surface_create_for_stream (
      append_data, data, MAX (1, r.width * scale), MAX (1, r.height * scale));

  cairo_pdf_surface_set_metadata (surface, CAIRO_PDF_METADATA_CREATOR, "irscope");
  /* the same file from run to run: not when it was written */
  cairo_pdf_surface_set_metadata (surface, CAIRO_PDF_METADATA_CREATE_DATE, "1970-01-01T00:00:00Z");
  draw_page (scene, options, scale, surface);
  cairo_surface_finish (surface);
  cairo_status_t status = cairo_surface_status (surface);
  cairo_surface_destroy (surface);
  if (!check_status (status, error))
    return NULL;
  take_note (options, asked, scale, "PDF pages end at 14,400 points");
  return g_byte_array_free_to_bytes (g_steal_pointer (&data));
}

/**
 * ir_render_png:
 * @scene: a finished scene
 * @options: (nullable): colours and scale; the note is set if it had to be smaller
 * @error: return location for an error, or %NULL
 *
 * At most %IR_RENDER_MAX_SIDE px per side and %IR_RENDER_MAX_PIXELS px in all.
 *
 * Returns: (transfer full) (nullable): the file
 */
GBytes *
ir_render_png (const IrScene *scene, IrRenderOptions *options, GError **error)
{
  IrLayoutPoint at;
  const IrLayoutRect r = ir_render_page (scene, options, &at);
  double asked = (options && options->scale > 0 ? options->scale : 1) * zoom_of (options);
  double scale = asked;
  double width = MAX (1, r.width), height = MAX (1, r.height);

  scale = MIN (scale, IR_RENDER_MAX_SIDE / MAX (width, height));
  scale = MIN (scale, sqrt (IR_RENDER_MAX_PIXELS / (width * height)));
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32,
                                                         MAX (1, (int) ceil (width * scale)),
                                                         MAX (1, (int) ceil (height * scale)));
  draw_page (scene, options, scale, surface);
  g_autoptr (GBytes) bytes = ir_surface_png (surface, error);
  if (bytes == NULL)
    return NULL;
  take_note (options, asked, scale, "PNG pictures end at 32,000 px a side and 100 million px");
  return g_steal_pointer (&bytes);
}

/**
 * ir_render_file:
 * @scene: a finished scene
 * @path: file name; .svg, .pdf, .png, .dot or .gv says the format
 * @options: (nullable): as for the format's function
 * @error: return location for an error, or %NULL
 *
 * Replaces the file atomically.
 *
 * Fails with %IR_RENDER_ERROR_FORMAT for another ending, or a #GFileError.
 *
 * Returns: %TRUE if it was written
 */
gboolean
ir_render_file (const IrScene *scene, const char *path, IrRenderOptions *options, GError **error)
{
  static const struct
  {
    const char *ending;
    GBytes *(*render) (const IrScene *, IrRenderOptions *, GError **);
  } formats[] = { { ".svg", ir_render_svg },
                  { ".pdf", ir_render_pdf },
                  { ".png", ir_render_png },
                  { ".dot", ir_render_dot },
                  { ".gv", ir_render_dot } };
  g_autofree char *lower = g_ascii_strdown (path, -1);

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_str_has_suffix (lower, formats[i].ending))
      {
        g_autoptr (GBytes) bytes = formats[i].render (scene, options, error);
        return bytes != NULL && ir_file_write_atomic (path, bytes, error);
      }
  g_set_error (error, IR_RENDER_ERROR, IR_RENDER_ERROR_FORMAT,
               "%s: the ending must be .svg, .pdf, .png, .dot or .gv", path);
  return FALSE;
}
