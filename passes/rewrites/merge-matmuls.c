/* Matrix products of one value with several constants become one product and a Split:
 *
 *     x --MatMulAdd Wq, bq--> q
 *     x --MatMulAdd Wk, bk--> k        x --MatMulAdd [Wq Wk Wv], [bq bk bv]--> --Split--> q, k, v
 *     x --MatMulAdd Wv, bv--> v
 *
 * For three and more (queries, keys and values of attention), of one operator, whose constants are
 * matrices of one type and the same number of rows. The elements are the same sums; a kernel may
 * add them in another order: rounding. Source: onnx/optimizer fuse_qkv; TVM CombineParallelMatmul;
 * XLA DotMerger. */
#include "config.h"

#include "core/io/mapped-file.h"
#include "passes/rule/profit.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE  "merge-matmuls"
#define LEAST 3

/* Whether @node is a product of its input 0 with a constant matrix, and a constant bias if any. */
static gboolean
is_candidate (IrPassContext *context, const IrNode *node)
{
  const IrTensor *weights, *bias = NULL;

  if (node->state != IR_STATE_LIVE || node->n_inputs < 2 || node->n_outputs != 1 ||
      node->inputs[0] == NULL || node->inputs[1] == NULL || ir_pass_has_control (context, node))
    return FALSE;
  if (!ir_op_is (node, IR_OP_MATMUL) &&
      !(strcmp (node->domain, "irscope") == 0 && strcmp (node->op_type, "MatMulAdd") == 0))
    return FALSE;
  weights = ir_value_constant (node->inputs[1]);
  if (weights == NULL || ir_tensor_rank (weights) != 2 ||
      ir_tensor_dtype (weights) != IR_DTYPE_FLOAT || ir_value_rank (node->inputs[0]) < 2)
    return FALSE;
  if (node->n_inputs > 2)
    {
      bias = node->inputs[2] != NULL ? ir_value_constant (node->inputs[2]) : NULL;
      if (bias == NULL || ir_tensor_rank (bias) != 1 ||
          ir_tensor_dims (bias)[0] != ir_tensor_dims (weights)[1])
        return FALSE;
    }
  return ir_tensor_dims (weights)[0] > 0 && ir_tensor_dims (weights)[1] > 0;
}

static gboolean
fits_together (const IrNode *a, const IrNode *b)
{
  return a->op == b->op && a->n_inputs == b->n_inputs && a->graph == b->graph &&
         a->device == b->device &&
         ir_tensor_dims (ir_value_constant (a->inputs[1]))[0] ==
             ir_tensor_dims (ir_value_constant (b->inputs[1]))[0];
}

static GPtrArray *
candidates_of (IrPassContext *context, const IrValue *value)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);

      if (use.node != NULL && use.slot == 0 && is_candidate (context, use.node))
        g_ptr_array_add (nodes, use.node);
    }
  return nodes;
}

/* Takes the first of @nodes and those that go together with it out of them, in their order. */
static GPtrArray *
take_group (GPtrArray *nodes)
{
  GPtrArray *group = g_ptr_array_new ();
  guint n_left = 0;

  for (guint i = 0; i < nodes->len; i++)
    if (group->len == 0 || fits_together (group->pdata[0], nodes->pdata[i]))
      g_ptr_array_add (group, nodes->pdata[i]);
    else
      nodes->pdata[n_left++] = nodes->pdata[i];
  g_ptr_array_set_size (nodes, (gint) n_left);
  return group;
}

/* Constants [rows, n_i] side by side as [rows, sum of n_i]; vectors have one row. */
static IrTensor *
side_by_side (const GPtrArray *group, guint slot)
{
  const IrTensor *first = ir_value_constant (((IrNode *) group->pdata[0])->inputs[slot]);
  guint rank = ir_tensor_rank (first);
  gint64 rows = rank == 2 ? ir_tensor_dims (first)[0] : 1, columns = 0, at = 0;

  for (guint i = 0; i < group->len; i++)
    columns += ir_tensor_dims (
        ir_value_constant (((IrNode *) group->pdata[i])->inputs[slot]))[rank - 1];
  gint64 dims[] = { rank == 2 ? rows : columns, columns };
  IrTensor *all = ir_tensor_new_alloc (IR_DTYPE_FLOAT, rank, dims, NULL);
  for (guint i = 0; all != NULL && i < group->len; i++)
    {
      const IrTensor *part = ir_value_constant (((IrNode *) group->pdata[i])->inputs[slot]);
      gint64 n = ir_tensor_dims (part)[rank - 1];

      for (gint64 r = 0; r < rows; r++)
        memcpy ((float *) ir_tensor_data_writable (all) + r * columns + at,
                (const float *) ir_tensor_raw (part) + r * n, sizeof (float) * (gsize) n);
      ir_mapped_file_give_back (ir_tensor_raw (part), ir_tensor_n_bytes (part));
      at += n;
    }
  return all;
}

/* The merged product and its Split, whose outputs stand for those of @group. Returns: (transfer
 * none): the Split */
