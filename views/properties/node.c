/* What the properties show of a node. Rows are made from the op table: attributes that the node leaves out are
 * shown with their defaults. */
#include "config.h"

#include "views/properties/sections.h"

#include "core/ir/inline.h"
#include "core/op/infer.h"
#include "core/op/op.h"
#include "core/ir/count.h"
#include "views/entry-row.h"
#include "views/label.h"
#include "views/properties/editing.h"
#include "views/session/frame.h"
#include "views/session/runs.h"
#include "views/session/saved.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#define MAX_ELEMENTS 16 /* of an attribute's value */

/* A constant that is written in the node's box is nowhere else to be changed: where it is selected, here. */
static void
add_value (
    IrPropertyPage *page, GtkWidget *group, const char *slot, const IrValue *value, gboolean live)
{
  g_autofree char *type = NULL, *subtitle = NULL;
  const char *origin;
  GtkWidget *row;

  if (value == NULL)
    {
      ir_property_row (group, slot, "left out");
      return;
    }
  type = ir_property_type_text (value);
  origin = ir_property_origin (value);
  subtitle = g_strdup_printf ("%s\n%s%s%s", value->name, type, origin != NULL ? ", " : "",
                              origin != NULL ? origin : "");
  row = ir_property_row (group, slot, subtitle);
  ir_property_leads_to_value (row, value->id);
  if (live && value->id == ir_session_get_selected_value (page->session) &&
      ir_value_constant (value) != NULL)
    ir_editing_add_constant (page, group, value);
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
    IrPropertyPage *page, GtkWidget *group, const IrNode *node, const char *slot, guint index)
{
  g_autofree char *word = g_strdup_printf ("#%u", node->id), *at = g_strdup_printf ("%u", index);
  g_autofree char *title = g_strdup_printf ("%s (open)", slot);

  GtkWidget *row = ir_editing_row (page->session, title, "",
                                   (const char *const[]){ "connect", word, at, NULL }, 1, NULL);

  gtk_entry_set_placeholder_text (ir_entry_row_entry (row), "Name of a value");
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
}

static void
add_slots (IrPropertyPage *page,
           const char *title,
           const IrNode *node,
           guint n,
           IrValue *const *values,
           char *(*name) (const IrOp *op, guint slot))
{
  const gboolean live = ir_property_page_is_live (page, node);
  GtkWidget *group;

  if (n == 0)
    return;
  group = ir_property_group (page, title);
  for (guint i = 0; i < MIN (n, IR_PROPERTY_MAX_ROWS); i++)
    {
      g_autofree char *slot = node->op != NULL ? name (node->op, i)
                                               : slot_of_call (node, values == node->inputs, i);

      if (values[i] == NULL && values == node->inputs && live)
        add_open_input (page, group, node, slot, i);
      else
        add_value (page, group, slot, values[i], live);
    }
  ir_property_more (group, n);
}

static void
add_body (IrPropertyPage *page, const IrNode *call)
{
  g_autoptr (GPtrArray) values = ir_session_get_body_values (page->session, call);
  GtkWidget *group;

  if (values == NULL && ir_node_function (call) == NULL)
    return;
  if (values != NULL && values->len == 0)
    return;
  group = ir_property_group (page, "In its body");
  if (values == NULL)
    {
      GtkWidget *row = ir_property_row (group, "Values",
                                        "Run the graph to see what the body computes");
      adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 0);
      return;
    }
  for (guint i = 0; i < MIN (values->len, IR_PROPERTY_MAX_ROWS); i++)
    {
      const IrValue *value = values->pdata[i];
      g_autofree char *type = ir_property_type_text (value);

      ir_property_leads_to_value (ir_property_row (group, value->name, type), value->id);
    }
  ir_property_more (group, values->len);
}

/* A row to type in, where the value can be typed. */
static void
add_attr_row (IrPropertyPage *page,
              GtkWidget *group,
              const IrNode *node,
              const char *name,
              const char *text,
              const char *title,
              const char *tip)
{
  g_autofree char *word = g_strdup_printf ("#%u", node->id),
                  *prefix = g_strconcat (name, "=", NULL);
  GtkWidget *row = ir_editing_row (page->session, title, text,
                                   (const char *const[]){ "set", word, NULL }, 2, prefix);

  ir_set_tip (row, tip);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
}

