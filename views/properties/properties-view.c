/* The properties: what the selected node is, what it takes and gives, where it comes from; with
 * nothing selected, what the model is. Rows are made from the op table: attributes that the node
 * leaves out are shown with their defaults. */
#include "config.h"

#include "core/ir/inline.h"
#include "core/op/infer.h"
#include "core/op/op.h"
#include "views/count.h"
#include "views/kernel-chooser.h"
#include "views/label.h"
#include "views/properties/editing.h"
#include "views/session/execution.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/kernels.h"
#include "views/session/records.h"
#include "views/session/runs.h"
#include "views/session/saved.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/view.h"

#include <string.h>

#define MAX_PASSING  12 /* values that come into a group, or go out */
#define MAX_LIST     64 /* rows of one group */
#define MAX_ELEMENTS 16 /* of an attribute's value */

struct _IrPropertiesView
{
  IrView parent;
  GtkWidget *stack, *scroller, *box;
  GtkWidget *chooser; /* (nullable) of the kernel, while a node is shown */
  IrNodeId shown;
};

#define IR_TYPE_PROPERTIES_VIEW (ir_properties_view_get_type ())
G_DECLARE_FINAL_TYPE (IrPropertiesView, ir_properties_view, IR, PROPERTIES_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrPropertiesView, ir_properties_view, IR_TYPE_VIEW)

/* -- building -- */

/* Of the graph on screen, which acts can change. */
static gboolean
is_live (IrPropertiesView *self, const IrNode *node)
{
  const IrFrame *frame = ir_session_get_frame (ir_view_get_session (IR_VIEW (self)));

  return frame != NULL && ir_model_live_node (frame->model, node->id) == node;
}

static GtkWidget *
add_group (IrPropertiesView *self, const char *title)
{
  GtkWidget *group = adw_preferences_group_new ();

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), title);
  gtk_box_append (GTK_BOX (self->box), group);
  return group;
}

/* Titles and subtitles are shown as they are: names may hold any character. */
static GtkWidget *
add_row (GtkWidget *group, const char *title, const char *subtitle)
{
  GtkWidget *row = adw_action_row_new ();

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 3);
  adw_action_row_set_title_lines (ADW_ACTION_ROW (row), 2);
  gtk_widget_set_tooltip_text (row, subtitle);
  gtk_widget_add_css_class (row, "property-row");
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
  return row;
}

static void
add_suffix (GtkWidget *row, const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 22);
  gtk_widget_add_css_class (label, css);
  gtk_widget_set_tooltip_text (label, text);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), label);
}

static void
add_more (GtkWidget *group, guint n)
{
  g_autofree char *text = NULL, *more = NULL;

  if (n <= MAX_LIST)
    return;
  more = ir_count_text (n - MAX_LIST);
  text = g_strdup_printf ("… %s more", more);
  add_row (group, text, "");
}

/* -- what a click on a row selects -- */

static void
on_value_row (GtkWidget *row, gpointer data)
{
  IrView *view = IR_VIEW (gtk_widget_get_ancestor (row, IR_TYPE_VIEW));

  ir_session_select_value (ir_view_get_session (view), GPOINTER_TO_UINT (data));
  ir_session_show_view (ir_view_get_session (view), "tensor");
}

static void
on_node_row (GtkWidget *row, gpointer data)
{
  IrView *view = IR_VIEW (gtk_widget_get_ancestor (row, IR_TYPE_VIEW));
  ir_session_select_node (ir_view_get_session (view), GPOINTER_TO_UINT (data));
}

static void
on_step_row (GtkWidget *row, gpointer data)
{
  IrView *view = IR_VIEW (gtk_widget_get_ancestor (row, IR_TYPE_VIEW));
  ir_session_goto (ir_view_get_session (view), GPOINTER_TO_UINT (data));
}

static void
make_activatable (GtkWidget *row, GCallback callback, guint id)
{
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), TRUE);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row),
                             gtk_image_new_from_icon_name ("go-next-symbolic"));
  g_signal_connect (row, "activated", callback, GUINT_TO_POINTER (id));
}

/* -- values -- */

static char *
type_text (const IrValue *value)
{
  const IrType *type = ir_value_shown_type (value);

  return type != NULL ? ir_type_to_string (value->graph->model->context, type)
                      : g_strdup ("type not known");
}

