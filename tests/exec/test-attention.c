/* Attention and what stands around it: values worked out by hand. With queries of zeros all scores
 * are 0, so a result is the mean of the values that a query sees. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "core/io/io.h"
#include "core/op/call.h"
#include "core/op/infer.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#define TENSOR(NAME, TYPE, VALUES) NAME " = Constant <value = " TYPE " {" VALUES "}> ()\n"
#define FLOATS(NAME, DIMS, VALUES) TENSOR (NAME, "float[" DIMS "]", VALUES)
/* Three queries of zeros, three keys, and the values 3, 6 and 12. */
#define ZEROS                                                                                      \
  FLOATS ("q", "1,1,3,1", "0, 0, 0")                                                               \
  FLOATS ("k", "1,1,3,1", "1, 2, 3") FLOATS ("v", "1,1,3,1", "3, 6, 12")

static void
assert_refused (gint64 opset, const char *message, const char *body)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (opset, "float[]", body, &error);

  g_assert_null (y);
  g_assert_nonnull (error);
  if (strstr (error->message, message) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->message, message);
}

static void
test_what_a_query_sees (void)
{
  assert_body (25, "float[1,1,3,1]", "7 7 7", 1e-6, ZEROS "y = Attention (q, k, v)");
  assert_body (25, "float[1,1,3,1]", "3 4.5 7", 1e-6,
               ZEROS "y = Attention <is_causal = 1> (q, k, v)");
  assert_body (25, "float[1,1,3,1]", "3 6 12", 1e-6,
               ZEROS "y = Attention <left_window_size = 0, right_window_size = 0> (q, k, v)");
  assert_body (25, "float[1,1,3,1]", "4.5 7 9", 1e-6,
               ZEROS "y = Attention <left_window_size = 1, right_window_size = 1> (q, k, v)");
  assert_body (25, "float[1,1,3,1]", "3 4.5 9", 1e-6,
               ZEROS "y = Attention <left_window_size = 1, is_causal = 1> (q, k, v)");
}

static void
test_masks (void)
{
  /* A row that sees nothing is zero; log 3 makes a key count three times. */
  assert_body (
      25, "float[1,1,3,1]", "9 0 3", 1e-6,
      ZEROS TENSOR ("m", "bool[3,3]", "0, 1, 1, 0, 0, 0, 1, 0, 0") "y = Attention (q, k, v, m)");
  assert_body (25, "float[1,1,3,1]", "6.6 6.6 6.6", 1e-5,
               ZEROS FLOATS ("m", "3", "0, 1.0986123, 0") "y = Attention (q, k, v, m)");
  /* From version 24 on a short mask hides the keys behind it; before, it does not fit. */
  assert_body (24, "float[1,1,3,1]", "4.5 4.5 4.5", 1e-6,
               ZEROS TENSOR ("m", "bool[2]", "1, 1") "y = Attention (q, k, v, m)");
  assert_refused (23, "attn_mask",
                  ZEROS TENSOR ("m", "bool[2]", "1, 1") "y = Attention (q, k, v, m)");
  assert_body (23, "float[1,1,3,1]", "7 7 7", 1e-6,
               ZEROS TENSOR ("m", "bool[1]", "1") "y = Attention (q, k, v, m)");
}

