/* What the loops of tokens carry, and how often they run, by induction over their counters. */
#include "config.h"

#include "core/ir/frames-private.h"

#include "core/op/op.h"

/* (nullable) The first node behind output @slot of @node that does @rule, past Identity */
static const IrNode *
reader (const IrNode *node, guint slot, IrTokens rule, guint input)
{
  const IrValue *value = ir_node_output (node, slot);

  for (guint i = 0; value != NULL && i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node != NULL && use.slot == input && ir_node_tokens (use.node) == rule)
        return use.node;
    }
  return NULL;
}

void
ir_frames_note_variable (IrFrames *frames, const IrNode *merge)
{
  IrLoopVariable variable = { .merge = merge->id };

  for (guint i = 0; i < merge->n_inputs; i++)
    {
      const IrNode *from = merge->inputs[i] != NULL ? merge->inputs[i]->producer : NULL;
      if (from != NULL && ir_edge_is_back (from, merge))
        variable.next = from->id;
      else if (from != NULL && ir_node_tokens (from) == IR_TOKENS_ENTER)
        variable.enter = from->id;
    }
  if (variable.next == 0)
    return;
  const IrNode *leaves = reader (merge, 0, IR_TOKENS_SWITCH, 0);
  const IrNode *out = leaves != NULL ? reader (leaves, 0, IR_TOKENS_EXIT, 0) : NULL;
  variable.exit = out != NULL ? out->id : 0;
  g_array_append_val (ir_frames_at (frames, frames->frame_of[merge->id])->variables, variable);
}

/* The one integer that a value always has. (nullable) @value */
static gboolean
constant_integer (const IrFrames *frames, const IrValue *value, gint64 *number)
{
  const IrValue *root = value != NULL ? ir_model_live_value (frames->graph->model,
                                                             ir_frames_root (frames, value))
                                      : NULL;
  const IrTensor *tensor = root != NULL ? ir_value_constant (root) : NULL;

  if (tensor == NULL || ir_tensor_dtype (tensor) != IR_DTYPE_INT64 ||
      ir_tensor_n_elements (tensor) != 1 || ir_tensor_data (tensor) == NULL)
    return FALSE;
  *number = ir_tensor_get_int64 (tensor, 0);
  return TRUE;
}

/* What is added to a variable in each iteration. */
static gboolean
constant_step (const IrFrames *frames, const IrLoopVariable *variable, gint64 *step)
{
  const IrModel *model = frames->graph->model;
  const IrNode *merge = ir_model_live_node (model, variable->merge);
  const IrNode *next = ir_model_live_node (model, variable->next);
  const IrValue *sum = ir_node_input (next, 0);
  const IrNode *add = sum != NULL ? sum->producer : NULL;

  if (add == NULL || !ir_node_is (add, "Add") || add->n_inputs != 2 || merge->outputs[0] == NULL)
    return FALSE;
  for (guint i = 0; i < 2; i++)
    if (add->inputs[i] != NULL &&
        ir_frames_root (frames, add->inputs[i]) == merge->outputs[0]->id &&
        constant_integer (frames, add->inputs[1 - i], step))
      return TRUE;
  return FALSE;
}

/* By induction: the condition is variable < limit, the variable begins with a constant and grows by
 * one that is positive. The body runs once less than the condition is asked for. */
void
ir_frames_find_trips (const IrFrames *frames, IrFrame *frame)
{
  const IrModel *model = frames->graph->model;
  const IrNode *cond = ir_model_live_node (model, frame->loop_cond);
  const IrValue *asked = cond != NULL && frame->n_conds == 1 ? ir_node_input (cond, 0) : NULL;
  const IrValue *root = asked != NULL ? ir_model_live_value (model, ir_frames_root (frames, asked))
                                      : NULL;
  const IrNode *less = root != NULL ? root->producer : NULL;
  gint64 first, limit, step;

  if (less == NULL || !ir_node_is (less, "Less") || less->n_inputs != 2 ||
      less->inputs[0] == NULL || !constant_integer (frames, less->inputs[1], &limit))
    return;
  for (guint i = 0; i < frame->variables->len; i++)
    {
      const IrLoopVariable *variable = &g_array_index (frame->variables, IrLoopVariable, i);
      const IrNode *merge = ir_model_live_node (model, variable->merge);
      const IrNode *enter = ir_model_live_node (model, variable->enter);
      if (enter == NULL || merge->outputs[0] == NULL ||
          ir_frames_root (frames, less->inputs[0]) != merge->outputs[0]->id ||
          !constant_integer (frames, ir_node_input (enter, 0), &first) ||
          !constant_step (frames, variable, &step) || step <= 0)
        continue;
      if (first >= limit)
        frame->trips = 0;
      else if (limit <= G_MAXINT64 - step) /* else it might wrap around */
        frame->trips = (gint64) (((guint64) limit - (guint64) first - 1) / (guint64) step + 1);
    }
}
