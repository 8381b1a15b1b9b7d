/* Quantized graphs: quantize and dequantize pairs around float operators, and integer operators. */
#include "config.h"

#include "tests/fuzz/graph-parts.h"

#include <math.h>

static IrDtype
byte_type (Gen *gen)
{
  return gen_one_in (gen, 2) ? IR_DTYPE_UINT8 : IR_DTYPE_INT8;
}

/* A scale no number of a test is a whole multiple of. */
static IrValue *
random_scale (Gen *gen)
{
  return part_number (gen, IR_DTYPE_FLOAT, g_rand_double_range (gen->rand, 0.008, 0.05));
}

static IrValue *
random_zero (Gen *gen, IrDtype dtype)
{
  return part_number (gen, dtype,
                      dtype == IR_DTYPE_UINT8 ? 100 + gen_below (gen, 60)
                      : gen_one_in (gen, 2)   ? 0
                                              : gen_below (gen, 9));
}

static IrValue *
quantize_pair (Gen *gen, IrValue *x)
{
  IrDtype dtype = byte_type (gen);
  IrValue *scale = random_scale (gen), *zero = random_zero (gen, dtype);
  IrValue *q = PART (gen, "QuantizeLinear", NULL, x, scale, zero);

  return q != NULL ? PART_OR (PART (gen, "DequantizeLinear", NULL, q, scale, zero), x) : x;
}

static IrValue *
byte_weight (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                         (double) gen_below (gen, 255) - (dtype == IR_DTYPE_INT8 ? 127 : 0));
  return gen_tensor (gen, tensor);
}

static IrValue *
scales_of (Gen *gen, gint64 n, gint64 fan)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 1, &n, NULL);
  double most = 0.02 / sqrt ((double) MAX (fan, 1));

  for (gint64 i = 0; i < n; i++)
    ir_dtype_set_double (IR_DTYPE_FLOAT, ir_tensor_data_writable (tensor), (gsize) i,
                         g_rand_double_range (gen->rand, most / 4, most));
  return gen_tensor (gen, tensor);
}

/* Weights as bytes, with one scale or one for each of axis 0, as floats. */
static IrValue *
dequantized_weight (Gen *gen, guint rank, const gint64 *dims, gint64 fan, gint64 axis)
{
  IrDtype dtype = gen_one_in (gen, 3) ? IR_DTYPE_UINT8 : IR_DTYPE_INT8;
  gboolean each = gen_one_in (gen, 2);
  gint64 n = dims[axis];
  IrValue *w = byte_weight (gen, dtype, rank, dims);

  if (each && dtype == IR_DTYPE_INT8)
    return PART (gen, "DequantizeLinear", ATTRS (INT ("axis", axis)), w, scales_of (gen, n, fan));
  return PART (gen, "DequantizeLinear", NULL, w,
               part_number (gen, IR_DTYPE_FLOAT, 0.01 / sqrt ((double) MAX (fan, 1))),
               part_number (gen, dtype, dtype == IR_DTYPE_UINT8 ? 128 : 0));
}

static IrValue *
pair_conv (Gen *gen, IrValue *x)
{
  gint64 c = part_dim (gen, x, 1), m = gen_one_in (gen, 3) ? c : 1 + gen_below (gen, 20),
         group = m == c && gen_one_in (gen, 2) ? c : 1, k = gen_one_in (gen, 2) ? 3 : 1;
  gint64 dims[] = { m, c / MAX (group, 1), k, k }, pads[] = { k / 2, k / 2, k / 2, k / 2 };
  IrValue *w = dequantized_weight (gen, 4, dims, dims[1] * k * k, 0);

  if (w == NULL)
    return x;
  IrValue *y = PART (gen, "Conv", ATTRS (INT ("group", group), INTS ("pads", pads, 4)), x, w,
                     gen_one_in (gen, 3) ? NULL : part_weight (gen, IR_DTYPE_FLOAT, 1, &m, 0.5));
  return PART_OR (y, x);
}

static IrValue *
pair_product (Gen *gen, IrValue *x)
{
  gint64 k = part_dim (gen, x, -1), dims[] = { k, part_size (gen, 24) };
  IrValue *w = dequantized_weight (gen, 2, dims, k, 1);

  return w != NULL ? gen_one (gen, "MatMul", x, w, NULL) : x;
}

void
graph_quantized (Gen *gen)
{
  gboolean planes = gen_one_in (gen, 2);
  gint64 dims[] = { part_size (gen, 3), 1 + gen_below (gen, 20), part_size (gen, 8),
                    part_size (gen, 8) };
  IrValue *x = part_input (gen, "x", IR_DTYPE_FLOAT, planes ? 4 : 2 + gen_below (gen, 2), dims),
          *first;

  for (guint i = 1 + gen_below (gen, 3); i > 0; i--)
    {
      first = x = quantize_pair (gen, x);
      x = planes ? pair_conv (gen, x) : pair_product (gen, x);
      if (!gen_one_in (gen, 3))
        x = gen_one_in (gen, 2) ? gen_one (gen, "Relu", x, NULL, NULL) : part_activation (gen, x);
      if (gen_one_in (gen, 3) && part_beside (gen, x, -1) == first)
        x = gen_one (gen, "Add", x, first, NULL);
      if (planes && gen_one_in (gen, 4))
        x = PART_OR (
            PART (gen, "MaxPool", ATTRS (INTS ("kernel_shape", ((gint64[]){ 2, 2 }), 2)), x), x);
    }
  if (gen_one_in (gen, 2))
    quantize_pair (gen, x);
}

