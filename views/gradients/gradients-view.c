/* Why is this gradient zero, not a number, exploding? An output derived by parameters or inputs: what each
 * derivative is, what came back to each node, and the reason for the one that is chosen, which
 * `irscope grad --explain` gives as well. */
#include "config.h"

#include "core/ir/grad-mark.h"
#include "core/ir/tensor-text.h"
#include "passes/rewrites/gradient.h"
#include "views/chart-area.h"
#include "views/derive-lists.h"
#include "views/gradients/gradient-elements.h"
#include "views/gradients/gradient-table.h"
#include "views/name.h"
#include "views/session/act.h"
#include "views/session/frame.h"
#include "views/session/gradients.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#include <math.h>
#include <string.h>

#define GUARD_PASS "guard-where"

struct _IrGradientsView
{
  IrView parent;
  GtkWidget *stack, *states, *again, *switcher, *pages, *note, *failure, *values, *nodes, *elements,
      *said, *menu, *derived;
  GtkWidget *by_value, *by_element, *by_node, *by_chart;
  IrDeriveLists lists;
  IrChartArea *chart;
  IrJob *job;       /* (nullable) that explains, or checks an element */
  int row;          /* whose elements are listed; -1: of none */
  IrNodeId subject; /* what the menu acts on; 0: nothing */
  gboolean chose;   /* what it is derived by was set for this graph */
};

#define IR_TYPE_GRADIENTS_VIEW (ir_gradients_view_get_type ())
G_DECLARE_FINAL_TYPE (IrGradientsView, ir_gradients_view, IR, GRADIENTS_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrGradientsView, ir_gradients_view, IR_TYPE_VIEW)

static IrSession *
session_of (IrGradientsView *self)
{
  return ir_view_get_session (IR_VIEW (self));
}

static IrGradients *
gradients_of (IrGradientsView *self)
{
  return ir_session_get_gradients (session_of (self));
}

/* (nullable): in the graph on screen */
static const IrNode *
live_node (IrGradientsView *self, IrNodeId id)
{
  const IrFrame *frame = ir_session_get_frame (session_of (self));

  return frame != NULL && id != 0 ? ir_model_live_node (frame->model, id) : NULL;
}

/* -- what is said -- */

static void
enable_acts (IrGradientsView *self)
{
  const IrNode *node = live_node (self, self->subject);
  const IrModel *history = ir_session_get_history (session_of (self));
  g_autoptr (GArray)
      nodes = node != NULL && history != NULL ? ir_gradient_nodes_of (history, node->id) : NULL;
  g_autofree char *label = node != NULL ? ir_node_label (node) : NULL;
  g_autofree char *title = label != NULL ? g_strdup_printf ("Node %s", label) : NULL;

  gtk_widget_set_visible (self->menu, node != NULL);
  gtk_widget_set_visible (self->derived, nodes != NULL && nodes->len > 0);
  if (title != NULL)
    gtk_widget_set_tooltip_text (self->menu, title);
}

/* @subject: the node that acts are about; 0: none */
static void
say (IrGradientsView *self, const char *text, IrNodeId subject)
{
  gtk_label_set_text (GTK_LABEL (self->said), text);
  self->subject = subject;
  enable_acts (self);
}

typedef struct
{
  IrGradients *gradients;
  guint row;
} ExplainRequest;

static void
explain_request_free (gpointer data)
{
  ExplainRequest *request = data;

  ir_gradients_unref (request->gradients);
  g_free (request);
}

static gpointer
explain (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const ExplainRequest *request = data;

  return ir_gradients_explain (request->gradients, request->row);
}

static void
on_explained (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrGradientsView *self = owner;
  const ExplainRequest *request = data;
  g_autoptr (IrGradientReason) reason = result;

  g_clear_pointer (&self->job, ir_job_unref);
  if (reason == NULL || gradients_of (self) != request->gradients)
    return;
  const IrGradientRow *row = &g_array_index (request->gradients->rows, IrGradientRow, request->row);
  g_autofree char *text = g_strdup_printf (
      "%s: %s. %s%s", ir_model_value (request->gradients->model, row->by)->name,
      ir_gradient_kind_name (reason->kind), reason->text,
      reason->is_finite ? "" : " What is derived is not finite itself.");
  say (self, text, reason->node);
}

