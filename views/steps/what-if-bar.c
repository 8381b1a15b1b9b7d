#include "config.h"
#include "views/label.h"

#include "views/steps/what-if-bar.h"

#include "views/session/debug.h"
#include "views/session/frame.h"
#include "views/session/records.h"
#include "views/sparkline.h"

#include <math.h>
#include <string.h>

typedef struct
{
  GtkWidget *title, *rows, *numbers, *without, *compare;
  gboolean updating;
} Bar;

/* A stable key is pass/rule/node/count. */
static char *
skip_text (const char *skip)
{
  g_auto (GStrv) parts = g_strsplit (skip, "/", -1);

  return g_strv_length (parts) == 4 ? g_strdup_printf ("one %s", parts[1]) : g_strdup (skip);
}

static char *
title_text (const char *const *skips)
{
  g_autoptr (GString) text = g_string_new ("Without ");

  for (guint i = 0; skips != NULL && skips[i] != NULL; i++)
    {
      g_autofree char *skip = skip_text (skips[i]);

      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", skip);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
append_cell (GtkWidget *grid, const char *text, int column, int row, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), column == 0 ? 0 : 1);
  gtk_widget_set_hexpand (label, column == 0);
  gtk_widget_add_css_class (label, "caption");
  gtk_widget_add_css_class (label, css);
  gtk_grid_attach (GTK_GRID (grid), label, column, row, 1, 1);
}

/* The change first: it is what was asked. */
static void
append_cells (GtkWidget *grid, int row, const char *change, const char *with, const char *without)
{
  append_cell (grid, change, 1, row, "heading");
  append_cell (grid, with, 2, row, "dim-label");
  append_cell (grid, without, 3, row, "dim-label");
}

static void
fill_time (GtkWidget *grid, const IrWhatIf *what_if)
{
  const double with = what_if->run[IR_WITH].median_ms, without = what_if->run[IR_WITHOUT].median_ms;
  g_autofree char *a = g_strdup_printf ("%.3g ms", with), *b = g_strdup_printf ("%.3g ms", without),
                  *change = ir_change_in_percent (with, without);

  if (!what_if->ran || !(with > 0))
    return;
  append_cell (grid, "Run, median of 9", 0, IR_N_SCORES + 1, "numeric");
  append_cells (grid, IR_N_SCORES + 1, change, a, b);
}

static void
fill_rows (GtkWidget *grid, const IrWhatIf *what_if)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (grid)) != NULL)
    gtk_grid_remove (GTK_GRID (grid), child);
  append_cell (grid, "", 0, 0, "dim-label");
  append_cell (grid, "Change", 1, 0, "dim-label");
  append_cell (grid, "Original", 2, 0, "dim-label");
  append_cell (grid, "Without", 3, 0, "dim-label");
  for (guint i = 0; i < IR_N_SCORES; i++)
    {
      const double with = what_if->scores[IR_WITH][i], without = what_if->scores[IR_WITHOUT][i];
      g_autofree char *a = ir_score_text (i, with), *b = ir_score_text (i, without),
                      *change = ir_score_change_text (i, with, without);

      append_cell (grid, ir_score_title (i), 0, (int) i + 1, "numeric");
      append_cells (grid, (int) i + 1, change[0] != '\0' ? change : "same", a, b);
    }
  fill_time (grid, what_if);
}

static char *
numbers_text (const IrWhatIf *what_if)
{
  g_autofree char *between = NULL, *with = NULL, *without = NULL;

  if (!what_if->ran)
    return g_strdup_printf ("Outputs not compared: %s", what_if->problem);
  between = ir_difference_text (&what_if->between);
  with = ir_difference_text (&what_if->from_start[IR_WITH]);
  without = ir_difference_text (&what_if->from_start[IR_WITHOUT]);
  return g_strdup_printf ("Outputs of both: %s%s%s\nFrom the graph as it was opened\n· original: %s"
                          "\n· without: %s",
                          between, what_if->worst != NULL ? ", in " : "",
                          what_if->worst != NULL ? what_if->worst : "", with, without);
}

