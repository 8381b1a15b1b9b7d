/* Breakpoints: where going through the steps stops. An entry that says what is wrong with its text,
 * a list, and the two buttons that run to the next one, forth and back. */
#include "config.h"

#include "views/session/debug.h"
#include "views/view.h"

struct _IrBreakpointsView
{
  IrView parent;
  GtkWidget *entry, *add, *error, *list;
};

#define IR_TYPE_BREAKPOINTS_VIEW (ir_breakpoints_view_get_type ())
G_DECLARE_FINAL_TYPE (IrBreakpointsView, ir_breakpoints_view, IR, BREAKPOINTS_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrBreakpointsView, ir_breakpoints_view, IR_TYPE_VIEW)

static void
on_remove (GtkButton *button, IrBreakpointsView *self)
{
  const guint index = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "index"));

  gtk_widget_grab_focus (self->entry);
  ir_session_remove_breakpoint (ir_view_get_session (IR_VIEW (self)), index);
}

static void
on_switched (GtkCheckButton *check, IrBreakpointsView *self)
{
  const guint index = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (check), "index"));

  ir_session_switch_breakpoint (ir_view_get_session (IR_VIEW (self)), index,
                                gtk_check_button_get_active (check));
}

/* "stopped twice", and a mark where the steps stopped last. */
static GtkWidget *
make_hits (IrBreakpointsView *self, guint index)
{
  gboolean last;
  const guint n = ir_session_breakpoint_hits (ir_view_get_session (IR_VIEW (self)), index, &last);
  g_autofree char *text = n == 0   ? g_strdup ("")
                          : n == 1 ? g_strdup ("stopped once")
                                   : g_strdup_printf ("stopped %u times", n);
  g_autofree char *shown = g_strconcat (last ? "● " : "", text, NULL);
  GtkWidget *label = gtk_label_new (shown);

  gtk_widget_add_css_class (label, "caption");
  gtk_widget_add_css_class (label, last ? "accent" : "dim-label");
  gtk_widget_set_tooltip_text (label, last ? "Where the steps stopped last" : NULL);
  return label;
}

static GtkWidget *
make_row (IrBreakpointsView *self, const IrBreakpoint *breakpoint, guint index)
{
  const char *text = ir_breakpoint_text (breakpoint);
  GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *label = gtk_label_new (text);
  GtkWidget *remove = gtk_button_new_from_icon_name ("user-trash-symbolic");
  g_autofree char *name = g_strdup_printf ("Remove %s", text);
  g_autofree char *stops = g_strdup_printf ("Stop at %s", text);
  GtkWidget *check = gtk_check_button_new ();

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_widget_add_css_class (label, "monospace");
  gtk_widget_add_css_class (remove, "flat");
  gtk_widget_set_tooltip_text (remove, "Remove");
  gtk_accessible_update_property (GTK_ACCESSIBLE (remove), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  g_object_set_data (G_OBJECT (remove), "index", GUINT_TO_POINTER (index));
  g_signal_connect (remove, "clicked", G_CALLBACK (on_remove), self);
  gtk_check_button_set_active (GTK_CHECK_BUTTON (check),
                               ir_session_breakpoint_is_on (
                                   ir_view_get_session (IR_VIEW (self)), index));
  gtk_widget_set_tooltip_text (check, "Whether the steps stop here");
  gtk_accessible_update_property (GTK_ACCESSIBLE (check), GTK_ACCESSIBLE_PROPERTY_LABEL, stops, -1);
  g_object_set_data (G_OBJECT (check), "index", GUINT_TO_POINTER (index));
  g_signal_connect (check, "toggled", G_CALLBACK (on_switched), self);
  gtk_widget_set_sensitive (label, gtk_check_button_get_active (GTK_CHECK_BUTTON (check)));
  gtk_box_append (GTK_BOX (row), check);
  gtk_box_append (GTK_BOX (row), label);
  gtk_box_append (GTK_BOX (row), make_hits (self, index));
  gtk_box_append (GTK_BOX (row), remove);
  return row;
}

static void
update (IrBreakpointsView *self)
{
  const GPtrArray *breakpoints = ir_session_get_breakpoints (ir_view_get_session (IR_VIEW (self)));
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->list)) != NULL)
    gtk_box_remove (GTK_BOX (self->list), child);
  for (guint i = 0; i < breakpoints->len; i++)
    gtk_box_append (GTK_BOX (self->list), make_row (self, breakpoints->pdata[i], i));
  if (breakpoints->len == 0)
    {
      GtkWidget *none = gtk_label_new (
          "No breakpoints yet. F9 runs to the next one, Shift+F9 back.");

      gtk_label_set_xalign (GTK_LABEL (none), 0);
      gtk_widget_add_css_class (none, "dim-label");
      gtk_box_append (GTK_BOX (self->list), none);
    }
}

/* While typing, an unfinished text is no mistake yet: it is told only by the button. */
static void
on_text (GtkEditable *entry, IrBreakpointsView *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrBreakpoint) breakpoint = ir_breakpoint_parse (gtk_editable_get_text (entry), &error);

  gtk_widget_set_sensitive (self->add, breakpoint != NULL);
  gtk_label_set_text (GTK_LABEL (self->error), "");
  gtk_widget_remove_css_class (self->entry, "error");
}

