#include "config.h"

#include "tests/fuzz/idioms.h"

#include "core/io/io.h"

#include <string.h>

#define HEAD           "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1]>\ng "
#define OLD(OPSET)     "<ir_version: 8, opset_import: [\"\" : " OPSET ", \"irscope\" : 1]>\ng "
#define CALLS          "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1, \"my\" : 1]>\ng "
#define FLOW           "<ir_version: 8, opset_import: [\"\" : 17, \"irscope.flow\" : 1]>\ng "
#define OWN            "\n<domain: \"my\", opset_import: [\"\" : 17]> "
#define ROWS           "(float[n,4] x) => (float[n,4] y) "
#define IF_ROWS        "(float[n,4] x, bool q) => (float[n,4] y) "
#define LOOP_ROWS      "(float[n,4] x, int64 m) => (float[n,4] y) "
#define IMAGES         "(float[n,3,4,5] x) => (float[n,3,4,5] y) "
#define YES            "c = Constant <value = bool {1}> ()  "
#define NUMBER(N)      "m = Constant <value = int64 {" #N "}> ()  "
#define GO_ON          "more = Identity (go)  "
#define TO_FRONT(Y, X) Y " = Transpose <perm = [0, 3, 1, 2]> (" X ")  "
#define TO_BACK(Y, X)  Y " = Transpose <perm = [0, 2, 3, 1]> (" X ")  "
#define BODY(MORE)                                                                                 \
  "<body = b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t" MORE ") "

