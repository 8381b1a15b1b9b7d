/* What is wrong with the model, or with a node. */
#include "config.h"

#include "views/properties/sections.h"

#include "views/session/execution.h"

void
ir_properties_add_problems (IrPropertyPage *page, IrNodeId node)
{
  GPtrArray *problems = ir_session_get_problems (page->session);
  GtkWidget *group = NULL;

  for (guint i = 0; problems != NULL && i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      GtkWidget *row;

      if (node != 0 && problem->node != node)
        continue;
      group = group != NULL ? group : ir_property_group (page, "Problems");
      row = ir_property_row (group, problem->message, problem->hint != NULL ? problem->hint : "");
      adw_action_row_set_title_lines (ADW_ACTION_ROW (row), 0);
      adw_action_row_add_prefix (
          ADW_ACTION_ROW (row), gtk_image_new_from_icon_name (problem->severity == IR_SEVERITY_ERROR
                                                                  ? "dialog-error-symbolic"
                                                                  : "dialog-warning-symbolic"));
      if (node == 0 && problem->node != 0)
        ir_property_leads_to_node (row, problem->node);
    }
}
