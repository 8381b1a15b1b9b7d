/* The screen before anything is open: what to do next, bundled examples and recent files. */
#pragma once

#include <gtk/gtk.h>

GtkWidget *ir_welcome_new (void); /* (transfer floating) */
/* The folder of the bundled example graphs; NULL if it is not there. (transfer full) */
char *ir_welcome_examples_dir (void);

/* What the files that were opened as graphs are remembered under. @path: (nullable) of @info */
#define IR_RECENT_GROUP "irscope-graph"
gboolean ir_recent_is_graph (GtkRecentInfo *info, const char *path);
