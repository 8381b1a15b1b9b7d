/* What the rows of loss.def, resize.def, quantize.def, recurrent.def, detection.def, signal.def,
 * text.def and training.def name. */
#pragma once

/* clang-format off */
/* -- loss.def -- */
IR_DECLARE_INFER (nll_loss)
IR_DECLARE_INFER (softmax_cross_entropy_loss)
IR_DECLARE_REF (nll_loss)
IR_DECLARE_REF (softmax_cross_entropy_loss)
IR_DECLARE_COST (softmax_cross_entropy_loss)

/* -- resize.def -- */
IR_DECLARE_INFER (resize)
IR_DECLARE_REF (resize)
IR_DECLARE_COST (resize)
IR_DECLARE_ADAPT (resize)
IR_DECLARE_ADAPT (upsample)
IR_DECLARE_ADAPT (upsample_names)

/* -- text.def -- */
IR_DECLARE_INFER (string_normalizer)
IR_DECLARE_INFER (tf_idf_vectorizer)
IR_DECLARE_INFER (unique)
IR_DECLARE_REF (string_normalizer)
IR_DECLARE_REF (tf_idf_vectorizer)
IR_DECLARE_REF (unique)
IR_DECLARE_INFER (string_concat)
IR_DECLARE_INFER (string_split)
IR_DECLARE_INFER (regex_full_match)
IR_DECLARE_REF (string_concat)
IR_DECLARE_REF (string_split)
IR_DECLARE_REF (regex_full_match)

/* -- detection.def -- */
IR_DECLARE_INFER (non_max_suppression)
IR_DECLARE_INFER (grid_sample)
IR_DECLARE_INFER (roi_align)
IR_DECLARE_INFER (image_decoder)
IR_DECLARE_REF (image_decoder)
IR_DECLARE_REF (non_max_suppression)
IR_DECLARE_REF (grid_sample)
IR_DECLARE_REF (roi_align)
IR_DECLARE_COST (non_max_suppression)
IR_DECLARE_ADAPT (roi_align)

/* -- quantize.def -- */
IR_DECLARE_INFER (quantize_linear)
IR_DECLARE_INFER (dequantize_linear)
IR_DECLARE_INFER (dynamic_quantize_linear)
IR_DECLARE_INFER (matmul_integer)
IR_DECLARE_INFER (q_linear_matmul)
IR_DECLARE_INFER (conv_integer)
IR_DECLARE_INFER (q_linear_conv)
IR_DECLARE_REF (quantize_linear)
IR_DECLARE_REF (dequantize_linear)
IR_DECLARE_REF (dynamic_quantize_linear)
IR_DECLARE_REF (matmul_integer)
IR_DECLARE_REF (q_linear_matmul)
IR_DECLARE_REF (conv_integer)
IR_DECLARE_REF (q_linear_conv)
IR_DECLARE_COST (conv_integer)
IR_DECLARE_COST (q_linear_conv)
IR_DECLARE_COST (q_linear_matmul)

/* -- sequence.def -- */
IR_DECLARE_INFER (sequence_empty)
IR_DECLARE_INFER (sequence_construct)
IR_DECLARE_INFER (sequence_at)
IR_DECLARE_INFER (sequence_insert)
IR_DECLARE_INFER (sequence_erase)
IR_DECLARE_INFER (sequence_length)
IR_DECLARE_INFER (split_to_sequence)
IR_DECLARE_INFER (concat_from_sequence)
IR_DECLARE_INFER (optional)
IR_DECLARE_INFER (optional_has_element)
IR_DECLARE_INFER (optional_get_element)
IR_DECLARE_REF (sequence_empty)
IR_DECLARE_REF (sequence_construct)
IR_DECLARE_REF (sequence_at)
IR_DECLARE_REF (sequence_insert)
IR_DECLARE_REF (sequence_erase)
IR_DECLARE_REF (sequence_length)
IR_DECLARE_REF (split_to_sequence)
IR_DECLARE_REF (concat_from_sequence)
IR_DECLARE_REF (optional)
IR_DECLARE_REF (optional_has_element)
IR_DECLARE_REF (optional_get_element)

/* -- signal.def -- */
IR_DECLARE_INFER (signal_window)
IR_DECLARE_INFER (det)
IR_DECLARE_REF (hann_window)
IR_DECLARE_REF (hamming_window)
IR_DECLARE_REF (blackman_window)
IR_DECLARE_REF (det)

/* -- random numbers of constant.def -- */
IR_DECLARE_REF (random_uniform)
IR_DECLARE_REF (random_normal)
IR_DECLARE_REF (bernoulli)
IR_DECLARE_REF (multinomial)

/* -- training.def -- */
IR_DECLARE_INFER (adagrad)
IR_DECLARE_INFER (adam)
IR_DECLARE_INFER (momentum)
IR_DECLARE_REF (adagrad)
IR_DECLARE_REF (adam)
IR_DECLARE_REF (momentum)
IR_DECLARE_COST (optimizer)
IR_DECLARE_INFER (gradient)
IR_DECLARE_INFER (reduce_sum_to)
IR_DECLARE_REF (gradient)
IR_DECLARE_REF (reduce_sum_to)
/* clang-format on */
