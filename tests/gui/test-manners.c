/* What a window does besides: commands by name, breakpoints that mean something, graphs alone among
 * the recent files. */
#include "config.h"

#include "app/gui/application.h"
#include "app/gui/palette.h"
#include "app/gui/pipelines.h"
#include "app/gui/reasons.h"
#include "app/gui/welcome.h"
#include "app/gui/window.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/session/act.h"
#include "views/session/debug.h"
#include "views/graph/canvas.h"
#include "views/label.h"
#include "views/nodes/node-list.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/session/undo.h"
#include "views/view.h"

static char *
example (const char *name)
{
  return g_build_filename (IR_SOURCE_DATADIR, "examples", name, NULL);
}

/* -- commands -- */

static char *
normal (const char *action)
{
  g_autofree char *name = NULL;
  g_autoptr (GVariant) target = NULL;

  g_assert_true (g_action_parse_detailed_name (action, &name, &target, NULL));
  return g_action_print_detailed_name (name, target);
}

static gboolean
is_command (const char *action)
{
  guint n;
  const IrCommand *commands = ir_commands (&n);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *known = normal (commands[i].action), *wanted = normal (action);

      if (strcmp (known, wanted) == 0)
        return TRUE;
    }
  return FALSE;
}

/* What has a key is in the palette, and what is in the palette can be done. */
static void
test_commands (void)
{
  g_autoptr (GtkApplication) application = GTK_APPLICATION (ir_application_new ());
  g_auto (GStrv) keyed = NULL;
  IrWindow *window;
  guint n;
  const IrCommand *commands = ir_commands (&n);

  g_assert_true (g_application_register (G_APPLICATION (application), NULL, NULL));
  keyed = gtk_application_list_action_descriptions (application);
  g_assert_cmpuint (g_strv_length (keyed), >, 20);
  for (guint i = 0; keyed[i] != NULL; i++)
    if (strcmp (keyed[i], "win.palette") != 0 && !is_command (keyed[i]))
      g_error ("%s has a key and is no command", keyed[i]);
  window = ir_window_new (application);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = NULL;
      g_autoptr (GVariant) target = NULL;

      g_assert_true (g_action_parse_detailed_name (commands[i].action, &name, &target, NULL));
      if (g_str_has_prefix (name, "win."))
        g_assert_true (g_action_group_has_action (G_ACTION_GROUP (window), name + 4));
      else if (g_str_has_prefix (name, "app."))
        g_assert_true (g_action_group_has_action (G_ACTION_GROUP (application), name + 4));
    }
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* By what is typed for it. */
static void
command (IrWindow *window, const char *words)
{
  GtkWidget *entry;

  g_action_group_activate_action (G_ACTION_GROUP (window), "palette", NULL);
  settle (200);
  entry = find_widget (dialog_over (window), GTK_TYPE_SEARCH_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (entry), words);
  g_signal_emit_by_name (entry, "activate");
  settle (200);
}

