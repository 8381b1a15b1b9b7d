/* The dialog that finds the step which makes a condition fail. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

void ir_bisect_dialog_present (GtkWindow *parent, IrSession *session);