static void
test_caches (void)
{
  /* One more query sees the past, too. */
  const char *past = FLOATS ("q", "1,1,2,1", "0, 0") FLOATS ("k", "1,1,2,1", "1, 2")
      FLOATS ("v", "1,1,2,1", "6, 12") FLOATS ("pk", "1,1,1,1", "5") FLOATS ("pv", "1,1,1,1", "3");
  g_autofree char *y = g_strconcat (past, "y = Attention <is_causal = 1> (q, k, v, , pk, pv)",
                                    NULL);
  g_autofree char *key = g_strconcat (past, "a, y = Attention (q, k, v, , pk, pv)", NULL);
  g_autofree char *value = g_strconcat (past, "a, b, y = Attention (q, k, v, , pk, pv)", NULL);

  assert_body (25, "float[1,1,2,1]", "4.5 7", 1e-6, y);
  assert_body (25, "float[1,1,3,1]", "5 1 2", 0, key);
  assert_body (25, "float[1,1,3,1]", "3 6 12", 0, value);
  /* Two of three keys are valid, so the first of three queries is before all of them. */
  assert_body (
      25, "float[1,1,3,1]", "0 3 4.5", 1e-6,
      ZEROS TENSOR ("n", "int64[1]", "2") "y = Attention <is_causal = 1> (q, k, v, , , , n)");
  assert_body (25, "float[1,1,3,1]", "4.5 4.5 4.5", 1e-6,
               ZEROS TENSOR ("n", "int64[1]", "2") "y = Attention (q, k, v, , , , n)");
  assert_refused (25, "nonpad_kv_seqlen",
                  ZEROS TENSOR ("n", "int64[1]", "4") "y = Attention (q, k, v, , , , n)");
  assert_refused (25, "nonpad_kv_seqlen",
                  ZEROS TENSOR ("n", "int64[1]", "-1") "y = Attention (q, k, v, , , , n)");
}

static void
test_heads (void)
{
  /* Four heads of queries share two of keys: 0 and 1 the first, 2 and 3 the second. */
  assert_body (25, "float[1,4,1,1]", "2 2 5 5", 1e-6,
               FLOATS ("q", "1,4,1,1", "0, 0, 0, 0") FLOATS ("k", "1,2,2,1", "1, 2, 3, 4")
                   FLOATS ("v", "1,2,2,1", "1, 3, 4, 6") "y = Attention (q, k, v)");
  assert_body (25, "float[1,1,4]", "1.5 1.5 2 2", 1e-6,
               FLOATS ("q", "1,1,4", "0, 0, 0, 0") FLOATS ("k", "1,2,2", "1, 2, 3, 4") FLOATS (
                   "v", "1,2,2",
                   "1, 0, 2, 4") "y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)");
  assert_refused (25, "multiple",
                  FLOATS ("q", "1,3,1,1", "0, 0, 0")
                      FLOATS ("k", "1,2,1,1", "1, 2") "y = Attention (q, k, k)");
}

static void
test_scores (void)
{
  const char *inputs = FLOATS ("q", "1,1,1,1", "2") FLOATS ("k", "1,1,2,1", "2, 1")
      FLOATS ("m", "2", "1, 0");
  static const struct
  {
    int mode;
    const char *wanted;
  } modes[] = {
    { 0, "4 2" },                 /* 2 · 2 and 2 · 1 */
    { 1, "1.9280552 1.5231884" }, /* 2 tanh (2) and 2 tanh (1) */
    { 2, "2.9280552 1.5231884" },
    { 3, "0.8029550 0.1970450" }, /* 1 / (1 + exp (1.5231884 - 2.9280552)), and the rest */
  };

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *body = g_strdup_printf (
          "%sa, b, c, y = Attention <scale = 1.0, softcap = 2.0, qk_matmul_output_mode = %d>"
          " (q, k, k, m)",
          inputs, modes[i].mode);
      assert_body (25, "float[1,1,1,2]", modes[i].wanted, 1e-6, body);
    }
}

/* 1 and exp (-6) add up to 1 in bfloat16, so the larger probability is 1; rounded once, at the end,
 * it would be 0.99609375. */
static void
test_rounding (void)
{
  assert_body (
      25, "bfloat16[1,1,1,2]", "1 0.002471923828125", 0,
      FLOATS ("qf", "1,1,1,1", "1") FLOATS (
          "kf", "1,1,2,1",
          "0, -6") "q = Cast <to = 16> (qf)\nk = Cast <to = 16> (kf)\n"
                   "a, b, c, y = Attention <scale = 1.0, qk_matmul_output_mode = 3> (q, k, k)");
}

/* A score that is NaN stays so under a mask, as in the sum that the definition has; a query that
 * sees nothing does not notice. */
