/* Keys and values that are repeated for groups of heads are read by each group instead:
 *
 *     k [b, 2, t, d] --Unsqueeze--Expand [b, 2, 4, t, d]--Reshape [b, 8, t, d]--> K
 *     v likewise                                                              --> V
 *     Attention (q [b, 8, s, d], K, V)                GroupedAttention (q, k, v)
 *
 * Grouped-query attention, as transformers spell it (repeat_kv): each head of keys and values is
 * repeated for as many heads of queries in a row as share it. An Expand, a Tile or a Concat of one
 * value with itself repeats; a Gather of the heads by 0, 0, 1, 1 does, too. Transposes between that
 * undo each other are passed. The standard operator reads fewer heads as it is; irscope's have
 * forms of their own, with a body. No element is computed differently, but kernels may sum in
 * another order: rounding. O(nodes). Source: Ainslie and others 2023 (grouped-query attention);
 * ONNX Attention 23; ONNX Runtime GroupQueryAttention. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rewrites/heads.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE "share-heads"

/* What is repeated. */
typedef struct
{
  IrValue *apart; /* (nullable) [batch, heads, 1, positions, size] */
  IrValue *heads; /* (nullable) [batch, heads, positions, size], where that is there */
  gint64 n_heads, n_times;
} Repeated;

static gboolean
refuse (IrPassContext *context, const IrNode *attention, const char *reason)
{
  ir_edit_refuse (context->edit, RULE, attention->id, reason);
  return FALSE;
}

/* Its producer, if nothing else reads @value or waits for it. */
static IrNode *
own_producer (const IrPassContext *context, const IrValue *value)
{
  return value->n_uses == 1 && !ir_value_is_graph_output (value) && value->producer != NULL &&
                 !ir_pass_has_control (context, value->producer)
             ? value->producer
             : NULL;
}

/* Whether @type has @rank axes whose sizes are those in @dims, all known or symbols. */
static gboolean
has_dims (const IrType *type, guint rank, const IrDim *dims)
{
  if (!ir_type_is_tensor (type) || type->rank != (int) rank)
    return FALSE;
  for (guint i = 0; i < rank; i++)
    if (dims[i] == IR_DIM_UNKNOWN || type->dims[i] != dims[i])
      return FALSE;
  return TRUE;
}

/* What is behind Transposes of four axes that together change nothing. */
static const IrValue *
behind_transposes (const IrPassContext *context, const IrValue *value)
{
  guint8 perm[4] = { 0, 1, 2, 3 };

  for (const IrNode *node = own_producer (context, value);
       node != NULL && ir_op_is (node, IR_OP_TRANSPOSE); node = own_producer (context, value))
    {
      guint n = 0;
      const gint64 *own = ir_node_attr_ints (node, "perm", &n);

      if (n != 4)
        return NULL;
      for (guint i = 0; i < 4; i++)
        {
          if (own[perm[i]] < 0 || own[perm[i]] > 3)
            return NULL;
          perm[i] = (guint8) own[perm[i]];
        }
      value = node->inputs[0];
    }
  return perm[0] == 0 && perm[1] == 1 && perm[2] == 2 && perm[3] == 3 ? value : NULL;
}

/* Whether @node repeats [b, heads, 1, t, d] along the third axis. */
static gboolean
repeats (const IrNode *node)
{
  if (ir_op_is (node, IR_OP_EXPAND) || ir_op_is (node, IR_OP_TILE))
    return TRUE;
  if (!ir_op_is (node, IR_OP_CONCAT) ||
      (ir_node_attr_int (node, "axis", 0) != 2 && ir_node_attr_int (node, "axis", 0) != -3))
    return FALSE;
  for (guint i = 1; i < node->n_inputs; i++)
    if (node->inputs[i] != node->inputs[0])
      return FALSE;
  return TRUE;
}

