/* Rows of the pass catalogue, each with its traps: a small model, what the pass leaves of it, and
 * where it must not apply the reason that it gives. Whatever it does, results stay: on the
 * reference and on the CPU kernels, on ordinary contents and, for exact rules, on NaN, infinities
 * and -0. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <string.h>

typedef struct
{
  const char *name;
  const char *passes;
  guint n_nodes;      /* counted, after */
  const char *reason; /* (nullable) part of a refusal */
  double rtol;        /* 0: bit for bit, on any contents */
  const char *text;
} Case;

#define OPSET(N)    "<ir_version: 8, opset_import: [\"\" : " N ", \"irscope\" : 1]>\ng "
#define AT(NAME, N) NAME " = Constant <value = int64[1] {" #N "}> ()  "
#define AXIS        AT ("ax", 1)

/* -- split-slices -- */

#define SLICES         "split-slices"
#define THREE          "(float[n,6] x) => (float[n,2] a, float[n,3] b, float[n,1] c) { "
#define TWO            "(float[n,6] x) => (float[n,p] a, float[n,q] b) { "
#define OVERLAP        "two parts of the axis overlap"
#define HOLE           "nothing takes a part of the axis"
#define SHORT          "nothing takes the end of the axis"
#define SLICE(Y, S, E) Y " = Slice (x, " S ", " E ", ax)  "

/* -- split-sequences -- */

#define SEQUENCES       "split-sequences"
#define NUMBER(NAME, N) NAME " = Constant <value = int64 {" #N "}> ()  "
#define READ(Y, I)      Y " = SequenceAt (s, " I ")  "

/* -- fuse-activation -- */

#define ACTIVATION "fuse-bias fuse-activation"
#define PRODUCT(TYPE)                                                                              \
  "(" TYPE "[n,3,5] x, " TYPE "[5,4] W, " TYPE "[4] B) => (" TYPE                                  \
  "[n,3,4] y) { m = MatMul (x, W)  c = Add (m, B)  "

/* -- fuse-shared-residual -- */

#define RESIDUAL "fuse-shared-residual"
#define NORMED                                                                                     \
  "(float[n,3,6] x, float[n,3,6] z, float[6] G, float[6] B) => (float[n,3,6] y, float[n,3,6] s) { "
#define CARRIED(ATTR) "s = Add (x, z)  v = LayerNormalization" ATTR " (s, G, B)  y = Mul (v, s) }"

/* -- share-heads -- */

#define HEADS "fuse-attention share-heads"
#define GQA   "(float[n,4,3,8] q, float[n,2,5,8] k, float[n,2,5,8] v) => (float[n,4,3,8] y) { "
#define REPEAT(Y, X)                                                                               \
  Y "u = Unsqueeze (" X ", two)  " Y "e = Expand (" Y "u, five)  " Y " = Reshape (" Y "e, four)  "
#define SHAPES                                                                                       \
  AT ("two", 2)                                                                                      \
  "five = Constant <value = int64[5] {1, 1, 2, 1, 1}> ()  four = Constant <value = int64[4] {0, 4, " \
  "5, 8}> ()  c = Constant <value = float {0.5}> ()  "
#define ATTEND                                                                                      \
  "t = Transpose <perm = [0, 1, 3, 2]> (K)  s = MatMul (q, t)  r = Mul (s, c)  p = Softmax (r)  y " \
  "= MatMul (p, V) }"

/* -- fold-reduce -- */

#define ONE         "fold-reduce"
#define ONE_IN(OUT) "(float[n,1,4] x) => (float" OUT " y) { "

/* -- fold-pad -- */

#define PAD "fold-pad"
#define PADDED(X, FILL)                                                                            \
  "f = Constant <value = float {" FILL "}> ()  p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, " \
  "1, 1}> ()  q = Pad (" X ", p, f)  "
#define IMAGE      "(float[n,2,5,6] x) => (float[n,c,h,w] y) { "
#define POOL(ATTR) "y = MaxPool <kernel_shape = [3, 3]" ATTR "> (q) }"
#define MAY_WIN    "is filled in, and may win"

