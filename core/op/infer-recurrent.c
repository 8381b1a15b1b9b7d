/* Inference, cost and adapter of the recurrent layers RNN, GRU and LSTM. */
#include "config.h"

#include "core/op/infer-recurrent.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"
#include <string.h>

enum
{
  INPUT_X,
  INPUT_W,
  INPUT_R,
  INPUT_B,
  INPUT_LENGTHS,
  INPUT_H,
  INPUT_C,
  INPUT_P,
  INPUT_QUERY_WEIGHTS, /* from here on: of AttnLSTM */
  INPUT_MEMORY_WEIGHTS,
  INPUT_V,
  INPUT_MEMORY,
  INPUT_MEMORY_LENGTHS,
  INPUT_ATTENTION_WEIGHTS
};

/* The dims of input @slot must be @n sizes, entries nullable; each becomes the more specific of
 * what it is and what the input says. */
static gboolean
meet (const IrCall *call, guint slot, guint n, IrDim *const *sizes, GError **error)
{
  int rank = ir_call_input_rank (call, slot);
  const IrDim *dims = ir_call_input_dims (call, slot);

  if (!ir_call_has_input (call, slot) || rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != (int) n)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u has %d dims, %u are needed",
                         slot, rank, n);
  for (guint i = 0; i < n; i++)
    if (sizes[i] != NULL && !ir_call_same_dim (call, *sizes[i], dims[i], "sizes", sizes[i], error))
      {
        g_prefix_error (error, "axis %u of input %u: ", i, slot);
        return FALSE;
      }
  return TRUE;
}

/* Axis @axis of input @slot must be @times hidden sizes. */
static gboolean
meet_multiple (
    IrRecurrent *sizes, const IrCall *call, guint slot, guint axis, gint64 times, GError **error)
{
  const IrDim *dims = ir_call_input_dims (call, slot);
  IrDim same;

  if (!ir_call_has_input (call, slot) || dims == NULL)
    return TRUE;
  if (sizes->hidden == IR_DIM_UNKNOWN &&
      !ir_dim_divides (call->context, dims[axis], times, &sizes->hidden))
    sizes->hidden = IR_DIM_UNKNOWN;
  if (ir_call_same_dim (call, dims[axis], ir_dim_mul (call->context, sizes->hidden, times), "sizes",
                        &same, error))
    return TRUE;
  g_prefix_error (error, "axis %u of input %u must be %d hidden sizes: ", axis, slot, (int) times);
  return FALSE;
}

static gboolean
read_direction (IrRecurrent *sizes, const IrCall *call, GError **error)
{
  const char *direction = ir_call_string (call, "direction", "forward");

  sizes->reverse = strcmp (direction, "reverse") == 0;
  sizes->n_directions = strcmp (direction, "bidirectional") == 0 ? 2 : 1;
  return sizes->reverse || sizes->n_directions == 2 || strcmp (direction, "forward") == 0 ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "direction is \"%s\", needed is forward, reverse or bidirectional",
                       direction);
}

static gboolean
read_hidden_size (IrRecurrent *sizes, const IrCall *call, GError **error)
{
  gint64 hidden = ir_call_int (call, "hidden_size", IR_DIM_UNKNOWN);

  sizes->hidden = ir_call_attr (call, "hidden_size") != NULL ? hidden : IR_DIM_UNKNOWN;
  return ir_call_attr (call, "hidden_size") == NULL || hidden >= 0 ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "hidden_size is %" G_GINT64_FORMAT,
                       hidden);
}

