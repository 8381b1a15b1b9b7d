/* Derivatives of determinants and inverses. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"

#define MAX_SIZE 64 /* minors have the fourth power of elements */

static IrValue *
without_one (const IrVjp *vjp, IrValue *value, IrValue *others, gint64 axis)
{
  IrValue *inputs[] = { value, others };
  IrNode *node = ir_emit_node (vjp, "Gather", 2, inputs, 1);

  ir_emit_attr_int (vjp, node, "axis", axis);
  return ir_emit_end (vjp, node);
}

/* dy times the cofactors, which are determinants in turn: right where the matrix is singular, too,
 * unlike det (X) X^-T. Source: Jacobi's formula. */
gboolean
ir_vjp_det (IrVjp *vjp, GError **error)
{
  IrValue *x = vjp->node->inputs[0];
  const int rank = ir_value_rank (x);
  const gint64 n = ir_emit_dim (x, -1), behind[] = { rank - 2, rank - 1 };
  gint64 perm[IR_MAX_RANK + 2];

  if (rank < 2 || rank > IR_MAX_RANK - 2 || n < 1 || n > MAX_SIZE)
    return ir_emit_fail (vjp, error, "it needs matrices of a known size of at most %d", MAX_SIZE);
  IrValue *dy = ir_emit_unsqueeze (vjp, vjp->dy[0], behind, 2);
  if (n == 1)
    {
      vjp->dx[0] = ir_emit_reshape_like (vjp, dy, x);
      return TRUE;
    }
  const gint64 dims[] = { n, n - 1 }, square[] = { n, n };
  g_autofree gint64 *others = g_new (gint64, n * (n - 1));
  g_autofree double *signs = g_new (double, n *n);
  for (gint64 i = 0; i < n * (n - 1); i++)
    others[i] = i % (n - 1) + (i % (n - 1) >= i / (n - 1));
  for (gint64 i = 0; i < n * n; i++)
    signs[i] = (i / n + i % n) % 2 == 0 ? 1 : -1;
  IrValue *index = ir_emit_reshape (vjp, ir_emit_ints (vjp, others, n * (n - 1)), dims, 2);
  IrValue *minors = without_one (vjp, without_one (vjp, x, index, rank - 2), index, rank);
  for (int i = 0; i < rank + 2; i++) /* [.., row, rows, column, columns] */
    perm[i] = i == rank - 1 ? rank : i == rank ? rank - 1 : i;
  minors = ir_emit_transpose (vjp, minors, perm, (guint) rank + 2);
  IrValue *cofactors = ir_emit2 (vjp, "Mul", ir_emit1 (vjp, "Det", minors),
                                 ir_emit_doubles (vjp, 2, square, signs));
  vjp->dx[0] = ir_emit2 (vjp, "Mul", dy, cofactors);
  return TRUE;
}

/* -Y^T dY Y^T. Source: Petersen and Pedersen, The Matrix Cookbook, 2.2 */
gboolean
ir_vjp_inverse (IrVjp *vjp, GError **error)
{
  IrValue *y = vjp->node->outputs[0];
  const int rank = ir_value_rank (y);
  gint64 perm[IR_MAX_RANK];

  if (rank < 2 || rank > IR_MAX_RANK)
    return ir_emit_fail (vjp, error, "the rank of its input is not known");
  for (int i = 0; i < rank; i++)
    perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  IrValue *turned = ir_emit_transpose (vjp, y, perm, (guint) rank);
  vjp->dx[0] = ir_emit1 (
      vjp, "Neg", ir_emit2 (vjp, "MatMul", ir_emit2 (vjp, "MatMul", turned, vjp->dy[0]), turned));
  return TRUE;
}
