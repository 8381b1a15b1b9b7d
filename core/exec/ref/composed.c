/* Operators that are made of others: their inner calls run by the reference kernels, one after the
 * other. */
#include "config.h"

#include "core/exec/ref/ref.h"
#include "core/op/compose.h"

#include <string.h>

static gboolean
run_inner (IrCompose *c, IrCall *inner, IrPart *const *inputs, IrPart **outputs, GError **error)
{
  if (!ir_ref_run (inner, error))
    return FALSE;
  for (guint i = 0; i < inner->n_outputs; i++)
    {
      IrTensor *tensor = g_steal_pointer (&inner->outputs[i].tensor);

      if (tensor == NULL)
        continue;
      outputs[i] = ir_compose_part (c, ir_tensor_type (tensor, c->call->context));
      outputs[i]->tensor = outputs[i]->own = tensor;
    }
  return !ir_call_fail_if_stopped (c->call, error);
}

static gboolean
give_result (IrCompose *c, guint slot, GError **error)
{
  const IrTensor *from = c->results[slot]->tensor;

  if (ir_tensor_dtype (from) == IR_DTYPE_STRING)
    {
      ir_call_take_output (c->call, slot, ir_tensor_ref ((IrTensor *) from));
      return TRUE;
    }
  IrTensor *to = ir_call_new_output (c->call, slot, ir_tensor_dtype (from), ir_tensor_rank (from),
                                     ir_tensor_dims (from), error);

  if (to == NULL)
    return FALSE;
  if (ir_tensor_n_bytes (from) > 0)
    memcpy (ir_tensor_data_writable (to), ir_tensor_data (from), ir_tensor_n_bytes (from));
  return TRUE;
}

/* Whatever the row is composed of. */
gboolean
ir_ref_composed (IrCall *call, GError **error)
{
  g_auto (IrCompose) c = { 0 };
  g_autoptr (GError) local = NULL;

  if (!call->op->infer (call, error))
    return FALSE;
  ir_compose_init (&c, call);
  c.apply = run_inner;
  if (!ir_compose_follow (&c, &local))
    {
      if (local == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the types of its inputs do not fit");
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  for (guint i = 0; i < call->n_outputs; i++)
    if (c.results[i] != NULL && c.results[i]->tensor != NULL && ir_call_has_output (call, i) &&
        !give_result (&c, i, error))
      return ir_call_fail_if_stopped (call, error), FALSE;
  return TRUE;
}
