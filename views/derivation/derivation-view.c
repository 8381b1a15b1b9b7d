/* The derivation: all ways to derive an output beside each other, on the inputs that a run would have.
 * A value is in a row of its own, and is outlined in every way where it is selected. What a way says of
 * it stands above the chart as text, for reading and for assistive technology. */
#include "config.h"

#include "passes/debug/derivation.h"
#include "views/chart-area.h"
#include "views/derive-lists.h"
#include "views/label.h"
#include "views/name.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/selection.h"

#include "core/op/infer.h"

#include <math.h>
#include <string.h>

#define MOST_FLOPS                                                                                 \
  50e6 /* more is derived when it is asked for: the tape runs on reference kernels */

/* What is derived, and what came of it: shared by the view and its job. */
typedef struct
{
  gatomicrefcount refs;
  GMutex lock;
  IrSizer *sizer;
  char *of;
  const char *by;
  IrDerivation *derivation; /* (nullable) atomic: once it is there it does not change */
} Source;

struct _IrDerivationView
{
  IrView parent;
  GtkWidget *stack, *message, *said;
  IrDeriveLists lists;
  IrChartArea *chart;
  Source *source;  /* (nullable) */
  gboolean wanted; /* it was asked for, however long it takes */
  guint event;     /* of the tape, from 1 on; 0: before the first */
};

#define IR_TYPE_DERIVATION_VIEW (ir_derivation_view_get_type ())
G_DECLARE_FINAL_TYPE (IrDerivationView, ir_derivation_view, IR, DERIVATION_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrDerivationView, ir_derivation_view, IR_TYPE_VIEW)

/* -- what is derived -- */

static Source *
source_ref (Source *source)
{
  g_atomic_ref_count_inc (&source->refs);
  return source;
}

static void
source_unref (gpointer data)
{
  Source *source = data;

  if (!g_atomic_ref_count_dec (&source->refs))
    return;
  g_clear_pointer (&source->sizer, ir_sizer_free);
  g_clear_pointer (&source->derivation, ir_derivation_free);
  g_mutex_clear (&source->lock);
  g_free (source->of);
  g_free (source);
}

static IrDerivation *
derive (const Source *source, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrModel) model = ir_sizer_make (source->sizer, error);
  g_autoptr (GHashTable) inputs = model != NULL ? ir_sizer_inputs (source->sizer, error) : NULL;
  const IrRunLimits limits = { 0 };

  return inputs != NULL ? ir_derivation_new (model, inputs, source->of, source->by, &limits,
                                             cancellable, error)
                        : NULL;
}

/* In the job. A chart for a pane of another size is of the same derivation. */
static IrScene *
make_scene (IrJob *job,
            gpointer data,
            const IrChartOptions *options,
            GCancellable *cancellable,
            GError **error)
{
  Source *source = data;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&source->lock);

  if (source->derivation == NULL)
    g_atomic_pointer_set (&source->derivation, derive (source, cancellable, error));
  return source->derivation != NULL ? ir_derivation_chart (source->derivation, options) : NULL;
}

static void
load (IrDerivationView *self)
{
  if (self->source != NULL)
    ir_chart_area_load (self->chart, make_scene, source_ref (self->source), source_unref);
}

/* -- showing it -- */

static void
show_page (IrDerivationView *self, const char *page, const char *message)
{
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), page);
  gtk_label_set_text (GTK_LABEL (self->message), message != NULL ? message : "");
}

static void
rebuild (IrDerivationView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);
  gboolean partial;

  g_clear_pointer (&self->source, source_unref);
  self->event = 0;
  gtk_label_set_text (GTK_LABEL (self->said), "");
  if (frame == NULL)
    {
      ir_chart_area_clear (self->chart);
      show_page (self, "closed", NULL);
      return;
    }
  ir_derive_lists_update (&self->lists, frame->model);
  if (!self->wanted && (double) ir_cost_model (frame->model, &partial).flops > MOST_FLOPS)
    {
      ir_chart_area_clear (self->chart);
      show_page (self, "large", NULL);
      return;
    }
  self->source = g_new0 (Source, 1);
  g_atomic_ref_count_init (&self->source->refs);
  g_mutex_init (&self->source->lock);
  self->source->sizer = ir_session_new_sizer (session);
  self->source->of = g_strdup (ir_derive_lists_of (&self->lists));
  self->source->by = ir_derive_lists_by (&self->lists);
  show_page (self, "chart", NULL);
  load (self);
}

static void
on_choice (gpointer data)
{
  rebuild (data);
}

static void
on_derive (IrDerivationView *self)
{
  self->wanted = TRUE;
  rebuild (self);
}

/* -- what is said of the selected value -- */

