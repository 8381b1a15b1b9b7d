/* Fused operators of the domain irscope: the base operator's kernel, then the rest of the body
 * element by element, rounded where the body has a value of its own. So a fused node gives the same
 * bits as the nodes that it replaces. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/op/infer-util.h"
#include "core/op/rows.h"

#include <math.h>

#define BLOCK 4096 /* elements at a time */

typedef struct
{
  IrDtype dtype;
  double alpha, low, high;
} Activation;

typedef double (*ActivationFunc) (const Activation *activation, double value);

static double
relu (const Activation *activation, double value)
{
  return value < 0 ? 0 : value;
}

/* A limit that is NaN makes everything NaN, as in Clip. */
static double
clip (const Activation *activation, double value)
{
  if (isnan (activation->low) || isnan (activation->high))
    return NAN;
  double at_least = value < activation->low ? activation->low : value;

  return at_least > activation->high ? activation->high : at_least;
}

static double
leaky_relu (const Activation *activation, double value)
{
  return value < 0 ? activation->alpha * value : value;
}

static double
sigmoid (const Activation *activation, double value)
{
  return 1 / (1 + exp (-value));
}

static double
hyperbolic_tangent (const Activation *activation, double value)
{
  return tanh (value);
}

static double
hard_swish (const Activation *activation, double value)
{
  double gate = (double) (1.0f / 6.0f) * value + 0.5;

  return value * ir_block_round (activation->dtype, CLAMP (gate, 0, 1));
}

static double
silu (const Activation *activation, double value)
{
  return value * ir_block_round (activation->dtype, sigmoid (activation, value));
}

static double
gelu (const Activation *activation, double value)
{
  IrDtype dtype = activation->dtype;
  double scaled = ir_block_round (dtype, value / (double) 1.4142135f);
  double raised = ir_block_round (dtype, ir_block_round (dtype, erf (scaled)) + 1);

  return ir_block_round (dtype, value * raised) * 0.5;
}

/* Rounded after each operator of the body. */
static double
gelu_tanh (const Activation *activation, double value)
{
  IrDtype dtype = activation->dtype;
  double cube = ir_block_round (dtype, ir_block_round (dtype, value * value) * value);
  double part = ir_block_round (dtype, (double) 0.044715f * cube);
  double inner = ir_block_round (dtype, value + part);
  double bent = tanh (ir_block_round (dtype, (double) 0.7978846f * inner));
  double raised = ir_block_round (dtype, ir_block_round (dtype, bent) + 1);

  return ir_block_round (dtype, 0.5 * value) * raised;
}

/* -- adding: a residual of the output's shape, or an addend that broadcasts to it -- */

static guint64
broadcast_index (const IrTensor *tensor, const IrTensor *to, guint64 i)
{
  guint rank = ir_tensor_rank (tensor), to_rank = ir_tensor_rank (to);
  guint64 index = 0, step = 1;

  for (guint k = 0; k < rank; k++)
    {
      guint64 size = (guint64) ir_tensor_dims (tensor)[rank - 1 - k];
      guint64 to_size = (guint64) ir_tensor_dims (to)[to_rank - 1 - k];
      index += size == 1 ? 0 : i % to_size * step;
      step *= size;
      i /= to_size;
    }
  return index;
}

static gboolean
check_addend (const IrCall *call, const IrTensor *addend, const IrTensor *y, GError **error)
{
  guint rank = ir_tensor_rank (addend), y_rank = ir_tensor_rank (y);
  gboolean fits = rank <= y_rank && ir_tensor_dtype (addend) == ir_tensor_dtype (y);

  for (guint k = 0; fits && k < rank; k++)
    {
      gint64 size = ir_tensor_dims (addend)[rank - 1 - k];
      fits = size == 1 || size == ir_tensor_dims (y)[y_rank - 1 - k];
    }
  return fits ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "what is added does not broadcast to the result, or is of another type");
}

/* @addend is nullable. */
static gboolean
finish (IrCall *call,
        const IrTensor *addend,
        const Activation *activation,
        ActivationFunc func,
        GError **error)
{
  IrTensor *y = call->outputs[0].tensor;
  guint64 n = ir_tensor_n_elements (y);
  double values[BLOCK];

  if (addend != NULL && !check_addend (call, addend, y, error))
    return FALSE;
  for (guint64 start = 0; start < n && !ir_block_stopped (call, start); start += BLOCK)
    {
      guint64 size = MIN (n - start, BLOCK);
      ir_block_load (y, start, size, values);
      for (guint64 i = 0; i < size; i++)
        {
          if (addend != NULL)
            values[i] = ir_block_round (
                activation->dtype,
                values[i] + ir_tensor_get_double (addend, broadcast_index (addend, y, start + i)));
          if (func != NULL)
            values[i] = func (activation, values[i]);
        }
      ir_block_store (y, start, size, values);
    }
  return TRUE;
}

