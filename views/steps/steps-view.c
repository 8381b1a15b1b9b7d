/* The steps: every rewrite of every pass, in order, with its verdict; below them what the chosen row
 * did and why. The chosen row is the session's cursor. */
#include "config.h"

#include "core/ir/count.h"
#include "views/session/debug.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/steps/branch-bar.h"
#include "views/steps/step-list.h"
#include "views/steps/step-page.h"
#include "views/steps/step-row.h"
#include "views/steps/what-if-bar.h"
#include "views/view.h"

#include <string.h>

#define REFOCUS_TRIES 200 /* frames */
#define SCROLL_AGAIN  20  /* frames */

struct _IrStepsView
{
  IrView parent;
  GtkWidget *box, *stack, *list_view, *page, *page_frame, *search, *none;
  GtkWidget *what_if; /* (nullable) until the session is known */
  GtkWidget *menu;
  IrStepList *list;
  GtkSingleSelection *selection;
  guint selected; /* position before the change in hand */
  gboolean syncing;
  guint scroll_source; /* 0 = the list need not be scrolled */
  guint refocusing;    /* a tick; 0 = none */
  guint refocus_tries; /* frames that are left */
};

#define IR_TYPE_STEPS_VIEW (ir_steps_view_get_type ())
G_DECLARE_FINAL_TYPE (IrStepsView, ir_steps_view, IR, STEPS_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrStepsView, ir_steps_view, IR_TYPE_VIEW)

/* -- rows -- */

static void
setup_row (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  gtk_list_item_set_child (item, ir_step_row_widget_new ());
}

static void
bind_row (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  IrStepsView *self = data;
  IrModel *history = ir_session_get_history (ir_view_get_session (data));

  if (history != NULL)
    ir_step_row_widget_bind (gtk_list_item_get_child (item), self->list,
                             gtk_list_item_get_position (item), gtk_list_item_get_item (item),
                             history);
}

/* -- the page of what is chosen -- */

static void
show_page (IrStepsView *self)
{
  g_autoptr (IrStepRow) row = g_list_model_get_item (G_LIST_MODEL (self->list), self->selected);

  ir_step_page_show (self->page, self->list, row);
}

/* -- selection and cursor -- */

/* The focus goes with the cursor, so that the arrow keys go on from there. A list view of GTK 4.8
 * cannot be told which row that is: the row's widget is found by the position it was bound to. */
static gboolean
focus_selected (IrStepsView *self)
{
  GtkWidget *row = gtk_widget_get_first_child (self->list_view);

  for (; row != NULL; row = gtk_widget_get_next_sibling (row))
    {
      GtkWidget *box = gtk_widget_get_first_child (row);

      if (box != NULL && ir_step_row_widget_position (box) == self->selected)
        return gtk_widget_get_mapped (row) && gtk_widget_grab_focus (row);
    }
  return FALSE;
}

static void
scroll (IrStepsView *self)
{
  if (self->selected < g_list_model_get_n_items (G_LIST_MODEL (self->list)))
    gtk_widget_activate_action (self->list_view, "list.scroll-to-item", "u", self->selected);
}

/* Frame by frame, until the selected row has a widget, or something else the focus. What was scrolled to while the
 * list was being filled can be out of sight again. */
static gboolean
refocus (GtkWidget *list_view, GdkFrameClock *clock, gpointer data)
{
  IrStepsView *self = data;

  if (gtk_root_get_focus (gtk_widget_get_root (list_view)) == NULL && !focus_selected (self) &&
      self->refocus_tries-- > 0)
    {
      if (self->refocus_tries % SCROLL_AGAIN == 0)
        scroll (self);
      return G_SOURCE_CONTINUE;
    }
  self->refocusing = 0;
  return G_SOURCE_REMOVE;
}

/* A row that has the focus is kept in sight, whatever is scrolled to: it loses it, and the other one gets it. */
static gboolean
scroll_to_selected (gpointer data)
{
  IrStepsView *self = data;

  self->scroll_source = 0;
  if (self->refocusing != 0)
    self->refocus_tries = REFOCUS_TRIES; /* for the step that is the selected one now */
  else if (gtk_widget_get_focus_child (self->list_view) != NULL && !focus_selected (self))
    {
      gtk_root_set_focus (gtk_widget_get_root (self->list_view), NULL);
      self->refocus_tries = REFOCUS_TRIES;
      self->refocusing = gtk_widget_add_tick_callback (self->list_view, refocus, self, NULL);
    }
  scroll (self);
  return G_SOURCE_REMOVE;
}

