/* Inference of the operators of irscope.flow: they move values and compute none. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

gboolean
ir_infer_nothing (IrCall *call, GError **error)
{
  return TRUE;
}

/* Exit, NextIteration. */
gboolean
ir_infer_forwarded (IrCall *call, GError **error)
{
  ir_call_set_output_type (call, 0, ir_call_input_type (call, 0));
  return TRUE;
}

/* An input that decides: one bool. */
static gboolean
check_predicate (const IrCall *call, guint slot, GError **error)
{
  const IrType *type = ir_call_input_type (call, slot);
  g_autofree char *found = NULL;

  if (type == NULL || (ir_type_is_tensor (type) &&
                       (type->dtype == IR_DTYPE_BOOL || type->dtype == IR_DTYPE_UNDEFINED) &&
                       (!ir_type_is_static (type) || ir_type_count (type) == 1)))
    return TRUE;
  found = ir_type_to_string (call->context, type);
  return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "the condition is %s, needed one bool",
                       found);
}

gboolean
ir_infer_switch (IrCall *call, GError **error)
{
  for (guint i = 0; i < call->n_outputs; i++)
    ir_call_set_output_type (call, i, ir_call_input_type (call, 0));
  return check_predicate (call, 1, error);
}

gboolean
ir_infer_loop_cond (IrCall *call, GError **error)
{
  ir_call_set_output_type (call, 0, ir_call_input_type (call, 0));
  return check_predicate (call, 0, error);
}

/* Refuses an empty name: nothing would say which frame it is. */
gboolean
ir_infer_enter (IrCall *call, GError **error)
{
  ir_call_set_output_type (call, 0, ir_call_input_type (call, 0));
  if (*ir_call_string (call, "frame_name", "") == '\0')
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "frame_name is empty, needed a name");
  gint64 parallel = ir_call_int (call, "parallel_iterations", 10);
  if (parallel < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "parallel_iterations is %" G_GINT64_FORMAT ", needed at least 1",
                         parallel);
  return TRUE;
}

static gboolean
closes_loop (const IrCall *call, guint slot)
{
  const IrValue *value = ir_node_input (call->node, slot);

  return value != NULL && value->producer != NULL && ir_edge_is_back (value->producer, call->node);
}

/* What holds for all inputs. One that closes a loop is as it was in the iteration before, with another
 * shape maybe; its element type is that of the others. */
gboolean
ir_infer_merge (IrCall *call, GError **error)
{
  const IrType *type = NULL;
  gboolean looped = FALSE, some = FALSE;

  for (guint i = 0; i < call->n_inputs; i++)
    {
      const IrType *next = ir_call_input_type (call, i);
      if (closes_loop (call, i))
        looped = TRUE;
      else if (!some)
        type = next;
      else if (!ir_type_join (call, type, next, &type, error))
        return FALSE;
      some = some || !closes_loop (call, i);
    }
  ir_call_set_output_type (call, 0, looped ? ir_type_without_shape (call->context, type) : type);
  if (call->n_outputs > 1)
    ir_call_set_output_tensor_type (call, 1, IR_DTYPE_INT32, 0, NULL);
  return TRUE;
}

gboolean
ir_infer_token_graph (IrCall *call, GError **error)
{
  const IrGraph *body = ir_node_attr_graph (call->node, "body");

  for (guint i = 0; body != NULL && i < MIN (call->n_outputs, ir_graph_n_outputs (body)); i++)
    if (ir_graph_output (body, i) != NULL)
      ir_call_set_output_type (call, i, ir_call_value_type (call, ir_graph_output (body, i)));
  return TRUE;
}
