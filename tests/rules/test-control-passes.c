/* Passes that move or copy nodes: values before and after on both back ends, on NaN and infinities
 * too, undo and redo, text round trip; a second run changes nothing. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include "core/ir/dump.h"
#include "core/ir/node-prop.h"

#include <string.h>

typedef struct
{
  const char *name;
  const char *passes; /* and options that are set */
  guint n_steps;      /* in all iterations */
  int n_nodes;        /* counted, after; -1: not looked at */
  const char *text;
  const char *why; /* (nullable) part of a refusal */
} Case;

#define IO        "(float[n,4] x) => (float[n,4] y) "
#define TWO       "(float[n,4] x) => (float[n,4] y, float[n,4] z) "
#define TRUE_C    "c = Constant <value = bool {1}> ()  "
#define FALSE_C   "c = Constant <value = bool {0}> ()  "
#define NUMBER(N) "m = Constant <value = int64 {" #N "}> ()  "
#define CONTROL   "simplify-control-flow"
#define BODY(STATE)                                                                                \
  "<body = b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t" STATE ") "
#define HOIST         "hoist-invariants"
#define ALIKE         "hoist-branches"
#define SINK          "sink-into-branches"
#define CONVERT       "convert-branches"
#define BATCH         "batch-loops"
#define ROWS_OF(N)    "(float[" #N ",4] x, float[4,4] w) => (float[" #N ",4] y) { " NUMBER (N)
#define EACH          "y = Loop (m, ) <body = b (int64 i, bool go) => (bool more, float[4] r) { " GO_ON
#define SCANNED       "(float[5,4] x, float[4,4] w, float[4] v) => (float[5,4] y) { y = Scan (x) <num_scan_inputs = 1, "
#define CHOSEN        "(float[3,4] x, bool c) => (float[3,4] y) { y = If (c) "
#define CHOSEN_TWO    "(float[3,4] x, bool c) => (float[3,4] y, float[3,4] z) { y, z = If (c) "
#define MANY          "(float[256,256] x, bool[1] c) => (float[256,256] y) { "
#define PUSH          "push-transposes"
#define T(OUT, IN)    OUT " = Transpose <perm = [0, 3, 1, 2]> (" IN ")  "
#define BACK(OUT, IN) OUT " = Transpose <perm = [0, 2, 3, 1]> (" IN ")  "
#define MAPS          "(float[n,3,4,5] x) => (float[n,3,4,5] y) "
#define INLINE        "inline-functions"
#define MERGE         "merge-loops"
#define UNROLL        "unroll-loops"
#define BY(N)         UNROLL " unroll-loops.by=" #N
#define PEEL(RANGE)   UNROLL " unroll-loops.peel=" RANGE
/* carries s, reads the number, and stacks rows of a known size */
#define COUNTING                                                                                   \
  BODY (", float[4] p")                                                                            \
  "{ " GO_ON "f = Cast <to = 1> (i)  a = Tanh (s)  t = Add (a, f)  "                               \
  "ax = Constant <value_ints = [0]> ()  p = ReduceMax <keepdims = 0> (t, ax) }> }"
#define COUNTED "(float[3,4] x) => (float[3,4] y, float[k,4] z) { "
#define ENDED_BY(CONDITION)                                                                        \
  IO "{ three = Constant <value_int = 3> ()  " TRUE_C "y = Loop (, c, x) " BODY (                  \
      "") "{ f = Cast <to = 1> (i)  t = Sub (s, f)  more = " CONDITION " }> }"
#define ADDS                                                                                       \
  "body = b (float[4] s, float[4] e) => (float[4] t, float[4] r) { t = Add (s, e)  r = Mul (t, e) }"
#define MULS                                                                                       \
  "body = b2 (float[4] s, float[4] e) => (float[4] t, float[4] r) { t = Mul (s, e)  r = Sub (t, e) }"
#define SCANS                                                                                      \
  "(float[n,4] x, float[n,4] w, float[4] v) => (float[4] y, float[n,4] z, float[4] p, float[n,4] q) "
#define BACK_TOO ", scan_input_directions = [1]"
#define GO_ON    "more = Identity (go)  "

#define SAME                                                                                       \
  "<domain: \"my\", opset_import: [\"\" : 17]> Same (a) => (b) { s = Shape (a)  b = Reshape (a, s) }"
#define FUNCTIONS "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\ng "

