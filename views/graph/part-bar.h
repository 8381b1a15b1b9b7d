/* What part of the graph is drawn: the way to the graph that was entered, and what filters and
 * colours the picture. Shown only where that is not all. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

#define IR_TYPE_PART_BAR (ir_part_bar_get_type ())
G_DECLARE_FINAL_TYPE (IrPartBar, ir_part_bar, IR, PART_BAR, GtkBox)

GtkWidget *ir_part_bar_new (IrSession *session);
void ir_part_bar_update (IrPartBar *self);