static const struct
{
  const char *rule;
  const char *text;
} table[] = {
  /* -- constants, dead code, equal code, shapes -- */
  { "fold-constants", ROWS "{ a = Constant <value = float[4] {0.5, 1, -2, 3}> ()  b = Neg (a)  "
                           "c = Mul (b, a)  y = Add (x, c) }" },
  { "fold-shape", "(float[2,3] x) => (int64[2] y) { a = Relu (x)  b = Shape (a)  y = Neg (b) }" },
  { "dead-node", ROWS "{ a = Exp (x)  b = Neg (a)  y = Relu (x) }" },
  { "dead-node", "(float[n,4] x, bool q) => (float[n,4] y) { a = Exp (x)  y = If (q) <then_branch "
                 "= t () => (float[n,4] u) { d = Abs (a)  u = Neg (x) }, else_branch = e () => "
                 "(float[n,4] v) { w = Neg (a)  v = Exp (x) }> }" },
  { "unused-initializers", ROWS "<float[3] w = {1, 2, 3}> { y = Relu (x) }" },
  { "fold-known-contents",
    "(float[n,4] x) => (int64[1] y) { s = Shape <start = 1, end = 2> (x)  y = Neg (s) }" },
  { "merge-equal-contents",
    "(float[n,4] x) => (int64[1] y) { a = Relu (x)  s = Shape <start = 0, end = 1> (x)  t = Shape "
    "<start = 0, end = 1> (a)  u = Neg (s)  y = Mul (t, u) }" },
  { "merge-equal-contents",
    "(float[n,4] x) => (int64 y) { k = Constant <value = int64 {0}> ()  a = Relu (x)  s = Shape (x)"
    "  t = Shape (a)  u = Gather (s, k)  v = Gather (t, k)  y = Sub (u, v) }" },
  { "reshape-by-constant",
    "(float[n,12] x) => (float[n,3,4] y) { k = Constant <value = int64[2] {3, 4}> ()  s = Shape "
    "<start = 0, end = 1> (x)  t = Concat <axis = 0> (s, k)  y = Reshape (x, t) }" },
  { "share-constant", ROWS "<float[4] v = {1, 2, -3, 4}, float[4] w = {1, 2, -3, 4}> "
                           "{ a = Mul (x, v)  y = Sub (a, w) }" },
  { "merge-nodes", ROWS "{ a = Exp (x)  b = Exp (x)  c = Neg (b)  y = Mul (a, c) }" },
  { "merge-nodes", "(float[n,4] x, float[n,4] z) => (float[n,4] y) { a = Add (x, z)  b = Add (z, x)"
                   "  c = Sub (x, z)  d = Sub (z, x)  e = Mul (a, c)  f = Mul (b, d)  y = Sub (e, f"
                   ") }" },
  /* -- matrices and transposes -- */
  { "merge-matmuls",
    "(float[n,4] x, float[4,3] A, float[4,3] B, float[4,3] C) => (float[n,3] y) { q = MatMul (x, A)"
    "  k = MatMul (x, B)  v = MatMul (x, C)  a = Mul (q, k)  y = Sub (a, v) }" },
  { "merge-matmuls",
    "(float[n,4] x, float[4,3] A, float[4,2] B, float[4,3] C, float[3] D, float[2] E, float[3] F) "
    "=> (float[n,3] y, float[n,2] z) { q = MatMul (x, A)  k = MatMul (x, B)  v = MatMul (x, C)  "
    "r = Add (q, D)  z = Add (k, E)  w = Add (F, v)  y = Sub (r, w) }" },
  { "push-transposes",
    IMAGES "{ " TO_FRONT ("a", "x") "b = Relu (a)  c = Neg (b)  " TO_BACK ("y", "c") "}" },
  { "push-transposes",
    "(float[n,3,4,5] x, float[n,3,4,5] z) => (float[n,3,4,10] y) { " TO_FRONT ("a", "x")
        TO_FRONT ("b", "z") "c = Concat <axis = -3> (a, b)  " TO_BACK ("y", "c") "}" },
  { "push-transposes",
    "(float[n,3,4,6] x) => (float[n,3,4,2] y, float[n,3,4,4] z) { k = Constant <value = int64[2] "
    "{2, 4}> ()  " TO_FRONT ("a", "x") "b, c = Split <axis = 1> (a, k)  d = Relu (b)  e = Neg (c)"
                                       "  " TO_BACK ("y", "d") TO_BACK ("z", "e") "}" },
  { "push-transposes",
    "(float[n,3,4,5] x) => (float[n,3,4,2] y) { s = Constant <value = int64[1] {1}> ()  e = "
    "Constant <value = int64[1] {3}> ()  ax = Constant <value = int64[1] {1}> ()  " TO_FRONT (
        "a", "x") "b = Slice (a, s, e, ax)  " TO_BACK ("y", "b") "}" },
  { "push-transposes",
    "(float[n,3,4,5] x) => (float[n,6,5,8] y) { p = Constant <value = int64[8] {0, 1, 2, 0, 0, 2, "
    "1, 1}> ()  " TO_FRONT ("a", "x") "b = Pad (a, p)  " TO_BACK ("y", "b") "}" },
  { "push-transposes",
    "(float[n,3,4,5] x) => (float[n,1,1,5] y) { " TO_FRONT (
        "a", "x") "b = ReduceMax <axes = [2, -1]> (a)  " TO_BACK ("y", "b") "}" },
  { "push-transposes-through-sums",
    "(float[n,3,4,5] x) => (float[n,1,1,5] y) { " TO_FRONT (
        "a", "x") "b = ReduceMean <axes = [2, 3]> (a)  " TO_BACK ("y", "b") "}" },
  { "push-transposes-through-sums",
    IMAGES "{ " TO_FRONT ("a", "x") "b = Softmax <axis = 1> (a)  " TO_BACK ("y", "b") "}" },
  { "merge-matmuls",
    "(float[n,4] x, float[4,3] A, float[4,3] B, float[4,3] C, float[3] D, float[3] E, float[3] F) => (float[n,3] "
    "y) { p = irscope.MatMulAdd (x, A, D)  q = irscope.MatMulAdd (x, B, E)  r = irscope.MatMulAdd (x, C, F)  s = "
    "Sub (p, q)  y = Mul (r, s) }" },
  { "fuse-softmax-grad",
    "(float[3,3] x, float[3,3] d) => (float[3,3] y) { k = Constant <value = int64[1] {1}> ()  s = Softmax (x)  "
    "m = Mul (d, s)  r = ReduceSum (m, k)  t = Sub (d, r)  y = Mul (s, t) }" },
  /* -- parts -- */
  { "split-slices",
    "(float[n,6] x) => (float[n,2] y, float[n,3] z) { ax = Constant <value = "
    "int64[1] {-1}> ()  p = Constant <value = int64[1] {0}> ()  q = Constant <value "
    "= int64[1] {2}> ()  r = Constant <value = int64[1] {-1}> ()  e = Constant "
    "<value = int64[1] {99}> ()  y = Slice (x, p, q, ax)  z = Slice (x, q, r, ax)  "
    "w = Slice (x, r, e, ax)  v = Add (w, z) }" },
  { "split-slices",
    "(float[n,5] x) => (float[n,3] y, float[n,2] z) { i = Constant <value = int64[2] {3, 4}> ()  j = "
    "Constant <value = int64[3] {0, 1, -3}> ()  a = Gather <axis = 1> (x, i)  y = Gather <axis = 1> "
    "(x, j)  z = Neg (a) }" },
  { "split-slices",
    "(float[4,6] x) => (float[2,6] y, float[2,6] z, float[4,1] w) { l = Constant <value = int64[1] {0}> ()"
    "  p = Constant <value = int64[1] {1}> ()  q = Constant <value = int64[1] {2}> ()  r = Constant <value "
    "= int64[1] {4}> ()  y = Slice (x, l, q, l)  w = Slice (x, l, p, p)  z = Slice (x, q, r, l) }" },
  { "split-sequences",
    "(float[n,6] x) => (float[n,4] y, float[n,2] z) { k = Constant <value = int64 {4}> ()  i = "
    "Constant <value = int64 {0}> ()  j = Constant <value = int64 {-1}> ()  s = SplitToSequence "
    "<axis = 1> (x, k)  y = SequenceAt (s, i)  a = SequenceAt (s, j)  z = Neg (a) }" },
  { "split-sequences",
    "(float[n,3] x) => (float[n] y) { i = Constant <value = int64 {2}> ()  j = Constant <value = int64 "
    "{-3}> ()  s = SplitToSequence <axis = -1, keepdims = 0> (x)  a = SequenceAt (s, i)  b = "
    "SequenceAt (s, j)  y = Sub (a, b) }" },
  { "split-sequences",
    "(float[n,6] x) => (float[n,3] y) { k = Constant <value = int64[3] {1, 3, 2}> ()  i = Constant "
    "<value = int64 {1}> ()  s = SplitToSequence <axis = 1> (x, k)  y = SequenceAt (s, i) }" },
  /* -- heads -- */
  { "share-heads",
    "(float[n,4,3,8] q, float[n,2,5,8] k, float[n,2,5,6] v, bool[3,5] keep) => (float[n,4,3,6] y) { two "
    "= Constant <value = int64[1] {2}> ()  e = Constant <value = int64[5] {1, 1, 2, 1, 1}> ()  g = "
    "Constant <value = int64[4] {0, 4, 5, 8}> ()  h = Constant <value = int64[4] {0, 4, 5, 6}> ()  ku = "
    "Unsqueeze (k, two)  ke = Expand (ku, e)  kr = Reshape (ke, g)  vu = Unsqueeze (v, two)  ve = Tile "
    "(vu, e)  vr = Reshape (ve, h)  y = irscope.SelectedAttention <scale: float = 0.5, fill: float = "
    "-100.0> (q, kr, vr, keep) }" },
  { "share-heads",
    "(float[n,4,3,8] q, float[n,1,5,8] k, float[n,1,1,5] m) => (float[n,4,3,8] y) { i = Constant <value "
    "= int64[4] {0, 0, 0, 0}> ()  v = Neg (k)  kr = Gather <axis = 1> (k, i)  vr = Gather <axis = 1> (v, "
    "i)  y = irscope.MaskedAttention <scale: float = 0.5> (q, kr, vr, m) }" },
  { "share-heads",
    OLD (
        "11") "(float[n,4,3,8] q, float[n,2,1,5,8] k, float[n,2,1,5,6] v, bool[3,5] keep) => (float[n,4,3,6] y) { "
              "e = Constant <value = int64[5] {1, 1, 2, 1, 1}> ()  g = Constant <value = int64[4] {0, 4, 5, 8}> ()"
              "  h = Constant <value = int64[4] {0, 4, 5, 6}> ()  ke = Expand (k, e)  kr = Reshape (ke, g)  ve = "
              "Tile (v, e)  vr = Reshape (ve, h)  y = irscope.SelectedAttention <scale: float = 0.5, fill: float = "
              "-100.0> (q, kr, vr, keep) }" },
  { "fuse-shared-residual",
    "(float[n,3,6] x, float[n,3,6] z, float[6] G, float[6] B) => (float[n,3,6] y) { s = Add (x, z)  v = "
    "LayerNormalization (s, G, B)  y = Sub (v, s) }" },
  { "fuse-heads",
    "(float[n,3,8] x, float[n,5,8] z, float[n,5,12] w, bool[3,5] keep) => (float[n,3,12] y) { f = "
    "Constant <value = int64[4] {0, 0, 2, 4}> ()  s = Constant <value = int64[4] {0, 0, 2, 6}> ()  "
    "g = Constant <value = int64[3] {0, 0, 12}> ()  xr = Reshape (x, f)  zr = Reshape (z, f)  wr = "
    "Reshape (w, s)  q = Transpose <perm = [0, 2, 1, 3]> (xr)  k = Transpose <perm = [0, 2, 1, 3]> "
    "(zr)  v = Transpose <perm = [0, 2, 1, 3]> (wr)  o = irscope.SelectedAttention <scale: float = "
    "0.5, fill: float = -100.0> (q, k, v, keep)  t = Transpose <perm = [0, 2, 1, 3]> (o)  y = "
    "Reshape (t, g) }" },
  { "fuse-packed-heads",
    "(float[n,3,24] x, float[n,1,1,3] m) => (float[n,3,8] y) { p = Constant <value = int64[3] {8, "
    "8, 8}> ()  f = Constant <value = int64[4] {0, 0, -1, 4}> ()  g = Constant <value = int64[3] "
    "{0, 0, 8}> ()  a, b, c = Split <axis = -1> (x, p)  ar = Reshape (a, f)  br = Reshape (b, f)  "
    "cr = Reshape (c, f)  q = Transpose <perm = [0, 2, 1, 3]> (ar)  k = Transpose <perm = [0, 2, 1,"
    " 3]> (br)  v = Transpose <perm = [0, 2, 1, 3]> (cr)  o = irscope.MaskedAttention <scale: float"
    " = 0.5> (q, k, v, m)  t = Transpose <perm = [0, 2, 1, 3]> (o)  y = Reshape (t, g) }" },
  { "fuse-packed-heads",
    "<ir_version: 10, opset_import: [\"\" : 23, \"irscope\" : 1]>\n"
    "g (float[n,3,24] x) => (float[n,3,8] y) { s = Constant <value = int64[5] {0, 3, 3, 2, 4}> ()  "
    "g = Constant <value = int64[3] {0, 0, 8}> ()  zero = Constant <value = int64 {0}> ()  one = "
    "Constant <value = int64 {1}> ()  two = Constant <value = int64 {2}> ()  r = Reshape (x, s)  p "
    "= Transpose <perm = [2, 0, 3, 1, 4]> (r)  q = Gather <axis = 0> (p, zero)  k = Gather <axis = "
    "0> (p, one)  v = Gather <axis = 0> (p, two)  o = Attention (q, k, v)  t = Transpose <perm = "
    "[0, 2, 1, 3]> (o)  y = Reshape (t, g) }" },
  { "fuse-late-pair-rotary",
    "(float[n,3,2,4] x, float[3,1,4] C, float[2,4] S) => (float[n,3,2,4] y) { z = Constant <value = "
    "int64[1] {0}> ()  i = Constant <value = int64[1] {1}> ()  e = Constant <value = int64[1] {99}> "
    "()  l = Constant <value = int64[1] {3}> ()  t = Constant <value = int64[1] {2}> ()  h = Constan"
    "t <value = int64[4] {0, 0, 0, 4}> ()  a = Slice (x, z, e, l, t)  b = Slice (x, i, e, l, t)  o ="
    " Neg (b)  v = Constant <value = int64[1] {4}> ()  ou = Unsqueeze (o, v)  au = Unsqueeze (a, v) "
    " m = Concat <axis = -1> (ou, au)  r = Reshape (m, h)  p = Mul (C, x)  q = Mul (r, S)  y = Add ("
    "q, p) }" },
  { "fuse-late-pair-rotary",
    "(float[n,3,2,4] x, float[3,1,4] c, float[2,4] s) => (float[n,3,2,4] y) { d = Constant <value = "
    "int64[5] {0, 0, 0, 2, 2}> ()  h = Constant <value = int64[4] {0, 0, 0, 4}> ()  k = Constant <va"
    "lue = int64[2] {1, 1}> ()  w = Reshape (x, d)  a, b = Split <axis = 4> (w, k)  o = Neg (b)  m ="
    " Concat <axis = 4> (o, a)  r = Reshape (m, h)  p = Mul (x, c)  q = Mul (r, s)  y = Add (p, q) }" },
  /* -- elementwise groups -- */
  { "fuse-elementwise", "(float[n,4] x, float[4] s) => (float[n,4] y) { a = Mul (x, s)  b = Add (a,"
                        " x)  c = Tanh (b)  y = Sub (c, s) }" },
  { "fuse-elementwise", "(float[n,4] x, float[1,4] s) => (float[n,4] y, float[n,4] z) { a = Mul (s,"
                        " x)  z = Neg (a)  b = Less (a, s)  y = Where (b, x, a) }" },
  { "fuse-reduction", "(float[n,4] x, float[n,1] m) => (float[n,1] y) { k = Constant <value = "
                      "int64[1] {1}> ()  d = Sub (x, m)  s = Mul (d, d)  y = ReduceSum (s, k) }" },
  { "fuse-reduction",
    "(float[n,4,3] x, float[3] s) => (float[n,3] y, float[n,4,3] z) { a = Mul (s, "
    "x)  e = Exp (a)  y = ReduceMean <axes = [1], keepdims = 0> (e)  z = Neg (x) }" },
  { "fuse-reduction",
    "(int32[n,4] x) => (int32 y) { a = Abs (x)  y = ReduceMax <keepdims = 0> (a) }" },
  /* -- control flow and functions -- */
  { "hoist-invariant", LOOP_ROWS "{ " YES "w = Abs (x)  y = Loop (m, c, x) " BODY (
                           "") "{ " GO_ON "a = Mul (w, w)  b = Abs (a)  t = Add (s, b) }> }" },
  { "hoist-invariant",
    "(float[n,4] x, float[4] v) => (float[4] y, float[n,4] z) { k = Abs (v)  y, z = Scan (v, x) "
    "<num_scan_inputs = 1, body = b (float[4] s, float[4] e) => (float[4] t, float[4] r) { w = Mul "
    "(k, k)  t = Add (s, e)  r = Mul (t, w) }> }" },
  { "hoist-equal", IF_ROWS
    "{ y = If (q) <then_branch = t () => (float[n,4] u) { k = Constant <value = float {2.5}> ()  "
    "a = Mul (x, k)  u = Neg (a) }, else_branch = e () => (float[n,4] v) { k2 = Constant <value = "
    "float {2.5}> ()  a2 = Mul (k2, x)  v = Abs (a2) }> }" },
  { "hoist-equal",
    "(float[n,4] x, bool q) => (float[n,4] y, float[n,4] z) { y, z = If (q) <then_branch = t () => "
    "(float[n,4] a, float[n,4] u) { a = Exp (x)  u = Neg (a) }, else_branch = e () => (float[n,4] b, "
    "float[n,4] v) { b = Exp (x)  v = Abs (b) }> }" },
  { "sink-node", IF_ROWS
    "{ a = Exp (x)  b = Mul (a, x)  y = If (q) <then_branch = t () => (float[n,4] u) { u = Neg "
    "(b) }, else_branch = e () => (float[n,4] v) { v = Abs (x) }> }" },
  { "if-to-where",
    "(float[3,4] x, bool q) => (float[3,4] y) { y = If (q) <then_branch = t () => (float[3,4] u) { u = Neg "
    "(x) }, else_branch = e () => (float[3,4] v) { k = Constant <value = float {2.5}> ()  v = Mul (x, k) }> "
    "}" },
  { "where-to-if",
    "(float[96,96] x, bool[1] q) => (float[96,96] y) { a = MatMul (x, x)  b = Exp (x)  y = Where (q, a, b) "
    "}" },
  { "loop-to-scan",
    "(float[6,4] x, float[4] v) => (float[6,4] y) { m = Constant <value = int64 {6}> ()  y = Loop (m, ) <body = b "
    "(int64 i, bool go) => (bool more, float[4] r) { more = Identity (go)  e = Gather (x, i)  f = Cast <to = 1> "
    "(i)  a = Mul (e, f)  r = Add (a, v) }> }" },
  { "batch-scan",
    "(float[n,4] x, float[4,4] w) => (float[n,4] y) { y = Scan (x) <num_scan_inputs = 1, body = b (float[4] e) "
    "=> (float[4] r) { p = MatMul (e, w)  r = Neg (p) }> }" },
  { "merge-scans",
    "(float[n,4] x, float[4] v) => (float[4] y, float[n,4] z, float[4] p, float[n,4] q) { w = Abs (v)"
    "  y, z = Scan (v, x) <num_scan_inputs = 1, body = b (float[4] s, float[4] e) => (float[4] t, "
    "float[4] r) { t = Add (s, e)  r = Mul (t, w) }>  p, q = Scan (w, x) <num_scan_inputs = 1, "
    "scan_input_directions = [1], body = b2 (float[4] s, float[4] e) => (float[4] t, float[4] r) { "
    "t = Sub (s, e)  r = Identity (t) }> }" },
  { "merge-scans",
    "(float[n,4] x, float[n,3] w) => (float[n,4] y, float[3,n] z) { y = Scan (x) <num_scan_inputs = "
    "1, body = b (float[4] e) => (float[4] r) { r = Abs (e) }>  z = Scan (w) <num_scan_inputs = 1, "
    "scan_output_axes = [1], body = b2 (float[3] e) => (float[3] r) { r = Neg (e) }> }" },
  { "chain-scans",
    "(float[n,4] x, float[4] v) => (float[4] y, float[n,4] z, float[4] p, float[n,4] q) { y, z = Scan"
    " (v, x) <num_scan_inputs = 1, body = b (float[4] s, float[4] e) => (float[4] t, float[4] r) { t "
    "= Add (s, e)  r = Abs (t) }>  p, q = Scan (v, z, x) <num_scan_inputs = 2, body = b2 (float[4] s,"
    " float[4] e, float[4] f) => (float[4] t, float[4] r) { t = Sub (s, e)  r = Mul (e, f) }> }" },
  { "chain-scans",
    "(float[n,4] x) => (float[n,4] y) { a = Scan (x) <num_scan_inputs = 1, scan_input_directions = "
    "[1], scan_output_axes = [-1], body = b (float[4] e) => (float[4] r) { r = Neg (e) }>  y = Scan "
    "(a) <num_scan_inputs = 1, scan_input_axes = [1], scan_output_directions = [1], body = b2 "
    "(float[4] e) => (float[4] r) { r = Abs (e) }> }" },
  { "merge-loops",
    "(float[n,4] x, int64 m) => (float[n,4] y, float[k,n,4] z, float[n,4] w) { " YES
    "y, z = Loop (m, c, x) " BODY (
        ", float[n,4] p") "{ " GO_ON "f = Cast <to = 1> (i)  t = Add (s, "
                          "f)  p = Abs (s) }>  w = Loop (m, , x) <body = b2 (int64 i, bool go, float[n,4] s) => (bool more,"
                          " float[n,4] t) { " GO_ON "e = Gather (z, i)  t = Sub (s, e) }> }" },
  { "inline-branch",
    ROWS "{ " YES "y = If (c) <then_branch = t () => (float[n,4] u) { a = Relu (x)"
         "  u = Neg (a) }, else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" },
  { "switch-on-constant", FLOW ROWS "{ " YES "o, a = irscope.flow.Switch (x, c)  y = Exp (a) }" },
  { "merge-of-one",
    FLOW ROWS "{ " YES "o, a = irscope.flow.Switch (x, c)  b = Relu (a)  d = Exp (o)  e = "
              "irscope.flow.Merge (d, b)  y = Neg (e) }" },
  { "remove-loop", ROWS "{ " NUMBER (0) YES
    "a = Relu (x)  l = Loop (m, c, a) " BODY ("") "{ " GO_ON "t = Exp (s) }>  y = Neg (l) }" },
  { "unroll-loop", ROWS "{ " NUMBER (3) YES
    "y = Loop (m, c, x) " BODY ("") "{ " GO_ON "a = Mul (s, s)  t = Sub (a, x) }> }" },
  { "unroll-loop", "(float[n,4] x) => (float[n,4] y, float[k,n,4] z) { " NUMBER (2) YES
    "y, z = Loop (m, c, x) " BODY (
        ", float[n,4] p") "{ " GO_ON "f = Cast <to = 1> (i)  t = Add (s, f)  p = Abs (s) }> }" },
  { "drop-unused-outputs",
    IF_ROWS "{ d, y = If (q) <then_branch = t () => (float[n,4] d1, float[n,4] u) { d1 = Exp (x)  "
            "u = Neg (x) }, else_branch = e () => (float[n,4] v, float[n,4] w) { w = Exp (x)  "
            "v = Abs (x) }> }" },
  { "drop-unused-outputs", LOOP_ROWS "{ " YES "y, z = Loop (m, c, x) " BODY (
                               ", float[n,4] p") "{ " GO_ON "t = Add (s, x)  p = Abs (s) }> }" },
  { "inline-call", CALLS ROWS "{ y = my.Twice (x) }" OWN "Twice (a) => (b) { c = Add (a, a)  "
                              "b = Relu (c) }" },
  { "inline-call", CALLS IF_ROWS
    "{ h = my.Leaky <slope = 0.5> (x)  y = If (q) <then_branch = t () => (float[n,4] u) { u = "
    "my.Leaky <slope = 0.25> (h) }, else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" OWN
    "Leaky <slope> (a) => (b) { c = Exp (a)  b = LeakyRelu <alpha: float = @slope> (a) }" },
  { "remove-unused-functions",
    CALLS ROWS "{ y = Relu (x) }" OWN "Twice (a) => (b) { b = Add (a, a) }" },
  /* -- older forms -- */
  { "attributes-to-inputs",
    OLD ("9") "(float[2,1,3] x) => (float[1] s) { a = Squeeze <axes = [1]> (x)  b = Clip <min = "
              "-1.0, max = 2.0> (a)  c = Slice <axes = [1], starts = [1], ends = [3]> (b)  d = Pad "
              "<pads = [0,1,0,0], value = 0.5> (c)  e = Dropout <ratio = 0.25> (d)  f = ReduceSum "
              "<axes = [0,1], keepdims = 0> (e)  s = Unsqueeze <axes = [0]> (f) }" },
  { "attributes-to-inputs",
    OLD ("17") "(float[n,4] x) => (float[n,1] y) { a = ReduceMax <axes = [1]> (x)  b = ReduceMean "
               "<axes = [-1], keepdims = 1> (x)  y = Sub (a, b) }" },
  { "drop-attribute", OLD ("5") "(float[2,3] x) => (float[2,3] y) { y = Mul <broadcast = 0, "
                                "consumed_inputs = [0,0]> (x, x) }" },
  { "drop-attribute",
    OLD ("8") "(float[2,3,4] x, float[3] A, float[3] B, float[3] C, float[3] V) => (float[2,3,4] y)"
              " { y = BatchNormalization <spatial = 1> (x, A, B, C, V) }" },
  { "explicit-attribute", OLD ("5") "(float[2,3] x) => (float[2,3] y) { y = Selu (x) }" },
  { "explicit-attribute", OLD ("3") "(float[2,3] x) => (float[2,6] y) { y = Concat (x, x) }" },
  { "explicit-attribute", OLD ("17") "(float[2,6] x) => (float[2,3] y) { a, b = Split <axis = 1> "
                                     "(x)  y = Sub (a, b) }" },
  { "respell-attribute", OLD ("1") "(float[1,2,4,4] x) => (float[1,2,3,3] y) { y = LpPool "
                                   "<kernel_shape = [2,2], p = 3.0> (x) }" },
  { "respell-attribute",
    OLD ("5") "(float[2,3] x) => (double[2,3] y) { y = Cast <to: string = \"DOUBLE\"> (x) }" },
  { "broadcast-by-shape", OLD ("5") "(float[2,3,4] x, float[3] b) => (float[2,3,4] y) { y = Add "
                                    "<axis = 1, broadcast = 1> (x, b) }" },
  { "broadcast-by-shape",
    OLD ("5") "(float[2,3,4] x, float[3] s) => (float[2,3,4] y) { y = PRelu (x, s) }" },
  { "softmax-over-axis", OLD ("12") "(float[2,3,4] x) => (float[2,3,4] y) { y = Softmax (x) }" },
  { "softmax-over-axis",
    OLD ("11") "(float[n,3,4] x) => (float[n,3,4] y) { y = LogSoftmax <axis = 0> (x) }" },
  { "rename-operator", OLD ("9") "(float[3] d, float[2] u) => (float[3] z) <int64[2] i = {2, 0}> "
                                 "{ z = Scatter (d, i, u) }" },
  { "resize-inputs", OLD ("10") "(float[1,1,2,2] x) => (float[1,1,h,w] y) <float[4] scales = {1, 1,"
                                " 2, 2}> { y = Resize <mode: string = \"linear\"> (x, scales) }" },
  { "resize-inputs",
    OLD ("10") "(float[1,1,2,3] x) => (float[1,1,h,w] y) <float[4] scales = {1, 1, 2, 1.5}> { y = "
               "Resize (x, scales) }" },
  { "training-outputs",
    OLD ("9") "(float[2,3,4] x, float[3] A, float[3] B, float[3] C, float[3] V) => (float[2,3,4] y)"
              " { y, a, b, c, d = BatchNormalization (x, A, B, C, V) }" },
  { "scale-per-channel",
    OLD ("18") "(float[2,4,3] x, float[2] s, float[2] b) => (float[2,4,3] y) { y = "
               "GroupNormalization <num_groups = 2> (x, s, b) }" },
  { "tile-repeats", OLD ("5") "(float[2,3] x) => (float[2,6] y) <float k = {2}, float at = {1}> "
                              "{ y = Tile (x, k, at) }" },
  { "scan-over-batch",
    "<ir_version: 8, opset_import: [\"\" : 8]>\n"
    "g (float[2,4] start, float[2,3,4] xs) => (float[2,4] last, float[2,3,4] sums) { last, sums = "
    "Scan <num_scan_inputs = 1, directions = [1], body = step (float[4] s, float[4] x) => (float[4]"
    " t, float[4] o) { t = Add (s, x)  o = Identity (t) }> (, start, xs) }" },
  { "mask-type",
    OLD ("7") "(float[2,3] x) => (float[2,3] y) { a, k = Dropout (x)  y = Mul (a, k) }" },
  { "import", OLD ("13") "(float[2,3] x) => (float[2,3] y) { y = Relu (x) }" },
};

