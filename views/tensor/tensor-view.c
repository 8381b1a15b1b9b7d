/* The tensor: contents of the selected value, in the original graph and in the one that ran:
 * statistics, histogram, heat map, and a table of the values with their differences. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "views/count.h"
#include "views/jobs.h"
#include "views/session/frame.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/values.h"
#include "views/tensor/element-list.h"
#include "views/tensor/tensor-facts.h"
#include "views/tensor/tensor-plot.h"
#include "views/view.h"

typedef struct
{
  GtkWidget *box, *heading, *facts, *warning, *plot, *message;
  char *reason; /* (nullable) why there are no contents, or how they were had */
} Side;

struct _IrTensorView
{
  IrView parent;
  GtkWidget *stack, *title, *relation, *worst, *plane, *plane_box, *plane_text, *go_to, *table;
  GtkWidget *difference_box, *difference, *more;
  GtkColumnViewColumn *columns[4];
  Side sides[IR_N_SIDES];
  IrElementList *elements;
  IrValueId shown;
  IrTensorFacts *facts; /* (nullable) of what is on screen */
  IrJob *job;           /* (nullable) makes the facts of what was asked for last, or before */
  gboolean stale;       /* its result will be out of date */
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
  ir_tensor_plot_load (IR_TENSOR_PLOT (side->plot), tensor, NULL, &facts->stats[which]);
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
  gtk_widget_set_visible (self->worst, differs);
  gtk_widget_set_visible (self->difference_box, differs);
  if (differs)
    ir_tensor_plot_load (IR_TENSOR_PLOT (self->difference), facts->tensors[IR_SIDE_AFTER],
                         facts->tensors[IR_SIDE_BEFORE], &facts->difference);
  else
    ir_tensor_plot_load (IR_TENSOR_PLOT (self->difference), NULL, NULL, NULL);
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

static void
show_plane_text (IrTensorView *self)
{
  const IrTensor *tensor = main_tensor (self);
  g_autofree char *text = NULL;

  if (tensor == NULL)
    return;
  text = ir_tensor_plane_text (
      tensor, (guint64) gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->plane)));
  gtk_label_set_text (GTK_LABEL (self->plane_text), text);
}

static void
show_planes (IrTensorView *self)
{
  const IrTensor *tensor = main_tensor (self);
  guint64 n = tensor != NULL && ir_tensor_dtype (tensor) != IR_DTYPE_STRING
                  ? ir_tensor_n_planes (tensor)
                  : 0;

  gtk_widget_set_visible (self->plane_box, n > 1);
  if (n > 1)
    gtk_spin_button_set_range (GTK_SPIN_BUTTON (self->plane), 0,
                               (double) MIN (n - 1, (guint64) G_MAXINT));
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->plane), 0);
  show_plane_text (self);
}

static void
on_plane (GtkSpinButton *button, IrTensorView *self)
{
  const guint64 plane = (guint64) gtk_spin_button_get_value_as_int (button);

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    ir_tensor_plot_set_plane (IR_TENSOR_PLOT (self->sides[side].plot), plane);
  ir_tensor_plot_set_plane (IR_TENSOR_PLOT (self->difference), plane);
  show_plane_text (self);
}

static void
show_table (IrTensorView *self)
{
  IrTensor *before = self->facts->tensors[IR_SIDE_BEFORE],
           *after = self->facts->tensors[IR_SIDE_AFTER];
  const IrTensor *tensor = main_tensor (self);
  guint64 n = tensor != NULL ? ir_tensor_n_elements (tensor) : 0;
  g_autofree char *more = NULL;

  gtk_column_view_column_set_visible (self->columns[1], before != NULL && before != after);
  gtk_column_view_column_set_visible (self->columns[2], after != NULL);
  gtk_column_view_column_set_visible (self->columns[3], self->facts->difference.n > 0);
  gtk_column_view_column_set_title (self->columns[2], before == after ? "Value" : "After");
  if (n > ir_element_list_max_rows ())
    {
      g_autofree char *shown = ir_count_text (ir_element_list_max_rows ()),
                      *all = ir_count_text (n);

      more = g_strdup_printf ("The first %s of %s elements", shown, all);
    }
  set_label (self->more, more);
  gtk_widget_set_sensitive (self->go_to, n > 0);
  ir_element_list_load (self->elements, before, after);
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
  gtk_label_set_text (GTK_LABEL (self->sides[IR_SIDE_BEFORE].heading),
                      of_pair ? "Before: the other graph" : "Before: the original graph");
  gtk_label_set_text (GTK_LABEL (self->sides[IR_SIDE_AFTER].heading),
                      one       ? "Contents"
                      : of_pair ? "After: this graph"
                                : "After: the graph that ran");
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    show_side (self, side);
  show_relation (self);
  show_planes (self);
  show_table (self);
}

