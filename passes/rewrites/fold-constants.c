/* Computes what depends on constants only:
 *
 *     constants --Op--> y        y as an initializer
 *     x --Shape--> y             y as an initializer, if the shape of x is known
 *
 * By the reference kernels, or without one where elements only move (fold-direct.c), in topological
 * order, so a chain folds in one run. Not folded: random
 * operators, operators with subgraphs, Constant (it is one), QuantizeLinear and its kin (the
 * pattern is what quantized back ends look for), and results above the limit that are bigger than
 * what they are made of (a ConstantOfShape can be huge). An overridable initializer is no constant.
 * A result that is an output of the graph becomes an initializer under the output's name. Source:
 * ONNX Runtime ConstantFolding; onnx-simplifier. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rewrites/fold-direct.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE_FOLD  "fold-constants"
#define RULE_SHAPE "fold-shape"

static const char *const kept_ops[] = { "Constant",
                                        "QuantizeLinear",
                                        "DequantizeLinear",
                                        "DynamicQuantizeLinear",
                                        "Dropout",
                                        "Optional",
                                        "Print",
                                        NULL };

static gboolean
all_inputs_constant (const IrNode *node)
{
  guint n = 0;

  ir_node_for_each_input (node, i, value)
    {
      if (ir_value_constant (value) == NULL)
        return FALSE;
      n++;
    }
  return n > 0 || node->n_inputs == 0;
}

/* Dimensions of @value over the axes that Shape asks for; NULL if some is not known. */
static IrTensor *
known_shape (const IrNode *node)
{
  const IrType *type = node->inputs[0]->type;
  gint64 rank, start, end;

  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type))
    return NULL;
  rank = type->rank;
  start = ir_node_attr_int (node, "start", 0);
  end = ir_node_attr_int (node, "end", rank);
  start = CLAMP (start < 0 ? start + rank : start, 0, rank);
  end = CLAMP (end < 0 ? end + rank : end, 0, rank);
  for (gint64 i = start; i < end; i++)
    if (!ir_dim_is_known (type->dims[i]))
      return NULL;
  return ir_tensor_new_int64s (type->dims + start, MAX (end - start, 0));
}

static IrTensor *
known_size (const IrNode *node)
{
  guint64 n;
  gint64 size;

  if (!ir_type_is_static (node->inputs[0]->type) ||
      !ir_type_n_elements (node->inputs[0]->type, &n) || n > G_MAXINT64)
    return NULL;
  size = n;
  return ir_tensor_new_int64s (&size, -1);
}

/* Results of @node that need no contents; only Shape and Size have such. */
static gboolean
fold_by_type (const IrNode *node, IrTensor **outputs)
{
  if (node->n_inputs != 1 || node->inputs[0] == NULL || node->n_outputs != 1)
    return FALSE;
  if (ir_op_is (node, IR_OP_SHAPE))
    outputs[0] = known_shape (node);
  else if (ir_op_is (node, IR_OP_SIZE))
    outputs[0] = known_size (node);
  return outputs[0] != NULL;
}

/* Bytes that a result may have: the limit, or as many as what it is made of, as a Transpose of
 * weights has. */
static gsize
most_bytes (const IrPassContext *context, const IrNode *node)
{
  gsize bytes = 0;

  ir_node_for_each_input (node, slot, value)
    {
      const IrTensor *constant = ir_value_constant (value);
      bytes += constant != NULL ? ir_tensor_n_bytes (constant) : 0;
    }
  return MAX (bytes, ir_pass_option_is_set (context->priv->pass, "limit")
                         ? ir_pass_option_number (context->priv->pass, "limit")
                         : context->fold_limit_bytes);
}

