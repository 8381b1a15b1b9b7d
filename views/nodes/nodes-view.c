/* A table of all nodes, those in branches, loops and functions too: the graph for who does not see its
 * picture, and for who wants it sorted. */
#include "config.h"

#include "core/query/query.h"
#include "core/ir/count.h"
#include "views/label.h"
#include "views/name.h"
#include "views/nodes/node-list.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/view.h"

struct _IrNodesView
{
  IrView parent;
  GtkWidget *stack, *entry, *count, *table;
  IrNodeList *nodes;
  GtkSingleSelection *selection;
  IrModel *shown; /* (nullable) */
  gboolean syncing;
};

#define IR_TYPE_NODES_VIEW (ir_nodes_view_get_type ())
G_DECLARE_FINAL_TYPE (IrNodesView, ir_nodes_view, IR, NODES_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrNodesView, ir_nodes_view, IR_TYPE_VIEW)

static const struct
{
  const char *title;
  int width; /* px; -1: what is left */
} columns[IR_N_NODE_COLUMNS] = {
  [IR_NODE_COLUMN_OPERATOR] = { "Operator", 150 }, [IR_NODE_COLUMN_NAME] = { "Name", -1 },
  [IR_NODE_COLUMN_TYPE] = { "Type", 80 },          [IR_NODE_COLUMN_SHAPE] = { "Shape", 150 },
  [IR_NODE_COLUMN_INPUTS] = { "Inputs", -1 },
};

/* -- what is shown -- */

static void
update_count (IrNodesView *self, const GError *error)
{
  const guint shown = g_list_model_get_n_items (G_LIST_MODEL (self->nodes));
  const guint all = ir_node_list_n_nodes (self->nodes);
  const gboolean part = ir_session_get_time_span_nodes (ir_view_get_session (IR_VIEW (self))) !=
                        NULL;
  g_autofree char *some = ir_count_text (shown), *total = ir_count_text (all);
  g_autofree char *text = error != NULL ? g_strdup (error->message)
                          : shown == all
                              ? g_strdup_printf ("%s nodes and constants", total)
                              : g_strdup_printf ("%s of %s%s", some, total,
                                                 part ? ", in the range of the schedule" : "");

  gtk_label_set_text (GTK_LABEL (self->count), text);
  ir_set_tip (self->count, error != NULL ? text : NULL);
  if (error != NULL)
    gtk_widget_add_css_class (self->count, "error");
  else
    gtk_widget_remove_css_class (self->count, "error");
}

/* The row of the selected node, if it is there. */
static void
sync_selection (IrNodesView *self)
{
  GListModel *rows = G_LIST_MODEL (self->selection);
  const IrNodeId node = ir_session_get_selected_node (ir_view_get_session (IR_VIEW (self)));
  g_autoptr (IrNodeRow) now = NULL;
  guint position = GTK_INVALID_LIST_POSITION;
  GtkWidget *list;

  now = g_list_model_get_item (rows, gtk_single_selection_get_selected (self->selection));
  if (node == (now != NULL ? ir_node_row_get_node (now) : 0))
    return;
  for (guint i = 0; node != 0 && i < g_list_model_get_n_items (rows); i++)
    {
      g_autoptr (IrNodeRow) row = g_list_model_get_item (rows, i);

      if (ir_node_row_get_node (row) != node)
        continue;
      position = i;
      break;
    }
  self->syncing = TRUE;
  gtk_single_selection_set_selected (self->selection, position);
  self->syncing = FALSE;
  list = gtk_widget_get_last_child (self->table);
  if (position != GTK_INVALID_LIST_POSITION && list != NULL)
    gtk_widget_activate_action (list, "list.scroll-to-item", "u", position);
}