/* -- making the facts -- */

typedef struct
{
  IrTensor *tensors[IR_N_SIDES];          /* (nullable) */
  IrRun *runs[IR_N_SIDES];                /* (nullable) that compute what they have not kept */
  IrValueId ids[IR_N_SIDES];              /* of the runs */
  IrOriginalValue *originals[IR_N_SIDES]; /* (nullable) what no run has, by themselves */
} Request;

typedef struct
{
  IrTensorFacts *facts;
  char *reasons[IR_N_SIDES]; /* (nullable) of values that no run has kept */
} Answer;

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_clear_pointer (&answer->facts, ir_tensor_facts_free);
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    g_free (answer->reasons[side]);
  g_free (answer);
}

/* What the run has not kept is computed now, once if both sides are the same; @before: (nullable):
 * what was said of the first. (transfer full): how, or why not, as a sentence */
static char *
compute_side (Request *request, IrSide side, const char *before, GCancellable *cancellable)
{
  g_auto (IrFound) found = { 0 };
  g_autoptr (GError) error = NULL;
  IrRun *run = request->runs[side];

  if (side == IR_SIDE_AFTER && run == request->runs[IR_SIDE_BEFORE] &&
      request->ids[IR_SIDE_AFTER] == request->ids[IR_SIDE_BEFORE] &&
      request->tensors[IR_SIDE_BEFORE] != NULL)
    {
      request->tensors[side] = ir_tensor_ref (request->tensors[IR_SIDE_BEFORE]);
      return g_strdup (before);
    }
  request->tensors[side] = ir_run_find (run, request->ids[side], cancellable, &found, &error);
  if (error != NULL)
    return g_strdup (error->message);
  g_autofree char *text = ir_found_text (&found, run->model);
  return g_strdup_printf (found.how == IR_FOUND_COMPUTED
                              ? "The run did not keep this value: it was %s."
                              : "This value was %s.",
                          text);
}

static char *
compute_original (Request *request, IrSide side, gboolean *computed, GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;
  char *how;

  request->tensors[side] = ir_original_value_find (request->originals[side], cancellable, computed,
                                                   &how, &error);
  return error != NULL ? g_strdup (error->message) : how;
}

static void
request_free (gpointer data)
{
  Request *request = data;

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    {
      g_clear_pointer (&request->tensors[side], ir_tensor_unref);
      g_clear_pointer (&request->runs[side], ir_run_unref);
      g_clear_pointer (&request->originals[side], ir_original_value_free);
    }
  g_free (request);
}

static gpointer
make_facts (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  Request *request = data;
  Answer *answer = g_new0 (Answer, 1);
  gboolean computed[IR_N_SIDES] = { FALSE };

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    if (request->tensors[side] == NULL && request->runs[side] != NULL)
      answer->reasons[side] = compute_side (request, side, answer->reasons[IR_SIDE_BEFORE],
                                            cancellable);
    else if (request->originals[side] != NULL)
      answer->reasons[side] = compute_original (request, side, &computed[side], cancellable);
  answer->facts = ir_tensor_facts_new (request->tensors[IR_SIDE_BEFORE],
                                       request->tensors[IR_SIDE_AFTER], cancellable);
  if (answer->facts != NULL && computed[IR_SIDE_AFTER])
    ir_tensor_facts_set_recomputed (answer->facts);
  return answer;
}

static void reload (IrTensorView *self);

static void
on_facts (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrTensorView *self = IR_TENSOR_VIEW (owner);
  Answer *answer = result;

  g_clear_pointer (&self->job, ir_job_unref);
  if (self->stale || answer == NULL || answer->facts == NULL)
    {
      g_clear_pointer (&answer, answer_free);
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
  answer_free (answer);
  show_facts (self);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "tensor");
}

