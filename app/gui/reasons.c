#include "config.h"

#include "app/gui/reasons.h"

#include "app/gui/window-private.h"
#include "views/session/hub.h"
#include "views/session/selection.h"

#include <string.h>

static const struct
{
  guint need;
  const char *why;
} reasons[] = {
  { NEEDS_GRAPH, "No graph is open" },
  { NEEDS_IDLE, "Something is going on: wait, or press Escape to cancel it" },
  { NEEDS_BUSY, "Nothing is going on" },
  { NEEDS_STEPS, "There are no steps yet: Optimize (F5) makes some" },
  { NEEDS_LATER, "This is the last step" },
  { NEEDS_EARLIER, "This is the graph as it was opened" },
  { NEEDS_WHAT_IF, "Nothing is left out" },
  { NEEDS_OTHER, "No other file is open to compare with" },
  { NEEDS_PAIR, "Two graphs have to be on screen: compare with a step or a file" },
  { NEEDS_NODE, "Select a node first" },
  { NEEDS_UNDO, "Nothing was done that could be undone" },
  { NEEDS_REDO, "Nothing was undone" },
};

/* Of actions of the view in the centre: what they are about has to be selected. */
static const char *
why_not_view (IrWindow *self)
{
  return gtk_bitset_is_empty (ir_session_get_selection (self->session)) &&
                 ir_session_get_selected_value (self->session) == 0
             ? "Select a node or a value first"
             : "Not for what is selected now";
}

/* @action: a detailed one, "win.run" or "win.view('rename')". (transfer full) (nullable): it can be done */
char *
ir_window_why_not (IrWindow *self, const char *action)
{
  g_autofree char *name = NULL, *of_view = NULL;
  g_autoptr (GVariant) target = NULL;
  const guint missing = g_action_parse_detailed_name (action, &name, &target, NULL) &&
                                g_str_has_prefix (name, "win.")
                            ? ir_window_missing (self, name + strlen ("win."))
                            : 0;
  IrView *view = ir_window_visible_view (self, IR_VIEW_CENTRE);

  for (guint i = 0; i < G_N_ELEMENTS (reasons); i++)
    if (missing & reasons[i].need)
      return g_strdup (reasons[i].why);
  if (g_strcmp0 (name, "win.view") == 0 && view != NULL)
    of_view = g_strconcat ("view.", g_variant_get_string (target, NULL), NULL);
  return of_view != NULL && !ir_view_can (view, of_view) ? g_strdup (why_not_view (self)) : NULL;
}

/* What a button does, and why it does not now. (transfer full) */
char *
ir_window_button_tip (IrWindow *self, GtkActionable *button)
{
  GVariant *target = gtk_actionable_get_action_target_value (button);
  g_autofree char *action = g_action_print_detailed_name (gtk_actionable_get_action_name (button),
                                                          target);
  g_autofree char *why = ir_window_why_not (self, action);
  const char *does = gtk_widget_get_tooltip_text (GTK_WIDGET (button));

  return why != NULL ? g_strdup_printf ("%s\n%s.", does, why) : g_strdup (does);
}

/* Asked for when it is shown: the toolkit does not get over the tooltips of a window that is not there
 * yet, or not any more, being set. */
static gboolean
on_query (GtkWidget *button, int x, int y, gboolean keyboard, GtkTooltip *tooltip, IrWindow *self)
{
  g_autofree char *tip = ir_window_button_tip (self, GTK_ACTIONABLE (button));

  gtk_tooltip_set_text (tooltip, tip);
  return TRUE;
}

/* Of all buttons in @widget that have a tooltip and do an action of the window; once */
void
ir_window_explain_buttons (GtkWidget *widget, IrWindow *self)
{
  if (GTK_IS_ACTIONABLE (widget) && gtk_widget_get_tooltip_text (widget) != NULL &&
      gtk_actionable_get_action_name (GTK_ACTIONABLE (widget)) != NULL)
    g_signal_connect_object (widget, "query-tooltip", G_CALLBACK (on_query), self, 0);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    ir_window_explain_buttons (child, self);
}

/* A key that nobody took, as what it does cannot be done now. Escape leaves what is open, too. */
static gboolean
on_key (IrWindow *self, guint keyval, guint keycode, GdkModifierType state)
{
  GtkApplication *application = gtk_window_get_application (GTK_WINDOW (self));
  g_autofree char *accel = gtk_accelerator_name (gdk_keyval_to_lower (keyval),
                                                 state & gtk_accelerator_get_default_mod_mask ());
  g_auto (GStrv) actions = application != NULL && keyval != GDK_KEY_Escape
                               ? gtk_application_get_actions_for_accel (application, accel)
                               : NULL;

  for (guint i = 0; actions != NULL && actions[i] != NULL; i++)
    {
      g_autofree char *why = ir_window_why_not (self, actions[i]);

      if (why == NULL)
        continue;
      ir_session_message (self->session, "%s",
                          ir_window_wait_for_turn (self, actions[i] + strlen ("win."))
                              ? "Done next, when what is going on has ended; Escape cancels both"
                              : why);
      return TRUE;
    }
  return FALSE;
}

void
ir_window_explain_keys (IrWindow *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();

  g_signal_connect_swapped (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
}
