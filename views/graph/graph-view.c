/* The graph: the canvas with what belongs around it: search bar, caption of the step, legend of the
 * diff, zoom buttons and the menu of what the picture shows. */
#include "config.h"

#include "core/render/palette.h"
#include "core/ir/count.h"
#include "views/graph/building.h"
#include "views/graph/canvas.h"
#include "views/graph/caption.h"
#include "views/graph/legend.h"
#include "views/graph/minimap.h"
#include "views/graph/options.h"
#include "views/graph/part-bar.h"
#include "views/graph/parts.h"
#include "views/graph/reach.h"
#include "views/graph/search-panel.h"
#include "views/graph/two-sides.h"
#include "views/session/debug.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/view.h"

#include <adwaita.h>
#include <string.h>

struct _IrGraphView
{
  IrView parent_instance;

  GtkStack *stack;
  IrCanvas *canvas;
  IrTwoSides *sides;
  IrBuilding *building;
  IrSearchPanel *search;
  IrMinimap *minimap;
  IrPartBar *part_bar;
  IrLegend *tints; /* of the overlay */
  GtkLabel *zoom_label;
  GtkWidget *legend, *notes, *zoom_bar;
  GtkLabel *legend_labels[IR_N_SCENE_STATES];
  IrCaption caption;
  GtkPopoverMenu *menu;
  guint shown_from, shown_to; /* the steps whose changes were flown to */
  IrSceneMarks *shown_marks;  /* (nullable) that were flown to */
  gconstpointer shown_before; /* the other side that was flown to; may be gone */
};

#define IR_TYPE_GRAPH_VIEW (ir_graph_view_get_type ())
G_DECLARE_FINAL_TYPE (IrGraphView, ir_graph_view, IR, GRAPH_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrGraphView, ir_graph_view, IR_TYPE_VIEW)

static IrSession *
session (IrGraphView *self)
{
  return ir_view_get_session (IR_VIEW (self));
}

/* -- search -- */

static void
activate_search (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrGraphView *self = IR_GRAPH_VIEW (widget);

  ir_search_panel_open (self->search);
}

static void
activate_next_hit (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_search_panel_move (IR_GRAPH_VIEW (widget)->search, 1);
}

static void
activate_previous_hit (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_search_panel_move (IR_GRAPH_VIEW (widget)->search, -1);
}

#define SIDE_TITLE 26 /* px, of the titles above two sides, as in style.css */

static void
update_caption (IrGraphView *self)
{
  const gboolean two = ir_two_sides_are_shown (self->sides);

  ir_caption_update (&self->caption, session (self));
  /* the titles of both sides say what is compared, and the map does not lie on them */
  if (two)
    gtk_widget_set_visible (self->caption.box, FALSE);
  gtk_widget_set_margin_top (GTK_WIDGET (self->minimap), two ? SIDE_TITLE : 0);
}