static void
drop_job (IrGradientsView *self)
{
  if (self->job != NULL)
    ir_job_cancel (self->job);
  g_clear_pointer (&self->job, ir_job_unref);
}

static void
begin_to_explain (IrGradientsView *self, int index)
{
  ExplainRequest *request = g_new0 (ExplainRequest, 1);

  request->gradients = ir_gradients_ref (gradients_of (self));
  request->row = (guint) index;
  drop_job (self);
  say (self, "Following it back…", 0);
  self->job = ir_job_start (self,
                            &(IrJobSpec){ .run = explain,
                                          .data = request,
                                          .data_free = explain_request_free,
                                          .result_free = (GDestroyNotify) ir_gradient_reason_free,
                                          .done = on_explained });
}

/* -- one element by differences -- */

typedef struct
{
  IrGradients *gradients;
  guint row;
  guint64 index;
} CheckRequest;

static void
check_request_free (gpointer data)
{
  CheckRequest *request = data;

  ir_gradients_unref (request->gradients);
  g_free (request);
}

static gpointer
check (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const CheckRequest *request = data;

  return ir_gradients_check (request->gradients, request->row, request->index, cancellable, error);
}

static char *
checked_text (const CheckRequest *request, const IrGradcheckItem *item)
{
  const IrTensor *gradient = ir_gradients_tensor (
      request->gradients,
      g_array_index (request->gradients->rows, IrGradientRow, request->row).gradient);
  g_autofree char *at = ir_tensor_index_text (gradient, request->index);
  g_autofree char *sides = item->verdict != IR_GRADCHECK_PASSED
                               ? g_strdup_printf (", from the left %.6g, from the right %.6g",
                                                  item->left, item->right)
                               : g_strdup ("");

  return g_strdup_printf (
      "%s%s %s: %.9g by the backward part, %.9g by differences%s. Both in double; "
      "the run gave %.9g.",
      item->input, ir_tensor_rank (gradient) > 0 ? at : "",
      ir_gradcheck_verdict_name (item->verdict), item->analytic, item->numeric, sides,
      ir_tensor_get_double (gradient, request->index));
}

static void
on_checked (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrGradientsView *self = owner;
  const CheckRequest *request = data;
  g_autoptr (GArray) items = result;

  g_clear_pointer (&self->job, ir_job_unref);
  if (gradients_of (self) != request->gradients)
    return;
  if (items == NULL)
    {
      say (self, error->message, 0);
      return;
    }
  const IrGradcheckItem *item = &g_array_index (items, IrGradcheckItem, 0);
  g_autofree char *text = checked_text (request, item);
  ir_gradient_elements_take (IR_GRADIENT_ELEMENTS (self->elements), item);
  say (self, text, 0);
}

static void
on_element (IrGradientsView *self, guint64 index)
{
  CheckRequest *request = g_new0 (CheckRequest, 1);

  request->gradients = ir_gradients_ref (gradients_of (self));
  request->row = (guint) self->row;
  request->index = index;
  drop_job (self);
  say (self, "Moving the element…", 0);
  self->job = ir_job_start (self, &(IrJobSpec){ .run = check,
                                                .data = request,
                                                .data_free = check_request_free,
                                                .result_free = (GDestroyNotify) g_array_unref,
                                                .done = on_checked });
}

static void
list_elements (IrGradientsView *self, int row)
{
  self->row = row;
  ir_gradient_elements_set (IR_GRADIENT_ELEMENTS (self->elements), gradients_of (self), row);
}

