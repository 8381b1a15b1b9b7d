/* What was skipped, what that changes, and the way back: above the steps, while it lasts. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

GtkWidget *ir_what_if_bar_new (IrSession *session); /* (transfer floating) */