/* After the list has been allocated: before, it does not know where its rows are. */
static void
queue_scroll (IrStepsView *self)
{
  if (self->scroll_source == 0)
    self->scroll_source = g_idle_add_full (GDK_PRIORITY_REDRAW + 10, scroll_to_selected, self,
                                           NULL);
}

/* A card shows what its pass did; a step what it did. */
static void
on_selected (GtkSingleSelection *selection, GParamSpec *pspec, IrStepsView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const guint position = gtk_single_selection_get_selected (selection);
  g_autoptr (IrStepRow) row = NULL;
  IrStepRowKind kind;

  if (self->syncing || position == GTK_INVALID_LIST_POSITION)
    return;
  row = g_list_model_get_item (G_LIST_MODEL (self->list), position);
  kind = ir_step_row_get_kind (row);
  self->selected = position;
  if (kind == IR_STEP_ROW_IDLE || kind == IR_STEP_ROW_IDLE_PASS)
    {
      show_page (self);
      return;
    }
  if (kind == IR_STEP_ROW_PASS)
    ir_session_set_compare (session, IR_COMPARE_PASS);
  else if (ir_session_get_compare (session) == IR_COMPARE_PASS)
    ir_session_set_compare (session, IR_COMPARE_STEP);
  ir_session_goto (session, ir_step_row_get_step (row));
  show_page (self);
}

/* The row of the cursor: where a whole pass is compared, its card. */
static guint
position_of_cursor (IrStepsView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const guint cursor = ir_session_get_cursor (session);
  const guint card = ir_session_get_compare (session) == IR_COMPARE_PASS
                         ? ir_step_list_card_position (self->list, cursor)
                         : GTK_INVALID_LIST_POSITION;

  return card != GTK_INVALID_LIST_POSITION ? card : ir_step_list_position (self->list, cursor);
}

static void
sync_cursor (IrStepsView *self)
{
  const guint position = position_of_cursor (self);

  self->syncing = TRUE;
  gtk_single_selection_set_selected (self->selection, position);
  self->syncing = FALSE;
  if (position != self->selected)
    queue_scroll (self);
  self->selected = position;
}

static void
load_history (IrStepsView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  IrModel *history = ir_session_get_history (session);
  guint n = ir_session_get_n_steps (session);
  g_autofree char *count = n > 0 ? ir_count_text (n) : NULL;
  const char *filter = gtk_editable_get_text (GTK_EDITABLE (self->search));

  self->syncing = TRUE;
  ir_step_list_load (self->list, n > 0 ? history : NULL, filter);
  self->syncing = FALSE;
  self->selected = GTK_INVALID_LIST_POSITION;
  gtk_widget_set_visible (self->none, n > 0 && ir_step_list_n_steps (self->list) == 0);
  ir_view_set_indicator (IR_VIEW (self), count);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), history == NULL ? "closed"
                                                             : n == 0        ? "empty"
                                                                             : "steps");
}

static void
on_search (GtkSearchEntry *entry, IrStepsView *self)
{
  load_history (self);
  sync_cursor (self);
  show_page (self); /* what is summed up is what is listed */
}

/* Enter goes to the first step that matches. */
static void
on_search_activate (GtkSearchEntry *entry, IrStepsView *self)
{
  const guint n = ir_session_get_n_steps (ir_view_get_session (IR_VIEW (self)));

  for (guint step = 1; step <= n; step++)
    if (ir_step_list_position (self->list, step) != GTK_INVALID_LIST_POSITION)
      {
        ir_session_goto (ir_view_get_session (IR_VIEW (self)), step);
        break;
      }
  gtk_widget_grab_focus (self->list_view);
}

static void
on_search_stop (GtkSearchEntry *entry, IrStepsView *self)
{
  gtk_editable_set_text (GTK_EDITABLE (entry), "");
  gtk_widget_grab_focus (self->list_view);
  queue_scroll (self);
}

