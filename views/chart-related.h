/* What belongs to the selected node in a chart of times, and how both are marked. */
#pragma once

#include "core/render/render.h"
#include "views/session/session.h"

#include <cairo.h>

/* Of a node beside the selected one: that reads from it, it reads from. */
#define IR_CHART_INPUT  GINT_TO_POINTER (1)
#define IR_CHART_OUTPUT GINT_TO_POINTER (2)

/* @session: (nullable) nothing is selected. @related: gets ids of nodes and which of the two they are */
void ir_chart_find_related (IrSession *session, GHashTable *related);

/* What bars are asked whether they stand for; 0: nothing. */
typedef struct
{
  IrNodeId node;
  IrValueId value;
} IrChartSelected;

static inline gboolean
ir_chart_is_selected (const IrChartSelected *selected, const IrSceneBox *box)
{
  return selected->value != 0 ? box->value == selected->value
                              : selected->node != 0 && box->node == selected->node;
}

/* A frame around @box, @colour: 0xRRGGBB */
void ir_chart_outline (const IrSceneBox *box, cairo_t *cr, guint32 colour);
/* Frames around the bars of what is selected, of @hover (0: nothing) and of what is @related, with threads. */
void ir_chart_draw_outlines (const IrScene *scene,
                             IrChartSelected selected,
                             IrNodeId hover,
                             GHashTable *related,
                             const IrPalette *palette,
                             cairo_t *cr);
