/* The list of problems behind the banner's button. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

GtkWidget *ir_problems_popover_new (IrSession *session); /* (transfer floating) */
/* One line for the banner; NULL when there is nothing to warn of. (transfer full) */
char *ir_problems_summary (const GPtrArray *problems);