static const char *
value_origin (const IrValue *value)
{
  if (value->initializer != NULL)
    return ir_value_constant (value) != NULL ? "constant" : "default";
  if (value->producer != NULL)
    return ir_op_is (value->producer, IR_OP_CONSTANT) ? "constant" : NULL;
  return ir_value_is_graph_input (value) ? "input" : "undefined";
}

static void
add_value (GtkWidget *group, const char *slot, const IrValue *value)
{
  g_autofree char *type = NULL, *subtitle = NULL;
  const char *origin;
  GtkWidget *row;

  if (value == NULL)
    {
      add_row (group, slot, "left out");
      return;
    }
  type = type_text (value);
  origin = value_origin (value);
  subtitle = g_strdup_printf ("%s\n%s%s%s", value->name, type, origin != NULL ? ", " : "",
                              origin != NULL ? origin : "");
  row = add_row (group, slot, subtitle);
  make_activatable (row, G_CALLBACK (on_value_row), value->id);
}

/* (transfer full): what the function that @node calls names that input or output; else a number */
static char *
slot_of_call (const IrNode *node, gboolean input, guint slot)
{
  const IrGraph *body = ir_node_function (node);
  const guint n = body == NULL ? 0 : input ? ir_graph_n_inputs (body) : ir_graph_n_outputs (body);
  const IrValue *formal = NULL;

  if (slot < n)
    formal = input ? ir_graph_input (body, slot) : ir_graph_output (body, slot);
  return formal != NULL ? g_strdup (formal->name) : g_strdup_printf ("%u", slot);
}

/* An input that reads nothing: the name of a value can be typed. */
static void
add_open_input (
    IrPropertiesView *self, GtkWidget *group, const IrNode *node, const char *slot, guint index)
{
  g_autofree char *word = g_strdup_printf ("#%u", node->id), *at = g_strdup_printf ("%u", index);
  g_autofree char *title = g_strdup_printf ("%s (open)", slot);

  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group),
                             ir_editing_row (ir_view_get_session (IR_VIEW (self)), title, "",
                                             (const char *const[]){ "connect", word, at, NULL }, 1,
                                             NULL));
}

static void
add_slots (IrPropertiesView *self,
           const char *title,
           const IrNode *node,
           guint n,
           IrValue *const *values,
           char *(*name) (const IrOp *op, guint slot))
{
  GtkWidget *group;

  if (n == 0)
    return;
  group = add_group (self, title);
  for (guint i = 0; i < MIN (n, MAX_LIST); i++)
    {
      g_autofree char *slot = node->op != NULL ? name (node->op, i)
                                               : slot_of_call (node, values == node->inputs, i);

      if (values[i] == NULL && values == node->inputs && is_live (self, node))
        add_open_input (self, group, node, slot, i);
      else
        add_value (group, slot, values[i]);
    }
  add_more (group, n);
}

/* -- the body of a function -- */

static void
add_body (IrPropertiesView *self, const IrNode *call)
{
  g_autoptr (GPtrArray)
      values = ir_session_get_body_values (ir_view_get_session (IR_VIEW (self)), call);
  GtkWidget *group;

  if (values == NULL && ir_node_function (call) == NULL)
    return;
  if (values != NULL && values->len == 0)
    return;
  group = add_group (self, "In its body");
  if (values == NULL)
    {
      GtkWidget *row = add_row (group, "Values", "Run the graph to see what the body computes");
      adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 0);
      return;
    }
  for (guint i = 0; i < MIN (values->len, MAX_LIST); i++)
    {
      const IrValue *value = values->pdata[i];
      g_autofree char *type = type_text (value);

      make_activatable (add_row (group, value->name, type), G_CALLBACK (on_value_row), value->id);
    }
  add_more (group, values->len);
}

/* -- attributes -- */

/* A row to type in, where the value can be typed. */
static void
add_attr_row (IrPropertiesView *self,
              GtkWidget *group,
              const IrNode *node,
              const char *name,
              const char *text,
              const char *title,
              const char *tip)
{
  g_autofree char *word = g_strdup_printf ("#%u", node->id),
                  *prefix = g_strconcat (name, "=", NULL);
  GtkWidget *row = ir_editing_row (ir_view_get_session (IR_VIEW (self)), title, text,
                                   (const char *const[]){ "set", word, NULL }, 2, prefix);

  gtk_widget_set_tooltip_text (row, tip);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
}

