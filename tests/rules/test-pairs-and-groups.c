/* Rotary embeddings of neighbours, and groups of elementwise nodes that end in a reduction: what
 * becomes one operator or one call, and what only looks like it, with the reason that is given.
 * Results stay on both back ends, bit for bit where a rule is exact. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <string.h>

typedef struct
{
  const char *name;
  const char *passes;
  const char *op; /* (nullable) is there afterwards, and was not before; NULL: nothing is fused */
  guint n_nodes;  /* counted, after */
  const char *reason; /* (nullable) part of a refusal */
  double rtol;        /* 0: bit for bit */
  const char *text;
} Case;

#define OPSET(N) "<ir_version: 10, opset_import: [\"\" : " N ", \"irscope\" : 1]>\ng "

/* -- rotary embeddings -- */

#define ROTARY "fuse-rotary eliminate-dead-code"
#define PAIR   "PairRotaryEmbedding"
#define X4     "(float[n,3,2,4] x, float[3,1,4] C, float[1,3,1,4] S) => (float[n,3,2,4] y) { "
#define NUMBERS                                                                                    \
  "z = Constant <value = int64[1] {0}> ()  i = Constant <value = int64[1] {1}> ()  e = Constant "  \
  "<value = int64[1] {9223372036854775807}> ()  l = Constant <value = int64[1] {-1}> ()  t = "     \
  "Constant <value = int64[1] {2}> ()  h = Constant <value = int64[4] {0, 0, 0, 4}> ()  d = "      \
  "Constant <value = int64[5] {0, 0, 0, 2, 2}> ()  k = Constant <value = int64[2] {1, 1}> ()  "
#define STRIDES "a = Slice (x, z, e, l, t)  b = Slice (x, i, e, l, t)  "
#define STACK(FIRST, SECOND)                                                                       \
  "bu = Unsqueeze (" FIRST ", l)  au = Unsqueeze (" SECOND                                         \
  ", l)  m = Concat <axis = -1> (bu, au)  "                                                        \
  "r = Reshape (m, h)  "
#define SUM "p = Mul (x, C)  q = Mul (r, S)  y = Add (p, q) }"

/* -- reductions -- */

#define GROUPS "fuse-elementwise"
#define ONE    "i = Constant <value = int64[1] {1}> ()  "

