#include "config.h"

#include "views/graph/parts.h"

#include "core/query/query.h"
#include "views/graph/reach.h"
#include "views/session/frame.h"
#include "views/session/kept.h"
#include "views/session/selection.h"

/* -- what is selected -- */

static IrSession *
session (gpointer view)
{
  return ir_view_get_session (IR_VIEW (view));
}

static const IrNode *
selected_node (gpointer view)
{
  const IrFrame *frame = ir_session_get_frame (session (view));

  return frame != NULL ? ir_frame_node (frame, ir_session_get_selected_node (session (view)))
                       : NULL;
}

/* The graph that the selected node owns, or that it calls. (nullable) */
static const IrGraph *
selected_body (gpointer view, guint index)
{
  const IrNode *node = selected_node (view);

  return node != NULL ? ir_scene_node_body (node, index) : NULL;
}

static char *
fold_of (const IrNode *node)
{
  return g_strdup_printf ("node:%u", node->id);
}

static gboolean
is_beside (gpointer view, const IrNode *node)
{
  g_autofree char *fold = fold_of (node);

  return g_hash_table_contains (ir_session_get_look (session (view))->beside, fold);
}

/* -- graphs of nodes -- */

static void
enter (GtkWidget *widget, guint index)
{
  const IrGraph *graph = selected_body (widget, index);
  g_autofree char *root = graph != NULL ? ir_scene_graph_root (graph) : NULL;

  if (root != NULL)
    ir_session_enter (session (widget), root);
}

static void
activate_enter (GtkWidget *widget, const char *name, GVariant *parameter)
{
  enter (widget, 0);
}

static void
activate_enter_second (GtkWidget *widget, const char *name, GVariant *parameter)
{
  enter (widget, 1);
}

/* One graph up; what was entered is selected then. */
static void
activate_leave (GtkWidget *widget, const char *name, GVariant *parameter)
{
  const IrFrame *frame = ir_session_get_frame (session (widget));
  const IrLook *look = ir_session_get_look (session (widget));
  const IrGraph *graph = frame != NULL ? ir_scene_find_root (frame->model, look->root) : NULL;
  const IrNode *owner = graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH
                            ? ir_model_live_node (graph->model, graph->owner)
                            : NULL;
  g_autofree char *root = owner != NULL ? ir_scene_graph_root (owner->graph) : NULL;

  ir_session_enter (session (widget), root);
  if (owner != NULL)
    ir_session_select_node (session (widget), owner->id);
}

static void
activate_beside (GtkWidget *widget, const char *name, GVariant *parameter)
{
  const IrNode *node = selected_node (widget);
  g_autofree char *fold = node != NULL ? fold_of (node) : NULL;

  if (fold != NULL)
    ir_session_set_beside (session (widget), fold, !is_beside (widget, node));
}

/* -- the selection alone, and what it grows by -- */

static GHashTable *
selected_ids (gpointer view)
{
  GHashTable *ids = g_hash_table_new (NULL, NULL);
  GtkBitsetIter iter;
  guint id;

  for (gboolean more =
           gtk_bitset_iter_init_first (&iter, ir_session_get_selection (session (view)), &id);
       more; more = gtk_bitset_iter_next (&iter, &id))
    g_hash_table_add (ids, GUINT_TO_POINTER (id & ~IR_OTHER_SIDE));
  return ids;
}

static void
activate_show_only (GtkWidget *widget, const char *name, GVariant *parameter)
{
  g_autoptr (GHashTable) ids = selected_ids (widget);

  if (g_hash_table_size (ids) > 0)
    ir_session_show_only (session (widget), ids);
}

static void
activate_show_all (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_session_show_only (session (widget), NULL);
}

/* From what is selected of what is shown, else from all of it, one node further. */
static void
grow (GtkWidget *widget, IrReach direction)
{
  const IrFrame *frame = ir_session_get_frame (session (widget));
  GHashTable *shown = ir_session_get_look (session (widget))->nodes;
  g_autoptr (GHashTable) start = selected_ids (widget), reached = NULL;
  g_autoptr (GArray) from = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  GHashTableIter iter;
  gpointer id;

  if (frame == NULL)
    return;
  g_hash_table_iter_init (&iter, g_hash_table_size (start) > 0 || shown == NULL ? start : shown);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      const IrNodeId node = GPOINTER_TO_UINT (id);

      g_array_append_val (from, node);
    }
  reached = ir_reach (frame->model, (const IrNodeId *) (void *) from->data, from->len, direction,
                      1);
  if (shown != NULL)
    {
      g_hash_table_iter_init (&iter, shown);
      while (g_hash_table_iter_next (&iter, &id, NULL))
        g_hash_table_add (reached, id);
    }
  if (g_hash_table_size (reached) > 0)
    ir_session_show_only (session (widget), reached);
}

