/* The graph at a glance: what operators and scopes cost, element types, the largest tensors, where nodes
 * would run, and the roofline of the last run. A bar selects its first node. */
#include "config.h"

#include "core/exec/measure/roofline.h"
#include "core/exec/measure/summary.h"
#include "views/chart-area.h"
#include "views/label.h"
#include "views/name.h"
#include "views/session/debug.h"
#include "views/session/execution.h"
#include "views/session/frame.h"
#include "views/session/runs.h"
#include "views/session/timeline.h"

#define N_TENSORS 10
#define DEPTH     1

struct _IrSummaryView
{
  IrView parent;
  GtkWidget *stack, *facts, *sort, *roofline, *message;
  GtkWidget *gain, *gain_text;
  IrChartArea *chart;
};

#define IR_TYPE_SUMMARY_VIEW (ir_summary_view_get_type ())
G_DECLARE_FINAL_TYPE (IrSummaryView, ir_summary_view, IR, SUMMARY_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrSummaryView, ir_summary_view, IR_TYPE_VIEW)

static const struct
{
  const char *title;
  IrSummaryKey key;
} orders[] = {
  { "Arithmetic", IR_SUMMARY_FLOPS },    { "Traffic", IR_SUMMARY_BYTES },
  { "Intensity", IR_SUMMARY_INTENSITY }, { "Parameters", IR_SUMMARY_PARAMS },
  { "Nodes", IR_SUMMARY_NODES },         { "Time", IR_SUMMARY_TIME },
};

/* -- the chart -- */

typedef struct
{
  IrModel *model;
  IrRun *run; /* (nullable) of it */
  IrSummaryKey key;
  gboolean roofline;
} Request;

static void
request_free (gpointer data)
{
  Request *request = data;

  g_clear_pointer (&request->model, ir_model_unref);
  g_clear_pointer (&request->run, ir_run_unref);
  g_free (request);
}

static IrScene *
make_scene (IrJob *job,
            gpointer data,
            const IrChartOptions *options,
            GCancellable *cancellable,
            GError **error)
{
  const Request *request = data;
  IrRoofline peaks = { 0 };

  if (request->roofline && !ir_roofline_measure (NULL, 0, &peaks, error))
    return NULL;
  g_autoptr (IrSummary) summary = ir_summary_new (
      request->model, request->run != NULL ? request->run->trace : NULL, NULL, DEPTH, N_TENSORS);
  ir_summary_sort (summary->ops, request->key);
  ir_summary_sort (summary->scopes, request->key);
  return ir_chart_summary (summary, request->key, &peaks, options);
}

static void
on_loaded (IrSummaryView *self, const char *problem)
{
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), problem == NULL ? "chart" : "message");
  gtk_label_set_text (GTK_LABEL (self->message), problem != NULL ? problem : "");
}

/* Opsets, problems, and what the times are of. */
static void
show_facts (IrSummaryView *self, const IrModel *model, gboolean timed)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const GPtrArray *problems = ir_session_get_problems (session);
  g_autofree char *note = ir_session_times_note (session);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < model->opsets->n; i++)
    g_string_append_printf (text, "%s%s %" G_GINT64_FORMAT, i > 0 ? ", " : "",
                            model->opsets->opsets[i].domain[0] ? model->opsets->opsets[i].domain
                                                               : "ai.onnx",
                            model->opsets->opsets[i].version);
  const guint n_problems = problems != NULL ? problems->len : 0;
  g_string_append_printf (text, " · %u %s", n_problems, n_problems == 1 ? "problem" : "problems");
  if (note != NULL)
    g_string_append_printf (text, "\n%s", note);
  else if (!timed)
    g_string_append (text, "\nTimes: run the graph first");
  gtk_label_set_text (GTK_LABEL (self->facts), text->str);
}

/* -- what Optimize would gain -- */

static void
show_gain (IrSummaryView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const gboolean busy = ir_session_is_measuring_gain (session);
  const char *text = busy ? "Optimizing a copy…" : ir_session_get_gain (session);

  gtk_button_set_label (GTK_BUTTON (self->gain), busy ? "Cancel" : "What Optimize Would Gain");
  gtk_label_set_text (GTK_LABEL (self->gain_text), text != NULL ? text : "");
  gtk_widget_set_visible (self->gain_text, text != NULL);
}

static void
on_gain (IrSummaryView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));

  if (ir_session_is_measuring_gain (session))
    ir_session_cancel_gain (session);
  else
    ir_session_measure_gain (session);
}

static void
rebuild (IrSummaryView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);
  IrRun *run = ir_session_get_run (session, IR_SIDE_AFTER);
  Request *request;

  if (frame == NULL)
    {
      ir_chart_area_clear (self->chart);
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "closed");
      return;
    }
  if (run != NULL && (run->trace == NULL || ir_session_get_run_step (session) != frame->to))
    run = NULL;
  request = g_new0 (Request, 1);
  request->model = ir_model_ref (frame->model);
  request->run = run != NULL ? ir_run_ref (run) : NULL;
  request->key = orders[gtk_drop_down_get_selected (GTK_DROP_DOWN (self->sort))].key;
  gtk_widget_set_sensitive (self->roofline, run != NULL);
  request->roofline = run != NULL &&
                      gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->roofline));
  show_facts (self, frame->model, run != NULL);
  ir_chart_area_load (self->chart, make_scene, request, request_free);
}

