#include "config.h"

#include "app/gui/bisect.h"

#include "passes/debug/predicate.h"
#include "views/label.h"
#include "views/session/debug.h"
#include "views/session/timeline.h"

#include <adwaita.h>

typedef struct
{
  IrSession *session; /* referenced */
  GtkWidget *window, *entry, *find, *cancel, *verdict, *progress, *result, *reproduce;
  gboolean started; /* by this dialog */
} Dialog;

static void
dialog_free (gpointer data)
{
  Dialog *self = data;

  g_clear_object (&self->session);
  g_free (self);
}

static const struct
{
  const char *text, *doc;
} examples[] = {
  { "max_abs(*) > 1e-3", "some output differs from the original's by more" },
  { "rel(*) > 1e-2", "the same, divided by the original's element" },
  { "has_nan(*)", "some output holds a NaN" },
  { "nodes(Conv) < 10", "nodes of an operator; nodes alone counts all" },
  { "peak_memory > 1MiB", "planned memory; flops alike" },
  { "cmd: ./check.sh {}", "a program's exit status is not 0; {} is the graph as ONNX" },
};

/* -- the condition -- */

static void
update (Dialog *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  const gboolean busy = ir_session_get_busy (self->session);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPredicate) predicate = ir_predicate_parse (text, &error);

  gtk_label_set_text (GTK_LABEL (self->verdict), *text == '\0'
                                                     ? "Write a condition, or choose one below"
                                                 : predicate != NULL ? "✓ can be checked"
                                                                     : error->message);
  gtk_widget_remove_css_class (self->verdict, "error");
  if (predicate == NULL && *text != '\0')
    gtk_widget_add_css_class (self->verdict, "error");
  gtk_widget_set_sensitive (self->find, predicate != NULL && !busy &&
                                            ir_session_get_n_steps (self->session) > 0);
  gtk_widget_set_visible (self->cancel, busy && self->started);
  gtk_widget_set_visible (self->reproduce, ir_session_can_reproduce (self->session));
  gtk_widget_set_sensitive (self->reproduce, !busy);
}

static void
start (Dialog *self)
{
  if (!gtk_widget_get_sensitive (self->find))
    return;
  self->started = TRUE;
  gtk_label_set_text (GTK_LABEL (self->result), "");
  ir_session_bisect (self->session, gtk_editable_get_text (GTK_EDITABLE (self->entry)));
}

static void
stop (Dialog *self)
{
  ir_session_cancel (self->session);
}

static void
show_result (Dialog *self)
{
  g_autofree char *text = ir_session_bisection_text (self->session);
  const char *of = ir_session_get_bisected (self->session);

  if (text[0] != '\0' && g_strcmp0 (of, gtk_editable_get_text (GTK_EDITABLE (self->entry))) == 0)
    gtk_label_set_text (GTK_LABEL (self->result), text);
}

static void
on_folder (GtkNativeDialog *chooser, int response, gpointer user_data)
{
  Dialog *self = g_object_get_data (user_data, "dialog");

  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GFile) folder = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (chooser));
      g_autofree char *path = g_file_get_path (folder);

      if (path != NULL)
        {
          self->started = TRUE;
          ir_session_reproduce (self->session, path);
        }
    }
  g_object_unref (chooser);
}

/* A new folder, so that nothing is mixed up with what is there. */
static void
choose_folder (Dialog *self)
{
  GtkFileChooserNative *chooser = gtk_file_chooser_native_new (
      "Write a Reproducer", GTK_WINDOW (self->window), GTK_FILE_CHOOSER_ACTION_SAVE, "_Write",
      "_Cancel");

  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (chooser), "reproducer");
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (chooser), TRUE);
  g_signal_connect_object (chooser, "response", G_CALLBACK (on_folder), self->window, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

static void
on_changed (GtkWidget *window, guint changes, IrSession *session)
{
  Dialog *self = g_object_get_data (G_OBJECT (window), "dialog");
  const gboolean busy = ir_session_get_busy (session) && self->started;
  const double fraction = ir_session_get_progress (session);

  if (!(changes & (IR_CHANGED_BUSY | IR_CHANGED_BISECTION)))
    return;
  gtk_widget_set_visible (self->progress, busy);
  if (busy)
    {
      gtk_progress_bar_set_text (GTK_PROGRESS_BAR (self->progress),
                                 ir_session_get_progress_text (session));
      if (fraction >= 0)
        gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->progress), fraction);
      else
        gtk_progress_bar_pulse (GTK_PROGRESS_BAR (self->progress));
    }
  else if (self->started)
    {
      self->started = FALSE;
      show_result (self);
      gtk_window_present (GTK_WINDOW (self->window)); /* a sheet of sizes has had the focus */
    }
  update (self);
}

static void
on_example (AdwActionRow *row, Dialog *self)
{
  gtk_editable_set_text (GTK_EDITABLE (self->entry),
                         adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)));
  gtk_widget_grab_focus (self->entry);
}

/* -- building -- */

static GtkWidget *
make_examples (Dialog *self)
{
  GtkWidget *list = gtk_list_box_new ();

  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (list, "boxed-list");
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      GtkWidget *row = adw_action_row_new ();

      adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
      adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), examples[i].text);
      adw_action_row_set_subtitle (ADW_ACTION_ROW (row), examples[i].doc);
      gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), TRUE);
      g_signal_connect (row, "activated", G_CALLBACK (on_example), self);
      gtk_list_box_append (GTK_LIST_BOX (list), row);
    }
  return list;
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

