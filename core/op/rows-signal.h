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
/* clang-format on */
