/* Memory: where each value lies and when, as the last run had it or, without one, as it would be;
 * with nodes in an order that keeps the peak low, or with values that share nothing; and the order
 * of runs under which everything fits into a budget, with what is dropped on the way and computed
 * again; or the plan of what the graph is compared with, and what differs. Beside the picture: why the selected value lies where it lies, or the list of what is
 * dropped. */
#include "config.h"

#include "views/chart-area.h"
#include "core/exec/flow/token-round.h"
#include "core/ir/count.h"
#include "views/label.h"
#include "views/memory/plans.h"
#include "views/name.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/runs.h"
#include "views/session/selection.h"

#include <string.h>

#define AT_PEAK 12 /* values that are named */

#define MAX_ROWS 200

/* -- the view -- */

struct _IrMemoryView
{
  IrView parent;
  GtkWidget *stack, *message, *planned, *budgeted, *budget, *memory_order, *separate, *of_device;
  GtkWidget *summary;
  GtkWidget *compared, *sides, *other, *now; /* with the plan of what the graph is compared with */
  GtkWidget *side, *why, *dropped;           /* beside the chart: a text, or a list */
  IrChartArea *chart;
  IrPlainPlan *plain;      /* (nullable) of the graph on screen, as the options say */
  IrPlainPlan *before;     /* (nullable) of what it is compared with */
  IrMemoryRequest *memory; /* (nullable) what the chart shows or is going to */
  gboolean shown;          /* it shows it */
  GArray *events; /* (nullable) of IrMemEvent, of the plan that is shown, once they are played */
  guint event;    /* 1 + which of them was played last; 0: none */
};

#define IR_TYPE_MEMORY_VIEW (ir_memory_view_get_type ())
G_DECLARE_FINAL_TYPE (IrMemoryView, ir_memory_view, IR, MEMORY_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrMemoryView, ir_memory_view, IR_TYPE_VIEW)

static gboolean
is_budgeted (IrMemoryView *self)
{
  return gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->budgeted));
}

static gboolean
is_compared (IrMemoryView *self)
{
  return gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->compared));
}

static void
load (IrMemoryView *self)
{
  if (self->memory != NULL)
    ir_chart_area_load (self->chart, ir_memory_request_draw, ir_memory_request_ref (self->memory),
                        ir_memory_request_unref);
}

/* GTK leaves the focus at what cannot have it any more, and warns of that. */
static void
leave_budget (IrMemoryView *self)
{
  GtkRoot *root = gtk_widget_get_root (self->budget);
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;

  if (focus != NULL && gtk_widget_is_ancestor (focus, self->budget))
    gtk_widget_grab_focus (self->planned);
}

static void
say_nothing_compared (IrMemoryView *self)
{
  gtk_label_set_text (GTK_LABEL (self->message),
                      "Nothing is compared. Choose above the graph what it is compared with: "
                      "an earlier step, the original graph or another file.");
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "message");
}

/* Under another budget, or none, or beside another plan. */
static void
rebuild_budget (IrMemoryView *self)
{
  g_clear_pointer (&self->memory, ir_memory_request_unref);
  self->shown = FALSE;
  if (!is_budgeted (self))
    leave_budget (self);
  gtk_widget_set_sensitive (self->budget, is_budgeted (self));
  gtk_widget_set_visible (self->sides, is_compared (self));
  if (self->plain == NULL)
    return;
  if (is_compared (self) && self->before == NULL)
    {
      say_nothing_compared (self);
      return;
    }
  self->memory = ir_memory_request_new (self->plain);
  if (is_compared (self))
    {
      self->memory->before = ir_plain_plan_ref (self->before);
      self->memory->frame = ir_frame_ref (
          ir_session_get_frame (ir_view_get_session (IR_VIEW (self))));
      self->memory->draws_other = gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->other));
    }
  if (is_budgeted (self))
    self->memory->budget = g_strstrip (
        g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->budget))));
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "chart");
  load (self);
}

