/* What the chosen row of the list of steps tells of: a step, or a pass with all that it did. */
#pragma once

#include "views/session/frame.h"
#include "views/steps/step-list.h"

GtkWidget *ir_step_page_new (IrSession *session); /* floating */
/* @row: (nullable): chosen in @list; a pass is shown as a whole. Else the step at the cursor. */
void ir_step_page_show (GtkWidget *page, IrStepList *list, IrStepRow *row);
