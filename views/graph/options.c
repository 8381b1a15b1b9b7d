/* What the picture of the graph shows and what its colours mean: a menu. */
#include "config.h"

#include "views/graph/options.h"

#include "core/look/overlay.h"
#include "views/session/frame.h"

#define KEY "graph-options" /* of the view's data: its actions */

static const struct
{
  const char *name;
  IrShow flag;
} show_options[] = {
  { "shapes", IR_SHOW_SHAPES },     { "names", IR_SHOW_NAMES },
  { "scopes", IR_SHOW_SCOPES },     { "constants", IR_SHOW_CONSTANTS },
  { "sideways", IR_SHOW_SIDEWAYS }, { "columns", IR_SHOW_COLUMNS },
};

static void
change_show (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  gpointer view = user_data;
  IrShow show = ir_session_get_show (ir_view_get_session (view));

  for (guint i = 0; i < G_N_ELEMENTS (show_options); i++)
    if (g_strcmp0 (g_action_get_name (G_ACTION (action)), show_options[i].name) == 0)
      show = g_variant_get_boolean (value) ? show | show_options[i].flag
                                           : show & ~show_options[i].flag;
  g_simple_action_set_state (action, value);
  ir_session_set_show (ir_view_get_session (view), show);
}

/* -- numbers of a file -- */

static void
on_numbers_response (GtkNativeDialog *chooser, int response, gpointer user_data)
{
  GtkWidget *view = user_data;
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (chooser))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  if (path != NULL)
    gtk_widget_activate_action (GTK_WIDGET (view), "graph.numbers", "s", path);
  g_object_unref (chooser);
}

static void
choose_numbers (GtkWidget *view)
{
  GtkFileChooserNative *chooser = gtk_file_chooser_native_new (
      "Numbers per Node", GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (view))),
      GTK_FILE_CHOOSER_ACTION_OPEN, "_Open", "_Cancel");
  g_autoptr (GtkFileFilter) json = gtk_file_filter_new ();

  gtk_file_filter_set_name (json, "JSON");
  gtk_file_filter_add_pattern (json, "*.json");
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (chooser), json);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (chooser), TRUE);
  g_signal_connect_object (chooser, "response", G_CALLBACK (on_numbers_response), view, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

static void
activate_numbers (GSimpleAction *action, GVariant *path, gpointer user_data)
{
  gpointer view = user_data;

  if (ir_session_open_numbers (ir_view_get_session (view), g_variant_get_string (path, NULL)))
    g_simple_action_set_state (
        G_SIMPLE_ACTION (g_action_map_lookup_action (g_object_get_data (view, KEY), "overlay")),
        g_variant_new_string ("file"));
}

static void
change_scale (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  static const char *const names[] = { "auto", "linear", "log" };
  gpointer view = user_data;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_strcmp0 (g_variant_get_string (value, NULL), names[i]) == 0)
      ir_session_set_scale (ir_view_get_session (view), (IrScaleKind) i);
  g_simple_action_set_state (action, value);
}

static void
change_overlay (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  gpointer view = user_data;
  const char *id = g_variant_get_string (value, NULL);
  const IrOverlay *wanted = ir_overlay_find (id);
  g_autoptr (GVariant) now = g_action_get_state (G_ACTION (action));

  if (wanted != NULL && (wanted->needs & IR_OVERLAY_NEEDS_FILE) != 0)
    {
      choose_numbers (view);
      return;
    }
  if (wanted != NULL && wanted->kind == IR_OVERLAY_PICTURE && g_variant_equal (now, value))
    value = g_variant_new_string (id = ""); /* they are shown or not */
  g_simple_action_set_state (action, value);
  ir_session_set_overlay (ir_view_get_session (view), id[0] != '\0' ? id : NULL);
}

static void
add_actions (IrView *view)
{
  const IrShow show = ir_session_get_show (ir_view_get_session (view));
  static const GActionEntry more[] = {
    { "numbers", activate_numbers, "s", NULL, NULL },
    { "scale", NULL, "s", "'auto'", change_scale },
  };
  GSimpleAction *overlay = g_simple_action_new_stateful ("overlay", G_VARIANT_TYPE_STRING,
                                                         g_variant_new_string (""));

  GSimpleActionGroup *group = g_simple_action_group_new ();
  for (guint i = 0; i < G_N_ELEMENTS (show_options); i++)
    {
      g_autoptr (GSimpleAction) action = g_simple_action_new_stateful (
          show_options[i].name, NULL, g_variant_new_boolean ((show & show_options[i].flag) != 0));

      g_signal_connect (action, "change-state", G_CALLBACK (change_show), view);
      g_action_map_add_action (G_ACTION_MAP (group), G_ACTION (action));
    }
  g_signal_connect (overlay, "change-state", G_CALLBACK (change_overlay), view);
  g_action_map_add_action (G_ACTION_MAP (group), G_ACTION (overlay));
  g_object_unref (overlay);
  g_action_map_add_action_entries (G_ACTION_MAP (group), more, G_N_ELEMENTS (more), view);
  gtk_widget_insert_action_group (GTK_WIDGET (view), "graph", G_ACTION_GROUP (group));
  g_object_set_data_full (G_OBJECT (view), KEY, group, g_object_unref);
}

static GMenuModel *
options_menu (void)
{
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) shown = g_menu_new ();
  g_autoptr (GMenu) tints = g_menu_new (), scales = g_menu_new ();
  guint n;
  const IrOverlay *overlays = ir_overlays (&n);

  g_menu_append (shown, "Types Beside Lines", "graph.shapes");
  g_menu_append (shown, "Names of Nodes", "graph.names");
  g_menu_append (shown, "Frames of Scopes", "graph.scopes");
  g_menu_append (shown, "Constants as Boxes", "graph.constants");
  g_menu_append (shown, "Left to Right", "graph.sideways");
  g_menu_append (shown, "Long Graphs in Columns", "graph.columns");
  g_menu_append (tints, "By Kind of Operator", "graph.overlay::");
  for (guint i = 0; i < n; i++)
    {
      const gboolean picture = overlays[i].kind == IR_OVERLAY_PICTURE;
      g_autofree char *title = g_strdup_printf (picture ? "%s"
                                                : overlays[i].needs & IR_OVERLAY_NEEDS_FILE
                                                    ? "By %s…"
                                                    : "By %s",
                                                overlays[i].title);
      g_autofree char *action = g_strdup_printf ("graph.overlay::%s", overlays[i].id);

      g_menu_append (picture ? shown : tints, title, action);
    }
  g_menu_append_section (menu, "Show", G_MENU_MODEL (shown));
  g_menu_append (scales, "Scale That Suits", "graph.scale::auto");
  g_menu_append (scales, "Linear Scale", "graph.scale::linear");
  g_menu_append (scales, "Logarithmic Scale", "graph.scale::log");
  g_menu_append_submenu (tints, "Scale", G_MENU_MODEL (scales));
  g_menu_append_submenu (menu, "Colour", G_MENU_MODEL (tints));
  return G_MENU_MODEL (menu);
}

/* The menu of what the picture shows; its actions are those of @view. */
GtkWidget *
ir_options_button_new (IrView *view)
{
  GtkWidget *button = gtk_menu_button_new ();
  g_autoptr (GMenuModel) menu = options_menu ();

  add_actions (view);
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "view-more-symbolic");
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), menu);
  gtk_menu_button_set_direction (GTK_MENU_BUTTON (button), GTK_ARROW_UP);
  gtk_widget_set_tooltip_text (button, "What the picture shows");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "What the picture shows", -1);
  return button;
}
