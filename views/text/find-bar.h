/* Finds words in a text: a bar above it with the number of hits, all of which are highlighted. */
#pragma once

#include <gtksourceview/gtksource.h>

GtkWidget *ir_find_bar_new (GtkSourceView *view); /* (transfer floating) */
void ir_find_bar_open (GtkWidget *bar);
void ir_find_bar_move (GtkWidget *bar, gboolean forward);
