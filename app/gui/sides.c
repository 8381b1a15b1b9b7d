#include "config.h"

#include "app/gui/sides.h"

#include <adwaita.h>

#define NARROW       1200 /* px; below, panes are shown over the graph */
#define TIGHT        1000
#define DRAWER_WIDTH 300
#define DRAWER_MOST                                                                                \
  340 /* px, however long the lines in it are: the graph and what floats over it need the rest */

typedef struct
{
  GtkPaned *paned;
  GtkWidget *pane;
  GtkRevealer *drawer;
  GtkBox *sheet;       /* in the drawer, holds the pane where the window is narrow */
  gboolean wide_shown; /* whether it stands beside the graph when there is room */
} Side;

struct _IrSides
{
  GtkWidget parent_instance;

  GtkWidget *overlay, *centre;
  GtkEventController *keys; /* of the window */
  Side sides[IR_N_SIDES_PLACES];
  int width; /* that was given last */
  gboolean narrow, tight;
  guint idle;
};

enum
{
  SHOWN,
  MODE,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (IrSides, ir_sides, GTK_TYPE_WIDGET)

gboolean
ir_sides_get_narrow (IrSides *self)
{
  return self->narrow;
}

gboolean
ir_sides_get_tight (IrSides *self)
{
  return self->tight;
}

gboolean
ir_sides_get_shown (IrSides *self, IrSidesPlace place)
{
  const Side *side = &self->sides[place];

  return self->narrow ? gtk_revealer_get_reveal_child (side->drawer) : side->wide_shown;
}

int
ir_sides_get_cover (IrSides *self, IrSidesPlace place)
{
  int width = 0;

  if (self->narrow && ir_sides_get_shown (self, place))
    gtk_widget_measure (gtk_revealer_get_child (self->sides[place].drawer),
                        GTK_ORIENTATION_HORIZONTAL, -1, NULL, &width, NULL, NULL);
  return width;
}

/* A window that is going to be small must not begin with more than fits: it would stay as large. */
void
ir_sides_expect (IrSides *self, int width)
{
  self->tight = width < TIGHT;
  g_signal_emit (self, signals[MODE], 0);
}

/* Over the graph there is one at a time. */
void
ir_sides_set_shown (IrSides *self, IrSidesPlace place, gboolean shown)
{
  if (ir_sides_get_shown (self, place) == shown)
    return;
  if (self->narrow)
    for (guint i = 0; i < IR_N_SIDES_PLACES; i++)
      gtk_revealer_set_reveal_child (self->sides[i].drawer, shown && i == place);
  else
    {
      self->sides[place].wide_shown = shown;
      gtk_widget_set_visible (self->sides[place].pane, shown);
    }
  g_signal_emit (self, signals[SHOWN], 0);
}

/* -- from one mode to the other -- */

static void
set_pane (Side *side, gboolean at_start, GtkWidget *pane)
{
  if (at_start)
    gtk_paned_set_start_child (side->paned, pane);
  else
    gtk_paned_set_end_child (side->paned, pane);
}

static void
move_pane (Side *side, gboolean at_start, gboolean narrow)
{
  g_object_ref (side->pane);
  if (narrow)
    {
      set_pane (side, at_start, NULL);
      gtk_box_append (side->sheet, side->pane);
      gtk_widget_set_hexpand (side->pane, TRUE);
    }
  else
    {
      gtk_revealer_set_reveal_child (side->drawer, FALSE);
      gtk_box_remove (side->sheet, side->pane);
      gtk_widget_set_hexpand (side->pane, FALSE);
      set_pane (side, at_start, side->pane);
    }
  gtk_widget_set_visible (side->pane, narrow || side->wide_shown);
  g_object_unref (side->pane);
}

static gboolean
change_mode (gpointer data)
{
  IrSides *self = data;
  const gboolean narrow = self->width < NARROW, tight = self->width < TIGHT;

  self->idle = 0;
  if (narrow == self->narrow && tight == self->tight)
    return G_SOURCE_REMOVE;
  if (narrow != self->narrow)
    for (guint i = 0; i < IR_N_SIDES_PLACES; i++)
      move_pane (&self->sides[i], i == IR_SIDES_START, narrow);
  self->narrow = narrow;
  self->tight = tight;
  g_signal_emit (self, signals[MODE], 0);
  g_signal_emit (self, signals[SHOWN], 0);
  return G_SOURCE_REMOVE;
}

/* -- widget -- */

/* The window may be made as narrow as the graph alone: the panes are out of the way then. */
static void
ir_sides_measure (GtkWidget *widget,
                  GtkOrientation orientation,
                  int for_size,
                  int *minimum,
                  int *natural,
                  int *minimum_baseline,
                  int *natural_baseline)
{
  IrSides *self = IR_SIDES (widget);
  int least;

  gtk_widget_measure (self->overlay, orientation, -1, minimum, natural, NULL, NULL);
  if (orientation != GTK_ORIENTATION_HORIZONTAL)
    return;
  gtk_widget_measure (self->centre, orientation, -1, &least, NULL, NULL, NULL);
  *minimum = MIN (*minimum, least);
}

/* Panes cannot move while sizes are given. */
static void
ir_sides_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  IrSides *self = IR_SIDES (widget);
  int least;

