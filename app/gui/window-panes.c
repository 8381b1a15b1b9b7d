/* Where the parts of the window are: the graph has all that others do not need. Panes beside it and
 * below it come when there is something in them to be seen, and go by keys. */
#include "config.h"

#include "app/gui/panes.h"
#include "app/gui/sides.h"
#include "app/gui/state.h"
#include "app/gui/tab-row.h"
#include "app/gui/unchecked-bar.h"
#include "app/gui/window-private.h"
#include "views/session/runs.h"
#include "views/session/timeline.h"

/* -- panes -- */

/* Tabs that always fit into a pane. */
#define FEW_TABS 4

/* Tabs; for a pane with one view its title and indicator. */
static GtkWidget *
pane_title (IrWindow *self, IrViewPlace place, GtkStack *stack, guint n_views)
{
  GtkWidget *box, *label, *count;
  IrView *view;

  if (n_views != 1)
    {
      GtkWidget *tabs = gtk_stack_switcher_new ();

      gtk_stack_switcher_set_stack (GTK_STACK_SWITCHER (tabs), stack);
      gtk_widget_add_css_class (tabs, "pane-tabs");
      return n_views > FEW_TABS ? ir_tab_row_new (tabs, place, stack) : tabs;
    }
  view = self->views->pdata[self->views->len - 1];
  box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  label = gtk_label_new (ir_view_get_info (view)->title);
  count = gtk_label_new (NULL);
  gtk_widget_add_css_class (label, "heading");
  gtk_widget_add_css_class (count, "dim-label");
  gtk_widget_add_css_class (count, "numeric");
  g_object_bind_property (view, "indicator", count, "label", G_BINDING_SYNC_CREATE);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), count);
  return box;
}

/* The one in front, before the popover comes. That asks a text for its height without saying how wide it is, and would
 * cut off some lines. */
static void
fill_help (GtkMenuButton *button, gpointer stack)
{
  GtkWidget *label = gtk_popover_get_child (gtk_menu_button_get_popover (button));
  GtkWidget *view = gtk_stack_get_visible_child (stack);
  int width, height;

  if (view == NULL)
    return;
  gtk_label_set_text (GTK_LABEL (label), ir_view_get_info (IR_VIEW (view))->help);
  gtk_widget_set_size_request (label, -1, -1);
  gtk_widget_measure (label, GTK_ORIENTATION_HORIZONTAL, -1, NULL, &width, NULL, NULL);
  gtk_widget_measure (label, GTK_ORIENTATION_VERTICAL, width, NULL, &height, NULL, NULL);
  gtk_widget_set_size_request (label, width, height);
}

/* "How to read this", beside the tabs of a pane. */
static GtkWidget *
help_button (GtkStack *stack)
{
  GtkWidget *button = gtk_menu_button_new (), *popover = gtk_popover_new ();
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 46);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "help-text");
  gtk_popover_set_child (GTK_POPOVER (popover), label);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (button), popover);
  gtk_menu_button_set_create_popup_func (GTK_MENU_BUTTON (button), fill_help, stack, NULL);
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "help-about-symbolic");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_add_css_class (button, "help-button");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_set_tooltip_text (button, "How to read this");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "How to read this", -1);
  return button;
}

