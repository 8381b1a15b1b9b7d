/* Shape inference on the idioms of exporters: what leads from Shape to Reshape must resolve, with
 * symbols where sizes are open. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/edit.h"
#include "core/op/infer.h"
#include "core/op/op.h"
#include <string.h>

/* Reads a model of one graph; @opset of the default domain, @body: the nodes. */
static IrModel *
read_model (int opset, const char *signature, const char *body, GPtrArray *problems)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 8, opset_import: [\"\" : %d, \"local\" : 1]>\n"
      "graph %s\n{\n%s\n}\n",
      opset, signature, body);
  IrModel *model = ir_text_read (text, -1, problems, &error);
  g_assert_no_error (error);
  g_assert_nonnull (model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  return model;
}

static void
assert_type (IrModel *model, const char *name, const char *type)
{
  const IrValue *value = ir_graph_find_value (model->main, name);
  g_assert_nonnull (value);
  g_assert_nonnull (value->type);
  g_autofree char *text = ir_type_to_string (model->context, value->type);
  g_assert_cmpstr (text, ==, type);
}

static void
check (int opset, const char *signature, const char *body, const char *name, const char *type)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_model (opset, signature, body, problems);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) g_ptr_array_index (problems, i))->message);
  g_assert_cmpuint (problems->len, ==, 0);
  assert_type (model, name, type);
}

/* -- exporters' reshapes -- */

static void
test_heads_split (void)
{
  check (
      17, "(float[N,S,768] x) => (float[] y)",
      "shape = Shape (x)\n zero = Constant <value_int = 0> ()\n one = Constant <value_int = 1> ()\n"
      "n = Gather <axis = 0> (shape, zero)\n s = Gather <axis = 0> (shape, one)\n"
      "axes = Constant <value_ints = [0]> ()\n"
      "n1 = Unsqueeze (n, axes)\n s1 = Unsqueeze (s, axes)\n"
      "heads = Constant <value_ints = [12]> ()\n width = Constant <value_ints = [64]> ()\n"
      "target = Concat <axis = 0> (n1, s1, heads, width)\n"
      "y = Reshape (x, target)",
      "y", "float[N,S,12,64]");
}

static void
test_heads_merged (void)
{
  check (17, "(float[N,S,12,64] x) => (float[] y)",
         "shape = Constant <value_ints = [0, 0, -1]> ()\n y = Reshape (x, shape)", "y",
         "float[N,S,768]");
}

static void
test_minus_one_with_symbols (void)
{
  check (17, "(float[N,S,768] x) => (float[] y)",
         "shape = Constant <value_ints = [-1, 768]> ()\n y = Reshape (x, shape)", "y",
         "float[N*S,768]");
}

static void
test_minus_one_beside_unknown (void)
{
  check (17, "(float[N,?,768] x) => (float[] y)",
         "shape = Constant <value_ints = [0, 0, 12, -1]> ()\n y = Reshape (x, shape)", "y",
         "float[N,?,12,64]");
}

static void
test_width_divided (void)
{
  check (17, "(float[N,S,768] x) => (float[] y)",
         "shape = Shape (x)\n two = Constant <value_int = 2> ()\n"
         "c = Gather <axis = 0> (shape, two)\n heads = Constant <value_int = 12> ()\n"
         "width = Div (c, heads)\n wide = Cast <to = 7> (width)\n"
         "axes = Constant <value_ints = [0]> ()\n w1 = Unsqueeze (wide, axes)\n"
         "front = Constant <value_ints = [0, 0, 12]> ()\n"
         "target = Concat <axis = 0> (front, w1)\n y = Reshape (x, target)",
         "y", "float[N,S,12,64]");
}

static void
test_flatten_by_slice (void)
{
  check (17, "(float[N,512,7,7] x) => (float[] y)",
         "shape = Shape (x)\n start = Constant <value_ints = [0]> ()\n"
         "end = Constant <value_ints = [1]> ()\n n = Slice (shape, start, end)\n"
         "rest = Constant <value_ints = [-1]> ()\n target = Concat <axis = 0> (n, rest)\n"
         "y = Reshape (x, target)",
         "y", "float[N,25088]");
}

