/* Kernels of the families linear, pooling, normalization and fused against values worked out by
 * hand, or against a second way of computing them. */
#include "config.h"

#include "tests/exec/graphs.h"

#include <math.h>

/* Runs the only node of the graph on the reference back end; (transfer full). */
static IrTensor *
run_node (Builder *builder, IrNode *node, GHashTable *inputs, guint output)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  for (guint i = 0; i < node->n_outputs; i++)
    build_output (builder, node->outputs[i]);
  build_done (builder);
  g_autoptr (IrRun) run = ir_model_run (builder->model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  IrTensor *tensor = ir_run_value (run, node->outputs[output]->id);
  g_assert_nonnull (tensor);
  /* Inference must have said what the kernel did. */
  const IrValue *value = ir_model_value (run->model, node->outputs[output]->id);
  g_assert_true (value->type == ir_tensor_type (tensor, run->model->context));
  return ir_tensor_ref (tensor);
}

static void
test_conv_padding (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[1,1,3,3]");
  IrValue *w = build_constant (&b, "w", tensor_of ("float[1,1,3,3]", "1 1 1 1 1 1 1 1 1"));
  IrNode *node = build_node (&b, NULL, "Conv", 1, x, w, END);
  build_ints (&b, node, "pads", 4, 1, 1, 1, 1);
  inputs_add (inputs, x, tensor_of ("float[1,1,3,3]", "1 2 3 4 5 6 7 8 9"));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  assert_tensor (y, "float[1,1,3,3]", "12 21 16 27 45 33 24 39 28", 0);
}

static void
test_conv_same_upper (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[1,1,4]");
  IrValue *w = build_constant (&b, "w", tensor_of ("float[1,1,2]", "1 10"));
  IrNode *node = build_node (&b, NULL, "Conv", 1, x, w, END);
  build_string (&b, node, "auto_pad", "SAME_UPPER");
  inputs_add (inputs, x, tensor_of ("float[1,1,4]", "1 2 3 4"));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  assert_tensor (y, "float[1,1,4]", "21 32 43 4", 0);
}

/* The definition of a convolution, element by element, for two spatial axes. */
static double
conv_element (const IrTensor *x,
              const IrTensor *w,
              gint64 group,
              const gint64 at[4],
              gint64 stride,
              gint64 pad,
              gint64 dilation)
{
  const gint64 *xd = ir_tensor_dims (x), *wd = ir_tensor_dims (w);
  gint64 each = wd[0] / group, first = at[1] / each * wd[1];
  double sum = 0;

  for (gint64 c = 0; c < wd[1]; c++)
    for (gint64 i = 0; i < wd[2]; i++)
      for (gint64 j = 0; j < wd[3]; j++)
        {
          gint64 row = at[2] * stride + i * dilation - pad;
          gint64 column = at[3] * stride + j * dilation - pad;
          if (row < 0 || column < 0 || row >= xd[2] || column >= xd[3])
            continue;
          sum += ir_tensor_get_double (
                     x, (guint64) (((at[0] * xd[1] + first + c) * xd[2] + row) * xd[3] + column)) *
                 ir_tensor_get_double (w,
                                       (guint64) (((at[1] * wd[1] + c) * wd[2] + i) * wd[3] + j));
        }
  return sum;
}

static void
test_conv_groups (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (IrTensor) xt = tensor_random ("float[2,4,9,8]", 1);
  g_autoptr (IrTensor) wt = tensor_random ("float[6,2,3,2]", 2);
  IrValue *x = build_input (&b, "x", "float[2,4,9,8]");
  IrValue *w = build_constant (&b, "w", ir_tensor_ref (wt));
  IrValue *bias = build_constant (&b, "b", tensor_of ("float[6]", "1 2 3 4 5 6"));
  IrNode *node = build_node (&b, NULL, "Conv", 1, x, w, bias, END);
  build_int (&b, node, "group", 2);
  build_ints (&b, node, "strides", 2, 2, 2);
  build_ints (&b, node, "dilations", 2, 2, 2);
  build_ints (&b, node, "pads", 4, 1, 1, 1, 1);
  inputs_add (inputs, x, ir_tensor_ref (xt));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  const gint64 *dims = ir_tensor_dims (y);
  g_assert_cmpint (dims[2], ==, (9 + 2 - 5) / 2 + 1);
  g_assert_cmpint (dims[3], ==, (8 + 2 - 3) / 2 + 1);
  guint64 i = 0;
  gint64 at[4];
  for (at[0] = 0; at[0] < dims[0]; at[0]++)
    for (at[1] = 0; at[1] < dims[1]; at[1]++)
      for (at[2] = 0; at[2] < dims[2]; at[2]++)
        for (at[3] = 0; at[3] < dims[3]; at[3]++, i++)
          {
            double expected = conv_element (xt, wt, 2, at, 2, 1, 2) + (double) (at[1] + 1);
            g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (y, i), expected, 1e-6);
          }
}