/* -- what can be done with a step -- */

/* What means nothing now is left out. */
static void
append_item (GMenu *menu, const char *label, const char *action, const char *target)
{
  g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);

  g_menu_item_set_action_and_target (item, action, target != NULL ? "s" : NULL, target);
  g_menu_item_set_attribute (item, "hidden-when", "s", "action-disabled");
  g_menu_append_item (menu, item);
}

/* @index: of a step of the pass; @alone: the step itself is chosen, not all that the pass did */
static GMenuModel *
menu_of_step (IrModel *history, guint index, gboolean alone)
{
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) skips = g_menu_new (), breaks = g_menu_new (), proofs = g_menu_new ();
  const IrStep *step = ir_history_step (history, index);
  const IrNode *anchor = step->anchor != 0 ? ir_model_node (history, step->anchor) : NULL;
  const char *rule = step->rule, *pass = ir_history_pass_of (history, index);
  g_autofree char *key = ir_step_stable_key (history, index);
  g_autofree char *skip_rule = g_strdup_printf ("Without the Rule %s", rule);
  g_autofree char *skip_pass = g_strdup_printf ("Without the Pass %s", pass);
  g_autofree char *break_rule = g_strdup_printf ("rule=%s", rule);
  g_autofree char *break_pass = g_strdup_printf ("pass=%s", pass);

  if (alone)
    {
      append_item (skips, "Without This Step", "steps.skip", key);
      append_item (skips, skip_rule, "steps.skip", rule);
      append_item (breaks, "Break on This Rule", "steps.break", break_rule);
      append_item (proofs, "Prove This Step", "steps.prove", NULL);
      append_item (proofs, "Trace Its Node", "steps.trace", NULL);
    }
  append_item (skips, skip_pass, "steps.skip", pass);
  append_item (breaks, "Break on This Pass", "steps.break", break_pass);
  if (alone && anchor != NULL && anchor->name[0] != '\0')
    {
      g_autofree char *break_node = g_strdup_printf ("node=%s", anchor->name);
      append_item (breaks, "Break on This Node", "steps.break", break_node);
    }
  append_item (breaks, "Find the Step That Fails…", "win.bisect", NULL);
  g_menu_append_section (menu, "What If", G_MENU_MODEL (skips));
  g_menu_append_section (menu, "Stop and Search", G_MENU_MODEL (breaks));
  if (alone)
    g_menu_append_section (menu, "Look Closer", G_MENU_MODEL (proofs));
  return G_MENU_MODEL (menu);
}

/* Edits by hand are no applications of a pass: they can be taken back, not skipped. */
static gboolean
can_skip (IrModel *history, guint step)
{
  return history != NULL && step > 0 && step <= ir_history_n_steps (history) &&
         strcmp (ir_history_pass_of (history, step), "edit") != 0;
}

/* @x, @y: in the list. */
static void
show_menu (IrStepsView *self, double x, double y)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  IrModel *history = ir_session_get_history (session);
  const guint step = ir_session_get_cursor (session);
  g_autoptr (GMenuModel) model = NULL;
  g_autoptr (IrStepRow) row = g_list_model_get_item (G_LIST_MODEL (self->list), self->selected);
  const IrStepRowKind kind = row != NULL ? ir_step_row_get_kind (row) : IR_STEP_ROW_ORIGINAL;

  if (!can_skip (history, step) || kind == IR_STEP_ROW_ORIGINAL || kind == IR_STEP_ROW_IDLE ||
      kind == IR_STEP_ROW_IDLE_PASS)
    return;
  gtk_widget_translate_coordinates (self->list_view, self->box, x, y, &x, &y);
  model = menu_of_step (history, step, kind != IR_STEP_ROW_PASS);
  gtk_popover_menu_set_menu_model (GTK_POPOVER_MENU (self->menu), model);
  gtk_popover_set_pointing_to (GTK_POPOVER (self->menu), &(GdkRectangle){ (int) x, (int) y, 1, 1 });
  gtk_popover_popup (GTK_POPOVER (self->menu));
}

/* The menu takes the release of the button that opened it, without which what was pressed looks
 * pressed for good. */