static char *
layer_text (const IrGradients *gradients, const IrGradientLayer *layer)
{
  const IrNode *node = ir_model_node (gradients->model, layer->node);
  g_autoptr (GArray) nodes = ir_gradient_nodes_of (gradients->model, layer->node);
  g_autofree char *label = ir_node_label (node);
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%s: norm %.4g came back to %s, %.0f %% zeros", label,
                          ir_tensor_stats_norm (&layer->stats),
                          ir_model_value (gradients->model, layer->value)->name,
                          100.0 * (double) layer->stats.n_zero / (double) layer->stats.n);
  if (!isnan (layer->growth))
    g_string_append_printf (text, "; %.3g times that, by root mean square, went on", layer->growth);
  if (layer->n_units > 0)
    g_string_append_printf (text, "; %u of %u units let nothing pass", layer->n_dead,
                            layer->n_units);
  g_string_append_printf (text, ". %u nodes derive it", nodes->len);
  if (ir_grad_mark (node) != IR_GRAD_MARK_PLAIN)
    g_string_append_printf (text, "; it is marked %s", ir_grad_mark_name (ir_grad_mark (node)));
  g_string_append_c (text, '.');
  return g_string_free (text, FALSE);
}

/* -- choosing -- */

static void
on_value (IrGradientsView *self, int index)
{
  const IrGradients *gradients = gradients_of (self);
  const IrFrame *frame = ir_session_get_frame (session_of (self));
  IrValueId by;

  if (gradients == NULL || index < 0 || frame == NULL)
    return;
  by = g_array_index (gradients->rows, IrGradientRow, index).by;
  if (ir_model_live_value (frame->model, by) != NULL)
    {
      ir_session_select_node (session_of (self), 0);
      ir_session_select_value (session_of (self), by);
    }
  list_elements (self, index);
  begin_to_explain (self, index);
}

static void
say_layer (IrGradientsView *self, int index)
{
  const IrGradients *gradients = gradients_of (self);
  const IrGradientLayer *layer = &g_array_index (gradients->layers, IrGradientLayer, index);
  g_autofree char *text = layer_text (gradients, layer);

  drop_job (self);
  say (self, text, layer->node);
}

static void
on_node (IrGradientsView *self, int index)
{
  const IrGradients *gradients = gradients_of (self);

  if (gradients == NULL || gradients->layers == NULL || index < 0)
    return;
  const IrNodeId node = g_array_index (gradients->layers, IrGradientLayer, index).node;
  if (live_node (self, node) != NULL)
    {
      ir_session_select_value (session_of (self), 0);
      ir_session_select_node (session_of (self), node);
    }
  say_layer (self, index);
}

/* The row of what is selected elsewhere. */
static void
sync_selection (IrGradientsView *self)
{
  const IrGradients *gradients = gradients_of (self);
  const IrNodeId node = ir_session_get_selected_node (session_of (self));
  const IrValueId value = ir_session_get_selected_value (session_of (self));
  int row = -1, layer = -1;

  if (gradients == NULL)
    return;
  for (guint i = 0; value != 0 && i < gradients->rows->len; i++)
    if (g_array_index (gradients->rows, IrGradientRow, i).by == value)
      row = (int) i;
  for (guint i = 0; node != 0 && gradients->layers != NULL && i < gradients->layers->len; i++)
    if (g_array_index (gradients->layers, IrGradientLayer, i).node == node)
      layer = (int) i;
  if (row >= 0 && row != ir_gradient_table_get_chosen (IR_GRADIENT_TABLE (self->values)))
    {
      list_elements (self, row);
      begin_to_explain (self, row);
    }
  else if (layer >= 0 && layer != ir_gradient_table_get_chosen (IR_GRADIENT_TABLE (self->nodes)))
    say_layer (self, layer);
  if (row >= 0)
    ir_gradient_table_choose (IR_GRADIENT_TABLE (self->values), row);
  if (layer >= 0)
    ir_gradient_table_choose (IR_GRADIENT_TABLE (self->nodes), layer);
}

/* -- acts -- */

