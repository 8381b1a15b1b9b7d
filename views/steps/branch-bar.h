/* Histories that were left for the one on screen, and the way back to them: above the steps, while there
 * are any. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

GtkWidget *ir_branch_bar_new (IrSession *session); /* (transfer floating) */