static void
release_pressed (GtkWidget *widget)
{
  for (; widget != NULL; widget = gtk_widget_get_parent (widget))
    gtk_widget_unset_state_flags (widget, GTK_STATE_FLAG_ACTIVE);
}

/* The row under the pointer becomes the current one, so that the menu speaks of what is on screen.
 */
static void
on_secondary (GtkGestureClick *gesture, int n_press, double x, double y, IrStepsView *self)
{
  GtkWidget *picked = gtk_widget_pick (self->list_view, x, y, GTK_PICK_DEFAULT), *widget = picked;

  for (; widget != NULL && widget != self->list_view; widget = gtk_widget_get_parent (widget))
    {
      const guint position = ir_step_row_widget_position (widget);

      if (position == GTK_INVALID_LIST_POSITION)
        continue;
      gtk_single_selection_set_selected (self->selection, position);
      show_menu (self, x, y);
      release_pressed (picked);
      return;
    }
}

/* The chosen row stays, or the one that it lies in is chosen. */
static void
set_open (IrStepsView *self, guint position, gboolean open)
{
  g_autoptr (IrStepRow) row = g_list_model_get_item (G_LIST_MODEL (self->list), position);

  self->syncing = TRUE; /* rows come and go: nothing was chosen */
  ir_step_list_set_open (self->list, position, open);
  self->syncing = FALSE;
  if (ir_step_row_get_kind (row) != IR_STEP_ROW_IDLE)
    sync_cursor (self);
  else
    gtk_single_selection_set_selected (self->selection, position);
  queue_scroll (self);
}

/* Of the equal steps that the row at @position lies in. */
static guint
group_around (IrStepsView *self, guint position)
{
  for (; position > 0; position--)
    {
      g_autoptr (IrStepRow) row = g_list_model_get_item (G_LIST_MODEL (self->list), position);

      if (row == NULL || !ir_step_row_is_within (row))
        break;
    }
  return position;
}

/* FALSE: the key goes on, one step or back. */
static gboolean
open_selected (IrStepsView *self, gboolean open)
{
  guint position = gtk_single_selection_get_selected (self->selection);

  if (!open)
    position = group_around (self, position);
  if (!ir_step_list_can_open (self->list, position) ||
      ir_step_list_is_open (self->list, position) == open)
    return FALSE;
  set_open (self, position, open);
  return TRUE;
}

/* Enter, or a double click. */
static void
on_activated (GtkListView *list_view, guint position, IrStepsView *self)
{
  if (ir_step_list_can_open (self->list, position))
    set_open (self, position, !ir_step_list_is_open (self->list, position));
}

static gboolean
on_list_key (GtkEventControllerKey *controller,
             guint key,
             guint code,
             GdkModifierType state,
             IrStepsView *self)
{
  GtkWidget *focus = gtk_widget_get_focus_child (self->list_view);
  const GdkModifierType held = state & (GDK_CONTROL_MASK | GDK_SHIFT_MASK | GDK_ALT_MASK);
  double x = 40, y = 20;

  if ((key == GDK_KEY_Left || key == GDK_KEY_Right) && held == 0)
    return open_selected (self, key == GDK_KEY_Right);
  if ((key == GDK_KEY_Left || key == GDK_KEY_Right) && held == GDK_CONTROL_MASK)
    return gtk_widget_activate_action (/* the list would move its focus alone */
                                       self->list_view,
                                       key == GDK_KEY_Right ? "win.next-pass" : "win.previous-pass",
                                       NULL);
  if (key != GDK_KEY_Menu && !(key == GDK_KEY_F10 && state & GDK_SHIFT_MASK))
    return FALSE;
  if (focus != NULL)
    gtk_widget_translate_coordinates (focus, self->list_view, x, y, &x, &y);
  show_menu (self, x, y);
  return TRUE;
}

static void
skip_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_session_skip (ir_view_get_session (IR_VIEW (widget)), g_variant_get_string (parameter, NULL));
}

/* Without the step at the cursor. */
static void
skip_this_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *session = ir_view_get_session (IR_VIEW (widget));
  IrModel *history = ir_session_get_history (session);
  const guint step = ir_session_get_cursor (session);
  g_autofree char *key = can_skip (history, step) ? ir_step_stable_key (history, step) : NULL;

  if (key != NULL)
    ir_session_skip (session, key);
}