static void
add_attr (IrPropertiesView *self, GtkWidget *group, const IrNode *node, const IrAttr *attr)
{
  const IrAttrSpec *spec = node->op != NULL ? ir_op_attr (node->op, attr->name) : NULL;
  g_autofree char *typed = is_live (self, node) ? ir_editing_attr_text (attr) : NULL;
  g_autofree char *value = ir_attr_to_string (node->graph->model->context, attr, MAX_ELEMENTS);
  GtkWidget *row;

  if (typed != NULL)
    {
      add_attr_row (self, group, node, attr->name, typed, attr->name,
                    spec != NULL ? spec->doc : NULL);
      return;
    }
  row = add_row (group, attr->name, value);
  if (spec != NULL)
    gtk_widget_set_tooltip_text (row, spec->doc);
}

static void
add_default (IrPropertiesView *self, GtkWidget *group, const IrNode *node, const IrAttrSpec *spec)
{
  GtkWidget *row;

  if (is_live (self, node))
    {
      g_autofree char *title = g_strdup_printf ("%s (default)", spec->name);

      add_attr_row (self, group, node, spec->name, spec->fallback, title, spec->doc);
      return;
    }
  row = add_row (group, spec->name, spec->fallback);
  gtk_widget_set_tooltip_text (row, spec->doc);
  add_suffix (row, "default", "dim-label");
}

static void
add_attrs (IrPropertiesView *self, const IrNode *node)
{
  const IrAttrSpec *spec = node->op != NULL ? node->op->attrs : NULL;
  GtkWidget *group = NULL;

  for (guint i = 0; i < node->n_attrs; i++)
    {
      group = group != NULL ? group : add_group (self, "Attributes");
      add_attr (self, group, node, node->attrs[i]);
    }
  for (; spec != NULL && spec->name != NULL; spec++)
    if (spec->fallback != NULL && ir_node_attr (node, spec->name) == NULL)
      {
        group = group != NULL ? group : add_group (self, "Attributes");
        add_default (self, group, node, spec);
      }
}

/* -- lineage -- */

static void
add_nodes (IrPropertiesView *self, const char *title, GArray *ids)
{
  IrModel *history = ir_session_get_history (ir_view_get_session (IR_VIEW (self)));
  GtkWidget *group;

  if (ids == NULL || ids->len == 0 || history == NULL)
    return;
  group = add_group (self, title);
  for (guint i = 0; i < MIN (ids->len, MAX_LIST); i++)
    {
      IrNodeId id = g_array_index (ids, IrNodeId, i);
      const IrNode *node = ir_model_node (history, id);
      g_autofree char *name = node->name[0] != '\0' ? g_strdup (node->name)
                                                    : g_strdup_printf ("#%u", id);
      GtkWidget *row = add_row (group, node->op_type, name);

      make_activatable (row, G_CALLBACK (on_node_row), id);
    }
  add_more (group, ids->len);
}

static void
add_steps (IrPropertiesView *self, GArray *steps)
{
  IrModel *history = ir_session_get_history (ir_view_get_session (IR_VIEW (self)));
  GtkWidget *group;

  if (steps == NULL || steps->len == 0 || history == NULL)
    return;
  group = add_group (self, "Steps that touched it");
  for (guint i = 0; i < MIN (steps->len, MAX_LIST); i++)
    {
      guint step = g_array_index (steps, guint, i);
      g_autofree char *title = g_strdup_printf ("%u  %s", step,
                                                ir_history_step (history, step)->rule);
      GtkWidget *row = add_row (group, title, ir_history_pass_of (history, step));

      make_activatable (row, G_CALLBACK (on_step_row), step);
    }
  add_more (group, steps->len);
}

/* A node that was never touched comes from itself: that need not be said. */
static gboolean
is_only (const GArray *ids, IrNodeId id)
{
  return ids != NULL && ids->len == 1 && g_array_index (ids, IrNodeId, 0) == id;
}

static void
add_lineage (IrPropertiesView *self, IrNodeId id)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  g_autoptr (GArray) origins = NULL;
  g_autoptr (GArray) descendants = NULL;
  g_autoptr (GArray) steps = NULL;

  if (ir_session_get_n_steps (session) == 0)
    return;
  origins = ir_session_origins (session, id);
  descendants = ir_session_descendants (session, id, ir_session_get_n_steps (session));
  steps = ir_session_steps_of (session, id);
  if (!is_only (origins, id))
    add_nodes (self, "Comes from", origins);
  if (!is_only (descendants, id))
    add_nodes (self, "Ends up in", descendants);
  add_steps (self, steps);
}