/* -- fuse-heads -- */

#define FUSE_HEADS "fuse-heads eliminate-dead-code"
#define APART                                                                                       \
  "shape = Constant <value = int64[5] {2, 5, 3, 2, 4}> ()  together = Constant <value = int64[3] "  \
  "{0, 0, 8}> ()  zero = Constant <value = int64 {0}> ()  one = Constant <value = int64 {1}> ()  "  \
  "two = Constant <value = int64 {2}> ()  r = Reshape (x, shape)  p = Transpose <perm = [2, 0, 3, " \
  "1, 4]> (r)  q = Gather <axis = 0> (p, zero)  k = Gather <axis = 0> (p, one)  v = Gather <axis "  \
  "= 0> (p, two)  "
#define TOGETHER "t = Transpose <perm = [0, 2, 1, 3]> (o)  y = Reshape (t, together) }"
#define PACKED   "(float[2,5,24] x) => (float[2,5,8] y) { " APART
#define PAST     "(float[2,5,24] x, float[2,2,3,4] a, float[2,2,3,4] b) => (float[2,5,8] y) { " APART

static const Case cases[] = {
  { "heads of a packed value become one operator", FUSE_HEADS, 2, NULL, 2e-5,
    OPSET ("24") PACKED "o = Attention (q, k, v)  " TOGETHER },
  { "an attention with a past stays", FUSE_HEADS, 8, "has a past", 0,
    OPSET ("24") PAST "o = Attention (q, k, v, , a, b)  " TOGETHER },
  { "an attention with numbers of keys stays", FUSE_HEADS, 8, "has a past", 0,
    OPSET ("24") PACKED
    "n = Constant <value = int64[2] {5, 3}> ()  o = Attention (q, k, v, , , , n)  " TOGETHER },
  { "an attention that gives its scores stays", FUSE_HEADS, 8, "more than its result", 0,
    OPSET ("24") "(float[2,5,24] x) => (float[2,5,8] y, float[2,2,5,5] s) { " APART
                 "o, , , s = Attention (q, k, v)  " TOGETHER },
  { "an attention that gives its keys stays", FUSE_HEADS, 8, "more than its result", 0,
    OPSET ("24") "(float[2,5,24] x) => (float[2,5,8] y, float[2,2,5,4] s) { " APART
                 "o, s = Attention (q, k, v)  " TOGETHER },
  { "three slices that share out an axis are one Split", SLICES, 1, NULL, 0,
    OPSET ("17") THREE AXIS AT ("p", 0) AT ("q", 2) AT ("r", 5) AT ("e", 9223372036854775807)
        SLICE ("b", "q", "r") SLICE ("a", "p", "q") SLICE ("c", "r", "e") "}" },
  { "starts and ends are counted from the end and clamped", SLICES, 1, NULL, 0,
    OPSET ("17") THREE "ax = Constant <value = int64[1] {-1}> ()  " AT ("p", -99) AT ("q", -4)
        AT ("r", -1) AT ("e", 7) SLICE ("a", "p", "q") SLICE ("b", "q", "r")
            SLICE ("c", "r", "e") "}" },
  { "sizes are an attribute before opset 13", SLICES, 1, NULL, 0,
    OPSET ("11") TWO AXIS AT ("p", 0) AT ("q", 2) AT ("r", 6) SLICE ("a", "p", "q")
        SLICE ("b", "q", "r") "}" },
  { "before opset 10 the ranges are attributes", SLICES, 1, NULL, 0,
    OPSET ("9") TWO "a = Slice <axes = [1], starts = [0], ends = [2]> (x)  b = Slice <axes = [1], "
                    "starts = [2], ends = [9]> (x) }" },
  { "Gathers of consecutive indices are slices", SLICES, 1, NULL, 0,
    OPSET ("17") TWO
    "i = Constant <value = int64[2] {0, 1}> ()  j = Constant <value = int64[4] {2, "
    "-3, 4, -1}> ()  a = Gather <axis = 1> (x, i)  b = Gather <axis = -1> (x, j) "
    "}" },
  { "a part may be an output, and be read too", SLICES, 2, NULL, 0,
    OPSET ("17") "(float[n,6] x) => (float[n,3] a, float[n,3] y) { " AXIS AT ("p", 0) AT ("q", 3)
        AT ("r", 6) SLICE ("a", "p", "q") SLICE ("b", "q", "r") "y = Sub (a, b) }" },
  { "parts that overlap stay", SLICES, 2, OVERLAP, 0,
    OPSET ("17") TWO AXIS AT ("p", 0) AT ("q", 3) AT ("r", 2) AT ("e", 6) SLICE ("a", "p", "q")
        SLICE ("b", "r", "e") "}" },
  { "a part that is taken twice stays", SLICES, 3, OVERLAP, 0,
    OPSET ("17") "(float[n,6] x) => (float[n,3] a, float[n,3] b, float[n,3] c) { " AXIS AT ("p", 0)
        AT ("q", 3) AT ("e", 6) SLICE ("a", "p", "q") SLICE ("b", "q", "e")
            SLICE ("c", "p", "q") "}" },
  { "parts with a hole between them stay", SLICES, 2, HOLE, 0,
    OPSET ("17") TWO AXIS AT ("p", 0) AT ("q", 2) AT ("r", 3) AT ("e", 6) SLICE ("a", "p", "q")
        SLICE ("b", "r", "e") "}" },
  { "parts that leave the end out stay", SLICES, 2, SHORT, 0,
    OPSET ("17") TWO AXIS AT ("p", 0) AT ("q", 2) AT ("e", -1) SLICE ("a", "p", "q")
        SLICE ("b", "q", "e") "}" },
  { "an end that is clamped to the start takes nothing", SLICES, 2, NULL, 0,
    OPSET ("17") TWO AXIS AT ("p", 0) AT ("q", 3) AT ("r", -99) SLICE ("a", "p", "q")
        SLICE ("b", "q", "r") "}" },
  { "parts along two axes stay", SLICES, 2, NULL, 0,
    OPSET ("17") "(float[4,6] x) => (float[2,6] a, float[4,3] b) { " AXIS AT ("zero", 0) AT ("q", 2)
        AT ("r", 3) AT ("e", 6) "a = Slice (x, zero, q, zero)  " SLICE ("b", "r", "e") "}" },
  { "a Slice of two axes stays", SLICES, 2, NULL, 0,
    OPSET ("17") "(float[4,6] x) => (float[4,3] a, float[2,3] b) { " AXIS AT ("zero", 0)
        AT ("q", 3) "s = Constant <value = int64[2] {0, 3}> ()  t = Constant <value = int64[2] {2, "
                    "6}> ()  u = Constant <value = int64[2] {0, 1}> ()  " SLICE (
                        "a", "zero", "q") "b = Slice (x, s, t, u) }" },
  { "steps other than 1 stay", SLICES, 2, NULL, 0,
    OPSET ("17") "(float[n,6] x) => (float[n,3] a, float[n,3] b) { " AXIS AT ("p", 0) AT ("q", 1)
        AT ("e", 6) AT ("two", 2) "a = Slice (x, p, e, ax, two)  b = Slice (x, q, e, ax, two) }" },
  { "an axis of unknown size stays", SLICES, 2, NULL, 0,
    OPSET ("17") "(float[m,4] x) => (float[p,4] a, float[q,4] b) { " AT ("ax", 0) AT ("p", 0)
        AT ("q", 1) AT ("e", 99) SLICE ("a", "p", "q") SLICE ("b", "q", "e") "}" },
  { "ranges that are not constant stay", SLICES, 2, NULL, 0,
    OPSET ("17") "(float[n,6] x, int64[1] q) => (float[n,p] a, float[n,r] b) { " AXIS AT ("p", 0)
        AT ("e", 6) SLICE ("a", "p", "q") SLICE ("b", "q", "e") "}" },
  { "slices of two values stay", SLICES, 2, NULL, 0,
    OPSET ("17") "(float[n,6] x, float[n,6] z) => (float[n,3] a, float[n,3] b) { " AXIS AT ("p", 0)
        AT ("q", 3) AT ("e", 6) SLICE ("a", "p", "q") "b = Slice (z, q, e, ax) }" },
  { "slices in two graphs stay", SLICES, 4, NULL, 0,
    OPSET ("17") "(float[n,6] x, bool k) => (float[n,3] a, float[n,3] y) { " AXIS AT ("p", 0)
        AT ("q", 3) AT ("e", 6) SLICE (
            "a",
            "p",
            "q") "y = If (k) <then_branch = t () => "
                 "(float[n,3] u) { u = Slice (x, q, e, ax) }, else_branch = f () => (float[n,3] v) { v = "
                 "Neg (a) }> }" },
  { "Gathers that drop the axis would be more nodes as a Split", SLICES, 2, NULL, 0,
    OPSET ("17") "(float[n,2] x) => (float[n] a, float[n] b) { " NUMBER ("i", 0)
        NUMBER ("j", 1) "a = Gather <axis = 1> (x, i)  b = Gather <axis = 1> (x, j) }" },
  { "indices in another order are no slice", SLICES, 2, NULL, 0,
    OPSET ("17") TWO
    "i = Constant <value = int64[2] {1, 0}> ()  j = Constant <value = int64[4] {2, "
    "3, 4, 5}> ()  a = Gather <axis = 1> (x, i)  b = Gather <axis = 1> (x, j) }" },

  { "pieces of equal size are one Split", SEQUENCES, 1, NULL, 0,
    OPSET ("17") TWO NUMBER ("two", 2) NUMBER ("i", 0) NUMBER (
        "j", -1) "s = SplitToSequence <axis = 1> (x, two)  " READ ("a", "i") READ ("b", "j") "}" },
  { "the last piece may be smaller", SEQUENCES, 1, NULL, 0,
    OPSET ("17") TWO NUMBER ("four", 4) NUMBER ("i", 0) NUMBER (
        "j", 1) "s = SplitToSequence <axis = -1> (x, four)  " READ ("a", "i") READ ("b", "j") "}" },
  { "pieces of listed sizes are one Split, before opset 13 too", SEQUENCES, 1, NULL, 0,
    OPSET ("11") TWO "k = Constant <value = int64[3] {1, 2, 3}> ()  " NUMBER ("i", 2) NUMBER (
        "j", -3) "s = SplitToSequence <axis = 1> (x, k)  " READ ("a", "i") READ ("b", "j") "}" },
  { "sizes that are listed need no size of the axis", SEQUENCES, 4, NULL, 0,
    OPSET ("17") "(float[4,4] x, bool go) => (float[1,4] a, float[2,4] b) { k = Constant <value = int64[2] {1, 2}> ()  " AT (
        "p", 1)
        AT ("q", 4) "w = Where (go, p, p)  y = Slice (x, w, q)  t = Abs (y)  s = SplitToSequence (t, k)  " NUMBER (
            "i", 0) NUMBER ("j", 1) READ ("a", "i") READ ("b", "j") "}" },
  { "one piece alone is a Slice", SEQUENCES, 1, NULL, 0,
    OPSET ("17") "(float[n,6] x) => (float[n,2] a) { " NUMBER ("two", 2)
        NUMBER ("i", 1) "s = SplitToSequence <axis = 1> (x, two)  " READ ("a", "i") "}" },
  { "places without their axis are Gathers", SEQUENCES, 2, NULL, 0,
    OPSET ("17") "(float[n,3] x) => (float[n] a, float[n] b) { " NUMBER ("i", 0)
        NUMBER ("j", -1) "s = SplitToSequence <axis = 1, keepdims = 0> (x)  " READ ("a", "i")
            READ ("b", "j") "}" },
  { "listed sizes keep the axis, whatever keepdims says", SEQUENCES, 1, NULL, 0,
    OPSET ("17") "(float[n,2] x) => (float[n,1] a, float[n,1] b) { " NUMBER ("one", 1) NUMBER ("i",
                                                                                               0)
        NUMBER ("j", 1) "s = SplitToSequence <axis = 1, keepdims = 0> (x, one)  " READ ("a", "i")
            READ ("b", "j") "}" },
  { "a position that is computed stays", SEQUENCES, 4, "otherwise than at a constant position", 0,
    OPSET ("17") "(float[n,6] x, bool q) => (float[n,2] a, float[n,2] b) { " NUMBER ("two", 2)
        NUMBER ("i", 0) "j = Cast <to = 7> (q)  s = SplitToSequence <axis = 1> (x, two)  " READ (
            "a", "i") READ ("b", "j") "}" },
  { "a sequence whose length is asked for stays", SEQUENCES, 3,
    "otherwise than at a constant position", 0,
    OPSET ("17") "(float[n,6] x) => (float[n,2] a, int64 b) { " NUMBER ("two", 2)
        NUMBER ("i", 0) "s = SplitToSequence <axis = 1> (x, two)  " READ (
            "a", "i") "b = SequenceLength (s) }" },
  { "pieces of an axis of unknown size stay", SEQUENCES, 2, "the size of the axis is not known", 0,
    OPSET ("17") "(float[m,4] x) => (float[p,4] a) { " NUMBER ("one", 1)
        NUMBER ("i", 0) "s = SplitToSequence <axis = 0> (x, one)  " READ ("a", "i") "}" },
  { "a sequence that is read in a branch stays", SEQUENCES, 4, "in another graph", 0,
    OPSET ("17") "(float[n,6] x, bool k) => (float[n,2] y) { " NUMBER ("two", 2) NUMBER (
        "i",
        0) "s = SplitToSequence <axis = 1> (x, two)  y = If (k) <then_branch = t () => (float[n,2] u) "
           "{ u = SequenceAt (s, i) }, else_branch = f () => (float[n,2] v) { v = SequenceAt (s, i) "
           "}> }" },
  { "a piece that is an output twice stays", SEQUENCES, 3, "an output of the graph twice", 0,
    OPSET ("17") TWO NUMBER ("two", 2) NUMBER ("i", 0) NUMBER (
        "j", -3) "s = SplitToSequence <axis = 1> (x, two)  " READ ("a", "i") READ ("b", "j") "}" },

  { "padding by -infinity is part of MaxPool", PAD, 1, NULL, 0,
    OPSET ("17") IMAGE PADDED ("x", "-inf") POOL ("") },
  { "pads of MaxPool's own are added", PAD, 1, NULL, 0,
    OPSET ("17") IMAGE PADDED ("x", "-inf") POOL (", pads = [1, 0, 0, 1], strides = [2, 2]") },
  { "padding by zeros of a Relu is part of MaxPool", PAD, 2, NULL, 1e-6,
    OPSET ("17") IMAGE "r = Relu (x)  " PADDED ("r", "0.0") POOL ("") },
  { "what is never negative is followed through a Transpose and a Concat", PAD, 5, NULL, 1e-6,
    OPSET (
        "17") "(float[n,5,6,2] x) => (float[n,4,h,w] y) { r = Sigmoid (x)  u = Abs (x)  c = Concat "
              "<axis = -1> (r, u)  t = Transpose <perm = [0, 3, 1, 2]> (c)  " PADDED ("t", "0.0")
                  POOL ("") },
  { "the lowest finite number never wins behind a Clip", PAD, 2, NULL, 0,
    OPSET ("17") IMAGE "lo = Constant <value = float {-1.5}> ()  r = Clip (x, lo)  " PADDED (
        "r", "-3.4028235e38") POOL ("") },
  { "0 is the lowest number of uint8", PAD, 1, NULL, 0,
    OPSET (
        "17") "(uint8[n,2,5,6] x) => (uint8[n,2,5,6] y) { p = Constant <value = int64[8] {0, 0, 1, "
              "1, 0, 0, 1, 1}> ()  q = Pad (x, p)  " POOL ("") },
  { "padding by zeros of what may be negative stays", PAD, 2, "may be negative, and lose to 0", 0,
    OPSET ("17") IMAGE PADDED ("x", "0.0") POOL ("") },
  { "the lowest finite number wins over -infinity", PAD, 2, MAY_WIN, 0,
    OPSET ("17") IMAGE PADDED ("x", "-3.4028235e38") POOL ("") },
  { "a Concat of which one part may be negative stays", PAD, 4, "may be negative", 0,
    OPSET ("17") IMAGE "r = Relu (x)  c = Concat <axis = 1> (r, x)  " PADDED ("c", "0.0")
        POOL ("") },
  { "Indices counts what Pad adds", PAD, 2, "output 1, is used", 0,
    OPSET ("17") "(float[n,2,5,6] x) => (float[n,2,h,w] y, int64[n,2,h,w] i) { " PADDED (
        "x", "-inf") "y, i = MaxPool <kernel_shape = [3, 3]> (q) }" },
  { "MaxPool that rounds up stays", PAD, 2, "rounds its size up", 0,
    OPSET ("17") IMAGE PADDED ("x", "-inf") POOL (", ceil_mode = 1, strides = [2, 2]") },
  { "MaxPool whose pads depend on its input stays", PAD, 2, "depend on its input", 0,
    OPSET ("17") IMAGE PADDED ("x", "-inf") POOL (", auto_pad = \"SAME_UPPER\"") },
  { "a kernel with holes stays", PAD, 2, "the kernel has holes", 0,
    OPSET ("17") IMAGE PADDED ("x", "-inf") POOL (", dilations = [2, 2]") },
  { "pads as large as the kernel stay", PAD, 2, "not below the kernel's size", 0,
    OPSET ("17") IMAGE PADDED ("x", "-inf") "y = MaxPool <kernel_shape = [1, 2]> (q) }" },
  { "pads as large as the kernel of AveragePool stay", PAD, 2, "not below the kernel's size", 0,
    OPSET ("17") IMAGE PADDED ("x", "0.0") "y = AveragePool <kernel_shape = [2, 1]> (q) }" },
  { "windows that an empty axis would have stay", PAD, 2, "where there are no elements", 0,
    OPSET ("17") "(float[1,2,m,6] x) => (float[1,2,h,w] y) { " PADDED (
        "x", "-inf") "y = MaxPool <kernel_shape = [2, 3]> (q) }" },
  { "pads along channels stay", PAD, 2, "along batch or channels", 0,
    OPSET (
        "17") "(float[n,2,5,6] x) => (float[n,3,h,w] y) { f = Constant <value = float {-inf}> ()  p "
              "= Constant <value = int64[8] {0, 1, 1, 1, 0, 0, 1, 1}> ()  q = Pad (x, p, f)  " POOL (
                  "") },
  { "negative pads stay", PAD, 2, "a pad is negative", 0,
    OPSET (
        "17") "(float[n,2,5,6] x) => (float[n,2,h,w] y) { f = Constant <value = float {-inf}> ()  p "
              "= Constant <value = int64[8] {0, 0, -1, 1, 0, 0, 1, 1}> ()  q = Pad (x, p, f)  " POOL (
                  "") },
  { "padding that repeats the edge stays", PAD, 2, "not one constant number", 0,
    OPSET ("17") IMAGE
    "p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> ()  q = Pad <mode = "
    "\"edge\"> (x, p)  " POOL ("") },
  { "padding by a number that is computed stays", PAD, 2, "not one constant number", 0,
    OPSET (
        "17") "(float[n,2,5,6] x, float f) => (float[n,2,h,w] y) { p = Constant <value = int64[8] {0, "
              "0, 1, 1, 0, 0, 1, 1}> ()  q = Pad (x, p, f)  " POOL ("") },

  { "Gelu by Tanh is fused as such", ACTIVATION, 1,
    "approximate is tanh, the fused operator is exact", 1e-5,
    OPSET ("20") PRODUCT ("float") "y = Gelu <approximate = \"tanh\"> (c) }" },
  { "Gelu by Erf is not fused as that by Tanh", ACTIVATION, 1, NULL, 1e-5,
    OPSET ("20") PRODUCT ("float") "y = Gelu (c) }" },
  { "Gelu by Tanh in double precision stays", ACTIVATION, 2, "for float only", 1e-9,
    OPSET ("20") PRODUCT ("double") "y = Gelu <approximate = \"tanh\"> (c) }" },

  { "a residual that is carried on is one operator with its normalization", RESIDUAL, 2, NULL, 1e-5,
    OPSET ("17") NORMED CARRIED ("") },
  { "the sum may be read by a branch", RESIDUAL, 4, NULL, 1e-5,
    OPSET ("17") "(float[n,6] x, float[n,6] z, float[6] G, float[6] B, bool q) => (float[n,6] y, "
                 "float[n,6] w) { s = Add (x, z)  y = LayerNormalization (s, G, B)  w = If (q) "
                 "<then_branch = t () => (float[n,6] a) { a = Neg (s) }, else_branch = f () => "
                 "(float[n,6] b) { b = Exp (x) }> }" },
  { "a normalization over two axes stays", RESIDUAL, 3, "not over the last axis alone", 1e-5,
    OPSET ("17") "(float[n,3,6] x, float[n,3,6] z, float[3,6] G, float[3,6] B) => (float[n,3,6] y, "
                 "float[n,3,6] s) { " CARRIED (" <axis = 1>") },
  { "a normalization whose mean is wanted stays", RESIDUAL, 2, "mean or deviation are wanted", 1e-5,
    OPSET (
        "17") "(float[n,6] x, float[n,6] z, float[6] G, float[6] B) => (float[n,6] y, float[n,1] "
              "m, float[n,6] s) { s = Add (x, z)  y, m = LayerNormalization (s, G, B) }" },
  { "summands of two shapes stay", RESIDUAL, 3, "do not provably have one shape", 1e-5,
    OPSET ("17") "(float[n,3,6] x, float[3,6] z, float[6] G, float[6] B) => (float[n,3,6] y, "
                 "float[n,3,6] s) { " CARRIED ("") },
  { "a scale that is computed from the sum stays", RESIDUAL, 4, "there from the start", 1e-5,
    OPSET (
        "17") "(float[6] x, float[6] z, float[6] B) => (float[6] y, float[6] s) { s = Add (x, z)  g = "
              "Abs (s)  v = LayerNormalization (s, g, B)  y = Mul (v, s) }" },
  { "double precision stays", RESIDUAL, 3, "for float only", 1e-9,
    OPSET ("17") "(double[n,6] x, double[n,6] z, double[6] G, double[6] B) => (double[n,6] y, "
                 "double[n,6] s) { " CARRIED ("") },

  { "keys and values that are repeated for groups of heads are shared", HEADS, 1, NULL, 1e-5,
    OPSET ("17") GQA SHAPES REPEAT ("K", "k") REPEAT ("V", "v") ATTEND },
  { "the standard operator reads fewer heads as it is", HEADS, 1, NULL, 1e-5,
    OPSET ("23") GQA SHAPES REPEAT ("K", "k") REPEAT ("V", "v") ATTEND },
  { "heads that are gathered again and again are shared", HEADS, 1, NULL, 1e-5,
    OPSET ("17") GQA SHAPES
    "i = Constant <value = int64[4] {0, 0, 1, 1}> ()  K = Gather <axis = 1> (k, "
    "i)  V = Gather <axis = 1> (v, i)  " ATTEND },
  { "a Concat of one value with itself repeats, a Tile too", HEADS, 1, NULL, 1e-5,
    OPSET ("17") GQA SHAPES
    "Ku = Unsqueeze (k, two)  Ke = Concat <axis = 2> (Ku, Ku)  K = Reshape (Ke, "
    "four)  Vu = Unsqueeze (v, two)  Ve = Tile (Vu, five)  V = Reshape (Ve, four)  " ATTEND },
  { "heads in turns are no groups", HEADS, 5, NULL, 1e-5,
    OPSET ("17") GQA SHAPES
    "i = Constant <value = int64[4] {0, 1, 0, 1}> ()  K = Gather <axis = 1> (k, "
    "i)  V = Gather <axis = 1> (v, i)  " ATTEND },
  { "keys alone that are repeated stay", HEADS, 7, "only one of keys and values", 1e-5,
    OPSET (
        "17") "(float[n,4,3,8] q, float[n,2,5,8] k, float[n,4,5,8] v) => (float[n,4,3,8] y) { " SHAPES
        REPEAT ("K", "k") "V = Neg (v)  " ATTEND },
  { "keys that are repeated as a whole, not head by head, stay", HEADS, 9, NULL, 1e-5,
    OPSET ("17") GQA SHAPES AT (
        "one",
        1) "five2 = Constant <value = int64[5] {1, 2, 1, 1, 1}> ()  Ku = "
           "Unsqueeze (k, one)  Ke = Expand (Ku, five2)  K = Reshape (Ke, four)  Vu = Unsqueeze (v, "
           "one)  Ve = Expand (Vu, five2)  V = Reshape (Ve, four)  " ATTEND },

  { "the largest of one element without its axis is a Squeeze", ONE, 1, NULL, 0,
    OPSET ("17") ONE_IN ("[n,4]") "y = ReduceMax <axes = [-2], keepdims = 0> (x) }" },
  { "axes by input are dropped", ONE, 1, NULL, 1e-6,
    OPSET (
        "18") "(float[1,n,1] x) => (float[n] y) { a = Constant <value = int64[2] {-1, 0}> ()  y = "
              "ReduceMean <keepdims = 0> (x, a) }" },
  { "axes are an attribute of Squeeze before opset 13", ONE, 1, NULL, 1e-6,
    OPSET ("11") ONE_IN ("[n,4]") "y = ReduceSum <axes = [1], keepdims = 0> (x) }" },
  { "a norm of one element is its absolute value", ONE, 1, NULL, 0,
    OPSET ("17") ONE_IN ("[n,1,4]") "y = ReduceL1 <axes = [1]> (x) }" },
  { "a norm that drops its axis stays", ONE, 1, "the reduction drops its axes", 0,
    OPSET ("17") ONE_IN ("[n,4]") "y = ReduceL1 <axes = [1], keepdims = 0> (x) }" },
  { "the logarithm of a sum of exponentials stays", ONE, 1, NULL, 1e-6,
    OPSET ("17") ONE_IN ("[n,1,4]") "y = ReduceLogSumExp <axes = [1]> (x) }" },
  { "a reduction over all axes without a list stays", ONE, 1, "not known, or none", 0,
    OPSET ("17") "(float[1,1] x) => (float y) { y = ReduceMax <keepdims = 0> (x) }" },
  { "an axis that may have more elements stays", ONE, 1, "is known to have one element", 0,
    OPSET (
        "17") "(float[n,m,4] x) => (float[n,4] y) { y = ReduceMax <axes = [1], keepdims = 0> (x) }" },
  { "squares of integers stay", ONE, 1, "may overflow", 0,
    OPSET ("17") "(int32[n,1,4] x) => (int32[n,1,4] y) { y = ReduceSumSquare <axes = [1]> (x) }" },
};

static void
compare_runs (const Case *c, IrModel *original, IrModel *model, gboolean adversarial)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autoptr (GHashTable) inputs = test_inputs (original, rand, adversarial);
  g_autoptr (IrRun) before = test_run (original, inputs, "ref");
  g_autoptr (IrRun) after = test_run (model, inputs, "ref");
  g_autoptr (IrRun) fast = test_run (model, inputs, "cpu");
  g_autofree char *difference = test_compare (original, before, model, after, c->rtol);
  g_autofree char *other = test_compare (original, before, model, fast, MAX (c->rtol, 1e-5));

  g_assert_cmpstr (difference, ==, NULL);
  g_assert_cmpstr (other, ==, NULL);
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (IrModel) original = NULL;
  g_autoptr (IrModel) model = test_rewrite (c->text, c->passes, c->n_nodes, c->reason, &original);

  compare_runs (c, original, model, FALSE);
  if (c->rtol == 0)
    compare_runs (c, original, model, TRUE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_set_nonfatal_assertions ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/catalogue/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  return g_test_run ();
}
