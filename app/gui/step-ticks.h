/* A strip over the slider of steps: where passes end, what is compared, and what became of the selected
 * node: absent, born, unchanged, changed, gone; each has a form of its own beside its colour. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

#define IR_STEP_KNOB_INSET 14.0 /* px from the end of the slider to the middle of its knob there */

#define IR_TYPE_STEP_TICKS (ir_step_ticks_get_type ())
G_DECLARE_FINAL_TYPE (IrStepTicks, ir_step_ticks, IR, STEP_TICKS, GtkWidget)

void ir_step_ticks_set_session (IrStepTicks *self, IrSession *session); /* once */