/* [b, heads, t, d] --Gather 0, 0, 1, 1 ..--> @value */
static gboolean
find_gathered (const IrNode *gather, Repeated *found)
{
  const IrTensor *indices = ir_node_input (gather, 1) != NULL
                                ? ir_value_constant (gather->inputs[1])
                                : NULL;
  const IrType *in = gather->inputs[0]->type;
  gint64 n, axis = ir_node_attr_int (gather, "axis", 0);

  if (indices == NULL || ir_tensor_rank (indices) != 1 || !ir_type_is_tensor (in) ||
      in->rank != 4 || (axis != 1 && axis != -3) || !ir_dim_is_known (in->dims[1]) ||
      in->dims[1] < 1)
    return FALSE;
  n = (gint64) ir_tensor_n_elements (indices);
  *found = (Repeated){ NULL, gather->inputs[0], in->dims[1], n / in->dims[1] };
  if (n % in->dims[1] != 0 || found->n_times < 2)
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    if (ir_tensor_get_int64 (indices, (guint64) i) != i / found->n_times)
      return FALSE;
  return TRUE;
}

/* [b, heads, 1, t, d] --Expand [b, heads, n, t, d]--Reshape [b, heads * n, t, d]--> @value */
static gboolean
find_expanded (const IrPassContext *context, const IrNode *join, Repeated *found)
{
  const IrType *out = join->outputs[0]->type, *in = join->inputs[0]->type;
  const IrNode *repeat = own_producer (context, join->inputs[0]), *before;

  if (repeat == NULL || !repeats (repeat) || !ir_type_is_tensor (in) || in->rank != 5 ||
      !ir_dim_is_known (in->dims[1]) || !ir_dim_is_known (in->dims[2]) || in->dims[1] < 1 ||
      in->dims[2] < 2)
    return FALSE;
  *found = (Repeated){ repeat->inputs[0], NULL, in->dims[1], in->dims[2] };
  IrDim apart[] = { in->dims[0], in->dims[1], 1, in->dims[3], in->dims[4] };
  IrDim joined[] = { in->dims[0], in->dims[1] * in->dims[2], in->dims[3], in->dims[4] };
  IrDim heads[] = { in->dims[0], in->dims[1], in->dims[3], in->dims[4] };
  if (!has_dims (found->apart->type, 5, apart) || !has_dims (out, 4, joined))
    return FALSE;
  before = found->apart->producer;
  if (before != NULL && (ir_op_is (before, IR_OP_UNSQUEEZE) || ir_op_is (before, IR_OP_RESHAPE)) &&
      has_dims (before->inputs[0]->type, 4, heads))
    found->heads = before->inputs[0];
  return TRUE;
}

static gboolean
find_repeated (const IrPassContext *context, const IrValue *value, Repeated *found)
{
  const IrValue *behind = behind_transposes (context, value);
  const IrNode *node = behind != NULL ? own_producer (context, behind) : NULL;

  if (node != NULL && ir_op_is (node, IR_OP_GATHER))
    return find_gathered (node, found);
  return node != NULL && ir_op_is (node, IR_OP_RESHAPE) && find_expanded (context, node, found);
}

/* -- what is written -- */

/* [batch, heads, positions, size] of what was repeated. */
static IrValue *
heads_of (IrPassContext *context, IrGraph *graph, const Repeated *repeated)
{
  static const gint64 axis = 2;
  IrValue *inputs[2] = { repeated->apart, NULL };
  gboolean by_input = ir_graph_opset (graph, "") >= 13;

  if (repeated->heads != NULL)
    return repeated->heads;
  if (by_input)
    {
      g_autoptr (IrTensor) axes = ir_tensor_new_int64s (&axis, 1);
      inputs[1] = ir_pass_add_constant (context, graph, "axes", axes);
    }
  IrNode *squeeze = ir_edit_add_node (context->edit, graph, "Squeeze", NULL, NULL, by_input ? 2 : 1,
                                      inputs, 1);
  if (!by_input)
    ir_edit_set_attr (context->edit, squeeze,
                      ir_attr_ints (context->model->context, "axes", &axis, 1));
  ir_infer_node (context->edit, squeeze, NULL);
  return squeeze->outputs[0];
}

