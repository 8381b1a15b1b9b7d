/* The reference kernels: the REF column of the op table. */
#pragma once

#include "core/exec/kernel/backend.h"
#include "core/op/rows.h"

#define REF(kernel) gboolean kernel (IrCall *call, GError **error);
#include "core/op/ops.def"

gboolean ir_ref_run (IrCall *call, GError **error);

/* FlexAttention, between whose steps the runner runs the graphs of the node. Results: (transfer
 * full) (nullable). */
IrTensor *ir_ref_flex_attention_scores (IrCall *call, GError **error);
gboolean ir_ref_flex_attention_softmax (IrCall *call, IrTensor *scores, GError **error);
gboolean ir_ref_flex_attention_output (IrCall *call, const IrTensor *probs, GError **error);
