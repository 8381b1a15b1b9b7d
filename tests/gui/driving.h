/* What several tests of the window do to it, and look for in it. */
#pragma once

#include "core/io/io.h"
#include "core/ir/reconcile.h"
#include "core/op/infer.h"

#include <gtk/gtk.h>
#include <string.h>

/* Lets the window do what it does by itself for that long: on a machine that has other work until it had nothing to do
 * for a third of it, which is at most twenty times as long. */
static inline void
settle (guint ms)
{
  const gint64 begin_us = g_get_monotonic_time ();
  gint64 passed_ms = 0;

  for (guint idle_ms = 0; passed_ms < ms || (idle_ms < ms / 3 && passed_ms < 20 * (gint64) ms);
       passed_ms = (g_get_monotonic_time () - begin_us) / 1000)
    if (!g_main_context_iteration (NULL, FALSE))
      {
        g_usleep (1000);
        idle_ms++;
      }
}

/* The first one of that type in @root. (nullable) */
static inline GtkWidget *
find_widget (GtkWidget *root, GType type)
{
  GtkWidget *found = g_type_is_a (G_OBJECT_TYPE (root), type) ? root : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (root); found == NULL && child != NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_widget (child, type);
  return found;
}

/* The first one of that type and style class. (nullable) */
static inline GtkWidget *
find_styled (GtkWidget *root, GType type, const char *css)
{
  GtkWidget *found = g_type_is_a (G_OBJECT_TYPE (root), type) &&
                             gtk_widget_has_css_class (root, css)
                         ? root
                         : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (root); found == NULL && child != NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_styled (child, type, css);
  return found;
}

/* Whether one of its controllers of keys takes it. */
static inline gboolean
press_key_with (GtkWidget *widget, guint key, GdkModifierType state)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (widget);
  gboolean handled = FALSE;

  for (guint i = 0; !handled && i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_EVENT_CONTROLLER_KEY (controller))
        g_signal_emit_by_name (controller, "key-pressed", key, 0, state, &handled);
    }
  return handled;
}

static inline gboolean
press_key (GtkWidget *widget, guint key)
{
  return press_key_with (widget, key, 0);
}

/* One that can be seen and has @text in it. (nullable) */
static inline GtkWidget *
find_label (GtkWidget *root, const char *text)
{
  GtkWidget *found = GTK_IS_LABEL (root) && gtk_widget_get_mapped (root) &&
                             strstr (gtk_label_get_text (GTK_LABEL (root)), text) != NULL
                         ? root
                         : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (root); found == NULL && child != NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_label (child, text);
  return found;
}

static inline gboolean
is_shown (gpointer root, const char *text)
{
  return find_label (root, text) != NULL;
}

/* What can be seen of @root, in its order: a line for each text, entry, check button, button with an icon and drawing, "-" before
 * what does nothing now. */
static inline void
add_shown (GtkWidget *root, GString *lines)
{
  const char *what = "", *text = NULL;

  if (!gtk_widget_get_mapped (root))
    return;
  if (GTK_IS_LABEL (root))
    text = gtk_label_get_text (GTK_LABEL (root));
  else if (GTK_IS_ENTRY (root))
    {
      what = "entry ";
      text = gtk_editable_get_text (GTK_EDITABLE (root));
      text = text[0] != '\0' ? text : gtk_entry_get_placeholder_text (GTK_ENTRY (root));
    }
  else if (GTK_IS_CHECK_BUTTON (root))
    text = gtk_check_button_get_active (GTK_CHECK_BUTTON (root)) ? "[x]" : "[ ]";
  else if (GTK_IS_BUTTON (root) && gtk_button_get_icon_name (GTK_BUTTON (root)) != NULL)
    {
      what = "button ";
      text = gtk_widget_get_tooltip_text (root);
    }
  if (text != NULL && text[0] != '\0')
    g_string_append_printf (lines, "%s%s%s\n", gtk_widget_is_sensitive (root) ? "" : "-", what,
                            text);
  if (GTK_IS_LABEL (root) || GTK_IS_ENTRY (root))
    return;
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    add_shown (child, lines);
}

static inline void
assert_shown (GtkWidget *root, const char *expected)
{
  g_autoptr (GString) lines = g_string_new (NULL);

  add_shown (root, lines);
  g_assert_cmpstr (lines->str, ==, expected);
}

/* The window beside the main one. (nullable) */
static inline GtkWidget *
dialog_over (gpointer window)
{
  GListModel *tops = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (tops); i++)
    {
      g_autoptr (GtkWindow) top = g_list_model_get_item (tops, i);

      if (gtk_window_get_transient_for (top) == GTK_WINDOW (window))
        return GTK_WIDGET (top);
    }
  return NULL;
}

/* For ir_session_edit(): @data is another text, as the text view applies it. */
static inline gboolean
apply_text (
    IrEdit *edit, gpointer data, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrModel) target = ir_text_read_over (data, -1, ir_edit_model (edit), problems, error);

  ir_edit_begin_step (edit, "apply-text", IR_CLASS_EDIT, 0);
  ir_reconcile (edit, target);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  ir_edit_end_step (edit);
  return TRUE;
}
