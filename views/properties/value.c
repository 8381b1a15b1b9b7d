/* What the properties show of a value. */
#include "config.h"

#include "views/properties/sections.h"

#include "core/op/op.h"
#include "views/properties/editing.h"

char *
ir_property_type_text (const IrValue *value)
{
  const IrType *type = ir_value_shown_type (value);

  return type != NULL ? ir_type_to_string (value->graph->model->context, type)
                      : g_strdup ("type not known");
}

const char *
ir_property_origin (const IrValue *value)
{
  if (value->initializer != NULL)
    return ir_value_constant (value) != NULL ? "constant" : "default";
  if (value->producer != NULL)
    return ir_op_is (value->producer, IR_OP_CONSTANT) ? "constant" : NULL;
  return ir_value_is_graph_input (value) ? "input" : "undefined";
}

void
ir_properties_show_value (IrPropertyPage *page, const IrValue *value)
{
  const char *origin = ir_property_origin (value);
  GtkWidget *group;

  ir_property_heading (page, value->name, origin, NULL);
  ir_editing_add_value (page, value);
  group = value->producer != NULL || value->n_uses > 0 ? ir_property_group (page, "Nodes") : NULL;
  if (value->producer != NULL)
    {
      g_autofree char *label = ir_node_label (value->producer);

      ir_property_leads_to_node (ir_property_row (group, "Computed by", label),
                                 value->producer->id);
    }
  for (guint i = 0; i < MIN (ir_value_n_node_uses (value), IR_PROPERTY_MAX_ROWS); i++)
    {
      const IrUse use = ir_value_use (value, i);
      g_autofree char *label = ir_node_label (use.node);

      ir_property_leads_to_node (ir_property_row (group, "Read by", label), use.node->id);
    }
}
