/* Dropout. Inference passes the input on. Training mode drops elements at random. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/twister.h"
#include "core/exec/ref/ref.h"

typedef struct
{
  gboolean training;
  double ratio;
} Mode;

static gboolean
read_mode (IrCall *call, Mode *mode, GError **error)
{
  g_autofree gint64 *training = NULL;
  guint n = 0;
  const IrTensor *ratio = ir_call_input (call, 1);
  mode->training = ir_call_input_ints (call, 2, &training, &n) && n == 1 && training[0] != 0;
  mode->ratio = 0.5;
  if (ratio != NULL)
    {
      if (ir_tensor_n_elements (ratio) != 1 || !ir_dtype_is_float (ir_tensor_dtype (ratio)))
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "ratio must be a scalar float");
      mode->ratio = ir_tensor_get_double (ratio, 0);
    }
  if (!mode->training || mode->ratio == 0)
    {
      mode->training = FALSE;
      return TRUE;
    }
  if (!(mode->ratio > 0 && mode->ratio < 1))
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "ratio is %g, it must be in [0, 1)",
                         mode->ratio);
  return TRUE;
}

gboolean
ir_ref_dropout (IrCall *call, GError **error)
{
  Mode mode;
  if (!ir_ref_prepare (call, error) || !read_mode (call, &mode, error) ||
      !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrTensor *out = ir_block_new_output (call, 0, error);
  IrTensor *mask = ir_call_has_output (call, 1) ? ir_block_new_output (call, 1, error) : NULL;
  if (out == NULL || (mask == NULL && ir_call_has_output (call, 1)))
    return FALSE;
  IrTwister twister;
  ir_twister_init_call (&twister, call);
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      gint64 kept = !mode.training || ir_twister_uniform (&twister) >= mode.ratio;
      double x;
      ir_block_load (in, i, 1, &x);
      if (mode.training)
        x = kept ? x * (1 / (1 - mode.ratio)) : x * 0;
      ir_block_store (out, i, 1, &x);
      if (mask != NULL)
        ir_ref_store_int (mask, i, 1, &kept);
    }
  return TRUE;
}
