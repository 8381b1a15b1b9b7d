/* A row of a list in which something is typed: its title above an entry. */
#pragma once

#include <adwaita.h>

GtkWidget *ir_entry_row_new (const char *title, const char *text); /* (transfer floating) */
GtkEntry *ir_entry_row_entry (GtkWidget *row);                     /* (transfer none) */
void ir_entry_row_add_button (GtkWidget *row, GtkWidget *button);