/* @weight_columns: the size of W's last axis */
static gboolean
read_sizes (
    IrRecurrent *sizes, const IrCall *call, guint n_gates, IrDim *weight_columns, GError **error)
{
  gint64 layout = ir_call_int (call, "layout", 0);

  *sizes = (IrRecurrent){ .n_gates = n_gates, .batch_first = layout == 1 };
  sizes->steps = sizes->batch = sizes->in = IR_DIM_UNKNOWN;
  if (layout != 0 && layout != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "layout is %" G_GINT64_FORMAT ", needed is 0 or 1", layout);
  if (!read_direction (sizes, call, error) || !read_hidden_size (sizes, call, error))
    return FALSE;
  IrDim directions = sizes->n_directions;
  IrDim *first = sizes->batch_first ? &sizes->batch : &directions;
  IrDim *second = sizes->batch_first ? &directions : &sizes->batch;
  IrDim *x[] = { sizes->batch_first ? &sizes->batch : &sizes->steps,
                 sizes->batch_first ? &sizes->steps : &sizes->batch, &sizes->in };
  IrDim *w[] = { &directions, NULL, weight_columns }, *r[] = { &directions, NULL, &sizes->hidden };
  IrDim *b[] = { &directions, NULL }, *lengths[] = { &sizes->batch };
  IrDim *state[] = { first, second, &sizes->hidden };
  gint64 gates = n_gates;
  return meet (call, INPUT_X, 3, x, error) && meet (call, INPUT_W, 3, w, error) &&
         meet (call, INPUT_R, 3, r, error) && meet (call, INPUT_B, 2, b, error) &&
         meet (call, INPUT_LENGTHS, 1, lengths, error) && meet (call, INPUT_H, 3, state, error) &&
         meet (call, INPUT_C, 3, state, error) && meet (call, INPUT_P, 2, b, error) &&
         meet_multiple (sizes, call, INPUT_W, 1, gates, error) &&
         meet_multiple (sizes, call, INPUT_R, 1, gates, error) &&
         meet_multiple (sizes, call, INPUT_B, 1, 2 * gates, error) &&
         meet_multiple (sizes, call, INPUT_P, 1, 3, error);
}

/**
 * ir_recurrent_init:
 * @sizes: (out caller-allocates): the sizes, as far as they are known
 * @call: X, W, R, B, sequence_lens, initial_h and, for LSTM, initial_c and P
 * @n_gates: 1 for RNN, 3 for GRU, 4 for LSTM
 * @error: return location for an error
 *
 * Reads sizes from the attributes and from the types of all inputs, which must agree.
 *
 * Source: ONNX RNN, GRU and LSTM 22.
 *
 * Returns: %FALSE with %IR_OP_ERROR_SHAPE or %IR_OP_ERROR_ATTRIBUTE if something does not fit
 */
gboolean
ir_recurrent_init (IrRecurrent *sizes, const IrCall *call, guint n_gates, GError **error)
{
  return read_sizes (sizes, call, n_gates, &sizes->in, error);
}

/* a + b, where both are known */
static IrDim
sum_of (IrDim a, IrDim b)
{
  return ir_dim_is_known (a) && ir_dim_is_known (b) ? a + b : IR_DIM_UNKNOWN;
}

/**
 * ir_recurrent_init_attended:
 * @sizes: (out caller-allocates): the sizes of the layer, as far as they are known
 * @memory: (out caller-allocates): those of its attention
 * @call: a call of AttnLSTM
 * @error: return location for an error
 *
 * As ir_recurrent_init() for four gates, where W has columns for the attention behind those for X.
 *
 * Source: com.microsoft AttnLSTM 1.
 *
 * Returns: %FALSE with %IR_OP_ERROR_SHAPE or %IR_OP_ERROR_ATTRIBUTE if something does not fit
 */
gboolean
ir_recurrent_init_attended (IrRecurrent *sizes,
                            IrRecurrentMemory *memory,
                            const IrCall *call,
                            GError **error)
{
  IrDim columns = IR_DIM_UNKNOWN, both, same;

  *memory = (IrRecurrentMemory){ IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN };
  if (!read_sizes (sizes, call, 4, &columns, error))
    return FALSE;
  IrDim directions = sizes->n_directions;
  IrDim *query[] = { &directions, &sizes->hidden, &memory->inner };
  IrDim *weights[] = { &directions, &memory->depth, &memory->inner };
  IrDim *v[] = { &directions, &memory->inner }, *lengths[] = { &sizes->batch };
  IrDim *contents[] = { &sizes->batch, &memory->steps, &memory->depth };
  IrDim *layer[] = { &directions, &both, &memory->size };
  if (!meet (call, INPUT_QUERY_WEIGHTS, 3, query, error) ||
      !meet (call, INPUT_MEMORY_WEIGHTS, 3, weights, error) || !meet (call, INPUT_V, 2, v, error) ||
      !meet (call, INPUT_MEMORY, 3, contents, error) ||
      !meet (call, INPUT_MEMORY_LENGTHS, 1, lengths, error))
    return FALSE;
  both = sum_of (sizes->hidden, memory->depth);
  if (!ir_call_has_input (call, INPUT_ATTENTION_WEIGHTS))
    memory->size = memory->depth;
  else if (!meet (call, INPUT_ATTENTION_WEIGHTS, 3, layer, error))
    return FALSE;
  return ir_call_same_dim (call, columns, sum_of (sizes->in, memory->size), "the columns of W",
                           &same, error);
}