/* A transposed convolution is the adjoint: <conv (x), y> = <x, conv_transpose (y)>. */
static void
test_conv_transpose_is_adjoint (void)
{
  g_autoptr (IrTensor) xt = tensor_random ("double[1,4,7,9]", 1);
  g_autoptr (IrTensor) wt = tensor_random ("double[6,2,3,2]", 2);
  g_autoptr (IrTensor) forward = NULL, back = NULL, yt = NULL;
  double left = 0, right = 0;

  {
    g_auto (Builder) b = { 0 };
    builder_init (&b, 17);
    g_autoptr (GHashTable) inputs = inputs_new ();
    IrValue *x = build_input (&b, "x", "double[1,4,7,9]");
    IrValue *w = build_constant (&b, "w", ir_tensor_ref (wt));
    IrNode *node = build_node (&b, NULL, "Conv", 1, x, w, END);
    build_int (&b, node, "group", 2);
    build_ints (&b, node, "strides", 2, 2, 3);
    build_ints (&b, node, "pads", 4, 1, 0, 1, 1);
    inputs_add (inputs, x, ir_tensor_ref (xt));
    forward = run_node (&b, node, inputs, 0);
  }
  yt = tensor_random ("double[1,6,4,3]", 3);
  g_assert_cmpuint (ir_tensor_n_elements (yt), ==, ir_tensor_n_elements (forward));
  {
    g_auto (Builder) b = { 0 };
    builder_init (&b, 17);
    g_autoptr (GHashTable) inputs = inputs_new ();
    IrValue *y = build_input (&b, "y", "double[1,6,4,3]");
    IrValue *w = build_constant (&b, "w", ir_tensor_ref (wt));
    IrNode *node = build_node (&b, NULL, "ConvTranspose", 1, y, w, END);
    build_int (&b, node, "group", 2);
    build_ints (&b, node, "strides", 2, 2, 3);
    build_ints (&b, node, "pads", 4, 1, 0, 1, 1);
    build_ints (&b, node, "output_padding", 2, 0, 2);
    inputs_add (inputs, y, ir_tensor_ref (yt));
    back = run_node (&b, node, inputs, 0);
  }
  g_assert_cmpuint (ir_tensor_n_elements (back), ==, ir_tensor_n_elements (xt));
  for (guint64 i = 0; i < ir_tensor_n_elements (yt); i++)
    left += ir_tensor_get_double (forward, i) * ir_tensor_get_double (yt, i);
  for (guint64 i = 0; i < ir_tensor_n_elements (xt); i++)
    right += ir_tensor_get_double (xt, i) * ir_tensor_get_double (back, i);
  g_assert_cmpfloat_with_epsilon (left, right, 1e-9);
}

static void
test_matmul_broadcast (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[2,1,2,2]");
  IrValue *w = build_constant (&b, "w", tensor_of ("float[3,2,1]", "1 0 0 1 1 1"));
  IrNode *node = build_node (&b, NULL, "MatMul", 1, x, w, END);
  inputs_add (inputs, x, tensor_of ("float[2,1,2,2]", "1 2 3 4 5 6 7 8"));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  assert_tensor (y, "float[2,3,2,1]", "1 3 2 4 3 7 5 7 6 8 11 15", 0);
}