/* The plan that the run followed, if the graph on screen is the one that ran. */
static IrPlainPlan *
plain_new (IrMemoryView *self, IrSession *session, const IrFrame *frame)
{
  IrRun *run = ir_session_get_run (session, IR_SIDE_AFTER);
  IrPlainPlan *plain = ir_plain_plan_new ();

  if (run != NULL && run->memplan != NULL && run->schedule != NULL &&
      ir_session_get_run_step (session) == frame->to)
    plain->run = ir_run_ref (run);
  else
    plain->sizer = ir_session_new_sizer (session);
  plain->backend = ir_session_get_backend (session);
  plain->memory_order = gtk_check_button_get_active (GTK_CHECK_BUTTON (self->memory_order));
  plain->separate = gtk_check_button_get_active (GTK_CHECK_BUTTON (self->separate));
  /* Values are computed again in the memory of the host. */
  plain->of_device = gtk_check_button_get_active (GTK_CHECK_BUTTON (self->of_device)) &&
                     !is_budgeted (self);
  return plain;
}

/* That of what the graph on screen is compared with, made in the same way. (nullable): nothing is */
static IrPlainPlan *
before_new (IrMemoryView *self, IrSession *session, const IrFrame *frame)
{
  IrPlainPlan *before;

  if (frame->diff == NULL || (!frame->foreign && frame->from == frame->to))
    return NULL;
  before = ir_plain_plan_new ();
  before->sizer = ir_session_new_sizer_of_other (session);
  before->backend = self->plain->backend;
  before->of_device = self->plain->of_device;
  before->memory_order = self->plain->memory_order;
  before->separate = self->plain->separate;
  return before;
}

static void
rebuild (IrMemoryView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);

  g_clear_pointer (&self->plain, ir_plain_plan_unref);
  g_clear_pointer (&self->before, ir_plain_plan_unref);
  if (frame != NULL)
    {
      self->plain = plain_new (self, session, frame);
      self->before = before_new (self, session, frame);
      /* ids of another file are none of the picture: a click would select something else */
      if (frame->foreign)
        gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->now), TRUE);
      gtk_widget_set_sensitive (self->other, !frame->foreign);
    }
  rebuild_budget (self);
  if (frame != NULL)
    return;
  ir_chart_area_clear (self->chart);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "closed");
}

/* Plans of a device have none. */
static void
on_budgeted (IrMemoryView *self)
{
  if (gtk_check_button_get_active (GTK_CHECK_BUTTON (self->of_device)))
    rebuild (self);
  else
    rebuild_budget (self);
}

/* -- beside the chart -- */

static char *
plan_text (const IrMemPlan *plan)
{
  const IrMemResult *result = ir_mem_plan_result (plan);

  return g_strdup_printf ("Placement: %s%s.\nSelect a value to see why it lies where it lies.",
                          ir_mem_algorithm_name (result->algorithm),
                          result->proven ? "; none can be lower" : "");
}

/* (nullable): the value that is selected, or that the selected node gives first */
static const IrValue *
asked_value (IrMemoryView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrModel *model = self->memory->plain->model;
  const IrValueId id = ir_session_get_selected_value (session);
  const IrNode *node = ir_model_live_node (model, ir_session_get_selected_node (session));

  if (id != 0)
    return ir_model_live_value (model, id);
  return node != NULL ? ir_node_output (node, 0) : NULL;
}

static void
show_why (IrMemoryView *self)
{
  const IrValue *value = self->shown ? asked_value (self) : NULL;
  g_autofree char *text = NULL, *plain = NULL, *peak = NULL, *rounds = NULL;

  if (!self->shown)
    return;
  if (value != NULL)
    text = ir_mem_plan_explain (self->memory->plain->plan, self->memory->plain->model, value->id);
  else
    {
      plain = plan_text (self->memory->plain->plan);
      peak = ir_mem_plan_peak_text (self->memory->plain->plan, self->memory->plain->model, AT_PEAK);
      rounds = ir_token_rounds_text (self->memory->plain->model);
      text = g_strconcat (plain, "\n\n", peak, "\n\n", rounds, NULL);
    }
  gtk_label_set_text (GTK_LABEL (self->why), g_strchomp (text));
}

/* -- what an allocator would be asked for, one after another -- */

