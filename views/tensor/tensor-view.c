/* The tensor: contents of the selected value, in the original graph and in the one that ran:
 * statistics, histogram, heat map, and a table of the values with their differences. */
#include "config.h"

#include "core/exec/kernel/element-test.h"
#include "core/exec/run/capture.h"
#include "core/io/io.h"
#include "core/ir/tensor-text.h"
#include "views/colours.h"
#include "core/ir/count.h"
#include "views/jobs.h"
#include "views/name.h"
#include "views/session/frame.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/values.h"
#include "views/tensor/against.h"
#include "views/tensor/controls.h"
#include "views/tensor/element-table.h"
#include "views/tensor/rounds.h"
#include "views/tensor/tensor-facts.h"
#include "views/tensor/tensor-plot.h"
#include "views/tensor/tensor-request.h"
#include "views/tensor/tensor-save.h"
#include "views/view.h"

#define LEAST_TEXT 150 /* px */
#define AXES_TIP                                                                                   \
  "What each axis is: r (rows), c (columns), t (beside each other) or an index, such as 0,t,r,c; of rows and columns a part, such as r10:20"

typedef struct
{
  GtkWidget *box, *heading, *facts, *warning, *plot, *message;
  char *reason; /* (nullable) why there are no contents, or how they were had */
} Side;

struct _IrTensorView
{
  IrView parent;
  GtkWidget *stack, *title, *relation, *plane, *plane_box, *plane_text, *go_to, *table;
  GtkWidget *difference_box, *difference, *metrics, *more;
  GtkWidget *against;
  IrTensorRounds rounds;
  GtkWidget *copy, *save;
  GtkWidget *tools, *listing; /* how contents are drawn; the table with what is said below it */
  GtkWidget *format, *as, *not_so, *histogram, *compared, *axes, *zoom_in, *zoom_out, *find,
      *links[IR_N_TENSOR_LINKS];
  GtkColumnViewColumn *columns[IR_N_ELEMENT_COLUMNS];
  Side sides[IR_N_SIDES];
  IrElementList *elements;
  IrValueId shown;
  IrTensorFacts *facts; /* (nullable) of what is on screen */
  IrJob *job;           /* (nullable) makes the facts of what was asked for last, or before */
  IrTensorLayout zoom;  /* which part of rows and columns is shown */
  gboolean stale;       /* its result will be out of date */
  gboolean refining;    /* what is on screen is of a sample, and all of it comes now */
};

#define IR_TYPE_TENSOR_VIEW (ir_tensor_view_get_type ())
G_DECLARE_FINAL_TYPE (IrTensorView, ir_tensor_view, IR, TENSOR_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrTensorView, ir_tensor_view, IR_TYPE_VIEW)

/* -- which value: the selected one, else what the selected node gives -- */

static const IrValue *
value_to_show (IrSession *session, IrValueId *shown)
{
  const IrFrame *frame = ir_session_get_frame (session);
  IrValueId id = ir_session_get_selected_value (session);
  IrNodeId node_id = ir_session_get_selected_node (session);
  const IrNode *node = frame != NULL ? ir_frame_node (frame, node_id) : NULL;
  const IrValue *value;

  *shown = 0;
  if (frame == NULL)
    return NULL;
  value = id != 0 ? ir_frame_value (frame, id) : node != NULL ? ir_node_output (node, 0) : NULL;
  if (value == NULL)
    value = ir_session_get_body_value (session, id, NULL);
  if (value != NULL)
    *shown = value->id | ((id != 0 ? id : node_id) & IR_OTHER_SIDE);
  return value;
}

/* -- showing -- */

static void
set_label (GtkWidget *label, const char *text)
{
  gtk_label_set_text (GTK_LABEL (label), text != NULL ? text : "");
  gtk_widget_set_visible (label, text != NULL && text[0] != '\0');
}

static void
show_side (IrTensorView *self, IrSide which)
{
  const IrTensorFacts *facts = self->facts;
  Side *side = &self->sides[which];
  IrTensor *tensor = facts->tensors[which];
  g_autofree char *text = tensor != NULL ? ir_tensor_facts_text (facts, which) : NULL,
                  *warning = ir_tensor_facts_warning (facts, which);

  set_label (side->facts, text);
  set_label (side->warning, warning);
  set_label (side->message, side->reason != NULL ? side->reason
                            : tensor == NULL     ? "There are no contents."
                                                 : NULL);
  ir_tensor_plot_load (IR_TENSOR_PLOT (side->plot), tensor, NULL, &facts->stats[which],
                       facts->n_sampled > 0);
}