static void
test_matmul_integers (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "int64[2]");
  IrValue *w = build_constant (&b, "w", ir_tensor_new_int64s ((gint64[]){ 3, 1 }, 2));
  IrNode *node = build_node (&b, NULL, "MatMul", 1, x, w, END);
  /* 3 · (2^53 + 1) + 1 does not fit a double. */
  inputs_add (inputs, x, ir_tensor_new_int64s ((gint64[]){ 9007199254740993, 1 }, 2));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  g_assert_cmpuint (ir_tensor_rank (y), ==, 0);
  g_assert_cmpint (ir_tensor_get_int64 (y, 0), ==, 27021597764222980);
}

static void
test_gemm (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[3,2]");
  IrValue *w = build_constant (&b, "w", tensor_of ("float[2,3]", "1 0 1 0 1 1"));
  IrValue *c = build_constant (&b, "c", tensor_of ("float[2,1]", "10 20"));
  IrNode *node = build_node (&b, NULL, "Gemm", 1, x, w, c, END);
  build_int (&b, node, "transA", 1);
  build_int (&b, node, "transB", 1);
  build_float (&b, node, "alpha", 2);
  build_float (&b, node, "beta", 0.5f);
  inputs_add (inputs, x, tensor_of ("float[3,2]", "1 2 3 4 5 6"));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  /* A' = [[1,3,5],[2,4,6]], B' = [[1,0],[0,1],[1,1]] */
  assert_tensor (y, "float[2,2]", "17 21 26 30", 0);
}

static void
test_max_pool_indices (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[1,1,4,4]");
  IrNode *node = build_node (&b, NULL, "MaxPool", 2, x, END);
  build_ints (&b, node, "kernel_shape", 2, 2, 2);
  build_ints (&b, node, "strides", 2, 2, 2);
  build_int (&b, node, "storage_order", 1);
  inputs_add (inputs, x, tensor_of ("float[1,1,4,4]", "1 2 3 4 5 9 7 8 -1 -2 -3 -4 -5 -6 -7 -8"));
  g_autoptr (IrTensor) values = run_node (&b, node, inputs, 0);
  assert_tensor (values, "float[1,1,2,2]", "9 8 -1 -3", 0);
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("ref") };
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
  assert_tensor (ir_run_value (run, node->outputs[1]->id), "int64[1,1,2,2]", "5 13 2 10", 0);
}

