/* What the rows of attention.def, and those of transformer.def about attention and embeddings, name. */
#pragma once

/* clang-format off */
IR_DECLARE_INFER (attention)
IR_DECLARE_INFER (flex_attention)
IR_DECLARE_INFER (linear_attention)
IR_DECLARE_INFER (causal_conv)
IR_DECLARE_INFER (rotary_embedding)
IR_DECLARE_INFER (tensor_scatter)
IR_DECLARE_INFER (swiglu)
IR_DECLARE_INFER (packed_attention)
IR_DECLARE_INFER (half_rotary)
IR_DECLARE_INFER (pair_rotary)
IR_DECLARE_INFER (embed_layer_norm)

IR_DECLARE_COST (attention)
IR_DECLARE_COST (linear_attention)
IR_DECLARE_COST (causal_conv)
IR_DECLARE_COST (rotary_embedding)
IR_DECLARE_COST (packed_attention)

IR_DECLARE_REF (attention)
IR_DECLARE_REF (linear_attention)
IR_DECLARE_REF (causal_conv)
IR_DECLARE_REF (rotary_embedding)
IR_DECLARE_REF (tensor_scatter)
IR_DECLARE_REF (swiglu)
IR_DECLARE_REF (packed_attention)
IR_DECLARE_REF (half_rotary)
IR_DECLARE_REF (pair_rotary)
IR_DECLARE_REF (embed_layer_norm)

/* FlexAttention, between whose steps the runner runs the graphs of the node. Results: (transfer
 * full) (nullable). */
IrTensor *ir_ref_flex_attention_scores (IrCall *call, GError **error);
gboolean ir_ref_flex_attention_softmax (IrCall *call, IrTensor *scores, GError **error);
gboolean ir_ref_flex_attention_output (IrCall *call, const IrTensor *probs, GError **error);
const IrType *ir_flex_attention_input (const IrCall *call, const IrGraph *graph, guint input);
/* clang-format on */