static void
show_relation (IrTensorView *self)
{
  static const char *const css[] = {
    [IR_TENSORS_NOT_COMPARED] = "dim-label", [IR_TENSORS_SHAPES_DIFFER] = "accent",
    [IR_TENSORS_EQUAL] = "success",          [IR_TENSORS_DIFFER] = "accent",
    [IR_TENSORS_NAN_DIFFERS] = "error",      [IR_TENSORS_RECOMPUTED] = "dim-label",
  };
  const IrTensorFacts *facts = self->facts;
  const char *classes[] = { css[facts->relation], NULL };
  g_autofree char *text = facts->tensors[IR_SIDE_BEFORE] == facts->tensors[IR_SIDE_AFTER]
                              ? g_strdup ("")
                              : ir_tensor_facts_relation_text (facts);
  const gboolean differs = facts->n_different > 0;

  gtk_label_set_text (GTK_LABEL (self->relation), text);
  gtk_widget_set_tooltip_text (self->relation,
                               facts->relation == IR_TENSORS_RECOMPUTED
                                   ? "The same nodes made both sides, so that they are no evidence "
                                     "of what the graph after computes. The proof of the step that "
                                     "took the value away is."
                               : text[0] != '\0' ? text
                                                 : NULL);
  gtk_widget_set_css_classes (self->relation, classes);
  g_autofree char *metrics = ir_tensor_facts_metrics_text (facts);
  set_label (self->metrics, metrics);
  gtk_widget_set_visible (self->difference_box, differs);
  gtk_widget_set_visible (self->compared, differs);
  if (differs)
    ir_tensor_plot_load (IR_TENSOR_PLOT (self->difference), facts->tensors[IR_SIDE_AFTER],
                         facts->tensors[IR_SIDE_BEFORE], &facts->difference, FALSE);
  else
    ir_tensor_plot_load (IR_TENSOR_PLOT (self->difference), NULL, NULL, NULL, FALSE);
}

/* The tensor whose elements are counted: there is one unless both are missing. */
static IrTensor *
main_tensor (IrTensorView *self)
{
  if (self->facts == NULL)
    return NULL;
  return self->facts->tensors[IR_SIDE_AFTER] != NULL ? self->facts->tensors[IR_SIDE_AFTER]
                                                     : self->facts->tensors[IR_SIDE_BEFORE];
}

/* -- which elements lie where -- */

static const struct
{
  const char *title, *as;
} modes[] = { { "Automatic", "auto" },
              { "Line", "line" },
              { "Heat Map", "heat" },
              { "All Planes", "tiles" },
              { "Image", "image" } };

/* What the controls ask for, of @tensor. FALSE: it cannot be shown so */
static gboolean
wanted_layout (IrTensorView *self, const IrTensor *tensor, IrTensorLayout *layout, GError **error)
{
  const char *axes = gtk_editable_get_text (GTK_EDITABLE (self->axes));
  const guint mode = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->as));

  const char *as = mode == 0 && axes[0] != '\0' ? "heat" : modes[mode].as;

  if (!ir_tensor_layout_init (layout, tensor, as, error))
    return FALSE;
  if (axes[0] != '\0')
    return ir_tensor_layout_set_axes (layout, tensor, axes, error);
  ir_tensor_layout_set_plane (
      layout, tensor, (guint64) gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->plane)));
  if (ir_tensor_layout_is_zoomed (&self->zoom))
    ir_tensor_layout_copy_zoom (layout, &self->zoom, tensor);
  return TRUE;
}

/* Each side has its own shape; what one cannot show stays as it is there. */
static void
apply_layout (IrTensorView *self)
{
  const IrTensor *tensor = main_tensor (self);
  GtkWidget *plots[] = { self->sides[IR_SIDE_BEFORE].plot, self->sides[IR_SIDE_AFTER].plot,
                         self->difference };
  IrTensor *tensors[G_N_ELEMENTS (plots)];
  g_autoptr (GError) error = NULL;
  IrTensorLayout layout;

  if (tensor == NULL)
    return;
  tensors[0] = self->facts->tensors[IR_SIDE_BEFORE];
  tensors[1] = tensors[2] = self->facts->tensors[IR_SIDE_AFTER];
  for (guint i = 0; i < G_N_ELEMENTS (plots); i++)
    if (tensors[i] != NULL && wanted_layout (self, tensors[i], &layout, NULL))
      ir_tensor_plot_set_layout (IR_TENSOR_PLOT (plots[i]), &layout);
  const gboolean good = wanted_layout (self, tensor, &layout, &error);
  const gboolean chosen = gtk_editable_get_text (GTK_EDITABLE (self->axes))[0] != '\0';
  const gboolean zoomed = good && ir_tensor_layout_is_zoomed (&layout);
  const gboolean planes = good && !chosen && ir_tensor_layout_n_planes (&layout, tensor) > 1;
  gtk_widget_set_visible (self->plane, planes);
  gtk_widget_set_visible (self->plane_box, good && (chosen || planes || zoomed));
  gtk_widget_set_sensitive (self->zoom_out, zoomed && !chosen);
  gtk_widget_set_sensitive (self->zoom_in, good && !chosen);
  g_autofree char *text = good ? ir_tensor_layout_text (&layout, tensor) : g_strdup ("");
  gtk_label_set_text (GTK_LABEL (self->plane_text), text);
  gtk_widget_set_tooltip_text (self->axes, good ? AXES_TIP : error->message);
  /* strings, and what has no elements, are drawn in no way: nobody has asked for anything wrong */
  const gboolean drawable = ir_tensor_layout_init (&layout, tensor, "heat", NULL);
  GtkWidget *const drawing[] = { self->as, self->axes, self->zoom_out, self->zoom_in,
                                 self->histogram };
  for (guint i = 0; i < G_N_ELEMENTS (drawing); i++)
    gtk_widget_set_visible (drawing[i], drawable);
  set_label (self->not_so, drawable && !good ? error->message : NULL);
  if (good || !drawable)
    gtk_widget_remove_css_class (self->axes, "error");
  else
    gtk_widget_add_css_class (self->axes, "error");
}

