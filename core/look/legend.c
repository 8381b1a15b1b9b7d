/* What the colours of a picture mean, as a small picture: the distribution over the scale, or the
 * classes. */
#include "config.h"

#include "core/look/legend.h"

#define WIDTH    196.0 /* px */
#define BAR_AREA 30.0  /* px, of the distribution */
#define RAMP     8.0   /* px */
#define LINE     17.0  /* px */
#define SWATCH   10.0  /* px */

static void
add_text (IrScene *scene,
          IrSceneTextStyle style,
          IrSceneAlign align,
          double x,
          double y,
          const char *text)
{
  const IrSceneText item = {
    .style = style, .align = align, .box = -1, .x = x, .y = y, .text = text
  };

  ir_scene_add_text (scene, &item, WIDTH);
}

static void
add_tint (IrScene *scene, double x, double y, double width, double height, double tint)
{
  const IrSceneBox box = { .kind = IR_SCENE_PLAIN,
                           .parent = -1,
                           .x = x,
                           .y = y,
                           .width = width,
                           .height = height,
                           .header = height,
                           .has_tint = TRUE,
                           .tint = tint,
                           .id = "legend",
                           .tip = "" };

  ir_scene_add_box (scene, &box);
}

static double
draw_classes (IrScene *scene, const IrScale *scale, double y)
{
  for (guint i = 0; i < scale->n_classes; i++, y += LINE)
    {
      g_autofree char *n = g_strdup_printf ("%u", scale->n_in_class[i]);
      const IrSceneBox box = { .kind = IR_SCENE_PLAIN,
                               .parent = -1,
                               .y = y + 3,
                               .width = SWATCH,
                               .height = SWATCH,
                               .header = SWATCH,
                               .accent = (guint8) (i + 1),
                               .id = "legend",
                               .tip = scale->classes[i] };

      ir_scene_add_box (scene, &box);
      add_text (scene, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, SWATCH + 7, y + 12,
                scale->classes[i]);
      add_text (scene, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, WIDTH, y + 12, n);
    }
  return y;
}

static double
draw_numbers (IrScene *scene, const IrScale *scale, double y)
{
  g_autofree char *low = ir_scale_text (scale->low, scale->unit);
  g_autofree char *high = ir_scale_text (scale->high, scale->unit);
  const double step = WIDTH / IR_SCALE_BINS;
  guint most = 1;

  for (guint i = 0; i < IR_SCALE_BINS; i++)
    most = MAX (most, scale->bins[i]);
  for (guint i = 0; i < IR_SCALE_BINS; i++)
    {
      const double at = i / (double) (IR_SCALE_BINS - 1);
      /* one box of thousands is seen, too */
      const double height = scale->bins[i] > 0 ? MAX (2, BAR_AREA * scale->bins[i] / most) : 0;

      if (height > 0)
        add_tint (scene, i * step, y + BAR_AREA - height, step - 1, height, at);
      add_tint (scene, i * step, y + BAR_AREA + 2, step, RAMP, at);
    }
  y += BAR_AREA + RAMP + 15;
  add_text (scene, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, 0, y, low);
  add_text (scene, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_MIDDLE, WIDTH / 2, y,
            scale->is_log ? "log" : "linear");
  add_text (scene, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, WIDTH, y, high);
  return y + 4;
}

/**
 * ir_legend_draw:
 * @scale: what the colours mean
 * @measure: (nullable): as in #IrSceneOptions
 * @data: for @measure
 *
 * Returns: (transfer full): the legend, about 200 px wide, at 1:1
 */
IrScene *
ir_legend_draw (const IrScale *scale, IrSceneMeasure measure, gpointer data)
{
  IrScene *scene = ir_scene_new (measure, data);
  double y = 14;

  add_text (scene, IR_SCENE_TEXT_SUBTITLE, IR_SCENE_ALIGN_START, 0, 11, scale->title);
  y += 4;
  if (scale->n == 0)
    add_text (scene, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, 0, y + 12,
              scale->lacks != NULL ? scale->lacks : "Nothing is known");
  else if (scale->is_class)
    draw_classes (scene, scale, y);
  else
    draw_numbers (scene, scale, y);
  ir_scene_finish (scene);
  return scene;
}