/* What is on screen stays until the facts of the new value are there. One job at a time. */
static void
reload (IrTensorView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrValue *value = value_to_show (session, &self->shown);
  Request *request;

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
  request = g_new0 (Request, 1);
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    {
      g_clear_pointer (&self->sides[side].reason, g_free);
      request->tensors[side] = ir_session_dup_tensor (session, self->shown, side,
                                                      &self->sides[side].reason);
      if (request->tensors[side] == NULL)
        request->runs[side] = ir_session_dup_run_of (session, self->shown, side,
                                                     &request->ids[side]);
      if (request->tensors[side] == NULL && request->runs[side] == NULL &&
          !ir_session_get_values (session))
        request->originals[side] = ir_session_new_original_value (session, self->shown, side);
    }
  self->job = ir_job_start (self, &(IrJobSpec){ .run = make_facts,
                                                .data = request,
                                                .data_free = request_free,
                                                .result_free = answer_free,
                                                .done = on_facts });
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

/* -- the table -- */

typedef struct
{
  const char *title;
  char *(*text) (IrElement *element);
  gboolean number; /* its digits stand below each other, and its title above them */
} Column;

static const Column columns[] = {
  { "Index", ir_element_index_text, FALSE },
  { "Before", ir_element_before_text, TRUE },
  { "After", ir_element_after_text, TRUE },
  { "Difference", ir_element_difference_text, TRUE },
};

static void
setup_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const Column *column = data;
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), column->number ? 1 : 0);
  gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
}

static void
bind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const Column *column = data;
  g_autofree char *text = column->text (gtk_list_item_get_item (item));

  gtk_label_set_text (GTK_LABEL (gtk_list_item_get_child (item)), text);
}

/* Brings the row of an element into sight; the list is the inner child of a column view. */
static void
scroll_to_element (IrTensorView *self, guint64 index)
{
  GtkWidget *list = gtk_widget_get_last_child (self->table);

  if (list == NULL || index >= g_list_model_get_n_items (G_LIST_MODEL (self->elements)))
    return;
  gtk_selection_model_select_item (gtk_column_view_get_model (GTK_COLUMN_VIEW (self->table)),
                                   (guint) index, TRUE);
  gtk_widget_activate_action (list, "list.scroll-to-item", "u", (guint) index);
}

static void
on_picked (GtkWidget *plot, guint64 index, IrTensorView *self)
{
  scroll_to_element (self, index);
}

static void
on_worst (GtkButton *button, IrTensorView *self)
{
  if (self->facts != NULL)
    scroll_to_element (self, self->facts->worst);
}

static void
on_go_to (GtkEntry *entry, IrTensorView *self)
{
  const IrTensor *tensor = main_tensor (self);
  const char *text = gtk_editable_get_text (GTK_EDITABLE (entry));
  guint64 index;
  gboolean ok = tensor != NULL && ir_tensor_index_parse (tensor, text, &index);

  if (ok)
    scroll_to_element (self, index);
  if (ok || text[0] == '\0')
    gtk_widget_remove_css_class (GTK_WIDGET (entry), "error");
  else
    gtk_widget_add_css_class (GTK_WIDGET (entry), "error");
}

static GtkColumnViewColumn *
add_column (GtkWidget *table, const Column *info)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkColumnViewColumn *column;

  g_signal_connect (factory, "setup", G_CALLBACK (setup_cell), (gpointer) info);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cell), (gpointer) info);
  column = gtk_column_view_column_new (info->title, factory);
  gtk_column_view_column_set_expand (column, TRUE);
  gtk_column_view_column_set_resizable (column, TRUE);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (table), column);
  g_object_unref (column);
  return column;
}

/* Titles have no property for that: each is a button of the header, around a box. */
static void
align_titles (GtkWidget *table)
{
  GtkWidget *header = gtk_widget_get_first_child (table);
  GtkWidget *title = header != NULL ? gtk_widget_get_first_child (header) : NULL;

  for (guint i = 0; i < G_N_ELEMENTS (columns) && title != NULL; i++)
    {
      GtkWidget *box = gtk_widget_get_first_child (title);
      if (box != NULL && columns[i].number)
        gtk_widget_set_halign (box, GTK_ALIGN_END);
      title = gtk_widget_get_next_sibling (title);
    }
}