static void
show_planes (IrTensorView *self)
{
  const IrTensor *tensor = main_tensor (self);
  IrTensorLayout layout;
  guint64 n = 0;

  if (tensor != NULL && wanted_layout (self, tensor, &layout, NULL))
    n = ir_tensor_layout_n_planes (&layout, tensor);
  if (n > 1)
    gtk_spin_button_set_range (GTK_SPIN_BUTTON (self->plane), 0,
                               (double) MIN (n - 1, (guint64) G_MAXINT));
  if (!self->refining)
    {
      gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->plane), 0);
      self->zoom = (IrTensorLayout){ 0 };
    }
  apply_layout (self);
}

static void
on_format (IrTensorView *self)
{
  const guint64 selected = ir_element_table_selected (self->table);

  ir_element_list_set_format (self->elements,
                              gtk_drop_down_get_selected (GTK_DROP_DOWN (self->format)));
  if (selected != G_MAXUINT64)
    ir_element_table_scroll (self->table, selected);
}

static void
on_histogram (IrTensorView *self)
{
  const IrHistogramKind kind = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->histogram));

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    ir_tensor_plot_set_histogram (IR_TENSOR_PLOT (self->sides[side].plot), kind);
}

static void
on_compared (IrTensorView *self)
{
  ir_tensor_plot_set_scatter (IR_TENSOR_PLOT (self->difference),
                              gtk_drop_down_get_selected (GTK_DROP_DOWN (self->compared)) == 1);
}

/* -- links to elements -- */

static void
show_links (IrTensorView *self)
{
  const IrTensor *tensor = main_tensor (self);
  const gboolean numbers = tensor != NULL && !ir_tensor_is_container (tensor) &&
                           ir_tensor_dtype (tensor) != IR_DTYPE_STRING &&
                           ir_tensor_n_elements (tensor) > 1;

  for (guint i = 0; i < IR_N_TENSOR_LINKS; i++)
    gtk_widget_set_visible (self->links[i], numbers && ir_tensor_facts_place (self->facts, i) <
                                                           ir_tensor_n_elements (tensor));
  gtk_widget_set_sensitive (self->find, numbers);
}

/* Which of them are listed, where it is not all. */
static void
show_part (IrTensorView *self)
{
  const IrTensor *tensor = main_tensor (self);
  const guint64 n = tensor != NULL ? ir_tensor_n_elements (tensor) : 0,
                listed = g_list_model_get_n_items (G_LIST_MODEL (self->elements)),
                first = ir_element_list_first (self->elements);
  g_autofree char *from = ir_count_text (first + 1), *to = ir_count_text (first + listed),
                  *all = ir_count_text (n), *text = NULL;

  if (listed < n)
    text = g_strdup_printf ("Elements %s to %s of %s", from, to, all);
  set_label (self->more, text);
}

static void
show_table (IrTensorView *self)
{
  IrTensor *before = self->facts->tensors[IR_SIDE_BEFORE],
           *after = self->facts->tensors[IR_SIDE_AFTER];
  const IrTensor *tensor = main_tensor (self);

  gtk_column_view_column_set_visible (self->columns[IR_ELEMENT_BEFORE],
                                      before != NULL && before != after);
  gtk_column_view_column_set_visible (self->columns[IR_ELEMENT_AFTER], after != NULL);
  gtk_column_view_column_set_visible (self->columns[IR_ELEMENT_DIFFERENCE],
                                      self->facts->difference.n > 0);
  gtk_column_view_column_set_title (self->columns[IR_ELEMENT_AFTER],
                                    before == after ? "Value" : "After");
  gtk_widget_set_sensitive (self->go_to, tensor != NULL && ir_tensor_n_elements (tensor) > 0);
  if (!self->refining) /* it keeps its place */
    ir_element_list_load (self->elements, before, after);
  show_part (self);
}