static const Case cases[] = {
  /* -- If -- */
  { "a branch that always runs moves out", CONTROL, 1, 2,
    IO "{ " TRUE_C
       "y = If (c) <then_branch = t () => (float[n,4] u) { a = Relu (x)  u = Neg (a) }, "
       "else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" },
  { "the other branch", CONTROL, 1, 1,
    IO "{ " FALSE_C
       "y = If (c) <then_branch = t () => (float[n,4] u) { a = Relu (x)  u = Neg (a) }, "
       "else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" },
  { "a branch that gives what it captures leaves an Identity for the output", CONTROL, 1, -1,
    IO "{ " TRUE_C "y = If (c) <then_branch = t () => (float[n,4] u) { u = Identity (x) }, "
       "else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" },
  { "names that would hide others are replaced", CONTROL, 1, -1,
    "(float[n,4] x, bool q) => (float[n,4] y, float[n,4] z) { " TRUE_C
    "h = If (c) <then_branch = t () => (float[n,4] u) { a = Relu (x)  u = Neg (a) }, "
    "else_branch = e () => (float[n,4] v) { v = Exp (x) }>  "
    "z = If (q) <then_branch = t2 () => (float[n,4] u) { a = Abs (x)  u = Neg (a) }, "
    "else_branch = e2 () => (float[n,4] a) { a = Floor (x) }>  y = Ceil (h) }" },
  { "an If in an If", CONTROL, 2, 2,
    IO "{ " TRUE_C "y = If (c) <then_branch = t () => (float[n,4] u) { a = Relu (x)  "
       "u = If (c) <then_branch = t2 () => (float[n,4] w) { w = Neg (a) }, "
       "else_branch = e2 () => (float[n,4] w) { w = Exp (a) }> }, "
       "else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" },
  { "two outputs that are one value", CONTROL, 1, 2,
    TWO "{ " TRUE_C "y, z = If (c) <then_branch = t () => (float[n,4] u, float[n,4] u) "
        "{ u = Neg (x) }, else_branch = e () => (float[n,4] v, float[n,4] w) "
        "{ v = Exp (x)  w = Relu (x) }> }" },
  { "initializers of a branch move too", CONTROL, 1, 1,
    IO "{ " TRUE_C "y = If (c) <then_branch = t () => (float[n,4] u) { k = Constant <value = "
       "float[4] {1.5, 2.5, -0.0, 3.0}> ()  u = Mul (x, k) }, "
       "else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" },
  { "random branches stay", CONTROL, 0, -1,
    IO "{ " TRUE_C "y = If (c) <then_branch = t () => (float[n,4] u) { r = RandomUniformLike (x)  "
       "u = Add (x, r) }, else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" },
  { "a condition that is not known stays", CONTROL, 0, -1,
    "(float[n,4] x, bool c) => (float[n,4] y) { "
    "y = If (c) <then_branch = t () => (float[n,4] u) { u = Neg (x) }, "
    "else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" },
  { "outputs of branches that nothing uses go", CONTROL, 1, -1,
    "(float[n,4] x, bool c) => (float[n,4] y) { "
    "d, y = If (c) <then_branch = t () => (float[n,4] d1, float[n,4] u) { d1 = Exp (x)  u = Neg (x) }, "
    "else_branch = e () => (float[n,4] v, float[n,4] w) { w = Exp (x)  v = Abs (x) }> }" },
  /* -- Loop -- */
  { "a Loop of no iterations is its initial value", CONTROL, 1, -1,
    IO "{ " NUMBER (0) TRUE_C
    "a = Relu (x)  l = Loop (m, c, a) " BODY ("") "{ " GO_ON "t = Exp (s) }>  y = Neg (l) }" },
  { "a Loop whose condition is false never runs", CONTROL, 1, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { " FALSE_C
    "a = Relu (x)  l = Loop (m, c, a) " BODY ("") "{ " GO_ON "t = Exp (s) }>  y = Neg (l) }" },
  { "a negative number of iterations is none", CONTROL, 1, -1,
    IO "{ " NUMBER (-3) "a = Relu (x)  l = Loop (m, , a) " BODY (
        "") "{ " GO_ON "t = Exp (s) }>  y = Neg (l) }" },
  { "what a Loop of no iterations stacks is empty", CONTROL, 1, -1,
    "(float[n,4] x) => (float[n,4] y, float[k,2] z) { " NUMBER (0) TRUE_C
    "a = Relu (x)  l, z = Loop (m, c, a) " BODY (
        ", float[2] p") "{ " GO_ON "t = Exp (s)  "
                        "p = Constant <value = float[2] {1.0, 2.0}> () }>  y = Neg (l) }" },
  { "three iterations are three copies", CONTROL, 1, -1,
    IO "{ " NUMBER (3) TRUE_C
    "y = Loop (m, c, x) " BODY ("") "{ " GO_ON "a = Mul (s, s)  t = Sub (a, x) }> }" },
  { "without a condition the body may end the loop, too", CONTROL, 0, -1,
    IO "{ " NUMBER (2) "y = Loop (m, , x) " BODY ("") "{ more = Constant <value = bool {0}> ()  "
                                                      "t = Add (s, s) }> }" },
  { "without a condition that is always true", CONTROL, 1, -1,
    IO "{ " NUMBER (2) "y = Loop (m, , x) " BODY ("") "{ " GO_ON "t = Add (s, s) }> }" },
  { "the iteration number and captured values", CONTROL, 1, -1,
    IO "{ " NUMBER (3) TRUE_C "w = Abs (x)  y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON "f = Cast <to = 1> (i)  a = Add (s, f)  t = Mul (a, w) }> }" },
  { "what is stacked", CONTROL, 1, -1,
    "(float[n,4] x) => (float[n,4] y, float[k,n,4] z) { " NUMBER (3) TRUE_C
    "y, z = Loop (m, c, x) " BODY (", float[n,4] p") "{ " GO_ON
                                                     "t = Add (s, x)  p = Abs (s) }> }" },
  { "one iteration that ends the loop itself", CONTROL, 1, -1,
    "(float[n,4] x) => (float[n,4] y, float[k,n,4] z) { " NUMBER (1) TRUE_C
    "y, z = Loop (m, c, x) " BODY (
        ", float[n,4] p") "{ q = ReduceSum <keepdims = 0> (s)  "
                          "zero = Constant <value = float {0.0}> ()  more = Less (q, zero)  t = Add (s, x)  "
                          "p = Abs (s) }> }" },
  { "carried values that change places", CONTROL, 1, -1,
    TWO "{ " NUMBER (3) TRUE_C
    "a = Relu (x)  y, z = Loop (m, c, x, a) <body = b (int64 i, bool go, "
    "float[n,4] s, float[n,4] r) => (bool more, float[n,4] r2, float[n,4] s2) { " GO_ON
    "r2 = Identity (r)  s2 = Neg (s) }> }" },
  { "a Loop in a Loop", CONTROL, 2, -1,
    IO "{ " NUMBER (2) TRUE_C "y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON
            "t = Loop (m, c, s) <body = b2 (int64 i2, bool go2, float[n,4] s2) => (bool more2, "
            "float[n,4] t2) { more2 = Identity (go2)  t2 = Add (s2, s) }> }> }" },
  { "an If inside the copies keeps its captures", CONTROL, 1, -1,
    "(float[n,4] x, bool q) => (float[n,4] y) { " NUMBER (2) TRUE_C "y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON
            "a = Abs (s)  t = If (q) <then_branch = tt () => (float[n,4] u) { u = Add (a, x) }, "
            "else_branch = ee () => (float[n,4] v) { b2 = Neg (s)  v = Mul (b2, a) }> }> }" },
  { "a condition that may end the loop stays", CONTROL, 0, -1,
    IO "{ " NUMBER (3) TRUE_C "y = Loop (m, c, x) " BODY (
        "") "{ q = ReduceSum <keepdims = 0> (s)  "
            "zero = Constant <value = float {0.0}> ()  more = Less (q, zero)  t = Relu (s) }> }" },
  { "too many copies stay a Loop", CONTROL, 0, -1,
    IO "{ " NUMBER (1000) TRUE_C "y = Loop (m, c, x) " BODY ("") "{ " GO_ON "t = Relu (s) }> }" },
  { "what a Loop stacks for nobody goes", CONTROL, 1, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { " TRUE_C "y, z = Loop (m, c, x) " BODY (
        ", float[n,4] p") "{ " GO_ON "t = Add (s, x)  p = Abs (s) }> }" },
  { "a condition that is false at the start beats a number of iterations", CONTROL, 1, -1,
    "(float[n,4] x) => (float[n,4] y, float[k,n,4] z) { " NUMBER (3) FALSE_C
    "y, z = Loop (m, c, x) " BODY (", float[n,4] p") "{ " GO_ON
                                                     "t = Add (s, x)  p = Abs (s) }> }" },
  { "an empty stack of unknown shape stays a Loop", CONTROL, 0, -1,
    "(float[n,4] x, float[q,4] w) => (float[n,4] y, float[k,q,4] z) { " NUMBER (0) TRUE_C
    "y, z = Loop (m, c, x) " BODY (", float[q,4] p") "{ " GO_ON
                                                     "t = Add (s, x)  p = Abs (w) }> }" },
  { "a value of the body that is output twice and used inside", CONTROL, 1, -1,
    "(float[n,4] x) => (float[n,4] y, float[k,n,4] z, float[j,n,4] w) { " NUMBER (2) TRUE_C
    "y, z, w = Loop (m, c, x) " BODY (", float[n,4] t, float[n,4] t") "{ " GO_ON
                                                                      "t = Add (s, x) }> }" },
  { "what a Loop gives is read and is an output of the graph", CONTROL, 1, -1,
    TWO "{ " NUMBER (2) TRUE_C "y = Loop (m, c, x) " BODY ("") "{ " GO_ON
                                                               "t = Mul (s, x) }>  z = Neg (y) }" },
  { "a carried value that the body passes through", CONTROL, 1, -1,
    TWO "{ " NUMBER (3) TRUE_C
    "y, z = Loop (m, c, x, x) <body = b (int64 i, bool go, "
    "float[n,4] s, float[n,4] r) => (bool more, float[n,4] t, float[n,4] r) { " GO_ON
    "t = Add (s, r) }> }" },
  { "names of a body that the graph has too, further on", CONTROL, 1, -1,
    "(float[n,4] x, bool c2) => (float[n,4] y, float[n,4] z) { " NUMBER (2) TRUE_C
    "l = Loop (m, c, x) " BODY (
        "") "{ " GO_ON
            "a = Exp (s)  t = Sub (a, x) }>  y = Neg (l)  z = If (c2) <then_branch = tb () => "
            "(float[n,4] a) { a = Abs (y) }, else_branch = eb () => (float[n,4] t) { t = Relu (y) }>  "
            "}" },
  { "an If with one branch that gives what both outputs are", CONTROL, 1, -1,
    TWO "{ " FALSE_C "y, z = If (c) <then_branch = tb () => (float[n,4] p, float[n,4] q) "
        "{ p = Neg (x)  q = Abs (x) }, else_branch = eb () => (float[n,4] x2, float[n,4] x2) "
        "{ x2 = Identity (x) }> }" },
  { "an overridable condition is not constant", CONTROL, 0, -1,
    "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[n,4] x, bool c) => (float[n,4] y) "
    "<bool c = {1}> { y = If (c) <then_branch = t () => (float[n,4] u) { u = Neg (x) }, "
    "else_branch = e () => (float[n,4] v) { v = Exp (x) }> }" },
  /* -- invariants -- */
  { "what an iteration does not change moves out", HOIST, 2, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { " TRUE_C "w = Abs (x)  y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON "a = Exp (w)  b = Neg (a)  t = Add (s, b) }> }" },
  { "constants move along", HOIST, 1, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { " TRUE_C "y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON
            "k = Constant <value = float {2.5}> ()  a = Mul (x, k)  t = Add (s, a) }> }" },
  { "out of two loops", HOIST, 2, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { " TRUE_C "y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON
            "t = Loop (m, c, s) <body = b2 (int64 i2, bool go2, float[n,4] s2) => (bool more2, "
            "float[n,4] t2) { more2 = Identity (go2)  a = Exp (x)  t2 = Add (s2, a) }> }> }" },
  { "an integer division may fail and stays", HOIST, 0, -1,
    "(float[n,4] x, int64[4] v, int64 m) => (float[n,4] y) { " TRUE_C "y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON "a = Div (v, v)  f = Cast <to = 1> (a)  t = Add (s, f) }> }" },
  { "a float division does not", HOIST, 1, -1,
    "(float[n,4] x, float[4] v, int64 m) => (float[n,4] y) { " TRUE_C
    "y = Loop (m, c, x) " BODY ("") "{ " GO_ON "a = Div (v, v)  t = Add (s, a) }> }" },
  { "what may fail stays where no iteration may run", HOIST, 0, -1,
    "(float[n,4] x, int64[2] v, int64 m) => (float[n,4] y) { " TRUE_C "w = Abs (v)  "
    "y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON
            "r = Reshape (x, w)  f = ReduceSum <keepdims = 0> (r)  t = Add (s, f) }> }" },
  { "an output of the body stays in it", HOIST, 0, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { " TRUE_C
    "y = Loop (m, c, x) " BODY ("") "{ " GO_ON "t = Exp (x) }> }" },
  { "names of siblings are not hidden", HOIST, 2, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y, float[n,4] z) { " TRUE_C "y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON "a = Exp (x)  t = Add (s, a) }>  z = Loop (m, c, x) <body = b2 (int64 i, "
            "bool go, float[n,4] s) => (bool more, float[n,4] t) { " GO_ON
            "a = Abs (x)  t = Sub (s, a) }> }" },
  { "out of a Scan", HOIST, 1, -1,
    "(float[n,4] x, float[4] v) => (float[4] y, float[n,4] z) { k = Abs (v)  y, z = Scan (v, x) "
    "<num_scan_inputs = 1, body = b (float[4] s, float[4] e) => (float[4] t, float[4] r) { "
    "w = Exp (k)  t = Add (s, e)  r = Mul (t, w) }> }" },
  /* -- out of branches -- */
  { "what both branches compute moves out", ALIKE, 2, 5,
    CHOSEN "<then_branch = t () => (float[3,4] u) { a = Exp (x)  b = Neg (a)  u = Abs (b) }, "
           "else_branch = e () => (float[3,4] v) { d = Exp (x)  f = Neg (d)  v = Relu (f) }> }" },
  { "operands in the other order, and equal constants", ALIKE, 1, -1,
    CHOSEN "<then_branch = t () => (float[3,4] u) { k = Constant <value = float {2.5}> ()  a = Mul (x, k)  "
           "u = Abs (a) }, else_branch = e () => (float[3,4] v) { k2 = Constant <value = float {2.5}> ()  "
           "a2 = Mul (k2, x)  v = Exp (a2) }> }" },
  { "constants that differ in a bit do not", ALIKE, 0, -1,
    CHOSEN "<then_branch = t () => (float[3,4] u) { k = Constant <value = float {0.0}> ()  a = Mul (x, k)  "
           "u = Abs (a) }, else_branch = e () => (float[3,4] v) { k2 = Constant <value = float {-0.0}> ()  "
           "a2 = Mul (x, k2)  v = Exp (a2) }> }" },
  { "nor do operands of a difference", ALIKE, 0, -1,
    "(float[3,4] x, float[3,4] w, bool c) => (float[3,4] y) { y = If (c) <then_branch = t () => "
    "(float[3,4] u) { a = Sub (x, w)  u = Abs (a) }, else_branch = e () => (float[3,4] v) "
    "{ b = Sub (w, x)  v = Exp (b) }> }" },
  { "an attribute that differs", ALIKE, 0, -1,
    CHOSEN "<then_branch = t () => (float[3,4] u) { a = Softmax <axis = 0> (x)  u = Abs (a) }, "
           "else_branch = e () => (float[3,4] v) { b = Softmax <axis = 1> (x)  v = Exp (b) }> }" },
  { "an output that both give is no output any more", ALIKE, 1, -1,
    CHOSEN_TWO "<then_branch = t () => (float[3,4] a, float[3,4] u) { a = Exp (x)  u = Neg (a) }, "
               "else_branch = e () => (float[3,4] b, float[3,4] v) { b = Exp (x)  v = Abs (b) }> }" },
  { "and an If without outputs goes", ALIKE, 1, 1,
    CHOSEN "<then_branch = t () => (float[3,4] u) { u = Exp (x) }, "
           "else_branch = e () => (float[3,4] v) { v = Exp (x) }> }" },
  { "what one branch gives and the other reads stays", ALIKE, 0, -1,
    CHOSEN "<then_branch = t () => (float[3,4] u) { u = Exp (x) }, "
           "else_branch = e () => (float[3,4] v) { b = Exp (x)  v = Abs (b) }> }" },
  { "another place among the outputs stays", ALIKE, 0, -1,
    CHOSEN_TWO "<then_branch = t () => (float[3,4] a, float[3,4] u) { a = Exp (x)  u = Neg (x) }, "
               "else_branch = e () => (float[3,4] v, float[3,4] b) { b = Exp (x)  v = Abs (x) }> }" },
  { "what may fail moves too, as one of them runs", ALIKE, 1, -1,
    "(float[3,k] x, float[l,4] w, bool c) => (float[3,4] y) { y = If (c) <then_branch = t () => "
    "(float[3,4] u) { a = MatMul (x, w)  u = Abs (a) }, else_branch = e () => (float[3,4] v) "
    "{ b = MatMul (x, w)  v = Exp (b) }> }" },
  { "draws stay", ALIKE, 0, -1,
    CHOSEN "<then_branch = t () => (float[3,4] u) { a = RandomUniformLike (x)  u = Abs (a) }, "
           "else_branch = e () => (float[3,4] v) { b = RandomUniformLike (x)  v = Neg (b) }> }" },
  { "out of two Ifs", ALIKE, 2, -1,
    "(float[3,4] x, bool c, bool d) => (float[3,4] y) { y = If (c) <then_branch = t () => (float[3,4] u) "
    "{ u = If (d) <then_branch = t2 () => (float[3,4] o) { a = Exp (x)  o = Neg (a) }, else_branch = e2 () "
    "=> (float[3,4] p) { a2 = Exp (x)  p = Abs (a2) }> }, else_branch = e () => (float[3,4] v) "
    "{ a3 = Exp (x)  v = Relu (a3) }> }" },
  /* -- into branches -- */
  { "what one branch reads moves in, and what leads there", SINK, 2, -1,
    "(float[3,4] x, bool c) => (float[3,4] y) { a = Exp (x)  b = Neg (a)  y = If (c) <then_branch = t () "
    "=> (float[3,4] u) { u = Abs (b) }, else_branch = e () => (float[3,4] v) { v = Relu (x) }> }" },
  { "what both read stays", SINK, 0, -1,
    "(float[3,4] x, bool c) => (float[3,4] y) { a = Exp (x)  y = If (c) <then_branch = t () "
    "=> (float[3,4] u) { u = Abs (a) }, else_branch = e () => (float[3,4] v) { v = Relu (a) }> }" },
  { "the condition stays", SINK, 0, -1,
    "(float[3,4] x) => (float[3,4] y) { s = ReduceSum <keepdims = 0> (x)  k = Constant <value = float {0.0}> ()  "
    "c = Less (s, k)  y = If (c) <then_branch = t () => (float[3,4] u) { f = Cast <to = 1> (c)  "
    "u = Add (x, f) }, else_branch = e () => (float[3,4] v) { v = Relu (x) }> }" },
  { "an output stays", SINK, 0, -1,
    "(float[3,4] x, bool c) => (float[3,4] y, float[3,4] a) { a = Exp (x)  y = If (c) <then_branch = t () "
    "=> (float[3,4] u) { u = Abs (a) }, else_branch = e () => (float[3,4] v) { v = Relu (x) }> }" },
  { "what a loop inside the branch reads moves into the branch", SINK, 1, -1,
    "(float[n,4] x, int64 m, bool c) => (float[n,4] y) { a = Exp (x)  y = If (c) <then_branch = t () => "
    "(float[n,4] u) { u = Loop (m, , x) " BODY ("") "{ " GO_ON "t = Add (s, a) }> }, "
    "else_branch = e () => (float[n,4] v) { v = Neg (x) }> }" },
  { "never into a loop", SINK, 0, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { a = Exp (x)  y = Loop (m, , x) " BODY (
        "") "{ " GO_ON "t = Add (s, a) }> }" },
  { "through two branches", SINK, 2, -1,
    "(float[3,4] x, bool c, bool d) => (float[3,4] y) { a = Exp (x)  y = If (c) <then_branch = t () => "
    "(float[3,4] u) { u = If (d) <then_branch = t2 () => (float[3,4] o) { o = Neg (a) }, else_branch = "
    "e2 () => (float[3,4] p) { p = Abs (x) }> }, else_branch = e () => (float[3,4] v) { v = Relu (x) }> }" },
  { "draws stay outside", SINK, 0, -1,
    "(float[3,4] x, bool c) => (float[3,4] y) { a = RandomUniformLike (x)  y = If (c) <then_branch = t () "
    "=> (float[3,4] u) { u = Abs (a) }, else_branch = e () => (float[3,4] v) { v = Relu (x) }> }" },
  /* -- choices -- */
  { "small branches are both computed", CONVERT, 1, 3,
    CHOSEN "<then_branch = t () => (float[3,4] u) { u = Exp (x) }, "
           "else_branch = e () => (float[3,4] v) { v = Abs (x) }> }" },
  { "larger ones are not", CONVERT, 0, -1,
    CHOSEN "<then_branch = t () => (float[3,4] u) { a = Exp (x)  b = Neg (a)  u = Exp (b) }, "
           "else_branch = e () => (float[3,4] v) { a = Abs (x)  v = Neg (a) }> }" },
  { "a branch that may fail is not", CONVERT, 0, -1,
    "(int64[4] x, int64[4] w, bool c) => (int64[4] y) { y = If (c) <then_branch = t () => "
    "(int64[4] u) { u = Div (x, w) }, else_branch = e () => (int64[4] v) { v = Abs (x) }> }" },
  { "nor are results of sizes that may differ", CONVERT, 0, -1,
    "(float[3,4] x, float[1,4] w, bool c) => (float[?,4] y) { y = If (c) <then_branch = t () => "
    "(float[3,4] u) { u = Exp (x) }, else_branch = e () => (float[1,4] v) { v = Exp (w) }> }" },
  { "nor a result of fewer axes than the condition", CONVERT, 0, -1,
    "(float x, bool[1] c) => (float y) { y = If (c) <then_branch = t () => (float u) { u = Exp (x) }, "
    "else_branch = e () => (float v) { v = Abs (x) }> }" },
  { "much behind a choice is computed on one side alone", CONVERT, 1, 7,
    MANY "a = MatMul (x, x)  b = Tanh (a)  d = MatMul (x, a2)  a2 = Exp (x)  y = Where (c, b, d) }" },
  { "little is not", CONVERT, 0, -1,
    "(float[16,16] x, bool[1] c) => (float[16,16] y) { a = Neg (x)  b = Abs (x)  y = Where (c, a, b) }" },
  { "nor what others read", CONVERT, 0, -1,
    "(float[256,256] x, bool[1] c) => (float[256,256] y, float[256,256] a) { a = MatMul (x, x)  "
    "y = Where (c, a, x) }" },
  { "nor what a condition of several elements chooses from", CONVERT, 0, -1,
    "(float[256,256] x, bool[256] c) => (float[256,256] y) { a = MatMul (x, x)  y = Where (c, a, x) }" },
  { "nor a side that is made larger", CONVERT, 0, -1,
    "(float[256,256] x, float[256,1] w, bool[1] c) => (float[256,256] y) { a = MatMul (x, x)  b = MatMul (a, w) "
    " y = Where (c, b, x) }" },
  /* -- iterations at once -- */
  { "a Loop that reads part by part is a Scan, and is batched", BATCH, 2, 2,
    ROWS_OF (6) EACH "e = Gather (x, i)  p = MatMul (e, w)  r = Tanh (p) }> }" },
  { "along another axis", BATCH, 2, 2,
    "(float[4,6] x) => (float[6,4] y) { " NUMBER (6) EACH "e = Gather <axis = -1> (x, i)  r = Tanh (e) }> }" },
  { "what an iteration makes of its number, too", BATCH, 2, -1,
    ROWS_OF (6) EACH "e = Gather (x, i)  f = Cast <to = 1> (i)  r = Mul (e, f) }> }" },
  { "part and whole of the same", BATCH, 2, -1,
    "(float[4,4] x) => (float[4,4] y) { " NUMBER (4) EACH "e = Gather (x, i)  r = MatMul (e, x) }> }" },
  { "a reduction of all of a part", BATCH, 2, -1, ROWS_OF (6) EACH "e = Gather (x, i)  s = ReduceMean (e)  r = Sub (e, s) }> }" },
  { "a reduction along the last axis, by an input", BATCH, 2, -1,
    "(float[6,3,4] x) => (float[6,3] y) { " NUMBER (6) "y = Loop (m, ) <body = b (int64 i, bool go) => (bool more, float[3] r) { " GO_ON
    "e = Gather (x, i)  k = Constant <value = int64[1] {-1}> ()  r = ReduceSum <keepdims = 0> (e, k) }> }" },
  { "a reduction that is asked to do nothing", BATCH, 1, -1,
    "(float[6,3] x) => (float[6,3] y) { " NUMBER (6) "y = Loop (m, ) <body = b (int64 i, bool go) => (bool more, float[3] r) { " GO_ON
    "e = Gather (x, i)  r = ReduceSum <noop_with_empty_axes = 1> (e) }> }" },
  { "the part is the result", BATCH, 2, -1, ROWS_OF (6) EACH "e = Gather (x, i)  r = Identity (e) }> }" },
  { "other parts than iterations", BATCH, 0, -1,
    "(float[7,4] x) => (float[6,4] y) { " NUMBER (6) EACH "e = Gather (x, i)  r = Tanh (e) }> }" },
  { "a limit that is not known", BATCH, 0, -1,
    "(float[6,4] x, int64 m) => (float[k,4] y) { mm = Abs (m)  six = Constant <value = int64 {6}> ()  "
    "l = Min (mm, six)  y = Loop (l, ) <body = b (int64 i, bool go) => (bool more, float[4] r) { " GO_ON
    "e = Gather (x, i)  r = Tanh (e) }> }" },
  { "a condition that may end it before", BATCH, 0, -1,
    ROWS_OF (6) "y = Loop (m, ) <body = b (int64 i, bool go) => (bool more, float[4] r) { e = Gather (x, i)  "
    "s = ReduceSum <keepdims = 0> (e)  k = Constant <value = float {1000.0}> ()  more = Less (s, k)  "
    "r = Tanh (e) }> }" },
  { "what is carried and short is written out instead", BATCH, 0, -1,
    "(float[6,4] x, float[4] v) => (float[4] h) { " NUMBER (6) "h = Loop (m, , v) <body = b (int64 i, bool go, "
    "float[4] s) => (bool more, float[4] t) { " GO_ON "e = Gather (x, i)  t = Add (s, e) }> }" },
  { "what is carried and long is a Scan", BATCH, 1, -1,
    "(float[300,4] x, float[4] v) => (float[4] h, float[300,4] y) { " NUMBER (300)
    "h, y = Loop (m, , v) <body = b (int64 i, bool go, float[4] s) => (bool more, float[4] t, float[4] r) { "
    GO_ON "e = Gather (x, i)  t = Add (s, e)  r = Neg (t) }> }" },
  { "no iteration of a Scan waits", BATCH, 1, 3,
    SCANNED "body = b (float[4] e) => (float[4] r) { p = MatMul (e, w)  q = Add (p, v)  r = Relu (q) }> }" },
  { "backwards in and out", BATCH, 1, -1,
    SCANNED "scan_input_directions = [1], scan_output_directions = [1], body = b (float[4] e) => "
            "(float[4] r) { r = Exp (e) }> }" },
  { "backwards in alone", BATCH, 0, -1,
    SCANNED "scan_input_directions = [1], body = b (float[4] e) => (float[4] r) { r = Exp (e) }> }" },
  { "elements of different ranks line up", BATCH, 1, -1,
    "(float[5,3,4] x, float[5] s, float[5,4] t) => (float[5,3,4] y) { y = Scan (x, s, t) <num_scan_inputs = 3, "
    "body = b (float[3,4] e, float f, float[4] g) => (float[3,4] r) { a = Mul (e, f)  r = Add (g, a) }> }" },
  { "a product with a matrix per iteration", BATCH, 1, -1,
    "(float[5,3,4] x, float[5,4,2] u) => (float[5,3,2] y) { y = Scan (x, u) <num_scan_inputs = 2, body = b "
    "(float[3,4] e, float[4,2] f) => (float[3,2] r) { r = MatMul (e, f) }> }" },
  { "a product from the left", BATCH, 1, -1,
    "(float[5,4,2] x, float[3,4] w) => (float[5,3,2] y) { y = Scan (x) <num_scan_inputs = 1, body = b "
    "(float[4,2] e) => (float[3,2] r) { r = MatMul (w, e) }> }" },
  { "a product of two vectors stays", BATCH, 0, -1,
    "(float[5,4] x, float[5,4] u) => (float[5] y) { y = Scan (x, u) <num_scan_inputs = 2, body = b "
    "(float[4] e, float[4] f) => (float r) { r = MatMul (e, f) }> }" },
  { "axes are counted one further", BATCH, 1, -1,
    "(float[5,3,4] x) => (float[5,4,3] y) { y = Scan (x) <num_scan_inputs = 1, body = b (float[3,4] e) => "
    "(float[4,3] r) { a = Softmax <axis = 0> (e)  b2 = LogSoftmax <axis = -1> (a)  r = Transpose (b2) }> }" },
  { "two parts joined", BATCH, 1, -1,
    "(float[5,3] x, float[5,4] u) => (float[5,7] y) { y = Scan (x, u) <num_scan_inputs = 2, body = b "
    "(float[3] e, float[4] f) => (float[7] r) { r = Concat <axis = 0> (e, f) }> }" },
  { "a part joined with what is the same for all stays", BATCH, 0, -1,
    "(float[5,3] x, float[4] u) => (float[5,7] y) { y = Scan (x) <num_scan_inputs = 1, body = b "
    "(float[3] e) => (float[7] r) { r = Concat <axis = 0> (e, u) }> }" },
  { "an output that is the same for all stays", BATCH, 0, -1,
    "(float[5,4] x, float[4] v) => (float[5,4] y, float[5,4] z) { y, z = Scan (x) <num_scan_inputs = 1, body = b "
    "(float[4] e) => (float[4] r, float[4] q) { r = Exp (e)  q = Neg (v) }> }" },
  { "what is the same for all, and cannot fail, comes along", BATCH, 1, -1,
    "(float[n,4] x, float[4] v) => (float[n,4] y) { y = Scan (x) <num_scan_inputs = 1, body = b "
    "(float[4] e) => (float[4] r) { q = Neg (v)  r = Add (e, q) }> }" },
  { "a state waits", BATCH, 0, -1,
    "(float[5,4] x, float[4] v) => (float[4] h, float[5,4] y) { h, y = Scan (v, x) <num_scan_inputs = 1, body = b "
    "(float[4] s, float[4] e) => (float[4] t, float[4] r) { t = Add (s, e)  r = Exp (e) }> }" },
  { "a limit of Clip that differs by iteration stays", BATCH, 0, -1,
    "(float[5,4] x, float[5] u) => (float[5,4] y) { y = Scan (x, u) <num_scan_inputs = 2, body = b "
    "(float[4] e, float l) => (float[4] r) { c = Clip (e, l)  r = Mul (c, l) }> }" },
  { "a slope of PRelu per row does not", BATCH, 1, -1,
    "(float[n,3,4] x, float[3,1] k) => (float[n,3,4] y) { y = Scan (x) <num_scan_inputs = 1, body = b "
    "(float[3,4] e) => (float[3,4] r) { p = PRelu (e, k)  r = Softmax <axis = 0> (p) }> }" },
  { "two bodies that call their values alike", BATCH, 2, -1,
    "(float[5,4] x, float[5,4] w) => (float[5,4] y, float[5,4] z) { y = Scan (x) <num_scan_inputs = 1, body = b "
    "(float[4] e) => (float[4] r) { a = Exp (e)  r = Neg (a) }>  z = Scan (w) <num_scan_inputs = 1, body = b2 "
    "(float[4] e) => (float[4] r) { a = Abs (e)  r = Exp (a) }> }" },
  { "a loop in a loop, from the inside", BATCH, 4, -1,
    "(float[3,4] x) => (float[3,4] y) { m3 = Constant <value = int64 {3}> ()  y = Loop (m3, ) <body = b (int64 i, "
    "bool go) => (bool more, float[4] r) { " GO_ON "e = Gather (x, i)  m4 = Constant <value = int64 {4}> ()  "
    "r = Loop (m4, ) <body = b2 (int64 i2, bool go2) => (bool more2, float r2) { more2 = Identity (go2)  "
    "e2 = Gather (e, i2)  r2 = Exp (e2) }> }> }" },
  /* -- iterations that are written out -- */
  { "all iterations, with what they stack", UNROLL, 1, -1,
    COUNTED NUMBER (4) "y, z = Loop (m, , x) " COUNTING },
  { "three at once and the rest", BY (3), 1, -1,
    COUNTED NUMBER (7) "y, z = Loop (m, , x) " COUNTING },
  { "three at once without a rest", BY (3), 1, -1,
    COUNTED NUMBER (6) "y, z = Loop (m, , x) " COUNTING },
  { "two at once of an unknown number, under an unknown condition", BY (2), 1, -1,
    "(float[3,4] x, int64 m, bool c) => (float[3,4] y, float[k,4] z) { y, z = Loop (m, c, x) " COUNTING },
  { "two at once in a loop in a loop", BY (2), 2, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { y = Loop (m, , x) " BODY (
        "") "{ " GO_ON
            "t = Loop (m, , s) <body = b2 (int64 i2, bool go2, float[n,4] s2) => (bool more2, "
            "float[n,4] t2) { more2 = Identity (go2)  f = Cast <to = 1> (i2)  e = Cast <to = 1> (i)  "
            "g = Mul (s2, f)  h = Sub (g, e)  t2 = Tanh (h) }> }> }" },
  { "a loop before, copies, a loop after", PEEL ("1..2"), 1, -1,
    COUNTED NUMBER (5) "y, z = Loop (m, , x) " COUNTING },
  { "the first ones", PEEL ("0..1"), 1, -1, COUNTED NUMBER (5) "y, z = Loop (m, , x) " COUNTING },
  { "the last ones, and no more than there are", PEEL ("3..9"), 1, -1,
    COUNTED NUMBER (5) "y, z = Loop (m, , x) " COUNTING },
  { "of two loops the one that is named", UNROLL " unroll-loops.loop=y", 1, -1,
    TWO "{ " NUMBER (2) "y = Loop (m, , x) " BODY (
        "") "{ " GO_ON "t = Neg (s) }>  z = Loop (m, , x) "
            "<body = b2 (int64 i2, bool go2, float[n,4] s2) => (bool more2, float[n,4] t2) { more2 = Identity (go2)  "
            "t2 = Abs (s2) }> }" },
  { "iterations that are not there", PEEL ("7..8"), 0, -1,
    COUNTED NUMBER (5) "y, z = Loop (m, , x) " COUNTING, "no such iterations" },
  { "fewer than there are to be copies", BY (3), 0, -1,
    COUNTED NUMBER (2) "y, z = Loop (m, , x) " COUNTING, "fewer times" },
  { "a condition that may end it", BY (3), 0, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { y = Loop (m, , x) " BODY (
        "") "{ three = Constant <value_int = 3> ()  more = Less (i, three)  t = Neg (s) }> }",
    "may end it" },
  { "more nodes than are allowed", UNROLL " unroll-loops.nodes=8", 0, -1,
    COUNTED NUMBER (4) "y, z = Loop (m, , x) " COUNTING, "too many nodes" },
  { "an unknown number of iterations is not written out", UNROLL, 0, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y) { y = Loop (m, , x) " BODY ("") "{ " GO_ON
                                                                               "t = Neg (s) }> }",
    "its limit m is no constant" },
  { "nor one that a condition ends", UNROLL, 0, -1,
    "(float[n,4] x) => (float[n,4] y) { " NUMBER (4) "y = Loop (m, , x) " BODY (
        "") "{ three = Constant <value = float {3}> ()  q = ReduceSum <keepdims = 0> (s)  "
            "more = Less (q, three)  t = Neg (s) }> }",
    "the condition more that its body gives" },
  { "but one that a counter ends", UNROLL, 1, -1, ENDED_BY ("Less (i, three)") },
  { "three at once until a counter ends it", BY (3), 1, -1, ENDED_BY ("LessOrEqual (i, three)") },
  { "a part of what a counter ends", PEEL ("1..2"), 1, -1, ENDED_BY ("Greater (three, i)") },
  { "a few rounds that a counter ends are written out", CONTROL, 1, -1,
    ENDED_BY ("Less (i, three)") },
  /* -- loops that become one -- */
  { "two Scans over the same are one, and cut it once", MERGE, 1, -1,
    SCANS "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
          ">  p, q = Scan (v, x) <num_scan_inputs = 1, " MULS "> }" },
  { "two Scans over as many slices, in other directions", MERGE, 1, -1,
    SCANS "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
          ">  p, q = Scan (v, w) <num_scan_inputs = 1" BACK_TOO
          ", scan_output_directions = [1], " MULS "> }" },
  { "two Scans along other axes of the same size", MERGE, 1, -1,
    "(float[5,4] x, float[4,5] w, float[4] v) => (float[4] y, float[5,4] z, float[4] p, float[4,5] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  p, q = Scan (v, w) <num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [1], " MULS
    "> }" },
  { "a Scan over what another one gives", MERGE, 1, -1,
    "(float[n,4] x, float[4] v) => (float[4] y, float[4] p, float[n,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  p, q = Scan (v, z) <num_scan_inputs = 1, " MULS "> }" },
  { "a Scan over what another one gives, which is wanted too", MERGE, 1, -1,
    SCANS "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
          ">  p, q = Scan (v, z) <num_scan_inputs = 1, " MULS "> }" },
  { "backward, and put together backward", MERGE, 1, -1,
    SCANS "{ y, z = Scan (v, x) <num_scan_inputs = 1" BACK_TOO
          ", scan_output_directions = [1], " ADDS
          ">  p, q = Scan (v, z) <num_scan_inputs = 1" BACK_TOO ", " MULS "> }" },
  { "along an axis counted from the end", MERGE, 1, -1,
    "(float[n,4] x, float[4] v) => (float[4] y, float[4,n] z, float[4] p, float[n,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, scan_output_axes = [-1], " ADDS
    ">  p, q = Scan (v, z) <num_scan_inputs = 1, scan_input_axes = [1], " MULS "> }" },
  { "three in a row, and beside what the first scans", MERGE, 2, -1,
    "(float[n,4] x, float[4] v) => (float[n,4] y, float[n,4] z) { s1, a = Scan (v, x) "
    "<num_scan_inputs = 1, " ADDS ">  s2, y = Scan (v, a) <num_scan_inputs = 1, " MULS
    ">  z = Scan (a, x, y) <num_scan_inputs = 3, body = b3 (float[4] e, float[4] f, float[4] g) => "
    "(float[4] r) { h = Sub (e, f)  r = Div (h, g) }> }" },
  { "what the first only passes on", MERGE, 1, -1,
    "(float[n,4] x, float[4] v) => (float[4] y, float[4] p, float[n,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, body = b (float[4] s, float[4] e) => (float[4] t, "
    "float[4] s) { t = Add (s, e) }>  p, q = Scan (v, z) <num_scan_inputs = 1, " MULS "> }" },
  { "what the second only passes on", MERGE, 1, -1,
    "(float[n,4] x, float[4] v) => (float[4] y, float[4] p, float[n,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  p, q = Scan (v, z) <num_scan_inputs = 1, body = b2 (float[4] s, float[4] e) => (float[4] e, "
    "float[4] e) { }> }" },
  { "without slices nothing runs", MERGE, 1, -1,
    "(float[n,4] x0, float[4] v) => (float[4] y, float[0,4] z, float[4] p, float[0,4] q) "
    "{ o = Constant <value = int64[1] {0}> ()  x = Slice (x0, o, o, o)  y, z = Scan (v, x) "
    "<num_scan_inputs = 1, " ADDS ">  p, q = Scan (v, z) <num_scan_inputs = 1, " MULS "> }" },
  { "captured values, initializers and graphs inside with equal names", MERGE, 1, -1,
    "(float[n,4] x, float[4] v, bool c) => (float[n,4] y, float[n,4] z) { w = Abs (v)  "
    "y = Scan (x) <num_scan_inputs = 1, body = b (float[4] e) => (float[4] r) { k = Constant <value = "
    "float {2.0}> ()  a = Mul (e, k)  r = If (c) <then_branch = t () => (float[4] u) { d = Add (a, w)  "
    "u = Neg (d) }, else_branch = l () => (float[4] f) { f = Exp (a) }> }>  "
    "z = Scan (x) <num_scan_inputs = 1, body = b2 (float[4] e) => (float[4] r) { k = Constant <value = "
    "float {3.0}> ()  d = Mul (e, k)  r = If (c) <then_branch = t2 () => (float[4] u) { a = Sub (d, w)  "
    "u = Abs (a) }, else_branch = l2 () => (float[4] f) { f = Relu (d) }> }> }" },
  { "the second begins with the final state of the first", MERGE, 0, -1,
    "(float[n,4] x, float[4] v) => (float[n,4] z, float[4] p, float[n,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  p, q = Scan (y, z) <num_scan_inputs = 1, " MULS "> }",
    "only at its end" },
  { "the body of the second captures the final state of the first", MERGE, 0, -1,
    "(float[n,4] x, float[4] v) => (float[n,4] z, float[n,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  q = Scan (z) <num_scan_inputs = 1, body = b2 (float[4] e) => (float[4] r) { r = Add (e, y) }> }",
    "only at its end" },
  { "the body of the second captures the whole of what it scans", MERGE, 0, -1,
    "(float[n,4] x, float[4] v) => (float[n,4] z, float[n,n,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  q = Scan (z) <num_scan_inputs = 1, body = b2 (float[4] e) => (float[n,4] r) { r = Add (e, z) "
    "}> }",
    "the whole of what" },
  { "what the second scans is a state of it too", MERGE, 0, -1,
    "(float[n,4] x, float[4] v) => (float[n,4] p, float[n,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  p, q = Scan (z, z) <num_scan_inputs = 1, body = b2 (float[n,4] s, float[4] e) => "
    "(float[n,4] t, float[4] r) { t = Add (s, e)  r = Neg (e) }> }",
    "the whole of what" },
  { "what the first puts together backward", MERGE, 0, -1,
    SCANS "{ y, z = Scan (v, x) <num_scan_inputs = 1, scan_output_directions = [1], " ADDS
          ">  p, q = Scan (v, z) <num_scan_inputs = 1, " MULS "> }",
    "in another order, or along" },
  { "what the second scans along another axis", MERGE, 0, -1,
    "(float[4,4] x, float[4] v) => (float[4] y, float[4,4] z, float[4] p, float[4,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  p, q = Scan (v, z) <num_scan_inputs = 1, scan_input_axes = [1], " MULS "> }",
    "in another order, or along" },
  { "a node between the two", MERGE, 0, -1,
    SCANS "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
          ">  a = Relu (z)  p, q = Scan (v, a) <num_scan_inputs = 1, " MULS "> }",
    "(Relu) stands between" },
  { "a node between the two beside the direct way", MERGE, 0, -1,
    SCANS "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
          ">  a = Relu (y)  p, q = Scan (a, z) <num_scan_inputs = 1, " MULS "> }",
    "(Relu) stands between" },
  { "a branch between the two", MERGE, 0, -1,
    "(float[n,4] x, bool c, float[4] v) => (float[4] y, float[n,4] z, float[4] p, float[n,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  a = If (c) <then_branch = t () => (float[4] u) { u = Neg (y) }, else_branch = e () => (float[4] "
    "f) { f = Exp (v) }>  p, q = Scan (a, x) <num_scan_inputs = 1, " MULS "> }",
    "(If) stands between" },
  { "other numbers of slices", MERGE, 0, -1,
    "(float[n,4] x, float[m,4] w, float[4] v) => (float[4] y, float[n,4] z, float[4] p, float[m,4] q) "
    "{ y, z = Scan (v, x) <num_scan_inputs = 1, " ADDS
    ">  p, q = Scan (v, w) <num_scan_inputs = 1, " MULS "> }",
    "equally often" },
  { "random bodies stay two", MERGE, 0, -1,
    "(float[n,4] x) => (float[n,4] y, float[n,4] z) { y = Scan (x) <num_scan_inputs = 1, body = b "
    "(float[4] e) => (float[4] r) { k = RandomUniformLike (e)  r = Add (e, k) }>  z = Scan (x) "
    "<num_scan_inputs = 1, body = b2 (float[4] e) => (float[4] r) { r = Neg (e) }> }",
    "draws random" },
  { "a Scan of opset 8 has a batch axis", MERGE, 0, -1,
    "<ir_version: 8, opset_import: [\"\" : 8]>\n"
    "g (float[2,4] v, float[2,3,4] x) => (float[2,4] y, float[2,3,4] z, float[2,4] p, float[2,3,4] q) "
    "{ y, z = Scan (, v, x) <num_scan_inputs = 1, " ADDS ">  p, q = Scan (, v, x) "
    "<num_scan_inputs = 1, " MULS "> }",
    "batch axis" },
  { "two Loops of the same limit", MERGE, 1, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y, float[k,n,4] z, float[n,4] w) { " TRUE_C
    "y, z = Loop (m, c, x) " BODY (
        ", float[n,4] p") "{ " GO_ON "f = Cast <to = 1> (i)  t = Add (s, f)  "
                          "p = Abs (s) }>  w = Loop (m, , x) <body = b2 (int64 i, bool go, float[n,4] s) => (bool more, "
                          "float[n,4] t) { more = Identity (go)  f = Cast <to = 1> (i)  t = Sub (s, f) }> }" },
  { "two Loops of equal constant limits", MERGE, 1, -1,
    TWO "{ " NUMBER (3) TRUE_C "o = Constant <value = int64 {3}> ()  y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON
            "t = Relu (s) }>  z = Loop (o, c, x) <body = b2 (int64 i, bool go, float[n,4] s) "
            "=> (bool more, float[n,4] t) { more = Constant <value = bool {1}> ()  t = Neg (s) }> }" },
  { "a Loop that takes slice i of what another one gives", MERGE, 1, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y, float[n,4] w, float[k,n,4] u) { " TRUE_C
    "y, z = Loop (m, c, x) " BODY (
        ", float[n,4] p") "{ " GO_ON "t = Add (s, x)  p = Abs (s) }>  "
                          "w, u = Loop (m, c, x) <body = b2 (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t, "
                          "float[n,4] r) { " GO_ON
                          "e = Gather (z, i)  t = Sub (s, e)  r = Mul (e, t) }> }" },
  { "a Loop that takes another slice", MERGE, 0, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y, float[n,4] w) { " TRUE_C
    "y, z = Loop (m, c, x) " BODY (
        ", float[n,4] p") "{ " GO_ON "t = Add (s, x)  p = Abs (s) }>  "
                          "w = Loop (m, c, x) <body = b2 (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t) { " GO_ON
                          "o = Sub (i, i)  e = Gather (z, o)  t = Sub (s, e) }> }",
    "the whole of what" },
  { "a Loop that begins where another one ended", MERGE, 0, -1,
    "(float[n,4] x, int64 m) => (float[n,4] w) { " TRUE_C "y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON
            "t = Add (s, x) }>  w = Loop (m, c, y) <body = b2 (int64 i, bool go, float[n,4] "
            "s) => (bool more, float[n,4] t) { " GO_ON "t = Neg (s) }> }",
    "only at its end" },
  { "Loops of other limits", MERGE, 0, -1,
    "(float[n,4] x, int64 m, int64 o) => (float[n,4] y, float[n,4] w) { " TRUE_C
    "y = Loop (m, c, x) " BODY (
        "") "{ " GO_ON "t = Add (s, x) }>  w = Loop (o, c, x) <body = b2 (int64 "
            "i, bool go, float[n,4] s) => (bool more, float[n,4] t) { " GO_ON "t = Neg (s) }> }",
    "equally often" },
  { "a Loop that a condition may end", MERGE, 0, -1,
    "(float[n,4] x, int64 m) => (float[n,4] y, float[n,4] w) { " TRUE_C "y = Loop (m, c, x) " BODY (
        "") "{ q = ReduceSum <keepdims = 0> (s)  zero = Constant <value = float {0.0}> ()  more = Less "
            "(q, zero)  t = Add (s, x) }>  w = Loop (m, c, x) <body = b2 (int64 i, bool go, float[n,4] "
            "s) => (bool more, float[n,4] t) { " GO_ON "t = Neg (s) }> }",
    "a condition may end" },
  /* -- functions -- */
  { "a call becomes its body", INLINE, 2, 2,
    FUNCTIONS IO
    "{ y = my.Twice (x) }\n"
    "<domain: \"my\", opset_import: [\"\" : 17]> Twice (a) => (b) { c = Add (a, a)  b = Relu (c) }" },
  { "attributes are put in, calls in bodies follow", INLINE, 4, 3,
    FUNCTIONS IO
    "{ h = my.Leaky <slope = 0.5> (x)  y = my.Outer (h) }\n"
    "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> Leaky <slope> (a) => (b) { "
    "b = LeakyRelu <alpha: float = @slope> (a) }\n"
    "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> Outer (a) => (b) { "
    "c = my.Leaky <slope = 0.25> (a)  b = Neg (c) }" },
  { "a call in a branch", INLINE, 2, -1,
    FUNCTIONS
    "(float[n,4] x, bool q) => (float[n,4] y) { y = If (q) <then_branch = t () => "
    "(float[n,4] u) { u = my.Twice (x) }, else_branch = e () => (float[n,4] v) { v = Exp (x) }> }\n"
    "<domain: \"my\", opset_import: [\"\" : 17]> Twice (a) => (b) { c = Add (a, a)  b = Relu (c) }" },
  { "a function with a branch of its own", INLINE " " CONTROL, 3, -1,
    FUNCTIONS IO "{ y = my.Pick (x) }\n"
                 "<domain: \"my\", opset_import: [\"\" : 17]> Pick (a) => (b) { " TRUE_C
                 "b = If (c) <then_branch = t () => (u) { u = Neg (a) }, else_branch = e () => (v) "
                 "{ v = Exp (a) }> }" },
  { "what no output of a function needs goes in the function", "eliminate-dead-code", 1, -1,
    FUNCTIONS IO "{ y = my.Twice <k = 0.5> (x) }\n"
                 "<domain: \"my\", opset_import: [\"\" : 17]> Twice <k> (a) => (b) { d = LeakyRelu "
                 "<alpha: float = @k> (a)  e = Exp (d)  c = Add (a, a)  b = Relu (c) }" },
  { "what a function computes twice it computes once", "merge-common-subexpressions", 1, -1,
    FUNCTIONS IO
    "{ y = my.Twice <k = 0.5, l = 0.25> (x) }\n"
    "<domain: \"my\", opset_import: [\"\" : 17]> Twice <k, l> (a) => (b) { d = LeakyRelu "
    "<alpha: float = @k> (a)  e = LeakyRelu <alpha: float = @k> (a)  f = LeakyRelu "
    "<alpha: float = @l> (a)  g = Sub (d, f)  h = Add (g, e)  b = Relu (h) }" },
  { "what the calls of a function agree on holds in it", "fold-constants", 1, -1,
    FUNCTIONS "(float[n,4] x, float[n,4] z) => (float[n,4] y, float[n,4] w) { "
              "y = my.Same (x)  w = my.Same (z) }\n" SAME },
  { "what only one call knows does not", "fold-constants", 0, -1,
    FUNCTIONS "(float[n,4] x, float[2,3] z) => (float[n,4] y, float[2,3] w) { "
              "y = my.Same (x)  w = my.Same (z) }\n" SAME },
  { "a rule that needs no types applies in any function", "eliminate-identity", 1, -1,
    FUNCTIONS "(float[n,4] x, double[2,3] z) => (float[n,4] y, double[2,3] w) { "
              "y = my.Id (x)  w = my.Id (z) }\n"
              "<domain: \"my\", opset_import: [\"\" : 17]> Id (a) => (b) { c = Identity (a)  "
              "b = Neg (c) }" },
  { "types go through functions to those that they call", "fold-constants", 1, -1,
    FUNCTIONS IO "{ y = my.Outer (x) }\n" SAME
                 "\n<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> Outer (a) => (b) { "
                 "c = Neg (a)  b = my.Same (c) }" },
  { "a call that is never made says nothing", "fold-constants", 1, -1,
    FUNCTIONS IO "{ y = my.Same (x) }\n" SAME
                 "\n<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> Dead (a) => (b) { "
                 "c = Neg (a)  b = my.Same (c) }" },
  { "an attribute of the call is not known in the function", "cancel-transposes", 0, -1,
    FUNCTIONS "(float[2,3] x) => (float[3,2] y) { y = my.Twice <p = [1, 0]> (x) }\n"
              "<domain: \"my\", opset_import: [\"\" : 17]> Twice <p> (a) => (b) { "
              "c = Transpose <perm: ints = @p> (a)  d = Neg (c)  e = Transpose (d)  "
              "b = Transpose <perm: ints = @p> (e) }" },
  { "a branch of a function that always runs, with constants of its own", CONTROL, 1, -1,
    FUNCTIONS IO "{ y = my.Pick (x) }\n"
                 "<domain: \"my\", opset_import: [\"\" : 17]> Pick (a) => (b) { " TRUE_C
                 "b = If (c) <then_branch = t () => (u) <float k = {2.5}> { u = Mul (a, k) }, "
                 "else_branch = e () => (v) { v = Exp (a) }> }" },
  /* -- transposes -- */
  { "two cancel around what works element by element", PUSH, 1, 2,
    MAPS "{ " T ("a", "x") "b = Relu (a)  c = Neg (b)  " BACK ("y", "c") "}" },
  { "a constant that broadcasts is transposed", PUSH, 1, 1,
    MAPS "{ k = Constant <value = float[5,1,1] {1.5, 2.0, 3.0, -4.0, 5.0}> ()  " T (
        "a", "x") "b = Mul (a, k)  " BACK ("y", "b") "}" },
  { "scalars and one-element operands stay", PUSH, 1, 2,
    MAPS "{ k = Constant <value = float {1.5}> ()  l = Constant <value = float[1,1] {0.5}> ()  " T (
        "a", "x") "b = Mul (a, k)  c = Add (l, b)  " BACK ("y", "c") "}" },
  { "a residual of two branches", PUSH, 1, 3,
    MAPS "{ " T ("a", "x") "b = Relu (a)  c = Neg (a)  d = Add (b, c)  " BACK ("y", "d") "}" },
  { "Concat, and its axis counted from the end", PUSH, 1, 1,
    "(float[n,3,4,5] x, float[n,3,4,5] z) => (float[n,3,4,10] y) { " T ("a", "x")
        T ("b", "z") "c = Concat <axis = -3> (a, b)  " BACK ("y", "c") "}" },
  { "three into one that is left", PUSH, 1, 2,
    "(float[n,3,4,5] x, float[n,3,4,5] z) => (float[n,10,3,4] y) { " T ("a", "x")
        T ("b", "z") "y = Concat <axis = 1> (a, b) }" },
  { "Split of known parts", PUSH, 1, 3,
    "(float[n,3,4,6] x) => (float[n,3,4,2] y, float[n,3,4,4] z) { k = Constant <value = int64[2] "
    "{2, 4}> ()  " T ("a", "x") "b, c = Split <axis = 1> (a, k)  d = Relu (b)  e = Neg (c)  " BACK (
        "y", "d") BACK ("z", "e") "}" },
  { "Slice with axes", PUSH, 1, 1,
    "(float[n,3,4,5] x) => (float[n,3,4,2] y) { s = Constant <value = int64[1] {1}> ()  "
    "e = Constant <value = int64[1] {3}> ()  ax = Constant <value = int64[1] {1}> ()  " T (
        "a", "x") "b = Slice (a, s, e, ax)  " BACK ("y", "b") "}" },
  { "Slice of the first axes", PUSH, 1, 1,
    "(float[n,3,4,5] x) => (float[n,3,4,2] y) { s = Constant <value = int64[2] {0, 1}> ()  "
    "e = Constant <value = int64[2] {100, 3}> ()  " T ("a", "x") "b = Slice (a, s, e)  " BACK (
        "y", "b") "}" },
  { "Pad", PUSH, 1, 1,
    "(float[n,3,4,5] x) => (float[n,6,5,8] y) { p = Constant <value = int64[8] {0, 1, 2, 0, 0, 2, "
    "1, 1}> ()  " T ("a", "x") "b = Pad (a, p)  " BACK ("y", "b") "}" },
  { "a maximum along axes that stay", PUSH, 1, 1,
    "(float[n,3,4,5] x) => (float[n,1,1,5] y) { " T (
        "a", "x") "b = ReduceMax <axes = [2, -1]> (a)  " BACK ("y", "b") "}" },
  { "a maximum that drops axes moves the other way", PUSH, 1, 2,
    "(float[n,3,4,5] x) => (float[n,5,3] y) { " T (
        "a", "x") "y = ReduceMax <axes = [3], keepdims = 0> (a) }" },
  { "other readers keep a Transpose of their own", PUSH, 1, -1,
    "(float[n,3,4,5] x) => (float[n,3,4,5] y, float[n,5,3,4] z) { " T (
        "a", "x") "b = Relu (a)  "
                  "c = Neg (b)  d = Exp (c)  " BACK ("y", "d")
                      BACK ("f", "c") "g = Abs (f)  " T ("z", "g") "}" },
  { "a mean rounds, and is a rule of its own", PUSH, 1, 1,
    "(float[n,3,4,5] x) => (float[n,1,1,5] y) { " T (
        "a", "x") "b = ReduceMean <axes = [2, 3]> (a)  " BACK ("y", "b") "}" },
  { "Softmax along an axis that is renamed", PUSH, 1, 1,
    MAPS "{ " T ("a", "x") "b = Softmax <axis = 1> (a)  " BACK ("y", "b") "}" },
  { "nothing is gained, nothing moves", PUSH, 0, 2,
    "(float[n,3,4,5] x) => (float[n,5,3,4] y) { " T ("a", "x") "y = Relu (a) }" },
  { "a Split whose parts all need one stays", PUSH, 0, -1,
    "(float[n,3,4,6] x) => (float[n,2,3,4] y, float[n,4,3,4] z) { k = Constant <value = int64[2] "
    "{2, 4}> ()  " T ("a", "x") "y, z = Split <axis = 1> (a, k) }" },
  { "Reshape mixes axes and is no way", PUSH, 0, -1,
    "(float[n,3,4,5] x) => (float[n,3,4,5] y) { k = Constant <value = int64[4] {0, 5, 3, 4}> ()  " T (
        "a", "x") "b = Reshape (a, k)  " BACK ("y", "b") "}" },
  { "transposes in a branch", PUSH, 1, -1,
    "(float[n,3,4,5] x, bool q) => (float[n,3,4,5] y) { y = If (q) <then_branch = t () => "
    "(float[n,3,4,5] u) { " T ("a", "x") "b = Relu (a)  " BACK (
        "u", "b") "}, else_branch = e () => "
                  "(float[n,3,4,5] v) { v = Exp (x) }> }" },
  { "a value that a branch captures keeps its layout", PUSH, 0, -1,
    "(float[n,3,4,5] x, bool q) => (float[n,5,3,4] y) { " T (
        "a",
        "x") "b = Relu (a)  y = If (q) "
             "<then_branch = t () => (float[n,5,3,4] u) { u = Neg (b) }, else_branch = e () => "
             "(float[n,5,3,4] v) { v = Exp (b) }> }" },
  { "another permutation is composed with", PUSH, 1, 2,
    "(float[n,3,4,5] x) => (float[5,n,4,3] y) { " T (
        "a", "x") "b = Relu (a)  "
                  "y = Transpose <perm = [1, 0, 3, 2]> (b) }" },
};

/* -- one case -- */

static IrModel *
model_of (const Case *c, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  IrModel *model = test_model (c->text);

  test_model_randomize (model, rand);
  return model;
}

static void
optimize (IrModel *model, const char *passes, IrPipelineResult *result)
{
  g_auto (GStrv) words = g_strsplit (passes, " ", -1);
  g_autoptr (GPtrArray) list = g_ptr_array_new ();
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                .verify = TRUE,
                                .record_refusals = TRUE };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; words[i] != NULL; i++)
    if (strchr (words[i], '=') == NULL)
      g_ptr_array_add (list, words[i]);
  g_ptr_array_add (list, NULL);
  g_autoptr (IrPipeline)
      pipeline = ir_pipeline_new_from_names ((const char *const *) list->pdata, &error);
  g_assert_no_error (error);
  for (guint i = 0; words[i] != NULL; i++)
    if (strchr (words[i], '=') != NULL)
      g_assert_true (ir_pipeline_set (pipeline, words[i], NULL));
  ir_pipeline_run (model, pipeline, &options, result, NULL, &error);
  g_assert_no_error (error);
  test_verify (model);
  g_assert_false (result->reached_limit);
}

static void
print_history (const IrModel *model)
{
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);
      g_test_message ("%s: %s", step->rule, step->reason != NULL ? step->reason : "");
    }
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    g_test_message ("refused: %s: %s", ir_history_refusal (model, i)->rule,
                    ir_history_refusal (model, i)->reason);
}