static GtkWidget *
make_buttons (Dialog *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->progress = gtk_progress_bar_new ();
  gtk_progress_bar_set_show_text (GTK_PROGRESS_BAR (self->progress), TRUE);
  gtk_widget_set_visible (self->progress, FALSE);
  gtk_widget_set_valign (self->progress, GTK_ALIGN_CENTER);
  gtk_widget_set_hexpand (self->progress, TRUE);
  self->cancel = gtk_button_new_with_label ("Stop");
  self->find = gtk_button_new_with_label ("Find the Step");
  gtk_widget_set_hexpand (self->find, TRUE);
  gtk_widget_set_halign (self->find, GTK_ALIGN_END);
  gtk_widget_add_css_class (self->find, "suggested-action");
  g_signal_connect_swapped (self->find, "clicked", G_CALLBACK (start), self);
  g_signal_connect_swapped (self->cancel, "clicked", G_CALLBACK (stop), self);
  gtk_box_append (GTK_BOX (bar), self->progress);
  gtk_box_append (GTK_BOX (bar), self->cancel);
  gtk_box_append (GTK_BOX (bar), self->find);
  return bar;
}

static GtkWidget *
make_content (Dialog *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);

  self->entry = gtk_entry_new ();
  gtk_entry_set_placeholder_text (GTK_ENTRY (self->entry), examples[0].text);
  gtk_widget_add_css_class (self->entry, "monospace");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Condition", -1);
  g_signal_connect_swapped (self->entry, "changed", G_CALLBACK (update), self);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (start), self);
  self->verdict = make_label (NULL, "caption");
  self->result = make_label (NULL, NULL);
  self->reproduce = gtk_button_new_with_label ("Write a Reproducer…");
  gtk_widget_set_tooltip_text (self->reproduce, "The smallest part of the graph that still fails, "
                                                "with its inputs and a command, in a folder");
  gtk_widget_set_halign (self->reproduce, GTK_ALIGN_START);
  g_signal_connect_swapped (self->reproduce, "clicked", G_CALLBACK (choose_folder), self);
  gtk_label_set_selectable (GTK_LABEL (self->result), TRUE);
  gtk_widget_set_can_focus (self->result, FALSE);
  gtk_box_append (
      GTK_BOX (box),
      make_label ("What counts as a failure? The first step after which it fails and before which "
                  "it does not is found by halving, and shown with its change.",
                  NULL));
  gtk_box_append (GTK_BOX (box), self->entry);
  gtk_box_append (GTK_BOX (box), self->verdict);
  gtk_box_append (GTK_BOX (box), make_buttons (self));
  gtk_box_append (GTK_BOX (box), self->result);
  gtk_box_append (GTK_BOX (box), self->reproduce);
  gtk_box_append (GTK_BOX (box), make_label ("Examples", "heading"));
  gtk_box_append (GTK_BOX (box), make_examples (self));
  gtk_widget_set_margin_top (box, 18);
  gtk_widget_set_margin_bottom (box, 18);
  gtk_widget_set_margin_start (box, 18);
  gtk_widget_set_margin_end (box, 18);
  return box;
}

static gboolean
on_escape (GtkWidget *window, GVariant *args, gpointer data)
{
  gtk_window_close (GTK_WINDOW (window));
  return TRUE;
}

static void
close_on_escape (GtkWidget *window)
{
  GtkEventController *keys = gtk_shortcut_controller_new ();

  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (keys),
      gtk_shortcut_new (gtk_keyval_trigger_new (GDK_KEY_Escape, 0),
                        gtk_callback_action_new (on_escape, NULL, NULL)));
  gtk_widget_add_controller (window, keys);
}

/* Shows the dialog; it stays open beside the window, where the step that was found is shown. */
void
ir_bisect_dialog_present (GtkWindow *parent, IrSession *session)
{
  Dialog *self = g_new0 (Dialog, 1);
  GtkWidget *scroller = gtk_scrolled_window_new (), *title = gtk_header_bar_new ();

  self->session = g_object_ref (session);
  self->window = gtk_window_new ();
  g_object_set_data_full (G_OBJECT (self->window), "dialog", self, dialog_free);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), make_content (self));
  gtk_window_set_titlebar (GTK_WINDOW (self->window), title);
  gtk_window_set_child (GTK_WINDOW (self->window), scroller);
  gtk_window_set_title (GTK_WINDOW (self->window), "Find the Step That Fails");
  gtk_window_set_default_size (GTK_WINDOW (self->window), 520, 620);
  gtk_window_set_transient_for (GTK_WINDOW (self->window), parent);
  gtk_window_set_destroy_with_parent (GTK_WINDOW (self->window), TRUE);
  close_on_escape (self->window);
  if (ir_session_get_bisected (session) != NULL)
    {
      gtk_editable_set_text (GTK_EDITABLE (self->entry), ir_session_get_bisected (session));
      show_result (self);
    }
  g_signal_connect_object (session, "changed", G_CALLBACK (on_changed), self->window,
                           G_CONNECT_SWAPPED);
  update (self);
  gtk_window_present (GTK_WINDOW (self->window));
}
