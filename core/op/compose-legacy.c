/* Operators that ai.onnx had on trial until opset 10, by what came after. */
#include "config.h"

#include "core/op/compose-util.h"

static double
number (const IrCompose *c, const char *name, double fallback)
{
  return ir_call_float (c->call, name, fallback);
}

/* factor * @x + addend */
static IrPart *
affine (IrCompose *c, IrPart *x, double factor, double addend)
{
  x = ir_compose_times (c, x, factor);
  if (addend == 0)
    return x;
  return ir_compose (c, IR_OP_ADD, 2, x, ir_compose_number (c, ir_compose_dtype (x), addend));
}

/* A result that is a value of its own, where nothing was to be done. */
static void
give (IrCompose *c, IrPart *y)
{
  if (y == ir_compose_input (c, 0))
    y = ir_compose (c, IR_OP_IDENTITY, 1, y);
  ir_compose_result (c, 0, y);
}

void
ir_compose_affine (IrCompose *c)
{
  give (c, affine (c, ir_compose_input (c, 0), number (c, "alpha", 1), number (c, "beta", 0)));
}

void
ir_compose_scale (IrCompose *c)
{
  give (c, affine (c, ir_compose_input (c, 0), number (c, "scale", 1), 0));
}

void
ir_compose_scaled_tanh (IrCompose *c)
{
  IrPart *x = ir_compose_times (c, ir_compose_input (c, 0), number (c, "beta", 1));

  give (c, ir_compose_times (c, ir_compose (c, IR_OP_TANH, 1, x), number (c, "alpha", 1)));
}

void
ir_compose_parametric_softplus (IrCompose *c)
{
  IrPart *x = ir_compose_times (c, ir_compose_input (c, 0), number (c, "beta", 1));

  give (c, ir_compose_times (c, ir_compose (c, IR_OP_SOFTPLUS, 1, x), number (c, "alpha", 1)));
}

/* input [N, C, H, W] */
void
ir_compose_image_scaler (IrCompose *c)
{
  IrPart *x = ir_compose_input (c, 0);
  const IrAttr *bias = ir_call_attr (c->call, "bias");
  gint64 channels = ir_compose_dim (c, x, 1);
  guint n = bias != NULL && bias->kind == IR_ATTR_FLOATS ? bias->n : 0;
  IrPart *addend;

  if (ir_compose_rank (c, x) != 4 || n != channels || bias == NULL)
    ir_compose_fail (c, IR_OP_ERROR_SHAPE,
                     "bias has %u numbers, and input must be [N, as many channels, H, W]", n);
  if (c->failed || c->unknown)
    return;
  addend = ir_compose_constant (
      c, ir_tensor_new_copy (IR_DTYPE_FLOAT, 3, (gint64[]){ n, 1, 1 }, bias->floats));
  if (ir_compose_dtype (x) != IR_DTYPE_FLOAT)
    addend = ir_compose (c, IR_OP_CAST_LIKE, 2, addend, x);
  x = ir_compose_times (c, x, number (c, "scale", 1));
  give (c, ir_compose (c, IR_OP_ADD, 2, x, addend));
}

/* input [N, C, H, W] */
void
ir_compose_crop (IrCompose *c)
{
  IrPart *x = ir_compose_input (c, 0);
  guint n, n_sizes;
  const gint64 *border = ir_call_ints (c->call, "border", &n);
  const gint64 *sizes = ir_call_ints (c->call, "scale", &n_sizes), axes[] = { 2, 3 };

  if (ir_compose_rank (c, x) != 4 || n != 4 || (sizes != NULL && n_sizes != 2))
    ir_compose_fail (
        c, IR_OP_ERROR_ATTRIBUTE,
        "needed are an input of rank 4, a border of 4 numbers, and a scale of 2 or none");
  if (c->failed || c->unknown)
    return;
  gint64 starts[] = { border[1], border[0] }, ends[2];
  for (guint i = 0; i < 2; i++)
    {
      gint64 size = ir_compose_dim (c, x, 2 + (int) i), last = size - border[i == 0 ? 3 : 2];

      if (c->unknown)
        return;
      ends[i] = sizes == NULL ? last : starts[i] + sizes[i];
      if (starts[i] < 0 || ends[i] < starts[i] || ends[i] > size)
        {
          ir_compose_fail (c, IR_OP_ERROR_ATTRIBUTE,
                           "border and scale do not fit an axis of size %" G_GINT64_FORMAT, size);
          return;
        }
    }
  ir_compose_result (c, 0,
                     ir_compose (c, IR_OP_SLICE, 4, x, ir_compose_ints (c, 2, starts),
                                 ir_compose_ints (c, 2, ends), ir_compose_ints (c, 2, axes)));
}

void
ir_compose_dynamic_slice (IrCompose *c)
{
  ir_compose_result (c, 0,
                     ir_compose (c, IR_OP_SLICE, 4, ir_compose_input (c, 0),
                                 ir_compose_input (c, 1), ir_compose_input (c, 2),
                                 ir_compose_input (c, 3)));
}