static GHashTable *
inputs_by_place (const IrModel *from, const IrModel *to, GHashTable *inputs)
{
  GHashTable *same = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < ir_graph_n_inputs (from->main); i++)
    {
      const IrValue *a = ir_graph_input (from->main, i), *b = ir_graph_input (to->main, i);
      g_assert_cmpstr (a->name, ==, b->name);
      g_hash_table_insert (same, GUINT_TO_POINTER (b->id),
                           g_hash_table_lookup (inputs, GUINT_TO_POINTER (a->id)));
    }
  return same;
}

static void
compare (IrModel *original, IrModel *model, GHashTable *inputs, double rtol)
{
  static const char *const backends[] = { "ref", "cpu" };
  g_autoptr (GHashTable) same = inputs_by_place (original, model, inputs);

  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    {
      g_autoptr (IrRun) before = test_run (original, inputs, backends[i]);
      g_autoptr (IrRun) after = test_run (model, same, backends[i]);
      g_autofree char *difference = test_compare (original, before, model, after, rtol);

      if (difference != NULL)
        g_test_message ("%s: %s", backends[i], difference);
      g_assert_null (difference);
    }
}

static void
check_undo (IrModel *model, const char *start)
{
  guint n = ir_history_n_steps (model);
  g_autofree char *end = ir_model_dump (model), *again = NULL, *back = NULL;

  ir_history_goto (model, 0);
  test_verify (model);
  back = ir_model_dump (model);
  g_assert_cmpstr (back, ==, start);
  ir_history_goto (model, n);
  again = ir_model_dump (model);
  g_assert_cmpstr (again, ==, end);
}