/* Where x has one row, the 0 copies it; without a -1 the numbers of elements would not agree. */
static void
test_zero_that_copies (void)
{
#define ONE_LESS                                                                                   \
  "shape = Shape (x)\n zero = Constant <value_ints = [0]> ()\n"                                    \
  "one = Constant <value_ints = [1]> ()\n n = Slice (shape, zero, one)\n less = Sub (n, one)\n"
#define REST "rest = Constant <value_ints = [-1]> ()\n target = Concat <axis = 0> (less, rest)\n"
  check (17, "(float[N,4] x) => (float[] y)", ONE_LESS REST "y = Reshape (x, target)", "y",
         "float[?,?]");
  check (17, "(float[N,4] x) => (float[] y)",
         ONE_LESS REST "y = Reshape <allowzero = 1> (x, target)", "y", "float[N - 1,?]");
  check (17, "(float[N,4] x, float[M] z) => (float[] y)",
         ONE_LESS "m = Shape (z)\n target = Concat <axis = 0> (less, m)\n"
                  "y = Reshape (x, target)",
         "y", "float[N - 1,M]");
#undef ONE_LESS
#undef REST
}

/* What is computed from sizes and whole numbers is known, as sizes of what it makes. */
static void
test_numbers (void)
{
  static const struct
  {
    const char *nodes, *type;
  } rows[] = {
    { "z = Div (k, c)", "float[3,2]" },
    { "z = Div (s, c)", "float[floor(n/2),floor(m/3)]" },
    { "z = Div (s, t)", "float[floor(n/2),?]" },
    { "z = Div (s, o)", "float[?,m]" },
    { "z = Div (s, s)", "float[1,1]" },
    { "z = Mod (k, c)", "float[0,1]" },
    { "z = Mod (l, c)", "float[1,1]" },
    { "z = Mod (s, c)", "float[mod(n, 2),mod(m, 3)]" },
    { "z = Mod (k, d)", "float[2,1]" },
    { "z = Mod (s, o)", "float[?,0]" },
    { "z = Mod (s, l)", "float[?,mod(m, 7)]" },
    { "z = Add (s, c)", "float[n + 2,m + 3]" },
    { "z = Sub (s, c)", "float[n - 2,m - 3]" },
    { "z = Sub (s, s)", "float[0,0]" },
    { "z = Mul (s, c)", "float[2*n,3*m]" },
    { "z = Mul (s, s)", "float[n*n,m*m]" },
    { "z = Mul (k, o)", "float[0,7]" },
    { "z = Min (s, c)", "float[min(n, 2),min(m, 3)]" },
    { "z = Min (k, c)", "float[2,3]" },
    { "z = Max (s, c)", "float[max(n, 2),max(m, 3)]" },
    { "z = Max (k, c)", "float[6,7]" },
    { "z = Max (s, o)", "float[n,max(m, 1)]" },
    { "z = Min (s, o)", "float[0,min(m, 1)]" },
    { "z = Max (l, c)", "float[2,7]" },
    { "e = Equal (k, c)  z = Where (e, k, c)", "float[2,3]" },
    { "e = Equal (s, s)  z = Where (e, s, c)", "float[n,m]" },
    { "z = Identity (s)", "float[n,m]" },
    { "z = Concat <axis = 0> (s, c)", "float[n,m,2,3]" },
    { "z = Slice (s, b, a)", "float[n,m]" },
    { "z = Gather (s, b)", "float[n]" },
    { "z = Gather (s, u)", "float[m]" },
    { "z = Squeeze (s)", "float[n,m]" },
    { "p = ReduceProd <keepdims = 1> (s)  z = Concat <axis = 0> (p, c)", "float[m*n,2,3]" },
    { "p = ReduceSum <keepdims = 1> (k)  z = Concat <axis = 0> (p, c)", "float[13,2,3]" },
    { "p = ReduceMax <keepdims = 1> (k)  z = Concat <axis = 0> (p, c)", "float[7,2,3]" },
    { "p = Size (x)  q = Unsqueeze (p, b)  z = Concat <axis = 0> (q, c)", "float[m*n,2,3]" },
    { "z = Range (r0, r1, r2)", "float[1,4,7]" },
    { "z = Expand (r2, v)", "float[3,3]" },
    { "z = Shape <start = 1> (x)", "float[m]" },
    { "z = Shape <end = -1> (x)", "float[n]" },
    { "z = Mul (s, r2)", "float[3*n,3*m]" },
    { "z = Sub (r1, s)", "float[-n + 8,-m + 8]" },
    { "e = Equal (k, c)  f = Not (e)  z = Where (f, k, c)", "float[6,7]" },
    { "e = Equal (c, d)  f = Not (e)  z = Where (f, k, c)", "float[6,3]" },
    { "e = Equal (c, d)  z = Where (e, k, s)", "float[n,7]" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *nodes = g_strdup_printf ("s = Shape (x)  %s  y = ConstantOfShape (z)",
                                                rows[i].nodes);
      check (
          17,
          "(float[n,m] x) => (float[] y) <int64[2] k = {6, 7}, int64[2] c = {2, 3}, int64[2] d = {4, 3}, "
          "int64[2] l = {-5, 7}, int64[2] o = {0, 1}, int64[2] t = {2, -1}, int64 b = {0}, int64[1] u = {1}, "
          "int64 r0 = {1}, int64 r1 = {8}, int64 r2 = {3}, int64[1] v = {2}, int64 a = {5}>",
          nodes, "y", rows[i].type);
    }
}

static void
test_expand_with_minus_one (void)
{
  check (17, "(float[1,S] x, float[N,S] like) => (float[] y)",
         "given = Constant <value_ints = [-1, 4]> ()\n minus = Constant <value_ints = [-1]> ()\n"
         "is = Equal (given, minus)\n shape = Shape (like)\n"
         "target = Where (is, shape, given)\n"
         "fill = ConstantOfShape (target)\n y = Identity (fill)",
         "y", "float[N,4]");
}

static void
test_expand_by_ones (void)
{
  check (17, "(float[N,1,S] x) => (float[] y)",
         "three = Constant <value_ints = [3]> ()\n"
         "ones = ConstantOfShape <value = int64[1] {1}> (three)\n"
         "minus = Constant <value_int = -1> ()\n m = Mul (ones, minus)\n"
         "given = Constant <value_ints = [-1, 8, -1]> ()\n is = Equal (given, m)\n"
         "target = Where (is, ones, given)\n y = Expand (x, target)",
         "y", "float[N,8,S]");
}

static void
test_range_of_shape (void)
{
  check (17, "(int64[N,S] ids) => (int64[] y)",
         "shape = Shape (ids)\n one = Constant <value_int = 1> ()\n"
         "zero = Constant <value_int = 0> ()\n s = Gather <axis = 0> (shape, one)\n"
         "r = Range (zero, s, one)\n axes = Constant <value_ints = [0]> ()\n"
         "y = Unsqueeze (r, axes)",
         "y", "int64[1,S]");
}

static void
test_shape_slice_attributes (void)
{
  check (17, "(float[N,C,H,W] x) => (float[] y)",
         "hw = Shape <start = 2> (x)\n y = ConstantOfShape (hw)", "y", "float[H,W]");
  check (17, "(float[N,C,H,W] x) => (float[] y)",
         "c = Shape <start = -3, end = -2> (x)\n y = ConstantOfShape (c)", "y", "float[C]");
}

static void
test_product_of_shape (void)
{
  check (17, "(float[2,3,4] x) => (float[] y)",
         "shape = Shape (x)\n n = ReduceProd <keepdims = 1> (shape)\n y = ConstantOfShape (n)", "y",
         "float[24]");
}

static void
test_vector_as_reshaped_shape (void)
{
  check (17, "(float[N,S] x) => (float[] y)",
         "shape = Shape (x)\n minus = Constant <value_ints = [-1]> ()\n"
         "flat = Reshape (shape, minus)\n y = ConstantOfShape (flat)",
         "y", "float[N,S]");
}

static void
test_split_of_shape (void)
{
  check (17, "(float[N,S] x) => (float[] y)",
         "shape = Shape (x)\n n, s = Split (shape)\n both = Concat <axis = 0> (s, n)\n"
         "y = ConstantOfShape (both)",
         "y", "float[S,N]");
}

/* -- single operators -- */

static void
test_slice_of_symbols (void)
{
  const char *body = "s = Constant <value_ints = [1]> ()\n e = Constant <value_ints = [%s]> ()\n"
                     "a = Constant <value_ints = [1]> ()\n y = Slice (x, s, e, a)";
  g_autofree char *to_end = g_strdup_printf (body, "9223372036854775807");
  g_autofree char *to_three = g_strdup_printf (body, "3");
  check (17, "(float[N,5] x) => (float[] y)", to_end, "y", "float[N,4]");
  check (17, "(float[N,5] x) => (float[] y)", to_three, "y", "float[N,2]");
  check (17, "(float[N,?] x) => (float[] y)", to_three, "y", "float[N,?]");
}

static void
test_broadcasting (void)
{
  check (17, "(float[N,1,S] a, float[8,S] b) => (float[] y)", "y = Add (a, b)", "y",
         "float[N,8,S]");
  check (17, "(float[N,S] a, float[1] b) => (float[] y)", "y = Mul (a, b)", "y", "float[N,S]");
  check (17, "(float[N,S] a, float[N,T] b) => (float[] y)", "y = Add (a, b)", "y", "float[N,?]");
  check (17, "(bool[N,1] c, float[S] a, float b) => (float[] y)", "y = Where (c, a, a)", "y",
         "float[N,S]");
}

static void
test_concat_and_pad (void)
{
  check (17, "(float[N,S] a, float[N,3] b) => (float[] y)", "y = Concat <axis = -1> (a, b)", "y",
         "float[N,S + 3]");
  check (17, "(float[N,S] a) => (float[] y)",
         "pads = Constant <value_ints = [0, 1, 0, 2]> ()\n y = Pad (a, pads)", "y",
         "float[N,S + 3]");
}

static void
test_reductions (void)
{
  check (17, "(float[N,S,4] x) => (float[] y)", "y = ReduceMean <axes = [-1]> (x)", "y",
         "float[N,S,1]");
  check (17, "(float[N,S,4] x) => (float[] y)", "y = ReduceMean <axes = [1], keepdims = 0> (x)",
         "y", "float[N,4]");
  check (18, "(float[N,S,4] x) => (float[] y)",
         "axes = Constant <value_ints = [0, 2]> ()\n y = ReduceMax <keepdims = 0> (x, axes)", "y",
         "float[S]");
  check (17, "(float[N,S] x) => (int64[] y)", "y = ArgMax <axis = 1> (x)", "y", "int64[N,1]");
}

static void
test_uneven_split (void)
{
  check (18, "(float[7,N] x) => (float[] y)", "y, z, last = Split <num_outputs = 3> (x)", "last",
         "float[1,N]");
  check (18, "(float[7,N] x) => (float[] y)", "y, z = Split <num_outputs = 3> (x)", "z",
         "float[3,N]");
}

/* -- quantized, random, strings, optimizers -- */

static void
test_symbols_of_other_families (void)
{
  check (21, "(uint8[N,4,H,9] x, int8[8,2,3,3] w, uint8[] z) => (int32[] y)",
         "y = ConvInteger <group = 2, strides = [2, 2], pads = [1, 1, 1, 1]> (x, w, z)", "y",
         "int32[N,8,floor((H + 1)/2),5]");
  check (21,
         "(uint8[N,4,9] x, float[] s, uint8[] z, int8[8,4,3] w, float[8] t, int8[8] v, int8[] o)"
         " => (int8[] y)",
         "y = QLinearConv (x, s, z, w, t, v, s, o)", "y", "int8[N,8,7]");
  check (21, "(int8[B,M,K] a, uint8[K,5] b) => (int32[] y)", "y = MatMulInteger (a, b)", "y",
         "int32[B,M,5]");
  check (22, "(float[N,C] x) => (int64[] y)", "y = Multinomial <sample_size = 7, dtype = 7> (x)",
         "y", "int64[N,7]");
  check (22, "(float[N,C] x) => (bool[] y)", "y = Bernoulli <dtype = 9> (x)", "y", "bool[N,C]");
  check (26, "(float[N,3] x) => (int32[] y)", "y = BitCast <to = 6> (x)", "y", "int32[N,3]");
  check (20, "(string[N,3] x) => (string[] y)", "y, z = StringSplit (x)", "y", "string[N,3,?]");
  check (20, "(string[N,3] x) => (int64[] z)", "y, z = StringSplit (x)", "z", "int64[N,3]");
  check (20, "(string[N,1] x, string[4] z) => (string[] y)", "y = StringConcat (x, z)", "y",
         "string[N,4]");
  check (20, "(string[N,3] x) => (bool[] y)", "y = RegexFullMatch <pattern = \"a\"> (x)", "y",
         "bool[N,3]");
}

/* -- old opsets -- */

static void
test_old_opsets (void)
{
  check (11, "(float[N,1,4] x) => (float[] y)", "y = Squeeze <axes = [1]> (x)", "y", "float[N,4]");
  check (11, "(float[N,4] x) => (float[] y)", "y = Unsqueeze <axes = [0, 3]> (x)", "y",
         "float[1,N,4,1]");
  check (9, "(float[N,8] x) => (float[] y)",
         "y = Slice <starts = [2], ends = [-1], axes = [1]> (x)", "y", "float[N,5]");
  check (6, "(float[2,3,4,5] a, float[3] b) => (float[] y)",
         "y = Add <broadcast = 1, axis = 1> (a, b)", "y", "float[2,3,4,5]");
  check (2, "(float[2,3] x) => (float[] y)", "y = Pad <pads = [0, 1, 0, 1]> (x)", "y",
         "float[2,5]");
  check (1, "(float[2,3] x) => (float[] y)", "y = Reshape <shape = [3, -1]> (x)", "y",
         "float[3,2]");
  check (9, "(float[N,10] x) => (float[] y)", "y, i = TopK <k = 3> (x)", "i", "int64[N,3]");
  check (11, "(float[N,9] x) => (float[] y)", "y, z = Split <axis = 1, split = [4, 5]> (x)", "z",
         "float[N,5]");
  check (5, "(float[N,9] x) => (int32[] y)", "y = Cast <to = \"INT32\"> (x)", "y", "int32[N,9]");
}

/* -- graphs in graphs, functions -- */

static void
test_if_by_branches (void)
{
  check (17, "(bool c, float[N,4] x) => (float[] y)",
         "y = If (c) <then_branch = t () => (float[] a) { a = Relu (x) },\n"
         "            else_branch = e () => (float[] b) { b = Concat <axis = 0> (x, x) }>",
         "y", "float[?,4]");
}

static void
test_function_bodies (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  const char *text =
      "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]>\n"
      "graph (float[N,S,8] x, float[2,6] z) => (float[] y, float[] w)\n"
      "{\n  y = local.rows <width = 4> (x)\n  w = local.rows <width = 3> (z)\n}\n"
      "<domain: \"local\", opset_import: [\"\" : 17]>\n"
      "rows <width> (a) => (b)\n"
      "{\n  minus = Constant <value_ints = [-1]> ()\n"
      "  one = Constant <value_int: int = @width> ()\n  axes = Constant <value_ints = [0]> ()\n"
      "  w = Unsqueeze (one, axes)\n  shape = Concat <axis = 0> (minus, w)\n"
      "  b = Reshape (a, shape)\n}\n";
  g_autoptr (IrModel) model = ir_text_read (text, -1, problems, &error);
  g_assert_no_error (error);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  g_assert_cmpuint (problems->len, ==, 0);
  assert_type (model, "y", "float[2*N*S,4]");
  assert_type (model, "w", "float[4,3]");
}

/* -- contradictions -- */

static guint
count_code (GPtrArray *problems, IrProblemCode code)
{
  guint n = 0;
  for (guint i = 0; i < problems->len; i++)
    n += ((IrProblem *) g_ptr_array_index (problems, i))->code == code;
  return n;
}

static void
test_contradictions_reported (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel)
      model = read_model (17, "(float[2,3] a, float[4,5] b) => (float[9,9] y, float[] z)",
                          "y = Relu (a)\n z = Add (a, b)", problems);
  g_assert_cmpuint (count_code (problems, IR_PROBLEM_SHAPE_MISMATCH), ==, 2);
  assert_type (model, "y", "float[2,3]");
}

