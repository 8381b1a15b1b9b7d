/* Folds what exporters compute from dimensions, with their symbols:
 *
 *     x[b,s,768] --Shape--> --Gather 2-->                   768
 *     x[b,s,768] --Shape, Gather, Unsqueeze, Concat-->      [0, 0, 12, 64] as a constant
 *                --Reshape-->
 *     two values that both hold s                           one of them
 *
 * By the contents that shape inference propagates (core/op/infer.h). A Reshape gets a constant
 * shape if its dimensions are constants, dimensions of its own input at the same place (0), or one
 * other (-1). With a -1 beside a 0 the result would not be defined for an empty input, so that is
 * left alone unless the shape had its -1 before. Symbols are taken to mean what the model declares:
 * equal names are equal sizes. Source: ONNX Runtime ReshapeFusion; onnx/optimizer
 * fuse_concat_into_reshape, eliminate_shape_gather; Grappler MaterializeShapes. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE_KNOWN   "fold-known-contents"
#define RULE_EQUAL   "merge-equal-contents"
#define RULE_RESHAPE "reshape-by-constant"

/* -- values of known contents -- */

static gboolean
is_all_known (const IrShapeData *data)
{
  for (guint i = 0; i < data->n; i++)
    if (!data->numbers[i].known)
      return FALSE;
  return TRUE;
}

static gboolean
is_determined (const IrShapeData *data)
{
  for (guint i = 0; i < data->n; i++)
    if (!data->numbers[i].known && data->numbers[i].expr == IR_DIM_UNKNOWN)
      return FALSE;
  return TRUE;
}

static guint
hash_data (gconstpointer key)
{
  const IrShapeData *data = key;
  guint hash = data->n * 2 + data->scalar;

  for (guint i = 0; i < data->n; i++)
    {
      gint64 number = data->numbers[i].known ? data->numbers[i].value : data->numbers[i].expr;
      hash = hash * 31 + g_int64_hash (&number);
    }
  return hash;
}

static gboolean
equal_data (gconstpointer key_a, gconstpointer key_b)
{
  const IrShapeData *a = key_a, *b = key_b;

  if (a->n != b->n || a->scalar != b->scalar)
    return FALSE;
  for (guint i = 0; i < a->n; i++)
    if (a->numbers[i].known != b->numbers[i].known ||
        (a->numbers[i].known ? a->numbers[i].value != b->numbers[i].value
                             : a->numbers[i].expr != b->numbers[i].expr))
      return FALSE;
  return TRUE;
}

/* The one output of a node whose contents may stand for it. */
static IrValue *
foldable_output (IrPassContext *context, const IrNode *node)
{
  IrValue *value = node->n_outputs == 1 ? node->outputs[0] : NULL;

  if (value == NULL || ir_node_valid_op (node) == NULL || value->n_uses == 0 ||
      ir_value_dtype (value) != IR_DTYPE_INT64 || ir_value_is_graph_output (value) ||
      (node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS)) || ir_op_is (node, IR_OP_CONSTANT) ||
      ir_pass_has_control (context, node))
    return NULL;
  return value;
}

static IrTensor *
tensor_of (const IrShapeData *data)
{
  g_autofree gint64 *values = g_new (gint64, MAX (data->n, 1));

  for (guint i = 0; i < data->n; i++)
    values[i] = data->numbers[i].value;
  return ir_tensor_new_int64s (values, data->scalar ? -1 : (gssize) data->n);
}