static void
on_search_stopped (IrGraphView *self)
{
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

/* What was chosen is lit up for a moment, as soon as it is drawn. */
static void
on_search_chosen (IrGraphView *self, gboolean chosen)
{
  ir_canvas_centre_selected (self->canvas);
  if (chosen)
    ir_canvas_flash (self->canvas);
}

/* -- zoom -- */

static void
activate_zoom_in (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_canvas_zoom_by (IR_GRAPH_VIEW (widget)->canvas, 1.2);
}

static void
activate_zoom_out (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_canvas_zoom_by (IR_GRAPH_VIEW (widget)->canvas, 1 / 1.2);
}

static void
activate_zoom_normal (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_canvas_zoom_to (IR_GRAPH_VIEW (widget)->canvas, 1);
}

/* All of it, or all that changed. */
static void
activate_fit (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrCanvas *canvas = IR_GRAPH_VIEW (widget)->canvas;

  (strcmp (name, "view.fit") == 0 ? ir_canvas_fit : ir_canvas_zoom_to_changes) (canvas);
}

static void
activate_show_selected (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrGraphView *self = IR_GRAPH_VIEW (widget);

  ir_canvas_show_box (self->canvas, ir_canvas_selected_box (self->canvas));
}

static void
activate_side_by_side (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrGraphView *self = IR_GRAPH_VIEW (widget);

  ir_two_sides_set_wanted (self->sides, !ir_two_sides_get_wanted (self->sides));
  update_caption (self);
}

/* For as long as a key is held the graph is the one before. */
static void
activate_blink (GtkWidget *widget, const char *name, GVariant *on)
{
  ir_canvas_blink (IR_GRAPH_VIEW (widget)->canvas, g_variant_get_boolean (on));
}

static void
on_zoomed (IrGraphView *self)
{
  g_autofree char *text = g_strdup_printf ("%.*f %%", ir_canvas_get_zoom (self->canvas) < 0.02,
                                           100 * ir_canvas_get_zoom (self->canvas));

  gtk_label_set_text (self->zoom_label, text);
}

/* -- node menu -- */

static const IrNode *
selected_node (IrGraphView *self)
{
  const IrFrame *frame = ir_session_get_frame (session (self));
  const IrNodeId id = ir_session_get_selected_node (session (self));

  return frame != NULL ? ir_frame_node (frame, id) : NULL;
}

static void
activate_copy_name (GtkWidget *widget, const char *name, GVariant *parameter)
{
  const IrNode *node = selected_node (IR_GRAPH_VIEW (widget));

  if (node != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (widget), node->name);
}

static void
activate_open_value (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrGraphView *self = IR_GRAPH_VIEW (widget);
  const IrNode *node = selected_node (self);
  const IrValue *value = node != NULL ? ir_node_output (node, 0) : NULL;

  if (value == NULL)
    return;
  ir_session_select_value (
      session (self), value->id | (ir_session_get_selected_node (session (self)) & IR_OTHER_SIDE));
  ir_session_show_view (session (self), "tensor");
}

/* The newest step that touched the selected node. */
static void
activate_goto_step (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrGraphView *self = IR_GRAPH_VIEW (widget);
  g_autoptr (GArray)
      steps = ir_session_steps_of (session (self), ir_session_get_selected_node (session (self)));

  if (steps != NULL && steps->len > 0)
    ir_session_goto (session (self), g_array_index (steps, guint, steps->len - 1));
}

/* In the union of the original graph and this one both ends of the lineage are on screen. */
static void
activate_show_lineage (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *about = session (IR_GRAPH_VIEW (widget));

  ir_session_set_compare (about, IR_COMPARE_ORIGINAL);
}

/* At the steps that touch the node: going on stops there. */
static void
activate_break (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *about = session (IR_GRAPH_VIEW (widget));
  const IrNode *node = selected_node (IR_GRAPH_VIEW (widget));
  g_autofree char *condition = NULL;
  g_autoptr (GError) error = NULL;

  if (node == NULL)
    return;
  condition = g_strdup_printf ("node=#%u", node->id);
  if (ir_session_add_breakpoint (about, condition, &error))
    ir_session_show_view (about, "breakpoints");
  else
    g_signal_emit_by_name (about, "message", error->message);
}

static void
activate_why (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_session_show_view (session (IR_GRAPH_VIEW (widget)), "why");
}

/* -- groups -- */

/* The group that is selected, or that the selected node owns. (nullable) */
static const IrSceneBox *
selected_group (IrGraphView *self)
{
  const IrFrame *frame = ir_session_get_frame (session (self));
  const gint32 index = ir_canvas_selected_box (self->canvas);
  guint n;

  if (frame == NULL || frame->scene == NULL || index < 0)
    return NULL;
  return ir_scene_boxes (frame->scene, &n)[index].fold != NULL
             ? &ir_scene_boxes (frame->scene, &n)[index]
             : NULL;
}

static void
activate_toggle_group (GtkWidget *widget, const char *name, GVariant *parameter)
{
  const IrSceneBox *box = selected_group (IR_GRAPH_VIEW (widget));

  if (box != NULL)
    ir_canvas_toggle_fold (IR_GRAPH_VIEW (widget)->canvas, box->fold);
}

static void
activate_open_groups (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_session_set_folds (session (IR_GRAPH_VIEW (widget)), FALSE);
}

static void
activate_close_groups (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_session_set_folds (session (IR_GRAPH_VIEW (widget)), TRUE);
}

/* -- what reaches what -- */

static void
activate_grow (GtkWidget *widget, const char *name, GVariant *parameter)
{
  const gboolean inputs = strcmp (name, "view.grow-inputs") == 0;

  ir_reach_select (session (IR_GRAPH_VIEW (widget)), inputs ? IR_REACH_INPUTS : IR_REACH_OUTPUTS,
                   1);
}

static void
activate_select_all_reached (GtkWidget *widget, const char *name, GVariant *parameter)
{
  const gboolean reaching = strcmp (name, "view.select-reaching") == 0;

  ir_reach_select (session (IR_GRAPH_VIEW (widget)), reaching ? IR_REACH_INPUTS : IR_REACH_OUTPUTS,
                   G_MAXUINT);
}

static void
activate_select_between (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_reach_select_between (session (IR_GRAPH_VIEW (widget)));
}

/* Ends what the caption tells of: a pattern on the graph, or a comparison with another file. */
static void
activate_close_caption (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *about = session (IR_GRAPH_VIEW (widget));

  if (ir_session_get_shown_why (about) != NULL)
    ir_session_show_why (about, NULL);
  else
    ir_session_set_compare (about, IR_COMPARE_STEP);
}

/* What means nothing now is left out. */
static void
append_item (GMenu *menu, const char *title, const char *action)
{
  g_autoptr (GMenuItem) item = g_menu_item_new (title, action);

  g_menu_item_set_attribute (item, "hidden-when", "s", "action-disabled");
  g_menu_append_item (menu, item);
}

/* What can be done with what was clicked; nothing that cannot. What is further off is a row that leads to it, so that
 * a small screen has room for all. */
static GMenuModel *
context_menu (IrGraphView *self)
{
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) node = g_menu_new (), steps = g_menu_new (), reach = g_menu_new ();
  g_autoptr (GMenu) graphs = g_menu_new (), groups = g_menu_new (), view = g_menu_new ();
  g_autoptr (GMenu) sight = g_menu_new (), rest = g_menu_new ();
  const gboolean of_group = selected_group (self) != NULL;
  const gboolean any_groups = ir_session_has_folds (session (self), TRUE) ||
                              ir_session_has_folds (session (self), FALSE);

  append_item (node, "Open Value", "view.open-value");
  append_item (node, "Why Not…", "view.why");
  append_item (node, "Copy Name", "view.copy-name");
  append_item (steps, "Go to the Step That Made It", "view.goto-step");
  append_item (steps, "Show Where It Comes From", "view.show-lineage");
  append_item (steps, "Stop at Steps That Touch It", "view.break-at");
  append_item (reach, "Inputs of the Selection", "view.grow-inputs");
  append_item (reach, "Outputs of the Selection", "view.grow-outputs");
  append_item (reach, "All That Reaches It", "view.select-reaching");
  append_item (reach, "All That It Reaches", "view.select-reached");
  append_item (reach, "Paths Between the Two", "view.select-between");
  append_item (groups, "Open Group", "view.open-group");
  append_item (groups, "Close Group", "view.close-group");
  append_item (groups, "Open All Groups", "view.open-groups");
  append_item (groups, "Close All Groups", "view.close-groups");
  append_item (sight, "Bring into Sight", "view.show-selected");
  append_item (sight, "Fit the Graph", "view.fit");
  append_item (sight, "Zoom to the Change", "view.show-changes");
  append_item (sight, "Before and After Side by Side", "view.side-by-side");
  g_menu_append_section (view, NULL, G_MENU_MODEL (sight));
  ir_parts_append_menus (IR_VIEW (self), graphs, view);
  if (selected_node (self) != NULL)
    g_menu_append_submenu (node, "Its Steps", G_MENU_MODEL (steps));
  if (!gtk_bitset_is_empty (ir_session_get_selection (session (self))))
    g_menu_append_submenu (node, "Select", G_MENU_MODEL (reach));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (node));
  if (of_group) /* what was clicked comes first */
    g_menu_append_section (menu, NULL, G_MENU_MODEL (groups));
  ir_building_append_menu (self->building, menu);
  if (g_menu_model_get_n_items (G_MENU_MODEL (graphs)) > 0)
    g_menu_append_submenu (rest, "Enter or Leave", G_MENU_MODEL (graphs));
  if (!of_group && any_groups)
    g_menu_append_submenu (rest, "Groups", G_MENU_MODEL (groups));
  g_menu_append_submenu (rest, "View", G_MENU_MODEL (view));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (rest));
  return G_MENU_MODEL (menu);
}