static gboolean
small_enough (IrPassContext *context, const IrNode *node, const char **why)
{
  for (guint i = 0; i < node->n_outputs; i++)
    {
      gsize bytes;

      if (node->outputs[i] != NULL && node->outputs[i]->type != NULL &&
          ir_type_n_bytes (node->outputs[i]->type, &bytes) && bytes > most_bytes (context, node))
        {
          *why = "the result is bigger than the limit, and than what it is made of";
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
may_evaluate (IrPassContext *context, const IrNode *node, const char **why)
{
  if (!all_inputs_constant (node))
    return FALSE;
  if (!ir_node_is_valid (node))
    *why = "it does not fit its operator";
  else if (node->op == NULL || ir_ref_kernel (node->op) == NULL)
    *why = "there is no reference kernel";
  else if (node->op->flags & IR_OP_RANDOM)
    *why = "the operator is random";
  else if (node->op->flags & IR_OP_SUBGRAPHS)
    *why = "the operator has subgraphs";
  else
    return small_enough (context, node, why);
  return FALSE;
}

/* Kernels of back ends may round otherwise than the reference does. Integers, strings and the like
 * have one right result, and the reference kernels begin soonest. */
static const IrBackend *
backend_of (const IrPassContext *context, const IrNode *node)
{
  const IrValue *output = ir_node_output (node, 0);

  return output != NULL && output->type != NULL && ir_type_is_tensor (output->type) &&
                 ir_dtype_is_float (output->type->dtype)
             ? context->backend
             : NULL;
}

static gboolean
evaluate (IrPassContext *context,
          const IrNode *node,
          IrFoldSplats *splats,
          IrTensor **outputs,
          char **why)
{
  g_autofree const IrTensor **inputs = g_new0 (const IrTensor *, MAX (node->n_inputs, 1));
  g_autoptr (GError) error = NULL;

  outputs[0] = ir_fold_directly (node, splats);
  if (outputs[0] != NULL)
    return TRUE;
  ir_node_for_each_input (node, i, value)
    inputs[i] = ir_value_constant (value);
  if (ir_eval_node (node, inputs, outputs, backend_of (context, node), most_bytes (context, node),
                    &error))
    {
      for (guint i = 0; i < node->n_outputs && *why == NULL; i++)
        if (outputs[i] != NULL && ir_tensor_is_container (outputs[i]))
          *why = g_strdup ("a model has no constants that are sequences or optionals");
      return *why == NULL;
    }
  *why = g_strdup (error != NULL ? error->message : "the kernel failed");
  return FALSE;
}

/* An output of the graph keeps its name: the initializer takes its place there. */
static void
materialize_output (IrEdit *edit, IrValue *old, IrValue *with)
{
  const char *name = old->name;

  while (ir_value_is_graph_output (old))
    {
      IrGraph *graph = ir_value_use (old, old->n_uses - 1).graph;
      guint n = ir_graph_n_outputs (graph);
      g_autofree IrValue **values = g_new (IrValue *, n);

      for (guint i = 0; i < n; i++)
        {
          values[i] = ir_graph_output (graph, i);
          if (values[i] == old)
            values[i] = with;
        }
      ir_edit_set_graph_outputs (edit, graph, values, n);
    }
  ir_edit_rename_value (edit, old, ir_edit_unique_name (edit, name));
  ir_edit_rename_value (edit, with, name);
  ir_edit_set_flags (edit, with, with->flags | old->flags);
  if (old->type != NULL && ir_type_at_least (old->type, with->type))
    ir_edit_set_type (edit, with, old->type);
}

/* @to waits for what @node waits for, itself or by constants that it reads. */
static void
wait_as (IrPassContext *context, IrNode *to, const IrNode *node)
{
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    ir_edit_add_control (context->edit, to, ir_model_node (context->model, node->controls->ids[i]));
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && node->inputs[i]->producer != NULL)
      wait_as (context, to, node->inputs[i]->producer);
}

/* @waits: it is there where @node would run alone, which waits for that; else everywhere */
static IrValue *
add_result (
    IrPassContext *context, const IrNode *node, const char *name, IrTensor *tensor, gboolean waits)
{
  IrNode *constant;

  if (!waits)
    return ir_pass_add_constant (context, node->graph, name, tensor);
  constant = ir_edit_add_node (context->edit, node->graph, "Constant", NULL, NULL, 0, NULL, 1);
  ir_edit_set_attr (context->edit, constant,
                    ir_attr_tensor (context->model->context, "value", tensor));
  wait_as (context, constant, node);
  ir_frames_add (ir_pass_frames (context, node->graph), constant);
  return constant->outputs[0];
}

static void
write_fold (IrPassContext *context, IrNode *node, IrTensor **outputs)
{
  IrEdit *edit = context->edit;
  const gboolean waits = !ir_pass_is_everywhere (context, node);
  guint n = node->n_outputs;
  g_autofree IrValue **old = g_memdup2 (node->outputs, MAX (n, 1) * sizeof (IrValue *));
  g_autofree IrValue **fresh = g_new0 (IrValue *, MAX (n, 1));

  for (guint i = 0; i < n; i++)
    {
      if (old[i] == NULL || old[i]->n_uses == 0)
        continue;
      fresh[i] = add_result (context, node, old[i]->name, outputs[i], waits);
      if (ir_value_is_graph_output (old[i]))
        materialize_output (edit, old[i], fresh[i]);
      ir_edit_replace_uses (edit, old[i], fresh[i]);
    }
  ir_edit_step_map_node (edit, node->id, 0);
  ir_pass_remove_node (context, node);
  for (guint i = 0; i < n; i++)
    if (fresh[i] != NULL)
      ir_pass_take_name (context, old[i], fresh[i]);
}

static char *
describe (const IrNode *node, IrTensor **outputs)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (outputs[i] != NULL && ir_dtype_kind (ir_tensor_dtype (outputs[i])) != IR_DTYPE_KIND_STRING)
      {
        g_autofree char *text = ir_tensor_to_string (outputs[i], 6);
        return g_strdup_printf ("%s = %s", node->outputs[i] != NULL ? node->outputs[i]->name : "",
                                text);
      }
  return g_strdup ("all inputs are constant");
}

static gboolean
outputs_fit (const IrNode *node, IrTensor **outputs)
{
  gboolean any = FALSE;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      if (node->outputs[i] == NULL || node->outputs[i]->n_uses == 0)
        continue;
      if (outputs[i] == NULL)
        return FALSE;
      any = TRUE;
    }
  return any;
}

