/* What rules of derivation build nodes with. All new nodes lie in the graph of @vjp, at its rank, and
 * have types. Shapes that are known are constants, so that nothing is kept for its shape alone. */
#pragma once

#include "core/grad/vjp.h"

/* -- nodes -- */
IrNode *ir_emit_node (
    const IrVjp *vjp, const char *op, guint n, IrValue *const *inputs, guint n_out);
void ir_emit_attr_int (const IrVjp *vjp, IrNode *node, const char *name, gint64 value);
void ir_emit_attr_ints (
    const IrVjp *vjp, IrNode *node, const char *name, const gint64 *values, guint n);
void ir_emit_attr_string (const IrVjp *vjp, IrNode *node, const char *name, const char *value);
void ir_emit_copy_attr (const IrVjp *vjp, IrNode *node, const char *name); /* of the node derived */
IrValue *ir_emit_end (const IrVjp *vjp, IrNode *node); /* after its attributes: its first output */
IrValue *ir_emit (const IrVjp *vjp, const char *op, guint n, IrValue *const *inputs);
IrValue *ir_emit1 (const IrVjp *vjp, const char *op, IrValue *a);
IrValue *ir_emit2 (const IrVjp *vjp, const char *op, IrValue *a, IrValue *b);
IrValue *ir_emit3 (const IrVjp *vjp, const char *op, IrValue *a, IrValue *b, IrValue *c);
IrValue *ir_emit_cast (const IrVjp *vjp, IrValue *value, IrDtype dtype);
IrValue *ir_emit_extra_output (const IrVjp *vjp,
                               guint slot); /* of the node derived, made if absent */

void ir_emit_sweep (
    IrEdit *edit, guint first_node, guint first_value, IrValue *const *kept, guint n_kept);

/* -- constants -- */
IrValue *ir_emit_ints (const IrVjp *vjp, const gint64 *values, gssize n); /* n < 0: a scalar */
IrValue *ir_emit_number (const IrVjp *vjp, double value);                 /* of the type of dy */
IrValue *ir_emit_number_like (const IrVjp *vjp, const IrValue *like, double value); /* a scalar */
IrValue *ir_emit_doubles (const IrVjp *vjp, guint rank, const gint64 *dims, const double *values);
IrValue *ir_emit_shape (const IrVjp *vjp, IrValue *value);
IrValue *ir_emit_size (const IrVjp *vjp, IrValue *value); /* number of elements, int64 */
IrValue *ir_emit_filled (const IrVjp *vjp, IrValue *like, double element);

IrValue *ir_emit_add (const IrVjp *vjp, IrValue *a, IrValue *b); /* of containers, too */
gboolean ir_emit_is_float (const IrValue *value);                /* or contains such */

/* -- shapes -- */
gint64 ir_emit_dim (const IrValue *value, int axis); /* axis < 0: from the end; -1: not known */
gboolean ir_emit_dims (const IrValue *value, gint64 *dims, int *rank); /* all known? */
IrValue *ir_emit_sum_to (const IrVjp *vjp, IrValue *value, IrValue *like);
IrValue *ir_emit_reshape_like (const IrVjp *vjp, IrValue *value, IrValue *like);
IrValue *ir_emit_reshape (const IrVjp *vjp, IrValue *value, const gint64 *dims, guint n);
IrValue *ir_emit_flat (const IrVjp *vjp, IrValue *value);
IrValue *ir_emit_unsqueeze (const IrVjp *vjp, IrValue *value, const gint64 *axes, guint n);
IrValue *ir_emit_transpose (const IrVjp *vjp, IrValue *value, const gint64 *perm, guint n);
/* Entry @index along @axis, which goes; of NULL: NULL */
IrValue *ir_emit_pick (const IrVjp *vjp, IrValue *value, gint64 axis, gint64 index);
IrValue *ir_emit_concat (const IrVjp *vjp, IrValue *a, IrValue *b, gint64 axis);
IrValue *ir_emit_reduce (
    const IrVjp *vjp, const char *op, IrValue *value, const gint64 *axes, guint n, gboolean keep);
IrValue *ir_emit_slice (const IrVjp *vjp,
                        IrValue *value,
                        const gint64 *starts,
                        const gint64 *ends,
                        const gint64 *axes,
                        guint n);
/* Adds @updates into zeros like @like, at places counted through the whole of it; opset 16 */
IrValue *ir_emit_scatter_flat (const IrVjp *vjp, IrValue *like, IrValue *places, IrValue *updates);

/* -- what cannot be -- */
gboolean ir_emit_fail (const IrVjp *vjp, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
gboolean ir_emit_needs_opset (const IrVjp *vjp, gint64 opset, GError **error);