static void
load (IrNodesView *self)
{
  const IrFrame *frame = ir_session_get_frame (ir_view_get_session (IR_VIEW (self)));
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&self->shown, ir_model_unref);
  self->shown = frame != NULL ? ir_model_ref (frame->model) : NULL;
  self->syncing = TRUE;
  ir_node_list_load (self->nodes, self->shown, gtk_editable_get_text (GTK_EDITABLE (self->entry)),
                     ir_session_get_time_span_nodes (ir_view_get_session (IR_VIEW (self))), &error);
  gtk_single_selection_set_selected (self->selection, GTK_INVALID_LIST_POSITION);
  self->syncing = FALSE;
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), frame != NULL ? "nodes" : "closed");
  update_count (self, error);
  sync_selection (self);
}

static void
ir_nodes_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrNodesView *self = IR_NODES_VIEW (view);
  const IrFrame *frame = ir_session_get_frame (ir_view_get_session (view));

  if (changes & IR_CHANGED_TIME_SPAN || (changes & (IR_CHANGED_FRAME | IR_CHANGED_FILE) &&
                                         (frame == NULL || frame->model != self->shown)))
    load (self);
  else if (changes & IR_CHANGED_SELECTION)
    sync_selection (self);
}

/* -- choosing -- */

static IrNodeId
node_at (IrNodesView *self, guint position)
{
  g_autoptr (IrNodeRow) row = g_list_model_get_item (G_LIST_MODEL (self->selection), position);

  return row != NULL ? ir_node_row_get_node (row) : 0;
}

static void
on_selected (IrNodesView *self)
{
  const guint position = gtk_single_selection_get_selected (self->selection);
  IrSession *session = ir_view_get_session (IR_VIEW (self));

  if (self->syncing || position == GTK_INVALID_LIST_POSITION)
    return;
  ir_session_select_value (session, 0);
  ir_session_select_node (session, node_at (self, position));
}

/* Enter, or a double click: to its place in the picture. */
static void
on_activate (GtkColumnView *table, guint position, IrNodesView *self)
{
  ir_session_select_node (ir_view_get_session (IR_VIEW (self)), node_at (self, position));
  gtk_widget_activate_action (GTK_WIDGET (self), "win.view", "s", "show-selected");
}

static void
on_filter (IrNodesView *self)
{
  load (self);
}

static void
on_filter_done (IrNodesView *self)
{
  gtk_widget_child_focus (self->table, GTK_DIR_TAB_FORWARD);
}

/* Tab would go from row to row, through all of them. */
static gboolean
on_table_key (GtkEventControllerKey *controller,
              guint key,
              guint code,
              GdkModifierType state,
              GtkWidget *table)
{
  GtkRoot *root = gtk_widget_get_root (table);
  GtkWidget *view = gtk_widget_get_ancestor (table, IR_TYPE_VIEW);
  const gboolean back = key == GDK_KEY_ISO_Left_Tab || (state & GDK_SHIFT_MASK) != 0;

  if (key != GDK_KEY_Tab && key != GDK_KEY_ISO_Left_Tab)
    return FALSE;
  if (back)
    gtk_widget_grab_focus (IR_NODES_VIEW (view)->entry);
  else
    gtk_widget_activate_action (GTK_WIDGET (root), "win.next-pane", NULL);
  return TRUE;
}

/* -- building -- */

static void
setup_cell (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_list_item_set_child (item, label);
}

static void
bind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer column)
{
  g_autofree char *text = ir_node_row_text (gtk_list_item_get_item (item),
                                            GPOINTER_TO_UINT (column));
  GtkWidget *label = gtk_list_item_get_child (item);

  gtk_label_set_text (GTK_LABEL (label), text);
  ir_set_tip (label, text);
  ir_name_row (label);
}

static int
compare (gconstpointer a, gconstpointer b, gpointer column)
{
  return ir_node_row_compare ((IrNodeRow *) a, (IrNodeRow *) b, GPOINTER_TO_UINT (column));
}

