#include "config.h"

#include "app/gui/unchecked-bar.h"

#include "core/ir/count.h"
#include "views/session/timeline.h"

/* A line above the steps: how many there are of a kind, and what to do about them. */
typedef struct
{
  char *(*text) (IrSession *session, guint *n);
  const char *button, *action, *name, *tip;
} Line;

static char *
unchecked_text (IrSession *session, guint *n)
{
  gboolean large;
  g_autofree char *count = NULL;

  *n = ir_session_n_unproved (session, &large);
  count = ir_count_text (*n);
  return g_strdup_printf ("%s %s not checked%s", count, *n == 1 ? "step" : "steps",
                          large ? ": large" : "");
}

static char *
broken_text (IrSession *session, guint *n)
{
  g_autofree char *count = NULL;

  *n = ir_session_n_broken (session);
  count = ir_count_text (*n);
  return g_strdup_printf ("✗ %s %s broken", count, *n == 1 ? "step" : "steps");
}

static const Line broken = {
  broken_text, "Show", "win.next-broken", "Show the next step that is broken",
  "Goes to the next step that changed a value by more than rounding explains"
};
static const Line unchecked = {
  unchecked_text, "Check", "win.prove-all", "Check the steps that are not checked",
  "Run what each of these steps changed, before and after: for a large graph that takes a while, "
  "and can be cancelled"
};

static void
update (GtkWidget *bar, IrSession *session)
{
  const Line *line = g_object_get_data (G_OBJECT (bar), "line");
  guint n;
  g_autofree char *text = line->text (session, &n);

  gtk_label_set_text (GTK_LABEL (gtk_widget_get_first_child (bar)), text);
  gtk_widget_set_visible (bar, n > 0);
}

static void
on_changed (IrSession *session, guint changes, GtkWidget *bar)
{
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FILE))
    update (bar, session);
}

static GtkWidget *
line_new (IrSession *session, const Line *line)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *label = gtk_label_new (NULL), *button = gtk_button_new_with_label (line->button);

  g_object_set_data (G_OBJECT (bar), "line", (gpointer) line);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (label, TRUE);
  if (line == &broken)
    gtk_widget_add_css_class (label, "error");
  gtk_widget_set_tooltip_text (button, line->tip);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  line->name, -1);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), line->action);
  gtk_widget_add_css_class (bar, "unchecked-bar");
  gtk_box_append (GTK_BOX (bar), label);
  gtk_box_append (GTK_BOX (bar), button);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_changed), bar, 0);
  update (bar, session);
  return bar;
}

GtkWidget *
ir_unchecked_bar_new (IrSession *session)
{
  GtkWidget *lines = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  gtk_box_append (GTK_BOX (lines), line_new (session, &broken));
  gtk_box_append (GTK_BOX (lines), line_new (session, &unchecked));
  return lines;
}