static void
activate_show_inputs (GtkWidget *widget, const char *name, GVariant *parameter)
{
  grow (widget, IR_REACH_INPUTS);
}

static void
activate_show_outputs (GtkWidget *widget, const char *name, GVariant *parameter)
{
  grow (widget, IR_REACH_OUTPUTS);
}

/* -- views that are kept -- */

#define KEY "graph-parts" /* of the view's data: its canvas */

static IrKeptView
place_of (IrCanvas *canvas)
{
  const IrLayoutRect sight = ir_canvas_get_sight (canvas);

  return (IrKeptView){ .zoom = ir_canvas_get_zoom (canvas),
                       .x = sight.x + sight.width / 2,
                       .y = sight.y + sight.height / 2,
                       .width = sight.width,
                       .height = sight.height };
}

static void
activate_keep (GtkWidget *widget, const char *name, GVariant *number)
{
  const IrKeptView place = place_of (g_object_get_data (G_OBJECT (widget), KEY));

  if (ir_session_get_frame (session (widget)) != NULL)
    ir_session_keep_view (session (widget), (guint) g_variant_get_int32 (number), &place);
}

/* The session says where one was, and is told. */
static void
on_moved (IrCanvas *canvas, GtkWidget *view)
{
  const IrKeptView place = place_of (canvas);

  if (place.width > 0 && ir_session_get_frame (session (view)) != NULL)
    ir_session_note_sight (session (view), &place);
}

/* Once the picture is there that the place is one of. */
void
ir_parts_go_where_wanted (IrView *view)
{
  IrSession *own = ir_view_get_session (view);
  const IrFrame *frame = ir_session_get_frame (own);
  IrKeptView place;

  if (frame != NULL && frame->serial == ir_session_get_picture_serial (own) &&
      ir_session_take_wanted_sight (own, &place))
    ir_canvas_go_to (g_object_get_data (G_OBJECT (view), KEY), place.zoom, place.x, place.y);
}

static void
activate_show_kept (GtkWidget *widget, const char *name, GVariant *number)
{
  IrCanvas *canvas = g_object_get_data (G_OBJECT (widget), KEY);
  const IrKeptView *view;

  if (ir_session_get_frame (session (widget)) == NULL)
    return;
  view = ir_session_show_kept (session (widget), (guint) g_variant_get_int32 (number));
  if (view != NULL)
    ir_canvas_go_with_next_frame (canvas, view->zoom, view->x, view->y);
}

static void
add_number_keys (GtkEventController *controller)
{
  for (gint i = 1; i <= IR_N_KEPT; i++)
    for (guint keep = 0; keep < 2; keep++)
      {
        g_autofree char *trigger = g_strdup_printf ("%s%d", keep ? "<Control>" : "", i);
        GtkShortcut *shortcut = gtk_shortcut_new (
            gtk_shortcut_trigger_parse_string (trigger),
            gtk_named_action_new (keep ? "view.keep" : "view.show-kept"));

        gtk_shortcut_set_arguments (shortcut, g_variant_new_int32 (i));
        gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (controller), shortcut);
      }
}

static void
append_numbers (GMenu *menu, const char *title, const char *action, GPtrArray *kept)
{
  g_autoptr (GMenu) numbers = g_menu_new ();

  for (gint i = 1; i <= IR_N_KEPT; i++)
    {
      g_autofree char *text = g_strdup_printf ("View %d", i);
      g_autofree char *detailed = g_strdup_printf ("%s(%d)", action, i);

      if (kept == NULL || kept->pdata[i - 1] != NULL)
        g_menu_append (numbers, text, detailed);
    }
  if (g_menu_model_get_n_items (G_MENU_MODEL (numbers)) > 0)
    g_menu_append_submenu (menu, title, G_MENU_MODEL (numbers));
}