static void
act_mark (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrGradientsView *self = IR_GRADIENTS_VIEW (widget);
  const IrNode *node = live_node (self, self->subject);
  g_autofree char *id = node != NULL ? g_strdup_printf ("#%u", node->id) : NULL;
  const char *const words[] = { "gradient", id, g_variant_get_string (parameter, NULL), NULL };

  if (node != NULL && !ir_session_get_busy (session_of (self)))
    ir_session_act (session_of (self), words);
}

/* Where it is in the graph */
static void
act_show (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrGradientsView *self = IR_GRADIENTS_VIEW (widget);
  const IrNode *node = live_node (self, self->subject);

  if (node == NULL)
    return;
  ir_session_select_value (session_of (self), 0);
  ir_session_select_node (session_of (self), node->id);
}

/* The double where: what is not chosen gets a harmless input. */
static void
act_guard (GtkWidget *widget, const char *name, GVariant *parameter)
{
  static const char *const passes[] = { GUARD_PASS, NULL };
  IrGradientsView *self = IR_GRADIENTS_VIEW (widget);
  g_autoptr (GError) error = NULL;

  if (!ir_session_get_busy (session_of (self)) &&
      ir_session_set_passes (session_of (self), passes, NULL, &error))
    ir_session_run_pipeline (session_of (self), NULL);
}

/* Where the graph on screen has its backward part, the nodes of it that derive the chosen one. */
static void
on_derived_nodes (IrGradientsView *self)
{
  g_autoptr (GArray)
      nodes = ir_gradient_nodes_of (ir_session_get_history (session_of (self)), self->subject);
  g_autoptr (GtkBitset) set = gtk_bitset_new_empty ();

  for (guint i = 0; i < nodes->len; i++)
    gtk_bitset_add (set, g_array_index (nodes, IrNodeId, i));
  gtk_bitset_add (set, self->subject);
  ir_session_select_value (session_of (self), 0);
  ir_session_set_selection (session_of (self), set);
}

/* -- what is shown -- */

static IrScene *
make_scene (IrJob *job,
            gpointer data,
            const IrChartOptions *options,
            GCancellable *cancellable,
            GError **error)
{
  return ir_gradients_chart (data, options);
}

static void
load_chart (IrGradientsView *self)
{
  IrGradients *gradients = gradients_of (self);

  if (gradients == NULL)
    ir_chart_area_clear (self->chart);
  else
    ir_chart_area_load (self->chart, make_scene, ir_gradients_ref (gradients),
                        (GDestroyNotify) ir_gradients_unref);
}

static void
show_page (IrGradientsView *self)
{
  gtk_stack_set_visible_child_name (
      GTK_STACK (self->pages),
      gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_value))     ? "values"
      : gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_element)) ? "elements"
      : gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->by_node))    ? "nodes"
                                                                            : "chart");
}

static char *
summary_text (const IrGradients *gradients)
{
  guint n_wrong = 0, n_dead = 0;

  for (guint i = 0; i < gradients->rows->len; i++)
    {
      const IrGradientRow *row = &g_array_index (gradients->rows, IrGradientRow, i);
      n_wrong += row->why != NULL || ir_gradient_is_remarkable (row);
    }
  for (guint i = 0; gradients->layers != NULL && i < gradients->layers->len; i++)
    n_dead += g_array_index (gradients->layers, IrGradientLayer, i).n_dead > 0;
  if (n_wrong == 0 && n_dead == 0)
    return g_strdup ("Choose a row to see why its derivative is what it is.");
  return g_strdup_printf (
      "%u of %u derivatives are 0 or not finite, or nothing comes to them; in %u "
      "nodes units let nothing pass. Choose a row to see why.",
      n_wrong, gradients->rows->len, n_dead);
}

