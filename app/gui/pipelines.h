/* The choice of a pipeline: each with its title and what it does. */
#pragma once

#include <gtk/gtk.h>

char *ir_pipelines_tip (GtkDropDown *widget);  /* of the one that is chosen */
GStrv ir_pipelines_fill (GtkDropDown *widget); /* names, in the order of the list */