static void
test_pool_ceil (void)
{
  const struct
  {
    int include_pad;
    const char *expected;
  } cases[] = { { 0, "1.5 3 4.5" }, { 1, "1 3 4.5" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (Builder) b = { 0 };
      builder_init (&b, 17);
      g_autoptr (GHashTable) inputs = inputs_new ();
      IrValue *x = build_input (&b, "x", "float[1,1,5]");
      IrNode *node = build_node (&b, NULL, "AveragePool", 1, x, END);
      build_ints (&b, node, "kernel_shape", 1, 3);
      build_ints (&b, node, "strides", 1, 2);
      build_ints (&b, node, "pads", 2, 1, 0);
      build_int (&b, node, "ceil_mode", 1);
      build_int (&b, node, "count_include_pad", cases[i].include_pad);
      inputs_add (inputs, x, tensor_of ("float[1,1,5]", "1 2 3 4 5"));
      g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
      /* windows [pad 1 2], [2 3 4] and, rounded up, [4 5 beyond] */
      assert_tensor (y, "float[1,1,3]", cases[i].expected, 1e-6);
    }
}

/* One window that is larger than the padded input, which ceil_mode rounds up to; as ONNX Runtime.
 */
static void
test_pool_larger (void)
{
  const struct
  {
    const char *op, *backend;
    int kernel, stride, pad, dilation, include_pad;
    const char *expected; /* (nullable) NULL: refused */
  } cases[] = {
    { "MaxPool", "ref", 3, 2, 0, 1, -1, "4" },
    { "MaxPool", "cpu", 3, 2, 0, 1, -1, "4" },
    { "MaxPool", "ref", 2, 2, 0, 2, -1, "1" },
    { "MaxPool", "cpu", 2, 2, 0, 2, -1, "1" },
    { "AveragePool", "ref", 3, 2, 0, 1, 0, "2.5" },
    { "AveragePool", "cpu", 3, 2, 0, 1, 0, "2.5" },
    { "AveragePool", "ref", 3, 2, 0, 1, 1, "2.5" },
    { "AveragePool", "cpu", 3, 2, 0, 1, 1, "2.5" },
    { "AveragePool", "ref", 5, 4, 1, 1, 0, "2.5" },
    { "AveragePool", "cpu", 5, 4, 1, 1, 0, "2.5" },
    { "AveragePool", "ref", 5, 4, 1, 1, 1, "0.625" }, /* 10 of 4 · 4 places */
    { "AveragePool", "cpu", 5, 4, 1, 1, 1, "0.625" },
    { "LpPool", "ref", 3, 2, 0, 1, -1, "5.477226" },
    { "LpPool", "cpu", 3, 2, 0, 1, -1, "5.477226" },
    { "MaxPool", "ref", 4, 2, 0, 1, -1, NULL }, /* none begins in the data */
    { "MaxPool", "ref", 3, 1, 0, 1, -1, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      int pad = cases[i].pad;
      g_auto (Builder) b = { 0 };
      g_autoptr (GError) error = NULL;
      g_autoptr (GHashTable) inputs = inputs_new ();
      IrRunOptions options = { .backend = ir_backend_find (cases[i].backend) };

      builder_init (&b, 22);
      IrValue *x = build_input (&b, "x", "float[1,1,2,2]");
      IrNode *node = build_node (&b, NULL, cases[i].op, 1, x, END);
      build_ints (&b, node, "kernel_shape", 2, cases[i].kernel, cases[i].kernel);
      build_ints (&b, node, "strides", 2, cases[i].stride, cases[i].stride);
      build_ints (&b, node, "dilations", 2, cases[i].dilation, cases[i].dilation);
      build_ints (&b, node, "pads", 4, pad, pad, pad, pad);
      build_int (&b, node, "ceil_mode", 1);
      if (cases[i].include_pad >= 0)
        build_int (&b, node, "count_include_pad", cases[i].include_pad);
      build_output (&b, node->outputs[0]);
      build_done (&b);
      inputs_add (inputs, x, tensor_of ("float[1,1,2,2]", "1 2 3 4"));
      g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
      if (cases[i].expected == NULL)
        g_assert_nonnull (error);
      else
        g_assert_no_error (error);
      if (run != NULL)
        assert_tensor (ir_run_value (run, node->outputs[0]->id), "float[1,1,1,1]",
                       cases[i].expected, 1e-6);
    }
}

static void
test_batch_norm (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[1,2,2]");
  IrNode *node = build_node (&b, NULL, "BatchNormalization", 1, x,
                             build_constant (&b, "s", tensor_of ("float[2]", "2 3")),
                             build_constant (&b, "o", tensor_of ("float[2]", "1 -1")),
                             build_constant (&b, "m", tensor_of ("float[2]", "1 2")),
                             build_constant (&b, "v", tensor_of ("float[2]", "3 8")), END);
  build_float (&b, node, "epsilon", 1);
  inputs_add (inputs, x, tensor_of ("float[1,2,2]", "1 3 2 5"));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  assert_tensor (y, "float[1,2,2]", "1 3 -1 2", 1e-6);
}

static void
test_layer_norm (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[2,2]");
  IrNode *node = build_node (&b, NULL, "LayerNormalization", 3, x,
                             build_constant (&b, "s", tensor_of ("float[2]", "1 10")),
                             build_constant (&b, "o", tensor_of ("float[2]", "0 5")), END);
  build_float (&b, node, "epsilon", 0);
  inputs_add (inputs, x, tensor_of ("float[2,2]", "1 3 10 2"));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  assert_tensor (y, "float[2,2]", "-1 15 1 -5", 1e-6);
}

static void
test_softmax_opsets (void)
{
  for (gint64 opset = 11; opset <= 13; opset += 2)
    {
      g_auto (Builder) b = { 0 };
      builder_init (&b, opset);
      g_autoptr (GHashTable) inputs = inputs_new ();
      IrValue *x = build_input (&b, "x", "float[1,2,2]");
      IrNode *node = build_node (&b, NULL, "Softmax", 1, x, END);
      inputs_add (inputs, x, tensor_of ("float[1,2,2]", "0 0 0 0"));
      g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
      assert_tensor (y, "float[1,2,2]", opset < 13 ? "0.25" : "0.5", 1e-7);
    }
}

static void
test_softmax_large (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[2]");
  IrNode *node = build_node (&b, NULL, "LogSoftmax", 1, x, END);
  inputs_add (inputs, x, tensor_of ("float[2]", "1000 0"));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  assert_tensor (y, "float[2]", "0 -1000", 1e-4);
}

static void
test_lrn (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[1,3,1]");
  IrNode *node = build_node (&b, NULL, "LRN", 1, x, END);
  build_int (&b, node, "size", 3);
  build_float (&b, node, "alpha", 3);
  build_float (&b, node, "beta", 1);
  build_float (&b, node, "bias", 1);
  inputs_add (inputs, x, tensor_of ("float[1,3,1]", "1 2 3"));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  /* 1 / (1 + 1 + 4), 2 / (1 + 1 + 4 + 9), 3 / (1 + 4 + 9) */
  assert_tensor (y, "float[1,3,1]", "0.16666667 0.13333333 0.21428571", 1e-6);
}

/* A fused node gives the bits of the nodes that it stands for. */
static void
test_fused_equals_parts (void)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[1,3,5,5]");
  IrValue *z = build_input (&b, "z", "float[1,4,3,3]");
  IrValue *w = build_constant (&b, "w", tensor_random ("float[4,3,3,3]", 5));
  IrValue *low = build_constant (&b, "low", tensor_of ("float[]", "-0.5"));
  IrValue *high = build_constant (&b, "high", tensor_of ("float[]", "0.75"));
  IrNode *conv = build_node (&b, NULL, "Conv", 1, x, w, END);
  IrNode *sum = build_node (&b, NULL, "Add", 1, conv->outputs[0], z, END);
  IrValue *parts[] = {
    build_node (&b, NULL, "Relu", 1, sum->outputs[0], END)->outputs[0],
    build_node (&b, NULL, "Clip", 1, sum->outputs[0], low, high, END)->outputs[0],
    build_node (&b, NULL, "Sigmoid", 1, sum->outputs[0], END)->outputs[0],
    build_node (&b, NULL, "Tanh", 1, sum->outputs[0], END)->outputs[0],
    sum->outputs[0],
  };
  IrValue *fused[] = {
    build_node (&b, NULL, "irscope.ConvAddRelu", 1, x, w, NULL, z, END)->outputs[0],
    build_node (&b, NULL, "irscope.ConvAddClip", 1, x, w, NULL, z, low, high, END)->outputs[0],
    build_node (&b, NULL, "irscope.ConvAddSigmoid", 1, x, w, NULL, z, END)->outputs[0],
    build_node (&b, NULL, "irscope.ConvAddTanh", 1, x, w, NULL, z, END)->outputs[0],
    build_node (&b, NULL, "irscope.ConvAdd", 1, x, w, NULL, z, END)->outputs[0],
  };
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      build_output (&b, parts[i]);
      build_output (&b, fused[i]);
    }
  build_done (&b);
  inputs_add (inputs, x, tensor_random ("float[1,3,5,5]", 6));
  inputs_add (inputs, z, tensor_random ("float[1,4,3,3]", 7));
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    g_assert_true (
        ir_tensor_equal (ir_run_value (run, parts[i]->id), ir_run_value (run, fused[i]->id)));
}

