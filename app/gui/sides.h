/* IrSides: the graph between a pane on either side. In a wide window the panes stand in GtkPaneds; in
 * a narrow one they are taken out and slide over the graph when they are asked for. */
#pragma once

#include <gtk/gtk.h>

#define IR_TYPE_SIDES (ir_sides_get_type ())
G_DECLARE_FINAL_TYPE (IrSides, ir_sides, IR, SIDES, GtkWidget)

typedef enum
{
  IR_SIDES_START,
  IR_SIDES_END,
  IR_N_SIDES_PLACES
} IrSidesPlace;

/* Signals:
 *   shown   a pane was shown or hidden
 *   mode    wide, narrow or tight: another than before */
GtkWidget *ir_sides_new (GtkPaned *start_paned, GtkPaned *end_paned);
void ir_sides_set_shown (IrSides *self, IrSidesPlace place, gboolean shown);
gboolean ir_sides_get_shown (IrSides *self, IrSidesPlace place);
int ir_sides_get_cover (IrSides *self, IrSidesPlace place); /* px of the graph that it lies on */
gboolean ir_sides_get_narrow (IrSides *self);
gboolean ir_sides_get_tight (IrSides *self);     /* no room for words in the header bar */
void ir_sides_expect (IrSides *self, int width); /* before there is a size */
