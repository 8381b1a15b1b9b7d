/* Quantized operators of com.microsoft as compositions: real numbers between DequantizeLinear and
 * QuantizeLinear, or products of integers that are scaled. Inputs are those of ONNX Runtime's
 * ContribOperators.md: a tensor, its scale, its zero point or none. */
#include "config.h"

#include "core/op/compose-util.h"

/* -- real and whole numbers -- */

/* Input @slot as real numbers, with the scale and the zero point behind it. */
static IrPart *
real (IrCompose *c, guint slot, gint64 axis)
{
  ir_compose_set_int (c, "axis", axis);
  return ir_compose (c, IR_OP_DEQUANTIZE_LINEAR, 3, ir_compose_input (c, slot),
                     ir_compose_input (c, slot + 1), ir_compose_input (c, slot + 2));
}

/* @x as whole numbers of @dtype, by the scale in @slot and the zero point behind it. */
static IrPart *
whole (IrCompose *c, IrPart *x, guint slot, IrDtype dtype)
{
  IrPart *zero = ir_compose_input (c, slot + 1);

  if (zero == NULL && dtype != IR_DTYPE_UNDEFINED)
    ir_compose_set_int (c, "output_dtype", dtype);
  return ir_compose (c, IR_OP_QUANTIZE_LINEAR, 3, x, ir_compose_input (c, slot), zero);
}

static void
between (IrCompose *c, IrOpId op)
{
  IrDtype dtype = ir_compose_dtype (ir_compose_input (c, 0));
  IrPart *a = real (c, 0, 1), *b = real (c, 3, 1);

  ir_compose_result (c, 0, whole (c, ir_compose (c, op, 2, a, b), 6, dtype));
}

void
ir_compose_q_add (IrCompose *c)
{
  between (c, IR_OP_ADD);
}

void
ir_compose_q_mul (IrCompose *c)
{
  between (c, IR_OP_MUL);
}

static void
unary (IrCompose *c, IrOpId op)
{
  IrDtype dtype = ir_compose_dtype (ir_compose_input (c, 0));
  IrPart *x = real (c, 0, 1);

  ir_compose_pass_attrs (c, op);
  ir_compose_result (c, 0, whole (c, ir_compose (c, op, 1, x), 3, dtype));
}

void
ir_compose_q_leaky_relu (IrCompose *c)
{
  unary (c, IR_OP_LEAKY_RELU);
}

void
ir_compose_q_sigmoid (IrCompose *c)
{
  unary (c, IR_OP_SIGMOID);
}

/* Before version 13 of ai.onnx, Softmax worked on all axes from axis on together. */
void
ir_compose_q_softmax (IrCompose *c)
{
  gboolean flat = ir_call_int (c->call, "opset", 13) < 13;
  IrDtype dtype = ir_compose_dtype (ir_compose_input (c, 0));
  IrPart *x = real (c, 0, 1);

  ir_compose_set_int (c, "axis", ir_call_int (c->call, "axis", -1));
  if (flat)
    {
      ir_compose_set_int (c, "flatten", 1);
      c->not_nodes = TRUE;
    }
  ir_compose_result (c, 0, whole (c, ir_compose (c, IR_OP_SOFTMAX, 1, x), 3, dtype));
}

/* The scale and zero point of Y, then those of each input behind it. */
void
ir_compose_q_concat (IrCompose *c)
{
  guint n = c->call->n_inputs >= 2 ? (c->call->n_inputs - 2) / 3 : 0;
  g_autofree IrPart **parts = g_new0 (IrPart *, n + 1);
  IrPart *y;

  if (n == 0 || c->call->n_inputs % 3 != 2)
    {
      ir_compose_fail (c, IR_OP_ERROR_ARITY,
                       "the inputs behind the first two are not tensors with a scale and a zero "
                       "point each");
      return;
    }
  for (guint i = 0; i < n; i++)
    parts[i] = ir_compose_dtype (ir_compose_input (c, 2 + 3 * i)) == IR_DTYPE_FLOAT
                   ? ir_compose_input (c, 2 + 3 * i)
                   : real (c, 2 + 3 * i, 1);
  ir_compose_pass_attrs (c, IR_OP_CONCAT);
  ir_compose_many (c, IR_OP_CONCAT, n, parts, 1, &y);
  ir_compose_result (c, 0, whole (c, y, 0, IR_DTYPE_UNDEFINED));
}

