/* Weights of a graph in its text, which are rarely what it is read for: folded as long as nothing in them
 * is looked at. */
#pragma once

#include <gtksourceview/gtksource.h>

GtkWidget *ir_text_fold_new (GtkTextBuffer *buffer); /* a button that shows and hides them */
void ir_text_number_lines (GtkSourceView *view);     /* those that are shown */
void ir_text_fold_update (GtkWidget *button);        /* the text is another */
void ir_text_fold_open_at (GtkWidget *button, const GtkTextIter *place); /* if that is hidden */