static void
forget_events (IrMemoryView *self)
{
  g_clear_pointer (&self->events, g_array_unref);
  self->event = 0;
  ir_chart_area_set_range (self->chart, 0, 0);
}

static void
select_value (IrMemoryView *self, IrValueId id)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);
  const IrValue *value = frame != NULL ? ir_frame_value (frame, id) : NULL;

  if (value == NULL)
    return;
  ir_session_select_node (session,
                          value->producer != NULL ? value->producer->id | (id & IR_OTHER_SIDE) : 0);
  ir_session_select_value (session, id);
}

static void
show_event (IrMemoryView *self, const IrMemEvent *event)
{
  const IrMemPlan *plan = self->memory->plain->plan;
  const double n = MAX (ir_mem_plan_schedule (plan)->items->len, 1);
  const double at = MIN (event->step, n - 1);
  g_autofree char *size = g_format_size_full (event->size, G_FORMAT_SIZE_IEC_UNITS),
                  *held = g_format_size_full (event->held, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *text = g_strdup_printf (
      "Event %u of %u, before step %u: %s %s at %" G_GUINT64_FORMAT "; %s held then", self->event,
      self->events->len, event->step, event->allocates ? "allocates" : "frees", size, event->offset,
      held);

  select_value (self, event->value);
  gtk_label_set_text (GTK_LABEL (self->summary), text);
  ir_chart_area_set_range (self->chart, at / n, (at + 1) / n);
}

static void
on_stepped (IrChartArea *chart, int direction, IrMemoryView *self)
{
  gint64 next;

  if (!self->shown || self->memory->again != NULL || self->memory->changes != NULL)
    return;
  if (self->events == NULL)
    self->events = ir_mem_plan_events (self->memory->plain->plan);
  next = (gint64) self->event + direction;
  if (next < 1 || next > self->events->len)
    return;
  self->event = (guint) next;
  show_event (self, &g_array_index (self->events, IrMemEvent, self->event - 1));
}

static void
on_row (GtkListBox *list, GtkListBoxRow *row, IrMemoryView *self)
{
  select_value (self, GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "value")));
}

static void
add_row (IrMemoryView *self, const char *title, const char *subtitle, IrValueId value)
{
  GtkWidget *row = adw_action_row_new ();

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  gtk_widget_add_css_class (row, "property-row");
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), value != 0);
  g_object_set_data (G_OBJECT (row), "value", GUINT_TO_POINTER (value));
  gtk_list_box_append (GTK_LIST_BOX (self->dropped), row);
}

/* The stay of the same value that comes after @index; the number of stays: none. */
static guint
next_interval (const GArray *intervals, guint index)
{
  const guint value = g_array_index (intervals, IrRecomputeInterval, index).value;

  do
    index++;
  while (index < intervals->len &&
         g_array_index (intervals, IrRecomputeInterval, index).value != value);
  return index;
}

static void
clear_rows (IrMemoryView *self, const char *name)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->dropped)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->dropped), child);
  ir_name (self->dropped, name);
}

/* "2.0 KiB → 1.0 KiB, no longer at the peak" */
static char *
change_text (const IrMemChange *change)
{
  g_autofree char *before = g_format_size_full (change->before_size, G_FORMAT_SIZE_IEC_UNITS),
                  *after = g_format_size_full (change->after_size, G_FORMAT_SIZE_IEC_UNITS);
  const char *peak = change->before_peak == change->after_peak ? ""
                     : change->before_peak                     ? ", no longer at the peak"
                                                               : ", at the peak now";

  if (change->before_size == 0)
    return g_strdup_printf ("new: %s%s", after, peak);
  if (change->after_size == 0)
    return g_strdup_printf ("gone: %s%s", before, peak);
  return change->before_size == change->after_size
             ? g_strdup_printf ("%s%s", after, peak)
             : g_strdup_printf ("%s → %s%s", before, after, peak);
}