static IrNode *
write_merge (IrPassContext *context, GPtrArray *group, IrTensor *weights, IrTensor *bias)
{
  IrEdit *edit = context->edit;
  IrNode *first = group->pdata[0];
  IrGraph *graph = first->graph;
  IrValue *inputs[] = { first->inputs[0], ir_pass_add_constant (context, graph, "weights", weights),
                        bias != NULL ? ir_pass_add_constant (context, graph, "bias", bias) : NULL };
  g_autofree gint64 *sizes = g_new (gint64, group->len);

  for (guint i = 0; i < group->len; i++)
    sizes[i] = ir_tensor_dims (ir_value_constant (((IrNode *) group->pdata[i])->inputs[1]))[1];
  g_autoptr (IrTensor) sizes_tensor = ir_tensor_new_int64s (sizes, group->len);
  IrNode *product = ir_edit_add_node (edit, graph, first->op_type, first->domain, NULL,
                                      bias != NULL ? 3 : 2, inputs, 1);
  IrValue *split_inputs[] = { product->outputs[0],
                              ir_pass_add_constant (context, graph, "sizes", sizes_tensor) };
  IrNode *split = ir_edit_add_node (edit, graph, "Split", NULL, NULL, 2, split_inputs, group->len);

  ir_edit_set_attr (edit, split, ir_attr_int (context->model->context, "axis", -1));
  ir_infer_node (edit, product, NULL);
  ir_infer_node (edit, split, NULL);
  for (guint i = 0; i < group->len; i++)
    {
      IrNode *old = group->pdata[i];
      const IrValue *value = old->outputs[0];

      ir_edit_replace_uses (edit, old->outputs[0], split->outputs[i]);
      ir_edit_step_map_node (edit, old->id, product->id);
      ir_pass_remove_node (context, old);
      ir_pass_take_name (context, value, split->outputs[i]);
    }
  return split;
}

/* Parts that are reshaped are the heads of an attention, which reads them where they are. */
static gboolean
is_regrouped (const IrNode *split)
{
  for (guint i = 0; i < split->n_outputs; i++)
    for (guint k = 0; k < split->outputs[i]->n_uses; k++)
      if (!ir_op_is (ir_value_use (split->outputs[i], k).node, IR_OP_RESHAPE))
        return FALSE;
  return TRUE;
}

static void
merge_group (IrPassContext *context, GPtrArray *group)
{
  IrNode *first = group->pdata[0];
  g_autoptr (IrTensor) weights = NULL, bias = NULL;
  g_autofree char *refusal = NULL;
  IrProfit profit = { .known = TRUE };
  IrNode *split;

  for (guint i = 0; i < group->len; i++)
    if (ir_value_is_graph_output (((IrNode *) group->pdata[i])->outputs[0]))
      {
        ir_edit_refuse (context->edit, RULE, first->id, "a result is an output of the graph");
        return;
      }
  weights = side_by_side (group, 1);
  bias = first->n_inputs > 2 ? side_by_side (group, 2) : NULL;
  if (weights == NULL || (first->n_inputs > 2 && bias == NULL) ||
      !ir_pass_begin (context, RULE, IR_CLASS_ROUNDING, first))
    return;
  ir_edit_step_reason (context->edit, "%u products of %s with constants", group->len,
                       first->inputs[0]->name);
  for (guint i = 0; i < group->len; i++)
    ir_profit_removed (&profit, group->pdata[i]);
  split = write_merge (context, group, weights, bias);
  ir_profit_made (&profit, split->inputs[0]->producer);
  if (!is_regrouped (split))
    ir_profit_made (&profit, split);
  refusal = ir_profit_refusal (&profit);
  if (refusal == NULL)
    ir_pass_end (context);
  else
    {
      ir_pass_abort (context);
      ir_edit_refuse (context->edit, RULE, first->id, refusal);
    }
}

static void
merge_uses (IrPassContext *context, const IrValue *value)
{
  if (value == NULL || value->n_uses < LEAST)
    return;
  g_autoptr (GPtrArray) nodes = candidates_of (context, value);
  while (nodes->len >= LEAST && !context->stopped)
    {
      g_autoptr (GPtrArray) group = take_group (nodes);
      if (group->len >= LEAST)
        merge_group (context, group);
    }
}

/* Split takes its sizes as an input from opset 13 on. */
static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);

  for (guint i = 0; i < graphs->len; i++)
    {
      IrGraph *graph = graphs->pdata[i];
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

      if (ir_graph_opset (graph, "") < 13)
        continue;
      for (guint k = 0; k < ir_graph_n_inputs (graph) && !context->stopped; k++)
        merge_uses (context, ir_graph_input (graph, k));
      for (guint k = 0; k < nodes->len && !context->stopped; k++)
        {
          const IrNode *node = nodes->pdata[k];

          if (ir_pass_cancelled (context, error))
            return FALSE;
          for (guint o = 0; node->state == IR_STATE_LIVE && o < node->n_outputs; o++)
            merge_uses (context, node->outputs[o]);
        }
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE, "three or more products of one value with constant matrices", "one product and a Split",
    IR_CLASS_ROUNDING, "Queries, keys and values come from one matrix product." },
  { NULL },
};

const IrPass ir_pass_merge_matmuls = {
  .name = "merge-matmuls",
  .title = "Merge matrix products of one value",
  .doc = "Three or more matrix products of one value with constants, with bias or without, become "
         "one product with the constants side by side, and a Split.",
  .source = "onnx/optimizer fuse_qkv; TVM CombineParallelMatmul; XLA DotMerger",
  .profit = TRUE,
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> MatMul -> q; x -> MatMul -> k; x -> MatMul -> v\n"
                  "x -> MatMul -> Split -> q, k, v",
  .run = run,
  .documented_rules = rules,
};