static void
fold_node (IrPassContext *context, IrNode *node, IrFoldSplats *splats)
{
  g_autofree IrTensor **outputs = g_new0 (IrTensor *, MAX (node->n_outputs, 1));
  g_autofree char *text = NULL;
  const char *rule = RULE_FOLD, *why = NULL;
  gboolean folds;

  if (g_strv_contains (kept_ops, node->op_type) || ir_pass_is_control_source (context, node) ||
      (node->controls != NULL && !ir_graph_has_tokens (node->graph)) || ir_pass_is_open (node))
    return;
  folds = fold_by_type (node, outputs);
  if (folds)
    rule = RULE_SHAPE;
  else if ((folds = may_evaluate (context, node, &why)))
    folds = ir_pass_rule_enabled (context, rule, IR_CLASS_EXACT) &&
            evaluate (context, node, splats, outputs, &text);
  if (folds && !all_inputs_constant (node) && !ir_pass_is_everywhere (context, node))
    {
      folds = FALSE;
      why = "a constant would live where this is dead, or outside of its frame";
    }
  if (folds && outputs_fit (node, outputs) && ir_pass_begin (context, rule, IR_CLASS_EXACT, node))
    {
      g_autofree char *reason = describe (node, outputs);

      ir_edit_step_reason (context->edit, "%s", reason);
      write_fold (context, node, outputs);
      ir_pass_end (context);
      ir_pass_keep_frames (context);
    }
  else if (text != NULL || why != NULL)
    ir_edit_refuse (context->edit, rule, node->id, text != NULL ? text : why);
  for (guint i = 0; i < MAX (node->n_outputs, 1); i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);
  g_autoptr (IrFoldSplats) splats = ir_fold_splats_new ();

  for (guint i = 0; i < graphs->len; i++)
    {
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graphs->pdata[i]);

      for (guint k = 0; k < nodes->len && !context->stopped; k++)
        {
          IrNode *node = nodes->pdata[k];

          if (ir_pass_cancelled (context, error))
            return FALSE;
          if (node->state == IR_STATE_LIVE)
            fold_node (context, node, splats);
        }
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE_FOLD, "a node whose inputs are all constant", "an initializer", IR_CLASS_EXACT,
    "What depends on constants only is computed once, by the reference kernel." },
  { RULE_SHAPE, "Shape or Size of a value of known shape", "an initializer", IR_CLASS_EXACT,
    "A shape that is known without running is a constant." },
  { NULL },
};

static const IrPassOption options[] = {
  { "limit", IR_PASS_OPTION_BYTES, "64M",
    "Largest result that outgrows the constants that it is made of." },
  { NULL },
};

const IrPass ir_pass_fold_constants = {
  .name = "fold-constants",
  .title = "Fold constants",
  .doc =
      "Computes nodes whose inputs are all constant, and Shape and Size of values of known "
      "shape. Random operators, quantization and results above a limit that outgrow what they are "
      "made of are left alone.",
  .source = "ONNX Runtime ConstantFolding; onnx-simplifier",
  .step_class = IR_CLASS_EXACT,
  .before_after = "const -> Unsqueeze -> y\nconst y",
  .run = run,
  .tokens = TRUE,
  .documented_rules = rules,
  .options = options,
};
