/* Play: a run's control flow, event by event, or by the iterations of a loop. A row selects its node in the
 * picture; the buttons and the keys step through them, or let them go by. */
#include "config.h"

#include "views/play/event-list.h"
#include "views/play/event-table.h"
#include "views/play/iterations.h"

#include "core/layout/charts.h"
#include "views/chart-area.h"
#include "core/ir/count.h"
#include "views/name.h"
#include "views/session/frame.h"
#include "views/session/play.h"
#include "views/session/selection.h"
#include "views/view.h"

#include <string.h>

#define PER_SECOND 5 /* events that go by */
#define WRITTEN    3 /* iterations that are written out at first */

struct _IrPlayView
{
  IrView parent;
  IrEventList *events;
  GtkSingleSelection *selection;
  GtkWidget *stack, *content, *pages, *table, *iterations, *frames, *one, *iteration, *count, *note,
      *go, *by_events, *by_iterations, *by_lanes, *by_unrolled, *first, *last, *again;
  IrChartArea *lanes, *unrolled;
  char *place;    /* (nullable) the loop that was looked at last, "outer@3/inner" */
  IrFlowLog *log; /* (nullable) whose events are shown */
  gint64 coming;  /* the number of an event that is to be selected when it is there; -1: none */
  gboolean coming_last; /* else one before it */
  guint ticking;
  gboolean syncing, chose_value; /* a value was chosen, whose node stays selected */
};

#define IR_TYPE_PLAY_VIEW (ir_play_view_get_type ())
G_DECLARE_FINAL_TYPE (IrPlayView, ir_play_view, IR, PLAY_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrPlayView, ir_play_view, IR_TYPE_VIEW)

static IrSession *
session_of (IrPlayView *self)
{
  return ir_view_get_session (IR_VIEW (self));
}

/* -- what is shown -- */

static const char *
chosen_frame (IrPlayView *self)
{
  const guint position = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->frames));
  const IrFlowLog *log = ir_session_get_events (session_of (self));
  const GArray *frames = log != NULL ? ir_flow_log_frames (log) : NULL;

  return frames != NULL && position > 0 && position <= frames->len
             ? g_array_index (frames, IrFlowFrame, position - 1).name
             : NULL;
}

static void
show_count (IrPlayView *self, const IrFlowLog *log)
{
  g_autofree char *shown = ir_count_text (g_list_model_get_n_items (G_LIST_MODEL (self->events)));
  g_autofree char *all = ir_count_text ((guint) MIN (ir_flow_log_n_events (log), G_MAXUINT));
  g_autofree char *text = g_strdup_printf ("%s of %s events", shown, all);

  gtk_label_set_text (GTK_LABEL (self->count), text);
}

/* The chosen loop, or else the first, of which iterations can be played again; 0: there is none */
static IrNodeId
loop_to_play (IrPlayView *self, const IrFlowLog *log)
{
  const GArray *frames = ir_flow_log_frames (log);
  const char *chosen = chosen_frame (self);
  IrNodeId loop = chosen != NULL ? ir_flow_log_outer_loop (log, chosen) : 0;

  for (guint i = 0; chosen == NULL && loop == 0 && i < frames->len; i++)
    loop = ir_flow_log_outer_loop (log, g_array_index (frames, IrFlowFrame, i).name);
  return loop;
}

static gint64
spun (const IrPlayView *self)
{
  return gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->iteration));
}

static void
filter (IrPlayView *self)
{
  IrFlowLog *log = ir_session_get_events (session_of (self));

  if (self->syncing || log == NULL)
    return;
  if (gtk_check_button_get_active (GTK_CHECK_BUTTON (self->one)))
    ir_session_play_rounds (session_of (self), loop_to_play (self, log), spun (self), spun (self));
  ir_event_list_set (self->events, log, chosen_frame (self),
                     gtk_check_button_get_active (GTK_CHECK_BUTTON (self->one))
                         ? gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->iteration))
                         : -1);
  show_count (self, log);
}