static void
show_facts (IrTensorView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);
  const gboolean of_pair = frame != NULL && frame->foreign &&
                           ir_session_get_values (session) != NULL;
  IrTensor *const *tensors = self->facts->tensors;
  const gboolean one = tensors[IR_SIDE_BEFORE] == tensors[IR_SIDE_AFTER] &&
                       g_strcmp0 (self->sides[IR_SIDE_BEFORE].reason,
                                  self->sides[IR_SIDE_AFTER].reason) == 0;

  /* the same contents, such as of a constant, or reason need not be shown twice */
  gtk_widget_set_visible (self->sides[IR_SIDE_BEFORE].box, !one);
  g_autofree char *before = ir_against_text (IR_AGAINST (self->against), of_pair);
  gtk_label_set_text (GTK_LABEL (self->sides[IR_SIDE_BEFORE].heading), before);
  gtk_widget_set_tooltip_text (self->sides[IR_SIDE_BEFORE].heading, before);
  gtk_label_set_text (GTK_LABEL (self->sides[IR_SIDE_AFTER].heading),
                      one       ? "Contents"
                      : of_pair ? "After: this graph"
                                : "After: the graph that ran");
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    show_side (self, side);
  GtkWidget *const of_contents[] = { self->tools, self->format, self->go_to,
                                     self->copy,  self->save,   self->listing };
  for (guint i = 0; i < G_N_ELEMENTS (of_contents); i++)
    gtk_widget_set_visible (of_contents[i], main_tensor (self) != NULL);
  show_relation (self);
  show_planes (self);
  show_links (self);
  show_table (self);
}

static void reload (IrTensorView *self);

static void refine (IrTensorView *self, gboolean computed);

static void
on_facts (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrTensorView *self = IR_TENSOR_VIEW (owner);
  IrTensorAnswer *answer = result;

  g_clear_pointer (&self->job, ir_job_unref);
  if (self->stale || answer == NULL || answer->facts == NULL)
    {
      g_clear_pointer (&answer, ir_tensor_answer_free);
      if (self->stale)
        reload (self);
      return;
    }
  g_clear_pointer (&self->facts, ir_tensor_facts_free);
  self->facts = g_steal_pointer (&answer->facts);
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    if (answer->reasons[side] != NULL)
      {
        g_free (self->sides[side].reason);
        self->sides[side].reason = g_steal_pointer (&answer->reasons[side]);
      }
  const gboolean computed = answer->computed;
  ir_tensor_rounds_take (&self->rounds, &answer->series);
  ir_tensor_answer_free (answer);
  show_facts (self);
  self->refining = self->facts->n_sampled > 0;
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "tensor");
  if (self->refining)
    refine (self, computed);
}

static void
on_progress (gpointer owner, double fraction, const char *text)
{
  IrTensorView *self = IR_TENSOR_VIEW (owner);
  g_autofree char *shown = g_strdup_printf ("A sample: all is being read, %.0f %%", 100 * fraction);

  if (self->refining && fraction >= 0)
    gtk_label_set_text (GTK_LABEL (self->relation), shown);
}

static void
start (IrTensorView *self, IrTensorRequest *request)
{
  self->job = ir_job_start (self, &(IrJobSpec){ .run = ir_tensor_request_run,
                                                .data = request,
                                                .data_free = ir_tensor_request_free,
                                                .result_free = ir_tensor_answer_free,
                                                .progress = on_progress,
                                                .done = on_facts });
}

/* The same of all elements. */
static void
refine (IrTensorView *self, gboolean computed)
{
  IrTensorRequest *request = g_new0 (IrTensorRequest, 1);

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    if (self->facts->tensors[side] != NULL)
      request->tensors[side] = ir_tensor_ref (self->facts->tensors[side]);
  request->exact = TRUE;
  request->computed = computed;
  on_progress (self, 0, NULL);
  start (self, request);
}

/* Another value in place of what was before. */
static void
hold_against (IrTensorView *self, IrTensorRequest *request)
{
  const IrAgainstKind kind = ir_against_get_kind (IR_AGAINST (self->against));
  IrTensor *held = ir_against_get_tensor (IR_AGAINST (self->against));

  if (kind == IR_AGAINST_ORIGINAL)
    return;
  g_clear_pointer (&request->tensors[IR_SIDE_BEFORE], ir_tensor_unref);
  g_clear_pointer (&request->runs[IR_SIDE_BEFORE], ir_run_unref);
  g_clear_pointer (&request->originals[IR_SIDE_BEFORE], ir_original_value_free);
  g_clear_pointer (&self->sides[IR_SIDE_BEFORE].reason, g_free);
  request->tensors[IR_SIDE_BEFORE] = held != NULL ? ir_tensor_ref (held) : NULL;
  request->reference = kind == IR_AGAINST_REFERENCE;
  if (kind == IR_AGAINST_HELD && held == NULL)
    self->sides[IR_SIDE_BEFORE].reason = g_strdup ("Hold keeps a value to compare others with.");
}

static void
on_hold (IrTensorView *self)
{
  IrTensor *tensor = main_tensor (self);
  const char *round = ir_tensor_rounds_text (&self->rounds);
  g_autofree char *name = g_strdup_printf ("%s%s%s, held",
                                           gtk_label_get_text (GTK_LABEL (self->title)),
                                           round != NULL ? " in " : "", round != NULL ? round : "");

  if (tensor != NULL)
    ir_against_hold (IR_AGAINST (self->against), tensor, name);
}

/* Whether a run that stands, or was stopped, has not come to it: then it is not computed elsewhere. */
static gboolean
comes_later (const IrRun *run, IrValueId id)
{
  const IrValue *value = run != NULL ? ir_model_live_value (run->model, id) : NULL;

  return value != NULL && ir_value_constant (value) == NULL && !ir_run_has_ended (run, value);
}

