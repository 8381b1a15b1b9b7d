/* Products of 8-bit integers, and what makes and takes such, give every bit of the reference's on the
 * CPU, at the ends of their ranges, too. */
#include "config.h"

#include "tests/exec/graphs.h"

#include <string.h>

typedef struct
{
  const char *op, *x, *w;
  gint64 group, stride, dilation, before, after; /* of convolutions, along each axis */
  gboolean per_channel;                          /* zero points and scales of the weight */
} Case;

static const Case cases[] = {
  { "ConvInteger", "uint8[1,3,9,9]", "int8[5,3,3,3]", 1, 1, 1, 1, 1 },
  { "ConvInteger", "uint8[2,8,7,10]", "uint8[6,4,3,2]", 2, 2, 1, 0, 1, TRUE },
  { "ConvInteger", "int8[1,33,12,11]", "int8[17,33,1,1]", 1, 1, 1, 0, 0 },
  { "ConvInteger", "uint8[1,40,9,8]", "int8[40,1,3,3]", 40, 2, 1, 1, 1, TRUE },
  { "ConvInteger", "uint8[1,6,9,8]", "int8[12,1,3,3]", 6, 1, 2, 2, 2 },
  { "ConvInteger", "int8[2,4,70]", "uint8[3,4,5]", 1, 3, 2, 4, 0 },
  { "ConvInteger", "uint8[1,2,5,6,7]", "int8[4,2,2,3,2]", 1, 1, 1, 1, 0, TRUE },
  { "ConvInteger", "uint8[1,600,3,3]", "int8[2,600,3,3]", 1, 1, 1, 1, 1 },
  { "ConvInteger", "uint8[1,2,3,3,3,3]", "int8[2,2,2,2,2,2]", 1, 1, 1, 0, 0 },
  { "ConvInteger", "uint8[1,40000,1,1]", "int8[2,40000,1,1]", 1, 1, 1, 0, 0 },
  { "ConvInteger", "uint8[0,3,9,9]", "int8[5,3,3,3]", 1, 1, 1, 1, 1 },
  { "QLinearConv", "uint8[1,16,14,14]", "int8[32,16,3,3]", 1, 1, 1, 1, 1, TRUE },
  { "QLinearConv", "uint8[2,24,9,9]", "uint8[24,1,3,3]", 24, 1, 1, 1, 1 },
  { "QLinearConv", "int8[1,12,13]", "int8[9,4,3]", 3, 2, 2, 1, 2, TRUE },
  { "MatMulInteger", "uint8[5,40]", "int8[40,24]", .per_channel = TRUE },
  { "MatMulInteger", "int8[2,3,70,33]", "uint8[33,131]" },
  { "MatMulInteger", "uint8[1,1]", "uint8[1,1]" },
  { "MatMulInteger", "uint8[2,5,7]", "int8[2,7,3]" },
  { "MatMulInteger", "uint8[7]", "int8[7,3]" },
  { "MatMulInteger", "uint8[3,33000]", "uint8[33000,2]" },
  { "QLinearMatMul", "uint8[130,66]", "int8[66,67]", .per_channel = TRUE },
  { "QLinearMatMul", "int8[3,4,9]", "int8[9,65]" },
};

/* Bytes, of which a third are the least or the largest. */
static IrTensor *
bytes_of (const char *type, GRand *rand)
{
  IrTensor *tensor = tensor_of (type, "0");
  guint8 *data = ir_tensor_data_writable (tensor);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      guint8 ends[] = { 0, 255, 127, 128 };
      data[i] = g_rand_int_range (rand, 0, 3) == 0 ? ends[g_rand_int_range (rand, 0, 4)]
                                                   : (guint8) g_rand_int_range (rand, 0, 256);
    }
  return tensor;
}

/* One number of the type of @like, or @n of them. */
static IrValue *
zero_point (Builder *b, const char *name, const char *like, gint64 n, GRand *rand)
{
  g_autofree char *dtype = g_strndup (like, strcspn (like, "["));
  g_autofree char *type = n == 1 ? g_strdup_printf ("%s[]", dtype)
                                 : g_strdup_printf ("%s[%" G_GINT64_FORMAT "]", dtype, n);

  return build_constant (b, name, bytes_of (type, rand));
}

