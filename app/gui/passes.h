/* The sheet in which passes are chosen one by one, as --pass and --set of irscope optimize do. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

void ir_passes_dialog_present (GtkWindow *parent, IrSession *session);