static void
on_changed (GtkWidget *widget, guint changes, IrSession *session)
{
  Bar *bar = g_object_get_data (G_OBJECT (widget), "bar");
  const IrWhatIf *what_if = ir_session_get_what_if (session);
  g_autofree char *title = NULL, *numbers = NULL;

  if (!(changes & (IR_CHANGED_WHAT_IF | IR_CHANGED_FRAME)))
    return;
  gtk_widget_set_visible (widget, ir_session_get_skips (session) != NULL);
  if (what_if == NULL)
    return;
  title = title_text (ir_session_get_skips (session));
  numbers = numbers_text (what_if);
  gtk_label_set_text (GTK_LABEL (bar->title), title);
  ir_set_tip (bar->title, title);
  gtk_label_set_text (GTK_LABEL (bar->numbers), numbers);
  fill_rows (bar->rows, what_if);
  bar->updating = TRUE;
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (bar->without),
                                ir_session_shows_what_if (session));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (bar->compare),
                                ir_session_get_compare (session) == IR_COMPARE_RESULT);
  bar->updating = FALSE;
}

static void
on_toggled (GtkToggleButton *button, GtkWidget *widget)
{
  Bar *bar = g_object_get_data (G_OBJECT (widget), "bar");
  IrSession *session = g_object_get_data (G_OBJECT (widget), "session");

  if (!bar->updating)
    ir_session_show_what_if (session, gtk_toggle_button_get_active (button));
}

static void
on_compare (GtkToggleButton *button, GtkWidget *widget)
{
  Bar *bar = g_object_get_data (G_OBJECT (widget), "bar");

  if (!bar->updating)
    ir_session_set_compare (g_object_get_data (G_OBJECT (widget), "session"),
                            gtk_toggle_button_get_active (button) ? IR_COMPARE_RESULT
                                                                  : IR_COMPARE_STEP);
}

static void
on_back (GtkButton *button, GtkWidget *widget)
{
  ir_session_skip_nothing (g_object_get_data (G_OBJECT (widget), "session"));
}

static GtkWidget *
make_buttons (GtkWidget *widget, Bar *bar)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *back;

  bar->without = gtk_toggle_button_new_with_label ("Without");
  gtk_widget_set_tooltip_text (bar->without,
                               "On: the steps and the graph without it. Off: the original ones.");
  g_signal_connect (bar->without, "toggled", G_CALLBACK (on_toggled), widget);
  back = gtk_button_new_with_label ("End");
  gtk_widget_set_tooltip_text (back,
                               "Ends the what-if: nothing is skipped any more (Ctrl+Backspace)");
  g_signal_connect (back, "clicked", G_CALLBACK (on_back), widget);
  gtk_widget_set_hexpand (back, TRUE);
  bar->compare = gtk_toggle_button_new_with_label ("Difference");
  gtk_widget_set_tooltip_text (bar->compare,
                               "The graph shows where the two results differ, at the last step");
  gtk_accessible_update_property (GTK_ACCESSIBLE (bar->compare), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Show the difference", -1);
  g_signal_connect (bar->compare, "toggled", G_CALLBACK (on_compare), widget);
  gtk_box_append (GTK_BOX (box), bar->without);
  gtk_box_append (GTK_BOX (box), bar->compare);
  gtk_box_append (GTK_BOX (box), back);
  return box;
}

static GtkWidget *
make_text (const char *css)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  ir_label_wrap_names (GTK_LABEL (label));
  gtk_label_set_width_chars (GTK_LABEL (label), 20);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 20);
  gtk_widget_add_css_class (label, css);
  return label;
}

/* Hidden while nothing is skipped */
GtkWidget *
ir_what_if_bar_new (IrSession *session)
{
  GtkWidget *widget = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  Bar *bar = g_new0 (Bar, 1);

  g_object_set_data_full (G_OBJECT (widget), "bar", bar, g_free);
  g_object_set_data_full (G_OBJECT (widget), "session", g_object_ref (session), g_object_unref);
  bar->title = make_text ("heading");
  bar->numbers = make_text ("caption");
  bar->rows = gtk_grid_new ();
  gtk_grid_set_column_spacing (GTK_GRID (bar->rows), 8);
  gtk_grid_set_row_spacing (GTK_GRID (bar->rows), 3);
  gtk_box_append (GTK_BOX (widget), bar->title);
  gtk_box_append (GTK_BOX (widget), bar->rows);
  gtk_box_append (GTK_BOX (widget), bar->numbers);
  gtk_box_append (GTK_BOX (widget), make_buttons (widget, bar));
  gtk_widget_add_css_class (widget, "what-if");
  gtk_widget_set_visible (widget, FALSE);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_changed), widget, G_CONNECT_SWAPPED);
  on_changed (widget, IR_CHANGED_ALL, session);
  return widget;
}
