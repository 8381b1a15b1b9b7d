#include "config.h"

#include "views/graph/search-panel.h"

#include "core/ir/count.h"
#include "views/graph/search.h"
#include "views/label.h"
#include "views/name.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#define LIST_HEIGHT 300 /* px, at most */

struct _IrSearchPanel
{
  GtkBox parent_instance;

  IrSession *session; /* referenced */
  GtkSearchEntry *entry;
  GtkLabel *label;
  GtkWidget *scrolled;
  GtkListView *list;
  GtkSingleSelection *hits;
  char *searched;   /* (nullable) what the hits are of */
  char *wanted;     /* (nullable) to be found in the frame that is on its way */
  gboolean filling; /* the selection moves because the list does */
};

enum
{
  CHOSEN,
  STOPPED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (IrSearchPanel, ir_search_panel, GTK_TYPE_BOX)

static const char *
entry_text (IrSearchPanel *self)
{
  return gtk_editable_get_text (GTK_EDITABLE (self->entry));
}

static guint
n_hits (IrSearchPanel *self)
{
  return g_list_model_get_n_items (G_LIST_MODEL (self->hits));
}

static void
update_label (IrSearchPanel *self, const char *problem)
{
  g_autofree char *hit = NULL, *n = NULL, *text = NULL;

  if (problem != NULL)
    text = g_strdup (problem);
  else if (n_hits (self) > 0)
    {
      hit = ir_count_text (gtk_single_selection_get_selected (self->hits) + 1);
      n = ir_count_text (n_hits (self));
      text = g_strdup_printf ("%s of %s", hit, n);
    }
  else
    text = g_strdup (entry_text (self)[0] != '\0' ? "Nothing found, nor in closed groups" : "");
  gtk_label_set_text (self->label, text);
  ir_set_tip (GTK_WIDGET (self->label), problem);
}

/* While one types nothing is opened: only what is drawn already is selected. */
static void
show_hit (IrSearchPanel *self, gboolean chosen)
{
  const IrFrame *frame = ir_session_get_frame (self->session);
  const IrFound *found = gtk_single_selection_get_selected_item (self->hits);

  update_label (self, NULL);
  if (found == NULL || frame == NULL)
    return;
  if (found->node == 0)
    {
      ir_session_select_node (self->session, 0);
      ir_session_select_value (self->session, found->value);
    }
  else if (chosen)
    ir_session_show_node (self->session, found->node);
  else if (ir_frame_find_box (frame, found->node) >= 0)
    ir_session_select_node (self->session, found->node);
  else
    return;
  g_signal_emit (self, signals[CHOSEN], 0, chosen);
}

static void
find_hits (IrSearchPanel *self, const char *text)
{
  const IrFrame *frame = ir_session_get_frame (self->session);
  g_autoptr (GError) error = NULL;
  g_autoptr (GListStore)
      found = frame != NULL ? ir_search_frame (self->session, frame, text, &error) : NULL;

  self->filling = TRUE;
  gtk_single_selection_set_model (self->hits, G_LIST_MODEL (found));
  self->filling = FALSE;
  gtk_widget_set_visible (self->scrolled, n_hits (self) > 0);
  g_free (self->searched);
  self->searched = g_strdup (text);
  update_label (self, error != NULL ? error->message : NULL);
}

static void
on_changed (IrSearchPanel *self)
{
  find_hits (self, entry_text (self));
  if (n_hits (self) > 0)
    show_hit (self, FALSE);
}

static void
stop (IrSearchPanel *self)
{
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  g_signal_emit (self, signals[STOPPED], 0);
}

/* From its buttons and its list, too; the entry has the key by itself. */
static gboolean
on_escape (GtkWidget *widget, GVariant *arguments, gpointer data)
{
  stop (IR_SEARCH_PANEL (widget));
  return GDK_EVENT_STOP;
}

/* At once: the entry tells only after a while what was typed. */
static void
on_activate (IrSearchPanel *self)
{
  const IrFrame *frame = ir_session_get_frame (self->session);

  if (frame != NULL && frame->to != ir_session_get_cursor (self->session))
    {
      g_free (self->wanted);
      self->wanted = g_strdup (entry_text (self));
    }
  else
    {
      if (g_strcmp0 (self->searched, entry_text (self)) != 0)
        find_hits (self, entry_text (self));
      show_hit (self, TRUE);
    }
  stop (self);
}

static void
on_row (IrSearchPanel *self, guint position)
{
  gtk_single_selection_set_selected (self->hits, position);
  show_hit (self, TRUE);
}

static void
on_selected (IrSearchPanel *self)
{
  if (!self->filling && n_hits (self) > 0)
    show_hit (self, TRUE);
}

/* The frame is another: hits are those of the new one; what was searched for meanwhile is found. */
void
ir_search_panel_frame_changed (IrSearchPanel *self)
{
  const IrFrame *frame = ir_session_get_frame (self->session);

  if (self->wanted != NULL && frame != NULL && frame->to == ir_session_get_cursor (self->session))
    {
      g_autofree char *wanted = g_steal_pointer (&self->wanted);

      find_hits (self, wanted);
      show_hit (self, TRUE);
    }
  else if (gtk_widget_get_visible (GTK_WIDGET (self)))
    {
      const guint selected = gtk_single_selection_get_selected (self->hits);

      find_hits (self, entry_text (self));
      self->filling = TRUE;
      if (selected < n_hits (self))
        gtk_single_selection_set_selected (self->hits, selected);
      self->filling = FALSE;
      update_label (self, NULL);
    }
}

void
ir_search_panel_open (IrSearchPanel *self)
{
  g_clear_pointer (&self->wanted, g_free);
  gtk_widget_set_visible (GTK_WIDGET (self), TRUE);
  gtk_widget_grab_focus (GTK_WIDGET (self->entry));
  gtk_editable_select_region (GTK_EDITABLE (self->entry), 0, -1);
}

void
ir_search_panel_move (IrSearchPanel *self, int by)
{
  const guint n = n_hits (self);
  guint selected = gtk_single_selection_get_selected (self->hits);

  if (n == 0)
    return;
  selected = (selected + n + (guint) by) % n;
  if (selected != gtk_single_selection_get_selected (self->hits))
    gtk_single_selection_set_selected (self->hits, selected);
  else
    show_hit (self, TRUE);
  gtk_widget_activate_action (GTK_WIDGET (self->list), "list.scroll-to-item", "u", selected);
}

/* Up and down move in the list while the entry has the focus. */
static gboolean
on_key (IrSearchPanel *self, guint keyval, guint keycode, GdkModifierType state)
{
  if (keyval != GDK_KEY_Up && keyval != GDK_KEY_Down)
    return GDK_EVENT_PROPAGATE;
  ir_search_panel_move (self, keyval == GDK_KEY_Down ? 1 : -1);
  return GDK_EVENT_STOP;
}

/* -- rows -- */

#define NAME_CHARS 26 /* of a node's name, that a long shape leaves */

static GtkWidget *
row_label (const char *class_name, PangoEllipsizeMode ellipsize)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), ellipsize);
  gtk_widget_add_css_class (label, "caption");
  if (class_name != NULL)
    gtk_widget_add_css_class (label, class_name);
  return label;
}