static void
test_poison (void)
{
  assert_body (25, "float[1,1,1,1]", "nan", 0,
               FLOATS ("q", "1,1,1,1", "0") FLOATS ("k", "1,1,2,1", "1, nan")
                   FLOATS ("v", "1,1,2,1", "1, 2")
                       TENSOR ("m", "bool[2]", "1, 0") "y = Attention (q, k, v, m)");
  assert_body (25, "float[1,1,1,1]", "0", 0,
               FLOATS ("q", "1,1,1,1", "0") FLOATS ("k", "1,1,2,1", "1, nan")
                   FLOATS ("v", "1,1,2,1", "1, 2")
                       TENSOR ("m", "bool[2]", "0, 0") "y = Attention (q, k, v, m)");
}

/* -- FlexAttention -- */

static void
test_flex (void)
{
  /* Scores 0; the first graph takes the second key away, the other doubles what is left. */
  const char *text =
      "<ir_version: 10, opset_import: [\"\" : 26, \"ai.onnx.preview\" : 1]>\n"
      "graph () => (float[] y)\n{\n" FLOATS ("q", "1,1,1,1", "0") FLOATS ("k", "1,1,3,1", "1, 2, 3")
          FLOATS ("v", "1,1,3,1", "3, 6, 12") FLOATS ("hide", "3", "0, -inf, 0") FLOATS (
              "two", "1",
              "2") "y = ai.onnx.preview.FlexAttention <\n"
                   "  score_mod = s (float[1,1,1,3] a) => (float[1,1,1,3] b) { b = Add (a, hide) },\n"
                   "  prob_mod = p (float[1,1,1,3] c) => (float[1,1,1,3] d) { d = Mul (c, two) }> (q, k, v)\n}\n";
  const char *const devices[] = { "ref", "cpu" };

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (IrModel) model = ir_text_read (text, -1, problems, &error);
      g_assert_no_error (error);
      g_autoptr (GHashTable) inputs = inputs_new ();
      IrRunOptions options = { .backend = ir_backend_find (devices[i]), .n_threads = 1 };
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      assert_tensor (ir_run_value (run, ir_graph_output (model->main, 0)->id), "float[1,1,1,1]",
                     "15", 1e-6);
    }
}

/* -- recurrent forms -- */

/* One head of one element: a state that is a number. Keys 1 and 2, values 3 and 4, queries 1. */
#define STATE                                                                                      \
  FLOATS ("q", "1,2,1", "1, 1")                                                                    \
  FLOATS ("k", "1,2,1", "1, 2")                                                                    \
  FLOATS ("v", "1,2,1", "3, 4")                                                                    \
  FLOATS ("s", "1,1,1,1", "2")                                                                     \
  FLOATS ("g", "1,2,1", "0.6931472, 0.6931472") FLOATS ("b", "1,2,1", "0.5, 0.25")
#define LINEAR(RULE)                                                                               \
  " = LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = \"" RULE "\">"

