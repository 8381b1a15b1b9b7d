/* What a value holds, on either side: a constant of the graph, an input, or what a run gave. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/runs-private.h"
#include "views/session/timeline-private.h"

static IrTensor *
stored_contents (const IrModel *model, GHashTable *inputs, IrValueId id)
{
  const IrValue *value = ir_model_live_value (model, id);
  const IrTensor *constant = value != NULL ? ir_value_constant (value) : NULL;

  if (constant != NULL)
    return (IrTensor *) constant;
  if (value != NULL && inputs != NULL && g_hash_table_contains (inputs, GUINT_TO_POINTER (id)))
    return g_hash_table_lookup (inputs, GUINT_TO_POINTER (id));
  return value != NULL ? value->initializer : NULL;
}

/* Why the node that stops @value could not run, as far as outputs tell. */
static const char *
stop_of (const IrRun *run, const IrValue *value, GHashTable *seen)
{
  const IrNode *node = value != NULL ? value->producer : NULL;
  const char *why = NULL;

  if (node == NULL || !g_hash_table_add (seen, (gpointer) node))
    return NULL;
  for (guint i = 0; i < run->missing->len; i++)
    if (g_array_index (run->missing, IrMissing, i).node == node->id)
      return g_array_index (run->missing, IrMissing, i).why;
  for (guint i = 0; i < node->n_inputs && why == NULL; i++)
    why = stop_of (run, node->inputs[i], seen);
  return why;
}

/* (transfer full) (nullable): why the run left @id out; %NULL: it did not */
static char *
left_out_reason (IrSession *self, const IrRun *run, IrValueId id, IrSide side)
{
  const guint step = side == IR_SIDE_BEFORE ? 0 : ir_session_get_run_step (self);
  const IrFrame *frame = ir_session_get_frame (self);
  const IrModel *model = step == 0 ? ir_session_get_original (self) : frame->model;
  const IrValue *value = step == 0 || step == frame->to ? ir_model_live_value (model, id) : NULL;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  const char *why = value != NULL && run->missing != NULL ? stop_of (run, value, seen) : NULL;

  return why != NULL ? g_strdup_printf ("This value was not computed: %s", why) : NULL;
}

static char *
missing_reason (IrSession *self, IrValueId id, IrSide side)
{
  IrRun *run = ir_session_get_run (self, side);
  char *left_out;

  if (run == NULL && ir_session_get_busy (self) && ir_session_get_run (self, IR_SIDE_AFTER) != NULL)
    return g_strdup ("Not computed yet: the run is under way.");
  if (run == NULL)
    return g_strdup ("Run the graph to see this value (Ctrl+R).");
  if (run->error != NULL)
    return g_strdup_printf ("The run stopped before this value: %s", run->error->message);
  left_out = left_out_reason (self, run, id, side);
  if (left_out != NULL)
    return left_out;
  if (ir_model_live_value (run->model, id) == NULL)
    return g_strdup_printf (
        "The graph was last run after step %u, where this value does not exist. Run it again.",
        side == IR_SIDE_BEFORE ? 0 : ir_session_get_run_step (self));
  return g_strdup ("This value was not kept by the last run.");
}

/* A value of the other side has the contents that its graph stores; that graph is not run. */
static IrTensor *
other_side_tensor (IrSession *self, IrValueId id, IrSide side, char **reason)
{
  const IrValue *value = ir_frame_value (ir_session_get_frame (self), id);
  const IrTensor *constant = value != NULL ? ir_value_constant (value) : NULL;

  if (side == IR_SIDE_BEFORE && constant != NULL)
    return ir_tensor_ref ((IrTensor *) constant);
  if (reason != NULL)
    *reason = g_strdup (side == IR_SIDE_AFTER
                            ? "This value is only on the other side of the comparison."
                            : "The other side was not run: compare the values to run both.");
  return NULL;
}

/**
 * ir_session_dup_run_of:
 * @value: a value of any step
 * @side: whether it is asked for as it was before or as it is after the optimization
 * @id: (out): which value of the run it is
 *
 * Returns: (transfer full) (nullable): the run that has it, or can compute it with ir_run_find()
 */
IrRun *
ir_session_dup_run_of (IrSession *self, IrValueId value, IrSide side, IrValueId *id)
{
  IrRun *run = ir_session_get_run (self, side), *own;

  *id = 0;
  if (ir_session_get_body_value (self, value, &own) != NULL)
    {
      *id = value;
      return ir_run_ref (own);
    }
  if (ir_session_is_empty (self) || run == NULL || value == 0 || (value & IR_OTHER_SIDE))
    return NULL;
  *id = side == IR_SIDE_BEFORE ? ir_session_original_value (self, value) : value;
  return *id != 0 && ir_model_live_value (run->model, *id) != NULL ? ir_run_ref (run) : NULL;
}

/**
 * ir_session_dup_tensor:
 * @value: a value of any step
 * @side: whether it is asked for as it was before or as it is after the optimization; a value in
 *   the body of a function is the same in both
 * @reason: (out) (optional) (transfer full): why there is none, and what to do
 *
 * Returns: (transfer full) (nullable): the contents
 */
IrTensor *
ir_session_dup_tensor (IrSession *self, IrValueId value, IrSide side, char **reason)
{
  const IrFrame *frame = ir_session_get_frame (self);
  GHashTable *inputs = ir_session_get_used_inputs (self);
  const IrModel *model;
  IrTensor *tensor;
  IrRun *own;
  gboolean compared;

  if (reason != NULL)
    *reason = NULL;
  if (frame == NULL || value == 0)
    return NULL;
  if (ir_session_get_body_value (self, value, &own) != NULL)
    {
      tensor = ir_run_value (own, value);
      return tensor != NULL ? ir_tensor_ref (tensor) : NULL;
    }
  tensor = ir_session_pair_tensor (self, value, side, &compared);
  if (tensor != NULL)
    return ir_tensor_ref (tensor);
  if (compared)
    {
      if (reason != NULL)
        *reason = g_strdup ("No value of the other graph is paired with this one.");
      return NULL;
    }
  if (value & IR_OTHER_SIDE)
    return other_side_tensor (self, value, side, reason);
  model = side == IR_SIDE_BEFORE ? ir_session_get_original (self) : frame->model;
  if (side == IR_SIDE_BEFORE)
    {
      value = ir_session_original_value (self, value);
      if (value == 0)
        {
          if (reason != NULL)
            *reason = g_strdup ("This value is new: nothing in the original graph equals it.");
          return NULL;
        }
    }
  tensor = stored_contents (model, inputs != NULL ? inputs : ir_session_get_inputs (self), value);
  if (tensor == NULL && ir_session_get_run (self, side) != NULL)
    tensor = ir_run_value (ir_session_get_run (self, side), value);
  if (tensor != NULL)
    return ir_tensor_ref (tensor);
  if (reason != NULL)
    *reason = missing_reason (self, value, side);
  return NULL;
}