static void
on_menu (IrGraphView *self, double x, double y)
{
  g_autoptr (GMenuModel) model = context_menu (self);
  double view_x, view_y;

  ir_building_point (self->building, x, y);
  gtk_popover_menu_set_menu_model (self->menu, model);
  /* of the view, not of the canvas, which asks for its place again while it moves */
  gtk_widget_translate_coordinates (GTK_WIDGET (self->canvas), GTK_WIDGET (self), x, y, &view_x,
                                    &view_y);
  gtk_popover_set_pointing_to (GTK_POPOVER (self->menu),
                               &(GdkRectangle){ (int) view_x, (int) view_y, 1, 1 });
  gtk_popover_popup (GTK_POPOVER (self->menu));
}

static gboolean
has_changes (IrGraphView *self)
{
  const IrFrame *frame = ir_session_get_frame (session (self));

  return frame != NULL && frame->scene != NULL && ir_scene_is_diff (frame->scene);
}

static void
update_node_actions (IrGraphView *self)
{
  const IrNode *node = selected_node (self);
  const IrSceneBox *group = selected_group (self);
  const guint n_selected = gtk_bitset_get_size (ir_session_get_selection (session (self)));
  g_autoptr (GArray) steps = NULL;

  for (const char **name = (const char *[]){ "view.grow-inputs", "view.grow-outputs",
                                             "view.select-reaching", "view.select-reached", NULL };
       *name != NULL; name++)
    ir_view_enable_action (IR_VIEW (self), *name, n_selected > 0);
  ir_view_enable_action (IR_VIEW (self), "view.select-between", n_selected == 2);
  ir_view_enable_action (IR_VIEW (self), "view.open-group",
                         group != NULL && ir_scene_box_is_closed (group));
  ir_view_enable_action (IR_VIEW (self), "view.close-group",
                         group != NULL && group->kind == IR_SCENE_CLUSTER);
  ir_view_enable_action (IR_VIEW (self), "view.open-groups",
                         ir_session_has_folds (session (self), TRUE));
  ir_view_enable_action (IR_VIEW (self), "view.close-groups",
                         ir_session_has_folds (session (self), FALSE));
  if (node != NULL)
    steps = ir_session_steps_of (session (self), ir_session_get_selected_node (session (self)));
  ir_view_enable_action (IR_VIEW (self), "view.open-value",
                         node != NULL && ir_node_output (node, 0) != NULL);
  ir_view_enable_action (IR_VIEW (self), "view.copy-name", node != NULL);
  ir_view_enable_action (IR_VIEW (self), "view.break-at", node != NULL);
  ir_view_enable_action (IR_VIEW (self), "view.why",
                         node != NULL &&
                             (ir_session_get_selected_node (session (self)) & IR_OTHER_SIDE) == 0);
  ir_view_enable_action (IR_VIEW (self), "view.show-lineage", steps != NULL && steps->len > 0);
  ir_view_enable_action (IR_VIEW (self), "view.show-selected", node != NULL);
  ir_view_enable_action (IR_VIEW (self), "view.show-changes", has_changes (self));
  ir_view_enable_action (IR_VIEW (self), "view.side-by-side",
                         has_changes (self) || ir_two_sides_get_wanted (self->sides));
  ir_view_enable_action (IR_VIEW (self), "view.goto-step", steps != NULL && steps->len > 0);
}