static void
test_linear_attention (void)
{
  /* 2 + 1·3 = 5, 5 + 2·4 = 13 */
  assert_body (27, "float[1,2,1]", "5 13", 1e-5, STATE "y" LINEAR ("linear") " (q, k, v, s)");
  assert_body (27, "float[1,1,1,1]", "13", 1e-5, STATE "a, y" LINEAR ("linear") " (q, k, v, s)");
  assert_body (27, "float[1,2,1]", "3 11", 1e-5, STATE "y" LINEAR ("linear") " (q, k, v)");
  /* doubled before each step: 4 + 3 = 7, 14 + 8 = 22 */
  assert_body (27, "float[1,2,1]", "7 22", 1e-4, STATE "y" LINEAR ("gated") " (q, k, v, s, g)");
  /* 2 + 0.5 (3 − 2) = 2.5, 2.5 + 2 · 0.25 (4 − 5) = 2 */
  assert_body (27, "float[1,2,1]", "2.5 2", 1e-5, STATE "y" LINEAR ("delta") " (q, k, v, s, , b)");
  /* 4 + 0.5 (3 − 4) = 3.5, 7 + 2 · 0.25 (4 − 14) = 2 */
  assert_body (27, "float[1,2,1]", "3.5 2", 1e-4,
               STATE "y" LINEAR ("gated_delta") " (q, k, v, s, g, b)");
  assert_refused (27, "decay", STATE "y" LINEAR ("gated") " (q, k, v, s)");
  assert_refused (27, "beta", STATE "y" LINEAR ("linear") " (q, k, v, s, , b)");
  /* two queries read one state, halved by the scale */
  assert_body (
      27, "float[1,1,2]", "3 6", 1e-5,
      FLOATS ("q", "1,1,2", "1, 2") FLOATS ("k", "1,1,1", "2") FLOATS (
          "v", "1,1,1", "3") "y = LinearAttention <q_num_heads = 2, kv_num_heads = 1, scale = 0.5, "
                             "update_rule = \"linear\"> (q, k, v)");
}

#define CONV                                                                                       \
  FLOATS ("x", "1,1,3", "1, 2, 3")                                                                 \
  FLOATS ("w", "1,1,3", "1, 10, 100") FLOATS ("b", "1", "0.5") FLOATS ("s", "1,1,2", "7, 8")

static void
test_causal_conv (void)
{
  assert_body (27, "float[1,1,3]", "100 210 321", 1e-4, CONV "y = CausalConvWithState (x, w)");
  assert_body (27, "float[1,1,3]", "187.5 218.5 321.5", 1e-4,
               CONV "y = CausalConvWithState (x, w, b, s)");
  assert_body (27, "float[1,1,2]", "2 3", 0, CONV "a, y = CausalConvWithState (x, w)");
  /* less input than state: part of the old one stays */
  assert_body (27, "float[1,1,2]", "8 1", 0,
               CONV FLOATS ("one", "1,1,1", "1") "a, y = CausalConvWithState (one, w, b, s)");
  /* 0.01 · 100 = 1, and 1 · sigmoid (1) */
  assert_body (27, "float[1,1,1]", "0.7310586", 1e-6,
               CONV FLOATS ("less", "1,1,1",
                            "0.01") "y = CausalConvWithState <activation = \"silu\"> (less, w)");
}

/* -- positions, caches, gates -- */

