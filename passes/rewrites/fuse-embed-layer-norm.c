/* The beginning of an encoder: rows of three tables, added up and normalized.
 *
 *     e = Gather (words, i) + Gather (types, j) + Gather (positions, k)
 *     y = LayerNormalization (e, g, b)                 y = EmbedLayerNormalization (words, i, ...)
 *
 * ONNX has no operator for it; irscope's has a body. The sum keeps its order; the kernels of the
 * normalization may differ: rounding. Source: ONNX Runtime EmbedLayerNormFusion; Devlin and others
 * 2019 (BERT). */
#include "config.h"

#include "passes/rewrites/norm-match.h"
#include "passes/rule/step.h"

/* A row per id: Gather along the first axis of a matrix. */
static gboolean
is_embedding (IrMatch *match, const char *label)
{
  const IrNode *gather = ir_match_node (match, label);
  const IrType *table = gather->inputs[0]->type, *ids = gather->inputs[1]->type;
  gint64 axis = ir_node_attr_int (gather, "axis", 0);

  if (!ir_type_is_tensor (table) || table->rank != 2 || (axis != 0 && axis != -2))
    return ir_match_fail (match, "%s does not take rows of a matrix", gather->outputs[0]->name);
  if (!ir_type_is_tensor (ids) || !ir_type_has_rank (ids))
    return ir_match_fail (match, "the shape of the ids is not known");
  return TRUE;
}

static gboolean
when (IrMatch *match)
{
  const IrNode *norm = ir_match_root (match);
  gint64 axis = ir_node_attr_int (norm, "axis", -1);
  int rank = ir_value_rank (norm->inputs[0]);
  const IrDim *words;

  if (!is_embedding (match, "w") || !is_embedding (match, "t") || !is_embedding (match, "p"))
    return FALSE;
  words = ir_match_value (match, "words")->type->dims;
  if (!ir_dim_is_known (words[1]) || words[1] < 1 ||
      ir_match_value (match, "types")->type->dims[1] != words[1] ||
      ir_match_value (match, "positions")->type->dims[1] != words[1])
    return ir_match_fail (match, "the rows of the tables are not of one known size");
  if (rank < 1 || (axis != -1 && axis != rank - 1))
    return ir_match_fail (match, "the normalization is not over the last axis alone");
  if (norm->n_outputs > 1 && (ir_node_output (norm, 1) != NULL || ir_node_output (norm, 2) != NULL))
    return ir_match_fail (match, "mean or deviation are wanted too");
  if (ir_node_attr_int (norm, "stash_type", IR_DTYPE_FLOAT) != IR_DTYPE_FLOAT)
    return ir_match_fail (match, "the statistics are not in float");
  return ir_match_scales_last_axis (match, "g", "words") &&
         ir_match_scales_last_axis (match, "b", "words") && ir_match_is_float32 (match);
}

static gboolean
prepare (IrMatch *match)
{
  IrContext *context = ir_match_context (match)->model->context;
  double epsilon = ir_node_attr_float (ir_match_root (match), "epsilon", 1e-5);

  ir_match_bind_attr (match, "epsilon", ir_attr_float (context, "epsilon", (float) epsilon));
  return TRUE;
}

#define SUM "(Add (Add (Gather@w ?words ?i) (Gather@t ?types ?j)) (Gather@p ?positions ?k))"
#define RESULT                                                                                     \
  "(irscope.EmbedLayerNormalization{epsilon=?epsilon} ?words ?i ?types ?j ?positions ?k ?g ?b)"
#define EXAMPLE(OPSET, NORM)                                                                       \
  "<ir_version: 8, opset_import: [\"\" : " OPSET ", \"irscope\" : 1]>\n"                           \
  "g (float[n,3] x, float[5,6] W, float[2,6] T, float[4,6] P, float[6] G, float[6] B) => "         \
  "(float[n,3,6] y) { i = Cast <to: int = 7> (x)  r = Sign (i)  a = Abs (r)  "                     \
  "k = Constant <value = int64[1,3] {0,2,3}> ()  w = Gather (W, a)  t = Gather (T, a)  "           \
  "p = Gather (P, k)  u = Add (w, t)  e = Add (u, p)  y = " NORM " (e, G, B) }"

static const IrRule rules[] = {
  { "fuse-embed-layer-norm", "(LayerNormalization " SUM " ?g ?b)", RESULT, IR_CLASS_ROUNDING,
    "The normalized sum of three embeddings is one operator.", EXAMPLE ("17", "LayerNormalization"),
    when, prepare },
  { "fuse-late-embed-layer-norm", "(irscope.LayerNormalization " SUM " ?g ?b)", RESULT,
    IR_CLASS_ROUNDING, "The same, normalized by irscope's operator.",
    EXAMPLE ("13", "irscope.LayerNormalization"), when, prepare },
  { NULL },
};

const IrPass ir_pass_fuse_embed_layer_norm = {
  .name = "fuse-embed-layer-norm",
  .title = "Fuse embeddings into LayerNormalization",
  .doc = "Rows of three tables (words, types, positions), added up and normalized over the last "
         "axis, become one operator of irscope.",
  .source = "ONNX Runtime EmbedLayerNormFusion; Devlin and others 2019",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "ids -> Gather (three times) -> Add, Add -> LayerNormalization -> y\n"
                  "ids -> EmbedLayerNormalization -> y",
  .rules = rules,
};