static void
check_text (IrModel *original, IrModel *model, GHashTable *inputs, double rtol)
{
  g_autofree char *text = ir_text_write (model);
  g_autoptr (IrModel) again = test_model (text);

  compare (original, again, inputs, rtol);
}

/* Bit for bit where all steps are exact. */
static double
tolerance_of (const IrModel *model)
{
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    if (ir_history_step (model, i)->step_class != IR_CLASS_EXACT)
      return 2e-5;
  return 0;
}

/* The same for each step by itself, where nodes with graphs run without a schedule. */
static void
prove (IrModel *model, IrModel *original, GHashTable *inputs)
{
  g_autoptr (GHashTable) same = inputs_by_place (original, model, inputs);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrProver) prover = ir_prover_new (model, same, ir_backend_find ("cpu"), NULL, &error);
  IrProofSummary summary = { 0 };

  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_all (prover, &summary, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (summary.n[IR_VERDICT_BROKEN], ==, 0);
}

static gboolean
has_refusal (const IrModel *model, const char *why)
{
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    if (strstr (ir_history_refusal (model, i)->reason, why) != NULL)
      return TRUE;
  return FALSE;
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;

  for (guint seed = 1; seed <= 3; seed++)
    {
      g_autoptr (IrModel) model = model_of (c, seed);
      g_autoptr (IrModel) original = ir_model_clone (model);
      g_autofree char *start = ir_model_dump (model);
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed + 100);
      g_autoptr (GHashTable) inputs = test_inputs (original, rand, TRUE);
      IrPipelineResult result;

      optimize (model, c->passes, &result);
      double rtol = tolerance_of (model);
      print_history (model);
      g_assert_cmpuint (result.n_steps, ==, c->n_steps);
      if (c->n_nodes >= 0)
        g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, (guint) c->n_nodes);
      compare (original, model, inputs, rtol);
      prove (model, original, inputs);
      check_undo (model, start);
      check_text (original, model, inputs, rtol);
      if (c->why != NULL)
        g_assert_true (has_refusal (model, c->why));
      if (strchr (c->passes, '=') != NULL) /* what is left of a loop could be divided again */
        continue;
      optimize (model, c->passes, &result);
      g_assert_cmpuint (result.n_steps, ==, 0);
    }
}

