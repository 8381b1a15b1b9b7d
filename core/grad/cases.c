#include "config.h"

#include "core/grad/cases.h"

#define ONE(OP, A, BODY)                                                                           \
  {                                                                                                \
    OP, A, "double[2,3]", NULL, NULL, BODY                                                         \
  }
#define TWO(OP, A, B, BODY)                                                                        \
  {                                                                                                \
    OP, A, "double[2,3]", B, "double[3]", BODY                                                     \
  }
#define BOTH_SIGNS "-1.5 -0.7 -0.2 0.3 0.8 1.9"
#define POSITIVE   "0.2 0.5 0.9 1.4 2.5 3"
#define SMALL      "-0.9 -0.5 -0.1 0.2 0.6 0.8"

#define INT(NAME, NUMBER)  NAME " = Constant <value = int64 {" NUMBER "}> ()\n"
#define BOOL(NAME, NUMBER) NAME " = Constant <value = bool {" NUMBER "}> ()\n"
#define IF(COND, THEN, ELSE)                                                                       \
  "If (" COND ") <then_branch = t () => (u) { " THEN " }, else_branch = e () => (w) { " ELSE " }>"
#define STEP_BODY(TYPE)                                                                            \
  "body = body (int64 i, bool go, " TYPE " v) => (go_out, v_out, s) { go_out = Identity (go) "

/* of operators that are one step of several */
#define CONV(NAME, ATTRS)                                                                          \
  {                                                                                                \
    NAME, BOTH_SIGNS, "double[1,2,5]", SMALL, "double[3,2,2]",                                     \
        "k = Constant <value = double[3] {0.3, -0.2, 0.1}> ()\n"                                   \
        "y = irscope." NAME " <pads = [1, 0], strides = [2]" ATTRS "> (a, b, k)"                   \
  }
#define CONV_ADD(NAME, ATTRS)                                                                      \
  {                                                                                                \
    NAME, BOTH_SIGNS, "double[1,2,4]", SMALL, "double[2,1,2]",                                     \
        "k = Constant <value = double[2] {0.3, -0.2}> ()\n z = Sin (a)\n"                          \
        "y = irscope." NAME " <pads = [1, 0], group = 2" ATTRS "> (a, b, k, z)"                    \
  }
#define BOUNDS                                                                                     \
  "low = Constant <value = double {-0.4}> ()\n high = Constant <value = double {0.5}> ()\n"
#define GEMM(NAME, ATTRS)                                                                          \
  {                                                                                                \
    NAME, BOTH_SIGNS, "double[2,3]", SMALL, "double[2,3]",                                         \
        "k = Constant <value = double[2] {0.3, -0.2}> ()\n"                                        \
        "y = irscope." NAME " <transB = 1, alpha = 0.8, beta = 0.6" ATTRS "> (a, b, k)"            \
  }
#define MATMUL(NAME)                                                                               \
  {                                                                                                \
    NAME, BOTH_SIGNS, "double[2,3]", SMALL, "double[3,3]", "y = irscope." NAME " (a, b, a)"        \
  }
#define HEADS(NAME, ATTRS, MORE, INPUTS)                                                           \
  {                                                                                                \
    NAME, BOTH_SIGNS, "double[1,2,2,2]", SMALL, "double[1,2,3,2]",                                 \
        MORE "y = irscope." NAME " <scale = 0.9" ATTRS "> (a, b, b" INPUTS ")"                     \
  }
#define SHARED(NAME, ATTRS, MORE, INPUTS)                                                          \
  {                                                                                                \
    NAME, BOTH_SIGNS, "double[1,2,2,2]", SMALL, "double[1,1,3,2]",                                 \
        MORE "y = irscope." NAME " <scale = 0.9" ATTRS "> (a, b, b" INPUTS ")"                     \
  }
#define SIDE(NAME, ATTRS, MORE, INPUTS)                                                            \
  {                                                                                                \
    NAME, BOTH_SIGNS, "double[1,2,4]", SMALL, "double[1,3,4]",                                     \
        MORE "y = irscope." NAME " <scale = 0.9, q_num_heads = 2, kv_num_heads = 2" ATTRS          \
             "> (a, b, b" INPUTS ")"                                                               \
  }
#define PACKED(NAME, ATTRS, MORE, INPUTS)                                                          \
  {                                                                                                \
    NAME, BOTH_SIGNS, "double[1,3,12]", NULL, NULL,                                                \
        MORE "y = irscope." NAME " <scale = 0.9, num_heads = 2" ATTRS "> (a" INPUTS ")"            \
  }
#define MASK_3 "m = Constant <value = double[3,3] {0, -1, 0.5, 0.2, 0, -0.7, 1, 0, 0.1}> ()\n"
#define MASK_2 "m = Constant <value = double[2,3] {0, -1, 0.5, 0.2, 0, -0.7}> ()\n"
#define KEEP_2 "m = Constant <value = bool[2,3] {1, 0, 1, 0, 1, 1}> ()\n"
#define KEEP_3 "m = Constant <value = bool[3,3] {1, 0, 1, 0, 1, 1, 1, 1, 0}> ()\n"
#define TURN                                                                                       \
  "k = Constant <value = double[2,4] {0.6, 0.8, -0.6, 1, 0.9, -0.4, 0.3, 0.7}> ()\n"               \
  "s = Constant <value = double[2,4] {0.8, 0.6, 0.8, 0, -0.4, 0.9, 0.1, 0.7}> ()\n"

static const IrGradientCase plain[] = {
#include "core/grad/cases.def"
};

static const IrGradientCase with_bodies[] = {
#include "core/grad/cases-control.def"
#include "core/grad/cases-fused.def"
};

/**
 * ir_gradient_case:
 * @i: a number; those with bodies and sequences come behind the ir_gradient_n_plain() others
 *
 * Returns: (nullable): the case of that number; %NULL: there are no more
 */
const IrGradientCase *
ir_gradient_case (guint i)
{
  const guint n = G_N_ELEMENTS (plain);

  return i < n ? &plain[i] : i < n + G_N_ELEMENTS (with_bodies) ? &with_bodies[i - n] : NULL;
}

/**
 * ir_gradient_n_plain:
 *
 * Returns: how many cases are without bodies and sequences; they come first
 */
guint
ir_gradient_n_plain (void)
{
  return G_N_ELEMENTS (plain);
}
