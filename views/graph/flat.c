#include "config.h"

#include "views/graph/flat.h"

#include <math.h>

static void
set_colour (cairo_t *cr, guint32 colour)
{
  cairo_set_source_rgb (cr, (colour >> 16 & 0xff) / 255.0, (colour >> 8 & 0xff) / 255.0,
                        (colour & 0xff) / 255.0);
}

/* One stroke for all lines of a colour. */
static void
paint_lines (const IrScene *scene,
             const IrPalette *palette,
             double zoom,
             double x,
             double y,
             const GArray *indices,
             cairo_t *cr)
{
  guint n;
  const IrSceneLine *lines = ir_scene_lines (scene, &n);

  for (int state = IR_SCENE_SAME; state < IR_N_SCENE_STATES; state++)
    {
      const IrSceneLine like = { .state = (IrSceneState) state };
      gboolean any = FALSE;

      for (guint i = 0; i < indices->len; i++)
        {
          const IrSceneLine *line = &lines[g_array_index (indices, gint32, i)];
          const IrLayoutPoint *p = ir_scene_line_points (scene, line);

          if (line->state != like.state || line->n_points < 2)
            continue;
          any = TRUE;
          cairo_move_to (cr, round (p[0].x * zoom) - x + 0.5, round (p[0].y * zoom) - y + 0.5);
          for (guint k = 1; k < line->n_points; k++)
            cairo_line_to (cr, round (p[k].x * zoom) - x + 0.5, round (p[k].y * zoom) - y + 0.5);
        }
      if (!any)
        continue;
      set_colour (cr, ir_line_ink (palette, scene, &like));
      cairo_stroke (cr);
    }
}

static guint32
colour_of (const IrScene *scene, const IrPalette *palette, double zoom, const IrSceneBox *box)
{
  guint32 text;

  return box->state != IR_SCENE_SAME     ? ir_box_border (palette, box)
         : box->kind == IR_SCENE_CLUSTER ? ir_box_body (palette, scene, box)
                                         : ir_box_header (palette, scene, box, zoom, &text);
}

void
ir_flat_paint (const IrScene *scene,
               const IrPalette *palette,
               double zoom,
               double x,
               double y,
               const GArray *boxes,
               const GArray *lines,
               cairo_t *cr)
{
  guint n;
  const IrSceneBox *all = ir_scene_boxes (scene, &n);

  cairo_set_antialias (cr, CAIRO_ANTIALIAS_NONE);
  cairo_set_line_width (cr, 1);
  for (guint pass = 0; pass < 2; pass++)
    {
      for (guint i = 0; i < boxes->len; i++)
        {
          const IrSceneBox *box = &all[g_array_index (boxes, gint32, i)];
          const double x0 = round (box->x * zoom), x1 = round ((box->x + box->width) * zoom);
          const double y0 = round (box->y * zoom), y1 = round ((box->y + box->height) * zoom);

          if ((box->kind == IR_SCENE_CLUSTER) != (pass == 0))
            continue;
          set_colour (cr, colour_of (scene, palette, zoom, box));
          cairo_rectangle (cr, x0 - x, y0 - y, MAX (x1 - x0, 1), MAX (y1 - y0, 1));
          cairo_fill (cr);
        }
      if (pass == 0) /* frames below the lines, boxes above */
        paint_lines (scene, palette, zoom, x, y, lines, cr);
    }
}