/* -- what is around the canvas -- */

static void
update_legend (IrGraphView *self)
{
  const IrFrame *frame = ir_session_get_frame (session (self));
  gboolean any = FALSE;

  for (int i = IR_SCENE_NEW; i < IR_N_SCENE_STATES; i++)
    {
      const guint n = frame != NULL && frame->scene != NULL ? ir_scene_n_nodes (frame->scene, i)
                                                            : 0;
      g_autofree char *count = ir_count_text (n),
                      *text = g_strdup_printf ("%s %s", count, ir_scene_state_name (i));
      const gboolean of_pattern = i > IR_SCENE_CHANGED;

      gtk_label_set_text (self->legend_labels[i], text);
      gtk_widget_set_visible (gtk_widget_get_parent (GTK_WIDGET (self->legend_labels[i])),
                              n > 0 && of_pattern == (frame != NULL && frame->marks != NULL));
      any = any || n > 0;
    }
  gtk_widget_set_visible (self->legend, any);
}

static void
update_tints (IrGraphView *self, const IrFrame *frame)
{
  GtkRequisition size = { 0, 0 };

  ir_legend_set_scale (self->tints, frame != NULL ? frame->scale : NULL);
  if (frame != NULL && frame->scale != NULL)
    gtk_widget_get_preferred_size (GTK_WIDGET (self->tints), NULL, &size);
  ir_canvas_set_note (self->canvas, size.width, size.height);
}

/* A part that is shown alone may have no node at a step: the graph is not empty for that. */
static gboolean
is_empty (const IrFrame *frame)
{
  guint n = 0;

  if (frame == NULL || frame->scene == NULL)
    return TRUE;
  ir_scene_boxes (frame->scene, &n);
  return n == 0 && ir_model_n_nodes (frame->model) == 0 &&
         ir_graph_n_inputs (frame->model->main) == 0;
}

static void
update_page (IrGraphView *self)
{
  const char *page = is_empty (ir_session_get_frame (session (self))) ? "empty" : "canvas";
  gboolean had_focus;

  if (g_strcmp0 (gtk_stack_get_visible_child_name (self->stack), page) == 0)
    return;
  had_focus = gtk_widget_get_focus_child (GTK_WIDGET (self)) != NULL ||
              (gtk_widget_get_root (GTK_WIDGET (self)) != NULL &&
               gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self))) == NULL);
  gtk_stack_set_visible_child_name (self->stack, page);
  if (had_focus)
    ir_view_focus_content (IR_VIEW (self));
}

/* What a step changed; a node that is followed through all steps says more than all changes. */
static void
show_place (IrGraphView *self)
{
  const gint32 box = ir_canvas_selected_box (self->canvas);

  if (box >= 0 && ir_session_get_compare (session (self)) == IR_COMPARE_ORIGINAL)
    ir_canvas_show_box (self->canvas, box);
  else
    ir_canvas_show_changes (self->canvas);
}

/* Whether what is selected has a box itself: another one that stands for it while its scopes are closed is
 * not where one wants to go. */