static IrScene *
make_lanes (IrJob *job,
            gpointer log,
            const IrChartOptions *options,
            GCancellable *cancellable,
            GError **error)
{
  return ir_chart_flow (log, options);
}

static void
load_lanes (IrPlayView *self)
{
  IrFlowLog *log = ir_session_get_events (session_of (self));

  if (log != NULL && gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_lanes)))
    ir_chart_area_load (self->lanes, make_lanes, ir_flow_log_ref (log),
                        (GDestroyNotify) ir_flow_log_unref);
}

/* Iterations of a loop to be written out. */
typedef struct
{
  IrFlowLog *log;
  char *loop;
  gint64 first, last;
} Written;

static void
written_free (gpointer data)
{
  Written *written = data;

  ir_flow_log_unref (written->log);
  g_free (written->loop);
  g_free (written);
}

static IrScene *
make_unrolled (IrJob *job,
               gpointer data,
               const IrChartOptions *options,
               GCancellable *cancellable,
               GError **error)
{
  const Written *written = data;

  return ir_chart_unrolled (written->log, written->loop, written->first, written->last, options,
                            cancellable, error);
}

/* The chosen loop, where it was looked at last, or else the first */
static const char *
loop_to_write (IrPlayView *self, const IrFlowLog *log)
{
  const GArray *frames = ir_flow_log_frames (log);
  const char *chosen = chosen_frame (self);

  return self->place != NULL ? self->place
         : chosen != NULL    ? chosen
         : frames->len > 0   ? g_array_index (frames, IrFlowFrame, 0).name
                             : NULL;
}

static void
load_unrolled (IrPlayView *self)
{
  IrFlowLog *log = ir_session_get_events (session_of (self));
  const char *loop = log != NULL ? loop_to_write (self, log) : NULL;
  Written *written;

  if (self->syncing || loop == NULL ||
      !gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_unrolled)))
    return;
  written = g_new0 (Written, 1);
  written->log = ir_flow_log_ref (log);
  written->loop = g_strdup (loop);
  written->first = gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->first));
  written->last = MAX (gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->last)),
                       written->first);
  ir_chart_area_load (self->unrolled, make_unrolled, written, written_free);
}

/* One of both ends was moved: the other goes along where it has to. */
static void
on_written (IrPlayView *self, GtkSpinButton *moved)
{
  const double first = gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->first)),
               last = gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->last));

  if (self->syncing)
    return;
  if (last < first)
    gtk_spin_button_set_value (
        GTK_SPIN_BUTTON (GTK_WIDGET (moved) == self->first ? self->last : self->first),
        GTK_WIDGET (moved) == self->first ? first : last);
  else
    load_unrolled (self);
}

/* From @first on, as many as now */
static void
write_from (IrPlayView *self, double first)
{
  const double span = gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->last)) -
                      gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->first));

  self->syncing = TRUE;
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->first), first);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->last), first + span);
  self->syncing = FALSE;
  load_unrolled (self);
}

static gboolean
has_frames (IrPlayView *self)
{
  const IrFlowLog *log = ir_session_get_events (session_of (self));

  return log != NULL && ir_flow_log_frames (log)->len > 0;
}

static void
show_page (IrPlayView *self)
{
  const gboolean iterations = gtk_toggle_button_get_active (
                     GTK_TOGGLE_BUTTON (self->by_iterations)),
                 lanes = gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_lanes)),
                 unrolled = gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_unrolled));

  if ((iterations || unrolled) && gtk_drop_down_get_selected (GTK_DROP_DOWN (self->frames)) == 0)
    gtk_drop_down_set_selected (GTK_DROP_DOWN (self->frames),
                                1); /* one has a table, all have none */
  gtk_widget_set_sensitive (self->frames, !lanes && has_frames (self)); /* lanes are of all loops */
  gtk_stack_set_visible_child_name (GTK_STACK (self->pages), lanes        ? "lanes"
                                                             : unrolled   ? "unrolled"
                                                             : iterations ? "iterations"
                                                                          : "events");
  if (lanes)
    load_lanes (self);
  if (unrolled)
    load_unrolled (self);
  if (iterations)
    ir_iterations_tell (IR_ITERATIONS (self->iterations));
}