static void
fold_known (IrPassContext *context, IrNode *node, IrValue *value, const IrShapeData *data)
{
  g_autoptr (IrTensor) tensor = tensor_of (data);
  g_autofree char *text = ir_tensor_to_string (tensor, 6);
  IrValue *fresh;

  if (!ir_pass_begin (context, RULE_KNOWN, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (context->edit, "%s = %s by shape inference", value->name, text);
  fresh = ir_pass_add_constant (context, node->graph, value->name, tensor);
  ir_edit_replace_uses (context->edit, value, fresh);
  ir_edit_step_map_node (context->edit, node->id, 0);
  ir_pass_remove_node (context, node);
  ir_pass_end (context);
}

static void
merge_equal (IrPassContext *context, IrNode *node, IrValue *value, IrValue *first)
{
  if (!ir_type_at_least (first->type, value->type) ||
      !ir_pass_begin (context, RULE_EQUAL, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (context->edit, "%s holds the same", first->name);
  ir_edit_replace_uses (context->edit, value, first);
  ir_edit_step_map_node (context->edit, node->id, first->producer->id);
  ir_pass_remove_node (context, node);
  ir_pass_end (context);
}

/* -- Reshape -- */

/* The shape as a Reshape may spell it: constants, 0 for the input's own dimension, one -1. */
static IrTensor *
spelled_shape (const IrNode *node, const IrShapeData *data, const char **why)
{
  const IrType *from = node->inputs[0]->type;
  g_autofree gint64 *spelled = g_new (gint64, MAX (data->n, 1));
  guint n_symbols = 0, n_rest = 0, n_zeros = 0;
  gboolean had_rest = FALSE;

  for (guint i = 0; i < data->n; i++)
    {
      IrNumber number = data->numbers[i];

      spelled[i] = number.known ? number.value : -1;
      had_rest |= number.known && number.value == -1;
      n_symbols += !number.known;
      if (number.known && number.value == 0)
        *why = "a dimension of the shape is 0";
      if (number.known || number.expr == IR_DIM_UNKNOWN || !ir_type_is_tensor (from) ||
          (gint) i >= from->rank || from->dims[i] != number.expr)
        n_rest += !number.known;
      else
        {
          spelled[i] = 0;
          n_zeros++;
        }
    }
  if (*why != NULL)
    return NULL;
  if (n_symbols == 1 && !had_rest)
    {
      for (guint i = 0; i < data->n; i++)
        spelled[i] = data->numbers[i].known ? spelled[i] : -1;
      return ir_tensor_new_int64s (spelled, data->n);
    }
  if (n_rest + had_rest > 1)
    *why = "more than one dimension is neither constant nor the input's own";
  else if (n_rest == 1 && n_zeros > 0)
    *why = "with a 0 and a -1 an empty input would have no defined shape";
  return *why == NULL ? ir_tensor_new_int64s (spelled, data->n) : NULL;
}

static void
fold_reshape (IrPassContext *context, IrNode *node, GHashTable *contents)
{
  IrValue *shape = ir_node_input (node, 1), *fresh;
  const IrShapeData *data = shape != NULL ? g_hash_table_lookup (contents, shape) : NULL;
  const char *why = NULL;

  if (!ir_op_is (node, IR_OP_RESHAPE) || node->inputs[0] == NULL || shape == NULL ||
      ir_value_constant (shape) != NULL || data == NULL || data->scalar || ir_pass_is_open (node))
    return;
  if (ir_node_attr_int (node, "allowzero", 0) != 0)
    why = "allowzero: a 0 in the shape means 0";
  g_autoptr (IrTensor) tensor = why == NULL ? spelled_shape (node, data, &why) : NULL;
  if (tensor == NULL)
    {
      ir_edit_refuse (context->edit, RULE_RESHAPE, node->id, why);
      return;
    }
  if (!ir_pass_begin (context, RULE_RESHAPE, IR_CLASS_EXACT, node))
    return;
  g_autofree char *text = ir_tensor_to_string (tensor, 8);
  ir_edit_step_reason (context->edit, "the shape is %s", text);
  fresh = ir_pass_add_constant (context, node->graph, "shape", tensor);
  ir_edit_set_input (context->edit, node, 1, fresh);
  ir_pass_end (context);
}

/* -- the pass -- */

static void
fold_node (IrPassContext *context, IrNode *node, GHashTable *contents, GHashTable *seen)
{
  IrValue *value = foldable_output (context, node), *first;
  const IrShapeData *data = value != NULL ? g_hash_table_lookup (contents, value) : NULL;

  fold_reshape (context, node, contents);
  if (data == NULL)
    return;
  if (is_all_known (data))
    fold_known (context, node, value, data);
  else if (is_determined (data))
    {
      first = g_hash_table_lookup (seen, data);
      if (first == NULL)
        g_hash_table_insert (seen, (gpointer) data, value);
      else
        merge_equal (context, node, value, first);
    }
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);
  g_autoptr (GHashTable) contents = ir_infer_contents (context->model);

  for (guint i = 0; i < graphs->len; i++)
    {
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graphs->pdata[i]);
      g_autoptr (GHashTable) seen = g_hash_table_new (hash_data, equal_data);

      for (guint k = 0; k < nodes->len && !context->stopped; k++)
        {
          IrNode *node = nodes->pdata[k];

          if (ir_pass_cancelled (context, error))
            return FALSE;
          if (node->state == IR_STATE_LIVE)
            fold_node (context, node, contents, seen);
        }
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE_KNOWN, "a node whose integer result is known by shape inference", "an initializer",
    IR_CLASS_EXACT, "What shape inference knows in full is a constant." },
  { RULE_EQUAL, "two integer values that hold the same dimensions, symbols included", "one of them",
    IR_CLASS_EXACT, "What is computed twice from dimensions is computed once." },
  { RULE_RESHAPE, "a Reshape whose shape is computed from dimensions", "a Reshape by a constant",
    IR_CLASS_EXACT,
    "A shape of constants, dimensions of the input itself, and at most one other is a constant." },
  { NULL },
};

const IrPass ir_pass_fold_shapes = {
  .name = "fold-shapes",
  .title = "Fold shapes",
  .doc = "What is computed from dimensions, known or symbolic, becomes constant where inference "
         "knows it, and is shared where it is the same; a Reshape gets a constant shape.",
  .source = "ONNX Runtime ReshapeFusion; onnx/optimizer fuse_concat_into_reshape; Grappler "
            "MaterializeShapes",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Shape -> Gather -> Concat -> Reshape\nx, [0, 0, 12, 64] -> Reshape",
  .run = run,
  .documented_rules = rules,
};
