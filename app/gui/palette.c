#include "config.h"

#include "app/gui/palette.h"

#include "app/gui/reasons.h"
#include "app/gui/window-private.h"
#include "core/look/overlay.h"
#include "views/early-keys.h"

#include <adwaita.h>

#define LIST_HEIGHT 380 /* px */
#define WIDTH       520

static const IrCommand commands[] = {
  { "Open a Graph…", "win.open" },
  { "New Graph", "win.new" },
  { "New Window", "app.new-window" },
  { "Save", "win.save" },
  { "Save As…", "win.save-as" },
  { "Reload from Disk", "win.reload" },
  { "Close Graph", "win.close-graph" },
  { "Open Session…", "win.choose-session" },
  { "Save Session…", "win.save-session" },
  { "Pin a Note to the Selected Node…", "win.note" },
  { "Compare with File…", "win.compare" },
  { "Undo", "win.undo" },
  { "Redo", "win.redo" },
  { "Optimize: Run the Pipeline", "win.optimize" },
  { "Choose Passes to Run…", "win.passes" },
  { "Run the Graph", "win.run" },
  { "Run: Step to the Next Node", "win.drive('step')" },
  { "Run: Step Over Bodies", "win.drive('over')" },
  { "Run: Next Round of the Loop", "win.drive('round')" },
  { "Run to the Selected Node", "win.drive('to')" },
  { "Run: Continue to a Breakpoint", "win.drive('continue')" },
  { "Inputs and Sizes of the Run…", "win.inputs" },
  { "Run Options…", "win.run-options" },
  { "Check Execution", "win.check-execution" },
  { "Check Every Step by Running It", "win.prove" },
  { "Check the Steps That Are Not Checked", "win.prove-all" },
  { "Show the Next Step That Is Broken", "win.next-broken" },
  { "Measure the Kernels of the Selected Node", "win.measure-kernels" },
  { "Compare Values of the Two Graphs", "win.compare-values" },
  { "Cancel What Is Going On", "win.cancel" },
  { "Next Step", "win.next-step" },
  { "Previous Step", "win.previous-step" },
  { "End of the Next Pass", "win.next-pass" },
  { "End of the Previous Pass", "win.previous-pass" },
  { "Compare with an Earlier Step", "win.base-earlier" },
  { "Compare with a Later Step", "win.base-later" },
  { "The Graph as It Was Opened", "win.first" },
  { "The Last Step", "win.last" },
  { "Run On to Breakpoint", "win.run-on" },
  { "Run Back to Breakpoint", "win.run-back" },
  { "Find the Step That Fails…", "win.bisect" },
  { "End the What-If", "win.skip-nothing" },
  { "Find a Node", "win.view('search')" },
  { "Next Hit", "win.view('next-hit')" },
  { "Previous Hit", "win.view('previous-hit')" },
  { "Zoom In", "win.view('zoom-in')" },
  { "Zoom Out", "win.view('zoom-out')" },
  { "Actual Size", "win.view('zoom-normal')" },
  { "Fit the Graph", "win.view('fit')" },
  { "Bring the Selection into Sight", "win.view('show-selected')" },
  { "Zoom to the Change", "win.view('show-changes')" },
  { "Before and After Side by Side", "win.view('side-by-side')" },
  { "Open All Groups", "win.view('open-groups')" },
  { "Close All Groups", "win.view('close-groups')" },
  { "Open the Selected Group", "win.view('open-group')" },
  { "Close the Selected Group", "win.view('close-group')" },
  { "Select the Inputs of the Selection", "win.view('grow-inputs')" },
  { "Select the Outputs of the Selection", "win.view('grow-outputs')" },
  { "Select All That Reaches the Selection", "win.view('select-reaching')" },
  { "Select All That the Selection Reaches", "win.view('select-reached')" },
  { "Select the Paths Between Two Nodes", "win.view('select-between')" },
  { "Stop at Steps That Touch the Node", "win.view('break-at')" },
  { "Enter the Branch or Body of the Node", "win.view('enter')" },
  { "Enter the Second Branch of the Node", "win.view('enter-second')" },
  { "Leave the Branch or Body", "win.view('leave')" },
  { "Show Branches or Body Beside", "win.view('beside')" },
  { "Show Only the Selection", "win.view('show-only')" },
  { "Show Only, Grown by Inputs", "win.view('show-inputs')" },
  { "Show Only, Grown by Outputs", "win.view('show-outputs')" },
  { "Show All Nodes", "win.view('show-all')" },
  { "Picture: Types Beside Lines", "graph.shapes" },
  { "Picture: Names of Nodes", "graph.names" },
  { "Picture: Frames of Scopes", "graph.scopes" },
  { "Picture: Constants as Boxes", "graph.constants" },
  { "Picture: Left to Right", "graph.sideways" },
  { "Picture: Long Graphs in Columns", "graph.columns" },
  { "Picture: Colour by Kind of Operator", "graph.overlay::" },
  { "Add a Node…", "win.view('add-node')" },
  { "Insert a Node…", "win.view('insert-node')" },
  { "Add an Input…", "win.view('add-input')" },
  { "Add a Constant…", "win.view('add-constant')" },
  { "Make the Value an Output", "win.view('make-output')" },
  { "Rename the Selection…", "win.view('rename')" },
  { "Duplicate the Selection", "win.view('duplicate')" },
  { "Bypass the Selection", "win.view('bypass')" },
  { "Wrap the Selection as a Function…", "win.view('wrap')" },
  { "Extract the Selection…", "win.view('extract')" },
  { "Delete the Selection", "win.view('delete')" },
  { "Select All", "win.view('select-all')" },
  { "Fix a Size…", "win.view('fix-size')" },
  { "Change the Opset…", "win.view('set-opset')" },
  { "Convert an Element Type…", "win.view('convert')" },
  { "Arrange Again", "win.view('arrange')" },
  { "Graph Alone", "win.graph-alone" },
  { "Pane of Steps and Differences", "win.show-start" },
  { "Text Beside the Graph", "win.show-beside" },
  { "Pane of Properties", "win.show-end" },
  { "Bottom Panel", "win.show-bottom" },
  { "Next Pane", "win.next-pane" },
  { "Show Graph", "win.show('graph')" },
  { "Show Text", "win.show('text')" },
  { "Show Steps", "win.show('steps')" },
  { "Show Differences", "win.show('differences')" },
  { "Show Properties", "win.show('properties')" },
  { "Show Summary", "win.show('summary')" },
  { "Show Why Not", "win.show('why')" },
  { "Show Nodes", "win.show('nodes')" },
  { "Show Tensor", "win.show('tensor')" },
  { "Show Schedule", "win.show('schedule')" },
  { "Show Memory", "win.show('memory')" },
  { "Show Derivation", "win.show('derivation')" },
  { "Show Gradients", "win.show('gradients')" },
  { "Show Training", "win.show('training')" },
  { "Show Scoreboard", "win.show('scoreboard')" },
  { "Show Run", "win.show('run')" },
  { "Show Play", "win.show('play')" },
  { "Show Breakpoints", "win.show('breakpoints')" },
  { "Export as ONNX Model…", "win.export('onnx')" },
  { "Export as ONNX Text…", "win.export('onnxtxt')" },
  { "Export as Graphviz DOT…", "win.export('dot')" },
  { "Export as JSON…", "win.export('json')" },
  { "Export Picture as SVG…", "win.export('svg')" },
  { "Export Picture as PDF…", "win.export('pdf')" },
  { "Export Picture as PNG…", "win.export('png')" },
  { "Colours of the System", "app.theme::system" },
  { "Light Colours", "app.theme::light" },
  { "Dark Colours", "app.theme::dark" },
  { "Keyboard Shortcuts", "win.show-help-overlay" },
  { "About irscope", "app.about" },
  { "Quit", "app.quit" },
};