/* Tab would walk through all rows of a column view; it leaves the table instead. */
static gboolean
on_table_key (GtkEventControllerKey *controller,
              guint key,
              guint code,
              GdkModifierType state,
              GtkWidget *table)
{
  if (key != GDK_KEY_Tab && key != GDK_KEY_ISO_Left_Tab)
    return FALSE;
  return gtk_widget_child_focus (GTK_WIDGET (gtk_widget_get_root (table)),
                                 key == GDK_KEY_Tab ? GTK_DIR_TAB_FORWARD : GTK_DIR_TAB_BACKWARD);
}

static GtkWidget *
text_label (const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR); /* strings may be one word */
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_set_can_focus (label, FALSE); /* by pointer only: no stop for the keyboard */
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

static GtkWidget *
make_table (IrTensorView *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new (), *table, *box;
  GtkSelectionModel *selection;

  self->elements = ir_element_list_new ();
  selection = GTK_SELECTION_MODEL (
      gtk_single_selection_new (g_object_ref (G_LIST_MODEL (self->elements))));
  gtk_single_selection_set_autoselect (GTK_SINGLE_SELECTION (selection), FALSE);
  gtk_single_selection_set_can_unselect (GTK_SINGLE_SELECTION (selection), TRUE);
  table = gtk_column_view_new (selection);
  gtk_column_view_set_show_row_separators (GTK_COLUMN_VIEW (table), FALSE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (table), GTK_ACCESSIBLE_PROPERTY_LABEL, "Values",
                                  -1);
  gtk_widget_add_css_class (table, "data-table");
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    self->columns[i] = add_column (table, &columns[i]);
  align_titles (table);
  self->table = table;
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_table_key), table);
  gtk_widget_add_controller (table, keys);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), table);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_widget_set_size_request (scroller, 260, -1);
  self->more = text_label ("", "dim-label");
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

static void
ir_tensor_view_class_init (IrTensorViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_tensor_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_tensor_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_tensor_view_focus_content;
}

static GtkWidget *
make_side (IrTensorView *self, Side *side, const char *title, const char *plot_label)
{
  side->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  side->facts = text_label ("", "numeric");
  side->warning = text_label ("", "warning");
  side->message = text_label ("", "dim-label");
  side->plot = ir_tensor_plot_new (plot_label);
  g_signal_connect (side->plot, "picked", G_CALLBACK (on_picked), self);
  gtk_widget_set_hexpand (side->box, TRUE);
  gtk_widget_set_hexpand (side->plot, TRUE);
  side->heading = text_label (title, "heading");
  gtk_box_append (GTK_BOX (side->box), side->heading);
  gtk_box_append (GTK_BOX (side->box), side->facts);
  gtk_box_append (GTK_BOX (side->box), side->warning);
  gtk_box_append (GTK_BOX (side->box), side->message);
  gtk_box_append (GTK_BOX (side->box), side->plot);
  return side->box;
}

static GtkWidget *
make_difference (IrTensorView *self)
{
  self->difference_box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  self->difference = ir_tensor_plot_new ("Histogram and heat map of the difference");
  g_signal_connect (self->difference, "picked", G_CALLBACK (on_picked), self);
  gtk_box_append (GTK_BOX (self->difference_box),
                  text_label ("Difference: after minus before", "heading"));
  gtk_box_append (GTK_BOX (self->difference_box), self->difference);
  return self->difference_box;
}

static GtkWidget *
line_label (const char *text, const char *css, PangoEllipsizeMode ellipsize)
{
  GtkWidget *label = text_label (text, css);

  gtk_label_set_wrap (GTK_LABEL (label), FALSE);
  gtk_label_set_ellipsize (GTK_LABEL (label), ellipsize);
  gtk_widget_set_valign (label, GTK_ALIGN_CENTER);
  return label;
}

static GtkWidget *
make_plane_box (IrTensorView *self)
{
  self->plane_box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->plane = gtk_spin_button_new_with_range (0, 1, 1);
  self->plane_text = line_label ("", "numeric", PANGO_ELLIPSIZE_NONE);
  gtk_widget_set_tooltip_text (self->plane, "Which plane the heat maps show");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->plane), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Plane of the heat map", -1);
  g_signal_connect (self->plane, "value-changed", G_CALLBACK (on_plane), self);
  gtk_box_append (GTK_BOX (self->plane_box),
                  line_label ("Plane", "dim-label", PANGO_ELLIPSIZE_NONE));
  gtk_box_append (GTK_BOX (self->plane_box), self->plane);
  gtk_box_append (GTK_BOX (self->plane_box), self->plane_text);
  return self->plane_box;
}