/* What is on screen stays until the facts of the new value are there. One job at a time. */
static void
reload (IrTensorView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrValue *value = value_to_show (session, &self->shown);
  IrTensorRequest *request;

  ir_view_set_indicator (IR_VIEW (self), value != NULL ? value->name : NULL);
  self->stale = self->job != NULL;
  if (self->job != NULL)
    {
      ir_job_cancel (self->job);
      return;
    }
  if (value == NULL)
    {
      gtk_stack_set_visible_child_name (
          GTK_STACK (self->stack),
          ir_session_get_run (session, IR_SIDE_AFTER) != NULL ? "choose" : "empty");
      return;
    }
  gtk_label_set_text (GTK_LABEL (self->title), value->name);
  gtk_widget_set_tooltip_text (self->title, value->name);
  request = g_new0 (IrTensorRequest, 1);
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    {
      g_clear_pointer (&self->sides[side].reason, g_free);
      request->tensors[side] = ir_session_dup_tensor (session, self->shown, side,
                                                      &self->sides[side].reason);
      request->runs[side] = ir_session_dup_run_of (session, self->shown, side, &request->ids[side]);
      if (request->tensors[side] == NULL && comes_later (request->runs[side], request->ids[side]))
        g_clear_pointer (&request->runs[side], ir_run_unref);
      else if (request->tensors[side] == NULL && request->runs[side] == NULL &&
               !ir_session_get_values (session))
        request->originals[side] = ir_session_new_original_value (session, self->shown, side);
    }
  g_autofree char *loops = ir_tensor_rounds_ask (&self->rounds, request);
  for (IrSide side = 0; loops != NULL && side < IR_N_SIDES; side++)
    if (request->runs[side] == request->runs[IR_SIDE_AFTER] && self->sides[side].reason == NULL)
      self->sides[side].reason = g_strdup_printf ("%s has not ended: this is the latest iteration.",
                                                  loops);
  hold_against (self, request);
  self->refining = FALSE;
  start (self, request);
}

static void
ir_tensor_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrTensorView *self = IR_TENSOR_VIEW (view);
  IrValueId shown;

  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_RUNS | IR_CHANGED_VALUES | IR_CHANGED_INPUTS))
    {
      reload (self);
      return;
    }
  if ((changes & (IR_CHANGED_SELECTION | IR_CHANGED_FRAME)) == 0)
    return;
  value_to_show (ir_view_get_session (view), &shown);
  if (shown != self->shown)
    reload (self);
}

/* -- zoom -- */

/* Less or more rows and columns of all pictures, around @index. */
static void
zoom_at (IrTensorView *self, guint64 index, double factor)
{
  const IrTensor *tensor = main_tensor (self);
  IrTensorLayout layout;

  if (tensor == NULL || index >= ir_tensor_n_elements (tensor) ||
      gtk_editable_get_text (GTK_EDITABLE (self->axes))[0] != '\0' ||
      !wanted_layout (self, tensor, &layout, NULL))
    return;
  ir_tensor_layout_zoom (&layout, tensor, index, factor);
  self->zoom = layout;
  apply_layout (self);
}

static void
on_zoomed (GtkWidget *plot, guint64 index, double factor, IrTensorView *self)
{
  zoom_at (self, index, factor);
}

/* By a button: around the element that is selected. */
static void
zoom_by (IrTensorView *self, double factor)
{
  const IrTensor *tensor = main_tensor (self);
  const guint64 n = tensor != NULL ? ir_tensor_n_elements (tensor) : 0,
                selected = ir_element_table_selected (self->table);

  zoom_at (self, selected < n ? selected : n / 2, factor);
}

static void
on_zoom_in (IrTensorView *self)
{
  zoom_by (self, 0.5);
}

static void
on_zoom_out (IrTensorView *self)
{
  zoom_by (self, 2);
}

/* The plane and the part that it lies in come into sight. */
static void
bring_into_sight (IrTensorView *self, guint64 index)
{
  const IrTensor *tensor = main_tensor (self);
  IrTensorLayout layout;

  if (tensor == NULL || index >= ir_tensor_n_elements (tensor) ||
      gtk_editable_get_text (GTK_EDITABLE (self->axes))[0] != '\0' ||
      !wanted_layout (self, tensor, &layout, NULL))
    return;
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->plane),
                             (double) ir_tensor_layout_plane_of (&layout, tensor, index));
  if (ir_tensor_layout_is_zoomed (&layout))
    zoom_at (self, index, 1);
}

/* In the table, and in the pictures. */
static void
go_to_element (IrTensorView *self, guint64 index)
{
  bring_into_sight (self, index);
  ir_element_table_scroll (self->table, index);
  show_part (self);
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    ir_tensor_plot_mark (IR_TENSOR_PLOT (self->sides[side].plot), index);
  ir_tensor_plot_mark (IR_TENSOR_PLOT (self->difference), index);
}

