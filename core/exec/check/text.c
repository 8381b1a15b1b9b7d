/* What an execution check says, in words. */
#include "config.h"

#include "core/exec/check/check-private.h"

static const char *const names[IR_N_CHECKED] = {
  [IR_CHECKED_RIGHT] = "right",
  [IR_CHECKED_BEYOND] = "beyond",
  [IR_CHECKED_OVERWRITTEN] = "overwritten",
  [IR_CHECKED_NOT] = "not judged",
};

/**
 * ir_checked_name:
 * @verdict: a verdict
 *
 * Returns: (transfer none): its name
 */
const char *
ir_checked_name (IrChecked verdict)
{
  return names[verdict];
}

/**
 * ir_checked_is_fault:
 * @verdict: a verdict
 *
 * Returns: whether something is wrong there
 */
gboolean
ir_checked_is_fault (IrChecked verdict)
{
  return verdict == IR_CHECKED_BEYOND || verdict == IR_CHECKED_OVERWRITTEN;
}

/**
 * ir_execution_check_first:
 * @check: a check
 *
 * Returns: (transfer none) (nullable): the first node that is wrong, in the order of execution
 */
const IrNodeCheck *
ir_execution_check_first (const IrExecutionCheck *check)
{
  return check->first > 0 ? &g_array_index (check->nodes, IrNodeCheck, check->first - 1) : NULL;
}

/**
 * ir_execution_check_find:
 * @check: a check
 * @node: a node of its model
 *
 * Returns: (transfer none) (nullable): what was found there; %NULL: it was not run by itself
 */
const IrNodeCheck *
ir_execution_check_find (const IrExecutionCheck *check, IrNodeId node)
{
  for (guint i = 0; i < check->nodes->len; i++)
    {
      const IrNodeCheck *item = &g_array_index (check->nodes, IrNodeCheck, i);
      if (item->node == node)
        return item;
    }
  return NULL;
}

/**
 * ir_execution_check_summary:
 * @check: a check
 *
 * Returns: (transfer full): how many nodes got which verdict
 */
char *
ir_execution_check_summary (const IrExecutionCheck *check)
{
  return g_strdup_printf ("%u right, %u beyond tolerance, %u overwritten, %u not judged",
                          check->n[IR_CHECKED_RIGHT], check->n[IR_CHECKED_BEYOND],
                          check->n[IR_CHECKED_OVERWRITTEN], check->n[IR_CHECKED_NOT]);
}

/* Where @value is put, in words. (transfer full) */
char *
ir_check_place (const IrMemPlan *plan, IrValueId value)
{
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (item->value == value && item->offset != IR_PLACE_EXTERNAL)
        return g_strdup_printf ("bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " of the arena",
                                item->offset, item->offset + item->size);
    }
  return g_strdup ("memory of its own");
}

/* How far the output is off, in words. (transfer full) */
char *
ir_check_difference (const IrModel *model, const IrNodeCheck *item)
{
  const IrValue *value = ir_model_value (model, item->value);

  if (item->found.non_finite_differs)
    return g_strdup_printf ("%s is not what %s gives, at element %" G_GUINT64_FORMAT, value->name,
                            item->judge, item->found.at);
  return g_strdup_printf (
      "%s is off from what %s gives by %.3g, at element %" G_GUINT64_FORMAT "; the bound is %.3g",
      value->name, item->judge, item->found.max_abs, item->found.at, item->bound);
}

/**
 * ir_contradiction_to_string:
 * @row: what lies at a node against what its kernel declares
 *
 * Returns: (transfer full): which input or output of the node, what was found there, and what is
 *   declared
 */
char *
ir_contradiction_to_string (const IrContradiction *row)
{
  return g_strdup_printf ("%s %u (%s): found %s, declared is %s",
                          row->is_output ? "output" : "input", row->slot, row->value, row->found,
                          row->declared);
}

/**
 * ir_node_check_to_string:
 * @check: a check
 * @item: one of its nodes
 *
 * Returns: (transfer full): what was found there: the node, its kernel, layout and place, and what
 *   is wrong or why it was not judged
 */
char *
ir_node_check_to_string (const IrExecutionCheck *check, const IrNodeCheck *item)
{
  g_autofree char *label = ir_node_label (ir_model_node (check->model, item->node));
  GString *text = g_string_new (label);

  g_string_append_printf (text, ", %s", item->kernel);
  if (item->layout != NULL)
    g_string_append_printf (text, ", %s", item->layout);
  if (item->place != NULL && item->value != 0)
    g_string_append_printf (text, ", %s in %s", ir_model_value (check->model, item->value)->name,
                            item->place);
  g_string_append (text, ": ");
  g_autofree char *difference = item->verdict == IR_CHECKED_BEYOND && item->reason == NULL
                                    ? ir_check_difference (check->model, item)
                                    : NULL;
  g_string_append (text, difference != NULL     ? difference
                         : item->reason != NULL ? item->reason
                                                : ir_checked_name (item->verdict));
  return g_string_free (text, FALSE);
}