static gboolean
draws_selected (IrGraphView *self)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const IrNodeId node = ir_session_get_selected_node (session (self));

  return frame != NULL && node != 0 ? ir_frame_find_box (frame, node) >= 0
                                    : ir_canvas_selected_box (self->canvas) >= 0;
}

static void
ir_graph_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrGraphView *self = IR_GRAPH_VIEW (view);
  const IrFrame *frame = ir_session_get_frame (session (self));
  gboolean went = FALSE; /* to what changed */

  if (changes & (IR_CHANGED_FRAME | IR_CHANGED_HISTORY))
    {
      const gboolean was_drawn = draws_selected (self);

      update_page (self);
      ir_canvas_frame_changed (self->canvas);
      ir_two_sides_session_changed (self->sides, changes);
      ir_minimap_scene_changed (self->minimap);
      if (!was_drawn && draws_selected (self))
        ir_canvas_show_selection (self->canvas); /* its scopes were opened for it */
      update_legend (self);
      update_tints (self, frame);
      ir_part_bar_update (self->part_bar);
      update_caption (self);
      if (frame != NULL && (frame->from != self->shown_from || frame->to != self->shown_to ||
                            (frame->marks != NULL && frame->marks != self->shown_marks) ||
                            (frame->foreign && frame->before != self->shown_before)))
        {
          /* after a Why Not one goes on where one asked it */
          const gboolean back = self->shown_marks != NULL && frame->marks == NULL &&
                                frame->to == self->shown_to &&
                                ir_canvas_selected_box (self->canvas) >= 0;

          self->shown_from = frame->from;
          self->shown_to = frame->to;
          g_clear_pointer (&self->shown_marks, ir_scene_marks_unref);
          self->shown_marks = frame->marks != NULL ? ir_scene_marks_ref (frame->marks) : NULL;
          self->shown_before = frame->foreign ? frame->before : NULL;
          if (!back)
            show_place (self);
          went = !back && frame->from != frame->to;
        }
      ir_search_panel_frame_changed (self->search);
      update_node_actions (self);
    }
  if (changes & (IR_CHANGED_FRAME | IR_CHANGED_HISTORY | IR_CHANGED_SIGHT))
    ir_parts_go_where_wanted (view);
  if (changes & IR_CHANGED_EVENT)
    ir_canvas_tokens_changed (self->canvas);
  if (changes & IR_CHANGED_HOVER)
    ir_canvas_hover_changed (self->canvas);
  if (changes & IR_CHANGED_SELECTION)
    {
      ir_two_sides_session_changed (self->sides, IR_CHANGED_SELECTION);
      ir_canvas_selection_changed (self->canvas);
      if (went) /* what was selected before is where it was */
        ;
      else if (gtk_bitset_get_size (ir_session_get_selection (session (self))) > 1)
        ir_canvas_show_selection (self->canvas);
      else
        ir_canvas_show_box (self->canvas, ir_canvas_selected_box (self->canvas));
    }
  if (changes & (IR_CHANGED_SELECTION | IR_CHANGED_FRAME | IR_CHANGED_HISTORY))
    {
      update_node_actions (self);
      ir_parts_update_actions (view);
      ir_building_update_actions (self->building);
    }
}

static void
ir_graph_view_focus_content (IrView *view)
{
  IrGraphView *self = IR_GRAPH_VIEW (view);

  if (g_strcmp0 (gtk_stack_get_visible_child_name (self->stack), "empty") == 0)
    {
      /* its first button; from one that has the focus it would go on to the next */
      if (gtk_widget_get_focus_child (gtk_stack_get_visible_child (self->stack)) == NULL)
        gtk_widget_child_focus (gtk_stack_get_visible_child (self->stack), GTK_DIR_TAB_FORWARD);
    }
  else
    gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

static void
ir_graph_view_note (IrView *view, int *width, int *height)
{
  IrGraphView *self = IR_GRAPH_VIEW (view);
  GtkRequisition size;

  if (!gtk_widget_get_visible (self->legend) && !gtk_widget_get_visible (GTK_WIDGET (self->tints)))
    return;
  gtk_widget_get_preferred_size (self->notes, NULL, &size);
  *width = size.width;
  *height = size.height - gtk_widget_get_margin_bottom (self->notes);
}

/* The notes stand above what floats there, and a fit is above it. */
static void
ir_graph_view_inset (IrView *view, int px)
{
  IrGraphView *self = IR_GRAPH_VIEW (view);

  gtk_widget_set_margin_bottom (self->notes, px);
  gtk_widget_set_margin_bottom (self->zoom_bar, px);
  ir_canvas_set_inset (self->canvas, px);
}

#define LEAST_ROOM                                                                                 \
  340 /* px between panes that lie on it, in which what floats is as wide as it must be */

static void
ir_graph_view_cover (IrView *view, int left, int right)
{
  IrGraphView *self = IR_GRAPH_VIEW (view);
  const gboolean room = gtk_widget_get_width (GTK_WIDGET (view)) - left - right >= LEAST_ROOM;

  ir_canvas_set_cover (self->canvas, left, right);
  gtk_widget_set_margin_start (GTK_WIDGET (self->search), room ? left : 0);
  gtk_widget_set_margin_start (self->notes, room ? left : 0);
  gtk_widget_set_margin_end (self->zoom_bar, room ? right : 0);
}

/* -- building -- */

static GtkWidget *
icon_button (const char *icon, const char *label, const char *action)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_set_tooltip_text (button, label);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  -1);
  return button;
}