static void
on_picked (GtkWidget *plot, guint64 index, IrTensorView *self)
{
  go_to_element (self, index);
}

static void
on_link (GtkButton *button, IrTensorView *self)
{
  if (self->facts != NULL)
    go_to_element (self, ir_tensor_facts_place (self->facts, GPOINTER_TO_UINT (g_object_get_data (
                                                                 G_OBJECT (button), "link"))));
}

/* The next one behind the selected row, then from the beginning. */
static void
on_find (GtkEntry *entry, IrTensorView *self)
{
  const IrTensor *tensor = main_tensor (self);
  const guint64 selected = ir_element_table_selected (self->table);
  const guint64 n = tensor != NULL ? ir_tensor_n_elements (tensor) : 0;
  IrElementTest test;
  guint64 at = n;

  if (ir_element_test_parse (gtk_editable_get_text (GTK_EDITABLE (entry)), &test))
    {
      at = ir_tensor_find_element (tensor, &test, selected < n ? selected + 1 : 0, NULL);
      if (at >= n)
        at = ir_tensor_find_element (tensor, &test, 0, NULL);
    }
  if (at < n)
    go_to_element (self, at);
  if (at < n || gtk_editable_get_text (GTK_EDITABLE (entry))[0] == '\0')
    gtk_widget_remove_css_class (GTK_WIDGET (entry), "error");
  else
    gtk_widget_add_css_class (GTK_WIDGET (entry), "error");
}

/* -- away from here -- */

static void
on_copy (IrTensorView *self)
{
  if (main_tensor (self) != NULL)
    set_label (self->more, ir_tensor_to_clipboard (GTK_WIDGET (self), main_tensor (self)));
}

static void
on_save (IrTensorView *self)
{
  IrTensorPlot *const plots[] = {
    IR_TENSOR_PLOT (self->sides[IR_SIDE_AFTER].plot),
    IR_TENSOR_PLOT (self->sides[IR_SIDE_BEFORE].plot),
    IR_TENSOR_PLOT (self->difference),
  };

  if (self->facts != NULL)
    ir_tensor_ask_and_save (self->facts, plots, self->more);
}

static void
on_go_to (GtkEntry *entry, IrTensorView *self)
{
  const IrTensor *tensor = main_tensor (self);
  const char *text = gtk_editable_get_text (GTK_EDITABLE (entry));
  guint64 index;
  gboolean ok = tensor != NULL && ir_tensor_index_parse (tensor, text, &index);

  if (ok)
    go_to_element (self, index);
  if (ok || text[0] == '\0')
    gtk_widget_remove_css_class (GTK_WIDGET (entry), "error");
  else
    gtk_widget_add_css_class (GTK_WIDGET (entry), "error");
}

static GtkWidget *
make_table (IrTensorView *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new (), *box;

  self->elements = ir_element_list_new ();
  self->table = ir_element_table_new (self->elements, self->columns);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->table);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_widget_set_size_request (scroller, 260, -1);
  self->more = tensor_text_label ("", "dim-label");
  box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_box_append (GTK_BOX (box), self->more);
  return box;
}

/* -- object -- */

static void
ir_tensor_view_dispose (GObject *object)
{
  IrTensorView *self = IR_TENSOR_VIEW (object);

  if (self->job != NULL)
    ir_job_cancel (self->job);
  g_clear_pointer (&self->job, ir_job_unref);
  g_clear_pointer (&self->facts, ir_tensor_facts_free);
  ir_tensor_rounds_clear (&self->rounds);
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    g_clear_pointer (&self->sides[side].reason, g_free);
  g_clear_object (&self->elements);
  G_OBJECT_CLASS (ir_tensor_view_parent_class)->dispose (object);
}

static void
ir_tensor_view_focus_content (IrView *view)
{
  IrTensorView *self = IR_TENSOR_VIEW (view);

  if (!gtk_widget_child_focus (self->table, GTK_DIR_TAB_FORWARD))
    gtk_widget_child_focus (GTK_WIDGET (self), GTK_DIR_TAB_FORWARD);
}

/* What a run is for, without a search for it in the graph. */
static void
activate_show_output (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *session = ir_view_get_session (IR_VIEW (widget));
  const IrFrame *frame = ir_session_get_frame (session);

  if (frame != NULL && ir_graph_n_outputs (frame->model->main) > 0)
    ir_session_select_value (session, ir_graph_output (frame->model->main, 0)->id);
}

static void
ir_tensor_view_class_init (IrTensorViewClass *klass)
{
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "tensor.show-output", NULL,
                                   activate_show_output);
  G_OBJECT_CLASS (klass)->dispose = ir_tensor_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_tensor_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_tensor_view_focus_content;
}