/* Verdict of the step at the cursor, from a run of its cone. */
static void
prove_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *session = ir_view_get_session (IR_VIEW (widget));

  ir_session_prove_step (session, ir_session_get_cursor (session));
}

/* The union of the original graph and this one, with the lineage of the step's node in it. */
static void
trace_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *session = ir_view_get_session (IR_VIEW (widget));
  const IrModel *history = ir_session_get_history (session);
  const guint step = ir_session_get_cursor (session);

  if (history == NULL || step == 0 || step > ir_history_n_steps (history))
    return;
  ir_session_set_compare (session, IR_COMPARE_ORIGINAL);
  ir_session_select_node (session, ir_history_step (history, step)->anchor);
  ir_session_show_view (session, "properties");
  ir_session_show_view (session, "graph");
}

static void
break_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *session = ir_view_get_session (IR_VIEW (widget));

  if (ir_session_add_breakpoint (session, g_variant_get_string (parameter, NULL), NULL))
    ir_session_show_view (session, "breakpoints");
}

static void
make_menu (IrStepsView *self)
{
  GtkGesture *click = gtk_gesture_click_new ();
  GtkEventController *keys = gtk_event_controller_key_new ();

  self->menu = gtk_popover_menu_new_from_model (NULL);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->menu), FALSE);
  gtk_widget_set_halign (self->menu, GTK_ALIGN_START);
  gtk_widget_set_parent (self->menu, self->box);
  g_signal_connect_swapped (self->menu, "closed", G_CALLBACK (gtk_widget_grab_focus),
                            self->list_view);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (click), GDK_BUTTON_SECONDARY);
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (click), GTK_PHASE_CAPTURE);
  g_signal_connect (click, "pressed", G_CALLBACK (on_secondary), self);
  gtk_widget_add_controller (self->list_view, GTK_EVENT_CONTROLLER (click));
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_list_key), self);
  gtk_widget_add_controller (self->list_view, keys);
}

static void
add_bars (IrStepsView *self)
{
  if (self->what_if != NULL)
    return;
  self->what_if = ir_what_if_bar_new (ir_view_get_session (IR_VIEW (self)));
  self->page = ir_step_page_new (ir_view_get_session (IR_VIEW (self)));
  adw_bin_set_child (ADW_BIN (self->page_frame), ir_view_scrolled (self->page));
  gtk_box_prepend (GTK_BOX (self->box), ir_branch_bar_new (ir_view_get_session (IR_VIEW (self))));
  gtk_box_prepend (GTK_BOX (self->box), self->what_if);
}

static void
ir_steps_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrStepsView *self = IR_STEPS_VIEW (view);

  add_bars (self);
  if (changes & IR_CHANGED_HISTORY)
    load_history (self);
  /* what needs no picture is there before it */
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_CURSOR | IR_CHANGED_COMPARE))
    {
      if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_CURSOR | IR_CHANGED_COMPARE))
        sync_cursor (self);
      show_page (self);
    }
}

static void
ir_steps_view_focus_content (IrView *view)
{
  IrStepsView *self = IR_STEPS_VIEW (view);

  gtk_widget_grab_focus (self->list_view);
  queue_scroll (self);
}

/* -- object -- */

static void
ir_steps_view_dispose (GObject *object)
{
  IrStepsView *self = IR_STEPS_VIEW (object);

  g_clear_handle_id (&self->scroll_source, g_source_remove);
  g_clear_pointer (&self->menu, gtk_widget_unparent);
  if (self->selection != NULL)
    g_signal_handlers_disconnect_by_data (self->selection, self);
  g_clear_object (&self->selection);
  g_clear_object (&self->list);
  G_OBJECT_CLASS (ir_steps_view_parent_class)->dispose (object);
}

static void
ir_steps_view_class_init (IrStepsViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_steps_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_steps_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_steps_view_focus_content;
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.skip", "s", skip_action);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.skip-this", NULL,
                                   skip_this_action);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.break", "s", break_action);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.prove", NULL, prove_action);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.trace", NULL, trace_action);
  gtk_widget_class_add_binding_action (GTK_WIDGET_CLASS (klass), GDK_KEY_Delete, GDK_CONTROL_MASK,
                                       "steps.skip-this", NULL);
}