/* -- one row each -- */

static gboolean
can_enter (gpointer view)
{
  return selected_body (view, 0) != NULL;
}

static gboolean
can_enter_second (gpointer view)
{
  const IrNode *node = selected_node (view);

  return node != NULL && node->op != NULL && selected_body (view, 1) != NULL;
}

static gboolean
can_leave (gpointer view)
{
  return ir_session_get_look (session (view))->root != NULL;
}

static gboolean
has_selection (gpointer view)
{
  return !gtk_bitset_is_empty (ir_session_get_selection (session (view)));
}

static gboolean
shows_part (gpointer view)
{
  return ir_session_get_look (session (view))->nodes != NULL;
}

static gboolean
can_grow (gpointer view)
{
  return has_selection (view) || shows_part (view);
}

#define N_OF_GRAPHS 4 /* rows that are about graphs of nodes, first */

static const struct
{
  const char *name, *title, *keys[2];
  GtkWidgetActionActivateFunc activate;
  gboolean (*is_possible) (gpointer view);
} rows[] = {
  { "view.enter", "Enter Its Graph", { "e", "<Alt>Down" }, activate_enter, can_enter },
  { "view.enter-second",
    "Enter Its Second Graph",
    { "<Shift>e" },
    activate_enter_second,
    can_enter_second },
  { "view.leave", "Leave This Graph", { "<Alt>Up" }, activate_leave, can_leave },
  { "view.beside", "Show Its Graphs Beside", { "g" }, activate_beside, can_enter },
  { "view.show-only", "Show Only the Selection", { "s" }, activate_show_only, has_selection },
  { "view.show-inputs", "Show Only, Grown by Inputs", { "comma" }, activate_show_inputs, can_grow },
  { "view.show-outputs",
    "Show Only, Grown by Outputs",
    { "period" },
    activate_show_outputs,
    can_grow },
  { "view.show-all", "Show All Nodes", { "<Shift>s" }, activate_show_all, shows_part },
};

void
ir_parts_install_actions (GtkWidgetClass *klass)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    gtk_widget_class_install_action (klass, rows[i].name, NULL, rows[i].activate);
  gtk_widget_class_install_action (klass, "view.keep", "i", activate_keep);
  gtk_widget_class_install_action (klass, "view.show-kept", "i", activate_show_kept);
}

/* Keys work in @widget; places are those of @canvas. */
void
ir_parts_attach (IrView *view, IrCanvas *canvas, GtkWidget *widget)
{
  GtkEventController *controller = gtk_shortcut_controller_new ();

  g_object_set_data (G_OBJECT (view), KEY, canvas);
  g_signal_connect_object (canvas, "moved", G_CALLBACK (on_moved), view, 0);
  add_number_keys (controller);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (guint k = 0; k < G_N_ELEMENTS (rows[i].keys) && rows[i].keys[k] != NULL; k++)
      gtk_shortcut_controller_add_shortcut (
          GTK_SHORTCUT_CONTROLLER (controller),
          gtk_shortcut_new (gtk_shortcut_trigger_parse_string (rows[i].keys[k]),
                            gtk_named_action_new (rows[i].name)));
  gtk_widget_add_controller (widget, controller);
}

/* @graphs gets what leads into graphs of the node and out of them, @view what is shown of the graph. */
void
ir_parts_append_menus (IrView *view, GMenu *graphs, GMenu *view_menu)
{
  g_autoptr (GMenu) show = g_menu_new ();

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GMenuItem) item = NULL;

      if (!rows[i].is_possible (view))
        continue;
      item = g_menu_item_new (rows[i].title, rows[i].name);
      g_menu_item_set_attribute (item, "accel", "s", rows[i].keys[0]);
      g_menu_append_item (i < N_OF_GRAPHS ? graphs : show, item);
    }
  append_numbers (show, "Keep This View", "view.keep", NULL);
  append_numbers (show, "Show Kept View", "view.show-kept", ir_session_get_kept (session (view)));
  g_menu_append_section (view_menu, NULL, G_MENU_MODEL (show));
}

void
ir_parts_update_actions (IrView *view)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    ir_view_enable_action (view, rows[i].name, rows[i].is_possible (view));
}