static void
show_changes (IrMemoryView *self)
{
  const IrMemoryRequest *memory = self->memory;
  const IrMemPlan *before = memory->before->plan, *after = memory->plain->plan;
  const struct
  {
    const char *what;
    guint64 before, after;
  } totals[] = { { "Peak", before->peak_bytes, after->peak_bytes },
                 { "Lower bound", before->lower_bound_bytes, after->lower_bound_bytes },
                 { "Without reuse", before->naive_bytes, after->naive_bytes } };
  g_autoptr (GString) text = g_string_new (NULL);

  clear_rows (self, "Values whose memory differs");
  for (guint i = 0; i < G_N_ELEMENTS (totals); i++)
    {
      g_autofree char *x = g_format_size_full (totals[i].before, G_FORMAT_SIZE_IEC_UNITS),
                      *y = g_format_size_full (totals[i].after, G_FORMAT_SIZE_IEC_UNITS);

      g_string_append_printf (text, "%s%s: %s → %s", i > 0 ? "\n" : "", totals[i].what, x, y);
    }
  gtk_label_set_text (GTK_LABEL (self->summary), text->str);
  for (guint i = 0; i < MIN (memory->changes->len, MAX_ROWS); i++)
    {
      const IrMemChange *change = &g_array_index (memory->changes, IrMemChange, i);
      g_autofree char *subtitle = change_text (change);

      add_row (self, change->name, subtitle,
               change->after != 0        ? change->after
               : !memory->frame->foreign ? change->before
                                         : change->before | IR_OTHER_SIDE);
    }
  if (memory->changes->len > MAX_ROWS)
    {
      g_autofree char *more = g_strdup_printf ("… %u more", memory->changes->len - MAX_ROWS);

      add_row (self, more, "", 0);
    }
  if (memory->changes->len == 0)
    add_row (self, "No value differs", "Sizes and the peak are the same", 0);
}

/* What is dropped, in the order of runs. */
static guint
show_dropped (IrMemoryView *self)
{
  const IrMemoryRequest *memory = self->memory;
  const GArray *intervals = memory->again->intervals;
  guint n = 0;

  clear_rows (self, "Dropped values");
  for (guint i = 0; i < intervals->len; i++)
    {
      const IrRecomputeInterval *interval = &g_array_index (intervals, IrRecomputeInterval, i);
      const guint next = next_interval (intervals, i);
      const IrValueId id = g_array_index (memory->graph->values, IrValueId, interval->value);
      g_autofree char *subtitle = NULL;

      if (next == intervals->len || ++n > MAX_ROWS)
        continue;
      subtitle = g_strdup_printf ("dropped after run %u, again in run %u", interval->last,
                                  g_array_index (intervals, IrRecomputeInterval, next).first);
      add_row (self, ir_model_value (memory->plain->model, id)->name, subtitle, id);
    }
  if (n > MAX_ROWS)
    {
      g_autofree char *more = g_strdup_printf ("… %u more", n - MAX_ROWS);
      add_row (self, more, "", 0);
    }
  if (n == 0)
    add_row (self, "Nothing is dropped", memory->again->feasible ? "everything fits" : "", 0);
  return n;
}

static const char *
plan_kind (const IrPlainPlan *plain)
{
  if (plain->memory_order && plain->separate)
    return "A plan in memory order, every value by itself";
  if (plain->memory_order)
    return "A plan in memory order";
  if (plain->separate)
    return "A plan with every value by itself";
  return plain->run != NULL ? "The plan that the last run followed"
                            : "The plan that a run would follow";
}

static char *
plan_title (const IrPlainPlan *plain)
{
  return g_strdup_printf ("%s%s", plan_kind (plain),
                          plain->plan->memory != NULL  ? ", in the memory of the device"
                          : plain->plan->there != NULL ? ", in the memory of the host"
                          : plain->of_device           ? "; nothing is in the memory of a device"
                                                       : "");
}