/* What was cancelled, or refused, in a graph without nodes leaves the focus where keys mean something. */
static void
test_focus_of_empty (void)
{
  g_autoptr (GtkApplication) application = GTK_APPLICATION (ir_application_new ());
  IrWindow *window;
  GtkWidget *canvas, *focus;

  g_assert_true (g_application_register (G_APPLICATION (application), NULL, NULL));
  window = ir_window_new (application);
  gtk_window_present (GTK_WINDOW (window));
  gtk_widget_activate_action (GTK_WIDGET (window), "win.new", NULL);
  settle (300);
  focus = gtk_window_get_focus (GTK_WINDOW (window));
  g_assert_true (GTK_IS_BUTTON (focus) && gtk_widget_get_mapped (focus));
  canvas = find_widget (GTK_WIDGET (window), IR_TYPE_CANVAS);
  g_assert_true (canvas != NULL && !gtk_widget_get_mapped (canvas));
  gtk_widget_grab_focus (canvas); /* as what asks for words does behind its end */
  settle (100);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (window)) == focus);
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* The list of keys is no larger than the least that the window may be. */
static void
test_shortcuts_fit (void)
{
  g_autoptr (GtkApplication) application = GTK_APPLICATION (ir_application_new ());
  IrWindow *window;
  GtkWidget *keys;
  int width, height;

  g_assert_true (g_application_register (G_APPLICATION (application), NULL, NULL));
  window = ir_window_new (application);
  gtk_window_present (GTK_WINDOW (window));
  g_action_group_activate_action (G_ACTION_GROUP (window), "show-help-overlay", NULL);
  keys = GTK_WIDGET (gtk_application_window_get_help_overlay (GTK_APPLICATION_WINDOW (window)));
  g_assert_nonnull (keys);
  settle (500);
  gtk_widget_measure (keys, GTK_ORIENTATION_HORIZONTAL, -1, &width, NULL, NULL, NULL);
  gtk_widget_measure (keys, GTK_ORIENTATION_VERTICAL, -1, &height, NULL, NULL, NULL);
  g_assert_cmpint (width, <=, 800);
  g_assert_cmpint (height, <=, 600);
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

static void
test_palette (void)
{
  g_autofree char *path = example ("digits.onnx");
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *palette, *entry;

  ir_session_open (session, path);
  gtk_window_present (GTK_WINDOW (window));
  wait_for ("the model", is_open_and_idle, session);
  g_action_group_activate_action (G_ACTION_GROUP (window), "palette", NULL);
  settle (200);
  palette = dialog_over (window);
  g_assert_nonnull (palette);
  entry = find_widget (palette, GTK_TYPE_SEARCH_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (entry),
                         "show-end"); /* the name of the action, not its title */
  settle (250);
  g_assert_nonnull (
      gtk_list_box_get_selected_row (GTK_LIST_BOX (find_widget (palette, GTK_TYPE_LIST_BOX))));
  gtk_editable_set_text (GTK_EDITABLE (entry), "alone graph");
  g_signal_emit_by_name (entry, "activate");
  settle (200);
  g_assert_null (dialog_over (window));
  g_assert_true (g_variant_get_boolean (
      g_action_group_get_action_state (G_ACTION_GROUP (window), "graph-alone")));
  /* what the picture shows, too */
  command (window, "colour arithmetic");
  g_assert_cmpstr (ir_session_get_overlay (session), ==, "flops");
  command (window, "colour kind");
  g_assert_null (ir_session_get_overlay (session));
  command (window, "left to right");
  g_assert_true ((ir_session_get_show (session) & IR_SHOW_SIDEWAYS) != 0);
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* -- what cannot be done says why, and menus leave it out -- */

typedef struct
{
  const char *action;
  const char *why; /* (nullable): it can be done */
} Reason;

static void
expect_reasons (IrWindow *window, const Reason *reasons)
{
  for (; reasons->action != NULL; reasons++)
    {
      g_autofree char *why = ir_window_why_not (window, reasons->action);

      g_assert_cmpstr (why, ==, reasons->why);
    }
}

/* Whether a button for @action says @text in its tooltip. */
static gboolean
has_button (IrWindow *window, GtkWidget *root, const char *action, const char *text)
{
  if (GTK_IS_BUTTON (root) && gtk_widget_get_tooltip_text (root) != NULL &&
      g_strcmp0 (gtk_actionable_get_action_name (GTK_ACTIONABLE (root)), action) == 0)
    {
      g_autofree char *tip = ir_window_button_tip (window, GTK_ACTIONABLE (root));

      if (strstr (tip, text) != NULL)
        return TRUE;
    }
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (has_button (window, child, action, text))
      return TRUE;
  return FALSE;
}

static gboolean
menu_has (GMenuModel *menu, const char *title)
{
  for (int i = 0; i < g_menu_model_get_n_items (menu); i++)
    {
      g_autofree char *label = NULL;
      g_autoptr (GMenuModel) section = g_menu_model_get_item_link (menu, i, G_MENU_LINK_SECTION),
                             below = g_menu_model_get_item_link (menu, i, G_MENU_LINK_SUBMENU);

      if ((g_menu_model_get_item_attribute (menu, i, G_MENU_ATTRIBUTE_LABEL, "s", &label) &&
           strcmp (label, title) == 0) ||
          (section != NULL && menu_has (section, title)) ||
          (below != NULL && menu_has (below, title)))
        return TRUE;
    }
  return FALSE;
}

static GtkMenuButton *
find_primary (GtkWidget *root)
{
  GtkMenuButton *found = GTK_IS_MENU_BUTTON (root) &&
                                 gtk_menu_button_get_primary (GTK_MENU_BUTTON (root))
                             ? GTK_MENU_BUTTON (root)
                             : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL && found == NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_primary (child);
  return found;
}

/* As it is when it comes up. */
static gboolean
main_menu_has (IrWindow *window, const char *title)
{
  GtkMenuButton *button = find_primary (GTK_WIDGET (window));

  gtk_menu_button_popup (button);
  settle (100);
  gtk_menu_button_popdown (button);
  settle (50);
  return menu_has (gtk_menu_button_get_menu_model (button), title);
}

static void
test_reasons (void)
{
  g_autofree char *path = example ("digits.onnx");
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);

  gtk_window_present (GTK_WINDOW (window));
  expect_reasons (window, (const Reason[]){ { "win.run", "No graph is open" }, { NULL, NULL } });
  g_assert_true (
      has_button (window, GTK_WIDGET (window), "win.run", "(Ctrl+R)\nNo graph is open."));
  ir_session_open (session, path);
  wait_for ("the model", is_open_and_idle, session);
  g_assert_false (has_button (window, GTK_WIDGET (window), "win.run", "open."));
  expect_reasons (window, (const Reason[]){
                              { "win.run", NULL },
                              { "win.bisect", "There are no steps yet: Optimize (F5) makes some" },
                              { "win.undo", "Nothing was done that could be undone" },
                              { "win.view('rename')", "Select a node or a value first" },
                              { "win.view('add-node')", NULL },
                              { "win.measure-kernels", "Select a node first" },
                              { NULL, NULL },
                          });
  g_assert_false (main_menu_has (window, "Rename…"));
  g_assert_true (main_menu_has (window, "Add Node…"));
  ir_session_select_node (session, 1);
  settle (50);
  expect_reasons (
      window, (const Reason[]){ { "win.view('rename')", NULL },
                                { "win.view('select-between')", "Not for what is selected now" },
                                { "win.measure-kernels", NULL },
                                { NULL, NULL } });
  g_action_group_activate_action (G_ACTION_GROUP (window), "view",
                                  g_variant_new_string ("break-at"));
  g_assert_cmpuint (ir_session_get_breakpoints (session)->len, ==, 1);
  g_assert_true (main_menu_has (window, "Rename…"));
  g_assert_false (main_menu_has (window, "Arrange Again"));
  ir_session_run_pipeline (session, NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  g_assert_true (
      has_button (window, GTK_WIDGET (window), "win.next-step", "This is the last step."));
  g_assert_false (
      has_button (window, GTK_WIDGET (window), "win.previous-step", "as it was opened"));
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* -- the menu of what was clicked -- */

/* How many entries stand before that of @title; -1: it has none */
static int
place_in_menu (GMenuModel *menu, const char *title, int *n)
{
  for (int i = 0; i < g_menu_model_get_n_items (menu); i++)
    {
      g_autofree char *label = NULL;
      g_autoptr (GMenuModel) section = g_menu_model_get_item_link (menu, i, G_MENU_LINK_SECTION);
      const int found = section != NULL ? place_in_menu (section, title, n) : -1;

      if (found >= 0)
        return found;
      if (g_menu_model_get_item_attribute (menu, i, G_MENU_ATTRIBUTE_LABEL, "s", &label) &&
          strcmp (label, title) == 0)
        return *n;
      *n += section == NULL;
    }
  return -1;
}

/* What a group is for comes before what goes for the whole graph. */
static void
test_group_menu (void)
{
  g_autofree char *path = example ("transformer-block.onnx");
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *canvas, *popover;
  guint n_boxes, i = 0;
  const IrSceneBox *boxes;
  int n = 0, of_group, of_graph;

  gtk_window_present (GTK_WINDOW (window));
  ir_session_open (session, path);
  wait_for ("the model", is_open_and_idle, session);
  canvas = find_widget (GTK_WIDGET (window), IR_TYPE_CANVAS);
  boxes = ir_scene_boxes (ir_canvas_get_scene (IR_CANVAS (canvas)), &n_boxes);
  while (i < n_boxes && (boxes[i].fold == NULL || boxes[i].node != 0))
    i++;
  g_assert_cmpuint (i, <, n_boxes);
  ir_session_select_fold (session, boxes[i].fold);
  settle (50);
  g_signal_emit_by_name (canvas, "menu", 100.0, 100.0);
  popover = gtk_widget_get_first_child (gtk_widget_get_ancestor (canvas, IR_TYPE_VIEW));
  while (popover != NULL && !GTK_IS_POPOVER_MENU (popover))
    popover = gtk_widget_get_next_sibling (popover);
  g_assert_nonnull (popover);
  of_group = place_in_menu (gtk_popover_menu_get_menu_model (GTK_POPOVER_MENU (popover)),
                            "Open Group", &n);
  n = 0;
  of_graph = place_in_menu (gtk_popover_menu_get_menu_model (GTK_POPOVER_MENU (popover)),
                            "Add Node…", &n);
  g_assert_cmpint (of_group, >=, 0);
  g_assert_cmpint (of_group, <, of_graph);
  gtk_popover_popdown (GTK_POPOVER (popover));
  settle (50);
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* The entry of that text that is seen. (nullable) */
static GtkWidget *
find_entry (GtkWidget *root, const char *text)
{
  GtkWidget *found = NULL;
  g_autofree char *label = NULL;

  if (strcmp (G_OBJECT_TYPE_NAME (root), "GtkModelButton") == 0 && gtk_widget_get_mapped (root))
    {
      g_object_get (root, "text", &label, NULL);
      if (g_strcmp0 (label, text) == 0)
        return root;
    }
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL && found == NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_entry (child, text);
  return found;
}

/* A menu that is left in one of its submenus gives back the focus: keys would go nowhere. */
static void
test_menu_focus (void)
{
  g_autofree char *path = example ("digits.onnx");
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *before, *popover, *entry;
  GtkMenuButton *button = find_primary (GTK_WIDGET (window));

  gtk_window_present (GTK_WINDOW (window));
  ir_session_open (session, path);
  wait_for ("the model", is_open_and_idle, session);
  before = find_widget (GTK_WIDGET (window), IR_TYPE_CANVAS);
  gtk_widget_grab_focus (before);
  gtk_menu_button_popup (button);
  settle (200);
  popover = GTK_WIDGET (gtk_menu_button_get_popover (button));
  entry = find_entry (popover, "View");
  g_assert_nonnull (entry);
  g_signal_emit_by_name (entry, "clicked");
  settle (300);
  gtk_widget_child_focus (popover, GTK_DIR_TAB_FORWARD);
  gtk_popover_popdown (GTK_POPOVER (popover));
  settle (300);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (window)) == before);
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* -- keys while something is going on -- */

static gboolean
has_run (gpointer session)
{
  return is_open_and_idle (session) && ir_session_get_run (session, IR_SIDE_AFTER) != NULL;
}

static void
do_action (IrWindow *window, const char *action)
{
  g_action_group_activate_action (G_ACTION_GROUP (window), action, NULL);
}

/* A run that is asked for while a pipeline runs comes behind it, and goes when that is cancelled. */
static void
test_waits_for_its_turn (void)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "digits.onnx", NULL);
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);

  ir_session_open (session, path);
  gtk_window_present (GTK_WINDOW (window));
  wait_for ("the model", is_open_and_idle, session);
  ir_session_see_sizes (session); /* a run does not ask for a batch */
  do_action (window, "optimize");
  g_assert_true (ir_session_get_busy (session));
  g_assert_false (ir_window_wait_for_turn (window, "optimize")); /* it goes on already */
  g_assert_false (ir_window_wait_for_turn (window, "new"));
  g_assert_true (ir_window_wait_for_turn (window, "run"));
  wait_for ("the run", has_run, session);
  g_assert_cmpuint (ir_session_get_n_steps (session), >, 0);
  g_assert_false (ir_window_wait_for_turn (window, "run")); /* nothing to wait for */
  do_action (window, "run");
  g_assert_true (ir_window_wait_for_turn (window, "optimize"));
  ir_session_goto (session, 0);
  do_action (window, "cancel");
  wait_for ("the end", is_open_and_idle, session);
  settle (200);
  g_assert_cmpuint (ir_session_get_cursor (session), ==,
                    0); /* a pipeline would have gone to its last step */
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* -- the list of pipelines -- */

static void
test_pipelines (void)
{
  IrWindow *window = ir_window_new (NULL);
  GtkDropDown *pipelines;
  g_autofree char *first = NULL, *second = NULL;

  gtk_window_present (GTK_WINDOW (window));
  pipelines = GTK_DROP_DOWN (find_widget (GTK_WIDGET (window), GTK_TYPE_DROP_DOWN));
  first = ir_pipelines_tip (pipelines);
  g_assert_nonnull (strstr (first, "the fewest nodes"));
  gtk_drop_down_set_selected (pipelines, 1);
  second = ir_pipelines_tip (pipelines);
  g_assert_null (strstr (second, "the fewest nodes"));
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

static void
test_help (void)
{
  guint n;
  const IrViewInfo *const *infos = ir_views (&n);

  for (guint i = 0; i < n; i++)
    {
      g_assert_nonnull (infos[i]->help);
      g_assert_cmpuint (strlen (infos[i]->help), >, strlen (infos[i]->doc));
    }
}

static guint
open_helps (GtkWidget *root)
{
  guint n = 0;

  if (GTK_IS_MENU_BUTTON (root) && gtk_widget_has_css_class (root, "help-button") &&
      gtk_widget_get_mapped (root))
    {
      GtkWidget *label = gtk_popover_get_child (
          gtk_menu_button_get_popover (GTK_MENU_BUTTON (root)));
      int height;

      gtk_menu_button_popup (GTK_MENU_BUTTON (root));
      settle (200);
      g_assert_true (gtk_widget_get_mapped (label));
      gtk_widget_measure (label, GTK_ORIENTATION_VERTICAL, gtk_widget_get_allocated_width (label),
                          NULL, &height, NULL, NULL);
      g_assert_cmpint (gtk_widget_get_allocated_height (label), >=, height);
      gtk_menu_button_popdown (GTK_MENU_BUTTON (root));
      settle (50);
      return 1;
    }
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += open_helps (child);
  return n;
}

/* All lines of a view's help are in its popover. */
static void
test_help_is_whole (void)
{
  g_autofree char *path = example ("digits.onnx");
  IrWindow *window = g_object_new (IR_TYPE_WINDOW, NULL);

  gtk_window_present (GTK_WINDOW (window));
  ir_session_open (ir_window_get_session (window), path);
  wait_for ("the model", is_open_and_idle, ir_window_get_session (window));
  settle (200);
  g_assert_cmpuint (open_helps (GTK_WIDGET (window)), >=, 2);
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* Entries of the menu that are shown, and cannot be done now. */
static guint
count_disabled (IrWindow *window, GMenuModel *menu, guint *n_shown)
{
  guint n = 0;

  for (int i = 0; i < g_menu_model_get_n_items (menu); i++)
    {
      g_autoptr (GMenuModel) section = g_menu_model_get_item_link (menu, i, G_MENU_LINK_SECTION);
      g_autoptr (GMenuModel) submenu = g_menu_model_get_item_link (menu, i, G_MENU_LINK_SUBMENU);
      g_autoptr (GVariant)
          target = g_menu_model_get_item_attribute_value (menu, i, G_MENU_ATTRIBUTE_TARGET, NULL);
      g_autofree char *name = NULL, *hidden = NULL, *detailed = NULL, *why = NULL;

      if (section != NULL)
        n += count_disabled (window, section, n_shown);
      if (submenu != NULL)
        {
          guint n_inside = 0;

          g_assert_cmpuint (count_disabled (window, submenu, &n_inside), <, 6);
          *n_shown += n_inside;
        }
      g_menu_model_get_item_attribute (menu, i, "hidden-when", "s", &hidden);
      if (hidden != NULL || !g_menu_model_get_item_attribute (menu, i, "action", "s", &name))
        continue;
      ++*n_shown;
      detailed = g_action_print_detailed_name (name, target);
      if (g_str_has_prefix (name, "win."))
        why = g_action_group_has_action (G_ACTION_GROUP (window), name + 4)
                  ? ir_window_why_not (window, detailed)
                  : g_strdup ("there is no such action");
      if (why != NULL)
        g_test_message ("%s: %s", detailed, why);
      n += why != NULL;
    }
  return n;
}

static void
test_menus (void)
{
  g_autofree char *path = example ("digits.onnx");
  IrWindow *window = g_object_new (IR_TYPE_WINDOW, NULL);
  GtkWidget *button = GTK_WIDGET (
      gtk_widget_get_template_child (GTK_WIDGET (window), IR_TYPE_WINDOW, "menu_button"));

  gtk_window_present (GTK_WINDOW (window));
  for (guint open = 0; open < 2; open++)
    {
      guint n_shown = 0;

      if (open)
        {
          ir_session_open (ir_window_get_session (window), path);
          wait_for ("the model", is_open_and_idle, ir_window_get_session (window));
        }
      settle (100);
      gtk_menu_button_popup (GTK_MENU_BUTTON (button));
      settle (100);
      g_assert_cmpuint (count_disabled (window,
                                        gtk_menu_button_get_menu_model (GTK_MENU_BUTTON (button)),
                                        &n_shown),
                        <, 6);
      g_assert_cmpuint (n_shown, >, 15);
      gtk_menu_button_popdown (GTK_MENU_BUTTON (button));
    }
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* A tooltip is no wider than a small window, whatever it says. */
static void
test_tips (void)
{
  GtkWidget *widget = g_object_ref_sink (gtk_label_new (NULL));
  g_autoptr (GString) text = g_string_new ("rule\nx = é");
  g_auto (GStrv) lines = NULL;

  for (guint i = 0; i < 60; i++)
    g_string_append_printf (text, " block%u.weight", i);
  ir_set_tip (widget, text->str);
  lines = g_strsplit (gtk_widget_get_tooltip_text (widget), "\n", -1);
  g_assert_cmpstr (lines[0], ==, "rule");
  g_assert_cmpuint (g_strv_length (lines), >, 10);
  for (guint i = 0; lines[i] != NULL; i++)
    g_assert_cmpuint (strlen (lines[i]), <, 80);
  g_strdelimit (text->str, "\n", ' ');
  g_autofree char *same = g_strjoinv (" ", lines);
  g_assert_cmpstr (same, ==, text->str);
  ir_set_tip (widget, NULL);
  g_assert_null (gtk_widget_get_tooltip_text (widget));
  g_object_unref (widget);
}

/* -- passes one by one -- */

static void
press (GtkWidget *sheet, const char *label)
{
  GtkWidget *button = gtk_widget_get_ancestor (find_label (sheet, label), GTK_TYPE_BUTTON);

  g_signal_emit_by_name (button, "clicked");
  settle (50);
}

static GtkWidget *
open_passes (IrWindow *window)
{
  g_action_group_activate_action (G_ACTION_GROUP (window), "passes", NULL);
  settle (200);
  g_assert_nonnull (dialog_over (window));
  return dialog_over (window);
}

/* Those that are chosen run, alone and in their order, and are there again; a wrong option is said. */
static void
test_passes (void)
{
  g_autofree char *path = example ("digits.onnx");
  static const char *const wrong[] = { "fold-constants.limit=lots", NULL };
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *sheet, *search;
  GtkDropDown *pipelines;
  guint n_default;

  ir_session_open (session, path);
  gtk_window_present (GTK_WINDOW (window));
  wait_for ("the model", is_open_and_idle, session);
  pipelines = GTK_DROP_DOWN (find_widget (GTK_WIDGET (window), GTK_TYPE_DROP_DOWN));
  sheet = open_passes (window);
  press (sheet, "Those of Default");
  g_assert_true (is_shown (sheet, "2. "));
  gtk_window_destroy (GTK_WINDOW (sheet));
  settle (50);
  g_assert_cmpuint (gtk_drop_down_get_selected (pipelines), ==, 0);
  sheet = open_passes (window);
  search = gtk_widget_get_ancestor (gtk_window_get_focus (GTK_WINDOW (sheet)),
                                    GTK_TYPE_SEARCH_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (search), "conv-bn");
  g_signal_emit_by_name (search, "activate");
  press (sheet, "Run");
  wait_for ("the pass", is_open_and_idle, session);
  g_assert_cmpuint (ir_session_get_n_steps (session), >, 0);
  for (guint i = 1; i <= ir_session_get_n_steps (session); i++)
    g_assert_cmpstr (ir_history_pass_of (ir_session_get_history (session), i), ==, "fold-conv-bn");
  g_assert_cmpstr (ir_session_get_undo (session), ==, "Run Pass fold-conv-bn");
  g_assert_cmpuint (gtk_drop_down_get_selected (pipelines), ==,
                    g_list_model_get_n_items (gtk_drop_down_get_model (pipelines)) - 1);
  sheet = open_passes (window);
  g_assert_true (is_shown (sheet, "1. Fold BatchNormalization"));
  gtk_window_destroy (GTK_WINDOW (sheet));
  g_assert_false (ir_session_set_passes (session, (const char *const[]){ "fold-constants", NULL },
                                         wrong, NULL));
  g_assert_cmpstr (ir_session_get_passes (session)[0], ==, "fold-conv-bn");
  /* unsafe rewrites are said to be left out, and come when they are asked for */
  ir_session_run_pipeline (session, "fast-math");
  wait_for ("the pipeline", is_open_and_idle, session);
  n_default = ir_session_get_n_steps (session);
  g_assert_true (is_shown (window, "unsafe rewrites left out"));
  ir_session_set_unsafe (session, TRUE);
  ir_session_run_pipeline (session, NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  g_assert_false (is_shown (window, "unsafe rewrites left out"));
  g_assert_cmpuint (ir_session_get_n_steps (session), >=, n_default);
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* -- steps that were not checked -- */

static gboolean
is_check (GtkWidget *widget)
{
  return GTK_IS_BUTTON (widget) &&
         g_strcmp0 (gtk_button_get_label (GTK_BUTTON (widget)), "Check") == 0;
}

static GtkWidget *
find_check (GtkWidget *root)
{
  GtkWidget *found = is_check (root) ? root : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL && found == NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_check (child);
  return found;
}

/* 4.3 GFLOP: more than is checked by itself. */
static const char large_graph[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[1024,2048] x, float[2048,1024] w) => (float[1024,1024] y) "
    "{ h = Identity (x) y = MatMul (h, w) }";

static void
test_unchecked (void)
{
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "large.onnxtxt", NULL);
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *check, *label, *page;
  gboolean large;

  g_assert_true (g_file_set_contents (path, large_graph, -1, NULL));
  ir_session_open (session, path);
  gtk_window_present (GTK_WINDOW (window));
  wait_for ("the model", is_open_and_idle, session);
  check = find_check (GTK_WIDGET (window));
  g_assert_nonnull (check);
  g_assert_false (gtk_widget_get_visible (gtk_widget_get_parent (check)));
  ir_session_run_pipeline (session, NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  g_assert_cmpuint (ir_session_n_unproved (session, &large), ==, ir_session_get_n_steps (session));
  g_assert_cmpuint (ir_session_get_n_steps (session), >, 0);
  g_assert_true (large);
  g_assert_true (gtk_widget_get_visible (gtk_widget_get_parent (check)));
  label = gtk_widget_get_first_child (gtk_widget_get_parent (check));
  g_assert_true (g_str_has_suffix (gtk_label_get_text (GTK_LABEL (label)), "not checked: large"));
  page = find_styled (GTK_WIDGET (window), GTK_TYPE_BOX, "step-details");
  g_assert_true (is_shown (page, "not checked: large")); /* of the step that is seen */
  /* cancelled, and asked for again */
  ir_session_prove_all (session);
  ir_session_cancel (session);
  wait_for ("the end", is_open_and_idle, session);
  g_signal_emit_by_name (check, "clicked");
  wait_for ("the check", is_open_and_idle, session);
  g_assert_cmpuint (ir_session_n_unproved (session, &large), ==, 0);
  g_assert_cmpint (ir_history_step (ir_session_get_history (session), 1)->proof.verdict, ==,
                   IR_VERDICT_EXACT);
  g_assert_false (gtk_widget_get_visible (gtk_widget_get_parent (check)));
  /* what is done by hand is nothing to check */
  ir_session_act (session, (const char *const[]){ "rename-value", "y", "z", NULL });
  wait_for ("the edit", is_open_and_idle, session);
  g_assert_cmpuint (ir_session_n_unproved (session, &large), ==, 0);
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* -- the table of nodes -- */

static guint
n_rows (GtkWidget *table)
{
  return g_list_model_get_n_items (
      G_LIST_MODEL (gtk_column_view_get_model (GTK_COLUMN_VIEW (table))));
}

static gboolean
has_one_row (gpointer table)
{
  return n_rows (table) == 1;
}

static gboolean
has_more_rows (gpointer table)
{
  return n_rows (table) > 1;
}

static char *
cell (GtkWidget *table, guint row, IrNodeColumn column)
{
  g_autoptr (IrNodeRow) item = g_list_model_get_item (
      G_LIST_MODEL (gtk_column_view_get_model (GTK_COLUMN_VIEW (table))), row);

  return ir_node_row_text (item, column);
}

static void
expect_cell (GtkWidget *table, guint row, IrNodeColumn column, const char *text)
{
  g_autofree char *found = cell (table, row, column);

  g_assert_cmpstr (found, ==, text);
}

static void
sort_by (GtkWidget *table, IrNodeColumn column)
{
  g_autoptr (GtkColumnViewColumn)
      title = g_list_model_get_item (gtk_column_view_get_columns (GTK_COLUMN_VIEW (table)), column);

  gtk_column_view_sort_by_column (GTK_COLUMN_VIEW (table), title, GTK_SORT_DESCENDING);
}

static void
test_nodes (void)
{
  g_autofree char *path = example ("digits.onnx");
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *view, *table, *entry;
  GtkSelectionModel *selection;
  const IrModel *model;

  ir_session_open (session, path);
  gtk_window_present (GTK_WINDOW (window));
  wait_for ("the model", is_open_and_idle, session);
  model = ir_session_get_frame (session)->model;
  g_action_group_activate_action (G_ACTION_GROUP (window), "show", g_variant_new_string ("nodes"));
  settle (200);
  view = find_widget (GTK_WIDGET (window), ir_view_find ("nodes")->get_type ());
  table = find_widget (view, GTK_TYPE_COLUMN_VIEW);
  g_assert_true (gtk_widget_get_mapped (table));
  entry = find_widget (view, GTK_TYPE_SEARCH_ENTRY);
  g_assert_cmpuint (n_rows (table), ==, ir_model_n_nodes (model));
  sort_by (table, IR_NODE_COLUMN_INPUTS);
  expect_cell (table, 0, IR_NODE_COLUMN_OPERATOR, "BatchNormalization");
  sort_by (table, IR_NODE_COLUMN_SHAPE);
  expect_cell (table, 0, IR_NODE_COLUMN_TYPE, "float");
  gtk_editable_set_text (GTK_EDITABLE (entry), "op:softmax");
  wait_for ("the one that is meant", has_one_row, table);
  expect_cell (table, 0, IR_NODE_COLUMN_OPERATOR, "Softmax");
  expect_cell (table, 0, IR_NODE_COLUMN_SHAPE, "[batch,10]");
  /* what is chosen there is chosen everywhere, and the other way round */
  selection = gtk_column_view_get_model (GTK_COLUMN_VIEW (table));
  gtk_selection_model_select_item (selection, 0, TRUE);
  g_assert_cmpstr (ir_model_node (model, ir_session_get_selected_node (session))->op_type, ==,
                   "Softmax");
  gtk_editable_set_text (GTK_EDITABLE (entry), "op:gemm");
  settle (300);
  g_assert_false (gtk_selection_model_is_selected (selection, 0));
  ir_session_select_node (session, ir_graph_find_node (model->main, "/fc/Gemm")->id);
  g_assert_true (gtk_selection_model_is_selected (selection, 0));
  gtk_editable_set_text (GTK_EDITABLE (entry), "cost>much");
  wait_for ("all of them", has_more_rows, table);
  g_assert_cmpuint (n_rows (table), ==, ir_model_n_nodes (model));
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

/* -- breakpoints -- */

static gboolean
accepts (IrSession *session, const char *text)
{
  g_autoptr (GError) error = NULL;
  const gboolean accepted = ir_session_add_breakpoint (session, text, &error);

  g_assert_true (accepted == (error == NULL));
  return accepted;
}

static void
test_breakpoints (void)
{
  static const char *const nonsense[] = { "op==Frob & x", "op=Frob",     "rule=no-such-rule",
                                          "pass=nothing", "node=nobody", "node=#99999",
                                          "verdict=fine", "nodes<many" };
  g_autofree char *path = example ("digits.onnx");
  g_autoptr (IrSession) session = ir_session_new ();
  gboolean last;
  guint first;

  ir_session_open (session, path);
  wait_for ("the model", is_open_and_idle, session);
  for (guint i = 0; i < G_N_ELEMENTS (nonsense); i++)
    g_assert_false (accepts (session, nonsense[i]));
  g_assert_cmpuint (ir_session_get_breakpoints (session)->len, ==, 0);
  g_assert_true (accepts (session, "rule=fold-conv-*"));
  g_assert_true (accepts (session, "op=Softmax"));
  ir_session_run_pipeline (session, NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  ir_session_goto (session, 0);
  wait_for ("the original", is_open_and_idle, session);
  ir_session_run_to_breakpoint (session, TRUE);
  wait_for ("the stop", is_open_and_idle, session);
  first = ir_session_get_cursor (session);
  g_assert_cmpuint (first, >, 0);
  g_assert_cmpuint (ir_session_breakpoint_hits (session, 0, &last), ==, 1);
  g_assert_true (last);
  g_assert_cmpuint (ir_session_breakpoint_hits (session, 1, &last), ==, 0);
  g_assert_false (last);
  /* one that is switched off does not stop */
  ir_session_switch_breakpoint (session, 0, FALSE);
  g_assert_false (ir_session_breakpoint_is_on (session, 0));
  ir_session_goto (session, 0);
  wait_for ("the original", is_open_and_idle, session);
  ir_session_run_to_breakpoint (session, TRUE);
  wait_for ("the stop", is_open_and_idle, session);
  g_assert_cmpuint (ir_session_get_cursor (session), !=, first);
  g_assert_cmpuint (ir_session_breakpoint_hits (session, 0, &last), ==, 1);
}

/* -- recent files -- */

static GtkRecentInfo *
remembered (const char *uri)
{
  return gtk_recent_manager_lookup_item (gtk_recent_manager_get_default (), uri, NULL);
}

/* As the dialogs of the toolkit remember what was chosen in them. */
static void
remember (const char *uri, char **groups)
{
  GtkRecentData data = { .mime_type = "application/octet-stream",
                         .app_name = (char *) g_get_application_name (),
                         .app_exec = "irscope-gtk %u",
                         .groups = groups };

  gtk_recent_manager_add_full (gtk_recent_manager_get_default (), uri, &data);
}

static void
test_recent (void)
{
  g_autofree char *graph = example ("digits.onnx"), *input = example ("digits-input-7.npy");
  g_autofree char *graph_uri = g_filename_to_uri (graph, NULL, NULL);
  g_autofree char *input_uri = g_filename_to_uri (input, NULL, NULL);
  g_autoptr (GtkRecentInfo) chosen = NULL, opened = NULL;

  remember (input_uri, NULL);
  remember (graph_uri, (char *[]){ IR_RECENT_GROUP, NULL });
  remember (graph_uri, NULL); /* chosen in a dialog once more */
  chosen = remembered (input_uri);
  opened = remembered (graph_uri);
  g_assert_nonnull (chosen);
  g_assert_nonnull (opened);
  g_assert_false (ir_recent_is_graph (chosen, input));
  g_assert_true (ir_recent_is_graph (opened, graph));
  g_assert_false (ir_recent_is_graph (opened, "/no/such/file.onnx"));
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  g_test_add_func ("/manners/what is asked for meanwhile comes next", test_waits_for_its_turn);
  g_test_add_func ("/manners/all that has a key is a command", test_commands);
  g_test_add_func ("/manners/the focus stays in an empty graph", test_focus_of_empty);
  g_test_add_func ("/manners/the list of keys fits a small window", test_shortcuts_fit);
  g_test_add_func ("/manners/a command is done by its name", test_palette);
  g_test_add_func ("/manners/what cannot be done says why", test_reasons);
  g_test_add_func ("/manners/the menu of a group begins with it", test_group_menu);
  g_test_add_func ("/manners/a menu gives back the focus", test_menu_focus);
  g_test_add_func ("/manners/a pipeline says what it does", test_pipelines);
  g_test_add_func ("/manners/passes are chosen one by one", test_passes);
  g_test_add_func ("/manners/each view says how to read it", test_help);
  g_test_add_func ("/manners/the help of a view is whole", test_help_is_whole);
  g_test_add_func ("/manners/tooltips have lines", test_tips);
  g_test_add_func ("/manners/menus have few entries that do nothing", test_menus);
  g_test_add_func ("/manners/steps that were not checked can be", test_unchecked);
  g_test_add_func ("/manners/all nodes are in a table", test_nodes);
  g_test_add_func ("/manners/breakpoints mean something", test_breakpoints);
  g_test_add_func ("/manners/recent files are graphs", test_recent);
  return run_window_tests ();
}
