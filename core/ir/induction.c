/* What the loops of tokens carry, and how often they run, by induction over their counters. */
#include "config.h"

#include "core/ir/counter.h"
#include "core/ir/frames-private.h"

#include "core/op/op.h"

#define MAX_HOPS 1000 /* that forward a number */

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

/* @node: a Shape. The size that its element @index is, where that is known */
static gboolean
known_size (const IrNode *node, gint64 index, gint64 *number)
{
  const IrValue *of = ir_node_input (node, 0);
  const int rank = of != NULL && ir_type_is_tensor (of->type) ? of->type->rank : 0;
  gint64 first = ir_node_attr_int (node, "start", 0), end = ir_node_attr_int (node, "end", rank);

  first = CLAMP (first + (first < 0 ? rank : 0), 0, MAX (rank, 0));
  end = CLAMP (end + (end < 0 ? rank : 0), first, MAX (rank, 0));
  index += index < 0 ? end - first : 0;
  if (index < 0 || index >= end - first || !ir_dim_is_known (of->type->dims[first + index]))
    return FALSE;
  *number = of->type->dims[first + index];
  return TRUE;
}

/* @hops: how many nodes it looks behind; a graph that is checked may have cycles */
static gboolean
known_integer (const IrValue *value, guint hops, gint64 *number)
{
  for (; value != NULL && value->producer != NULL && hops > 0 &&
         (ir_node_is (value->producer, "Identity") || ir_node_is (value->producer, "Squeeze"));
       hops--)
    value = ir_node_input (value->producer, 0);
  const IrTensor *tensor = value != NULL ? ir_value_constant (value) : NULL;
  const IrNode *node = value != NULL ? value->producer : NULL;
  gint64 index;

  if (tensor != NULL)
    {
      if (ir_tensor_n_elements (tensor) != 1 || ir_tensor_data (tensor) == NULL ||
          (ir_tensor_dtype (tensor) != IR_DTYPE_INT64 && ir_tensor_dtype (tensor) != IR_DTYPE_BOOL))
        return FALSE;
      *number = ir_tensor_get_int64 (tensor, 0);
      return TRUE;
    }
  if (node == NULL || hops == 0)
    return FALSE;
  if (ir_node_is (node, "Shape"))
    return ir_type_is_tensor (value->type) && value->type->rank == 1 && value->type->dims[0] == 1 &&
           known_size (node, 0, number);
  const IrValue *sizes = ir_node_is (node, "Gather") ? ir_node_input (node, 0) : NULL;
  return sizes != NULL && sizes->producer != NULL && ir_node_is (sizes->producer, "Shape") &&
         known_integer (ir_node_input (node, 1), hops - 1, &index) &&
         known_size (sizes->producer, index, number);
}

/**
 * ir_value_known_integer:
 * @value: (nullable): a value
 * @number: (out): its one element
 *
 * Returns: whether it is one int64 or bool that is the same in each run: a constant, or a size that types say (an
 *   element of Shape, by Gather)
 */
gboolean
ir_value_known_integer (const IrValue *value, gint64 *number)
{
  return known_integer (value, MAX_HOPS, number);
}

/* (nullable) @value, past what forwards it */
static const IrValue *
root_value (const IrFrames *frames, const IrValue *value)
{
  return value != NULL ? ir_model_live_value (frames->graph->model, ir_frames_root (frames, value))
                       : NULL;
}

/* The one integer that a value always has, past what forwards it. (nullable) @value */
static gboolean
constant_integer (const IrFrames *frames, const IrValue *value, gint64 *number)
{
  return ir_value_known_integer (root_value (frames, value), number);
}

/* Whether @value is true in each iteration: a constant, or carried round from one as it is. (nullable) @value */
static gboolean
stays_true (const IrFrames *frames, const IrFrame *frame, const IrValue *value)
{
  const IrModel *model = frames->graph->model;
  const IrValue *root = root_value (frames, value);
  gint64 first;

  if (constant_integer (frames, value, &first))
    return first != 0;
  for (guint i = 0; root != NULL && i < frame->variables->len; i++)
    {
      const IrLoopVariable *variable = &g_array_index (frame->variables, IrLoopVariable, i);
      const IrNode *enter = ir_model_live_node (model, variable->enter);
      const IrNode *next = ir_model_live_node (model, variable->next);
      if (root->producer != NULL && root->producer->id == variable->merge && enter != NULL &&
          constant_integer (frames, ir_node_input (enter, 0), &first) && first != 0 &&
          root_value (frames, ir_node_input (next, 0)) == root)
        return TRUE;
    }
  return FALSE;
}

typedef struct
{
  const IrFrames *frames;
  const IrFrame *frame;
} Loop;

static const IrValue *
origin (const IrValue *value, gconstpointer data)
{
  return root_value (((const Loop *) data)->frames, value);
}

static gboolean
is_true (const IrValue *value, gconstpointer data)
{
  const Loop *loop = data;

  return stays_true (loop->frames, loop->frame, value);
}

/* (nullable) The variable that @value is in each iteration */
static const IrLoopVariable *
variable_of (const IrFrame *frame, const IrValue *value)
{
  for (guint i = 0; value != NULL && value->producer != NULL && i < frame->variables->len; i++)
    {
      const IrLoopVariable *variable = &g_array_index (frame->variables, IrLoopVariable, i);
      if (variable->merge == value->producer->id && value->output_slot == 0)
        return variable;
    }
  return NULL;
}

/* What a variable begins with, and what it becomes. */
static gboolean
ends_of (const IrFrames *frames,
         const IrLoopVariable *variable,
         gint64 *first,
         const IrValue **next)
{
  const IrModel *model = frames->graph->model;
  const IrNode *enter = ir_model_live_node (model, variable->enter);

  *next = ir_node_input (ir_model_live_node (model, variable->next), 0);
  return enter != NULL && constant_integer (frames, ir_node_input (enter, 0), first);
}

/* By induction: the condition compares a variable that begins with a constant and moves by one. Where it is carried itself, as
 * the body of a Loop gives it, it is that of the iteration before. A limit may be a size. */
void
ir_frames_find_trips (const IrFrames *frames, IrFrame *frame)
{
  const Loop loop = { frames, frame };
  const IrCounterScope scope = { origin, is_true, &loop };
  const IrNode *cond = ir_model_live_node (frames->graph->model, frame->loop_cond);
  const IrValue *asked = cond != NULL && frame->n_conds == 1 ? ir_node_input (cond, 0) : NULL,
                *next;
  const IrLoopVariable *carried = variable_of (frame, root_value (frames, asked));
  IrComparison comparison;
  gint64 first, step;

  if (carried != NULL && (!ends_of (frames, carried, &first, &asked) || first == 0))
    return;
  if (!ir_comparison_read (&scope, asked, &comparison))
    return;
  const IrLoopVariable *counter = variable_of (frame, comparison.counter);
  if (counter == NULL || !ends_of (frames, counter, &first, &next) ||
      ir_counter_read (&scope, next, &step) != comparison.counter)
    return;
  const gint64 last = ir_comparison_ends (&comparison, first, step);
  frame->trips = last >= 0 ? last + (carried != NULL) : -1;
}
