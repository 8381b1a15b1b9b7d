#include "config.h"

#include "app/gui/execution.h"
#include "views/label.h"

#include "views/session/execution.h"
#include "views/session/selection.h"

#include <adwaita.h>

/* Of a graph that is wrong everywhere nobody reads more. */
#define MAX_ROWS 200

static void
on_finding (AdwActionRow *row, IrSession *session)
{
  const guint node = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "node"));

  ir_session_select_node (session, node);
  ir_session_show_view (session, "graph");
}

static GtkWidget *
finding_row (const IrExecutionFinding *finding, IrSession *session)
{
  GtkWidget *row = adw_action_row_new ();
  GtkWidget *icon = gtk_image_new_from_icon_name (finding->is_fault ? "dialog-error-symbolic"
                                                                    : "dialog-question-symbolic");

  gtk_widget_add_css_class (icon, finding->is_fault ? "error" : "dim-label");
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), finding->title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), finding->text);
  adw_action_row_add_prefix (ADW_ACTION_ROW (row), icon);
  if (finding->node != 0)
    adw_action_row_add_suffix (ADW_ACTION_ROW (row),
                               gtk_image_new_from_icon_name ("go-next-symbolic"));
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), finding->node != 0);
  g_object_set_data (G_OBJECT (row), "node", GUINT_TO_POINTER (finding->node));
  g_signal_connect_object (row, "activated", G_CALLBACK (on_finding), session, 0);
  return row;
}

static GtkWidget *
make_label (const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  ir_label_wrap_names (GTK_LABEL (label));
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

static void
append_findings (GtkBox *box,
                 const IrExecutionReport *report,
                 IrSession *session,
                 const char *title,
                 gboolean faults)
{
  GtkWidget *list = gtk_list_box_new ();
  guint n = 0;

  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (list, "boxed-list");
  gtk_accessible_update_property (GTK_ACCESSIBLE (list), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  for (guint i = 0; i < report->findings->len; i++)
    {
      const IrExecutionFinding *finding = report->findings->pdata[i];

      if (finding->is_fault == faults && n++ < MAX_ROWS)
        gtk_list_box_append (GTK_LIST_BOX (list), finding_row (finding, session));
    }
  if (n == 0)
    {
      g_object_unref (g_object_ref_sink (list));
      return;
    }
  gtk_box_append (box, make_label (title, "heading"));
  gtk_box_append (box, list);
  if (n > MAX_ROWS)
    {
      g_autofree char *more = g_strdup_printf ("and %u more", n - MAX_ROWS);

      gtk_box_append (box, make_label (more, "dim-label"));
    }
}

static GtkWidget *
make_content (const IrExecutionReport *report, IrSession *session)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);

  gtk_box_append (GTK_BOX (box), make_label (report->summary, "title-4"));
  gtk_box_append (GTK_BOX (box), make_label (report->counts, "dim-label"));
  if (report->error != NULL)
    {
      g_autofree char *text = g_strdup_printf ("The run ended before: %s", report->error);

      gtk_box_append (GTK_BOX (box), make_label (text, "error"));
    }
  append_findings (GTK_BOX (box), report, session, "Wrong, in the order of execution", TRUE);
  append_findings (GTK_BOX (box), report, session, "Not judged", FALSE);
  gtk_widget_set_margin_top (box, 18);
  gtk_widget_set_margin_bottom (box, 18);
  gtk_widget_set_margin_start (box, 18);
  gtk_widget_set_margin_end (box, 18);
  return box;
}

static void
close_on_escape (GtkWidget *window)
{
  GtkEventController *keys = gtk_shortcut_controller_new ();

  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (keys), gtk_shortcut_new (gtk_keyval_trigger_new (GDK_KEY_Escape, 0),
                                                        gtk_named_action_new ("window.close")));
  gtk_widget_add_controller (window, keys);
}

/* Shows what was found; it stays open beside the window, where the nodes are shown. */
void
ir_execution_dialog_present (GtkWindow *parent, IrSession *session)
{
  const IrExecutionReport *report = ir_session_get_execution (session);
  GtkWidget *window = gtk_window_new (), *scroller = gtk_scrolled_window_new ();

  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scroller), TRUE);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scroller), 480);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), make_content (report, session));
  gtk_window_set_titlebar (GTK_WINDOW (window), gtk_header_bar_new ());
  gtk_window_set_child (GTK_WINDOW (window), scroller);
  gtk_window_set_title (GTK_WINDOW (window), "Check Execution");
  gtk_window_set_default_size (GTK_WINDOW (window), 560, -1);
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_destroy_with_parent (GTK_WINDOW (window), TRUE);
  close_on_escape (window);
  gtk_window_present (GTK_WINDOW (window));
}
