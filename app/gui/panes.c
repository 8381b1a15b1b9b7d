#include "config.h"

#include "app/gui/panes.h"

/* Part of the window that a pane at the side gets at most. */
#define MOST_PART 0.45

/* A divider that has the focus takes arrows, Home and End for itself; F6 and F8 gave it the focus.
 */
static const char *const key_signals[] = {
  "cycle-child-focus", "cycle-handle-focus", "toggle-handle-focus",
  "move-handle",       "accept-position",    "cancel-position",
};

static gboolean
leave_key (GtkPaned *paned)
{
  g_signal_stop_emission (paned, g_signal_get_invocation_hint (paned)->signal_id, 0);
  return FALSE;
}

typedef struct
{
  IrPanePlace place; /* (nullable) */
  gpointer data;
  int position; /* where there is no place: as it was made, -1: by what the panes need */
  gint64 pressed_us;
} Divider;

/* What is in neither pane lies between them. */
static gboolean
is_divider (GtkPaned *paned, double x, double y)
{
  GtkWidget *found = gtk_widget_pick (GTK_WIDGET (paned), x, y, GTK_PICK_DEFAULT);
  GtkWidget *start = gtk_paned_get_start_child (paned), *end = gtk_paned_get_end_child (paned);

  return found != NULL && start != NULL && end != NULL && found != start && found != end &&
         !gtk_widget_is_ancestor (found, start) && !gtk_widget_is_ancestor (found, end);
}

/* The drag of the divider takes the pointer, so that a gesture counts no second press. */
static void
on_pressed (GtkGestureClick *click, int n_press, double x, double y, gpointer user_data)
{
  GtkPaned *paned = GTK_PANED (gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (click)));
  Divider *self = user_data;
  const gint64 now_us = g_get_monotonic_time ();
  int most_ms;

  if (!is_divider (paned, x, y))
    return;
  g_object_get (gtk_widget_get_settings (GTK_WIDGET (paned)), "gtk-double-click-time", &most_ms,
                NULL);
  if (self->pressed_us != 0 && now_us - self->pressed_us < (gint64) most_ms * 1000)
    {
      self->pressed_us = 0;
      gtk_gesture_set_state (GTK_GESTURE (click), GTK_EVENT_SEQUENCE_CLAIMED);
      gtk_paned_set_position (paned, self->place != NULL ? self->place (paned, self->data)
                                                         : self->position);
      return;
    }
  self->pressed_us = now_us;
}

/* Keys pass @paned by, and a double click on the divider puts it where it belongs. @place: where
 * the divider belongs; NULL: where it is now. */
void
ir_panes_set_up (GtkPaned *paned, IrPanePlace place, gpointer data)
{
  GtkGesture *click = gtk_gesture_click_new ();
  Divider *self = g_new0 (Divider, 1);
  gboolean is_set;

  g_object_get (paned, "position-set", &is_set, NULL);
  *self = (Divider){ place, data, is_set ? gtk_paned_get_position (paned) : -1, 0 };
  gtk_widget_set_focusable (GTK_WIDGET (paned), FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (key_signals); i++)
    g_signal_connect_swapped (paned, key_signals[i], G_CALLBACK (leave_key), paned);
  g_object_set_data_full (G_OBJECT (paned), "divider", self, g_free);
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (click), GTK_PHASE_CAPTURE);
  g_signal_connect (click, "pressed", G_CALLBACK (on_pressed), self);
  gtk_widget_add_controller (GTK_WIDGET (paned), GTK_EVENT_CONTROLLER (click));
}

/* Does so with all below @root; each divider belongs where it is now */
void
ir_panes_set_up_within (GtkWidget *root)
{
  if (GTK_IS_PANED (root))
    ir_panes_set_up (GTK_PANED (root), NULL, NULL);
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    ir_panes_set_up_within (child);
}

/* What it gets, so that the graph stays the largest */
int
ir_panes_keep (int size, int least, int all)
{
  return MAX (MIN (size, (int) (all * MOST_PART)), least);
}
