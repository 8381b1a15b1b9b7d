/* Adapters: the forms that operators had in older opsets, turned into the newest one. Each runs on
 * a laid-out call; the stored node stays as its file wrote it. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"
#include <string.h>

/* Opset < 7: broadcasting was asked for by an attribute, and @axis said which axis of A lines up
 * with the first of B. */
void
ir_adapt_legacy_broadcast (IrCall *call)
{
  gint64 axis = ir_call_int (call, "axis", -1);
  if (ir_call_int (call, "broadcast", 0) != 0 && axis >= 0 && axis < IR_MAX_RANK &&
      ir_call_has_input (call, 1))
    call->inputs[1].align_axis = (guint8) (axis + 1);
  ir_call_drop_attr (call, "broadcast");
  ir_call_drop_attr (call, "axis");
}

/* Opset < 7: one slope per channel, and the channel is axis 1. */
void
ir_adapt_prelu (IrCall *call)
{
  if (ir_call_has_input (call, 1))
    call->inputs[1].align_axis = 1 + 1;
}

/* Squeeze, Unsqueeze and reductions: axes were an attribute. */
void
ir_adapt_axes_to_input (IrCall *call)
{
  ir_call_attr_to_input (call, "axes", 1);
}

/* Opset < 5: the shape was an attribute. */
void
ir_adapt_reshape (IrCall *call)
{
  ir_call_attr_to_input (call, "shape", 1);
}

/* Opset < 10: places were attributes. */
void
ir_adapt_slice (IrCall *call)
{
  ir_call_attr_to_input (call, "starts", 1);
  ir_call_attr_to_input (call, "ends", 2);
  ir_call_attr_to_input (call, "axes", 3);
}

/* Opset < 13: sizes were an attribute. */
void
ir_adapt_split (IrCall *call)
{
  ir_call_attr_to_input (call, "split", 1);
}

/* Opset < 10: the number of elements was an attribute. */
void
ir_adapt_top_k (IrCall *call)
{
  ir_call_attr_to_input (call, "k", 1);
}

/* Opset < 4: the axis was optional. */
void
ir_adapt_concat (IrCall *call)
{
  if (ir_call_attr (call, "axis") == NULL)
    ir_call_set_attr (call, ir_attr_int (call->context, "axis", 1));
}

/* Opset < 2 spelled it paddings. */
void
ir_adapt_pad_names (IrCall *call)
{
  const IrAttr *attr = ir_call_attr (call, "paddings");
  if (attr != NULL)
    ir_call_set_attr (call, ir_attr_renamed (call->context, attr, "pads"));
  ir_call_drop_attr (call, "paddings");
}

/* A FLOAT attribute becomes a scalar input of the element type of input 0. */
static void
float_attr_to_input (IrCall *call, const char *name, guint slot)
{
  const IrAttr *attr = ir_call_attr (call, name);
  if (attr == NULL || attr->kind != IR_ATTR_FLOAT)
    return;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  if (dtype == IR_DTYPE_UNDEFINED)
    dtype = IR_DTYPE_FLOAT;
  ir_call_set_input_tensor (call, slot, ir_tensor_new_scalar (dtype, (double) attr->floats[0]));
  ir_call_drop_attr (call, name);
}

/* Opset < 11: amounts and value were attributes. */
void
ir_adapt_pad (IrCall *call)
{
  ir_call_attr_to_input (call, "pads", 1);
  float_attr_to_input (call, "value", 2);
}

/* Opset < 11: limits were attributes. */
void
ir_adapt_clip (IrCall *call)
{
  float_attr_to_input (call, "min", 1);
  float_attr_to_input (call, "max", 2);
}

/* Opset < 12: the ratio was an attribute; it says nothing outside of training. */
void
ir_adapt_dropout (IrCall *call)
{
  ir_call_drop_attr (call, "ratio");
  ir_call_drop_attr (call, "is_test");
}

/* Opset < 6: the type was spelled out, e.g. "FLOAT". */
void
ir_adapt_cast (IrCall *call)
{
  const char *name = ir_call_string (call, "to", NULL);
  if (name == NULL)
    return;
  g_autofree char *lower = g_ascii_strdown (name, -1);
  IrDtype dtype = ir_dtype_from_name (lower);
  ir_call_set_attr (call, ir_attr_int (call->context, "to", (gint64) dtype));
}

/* Opset 8: an optional input of lengths came first. Its batch axis is not adapted: inference and
 * the runner know it. */
void
ir_adapt_scan (IrCall *call)
{
  if (call->n_inputs == 0 || call->inputs[0].present)
    return;
  call->n_inputs--;
  memmove (call->inputs, call->inputs + 1, call->n_inputs * sizeof *call->inputs);
}

/* Opset 1: the constants had five digits. */
void
ir_adapt_selu (IrCall *call)
{
  if (ir_call_attr (call, "alpha") == NULL)
    ir_call_set_attr (call, ir_attr_float (call->context, "alpha", 1.6732f));
  if (ir_call_attr (call, "gamma") == NULL)
    ir_call_set_attr (call, ir_attr_float (call->context, "gamma", 1.0507f));
}

/* Opset 1: p was a float; what is no integer stays, to be refused. */
void
ir_adapt_lp_pool (IrCall *call)
{
  const IrAttr *p = ir_call_attr (call, "p");
  if (p != NULL && p->kind == IR_ATTR_FLOAT && p->floats[0] >= 1 && p->floats[0] < 1 << 24 &&
      p->floats[0] == (float) (gint64) p->floats[0])
    ir_call_set_attr (call, ir_attr_int (call->context, "p", (gint64) p->floats[0]));
}

/* Opset < 6: how often, and along which axis, as two scalars of the element type of the input. */
void
ir_adapt_tile (IrCall *call)
{
  if (call->n_inputs != 3)
    return;
  const IrTensor *tiles = ir_call_input (call, 1), *axis = ir_call_input (call, 2);
  int rank = ir_call_input_rank (call, 0);
  gint64 repeats[IR_MAX_RANK], at = 0;
  gboolean known = tiles != NULL && axis != NULL && rank >= 0 &&
                   ir_tensor_n_elements (tiles) == 1 && ir_tensor_n_elements (axis) == 1;
  if (known)
    {
      double place = ir_tensor_get_double (axis, 0), times = ir_tensor_get_double (tiles, 0);
      known = place >= 0 && place < rank && times >= 0 && times < 0x1p53;
      at = known ? (gint64) place : 0;
      for (int i = 0; known && i < rank; i++)
        repeats[i] = i == at ? (gint64) times : 1;
    }
  call->n_inputs = 2;
  memset (&call->inputs[1], 0, sizeof call->inputs[1]);
  call->inputs[1].present = TRUE;
  if (known)
    ir_call_set_input_ints (call, 1, repeats, rank);
}

/* Opset < 9, on trial: over all axes, or all but the channels. That the result may be left as wide as it
 * is, it does not have any more; then the attribute stays, to be refused. */
void
ir_adapt_mean_variance (IrCall *call)
{
  static const gint64 axes[] = { 0, 1, 2, 3 };

  if (ir_call_int (call, "across_channels", 0) != 0)
    ir_call_set_attr (call, ir_attr_ints (call->context, "axes", axes, G_N_ELEMENTS (axes)));
  ir_call_drop_attr (call, "across_channels");
  if (ir_call_int (call, "normalize_variance", 1) != 0)
    ir_call_drop_attr (call, "normalize_variance");
}
