/* Where a node comes from, what became of it, and which steps touched it. */
#include "config.h"

#include "views/properties/sections.h"

#include "views/session/timeline.h"

static void
add_nodes (IrPropertyPage *page, const char *title, GArray *ids)
{
  IrModel *history = ir_session_get_history (page->session);
  GtkWidget *group;

  if (ids == NULL || ids->len == 0 || history == NULL)
    return;
  group = ir_property_group (page, title);
  for (guint i = 0; i < MIN (ids->len, IR_PROPERTY_MAX_ROWS); i++)
    {
      IrNodeId id = g_array_index (ids, IrNodeId, i);
      const IrNode *node = ir_model_node (history, id);
      g_autofree char *name = node->name[0] != '\0' ? g_strdup (node->name)
                                                    : g_strdup_printf ("#%u", id);
      GtkWidget *row = ir_property_row (group, node->op_type, name);

      ir_property_leads_to_node (row, id);
    }
  ir_property_more (group, ids->len);
}

static void
add_steps (IrPropertyPage *page, GArray *steps)
{
  IrModel *history = ir_session_get_history (page->session);
  GtkWidget *group;

  if (steps == NULL || steps->len == 0 || history == NULL)
    return;
  group = ir_property_group (page, "Steps that touched it");
  for (guint i = 0; i < MIN (steps->len, IR_PROPERTY_MAX_ROWS); i++)
    {
      guint step = g_array_index (steps, guint, i);
      g_autofree char *title = g_strdup_printf ("%u  %s", step,
                                                ir_history_step (history, step)->rule);
      GtkWidget *row = ir_property_row (group, title, ir_history_pass_of (history, step));

      ir_property_leads_to_step (row, step);
    }
  ir_property_more (group, steps->len);
}

/* A node that was never touched comes from itself: that need not be said. */
static gboolean
is_only (const GArray *ids, IrNodeId id)
{
  return ids != NULL && ids->len == 1 && g_array_index (ids, IrNodeId, 0) == id;
}

void
ir_properties_add_lineage (IrPropertyPage *page, IrNodeId id)
{
  IrSession *session = page->session;
  g_autoptr (GArray) origins = NULL;
  g_autoptr (GArray) descendants = NULL;
  g_autoptr (GArray) steps = NULL;

  if (ir_session_get_n_steps (session) == 0)
    return;
  origins = ir_session_origins (session, id);
  descendants = ir_session_descendants (session, id, ir_session_get_n_steps (session));
  steps = ir_session_steps_of (session, id);
  if (!is_only (origins, id))
    add_nodes (page, "Comes from", origins);
  if (!is_only (descendants, id))
    add_nodes (page, "Ends up in", descendants);
  add_steps (page, steps);
}