/* -- claims -- */

static void
assert_shown (IrModel *model, const char *name, const char *known, const char *shown)
{
  const IrValue *value = ir_graph_find_value (model->main, name);
  g_autofree char *type = ir_type_to_string (model->context, value->type),
                  *text = ir_type_to_string (model->context, ir_value_shown_type (value));
  g_assert_cmpstr (type, ==, known);
  g_assert_cmpstr (text, ==, shown);
}

static void
test_claims (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_model (
      17, "(float[4,6] x) => (int64[5,2] z, float[4,6] w) <int64[2,5] y, float[4,6] r>",
      "y = NonZero (x)\n t = Neg (y)\n z = Transpose <perm = [1, 0]> (t)\n"
      "r = Relu (x)\n w = Abs (r)",
      problems);
  g_assert_cmpuint (problems->len, ==, 0);
  assert_shown (model, "y", "int64[2,?]", "int64[2,5]");
  assert_shown (model, "t", "int64[2,?]", "int64[2,5]");
  assert_shown (model, "z", "int64[?,2]", "int64[5,2]");
  assert_shown (model, "r", "float[4,6]", "float[4,6]");
  g_assert_null (ir_graph_find_value (model->main, "r")->claim);
  g_assert_null (ir_graph_find_value (model->main, "w")->claim);
}