static GtkWidget *
make_header (IrTensorView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);

  self->title = line_label ("", "heading", PANGO_ELLIPSIZE_MIDDLE);
  self->relation = line_label ("", "dim-label", PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (self->relation, TRUE);
  self->worst = gtk_button_new_with_label ("Show");
  gtk_widget_set_tooltip_text (self->worst, "Scroll the table to the largest difference");
  gtk_widget_add_css_class (self->worst, "flat");
  g_signal_connect (self->worst, "clicked", G_CALLBACK (on_worst), self);
  self->go_to = gtk_entry_new ();
  gtk_entry_set_placeholder_text (GTK_ENTRY (self->go_to), "Index");
  gtk_editable_set_width_chars (GTK_EDITABLE (self->go_to), 9);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (self->go_to), 9);
  gtk_widget_set_tooltip_text (self->go_to, "Scroll the table to an element, such as 0, 3, 1");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->go_to), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Go to index", -1);
  g_signal_connect (self->go_to, "activate", G_CALLBACK (on_go_to), self);
  gtk_box_append (GTK_BOX (box), self->title);
  gtk_box_append (GTK_BOX (box), self->relation);
  gtk_box_append (GTK_BOX (box), self->worst);
  gtk_box_append (GTK_BOX (box), make_plane_box (self));
  gtk_box_append (GTK_BOX (box), self->go_to);
  return box;
}

/* The pictures get a little less than half, once it is known of how much. */
static void
on_max_position (GtkPaned *paned, GParamSpec *pspec, gpointer data)
{
  int most = 0;

  g_object_get (paned, "max-position", &most, NULL);
  if (most <= 0 || most == G_MAXINT || g_object_get_data (G_OBJECT (paned), "placed") != NULL)
    return;
  g_object_set_data (G_OBJECT (paned), "placed", paned);
  gtk_paned_set_position (paned, gtk_widget_get_width (GTK_WIDGET (paned)) * 9 / 20);
}

static void
ir_tensor_view_init (IrTensorView *self)
{
  GtkWidget *content = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  GtkWidget *sides = gtk_box_new (GTK_ORIENTATION_VERTICAL, 18),
            *scroller = gtk_scrolled_window_new ();
  GtkWidget *paned = gtk_paned_new (GTK_ORIENTATION_HORIZONTAL);

  gtk_box_append (GTK_BOX (sides),
                  make_side (self, &self->sides[IR_SIDE_BEFORE], "Before: the original graph",
                             "Histogram and heat map before"));
  gtk_box_append (GTK_BOX (sides),
                  make_side (self, &self->sides[IR_SIDE_AFTER], "After: the graph that ran",
                             "Histogram and heat map after"));
  gtk_box_append (GTK_BOX (sides), make_difference (self));
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), sides);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_paned_set_start_child (GTK_PANED (paned), scroller);
  gtk_paned_set_end_child (GTK_PANED (paned), make_table (self));
  gtk_paned_set_shrink_start_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (paned), FALSE);
  gtk_widget_set_vexpand (paned, TRUE);
  g_signal_connect (paned, "notify::max-position", G_CALLBACK (on_max_position), NULL);
  gtk_box_append (GTK_BOX (content), make_header (self));
  gtk_box_append (GTK_BOX (content), paned);
  gtk_widget_add_css_class (content, "tensor");
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("accessories-calculator-symbolic", "No Value Selected",
                          "Run the graph, then select a node, or a value in its properties.",
                          "win.run", "Run"),
      "empty");
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("accessories-calculator-symbolic", "No Value Selected",
                          "Select a node in the graph, or a value in its properties.", NULL, NULL),
      "choose");
  gtk_stack_add_named (GTK_STACK (self->stack), content, "tensor");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_tensor = {
  .id = "tensor",
  .title = "Tensor",
  .icon_name = "accessories-calculator-symbolic",
  .doc = "Statistics and values of the selected value, before and after.",
  .help = "What the selected value held in the last run, in the original graph and in the "
          "graph that ran. The histogram shows how often values occur, the heat map where; "
          "red is NaN. “Show” scrolls to the largest difference.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_tensor_view_get_type,
};