/* -- problems -- */

static void
add_problems (IrPropertiesView *self, IrNodeId node)
{
  GPtrArray *problems = ir_session_get_problems (ir_view_get_session (IR_VIEW (self)));
  GtkWidget *group = NULL;

  for (guint i = 0; problems != NULL && i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      GtkWidget *row;

      if (node != 0 && problem->node != node)
        continue;
      group = group != NULL ? group : add_group (self, "Problems");
      row = add_row (group, problem->message, problem->hint != NULL ? problem->hint : "");
      adw_action_row_set_title_lines (ADW_ACTION_ROW (row), 0);
      adw_action_row_add_prefix (
          ADW_ACTION_ROW (row), gtk_image_new_from_icon_name (problem->severity == IR_SEVERITY_ERROR
                                                                  ? "dialog-error-symbolic"
                                                                  : "dialog-warning-symbolic"));
      if (node == 0 && problem->node != 0)
        make_activatable (row, G_CALLBACK (on_node_row), problem->node);
    }
}

/* -- one node -- */

/* Runs as the nodes of a body that the file has. */
static gboolean
is_call (const IrNode *node)
{
  return node->op == NULL && ir_node_function (node) != NULL;
}

static const char *
doc_of (const IrNode *node)
{
  if (node->op != NULL)
    return node->op->doc;
  return is_call (node) ? "A function of the file: it runs as the nodes of its body."
                        : "irscope does not know this operator: it is shown and kept as it is.";
}

static void
add_heading (IrPropertiesView *self, const char *title, const char *subtitle, const char *doc)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 4);
  const char *texts[] = { title, subtitle, doc }, *css[] = { "title-3", "dim-label", NULL };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      GtkWidget *label;

      if (texts[i] == NULL || texts[i][0] == '\0')
        continue;
      label = gtk_label_new (texts[i]);
      gtk_label_set_xalign (GTK_LABEL (label), 0);
      ir_label_wrap_names (GTK_LABEL (label));
      if (css[i] != NULL)
        gtk_widget_add_css_class (label, css[i]);
      gtk_box_append (GTK_BOX (box), label);
    }
  gtk_box_append (GTK_BOX (self->box), box);
}

static void
add_cost (IrPropertiesView *self, const IrNode *node)
{
  gboolean partial = FALSE;
  guint64 flops = ir_cost_node_flops (node, &partial), bytes = ir_cost_node_bytes (node, &partial);
  g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS),
                  *amount = ir_flops_text (flops, partial),
                  *work = g_strdup_printf ("%s, %s moved", amount, size);
  GtkWidget *group = add_group (self, "Place and cost");

  add_row (group, "Cost", work);
  if (node->scope[0] != '\0')
    add_row (group, "Scope", node->scope);
  if (node->device[0] != '\0')
    add_row (group, "Device", node->device);
}

/* -- kernels -- */

/* What the node does otherwise than in the run before. */
static void
add_node_change (IrSession *session, GtkWidget *group, IrNodeId id)
{
  IrNodeChange change;
  g_autofree char *before = NULL, *after = NULL, *difference = NULL, *text = NULL;

  if (!ir_session_get_node_change (session, id, &change))
    return;
  before = ir_ms_text (change.before.median);
  after = ir_ms_text (change.after.median);
  difference = change.compared ? ir_difference_text (&change.difference)
                               : g_strdup ("values not compared");
  text = g_strdup_printf ("%s → %s (%+.0f %%)\n%s", before, after,
                          100 * (change.after.median / change.before.median - 1), difference);
  add_row (group, "Since the run before", text);
}