/* What does not fit is refused by a message about the node, not by a crash. */
static void
test_bad_shapes (void)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("ref") };
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[1,4,2,2]");
  IrValue *w = build_constant (&b, "w", tensor_of ("float[2,3,1,1]", "1"));
  IrNode *node = build_node (&b, NULL, "Conv", 1, x, w, END);
  ir_edit_rename_node (b.edit, node, "conv1");
  build_output (&b, node->outputs[0]);
  build_done (&b);
  inputs_add (inputs, x, tensor_random ("float[1,4,2,2]", 1));
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
  g_assert_null (run);
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL);
  g_assert_nonnull (strstr (error->message, "conv1 (Conv)"));
}

/* Attributes that no exporter writes: each is an error, none a crash, a hang or a huge allocation.
 */
static void
test_absurd_attributes (void)
{
  const struct
  {
    const char *op, *x, *w, *attr;
    int n, values[6];
  } cases[] = {
    { "Conv", "float[1,2,4,4]", "float[2,2,1,1]", "strides", 2, { 0, 1 } },
    { "Conv", "float[1,2,4,4]", "float[2,2,1,1]", "strides", 1, { 1 } },
    { "Conv", "float[1,2,4,4]", "float[2,2,1,1]", "pads", 4, { -1, 0, 0, 0 } },
    { "Conv", "float[1,2,4,4]", "float[2,2,1,1]", "pads", 4, { G_MAXINT, G_MAXINT, 0, 0 } },
    { "Conv", "float[1,2,4,4]", "float[2,2,3,3]", "dilations", 2, { G_MAXINT, 1 } },
    { "Conv", "float[1,2,4,4]", "float[2,2,3,3]", "kernel_shape", 2, { 2, 2 } },
    { "Conv", "float[1,2,4,4]", "float[2,2,1,1]", "group", 0, { 0 } },
    { "Conv", "float[1,2,4,4]", "float[2,2,1,1]", "group", 0, { -2 } },
    { "Conv", "float[1,2,4,4]", "float[2,2,1,1]", "group", 0, { 3 } },
    { "Conv", "float[1,2]", "float[2,2]", "group", 0, { 1 } },
    { "Conv", "float[1,2,4,4]", "float[2,2,5,5]", "group", 0, { 1 } },
    { "ConvTranspose", "float[1,2,4,4]", "float[2,2,1,1]", "group", 0, { 0 } },
    { "ConvTranspose", "float[1,2,4,4]", "float[2,2,1,1]", "pads", 4, { 9, 9, 9, 9 } },
    { "ConvTranspose",
      "float[1,2,4,4]",
      "float[2,2,1,1]",
      "output_shape",
      2,
      { G_MAXINT, G_MAXINT } },
    { "MaxPool", "float[1,2,4,4]", NULL, "strides", 2, { 1, 1 } },
    { "MaxPool", "float[1,2,4,4]", NULL, "kernel_shape", 2, { 0, 0 } },
    { "MaxPool", "float[1,2,4,4]", NULL, "kernel_shape", 2, { 5, 5 } },
    { "AveragePool", "float[1]", NULL, "kernel_shape", 1, { 1 } },
    { "GlobalMaxPool", "float[1]", NULL, "x", 0, { 0 } },
    { "LRN", "float[1,2]", NULL, "size", 0, { 0 } },
    { "Softmax", "float[1,2]", NULL, "axis", 0, { 2 } },
    { "LogSoftmax", "float[1,2]", NULL, "axis", 0, { -3 } },
    { "LpNormalization", "float[1,2]", NULL, "p", 0, { 3 } },
    { "MeanVarianceNormalization", "float[1,2]", NULL, "axes", 2, { 0, 2 } },
    { "LayerNormalization", "float[2,2]", "float[3]", "axis", 0, { 1 } },
    { "LayerNormalization", "float[2,2]", "float[2]", "axis", 0, { 7 } },
    { "Gemm", "float[2,3]", "float[2,3]", "transA", 0, { 0 } },
    { "Gemm", "float[2,3,1]", "float[2,3]", "transA", 0, { 0 } },
    { "MatMul", "float[2,3]", "float[4,2]", "x", 0, { 0 } },
    { "MatMul", "float[]", "float[4,2]", "x", 0, { 0 } },
    { "MatMul", "bool[2]", "bool[2]", "x", 0, { 0 } },
    { "Conv", "int32[1,1,1]", "int32[1,1,1]", "group", 0, { 1 } },
  };
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_auto (Builder) b = { 0 };
      gint64 values[6];
      builder_init (&b, 17);
      g_autoptr (GHashTable) inputs = inputs_new ();
      IrValue *x = build_input (&b, "x", cases[i].x);
      IrValue *w = cases[i].w != NULL ? build_input (&b, "w", cases[i].w) : END;
      IrNode *node = build_node (&b, NULL, cases[i].op, 1, x, w, END);
      for (int k = 0; k < 6; k++)
        values[k] = cases[i].values[k];
      if (cases[i].n > 0)
        ir_edit_set_attr (
            b.edit, node,
            ir_attr_ints (b.model->context, cases[i].attr, values, (guint) cases[i].n));
      else
        build_int (&b, node, cases[i].attr, values[0]);
      build_output (&b, node->outputs[0]);
      build_done (&b);
      inputs_add (inputs, x, tensor_of (cases[i].x, "1"));
      if (cases[i].w != NULL)
        inputs_add (inputs, w, tensor_of (cases[i].w, "1"));
      g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
      if (run != NULL)
        g_test_message ("case %u (%s, %s) ran", i, cases[i].op, cases[i].attr);
      g_assert_null (run);
      g_assert_true (error->domain == IR_EXEC_ERROR);
      g_assert_nonnull (strstr (error->message, cases[i].op));
    }
}