static void
on_setup (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);

  GtkWidget *name = row_label (NULL, PANGO_ELLIPSIZE_MIDDLE);

  gtk_label_set_width_chars (GTK_LABEL (name), NAME_CHARS);
  gtk_widget_set_hexpand (name, TRUE);
  gtk_box_append (GTK_BOX (box), row_label ("heading", PANGO_ELLIPSIZE_NONE));
  gtk_box_append (GTK_BOX (box), name);
  gtk_box_append (GTK_BOX (box), row_label ("dim-label", PANGO_ELLIPSIZE_END));
  gtk_list_item_set_child (item, box);
}

static void
on_bind (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  const IrFound *found = gtk_list_item_get_item (item);
  GtkWidget *title = gtk_widget_get_first_child (gtk_list_item_get_child (item));
  GtkWidget *name = gtk_widget_get_next_sibling (title);
  GtkWidget *shape = gtk_widget_get_next_sibling (name);
  g_autofree char *tip = g_strdup_printf ("%s %s\n%s", found->title, found->name, found->shape);

  gtk_label_set_text (GTK_LABEL (title), found->title);
  gtk_label_set_text (GTK_LABEL (name), found->name);
  gtk_label_set_text (GTK_LABEL (shape), found->shape);
  ir_set_tip (gtk_list_item_get_child (item), tip);
  ir_name_row (gtk_list_item_get_child (item));
}