/* The base kernel must not meet inputs that are not its own. */
static gboolean
run_base (IrCall *call, IrKernelFunc base, guint n_base, GError **error)
{
  guint n_inputs = call->n_inputs;

  call->n_inputs = MIN (n_inputs, n_base);
  gboolean done = base (call, error);
  call->n_inputs = n_inputs;
  return done;
}

/* @addend: slot of what is added, 0 for none; @bounds: slot of Clip's min, 0 for none. */
static gboolean
run_fused (IrCall *call,
           IrKernelFunc base,
           guint addend,
           guint bounds,
           ActivationFunc func,
           GError **error)
{
  Activation activation = { .alpha = ir_call_float (call, "activation_alpha", 0.01f) };
  const IrTensor *added = addend != 0 ? ir_call_input (call, addend) : NULL;

  /* Inference sees all inputs, the base operator its own ones: what is added must fit, too. */
  if (!ir_block_check_float (call, error) || !call->op->infer (call, error) ||
      !run_base (call, base, addend == 2 ? 2 : 3, error))
    return FALSE;
  activation.dtype = ir_tensor_dtype (call->outputs[0].tensor);
  if (addend != 0 && added == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "input %u is missing", addend);
  if (bounds != 0)
    {
      const IrTensor *low = ir_call_input (call, bounds), *high = ir_call_input (call, bounds + 1);
      if (low == NULL || high == NULL || ir_tensor_n_elements (low) != 1 ||
          ir_tensor_n_elements (high) != 1)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "min and max must be there and have one element each");
      activation.low = ir_tensor_get_double (low, 0);
      activation.high = ir_tensor_get_double (high, 0);
    }
  return finish (call, added, &activation, func, error);
}

/* clang-format off */
#define FUSED(NAME, BASE, ADDEND, BOUNDS, FUNC)                                                    \
  gboolean ir_ref_##NAME (IrCall *call, GError **error)                                            \
  {                                                                                                \
    return run_fused (call, ir_ref_##BASE, ADDEND, BOUNDS, FUNC, error);                           \
  }

FUSED (conv_relu, conv, 0, 0, relu)
FUSED (conv_clip, conv, 0, 3, clip)
FUSED (conv_leaky_relu, conv, 0, 0, leaky_relu)
FUSED (conv_sigmoid, conv, 0, 0, sigmoid)
FUSED (conv_tanh, conv, 0, 0, hyperbolic_tangent)
FUSED (conv_hard_swish, conv, 0, 0, hard_swish)
FUSED (conv_silu, conv, 0, 0, silu)
FUSED (conv_add, conv, 3, 0, NULL)
FUSED (conv_add_relu, conv, 3, 0, relu)
FUSED (conv_add_clip, conv, 3, 4, clip)
FUSED (conv_add_leaky_relu, conv, 3, 0, leaky_relu)
FUSED (conv_add_sigmoid, conv, 3, 0, sigmoid)
FUSED (conv_add_tanh, conv, 3, 0, hyperbolic_tangent)
FUSED (conv_add_hard_swish, conv, 3, 0, hard_swish)
FUSED (conv_add_silu, conv, 3, 0, silu)
FUSED (gemm_relu, gemm, 0, 0, relu)
FUSED (gemm_clip, gemm, 0, 3, clip)
FUSED (gemm_leaky_relu, gemm, 0, 0, leaky_relu)
FUSED (gemm_sigmoid, gemm, 0, 0, sigmoid)
FUSED (gemm_tanh, gemm, 0, 0, hyperbolic_tangent)
FUSED (gemm_gelu, gemm, 0, 0, gelu)
FUSED (gemm_gelu_tanh, gemm, 0, 0, gelu_tanh)
FUSED (matmul_add, matmul, 2, 0, NULL)
FUSED (matmul_add_relu, matmul, 2, 0, relu)
FUSED (matmul_add_sigmoid, matmul, 2, 0, sigmoid)
FUSED (matmul_add_tanh, matmul, 2, 0, hyperbolic_tangent)
FUSED (matmul_add_gelu, matmul, 2, 0, gelu)
FUSED (matmul_add_gelu_tanh, matmul, 2, 0, gelu_tanh)
/* clang-format on */