static void
test_claims_of_unknown (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_model (
      17, "(float[4,6] x) => (z) <float16[N,3] y>",
      "y = other.Op (x)\n t = Cast <to = 1> (y)\n s = Shape (t)\n z = ConstantOfShape (s)",
      problems);
  assert_shown (model, "y", "?", "float16[N,3]");
  assert_shown (model, "t", "float[...]", "float[N,3]");
  assert_shown (model, "z", "float[...]", "float[N,3]");
}

/* What a body gives back as it got it is a fact, whatever is declared; the rest is a claim. */
static void
test_carried (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_model (
      17, "(float[N,4] x, float[1,2] y, int64 n) => (a, b, c)",
      "a, b, c = Loop (n, \"\", x, y, y) <body = t (int64 i, bool go, p, float[1,2] q, r)\n"
      "  => (bool on, p2, q2, r2) {\n on = Identity (go)\n p2 = Relu (p)\n"
      "  q2 = Concat <axis = 0> (q, q)\n r2 = Concat <axis = 1> (r, r) }>",
      problems);
  assert_type (model, "a", "float[N,4]");
  assert_type (model, "b", "float[?,2]");
  assert_type (model, "c", "float[1,?]");
  const IrGraph *body = ir_node_attr_graph (ir_graph_find_value (model->main, "a")->producer,
                                            "body");
  g_autofree char *q = ir_type_to_string (model->context, ir_graph_input (body, 3)->type);
  g_assert_cmpstr (q, ==, "float[?,2]");
  g_assert_nonnull (ir_graph_input (body, 3)->claim);
}