/* The nodes that made @value and that nothing reads any more, as far as first inputs lead. */
static void
remove_chain (IrPassContext *context, IrNode *node)
{
  while (node != NULL && node->state == IR_STATE_LIVE && node->n_outputs == 1 &&
         node->outputs[0]->n_uses == 0 && !ir_pass_has_control (context, node))
    {
      IrNode *next = node->n_inputs > 0 && node->inputs[0] != NULL ? node->inputs[0]->producer
                                                                   : NULL;
      ir_pass_remove_node (context, node);
      node = next;
    }
}

static void
write_grouped (IrPassContext *context, IrNode *old, const char *op_type, const Repeated *found)
{
  IrEdit *edit = context->edit;
  g_autofree IrValue **inputs = g_memdup2 (old->inputs, old->n_inputs * sizeof (IrValue *));
  IrNode *chains[] = { old->inputs[1]->producer, old->inputs[2]->producer };

  for (guint i = 0; i < 2; i++)
    inputs[i + 1] = heads_of (context, old->graph, &found[i]);
  IrNode *fresh = ir_edit_add_node (edit, old->graph, op_type, old->domain, NULL, old->n_inputs,
                                    inputs, 1);
  for (guint i = 0; i < old->n_attrs; i++)
    ir_edit_set_attr (edit, fresh, old->attrs[i]);
  ir_infer_node (edit, fresh, NULL);
  ir_pass_replace_node (context, old, fresh->outputs[0]);
  for (guint i = 0; i < 2; i++)
    remove_chain (context, chains[i]);
}

static gboolean
attention_fits (IrPassContext *context, const IrNode *attention)
{
  if (!ir_node_is_valid (attention) || ir_value_rank (attention->inputs[0]) != 4)
    return FALSE;
  for (guint i = 1; i < attention->n_outputs; i++)
    if (ir_node_output (attention, i) != NULL)
      return refuse (context, attention, "the attention gives more than its result");
  for (guint i = 4; i < attention->n_inputs; i++)
    if (attention->inputs[i] != NULL)
      return refuse (context, attention, "the attention has a past");
  return TRUE;
}

static void
visit (IrPassContext *context, IrNode *node)
{
  const char *grouped = ir_heads_op (node, IR_HEADS_SHARED);
  Repeated found[2];
  gboolean k, v;

  if (grouped == NULL || ir_pass_is_open (node) || ir_pass_has_control (context, node) ||
      !attention_fits (context, node))
    return;
  k = find_repeated (context, node->inputs[1], &found[0]);
  v = find_repeated (context, node->inputs[2], &found[1]);
  if (!k || !v)
    {
      if (k || v)
        refuse (context, node, "only one of keys and values is repeated");
      return;
    }
  if (found[0].n_heads != found[1].n_heads || found[0].n_times != found[1].n_times)
    {
      refuse (context, node, "keys and values are repeated differently");
      return;
    }
  if (!ir_pass_begin (context, RULE, IR_CLASS_ROUNDING, node))
    return;
  ir_edit_step_reason (context->edit, "%d heads of keys and values, each for %d of queries",
                       (int) found[0].n_heads, (int) found[0].n_times);
  write_grouped (context, node, grouped, found);
  ir_pass_end (context);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  return ir_pass_visit_nodes (context, visit, error);
}

static const IrRule rules[] = {
  { RULE, "Attention whose keys and values are repeated for groups of heads",
    "the same with fewer heads of keys and values", IR_CLASS_ROUNDING,
    "Grouped-query attention reads keys and values as they are, without repeating them." },
  { NULL },
};

const IrPass ir_pass_share_heads = {
  .name = "share-heads",
  .title = "Share keys and values among heads",
  .doc =
      "Attention whose keys and values are repeated for groups of heads (Expand, Tile, Concat or "
      "Gather) reads them as they are: the standard operator, or irscope's grouped form.",
  .source = "Ainslie and others 2023; ONNX Attention 23; ONNX Runtime GroupQueryAttention",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "q, k -> Expand, Reshape, v -> Expand, Reshape -> Attention -> y\n"
                  "q, k, v -> GroupedAttention -> y",
  .run = run,
  .documented_rules = rules,
};