/* What it took to stay below the budget. */
static void
show_again (IrMemoryView *self)
{
  const IrRecomputePlan *again = self->memory->again;
  const guint n = again->runs->len - self->memory->graph->problem.n_tasks;
  g_autofree char *extra = ir_flops_text (again->extra_flops, FALSE), *text = NULL;
  const char *said = again->feasible ? "The budget holds" : "The budget is too small";

  show_dropped (self);
  if (n == 0)
    text = g_strdup_printf ("%s: %s", said,
                            again->feasible ? "no node has to run again"
                                            : "no node can run again to give room");
  else
    text = g_strdup_printf (
        "%s: %u %s again, %s more (+%.1f %%), by the method “%s”", said, n,
        n == 1 ? "node runs" : "nodes run", extra,
        again->flops > 0 ? 100.0 * (double) again->extra_flops / (double) again->flops : 0.0,
        ir_recompute_method_name (again->method));
  gtk_label_set_text (GTK_LABEL (self->summary), text);
}

/* What was cancelled or refused is not tried again before something else is asked for. */
static void
on_loaded (IrMemoryView *self, const char *problem)
{
  g_autofree char *title = NULL;

  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), problem == NULL ? "chart" : "message");
  gtk_label_set_text (GTK_LABEL (self->message), problem != NULL ? problem : "");
  gtk_label_set_text (GTK_LABEL (self->summary), "");
  self->shown = problem == NULL;
  forget_events (self);
  if (problem != NULL)
    {
      g_clear_pointer (&self->memory, ir_memory_request_unref);
      return;
    }
  gtk_stack_set_visible_child_name (
      GTK_STACK (self->side),
      self->memory->again != NULL || self->memory->changes != NULL ? "dropped" : "why");
  if (self->memory->changes != NULL)
    show_changes (self);
  if (self->memory->again != NULL)
    show_again (self);
  if (self->memory->changes != NULL || self->memory->again != NULL)
    return;
  title = plan_title (self->memory->plain);
  gtk_label_set_text (GTK_LABEL (self->summary), title);
  show_why (self);
}

/* -- changes -- */

static void
ir_memory_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrMemoryView *self = IR_MEMORY_VIEW (view);

  if (changes & (IR_CHANGED_RUNS | IR_CHANGED_FRAME | IR_CHANGED_HISTORY | IR_CHANGED_INPUTS))
    rebuild (self);
  else if (changes & IR_CHANGED_SELECTION)
    show_why (self);
  ir_chart_area_session_changed (self->chart, changes);
}

/* -- object -- */

static void
ir_memory_view_focus_content (IrView *view)
{
  gtk_widget_grab_focus (GTK_WIDGET (IR_MEMORY_VIEW (view)->chart));
}

static void
ir_memory_view_dispose (GObject *object)
{
  g_clear_pointer (&IR_MEMORY_VIEW (object)->memory, ir_memory_request_unref);
  g_clear_pointer (&IR_MEMORY_VIEW (object)->plain, ir_plain_plan_unref);
  g_clear_pointer (&IR_MEMORY_VIEW (object)->before, ir_plain_plan_unref);
  g_clear_pointer (&IR_MEMORY_VIEW (object)->events, g_array_unref);
  G_OBJECT_CLASS (ir_memory_view_parent_class)->dispose (object);
}

static void
ir_memory_view_class_init (IrMemoryViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_memory_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_memory_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_memory_view_focus_content;
}

#define DOC_INDENT 28 /* pixels: where the title of a choice begins */

/* Adds a choice and, below it, what it means: in lines, as a popover leaves no height for text that
 * is wrapped. Returns: (transfer none): the choice */
static GtkWidget *
add_option (IrMemoryView *self, GtkWidget *box, const char *title, const char *doc)
{
  GtkWidget *button = gtk_check_button_new_with_label (title), *label = gtk_label_new (doc),
            *row = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_set_margin_start (label, DOC_INDENT);
  gtk_widget_add_css_class (label, "dim-label");
  gtk_widget_add_css_class (label, "caption");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, doc,
                                  -1);
  g_signal_connect_swapped (button, "toggled", G_CALLBACK (rebuild), self);
  gtk_box_append (GTK_BOX (row), button);
  gtk_box_append (GTK_BOX (row), label);
  gtk_box_append (GTK_BOX (box), row);
  return button;
}