static void
load (IrGradientsView *self)
{
  IrGradients *gradients = gradients_of (self);
  const IrFrame *frame = ir_session_get_frame (session_of (self));
  const char *error = ir_session_get_gradients_error (session_of (self));
  g_autofree char *text = gradients != NULL ? summary_text (gradients) : NULL;

  drop_job (self);
  ir_gradient_table_set (IR_GRADIENT_TABLE (self->values), gradients);
  ir_gradient_table_set (IR_GRADIENT_TABLE (self->nodes), gradients);
  list_elements (self, -1);
  load_chart (self);
  say (self, text != NULL ? text : "", 0);
  if (error != NULL)
    adw_status_page_set_description (ADW_STATUS_PAGE (self->failure), error);
  gtk_widget_set_sensitive (self->again, gradients != NULL);
  gtk_widget_set_sensitive (self->switcher, gradients != NULL);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), frame != NULL ? "open" : "closed");
  gtk_stack_set_visible_child_name (GTK_STACK (self->states), gradients != NULL ? "derived"
                                                              : error != NULL   ? "failed"
                                                                                : "empty");
  sync_selection (self);
}

static void
show_note (IrGradientsView *self)
{
  g_autofree char *stale = ir_session_gradients_stale_text (session_of (self));

  gtk_label_set_text (GTK_LABEL (self->note), stale != NULL ? stale : "");
  gtk_widget_set_visible (self->note, stale != NULL);
}

/* Where there are no parameters, by inputs. */
static void
show_lists (IrGradientsView *self)
{
  const IrFrame *frame = ir_session_get_frame (session_of (self));
  g_autoptr (GPtrArray) params = NULL;

  if (frame == NULL)
    return;
  ir_derive_lists_update (&self->lists, frame->model);
  if (self->chose)
    return;
  params = ir_gradient_wrt (frame->model, "params", NULL);
  ir_derive_lists_set_by (&self->lists, params != NULL ? "params" : "inputs");
  self->chose = TRUE;
}

static void
ir_gradients_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrGradientsView *self = IR_GRADIENTS_VIEW (view);

  if (changes & IR_CHANGED_FILE)
    self->chose = FALSE;
  if (changes & (IR_CHANGED_FRAME | IR_CHANGED_FILE))
    show_lists (self);
  if (changes & (IR_CHANGED_GRADIENTS | IR_CHANGED_FILE) ||
      (changes & IR_CHANGED_FRAME && gradients_of (self) == NULL))
    load (self);
  if (changes & (IR_CHANGED_GRADIENTS | IR_CHANGED_FRAME | IR_CHANGED_INPUTS))
    show_note (self);
  if (changes & IR_CHANGED_FRAME)
    enable_acts (self);
  if (changes & IR_CHANGED_SELECTION)
    sync_selection (self);
  ir_chart_area_session_changed (self->chart, changes);
}

static void
on_derive (IrGradientsView *self)
{
  ir_session_derive (session_of (self), ir_derive_lists_of (&self->lists),
                     ir_derive_lists_by (&self->lists));
}

static void
on_choice (gpointer data)
{
  IrSession *session = session_of (data);

  if (gradients_of (data) != NULL || ir_session_get_gradients_error (session) != NULL)
    on_derive (data);
}

/* -- building -- */

static GtkWidget *
add_toggle (
    IrGradientsView *self, GtkWidget *box, GtkWidget *first, const char *title, const char *tip)
{
  GtkWidget *button = gtk_toggle_button_new_with_label (title);

  gtk_widget_set_tooltip_text (button, tip);
  if (first != NULL)
    gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (button), GTK_TOGGLE_BUTTON (first));
  g_signal_connect_swapped (button, "toggled", G_CALLBACK (show_page), self);
  gtk_box_append (GTK_BOX (box), button);
  return button;
}

static GtkWidget *
make_switcher (IrGradientsView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  gtk_widget_add_css_class (box, "linked");
  self->by_value = add_toggle (self, box, NULL, "Values", "The derivative by each value");
  self->by_element = add_toggle (
      self, box, self->by_value, "Elements",
      "Elements of the chosen derivative, each checked by differences on a click");
  self->by_node = add_toggle (self, box, self->by_value, "Nodes", "What came back to each node");
  self->by_chart = add_toggle (self, box, self->by_value, "Chart",
                               "Norms of both as bars, on one axis");
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->by_value), TRUE);
  return box;
}

