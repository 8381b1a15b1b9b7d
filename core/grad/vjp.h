/* Vector-Jacobian products: how the derivative of a scalar by a node's outputs becomes that by its
 * inputs. Each operator says it in the GRAD column of its row: as expressions where each element
 * stands for itself, by a function that adds nodes, by its body, or why not. */
#pragma once

#include "core/ir/edit.h"

/* Replaces a node by what its body computes; @data is the caller's. The values of the outputs stay. */
typedef gboolean (*IrGradInline) (IrEdit *edit, IrNode *node, gpointer data, GError **error);

typedef struct
{
  IrEdit *edit;
  const IrNode *node;     /* what is derived */
  IrGraph *graph;         /* where new nodes go */
  guint64 rank;           /* their place in the order */
  IrValue *const *dy;     /* per output of @node (nullable): by it */
  const gboolean *wanted; /* per input of @node */
  IrValue **dx;           /* per input of @node: result; NULL: not wanted, or 0 */
  guint n_captured;       /* values that subgraphs of @node read, and that are derived by: */
  IrValue *const *captured;
  IrValue **by_captured;    /* per such value: result; NULL: 0 */
  IrGradInline inline_body; /* (nullable): for nodes in those subgraphs */
  gpointer inline_data;
} IrVjp;

typedef gboolean (*IrVjpFunc) (IrVjp *vjp, GError **error);

/* The tangent of a node that owns subgraphs: see forward.h */
typedef struct _IrDual IrDual;
typedef gboolean (*IrDualFunc) (IrDual *dual, GError **error);

/* Builds nodes that compute the same as the node of @emit; @outputs is filled in. */
typedef gboolean (*IrExpand) (const IrVjp *emit, IrValue **outputs, GError **error);

#define IR_VJP_MAX_RULES 3

/* The GRAD column: one of rules, function, body, zero and opaque. */
typedef struct
{
  guint op;                            /* its IrOpId */
  const char *rules[IR_VJP_MAX_RULES]; /* (nullable) per input; NULL: no rule, "": 0 */
  IrVjpFunc function;                  /* (nullable) */
  gboolean body;                       /* as its function body is derived */
  IrExpand expand;                     /* (nullable) as the nodes that this builds are */
  gboolean zero;                       /* nothing depends on its inputs smoothly */
  const char *opaque;                  /* (nullable) why it cannot be derived: a sentence */
  const char *linear;                  /* (nullable) its tangent: see forward.c */
  const char *adds; /* (nullable) of linear: the attribute that is added to what is linear */
  IrDualFunc dual;  /* (nullable) the same, where it owns subgraphs, or has more than two inputs */
  guint (*keep) (const IrNode *node); /* (nullable) of function: the output beside the first that it
                                         reads, which is made where it is absent; 0: none */
  gboolean any_output; /* function: takes derivatives by other outputs than the first */
  const char *kink;    /* (nullable) which slope is taken where there are two */
  const char *keeps;   /* (nullable) of function: what of the forward part it reads */
  const char *blocks;  /* (nullable) what it is called where its slope is 0, or nearly: "dead",
                          "saturated" or "masked" */
} IrGradRow;

const IrGradRow *ir_grad_row (const IrOp *op); /* (nullable): no column */
gboolean ir_grad_has_body (const IrGradRow *row);
gboolean ir_vjp_is_known (const IrNode *node);
gboolean ir_vjp_passes_integers (const IrNode *node, guint slot);
gboolean ir_vjp_is_pointwise (const IrNode *node);
IrValue *ir_vjp_pointwise (const IrVjp *vjp, guint slot);
gboolean ir_vjp_run (IrVjp *vjp, GError **error);
