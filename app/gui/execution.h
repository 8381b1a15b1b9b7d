/* The list of what a check of the execution found. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

void ir_execution_dialog_present (GtkWindow *parent, IrSession *session);
