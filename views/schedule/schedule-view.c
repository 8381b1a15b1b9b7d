/* The schedule: a timeline with a lane for each worker; measured if the graph has run, else as the
 * cost model predicts it. Nodes that run concurrently are framed. Of the selected node it says
 * the kernel, and lets another be chosen. */
#include "config.h"

#include "core/exec/flow/token-round.h"
#include "core/exec/measure/timeline.h"
#include "core/ir/inline.h"
#include "views/chart-area.h"
#include "views/kernel-chooser.h"
#include "views/name.h"
#include "views/session/frame.h"
#include "views/session/kernels.h"
#include "views/session/records.h"
#include "views/session/runs.h"
#include "views/session/selection.h"

typedef enum
{
  SHOWN_PREDICTED,
  SHOWN_MEASURED,
  SHOWN_BOTH,
  N_SHOWN
} Shown;

/* What a chart is made from. The job adds the schedule; the view reads it when the chart is there. */
typedef struct
{
  gatomicrefcount ref_count;
  IrRun *run;     /* (nullable) */
  IrModel *model; /* whose schedule is to be predicted */
  const IrBackend *backend;
  Shown shown;
  IrSchedule *schedule; /* (nullable) */
} Request;

static Request *
request_ref (Request *request)
{
  g_atomic_ref_count_inc (&request->ref_count);
  return request;
}

static void
request_unref (gpointer data)
{
  Request *request = data;

  if (!g_atomic_ref_count_dec (&request->ref_count))
    return;
  g_clear_pointer (&request->schedule, ir_schedule_unref);
  g_clear_pointer (&request->run, ir_run_unref);
  g_clear_pointer (&request->model, ir_model_unref);
  g_free (request);
}

struct _IrScheduleView
{
  IrView parent;
  GtkWidget *stack, *message, *note;
  GtkWidget *kinds[N_SHOWN];                      /* buttons */
  GtkWidget *node_text, *chooser_place, *chooser; /* of the selected node; (nullable) the last */
  IrChartArea *chart;
  GtkWidget *side, *range_text, *rows;
  Request *request; /* (nullable) what the chart shows or is going to */
};

#define IR_TYPE_SCHEDULE_VIEW (ir_schedule_view_get_type ())
G_DECLARE_FINAL_TYPE (IrScheduleView, ir_schedule_view, IR, SCHEDULE_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrScheduleView, ir_schedule_view, IR_TYPE_VIEW)

/* -- the chart -- */

static Shown
shown_of (IrScheduleView *self)
{
  for (Shown shown = 0; shown < N_SHOWN; shown++)
    if (gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->kinds[shown])))
      return shown;
  return SHOWN_PREDICTED;
}

static IrScene *
make_scene (IrJob *job,
            gpointer data,
            const IrChartOptions *options,
            GCancellable *cancellable,
            GError **error)
{
  Request *request = data;
  IrRun *run = request->run;
  IrChartOptions full = *options;

  if (request->schedule == NULL)
    request->schedule = run != NULL ? ir_schedule_ref (run->schedule)
                                    : ir_schedule_new (request->model, request->backend,
                                                       g_get_num_processors (), error);
  if (request->schedule == NULL)
    return NULL;
  full.beside = request->schedule;
  return ir_chart_times (request->shown != SHOWN_MEASURED ? request->schedule : NULL,
                         run != NULL && request->shown != SHOWN_PREDICTED ? run->trace : NULL,
                         run != NULL ? run->memplan : NULL,
                         run != NULL ? run->model : request->model, &full);
}

/* -- a range of time -- */

static double
total_ms (const Request *request)
{
  const double predicted = request->shown != SHOWN_MEASURED ? request->schedule->makespan_ms : 0,
               measured = request->shown != SHOWN_PREDICTED
                              ? (double) request->run->trace->duration_ns / 1e6
                              : 0;

  return MAX (predicted, measured);
}

/* What was measured, where that is drawn. */
static IrTimeline *
timeline_of (const Request *request)
{
  return request->shown == SHOWN_PREDICTED
             ? ir_timeline_new_predicted (
                   request->schedule, request->run != NULL ? request->run->model : request->model)
             : ir_timeline_new_measured (request->run->trace, request->schedule,
                                         request->run->model);
}

static void
add_row (IrScheduleView *self, const char *title, const char *subtitle)
{
  GtkWidget *row = adw_action_row_new ();

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  gtk_widget_add_css_class (row, "property-row");
  gtk_list_box_append (GTK_LIST_BOX (self->rows), row);
}