static GtkWidget *
make_bar (IrGradientsView *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *space;

  ir_derive_lists_init (&self->lists, bar, on_choice, self);
  self->again = gtk_button_new_with_label ("Derive Again");
  gtk_widget_set_tooltip_text (self->again, "Run the graph and its backward part once more");
  g_signal_connect_swapped (self->again, "clicked", G_CALLBACK (on_derive), self);
  gtk_box_append (GTK_BOX (bar), self->again);
  space = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_hexpand (space, TRUE);
  gtk_box_append (GTK_BOX (bar), space);
  self->switcher = make_switcher (self);
  gtk_box_append (GTK_BOX (bar), self->switcher);
  gtk_widget_add_css_class (bar, "view-toolbar");
  return bar;
}

static GtkWidget *
make_menu (void)
{
  g_autoptr (GMenu) menu = g_menu_new (), marks = g_menu_new (), pass = g_menu_new (),
                    show = g_menu_new ();
  GtkWidget *button = gtk_menu_button_new ();

  g_menu_append (show, "Select It in the Graph", "gradients.show");
  g_menu_append (marks, "Mark Stop: Nothing Comes Through", "gradients.mark::stop");
  g_menu_append (marks, "Mark Straight-Through: As the Identity",
                 "gradients.mark::straight-through");
  g_menu_append (marks, "Derive as Its Rule Says", "gradients.mark::plain");
  g_menu_append (pass, "Guard Choices against 0 · ∞", "gradients.guard");
  g_menu_append_section (menu, NULL, G_MENU_MODEL (show));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (marks));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (pass));
  gtk_menu_button_set_label (GTK_MENU_BUTTON (button), "Node");
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_menu_button_set_direction (GTK_MENU_BUTTON (button), GTK_ARROW_UP);
  gtk_widget_set_valign (button, GTK_ALIGN_START);
  ir_name (button, "What can be done to the node");
  return button;
}

static GtkWidget *
make_said (IrGradientsView *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->said = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->said), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (self->said), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (self->said), 0);
  gtk_widget_set_hexpand (self->said, TRUE);
  gtk_box_append (GTK_BOX (bar), self->said);
  self->derived = gtk_button_new_with_label ("Its Derivative");
  gtk_widget_set_tooltip_text (self->derived,
                               "Select the nodes of the backward part that derive it");
  gtk_widget_set_valign (self->derived, GTK_ALIGN_START);
  g_signal_connect_swapped (self->derived, "clicked", G_CALLBACK (on_derived_nodes), self);
  gtk_box_append (GTK_BOX (bar), self->derived);
  self->menu = make_menu ();
  gtk_box_append (GTK_BOX (bar), self->menu);
  gtk_widget_add_css_class (bar, "view-toolbar");
  return bar;
}

static GtkWidget *
make_pages (IrGradientsView *self)
{
  self->pages = gtk_stack_new ();
  self->values = ir_gradient_table_new (FALSE, "Derivatives");
  self->nodes = ir_gradient_table_new (TRUE, "What came back to nodes");
  g_signal_connect_object (self->values, "chosen", G_CALLBACK (on_value), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->nodes, "chosen", G_CALLBACK (on_node), self, G_CONNECT_SWAPPED);
  self->elements = ir_gradient_elements_new ();
  g_signal_connect_object (self->elements, "chosen", G_CALLBACK (on_element), self,
                           G_CONNECT_SWAPPED);
  self->chart = IR_CHART_AREA (ir_chart_area_new ("Gradients", FALSE));
  g_signal_connect_object (self->chart, "resized", G_CALLBACK (load_chart), self,
                           G_CONNECT_SWAPPED);
  gtk_stack_add_named (GTK_STACK (self->pages), self->values, "values");
  gtk_stack_add_named (GTK_STACK (self->pages), self->elements, "elements");
  gtk_stack_add_named (GTK_STACK (self->pages), self->nodes, "nodes");
  gtk_stack_add_named (GTK_STACK (self->pages), GTK_WIDGET (self->chart), "chart");
  return self->pages;
}