/* Every kernel that was measured; the one in use has a check mark. */
static void
add_kernel_times (IrSession *session, GtkWidget *group, const IrNode *node, const char *kernel)
{
  guint step;
  const GPtrArray *times = ir_session_get_kernel_times (session, node->id, &step);

  for (guint i = 0; times != NULL && i < times->len; i++)
    {
      const IrKernelTime *time = times->pdata[i];
      g_autofree char *ms = ir_times_text (&time->ms),
                      *difference = time->compared && !time->taken
                                        ? ir_difference_text (&time->difference)
                                        : NULL,
                      *subtitle = g_strdup_printf ("%s%s%s", ms, difference != NULL ? "\n" : "",
                                                   difference != NULL ? difference : "");
      g_autofree char *tip = ir_times_tip (&time->ms);
      GtkWidget *row = add_row (group, time->kernel, subtitle);

      gtk_widget_set_tooltip_text (row, tip);
      if (g_strcmp0 (time->kernel, kernel) == 0)
        {
          GtkWidget *mark = gtk_image_new_from_icon_name ("object-select-symbolic");

          gtk_widget_set_tooltip_text (mark, "In use");
          adw_action_row_add_suffix (ADW_ACTION_ROW (row), mark);
        }
    }
}

static GtkWidget *
measure_button (void)
{
  GtkWidget *button = gtk_button_new_with_label ("Measure All");

  gtk_widget_set_tooltip_text (
      button, "Run the graph with each kernel of this node, seven times each, in turn (Ctrl+K)");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "win.measure-kernels");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "flat");
  return button;
}

static void
add_kernel (IrPropertiesView *self, const IrNode *node)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const char *why, *layout, *kernel = ir_session_get_kernel (session, node, &why, &layout);
  IrTimes times = ir_session_get_node_times (session, node->id);
  GtkWidget *chooser = ir_kernel_chooser_new (session), *group = add_group (self, "Kernel"), *row;
  g_autofree char *time = NULL, *tip = NULL;

  row = add_row (group, kernel != NULL ? kernel : "none",
                 why == NULL && layout == NULL ? "the first that fits" : NULL);
  if (!ir_kernel_chooser_set_node (chooser, node))
    g_object_unref (g_object_ref_sink (chooser));
  else
    {
      adw_action_row_add_suffix (ADW_ACTION_ROW (row), chooser);
      self->chooser = chooser;
      adw_preferences_group_set_header_suffix (ADW_PREFERENCES_GROUP (group), measure_button ());
    }
  if (why != NULL)
    adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (add_row (group, "Why", why)), 0);
  if (layout != NULL)
    add_row (group, "Layout", layout);
  if (times.n > 0)
    {
      time = ir_times_text (&times);
      tip = ir_times_tip (&times);
      gtk_widget_set_tooltip_text (add_row (group, "Last run", time), tip);
    }
  add_node_change (session, group, node->id);
  add_kernel_times (session, group, node, kernel);
}

static void
add_name (IrPropertiesView *self, const IrNode *node)
{
  g_autofree char *word = g_strdup_printf ("#%u", node->id);
  GtkWidget *group = add_group (self, "Node");

  adw_preferences_group_add (
      ADW_PREFERENCES_GROUP (group),
      ir_editing_row (ir_view_get_session (IR_VIEW (self)), "Name", node->name,
                      (const char *const[]){ "rename", word, NULL }, 2, NULL));
}

/* What somebody has pinned to the node. */
static void
add_note (IrPropertiesView *self, const IrNode *node)
{
  const char *text = ir_session_get_node_note (ir_view_get_session (IR_VIEW (self)), node);
  if (text != NULL)
    add_row (add_group (self, "Note"), text, "");
}

static void
show_node (IrPropertiesView *self, const IrNode *node)
{
  g_autofree char *title = node->domain[0] != '\0'
                               ? g_strdup_printf ("%s · %s", node->op_type, node->domain)
                               : g_strdup (node->op_type);
  g_autofree char *subtitle = node->name[0] != '\0'
                                  ? g_strdup_printf ("%s  #%u", node->name, node->id)
                                  : g_strdup_printf ("#%u", node->id);

  add_heading (self, title, subtitle, doc_of (node));
  add_problems (self, node->id);
  add_note (self, node);
  if (is_live (self, node))
    add_name (self, node);
  add_attrs (self, node);
  if (!is_call (node) && is_live (self, node))
    add_kernel (self, node);
  add_slots (self, "Inputs", node, node->n_inputs, node->inputs, ir_op_input_name);
  add_slots (self, "Outputs", node, node->n_outputs, node->outputs, ir_op_output_name);
  add_body (self, node);
  add_cost (self, node);
  add_lineage (self, node->id);
}