static void
test_arity_reported (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_model (17, "(float[2,3] a) => (float[] y, float[] z)",
                                          "y = Add (a)\n z = Concat (a)", problems);
  g_assert_nonnull (model);
  g_assert_cmpuint (count_code (problems, IR_PROBLEM_INPUT_COUNT), ==, 1);
  g_assert_cmpuint (count_code (problems, IR_PROBLEM_BAD_ATTRIBUTE), ==, 1);
}

/* -- binding -- */

static void
test_binding (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_model (
      17, "(float[N,S,768] x) => (float[N,M,64] y)",
      "shape = Constant <value_ints = [0, -1, 64]> ()\n y = Reshape (x, shape)", problems);
  g_autoptr (GHashTable) bindings = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GError) error = NULL;
  gint64 two = 2, seven = 7, minus = -1;
  g_hash_table_insert (bindings, (gpointer) "N", &two);
  g_hash_table_insert (bindings, (gpointer) "S", &seven);
  g_assert_true (ir_infer_bind (edit, bindings, problems, &error));
  assert_type (model, "y", "float[2,84,64]");

  gint64 dims[] = { 5, 1, 768 };
  ir_infer_bind_input (edit, ir_graph_find_value (model->main, "x"), 3, dims);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  assert_type (model, "y", "float[5,12,64]");
  g_assert_cmpuint (problems->len, ==, 0);

  g_hash_table_insert (bindings, (gpointer) "S", &minus);
  g_assert_false (ir_infer_bind (edit, bindings, NULL, &error));
  g_assert_error (error, IR_OP_ERROR, IR_OP_ERROR_VALUE);
}