static void
show_rows (IrScheduleView *self, const IrTimeline *timeline, const IrTimelineRange *range)
{
  const double all = (range->to_ms - range->from_ms) * timeline->lanes->len;
  g_autofree char *text = g_strdup_printf (
      "%s, %.4g to %.4g ms: %u calls, busy %.4g ms, idle %.4g ms (%.0f %%)",
      timeline->measured ? "Measured" : "Predicted", range->from_ms, range->to_ms,
      range->items->len, range->busy_ms, range->idle_ms, all > 0 ? 100 * range->idle_ms / all : 0);
  GtkWidget *child;

  gtk_label_set_text (GTK_LABEL (self->range_text), text);
  while ((child = gtk_widget_get_first_child (self->rows)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->rows), child);
  for (guint i = 0; i < range->rows->len; i++)
    {
      const IrTimelineRow *row = &g_array_index (range->rows, IrTimelineRow, i);
      g_autofree char *subtitle = g_strdup_printf ("%u %s, %.4g ms", row->n_calls,
                                                   row->n_calls == 1 ? "call" : "calls", row->ms);

      add_row (self, row->op, subtitle);
    }
}

static GtkBitset *
nodes_of (const IrTimeline *timeline, const IrTimelineRange *range)
{
  GtkBitset *nodes = gtk_bitset_new_empty ();

  for (guint i = 0; i < range->items->len; i++)
    gtk_bitset_add (nodes, g_array_index (timeline->items, IrTimelineItem,
                                          g_array_index (range->items, guint, i))
                               .node);
  return nodes;
}

/* A part of the axis, 0 to 1, was chosen. */
static void
on_ranged (IrChartArea *chart, double from, double to, IrScheduleView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  g_autoptr (IrTimeline) timeline = NULL;
  g_autoptr (IrTimelineRange) range = NULL;
  g_autoptr (GtkBitset) nodes = NULL;

  if (self->request == NULL || self->request->schedule == NULL)
    return;
  if (to > from)
    {
      const double total = total_ms (self->request);

      timeline = timeline_of (self->request);
      range = ir_timeline_range (timeline, from * total, to * total);
      nodes = nodes_of (timeline, range);
      show_rows (self, timeline, range);
      ir_session_set_time_span (session, from * total, to * total, nodes);
      ir_session_set_selection (session, nodes);
    }
  else
    ir_session_set_time_span (session, 0, 0, NULL);
}

/* It is of one chart: another has other times. */
static void
show_range (IrScheduleView *self)
{
  double from, to;

  ir_session_get_time_span (ir_view_get_session (IR_VIEW (self)), &from, &to);
  gtk_widget_set_visible (self->side, to > from);
  if (to > from && self->request != NULL && self->request->schedule != NULL)
    ir_chart_area_set_range (self->chart, from / total_ms (self->request),
                             to / total_ms (self->request));
  else
    ir_chart_area_set_range (self->chart, 0, 0);
}

static void
on_loaded (IrScheduleView *self, const char *problem)
{
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), problem == NULL ? "chart" : "message");
  gtk_label_set_text (GTK_LABEL (self->message), problem != NULL ? problem : "");
}

/* A chart of a run says of which, if that is not what a run would give now. What tokens move through is one bar: what is in an
 * iteration is said. */
static void
show_note (IrScheduleView *self, const IrModel *model, gboolean of_run)
{
  g_autofree char *note = of_run ? ir_session_times_note (ir_view_get_session (IR_VIEW (self)))
                                 : NULL,
                  *rounds = ir_token_rounds_text (model),
                  *text = g_strjoin (note != NULL && *rounds != '\0' ? "\n" : "",
                                     note != NULL ? note : "", rounds, NULL);

  gtk_label_set_text (GTK_LABEL (self->note), text);
  gtk_widget_set_tooltip_text (self->note, text);
  gtk_widget_set_visible (self->note, *text != '\0');
}

static void
load (IrScheduleView *self)
{
  if (self->request != NULL)
    ir_chart_area_load (self->chart, make_scene, request_ref (self->request), request_unref);
}