/* Copies are called by their iteration, and what fails in one says which it is. */
static void
test_iterations (void)
{
  g_autoptr (IrModel) model = test_model (
      "(float[4] x) => (float[4] y) { m = Constant <value_int = 6> ()  h_1 = Neg (x)  y = Loop (m, , h_1) <body = b "
      "(int64 i, bool go, float[4] s) => (bool more, float[4] t) { more = Identity (go)  [look] h = Gather (x, i)  "
      "t = Add (s, h) }> }");
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  const IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (GError) error = NULL;
  IrPipelineResult result;

  optimize (model, UNROLL, &result);
  g_assert_cmpuint (result.n_steps, >=, 1);
  g_assert_nonnull (ir_graph_find_value (model->main, "h_3"));
  g_assert_nonnull (ir_graph_find_value (model->main, "h_1_1")); /* h_1 was there */
  const IrNode *copy = ir_graph_find_value (model->main, "h_3")->producer;
  g_assert_cmpstr (copy->name, ==, "look_3");
  g_assert_cmpstr (ir_node_prop (copy, IR_PROP_ITERATION), ==, "y@3/look");
  g_assert_null (ir_model_run (model, inputs, &options, NULL, &error));
  g_assert_nonnull (strstr (error->message, "look_4 (Gather)"));
  g_assert_nonnull (strstr (error->message, "(written as y@4/look)"));
}