/* A node of another step than those on screen. */
static void
show_absent (IrPropertiesView *self, IrNodeId id)
{
  IrModel *history = ir_session_get_history (ir_view_get_session (IR_VIEW (self)));
  const IrNode *node = history != NULL ? ir_model_node (history, id) : NULL;

  if (node == NULL)
    return;
  add_heading (self, node->op_type, node->name,
               "This node does not exist at the steps that are shown.");
  add_lineage (self, id);
}

/* -- the model -- */

static void
add_interface (IrPropertiesView *self,
               const char *title,
               const IrModel *model,
               guint n,
               IrValue *(*get) (const IrGraph *graph, guint index))
{
  GtkWidget *group = NULL;

  for (guint i = 0; i < MIN (n, MAX_LIST); i++)
    {
      const IrValue *value = get (model->main, i);
      g_autofree char *type = NULL;

      if (value == NULL || ir_value_constant (value) != NULL)
        continue;
      group = group != NULL ? group : add_group (self, title);
      type = type_text (value);
      make_activatable (add_row (group, value->name, type), G_CALLBACK (on_value_row), value->id);
    }
}

static char *
opsets_text (const IrModel *model)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < model->opsets->n; i++)
    g_string_append_printf (
        text, "%s%s %" G_GINT64_FORMAT, i > 0 ? ", " : "",
        model->opsets->opsets[i].domain[0] != '\0' ? model->opsets->opsets[i].domain : "ai.onnx",
        model->opsets->opsets[i].version);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* What the last run says of the whole graph. */
static void
add_divergence (IrPropertiesView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrDivergence *found = ir_session_get_divergence (session);
  const IrModel *history = ir_session_get_history (session);
  GtkWidget *group;
  g_autofree char *compared = NULL, *first = NULL, *worst = NULL;

  if (found == NULL)
    return;
  group = add_group (self, "Against the original");
  compared = g_strdup_printf ("%u, at step %u", found->n_compared,
                              ir_session_get_run_step (session));
  add_row (group, "Tensors compared", compared);
  if (found->first != 0)
    {
      first = g_strdup_printf ("%s\nby %.3g", ir_model_value (history, found->first)->name,
                               found->first_difference.max_abs);
      make_activatable (add_row (group, "First to diverge", first), G_CALLBACK (on_value_row),
                        found->first);
    }
  else
    add_row (group, "First to diverge", "none: all agree up to rounding");
  if (found->worst == 0)
    return;
  worst = g_strdup_printf ("%s\nby %.3g", ir_model_value (history, found->worst)->name,
                           found->worst_difference.max_abs);
  make_activatable (add_row (group, "Largest difference", worst), G_CALLBACK (on_value_row),
                    found->worst);
}

/* How the last run was made and what it took. */
static void
add_run (IrPropertiesView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrRunChange *change = ir_session_get_run_change (session);
  const IrModel *history = ir_session_get_history (session);
  g_autofree char *text = ir_session_run_text (session), *values = NULL, *times = NULL;
  g_autofree char *before = NULL, *after = NULL;
  GtkWidget *group, *row;

  if (text == NULL)
    return;
  group = add_group (self, "Last run");
  row = add_row (group, "How it ran", text);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 6);
  if (change == NULL)
    return;
  before = ir_ms_text (change->before.median);
  after = ir_ms_text (change->after.median);
  values = ir_run_change_text (change, history);
  times = g_strdup_printf ("%s at step %u → %s at step %u (%+.0f %%)\n%s", before,
                           change->from_step, after, change->step,
                           100 * (change->after.median / change->before.median - 1), values);
  row = add_row (group, "Since the run before", times);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 5);
  if (change->worst != 0)
    make_activatable (row, G_CALLBACK (on_value_row), change->worst);
}

static GtkWidget *
group_of (gpointer view, const char *title)
{
  return add_group (view, title);
}

/* A value that is selected as a line, or as an input or output. */
static void
show_value (IrPropertiesView *self, const IrValue *value)
{
  const char *origin = value_origin (value);
  GtkWidget *group;

  add_heading (self, value->name, origin, NULL);
  ir_editing_add_value (self, group_of, ir_view_get_session (IR_VIEW (self)), value);
  group = value->producer != NULL || value->n_uses > 0 ? add_group (self, "Nodes") : NULL;
  if (value->producer != NULL)
    {
      g_autofree char *label = ir_node_label (value->producer);

      make_activatable (add_row (group, "Computed by", label), G_CALLBACK (on_node_row),
                        value->producer->id);
    }
  for (guint i = 0; i < MIN (ir_value_n_node_uses (value), MAX_LIST); i++)
    {
      const IrUse use = ir_value_use (value, i);
      g_autofree char *label = ir_node_label (use.node);

      make_activatable (add_row (group, "Read by", label), G_CALLBACK (on_node_row), use.node->id);
    }
}