/* What looks like an idiom and is none, or is one for another reason: what rules do here, if
 * anything, must be right. */
#define SLICED(FIRST, SECOND)                                                                        \
  "(float[n,6,5] x) => (float[n,h,w] y) { one = Constant <value = int64[1] {1}> ()  two = Constant " \
  "<value = int64[1] {2}> ()  four = Constant <value = int64[1] {4}> ()  big = Constant <value = "   \
  "int64[1] {99}> ()  last = Constant <value = int64[1] {-1}> ()  low = Constant <value = int64[1]"  \
  " {-99}> ()  a = Slice " FIRST "  y = Slice " SECOND " }"
#define MAXED(FILL, X, ATTRS)                                                                      \
  "(float[n,2,5,6] x) => (float[n,2,h,w] y) { f = Constant <value = float {" FILL "}> ()  p = "    \
  "Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> ()  r = Relu (x)  a = Pad (" X             \
  ", p, f)  y "                                                                                    \
  "= MaxPool <kernel_shape = [3, 2]" ATTRS "> (a) }"
#define SHARED(FIRST, SECOND)                                                                         \
  "(float[n,6,5] x) => (float[n,h,w] y, float[n,i,j] z) { one = Constant <value = int64[1] {1}> ()"   \
  "  two = Constant <value = int64[1] {2}> ()  big = Constant <value = int64[1] {99}> ()  last = "    \
  "Constant <value = int64[1] {-1}> ()  low = Constant <value = int64[1] {-99}> ()  y = Slice " FIRST \
  "  z = Slice " SECOND " }"