/* Which ranges of iterations can be taken from a loop. */
static void
test_ranges (void)
{
  static const struct
  {
    const char *range;
    gboolean taken;
  } rows[] = { { "0..0", TRUE },
               { "2..2", TRUE },
               { "3..2", FALSE },
               { "0..9223372036854775806", TRUE },
               { "9223372036854775806..9223372036854775806", TRUE },
               { "0..9223372036854775807", FALSE },
               { "9223372036854775807..9223372036854775807", FALSE },
               { "-1..2", FALSE },
               { "1", FALSE },
               { "1..2..3", FALSE },
               { "..", FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      static const char *const names[] = { UNROLL, NULL };
      g_autofree char *setting = g_strconcat ("unroll-loops.peel=", rows[i].range, NULL);
      g_autoptr (IrModel) model = test_model (COUNTED NUMBER (5) "y, z = Loop (m, , x) " COUNTING);
      g_autoptr (GError) error = NULL;
      g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, &error);
      IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING };
      IrPipelineResult result;

      g_assert_true (ir_pipeline_set (pipeline, setting, &error));
      gboolean taken = ir_pipeline_run (model, pipeline, &options, &result, NULL, &error);
      if (taken != rows[i].taken)
        g_error ("%s: %s", rows[i].range, taken ? "taken" : error->message);
    }
}