static GtkWidget *
make_options (IrMemoryView *self)
{
  GtkWidget *button = gtk_menu_button_new (), *popover = gtk_popover_new (),
            *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);

  self->memory_order = add_option (self, box, "Memory order",
                                   "Nodes in the order with the lowest peak,\n"
                                   "if it is lower than that of the graph");
  self->separate = add_option (self, box, "Every value by itself",
                               "Bytes of its own for each value:\nno views, nothing in place");
  self->of_device = add_option (self, box, "Memory of the device",
                                "What lies in that of a GPU, where the graph runs on one;\n"
                                "without a budget");
  gtk_widget_set_margin_start (box, 6);
  gtk_widget_set_margin_end (box, 6);
  gtk_popover_set_child (GTK_POPOVER (popover), box);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (button), popover);
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "view-more-symbolic");
  gtk_widget_set_tooltip_text (button, "How the plan is made");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "How the plan is made", -1);
  gtk_widget_add_css_class (button, "flat");
  return button;
}

/* Which of two plans is drawn. */
static GtkWidget *
make_sides (IrMemoryView *self)
{
  self->sides = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  self->other = gtk_toggle_button_new_with_label ("Before");
  self->now = gtk_toggle_button_new_with_label ("Now");
  gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (self->now), GTK_TOGGLE_BUTTON (self->other));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->now), TRUE);
  gtk_widget_set_tooltip_text (self->other,
                               "Draw the plan of what the graph is compared with; that of "
                               "another file is drawn when it is opened");
  gtk_widget_set_tooltip_text (self->now, "Draw the plan of the graph on screen");
  g_signal_connect_swapped (self->other, "toggled", G_CALLBACK (rebuild_budget), self);
  gtk_widget_add_css_class (self->sides, "linked");
  gtk_widget_set_visible (self->sides, FALSE);
  gtk_box_append (GTK_BOX (self->sides), self->other);
  gtk_box_append (GTK_BOX (self->sides), self->now);
  return self->sides;
}

static GtkWidget *
make_toolbar (IrMemoryView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6),
            *kinds = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0), *options;

  self->planned = gtk_toggle_button_new_with_label ("No budget");
  self->budgeted = gtk_toggle_button_new_with_label ("Under a budget");
  gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (self->budgeted),
                               GTK_TOGGLE_BUTTON (self->planned));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->planned), TRUE);
  self->compared = gtk_toggle_button_new_with_label ("Compared");
  gtk_widget_set_tooltip_text (self->compared,
                               "Beside the plan of what the graph is compared with");
  gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (self->compared),
                               GTK_TOGGLE_BUTTON (self->planned));
  g_signal_connect_swapped (self->budgeted, "toggled", G_CALLBACK (on_budgeted), self);
  g_signal_connect_swapped (self->compared, "toggled", G_CALLBACK (rebuild_budget), self);
  gtk_widget_add_css_class (kinds, "linked");
  gtk_box_append (GTK_BOX (kinds), self->planned);
  gtk_box_append (GTK_BOX (kinds), self->budgeted);
  gtk_box_append (GTK_BOX (kinds), self->compared);
  self->budget = gtk_entry_new ();
  gtk_editable_set_text (GTK_EDITABLE (self->budget), "50%");
  gtk_editable_set_width_chars (GTK_EDITABLE (self->budget), 7);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (self->budget), 7);
  gtk_widget_set_sensitive (self->budget, FALSE);
  gtk_widget_set_tooltip_text (self->budget,
                               "Bytes, such as 500000 or 20M, or a part of the peak, such as 50%");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->budget), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Budget", -1);
  g_signal_connect_swapped (self->budget, "activate", G_CALLBACK (rebuild_budget), self);
  options = make_options (self);
  gtk_widget_set_hexpand (options, TRUE);
  gtk_widget_set_halign (options, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (box), kinds);
  gtk_box_append (GTK_BOX (box), self->budget);
  gtk_box_append (GTK_BOX (box), make_sides (self));
  gtk_box_append (GTK_BOX (box), options);
  gtk_box_append (GTK_BOX (box), ir_chart_area_new_zoom_buttons (self->chart));
  gtk_widget_add_css_class (box, "view-toolbar");
  return box;
}