/* -- after a rewrite -- */

static void
test_one_node_and_its_users (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_model (
      17, "(float[2,3] a, float[3,2] b) => (float[] y)",
      "t = Transpose (a)\n s = Shape (t)\n z = ConstantOfShape (s)\n y = Add (z, b)", problems);
  assert_type (model, "y", "float[3,2]");
  g_autoptr (IrEdit) edit = ir_edit_new (model);
  ir_edit_begin_step (edit, "test", IR_CLASS_EDIT, 0);
  IrNode *transpose = ir_graph_find_value (model->main, "t")->producer;
  IrValue *a = ir_graph_find_value (model->main, "a");
  IrNode *added = ir_edit_add_node (edit, model->main, "Identity", "", "", 1, &a, 1);
  ir_infer_node (edit, added, problems);
  g_assert_nonnull (added->outputs[0]->type);
  ir_edit_set_input (edit, transpose, 0, added->outputs[0]);
  ir_infer_node (edit, transpose, problems);
  ir_edit_end_step (edit);
  g_assert_cmpuint (problems->len, ==, 0);
  assert_type (model, "y", "float[3,2]");
}

/* A cycle is a state that files can have: inference must end. */
static void
test_cycles_end (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_model (17, "(float[3] a) => (float[] y)",
                                          "x = Concat <axis = 0> (a, y)\n y = Relu (x)", problems);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_node (edit, ir_graph_find_value (model->main, "y")->producer, problems);
}

