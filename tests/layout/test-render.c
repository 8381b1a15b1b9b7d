#include "config.h"

/* SVG, PDF and PNG of one scene, and the palette. */

#include "core/render/render.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static gboolean blesses;

static IrScene *
sample (IrSceneMeasure measure, gpointer data, double far)
{
  IrScene *scene = ir_scene_new (measure, data);
  const char *titles[] = { "Conv", "a & b < c > \"d\"", "Relu\001\377",
                           "\346\274\242\345\255\227" };
  IrLayoutPoint points[] = { { 60, 40 }, { 60, 70 }, { far, 70 }, { far, 120 } };

  for (int i = 0; i < 4; i++)
    {
      IrSceneBox box = { .kind = i == 3 ? IR_SCENE_FOLD : IR_SCENE_NODE,
                         .state = i,
                         .colour = (guint8) i,
                         .parent = -1,
                         .x = i * 200,
                         .width = 160,
                         .height = 48,
                         .header = 24,
                         .problem = (guint8) i,
                         .node = (IrNodeId) i + 1,
                         .tip = titles[i] };
      gint32 at = ir_scene_add_box (scene, &box);
      IrSceneText text = { .style = IR_SCENE_TEXT_TITLE,
                           .box = at,
                           .on_header = TRUE,
                           .x = box.x + 12,
                           .y = 17,
                           .text = titles[i] };
      ir_scene_add_text (scene, &text, 100);
      IrSceneLine line = { .state = i, .from = at, .to = -1, .value = 1, .tip = "<x>" };
      ir_scene_add_line (scene, &line, points, 4);
      for (int k = 0; k < 4; k++)
        points[k].y += 20;
    }
  IrSceneLine control = { .kind = IR_SCENE_LINE_CONTROL, .from = 0, .to = 1 },
              captured = { .captured = TRUE, .from = 1, .to = 2, .value = 2 };
  ir_scene_add_line (scene, &control, points, 4);
  for (int k = 0; k < 4; k++)
    points[k].y += 20;
  ir_scene_add_line (scene, &captured, points, 4);
  IrSceneText label = {
    .style = IR_SCENE_TEXT_LABEL, .box = -1, .x = 66, .y = 60, .text = "1\303\2273"
  };
  ir_scene_add_text (scene, &label, 0);
  ir_scene_finish (scene);
  return scene;
}

typedef struct
{
  guint n_rect, n_path, n_text, n_group, n_title;
  GString *text;
  double width, height;
  GHashTable *ids;
} Seen;

static void
start_element (GMarkupParseContext *context,
               const char *name,
               const char **names,
               const char **values,
               gpointer data,
               GError **error)
{
  Seen *seen = data;

  seen->n_rect += strcmp (name, "rect") == 0;
  seen->n_path += strcmp (name, "path") == 0;
  seen->n_text += strcmp (name, "text") == 0;
  seen->n_group += strcmp (name, "g") == 0;
  seen->n_title += strcmp (name, "title") == 0;
  for (guint i = 0; names[i] != NULL; i++)
    {
      if (strcmp (name, "svg") == 0 && strcmp (names[i], "width") == 0)
        seen->width = g_ascii_strtod (values[i], NULL);
      if (strcmp (name, "svg") == 0 && strcmp (names[i], "height") == 0)
        seen->height = g_ascii_strtod (values[i], NULL);
      if (strcmp (names[i], "id") == 0)
        g_assert_true (g_hash_table_add (seen->ids, g_strdup (values[i])));
    }
}

static void
take_text (
    GMarkupParseContext *context, const char *text, gsize length, gpointer data, GError **error)
{
  g_string_append_len (((Seen *) data)->text, text, (gssize) length);
  g_string_append_c (((Seen *) data)->text, '\n');
}

static void
parse_svg (GBytes *bytes, Seen *seen)
{
  GMarkupParser parser = { .start_element = start_element, .text = take_text };
  g_autoptr (GMarkupParseContext) context = g_markup_parse_context_new (&parser, 0, seen, NULL);
  g_autoptr (GError) error = NULL;
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);

  seen->text = g_string_new (NULL);
  seen->ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_markup_parse_context_parse (context, data, (gssize) size, &error);
  g_assert_no_error (error);
  g_assert_true (g_markup_parse_context_end_parse (context, &error));
}

