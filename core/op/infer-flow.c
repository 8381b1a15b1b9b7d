/* Inference of the operators of irscope.flow and irscope.closure: they move values and compute none. */
#include "config.h"

#include "core/ir/inline.h"
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
  return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                       "the condition is %s, needed one bool; check what computes it", found);
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

/* What goes on in a loop is of the element type that it begins with. */
static gboolean
check_carried (IrCall *call, const IrType *first, GError **error)
{
  for (guint i = 0; i < call->n_inputs; i++)
    {
      const IrType *next = ir_call_input_type (call, i);
      if (!closes_loop (call, i) || !ir_type_is_tensor (first) || !ir_type_is_tensor (next) ||
          first->dtype == IR_DTYPE_UNDEFINED || next->dtype == IR_DTYPE_UNDEFINED ||
          first->dtype == next->dtype)
        continue;
      return ir_call_fail (
          call, error, IR_OP_ERROR_DTYPE,
          "the loop begins with %s and goes on with %s (%s); cast it in front of NextIteration",
          ir_dtype_name (first->dtype), ir_dtype_name (next->dtype),
          ir_node_input (call->node, i)->name);
    }
  return TRUE;
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
  return !looped || check_carried (call, type, error);
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

/* -- closures -- */

/**
 * ir_closure_join:
 * @call: what it is for
 * @a: type of a closure
 * @b: type of another
 *
 * Returns: (transfer none): what they have in common; of what they take and give, what holds for both
 */
const IrType *
ir_closure_join (const IrCall *call, const IrType *a, const IrType *b)
{
  g_autofree const IrType **members = g_new0 (const IrType *, a->n_members + 1u);

  if (a->members == NULL || b->members == NULL || a->n_params != b->n_params ||
      a->n_members != b->n_members)
    return ir_type_closure (call->context, NULL, 0, 0);
  for (guint i = 0; i < a->n_members; i++)
    if (!ir_type_join (call, a->members[i], b->members[i], &members[i], NULL))
      members[i] = NULL;
  return ir_type_closure (call->context, members, a->n_params, a->n_members);
}

/* What is given for an input of a function has to fit what the function declares. @found, @needed: (nullable);
 * @how: "captured value", "argument" */
static gboolean
check_given (const IrCall *call,
             const char *how,
             guint slot,
             const IrType *found,
             const IrType *needed,
             GError **error)
{
  const IrValue *value = ir_node_input (call->node, slot);

  if (found == NULL || needed == NULL || ir_type_merge (call->context, found, needed) != NULL)
    return TRUE;
  g_autofree char *is = ir_type_to_string (call->context, found);
  g_autofree char *wants = ir_type_to_string (call->context, needed);
  return ir_call_fail (
      call, error, IR_OP_ERROR_DTYPE,
      "the %s %s is %s, the function takes %s; cast or reshape it, or change what the function "
      "declares",
      how, value != NULL ? value->name : "", is, wants);
}

static gboolean
check_function (const IrCall *call, const IrGraph *function, GError **error)
{
  g_autofree char *key = ir_node_function_key (call->node);

  if (function == NULL)
    return ir_call_fail (
        call, error, IR_OP_ERROR_ATTRIBUTE,
        "the model has no function %s; its attributes function and domain have to name one", key);
  if (function->function != NULL && function->function->n_attr_names > 0)
    return ir_call_fail (
        call, error, IR_OP_ERROR_ATTRIBUTE,
        "the function %s needs the attribute %s, which a closure does not give; make it an input",
        key, function->function->attr_names[0]);
  if (call->n_inputs > ir_graph_n_inputs (function))
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY,
                         "%u values are captured, and the function %s takes %u", call->n_inputs,
                         key, ir_graph_n_inputs (function));
  return TRUE;
}

gboolean
ir_infer_partial (IrCall *call, GError **error)
{
  const IrGraph *function = ir_node_named_function (call->node);

  if (!check_function (call, function, error))
    return FALSE;
  const guint n_inputs = ir_graph_n_inputs (function), n_outputs = ir_graph_n_outputs (function);
  g_autofree const IrType **members = g_new0 (const IrType *, n_inputs + n_outputs + 1);
  for (guint i = 0; i < n_inputs + n_outputs; i++)
    {
      const IrValue *value = i < n_inputs ? ir_graph_input (function, i)
                                          : ir_graph_output (function, i - n_inputs);
      members[i] = value != NULL ? ir_function_declared_type (value) : NULL;
      if (i < call->n_inputs &&
          !check_given (call, "captured value", i, ir_call_input_type (call, i), members[i], error))
        return FALSE;
    }
  ir_call_set_output_type (call, 0,
                           ir_type_closure (call->context, members + call->n_inputs,
                                            n_inputs - call->n_inputs,
                                            n_inputs + n_outputs - call->n_inputs));
  return TRUE;
}

/* FALSE unless input @slot may be a closure. */
static gboolean
check_closure (const IrCall *call, guint slot, GError **error)
{
  const IrType *type = ir_call_input_type (call, slot);
  const IrValue *value = ir_node_input (call->node, slot);

  if (type == NULL || type->kind == IR_TYPE_CLOSURE)
    return TRUE;
  g_autofree char *found = ir_type_to_string (call->context, type);
  return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                       "%s is %s, needed a closure; Partial makes one",
                       value != NULL ? value->name : "an input", found);
}

/* One of the inputs from @first on */
static gboolean
infer_choice (IrCall *call, guint first, GError **error)
{
  const IrType *type = NULL;

  for (guint i = first; i < call->n_inputs; i++)
    {
      if (!check_closure (call, i, error))
        return FALSE;
      const IrType *next = ir_call_input_type (call, i);
      if (i == first)
        type = next;
      else if (!ir_type_join (call, type, next, &type, error))
        return FALSE;
    }
  ir_call_set_output_type (call, 0,
                           type != NULL ? type : ir_type_closure (call->context, NULL, 0, 0));
  return TRUE;
}

gboolean
ir_infer_closure_switch (IrCall *call, GError **error)
{
  return check_predicate (call, 0, error) && infer_choice (call, 1, error);
}

gboolean
ir_infer_switch_layer (IrCall *call, GError **error)
{
  return ir_call_check_integers (call, 0, 1, error) && infer_choice (call, 1, error);
}

gboolean
ir_infer_closure_call (IrCall *call, GError **error)
{
  const IrType *type = ir_call_input_type (call, 0);

  if (!check_closure (call, 0, error))
    return FALSE;
  if (type == NULL || type->members == NULL)
    return TRUE;
  if (call->n_inputs - 1 != type->n_params)
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY,
                         "the closure takes %u arguments, %u are given", type->n_params,
                         call->n_inputs - 1);
  if (call->n_outputs > (guint) (type->n_members - type->n_params))
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "the closure gives %u values, %u are read",
                         type->n_members - type->n_params, call->n_outputs);
  for (guint i = 1; i < call->n_inputs; i++)
    if (!check_given (call, "argument", i, ir_call_input_type (call, i), type->members[i - 1],
                      error))
      return FALSE;
  for (guint i = 0; i < call->n_outputs; i++)
    ir_call_set_output_type (call, i, type->members[type->n_params + i]);
  return TRUE;
}

gboolean
ir_infer_closure_bodies (IrCall *call, GError **error)
{
  return TRUE;
}
