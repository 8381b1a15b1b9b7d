/* Which nodes lie between a construct's primitives, and how they move into a graph of their own. */
#include "config.h"

#include "passes/rewrites/raise-private.h"
#include "passes/rule/step.h"

/* -- what is reached -- */

void
ir_raise_reach_init (IrRaiseReach *reach, IrRaise *raise)
{
  *reach = (IrRaiseReach){ .raise = raise };
  reach->set = g_hash_table_new (NULL, NULL);
  reach->nodes = g_ptr_array_new ();
}

void
ir_raise_reach_clear (IrRaiseReach *reach)
{
  g_clear_pointer (&reach->set, g_hash_table_unref);
  g_clear_pointer (&reach->nodes, g_ptr_array_unref);
  g_clear_pointer (&reach->why, g_free);
}

/* The first reason stays. */
void
ir_raise_reach_fail (IrRaiseReach *reach, const char *format, ...)
{
  va_list arguments;

  if (reach->why != NULL)
    return;
  va_start (arguments, format);
  reach->why = g_strdup_vprintf (format, arguments);
  va_end (arguments);
}

static void
reach_node (IrRaiseReach *reach, IrNode *node, const IrValue *value)
{
  if (!g_hash_table_contains (reach->set, node) && reach->takes (reach, node, value))
    {
      g_hash_table_add (reach->set, node);
      g_ptr_array_add (reach->nodes, node);
    }
}

/* (nullable) The node of @graph that reads it, itself or by a graph inside of it */
static IrNode *
reader_in (const IrGraph *graph, IrUse use)
{
  IrNode *node = use.node;

  while (use.graph != NULL && use.graph != graph && use.graph->owner != 0)
    {
      node = ir_model_node (graph->model, use.graph->owner);
      use.graph = node->graph;
    }
  return use.graph == graph ? node : NULL;
}

void
ir_raise_reach_from (IrRaiseReach *reach, IrValue *value)
{
  for (guint i = 0; i < value->n_uses && reach->why == NULL; i++)
    {
      IrNode *reader = reader_in (reach->raise->graph, ir_value_use (value, i));
      if (reader != NULL)
        reach_node (reach, reader, value);
      else if (!reach->outputs_too)
        ir_raise_reach_fail (reach, "%s is an output of the graph, and not always computed",
                             value->name);
    }
}

/* All that follows from the nodes that were reached so far */
void
ir_raise_reach_all (IrRaiseReach *reach)
{
  for (guint i = 0; i < reach->nodes->len && reach->why == NULL; i++)
    {
      IrNode *node = reach->nodes->pdata[i];
      const GPtrArray *waiting = g_hash_table_lookup (reach->raise->waiting, node);
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          ir_raise_reach_from (reach, node->outputs[k]);
      for (guint k = 0; waiting != NULL && k < waiting->len; k++)
        {
          IrNode *waiter = waiting->pdata[k];
          if (waiter->state == IR_STATE_LIVE && waiter->graph == reach->raise->graph)
            reach_node (reach, waiter, NULL);
        }
    }
}

/* -- new nodes -- */

/* @place: where it comes to stand among the others, and what it is made from */
IrNode *
ir_raise_add (IrRaise *raise,
              IrGraph *graph,
              const IrNode *place,
              const char *op,
              guint n_inputs,
              IrValue *const *inputs,
              guint n_outputs)
{
  IrNode *node = ir_edit_add_node (raise->edit, graph, op, NULL, NULL, n_inputs, inputs, n_outputs);

  ir_edit_set_rank (raise->edit, node, place->rank);
  ir_edit_step_map_node (raise->edit, place->id, node->id);
  return node;
}

/* What a graph gives is made in it. */
IrValue *
ir_raise_identity (IrRaise *raise, IrGraph *graph, const IrNode *place, IrValue *value)
{
  IrNode *node = ir_raise_add (raise, graph, place, "Identity", 1, &value, 1);

  if (value->type != NULL)
    ir_edit_set_type (raise->edit, node->outputs[0], value->type);
  return node->outputs[0];
}

/* -- what moves in -- */

/* An Identity that nothing reads: others wait for it, so that they are dead with it. */
static gboolean
is_pivot (const IrNode *node)
{
  return ir_node_is (node, "Identity") && node->outputs[0] != NULL && node->outputs[0]->n_uses == 0;
}

/* By what waits for it lowering says of a constant that it was around, although nothing else there reads it. */
static gboolean
was_around (const IrRaiseReach *reach, const IrNode *constant)
{
  const GPtrArray *waiting = g_hash_table_lookup (reach->raise->waiting, constant);

  for (guint i = 0; waiting != NULL && reach->primitives != NULL && i < waiting->len; i++)
    if (g_ptr_array_find ((GPtrArray *) reach->primitives, waiting->pdata[i], NULL))
      return TRUE;
  return FALSE;
}

static void
move_constant (IrRaise *raise, const IrRaiseReach *reach, const IrValue *value, IrGraph *to)
{
  IrNode *constant = value->producer;

  if (constant == NULL || constant->graph != raise->graph || !ir_node_is_free_constant (constant) ||
      was_around (reach, constant))
    return;
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrNode *reader = reader_in (raise->graph, ir_value_use (value, i));
      if (reader == NULL || !g_hash_table_contains (reach->set, reader))
        return;
    }
  ir_edit_move_node (raise->edit, constant, to);
}