/* cos 0 and sin 1: a quarter turn, (a, b) to (−b, a). */
static void
test_rotary (void)
{
  const char *turn = FLOATS ("x", "1,1,1,4", "1, 2, 3, 4") FLOATS ("c", "1,1,2", "0, 0")
      FLOATS ("s", "1,1,2", "1, 1") FLOATS ("c1", "2,1", "1, 0") FLOATS ("s1", "2,1", "0, 1")
          TENSOR ("p", "int64[1,1]", "1") TENSOR ("p2", "int64[1,1]", "2");
  static const struct
  {
    const char *node, *wanted;
  } cases[] = {
    { "y = RotaryEmbedding (x, c, s)", "-3 -4 1 2" },
    { "y = RotaryEmbedding <interleaved = 1> (x, c, s)", "-2 1 -4 3" },
    { "y = RotaryEmbedding <rotary_embedding_dim = 2> (x, c1, s1, p)", "-2 1 3 4" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *body = g_strconcat (turn, cases[i].node, NULL);
      assert_body (23, "float[1,1,1,4]", cases[i].wanted, 0, body);
    }
  g_autofree char *beyond = g_strconcat (
      turn, "y = RotaryEmbedding <rotary_embedding_dim = 2> (x, c1, s1, p2)", NULL);
  assert_refused (23, "position 2", beyond);
}

static void
test_tensor_scatter (void)
{
  const char *cache = FLOATS ("c", "2,3,1", "1, 2, 3, 4, 5, 6") FLOATS ("u", "2,2,1", "7, 8, 9, 0")
      TENSOR ("i", "int64[2]", "1, 0") TENSOR ("j", "int64[2]", "2, 4");
  g_autofree char *linear = g_strconcat (cache, "y = TensorScatter (c, u, i)", NULL);
  g_autofree char *start = g_strconcat (cache, "y = TensorScatter (c, u)", NULL);
  g_autofree char *circular = g_strconcat (
      cache, "y = TensorScatter <mode = \"circular\"> (c, u, j)", NULL);
  g_autofree char *beyond = g_strconcat (cache, "y = TensorScatter (c, u, j)", NULL);

  assert_body (24, "float[2,3,1]", "1 7 8 9 0 6", 0, linear);
  assert_body (24, "float[2,3,1]", "7 8 3 9 0 6", 0, start);
  assert_body (24, "float[2,3,1]", "8 2 7 4 9 0", 0, circular);
  assert_refused (24, "write_indices[0] is 2", beyond);
}

/* With alpha 0 the Sigmoid is one half. */
static void
test_gates (void)
{
  assert_body (28, "float[2]", "3 10", 1e-6,
               FLOATS ("a", "2", "2, 4")
                   FLOATS ("b", "2", "3, 5") "y = SwiGLU <alpha = 0.0> (a, b)");
  assert_body (24, "float[2]", "1 2", 1e-6,
               FLOATS ("a", "2", "2, 4") "y = Swish <alpha = 0.0> (a)");
  assert_refused (28, "A and B",
                  FLOATS ("a", "2", "2, 4") FLOATS ("b", "1", "3") "y = SwiGLU (a, b)");
}

/* -- by other operators: both in one model, whose output is the difference -- */

static void
assert_no_difference (const char *inputs, const char *body)
{
  g_autofree char *signature = g_strdup_printf ("(%s) => (float[] y)", inputs);
  g_autoptr (IrModel) model = read_graph (28, signature, body);
  const char *const devices[] = { "ref", "cpu" };

  for (guint i = 0; i < 8; i++)
    {
      g_autoptr (GError) error = NULL;
      IrRunOptions options = { .backend = ir_backend_find (devices[i % 2]), .n_threads = 2 };
      g_autoptr (GHashTable) contents = ir_random_inputs (model, i, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) run = ir_model_run (model, contents, &options, NULL, &error);
      g_assert_no_error (error);
      const IrTensor *y = ir_run_value (run, ir_graph_output (model->main, 0)->id);
      g_assert_cmpuint (ir_tensor_n_elements (y), >, 0);
      for (guint64 k = 0; k < ir_tensor_n_elements (y); k++)
        g_assert_cmpfloat (fabs (ir_tensor_get_double (y, k)), <, 2e-5);
    }
}

static void
test_attention_by_steps (void)
{
  assert_no_difference (
      "float[2,4,70,8] q, float[2,4,9,8] k, float[2,4,9,5] v, float[4,70,9] m",
      "a = Attention <softcap = 1.5, scale = 0.25> (q, k, v, m)\n"
      "t = Transpose <perm = [0, 1, 3, 2]> (k)\ns = MatMul (q, t)\n" FLOATS ("r", "1", "0.25")
          FLOATS ("c", "1", "1.5") "s1 = Mul (s, r)\ns2 = Div (s1, c)\ns3 = Tanh (s2)\n"
                                   "s4 = Mul (s3, c)\ns5 = Add (s4, m)\np = Softmax (s5)\n"
                                   "b = MatMul (p, v)\ny = Sub (a, b)");
}

static void
test_packed_by_apart (void)
{
  assert_no_difference (
      "float[2,7,12] q, float[2,9,6] k, float[2,9,10] v, bool[7,9] m",
      "a = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> (q, k, v, m)\n" TENSOR (
          "qs", "int64[4]", "2, 7, 4, 3") TENSOR ("ks", "int64[4]", "2, 9, 2, 3")
          TENSOR ("vs", "int64[4]", "2, 9, 2, 5") TENSOR (
              "ys", "int64[3]",
              "2, 7, 20") "q1 = Reshape (q, qs)\nk1 = Reshape (k, ks)\nv1 = Reshape (v, vs)\n"
                          "q2 = Transpose <perm = [0, 2, 1, 3]> (q1)\nk2 = Transpose <perm = [0, 2, 1, 3]> (k1)\n"
                          "v2 = Transpose <perm = [0, 2, 1, 3]> (v1)\nb = Attention <is_causal = 1> (q2, k2, v2, m)\n"
                          "b1 = Transpose <perm = [0, 2, 1, 3]> (b)\nb2 = Reshape (b1, ys)\ny = Sub (a, b2)");
}

static void
test_causal_conv_by_conv (void)
{
  assert_no_difference ("float[2,3,8] x, float[3,1,4] w, float[3] b, float[2,3,3] s",
                        "a = CausalConvWithState (x, w, b, s)\nc = Concat <axis = 2> (s, x)\n"
                        "d = Conv <group = 3> (c, w, b)\ny = Sub (a, d)");
}

static void
test_rotary_by_products (void)
{
  assert_no_difference (
      "float[2,3,5,8] x, float[2,5,4] c, float[2,5,4] s",
      "a = RotaryEmbedding (x, c, s)\n" TENSOR (
          "one", "int64[1]",
          "1") "c1 = Unsqueeze (c, one)\ns1 = Unsqueeze (s, one)\n"
               "l, r = Split <axis = 3, num_outputs = 2> (x)\nlc = Mul (l, c1)\nrs = Mul (r, s1)\n"
               "ls = Mul (l, s1)\nrc = Mul (r, c1)\nn = Sub (lc, rs)\nm = Add (ls, rc)\n"
               "b = Concat <axis = 3> (n, m)\ny = Sub (a, b)");
}

/* -- inference -- */

static void
test_symbolic (void)
{
  g_autoptr (IrModel) model = read_graph (
      25,
      "(float[B,S,24] q, float[B,T,12] k, float[B,T,20] v, float[B,2,P,6] pk, float[B,2,P,10] pv)"
      " => (float[] y, float[] key, float[] value, float[] scores)",
      "y, key, value, scores = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v, , pk, pv)");
  static const char *const wanted[] = { "float[B,S,40]", "float[B,2,P + T,6]",
                                        "float[B,2,P + T,10]", "float[B,4,S,P + T]" };
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      g_autofree char *found = ir_type_to_string (model->context,
                                                  ir_graph_output (model->main, i)->type);
      g_assert_cmpstr (found, ==, wanted[i]);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/attention/" SENTENCE, FUNCTION)
  TEST ("a query sees what causality and windows leave", test_what_a_query_sees);
  TEST ("masks of bools hide, masks of floats weigh", test_masks);
  TEST ("a past comes first and a padded cache ends early", test_caches);
  TEST ("heads of queries share heads of keys", test_heads);
  TEST ("the scores can be looked at after each step", test_scores);
  TEST ("probabilities are elements of the type", test_rounding);
  TEST ("NaN is not hidden by a mask", test_poison);
  TEST ("FlexAttention runs its graphs on scores and probabilities", test_flex);
  TEST ("LinearAttention updates its state by its rule", test_linear_attention);
  TEST ("CausalConvWithState goes on where it stopped", test_causal_conv);
  TEST ("RotaryEmbedding turns pairs", test_rotary);
  TEST ("TensorScatter writes into each sample at its own place", test_tensor_scatter);
  TEST ("gates multiply by a Sigmoid", test_gates);
  TEST ("Attention is its steps one after the other", test_attention_by_steps);
  TEST ("heads side by side are heads apart", test_packed_by_apart);
  TEST ("CausalConvWithState is a convolution of state and input", test_causal_conv_by_conv);
  TEST ("RotaryEmbedding is four products", test_rotary_by_products);
  TEST ("shapes with symbols go through Attention", test_symbolic);
  return g_test_run ();
}