static GtkWidget *
make_side (IrTensorView *self, Side *side, const char *title, const char *plot_label)
{
  side->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  side->facts = tensor_text_label ("", "numeric");
  side->warning = tensor_text_label ("", "warning");
  side->message = tensor_text_label ("", "dim-label");
  gtk_widget_set_size_request (side->message, LEAST_TEXT, -1); /* not a word on each line */
  side->plot = ir_tensor_plot_new (plot_label);
  g_signal_connect (side->plot, "picked", G_CALLBACK (on_picked), self);
  g_signal_connect (side->plot, "zoomed", G_CALLBACK (on_zoomed), self);
  gtk_widget_set_hexpand (side->box, TRUE);
  gtk_widget_set_hexpand (side->plot, TRUE);
  gtk_widget_set_vexpand (side->plot, TRUE);
  side->heading = tensor_line_label (title, "heading", PANGO_ELLIPSIZE_END);
  gtk_box_append (GTK_BOX (side->box), side->heading);
  gtk_box_append (GTK_BOX (side->box), side->warning);
  gtk_box_append (GTK_BOX (side->box), side->message);
  gtk_box_append (GTK_BOX (side->box), side->plot);
  gtk_box_append (GTK_BOX (side->box), side->facts);
  return side->box;
}

static GtkWidget *
make_difference (IrTensorView *self)
{
  self->difference_box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  self->difference = ir_tensor_plot_new ("Histogram and heat map of the difference");
  g_signal_connect (self->difference, "picked", G_CALLBACK (on_picked), self);
  g_signal_connect (self->difference, "zoomed", G_CALLBACK (on_zoomed), self);
  gtk_box_append (
      GTK_BOX (self->difference_box),
      tensor_line_label ("Difference: after minus before", "heading", PANGO_ELLIPSIZE_END));
  self->metrics = tensor_text_label ("", "numeric");
  gtk_widget_set_hexpand (self->difference, TRUE);
  gtk_widget_set_vexpand (self->difference, TRUE);
  gtk_box_append (GTK_BOX (self->difference_box), self->difference);
  gtk_box_append (GTK_BOX (self->difference_box), self->metrics);
  return self->difference_box;
}

static GtkWidget *
make_plane_box (IrTensorView *self)
{
  self->plane_box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->plane = gtk_spin_button_new_with_range (0, 1, 1);
  self->plane_text = tensor_line_label ("", "numeric", PANGO_ELLIPSIZE_NONE);
  gtk_widget_set_tooltip_text (self->plane, "Which plane the heat maps show");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->plane), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Plane of the heat map", -1);
  g_signal_connect_swapped (self->plane, "value-changed", G_CALLBACK (apply_layout), self);
  gtk_box_append (GTK_BOX (self->plane_box),
                  tensor_line_label ("Plane", "dim-label", PANGO_ELLIPSIZE_NONE));
  gtk_box_append (GTK_BOX (self->plane_box), self->plane);
  gtk_box_append (GTK_BOX (self->plane_box), self->plane_text);
  return self->plane_box;
}

/* How contents are drawn, what is looked for in them, and where they go. */
static GtkWidget *
make_tools (IrTensorView *self)
{
  static const char *const kinds[] = { "Linear", "Logarithmic", "Symmetric", NULL },
                           *const differences[] = { "Difference", "Scatter Plot", NULL };
  const char *titles[G_N_ELEMENTS (modes) + 1] = { NULL };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 4);

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    titles[i] = modes[i].title;
  gtk_widget_add_css_class (box, "tensor-tools");
  self->as = tensor_named_choice ("What is drawn", titles, G_CALLBACK (show_planes), self);
  self->histogram = tensor_named_choice ("How the histogram is cut", kinds,
                                         G_CALLBACK (on_histogram), self);
  self->axes = tensor_small_entry ("Axes", "Axes", AXES_TIP);
  g_signal_connect_swapped (self->axes, "activate", G_CALLBACK (show_planes), self);
  self->find = tensor_small_entry ("Find elements", "Find",
                                   "Go to the next element that is so: 3, >6, abs>1e3, nan, inf");
  g_signal_connect (self->find, "activate", G_CALLBACK (on_find), self);
  gtk_box_append (GTK_BOX (box), self->as);
  gtk_box_append (GTK_BOX (box), make_plane_box (self));
  gtk_box_append (GTK_BOX (box), self->axes);
  self->not_so = tensor_line_label ("", "dim-label", PANGO_ELLIPSIZE_NONE);
  gtk_box_append (GTK_BOX (box), self->not_so);
  self->zoom_out = tensor_flat_button ("−",
                                       "Show more rows and columns (Ctrl and scroll on a picture)",
                                       G_CALLBACK (on_zoom_out), self);
  self->zoom_in = tensor_flat_button (
      "+", "Show fewer rows and columns, larger (Ctrl and scroll on a picture)",
      G_CALLBACK (on_zoom_in), self);
  ir_name (self->zoom_out, "Zoom out of the pictures");
  ir_name (self->zoom_in, "Zoom into the pictures");
  gtk_box_append (GTK_BOX (box), self->zoom_out);
  gtk_box_append (GTK_BOX (box), self->zoom_in);
  gtk_box_append (GTK_BOX (box), self->histogram);
  self->against = ir_against_new ();
  g_signal_connect_swapped (self->against, "changed", G_CALLBACK (reload), self);
  g_signal_connect_swapped (self->against, "hold", G_CALLBACK (on_hold), self);
  gtk_box_append (GTK_BOX (box), self->against);
  self->compared = tensor_named_choice ("How both sides are compared", differences,
                                        G_CALLBACK (on_compared), self);
  gtk_box_append (GTK_BOX (box), self->compared);
  for (guint i = 0; i < IR_N_TENSOR_LINKS; i++)
    {
      self->links[i] = gtk_button_new_with_label (ir_tensor_link_title (i));
      gtk_widget_set_tooltip_text (self->links[i], ir_tensor_link_tip (i));
      gtk_widget_add_css_class (self->links[i], "flat");
      g_object_set_data (G_OBJECT (self->links[i]), "link", GUINT_TO_POINTER (i));
      g_signal_connect (self->links[i], "clicked", G_CALLBACK (on_link), self);
      gtk_box_append (GTK_BOX (box), self->links[i]);
    }
  gtk_box_append (GTK_BOX (box), self->find);
  return box;
}

