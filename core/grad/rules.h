/* The functions that GRAD columns name. */
#pragma once

#include "core/grad/vjp.h"

#define IR_VJP_FUNCTIONS(F)                                                                        \
  F (sum)                                                                                          \
  F (mean)                                                                                         \
  F (extreme)                                                                                      \
  F (clip)                                                                                         \
  F (cast)                                                                                         \
  F (gelu)                                                                                         \
  F (dropout)                                                                                      \
  F (quantize)                                                                                     \
  F (dequantize)                                                                                   \
  F (matmul)                                                                                       \
  F (gemm)                                                                                         \
  F (einsum)                                                                                       \
  F (conv)                                                                                         \
  F (conv_transpose)                                                                               \
  F (conv_grad_weight)                                                                             \
  F (col2im)                                                                                       \
  F (det)                                                                                          \
  F (inverse)                                                                                      \
  F (dft)                                                                                          \
  F (reduce_sum)                                                                                   \
  F (reduce_mean)                                                                                  \
  F (reduce_sum_square)                                                                            \
  F (reduce_extreme)                                                                               \
  F (reduce_prod)                                                                                  \
  F (reduce_l1)                                                                                    \
  F (reduce_l2)                                                                                    \
  F (reduce_log_sum)                                                                               \
  F (reduce_log_sum_exp)                                                                           \
  F (cum_sum)                                                                                      \
  F (softmax)                                                                                      \
  F (log_softmax)                                                                                  \
  F (batch_norm)                                                                                   \
  F (layer_norm)                                                                                   \
  F (rms_norm)                                                                                     \
  F (instance_norm)                                                                                \
  F (group_norm)                                                                                   \
  F (lp_norm)                                                                                      \
  F (lrn)                                                                                          \
  F (mean_variance)                                                                                \
  F (loss)                                                                                         \
  F (max_pool)                                                                                     \
  F (average_pool)                                                                                 \
  F (global_average_pool)                                                                          \
  F (global_max_pool)                                                                              \
  F (resize)                                                                                       \
  F (reshape)                                                                                      \
  F (transpose)                                                                                    \
  F (concat)                                                                                       \
  F (split)                                                                                        \
  F (slice)                                                                                        \
  F (pad)                                                                                          \
  F (tile)                                                                                         \
  F (trilu)                                                                                        \
  F (move)                                                                                         \
  F (same)                                                                                         \
  F (gather)                                                                                       \
  F (gather_elements)                                                                              \
  F (gather_nd)                                                                                    \
  F (scatter)                                                                                      \
  F (one_hot)                                                                                      \
  F (rotary)                                                                                       \
  F (lp_pool)                                                                                      \
  F (global_lp_pool)                                                                               \
  F (max_unpool)                                                                                   \
  F (top_k)                                                                                        \
  F (unique)                                                                                       \
  F (if)                                                                                           \
  F (loop)                                                                                         \
  F (scan)                                                                                         \
  F (sequence_map)                                                                                 \
  F (sequence_construct)                                                                           \
  F (sequence_at)                                                                                  \
  F (sequence_insert)                                                                              \
  F (sequence_erase)                                                                               \
  F (split_to_sequence)                                                                            \
  F (concat_from_sequence)                                                                         \
  F (optional)                                                                                     \
  F (optional_get_element)

#define F(NAME) gboolean ir_vjp_##NAME (IrVjp *vjp, GError **error);
IR_VJP_FUNCTIONS (F)
#undef F

#define IR_EXPANSIONS(F)                                                                           \
  F (attention)                                                                                    \
  F (flex_attention)                                                                               \
  F (linear_attention)                                                                             \
  F (causal_conv)                                                                                  \
  F (tensor_scatter)                                                                               \
  F (cum_prod)                                                                                     \
  F (stft)                                                                                         \
  F (grid_sample)                                                                                  \
  F (affine_grid)                                                                                  \
  F (deform_conv)                                                                                  \
  F (roi_align)                                                                                    \
  F (max_roi_pool)                                                                                 \
  F (rnn)                                                                                          \
  F (gru)                                                                                          \
  F (lstm)

#define F(NAME) gboolean ir_expand_##NAME (const IrVjp *emit, IrValue **outputs, GError **error);
IR_EXPANSIONS (F)
#undef F

#define IR_DUAL_FUNCTIONS(F)                                                                       \
  F (if)                                                                                           \
  F (loop)                                                                                         \
  F (scan)                                                                                         \
  F (sequence_map)                                                                                 \
  F (einsum)

#define F(NAME) gboolean ir_dual_##NAME (IrDual *dual, GError **error);
IR_DUAL_FUNCTIONS (F)
#undef F

/* -- which output besides the first they read -- */
guint ir_keep_places (const IrNode *node);
guint ir_keep_mask (const IrNode *node);
