/* The sizes of free dimensions, in the dialog of the inputs. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

GtkWidget *ir_sizes_group_new (IrSession *session); /* (nullable): there is nothing to choose */
