/* Closures: values that name a function and hold the first of its inputs. What calls them is
 * core/exec/flow/call.c. */
#include "config.h"

#include "core/exec/ref/ref.h"
#include "core/ir/inline.h"

gboolean
ir_ref_partial (IrCall *call, GError **error)
{
  g_autofree char *key = ir_node_function_key (call->node);
  g_autoptr (GPtrArray) items = g_ptr_array_new ();
  const IrValue *output = ir_node_output (call->node, 0);
  const IrType *type = output != NULL ? output->type : NULL;
  g_autofree char *text = type != NULL ? ir_type_to_string (call->context, type) : NULL;

  for (guint i = 0; i < call->n_inputs; i++)
    {
      if (ir_call_input (call, i) == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "input %u has no contents", i);
      g_ptr_array_add (items, (gpointer) ir_call_input (call, i));
    }
  IrTensor *closure = ir_tensor_new_closure (key, text != NULL ? text : "closure(?)",
                                             (IrTensor *const *) items->pdata, items->len);
  if (closure == NULL)
    return ir_call_fail (
        call, error, IR_OP_ERROR_LIMIT,
        "closures hold each other more than 1,000 deep here; carry values instead");
  ir_call_take_output (call, 0, closure);
  return TRUE;
}

/* FALSE, with what @tensor is in place of @needed */
static gboolean
refuse (const IrCall *call,
        const IrTensor *tensor,
        const char *what,
        const char *needed,
        GError **error)
{
  g_autofree char *found = tensor != NULL
                               ? ir_type_to_string (call->context,
                                                    ir_tensor_type (tensor, call->context))
                               : g_strdup ("nothing");

  return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                       "the %s is %s, needed %s; check what computes it", what, found, needed);
}

/* Gives input @slot. */
static gboolean
choose (IrCall *call, guint slot, GError **error)
{
  const IrTensor *chosen = ir_call_input (call, slot);

  if (chosen == NULL || ir_tensor_closure_function (chosen) == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                         "input %u is no closure; Partial makes one", slot);
  ir_call_take_output (call, 0, ir_tensor_ref ((IrTensor *) chosen));
  return TRUE;
}

gboolean
ir_ref_closure_switch (IrCall *call, GError **error)
{
  const IrTensor *cond = ir_call_input (call, 0);

  if (cond == NULL || ir_tensor_is_container (cond) || ir_tensor_dtype (cond) != IR_DTYPE_BOOL ||
      ir_tensor_n_elements (cond) != 1)
    return refuse (call, cond, "condition", "one bool", error);
  return choose (call, ir_tensor_get_int64 (cond, 0) != 0 ? 1 : 2, error);
}

gboolean
ir_ref_switch_layer (IrCall *call, GError **error)
{
  const IrTensor *index = ir_call_input (call, 0);
  const gint64 n = (gint64) call->n_inputs - 1;

  if (index == NULL || ir_tensor_is_container (index) ||
      !ir_dtype_is_integer (ir_tensor_dtype (index)) || ir_tensor_n_elements (index) != 1)
    return refuse (call, index, "index", "one integer", error);
  const gint64 at = ir_tensor_get_int64 (index, 0);
  if (at < -n || at >= n)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "the index is %" G_GINT64_FORMAT ", needed from %" G_GINT64_FORMAT
                         " to %" G_GINT64_FORMAT " for its branches",
                         at, -n, n - 1);
  return choose (call, (guint) (at < 0 ? at + n : at) + 1, error);
}