/* The text beside the graph, and which two graphs the picture compares. */
static void
add_centre_controls (IrWindow *self, GtkBox *bar)
{
  GtkWidget *chooser = ir_compare_chooser_new (self->session);
  GtkWidget *text = gtk_toggle_button_new_with_label ("Text");

  gtk_widget_set_tooltip_text (text, "The graph as text, beside it (Alt+2)");
  gtk_accessible_update_property (GTK_ACCESSIBLE (text), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Text beside the graph", -1);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (text), "win.show-beside");
  gtk_widget_add_css_class (text, "flat");
  gtk_widget_add_css_class (text, "beside-button");
  gtk_widget_set_valign (text, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (chooser, GTK_ALIGN_CENTER);
  gtk_widget_set_hexpand (chooser, TRUE);
  gtk_widget_set_halign (chooser, GTK_ALIGN_END);
  gtk_box_append (bar, chooser);
  gtk_box_append (bar, text);
}

static GtkWidget *
close_button (const char *action)
{
  GtkWidget *button = gtk_button_new_from_icon_name ("window-close-symbolic");

  gtk_widget_set_tooltip_text (button, "Close");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Close the text", -1);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_add_css_class (button, "help-button");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  return button;
}

static GtkStack *
fill_place (IrWindow *self, IrViewPlace place, GtkBox *box)
{
  GtkWidget *stack = gtk_stack_new ();
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  guint n, n_here = 0;
  const IrViewInfo *const *infos = ir_views (&n);

  for (guint i = 0; i < n; i++)
    {
      IrView *view;
      GtkStackPage *page;

      if (infos[i]->place != place)
        continue;
      view = ir_view_info_create (infos[i], self->session);
      page = gtk_stack_add_titled (GTK_STACK (stack), GTK_WIDGET (view), infos[i]->id,
                                   infos[i]->title);
      gtk_accessible_update_property (GTK_ACCESSIBLE (view), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                      infos[i]->title, -1);
      g_object_set_data (G_OBJECT (page), "info", (gpointer) infos[i]);
      g_ptr_array_add (self->views, view);
      n_here++;
    }
  gtk_widget_add_css_class (bar, "pane-header");
  if (place == IR_VIEW_END)
    gtk_widget_add_css_class (bar, "side");
  gtk_box_append (GTK_BOX (bar), pane_title (self, place, GTK_STACK (stack), n_here));
  if (n_here > 0)
    {
      GtkWidget *help = help_button (GTK_STACK (stack));

      gtk_widget_set_hexpand (help, place != IR_VIEW_CENTRE);
      gtk_widget_set_halign (help, GTK_ALIGN_END);
      gtk_box_append (GTK_BOX (bar), help);
    }
  if (place == IR_VIEW_CENTRE)
    add_centre_controls (self, GTK_BOX (bar));
  if (place == IR_VIEW_BESIDE)
    gtk_box_append (GTK_BOX (bar), close_button ("win.show-beside"));
  /* one that is not in front needs no room */
  gtk_stack_set_vhomogeneous (GTK_STACK (stack), FALSE);
  gtk_widget_set_vexpand (stack, TRUE);
  gtk_box_append (box, bar);
  if (place == IR_VIEW_START)
    gtk_box_append (box, ir_unchecked_bar_new (self->session));
  gtk_box_append (box, stack);
  return GTK_STACK (stack);
}

/* Below the graph, while the panel is closed: its views by name. */
static void
fill_bottom_tabs (IrWindow *self)
{
  GtkWidget *tabs = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  guint n;
  const IrViewInfo *const *infos = ir_views (&n);

  for (guint i = 0; i < n; i++)
    {
      GtkWidget *button;

      if (infos[i]->place != IR_VIEW_BOTTOM)
        continue;
      button = gtk_button_new_with_label (infos[i]->title);
      gtk_widget_add_css_class (button, "flat");
      gtk_widget_set_tooltip_text (button, infos[i]->doc);
      gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "win.show");
      gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", infos[i]->id);
      gtk_box_append (GTK_BOX (tabs), button);
    }
  gtk_box_append (self->bottom_tabs, ir_tab_row_new (tabs, IR_VIEW_BOTTOM, NULL));
}

static void
build_panes (IrWindow *self)
{
  GtkBox *const boxes[IR_N_VIEW_PLACES] = {
    [IR_VIEW_START] = self->start_box,   [IR_VIEW_CENTRE] = self->centre_box,
    [IR_VIEW_BESIDE] = self->beside_box, [IR_VIEW_END] = self->end_box,
    [IR_VIEW_BOTTOM] = self->bottom_box,
  };

  for (guint i = 0; i < IR_N_VIEW_PLACES; i++)
    self->stacks[i] = fill_place (self, i, boxes[i]);
  /* What is selected comes first, although another tab does. */
  gtk_stack_set_visible_child_name (self->stacks[IR_VIEW_END], "properties");
}

/* -- dividers -- */

#define START_WIDTH   300
#define END_WIDTH     280
#define BOTTOM_HEIGHT 320
#define BOTTOM_PART   0.42 /* of the height, at most */
#define BESIDE_PART   0.45 /* of the graph's width */

static int
start_place (GtkPaned *paned, gpointer data)
{
  return START_WIDTH;
}

static int
end_place (GtkPaned *paned, gpointer data)
{
  return MAX (gtk_widget_get_width (GTK_WIDGET (paned)) - END_WIDTH, 320);
}

static int
bottom_place (GtkPaned *paned, gpointer data)
{
  const int height = gtk_widget_get_height (GTK_WIDGET (paned));

  return MAX (height - MIN (BOTTOM_HEIGHT, (int) (BOTTOM_PART * height)), 200);
}

static int
beside_place (GtkPaned *paned, gpointer data)
{
  return (int) ((1 - BESIDE_PART) * gtk_widget_get_width (GTK_WIDGET (paned)));
}

static void
set_up_dividers (IrWindow *self)
{
  ir_panes_set_up (self->beside_paned, beside_place, NULL);
  ir_panes_set_up (self->start_paned, start_place, NULL);
  ir_panes_set_up (self->end_paned, end_place, NULL);
  ir_panes_set_up (self->bottom_paned, bottom_place, NULL);
  for (guint i = 0; i < IR_N_VIEW_PLACES; i++)
    ir_panes_set_up_within (GTK_WIDGET (self->stacks[i]));
}

/* The right and bottom panes keep their size, the middle gets the rest: positions are counted from
 * the left and top, so they can be set only once the window has its size. */
static gboolean
place_panes (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  IrWindow *self = IR_WINDOW (widget);
  const int width = gtk_widget_get_width (GTK_WIDGET (self->end_paned));
  const int height = gtk_widget_get_height (GTK_WIDGET (self->bottom_paned));

  if (width <= 1 || height <= 1)
    return G_SOURCE_CONTINUE;
  if (!ir_sides_get_narrow (self->sides))
    {
      gtk_paned_set_position (
          self->end_paned,
          MAX (width - ir_panes_keep (ir_state_get_int ("end-width", END_WIDTH), 240, width), 320));
      gtk_paned_set_position (self->start_paned,
                              ir_panes_keep (ir_state_get_int ("start-width", START_WIDTH), 220,
                                             gtk_widget_get_width (widget)));
    }
  gtk_paned_set_position (
      self->bottom_paned,
      MAX (height -
               ir_panes_keep (ir_state_get_int ("bottom-height",
                                                MIN (BOTTOM_HEIGHT, (int) (BOTTOM_PART * height))),
                              140, height),
           200));
  return G_SOURCE_REMOVE;
}

/* The text keeps its width, which is only known once the window has its own. */
static gboolean
place_beside (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  const int width = gtk_widget_get_width (widget);
  const int wanted = ir_state_get_int ("beside-width", (int) (BESIDE_PART * width));

  if (width <= 1)
    return G_SOURCE_CONTINUE;
  gtk_paned_set_position (GTK_PANED (widget),
                          MAX (width - MAX (MIN (wanted, (int) (0.7 * width)), 240), 240));
  return G_SOURCE_REMOVE;
}

/* Gives the panes their sizes as soon as the window has its own */
void
ir_window_place_panes (IrWindow *self)
{
  gtk_widget_add_tick_callback (GTK_WIDGET (self), place_panes, NULL, NULL);
}

static void
keep_size (const char *key, int size)
{
  if (size > 1)
    ir_state_set_int (key, size);
}

/* What is not on screen beside the graph keeps the size that it had. */
void
ir_window_remember_panes (IrWindow *self)
{
  if (!ir_sides_get_narrow (self->sides) && ir_sides_get_shown (self->sides, IR_SIDES_START))
    keep_size ("start-width", gtk_paned_get_position (self->start_paned));
  if (!ir_sides_get_narrow (self->sides) && ir_sides_get_shown (self->sides, IR_SIDES_END))
    keep_size ("end-width", gtk_widget_get_width (GTK_WIDGET (self->end_box)));
  if (gtk_widget_get_visible (GTK_WIDGET (self->beside_box)))
    keep_size ("beside-width", gtk_widget_get_width (GTK_WIDGET (self->beside_box)));
  if (gtk_widget_get_visible (GTK_WIDGET (self->bottom_box)))
    keep_size ("bottom-height", gtk_widget_get_height (GTK_WIDGET (self->bottom_box)));
}

/* -- what floats over the graph -- */

#define FLOAT_WIDTH  720 /* px, at most */
#define FLOAT_MARGIN 10
#define ZOOM_BAR     200 /* px, with its margins */
#define ZOOM_HEIGHT  52
#define LOW_GRAPH    520 /* px; a lower graph needs its room more than the buttons do */

static gboolean
wants_low (IrWindow *self)
{
  return ir_sides_get_tight (self->sides) ||
         gtk_widget_get_height (GTK_WIDGET (self->centre_overlay)) < LOW_GRAPH;
}

/* Whether what floats is as low as it can be. Returns whether that is new. */
static gboolean
set_low (IrWindow *self)
{
  const gboolean low = wants_low (self);

  if (low == self->low)
    return FALSE;
  self->low = low;
  ir_transport_set_compact (self->transport, low);
  ir_window_update_float (self);
  return TRUE;
}

/* Panes that lie on the graph, or on the text beside it first. */
static void
leave_sides (IrWindow *self)
{
  IrView *centre = ir_window_visible_view (self, IR_VIEW_CENTRE);
  const gboolean beside = gtk_widget_get_visible (GTK_WIDGET (self->beside_box));
  const int text = beside ? gtk_widget_get_width (GTK_WIDGET (self->beside_box)) : 0;

  if (centre != NULL)
    ir_view_set_cover (centre, ir_sides_get_cover (self->sides, IR_SIDES_START),
                       MAX (ir_sides_get_cover (self->sides, IR_SIDES_END) - text, 0));
  gtk_widget_queue_allocate (
      GTK_WIDGET (self->centre_overlay)); /* place_float() asks for them, too */
}

/* How far up a toast @width px wide goes, in @room px, so that the legend can be read. */
static int
above_note (IrWindow *self, int width, int room)
{
  IrView *centre = ir_window_visible_view (self, IR_VIEW_CENTRE);
  int note_width = 0, note_height = 0;

  if (centre != NULL)
    ir_view_get_note (centre, &note_width, &note_height);
  return (room - width) / 2 < note_width ? note_height : 0;
}

/* Above what floats over the graph; where it would lie on the bar of the zoom, left of that, or above it. */
static void
place_toast (IrWindow *self, GtkWidget *toast, int all)
{
  const int bar_end = gtk_widget_get_width (GTK_WIDGET (self->centre_box)) -
                      ir_sides_get_cover (self->sides, IR_SIDES_END);
  const int bar = bar_end - ZOOM_BAR;
  int least, width, end = 0, above;
  gboolean over;

  gtk_widget_measure (toast, GTK_ORIENTATION_HORIZONTAL, -1, &least, &width, NULL, NULL);
  width -= gtk_widget_get_margin_end (toast);
  least -= gtk_widget_get_margin_end (toast);
  over = all - width < 2 * bar_end && all + width > 2 * bar;
  if (over && least <= bar)
    end = all - bar;
  above = above_note (self, width, all - end);
  if (over && end == 0)
    above = MAX (above, ZOOM_HEIGHT);
  gtk_widget_set_margin_bottom (toast, self->room_below + above);
  gtk_widget_set_margin_end (toast, end);
}

static void
place_toasts (IrWindow *self)
{
  GtkWidget *overlay = GTK_WIDGET (self->graph_toasts),
            *graph = adw_toast_overlay_get_child (self->graph_toasts);

  for (GtkWidget *child = gtk_widget_get_first_child (overlay); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (child != graph)
      place_toast (self, child, gtk_widget_get_width (overlay));
}

void
ir_window_add_toast (IrWindow *self, AdwToast *toast)
{
  adw_toast_overlay_add_toast (
      gtk_widget_get_mapped (GTK_WIDGET (self->graph_toasts)) ? self->graph_toasts : self->toasts,
      toast);
  place_toasts (self);
}

static gboolean
leave_room (gpointer data)
{
  IrWindow *self = data;
  const gboolean any = gtk_widget_get_visible (GTK_WIDGET (self->float_box));
  int height = 0;

  self->room_source = 0;
  if (set_low (self))
    return G_SOURCE_REMOVE; /* what floats gets another size: this is called again */
  if (any)
    gtk_widget_measure (GTK_WIDGET (self->float_box), GTK_ORIENTATION_VERTICAL, -1, &height, NULL,
                        NULL, NULL);
  self->room_below = any ? height + FLOAT_MARGIN : 0;
  place_toasts (self);
  for (guint i = 0; i < self->views->len; i++)
    {
      const IrViewPlace place = ir_view_get_info (self->views->pdata[i])->place;

      if (place == IR_VIEW_CENTRE || place == IR_VIEW_BESIDE)
        ir_view_set_inset (self->views->pdata[i],
                           place == IR_VIEW_CENTRE || self->float_over_text ? self->room_below : 0);
    }
  leave_sides (self);
  return G_SOURCE_REMOVE;
}

void
ir_window_queue_room (IrWindow *self)
{
  if (self->room_source == 0)
    self->room_source = g_idle_add_full (GDK_PRIORITY_REDRAW - 10, leave_room, self, NULL);
}

/* Over the graph alone, where that is wide enough; the text beside it, and panes that lie on it, are then free.
 * @left: (out): where it begins */
static int
float_room (IrWindow *self, int *left)
{
  const int start = ir_sides_get_cover (self->sides, IR_SIDES_START),
            end = ir_sides_get_cover (self->sides, IR_SIDES_END);
  const int all = gtk_widget_get_width (GTK_WIDGET (self->centre_overlay)),
            graph = gtk_widget_get_width (GTK_WIDGET (self->centre_box));
  int least;

  gtk_widget_measure (GTK_WIDGET (self->float_box), GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL,
                      NULL, NULL);
  least += 2 * FLOAT_MARGIN;
  *left = 0;
  if (gtk_widget_get_visible (GTK_WIDGET (self->beside_box)))
    return graph >= least ? graph : all;
  if (all - start - end < least)
    return all;
  *left = start;
  return all - start - end;
}

static gboolean
place_float (GtkOverlay *overlay, GtkWidget *child, GdkRectangle *at, gpointer data)
{
  IrWindow *self = data;
  int left;
  const int all = float_room (self, &left);
  const gboolean over_text = all == gtk_widget_get_width (GTK_WIDGET (overlay));
  const int width = MIN (FLOAT_WIDTH, all - 2 * FLOAT_MARGIN);
  int least, height;

  gtk_widget_measure (child, GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL, NULL);
  gtk_widget_measure (child, GTK_ORIENTATION_VERTICAL, MAX (width, least), &height, NULL, NULL,
                      NULL);
  *at = (GdkRectangle){ left + (all - MAX (width, least)) / 2,
                        gtk_widget_get_height (GTK_WIDGET (overlay)) - height - FLOAT_MARGIN,
                        MAX (width, least), height };
  if (over_text != self->float_over_text)
    {
      self->float_over_text = over_text;
      ir_window_queue_room (self);
    }
  if (wants_low (self) != self->low)
    ir_window_queue_room (self);
  return TRUE;
}

/* There are buttons for steps where there are steps; views leave room below for what floats, as soon
 * as it knows what it shows. */
void
ir_window_update_float (IrWindow *self)
{
  const gboolean steps = ir_session_get_n_steps (self->session) > 0;

  gtk_widget_set_visible (GTK_WIDGET (self->transport), steps);
  /* where there is little room the graph needs it more: the properties say it, too */
  gtk_widget_set_visible (GTK_WIDGET (self->run_status),
                          gtk_label_get_text (self->run_status)[0] != '\0' &&
                              !(steps && self->low));
  gtk_widget_set_visible (GTK_WIDGET (self->float_box),
                          steps || gtk_widget_get_visible (GTK_WIDGET (self->run_status)));
  ir_window_queue_room (self);
}

/* -- which panes are shown -- */

static void
set_state (IrWindow *self, const char *action, gboolean state)
{
  GAction *found = g_action_map_lookup_action (G_ACTION_MAP (self), action);

  g_simple_action_set_state (G_SIMPLE_ACTION (found), g_variant_new_boolean (state));
}

static void
show_bottom (IrWindow *self, gboolean shown)
{
  gtk_widget_set_visible (GTK_WIDGET (self->bottom_box), shown);
  gtk_widget_set_visible (GTK_WIDGET (self->bottom_tabs), !shown && !self->alone);
  set_state (self, "show-bottom", shown);
}

static void
show_beside (IrWindow *self, gboolean shown)
{
  const gboolean was_shown = gtk_widget_get_visible (GTK_WIDGET (self->beside_box));
  GtkWidget *focus = gtk_window_get_focus (GTK_WINDOW (self));
  const gboolean had_focus = focus != NULL &&
                             gtk_widget_is_ancestor (focus, GTK_WIDGET (self->beside_box));

  if (was_shown && !shown)
    keep_size ("beside-width", gtk_widget_get_width (GTK_WIDGET (self->beside_box)));
  if (shown && !was_shown)
    gtk_widget_add_tick_callback (GTK_WIDGET (self->beside_paned), place_beside, NULL, NULL);
  gtk_widget_set_visible (GTK_WIDGET (self->beside_box), shown);
  set_state (self, "show-beside", shown);
  if (had_focus && !shown)
    ir_view_focus_content (ir_window_visible_view (self, IR_VIEW_CENTRE));
}

/* Back to how it was, when something else than the graph is asked for */
static void
end_alone (IrWindow *self)
{
  if (!self->alone)
    return;
  self->alone = FALSE;
  set_state (self, "graph-alone", FALSE);
  gtk_widget_set_visible (gtk_widget_get_first_child (GTK_WIDGET (self->centre_box)), TRUE);
  gtk_widget_set_visible (GTK_WIDGET (self->bottom_tabs),
                          !gtk_widget_get_visible (GTK_WIDGET (self->bottom_box)));
}

/* Shows or hides the pane of @place; the centre is always there */
void
ir_window_show_pane (IrWindow *self, IrViewPlace place, gboolean shown)
{
  if (shown)
    end_alone (self);
  if (place == IR_VIEW_BOTTOM)
    show_bottom (self, shown);
  else if (place == IR_VIEW_BESIDE)
    show_beside (self, shown);
  else if (place != IR_VIEW_CENTRE)
    ir_sides_set_shown (self->sides, place == IR_VIEW_START ? IR_SIDES_START : IR_SIDES_END, shown);
}

/* The graph and nothing else, or all as it was before */
void
ir_window_show_alone (IrWindow *self, gboolean alone)
{
  if (alone == self->alone)
    return;
  if (alone)
    {
      self->shown_before[IR_VIEW_START] = ir_sides_get_shown (self->sides, IR_SIDES_START);
      self->shown_before[IR_VIEW_END] = ir_sides_get_shown (self->sides, IR_SIDES_END);
      self->shown_before[IR_VIEW_BESIDE] = gtk_widget_get_visible (GTK_WIDGET (self->beside_box));
      self->shown_before[IR_VIEW_BOTTOM] = gtk_widget_get_visible (GTK_WIDGET (self->bottom_box));
    }
  else
    end_alone (self);
  for (IrViewPlace place = 0; place < IR_N_VIEW_PLACES; place++)
    if (place != IR_VIEW_CENTRE)
      ir_window_show_pane (self, place, !alone && self->shown_before[place]);
  self->alone = alone;
  set_state (self, "graph-alone", alone);
  gtk_widget_set_visible (gtk_widget_get_first_child (GTK_WIDGET (self->centre_box)), !alone);
  if (alone)
    {
      gtk_widget_set_visible (GTK_WIDGET (self->bottom_tabs), FALSE);
      gtk_stack_set_visible_child_name (self->stacks[IR_VIEW_CENTRE], "graph");
      ir_view_focus_content (ir_window_visible_view (self, IR_VIEW_CENTRE));
    }
}

/* A pane comes by itself once, when there is something in it for the first time. */
void
ir_window_raise_panes (IrWindow *self)
{
  const gboolean steps = ir_session_get_n_steps (self->session) > 0;
  const gboolean run = ir_session_get_run (self->session, IR_SIDE_AFTER) != NULL;

  if (steps && !self->raised[IR_VIEW_START] && !self->alone && !ir_sides_get_narrow (self->sides))
    ir_window_show_pane (self, IR_VIEW_START, TRUE);
  if (run && !self->raised[IR_VIEW_BOTTOM] && !self->alone)
    ir_window_show_pane (self, IR_VIEW_BOTTOM, TRUE);
  self->raised[IR_VIEW_START] |= steps;
  self->raised[IR_VIEW_BOTTOM] |= run;
}

static void
on_shown (IrWindow *self)
{
  set_state (self, "show-start", ir_sides_get_shown (self->sides, IR_SIDES_START));
  set_state (self, "show-end", ir_sides_get_shown (self->sides, IR_SIDES_END));
  ir_window_queue_room (self);
}

static void
on_mode (IrWindow *self)
{
  const gboolean narrow = ir_sides_get_narrow (self->sides);

  gtk_widget_set_visible (self->inputs_button, !ir_sides_get_tight (self->sides));
  gtk_widget_set_visible (self->options_button, !ir_sides_get_tight (self->sides));
  if (!set_low (self))
    ir_window_update_float (self);
  if (!narrow && self->panes_placed)
    ir_window_place_panes (self);
}

/* Fills the panes with the views; once */
void
ir_window_build_panes (IrWindow *self)
{
  build_panes (self);
  fill_bottom_tabs (self);
  set_up_dividers (self);
  g_object_ref (self->start_paned);
  adw_bin_set_child (self->workspace, NULL);
  self->sides = IR_SIDES (ir_sides_new (self->start_paned, self->end_paned));
  adw_bin_set_child (self->workspace, GTK_WIDGET (self->sides));
  g_object_unref (self->start_paned);
  g_signal_connect_object (self->sides, "shown", G_CALLBACK (on_shown), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->sides, "mode", G_CALLBACK (on_mode), self, G_CONNECT_SWAPPED);
  g_signal_connect (self->centre_overlay, "get-child-position", G_CALLBACK (place_float), self);
  on_shown (self);
}