static void
on_frame (IrPlayView *self)
{
  IrFlowLog *log = ir_session_get_events (session_of (self));

  if (self->syncing || log == NULL)
    return;
  filter (self);
  g_clear_pointer (&self->place, g_free);
  ir_iterations_set (IR_ITERATIONS (self->iterations), log, chosen_frame (self));
  show_page (self);
}

static void
show_frames (IrPlayView *self, const IrFlowLog *log)
{
  const GArray *frames = ir_flow_log_frames (log);
  g_autoptr (GtkStringList) names = gtk_string_list_new (NULL);
  guint64 most = 0;

  gtk_string_list_append (names, "All loops");
  for (guint i = 0; i < frames->len; i++)
    {
      const IrFlowFrame *frame = &g_array_index (frames, IrFlowFrame, i);
      g_autofree char *text = g_strdup_printf ("%s · %" G_GUINT64_FORMAT " iteration%s",
                                               frame->name, frame->n_iterations,
                                               frame->n_iterations == 1 ? "" : "s");
      gtk_string_list_append (names, text);
      most = MAX (most, frame->n_iterations);
    }
  self->syncing = TRUE;
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->frames), G_LIST_MODEL (names));
  gtk_spin_button_set_range (GTK_SPIN_BUTTON (self->iteration), 0, MAX ((double) most - 1, 0));
  gtk_spin_button_set_range (GTK_SPIN_BUTTON (self->first), 0, MAX ((double) most - 1, 0));
  gtk_spin_button_set_range (GTK_SPIN_BUTTON (self->last), 0, MAX ((double) most - 1, 0));
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->first), 0);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->last), WRITTEN - 1);
  gtk_check_button_set_active (GTK_CHECK_BUTTON (self->one), FALSE);
  self->syncing = FALSE;
  gtk_widget_set_sensitive (self->one, frames->len > 0);
  gtk_widget_set_sensitive (self->by_iterations, frames->len > 0);
  if (frames->len == 0)
    gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->by_events), TRUE);
  gtk_widget_set_sensitive (self->by_lanes, frames->len > 0);
  gtk_widget_set_sensitive (self->by_unrolled, frames->len > 0);
  show_page (self);
}

static void
show_note (IrPlayView *self)
{
  g_autofree char *stale = ir_session_events_stale_text (session_of (self));
  const char *error = ir_session_get_play_error (session_of (self)),
             *text = error != NULL ? error : stale;

  gtk_label_set_text (GTK_LABEL (self->note), text != NULL ? text : "");
  gtk_widget_set_visible (self->note, text != NULL);
}

static void
stop_ticking (IrPlayView *self)
{
  g_clear_handle_id (&self->ticking, g_source_remove);
  gtk_button_set_icon_name (GTK_BUTTON (self->go), "media-playback-start-symbolic");
}

static void
load (IrPlayView *self)
{
  const IrFlowLog *log = ir_session_get_events (session_of (self));
  const IrFrame *frame = ir_session_get_frame (session_of (self));

  stop_ticking (self);
  g_clear_pointer (&self->place, g_free);
  self->chose_value = FALSE;
  self->coming = -1;
  self->log = ir_session_get_events (session_of (self));
  ir_event_list_set (self->events, NULL, NULL, -1);
  ir_iterations_set (IR_ITERATIONS (self->iterations), NULL, NULL);
  ir_chart_area_clear (self->lanes);
  ir_chart_area_clear (self->unrolled);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), frame == NULL ? "closed"
                                                             : log == NULL ? "empty"
                                                                           : "events");
  if (log == NULL)
    return;
  show_frames (self, log);
  on_frame (self);
}

static void select_coming (IrPlayView *self);

/* Other events of the same run */
static void
load_part (IrPlayView *self)
{
  IrFlowLog *log = ir_session_get_events (session_of (self));

  self->log = log;
  filter (self);
  ir_iterations_set_log (IR_ITERATIONS (self->iterations), log);
  if (gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_events)))
    select_coming (self);
  else
    show_page (self);
}