static const Case cases[] = {
  { "every second element, stacked", ROTARY, PAIR, 1, NULL, 2e-5,
    OPSET ("17") X4 NUMBERS STRIDES "o = Neg (b)  " STACK ("o", "a") SUM },
  { "pairs by a Reshape and a Split, put together as they are", ROTARY, PAIR, 1, NULL, 2e-5,
    OPSET ("17") X4 NUMBERS "w = Reshape (x, d)  a, b = Split <axis = 4> (w, k)  o = Neg (b)  m = "
                            "Concat <axis = 4> (o, a)  r = Reshape (m, h)  " SUM },
  { "pairs by a Reshape and Gathers", ROTARY, PAIR, 1, NULL, 2e-5,
    OPSET ("17") X4 NUMBERS
    "f = Constant <value = int64 {0}> ()  g = Constant <value = int64 {-1}> ()  w = Reshape (x, d)  "
    "a = Gather <axis = -1> (w, f)  b = Gather <axis = 4> (w, g)  o = Neg (b)  " STACK ("o", "a")
        SUM },
  { "negated behind the new axis", ROTARY, PAIR, 1, NULL, 2e-5,
    OPSET ("17") X4 NUMBERS STRIDES
    "bu = Unsqueeze (b, l)  o = Neg (bu)  au = Unsqueeze (a, l)  m = Concat <axis = -1> (o, au)  r = "
    "Reshape (m, h)  " SUM },
  { "the first elements of a head alone", ROTARY, PAIR, 4, NULL, 2e-5,
    OPSET (
        "17") "(float[n,3,2,7] v, float[3,1,4] C, float[1,3,1,4] S) => (float[n,3,2,7] w) { " NUMBERS
              "u = Constant <value = int64[1] {4}> ()  x = Slice (v, z, u, l)  g = Slice (v, u, "
              "e, l)  " STRIDES "o = Neg (b)  " STACK ("o", "a") "p = Mul (x, C)  q = Mul (r, S)  "
                                                                 "y = Add (p, q)  w = Concat "
                                                                 "<axis = -1> (y, g) }" },
  { "constants for the positions are the standard operator", ROTARY, "RotaryEmbedding", 1, NULL,
    2e-5,
    OPSET (
        "23") "(float[2,3,2,4] x) => (float[2,3,2,4] y) { C = Constant <value = float[2,4] {1, 1, "
              "2, 2, 3, 3, 4, 4}> ()  S = Constant <value = float[1,1,2,4] {0.5, 0.5, -1, -1, 3, "
              "3, 2, 2}> ()  " NUMBERS STRIDES "o = Neg (b)  " STACK ("o", "a") SUM },
  { "constants that differ within a pair are not", ROTARY, PAIR, 1, "not constants for positions",
    2e-5,
    OPSET (
        "23") "(float[2,3,2,4] x) => (float[2,3,2,4] y) { C = Constant <value = float[2,4] {1, 1, "
              "2, 2, 3, 3, 4, 5}> ()  S = Constant <value = float[1,1,2,4] {0.5, 0.5, -1, -1, 3, "
              "3, 2, 2}> ()  " NUMBERS STRIDES "o = Neg (b)  " STACK ("o", "a") SUM },
  { "products of complex numbers by constants", ROTARY, PAIR, 2, NULL, 2e-5,
    OPSET ("17") "(float[n,3,2,4] x, float[2,2] C, float[3,1,2] S) => (float[n,3,2,4] y) { " NUMBERS
        STRIDES "f = Mul (C, a)  g = Mul (b, S)  o = Sub (f, g)  p = Mul (a, S)  q = Mul (b, "
                 "C)  s = Add (q, p)  " STACK ("o", "s") "y = Identity (r) }" },
  { "the first of each pair negated instead", ROTARY, NULL, 10, "not the second of each pair", 0,
    OPSET ("17") X4 NUMBERS STRIDES "o = Neg (a)  " STACK ("b", "o") SUM },
  { "nothing is negated", ROTARY, NULL, 9, "not the second of each pair", 0,
    OPSET ("17") X4 NUMBERS STRIDES STACK ("b", "a") SUM },
  { "pairs in their order", ROTARY, NULL, 10, "not the second of each pair", 0,
    OPSET ("17") X4 NUMBERS STRIDES "o = Neg (b)  " STACK ("a", "o") SUM },
  { "pairs of another value", ROTARY, NULL, 11, "not the second of each pair", 0,
    OPSET ("17") X4 NUMBERS
    "v = Exp (x)  a = Slice (v, z, e, l, t)  b = Slice (v, i, e, l, t)  o = "
    "Neg (b)  " STACK ("o", "a") SUM },
  { "halves stacked like pairs", ROTARY, NULL, 10, "not the second of each pair", 0,
    OPSET ("17") X4 NUMBERS
    "a = Slice (x, z, t, l)  b = Slice (x, t, e, l)  o = Neg (b)  " STACK ("o", "a") SUM },
  { "pairs put side by side in halves", ROTARY, NULL, 7, NULL, 0,
    OPSET ("17") X4 NUMBERS STRIDES "o = Neg (b)  r = Concat <axis = -1> (o, a)  " SUM },
  { "one angle for all pairs", ROTARY, NULL, 10, "one cosine and sine per element", 0,
    OPSET (
        "17") "(float[n,3,2,4] x, float[3,1,1] C, float[1,3,1,4] S) => (float[n,3,2,4] y) { " NUMBERS
        STRIDES "o = Neg (b)  " STACK ("o", "a") SUM },
  { "angles that make the result bigger", ROTARY, NULL, 10, "may make the result bigger", 0,
    OPSET (
        "17") "(float[1,3,2,4] x, float[5,3,1,4] C, float[1,3,1,4] S) => (float[5,3,2,4] y) { " NUMBERS
        STRIDES "o = Neg (b)  " STACK ("o", "a") SUM },
  { "a sum of squares of differences", GROUPS, "SubMulReduceSum", 1, NULL, 0,
    OPSET ("17") "(float[n,4] x, float[n,1] m) => (float[n,1] y) { " ONE
                 "d = Sub (x, m)  s = Mul (d, d)  y = ReduceSum (s, i) }" },
  { "a mean over axes that are an attribute, without keeping them", GROUPS, "ExpReduceMean", 1,
    NULL, 0,
    OPSET ("17") "(float[n,4,3] x) => (float[n,3] y) { e = Exp (x)  y = ReduceMean <axes = [-2], "
                 "keepdims = 0> (e) }" },
  { "a maximum over all axes", GROUPS, "AbsReduceMax", 1, NULL, 0,
    OPSET ("18") "(float[n,4] x) => (float[1,1] y) { a = Abs (x)  y = ReduceMax (a) }" },
  { "a reduction over no axes", GROUPS, "AbsReduceSumSquare", 1, NULL, 0,
    OPSET (
        "18") "(float[n,4] x) => (float[n,4] y) { o = Constant <value = int64[0] {}> ()  a = Abs "
              "(x)  y = ReduceSumSquare <noop_with_empty_axes = 1> (a, o) }" },
  { "elementwise nodes behind the reduction are a group of their own", GROUPS, "AbsReduceL2", 2,
    NULL, 0,
    OPSET ("18") "(float[n,4] x) => (float[n,1] y) { " ONE "a = Abs (x)  r = ReduceL2 (a, i)  s = "
                 "Sqrt (r)  y = Neg (s) }" },
  { "groups alike share a function, by their axes", GROUPS, "AbsReduceMax_2", 3, NULL, 0,
    OPSET (
        "18") "(float[n,4] x, float[n,4] z) => (float[n,1] y, float[n,1] v, float[1,4] w) { " ONE
              "o = Constant <value = int64[1] {0}> ()  a = Abs (x)  y = ReduceMax (a, i)  b = Abs "
              "(z)  v = ReduceMax (b, i)  c = Abs (x)  w = ReduceMax (c, o) }" },
  { "what is reduced is read elsewhere too", GROUPS, NULL, 3, "is used elsewhere too", 0,
    OPSET ("17") "(float[n,4] x) => (float[n,1] y, float[n,12] z) { " ONE
                 "a = Abs (x)  y = ReduceSum (a, i)  z = Concat <axis = 1> (a, a, x) }" },
  { "what is reduced is an output", GROUPS, NULL, 2, "is used elsewhere too", 0,
    OPSET ("17") "(float[n,4] x) => (float[n,1] y, float[n,4] a) { " ONE
                 "a = Abs (x)  y = ReduceSum (a, i) }" },
  { "axes that are computed", GROUPS, NULL, 3, "axes are not constant", 0,
    OPSET ("17") "(float[2,4] x, float[1] v) => (float[n,m] y) { i = Shape (v)  a = Abs (x)  y = "
                 "ReduceSum (a, i) }" },
  { "axes that a caller may override", GROUPS, NULL, 2, "axes are not constant", 0,
    OPSET (
        "17") "(float[2,4] x, int64[1] i) => (float[n,m] y) <int64[1] i = {1}> { a = Abs (x)  y = "
              "ReduceSum (a, i) }" },
  { "what is reduced comes from no elementwise node", GROUPS, NULL, 2, "by an elementwise node", 0,
    OPSET (
        "17") "(float[n,4] x) => (float[1,n] y) { t = Transpose (x)  y = ReduceMax <axes = [0]> (t) "
              "}" },
  { "what is reduced is placed on another device", GROUPS, NULL, 2, "on another device", 0,
    OPSET ("17") "(float[n,4] x) => (float[n,1] y) { " ONE "\n#! metadata [\"irscope.device\": "
                 "\"gpu:0\"]\n a = Abs (x)  y = ReduceSum (a, i) }" },
  { "both are placed on one other device", GROUPS, "AbsReduceSum", 1, NULL, 0,
    OPSET ("17") "(float[n,4] x) => (float[n,1] y) { " ONE "\n#! metadata [\"irscope.device\": "
                 "\"gpu:0\"]\n a = Abs (x)\n#! metadata [\"irscope.device\": \"gpu:0\"]\n "
                 "y = ReduceSum (a, i) }" },
  { "a place of the maximum is no reduction", GROUPS, NULL, 2, NULL, 0,
    OPSET ("17") "(float[n,4] x) => (int64[n,1] y) { a = Abs (x)  y = ArgMax <axis = 1> (a) }" },
};

