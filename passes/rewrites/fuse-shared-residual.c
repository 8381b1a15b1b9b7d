/* A residual that a LayerNormalization reads, and others too, becomes part of it:
 *
 *     s = Add (x, z)
 *     y = LayerNormalization (s, g, b)          y, s = AddLayerNormalization (x, z, g, b)
 *     t = Add (s, w)                            t = Add (s, w)
 *
 * Transformers that normalize first carry the sum on to the next residual. ONNX has no operator for
 * it; irscope's has a body with two outputs. Where the sum has no other reader,
 * fuse-skip-layer-norm takes it. Scale and bias are constants or inputs of the graph: what is
 * computed might need the sum. O(nodes). Source: ONNX Runtime SkipLayerNormFusion, with its output
 * of the sum. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE "fuse-shared-residual"

static gboolean
refuse (IrPassContext *context, const IrNode *norm, const char *reason)
{
  ir_edit_refuse (context->edit, RULE, norm->id, reason);
  return FALSE;
}

/* A vector as long as the last axis of @x, that is there before anything is computed. */
static gboolean
is_vector_for (const IrValue *vector, const IrType *x)
{
  return vector != NULL && (ir_value_constant (vector) != NULL || vector->producer == NULL) &&
         ir_value_rank (vector) == 1 && vector->type->dims[0] != IR_DIM_UNKNOWN &&
         vector->type->dims[0] == x->dims[x->rank - 1];
}

static gboolean
is_norm (const IrNode *node)
{
  return strcmp (node->op_type, "LayerNormalization") == 0 &&
         (node->domain[0] == '\0' || strcmp (node->domain, "irscope") == 0) &&
         node->n_inputs == 3 && node->n_outputs >= 1 && node->inputs[0] != NULL;
}

static gboolean
norm_fits (IrPassContext *context, const IrNode *norm)
{
  const IrType *x = norm->inputs[0]->type;
  gint64 axis = ir_node_attr_int (norm, "axis", -1);

  if (!ir_type_is_tensor (x) || x->dtype != IR_DTYPE_FLOAT || x->rank < 1)
    return refuse (context, norm, "the fused operator is for float only, of known shape");
  if (axis != -1 && axis != x->rank - 1)
    return refuse (context, norm, "the normalization is not over the last axis alone");
  if (ir_node_output (norm, 1) != NULL || ir_node_output (norm, 2) != NULL)
    return refuse (context, norm, "mean or deviation are wanted too");
  if (ir_node_attr_int (norm, "stash_type", IR_DTYPE_FLOAT) != IR_DTYPE_FLOAT)
    return refuse (context, norm, "the statistics are not in float");
  if (!is_vector_for (norm->inputs[1], x) || !is_vector_for (norm->inputs[2], x))
    return refuse (context, norm, "scale or bias are no vectors that are there from the start");
  return TRUE;
}

static gboolean
sum_fits (IrPassContext *context, const IrNode *norm, const IrNode *sum)
{
  if (sum->graph != norm->graph || sum->device != norm->device)
    return refuse (context, norm, "the sum is in another graph or on another device");
  if (ir_node_opset (sum) < 13)
    return refuse (context, norm, "the opset is below 13, that of the operator's body");
  if (!ir_types_identical (sum->inputs[0]->type, sum->inputs[1]->type))
    return refuse (context, norm, "the two summands do not provably have one shape");
  return TRUE;
}

static void
write_fused (IrPassContext *context, IrNode *norm, IrNode *sum)
{
  IrEdit *edit = context->edit;
  IrValue *inputs[] = { sum->inputs[0], sum->inputs[1], norm->inputs[1], norm->inputs[2] };
  double epsilon = ir_node_attr_float (norm, "epsilon", 1e-5f);
  IrNode *fresh = ir_edit_add_node (edit, norm->graph, "AddLayerNormalization", "irscope", NULL, 4,
                                    inputs, 2);

  ir_pass_import (context, norm->graph, "irscope");
  ir_edit_set_attr (edit, fresh, ir_attr_float (context->model->context, "epsilon", epsilon));
  ir_infer_node (edit, fresh, NULL);
  ir_pass_replace_node (context, norm, fresh->outputs[0]);
  ir_pass_replace_node (context, sum, fresh->outputs[1]);
}

static void
visit (IrPassContext *context, IrNode *norm)
{
  IrNode *sum = is_norm (norm) ? norm->inputs[0]->producer : NULL;

  if (sum == NULL || !ir_op_is (sum, IR_OP_ADD) || norm->inputs[0]->n_uses < 2 ||
      ir_pass_is_open (norm) || ir_pass_has_control (context, norm) ||
      ir_pass_has_control (context, sum) || !norm_fits (context, norm) ||
      !sum_fits (context, norm, sum) || !ir_pass_begin (context, RULE, IR_CLASS_ROUNDING, norm))
    return;
  ir_edit_step_reason (context->edit, "%s is read %u times", norm->inputs[0]->name,
                       norm->inputs[0]->n_uses);
  write_fused (context, norm, sum);
  ir_pass_end (context);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  return ir_pass_visit_nodes (context, visit, error);
}

static const IrRule rules[] = {
  { RULE, "Add that LayerNormalization over the last axis reads, and others too",
    "irscope.AddLayerNormalization, which gives the sum too", IR_CLASS_ROUNDING,
    "A residual that is normalized and carried on is one operator with the normalization." },
  { NULL },
};

const IrPass ir_pass_fuse_shared_residual = {
  .name = "fuse-shared-residual",
  .title = "Fuse residuals that are carried on into LayerNormalization",
  .doc = "A sum of two values of one shape that a LayerNormalization over the last axis reads, and "
         "other nodes too, becomes part of it: an operator that gives both.",
  .source = "ONNX Runtime SkipLayerNormFusion",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x, z -> Add -> s; s -> LayerNormalization -> y\n"
                  "x, z -> AddLayerNormalization -> y, s",
  .run = run,
  .documented_rules = rules,
};