static void
ir_summary_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrSummaryView *self = IR_SUMMARY_VIEW (view);

  if (changes & (IR_CHANGED_RUNS | IR_CHANGED_FRAME | IR_CHANGED_HISTORY | IR_CHANGED_PROBLEMS))
    rebuild (self);
  if (changes & (IR_CHANGED_SCORES | IR_CHANGED_FRAME | IR_CHANGED_HISTORY | IR_CHANGED_PIPELINE))
    show_gain (self);
  ir_chart_area_session_changed (self->chart, changes);
}

/* -- object -- */

static void
ir_summary_view_focus_content (IrView *view)
{
  gtk_widget_grab_focus (GTK_WIDGET (IR_SUMMARY_VIEW (view)->chart));
}

static void
ir_summary_view_class_init (IrSummaryViewClass *klass)
{
  IR_VIEW_CLASS (klass)->session_changed = ir_summary_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_summary_view_focus_content;
}

static GtkWidget *
make_toolbar (IrSummaryView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  g_autoptr (GtkStringList) titles = gtk_string_list_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (orders); i++)
    gtk_string_list_append (titles, orders[i].title);
  self->sort = gtk_drop_down_new (G_LIST_MODEL (g_steal_pointer (&titles)), NULL);
  gtk_widget_set_tooltip_text (self->sort, "What bars are as long as, and sorted by");
  ir_name (self->sort, "Sort by");
  self->roofline = gtk_toggle_button_new_with_label ("Roofline");
  gtk_widget_set_tooltip_text (self->roofline,
                               "Measure what the machine can do at most, and draw the operators of "
                               "the last run below that");
  g_signal_connect_swapped (self->sort, "notify::selected", G_CALLBACK (rebuild), self);
  g_signal_connect_swapped (self->roofline, "toggled", G_CALLBACK (rebuild), self);
  self->gain = gtk_button_new_with_label ("What Optimize Would Gain");
  gtk_widget_set_tooltip_text (
      self->gain, "Run the chosen pipeline on a copy, and compare costs and predicted times");
  g_signal_connect_swapped (self->gain, "clicked", G_CALLBACK (on_gain), self);
  gtk_box_append (GTK_BOX (box), self->sort);
  gtk_box_append (GTK_BOX (box), self->roofline);
  gtk_widget_set_halign (self->gain, GTK_ALIGN_START);
  gtk_widget_set_margin_start (self->gain, 12);
  gtk_widget_add_css_class (box, "view-toolbar");
  return box;
}

static void
ir_summary_view_init (IrSummaryView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);

  self->chart = IR_CHART_AREA (ir_chart_area_new ("Summary", FALSE));
  g_signal_connect_object (self->chart, "resized", G_CALLBACK (rebuild), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->chart, "loaded", G_CALLBACK (on_loaded), self, G_CONNECT_SWAPPED);
  self->facts = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->facts), 0);
  gtk_label_set_wrap (GTK_LABEL (self->facts), TRUE);
  gtk_widget_add_css_class (self->facts, "dim-label");
  self->gain_text = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->gain_text), 0);
  ir_label_wrap_names (GTK_LABEL (self->gain_text));
  gtk_widget_set_margin_start (self->gain_text, 12);
  gtk_widget_set_margin_end (self->gain_text, 12);
  gtk_widget_set_visible (self->gain_text, FALSE);
  gtk_widget_set_margin_start (self->facts, 12);
  self->message = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->message), TRUE);
  gtk_box_append (GTK_BOX (box), make_toolbar (self));
  gtk_box_append (GTK_BOX (box), self->facts);
  gtk_box_append (GTK_BOX (box), self->gain);
  gtk_box_append (GTK_BOX (box), self->gain_text);
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (self->chart));
  gtk_widget_set_vexpand (GTK_WIDGET (self->chart), TRUE);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("view-list-symbolic", "No Graph",
                                           "A graph at a glance is shown here.", "win.open",
                                           "Open…"),
                       "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), box, "chart");
  gtk_stack_add_named (GTK_STACK (self->stack), self->message, "message");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_summary = {
  .id = "summary",
  .title = "Summary",
  .icon_name = "view-list-symbolic",
  .doc = "The graph at a glance: costs by operator and scope, element types, largest tensors.",
  .help =
      "Bars are operators and scopes, as long as what is chosen above; a click selects the first "
      "node. Times are of the last run. The roofline has operations per second over operations "
      "per byte: what lies below the slope waits for memory.",
  .place = IR_VIEW_END,
  .get_type = ir_summary_view_get_type,
};
