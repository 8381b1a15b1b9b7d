/* One input of the graph in the dialog of inputs: what it is given, and how. */
#pragma once

#include "core/ir/model.h"
#include "views/session/session.h"

#include <adwaita.h>

GtkWidget *ir_input_row_new (IrSession *session, GtkWindow *window, const IrValue *input);
