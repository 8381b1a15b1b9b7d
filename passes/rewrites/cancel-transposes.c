/* Two transposes in a row are one, or none:
 *
 *     x --Transpose p--> --Transpose q--> y         x --Transpose p[q]--> y     or x
 *
 * The first may have other readers: it stays for them. Source: onnx/optimizer
 * fuse_consecutive_transposes; ONNX Runtime TransposeOptimizer. */
#include "config.h"

#include "passes/rule/rule.h"

/* The permutation of @node; absent means reversed, which needs the rank. (transfer full) */
static gint64 *
permutation (const IrNode *node, guint *n)
{
  const gint64 *perm = ir_node_attr_ints (node, "perm", n);
  int rank = ir_value_rank (node->inputs[0]);
  gint64 *full;

  if (perm != NULL)
    return g_memdup2 (perm, MAX (*n, 1) * sizeof (gint64));
  if (rank == IR_RANK_UNKNOWN)
    return NULL;
  *n = rank;
  full = g_new (gint64, MAX (rank, 1));
  for (int i = 0; i < rank; i++)
    full[i] = rank - 1 - i;
  return full;
}

/* What both do together; NULL with the reason if not known. */
static gint64 *
composed (IrMatch *match, guint *n, gboolean *identity)
{
  guint n_inner = 0;
  g_autofree gint64 *outer = permutation (ir_match_node (match, "outer"), n);
  g_autofree gint64 *inner = permutation (ir_match_node (match, "inner"), &n_inner);
  gint64 *both;

  *identity = TRUE;
  if (outer == NULL || inner == NULL || *n != n_inner)
    {
      ir_match_fail (match, "the ranks are not known, or differ");
      return NULL;
    }
  both = g_new (gint64, MAX (*n, 1));
  for (guint i = 0; i < *n; i++)
    {
      if (outer[i] < 0 || outer[i] >= *n)
        {
          g_free (both);
          ir_match_fail (match, "perm is not a permutation");
          return NULL;
        }
      both[i] = inner[outer[i]];
      *identity &= both[i] == i;
    }
  return both;
}

static gboolean
when_cancelling (IrMatch *match)
{
  gboolean identity;
  guint n;
  g_autofree gint64 *both = composed (match, &n, &identity);

  if (both == NULL)
    return FALSE;
  return identity || ir_match_fail (match, "the second does not undo the first");
}

static gboolean
when_composing (IrMatch *match)
{
  gboolean identity;
  guint n;
  g_autofree gint64 *both = composed (match, &n, &identity);

  if (both == NULL)
    return FALSE;
  return !identity || ir_match_fail (match, "the two cancel, and one end must keep its name");
}

static gboolean
prepare (IrMatch *match)
{
  IrContext *context = ir_match_context (match)->model->context;
  gboolean identity;
  guint n;
  g_autofree gint64 *both = composed (match, &n, &identity);

  if (both == NULL)
    return FALSE;
  ir_match_bind_attr (match, "perm", ir_attr_ints (context, "perm", both, n));
  return TRUE;
}

static const IrRule rules[] = {
  { "cancel-transposes", "(Transpose@outer (Transpose@inner:shared ?x))", "?x", IR_CLASS_EXACT,
    "Two transposes of which the second undoes the first go away.",
    "(float[n,3,5] x) => (float[n,3,5] y) { a = Relu (x)  b = Transpose <perm: ints = [2,0,1]> (a)  "
    "c = Transpose <perm: ints = [1,2,0]> (b)  y = Neg (c) }",
    when_cancelling },
  { "compose-transposes", "(Transpose@outer (Transpose@inner ?x))", "(Transpose{perm=?perm} ?x)",
    IR_CLASS_EXACT, "Two transposes in a row become one.",
    "(float[n,3,5] x) => (float[5,n,3] y) { b = Transpose <perm: ints = [1,2,0]> (x)  y = Transpose "
    "<perm: ints = [1,2,0]> (b) }",
    when_composing, prepare },
  { NULL },
};

const IrPass ir_pass_cancel_transposes = {
  .name = "cancel-transposes",
  .title = "Cancel transposes",
  .doc = "Two transposes in a row become one, or go away if the second undoes the first.",
  .source = "onnx/optimizer fuse_consecutive_transposes; ONNX Runtime TransposeOptimizer",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Transpose p -> Transpose q -> y\nx -> Transpose p[q] -> y",
  .rules = rules,
};
