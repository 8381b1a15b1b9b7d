/* Which part of the graph is drawn, by menus and keys: a branch or body that is entered or stands
 * beside, the selection alone and what it grows by, views that are kept. */
#pragma once

#include "views/graph/canvas.h"
#include "views/view.h"

void ir_parts_install_actions (GtkWidgetClass *klass);
void ir_parts_attach (IrView *view, IrCanvas *canvas, GtkWidget *widget);
void ir_parts_append_menus (IrView *view, GMenu *graphs, GMenu *view_menu);
void ir_parts_update_actions (IrView *view);
void ir_parts_go_where_wanted (IrView *view); /* where the session was looked at that is restored */
