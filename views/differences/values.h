/* What the two graphs on screen compute from the same inputs: asked for, then a list of the values that differ, or
 * of all, sorted as it is asked for; it can be saved as a table. */
#pragma once

#include "views/session/session.h"
#include "views/view.h"

#define IR_TYPE_VALUES_PAGE (ir_values_page_get_type ())
G_DECLARE_FINAL_TYPE (IrValuesPage, ir_values_page, IR, VALUES_PAGE, AdwBin)

GtkWidget *ir_values_page_new (IrSession *session); /* (transfer floating) */
void ir_values_page_update (IrValuesPage *self);    /* the frame or the runs changed */
void ir_values_page_follow (IrValuesPage *self);    /* another node or value is selected */
