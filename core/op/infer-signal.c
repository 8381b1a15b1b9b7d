/* Inference of operators on signals. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

/* Sets the output to [size]; HannWindow, HammingWindow and BlackmanWindow. Source: ONNX
 * HannWindow 17. */
gboolean
ir_infer_signal_window (IrCall *call, GError **error)
{
  gint64 code = ir_call_int (call, "output_datatype", IR_DTYPE_FLOAT);
  g_autofree IrNumber *size = NULL;
  IrDim dim = IR_DIM_UNKNOWN;
  guint n = 0;

  if (!ir_dtype_is_valid (code) || code == IR_DTYPE_UNDEFINED)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "output_datatype is %" G_GINT64_FORMAT ", not an element type", code);
  if (!ir_call_check_integers (call, 0, 1, error))
    return FALSE;
  if (ir_call_input_numbers (call, 0, &size, &n) && n == 1)
    {
      if (size[0].known && size[0].value < 0)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "size is %" G_GINT64_FORMAT,
                             size[0].value);
      dim = ir_dim_from_number (size[0]);
    }
  ir_call_set_output_tensor_type (call, 0, (IrDtype) code, 1, &dim);
  return TRUE;
}

/* X [.., M, M]. Sets the output to the leading dims. Source: ONNX Det 22. */
gboolean
ir_infer_det (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  IrDim same;

  if (rank != IR_RANK_UNKNOWN && rank < 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has %d dims, matrices are needed",
                         rank);
  if (rank != IR_RANK_UNKNOWN &&
      !ir_call_same_dim (call, dims[rank - 2], dims[rank - 1], "rows and columns", &same, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0),
                                  rank == IR_RANK_UNKNOWN ? rank : rank - 2, dims);
  return TRUE;
}

/* An integer input of one element; unknown where it is absent or not known. */
static gboolean
scalar_number (const IrCall *call, guint slot, IrNumber *number, GError **error)
{
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  int rank = ir_call_input_rank (call, slot);

  *number = ir_number_unknown ();
  if (!ir_call_has_input (call, slot))
    return TRUE;
  if (!ir_call_check_integers (call, slot, 1, error))
    return FALSE;
  gboolean known = ir_call_input_numbers (call, slot, &numbers, &n);
  if (rank > 1 || (known && n != 1))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u must be one integer", slot);
  if (known)
    *number = numbers[0];
  return TRUE;
}

/* As scalar_number(), a size of at least @least. */
static gboolean
scalar_size (const IrCall *call, guint slot, gint64 least, IrDim *size, GError **error)
{
  IrNumber number;

  if (!scalar_number (call, slot, &number, error))
    return FALSE;
  if (number.known && number.value < least)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "input %u is %" G_GINT64_FORMAT ", at least %" G_GINT64_FORMAT
                         " is needed",
                         slot, number.value, least);
  *size = ir_dim_from_number (number);
  return TRUE;
}

/* The last axis tells real (1) from complex (2). */
static gboolean
check_parts (const IrCall *call, IrDim parts, IrDim refused, GError **error)
{
  if (!ir_dim_is_known (parts))
    return TRUE;
  if (parts != 1 && parts != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "the last axis of input 0 has %" G_GINT64_FORMAT
                         " elements, needed is 1 (real) or 2 (complex)",
                         parts);
  return parts != refused ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input 0 must be %s here (onesided is 1)",
                       refused == 2 ? "real" : "complex");
}

static IrDim
half_spectrum (IrContext *context, IrDim length)
{
  return ir_dim_add (context, ir_dim_floordiv (context, length, 2), 1);
}

/* Elements along the axis of the output of DFT. */
static gboolean
dft_size (const IrCall *call, IrDim in, IrDim *size, GError **error)
{
  gboolean inverse = ir_call_int (call, "inverse", 0) != 0;
  gboolean onesided = ir_call_int (call, "onesided", 0) != 0;

  if (!scalar_size (call, 1, 1, size, error))
    return FALSE;
  if (!ir_call_has_input (call, 1))
    *size = inverse && onesided ? ir_dim_mul (call->context, 2, ir_dim_sub (call->context, in, 1))
                                : in;
  if (onesided && !inverse)
    *size = half_spectrum (call->context, *size);
  return TRUE;
}

/* Input [.., 1 or 2], dft_length, axis. Sets the output to the shape of the input with
 * dft_length elements along the axis, or half of that and one with onesided; the last axis is 2,
 * or 1 for the inverse of a one-sided spectrum. Source: ONNX DFT 20. */