static GtkWidget *
build_zoom (IrGraphView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  GtkWidget *label = gtk_label_new ("100 %");
  GtkWidget *normal = gtk_button_new ();

  gtk_label_set_width_chars (GTK_LABEL (label), 5);
  gtk_widget_add_css_class (label, "caption");
  gtk_widget_add_css_class (label, "numeric");
  gtk_button_set_child (GTK_BUTTON (normal), label);
  gtk_widget_set_tooltip_text (normal, "Actual size (Ctrl+0)");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (normal), "view.zoom-normal");
  gtk_accessible_update_property (GTK_ACCESSIBLE (normal), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Actual size", -1);
  gtk_box_append (GTK_BOX (box),
                  icon_button ("zoom-out-symbolic", "Zoom out (Ctrl+−)", "view.zoom-out"));
  gtk_box_append (GTK_BOX (box), normal);
  gtk_box_append (GTK_BOX (box),
                  icon_button ("zoom-in-symbolic", "Zoom in (Ctrl++)", "view.zoom-in"));
  gtk_box_append (GTK_BOX (box),
                  icon_button ("zoom-fit-best-symbolic", "Fit the graph (F)", "view.fit"));
  gtk_box_append (GTK_BOX (box), ir_options_button_new (IR_VIEW (self)));
  gtk_widget_add_css_class (box, "canvas-controls");
  gtk_widget_add_css_class (box, "linked");
  gtk_widget_set_halign (box, GTK_ALIGN_END);
  gtk_widget_set_valign (box, GTK_ALIGN_END);
  self->zoom_label = GTK_LABEL (label);
  return box;
}

static GtkWidget *
build_legend (IrGraphView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);

  for (int i = IR_SCENE_NEW; i < IR_N_SCENE_STATES; i++)
    {
      GtkWidget *item = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 4);
      GtkWidget *badge = gtk_label_new (ir_scene_state_glyph (i));
      GtkWidget *label = gtk_label_new (NULL);

      gtk_widget_add_css_class (badge, "state-badge");
      gtk_widget_add_css_class (badge, ir_scene_state_name (i));
      gtk_widget_add_css_class (label, "caption");
      gtk_widget_add_css_class (label, "numeric");
      gtk_box_append (GTK_BOX (item), badge);
      gtk_box_append (GTK_BOX (item), label);
      gtk_box_append (GTK_BOX (box), item);
      self->legend_labels[i] = GTK_LABEL (label);
    }
  gtk_widget_add_css_class (box, "canvas-note");
  gtk_widget_set_halign (box, GTK_ALIGN_START);
  self->legend = box;
  return box;
}

/* What colours mean: of the overlay, and below it of the difference. */
static GtkWidget *
build_notes (IrGraphView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  self->tints = IR_LEGEND (ir_legend_new ());
  gtk_widget_add_css_class (GTK_WIDGET (self->tints), "canvas-note");
  gtk_widget_set_halign (GTK_WIDGET (self->tints), GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (self->tints));
  gtk_box_append (GTK_BOX (box), build_legend (self));
  gtk_widget_set_halign (box, GTK_ALIGN_START);
  gtk_widget_set_valign (box, GTK_ALIGN_END);
  gtk_widget_set_can_target (box, FALSE);
  self->notes = box;
  return box;
}

/* Its model is made when it opens. */
static GtkWidget *
build_menu (IrGraphView *self)
{
  GtkWidget *popover = gtk_popover_menu_new_from_model (NULL);

  gtk_widget_add_css_class (popover, "dense");
  gtk_popover_set_has_arrow (GTK_POPOVER (popover), FALSE);
  gtk_popover_set_position (GTK_POPOVER (popover),
                            GTK_POS_RIGHT); /* it slides up where it has to */
  gtk_widget_set_valign (popover, GTK_ALIGN_START);
  self->menu = GTK_POPOVER_MENU (popover);
  g_signal_connect_swapped (popover, "closed", G_CALLBACK (gtk_widget_grab_focus), self->canvas);
  return popover;
}

/* N and A mean something here, where there is no canvas that takes the focus. */
static void
on_empty_pressed (IrGraphView *self)
{
  ir_view_focus_content (IR_VIEW (self));
}