/* Scales for which results lie in the range, and some beyond. */
static IrValue *
scale (Builder *b, const char *name, gint64 n, double size, GRand *rand)
{
  g_autofree char *type = n == 1 ? g_strdup ("float[]")
                                 : g_strdup_printf ("float[%" G_GINT64_FORMAT "]", n);
  IrTensor *tensor = tensor_of (type, "1");
  float *data = ir_tensor_data_writable (tensor);

  for (gint64 i = 0; i < n; i++)
    data[i] = (float) (size * g_rand_double_range (rand, 0.5, 2));
  return build_constant (b, name, tensor);
}

static void
set_window (Builder *b, IrNode *node, const Case *c, guint n_axes)
{
  gint64 strides[IR_MAX_RANK], dilations[IR_MAX_RANK], pads[IR_MAX_RANK];
  IrContext *context = b->model->context;

  for (guint i = 0; i < n_axes; i++)
    {
      strides[i] = c->stride;
      dilations[i] = c->dilation;
      pads[i] = c->before;
      pads[n_axes + i] = c->after;
    }
  build_int (b, node, "group", c->group);
  ir_edit_set_attr (b->edit, node, ir_attr_ints (context, "strides", strides, n_axes));
  ir_edit_set_attr (b->edit, node, ir_attr_ints (context, "dilations", dilations, n_axes));
  ir_edit_set_attr (b->edit, node, ir_attr_ints (context, "pads", pads, 2 * n_axes));
}

static IrNode *
build_quantized (Builder *b, const Case *c, IrValue *x, IrValue *w, gint64 n, GRand *rand)
{
  const IrTensor *weights = ir_value_constant (w);
  gboolean conv = strstr (c->op, "Conv") != NULL;
  gint64 channels = ir_tensor_dims (weights)[conv ? 0 : ir_tensor_rank (weights) - 1];
  double k = (double) ir_tensor_n_elements (weights) / (double) channels;
  IrValue *xz = zero_point (b, "xz", c->x, 1, rand), *wz = zero_point (b, "wz", c->w, n, rand);
  IrValue *xs = scale (b, "xs", 1, 0.02, rand), *ws = scale (b, "ws", n, 0.01, rand);
  IrValue *ys = scale (b, "ys", 1, 0.02 * k, rand), *yz = zero_point (b, "yz", c->x, 1, rand);
  g_autofree char *type = g_strdup_printf ("int32[%" G_GINT64_FORMAT "]", channels);

  return conv ? build_node (b, NULL, c->op, 1, x, xs, xz, w, ws, wz, ys, yz,
                            build_constant (b, "bias", tensor_of (type, "1000 -20000 3 500000")),
                            END)
              : build_node (b, NULL, c->op, 1, x, xs, xz, w, ws, wz, ys, yz, END);
}

/* Several nodes that read one constant with zero points of their own. */
static void
build_case (Builder *b, const Case *c, IrValue *x, IrTensor *weights, GRand *rand)
{
  gboolean conv = strstr (c->op, "Conv") != NULL;
  guint rank = ir_tensor_rank (weights);
  gint64 channels = ir_tensor_dims (weights)[conv ? 0 : rank - 1],
         n = c->per_channel ? channels : 1;
  IrValue *w = build_constant (b, "w", weights);

  for (guint i = 0; i < 3; i++)
    {
      IrNode *node = c->op[0] == 'Q' ? build_quantized (b, c, x, w, n, rand)
                     : i == 2
                         ? build_node (b, NULL, c->op, 1, x, w, END)
                         : build_node (b, NULL, c->op, 1, x, w, zero_point (b, "xz", c->x, 1, rand),
                                       zero_point (b, "wz", c->w, n, rand), END);
      if (conv)
        set_window (b, node, c, rank - 2);
      build_output (b, node->outputs[0]);
    }
  build_done (b);
}

static void
assert_bits (const IrTensor *found, const IrTensor *wanted)
{
  g_assert_cmpint (ir_tensor_dtype (found), ==, ir_tensor_dtype (wanted));
  g_assert_cmpmem (ir_tensor_data (found), ir_tensor_n_bytes (found), ir_tensor_data (wanted),
                   ir_tensor_n_bytes (wanted));
}