static void
add_attr (IrPropertyPage *page, GtkWidget *group, const IrNode *node, const IrAttr *attr)
{
  const IrAttrSpec *spec = node->op != NULL ? ir_op_attr (node->op, attr->name) : NULL;
  g_autofree char *typed = ir_property_page_is_live (page, node) ? ir_editing_attr_text (attr)
                                                                 : NULL;
  g_autofree char *value = ir_attr_to_string (node->graph->model->context, attr, MAX_ELEMENTS);
  GtkWidget *row;

  if (typed != NULL)
    {
      add_attr_row (page, group, node, attr->name, typed, attr->name,
                    spec != NULL ? spec->doc : NULL);
      return;
    }
  row = ir_property_row (group, attr->name, value);
  if (spec != NULL)
    ir_set_tip (row, spec->doc);
}

static void
add_default (IrPropertyPage *page, GtkWidget *group, const IrNode *node, const IrAttrSpec *spec)
{
  GtkWidget *row;

  if (ir_property_page_is_live (page, node))
    {
      g_autofree char *title = g_strdup_printf ("%s (default)", spec->name);

      add_attr_row (page, group, node, spec->name, spec->fallback, title, spec->doc);
      return;
    }
  row = ir_property_row (group, spec->name, spec->fallback);
  ir_set_tip (row, spec->doc);
  ir_property_suffix (row, "default", "dim-label");
}

static void
add_attrs (IrPropertyPage *page, const IrNode *node)
{
  const IrAttrSpec *spec = node->op != NULL ? node->op->attrs : NULL;
  GtkWidget *group = NULL;

  for (guint i = 0; i < node->n_attrs; i++)
    {
      group = group != NULL ? group : ir_property_group (page, "Attributes");
      add_attr (page, group, node, node->attrs[i]);
    }
  for (; spec != NULL && spec->name != NULL; spec++)
    if (spec->fallback != NULL && ir_node_attr (node, spec->name) == NULL)
      {
        group = group != NULL ? group : ir_property_group (page, "Attributes");
        add_default (page, group, node, spec);
      }
}

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
add_cost (IrPropertyPage *page, const IrNode *node)
{
  gboolean partial = FALSE;
  guint64 flops = ir_cost_node_flops (node, &partial), bytes = ir_cost_node_bytes (node, &partial);
  g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS),
                  *amount = ir_flops_text (flops, partial),
                  *work = g_strdup_printf ("%s, %s moved", amount, size);
  GtkWidget *group = ir_property_group (page, "Place and cost");

  ir_property_row (group, "Cost", work);
  if (node->scope[0] != '\0')
    ir_property_row (group, "Scope", node->scope);
  if (node->device[0] != '\0')
    ir_property_row (group, "Device", node->device);
}

static void
add_name (IrPropertyPage *page, const IrNode *node)
{
  g_autofree char *word = g_strdup_printf ("#%u", node->id);
  GtkWidget *group = ir_property_group (page, "Node");

  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group),
                             ir_editing_row (page->session, "Name", node->name,
                                             (const char *const[]){ "rename", word, NULL }, 2,
                                             NULL));
}

/* What somebody has pinned to the node. */
static void
add_note (IrPropertyPage *page, const IrNode *node)
{
  const char *text = ir_session_get_node_note (page->session, node);
  if (text != NULL)
    ir_property_row (ir_property_group (page, "Note"), text, "");
}

void
ir_properties_show_node (IrPropertyPage *page, const IrNode *node)
{
  g_autofree char *title = node->domain[0] != '\0'
                               ? g_strdup_printf ("%s · %s", node->op_type, node->domain)
                               : g_strdup (node->op_type);
  g_autofree char *subtitle = node->name[0] != '\0'
                                  ? g_strdup_printf ("%s  #%u", node->name, node->id)
                                  : g_strdup_printf ("#%u", node->id);

  ir_property_heading (page, title, subtitle, doc_of (node));
  ir_properties_add_problems (page, node->id);
  add_note (page, node);
  if (ir_property_page_is_live (page, node))
    add_name (page, node);
  add_attrs (page, node);
  if (!is_call (node) && ir_property_page_is_live (page, node))
    ir_properties_add_kernel (page, node);
  add_slots (page, "Inputs", node, node->n_inputs, node->inputs, ir_op_input_name);
  add_slots (page, "Outputs", node, node->n_outputs, node->outputs, ir_op_output_name);
  add_body (page, node);
  add_cost (page, node);
  ir_properties_add_lineage (page, node->id);
}

void
ir_properties_show_absent (IrPropertyPage *page, IrNodeId id)
{
  IrModel *history = ir_session_get_history (page->session);
  const IrNode *node = history != NULL ? ir_model_node (history, id) : NULL;

  if (node == NULL)
    return;
  ir_property_heading (page, node->op_type, node->name,
                       "This node does not exist at the steps that are shown.");
  ir_properties_add_lineage (page, id);
}