const IrCommand *
ir_commands (guint *n)
{
  *n = G_N_ELEMENTS (commands);
  return commands;
}

typedef struct
{
  GtkWindow *parent, *window;
  GtkEditable *entry;
  GtkListBox *list;
  GPtrArray *overlays; /* of IrCommand: what there is to colour by */
} Palette;

static void
command_free (gpointer data)
{
  IrCommand *command = data;

  g_free ((char *) command->title);
  g_free ((char *) command->action);
  g_free (command);
}

static GPtrArray *
overlay_commands (void)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (command_free);
  guint n;
  const IrOverlay *overlays = ir_overlays (&n);

  for (guint i = 0; i < n; i++)
    {
      const gboolean picture = overlays[i].kind == IR_OVERLAY_PICTURE;
      IrCommand *command = g_new0 (IrCommand, 1);

      command->title = g_strdup_printf ("Picture: %s%s", picture ? "" : "Colour by ",
                                        overlays[i].title);
      command->action = g_strdup_printf ("graph.overlay::%s", overlays[i].id);
      g_ptr_array_add (list, command);
    }
  return list;
}

static void
palette_free (gpointer data)
{
  Palette *self = data;

  g_ptr_array_unref (self->overlays);
  g_free (self);
}

/* Each word that was typed occurs in the title, or in the action's own name: "bisect" finds the step that fails. */
static gboolean
matches (const IrCommand *command, const char *typed)
{
  g_autofree char *lower = g_utf8_strdown (command->title, -1),
                  *wanted = g_utf8_strdown (typed, -1);
  g_auto (GStrv) words = g_strsplit (wanted, " ", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (strstr (lower, words[i]) == NULL && strstr (command->action, words[i]) == NULL)
      return FALSE;
  return TRUE;
}

static const IrCommand *
command_of (GtkListBoxRow *row)
{
  return g_object_get_data (G_OBJECT (row), "command");
}

/* (transfer full) (nullable): it can be done */
static char *
why_not (Palette *self, const IrCommand *command)
{
  GtkApplication *application = gtk_window_get_application (self->parent);

  if (g_str_has_prefix (command->action, "graph."))
    return ir_window_why_not (IR_WINDOW (self->parent), "win.view('fit')");
  if (!g_str_has_prefix (command->action, "app."))
    return ir_window_why_not (IR_WINDOW (self->parent), command->action);
  return application != NULL ? NULL : g_strdup ("Not in this window");
}

static gboolean
filter (GtkListBoxRow *row, gpointer data)
{
  Palette *self = data;

  return matches (command_of (row), gtk_editable_get_text (self->entry));
}

static GtkListBoxRow *
first_shown (Palette *self)
{
  for (int i = 0; gtk_list_box_get_row_at_index (self->list, i) != NULL; i++)
    {
      GtkListBoxRow *row = gtk_list_box_get_row_at_index (self->list, i);

      if (gtk_widget_get_child_visible (GTK_WIDGET (row)) &&
          gtk_widget_get_sensitive (GTK_WIDGET (row)))
        return row;
    }
  return NULL;
}

static void
on_typed (Palette *self)
{
  gtk_list_box_invalidate_filter (self->list);
  gtk_list_box_select_row (self->list, first_shown (self));
}

/* The list goes first: what is done may ask for a window of its own. */
static void
do_row (Palette *self, GtkListBoxRow *row)
{
  g_autofree char *name = NULL;
  g_autoptr (GVariant) target = NULL;
  GtkWindow *parent = self->parent;
  GtkWidget *where = GTK_WIDGET (parent);

  if (row == NULL || !gtk_widget_get_sensitive (GTK_WIDGET (row)))
    return;
  g_action_parse_detailed_name (command_of (row)->action, &name, &target, NULL);
  if (g_str_has_prefix (name, "graph."))
    where = GTK_WIDGET (ir_window_visible_view (IR_WINDOW (parent), IR_VIEW_CENTRE));
  gtk_window_destroy (self->window);
  gtk_widget_activate_action_variant (where, name, target);
}

static void
on_activate (Palette *self)
{
  do_row (self, gtk_list_box_get_selected_row (self->list));
}

static gboolean
on_key (Palette *self, guint keyval, guint keycode, GdkModifierType state)
{
  GtkListBoxRow *row = gtk_list_box_get_selected_row (self->list);
  const int by = keyval == GDK_KEY_Down ? 1 : keyval == GDK_KEY_Up ? -1 : 0;
  int index = row != NULL ? gtk_list_box_row_get_index (row) : -1;

  if (keyval == GDK_KEY_Escape)
    {
      gtk_window_destroy (self->window);
      return GDK_EVENT_STOP;
    }
  if (by == 0)
    return GDK_EVENT_PROPAGATE;
  do
    row = gtk_list_box_get_row_at_index (self->list, index += by);
  while (row != NULL && (!gtk_widget_get_child_visible (GTK_WIDGET (row)) ||
                         !gtk_widget_get_sensitive (GTK_WIDGET (row))));
  if (row != NULL)
    {
      gtk_list_box_select_row (self->list, row);
      gtk_widget_grab_focus (GTK_WIDGET (row)); /* brings it into sight */
      gtk_widget_grab_focus (GTK_WIDGET (self->entry));
      gtk_editable_set_position (self->entry, -1);
    }
  return GDK_EVENT_STOP;
}

static char *
keys_of (Palette *self, const IrCommand *command)
{
  GtkApplication *application = gtk_window_get_application (self->parent);
  g_auto (GStrv) accels = application != NULL
                              ? gtk_application_get_accels_for_action (application, command->action)
                              : NULL;
  guint key;
  GdkModifierType modifiers;

  if (accels == NULL || accels[0] == NULL || !gtk_accelerator_parse (accels[0], &key, &modifiers))
    return g_strdup ("");
  return gtk_accelerator_get_label (key, modifiers);
}

static GtkWidget *
make_row (Palette *self, const IrCommand *command)
{
  GtkWidget *row = gtk_list_box_row_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *title = gtk_label_new (command->title);
  g_autofree char *why = why_not (self, command);
  g_autofree char *text = why != NULL ? g_strdup (why) : keys_of (self, command);
  GtkWidget *keys = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (title), 0);
  gtk_widget_set_hexpand (title, TRUE);
  gtk_widget_add_css_class (keys, why != NULL ? "caption" : "palette-key");
  gtk_label_set_ellipsize (GTK_LABEL (keys), PANGO_ELLIPSIZE_END);
  gtk_box_append (GTK_BOX (box), title);
  gtk_box_append (GTK_BOX (box), keys);
  gtk_widget_set_margin_start (box, 6);
  gtk_widget_set_margin_end (box, 6);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  gtk_widget_set_sensitive (row, why == NULL);
  g_object_set_data (G_OBJECT (row), "command", (gpointer) command);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  command->title, -1);
  return row;
}

