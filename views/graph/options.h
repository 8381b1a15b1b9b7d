/* The menu of what the picture of the graph shows. */
#pragma once

#include "views/view.h"

GtkWidget *ir_options_button_new (IrView *view);