static void
append_numbers (GString *text, const char *what, const GPtrArray *tensors)
{
  g_string_append_printf (text, "%s ", what);
  for (guint i = 0; i < tensors->len; i++)
    {
      const IrTensor *tensor = tensors->pdata[i];
      g_string_append (text, i > 0 ? ", " : "");
      if (tensor == NULL)
        g_string_append (text, "0");
      else if (ir_tensor_n_elements (tensor) == 1)
        g_string_append_printf (text, "%.6g", ir_tensor_get_double (tensor, 0));
      else
        g_string_append_printf (text, "%" G_GUINT64_FORMAT " elements",
                                ir_tensor_n_elements (tensor));
    }
}

static void
append_row (GString *text, const IrTape *tape, const IrTapeRow *row)
{
  append_numbers (text, "tangent", row->tangents);
  g_string_append (text, "; ");
  if (row->adjoints->len > 0)
    append_numbers (text, "adjoint", row->adjoints);
  else
    g_string_append (text, "nothing comes back");
  for (guint i = 0; i < row->partials->len; i++)
    {
      const IrTapePartial *partial = &g_array_index (row->partials, IrTapePartial, i);
      if (!isnan (partial->slope))
        g_string_append_printf (text, "; slope by %s %.6g",
                                ir_model_value (tape->model, partial->input)->name, partial->slope);
    }
}

/* -- the tape, event by event -- */

/* (nullable) It is being made */
static const IrDerivation *
derivation_of (IrDerivationView *self)
{
  return self->source != NULL ? g_atomic_pointer_get (&self->source->derivation) : NULL;
}

/* (nullable) The one that is on */
static const IrTapeEvent *
event_of (IrDerivationView *self)
{
  const IrDerivation *derivation = derivation_of (self);

  return derivation != NULL && derivation->tape != NULL && self->event > 0 &&
                 self->event <= derivation->tape->events->len
             ? &g_array_index (derivation->tape->events, IrTapeEvent, self->event - 1)
             : NULL;
}

static void
append_event (GString *text, const IrTape *tape, const IrTapeEvent *event, guint number)
{
  const IrNode *node = ir_model_live_node (tape->model, event->node);
  g_autofree char *label = node != NULL ? ir_node_label (node) : NULL,
                  *held = g_format_size_full (event->bytes_held, G_FORMAT_SIZE_IEC_UNITS);

  g_string_append_printf (text, "Tape %u of %u: %s%s%s, %s held. ", number, tape->events->len,
                          ir_tape_event_name (event->kind), label != NULL ? " " : "",
                          label != NULL ? label : "", held);
}

static char *
text_of (IrDerivationView *self, const IrValue *value)
{
  const IrDerivation *derivation = derivation_of (self);
  const IrTapeEvent *event = event_of (self);
  GString *text = g_string_new (NULL);
  const IrTapeRow *row = derivation->tape != NULL ? ir_tape_row (derivation->tape, value->id)
                                                  : NULL;

  if (event != NULL && event->value == value->id)
    append_event (text, derivation->tape, event, self->event);
  g_string_append_printf (text, "%s: ", value->name);
  if (row != NULL)
    append_row (text, derivation->tape, row);
  else
    g_string_append (text, "no part of the derivation");
  for (guint i = 0; i < derivation->ways->len; i++)
    {
      const IrChartWay *way = &g_array_index (derivation->ways, IrChartWay, i);
      const char *said = g_hash_table_lookup (way->texts, GUINT_TO_POINTER (value->id));
      if (said != NULL)
        g_string_append_printf (text, "; %s %s", way->title, said);
    }
  return g_string_free (text, FALSE);
}

/* Which ways cannot be taken, where nothing is selected */
static char *
refusals_of (const IrDerivation *derivation)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < derivation->ways->len; i++)
    {
      const IrChartWay *way = &g_array_index (derivation->ways, IrChartWay, i);
      if (way->why != NULL)
        g_string_append_printf (text, "%s%s: %s", text->len > 0 ? "; " : "", way->title, way->why);
    }
  return g_string_free (text, FALSE);
}

static void
show_value (IrDerivationView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);
  const IrDerivation *derivation = derivation_of (self);
  const IrNode *node = NULL;
  const IrValue *value = NULL;
  g_autofree char *text = NULL;

  if (derivation == NULL || frame == NULL)
    return;
  value = ir_model_live_value (frame->model, ir_session_get_selected_value (session));
  node = ir_model_live_node (frame->model, ir_session_get_selected_node (session));
  if (value == NULL && node != NULL)
    value = ir_node_output (node, 0);
  text = value != NULL ? text_of (self, value) : refusals_of (derivation);
  gtk_label_set_text (GTK_LABEL (self->said), text != NULL ? text : "");
  ir_set_tip (self->said, text);
}

static void
play (IrDerivationView *self, gboolean forth)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);

  self->event = forth ? self->event + 1 : MAX (self->event, 1) - 1;
  const IrTapeEvent *event = event_of (self);
  if (event == NULL && forth)
    self->event--;
  else if (event != NULL && frame != NULL)
    {
      const IrValue *value = ir_model_live_value (frame->model, event->value);
      const gboolean made = value != NULL && value->producer != NULL;
      ir_session_select_node (session, made ? value->producer->id : 0);
      ir_session_select_value (session, event->value);
    }
  show_value (self);
}

