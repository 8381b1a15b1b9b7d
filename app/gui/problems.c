#include "config.h"

#include "app/gui/problems.h"
#include "views/label.h"

#include "views/session/execution.h"
#include "views/session/selection.h"

/* A hostile file can have a million problems; nobody reads more than this in a popover. */
#define MAX_ROWS 200

static const char *const icons[IR_N_SEVERITIES] = {
  [IR_SEVERITY_NOTE] = "dialog-information-symbolic",
  [IR_SEVERITY_WARNING] = "dialog-warning-symbolic",
  [IR_SEVERITY_ERROR] = "dialog-error-symbolic",
};

static GtkWidget *
problem_row (const IrProblem *problem)
{
  GtkWidget *row = gtk_list_box_row_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *texts = gtk_box_new (GTK_ORIENTATION_VERTICAL, 2);
  GtkWidget *message = gtk_label_new (problem->message);
  GtkWidget *icon = gtk_image_new_from_icon_name (icons[problem->severity]);

  gtk_widget_set_valign (icon, GTK_ALIGN_START);
  gtk_widget_add_css_class (icon, ir_severity_name (problem->severity));
  gtk_label_set_xalign (GTK_LABEL (message), 0);
  ir_label_wrap_names (GTK_LABEL (message));
  gtk_box_append (GTK_BOX (texts), message);
  if (problem->hint != NULL)
    {
      GtkWidget *hint = gtk_label_new (problem->hint);

      gtk_label_set_xalign (GTK_LABEL (hint), 0);
      gtk_label_set_wrap (GTK_LABEL (hint), TRUE);
      gtk_widget_add_css_class (hint, "dim-label");
      gtk_widget_add_css_class (hint, "caption");
      gtk_box_append (GTK_BOX (texts), hint);
    }
  gtk_box_append (GTK_BOX (box), icon);
  gtk_box_append (GTK_BOX (box), texts);
  gtk_widget_add_css_class (box, "problem");
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row),
                                    problem->node != 0 || problem->value != 0);
  g_object_set_data (G_OBJECT (row), "node", GUINT_TO_POINTER (problem->node));
  g_object_set_data (G_OBJECT (row), "value", GUINT_TO_POINTER (problem->value));
  return row;
}

static void
on_row_activated (GtkListBox *list, GtkListBoxRow *row, gpointer user_data)
{
  IrSession *session = IR_SESSION (user_data);
  const guint node = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "node"));
  const guint value = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "value"));
  GtkWidget *popover = gtk_widget_get_ancestor (GTK_WIDGET (list), GTK_TYPE_POPOVER);

  if (node != 0)
    ir_session_select_node (session, node);
  if (value != 0)
    ir_session_select_value (session, value);
  ir_session_show_view (session, "graph");
  if (popover != NULL)
    gtk_popover_popdown (GTK_POPOVER (popover));
}

static void
on_show (GtkWidget *popover, gpointer user_data)
{
  IrSession *session = IR_SESSION (user_data);
  const GPtrArray *problems = ir_session_get_problems (session);
  GtkWidget *list = gtk_list_box_new ();
  GtkWidget *scrolled = gtk_scrolled_window_new ();

  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (list, "rich-list");
  for (guint i = 0; i < MIN (problems->len, MAX_ROWS); i++)
    gtk_list_box_append (GTK_LIST_BOX (list), problem_row (problems->pdata[i]));
  g_signal_connect_object (list, "row-activated", G_CALLBACK (on_row_activated), session, 0);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scrolled), TRUE);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scrolled), 400);
  gtk_widget_set_size_request (scrolled, 480, -1);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), list);
  gtk_popover_set_child (GTK_POPOVER (popover), scrolled);
}

GtkWidget *
ir_problems_popover_new (IrSession *session)
{
  GtkWidget *popover = gtk_popover_new ();

  gtk_widget_add_css_class (popover, "menu");
  g_signal_connect_object (popover, "show", G_CALLBACK (on_show), session, 0);
  return popover;
}

char *
ir_problems_summary (const GPtrArray *problems)
{
  const guint n = ir_problems_count (problems, IR_SEVERITY_WARNING);

  for (guint i = 0; n > 0 && i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];

      if (problem->severity < IR_SEVERITY_WARNING)
        continue;
      if (n == 1)
        return g_strdup (problem->message);
      return g_strdup_printf ("%u problems. First: %s", n, problem->message);
    }
  return NULL;
}
