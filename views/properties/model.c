/* What the properties show of the model, while nothing is selected. */
#include "config.h"

#include "views/properties/sections.h"

#include "core/op/infer.h"
#include "core/op/trips.h"
#include "core/ir/count.h"
#include "views/label.h"
#include "views/properties/editing.h"
#include "views/session/data-set.h"
#include "views/session/file.h"
#include "views/session/records.h"
#include "views/session/runs.h"
#include "views/session/timeline.h"

static void
add_interface (IrPropertyPage *page,
               const char *title,
               const IrModel *model,
               guint n,
               IrValue *(*get) (const IrGraph *graph, guint index))
{
  GtkWidget *group = NULL;

  for (guint i = 0; i < MIN (n, IR_PROPERTY_MAX_ROWS); i++)
    {
      const IrValue *value = get (model->main, i);
      g_autofree char *type = NULL;

      if (value == NULL || ir_value_constant (value) != NULL)
        continue;
      group = group != NULL ? group : ir_property_group (page, title);
      type = ir_property_type_text (value);
      ir_property_leads_to_value (ir_property_row (group, value->name, type), value->id);
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

static char *
differing_text (const IrModel *history, IrValueId value, const IrDifference *difference)
{
  g_autofree char *text = ir_difference_text (difference);

  return g_strdup_printf ("%s\n%s", ir_model_value (history, value)->name, text);
}

/* What the last run says of the whole graph. */
static void
add_divergence (IrPropertyPage *page)
{
  IrSession *session = page->session;
  const IrDivergence *found = ir_session_get_divergence (session);
  const IrModel *history = ir_session_get_history (session);
  GtkWidget *group;
  g_autofree char *compared = NULL, *first = NULL, *worst = NULL;

  if (found == NULL)
    return;
  group = ir_property_group (page, "Against the original");
  compared = g_strdup_printf ("%u, at step %u", found->n_compared,
                              ir_session_get_run_step (session));
  ir_property_row (group, "Tensors compared", compared);
  if (found->first != 0)
    {
      first = differing_text (history, found->first, &found->first_difference);
      ir_property_leads_to_value (ir_property_row (group, "First to diverge", first), found->first);
    }
  else
    ir_property_row (group, "First to diverge", "none: all agree up to rounding");
  if (found->worst == 0)
    return;
  worst = differing_text (history, found->worst, &found->worst_difference);
  ir_property_leads_to_value (ir_property_row (group, "Largest difference", worst), found->worst);
}

/* How the last run was made and what it took. */
static void
add_run (IrPropertyPage *page)
{
  IrSession *session = page->session;
  const IrRunChange *change = ir_session_get_run_change (session);
  const IrModel *history = ir_session_get_history (session);
  g_autofree char *text = ir_session_run_text (session), *values = NULL, *times = NULL;
  g_autofree char *before = NULL, *after = NULL, *percent = NULL, *compared = NULL;
  GtkWidget *group, *row;
  gboolean differs;

  if (text == NULL)
    return;
  compared = ir_session_data_set_text (session, &differs);
  group = ir_property_group (page, "Last run");
  row = ir_property_row (group, "How it ran", text);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 6);
  if (compared != NULL)
    adw_action_row_set_subtitle_lines (
        ADW_ACTION_ROW (ir_property_row (group, "Its data set", compared)), 4);
  if (change == NULL)
    return;
  before = ir_ms_text (change->before.median);
  after = ir_ms_text (change->after.median);
  values = ir_run_change_text (change, history);
  percent = ir_percent_text (change->before.median, change->after.median);
  times = g_strdup_printf ("%s at step %u → %s at step %u (%s)\n%s", before, change->from_step,
                           after, change->step, percent, values);
  row = ir_property_row (group, "Since the run before", times);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 5);
  if (change->worst != 0)
    ir_property_leads_to_value (row, change->worst);
}

void
ir_properties_show_model (IrPropertyPage *page, const IrModel *model)
{
  IrSession *session = page->session;
  const char *path = ir_session_get_path (session);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : g_strdup ("New graph"),
                  *title = ir_breakable_name (name),
                  *place = path != NULL ? ir_breakable_name (path) : NULL,
                  *opsets = opsets_text (model);
  g_autofree char *nodes = ir_count_text (ir_model_n_counted_nodes (model)),
                  *version = g_strdup_printf ("%" G_GINT64_FORMAT, model->info->ir_version);
  gboolean partial = FALSE;
  IrCost cost = ir_cost_run (model, &partial);
  g_autofree char *params = ir_count_text (cost.params),
                  *flops = ir_flops_text (cost.flops, partial);
  GtkWidget *group;

  ir_property_heading (page, title, place, model->info->extra.doc);
  ir_properties_add_problems (page, 0);
  group = ir_property_group (page, "Graph");
  ir_property_row (group, "Nodes", nodes);
  ir_property_row (group, "Parameters", params);
  ir_property_row (group, "Work of one run", flops);
  add_run (page);
  add_divergence (page);
  add_interface (page, "Inputs", model, ir_graph_n_inputs (model->main), ir_graph_input);
  add_interface (page, "Outputs", model, ir_graph_n_outputs (model->main), ir_graph_output);
  ir_editing_add_sizes (page, model);
  group = ir_property_group (page, "File");
  ir_property_row (group, "Operator sets", opsets);
  ir_property_row (group, "IR version", version);
  if (model->info->producer_name != NULL && model->info->producer_name[0] != '\0')
    ir_property_row (group, "Producer", model->info->producer_name);
}