static void
show_model (IrPropertiesView *self, const IrModel *model)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const char *path = ir_session_get_path (session);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : g_strdup ("New graph"),
                  *opsets = opsets_text (model);
  g_autofree char *nodes = ir_count_text (ir_model_n_counted_nodes (model)),
                  *version = g_strdup_printf ("%" G_GINT64_FORMAT, model->info->ir_version);
  gboolean partial = FALSE;
  IrCost cost = ir_cost_model (model, &partial);
  g_autofree char *params = ir_count_text (cost.params),
                  *flops = ir_flops_text (cost.flops, partial);
  GtkWidget *group;

  add_heading (self, name, path, model->info->extra.doc);
  add_problems (self, 0);
  group = add_group (self, "Graph");
  add_row (group, "Nodes", nodes);
  add_row (group, "Parameters", params);
  add_row (group, "Work of one run", flops);
  add_run (self);
  add_divergence (self);
  add_interface (self, "Inputs", model, ir_graph_n_inputs (model->main), ir_graph_input);
  add_interface (self, "Outputs", model, ir_graph_n_outputs (model->main), ir_graph_output);
  ir_editing_add_sizes (self, group_of, session, model);
  group = add_group (self, "File");
  add_row (group, "Operator sets", opsets);
  add_row (group, "IR version", version);
  if (model->info->producer_name != NULL && model->info->producer_name[0] != '\0')
    add_row (group, "Producer", model->info->producer_name);
}

/* -- changes -- */

/* -- a group: a scope, a node with branches, copies of a block, arithmetic on shapes -- */

static const IrSceneBox *
find_group (const IrFrame *frame, const char *fold)
{
  guint n = 0;
  const IrSceneBox *boxes = frame->scene != NULL ? ir_scene_boxes (frame->scene, &n) : NULL;

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && strcmp (boxes[i].fold, fold) == 0)
      return &boxes[i];
  return NULL;
}

static gboolean
is_in_group (const IrSceneBox *boxes, gint32 index, gint32 group)
{
  while (index >= 0 && index != group)
    index = boxes[index].parent;
  return index == group && group >= 0;
}

/* What comes in, or goes out. */
static void
add_passing (IrPropertiesView *self, const IrFrame *frame, gint32 group_index, gboolean out)
{
  guint n, n_boxes, n_shown = 0;
  const IrSceneLine *lines = ir_scene_lines (frame->scene, &n);
  const IrSceneBox *boxes = ir_scene_boxes (frame->scene, &n_boxes);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GtkWidget *group = NULL;

  for (guint i = 0; i < n; i++)
    {
      const gboolean from = is_in_group (boxes, lines[i].from, group_index);
      const gboolean to = is_in_group (boxes, lines[i].to, group_index);
      const IrValue *value = ir_frame_value (frame, ir_frame_line_value (frame, &lines[i]));
      g_autofree char *type = NULL;

      if (from != out || to == out || value == NULL || !g_hash_table_add (seen, (gpointer) value))
        continue;
      if (group == NULL)
        group = add_group (self, out ? "Outputs" : "Inputs");
      if (n_shown++ < MAX_PASSING)
        {
          type = ir_value_shown_type (value) != NULL
                     ? ir_type_to_string (value->graph->model->context, ir_value_shown_type (value))
                     : g_strdup ("type not known");
          add_row (group, value->name, type);
        }
    }
  if (n_shown > MAX_PASSING)
    {
      g_autofree char *more = g_strdup_printf ("and %u more", n_shown - MAX_PASSING);

      add_row (group, more, "");
    }
}