/* Sums of a Gemm are rounded once, and of a product and what is added to it twice: that is held on values that are not huge. */
static void
test_gemms (void)
{
  static const struct
  {
    const char *name, *text;
  } rows[] = {
    { "a Gemm with a row that is added",
      "(float[6,3,4] x, float[4,5] w, float[5] c) => (float[6,3,5] y) { " NUMBER (6) "y = Loop (m, ) <body = b (int64 i, bool go) => "
      "(bool more, float[3,5] r) { " GO_ON "e = Gather (x, i)  r = Gemm (e, w, c) }> }" },
    { "a Gemm turned and scaled, of two parts",
      "(float[6,4,3] x, float[6,5,4] w, float[6,5] c) => (float[6,3,5] y) { " NUMBER (6) "y = Loop (m, ) <body = b (int64 i, bool go) => "
      "(bool more, float[3,5] r) { " GO_ON "e = Gather (x, i)  f = Gather (w, i)  h = Gather (c, i) "
      "r = Gemm <alpha = 0.5, beta = 2.0, transA = 1, transB = 1> (e, f, h) }> }" },
    { "a Gemm scaled, to which nothing is added",
      "(float[6,3,4] x, float[4,5] w) => (float[6,3,5] y) { " NUMBER (6) "y = Loop (m, ) <body = b (int64 i, bool go) => "
      "(bool more, float[3,5] r) { " GO_ON "e = Gather (x, i)  r = Gemm <alpha = 0.5> (e, w) }> }" },
    { "a Gemm of the same, to which a part is added",
      "(float[6,5] x, float[3,4] v, float[4,5] w) => (float[6,3,5] y) { " NUMBER (6) "y = Loop (m, ) <body = b (int64 i, bool go) => "
      "(bool more, float[3,5] r) { " GO_ON "e = Gather (x, i)  r = Gemm (v, w, e) }> }" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      static const char *const names[] = { BATCH, NULL };
      g_autoptr (IrModel) original = test_model (rows[i].text), model = ir_model_clone (original);
      g_autoptr (GRand) rand = g_rand_new_with_seed (i);
      g_autoptr (GHashTable) inputs = test_inputs (original, rand, FALSE);
      g_autoptr (GError) error = NULL;
      g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, &error);

      g_test_message ("%s", rows[i].name);
      g_assert_true (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error));
      for (IrNodeId id = 1; id < model->nodes->len; id++)
        g_assert_false (ir_model_live_node (model, id) != NULL && ir_node_is (ir_model_live_node (model, id), "Scan"));
      compare (original, model, inputs, 2e-5);
      prove (model, original, inputs);
    }
}

/* A loop that is not there is refused, not passed over. */
static void
test_loop_names (void)
{
  static const char *const names[] = { UNROLL, NULL }, *const settings[] = { "y", "y,nix" };

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    {
      g_autoptr (IrModel) model = test_model (COUNTED NUMBER (5) "y, z = Loop (m, , x) " COUNTING);
      g_autoptr (GError) error = NULL;
      g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, &error);
      g_autofree char *setting = g_strconcat ("unroll-loops.loop=", settings[i], NULL);

      g_assert_true (ir_pipeline_set (pipeline, setting, &error));
      g_assert_cmpint (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error), ==, i == 0);
      if (i == 1)
        g_assert_nonnull (strstr (error->message, "\"nix\", but the graph has only these: y"));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/control-passes/%s", cases[i].name);
      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/control-passes/ranges of iterations", test_ranges);
  g_test_add_func ("/control-passes/products that are added to", test_gemms);
  g_test_add_func ("/control-passes/names of loops", test_loop_names);
  g_test_add_func ("/control-passes/names and errors of iterations", test_iterations);
  return g_test_run ();
}