/* Constants that nobody else reads come along. */
static void
move_constants (IrRaise *raise, const IrRaiseReach *reach, const IrNode *node, IrGraph *to)
{
  g_autoptr (GPtrArray) captures = ir_node_captures (node);

  ir_node_for_each_input (node, i, input)
    move_constant (raise, reach, input, to);
  for (guint i = 0; i < captures->len; i++)
    move_constant (raise, reach, captures->pdata[i], to);
}

/* In a graph of their own nodes need not wait for what says that it runs. */
static void
drop_pivots (IrRaise *raise, const IrRaiseReach *reach)
{
  for (guint i = 0; i < reach->nodes->len; i++)
    {
      IrNode *pivot = reach->nodes->pdata[i];
      const GPtrArray *waiting = g_hash_table_lookup (raise->waiting, pivot);
      if (!is_pivot (pivot) || waiting == NULL)
        continue;
      for (guint k = 0; k < waiting->len; k++)
        ir_edit_remove_control (raise->edit, waiting->pdata[k], pivot);
      ir_edit_remove_node (raise->edit, pivot);
    }
}

/* Moves what was reached into @to, a graph of a node of the graph. Nothing else may read of it. */
void
ir_raise_move_in (IrRaise *raise, const IrRaiseReach *reach, IrGraph *to)
{
  drop_pivots (raise, reach);
  for (guint i = 0; i < reach->nodes->len; i++)
    if (((IrNode *) reach->nodes->pdata[i])->state == IR_STATE_LIVE)
      move_constants (raise, reach, reach->nodes->pdata[i], to);
  for (guint i = 0; i < reach->nodes->len; i++)
    if (((IrNode *) reach->nodes->pdata[i])->state == IR_STATE_LIVE)
      ir_edit_move_node (raise->edit, reach->nodes->pdata[i], to);
  for (guint i = 0; i < reach->nodes->len; i++)
    ir_raise_take_controls (raise, reach->nodes->pdata[i],
                            ir_model_node (raise->graph->model, to->owner));
}

gboolean
ir_raise_is_waited_for (const IrRaise *raise, const IrNode *node)
{
  const GPtrArray *waiting = g_hash_table_lookup (raise->waiting, node);

  for (guint i = 0; waiting != NULL && i < waiting->len; i++)
    {
      const IrNode *waiter = waiting->pdata[i];
      const IrIdList *controls = waiter->controls;
      for (guint k = 0; waiter->state == IR_STATE_LIVE && controls != NULL && k < controls->n; k++)
        if (controls->ids[k] == node->id)
          return TRUE;
    }
  return FALSE;
}

/* What says that one of @nodes cannot go. (transfer full) */
char *
ir_raise_find_waited_for (const IrRaise *raise, const GPtrArray *nodes)
{
  for (guint i = 0; i < nodes->len; i++)
    if (ir_raise_is_waited_for (raise, nodes->pdata[i]))
      {
        g_autofree char *label = ir_node_label (nodes->pdata[i]);
        return g_strdup_printf ("another node waits for %s", label);
      }
  return NULL;
}

void
ir_raise_note_waiting (IrRaise *raise, IrNode *node, IrNode *before)
{
  GPtrArray *waiting = g_hash_table_lookup (raise->waiting, before);

  if (waiting == NULL)
    {
      waiting = g_ptr_array_new ();
      g_hash_table_insert (raise->waiting, before, waiting);
    }
  g_ptr_array_add (waiting, node);
}

void
ir_raise_let_wait (IrRaise *raise, IrNode *node, IrNode *before)
{
  ir_raise_note_waiting (raise, node, before);
  ir_edit_add_control (raise->edit, node, before);
}

/* What @from waits for in the graph @to waits for now. */
void
ir_raise_take_controls (IrRaise *raise, IrNode *from, IrNode *to)
{
  for (guint i = from->controls != NULL ? from->controls->n : 0; i-- > 0;)
    {
      IrNode *before = ir_model_node (raise->graph->model, from->controls->ids[i]);
      if (before->graph != raise->graph || before->state != IR_STATE_LIVE)
        continue;
      ir_edit_remove_control (raise->edit, from, before);
      if (!ir_node_is_free_constant (before))
        ir_raise_let_wait (raise, to, before);
    }
}

static gboolean
is_unread (const IrRaise *raise, const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && node->outputs[i]->n_uses > 0)
      return FALSE;
  return !ir_raise_is_waited_for (raise, node);
}

/* Removes those of @nodes that nothing reads, until all are read. */
void
ir_raise_remove_unread (IrRaise *raise, GPtrArray *nodes)
{
  guint n = 0;

  do
    {
      n = 0;
      for (guint i = nodes->len; i-- > 0;)
        {
          IrNode *node = nodes->pdata[i];
          if (node->state != IR_STATE_LIVE || !is_unread (raise, node))
            continue;
          ir_pass_remove_node (raise->context, node);
          n++;
        }
    }
  while (n > 0);
}

/* Ends the step of a construct that had @n_primitives; without any the model need not import them. */
void
ir_raise_end (IrRaise *raise, guint n_primitives)
{
  *raise->n_left -= n_primitives;
  if (*raise->n_left == 0)
    ir_edit_set_opset (raise->edit, "irscope.flow", 0);
  if (!raise->in_step)
    ir_pass_end (raise->context);
}