static void
on_add (IrBreakpointsView *self)
{
  g_autoptr (GError) error = NULL;
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));

  if (ir_session_add_breakpoint (ir_view_get_session (IR_VIEW (self)), text, &error))
    {
      gtk_editable_set_text (GTK_EDITABLE (self->entry), "");
      return;
    }
  gtk_label_set_text (GTK_LABEL (self->error), error->message);
  gtk_widget_add_css_class (self->entry, "error");
}

static void
on_example (GtkButton *button, IrBreakpointsView *self)
{
  GtkWidget *popover = gtk_widget_get_ancestor (GTK_WIDGET (button), GTK_TYPE_POPOVER);

  gtk_editable_set_text (GTK_EDITABLE (self->entry), g_object_get_data (G_OBJECT (button), "text"));
  gtk_popover_popdown (GTK_POPOVER (popover));
  gtk_widget_grab_focus (self->entry);
}

static GtkWidget *
make_examples (IrBreakpointsView *self)
{
  GtkWidget *button = gtk_menu_button_new (), *popover = gtk_popover_new (),
            *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  for (const char *const *example = ir_breakpoint_examples (); *example != NULL; example += 2)
    {
      g_autofree char *text = g_strdup_printf ("%s — %s", example[0], example[1]);
      GtkWidget *row = gtk_button_new_with_label (text);

      gtk_label_set_xalign (GTK_LABEL (gtk_button_get_child (GTK_BUTTON (row))), 0);
      gtk_widget_add_css_class (row, "flat");
      g_object_set_data (G_OBJECT (row), "text", (gpointer) example[0]);
      g_signal_connect (row, "clicked", G_CALLBACK (on_example), self);
      gtk_box_append (GTK_BOX (box), row);
    }
  gtk_popover_set_child (GTK_POPOVER (popover), box);
  gtk_menu_button_set_label (GTK_MENU_BUTTON (button), "Examples");
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (button), popover);
  gtk_widget_add_css_class (button, "flat");
  return button;
}

static void
ir_breakpoints_view_session_changed (IrView *view, IrSessionChanges changes)
{
  if (changes & IR_CHANGED_BREAKPOINTS)
    update (IR_BREAKPOINTS_VIEW (view));
}

static void
ir_breakpoints_view_focus_content (IrView *view)
{
  gtk_widget_grab_focus (IR_BREAKPOINTS_VIEW (view)->entry);
}

static void
ir_breakpoints_view_class_init (IrBreakpointsViewClass *klass)
{
  IR_VIEW_CLASS (klass)->session_changed = ir_breakpoints_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_breakpoints_view_focus_content;
}

static GtkWidget *
make_run_button (const char *label, const char *tooltip, const char *action)
{
  GtkWidget *button = gtk_button_new_with_label (label);

  gtk_widget_set_tooltip_text (button, tooltip);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  return button;
}

static GtkWidget *
make_bar (IrBreakpointsView *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->entry = gtk_entry_new ();
  gtk_entry_set_placeholder_text (GTK_ENTRY (self->entry), "rule=fold-*, op=Conv, nodes<50 …");
  gtk_widget_set_hexpand (self->entry, TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "New breakpoint", -1);
  g_signal_connect (self->entry, "changed", G_CALLBACK (on_text), self);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (on_add), self);
  self->add = gtk_button_new_with_label ("Add");
  gtk_widget_set_sensitive (self->add, FALSE);
  g_signal_connect_swapped (self->add, "clicked", G_CALLBACK (on_add), self);
  gtk_box_append (GTK_BOX (bar), self->entry);
  gtk_box_append (GTK_BOX (bar), make_examples (self));
  gtk_box_append (GTK_BOX (bar), self->add);
  gtk_box_append (GTK_BOX (bar), make_run_button ("Run Back", "To the breakpoint before (Shift+F9)",
                                                  "win.run-back"));
  gtk_box_append (GTK_BOX (bar),
                  make_run_button ("Run On", "To the next breakpoint (F9)", "win.run-on"));
  return bar;
}

static void
ir_breakpoints_view_init (IrBreakpointsView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *scroller = gtk_scrolled_window_new ();

  self->error = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->error), 0);
  gtk_label_set_ellipsize (GTK_LABEL (self->error), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (self->error, "error");
  self->list = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->list);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (box), make_bar (self));
  gtk_box_append (GTK_BOX (box), self->error);
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_widget_add_css_class (box, "breakpoints");
  adw_bin_set_child (ADW_BIN (self), box);
}

const IrViewInfo ir_view_breakpoints = {
  .id = "breakpoints",
  .title = "Breakpoints",
  .icon_name = "media-record-symbolic",
  .doc = "Where going through the steps stops.",
  .help = "Write where the steps shall stop: rule=fold-*, op=Conv, node=conv1, "
          "verdict=broken, nodes<50. F9 runs on to the next stop, Shift+F9 back. A tick "
          "switches one on and off; ● marks the one that stopped last.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_breakpoints_view_get_type,
};
