/* Slices that share a value out among them become one Split:
 *
 *     x --Slice [0, 2) of axis 1--> a
 *     x --Slice [2, 5) of axis 1--> b          x --Split{axis=1} 2, 3, 1--> a, b, c
 *     x --Gather 5 of axis 1------> c
 *
 * Each takes a constant range of one axis with step 1 (a Gather: consecutive indices, listed), all
 * are in one graph, and in order they begin at 0, follow one another and end where the axis ends:
 * nothing is missing and nothing taken twice. Starts and ends are counted from the end and clamped
 * as Slice does it, so the size of the axis must be known. A Gather of one index that drops the
 * axis would need a Squeeze behind the Split: n Gathers would become n + 1 nodes, so they stay.
 * O(uses of a value squared), for values with a Slice or Gather. Source: ONNX Runtime
 * GatherSliceToSplitFusion. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE "split-slices"

/* Beyond that many readers a value is a table that is looked into, not shared out. */
#define MAX_PARTS 256

/* What a node takes of its input 0. */
typedef struct
{
  IrNode *node;
  gint64 axis, start, end; /* axis >= 0; start < end */
} Part;

/* Numbers of an input, or of an attribute in opsets before 10; FALSE if they are not known. */
static gboolean
numbers (const IrNode *node, const char *attr, guint slot, guint *n, gint64 *list)
{
  const IrValue *input = ir_node_opset (node) >= 10 ? ir_node_input (node, slot) : NULL;
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;
  const gint64 *ints;

  if (ir_node_opset (node) < 10)
    {
      ints = ir_node_attr_ints (node, attr, n);
      if (*n == 1)
        *list = ints[0];
      return ints != NULL || ir_node_attr (node, attr) == NULL;
    }
  *n = tensor != NULL ? (guint) ir_tensor_n_elements (tensor) : 0;
  if (*n == 1)
    *list = ir_tensor_get_int64 (tensor, 0);
  return input == NULL || tensor != NULL;
}

static gint64
clamp (gint64 at, gint64 size)
{
  return CLAMP (at < 0 ? at + size : at, 0, size);
}

static gboolean
is_part_slice (const IrNode *node, Part *part)
{
  const IrType *x = node->inputs[0]->type;
  gint64 start, end, axis = 0, step = 1, size;
  guint n = 0, n_axes = 0, n_steps = 0;

  if (!numbers (node, "starts", 1, &n, &start) || n != 1 || !numbers (node, "ends", 2, &n, &end) ||
      n != 1 || !numbers (node, "axes", 3, &n_axes, &axis) || n_axes > 1)
    return FALSE;
  if (ir_node_opset (node) >= 10 && (!numbers (node, "", 4, &n_steps, &step) || step != 1))
    return FALSE;
  axis += axis < 0 ? x->rank : 0;
  if (axis < 0 || axis >= x->rank || !ir_dim_is_known (x->dims[axis]))
    return FALSE;
  size = x->dims[axis];
  *part = (Part){ (IrNode *) node, axis, clamp (start, size), clamp (end, size) };
  return TRUE;
}

static gboolean
is_part_gather (const IrNode *node, Part *part)
{
  const IrType *x = node->inputs[0]->type;
  const IrTensor *indices = ir_node_input (node, 1) != NULL ? ir_value_constant (node->inputs[1])
                                                            : NULL;
  gint64 axis = ir_node_attr_int (node, "axis", 0), size, first = 0;
  guint64 n;

  axis += axis < 0 ? x->rank : 0;
  if (indices == NULL || ir_tensor_rank (indices) != 1 || axis < 0 || axis >= x->rank ||
      !ir_dim_is_known (x->dims[axis]))
    return FALSE;
  size = x->dims[axis];
  n = ir_tensor_n_elements (indices);
  if (n == 0 || n > (guint64) size)
    return FALSE;
  for (guint64 i = 0; i < n; i++)
    {
      gint64 index = ir_tensor_get_int64 (indices, i);

      index += index < 0 ? size : 0;
      if (i == 0)
        first = index;
      if (index < 0 || index >= size || index != first + (gint64) i)
        return FALSE;
    }
  *part = (Part){ (IrNode *) node, axis, first, first + (gint64) n };
  return TRUE;
}

/* Whether @node takes one constant range, not empty and not all, of one axis of its input 0. */
static gboolean
is_part (IrPassContext *context, const IrNode *node, Part *part)
{
  gboolean slice = ir_op_is (node, IR_OP_SLICE);

  if (node == NULL || node->state != IR_STATE_LIVE || (!slice && !ir_op_is (node, IR_OP_GATHER)) ||
      node->n_inputs < 2 - (ir_node_opset (node) < 10) || node->inputs[0] == NULL ||
      node->n_outputs != 1 || ir_value_rank (node->inputs[0]) < 1 || ir_pass_is_open (node) ||
      ir_pass_has_control (context, node))
    return FALSE;
  if (!(slice ? is_part_slice (node, part) : is_part_gather (node, part)))
    return FALSE;
  return part->start < part->end &&
         part->end - part->start < node->inputs[0]->type->dims[part->axis];
}

static int
compare_parts (gconstpointer a, gconstpointer b)
{
  const Part *p = a, *q = b;

  return p->start != q->start ? (p->start < q->start ? -1 : 1)
                              : (p->end > q->end) - (p->end < q->end);
}