static void
seen_clear (Seen *seen)
{
  g_string_free (seen->text, TRUE);
  g_hash_table_unref (seen->ids);
}

static void
test_svg (void)
{
  g_autoptr (IrScene) scene = sample (NULL, NULL, 500);
  g_autoptr (GBytes) bytes = ir_render_svg (scene, NULL, NULL);
  Seen seen = { 0 };

  parse_svg (bytes, &seen);
  g_assert_cmpuint (seen.n_group, ==, 10);
  g_assert_cmpuint (seen.n_title, ==, 8);
  g_assert_cmpuint (seen.n_text, ==, 4 + 1 + 3 + 3); /* titles, label, states, problems */
  g_assert_cmpuint (seen.n_path, ==, 6 * 2 + 4);     /* lines and arrows, headers */
  g_assert_nonnull (strstr (seen.text->str, "a & b < c"));
  g_assert_nonnull (strstr (seen.text->str, "<x>"));
  g_assert_null (strchr (seen.text->str, '\001'));
  g_assert_true (g_hash_table_contains (seen.ids, "b0"));
  seen_clear (&seen);
}

/* All that is drawn, as in sample.svg; --bless writes it anew. */
static void
test_every_element (void)
{
  g_autoptr (IrScene) scene = sample (NULL, NULL, 500);
  g_autoptr (GBytes) bytes = ir_render_svg (scene, NULL, NULL);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "sample.svg", NULL), *wanted = NULL,
                  *drawn = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  g_autoptr (GError) error = NULL;

  if (blesses)
    g_file_set_contents (path, drawn, -1, NULL);
  g_file_get_contents (path, &wanted, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (drawn, ==, wanted);
}

static guint
read_be32 (const guint8 *p)
{
  return (guint) p[0] << 24 | (guint) p[1] << 16 | (guint) p[2] << 8 | p[3];
}

static void
test_sizes_agree (void)
{
  g_autoptr (IrScene) scene = sample (NULL, NULL, 500);
  IrLayoutRect r = ir_scene_bounds (scene);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) svg = ir_render_svg (scene, NULL, NULL);
  g_autoptr (GBytes) png = ir_render_png (scene, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GBytes) pdf = ir_render_pdf (scene, NULL, &error);
  g_assert_no_error (error);
  const guint8 *p = g_bytes_get_data (png, NULL);
  Seen seen = { 0 };

  g_assert_cmpmem (p + 1, 3, "PNG", 3);
  g_assert_cmpmem (g_bytes_get_data (pdf, NULL), 5, "%PDF-", 5);
  parse_svg (svg, &seen);
  g_assert_cmpfloat (seen.width, ==, r.width);
  g_assert_cmpfloat (seen.height, ==, r.height);
  g_assert_cmpuint (read_be32 (p + 16), ==, (guint) r.width);
  g_assert_cmpuint (read_be32 (p + 20), ==, (guint) r.height);
  seen_clear (&seen);
}

static void
test_big_png (void)
{
  g_autoptr (IrScene) scene = sample (NULL, NULL, 90000);
  IrRenderOptions options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) png = ir_render_png (scene, &options, &error);

  g_assert_no_error (error);
  const guint8 *p = g_bytes_get_data (png, NULL);
  g_assert_cmpuint (read_be32 (p + 16), <=, IR_RENDER_MAX_SIDE + 1);
  g_assert_cmpuint (read_be32 (p + 16), >, IR_RENDER_MAX_SIDE - 10);
  g_assert_nonnull (options.note);
  g_free (options.note);
}

static void
test_same_bytes (void)
{
  g_autoptr (IrScene) scene = sample (NULL, NULL, 500);
  g_autoptr (GBytes) a = ir_render_svg (scene, NULL, NULL);
  g_autoptr (GBytes) b = ir_render_svg (scene, NULL, NULL);
  IrRenderOptions dark = { .colours = IR_PALETTE_DARK };
  g_autoptr (GBytes) c = ir_render_svg (scene, &dark, NULL);

  g_assert_true (g_bytes_equal (a, b));
  g_assert_false (g_bytes_equal (a, c));
}