static GtkWidget *
build_list (IrSearchPanel *self)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkWidget *scrolled = gtk_scrolled_window_new ();

  g_signal_connect (factory, "setup", G_CALLBACK (on_setup), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (on_bind), NULL);
  self->hits = gtk_single_selection_new (NULL);
  g_signal_connect_object (self->hits, "notify::selected", G_CALLBACK (on_selected), self,
                           G_CONNECT_SWAPPED);
  self->list = GTK_LIST_VIEW (
      gtk_list_view_new (GTK_SELECTION_MODEL (g_object_ref (self->hits)), factory));
  gtk_list_view_set_single_click_activate (self->list, TRUE);
  gtk_widget_add_css_class (GTK_WIDGET (self->list), "found");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Found", -1);
  g_signal_connect_swapped (self->list, "activate", G_CALLBACK (on_row), self);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scrolled), LIST_HEIGHT);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scrolled), TRUE);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), GTK_WIDGET (self->list));
  gtk_widget_set_visible (scrolled, FALSE);
  self->scrolled = scrolled;
  return scrolled;
}

/* -- building -- */

static GtkWidget *
help_button (void)
{
  GtkWidget *button = gtk_menu_button_new (), *popover = gtk_popover_new ();
  GtkWidget *grid = gtk_grid_new ();
  g_auto (GStrv) lines = g_strsplit (ir_query_help (), "\n", -1);

  gtk_grid_set_column_spacing (GTK_GRID (grid), 18);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 4);
  for (int i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (lines[i], "\t", 2);
      GtkWidget *what = row_label ("monospace", FALSE), *means = row_label ("dim-label", FALSE);

      gtk_label_set_text (GTK_LABEL (what), parts[0]);
      gtk_label_set_text (GTK_LABEL (means), parts[1]);
      gtk_grid_attach (GTK_GRID (grid), what, 0, i, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), means, 1, i, 1, 1);
    }
  gtk_popover_set_child (GTK_POPOVER (popover), grid);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (button), popover);
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "help-about-symbolic");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, "What can be asked");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "What can be asked", -1);
  return button;
}

/* -- what is found, as a filter or a colour -- */

static void
use_query (IrSearchPanel *self, IrRuleEffect effect, guint colour)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrQuery) query = ir_query_new (entry_text (self), &error);

  if (query == NULL)
    update_label (self, error->message);
  else if (!ir_query_is_empty (query))
    ir_session_add_rule (self->session, entry_text (self), effect, colour);
}

static void
activate_filter (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  use_query (user_data,
             g_strcmp0 (g_action_get_name (G_ACTION (action)), "only") == 0 ? IR_RULE_ONLY
                                                                            : IR_RULE_DIM,
             0);
}

static void
activate_colour (GSimpleAction *action, GVariant *name, gpointer user_data)
{
  use_query (user_data, IR_RULE_COLOUR, ir_rule_colour_find (g_variant_get_string (name, NULL)));
}

static GtkWidget *
use_button (IrSearchPanel *self)
{
  static const GActionEntry entries[] = { { "only", activate_filter },
                                          { "highlight", activate_filter },
                                          { "colour", activate_colour, "s" } };
  GtkWidget *button = gtk_menu_button_new ();
  g_autoptr (GMenu) menu = g_menu_new (), colours = g_menu_new ();
  g_autoptr (GSimpleActionGroup) group = g_simple_action_group_new ();

  g_action_map_add_action_entries (G_ACTION_MAP (group), entries, G_N_ELEMENTS (entries), self);
  gtk_widget_insert_action_group (GTK_WIDGET (self), "found", G_ACTION_GROUP (group));
  g_menu_append (menu, "Show Only What Is Found", "found.only");
  g_menu_append (menu, "Highlight What Is Found", "found.highlight");
  for (guint i = 1; i <= IR_SCALE_CLASSES; i++)
    {
      g_autofree char *title = g_strdup (ir_rule_colour_name (i));
      g_autofree char *action = g_strdup_printf ("found.colour::%s", title);

      title[0] = g_ascii_toupper (title[0]);
      g_menu_append (colours, title, action);
    }
  g_menu_append_submenu (menu, "Colour What Is Found", G_MENU_MODEL (colours));
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "view-more-symbolic");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, "Filter or colour the picture by what is found");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Filter or colour the picture", -1);
  return button;
}