#define POOLED(ATTRS)                                                                               \
  "(float[n,2,5,6] x) => (float[n,2,h,w] y) { p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1," \
  " 1}> ()  a = Pad (x, p)  y = AveragePool <kernel_shape = [2, 3]" ATTRS "> (a) }"

static const struct
{
  const char *rule;
  const char *text;
} traps[] = {
  { "unroll-loop", ROWS "{ " NUMBER (129) YES
    "y = Loop (m, c, x) " BODY ("") "{ " GO_ON "a = Abs (s)  t = Min (a, x) }> }" },
  { "where-to-if",
    "(float[96,96] x, bool[1] q) => (float[96,96] y) { a = MatMul (x, x)  r = RandomUniformLike <seed = 1.0> (x)  b "
    "= MatMul (x, r)  y = Where (q, a, b) }" },
  { "merge-slices", SLICED ("(x, one, big, one)", "(a, one, four, one)") },
  { "merge-slices", SLICED ("(x, one, big, one)", "(a, two, big, one)") },
  { "merge-slices", SLICED ("(x, one, big, one, two)", "(a, one, four, last, one)") },
  { "merge-slices", SLICED ("(x, last, low, two, last)", "(a, one, four, one)") },
  { "split-slices", SHARED ("(x, low, two, one)", "(x, one, big, one)") },
  { "split-slices", SHARED ("(x, low, one, one)", "(x, two, big, one)") },
  { "split-slices", SHARED ("(x, low, two, one)", "(x, two, last, one)") },
  { "split-slices", SHARED ("(x, low, two, one)", "(x, two, big, two)") },
  { "split-slices", SHARED ("(x, low, two, one, two)", "(x, two, big, one)") },
  { "fold-constants",
    "(float[n,4] x) => (float[n,4] y) { a = Constant <value = float[4] {0.5, 1, -2, 3}> ()  i = Constant <value = "
    "int64 {1}> ()  b = Neg (a)  s = SequenceConstruct (a, b)  c = SequenceAt (s, i)  y = Add (x, c) }" },
  { "split-slices",
    "(float[2,3] x) => (float[1,3] y, float[1,3] z) { l = Constant <value = int64[1] {0}> ()  p = Constant "
    "<value = int64[1] {1}> ()  q = Constant <value = int64[1] {2}> ()  y = ReduceSum (x, l)  z = Slice (x, "
    "p, q, l) }" },
  { "split-slices",
    OLD (
        "10") "(float[n,6] x) => (float[n,2] y, float[n,3] z) { l = Constant <value = int64[1] {0}> ()  p = "
              "Constant <value = int64[1] {1}> ()  q = Constant <value = int64[1] {2}> ()  r = Constant <value "
              "= int64[1] {3}> ()  s = Constant <value = int64[1] {6}> ()  y = Slice (x, l, r, p, q)  z = "
              "Slice (x, r, s, p) }" },
  { "fold-pad-max-pool",
    "(float[n,2,5,6] x) => (float[n,2,h,w] y) { l = Constant <value = float {-1}> ()  p = Constant <value = "
    "int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> ()  r = Clip (x, l)  a = Pad (r, p, l)  y = MaxPool <kernel_shape = "
    "[3, 2]> (a) }" },
  { "fold-norm-mul",
    "(float16[n,2,3] x, float[2] S, float[2] B, float[2] M, float[2] V, float16[2,1] C) => (float16[n,2,3] y) "
    "{ a = BatchNormalization (x, S, B, M, V)  y = Mul (a, C) }" },
  { "push-transposes", "(float[n,3,4,5] x) => (float[n,3,4,5] y, float[n,5,3,4] z) { " TO_FRONT (
                           "a", "x") "b = Relu (a)  " TO_BACK ("y", "b") "z = Neg (b) }" },
  { "push-transposes",
    "(float[n,3,4,5] x, float[3,4,5] C) => (float[n,3,4,5] y) { t = Transpose <perm = [2, 0, 1]> (C)  b = "
    "Relu (t)  u = Transpose <perm = [1, 2, 0]> (b)  y = Add (x, u) }" },
  { "remove-loop",
    "(float[4] x) => (float[4] y) { m = Constant <value = int64 {0}> ()  a = Neg (x)  b, c, d = Loop (m, , a, x) "
    "<body = b (int64 i, bool go, float[4] s, float[4] t) => (bool more, float[4] u, float[4] v, float[4] w) { "
    "more = Identity (go)  u = Exp (s)  v = Neg (t)  w = Abs (s) }>  y = Abs (b) }" },
  { "split-sequences",
    "(float[n,6] x, int64 i) => (float[n,w] y) { k = Constant <value = int64 {4}> ()  j = Constant "
    "<value = int64 {-1}> ()  s = SplitToSequence <axis = 1> (x, k)  y = SequenceAt (s, j)  l = "
    "SequenceLength (s) }" },
  { "split-sequences",
    "(float[n,6] x) => (float[n,2] y, float[n,2] z) { k = Constant <value = int64 {2}> ()  i = "
    "Constant <value = int64 {1}> ()  j = Constant <value = int64 {-2}> ()  s = SplitToSequence <axis "
    "= 1> (x, k)  y = SequenceAt (s, j)  z = SequenceAt (s, i) }" },
  { "merge-concats-first", "(float[n,2] a) => (float[m,4] y) { c = Concat <axis = 1> (a, a)  y = "
                           "Concat <axis = 0> (c, c) }" },
  { "merge-concats-second", "(float[n,n] a) => (float[m,k] y) { c = Concat <axis = 0> (a, a)  y = "
                            "Concat <axis = -1> (c, c) }" },
  { "fold-pad-average-pool", POOLED ("") },
  { "fold-pad-average-pool", POOLED (", count_include_pad = 1, ceil_mode = 1, strides = [2, 2]") },
  { "fold-pad-average-pool", POOLED (", count_include_pad = 1, pads = [1, 0, 0, 1]") },
  { "fold-pad-max-pool", MAXED ("-inf", "x", ", ceil_mode = 1, strides = [2, 2]") },
  { "fold-pad-max-pool", MAXED ("-inf", "x", ", dilations = [3, 2]") },
  { "fold-pad-max-pool", MAXED ("-1.0", "x", "") },
  { "fold-zero-pad-max-pool", MAXED ("0.0", "x", "") },
  { "fold-zero-pad-max-pool", MAXED ("0.0", "r", ", ceil_mode = 1, strides = [2, 2]") },
  { "fold-pad-conv",
    "(float[n,2,5] x, float[3,2,2] W) => (float[n,3,w] y) { p = Constant <value = int64[6] {0, 0, "
    "-1, 0, 0, 2}> ()  a = Pad (x, p)  y = Conv (a, W) }" },
  { "merge-reshapes",
    "(float[2,3,4] x) => (float[6,4] y) { s = Constant <value = int64[2] {6, 4}> ()  t = Constant "
    "<value = int64[2] {0, -1}> ()  a = Reshape (x, s)  y = Reshape (a, t) }" },
  { "merge-reshapes",
    "(float[0,3,4] x) => (float[a,b] y) { s = Constant <value = int64[2] {0, 12}> ()  t = Constant "
    "<value = int64[2] {0, 5}> ()  a = Reshape (x, s)  y = Reshape <allowzero = 1> (a, t) }" },
  { "split-in-one", "(float[4,3] x) => (float[4,3] y, float[0,3] z) { k = Constant <value = "
                    "int64[2] {4, 0}> ()  y, z = Split <axis = 0> (x, k) }" },
  { "reshape-to-same",
    "(float[1,n] x) => (float[n,n] y) { s = Shape (x)  one = Constant <value = int64[1] {1}> ()  a "
    "= Gather (s, one)  t = Concat <axis = 0> (a, a)  y = Expand (x, t) }" },
  { "merge-casts", "(float[n,4] x) => (float[n,4] y) { a = Cast <to = 10> (x)  y = Cast <to = 1> "
                   "(a) }" },
  { "merge-casts", "(float[n,4] x) => (float[n,4] y) { a = Cast <to = 7> (x)  y = Cast <to = 1> "
                   "(a) }" },
  { "merge-clips", "(float[n,4] x) => (float[n,4] y) <float a = {3}, float b = {5}, float c = {-1},"
                   " float d = {1}> { z = Clip (x, a, b)  y = Clip (z, c, d) }" },
  { "merge-clips", "(float[n,4] x) => (float[n,4] y) <float a = {-0.0}, float b = {5}> { z = Relu "
                   "(x)  y = Clip (z, a, b) }" },
  { "fuse-matmul-add",
    "(float[1,4] x, float[4,3] W, float[5,3] b) => (float[5,3] y) { a = MatMul (x, W)  y = Add (a, "
    "b) }" },
  { "fuse-conv-add", "(float[n,2,4,4] x, float[2,2,1,1] W, float[1,2,1,4] r) => (float[n,2,4,4] y) "
                     "{ a = Conv (x, W)  y = Add (a, r) }" },
  { "fold-conv-mul", "(float[n,2,4,4] x, float[4,2,1,1] W, float[4] S) => (float[n,4,4,4] y) { a = "
                     "Conv (x, W)  y = Mul (a, S) }" },
  { "where-same", "(float[1,4] x, bool[3,4] c) => (float[3,4] y) { y = Where (c, x, x) }" },
  { "reduce-keep-axes",
    "(float[2,3,4] x) => (float[2,1,4] y) { k = Constant <value = int64[1] {1}> ()  a "
    "= ReduceMax <axes = [2], keepdims = 0> (x)  y = Unsqueeze (a, k) }" },
  { "mean-to-global-pool",
    "(float[n,2,3,4] x) => (float[n,2,3,1] y) { y = ReduceMean <axes = [3]> (x) }" },
  { "chain-scans",
    "(float[n,4] x, float[4] v) => (float[4] y, float[n,4] z, float[4] p, float[n,4] q) { y, z = Scan"
    " (v, x) <num_scan_inputs = 1, body = b (float[4] s, float[4] e) => (float[4] t, float[4] r) { t "
    "= Add (s, e)  r = Abs (t) }>  p, q = Scan (y, z) <num_scan_inputs = 1, body = b2 (float[4] s, "
    "float[4] e) => (float[4] t, float[4] r) { t = Sub (s, e)  r = Mul (e, y) }> }" },
  { "chain-scans",
    "(float[4,4] x, float[4] v) => (float[4,4] z, float[4,4] q) { z = Scan (x) <num_scan_inputs = 1, "
    "scan_output_directions = [1], body = b (float[4] e) => (float[4] r) { r = Abs (e) }>  q = Scan "
    "(z, x) <num_scan_inputs = 2, scan_input_axes = [1, 0], body = b2 (float[4] e, float[4] f) => "
    "(float[4] r) { r = Mul (e, f) }> }" },
  { "fuse-late-pair-rotary",
    "(float[n,3,2,4] x, float[3,1,4] c, float[2,4] s) => (float[n,3,2,4] y) { d = Constant <value = "
    "int64[5] {0, 0, 0, 2, 2}> ()  h = Constant <value = int64[4] {0, 0, 0, 4}> ()  k = Constant <va"
    "lue = int64[2] {1, 1}> ()  w = Reshape (x, d)  a, b = Split <axis = 4> (w, k)  o = Neg (a)  m ="
    " Concat <axis = 4> (b, o)  r = Reshape (m, h)  p = Mul (x, c)  q = Mul (r, s)  y = Add (p, q) }" },
  { "dropout", "(float[2,3] x, bool train) => (float[2,3] y) <float none = {0}> { y = Dropout (x, "
               "none, train) }" },
};

