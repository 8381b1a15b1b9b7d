/* The data sets beside a model, in the dialog of the inputs. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

GtkWidget *ir_data_sets_group_new (IrSession *session); /* (nullable): there are none */