static void
rebuild (IrScheduleView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);
  IrRun *run = ir_session_get_run (session, IR_SIDE_AFTER);
  Request *request;

  const gboolean timed = run != NULL && run->trace != NULL && run->schedule != NULL;
  gtk_widget_set_sensitive (self->kinds[SHOWN_MEASURED], timed);
  gtk_widget_set_sensitive (self->kinds[SHOWN_BOTH], timed);
  g_clear_pointer (&self->request, request_unref);
  ir_session_set_time_span (session, 0, 0, NULL);
  if (frame == NULL)
    {
      ir_chart_area_clear (self->chart);
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "closed");
      return;
    }
  request = g_new0 (Request, 1);
  g_atomic_ref_count_init (&request->ref_count);
  request->shown = timed ? shown_of (self) : SHOWN_PREDICTED;
  if (timed &&
      (request->shown != SHOWN_PREDICTED || ir_session_get_run_step (session) == frame->to))
    request->run = ir_run_ref (run);
  request->model = ir_model_ref (frame->model);
  request->backend = ir_session_get_backend (session);
  show_note (self, frame->model, request->shown != SHOWN_PREDICTED);
  self->request = request;
  load (self);
}

/* -- the selected node -- */

static char *
node_text (IrSession *session, const IrNode *node, char **tip)
{
  const char *why, *layout, *kernel = ir_session_get_kernel (session, node, &why, &layout);
  const IrTimes times = ir_session_get_node_times (session, node->id);
  g_autofree char *label = ir_node_label (node), *time = ir_times_text (&times);
  const gboolean call = kernel == NULL && ir_node_function (node) != NULL;
  char *text = call ? g_strdup ("runs as the nodes\nof its body")
                    : g_strdup_printf ("Kernel: %s\n%s", kernel != NULL ? kernel : "none", time);

  if (call)
    why = NULL;
  *tip = g_strdup_printf ("%s\n%s%s%s", label, text, why != NULL ? "\n" : "",
                          why != NULL ? why : "");
  return text;
}

/* What runs the selected node, how long that took, and what else could. */
static void
show_node (IrScheduleView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);
  const IrNode *node = frame != NULL ? ir_model_live_node (frame->model,
                                                           ir_session_get_selected_node (session))
                                     : NULL;
  g_autofree char *tip = NULL, *text = node != NULL ? node_text (session, node, &tip) : NULL;

  if (self->chooser == NULL)
    {
      self->chooser = ir_kernel_chooser_new (session);
      gtk_box_append (GTK_BOX (self->chooser_place), self->chooser);
    }
  gtk_widget_set_visible (self->chooser, ir_kernel_chooser_set_node (self->chooser, node));
  gtk_label_set_text (GTK_LABEL (self->node_text), text != NULL ? text : "");
  gtk_widget_set_tooltip_text (self->node_text, tip);
}

static void
ir_schedule_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrScheduleView *self = IR_SCHEDULE_VIEW (view);

  if (changes & IR_CHANGED_RUNS &&
      ir_session_get_run (ir_view_get_session (view), IR_SIDE_AFTER) != NULL)
    gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->kinds[SHOWN_MEASURED]), TRUE);
  if (changes & (IR_CHANGED_RUNS | IR_CHANGED_FRAME | IR_CHANGED_HISTORY))
    rebuild (self);
  if (changes & (IR_CHANGED_RUNS | IR_CHANGED_FRAME | IR_CHANGED_HISTORY | IR_CHANGED_SELECTION))
    show_node (self);
  if (changes & IR_CHANGED_TIME_SPAN)
    show_range (self);
  ir_chart_area_session_changed (self->chart, changes);
}

/* -- object -- */

static void
ir_schedule_view_focus_content (IrView *view)
{
  gtk_widget_grab_focus (GTK_WIDGET (IR_SCHEDULE_VIEW (view)->chart));
}

static void
ir_schedule_view_dispose (GObject *object)
{
  g_clear_pointer (&IR_SCHEDULE_VIEW (object)->request, request_unref);
  G_OBJECT_CLASS (ir_schedule_view_parent_class)->dispose (object);
}

static void
ir_schedule_view_class_init (IrScheduleViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_schedule_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_schedule_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_schedule_view_focus_content;
}

/* One of them goes off when another goes on. */
static void
on_kind (GtkToggleButton *kind, IrScheduleView *self)
{
  if (gtk_toggle_button_get_active (kind) && self->stack != NULL)
    rebuild (self);
}

