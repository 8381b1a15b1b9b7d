/* Vector-Jacobian products: how the derivative of a scalar by a node's outputs becomes that by its
 * inputs. Each operator says it in the GRAD column of its row, as expressions where each element
 * stands for itself, or by a function that adds nodes. */
#pragma once

#include "core/ir/edit.h"

typedef struct
{
  IrEdit *edit;
  const IrNode *node;     /* what is derived */
  const IrNode *at;       /* whose place in the order new nodes take */
  IrValue *const *dy;     /* per output of @node (nullable): by it */
  const gboolean *wanted; /* per input of @node */
  IrValue **dx;           /* per input of @node: result; NULL: not wanted, or 0 */
} IrVjp;

gboolean ir_vjp_is_known (const IrNode *node);
gboolean ir_vjp_run (IrVjp *vjp, GError **error);
IrValue *ir_vjp_emit (const IrVjp *vjp, const char *op, guint n_inputs, IrValue *const *inputs);
IrValue *ir_vjp_filled_like (const IrVjp *vjp, IrValue *value, double element);
