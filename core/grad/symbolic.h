/* Symbolic derivatives: expressions of scalars, as a graph in which equal ones are one. */
#pragma once

#include "core/ir/edit.h"

/* How much is made simpler while a derivative is built. */
typedef enum
{
  IR_SYMBOLIC_RAW,        /* what the rules say */
  IR_SYMBOLIC_FOLDED,     /* 0 a is 0, 1 a is a, 0 + a is a */
  IR_SYMBOLIC_SIMPLIFIED, /* and constants are computed, signs and units go */
} IrSymbolicLevel;

typedef guint IrExpr; /* in its IrSymbolic; 0 is none */

typedef struct _IrSymbolic IrSymbolic;
IrSymbolic *ir_symbolic_new (
    IrModel *model, IrValue *of, const GPtrArray *by, const IrNode **stop, GError **error);
void ir_symbolic_free (IrSymbolic *symbolic);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSymbolic, ir_symbolic_free)
IrExpr ir_symbolic_expression (const IrSymbolic *symbolic, const IrValue *value);
IrExpr ir_symbolic_derive (IrSymbolic *symbolic, const IrValue *by, IrSymbolicLevel level);
double ir_symbolic_tree_size (const IrSymbolic *symbolic, IrExpr expression);
guint ir_symbolic_dag_size (const IrSymbolic *symbolic, const IrExpr *expressions, guint n);
char *ir_symbolic_text (const IrSymbolic *symbolic, IrExpr expression);
IrValue *ir_symbolic_emit (IrSymbolic *symbolic, IrEdit *edit, IrGraph *graph, IrExpr expression);