/* -- integer operators -- */

static IrValue *
dynamic_product (Gen *gen, IrValue *x)
{
  IrNode *node = gen_emit (gen, "DynamicQuantizeLinear", "", 1, &x, 3, NULL);
  gint64 k = part_dim (gen, x, -1), dims[] = { k, part_size (gen, 20) };
  IrDtype dtype = byte_type (gen);

  if (node == NULL)
    return x;
  IrValue *y = PART (gen, "MatMulInteger", NULL, node->outputs[0],
                     byte_weight (gen, dtype, 2, dims), node->outputs[2],
                     part_number (gen, dtype, dtype == IR_DTYPE_UINT8 ? 128 : 0));
  if (y == NULL)
    return x;
  y = PART_OR (PART (gen, "Cast", ATTRS (INT ("to", IR_DTYPE_FLOAT)), y), x);
  IrValue *scale = gen_one (gen, "Mul", node->outputs[1],
                            part_number (gen, IR_DTYPE_FLOAT, 0.01 / sqrt ((double) MAX (k, 1))),
                            NULL);
  return gen_one (gen, "Mul", y, scale, NULL);
}

static IrValue *
linear_conv (Gen *gen, IrValue *q, IrValue *scale, IrValue *zero)
{
  gint64 c = part_dim (gen, q, 1), m = 1 + gen_below (gen, 16), k = gen_one_in (gen, 2) ? 3 : 1;
  gint64 dims[] = { m, c, k, k }, pads[] = { k / 2, k / 2, k / 2, k / 2 };
  g_autoptr (IrTensor) bias = ir_tensor_new_alloc (IR_DTYPE_INT32, 1, &m, NULL);

  for (gint64 i = 0; i < m; i++)
    ir_dtype_set_double (IR_DTYPE_INT32, ir_tensor_data_writable (bias), (gsize) i,
                         (double) gen_below (gen, 1000) - 500);
  IrValue *in[] = { q,
                    scale,
                    zero,
                    byte_weight (gen, IR_DTYPE_INT8, 4, dims),
                    part_number (gen, IR_DTYPE_FLOAT, 0.013),
                    part_number (gen, IR_DTYPE_INT8, 0),
                    part_number (gen, IR_DTYPE_FLOAT, 0.0137 * sqrt ((double) (c * k * k))),
                    zero };
  IrNode *node;

  if (gen_one_in (gen, 2))
    node = gen_emit (gen, "QLinearConv", "", 8, in, 1, ATTRS (INTS ("pads", pads, 4)));
  else
    node = gen_emit (gen, "ConvInteger", "", 4, (IrValue *const[]){ q, in[3], zero, in[5] }, 1,
                     ATTRS (INTS ("pads", pads, 4)));
  return node != NULL ? node->outputs[0] : q;
}

static void
planes_of_bytes (Gen *gen)
{
  gint64 dims[] = { part_size (gen, 2), 1 + gen_below (gen, 12), part_size (gen, 7),
                    part_size (gen, 7) };
  IrDtype dtype = byte_type (gen);
  IrValue *x = part_input (gen, "x", IR_DTYPE_FLOAT, 4, dims), *scale = random_scale (gen),
          *zero = random_zero (gen, dtype);
  IrValue *q = PART (gen, "QuantizeLinear", NULL, x, scale, zero);

  if (q == NULL)
    return;
  IrValue *y = linear_conv (gen, q, scale, zero);
  if (part_dtype (gen, y) == dtype && gen_one_in (gen, 2))
    y = linear_conv (gen, y, random_scale (gen), zero);
  if (part_dtype (gen, y) == dtype)
    PART (gen, "DequantizeLinear", NULL, y, scale, zero);
  else
    PART (gen, "Cast", ATTRS (INT ("to", IR_DTYPE_FLOAT)), y);
}

void
graph_quantized_ops (Gen *gen)
{
  gint64 dims[] = { part_size (gen, 5), part_size (gen, 9), part_size (gen, 20) };

  if (gen_one_in (gen, 2))
    {
      planes_of_bytes (gen);
      return;
    }
  IrValue *x = part_input (gen, "x", IR_DTYPE_FLOAT, 2 + gen_below (gen, 2), dims);
  for (guint i = 1 + gen_below (gen, 2); i > 0; i--)
    {
      x = dynamic_product (gen, x);
      if (gen_one_in (gen, 2))
        x = part_activation (gen, x);
    }
}
