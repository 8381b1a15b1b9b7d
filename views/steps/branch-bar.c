#include "config.h"

#include "views/steps/branch-bar.h"

#include "core/ir/count.h"
#include "views/session/undo.h"

#define MAX_HEIGHT 320

typedef struct
{
  IrSession *session;
  GtkWidget *button, *label, *rows;
} Bar;

static void
bar_free (gpointer data)
{
  g_object_unref (((Bar *) data)->session);
  g_free (data);
}

static GtkWidget *
row_label (const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

static char *
branch_text (const IrBranch *branch)
{
  g_autofree char *steps = ir_count_text (branch->n_steps),
                  *shared = ir_count_text (branch->n_shared);
  const char *noun = branch->n_steps == 1 ? "step" : "steps";

  if (branch->n_shared == 0)
    return g_strdup_printf ("%s %s, none shared with this", steps, noun);
  return g_strdup_printf ("%s %s, other ones after step %s", steps, noun, shared);
}

static GtkWidget *
make_row (const IrBranch *branch)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *row = gtk_list_box_row_new ();
  g_autofree char *text = branch_text (branch);
  g_autofree char *name = g_strdup_printf ("%s: %s", branch->title, text);

  gtk_box_append (GTK_BOX (box), row_label (branch->title, NULL));
  gtk_box_append (GTK_BOX (box), row_label (text, "branch-text"));
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  return row;
}

static void
on_row_activated (GtkListBox *rows, GtkListBoxRow *row, Bar *bar)
{
  const guint index = (guint) gtk_list_box_row_get_index (row);

  gtk_menu_button_popdown (GTK_MENU_BUTTON (bar->button));
  ir_session_go_to_branch (bar->session, index);
}

static void
fill (Bar *bar, guint n)
{
  GtkWidget *row;

  while ((row = gtk_widget_get_first_child (bar->rows)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (bar->rows), row);
  for (guint i = 0; i < n; i++)
    {
      const IrBranch branch = ir_session_get_branch (bar->session, i);

      gtk_list_box_append (GTK_LIST_BOX (bar->rows), make_row (&branch));
    }
}

static void
on_changed (GtkWidget *widget, guint changes, IrSession *session)
{
  Bar *bar = g_object_get_data (G_OBJECT (widget), "bar");
  const guint n = ir_session_get_n_branches (session);
  g_autofree char *text = NULL;

  if (!(changes & IR_CHANGED_UNDO))
    return;
  text = g_strdup_printf ("%u other %s", n, n == 1 ? "branch" : "branches");
  gtk_label_set_text (GTK_LABEL (bar->label), text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (bar->button), GTK_ACCESSIBLE_PROPERTY_LABEL, text,
                                  -1);
  gtk_widget_set_visible (widget, n > 0);
  fill (bar, n);
}

static GtkWidget *
make_popover (Bar *bar)
{
  GtkWidget *popover = gtk_popover_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *note = row_label ("Goes back to it; this one stays as a branch.", "branch-text");
  GtkWidget *scroller = gtk_scrolled_window_new ();

  bar->rows = gtk_list_box_new ();
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (bar->rows), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (bar->rows, "branches");
  gtk_accessible_update_property (GTK_ACCESSIBLE (bar->rows), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Branches", -1);
  g_signal_connect (bar->rows, "row-activated", G_CALLBACK (on_row_activated), bar);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scroller), TRUE);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scroller), MAX_HEIGHT);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), bar->rows);
  gtk_widget_add_css_class (note, "branch-note");
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_box_append (GTK_BOX (box), note);
  gtk_popover_set_child (GTK_POPOVER (popover), box);
  return popover;
}

/* Hidden while there are no branches */
GtkWidget *
ir_branch_bar_new (IrSession *session)
{
  GtkWidget *widget = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  Bar *bar = g_new0 (Bar, 1);

  bar->session = g_object_ref (session);
  bar->button = gtk_menu_button_new ();
  bar->label = row_label (NULL, NULL);
  gtk_widget_set_hexpand (bar->label, TRUE);
  gtk_menu_button_set_child (GTK_MENU_BUTTON (bar->button), bar->label);
  gtk_menu_button_set_has_frame (GTK_MENU_BUTTON (bar->button), FALSE);
  gtk_menu_button_set_always_show_arrow (GTK_MENU_BUTTON (bar->button), TRUE);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (bar->button), make_popover (bar));
  gtk_widget_set_hexpand (bar->button, TRUE);
  gtk_widget_set_tooltip_text (
      bar->button, "What followed an earlier step that was edited, or was undone before an edit");
  gtk_box_append (GTK_BOX (widget), bar->button);
  gtk_widget_add_css_class (widget, "branch-bar");
  g_object_set_data_full (G_OBJECT (widget), "bar", bar, bar_free);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_changed), widget, G_CONNECT_SWAPPED);
  on_changed (widget, IR_CHANGED_ALL, session);
  return widget;
}
