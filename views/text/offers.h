/* Words that may be meant, in a list at the cursor. */
#pragma once

#include <gtk/gtk.h>

/* @view: that lays the list over itself; @words: (transfer full) (element-type utf8); @n_typed:
 * characters before the cursor that the one that is chosen takes the place of */
void ir_text_offer (GtkWidget *view, GtkTextView *text, GPtrArray *words, guint n_typed);
