#include "config.h"

#include "views/graph/letters.h"

#define MAX_NAMES 20000

struct _IrLetters
{
  PangoContext *pango; /* (nullable) whose letters have the same widths at every scale */
  GHashTable *names;   /* text, size and colour -> GskRenderNode */
};

IrLetters *
ir_letters_new (void)
{
  IrLetters *self = g_new0 (IrLetters, 1);

  self->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                       (GDestroyNotify) gsk_render_node_unref);
  return self;
}

void
ir_letters_free (IrLetters *self)
{
  g_clear_object (&self->pango);
  g_hash_table_unref (self->names);
  g_free (self);
}

/* As in core/render: metrics that are not hinted, so that letters stand evenly at every scale, and
 * are as wide as they were measured. */
PangoContext *
ir_letters_context (IrLetters *self, PangoContext *widget)
{
  cairo_font_options_t *options;

  if (self->pango != NULL)
    return self->pango;
  options = cairo_font_options_create ();
  cairo_font_options_set_hint_metrics (options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style (options, CAIRO_HINT_STYLE_SLIGHT);
  self->pango = pango_font_map_create_context (pango_context_get_font_map (widget));
  pango_cairo_context_set_font_options (self->pango, options);
  pango_cairo_context_set_resolution (self->pango, 96);
  pango_context_set_round_glyph_positions (self->pango, FALSE);
  cairo_font_options_destroy (options);
  return self->pango;
}

PangoFontDescription *
ir_letters_font (const IrSceneTextLook *look)
{
  PangoFontDescription *font = pango_font_description_new ();

  pango_font_description_set_family_static (font, "sans-serif");
  pango_font_description_set_absolute_size (font, look->size * PANGO_SCALE);
  pango_font_description_set_weight (font, look->bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  return font;
}

/* A name @size px high with the middle of its baseline at the origin. */
static GskRenderNode *
make_name (IrLetters *self, PangoContext *pango, const IrSceneName *name, guint32 colour)
{
  g_autoptr (PangoLayout) layout = pango_layout_new (ir_letters_context (self, pango));
  IrSceneTextLook look = *ir_scene_text_look (IR_SCENE_TEXT_TITLE);
  const GdkRGBA ink = { (float) (colour >> 16 & 0xff) / 255, (float) (colour >> 8 & 0xff) / 255,
                        (float) (colour & 0xff) / 255, 1 };
  PangoFontDescription *font;
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  int width;

  look.size = name->size;
  font = ir_letters_font (&look);
  pango_layout_set_font_description (layout, font);
  pango_font_description_free (font);
  pango_layout_set_text (layout, name->text, -1);
  pango_layout_get_size (layout, &width, NULL);
  gtk_snapshot_translate (
      snapshot, &GRAPHENE_POINT_INIT ((float) round (-width / 2.0 / PANGO_SCALE),
                                      (float) -pango_layout_get_baseline (layout) / PANGO_SCALE));
  gtk_snapshot_append_layout (snapshot, layout, &ink);
  return gtk_snapshot_free_to_node (snapshot);
}

/* Many boxes have one name, and it is made once. (transfer full) (nullable) */
GskRenderNode *
ir_letters_dup_name (IrLetters *self, PangoContext *pango, const IrSceneName *name, guint32 colour)
{
  char key[128];
  const gboolean keep = g_snprintf (key, sizeof key, "%06x %.1f %s", colour, name->size,
                                    name->text) < (int) sizeof key;
  GskRenderNode *node = keep ? g_hash_table_lookup (self->names, key) : NULL;

  if (node != NULL)
    return gsk_render_node_ref (node);
  node = make_name (self, pango, name, colour);
  if (node == NULL || !keep)
    return node;
  if (g_hash_table_size (self->names) > MAX_NAMES)
    g_hash_table_remove_all (self->names);
  g_hash_table_insert (self->names, g_strdup (key), gsk_render_node_ref (node));
  return node;
}