/* Where an empty graph begins. */
static GtkWidget *
build_empty_page (IrGraphView *self)
{
  static const struct
  {
    const char *label, *tip, *action;
  } ways[] = {
    { "Add Input…", "A value that the graph takes (N)", "view.add-input" },
    { "Add Node…", "An operator from the palette (A)", "view.add-node" },
    { "Paste", "Nodes that were copied, or a graph in ONNX text (Ctrl+V)", "view.paste" },
    { "Write Text", "The graph in ONNX text (Alt+2)", "win.show('text')" },
  };
  GtkWidget *page = adw_status_page_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  GtkGesture *click = gtk_gesture_click_new ();

  g_signal_connect_object (click, "pressed", G_CALLBACK (on_empty_pressed), self,
                           G_CONNECT_SWAPPED);
  gtk_widget_add_controller (page, GTK_EVENT_CONTROLLER (click));
  adw_status_page_set_icon_name (ADW_STATUS_PAGE (page), "document-edit-symbolic");
  adw_status_page_set_title (ADW_STATUS_PAGE (page), "The Graph Is Empty");
  adw_status_page_set_description (
      ADW_STATUS_PAGE (page),
      "Give it an input, then add nodes that read it: draw from a node to an empty place, or press A.");
  gtk_widget_add_css_class (page, "compact");
  gtk_widget_set_halign (box, GTK_ALIGN_CENTER);
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      GtkWidget *button = gtk_button_new_with_label (ways[i].label);

      gtk_actionable_set_detailed_action_name (GTK_ACTIONABLE (button), ways[i].action);
      gtk_widget_set_tooltip_text (button, ways[i].tip);
      gtk_widget_add_css_class (button, "pill");
      if (i == 0)
        gtk_widget_add_css_class (button, "suggested-action");
      gtk_box_append (GTK_BOX (box), button);
    }
  adw_status_page_set_child (ADW_STATUS_PAGE (page), box);
  return page;
}

#define NOTE_MARGIN 10 /* px, of each, as in style.css: one is enough between them */

/* Where the legend and the zoom bar are too wide to stand beside each other, the legend goes above.
 */
static gboolean
place_note (GtkOverlay *overlay, GtkWidget *child, GdkRectangle *at, gpointer data)
{
  const IrGraphView *self = data;
  const int width = gtk_widget_get_width (GTK_WIDGET (overlay));
  GtkRequisition size, zoom;

  if (child != self->notes)
    return FALSE;
  gtk_widget_get_preferred_size (child, NULL, &size);
  gtk_widget_get_preferred_size (self->zoom_bar, NULL, &zoom);
  if (size.width + zoom.width - NOTE_MARGIN <= width)
    return FALSE;
  /* what is left below counts once */
  *at = (GdkRectangle){ 0,
                        gtk_widget_get_height (GTK_WIDGET (overlay)) - zoom.height - size.height +
                            gtk_widget_get_margin_bottom (child),
                        MIN (size.width, width), size.height };
  return TRUE;
}

static void
ir_graph_view_constructed (GObject *object)
{
  IrGraphView *self = IR_GRAPH_VIEW (object);
  GtkWidget *overlay = gtk_overlay_new ();
  GtkWidget *column = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  G_OBJECT_CLASS (ir_graph_view_parent_class)->constructed (object);
  self->canvas = IR_CANVAS (ir_canvas_new (session (self)));
  self->building = ir_building_new (IR_VIEW (self), self->canvas);
  self->sides = IR_TWO_SIDES (ir_two_sides_new (self->canvas));
  gtk_overlay_set_child (GTK_OVERLAY (overlay), GTK_WIDGET (self->sides));
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), build_notes (self));
  self->zoom_bar = build_zoom (self);
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), self->zoom_bar);
  self->minimap = IR_MINIMAP (ir_minimap_new (self->canvas));
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), GTK_WIDGET (self->minimap));
  g_signal_connect_object (self->canvas, "moved", G_CALLBACK (ir_minimap_update), self->minimap,
                           G_CONNECT_SWAPPED);
  self->search = IR_SEARCH_PANEL (ir_search_panel_new (session (self)));
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), GTK_WIDGET (self->search));
  g_signal_connect_object (self->search, "chosen", G_CALLBACK (on_search_chosen), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->search, "stopped", G_CALLBACK (on_search_stopped), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect (overlay, "get-child-position", G_CALLBACK (place_note), self);
  self->part_bar = IR_PART_BAR (ir_part_bar_new (session (self)));
  gtk_box_append (GTK_BOX (column), GTK_WIDGET (self->part_bar));
  gtk_box_append (
      GTK_BOX (column),
      ir_caption_build (&self->caption, icon_button ("window-close-symbolic", "Back to the steps",
                                                     "view.close-caption")));
  gtk_box_append (GTK_BOX (column), overlay);
  self->stack = GTK_STACK (gtk_stack_new ());
  gtk_stack_set_hhomogeneous (self->stack, FALSE); /* the page of an empty graph is wide */
  gtk_stack_add_named (self->stack, build_empty_page (self), "empty");
  gtk_stack_add_named (self->stack, column, "canvas");
  ir_building_add_keys (GTK_WIDGET (self->stack));
  ir_parts_attach (IR_VIEW (self), self->canvas, GTK_WIDGET (self->stack));
  gtk_widget_set_parent (build_menu (self), GTK_WIDGET (self));
  adw_bin_set_child (ADW_BIN (self), GTK_WIDGET (self->stack));
  g_signal_connect_object (self->canvas, "zoomed", G_CALLBACK (on_zoomed), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->canvas, "menu", G_CALLBACK (on_menu), self, G_CONNECT_SWAPPED);
  update_node_actions (self);
}