static void
on_back (IrDerivationView *self)
{
  play (self, FALSE);
}

static void
on_forth (IrDerivationView *self)
{
  play (self, TRUE);
}

static void
on_loaded (IrDerivationView *self, const char *problem)
{
  show_page (self, problem == NULL ? "chart" : "message", problem);
  show_value (self);
}

static void
ir_derivation_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrDerivationView *self = IR_DERIVATION_VIEW (view);

  if (changes & (IR_CHANGED_FRAME | IR_CHANGED_HISTORY | IR_CHANGED_INPUTS))
    rebuild (self);
  if (changes & IR_CHANGED_SELECTION)
    show_value (self);
  ir_chart_area_session_changed (self->chart, changes);
}

/* -- object -- */

static void
ir_derivation_view_focus_content (IrView *view)
{
  gtk_widget_grab_focus (GTK_WIDGET (IR_DERIVATION_VIEW (view)->chart));
}

static void
ir_derivation_view_dispose (GObject *object)
{
  IrDerivationView *self = IR_DERIVATION_VIEW (object);

  g_clear_pointer (&self->source, source_unref);
  ir_derive_lists_clear (&self->lists);
  G_OBJECT_CLASS (ir_derivation_view_parent_class)->dispose (object);
}

static void
ir_derivation_view_class_init (IrDerivationViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_derivation_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_derivation_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_derivation_view_focus_content;
}

static void
add_button (
    IrDerivationView *self, GtkWidget *bar, const char *icon, const char *title, GCallback pressed)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_set_tooltip_text (button, title);
  ir_name (button, title);
  g_signal_connect_swapped (button, "clicked", pressed, self);
  gtk_box_append (GTK_BOX (bar), button);
}

static GtkWidget *
make_chart (IrDerivationView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  ir_derive_lists_init (&self->lists, bar, on_choice, self);
  add_button (self, bar, "go-previous-symbolic", "Previous Event of the Tape",
              G_CALLBACK (on_back));
  add_button (self, bar, "go-next-symbolic", "Next Event of the Tape", G_CALLBACK (on_forth));
  self->said = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->said), 1);
  gtk_label_set_ellipsize (GTK_LABEL (self->said), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (self->said, "caption");
  gtk_widget_set_hexpand (self->said, TRUE);
  gtk_box_append (GTK_BOX (bar), self->said);
  gtk_widget_add_css_class (bar, "view-toolbar");
  self->chart = IR_CHART_AREA (ir_chart_area_new ("Derivation", TRUE));
  g_signal_connect_object (self->chart, "resized", G_CALLBACK (load), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->chart, "loaded", G_CALLBACK (on_loaded), self, G_CONNECT_SWAPPED);
  gtk_box_append (GTK_BOX (box), bar);
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (self->chart));
  return box;
}

/* What takes long begins when it is asked for. */
static GtkWidget *
make_large_page (IrDerivationView *self)
{
  GtkWidget *page = ir_view_empty_page ("view-dual-symbolic", "A Large Graph",
                                        "All ways are taken by the reference kernels, which takes "
                                        "its time. It can be cancelled.",
                                        NULL, NULL);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6),
            *button = gtk_button_new_with_label ("Derive");

  gtk_widget_set_halign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "pill");
  g_signal_connect_swapped (button, "clicked", G_CALLBACK (on_derive), self);
  gtk_box_append (GTK_BOX (box), page);
  gtk_box_append (GTK_BOX (box), button);
  return box;
}

static void
ir_derivation_view_init (IrDerivationView *self)
{
  GtkWidget *chart = make_chart (self);

  self->message = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->message), TRUE);
  gtk_widget_add_css_class (self->message, "dim-label");
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("view-dual-symbolic", "No Graph",
                                           "All ways to derive an output are shown here, beside "
                                           "each other.",
                                           "win.open", "Open…"),
                       "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), chart, "chart");
  gtk_stack_add_named (GTK_STACK (self->stack), make_large_page (self), "large");
  gtk_stack_add_named (GTK_STACK (self->stack), self->message, "message");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_derivation = {
  .id = "derivation",
  .title = "Derivation",
  .icon_name = "view-dual-symbolic",
  .doc = "An output derived in all ways, beside each other: forward, reverse, numeric, symbolic.",
  .help =
      "A row is a value: forwards what it holds and its tangent, backwards its adjoint as parts "
      "come to it. Arrows are edges with their slopes, and lead back on the right. The other ways "
      "stand beside, with the errors of differences by their step; one that cannot be taken says which node stops it first. A click, or the "
      "arrow keys, select a value in all of them. The two arrows above play the tape event by event: "
      "push, pop and accumulate.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_derivation_view_get_type,
};
