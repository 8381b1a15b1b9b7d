/* Labels, entries and buttons as the tensor view has them. All (transfer floating). */
#pragma once

#include <gtk/gtk.h>

GtkWidget *tensor_text_label (const char *text, const char *css); /* @css: (nullable) */
GtkWidget *tensor_line_label (const char *text, const char *css, PangoEllipsizeMode ellipsize);
GtkWidget *tensor_named_choice (const char *name,
                                const char *const *titles,
                                GCallback changed,
                                gpointer self);
GtkWidget *tensor_small_entry (const char *name, const char *placeholder, const char *tip);
GtkWidget *tensor_flat_button (const char *title,
                               const char *tip,
                               GCallback clicked,
                               gpointer self);
GtkWidget *tensor_beside (GtkWidget *pictures, GtkWidget *table);