static GtkWidget *
scrolled (GtkWidget *child)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();

  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), child);
  return scroller;
}

static GtkWidget *
side_label (void)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_yalign (GTK_LABEL (label), 0);
  ir_label_wrap_names (GTK_LABEL (label));
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_add_css_class (label, "caption");
  return label;
}

static GtkWidget *
make_side (IrMemoryView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *scroller;

  self->summary = side_label ();
  gtk_widget_add_css_class (self->summary, "dim-label");
  self->why = side_label ();
  self->dropped = gtk_list_box_new ();
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->dropped), GTK_SELECTION_NONE);
  g_signal_connect (self->dropped, "row-activated", G_CALLBACK (on_row), self);
  self->side = gtk_stack_new ();
  gtk_stack_set_vhomogeneous (GTK_STACK (self->side), FALSE);
  /* A page out of sight asks for no room; its text would, for that of the other's height. */
  gtk_stack_set_hhomogeneous (GTK_STACK (self->side), FALSE);
  gtk_widget_set_vexpand (self->side, TRUE);
  gtk_stack_add_named (GTK_STACK (self->side), self->why, "why");
  gtk_stack_add_named (GTK_STACK (self->side), self->dropped, "dropped");
  gtk_box_append (GTK_BOX (box), self->summary);
  gtk_box_append (GTK_BOX (box), self->side);
  gtk_widget_add_css_class (box, "memory-side");
  scroller = scrolled (box); /* all of it, as a paned does not ask how often its sides wrap */
  gtk_widget_set_size_request (scroller, 220, -1);
  return scroller;
}

static GtkWidget *
make_page (IrMemoryView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *panes = gtk_paned_new (GTK_ORIENTATION_HORIZONTAL);

  self->chart = IR_CHART_AREA (ir_chart_area_new ("Memory plan", TRUE));
  g_signal_connect_object (self->chart, "resized", G_CALLBACK (load), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->chart, "loaded", G_CALLBACK (on_loaded), self, G_CONNECT_SWAPPED);
  g_signal_connect (self->chart, "stepped", G_CALLBACK (on_stepped), self);
  gtk_paned_set_start_child (GTK_PANED (panes), GTK_WIDGET (self->chart));
  gtk_paned_set_end_child (GTK_PANED (panes), make_side (self));
  gtk_paned_set_resize_end_child (GTK_PANED (panes), FALSE);
  gtk_paned_set_shrink_start_child (GTK_PANED (panes), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (panes), FALSE);
  gtk_widget_set_vexpand (panes, TRUE);
  gtk_box_append (GTK_BOX (box), ir_view_scrolled_row (make_toolbar (self)));
  self->stack = gtk_stack_new ();
  gtk_box_append (GTK_BOX (box), self->stack);
  self->message = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->message), TRUE);
  gtk_widget_add_css_class (self->message, "dim-label");
  gtk_stack_add_named (GTK_STACK (self->stack), panes, "chart");
  gtk_stack_add_named (GTK_STACK (self->stack), self->message, "message");
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("drive-multidisk-symbolic", "No Graph",
                                           "The memory plan of a graph is shown here.", "win.open",
                                           "Open…"),
                       "closed");
  return box;
}

static void
ir_memory_view_init (IrMemoryView *self)
{
  adw_bin_set_child (ADW_BIN (self), make_page (self));
}

const IrViewInfo ir_view_memory = {
  .id = "memory",
  .title = "Memory",
  .icon_name = "drive-multidisk-symbolic",
  .doc = "Where each value lies and when, and what fits into a budget.",
  .help =
      "From left to right the steps of the run, from bottom to top addresses: a block "
      "is a value, as long as it lives and as high as it is large. All lie in one arena, whose size is "
      "the highest edge: the peak. The lower bound is the most that lives at one step, and without reuse "
      "the arena would be the total of all sizes. A click on a block says why it lies there; pointing at one marks what makes and reads it "
      "in the graph. Compared lists what differs from the plan of what the graph is compared with. "
      "Down and Up play what an allocator would be asked for, event by event.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_memory_view_get_type,
};