/* condition; X, its scale and zero point; Y so; the scale and zero point of Z. */
void
ir_compose_q_where (IrCompose *c)
{
  IrPart *x = real (c, 1, 1), *y = real (c, 4, 1);
  IrPart *z = ir_compose (c, IR_OP_WHERE, 3, ir_compose_input (c, 0), x, y);

  ir_compose_result (c, 0, whole (c, z, 7, IR_DTYPE_UNDEFINED));
}

/* -- images -- */

static gboolean
has_channels_last (const IrCompose *c)
{
  return ir_call_int (c->call, "channels_last", 0) != 0;
}

static void
pool (IrCompose *c, IrOpId op)
{
  IrDtype dtype = ir_compose_dtype (ir_compose_input (c, 0));
  gboolean last = has_channels_last (c);
  IrPart *x = real (c, 0, 1), *y;

  if (last)
    x = ir_compose_channels_first (c, x);
  ir_compose_pass_attrs (c, op);
  y = ir_compose (c, op, 1, x);
  if (last)
    y = ir_compose_channels_last (c, y);
  ir_compose_result (c, 0, whole (c, y, 3, dtype));
}

void
ir_compose_q_average_pool (IrCompose *c)
{
  pool (c, IR_OP_AVERAGE_POOL);
}

void
ir_compose_q_global_average_pool (IrCompose *c)
{
  pool (c, IR_OP_GLOBAL_AVERAGE_POOL);
}

void
ir_compose_nhwc_max_pool (IrCompose *c)
{
  IrPart *x = ir_compose_channels_first (c, ir_compose_input (c, 0));

  ir_compose_pass_attrs (c, IR_OP_MAX_POOL);
  ir_compose_result (c, 0, ir_compose_channels_last (c, ir_compose (c, IR_OP_MAX_POOL, 1, x)));
}

/* QLinearConv of the standard, perhaps with the channels last; W has them second in any case. */
void
ir_compose_q_conv (IrCompose *c)
{
  gboolean last = has_channels_last (c);
  IrPart *inputs[9], *y;

  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++)
    inputs[i] = ir_compose_input (c, i);
  if (last)
    inputs[0] = ir_compose_channels_first (c, inputs[0]);
  ir_compose_pass_attrs (c, IR_OP_Q_LINEAR_CONV);
  ir_compose_many (c, IR_OP_Q_LINEAR_CONV, G_N_ELEMENTS (inputs), inputs, 1, &y);
  ir_compose_result (c, 0, last ? ir_compose_channels_last (c, y) : y);
}

/* -- products -- */

/* alpha * A * B + C, where C counts in alpha * (scale of A) * (scale of B). */
void
ir_compose_q_gemm (IrCompose *c)
{
  gboolean transposed = ir_call_int (c->call, "transB", 0) != 0;
  double alpha = ir_call_float (c->call, "alpha", 1);
  IrPart *a = real (c, 0, 0), *b = real (c, 3, transposed ? 0 : 1), *addend = NULL, *y;

  if (ir_compose_input (c, 6) != NULL)
    {
      ir_compose_set_int (c, "to", IR_DTYPE_FLOAT);
      addend = ir_compose (c, IR_OP_CAST, 1, ir_compose_input (c, 6));
      addend = ir_compose (
          c, IR_OP_MUL, 2, addend,
          ir_compose (c, IR_OP_MUL, 2, ir_compose_input (c, 1), ir_compose_input (c, 4)));
      addend = ir_compose (c, IR_OP_MUL, 2, addend, ir_compose_number (c, IR_DTYPE_FLOAT, alpha));
    }
  ir_compose_pass_attrs (c, IR_OP_GEMM);
  y = ir_compose (c, IR_OP_GEMM, 3, a, b, addend);
  if (ir_compose_input (c, 7) != NULL)
    y = whole (c, y, 7, ir_compose_dtype (ir_compose_input (c, 0)));
  ir_compose_result (c, 0, y);
}

/* @a [.., M, K] times @b [.., K, N], less their zero points, which may be absent, in float; @scale is
 * what a product of 1 is worth, a number or [N]; @bias may be absent. */