static void
ir_play_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrPlayView *self = IR_PLAY_VIEW (view);

  ir_chart_area_session_changed (self->lanes, changes);
  ir_chart_area_session_changed (self->unrolled, changes);
  if (changes & (IR_CHANGED_PLAY | IR_CHANGED_FILE))
    load (self);
  else if (changes & IR_CHANGED_FRAME && ir_session_get_events (session_of (self)) == NULL)
    load (self);
  if (changes & IR_CHANGED_EVENT && self->log != ir_session_get_events (session_of (self)))
    load_part (self);
  if (changes & (IR_CHANGED_PLAY | IR_CHANGED_FRAME | IR_CHANGED_INPUTS))
    show_note (self);
}

/* -- stepping -- */

/* @event: (nullable) */
static void
show_tokens (IrPlayView *self, const IrFlowEvent *event)
{
  const IrFlowLog *log = ir_session_get_events (session_of (self));

  if (event == NULL || log == NULL)
    ir_session_hide_event (session_of (self));
  else
    ir_session_show_event (
        session_of (self),
        (guint) (event->index - g_array_index (ir_flow_log_events (log), IrFlowEvent, 0).index));
}

/* So that it is in sight. @event: (nullable) */
static void
select_node_of (IrPlayView *self, const IrFlowEvent *event)
{
  const IrFrame *frame = ir_session_get_frame (session_of (self));
  const IrNodeId node = event != NULL ? event->node : 0;

  /* What stands in the place of a call has no box of its own. */
  if (frame != NULL && node != 0 && ir_model_live_node (frame->model, node) != NULL)
    ir_session_select_node (session_of (self), node);
}

static void
on_selected (IrPlayView *self)
{
  g_autoptr (IrEventRow) row = g_list_model_get_item (
      G_LIST_MODEL (self->selection), gtk_single_selection_get_selected (self->selection));
  const IrFlowEvent *event = row != NULL ? ir_event_row_get_event (row) : NULL;

  show_tokens (self, event);
  select_node_of (self, event);
}

/* The end of an iteration, with those of the loops inside of it. (nullable) */
static const IrFlowEvent *
last_event_of (const IrFlowLog *log, const IrLoopRound *round)
{
  const GArray *events = ir_flow_log_events (log);

  for (guint i = events->len; i-- > 0;)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      if (event->iteration == round->iteration && event->kind != IR_FLOW_NEXT &&
          event->kind != IR_FLOW_EXITED && strcmp (event->frame, round->frame) == 0)
        return event;
    }
  return NULL;
}

/* Of the page of iterations: a value, or where the tokens are at the end of one. */
static void
on_chosen (IrValueId id, const IrLoopRound *round, gpointer data)
{
  IrPlayView *self = data;
  const IrFrame *frame = ir_session_get_frame (session_of (self));
  const IrFlowLog *log = ir_session_get_events (session_of (self));
  /* What a function computes where it is called is no value of what was given. */
  const gboolean is_given = frame != NULL && log != NULL && id != 0 &&
                            id < ir_flow_log_source (log)->values->len;
  const IrValue *value = is_given ? ir_model_live_value (frame->model, id) : NULL;
  const IrFlowEvent *last;

  self->chose_value |= id != 0;
  if (value != NULL && value->producer != NULL)
    ir_session_select_node (session_of (self), value->producer->id);
  if (round == NULL)
    return;
  g_free (self->place);
  self->place = g_strdup (round->frame);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->iteration), (double) round->iteration);
  if (log != NULL &&
      !ir_session_play_rounds (session_of (self), round->loop, round->first, round->last))
    {
      ir_session_hide_event (session_of (self));
      return;
    }
  write_from (self, (double) round->iteration);
  last = log != NULL ? last_event_of (log, round) : NULL;
  show_tokens (self, last);
  if (!self->chose_value)
    select_node_of (self, last);
}

