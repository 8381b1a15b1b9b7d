/* What the rows of recurrent.def and of transforms and image operators name. */
#pragma once

/* clang-format off */
/* -- recurrent.def -- */
IR_DECLARE_INFER (rnn)
IR_DECLARE_INFER (gru)
IR_DECLARE_INFER (lstm)
IR_DECLARE_REF (rnn)
IR_DECLARE_REF (gru)
IR_DECLARE_REF (lstm)
IR_DECLARE_COST (recurrent)
IR_DECLARE_ADAPT (recurrent)

/* -- linear.def -- */
IR_DECLARE_INFER (einsum)
IR_DECLARE_REF (einsum)
IR_DECLARE_COST (einsum)

/* -- signal.def -- */
IR_DECLARE_INFER (dft)
IR_DECLARE_INFER (stft)
IR_DECLARE_INFER (mel_weight_matrix)
IR_DECLARE_REF (dft)
IR_DECLARE_REF (stft)
IR_DECLARE_REF (mel_weight_matrix)
IR_DECLARE_COST (dft)
IR_DECLARE_ADAPT (dft)

/* -- image.def -- */
IR_DECLARE_INFER (col2im)
IR_DECLARE_INFER (affine_grid)
IR_DECLARE_INFER (center_crop_pad)
IR_DECLARE_INFER (max_unpool)
IR_DECLARE_INFER (max_roi_pool)
IR_DECLARE_INFER (deform_conv)
IR_DECLARE_REF (col2im)
IR_DECLARE_REF (affine_grid)
IR_DECLARE_REF (center_crop_pad)
IR_DECLARE_REF (max_unpool)
IR_DECLARE_REF (max_roi_pool)
IR_DECLARE_REF (deform_conv)

/* -- reduce.def -- */
IR_DECLARE_INFER (cumulate)
IR_DECLARE_REF (cum_prod)
/* clang-format on */