IrPart *
ir_compose_scaled_product (
    IrCompose *c, IrPart *a, IrPart *b, IrPart *a_zero, IrPart *b_zero, IrPart *scale, IrPart *bias)
{
  IrPart *product = ir_compose (c, IR_OP_MATMUL_INTEGER, 4, a, b, a_zero, b_zero);

  ir_compose_set_int (c, "to", IR_DTYPE_FLOAT);
  product = ir_compose (c, IR_OP_CAST, 1, product);
  product = ir_compose (c, IR_OP_MUL, 2, product, scale);
  return bias != NULL ? ir_compose (c, IR_OP_ADD, 2, product, bias) : product;
}

/* A, B, the scales of both, their zero points, a bias. */
void
ir_compose_matmul_integer_to_float (IrCompose *c)
{
  IrPart *scale = ir_compose (c, IR_OP_MUL, 2, ir_compose_input (c, 2), ir_compose_input (c, 3));

  ir_compose_result (c, 0,
                     ir_compose_scaled_product (c, ir_compose_input (c, 0), ir_compose_input (c, 1),
                                                ir_compose_input (c, 4), ir_compose_input (c, 5),
                                                scale, ir_compose_input (c, 6)));
}

/* A in float; B, its scale, its zero point, a bias. */
void
ir_compose_dynamic_quantize_matmul (IrCompose *c)
{
  IrPart *a = ir_compose_input (c, 0), *quantized[3];

  ir_compose_many (c, IR_OP_DYNAMIC_QUANTIZE_LINEAR, 1, &a, 3, quantized);
  IrPart *scale = ir_compose (c, IR_OP_MUL, 2, quantized[1], ir_compose_input (c, 2));
  ir_compose_result (c, 0,
                     ir_compose_scaled_product (c, quantized[0], ir_compose_input (c, 1),
                                                quantized[2], ir_compose_input (c, 3), scale,
                                                ir_compose_input (c, 4)));
}

/* Integers of 16 bits, whose products are of 32. */
void
ir_compose_matmul_integer_16 (IrCompose *c)
{
  IrPart *wide[2];

  for (guint i = 0; i < 2; i++)
    {
      ir_compose_set_int (c, "to", IR_DTYPE_INT32);
      wide[i] = ir_compose (c, IR_OP_CAST, 1, ir_compose_input (c, i));
    }
  ir_compose_result (c, 0, ir_compose (c, IR_OP_MATMUL, 2, wide[0], wide[1]));
}

/* -- DynamicQuantizeLSTM -- */

/* Quantized weights [directions, in, gates * hidden] as LSTM has them, with the last two axes the
 * other way round. Scale and zero point are of a direction, or of each of its columns. */
static IrPart *
real_weights (IrCompose *c, guint slot, guint scale, guint zero)
{
  const gint64 columns[] = { 0, 1, -1 }, perm[] = { 0, 2, 1 };
  IrPart *parts[] = { ir_compose_input (c, slot), ir_compose_input (c, zero) };

  for (guint i = 0; i < 2; i++)
    {
      ir_compose_set_int (c, "to", IR_DTYPE_FLOAT);
      parts[i] = ir_compose (c, IR_OP_CAST, 1, parts[i]);
    }
  IrPart *w = ir_compose (c, IR_OP_SUB, 2, parts[0], ir_compose_reshape (c, parts[1], 3, columns));
  w = ir_compose (c, IR_OP_MUL, 2, w,
                  ir_compose_reshape (c, ir_compose_input (c, scale), 3, columns));
  return ir_compose_transpose (c, w, 3, perm);
}

/* Inputs of LSTM, then scales and zero points of W and R. */
void
ir_compose_dynamic_quantize_lstm (IrCompose *c)
{
  IrPart *inputs[8], *outputs[3];

  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++)
    inputs[i] = ir_compose_input (c, i);
  inputs[1] = real_weights (c, 1, 8, 9);
  inputs[2] = real_weights (c, 2, 10, 11);
  ir_compose_pass_attrs (c, IR_OP_LSTM);
  ir_compose_many (c, IR_OP_LSTM, G_N_ELEMENTS (inputs), inputs, 3, outputs);
  for (guint i = 0; i < 3; i++)
    ir_compose_result (c, i, outputs[i]);
}
