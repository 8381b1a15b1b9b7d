/* How graphs are run: a window of rows, each a setting that is kept. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

void ir_run_options_load (IrSession *session); /* as they were kept */
void ir_run_options_present (GtkWindow *parent, IrSession *session);