/* All inputs but the lengths have one element type, a floating-point one. */
static gboolean
check_dtypes (const IrCall *call, IrDtype *dtype, GError **error)
{
  IrDtype states;

  if (!ir_call_common_dtype (call, INPUT_X, 4, dtype, error) ||
      !ir_call_common_dtype (call, INPUT_H, 3, &states, error) ||
      !ir_call_check_integers (call, INPUT_LENGTHS, 1, error))
    return FALSE;
  if (*dtype == IR_DTYPE_UNDEFINED)
    *dtype = states;
  if (*dtype != IR_DTYPE_UNDEFINED && !ir_dtype_is_float (*dtype))
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X is %s, needed is a floating-point type",
                         ir_dtype_name (*dtype));
  return states == IR_DTYPE_UNDEFINED || states == *dtype ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X is %s, the initial state is %s",
                       ir_dtype_name (*dtype), ir_dtype_name (states));
}

static void
set_outputs (IrCall *call, const IrRecurrent *sizes, IrDtype dtype)
{
  IrDim all[] = { sizes->steps, sizes->n_directions, sizes->batch, sizes->hidden };
  IrDim all_batch_first[] = { sizes->batch, sizes->steps, sizes->n_directions, sizes->hidden };
  IrDim last[] = { sizes->n_directions, sizes->batch, sizes->hidden };
  IrDim last_batch_first[] = { sizes->batch, sizes->n_directions, sizes->hidden };

  for (guint i = 0; i < call->n_outputs; i++)
    if (i == 0)
      ir_call_set_output_tensor_type (call, i, dtype, 4,
                                      sizes->batch_first ? all_batch_first : all);
    else
      ir_call_set_output_tensor_type (call, i, dtype, 3,
                                      sizes->batch_first ? last_batch_first : last);
}

static gboolean
infer (IrCall *call, guint n_gates, GError **error)
{
  IrRecurrent sizes;
  IrDtype dtype;

  if (!ir_recurrent_init (&sizes, call, n_gates, error) || !check_dtypes (call, &dtype, error))
    return FALSE;
  set_outputs (call, &sizes, dtype);
  return TRUE;
}

/* As ir_infer_lstm(), with an attention to a memory: its weights, the memory, and its lengths. */
gboolean
ir_infer_attn_lstm (IrCall *call, GError **error)
{
  IrRecurrent sizes;
  IrRecurrentMemory memory;
  IrDtype dtype;

  if (!ir_recurrent_init_attended (&sizes, &memory, call, error) ||
      !check_dtypes (call, &dtype, error) ||
      !ir_call_check_integers (call, INPUT_MEMORY_LENGTHS, 1, error))
    return FALSE;
  set_outputs (call, &sizes, dtype);
  return TRUE;
}

/* X, W, R, B, sequence_lens, initial_h. Sets Y to [steps, directions, batch, hidden] and Y_h to
 * [directions, batch, hidden]; with layout 1 the batch comes first. Source: ONNX RNN 22. */
gboolean
ir_infer_rnn (IrCall *call, GError **error)
{
  return infer (call, 1, error);
}

/* X, W, R, B, sequence_lens, initial_h. As ir_infer_rnn(), with three gates. Source: ONNX GRU
 * 22. */
gboolean
ir_infer_gru (IrCall *call, GError **error)
{
  return infer (call, 3, error);
}

/* X, W, R, B, sequence_lens, initial_h, initial_c, P. As ir_infer_rnn(), with four gates, and
 * Y_c of the shape of Y_h. Source: ONNX LSTM 22. */
gboolean
ir_infer_lstm (IrCall *call, GError **error)
{
  return infer (call, 4, error);
}

/* Two operations per weight of W and R, at each step of each sequence. */
guint64
ir_cost_recurrent (const IrCall *call)
{
  guint64 weights = ir_type_count (ir_call_input_type (call, INPUT_W));
  guint64 more = ir_type_count (ir_call_input_type (call, INPUT_R));
  const IrDim *x = ir_call_input_dims (call, INPUT_X);
  guint64 steps = 1;

  for (guint i = 0; x != NULL && i < 2; i++)
    if (ir_dim_is_known (x[i]))
      steps = ir_mul_saturated (steps, (guint64) x[i]);
  weights = weights > G_MAXUINT64 - more ? G_MAXUINT64 : weights + more;
  return ir_mul_saturated (ir_mul_saturated (2, steps), weights);
}

/* Opset < 7: an attribute said whether Y is wanted; a node that does not want it does not name it.
 */
void
ir_adapt_recurrent (IrCall *call)
{
  ir_call_drop_attr (call, "output_sequence");
}
