#include "config.h"

#include "views/chart-related.h"

#include "views/session/frame.h"
#include "views/session/selection.h"

#include <math.h>

/* Gives @related what the selected node reads from, and what reads from it. */
void
ir_chart_find_related (IrSession *session, GHashTable *related)
{
  const IrFrame *frame = session != NULL ? ir_session_get_frame (session) : NULL;
  const IrNode *node = frame != NULL ? ir_frame_node (frame, ir_session_get_selected_node (session))
                                     : NULL;

  g_hash_table_remove_all (related);
  for (guint i = 0; node != NULL && i < node->n_outputs; i++)
    for (guint k = 0; node->outputs[i] != NULL && k < node->outputs[i]->n_uses; k++)
      {
        const IrNode *user = ir_value_use (node->outputs[i], k).node;

        if (user != NULL)
          g_hash_table_insert (related, GUINT_TO_POINTER (user->id), IR_CHART_OUTPUT);
      }
  for (guint i = 0; node != NULL && i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && node->inputs[i]->producer != NULL)
      g_hash_table_insert (related, GUINT_TO_POINTER (node->inputs[i]->producer->id),
                           IR_CHART_INPUT);
}

/* -- what is drawn over the bars -- */

void
ir_chart_outline (const IrSceneBox *box, cairo_t *cr, guint32 colour)
{
  cairo_set_source_rgb (cr, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                        (colour & 255) / 255.0);
  cairo_set_line_width (cr, 2);
  cairo_rectangle (cr, box->x - 1, box->y - 1, box->width + 2, box->height + 2);
  cairo_stroke (cr);
}

/* A thread from what was read to what reads it. */
static void
link_boxes (const IrSceneBox *from, const IrSceneBox *to, cairo_t *cr)
{
  const double x0 = from->x + from->width, y0 = from->y + from->height / 2, x1 = to->x,
               y1 = to->y + to->height / 2, bend = MAX (fabs (x1 - x0) / 2, 12);

  cairo_move_to (cr, x0, y0);
  cairo_curve_to (cr, x0 + bend, y0, x1 - bend, y1, x1, y1);
  cairo_stroke (cr);
}

/* @near: of bars that stand for what is related. Bars of one node in different parts of a chart have ids that begin
 * otherwise. */
static void
draw_related (const IrSceneBox *boxes,
              const IrSceneBox *selected,
              const GArray *near,
              GHashTable *related,
              guint32 colour,
              cairo_t *cr)
{
  for (guint k = 0; k < near->len; k++)
    {
      const IrSceneBox *box = &boxes[g_array_index (near, guint, k)];

      if (box->id[0] != selected->id[0])
        continue;
      ir_chart_outline (box, cr, colour);
      if (g_hash_table_lookup (related, GUINT_TO_POINTER (box->node)) == IR_CHART_INPUT)
        link_boxes (box, selected, cr);
      else
        link_boxes (selected, box, cr);
    }
}

void
ir_chart_draw_outlines (const IrScene *scene,
                        IrChartSelected selected,
                        IrNodeId hover,
                        GHashTable *related,
                        const IrPalette *palette,
                        cairo_t *cr)
{
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GArray) near = g_array_new (FALSE, FALSE, sizeof (guint));
  const gboolean any = g_hash_table_size (related) > 0;
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    {
      if (ir_chart_is_selected (&selected, &boxes[i]))
        g_array_append_val (chosen, i);
      else if (hover != 0 && boxes[i].node == hover)
        ir_chart_outline (&boxes[i], cr, palette->hover);
      if (any && g_hash_table_contains (related, GUINT_TO_POINTER (boxes[i].node)))
        g_array_append_val (near, i);
    }
  for (guint k = 0; k < chosen->len; k++)
    {
      const IrSceneBox *box = &boxes[g_array_index (chosen, guint, k)];

      ir_chart_outline (box, cr, palette->selection);
      draw_related (boxes, box, near, related, palette->hover, cr);
    }
}