gboolean
idiom_rule_has_no_steps (const char *rule)
{
  return strcmp (rule, "scan-over-batch") == 0 || strcmp (rule, "mask-type") == 0;
}

gboolean
idiom_rule_does_not_run (const char *rule)
{
  return strcmp (rule, "training-outputs") == 0;
}

static Idiom *
idiom_new (const IrPass *pass, const IrRule *rule, const char *text)
{
  Idiom *idiom = g_new (Idiom, 1);

  *idiom = (Idiom){ pass, rule, text };
  return idiom;
}

static void
add_idioms (GPtrArray *idioms, const IrPass *pass, const IrRule *rule)
{
  if (rule->example != NULL)
    g_ptr_array_add (idioms, idiom_new (pass, rule, rule->example));
  for (guint i = 0; i < G_N_ELEMENTS (table); i++)
    if (strcmp (table[i].rule, rule->name) == 0)
      g_ptr_array_add (idioms, idiom_new (pass, rule, table[i].text));
}

static GPtrArray *
collect (gboolean once)
{
  GPtrArray *idioms = g_ptr_array_new_with_free_func (g_free);
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    {
      const IrRule *rule = passes[i]->rules != NULL ? passes[i]->rules
                                                    : passes[i]->documented_rules;
      if (passes[i]->once) /* see tests/rules/test-gradient-pass.c, test-training.c */
        continue;
      for (; rule != NULL && rule->name != NULL; rule++)
        {
          guint before = idioms->len;

          add_idioms (idioms, passes[i], rule);
          if (once && idioms->len == before)
            g_ptr_array_add (idioms, idiom_new (passes[i], rule, NULL));
          if (once)
            g_ptr_array_set_size (idioms, (gint) before + 1);
        }
    }
  return idioms;
}

GPtrArray *
idiom_traps_new (void)
{
  g_autoptr (GPtrArray) rules = idiom_rules_new ();
  GPtrArray *list = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < G_N_ELEMENTS (traps); i++)
    for (guint k = 0; k < rules->len; k++)
      {
        const Idiom *idiom = rules->pdata[k];
        if (strcmp (idiom->rule->name, traps[i].rule) == 0)
          g_ptr_array_add (list, idiom_new (idiom->pass, idiom->rule, traps[i].text));
      }
  g_assert_cmpuint (list->len, ==, G_N_ELEMENTS (traps)); /* a rule has another name now */
  return list;
}

GPtrArray *
idioms_new (void)
{
  return collect (FALSE);
}

GPtrArray *
idiom_rules_new (void)
{
  return collect (TRUE);
}

IrModel *
idiom_read (const char *text, GError **error)
{
  g_autofree char *whole = g_strconcat (text[0] == '<' ? "" : HEAD, text, NULL);

  return ir_text_read (whole, -1, NULL, error);
}