static void
check (const Case *c, guint n_threads, GRand *rand)
{
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (IrRun) wanted_run = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };

  builder_init (&b, 21);
  IrValue *x = build_input (&b, "x", c->x);
  inputs_add (inputs, x, bytes_of (c->x, rand));
  build_case (&b, c, x, bytes_of (c->w, rand), rand);
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = n_threads };
  wanted_run = ir_model_run (b.model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  options.backend = ir_backend_find ("cpu");
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  g_test_message ("%s of %s and %s", c->op, c->x, c->w);
  for (guint i = 0; i < 2; i++) /* the second run finds the constant as the first has packed it */
    {
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);

      g_assert_no_error (error);
      for (guint k = 0; k < ir_graph_n_outputs (b.model->main); k++)
        {
          IrValueId id = ir_graph_output (b.model->main, k)->id;
          assert_bits (ir_run_value (run, id), ir_run_value (wanted_run, id));
        }
    }
}

static void
test_bits (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint n_threads = 1; n_threads <= 2; n_threads++)
      for (guint k = 0; k < 3; k++)
        check (&cases[i], n_threads, rand);
}

/* -- between floats and integers -- */

typedef struct
{
  const char *op, *x, *zero; /* types; @zero (nullable) */
  gint64 axis, n;            /* scales */
} Conversion;

static const Conversion conversions[] = {
  { "QuantizeLinear", "float[3,5,70]", "uint8", 1, 5 },
  { "QuantizeLinear", "float[3,5,70]", "int8", 2, 70 },
  { "QuantizeLinear", "float[2,9000]", "int8", 0, 2 },
  { "QuantizeLinear", "float[20001]", "uint8", 0, 1 },
  { "QuantizeLinear", "float[]", NULL, 0, 1 },
  { "QuantizeLinear", "float[40]", "int16", 0, 1 },
  { "DequantizeLinear", "uint8[3,5,70]", "uint8", -2, 5 },
  { "DequantizeLinear", "int8[20001]", "int8", 0, 1 },
  { "DequantizeLinear", "int8[4,3]", NULL, 0, 4 },
  { "DequantizeLinear", "int32[7,11]", "int32", 1, 11 },
  { "DynamicQuantizeLinear", "float[3,777]", NULL, 0, 0 },
  { "DynamicQuantizeLinear", "float[1]", NULL, 0, 0 },
};

/* Floats of all sizes, halves of a step, and what is no number: bits that are drawn. */
static IrTensor *
contents_of (const char *type, gboolean finite, GRand *rand)
{
  if (type[0] != 'f')
    return bytes_of (type, rand);
  IrTensor *tensor = tensor_of (type, "0");
  float *data = ir_tensor_data_writable (tensor);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      guint32 bits = g_rand_int (rand);
      if (!finite && bits % 8 == 0)
        memcpy (&data[i], &bits, sizeof bits);
      else
        data[i] = (float) (gint) (bits % 1024) / 8 - 64;
    }
  return tensor;
}

static void
check_conversion (const Conversion *c, gboolean finite, guint n_threads, GRand *rand)
{
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (IrRun) wanted_run = NULL, run = NULL;
  g_auto (Builder) b = { 0 };
  IrValue *by = NULL, *zero = NULL;

  builder_init (&b, 21);
  IrValue *x = build_input (&b, "x", c->x);
  inputs_add (inputs, x, contents_of (c->x, finite, rand));
  if (c->n > 0)
    by = scale (&b, "scale", c->n, 0.25, rand);
  if (c->zero != NULL)
    zero = zero_point (&b, "zero", c->zero, c->n, rand);
  IrNode *node = c->n > 0 ? build_node (&b, NULL, c->op, 1, x, by, zero, END)
                          : build_node (&b, NULL, c->op, 3, x, END);
  if (c->n > 0)
    build_int (&b, node, "axis", c->axis);
  for (guint i = 0; i < node->n_outputs; i++)
    build_output (&b, node->outputs[i]);
  build_done (&b);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      IrRunOptions options = { .backend = ir_backend_find (i == 0 ? "ref" : "cpu"),
                               .n_threads = n_threads };

      *(i == 0 ? &wanted_run : &run) = ir_model_run (b.model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
    }
  g_test_message ("%s of %s", c->op, c->x);
  for (guint i = 0; i < node->n_outputs; i++)
    assert_bits (ir_run_value (run, node->outputs[i]->id),
                 ir_run_value (wanted_run, node->outputs[i]->id));
}

static void
test_conversions (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (12);

  for (guint i = 0; i < G_N_ELEMENTS (conversions); i++)
    for (guint k = 0; k < 8; k++)
      check_conversion (&conversions[i], k % 2 == 0, 1 + k / 4, rand);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/exec-integer/all bits are those of the reference", test_bits);
  g_test_add_func ("/exec-integer/so are those of quantized and dequantized elements",
                   test_conversions);
  return g_test_run ();
}