static void
test_empty_tensors (void)
{
  const char *ops[] = { "Softmax",           "LogSoftmax",      "Hardmax",
                        "GlobalAveragePool", "LpNormalization", "GlobalMaxPool" };

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    {
      g_auto (Builder) b = { 0 };
      builder_init (&b, 17);
      g_autoptr (GHashTable) inputs = inputs_new ();
      IrValue *x = build_input (&b, "x", "float[0,2,3]");
      IrNode *node = build_node (&b, NULL, ops[i], 1, x, END);
      inputs_add (inputs, x, tensor_of ("float[0,2,3]", "1"));
      g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
      g_assert_cmpuint (ir_tensor_n_elements (y), ==, 0);
    }
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[2,0]");
  IrValue *w = build_input (&b, "w", "float[0,3]");
  IrNode *node = build_node (&b, NULL, "MatMul", 1, x, w, END);
  inputs_add (inputs, x, tensor_of ("float[2,0]", "1"));
  inputs_add (inputs, w, tensor_of ("float[0,3]", "1"));
  g_autoptr (IrTensor) y = run_node (&b, node, inputs, 0);
  assert_tensor (y, "float[2,3]", "0", 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernels/Conv pads on all sides", test_conv_padding);
  g_test_add_func ("/kernels/Conv pads at the end for SAME_UPPER", test_conv_same_upper);
  g_test_add_func ("/kernels/Conv follows its definition with groups, strides and dilations",
                   test_conv_groups);
  g_test_add_func ("/kernels/ConvTranspose is the adjoint of Conv", test_conv_transpose_is_adjoint);
  g_test_add_func ("/kernels/MatMul broadcasts leading axes", test_matmul_broadcast);
  g_test_add_func ("/kernels/MatMul of integers is exact", test_matmul_integers);
  g_test_add_func ("/kernels/Gemm transposes and scales", test_gemm);
  g_test_add_func ("/kernels/MaxPool tells where the largest element stands",
                   test_max_pool_indices);
  g_test_add_func ("/kernels/a pooling window may be larger than the input", test_pool_larger);
  g_test_add_func ("/kernels/AveragePool counts what ceil_mode adds", test_pool_ceil);
  g_test_add_func ("/kernels/BatchNormalization scales and shifts channels", test_batch_norm);
  g_test_add_func ("/kernels/LayerNormalization normalizes rows", test_layer_norm);
  g_test_add_func ("/kernels/Softmax flattens before opset 13", test_softmax_opsets);
  g_test_add_func ("/kernels/LogSoftmax does not overflow", test_softmax_large);
  g_test_add_func ("/kernels/LRN sums neighbouring channels", test_lrn);
  g_test_add_func ("/kernels/a fused node gives the bits of its parts", test_fused_equals_parts);
  g_test_add_func ("/kernels/operands that do not fit are refused by name", test_bad_shapes);
  g_test_add_func ("/kernels/absurd attributes are errors", test_absurd_attributes);
  g_test_add_func ("/kernels/empty tensors are allowed", test_empty_tensors);
  return g_test_run ();
}