static void
ir_graph_view_dispose (GObject *object)
{
  IrGraphView *self = IR_GRAPH_VIEW (object);

  g_clear_pointer (&self->building, ir_building_free);
  if (self->menu != NULL)
    gtk_widget_unparent (GTK_WIDGET (self->menu));
  self->menu = NULL;
  g_clear_pointer (&self->shown_marks, ir_scene_marks_unref);
  G_OBJECT_CLASS (ir_graph_view_parent_class)->dispose (object);
}

static void
ir_graph_view_class_init (IrGraphViewClass *klass)
{
  static const struct
  {
    const char *name;
    GtkWidgetActionActivateFunc activate;
  } actions[] = {
    { "view.search", activate_search },
    { "view.next-hit", activate_next_hit },
    { "view.previous-hit", activate_previous_hit },
    { "view.zoom-in", activate_zoom_in },
    { "view.zoom-out", activate_zoom_out },
    { "view.zoom-normal", activate_zoom_normal },
    { "view.fit", activate_fit },
    { "view.show-selected", activate_show_selected },
    { "view.show-changes", activate_fit },
    { "view.side-by-side", activate_side_by_side },
    { "view.open-value", activate_open_value },
    { "view.goto-step", activate_goto_step },
    { "view.copy-name", activate_copy_name },
    { "view.show-lineage", activate_show_lineage },
    { "view.why", activate_why },
    { "view.break-at", activate_break },
    { "view.close-caption", activate_close_caption },
    { "view.open-group", activate_toggle_group },
    { "view.close-group", activate_toggle_group },
    { "view.open-groups", activate_open_groups },
    { "view.close-groups", activate_close_groups },
    { "view.grow-inputs", activate_grow },
    { "view.grow-outputs", activate_grow },
    { "view.select-reaching", activate_select_all_reached },
    { "view.select-reached", activate_select_all_reached },
    { "view.select-between", activate_select_between },
  };

  G_OBJECT_CLASS (klass)->constructed = ir_graph_view_constructed;
  G_OBJECT_CLASS (klass)->dispose = ir_graph_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_graph_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_graph_view_focus_content;
  IR_VIEW_CLASS (klass)->inset = ir_graph_view_inset;
  IR_VIEW_CLASS (klass)->note = ir_graph_view_note;
  IR_VIEW_CLASS (klass)->cover = ir_graph_view_cover;
  for (guint i = 0; i < G_N_ELEMENTS (actions); i++)
    gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), actions[i].name, NULL,
                                     actions[i].activate);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "view.blink", "b", activate_blink);
  ir_building_install_actions (GTK_WIDGET_CLASS (klass));
  ir_parts_install_actions (GTK_WIDGET_CLASS (klass));
}

static void
ir_graph_view_init (IrGraphView *self)
{
}

const IrViewInfo ir_view_graph = {
  .id = "graph",
  .title = "Graph",
  .icon_name = "network-workgroup-symbolic",
  .doc = "The graph at the cursor, with what the step changed.",
  .help =
      "A box is a node: its operator, name, attributes, and in rows the weights that "
      "it reads. Lines carry values, types stand beside them; dashed lines come from "
      "outside a branch. Stacked boxes are closed groups: ▸ opens, ▾ closes.\n\nAfter "
      "a step, + is new, − removed, ~ changed, and a bracket says what became what. Z zooms "
      "to the change, V shows before and after side by side, and as long as Space is held "
      "the graph is the one before. Far out, boxes have the colour of their "
      "arithmetic: the darker, the more.\n\nA drag moves the picture, with Shift it selects many; a right click "
      "has all that can be done with a node.\n\nE enters the branch or body of a node, Alt+Up leaves "
      "it, G puts it beside; ▸ opens a function where it is called. S shows the selection alone, comma and period grow it. Ctrl and a number keep "
      "the view, the number alone shows it again.",
  .place = IR_VIEW_CENTRE,
  .get_type = ir_graph_view_get_type,
};