static gboolean
has (const IrModel *model, const char *op)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);

  for (guint i = 0; i < nodes->len; i++)
    if (strcmp (((const IrNode *) nodes->pdata[i])->op_type, op) == 0)
      return TRUE;
  return FALSE;
}

static guint
n_fusions (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    n += g_str_has_prefix (ir_history_step (model, i)->rule, "fuse-");
  return n;
}

static void
compare (const Case *c, IrModel *original, IrModel *model, gboolean adversarial)
{
  static const char *const backends[] = { "ref", "cpu" };
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autoptr (GHashTable) inputs = test_inputs (original, rand, adversarial);

  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    {
      g_autoptr (IrRun) before = test_run (original, inputs, backends[i]);
      g_autoptr (IrRun) after = test_run (model, inputs, backends[i]);
      g_autofree char *difference = test_compare (original, before, model, after, c->rtol);

      g_assert_cmpstr (difference, ==, NULL);
    }
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (IrModel) original = NULL;
  g_autoptr (IrModel) model = test_rewrite (c->text, c->passes, c->n_nodes, c->reason, &original);

  if (c->op != NULL)
    g_assert_true (has (model, c->op) && !has (original, c->op));
  else
    g_assert_cmpuint (n_fusions (model), ==, 0);
  compare (c, original, model, FALSE);
  if (c->rtol == 0)
    compare (c, original, model, TRUE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_set_nonfatal_assertions ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/pairs-and-groups/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  return g_test_run ();
}