/* -- cost -- */

static void
test_costs (void)
{
  g_autoptr (IrModel)
      model = read_model (17, "(float[8,4] a, float[N,4] b) => (float[] y, float[] z, int64[] s)",
                          "t = Transpose (a)\n y = Exp (t)\n z = Relu (b)\n s = Shape (a)\n"
                          "r = Identity (a)",
                          NULL);
  gboolean partial = FALSE;
  const IrNode *exp = ir_graph_find_value (model->main, "y")->producer;
  const IrNode *relu = ir_graph_find_value (model->main, "z")->producer;
  const IrNode *shape = ir_graph_find_value (model->main, "s")->producer;
  const IrNode *view = ir_graph_find_value (model->main, "r")->producer;
  g_assert_cmpuint (ir_cost_node_flops (exp, &partial), ==, 32);
  g_assert_cmpuint (ir_cost_node_bytes (exp, &partial), ==, 256);
  g_assert_cmpuint (ir_cost_node_bytes (shape, &partial), ==, 16);
  g_assert_cmpuint (ir_cost_node_bytes (view, &partial), ==, 0);
  g_assert_false (partial);
  g_assert_cmpuint (ir_cost_node_flops (relu, &partial), ==, 4);
  g_assert_true (partial);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/infer/" SENTENCE, FUNCTION)
  TEST ("what is declared beyond what is known is a claim", test_claims);
  TEST ("behind an unknown operator are claims alone", test_claims_of_unknown);
  TEST ("what a body carries is what it gives back", test_carried);
  TEST ("heads are split by a shape made of parts", test_heads_split);
  TEST ("heads are merged by copying dims", test_heads_merged);
  TEST ("a free dim may be a product of symbols", test_minus_one_with_symbols);
  TEST ("a free dim resolves beside an unknown one", test_minus_one_beside_unknown);
  TEST ("a width divided by the number of heads resolves", test_width_divided);
  TEST ("a flattening by slices of the shape resolves", test_flatten_by_slice);
  TEST ("a zero in a shape may copy a dim", test_zero_that_copies);
  TEST ("numbers are computed with", test_numbers);
  TEST ("a shape with -1 is completed by Where", test_expand_with_minus_one);
  TEST ("an Expand against ones resolves", test_expand_by_ones);
  TEST ("a range over a dim has that dim", test_range_of_shape);
  TEST ("Shape takes a part of the dims", test_shape_slice_attributes);
  TEST ("a product of a shape is a size", test_product_of_shape);
  TEST ("a reshaped shape is still known", test_vector_as_reshaped_shape);
  TEST ("a split shape is still known", test_split_of_shape);
  TEST ("slices of symbolic and unknown dims", test_slice_of_symbols);
  TEST ("shapes broadcast, symbols too", test_broadcasting);
  TEST ("concatenation and padding add to symbols", test_concat_and_pad);
  TEST ("reductions drop and keep axes", test_reductions);
  TEST ("the last part of a split may be smaller", test_uneven_split);
  TEST ("other families keep symbols", test_symbols_of_other_families);
  TEST ("old opsets are adapted", test_old_opsets);
  TEST ("an If has what both branches have", test_if_by_branches);
  TEST ("a function is inferred per application", test_function_bodies);
  TEST ("contradictions are reported and the inferred type is taken", test_contradictions_reported);
  TEST ("missing inputs and attributes are reported", test_arity_reported);
  TEST ("symbols and inputs can be bound, more than once", test_binding);
  TEST ("a changed node is inferred with its users", test_one_node_and_its_users);
  TEST ("a cycle does not keep inference running", test_cycles_end);
  TEST ("costs count elements", test_costs);
  return g_test_run ();
}