gboolean
ir_infer_dft (IrCall *call, GError **error)
{
  gboolean inverse = ir_call_int (call, "inverse", 0) != 0;
  gboolean onesided = ir_call_int (call, "onesided", 0) != 0;
  int rank = ir_call_input_rank (call, 0);
  const IrDim *in = ir_call_input_dims (call, 0);
  IrDim dims[IR_MAX_RANK], size;
  IrNumber axis = ir_number_known (-2);
  gint64 at;

  if (ir_call_has_input (call, 2) && !scalar_number (call, 2, &axis, error))
    return FALSE;
  if (rank == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, NULL);
      return dft_size (call, IR_DIM_UNKNOWN, &size, error);
    }
  if (rank < 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input 0 has %d dims, 2 are needed", rank);
  if (!check_parts (call, in[rank - 1], !onesided ? IR_DIM_UNKNOWN : inverse ? 1 : 2, error))
    return FALSE;
  if (axis.known && !ir_call_axis (call, axis.value, rank, &at, error))
    return FALSE;
  if (axis.known && at == rank - 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "the axis is the last one, which tells real from complex");
  /* Only a length of its own or half of the spectrum changes an axis. */
  gboolean changes = onesided || ir_call_has_input (call, 1);
  for (int i = 0; i < rank - 1; i++)
    dims[i] = axis.known || !changes ? in[i] : IR_DIM_UNKNOWN;
  if (!dft_size (call, axis.known ? in[at] : IR_DIM_UNKNOWN, &size, error))
    return FALSE;
  if (axis.known)
    dims[at] = size;
  dims[rank - 1] = inverse && onesided ? 1 : 2;
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, dims);
  return TRUE;
}

/* n log n for each line: five operations per element and halving. */
guint64
ir_cost_dft (const IrCall *call)
{
  guint64 n = ir_type_count (call->outputs[0].type);

  return ir_mul_saturated (5 * (guint64) g_bit_storage ((gulong) n), n);
}

/* Opset < 20: the axis was an attribute. */
void
ir_adapt_dft (IrCall *call)
{
  gint64 axis = ir_call_int (call, "axis", 1);

  if (ir_call_has_input (call, 2)) /* the new form already, while a model is being upgraded */
    return;
  ir_call_set_input_ints (call, 2, &axis, -1);
  ir_call_drop_attr (call, "axis");
}

static gboolean
stft_frame_length (const IrCall *call, IrDim signal, IrDim *length, GError **error)
{
  const IrDim *window = ir_call_input_dims (call, 2);
  int rank = ir_call_input_rank (call, 2);

  if (rank != IR_RANK_UNKNOWN && rank != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "window has %d dims, 1 is needed", rank);
  if (!scalar_size (call, 3, 1, length, error))
    return FALSE;
  if (ir_call_has_input (call, 2))
    return window == NULL || ir_call_same_dim (call, *length, window[0],
                                               "frame_length and the window", length, error);
  if (!ir_call_has_input (call, 3))
    *length = signal;
  return TRUE;
}

/* Signal [batch, length, 1 or 2], frame_step, window, frame_length. Sets the output to [batch,
 * (length - frame_length) / frame_step + 1, bins, 2]. Source: ONNX STFT 17; a real signal [batch, length],
 * which exporters write, is ONNX Runtime's. */
gboolean
ir_infer_stft (IrCall *call, GError **error)
{
  gboolean onesided = ir_call_int (call, "onesided", 1) != 0;
  int rank = ir_call_input_rank (call, 0);
  const IrDim *in = ir_call_input_dims (call, 0);
  IrContext *context = call->context;
  IrDim step, length;
  IrDtype dtype = ir_call_input_dtype (call, 0), window = ir_call_input_dtype (call, 2);

  if (rank != IR_RANK_UNKNOWN && rank != 2 && rank != 3)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "signal has %d dims, needed are 3, or 2 of a real signal", rank);
  if (dtype != IR_DTYPE_UNDEFINED && window != IR_DTYPE_UNDEFINED && dtype != window)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "signal is %s, window is %s",
                         ir_dtype_name (dtype), ir_dtype_name (window));
  IrDim signal = in != NULL ? in[1] : IR_DIM_UNKNOWN;
  if ((rank == 3 && in != NULL &&
       !check_parts (call, in[2], onesided ? 2 : IR_DIM_UNKNOWN, error)) ||
      !scalar_size (call, 1, 1, &step, error) || !stft_frame_length (call, signal, &length, error))
    return FALSE;
  if (ir_dim_is_known (signal) && ir_dim_is_known (length) && length > signal)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "frames of %" G_GINT64_FORMAT " elements do not fit into a signal of "
                         "%" G_GINT64_FORMAT,
                         length, signal);
  IrDim room = ir_dim_sub (context, signal, length);
  IrDim dims[4] = { in != NULL ? in[0] : IR_DIM_UNKNOWN,
                    ir_dim_add (context, ir_dim_floordiv (context, room, step), 1),
                    onesided ? half_spectrum (context, length) : length, 2 };
  ir_call_set_output_tensor_type (call, 0, dtype, 4, dims);
  return TRUE;
}

/* Sets the output to [dft_length / 2 + 1, num_mel_bins]. Source: ONNX MelWeightMatrix 17. */
gboolean
ir_infer_mel_weight_matrix (IrCall *call, GError **error)
{
  gint64 code = ir_call_int (call, "output_datatype", IR_DTYPE_FLOAT);
  IrDim bins, length, rate;

  if (!ir_dtype_is_valid (code) || code == IR_DTYPE_UNDEFINED)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "output_datatype is %" G_GINT64_FORMAT ", not an element type", code);
  if (!scalar_size (call, 0, 0, &bins, error) || !scalar_size (call, 1, 0, &length, error) ||
      !scalar_size (call, 2, 1, &rate, error))
    return FALSE;
  IrDim dims[2] = { half_spectrum (call->context, length), bins };
  ir_call_set_output_tensor_type (call, 0, (IrDtype) code, 2, dims);
  return TRUE;
}
