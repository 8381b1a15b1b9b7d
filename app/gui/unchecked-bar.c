#include "config.h"

#include "app/gui/unchecked-bar.h"

#include "views/count.h"
#include "views/session/timeline.h"

static void
update (GtkWidget *bar, IrSession *session)
{
  gboolean large;
  const guint n = ir_session_n_unproved (session, &large);
  g_autofree char *count = ir_count_text (n);
  g_autofree char *text = g_strdup_printf ("%s %s not checked%s", count, n == 1 ? "step" : "steps",
                                           large ? ": large" : "");

  gtk_label_set_text (GTK_LABEL (gtk_widget_get_first_child (bar)), text);
  gtk_widget_set_visible (bar, n > 0);
}

static void
on_changed (IrSession *session, guint changes, GtkWidget *bar)
{
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FILE))
    update (bar, session);
}

GtkWidget *
ir_unchecked_bar_new (IrSession *session)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *label = gtk_label_new (NULL), *button = gtk_button_new_with_label ("Check");

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_widget_set_tooltip_text (button,
                               "Run what each of these steps changed, before and after: for "
                               "a large graph that takes a while, and can be cancelled");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Check the steps that are not checked", -1);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "win.prove-all");
  gtk_widget_add_css_class (bar, "unchecked-bar");
  gtk_box_append (GTK_BOX (bar), label);
  gtk_box_append (GTK_BOX (bar), button);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_changed), bar, 0);
  update (bar, session);
  return bar;
}