static GtkWidget *
make_placeholder (void)
{
  GtkWidget *label = gtk_label_new ("No command has these words");

  gtk_widget_add_css_class (label, "dim-label");
  gtk_widget_set_margin_top (label, 24);
  return label;
}

static GtkWidget *
build (Palette *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *scrolled = gtk_scrolled_window_new (), *entry = gtk_search_entry_new ();
  GtkEventController *keys = gtk_event_controller_key_new ();

  g_object_set (entry, "placeholder-text", "What to do", NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "What to do", -1);
  self->entry = GTK_EDITABLE (entry);
  self->list = GTK_LIST_BOX (gtk_list_box_new ());
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Commands", -1);
  gtk_widget_add_css_class (GTK_WIDGET (self->list), "found");
  gtk_list_box_set_placeholder (self->list, make_placeholder ());
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    gtk_list_box_append (self->list, make_row (self, &commands[i]));
  for (guint i = 0; i < self->overlays->len; i++)
    gtk_list_box_append (self->list, make_row (self, self->overlays->pdata[i]));
  gtk_list_box_set_filter_func (self->list, filter, self, NULL);
  g_signal_connect_swapped (entry, "changed", G_CALLBACK (on_typed), self);
  g_signal_connect_swapped (entry, "activate", G_CALLBACK (on_activate), self);
  g_signal_connect_swapped (self->list, "row-activated", G_CALLBACK (do_row), self);
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect_swapped (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (GTK_WIDGET (self->window), keys);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), GTK_WIDGET (self->list));
  gtk_widget_set_vexpand (scrolled, TRUE);
  gtk_box_append (GTK_BOX (box), entry);
  gtk_box_append (GTK_BOX (box), scrolled);
  gtk_widget_add_css_class (box, "palette");
  return box;
}

/* Over @parent; goes away with the choice, or with Escape */
void
ir_palette_present (GtkWindow *parent)
{
  GtkWidget *window = adw_window_new ();
  Palette *self = g_new0 (Palette, 1);

  self->parent = parent;
  self->window = GTK_WINDOW (window);
  self->overlays = overlay_commands ();
  g_object_set_data_full (G_OBJECT (window), "palette", self, palette_free);
  gtk_window_set_title (GTK_WINDOW (window), "Commands");
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_destroy_with_parent (GTK_WINDOW (window), TRUE);
  gtk_window_set_modal (GTK_WINDOW (window), TRUE);
  gtk_window_set_default_size (GTK_WINDOW (window), WIDTH, LIST_HEIGHT);
  adw_window_set_content (ADW_WINDOW (window), build (self));
  on_typed (self);
  ir_take_early_keys (GTK_WINDOW (window));
  gtk_window_present (GTK_WINDOW (window));
  gtk_widget_grab_focus (GTK_WIDGET (self->entry));
}
