/* Building in the graph: what menus and keys of the graph view do to the nodes and values that are
 * selected, by acts. */
#pragma once

#include "views/graph/canvas.h"
#include "views/view.h"

typedef struct _IrBuilding IrBuilding;

IrBuilding *ir_building_new (IrView *view, IrCanvas *canvas);
void ir_building_free (IrBuilding *self);
void ir_building_install_actions (
    GtkWidgetClass *klass); /* of the view: "view.add-node" and others */
/* The sections of the context menu that are about what is selected */
void ir_building_append_menu (IrBuilding *self, GMenu *menu);
void ir_building_add_keys (GtkWidget *widget);
void ir_building_point (IrBuilding *self, double x, double y); /* where the palette opens next */
void ir_building_update_actions (IrBuilding *self);