static GtkWidget *
make_header (IrTensorView *self)
{
  /* as IrNumberFormat has them */
  static const char *const formats[] = { "All Digits", "Four Digits", "Fixed Point",
                                         "Scientific", "Bits",        NULL };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);

  self->title = tensor_line_label ("", "heading", PANGO_ELLIPSIZE_MIDDLE);
  self->relation = tensor_line_label ("", "dim-label", PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (self->relation, TRUE);
  self->go_to = tensor_small_entry (
      "Go to index", "Index", "Go to an element, such as 0, 3, 1, also to one that is not listed");
  g_signal_connect (self->go_to, "activate", G_CALLBACK (on_go_to), self);
  gtk_box_append (GTK_BOX (box), self->title);
  gtk_box_append (GTK_BOX (box), self->relation);
  self->format = tensor_named_choice ("How numbers are written", formats, G_CALLBACK (on_format),
                                      self);
  gtk_box_append (GTK_BOX (box), self->format);
  gtk_box_append (GTK_BOX (box), self->go_to);
  self->copy = tensor_flat_button ("Copy", "Copy the values, a line for each row",
                                   G_CALLBACK (on_copy), self);
  self->save = tensor_flat_button ("Save…",
                                   "Save the values as .npy, .csv or .pb, or the picture as "
                                   ".png or .svg, of either side or of the difference",
                                   G_CALLBACK (on_save), self);
  gtk_box_append (GTK_BOX (box), self->copy);
  gtk_box_append (GTK_BOX (box), self->save);
  return box;
}

static void
ir_tensor_view_init (IrTensorView *self)
{
  GtkWidget *content = gtk_box_new (GTK_ORIENTATION_VERTICAL, 8);
  GtkWidget *sides = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12),
            *scroller = gtk_scrolled_window_new ();

  gtk_box_set_homogeneous (GTK_BOX (sides), TRUE);
  gtk_box_append (GTK_BOX (sides),
                  make_side (self, &self->sides[IR_SIDE_BEFORE], "Before: the original graph",
                             "Histogram and heat map before"));
  gtk_box_append (GTK_BOX (sides),
                  make_side (self, &self->sides[IR_SIDE_AFTER], "After: the graph that ran",
                             "Histogram and heat map after"));
  gtk_box_append (GTK_BOX (sides), make_difference (self));
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), sides);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_AUTOMATIC,
                                  GTK_POLICY_AUTOMATIC);
  gtk_box_append (GTK_BOX (content), make_header (self));
  self->tools = ir_view_scrolled_row (make_tools (self)); /* what is for all is above */
  self->listing = make_table (self);
  gtk_box_append (GTK_BOX (content), self->tools);
  gtk_box_append (GTK_BOX (content),
                  ir_tensor_rounds_init (&self->rounds, G_CALLBACK (reload), self));
  gtk_box_append (GTK_BOX (content), tensor_beside (scroller, self->listing));
  gtk_widget_add_css_class (content, "tensor");
  self->stack = gtk_stack_new ();
  gtk_stack_set_vhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("accessories-calculator-symbolic", "No Value Selected",
                          "Run the graph, then select a node, or a value in its properties.",
                          "win.run", "Run"),
      "empty");
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("accessories-calculator-symbolic", "No Value Selected",
                          "Select a node in the graph, or a value in its properties.",
                          "tensor.show-output", "Show the Output"),
      "choose");
  gtk_stack_add_named (GTK_STACK (self->stack), content, "tensor");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_tensor = {
  .id = "tensor",
  .title = "Tensor",
  .icon_name = "accessories-calculator-symbolic",
  .doc = "Statistics and values of the selected value, before and after.",
  .help =
      "What the selected value held in the last run, in the original graph and in the "
      "graph that ran. The histogram shows how often values occur, the heat map where; "
      "red is NaN. All Planes shows channels or heads together. Least, Largest and the others "
      "go to an element; Find goes to the next that is so, such as >6 or nan. Vectors are lines; where "
      "both sides differ, a scatter plot has after over before: what is equal lies on the diagonal.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_tensor_view_get_type,
};