static GtkWidget *
icon_button (IrSearchPanel *self, const char *icon, const char *tip, GCallback clicked)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_add_css_class (button, "flat");
  ir_set_tip (button, tip);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, tip, -1);
  g_signal_connect_swapped (button, "clicked", clicked, self);
  return button;
}

static void
on_previous (IrSearchPanel *self)
{
  ir_search_panel_move (self, -1);
}

static void
on_next (IrSearchPanel *self)
{
  ir_search_panel_move (self, 1);
}

static GtkWidget *
build_bar (IrSearchPanel *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 2);
  GtkWidget *entry = gtk_search_entry_new ();
  GtkEventController *keys = gtk_event_controller_key_new ();

  gtk_widget_set_hexpand (entry, TRUE);
  g_object_set (entry, "placeholder-text", "Name, operator, shape:, cost> …", NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Find a node", -1);
  g_signal_connect_object (entry, "search-changed", G_CALLBACK (on_changed), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_swapped (entry, "activate", G_CALLBACK (on_activate), self);
  g_signal_connect_swapped (entry, "stop-search", G_CALLBACK (stop), self);
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect_swapped (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (entry, keys);
  gtk_widget_add_css_class (bar, "search-bar");
  self->entry = GTK_SEARCH_ENTRY (entry);
  self->label = GTK_LABEL (gtk_label_new (NULL));
  gtk_label_set_width_chars (self->label, 13);
  gtk_label_set_max_width_chars (self->label, 20);
  gtk_label_set_ellipsize (self->label, PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (GTK_WIDGET (self->label), "dim-label");
  gtk_widget_add_css_class (GTK_WIDGET (self->label), "caption");
  gtk_widget_add_css_class (GTK_WIDGET (self->label), "numeric");
  gtk_box_append (GTK_BOX (bar), entry);
  gtk_box_append (GTK_BOX (bar), GTK_WIDGET (self->label));
  gtk_box_append (GTK_BOX (bar), icon_button (self, "go-up-symbolic", "Previous hit (Ctrl+Shift+G)",
                                              G_CALLBACK (on_previous)));
  gtk_box_append (GTK_BOX (bar), icon_button (self, "go-down-symbolic", "Next hit (Ctrl+G)",
                                              G_CALLBACK (on_next)));
  gtk_box_append (GTK_BOX (bar), use_button (self));
  gtk_box_append (GTK_BOX (bar), help_button ());
  gtk_box_append (GTK_BOX (bar),
                  icon_button (self, "window-close-symbolic", "Close (Escape)", G_CALLBACK (stop)));
  return bar;
}

static void
ir_search_panel_dispose (GObject *object)
{
  IrSearchPanel *self = IR_SEARCH_PANEL (object);

  g_clear_object (&self->hits);
  g_clear_object (&self->session);
  g_clear_pointer (&self->searched, g_free);
  g_clear_pointer (&self->wanted, g_free);
  G_OBJECT_CLASS (ir_search_panel_parent_class)->dispose (object);
}

static void
ir_search_panel_class_init (IrSearchPanelClass *klass)
{
  gtk_widget_class_add_binding (GTK_WIDGET_CLASS (klass), GDK_KEY_Escape, 0, on_escape, NULL);
  G_OBJECT_CLASS (klass)->dispose = ir_search_panel_dispose;
  signals[CHOSEN] = g_signal_new ("chosen", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                  NULL, NULL, G_TYPE_NONE, 1, G_TYPE_BOOLEAN);
  signals[STOPPED] = g_signal_new ("stopped", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                   NULL, NULL, G_TYPE_NONE, 0);
}

static void
ir_search_panel_init (IrSearchPanel *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
  gtk_box_append (GTK_BOX (self), build_bar (self));
  gtk_box_append (GTK_BOX (self), build_list (self));
  gtk_widget_add_css_class (GTK_WIDGET (self), "canvas-note");
  gtk_widget_set_size_request (GTK_WIDGET (self), 300, -1);
  gtk_widget_set_halign (GTK_WIDGET (self), GTK_ALIGN_START);
  gtk_widget_set_valign (GTK_WIDGET (self), GTK_ALIGN_START);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
}

GtkWidget *
ir_search_panel_new (IrSession *session)
{
  IrSearchPanel *self = g_object_new (IR_TYPE_SEARCH_PANEL, NULL);

  self->session = g_object_ref (session);
  return GTK_WIDGET (self);
}