static void
test_measured_text_fits (void)
{
  g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
  g_autoptr (IrScene) scene = sample (ir_text_measure_width, measure, 500);
  guint n;
  const IrSceneText *texts = ir_scene_texts (scene, &n);

  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpfloat (texts[i].width, >, 0);
      if (texts[i].box >= 0)
        g_assert_cmpfloat (texts[i].width, <=, 100);
    }
  double narrow = ir_text_measure_width ("iii", IR_SCENE_TEXT_ROW, measure);
  double wide = ir_text_measure_width ("WWW", IR_SCENE_TEXT_ROW, measure);
  g_assert_cmpfloat (narrow, <, wide);
}

static void
test_files (void)
{
  g_autoptr (IrScene) scene = sample (NULL, NULL, 500);
  g_autofree char *dir = g_dir_make_tmp ("irscope-render-XXXXXX", NULL);
  g_autoptr (GError) error = NULL;
  const char *names[] = { "a.svg", "a.pdf", "a.PNG" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (dir, names[i], NULL);
      g_assert_true (ir_render_file (scene, path, NULL, &error));
      g_assert_no_error (error);
      g_assert_true (g_file_test (path, G_FILE_TEST_IS_REGULAR));
      g_unlink (path);
    }
  g_autofree char *path = g_build_filename (dir, "a.bmp", NULL);
  g_assert_false (ir_render_file (scene, path, NULL, &error));
  g_assert_error (error, IR_RENDER_ERROR, IR_RENDER_ERROR_FORMAT);
  g_rmdir (dir);
}

static void
test_contrast (void)
{
  for (guint kind = 0; kind <= (IR_PALETTE_DARK | IR_PALETTE_HIGH_CONTRAST); kind++)
    {
      const IrPalette *p = ir_palette ((IrPaletteKind) kind);
      const double least = (kind & IR_PALETTE_HIGH_CONTRAST) != 0 ? 7 : 4.5;

      for (guint i = 0; i < IR_N_SCENE_COLOURS; i++)
        g_assert_cmpfloat (ir_colour_contrast (p->header[i], p->on_header), >=, least);
      g_assert_cmpfloat (ir_colour_contrast (p->text, p->box), >=, 7);
      g_assert_cmpfloat (ir_colour_contrast (p->muted, p->box), >=, least);
      g_assert_cmpfloat (ir_colour_contrast (p->muted, p->background), >=, least);
      g_assert_cmpfloat (ir_colour_contrast (p->muted, p->frame_deep), >=, least);
      g_assert_cmpfloat (ir_colour_contrast (p->line, p->background), >=, least > 5 ? 7 : 3);
      for (guint i = IR_SCENE_NEW; i < IR_N_SCENE_STATES; i++)
        {
          g_assert_cmpfloat (ir_colour_contrast (p->state[i], p->background), >=,
                             least > 5 ? 7 : 3);
          g_assert_cmpfloat (ir_colour_contrast (p->state[i], ir_palette_on (p, p->state[i])), >=,
                             4.5);
        }
      for (double t = 0; t <= 1; t += 0.05)
        g_assert_cmpfloat (
            ir_colour_contrast (ir_palette_ramp (p, t), ir_palette_on (p, ir_palette_ramp (p, t))),
            >=, 4.2);
    }
}

int
main (int argc, char **argv)
{
  blesses = argc > 1 && strcmp (argv[1], "--bless") == 0;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/render/an SVG is well-formed, with real text and titles", test_svg);
  g_test_add_func ("/render/every element is drawn as before", test_every_element);
  g_test_add_func ("/render/SVG, PNG and scene have one size", test_sizes_agree);
  g_test_add_func ("/render/a PNG that would be too big is scaled down, with a note", test_big_png);
  g_test_add_func ("/render/the same scene gives the same bytes", test_same_bytes);
  g_test_add_func ("/render/measured text fits where it was measured for", test_measured_text_fits);
  g_test_add_func ("/render/the ending of the file says the format", test_files);
  g_test_add_func ("/render/colours have contrast in light and dark", test_contrast);
  return g_test_run ();
}
