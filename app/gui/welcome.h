/* The screen before anything is open: what to do next, bundled examples and recent files. */
#pragma once

#include <gtk/gtk.h>

GtkWidget *ir_welcome_new (void); /* (transfer floating) */
/* The folder of the bundled example graphs; NULL if it is not there. (transfer full) */
char *ir_welcome_examples_dir (void);