/* The event before the first that is there, or behind the last one, is played again. FALSE: there is none */
static gboolean
play_next (IrPlayView *self, int by)
{
  const IrFlowLog *log = ir_session_get_events (session_of (self));
  const IrNodeId loop = log != NULL ? loop_to_play (self, log) : 0;
  gint64 first, last;

  if (loop == 0 || gtk_check_button_get_active (GTK_CHECK_BUTTON (self->one)) ||
      !ir_flow_log_rounds (log, loop, &first, &last))
    return FALSE;
  const GArray *events = ir_flow_log_events (log);
  const gint64 round = by < 0 ? first - 1 : last < G_MAXINT64 ? last + 1 : -1;
  if (round < 0 || events->len == 0 ||
      ir_session_play_rounds (session_of (self), loop, round, round))
    return FALSE;
  const guint end = by < 0 ? 0 : events->len - 1;
  self->coming = (gint64) g_array_index (events, IrFlowEvent, end).index + by;
  self->coming_last = by < 0;
  return TRUE;
}

static void
select_row (IrPlayView *self, guint row)
{
  GtkWidget *list = gtk_widget_get_last_child (self->table);

  gtk_single_selection_set_selected (self->selection, row);
  if (list != NULL)
    gtk_widget_activate_action (list, "list.scroll-to-item", "u", row);
}

/* The event that was asked for, or of those that the list has the next one */
static void
select_coming (IrPlayView *self)
{
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (self->selection));

  for (guint i = 0; self->coming >= 0 && i < n; i++)
    {
      const guint row = self->coming_last ? n - 1 - i : i;
      g_autoptr (IrEventRow) at = g_list_model_get_item (G_LIST_MODEL (self->selection), row);
      const gint64 index = (gint64) ir_event_row_get_event (at)->index;
      if (self->coming_last ? index > self->coming : index < self->coming)
        continue;
      self->coming = -1;
      select_row (self, row);
    }
}

static gboolean
move (IrPlayView *self, int by)
{
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (self->selection));
  const guint now = gtk_single_selection_get_selected (self->selection);
  const guint to = now == GTK_INVALID_LIST_POSITION ? 0 : now + (guint) by;

  if (to >= n)
    return n > 0 && play_next (self, by);
  select_row (self, to);
  return TRUE;
}

static void
on_previous (IrPlayView *self)
{
  move (self, -1);
}

static void
on_next (IrPlayView *self)
{
  move (self, 1);
}

/* By the keys: an event, or on the page of iterations an iteration */
static gboolean
on_step_key (GtkWidget *view, GVariant *by, gpointer data)
{
  IrPlayView *self = IR_PLAY_VIEW (view);

  if (ir_session_get_events (session_of (self)) == NULL)
    return FALSE;
  if (gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_iterations)))
    ir_iterations_step (IR_ITERATIONS (self->iterations), g_variant_get_int32 (by));
  else if (gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_events)))
    move (self, g_variant_get_int32 (by));
  else
    return FALSE;
  return TRUE;
}

static gboolean
on_tick (gpointer data)
{
  IrPlayView *self = data;

  if (move (self, 1))
    return G_SOURCE_CONTINUE;
  self->ticking = 0;
  stop_ticking (self);
  return G_SOURCE_REMOVE;
}

static void
on_go (IrPlayView *self)
{
  if (self->ticking != 0)
    {
      stop_ticking (self);
      return;
    }
  self->ticking = g_timeout_add (1000 / PER_SECOND, on_tick, self);
  gtk_button_set_icon_name (GTK_BUTTON (self->go), "media-playback-pause-symbolic");
}

static void
on_play (IrPlayView *self)
{
  ir_session_play (session_of (self));
}

/* -- building -- */

static GtkWidget *
make_table (IrPlayView *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();

  self->table = ir_event_table_new ();
  self->selection = gtk_single_selection_new (g_object_ref (G_LIST_MODEL (self->events)));
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->table), GTK_SELECTION_MODEL (self->selection));
  g_signal_connect_object (self->selection, "notify::selected", G_CALLBACK (on_selected), self,
                           G_CONNECT_SWAPPED);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->table);
  gtk_widget_set_vexpand (scroller, TRUE);
  return scroller;
}

