/* Fused operators of the domain irscope: the base operator's kernel, then the rest of the body
 * element by element, rounded where the body has a value of its own. So a fused node gives the same
 * bits as the nodes that it replaces. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/op/infer-util.h"
#include "core/exec/ref/ref.h"

#include <math.h>

#define BLOCK 4096 /* elements at a time */

typedef struct
{
  IrDtype dtype;
  double alpha, low, high;
} Parameters;

typedef double (*ActivationFunc) (const Parameters *p, double x);

/* A limit that is NaN makes everything NaN. */
static double
clip (double x, double low, double high)
{
  if (isnan (low) || isnan (high))
    return NAN;
  double at_least = x < low ? low : x;

  return at_least > high ? high : at_least;
}

/* clang-format off */
#define IR_ROUND(value) ir_block_round (p->dtype, value)
#define IR_ACTIVATION(ID, ...) static double activate_##ID (const Parameters *p, double x)
#define ACT_REF(expression) { return expression; }
#include "core/op/activations.def"

static const ActivationFunc activations[] = {
  [IR_ACTIVATION_NONE] = NULL,
#define IR_ACTIVATION(ID, ...) [IR_ACTIVATION_##ID] = activate_##ID,
#include "core/op/activations.def"
};
/* clang-format on */

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

/* What is added to elements [start, start + size) of @y: along its last axis numbers side by side,
 * or one for all. */
static void
load_addend (const IrTensor *addend, const IrTensor *y, guint64 start, guint64 size, double *values)
{
  guint rank = ir_tensor_rank (addend), y_rank = ir_tensor_rank (y);
  guint64 width = y_rank > 0 ? (guint64) ir_tensor_dims (y)[y_rank - 1] : 1, n;
  gboolean repeats = rank == 0 || ir_tensor_dims (addend)[rank - 1] == 1;

  for (guint64 i = 0; i < size; i += n)
    {
      guint64 at = broadcast_index (addend, y, start + i);

      n = MIN (size - i, width - (start + i) % width);
      if (!repeats)
        ir_block_load (addend, at, n, values + i);
      for (guint64 k = 0; k < n && repeats; k++)
        values[i + k] = ir_tensor_get_double (addend, at);
    }
}

/* @addend is nullable. */
static gboolean
finish (IrCall *call,
        const IrTensor *addend,
        ActivationFunc func,
        const Parameters *parameters,
        GError **error)
{
  IrTensor *y = call->outputs[0].tensor;
  guint64 n = ir_tensor_n_elements (y);
  double values[BLOCK], added[BLOCK];

  if (addend != NULL && !check_addend (call, addend, y, error))
    return FALSE;
  for (guint64 start = 0; start < n; start += BLOCK)
    {
      guint64 size = MIN (n - start, BLOCK);
      ir_block_load (y, start, size, values);
      if (addend != NULL)
        load_addend (addend, y, start, size, added);
      for (guint64 i = 0; i < size; i++)
        {
          if (addend != NULL)
            values[i] = ir_block_round (parameters->dtype, values[i] + added[i]);
          if (func != NULL)
            values[i] = func (parameters, values[i]);
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

static gboolean
read_limits (const IrCall *call, Parameters *parameters, GError **error)
{
  guint slot = (guint) call->op->in.max - 2;
  const IrTensor *low = ir_call_input (call, slot), *high = ir_call_input (call, slot + 1);

  if (low == NULL || high == NULL || ir_tensor_n_elements (low) != 1 ||
      ir_tensor_n_elements (high) != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "min and max must be there and have one element each");
  parameters->low = ir_tensor_get_double (low, 0);
  parameters->high = ir_tensor_get_double (high, 0);
  return TRUE;
}

static gboolean
run_fused (IrCall *call, IrKernelFunc base, guint n_base, GError **error)
{
  Parameters parameters = { .alpha = ir_call_float (call, "activation_alpha", 0.01f) };
  guint addend = call->op->addend;
  const IrTensor *added = addend != 0 ? ir_call_input (call, addend) : NULL;

  /* Inference sees all inputs, the base operator its own ones: what is added must fit, too. */
  if (!ir_block_check_float (call, error) || !call->op->infer (call, error) ||
      !run_base (call, base, n_base, error))
    return FALSE;
  parameters.dtype = ir_tensor_dtype (call->outputs[0].tensor);
  if (addend != 0 && added == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "input %u is missing", addend);
  if (call->op->activation == IR_ACTIVATION_CLIP && !read_limits (call, &parameters, error))
    return FALSE;
  return finish (call, added, activations[call->op->activation], &parameters, error);
}

gboolean
ir_ref_fused_conv (IrCall *call, GError **error)
{
  return run_fused (call, ir_ref_conv, 3, error);
}

gboolean
ir_ref_fused_gemm (IrCall *call, GError **error)
{
  return run_fused (call, ir_ref_gemm, 3, error);
}

gboolean
ir_ref_fused_matmul (IrCall *call, GError **error)
{
  return run_fused (call, ir_ref_matmul, 2, error);
}