static void
add_column (IrNodesView *self, IrNodeColumn which)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  g_autoptr (GtkSorter)
      sorter = GTK_SORTER (gtk_custom_sorter_new (compare, GUINT_TO_POINTER (which), NULL));
  g_autoptr (GtkColumnViewColumn) column = NULL;

  g_signal_connect (factory, "setup", G_CALLBACK (setup_cell), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cell), GUINT_TO_POINTER (which));
  column = gtk_column_view_column_new (columns[which].title, factory);
  gtk_column_view_column_set_sorter (column, sorter);
  gtk_column_view_column_set_resizable (column, TRUE);
  if (columns[which].width < 0)
    gtk_column_view_column_set_expand (column, TRUE);
  else
    gtk_column_view_column_set_fixed_width (column, columns[which].width);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (self->table), column);
}

static GtkWidget *
make_table (IrNodesView *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();
  GtkWidget *scroller = gtk_scrolled_window_new ();
  GtkSortListModel *sorted;

  self->table = gtk_column_view_new (NULL);
  for (IrNodeColumn i = 0; i < IR_N_NODE_COLUMNS; i++)
    add_column (self, i);
  sorted = gtk_sort_list_model_new (
      g_object_ref (G_LIST_MODEL (self->nodes)),
      g_object_ref (gtk_column_view_get_sorter (GTK_COLUMN_VIEW (self->table))));
  self->selection = gtk_single_selection_new (G_LIST_MODEL (sorted));
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->table), GTK_SELECTION_MODEL (self->selection));
  ir_name (self->table, "Nodes");
  gtk_widget_add_css_class (self->table, "data-table");
  g_signal_connect_object (self->selection, "notify::selected", G_CALLBACK (on_selected), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect (self->table, "activate", G_CALLBACK (on_activate), self);
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_table_key), self->table);
  gtk_widget_add_controller (self->table, keys);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->table);
  gtk_widget_set_vexpand (scroller, TRUE);
  return scroller;
}

static GtkWidget *
make_bar (IrNodesView *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);

  self->entry = gtk_search_entry_new ();
  g_object_set (self->entry, "placeholder-text", "Filter: conv, shape:*,64,*,*, cost>1M", NULL);
  gtk_widget_set_tooltip_text (self->entry, ir_query_help ());
  gtk_widget_set_hexpand (self->entry, TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Filter nodes", -1);
  g_signal_connect_swapped (self->entry, "search-changed", G_CALLBACK (on_filter), self);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (on_filter_done), self);
  self->count = gtk_label_new (NULL);
  gtk_label_set_ellipsize (GTK_LABEL (self->count), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign (GTK_LABEL (self->count), 1);
  gtk_widget_add_css_class (self->count, "numeric");
  gtk_widget_add_css_class (self->count, "dim-label");
  gtk_box_append (GTK_BOX (bar), self->entry);
  gtk_box_append (GTK_BOX (bar), self->count);
  gtk_widget_add_css_class (bar, "view-toolbar");
  return bar;
}

static void
ir_nodes_view_focus_content (IrView *view)
{
  gtk_widget_grab_focus (IR_NODES_VIEW (view)->entry);
}

static void
ir_nodes_view_dispose (GObject *object)
{
  IrNodesView *self = IR_NODES_VIEW (object);

  g_clear_pointer (&self->shown, ir_model_unref);
  g_clear_object (&self->nodes);
  G_OBJECT_CLASS (ir_nodes_view_parent_class)->dispose (object);
}

static void
ir_nodes_view_class_init (IrNodesViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_nodes_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_nodes_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_nodes_view_focus_content;
}

static void
ir_nodes_view_init (IrNodesView *self)
{
  GtkWidget *content = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  self->nodes = ir_node_list_new ();
  gtk_box_append (GTK_BOX (content), make_bar (self));
  gtk_box_append (GTK_BOX (content), make_table (self));
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("view-list-symbolic", "No Graph",
                                           "Open a graph to see its nodes in a table.", "win.open",
                                           "Open…"),
                       "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), content, "nodes");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_nodes = {
  .id = "nodes",
  .title = "Nodes",
  .icon_name = "view-list-symbolic",
  .doc = "A table of all nodes, to sort and to filter.",
  .help = "Every node of the graph on screen, also in branches, loops and functions. A click on a "
          "title sorts, Enter brings the node into sight. Type and shape are those of the first "
          "output.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_nodes_view_get_type,
};