static GtkWidget *
add_button (IrPlayView *self, GtkWidget *bar, const char *icon, const char *tip, GCallback clicked)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_set_tooltip_text (button, tip);
  ir_name (button, tip);
  g_signal_connect_swapped (button, "clicked", clicked, self);
  gtk_box_append (GTK_BOX (bar), button);
  return button;
}

static GtkWidget *
add_page (IrPlayView *self, GtkWidget *box, const char *title, const char *tip)
{
  GtkWidget *button = gtk_toggle_button_new_with_label (title);

  gtk_widget_set_tooltip_text (button, tip);
  gtk_box_append (GTK_BOX (box), button);
  return button;
}

static GtkWidget *
make_switcher (IrPlayView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  gtk_widget_add_css_class (box, "linked");
  self->by_events = add_page (self, box, "Events", "What happened, in order");
  self->by_iterations = add_page (self, box, "Iterations", "What values held in each iteration");
  self->by_lanes = add_page (self, box, "Lanes", "Loops as lanes, iterations as columns");
  self->by_unrolled = add_page (self, box, "Unrolled",
                                "The loop, and beside it some of its iterations written out");
  gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (self->by_unrolled),
                               GTK_TOGGLE_BUTTON (self->by_events));
  gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (self->by_iterations),
                               GTK_TOGGLE_BUTTON (self->by_events));
  gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (self->by_lanes),
                               GTK_TOGGLE_BUTTON (self->by_events));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->by_events), TRUE);
  g_signal_connect_swapped (self->by_events, "toggled", G_CALLBACK (show_page), self);
  g_signal_connect_swapped (self->by_iterations, "toggled", G_CALLBACK (show_page), self);
  g_signal_connect_swapped (self->by_lanes, "toggled", G_CALLBACK (show_page), self);
  g_signal_connect_swapped (self->by_unrolled, "toggled", G_CALLBACK (show_page), self);
  return box;
}

static void
setup_frame (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_list_item_set_child (item, label);
}

static void
bind_frame (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *label = gtk_list_item_get_child (item);

  gtk_label_set_text (GTK_LABEL (label),
                      gtk_string_object_get_string (gtk_list_item_get_item (item)));
  ir_name_row (label);
}

/* Names of loops may be longer than the view is wide. */
static GtkWidget *
make_frames (IrPlayView *self)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();

  self->frames = gtk_drop_down_new (NULL, NULL);
  g_signal_connect (factory, "setup", G_CALLBACK (setup_frame), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_frame), NULL);
  gtk_drop_down_set_factory (GTK_DROP_DOWN (self->frames), factory);
  g_object_unref (factory);
  gtk_widget_set_tooltip_text (self->frames, "Only this loop");
  gtk_widget_set_size_request (self->frames, 120, -1);
  gtk_widget_set_hexpand (self->frames, TRUE);
  ir_name (self->frames, "Loop");
  g_signal_connect_swapped (self->frames, "notify::selected", G_CALLBACK (on_frame), self);
  return self->frames;
}

static GtkWidget *
make_bar (IrPlayView *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->again = gtk_button_new_with_label ("Play Again");
  gtk_widget_set_tooltip_text (self->again, "Run the graph once more and list what happens");
  g_signal_connect_swapped (self->again, "clicked", G_CALLBACK (on_play), self);
  gtk_box_append (GTK_BOX (bar), self->again);
  gtk_box_append (GTK_BOX (bar), make_switcher (self));
  gtk_box_append (GTK_BOX (bar), make_frames (self));
  gtk_widget_add_css_class (bar, "view-toolbar");
  return bar;
}