/* A page that says why there is nothing, with a button */
static GtkWidget *
make_empty (IrGradientsView *self, const char *title, const char *text, const char *label)
{
  GtkWidget *page = ir_view_empty_page ("view-sort-descending-symbolic", title, text, NULL, NULL);
  GtkWidget *button = gtk_button_new_with_label (label);

  gtk_widget_add_css_class (button, "pill");
  gtk_widget_set_halign (button, GTK_ALIGN_CENTER);
  g_signal_connect_swapped (button, "clicked", G_CALLBACK (on_derive), self);
  adw_status_page_set_child (ADW_STATUS_PAGE (page), button);
  return page;
}

static void
ir_gradients_view_focus_content (IrView *view)
{
  gtk_widget_child_focus (IR_GRADIENTS_VIEW (view)->stack, GTK_DIR_TAB_FORWARD);
}

static void
ir_gradients_view_dispose (GObject *object)
{
  IrGradientsView *self = IR_GRADIENTS_VIEW (object);

  drop_job (self);
  ir_derive_lists_clear (&self->lists);
  G_OBJECT_CLASS (ir_gradients_view_parent_class)->dispose (object);
}

static void
ir_gradients_view_class_init (IrGradientsViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_gradients_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_gradients_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_gradients_view_focus_content;
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "gradients.mark", "s", act_mark);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "gradients.show", NULL, act_show);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "gradients.guard", NULL, act_guard);
}

/* With what is derived above, whatever came of it. */
static GtkWidget *
make_open (IrGradientsView *self)
{
  GtkWidget *open = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *derived = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *pages = make_pages (self);

  gtk_box_append (GTK_BOX (open), ir_view_scrolled_row (make_bar (self)));
  self->note = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->note), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->note), 0);
  gtk_widget_set_margin_start (self->note, 12);
  gtk_widget_set_margin_end (self->note, 12);
  gtk_widget_add_css_class (self->note, "warning");
  gtk_box_append (GTK_BOX (derived), self->note);
  gtk_box_append (GTK_BOX (derived), pages);
  gtk_box_append (GTK_BOX (derived), make_said (self));
  self->failure = make_empty (self, "Not Derived", "", "Try Again");
  self->states = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->states),
      make_empty (self, "Not Derived",
                  "The graph is derived and run once: each gradient, what came back "
                  "to each node, and why one is 0, tiny or not a number.",
                  "Derive the Graph"),
      "empty");
  gtk_stack_add_named (GTK_STACK (self->states), self->failure, "failed");
  gtk_stack_add_named (GTK_STACK (self->states), derived, "derived");
  gtk_box_append (GTK_BOX (open), self->states);
  return open;
}

static void
ir_gradients_view_init (IrGradientsView *self)
{
  GtkWidget *open = make_open (self);

  self->stack = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("view-sort-descending-symbolic", "No Graph",
                          "Gradients of an output, and why they are what they are, "
                          "are shown here.",
                          "win.open", "Open…"),
      "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), open, "open");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_gradients = {
  .id = "gradients",
  .title = "Gradients",
  .icon_name = "view-sort-descending-symbolic",
  .doc =
      "Gradients of an output, what came back to each node, and why one is 0, tiny or not a number.",
  .help =
      "A row of Values is a derivative: its norm, that by the norm of the value itself, its zeros. Choosing one "
      "follows it back and says the reason, with the node. Elements are those of the chosen one: choosing one moves it "
      "and compares the derivative with differences, in double, as irscope gradcheck does. Nodes has what came back to each node, backwards: growth is "
      "how much larger it was on the way on, dead units are channels of an activation that let nothing pass. The button "
      "Node marks it stop or straight-through, which is a step. The overlays Gradient Norm, Gradient Zeros and Dead Units "
      "colour the graph by the same numbers.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_gradients_view_get_type,
};
