#include "config.h"

#include "views/early-keys.h"

static gboolean
on_key (GtkWindow *window, guint keyval, guint keycode, GdkModifierType state)
{
  GtkWidget *focus = gtk_window_get_focus (window);
  const gunichar letter = gdk_keyval_to_unicode (keyval);
  char text[7] = "";
  int at;

  if (gtk_window_is_active (window) || !GTK_IS_TEXT (focus) ||
      (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return GDK_EVENT_PROPAGATE;
  if (keyval == GDK_KEY_Return)
    {
      g_signal_emit_by_name (focus, "activate");
      return GDK_EVENT_STOP;
    }
  if (!g_unichar_isprint (letter))
    return GDK_EVENT_PROPAGATE;
  gtk_editable_delete_selection (GTK_EDITABLE (focus));
  at = gtk_editable_get_position (GTK_EDITABLE (focus));
  g_unichar_to_utf8 (letter, text);
  gtk_editable_insert_text (GTK_EDITABLE (focus), text, -1, &at);
  gtk_editable_set_position (GTK_EDITABLE (focus), at);
  return GDK_EVENT_STOP;
}

/**
 * ir_take_early_keys:
 * @window: a modal window whose focus is in an entry
 *
 * Has what is typed at once behind the key that opens @window in the entry. The toolkit hands keys to a modal window
 * that is not active yet, but not to what has the focus in it, and they are lost.
 */
void
ir_take_early_keys (GtkWindow *window)
{
  GtkEventController *keys = gtk_event_controller_key_new ();

  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect_swapped (keys, "key-pressed", G_CALLBACK (on_key), window);
  gtk_widget_add_controller (GTK_WIDGET (window), keys);
}