/* Of the list of events alone */
static GtkWidget *
make_event_bar (IrPlayView *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  add_button (self, bar, "go-previous-symbolic", "Previous event (,)", G_CALLBACK (on_previous));
  self->go = add_button (self, bar, "media-playback-start-symbolic", "Let events go by",
                         G_CALLBACK (on_go));
  add_button (self, bar, "go-next-symbolic", "Next event (.)", G_CALLBACK (on_next));
  self->one = gtk_check_button_new_with_label ("Iteration");
  g_signal_connect_swapped (self->one, "toggled", G_CALLBACK (filter), self);
  self->iteration = gtk_spin_button_new_with_range (0, 1, 1);
  gtk_editable_set_width_chars (GTK_EDITABLE (self->iteration), 5);
  g_object_bind_property (self->one, "active", self->iteration, "sensitive", G_BINDING_SYNC_CREATE);
  gtk_widget_set_tooltip_text (self->one, "Only events of this iteration of the innermost loop");
  gtk_widget_set_tooltip_text (self->iteration, "Which iteration, from 0");
  ir_name (self->iteration, "Iteration");
  g_signal_connect_swapped (self->iteration, "value-changed", G_CALLBACK (filter), self);
  gtk_box_append (GTK_BOX (bar), self->one);
  gtk_box_append (GTK_BOX (bar), self->iteration);
  self->count = gtk_label_new (NULL);
  gtk_label_set_ellipsize (GTK_LABEL (self->count), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign (GTK_LABEL (self->count), 1);
  gtk_widget_set_hexpand (self->count, TRUE);
  gtk_widget_add_css_class (self->count, "dim-label");
  gtk_widget_add_css_class (self->count, "numeric");
  gtk_box_append (GTK_BOX (bar), self->count);
  gtk_widget_add_css_class (bar, "view-toolbar");
  return bar;
}

static GtkWidget *
add_end (IrPlayView *self, GtkWidget *bar, const char *before, const char *name)
{
  GtkWidget *spin = gtk_spin_button_new_with_range (0, 1, 1);

  gtk_box_append (GTK_BOX (bar), gtk_label_new (before));
  gtk_editable_set_width_chars (GTK_EDITABLE (spin), 5);
  gtk_widget_set_tooltip_text (spin, name);
  ir_name (spin, name);
  g_signal_connect_swapped (spin, "value-changed", G_CALLBACK (on_written), self);
  gtk_box_append (GTK_BOX (bar), spin);
  return spin;
}

static GtkWidget *
make_unrolled_page (IrPlayView *self)
{
  GtkWidget *page = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->first = add_end (self, bar, "Iterations", "First iteration that is written out, from 0");
  self->last = add_end (self, bar, "to", "Last iteration that is written out");
  gtk_widget_add_css_class (bar, "view-toolbar");
  self->unrolled = IR_CHART_AREA (
      ir_chart_area_new ("The loop, and iterations written out", FALSE));
  gtk_widget_set_vexpand (GTK_WIDGET (self->unrolled), TRUE);
  gtk_box_append (GTK_BOX (page), bar);
  gtk_box_append (GTK_BOX (page), GTK_WIDGET (self->unrolled));
  return page;
}

static GtkWidget *
make_empty (IrPlayView *self)
{
  GtkWidget *page = ir_view_empty_page (
      "media-playlist-repeat-symbolic", "Not Played",
      "A run's control flow, event by event: iterations of loops, branches that were taken, tokens "
      "that were dead.",
      NULL, NULL);
  GtkWidget *button = gtk_button_new_with_label ("Play the Graph");

  gtk_widget_add_css_class (button, "pill");
  gtk_widget_set_halign (button, GTK_ALIGN_CENTER);
  g_signal_connect_swapped (button, "clicked", G_CALLBACK (on_play), self);
  adw_status_page_set_child (ADW_STATUS_PAGE (page), button);
  return page;
}

static void
on_unmap (IrPlayView *self)
{
  stop_ticking (self);
  if (session_of (self) != NULL)
    ir_session_hide_event (session_of (self));
}

static void
ir_play_view_focus_content (IrView *view)
{
  IrPlayView *self = IR_PLAY_VIEW (view);

  /* Not what comes behind the focus, where that is here already */
  if (ir_session_get_events (session_of (self)) == NULL || !gtk_widget_grab_focus (self->again))
    gtk_widget_child_focus (self->stack, GTK_DIR_TAB_FORWARD);
}

static void
ir_play_view_dispose (GObject *object)
{
  IrPlayView *self = IR_PLAY_VIEW (object);

  g_clear_handle_id (&self->ticking, g_source_remove);
  g_clear_object (&self->events);
  g_clear_pointer (&self->place, g_free);
  G_OBJECT_CLASS (ir_play_view_parent_class)->dispose (object);
}

static void
ir_play_view_class_init (IrPlayViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_play_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_play_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_play_view_focus_content;
  gtk_widget_class_add_binding (GTK_WIDGET_CLASS (klass), GDK_KEY_period, 0, on_step_key, "i", 1);
  gtk_widget_class_add_binding (GTK_WIDGET_CLASS (klass), GDK_KEY_comma, 0, on_step_key, "i", -1);
}

static void
ir_play_view_init (IrPlayView *self)
{
  GtkWidget *page;

  self->content = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  self->events = ir_event_list_new ();
  self->note = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->note), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->note), 0);
  gtk_widget_set_margin_start (self->note, 12);
  gtk_widget_set_margin_end (self->note, 12);
  gtk_widget_add_css_class (self->note, "warning");
  gtk_box_append (GTK_BOX (self->content), ir_view_scrolled_row (make_bar (self)));
  gtk_box_append (GTK_BOX (self->content), self->note);
  self->pages = gtk_stack_new ();
  self->iterations = ir_iterations_new (on_chosen, self);
  page = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_box_append (GTK_BOX (page), ir_view_scrolled_row (make_event_bar (self)));
  gtk_box_append (GTK_BOX (page), make_table (self));
  gtk_stack_add_named (GTK_STACK (self->pages), page, "events");
  gtk_stack_add_named (GTK_STACK (self->pages), self->iterations, "iterations");
  self->lanes = IR_CHART_AREA (ir_chart_area_new ("Lanes of loops", TRUE));
  g_signal_connect_object (self->lanes, "resized", G_CALLBACK (load_lanes), self,
                           G_CONNECT_SWAPPED);
  gtk_stack_add_named (GTK_STACK (self->pages), GTK_WIDGET (self->lanes), "lanes");
  gtk_stack_add_named (GTK_STACK (self->pages), make_unrolled_page (self), "unrolled");
  gtk_box_append (GTK_BOX (self->content), self->pages);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("media-playlist-repeat-symbolic", "No Graph",
                          "What happens in the control flow of a run is listed here.", "win.open",
                          "Open…"),
      "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), make_empty (self), "empty");
  gtk_stack_add_named (GTK_STACK (self->stack), self->content, "events");
  adw_bin_set_child (ADW_BIN (self), self->stack);
  g_signal_connect (self, "unmap", G_CALLBACK (on_unmap), NULL);
}

