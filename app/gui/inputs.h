/* The dialog of the run's inputs: a file for each, or random numbers from a seed. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

/* The name of the input that takes it, from the next run on; (transfer full) (nullable): none does. */
char *ir_inputs_take_file (IrSession *session, const char *path, GError **error);
void ir_inputs_dialog_present (GtkWindow *parent, IrSession *session, const char *what);