  self->width = width;
  if (self->idle == 0 && ((width < NARROW) != self->narrow || (width < TIGHT) != self->tight))
    self->idle = g_idle_add_full (G_PRIORITY_HIGH_IDLE, change_mode, self, NULL);
  gtk_widget_measure (self->overlay, GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL, NULL);
  gtk_widget_allocate (self->overlay, MAX (width, least), height, baseline, NULL);
}

/* Escape closes what lies over the graph, wherever the focus is: it may have been opened with the pointer. */
static gboolean
on_key (IrSides *self, guint keyval, guint keycode, GdkModifierType state)
{
  gboolean had_focus = FALSE, was_open = FALSE;

  if (keyval != GDK_KEY_Escape || !self->narrow)
    return GDK_EVENT_PROPAGATE;
  for (guint i = 0; i < IR_N_SIDES_PLACES; i++)
    {
      was_open = was_open || ir_sides_get_shown (self, i);
      had_focus = had_focus ||
                  gtk_widget_get_focus_child (GTK_WIDGET (self->sides[i].sheet)) != NULL;
      ir_sides_set_shown (self, i, FALSE);
    }
  if (had_focus)
    gtk_widget_child_focus (self->centre, GTK_DIR_TAB_FORWARD);
  return was_open ? GDK_EVENT_STOP : GDK_EVENT_PROPAGATE;
}

static void
ir_sides_root (GtkWidget *widget)
{
  IrSides *self = IR_SIDES (widget);

  GTK_WIDGET_CLASS (ir_sides_parent_class)->root (widget);
  self->keys = gtk_event_controller_key_new ();
  g_signal_connect_swapped (self->keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (GTK_WIDGET (gtk_widget_get_root (widget)), self->keys);
}

static void
ir_sides_unroot (GtkWidget *widget)
{
  IrSides *self = IR_SIDES (widget);

  gtk_widget_remove_controller (GTK_WIDGET (gtk_widget_get_root (widget)), self->keys);
  GTK_WIDGET_CLASS (ir_sides_parent_class)->unroot (widget);
}

static void
ir_sides_dispose (GObject *object)
{
  IrSides *self = IR_SIDES (object);

  g_clear_handle_id (&self->idle, g_source_remove);
  g_clear_pointer (&self->overlay, gtk_widget_unparent);
  G_OBJECT_CLASS (ir_sides_parent_class)->dispose (object);
}

static void
ir_sides_class_init (IrSidesClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ir_sides_dispose;
  widget_class->root = ir_sides_root;
  widget_class->unroot = ir_sides_unroot;
  widget_class->measure = ir_sides_measure;
  widget_class->size_allocate = ir_sides_size_allocate;
  signals[SHOWN] = g_signal_new ("shown", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                 NULL, NULL, G_TYPE_NONE, 0);
  signals[MODE] = g_signal_new ("mode", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                NULL, G_TYPE_NONE, 0);
}

static void
ir_sides_init (IrSides *self)
{
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
}

static void
build_drawer (IrSides *self, Side *side, gboolean at_start)
{
  GtkWidget *drawer = gtk_revealer_new (), *sheet = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *clamp = adw_clamp_new ();

  gtk_widget_add_css_class (sheet, "drawer");
  gtk_widget_set_size_request (sheet, DRAWER_WIDTH, -1);
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), DRAWER_MOST);
  adw_clamp_set_tightening_threshold (ADW_CLAMP (clamp), DRAWER_MOST);
  adw_clamp_set_child (ADW_CLAMP (clamp), sheet);
  gtk_revealer_set_child (GTK_REVEALER (drawer), clamp);
  gtk_revealer_set_transition_type (GTK_REVEALER (drawer),
                                    at_start ? GTK_REVEALER_TRANSITION_TYPE_SLIDE_RIGHT
                                             : GTK_REVEALER_TRANSITION_TYPE_SLIDE_LEFT);
  gtk_widget_set_halign (drawer, at_start ? GTK_ALIGN_START : GTK_ALIGN_END);
  gtk_overlay_add_overlay (GTK_OVERLAY (self->overlay), drawer);
  side->drawer = GTK_REVEALER (drawer);
  side->sheet = GTK_BOX (sheet);
}

/* @start_paned: without a parent; holds the pane at the start, and @end_paned, which holds the graph
 * and the pane at the end */
GtkWidget *
ir_sides_new (GtkPaned *start_paned, GtkPaned *end_paned)
{
  IrSides *self = g_object_new (IR_TYPE_SIDES, NULL);

  self->overlay = gtk_overlay_new ();
  gtk_widget_set_parent (self->overlay, GTK_WIDGET (self));
  gtk_overlay_set_child (GTK_OVERLAY (self->overlay), GTK_WIDGET (start_paned));
  self->centre = gtk_paned_get_start_child (end_paned);
  self->sides[IR_SIDES_START] = (Side){ .paned = start_paned,
                                        .pane = gtk_paned_get_start_child (start_paned) };
  self->sides[IR_SIDES_END] = (Side){ .paned = end_paned,
                                      .pane = gtk_paned_get_end_child (end_paned) };
  for (guint i = 0; i < IR_N_SIDES_PLACES; i++)
    {
      self->sides[i].wide_shown = gtk_widget_get_visible (self->sides[i].pane);
      build_drawer (self, &self->sides[i], i == IR_SIDES_START);
    }
  return GTK_WIDGET (self);
}
