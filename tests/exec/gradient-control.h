/* Control flow, containers, and what is derived through the nodes that compute the same: cases like
 * those of gradient-cases.h, for the rules that derive bodies. */
#pragma once

#include "tests/exec/gradient-cases.h"

#define INT(NAME, NUMBER)  NAME " = Constant <value = int64 {" NUMBER "}> ()\n"
#define BOOL(NAME, NUMBER) NAME " = Constant <value = bool {" NUMBER "}> ()\n"
#define IF(COND, THEN, ELSE)                                                                       \
  "If (" COND ") <then_branch = t () => (u) { " THEN " }, else_branch = e () => (w) { " ELSE " }>"
#define STEP_BODY(TYPE)                                                                            \
  "body = body (int64 i, bool go, " TYPE " v) => (go_out, v_out, s) { go_out = Identity (go) "

static const GradientCase control_cases[] = {
  TWO ("If",
       BOTH_SIGNS,
       SMALL,
       BOOL ("c", "1") "y = " IF ("c", "k = Sin (a)\n u = Mul (k, b)", "w = Exp (a)")),
  TWO ("If",
       BOTH_SIGNS,
       SMALL,
       BOOL ("c", "0") "y = " IF ("c", "u = Mul (a, b)", "k = Exp (a)\n w = Mul (k, a)")),
  /* a branch that hands out what is around it, and one that nothing comes back through */
  ONE ("If",
       BOTH_SIGNS,
       BOOL ("c", "1") "z = " IF ("c", "u = Identity (a)", "w = Neg (a)") "\n y = Mul (z, a)"),
  ONE ("If",
       BOTH_SIGNS,
       BOOL ("c", "0") "z = " IF ("c", "u = Exp (a)", "w = Sign (a)") "\n y = Mul (z, a)"),
  /* what decides is computed from what is derived by */
  ONE (
      "If",
      BOTH_SIGNS,
      "m = ReduceSum <keepdims = 0> (a)\n k = Constant <value = double {0}> ()\n c = Greater (m, k)\n"
      "y = " IF ("c", "u = Mul (a, m)", "w = Sin (a)")),
  /* one in the other; shapes that differ from branch to branch */
  TWO (
      "If",
      BOTH_SIGNS,
      SMALL,
      BOOL ("c", "1") BOOL (
          "d",
          "0") "y = If (c) <then_branch = t () => (u) { k = Mul (a, b)\n u = If (d) "
               "<then_branch = tt () => (p) { p = ReduceSum (a) }, else_branch = ee () => (q) { q = Mul (k, b) }> }, "
               "else_branch = e () => (w) { w = ReduceSum (b) }>"),
  TWO ("Loop",
       SMALL,
       BOTH_SIGNS,
       INT ("n", "3") "y, z = Loop (n, , a) <" STEP_BODY (
           "double[2,3]") "k = Mul (v, b)\n v_out = Sin (k)\n s = Mul (k, v) }>"),
  TWO ("Loop",
       SMALL,
       BOTH_SIGNS,
       INT ("n", "3") "z, y = Loop (n, , a) <" STEP_BODY (
           "double[2,3]") "k = Mul (v, b)\n v_out = Sin (k)\n s = Mul (k, v) }>"),
  TWO ("Loop",
       SMALL,
       BOTH_SIGNS,
       INT ("n", "2") "p, q = Loop (n, , a) <" STEP_BODY (
           "double[2,3]") "k = Mul (v, b)\n v_out = Exp (k)\n s = Identity (v) }>\n"
                          "r = ReduceSum <keepdims = 0> (q)\n y = Mul (p, r)"),
  /* no iteration; one that ends by its condition; none by it */
  ONE ("Loop",
       SMALL,
       INT ("n", "0") "y, z = Loop (n, , a) <" STEP_BODY (
           "double[2,3]") "v_out = Mul (v, a)\n s = Exp (v) }>"),
  ONE (
      "Loop",
      POSITIVE,
      BOOL (
          "c",
          "1") "k = Constant <value = double {50}> ()\n"
               "y, n = Loop (, c, a) <body = body (int64 i, bool go, double[2,3] v) => (go_out, v_out, s) "
               "{ v_out = Mul (v, a)\n m = Add (v_out, v_out)\n t = ReduceSum <keepdims = 0> (m)\n "
               "go_out = Less (t, k)\n s = Identity (i) }>"),
  ONE ("Loop",
       SMALL,
       INT ("n", "4") BOOL ("c", "0") "z, x = Loop (n, c, a) <" STEP_BODY (
           "double[2,3]") "v_out = Mul (v, a)\n s = Exp (v) }>\n"
                          "y = Mul (z, a)"),
  /* states that pass something on to each other; one that nothing smooth comes of; the iteration */
  TWO (
      "Loop",
      SMALL,
      BOTH_SIGNS,
      INT (
          "n",
          "3") "e = Neg (a)\n f = Sign (a)\n y, z, x = Loop (n, , a, e, f) <body = body (int64 i, bool go, "
               "double[2,3] v, double[2,3] h, double[2,3] g) => (go_out, v_out, h_out, g_out) { go_out = Identity (go)\n "
               "d = Cast <to = 11> (i)\n k = Add (h, d)\n v_out = Mul (k, b)\n h_out = Sin (v)\n g_out = Round (g) }>"),
  /* a shape that grows from round to round */
  { "Loop", SMALL, "double[2]", BOTH_SIGNS, "double[1]",
    INT (
        "n",
        "3") "y, z = Loop (n, , a) <body = body (int64 i, bool go, double[N] v) => (go_out, v_out, s) "
             "{ go_out = Identity (go)\n k = Mul (v, b)\n v_out = Concat <axis = 0> (k, b)\n s = ReduceSum <keepdims = 0> (v_out) }>" },
  { "Loop", SMALL, "double[2]", BOTH_SIGNS, "double[1]",
    INT (
        "n",
        "3") "z, y = Loop (n, , a) <body = body (int64 i, bool go, double[N] v) => (go_out, v_out, s) "
             "{ go_out = Identity (go)\n k = Sin (v)\n v_out = Concat <axis = 0> (k, b)\n s = ReduceSum <keepdims = 0> (v_out) }>" },
  /* a loop in a loop, and an If in that */
  TWO (
      "Loop",
      SMALL,
      BOTH_SIGNS,
      INT ("n", "2") INT ("m", "3") BOOL ("c", "1") "y, z = Loop (n, , a) <" STEP_BODY (
          "double[2,3]") "x, r = Loop (m, , v) <body = inner (int64 j, bool on, double[2,3] h) => (on_out, h_out, o) { on_out = Identity (on)\n "
                         "g = Mul (h, v)\n f = " IF (
                             "c",
                             "u = Mul (g, b)",
                             "w = Neg (a)") "\n h_out = Sin (f)\n o = Identity (f) }>\n"
                                            "q = ReduceSum <keepdims = 0> (r)\n p = Mul (x, q)\n v_out = Sin (p)\n s = Identity (v) }>"),
  TWO ("Scan",
       SMALL,
       BOTH_SIGNS,
       "y, z = Scan <num_scan_inputs = 1, body = body (double[3] v, double[3] x) => (v_out, s) "
       "{ k = Mul (v, b)\n v_out = Add (k, x)\n s = Sin (v_out) }> (b, a)"),
  TWO (
      "Scan",
      SMALL,
      BOTH_SIGNS,
      "z, y = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = body (double[3] v, double[3] x) => (v_out, s) "
      "{ k = Mul (v, b)\n v_out = Add (k, x)\n s = Sin (v_out) }> (b, a)"),
  { "Scan", SMALL, "double[2,3]", BOTH_SIGNS, "double[3,2]",
    "y = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [0, 1], scan_output_axes = [-1], "
    "scan_output_directions = [1], body = body (double[2] x, double[2] z) => (s) { k = Mul (x, z)\n s = Exp (k) }> (a, b)" },
  /* a state alone: nothing comes to what is cut */
  ONE (
      "Scan",
      SMALL,
      "f = Sign (a)\n y = Scan <num_scan_inputs = 1, body = body (double[2,3] v, double[3] x) => (v_out) "
      "{ v_out = Sin (v) }> (a, f)"),
  TWO (
      "SequenceMap",
      BOTH_SIGNS,
      SMALL,
      "q = SequenceConstruct (a, b)\n m = SequenceMap (q, b) <body = body (double[] x, double[3] z) => (s) "
      "{ k = Mul (x, z)\n s = Mul (k, x) }>\n i = Constant <value = int64 {0}> ()\n f = SequenceAt (m, i)\n"
      "j = Constant <value = int64 {-1}> ()\n g = SequenceAt (m, j)\n y = Mul (f, g)"),
  TWO ("SequenceMap",
       BOTH_SIGNS,
       SMALL,
       "q = SplitToSequence <axis = 0> (a)\n m = SequenceMap (q) <body = body (x) => (s) "
       "{ k = Mul (x, b)\n s = Sin (k) }>\n y = ConcatFromSequence <axis = 0> (m)"),
  TWO ("SequenceConstruct",
       BOTH_SIGNS,
       SMALL,
       INT ("i", "1") "q = SequenceConstruct (a, b, a)\n f = SequenceAt (q, i)\n " INT (
           "j", "-3") "g = SequenceAt (q, j)\n y = Mul (f, g)"),
  TWO ("SequenceAt",
       BOTH_SIGNS,
       SMALL,
       INT ("i", "-1") "q = SequenceConstruct (b, a)\n f = SequenceAt (q, i)\n y = Mul (f, b)"),
  TWO (
      "SequenceInsert",
      BOTH_SIGNS,
      SMALL,
      INT ("i", "-1") "q = SequenceConstruct (a, a)\n r = SequenceInsert (q, b, i)\n o = SequenceInsert (r, a)\n" INT (
          "j", "1") "f = SequenceAt (o, j)\n " INT ("k",
                                                    "3") "g = SequenceAt (o, k)\n y = Mul (f, g)"),
  TWO (
      "SequenceErase",
      BOTH_SIGNS,
      SMALL,
      INT ("i", "-2") "q = SequenceConstruct (a, b, a)\n r = SequenceErase (q, i)\n o = SequenceErase (r)\n" INT (
          "j", "0") "f = SequenceAt (o, j)\n y = Mul (f, b)"),
  ONE ("SplitToSequence",
       BOTH_SIGNS,
       "s = Constant <value_ints = [1, 2]> ()\n q = SplitToSequence <axis = 1> (a, s)\n " INT (
           "i", "1") "y = SequenceAt (q, i)"),
  ONE ("SplitToSequence",
       BOTH_SIGNS,
       "q = SplitToSequence <axis = -1, keepdims = 0> (a)\n " INT ("i",
                                                                   "1") "y = SequenceAt (q, i)"),
  { "ConcatFromSequence", BOTH_SIGNS, "double[2,3]", SMALL, "double[2,1]",
    "q = SequenceConstruct (a, b, a)\n y = ConcatFromSequence <axis = -1> (q)" },
  { "ConcatFromSequence", BOTH_SIGNS, "double[2,3]", SMALL, "double[2,3]",
    "q = SequenceConstruct (a, b, a)\n y = ConcatFromSequence <axis = 1, new_axis = 1> (q)" },
  ONE ("Optional", BOTH_SIGNS, "o = Optional (a)\n f = OptionalGetElement (o)\n y = Mul (f, f)"),
  ONE (
      "OptionalGetElement",
      BOTH_SIGNS,
      "o = Optional (a)\n f = OptionalGetElement (o)\n g = OptionalGetElement (o)\n h = OptionalGetElement (a)\n k = Mul (f, h)\n y = Mul (k, g)"),
  /* operators that are composed of others */
  { "FusedMatMul", BOTH_SIGNS, "double[2,3]", SMALL, "double[2,3]",
    "y = com.microsoft.FusedMatMul <transB = 1, alpha = 0.7> (a, b)" },
  { "SkipLayerNormalization", BOTH_SIGNS, "double[1,2,3]", SMALL, "double[3]",
    "k = Neg (a)\n y = com.microsoft.SkipLayerNormalization (a, k, b)" },
  /* recurrent layers: all that they can be told, each once */
  { "RNN", SMALL, "double[3,2,2]", BOTH_SIGNS, "double[1,3,2]",
    "r = Constant <value = double[1,3,3] {0.5, -0.2, 0.3, 0.1, 0.7, -0.4, 0.2, -0.6, 0.9}> ()\n"
    "y, h = RNN <hidden_size = 3, direction = \"reverse\"> (a, b, r)" },
  { "RNN", SMALL, "double[2,3,2]", BOTH_SIGNS, "double[2,1,2]",
    "r = Constant <value = double[2,1,1] {0.5, -0.2}> ()\n l = Constant <value = int32[2] {3, 1}> ()\n"
    "c = ReduceSum <keepdims = 0> (b)\n n = Constant <value_ints = [2, 2]> ()\n k = Expand (c, n)\n"
    "m = Constant <value_ints = [2, 2, 1]> ()\n h0 = Expand (c, m)\n"
    "y, h = RNN <hidden_size = 1, direction = \"bidirectional\", layout = 1, activations = [\"ScaledTanh\", \"Affine\"], "
    "activation_alpha = [1.5, 0.7], activation_beta = [0.5, 0.1]> (a, b, r, k, l, h0)" },
  { "GRU", SMALL, "double[3,2,2]", BOTH_SIGNS, "double[1,6,2]",
    "r = Constant <value = double[1,6,2] {0.5, -0.2, 0.3, 0.1, 0.7, -0.4, 0.2, -0.6, 0.9, 0.4, -0.3, 0.8}> ()\n"
    "i = Constant <value = int64 {0}> ()\n p = Gather <axis = 2> (b, i)\n q = Concat <axis = 1> (p, p)\n"
    "y, h = GRU <hidden_size = 2> (a, b, r, q)" },
  { "GRU", SMALL, "double[3,2,2]", BOTH_SIGNS, "double[1,6,2]",
    "l = Constant <value = int32[2] {2, 3}> ()\n h0 = Constant <value = double[1,2,2] {0.5, -0.2, 0.3, 0.1}> ()\n"
    "z, y = GRU <hidden_size = 2, linear_before_reset = 1, direction = \"reverse\"> (a, b, b, , l, h0)" },
  { "LSTM", SMALL, "double[3,2,1]", BOTH_SIGNS, "double[1,4,1]",
    "y, h, c = LSTM <hidden_size = 1> (a, b, b)" },
  { "LSTM", SMALL, "double[3,2,1]", BOTH_SIGNS, "double[2,4,1]",
    "l = Constant <value = int32[2] {2, 3}> ()\n p = Constant <value = double[2,3] {0.3, -0.2, 0.1, 0.4, 0.6, -0.3}> ()\n"
    "z, h, y = LSTM <hidden_size = 1, direction = \"bidirectional\", clip = 0.8, input_forget = 1> (a, b, b, , l, , , p)" },
  /* a sequence that a loop fills, and one that it reads */
  TWO (
      "Loop",
      SMALL,
      BOTH_SIGNS,
      INT (
          "n",
          "3") "q = SequenceConstruct (a, a, b)\n o = SequenceEmpty <dtype = 11> ()\n"
               "x, p = Loop (n, , a, o) <body = body (int64 i, bool go, double[2,3] v, seq(double[2,3]) h) => (go_out, v_out, h_out) "
               "{ go_out = Identity (go)\n k = SequenceAt (q, i)\n v_out = Mul (v, k)\n h_out = SequenceInsert (h, v_out) }>\n"
               "z = ConcatFromSequence <axis = 0> (p)\n m = ReduceSum <keepdims = 0> (z)\n y = Mul (x, m)"),
  /* attentions: heads shared and packed, masks that hide whole rows, bounds, a past, all outputs */
  { "Attention", BOTH_SIGNS, "double[1,2,2,2]", SMALL, "double[1,2,3,2]",
    "y = Attention (a, b, b)" },
  { "Attention", BOTH_SIGNS, "double[1,3,4]", SMALL, "double[1,3,2]",
    "y = Attention <q_num_heads = 2, kv_num_heads = 1, is_causal = 1, softcap = 0.7, scale = 0.9> (a, b, b)" },
  { "Attention", BOTH_SIGNS, "double[1,2,2,2]", SMALL, "double[1,1,3,2]",
    "m = Constant <value = bool[2,3] {1, 0, 1, 0, 0, 0}> ()\n y = Attention (a, b, b, m)" },
  { "Attention", BOTH_SIGNS, "double[2,1,2,2]", SMALL, "double[1,1,2,2]",
    "c = Concat <axis = 0> (b, b)\n n = Constant <value = int64[2] {3, 2}> ()\n"
    "k = Concat <axis = 2> (c, a)\n m = Squeeze (b)\n"
    "y = Attention <left_window_size = 1, right_window_size = 1> (a, k, k, m, , , n)" },
  { "Attention", BOTH_SIGNS, "double[1,2,2,2]", SMALL, "double[1,2,1,2]",
    "p, k, pv, q = Attention <qk_matmul_output_mode = 3, is_causal = 1> (a, a, a, , b, b)\n"
    "y = MatMul (q, k)" },
  { "Attention", BOTH_SIGNS, "double[1,2,2,2]", SMALL, "double[1,2,1,2]",
    "p, k, y = Attention (a, a, a, , b, b)" },
  { "FlexAttention", BOTH_SIGNS, "double[1,2,2,2]", SMALL, "double[1,1,3,2]",
    "m = ReduceMean <keepdims = 0> (b)\n"
    "y = ai.onnx.preview.FlexAttention (a, b, b) <score_mod = g (double[1,2,2,3] s) => (t) { t = Mul (s, m) }, "
    "prob_mod = h (double[1,2,2,3] p) => (q) { q = Mul (p, p) }>" },
  { "LinearAttention", SMALL, "double[1,3,4]", BOTH_SIGNS, "double[1,3,2]",
    "y = LinearAttention <q_num_heads = 2, kv_num_heads = 1, update_rule = \"linear\"> (a, b, b)" },
  { "LinearAttention", SMALL, "double[1,3,4]", BOTH_SIGNS, "double[1,2,2,2]",
    "g = Neg (a)\n k = Constant <value = double[1,3,1] {0.3, 0.6, 0.9}> ()\n"
    "y, z = LinearAttention <q_num_heads = 2, kv_num_heads = 2, scale = 0.4> (a, a, a, b, g, k)" },
  { "LinearAttention", SMALL, "double[2,2,2]", BOTH_SIGNS, "double[2,2,2]",
    "z, y = LinearAttention <q_num_heads = 2, kv_num_heads = 2> (a, a, b, , b, b)" },
  { "CausalConvWithState", BOTH_SIGNS, "double[1,2,3]", SMALL, "double[2,1,3]",
    "y = CausalConvWithState <activation = \"silu\"> (a, b)" },
  { "CausalConvWithState", BOTH_SIGNS, "double[2,1,3]", SMALL, "double[1]",
    "p = Sin (a)\n s = Constant <value_ints = [0]> ()\n e = Constant <value_ints = [2]> ()\n"
    "i = Constant <value_ints = [2]> ()\n past = Slice (p, s, e, i)\n"
    "k = Constant <value = double[1,1,3] {0.3, -0.2, 0.9}> ()\n y, z = CausalConvWithState (a, k, b, past)" },
  { "TensorScatter", BOTH_SIGNS, "double[2,3,2]", SMALL, "double[2,2,2]",
    "i = Constant <value = int64[2] {1, 2}> ()\n y = TensorScatter <mode = \"circular\"> (a, b, i)" },
  { "TensorScatter", BOTH_SIGNS, "double[2,2,3]", SMALL, "double[2,2,2]",
    "y = TensorScatter <axis = 2> (a, b)" },
  ONE ("CumProd", "2 0 3 -1 0.5 2", "i = Constant <value = int64 {1}> ()\n y = CumProd (a, i)"),
  ONE ("CumProd",
       "2 0 3 -1 0.5 2",
       "i = Constant <value = int64 {-2}> ()\n y = CumProd <exclusive = 1, reverse = 1> (a, i)"),
  { "GridSample", BOTH_SIGNS, "double[1,2,3,2]", "-0.8 0.3 0.15 -0.43 0.55 1.3 -1.2 0.1",
    "double[1,2,2,2]", "y = GridSample (a, b)" },
  { "GridSample", BOTH_SIGNS, "double[1,1,3,3]", "-0.8 0.3 0.15 -0.43 0.55 1.3 -1.4 0.1",
    "double[1,2,2,2]",
    "y = GridSample <mode = \"cubic\", padding_mode = \"reflection\", align_corners = 1> (a, b)" },
  { "GridSample", BOTH_SIGNS, "double[1,1,3,3]", "-0.8 0.3 0.15 -0.43 0.55 1.3 -1.4 0.1",
    "double[1,2,2,2]", "y = GridSample <mode = \"cubic\", padding_mode = \"border\"> (a, b)" },
  { "GridSample", BOTH_SIGNS, "double[1,1,2,2,2]", "-0.8 0.3 0.15 -0.43 0.55 1.3",
    "double[1,2,1,1,3]", "y = GridSample <padding_mode = \"reflection\"> (a, b)" },
  { "GridSample", BOTH_SIGNS, "double[1,2,3,2]", "-0.8 0.3 0.15 -0.43 0.55 1.3 -1.2 0.1",
    "double[1,2,2,2]", "y = GridSample <mode = \"nearest\", padding_mode = \"border\"> (a, b)" },
  { "AffineGrid", BOTH_SIGNS, "double[2,2,3]", NULL, NULL,
    "s = Constant <value_ints = [2, 1, 3, 2]> ()\n y = AffineGrid (a, s)" },
  { "AffineGrid", BOTH_SIGNS, "double[1,3,4]", NULL, NULL,
    "s = Constant <value_ints = [1, 1, 2, 3, 2]> ()\n y = AffineGrid <align_corners = 1> (a, s)" },
  { "DeformConv", BOTH_SIGNS, "double[1,2,3,3]", "-0.8 0.3 0.15 -0.43 0.55 1.3 -1.2",
    "double[1,8,2,2]",
    "k = Constant <value = double[1,2,2,2] {0.3, -0.2, 0.9, 0.4, -0.6, 0.1, 0.7, 0.2}> ()\n"
    "y = DeformConv (a, k, b)" },
  { "DeformConv", BOTH_SIGNS, "double[2,1,1,2]", SMALL, "double[2,4,2,2]",
    "x = Constant <value = double[2,2,3,3] {0.3, -0.2, 0.9, 0.4, -0.6, 0.1, 0.7, 0.2, 0.8, 0.5, 0.1, -0.9, "
    "0.2, 0.6, -0.4, 0.3, 0.7, -0.1, 0.3, -0.2, 0.9, 0.4, -0.6, 0.1, 0.7, 0.2, 0.8, 0.5, 0.1, -0.9, 0.2, 0.6, "
    "-0.4, 0.3, 0.7, -0.1}> ()\n c = Constant <value = double[2] {0.3, -0.2}> ()\n"
    "o = Concat <axis = 1> (b, b)\n"
    "y = DeformConv <group = 2, offset_group = 2, strides = [2, 2], pads = [1, 0, 0, 1]> (x, a, o, c, b)" },
  { "RoiAlign", BOTH_SIGNS, "double[2,2,3,4]", "0.3 0.2 2.4 1.7 0.45 0.6 3.3 2.6", "double[2,4]",
    "i = Constant <value = int64[2] {1, 0}> ()\n"
    "y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2, spatial_scale = 0.9> (a, b, i)" },
  { "RoiAlign", "1.1 3.4 3.2 -2 -2.5 -5 0.3", "double[2,2,3,4]", "0.3 0.2 2.4 1.7 0.45 0.6 3.3 2.6", "double[2,4]",
    "i = Constant <value = int64[2] {1, 0}> ()\n"
    "y = RoiAlign <mode = \"max\", output_height = 2, output_width = 2, sampling_ratio = 2> (a, b, i)" },
  { "RoiAlign", BOTH_SIGNS, "double[2,2,3,4]", "0.3 0.2 3.7 1.6 1.45 0.6 1.1 2.7", "double[2,4]",
    "i = Constant <value = int64[2] {1, 0}> ()\n y = RoiAlign <output_width = 2> (a, b, i)" },
  { "RoiAlign", "1.1 3.4 3.2 -2 -2.5 -5 0.3", "double[2,2,3,4]", "0.3 0.2 3.7 1.6 1.45 0.6 1.1 2.7", "double[2,4]",
    "i = Constant <value = int64[2] {1, 0}> ()\n"
    "y = RoiAlign <mode = \"max\", output_width = 2, coordinate_transformation_mode = \"output_half_pixel\"> (a, b, i)" },
  { "MaxRoiPool", "1.1 3.4 3.2 -2 -2.5 -5 0.3", "double[2,2,4,5]", NULL, NULL,
    "r = Constant <value = double[3,5] {1, 0.5, 1, 3.4, 2.6, 0, 2, 0, 9, 1, 1, -3, -1, -1, 4}> ()\n"
    "y = MaxRoiPool <pooled_shape = [2, 3], spatial_scale = 0.9> (a, r)" },
  { "STFT", BOTH_SIGNS, "double[1,8,1]", SMALL, "double[4]",
    "n = Constant <value = int64 {2}> ()\n y = STFT (a, n, b)" },
  { "STFT", BOTH_SIGNS, "double[1,6,2]", NULL, NULL,
    "n = Constant <value = int64 {3}> ()\n l = Constant <value = int64 {3}> ()\n"
    "y = STFT <onesided = 0> (a, n, , l)" },
};

/* (nullable) The cases of both lists, one after the other */
static inline const GradientCase *
gradient_case (guint i)
{
  const guint n = G_N_ELEMENTS (gradient_cases);

  return i < n                                  ? &gradient_cases[i]
         : i < n + G_N_ELEMENTS (control_cases) ? &control_cases[i - n]
                                                : NULL;
}