static GtkWidget *
make_toolbar (IrScheduleView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6),
            *kinds = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  static const char *const titles[] = {
    [SHOWN_PREDICTED] = "Predicted", [SHOWN_MEASURED] = "Measured", [SHOWN_BOTH] = "Both"
  };

  for (Shown shown = 0; shown < N_SHOWN; shown++)
    {
      self->kinds[shown] = gtk_toggle_button_new_with_label (titles[shown]);
      if (shown > 0)
        gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (self->kinds[shown]),
                                     GTK_TOGGLE_BUTTON (self->kinds[0]));
      g_signal_connect (self->kinds[shown], "toggled", G_CALLBACK (on_kind), self);
      gtk_box_append (GTK_BOX (kinds), self->kinds[shown]);
    }
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->kinds[SHOWN_PREDICTED]), TRUE);
  gtk_widget_add_css_class (kinds, "linked");
  self->node_text = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->node_text), 1);
  gtk_label_set_justify (GTK_LABEL (self->node_text), GTK_JUSTIFY_RIGHT);
  gtk_label_set_ellipsize (GTK_LABEL (self->node_text), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (self->node_text, "caption");
  gtk_widget_set_hexpand (self->node_text, TRUE);
  self->chooser_place = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_box_append (GTK_BOX (box), kinds);
  gtk_box_append (GTK_BOX (box), self->node_text);
  gtk_box_append (GTK_BOX (box), self->chooser_place);
  gtk_box_append (GTK_BOX (box), ir_chart_area_new_zoom_buttons (self->chart));
  gtk_widget_add_css_class (box, "view-toolbar");
  return box;
}

static void
clear_range (IrScheduleView *self)
{
  ir_session_set_time_span (ir_view_get_session (IR_VIEW (self)), 0, 0, NULL);
}

/* What lies in the range that is marked. */
static GtkWidget *
make_side (IrScheduleView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6),
            *clear = gtk_button_new_with_label ("Show All Times");

  self->range_text = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->range_text), 0);
  gtk_label_set_wrap (GTK_LABEL (self->range_text), TRUE);
  gtk_label_set_selectable (GTK_LABEL (self->range_text), TRUE);
  gtk_widget_add_css_class (self->range_text, "caption");
  self->rows = gtk_list_box_new ();
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->rows), GTK_SELECTION_NONE);
  ir_name (self->rows, "Operators in the range");
  g_signal_connect_swapped (clear, "clicked", G_CALLBACK (clear_range), self);
  gtk_widget_set_tooltip_text (clear, "Leave the range (Escape)");
  gtk_widget_add_css_class (clear, "flat");
  gtk_box_append (GTK_BOX (box), self->range_text);
  gtk_box_append (GTK_BOX (box), self->rows);
  gtk_box_append (GTK_BOX (box), clear);
  gtk_widget_add_css_class (box, "memory-side");
  self->side = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (self->side), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->side), box);
  gtk_widget_set_size_request (self->side, 220, -1);
  gtk_widget_hide (self->side);
  return self->side;
}

static GtkWidget *
make_chart (IrScheduleView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *panes = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  self->chart = IR_CHART_AREA (ir_chart_area_new ("Timeline", FALSE));
  g_signal_connect_object (self->chart, "resized", G_CALLBACK (load), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->chart, "loaded", G_CALLBACK (on_loaded), self, G_CONNECT_SWAPPED);
  self->note = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->note), 0);
  gtk_label_set_ellipsize (GTK_LABEL (self->note), PANGO_ELLIPSIZE_END);
  gtk_widget_set_margin_start (self->note, 12);
  gtk_widget_add_css_class (self->note, "dim-label");
  gtk_box_append (GTK_BOX (box), make_toolbar (self));
  gtk_box_append (GTK_BOX (box), self->note);
  g_signal_connect (self->chart, "ranged", G_CALLBACK (on_ranged), self);
  ir_chart_area_allow_ranges (self->chart);
  gtk_box_append (GTK_BOX (panes), GTK_WIDGET (self->chart));
  gtk_box_append (GTK_BOX (panes), make_side (self));
  gtk_box_append (GTK_BOX (box), panes);
  return box;
}

static void
ir_schedule_view_init (IrScheduleView *self)
{
  GtkWidget *chart = make_chart (self);

  self->message = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->message), TRUE);
  gtk_widget_add_css_class (self->message, "dim-label");
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("x-office-calendar-symbolic", "No Graph",
                                           "The timeline of a run is shown here.", "win.open",
                                           "Open…"),
                       "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), chart, "chart");
  gtk_stack_add_named (GTK_STACK (self->stack), self->message, "message");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_schedule = {
  .id = "schedule",
  .title = "Schedule",
  .icon_name = "x-office-calendar-symbolic",
  .doc = "Which node runs when: predicted, and measured by the last run.",
  .help =
      "A lane is a worker, a bar a node, as long as it ran. Predicted times are before "
      "a run, measured ones after it; below lies what the arena holds, the one block in which values lie "
      "between nodes. A click selects a node, with threads to "
      "what it waits for; the critical path is underlined. W and S zoom, A and D go along; drag, or M for the "
      "selected bar, marks a range, of which a table says what lies in it.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_schedule_view_get_type,
};