const IrViewInfo ir_view_play = {
  .id = "play",
  .title = "Play",
  .icon_name = "media-playlist-repeat-symbolic",
  .doc = "A run's control flow, event by event: iterations, branches, tokens that were dead.",
  .help =
      "Each row is something that happened, in order; choosing one selects its node. Where it happened "
      "is the loop with its iteration; a loop in a loop is outer@3/inner. Of a Switch the slot is the "
      "output that is live, of a Merge the input that was, of a branch 1 for then and 0 for else. Iterations "
      "shows what the values of a loop held in each; the scrubber goes from one to the next, and the line "
      "above is the value that is chosen, over all of them. Of a loop with too many to keep, those that are looked at are "
      "run again from checkpoints. Lanes draws each loop as a lane, in those around it, "
      "with a column for each of the first 16 iterations: what each node gave, and what was dead. Unrolled draws "
      "the loop, and beside it a column for each of some iterations, with what it hands to the next. In the graph tokens lie "
      "on the edges as they were behind the chosen event, or at the end of the chosen iteration, with what they held: "
      "@3 is one of iteration 3, ✕ is dead. Labels say which input a Merge took, which branch was called, and what was "
      "dead or waited. The keys . and , go an event on and back, or on the page Iterations an iteration.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_play_view_get_type,
};