/* What else is taken of the value, along the axis, in the graph and on the device of @first; in the
 * order of the axis. */
static GArray *
parts_like (IrPassContext *context, const Part *first)
{
  const IrValue *x = first->node->inputs[0];
  GArray *parts = g_array_new (FALSE, FALSE, sizeof (Part));

  for (guint i = 0; i < x->n_uses; i++)
    {
      IrUse use = ir_value_use (x, i);
      Part part;

      if (use.node != NULL && use.slot == 0 && use.node->graph == first->node->graph &&
          use.node->device == first->node->device && is_part (context, use.node, &part) &&
          part.axis == first->axis)
        g_array_append_val (parts, part);
    }
  g_array_sort (parts, compare_parts);
  return parts;
}

static gboolean
share_out (IrPassContext *context, const Part *first, const GArray *parts)
{
  gint64 at = 0, size = first->node->inputs[0]->type->dims[first->axis];
  const char *problem = NULL;

  for (guint i = 0; i < parts->len && problem == NULL; i++)
    {
      const Part *part = &g_array_index (parts, Part, i);

      if (part->start != at)
        problem = part->start < at ? "two parts of the axis overlap"
                                   : "nothing takes a part of the axis";
      at = part->end;
    }
  if (problem == NULL && at != size)
    problem = "nothing takes the end of the axis";
  if (problem != NULL)
    ir_edit_refuse (context->edit, RULE, first->node->id, problem);
  return problem == NULL;
}

/* Sizes are an attribute before opset 13. */
static IrNode *
add_split (IrPassContext *context, const Part *first, const GArray *parts)
{
  IrContext *names = context->model->context;
  IrGraph *graph = first->node->graph;
  g_autofree gint64 *sizes = g_new (gint64, parts->len);
  IrValue *inputs[2] = { first->node->inputs[0], NULL };
  gboolean by_input = ir_graph_opset (graph, "") >= 13;

  for (guint i = 0; i < parts->len; i++)
    sizes[i] = g_array_index (parts, Part, i).end - g_array_index (parts, Part, i).start;
  if (by_input)
    {
      g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (sizes, parts->len);
      inputs[1] = ir_pass_add_constant (context, graph, "sizes", tensor);
    }
  IrNode *split = ir_edit_add_node (context->edit, graph, "Split", NULL, NULL, by_input ? 2 : 1,
                                    inputs, parts->len);
  ir_edit_set_attr (context->edit, split, ir_attr_int (names, "axis", first->axis));
  if (!by_input)
    ir_edit_set_attr (context->edit, split, ir_attr_ints (names, "split", sizes, parts->len));
  ir_infer_node (context->edit, split, NULL);
  return split;
}

static void
write_split (IrPassContext *context, const Part *first, const GArray *parts)
{
  IrNode *split = add_split (context, first, parts);

  for (guint i = 0; i < parts->len; i++)
    ir_pass_replace_node (context, g_array_index (parts, Part, i).node, split->outputs[i]);
}

/* @node is one of several: the first that is met stands for all, so that nothing is tried twice. */
static void
visit (IrPassContext *context, const IrNode *node, GHashTable *seen)
{
  Part first;

  if (node->n_inputs == 0 || node->inputs[0] == NULL || node->inputs[0]->n_uses < 2 ||
      node->inputs[0]->n_uses > MAX_PARTS || g_hash_table_contains (seen, node) ||
      !is_part (context, node, &first) || ir_value_constant (node->inputs[0]) != NULL)
    return;
  g_autoptr (GArray) parts = parts_like (context, &first);
  for (guint i = 0; i < parts->len; i++)
    g_hash_table_add (seen, g_array_index (parts, Part, i).node);
  if (parts->len < 2 || !share_out (context, &first, parts) ||
      !ir_pass_begin (context, RULE, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (context->edit, "%u parts of %s along axis %d", parts->len,
                       node->inputs[0]->name, (int) first.axis);
  write_split (context, &first, parts);
  ir_pass_end (context);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);

  for (guint i = 0; i < graphs->len; i++)
    {
      IrGraph *graph = graphs->pdata[i];
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);
      g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

      if (ir_graph_opset (graph, "") < 2)
        continue;
      for (guint k = 0; k < nodes->len && !context->stopped; k++)
        {
          const IrNode *node = nodes->pdata[k];

          if (ir_pass_cancelled (context, error))
            return FALSE;
          if (node->state == IR_STATE_LIVE)
            visit (context, node, seen);
        }
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE, "Slices and Gathers whose constant ranges share out an axis of a value", "one Split",
    IR_CLASS_EXACT, "Slices that together take each element of an axis once are one Split." },
  { NULL },
};

const IrPass ir_pass_split_slices = {
  .name = "split-slices",
  .title = "Share values out by one Split",
  .doc = "Slices, and Gathers of consecutive indices, that take the parts of one axis of a value, "
         "each element once, become one Split. Gathers that drop the axis stay, as a Split would "
         "need a Squeeze for each.",
  .source = "ONNX Runtime GatherSliceToSplitFusion",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Slice -> a; x -> Slice -> b\nx -> Split -> a, b",
  .run = run,
  .documented_rules = rules,
};