static GtkWidget *
make_list (IrStepsView *self)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  g_signal_connect_object (factory, "setup", G_CALLBACK (setup_row), self, 0);
  g_signal_connect_object (factory, "bind", G_CALLBACK (bind_row), self, 0);
  self->list = ir_step_list_new ();
  self->selection = gtk_single_selection_new (g_object_ref (G_LIST_MODEL (self->list)));
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  g_signal_connect (self->selection, "notify::selected", G_CALLBACK (on_selected), self);
  self->list_view = gtk_list_view_new (g_object_ref (GTK_SELECTION_MODEL (self->selection)),
                                       factory);
  g_signal_connect (self->list_view, "activate", G_CALLBACK (on_activated), self);
  gtk_widget_add_css_class (self->list_view, "navigation-sidebar");
  gtk_widget_add_css_class (self->list_view, "steps");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list_view), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Steps", -1);
  self->search = gtk_search_entry_new ();
  gtk_widget_set_tooltip_text (self->search, "Only steps whose rule or node has these words");
  g_object_set (self->search, "placeholder-text", "Filter by rule, node, verdict", NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->search), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Filter steps", -1);
  gtk_widget_add_css_class (self->search, "steps-search");
  g_signal_connect (self->search, "search-changed", G_CALLBACK (on_search), self);
  g_signal_connect (self->search, "activate", G_CALLBACK (on_search_activate), self);
  g_signal_connect (self->search, "stop-search", G_CALLBACK (on_search_stop), self);
  self->none = gtk_label_new ("No step has these words.");
  gtk_widget_add_css_class (self->none, "dim-label");
  gtk_widget_set_margin_top (self->none, 6);
  gtk_widget_set_margin_bottom (self->none, 6);
  gtk_box_append (GTK_BOX (box), self->search);
  gtk_box_append (GTK_BOX (box), self->none);
  gtk_box_append (GTK_BOX (box), ir_view_scrolled (self->list_view));
  return box;
}

static void
ir_steps_view_init (IrStepsView *self)
{
  GtkWidget *paned = gtk_paned_new (GTK_ORIENTATION_VERTICAL);

  gtk_paned_set_start_child (GTK_PANED (paned), make_list (self));
  self->page_frame = adw_bin_new ();
  gtk_paned_set_end_child (GTK_PANED (paned), self->page_frame);
  gtk_paned_set_resize_start_child (GTK_PANED (paned), TRUE);
  gtk_paned_set_resize_end_child (GTK_PANED (paned), TRUE);
  gtk_paned_set_shrink_start_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_position (GTK_PANED (paned), 380);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("document-open-symbolic", "No Graph",
                                           "Open a graph to optimize it step by step.", "win.open",
                                           "Open…"),
                       "closed");
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page (
          "view-list-symbolic", "No Steps Yet",
          "Run a pipeline: every rewrite becomes a step that you can go to and back from.",
          "win.optimize", "Optimize"),
      "empty");
  gtk_stack_add_named (GTK_STACK (self->stack), paned, "steps");
  gtk_widget_set_vexpand (self->stack, TRUE);
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  make_menu (self);
  gtk_box_append (GTK_BOX (self->box), self->stack);
  adw_bin_set_child (ADW_BIN (self), self->box);
}

const IrViewInfo ir_view_steps = {
  .id = "steps",
  .title = "Steps",
  .icon_name = "view-list-symbolic",
  .doc = "Every rewrite, in order, with its verdict.",
  .help = "A card is a pass with its sums; ▸ or the Right key opens it, ▾ or Left closes it, and "
          "choosing it shows all that the pass did. A row is a rewrite: its rule, where it was "
          "applied, and what it did to the number of nodes; equal ones stand together as × 12. "
          "✓ is bit-exact, ≈ equal up to rounding, ✗ broken, – not proved. Below stands the "
          "rewrite as a picture. F8 goes on, Shift+F8 back.",
  .place = IR_VIEW_START,
  .get_type = ir_steps_view_get_type,
};