static void
show_group (IrPropertiesView *self, const IrFrame *frame, const IrSceneBox *box)
{
  guint n, n_texts, n_nodes = 0;
  const IrSceneBox *boxes = ir_scene_boxes (frame->scene, &n);
  const IrSceneText *texts = ir_scene_texts (frame->scene, &n_texts);
  const gint32 index = (gint32) (box - boxes);
  const gboolean open = box->kind == IR_SCENE_CLUSTER;
  const char *title = box->n_texts > 0 ? texts[box->first_text].text : "Group";
  guint64 flops = 0, bytes = 0;
  GtkWidget *group, *button;

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind != IR_SCENE_CLUSTER && is_in_group (boxes, (gint32) i, index))
      {
        n_nodes += boxes[i].n_nodes > 0 ? boxes[i].n_nodes : boxes[i].kind == IR_SCENE_NODE;
        flops += boxes[i].flops;
        bytes += boxes[i].bytes;
      }
  g_autofree char *count = ir_count_text (n_nodes), *work = ir_flops_text (flops, FALSE);
  g_autofree char *moved = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  const char *blank = strchr (title, ' ');
  add_heading (self, blank != NULL ? blank + 1 : title, open ? "Open group" : "Closed group", NULL);
  button = gtk_button_new_with_label (open ? "Close Group" : "Open Group");
  gtk_actionable_set_detailed_action_name (
      GTK_ACTIONABLE (button), open ? "win.view('close-group')" : "win.view('open-group')");
  gtk_widget_set_halign (button, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (self->box), button);
  group = add_group (self, "Contents");
  add_row (group, "Nodes", count);
  add_row (group, "Work", work);
  add_row (group, "Read and written", moved);
  add_passing (self, frame, index, FALSE);
  add_passing (self, frame, index, TRUE);
}

static void
rebuild (IrPropertiesView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  IrFrame *frame = ir_session_get_frame (session);
  IrNodeId id = ir_session_get_selected_node (session);
  const IrNode *node = NULL;
  const IrSceneBox *group = NULL;
  const IrValue *value;
  g_autofree char *typing = ir_editing_focus (self->box);
  GtkWidget *child, *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self)));
  const gboolean choosing = self->chooser != NULL && focus != NULL && self->shown == id &&
                            gtk_widget_is_ancestor (focus, self->chooser);

  self->chooser = NULL;
  while ((child = gtk_widget_get_first_child (self->box)) != NULL)
    gtk_box_remove (GTK_BOX (self->box), child);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack),
                                    frame != NULL ? "properties" : "closed");
  if (frame == NULL)
    return;
  if (id != 0)
    node = ir_frame_node (frame, id);
  else if (ir_session_get_selected_fold (session) != NULL)
    group = find_group (frame, ir_session_get_selected_fold (session));
  value = ir_model_live_value (frame->model, ir_session_get_selected_value (session));
  if (node != NULL)
    show_node (self, node);
  else if (id != 0)
    show_absent (self, id);
  else if (value != NULL)
    show_value (self, value);
  else if (group != NULL)
    show_group (self, frame, group);
  else
    show_model (self, frame->model);
  if (self->shown == id)
    ir_editing_restore_focus (self->box, typing);
  if (choosing && self->chooser != NULL)
    gtk_widget_grab_focus (self->chooser);
  if (self->shown != id)
    gtk_adjustment_set_value (
        gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller)), 0);
  self->shown = id;
}

static void
ir_properties_view_session_changed (IrView *view, IrSessionChanges changes)
{
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_SELECTION |
                 IR_CHANGED_PROBLEMS | IR_CHANGED_RUNS | IR_CHANGED_KERNELS | IR_CHANGED_NOTES))
    rebuild (IR_PROPERTIES_VIEW (view));
}

static void
ir_properties_view_class_init (IrPropertiesViewClass *klass)
{
  IR_VIEW_CLASS (klass)->session_changed = ir_properties_view_session_changed;
}

static void
ir_properties_view_init (IrPropertiesView *self)
{
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 18);
  gtk_widget_add_css_class (self->box, "properties");
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (self->scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->box);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("document-properties-symbolic", "No Graph",
                          "Properties of the graph and of its nodes are shown here.", NULL, NULL),
      "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), self->scroller, "properties");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_properties = {
  .id = "properties",
  .title = "Properties",
  .icon_name = "document-properties-symbolic",
  .doc = "Attributes, inputs, outputs and lineage of what is selected.",
  .help = "What is selected: a node, a value or a group. With nothing selected, the model. "
          "Arrows lead to values; “Comes from” to the nodes that were written.",
  .place = IR_VIEW_END,
  .get_type = ir_properties_view_get_type,
};
